"""The syntax tree of a program that draws people, and which variables are set at each point of it.

Frozen values, compared by content. A *draw* has a *site*, which names the noise behind it: the variable that it helps
to set, and how many draws for that variable come before it on its path. The two branches of an ``if`` give the same
site to draws that correspond to each other, so that a person's noise also has a meaning in the branch not taken.

Definite assignment: every expression is a number, a truth value or a text; a variable has the same kind on every path
to where it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Literal as OneOf
from typing import TypeAlias

from isonomia.errors import Place, SpecError, nearest
from isonomia.spec.tree import Placed, children

Kind: TypeAlias = OneOf["number", "truth", "text"]
Site: TypeAlias = tuple[str, int]

MARKS: dict[str, str] = {"sensitiveAttribute": "minority", "qualified": "qualified", "fairnessTarget": "target"}
"""The calls that mark a condition, and the column that each of them sets."""


# ---------------------------------------------------------------------------- expressions


@dataclass(frozen=True, slots=True)
class Number(Placed):
    """A number written out."""

    value: float


@dataclass(frozen=True, slots=True)
class Boolean(Placed):
    """``True`` or ``False``."""

    value: bool


@dataclass(frozen=True, slots=True)
class Text(Placed):
    """Text in quotation marks; only in causal equations, where it is compared with a category."""

    value: str


@dataclass(frozen=True, slots=True)
class Reference(Placed):
    """The value of a variable."""

    name: str


@dataclass(frozen=True, slots=True)
class UnaryMinus(Placed):
    """``- operand``."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class BinaryOperation(Placed):
    """``left + right`` and the like."""

    sign: OneOf["+", "-", "*", "/"]
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Chain(Placed):
    """``first < second <= third``: every link must hold, and each operand is evaluated once."""

    first: Expression
    rest: tuple[tuple[OneOf["<", "<=", ">", ">=", "==", "!="], Expression], ...]


