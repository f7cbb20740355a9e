"""Dividing the wealth among bettors makes slow checks quicker, and leaves quick ones near the limit, too."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.limit import PAIRS, Optimum, Pair, beside_alone, by_bets, mean_draws


@pytest.mark.parametrize("rates", [(0.98, 0.98), (0.49, 0.98), (0.84, 0.7), (0.9, 0.9)])
def test_a_quick_check_takes_at_most_twice_the_limit(rates: tuple[float, float]) -> None:
    pair = Pair.of(*rates)
    mean, error = mean_draws(by_bets, pair, 0.05, 400, _number(rates))
    assert mean + 2.0 * error < 2.05 * pair.limit(0.05)


@pytest.mark.parametrize("rates", [(0.5, 0.5), (0.45, 0.5), (0.12, 0.1)])
def test_a_slow_check_takes_fewer_people_than_with_the_estimate_alone(rates: tuple[float, float]) -> None:
    ratio, error = beside_alone((_number(rates), 0.05, 400))
    assert error < 0.02
    assert ratio < 1.0 - 2.0 * error


def test_who_knows_the_truth_needs_what_a_likelihood_ratio_does_and_who_does_not_needs_more() -> None:
    """Against a drift of 0, the least is log(1 / delta) where the drift may only have one size (Wald)."""
    delta = 0.01
    optimum = Optimum.of(delta, span=1.0, distances=1)
    known = optimum.averages()[0]
    assert known == pytest.approx(np.log(1.0 / delta) / optimum.least, rel=0.03)
    average, worst = Optimum.of(delta, span=8.0, distances=5).averages()
    assert 1.1 * known < average < worst < 1.6 * known


def test_the_bets_stay_between_what_is_possible_and_a_sixth_more():
    """With the least average over a 50-fold range of distances, 1.485, as ``--optimum`` finds it."""
    ratios = []
    for rates in ((0.12, 0.1), (0.21, 0.3), (0.45, 0.5), (0.63, 0.9), (0.49, 0.98)):
        pair = Pair.of(*rates)
        ratios.append(mean_draws(by_bets, pair, 0.05, 600, _number(rates))[0] / pair.limit(0.05))
    assert 1.2 < np.exp(np.mean(np.log(ratios))) < 1.485 * 7 / 6


def _number(rates: tuple[float, float]) -> int:
    return next(k for k, pair in enumerate(PAIRS) if pair == pytest.approx(rates))
