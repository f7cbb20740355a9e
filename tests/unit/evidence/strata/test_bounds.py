"""Bounds by linear programming: known answers, any numbers of categories, assumptions, contradictions."""

from __future__ import annotations

import numpy as np
import pytest

from isonomia.evidence.strata.bounds import (
    Bounds,
    Contradiction,
    EmptyStratum,
    FairWorld,
    effect_bounds,
    fair_world,
    normalised_bounds,
    stratum_bounds,
)
from isonomia.evidence.strata.worlds import (
    Definition,
    LinearAssumption,
    Observed,
    PrincipalEffect,
    TableShape,
    assume,
    definition_effects,
    effect_row,
    everyone,
    fairness_rows,
    observation,
    outcome_under,
    stratum_row,
    unaffected,
    worlds,
)

BINARY = TableShape()
ONE, ZERO, BOTH = (PrincipalEffect(unaffected(BINARY, y)) for y in (1, 0, None))
# The paper's Table 4: [attribute][prediction][outcome].
TABLE_4 = Observed.of([[[0.53, 0.04], [0.11, 0.32]], [[0.90, 0.02], [0.03, 0.05]]])


def shown(shape: TableShape, world: np.ndarray) -> Observed:
    return Observed.of((observation(shape) @ world).reshape(shape.table))


def ends(found: object) -> tuple[float, float]:
    assert isinstance(found, Bounds)
    return found.lower, found.upper


def test_the_papers_table_4_violates_both_definitions() -> None:
    assert ends(effect_bounds(TABLE_4, ZERO)) == pytest.approx((-0.11, -0.01), abs=1e-9)
    assert ends(effect_bounds(TABLE_4, BOTH)) == pytest.approx((-0.13, -0.01), abs=1e-9)
    assert ends(normalised_bounds(TABLE_4, ZERO)) == pytest.approx((-0.11 / 0.57, -0.01 / 0.57), abs=1e-9)
    for definition in (1, 2):
        assert isinstance(fair_world(TABLE_4, definition), Contradiction)


def test_an_effect_cannot_be_bounded_where_another_cannot_be_zero() -> None:
    found = effect_bounds(TABLE_4, ONE, zero=[ZERO])
    assert isinstance(found, Contradiction)
    assert found.proof.violation > 1e-3
    assert ends(effect_bounds(TABLE_4, ZERO, zero=[ONE])) == pytest.approx((-0.11, -0.01), abs=1e-9)


def test_a_contradiction_is_proved_by_numbers_that_can_be_checked_by_hand() -> None:
    found = fair_world(TABLE_4, 2)
    assert isinstance(found, Contradiction)
    y = found.proof.equal_multipliers
    rows = np.vstack([observation(BINARY).reshape(8, 16), fairness_rows(BINARY, 2)])
    right = np.append(TABLE_4.probabilities.ravel(), 0.0)
    assert (rows.T @ y).max() <= 1e-12
    assert right @ y == pytest.approx(found.proof.violation)
    assert right @ y > 1e-3


@pytest.mark.parametrize("shape", [TableShape(), TableShape(3, 2, 2), TableShape(2, 3, 3), TableShape(2, 2, 4)])
def test_bounds_hold_the_effects_of_the_world_that_made_the_table(shape: TableShape) -> None:
    rng = np.random.default_rng(8)
    strata = [unaffected(shape), unaffected(shape, 1), everyone(shape), outcome_under(shape, 1)]
    for stratum in strata:
        world = rng.dirichlet(np.full(shape.worlds, 0.1))
        effect = PrincipalEffect(stratum, shape.attributes - 1, 0, shape.predictions - 1)
        true, mass = float(effect_row(shape, effect) @ world), float(stratum_row(shape, stratum) @ world)
        low, high = ends(effect_bounds(shown(shape, world), effect))
        assert low - 1e-9 <= true <= high + 1e-9
        low, high = ends(normalised_bounds(shown(shape, world), effect))
        assert low - 1e-9 <= true / mass <= high + 1e-9
        low, high = ends(stratum_bounds(shown(shape, world), effect))
        assert low - 1e-9 <= mass <= high + 1e-9


