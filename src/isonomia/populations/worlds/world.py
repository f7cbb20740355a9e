"""A world: equations in order, people drawn from them, and the same people under interventions.

A causal model as users write it: equations by name, put in order, and what variables are set to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, SpecError, UsageError, nearest
from isonomia.populations.fingerprint import identity_of
from isonomia.populations.table import column_from, declared_values
from isonomia.populations.worlds.compile import Block, compile_block
from isonomia.populations.worlds.mechanisms import Categories, Custom, Equation, WorldEquation, mechanism_of
from isonomia.populations.worlds.run import DisjointIntervals, PathFrame, StoredNoise, WorldRun
from isonomia.spec.fairsquare.reader import read_equation
from isonomia.spec.fairsquare.tree import Assign, Boolean, If, Kind, Number, Statement, Text, draws_of, reads_of
from isonomia.spec.parser import parse_condition
from isonomia.spec.property import Term
from isonomia.spec.tree import AsIf, Do, Literal, Row, Setting, Value

Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class DrawnPeople:
    """People as they are, and the same people, in the same order, under each intervention.

    For draws directed at a group, a weight is the probability that undirected draws would have fallen into it.
    """

    columns: Columns
    versions: Mapping[Do, Columns]
    weights: NDArray[np.float64] | None


@dataclass(frozen=True)
class World:
    """Equations, each of which reads variables that earlier ones set; every run sets all variables in ``names``."""

    statements: tuple[Statement | WorldEquation, ...]
    names: tuple[str, ...]
    _compiled: dict[tuple[frozenset[str], frozenset[str]], Block] = field(
        default_factory=dict, repr=False, compare=False
    )

    @cached_property
    def random_names(self) -> frozenset[str]:
        """The variables that have their own noise."""
        return frozenset(_set_by_chance(self.statements))

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave out compiled code; another process compiles it again."""
        return World, (self.statements, self.names)

    def draw(
        self,
        rows: int,
        rng: np.random.Generator,
        wanted: Sequence[str],
        versions: Mapping[Do, Sequence[str]],
        directed: Mapping[str, DisjointIntervals] | None = None,
    ) -> DrawnPeople:
        """Draw people, and run the same people again under each intervention.

        Only the wanted columns, and what these need, are computed. Variables in ``directed`` are drawn only within
        their intervals.
        """
        stored = StoredNoise(rows, rng) if versions else None
        run = WorldRun(rows, rng, stored, directed or {})
        needed = frozenset(wanted).union(*(self.read_beforehand(version) for version in versions))
        actual = PathFrame(rows, run, {})
        with self._overflow_refused():
            self._block(needed, frozenset()).run(actual)
            others = {
                version: _columns(self._version(actual, version, frozenset(names)), names)
                for version, names in versions.items()
            }
        return DrawnPeople(_columns(actual, wanted), others, run.weights)

    @contextmanager
    def _overflow_refused(self) -> Iterator[None]:
        """Refuse numbers that overflow, since every comparison with NaN counts as false.

        The user's own functions may use NaN on purpose, so a model that has one is not checked.
        """
        own = any(isinstance(item, WorldEquation) for item in self.statements)
        try:
            with np.errstate(all="ignore") if own else np.errstate(over="raise", invalid="raise", divide="ignore"):
                yield
        except FloatingPointError:
            raise DataError(
                "a number overflowed, so comparisons with it are meaningless: rescale the variables"
            ) from None

    def rerun(
        self, noise: StoredNoise, actual: Mapping[str, NDArray[Any]], version: Do, wanted: Sequence[str]
    ) -> Columns:
        """Run people whose noise and actual values are known under an intervention."""
        frame = PathFrame(noise.rows, WorldRun(noise.rows, noise.rng, noise), dict(actual))
        with np.errstate(all="ignore"):
            return _columns(self._version(frame, version, frozenset(wanted)), wanted)

    def rerun_with(self, noise: StoredNoise, fixed: Mapping[str, Any], wanted: Sequence[str]) -> Columns:
        """Run people whose noise is known with some variables set, each to one value for all or one per person."""
        frame = PathFrame(noise.rows, WorldRun(noise.rows, noise.rng, noise), {})
        with np.errstate(all="ignore"):
            return _columns(self._with(frame, fixed, frozenset(wanted)), wanted)

    def categories(self, name: str) -> Categories | None:
        """The categories of a variable; ``None`` if it has none."""
        for item in self.statements:
            if isinstance(item, WorldEquation) and item.target == name and isinstance(item.equation, Categories):
                return item.equation
        return None

    def read_by_mediator(self, item: AsIf) -> frozenset[str]:
        """The variables with noise that a mediator reads and that stay as they are."""
        return self._mediator_block(item).needs & self._held(item)

    def _version(self, actual: PathFrame, version: Do, wanted: frozenset[str]) -> PathFrame:
        """Run the people of a frame under an intervention, each with their own noise."""
        fixed = {item.name: _plain(item) for item in version.items if isinstance(item, Setting)}
        mediators = self.mediators_in_order(version)
        before = self._with(actual, fixed, self.read_beforehand(version)) if fixed and mediators else actual
        values: dict[str, Any] = {}
        for item in mediators:
            values[item.name] = self._mediator(before, values, item)
        return self._with(actual, {**fixed, **values}, wanted)

    def mediators_in_order(self, version: Do) -> list[AsIf]:
        """The mediators of an intervention, causes before effects."""
        targets = [assignment.target for assignment in assignments(self.statements)]
        items = [item for item in version.items if isinstance(item, AsIf)]
        return sorted(items, key=lambda item: targets.index(item.name))

    def _with(self, actual: PathFrame, fixed: Mapping[str, Any], wanted: frozenset[str]) -> PathFrame:
        frame = PathFrame(actual.rows, WorldRun(actual.rows, actual.run.rng, actual.run.stored), dict(fixed))
        self._block(wanted, frozenset(fixed)).run(frame)
        return frame

    def _mediator(self, before: PathFrame, earlier: Mapping[str, Any], item: AsIf) -> Any:
        """A mediator's value if some variables had been different.

        All other variables with noise stay as they are, except for earlier mediators, which have the values they would
        have had.
        """
        block = self._mediator_block(item)
        changed = {setting.name: _plain(setting) for setting in item.settings}
        unchanged = [name for name in block.needs if name not in changed]
        values = {name: earlier[name] if name in earlier else before.read(name) for name in unchanged}
        frame = PathFrame(before.rows, WorldRun(before.rows, before.run.rng, before.run.stored), {**values, **changed})
        block.run(frame)
        return frame.read(item.name)

    def _mediator_block(self, item: AsIf) -> Block:
        return self._block(frozenset({item.name}), self.kept_for(item))

    def _held(self, item: AsIf) -> frozenset[str]:
        changed = {setting.name for setting in item.settings}
        return self.random_names - changed - {item.name}

    def read_by(self, item: AsIf) -> frozenset[str]:
        """The variables that must be set before a mediator is computed."""
        return self._mediator_block(item).needs

    def kept_for(self, item: AsIf) -> frozenset[str]:
        """The variables that are not computed again for a mediator: those that stay, and those that are set."""
        changed = frozenset(setting.name for setting in item.settings)
        return (self._held(item) | changed) - {item.name}

    def read_beforehand(self, version: Do) -> frozenset[str]:
        """The actual variables that the mediators of an intervention read."""
        parents = frozenset[str]()
        for item in version.items:
            if isinstance(item, AsIf):
                parents |= self._mediator_block(item).needs - {setting.name for setting in item.settings}
        return parents

    def _block(self, wanted: frozenset[str], given: frozenset[str]) -> Block:
        key = wanted, given
        if key not in self._compiled:
            self._compiled[key] = compile_block(self.statements, wanted, given)
        return self._compiled[key]


