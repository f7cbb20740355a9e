"""Bets on clusters: rows that belong together, such as the visits of one customer, count as one draw.

Clusters are independent draws from a population of clusters; inside one, anything may happen. A leaf is a ratio of two
expectations over clusters, ``theta = E[sum of x] / E[rows]``, so ``theta <= c`` says ``E[sum of (x - c)] <= 0``: the
mean of a number that is bounded as long as clusters are.

*One leaf.* The wealth against ``theta <= c`` is multiplied by ``1 + l * sum of (x - c)`` for each cluster, with a stake
``l >= 0`` chosen before the cluster is seen. Its expectation is at most 1.

*Two leaves.* ``a1 * theta1 + a2 * theta2 <= b`` is the union, over all values ``p`` of the second leaf, of the pairs
of statements ``s1 * (theta1 - q(p)) <= 0`` and ``s2 * (theta2 - p) <= 0``, where ``s`` is the sign of ``a`` and
``q(p) = (b - a2 * p) / a1``. Each pair has one factor per cluster, ``1 + l1 * s1 * sum1 (x - q) + l2 * s2 * sum2 (x -
p)`` with ``l1, l2 >= 0``, however the two sums depend on each other. The union is refuted when every ``p`` is.
The values of ``p`` are cut into cells, and all ``p`` of a cell have the same stakes. Then every factor is affine in
``p``, the logarithm of the wealth is concave in ``p``, and so it is least at one of the two ends of its cell: looking
at the ends covers every ``p`` between them. A cell is cut in two where it is wider than the precision of the data; at
the new point, the wealth so far is at least the geometric mean of that at the ends, by the same concavity.

*More leaves.* Each leaf gets a confidence sequence at its part of the risk, and the formula is decided over the box.

Wealth is divided among bettors with different stakes; each wealth is a supermartingale by itself. Who looks once, at a
number of clusters fixed in advance, bets with that deadline in mind: the stakes are those of the normal test, seen from
the current wealth (:func:`_deadline_stakes`). They are chosen before each batch, so these bets are as valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri_exp

Floats = NDArray[np.float64]

CELLS = 48
"""Cells of the second leaf's value to begin with. Their ends are equally spaced in ``arcsin sqrt p``, in which the
precision of a rate is the same everywhere. Changes power and cost only."""

MAX_CELLS = 256
"""The maximum number of cells of one hypothesis. Changes power and cost only."""

FINE = 0.5
"""A cell is cut in two while it is wider than this many standard errors of the second leaf. Changes power only."""

NEAR = 4.0
"""Only cells whose log wealth is within this many nats of the least are cut. Changes power and cost only."""

SHARES = np.log(np.asarray([0.15, 0.4, 0.2, 0.15, 0.1]))
"""The bettors' shares of the money: the estimate, the largest stake on both leaves, and three along the direction in
which the second leaf's value does not matter. Any shares are valid. These decide 0.48 of one group and 0.50 of another
against 0.8, with a correlation of 0.3, after a median of 77 clusters of 10 and 50 of 50. They change power only."""

LARGEST_SHARE = 0.7
"""The second bettor's stake, relative to the largest possible ones. Changes power only."""

STEADY_SHARES = (1.0, 0.4, 0.15)
"""The stakes of the other bettors, relative to the largest possible in their direction. Changes power only."""

WALL = 0.995
"""How near a stake may come to one that could lose everything. Changes power only."""

LEAST_LOSS = 1e-6
"""The least loss per row that limits a stake; where a leaf's value is at an end of its range any stake is safe, but
rounding must not look like evidence. Changes power only."""

CLEARLY = 2.0
"""How many standard errors one leaf alone must be more profitable to be bet on alone. Changes power only."""

ROUNDING = 1e-9
"""By how much a leaf may seem to lie outside of its range and still be possible: one cell more has to be refuted. It
prevents decisions that rounding would make, and never makes one."""

PRIOR = 1.0
"""How many clusters the estimate begins with, each of a typical spread. Changes power only."""


