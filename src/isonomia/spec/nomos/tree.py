"""The syntax tree of a specification in Nomos: frozen values that know their place in the text.

A specification, or a part of one, as text; reading the text again gives the same tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from isonomia.errors import Place
from isonomia.spec.text import quote
from isonomia.spec.tree import children

CONSTANTS = {"MAX_INT": 2**31 - 1}
"""Names that have a value without being declared."""

MODEL_CALLS = frozenset({"predict", "score"})
"""The functions that ask the model; only the block may call them."""

Scalar: TypeAlias = "bool | int | float | str | None"


@dataclass(frozen=True, slots=True)
class ScalarLiteral:
    """A number, a text, ``true``, ``false`` or ``null``."""

    value: Scalar
    place: Place | None = field(default=None, compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        # 1, 1.0 and true are equal in Python, but they are different constants.
        return isinstance(other, ScalarLiteral) and (type(self.value), self.value) == (type(other.value), other.value)

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class Name:
    """An input, a variable or an output."""

    name: str
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FeatureRead:
    """``x1.priors_count``, or ``x1.f3`` for the feature number 3 where no feature has the name ``f3``."""

    record: Expression
    feature: str
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Update:
    """``x1[f3 := v]``: the same record with one feature set."""

    record: Expression
    feature: str
    value: Expression
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """``function(...)`` or ``domain.function(...)``."""

    function: str
    arguments: tuple[Expression, ...]
    domain: str | None = None
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Unary:
    """``!x`` or ``-x``; ``operator`` is the sign as it is written."""

    operator: str
    operand: Expression
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Binary:
    """Two operands; ``operator`` is the sign as it is written, in a block also ``//``, ``%`` and ``**``."""

    operator: str
    left: Expression
    right: Expression
    place: Place | None = field(default=None, compare=False, repr=False)


Expression: TypeAlias = ScalarLiteral | Name | FeatureRead | Update | FunctionCall | Unary | Binary


@dataclass(frozen=True, slots=True)
class Var:
    """``var name := value;``, or an assignment in a plain block."""

    name: str
    value: Expression
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Requires:
    """``requires condition;``."""

    condition: Expression
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Ensures:
    """``ensures condition;``, with ``in 99% of cases`` or ``up to noise + 2%`` before the semicolon.

    Attributes
    ----------
    condition
        What must be true.
    rate
        The share of cases in which it must be true.
    noise
        By how much it may be false more often than it is between two answers about the same record.
    """

    condition: Expression
    rate: float | None = None
    noise: float | None = None
    place: Place | None = field(default=None, compare=False, repr=False)

    @property
    def always(self) -> bool:
        """Whether a single case in which it is false refutes it."""
        return self.noise is None and (self.rate is None or self.rate >= 1.0)


@dataclass(frozen=True, slots=True)
class PythonBlock:
    """The Python between the braces, without the indentation that all its lines share.

    Attributes
    ----------
    source
        The Python.
    place
        Its place in the specification's text.
    starts
        For each line of the source, the position of its first character in that text.
    """

    source: str
    place: Place | None = field(default=None, compare=False, repr=False)
    starts: tuple[int, ...] = field(default=(), compare=False, repr=False)

    def stretch(self, line: int, column: int, last_line: int, last_column: int) -> Place | None:
        """A stretch of the source as a place in the specification's text; the whole block where that is unknown.

        Lines are counted from 1, columns from 0; the last column is not part of the stretch.
        """
        if self.place is None or not 1 <= line <= len(self.starts):
            return self.place
        start = self.starts[line - 1] + max(column, 0)
        end = self.starts[min(max(last_line, line), len(self.starts)) - 1] + max(last_column, 0)
        return Place(self.place.text, start, max(end, start + 1))

    def line(self, line: int) -> Place | None:
        """One line of the source, without its indentation, as a place in the specification's text."""
        if not 1 <= line <= len(self.starts):
            return self.place
        text = self.source.split("\n")[line - 1]
        return self.stretch(line, len(text) - len(text.lstrip()), line, len(text))


@dataclass(frozen=True, slots=True)
class Spec:
    """A specification.

    Attributes
    ----------
    imports, inputs, outputs
        Names, in the order in which they are declared.
    before
        The variables and preconditions before the block, in order.
    block
        The Python that calls the model.
    after
        The variables after the block, in order.
    ensures
        What must be true of every case that meets the preconditions.
    text
        The text it was read from.
    """

    imports: tuple[str, ...]
    inputs: tuple[str, ...]
    before: tuple[Var | Requires, ...]
    outputs: tuple[str, ...]
    block: PythonBlock
    after: tuple[Var, ...]
    ensures: tuple[Ensures, ...]
    text: str = field(default="", compare=False, repr=False)
    places: tuple[tuple[str, Place], ...] = field(default=(), compare=False, repr=False)

    @property
    def requires(self) -> tuple[Requires, ...]:
        """The preconditions."""
        return tuple(step for step in self.before if isinstance(step, Requires))

    @property
    def variables(self) -> tuple[Var, ...]:
        """The variables before the block."""
        return tuple(step for step in self.before if isinstance(step, Var))


