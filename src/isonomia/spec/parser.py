"""Reading a formula from text: Lark turns it into a concrete tree, and this module turns that into the syntax tree.

The grammar is the file ``grammar.lark`` next to this one. A failure becomes a sentence in
:mod:`~isonomia.spec.syntax_errors`. Lark is loaded with the first text that is read: its tokens are strings, so nothing
here needs its classes.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, TypeAlias, TypeGuard, cast

from isonomia.errors import Place, SpecError, UsageError
from isonomia.spec import construct, tree
from isonomia.spec.syntax_errors import FORMULAS, GrammarWording, grammar_error
from isonomia.spec.text import unquote

if TYPE_CHECKING:
    from lark import Lark, Token, Tree

Branch: TypeAlias = "Tree[Token]"


def parse_formula(text: str) -> tree.Formula:
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
        Where the text is not a formula; the error says what was given, what was expected, and where.

    Examples
    --------
    >>> parse_formula("P[hired] >= 80%")
    Comparison(first=Rate(event=Column(name='hired', version=None), given=None), rest=(('>=', Constant(value=0.8)),))
    """
    return _parsed(_text(text))


@lru_cache(maxsize=256)
def _parsed(text: str) -> tree.Formula:
    """Cached: the same text is read again to check, explain and draw it, and a tree never changes."""
    return _formula(_read(text, "start"), _Scope(text))


def parse_condition(text: str) -> tree.Row:
    """Read a condition by itself, such as ``sex == 'F' and age < 25``.

    Examples
    --------
    >>> parse_condition("sex == 'F'")
    Compare(relation='==', left=Column(name='sex', version=None), right=Literal(value='F'))
    """
    return _row(_read(_text(text), "condition"), _Scope(text))


def _text(text: object) -> str:
    if not isinstance(text, str):
        raise UsageError(f"text must be a str, but it is {text!r} of type {type(text).__name__}", name="text")
    return text


def _read(text: str, start: str) -> Branch:
    check_length(text)
    if start == "start":
        _check_comparisons(text)
    concrete = parse_tree(load_grammar(__package__, "start", "condition"), text, FORMULAS, start=start)
    advice = f"this is nested more than {tree.DEEPEST} levels deep: split the property into several"
    check_depth(concrete, text, tree.DEEPEST + 5, advice)  # it has a few levels more than the syntax tree
    return branches(concrete)[0]


_COUNTED = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|\#[^\n]*|[\[\]]|==>|[=!<>]=|[<>]""")


def _check_comparisons(text: str) -> None:
    """Refuse a text of too many comparisons before parsing it, which would take seconds."""
    if len(text) <= 3 * tree.MOST_COMPARISONS:
        return
    depth = counted = 0
    for result in _COUNTED.finditer(text):
        sign = result[0]
        if sign in "[]":
            depth += 1 if sign == "[" else -1
        elif depth == 0 and sign[0] in "=!<>" and sign != "==>":
            counted += 1
    if counted > tree.MOST_COMPARISONS:
        message = f"expected a property of at most {tree.MOST_COMPARISONS:,} comparisons, but this one has {counted:,}"
        raise SpecError(f"{message}: state several properties")


# ---------------------------------------------------------------------------- Lark's trees


@cache
def load_grammar(package: str, *starts: str) -> Lark:
    """The parser of the file ``grammar.lark`` of a package, with the rules that a text may start from."""
    from lark import Lark

    grammar = resources.files(package).joinpath("grammar.lark").read_text("utf-8")
    return Lark(
        grammar,
        start=list(starts),
        parser="lalr",
        lexer="basic",
        propagate_positions=True,
        maybe_placeholders=True,
    )


MOST_CHARACTERS = 100_000
"""How long a text may be: reading this much takes seconds, and no person wrote more."""


def check_length(text: str) -> None:
    """Refuse a text longer than any that people write, before anything is done with it."""
    if len(text) > MOST_CHARACTERS:
        raise SpecError(f"expected a text of at most {MOST_CHARACTERS:,} characters, but got {len(text):,}: split it")


