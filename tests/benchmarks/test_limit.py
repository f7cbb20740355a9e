"""Dividing the wealth among bettors costs quick checks nothing, and makes slow ones quicker."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.limit import PAIRS, Optimum, beside_alone


@pytest.mark.parametrize("rates", [(0.98, 0.98), (0.49, 0.98), (0.84, 0.7), (0.9, 0.9)])
def test_a_quick_check_takes_as_few_people_as_with_the_estimate_alone(rates: tuple[float, float]) -> None:
    ratio, error = beside_alone((_number(rates), 0.05, 400))
    assert error < 0.01
    assert ratio < 1.0 + 3.0 * error


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


def _number(rates: tuple[float, float]) -> int:
    return next(k for k, pair in enumerate(PAIRS) if pair == pytest.approx(rates))
