"""Violations: all distinct ones stored, as columns; the smallest of them shown.

Two violations are the same when their inputs and their random choices are. A case is remembered by 128 bits computed
from its numbers: among ``n`` cases, two different ones are taken for one with probability below ``n**2 / 2**129``,
2e-27 for a million. A remembered case takes 16 bytes, and about 50 while new ones are sorted in. Beyond
``MAX_DISTINCT`` cases nothing is remembered, and it is only reported that there are more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.cases import Cases, Judgement, Runner, joined_cases
from isonomia.audits.ksafety.compiler import CompiledSpec
from isonomia.audits.ksafety.evaluate import Value, is_column
from isonomia.audits.ksafety.kinds import KindCount, difference, output_value, violation_columns
from isonomia.models.meter import BudgetSpentError
from isonomia.populations.domains import Domain
from isonomia.populations.table import plain_value
from isonomia.records.journal import Entry
from isonomia.records.violations import ViolationSet
from isonomia.spec.nomos.tree import expression_text

MAX_DISTINCT = 2**22
"""How many distinct violations are counted: 64 MiB."""

KEPT = 256
"""How many violations are kept for showing."""

SHOWN = 10
"""How many counterexamples among all cases, or among those drawn, a verdict holds."""

FACTOR = 6
"""How much larger one sorted part is than the next: fewer parts are searched faster, and joined more often."""

Words = NDArray[np.uint64]

Origin = tuple[int, ...]
"""The draw that inputs come from, and their numbers in it."""

_STARTS = (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03)
_MIXERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


@dataclass(frozen=True, slots=True, eq=False)
class Violation:
    """One case that violates.

    Attributes
    ----------
    domain, case
        Where its inputs are, and the case.
    cost
        How many features its records differ in, and how far.
    minimal
        Whether it is certain that no smaller change of its inputs violates.
    """

    domain: Domain
    case: Cases
    cost: tuple[float, float]
    minimal: bool = False


@dataclass(frozen=True, slots=True)
class ViolationSummary:
    """A summary of the violations of a check, apart from how many cases violate.

    Attributes
    ----------
    counterexamples
        The smallest changes first; facts about the model, which only the model can confirm.
    gone
        Violations that did not occur again when they were computed again.
    distinct, exact
        How many distinct violations there are; there are more where the number is not exact.
    inputs
        How many different inputs had one; a lower bound where ``distinct`` is not exact.
    tested
        How many different inputs had a case that was tested; ``None`` where that was not counted.
    kinds
        The kinds of violations, the most frequent first, each with a count and an example.
    """

    counterexamples: tuple[Mapping[str, Any], ...] = ()
    gone: int = 0
    distinct: int = 0
    exact: bool = True
    inputs: int = 0
    tested: int | None = None
    kinds: tuple[Mapping[str, Any], ...] = ()

    def pack(self) -> Entry:
        """As plain values."""
        return asdict(self)

    @classmethod
    def unpack(cls, entry: Entry) -> ViolationSummary:
        """The summary that was packed."""
        several = {name: tuple(entry.get(name, ())) for name in ("counterexamples", "kinds")}
        return cls(**{**entry, **several})


@dataclass(slots=True)
class DistinctCount:
    """How many different cases there were, up to a limit; each case is identified by its digest.

    Digests are kept sorted, in parts, each several times as large as the next: a lookup takes a few searches, and each
    digest is merged a few times. ``exact`` says whether there were no more than the limit.
    """

    limit: int = field(default_factory=lambda: MAX_DISTINCT)
    exact: bool = True
    _parts: list[Words] = field(default_factory=list, repr=False)
    _not_remembered: int = 0

    def __len__(self) -> int:
        """How many there were; the limit where there were more."""
        return self._not_remembered + sum(part.shape[1] for part in self._parts) if self.exact else self.limit

    def count(self, n: int) -> NDArray[np.intp]:
        """Count ``n`` cases that are certain to be new, without remembering them; gives those within the limit."""
        room = self.limit - len(self)
        self.exact &= n <= room
        self._not_remembered += min(n, room)
        return np.arange(min(n, room))

    def add(self, words: Words) -> NDArray[np.intp]:
        """Add the digests of some cases; gives the positions of those that are new, in order.

        Where they exceed the limit, only as many as fit count as new.
        """
        if not self.exact:
            return np.zeros(0, dtype=np.intp)
        first = first_of_each(words)
        new = first[~self.has(words[:, first])]
        room = self.limit - len(self)
        if len(new) > room:
            self.exact, self._parts = False, []
            return np.asarray(np.sort(new)[:room])
        if len(new):
            self._sort_in(words[:, new])
        return np.asarray(np.sort(new))

    def has(self, words: Words) -> NDArray[np.bool_]:
        """Which digests were added before."""
        present = np.zeros(words.shape[1], dtype=bool)
        for part in self._parts:
            present |= _among(part, words)
        return present

    def _sort_in(self, part: Words) -> None:
        """Add a sorted part, and merge the parts before it that are not ``FACTOR`` times as large."""
        while self._parts and self._parts[-1].shape[1] < FACTOR * part.shape[1]:
            both = np.concatenate([self._parts.pop(), part], axis=1)
            part = both[:, first_of_each(both)]
        self._parts.append(part)


def _among(part: Words, words: Words) -> NDArray[np.bool_]:
    """Which digests are in a sorted part."""
    index = np.searchsorted(part[0], words[0])
    index[index == part.shape[1]] = 0
    present = np.asarray(part[0, index] == words[0])
    hits = np.flatnonzero(present)
    other = hits[part[1, index[hits]] != words[1, hits]]
    # Two cases share the first word by accident: the right one may be further on.
    for hit in other.tolist():
        present[hit] = bool((part[1, part[0] == words[0, hit]] == words[1, hit]).any())
    return present


@dataclass(slots=True)
class Violations:
    """The violations of a check, and which inputs were tested.

    The smallest changes are kept, at most one for each input: fewest features first, then nearest values.

    Attributes
    ----------
    distinct, inputs
        How many distinct violations there were, and of how many different inputs.
    smallest
        The smallest changes, by draw and inputs.
    worst
        The largest of the ``KEPT`` smallest changes; ``None`` while fewer are known.
    tested
        Whether each input had a case that was tested; ``None`` where a case has several inputs or they are fresh in
        every draw.
    draws
        How often something was added.
    stored, kinds
        All distinct violations, including those of the corners; and their kinds.
    first
        The smallest of them as it was computed when it was found, for a budget that is spent by the end.
    """

    distinct: DistinctCount = field(default_factory=DistinctCount)
    inputs: DistinctCount = field(default_factory=DistinctCount)
    smallest: dict[Origin, Violation] = field(default_factory=dict)
    worst: tuple[tuple[float, float], Origin] | None = None
    tested: NDArray[np.bool_] | None = None
    draws: int = 0
    stored: ViolationSet = field(default_factory=ViolationSet)
    kinds: KindCount = field(default_factory=KindCount)
    first: dict[str, Any] | None = None
    _corners: DistinctCount = field(default_factory=DistinctCount)

    def add(self, program: CompiledSpec, judgement: Judgement, *, fresh: bool = False, source: str = "random") -> None:
        """Add judged cases; ``fresh`` where their inputs were newly drawn, whatever their row numbers."""
        cases, violating = judgement.cases, np.flatnonzero(judgement.violating)
        if len(cases.inputs) == 1 and not fresh:
            if self.tested is None:
                self.tested = np.zeros(judgement.domain.size, dtype=bool)
            self.tested[cases.inputs[0]] = True
        self.draws += 1
        draw = self.draws if fresh else 0
        chosen = cases.take(violating)
        self.note_first(program, judgement, violating)
        # In a list of all cases, and with fresh inputs, no case comes twice.
        sure = fresh or source == "listed"
        new = self.add_cases(judgement.domain, chosen, judgement.changed[:, violating], draw, sure=sure)
        self.stored.more = not self.distinct.exact
        if len(new) and len(self._corners):
            new = new[~self._corners.has(_of_cases(chosen.take(new), draw))]
        self._keep(program, judgement, violating[new], source)

    def add_corners(self, program: CompiledSpec, judgement: Judgement, violating: NDArray[np.intp]) -> None:
        """Add corners that violate: they are kept with the others, but not in any count of random cases."""
        new = self._corners.add(_of_cases(judgement.cases.take(violating), 0))
        self._keep(program, judgement, violating[new], "corner")

    def note_first(self, program: CompiledSpec, judgement: Judgement, violating: NDArray[np.intp]) -> None:
        """Show the smallest of some cases that violate, if it is smaller than those before."""
        if not len(violating):
            return
        changed, cases = judgement.changed, judgement.cases
        least = int(violating[np.lexsort((changed[1, violating], changed[0, violating]))[0]])
        first = self.first
        if first is None or (changed[0, least], changed[1, least]) < (first["features_changed"], first["distance"]):
            choices = [plain_value(column[least]) for column in cases.choices]
            rows = {name: int(at[least]) for name, at in zip(program.spec.inputs, cases.inputs, strict=True)}
            self.first = show(program, judgement, choices, rows, least) | {"minimal": False}

    def _keep(self, program: CompiledSpec, judgement: Judgement, which: NDArray[np.intp], source: str) -> None:
        if len(which):
            columns = violation_columns(program, judgement, which, source)
            self.stored.add(columns)
            self.kinds.add(program, judgement, which, columns)

    def add_cases(
        self, domain: Domain, cases: Cases, costs: NDArray[np.float64], draw: int = 0, *, sure: bool = False
    ) -> NDArray[np.intp]:
        """Add violating cases, and give the positions of those that are new.

        ``draw`` distinguishes the inputs of different draws, where they are fresh; ``sure`` says that none of the cases
        came before.
        """
        if not len(cases):
            return np.zeros(0, dtype=np.intp)
        new = self.distinct.count(len(cases)) if sure else self.distinct.add(_of_cases(cases, draw))
        origins = digests(cases.inputs, draw)
        if sure and draw > 0:  # each fresh input is new
            self.inputs.count(len(np.unique(np.stack(cases.inputs), axis=1)[0]))
        else:
            self.inputs.add(origins)
        for index in self._smallest_of(origins, cases, costs).tolist():
            origin = (draw, *(int(column[index]) for column in cases.inputs))
            cost = (float(costs[0, index]), float(costs[1, index]))
            if self.worst is not None and (cost, origin) > self.worst:
                break
            before = self.smallest.get(origin)
            if before is None or cost < before.cost:
                self.smallest[origin] = Violation(domain, cases.take(np.array([index], dtype=np.intp)), cost)
        if len(self.smallest) > 2 * KEPT:
            ranked = self._ranked()[:KEPT]
            self.smallest, self.worst = dict(ranked), (ranked[-1][1].cost, ranked[-1][0])
        return new

    def ranked(self, max_n: int) -> list[Violation]:
        """The smallest changes."""
        return [violation for _, violation in self._ranked()[:max_n]]

    def _ranked(self) -> list[tuple[Origin, Violation]]:
        return sorted(self.smallest.items(), key=lambda item: (item[1].cost, item[0]))

    def _smallest_of(self, origins: Words, cases: Cases, costs: NDArray[np.float64]) -> NDArray[np.intp]:
        """The smallest change of each input, and of these the ``KEPT`` smallest: no others can be the best overall."""
        small = np.arange(len(cases))
        if self.worst is not None:
            few, near = self.worst[0]
            small = small[(costs[0] < few) | ((costs[0] == few) & (costs[1] <= near))]
        order = small[np.lexsort((costs[1, small], costs[0, small]))]
        each = order[first_of_each(origins[:, order])]
        ranks = np.lexsort((*(column[each] for column in reversed(cases.inputs)), costs[1, each], costs[0, each]))
        return np.asarray(each[ranks[:KEPT]])

    def summary(self, shown: Sequence[Mapping[str, Any]], tried: int, outputs: Sequence[str]) -> ViolationSummary:
        """The summary; ``tried`` violations were computed again, and those in ``shown`` occurred again."""
        tested = None if self.tested is None else int(np.count_nonzero(self.tested))
        distinct, exact, kinds = len(self.distinct), self.distinct.exact, self.kinds.summary(outputs)
        inputs = len(self.inputs) if exact else min(len(self.inputs), distinct)
        return ViolationSummary(tuple(shown), tried - len(shown), distinct, exact, inputs, tested, kinds)


def _of_cases(cases: Cases, draw: int) -> Words:
    return digests((*cases.inputs, *cases.choices), draw)


def digests(columns: Sequence[NDArray[Any]], salt: int = 0) -> Words:
    """Two words for each case, the same for cases with the same numbers.

    An integer and an equal float count as different, so a column has to keep its type. ``salt`` distinguishes cases
    whose numbers mean something else.
    """
    lanes = np.empty((2, len(columns[0])), dtype=np.uint64)
    for lane, start in zip(lanes, _STARTS, strict=True):
        lane[:] = start ^ (salt % 2**64)
        _mix(lane)
        for column in columns:
            lane ^= _bits(column)
            _mix(lane)
    return lanes


def _bits(column: NDArray[Any]) -> Words:
    if column.dtype.kind == "f":
        # -0.0 is the same number as 0.0, although its bits differ.
        return (column.astype(np.float64) + 0.0).view(np.uint64)
    return column.astype(np.int64).view(np.uint64)


def _mix(lane: Words) -> None:
    """Scatter every bit over the word, reversibly: the last steps of SplitMix64 (Steele, Lea, Flood 2014)."""
    lane += np.uint64(_STARTS[0])
    lane ^= lane >> np.uint64(30)
    lane *= np.uint64(_MIXERS[0])
    lane ^= lane >> np.uint64(27)
    lane *= np.uint64(_MIXERS[1])
    lane ^= lane >> np.uint64(31)


def first_of_each(words: Words) -> NDArray[np.intp]:
    """Where each digest occurs for the first time, in the order of the digests."""
    # Sorting by one word is much faster; the second decides only where two cases share the first by accident.
    order = np.argsort(words[0], kind="stable")
    first, second = words[0][order], words[1][order]
    same = first[1:] == first[:-1]
    if (same & (second[1:] != second[:-1])).any():
        order = np.lexsort((words[1], words[0]))
        first, second = words[0][order], words[1][order]
        same = (first[1:] == first[:-1]) & (second[1:] == second[:-1])
    return np.asarray(order[np.concatenate([np.ones(min(len(order), 1), dtype=bool), ~same])])


def is_proof(program: CompiledSpec, counterexample: Mapping[str, Any]) -> bool:
    """Whether a counterexample is proof: it violates an ``ensures`` that must always be true."""
    strict = [expression_text(item.condition) for item in program.spec.ensures if item.always]
    return any(text in counterexample["violates"] for text in strict)


def show_violations(runner: Runner, violations: Sequence[Violation]) -> tuple[list[dict[str, Any]], int]:
    """Violations, computed again from their inputs and choices; and how many were, as far as the budget allows.

    One that does not occur again is left out: the model, a function or the block draws from something else than its
    seed.
    """
    while True:
        try:
            return _shown(runner, violations), len(violations)
        except BudgetSpentError:
            violations = violations[: len(violations) // 2]


def _shown(runner: Runner, violations: Sequence[Violation]) -> list[dict[str, Any]]:
    """Violations, computed again; those of one domain together."""
    shown: dict[int, dict[str, Any]] = {}
    for domain in {id(violation.domain): violation.domain for violation in violations}.values():
        ranks = [rank for rank, violation in enumerate(violations) if violation.domain is domain]
        cases = joined_cases([violations[rank].case for rank in ranks])
        judgement = runner.run(domain, cases)
        if len(judgement.cases) < len(cases):
            continue
        for index in np.flatnonzero(judgement.violating).tolist():
            choices = [plain_value(column[index]) for column in cases.choices]
            inputs = zip(runner.program.spec.inputs, cases.inputs, strict=True)
            rows = {name: int(column[index]) for name, column in inputs}
            minimal = violations[ranks[index]].minimal
            shown[ranks[index]] = show(runner.program, judgement, choices, rows, index) | {"minimal": minimal}
    return [shown[rank] for rank in sorted(shown)]


def show(
    program: CompiledSpec, judgement: Judgement, choices: list[Any], rows: dict[str, int], index: int = 0
) -> dict[str, Any]:
    """One case of a batch, as plain values that JSON can hold."""
    batch, domain = judgement.batch, judgement.domain
    first = program.spec.inputs[0]
    records: dict[str, Value] = {}
    scalars: dict[str, Any] = {}
    finals = set(program.finals.values())
    for name, value in batch.values.items():
        if not is_column(value):
            records |= {} if name in finals else {name: value}
        elif name in {step.name for step in program.spec.variables}:
            scalars[name] = plain_value(value.data[index])
    return {
        "inputs": {name: domain.show(records[name].data, index) for name in program.spec.inputs},
        "rows": rows,
        "choices": choices,
        "variables": scalars,
        "outputs": {name: output_value(domain, batch.values[final], index) for name, final in program.finals.items()},
        "differs": {
            name: changes
            for name, record in records.items()
            if name != first
            and ((changes := difference(domain, records[first], record, index)) or name in program.compared)
        },
        "violates": [
            expression_text(item.condition)
            for item, bad in zip(program.spec.ensures, judgement.violates, strict=True)
            if bad[index]
        ],
        "features_changed": int(judgement.changed[0, index]),
        "distance": float(np.round(judgement.changed[1, index], 12)),
    }
