"""Reading a specification from text, and checking what can be checked without data.

The grammar is the file ``grammar.lark`` next to this one. The block between the braces is Python: it is cut out first,
with every other character kept in its place, and read by Python's own parser for its syntax tree only. Nothing is run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from isonomia.errors import Place, SpecError, UsageError, nearest
from isonomia.spec.nomos import tree
from isonomia.spec.parser import Branch, check_depth, check_length, is_branch, load_grammar, parse_tree, place_in
from isonomia.spec.syntax_errors import SPECIFICATIONS
from isonomia.spec.text import plain_text, unquote

if TYPE_CHECKING:
    from lark import Token


def parse_nomos(text: str) -> tree.Spec:
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
        Where the text is not a specification: the error says what was given, what was expected, and where. Also for a
        name that is not declared or declared twice, and for an output that the block never sets.
    """
    if not isinstance(text, str):
        raise UsageError(f"text must be a str, but it is {text!r} of type {type(text).__name__}", name="text")
    text = plain_text(text)
    check_length(text)
    cut = _cut_block(text)
    concrete = parse_tree(load_grammar(__package__, "start"), cut.blanked, SPECIFICATIONS, shown=text)
    check_depth(
        concrete,
        text,
        tree.DEEPEST,
        f"this is nested more than {tree.DEEPEST} levels deep: set a variable to a part of it",
    )
    spec = _specification(concrete, text, cut)
    _check_names(spec)
    return spec


# ---------------------------------------------------------------------------- the block of Python


