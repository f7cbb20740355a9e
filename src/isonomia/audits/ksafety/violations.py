"""Violations: all distinct ones stored, as columns; the smallest of them shown.

Two violations are the same when their inputs and their random choices are. They are of one kind when the same features
differ and the outputs are the same. Where that makes too many kinds, only the order of outputs counts; and where that
is not enough, only the number of features.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.cases import CaseResults, CaseRunner, Cases, joined_cases
from isonomia.audits.ksafety.compiler import CompiledSpec
from isonomia.audits.ksafety.evaluate import CaseEvaluation, CaseValues, is_column
from isonomia.models.meter import BudgetSpentError
from isonomia.populations.domains import Domain, TableDomain
from isonomia.populations.domains.protocol import DomainFacts, inner_domain
from isonomia.populations.domains.tables import TableRecords
from isonomia.populations.table import plain_value
from isonomia.records.journal import Entry
from isonomia.records.violations import (
    Columns,
    DistinctCount,
    ViolationSet,
    Words,
    digests,
    first_of_each,
    storable,
)
from isonomia.spec.nomos.tree import expression_text

KEPT = 256
"""How many violations are kept for showing."""

SHOWN = 10
"""How many counterexamples among all cases, or among those drawn, a verdict holds."""

MAX_KINDS = 48
"""The maximum number of kinds that are distinguished by their outputs."""

LONGEST = 40
"""The longest output that counts as a class, in characters; of longer ones only the order, or a difference, counts."""

SHOWN_KINDS = 20
"""How many kinds a verdict holds, the most frequent first."""

Key: TypeAlias = tuple[tuple[str, ...], tuple[Any, ...], tuple[str, ...]]
"""Which features differ, the outputs or their order, and which conditions are violated."""

Origin = tuple[int, ...]
"""The draw that inputs come from, and their numbers in it."""


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
class KindCount:
    """How many violations there are of each kind, with the smallest of each."""

    _kinds: dict[Key, list[Any]] = field(default_factory=dict)
    _coarse: int = 0
    """0 where outputs are distinguished, 1 where only their order is, 2 where features are only counted, too."""

    def add(self, program: CompiledSpec, judgement: CaseResults, which: NDArray[np.intp], columns: Columns) -> None:
        """Count some cases, given their columns."""
        features = _differing(program, judgement, which)
        outputs = [columns["outputs", name] for name in program.finals]
        names = list(program.finals)
        if self._coarse == 0 and any(map(_is_long, outputs)):
            self._coarsen(names)
        broken = judgement.violates[:, which]
        code = np.zeros(len(which), dtype=np.int64)
        for mask in (*features.values(), *broken):
            code = code * 2 + mask
            code = np.unique(code, return_inverse=True)[1].reshape(-1)
        for column in outputs:
            number = _numbered(column)
            code = np.unique(code * (int(number.max()) + 1) + number, return_inverse=True)[1].reshape(-1)
        order = np.lexsort((columns["distance",], columns["features_changed",], code))
        firsts = order[np.unique(code[order], return_index=True)[1]]
        counts = np.bincount(code)
        conditions = [expression_text(item.condition) for item in program.spec.ensures]
        for index, count in zip(firsts.tolist(), counts.tolist(), strict=True):
            key: Key = (
                tuple(name for name, mask in features.items() if mask[index]),
                tuple(_hashable(storable(column[index])) for column in outputs),
                tuple(text for text, bad in zip(conditions, broken, strict=True) if bad[index]),
            )
            cost = (int(columns["features_changed",][index]), float(columns["distance",][index]))
            example = {path: column[index : index + 1].copy() for path, column in columns.items()}
            self._count(self._coarsened(key, names), count, cost, example)
        while len(self._kinds) > MAX_KINDS and self._coarse < 2:
            self._coarsen(names)

    def _coarsen(self, names: Sequence[str]) -> None:
        """Tell fewer kinds apart from now on, and merge those that become one."""
        self._coarse += 1
        before, self._kinds = self._kinds, {}
        for key, (count, cost, example) in before.items():
            self._count(self._coarsened(key, names), count, cost, example)

    def _count(self, key: Key, count: int, cost: tuple[int, float], example: Columns) -> None:
        entry = self._kinds.setdefault(key, [0, cost, example])
        entry[0] += count
        if cost < entry[1]:
            entry[1:] = [cost, example]

    def _coarsened(self, key: Key, names: Sequence[str]) -> Key:
        features, outputs, broken = key
        if self._coarse >= 1 and len(outputs) == len(names):
            outputs = tuple(_order(names, outputs))
        if self._coarse >= 2 and len(features) > 1:
            features = (f"{len(features)} features",)
        return features, outputs, broken

    def summary(self, names: Sequence[str]) -> tuple[dict[str, Any], ...]:
        """The kinds as plain values, the most frequent first."""
        ranked = sorted(self._kinds.items(), key=lambda item: (-item[1][0], item[1][1], str(item[0])))
        return tuple(
            {
                "count": count,
                "differs": list(features),
                **({"order": list(outputs)} if self._coarse else {"outputs": dict(zip(names, outputs, strict=True))}),
                "violates": list(broken),
                "example": _example(example),
            }
            for (features, outputs, broken), (count, _, example) in ranked[:SHOWN_KINDS]
        )


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
        All distinct violations, including those of the edge cases; and their kinds.
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
    _edge_cases: DistinctCount = field(default_factory=DistinctCount)

    def add(
        self, program: CompiledSpec, judgement: CaseResults, *, fresh: bool = False, source: str = "random"
    ) -> None:
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
        if len(new) and len(self._edge_cases):
            new = new[~self._edge_cases.has(_of_cases(chosen.take(new), draw))]
        self._keep(program, judgement, violating[new], source)

    def add_edge_cases(self, program: CompiledSpec, judgement: CaseResults, violating: NDArray[np.intp]) -> None:
        """Add edge cases that violate: they are kept with the others, but not in any count of random cases."""
        new = self._edge_cases.add(_of_cases(judgement.cases.take(violating), 0))
        self._keep(program, judgement, violating[new], "edge_case")

    def note_first(self, program: CompiledSpec, judgement: CaseResults, violating: NDArray[np.intp]) -> None:
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

    def _keep(self, program: CompiledSpec, judgement: CaseResults, which: NDArray[np.intp], source: str) -> None:
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


def is_proof(program: CompiledSpec, counterexample: Mapping[str, Any]) -> bool:
    """Whether a counterexample is proof: it violates an ``ensures`` that must always be true."""
    strict = [expression_text(item.condition) for item in program.spec.ensures if item.always]
    return any(text in counterexample["violates"] for text in strict)


def show_violations(runner: CaseRunner, violations: Sequence[Violation]) -> tuple[list[dict[str, Any]], int]:
    """Violations, computed again from their inputs and choices; and how many were, as far as the budget allows.

    One that does not occur again is left out: the model, a function or the block draws from something else than its
    seed.
    """
    while True:
        try:
            return _shown(runner, violations), len(violations)
        except BudgetSpentError:
            violations = violations[: len(violations) // 2]


def _shown(runner: CaseRunner, violations: Sequence[Violation]) -> list[dict[str, Any]]:
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
    program: CompiledSpec, judgement: CaseResults, choices: list[Any], rows: dict[str, int], index: int = 0
) -> dict[str, Any]:
    """One case of a batch, as plain values that JSON can hold."""
    batch, domain, spec = judgement.batch, judgement.domain, program.spec
    first, variables = batch.values[spec.inputs[0]], {step.name for step in spec.variables}
    return {
        "inputs": {name: domain.show(batch.values[name].data, index) for name in spec.inputs},
        "rows": rows,
        "choices": choices,
        "variables": {
            name: plain_value(value.data[index])
            for name, value in batch.values.items()
            if name in variables and is_column(value)
        },
        "outputs": {name: output_value(domain, batch.values[final], index) for name, final in program.finals.items()},
        "differs": {
            name: changes
            for name in _made_records(program, batch)
            if (changes := difference(domain, first, batch.values[name], index)) or name in program.compared
        },
        "violates": [
            expression_text(item.condition)
            for item, bad in zip(program.spec.ensures, judgement.violates, strict=True)
            if bad[index]
        ],
        "features_changed": int(judgement.changed[0, index]),
        "distance": float(np.round(judgement.changed[1, index], 12)),
    }


# ------------------------------------------------------------------------------------------------- columns and kinds


def violation_columns(program: CompiledSpec, judgement: CaseResults, which: NDArray[np.intp], source: str) -> Columns:
    """Some cases of a judged batch with all that is known about them, a column for each value."""
    batch, spec, cases = judgement.batch, program.spec, judgement.cases
    columns: dict[tuple[str, ...], NDArray[Any]] = {}
    for name, rows in zip(spec.inputs, cases.inputs, strict=True):
        columns["rows", name] = rows[which]
    for name in spec.inputs:
        columns |= _record_columns(batch.domain, name, batch.values[name].take(which))
    for number, choices in enumerate(cases.choices, start=1):
        columns["choices", str(number)] = choices[which]
    for name in _made_records(program, batch):
        columns |= _changed_columns(batch.domain, name, batch.values[spec.inputs[0]], batch.values[name], which)
    for step in spec.variables:
        value = batch.values.get(step.name)
        if value is not None and is_column(value):
            columns["variables", step.name] = value.data[which]
    for name, final in program.finals.items():
        columns["outputs", name] = _outputs(batch.domain, batch.values[final], which)
    for item, bad in zip(spec.ensures, judgement.violates, strict=True):
        columns["violates", expression_text(item.condition)] = bad[which]
    columns["features_changed",] = judgement.changed[0, which].astype(np.int64)
    columns["distance",] = np.round(judgement.changed[1, which], 12)
    columns["found",] = np.full(len(which), source, dtype=object)
    return columns


def _made_records(program: CompiledSpec, batch: CaseEvaluation) -> list[str]:
    """The records that the specification makes of its inputs, and all inputs but the first."""
    outputs = set(program.finals.values())
    first = program.spec.inputs[0]
    return [
        name for name, value in batch.values.items() if name != first and not is_column(value) and name not in outputs
    ]


def _record_columns(domain: Domain, name: str, value: CaseValues) -> dict[tuple[str, ...], NDArray[Any]]:
    """The features of an input; for anything but a row, what is shown of it, without long arrays."""
    table = _table_of(domain)
    if table is not None:
        return {("inputs", name, column): table.column(value.data, column) for column in table.whole.names}
    shown = [_short(domain, domain.show(value.data, index)) for index in range(len(value.data))]
    return _by_key(shown, ("inputs", name))


def _changed_columns(
    domain: Domain, name: str, first: CaseValues, value: CaseValues, which: NDArray[np.intp]
) -> dict[tuple[str, ...], NDArray[Any]]:
    """How a record differs from the first input."""
    table = _table_of(domain)
    before, after = first.take(which), value.take(which)
    if table is None:
        changes = [difference(domain, before, after, index) for index in range(len(which))]
        return _by_key(changes, ("differs", name))
    same_rows = np.array_equal(before.data.rows, after.data.rows)
    names: Iterable[str] = after.data.changed if same_rows else table.whole.names
    columns: dict[tuple[str, ...], NDArray[Any]] = {}
    for column in names:
        values = table.column(after.data, column)
        if after.null is not None and after.null.any():
            values = values.astype(object)
            values[after.null] = None
        columns["after", name, column] = values
    return columns


def _by_key(shown: Sequence[Mapping[str, Any]], path: tuple[str, ...]) -> dict[tuple[str, ...], NDArray[Any]]:
    keys = dict.fromkeys(key for item in shown for key in item)
    return {(*path, str(key)): _objects([item.get(key) for item in shown]) for key in keys}


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    return np.fromiter(values, dtype=object, count=len(values))


def _short(domain: Domain, shown: Mapping[str, Any]) -> dict[str, Any]:
    """What is shown of a record, without the numbers of an array."""
    numbers = {"array", "shape", "type", DomainFacts.of(domain).part}
    return {name: value for name, value in shown.items() if name not in numbers}


def _table_of(domain: Domain) -> TableDomain | None:
    inner = inner_domain(domain)
    return inner if isinstance(inner, TableDomain) else None


def _outputs(domain: Domain, value: CaseValues, which: NDArray[np.intp]) -> NDArray[Any]:
    if is_column(value):
        return np.asarray(value.data[which])
    return _objects([output_value(domain, value, index) for index in which.tolist()])


def output_value(domain: Domain, value: CaseValues, index: int) -> Any:
    """One output as JSON holds it: a plain value, a row by its features, an object by itself or by its ``repr``."""
    if value.null is not None and value.null[index]:
        return None
    if is_column(value):
        item = value.data[index]
        return plain_value(item) if _is_plain(item) else storable(item)
    one = DomainFacts.of(domain).one
    return storable(one(value.data, index)) if one is not None else _short(domain, domain.show(value.data, index))


def _is_plain(item: Any) -> bool:
    return item is None or isinstance(item, str | int | float | np.generic)


def difference(domain: Domain, before: CaseValues, after: CaseValues, index: int) -> dict[str, list[Any]]:
    """How two records differ: as the domain describes it, or every value that is shown differently."""
    if after.null is not None and after.null[index]:
        return {"record": ["as it was", None]}
    own = DomainFacts.of(domain).difference
    if own is not None:
        return dict(own(before.data, after.data, index))
    old, new = domain.show(before.data, index), domain.show(after.data, index)
    return {name: [old[name], new[name]] for name in old if old[name] != new.get(name)}


def _example(columns: Columns) -> dict[str, Any]:
    one = ViolationSet()
    one.add(columns)
    return next(iter(one))


def _differing(program: CompiledSpec, judgement: CaseResults, which: NDArray[np.intp]) -> dict[str, NDArray[np.bool_]]:
    """Which features of which records differ from the first input; empty for anything but rows."""
    batch, table = judgement.batch, _table_of(judgement.batch.domain)
    first = program.spec.inputs[0]
    records = [name for name in _made_records(program, batch) if name in program.compared]
    if table is None or not isinstance(batch.values[first].data, TableRecords):
        return {}
    before = batch.values[first].take(which).data
    masks: dict[str, NDArray[np.bool_]] = {}
    for name in records:
        for feature, mask in table.differing(before, batch.values[name].take(which).data).items():
            masks[feature if len(records) == 1 else f"{name}.{feature}"] = mask
    return masks


def _is_long(column: NDArray[Any]) -> bool:
    """Whether an output is more than a class or a number: a long text, or an object."""
    if column.dtype != object:
        return False
    values = column.tolist()
    return any(len(value) > LONGEST if isinstance(value, str) else not _is_plain(value) for value in values)


def _numbered(column: NDArray[Any]) -> NDArray[np.intp]:
    """A number for each value of a column, the same for equal values."""
    if column.dtype != object:
        return np.unique(column, return_inverse=True)[1].reshape(-1)
    numbers_of: dict[Any, int] = {}
    numbers = (numbers_of.setdefault(_hashable(storable(value)), len(numbers_of)) for value in column.tolist())
    return np.fromiter(numbers, dtype=np.intp, count=len(column))


def _hashable(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _order(names: Sequence[str], outputs: Sequence[Any]) -> list[str]:
    """How each output compares with the next, in words such as ``d1 > d2``."""
    signs = []
    for (one, left), (other, right) in pairwise(zip(names, outputs, strict=True)):
        try:
            texts = isinstance(left, str) and isinstance(right, str)
            sign = "==" if left == right else "!=" if texts else "<" if left < right else ">"
        except TypeError:
            sign = "!="
        signs.append(f"{one} {sign} {other}")
    return signs
