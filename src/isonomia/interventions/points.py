"""Points that people can reach, and whose they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.interventions.coding import decoded
from isonomia.interventions.constraints.moves import Floats
from isonomia.interventions.features import Feature
from isonomia.populations.domains.replacing import replaced
from isonomia.populations.table import Table

__all__ = ["Points"]


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Points, one a row.

    Attributes
    ----------
    features
        The features, one for each column of ``values``.
    people
        The table of the people.
    owner
        Whose each point is: a row of the people.
    values
        The points as numbers, a category as its place; of shape ``(points, features)``, each column in one piece.
    """

    features: tuple[Feature, ...]
    people: Table
    owner: NDArray[np.intp]
    values: Floats

    def __len__(self) -> int:
        return len(self.owner)

    def table(self) -> Table:
        """The points as a table of the people's kind, for a model; what is no feature is the person's own."""
        if self.people.kind == "columns":
            return self.columns()
        changed = {feature.name: decoded(feature, self.values[:, j]) for j, feature in enumerate(self.features)}
        return replaced(self.people.take(self.owner), changed)

    def columns(self, names: Sequence[str] | None = None) -> Table:
        """The same as plain columns, which takes less time.

        Parameters
        ----------
        names
            The columns that are wanted, in order; all of them unless given.
        """
        place = {feature.name: j for j, feature in enumerate(self.features)}
        return Table.of(
            {
                name: decoded(self.features[place[name]], self.values[:, place[name]])
                if name in place
                else self.people.column(name)[self.owner]
                for name in (self.people.names if names is None else names)
            }
        )
