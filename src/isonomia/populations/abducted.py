"""Real people with a causal model of them: their counterfactuals are computed from their observed values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from isonomia.errors import DataError, UsageError
from isonomia.populations.fingerprint import fingerprint_of
from isonomia.populations.finite import Census, Sample
from isonomia.populations.protocol import Source, Wanted, refuse_clusters
from isonomia.populations.table import Table
from isonomia.populations.worlds.world import Columns
from isonomia.spec.tree import Do, Row, Value, Version


class AbductionModel(Protocol):
    """A causal model that can invert its equations."""

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What it rests on."""

    def versions(self, people: Table, wanted: Mapping[Do, Sequence[str]]) -> dict[Do, Columns]:
        """The columns of people under interventions."""

    def fingerprint(self) -> str:
        """Tell it from others."""


@dataclass(frozen=True, slots=True, eq=False)
class Abducted:
    """Real people and a causal model of them. Make one with :meth:`Causal.about`.

    Columns of the table that are not in the model stay as they are under every intervention.
    """

    model: AbductionModel
    people: Sample | Census

    @classmethod
    def of(cls, model: AbductionModel, population: Any) -> Abducted:
        """Join a causal model and real people."""
        people = population if isinstance(population, Sample | Census) else Sample(population)
        refuse_clusters(people, "a causal model")
        missing = [name for name in model.names if name not in people.names]
        if missing:
            raise UsageError(
                f"expected a column for every variable of the causal model, but the table has none for "
                f"{', '.join(map(repr, missing))}"
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

    @property
    def streams(self) -> tuple[Row | None, ...]:
        """One stream, without a condition."""
        return (None,)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the table's columns."""
        return self.people.names

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a verdict about this population rests on, in words."""
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

    model: AbductionModel
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
        """Give people as they are, and as they would be under every intervention that is wanted."""
        table = self.source.batch(start, n, rng, stream)
        versions: dict[Version | None, Table] = {None: table}
        if table.rows:
            wanted = {version: self.model.names for version in self.wanted.versions if isinstance(version, Do)}
            for version, columns in self._versions(table, wanted).items():
                versions[version] = _with_columns(table, columns)
        return versions

    def _versions(self, table: Table, wanted: Mapping[Do, Sequence[str]]) -> dict[Do, Columns]:
        try:
            return self.model.versions(table, wanted)
        except DataError:
            # Rows come in random order. The whole table fails with a row number that its owner recognizes.
            self.model.versions(self.whole, wanted)
            raise


def _with_columns(table: Table, columns: Columns) -> Table:
    """The same table with some columns replaced, still of the user's own kind, as the model expects.

    A column that does not change stays as it is, with its type.
    """
    changed = {name: new for name, new in columns.items() if not np.array_equal(new, table.column(name))}
    if not changed:
        return table
    match table.kind:
        case "columns":
            return Table.of({**table.native, **changed})
        case "array":
            listed = [changed.get(name, table.native[:, i]) for i, name in enumerate(table.names)]
            return Table.of(np.column_stack(listed), table.names)
        case "rows":
            plain = {name: new.tolist() for name, new in changed.items()}
            rows = enumerate(table.native)
            return Table.of([{**row, **{name: new[i] for name, new in plain.items()}} for i, row in rows])
        case _:
            return _frame_with(table, changed)


def _frame_with(table: Table, changed: Columns) -> Table:
    import narwhals as nw

    frame: Any = nw.from_native(table.native, eager_only=True)
    texts = {nw.String, nw.Categorical, nw.Enum}
    series = []
    for name, new in changed.items():
        kind = frame.schema[name]
        dtype = kind if type(kind) in texts else None
        series.append(nw.new_series(name, new.tolist(), dtype=dtype, backend=frame.implementation))
    return Table.of(frame.with_columns(*series).to_native())
