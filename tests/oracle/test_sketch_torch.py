"""Decoder and recogniser in torch against those in NumPy: the same noise gives the same sketches and features."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.sketch_decoder import ENDS, MOVE, PARAMETERS, PENS, Decoder, Noise, Sketches, decode
from benchmarks.sketch_recogniser import Drawing, Recogniser, features

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from benchmarks import sketch_torch  # noqa: E402

UNITS, MIXTURES, LONGEST, COUNT = 7, 3, 40, 60


def small_decoder() -> Decoder:
    """Random weights; the pen is lifted now and then, and sketches end at any time."""
    rng = np.random.default_rng(3)

    def weights(*shape: int) -> np.ndarray:
        return (0.8 * rng.standard_normal(shape)).astype(np.float32)

    outputs = PENS + PARAMETERS * MIXTURES
    decoder = Decoder(
        weights(MOVE + UNITS, 4 * UNITS), weights(4 * UNITS), weights(UNITS, outputs), weights(outputs), LONGEST, 1.0
    )  # fmt: skip
    decoder.output_bias[ENDS] -= 4
    return decoder


def both(leave: bool) -> tuple[Sketches, Sketches]:
    decoder = small_decoder()
    noise = Noise.draw(np.random.default_rng(1), COUNT, LONGEST)
    there = sketch_torch.TorchDecoder.of(decoder, "cpu")
    moves, pens = there.decode(torch.tensor(noise.choices), torch.tensor(noise.moves), leave=leave)
    return decode(decoder, noise), Sketches(moves.numpy(), pens.numpy())


@pytest.mark.parametrize("leave", [True, False])
def test_the_same_noise_gives_the_same_sketches_whether_or_not_ended_ones_leave(leave: bool) -> None:
    here, there = both(leave)
    assert (here.pens == there.pens).all()
    assert np.allclose(here.moves, there.moves, atol=1e-3)
    assert 3 < here.lengths.mean() < LONGEST  # some end early, and some go on


def test_sketches_have_the_features_that_they_have_one_by_one() -> None:
    sketches, _ = both(leave=True)
    blank = Sketches(np.zeros_like(sketches.moves[:1]), np.full_like(sketches.pens[:1], ENDS))
    for some in (sketches, blank):
        expected = np.stack([features(drawing) for drawing in Drawing.of_sketches(some)])
        found = sketch_torch.features(torch.tensor(some.moves), torch.tensor(some.pens)).numpy()
        assert found.shape == expected.shape
        assert np.allclose(found, expected, atol=2e-3)


def test_a_stored_recogniser_decides_like_the_machine_it_was_made_of(tmp_path: Path) -> None:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    sketches, _ = both(leave=True)
    seen = np.stack([features(drawing) for drawing in Drawing.of_sketches(sketches)])
    machine = make_pipeline(StandardScaler(), SVC(C=3.0, gamma=0.5 / seen.shape[1])).fit(
        seen, sketches.lengths > np.median(sketches.lengths)
    )
    sketch_torch.save(Recogniser(machine, {"accuracy": 0.5}), tmp_path / "recogniser.npz")
    stored = sketch_torch.TorchRecogniser.of(tmp_path / "recogniser.npz", "cpu")
    people = SimpleNamespace(moves=torch.tensor(sketches.moves), pens=torch.tensor(sketches.pens))
    found = stored.decision(people.moves, people.pens).numpy()
    assert np.allclose(found, machine.decision_function(seen), atol=0.02)
    assert (stored(vars(people)).numpy() == (found > 0)).all()
    assert stored.held_out == {"accuracy": 0.5}


def test_drawing_needs_nothing_but_the_generator() -> None:
    decoder = sketch_torch.TorchDecoder.of(replace(small_decoder(), longest=12), "cpu")
    once, again, other = (decoder.draw(30, torch.Generator().manual_seed(seed))[0].numpy() for seed in (1, 1, 2))
    assert (once == again).all()
    assert not np.array_equal(once, other)