def _plain(setting: Setting) -> Any:
    if not isinstance(setting.value, Literal):
        raise SpecError(f"`{setting.value.name}` is a variable that stands for no value yet", setting.value.place)
    value = setting.value.value
    return np.asarray(value, dtype=object) if isinstance(value, str) else value


def _columns(frame: PathFrame, wanted: Sequence[str]) -> Columns:
    columns = {}
    for name in wanted:
        value = np.asarray(frame.read(name))
        columns[name] = value if value.ndim else np.full(frame.rows, value)
    return columns


def assignments(statements: Sequence[Statement | WorldEquation]) -> Iterator[Assign | WorldEquation]:
    """Every assignment, including those within branches."""
    for statement in statements:
        if isinstance(statement, If):
            yield from assignments(statement.then)
            yield from assignments(statement.otherwise)
        else:
            yield statement


def _set_by_chance(statements: Sequence[Statement | WorldEquation], by_chance: bool = False) -> Iterator[str]:
    """The variables that are drawn, or set in a branch that chance chooses."""
    for item in statements:
        match item:
            case If(condition, then, otherwise):
                chance = by_chance or bool(draws_of(condition))
                yield from _set_by_chance((*then, *otherwise), chance)
            case WorldEquation(target=target):
                if item.random:
                    yield target
            case Assign(target, value):
                if by_chance or draws_of(value):
                    yield target


