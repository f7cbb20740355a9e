"""A check about a program, proved: every way through it is followed, and its probability enclosed.

Where a program, or a causal model, draws from normal, step or categorical distributions, and computes piecewise linear
functions of the draws, the probabilities of a property's events are integrals that can be enclosed with no risk of
error. The enclosures are as narrow as the effort allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf, isfinite, nextafter
from time import monotonic
from typing import Any

import numpy as np

from isonomia.audits.proofs import (
    Known,
    ProgramPaths,
    ProofEffort,
    around,
    follow,
    following,
    is_true,
    met,
    narrowed_down,
    packed_number,
    unpacked_number,
)
from isonomia.audits.protocol import Check
from isonomia.audits.rates.question import RatesQuestion
from isonomia.engine.parameters import Observer, Progress
from isonomia.errors import DataError
from isonomia.evidence.cells import DrawCell, Masses, total_mass
from isonomia.evidence.exact import BoxIntervals, enclose, exact_truth, judge
from isonomia.populations.worlds.paths import NotExactError, ProgramPath, row_values
from isonomia.records.journal import Entry
from isonomia.records.verdict import Expression, LeafRecord
from isonomia.spec.property import Property
from isonomia.spec.text import to_text
from isonomia.spec.tree import Formula, Leaf, Mean, Quantity, leaves_of, versions_of

NARROW = 1e-7
"""A width that would take 10^14 draws to reach. After a proof this narrow, no sample is drawn."""


@dataclass(frozen=True, slots=True)
class LeafProof:
    """The proved value of each leaf: a fraction, or two numbers that enclose it; ``None`` where its group is empty.

    ``reason`` says why there is no proof, in words; empty if there is a proof.
    """

    leaves: Mapping[Leaf, Known | None] = field(default_factory=dict)
    reason: str = ""
    ways: int = 0

    def truth(self, formula: Formula) -> bool | None:
        """Whether a formula holds, as far as the enclosures tell."""
        known = {leaf: value for leaf, value in self.leaves.items() if value is not None}
        exact = {leaf: value for leaf, (value, _, _) in known.items() if value is not None}
        if len(exact) == len(known):
            return exact_truth(formula, exact)
        judged = judge(formula, self.box)
        return True if judged.true.all() else False if judged.false.all() else None

    @property
    def narrow(self) -> bool:
        """Whether no feasible number of draws would tell more about any leaf."""
        return all(value is None or value[2] - value[1] <= NARROW for value in self.leaves.values())

    @property
    def box(self) -> dict[Leaf, BoxIntervals]:
        """The enclosures as intervals."""
        return {
            leaf: BoxIntervals(np.asarray([value[1]]), np.asarray([value[2]]))
            for leaf, value in self.leaves.items()
            if value is not None
        }

    def leaf(self, leaf: Leaf) -> LeafRecord:
        """The record of one leaf, without draws."""
        value = self.leaves[leaf]
        return (
            LeafRecord(to_text(leaf), 0, None, -inf, inf)
            if value is None
            else LeafRecord(to_text(leaf), 0, *_ends(*value))
        )

    def expression(self, quantity: Quantity, relation: str, threshold: float) -> Expression:
        """The record of a compared quantity."""
        text, box = to_text(quantity), self.box
        if any(leaf not in box for leaf in leaves_of(quantity)):
            return Expression(text, relation, threshold, None, -inf, inf)
        interval = enclose(quantity, box)
        return Expression(text, relation, threshold, *_ends(None, float(interval.low[0]), float(interval.high[0])))

    def pack(self) -> Entry:
        """As a journal keeps it: fractions as text, floats without loss."""
        leaves = [None if value is None else packed_number(value) for value in self.leaves.values()]
        return {"reason": self.reason, "ways": self.ways, "leaves": leaves}

    @classmethod
    def unpack(cls, entry: Entry, leaves: Sequence[Leaf]) -> LeafProof:
        """What a journal kept."""
        if entry["reason"]:
            return cls(reason=str(entry["reason"]))
        if len(entry["leaves"]) != len(leaves):
            raise DataError(
                f"expected the record of a proof of {len(leaves)} rates, but it has {len(entry['leaves'])}: "
                "it belongs to another property"
            )
        values = {
            leaf: None if number is None else unpacked_number(number)
            for leaf, number in zip(leaves, entry["leaves"], strict=True)
        }
        return cls(values, ways=int(entry["ways"]))


def _ends(exact: Fraction | None, low: float, high: float) -> tuple[float | None, float, float]:
    """A value in the middle, and both ends."""
    if exact is not None:
        return exact.numerator / exact.denominator, low, high
    return (low + high) / 2 if isfinite(low) and isfinite(high) else None, low, high


def prove(check: Check[Property], question: RatesQuestion, observer: Observer, effort: ProofEffort) -> LeafProof:
    """Enclose every leaf of a question about a program."""
    columns = {version: needed.columns for version, needed in question.asked.items()}
    began = monotonic()
    ways = follow(check, question.wanted, columns, effort)
    cells = {leaf: _cells_of(leaf, ways) for leaf in question.leaves}
    return narrowed_down(
        lambda masses: _once(question, cells, masses, observer, len(ways.paths), began),
        lambda proof: proof.truth(question.formula) is not None,
        ways.finder.late,
        effort,
    )


def _cells_of(leaf: Leaf, ways: ProgramPaths) -> dict[Fraction, list[DrawCell]]:
    """The cells in which a leaf's condition holds, by the value of its event, or of its term, there.

    The condition comes first, and interventions after it: only people who meet it are followed under them.
    """
    cells: dict[Fraction, list[DrawCell]] = {}
    count = 0
    for way in ways.paths:
        for value, cell in _leaf_values(leaf, way, ways):
            cells.setdefault(value, []).append(cell)
            count += 1
            ways.finder.check(count)
    return cells


def _leaf_values(leaf: Leaf, way: ProgramPath, ways: ProgramPaths) -> Iterator[tuple[Fraction, DrawCell]]:
    paths = [way]
    for row in (ways.among, leaf.given, leaf.term if isinstance(leaf, Mean) else leaf.event):
        if row is None:
            continue
        for version in versions_of(row):
            if version not in way.versions and version not in paths[0].versions:
                paths = [after for path in paths for after in ways.finder.under(path, version, ways.versions[version])]  # type: ignore[arg-type]
            if not paths:
                return
        if row is leaf.given or row is ways.among:
            paths = [after for path in paths for after in met(row, path, ways)]
            if not paths:
                return
            continue
        for path in paths:
            for value, cell in row_values(row, path, ways.answer, path.cell):
                yield _value_of(leaf, value), cell


def _value_of(leaf: Leaf, value: Any) -> Fraction:
    if not isinstance(leaf, Mean):
        return Fraction(int(is_true(value)))
    if isinstance(value, str) or (not isinstance(value, bool) and value.slopes):
        raise NotExactError("the mean of a number that is drawn")
    return Fraction(int(value)) if isinstance(value, bool) else value.constant


def _once(
    question: RatesQuestion,
    cells: Mapping[Leaf, Mapping[Fraction, Sequence[DrawCell]]],
    masses: Masses,
    observer: Observer,
    ways: int,
    began: float,
) -> LeafProof:
    values: dict[Leaf, Known | None] = {}
    for leaf in question.leaves:
        parts = {}
        for value, listed in cells[leaf].items():
            parts[value] = total_mass([masses.of(cell) for cell in listed])
            observer.advance(
                Progress(0, inf, len(values) / len(question.leaves), monotonic() - began, following, question.counted)
            )
        values[leaf] = _mean(parts)
    return LeafProof(values, ways=ways)


def _mean(
    parts: Mapping[Fraction, Known],
) -> Known | None:
    """The mean of a value that is known on each part; ``None`` where all parts together have probability 0.

    The share of one value is enclosed by its least mass with the greatest of the others, and vice versa.
    """
    exact = {value: mass for value, (mass, _, _) in parts.items() if mass is not None}
    if len(exact) == len(parts):
        whole = sum(exact.values(), Fraction(0))
        if not whole:
            return None
        mean = sum((value * mass for value, mass in exact.items()), Fraction(0)) / whole
        return mean, *around(mean)
    if sum(low for _, low, _ in parts.values()) <= 0:
        if sum(high for _, _, high in parts.values()) <= 1e-300:
            return None
        return None, float(min(parts)), float(max(parts))
    return None, _extreme(parts, least=True), _extreme(parts, least=False)


def _extreme(parts: Mapping[Fraction, Known], *, least: bool) -> float:
    """The least, or the greatest, mean that masses within their enclosures can give.

    It is reached with the greatest masses on one side of some value and the least on the other.
    """
    order = sorted(parts, reverse=not least)
    results = []
    for cut in range(len(order) + 1):
        ends = [parts[value][1:] for value in order]
        masses = [Fraction(high if rank < cut else low) for rank, (low, high) in enumerate(ends)]
        whole = sum(masses, Fraction(0))
        if whole:
            results.append(sum((value * mass for value, mass in zip(order, masses, strict=True)), Fraction(0)) / whole)
    best = min(results) if least else max(results)
    near = best.numerator / best.denominator
    return nextafter(near, -inf if least else inf)
