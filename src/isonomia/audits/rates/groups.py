"""A claim for every group, answered group by group: which hold, which violate, which are open.

A claim such as ``for g in race: P[hired | race == g] >= 0.3`` is a conjunction of *comparisons*, one or more for each
group. Each comparison has two e-processes, one against its negation and one against itself. Closed testing, or e-BH,
turns all of them into answers, with one risk for the family: ``docs/theory/groups.md`` has the proofs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.bet_evidence import MAX_SLICED, PolytopeTest, StackedTests, e_processes_for, slices_shared_out
from isonomia.evidence.bets import EProcess
from isonomia.evidence.exact import exact_truth
from isonomia.evidence.multiple import closed_average, closed_e_bh, locked
from isonomia.evidence.protocol import Channel, Tallies
from isonomia.evidence.region import RegionEvidence, RegionState, region_for
from isonomia.evidence.verifair import VerifairEvidence, judge_formula
from isonomia.records.verdict import ANSWERS, Expression, GroupRecord
from isonomia.spec.analysis import conjuncts
from isonomia.spec.property import Binding, expand_parts
from isonomia.spec.text import name_text, to_text, value_text
from isonomia.spec.tree import (
    Arithmetic,
    Column,
    Comparison,
    Constant,
    Formula,
    Junction,
    Leaf,
    Mean,
    Quantity,
    Rate,
    Row,
    Value,
    leaves_of,
    links_of,
    rebuilt,
)

Floats = NDArray[np.float64]
Ranges: TypeAlias = Mapping[Leaf, tuple[float, float]]

# ------------------------------------------------------------------------------------------------------------- claims


@dataclass(frozen=True, slots=True)
class GroupClaim:
    """What is claimed of one group: the conjunction of some comparisons, each ``left relation right``."""

    group: str
    comparisons: tuple[Comparison, ...]


def groups_of(formula: Formula, values: Callable[[Column], tuple[Value, ...]]) -> tuple[GroupClaim, ...]:
    """The groups of a claim, in order; none where it is not a conjunction of comparisons over groups.

    A group's comparison with itself is left out where it is trivially true: it says nothing.
    """
    parts = [(bound, _comparisons(part)) for bound, part in expand_parts(formula, values)]
    if any(comparisons is None for _, comparisons in parts):
        return ()
    spoken = [(bound, tuple(c for c in listed or () if not _says_nothing(c))) for bound, listed in parts]
    groups = [(bound, listed) for bound, listed in spoken if listed]
    if not groups or (len(groups) == 1 and not groups[0][0]):
        return ()
    claims: dict[str, tuple[Comparison, ...]] = {}
    for label, (_, listed) in zip(_labels(groups), groups, strict=True):
        claims[label] = (*claims.get(label, ()), *listed)
    if not any(bound for bound, _ in groups) and ("" in claims or len(claims) < len(groups)):
        return ()  # an ordinary conjunction, whose parts do not differ in whom they are about
    return tuple(GroupClaim(label, listed) for label, listed in claims.items())


def conjunction(claims: Sequence[GroupClaim]) -> Formula:
    """The whole claim."""
    comparisons = tuple(comparison for claim in claims for comparison in claim.comparisons)
    return comparisons[0] if len(comparisons) == 1 else Junction("and", comparisons)


def _comparisons(formula: Formula) -> tuple[Comparison, ...] | None:
    """The two-sided comparisons whose conjunction a formula is; ``None`` where it is something else."""
    match formula:
        case Comparison():
            return tuple(Comparison(left, ((relation, right),)) for left, relation, right in links_of(formula))
        case Junction("and", operands):
            parts = [_comparisons(operand) for operand in operands]
            return None if None in parts else tuple(item for part in parts for item in part or ())
        case _:
            return None


def _says_nothing(comparison: Comparison) -> bool:
    """Whether it compares a group with itself, and is true whatever the rates are.

    ``x - x`` is 0 and ``x / x`` is 1. ``x >= c * x`` is linear in a rate ``x``, so it is true for all values of ``x``
    where it is true at both ends of its range.
    """
    left, ((relation, right),) = comparison.first, comparison.rest
    first, second = _cancelled(left), _cancelled(right)
    if (first, second) != (left, right) and not leaves_of(first) and not leaves_of(second):
        return exact_truth(Comparison(first, ((relation, second),)), {}) is True
    match left, right:
        case (Rate() as rate, Arithmetic("*", Constant(), same)) | (Arithmetic("*", Constant(), same), Rate() as rate):
            ends = (Fraction(0), Fraction(1))
            return rate == same and all(exact_truth(comparison, {rate: end}) is True for end in ends)
        case _:
            return False


def _cancelled(quantity: Quantity) -> Quantity:
    """The same quantity with 0 in place of ``x - x``, and 1 in place of ``x / x``."""
    match quantity:
        case Arithmetic("-", left, right) if left == right and leaves_of(left):
            return Constant(0.0)
        case Arithmetic("/", left, right) if left == right and leaves_of(left):
            return Constant(1.0)
        case Rate() | Mean():
            return quantity
        case _:
            return rebuilt(quantity, _cancelled)


def _labels(parts: Sequence[tuple[tuple[Binding, ...], tuple[Comparison, ...]]]) -> list[str]:
    """The label of each part: the values that a ``for`` gives it, or else the conditions of its rates."""
    by_condition = _by_condition([comparisons for _, comparisons in parts])
    return [_by_value(bound) if bound else by_condition[k] for k, (bound, _) in enumerate(parts)]


def _by_value(bound: Sequence[Binding]) -> str:
    """Such as ``sex == 'F', race == 'B'``, or ``race == 'B' against race == 'W'`` where a column occurs twice."""
    sides: list[dict[str, str]] = [{}]
    for item in bound:
        name = item.variable if item.column is None else name_text(item.column.name)
        if name in sides[-1]:
            sides.append({})
        sides[-1][name] = f"{name} == {value_text(item.value.value)}"
    return " against ".join(", ".join(side.values()) for side in sides)


def _by_condition(parts: Sequence[tuple[Comparison, ...]]) -> list[str]:
    """The conditions of each part's rates, except those that all parts have in common; empty where none is left."""
    listed = [dict.fromkeys(leaf.given for comparison in part for leaf in leaves_of(comparison)) for part in parts]
    shared = reduce(set.intersection, (set(conditions) for conditions in listed))
    in_all = reduce(set.intersection, (set(conjuncts(given)) for conditions in listed for given in conditions))
    labels = []
    for conditions in listed:
        own = [[each for each in conjuncts(given) if each not in in_all] for given in conditions if given not in shared]
        common = [each for each in own[0] if all(each in other for other in own)] if own else []
        labels.append(_all_of(common) if common else " against ".join(map(_all_of, own)))
    return labels


