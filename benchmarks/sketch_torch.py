"""The decoder and the recogniser of sketches in torch, so that both run on a device and no sketch leaves it.

The same networks and the same features as in ``sketch_decoder`` and ``sketch_recogniser``, which are their reference:
given the same noise they draw the same sketches, and recognise the same ones, up to rounding. A whole batch goes
through the decoder step by step; every few steps those that have ended leave it.

On CUDA the products of matrices are in TF32, whose factors have 11 bits, or everything within the LSTM is in half
precision; the published weights have 16 bits. A population drawn so is that of a slightly different decoder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.sketch_decoder import DRAWS, ENDS, LIFTS, MOVE, PENS, Decoder
from benchmarks.sketch_recogniser import BLUR, DIRECTIONS, EVERY, GRID, LENGTHS, SPOTS, Recogniser

Tensor = torch.Tensor

LEAVE_EVERY, LEAVE_SHARE = 16, 0.9
"""Ended sketches leave the batch every so many steps, where fewer than this share go on: looking costs a wait."""
AT_ONCE = 2**14
"""Sketches that are recognised at once: each is compared with some thousand drawings."""


@dataclass(frozen=True)
class TorchDecoder:
    """A decoder on a device.

    Attributes
    ----------
    weights
        The LSTM's weights in torch's order, input gate, forget gate, candidate, output gate: from the move, from the
        hidden state, and the two biases.
    to_output, output_bias
        From hidden state to mixture.
    longest
        The most moves of a sketch.
    compiled
        Whether ``torch.compile`` makes one step of the drawing, after the LSTM, into few kernels.
    """

    weights: tuple[Tensor, Tensor, Tensor, Tensor]
    to_output: Tensor
    output_bias: Tensor
    longest: int
    compiled: bool = False
    _move: list[Callable[..., Any]] = field(default_factory=list, repr=False)

    @classmethod
    def of(
        cls, decoder: Decoder, device: str, dtype: torch.dtype = torch.float32, *, compiled: bool = False
    ) -> TorchDecoder:
        """Put a decoder onto a device."""
        units = decoder.units
        # Published are input gate, candidate, forget gate, output gate; the forget gate has 1 added to its bias.
        order = [0, 2, 1, 3]
        gates = np.concatenate([decoder.gates[:, k * units : (k + 1) * units] for k in order], axis=1)
        bias = np.concatenate([decoder.bias[k * units : (k + 1) * units] for k in order])
        bias[units : 2 * units] += 1

        def put(array: Any) -> Tensor:
            return torch.tensor(np.ascontiguousarray(array), dtype=dtype, device=device)

        weights = put(gates[:MOVE].T), put(gates[MOVE:].T), put(bias), put(np.zeros_like(bias))
        return cls(weights, put(decoder.to_output), put(decoder.output_bias), decoder.longest, compiled)

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.to_output.device

    def draw(self, n: int, generator: torch.Generator, *, leave: bool = True) -> tuple[Tensor, Tensor]:
        """Draw sketches with their own noise: moves of shape (n, longest, 2), and pens of shape (n, longest)."""
        shape = (self.longest, n, 2)
        choices = torch.rand(shape, generator=generator, device=self.device)
        normals = torch.randn(shape, generator=generator, device=self.device)
        return self.decode(choices, normals, leave=leave)

    @torch.inference_mode()
    def decode(self, choices: Tensor, normals: Tensor, *, leave: bool = True) -> tuple[Tensor, Tensor]:
        """Draw sketches from noise of shape (longest, n, 2); a sketch that reaches ``longest`` moves is cut off."""
        longest, n, _ = normals.shape
        dtype, device = self.to_output.dtype, self.device
        moves = torch.zeros((longest, n, 2), device=device)
        pens = torch.full((longest, n), ENDS, dtype=torch.int8, device=device)
        hidden = torch.zeros((n, len(self.to_output)), dtype=dtype, device=device)
        cell, last = torch.zeros_like(hidden), torch.zeros((n, MOVE), dtype=dtype, device=device)
        ended = torch.zeros(n, dtype=torch.bool, device=device)
        running: Tensor | None = None  # which sketches are left, once some have left
        move = self._mover()
        for step in range(longest):
            hidden, cell = torch.lstm_cell(last, (hidden, cell), *self.weights)
            outputs = torch.addmm(self.output_bias, hidden, self.to_output)
            some, normal = choices[step], normals[step]
            if running is not None:
                some, normal = some[running], normal[running]
            drawn, pen, ended, last = move(outputs, some, normal, ended)
            if running is None:
                moves[step], pens[step] = drawn, pen
            else:
                moves[step, running], pens[step, running] = drawn, pen
            if leave and step % LEAVE_EVERY == LEAVE_EVERY - 1:
                left = (~ended).nonzero()[:, 0]
                if not len(left):
                    break
                if len(left) < LEAVE_SHARE * len(ended):
                    running = left if running is None else running[left]
                    hidden, cell, last, ended = hidden[left], cell[left], last[left], ended[left]
        return moves.transpose(0, 1), pens.T

    def _mover(self) -> Callable[..., Any]:
        if not self.compiled:
            return move_from
        if not self._move:
            self._move.append(torch.compile(move_from, dynamic=True))
        return self._move[0]


def move_from(
    outputs: Tensor, choices: Tensor, normals: Tensor, ended: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Draw a move and a pen for each sketch: what is drawn, the pens, who has ended, what the network reads next."""
    dtype, outputs = outputs.dtype, outputs.float()
    pen = _pick(outputs[:, :PENS], choices[:, 1])
    weights, parameters = outputs[:, PENS:].reshape(len(outputs), 6, -1).split((1, 5), dim=1)
    chosen = _pick(weights[:, 0], choices[:, 0])
    taken = parameters.gather(2, chosen[:, None, None].expand(-1, 5, 1))[:, :, 0]
    mean, deviation, correlation = taken[:, :2], taken[:, 2:4].exp(), taken[:, 4].tanh()
    first, second = normals[:, 0], normals[:, 1]
    leaning = correlation * first + torch.sqrt(1 - correlation**2) * second
    drawn = mean + deviation * torch.stack([first, leaning], dim=1)
    ended = ended | (pen == ENDS)
    drawn = torch.where(ended[:, None], 0.0, drawn)
    pen = torch.where(ended, ENDS, pen)
    last = torch.cat([drawn, torch.nn.functional.one_hot(pen, PENS)], dim=1).to(dtype)
    return drawn, pen.to(torch.int8), ended, last


