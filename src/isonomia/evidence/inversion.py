"""Intervals by inverting bets: the values of a quantity that the verdict's own kind of bets have not refuted.

For every threshold ``c`` there are bets against ``quantity <= c`` and against ``quantity >= c``. The truth is one of
the thresholds. On either side, the bets against it ever win with probability at most ``delta``. So the interval of
thresholds that are not refuted reaches below the truth, and above it, each with probability at least ``1 - delta``, at
all times simultaneously and without dividing ``delta``. And a claim ``quantity >= c`` holds exactly when every value
below ``c`` is refuted: the verdict is the side of its threshold on which the interval lies.

The stakes on a batch depend only on the earlier batches. Once all batches are known, the bets on every batch against
every threshold are computed together. Apart from the noise of the first batches, the wealth against ``quantity <= c``
falls as ``c`` rises. So a coarse scan over all values finds where refutation ends, taking the hull of what is left, and
a second scan sharpens it; an end is always put at a refuted value.

The highest wealth so far decides. In the rare case that this would exclude the estimate, the current wealth decides
instead. It never refutes more, and people misread an interval that does not contain its own estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite, log

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.bet_evidence import PolytopeTest, polytope_test
from isonomia.evidence.bets import (
    EProcess,
    estimate_gains,
    gains,
    pooled,
    remaining,
    shares_of,
    steady_gains,
    weights_of,
)
from isonomia.evidence.hypotheses import hypothesis_of
from isonomia.evidence.normal_form import Polynomial, as_fraction, bounds_of, is_linear, scaled
from isonomia.evidence.protocol import Channel, Grid, Tallies, channels_for
from isonomia.evidence.slices import SlicedEProcess, begin_slices, step_slices
from isonomia.spec.tree import Comparison, Constant, Extreme, Leaf, Quantity, Relation, Row, nodes

Floats = NDArray[np.float64]
Paths = Callable[[Floats, bool], Floats]
"""Maps thresholds ``c`` to the log wealth after every batch against ``quantity <= c``, or, with ``True``, against
``quantity >= c``: shape ``(batches, thresholds)``."""

SCAN = np.asarray([-0.5, 0.0, 0.4, 0.7, 0.9, 1.1, 1.3, 1.6, 2.1, 3.0, 6.0, 20.0])
"""Where the first scan looks: distances from the estimate, as multiples of the distance at which a normal
approximation would be refuted. Which values are looked at changes width and cost only."""

COARSE_SCAN = np.asarray([0.0, 0.7, 1.1, 1.6, 3.0, 20.0])
"""The same where there are very many quantities. Changes width and cost only."""

SHARPEN = np.asarray([0.2, 0.1, 0.04, 0.01, -0.02, -0.06, -0.14])
"""Where the second scan looks, around the value at which the square root of the log wealth would suffice if it were
linear: as shares of the way from the last value that is not refuted to the next one, from outside inwards. An end is
always a refuted value, so it changes width and cost only."""

MAX_PIECES = 64
"""How many half-spaces the hypothesis of one threshold may have, each with its own bet on every batch; a quantity with
more gets its interval from the confidence region. Changes width and cost only."""

TOLERANCE = 1e-8
"""Nats per draw that the search for a stake may lose. Changes width and cost only."""

ROOM = 2**22
"""How many numbers are held at once, which limits the memory. Changes cost only."""

ENOUGH = 2.25
"""Slices bet until they have this many times the log wealth that refutes: the values at which more refute than needed
say where the end lies. Changes width and cost only."""

COARSE = 4
"""One in this many nodes of a long grid is kept: a coarser grid is as valid, and costs a little width."""


@dataclass(frozen=True)
class Inversion:
    """The bets against every value that a quantity might have.

    Attributes
    ----------
    quantity
        Linear in the leaves after clearing denominators, perhaps with ``abs``, ``min`` and ``max``.
    ranges, streams, sizes
        As for :func:`isonomia.evidence.bet_evidence.bets_for`.
    channels
        All channels that its bets need.
    affine
        How the half-space depends on the threshold, where there is only one; ``None`` elsewhere.
    """

    quantity: Quantity
    ranges: Mapping[Leaf, tuple[float, float]]
    streams: Sequence[Row | None]
    sizes: Mapping[Leaf, float] | None
    channels: tuple[Channel, ...]
    affine: AffineHalfSpace | None

    @property
    def sliced(self) -> bool:
        """Whether groups overlap, so that the bets are made slice by slice."""
        return any(channel.crossing for channel in self.channels)

    def interval(
        self,
        history: Sequence[Tallies],
        delta: float,
        near: tuple[float, float],
        limits: tuple[float, float] = (-inf, inf),
        *,
        rough: bool = False,
        scan: Floats = SCAN,
        paths: Paths | None = None,
    ) -> tuple[float, float]:
        """The values that are not refuted, each end at risk ``delta`` at all times simultaneously.

        Parameters
        ----------
        history
            The counts of every batch, in the order in which they came.
        delta
            The risk of each end by itself.
        near
            An estimate and its standard error, which only say where to look.
        limits
            The least and the largest value that the quantity can have.
        rough
            Whether one scan is enough, as it is while a check is still running.
        scan
            Where the first scan looks.
        paths
            The result of :meth:`paths` for this history, if it is already known.
        """
        if self.affine is not None:
            limits = max(limits[0], self.affine.limits[0]), min(limits[1], self.affine.limits[1])
        need = log(1.0 / delta)
        reach = near[1] * (2.0 * need) ** 0.5
        if self.sliced:
            return self._of_slices(history, need, near[0], reach * scan, limits, rough=rough)
        paths = self.paths(history) if paths is None else paths
        ends = []
        for above, limit in ((False, limits[0]), (True, limits[1])):
            at = near[0] + (reach if above else -reach) * scan
            end = _found(_end(at, limit, rough=rough), _evidence(paths, above, need))
            if (end > near[0]) != above:
                end = _found(_end(at, limit, rough=rough), _evidence(paths, above, need, now=True))
            ends.append(end)
        return min(ends), max(ends)

    def _of_slices(
        self,
        history: Sequence[Tallies],
        need: float,
        estimate: float,
        scan: Floats,
        limits: tuple[float, float],
        *,
        rough: bool,
    ) -> tuple[float, float]:
        """The same where groups overlap: both ends are searched together, and reach the estimate at least."""
        # Half as many values: each has many slices.
        searches = [
            _end(estimate + sign * scan[::2], limit, rough=rough, sharpen=SHARPEN[::2])
            for sign, limit in zip((-1, 1), limits, strict=True)
        ]
        ends, none = list(limits), np.zeros(0)
        wanted = [next(search, none) for search in searches]  # without values to look at, the end is the limit
        while any(map(len, wanted)):
            tests = [
                self.tests(float(at), above=above)
                for above, thresholds in zip((False, True), wanted, strict=True)
                for at in thresholds
            ]
            known = _least_of_slices(tests, self.channels[0], history, ENOUGH * need) / need
            parts = known[: len(wanted[0])], known[len(wanted[0]) :]
            for side, search in enumerate(searches):
                if len(wanted[side]):
                    try:
                        wanted[side] = search.send(parts[side])
                    except StopIteration as found:
                        ends[side], wanted[side] = found.value, none
        return min(ends[0], estimate), max(ends[1], estimate)

    def paths(self, history: Sequence[Tallies]) -> Paths:
        """The log wealth after every batch of the history, as a function of the thresholds.

        Where groups overlap there is one row only: the least peak of any slice at the end.
        """
        if self.affine is not None:
            affine, batches = self.affine, _Batches.of(self.affine.channels, self.affine.sizes, history)
            return lambda thresholds, above: batches.paths(*affine.at(thresholds, above=above))
        cache: dict[tuple[Channel, ...], _Batches] = {}

        def paths(thresholds: Floats, above: bool) -> Floats:
            result = [self.tests(float(threshold), above=above) for threshold in thresholds]
            if self.sliced:
                return _least_of_slices(result, self.channels[0], history, inf)[None]
            return _least(result, set(self.channels), history, cache)

        return paths

    def tests(self, threshold: float, *, above: bool) -> tuple[PolytopeTest, ...] | None:
        """The e-processes against the pieces of ``quantity <= threshold``, or, with ``above``, of ``>= threshold``.

        ``None`` where the hypothesis is not a union of polytopes or has too many half-spaces, or where a piece has no
        test or is sliced where others are not.
        """
        relation: Relation = ">=" if above else "<="
        claim = Comparison(self.quantity, ((relation, Constant(threshold)),))
        hypothesis = hypothesis_of(claim, self.ranges, positive=True)
        if hypothesis is None or sum(len(piece.half_spaces) for piece in hypothesis.polytopes) > MAX_PIECES:
            return None
        result = [polytope_test(piece, self.streams, self.ranges, 1.0, self.sizes) for piece in hypothesis.polytopes]
        tests = tuple(test for test in result if test is not None)
        kinds = {type(test.process) for test in tests}
        return tests if len(tests) == len(result) and len(kinds) < 2 else None


def inversion_for(
    quantity: Quantity,
    ranges: Mapping[Leaf, tuple[float, float]],
    streams: Sequence[Row | None],
    sizes: Mapping[Leaf, float] | None = None,
) -> Inversion | None:
    """Prepare the bets on every value of a quantity; ``None`` where that is not possible."""
    affine = _affine(quantity, ranges, streams, sizes)
    if affine is not None:
        return Inversion(quantity, ranges, streams, sizes, affine.channels, affine)
    bare = Inversion(quantity, ranges, streams, sizes, (), None)
    channels: dict[Channel, None] = {}
    for threshold in PROBES:
        for above in (False, True):
            tests = bare.tests(threshold, above=above)
            if tests is None:
                return None
            channels |= dict.fromkeys(channel for test in tests for channel in test.channels)
    if any(channel.crossing for channel in channels) and len(channels) > 1:
        return None
    return Inversion(quantity, ranges, streams, sizes, tuple(channels), None)


PROBES = (0.0873, -0.0731, 0.7193, 1.3719)
"""Thresholds at which no coefficient is likely to vanish; they show which channels a quantity's bets need.
A threshold that needs another channel counts as not refuted, so they change width only."""


def _evidence(paths: Paths, above: bool, need: float, *, now: bool = False) -> Callable[[Floats], Floats]:
    """How near thresholds are to being refuted (1 refutes), by the highest wealth so far or by the current wealth."""

    def evidence(thresholds: Floats) -> Floats:
        path = paths(thresholds, above)
        return np.asarray(np.maximum(path[-1] if now else path.max(axis=0), 0.0) / need)

    return evidence


def _end(at: Floats, limit: float, *, rough: bool, sharpen: Floats = SHARPEN) -> Generator[Floats, Floats, float]:
    """The end of the values not refuted: the refuted value next to them, or the limit.

    Yields values, and is sent how near they are to being refuted; 1 refutes.
    """
    at = at[at > limit] if at[-1] < at[0] else at[at < limit]
    if not len(at):
        return limit
    result = yield at
    left = np.flatnonzero(result < 1.0)
    if not len(left):
        return float(at[0])  # every value of the scan is refuted
    last = int(left[-1])
    if last + 1 == len(at):
        return limit
    inner, outer = float(at[last]), float(at[last + 1])
    if rough:
        return outer
    below, beyond = np.sqrt(result[last : last + 2])
    shares = (1.0 - below) / (beyond - below) + sharpen
    between = inner + (outer - inner) * shares[(shares > 0) & (shares < 1)]
    if not len(between):
        return outer
    left = np.flatnonzero((yield between) < 1.0)
    first = int(left[0]) if len(left) else len(between)
    return outer if first == 0 else float(between[first - 1])


def _found(search: Generator[Floats, Floats, float], evidence: Callable[[Floats], Floats]) -> float:
    """What a search finds by itself."""
    try:
        wanted = next(search)
        while True:
            wanted = search.send(evidence(wanted))
    except StopIteration as end:
        return float(end.value)


@dataclass(frozen=True)
class AffineHalfSpace:
    """``quantity <= c`` as one half-space whose payoffs and bound are affine in ``c``.

    Attributes
    ----------
    channels, sizes
        What informs it, and how many people each channel has.
    level, slope
        The payoffs at threshold 0, and how much each unit of the threshold subtracts: shape ``(channels, cells)``.
    level_bound, slope_bound
        The same of the bound.
    top, bottom
        The ranges of the numerator, and of the denominator, which is not negative.
    """

    channels: tuple[Channel, ...]
    sizes: Floats
    level: Floats
    slope: Floats
    level_bound: float
    slope_bound: float
    top: tuple[float, float]
    bottom: tuple[float, float]

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest value that the quantity can have; infinite where not known."""
        (least, most), (_, largest) = self.top, self.bottom
        return least / largest if least >= 0 < largest else -inf, most / largest if most <= 0 < largest else inf

    def at(self, thresholds: Floats, *, above: bool) -> tuple[Floats, Floats]:
        """Payoffs and bounds for some thresholds: shapes ``(thresholds, 1, channels, cells)``, ``(thresholds, 1)``."""
        sign = -1.0 if above else 1.0
        payoffs = sign * (self.level - thresholds[:, None, None] * self.slope)
        bounds = sign * (self.level_bound - thresholds * self.slope_bound)
        largest = np.abs(payoffs).max(axis=(1, 2))
        largest = np.where(largest > 0, largest, 1.0)
        return (payoffs / largest[:, None, None])[:, None], (bounds / largest)[:, None]


