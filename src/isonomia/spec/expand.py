"""Writing every ``for`` out: the conjunction of its body over the values, each put in the place of the variable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias, TypeVar, cast

from isonomia.errors import SpecError, nearest
from isonomia.spec.terms import value_of
from isonomia.spec.text import value_text
from isonomia.spec.tree import (
    Column,
    Comparison,
    Each,
    Formula,
    Implies,
    Junction,
    Literal,
    Not,
    Quantity,
    Row,
    Value,
    Variable,
)
from isonomia.spec.walk import Node, nodes, rebuilt

__all__ = ["expand", "put_values"]

_Values: TypeAlias = Callable[[Column], tuple[Value, ...]]

MOST_COMPARISONS = 2_000
"""How many comparisons a property may have once every ``for`` is written out: these multiply when they are nested, and
each comparison has bets of its own."""


def expand(formula: Formula, values: _Values) -> Formula:
    """The same claim with no ``for`` and no variable left.

    ``values`` lists the values that occur in a column, in the order in which the parts shall come. A ``for`` over one
    value is its body; one without a value to run over, or that excludes a value that does not occur, is refused, and so
    is a property of too many comparisons.
    """
    written = 0

    def expanded(part: Formula, known: Mapping[str, Literal]) -> Formula:
        nonlocal written
        match part:
            case Comparison():
                written += 1
                if written > MOST_COMPARISONS:
                    raise _too_many(formula)
                first = put_values(part.first, known)
                return Comparison(first, tuple((relation, put_values(q, known)) for relation, q in part.rest))
            case Not():
                return Not(expanded(part.operand, known))
            case Junction():
                return replace(part, operands=tuple(expanded(operand, known) for operand in part.operands))
            case Implies():
                return Implies(expanded(part.premise, known), expanded(part.conclusion, known))
            case Each():
                left = _values_of(part, values, known)
                parts = tuple(expanded(part.body, {**known, part.variable: value}) for value in left)
                return parts[0] if len(parts) == 1 else Junction("and", parts)

    return expanded(formula, {})


def _too_many(formula: Formula) -> SpecError:
    loops = [node for node in nodes(formula) if isinstance(node, Each)]
    what = f"each `for` written out, {len(loops)} of them" if loops else "all in all"
    return SpecError(
        f"expected a property of at most {MOST_COMPARISONS:,} comparisons, {what}, but this one has more: state "
        "several properties, or let a `for` run over fewer values, `for g in {'a', 'b'}`",
        loops[0].place if loops else None,
    )


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
