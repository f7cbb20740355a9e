"""Deciding a claim by betting: one e-process against each polytope of its negation, and of the claim itself.

A :class:`PolytopeTest` is the e-process against one polytope, with the channels whose draws it bets on. The kind of
e-process depends on the polytope's groups: disjoint groups need nothing special, overlapping ones are sliced
(:mod:`isonomia.evidence.slices`) or kept apart by folds (:mod:`isonomia.evidence.protocol`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.bets import DividedWealth, EProcess, begin, paths, step
from isonomia.evidence.hypotheses import HalfSpace, Polytope, hypothesis_of
from isonomia.evidence.protocol import Channel, Tallies, channels_for, crossed_channel
from isonomia.evidence.slices import (
    FIRST_SLICES,
    MAX_SLICES,
    SLICES_TOGETHER,
    SlicedEProcess,
    SlicedWealth,
    begin_slices,
    step_slices,
)
from isonomia.spec.tree import Formula, Leaf, Row

Floats = NDArray[np.float64]
Ranges: TypeAlias = Mapping[Leaf, tuple[float, float]]
AnyWealth: TypeAlias = DividedWealth | SlicedWealth

MAX_SLICED = 64
"""How many polytopes a hypothesis may have and still be sliced: with more, a batch would take more than a second, so
draws are assigned to folds instead. Changes power and cost only."""

FEW = 3
"""Up to this many e-processes of one shape bet one after the other instead of stacked, unless each has one half-space
over yes/no leaves. Changes cost only."""


@dataclass(frozen=True, slots=True)
class PolytopeTest:
    """The e-process against one polytope, and its channels in the e-process's order."""

    channels: tuple[Channel, ...]
    process: EProcess | SlicedEProcess

    @property
    def unsliced(self) -> EProcess:
        """The e-process of disjoint groups or folds, the only kind that planning and allocation support."""
        if isinstance(self.process, SlicedEProcess):
            raise TypeError("a sliced e-process has no fixed payoffs")
        return self.process

    def begin(self) -> AnyWealth:
        """A wealth of 1, nothing seen."""
        return begin(self.process) if isinstance(self.process, EProcess) else begin_slices(self.process)

    def step(self, state: AnyWealth, tallies: Tallies) -> AnyWealth:
        """Bet on one batch."""
        if isinstance(self.process, SlicedEProcess) and isinstance(state, SlicedWealth):
            return step_slices(self.process, state, tallies[self.channels[0]])
        if isinstance(self.process, EProcess) and isinstance(state, DividedWealth):
            counts = np.zeros((1, *self.process.prior.shape))
            for g, channel in enumerate(self.channels):
                counts[0, g, : channel.grid.size] = tallies[channel]
            return step(self.process, state, counts)
        raise TypeError("a state belongs to the e-process that it came from")


@dataclass(frozen=True, slots=True)
class StackedTests:
    """E-processes of one shape, stacked as repetitions of one, which is quicker than stepping them one by one.

    ``places`` says which of the ``channels`` each e-process bets on: shape ``(e-processes, channels of each)``.
    """

    process: EProcess
    channels: tuple[Channel, ...]
    places: NDArray[np.intp]

    @classmethod
    def of(cls, tests: Sequence[PolytopeTest]) -> StackedTests:
        """Stack tests, none of which is sliced."""
        numbers: dict[Channel, int] = {}
        for test in tests:
            for channel in test.channels:
                numbers.setdefault(channel, len(numbers))
        # An e-process that never pays has one dummy channel, which is numbered last.
        unused = len(numbers)
        process = EProcess.stacked([test.unsliced for test in tests])
        places = np.full(process.prior.shape[:2], unused)
        for row, test in enumerate(tests):
            places[row, : len(test.channels)] = [numbers[channel] for channel in test.channels]
        return cls(process, tuple(numbers), places)

    def log_wealths(self, history: Sequence[Tallies]) -> Floats:
        """The log wealth of each e-process after every batch: shape ``(batches, e-processes)``."""
        return paths(self.process, self._counts(history)[:, self.places])

    def _counts(self, history: Sequence[Tallies]) -> Floats:
        """The counts of each channel in each batch; all zero for the dummy channel."""
        tallied = np.zeros((len(history), len(self.channels) + 1, self.process.prior.shape[-1]))
        for row, channel in enumerate(self.channels):
            tallied[:, row, : channel.grid.size] = [tallies[channel] for tallies in history]
        return tallied

    def step(self, states: Sequence[AnyWealth], tallies: Tallies) -> Sequence[DividedWealth]:
        """Bet on one batch in each e-process."""
        divided = [state for state in states if isinstance(state, DividedWealth)]
        before = DividedWealth.stacked(divided)
        after = step(self.process, before, self._counts([tallies])[0][self.places])
        return [after.rows(slice(row, row + 1)) for row in range(len(states))]