_QUOTED = r'"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*'"
_LONG = r'"""(?:\\.|[^\\])*?"""|' + r"'''(?:\\.|[^\\])*?'''"
_OUTSIDE = re.compile(rf"(?P<skip>//[^\n]*|#[^\n]*|/\*.*?(?:\*/|\Z)|{_QUOTED})|(?P<brace>\{{)", re.DOTALL)
_INSIDE = re.compile(rf"(?P<skip>#[^\n]*|{_LONG}|{_QUOTED})|(?P<brace>[{{}}])", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _BlankedText:
    """A specification's text with its block blanked out, and where the block's inside begins and ends.

    ``start`` and ``end`` are ``None`` where there is no block.
    """

    blanked: str
    start: int | None
    end: int | None


def _cut_block(text: str) -> _BlankedText:
    """Find the block: from the first brace outside comments and quotations to the one that closes it.

    Braces inside Python's quotations and comments do not count. Only the first block is cut out; the grammar refuses a
    second one.
    """
    start = next((match.end() for match in _OUTSIDE.finditer(text) if match["brace"]), None)
    if start is None:
        return _BlankedText(text, None, None)
    depth = 1
    for match in _INSIDE.finditer(text, start):
        if match["brace"]:
            depth += 1 if match["brace"] == "{" else -1
            if depth == 0:
                inside = re.sub(r"[^\n]", " ", text[start : match.start()])
                return _BlankedText(text[:start] + inside + text[match.start() :], start, match.start())
    raise SpecError("this block is never closed: expected `}`", Place(text, start - 1, start))


def _block(text: str, cut: _BlankedText) -> tree.PythonBlock:
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
    return tree.PythonBlock(
        source, Place(text, cut.start, cut.end), tuple(starts[empty : empty + source.count("\n") + 1])
    )


# ---------------------------------------------------------------------------- from Lark's tree


_JOINED = {"implies": "==>", "or_": "||", "and_": "&&"}
_WORDS: dict[str, tree.Scalar] = {"true": True, "false": False, "null": None}


@dataclass(slots=True)
class _Parts:
    """What was read so far."""

    imports: list[str] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    before: list[tree.Var | tree.Requires] = field(default_factory=list)
    after: list[tree.Var] = field(default_factory=list)
    ensures: list[tree.Ensures] = field(default_factory=list)
    places: list[tuple[str, Place]] = field(default_factory=list)
    block: tree.PythonBlock | None = None


def _specification(concrete: Branch, text: str, cut: _BlankedText) -> tree.Spec:
    """The specification that a concrete tree stands for."""
    if len(concrete.children) > tree.MOST_STEPS:
        message = f"expected at most {tree.MOST_STEPS:,} statements, but got {len(concrete.children):,}"
        raise SpecError(message, place_in(text, concrete.children[tree.MOST_STEPS]))
    parts = _Parts()
    for statement in concrete.children:
        assert is_branch(statement)
        _take(parts, statement, text, cut)
    assert parts.block is not None
    return tree.Spec(
        imports=tuple(parts.imports),
        inputs=tuple(parts.inputs),
        before=tuple(parts.before),
        outputs=tuple(parts.outputs),
        block=parts.block,
        after=tuple(parts.after),
        ensures=tuple(parts.ensures),
        text=text,
        places=tuple(parts.places),
    )


def _take(parts: _Parts, node: Branch, text: str, cut: _BlankedText) -> None:
    place, first = place_in(text, node), node.children[0] if node.children else None
    match node.data:
        case "import_" | "input_" | "output_":
            names = {"import_": parts.imports, "input_": parts.inputs, "output_": parts.outputs}[node.data]
            names.append(str(first))
        case "var_":
            step = tree.Var(str(first), _expression(node.children[1], text), place=place)
            parts.before.append(step) if parts.block is None else parts.after.append(step)
        case "requires_":
            parts.before.append(tree.Requires(_expression(first, text), place=place))
        case "block":
            parts.block = _block(text, cut)
        case _:
            parts.ensures.append(
                tree.Ensures(_expression(first, text), *_allowance(node.children[1], text), place=place)
            )
    if isinstance(first, str):
        parts.places.append((str(first), place_in(text, first)))


def _allowance(token: Branch | Token | None, text: str) -> tuple[float | None, float | None]:
    """The share of cases in which a condition must be true, and by how much it may fail more often than by noise."""
    if token is None:
        return None, None
    assert isinstance(token, str)
    at_random = token.startswith("up")
    word = token.split("+", 1)[1].strip() if at_random else token.split()[1]
    value, most = float(word.rstrip("%")), 100.0 if word.endswith("%") else 1.0
    if at_random and value >= most:
        raise SpecError(f"a margin above noise is below 1 or 100%, but got {word}", place_in(text, token))
    if not at_random and not 0.0 < value <= most:
        message = f"a required rate lies above 0 and is at most 1 or 100%, but got {word}"
        raise SpecError(message, place_in(text, token))
    # In decimals, so that 99.9% is the float 0.999: 99.9 / 100.0 is a different float, above it.
    value = float(Decimal(word[:-1]).scaleb(-2)) if word.endswith("%") else value
    return (None, value) if at_random else (value, None)


def _expression(node: Branch | Token | None, text: str) -> tree.Expression:
    assert is_branch(node)
    place, children = place_in(text, node), node.children
    match node.data:
        case "implies" | "or_" | "and_":
            left, right = (_expression(child, text) for child in children)
            return tree.Binary(_JOINED[node.data], left, right, place=place)
        case "compare" | "binary":
            return tree.Binary(
                str(children[1]), _expression(children[0], text), _expression(children[2], text), place=place
            )
        case "not_":
            return tree.Unary("!", _expression(children[0], text), place=place)
        case "signed":
            return _signed(str(children[0]), _expression(children[1], text), place)
        case "feature":
            return tree.FeatureRead(_expression(children[0], text), str(children[1]), place=place)
        case "update":
            return tree.Update(
                _expression(children[0], text), str(children[1]), _expression(children[2], text), place=place
            )
        case _:
            return _atom(node, text, place)


def _atom(node: Branch, text: str, place: Place) -> tree.Expression:
    children = node.children
    match node.data:
        case "number":
            return tree.ScalarLiteral(_number(str(children[0]), place), place=place)
        case "text":
            return tree.ScalarLiteral(unquote(str(children[0]), place), place=place)
        case "name":
            return tree.Name(str(children[0]), place=place)
        case "call":
            return tree.FunctionCall(str(children[0]), _arguments(children[1:], text), None, place=place)
        case "call_of":
            return tree.FunctionCall(
                str(children[1]), _arguments(children[2:], text), _owner(children[0], text), place=place
            )
        case _:
            return tree.ScalarLiteral(_WORDS[node.data], place=place)


def _owner(node: Branch | Token, text: str) -> str:
    owner = _expression(node, text)
    if not isinstance(owner, tree.Name):
        raise SpecError("before the dot of a call stands the name of an import, such as `compas`", owner.place)
    return owner.name


def _arguments(children: list[Branch | Token], text: str) -> tuple[tree.Expression, ...]:
    return tuple(_expression(child, text) for child in children if child is not None)


def _signed(sign: str, operand: tree.Expression, place: Place) -> tree.Expression:
    if sign == "+":
        return operand
    match operand:
        case tree.ScalarLiteral(value=int() | float() as number) if not isinstance(number, bool):
            return tree.ScalarLiteral(-number, place=place)
        case _:
            return tree.Unary("-", operand, place=place)


def _number(word: str, place: Place) -> int | float:
    value = float(word)
    if value in (float("inf"), float("-inf")) or len(word) > 400:
        raise SpecError("this number is too large", place)
    return int(word) if word.isdigit() else value


# ---------------------------------------------------------------------------- names


def _check_names(spec: tree.Spec) -> None:
    """Refuse a specification that cannot mean anything.

    Refused are a name that is not declared, declared twice or used before it has a value, a call of the model outside
    the block, an output that is never set, and a specification without an input or without an ``ensures``.
    """
    places = dict(spec.places)
    _check_declarations(spec)
    known = set(spec.inputs) | set(tree.CONSTANTS)
    for step in spec.before:
        expression = step.value if isinstance(step, tree.Var) else step.condition
        _check_expression(expression, known, spec, "before the block", asks=False)
        if isinstance(step, tree.Var):
            known.add(step.name)
    known |= _set_by_block(spec, known, places)
    for variable in spec.after:
        _check_expression(variable.value, known, spec, "behind the block", asks=False)
        known.add(variable.name)
    for ensured in spec.ensures:
        _check_expression(ensured.condition, known, spec, "behind the block", asks=False)


def _check_declarations(spec: tree.Spec) -> None:
    if not spec.inputs:
        raise SpecError("a specification needs at least one input: write `input x1;`", Place(spec.text, 0, 0))
    if not spec.ensures:
        raise SpecError(
            "the specification has no `ensures`: write `ensures d1 <= d2;` behind the block", spec.block.place
        )
    variables = [*spec.variables, *spec.after]
    declared = [*spec.inputs, *spec.outputs, *(step.name for step in variables)]
    for name in (*spec.imports, *tree.CONSTANTS):
        if name in declared:
            message = f"`{name}` has a meaning already and cannot be declared"
            raise SpecError(message, _last(spec, name), name=name)
    for name in dict.fromkeys(declared):
        if declared.count(name) > 1:
            message = f"`{name}` is declared more than once: give each its own name"
            raise SpecError(message, _last(spec, name), name=name)


def _set_by_block(spec: tree.Spec, known: set[str], places: dict[str, Place]) -> set[str]:
    """The names that the block gives a value to, once what it reads has been checked."""
    block = tree.read_block(spec.block)
    assigned: dict[str, Place | None] = {}
    match block:
        case tree.PlainBlock():
            for step in block.steps:
                _check_expression(step.value, known | set(assigned), spec, "in the block", asks=True)
                assigned.setdefault(step.name, step.place)
        case tree.CodeBlock():
            assigned = dict(block.places)
    for name in spec.outputs:
        if name not in assigned:
            message = f"the output `{name}` is never set: the block should have a line such as `{name} = predict(x1)`"
            raise SpecError(message, places.get(name), name=name)
    # Local names of the block do not matter here; only its outputs are visible after it.
    changed = next((name for name in assigned if name in known), None)
    if changed is not None:
        message = f"the block sets `{changed}`, which is an input or a variable: give it another name"
        raise SpecError(message, assigned[changed], name=changed)
    return set(spec.outputs)


def _check_expression(node: tree.Expression, known: set[str], spec: tree.Spec, where: str, *, asks: bool) -> None:
    for part in tree.walk(node):
        if isinstance(part, tree.Name) and part.name not in known:
            raise SpecError(_unknown(part.name, known, spec, where), part.place or spec.block.place, name=part.name)
        if isinstance(part, tree.FunctionCall):
            if part.domain is not None and part.domain not in spec.imports:
                message = f"`{part.domain}` is not imported: write `import {part.domain};` first"
                message += nearest(part.domain, spec.imports)
                raise SpecError(message, part.place or spec.block.place, name=part.domain)
            if part.function in tree.MODEL_CALLS and not asks:
                message = f"the model can only be called in the block: set an output there, `d1 = {part.function}(...)`"
                raise SpecError(message, part.place)


def _unknown(name: str, known: set[str], spec: tree.Spec, where: str) -> str:
    if name in spec.outputs:
        return f"`{name}` is an output and has no value {where}"
    if any(step.name == name for step in (*spec.variables, *spec.after)):
        return f"`{name}` has no value yet {where}: it is declared further down"
    listed = ", ".join(f"`{one}`" for one in sorted(known - set(tree.CONSTANTS))) or "nothing"
    return f"`{name}` is not declared; names with a value {where}: {listed}.{nearest(name, known)}"


def _last(spec: tree.Spec, name: str) -> Place | None:
    return next((place for known, place in reversed(spec.places) if known == name), None)
