"""Upper bounds on the probability that a weighted sum of counts reaches a value, over all rates of a hypothesis.

``T = sum of w_g x_g / n_g``, with independent binomial counts ``x_g`` and weights that are not negative. The rates lie
in a box and satisfy ``s . p <= b``, with slopes that are not negative. There are two bounds on ``P_p(T >= t)`` over
these rates.

*By a smooth function.* Let ``F`` be periodic, nowhere negative, and at least 1 at all values of ``T`` from ``t`` on,
except with negligible probability: a square wave with its edge a little below ``t``, smoothed with a narrow normal
distribution, and divided by the height that is left at ``t``. Then ``P_p(T >= t) <= E_p F(T)``, a Fourier series with
the characteristic functions of the counts as factors. Their moduli fall so fast that a few dozen terms are left; the
others are bounded one by one. So one probability costs a product of short vectors, and millions of them cost some
matrix products.

*The cells.* ``P_p(T >= t)`` rises with every rate, so within a cell it is largest at the upper corner. Measure
``s_g p_g``, minus its least value, in steps such that ``s . p = b`` lies a whole number ``r`` of steps from the lowest
corner of the box. A point of that hyperplane, ``u_g`` steps up, lies below the corner ``ceil(u_g)`` steps up. Since
``ceil(u_g) - 1 < u_g``, the whole numbers ``ceil(u_g) - 1`` add up to at most ``r - 1``. So above every point there is
a corner whose steps add up to ``r - 1 + k``, for ``k`` rates, or the highest corner of all: ``k - 1`` steps are lost.

*By an exponential moment.* Quicker, but a third wider: :func:`moment_refutes`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import ceil, erfc, exp, inf, log, pi, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

STEP = 0.015
"""The length of a cell's step, in standard deviations of ``s . p``: with four rates, 0.045 standard deviations are
lost. A corner bounds its whole cell, so shorter steps only tighten the limit. Changes width and cost only."""

WORK = 2e8
"""The largest number of products of corners and terms; beyond it, steps get longer. Changes width and cost only."""

NARROW = 0.004
"""The standard deviation of the smoothing, in standard deviations of T. Changes width and cost only: the smoothed
function lies above the step for any value."""

EDGE = 3.3
"""How far the edge lies below ``t``, in standard deviations of the smoothing: 0.1% of the smoothing lies beyond, and
the bound is larger by that much. Changes width only."""

MAX_TERMS = 250
"""With more terms than this, the smoothing is made twice as wide. Changes width and cost only."""

LEFT_OUT = 1e-4
"""The part of the level that may go to terms that are left out and to counts beyond the square wave. All of it is
added to the bound, so any part is valid."""

ROUGH_CELLS = 8
"""Cells per rate where a bound is only guessed, to see where to look. Changes cost only."""

TINY = 1e-200
"""The least distance of the hyperplane from the lowest corner: keeps a divisor away from 0. It changes no verdict."""


@dataclass(frozen=True, slots=True)
class BoundedRates:
    """The rates in a box with ``slopes . rates <= bound``; no slope is negative."""

    low: Floats
    high: Floats
    slopes: Floats
    bound: float

    @property
    def empty(self) -> bool:
        """Whether the set is empty."""
        return float(self.slopes @ self.low) > self.bound

    @property
    def whole(self) -> bool:
        """Whether they are the whole box."""
        return float(self.slopes @ self.high) <= self.bound


@dataclass(frozen=True)
class SmoothTail:
    """Upper bounds of ``P(T >= reached)`` for rates in a box.

    Attributes
    ----------
    weights, n, reached
        ``w``, the number of draws of each rate, and ``t``.
    low, high
        The box.
    level
        The level that the bound will be compared with: terms are left out in proportion to it.
    """

    weights: Floats
    n: Floats
    reached: float
    low: Floats
    high: Floats
    level: float

    @cached_property
    def _spread(self) -> float:
        """The largest standard deviation of T."""
        return sqrt(float(np.sum(self.weights**2 * _largest_variance(self.low, self.high) / self.n)))

    @cached_property
    def _wave(self) -> tuple[float, float, float]:
        """Where the square wave ends, its period, and the probability of counts beyond its end.

        Bernstein's inequality (1924) bounds how far T lies above its mean, except with that probability.
        """
        negligible = LEFT_OUT * self.level / 4.0
        reach = _bernstein(self._spread**2, float(np.max(self.weights / self.n)), negligible)
        end = max(min(float(self.weights @ self.high) + reach, float(self.weights.sum())), self.reached) + self._spread
        # T also hardly ever falls so low that it meets the previous period of the wave: that affects width only.
        begin = float(self.weights @ self.low) - reach
        return end, end - min(begin, self.reached - 8.0 * self._spread), negligible

    @cached_property
    def _terms(self) -> tuple[float, Complexes, Floats, float]:
        """The mean of F; the coefficients and frequencies of the terms chosen; a bound on everything else."""
        end, period, beyond = self._wave
        narrow = NARROW
        while True:
            width = narrow * self._spread
            start, stop = self.reached - EDGE * width, end + EDGE * width
            held = 1.0 - erfc(EDGE / sqrt(2.0))
            # Beyond 8 standard deviations of the smoothing's Fourier transform, factors are below 1e-13.
            frequencies = (2.0 * pi / period) * np.arange(1.0, ceil(8.0 / width * period / (2.0 * pi)) + 1.0)
            square = (np.exp(-1j * frequencies * start) - np.exp(-1j * frequencies * stop)) / (
                1j * frequencies * period
            )
            coefficients = 2.0 / held * square * np.exp(-0.5 * (frequencies * width) ** 2)
            sizes = np.abs(coefficients) * self._moduli(frequencies)
            order = np.argsort(sizes)
            summed = np.cumsum(sizes[order])
            chosen = order[int(np.searchsorted(summed, LEFT_OUT * self.level / 2.0)) :]
            if len(chosen) <= MAX_TERMS or narrow > 0.05:
                break
            narrow *= 2.0
        left_out = float(summed[len(order) - len(chosen) - 1]) if len(chosen) < len(order) else 0.0
        # Terms that are not listed at all: their coefficients are at most 4 width / (8 period held) times values of
        # exp(-x**2 / 2) beyond x = 8, of which there are period / (2 pi width) per unit.
        left_out += 4.0 / held * exp(-32.0)
        # Each factor has an error of a few roundings for each of its draws.
        rounding = 1e-15 * float(self.n.sum() + 1e3) * (1.0 + float(sizes.sum()))
        mean = (stop - start) / period / held
        return mean, coefficients[chosen], frequencies[chosen], left_out + beyond + rounding

    def _moduli(self, frequencies: Floats) -> Floats:
        """The largest modulus of T's characteristic function over the box, at each frequency."""
        variance = np.minimum(self.low * (1.0 - self.low), self.high * (1.0 - self.high))
        turns = np.multiply.outer(self.weights / self.n, frequencies)
        squares = 1.0 - 2.0 * variance[:, None] * (1.0 - np.cos(turns))
        return np.asarray(np.prod(np.maximum(squares, 0.0) ** (0.5 * self.n[:, None]), axis=0))

    def _factors(self, g: int, rates: Floats) -> Complexes:
        """The characteristic function of the counts of rate ``g``, one row for each of its values."""
        frequencies = self._terms[2]
        turned = np.expm1(1j * frequencies * (self.weights[g] / self.n[g]))
        return np.asarray(np.exp(self.n[g] * np.log1p(np.multiply.outer(rates, turned))))

    def refutes(self, hypothesis: BoundedRates) -> bool:
        """Whether ``P(T >= reached)`` is certainly at most the level at all rates of a hypothesis in the box."""
        if hypothesis.empty:
            return True
        # If a few of the rates already show that it is not, there is no need to go through all cells.
        if self._roughly(hypothesis, 0.0) > self.level:
            return False
        return self._largest(hypothesis, self._step(hypothesis)) <= self.level

    def likely_refutes(self, hypothesis: BoundedRates) -> bool:
        """Whether that is likely, judged by a few rates as far above the hyperplane as the corners of cells are."""
        return hypothesis.empty or self._roughly(hypothesis, self._step(hypothesis)) <= self.level

    def _roughly(self, hypothesis: BoundedRates, above: float) -> float:
        """The largest bound over a few rates on the hyperplane, or ``k - 1`` steps of length ``above`` above it."""
        spans = hypothesis.slopes * (hypothesis.high - hypothesis.low)
        return self._largest(hypothesis, max(float(spans.max()) / ROUGH_CELLS, above), above)

    def _step(self, hypothesis: BoundedRates) -> float:
        """The length of a step: as short as the work allows, down to ``STEP``."""
        spans = hypothesis.slopes * (hypothesis.high - hypothesis.low)
        spread = sqrt(float(np.sum(hypothesis.slopes**2 * _largest_variance(self.low, self.high) / self.n)))
        step = STEP * spread
        if step <= 0.0:
            return inf
        cells = np.sort(np.maximum(spans / step, 1.0))[:-1]
        work = float(np.prod(cells)) * len(self._terms[1])
        return float(step * max(1.0, (work / WORK) ** (1.0 / max(len(cells), 1))))

    def _largest(self, hypothesis: BoundedRates, step: float, above: float | None = None) -> float:
        """The largest bound over the corners of all cells.

        With ``above``, over one point of each cell that is as far above the hyperplane as corners would be with steps
        of that length: not a bound, but a guess at one.
        """
        mean, coefficients, _, added = self._terms
        active = np.flatnonzero(hypothesis.slopes * (hypothesis.high - hypothesis.low) > 0.0).tolist()
        start = coefficients.copy()
        for g in range(len(self.n)):
            if g not in active:
                start *= self._factors(g, hypothesis.high[[g]])[0]
        room = max(hypothesis.bound - float(hypothesis.slopes @ hypothesis.low), TINY)
        if hypothesis.whole or not active:
            for g in active:
                start *= self._factors(g, hypothesis.high[[g]])[0]
            return mean + float(start.real.sum()) + added
        steps = max(ceil(room / step), 1)
        step = room / steps
        share = 1.0 if above is None else min((1.0 + (len(active) - 1) * above / step) / len(active), 1.0)
        tables: list[Complexes] = []
        for g in active:
            slope, low, high = (float(part[g]) for part in (hypothesis.slopes, hypothesis.low, hypothesis.high))
            cells = ceil(min((high - low) * slope / step, float(steps)))
            # Slightly larger, so that rounding leaves no rate out.
            corners = low + (np.arange(cells) + share) * (step / slope) * (1.0 + 1e-12)
            tables.append(self._factors(g, np.minimum(corners, high)))
        if sum(len(table) - 1 for table in tables) < steps - 1:  # all corners together lie above the hyperplane
            for table in tables:
                start = start * table[-1]
            return mean + float(start.real.sum()) + added
        tables += [np.ones((1, len(start)), dtype=complex)] * (4 - len(tables))
        tables[0] = tables[0] * start
        return mean + _largest_sum(tables, steps - 1, self.level - mean - added) + added


