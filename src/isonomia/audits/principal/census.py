"""The exact check of a census: all rows are counted, nothing is estimated.

Principal fairness of a program, proved: the probability of every cell of its table is enclosed, without sampling.

A subgroup's table is known up to the width of the enclosures (:data:`~isonomia.audits.proofs.TOLERANCES`). The sharp
bounds cover every table within the enclosures, so what is proved of them is proved of the program's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain
from math import inf, nextafter
from time import monotonic
from typing import Any, TypeAlias

import numpy as np

from isonomia.audits.people import batch_size, narrowed
from isonomia.audits.pieces import CensusCount, RowCounter, count_population, rows_for_engine
from isonomia.audits.principal.findings import SubgroupFinding, from_table, subgroup
from isonomia.audits.principal.question import Coding, Key, PrincipalQuestion, refuse_many
from isonomia.audits.principal.sampling import Counts, count
from isonomia.audits.proofs import (
    Known,
    ProgramPaths,
    ProofEffort,
    follow,
    following,
    met,
    narrowed_down,
    packed_number,
    unpacked_number,
)
from isonomia.audits.protocol import Check
from isonomia.engine.parameters import Observer, Progress, root
from isonomia.errors import DataError, NumericalError
from isonomia.evidence.cells import DrawCell, LinearForm, Masses, total_mass
from isonomia.evidence.strata.worlds import Observed
from isonomia.models.session import ModelSession
from isonomia.populations.cells import cell_batch
from isonomia.populations.protocol import Population
from isonomia.populations.worlds.paths import NotExactError, row_values
from isonomia.records.journal import Entry
from isonomia.spec.principal import PrincipalFairness
from isonomia.spec.tree import Column, Output, Row, Value


@dataclass(frozen=True, slots=True, eq=False)
class PrincipalCensus:
    """The result: a finding for each subgroup, how many people were counted, and whether Ctrl-C stopped it."""

    findings: tuple[SubgroupFinding, ...]
    people: int
    interrupted: bool

    @property
    def holds(self) -> bool | None:
        """``False`` where no fair world produces a subgroup's table; ``True`` where only fair ones produce each."""
        answers = {finding.holds for finding in self.findings}
        if self.interrupted or not answers or any(each.table and each.table.contradicts for each in self.findings):
            return None
        return False if False in answers else True if answers == {True} else None


def count_census(check: Check[PrincipalFairness], question: PrincipalQuestion, observer: Observer) -> PrincipalCensus:
    """Count every row and answer for every subgroup, without any risk."""
    size = check.population.size
    assert size is not None, "only a population of a known size can be counted"
    counted = count_population(
        check,
        RowCounter(_batches, question, Counts(), _added, _packed, _unpacked),
        size,
        observer,
        pack=lambda counted: {"people": counted.people, **_packed(counted.counts)},
        unpack=lambda entry: _unpacked_whole(question, entry),
    )
    if counted.interrupted:
        return PrincipalCensus((), counted.people, interrupted=True)
    keys = sorted(counted.counts, key=in_order)
    findings = tuple(_finding(question, key, counted.counts) for key in keys)
    return PrincipalCensus(findings, counted.people, interrupted=False)


def _batches(
    question: PrincipalQuestion, session: ModelSession | None, census: Population, begin: int, end: int
) -> Iterator[tuple[int, Counts]]:
    """The rows in parts: the size and the counts of each part; an engine counts all rows in one part."""
    roles = (*question.prop.roles, *question.given)
    rows = rows_for_engine(session, census, begin, end)
    cells = None if rows is None else cell_batch(rows, [], by=[name for name in census.names if name in roles])
    with suppress(DataError):  # a value to be refused is found again, with its row
        if cells is not None:
            yield end - begin, count(question, cells.table, None, cells.n)
            return
    wanted = narrowed(question.wanted, roles, None if session is None else session.model, census.names)
    source, at_once = census.open(root(0), wanted), batch_size(census)
    for start in range(begin, end, at_once):
        table = source.batch(start, min(at_once, end - start), np.random.default_rng(0))
        yield table.rows, count(question, table, session)


def _added(one: Counts, other: Counts) -> Counts:
    return Counts({**one, **{key: one[key] + seen if key in one else seen for key, seen in other.items()}})


def _packed(counts: Counts) -> Entry:
    return {"counts": [[list(key), seen.astype(np.int64).tolist()] for key, seen in counts.items()]}


def _unpacked(entry: Entry) -> Counts:
    return Counts({tuple(key): np.asarray(seen, dtype=float) for key, seen in entry["counts"]})