def _all_of(conditions: Sequence[Row]) -> str:
    return ", ".join(map(to_text, conditions)) or "all rows"


# -------------------------------------------------------------------------------------------------------------- tests


@dataclass(frozen=True, slots=True)
class ClaimSide:
    """The tests of one kind of hypothesis, one hypothesis for each comparison.

    Attributes
    ----------
    delta
        The risk.
    pieces
        The tests of each comparison's hypothesis, by number; it is refuted where each of them refutes its polytope.
    stacks, alone
        The e-processes with their numbers: those of one shape together, and the sliced ones.
    locks
        Whether a wealth that reaches ``1/delta`` keeps that much for good and bets only the rest; sliced e-processes
        do not bet then.
    """

    delta: float
    pieces: tuple[tuple[int, ...], ...]
    stacks: tuple[tuple[NDArray[np.intp], StackedTests], ...]
    alone: tuple[tuple[int, PolytopeTest], ...]
    locks: bool

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Every channel of every test, each once."""
        stacked = (channel for _, stack in self.stacks for channel in stack.channels)
        return tuple(dict.fromkeys((*stacked, *(channel for _, test in self.alone for channel in test.channels))))

    def log_e_values(self, history: Sequence[Tallies]) -> Floats:
        """The logarithm of each hypothesis's e-value after every batch: shape ``(batches, comparisons)``.

        It is the least over its polytopes, infinite where it has none. A test stops betting once its e-value is as
        large as can ever matter, the number of comparisons over ``delta``.
        """
        enough = np.log(len(self.pieces) / self.delta)
        values = np.zeros((len(history), sum(map(len, self.pieces))))
        for members, stack in self.stacks:
            values[:, members] = stack.log_wealths(history)
        for number, test in self.alone:
            values[:, number] = _alone(test, history, enough)
        if self.locks:
            reached = values >= np.log(1.0 / self.delta)
            first = np.take_along_axis(values, reached.argmax(axis=0)[None], axis=0)
            values = locked(values, np.where(np.logical_or.accumulate(reached, axis=0), first, np.inf), self.delta)
        done = values >= enough
        last = np.where(done.any(axis=0), done.argmax(axis=0), len(history) - 1)
        values = np.take_along_axis(values, np.minimum(np.arange(len(history))[:, None], last), axis=0)
        least = np.full((len(history), len(self.pieces)), np.inf)
        for k, numbers in enumerate(self.pieces):
            least[:, k] = values[:, numbers].min(axis=1, initial=np.inf)
        return least


def _alone(test: PolytopeTest, history: Sequence[Tallies], enough: float) -> Floats:
    """The log wealth of a sliced e-process after every batch; it stops betting at ``enough``."""
    wealth, state = np.zeros(len(history)), test.begin()
    for k, tallies in enumerate(history):
        state = test.step(state, tallies)
        wealth[k] = state.log_wealth.min(initial=np.inf)  # dropped slices had all the wealth that can matter
        if wealth[k] >= enough:
            wealth[k:] = wealth[k]
            break
    return wealth


@dataclass(frozen=True, slots=True)
class FamilyTests:
    """The tests of every comparison of every group, and the answers that follow from them.

    The stakes on a batch depend on earlier batches alone, so the bets are computed only when the answers are needed.

    Guarantee with ``control="family"``: the probability that any comparison that does not hold is ever answered with
    *holds* is at most ``delta``, and so is the probability that any that holds is ever answered with *violated*. With
    ``control="discovery"``: at any one stopping time, the expected share of wrong answers among those with *violated*
    is at most ``delta``, and likewise among those with *holds*. Both are true however the groups overlap.
    """

    delta: float
    against: ClaimSide
    in_favour: ClaimSide
    control: str = "family"

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Every channel of every test, each once."""
        return tuple(dict.fromkeys((*self.against.channels, *self.in_favour.channels)))

    def answers(self, history: Sequence[Tallies], whole: bool | None) -> list[bool | None]:
        """Whether each comparison holds, given the answer to all of them together; ``None`` where that is open.

        All hold where the whole claim does. None is said to be violated unless the whole claim is.

        Parameters
        ----------
        history
            The counts of every batch, in the order in which they came.
        whole
            The answer to all of them together.
        """
        number = len(self.against.pieces)
        if whole:
            return [True] * number
        if not history:
            return [None] * number
        holds = self._rejected(self.against, history)
        if whole is None:
            return [True if yes else None for yes in holds.tolist()]
        violated = self._rejected(self.in_favour, history)
        if holds.all():  # this contradicts the answer to the whole claim: one of the two is wrong
            return [None] * number
        return [None if yes == no else bool(yes) for yes, no in zip(holds.tolist(), violated.tolist(), strict=True)]

    def _rejected(self, side: ClaimSide, history: Sequence[Tallies]) -> NDArray[np.bool_]:
        values = side.log_e_values(history)
        together = None if side.locks else True
        if self.control == "family":
            return np.asarray(closed_average(values, self.delta, together=together).any(axis=0))
        return closed_e_bh(np.exp(np.minimum(values[-1], 700.0)), self.delta, together=together)


