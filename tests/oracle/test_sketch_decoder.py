"""The batched decoder against one sketch at a time in plain Python, its moments, and people's own drawings."""

from __future__ import annotations

import gzip
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.sketch_decoder import (
    DRAWS,
    ENDS,
    LIFTS,
    MOVE,
    PARAMETERS,
    PENS,
    Decoder,
    Mixture,
    Noise,
    choose,
    decode,
    lstm,
    mixture,
)
from benchmarks.sketch_recogniser import ANIMALS, ARCHIVE, Drawing, features, read_drawings

from benchmarks import sketches
from isonomia.errors import DataError, UsageError
from raising import raises

HERE = pytest.mark.skipif(not sketches.FOLDER.exists(), reason="the sketches are not here; set ISONOMIA_DATA")
UNITS, MIXTURES, LONGEST = 7, 3, 40


def small_decoder(seed: int) -> Decoder:
    """Random weights, large enough that every gate and every part of the mixture matters."""
    rng = np.random.default_rng(seed)

    def weights(*shape: int) -> np.ndarray:
        return (0.8 * rng.standard_normal(shape)).astype(np.float32)

    outputs = PENS + PARAMETERS * MIXTURES
    decoder = Decoder(
        weights(MOVE + UNITS, 4 * UNITS), weights(4 * UNITS), weights(UNITS, outputs), weights(outputs), LONGEST, 1.0
    )  # fmt: skip
    decoder.output_bias[ENDS] -= 3  # else most sketches end at once
    return decoder


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def picked(logits: list[float], uniform: float) -> int:
    powers = [math.exp(logit) for logit in logits]
    total = 0.0
    for number, power in enumerate(powers):
        total += power / sum(powers)
        if uniform < total:
            return number
    return len(powers) - 1


def one_sketch(decoder: Decoder, noise: Noise, number: int, temperature: float) -> list[tuple[float, float, int]]:
    """One sketch, number by number, in double precision, from the formulas of the paper."""
    hidden, cell, last, found = [0.0] * UNITS, [0.0] * UNITS, [0.0] * MOVE, []
    for step in range(LONGEST):
        sums = [
            float(decoder.bias[j])
            + sum(last[i] * float(decoder.gates[i, j]) for i in range(MOVE))
            + sum(hidden[i] * float(decoder.gates[MOVE + i, j]) for i in range(UNITS))
            for j in range(4 * UNITS)
        ]
        take, candidate, keep, give = (sums[k * UNITS : (k + 1) * UNITS] for k in range(4))
        cell = [sigmoid(keep[u] + 1) * cell[u] + sigmoid(take[u]) * math.tanh(candidate[u]) for u in range(UNITS)]
        hidden = [sigmoid(give[u]) * math.tanh(cell[u]) for u in range(UNITS)]
        outputs = [
            float(decoder.output_bias[j]) + sum(hidden[u] * float(decoder.to_output[u, j]) for u in range(UNITS))
            for j in range(PENS + PARAMETERS * MIXTURES)
        ]
        part = [outputs[PENS + k * MIXTURES : PENS + (k + 1) * MIXTURES] for k in range(PARAMETERS)]
        chosen = picked([x / temperature for x in part[0]], float(noise.choices[step, number, 0]))
        pen = picked([x / temperature for x in outputs[:PENS]], float(noise.choices[step, number, 1]))
        if pen == ENDS:
            break
        first, second = (float(x) for x in noise.moves[step, number])
        lean = math.tanh(part[5][chosen])
        dx = part[1][chosen] + math.exp(part[3][chosen]) * math.sqrt(temperature) * first
        dy = part[2][chosen] + math.exp(part[4][chosen]) * math.sqrt(temperature) * (
            lean * first + math.sqrt(1 - lean**2) * second
        )
        found.append((dx, dy, pen))
        last = [dx, dy, float(pen == DRAWS), float(pen == LIFTS), 0.0]
    return found


@pytest.mark.parametrize("temperature", [1.0, 0.4])
def test_a_batch_is_the_sketches_one_at_a_time(temperature: float) -> None:
    decoder = small_decoder(3)
    noise = Noise.draw(np.random.default_rng(11), 25, LONGEST)
    batch = decode(decoder, noise, temperature)
    expected = [one_sketch(decoder, noise, number, temperature) for number in range(25)]
    assert [len(sketch) for sketch in expected] == batch.lengths.tolist()
    assert len(set(batch.lengths.tolist())) > 3, "sketches of different lengths are what makes batching hard"
    for number, sketch in enumerate(expected):
        moves = np.asarray([move[:2] for move in sketch]).reshape(-1, 2)
        np.testing.assert_allclose(batch.moves[number, : len(sketch)], moves, rtol=2e-3, atol=2e-3)
        assert batch.pens[number, : len(sketch)].tolist() == [pen for _, _, pen in sketch]
        assert not batch.moves[number, len(sketch) :].any()
        assert (batch.pens[number, len(sketch) :] == ENDS).all()


