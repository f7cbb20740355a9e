"""Bets where few rows are labeled: a judge's answer for every row, a label for a random subset.

Row ``i`` is labeled with a known probability ``pi``, whatever its label is. A bet ``1 + l (y - c)`` on the label of
every row becomes, with a side bet ``u`` that may depend on the judge's answer and on ``pi`` but not on the label,

    labeled: ``1 + [l (y - c) - (1 - pi) u] / pi``     not labeled: ``1 + u``.

Given the row and its label, the expectation over the draw of the label is ``1 + l (y - c)`` whatever ``u`` is. So the
judge changes how soon the wealth grows, and never whether the bet is fair (Csillag et al., ICML 2025, for
prediction-powered e-values).

*Several groups.* Let the hypothesis be ``sum over leaves of a_k theta_k <= b``, with leaves of disjoint groups, or of
the same group. In a batch with ``n_g`` rows of group ``g``, of ``n`` in all groups, a row of ``g`` has the stake
``lambda n / n_g`` on ``sum of a_k y_k - s_g``, where ``lambda >= 0`` and the numbers ``s_g`` sum to ``b``. Given how
many rows of each group the batch has, its expected factor is at most ``exp(lambda n (sum of a_k theta_k - b)) <= 1``,
since ``log(1 + x) <= x``. Stakes and side bets depend on earlier batches, and on how many rows of this one are in which
group.

*The stakes* maximize the expected logarithm under an estimate of the joint table of judge and label, in which the
judge's share comes from all rows and the label given the judge from the labeled ones: a concave problem, solved by
Newton's method. Whatever they are, the bets are valid as long as every possible factor is positive, which is made sure
of. Who looks once, at a number of rows fixed beforehand, bets with that deadline in mind: the side bets are those that
make the variance least, and the stakes those of the normal test, seen from the current wealth.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri_exp

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]

PRIOR = 4.0
"""How many labels the estimate of a group begins with, at the ends of the range. Changes power only."""

POOLED = 2.0
"""How many labels the estimate for one answer of the judge begins with, distributed like those of its group. Changes
power only."""

ROUNDS = 10
"""Steps of Newton's method. Changes power and cost only."""

CONVERGED = 1e-9
"""The search for stakes ends when no step promises a larger gain in log wealth for each row. Changes cost only."""

STEP = 0.9
"""How much of the way to a factor of zero one step may go. Changes power and cost only."""

CAUTION = 0.8
"""The stakes relative to those that would be best if the estimate were the truth: less grows nearly as fast, and loses
less where the estimate is wrong. Changes power only; below 1, every factor is positive."""

FLOOR = 0.005
"""The least factor that a side bet may leave. Changes power only."""

AIM = 0.15
"""Stakes for one look aim at a wealth this many nats beyond what is needed, which is approached ever more slowly.
Changes power only."""

CAP = 0.85
"""The largest part of the wealth that one row may lose at one look. Any part below 1 is valid."""

CHANCES = 4.0
"""Rows whose probabilities of a label are within a factor of ``2 ** (1 / 4)`` share a side bet. Changes power only."""