@pytest.mark.parametrize("definition", [1, 2, 3, 4])
@pytest.mark.parametrize("shape", [TableShape(), TableShape(3, 2, 2), TableShape(2, 3, 3)])
def test_the_table_of_a_fair_world_is_never_called_unfair(shape: TableShape, definition: Definition) -> None:
    # Swapping the predictions of two attribute values and averaging makes any world fair by every definition.
    rng = np.random.default_rng(9)
    every, weights = worlds(shape), rng.dirichlet(np.full(shape.worlds, 0.05))
    number = {tuple(world.ravel()): w for w, world in enumerate(every)}
    fair = np.zeros_like(weights)
    for world, weight in zip(every, weights, strict=True):
        for shift in range(shape.attributes):
            fair[number[(*np.roll(world[0], shift), *world[1])]] += weight / shape.attributes
    assert np.abs(fairness_rows(shape, definition) @ fair).max() < 1e-12
    found = fair_world(shown(shape, fair), definition)
    assert isinstance(found, FairWorld)
    assert np.abs(fairness_rows(shape, definition) @ found.world).max() < 1e-9
    assert observation(shape) @ found.world == pytest.approx(observation(shape) @ fair, abs=1e-9)


def test_counterfactual_fairness_is_known_exactly() -> None:
    (effect,) = definition_effects(BINARY, 3)
    assert ends(effect_bounds(TABLE_4, effect)) == pytest.approx((-0.35, -0.35), abs=1e-9)


def test_where_the_attribute_affects_no_outcome_definitions_2_and_3_have_one_effect() -> None:
    # Theorem 1 of the paper; the table needs equal outcomes under both attribute values.
    observed = Observed.of([[[0.4, 0.1], [0.2, 0.3]], [[0.3, 0.2], [0.3, 0.2]]])
    same = assume(BINARY, "outcome never changes")
    for effect in (BOTH, PrincipalEffect(everyone(BINARY))):
        assert ends(normalised_bounds(observed, effect, assumptions=same)) == pytest.approx((0.0, 0.0), abs=1e-9)
    narrow = ends(effect_bounds(observed, ONE, assumptions=same))
    assert narrow == pytest.approx((-0.1, -0.1), abs=1e-9)


def test_monotone_outcomes_determine_the_strata() -> None:
    rng = np.random.default_rng(3)
    world = rng.dirichlet(np.ones(16)) * (1 - assume(BINARY, "outcome never falls")[0].row)
    observed = shown(BINARY, world / world.sum())
    found = stratum_bounds(observed, ONE, assumptions=assume(BINARY, "outcome never falls"))
    assert ends(found) == pytest.approx([observed.probabilities[0, :, 1].sum()] * 2, abs=1e-9)


@pytest.mark.parametrize(
    "words", ["outcome never rises", "protect the reference", "no one is harmed", "P[Y0 != Y1] <= 0.2"]
)
def test_an_assumption_never_widens_the_bounds_and_can_narrow_them(words: str) -> None:
    constraints, rng = assume(BINARY, words), np.random.default_rng(4)
    rows, gains = np.asarray([constraint.row for constraint in constraints]), []
    for _ in range(5):
        world = rng.dirichlet(np.ones(16)) * (rows <= 0).all(0)  # keeps the assumption true
        observed = shown(BINARY, world / world.sum())
        wide, narrow = (ends(effect_bounds(observed, BOTH, assumptions=given)) for given in ((), constraints))
        assert wide[0] - 1e-9 <= narrow[0] <= narrow[1] + 1e-9
        assert narrow[1] <= wide[1] + 1e-9
        gains.append(wide[1] - wide[0] - narrow[1] + narrow[0])
    assert max(gains) > 1e-3


