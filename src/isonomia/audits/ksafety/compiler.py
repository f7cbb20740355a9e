"""A specification checked and compiled: what is computed before the model is queried, and what only after.

All random choices belong to the first part. So a case is known completely, by its choices, before the model is queried.
What has no meaning for the data at hand is refused: unknown functions and features, and kinds of values that cannot be
compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal as OneOf
from typing import TypeAlias

from isonomia.audits.ksafety.functions import BUILT_IN
from isonomia.errors import DataError, SpecError, nearest
from isonomia.populations.domains import Domain, Kind
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
    expression_text,
    names_in,
)
from isonomia.spec.tree import rebuilt

_Phase: TypeAlias = OneOf["early", "late", "circular"]
"""Before the model is queried, after it, or neither: a random choice that depends on the model's answer."""

_WITH_FEATURE = frozenset({"getFeat", "setFeat", "randFeat"})

_GIVES: dict[str, Kind] = {
    "setFeat": "record",
    "randInt": "number",
    "randReal": "number",
    "strConcat": "text",
    "abs": "number",
    "score": "number",
}

_ORDERED = frozenset({"<", "<=", ">", ">="})


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
        What does depend on the model: the block's assignments where it is plain, and the variables after it.
    ensures
        What must be true of the outputs.
    finals
        The name that holds the last value of each output.
    asking
        The functions that query the model.
    system
        The calls in a plain block that run the system under test: those that query the model or, where there is no such
        call, those of functions that are not part of the language.
    """

    spec: Spec
    preparation: tuple[Var | Requires, ...]
    code: CodeBlock | None
    finish: tuple[Var, ...]
    ensures: tuple[Ensures, ...]
    finals: Mapping[str, str]
    asking: frozenset[str] = MODEL_CALLS
    system: tuple[FunctionCall, ...] = ()

    @property
    def at_random(self) -> bool:
        """Whether the claim is about changes beyond the model's own noise, so that every query is asked twice."""
        return any(item.noise is not None for item in self.ensures)

    @property
    def k(self) -> int | None:
        """How many runs of the system under test a case compares; ``None`` where only running the block tells."""
        return None if self.code is not None else len(self.system)

    @property
    def asks(self) -> bool:
        """Whether a model is queried."""
        if self.code is not None:
            return bool(self.code.reads & self.asking)
        return any(call.function in self.asking for call in self.system)

    @property
    def compared(self) -> frozenset[str]:
        """The names of the records that are sent to the model, where they have a name."""
        if self.code is not None:
            return self.code.reads
        arguments = [argument for call in self.system for argument in call.arguments[:1]]
        return frozenset(name.name for argument in arguments for name in names_in(argument))

    def no_case(self, why: str) -> SpecError:
        """The error that no case meets the preconditions; it points at the first of them."""
        requires = self.spec.requires
        message = f"no case meets the preconditions: {why}. Loosen what is required"
        return SpecError(message, requires[0].place if requires else None)


def compile_spec(
    spec: Spec, random: frozenset[str], asking: frozenset[str] = frozenset(), own: frozenset[str] = frozenset()
) -> CompiledSpec:
    """Compile a specification whose names were checked.

    ``random`` are the functions that draw random numbers, ``asking`` those of the domain that query the model, ``own``
    the user's own: a ``predict`` among them is not the model's. A variable after the block that draws, and a query of
    the model outside the block, are refused.
    """
    outside_block = (*spec.before, *spec.after, *spec.ensures)
    _refuse_calls(outside_block, asking, "`{}` queries the model, which only the block can do: set an output there")
    asking |= MODEL_CALLS - own
    block = read_block(spec.block)
    code = block if isinstance(block, CodeBlock) else None
    late: set[str] = set()
    current: dict[str, str] = {}
    phased: list[tuple[Var, _Phase]] = []
    if not isinstance(block, CodeBlock):
        steps, current = _versions(block.steps)
        phased = _phases(steps, late, random, asking)
        if any(phase == "circular" for _, phase in phased):
            code, phased, current = _as_code(spec, block.steps), [], {}
    if code is not None:
        late = set(spec.outputs)
    finals = {name: current.get(name, name) for name in spec.outputs}
    after = [replace(step, value=_renamed(step.value, finals)) for step in spec.after]
    phased += _phases(after, late, random, asking)
    for step, phase in phased:
        if phase == "circular":
            raise SpecError(
                "random choices are made before the model is queried: draw this before the block", step.place
            )
    ensures = tuple(replace(item, condition=_renamed(item.condition, finals)) for item in spec.ensures)
    _refuse_calls(ensures, random, "`ensures` cannot draw random values: set a variable before the block")
    preparation, finish = _split(phased, random)
    system = () if isinstance(block, CodeBlock) else _system_calls(block.steps, asking)
    program = CompiledSpec(spec, (*spec.before, *preparation), code, finish, ensures, finals, asking, system)
    if program.at_random:
        _refuse_unpaired(program)
    return program