@dataclass(frozen=True, slots=True)
class ClusterBatch:
    """The clusters of a batch: distinct ones, and how often each occurs.

    Attributes
    ----------
    rows
        How many rows of each leaf's group a cluster has: shape ``(distinct, leaves)``.
    sums
        The sums of their values, on a scale from 0 to 1: same shape.
    times
        How many clusters are like this.
    starts
        Where each stream begins. Streams are counted separately, such as the rows of one group and those of another;
        there is one unless several were joined.
    """

    rows: Floats
    sums: Floats
    times: Floats
    starts: NDArray[np.intp] = field(default_factory=lambda: np.zeros(1, np.intp))

    @classmethod
    def of(cls, rows: Floats, sums: Floats) -> ClusterBatch:
        """Count clusters that are alike; the order within a batch does not matter to its bets."""
        return cls.in_order(rows, sums, 1)[0]

    @classmethod
    def in_order(cls, rows: Floats, sums: Floats, count: int) -> list[ClusterBatch]:
        """As many batches of nearly equal size, one after the other; clusters that are alike are counted in each."""
        size, more = divmod(len(rows), count)
        number = np.repeat(np.arange(count), np.where(np.arange(count) < more, size + 1, size))
        both = np.concatenate([number[:, None], rows, sums], axis=1)
        both = both[np.lexsort(both.T[::-1])]
        first = np.flatnonzero(np.append(True, (both[1:] != both[:-1]).any(axis=1))[: len(both)])
        times, both = np.diff(np.append(first, len(number))).astype(float), both[first]
        cuts = np.searchsorted(both[:, 0], np.arange(1, count))
        width = 1 + rows.shape[1]
        parts = zip(np.split(both, cuts), np.split(times, cuts), strict=True)
        return [cls(each[:, 1:width], each[:, width:], often) for each, often in parts]

    @classmethod
    def joined(cls, batches: Sequence[ClusterBatch]) -> ClusterBatch:
        """The batches of several streams as one."""
        sizes = [len(batch.times) for batch in batches]
        return cls(
            np.concatenate([batch.rows for batch in batches]),
            np.concatenate([batch.sums for batch in batches]),
            np.concatenate([batch.times for batch in batches]),
            np.cumsum([0, *sizes[:-1]]),
        )

    @property
    def clusters(self) -> int:
        """How many clusters there are."""
        return round(float(self.times.sum()))


@dataclass(frozen=True, slots=True)
class ClusterWealth:
    """The wealth against several hypotheses, cell by cell; cells that were refuted are left out.

    Attributes
    ----------
    owner
        Which hypothesis each cell belongs to.
    ends
        The two values of the second leaf between which it lies: shape ``(2, cells)``; ``(1, cells)`` for one leaf.
    logs
        Each bettor's log wealth at each: shape ``(ends, bettors, cells)``.
    seen, first, second
        For each stream, how many clusters there were, and the sums of their numbers (rows and sums of both leaves) and
        of the products.
    """

    owner: NDArray[np.intp]
    ends: Floats
    logs: Floats
    seen: Floats
    first: Floats
    second: Floats


