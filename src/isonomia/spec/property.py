"""A property: a formula that a person can name, read, join with others and print.

Python operators build it: a Term is a row expression, a Measure a quantity; compared measures are a property.
:func:`expand` writes every ``for`` out, as the conjunction of its body over the values.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import islice
from typing import Any, ClassVar, NoReturn, TypeAlias, TypeVar, cast

import numpy as np

from isonomia.errors import SpecError, UsageError, nearest
from isonomia.spec import construct, tree
from isonomia.spec.columns import moment
from isonomia.spec.english import explain
from isonomia.spec.parser import parse_formula
from isonomia.spec.text import shown, to_text, value_text


@dataclass(frozen=True, slots=True, repr=False)
class Property:
    """A claim about a model and a population.

    Two properties are equal if their formulas are; names do not matter.

    Attributes
    ----------
    formula
        What is claimed.
    name
        What people call it, for reports.
    outcomes
        The columns with actual outcomes, where a named property has them. An audited model is not given them, unless it
        names them as its inputs.
    within
        Numbers that must lie in their range, each as the mean over the people concerned. A check refuses rows
        where one is missing or outside, which conditions such as ``score < 0.5`` would leave out unnoticed.
    """

    formula: tree.Formula
    name: str | None = field(default=None, compare=False)
    outcomes: tuple[str, ...] = field(default=(), compare=False)
    within: tuple[tree.Mean, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if tree.depth_of(self.formula) > tree.DEEPEST + 5:
            raise SpecError(f"this is nested more than {tree.DEEPEST} levels deep: split the property into several")

    def __str__(self) -> str:
        return to_text(self.formula)

    def __repr__(self) -> str:
        named = "" if self.name is None else f", name={self.name!r}"
        return f"Property({str(self)!r}{named})"

    def explain(self) -> str:
        """Say in plain English what is claimed."""
        return explain(self.formula)

    def named(self, name: str) -> Property:
        """The same property under a name."""
        if not isinstance(name, str):
            raise UsageError(f"name must be a str, but it is {shown(name)}")
        return replace(self, name=name)

    def implies(self, other: Property) -> Property:
        """The property that holds where this one does not, or where the other one does."""
        return Property(tree.Implies(self.formula, _formula(other)), None, *_stated(self, other))

    def __and__(self, other: Property) -> Property:
        return Property(_joined("and", self.formula, _formula(other)), None, *_stated(self, other))

    def __or__(self, other: Property) -> Property:
        return Property(_joined("or", self.formula, _formula(other)), None, *_stated(self, other))

    def __rand__(self, other: Any) -> Property:
        return Property(_joined("and", _formula(other), self.formula))

    def __ror__(self, other: Any) -> Property:
        return Property(_joined("or", _formula(other), self.formula))

    def __invert__(self) -> Property:
        return Property(tree.Not(self.formula), None, self.outcomes, self.within)

    def __bool__(self) -> NoReturn:
        raise UsageError(
            f"the property {str(self)!r} is neither true nor false before it is checked: join properties by &, | and ~ "
            "(not by and, or, not), and write x.between(low, high) in place of low <= x <= high"
        )


def parse(text: str) -> Property:
    """Read a property from text.

    Parameters
    ----------
    text
        Such as ``P[prediction == 1 | sex == 'F'] >= 0.8``.

    Raises
    ------
    SpecError
        Where the text is not a property; the error points at the place.

    Examples
    --------
    >>> parse("P[hired | woman] >= 80%").named("enough women")
    Property('P[hired | woman] >= 0.8', name='enough women')
    """
    return Property(parse_formula(text))


def _formula(other: Any) -> tree.Formula:
    if not isinstance(other, Property):
        hint = ": read it first, parse(...)" if isinstance(other, str) else ""
        raise UsageError(f"expected a property, but got {shown(other)}{hint}")
    return other.formula


def _stated(first: Property, second: Property) -> tuple[tuple[str, ...], tuple[tree.Mean, ...]]:
    """The outcomes and ranges that two properties state together."""
    outcomes = tuple(dict.fromkeys((*first.outcomes, *second.outcomes)))
    return outcomes, tuple(dict.fromkeys((*first.within, *second.within)))


def _joined(connective: tree.Connective, left: tree.Formula, right: tree.Formula) -> tree.Junction:
    return tree.Junction(connective, (*_operands(connective, left), *_operands(connective, right)))


def _operands(connective: tree.Connective, formula: tree.Formula) -> tuple[tree.Formula, ...]:
    if isinstance(formula, tree.Junction) and formula.connective == connective:
        return formula.operands
    return (formula,)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Term:
    """Something about one person: a column, the model's answer, or an expression over them.

    The operators ``== != < <= > >= + - * / & | ~`` and ``abs`` build larger terms and compute nothing. So ``==`` does
    not say whether two terms are the same; compare their ``node`` for that.
    """

    node: tree.Row

    # NumPy's scalars must leave the operators to this class, and a term must not look like a sequence.
    __array_ufunc__: ClassVar[None] = None
    __iter__: ClassVar[None] = None
    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Term({to_text(self.node)})"

    def __bool__(self) -> NoReturn:
        raise UsageError(
            f"`{to_text(self.node)}` is neither true nor false by itself: join conditions by &, | and ~ (not by and, "
            "or, not), and write (low <= x) & (x <= high) in place of low <= x <= high"
        )

    def __eq__(self, other: TermLike) -> Term:  # type: ignore[override]
        return _compare("==", self, other)

    def __ne__(self, other: TermLike) -> Term:  # type: ignore[override]
        return _compare("!=", self, other)

    def __lt__(self, other: TermLike) -> Term:
        return _compare("<", self, other)

    def __le__(self, other: TermLike) -> Term:
        return _compare("<=", self, other)

    def __gt__(self, other: TermLike) -> Term:
        return _compare(">", self, other)

    def __ge__(self, other: TermLike) -> Term:
        return _compare(">=", self, other)

    def __add__(self, other: TermLike) -> Term:
        return _arithmetic("+", self, other)

    def __radd__(self, other: TermLike) -> Term:
        return _arithmetic("+", other, self)

    def __sub__(self, other: TermLike) -> Term:
        return _arithmetic("-", self, other)

    def __rsub__(self, other: TermLike) -> Term:
        return _arithmetic("-", other, self)

    def __mul__(self, other: TermLike) -> Term:
        return _arithmetic("*", self, other)

    def __rmul__(self, other: TermLike) -> Term:
        return _arithmetic("*", other, self)

    def __truediv__(self, other: TermLike) -> Term:
        return _arithmetic("/", self, other)

    def __rtruediv__(self, other: TermLike) -> Term:
        return _arithmetic("/", other, self)

    def __neg__(self) -> Term:
        return Term(construct.row_negative(self.node))

    def __abs__(self) -> Term:
        return Term(construct.call("abs", (self.node,)))

    def __and__(self, other: TermLike) -> Term:
        return _join("and", self, other)

    def __rand__(self, other: TermLike) -> Term:
        return _join("and", other, self)

    def __or__(self, other: TermLike) -> Term:
        return _join("or", self, other)

    def __ror__(self, other: TermLike) -> Term:
        return _join("or", other, self)

    def __invert__(self) -> Term:
        return Term(tree.RowNot(self.node))

    def __getitem__(self, label: tree.Value) -> Term:
        """The score of one class: ``score["good"]``."""
        match self.node:
            case tree.Output("score", None):
                return Term(replace(self.node, label=value_of(label)))
            case _:
                written = f"`{to_text(self.node)}`[{label!r}]"
                raise UsageError(f"only `score` has classes to choose from, but this is {written}")

    def isin(self, values: Iterable[tree.Value | Term]) -> Term:
        """Whether the term is one of some values."""
        if isinstance(values, str | Term) or not isinstance(values, Iterable):
            raise UsageError(f"values must be a list of values, but it is {shown(values)}")
        members = tuple(item_of(value, "a set can only hold") for value in values)
        if not members:
            raise UsageError(f"values is empty, so nothing could be in it: `{to_text(self.node)}`.isin([])")
        return Term(tree.Member(self.node, members))

    def is_missing(self) -> Term:
        """Whether there is no value."""
        return Term(tree.Missing(self.node))


TermLike: TypeAlias = Term | str | bool | int | float | date | np.generic


def value_of(value: Any) -> tree.Value:
    """A plain value from one of Python or NumPy, or from a date; what a property cannot hold is refused."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, date):
        plain = plain.isoformat()
        if moment(plain) is not None:
            return str(plain)
    elif isinstance(plain, bool | int | float | str) and (isinstance(plain, str) or abs(plain) <= sys.float_info.max):
        return plain
    message = "expected text, a truth value, a finite number or a date without time zone"
    hint = "for a missing value write .is_missing()"
    raise UsageError(f"{message}, but got {shown(value)}; {hint}")