def _affine(
    quantity: Quantity,
    ranges: Mapping[Leaf, tuple[float, float]],
    streams: Sequence[Row | None],
    sizes: Mapping[Leaf, float] | None,
) -> AffineHalfSpace | None:
    """``N / D <= c`` is ``N - c D <= 0`` where ``D`` is positive; ``None`` where that is not one linear half-space."""
    if any(isinstance(node, Extreme) for node in nodes(quantity)):
        return None
    fraction = as_fraction(quantity)
    top, bottom = fraction.numerator, fraction.denominator
    if not (is_linear(top) and is_linear(bottom)):
        return None
    low, high = bounds_of(bottom, ranges)
    if low < 0 < high or not all(map(isfinite, (low, high, *bounds_of(top, ranges)))):
        return None
    if high <= 0:
        top, bottom = scaled(top, -1.0), scaled(bottom, -1.0)
    leaves = tuple(dict.fromkeys(leaf for monomial in (*top, *bottom) for leaf in monomial))
    channels = channels_for(leaves, streams, ranges)
    if not channels or any(channel.fold for channel in channels):
        return None
    level, level_at_lows = _payoffs(top, channels)
    slope, slope_at_lows = _payoffs(bottom, channels)
    people = [inf if sizes is None else sizes[channel.leaves[0]] for channel in channels]
    spans = bounds_of(top, ranges), bounds_of(bottom, ranges)
    return AffineHalfSpace(channels, np.asarray(people), level, slope, -level_at_lows, -slope_at_lows, *spans)


