"""The region of cell probabilities, and what it says of effects."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln

from isonomia.errors import UsageError
from isonomia.evidence.fair_worlds import assumed_set, effect_interval, effect_intervals, fair_set, unfair_sets
from isonomia.evidence.identified.bets import CellRegion, Refuted, functional_interval
from isonomia.evidence.strata.worlds import PrincipalEffect, TableShape, assume, definition_effects, unaffected
from raising import raises

BINARY = TableShape()
TABLE_4 = np.asarray([[0.53, 0.04, 0.11, 0.32], [0.90, 0.02, 0.03, 0.05]])


def test_the_evidence_at_the_truth_is_a_martingale_that_starts_at_one():
    # The Dirichlet-multinomial probabilities of all tallies of 3 draws in 2 cells sum to 1.
    total = 0.0
    for yes in range(4):
        region = CellRegion(np.asarray([[3.0 - yes, yes]]), 0.5)
        shares = region.tally[0] / 3
        likelihood = float(np.prod(np.where(region.tally[0] > 0, shares, 1.0) ** region.tally[0]))
        ways = np.exp(gammaln(4) - gammaln(yes + 1) - gammaln(4 - yes))
        total += ways * likelihood / np.exp(region.allowance - np.log(2.0))
    assert total == pytest.approx(1.0)


def test_without_draws_an_effect_can_be_anything():
    interval = effect_interval(CellRegion(np.zeros((2, 4)), 0.05), BINARY, PrincipalEffect(unaffected(BINARY)))
    assert interval == (-1.0, 1.0)


def test_the_interval_excludes_zero_exactly_when_the_region_refutes_fairness():
    effect = PrincipalEffect(unaffected(BINARY))
    fair = fair_set(BINARY, [effect])
    for n, refuted in ((60_000, False), (600_000, True)):
        region = CellRegion(np.round(TABLE_4 * n), 0.05)
        interval = effect_interval(region, BINARY, effect)
        assert isinstance(interval, tuple)
        assert region.refutes(fair) == refuted == (interval[1] < 0)


def test_a_piece_beyond_the_interval_is_refuted_and_one_within_is_not():
    effect = PrincipalEffect(unaffected(BINARY))
    region = CellRegion(np.round(TABLE_4 * 1000), 0.05)
    interval = effect_interval(region, BINARY, effect)
    assert isinstance(interval, tuple)
    for value, refuted in ((interval[1] + 1e-4, True), (interval[1] - 1e-4, False)):
        assert region.refutes(unfair_sets(BINARY, [effect], value)[0]) == refuted


def test_a_smaller_risk_and_fewer_draws_widen_the_interval():
    effect = PrincipalEffect(unaffected(BINARY, 0))
    narrow = effect_interval(CellRegion(TABLE_4 * 1000, 0.05), BINARY, effect)
    for wider in (CellRegion(TABLE_4 * 1000, 1e-6), CellRegion(TABLE_4 * 300, 0.05)):
        interval = effect_interval(wider, BINARY, effect)
        assert interval[0] < narrow[0] < narrow[1] < interval[1]


def test_fixing_another_effect_at_zero_narrows_the_interval():
    effect, other = PrincipalEffect(unaffected(BINARY, 0)), PrincipalEffect(unaffected(BINARY, 1))
    region = CellRegion(TABLE_4 * 1000, 0.05)
    free, fixed = effect_interval(region, BINARY, effect), effect_interval(region, BINARY, effect, zero=[other])
    assert free[0] <= fixed[0] + 1e-6
    assert fixed[1] <= free[1] + 1e-6


def test_assumptions_that_the_draws_contradict_are_reported_as_refuted():
    assumptions = assume(BINARY, "outcome never falls")  # but the outcome is rarer under attribute value 1
    region = CellRegion(TABLE_4 * 2000, 0.05)
    assert effect_interval(region, BINARY, PrincipalEffect(unaffected(BINARY)), assumptions=assumptions) == Refuted()


def test_an_assumption_that_fits_narrows_the_interval():
    assumptions = assume(BINARY, "outcome never rises")
    region = CellRegion(TABLE_4 * 2000, 0.05)
    free = effect_interval(region, BINARY, PrincipalEffect(unaffected(BINARY)))
    narrowed = effect_interval(region, BINARY, PrincipalEffect(unaffected(BINARY)), assumptions=assumptions)
    assert free[0] - 1e-6 <= narrowed[0] < narrowed[1] <= free[1] + 1e-6
    assert narrowed[1] - narrowed[0] < free[1] - free[0] - 1e-3


def test_a_value_that_no_admitted_mixture_reaches_is_beyond_the_interval():
    assumptions = assume(BINARY, "P[S0 > S1] <= 0.2")
    region = CellRegion(TABLE_4 * 20, 0.05)
    low, high = effect_interval(region, BINARY, PrincipalEffect(unaffected(BINARY)), assumptions=assumptions)
    assert low == pytest.approx(-0.2, abs=1e-3)
    assert low < high <= 1.0


def test_a_ratio_over_nobody_is_refused():
    with raises(UsageError, name="denominator"):
        functional_interval(CellRegion(TABLE_4, 0.05), assumed_set(BINARY), np.zeros(16), np.zeros(16))


@pytest.mark.parametrize("tally", [np.full((2, 4), np.nan), -np.ones((2, 4)), np.ones(4)])
def test_a_tally_that_is_none_is_refused(tally):
    with raises(UsageError, name="tally"):
        CellRegion(tally, 0.05)


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 2.0])
def test_a_risk_outside_zero_to_one_is_refused(delta):
    with raises(UsageError, f"delta={delta}"):
        CellRegion(TABLE_4, delta)


def test_the_definitions_effects_share_one_region():
    region = CellRegion(TABLE_4 * 1000, 0.05)
    for effect in definition_effects(BINARY, 1):
        low, high = effect_interval(region, BINARY, effect)
        assert -1.0 <= low < high <= 1.0


@pytest.mark.parametrize("normalised", [False, True])
def test_many_effects_of_many_regions_at_once_are_those_of_each_alone(normalised, monkeypatch):
    shape = TableShape(3, 2, 3)
    rng = np.random.default_rng(1)
    regions = [CellRegion(rng.multinomial(200, np.full(6, 1 / 6), size=3).astype(float), 0.05) for _ in range(3)]
    effects = [(effect, normalised) for effect in definition_effects(shape, 1)[:3]]
    together = effect_intervals(regions, shape, effects)
    # Merged cells, and one region and effect at a time.
    monkeypatch.setattr("isonomia.evidence.fair_worlds.SMALL", 0)
    for region, row in zip(regions, together, strict=True):
        alone = [effect_interval(region, shape, effect, normalised=normalised) for effect, _ in effects]
        np.testing.assert_allclose(alone, row, atol=5e-6)


def test_the_products_of_rows_are_the_same_where_only_those_that_are_not_zero_are_kept(monkeypatch):
    shape = TableShape(3, 2, 3)
    effect, region = definition_effects(shape, 1)[0], CellRegion(np.full((3, 6), 20.0), 0.05)
    whole = effect_interval(region, shape, effect)
    monkeypatch.setattr("isonomia.evidence.identified.identified_set.DENSE", 0)
    assert effect_interval(region, shape, effect) == pytest.approx(whole, abs=2e-6)
