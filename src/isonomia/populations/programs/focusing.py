"""Which groups are worth drawing directly."""

from __future__ import annotations

from collections.abc import Sequence

from isonomia.populations.programs.directing import Direction, direction_for
from isonomia.populations.programs.world import World
from isonomia.spec.text import to_text
from isonomia.spec.tree import Row

__all__ = ["RARE", "focused", "told"]

RARE = 0.1
"""Below this probability a group is drawn directly. Above it one draw that serves every group is the better bargain."""


def focused(world: World, conditions: Sequence[Row | None]) -> tuple[Direction | None, ...]:
    """The streams for groups with these conditions: one of everybody, or one for each group that can be directed at.

    Groups stay in the common stream unless one of them is rare; then every group that can be drawn directly is, and
    the common stream remains for the others.
    """
    found = [direction_for(world, condition) for condition in conditions]
    if not any(direction is not None and direction.most < RARE for direction in found):
        return (None,)
    directed = {direction.condition: direction for direction in found if direction is not None}
    # The narrowest first, since a leaf is read from the first stream whose condition is part of its own.
    streams = sorted(directed.values(), key=lambda direction: direction.most)
    return (*streams, None) if any(direction is None for direction in found) else tuple(streams)


def told(directions: Sequence[Direction | None]) -> tuple[str, ...]:
    """How each stream is drawn, in words."""
    if tuple(directions) == (None,):
        return ()
    lines = []
    for direction in directions:
        if direction is None:
            lines.append("other people are drawn from everybody")
            continue
        names = " and ".join(direction.directed)
        how = (
            f"{names} being drawn from within the condition"
            if direction.exact
            else f"{names} being drawn from within the condition, and each person kept in proportion to how probable "
            "that was for them"
        )
        lines.append(f"people with {to_text(direction.condition)} are drawn directly, {how}")
    return tuple(lines)