@dataclass(frozen=True)
class ClusterTests:
    """E-processes against the hypotheses ``a1 * theta1 + a2 * theta2 <= b``, for several ``a`` and ``b`` at once.

    Guarantee: if clusters are independent, none has more than ``largest`` rows, and a hypothesis is true, the
    probability that it is ever refuted is at most ``delta``, whatever the rows of a cluster have to do with each other.

    Attributes
    ----------
    leaves
        The numbers of the one or two leaves.
    slopes, bounds
        ``a``, of shape ``(hypotheses, 2)`` with 0 for a second leaf that is not there, and ``b``. Leaves are on a scale
        from 0 to 1.
    largest
        The maximum number of rows of a cluster; 1 where the rows of each cluster weigh 1 together.
    apart
        Whether no row informs both leaves.
    delta
        The risk.
    deadline
        The number of clusters at which the only look is planned; ``None`` for any number of looks.
    stream
        The stream that each hypothesis is about; ``None`` if there is one.
    """

    leaves: tuple[int, ...]
    slopes: Floats
    bounds: Floats
    largest: float
    apart: bool
    delta: float
    deadline: int | None = None
    stream: NDArray[np.intp] | None = None

    @cached_property
    def streams(self) -> NDArray[np.intp]:
        """The stream of each hypothesis."""
        return np.zeros(len(self.bounds), np.intp) if self.stream is None else self.stream

    @cached_property
    def need(self) -> float:
        """The log wealth that refutes."""
        return float(np.log(1.0 / self.delta))

    @cached_property
    def signs(self) -> Floats:
        """The signs of the slopes."""
        return np.asarray(np.sign(self.slopes))

    def begin(self) -> ClusterWealth:
        """A wealth of 1, divided among the bettors, in every cell."""
        count, paired = len(self.bounds), len(self.leaves) > 1
        edges = np.sin(np.linspace(0.0, np.pi / 2, CELLS + 1)) ** 2
        cells = np.stack([edges[:-1], edges[1:]]) if paired else np.zeros((1, 1))
        owner, ends = np.repeat(np.arange(count), cells.shape[1]), np.tile(cells, count)
        # Where the first leaf would have to lie outside of its range, by more than rounding, no truth is to be refuted.
        values = self._first_leaf(owner, ends)
        sign = self.signs[owner, 0]
        possible = np.where(sign > 0, values.max(axis=0) >= -ROUNDING, values.min(axis=0) <= 1.0 + ROUNDING)
        owner, ends = owner[possible], ends[:, possible]
        shares = SHARES if self.deadline is None else np.zeros(1)
        logs = np.broadcast_to(shares[None, :, None], (len(ends), len(shares), len(owner))).copy()
        count = 1 + int(self.streams.max(initial=0))
        return ClusterWealth(owner, ends, logs, np.zeros(count), np.zeros((count, 4)), np.zeros((count, 4, 4)))

    def _first_leaf(self, owner: NDArray[np.intp], second: Floats) -> Floats:
        """The largest or least value of the first leaf that the hypothesis allows, given the second leaf's."""
        return np.asarray((self.bounds[owner] - self.slopes[owner, 1] * second) / self.slopes[owner, 0])

    def step(self, wealth: ClusterWealth, batch: ClusterBatch) -> ClusterWealth:
        """Bet on one batch; cells whose wealth suffices are refuted for good."""
        clusters = self._numbers(batch)
        owner, logs = wealth.owner, wealth.logs
        if len(owner):
            signs, stakes, stream = self.signs[owner], self._stakes(wealth), self.streams[owner]
            logs = logs.copy()
            # Every cell meets the clusters of its stream: as a matrix if there is one stream, otherwise in a row.
            cell, cluster = np.arange(len(owner))[:, None], np.arange(len(clusters))[None, :]
            several, sizes = len(batch.starts) > 1, np.diff(np.append(batch.starts, len(clusters)))[stream]
            begin = np.cumsum(sizes) - sizes
            if several:
                cell = np.repeat(np.arange(len(owner)), sizes)
                cluster = np.arange(len(cell)) - np.repeat(begin - batch.starts[stream], sizes)
            times = batch.times[cluster]
            for end, second in enumerate(wealth.ends):
                values = (self._first_leaf(owner, second), second)[: len(self.leaves)]
                away = [
                    signs[cell, k] * (clusters[cluster, 2 * k + 1] - value[cell] * clusters[cluster, 2 * k])
                    for k, value in enumerate(values)
                ]
                for bettor, stake in enumerate(stakes):
                    gains = np.log1p(sum(stake[cell, k] * each for k, each in enumerate(away)))
                    logs[end, bettor] += np.add.reduceat(gains * times, begin) if several else gains @ batch.times
        weighed = clusters * batch.times[:, None]
        after = ClusterWealth(
            owner,
            wealth.ends,
            logs,
            wealth.seen + np.add.reduceat(batch.times, batch.starts),
            wealth.first + np.add.reduceat(weighed, batch.starts, axis=0),
            wealth.second + np.add.reduceat(weighed[:, :, None] * clusters[:, None, :], batch.starts, axis=0),
        )
        return self._cut(self._where(after, ~(self._totals(after) >= self.need)))

    def refuted(self, wealth: ClusterWealth) -> NDArray[np.bool_]:
        """Which hypotheses are refuted."""
        return np.asarray(np.bincount(wealth.owner, minlength=len(self.bounds)) == 0)

    def progress(self, wealth: ClusterWealth) -> float:
        """The least log wealth of a cell that is left, as a share of what is needed."""
        totals = self._totals(wealth)
        return float(np.clip(totals.min() / self.need, 0.0, 1.0)) if len(totals) else 1.0

    def run(self, history: Sequence[ClusterBatch]) -> NDArray[np.bool_]:
        """Which hypotheses the batches refute."""
        wealth = self.begin()
        for batch in history:
            wealth = self.step(wealth, batch)
        return self.refuted(wealth)

    def _numbers(self, batch: ClusterBatch) -> Floats:
        """Rows and sum of the first leaf, then of the second: shape ``(distinct, 4)``."""
        numbers = np.zeros((len(batch.times), 4))
        for k, leaf in enumerate(self.leaves):
            numbers[:, 2 * k], numbers[:, 2 * k + 1] = batch.rows[:, leaf], batch.sums[:, leaf]
        return numbers

    def _totals(self, wealth: ClusterWealth) -> Floats:
        """A lower bound on the log wealth at every value of each cell."""
        return np.asarray(np.logaddexp.reduce(wealth.logs.min(axis=0), axis=0))

    @staticmethod
    def _where(wealth: ClusterWealth, keep: NDArray[np.bool_]) -> ClusterWealth:
        return replace(wealth, owner=wealth.owner[keep], ends=wealth.ends[:, keep], logs=wealth.logs[:, :, keep])

    def _cut(self, wealth: ClusterWealth) -> ClusterWealth:
        """Cut wide cells with little wealth in two; no wealth is gained by it."""
        if len(self.leaves) < 2 or not len(wealth.owner):
            return wealth
        rows, second = np.maximum(wealth.first[:, 2], 1e-300), wealth.second
        rate = wealth.first[:, 3] / rows
        square = second[:, 3, 3] - 2.0 * rate * second[:, 2, 3] + rate**2 * second[:, 2, 2]
        error = np.where(wealth.first[:, 2] > 0.0, np.sqrt(np.maximum(square, 0.25 * rows)) / rows, np.inf)
        totals, count = self._totals(wealth), np.bincount(wealth.owner, minlength=len(self.bounds))
        least = np.full(len(self.bounds), np.inf)
        np.minimum.at(least, wealth.owner, totals)
        cut = (
            (wealth.ends[1] - wealth.ends[0] > FINE * error[self.streams[wealth.owner]])
            & (totals < least[wealth.owner] + NEAR)
            & (count[wealth.owner] < MAX_CELLS)
        )
        if not cut.any():
            return wealth
        middle, logs = wealth.ends[:, cut].mean(axis=0), wealth.logs[:, :, cut]
        between = logs.mean(axis=0)
        lower, upper = wealth.ends[:, cut].copy(), wealth.ends[:, cut].copy()
        lower[1], upper[0] = middle, middle
        parts = [lower, upper]
        halves = [np.stack([logs[0], between]), np.stack([between, logs[1]])]
        return replace(
            wealth,
            owner=np.concatenate([wealth.owner[~cut], wealth.owner[cut], wealth.owner[cut]]),
            ends=np.concatenate([wealth.ends[:, ~cut], *parts], axis=1),
            logs=np.concatenate([wealth.logs[:, :, ~cut], *halves], axis=2),
        )

    # ------------------------------------------------------------------------------------------------------- stakes

    def _stakes(self, wealth: ClusterWealth) -> list[Floats]:
        """The stakes of each bettor on both leaves: shape ``(cells, 2)`` each. They depend on earlier batches only.

        A cluster has at most ``largest`` rows in the two groups together, and a row of the first loses at most ``q``,
        or ``1 - q`` where the bet is on small values. So both stakes may be the largest at once if no row is in both
        groups; otherwise half of it each is safe.
        """
        owner, signs = wealth.owner, self.signs[wealth.owner]
        first = self._first_leaf(owner, wealth.ends)
        losses = [
            np.where(signs[:, k] > 0, values, 1.0 - values).max(axis=0) for k, values in enumerate((first, wealth.ends))
        ]
        paired = len(self.leaves) > 1
        room = (WALL if self.apart or not paired else 0.5 * WALL) / self.largest
        largest = room / np.maximum(np.stack(losses, axis=-1), LEAST_LOSS)
        if not paired:
            largest[:, 1] = 0.0
        if self.deadline is not None:
            return [self._deadline_stakes(wealth, largest)]
        edge = self._along(wealth, largest)
        mean, square = self._moments(wealth)
        return [
            _best_within(mean, square, largest),
            LARGEST_SHARE * largest,
            *(share * edge for share in STEADY_SHARES),
        ]

    def _along(self, wealth: ClusterWealth, largest: Floats) -> Floats:
        """The largest stakes in the direction in which, on average, the second leaf's value does not matter.

        A change of ``p`` moves the factor by ``l1 * |a2 / a1| * rows1 - l2 * rows2``.
        """
        if len(self.leaves) < 2:
            return largest
        slopes, first = np.abs(self.slopes[wealth.owner]), wealth.first[self.streams[wealth.owner]]
        direction = np.stack([first[:, 2] + 0.5, slopes[:, 1] / slopes[:, 0] * (first[:, 0] + 0.5)], axis=-1)
        direction = np.maximum(direction, 1e-12 * direction.max(axis=-1, keepdims=True))
        return np.asarray(direction * (largest / direction).min(axis=-1, keepdims=True))

    def _moments(self, wealth: ClusterWealth) -> tuple[Floats, Floats]:
        """Mean and second moments of the two sums that are bet on, in the middle of each cell."""
        owner, signs, stream = wealth.owner, self.signs[wealth.owner], self.streams[wealth.owner]
        second = wealth.ends.mean(axis=0)
        to = np.zeros((len(owner), 2, 4))
        for k, values in enumerate((self._first_leaf(owner, second), second)):
            to[:, k, 2 * k], to[:, k, 2 * k + 1] = -signs[:, k] * values, signs[:, k]
        n = wealth.seen[stream] + PRIOR
        square = (to @ wealth.second[stream] @ to.transpose(0, 2, 1)) / n[:, None, None]
        square[:, [0, 1], [0, 1]] += (PRIOR * (self.largest / 4.0) ** 2 / n)[:, None]
        return (to @ wealth.first[stream][:, :, None])[:, :, 0] / n[:, None], square

    def _deadline_stakes(self, wealth: ClusterWealth, largest: Floats) -> Floats:
        """Stakes that make it most likely to reach ``1 / delta`` at the deadline, if sums were normal.

        With wealth ``W`` and standard deviation ``s``, ``z = Phi^-1(delta * W)`` and the stake on the sum is
        ``phi(z) / Phi(z) / (s * sqrt(clusters left))``. The bet is on both leaves along the direction in which the
        second leaf's value does not matter; on one leaf alone where that has been clearly more profitable.
        """
        assert self.deadline is not None, "there is a deadline"
        mean, square = self._moments(wealth)
        options = np.stack([self._along(wealth, largest), largest * [1.0, 0.0], largest * [0.0, 1.0]])
        gains = (options * mean).sum(axis=-1)
        squares = np.einsum("oci,cij,ocj->oc", options, square, options)
        spreads = np.sqrt(np.maximum(squares - gains**2, 1e-12 * squares))
        profit = np.divide(gains, spreads, out=np.zeros_like(gains), where=spreads > 0.0)
        clusters = wealth.seen[self.streams[wealth.owner]]
        profit[0] += CLEARLY / np.sqrt(clusters + PRIOR)
        best = profit.argmax(axis=0)[None, :]
        spread, stakes = np.take_along_axis(spreads, best, 0)[0], np.take_along_axis(options, best[..., None], 0)[0]
        log_chance = np.minimum(self._totals(wealth) - self.need, np.log(0.999))
        z = ndtri_exp(log_chance)
        hazard = np.exp(-0.5 * z * z - 0.5 * np.log(2.0 * np.pi) - log_ndtr(z))
        left = np.maximum(self.deadline - clusters, 1.0)
        return np.asarray(stakes * np.minimum(hazard / (np.maximum(spread, 1e-300) * np.sqrt(left)), 1.0)[:, None])


