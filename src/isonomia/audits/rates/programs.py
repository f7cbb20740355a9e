"""A check about a program, proved: every way through it is followed, and its probability enclosed.

Where the draws of a program, or of a causal model, are normal, in steps or in categories, and what it makes of them is
piecewise linear, the probabilities of a property's events are integrals that can be enclosed with no risk of error. The
enclosures are as narrow as the effort allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf, isfinite, nextafter
from time import monotonic
from typing import Any, TypeAlias, TypeVar

import numpy as np

from isonomia.audits.protocol import Check
from isonomia.audits.rates.question import Question
from isonomia.engine.journal import Entry, exact_fraction
from isonomia.engine.observer import Observer, Progress
from isonomia.engine.seeds import root
from isonomia.errors import DataError, UsageError
from isonomia.evidence.cells import DrawCell, Masses, total_mass
from isonomia.evidence.exact import exact_truth
from isonomia.evidence.intervals import Interval, enclose, judge
from isonomia.evidence.quadrature import TooManyCellsError
from isonomia.models.structure import readable
from isonomia.populations.causal import Causal
from isonomia.populations.program import Program
from isonomia.populations.protocol import Wanted
from isonomia.populations.worlds.paths import Answer, NotExactError, PathFinder, ProgramPath, row_values
from isonomia.records.verdict import Expression, LeafRecord
from isonomia.spec.property import Property
from isonomia.spec.text import to_text
from isonomia.spec.tree import Do, Formula, Leaf, Mean, Quantity, Row, Version
from isonomia.spec.walk import columns_of, leaves_of, versions_of
from isonomia.wording import plural

__all__ = [
    "EITHER",
    "EVERY_WAY",
    "QUICK",
    "REAL_NUMBERS",
    "THOROUGH",
    "TOO_FAR_APART",
    "Known",
    "Proof",
    "ProofEffort",
    "Ways",
    "asks_for_proof",
    "follow",
    "following",
    "met",
    "narrowed_down",
    "no_proof",
    "packed_number",
    "prove",
    "proved_by",
    "sampled_since",
    "unpacked_number",
]

TOO_FAR_APART = "its numbers are too far apart for floats"
EITHER = "what could be proved allows either answer"
EVERY_WAY = "every way was followed"
REAL_NUMBERS = "program and model compute with real numbers; floats differ from them in the last digits"

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
        leaves = [None if value is None else packed_number(value) for value in self.leaves.values()]
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
            leaf: None if kept is None else unpacked_number(kept)
            for leaf, kept in zip(leaves, entry["leaves"], strict=True)
        }
        return cls(values, ways=int(entry["ways"]))


def _ends(exact: Fraction | None, low: float, high: float) -> tuple[float | None, float, float]:
    """A value in the middle, and both ends."""
    if exact is not None:
        return exact.numerator / exact.denominator, low, high
    return (low + high) / 2 if isfinite(low) and isfinite(high) else None, low, high


def packed_number(value: Known) -> list[str | None]:
    """An enclosed number as a journal keeps it."""
    return [None if value[0] is None else str(value[0]), value[1].hex(), value[2].hex()]


def unpacked_number(kept: Sequence[Any]) -> Known:
    """The enclosed number that a journal kept."""
    exact, low, high = kept
    ends = float.fromhex(low), float.fromhex(high)
    value = None if exact is None else exact_fraction(exact)
    if not ends[0] <= ends[1] or (value is not None and ends != around(value)):
        raise DataError(
            f"expected a number between its two ends in the record of a proof, the lower one first, but got {kept!r}"
        )
    return value, *ends


def around(value: Fraction) -> tuple[float, float]:
    """The floats on either side of a fraction."""
    near = value.numerator / value.denominator
    return nextafter(near, -inf), nextafter(near, inf)


def asks_for_proof(check: Check[Any]) -> bool:
    """Whether a check is to be proved if it can be: who names a device, a width or planned looks wants draws."""
    if check.population.kind not in {"program", "causal"}:
        return False
    device = getattr(check.population, "device", None)
    return check.method == "exact" or (
        check.method == "auto" and check.looks == "any" and check.stop == "decided" and device is None
    )


def no_proof(check: Check[Any], reason: str) -> UsageError:
    """There is no exact answer, and why: the reason of the proof that failed, or what kind of people there are."""
    return UsageError(
        "expected for method='exact' a census, or a program or causal model that can be followed draw by draw, but "
        f"{reason or 'the people are a ' + check.population.kind}: leave out the method"
    )


def proved_by(ways: int) -> str:
    """How it was proved, for readers."""
    return f"proved: {plural(ways, 'way', 'ways')} through the program, each with its probability"


def sampled_since(reason: str) -> str:
    """Why it was not proved, for readers."""
    return f"it was sampled, since {reason}"


@dataclass(frozen=True, slots=True)
class Ways:
    """Every way through a program, and what reads expressions on them: the model, and the columns by version.

    ``among`` is the condition to which a causal model is limited.
    """

    finder: PathFinder
    paths: Sequence[ProgramPath]
    answer: Answer | None
    among: Row | None
    versions: Mapping[Version, Sequence[str]]


def follow(
    check: Check[Any], wanted: Wanted, columns: Mapping[Version | None, Sequence[str]], effort: ProofEffort
) -> Ways:
    """Follow every way through a program, as far as the columns of each version, and the model, need it.

    Raises :class:`NotExactError` where that cannot be done; it says why.
    """
    population = check.population
    if not isinstance(population, Program | Causal):
        raise NotExactError("only programs and causal models can be followed draw by draw")
    if check.random_model and check.model is not None:
        raise NotExactError("the model may answer at random")
    population.open(root(check.seed), wanted)  # refuses interventions that mean nothing here
    answer, reads = (None, ()) if check.model is None else readable(check.model, population.names, effort.ways)
    named = [*dict.fromkeys((*columns[None], *reads))]
    versions = {
        version: [*dict.fromkeys((*asked, *reads))] for version, asked in columns.items() if version is not None
    }
    if any(not isinstance(version, Do) for version in versions):
        raise NotExactError("the property speaks of a second person")
    among = population.among if isinstance(population, Causal) else None
    if among is not None:
        named = [*dict.fromkeys((*named, *columns_of(among)))]
    began = monotonic()
    finder = PathFinder(population.world, effort.ways, lambda: monotonic() - began > check.budget.seconds)
    return Ways(finder, finder.paths(named, list(versions)), answer, among, versions)  # type: ignore[arg-type]


def prove(check: Check[Property], question: Question, observer: Observer, effort: ProofEffort) -> Proof:
    """Enclose every leaf of a question about a program, or say why that cannot be done."""
    columns = {version: asked.columns for version, asked in question.asked.items()}
    began = monotonic()
    try:
        ways = follow(check, question.wanted, columns, effort)
        cells = {leaf: _cells_of(leaf, ways) for leaf in question.leaves}
        return narrowed_down(
            lambda masses: _once(question, cells, masses, observer, len(ways.paths), began),
            lambda proof: proof.truth(question.formula) is not None,
            ways.finder.late,
            effort,
        )
    except (NotExactError, TooManyCellsError) as error:
        return Proof(reason=str(error))
    except OverflowError:
        return Proof(reason=TOO_FAR_APART)


T = TypeVar("T")


def narrowed_down(
    measure: Callable[[Masses], T], decided: Callable[[T], bool], late: Callable[[], bool], effort: ProofEffort
) -> T:
    """Enclose probabilities: narrowly at once where that is quick, else step by step until the claim is decided."""
    best, reason = None, ""
    for tolerance, points in ((TOLERANCES[-1], QUICK.points), *((each, effort.points) for each in TOLERANCES)):
        try:
            best = measure(Masses(tolerance, points, late))
        except TooManyCellsError as error:
            reason = f"it takes {error}"
            if error.hopeless and points == effort.points:
                break
            continue
        if tolerance == TOLERANCES[-1] or decided(best):
            break
    if best is None:
        raise NotExactError(reason)
    return best


def _cells_of(leaf: Leaf, ways: Ways) -> dict[Fraction, list[DrawCell]]:
    """The cells in which a leaf's condition holds, by the value of its event, or of its term, there.

    The condition comes first, and interventions after it: nobody else need be followed under them.
    """
    found: dict[Fraction, list[DrawCell]] = {}
    count = 0
    for way in ways.paths:
        for value, cell in _leaf_values(leaf, way, ways):
            found.setdefault(value, []).append(cell)
            count += 1
            ways.finder.check(count)
    return found


def _leaf_values(leaf: Leaf, way: ProgramPath, ways: Ways) -> Iterator[tuple[Fraction, DrawCell]]:
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


def met(condition: Row, path: ProgramPath, ways: Ways) -> Iterator[ProgramPath]:
    """The parts of a way on which a condition holds."""
    for value, cell in row_values(condition, path, ways.answer, path.cell):
        if _is_true(value):
            yield replace(path, cell=cell)


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
                Progress(0, inf, len(values) / len(question.leaves), monotonic() - began, following, question.counted)
            )
        values[leaf] = _mean(parts)
    return Proof(values, ways=ways)


def following() -> str:
    """What is being done, for the display of progress."""
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
        return mean, *around(mean)
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
