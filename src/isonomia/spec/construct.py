"""Building nodes, with the checks that text and Python operators share.

Unary minus on a number makes the negative number, so ``-0.5`` is one constant and not a negation of one. Nothing else
is folded: ``0.9 ** 2`` stays a power.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from isonomia.errors import Place, SpecError
from isonomia.spec import tree

Function = Literal["abs", "min", "max"]

LARGEST_POWER = 1_000
"""The largest power of a constant, powers of powers multiplied: exact arithmetic writes out every digit."""

LARGEST_DEGREE = 100
"""The largest power of a quantity, counted in the same way: its terms have that many factors."""


def _degree(quantity: tree.Quantity) -> float:
    """How many numbers of a quantity are multiplied together when it is written out."""
    match quantity:
        case tree.Constant() | tree.Rate() | tree.Mean():
            return 1.0
        case tree.Negative():
            return _degree(quantity.operand)
        case tree.Power():
            return _degree(quantity.base) * max(1.0, abs(quantity.exponent))
        case tree.Arithmetic():
            return _degree(quantity.left) + _degree(quantity.right)
        case tree.Extreme():
            return max(map(_degree, quantity.arguments))


def negative(operand: tree.Quantity, place: Place | None = None) -> tree.Quantity:
    """``- operand``."""
    if isinstance(operand, tree.Constant):
        return tree.Constant(-operand.value, place=place or operand.place)
    return tree.Negative(operand)


def arithmetic(
    sign: tree.ArithmeticSign, left: tree.Quantity, right: tree.Quantity, place: Place | None = None
) -> tree.Arithmetic:
    """``left sign right``; a divisor that is the constant zero is refused."""
    if sign == "/" and tree.constant_value(right) == 0:
        raise SpecError("this divides by zero", tree.place_of(right))
    node = tree.Arithmetic(sign, left, right, place=place)
    tree.constant_value(node)  # refuses a number too large to work with
    return node


def power(base: tree.Quantity, exponent: tree.Quantity, place: Place | None = None) -> tree.Power:
    """``base ** exponent``; the exponent is constant, and whole unless the base is constant too."""
    value = tree.constant_value(exponent)
    where = tree.place_of(exponent) or place
    if value is None:
        raise SpecError("an exponent must be a constant number, such as 2", where)
    known = tree.constant_value(base)
    if known is None and value != int(value):
        raise SpecError(f"the exponent {value:g} is not whole: expected a whole number such as 2", where)
    if known is not None and ((known < 0 and value != int(value)) or (known == 0 and value < 0)):
        raise SpecError(f"{known:g} to the power {value:g} is not a real number", place or where)
    node = tree.Power(base, value, place=place)
    largest = LARGEST_DEGREE if known is None else LARGEST_POWER
    if _degree(node) > largest:
        what = "a quantity" if known is None else "a constant"
        message = f"expected {what} to the power of at most {largest:,}, powers of powers multiplied, but got"
        raise SpecError(f"{message} {_degree(node):g}", place or where)
    tree.constant_value(node)  # refuses a number too large to work with
    return node


def extreme(function: Function, arguments: tuple[tree.Quantity, ...], place: Place | None = None) -> tree.Extreme:
    """``abs(x)``, ``min(x, y, ...)`` or ``max(x, y, ...)`` of quantities."""
    _check_count(function, len(arguments), place)
    return tree.Extreme(function, arguments, place=place)


def call(function: Function, arguments: tuple[tree.Row, ...], place: Place | None = None) -> tree.Call:
    """``abs(x)``, ``min(x, y, ...)`` or ``max(x, y, ...)``, row by row."""
    _check_count(function, len(arguments), place)
    return tree.Call(function, arguments, place=place)


def _check_count(function: Function, count: int, place: Place | None) -> None:
    if function == "abs" and count != 1:
        raise SpecError(f"abs takes one argument; here are {count}", place)
    if function != "abs" and count < 2:
        raise SpecError(f"{function} takes two arguments or more; here is {count}", place)


def row_negative(operand: tree.Row, place: Place | None = None) -> tree.Row:
    """``- operand``, row by row."""
    if (
        isinstance(operand, tree.Literal)
        and isinstance(operand.value, int | float)
        and not isinstance(operand.value, bool)
    ):
        return tree.Literal(-operand.value, place=place or operand.place)
    return tree.RowNegative(operand)


def row_arithmetic(sign: tree.ArithmeticSign, left: tree.Row, right: tree.Row) -> tree.RowArithmetic:
    """``left sign right``, row by row; a divisor that is the literal zero is refused."""
    if sign == "/" and isinstance(right, tree.Literal) and not isinstance(right.value, str) and right.value == 0:
        raise SpecError("this divides by zero", right.place)
    return tree.RowArithmetic(sign, left, right)


def mean(
    term: tree.Row,
    given: tree.Row | None = None,
    low: float | None = None,
    high: float | None = None,
    place: Place | None = None,
) -> tree.Mean:
    """``E[term from low to high | given]``; a declared range must go up."""
    if low is not None and high is not None and not low < high:
        raise SpecError(f"a range goes from low to high; here it goes from {low:g} to {high:g}", place)
    return tree.Mean(term, given, low, high, place=place)


def do(items: tuple[tree.Change, ...], place: Place | None = None) -> tree.Do:
    """``do(sex = 'M', education as if sex = 'F')``; something must change, and nothing twice."""
    if not items:
        raise SpecError(f"do(...) changes nothing: {_HOW_TO_CHANGE}", place)
    _check_once(items, "do(...)", place)
    return tree.Do(items, place=place)


def as_if(name: str, settings: tuple[tree.Setting, ...], place: Place | None = None) -> tree.AsIf:
    """``education as if sex = 'M'``; something must be set, nothing twice, and not the variable itself."""
    if not settings:
        raise SpecError(f"`{name} as if` sets nothing: {_HOW_TO_CHANGE}", place)
    _check_once(settings, f"`{name} as if (...)`", place)
    for setting in settings:
        if setting.name == name:
            raise SpecError(f"`{name}` as if it had been set is redundant: write `{name} = ...`", setting.place)
    return tree.AsIf(name, settings, place=place)


_HOW_TO_CHANGE = "say what is set, as in `do(sex = 'M').prediction` or `do(education as if sex = 'M').prediction`"


def _check_once(items: Sequence[tree.Change], where: str, place: Place | None) -> None:
    names: set[str] = set()
    for item in items:
        if item.name in names:
            raise SpecError(f"`{item.name}` occurs twice in {where}: it can take only one value", item.place or place)
        names.add(item.name)


def source(column: tree.Column) -> tree.Column:
    """The column that a ``for`` runs over; it must be one of the people as they are."""
    if column.version is not None:
        message = f"a `for` runs over a column of the population as it is: write `{column.name}` alone"
        raise SpecError(message, column.place)
    return column
