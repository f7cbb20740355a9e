"""What proofs about programs share: when to try one, how to follow every way, and how narrowly to enclose.

A proof encloses probabilities instead of drawing people. What is enclosed differs by audit: the rates of a property
(:mod:`isonomia.audits.rates.programs`), or the tables of principal fairness
(:mod:`isonomia.audits.principal.census`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, nextafter
from time import monotonic
from typing import Any, TypeAlias, TypeVar

from isonomia.audits.protocol import Check
from isonomia.engine.parameters import root
from isonomia.errors import DataError
from isonomia.evidence.cells import Masses
from isonomia.evidence.quadrature import TooManyCellsError
from isonomia.models.structure import readable
from isonomia.populations.causal import Causal
from isonomia.populations.program import Program
from isonomia.populations.protocol import Wanted
from isonomia.populations.worlds.paths import Answer, NotExactError, PathFinder, ProgramPath, row_values
from isonomia.records.journal import exact_fraction
from isonomia.spec.tree import Do, Row, Version, columns_of
from isonomia.wording import plural

EVERY_WAY = "all paths were enumerated"
REAL_NUMBERS = "program and model compute with real numbers; floats differ from them in the last digits"

TOLERANCES = (1e-3, 1e-6, 1e-9)
"""How wide the enclosure of a polytope's probability may be, one after the other until the claim is decided."""

Known: TypeAlias = tuple[Fraction | None, float, float]
"""A number: the fraction that it is, where that is known, and two floats between which it lies."""


@dataclass(frozen=True, slots=True)
class ProofEffort:
    """How much a proof may take: ways through the program, and points of integration.

    These are counts, not times, so that the same check is always decided in the same way. They change which method
    decides, never the answer.
    """

    ways: int
    points: int


QUICK = ProofEffort(ways=4_000, points=2**22)
"""About as much as bets would take: half a second at the most."""

THOROUGH = ProofEffort(ways=30_000, points=2**29)
"""Minutes, where an exact answer is demanded."""


def proved_by(ways: int) -> str:
    """How it was proved, for readers."""
    return f"proved: {plural(ways, 'way', 'ways')} through the program, each with its probability"


@dataclass(frozen=True, slots=True)
class ProgramPaths:
    """Every way through a program, and what evaluates expressions on them: the model, and the columns by version.

    ``among`` is the condition to which a causal model is limited.
    """

    finder: PathFinder
    paths: Sequence[ProgramPath]
    answer: Answer | None
    among: Row | None
    versions: Mapping[Version, Sequence[str]]


def follow(
    check: Check[Any], wanted: Wanted, columns: Mapping[Version | None, Sequence[str]], effort: ProofEffort
) -> ProgramPaths:
    """Follow every way through a program, as far as the columns of each version, and the model, need it.

    Raises :class:`NotExactError` where that cannot be done; it says why.
    """
    population = check.population
    if not isinstance(population, Program | Causal):
        raise NotExactError("only programs and causal models can be enumerated draw by draw")
    if check.random_model and check.model is not None:
        raise NotExactError("the model may answer at random")
    population.open(root(check.seed), wanted)  # refuses interventions that mean nothing here
    answer, reads = (None, ()) if check.model is None else readable(check.model, population.names, effort.ways)
    named = [*dict.fromkeys((*columns[None], *reads))]
    versions = {
        version: [*dict.fromkeys((*needed, *reads))] for version, needed in columns.items() if version is not None
    }
    if any(not isinstance(version, Do) for version in versions):
        raise NotExactError("the property compares with a second person")
    among = population.among if isinstance(population, Causal) else None
    if among is not None:
        named = [*dict.fromkeys((*named, *columns_of(among)))]
    began = monotonic()
    finder = PathFinder(population.world, effort.ways, lambda: monotonic() - began > check.budget.seconds)
    return ProgramPaths(finder, finder.paths(named, list(versions)), answer, among, versions)  # type: ignore[arg-type]


def met(condition: Row, path: ProgramPath, ways: ProgramPaths) -> Iterator[ProgramPath]:
    """The parts of a way on which a condition holds."""
    for value, cell in row_values(condition, path, ways.answer, path.cell):
        if is_true(value):
            yield replace(path, cell=cell)


def is_true(value: Any) -> bool:
    """Whether a value on a way is true; a number counts where it is 0 or 1."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) or value.slopes or value.constant not in {0, 1}:
        raise NotExactError("a condition is a number that is neither 0 nor 1")
    return bool(value.constant)


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


def following() -> str:
    """What is being done, for the display of progress."""
    return "enumerating the paths of the program"


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
