"""A specification compiled: what is computed before the model is asked, and what only after.

Random choices all belong to the first part. So a case is known completely, by its choices, before the model is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal as OneOf
from typing import TypeAlias

from isonomia.errors import SpecError
from isonomia.spec.nomos import CodeBlock, Spec, read_block
from isonomia.spec.nomos.tree import (
    MODEL_CALLS,
    Ensures,
    Expression,
    FunctionCall,
    Name,
    Requires,
    Var,
    calls_in,
    names_in,
)
from isonomia.spec.walk import rebuilt

__all__ = ["CompiledSpec", "compile_spec"]

_Time: TypeAlias = OneOf["early", "late", "circular"]
"""Before the model is asked, after it, or neither: a random choice that depends on what the model answers."""


@dataclass(frozen=True, slots=True)
class CompiledSpec:
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


def compile_spec(spec: Spec, random: frozenset[str], asking: frozenset[str] = frozenset()) -> CompiledSpec:
    """Put a specification, whose names were checked, in order.

    ``random`` are the functions that draw, ``asking`` those of the domain that ask the model. A variable behind the
    block that draws, and a question to the model outside the block, are refused.
    """
    _refuse_asking(spec, asking)
    asking |= MODEL_CALLS
    block = read_block(spec.block)
    code = block if isinstance(block, CodeBlock) else None
    late: set[str] = set()
    current: dict[str, str] = {}
    timed: list[tuple[Var, _Time]] = []
    if not isinstance(block, CodeBlock):
        steps, current = _versions(block.steps)
        timed = _timed(steps, late, random, asking)
        if any(time == "circular" for _, time in timed):
            code, timed, current = _as_code(spec, block.steps), [], {}
    if code is not None:
        late = set(spec.outputs)
    finals = {name: current.get(name, name) for name in spec.outputs}
    after = [replace(step, value=_renamed(step.value, finals)) for step in spec.after]
    timed += _timed(after, late, random, asking)
    for step, time in timed:
        if time == "circular":
            raise SpecError("random choices are made before the model is asked: draw this before the block", step.place)
    ensures = tuple(replace(item, condition=_renamed(item.condition, finals)) for item in spec.ensures)
    _refuse_draws(ensures, random)
    preparation, finish = _split(timed, random)
    return CompiledSpec(spec, (*spec.before, *preparation), code, finish, ensures, finals, asking)


def _refuse_asking(spec: Spec, asking: frozenset[str]) -> None:
    steps = (*spec.before, *spec.after, *spec.ensures)
    for node in (step.value if isinstance(step, Var) else step.condition for step in steps):
        for call in calls_in(node):
            if call.function in asking:
                message = f"`{call.function}` asks the model, which is done in the block only: set an output there"
                raise SpecError(message, call.place)


def _refuse_draws(ensures: tuple[Ensures, ...], random: frozenset[str]) -> None:
    for item in ensures:
        for call in calls_in(item.condition):
            if call.function in random:
                raise SpecError("what is ensured cannot draw: set a variable before the block", call.place)


def _versions(steps: Iterable[Var]) -> tuple[list[Var], dict[str, str]]:
    """The steps with a name of its own for every assignment, and the last name of each variable."""
    versions: list[Var] = []
    current: dict[str, str] = {}
    for step in steps:
        value = _renamed(step.value, current)
        before = current.get(step.name)
        current[step.name] = step.name if before is None else f"{before}'"
        versions.append(replace(step, name=current[step.name], value=value))
    return versions, current


def _timed(
    steps: Iterable[Var], late: set[str], random: frozenset[str], asking: frozenset[str]
) -> list[tuple[Var, _Time]]:
    """When each step can be computed; the names of those that need the model are added to ``late``."""
    timed: list[tuple[Var, _Time]] = []
    for step in steps:
        time: _Time = "late" if _is_late(step.value, late, asking) else "early"
        if any(call.function in random and _is_late(call, late, asking) for call in calls_in(step.value)):
            time = "circular"
        if time == "late":
            late.add(step.name)
        timed.append((step, time))
    return timed


def _is_late(node: Expression, late: set[str], asking: frozenset[str]) -> bool:
    asks = any(call.function in asking for call in calls_in(node))
    return asks or any(name.name in late for name in names_in(node))


def _as_code(spec: Spec, steps: Sequence[Var]) -> CodeBlock:
    names = frozenset(step.name for step in steps)
    reads = frozenset(call.function for step in steps for call in calls_in(step.value))
    return CodeBlock(spec.block.source, names, reads, "it draws random numbers that depend on what the model answers")


def _split(timed: Iterable[tuple[Var, _Time]], random: frozenset[str]) -> tuple[list[Var], tuple[Var, ...]]:
    """What needs no model, and what does with every draw in it made beforehand."""
    preparation: list[Var] = []
    finish: list[Var] = []
    drawn = 0
    for step, time in timed:
        if time == "early":
            preparation.append(step)
            continue
        value, draws = _without_draws(step, random, drawn)
        drawn += len(draws)
        preparation += draws
        finish.append(replace(step, value=value))
    return preparation, tuple(finish)


def _without_draws(step: Var, random: frozenset[str], drawn: int) -> tuple[Expression, list[Var]]:
    """The value of a step with a name in the place of every draw, and the draws."""
    draws: list[Var] = []

    def without(node: Expression) -> Expression:
        if isinstance(node, FunctionCall) and node.function in random:
            name = f"draw {drawn + len(draws) + 1}"
            draws.append(Var(name, node, step.place))
            return Name(name, node.place)
        return rebuilt(node, without)

    return without(step.value), draws


def _renamed(node: Expression, names: Mapping[str, str]) -> Expression:
    if isinstance(node, Name):
        return replace(node, name=names.get(node.name, node.name))
    return rebuilt(node, lambda part: _renamed(part, names))
