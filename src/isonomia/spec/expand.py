"""Substitution; writing every `for` out.

Putting values in the place of variables.

Replacing every ``for`` by the conjunction over its values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias, TypeVar, cast

from isonomia.errors import SpecError, nearest
from isonomia.spec.terms import value_of
from isonomia.spec.text import value_text
from isonomia.spec.tree import (
    Arithmetic,
    AsIf,
    Call,
    Change,
    Column,
    Compare,
    Comparison,
    Constant,
    Do,
    Each,
    Extreme,
    Formula,
    Implies,
    Junction,
    Literal,
    Mean,
    Member,
    Missing,
    Negative,
    Not,
    Other,
    Output,
    PairCall,
    Power,
    Quantity,
    Rate,
    Row,
    RowArithmetic,
    RowJunction,
    RowNegative,
    RowNot,
    Setting,
    Value,
    Variable,
    Version,
)

__all__ = ["expand", "put_values"]


_Node = TypeVar("_Node", bound=Row | Quantity)


def put_values(node: _Node, known: Mapping[str, Literal]) -> _Node:
    """The same row expression or quantity with every variable replaced by its value.

    Raises
    ------
    SpecError
        Where a variable has no value.
    """
    return cast(_Node, _put(node, known))


def _put(node: Row | Quantity, known: Mapping[str, Literal]) -> Row | Quantity:
    match node:
        case Literal() | Constant() | PairCall():
            return node
        case Column() | Output():
            return node if node.version is None else replace(node, version=_version(node.version, known))
        case Variable():
            if node.name not in known:
                raise SpecError(f"`{node.name}` is bound by no enclosing `for`", node.place)
            return replace(known[node.name], place=node.place)
        case RowNegative() | RowNot() | Missing():
            return replace(node, operand=put_values(node.operand, known))
        case Negative():
            return replace(node, operand=put_values(node.operand, known))
        case RowArithmetic() | Compare():
            return replace(node, left=put_values(node.left, known), right=put_values(node.right, known))
        case Arithmetic():
            return replace(node, left=put_values(node.left, known), right=put_values(node.right, known))
        case _:
            return _put_in_many(node, known)


def _put_in_many(
    node: Call | Extreme | RowJunction | Member | Power | Rate | Mean, known: Mapping[str, Literal]
) -> Row | Quantity:
    match node:
        case Call():
            return replace(node, arguments=tuple(put_values(x, known) for x in node.arguments))
        case Extreme():
            return replace(node, arguments=tuple(put_values(x, known) for x in node.arguments))
        case RowJunction():
            return replace(node, operands=tuple(put_values(x, known) for x in node.operands))
        case Member():
            values = tuple(cast(Literal, put_values(cast(Row, value), known)) for value in node.values)
            return replace(node, operand=put_values(node.operand, known), values=values)
        case Power():
            return replace(node, base=put_values(node.base, known))
        case Rate():
            return replace(node, event=put_values(node.event, known), given=_optional(node.given, known))
        case Mean():
            return replace(node, term=put_values(node.term, known), given=_optional(node.given, known))


def _optional(row: Row | None, known: Mapping[str, Literal]) -> Row | None:
    return None if row is None else put_values(row, known)


# ---------------------------------------------------------------------------- versions


def _version(version: Version, known: Mapping[str, Literal]) -> Version:
    match version:
        case Other():
            return version
        case Do():
            return replace(version, items=tuple(_change(item, known) for item in version.items))


def _change(item: Change, known: Mapping[str, Literal]) -> Change:
    match item:
        case Setting():
            return _setting(item, known)
        case AsIf():
            return replace(item, settings=tuple(_setting(setting, known) for setting in item.settings))


def _setting(setting: Setting, known: Mapping[str, Literal]) -> Setting:
    return replace(setting, value=cast(Literal, put_values(cast(Row, setting.value), known)))


_Values: TypeAlias = Callable[[Column], tuple[Value, ...]]


def expand(formula: Formula, values: Callable[[Column], tuple[Value, ...]]) -> Formula:
    """Write every ``for`` out.

    Parameters
    ----------
    formula
        The formula.
    values
        The values that occur in a column, in the order in which the parts shall come.

    Returns
    -------
    Formula
        The same claim with no ``for`` and no variable left. A ``for`` over one value is its body.

    Raises
    ------
    SpecError
        Where a ``for`` has no value to run over, or excludes a value that does not occur.
    """
    return _expand(formula, values, {})


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
            kept = _kept(formula, values, known)
            parts = tuple(_expand(formula.body, values, {**known, formula.variable: value}) for value in kept)
            return parts[0] if len(parts) == 1 else Junction("and", parts)


def _kept(node: Each, values: _Values, known: Mapping[str, Literal]) -> list[Literal]:
    if isinstance(node.source, Column):
        occurring = [Literal(value_of(value), place=node.source.place) for value in values(node.source)]
    else:
        occurring = list(dict.fromkeys(node.source))
    excluded = [_resolved(item, known) for item in node.excluded]
    for item in excluded:
        if not any(_same(item, value) for value in occurring):
            raise SpecError(_not_there(item, occurring), item.place or node.place, name=str(item.value))
    kept = [value for value in occurring if not any(_same(item, value) for item in excluded)]
    if not kept:
        raise SpecError(_nothing_left(node, excluded), node.place)
    return kept


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
