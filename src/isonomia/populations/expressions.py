"""Row expressions as expressions of the engine that holds a table, with the answer that NumPy gives.

An expression that might give another answer is not translated: :class:`UncountableError`. Then rows are read instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from math import frexp, isfinite
from operator import or_
from typing import TYPE_CHECKING, Any, TypeAlias

from isonomia.spec import tree
from isonomia.spec.columns import EXACT

if TYPE_CHECKING:
    import narwhals as nw

Expression: TypeAlias = "nw.Expr"

MANY_TESTS = 8
"""A column of whole numbers that is compared with more values than this is grouped by its values instead."""


class UncountableError(Exception):
    """An engine cannot count this with the same answer as the evaluation of rows."""


@dataclass(slots=True)
class Translation:
    """What an engine evaluates of some conditions and terms.

    Attributes
    ----------
    schema
        The types of the table's columns.
    keys
        Columns to be grouped by, whose conditions are evaluated afterwards, on the values that occur.
    tests
        Comparisons of numbers that the engine evaluates.
    terms
        Numbers to add up.
    checked
        Columns whose whole numbers must not be beyond those that floats hold.
    """

    schema: Mapping[str, Any]
    keys: dict[str, Expression] = field(default_factory=dict)
    tests: dict[tree.Row, Expression] = field(default_factory=dict)
    terms: dict[tree.Row, Expression] = field(default_factory=dict)
    checked: dict[str, Expression] = field(default_factory=dict)

    def add_conditions(self, conditions: Iterable[tree.Row | None]) -> None:
        """Take conditions apart into columns to be grouped by and comparisons."""
        tests = dict.fromkeys(test for condition in conditions if condition is not None for test in _tests(condition))
        times = Counter(name for test in tests for name in self._names(test))
        for test in tests:
            names = self._names(test)
            whole = len(names) == 1 and self._type(names[0]).is_integer() and times[names[0]] > MANY_TESTS
            number = all(self._type(name).is_numeric() for name in names)
            if isinstance(test, tree.Missing) or (
                isinstance(test, tree.Compare | tree.Member) and number and not whole
            ):
                self.tests[test] = self._test(test)
            else:
                self.keys |= {name: self.key(name) for name in names}

    def add_term(self, term: tree.Row) -> None:
        """Take a number to be added up."""
        self.terms[term] = self._number(term)

    def key(self, name: str) -> Expression:
        """A column to be grouped by, in a form that is the same in all engines."""
        import narwhals as nw

        kind, column = self._type(name), nw.col(name)
        if kind.is_float():
            return _without_nan(column)
        if kind in (nw.Categorical, nw.Enum):
            return column.cast(nw.String)
        naive = kind == nw.Datetime and kind.time_zone is None and kind.time_unit != "ns"
        if kind.is_integer() or kind.is_decimal() or kind in (nw.String, nw.Boolean, nw.Date) or naive:
            return column
        raise UncountableError(f"{name} is {kind}")

    def _type(self, name: str) -> Any:
        import narwhals as nw

        kind = self.schema.get(name)
        if kind is None or kind in (nw.Int128, nw.UInt128) or name == "*":  # which stands for all columns
            raise UncountableError(f"there is no column {name} that an engine can compare")
        return kind

    def _is_number(self, name: str) -> bool:
        return bool(self._type(name).is_numeric())

    def _names(self, test: tree.Row) -> tuple[str, ...]:
        if tree.versions_of(test) or any(output.label is not None for output in tree.outputs_of(test)):
            raise UncountableError("it speaks of a second person, or of the scores of a model")
        return tuple(dict.fromkeys((*tree.columns_of(test), *(output.name for output in tree.outputs_of(test)))))

    # ------------------------------------------------------------------------ conditions

    def _test(self, test: tree.Row) -> Expression:
        match test:
            case tree.Missing(tree.Column() | tree.Output() as column):
                return self.key(column.name).is_null()
            case tree.Missing(operand):
                return self._number(operand).is_null()
            case tree.Member(operand, values):
                compared = (tree.Compare("==", operand, value) for value in values)
                return reduce(or_, (self._test(each) for each in compared))
            case tree.Compare(relation, tree.Literal() as left, right) if not isinstance(right, tree.Literal):
                return self._test(tree.Compare(tree.FLIPPED[relation], right, left))
            case tree.Compare(relation, left, tree.Literal(value)):
                return self._with_value(relation, left, value)
            case tree.Compare(relation, left, right):
                return self._two_columns(relation, left, right)
            case _:
                raise UncountableError("not a comparison")

    def _with_value(self, relation: tree.RowRelation, term: tree.Row, value: Any) -> Expression:
        if isinstance(value, str) or not isfinite(value) or abs(value) >= EXACT:
            raise UncountableError("the value is text, or so large that comparisons may be rounded")
        number = self._number(term)
        return _where_known(tree.RELATIONS[relation](number, float(value)), number)

    def _two_columns(self, relation: tree.RowRelation, left: tree.Row, right: tree.Row) -> Expression:
        first, second = self._number(left), self._number(right)
        return _where_known(tree.RELATIONS[relation](first, second), first, second)

    # ------------------------------------------------------------------------ numbers

    def _number(self, term: tree.Row) -> Expression:
        """A number in double precision; null where it is missing."""
        import narwhals as nw

        match term:
            case tree.Column(name, None) | tree.Output(name, None, None, None):
                return self._column(name)
            case tree.Literal(bool() | int() | float() as value) if isfinite(value) and abs(value) <= EXACT:
                return nw.lit(float(value))
            case tree.RowNegative(operand):
                return -self._number(operand)
            case tree.RowArithmetic(sign, left, right):
                # Engines differ in what a division by zero is, and Polars multiplies by the reciprocal of a literal.
                divisor = right.value if isinstance(right, tree.Literal) else 0
                if sign == "/" and (isinstance(divisor, str) or abs(frexp(divisor)[0]) != 0.5):
                    raise UncountableError("a divisor is not a power of two")
                return _without_nan(tree.OPERATIONS[sign](self._number(left), self._number(right)))
            case tree.Call("abs", (only,)):
                return self._number(only).abs()
            case tree.Call(function, (first, *others)):
                result = self._number(first)
                for other in map(self._number, others):
                    chosen = result < other if function == "min" else result > other
                    known = ~(result.is_null() | other.is_null())
                    result = nw.when(known & chosen).then(result).otherwise(nw.when(known).then(other))
                return result
            case _:
                raise UncountableError("not a number")

    def _column(self, name: str) -> Expression:
        import narwhals as nw

        kind, column = self._type(name), nw.col(name)
        if kind in (nw.Int64, nw.UInt64):
            self.checked[name] = (column > EXACT) | ((column < -EXACT) if kind == nw.Int64 else nw.lit(value=False))
        if kind in (nw.Float32, nw.Float64):
            return _without_nan(column.cast(nw.Float64))
        exact = kind.is_decimal() and kind.precision <= 15  # so that the nearest float is found by one division
        if kind.is_integer() or kind == nw.Boolean or exact:
            return column.cast(nw.Float64)
        raise UncountableError(f"{name} is {kind}")


def _tests(condition: tree.Row) -> Iterator[tree.Row]:
    """The parts of a condition that are joined by and, or and not."""
    match condition:
        case tree.RowNot(operand):
            yield from _tests(operand)
        case tree.RowJunction(_, operands):
            for operand in operands:
                yield from _tests(operand)
        case tree.Literal():
            pass
        case _:
            yield condition


def _without_nan(number: Expression) -> Expression:
    import narwhals as nw

    return nw.when(~number.is_nan()).then(number)


def _where_known(result: Expression, *sides: Expression) -> Expression:
    """A comparison that is false where a side is missing."""
    unknown = reduce(or_, (side.is_null() for side in sides))
    return (result & ~unknown).fill_null(value=False)