def _payoffs(polynomial: Polynomial, channels: tuple[Channel, ...]) -> tuple[Floats, float]:
    """What each cell adds to a linear polynomial's value at the low ends of all ranges; and that value."""
    grids = [_coarse(channel.grid) for channel in channels]
    payoffs, at_lows = np.zeros((len(channels), max(grid.size for grid in grids))), polynomial.get((), 0.0)
    for g, (channel, grid) in enumerate(zip(channels, grids, strict=True)):
        factors = np.asarray([polynomial.get((leaf,), 0.0) for leaf in channel.leaves])
        lows = np.asarray([axis[0] for axis in grid.nodes])
        payoffs[g, : grid.size] = (grid.values() - lows) @ factors
        at_lows += float(lows @ factors)
    return payoffs, at_lows


def _coarse(grid: Grid) -> Grid:
    """The same grid with fewer nodes, where it is a long grid of one number."""
    if len(grid.nodes) == 1 and len(grid.nodes[0]) > 8 * COARSE and (len(grid.nodes[0]) - 1) % COARSE == 0:
        return Grid((grid.nodes[0][::COARSE],))
    return grid


def _regrid(counts: Floats, grid: Grid, coarse: Grid) -> Floats:
    """Counts on the coarser grid: a node between two others counts for both, as a draw would."""
    if coarse.size == grid.size:
        return counts
    position = np.arange(grid.size) / COARSE
    below = np.minimum(position.astype(int), coarse.size - 2)
    weights = np.zeros((grid.size, coarse.size))
    weights[np.arange(grid.size), below] = 1.0 - (position - below)
    weights[np.arange(grid.size), below + 1] += position - below
    return counts @ weights