@dataclass(frozen=True, slots=True)
class LabelBatch:
    """The rows of a batch that are in some group: distinct ones, and how often each occurs.

    Attributes
    ----------
    keys
        The group of each row, the answer of the judge as a number, and whether there is a label: shape ``(rows, 3)``.
    chances
        The probability of a label.
    values
        The values of the leaves of its group, on a scale from 0 to 1; 0 for other leaves, and without a label.
    times
        How many rows are like this.
    drawn
        How many rows the batch has, with those in no group.
    """

    keys: Integers
    chances: Floats
    values: Floats
    times: Floats
    drawn: float

    @classmethod
    def of(
        cls, keys: Integers, chances: Floats, values: Floats, times: Floats | None = None, drawn: float | None = None
    ) -> LabelBatch:
        """Count rows that are alike; the order within a batch does not matter to its bets."""
        table = np.concatenate([keys, chances[:, None], values], axis=1)
        distinct, where = np.unique(table, axis=0, return_inverse=True)
        count = np.bincount(where.reshape(-1), weights=times, minlength=len(distinct)).astype(float)
        total = float(count.sum()) if drawn is None else drawn
        return cls(distinct[:, :3].astype(np.intp), distinct[:, 3], distinct[:, 4:], count, total)

    def of_groups(self, groups: Integers) -> LabelBatch:
        """The rows of some groups."""
        inside = np.isin(self.keys[:, 0], groups)
        return replace(
            self,
            keys=self.keys[inside],
            chances=self.chances[inside],
            values=self.values[inside],
            times=self.times[inside],
        )

    @classmethod
    def joined(cls, batches: Sequence[LabelBatch]) -> LabelBatch:
        """Several batches as one."""
        return cls.of(
            np.concatenate([batch.keys for batch in batches]),
            np.concatenate([batch.chances for batch in batches]),
            np.concatenate([batch.values for batch in batches]),
            np.concatenate([batch.times for batch in batches]),
            sum(batch.drawn for batch in batches),
        )


@dataclass(frozen=True, slots=True, eq=False)
class LabelStep:
    """A batch, with the rows before it, from which the stakes on it are made; the same for all tests."""

    batch: LabelBatch
    seen: LabelBatch | None = None
    _tables: dict[tuple[int, ...], _Table | None] = field(default_factory=dict, repr=False)

    def then(self, batch: LabelBatch) -> LabelStep:
        """The step after this."""
        own = replace(self.batch, chances=_binned(self.batch.chances))
        return LabelStep(batch, LabelBatch.joined([own] if self.seen is None else [self.seen, own]))

    @classmethod
    def all(cls, batches: Iterable[LabelBatch]) -> list[LabelStep]:
        """One step for each batch."""
        steps: list[LabelStep] = []
        for batch in batches:
            steps.append(steps[-1].then(batch) if steps else cls(batch))
        return steps

    def table(self, active: Integers, groups: Sequence[int]) -> _Table | None:
        """The estimated table of some groups; ``None`` while one of them has no label, or no row in this batch."""
        key = tuple(active.tolist())
        if key not in self._tables:
            rows = np.asarray([self.batch.times[self.batch.keys[:, 0] == g].sum() for g in active])
            known = self.seen is not None and bool(rows.all())
            self._tables[key] = (
                _Table.of(self.seen, active, np.asarray(groups), rows / rows.sum())
                if known and self.seen is not None
                else None
            )
        return self._tables[key]


def _binned(chances: Floats) -> Floats:
    """Probabilities of labels, rounded to those whose rows share a side bet."""
    return np.asarray(2.0 ** (np.round(np.log2(chances) * CHANCES) / CHANCES))


@dataclass(frozen=True, slots=True)
class LabelWealth:
    """The log wealth against each hypothesis, and the most that it ever was."""

    logs: Floats
    most: Floats


