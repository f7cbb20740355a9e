"""A check about a program, proved: every way through it is followed, and its probability enclosed.

Where the draws of a program, or of a causal model, are normal, in steps or in categories, and what it makes of them is
piecewise linear, the probabilities of a property's events are integrals that can be enclosed with no risk of error. The
enclosures are as narrow as the effort allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf, isfinite, nextafter
from time import monotonic
from typing import Any, TypeAlias

import numpy as np

from isonomia.audits.protocol import Check
from isonomia.audits.rates.question import Question
from isonomia.engine.journal import Entry, exact_fraction
from isonomia.engine.observer import Observer, Progress
from isonomia.engine.seeds import root
from isonomia.errors import DataError
from isonomia.evidence.cells import DrawCell, Masses, total_mass
from isonomia.evidence.exact import exact_truth
from isonomia.evidence.intervals import Interval, enclose, judge
from isonomia.evidence.quadrature import TooManyCellsError
from isonomia.models.structure import readable
from isonomia.populations.causal import Causal
from isonomia.populations.program import Program
from isonomia.populations.worlds.paths import Answer, NotExactError, PathFinder, ProgramPath, row_values
from isonomia.records.verdict import Expression, LeafRecord
from isonomia.spec.property import Property
from isonomia.spec.text import to_text
from isonomia.spec.tree import Do, Formula, Leaf, Mean, Quantity, Row, Version
from isonomia.spec.walk import columns_of, leaves_of, versions_of

__all__ = ["QUICK", "THOROUGH", "Proof", "ProofEffort", "prove"]

TOLERANCES = (1e-3, 1e-6, 1e-9)
"""How wide the enclosure of a polytope's probability may be, one after the other until the claim is decided."""


NARROW = 1e-7
"""A width that no number of draws reaches: 10^14 of them would. Where what is proved is as narrow, nobody is drawn."""

Known: TypeAlias = tuple[Fraction | None, float, float]
"""A number as a fraction, where it is one that is known, and two floats between which it lies."""


@dataclass(frozen=True, slots=True)
class ProofEffort:
    """How much a proof may take: ways through the program, and points of integration.

    They are counts and not times, so that the same check is always decided in the same way. They change who decides,
    never the answer.
    """

    ways: int
    points: int


QUICK = ProofEffort(ways=4_000, points=2**22)
"""About as much as bets would take: half a second at the most."""