def max_assignments(statements: Sequence[Statement | WorldEquation], name: str) -> int:
    """How often a variable is set, on the path that sets it most often."""
    return sum(
        max(max_assignments(statement.then, name), max_assignments(statement.otherwise, name))
        if isinstance(statement, If)
        else int(statement.target == name)
        for statement in statements
    )


def check_version(world: World, version: Do) -> None:
    """Make sure that an intervention is meaningful in this world."""
    for item in version.items:
        _need_equation(world, item)
        for setting in item.settings if isinstance(item, AsIf) else (item,):
            _need_equation(world, setting)
            _need_category(world, setting)
        if isinstance(item, AsIf):
            _check_mediator(world, item)


def _need_equation(world: World, item: Setting | AsIf) -> None:
    if item.name not in world.names:
        raise SpecError(
            f"there is no equation of {item.name!r}, so its counterfactuals are unknown."
            f"{nearest(item.name, world.names)}",
            item.place,
            name=item.name,
        )


def _need_category(world: World, item: Setting) -> None:
    if isinstance(item.value, Literal):
        message = category_error(world, item.name, item.value.value)
        if message is not None:
            raise SpecError(message, item.place, name=item.name)


def category_error(world: World, name: str, value: Any) -> str | None:
    """Why a variable cannot be set to a value, or ``None`` if it can.

    Equations that read a category compare it with its values. Any other value would silently take the last branch of
    each: a misspelled one must not pass for a group.
    """
    categories = world.categories(name)
    if categories is None or value in categories.shares:
        return None
    listed = ", ".join(map(repr, categories.shares))
    hint = nearest(str(value), map(str, categories.shares))
    return f"expected {name!r} to be set to one of its categories, {listed}, but got {value!r}.{hint}"


def _check_mediator(world: World, item: AsIf) -> None:
    for parent in sorted(world.read_by_mediator(item)):
        if parent not in world.names:
            raise SpecError(
                f"{item.name!r} reads {parent!r}, which some people do not have, so it cannot be held "
                "fixed: set it on every path",
                item.place,
            )
        if max_assignments(world.statements, parent) > 1:
            raise SpecError(
                f"{item.name!r} reads {parent!r}, which is set more than once, so it "
                "is ambiguous which value is held fixed: give the later value another name",
                item.place,
                name=item.name,
            )


def world_of(equations: Mapping[str, Any]) -> World:
    """Make a world from equations: texts, functions, and values of :mod:`isonomia.populations.worlds.mechanisms`."""
    if not isinstance(equations, Mapping) or not equations:
        raise UsageError(
            f"expected equations as {{'variable': equation, ...}}, but got {equations!r}", name="equations"
        )
    for name in equations:
        if not isinstance(name, str) or not name.isidentifier():
            raise UsageError(
                f"expected the name of a variable, of letters, digits and _ as in 'years_of_work', but got {name!r}: "
                "equations could not read it; rename it, and the corresponding column of a table",
                name=str(name),
            )
        if name == "noise":
            raise UsageError(
                "expected another name than 'noise', which is the parameter for noise: rename the variable",
                name=name,
            )
    unknown: dict[str, Kind | None] = dict.fromkeys(equations)
    parents = {name: _parents(name, equation, unknown) for name, equation in equations.items()}
    for name, read in parents.items():
        for parent in read:
            if parent not in equations:
                raise UsageError(
                    f"the equation of {name!r} reads {parent!r}, which has no equation.{nearest(parent, equations)}",
                    name=parent,
                )
    order = _ordered(parents)
    kinds: dict[str, Kind | None] = {}
    statements = tuple(_statement(name, equations[name], kinds) for name in order)
    return World(statements, order)


def intervened(world: World, values: Mapping[str, Value]) -> World:
    """The world in which some variables are set from outside."""
    for name in values:
        if name not in world.names:
            raise UsageError(f"there is no variable {name!r} to set.{nearest(name, world.names)}", name=name)
    values = {name: _settable(name, value) for name, value in values.items()}
    for name, value in values.items():
        message = category_error(world, name, value)
        if message is not None:
            raise UsageError(message, name=name)
    statements = tuple(
        item
        if not isinstance(item, Assign | WorldEquation) or item.target not in values
        else _constant(item.target, values)
        for item in world.statements
    )
    return World(statements, world.names)


def parents_in(world: World) -> dict[str, tuple[str, ...]]:
    """The variables that each variable's equation reads."""
    return {
        item.target: item.parents if isinstance(item, WorldEquation) else tuple(sorted(reads_of(item.value)))
        for item in world.statements
        if isinstance(item, Assign | WorldEquation)
    }


