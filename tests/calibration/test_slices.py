"""Overlapping groups, bet on slice by slice: the risk is kept however the leaves depend, and fewer draws are needed.

The polytope is refuted only when every slice is, so it is refuted wrongly only if the slice that holds the sliced
leaf's true value is. The simulation follows that one slice through all its splits, in 20,000 repetitions at a time; it
gives an upper bound on the error rate. Acceptance is stated in ``simulation.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from simulation import REPETITIONS, assert_calibrated, batches, error_rate, true_slice_peaks

from isonomia.evidence.bet_evidence import BetEvidence, bets_for
from isonomia.evidence.bets import Wealth
from isonomia.evidence.slices import SlicedEProcess
from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import leaves_of


@dataclass(frozen=True)
class World:
    """One stream of people who belong to A, to B, to both or to neither.

    ``cells`` maps ``(in A, in B, event of A's leaf, event of B's leaf)`` to its probability.
    """

    claim: str
    cells: dict[tuple[int, int, int, int], float]

    def rate(self, group: int) -> float:
        inside = sum(p for cell, p in self.cells.items() if cell[group])
        return sum(p for cell, p in self.cells.items() if cell[group] and cell[2 + group]) / inside


def _same_event(
    only_a: float, only_b: float, both: float, rates: tuple[float, float, float]
) -> dict[tuple[int, int, int, int], float]:
    """Both leaves ask for the same event, whose rate differs between people in A only, in B only, and in both."""
    cells = {(0, 0, 0, 0): max(1.0 - only_a - only_b - both, 0.0)}
    for (a, b), share, rate in zip([(1, 0), (0, 1), (1, 1)], [only_a, only_b, both], rates, strict=True):
        cells[a, b, a, b] = share * rate
        cells[a, b, 0, 0] = cells.get((a, b, 0, 0), 0.0) + share * (1.0 - rate)
    return cells


def _opposite_events(both: float, rate: float) -> dict[tuple[int, int, int, int], float]:
    """Everybody who is in A is in B, and has exactly one of the two events."""
    return {(1, 1, 1, 0): both * rate, (1, 1, 0, 1): both * (1 - rate), (0, 1, 0, 0): 1 - both}


WORLDS = {
    "a part against everybody": World(
        "P[x | a] / P[y | b] >= 0.8", _same_event(0.0, 0.7, 0.3, (0.0, 0.228 / 0.7, 0.24))
    ),
    "a small part against everybody": World(
        "P[x | a] / P[y | b] >= 0.8", _same_event(0.0, 0.95, 0.05, (0.0, (0.5 - 0.05 * 0.4) / 0.95, 0.4))
    ),
    "two groups whose members in common differ": World(
        "P[x | a] / P[y | b] >= 0.8", _same_event(0.3, 0.3, 0.3, (0.7, 0.9, 0.1))
    ),
    "a rare group with rare events": World(
        "P[x | a] - P[y | b] <= 0.1", _same_event(0.0, 0.98, 0.02, (0.0, 0.01, 0.03))
    ),
    "a rate of nearly 1": World("P[x | a] - P[y | b] <= 0.1", _same_event(0.0, 0.7, 0.3, (0.0, 0.99, 0.97))),
    "a part within bounds": World("abs(P[x | a] - P[y | b]) <= 0.1", _same_event(0.0, 0.7, 0.3, (0.0, 0.3, 0.5))),
    "opposite events": World("P[x | a] >= 0.8 * P[y | b]", _opposite_events(0.5, 0.8 * 0.5 / (1 + 0.8 * 0.5))),
}
SCENARIOS = [
    ("a part against everybody", "against"),
    ("a part against everybody", "in_favour"),
    ("a small part against everybody", "against"),
    ("two groups whose members in common differ", "against"),
    ("a rare group with rare events", "against"),
    ("a rate of nearly 1", "in_favour"),
    ("a part within bounds", "in_favour"),
    ("opposite events", "in_favour"),
]


def _on_the_boundary(world: World) -> World:
    """Set the claim's factor so that the world lies exactly on the boundary."""
    if "abs" in world.claim:
        return World(f"abs(P[x | a] - P[y | b]) <= {abs(world.rate(0) - world.rate(1))!r}", world.cells)
    if " - " in world.claim:
        return World(f"P[x | a] - P[y | b] <= {world.rate(0) - world.rate(1)!r}", world.cells)
    return World(f"P[x | a] >= {world.rate(0) / world.rate(1)!r} * P[y | b]", world.cells)


