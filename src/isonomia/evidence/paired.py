"""One look at pairs of yes/no answers: exact limits for the difference of two rates of the same rows.

Of ``n`` independent rows, ``a`` have the first event alone and ``b`` the second alone; the others have both or neither
and say nothing. ``(a, b)`` is trinomial with rates ``p`` and ``q``, and the quantity is ``d = p - q``: for two models,
how much more often the first one is right. The lower limit is that of :mod:`isonomia.evidence.one_look`: the least
``d`` of all rates with ``P(A) > delta - gamma`` and ``q`` in a Clopper-Pearson interval that misses it with probability
at most ``gamma``; ``A`` are the tables that speak at least as strongly for the first event as the observed one.

*The order.* Tables are ordered by the limit of a score test, the solution of ``d - c = z sqrt((s - c**2) / n)`` for
the shares ``d = (a - b) / n`` and ``s = (a + b + k) / n``. With ``k = z**2 (5 + z**2 / n) / 4`` it rises with ``a`` and
falls with ``b`` in every table, as :doc:`the theory </theory/one-look>` proves. So ``P(A)`` rises with ``p``, falls
with ``q``, and is largest over ``d <= c`` where ``d = c``; at ``c = 0`` the order is nearly McNemar's.

*Not a maximum over a grid.* All rates with ``d <= c`` and ``q`` between ``l`` and ``r`` are dominated by ``p = r + c``,
``q = l``. The interval of ``q`` is cut into cells until this corner is unlikely in each of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isfinite, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, ndtri

from isonomia.errors import UsageError
from isonomia.evidence.binomial import binomial_probabilities, count_window, lower_limit, upper_limit
from isonomia.evidence.confidence_sequences import check_delta
from isonomia.evidence.one_look import DEPTH, LARGE, LEAST_Z, SLACK, searched
from isonomia.evidence.tail_bounds import FIRST_CELLS, refuted_in_cells

Floats = NDArray[np.float64]

NUISANCE_SHARE = 1.0 / 200.0
"""``gamma / delta``. Any share is valid. There is one nuisance rate, so that a smaller share than for fractions of
rates costs few cells, and leaves more of the risk for the test."""


def difference_limit(first: float, second: float, n: float, delta: float, threshold: float | None = None) -> float:
    """A lower limit of ``P[first] - P[second]`` on the same rows, for one look at a number fixed in advance.

    Guarantee: for independent rows with any rates, ``P(difference < limit) <= delta``. It does not cover a second look.

    Parameters
    ----------
    first, second
        How many rows have the first event alone, and how many the second alone.
    n
        How many rows there are.
    delta
        The risk.
    threshold
        A value of interest, fixed in advance. Whether the limit reaches it is decided exactly.
    """
    _check(first, second, n, delta)
    return searched(_PairedTest(first, second, n, delta, delta), threshold) if n > 0 else -1.0


def proves_difference(
    first: float, second: float, n: float, delta: float, value: float, order: float | None = None
) -> bool:
    """Whether the table proves, at this risk, that the difference is above a value; does not search for the limit.

    ``order`` is a risk of at most ``delta`` for which tables are ordered and the box is built, so that what is proved
    at one risk is proved at every larger one.
    """
    _check(first, second, n, delta)
    test = _PairedTest(first, second, n, delta, delta if order is None else min(order, delta))
    return n > 0 and (value < test.low or test.rejects(value))


def _check(first: float, second: float, n: float, delta: float) -> None:
    check_delta(delta)
    if min(first, second) < 0 or first + second > n or not isfinite(n):
        raise UsageError(f"expected counts of at most {n:,} rows together, but got {first!r} and {second!r}")


@dataclass
class _PairedTest:
    """Tests of ``d <= c`` for one table, for every ``c`` by the same set of tables."""

    first: float
    second: float
    n: float
    delta: float
    order: float

    low = -1.0

    def __post_init__(self) -> None:
        self.z = max(-float(ndtri(self.order)), LEAST_Z)
        self.level = self.delta - self.order * NUISANCE_SHARE
        self.centre = (self.first - self.second) / max(self.n, 1.0)
        self.scale = sqrt(self.first + self.second + 1.0) / max(self.n, 1.0)

    def _limit(self, first: Floats, second: Floats) -> Floats:
        """The limit of the score test, by which tables are ordered."""
        n, square = self.n, self.z**2
        d, s = (first - second) / n, (first + second + square * (5.0 + square / n) / 4.0) / n
        wider = 1.0 + square / n
        return np.asarray((d - self.z / sqrt(n) * np.sqrt(np.maximum(s * wider - d**2, 0.0))) / wider)

    @cached_property
    def _box(self) -> tuple[float, float]:
        risk = self.order * NUISANCE_SHARE / 2.0
        return float(lower_limit(self.second, self.n, risk)), float(upper_limit(self.second, self.n, risk))

    @cached_property
    def _least(self) -> tuple[int, Floats]:
        """The first count of the second event that is not left out; for it and the next ones, the least first in A."""
        start, last = count_window(self.n, *self._box, SLACK * self.level)
        second = np.arange(start, last + 1, dtype=float)
        # Slightly more than A is taken, so that rounding does not leave out any of it.
        border = float(self._limit(np.asarray(self.first), np.asarray(self.second))) - 1e-12
        low, high = np.full(len(second), -1.0), self.n - second + 1.0
        while bool(np.any(high - low > 1.0)):
            middle = np.floor(0.5 * (low + high))
            inside = self._limit(middle, second) >= border
            low, high = np.where(inside, low, middle), np.where(inside, middle, high)
        return start, high

    def rejects(self, c: float) -> bool:
        def likely(left: Floats, right: Floats) -> NDArray[np.bool_]:
            result = right + c >= 0.0  # elsewhere there are no such rates
            if result.any():
                result[result] = self._likely(np.minimum(right[result] + c, 1.0 - left[result]), left[result])
            return result

        depths = DEPTH if self.n <= LARGE else DEPTH - 1
        return refuted_in_cells(self._box, depths, likely, lambda second: self._some_rate_is_likely(c, second))

    def guesses(self, c: float) -> bool:
        return not self._some_rate_is_likely(c, np.linspace(*self._box, 2 * FIRST_CELLS + 1))

    def _some_rate_is_likely(self, c: float, second: Floats) -> bool:
        least, most = max(self._box[0], -c), min(self._box[1], (1.0 - c) / 2.0)
        if least > most:
            return False
        second = np.unique(np.clip(second, least, most))
        return bool(self._likely(np.maximum(second + c, 0.0), second).any())

    def _likely(self, first: Floats, second: Floats) -> NDArray[np.bool_]:
        """Whether ``P(A)`` is above the level, for each pair of rates; counts that are left out count as in A."""
        start, least = self._least
        begin, weights = binomial_probabilities(self.n, second, SLACK * self.level)
        skip = max(start - begin, 0)
        weights = weights[:, skip : start + len(least) - begin]
        counts = np.arange(begin + skip, begin + skip + weights.shape[1], dtype=float)
        needed, left = least[counts.astype(np.intp) - start], self.n - counts
        share = np.minimum(first / np.maximum(1.0 - second, 1e-300), 1.0)[:, None]
        # The chance of at least `needed` of the `left` rows; beyond the ends of its range betainc has no value.
        inside = np.clip(needed, 1.0, np.maximum(left, 1.0))
        tail = betainc(inside, np.maximum(left, 1.0) - inside + 1.0, share)
        tail = np.where(needed <= 0.0, 1.0, np.where(needed > left, 0.0, tail))
        return np.asarray(np.sum(weights * tail, axis=1) > self.level * (1.0 - 4.0 * SLACK))
