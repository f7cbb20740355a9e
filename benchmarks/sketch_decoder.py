"""The decoder of a sketch-rnn, as a population: pen strokes drawn from a recurrent network, a whole batch at a time.

Ha and Eck, *A Neural Representation of Sketch Drawings* (2017). A sketch is a sequence of pen moves ``(dx, dy, pen)``.
At every step an LSTM reads the last move and gives a distribution over the next: ``(dx, dy)`` comes from a mixture of
two-dimensional normal distributions, and the pen from three states. The published weights for one category are
unconditional (the paper's decoder-only model): there is no latent vector, and the first hidden state is zero.

Conventions: a pen of 0 draws a line to the next point, 1 lifts the pen after this point, 2 ends the sketch, and the
move that comes with it is not drawn. Moves are in the network's own units (the training data's pixels over ``scale``).
The network reads five zeros before the first move: people's drawings are likelier so under the published weights than
with the pen-down token that the paper describes.
"""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, UsageError

Floats = NDArray[np.float32]

DRAWS, LIFTS, ENDS = 0, 1, 2
PENS = 3
MOVE = 5
"""What the network reads of a move: dx, dy, and the pen's state as three indicators."""
PARAMETERS = 6
"""Numbers for one normal distribution: a weight, two means, two deviations, a correlation."""
LARGEST_WEIGHT, LARGEST_INTEGER = 10.0, 32767
"""Weights are published as 16-bit integers that stand for -10 to 10."""


@dataclass(frozen=True, slots=True)
class Decoder:
    """The weights of a decoder without latent vector.

    Attributes
    ----------
    gates, bias
        The LSTM's weights, of shapes (5 + units, 4 units) and (4 units,): from the last move and the hidden state, in
        this order, to input gate, candidate, forget gate and output gate. The forget gate has 1 added to its bias.
    to_output, output_bias
        From hidden state to mixture, of shapes (units, 3 + 6 mixtures) and (3 + 6 mixtures,).
    longest
        The most moves of a sketch.
    scale
        Pixels of the training data to one unit of the network.
    """

    gates: Floats
    bias: Floats
    to_output: Floats
    output_bias: Floats
    longest: int
    scale: float

    @property
    def units(self) -> int:
        """The size of the hidden state."""
        return len(self.gates) - MOVE

    @classmethod
    def read(cls, path: Path) -> Decoder:
        """Read published weights: ``[about, shapes, tensors]``, each tensor 16-bit integers in base 64.

        Raises
        ------
        DataError
            When the file is not a decoder without latent vector.
        """
        with gzip.open(path, "rt", encoding="utf-8") as file:
            about, shapes, coded = json.load(file)
        tensors = [_tensor(text, shape) for text, shape in zip(coded, shapes, strict=True)]
        if [tensor.ndim for tensor in tensors] != [2, 1, 2, 2, 1] or len(tensors[2]) != MOVE:
            raise DataError(
                f"expected the five tensors of a decoder without latent vector in {path}, but got shapes {shapes}. "
                "Give a file that sketch-rnn calls '.gen.json'."
            )
        to_output, output_bias, from_move, from_hidden, bias = tensors
        gates, longest = np.concatenate([from_move, from_hidden]), int(about["max_seq_len"])
        return cls(gates, bias, to_output, output_bias, longest, float(about["scale_factor"]))


def _tensor(text: str, shape: list[int]) -> Floats:
    integers = np.frombuffer(base64.b64decode(text), dtype="<i2")
    return (integers.astype(np.float32) * np.float32(LARGEST_WEIGHT / LARGEST_INTEGER)).reshape(shape)


@dataclass(frozen=True, slots=True)
class Mixture:
    """The distribution of the next move, for a batch of sketches.

    Attributes
    ----------
    pens
        Probabilities of the pen's states, of shape (sketches, 3).
    weights
        Probabilities of the normal distributions, of shape (sketches, mixtures).
    means, deviations
        Of shape (2, sketches, mixtures).
    correlations
        Of shape (sketches, mixtures).
    """

    pens: Floats
    weights: Floats
    means: Floats
    deviations: Floats
    correlations: Floats


@dataclass(frozen=True, slots=True)
class Noise:
    """All the randomness of a batch, so that each sketch depends on its own alone.

    Attributes
    ----------
    choices
        Uniform numbers for the mixture and for the pen, of shape (moves, sketches, 2).
    moves
        Standard normal numbers, of shape (moves, sketches, 2).
    """

    choices: Floats
    moves: Floats

    @classmethod
    def draw(cls, rng: np.random.Generator, sketches: int, longest: int) -> Noise:
        """Draw the randomness of some sketches."""
        shape = (longest, sketches, 2)
        return cls(rng.random(shape, dtype=np.float32), rng.standard_normal(shape, dtype=np.float32))


