"""Violations seen, distinct, kept.

Counting what is distinct among very many cases, in little memory.

A case is remembered by 128 bits computed from its numbers. Among ``n`` cases, two different ones are taken for one
with probability below ``n**2 / 2**129``: 2e-27 for a million. A remembered case takes 16 bytes, and some 50 while new
ones are sorted in. Beyond ``MOST`` of them a random half is forgotten, and what is left counts double: then the count
is an estimate (adaptive sampling: Flajolet, "On adaptive sampling", Computing 43, 1990), whose relative standard error
is about ``1.2 / sqrt(MOST)``.

Violations: counted by the choices that made them, the smallest changes kept.

Which cases were seen: the violations among them, and how many different inputs they had.

What a k-safety check keeps in its journal, besides the batches: as plain values, exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.cases import Cases, Counts
from isonomia.audits.ksafety.evidence import Totals
from isonomia.audits.ksafety.runner import Judged
from isonomia.engine.journal import Entry
from isonomia.populations.domains import Domain
from isonomia.records.strict_json import rational

__all__ = [
    "KEPT",
    "MOST",
    "Distinct",
    "Find",
    "Findings",
    "Finds",
    "Seen",
    "digests",
    "findings_of",
    "first_of_each",
    "packed_findings",
    "packed_totals",
    "totals_of",
]


Words = NDArray[np.uint64]

MOST = 2**22
"""How many are remembered exactly: 64 MiB."""

LATER = 2**16
"""New ones are sorted in when there are this many, or as many as are known already."""

_STARTS = (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03)
_MIXERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def digests(columns: Sequence[NDArray[Any]], salt: int = 0) -> Words:
    """Two words for each case, the same for cases with the same numbers.

    Parameters
    ----------
    columns
        Whole or real numbers, one a case. The same number as a whole and as a real one counts as different, so a column
        has to keep its kind.
    salt
        Tells cases apart whose numbers mean something else.
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


def first_of_each(found: Words) -> NDArray[np.intp]:
    """Where each digest occurs for the first time, in the order of the digests."""
    # Sorting by one word is much faster; the second decides only where two cases share the first by accident.
    order = np.argsort(found[0], kind="stable")
    first, second = found[0][order], found[1][order]
    same = first[1:] == first[:-1]
    if (same & (second[1:] != second[:-1])).any():
        order = np.lexsort((found[1], found[0]))
        first, second = found[0][order], found[1][order]
        same = (first[1:] == first[:-1]) & (second[1:] == second[:-1])
    return np.asarray(order[np.concatenate([np.ones(min(len(order), 1), dtype=bool), ~same])])


@dataclass(slots=True)
class Distinct:
    """How many different cases there were.

    Attributes
    ----------
    most
        How many are remembered.
    halvings
        How often half of them were forgotten; 0 as long as the count is exact.
    """

    most: int = MOST
    halvings: int = 0
    _known: Words = field(default_factory=lambda: np.zeros((2, 0), dtype=np.uint64), repr=False)
    _waiting: list[Words] = field(default_factory=list, repr=False)
    _count: int = 0

    def __len__(self) -> int:
        """How many there were; about so many after a halving."""
        self._sort_in()
        return int(self._known.shape[1]) << self.halvings

    @property
    def exact(self) -> bool:
        """Whether the count is exact."""
        self._sort_in()
        return self.halvings == 0

    def add(self, found: Words) -> None:
        """Take in the digests of some cases."""
        kept = self._chosen(found)
        self._waiting.append(kept)
        self._count += kept.shape[1]
        if self._count >= max(LATER, self._known.shape[1]):
            self._sort_in()

    def _chosen(self, found: Words) -> Words:
        if not self.halvings:
            return found
        return found[:, found[0] >> np.uint64(64 - self.halvings) == 0]

    def _sort_in(self) -> None:
        if not self._waiting:
            return
        both = np.concatenate([self._known, *self._waiting], axis=1)
        self._waiting, self._count = [], 0
        self._known = both[:, first_of_each(both)]
        while self._known.shape[1] > self.most:
            self.halvings += 1
            self._known = self._chosen(self._known)


KEPT = 256
"""How many violations are kept for showing."""

Origin = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Find:
    """One case that violates: where its inputs are, and how much its records differ."""

    domain: Domain
    case: Cases
    cost: tuple[float, float]