def _best_within(mean: Floats, square: Floats, largest: Floats) -> Floats:
    """The stakes ``l`` within the largest that maximize ``l mean - l square l / 2``, which is near the log wealth.

    A concave function on a rectangle is greatest where its slope is zero, or on one of the four sides.
    """
    a, b, c = square[:, 0, 0], square[:, 0, 1], square[:, 1, 1]
    determinant = np.maximum(a * c - b * b, 1e-12 * a * c)
    free = np.stack([c * mean[:, 0] - b * mean[:, 1], a * mean[:, 1] - b * mean[:, 0]], axis=-1) / determinant[:, None]
    candidates = [np.clip(free, 0.0, largest)]
    for k, (own, other) in enumerate(((a, 1), (c, 0))):
        for fixed in (np.zeros(len(a)), largest[:, other]):
            stake = np.empty_like(free)
            stake[:, other] = fixed
            stake[:, k] = np.clip((mean[:, k] - b * fixed) / own, 0.0, largest[:, k])
            candidates.append(stake)
    options = np.stack(candidates)
    gains = (options * mean).sum(axis=-1) - 0.5 * np.einsum("oci,cij,ocj->oc", options, square, options)
    return np.asarray(np.take_along_axis(options, gains.argmax(axis=0)[None, :, None], axis=0)[0])