def test_a_sketch_depends_on_its_own_noise_alone() -> None:
    decoder, noise = small_decoder(4), Noise.draw(np.random.default_rng(1), 30, LONGEST)
    whole, half = decode(decoder, noise), decode(decoder, Noise(noise.choices[:, ::2], noise.moves[:, ::2]))
    np.testing.assert_allclose(whole.moves[::2], half.moves, rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(whole.pens[::2], half.pens)


def test_the_same_generator_gives_the_same_sketches() -> None:
    decoder = small_decoder(5)
    first, second = (decode(decoder, Noise.draw(np.random.default_rng(8), 20, LONGEST)) for _ in range(2))
    np.testing.assert_array_equal(first.moves, second.moves)
    np.testing.assert_array_equal(first.pens, second.pens)


def test_probabilities_sum_to_one_and_the_rest_has_its_range() -> None:
    decoder = small_decoder(6)
    hidden = np.random.default_rng(2).uniform(-1, 1, (50, UNITS)).astype(np.float32)
    for temperature in (0.1, 1.0, 2.0):
        found = mixture(decoder, hidden, temperature)
        np.testing.assert_allclose(found.pens.sum(axis=1), 1, rtol=1e-5)
        np.testing.assert_allclose(found.weights.sum(axis=1), 1, rtol=1e-5)
        assert (found.deviations > 0).all()
        assert (np.abs(found.correlations) < 1).all()


def test_moves_have_the_moments_of_the_mixture() -> None:
    """Six standard errors a statistic, nine statistics: a false alarm has probability below 1e-7."""
    n = 200_000
    weights = np.asarray([0.2, 0.5, 0.3])
    means = np.asarray([[-1.0, 0.5, 2.0], [0.0, 1.0, -0.5]])
    deviations = np.asarray([[0.5, 1.0, 0.3], [1.0, 0.2, 0.7]])
    correlations = np.asarray([0.9, -0.6, 0.0])
    pens = np.asarray([0.7, 0.2, 0.1])

    def repeated(values: np.ndarray) -> np.ndarray:
        return np.repeat(values[..., None, :], n, axis=-2).astype(np.float32)

    given = Mixture(repeated(pens), repeated(weights), repeated(means), repeated(deviations), repeated(correlations))
    noise = Noise.draw(np.random.default_rng(5), n, 1)
    moves, pen = choose(given, noise.choices[0], noise.moves[0])
    dx, dy = moves.T.astype(float)
    seconds = means**2 + deviations**2
    product = means[0] * means[1] + correlations * deviations[0] * deviations[1]
    claims = [
        (dx, weights @ means[0]), (dy, weights @ means[1]), (dx**2, weights @ seconds[0]),
        (dy**2, weights @ seconds[1]), (dx * dy, weights @ product),
        *(((pen == state).astype(float), share) for state, share in enumerate(pens)),
        (dx * (pen == LIFTS), pens[LIFTS] * (weights @ means[0])),
    ]  # fmt: skip
    for values, expected in claims:
        assert abs(values.mean() - expected) < 6 * values.std() / math.sqrt(n)


def test_a_temperature_of_zero_is_refused() -> None:
    with raises(UsageError, "temperature=0.0"):
        decode(small_decoder(1), Noise.draw(np.random.default_rng(0), 2, LONGEST), 0.0)


def test_what_the_recogniser_sees_depends_neither_on_size_nor_place_nor_on_points_in_between() -> None:
    drawing = Drawing.of_strokes([[[0, 30, 60], [0, 40, 0]], [[10, 50], [80, 90]]])
    moved = replace(drawing, points=3.0 * drawing.points + [100, -7])
    halves = Drawing.of_strokes([[[0, 15, 30, 45, 60], [0, 20, 40, 20, 0]], [[10, 30, 50], [80, 85, 90]]])
    reversed_order = Drawing.of_strokes([[[10, 50], [80, 90]], [[0, 30, 60], [0, 40, 0]]])
    np.testing.assert_allclose(features(moved), features(drawing), atol=1e-9)
    np.testing.assert_allclose(features(halves), features(drawing), atol=1e-9)
    assert not np.allclose(features(reversed_order), features(drawing)), "the order of strokes is seen"
    nothing = features(Drawing.of_strokes([[[5], [5]]]))
    assert nothing.shape == features(drawing).shape
    assert not nothing.any()


NOTHING, PEN_DOWN = (0, 0, 0, 0, 0), (0, 0, 1, 0, 0)


def log_likelihoods(decoder: Decoder, drawings: list[Drawing], start: Sequence[int] = NOTHING) -> np.ndarray:
    """The log density of each of people's drawings, the unit being the standard deviation of a move.

    The published drawings are 256 pixels wide and those of the training were not, so ``decoder.scale`` is of no use.
    """
    longest = max(len(drawing.pens) for drawing in drawings)
    moves, pens = np.zeros((len(drawings), longest, 2)), np.full((len(drawings), longest), ENDS)
    for number, drawing in enumerate(drawings):
        moves[number, : len(drawing.pens) - 1] = np.diff(drawing.points, axis=0)
        pens[number, : len(drawing.pens) - 1] = drawing.pens[1:]
    moves /= moves[pens != ENDS].std()
    hidden, cell = np.zeros((2, len(drawings), decoder.units), np.float32)
    last, total = np.tile(np.asarray(start, np.float32), (len(drawings), 1)), np.zeros(len(drawings))
    going = np.ones(len(drawings), bool)
    for move, pen in zip(moves.swapaxes(0, 1), pens.T, strict=True):
        hidden, cell = lstm(decoder, last, hidden, cell)
        found = mixture(decoder, hidden)
        total += going * np.log(found.pens[np.arange(len(pen)), pen])
        going &= pen != ENDS
        total += np.where(going, np.log(density(found, move) + 1e-30), 0)
        last = np.concatenate([move, np.eye(PENS)[pen]], axis=1).astype(np.float32)
    return total


def density(found: Mixture, move: np.ndarray) -> np.ndarray:
    """The density of one move in each drawing."""
    z, lean = (move.T[..., None] - found.means) / found.deviations, found.correlations
    area = 2 * math.pi * found.deviations.prod(axis=0) * np.sqrt(1 - lean**2)
    heights = np.exp(-(z[0] ** 2 + z[1] ** 2 - 2 * lean * z[0] * z[1]) / (2 * (1 - lean**2))) / area
    return np.asarray((found.weights * heights).sum(axis=1))


@pytest.fixture(scope="module")
def drawings() -> dict[str, list[Drawing]]:
    return read_drawings(sketches.FOLDER / ARCHIVE)


@pytest.fixture(scope="module")
def decoders() -> dict[str, Decoder]:
    return {kind: Decoder.read(sketches.FOLDER / f"{kind}.gen.json.gz") for kind in sketches.KINDS}


@HERE
def test_people_s_dogs_are_likelier_by_the_decoder_of_dogs_and_sheep_by_that_of_sheep(
    drawings: dict[str, list[Drawing]], decoders: dict[str, Decoder]
) -> None:
    for kind, other in (("dog", "sheep"), ("sheep", "dog")):
        own, foreign = (log_likelihoods(decoders[by], drawings[kind]).mean() for by in (kind, other))
        assert own > foreign + 3


@HERE
def test_people_s_drawings_are_likelier_where_the_network_first_reads_zeros(
    drawings: dict[str, list[Drawing]], decoders: dict[str, Decoder]
) -> None:
    for kind in sketches.KINDS:
        zeros, pen_down = (
            log_likelihoods(decoders[kind], drawings[kind], start).mean() for start in (NOTHING, PEN_DOWN)
        )
        assert zeros > pen_down + 1


@HERE
def test_sketches_have_about_as_many_strokes_as_people_s_drawings_and_unit_deviation(
    drawings: dict[str, list[Drawing]], decoders: dict[str, Decoder]
) -> None:
    assert len(drawings) == 344
    assert set(drawings) >= ANIMALS
    for kind, decoder in decoders.items():
        batch = decode(decoder, Noise.draw(np.random.default_rng(0), 120, decoder.longest))
        drawn = np.mean([(d.pens == LIFTS).sum() for d in Drawing.of_sketches(batch)])
        people = np.mean([(d.pens == LIFTS).sum() for d in drawings[kind]])
        assert 0.6 < drawn / people < 1.4
        assert 0.8 < batch.moves[batch.pens != ENDS].std() < 1.2
        assert (batch.lengths == decoder.longest).mean() < 0.15


def test_a_file_that_is_no_decoder_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "wrong.json.gz"
    path.write_bytes(gzip.compress(b'[{"max_seq_len": 9, "scale_factor": 1}, [[2]], ["AAAAAA=="]]'))
    with raises(DataError, 2, "wrong.json.gz"):
        Decoder.read(path)
