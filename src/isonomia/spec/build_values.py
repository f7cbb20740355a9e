"""From Lark's concrete tree to names, values and versions of a person: the smallest pieces of row expressions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeAlias

from lark import Token, Tree

from isonomia.errors import Place, SpecError
from isonomia.spec import construct
from isonomia.spec.lexemes import unquote
from isonomia.spec.tree import Column, Literal, Value, Variable
from isonomia.spec.versions import Change, Other, Setting, Version

__all__ = [
    "Branch",
    "Scope",
    "branches",
    "build_atom",
    "build_item",
    "build_value",
    "build_version",
    "float_of",
]

Branch: TypeAlias = Tree[Token]


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


def branches(branch: Branch) -> list[Branch]:
    """The branches directly below one, without the tokens."""
    return [child for child in branch.children if isinstance(child, Tree)]


# ---------------------------------------------------------------------------- names and values


def build_atom(branch: Branch, scope: Scope) -> Column | Variable | Literal:
    """A name or a value; a name in backticks is always a column."""
    place = scope.place(branch)
    if branch.data in {"name", "column_in_backticks"}:
        name = _name(branch, scope)
        return (
            Variable(name, place=place) if branch.data == "name" and name in scope.bound else Column(name, place=place)
        )
    return Literal(build_value(branch, scope), place=place)


def build_item(branch: Branch, scope: Scope) -> Literal | Variable:
    """One member of a set, one excluded value, or what something is set to: a value, or a variable of a ``for``."""
    atom = build_atom(branch, scope)
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


def _name(branch: Branch, scope: Scope) -> str:
    token = _token(branch)
    return str(token) if branch.data == "name" else _unquoted(token, scope)


def _unquoted(token: Token, scope: Scope) -> str:
    try:
        return unquote(token)
    except ValueError as error:
        raise SpecError(str(error), scope.place(token)) from None


def _token(branch: Branch) -> Token:
    return next(child for child in branch.children if isinstance(child, Token))


# ---------------------------------------------------------------------------- versions


def build_version(branch: Branch, scope: Scope) -> Version:
    """A version of a person: ``other``, or ``do(...)`` with its changes."""
    place = scope.place(branch)
    if branch.data == "other":
        return Other(place=place)
    return construct.do(tuple(_change(child, scope) for child in branches(branch)), place)


def _change(branch: Branch, scope: Scope) -> Change:
    if branch.data == "setting":
        return _setting(branch, scope)
    name, *settings = branches(branch)
    return construct.as_if(_name(name, scope), tuple(_setting(x, scope) for x in settings), scope.place(branch))


def _setting(branch: Branch, scope: Scope) -> Setting:
    # What stands before the = is always a column, also where a variable has the same name.
    name, value = branches(branch)
    return Setting(_name(name, scope), build_item(value, scope), place=scope.place(branch))
