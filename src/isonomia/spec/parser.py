"""Text -> Lark -> tree.

Reading a formula from text.

The grammar is the file ``grammar.lark`` beside this one. Lark turns the text into a concrete tree,
this module turns that into the syntax tree, and :mod:`~isonomia.spec.syntax_errors` turns a failure into a sentence.

From Lark's concrete tree to names, values and versions of a person: the smallest pieces of row expressions.

From Lark's concrete tree to row expressions: the part inside the square brackets.

From Lark's concrete tree to formulas and quantities: the part outside the square brackets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, TypeAlias, cast

from lark import Token, Tree

from isonomia.errors import Place, SpecError, UsageError
from isonomia.spec import construct
from isonomia.spec.text import unquote
from isonomia.spec.tree import (
    Change,
    Column,
    Compare,
    Comparison,
    Constant,
    Each,
    Formula,
    Implies,
    Junction,
    Literal,
    Mean,
    Member,
    Missing,
    Not,
    Other,
    Output,
    Quantity,
    Rate,
    Relation,
    Row,
    RowJunction,
    RowNot,
    RowRelation,
    Setting,
    Value,
    Variable,
    Version,
)
from isonomia.spec.walk import DEEPEST

if TYPE_CHECKING:
    from lark import Lark, Token, Tree

__all__ = [
    "Branch",
    "_Scope",
    "branches",
    "build_atom",
    "build_condition",
    "build_formula",
    "build_item",
    "build_row",
    "build_value",
    "build_version",
    "float_of",
    "parse_condition",
    "parse_formula",
]


def parse_formula(text: str) -> Formula:
    """Read a formula.

    Parameters
    ----------
    text
        A property, such as ``P[prediction == 1 | sex == 'F'] >= 0.8``.

    Returns
    -------
    Formula
        Its syntax tree; every node knows its place in the text.

    Raises
    ------
    SpecError
        Where the text is no formula; the error says what came, what was expected, and where.

    Examples
    --------
    >>> parse_formula("P[hired] >= 80%")
    Comparison(first=Rate(event=Column(name='hired', version=None), given=None), rest=(('>=', Constant(value=0.8)),))
    """
    return build_formula(_read(text, "start"), text)


def parse_condition(text: str) -> Row:
    """Read a condition by itself, such as ``sex == 'F' and age < 25``.

    Raises
    ------
    SpecError
        Where the text is no condition.

    Examples
    --------
    >>> parse_condition("sex == 'F'")
    Compare(relation='==', left=Column(name='sex', version=None), right=Literal(value='F'))
    """
    return build_condition(_read(text, "condition"), text)


def _read(text: str, start: str) -> Tree[Token] | Token:
    if not isinstance(text, str):
        raise UsageError(f"text must be a str, but it is {text!r} of type {type(text).__name__}")
    from lark.exceptions import UnexpectedInput

    from isonomia.spec.syntax_errors import complaint

    try:
        tree = _parser().parse(text, start=start)
    except UnexpectedInput as error:
        raise complaint(error, text, _parser()) from None
    _check_depth(tree, text)
    return tree.children[0]


@cache
def _parser() -> Lark:
    from lark import Lark

    grammar = resources.files(__package__).joinpath("grammar.lark").read_text("utf-8")
    return Lark(
        grammar,
        start=["start", "condition"],
        parser="lalr",
        lexer="basic",
        propagate_positions=True,
        maybe_placeholders=True,
    )


def _check_depth(tree: Tree[Token], text: str) -> None:
    from lark import Tree

    level: list[Tree[Token]] = [tree]
    for _ in range(DEEPEST + 5):  # the concrete tree has a few levels more than the syntax tree
        level = [child for node in level for child in node.children if isinstance(child, Tree)]
        if not level:
            return
    place = Place(text, level[0].meta.start_pos, level[0].meta.start_pos + 1)
    raise SpecError(f"this is nested more than {DEEPEST} levels deep: split the property into several", place)


Branch: TypeAlias = Tree[Token]


@dataclass(frozen=True, slots=True)
class _Scope:
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

    def binding(self, name: str) -> _Scope:
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


def build_atom(branch: Branch, scope: _Scope) -> Column | Variable | Literal:
    """A name or a value; a name in backticks is always a column."""
    place = scope.place(branch)
    if branch.data in {"name", "column_in_backticks"}:
        name = _name(branch, scope)
        return (
            Variable(name, place=place) if branch.data == "name" and name in scope.bound else Column(name, place=place)
        )
    return Literal(build_value(branch, scope), place=place)


def build_item(branch: Branch, scope: _Scope) -> Literal | Variable:
    """One member of a set, one excluded value, or what something is set to: a value, or a variable of a ``for``."""
    atom = build_atom(branch, scope)
    if isinstance(atom, Column):
        message = (
            f"`{atom.name}` is neither a value nor a variable of an enclosing `for`; text needs quotes: '{atom.name}'"
        )
        raise SpecError(message, atom.place)
    return atom


def build_value(branch: Branch, scope: _Scope) -> Value:
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


def float_of(token: Token, text: str, scope: _Scope) -> float:
    """The float that a number's text means; one too large for a float is refused."""
    value = float(text)
    if math.isinf(value):
        raise SpecError("this number is too large to work with", scope.place(token))
    return value