def row_of(value: Any) -> tree.Row:
    """The row expression that a term holds, or a literal of a plain value."""
    return value.node if isinstance(value, Term) else tree.Literal(value_of(value))


def item_of(value: Any, where: str) -> tree.Literal | tree.Variable:
    """A plain value, or the variable of an enclosing ``each``; ``where`` begins the error message for anything else."""
    node = row_of(value)
    if not isinstance(node, tree.Literal | tree.Variable):
        raise UsageError(f"{where} values, but here is the term `{to_text(node)}`")
    return node


def _compare(relation: tree.RowRelation, left: Term, right: Any) -> Term:
    return Term(tree.Compare(relation, left.node, row_of(right)))


def _arithmetic(sign: tree.ArithmeticSign, left: Any, right: Any) -> Term:
    return Term(construct.row_arithmetic(sign, row_of(left), row_of(right)))


def _join(connective: tree.Connective, left: Any, right: Any) -> Term:
    return Term(tree.RowJunction(connective, (*_row_operands(connective, left), *_row_operands(connective, right))))


def _row_operands(connective: tree.Connective, value: Any) -> tuple[tree.Row, ...]:
    node = row_of(value)
    return node.operands if isinstance(node, tree.RowJunction) and node.connective == connective else (node,)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Measure:
    """A number about the population: a rate, a mean, or arithmetic on them.

    The operators ``+ - * / **`` and ``abs`` build larger measures; ``< <= > >=`` and :meth:`between` give a property.
    """

    node: tree.Quantity

    # NumPy's scalars must leave the operators to this class.
    __array_ufunc__: ClassVar[None] = None
    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Measure({to_text(self.node)})"

    def __bool__(self) -> NoReturn:
        raise UsageError(f"`{to_text(self.node)}` is not known before it is checked, so it cannot stand in a condition")

    def __eq__(self, other: object) -> NoReturn:
        raise UsageError("samples never show that quantities are exactly equal: write abs(x - y) <= tolerance")

    def __ne__(self, other: object) -> NoReturn:
        self.__eq__(other)

    def __lt__(self, other: MeasureLike) -> Property:
        return _compare_measures(self, "<", other)

    def __le__(self, other: MeasureLike) -> Property:
        return _compare_measures(self, "<=", other)

    def __gt__(self, other: MeasureLike) -> Property:
        return _compare_measures(self, ">", other)

    def __ge__(self, other: MeasureLike) -> Property:
        return _compare_measures(self, ">=", other)

    def between(self, low: MeasureLike, high: MeasureLike) -> Property:
        """The property that the measure is at least ``low`` and at most ``high``."""
        return Property(tree.Comparison(quantity_of(low), (("<=", self.node), ("<=", quantity_of(high)))))

    def __add__(self, other: MeasureLike) -> Measure:
        return _arithmetic_measures("+", self, other)

    def __radd__(self, other: MeasureLike) -> Measure:
        return _arithmetic_measures("+", other, self)

    def __sub__(self, other: MeasureLike) -> Measure:
        return _arithmetic_measures("-", self, other)

    def __rsub__(self, other: MeasureLike) -> Measure:
        return _arithmetic_measures("-", other, self)

    def __mul__(self, other: MeasureLike) -> Measure:
        return _arithmetic_measures("*", self, other)

    def __rmul__(self, other: MeasureLike) -> Measure:
        return _arithmetic_measures("*", other, self)

    def __truediv__(self, other: MeasureLike) -> Measure:
        return _arithmetic_measures("/", self, other)

    def __rtruediv__(self, other: MeasureLike) -> Measure:
        return _arithmetic_measures("/", other, self)

    def __pow__(self, exponent: MeasureLike) -> Measure:
        return Measure(construct.power(self.node, quantity_of(exponent)))

    def __neg__(self) -> Measure:
        return Measure(construct.negative(self.node))

    def __abs__(self) -> Measure:
        return Measure(construct.extreme("abs", (self.node,)))


