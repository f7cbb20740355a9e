"""Writing every ``for`` out: as the conjunction of its body over the values, each in place of the variable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeAlias, TypeVar, cast

from isonomia.errors import SpecError, nearest
from isonomia.spec.property import value_of
from isonomia.spec.text import value_text
from isonomia.spec.tree import (
    MOST_COMPARISONS,
    Column,
    Compare,
    Comparison,
    Each,
    Formula,
    Implies,
    Junction,
    Literal,
    Node,
    Not,
    Quantity,
    Row,
    Value,
    Variable,
    nodes,
    rebuilt,
)

_Values: TypeAlias = Callable[[Column], tuple[Value, ...]]


def expand(formula: Formula, values: _Values) -> Formula:
    """The same claim with no ``for`` and no variable left.

    ``values`` lists the values that occur in a column, in the order that the parts should have. A ``for`` over one
    value is its body. A ``for`` without a value to run over, or that excludes a value that does not occur, is refused,
    and so is a property of too many comparisons.
    """
    _check_size(formula, values)
    return _expand(formula, values, {})


def _check_size(formula: Formula, values: _Values) -> None:
    """Refuse a property of too many comparisons before writing them out; counting stops at the limit."""
    some = islice(_comparisons(formula, values, {}), MOST_COMPARISONS + 1)
    counted = sum(len(comparison.rest) for comparison in some)  # `0.1 <= a <= b` is two
    if counted <= MOST_COMPARISONS:
        return
    loops = [node for node in nodes(formula) if isinstance(node, Each)]
    what = f"each `for` written out, {len(loops)} of them" if loops else "in total"
    raise SpecError(
        f"expected a property of at most {MOST_COMPARISONS:,} comparisons, {what}, but this one has more: state "
        "several properties, or let a `for` run over fewer values, `for g in {'a', 'b'}`",
        loops[0].place if loops else None,
    )


def _comparisons(formula: Formula, values: _Values, known: Mapping[str, Literal]) -> Iterator[Comparison]:
    match formula:
        case Comparison():
            yield formula
        case Not():
            yield from _comparisons(formula.operand, values, known)
        case Junction():
            for operand in formula.operands:
                yield from _comparisons(operand, values, known)
        case Implies():
            for side in (formula.premise, formula.conclusion):
                yield from _comparisons(side, values, known)
        case Each():
            for value in _values_of(formula, values, known):
                yield from _comparisons(formula.body, values, {**known, formula.variable: value})


@dataclass(frozen=True, slots=True)
class Binding:
    """A value that a ``for`` gives its variable, and the column whose value it is; ``None`` where that is unknown."""

    variable: str
    column: Column | None
    value: Literal


def expand_parts(formula: Formula, values: _Values) -> tuple[tuple[tuple[Binding, ...], Formula], ...]:
    """The parts of a claim for every group, each with the values that it is about; their conjunction is the claim.

    From the top down, each ``for``, the outermost ``and`` and each ``and`` with a ``for`` among its operands is split;
    anything else stays whole. A part outside every ``for`` has no values.
    """
    _check_size(formula, values)
    if isinstance(formula, Junction) and formula.connective == "and":
        return tuple(part for operand in formula.operands for part in _parts(operand, values, ()))
    return tuple(_parts(formula, values, ()))


def _parts(
    formula: Formula, values: _Values, bound: tuple[Binding, ...]
) -> Iterator[tuple[tuple[Binding, ...], Formula]]:
    known = {item.variable: item.value for item in bound}
    match formula:
        case Each():
            column = formula.source if isinstance(formula.source, Column) else _column_of(formula)
            for value in _values_of(formula, values, known):
                yield from _parts(formula.body, values, (*bound, Binding(formula.variable, column, value)))
        case Junction("and", operands) if any(isinstance(operand, Each) for operand in operands):
            for operand in operands:
                yield from _parts(operand, values, bound)
        case _:
            yield bound, _expand(formula, values, known)


def _column_of(each: Each) -> Column | None:
    """The column that the body compares the variable with; ``None`` where it compares none, or several."""
    found = {
        side
        for node in nodes(each.body)
        if isinstance(node, Compare) and node.relation == "==" and Variable(each.variable) in (node.left, node.right)
        for side in (node.left, node.right)
        if isinstance(side, Column)
    }
    return found.pop() if len(found) == 1 else None


def _expand(formula: Formula, values: _Values, known: Mapping[str, Literal]) -> Formula:
    match formula:
        case Comparison():
            first = put_values(formula.first, known)
            return Comparison(first, tuple((relation, put_values(q, known)) for relation, q in formula.rest))
        case Not():
            return Not(_expand(formula.operand, values, known))
        case Junction():
            return replace(formula, operands=tuple(_expand(operand, values, known) for operand in formula.operands))
        case Implies():
            return Implies(_expand(formula.premise, values, known), _expand(formula.conclusion, values, known))
        case Each():
            left = _values_of(formula, values, known)
            parts = tuple(_expand(formula.body, values, {**known, formula.variable: value}) for value in left)
            return parts[0] if len(parts) == 1 else Junction("and", parts)


_Expression = TypeVar("_Expression", bound=Row | Quantity)


def put_values(expression: _Expression, known: Mapping[str, Literal]) -> _Expression:
    """The same row expression or quantity with every variable replaced by its value."""

    def put(node: Node) -> Node:
        if not isinstance(node, Variable):
            return rebuilt(node, put)
        if node.name not in known:
            raise SpecError(f"`{node.name}` is bound by no enclosing `for`", node.place)
        return replace(known[node.name], place=node.place)

    return cast(_Expression, put(expression))


def _values_of(node: Each, values: _Values, known: Mapping[str, Literal]) -> list[Literal]:
    if isinstance(node.source, Column):
        occurring = [Literal(value_of(value), place=node.source.place) for value in values(node.source)]
    else:
        occurring = list(dict.fromkeys(node.source))
    excluded = [_resolved(item, known) for item in node.excluded]
    for item in excluded:
        if not any(_same(item, value) for value in occurring):
            raise SpecError(_not_there(item, occurring), item.place or node.place, name=str(item.value))
    left = [value for value in occurring if not any(_same(item, value) for item in excluded)]
    if not left:
        raise SpecError(_nothing_left(node, excluded), node.place)
    return left


def _nothing_left(node: Each, excluded: list[Literal]) -> str:
    where = f"column {node.source.name!r}" if isinstance(node.source, Column) else "the list"
    if not excluded:
        return f"there is no value for `{node.variable}` to run over: every value of {where} is missing"
    named = ", ".join(value_text(item.value) for item in excluded)
    return f"there is no value for `{node.variable}` to run over: {where} has none but {named}, so nothing is compared"


def _resolved(item: Literal | Variable, known: Mapping[str, Literal]) -> Literal:
    return item if isinstance(item, Literal) else replace(cast(Literal, put_values(item, known)), place=item.place)


def _same(a: Literal, b: Literal) -> bool:
    # 1 and 1.0 are one value of a column, whichever way it is stored.
    return a.value == b.value


def _not_there(item: Literal, occurring: list[Literal]) -> str:
    written = [value_text(value.value) for value in occurring]
    listed = ", ".join(written[:12]) + (", ..." if len(written) > 12 else "")
    hint = nearest(str(item.value), [str(value.value) for value in occurring])
    return f"the excluded value {value_text(item.value)} does not occur; those that do are {listed or 'none'}.{hint}"