@dataclass(frozen=True, slots=True)
class Sketches:
    """A batch of sketches.

    Attributes
    ----------
    moves
        Of shape (sketches, longest, 2); zero after a sketch's end.
    pens
        Of shape (sketches, longest); 2 from a sketch's end on.
    """

    moves: Floats
    pens: NDArray[np.int8]

    @property
    def lengths(self) -> NDArray[np.intp]:
        """How many moves each sketch has, its end not counted."""
        return np.asarray((self.pens != ENDS).sum(axis=1))


def lstm(decoder: Decoder, move: Floats, hidden: Floats, cell: Floats) -> tuple[Floats, Floats]:
    """One step: the next hidden and cell state of a batch."""
    sums = np.concatenate([move, hidden], axis=1) @ decoder.gates
    sums += decoder.bias
    take, candidate, keep, give = np.split(sums, 4, axis=1)
    keep += 1
    for gate in (take, keep, give):
        _squash(gate)
    np.tanh(candidate, out=candidate)
    candidate *= take
    cell = keep * cell
    cell += candidate
    return give * np.tanh(cell), cell


def mixture(decoder: Decoder, hidden: Floats, temperature: float = 1.0) -> Mixture:
    """The distribution of the next move.

    The temperature divides the logits and multiplies the variances, as in the paper. At 1 it is the distribution
    that the network was trained to; below 1 sketches are tidier and more alike.
    """
    outputs = hidden @ decoder.to_output + decoder.output_bias
    weights, *rest = np.split(outputs[:, PENS:], PARAMETERS, axis=1)
    means, spreads, correlations = np.stack(rest[:2]), np.stack(rest[2:4]), rest[4]
    heat = np.float32(temperature)
    return Mixture(
        _softmax(outputs[:, :PENS] / heat),
        _softmax(weights / heat),
        means,
        np.exp(spreads) * np.sqrt(heat),
        np.tanh(correlations),
    )


def choose(distribution: Mixture, choices: Floats, normal: Floats) -> tuple[Floats, NDArray[np.int8]]:
    """Draw a move and a pen for each sketch, from two uniform and two standard normal numbers."""
    rows = np.arange(len(choices))
    chosen = _pick(distribution.weights, choices[:, 0])
    pens = _pick(distribution.pens, choices[:, 1]).astype(np.int8)
    mean, deviation = distribution.means[:, rows, chosen], distribution.deviations[:, rows, chosen]
    correlation = distribution.correlations[rows, chosen]
    first, second = normal.T
    leaning = correlation * first + np.sqrt(1 - correlation**2) * second
    return (mean + deviation * np.stack([first, leaning])).T, pens


def decode(decoder: Decoder, noise: Noise, temperature: float = 1.0) -> Sketches:
    """Draw a batch of sketches; those that have ended leave the batch, so that it gets cheaper as it goes on.

    A sketch that reaches ``decoder.longest`` moves is cut off there.
    """
    longest, count, _ = noise.moves.shape
    if not temperature > 0:
        raise UsageError(f"expected a temperature above 0, but got temperature={temperature!r}")
    moves, pens = np.zeros((count, longest, 2), np.float32), np.full((count, longest), ENDS, np.int8)
    hidden, cell = np.zeros((2, count, decoder.units), np.float32)
    last = np.zeros((count, MOVE), np.float32)
    running = np.arange(count)
    for step in range(longest):
        hidden, cell = lstm(decoder, last, hidden, cell)
        drawn, pen = choose(
            mixture(decoder, hidden, temperature), noise.choices[step, running], noise.moves[step, running]
        )
        going = pen != ENDS
        running, hidden, cell, drawn, pen = running[going], hidden[going], cell[going], drawn[going], pen[going]
        if not len(running):
            break
        moves[running, step], pens[running, step] = drawn, pen
        last = np.concatenate([drawn, np.eye(PENS, dtype=np.float32)[pen]], axis=1)
    return Sketches(moves, pens)


def _squash(sums: Floats) -> None:
    """The logistic function, in place: fresh memory would cost more than the arithmetic."""
    sums *= 0.5  # by tanh, which neither overflows nor needs two branches
    np.tanh(sums, out=sums)
    sums *= 0.5
    sums += 0.5


def _softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _pick(probabilities: Floats, uniform: Floats) -> NDArray[np.intp]:
    # rounding may leave the last sum just below 1, so the last category takes what is over
    below = np.cumsum(probabilities, axis=1)[:, :-1] <= uniform[:, None]
    return np.asarray(below.sum(axis=1))