MeasureLike: TypeAlias = Measure | int | float | np.number[Any]


def quantity_of(value: Any) -> tree.Quantity:
    """The quantity that a measure holds, or a constant of a plain number."""
    if isinstance(value, Measure):
        return value.node
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool) or not isinstance(plain, int | float) or not _is_finite(plain):
        raise UsageError(f"expected P(...), E(...), an expression over them or a finite number, but got {shown(value)}")
    return tree.Constant(float(plain))


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _compare_measures(left: Measure, relation: tree.Relation, right: Any) -> Property:
    return Property(tree.Comparison(left.node, ((relation, quantity_of(right)),)))


def _arithmetic_measures(sign: tree.ArithmeticSign, left: Any, right: Any) -> Measure:
    return Measure(construct.arithmetic(sign, quantity_of(left), quantity_of(right)))


_Values: TypeAlias = Callable[[tree.Column], tuple[tree.Value, ...]]


def expand(formula: tree.Formula, values: _Values) -> tree.Formula:
    """The same claim with no ``for`` and no variable left.

    ``values`` lists the values that occur in a column, in the order that the parts should have. A ``for`` over one
    value is its body. A ``for`` without a value to run over, or that excludes a value that does not occur, is refused,
    and so is a property of too many comparisons.
    """
    _check_size(formula, values)
    return _expand(formula, values, {})


