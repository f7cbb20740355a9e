"""Repairs under assumptions, and outcomes that are moved to agree with them, against closed forms and SciPy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from isonomia.evidence.strata.bounds import Contradiction
from isonomia.evidence.strata.repair import AdjustedTable, Repair, adjust_outcomes, outcome_deviation, repair
from isonomia.evidence.strata.worlds import (
    Definition,
    LinearAssumption,
    Observed,
    TableShape,
    assume,
    fairness_rows,
    observation,
)


def tables(number: int, shape: TableShape, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    drawn = rng.dirichlet(np.full(shape.cells, 0.5), size=(number, shape.attributes))
    return drawn.reshape(number, *shape.table)


def agreed(table: np.ndarray, *assumptions: str) -> AdjustedTable:
    observed = Observed.of(table)
    rows = [row for words in assumptions for row in assume(observed.shape, words)]
    found = adjust_outcomes(observed, rows)
    assert isinstance(found, AdjustedTable)
    return found


@pytest.mark.parametrize("outcomes", [2, 3])
def test_outcomes_that_must_not_change_meet_between_those_of_both_values(outcomes: int) -> None:
    for table in tables(20, TableShape(2, 2, outcomes), seed=1):
        found, seen = agreed(table, "outcome never changes"), table.sum(1)
        assert found.distance == pytest.approx(np.abs(seen[0] - seen[1]).sum(), abs=1e-8)
        moved = found.table.probabilities.sum(1)
        assert moved[0] == pytest.approx(moved[1], abs=1e-8)
        assert np.abs(moved - seen).sum() == pytest.approx(found.distance, abs=1e-8)


def test_outcomes_that_must_not_fall_are_moved_only_where_they_do() -> None:
    kinds = set()
    for table in tables(30, TableShape(), seed=2):
        found, rates = agreed(table, "outcome never falls"), table.sum(1)[:, 1]
        expected = 2.0 * max(0.0, rates[0] - rates[1])
        assert found.distance == pytest.approx(expected, abs=1e-8)
        kinds.add(expected > 0.0)
    assert kinds == {True, False}


def test_decisions_within_an_outcome_stay_as_they_are() -> None:
    for table in tables(10, TableShape(2, 3, 2), seed=3):
        found = agreed(table, "outcome never changes").table.probabilities
        before, after = (each / each.sum(1, keepdims=True) for each in (table, found))
        assert after == pytest.approx(before, abs=1e-6)


def test_an_outcome_that_nobody_had_gets_the_decisions_of_all() -> None:
    table = np.asarray([[[0.6, 0.0], [0.4, 0.0]], [[0.1, 0.3], [0.2, 0.4]]])
    found = agreed(table, "P[Y0 == 1] >= 0.5").table.probabilities
    assert found[0] == pytest.approx(np.asarray([[0.3, 0.3], [0.2, 0.2]]), abs=1e-8)
    assert found[1] == pytest.approx(table[1], abs=1e-8)


def test_assumptions_that_no_world_satisfies_are_a_contradiction() -> None:
    shape = TableShape()
    rows = (*assume(shape, "P[Y0 == 1] >= 0.7"), *assume(shape, "P[Y0 == 1] <= 0.6"))
    assert isinstance(adjust_outcomes(Observed.of(tables(1, shape, seed=4)[0]), rows), Contradiction)


def test_samples_are_hardly_ever_further_off_than_by_chance() -> None:
    # Each of 2,000 samples is further off with probability at most 0.01; 60 or more of them with less than 1e-11.
    rng, people, true = np.random.default_rng(5), [40, 90], np.asarray([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    most = outcome_deviation(people, 3, 0.01)
    off = sum(
        np.abs(rng.multinomial(n, shares, size=2_000) / n - shares).sum(1)
        for n, shares in zip(people, true, strict=True)
    )
    assert (off > most).sum() < 60
    assert np.quantile(off, 0.99) > most / 3  # and it is of the right size


def least_forcing(table: np.ndarray, rows: list[LinearAssumption], definition: Definition) -> tuple[float, bool]:
    """The least sum of the paper's epsilons after which a fair world under assumptions produces the table.

    SciPy's own program in the paper's form, ``S' = b`` with probability ``epsilon_ab``, else ``S``; and whether the
    table needs no change. Ours has moves from one decision to another instead.
    """
    shape = TableShape()
    seen, fair = observation(shape).reshape(-1, shape.worlds), fairness_rows(shape, definition)
    forced = np.zeros((*shape.table, 4))
    for number, (a, b) in enumerate(product(range(2), repeat=2)):
        forced[a, b, :, number] += table[a].sum(0)
        forced[a, :, :, number] -= table[a]
    found = linprog(
        np.concatenate([np.zeros(shape.worlds), np.ones(4)]),
        np.vstack([[[*each.row, 0, 0, 0, 0] for each in rows], [[0] * 16 + [1, 1, 0, 0], [0] * 16 + [0, 0, 1, 1]]]),
        [*(each.bound for each in rows), 1.0, 1.0],
        np.block([[seen, -forced.reshape(-1, 4)], [fair, np.zeros((len(fair), 4))]]),
        np.concatenate([table.ravel(), np.zeros(len(fair))]),
    )
    assert found.status == 0
    return float(found.fun), found.fun < 1e-6


@pytest.mark.parametrize("definition", [1, 2, 3, 4])
@pytest.mark.parametrize("words", ["outcome never falls", "outcome never changes", "P[Y0 != Y1] <= 0.1"])
def test_the_repair_under_an_assumption_is_the_least_of_the_papers_form(words: str, definition: Definition) -> None:
    rows, fair, dearer = list(assume(TableShape(), words)), [], 0
    for table in tables(12, TableShape(), seed=6):
        start = agreed(table, words).table
        found, plain = repair(start, definition, assumptions=rows), repair(start, definition)
        assert isinstance(found, Repair)
        assert isinstance(plain, Repair)
        total, unchanged = least_forcing(start.probabilities, rows, definition)
        assert found.total == pytest.approx(total, abs=1e-6)
        assert least_forcing(found.repaired.probabilities, rows, definition)[1]
        fair.append(unchanged)
        dearer += found.total > plain.total + 1e-3
    assert not all(fair)
    assert dearer or definition == 3  # which speaks of everybody, whatever their outcome
