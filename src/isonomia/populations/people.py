"""People in every version that a property speaks of: as they are, as a second person, as they would have been."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import numpy as np

from isonomia.errors import SpecError
from isonomia.populations.protocol import Source, Wanted
from isonomia.populations.table import Table
from isonomia.spec.versions import Do, Other, Version

__all__ = ["CausalSource", "people"]

People = Mapping[Version | None, Table]


@runtime_checkable
class CausalSource(Protocol):
    """A source that knows what would have been."""

    def batch(self, start: int, n: int, rng: np.random.Generator, stream: int = 0) -> Table:
        """Give people as they are."""

    def people(self, start: int, n: int, rng: np.random.Generator, stream: int = 0) -> People:
        """Give people as they are, under ``None``, and under every intervention that the source was opened for."""


def people(source: Source, wanted: Wanted, start: int, n: int, rng: np.random.Generator, stream: int) -> People:
    """Draw people, numbered from ``start``, in every version that is wanted.

    A second person is drawn like the first and independently of them. Of a finite table, whose rows count once, two
    neighbours in its random order make a pair.

    Raises
    ------
    SpecError
        Where an intervention is asked about and the source knows nothing of causes.
    """
    interventions = [version for version in wanted.versions if isinstance(version, Do)]
    paired = any(isinstance(version, Other) for version in wanted.versions)
    if interventions and not isinstance(source, CausalSource):
        raise SpecError(
            "what would have been, do(...), is known only of a causal model: use Causal(...), a Program, or "
            "Causal(...).about(table) for real people",
            interventions[0].place,
        )
    if not paired:
        return _alone(source, start, n, rng, stream, bool(interventions))
    if source.finite:
        return _neighbours(_alone(source, 2 * start, 2 * n, rng, stream, bool(interventions)))
    first = _alone(source, start, n, rng, stream, bool(interventions))
    return {**first, Other(): source.batch(start, n, rng, stream)}


def _alone(source: Source, start: int, n: int, rng: np.random.Generator, stream: int, intervened: bool) -> People:
    if intervened and isinstance(source, CausalSource):
        return source.people(start, n, rng, stream)
    return {None: source.batch(start, n, rng, stream)}


def _neighbours(both: People) -> People:
    """Pairs of neighbours: the first of each in every version, and the second as they are."""
    first = np.arange(both[None].rows // 2) * 2
    return {**{version: table.take(first) for version, table in both.items()}, Other(): both[None].take(first + 1)}
