"""Draws with weights: importance sampling made exact by keeping each draw with a probability."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, UsageError
from isonomia.populations.table import Table

__all__ = ["Weighted", "hopeless", "kept_rows"]

MOST_PROPOSALS = 50_000_000
"""How many draws are proposed for one batch before it is asked whether that goes anywhere."""

RAREST = 10_000
"""One kept of so many is too few to wait for, once that many were proposed."""


def kept_rows(weights: NDArray[np.float64], most: float, rng: np.random.Generator) -> NDArray[np.intp]:
    """Keep each proposal with probability ``weight / most``.

    Guarantee: if proposals are drawn with density ``q`` and the weight is proportional to ``p / q`` and never above
    ``most``, those kept are independent draws with density ``p``. So every guarantee about plain draws holds for them
    as it stands, whatever ``q`` is; ``most`` decides only how many proposals are lost.
    """
    return np.flatnonzero(rng.random(len(weights)) * most < weights)


def hopeless(found: int, proposed: int) -> bool:
    """Whether so few of the proposals so far were kept that a batch is given up."""
    return proposed >= MOST_PROPOSALS and found * RAREST < proposed


@dataclass(frozen=True, slots=True)
class Weighted:
    """Draws from another distribution, with weights that say how much more probable each is in the right one.

    Use it wherever a draw is expected: ``Generator({"income > 1e6": Weighted(draw, weight="w", most=20.0)})``.

    Attributes
    ----------
    draw
        ``draw(n, rng)`` gives a table of proposals with a column of weights.
    weight
        The name of that column. A weight is the density of the population (or of the group) over the density of the
        proposals, up to a constant factor.
    most
        No weight is larger. The guarantee rests on it, and every weight is checked.

    Notes
    -----
    Each proposal is kept with probability ``weight / most``, so what comes out are exact, unweighted draws.
    """

    draw: Callable[[int, np.random.Generator], Any]
    weight: str
    most: float

    def __post_init__(self) -> None:
        """Check the arguments."""
        if not callable(self.draw):
            raise UsageError(f"expected draw as a callable draw(n, rng), but {self.draw!r} came")
        if not isinstance(self.most, int | float | np.number) or not np.isfinite(self.most) or self.most <= 0:
            raise UsageError(f"expected most, the largest weight, as a positive number, but most={self.most!r} came")

    @property
    def func(self) -> Callable[[int, np.random.Generator], Any]:
        """The function that proposes, by which these draws are named and told from others, as a partial's is."""
        return self.draw

    def __call__(self, n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Draw ``n`` people."""
        parts: list[dict[str, NDArray[Any]]] = []
        found, proposed, size = 0, 0, max(2 * n, 64)
        while found < n:
            if hopeless(found, proposed):
                raise DataError(
                    f"expected about n = {n:,} people out of {proposed:,} weighted proposals, but only {found:,} were "
                    f"kept: most={self.most!r} is far above the usual weight; propose draws nearer to the group"
                )
            table = Table.of(self.draw(size, rng))
            rows = kept_rows(self._weights(table), self.most, rng)
            parts.append({name: table.column(name)[rows] for name in table.names if name != self.weight})
            found, proposed = found + len(rows), proposed + table.rows
            size = int(np.clip(1.2 * (n - found) * proposed / max(found, 1), 64, 2**18))
        return {name: np.concatenate([part[name] for part in parts])[:n] for name in parts[0]}

    def _weights(self, table: Table) -> NDArray[np.float64]:
        if self.weight not in table.names:
            raise DataError(f"expected a column {self.weight!r} with weights, but there are {', '.join(table.names)}")
        weights = np.asarray(table.column(self.weight), dtype=float)
        outside = ~((weights >= 0) & (weights <= self.most))
        if outside.any():
            first = float(weights[outside][0])
            advice = "raise most" if first > self.most else "mend the weights, which are ratios of probabilities"
            raise DataError(
                f"expected weights between 0 and most={self.most!r}, but one is {first!r}: the guarantee rests on "
                f"that bound, so {advice}"
            )
        return weights