@dataclass(frozen=True)
class BetEvidence:
    """Bets against every polytope of the claim's negation, and against every polytope of the claim.

    Guarantee: the claim is true or false, and the truth lies in a polytope of the hypothesis that holds. The
    probability that this polytope is ever refuted is at most ``delta``. So the decision is ever wrong with probability
    at most ``delta``, without dividing ``delta`` over polytopes or over the two directions.
    """

    delta: float
    against: tuple[PolytopeTest, ...]
    in_favour: tuple[PolytopeTest, ...]
    covered: bool = False
    """Whether the polytopes cover the hypotheses, and are not equal to them."""

    @property
    def method(self) -> str:
        """Projection bets."""
        return "bets"

    @cached_property
    def tests(self) -> tuple[PolytopeTest, ...]:
        """The tests of the negation's polytopes, then those of the claim's, in the order of the states."""
        return (*self.against, *self.in_favour)

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Every channel of every test, each once."""
        return tuple(dict.fromkeys(channel for test in self.tests for channel in test.channels))

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was special about the bets: slices, folds, leaves that share a group, draws without replacement."""
        remarks = []
        if self.covered:
            remarks.append(
                "a square was bet on as the lines near it, so that 0.06% of the largest variance or less is lost"
            )
        if any(isinstance(test.process, SlicedEProcess) for test in self.tests):
            remarks.append(
                "the conditions overlap, so each draw was one bet on all of them together, made for each "
                "possible value of the rate they share"
            )
        folds = max((channel.fold.of for channel in self.channels if channel.fold), default=0)
        if folds:
            remarks.append(
                f"the conditions overlap, so each draw was assigned to one of {folds} random folds before it was seen "
                "and counted only for the groups of its fold"
            )
        if any(len(channel.leaves) > 1 and not channel.crossing for channel in self.channels):
            remarks.append("several leaves share a group, so each draw was one bet on all of them together")
        processes = [test.process for test in self.tests]
        if any(isinstance(process, EProcess) and bool(np.isfinite(process.sizes).any()) for process in processes):
            remarks.append("rows were drawn without replacement, and the bets are about the remaining rows")
        return tuple(remarks)

    def begin(self) -> tuple[AnyWealth, ...]:
        """A wealth of 1 in every test."""
        return tuple(test.begin() for test in self.tests)

    def step(self, state: tuple[AnyWealth, ...], tallies: Tallies) -> tuple[AnyWealth, ...]:
        """Bet on one batch in every test that has not refuted its polytope yet."""
        tests, new = self.tests, list(state)
        alike: dict[tuple[int, ...], list[int]] = {}
        for index, (test, wealth) in enumerate(zip(tests, state, strict=True)):
            if self._refuted(wealth):
                continue
            if isinstance(test.process, EProcess):
                alike.setdefault(test.process.payoffs.shape, []).append(index)
            else:
                new[index] = test.step(wealth, tallies)
        for (half_spaces, _, cells), members in alike.items():
            stepped: Sequence[AnyWealth]
            if len(members) > (1 if (half_spaces, cells) == (1, 2) else FEW):
                stepped = self._stacked(tuple(members)).step([new[k] for k in members], tallies)
            else:
                stepped = [tests[k].step(new[k], tallies) for k in members]
            for index, wealth in zip(members, stepped, strict=True):
                new[index] = wealth
        return tuple(new)

    def _stacked(self, members: tuple[int, ...]) -> StackedTests:
        """Some of the tests stacked; the set of tests that still bet rarely changes, so the last stack is cached."""
        if members not in self._stacks:
            self._stacks.clear()
            self._stacks[members] = StackedTests.of([self.tests[k] for k in members])
        return self._stacks[members]

    @cached_property
    def _stacks(self) -> dict[tuple[int, ...], StackedTests]:
        return {}

    def unsettled(self, state: tuple[AnyWealth, ...]) -> BetEvidence:
        """The tests of the negation that have not refuted their polytope yet, and those of the claim."""
        pairs = zip(self.against, state[: len(self.against)], strict=True)
        missing = tuple(test for test, wealth in pairs if not self._refuted(wealth))
        return replace(self, against=missing) if missing else self

    def decision(self, state: tuple[AnyWealth, ...]) -> bool | None:
        """``True`` once the whole negation is refuted, ``False`` once the whole claim is."""
        if all(self._refuted(wealth) for wealth in state[: len(self.against)]):
            return True
        if all(self._refuted(wealth) for wealth in state[len(self.against) :]):
            return False
        return None

    def progress(self, state: tuple[AnyWealth, ...]) -> float:
        """The lowest peak on the side that is further ahead, as a share of the log wealth that is needed."""
        peaks, against = [float(wealth.peak[0]) for wealth in state], len(self.against)
        shares = [min(side) / self._need if side else 1.0 for side in (peaks[:against], peaks[against:])]
        return min(max(*shares, 0.0), 1.0)

    @cached_property
    def _need(self) -> float:
        """The log wealth that refutes."""
        return float(np.log(1.0 / self.delta))

    def _refuted(self, wealth: AnyWealth) -> bool:
        return bool(wealth.peak[0] >= self._need)