def _largest_sum(tables: list[Complexes], total: int, enough: float) -> float:
    """The largest real part of a sum of products of four tables' rows, over row indices that add up to a total.

    The search ends as soon as it has found more than ``enough``.
    """
    first, second, third, fourth = tables
    last = [len(table) - 1 for table in tables]
    largest = -inf
    for one in range(max(0, total - last[2] - last[3]), min(total, last[0] + last[1]) + 1):
        rows = np.arange(max(0, one - last[1]), min(one, last[0]) + 1)
        others = np.arange(max(0, total - one - last[3]), min(total - one, last[2]) + 1)
        left = first[rows] * second[one - rows]
        right = np.conj(third[others] * fourth[total - one - others])
        largest = max(largest, float((left.view(float) @ right.view(float).T).max()))
        if largest > enough:
            break
    return largest


def _largest_variance(low: Floats, high: Floats) -> Floats:
    middle = np.clip(0.5, low, high)
    return np.asarray(middle * (1.0 - middle))


def _bernstein(variance: float, largest: float, risk: float) -> float:
    """How far above its mean a sum can lie, except with this probability, if its terms are at most this large."""
    part = log(1.0 / risk) * largest / 3.0
    return part + sqrt(part**2 + 2.0 * log(1.0 / risk) * variance)


