"""What can be checked of a specification without data: names, and outputs that nobody sets."""

from __future__ import annotations

from collections.abc import Iterator

from isonomia.errors import Place, SpecError, nearest
from isonomia.spec.nomos.block import CodeBlock, PlainBlock, read_block
from isonomia.spec.nomos.tree import (
    Binary,
    Expression,
    FeatureRead,
    FunctionCall,
    Name,
    ScalarLiteral,
    Spec,
    Unary,
    Update,
    Var,
)

__all__ = ["CONSTANTS", "MODEL_CALLS", "calls_in", "check_names", "names_in", "walk"]

CONSTANTS = {"MAX_INT": 2**31 - 1}
"""Names that have a value without being declared."""

MODEL_CALLS = frozenset({"predict", "score"})
"""The functions that ask the model; only the block may call them."""


def walk(node: Expression) -> Iterator[Expression]:
    """Every node of an expression, in the order in which they are computed: operands before what is made of them."""
    match node:
        case ScalarLiteral() | Name():
            pass
        case FeatureRead():
            yield from walk(node.record)
        case Update():
            yield from walk(node.record)
            yield from walk(node.value)
        case FunctionCall():
            for argument in node.arguments:
                yield from walk(argument)
        case Unary():
            yield from walk(node.operand)
        case Binary():
            yield from walk(node.left)
            yield from walk(node.right)
    yield node


def names_in(node: Expression) -> tuple[Name, ...]:
    """Every name that an expression mentions."""
    return tuple(part for part in walk(node) if isinstance(part, Name))


def calls_in(node: Expression) -> tuple[FunctionCall, ...]:
    """Every call of an expression."""
    return tuple(part for part in walk(node) if isinstance(part, FunctionCall))


def check_names(spec: Spec) -> None:
    """Refuse a specification that cannot mean anything.

    Raises
    ------
    SpecError
        For a name that is not declared, declared twice or used before it has a value, a model that is asked outside the
        block, an output that is never set, and where there is no input or nothing is ensured.
    """
    places = dict(spec.places)
    _check_declarations(spec)
    known = set(spec.inputs) | set(CONSTANTS)
    for step in spec.before:
        expression = step.value if isinstance(step, Var) else step.condition
        _check_expression(expression, known, spec, "before the block", asks=False)
        if isinstance(step, Var):
            known.add(step.name)
    known |= _set_by_block(spec, known, places)
    for variable in spec.after:
        _check_expression(variable.value, known, spec, "behind the block", asks=False)
        known.add(variable.name)
    for ensured in spec.ensures:
        _check_expression(ensured.condition, known, spec, "behind the block", asks=False)


def _check_declarations(spec: Spec) -> None:
    if not spec.inputs:
        raise SpecError("a specification speaks of at least one input: write `input x1;`", _start(spec))
    if not spec.ensures:
        raise SpecError("nothing is ensured: write `ensures d1 <= d2;` behind the block", spec.block.place)
    variables = [*spec.variables, *spec.after]
    declared = [*spec.inputs, *spec.outputs, *(step.name for step in variables)]
    for name in (*spec.imports, *CONSTANTS):
        if name in declared:
            raise SpecError(f"`{name}` has a meaning already and cannot be declared", _last(spec, name))
    for name in dict.fromkeys(declared):
        if declared.count(name) > 1:
            raise SpecError(f"`{name}` is declared more than once: give each its own name", _last(spec, name))


def _set_by_block(spec: Spec, known: set[str], places: dict[str, Place]) -> set[str]:
    """The names that the block gives a value to, once what it reads has been checked."""
    block = read_block(spec.block)
    found: dict[str, Place | None] = {}
    match block:
        case PlainBlock():
            for step in block.steps:
                _check_expression(step.value, known | set(found), spec, "in the block", asks=True)
                found.setdefault(step.name, step.place)
        case CodeBlock():
            found = dict(block.places)
    for name in spec.outputs:
        if name not in found:
            message = f"the output `{name}` is never set: the block should have a line such as `{name} = predict(x1)`"
            raise SpecError(message, places.get(name))
    # A local name of the block is its own business; only its outputs are seen behind it.
    changed = next((name for name in found if name in known), None)
    if changed is not None:
        message = f"the block sets `{changed}`, which is an input or a variable: give it another name"
        raise SpecError(message, found[changed])
    return set(spec.outputs)


def _check_expression(node: Expression, known: set[str], spec: Spec, where: str, *, asks: bool) -> None:
    for part in walk(node):
        if isinstance(part, Name) and part.name not in known:
            raise SpecError(_unknown(part.name, known, spec, where), part.place or spec.block.place, name=part.name)
        if isinstance(part, FunctionCall):
            if part.domain is not None and part.domain not in spec.imports:
                message = f"`{part.domain}` is not imported: write `import {part.domain};` first"
                message += nearest(part.domain, spec.imports)
                raise SpecError(message, part.place or spec.block.place, name=part.domain)
            if part.function in MODEL_CALLS and not asks:
                message = f"the model is asked in the block only: set an output there, `d1 = {part.function}(...)`"
                raise SpecError(message, part.place)


def _unknown(name: str, known: set[str], spec: Spec, where: str) -> str:
    if name in spec.outputs:
        return f"`{name}` is an output and has no value {where}"
    if any(step.name == name for step in (*spec.variables, *spec.after)):
        return f"`{name}` has no value yet {where}: it is declared further down"
    told = ", ".join(f"`{one}`" for one in sorted(known - set(CONSTANTS))) or "nothing"
    return f"`{name}` is not declared; what has a value {where} is {told}.{nearest(name, known)}"


def _start(spec: Spec) -> Place:
    return Place(spec.text, 0, 0)


def _last(spec: Spec, name: str) -> Place | None:
    return next((place for known, place in reversed(spec.places) if known == name), None)
