"""The syntax tree of a property: plain frozen values, compared by content.

Two levels. A *row expression* is about one person: it is evaluated on whole columns and gives a value for each row.
A *quantity* is about the population: a rate ``P[event | condition]``, a mean ``E[term | condition]``, or arithmetic on
those. A *formula* compares quantities and joins the comparisons.

A column and an answer of the model are about the person as they are, or about another *version* of that person: a
*second person*, drawn independently from the same population, or the same person *had things been otherwise*: had some
variables been set (a counterfactual), or with one variable, a mediator, taking the value that it would have had then,
everything else as it is (path-specific).

Every node that an error can point at remembers its :class:`~isonomia.errors.Place`, which comparisons ignore.
"""

# ruff: noqa: RUF009  (a place defaults to a field made by a function, which is immutable)
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import add, mul, sub, truediv
from typing import Any, TypeAlias
from typing import Literal as OneOf

from numpy.typing import NDArray

from isonomia.errors import Place

Value: TypeAlias = str | bool | int | float
ArithmeticSign: TypeAlias = OneOf["+", "-", "*", "/"]
RowRelation: TypeAlias = OneOf["==", "!=", "<", "<=", ">", ">="]
Relation: TypeAlias = OneOf["<", "<=", ">", ">="]
Connective: TypeAlias = OneOf["and", "or"]
PairFunction: TypeAlias = Callable[[Mapping[str, NDArray[Any]], Mapping[str, NDArray[Any]]], Any]

OPERATIONS: dict[ArithmeticSign, Callable[[float, float], float]] = {"+": add, "-": sub, "*": mul, "/": truediv}

FLIPPED: dict[RowRelation, RowRelation] = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
"""The relation of ``b`` to ``a``, for each relation of ``a`` to ``b``."""


def _place() -> Place | None:
    return field(default=None, compare=False, repr=False, kw_only=True)


# ---------------------------------------------------------------------------- versions of a person


@dataclass(frozen=True, slots=True)
class Setting:
    """``sex = 'M'``: a variable is set to a value."""

    name: str
    value: Literal | Variable
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class AsIf:
    """``education as if sex = 'M'``: a variable takes the value that it would have had under the settings."""

    name: str
    settings: tuple[Setting, ...]
    place: Place | None = _place()


Change: TypeAlias = Setting | AsIf


@dataclass(frozen=True, slots=True)
class Do:
    """``do(sex = 'M', education as if sex = 'F')``: the same person, with the same noise, under these changes."""

    items: tuple[Change, ...]
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Other:
    """``other``: a second person, drawn independently from the same population."""

    place: Place | None = _place()


Version: TypeAlias = Do | Other


# ---------------------------------------------------------------------------- row expressions


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table, by name; of the person as they are, or of another version of them."""

    name: str
    version: Version | None = None
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Output:
    """What the model answers: its ``prediction``, its ``score``, or the score of one class, ``score['good']``."""

    name: OneOf["prediction", "score"]
    label: Value | None = None
    version: Version | None = None
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Literal:
    """A value written out: text, a number, or a truth value."""

    value: Value
    place: Place | None = _place()

    def __eq__(self, other: object) -> bool:
        # 1, 1.0 and True are different literals, though Python holds them equal.
        if not isinstance(other, Literal):
            return NotImplemented
        return type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class Variable:
    """A name bound by an enclosing ``for``."""

    name: str
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class RowNegative:
    """``- term``."""

    operand: Row


@dataclass(frozen=True, slots=True)
class RowArithmetic:
    """``left + right`` and the like, row by row."""

    sign: ArithmeticSign
    left: Row
    right: Row


@dataclass(frozen=True, slots=True)
class Call:
    """``abs(x)``, ``min(x, y)`` or ``max(x, y)``, row by row."""

    function: OneOf["abs", "min", "max"]
    arguments: tuple[Row, ...]
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class PairCall:
    """``name(person, other)``: a number that a Python function computes for two people, such as their distance.

    The function is called with the named columns of every first person and with those of every second one. The same
    columns must always give the same numbers.
    """

    name: str
    function: PairFunction
    columns: tuple[str, ...]
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Compare:
    """One comparison of two terms; a chain ``a < b < c`` is the conjunction of its links."""

    relation: RowRelation
    left: Row
    right: Row
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Member:
    """``term in {'a', 'b'}``."""

    operand: Row
    values: tuple[Literal | Variable, ...]
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Missing:
    """``term is missing``."""

    operand: Row


@dataclass(frozen=True, slots=True)
class RowNot:
    """``not condition``."""

    operand: Row


@dataclass(frozen=True, slots=True)
class RowJunction:
    """Two or more conditions joined by one connective."""

    connective: Connective
    operands: tuple[Row, ...]


Row: TypeAlias = (
    Column
    | Output
    | Literal
    | Variable
    | RowNegative
    | RowArithmetic
    | Call
    | PairCall
    | Compare
    | Member
    | Missing
    | RowNot
    | RowJunction
)


# ---------------------------------------------------------------------------- quantities


@dataclass(frozen=True, slots=True)
class Rate:
    """``P[event | given]``: the share of the population, or of one group, for whom the event is true."""

    event: Row
    given: Row | None = None
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Mean:
    """``E[term from low to high | given]``: the mean of a number whose range is known or declared."""

    term: Row
    given: Row | None = None
    low: float | None = None
    high: float | None = None
    place: Place | None = _place()


Leaf: TypeAlias = Rate | Mean


@dataclass(frozen=True, slots=True)
class Constant:
    """A number written out."""

    value: float
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Negative:
    """``- quantity``."""

    operand: Quantity


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """``left + right`` and the like."""

    sign: ArithmeticSign
    left: Quantity
    right: Quantity
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Power:
    """``base ** exponent`` with a constant exponent; a whole number unless the base is constant too."""

    base: Quantity
    exponent: float
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Extreme:
    """``abs(x)``, ``min(x, y, ...)`` or ``max(x, y, ...)``."""

    function: OneOf["abs", "min", "max"]
    arguments: tuple[Quantity, ...]
    place: Place | None = _place()


Quantity: TypeAlias = Rate | Mean | Constant | Negative | Arithmetic | Power | Extreme


# ---------------------------------------------------------------------------- formulas


@dataclass(frozen=True, slots=True)
class Comparison:
    """A chain of comparisons ``first r1 q1 r2 q2 ...``; it holds when every link does."""

    first: Quantity
    rest: tuple[tuple[Relation, Quantity], ...]


@dataclass(frozen=True, slots=True)
class Not:
    """``not formula``."""

    operand: Formula


@dataclass(frozen=True, slots=True)
class Junction:
    """Two or more formulas joined by one connective."""

    connective: Connective
    operands: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Implies:
    """``premise ==> conclusion``."""

    premise: Formula
    conclusion: Formula


@dataclass(frozen=True, slots=True)
class Each:
    """``for variable in source except excluded: body``.

    ``source`` is a column, standing for the values that occur in it, or the values themselves.
    """

    variable: str
    source: Column | tuple[Literal, ...]
    excluded: tuple[Literal | Variable, ...]
    body: Formula
    place: Place | None = _place()


Formula: TypeAlias = Comparison | Not | Junction | Implies | Each