def _evidence(claim: str, *, slices: bool = True) -> BetEvidence:
    formula = parse_formula(claim)
    evidence = bets_for(formula, dict.fromkeys(leaves_of(formula), (0.0, 1.0)), (None,), 1e-9, slices=slices)
    assert evidence is not None
    return evidence


def _draws(
    world: World, order: tuple[tuple[int, int, int, int], ...], size: int, rng: np.random.Generator, rows: int
) -> np.ndarray:
    probabilities = np.asarray([world.cells.get(cell, 0.0) for cell in order])
    return rng.multinomial(size, probabilities / probabilities.sum(), size=rows).astype(float)


def _cell_order(evidence: BetEvidence) -> tuple[tuple[int, int, int, int], ...]:
    """The channel's cells as (in A, in B, x, y), whatever the order in which groups and leaves are crossed."""
    (channel,) = evidence.against[0].channels
    names = [given.name for given in channel.crossing] + [leaf.event.name for leaf in channel.leaves]  # type: ignore[union-attr]
    places = [names.index(name) for name in "abxy"]
    return tuple(tuple(int(row[k]) for k in places) for row in channel.grid.values())  # type: ignore[misc]


@cache
def _true_slice_peak(name: str, side: str) -> np.ndarray:
    """The largest log-wealth against the slice that holds the sliced leaf's true value."""
    world = _on_the_boundary(WORLDS[name])
    evidence = _evidence(world.claim)
    ((test,), order) = getattr(evidence, side), _cell_order(evidence)
    process = test.process
    assert isinstance(process, SlicedEProcess)
    return true_slice_peaks(
        process,
        _sliced_truth(world, process, order),
        lambda rng, size, rows: _draws(world, order, size, rng, rows),
        batches(3000, single=15, first=8, growth=0.18),
        np.random.default_rng(1),
        REPETITIONS,
    )


def _sliced_truth(world: World, process: SlicedEProcess, order: tuple[tuple[int, int, int, int], ...]) -> float:
    probabilities = np.asarray([world.cells.get(cell, 0.0) for cell in order])
    return float(probabilities @ process.value / (probabilities @ process.present))


@pytest.mark.parametrize(("name", "side"), SCENARIOS)
def test_slices_keep_the_risk_however_the_leaves_depend(name: str, side: str) -> None:
    assert_calibrated(_true_slice_peak(name, side))


def test_a_wealth_twice_as_large_as_promised_would_be_noticed() -> None:
    assert error_rate(2.0 * _true_slice_peak("a part against everybody", "against"), 0.05) > 0.05


@pytest.mark.parametrize("name", ["a part against everybody", "two groups whose members in common differ"])
def test_slices_take_far_fewer_draws_than_folds(name: str) -> None:
    cells = WORLDS[name].cells
    world = World(f"P[x | a] >= {0.7 * WORLDS[name].rate(0) / WORLDS[name].rate(1)!r} * P[y | b]", cells)
    sliced, folded = _evidence(world.claim), _evidence(world.claim, slices=False)
    order = _cell_order(sliced)
    spent: dict[str, list[int]] = {"slices": [], "folds": []}
    for seed in range(8):
        for kind, evidence in (("slices", sliced), ("folds", folded)):
            spent[kind].append(_until_decided(world, evidence, order, seed))
    assert np.mean(spent["slices"]) < 0.75 * np.mean(spent["folds"])


def _until_decided(world: World, evidence: BetEvidence, order: tuple[tuple[int, int, int, int], ...], seed: int) -> int:
    rng, state, n = np.random.default_rng(seed), evidence.begin(), 0
    while evidence.decision(state) is None:
        size = max(8, int(0.05 * n))
        n += size
        tallies = {}
        folds = rng.multinomial(size, [0.5, 0.5])
        drawn = [_draws(world, order, int(part), rng, 1)[0] for part in folds]
        for channel in evidence.channels:
            if channel.crossing:
                tallies[channel] = drawn[0] + drawn[1]
                continue
            assert channel.fold is not None
            group = "ab".index(channel.given.name)  # type: ignore[union-attr]
            part = drawn[channel.fold.index]
            inside = np.asarray([cell[group] for cell in order])
            event = np.asarray([cell[2 + group] for cell in order])
            tallies[channel] = np.asarray([part @ (inside * (1 - event)), part @ (inside * event)])
        state = evidence.step(state, tallies)
    assert evidence.decision(state) is True
    assert not isinstance(state[0], Wealth) or np.isfinite(state[0].log_wealth).all()
    return n
