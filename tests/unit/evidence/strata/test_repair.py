"""Repair: the least change after which a fair world can produce the table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.closed_form import closed_bounds
from scipy.stats import binomtest

from isonomia.errors import DataError, UsageError
from isonomia.evidence.strata.bounds import Contradiction, FairWorld, fair_world
from isonomia.evidence.strata.repair import OBJECTIVES, AdjustedTable, Objective, Repair, adjust_outcomes, repair
from isonomia.evidence.strata.worlds import Definition, Observed, TableShape, assume
from raising import raises

TABLE_4 = Observed.of([[[0.53, 0.04], [0.11, 0.32]], [[0.90, 0.02], [0.03, 0.05]]])
# Value 0 almost never gets decision 1 and value 1 almost always does, whatever the outcome, which is mostly 1.
UNFAIR = Observed.of([[[0.05, 0.85], [0.02, 0.08]], [[0.02, 0.08], [0.05, 0.85]]], [0.2, 0.8])


def repaired(observed: Observed, definition: Definition = 2, **options: object) -> Repair:
    found = repair(observed, definition, **options)  # type: ignore[arg-type]
    assert isinstance(found, Repair)
    return found


def random_tables(count: int, seed: int) -> list[Observed]:
    rng = np.random.default_rng(seed)
    tables = rng.dirichlet(np.full(4, 0.3), size=(20 * count, 2)).reshape(-1, 2, 2, 2)
    return [Observed.of(table) for table in tables[closed_bounds(tables).violated][:count]]


def test_the_papers_table_4_needs_one_ninetieth() -> None:
    # P(S=1,Y=0|A=0) + P(S=0,Y=0|A=1) = 1.01 must fall to 1; raising S where A = 1 removes 0.9 epsilon.
    for definition in (1, 2):
        found = repaired(TABLE_4, definition)
        assert found.total == pytest.approx(1 / 90, abs=1e-9)
        assert found.epsilon == pytest.approx(np.asarray([[0, 0], [0, 1 / 90]]), abs=1e-9)


def test_a_fair_table_needs_no_repair() -> None:
    found = repaired(Observed.of([[[0.4, 0.1], [0.2, 0.3]], [[0.3, 0.2], [0.3, 0.2]]]))
    assert found.total == found.changed == 0.0
    assert np.array_equal(found.change, [np.eye(2)] * 2)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("never_lower", [False, True])
def test_what_is_repaired_can_be_fair(objective: Objective, never_lower: bool) -> None:
    for observed in random_tables(20, seed=1):
        found = repaired(observed, objective=objective, never_lower=never_lower)
        assert closed_bounds(found.repaired.probabilities).excess < 1e-9
        assert found.change.sum(-1) == pytest.approx(np.ones((2, 2)))
        assert (found.change >= 0.0).all()
        assert (found.epsilon.sum(-1) <= 1.0 + 1e-9).all()  # the paper's condition; it binds for the accuracy
        if never_lower:
            assert (found.epsilon[:, 0] == 0.0).all()


def test_each_objective_is_best_at_its_own() -> None:
    for observed in [*random_tables(10, seed=2), UNFAIR]:
        found = {objective: repaired(observed, objective=objective) for objective in ("total", "changes", "accuracy")}
        assert found["total"].total <= min(each.total for each in found.values()) + 1e-9
        assert found["changes"].changed <= min(each.changed for each in found.values()) + 1e-9
        losses = [each.lost_accuracy for each in found.values()]
        assert None not in losses
        assert losses[2] <= min(losses) + 1e-9  # type: ignore[type-var, operator]


def test_the_fewest_changes_fall_on_the_smaller_group() -> None:
    assert repaired(UNFAIR, objective="changes").epsilon[1].sum() == 0.0
    swapped = Observed.of(UNFAIR.probabilities, [0.8, 0.2])
    assert repaired(swapped, objective="changes").epsilon[0].sum() == 0.0


def test_the_costs_are_those_of_the_repaired_table() -> None:
    for observed in [*random_tables(5, seed=3), UNFAIR]:
        for objective in OBJECTIVES:
            found = repaired(observed, objective=objective)  # type: ignore[arg-type]
            hits = [
                table.probabilities[:, [0, 1], [0, 1]].sum(-1) @ table.shares for table in (observed, found.repaired)
            ]
            assert found.lost_accuracy == pytest.approx(hits[0] - hits[1], abs=1e-12)
            stays = np.einsum("a,ass,asy->", observed.shares, found.change, observed.probabilities)
            assert found.changed == pytest.approx(1 - stays, abs=1e-12)
            assert found.total == pytest.approx(found.epsilon.sum(), abs=1e-12)


def test_repaired_outcomes_are_untouched() -> None:
    for observed in random_tables(5, seed=4):
        assert repaired(observed).repaired.probabilities.sum(1) == pytest.approx(observed.probabilities.sum(1))


@pytest.mark.parametrize("definition", [1, 2, 3, 4])
@pytest.mark.parametrize("shape", [TableShape(2, 3, 3), TableShape(3, 2, 2)])
def test_any_numbers_of_categories_are_repaired(shape: TableShape, definition: Definition) -> None:
    table = 0.1 * np.random.default_rng(5).dirichlet(np.ones(shape.cells), size=shape.attributes).reshape(shape.table)
    for a in range(shape.attributes):
        table[a, min(a, shape.predictions - 1), 1] += 0.9  # nearly everyone has outcome 1, and gets what A says
    observed = Observed.of(table)
    assert isinstance(fair_world(observed, definition), Contradiction)
    for never_lower in (False, True):
        found = repaired(observed, definition, never_lower=never_lower)
        assert found.total > 1e-3
        assert isinstance(fair_world(found.repaired, definition), FairWorld)
        assert not never_lower or not np.tril(found.change, -1).any()


def test_counterfactual_fairness_equalises_the_shares() -> None:
    found = repaired(UNFAIR, 3)
    shares = found.repaired.probabilities[:, 1].sum(-1)
    assert shares[0] == pytest.approx(shares[1], abs=1e-9)


def test_an_assumption_that_contradicts_the_table_leaves_no_repair() -> None:
    # Outcomes are not repaired, and Y = 1 is rarer under value 1.
    found = repair(TABLE_4, assumptions=assume(TableShape(), "outcome never falls"))
    assert isinstance(found, Contradiction)
    assert found.proof.violation > 0.1


def test_decisions_change_as_often_as_the_repair_says() -> None:
    found, n = repaired(UNFAIR), 40_000
    rng = np.random.default_rng(6)
    decisions, attributes = rng.integers(0, 2, n), rng.integers(0, 2, n)
    after = found.apply(decisions, attributes, rng)
    for a in (0, 1):
        for s in (0, 1):
            group = (attributes == a) & (decisions == s)
            changed = int((after[group] != s).sum())
            assert binomtest(changed, int(group.sum()), found.change[a, s, 1 - s]).pvalue > 1e-6 / 4
    assert (after != decisions).any()


def test_the_same_seed_changes_the_same_people() -> None:
    found = repaired(UNFAIR)
    decisions, attributes = np.tile([0, 1], 500), np.repeat([0, 1], 500)
    one, same, other = (found.apply(decisions, attributes, np.random.default_rng(seed)) for seed in (7, 7, 8))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_where_nothing_is_to_change_nothing_changes() -> None:
    found = repaired(Observed.of(np.full((2, 2, 2), 0.25)))
    decisions = np.tile([0, 1], 5000)
    assert np.array_equal(found.apply(decisions, np.repeat([0, 1], 5000), np.random.default_rng(9)), decisions)


def test_rounding_never_leads_out_of_the_decisions() -> None:
    found = repaired(UNFAIR)
    short = replace(found, change=found.change * (1 - 1e-2))
    assert short.apply(np.zeros(5000, int), np.zeros(5000, int), np.random.default_rng(10)).max() == 1


def test_what_cannot_be_repaired_is_refused() -> None:
    found = repaired(UNFAIR)
    with raises(DataError, 0, 1, 2, name="decisions"):
        found.apply([0, 2], [0, 1], np.random.default_rng(0))
    with raises(DataError, 0, 1, -1, name="decisions"):
        found.apply([1, -1], [0, 1], np.random.default_rng(0))
    with raises(DataError, 0, 1, name="attributes"):
        found.apply([0, 1], [0.0, np.nan], np.random.default_rng(0))
    with pytest.raises(DataError, match="one attribute value per decision"):
        found.apply([0, 1], [0], np.random.default_rng(0))
    with raises(UsageError, "total", "accuracy", "cheapest"):
        repair(UNFAIR, objective="cheapest")  # type: ignore[arg-type]
    with raises(UsageError, name="objective"):
        repair(Observed.of(np.full((2, 3, 2), 1 / 6)), objective="accuracy")
    with raises(UsageError, 3, name="epsilon"):
        _ = repaired(Observed.of(np.full((2, 3, 2), 1 / 6))).epsilon


def test_a_decision_among_three_becomes_each_other_as_often_as_it_should() -> None:
    change = np.asarray([[[0.2, 0.5, 0.3], [0.0, 1.0, 0.0], [0.6, 0.0, 0.4]]] * 2)
    found = replace(repaired(UNFAIR), change=change)
    n = 30_000
    rng = np.random.default_rng(11)
    for before in range(3):
        after = found.apply(np.full(n, before), np.zeros(n, int), rng)
        for then in range(3):
            assert binomtest(int((after == then).sum()), n, change[0, before, then]).pvalue > 1e-6 / 9


def test_epsilons_are_read_off_the_changes() -> None:
    change = np.asarray([[[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.4, 0.6]]])
    # At [a, b] the probability of forcing b where A = a.
    assert replace(repaired(UNFAIR), change=change).epsilon.tolist() == [[0.2, 0.1], [0.4, 0.3]]


def test_outcomes_move_to_where_an_assumption_holds_and_nowhere_where_none_can() -> None:
    few = assume(TABLE_4.shape, "P[Y0 == 1] <= 0.26")
    found = adjust_outcomes(TABLE_4, few)
    assert isinstance(found, AdjustedTable)
    assert found.distance == pytest.approx(0.2, abs=1e-9)  # 0.36 becomes 0.26, and 0.64 becomes 0.74
    assert found.table.probabilities[0].sum(0) == pytest.approx([0.74, 0.26], abs=1e-9)
    both = (*few, *assume(TABLE_4.shape, "P[Y0 == 1] >= 0.5"))
    assert isinstance(adjust_outcomes(TABLE_4, both), Contradiction)


def test_the_default_of_a_classifier_loses_less_accuracy_than_the_papers_objective() -> None:
    # Group 0 is decided at random, group 1 nearly always rightly: the fewest epsilons change group 1.
    observed = Observed.of([[[0.12, 0.38], [0.10, 0.40]], [[0.02, 0.08], [0.03, 0.87]]], [0.1, 0.9])
    kept, paper = repaired(observed, 3, objective=None), repaired(observed, 3)
    assert kept.objective == "loss"
    assert kept.lost_accuracy is not None
    assert paper.lost_accuracy is not None
    assert kept.lost_accuracy < paper.lost_accuracy - 0.1
    assert repaired(observed, 2, objective=None, margin=0.9).changed == 0.0
    wide = Observed.of(np.full((2, 3, 2), 1 / 6))
    assert repaired(wide, objective=None).objective == "changes"