THOROUGH = ProofEffort(ways=30_000, points=2**29)
"""Minutes, for who asks for an exact answer."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What is known of each leaf: a fraction, or two numbers between which its value lies; ``None`` if it has nobody.

    ``reason`` says why there is no proof, in words; empty where there is one.
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
        found = judge(formula, self.box)
        return True if found.true.all() else False if found.false.all() else None

    @property
    def narrow(self) -> bool:
        """Whether more draws than anybody makes would tell no more of any leaf."""
        return all(value is None or value[2] - value[1] <= NARROW for value in self.leaves.values())

    @property
    def box(self) -> dict[Leaf, Interval]:
        """The enclosures, as the evidence takes them."""
        return {
            leaf: Interval(np.asarray([value[1]]), np.asarray([value[2]]))
            for leaf, value in self.leaves.items()
            if value is not None
        }

    def leaf(self, leaf: Leaf) -> LeafRecord:
        """What is known of one leaf; nobody was drawn for it."""
        value = self.leaves[leaf]
        return (
            LeafRecord(to_text(leaf), 0, None, -inf, inf)
            if value is None
            else LeafRecord(to_text(leaf), 0, *_ends(*value))
        )

    def expression(self, quantity: Quantity, relation: str, threshold: float) -> Expression:
        """What is known of a compared quantity."""
        text, box = to_text(quantity), self.box
        if any(leaf not in box for leaf in leaves_of(quantity)):
            return Expression(text, relation, threshold, None, -inf, inf)
        found = enclose(quantity, box)
        return Expression(text, relation, threshold, *_ends(None, float(found.low[0]), float(found.high[0])))

    def pack(self) -> Entry:
        """As a journal keeps it: fractions as text, floats without loss."""
        leaves = [
            None if value is None else [None if value[0] is None else str(value[0]), value[1].hex(), value[2].hex()]
            for value in self.leaves.values()
        ]
        return {"reason": self.reason, "ways": self.ways, "leaves": leaves}

    @classmethod
    def unpack(cls, entry: Entry, leaves: Sequence[Leaf]) -> Proof:
        """What a journal kept."""
        if entry["reason"]:
            return cls(reason=str(entry["reason"]))
        if len(entry["leaves"]) != len(leaves):
            raise DataError(
                f"expected the record of a proof of {len(leaves)} rates, but it has {len(entry['leaves'])}: it is of "
                "another property"
            )
        values = {
            leaf: None if kept is None else _unpacked(kept) for leaf, kept in zip(leaves, entry["leaves"], strict=True)
        }
        return cls(values, ways=int(entry["ways"]))


def _ends(exact: Fraction | None, low: float, high: float) -> tuple[float | None, float, float]:
    """A value in the middle, and both ends."""
    if exact is not None:
        return exact.numerator / exact.denominator, low, high
    return (low + high) / 2 if isfinite(low) and isfinite(high) else None, low, high


def _unpacked(kept: Sequence[Any]) -> Known:
    exact, low, high = kept
    ends = float.fromhex(low), float.fromhex(high)
    if not ends[0] <= ends[1]:
        raise DataError(
            f"expected the lower end of a rate before the upper one in the record of a proof, but got {kept!r}"
        )
    return None if exact is None else exact_fraction(exact), *ends


def prove(check: Check[Property], question: Question, observer: Observer, effort: ProofEffort) -> Proof:
    """Enclose every leaf of a question about a program, or say why that cannot be done."""
    population = check.population
    if not isinstance(population, Program | Causal):
        return Proof(reason="only programs and causal models can be followed draw by draw")
    if check.random_model:
        return Proof(reason="the model may answer at random")
    population.open(root(check.seed), question.wanted)  # refuses interventions that mean nothing here
    try:
        answer, reads = (None, ()) if check.model is None else readable(check.model, population.names, effort.ways)
        named = [*dict.fromkeys((*question.asked[None].columns, *reads))]
        versions = {
            version: [*dict.fromkeys((*asked.columns, *reads))]
            for version, asked in question.asked.items()
            if version is not None
        }
        others = [version for version in versions if not isinstance(version, Do)]
        if others:
            raise NotExactError("the property speaks of a second person")
        among = population.among if isinstance(population, Causal) else None
        if among is not None:
            named = [*dict.fromkeys((*named, *columns_of(among)))]
        began = monotonic()
        finder = PathFinder(population.world, effort.ways, lambda: monotonic() - began > check.budget.seconds)
        ways = finder.paths(named, list(versions))  # type: ignore[arg-type]
        cells = {leaf: _cells_of(leaf, ways, finder, versions, among, answer) for leaf in question.leaves}
        return _enclosed(question, cells, observer, effort, finder, len(ways))
    except (NotExactError, TooManyCellsError) as error:
        return Proof(reason=str(error))
    except OverflowError:
        return Proof(reason="its numbers are too far apart for floats")


def _cells_of(
    leaf: Leaf,
    ways: Sequence[ProgramPath],
    finder: PathFinder,
    versions: Mapping[Version, Sequence[str]],
    among: Row | None,
    answer: Answer | None,
) -> dict[Fraction, list[DrawCell]]:
    """The cells in which a leaf's condition holds, by the value of its event, or of its term, there.

    The condition comes first, and interventions after it: nobody else need be followed under them.
    """
    found: dict[Fraction, list[DrawCell]] = {}
    count = 0
    for way in ways:
        for value, cell in _leaf_values(leaf, way, finder, versions, among, answer):
            found.setdefault(value, []).append(cell)
            count += 1
            finder.check(count)
    return found


def _leaf_values(
    leaf: Leaf,
    way: ProgramPath,
    finder: PathFinder,
    versions: Mapping[Version, Sequence[str]],
    among: Row | None,
    answer: Answer | None,
) -> Iterator[tuple[Fraction, DrawCell]]:
    paths = [way]
    for row in (among, leaf.given, leaf.term if isinstance(leaf, Mean) else leaf.event):
        if row is None:
            continue
        for version in versions_of(row):
            if version not in way.versions and version not in paths[0].versions:
                paths = [after for path in paths for after in finder.under(path, version, versions[version])]  # type: ignore[arg-type]
            if not paths:
                return
        if row is leaf.given or row is among:
            met = [(path, found) for path in paths for found in row_values(row, path, answer, path.cell)]
            paths = [replace(path, cell=cell) for path, (value, cell) in met if _is_true(value)]
            if not paths:
                return
            continue
        for path in paths:
            for value, cell in row_values(row, path, answer, path.cell):
                yield _value_of(leaf, value), cell


def _value_of(leaf: Leaf, value: Any) -> Fraction:
    if not isinstance(leaf, Mean):
        return Fraction(int(_is_true(value)))
    if isinstance(value, str) or (not isinstance(value, bool) and value.slopes):
        raise NotExactError("the mean of a number that is drawn")
    return Fraction(int(value)) if isinstance(value, bool) else value.constant


def _is_true(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) or value.slopes or value.constant not in {0, 1}:
        raise NotExactError("a condition is a number that is neither 0 nor 1")
    return bool(value.constant)


def _enclosed(
    question: Question,
    cells: Mapping[Leaf, Mapping[Fraction, Sequence[DrawCell]]],
    observer: Observer,
    effort: ProofEffort,
    finder: PathFinder,
    ways: int,
) -> Proof:
    """Enclose the leaves: narrowly at once where that is quick, else step by step until the claim is decided."""
    began, best = monotonic(), None
    for tolerance, points in ((TOLERANCES[-1], QUICK.points), *((each, effort.points) for each in TOLERANCES)):
        try:
            best = _once(question, cells, Masses(tolerance, points, finder.late), observer, ways, began)
        except TooManyCellsError as error:
            reason = f"it takes {error}"
            if error.hopeless and points == effort.points:
                break
            continue
        if tolerance == TOLERANCES[-1] or best.truth(question.formula) is not None:
            break
    return best or Proof(reason=reason)


def _once(
    question: Question,
    cells: Mapping[Leaf, Mapping[Fraction, Sequence[DrawCell]]],
    masses: Masses,
    observer: Observer,
    ways: int,
    began: float,
) -> Proof:
    values: dict[Leaf, Known | None] = {}
    for leaf in question.leaves:
        parts = {}
        for value, listed in cells[leaf].items():
            parts[value] = total_mass([masses.of(cell) for cell in listed])
            observer.advance(
                Progress(0, inf, len(values) / len(question.leaves), monotonic() - began, _following, question.counted)
            )
        values[leaf] = _mean(parts)
    return Proof(values, ways=ways)


def _following() -> str:
    return "following every way through the program"


def _mean(
    parts: Mapping[Fraction, Known],
) -> Known | None:
    """The mean of a value that is known on each part; ``None`` where all of them together have no probability.

    The share of one value is enclosed by what is least of it and most of the others, and the other way round.
    """
    exact = {value: mass for value, (mass, _, _) in parts.items() if mass is not None}
    if len(exact) == len(parts):
        whole = sum(exact.values(), Fraction(0))
        if not whole:
            return None
        mean = sum((value * mass for value, mass in exact.items()), Fraction(0)) / whole
        near = mean.numerator / mean.denominator
        return mean, nextafter(near, -inf), nextafter(near, inf)
    if sum(low for _, low, _ in parts.values()) <= 0:
        if sum(high for _, _, high in parts.values()) <= 1e-300:
            return None
        return None, float(min(parts)), float(max(parts))
    return None, _extreme(parts, least=True), _extreme(parts, least=False)


def _extreme(parts: Mapping[Fraction, Known], *, least: bool) -> float:
    """The least, or the greatest, mean that masses within their enclosures can give.

    It is reached with the most of the values on one side of some point and the least of those on the other.
    """
    order = sorted(parts, reverse=not least)
    found = []
    for cut in range(len(order) + 1):
        ends = [parts[value][1:] for value in order]
        masses = [Fraction(high if rank < cut else low) for rank, (low, high) in enumerate(ends)]
        whole = sum(masses, Fraction(0))
        if whole:
            found.append(sum((value * mass for value, mass in zip(order, masses, strict=True)), Fraction(0)) / whole)
    best = min(found) if least else max(found)
    near = best.numerator / best.denominator
    return nextafter(near, -inf if least else inf)