@dataclass(frozen=True)
class LabelTests:
    """E-processes against the hypotheses ``sum of a_k theta_k <= b`` over the same leaves, for several ``a`` and ``b``.

    Guarantee: if rows are independent, each is labeled with its probability whatever its label is, no row is in two
    groups, and a hypothesis is true, the probability that it is ever refuted is at most ``delta``, however good or bad
    the judge is.

    Attributes
    ----------
    groups
        The group of each leaf.
    slopes, bounds
        ``a``, of shape ``(hypotheses, leaves)``, and ``b``. Leaves are on a scale from 0 to 1.
    delta
        The risk.
    deadline
        The number of rows, with those in no group, at which the only look is planned; ``None`` for any number of looks.
    """

    groups: tuple[int, ...]
    slopes: Floats
    bounds: Floats
    delta: float
    deadline: float | None = None

    @cached_property
    def need(self) -> float:
        """The log wealth that refutes."""
        return float(np.log(1.0 / self.delta))

    @cached_property
    def active(self) -> Integers:
        """The groups that the hypotheses are about."""
        used = (self.slopes != 0.0).any(axis=0)
        return np.unique(np.asarray(self.groups, dtype=np.intp)[used])

    def begin(self) -> LabelWealth:
        """A wealth of 1 against each."""
        return LabelWealth(np.zeros(len(self.bounds)), np.zeros(len(self.bounds)))

    def refuted(self, wealth: LabelWealth) -> NDArray[np.bool_]:
        """Which hypotheses are refuted."""
        return np.asarray(wealth.most >= self.need)

    def run(self, history: Iterable[LabelStep]) -> NDArray[np.bool_]:
        """Which hypotheses the batches refute."""
        wealth = self.begin()
        for step in history:
            wealth = self.step(wealth, step)
        return self.refuted(wealth)

    def step(self, wealth: LabelWealth, step: LabelStep) -> LabelWealth:
        """Bet on one batch."""
        table = step.table(self.active, self.groups)
        if table is None or step.seen is None:
            return wealth
        if self.deadline is None:
            stakes = table.stakes(self.slopes, self.bounds)
        else:
            known = step.seen.of_groups(self.active)
            left = (self.deadline - known.drawn) * float(known.times.sum()) / known.drawn
            stakes = table.deadline_stakes(self.slopes, self.bounds, wealth.logs - self.need, max(left, 1.0))
        logs = wealth.logs + self._gains(table, step.batch, stakes)
        return LabelWealth(logs, np.maximum(wealth.most, logs))

    def _gains(self, table: _Table, whole: LabelBatch, stakes: tuple[Floats, Floats, Floats]) -> Floats:
        """The logarithm of the factor by which each wealth is multiplied."""
        batch, shares, (level, total, side) = whole.of_groups(self.active), table.shares, stakes
        index = np.searchsorted(self.active, batch.keys[:, 0])
        # The stake on a row with a label, and the most that it can lose whatever the label is.
        away = (level[:, None] * (self.slopes @ batch.values.T) - total[:, index]) / shares[index]
        least = np.minimum(self.slopes, 0.0) @ (np.asarray(self.groups)[:, None] == self.active)
        loss = np.maximum((total - level[:, None] * least) / shares, 0.0)
        own = np.maximum(self._side(table, side, batch), FLOOR - 1.0)
        chance = batch.chances
        room = (chance - loss[:, index] - FLOOR * chance) / np.maximum(1.0 - chance, 1e-12)
        own = np.where(chance < 1.0, np.minimum(own, room), 0.0)
        labeled = batch.keys[:, 2] > 0
        factors = np.where(labeled, 1.0 + (away - (1.0 - chance) * own) / chance, 1.0 + own)
        return np.asarray(np.log(factors) @ batch.times)

    @staticmethod
    def _side(table: _Table, side: Floats, batch: LabelBatch) -> Floats:
        """The side bet on each row; nothing on an answer of the judge that was never seen."""
        chances = _binned(batch.chances)
        index = {key: number for number, key in enumerate(table.names)}
        rows = zip(batch.keys[:, 0].tolist(), batch.keys[:, 1].tolist(), chances.tolist(), strict=True)
        numbers = np.asarray([index.get(row, -1) for row in rows], dtype=np.intp)
        return np.where(numbers >= 0, side[:, numbers], 0.0)


