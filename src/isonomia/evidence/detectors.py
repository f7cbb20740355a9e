"""E-detectors: whether a claim about a stream has stopped holding, and since when.

The claim is a half-space: *the sum over groups of the mean payoff of each is at most a bound*. Draws come one by one.
The group of a draw, and its law, may depend in any way on earlier draws, outcomes included. Several bettors bet on
every draw. Each assumes that the truth lies a certain distance outside the half-space: a draw of group ``g`` with
payoff ``y`` multiplies the wealth of a bettor by

    1 + s a (y - m_g),        the m_g adding up to the bound,

where the weight ``a >= 0`` of the draw is fixed before its outcome is seen. A **block** ends when the weights of each
group add up to the same total, and wealth counts at the ends of blocks only. *Guarantee*: while the claim holds, and
no mean payoff but at most one changes within a block, the expected factor of a block is at most 1, for any stake
``s >= 0`` with positive factors and any ``m_g`` fixed before the block: with total ``A`` it is at most
``exp(s A (sum of the true means - bound))``. When and how often each group comes does not matter.

An **e-detector** adds up one bet for every moment at which the claim may have begun to fail, as the statistic of
Shiryaev and Roberts does: before each block a new bet starts, with a *restart weight* as its wealth. While the claim
holds, the expected wealth is at most the sum of the restart weights so far. So if that is 1 for each draw, the mean
number of draws to a false alarm is at least the threshold (Shin, Ramdas and Rinaldo, "E-detectors", 2022). If the
weights shrink and add up to 1, it ever reaches ``1/alpha`` with probability at most ``alpha``. A bettor who starts
once, with 1 at the first draw, tests whether the claim has always held.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

DISTANCES = np.asarray([0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64])
"""How far outside the half-space each bettor assumes the truth to lie, in standard deviations of a draw. A truth at
half or twice a distance is found nearly as soon. Changes power only."""

ALERT_SHARES = np.asarray([0.02, 0.03, 0.05, 0.14, 0.19, 0.19, 0.19, 0.19])
"""Each bettor's share of the restart weights. The small distances get little: a change that takes longer
to see than the run length between false alarms is not worth much. Validity needs only that they add up to 1."""

ALWAYS_SHARES = np.asarray([0.125] * 8)
"""The same for the test whether the claim has always held, which has unlimited time. Validity needs only that they add
up to 1."""

LEAST_WEIGHT = 0.5
"""A group that is behind another by less than this part of its usual weight overtakes it with the usual weight, since
a draw that only catches up would be wasted. Changes power only, as do the next three: weights may be any numbers that
are fixed before the outcome. Chosen by simulated delays (``benchmarks.watch``), which hardly depend on them."""

MOST_WEIGHT = 3.0
"""The largest weight of a draw, in multiples of the usual weight of its group."""

MOST_LEAD = 2.0
"""How far a group may be ahead of another in a block, in multiples of the largest usual weight. Its draws beyond that
are left out, so a block holds a bounded number of draws while it waits for a group."""

MOST_SCARCE = 64.0
"""The usual weight of a group's draw is inversely proportional to how often it comes; the scarcest group has at most
this many times the weight of the most frequent one."""

LONGEST_BLOCK = 10_000
"""After this many draws of the stream a block that still waits for a group is closed at a price: the most that the
draws without a counterpart can be expected to win. Any number is valid. It bounds the time in which rates must not
change, and is long enough for a group that comes once in 2,000 draws."""

MEMORY = 2_000.0
"""After this many draws of a group, earlier draws weigh half as much in the estimate that sets the stakes.
Changes power only: the estimate is made of earlier draws."""

SAFETY = 0.9
"""The largest share of a wealth that one draw may lose; below 1, so that factors are positive. Any such value is
valid: it changes power only."""

EDGES_AN_OCTAVE = 32
"""About how many moments are remembered of those between some age and twice that age. It changes how precisely the
onset of an alert is known, never an alert."""

MOMENTS_OF_ALERT = 64
"""How many moments are kept of an alert, including those that decide. Changes what is shown only."""


@dataclass(frozen=True, slots=True)
class RestartWeights:
    """The weight of the bet that starts before each draw.

    ``run_length``: 1 each time, and the threshold is the run length. Otherwise the weights add up to 1 over all time,
    to ``1 - 1 / (1 + log(1 + t / scale))`` after ``t`` draws.
    """

    run_length: bool
    scale: float = 100.0

    def between(self, start: Integers, end: Integers) -> Floats:
        """The sum of the weights after ``start`` draws and before the one after ``end``."""
        if self.run_length:
            return (end - start).astype(float)
        a, b = (1.0 + np.log1p(t / self.scale) for t in (start, end))
        return np.asarray(np.log((self.scale + end) / (self.scale + start)) / (a * b))


@dataclass(frozen=True, slots=True)
class Onset:
    """When the claim began to fail: the most likely, the smallest and the largest number of draws before it.

    ``means`` are the mean payoffs of the groups since the most likely moment; ``None`` for a group that had no draws.
    ``risk`` bounds the probability that it began before ``low`` and has failed without a break since.
    """

    estimate: int
    low: int
    high: int
    means: tuple[float | None, ...]
    risk: float | None = None


@dataclass(frozen=True, slots=True)
class Crossing:
    """What an e-detector knew when it gave an alert: enough to recompute the alert.

    Attributes
    ----------
    draws
        After how many draws of the stream the alert came.
    heights
        The log wealth of the e-detector just before the block that gave the alert, and after it.
    moments
        The remembered moments, in draws; the last is that of the alert.
    against
        For each moment, the log wealth at the alert of bets against the claim that started there.
    opposite
        For each moment, the highest log wealth by then of bets against the opposite that started there.
    since
        For each group how many draws were bet on since the most likely moment, and the sum of their payoffs.
    """

    draws: int
    heights: tuple[float, float]
    moments: Integers
    against: Floats
    opposite: Floats
    since: Floats

    @property
    def best(self) -> int:
        """The index of the most likely moment: the start of the bets that have won most."""
        return int(np.argmax(self.against))

    def thinned(self, risk: float) -> Crossing:
        """The same with fewer moments: those that decide at this risk, and some in between. The onset is unchanged."""
        last = len(self.moments) - 1
        possible = np.flatnonzero(self._possible(risk))
        low = int(possible[0]) if len(possible) else 0
        few = np.linspace(0, last, MOMENTS_OF_ALERT - 3).astype(np.int64)
        chosen = np.unique(np.append(few, [max(low - 1, 0), low, self.best]))
        moments, against, opposite = (each[chosen] for each in (self.moments, self.against, self.opposite))
        return replace(self, moments=moments, against=against, opposite=opposite)

    def _possible(self, risk: float) -> NDArray[np.bool_]:
        return np.asarray(self.opposite < np.log(1.0 / risk))

    def onset(self, risk: float) -> Onset:
        """When the claim began to fail.

        Suppose that the claim has failed without a break since a moment ``k``. Then its opposite has held since ``k``,
        and a bet against the opposite that started at ``k`` reaches ``1/risk`` with probability at most ``risk``.
        Moments whose bet did reach it are left out.
        """
        estimate = int(self.moments[self.best])
        possible = self.moments[self._possible(risk)]
        means = tuple(float(total / count) if count else None for count, total in self.since)
        low = min(int(possible[0]) if len(possible) else estimate, estimate)
        return Onset(estimate, low, self.draws, means, risk)


@dataclass(frozen=True, slots=True)
class DetectorState:
    """What an e-detector remembers: of constant size except for the moments, whose number grows logarithmically.

    Attributes
    ----------
    draws
        How many draws of the stream were seen, in these groups or not.
    used, blocks
        At which draw the last block ended, and how many there were.
    restarted_until
        The last draw before which a bet has started.
    begun, missing
        At which draw the present block began, 0 if it has not; and which group it must begin with, -1 for any.
    arrivals
        How many draws of each group came, with old ones discounted; and the same since the stakes were last set,
        undiscounted.
    moments
        For each group the weight, the sum and the sum of squares of payoffs, with old ones discounted.
    fresh
        The same for the blocks since the stakes were last set, undiscounted.
    stake_moments, weights, stakes_until
        The moments that the stakes are based on, the usual weight of a draw of each group, and the number of blocks at
        which these are set again.
    always
        The log wealth of each bettor who started at the first draw: those against the claim, then those against its
        opposite.
    peaks
        The highest log wealth that all bettors of each kind ever had together.
    log_restarts
        For each bettor against the claim, the logarithm of the sum of the restart weights so far, each divided by the
        wealth that ``always`` had then: with ``always`` added, it is the log wealth of all bets together.
    waiting
        The groups and payoffs of the present block.
    sums
        For each group how many draws were bet on, and the sum of their payoffs.
    edges, edge_wealth, edge_sums
        Remembered moments (draws), and what ``always`` and ``sums`` were then.
    """

    draws: int
    used: int
    blocks: int
    restarted_until: int
    begun: int
    missing: int
    arrivals: tuple[Floats, Floats]
    moments: Floats
    fresh: Floats
    stake_moments: Floats
    weights: Floats
    stakes_until: int
    always: Floats
    peaks: tuple[float, float]
    log_restarts: Floats
    waiting: tuple[Integers, Floats]
    sums: Floats
    edges: Integers
    edge_wealth: Floats
    edge_sums: Floats


@dataclass(frozen=True, slots=True)
class Detector:
    """The e-detector of one half-space.

    Attributes
    ----------
    lows, highs
        The range of the payoff of each group.
    bound
        The largest value that the mean payoffs may add up to while the claim holds.
    restarts
        The weights of the bets that start later.
    """

    lows: tuple[float, ...]
    highs: tuple[float, ...]
    bound: float
    restarts: RestartWeights

    def begin(self) -> DetectorState:
        """Nothing seen."""
        groups, bettors = len(self.lows), len(DISTANCES)
        middle = 0.5 * (np.asarray(self.lows) + np.asarray(self.highs))
        spread = np.asarray(self.highs) - middle
        prior = np.stack([np.full(groups, 2.0), 2.0 * middle, 2.0 * (middle**2 + spread**2)], axis=-1)
        return DetectorState(
            draws=0,
            used=0,
            blocks=0,
            restarted_until=0,
            begun=0,
            missing=-1,
            arrivals=(np.ones(groups), np.zeros(groups)),
            moments=prior,
            fresh=np.zeros((groups, 3)),
            stake_moments=prior,
            weights=np.ones(groups),
            stakes_until=0,
            always=np.zeros(2 * bettors),
            peaks=(0.0, 0.0),
            log_restarts=np.full(bettors, -np.inf),
            waiting=(np.zeros(0, dtype=np.int64), np.zeros(0)),
            sums=np.zeros((groups, 2)),
            edges=np.zeros(1, dtype=np.int64),
            edge_wealth=np.zeros((1, 2 * bettors)),
            edge_sums=np.zeros((1, groups, 2)),
        )

    def observe(
        self, state: DetectorState, groups: Integers, payoffs: Floats, enough: float = np.inf
    ) -> tuple[DetectorState, tuple[DetectorState, int, tuple[float, float]] | None]:
        """Bet on draws, given the group (-1 for none) and the payoff of each.

        Returns the new state and, if the log wealth reached ``enough``, the arguments for :meth:`crossing` at the first
        such block: a state that remembers that time best, the number of draws of the stream by then, and the log wealth
        one block earlier and at that time. The result does not depend on how a stream is cut into calls.
        """
        within = np.flatnonzero(groups >= 0)
        waited = len(state.waiting[0])  # these are weighed again, as before, and were counted among the arrivals
        label = np.concatenate([state.waiting[0], groups[within]])
        value = np.concatenate([state.waiting[1], payoffs[within]])
        position = np.concatenate([np.full(waited, state.begun), state.draws + within + 1])
        labels, positions = (label.tolist(), position.tolist()) if len(self.lows) > 1 else ([], [])
        state = replace(state, draws=state.draws + len(groups))
        alert: tuple[DetectorState, int, tuple[float, float]] | None = None
        done = 0
        while done < len(label):
            if state.blocks >= state.stakes_until:
                state = self._set_stakes(state)
            blocks = _weighed(labels, positions, done, state) if labels else _single(position, done, state)
            came = np.bincount(label[max(done, waited) : blocks.seen], minlength=len(self.lows))
            rows, done = blocks.rows, blocks.seen
            full = blocks.stops[-1] if len(blocks.stops) else 0
            earlier = state
            state = replace(
                state,
                begun=blocks.begun,
                missing=blocks.missing,
                arrivals=(state.arrivals[0], state.arrivals[1] + came),
                waiting=(label[rows[full:]], value[rows[full:]]),
            )
            if full:
                state, heights = self._bet(state, label[rows[:full]], value[rows[:full]], blocks)
                if alert is None and heights.max() >= enough:
                    first = int(np.argmax(heights >= enough))
                    before = float(heights[first - 1]) if first else self.height(earlier)
                    alert = state, int(blocks.ends[first]), (before, float(heights[first]))
        return state, alert

    def restarted(self, state: DetectorState) -> DetectorState:
        """The same without the bets so far: new ones start from the next block on, for the draws from now on."""
        until = max(state.restarted_until, state.draws + len(self.lows) - 1)
        return replace(state, log_restarts=self.begin().log_restarts, restarted_until=until)

    def _set_stakes(self, state: DetectorState) -> DetectorState:
        """Base the stakes on everything seen so far; this is done more rarely as draws accumulate."""
        moments = state.moments * 0.5 ** (state.fresh[:, :1] / MEMORY) + state.fresh
        before, came = state.arrivals
        arrivals = before * 0.5 ** (came.sum() / MEMORY) + came
        share = np.maximum(arrivals, arrivals.max() / MOST_SCARCE)
        until = state.blocks + min(max(8, state.blocks // 8), 1024)
        remembered = _thinned(state.edges, state.used)
        return replace(
            state,
            arrivals=(arrivals, np.zeros_like(came)),
            moments=moments,
            fresh=np.zeros_like(moments),
            stake_moments=moments,
            weights=share.sum() / share,
            stakes_until=until,
            edges=state.edges[remembered],
            edge_wealth=state.edge_wealth[remembered],
            edge_sums=state.edge_sums[remembered],
        )

    def _bet(
        self, state: DetectorState, label: Integers, value: Floats, finished: _Blocks
    ) -> tuple[DetectorState, Floats]:
        """Bet on finished blocks with the stakes that are set."""
        groups, blocks, ends = len(self.lows), len(finished.ends), finished.ends
        cell = np.repeat(np.arange(blocks), np.diff(finished.stops, prepend=0)) * groups + label
        counts = np.bincount(cell, minlength=blocks * groups).reshape(blocks, groups)
        gains = self._gains(state, label, value, finished)
        # Every sum below is accumulated term by term, so that its rounding does not depend on how a stream is cut.
        always = _carried(state.always, gains)
        against, in_favour = always[:, : len(DISTANCES)], always[:, len(DISTANCES) :]
        # A block cannot end before each group had a draw in it. Its weight is that of the draws up to then.
        until = np.maximum.accumulate(np.append(state.restarted_until, finished.starts + groups - 1))
        weights = self.restarts.between(until[:-1], until[1:])
        restarts = _log_restarts(state.log_restarts, against - gains[:, : len(DISTANCES)], weights)
        totals = np.bincount(cell, weights=value, minlength=blocks * groups).reshape(blocks, groups)
        informed = np.stack([counts.astype(float), totals], axis=-1)
        sums = _carried(state.sums, informed)
        squares = np.bincount(
            np.append(np.arange(groups), label), weights=np.append(state.fresh[:, 2], value**2), minlength=groups
        )
        fresh = np.concatenate([_carried(state.fresh[:, :2], informed)[-1], squares[:, None]], axis=-1)
        after = replace(
            state,
            used=int(ends[-1]),
            blocks=state.blocks + blocks,
            restarted_until=int(until[-1]),
            fresh=fresh,
            always=always[-1],
            peaks=(
                max(state.peaks[0], float(_pooled(against, ALWAYS_SHARES).max())),
                max(state.peaks[1], float(_pooled(in_favour, ALWAYS_SHARES).max())),
            ),
            log_restarts=restarts[-1],
            sums=sums[-1],
            edges=np.append(state.edges, ends),
            edge_wealth=np.concatenate([state.edge_wealth, always]),
            edge_sums=np.concatenate([state.edge_sums, sums]),
        )
        return after, _pooled(restarts + against, ALERT_SHARES)

    def _gains(self, state: DetectorState, label: Integers, value: Floats, blocks: _Blocks) -> Floats:
        """The log factor of each block for each bettor: those against the claim, then those against its opposite."""
        middles, against, in_favour = self._stakes(state)
        stakes = np.concatenate([against, -in_favour])
        pull = blocks.weights[: len(label)] * (value - middles[label])
        logs = np.log1p(pull[:, None] * stakes)
        if len(self.lows) == 1:
            return np.asarray(logs)
        gains = np.add.reduceat(logs, np.append(0, blocks.stops[:-1]), axis=0)
        for number, excess in blocks.excess.items():
            up, down = np.asarray(self.highs) - middles, middles - np.asarray(self.lows)
            gains[number] -= np.concatenate([against * (excess * up).sum(), in_favour * (excess * down).sum()])
        return np.asarray(gains)

    def _stakes(self, state: DetectorState) -> tuple[Floats, Floats, Floats]:
        """The point of the boundary to bet from, and the stakes against the claim and against its opposite."""
        moments, weights = state.stake_moments, state.weights
        mean = moments[:, 1] / moments[:, 0]
        variance = np.maximum(moments[:, 2] / moments[:, 0] - mean**2, 1e-12 * (1.0 + mean**2))
        middles = self._on_the_boundary(mean, variance * weights)
        scale = 1.0 / np.sqrt((self._spread_at(middles, variance) * weights).sum())
        max_weight = weights
        if len(weights) > 1:
            max_weight = np.maximum(np.minimum(MOST_WEIGHT * weights, MOST_LEAD * weights.max()), weights)
        down = float(((middles - np.asarray(self.lows)) * max_weight).max())
        up = float(((np.asarray(self.highs) - middles) * max_weight).max())
        against, in_favour = (np.minimum(scale * DISTANCES, SAFETY / max(each, 1e-300)) for each in (down, up))
        return middles, against, in_favour

    def _on_the_boundary(self, mean: Floats, give: Floats) -> Floats:
        """The means that add up to the bound and are nearest to the estimate, within their ranges."""
        low, high = np.asarray(self.lows), np.asarray(self.highs)
        if len(low) == 1:
            return np.full(1, self.bound)
        middles = mean + (self.bound - mean.sum()) * give / give.sum()
        for _ in range(len(low)):  # what does not fit into one group's range goes to the others
            middles = np.clip(middles, low, high)
            missing = self.bound - middles.sum()
            room = high - middles if missing > 0 else middles - low
            middles = middles + missing * room / max(room.sum(), 1e-300)
        return np.asarray(middles)

    def _spread_at(self, middles: Floats, variance: Floats) -> Floats:
        """The estimated variance of each payoff, kept between a twentieth of and the largest that its mean allows."""
        low, high = np.asarray(self.lows), np.asarray(self.highs)
        largest = (middles - low) * (high - middles)
        spread = np.minimum(largest, np.maximum(variance, 0.05 * largest))
        return np.asarray(np.maximum(spread, 1e-12 * (high - low) ** 2))

    def height(self, state: DetectorState) -> float:
        """The log wealth of the e-detector; minus infinity before the first bet."""
        return float(_pooled(state.log_restarts + state.always[: len(DISTANCES)], ALERT_SHARES))

    def crossing(self, state: DetectorState, draws: int, heights: tuple[float, float]) -> Crossing:
        """The details of an alert that :meth:`observe` gave."""
        earlier = state.edges <= draws
        end = int(np.flatnonzero(earlier)[-1])
        won = state.edge_wealth[end] - state.edge_wealth[earlier]
        against = _pooled(won[:, : len(DISTANCES)], ALERT_SHARES)
        opposite = _highest_since(state.edge_wealth[earlier][:, len(DISTANCES) :])
        since = state.edge_sums[end] - state.edge_sums[int(np.argmax(against))]
        return Crossing(draws, heights, state.edges[earlier], against, opposite, since)


def _highest_since(wealth: Floats) -> Floats:
    """For each moment, the highest log wealth that the bets that started there ever had together."""
    highest = [_pooled(wealth[start:] - wealth[start], ALERT_SHARES).max() for start in range(len(wealth))]
    return np.asarray(highest)


def _pooled(logs: Floats, shares: Floats) -> Floats:
    """The log wealth of all bettors together, in the last axis."""
    highest = logs.max(axis=-1, keepdims=True)
    safe = np.where(np.isfinite(highest), highest, 0.0)
    with np.errstate(divide="ignore"):
        # Not with @, which may sum a row in a different order when there are more rows.
        return np.asarray(safe[..., 0] + np.log((np.exp(logs - safe) * shares).sum(axis=-1)))


def _carried(before: Floats, terms: Floats) -> Floats:
    """The running sums of terms, starting from an earlier sum."""
    return np.asarray(np.cumsum(np.concatenate([before[None], terms]), axis=0)[1:])


def _log_restarts(before: Floats, wealth: Floats, weights: Floats) -> Floats:
    """The log of the restart weights so far, each divided by the wealth of the bet from the first draw at that time."""
    with np.errstate(divide="ignore"):
        new = np.log(weights)[:, None] - wealth
    return np.asarray(np.logaddexp.accumulate(np.concatenate([before[None], new]), axis=0)[1:])


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Draws that were weighed: which are bet on, where blocks end, and how things stand after the last of them.

    Attributes
    ----------
    rows, weights
        The draws that are bet on, and the weight of each; those after the last block that ended belong to the present
        one.
    stops, starts, ends
        For each block that ended, how many of these came by its end; and at which draws of the stream it began and
        ended.
    excess
        For blocks that were closed at a price, by how much the weights of each group exceed the least.
    seen
        How many draws are done then.
    begun, missing
        As in the state.
    """

    rows: Integers
    weights: Floats
    stops: Integers
    starts: Integers
    ends: Integers
    excess: dict[int, Floats]
    seen: int
    begun: int
    missing: int


