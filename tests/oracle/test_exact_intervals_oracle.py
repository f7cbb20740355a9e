"""Exact intervals and procedures for many tests against SciPy and plain definitions."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom, binomtest, hypergeom

from isonomia.evidence.binomial import clopper_pearson, lower_limit, upper_limit
from isonomia.evidence.confidence_sequences import finite_interval, log_finite_evidence
from isonomia.evidence.multiple import closed_average, closed_e_bh, e_bh, holm


@pytest.mark.parametrize(("s", "n"), [(0, 10), (10, 10), (3, 10), (4, 254), (1, 1), (0, 1), (500, 1000)])
@pytest.mark.parametrize("delta", [0.05, 0.01, 1e-6])
def test_clopper_pearson_is_scipys(s, n, delta):
    ours = clopper_pearson(s, n, delta)
    exact = binomtest(s, n).proportion_ci(confidence_level=1.0 - delta, method="exact")
    assert [float(end) for end in ours] == pytest.approx([exact.low, exact.high], abs=1e-9)


def test_four_of_254_are_below_a_twentieth_at_one_in_a_hundred():
    # At the limit, four successes or fewer have probability exactly 0.01.
    limit = float(upper_limit(4, 254, 0.01))
    assert binom.cdf(4, 254, limit) == pytest.approx(0.01)
    assert limit < 0.05
    assert binom.sf(3, 254, float(lower_limit(4, 254, 0.01))) == pytest.approx(0.01)


@pytest.mark.parametrize("delta", [1e-9, 1e-16, 1e-20, 1e-100])
def test_the_upper_limit_keeps_its_meaning_at_tiny_risks(delta):
    assert binom.logcdf(3, 1000, float(upper_limit(3, 1000, delta))) == pytest.approx(np.log(delta), rel=1e-6)


def step_down(p, delta):
    left, rejected = list(range(len(p))), set()
    while left:
        least = min(left, key=lambda i: p[i])
        if p[least] > delta / len(left):
            break
        rejected.add(least)
        left.remove(least)
    return [i in rejected for i in range(len(p))]


def test_holm_is_the_step_down_procedure():
    rng = np.random.default_rng(5)
    for _ in range(300):
        p = np.round(rng.uniform(size=int(rng.integers(1, 9))) ** 3, 2)
        assert holm(p, 0.1).tolist() == step_down(p.tolist(), 0.1)


@pytest.mark.parametrize("together", [None, True])
def test_closed_e_bh_rejects_the_largest_count_that_every_set_allows(together):
    rng, delta, more = np.random.default_rng(8), 0.2, 0
    for _ in range(150):
        e = np.exp(rng.normal(1.5, 1.5, rng.integers(1, 7)))
        m, order, count = len(e), np.argsort(-e), 0
        sets = [np.asarray(chosen) for k in range(1, m + 1) for chosen in combinations(range(m), k)]
        for r in range(1, m + 1):
            named = np.isin(np.arange(m), order[:r])
            tested = [chosen for chosen in sets if together is None or len(chosen) < m]
            if all(e[chosen].mean() * delta >= named[chosen].sum() / r for chosen in tested):
                count = r
        found = closed_e_bh(e, delta, together=together)
        assert found.sum() == count
        assert found[order[:count]].all()
        assert not (e_bh(e, delta) & ~found).any()
        assert not (closed_average(np.log(e), delta, together=together) & ~found).any()
        more += int(count > e_bh(e, delta).sum())
    assert more > 5
    assert not closed_e_bh([1e9, 1e9], delta, together=False).any()


def test_e_bh_rejects_the_largest_count_that_its_definition_allows():
    rng = np.random.default_rng(6)
    for _ in range(300):
        e = np.round(rng.exponential(20.0, size=int(rng.integers(1, 9))), 0)
        allowed = [k for k in range(1, len(e) + 1) if sorted(e, reverse=True)[k - 1] >= len(e) / (0.2 * k)]
        rejected = e_bh(e, 0.2)
        assert rejected.sum() == max(allowed, default=0)
        if rejected.any():
            assert e[rejected].min() >= e[~rejected].max(initial=0.0)


def beta_binomial(k, n, a, b):
    from scipy.stats import betabinom

    return betabinom.logpmf(k, n, a, b)


@pytest.mark.parametrize(
    ("size", "n", "s"), [(30, 0, 0), (30, 12, 0), (30, 12, 12), (30, 12, 5), (30, 30, 7), (41, 20, 1)]
)
def test_finite_evidence_is_prior_over_posterior(size, n, s):
    totals = np.arange(size + 1.0)
    found = log_finite_evidence(*(np.full_like(totals, v) for v in (s, n, size)), totals)
    possible = (totals >= s) & (totals <= size - (n - s))
    prior = beta_binomial(totals[possible], size, 0.5, 0.5)
    posterior = beta_binomial(totals[possible] - s, size - n, 0.5 + s, 0.5 + n - s)
    assert np.isinf(found[~possible]).all()
    assert np.allclose(found[possible], prior - posterior, atol=1e-9)
    # The same ratio as the marginal probability of what was seen over its probability given the total.
    seen = hypergeom.logpmf(s, size, totals[possible].astype(int), n)
    marginal = np.log(
        np.sum(np.exp(beta_binomial(totals, size, 0.5, 0.5)) * hypergeom.pmf(s, size, totals.astype(int), n))
    )
    assert np.allclose(found[possible], marginal - seen, atol=1e-8)


@pytest.mark.parametrize("delta", [0.2, 0.05, 1e-6])
def test_the_finite_interval_is_the_hull_of_the_totals_that_are_not_refuted(delta):
    for size, n, s in [(25, 10, 3), (25, 10, 0), (25, 25, 4), (60, 59, 30), (60, 1, 1), (200, 150, 149), (7, 3, 2)]:
        totals = np.arange(size + 1.0)
        kept = totals[
            log_finite_evidence(*(np.full_like(totals, v) for v in (s, n, size)), totals) < np.log(1 / delta) + 1e-9
        ]
        assert finite_interval(s, n, size, delta) == pytest.approx((kept.min() / size, kept.max() / size))