def parse_tree(
    parser: Lark, text: str, wording: GrammarWording, *, shown: str | None = None, start: str = "start"
) -> Branch:
    """The concrete tree of a text; an error points into ``shown`` instead of the text, where that is given."""
    from lark.exceptions import UnexpectedInput

    check_length(text)
    try:
        return parser.parse(text, start=start)
    except UnexpectedInput as error:
        raise grammar_error(error, shown or text, parser, wording) from None


def check_depth(concrete: Branch, text: str, levels: int, message: str) -> None:
    """Refuse a concrete tree with more levels: the syntax tree is walked by recursion."""
    level = [concrete]
    for _ in range(levels):
        level = [child for branch in level for child in branches(branch)]
        if not level:
            return
    start = 0 if level[0].meta.empty else level[0].meta.start_pos
    raise SpecError(message, Place(text, start, start + 1))


def is_branch(child: Branch | Token | None) -> TypeGuard[Branch]:
    """Whether a child is a branch: neither a token, which is a string, nor the ``None`` of what was left out."""
    return child is not None and not isinstance(child, str)


def branches(branch: Branch) -> list[Branch]:
    """The branches directly below one, without the tokens."""
    return [child for child in branch.children if is_branch(child)]


@dataclass(frozen=True, slots=True)
class _Scope:
    """What a name can mean at some point of the text: ``bound`` are the variables of the enclosing ``for``s."""

    text: str
    bound: frozenset[str] = frozenset()

    def binding(self, name: str) -> _Scope:
        """The scope inside a ``for`` of this variable."""
        return replace(self, bound=self.bound | {name})

    def place(self, branch: Branch | Token) -> Place:
        """Where a branch or a token stands."""
        return place_in(self.text, branch)


def place_in(text: str, branch: Branch | Token) -> Place:
    """Where a branch or a token stands in a text."""
    meta = branch if isinstance(branch, str) else branch.meta
    return Place(text, meta.start_pos or 0, meta.end_pos or 0)


# ---------------------------------------------------------------------------- formulas and quantities


_SIGNS: dict[str, tree.ArithmeticSign] = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}


def _formula(branch: Branch, scope: _Scope) -> tree.Formula:
    match branch.data:
        case "implication":
            premise, conclusion = branches(branch)
            return tree.Implies(_formula(premise, scope), _formula(conclusion, scope))
        case "disjunction" | "conjunction":
            operands = tuple(_formula(child, scope) for child in branches(branch))
            return tree.Junction("or" if branch.data == "disjunction" else "and", operands)
        case "negation":
            return tree.Not(_formula(branches(branch)[0], scope))
        case "each":
            return _each(branch, scope)
        case _:
            return _comparison(branch, scope)


def _comparison(branch: Branch, scope: _Scope) -> tree.Comparison:
    first, *rest = (_quantity(child, scope) for child in branches(branch))
    links: list[tuple[tree.Relation, tree.Quantity]] = []
    for token, quantity in zip(branch.children[1::2], rest, strict=True):
        if token in {"==", "!="}:
            message = f"`{token}` cannot compare quantities: write a tolerance, such as `abs(P[...] - 0.5) <= 0.01`"
            raise SpecError(message, scope.place(token))
        links.append((cast(tree.Relation, str(token)), quantity))
    return tree.Comparison(first, tuple(links))


def _each(branch: Branch, scope: _Scope) -> tree.Each:
    name, source, excluded, body = branch.children
    variable = str(name)
    values = _source(cast("Branch", source), scope)
    if variable in scope.bound:
        message = f"`{variable}` is already the variable of an enclosing `for`: choose another"
        raise SpecError(message, scope.place(name))
    if is_branch(source) and source.data == "name" and str(source.children[0]) == variable:
        message = f"the variable has the name of the column it runs over: choose another, as in `for g in {variable}:`"
        raise SpecError(message, scope.place(name))
    items = branches(excluded) if is_branch(excluded) else []
    left_out = tuple(_item(item, scope) for item in items)
    inside = _formula(cast("Branch", body), scope.binding(variable))
    return tree.Each(variable, values, left_out, inside, place=scope.place(branch))


