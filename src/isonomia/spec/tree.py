"""The syntax tree of a property: plain frozen values, compared by content.

Two levels. A *row expression* is about one person: it is evaluated on whole columns and gives a value for each row.
A *quantity* is about the population: a rate ``P[event | condition]``, a mean ``E[term | condition]``, or arithmetic on
those. A *formula* compares quantities and joins the comparisons.

A column and an answer of the model are about the person as they are, or about another *version* of that person: a
*second person*, drawn independently from the same population, or the same person *had things been otherwise*: had some
variables been set (a counterfactual), or with one variable, a mediator, taking the value that it would have had then,
everything else as it is (path-specific).

Every node that an error can point at remembers its :class:`~isonomia.errors.Place`, which comparisons ignore.

Walking a tree: its nodes, and the leaves, columns, outputs and versions that they name.

A node is a frozen dataclass, so :func:`children` and :func:`rebuilt` need not know what each kind of node means. They
serve the trees of the other languages as well (:mod:`isonomia.spec.nomos.tree`, :mod:`isonomia.spec.fairsquare.tree`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from itertools import pairwise
from operator import add, attrgetter, eq, ge, gt, le, lt, mul, ne, sub, truediv
from typing import Any, TypeAlias, TypeVar
from typing import Literal as OneOf

from numpy.typing import NDArray

from isonomia.errors import Place, SpecError, nearest, no_names

Value: TypeAlias = str | bool | int | float
ArithmeticSign: TypeAlias = OneOf["+", "-", "*", "/"]
RowRelation: TypeAlias = OneOf["==", "!=", "<", "<=", ">", ">="]
Relation: TypeAlias = OneOf["<", "<=", ">", ">="]
Connective: TypeAlias = OneOf["and", "or"]
PairFunction: TypeAlias = Callable[[Mapping[str, NDArray[Any]], Mapping[str, NDArray[Any]]], Any]

OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {"+": add, "-": sub, "*": mul, "/": truediv}
RELATIONS: dict[str, Callable[[Any, Any], Any]] = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}

FLIPPED: dict[RowRelation, RowRelation] = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
"""The relation of ``b`` to ``a``, for each relation of ``a`` to ``b``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Something that may stand in a text; where it stands there does not count when nodes are compared."""

    place: Place | None = field(default=None, compare=False, repr=False)


# ---------------------------------------------------------------------------- versions of a person


@dataclass(frozen=True, slots=True)
class Setting(Placed):
    """``sex = 'M'``: a variable is set to a value."""

    name: str
    value: Literal | Variable


@dataclass(frozen=True, slots=True)
class AsIf(Placed):
    """``education as if sex = 'M'``: a variable takes the value that it would have had under the settings."""

    name: str
    settings: tuple[Setting, ...]


Change: TypeAlias = Setting | AsIf


@dataclass(frozen=True, slots=True)
class Do(Placed):
    """``do(sex = 'M', education as if sex = 'F')``: the same person, with the same noise, under these changes."""

    items: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Other(Placed):
    """``other``: a second person, drawn independently from the same population."""


Version: TypeAlias = Do | Other


# ---------------------------------------------------------------------------- row expressions


@dataclass(frozen=True, slots=True)
class Column(Placed):
    """A column of the table, by name; of the person as they are, or of another version of them."""

    name: str
    version: Version | None = None


@dataclass(frozen=True, slots=True)
class Output(Placed):
    """What a model answers: its ``prediction``, its ``score``, or the score of one class, ``score['good']``.

    ``model`` is its name, where several models answer about the same people.
    """

    name: OneOf["prediction", "score"]
    label: Value | None = None
    version: Version | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Literal(Placed):
    """A value written out: text, a number, or a truth value."""

    value: Value

    def __eq__(self, other: object) -> bool:
        # 1, 1.0 and True are different literals, though Python holds them equal.
        if not isinstance(other, Literal):
            return NotImplemented
        return type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class Variable(Placed):
    """A name bound by an enclosing ``for``."""

    name: str


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
class Call(Placed):
    """``abs(x)``, ``min(x, y)`` or ``max(x, y)``, row by row."""

    function: OneOf["abs", "min", "max"]
    arguments: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class PairCall(Placed):
    """``name(person, other)``: a number that a Python function computes for two people, such as their distance.

    The function is called with the named columns of every first person and with those of every second one. The same
    columns must always give the same numbers.
    """

    name: str
    function: PairFunction
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compare(Placed):
    """One comparison of two terms; a chain ``a < b < c`` is the conjunction of its links."""

    relation: RowRelation
    left: Row
    right: Row


@dataclass(frozen=True, slots=True)
class Member(Placed):
    """``term in {'a', 'b'}``."""

    operand: Row
    values: tuple[Literal | Variable, ...]


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
class Rate(Placed):
    """``P[event | given]``: the share of the population, or of one group, for whom the event is true."""

    event: Row
    given: Row | None = None


@dataclass(frozen=True, slots=True)
class Mean(Placed):
    """``E[term from low to high | given]``: the mean of a number whose range is known or declared."""

    term: Row
    given: Row | None = None
    low: float | None = None
    high: float | None = None


Leaf: TypeAlias = Rate | Mean


@dataclass(frozen=True, slots=True)
class Constant(Placed):
    """A number written out."""

    value: float


@dataclass(frozen=True, slots=True)
class Negative:
    """``- quantity``."""

    operand: Quantity


@dataclass(frozen=True, slots=True)
class Arithmetic(Placed):
    """``left + right`` and the like."""

    sign: ArithmeticSign
    left: Quantity
    right: Quantity


@dataclass(frozen=True, slots=True)
class Power(Placed):
    """``base ** exponent`` with a constant exponent; a whole number unless the base is constant too."""

    base: Quantity
    exponent: float


@dataclass(frozen=True, slots=True)
class Extreme(Placed):
    """``abs(x)``, ``min(x, y, ...)`` or ``max(x, y, ...)``."""

    function: OneOf["abs", "min", "max"]
    arguments: tuple[Quantity, ...]


Quantity: TypeAlias = Rate | Mean | Constant | Negative | Arithmetic | Power | Extreme


# ---------------------------------------------------------------------------- formulas


@dataclass(frozen=True, slots=True)
class Comparison:
    """A chain of comparisons ``first r1 q1 r2 q2 ...``; it holds when every link does."""

    first: Quantity
    rest: tuple[tuple[Relation, Quantity], ...]

    @property
    def links(self) -> tuple[tuple[Quantity, Relation, Quantity], ...]:
        """The comparisons of two sides each."""
        sides = (self.first, *(side for _, side in self.rest))
        return tuple((left, how, right) for (left, right), (how, _) in zip(pairwise(sides), self.rest, strict=True))


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
class Each(Placed):
    """``for variable in source except excluded: body``.

    ``source`` is a column, standing for the values that occur in it, or the values themselves.
    """

    variable: str
    source: Column | tuple[Literal, ...]
    excluded: tuple[Literal | Variable, ...]
    body: Formula


Formula: TypeAlias = Comparison | Not | Junction | Implies | Each


Node: TypeAlias = Row | Quantity | Formula | Version | Setting | AsIf

DEEPEST = 100
"""How many levels of nesting a formula may have. A sum of n terms has n - 1 levels; ``and``, ``or`` and ``min`` one."""

MOST_COMPARISONS = 2_500
"""How many comparisons a property may have once every ``for`` is written out: nested ``for``s multiply, and each
comparison has bets of its own."""

_Tree = TypeVar("_Tree")

_is_node: Callable[[Any], bool] = cache(is_dataclass)
_parts: Callable[[Any], dict[str, attrgetter[Any]]] = cache(
    lambda kind: {part.name: attrgetter(part.name) for part in fields(kind) if part.name not in {"place", "function"}}
)
"""How to read the fields of a kind of node that can hold nodes; a function is a plain value, even as a dataclass."""


def children(node: _Tree) -> tuple[_Tree, ...]:
    """The nodes directly below a node, in the order in which they are written."""
    result: list[Any] = []
    _gather((read(node) for read in _parts(type(node)).values()), result)
    return tuple(result)


def rebuilt(node: _Tree, change: Callable[[Any], Any]) -> _Tree:
    """The same node with each node directly below it changed."""
    changed = {name: _changed(read(node), change) for name, read in _parts(type(node)).items()}
    return replace(node, **changed)  # type: ignore[type-var]


def _gather(values: Iterable[Any], result: list[Any]) -> None:
    for value in values:
        if isinstance(value, tuple):
            _gather(value, result)
        elif _is_node(type(value)):
            result.append(value)


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, tuple):
        return tuple(_changed(item, change) for item in value)
    return change(value) if _is_node(type(value)) else value


def nodes(root: Node) -> Iterator[Node]:
    """Every node of a tree, a parent before its children, in the order in which they are written."""
    waiting: list[Node] = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(children(node)))


def depth_of(root: Node) -> int:
    """How many levels a tree has; a leaf of the tree has one."""
    depth, level = 0, [root]
    while level:
        depth, level = depth + 1, [child for node in level for child in children(node)]
    return depth


def place_of(root: Node) -> Place | None:
    """Where a node stands in the text: its own place, or else that of the first node below it that has one."""
    return next((node.place for node in nodes(root) if isinstance(node, Placed) and node.place is not None), None)


def leaves_of(formula: Node) -> tuple[Leaf, ...]:
    """The rates and means of a formula, each once, in the order in which they first appear.

    Parameters
    ----------
    formula
        Such as ``property.formula``.
    """
    return tuple(dict.fromkeys(node for node in nodes(formula) if isinstance(node, Rate | Mean)))


def columns_of(node: Node, version: Version | None = None) -> tuple[str, ...]:
    """The names of the columns used of one version of a person, each once, in order of first appearance.

    ``None`` is the person as they are, and includes the columns that a ``for`` runs over. Variables that a ``do(...)``
    sets are not included.
    """
    return tuple(dict.fromkeys(name for part in nodes(node) for name in _columns(part, version)))


def _columns(part: Node, version: Version | None) -> tuple[str, ...]:
    match part:
        case Column():
            return (part.name,) if part.version == version else ()
        case PairCall():
            return part.columns if version is None or isinstance(version, Other) else ()
        case _:
            return ()


def outputs_of(node: Node, version: Version | None = None) -> tuple[Output, ...]:
    """The model's answers used for one version of a person, each once, in order of first appearance."""
    outputs = (part for part in nodes(node) if isinstance(part, Output))
    return tuple(dict.fromkeys(part for part in outputs if part.version == version))