@dataclass(frozen=True, slots=True)
class _Table:
    """The estimated joint table of judge and label, for rows that share a side bet: group, judge and probability.

    Attributes
    ----------
    names
        Which rows these are.
    place
        Their group, as a number among those that matter.
    chances, weights
        The probability of a label, and their share of all rows: shape ``(kinds,)``.
    values, labels
        The values that the group's leaves may have, and how likely each is: ``(kinds, values, leaves)`` and ``(kinds,
        values)``.
    shares
        Each group's share of the batch.
    """

    names: tuple[tuple[int, int, float], ...]
    place: Integers
    chances: Floats
    weights: Floats
    values: Floats
    labels: Floats
    shares: Floats

    @classmethod
    def of(cls, seen: LabelBatch, active: Integers, groups: Integers, shares: Floats) -> _Table | None:
        """The table estimated from the rows seen; ``None`` while some group has no label."""
        seen = seen.of_groups(active)
        own = np.column_stack([seen.keys[:, :2], seen.chances])
        kinds, kind = np.unique(own, axis=0, return_inverse=True)
        kind, place = kind.reshape(-1), np.searchsorted(active, kinds[:, 0].astype(np.intp))
        labeled = seen.keys[:, 2] > 0
        options = []
        for group in active:
            rows = labeled & (seen.keys[:, 0] == group)
            if not rows.any():
                return None
            ends = [(0.0, 1.0) if g == group else (0.0,) for g in groups]
            options.append(np.unique(np.concatenate([list(product(*ends)), seen.values[rows]]), axis=0))
        max_options = max(map(len, options))
        values, labels = np.zeros((len(kinds), max_options, len(groups))), np.zeros((len(kinds), max_options))
        weights = np.bincount(kind, weights=seen.times, minlength=len(kinds)).astype(float)
        for number, (group, option) in enumerate(zip(active, options, strict=True)):
            rows, of_group = labeled & (seen.keys[:, 0] == group), np.flatnonzero(place == number)
            which = np.argmax((seen.values[rows][:, None, :] == option).all(axis=-1), axis=1)
            counts = np.zeros((len(kinds), len(option)))
            np.add.at(counts, (kind[rows], which), seen.times[rows])
            corner = ((option == 0.0) | (option == 1.0)).all(axis=1)
            pool = counts.sum(axis=0) + PRIOR * corner / corner.sum()
            pool = POOLED * pool / pool.sum()
            mine = counts[of_group] + pool
            values[of_group, : len(option)] = option
            labels[of_group, : len(option)] = mine / mine.sum(axis=1, keepdims=True)
            weights[of_group] *= shares[number] / weights[of_group].sum()
        names = tuple((int(g), int(judge), float(chance)) for g, judge, chance in kinds)
        return cls(names, place, np.minimum(kinds[:, 2], 1.0), weights, values, labels, shares)

    def stakes(self, slopes: Floats, bounds: Floats) -> tuple[Floats, Floats, Floats]:
        """The best stakes against each hypothesis: ``lambda``, ``lambda s_g`` for each group, and the side bets.

        Newton's method on ``lambda``, on how ``lambda s_g`` is divided among the groups, and on the side bets, each of
        which meets only its own rows: so they are eliminated first. It begins where nothing is bet.
        """
        groups, chance, count = len(self.shares), self.chances, len(bounds)
        numbers = np.einsum("tjk,hk->htj", self.values, slopes)
        means = np.stack(
            [
                (self.weights * (self.place == g) * (self.labels * numbers).sum(axis=-1)).sum(axis=-1) / self.shares[g]
                for g in range(groups)
            ],
            axis=-1,
        )
        centre = means + ((bounds - means.sum(axis=-1)) / groups)[:, None]
        scale = 1.0 / (self.shares[self.place] * chance)
        slope = np.zeros((count, *self.labels.shape, groups))
        slope[..., 0] = (numbers - centre[:, self.place, None]) * scale[:, None]
        for g in range(1, groups):
            slope[..., g] = (((self.place == 0) * 1.0 - (self.place == g)) * scale)[:, None]
        odds = (1.0 - chance) / chance
        labeled, missing = (self.weights * chance)[:, None] * self.labels, self.weights * (1.0 - chance)
        stake, side = np.zeros((count, groups)), np.zeros((count, len(chance)))
        factors, rest = np.ones((count, *self.labels.shape)), np.ones((count, len(chance)))
        for _ in range(ROUNDS):
            first = labeled / factors
            second = first / factors
            gain = np.einsum("htj,htjb->hb", first, slope)
            own = missing / rest - odds * first.sum(axis=-1)
            curve = np.einsum("htj,htjb,htjc->hbc", second, slope, slope)
            mixed = -odds[:, None] * np.einsum("htj,htjb->htb", second, slope)
            bend = odds**2 * second.sum(axis=-1) + missing / rest**2 + 1e-12
            reduced = curve - np.einsum("htb,htc->hbc", mixed / bend[..., None], mixed)
            reduced += 1e-12 * (1.0 + np.einsum("hbb->h", reduced))[:, None, None] * np.eye(groups)
            wanted = gain - np.einsum("htb,ht->hb", mixed, own / bend)
            move = np.linalg.solve(reduced, wanted[..., None])[..., 0]
            if (np.abs(wanted * move).sum(axis=1) < CONVERGED).all():
                break
            along = (own - np.einsum("htb,hb->ht", mixed, move)) / bend
            change = np.einsum("htjb,hb->htj", slope, move) - (odds * along)[..., None]
            fall = np.maximum((-change / factors).max(axis=(1, 2)), (-along / rest).max(axis=1))
            step = np.minimum(1.0, STEP / np.maximum(fall, 1e-300))[:, None]
            stake, side = stake + step * move, side + step * along
            factors, rest = factors + step[..., None] * change, rest + step * along
        # Where the estimate does not speak against the hypothesis, nothing is bet.
        size = np.where(stake[:, 0] > 0.0, CAUTION, 0.0)
        level = size * stake[:, 0]
        moved = np.concatenate([-stake[:, 1:].sum(axis=1, keepdims=True), stake[:, 1:]], axis=1)
        return level, level[:, None] * centre + size[:, None] * moved, size[:, None] * side

    def deadline_stakes(
        self, slopes: Floats, bounds: Floats, lacking: Floats, left: float
    ) -> tuple[Floats, Floats, Floats]:
        """Stakes that make it most likely to have enough when ``left`` more rows came, if sums were normal.

        With the mean ``m`` of each kind's values, a labeled row says ``m + (z - m) / pi`` and another one ``m``, which
        has the least variance. ``s_g`` is the point of the boundary that is nearest to the estimates. With ``z`` the
        quantile of ``delta`` times the wealth, whose logarithm is ``lacking``, and the standard deviation of what is
        still to come, the stake is ``phi(z) / Phi(z)`` over that deviation.
        """
        numbers = np.einsum("tjk,hk->htj", self.values, slopes)
        means = (self.labels * numbers).sum(axis=-1)
        own = (self.weights * (self.place == np.arange(len(self.shares))[:, None])).T / self.shares
        middle = means @ own
        spread = (self.labels * (numbers - means[..., None]) ** 2).sum(axis=-1) / self.chances
        parts = ((spread + (means - middle[:, self.place]) ** 2) @ own + 1e-12) / self.shares
        variance = parts.sum(axis=1)
        centre = middle + (bounds - middle.sum(axis=1))[:, None] * parts / variance[:, None]
        side = (means - centre[:, self.place]) / self.shares[self.place]
        away = (numbers - centre[:, self.place, None]) / self.shares[self.place, None]
        lost = np.maximum(-(away.min(axis=-1) - (1.0 - self.chances) * side) / self.chances, -side).max(axis=1)
        z = ndtri_exp(np.minimum(lacking - AIM, np.log(0.999)))
        hazard = np.exp(-0.5 * z * z - 0.5 * np.log(2.0 * np.pi) - log_ndtr(z))
        level = np.minimum(hazard / np.sqrt(variance * left), CAP / np.maximum(lost, 1e-300))
        level = np.where(lacking >= 0.0, 0.0, level)
        return level, level[:, None] * centre, level[:, None] * side