def _source(branch: Branch, scope: _Scope) -> tree.Column | tuple[tree.Literal, ...]:
    if branch.data == "value_set":
        return tuple(tree.Literal(_value(x, scope), place=scope.place(x)) for x in branches(branch))
    node = _row(branch, scope)
    if not isinstance(node, tree.Column):
        message = "a `for` runs over a column or over values in braces, but this is the variable of an enclosing `for`"
        raise SpecError(message, scope.place(branch))
    return node


def _quantity(branch: Branch, scope: _Scope) -> tree.Quantity:
    place = scope.place(branch)
    match branch.data:
        case "number" | "percent":
            return _constant(branch, scope)
        case "rate":
            event, given = branch.children
            return tree.Rate(_row(cast("Branch", event), scope), _given(given, scope), place=place)
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


def _constant(branch: Branch, scope: _Scope) -> tree.Constant:
    token = cast("Token", branch.children[0])
    value = _float(token, token.rstrip("%"), scope)
    if branch.data == "percent" and value != 0:
        # Shifting the decimal point gives the float nearest to what is written, which dividing by 100 may not.
        mantissa, _, exponent = token[:-1].lower().partition("e")
        value = float(f"{mantissa}e{int(exponent or 0) - 2}")
    return tree.Constant(value, place=scope.place(branch))


def _mean(branch: Branch, scope: _Scope) -> tree.Mean:
    term, declared, given = branch.children
    low, high = None, None
    if is_branch(declared):
        low, high = (float(_value(child, scope)) for child in branches(declared))
    condition = _given(given, scope)
    return construct.mean(_row(cast("Branch", term), scope), condition, low, high, scope.place(branch))


def _given(child: Branch | Token, scope: _Scope) -> tree.Row | None:
    return _row(child, scope) if is_branch(child) else None


# ---------------------------------------------------------------------------- row expressions


def _row(branch: Branch, scope: _Scope) -> tree.Row:
    """A row expression from its concrete tree."""
    match branch.data:
        case "row_or" | "row_and":
            operands = tuple(_row(child, scope) for child in branches(branch))
            return tree.RowJunction("or" if branch.data == "row_or" else "and", operands)
        case "row_not":
            return tree.RowNot(_row(_only(branch), scope))
        case "compare":
            return _row_comparison(branch, scope)
        case "member" | "not_member":
            return _member(branch, scope)
        case "missing":
            return tree.Missing(_row(_only(branch), scope))
        case "not_missing":
            return tree.RowNot(tree.Missing(_row(_only(branch), scope)))
        case _:
            return _term(branch, scope)


def _term(branch: Branch, scope: _Scope) -> tree.Row:
    place = scope.place(branch)
    match branch.data:
        case "row_minus":
            return construct.row_negative(_row(_only(branch), scope), place)
        case "row_add" | "row_subtract" | "row_multiply" | "row_divide":
            left, right = (_row(child, scope) for child in branches(branch))
            return construct.row_arithmetic(_SIGNS[branch.data.removeprefix("row_")], left, right)
        case "call":
            function = cast(construct.Function, str(branch.children[0]))
            return construct.call(function, tuple(_row(x, scope) for x in branches(branch)), place)
        case "of_version":
            return _of_version(branch, scope)
        case "of_model":
            answer = _output(branches(branch)[0], scope)
            return replace(answer, model=str(_token(branch)), place=place)
        case "prediction" | "score":
            return _output(branch, scope)
        case _:
            return _atom(branch, scope)


def _output(branch: Branch, scope: _Scope) -> tree.Output:
    place = scope.place(branch)
    if branch.data == "prediction":
        return tree.Output("prediction", place=place)
    label = branch.children[0]
    return tree.Output("score", _value(label, scope) if is_branch(label) else None, place=place)


def _of_version(branch: Branch, scope: _Scope) -> tree.Column | tree.Output:
    who, what = branches(branch)
    version = _version(who, scope)
    # After the dot there is always a column or an answer, even where a variable has the same name.
    feature = cast(tree.Column | tree.Output, _term(what, replace(scope, bound=frozenset())))
    return replace(feature, version=version, place=scope.place(branch))


