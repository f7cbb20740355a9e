"""From Lark's concrete tree to row expressions: the part inside the square brackets."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from lark import Tree

from isonomia.errors import Place
from isonomia.spec import construct
from isonomia.spec.build_values import (
    Branch,
    Scope,
    branches,
    build_atom,
    build_item,
    build_value,
    build_version,
)
from isonomia.spec.tree import (
    Column,
    Compare,
    Member,
    Missing,
    Output,
    Row,
    RowJunction,
    RowNot,
    RowRelation,
)

__all__ = ["build_row"]

_SIGNS: dict[str, construct.Sign] = {"row_add": "+", "row_subtract": "-", "row_multiply": "*", "row_divide": "/"}


def build_row(branch: Branch, scope: Scope) -> Row:
    """A row expression from its concrete tree."""
    match branch.data:
        case "row_or" | "row_and":
            operands = tuple(build_row(child, scope) for child in branches(branch))
            return RowJunction("or" if branch.data == "row_or" else "and", operands)
        case "row_not":
            return RowNot(build_row(_only(branch), scope))
        case "compare":
            return _comparison(branch, scope)
        case "member" | "not_member":
            return _member(branch, scope)
        case "missing":
            return Missing(build_row(_only(branch), scope))
        case "not_missing":
            return RowNot(Missing(build_row(_only(branch), scope)))
        case _:
            return _term(branch, scope)


def _term(branch: Branch, scope: Scope) -> Row:
    place = scope.place(branch)
    match branch.data:
        case "row_minus":
            return construct.row_negative(build_row(_only(branch), scope), place)
        case "row_add" | "row_subtract" | "row_multiply" | "row_divide":
            left, right = (build_row(child, scope) for child in branches(branch))
            return construct.row_arithmetic(_SIGNS[branch.data], left, right)
        case "call":
            function = cast(construct.Function, str(branch.children[0]))
            return construct.call(function, tuple(build_row(x, scope) for x in branches(branch)), place)
        case "of_version":
            return _of_version(branch, scope)
        case "prediction" | "score":
            return _output(branch, scope)
        case _:
            return build_atom(branch, scope)


def _output(branch: Branch, scope: Scope) -> Output:
    place = scope.place(branch)
    if branch.data == "prediction":
        return Output("prediction", place=place)
    label = branch.children[0]
    return Output("score", build_value(label, scope) if isinstance(label, Tree) else None, place=place)


def _of_version(branch: Branch, scope: Scope) -> Column | Output:
    who, what = branches(branch)
    version = build_version(who, scope)
    # Behind the dot stands always a column or an answer, also where a variable has the same name.
    feature = cast(Column | Output, _term(what, replace(scope, bound=frozenset())))
    return replace(feature, version=version, place=scope.place(branch))


def _comparison(branch: Branch, scope: Scope) -> Row:
    terms = [build_row(child, scope) for child in branch.children[::2] if isinstance(child, Tree)]
    relations = [cast(RowRelation, str(token)) for token in branch.children[1::2]]
    places = [
        Place(scope.text, scope.place(left).start, scope.place(right).end)
        for left, right in zip(branch.children[::2], branch.children[2::2], strict=False)
    ]
    links = tuple(
        Compare(relation, left, right, place=place)
        for relation, left, right, place in zip(relations, terms, terms[1:], places, strict=False)
    )
    return links[0] if len(links) == 1 else RowJunction("and", links)


def _member(branch: Branch, scope: Scope) -> Row:
    operand, values = branches(branch)
    items = tuple(build_item(item, scope) for item in branches(values))
    node = Member(build_row(operand, scope), items, place=scope.place(branch))
    return RowNot(node) if branch.data == "not_member" else node


def _only(branch: Branch) -> Branch:
    return branches(branch)[0]