def versions_of(node: Node) -> tuple[Version, ...]:
    """The versions of a person that occur, apart from the person as they are, each once, in order of appearance."""
    parts = (Other() if isinstance(part, PairCall) else part for part in nodes(node))
    return tuple(dict.fromkeys(part for part in parts if isinstance(part, Do | Other)))


def check_names(formula: Formula, known: Sequence[str], has_model: bool, models: Sequence[str] | None = ()) -> None:
    """Refuse a formula that names a column which is not ``known``, also in another version of a person or a setting.

    ``has_model`` says whether there is a model to answer for ``prediction`` and ``score``, and ``models`` names
    several; ``None`` where their names were checked before. The error carries the first unknown name, and its message
    suggests the nearest known one.
    """
    for node in nodes(formula):
        match node:
            case Compare(_, Column(name=first), Column(name=name) as column) if first in known and name not in known:
                raise SpecError(f"{_unknown(name, known)} {_QUOTE.format(name=name)}", column.place, name=name)
            case Column() | Setting() | AsIf():
                _check_columns((node.name,), known, node.place)
            case PairCall():
                _check_columns(node.columns, known, node.place)
            case Output(model=str(name)) if models is not None and name not in models:
                hint = nearest(name, models) or f" The models are {', '.join(models)}." if models else ""
                message = f"there is no model called {name!r}: give models by name, {{{name!r}: model}}.{hint}"
                raise SpecError(message, node.place, name=name)
            case Output(model=None) if models:
                message = f"several models answer: say whose {node.name} is meant, as in {models[0]}.{node.name}"
                raise SpecError(message, node.place, name=node.name)
            case Output(model=None) if not has_model and (node.name not in known or node.label is not None):
                message = (
                    f"there is no `{node.name}`: pass a model, or a table that has a column {node.name!r}. A property "
                    "about decisions that were already made names their column: P[hired == 1], decision='hired'"
                )
                raise SpecError(message, node.place, name=node.name)