def _row_comparison(branch: Branch, scope: _Scope) -> tree.Row:
    terms = [_row(child, scope) for child in branch.children[::2] if is_branch(child)]
    relations = [cast(tree.RowRelation, str(token)) for token in branch.children[1::2]]
    places = [
        Place(scope.text, scope.place(left).start, scope.place(right).end)
        for left, right in zip(branch.children[::2], branch.children[2::2], strict=False)
    ]
    links = tuple(
        tree.Compare(relation, left, right, place=place)
        for relation, left, right, place in zip(relations, terms, terms[1:], places, strict=False)
    )
    return links[0] if len(links) == 1 else tree.RowJunction("and", links)


def _member(branch: Branch, scope: _Scope) -> tree.Row:
    operand, values = branches(branch)
    items = tuple(_item(item, scope) for item in branches(values))
    node = tree.Member(_row(operand, scope), items, place=scope.place(branch))
    return tree.RowNot(node) if branch.data == "not_member" else node


def _only(branch: Branch) -> Branch:
    return branches(branch)[0]


# ---------------------------------------------------------------------------- versions


def _version(branch: Branch, scope: _Scope) -> tree.Version:
    """A version of a person: ``other``, or ``do(...)`` with its changes."""
    place = scope.place(branch)
    if branch.data == "other":
        return tree.Other(place=place)
    return construct.do(tuple(_change(child, scope) for child in branches(branch)), place)


def _change(branch: Branch, scope: _Scope) -> tree.Change:
    if branch.data == "setting":
        return _setting(branch, scope)
    name, *settings = branches(branch)
    return construct.as_if(_name(name, scope), tuple(_setting(x, scope) for x in settings), scope.place(branch))


def _setting(branch: Branch, scope: _Scope) -> tree.Setting:
    # Before the `=` there is always a column, even where a variable has the same name.
    name, value = branches(branch)
    return tree.Setting(_name(name, scope), _item(value, scope), place=scope.place(branch))


# ---------------------------------------------------------------------------- names and values


def _atom(branch: Branch, scope: _Scope) -> tree.Column | tree.Variable | tree.Literal:
    """A name or a value; a name in backticks is always a column."""
    place = scope.place(branch)
    if branch.data in {"name", "column_in_backticks"}:
        name = _name(branch, scope)
        bound = branch.data == "name" and name in scope.bound
        return tree.Variable(name, place=place) if bound else tree.Column(name, place=place)
    return tree.Literal(_value(branch, scope), place=place)


def _item(branch: Branch, scope: _Scope) -> tree.Literal | tree.Variable:
    """One member of a set, one excluded value, or what something is set to: a value, or a variable of a ``for``."""
    atom = _atom(branch, scope)
    if isinstance(atom, tree.Column):
        message = (
            f"`{atom.name}` is neither a value nor a variable of an enclosing `for`; text needs quotes: '{atom.name}'"
        )
        raise SpecError(message, atom.place)
    return atom


def _value(branch: Branch, scope: _Scope) -> tree.Value:
    """A literal value: text, a truth value, or a number, whole where it is written without point and exponent."""
    match branch.data:
        case "true" | "false":
            return bool(branch.data == "true")
        case "string":
            token = _token(branch)
            return unquote(token, scope.place(token))
        case "minus_number":
            return -_number(_token(branch), scope)
        case _:
            return _number(_token(branch), scope)


def _float(token: Token, text: str, scope: _Scope) -> float:
    """The float that a number's text means; one too large for a float is refused."""
    value = float(text)
    if math.isinf(value):
        raise SpecError("this number is too large to work with", scope.place(token))
    return value


def _number(token: Token, scope: _Scope) -> int | float:
    value = _float(token, token, scope)
    return int(token.lstrip("0") or "0") if token.isdigit() else value


def _name(branch: Branch, scope: _Scope) -> str:
    token = _token(branch)
    return str(token) if branch.data == "name" else unquote(token, scope.place(token))


def _token(branch: Branch) -> Token:
    return next(child for child in branch.children if isinstance(child, str))
