"""What real people would have been like: the noise behind them is found out, and the equations run again with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isonomia.errors import DataError
from isonomia.populations.programs.abduction import abduct
from isonomia.populations.programs.allowed import check_version
from isonomia.populations.programs.settings import settings_for
from isonomia.populations.programs.world import Columns, World
from isonomia.populations.table import Table
from isonomia.spec.versions import Do

__all__ = ["had_been_set", "under_interventions"]


def had_been_set(world: World, people: Table, settings: Mapping[str, Any]) -> Table:
    """People as they would have been with some variables set, each to one value or to one for each person.

    Raises
    ------
    UsageError
        Where a variable is set to what is no value.
    SpecError
        Where a category is set to what is none of its values, or an equation cannot be undone.
    DataError
        Where the people could not have come from the equations.
    """
    fixed = settings_for(world, settings, people.rows)
    kept = abduct(world, _variables(world, people), people.rows)
    return Table.of(world.rerun_with(kept, fixed, world.names))


def under_interventions(world: World, people: Table, wanted: Mapping[Do, Sequence[str]]) -> dict[Do, Columns]:
    """The columns of people under each of several interventions.

    Raises
    ------
    SpecError
        Where an intervention sets what has no equation, or an equation cannot be undone.
    DataError
        Where the people could not have come from the equations.
    """
    for version in wanted:
        check_version(world, version)
    columns = _variables(world, people)
    kept = abduct(world, columns, people.rows)
    return {version: world.rerun(kept, columns, version, names) for version, names in wanted.items()}


def _variables(world: World, people: Table) -> Columns:
    missing = [name for name in world.names if name not in people.names]
    if missing:
        raise DataError(
            f"expected a column for every variable, but the table has none for {', '.join(map(repr, missing))}"
        )
    return {name: people.column(name) for name in world.names}
