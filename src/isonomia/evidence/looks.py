"""Deciding a claim at looks that were planned beforehand: one, or a few.

Each compared quantity gets an interval from the limits of :mod:`isonomia.evidence.one_look`, and the claim is judged by
the side of its threshold on which each interval lies. So answer and intervals cannot disagree. How
the risk is spread over the ends of the intervals follows from what would be a mistake:

- *all of k parts* is proved part by part, each at the full risk: if it is false, some fixed part is false. It is
  refuted by any of its parts, so for that each gets a k-th of the risk;
- *one of k parts* is the other way round, and *not* swaps the two;
- the largest of k quantities is above a value if one of them is, and below it if all are.

Several looks spend the risk as :class:`LookPlan` says, most of it at the last. Guarantee: the probability that the
answer of any of the looks is wrong is at most ``delta``, if the draws are independent, the numbers of draws at the
looks do not depend on what was drawn, and no one looks in between.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from isonomia.evidence.exact import every_truth, opposite, some_truth
from isonomia.evidence.look_parts import (
    Ends,
    Floats,
    LookDraws,
    MeansPart,
    NoLookError,
    PairedPart,
    Part,
    Ranges,
    part_of,
    parts_in,
)
from isonomia.evidence.normal_form import compared
from isonomia.evidence.protocol import Channel, Tallies, leaf_channel
from isonomia.spec import tree

__all__ = ["LookEvidence", "LookFindings", "LookPlan", "LookState", "NoLookError", "looks_for", "planned_report"]


LAST = 0.91
"""The part of the risk that the last of several looks has, where looks share it by Bonferroni's inequality: its
intervals are then at most 1.03 times as wide as those of a single look for risks up to 0.05, and 1.045 times at 0.1. Of
the rest, each look has as much as all before it together. Any parts that add up to 1 are valid."""


@dataclass(frozen=True, slots=True)
class LookPlan:
    """How many looks are planned, which of them are made here, and what each spends of the risk.

    Attributes
    ----------
    count
        How many looks are planned in all.
    made
        How many looks at the first of these draws earlier reports made; they are not made again.
    equal
        Whether each look has an equal part, since it is unknown which of them this is.
    """

    count: int = 1
    made: int = 0
    equal: bool = False

    def share(self, number: int) -> float:
        """The part of the risk of one look; those of all looks add up to 1."""
        if self.equal or self.count == 1:
            return 1.0 / self.count
        return LAST if number == self.count else (1.0 - LAST) * 2.0 ** (max(number, 2) - self.count)

    def spent(self, number: int) -> float:
        """The part of the risk that a single rate, whose boundaries are exact, may have spent up to a look.

        The power leaves the last look at most 1.03 times as wide as a single one.
        """
        return float((number / self.count) ** (4.5 if self.count <= 5 else 6.0))


def planned_report(looks: str | int) -> tuple[int, tuple[int, ...]] | None:
    """For ``"3 of 5 after 2000, 4000"`` the 5, and the rows of the earlier reports; ``None`` for other looks."""
    result = re.fullmatch(r"(\d+) of (\d+)(?: after (\d+(?:, ?\d+)*))?", str(looks))
    if result is None:
        return None
    sizes = tuple(int(size) for size in (result[3] or "").split(",") if size)
    right = len(sizes) == int(result[1]) - 1 < int(result[2]) and list(sizes) == sorted({*sizes} - {0})
    return (int(result[2]), sizes) if right else None


@dataclass(frozen=True, slots=True)
class LookFindings:
    """What a look found.

    Attributes
    ----------
    answer
        Whether the claim holds; ``None`` where the intervals leave it open.
    compared
        The interval of each compared quantity, in the order of the claim.
    leaves
        The interval of each leaf; each limit is wrong with probability at most the risk of the look.
    """

    answer: bool | None
    compared: tuple[Ends, ...]
    leaves: Mapping[tree.Leaf, Ends]


@dataclass(frozen=True, slots=True)
class LookState:
    """The draws so far, batch by batch for each channel, and what a look at exactly these draws found.

    ``findings`` is ``None`` between looks.
    """

    batches: int = 0
    tallies: Mapping[Channel, tuple[Floats, ...]] = field(default_factory=dict)
    findings: LookFindings | None = None


@dataclass(frozen=True)
class LookEvidence:
    """Looks after certain batches and at no other time, each with its part of the risk.

    Attributes
    ----------
    formula, parts
        The claim, and the structure of each quantity that it compares.
    ranges, streams
        The range of each leaf, and the conditions of the population's streams.
    delta
        The risk.
    after
        After how many batches it looks, in order. The last look ends the check.
    plan
        Which looks these are, and what they spend.
    """

    formula: tree.Formula
    parts: Mapping[tree.Quantity, Part]
    ranges: Ranges
    streams: tuple[tree.Row | None, ...]
    delta: float
    after: tuple[int, ...]
    plan: LookPlan = LookPlan()

    @property
    def method(self) -> str:
        """One look, or several that were planned."""
        return "one look" if self.plan.count == 1 else "planned looks"

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        """One for each leaf, and for each sum of leaves on the same rows."""
        ranges = self._all_ranges
        leaves = (*tree.leaves_of(self.formula), *self.joint)
        crossed = [part.crossed for part in parts_in(self.parts.values()) if isinstance(part, MeansPart)]
        alone = (leaf_channel(leaf, self.streams, ranges) for leaf in leaves)
        return tuple(dict.fromkeys((*alone, *(channel for channel in crossed if channel is not None))))

    @property
    def _all_ranges(self) -> Ranges:
        """Also those of means that stand for several leaves."""
        ranges = dict(self.ranges)
        for leaf in self.joint:
            if leaf.low is not None and leaf.high is not None:
                ranges[leaf] = leaf.low, leaf.high
        return ranges

    @cached_property
    def joint(self) -> tuple[tree.Mean, ...]:
        """The means that stand for several leaves on the same rows."""
        parts, leaves = list(parts_in(self.parts.values())), tree.leaves_of(self.formula)
        means = [leaf for part in parts if isinstance(part, MeansPart) for leaf in part.leaves]
        means += [part.leaf for part in parts if isinstance(part, PairedPart)]
        return tuple(leaf for leaf in dict.fromkeys(means) if isinstance(leaf, tree.Mean) and leaf not in leaves)

    @property
    def bets(self) -> bool:
        """Whether it bets on means, batch by batch."""
        return any(isinstance(part, MeansPart) for part in parts_in(self.parts.values()))

    @property
    def together(self) -> bool:
        """Whether several leaves are bet on, or counted, together: guesses of each say too little for a plan."""
        several = (isinstance(part, MeansPart) and len(part.leaves) > 1 for part in parts_in(self.parts.values()))
        return bool(self.joint) or any(several)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Nothing beyond what the verdict says about its looks."""
        return ()

    @cached_property
    def apart(self) -> tuple[tuple[int, tuple[tree.Row | None, ...]], ...]:
        """Sets of groups, each with its stream, that no one may be in two of: then the counts are independent."""
        result: dict[tuple[int, tuple[tree.Row | None, ...]], None] = {}
        for part in parts_in(self.parts.values()):
            if isinstance(part, PairedPart) or (isinstance(part, MeansPart) and part.crossed):
                continue
            channels = [leaf_channel(leaf, self.streams, self._all_ranges) for leaf in part.leaves]
            for stream in {channel.stream for channel in channels}:
                groups = tuple(channel.given for channel in channels if channel.stream == stream)
                if len(groups) > 1:
                    result[stream, groups] = None
        return tuple(result)

    def begin(self) -> LookState:
        """Nothing seen."""
        return LookState(0, dict.fromkeys(self.channels, ()))

    def step(self, state: LookState, tallies: Tallies) -> LookState:
        """Add a batch, and look if a look is planned now."""
        batches = state.batches + 1
        draws = {channel: (*earlier, tallies[channel]) for channel, earlier in state.tallies.items()}
        state = LookState(batches, draws)
        return replace(state, findings=self._look(state)) if batches in self.after[self.plan.made :] else state

    def decision(self, state: LookState) -> bool | None:
        """What the look at these draws says; nothing between looks."""
        return None if state.findings is None else state.findings.answer

    def progress(self, state: LookState) -> float:
        """The share of the batches drawn so far; what they contain is not looked at."""
        return min(state.batches / self.after[-1], 1.0)

    def _look(self, state: LookState) -> LookFindings | None:
        """What a look finds; ``None`` where it decides nothing and more looks follow."""
        risk, table = self._at(state)
        if (
            state.batches != self.after[-1]
            and self._judged(self.formula, risk, risk, replace(table, quick=True))[0] is None
        ):
            return None
        answer, intervals = self._judged(self.formula, risk, risk, table)
        leaves = {leaf: table.leaf_ends(leaf, risk) for leaf in tree.leaves_of(self.formula)}
        return LookFindings(answer, tuple(intervals), leaves)

    def _at(self, state: LookState) -> tuple[float, LookDraws]:
        """The risk of the look that comes next or now, and the draws."""
        index = min(bisect_left(self.after, state.batches), len(self.after) - 1)
        plan, share = self.plan, self.plan.share(index + 1)
        ends = () if plan.equal or plan.count == 1 else self.after[: index + 1]
        spent = tuple(plan.spent(look + 1) / share for look in range(len(ends)))
        draws = LookDraws.of(state.tallies, self.ranges)
        return self.delta * share, replace(draws, ends=ends, spent=spent, planned=plan.count)

    def _judged(
        self, formula: tree.Formula, true: float, false: float, table: LookDraws
    ) -> tuple[bool | None, list[Ends]]:
        """Whether a formula holds, given the risk of each answer, and the intervals of what it compares."""
        match formula:
            case tree.Comparison():
                links = list(compared(formula))
                pairs = [self._compared(*link, true, false / len(links), table) for link in links]
                return every_truth([answer for answer, _ in pairs]), [ends for _, ends in pairs]
            case tree.Not(operand=operand):
                answer, ends = self._judged(operand, false, true, table)
                return opposite(answer), ends
            case tree.Junction(connective=connective, operands=operands):
                alone, shared = (true, false / len(operands)), (true / len(operands), false)
                risks = alone if connective == "and" else shared
                result = [self._judged(operand, *risks, table) for operand in operands]
                join = every_truth if connective == "and" else some_truth
                return join([answer for answer, _ in result]), [end for _, ends in result for end in ends]
            case tree.Implies(premise=premise, conclusion=conclusion):
                before, premises = self._judged(premise, false, true / 2.0, table)
                after, conclusions = self._judged(conclusion, true / 2.0, false, table)
                return some_truth([opposite(before), after]), premises + conclusions
            case tree.Each():
                raise TypeError("a quantifier is expanded before a claim is judged")

    def _compared(
        self, quantity: tree.Quantity, relation: str, threshold: float, true: float, false: float, table: LookDraws
    ) -> tuple[bool | None, Ends]:
        part = self.parts[quantity]
        if not all(table.batches[leaf].any() for leaf in tree.leaves_of(quantity)):
            # Nothing is decided about a group without draws, although the quantity still has limits.
            return None, (table.low(part, true, threshold), table.high(part, true, threshold))
        upward = relation in {">", ">="}
        low = table.low(part, true if upward else false, threshold)
        high = table.high(part, false if upward else true, threshold)
        answer = True if _above(low, relation, threshold) else False if _below(high, relation, threshold) else None
        return (answer if upward else opposite(answer)), (low, high)

    def proves(
        self, part: Part, above: bool, threshold: float, risk: float, batches: Mapping[tree.Leaf | Channel, Floats]
    ) -> bool:
        """Whether draws prove, at this risk, that one quantity lies above a threshold, or below it."""
        channels: dict[tree.Leaf | Channel, Channel] = {channel.leaves[0]: channel for channel in self.channels}
        table = LookDraws(batches, self.ranges, channels, quick=True)
        return table.low(part, risk, threshold) > threshold if above else table.high(part, risk, threshold) < threshold

    def by_comparison(
        self, state: LookState, comparisons: Sequence[tree.Comparison], whole: bool | None
    ) -> list[tuple[bool | None, Ends]]:
        """For a claim that is a conjunction of these comparisons: whether each of them holds, and its interval.

        Guarantee: the probability that any is wrongly said to be violated is at most ``delta``, over all looks; to
        hold, at most ``delta`` at a single look whose comparisons share no group, else ``2 * delta``. Proof: Holm's
        procedure over exact tests, whose levels are nested: with a fixed order of tables, a test rejects at a larger
        level whatever it rejects at a smaller one. Where the whole claim holds, all comparisons do, at the risk of that
        answer. The intervals hold for all of them at once, each end at its part of the risk.
        """
        risk, table = self._at(state)
        table = replace(table, ends=())  # Holm's levels differ from look to look, so that Bonferroni's parts are used
        links = [next(compared(comparison)) for comparison in comparisons]
        each = risk / len(links)
        intervals = []
        for quantity, _, threshold in links:
            part = self.parts[quantity]
            intervals.append((table.low(part, each, threshold), table.high(part, each, threshold)))
        if state.findings is None:
            return [(None, ends) for ends in intervals]
        if whole:
            return [(True, ends) for ends in intervals]
        holds = self._rejected(links, True, risk, table)
        violated = self._rejected(links, False, risk, table) if whole is False else set()
        answers = [None if (k in holds) == (k in violated) else k in holds for k in range(len(links))]
        return list(zip(answers, intervals, strict=True))

    def _rejected(
        self, links: Sequence[tuple[tree.Quantity, str, float]], answer: bool, risk: float, table: LookDraws
    ) -> set[int]:
        """Which comparisons are shown to hold, or to be violated, at one risk for all of them together (Holm 1979)."""
        quick = replace(table, quick=True, order=risk / len(links))
        known = [all(table.batches[leaf].any() for leaf in tree.leaves_of(quantity)) for quantity, _, _ in links]
        left, result = {k for k, seen in enumerate(known) if seen}, set[int]()
        while left:
            level = risk / (len(links) - len(result))
            more = {k for k in left if self._shown(*links[k], answer, level, quick)}
            if not more:
                break
            left, result = left - more, result | more
        return result

    def _shown(
        self, quantity: tree.Quantity, relation: str, threshold: float, answer: bool, risk: float, table: LookDraws
    ) -> bool:
        part = self.parts[quantity]
        if (relation in {">", ">="}) is answer:
            return _above(table.low(part, risk, threshold), relation, threshold)
        return _below(table.high(part, risk, threshold), relation, threshold)


def looks_for(
    formula: tree.Formula,
    ranges: Ranges,
    streams: Sequence[tree.Row | None],
    delta: float,
    after: Sequence[int],
    plan: LookPlan | None = None,
) -> LookEvidence:
    """Prepare planned looks at a claim.

    Parameters
    ----------
    formula, ranges, streams, delta
        The claim without quantifiers, the range of each leaf, the conditions of the population's streams, the risk.
    after, plan
        After how many batches it looks, and which looks these are: all that are planned, where nothing is said.

    Raises
    ------
    NoLookError
        Where a compared quantity has no limits for a fixed number of draws; the message says which and why.
    """
    parts = {quantity: part_of(quantity, ranges, streams) for quantity, _, _ in compared(formula)}
    plan = LookPlan(len(after)) if plan is None else plan
    return LookEvidence(formula, parts, ranges, tuple(streams), delta, tuple(after), plan)


# --------------------------------------------------------------------------------------------------- what is compared


def _above(low: float, relation: str, threshold: float) -> bool:
    return low > threshold or (low == threshold and relation in {">=", "<"})


def _below(high: float, relation: str, threshold: float) -> bool:
    return high < threshold or (high == threshold and relation in {"<=", ">"})