def _refuse_unpaired(program: CompiledSpec) -> None:
    """Noise is defined for two answers of the model and one condition on them."""
    names = {name.name for item in program.ensures for name in names_in(item.condition)}
    queries = [step for step in program.finish if isinstance(step.value, FunctionCall) and step.value in program.system]
    paired = len(queries) == 2 == len(program.finish) and names >= {step.name for step in queries}
    if program.code is not None or len(program.ensures) > 1 or not paired:
        raise SpecError(
            "`up to noise` compares two answers of the model: expected a single `ensures` about two outputs, each set "
            "to one predict(...) or score(...) in the block",
            program.spec.ensures[0].place,
        )


def _system_calls(steps: Sequence[Var], asking: frozenset[str]) -> tuple[FunctionCall, ...]:
    calls = [call for step in steps for call in calls_in(step.value)]
    queries = tuple(call for call in calls if call.function in asking)
    return queries or tuple(call for call in calls if call.function not in BUILT_IN or call.function in MODEL_CALLS)


def _refuse_calls(steps: Iterable[Var | Requires | Ensures], functions: frozenset[str], why: str) -> None:
    """Refuse steps that call one of some functions; ``{}`` in the reason stands for its name."""
    for node in (step.value if isinstance(step, Var) else step.condition for step in steps):
        for call in calls_in(node):
            if call.function in functions:
                raise SpecError(why.format(call.function), call.place)


def _versions(steps: Iterable[Var]) -> tuple[list[Var], dict[str, str]]:
    """The steps with a unique name for every assignment, and the last name of each variable."""
    versions: list[Var] = []
    current: dict[str, str] = {}
    for step in steps:
        value = _renamed(step.value, current)
        before = current.get(step.name)
        current[step.name] = step.name if before is None else f"{before}'"
        versions.append(replace(step, name=current[step.name], value=value))
    return versions, current


def _phases(
    steps: Iterable[Var], late: set[str], random: frozenset[str], asking: frozenset[str]
) -> list[tuple[Var, _Phase]]:
    """When each step can be computed; the names of those that need the model are added to ``late``."""
    phased: list[tuple[Var, _Phase]] = []
    for step in steps:
        phase: _Phase = "late" if _is_late(step.value, late, asking) else "early"
        if any(call.function in random and _is_late(call, late, asking) for call in calls_in(step.value)):
            phase = "circular"
        if phase == "late":
            late.add(step.name)
        phased.append((step, phase))
    return phased


def _is_late(node: Expression, late: set[str], asking: frozenset[str]) -> bool:
    asks = any(call.function in asking for call in calls_in(node))
    return asks or any(name.name in late for name in names_in(node))


def _as_code(spec: Spec, steps: Sequence[Var]) -> CodeBlock:
    names = frozenset(step.name for step in steps)
    reads = frozenset(call.function for step in steps for call in calls_in(step.value))
    return CodeBlock(spec.block.source, names, reads, "it draws random numbers that depend on the model's answers")


def _split(phased: Iterable[tuple[Var, _Phase]], random: frozenset[str]) -> tuple[list[Var], tuple[Var, ...]]:
    """The steps that need no model, and those that do, with every draw in them made beforehand."""
    preparation: list[Var] = []
    finish: list[Var] = []
    drawn = 0
    for step, phase in phased:
        if phase == "early":
            preparation.append(step)
            continue
        value, draws = _without_draws(step, random, drawn)
        drawn += len(draws)
        preparation += draws
        finish.append(replace(step, value=value))
    return preparation, tuple(finish)