@dataclass(frozen=True)
class _Batches:
    """The counts of every batch, those before it (shapes ``(batches, ...)``), and the channels' priors and sizes."""

    counts: Floats
    before: Floats
    prior: Floats
    sizes: Floats

    @classmethod
    def of(
        cls, channels: tuple[Channel, ...], sizes: Floats, history: Sequence[Tallies], *, coarse: bool = True
    ) -> _Batches:
        """Gather the counts of some channels."""
        grids = [_coarse(channel.grid) if coarse else channel.grid for channel in channels]
        cells = max(grid.size for grid in grids)
        counts, prior = np.zeros((len(history), len(channels), cells)), np.zeros((len(channels), cells))
        for g, (channel, grid) in enumerate(zip(channels, grids, strict=True)):
            tallied = np.asarray([tallies[channel] for tallies in history]).reshape(len(history), channel.grid.size)
            counts[:, g, : grid.size] = _regrid(tallied, channel.grid, grid)
            prior[g, : grid.size] = grid.prior()
        return cls(counts, np.cumsum(counts, axis=0) - counts, prior, sizes)

    def paths(self, payoffs: Floats, bounds: Floats) -> Floats:
        """The log wealth of each e-process after each batch: ``(processes, ...)`` to ``(batches, processes)``."""
        size = max(1, int(ROOM / max(self.counts.size * payoffs.shape[1], 1)))
        parts = [self._paths(payoffs[k : k + size], bounds[k : k + size]) for k in range(0, len(payoffs), size)]
        return np.concatenate(parts, axis=1) if parts else np.zeros((len(self.counts), 0))

    def _paths(self, payoffs: Floats, bounds: Floats) -> Floats:
        if payoffs.shape[1] == 1 and payoffs.shape[-1] > 2 and not np.ptp(payoffs, axis=0).any():
            return self._alike(payoffs[:1], bounds)
        shape = len(self.counts), len(payoffs)
        batch, process = (index.ravel() for index in np.indices(shape))
        left, bound = remaining(payoffs[process], bounds[process], self.sizes, self.before[batch])
        gained = gains(left, bound, self._estimate[batch], self._seen[batch], self.counts[batch], TOLERANCE)
        return pooled(np.cumsum(gained.reshape(*shape, -1), axis=0), shares_of(payoffs.shape))

    def _alike(self, payoffs: Floats, bounds: Floats) -> Floats:
        """The same for half-spaces that differ only in their bounds, as those of a mean: most work is done only once.

        What a steady bettor gains is linear in the bound, and so is its sum over batches.
        """
        batches, processes = len(self.counts), len(bounds)
        key = payoffs.tobytes()
        if key not in self._steady:
            self._steady[key] = self._steady_lines(payoffs)
        left, none, start, slope = self._steady[key]
        steady = start[:, None] + slope[:, None] * bounds[:, :1]
        by_estimate = estimate_gains(
            np.repeat(left, processes, axis=0),
            (bounds[:, 0] + none).reshape(-1, 1),
            np.repeat(self._estimate, processes, axis=0),
            np.repeat(self._weights, processes, axis=0),
            np.repeat(self.counts, processes, axis=0),
            TOLERANCE,
        )
        summed = np.cumsum(by_estimate.reshape(batches, processes, 1), axis=0)
        return pooled(np.concatenate([steady, summed], axis=2), shares_of(payoffs.shape))

    def _steady_lines(self, payoffs: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Payoffs and bound in terms of the people left; the steady bettors' log wealth at bound 0, and its slope."""
        batches = len(self.counts)
        every = np.broadcast_to(payoffs, (batches, *payoffs.shape[1:]))
        left, none = remaining(every, np.zeros((batches, 1)), self.sizes, self.before)
        result = steady_gains(left, none + np.asarray([0.0, 1.0]), self._estimate, self._weights, self.counts)
        start, end = np.moveaxis(np.cumsum(result, axis=0), 1, 0)
        return left, none, start, end - start

    @cached_property
    def _steady(self) -> dict[bytes, tuple[Floats, Floats, Floats, Floats]]:
        return {}

    @cached_property
    def _weights(self) -> Floats:
        return weights_of(self._seen, self.counts)

    @cached_property
    def _estimate(self) -> Floats:
        estimate = self.before + self.prior
        return np.asarray(estimate / estimate.sum(axis=-1, keepdims=True))

    @cached_property
    def _seen(self) -> NDArray[np.bool_]:
        return np.asarray(self.before.any(axis=-1))


def _least_of_slices(
    candidates: Sequence[tuple[PolytopeTest, ...] | None], channel: Channel, history: Sequence[Tallies], needed: float
) -> Floats:
    """The least peak that any slice of a threshold's pieces has; slices stop betting at ``needed``."""
    least = np.full(len(candidates), inf)
    alike: dict[tuple[object, ...], list[tuple[int, SlicedEProcess]]] = {}
    for index, tests in enumerate(candidates):
        if tests is None or any(test.channels != (channel,) for test in tests):
            least[index] = 0.0
            continue
        for test in tests:
            if isinstance(test.process, SlicedEProcess):
                process = test.process
                alike.setdefault((process.slopes.shape, process.value.tobytes()), []).append((index, process))
    for members in alike.values():
        together = SlicedEProcess.stacked([process for _, process in members], needed)
        state = begin_slices(together)
        for tallies in history:
            state = step_slices(together, state, tallies[channel])
        peaks = np.minimum(state.peaks(len(members)), needed)
        np.minimum.at(least, [index for index, _ in members], peaks)
    return least


def _least(
    candidates: Sequence[tuple[PolytopeTest, ...] | None],
    known: set[Channel],
    history: Sequence[Tallies],
    cache: dict[tuple[Channel, ...], _Batches],
) -> Floats:
    """The least log wealth of each threshold's pieces, all of which must be refuted; 0 where there are no bets."""
    least = np.full((len(history), len(candidates)), inf)
    alike: dict[tuple[tuple[Channel, ...], int], list[tuple[int, EProcess]]] = {}
    for index, tests in enumerate(candidates):
        if tests is None or any(not known.issuperset(test.channels) for test in tests):
            least[:, index] = 0.0
            continue
        for test in tests:
            alike.setdefault((test.channels, len(test.unsliced.bounds)), []).append((index, test.unsliced))
    for (channels, _), members in alike.items():
        if not channels:
            values = np.zeros((len(history), len(members)))
        else:
            if channels not in cache:
                cache[channels] = _Batches.of(channels, members[0][1].sizes, history, coarse=False)
            payoffs = np.stack([process.payoffs for _, process in members])
            values = cache[channels].paths(payoffs, np.stack([process.bounds for _, process in members]))
        for (index, _), value in zip(members, values.T, strict=True):
            least[:, index] = np.minimum(least[:, index], value)
    return least
