"""From Lark's concrete tree to row expressions: the part inside the square brackets."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from lark import Token, Tree

from isonomia.errors import Place, SpecError
from isonomia.spec import construct
from isonomia.spec.lexemes import unquote
from isonomia.spec.tree import (
    Column,
    Compare,
    Literal,
    Member,
    Missing,
    Output,
    Row,
    RowJunction,
    RowNot,
    RowRelation,
    Value,
    Variable,
)

__all__ = ["Branch", "Scope", "build_item", "build_row", "build_value", "float_of"]

Branch: TypeAlias = Tree[Token]

_SIGNS: dict[str, construct.Sign] = {"row_add": "+", "row_subtract": "-", "row_multiply": "*", "row_divide": "/"}


@dataclass(frozen=True, slots=True)
class Scope:
    """What a name can mean at some point of the text.

    Attributes
    ----------
    text
        The whole text.
    bound
        The variables of the enclosing ``for``s.
    """

    text: str
    bound: frozenset[str] = frozenset()

    def binding(self, name: str) -> Scope:
        """The scope inside a ``for`` of this variable."""
        return replace(self, bound=self.bound | {name})

    def place(self, branch: Branch | Token) -> Place:
        """Where a branch or a token stands."""
        meta = branch if isinstance(branch, Token) else branch.meta
        return Place(self.text, meta.start_pos or 0, meta.end_pos or 0)


def build_row(branch: Branch, scope: Scope) -> Row:
    """A row expression from its concrete tree."""
    match branch.data:
        case "row_or" | "row_and":
            operands = tuple(build_row(child, scope) for child in _branches(branch))
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
            left, right = (build_row(child, scope) for child in _branches(branch))
            return construct.row_arithmetic(_SIGNS[branch.data], left, right)
        case "call":
            function = cast(construct.Function, str(branch.children[0]))
            return construct.call(function, tuple(build_row(x, scope) for x in _branches(branch)), place)
        case "prediction":
            return Output("prediction", place=place)
        case "score":
            label = branch.children[0]
            return Output("score", build_value(label, scope) if isinstance(label, Tree) else None, place=place)
        case _:
            return _atom(branch, scope)


def _atom(branch: Branch, scope: Scope) -> Column | Variable | Literal:
    place = scope.place(branch)
    if branch.data == "name":
        name = str(branch.children[0])
        return Variable(name, place=place) if name in scope.bound else Column(name, place=place)
    if branch.data == "column_in_backticks":
        return Column(_unquoted(_token(branch), scope), place=place)
    return Literal(build_value(branch, scope), place=place)


def build_item(branch: Branch, scope: Scope) -> Literal | Variable:
    """One member of a set, or one excluded value: a value, or a variable of an enclosing ``for``."""
    atom = _atom(branch, scope)
    if isinstance(atom, Column):
        message = (
            f"`{atom.name}` is neither a value nor a variable of an enclosing `for`; text needs quotes: '{atom.name}'"
        )
        raise SpecError(message, atom.place)
    return atom


def build_value(branch: Branch, scope: Scope) -> Value:
    """A literal value: text, a truth value, or a number, whole where it is written without point and exponent."""
    match branch.data:
        case "true" | "false":
            return bool(branch.data == "true")
        case "string":
            return _unquoted(_token(branch), scope)
        case "minus_number":
            return -_number(_token(branch), scope)
        case _:
            return _number(_token(branch), scope)


def float_of(token: Token, text: str, scope: Scope) -> float:
    """The float that a number's text means; one too large for a float is refused."""
    value = float(text)
    if math.isinf(value):
        raise SpecError("this number is too large to work with", scope.place(token))
    return value


def _number(token: Token, scope: Scope) -> int | float:
    value = float_of(token, token, scope)
    return int(token.lstrip("0") or "0") if token.isdigit() else value


def _unquoted(token: Token, scope: Scope) -> str:
    try:
        return unquote(token)
    except ValueError as error:
        raise SpecError(str(error), scope.place(token)) from None


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
    operand, values = _branches(branch)
    items = tuple(build_item(item, scope) for item in _branches(values))
    node = Member(build_row(operand, scope), items, place=scope.place(branch))
    return RowNot(node) if branch.data == "not_member" else node


def _branches(branch: Branch) -> list[Branch]:
    return [child for child in branch.children if isinstance(child, Tree)]


def _only(branch: Branch) -> Branch:
    return _branches(branch)[0]


def _token(branch: Branch) -> Token:
    return next(child for child in branch.children if isinstance(child, Token))
