"""Limits, allocation and exact truth against closed forms and brute force."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import rel_entr

from isonomia.engine.loop import Plan
from isonomia.errors import DataError
from isonomia.evidence.bet_evidence import bets_for
from isonomia.evidence.exact import exact_truth
from isonomia.evidence.planning import best_shares, forecast, truth_at
from isonomia.spec.parser import parse_formula

RATIO = parse_formula("P[hired | sex == 'F'] / P[hired | sex == 'M'] >= 0.8")
LEAVES = (RATIO.first.left, RATIO.first.right)


def bernoulli(p, q):
    return rel_entr(p, q) + rel_entr(1.0 - p, 1.0 - q)


def test_the_limit_for_one_rate_is_the_closed_form():
    formula = parse_formula("P[hired] >= 0.2")
    leaf = formula.first
    evidence = bets_for(formula, {leaf: (0.0, 1.0)}, [None], 1e-4)
    (channel,) = evidence.channels
    plan = forecast(evidence, {leaf: 0.3}, {channel: 1.0}, repetitions=200, rng=np.random.default_rng(1))
    needed = bernoulli(1e-4, 1.0 - 1e-4)
    assert plan.answer is True
    assert plan.limit == pytest.approx(needed / bernoulli(0.3, 0.2), rel=1e-6)
    assert plan.limit < plan.mean < 1.6 * plan.limit
    assert plan.early < plan.mean < plan.late


def test_a_claim_on_its_boundary_is_forecast_to_stay_open():
    evidence = bets_for(RATIO, dict.fromkeys(LEAVES, (0.0, 1.0)), [None], 1e-4)
    # A power of two, so that the tie is exact in floating point as well.
    on_edge = {LEAVES[0]: 0.8 * 0.5, LEAVES[1]: 0.5}
    assert truth_at(evidence, on_edge) is None
    plan = forecast(evidence, on_edge, dict.fromkeys(evidence.channels, 0.5), rng=np.random.default_rng(1))
    assert (plan.answer, plan.limit) == (None, np.inf)


@pytest.mark.parametrize("means", [(0.5, 0.5), (0.3, 0.9), (0.05, 0.2)])
def test_best_shares_are_those_of_a_grid_search(means):
    evidence = bets_for(RATIO, dict.fromkeys(LEAVES, (0.0, 1.0)), [leaf.given for leaf in LEAVES], 1e-4)

    def reach(share):
        cost = lambda q: share * bernoulli(means[0], 0.8 * q) + (1.0 - share) * bernoulli(means[1], q)  # noqa: E731
        return minimize_scalar(cost, bounds=(1e-9, 1.0 - 1e-9), method="bounded", options={"xatol": 1e-10}).fun

    grid = np.linspace(0.02, 0.98, 193)
    values = np.asarray([reach(share) for share in grid])
    shares = best_shares(evidence, dict(zip(LEAVES, means, strict=True)), 2)
    assert shares.sum() == pytest.approx(1.0)
    assert reach(shares[0]) >= 0.999 * values.max()


def test_a_tie_in_decimal_fractions_is_true():
    values = {LEAVES[0]: Fraction(4, 10), LEAVES[1]: Fraction(5, 10)}
    assert exact_truth(RATIO, values)
    assert not exact_truth(parse_formula("P[hired | sex == 'F'] / P[hired | sex == 'M'] > 0.8"), values)
    assert exact_truth(parse_formula("P[hired | sex == 'F'] + 0.2 + 0.1 <= 0.7"), values)


def test_a_zero_denominator_is_an_error_that_names_it():
    with pytest.raises(DataError, match="denominator that is not zero"):
        exact_truth(RATIO, {LEAVES[0]: Fraction(1, 2), LEAVES[1]: Fraction(0)})


def test_draws_are_split_in_their_shares_to_within_one_draw():
    rng = np.random.default_rng(9)
    for _ in range(50):
        shares = rng.dirichlet(np.ones(int(rng.integers(2, 5))))
        start, drawn = 0, np.zeros(len(shares))
        for n in rng.integers(1, 30, size=40).tolist():
            part = np.asarray(Plan(0, start, n, tuple(shares)).by_stream())
            assert part.sum() == n
            assert part.min() >= 0
            start, drawn = start + n, drawn + part
        assert np.abs(drawn - shares * start).max() <= len(shares)