def _check_size(formula: tree.Formula, values: _Values) -> None:
    """Refuse a property of too many comparisons before writing them out; counting stops at the limit."""
    some = islice(_comparisons(formula, values, {}), tree.MOST_COMPARISONS + 1)
    counted = sum(len(comparison.rest) for comparison in some)  # `0.1 <= a <= b` is two
    if counted <= tree.MOST_COMPARISONS:
        return
    loops = [node for node in tree.nodes(formula) if isinstance(node, tree.Each)]
    what = f"each `for` written out, {len(loops)} of them" if loops else "in total"
    raise SpecError(
        f"expected a property of at most {tree.MOST_COMPARISONS:,} comparisons, {what}, but this one has more: state "
        "several properties, or let a `for` run over fewer values, `for g in {'a', 'b'}`",
        loops[0].place if loops else None,
    )


def _comparisons(
    formula: tree.Formula, values: _Values, known: Mapping[str, tree.Literal]
) -> Iterator[tree.Comparison]:
    match formula:
        case tree.Comparison():
            yield formula
        case tree.Each():
            for value in _values_of(formula, values, known):
                yield from _comparisons(formula.body, values, {**known, formula.variable: value})
        case _:
            for part in tree.children(formula):
                yield from _comparisons(part, values, known)


@dataclass(frozen=True, slots=True)
class Binding:
    """A value that a ``for`` gives its variable, and the column whose value it is; ``None`` where that is unknown."""

    variable: str
    column: tree.Column | None
    value: tree.Literal


def expand_parts(formula: tree.Formula, values: _Values) -> tuple[tuple[tuple[Binding, ...], tree.Formula], ...]:
    """The parts of a claim for every group, each with the values that it is about; their conjunction is the claim.

    From the top down, each ``for``, the outermost ``and`` and each ``and`` with a ``for`` among its operands is split;
    anything else stays whole. A part outside every ``for`` has no values.
    """
    _check_size(formula, values)
    if isinstance(formula, tree.Junction) and formula.connective == "and":
        return tuple(part for operand in formula.operands for part in _parts(operand, values, ()))
    return tuple(_parts(formula, values, ()))