@dataclass(frozen=True, slots=True)
class BooleanOperation(Placed):
    """Two or more conditions joined by one connective; all of them are evaluated."""

    connective: OneOf["and", "or"]
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class LogicalNot(Placed):
    """``not operand``."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Choice(Placed):
    """``then if condition else otherwise``; only in causal equations."""

    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True, slots=True)
class Gaussian(Placed):
    """``gaussian(mean, variance)``: a normal draw."""

    mean: Expression
    variance: Expression
    site: Site


@dataclass(frozen=True, slots=True)
class StepDensity(Placed):
    """``step([(low, high, p), ...])``: a draw whose density is constant on each cell.

    ``cells`` are in ascending order, do not overlap, have ``low < high``, and their probabilities add up to 1.
    """

    cells: tuple[tuple[float, float, float], ...]
    site: Site


Draw: TypeAlias = Gaussian | StepDensity
Condition: TypeAlias = Boolean | Chain | BooleanOperation | LogicalNot
Expression: TypeAlias = Number | Text | Reference | UnaryMinus | BinaryOperation | Choice | Condition | Draw


# ---------------------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True)
class Assign(Placed):
    """``target = value``; a mark such as ``qualified(age > 18)`` sets the column of that mark."""

    target: str
    value: Expression


@dataclass(frozen=True, slots=True)
class If(Placed):
    """``if condition: ... else: ...``; an ``elif`` is an ``if`` within ``otherwise``."""

    condition: Expression
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()


Statement: TypeAlias = Assign | If


@dataclass(frozen=True, slots=True)
class FairSquareProgram:
    """A checked program: every name is set before it is read, and every kind fits.

    Attributes
    ----------
    text
        The source, at which errors point.
    population, decision
        The statements of ``popModel`` and of ``F``; the second sees the variables of the first.
    kinds
        Each column and its kind: the variables that are set on every path of a run, then the marks.
    """

    text: str = field(repr=False)
    population: tuple[Statement, ...]
    decision: tuple[Statement, ...]
    kinds: Mapping[str, Kind]

    @property
    def statements(self) -> tuple[Statement, ...]:
        """All of them, in the order in which they run."""
        return (*self.population, *self.decision)


# ---------------------------------------------------------------------------- walking a tree


def parts_of(expression: Expression) -> Iterator[Expression]:
    """An expression and everything in it."""
    yield expression
    for part in children(expression):
        yield from parts_of(part)


def reads_of(expression: Expression) -> frozenset[str]:
    """The variables that an expression reads."""
    return frozenset(part.name for part in parts_of(expression) if isinstance(part, Reference))


def draws_of(expression: Expression) -> tuple[Draw, ...]:
    """The draws in an expression."""
    return tuple(part for part in parts_of(expression) if isinstance(part, Gaussian | StepDensity))


@dataclass(frozen=True, slots=True)
class Outline:
    """What a whole program sets, for messages: each variable and where it is first set, in the order of a run.

    ``marks`` are the columns that marks set. One that is not a variable as well cannot be read.
    """

    first_set: Mapping[str, Place | None]
    marks: Set[str] = frozenset()

    def is_mark(self, statement: Assign) -> bool:
        """Whether an assignment is a mark."""
        column = statement.target
        return column in self.marks and (column not in self.first_set or statement.value == Reference(column))


@dataclass(frozen=True, slots=True)
class VariableState:
    """The state of a variable: its kind, and whether every path to here sets it; if not, the ``if`` to blame."""

    kind: Kind
    sure: bool = True
    culprit: Place | None = None


@dataclass(frozen=True, slots=True)
class Variables:
    """The states of the variables at one point of a program: those ``before``, and what changed since.

    Branches are separate from the statements before them, so that the cost of joining two of them depends on what they
    change, not on how much is known. Only :func:`variables_after` adds to ``changes``, while it makes the value.
    """

    outline: Outline
    before: Variables | None = None
    changes: dict[str, VariableState] = field(default_factory=dict)

    def state(self, name: str) -> VariableState | None:
        """The state of a variable; ``None`` if nothing has set it."""
        point: Variables | None = self
        while point is not None:
            if name in point.changes:
                return point.changes[name]
            point = point.before
        return None

    def kind(self, name: Reference) -> Kind:
        """The kind of a variable that is read here."""
        state = self.state(name.name)
        if state is not None and state.sure and name.name in self.outline.first_set:
            return state.kind
        raise SpecError(self._why_not(name.name, state), name.place, name=name.name)

    def states(self) -> dict[str, VariableState]:
        """Everything that was set on some path to here."""
        return {**(self.before.states() if self.before else {}), **self.changes}

    def _why_not(self, name: str, state: VariableState | None) -> str:
        first = self.outline.first_set.get(name)
        if name in self.outline.marks and name not in self.outline.first_set:
            return f"`{name}` is the column of a mark, not a variable: set a variable, and mark and read that one"
        if state is not None:
            return _set_on_some_ways(name, state.culprit)
        if name in self.outline.first_set:
            where = f" (it is set on line {first.line})" if first else ""
            return f"`{name}` is read before it is set{where}: set it first"
        known = [*(known for known, its in self.states().items() if its.sure), "True", "False"]
        return f"there is no variable `{name}` here: a program sets every variable it reads.{nearest(name, known)}"


def _set_on_some_ways(name: str, culprit: Place | None) -> str:
    message = f"`{name}` is not set on every way to here"
    if culprit is not None:
        word = "elif" if culprit.text.startswith("elif", culprit.start) else "if"
        message += f": the `{word}` on line {culprit.line} sets it in one branch only"
    return f"{message}. Set it before that, or in every branch, the `else` included"


def variables_after(statements: Iterable[Statement], before: Variables) -> Variables:
    """The states of the variables after the statements have run.

    Guarantees that every name read on the way is set whichever branches are taken, that every kind fits where it is
    used, and that no variable has one kind in one branch and another in the other.
    """
    here = Variables(before.outline, before)
    for statement in statements:
        match statement:
            case Assign(target):
                here.changes[target] = VariableState(_assigned_kind(statement, here))
            case If(condition, then, otherwise):
                _check_condition(condition, here.kind)
                branches = variables_after(then, here), variables_after(otherwise, here)
                here.changes.update(_joined(*branches, statement))
    return here


def _assigned_kind(statement: Assign, variables: Variables) -> Kind:
    if variables.outline.is_mark(statement):
        return _check_condition(statement.value, variables.kind)
    return kind_of(statement.value, variables.kind) or "number"


def _joined(then: Variables, otherwise: Variables, statement: If) -> dict[str, VariableState]:
    names = dict.fromkeys((*then.changes, *otherwise.changes))
    return {name: _joined_state(name, then.state(name), otherwise.state(name), statement) for name in names}


def _joined_state(
    name: str, then: VariableState | None, otherwise: VariableState | None, statement: If
) -> VariableState:
    match then, otherwise:
        case VariableState(), VariableState() if then.kind != otherwise.kind:
            raise _two_kinds(name, (then.kind, otherwise.kind), statement)
        case VariableState(), VariableState():
            sure = then.sure and otherwise.sure
            return VariableState(then.kind, sure, then.culprit or otherwise.culprit)
        case (VariableState(kind, _, culprit), None) | (None, VariableState(kind, _, culprit)):
            return VariableState(kind, False, culprit or statement.place)
        case _:
            raise AssertionError("a name that neither branch has set")


def _two_kinds(name: str, kinds: tuple[Kind, Kind], statement: If) -> SpecError:
    message = f"`{name}` is {_IN_WORDS[kinds[0]]} where this condition is true and {_IN_WORDS[kinds[1]]} elsewhere"
    return SpecError(f"{message}: a variable has one kind, so use two variables", statement.place)


def assignments_of(statements: Iterable[Statement]) -> Iterator[Assign]:
    """Every assignment, those in branches included, in the order of the text."""
    for statement in statements:
        match statement:
            case Assign():
                yield statement
            case If(_, then, otherwise):
                yield from assignments_of(then)
                yield from assignments_of(otherwise)


def outline_of(statements: Iterable[Statement], marks: Collection[Assign] = ()) -> Outline:
    """What the statements set, and where first; ``marks`` are the statements that are marks."""
    marking = {id(mark) for mark in marks}
    first_set: dict[str, Place | None] = {}
    for assignment in assignments_of(statements):
        if id(assignment) not in marking:
            first_set.setdefault(assignment.target, assignment.place)
    return Outline(first_set, frozenset(mark.target for mark in marks))


# ---------------------------------------------------------------------------- kinds

Lookup: TypeAlias = Callable[[Reference], Kind | None]
"""Tells the kind of a variable, ``None`` if unknown; raises where the variable cannot be read."""

_IN_WORDS: dict[Kind | None, str] = {
    "number": "a number",
    "truth": "a truth value",
    "text": "a text",
    None: "unknown",
}


def kind_of(expression: Expression, look_up: Lookup) -> Kind | None:
    """The kind of an expression; ``None`` where it depends on a variable of unknown kind.

    A part whose kind does not fit is refused: a truth value in arithmetic, a number as a condition, two kinds that are
    compared, a text that is ordered.
    """
    match expression:
        case Number() | StepDensity():
            return "number"
        case Boolean():
            return "truth"
        case Text():
            return "text"
        case Reference():
            return look_up(expression)
        case UnaryMinus(operand):
            return _numbers((operand,), look_up)
        case BinaryOperation(_, left, right):
            return _numbers((left, right), look_up)
        case Gaussian(mean, variance):
            return _numbers((mean, variance), look_up)
        case LogicalNot(operand):
            return _check_condition(operand, look_up)
        case BooleanOperation(_, operands):
            for operand in operands:
                _check_condition(operand, look_up)
            return "truth"
        case Chain():
            return _chain(expression, look_up)
        case Choice():
            return _choice(expression, look_up)


def _check_condition(expression: Expression, look_up: Lookup) -> Kind:
    """Make sure that an expression can be true or false."""
    kind = kind_of(expression, look_up)
    if kind not in ("truth", None):
        message = f"{_shown(expression)} is {_IN_WORDS[kind]}, but a condition must be true or false"
        name = expression.name if isinstance(expression, Reference) else "x"
        example = f"{name} == 'a'" if kind == "text" else f"{name} > 0"
        raise SpecError(f"{message}: compare it, as in `{example}`", expression.place)
    return "truth"


def _numbers(operands: tuple[Expression, ...], look_up: Lookup) -> Kind:
    for operand in operands:
        kind = kind_of(operand, look_up)
        if kind not in ("number", None):
            message = f"{_shown(operand)} is {_IN_WORDS[kind]}, but a number is needed here"
            hint = ": turn it into 1 or 0 with an `if`" if kind == "truth" else ": compare it by `==` or `!=`"
            raise SpecError(message + hint, operand.place)
    return "number"


def _chain(chain: Chain, look_up: Lookup) -> Kind:
    left, left_kind = chain.first, kind_of(chain.first, look_up)
    for sign, right in chain.rest:
        right_kind = kind_of(right, look_up)
        if sign not in ("==", "!="):
            _check_ordered(sign, left, left_kind)
            _check_ordered(sign, right, right_kind)
        elif None not in (left_kind, right_kind) and left_kind != right_kind:
            message = f"`{sign}` compares {_IN_WORDS[left_kind]} with {_IN_WORDS[right_kind]}"
            raise SpecError(f"{message}: both sides must be of one kind", chain.place)
        left, left_kind = right, right_kind
    return "truth"


def _check_ordered(sign: str, operand: Expression, kind: Kind | None) -> None:
    if kind not in ("number", None):
        message = f"{_shown(operand)} is {_IN_WORDS[kind]}, but `{sign}` compares numbers"
        raise SpecError(f"{message}: texts and truth values have only `==` and `!=`", operand.place)


def _choice(choice: Choice, look_up: Lookup) -> Kind | None:
    _check_condition(choice.condition, look_up)
    then, otherwise = kind_of(choice.then, look_up), kind_of(choice.otherwise, look_up)
    if None not in (then, otherwise) and then != otherwise:
        message = f"one branch is {_IN_WORDS[then]}, the other is {_IN_WORDS[otherwise]}"
        raise SpecError(f"{message}: both must be of one kind", choice.place)
    return then if then is not None else otherwise


def _shown(expression: Expression) -> str:
    match expression:
        case Reference(name):
            return f"`{name}`"
        case _:
            return "this"