def _without_draws(step: Var, random: frozenset[str], drawn: int) -> tuple[Expression, list[Var]]:
    """The value of a step with every draw replaced by a name, and the draws."""
    draws: list[Var] = []

    def without(node: Expression) -> Expression:
        if isinstance(node, FunctionCall) and node.function in random:
            name = f"draw {drawn + len(draws) + 1}"
            draws.append(Var(name, node, place=step.place))
            return Name(name, place=node.place)
        return rebuilt(node, without)

    return without(step.value), draws


def _renamed(node: Expression, names: Mapping[str, str]) -> Expression:
    if isinstance(node, Name):
        return replace(node, name=names.get(node.name, node.name))
    return rebuilt(node, lambda part: _renamed(part, names))


def check_meaning(spec: Spec, domain: Domain) -> None:
    """Refuse what has no meaning for this data; the error points at the place."""
    block = read_block(spec.block)
    kinds: dict[str, Kind] = dict.fromkeys(spec.inputs, "record")
    steps = [*spec.before, *(block.steps if isinstance(block, PlainBlock) else ()), *spec.after]
    for name in spec.outputs:
        kinds[name] = "anything"
    for step in steps:
        if isinstance(step, Var):
            kinds[step.name] = _kind(step.value, kinds, domain, spec)
        else:
            _condition(step.condition, kinds, domain, spec)
    for item in spec.ensures:
        _condition(item.condition, kinds, domain, spec)


def _condition(node: Expression, kinds: dict[str, Kind], domain: Domain, spec: Spec) -> None:
    kind = _kind(node, kinds, domain, spec)
    if kind in {"record", "text"}:
        message = f"expected something that is true or false, but `{expression_text(node)}` is a {kind}: compare it"
        raise SpecError(message, node.place)


def _kind(node: Expression, kinds: dict[str, Kind], domain: Domain, spec: Spec) -> Kind:
    match node:
        case ScalarLiteral():
            return _constant(node)
        case Name():
            return kinds.get(node.name, "number")
        case FeatureRead():
            _expect_record(node.record, kinds, domain, spec)
            return domain.kind(_feature(domain, node.feature, node, spec))
        case Update():
            _expect_record(node.record, kinds, domain, spec)
            _fits(domain, _feature(domain, node.feature, node, spec), _kind(node.value, kinds, domain, spec), node)
            return "record"
        case FunctionCall():
            return _call(node, kinds, domain, spec)
        case Unary():
            kind = _kind(node.operand, kinds, domain, spec)
            if kind in {"record", "text"}:
                raise SpecError(f"`{node.operator}` has no meaning for a {kind}", node.place)
            return "truth" if node.operator == "!" else "number"
        case Binary():
            return _binary(node, _kind(node.left, kinds, domain, spec), _kind(node.right, kinds, domain, spec))


def _constant(node: ScalarLiteral) -> Kind:
    match node.value:
        case bool():
            return "truth"
        case str():
            return "text"
        case None:
            return "anything"
        case _:
            return "number"


def _binary(node: Binary, left: Kind, right: Kind) -> Kind:
    pair = {left, right}
    sign = node.operator
    if sign in {"&&", "||", "==>"}:
        if pair & {"record", "text"}:
            raise SpecError(f"`{sign}` joins what is true or false, but got a {_odd(pair)}: compare it", node.place)
        return "truth"
    if sign in {"==", "!="} or sign in _ORDERED:
        _check_comparable(node, left, right)
        return "truth"
    if "record" in pair or ("text" in pair and (sign != "+" or not pair <= {"text", "anything"})):
        raise SpecError(f"`{sign}` cannot be computed for a {left} and a {right}", node.place)
    if sign in {"/", "//", "%"} and isinstance(node.right, ScalarLiteral) and node.right.value == 0:
        raise SpecError("this divides by zero", node.place)
    return "text" if "text" in pair else "number" if pair <= {"number", "truth"} else "anything"