@dataclass(slots=True)
class Finds:
    """All violations so far.

    Two are the same when their inputs and their random choices are. The smallest changes are kept, no more than one
    for each input: fewest features first, nearest values then.

    Attributes
    ----------
    distinct, inputs
        How many different violations there were, and of how many different inputs.
    best
        The smallest changes, by draw and inputs.
    worst
        What a change must not exceed to be among the ``KEPT`` smallest; ``None`` while fewer are known.
    """

    distinct: Distinct = field(default_factory=Distinct)
    inputs: Distinct = field(default_factory=Distinct)
    best: dict[Origin, Find] = field(default_factory=dict)
    worst: tuple[tuple[float, float], Origin] | None = None

    def add(self, domain: Domain, cases: Cases, costs: NDArray[np.float64], piece: int | None) -> None:
        """Take in violating cases; ``piece`` tells inputs of one draw from those of another, where they are fresh."""
        if not len(cases):
            return
        salt = 0 if piece is None else piece + 1
        self.distinct.add(digests((*cases.inputs, *cases.choices), salt))
        origins = digests(cases.inputs, salt)
        self.inputs.add(origins)
        for index in self._smallest(origins, cases, costs).tolist():
            origin = (salt, *(int(column[index]) for column in cases.inputs))
            cost = (float(costs[0, index]), float(costs[1, index]))
            if self.worst is not None and (cost, origin) > self.worst:
                break
            known = self.best.get(origin)
            if known is None or cost < known.cost:
                self.best[origin] = Find(domain, cases.take(np.array([index], dtype=np.intp)), cost)
        if len(self.best) > 2 * KEPT:
            kept = self._ranked()[:KEPT]
            self.best, self.worst = dict(kept), (kept[-1][1].cost, kept[-1][0])

    def ranked(self, most: int) -> list[Find]:
        """The smallest changes."""
        return [find for _, find in self._ranked()[:most]]

    def _ranked(self) -> list[tuple[Origin, Find]]:
        return sorted(self.best.items(), key=lambda item: (item[1].cost, item[0]))

    def _smallest(self, origins: NDArray[np.uint64], cases: Cases, costs: NDArray[np.float64]) -> NDArray[np.intp]:
        """The smallest change of each input, and of these the ``KEPT`` smallest: no others can be the best of all."""
        small = np.arange(len(cases))
        if self.worst is not None:
            few, near = self.worst[0]
            small = small[(costs[0] < few) | ((costs[0] == few) & (costs[1] <= near))]
        order = small[np.lexsort((costs[1, small], costs[0, small]))]
        each = order[first_of_each(origins[:, order])]
        ranks = np.lexsort((*(column[each] for column in reversed(cases.inputs)), costs[1, each], costs[0, each]))
        return np.asarray(each[ranks[:KEPT]])


@dataclass(slots=True)
class Seen:
    """The cases of a check, as far as they are remembered.

    Attributes
    ----------
    finds
        The violations.
    inputs
        Which inputs had a case that was tested, one truth value an input; ``None`` where a case has several inputs or
        they are fresh in every piece.
    pieces
        How often something was added.
    """

    finds: Finds = field(default_factory=Finds)
    inputs: NDArray[np.bool_] | None = None
    pieces: int = 0

    def add(self, judged: Judged, cases: Cases, domain: Domain, *, fresh: bool = False) -> None:
        """Take in a piece of a batch; ``fresh`` where its inputs are of no other, whatever their numbers."""
        violating = np.flatnonzero(judged.violating)
        if len(cases.inputs) == 1 and not fresh:
            if self.inputs is None:
                self.inputs = np.zeros(domain.size, dtype=bool)
            self.inputs[cases.inputs[0]] = True
        self.finds.add(domain, cases.take(violating), judged.changed[:, violating], self.pieces if fresh else None)
        self.pieces += 1

    def found(self, shown: list[dict[str, Any]], looked_at: int) -> Findings:
        """What is known of the violations, of which so many were looked at again and these occurred again."""
        finds = self.finds
        inputs = None if self.inputs is None else int(np.count_nonzero(self.inputs))
        told = len(finds.distinct), finds.distinct.exact, len(finds.inputs), inputs
        return Findings(tuple(shown), looked_at - len(shown), *told)


@dataclass(frozen=True, slots=True)
class Findings:
    """What is known of the violations of a check, besides how many there are.

    Attributes
    ----------
    counterexamples
        The smallest changes first; facts about the model, which only the model can confirm.
    gone
        Violations that did not occur again when they were computed once more.
    distinct, exact
        How many different violations there were, and whether that number is exact.
    inputs
        How many different inputs had one.
    tested
        How many different inputs had a case that was tested; ``None`` where that was not counted.
    """

    counterexamples: tuple[Mapping[str, Any], ...] = ()
    gone: int = 0
    distinct: int = 0
    exact: bool = True
    inputs: int = 0
    tested: int | None = None


def packed_totals(totals: Totals) -> Entry:
    """Counts and weights of every case; fractions as text."""
    return {
        "tested": totals.tested,
        "violating": totals.violating,
        "by_ensures": list(totals.by_ensures),
        "failed": totals.failed,
        "vacuous": totals.vacuous,
        "reasons": [list(pair) for pair in totals.reasons.items()],
        "weight": str(totals.weight),
        "bad_weight": list(map(str, totals.bad_weight)),
        "failed_weight": list(map(str, totals.failed_weight)),
    }


def totals_of(entry: Entry, turned_away: Counts) -> Totals:
    """The totals that were packed; who was turned away is kept apart from them."""
    totals = Totals(len(entry["by_ensures"]), entry["tested"], turned_away, entry["violating"])
    totals.by_ensures = list(entry["by_ensures"])
    totals.failed, totals.vacuous = entry["failed"], entry["vacuous"]
    totals.reasons = Counter(dict(entry["reasons"]))
    totals.weight = rational(entry["weight"])
    totals.bad_weight = list(map(rational, entry["bad_weight"]))
    totals.failed_weight = list(map(rational, entry["failed_weight"]))
    return totals


def packed_findings(findings: Findings) -> Entry:
    """Counterexamples and numbers of distinct violations."""
    return {
        "counterexamples": list(findings.counterexamples),
        "gone": findings.gone,
        "distinct": findings.distinct,
        "exact": findings.exact,
        "inputs": findings.inputs,
        "tested": findings.tested,
    }


def findings_of(entry: Entry) -> Findings:
    """The findings that were packed."""
    return Findings(**{**entry, "counterexamples": tuple(entry["counterexamples"])})