def moment_refutes(
    weights: Floats, n: Floats, reached: float, hypothesis: BoundedRates, level: float, tilt: float
) -> bool:
    """Whether an exponential moment shows that ``P(T >= reached)`` is at most the level at all rates of a hypothesis.

    For any ``s > 0``, ``log P_p(T >= t)`` is at most the sum of ``n_g log(1 + p_g (exp(s w_g / n_g) - 1))`` minus
    ``s t``. Over the rates of the hypothesis that is concave, and for every multiplier ``m >= 0`` at most its maximum
    over the box alone with ``m (b - a . p)`` added: rate by rate, in closed form. The search for ``s`` and ``m`` starts
    from ``tilt``; which values it finds changes power only.
    """
    tilts, factors = tilt * np.geomspace(0.25, 4.0, 17), np.geomspace(0.25, 4.0, 17)
    for _ in range(4):  # each round searches around the best so far, on a grid four times as fine
        exponents = _exponents(weights, n, reached, hypothesis, tilts, factors)
        i, j = np.unravel_index(int(np.argmin(exponents)), exponents.shape)
        if exponents[i, j] <= log(level):
            return True
        width = (tilts[-1] / tilts[0]) ** 0.125
        tilts = tilts[i] * np.geomspace(1.0 / width, width, 17)
        width = (factors[-1] / factors[0]) ** 0.125
        factors = factors[j] * np.geomspace(1.0 / width, width, 17)
    return False