def walk(node: Expression) -> Iterator[Expression]:
    """Every node of an expression, in the order in which they are computed: operands before the operation."""
    for part in children(node):
        yield from walk(part)
    yield node


def names_in(node: Expression) -> tuple[Name, ...]:
    """Every name that an expression mentions."""
    return tuple(part for part in walk(node) if isinstance(part, Name))


def calls_in(node: Expression) -> tuple[FunctionCall, ...]:
    """Every call of an expression."""
    return tuple(part for part in walk(node) if isinstance(part, FunctionCall))


_LEVELS = (("==>",), ("||",), ("&&",), ("==", "!=", "<", "<=", ">", ">="), ("+", "-"), ("*", "/", "//", "%"), ("**",))
LEVEL = {sign: number for number, signs in enumerate(_LEVELS) for sign in signs}
_UNARY, _POSTFIX, _ATOM = 7, 8, 9


def spec_text(spec: Spec) -> str:
    """A whole specification, one statement per line; comments are lost."""
    lines = [f"import {name};" for name in spec.imports]
    lines += [f"input {name};" for name in spec.inputs]
    lines += [step_text(step) for step in spec.before]
    lines += [f"output {name};" for name in spec.outputs]
    lines += ["{", *(f"    {line}" if line else "" for line in spec.block.source.split("\n")), "}"]
    lines += [step_text(step) for step in spec.after]
    lines += [step_text(step) for step in spec.ensures]
    return "\n".join(lines) + "\n"


def step_text(step: Var | Requires | Ensures) -> str:
    """One statement."""
    match step:
        case Var():
            return f"var {step.name} := {expression_text(step.value)};"
        case Requires():
            return f"requires {expression_text(step.condition)};"
        case Ensures():
            rate = "" if step.rate is None else f" in {step.rate!r} of cases"
            noise = "" if step.noise is None else f" up to noise + {step.noise!r}"
            return f"ensures {expression_text(step.condition)}{rate}{noise};"


def expression_text(node: Expression) -> str:
    """An expression, with brackets only where they are needed."""
    match node:
        case ScalarLiteral():
            return _constant(node)
        case Name():
            return node.name
        case FeatureRead():
            return f"{_record(node.record)}.{node.feature}"
        case Update():
            return f"{_record(node.record)}[{node.feature} := {expression_text(node.value)}]"
        case FunctionCall():
            owner = "" if node.domain is None else f"{node.domain}."
            return f"{owner}{node.function}({', '.join(map(expression_text, node.arguments))})"
        case Unary():
            return f"{node.operator}{_within(node.operand, _UNARY)}"
        case Binary():
            return _binary(node)


def _record(node: Expression) -> str:
    # `0.k` would be read as the number `0.` followed by something else.
    return f"({expression_text(node)})" if isinstance(node, ScalarLiteral) else _within(node, _POSTFIX)


def _binary(node: Binary) -> str:
    level = LEVEL[node.operator]
    # Implications and powers group to the right, comparisons not at all, everything else to the left. A power binds
    # closer than a sign before it.
    left = _POSTFIX if node.operator == "**" else level + 1 if node.operator == "==>" or level == 3 else level
    right = level if node.operator in {"==>", "**"} else level + 1
    return f"{_within(node.left, left)} {node.operator} {_within(node.right, right)}"


def _within(node: Expression, least: int) -> str:
    text = expression_text(node)
    return text if _level(node) >= least else f"({text})"


def _level(node: Expression) -> int:
    match node:
        case Binary():
            return LEVEL[node.operator]
        case Unary():
            return _UNARY
        case ScalarLiteral(value=bool()):
            return _ATOM
        case ScalarLiteral(value=int() | float() as number) if number < 0 or repr(number).startswith("-"):
            return _UNARY
        case FeatureRead() | Update():
            return _POSTFIX
        case _:
            return _ATOM


def _constant(node: ScalarLiteral) -> str:
    match node.value:
        case bool() as truth:
            return "true" if truth else "false"
        case None:
            return "null"
        case str() as text:
            return quote(text, '"')
        case number:
            return repr(number)
