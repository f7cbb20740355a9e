"""A causal model as a population: draw, condition, intervene, and compute counterfactuals.

Real people with a causal model of them: their counterfactuals are computed from their observed values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from isonomia.errors import DataError, UsageError, nearest
from isonomia.populations.fingerprint import fingerprint_of
from isonomia.populations.finite import Census, Sample
from isonomia.populations.protocol import Population, PopulationFacts, Source, Wanted, refuse_clusters
from isonomia.populations.table import Table, distinct, replaced
from isonomia.populations.worlds.abduction import counterfactual, not_invertible, under_interventions
from isonomia.populations.worlds.source import GroupDirection, WorldSource, direction_for, stream_remarks, streams_for
from isonomia.populations.worlds.world import (
    Columns,
    World,
    check_version,
    condition_of,
    identity_of_equations,
    intervened,
    parents_in,
    values_of_variable,
    world_of,
)
from isonomia.spec.property import Term
from isonomia.spec.text import to_text
from isonomia.spec.tree import Do, Row, RowJunction, Value, Version, columns_of, outputs_of, versions_of

_PILOTS = 10_000


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Causal:
    """A structural causal model: variables, each given by an equation of other variables and its own noise.

    Parameters
    ----------
    equations
        The equation of each variable: a text such as ``"gaussian(10 + 2 * college, 4)"``, in the small language of
        programs, with ``a if condition else b`` and comparisons with text; a function of its parents, which are the
        names of its parameters, and of ``noise`` if it has such a parameter; or :class:`Equation`, :class:`Additive`
        or :class:`Categories`. The order does not matter.
    values
        The values of a column, ``{"race": ["A", "B"]}``. Those of :class:`Categories` are known, however rare; those
        of other columns are the ones that occur among 10,000 pilot draws.

    Raises
    ------
    UsageError
        If an equation is of no known kind or reads an unknown variable, or the equations form a cycle.
    SpecError
        If a text cannot be read.

    Notes
    -----
    What a verdict says about ``do(...)`` is only as true as the equations: no data can show that they are right. Noise
    terms are independent of each other, so there is no hidden common cause.

    Examples
    --------
    >>> from isonomia import Categories, check
    >>> world = Causal(
    ...     {
    ...         "sex": Categories({"F": 0.5, "M": 0.5}),
    ...         "hours": "gaussian(30 if sex == 'F' else 40, 25)",
    ...         "hired": "hours > 28",
    ...     }
    ... )
    >>> check("P[do(sex = 'M').hired == 1 | sex == 'F'] >= 0.9", population=world, seed=1).answer
    'holds'
    """

    world: World
    declared: dict[str, tuple[Value, ...]]
    among: Row | None
    directions: tuple[GroupDirection | None, ...]

    def __init__(self, equations: Mapping[str, Any], *, values: Mapping[str, Sequence[Value]] | None = None) -> None:
        world = world_of(equations)
        if not isinstance(values, Mapping | None):
            raise UsageError(f"expected values as {{'variable': [value, ...]}}, but got {values!r}", name="values")
        listed = {name: values_of_variable(name, given, world.names) for name, given in (values or {}).items()}
        object.__setattr__(self, "declared", listed)
        self._fill(world, None, (None,))

    def _fill(self, world: World, among: Row | None, directions: tuple[GroupDirection | None, ...]) -> None:
        object.__setattr__(self, "world", world)
        object.__setattr__(self, "among", among)
        object.__setattr__(self, "directions", directions)

    kind = "causal"

    size = None  # the draws are unlimited

    @property
    def streams(self) -> tuple[Row | None, ...]:
        """The condition of each group that is drawn directly; one stream of all people if no group is."""
        if self.among is not None:
            return (None,)
        return tuple(None if direction is None else direction.condition for direction in self.directions)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, each after those that its equation reads."""
        return self.world.names

    @property
    def parents(self) -> dict[str, tuple[str, ...]]:
        """The variables that each variable's equation reads."""
        return parents_in(self.world)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumptions of a verdict about this population, in words."""
        who = "" if self.among is None else f", among people with {to_text(self.among)}"
        return (
            f"the equations of {', '.join(self.names)} are those of the population{who}",
            "the noise of each variable is independent of that of the others",
        )

    @property
    def facts(self) -> PopulationFacts:
        """How the groups that are drawn directly are drawn, and the values that are known without a draw."""
        return PopulationFacts(remarks=stream_remarks(self.directions), declared=self.known_values)

    def draw(self, n: int, seed: int = 0) -> Table:
        """Draw ``n`` people, the same ones for the same seed."""
        for name, value, least in (("n", n, 1), ("seed", seed, 0)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                raise UsageError(
                    f"expected {name} as a whole number of at least {least}, but got {name}={value!r}", name=name
                )
        return self.open(np.random.SeedSequence(seed)).batch(0, n, np.random.default_rng(seed))

    def given(self, condition: str | Row | Term) -> Causal:
        """The people who meet a condition.

        If the condition limits a variable with constant parameters to an interval or a category, such people are drawn
        directly; otherwise by rejection.
        """
        row = condition_of(condition)
        if outputs_of(row) or versions_of(row):
            raise UsageError(f"expected a condition on people as they are, but got {to_text(row)}", name="condition")
        for name in columns_of(row):
            self._need(name)
        together = row if self.among is None else RowJunction("and", (self.among, row))
        return self._changed(self.world, together, (direction_for(self.world, together),))

    def do(self, **settings: Value) -> Causal:
        """The population if some variables were set for all people: ``world.do(sex="M")``."""
        if self.among is not None:
            raise UsageError(
                "expected do(...) before given(...): the condition applies after the intervention", name="do"
            )
        return self._changed(intervened(self.world, settings), None, (None,))

    def counterfactual(self, people: Any, /, **settings: Any) -> Table:
        """What real people would have been like, had some variables been set: abduction, action, prediction.

        Parameters
        ----------
        people
            A table with a column for each variable.
        settings
            The variables that are set, each to one value for all people, ``sex="M"``, or to one for each person in the
            order of the table, ``school=[12, 16, 16]``.

        Returns
        -------
        Table
            The variables, in the order of :attr:`names`. A variable that is set has the value it was set to, whatever
            its causes; one whose causes do not change keeps its exact value. Nothing is random.

        Raises
        ------
        UsageError
            If there is no such variable, or it is set to something that is not a value.
        SpecError
            If a category is set to something that is not one of its values, or an equation cannot be inverted to find
            a person's noise.
        DataError
            If the people could not have come from the equations.
        """
        table = Table.of(people)
        for name in settings:
            self._need(name)
        return counterfactual(self.world, table, settings)

    def versions(self, people: Table, wanted: Mapping[Do, Sequence[str]]) -> dict[Do, Columns]:
        """The columns of real people under interventions."""
        return under_interventions(self.world, people, wanted)

    def about(self, population: Population | Any) -> Abducted:
        """Real people, as a population that also gives their counterfactuals.

        Parameters
        ----------
        population
            A :class:`Sample`, a :class:`Census`, or a table, which counts as a sample.
        """
        if self.among is not None:
            raise UsageError(
                f"expected a model of all people, but this one is about people with {to_text(self.among)}: choose the "
                "rows, and use the model before given(...)",
                name="given",
            )
        return Abducted.of(self, population)

    @property
    def cannot_be_undone(self) -> dict[str, str]:
        """The variables whose noise cannot be computed from people's values, each with the reason."""
        return not_invertible(self.world)

    def values(self, column: str) -> tuple[Value, ...]:
        """List the values of a column, declared, known or seen in pilot draws, numbers before text, ascending."""
        if column not in self.names:
            raise DataError(f"the model has no column {column!r}.{nearest(column, self.names)}")
        known = self.known_values(column)
        if known:
            return known
        source = WorldSource(self.world, Wanted((column,)), self.directions, self.among)
        return distinct([source.batch(0, _PILOTS, np.random.default_rng(0)).column(column)], column)

    def known_values(self, column: str) -> tuple[Value, ...]:
        """The values of a column that are declared, or given by its categories; empty if only draws would show them."""
        if column in self.declared:
            return self.declared[column]
        categories = self.world.categories(column)
        if categories is None or self.among is not None:
            return ()
        # A pilot draw would miss rare ones, and "for every group" would be about fewer groups.
        return distinct([categories.values[np.diff(categories.edges) > 0]], column)

    def open(self, seed: np.random.SeedSequence, wanted: Wanted | None = None) -> WorldSource:  # noqa: ARG002
        """Open the model for one run; each batch brings its own randomness, so the seed goes unused."""
        needed = wanted or Wanted()
        for version in needed.versions:
            if isinstance(version, Do):
                check_version(self.world, version)
        return WorldSource(self.world, needed, self.directions, self.among)

    def focused(self, conditions: Sequence[Row | None]) -> Causal:
        """The same population with rare groups drawn directly, for a property about groups with these conditions."""
        if self.among is not None:
            return self
        return self._changed(self.world, None, streams_for(self.world, conditions))

    def fingerprint(self) -> str:
        """Tell this model from others by its equations."""
        among = "" if self.among is None else to_text(self.among)
        parts = identity_of_equations(self.world)
        return fingerprint_of(self.kind, *parts, among, repr(sorted(self.declared.items())))

    def _changed(self, world: World, among: Row | None, directions: tuple[GroupDirection | None, ...]) -> Causal:
        changed = copy(self)
        changed._fill(world, among, directions)
        return changed

    def _need(self, name: str) -> None:
        if name not in self.names:
            raise UsageError(f"there is no variable {name!r}.{nearest(name, self.names)}", name=name)


