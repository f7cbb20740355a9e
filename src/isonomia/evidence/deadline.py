"""One look at means: bets with a deadline, for one mean, and for fractions of the means of several groups.

A look at a number of draws fixed in advance is a bet with a goal, ``1/delta``, and a deadline, the last draw.
Against ``f <= c``, for ``f = N/D`` linear-fractional in the means ``t_g`` of groups, that is against
``sum of a_g t_g <= b`` with ``a`` and ``b`` affine in ``c``, each draw multiplies the wealth by

    1 + sum over the groups g of the draw of u_g (x_g - t_g),

with stakes ``u_g`` of the sign of ``a_g``. They depend on earlier draws only, so the factor has mean 1 at the true
means, whichever groups a draw belongs to: groups may overlap. The wealth ever reaches ``1/delta`` with probability at
most ``delta``. Stakes are those of the normal test seen from the current wealth ``W``: with ``z = Phi^-1(delta W)``
they are ``phi(z) / Phi(z)`` over the standard deviation of what is still to come.

*The other means are unknown*, so the wealth has to suffice at every ``t`` with ``sum of a_g t_g <= b`` in a box that
misses the true means with probability at most ``gamma`` (Berger and Boos 1994). All of them have the same stakes, so
the logarithm of the wealth is concave in ``t``, and is least at a vertex of that polytope: nothing between vertices is
missed. Little is lost by it, since stakes are kept in such a balance that no group's mean matters to first order.

*Nothing between thresholds is missed* either. Thresholds are cut into cells, and all of a cell share the stakes of its
upper end. A hypothesis with a smaller threshold is a part of one with a larger, so refuting the upper end refutes the
cell. Cells are laid out after the first draws, which have stakes that do not depend on the threshold. The lower limit
is the lower end of the lowest cell that is not refuted. A small part of the risk goes to steady bets, whose stakes are
the same for all thresholds: whatever lies below what they refute is refuted, so only the cells above it are visited.

The proof is on :doc:`the theory page </theory/one-look>`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import floor, inf, isfinite, log, log2, nextafter, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri_exp

from isonomia.evidence.binomial import lower_limit, upper_limit
from isonomia.evidence.confidence_sequences import mean_ends
from isonomia.evidence.one_look import RateFraction

Floats = NDArray[np.float64]

MAX_MEANS = 6
"""How many means one quantity may have: there are up to ``k * 2**(k - 1)`` vertices. Changes power only."""

BOX, STEADY = 0.01, 0.01
"""The parts of the risk for the box of means and for steady bets. Any parts are valid; these cost half a percent."""

AIM = 0.1
"""Stakes aim at a wealth this many nats beyond what is needed, since it approaches its goal ever more slowly."""

SURPLUS = 0.12
"""Nats beyond what is needed at which bets on several means end: at the vertices the wealth is a little less. Changes
width only."""

CELLS = 16
"""Cells for each standard error, about. Fewer are quicker, and widen an interval by half a cell; any are valid."""

TOGETHER, MAX_ROUNDS = 64, 40
"""How many cells are visited together, and how often. Ending early widens the interval only."""

FIRST = 1.0 / 32.0
"""The part of the draws before cells are laid out, at least. Changes width only."""

CAP = 0.85
"""The largest part of the wealth that one draw may lose. Any part below 1 is valid."""

REACH = 8.0
"""How many standard errors around the current mean a box is expected to stay within; where it does not, what was bet
refutes nothing. Changes power only: the factor of a mean within is positive."""

PRIOR = 1.0 / 12.0
"""The variance of the one draw with which estimates begin. Stakes may be anything; changes width only."""

UNBALANCE = 1.05
"""How far a stake may be moved, as a factor, to keep the balance between groups. Changes width only."""

ROUNDING = 1e-9
"""Nats by which a wealth must exceed what is needed: sums of a million logarithms are more precise than that. It *can*
change a verdict: without it, rounding could make a valid limit invalid."""


def batch_sizes(total: int, part: float = 0.04) -> Iterator[int]:
    """Sizes of batches that add up to a number of draws: small at first and at the end, where stakes change most.

    Each has at most this part of what is left.
    """
    done = 0
    while done < total:
        size = max(1, min(int(part * (total - done)), done // 2 + total // 128))
        yield size
        done += size


@dataclass(frozen=True)
class DeadlineDraws:
    """Draws in the order of their batches, counted in cells.

    Attributes
    ----------
    counts
        How many draws of each batch fell into each cell: shape ``(batches, cells)``.
    members, values
        Which leaves a draw in a cell informs, and their values from 0 to 1, 0 for the others: ``(cells, leaves)``.
    apart
        Whether no draw informs two leaves. Then group sizes are no evidence, and known from the start.
    """

    counts: Floats
    members: Floats
    values: Floats
    apart: bool

    @classmethod
    def separate(cls, batches: Sequence[Floats], nodes: Sequence[Floats]) -> DeadlineDraws:
        """Leaves whose draws were counted one by one, at nodes from 0 to 1."""
        which = np.repeat(np.arange(len(nodes)), [len(each) for each in nodes])
        members = (which[:, None] == np.arange(len(nodes))).astype(float)
        return cls(np.concatenate(batches, axis=1), members, members * np.concatenate(nodes)[:, None], True)

    @cached_property
    def sizes(self) -> Floats:
        """How many draws inform each leaf."""
        return np.asarray(self.counts.sum(axis=0) @ self.members)

    @property
    def means(self) -> Floats:
        """The sample means."""
        return np.asarray(self.counts.sum(axis=0) @ self.values / np.maximum(self.sizes, 1.0))


@dataclass(frozen=True, slots=True)
class _Estimates:
    """The estimates before each batch, and after the last: arrays whose first axis is the batch.

    Attributes
    ----------
    time
        The part of all draws that came before.
    means, errors_so_far
        Of each leaf: its mean, and the standard error of that.
    errors
        The covariance of the leaves' sample means at the end, as it is expected.
    wanted, expected
        How many draws of each leaf there will be in all, and in the batch, as it is expected.
    """

    time: Floats
    means: Floats
    errors_so_far: Floats
    errors: Floats
    wanted: Floats
    expected: Floats

    @classmethod
    def of(cls, draws: DeadlineDraws) -> _Estimates:
        counts, members, values = draws.counts, draws.members, draws.values
        before = np.concatenate([np.zeros((1, counts.shape[1])), np.cumsum(counts, axis=0)])
        seen, rows, leaves = before @ members, before.sum(axis=1), members.shape[1]
        means = (before @ values + 0.5) / (seen + 1.0)

        def summed(first: Floats, second: Floats) -> Floats:
            products = (first[:, :, None] * second[:, None, :]).reshape(len(first), -1)
            return np.asarray((before @ products).reshape(-1, leaves, leaves))

        together, sums = summed(members, members), summed(values, members)
        down, across = means[:, :, None], means[:, None, :]
        square = summed(values, values) - sums * across - sums.transpose(0, 2, 1) * down + down * across * together
        root = np.sqrt(seen + 1.0)
        square[:, np.arange(leaves), np.arange(leaves)] += PRIOR / root
        if draws.apart:
            wanted = np.broadcast_to(draws.sizes, seen.shape)
            expected = counts @ members
            time = (seen / np.maximum(draws.sizes, 1.0)).mean(axis=1)
        else:
            share = (seen + 0.5) / (rows + 1.0)[:, None]
            wanted = seen + (rows[-1] - rows)[:, None] * share
            expected, time = counts.sum(axis=1)[:, None] * share[:-1], rows / rows[-1]
        errors = square / (root[:, :, None] * root[:, None, :] * np.sqrt(wanted[:, :, None] * wanted[:, None, :]))
        errors_so_far = np.sqrt(np.diagonal(square, axis1=1, axis2=2)) / (seen + 1.0)
        return cls(time, means, errors_so_far, errors, wanted, expected)


@dataclass(frozen=True, slots=True)
class _Stakes:
    """Stakes of shape ``(batches, thresholds, leaves)``, and the means for which no factor can be negative."""

    each: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class _Batch:
    """The cells that a batch has draws in: how many there, and by leaf whether they inform it, and its value."""

    counts: Floats
    members: Floats
    values: Floats


@dataclass(slots=True)
class _RunningWealth:
    """The log wealth against some thresholds near some means, by its slopes and second derivatives there.

    Only stakes depend on it, which may be anything.
    """

    means: Floats
    logs: Floats
    slopes: Floats
    bends: Floats

    @classmethod
    def at(cls, means: Floats) -> _RunningWealth:
        count, leaves = means.shape
        return cls(means, np.zeros(count), np.zeros((count, leaves)), np.zeros((count, leaves, leaves)))

    def bet(self, stakes: Floats, batch: _Batch) -> None:
        """Take in a batch."""
        factors = 1.0 + stakes @ batch.values - (stakes * self.means) @ batch.members
        factors = np.maximum(factors, 1.0 - CAP)
        self.logs = self.logs + np.log(factors) @ batch.counts
        if stakes.shape[1] == 1:
            return
        self.slopes = self.slopes - stakes * ((batch.counts / factors) @ batch.members.T)
        for g, members in enumerate(batch.members):
            both = (batch.counts / factors**2) @ (batch.members * members).T
            self.bends[:, g] += stakes[:, g, None] * stakes * both

    def least(self, means: Floats, direction: Floats, reach: Floats) -> Floats:
        """About the least log wealth at the same threshold that is within reach of some means."""
        away = means - self.means
        turned = np.einsum("jgh,jh->jg", self.bends, away)
        logs = self.logs + ((self.slopes - 0.5 * turned) * away).sum(axis=1)
        slopes, wide = self.slopes - turned, np.abs(direction) * reach
        even = (slopes * direction * reach**2).sum(axis=1) / np.maximum((wide**2).sum(axis=1), 1e-300)
        others = np.minimum(wide, wide.sum(axis=1, keepdims=True) - wide) / np.maximum(np.abs(direction), 1e-300)
        bend = 0.5 * np.einsum("jgg,jg->j", self.bends, others**2)
        return np.asarray(logs - (np.abs(slopes - even[:, None] * direction) * others).sum(axis=1) - bend)


@dataclass(frozen=True)
class DeadlineTest:
    """Tests of ``fraction <= c`` for every ``c``, at one look at some draws.

    Attributes
    ----------
    draws
        The draws.
    fraction
        The quantity, in terms of means from 0 to 1.
    delta
        The risk.
    order
        A risk of at most ``delta`` for which the box and the stakes are made: what is proved at one risk is proved at
        every larger one.
    origin
        A threshold fixed in advance; it is the end of a cell.
    """

    draws: DeadlineDraws
    fraction: RateFraction
    delta: float
    order: float
    origin: float

    def limit(self) -> float:
        """A lower limit of the quantity, at most its estimate; the least value it can have where a leaf has no draws.

        Guarantee: for independent draws, whose number does not depend on what was drawn, ``P(quantity < limit) <=
        delta``. It does not cover a second look.
        """
        least = self.fraction.span()[0]
        estimate = self._value(self.draws.means)
        if not isfinite(estimate) or not bool(np.all(self.draws.sizes > 0.0)):
            return least
        below = self._steady_limit(least, estimate)
        if not isfinite(below) or below >= estimate:
            return min(below, estimate)
        cell = floor((below - self.origin) / self._width) + 1
        for _ in range(MAX_ROUNDS):
            ends = self.origin + self._width * np.arange(cell, cell + TOGETHER, dtype=np.float64)
            left = np.flatnonzero(~self._refuted(ends, self._stakes(ends), self._need(self.delta)))
            cell += int(left[0]) if len(left) else TOGETHER
            if len(left) or self.origin + self._width * cell > estimate:
                break
        limit = self.origin if cell == 1 else self.origin + self._width * (cell - 1)
        # The threshold itself is refuted where the limit reaches it, so that the quantity lies above it.
        return min(max(nextafter(limit, inf) if limit == self.origin else limit, below), estimate)

    def rejects(self, c: float) -> bool:
        """Whether ``fraction <= c`` is refuted for one ``c`` fixed in advance."""
        if not bool(np.all(self.draws.sizes > 0.0)):
            return c < self.fraction.span()[0]
        ends = np.asarray([c])
        return bool(self._refuted(ends, self._stakes(ends), self._need(self.delta))[0])

    # ---------------------------------------------------------------------------------------------------- risk, cells

    def _need(self, delta: float) -> float:
        """The log wealth that refutes: the risk without the parts of the box and of steady bets."""
        box = BOX * self.order if len(self.draws.sizes) > 1 else 0.0
        return -log((1.0 - STEADY) * delta - box)

    @cached_property
    def _box(self) -> tuple[Floats, Floats]:
        """Limits of all means, which hold together but for the risk of the box; a single mean needs none."""
        draws, leaves = self.draws, len(self.draws.sizes)
        if leaves == 1:
            return np.zeros(1), np.ones(1)
        risk, ends = BOX * self.order / (2.0 * leaves), []
        for g, n in enumerate(draws.sizes.tolist()):
            inside = draws.members[:, g] > 0.0
            values, counts = draws.values[inside, g], draws.counts[:, inside]
            if bool(np.isin(values, (0.0, 1.0)).all()):
                yes = min(float(counts.sum(axis=0) @ values), n)
                ends.append((float(lower_limit(yes, n, risk)), float(upper_limit(yes, n, risk))))
            else:
                nodes, where = np.unique(values, return_inverse=True)
                merged = np.zeros((len(counts), len(nodes)))
                np.add.at(merged.T, where, counts.T)
                # Limits on the scale of the nodes, whose ends are those of the range.
                ends.append(mean_ends(nodes, merged, risk))
        low, high = np.asarray(ends).T
        return low, high

    @cached_property
    def _known(self) -> _Estimates:
        return _Estimates.of(self.draws)

    @cached_property
    def _first(self) -> int:
        """The batch before which cells are laid out."""
        return max(int(np.searchsorted(self._known.time, FIRST)), 1)

    @cached_property
    def _width(self) -> float:
        """The width of a cell, a power of two, from the first draws."""
        k, (slopes, _) = min(self._first, len(self.draws.counts)), self._half_spaces(np.asarray([self.origin]))
        below = self.fraction.base + float(np.dot(self.fraction.bottom, self._known.means[k]))
        error = sqrt(max(float(slopes[0] @ self._known.errors[k] @ slopes[0]), 1e-300)) / max(below, 1e-300)
        return float(2.0 ** floor(log2(error / CELLS)))

    @cached_property
    def _batches(self) -> list[_Batch]:
        draws, result = self.draws, []
        for counts in draws.counts:
            there = np.flatnonzero(counts)
            result.append(_Batch(counts[there], draws.members[there].T, draws.values[there].T))
        return result

    def _value(self, means: Floats) -> float:
        above = self.fraction.constant + float(np.dot(self.fraction.top, means))
        below = self.fraction.base + float(np.dot(self.fraction.bottom, means))
        return above / below if below > 0.0 else inf if above > 0.0 else -inf

    def _half_spaces(self, c: Floats) -> tuple[Floats, Floats]:
        """``a`` and ``b`` of ``sum of a_g t_g <= b``, the same as ``fraction <= c``."""
        top, bottom = np.asarray(self.fraction.top), np.asarray(self.fraction.bottom)
        return top - c[:, None] * bottom, c * self.fraction.base - self.fraction.constant

    # --------------------------------------------------------------------------------------------------------- stakes

    def _stakes(self, c: Floats, *, steady: bool = False) -> _Stakes:
        """The stakes against each threshold; those of the first batches, and steady ones, are the same for all."""
        known, alone, need = self._known, len(self.draws.sizes) == 1, self._need(self.order)
        (slopes, bounds), (same, _) = self._half_spaces(c), self._half_spaces(np.asarray([self.origin]))
        same = np.broadcast_to(same, slopes.shape)
        running = _RunningWealth.at(self._nearest(self._first, slopes, bounds))
        least, target = np.zeros(len(c)), np.zeros(len(c))
        placed, result = np.zeros(slopes.shape), np.zeros((len(self.draws.counts), *slopes.shape))
        lowest, highest = np.zeros(slopes.shape), np.ones(slopes.shape)
        for k, batch in enumerate(self._batches):
            if not len(batch.counts):
                continue
            begun = k >= self._first and not steady
            a = slopes if begun else same
            spread = np.sqrt(np.maximum(((a @ known.errors[k]) * a).sum(axis=1), 1e-300))
            if steady:
                rate = sqrt(-2.0 * log(STEADY * self.order)) / spread
            else:
                rate = hazard(least * begun - need - AIM) / (spread * sqrt(1.0 - known.time[k]))
                rate[least >= need + (ROUNDING if alone else SURPLUS)] = 0.0
            # Each leaf's stakes are to add up to the same by the end of the batch, up to the slope.
            step, even = known.time[k + 1] - known.time[k], 1.0 / np.maximum(known.wanted[k], 1.0)
            weights = (target + rate * step)[:, None] - placed
            weights = weights / np.maximum(rate[:, None] * known.expected[k], 1e-300)
            weights = np.clip(weights, even / UNBALANCE, even * UNBALANCE)
            if alone and begun:
                low = high = np.clip(running.means, 0.0, 1.0)
            else:
                reach = np.asarray([[-REACH], [REACH]]) * known.errors_so_far[k]
                low, high = np.clip(known.means[k] + reach, 0.0, 1.0)[:, None]
            loss = np.abs(a) * weights * np.where(a > 0.0, high, 1.0 - low)
            loss = loss.max(axis=1) if self.draws.apart else loss.sum(axis=1)
            rate = np.minimum(rate, CAP / np.maximum(loss, 1e-300))
            stakes = rate[:, None] * weights * a
            result[k] = stakes
            # How far means may lie without making a factor negative: only beyond the one that the stake is on.
            room = (CAP / np.maximum(rate * loss, 1e-300))[:, None]
            lowest = np.where(stakes < 0.0, np.maximum(lowest, 1.0 - (1.0 - low) * room), lowest)
            highest = np.where(stakes > 0.0, np.minimum(highest, high * room), highest)
            target = target + rate * step
            placed = placed + rate[:, None] * weights * (batch.members @ batch.counts)
            if steady:
                continue
            running.bet(stakes, batch)
            if alone:
                least = running.logs
            else:
                reach = sqrt(-2.0 * log(BOX * self.order / (2.0 * slopes.shape[1])))
                reach = reach * np.sqrt(np.diagonal(known.errors[k + 1]))
                least = running.least(self._nearest(k + 1, slopes, bounds), slopes, reach)
        return _Stakes(result, lowest, highest)

    def _nearest(self, k: int, slopes: Floats, bounds: Floats) -> Floats:
        """For each threshold the means at it that are nearest to the estimates before a batch."""
        k = min(k, len(self.draws.counts))
        means, errors = self._known.means[k], self._known.errors[k]
        along = slopes @ errors
        away = (slopes @ means - bounds) / np.maximum((along * slopes).sum(axis=1), 1e-300)
        return np.asarray(means - away[:, None] * along)

    # -------------------------------------------------------------------------------------------------------- vertices

    def _refuted(self, c: Floats, stakes: _Stakes, need: float) -> NDArray[np.bool_]:
        """Which hypotheses ``fraction <= c`` are refuted at all means in the box, each by its stakes."""
        (slopes, bounds), (low, high) = self._half_spaces(c), self._box
        worst = np.where(slopes > 0.0, high, low)
        least = (slopes * np.where(slopes > 0.0, low, high)).sum(axis=1)
        whole = (slopes * worst).sum(axis=1) <= bounds
        result = np.ones(len(c), dtype=bool)
        for free, others in product(range(len(low)), product((0, 1), repeat=len(low) - 1)):
            at = np.tile(np.where(np.insert(np.asarray(others, dtype=int), free, 0), high, low), (len(c), 1))
            rest = (slopes * at).sum(axis=1) - slopes[:, free] * at[:, free]
            at[:, free] = _ratio(bounds - rest, slopes[:, free])
            there = (at[:, free] >= low[free] - ROUNDING) & (at[:, free] <= high[free] + ROUNDING) & ~whole
            self._refute_at(at, there & result, stakes, need, result)
        self._refute_at(worst, whole & result, stakes, need, result)
        if bool(np.any(stakes.each * slopes < 0.0)):
            # Stakes that were laid for other thresholds are on the wrong side of a mean: then every corner counts.
            for corner in product((0, 1), repeat=len(low)):
                at = np.tile(np.where(corner, high, low), (len(c), 1))
                self._refute_at(at, ((slopes * at).sum(axis=1) <= bounds + ROUNDING) & result, stakes, need, result)
        return np.asarray(result | (least > bounds))

    def _refute_at(
        self, means: Floats, chosen: NDArray[np.bool_], stakes: _Stakes, need: float, result: NDArray[np.bool_]
    ) -> None:
        """Take back a refutation where the wealth at these means does not suffice, or some factor may be negative."""
        at, which = means[chosen], np.flatnonzero(chosen)
        if not len(which):
            return
        own = np.minimum(which, stakes.each.shape[1] - 1)  # steady stakes are the same for all thresholds
        safe = (at >= stakes.low[own] - ROUNDING) & (at <= stakes.high[own] + ROUNDING)
        inside = safe.all(axis=1)
        result[which[~inside]] = False
        at, which, own = at[inside], which[inside], own[inside]
        wealth = np.zeros(len(which))
        for each, batch in zip(stakes.each, self._batches, strict=True):
            mine = each[own]
            wealth += np.log1p(mine @ batch.values - (mine * at) @ batch.members) @ batch.counts
        result[which[~(wealth >= need + ROUNDING)]] = False

    def _steady_limit(self, least: float, estimate: float) -> float:
        """The largest value found that steady bets refute, with everything below it; the least value if none is."""
        stakes = self._stakes(np.asarray([self.origin]), steady=True)
        need, step = -log(STEADY * self.delta), 64.0 * self._width
        inside = estimate
        outside = max(least, inside - step)

        def refuted(c: Floats) -> NDArray[np.bool_]:
            return self._refuted(c, stakes, need)

        while not refuted(np.asarray([outside]))[0]:
            if outside <= least or step > 1e15 * self._width:
                return least
            inside, step = outside, 2.0 * step
            outside = max(least, inside - step)
        for _ in range(2):
            values = np.linspace(outside, inside, SECTIONS + 2)[1:-1]
            below = int(np.sum(np.cumprod(refuted(values))))
            outside = float(values[below - 1]) if below else outside
            inside = float(values[below]) if below < SECTIONS else inside
        return outside


SECTIONS = 24
"""How many values are tried together in the search for the steady limit. Changes cost only."""


def hazard(log_chance: Floats) -> Floats:
    """``phi(z) / Phi(z)`` at the z with ``Phi(z)`` of this logarithm."""
    z = ndtri_exp(np.minimum(log_chance, log(0.999)))
    return np.asarray(np.exp(-0.5 * z * z - 0.5 * log(2.0 * np.pi) - log_ndtr(z)))


def _ratio(top: Floats, bottom: Floats) -> Floats:
    """A quotient; infinite, of the sign of the numerator, where the denominator is zero."""
    infinite = np.copysign(np.full(len(top), inf), top)
    return np.asarray(np.divide(top, bottom, out=infinite, where=bottom != 0.0))