def _parts(
    formula: tree.Formula, values: _Values, bound: tuple[Binding, ...]
) -> Iterator[tuple[tuple[Binding, ...], tree.Formula]]:
    known = {item.variable: item.value for item in bound}
    match formula:
        case tree.Each():
            column = formula.source if isinstance(formula.source, tree.Column) else _column_of(formula)
            for value in _values_of(formula, values, known):
                yield from _parts(formula.body, values, (*bound, Binding(formula.variable, column, value)))
        case tree.Junction("and", operands) if any(isinstance(operand, tree.Each) for operand in operands):
            for operand in operands:
                yield from _parts(operand, values, bound)
        case _:
            yield bound, _expand(formula, values, known)


def _column_of(each: tree.Each) -> tree.Column | None:
    """The column that the body compares the variable with; ``None`` where it compares none, or several."""
    result = {
        side
        for node in tree.nodes(each.body)
        if isinstance(node, tree.Compare)
        and node.relation == "=="
        and tree.Variable(each.variable) in (node.left, node.right)
        for side in (node.left, node.right)
        if isinstance(side, tree.Column)
    }
    return result.pop() if len(result) == 1 else None


def _expand(formula: tree.Formula, values: _Values, known: Mapping[str, tree.Literal]) -> tree.Formula:
    match formula:
        case tree.Comparison():
            return tree.rebuilt(formula, lambda quantity: put_values(quantity, known))
        case tree.Each():
            left = _values_of(formula, values, known)
            parts = tuple(_expand(formula.body, values, {**known, formula.variable: value}) for value in left)
            return parts[0] if len(parts) == 1 else tree.Junction("and", parts)
        case _:
            return tree.rebuilt(formula, lambda part: _expand(part, values, known))


_Expression = TypeVar("_Expression", bound=tree.Row | tree.Quantity)


def put_values(expression: _Expression, known: Mapping[str, tree.Literal]) -> _Expression:
    """The same row expression or quantity with every variable replaced by its value."""

    def put(node: tree.Node) -> tree.Node:
        if not isinstance(node, tree.Variable):
            return tree.rebuilt(node, put)
        if node.name not in known:
            raise SpecError(f"`{node.name}` is bound by no enclosing `for`", node.place, name=node.name)
        return replace(known[node.name], place=node.place)

    return cast(_Expression, put(expression))


def _values_of(node: tree.Each, values: _Values, known: Mapping[str, tree.Literal]) -> list[tree.Literal]:
    if isinstance(node.source, tree.Column):
        occurring = [tree.Literal(value_of(value), place=node.source.place) for value in values(node.source)]
    else:
        occurring = list(dict.fromkeys(node.source))
    excluded = [_resolved(item, known) for item in node.excluded]
    for item in excluded:  # 1 and 1.0 are one value of a column, whichever way it is stored
        if all(item.value != value.value for value in occurring):
            raise SpecError(_not_there(item, occurring), item.place or node.place, name=str(item.value))
    left = [value for value in occurring if all(item.value != value.value for item in excluded)]
    if not left:
        raise SpecError(_nothing_left(node, excluded), node.place)
    return left


def _nothing_left(node: tree.Each, excluded: list[tree.Literal]) -> str:
    where = f"column {node.source.name!r}" if isinstance(node.source, tree.Column) else "the list"
    if not excluded:
        return f"there is no value for `{node.variable}` to run over: every value of {where} is missing"
    named = ", ".join(value_text(item.value) for item in excluded)
    return f"there is no value for `{node.variable}` to run over: {where} has none but {named}, so nothing is compared"


def _resolved(item: tree.Literal | tree.Variable, known: Mapping[str, tree.Literal]) -> tree.Literal:
    return (
        item
        if isinstance(item, tree.Literal)
        else replace(cast(tree.Literal, put_values(item, known)), place=item.place)
    )


def _not_there(item: tree.Literal, occurring: list[tree.Literal]) -> str:
    written = [value_text(value.value) for value in occurring]
    listed = ", ".join(written[:12]) + (", ..." if len(written) > 12 else "")
    hint = nearest(str(item.value), [str(value.value) for value in occurring])
    return f"the excluded value {value_text(item.value)} does not occur; those that do are {listed or 'none'}.{hint}"
