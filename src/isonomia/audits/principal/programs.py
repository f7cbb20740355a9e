"""Principal fairness of a program, proved: the probability of every cell of its table is enclosed, and nobody is drawn.

A subgroup's table is known up to the width of the enclosures (:data:`~isonomia.audits.proofs.TOLERANCES`). The sharp
bounds cover every table within the enclosures, so what is proved of them is proved of the program's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain
from math import inf, nextafter
from time import monotonic
from typing import Any, TypeAlias

import numpy as np

from isonomia.audits.principal.census import PrincipalCensus, in_order, nobody_with
from isonomia.audits.principal.findings import Finding, from_table
from isonomia.audits.principal.question import Coding, Key, PrincipalQuestion, refuse_many
from isonomia.audits.proofs import (
    TOO_FAR_APART,
    Known,
    ProofEffort,
    Ways,
    follow,
    following,
    met,
    narrowed_down,
    packed_number,
    unpacked_number,
)
from isonomia.audits.protocol import Check
from isonomia.engine.journal import Entry
from isonomia.engine.observer import Observer, Progress
from isonomia.errors import DataError, NumericalError
from isonomia.evidence.cells import DrawCell, LinearForm, Masses, total_mass
from isonomia.evidence.quadrature import TooManyCellsError
from isonomia.evidence.strata.worlds import Observed
from isonomia.populations.worlds.paths import NotExactError, row_values
from isonomia.spec.principal import PrincipalFairness
from isonomia.spec.tree import Column, Output, Row, Value

Cells: TypeAlias = dict[tuple[int, ...], list[DrawCell]]
"""The draws of one subgroup, by the numbers of their attribute value and their cell."""

NARROW = 1e-6
"""A table known this narrowly is judged without draws, since more would take 10^12. Changes which method decides."""


@dataclass(frozen=True, slots=True)
class ProvedTables:
    """What is known about each subgroup: the joint probability of every attribute value and cell.

    ``reason`` says why nothing is known, in words; empty where something is.
    """

    tables: Mapping[Key, Sequence[Sequence[Known]]] = field(default_factory=dict)
    reason: str = ""
    ways: int = 0

    def census(self, question: PrincipalQuestion) -> PrincipalCensus:
        """What every subgroup's table says, as if everybody had been counted."""
        keys = sorted(self.tables, key=in_order)
        return PrincipalCensus(tuple(self._finding(question, key) for key in keys), 0, interrupted=False)

    def _finding(self, question: PrincipalQuestion, key: Key) -> Finding:
        table = self.tables[key]
        for value, row in enumerate(table):
            if not any(map(_occurs, row)):
                raise nobody_with(question, key, value)
        ends = np.asarray([_shares(row) for row in table])
        low, high = (np.ascontiguousarray(ends[..., end]).reshape(question.shape.table) for end in (0, 1))
        joint = np.asarray([[_ends(*cell) for cell in row] for row in table])
        nobody = np.zeros((question.shape.attributes, question.shape.cells))
        return from_table(question, key, Observed.between(low, high), nobody, joint)

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
                f"expected the record of a proof with tables of {shape[0]} by {shape[1]} probabilities, but it has "
                "others: it is of another property"
            )
        tables = {
            tuple(key): [[unpacked_number(each) for each in row] for row in rows] for key, rows in entry["tables"]
        }
        return cls(tables, ways=int(entry["ways"]))


def prove_tables(
    check: Check[PrincipalFairness], question: PrincipalQuestion, observer: Observer, effort: ProofEffort
) -> ProvedTables:
    """Enclose the table of every subgroup of a program, or say why that cannot be done."""
    roles = question.prop.roles if not question.asks_model else question.prop.roles[:2]
    began = monotonic()
    try:
        ways = follow(check, question.wanted, {None: (*roles, *question.given)}, effort)
        found = _subgroups(check, question, ways)
        refuse_many(len(found), question.given)

        def measure(masses: Masses) -> ProvedTables:
            tables = {}
            for key, cells in found.items():
                tables[key] = _table(question, cells, masses)
                done = len(tables) / len(found)
                observer.advance(Progress(0, inf, done, monotonic() - began, following))
            occurring = {key: table for key, table in tables.items() if any(map(_occurs, chain(*table)))}
            return ProvedTables(occurring, ways=len(ways.paths))

        return narrowed_down(measure, lambda proof: proof.holds(question) is not None, ways.finder.late, effort)
    except (NotExactError, TooManyCellsError) as error:
        return ProvedTables(reason=str(error))
    except OverflowError:
        return ProvedTables(reason=TOO_FAR_APART)


def _subgroups(check: Check[PrincipalFairness], question: PrincipalQuestion, ways: Ways) -> dict[Key, Cells]:
    """The draws of every subgroup, sorted by attribute value and cell."""
    prop, outcomes = question.prop, question.shape.outcomes
    prediction: Row = Output("prediction") if question.asks_model else Column(prop.prediction)
    rows = [Column(prop.attribute), prediction, Column(prop.outcome), *(Column(name) for name in question.given)]
    given = [Coding(name, tuple(check.population.values(name))) for name in question.given]
    found: dict[Key, Cells] = {}
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
                place = (
                    _number(question.attribute, attribute),
                    _number(question.prediction, predicted) * outcomes + _number(question.outcome, outcome),
                )
                found.setdefault(key, {}).setdefault(place, []).append(cell)
                count += 1
                ways.finder.check(count)
    return found


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
    found = []
    for low, high in zip(lows, highs, strict=True):
        least, most = low + sum(highs) - high, high + sum(lows) - low
        found.append(
            (
                max(nextafter(float(low / least), -inf), 0.0) if least else 0.0,
                min(nextafter(float(high / most), inf), 1.0) if most else 1.0,
            )
        )
    return found