def _unpacked_whole(question: PrincipalQuestion, entry: Entry) -> CensusCount[Counts]:
    shape = question.shape.attributes, question.shape.cells
    counts = _unpacked(entry)
    whole = sum(seen.sum() for seen in counts.values())
    if any(seen.shape != shape or (seen < 0).any() for seen in counts.values()) or whole != entry["people"]:
        raise DataError(
            f"expected counts of shape {shape} that add up to the {entry['people']:,} people of the record, but they "
            f"add up to {whole:,.0f}"
        )
    return CensusCount(entry["people"], counts)


def _finding(question: PrincipalQuestion, key: Key, counts: Counts) -> SubgroupFinding:
    people = counts[key].sum(axis=1)
    if not people.all():
        raise no_rows_with(question, key, int(np.argmin(people)))
    return from_table(question, key, Observed.from_counts(counts[key].reshape(question.shape.table)), counts[key])


def no_rows_with(question: PrincipalQuestion, key: Key, value: int) -> DataError:
    """The error for a subgroup in which nothing can be compared, since no row has an attribute value."""
    return DataError(
        f"expected people with every value of {question.attribute.name} in each subgroup, but no row of "
        f"{subgroup(question, key)} has {question.attribute.values[value]!r}: leave a column out of given, or merge "
        "its values"
    )


def in_order(key: Key) -> tuple[tuple[bool, object], ...]:
    """Numbers before text, each ascending."""
    return tuple((isinstance(value, str), value) for value in key)


Cells: TypeAlias = dict[tuple[int, ...], list[DrawCell]]
"""The draws of one subgroup, by the numbers of their attribute value and their cell."""

NARROW = 1e-6
"""A table known this narrowly is judged without draws, since more would take 10^12. Changes which method decides."""


@dataclass(frozen=True, slots=True)
class ProvedTables:
    """The findings about each subgroup: the joint probability of every attribute value and cell.

    ``reason`` says why nothing is known, in words; empty where something is.
    """

    tables: Mapping[Key, Sequence[Sequence[Known]]] = field(default_factory=dict)
    reason: str = ""
    ways: int = 0

    def census(self, question: PrincipalQuestion) -> PrincipalCensus:
        """The findings of every subgroup's table, as if all rows had been counted."""
        keys = sorted(self.tables, key=in_order)
        return PrincipalCensus(tuple(self._finding(question, key) for key in keys), 0, interrupted=False)

    def _finding(self, question: PrincipalQuestion, key: Key) -> SubgroupFinding:
        table = self.tables[key]
        for value, row in enumerate(table):
            if not any(map(_occurs, row)):
                raise no_rows_with(question, key, value)
        ends = np.asarray([_shares(row) for row in table])
        low, high = (np.ascontiguousarray(ends[..., end]).reshape(question.shape.table) for end in (0, 1))
        joint = np.asarray([[_ends(*cell) for cell in row] for row in table])
        no_rows = np.zeros((question.shape.attributes, question.shape.cells))
        return from_table(question, key, Observed.between(low, high), no_rows, joint)

    def holds(self, question: PrincipalQuestion) -> bool | None:
        """The answer; ``None`` also where the tables are too near to contradictory for linear programs."""
        try:
            return self.census(question).holds
        except NumericalError:
            return None

    @property
    def narrow(self) -> bool:
        """Whether no feasible number of draws would tell more."""
        ends = [end for table in self.tables.values() for row in table for end in _shares(row)]
        return all(high - low <= NARROW for low, high in ends)

    def pack(self) -> Entry:
        """As a journal keeps it."""
        tables = [
            [list(key), [[packed_number(each) for each in row] for row in rows]] for key, rows in self.tables.items()
        ]
        return {"reason": self.reason, "ways": self.ways, "tables": tables}

    @classmethod
    def unpack(cls, entry: Entry, question: PrincipalQuestion) -> ProvedTables:
        """What a journal kept."""
        if entry["reason"]:
            return cls(reason=str(entry["reason"]))
        shape = question.shape.attributes, question.shape.cells
        if any(len(rows) != shape[0] or any(len(row) != shape[1] for row in rows) for _, rows in entry["tables"]):
            raise DataError(
                f"expected the record of a proof with tables of {shape[0]} by {shape[1]} probabilities, but it "
                "has others: it belongs to another property"
            )
        tables = {
            tuple(key): [[unpacked_number(each) for each in row] for row in rows] for key, rows in entry["tables"]
        }
        return cls(tables, ways=int(entry["ways"]))