def _parents(name: str, equation: Any, unknown: Mapping[str, Kind | None]) -> tuple[str, ...]:
    if isinstance(equation, str):
        expression, _ = read_equation(equation, name, unknown)
        return tuple(sorted(reads_of(expression)))
    return mechanism_of(name, equation).parents


def _ordered(parents: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    try:
        return tuple(TopologicalSorter(parents).static_order())
    except CycleError as error:
        circle = " -> ".join(error.args[1])
        raise UsageError(
            f"expected equations of which each reads only earlier ones, but there is a cycle: {circle}",
            name="equations",
        ) from None


def _statement(name: str, equation: Any, kinds: dict[str, Kind | None]) -> Assign | WorldEquation:
    if isinstance(equation, str):
        expression, kinds[name] = read_equation(equation, name, kinds)
        return Assign(name, expression)
    kinds[name] = None
    return mechanism_of(name, equation)


def _settable(name: str, value: Any) -> Value:
    """A value that a variable can be set to, as a plain Python value."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, str | bool) or (isinstance(plain, int | float) and isfinite(plain)):
        return plain
    raise UsageError(f"expected a text, a truth value or a number to set {name!r} to, but got {value!r}", name=name)


def _constant(name: str, values: Mapping[str, Value]) -> Assign:
    value = values[name]
    match value:
        case bool():
            return Assign(name, Boolean(value))
        case str():
            return Assign(name, Text(value))
        case _:
            return Assign(name, Number(value))


def settings_for(world: World, settings: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """Check what variables are set to, and convert it to the form that a world runs on."""
    return {name: _setting(world, name, given, rows) for name, given in settings.items()}


def _setting(world: World, name: str, given: Any, rows: int) -> Any:
    if isinstance(given, str) or not isinstance(given, Sized):
        value = _settable(name, given)
        _category_of_equation(world, name, value, "")
        return np.asarray(value, dtype=object) if isinstance(value, str) else value
    column = _column(name, given, rows)
    if world.categories(name) is not None:
        values = column.tolist()
        for value in dict.fromkeys(values):
            _category_of_equation(world, name, value, f" It came for row {values.index(value)}.")
    return column


def _column(name: str, given: Any, rows: int) -> NDArray[Any]:
    """One value for each person, all of them values that can be set."""
    wanted = f"expected a text, a truth value or a number to set {name!r} to, or one for each of {rows:,} people"
    try:
        column = column_from(given, f"what {name!r} is set to")
    except DataError as error:
        raise UsageError(f"{wanted}, but: {error}", name=name) from error
    if len(column) != rows:
        raise UsageError(f"{wanted}, but got {len(column):,} values", name=name)
    if column.dtype.kind == "O":
        wrong = np.asarray([not isinstance(value, str | bool | int | float) for value in column])
    else:
        wrong = ~np.isfinite(column)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise UsageError(f"{wanted}, but got {column[row]!r} for row {row}", name=name)
    return column


def _category_of_equation(world: World, name: str, value: Any, where: str) -> None:
    message = category_error(world, name, value)
    if message is not None:
        raise SpecError(f"{message}{where}", name=name)


def values_of_variable(name: str, given: Sequence[Value], names: Sequence[str]) -> tuple[Value, ...]:
    """The values that a variable is declared to have, in order."""
    if name not in names:
        raise UsageError(f"there is no variable {name!r} to have values.{nearest(name, names)}", name=name)
    return declared_values(name, given)


def condition_of(given: str | Row | Term) -> Row:
    """A condition, as text or built with Python operators."""
    if isinstance(given, str):
        return parse_condition(given)
    node: Any = given.node if isinstance(given, Term) else given
    if not isinstance(node, Row):
        raise UsageError(
            f"expected a condition, such as 'age >= 18' or col('age') >= 18, but got {given!r} of type "
            f"{type(given).__name__}"
        )
    return node


def identity_of_equations(world: World) -> list[str]:
    """Tell the equations of a model from those of others, one after the other."""
    return [
        f"{item.target} = {_identity(item)}" if isinstance(item, WorldEquation) else repr(item)
        for item in world.statements
    ]


def _identity(item: WorldEquation) -> str:
    """Tell an equation from others: by its functions, its noise and its inverse."""
    equation = item.equation
    if isinstance(equation, Categories):
        return repr(equation)
    noise = identity_of(equation.noise.draw) if isinstance(equation.noise, Custom) else repr(equation.noise)
    inverse = equation.inverse if isinstance(equation, Equation) else None
    undone = "" if inverse is None else identity_of(inverse)
    return f"{type(equation).__name__} {identity_of(equation.function)} {noise} {undone}"
