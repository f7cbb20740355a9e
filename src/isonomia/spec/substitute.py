"""Putting values in the place of variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar, cast

from isonomia.errors import SpecError
from isonomia.spec.tree import (
    Arithmetic,
    Call,
    Column,
    Compare,
    Constant,
    Extreme,
    Literal,
    Mean,
    Member,
    Missing,
    Negative,
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
    Variable,
)
from isonomia.spec.versions import AsIf, Change, Do, Other, Setting, Version

__all__ = ["put_values"]

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