def _number(token: Token, scope: _Scope) -> int | float:
    value = float_of(token, token, scope)
    return int(token.lstrip("0") or "0") if token.isdigit() else value


def _name(branch: Branch, scope: _Scope) -> str:
    token = _token(branch)
    return str(token) if branch.data == "name" else _unquoted(token, scope)


def _unquoted(token: Token, scope: _Scope) -> str:
    try:
        return unquote(token)
    except ValueError as error:
        raise SpecError(str(error), scope.place(token)) from None


def _token(branch: Branch) -> Token:
    return next(child for child in branch.children if isinstance(child, Token))


# ---------------------------------------------------------------------------- versions


def build_version(branch: Branch, scope: _Scope) -> Version:
    """A version of a person: ``other``, or ``do(...)`` with its changes."""
    place = scope.place(branch)
    if branch.data == "other":
        return Other(place=place)
    return construct.do(tuple(_change(child, scope) for child in branches(branch)), place)


def _change(branch: Branch, scope: _Scope) -> Change:
    if branch.data == "setting":
        return _setting(branch, scope)
    name, *settings = branches(branch)
    return construct.as_if(_name(name, scope), tuple(_setting(x, scope) for x in settings), scope.place(branch))


def _setting(branch: Branch, scope: _Scope) -> Setting:
    # What stands before the = is always a column, also where a variable has the same name.
    name, value = branches(branch)
    return Setting(_name(name, scope), build_item(value, scope), place=scope.place(branch))


_SIGNS: dict[str, construct.Sign] = {"row_add": "+", "row_subtract": "-", "row_multiply": "*", "row_divide": "/"}


def build_row(branch: Branch, scope: _Scope) -> Row:
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


def _term(branch: Branch, scope: _Scope) -> Row:
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


def _output(branch: Branch, scope: _Scope) -> Output:
    place = scope.place(branch)
    if branch.data == "prediction":
        return Output("prediction", place=place)
    label = branch.children[0]
    return Output("score", build_value(label, scope) if isinstance(label, Tree) else None, place=place)


def _of_version(branch: Branch, scope: _Scope) -> Column | Output:
    who, what = branches(branch)
    version = build_version(who, scope)
    # Behind the dot stands always a column or an answer, also where a variable has the same name.
    feature = cast(Column | Output, _term(what, replace(scope, bound=frozenset())))
    return replace(feature, version=version, place=scope.place(branch))


def _comparison(branch: Branch, scope: _Scope) -> Row:
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


def _member(branch: Branch, scope: _Scope) -> Row:
    operand, values = branches(branch)
    items = tuple(build_item(item, scope) for item in branches(values))
    node = Member(build_row(operand, scope), items, place=scope.place(branch))
    return RowNot(node) if branch.data == "not_member" else node


def _only(branch: Branch) -> Branch:
    return branches(branch)[0]


_SIGNS_BUILD: dict[str, construct.Sign] = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}


def build_formula(tree: Branch | Token, text: str) -> Formula:
    """The syntax tree of a whole formula.

    Parameters
    ----------
    tree
        Lark's concrete tree.
    text
        The text it was read from, for the places.
    """
    return _formula(cast(Branch, tree), _Scope(text))


def build_condition(tree: Branch | Token, text: str) -> Row:
    """The syntax tree of a condition by itself; the parameters are those of :func:`build_formula`."""
    return _row(tree, _Scope(text))


def _formula(branch: Branch, scope: _Scope) -> Formula:
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
            return _comparison_build(branch, scope)


def _comparison_build(branch: Branch, scope: _Scope) -> Comparison:
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


def _each(branch: Branch, scope: _Scope) -> Each:
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


def _source(branch: Branch, scope: _Scope) -> Column | tuple[Literal, ...]:
    if branch.data == "value_set":
        return tuple(Literal(build_value(x, scope), place=scope.place(x)) for x in branches(branch))
    node = build_row(branch, scope)
    if not isinstance(node, Column):
        message = "a `for` runs over a column or over values in braces, but this is the variable of an enclosing `for`"
        raise SpecError(message, scope.place(branch))
    return node


def _quantity(branch: Branch, scope: _Scope) -> Quantity:
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
            return construct.arithmetic(_SIGNS_BUILD[branch.data], left, right, place)


def _row(branch: Branch | Token, scope: _Scope) -> Row:
    return build_row(cast(Branch, branch), scope)


def _constant(branch: Branch, scope: _Scope) -> Constant:
    token = cast(Token, branch.children[0])
    value = float_of(token, token.rstrip("%"), scope)
    if branch.data == "percent" and value != 0:
        # Shifting the decimal point gives the float nearest to what is written, which dividing by 100 may not.
        mantissa, _, exponent = token[:-1].lower().partition("e")
        value = float(f"{mantissa}e{int(exponent or 0) - 2}")
    return Constant(value, place=scope.place(branch))


def _mean(branch: Branch, scope: _Scope) -> Mean:
    term, declared, given = branch.children
    low, high = None, None
    if isinstance(declared, Tree):
        low, high = (float(build_value(child, scope)) for child in branches(declared))
    condition = build_row(given, scope) if isinstance(given, Tree) else None
    return construct.mean(_row(term, scope), condition, low, high, scope.place(branch))