def _check_comparable(node: Binary, left: Kind, right: Kind) -> None:
    pair = {left, right}
    if "record" in pair and (node.operator in _ORDERED or not pair <= {"record", "anything"}):
        message = f"a {left} and a {right} cannot be compared by `{node.operator}`"
        hint = ": records are equal or not" if node.operator in _ORDERED else ": compare a feature of the record"
        raise SpecError(message + hint, node.place)
    if "text" in pair and pair & {"number", "truth"}:
        message = f"a {left} and a {right} cannot be compared: `{expression_text(node)}` would never be true"
        raise SpecError(message, node.place)


def _odd(pair: set[Kind]) -> str:
    return "record" if "record" in pair else "text"


def _call(node: FunctionCall, kinds: dict[str, Kind], domain: Domain, spec: Spec) -> Kind:
    name, custom = node.function, domain.functions.get(node.function)
    if custom is None and name not in BUILT_IN:
        offered = (*BUILT_IN, *domain.functions)
        raise SpecError(
            f"there is no function `{name}`: {domain.name} offers {', '.join(sorted(offered))}.{nearest(name, offered)}"
            " Give another one by functions={...}",
            node.place or spec.block.place,
        )
    takes = custom.takes if custom is not None else BUILT_IN[name]
    least, greatest = (takes, takes) if isinstance(takes, int) else takes
    if not least <= len(node.arguments) <= greatest:
        number = f"{least}" if least == greatest else f"{least} to {greatest}"
        message = f"`{name}` takes {number} arguments, but got {len(node.arguments)}"
        raise SpecError(message, node.place or spec.block.place)
    if custom is not None:
        for argument in node.arguments:
            _kind(argument, kinds, domain, spec)
        return custom.gives
    return _built_in(node, kinds, domain, spec)


def _built_in(node: FunctionCall, kinds: dict[str, Kind], domain: Domain, spec: Spec) -> Kind:
    name = node.function
    if name in {"getFeat", "setFeat", "randFeat", "label", "predict", "score"}:
        _expect_record(node.arguments[0], kinds, domain, spec)
    if name in _WITH_FEATURE:
        chosen = node.arguments[1]
        if not isinstance(chosen, ScalarLiteral) or isinstance(chosen.value, bool | float | None):
            message = f"the feature of `{name}` is a name in quotation marks or a whole number"
            raise SpecError(message, chosen.place or spec.block.place)
        feature = _feature(domain, chosen.value, chosen, spec)
        if name != "setFeat":
            return domain.kind(feature)
        _fits(domain, feature, _kind(node.arguments[2], kinds, domain, spec), node)
        return "record"
    rest = [_kind(argument, kinds, domain, spec) for argument in node.arguments]
    if name in {"randInt", "randReal", "abs", "min", "max"} and {"record", "text"} & set(rest):
        raise SpecError(f"`{name}` takes numbers, but got a {_odd(set(rest))}", node.place or spec.block.place)
    if name == "strConcat" and "record" in rest:
        raise SpecError("`strConcat` takes texts, but got a record: take a feature of it", node.place)
    return _GIVES.get(name, "anything" if name in {"predict", "label"} else "number")


def _expect_record(node: Expression, kinds: dict[str, Kind], domain: Domain, spec: Spec) -> None:
    kind = _kind(node, kinds, domain, spec)
    if kind not in {"record", "anything"}:
        message = f"expected a record such as an input, but `{expression_text(node)}` is a {kind}"
        raise SpecError(message, node.place or spec.block.place)


def _feature(domain: Domain, feature: str | int, node: Expression, spec: Spec) -> str:
    try:
        return domain.feature(feature)
    except DataError as error:
        raise SpecError(str(error), node.place or spec.block.place) from None


def _fits(domain: Domain, feature: str, kind: Kind, node: Expression) -> None:
    has = domain.kind(feature)
    if kind == "record" or {has, kind} in ({"text", "number"}, {"text", "truth"}):
        raise SpecError(f"the feature {feature!r} is a {has} and cannot be set to a {kind}", node.place)