def bets_for(
    formula: Formula,
    ranges: Ranges,
    streams: Sequence[Row | None],
    delta: float,
    sizes: Mapping[Leaf, float] | None = None,
    *,
    slices: bool = True,
    cover: bool = False,
) -> BetEvidence | None:
    """Prepare the bets on a claim; ``None`` where it is not a combination of linear comparisons.

    Parameters
    ----------
    formula
        The claim, without quantifiers.
    ranges
        The lowest and highest possible value of each leaf.
    streams
        The conditions of the population's streams.
    delta
        The risk.
    sizes
        For draws without replacement, how many people each leaf's group has. Then no two groups of one comparison may
        overlap; ``None`` is returned where they may.
    slices
        Whether overlapping groups may be sliced; with ``False`` every draw is assigned to a fold instead.
    cover
        Whether a comparison with the square of a leaf, of groups that do not overlap, may be covered by linear ones.
    """
    against = e_processes_for(formula, ranges, streams, delta, sizes, positive=False, slices=slices)
    in_favour = e_processes_for(formula, ranges, streams, delta, sizes, positive=True, slices=slices)
    if against is not None and in_favour is not None:
        against, in_favour = slices_shared_out([against, in_favour])
        return BetEvidence(delta, against, in_favour)
    if not cover:
        return None
    against = e_processes_for(formula, ranges, streams, delta, sizes, positive=False, slices=False, cover=True)
    in_favour = e_processes_for(formula, ranges, streams, delta, sizes, positive=True, slices=False, cover=True)
    if against is None or in_favour is None:
        return None
    covers = BetEvidence(delta, against, in_favour, covered=True)
    return None if any(channel.fold for channel in covers.channels) else covers


def e_processes_for(
    formula: Formula,
    ranges: Ranges,
    streams: Sequence[Row | None],
    delta: float,
    sizes: Mapping[Leaf, float] | None = None,
    *,
    positive: bool,
    slices: bool = True,
    cover: bool = False,
) -> tuple[PolytopeTest, ...] | None:
    """The e-processes against a claim, or with ``positive=False`` its negation; ``None`` as in :func:`bets_for`."""
    hypothesis = hypothesis_of(formula, ranges, positive=positive, cover=cover)
    if hypothesis is None:
        return None
    few = slices and len(hypothesis.polytopes) <= MAX_SLICED
    candidates = [polytope_test(polytope, streams, ranges, delta, sizes, few) for polytope in hypothesis.polytopes]
    possible = tuple(test for test in candidates if test is not None)
    return possible if len(possible) == len(candidates) else None