def test_a_constraint_may_have_a_bound_of_its_own() -> None:
    # Probabilities sum to 1, so that row @ w <= 0.58 and (row - 0.58) @ w <= 0 say the same.
    row = stratum_row(BINARY, unaffected(BINARY))
    plain, moved = LinearAssumption(row, 0.58), LinearAssumption(row - 0.58, 0.0)
    for bounds in (effect_bounds, normalised_bounds):
        found = [ends(bounds(TABLE_4, BOTH, assumptions=given)) for given in ([plain], [moved], [])]
        assert found[0] == pytest.approx(found[1], abs=1e-9)
        assert found[0] != pytest.approx(found[2], abs=1e-3)


def test_a_table_that_contradicts_an_assumption_says_so_with_a_proof() -> None:
    # Y = 1 is rarer under attribute value 1, so that somebody's outcome falls.
    found = normalised_bounds(TABLE_4, BOTH, assumptions=assume(BINARY, "outcome never falls"))
    assert isinstance(found, Contradiction)
    y, z = found.proof.equal_multipliers, found.proof.below_multipliers
    row = assume(BINARY, "outcome never falls")[0].row
    assert (observation(BINARY).reshape(8, 16).T @ y + row * z[0]).max() <= 1e-12
    assert z[0] <= 0.0
    assert TABLE_4.probabilities.ravel() @ y == pytest.approx(found.proof.violation)
    assert found.proof.violation > 0.1


def test_nobody_is_treated_unfairly_where_nobody_is() -> None:
    # Everyone's outcome is 0 under value 0 and 1 under value 1: no outcome is unaffected.
    observed = Observed.of([[[0.5, 0.0], [0.5, 0.0]], [[0.0, 0.1], [0.0, 0.9]]])
    assert isinstance(normalised_bounds(observed, BOTH), EmptyStratum)
    assert ends(effect_bounds(observed, BOTH)) == pytest.approx((0.0, 0.0), abs=1e-12)


def test_certain_tables_have_a_point() -> None:
    # All unaffected; value 0 always gets prediction 0 and value 1 always 1.
    observed = Observed.of([[[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [1.0, 0.0]]])
    assert ends(normalised_bounds(observed, ZERO)) == pytest.approx((1.0, 1.0), abs=1e-9)
    assert isinstance(normalised_bounds(observed, ONE), EmptyStratum)


def test_every_bound_carries_a_small_gap() -> None:
    found = normalised_bounds(TABLE_4, BOTH)
    assert isinstance(found, Bounds)
    for proof in found.proofs:
        assert max(proof.gap, proof.primal_residual, proof.dual_residual) < 1e-10


@pytest.mark.parametrize("seen", [(1, 1), (2, 1), (3, 2)])
def test_a_stratum_of_a_few_in_a_hundred_million_is_no_contradiction(seen: tuple[int, int]) -> None:
    counts = np.array([[[6e7, seen[0]], [4e7 - 2, seen[1]]], [[5e6, 2e6], [2e6, 1e6]]])
    found = normalised_bounds(Observed.from_counts(counts), ONE)
    assert isinstance(found, Bounds)
    assert -1.0 <= found.lower <= found.upper <= 1.0


@pytest.mark.parametrize("assumptions", [(), ("outcome never falls",), ("P[S0 == 1] <= 0.6",)])
def test_merged_cells_leave_the_bounds_as_they_are(
    assumptions: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = TableShape(3, 2, 3)
    world = np.random.default_rng(3).dirichlet(np.ones(shape.worlds) / 4)
    if "outcome never falls" in assumptions:
        world = np.where((np.diff(worlds(shape)[:, 1]) < 0).any(axis=1), 0.0, world)
    observed = Observed.of((observation(shape) @ (world / world.sum())).reshape(shape.table))
    rows = [row for words in assumptions for row in assume(shape, words)]
    found = {}
    for small in (0, 10**6):
        monkeypatch.setattr("isonomia.evidence.strata.bounds.SMALL", small)
        found[small] = [
            ends(bound(observed, effect, assumptions=rows))
            for effect in definition_effects(shape, 1)
            for bound in (effect_bounds, normalised_bounds)
        ]
    np.testing.assert_allclose(found[0], found[10**6], atol=1e-8)