def family_for(
    claims: Sequence[GroupClaim],
    ranges: Ranges,
    streams: Sequence[Row | None],
    delta: float,
    sizes: Mapping[Leaf, float] | None,
    control: str,
) -> FamilyTests | None:
    """Prepare the tests of every group; ``None`` where a comparison is not linear."""
    comparisons = [comparison for claim in claims for comparison in claim.comparisons]
    sides = []
    # Slices are dropped once they have all the wealth that can matter, which depends on the number of tests.
    least, few = delta / len(comparisons), len(comparisons) <= MAX_SLICED
    for positive in (False, True):
        attempts = [
            e_processes_for(each, ranges, streams, least, sizes, positive=positive, slices=few) for each in comparisons
        ]
        tests = [test for test in attempts if test is not None]
        if len(tests) < len(attempts):
            return None
        sides.append(_side(list(slices_shared_out(tests)), delta, locks=not positive))
    return FamilyTests(delta, sides[0], sides[1], control)


def _side(tests: Sequence[tuple[PolytopeTest, ...]], delta: float, *, locks: bool) -> ClaimSide:
    pieces: list[tuple[int, ...]] = []
    shapes: dict[tuple[int, ...], list[tuple[int, PolytopeTest]]] = {}
    alone: list[tuple[int, PolytopeTest]] = []
    number = 0
    for several in tests:
        pieces.append(tuple(range(number, number + len(several))))
        for test in several:
            if isinstance(test.process, EProcess):
                shapes.setdefault(test.process.payoffs.shape, []).append((number, test))
            elif not locks:
                alone.append((number, test))
            # Slices are costly, and cannot lock in wealth. Then only the verdict says, of all groups together, that
            # they hold; a wealth that stays at 1 is a valid e-value.
            number += 1
    stacks = tuple(
        (np.asarray([index for index, _ in members]), StackedTests.of([test for _, test in members]))
        for members in shapes.values()
    )
    return ClaimSide(delta, tuple(pieces), stacks, tuple(alone), locks)