def prove_tables(
    check: Check[PrincipalFairness], question: PrincipalQuestion, observer: Observer, effort: ProofEffort
) -> ProvedTables:
    """Enclose the table of every subgroup of a program."""
    roles = question.prop.roles if not question.asks_model else question.prop.roles[:2]
    began = monotonic()
    ways = follow(check, question.wanted, {None: (*roles, *question.given)}, effort)
    cells_by_key = _subgroups(check, question, ways)
    refuse_many(len(cells_by_key), question.given)

    def measure(masses: Masses) -> ProvedTables:
        tables = {}
        for key, cells in cells_by_key.items():
            tables[key] = _table(question, cells, masses)
            done = len(tables) / len(cells_by_key)
            observer.advance(Progress(0, inf, done, monotonic() - began, following))
        occurring = {key: table for key, table in tables.items() if any(map(_occurs, chain(*table)))}
        return ProvedTables(occurring, ways=len(ways.paths))

    return narrowed_down(measure, lambda proof: proof.holds(question) is not None, ways.finder.late, effort)


def _subgroups(check: Check[PrincipalFairness], question: PrincipalQuestion, ways: ProgramPaths) -> dict[Key, Cells]:
    """The draws of every subgroup, sorted by attribute value and cell."""
    prop, outcomes = question.prop, question.shape.outcomes
    prediction: Row = Output("prediction") if question.asks_model else Column(prop.prediction)
    rows = [Column(prop.attribute), prediction, Column(prop.outcome), *(Column(name) for name in question.given)]
    given = [Coding(name, tuple(check.population.values(name))) for name in question.given]
    cells_by_key: dict[Key, Cells] = {}
    count = 0
    for way in ways.paths:
        for path in [way] if ways.among is None else met(ways.among, way, ways):
            states: list[tuple[tuple[Any, ...], DrawCell]] = [((), path.cell)]
            for row in rows:
                states = [
                    ((*values, value), after)
                    for values, at in states
                    for value, after in row_values(row, path, ways.answer, at)
                ]
            for (attribute, predicted, outcome, *others), cell in states:
                key = tuple(_known(coding, value) for coding, value in zip(given, others, strict=True))
                numbers = (
                    _number(question.attribute, attribute),
                    _number(question.prediction, predicted) * outcomes + _number(question.outcome, outcome),
                )
                cells_by_key.setdefault(key, {}).setdefault(numbers, []).append(cell)
                count += 1
                ways.finder.check(count)
    return cells_by_key


def _number(coding: Coding, value: Any) -> int:
    """The number of a value; one that is not listed is refused, as it is when drawn."""
    plain = _known(coding, value)
    if plain not in coding.values:
        listed = ", ".join(map(repr, coding.values))
        raise DataError(
            f"expected {coding.name} to be one of {listed}, but got {plain!r}: list all of them, "
            f"values={{{coding.name!r}: [...]}}"
        )
    return coding.values.index(plain)


def _known(coding: Coding, value: Any) -> Value:
    """A value as the population writes it."""
    if isinstance(value, LinearForm):
        if value.slopes:
            raise NotExactError(f"{coding.name} is a number that is drawn")
        value = value.constant
        value = int(value) if value.denominator == 1 else float(value)
    return next((known for known in coding.values if known == value), value)


def _table(question: PrincipalQuestion, cells: Cells, masses: Masses) -> list[list[Known]]:
    shape = question.shape
    return [
        [total_mass([masses.of(cell) for cell in cells.get((attribute, number), ())]) for number in range(shape.cells)]
        for attribute in range(shape.attributes)
    ]


def _occurs(known: Known) -> bool:
    """Whether a probability may be positive, beyond what rounding makes of zero."""
    exact, _, high = known
    return high > 1e-300 if exact is None else exact > 0


def _ends(exact: Fraction | None, low: float, high: float) -> tuple[float, float]:
    return (low, high) if exact is None else (float(exact), float(exact))


def _shares(row: Sequence[Known]) -> list[tuple[float, float]]:
    """The two numbers between which each share of the sum lies."""
    exact = [value for value, _, _ in row if value is not None]
    if len(exact) == len(row):
        whole = sum(exact, Fraction(0))
        return [(float(value / whole), float(value / whole)) if whole else (0.0, 1.0) for value in exact]
    lows, highs = [Fraction(low) for _, low, _ in row], [Fraction(high) for _, _, high in row]
    shares = []
    for low, high in zip(lows, highs, strict=True):
        least, most = low + sum(highs) - high, high + sum(lows) - low
        shares.append(
            (
                max(nextafter(float(low / least), -inf), 0.0) if least else 0.0,
                min(nextafter(float(high / most), inf), 1.0) if most else 1.0,
            )
        )
    return shares
