"""One look at a table whose size was fixed in advance: exact limits for fractions of rates.

A single look need not pay for optional stopping. Take independent counts ``x_g``, binomial with ``n_g`` draws and
rate ``p_g``, and a quantity ``f(p) = (a_0 + a . p) / (b_0 + b . p)``: a rate, a difference, a ratio. Its lower limit
is

    min of f over the rates p in C with P_p(A) > delta - gamma,

where ``A`` is the set of tables that speak at least as strongly for a large ``f`` as the observed one, by an order of
all tables fixed in advance, and ``C`` is a box of Clopper-Pearson intervals that misses the rates with
probability at most ``gamma`` (Berger and Boos 1994).

*Why it is sound.* ``P_p(A)`` at the true ``p`` is a p-value: it is at most ``delta - gamma`` with at most that
probability, and ``C`` misses the truth with probability at most ``gamma``. Otherwise the truth is among the rates
whose ``f`` is minimised. No threshold is tested by itself, so the limit is valid for all of them at once: ``f > c`` is
proved exactly where the limit is above ``c`` (Buehler 1957, for limits made from an order of tables).

*The order.* For two rates, tables are ordered by an approximate lower limit: the largest ``c`` at which ``N - c D``
exceeds ``z`` standard deviations, where ``f = N/D`` and rates are shrunk by ``z**2 / 2`` successes and failures
(Agresti and Coull 1998). With that much shrinkage ``A`` is closed under adding successes that raise ``f``, so
``P_p(A)`` is monotone in both rates: the slope of ``u - z sqrt(u (1 - u) / n)`` is not negative for ``u`` between
``z**2 / 2n`` and 1 minus it, where ``n`` is the number of draws plus ``z**2``. Any order is valid; this one makes
``P_p(A)`` nearly the same for all rates with the same ``f``, so next to nothing is lost.

*Not a maximum over a grid.* A side of ``C`` is cut into cells. Within a cell the rates with ``f <= c`` lie below a
corner, and ``P_p(A)``, a sum over binomials, is largest at that corner; where it is small enough at every corner, no
such rate is left. For many draws, ``P_p(A)`` is bounded between a hundred points by its curvature instead.

For more than two rates ``A`` is a half-space of tables, and :mod:`isonomia.evidence.tail_bounds` bounds ``P_p(A)`` over
cells in the same way. A single rate has its Clopper-Pearson limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import inf, isfinite, log, nextafter, sqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from isonomia.errors import UsageError
from isonomia.evidence.binomial import binomial_probabilities, count_window, lower_limit, upper_limit
from isonomia.evidence.confidence_sequences import check_delta
from isonomia.evidence.tail_bounds import FIRST_CELLS, BoundedRates, SmoothTail, moment_refutes, refuted_in_cells

Floats = NDArray[np.float64]

NUISANCE_SHARE = 1.0 / 50.0
"""``gamma / delta``: a smaller share makes C wider, so it needs more cells. Any share is valid; between 1/20 and 1/100
intervals change by one part in a hundred."""

DEPTH = 3
"""How often cells are cut: into at most 512, each a seventieth of a standard deviation. Fewer only loosen the limit."""

LARGE, POINTS, FEW = 200_000, 129, 100
"""With more draws of one rate than this, ``P(A)`` is bounded between so many points, in half the time that cells take;
with fewer than ``FEW`` successes or failures of a rate, cells are cut once less often. Changes width and cost only."""

TOGETHER = 16
"""How many pairs of rates are evaluated at a time. Changes cost only."""

NEAR = 0.01
"""How precisely a limit is found, in standard deviations of the quantity. The proved side is returned: width only."""

LEAST_Z = 0.1
"""The least number of standard deviations by which tables of two rates are ordered, for risks of a half and more. Any
order fixed in advance is valid, so it changes power only; at 0, counts of no one and of everyone would have no
spread."""

SLACK = 1e-7
"""The part of the risk set aside for rounding and for counts so far from their mean that they are left out of a sum: a
part ``SLACK`` of the level for each. Rounding in a sum of a million terms is far below it. It *can* change a
verdict: without it, rounding could make a valid limit invalid."""


@dataclass(frozen=True, slots=True)
class RateFraction:
    """``(constant + sum of top * rate) / (base + sum of bottom * rate)``, with a denominator that is never negative."""

    constant: float
    top: tuple[float, ...]
    base: float = 1.0
    bottom: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.bottom:
            object.__setattr__(self, "bottom", (0.0,) * len(self.top))

    @property
    def negated(self) -> RateFraction:
        """Minus the quantity, whose lower limit is minus the upper limit of the quantity."""
        return RateFraction(-self.constant, tuple(-a for a in self.top), self.base, self.bottom)

    def span(self) -> tuple[float, float]:
        """The least and the greatest value; both are taken at corners, where a denominator may be zero."""
        values = []
        for corner in product((0.0, 1.0), repeat=len(self.top)):
            above = self.constant + float(np.dot(self.top, corner))
            below = self.base + float(np.dot(self.bottom, corner))
            if below > 0.0:
                values.append(above / below)
            elif above:
                values.append(inf if above > 0 else -inf)
        return min(values), max(values)

    def rising(self) -> tuple[bool, ...] | None:
        """For each rate whether the quantity rises with it; ``None`` where that depends on the other rates."""
        ends = self.span()
        directions = []
        for a, b in zip(self.top, self.bottom, strict=True):
            slopes = [a - c * b if isfinite(c) else (-b if c > 0 else b) or a for c in ends]
            if min(slopes) < 0 < max(slopes):
                return None
            directions.append(min(slopes) >= 0)
        return tuple(directions)


def lower_end(
    fraction: RateFraction, successes: Sequence[float], n: Sequence[float], delta: float, threshold: float | None = None
) -> float:
    """A lower limit of a fraction of rates, for one look at numbers of draws fixed in advance.

    Guarantee: for independent binomial counts with any rates, ``P(f(rates) < limit) <= delta``. So an interval of two
    such ends misses the truth with probability at most ``2 * delta``. The guarantee does not cover a second look.

    Parameters
    ----------
    fraction
        The quantity. It must rise or fall with each rate, whatever the others are: see :meth:`RateFraction.rising`.
    successes, n
        How many draws of each rate said yes, and how many there were. Nothing is known about a rate without draws.
    delta
        The risk of this end.
    threshold
        A value of interest, fixed in advance. Whether the limit reaches it is decided exactly. For a quantity with a
        denominator and more than two rates, tables are ordered by how strongly they speak for exceeding it.
    """
    test = _test_of(fraction, successes, n, delta, threshold)
    return -inf if test is None else searched(test, threshold)


def upper_end(
    fraction: RateFraction, successes: Sequence[float], n: Sequence[float], delta: float, threshold: float | None = None
) -> float:
    """An upper limit: ``P(f(rates) > limit) <= delta``, in the sense of :func:`lower_end`."""
    negated = None if threshold is None else -threshold
    return -lower_end(fraction.negated, successes, n, delta, negated)


def proves_above(
    fraction: RateFraction,
    successes: Sequence[float],
    n: Sequence[float],
    delta: float,
    value: float,
    order: float | None = None,
) -> bool:
    """Whether the table proves, at this risk, that the quantity is above a value; does not search for the limit.

    ``order`` is a risk of at most ``delta`` for which tables are ordered and the box is built. With it, a single
    p-value is compared with ``delta``: what is proved at one risk is proved at every larger one.
    """
    test = _test_of(fraction, successes, n, delta, value, order)
    return test is not None and (value < test.low or test.rejects(value))


# ------------------------------------------------------------------------------------------------- orientation, search


@dataclass(frozen=True, slots=True)
class _Table:
    """A table and a quantity, oriented so that the quantity rises with every rate: where it falls, failures count."""

    constant: float
    top: Floats
    base: float
    bottom: Floats
    yes: Floats
    n: Floats
    low: float

    @classmethod
    def of(cls, fraction: RateFraction, successes: Sequence[float], n: Sequence[float]) -> _Table:
        rising = fraction.rising()
        if rising is None:
            message = "expected a quantity that rises or falls with each rate, whatever the others are"
            raise UsageError(message, name="fraction")
        top, bottom = np.asarray(fraction.top, dtype=float), np.asarray(fraction.bottom, dtype=float)
        yes, draws = np.asarray(successes, dtype=float), np.asarray(n, dtype=float)
        if yes.shape != top.shape or draws.shape != top.shape or bool(np.any((yes < 0) | (yes > draws))):
            raise UsageError(f"expected 0 <= successes <= n for each rate, but got {successes!r} and {n!r}")
        up = np.asarray(rising)
        constant = fraction.constant + float(top[~up].sum())
        base = fraction.base + float(bottom[~up].sum())
        turned = np.where(up, 1.0, -1.0)
        return cls(
            constant, top * turned, base, bottom * turned, np.where(up, yes, draws - yes), draws, fraction.span()[0]
        )

    def value(self, rates: Floats) -> float:
        below = self.base + float(rates @ self.bottom)
        above = self.constant + float(rates @ self.top)
        return above / below if below > 0 else inf if above > 0 else -inf

    def slopes(self, c: float) -> Floats:
        """How fast ``N - c D`` rises with each rate; nowhere negative for a ``c`` that the quantity can have."""
        return np.maximum(self.top - c * self.bottom, 0.0)


class LimitTest(Protocol):
    """What a search needs: a certain rejection, a guess at one, where to begin, and the size of a step."""

    low: float
    centre: float
    scale: float

    def rejects(self, c: float) -> bool:
        """Whether it is certain that ``f <= c`` is refuted."""
        ...

    def guesses(self, c: float) -> bool:
        """Whether it is likely that ``f <= c`` is refuted."""
        ...


def _test_of(
    fraction: RateFraction,
    successes: Sequence[float],
    n: Sequence[float],
    delta: float,
    threshold: float | None,
    order: float | None = None,
) -> LimitTest | None:
    """The test of one quantity; ``None`` where a rate has no draws."""
    check_delta(delta)
    order = delta if order is None else min(order, delta)
    table = _Table.of(fraction, successes, n)
    if not bool(np.all(table.n > 0)):
        return None
    match len(table.n):
        case 1:
            return _OneRate(table, delta)
        case 2:
            return _TwoRates(table, delta, order)
        case _:
            return _ManyRates(table, delta, order, threshold)


def searched(test: LimitTest, threshold: float | None) -> float:
    """The largest value found to be certainly refuted: guessed first, then proved a little further out."""
    if not isfinite(test.centre):
        return test.low
    inside, step = test.centre, test.scale
    outside = inside - step
    while outside > test.low and not test.guesses(outside):
        inside, step = outside, 2.0 * step
        outside -= step
        if step > 1e15 * test.scale:
            return test.low
    outside = max(outside, test.low)
    while inside - outside > NEAR * test.scale / 4.0:
        middle = 0.5 * (inside + outside)
        if middle in (inside, outside):
            break
        inside, outside = (inside, middle) if test.guesses(middle) else (middle, outside)
    step = NEAR * test.scale
    limit = outside - step
    while limit > test.low and not test.rejects(limit):
        limit, step = limit - step, 2.0 * step
    limit = max(limit, test.low)
    if threshold is not None and limit <= threshold < inside + test.scale and test.rejects(threshold):
        # The threshold itself is refuted, so the quantity lies above it; the next float says so.
        limit = nextafter(threshold, inf)
    return limit


@dataclass
class _OneRate:
    """The Clopper-Pearson limit."""

    table: _Table
    delta: float

    def __post_init__(self) -> None:
        limit = lower_limit(self.table.yes, self.table.n, self.delta)
        self.low = self.centre = self.table.value(np.asarray(limit))
        self.scale = 1.0

    def rejects(self, c: float) -> bool:
        return c < self.low

    guesses = rejects


# --------------------------------------------------------------------------------------------------------- two rates


@dataclass
class _TwoRates:
    """The exact test of two rates: ``across`` is the rate whose interval is cut into cells, ``along`` the other one."""

    table: _Table
    delta: float
    order: float

    def __post_init__(self) -> None:
        table = self.table
        self.low = table.low
        self.z = max(-float(ndtri(self.order)), LEAST_Z)
        self._guessed: list[float] = []
        self.level = self.delta - self.order * NUISANCE_SHARE
        shrunk = self._shrunk(table.yes, np.arange(2))
        self.centre = table.value(shrunk)
        spread = np.sqrt(shrunk * (1.0 - shrunk) / self._weights)
        slopes = table.slopes(self.centre) * spread
        self.across = int(np.argmin(slopes))
        self.along = 1 - self.across
        below = table.base + float(shrunk @ table.bottom)
        self.scale = float(np.hypot(*slopes)) / below if below > 0 else inf
        self.border = self._approximate_limit(shrunk)
        if self.border is None or not 0.0 < self.scale < inf:
            self.centre = -inf

    @property
    def _weights(self) -> Floats:
        return np.asarray(self.table.n + self.z**2)

    def _shrunk(self, yes: Floats, which: NDArray[np.intp] | int) -> Floats:
        return np.asarray((yes + self.z**2 / 2.0) / self._weights[which])

    def _excess(self, c: float, first: Floats, second: Floats) -> Floats:
        """``N - c D`` minus z standard deviations, at shrunk rates; divided by ``-c`` where that is infinite."""
        table = self.table
        if isfinite(c):
            constant, slopes = table.constant - c * table.base, table.slopes(c)
        else:
            constant, slopes = table.base, table.bottom
        squares = [slopes[g] ** 2 * u * (1.0 - u) / self._weights[g] for g, u in enumerate((first, second))]
        return np.asarray(constant + slopes[0] * first + slopes[1] * second - self.z * np.sqrt(sum(squares)))

    def _approximate_limit(self, shrunk: Floats) -> float | None:
        """The largest ``c`` with an excess that is not negative; ``None`` where it is negative at the least value.

        The excess is concave in ``c``. So where it is not negative at the least value of the quantity, it stays so up
        to some ``c``, by which tables are ordered; all other tables come last.
        """
        table, (first, second) = self.table, shrunk.tolist()
        (top, other_top), (bottom, other_bottom) = table.top.tolist(), table.bottom.tolist()
        weight, other_weight = self._weights.tolist()

        def excess(c: float) -> float:  # as _excess, in floats: a plan asks for it many thousand times
            if not isfinite(c):
                return float(self._excess(c, np.asarray(first), np.asarray(second)))
            slope, other = max(top - c * bottom, 0.0), max(other_top - c * other_bottom, 0.0)
            variance = slope * slope * first * (1.0 - first) / weight
            variance += other * other * second * (1.0 - second) / other_weight
            value: float = table.constant - c * table.base + slope * first + other * second - self.z * sqrt(variance)
            return value

        if excess(self.low) < 0.0:
            return None
        above, step = self.centre, max(self.scale, 1e-12)
        below = above - step
        while below > self.low and excess(below) < 0.0:
            above, step = below, 2.0 * step
            below -= step
        below = max(below, self.low)
        for _ in range(80):  # to rounding
            middle = 0.5 * (below + above)
            if middle in (below, above):
                break
            below, above = (middle, above) if excess(middle) >= 0.0 else (below, middle)
        return below

    @cached_property
    def _box(self) -> tuple[float, float]:
        """The Clopper-Pearson interval of the rate across, at half of gamma: the table decides which rate that is."""
        yes, n, risk = self.table.yes[self.across], self.table.n[self.across], self.order * NUISANCE_SHARE / 2.0
        return float(lower_limit(yes, n, risk / 2.0)), float(upper_limit(yes, n, risk / 2.0))

    @cached_property
    def _least(self) -> tuple[int, NDArray[np.intp]]:
        """The first count across that is not left out; for it and the next ones, the least count along that is in A."""
        first, last = count_window(self.table.n[self.across], *self._box, self._left_out)
        rows = np.arange(first, last + 1, dtype=float)
        across, most = self._shrunk(rows, self.across), self.table.n[self.along]
        low, high = np.full(len(rows), -1.0), np.full(len(rows), most + 1.0)
        # Slightly more than A is taken, so that rounding does not leave out any of it.
        tolerance = -1e-10 * (1.0 + float(np.abs(self.table.slopes(self._border)).sum()))
        while bool(np.any(high - low > 1.0)):
            middle = np.maximum(np.floor(0.5 * (low + high)), 0.0)
            along = self._shrunk(middle, self.along)
            pair = (along, across) if self.along == 0 else (across, along)
            inside = (self._excess(self._border, *pair) >= tolerance) & (self._excess(self.low, *pair) >= tolerance)
            wide = high - low > 1.0
            low, high = np.where(wide & ~inside, middle, low), np.where(wide & inside, middle, high)
        return first, high.astype(np.intp)

    @property
    def _border(self) -> float:
        assert self.border is not None, "a table without a limit is not searched"
        return self.border

    @property
    def _left_out(self) -> float:
        """The probability of counts that a sum may leave out."""
        return SLACK * self.level

    def rejects(self, c: float) -> bool:
        if self.border is None:
            return False

        def likely(left: Floats, right: Floats) -> NDArray[np.bool_]:
            along = self._along(c, left)
            result = along >= 0.0  # elsewhere no rate in the box has such a value
            if result.any():
                corners = np.minimum(along[result], 1.0), right[result]
                result[result] = self._probability(*corners) > self.level * (1.0 - 4.0 * SLACK)
            return result

        large, few = float(self.table.n.max()) > LARGE, min(self.table.yes.min(), (self.table.n - self.table.yes).min())
        bound = self._bound(c) if large and few >= FEW else None
        if bound is not None:
            return bound <= self.level * (1.0 - 4.0 * SLACK)
        depths = DEPTH - large
        return refuted_in_cells(self._box, depths, likely, lambda across: self._some_rate_is_likely(c, across))

    def _bound(self, c: float) -> float | None:
        """A bound on ``P(A)`` at all rates with ``f <= c`` from points of the line ``f = c``; ``None`` near 0 and 1.

        Along the line let ``g`` be ``P(A)``, ``G`` its maximum and ``I`` the Fisher information of the two counts. Then
        ``g''`` is the mean over A of a polynomial of degree 2 that is orthogonal to constants, of variance at most
        ``2 I**2`` (Krawtchouk's), so ``|g''| <= sqrt(2 G) I`` by Cauchy and Schwarz. Between points at a distance h,
        ``g`` is at most the greater of the two plus ``h**2 / 8`` times that, which is solved for ``G``. ``I`` is convex
        in each rate, so largest at an end.
        """
        across = np.linspace(*self._box, POINTS)
        along = self._along(c, across)
        if min(along.min(), across.min()) < 1e-9 or max(along.max(), across.max()) > 1.0 - 1e-9:
            return None
        squares = np.zeros(POINTS - 1)
        for rates, n in ((across, self.table.n[self.across]), (along, self.table.n[self.along])):
            information = n / (rates * (1.0 - rates))
            squares += np.diff(rates) ** 2 * np.maximum(information[:-1], information[1:])
        rise = sqrt(2.0) / 8.0 * float(squares.max())
        return (0.5 * (rise + sqrt(rise**2 + 4.0 * float(self._probability(along, across).max())))) ** 2

    def guesses(self, c: float) -> bool:
        if not self._guessed:
            self._guessed = [-inf, inf]
            self._enclose_limit()
        below, above = self._guessed
        if below < c < above:
            self._guess(c)
        return c <= self._guessed[0]

    def _enclose_limit(self) -> None:
        """Guess at four values near the limit, so that bisection asks about few others. It changes cost only.

        In standard deviations of a normal variable, the guess is nearly linear.
        """
        first = max(self._border, self.low)
        before = self._guess(first)
        second = first - before * self.scale
        after = self._guess(second) if isfinite(second) else before
        limit = second - after * (second - first) / (after - before) if after != before else inf
        for side in (-NEAR, NEAR) if isfinite(limit) else ():
            self._guess(limit + side / 8.0 * self.scale)

    def _guess(self, c: float) -> float:
        """How likely A is at some rate with ``f = c``, in normal standard deviations beyond the level."""
        most = self._most_likely(c, np.linspace(*self._box, 2 * FIRST_CELLS + 1))
        level = self.level * (1.0 - 4.0 * SLACK)
        place = 0 if most <= level else 1
        self._guessed[place] = max(self._guessed[0], c) if place == 0 else min(self._guessed[1], c)
        return float(ndtri(most) - ndtri(level))

    def _some_rate_is_likely(self, c: float, across: Floats) -> bool:
        """Whether A is likely enough at one of these rates, with the other rate such that ``f = c``."""
        return self._most_likely(c, across) > self.level * (1.0 - 4.0 * SLACK)

    def _most_likely(self, c: float, across: Floats) -> float:
        """The greatest probability of A at these rates; 0 where ``f = c`` is impossible at all of them."""
        along = self._along(c, across)
        possible = along >= 0.0
        if not possible.any():
            return 0.0
        return float(self._probability(np.minimum(along[possible], 1.0), across[possible]).max())

    def _along(self, c: float, across: Floats) -> Floats:
        """The rate along at which the quantity is ``c``: 1 or more where all keep it below, negative if none does."""
        table, g, h = self.table, self.across, self.along
        missing = c * (table.base + table.bottom[g] * across) - table.constant - table.top[g] * across
        slope = table.top[h] - c * table.bottom[h]
        if slope <= 0.0:
            return np.where(missing >= 0.0, 1.0, -1.0)
        return np.asarray(missing / slope)

    def _probability(self, along: Floats, across: Floats) -> Floats:
        """``P(A)`` at pairs of rates, up to the counts that are left out; a few pairs at a time, to save memory."""
        if len(along) > TOGETHER:
            starts = range(0, len(along), TOGETHER)
            parts = [(along[first : first + TOGETHER], across[first : first + TOGETHER]) for first in starts]
            return np.concatenate([self._probability(*part) for part in parts])
        start, least = self._least
        n = self.table.n
        first, columns = binomial_probabilities(n[self.across], across, self._left_out)
        # Counts across that are negligible everywhere in the box have no entry in ``least``: leave these out too.
        skip = max(start - first, 0)
        columns = columns[:, skip : start + len(least) - first]
        wanted = least[first + skip - start : first + skip - start + columns.shape[1]]
        lowest, rows = binomial_probabilities(
            n[self.along], along, self._left_out, int(wanted.min(initial=least.max()))
        )
        tail = np.zeros((len(along), rows.shape[1] + 1))
        np.cumsum(rows[:, ::-1], axis=1, out=tail[:, 1:])
        beyond = np.take(tail, np.clip(rows.shape[1] + lowest - wanted, 0, rows.shape[1]), axis=1)
        return np.asarray(np.einsum("ij,ij->i", columns, beyond))


# -------------------------------------------------------------------------------------------------------- many rates


@dataclass
class _ManyRates:
    """Three rates or more: ``A`` is a half-space, and its probability is bounded over all rates with ``f <= c``.

    :mod:`isonomia.evidence.tail_bounds` has two bounds: a value is refuted if either of them refutes it.
    """

    table: _Table
    delta: float
    order: float
    threshold: float | None

    def __post_init__(self) -> None:
        table, gamma = self.table, self.order * NUISANCE_SHARE
        risk = gamma / (2.0 * len(table.n))
        self.low = table.low
        self.box = lower_limit(table.yes, table.n, risk), upper_limit(table.yes, table.n, risk)
        rates = np.clip(table.yes / table.n, *self.box)
        self.centre = table.value(rates)
        # The order of tables must not depend on the table: use the threshold, or any fixed value.
        fixed = 0.0 if self.threshold is None or not isfinite(self.threshold) else self.threshold
        self.weights = table.slopes(max(fixed, table.low))
        self.seen = float(self.weights @ (table.yes / table.n))
        spread = np.sqrt(np.maximum(rates * (1.0 - rates), 1.0 / table.n) / table.n)
        self.spread = float(np.sqrt(np.sum((self.weights * spread) ** 2)))
        below = table.base + float(rates @ table.bottom)
        slopes = table.slopes(self.centre) if isfinite(self.centre) else self.weights
        self.scale = float(np.sqrt(np.sum((slopes * spread) ** 2))) / below if below > 0 else inf
        if not (isfinite(self.scale) and self.scale > 0.0 and self.spread > 0.0):
            self.centre = -inf

    @property
    def _level(self) -> float:
        return (self.delta - self.order * NUISANCE_SHARE) * (1.0 - SLACK)

    @cached_property
    def _tail(self) -> SmoothTail:
        return SmoothTail(self.weights, self.table.n, self.seen, *self.box, self._level)

    def rejects(self, c: float) -> bool:
        if self.spread <= 0.0:
            return False  # without weights, the order does not distinguish tables
        rates, tilt = self._rates(c), sqrt(2.0 * log(1.0 / self.delta)) / self.spread
        quick = moment_refutes(self.weights, self.table.n, self.seen, rates, self._level, tilt)
        return quick or self._tail.refutes(rates)

    def guesses(self, c: float) -> bool:
        return self._tail.likely_refutes(self._rates(c))

    def _rates(self, c: float) -> BoundedRates:
        """The rates in the box with ``f <= c``."""
        return BoundedRates(*self.box, self.table.slopes(c), c * self.table.base - self.table.constant)
