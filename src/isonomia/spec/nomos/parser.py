"""Text -> tree; the Python block is cut out first.

Cutting the block of Python out of a specification, with every character of the rest kept in its place.

Reading a specification from text.

The grammar is the file ``grammar.lark`` beside this one. The block is cut out first and read by Python's own parser,
for its syntax tree only; nothing is run.

From Lark's tree to the syntax tree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from lark import Token, Tree

from isonomia.errors import Place, SpecError, UsageError
from isonomia.spec.fairsquare.python_source import plain_text
from isonomia.spec.nomos.tree import (
    Binary,
    Ensures,
    Expression,
    FeatureRead,
    FunctionCall,
    Name,
    PythonBlock,
    Requires,
    Scalar,
    ScalarLiteral,
    Spec,
    Unary,
    Update,
    Var,
)
from isonomia.spec.text import unquote

if TYPE_CHECKING:
    from lark import Lark, Token, Tree

__all__ = ["DEEPEST", "BlankedText", "block_of", "build", "cut_block", "parse_nomos"]


_QUOTED = r'"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*'"
_LONG = r'"""(?:\\.|[^\\])*?"""|' + r"'''(?:\\.|[^\\])*?'''"
_OUTSIDE = re.compile(rf"(?P<skip>//[^\n]*|#[^\n]*|/\*.*?\*/|{_QUOTED})|(?P<brace>\{{)", re.DOTALL)
_INSIDE = re.compile(rf"(?P<skip>#[^\n]*|{_LONG}|{_QUOTED})|(?P<brace>[{{}}])", re.DOTALL)


@dataclass(frozen=True, slots=True)
class BlankedText:
    """A specification's text with its block blanked out, and where the block's inside begins and ends.

    ``start`` and ``end`` are ``None`` where there is no block.
    """

    blanked: str
    start: int | None
    end: int | None


def cut_block(text: str) -> BlankedText:
    """Find the block: from the first brace that is in no comment or quotation to the one that closes it.

    Braces inside Python's quotations and comments do not count. Only the first block is cut out; a second one is for
    the grammar to complain about.

    Raises
    ------
    SpecError
        Where the block is never closed.
    """
    start = next((found.end() for found in _OUTSIDE.finditer(text) if found["brace"]), None)
    if start is None:
        return BlankedText(text, None, None)
    depth = 1
    for found in _INSIDE.finditer(text, start):
        if found["brace"]:
            depth += 1 if found["brace"] == "{" else -1
            if depth == 0:
                inside = re.sub(r"[^\n]", " ", text[start : found.start()])
                return BlankedText(text[:start] + inside + text[found.start() :], start, found.start())
    raise SpecError("this block is never closed: expected `}`", Place(text, start - 1, start))


DEEPEST = 100
"""How many levels an expression may have."""


def parse_nomos(text: str) -> Spec:
    """Read a specification, and check what can be checked without data.

    Parameters
    ----------
    text
        What a ``.nom`` file holds.

    Returns
    -------
    Spec
        The syntax tree; every node knows its place in the text.

    Raises
    ------
    SpecError
        Where the text is no specification: the error says what came, what was expected, and where. Also for a name
        that is not declared or declared twice, and for an output that the block never sets.
    """
    from lark.exceptions import UnexpectedInput

    from isonomia.spec.nomos.scope import check_names
    from isonomia.spec.syntax_errors import nomos_complaint as complaint

    if not isinstance(text, str):
        raise UsageError(f"text must be a str, but it is {text!r} of type {type(text).__name__}")
    text = plain_text(text)
    cut = cut_block(text)
    try:
        tree = _parser().parse(cut.blanked)
    except UnexpectedInput as error:
        raise complaint(error, text, _parser()) from None
    _check_depth(tree, text)
    spec = build(tree, text, cut)
    check_names(spec)
    return spec


@cache
def _parser() -> Lark:
    from lark import Lark

    grammar = resources.files(__package__).joinpath("grammar.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", lexer="basic", propagate_positions=True, maybe_placeholders=True)


def _check_depth(tree: Tree[Token], text: str) -> None:
    from lark import Tree

    level: list[Tree[Token]] = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in node.children if isinstance(child, Tree)]
        if not level:
            return
    start = level[0].meta.start_pos if not level[0].meta.empty else 0
    message = f"this is nested more than {DEEPEST} levels deep: set a variable to a part of it"
    raise SpecError(message, Place(text, start, start + 1))


_JOINED = {"implies": "==>", "or_": "||", "and_": "&&"}
_WORDS: dict[str, Scalar] = {"true": True, "false": False, "null": None}


@dataclass(slots=True)
class _Parts:
    imports: list[str] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    before: list[Var | Requires] = field(default_factory=list)
    after: list[Var] = field(default_factory=list)
    ensures: list[Ensures] = field(default_factory=list)
    places: list[tuple[str, Place]] = field(default_factory=list)
    block: PythonBlock | None = None


def build(tree: Tree[Token], text: str, cut: BlankedText) -> Spec:
    """The specification that a concrete tree stands for."""
    parts = _Parts()
    for statement in tree.children:
        assert isinstance(statement, Tree)
        _take(parts, statement, text, cut)
    assert parts.block is not None
    return Spec(
        tuple(parts.imports),
        tuple(parts.inputs),
        tuple(parts.before),
        tuple(parts.outputs),
        parts.block,
        tuple(parts.after),
        tuple(parts.ensures),
        text,
        tuple(parts.places),
    )


def _take(parts: _Parts, node: Tree[Token], text: str, cut: BlankedText) -> None:
    place, first = _place(node, text), node.children[0] if node.children else None
    match node.data:
        case "import_" | "input_" | "output_":
            names = {"import_": parts.imports, "input_": parts.inputs, "output_": parts.outputs}[node.data]
            names.append(str(first))
        case "var_":
            step = Var(str(first), _expression(node.children[1], text), place)
            parts.before.append(step) if parts.block is None else parts.after.append(step)
        case "requires_":
            parts.before.append(Requires(_expression(first, text), place))
        case "block":
            parts.block = block_of(text, cut)
        case _:
            rate = node.children[1]
            parts.ensures.append(Ensures(_expression(first, text), _rate(rate, text), place))
    if isinstance(first, Token):
        parts.places.append((str(first), _place(first, text)))


def block_of(text: str, cut: BlankedText) -> PythonBlock:
    """The block, without the indentation that its lines share."""
    assert cut.start is not None
    assert cut.end is not None
    begin = text.rfind("\n", 0, cut.start) + 1
    inside = " " * (cut.start - begin) + text[cut.start : cut.end]
    lines = inside.split("\n")
    code = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    shared = min((len(line) - len(line.lstrip()) for line in code), default=0)
    starts, position = [], begin
    for number, line in enumerate(lines):
        removed = min(shared, len(line) - len(line.lstrip()))
        lines[number] = line[removed:].rstrip()
        starts.append(position + removed)
        position += len(line) + 1
    empty = next((number for number, line in enumerate(lines) if line), len(lines))
    source = "\n".join(lines[empty:]).rstrip("\n")
    return PythonBlock(source, Place(text, cut.start, cut.end), tuple(starts[empty : empty + source.count("\n") + 1]))


def _rate(token: Tree[Token] | Token | None, text: str) -> float | None:
    if token is None:
        return None
    assert isinstance(token, Token)
    word = token.split()[1]
    value, most = float(word.rstrip("%")), 100.0 if word.endswith("%") else 1.0
    if not 0.0 < value <= most:
        message = f"a required rate lies above 0 and is at most 1 or 100%, but {word} came"
        raise SpecError(message, _place(token, text))
    # In decimals, so that 99.9% is the float 0.999: 99.9 / 100.0 is another, above it.
    return float(Decimal(word[:-1]).scaleb(-2)) if word.endswith("%") else value


def _expression(node: Tree[Token] | Token | None, text: str) -> Expression:
    assert isinstance(node, Tree)
    place, children = _place(node, text), node.children
    match node.data:
        case "implies" | "or_" | "and_":
            left, right = (_expression(child, text) for child in children)
            return Binary(_JOINED[node.data], left, right, place)
        case "compare" | "binary":
            return Binary(str(children[1]), _expression(children[0], text), _expression(children[2], text), place)
        case "not_":
            return Unary("!", _expression(children[0], text), place)
        case "signed":
            return _signed(str(children[0]), _expression(children[1], text), place)
        case "feature":
            return FeatureRead(_expression(children[0], text), str(children[1]), place)
        case "update":
            return Update(_expression(children[0], text), str(children[1]), _expression(children[2], text), place)
        case _:
            return _atom(node, text, place)


def _atom(node: Tree[Token], text: str, place: Place) -> Expression:
    children = node.children
    match node.data:
        case "number":
            return ScalarLiteral(_number(str(children[0]), place), place)
        case "text":
            return ScalarLiteral(_text(str(children[0]), place), place)
        case "name":
            return Name(str(children[0]), place)
        case "call":
            return FunctionCall(str(children[0]), _arguments(children[1:], text), None, place)
        case "call_of":
            return FunctionCall(str(children[1]), _arguments(children[2:], text), _owner(children[0], text), place)
        case _:
            return ScalarLiteral(_WORDS[node.data], place)


def _owner(node: Tree[Token] | Token, text: str) -> str:
    owner = _expression(node, text)
    if not isinstance(owner, Name):
        raise SpecError("before the dot of a call stands the name of an import, such as `compas`", owner.place)
    return owner.name


def _arguments(children: list[Tree[Token] | Token], text: str) -> tuple[Expression, ...]:
    return tuple(_expression(child, text) for child in children if child is not None)


def _signed(sign: str, operand: Expression, place: Place) -> Expression:
    if sign == "+":
        return operand
    if (
        isinstance(operand, ScalarLiteral)
        and isinstance(operand.value, int | float)
        and not isinstance(operand.value, bool)
    ):
        return ScalarLiteral(-operand.value, place)
    return Unary("-", operand, place)


def _number(word: str, place: Place) -> int | float:
    value = float(word)
    if value in (float("inf"), float("-inf")) or len(word) > 400:
        raise SpecError("this number is too large", place)
    return int(word) if word.isdigit() else value


def _text(quoted: str, place: Place) -> str:
    try:
        return unquote(quoted)
    except ValueError as error:
        raise SpecError(str(error), place) from None


def _place(node: Tree[Token] | Token, text: str) -> Place:
    if isinstance(node, Token):
        return Place(text, node.start_pos or 0, node.end_pos or 0)
    return Place(text, node.meta.start_pos, node.meta.end_pos)
