"""Which variables are set at a point of a program, and of which kind: definite assignment over the tree."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field

from isonomia.errors import Place, SpecError, nearest
from isonomia.spec.fairsquare.expressions import KIND_WORDS, check_condition, kind_of
from isonomia.spec.fairsquare.tree import Assign, If, Kind, Reference, Statement

__all__ = ["Outline", "VariableState", "Variables", "assignments_of", "outline_of", "scope_after"]


@dataclass(frozen=True, slots=True)
class Outline:
    """What a whole program sets, for messages.

    Attributes
    ----------
    first_set
        Each variable and where it is set first, in the order of a run.
    marks
        The columns that marks set. One that is no variable as well cannot be read.
    """

    first_set: Mapping[str, Place | None]
    marks: Set[str] = frozenset()

    def is_mark(self, statement: Assign) -> bool:
        """Whether an assignment is a mark."""
        column = statement.target
        return column in self.marks and (column not in self.first_set or statement.value == Reference(column))


@dataclass(frozen=True, slots=True)
class VariableState:
    """What is known of a variable: its kind, and whether every way to here sets it; if not, the ``if`` to blame."""

    kind: Kind
    sure: bool = True
    culprit: Place | None = None


@dataclass(frozen=True, slots=True)
class Variables:
    """What is known at one point of a program.

    Attributes
    ----------
    changes
        What was learnt since ``before``; only :func:`scope_after` adds to it, while it makes the scope.
    before
        What was known at the beginning of the branch. Branches are kept apart from what came before them, so that
        joining two of them costs what they change, not what there is.
    """

    outline: Outline
    before: Variables | None = None
    changes: dict[str, VariableState] = field(default_factory=dict)

    def state(self, name: str) -> VariableState | None:
        """What is known of a variable; ``None`` where nothing has set it."""
        scope: Variables | None = self
        while scope is not None:
            if name in scope.changes:
                return scope.changes[name]
            scope = scope.before
        return None

    def kind(self, name: Reference) -> Kind:
        """The kind of a variable that is read here."""
        state = self.state(name.name)
        if state is not None and state.sure and name.name in self.outline.first_set:
            return state.kind
        raise SpecError(self._why_not(name.name, state), name.place)

    def states(self) -> dict[str, VariableState]:
        """Everything that was set on some way to here."""
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


def scope_after(statements: Iterable[Statement], scope: Variables) -> Variables:
    """What is known once the statements have run.

    Guarantees that every name read on the way is set whichever branches are taken, that every kind fits where it
    stands, and that no variable has one kind in one branch and another in the other.
    """
    scope = Variables(scope.outline, scope)
    for statement in statements:
        match statement:
            case Assign(target):
                scope.changes[target] = VariableState(_assigned_kind(statement, scope))
            case If(condition, then, otherwise):
                check_condition(condition, scope.kind)
                scope.changes.update(_joined(scope_after(then, scope), scope_after(otherwise, scope), statement))
    return scope


def _assigned_kind(statement: Assign, scope: Variables) -> Kind:
    if scope.outline.is_mark(statement):
        return check_condition(statement.value, scope.kind)
    return kind_of(statement.value, scope.kind) or "number"


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
    message = (
        f"`{name}` is {KIND_WORDS[kinds[0]]} where this condition is true and {KIND_WORDS[kinds[1]]} where it is false"
    )
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
    """What the statements set, and where first; ``marks`` are those of them that are marks."""
    marking = {id(mark) for mark in marks}
    first_set: dict[str, Place | None] = {}
    for assignment in assignments_of(statements):
        if id(assignment) not in marking:
            first_set.setdefault(assignment.target, assignment.place)
    return Outline(first_set, frozenset(mark.target for mark in marks))
