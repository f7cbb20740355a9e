"""A specification put in order: what can be computed before the model is asked, and what only after.

Random choices all belong to the first part. So a case is known completely, by its choices, before the model is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from isonomia.errors import SpecError
from isonomia.spec.nomos import CodeBlock, PlainBlock, Spec, read_block
from isonomia.spec.nomos.tree import (
    MODEL_CALLS,
    Binary,
    Ensures,
    Expression,
    FeatureRead,
    FunctionCall,
    Name,
    Requires,
    ScalarLiteral,
    Unary,
    Update,
    Var,
    calls_in,
    names_in,
)

__all__ = ["Program", "lower"]


@dataclass(frozen=True, slots=True)
class Program:
    """What to compute, in order.

    Attributes
    ----------
    spec
        What it was made from.
    preparation
        Variables and preconditions that do not depend on the model.
    code
        The block, where it has to be run as Python.
    finish
        What does depend on the model: the block's assignments where it is plain, and the variables behind it.
    ensures
        What must come out.
    finals
        The name under which the last value of each output is found.
    asking
        The functions that ask the model.
    """

    spec: Spec
    preparation: tuple[Var | Requires, ...]
    code: CodeBlock | None
    finish: tuple[Var, ...]
    ensures: tuple[Ensures, ...]
    finals: Mapping[str, str]
    asking: frozenset[str] = MODEL_CALLS

    @property
    def k(self) -> int | None:
        """How many runs of the model a case compares; ``None`` where only running the block can tell."""
        if self.code is not None:
            return None
        return sum(call.function in self.asking for step in self.finish for call in calls_in(step.value))

    @property
    def compared(self) -> frozenset[str]:
        """The names of the records that are put to the model, as far as they have one."""
        if self.code is not None:
            return self.code.reads
        calls = [call for step in self.finish for call in calls_in(step.value) if call.function in self.asking]
        return frozenset(name.name for call in calls for name in names_in(call.arguments[0]))


@dataclass(slots=True)
class _Sorting:
    random: frozenset[str]
    asking: frozenset[str]
    preparation: list[Var | Requires]
    finish: list[Var] = field(default_factory=list)
    late: set[str] = field(default_factory=set)
    current: dict[str, str] = field(default_factory=dict)
    hoisted: int = 0


class _LateChoiceError(Exception):
    """A random choice depends on what the model answers."""


def lower(spec: Spec, random: frozenset[str], plays: frozenset[str] = frozenset()) -> Program:
    """Put a specification in order.

    Parameters
    ----------
    spec
        The specification, its names checked.
    random
        The functions that draw.
    plays
        The functions of the domain that ask the model.

    Raises
    ------
    SpecError
        Where a variable behind the block draws, or the model is asked outside the block.
    """
    asking = MODEL_CALLS | plays
    _refuse_asking(spec, plays)
    block = read_block(spec.block)
    sorting, code = _Sorting(random, asking, list(spec.before)), None
    match block:
        case PlainBlock():
            try:
                for step in block.steps:
                    _sort(sorting, _version(sorting, step))
            except _LateChoiceError:
                sorting, code = _Sorting(random, asking, list(spec.before)), _as_code(spec, block)
        case CodeBlock():
            code = block
    if code is not None:
        sorting.late |= set(spec.outputs)
    finals = {name: sorting.current.get(name, name) for name in spec.outputs}
    for step in spec.after:
        try:
            _sort(sorting, replace(step, value=_renamed(step.value, finals)))
        except _LateChoiceError:
            raise SpecError(
                "random choices are made before the model is asked: draw this before the block", step.place
            ) from None
    ensures = tuple(replace(item, condition=_renamed(item.condition, finals)) for item in spec.ensures)
    _refuse_draws(ensures, random)
    return Program(spec, tuple(sorting.preparation), code, tuple(sorting.finish), ensures, finals, asking)


def _refuse_asking(spec: Spec, plays: frozenset[str]) -> None:
    steps = (*spec.before, *spec.after, *spec.ensures)
    for node in (step.value if isinstance(step, Var) else step.condition for step in steps):
        for call in calls_in(node):
            if call.function in plays:
                message = f"`{call.function}` asks the model, which is done in the block only: set an output there"
                raise SpecError(message, call.place)


def _as_code(spec: Spec, block: PlainBlock) -> CodeBlock:
    names = frozenset(step.name for step in block.steps)
    reads = frozenset(call.function for step in block.steps for call in calls_in(step.value))
    return CodeBlock(spec.block.source, names, reads, "it draws random numbers that depend on what the model answers")


def _refuse_draws(ensures: tuple[Ensures, ...], random: frozenset[str]) -> None:
    for item in ensures:
        for call in calls_in(item.condition):
            if call.function in random:
                raise SpecError("what is ensured cannot draw: set a variable before the block", call.place)


def _version(sorting: _Sorting, step: Var) -> Var:
    """The step with every name as it is known by then; a name that is set again gets a name of its own."""
    value = _renamed(step.value, sorting.current)
    before = sorting.current.get(step.name)
    name = step.name if before is None else f"{before}'"
    sorting.current[step.name] = name
    return replace(step, name=name, value=value)


def _sort(sorting: _Sorting, step: Var) -> None:
    if not _is_late(step.value, sorting):
        sorting.preparation.append(step)
        return
    value = _without_draws(step.value, sorting, step)
    sorting.late.add(step.name)
    sorting.finish.append(replace(step, value=value))


def _is_late(node: Expression, sorting: _Sorting) -> bool:
    asks = any(call.function in sorting.asking for call in calls_in(node))
    return asks or any(name.name in sorting.late for name in names_in(node))


def _without_draws(node: Expression, sorting: _Sorting, step: Var) -> Expression:
    """The same expression with every draw in it made beforehand."""
    if isinstance(node, FunctionCall) and node.function in sorting.random:
        if _is_late(node, sorting):
            raise _LateChoiceError
        sorting.hoisted += 1
        name = f"draw {sorting.hoisted}"
        sorting.preparation.append(Var(name, node, step.place))
        return Name(name, node.place)
    return _rebuilt(node, lambda part: _without_draws(part, sorting, step))


def _renamed(node: Expression, names: Mapping[str, str]) -> Expression:
    if isinstance(node, Name):
        return replace(node, name=names.get(node.name, node.name))
    return _rebuilt(node, lambda part: _renamed(part, names))


def _rebuilt(node: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The node with every part changed."""
    match node:
        case ScalarLiteral() | Name():
            return node
        case FeatureRead():
            return replace(node, record=change(node.record))
        case Update():
            return replace(node, record=change(node.record), value=change(node.value))
        case FunctionCall():
            return replace(node, arguments=tuple(change(argument) for argument in node.arguments))
        case Unary():
            return replace(node, operand=change(node.operand))
        case Binary():
            return replace(node, left=change(node.left), right=change(node.right))
