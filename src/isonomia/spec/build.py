"""From Lark's concrete tree to formulas and quantities: the part outside the square brackets."""

from __future__ import annotations

from typing import cast

from lark import Token, Tree

from isonomia.errors import SpecError
from isonomia.spec import construct
from isonomia.spec.build_rows import build_row
from isonomia.spec.build_values import Branch, Scope, branches, build_item, build_value, float_of
from isonomia.spec.tree import (
    Column,
    Comparison,
    Constant,
    Each,
    Formula,
    Implies,
    Junction,
    Literal,
    Mean,
    Not,
    Quantity,
    Rate,
    Relation,
    Row,
)

__all__ = ["build_condition", "build_formula"]

_SIGNS: dict[str, construct.Sign] = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}


def build_formula(tree: Branch | Token, text: str) -> Formula:
    """The syntax tree of a whole formula.

    Parameters
    ----------
    tree
        Lark's concrete tree.
    text
        The text it was read from, for the places.
    """
    return _formula(cast(Branch, tree), Scope(text))


def build_condition(tree: Branch | Token, text: str) -> Row:
    """The syntax tree of a condition by itself; the parameters are those of :func:`build_formula`."""
    return _row(tree, Scope(text))


def _formula(branch: Branch, scope: Scope) -> Formula:
    match branch.data:
        case "implication":
            premise, conclusion = branches(branch)
            return Implies(_formula(premise, scope), _formula(conclusion, scope))
        case "disjunction" | "conjunction":
            operands = tuple(_formula(child, scope) for child in branches(branch))
            return Junction("or" if branch.data == "disjunction" else "and", operands)
        case "negation":
            return Not(_formula(branches(branch)[0], scope))
        case "each":
            return _each(branch, scope)
        case _:
            return _comparison(branch, scope)


def _comparison(branch: Branch, scope: Scope) -> Comparison:
    first, *rest = (_quantity(child, scope) for child in branches(branch))
    links: list[tuple[Relation, Quantity]] = []
    for token, quantity in zip(branch.children[1::2], rest, strict=True):
        if token in {"==", "!="}:
            message = (
                f"`{token}` cannot compare quantities: a quantity known from samples is never shown to be exactly "
                "equal to another; write abs(x - y) <= tolerance, such as `abs(P[...] - 0.5) <= 0.01`"
            )
            raise SpecError(message, scope.place(token))
        links.append((cast(Relation, str(token)), quantity))
    return Comparison(first, tuple(links))


def _each(branch: Branch, scope: Scope) -> Each:
    name, source, excluded, body = branch.children
    variable = str(name)
    values = _source(cast(Branch, source), scope)
    if variable in scope.bound:
        raise SpecError(
            f"`{variable}` is already the variable of an enclosing `for`: choose another", scope.place(name)
        )
    if isinstance(source, Tree) and source.data == "name" and str(source.children[0]) == variable:
        message = f"the variable has the name of the column it runs over: choose another, as in `for g in {variable}:`"
        raise SpecError(message, scope.place(name))
    items = branches(excluded) if isinstance(excluded, Tree) else []
    left_out = tuple(build_item(item, scope) for item in items)
    inside = _formula(cast(Branch, body), scope.binding(variable))
    return Each(variable, values, left_out, inside, place=scope.place(branch))


def _source(branch: Branch, scope: Scope) -> Column | tuple[Literal, ...]:
    if branch.data == "value_set":
        return tuple(Literal(build_value(x, scope), place=scope.place(x)) for x in branches(branch))
    node = build_row(branch, scope)
    if not isinstance(node, Column):
        message = "a `for` runs over a column or over values in braces, but this is the variable of an enclosing `for`"
        raise SpecError(message, scope.place(branch))
    return node


def _quantity(branch: Branch, scope: Scope) -> Quantity:
    place = scope.place(branch)
    match branch.data:
        case "number" | "percent":
            return _constant(branch, scope)
        case "rate":
            event, given = branch.children
            return Rate(_row(event, scope), _row(given, scope) if given else None, place=place)
        case "mean":
            return _mean(branch, scope)
        case "extreme":
            function = cast(construct.Function, str(branch.children[0]))
            return construct.extreme(function, tuple(_quantity(x, scope) for x in branches(branch)), place)
        case "minus":
            return construct.negative(_quantity(branches(branch)[0], scope), place)
        case "power":
            base, exponent = (_quantity(child, scope) for child in branches(branch))
            return construct.power(base, exponent, place)
        case _:
            left, right = (_quantity(child, scope) for child in branches(branch))
            return construct.arithmetic(_SIGNS[branch.data], left, right, place)


def _row(branch: Branch | Token, scope: Scope) -> Row:
    return build_row(cast(Branch, branch), scope)


def _constant(branch: Branch, scope: Scope) -> Constant:
    token = cast(Token, branch.children[0])
    value = float_of(token, token.rstrip("%"), scope)
    if branch.data == "percent" and value != 0:
        # Shifting the decimal point gives the float nearest to what is written, which dividing by 100 may not.
        mantissa, _, exponent = token[:-1].lower().partition("e")
        value = float(f"{mantissa}e{int(exponent or 0) - 2}")
    return Constant(value, place=scope.place(branch))


def _mean(branch: Branch, scope: Scope) -> Mean:
    term, declared, given = branch.children
    low, high = None, None
    if isinstance(declared, Tree):
        low, high = (float(build_value(child, scope)) for child in branches(declared))
    condition = build_row(given, scope) if isinstance(given, Tree) else None
    return construct.mean(_row(term, scope), condition, low, high, scope.place(branch))