@dataclass(frozen=True, slots=True, eq=False)
class Abducted:
    """Real people and a causal model of them. Make one with :meth:`Causal.about`.

    Columns of the table that are not in the model stay as they are under every intervention.
    """

    model: Causal
    people: Sample | Census

    @classmethod
    def of(cls, model: Causal, population: Any) -> Abducted:
        """Join a causal model and real people."""
        people = population if isinstance(population, Sample | Census) else Sample(population)
        refuse_clusters(people, "a causal model")
        missing = [name for name in model.names if name not in people.names]
        if missing:
            raise UsageError(
                f"expected a column for every variable of the causal model, but the table has none for "
                f"{', '.join(map(repr, missing))}",
                name=missing[0],
            )
        return cls(model, people)

    @property
    def kind(self) -> str:
        """``"sample"`` or ``"census"``, as the people are."""
        return self.people.kind

    @property
    def size(self) -> int:
        """How many people there are."""
        return self.people.size

    streams = (None,)  # one, without a condition

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the table's columns."""
        return self.people.names

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumptions of a verdict about this population, in words."""
        return (*self.people.assumptions, *self.model.assumptions)

    def values(self, column: str) -> tuple[Value, ...]:
        """List the values that occur in a column."""
        return self.people.values(column)

    def open(self, seed: np.random.SeedSequence, wanted: Wanted | None = None) -> AbductedSource:
        """Open the people for one run."""
        return AbductedSource(self.model, self.people.open(seed), wanted or Wanted(), self.people.table)

    def fingerprint(self) -> str:
        """Tell this population from others by its people and its model."""
        return fingerprint_of(self.people.fingerprint(), self.model.fingerprint())


@dataclass(frozen=True, slots=True, eq=False)
class AbductedSource:
    """Opened people with a causal model of them."""

    model: Causal
    source: Source
    wanted: Wanted
    whole: Table

    @property
    def finite(self) -> bool:
        """Whether each row counts once."""
        return self.source.finite

    def batch(self, start: int, n: int, rng: np.random.Generator, stream: int = 0) -> Table:
        """Give people as they are."""
        return self.source.batch(start, n, rng, stream)

    def people(self, start: int, n: int, rng: np.random.Generator, stream: int = 0) -> Mapping[Version | None, Table]:
        """Give people as they are, and as they would be under every intervention that is requested."""
        table = self.source.batch(start, n, rng, stream)
        versions: dict[Version | None, Table] = {None: table}
        if table.rows:
            wanted = {version: self.model.names for version in self.wanted.versions if isinstance(version, Do)}
            for version, columns in self._versions(table, wanted).items():
                # A column that does not change stays as it is, with its type.
                changed = {name: new for name, new in columns.items() if not np.array_equal(new, table.column(name))}
                versions[version] = replaced(table, changed)
        return versions

    def _versions(self, table: Table, wanted: Mapping[Do, Sequence[str]]) -> dict[Do, Columns]:
        try:
            return self.model.versions(table, wanted)
        except DataError:
            # Rows come in random order. The whole table fails with a row number that its owner recognizes.
            self.model.versions(self.whole, wanted)
            raise