def _single(place: Integers, done: int, state: DetectorState) -> _Blocks:
    """The same as :func:`_weighed` for one group: every draw is a block."""
    used = np.arange(done, min(done + state.stakes_until - state.blocks, len(place)))
    ends = place[used]
    return _Blocks(used, np.ones(len(used)), used - done + 1, ends, ends, {}, done + len(used), 0, -1)


def _weighed(label: list[int], place: list[int], done: int, state: DetectorState) -> _Blocks:
    """Weigh the draws after those that are done, until the stakes are due again. Outcomes are not looked at."""
    max_blocks = state.stakes_until - state.blocks
    usual: list[float] = state.weights.tolist()
    least_weight, most_weight = ([part * each for each in usual] for part in (LEAST_WEIGHT, MOST_WEIGHT))
    groups, lead, longest = len(usual), MOST_LEAD * max(usual), LONGEST_BLOCK
    begun, missing = 0, state.missing  # the present block is weighed again from its first draw
    totals, top = [0.0] * groups, 0.0
    rows: list[int] = []
    weights: list[float] = []
    stops: list[tuple[int, int, int]] = []
    excess: dict[int, Floats] = {}
    stop = len(label)
    for index in range(done, len(label)):
        group, at = label[index], place[index]
        if begun and at - begun > longest:
            least = min(totals)
            excess[len(stops)] = np.asarray(totals) - least
            stops.append((len(rows), begun, at))
            begun, missing, totals, top = 0, totals.index(least), [0.0] * groups, 0.0
            if len(stops) == max_blocks:
                stop = index
                break
        if not begun:
            if missing not in (-1, group):
                continue
            begun, missing = at, -1
        mine = totals[group]
        gap = top - mine
        if gap >= least_weight[group]:
            new = top if gap <= most_weight[group] else mine + most_weight[group]
        elif mine + usual[group] - min(totals) <= lead and (not top or totals.count(top) == 1):
            new = mine + usual[group]
        elif gap:
            new = top
        else:
            continue
        totals[group] = new
        rows.append(index)
        weights.append(new - mine)
        if new > top:
            top = new
        elif new == top == min(totals):
            stops.append((len(rows), begun, at))
            begun, totals, top = 0, [0.0] * groups, 0.0
            if len(stops) == max_blocks:
                stop = index + 1
                break
    table = np.asarray(stops, dtype=np.int64).reshape(-1, 3)
    used = np.asarray(rows, dtype=np.int64)
    stops_at, starts, ends = table.T
    return _Blocks(used, np.asarray(weights), stops_at, starts, ends, excess, stop, begun, missing)


def _thinned(edges: Integers, now: int) -> NDArray[np.bool_]:
    """Which of the remembered moments to keep: some for each octave of their age."""
    octave = np.floor(np.log2(now - edges + 1)).astype(np.int64)
    cell = edges // np.maximum(2**octave // EDGES_AN_OCTAVE, 1)
    return np.append(True, (cell[1:] != cell[:-1]) | (octave[1:] != octave[:-1]))