def _pick(logits: Tensor, uniform: Tensor) -> Tensor:
    # rounding may leave the last sum just below 1, so the last category takes what is over
    below = torch.cumsum(torch.softmax(logits, dim=1), dim=1)[:, :-1] <= uniform[:, None]
    return below.sum(dim=1)


# ---------------------------------------------------------------------------- the recogniser


@torch.inference_mode()
def features(moves: Tensor, pens: Tensor) -> Tensor:
    """What the recogniser sees of each sketch, of shape (n, 238); all zero where there is no ink."""
    longest = moves.shape[1]
    points, sides = _framed(moves)
    steps = points[:, 1:] - points[:, :-1]
    before = torch.cat([torch.full_like(pens[:, :1], DRAWS), pens[:, :-1]], dim=1)  # the pen with which a step is made
    ink = torch.where(before == DRAWS, torch.hypot(steps[..., 0], steps[..., 1]), 0.0)
    along = torch.cat([torch.zeros_like(ink[:, :1]), torch.cumsum(ink, dim=1)], dim=1)
    length = along[:, -1:]
    at = (torch.arange(SPOTS, device=moves.device) + 0.5) / SPOTS * length
    lines = (torch.searchsorted(along, at, right=True) - 1).clamp(0, longest - 1)
    which = lines[..., None].expand(-1, -1, 2)
    along_steps = steps.gather(1, which)
    share = (at - along.gather(1, lines)) / ink.gather(1, lines)
    spots = points.gather(1, which) + share[..., None] * along_steps
    angles = torch.atan2(along_steps[..., 1], along_steps[..., 0])
    counts = (pens != ENDS).sum(dim=1, keepdim=True)  # moves; one point more
    steps_there = torch.arange(longest, device=moves.device) < counts
    lifts = torch.cumsum((before == LIFTS) & steps_there, dim=1)
    stroke = torch.cat([torch.zeros_like(lifts[:, :1]), lifts], dim=1)  # of each point
    strokes = lifts[:, -1:] + 1
    order = stroke.gather(1, lines) / strokes
    found = torch.cat(
        [
            _maps(spots, angles, length),
            *_path(spots, angles, order),
            *_habits(angles, length, sides, strokes),
            _stroke_lengths(stroke[:, :-1], ink, steps_there),
        ],
        dim=1,
    )
    return torch.where(length > 0, found, 0.0)


def _framed(moves: Tensor) -> tuple[Tensor, Tensor]:
    points = torch.cat([torch.zeros_like(moves[:, :1]), torch.cumsum(moves, dim=1)], dim=1)
    low, high = points.amin(dim=1, keepdim=True), points.amax(dim=1, keepdim=True)
    size = (high - low).amax(dim=2, keepdim=True).clamp(min=1e-9)
    return (points - (low + high) / 2) / size + 0.5, ((high - low) / size)[:, 0]