_QUOTE = "If it is a value, put it in quotation marks: '{name}'."


def _check_columns(names: Sequence[str], known: Sequence[str], place: Place | None) -> None:
    for name in names:
        if name not in known:
            raise SpecError(_unknown(name, known), place, name=name)


def _unknown(name: str, known: Sequence[str]) -> str:
    hint = nearest(name, known)
    listed = ", ".join(map(repr, known[:12])) + (", ..." if len(known) > 12 else "")
    if name in {"prediction", "score"}:
        hint = f" The model's {name} is not a column: write {name} without backticks, isonomia.{name} in Python."
    return f"there is no column {name!r}.{hint or f' The columns are {listed or chr(0x2014)}.'}{no_names(known)}"


def links_of(formula: Formula) -> Iterator[tuple[Quantity, Relation, Quantity]]:
    """Every comparison of two sides, in the order of the formula; a chain such as ``a <= b <= c`` has several."""
    match formula:
        case Comparison():
            yield from formula.links
        case Each():
            raise TypeError("a quantifier is expanded before its comparisons are listed")
        case _:
            for part in children(formula):
                yield from links_of(part)


_FUNCTIONS: dict[str, Callable[[Sequence[float]], float]] = {"abs": lambda x: abs(x[0]), "min": min, "max": max}


def constant_value(quantity: Quantity) -> float | None:
    """The number that a quantity is, where nothing in it depends on the population; otherwise ``None``."""
    try:
        value = _constant_value(quantity)
    except OverflowError:
        value = math.inf
    except ZeroDivisionError:
        raise SpecError("this divides by zero", place_of(quantity)) from None
    if value is not None and not math.isfinite(value):
        raise SpecError("this number is too large to work with", place_of(quantity))
    return value


def _constant_value(quantity: Quantity) -> float | None:
    match quantity:
        case Constant():
            return quantity.value
        case Rate() | Mean():
            return None
        case Negative():
            value = _constant_value(quantity.operand)
            return None if value is None else -value
        case Power():
            value = _constant_value(quantity.base)
            return None if value is None else float(value**quantity.exponent)
        case Arithmetic():
            values = [_constant_value(quantity.left), _constant_value(quantity.right)]
            known = [value for value in values if value is not None]
            return OPERATIONS[quantity.sign](known[0], known[1]) if len(known) == 2 else None
        case Extreme():
            values = [_constant_value(argument) for argument in quantity.arguments]
            known = [value for value in values if value is not None]
            return _FUNCTIONS[quantity.function](known) if len(known) == len(values) else None
