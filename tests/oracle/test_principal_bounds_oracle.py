"""Closed forms, linear programs and brute force agree on the bounds of a table.

Brute force lists every vertex of the set of world distributions that produce a table, by solving all choices of as many
worlds as there are equations. Linear and linear-fractional functions are extreme at vertices.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from benchmarks.closed_form import ClosedBounds, closed_bounds
from hypothesis import given, settings
from hypothesis import strategies as st

from isonomia.evidence.strata.bounds import (
    Bounds,
    Contradiction,
    EmptyStratum,
    FairWorld,
    effect_bounds,
    fair_world,
    normalised_bounds,
)
from isonomia.evidence.strata.worlds import (
    Observed,
    PrincipalEffect,
    TableShape,
    effect_row,
    everyone,
    observation,
    outcome_under,
    stratum_row,
    unaffected,
)

BINARY = TableShape()
ONE, ZERO, BOTH = (PrincipalEffect(unaffected(BINARY, y)) for y in (1, 0, None))
COUNTERFACTUAL, ODDS = PrincipalEffect(everyone(BINARY)), PrincipalEffect(outcome_under(BINARY, 1))
SEEN = observation(BINARY).reshape(8, 16)[1:]  # one of the eight equations follows from the others


def by_programs(observed: Observed) -> dict[str, object]:
    return {
        "tau_1_unnormalised": effect_bounds(observed, ONE),
        "tau_0_unnormalised": effect_bounds(observed, ZERO),
        "tau_unnormalised": effect_bounds(observed, BOTH),
        "tau_1_given_tau_0_zero": effect_bounds(observed, ONE, zero=[ZERO]),
        "tau_0_given_tau_1_zero": effect_bounds(observed, ZERO, zero=[ONE]),
        "tau_1": normalised_bounds(observed, ONE),
        "tau_0": normalised_bounds(observed, ZERO),
        "tau": normalised_bounds(observed, BOTH),
        "counterfactual": effect_bounds(observed, COUNTERFACTUAL),
        "equalized_odds": effect_bounds(observed, ODDS),
    }


def ends(found: object) -> list[float]:
    match found:
        case Bounds(lower=lower, upper=upper):
            return [lower, upper]
        case Contradiction() | EmptyStratum():
            return [np.nan, np.nan]
    raise AssertionError(found)


def disagreements(closed: ClosedBounds, programs: dict[str, object]) -> list[str]:
    return [
        f"{name}: {getattr(closed, name)} {ends(found)}"
        for name, found in programs.items()
        if getattr(closed, name) != pytest.approx(ends(found), abs=1e-7, nan_ok=True)
    ]


def vertices(rows: np.ndarray, right: np.ndarray) -> np.ndarray:
    """All basic solutions ``w >= 0`` of ``rows @ w == right``."""
    choices = np.asarray(list(combinations(range(16), len(rows))))
    bases = rows[:, choices].transpose(1, 0, 2)
    choices, bases = (part[np.abs(np.linalg.det(bases)) > 0.5] for part in (choices, bases))
    basic = np.linalg.solve(bases, np.broadcast_to(right, (len(bases), len(right)))[..., None])[..., 0]
    every = np.zeros((len(basic), 16))
    np.put_along_axis(every, choices, basic, axis=1)
    return every[(basic >= -1e-12).all(-1)]


def counted(*rows: tuple[int, int, int, int]) -> Observed:
    return Observed.from_counts(np.asarray(rows).reshape(2, 2, 2))


cells = st.tuples(*[st.integers(0, 12)] * 4).filter(any)
tables = st.tuples(cells, cells)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(tables)
def test_closed_forms_and_linear_programs_agree(rows: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    # Small counts give empty cells, ties and strata that may be or must be empty far more often than real tables do.
    observed = counted(*rows)
    closed = closed_bounds(observed.probabilities)
    assert disagreements(closed, by_programs(observed)) == []
    for definition in (1, 2):
        found = fair_world(observed, definition)
        assert isinstance(found, Contradiction if closed.violated else FairWorld)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.lists(st.floats(1e-6, 1.0), min_size=8, max_size=8))
def test_closed_forms_and_linear_programs_agree_on_any_probabilities(weights: list[float]) -> None:
    table = np.asarray(weights).reshape(2, 2, 2)
    observed = Observed.of(table / table.sum((1, 2), keepdims=True))
    assert disagreements(closed_bounds(observed.probabilities), by_programs(observed)) == []


@pytest.mark.parametrize("tiny", [2e-9, 1e-8, 1e-7])
def test_tiny_cells_are_bounded_as_well(tiny: float) -> None:
    # The extreme is attained only in worlds whose stratum is as tiny, and the scaled program spans many magnitudes.
    observed = Observed.of([[[0.063, 0.693], [0.116, 0.128]], [[0.1, 0.08], [tiny, 0.82 - tiny]]])
    assert disagreements(closed_bounds(observed.probabilities), by_programs(observed)) == []


@pytest.mark.parametrize(
    "table",
    [
        [
            [[0.06333612994002025, 0.6930244900680149], [0.11625925054997568, 0.1273801294419892]],
            [[0.09964808902441938, 0.07972608956513709], [2.6777889817360434e-09, 0.8206258187326546]],
        ],
        [
            [[0.3314405010783609, 0.25075441554004524], [0.3895661640559638, 0.02823891932563006]],
            [[0.1465636633463228, 0.6031615708865508], [1.1671352738393327e-09, 0.2502747645999913]],
        ],
        [
            [[0.23691510235741137, 0.531717507524532], [0.09727723671095387, 0.13409015340710279]],
            [[0.006274046882512364, 0.013051197521079761], [0.9806747172076513, 3.838875642337884e-08]],
        ],
    ],
)
def test_tables_on_which_the_solver_gives_up_at_first_are_bounded(table: list[list[list[float]]]) -> None:
    observed = Observed.of(table)
    assert disagreements(closed_bounds(observed.probabilities), by_programs(observed)) == []


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 5), min_size=16, max_size=16).filter(any))
def test_closed_bounds_hold_the_effects_of_the_world(weights: list[int]) -> None:
    world = np.asarray(weights) / sum(weights)
    found = closed_bounds((observation(BINARY) @ world).reshape(2, 2, 2))
    for name, effect in (("tau_1", ONE), ("tau_0", ZERO), ("tau", BOTH)):
        value, mass = (row @ world for row in (effect_row(BINARY, effect), stratum_row(BINARY, effect.stratum)))
        low, high = getattr(found, f"{name}_unnormalised")
        assert low - 1e-9 <= value <= high + 1e-9
        if mass > 0:
            low, high = getattr(found, name)
            assert low - 1e-9 <= value / mass <= high + 1e-9
    if effect_row(BINARY, BOTH) @ world == 0:
        assert not found.violated


@pytest.mark.parametrize(
    "observed",
    [
        Observed.of([[[0.53, 0.04], [0.11, 0.32]], [[0.90, 0.02], [0.03, 0.05]]]),
        Observed.of([[[0.1, 0.2], [0.3, 0.4]], [[0.25, 0.35], [0.15, 0.25]]]),
        counted((3, 0, 5, 1), (0, 2, 2, 4)),
        counted((1, 0, 0, 1), (0, 1, 1, 0)),
        counted((7, 0, 0, 0), (0, 0, 7, 0)),
    ],
)
def test_brute_force_over_all_vertices_agrees(observed: Observed) -> None:
    closed, right = closed_bounds(observed.probabilities), observed.probabilities.ravel()[1:]
    corners = vertices(SEEN, right)
    for name, effect in (("tau_1", ONE), ("tau_0", ZERO), ("tau", BOTH)):
        values, masses = (corners @ row for row in (effect_row(BINARY, effect), stratum_row(BINARY, effect.stratum)))
        assert getattr(closed, f"{name}_unnormalised") == pytest.approx([values.min(), values.max()], abs=1e-9)
        ratios = values[masses > 1e-9] / masses[masses > 1e-9]
        expected = [ratios.min(), ratios.max()] if len(ratios) else [np.nan, np.nan]
        assert getattr(closed, name) == pytest.approx(expected, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("seed", range(4))
def test_brute_force_with_one_effect_at_zero_agrees(seed: int) -> None:
    table = np.random.default_rng(seed).dirichlet(np.full(4, 0.4), size=2).reshape(2, 2, 2)
    closed = closed_bounds(table)
    for name, effect, fixed in (("tau_1_given_tau_0_zero", ONE, ZERO), ("tau_0_given_tau_1_zero", ZERO, ONE)):
        rows = np.vstack([SEEN, effect_row(BINARY, fixed)])
        corners = vertices(rows, np.append(table.ravel()[1:], 0.0))
        values = corners @ effect_row(BINARY, effect)
        expected = [values.min(), values.max()] if len(values) else [np.nan, np.nan]
        assert getattr(closed, name) == pytest.approx(expected, abs=1e-9, nan_ok=True)