def _maps(spots: Tensor, angles: Tensor, length: Tensor) -> Tensor:
    centres = (torch.arange(GRID, device=spots.device) + 0.5) / GRID
    across, down = (torch.exp(-(((spots[..., k, None] - centres) / BLUR) ** 2) / 2) for k in (0, 1))
    axes = torch.arange(DIRECTIONS, device=spots.device) * (torch.pi / DIRECTIONS)
    toward = torch.cos(2 * (angles[..., None] - axes)).clamp(min=0.0)
    places = (down[..., :, None] * across[..., None, :]).flatten(2)
    maps = (places.transpose(1, 2) @ toward).flatten(1)
    return torch.sqrt(maps * length / SPOTS)


def _path(spots: Tensor, angles: Tensor, order: Tensor) -> list[Tensor]:
    some = slice(0, SPOTS, EVERY)
    return [spots[:, some].flatten(1), torch.cos(angles[:, some]), torch.sin(angles[:, some]), order[:, some]]


def _habits(angles: Tensor, length: Tensor, sides: Tensor, strokes: Tensor) -> list[Tensor]:
    turns = angles[:, 1:] - angles[:, :-1]
    bent, straight = torch.sin(turns).abs().mean(dim=1, keepdim=True), torch.cos(turns).mean(dim=1, keepdim=True)
    return [torch.log(strokes), torch.log(length), sides, bent, straight]


def _stroke_lengths(stroke: Tensor, ink: Tensor, there: Tensor) -> Tensor:
    """How many strokes there are of each length, as a root."""
    lengths = torch.zeros_like(ink).scatter_add(1, stroke.clamp(max=ink.shape[1] - 1), ink)
    last = torch.where(there, stroke, 0).amax(dim=1, keepdim=True)
    real = torch.arange(ink.shape[1], device=ink.device) <= last
    reached = torch.stack([((lengths >= edge) & real).sum(dim=1) for edge in LENGTHS[:-1].tolist()], dim=1)
    beyond = torch.cat([reached[:, 1:], torch.zeros_like(reached[:, :1])], dim=1)
    return torch.sqrt((reached - beyond).float())


@dataclass(frozen=True)
class TorchRecogniser:
    """A support vector machine on a device, which takes people as tensors ``moves`` and ``pens``."""

    middle: Tensor
    scale: Tensor
    vectors: Tensor
    weights: Tensor
    intercept: float
    gamma: float
    held_out: Mapping[str, float]

    @classmethod
    def of(cls, path: Path, device: str) -> TorchRecogniser:
        """Read what :func:`save` wrote."""
        with np.load(path) as stored:
            put = {
                name: torch.tensor(stored[name], dtype=torch.float32, device=device)
                for name in ("middle", "scale", "vectors", "weights")
            }
            held_out = dict(zip(stored["held_out_names"].tolist(), stored["held_out"].tolist(), strict=True))
            return cls(**put, intercept=float(stored["intercept"]), gamma=float(stored["gamma"]), held_out=held_out)

    @torch.inference_mode()
    def decision(self, moves: Tensor, pens: Tensor) -> Tensor:
        """Above 0 for a sketch that is taken for an animal."""
        seen = (features(moves, pens) - self.middle) / self.scale
        squares = (seen**2).sum(dim=1, keepdim=True) + (self.vectors**2).sum(dim=1)
        distances = torch.addmm(squares, seen, self.vectors.T, alpha=-2.0)
        return torch.exp(-self.gamma * distances) @ self.weights + self.intercept

    def __call__(self, people: Mapping[str, Any]) -> Tensor:
        """The recogniser as a model: whether each sketch is taken for an animal."""
        moves, pens = people["moves"], people["pens"]
        parts = range(0, len(moves), AT_ONCE)
        return torch.cat([self.decision(moves[k : k + AT_ONCE], pens[k : k + AT_ONCE]) for k in parts]) > 0


def save(recogniser: Recogniser, path: Path) -> None:
    """Keep a trained recogniser as arrays, for machines without scikit-learn."""
    scaler, machine = (step for _, step in recogniser.machine.steps)
    np.savez_compressed(
        path,
        middle=scaler.mean_.astype(np.float32),
        scale=scaler.scale_.astype(np.float32),
        vectors=machine.support_vectors_.astype(np.float32),
        weights=machine.dual_coef_[0].astype(np.float32),
        intercept=float(machine.intercept_[0]),
        gamma=float(machine._gamma),
        held_out_names=np.asarray(list(recogniser.held_out)),
        held_out=np.asarray(list(recogniser.held_out.values())),
    )


def stream(kind: str, decoder: TorchDecoder) -> Callable[[int, torch.Generator], dict[str, Any]]:
    """A decoder as the draws of one group: what ``iso.Generator`` is given with a device."""

    def draw(n: int, generator: torch.Generator) -> dict[str, Any]:
        moves, pens = decoder.draw(n, generator)
        return {"kind": np.full(n, kind), "moves": moves, "pens": pens}

    return draw
