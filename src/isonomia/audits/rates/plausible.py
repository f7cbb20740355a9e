"""Whether counts in a record can be those of any people; not so where somebody changed some of them.

A batch is kept as the counts of many channels, and they tell of the same people. So they must agree: no channel has
more draws than there were people, two channels of one group have equally many, and what several leaves tell together is
what each of them tells alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError
from isonomia.evidence.channels import Channel
from isonomia.evidence.protocol import Tallies
from isonomia.populations.protocol import Population
from isonomia.spec.text import to_text
from isonomia.spec.tree import Leaf, Rate, Row

__all__ = ["Possible", "possible_sizes", "possible_total", "refuse_counting", "refuse_more_than_there_are"]

Floats = NDArray[np.float64]

_CLOSE = 1e-6
"""By how much sums of parts of draws may differ from whole numbers; those of whole draws may not."""


@dataclass(frozen=True)
class Possible:
    """Which counts of a batch are possible.

    Attributes
    ----------
    channels, alone
        All channels, and among them the one of each leaf alone.
    apart
        Conditions of one stream that nobody meets two of.
    """

    channels: tuple[Channel, ...]
    alone: tuple[Channel, ...]
    apart: Sequence[tuple[int, tuple[Row | None, ...]]]

    @cached_property
    def _by_leaf(self) -> Mapping[Leaf, Channel]:
        return {channel.leaves[0]: channel for channel in self.alone}

    @cached_property
    def _values(self) -> Mapping[Channel, Floats]:
        return {channel: channel.grid.values() for channel in self.channels}

    def wrong(self, people: int, wanted: int, tallies: Tallies) -> str | None:
        """What cannot be, in words; ``None`` where all of it can."""
        if type(people) is not int or people != wanted:
            return f"it has {people!r:.40} people in place of {wanted:,}"
        if not all(self._is_counted(channel, tallies[channel]) for channel in self.channels):
            return "some of its counts are negative, are parts of people, or are too few or too many numbers"
        members = {channel: float(tallies[channel].sum()) for channel in self.channels}
        if not self._people_agree(people, members):
            return f"its counts are not those of {people:,} people"
        if not all(self._leaves_agree(channel, tallies) for channel in self.channels):
            return "what it counts of one group differs from what it counts of it elsewhere"
        return None

    def _is_counted(self, channel: Channel, cells: Floats) -> bool:
        if cells.shape != (channel.grid.size,) or not np.isfinite(cells).all() or (cells < 0).any():
            return False
        whole = all(isinstance(leaf, Rate) for leaf in channel.leaves)
        return bool((cells == np.floor(cells)).all()) if whole else _same(float(cells.sum()) % 1.0, 0.0, 1.0)

    def _people_agree(self, people: int, members: Mapping[Channel, float]) -> bool:
        streams = {channel.stream for channel in self.channels}
        most = {s: max(n for channel, n in members.items() if channel.stream == s) for s in streams}
        if sum(most.values()) > people + _CLOSE:
            return False
        groups: dict[tuple[int, Row | None], float] = {}
        for channel, n in members.items():
            if channel.ticket is None:
                before = groups.setdefault((channel.stream, channel.given), n)
                everybody = channel.given is None and len(streams) == 1
                if not _same(before, n) or (everybody and not _same(n, people)):
                    return False
        return all(
            sum(groups.get((stream, given), 0.0) for given in conditions) <= people + _CLOSE
            for stream, conditions in self.apart
        )

    def _leaves_agree(self, channel: Channel, tallies: Tallies) -> bool:
        """Whether the leaves of a channel are counted as they are alone; with tickets there are at most as many."""
        cells, values, crossing = tallies[channel], self._values[channel], channel.crossing
        for place, leaf in enumerate(channel.leaves):
            here = values[:, len(crossing) + place]
            inside = values[:, crossing.index(leaf.given)] if leaf.given in crossing else np.ones(len(here))
            alone = self._by_leaf[leaf]
            lowest = alone.grid.nodes[0][0]
            n, above = float(cells @ inside), float((cells * inside) @ (here - lowest))
            total = float(tallies[alone].sum())
            most = float(tallies[alone] @ (self._values[alone][:, 0] - lowest))
            if channel.ticket is not None:
                span = alone.grid.nodes[0][-1] - lowest
                fewer = n <= total and _at_most(above, most) and _at_most(n * span - above, total * span - most)
                if not fewer:
                    return False
            elif not _same(n, total) or not _same(above, most):
                return False
            if bool((cells[(inside == 0) & (here > lowest)] > _CLOSE).any()):
                return False  # of somebody outside of its group a leaf tells nothing
        return True


def possible_sizes(sizes: Mapping[Leaf, float], size: int | None) -> bool:
    """Whether groups of so many people can be those of a census of this size."""
    groups: dict[Row | None, float] = {None: float(size or 0)}
    return all(
        n == int(n) and 0 <= n <= groups[None] and groups.setdefault(leaf.given, n) == n for leaf, n in sizes.items()
    )


def possible_total(leaf: Leaf, n: int, amount: Fraction | float, ends: tuple[float, float]) -> bool:
    """Whether values of so many people can have this sum: those of a rate are 0 or 1, others in their range."""
    if isinstance(leaf, Rate):
        return isinstance(amount, Fraction) and amount.denominator == 1 and 0 <= amount <= n
    low, high = ends
    close = _CLOSE * max(1.0, abs(float(amount)))
    return (n > 0 or amount == 0) and n * low - close <= amount <= n * high + close


def refuse_counting(population: Population, exact: bool) -> None:
    """Refuse that everybody was counted who is no census: rows that stand for others give no exact answer.

    Raises
    ------
    DataError
        Where a record says so.
    """
    if type(exact) is not bool or (exact and population.kind != "census"):
        raise DataError(
            f"expected that everybody of a census was counted, but the record says so of a {population.kind}"
        )


def refuse_more_than_there_are(drawn: Mapping[Channel, Floats], sizes: Mapping[Leaf, float]) -> None:
    """Refuse draws without replacement that are more than the people of their group.

    Raises
    ------
    DataError
        For the first group of which that is so.
    """
    for channel, counts in drawn.items():
        leaf, n = channel.leaves[0], float(counts.sum())
        if n > sizes[leaf]:
            raise DataError(f"expected draws of {to_text(leaf)} of {sizes[leaf]:,.0f} people, but there are {n:,.0f}")


def _at_most(first: float, second: float) -> bool:
    return first <= second + _CLOSE * max(1.0, abs(second))


def _same(first: float, second: float, round_about: float = 0.0) -> bool:
    close = _CLOSE * max(1.0, abs(second))
    distance = abs(first - second)
    return distance <= close or (round_about > 0 and round_about - distance <= close)
