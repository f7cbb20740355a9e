"""A world opened for one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError
from isonomia.populations.generator import accepted_rows, too_few_accepted
from isonomia.populations.protocol import Wanted, check_request
from isonomia.populations.table import Table
from isonomia.populations.worlds.directed import Direction
from isonomia.populations.worlds.world import Columns, Drawn, World
from isonomia.spec.evaluate import Batch, truth
from isonomia.spec.text import to_text
from isonomia.spec.tree import Do, Row, Version
from isonomia.spec.walk import columns_of

__all__ = ["WorldSource"]


@dataclass(frozen=True, slots=True, eq=False)
class WorldSource:
    """An opened world.

    Attributes
    ----------
    world
        The equations.
    wanted
        What will be read.
    directions
        How each stream's group is drawn; ``None`` for everybody.
    among
        A condition that everybody meets: others are drawn again.
    """

    world: World
    wanted: Wanted
    directions: tuple[Direction | None, ...] = (None,)
    among: Row | None = None

    @property
    def finite(self) -> bool:
        """Whether each row counts once."""
        return False

    def batch(self, start: int, n: int, rng: np.random.Generator, stream: int = 0) -> Table:
        """Draw ``n`` people with the batch's own randomness."""
        return Table.of(self._draw(start, n, rng, stream, {}).columns)

    def people(self, start: int, n: int, rng: np.random.Generator, stream: int = 0) -> Mapping[Version | None, Table]:
        """Draw ``n`` people, and give them as they are and under every intervention that is wanted."""
        interventions = {
            version: self._listed(names) for version, names in self.wanted.versions.items() if isinstance(version, Do)
        }
        drawn = self._draw(start, n, rng, stream, interventions)
        found: dict[Version | None, Table] = {None: Table.of(drawn.columns)}
        return found | {version: Table.of(columns) for version, columns in drawn.versions.items()}

    def _listed(self, names: tuple[str, ...] | None) -> tuple[str, ...]:
        # A table without columns is none; the first variable costs least.
        return self.world.names if names is None else names or self.world.names[:1]

    def _draw(
        self, start: int, n: int, rng: np.random.Generator, stream: int, versions: Mapping[Do, tuple[str, ...]]
    ) -> Drawn:
        check_request(start, n, stream, len(self.directions))
        direction, names = self.directions[stream], self._listed(self.wanted.columns)
        if self.among is None and (direction is None or direction.exact):
            return self.world.draw(n, rng, names, versions, direction.directed if direction else None)
        return self._draw_until(n, rng, direction, names, versions)

    def _draw_until(
        self,
        n: int,
        rng: np.random.Generator,
        direction: Direction | None,
        names: tuple[str, ...],
        versions: Mapping[Do, tuple[str, ...]],
    ) -> Drawn:
        """Propose people until ``n`` were kept."""
        among = columns_of(self.among) if self.among is not None else ()
        # What is directed must be drawn, or nobody would have a weight.
        asked = tuple(dict.fromkeys((*names, *among, *(direction.directed if direction else ()))))
        parts: list[Drawn] = []
        found, proposed, size = 0, 0, max(2 * n, 64)
        while found < n:
            if too_few_accepted(found, proposed):
                raise DataError(_too_rare(direction, self.among, proposed, found))
            drawn = self.world.draw(size, rng, asked, versions, direction.directed if direction else None)
            rows = self._kept(drawn, size, direction, rng)
            parts.append(_taken(drawn, rows, names))
            found, proposed = found + len(rows), proposed + size
            size = int(np.clip(1.2 * (n - found) * proposed / max(found, 1), 64, 2**18))
        together = {name: np.concatenate([part.columns[name] for part in parts])[:n] for name in names}
        others = {
            version: {name: np.concatenate([part.versions[version][name] for part in parts])[:n] for name in columns}
            for version, columns in versions.items()
        }
        return Drawn(together, others, None)

    def _kept(self, drawn: Drawn, size: int, direction: Direction | None, rng: np.random.Generator) -> NDArray[np.intp]:
        chosen = np.ones(size, dtype=bool) if self.among is None else truth(self.among, Batch(size, drawn.columns))
        if direction is None or direction.exact or drawn.weights is None:
            return np.flatnonzero(chosen)
        # Rounding may put a weight a hair above its bound.
        kept = accepted_rows(np.minimum(drawn.weights, direction.most), direction.most, rng)
        return np.asarray(kept[chosen[kept]])


def _taken(drawn: Drawn, rows: NDArray[np.intp], names: tuple[str, ...]) -> Drawn:
    columns: Columns = {name: drawn.columns[name][rows] for name in names}
    versions: dict[Do, dict[str, NDArray[Any]]] = {
        version: {name: column[rows] for name, column in others.items()} for version, others in drawn.versions.items()
    }
    return Drawn(columns, versions, None)


def _too_rare(direction: Direction | None, among: Row | None, proposed: int, found: int) -> str:
    told = " and ".join(to_text(row) for row in (direction.condition if direction else None, among) if row is not None)
    return (
        f"expected people with {told}, but among {proposed:,} draws there were {found:,}: the condition is too rare to "
        "wait for; draw such people directly, Generator({condition: draw})"
    )