def _exponents(
    weights: Floats, n: Floats, reached: float, hypothesis: BoundedRates, tilts: Floats, factors: Floats
) -> Floats:
    """The logarithm of the bound at every tilt and multiplier; the latter as a multiple of the tilt."""
    slopes, low, high = hypothesis.slopes, hypothesis.low, hypothesis.high
    growth = np.expm1(tilts[:, None] * weights / n)[:, None, :]
    multiplier = (tilts[:, None] * factors)[:, :, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        best = n / (multiplier * slopes) - 1.0 / growth
    # A rate without weight in T has no growth; a rate without slope in s . p <= b has no multiplier.
    best = np.where(growth <= 0.0, low, np.where(slopes <= 0.0, high, best))
    rates = np.clip(best, low, high)
    parts = n * np.log1p(rates * growth) - multiplier * slopes * rates
    return np.asarray(parts.sum(axis=-1) + multiplier[:, :, 0] * hypothesis.bound - tilts[:, None] * reached)


# ------------------------------------------------------------------------------------------------------ cells of rates


FIRST_CELLS = 8
"""How many cells C is cut into at first. More cells only tighten the limit. Changes width and cost only."""

SPLIT = 4
"""How many parts a cell is cut into whose corner is too likely. Changes cost only."""


def refuted_in_cells(
    box: tuple[float, float],
    depths: int,
    likely: Callable[[Floats, Floats], NDArray[np.bool_]],
    hopeless: Callable[[Floats], bool],
) -> bool:
    """Whether no rate in a box is left, by a bound for each of its cells, which are cut where the bound is too large.

    Parameters
    ----------
    box, depths
        The least and the greatest rate, and how often cells are cut.
    likely
        For cells from ``left`` to ``right``, whether the bound leaves some rate in them.
    hopeless
        Whether some of these rates are left, so that cutting cannot help.
    """
    edges = np.linspace(*box, FIRST_CELLS + 1)
    left, right = edges[:-1], edges[1:]
    for depth in range(depths + 1):
        if depth == depths:  # one open cell is enough
            parts_of = (slice(start, start + FIRST_CELLS) for start in range(0, len(left), FIRST_CELLS))
            return not any(likely(left[part], right[part]).any() for part in parts_of)
        open_cells = likely(left, right)
        if not open_cells.any():
            return True
        left, right = left[open_cells], right[open_cells]
        if depth == 0 and hopeless(0.5 * (left + right)):
            return False
        parts = np.linspace(0.0, 1.0, SPLIT + 1)
        cuts = left[:, None] + (right - left)[:, None] * parts
        cuts[:, -1] = right
        left, right = cuts[:, :-1].ravel(), cuts[:, 1:].ravel()
    raise AssertionError("the last depth returns")