def slices_shared_out(sides: Sequence[tuple[PolytopeTest, ...]]) -> Iterator[tuple[PolytopeTest, ...]]:
    """The same tests, with the total number of slices shared out where many tests are sliced."""
    sliced = sum(isinstance(test.process, SlicedEProcess) for side in sides for test in side)
    max_slices = min(MAX_SLICES, max(SLICES_TOGETHER // max(sliced, 1), 2 * FIRST_SLICES))
    for side in sides:
        yield tuple(
            replace(test, process=replace(test.process, max_slices=max_slices))
            if isinstance(test.process, SlicedEProcess)
            else test
            for test in side
        )


def polytope_test(
    polytope: Polytope,
    streams: Sequence[Row | None],
    ranges: Ranges,
    delta: float,
    sizes: Mapping[Leaf, float] | None = None,
    slices: bool = True,
) -> PolytopeTest | None:
    """Set up the e-process against one polytope.

    ``None`` where one group has too many leaves, and for overlapping groups drawn without replacement: how many people
    are left is unknown for a fold's part of a group, nor for a slice.
    """
    channels = channels_for(polytope.leaves, streams, ranges)
    if channels is None:
        return None
    overlap = any(channel.fold for channel in channels)
    if overlap and sizes is not None:
        return None
    if overlap and slices:
        sliced = _sliced(polytope, streams, ranges, delta)
        if sliced is not None:
            return sliced
    return PolytopeTest(channels, _process(polytope, channels, sizes))


def _process(polytope: Polytope, channels: tuple[Channel, ...], sizes: Mapping[Leaf, float] | None) -> EProcess:
    if not channels:
        # Every value of the leaves lies in the polytope: a dummy channel that never pays keeps the shapes simple.
        return EProcess.of([[np.zeros(2)]], [0.0], [np.ones(2)])
    payoffs, bounds = [], []
    # Numbers are counted from the low end of their range: a large offset would swallow the differences bet on.
    lows = [np.asarray([nodes[0] for nodes in channel.grid.nodes]) for channel in channels]
    above = [channel.grid.values() - low for channel, low in zip(channels, lows, strict=True)]
    informed_by = {leaf: index for index, channel in enumerate(channels) for leaf in channel.leaves}
    nothing = np.zeros(0)
    for half_space in polytope.half_spaces:
        coefficients = dict(half_space.coefficients)
        pays, bound = [nothing] * len(channels), 0.0
        for index in sorted({informed_by[leaf] for leaf in coefficients}):
            factor = np.asarray([coefficients.get(leaf, 0.0) for leaf in channels[index].leaves])
            pays[index] = above[index] @ factor
            bound += float(lows[index] @ factor)
        payoffs.append(pays)
        bounds.append(half_space.bound - bound)
    people = None if sizes is None else [sizes[channel.leaves[0]] for channel in channels]
    return EProcess.of(payoffs, bounds, [channel.grid.prior() for channel in channels], people)


def _sliced(polytope: Polytope, streams: Sequence[Row | None], ranges: Ranges, delta: float) -> PolytopeTest | None:
    """The sliced e-process; ``None`` where no leaf can be sliced so that every half-space is left with one group."""
    leaf = _leaf_to_slice(polytope)
    channel = None if leaf is None else crossed_channel(polytope.leaves, streams, ranges)
    if leaf is None or channel is None:
        return None
    values = channel.grid.values()
    inside = {given: values[:, k] for k, given in enumerate(channel.crossing)}
    shown = {
        other: values[:, len(channel.crossing) + k] * inside.get(other.given, 1.0)  # type: ignore[arg-type]
        for k, other in enumerate(channel.leaves)
    }
    every_cell = np.ones(len(values))
    parts = [_part(half_space, leaf, shown, inside, every_cell) for half_space in polytope.half_spaces]
    process = SlicedEProcess(
        others=np.stack([others for others, _, _ in parts]),
        members=np.stack([members for _, members, _ in parts]),
        slopes=np.asarray([slope for _, _, slope in parts]),
        bounds=np.asarray([half_space.bound for half_space in polytope.half_spaces]),
        value=shown[leaf],
        present=inside.get(leaf.given, every_cell),  # type: ignore[arg-type]
        span=ranges[leaf],
        prior=channel.grid.prior(),
        needed=float(np.log(1.0 / delta)),
    )
    return PolytopeTest((channel,), process)


def _leaf_to_slice(polytope: Polytope) -> Leaf | None:
    """The leaf without which every half-space names at most one group; of several, the one in most half-spaces."""
    candidates = [
        leaf
        for leaf in polytope.leaves
        if all(
            len({other.given for other in half_space.leaves if other != leaf}) <= 1
            for half_space in polytope.half_spaces
        )
    ]
    return max(
        candidates, key=lambda leaf: sum(leaf in half_space.leaves for half_space in polytope.half_spaces), default=None
    )


def _part(
    half_space: HalfSpace, sliced: Leaf, shown: Mapping[Leaf, Floats], inside: Mapping[Row, Floats], every_cell: Floats
) -> tuple[Floats, Floats, float]:
    """What a half-space's other leaves add in each cell, their group's cells, and the sliced leaf's coefficient.

    A half-space about the sliced leaf alone is kept as a statement about that leaf's own group.
    """
    coefficients = dict(half_space.coefficients)
    slope = coefficients.pop(sliced, 0.0)
    if not coefficients:
        coefficients, slope = {sliced: slope}, 0.0
    given = next(iter(coefficients)).given
    others = sum((factor * shown[leaf] for leaf, factor in coefficients.items()), np.zeros(len(every_cell)))
    return others, every_cell if given is None else inside[given], slope
