"""The syntax tree of a program that draws people: expressions, draws and statements.

Frozen values, compared by content. A *draw* has a *site*, which names the noise behind it: the variable that it helps
to set, and how many draws for that variable come before it on its path. The two branches of an ``if`` give the same
site to draws that correspond to each other, so that a person's noise also has a meaning in the branch not taken.
"""

# ruff: noqa: RUF009  (a place defaults to a field made by a function, which is immutable)

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal as OneOf
from typing import TypeAlias

from isonomia.errors import Place
from isonomia.spec.tree import children

Kind: TypeAlias = OneOf["number", "truth", "text"]
Site: TypeAlias = tuple[str, int]

MARKS: dict[str, str] = {"sensitiveAttribute": "minority", "qualified": "qualified", "fairnessTarget": "target"}
"""The calls that mark a condition, and the column that each of them sets."""


def _place() -> Place | None:
    return field(default=None, compare=False, repr=False, kw_only=True)


# ---------------------------------------------------------------------------- expressions


@dataclass(frozen=True, slots=True)
class Number:
    """A number written out."""

    value: float
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Boolean:
    """``True`` or ``False``."""

    value: bool
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Text:
    """Text in quotation marks; only in causal equations, where it is compared with a category."""

    value: str
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Reference:
    """The value of a variable."""

    name: str
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class UnaryMinus:
    """``- operand``."""

    operand: Expression
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class BinaryOperation:
    """``left + right`` and the like."""

    sign: OneOf["+", "-", "*", "/"]
    left: Expression
    right: Expression
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Chain:
    """``first < second <= third``: every link must hold, and each operand is evaluated once."""

    first: Expression
    rest: tuple[tuple[OneOf["<", "<=", ">", ">=", "==", "!="], Expression], ...]
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class BooleanOperation:
    """Two or more conditions joined by one connective; all of them are evaluated."""

    connective: OneOf["and", "or"]
    operands: tuple[Expression, ...]
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class LogicalNot:
    """``not operand``."""

    operand: Expression
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Choice:
    """``then if condition else otherwise``; only in causal equations."""

    condition: Expression
    then: Expression
    otherwise: Expression
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Gaussian:
    """``gaussian(mean, variance)``: a normal draw."""

    mean: Expression
    variance: Expression
    site: Site
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class StepDensity:
    """``step([(low, high, p), ...])``: a draw whose density is constant on each cell.

    ``cells`` are in ascending order, do not overlap, have ``low < high``, and their probabilities add up to 1.
    """

    cells: tuple[tuple[float, float, float], ...]
    site: Site
    place: Place | None = _place()


Draw: TypeAlias = Gaussian | StepDensity
Condition: TypeAlias = Boolean | Chain | BooleanOperation | LogicalNot
Expression: TypeAlias = Number | Text | Reference | UnaryMinus | BinaryOperation | Choice | Condition | Draw


# ---------------------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True)
class Assign:
    """``target = value``; a mark such as ``qualified(age > 18)`` sets the column of that mark."""

    target: str
    value: Expression
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class If:
    """``if condition: ... else: ...``; an ``elif`` is an ``if`` within ``otherwise``."""

    condition: Expression
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()
    place: Place | None = _place()


Statement: TypeAlias = Assign | If


@dataclass(frozen=True, slots=True)
class FairSquareProgram:
    """A checked program: every name is set before it is read, and every kind fits.

    Attributes
    ----------
    text
        The source, at which errors point.
    population, decision
        The statements of ``popModel`` and of ``F``; the second sees the variables of the first.
    kinds
        Each column and its kind: the variables that are set on every path of a run, then the marks.
    """

    text: str = field(repr=False)
    population: tuple[Statement, ...]
    decision: tuple[Statement, ...]
    kinds: Mapping[str, Kind]

    @property
    def statements(self) -> tuple[Statement, ...]:
        """All of them, in the order in which they run."""
        return (*self.population, *self.decision)


# ---------------------------------------------------------------------------- walking a tree


def parts_of(expression: Expression) -> Iterator[Expression]:
    """An expression and everything in it."""
    yield expression
    for part in children(expression):
        yield from parts_of(part)


def reads_of(expression: Expression) -> frozenset[str]:
    """The variables that an expression reads."""
    return frozenset(part.name for part in parts_of(expression) if isinstance(part, Reference))


def draws_of(expression: Expression) -> tuple[Draw, ...]:
    """The draws in an expression."""
    return tuple(part for part in parts_of(expression) if isinstance(part, Gaussian | StepDensity))