def region_answers(
    claims: Sequence[GroupClaim],
    evidence: RegionEvidence,
    state: RegionState,
    ranges: Ranges,
    streams: Sequence[Row | None],
    whole: bool | None,
) -> list[bool | None]:
    """Whether each comparison holds, according to a confidence region.

    Every answer is right whenever the region contains the truth, so its one risk covers all of them.
    """
    answers: list[bool | None] = []
    nothing = {channel: np.zeros(channel.grid.size) for channel in evidence.channels}
    for claim in claims:
        for comparison in claim.comparisons:
            own = region_for(comparison, leaves_of(comparison), ranges, streams, evidence.delta)
            narrowed = replace(evidence, formula=comparison, against=own.against, in_favour=own.in_favour)
            answer = True if whole else narrowed.step(RegionState(state.tallies, None), nothing).answer
            answers.append(None if answer is False and whole is not False else answer)
    return answers


def verifair_answers(
    claims: Sequence[GroupClaim],
    evidence: VerifairEvidence,
    state: dict[Channel, Floats],
    whole: bool | None,
) -> list[bool | None]:
    """Whether each comparison holds, according to the rule of the VeriFair paper.

    Every answer is right whenever all lemmas about leaves are, so their one risk covers all of them.
    """
    lemmas = evidence.lemmas(state)
    answers = [judge_formula(comparison, lemmas)[0] for claim in claims for comparison in claim.comparisons]
    return [True if whole else None if answer is False and whole is not False else answer for answer in answers]


# ------------------------------------------------------------------------------------------------------------ records


def group_records(
    claims: Sequence[GroupClaim], known: Sequence[tuple[bool | None, Expression]], draws: Mapping[Leaf, int]
) -> tuple[GroupRecord, ...]:
    """The answer for each group.

    Parameters
    ----------
    claims
        The groups.
    known
        Whether each comparison holds, and its quantity as far as it is known, in the order of the groups; empty where
        that is unknown.
    draws
        How many draws informed each leaf.
    """
    left = iter(known)
    if not known:
        return ()
    return tuple(_record(claim, [next(left) for _ in claim.comparisons], draws) for claim in claims)


def _record(
    claim: GroupClaim, known: Sequence[tuple[bool | None, Expression]], draws: Mapping[Leaf, int]
) -> GroupRecord:
    """A group holds where all of its comparisons do, and is violated where one of them is; the worst is shown."""
    answer = False if any(each is False for each, _ in known) else True if all(each for each, _ in known) else None
    shown = [item for each, item in known if each is answer]
    worst = min(shown, key=lambda item: item.margin)
    leaves = [leaf for comparison in claim.comparisons for leaf in leaves_of(comparison)]
    return GroupRecord(
        claim.group,
        ANSWERS[answer],
        worst.text,
        worst.relation,
        worst.threshold,
        worst.estimate,
        worst.low,
        worst.high,
        min((draws[leaf] for leaf in leaves), default=0),
    )
