"""Dummies of the levels of an ordered feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from isonomia.interventions.constraints.base import (
    ActionScope,
    Bools,
    Box,
    Codes,
    Floats,
    Form,
    Levels,
    Moves,
    Way,
    check_one_of,
    check_truth,
    monotone,
    names_of,
)


@dataclass(frozen=True, slots=True)
class Ordinal:
    """The features are dummies of increasing levels, and the level moves in the allowed direction.

    Exactly one is on where they are ``exhaustive``; otherwise all may be off, which is the level below the first.

    Attributes
    ----------
    names
        The dummies, from the lowest level to the highest.
    exhaustive
        Whether one of them is always on.
    direction
        ``"both"``, ``"up"`` or ``"down"``.
    """

    kind: ClassVar[str] = "ordinal"
    takes_categories: ClassVar[bool] = False

    names: tuple[str, ...]
    exhaustive: bool = True
    direction: Way = "both"

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", names_of(self.kind, self.names))
        check_truth(self.kind, "exhaustive", self.exhaustive)
        check_one_of(self.kind, "direction", self.direction, ("both", "up", "down"))

    def words(self) -> str:
        """The constraint as a sentence."""
        count = "exactly" if self.exhaustive else "at most"
        way = {"both": "", "up": ", and the level only rises", "down": ", and the level only falls"}[self.direction]
        return f"{count} one of the increasing levels {', '.join(self.names)}{way}"

    def coded(self, levels: Levels) -> Ordinal:  # noqa: ARG002
        """The constraint itself: it has no categories."""
        return self

    def accepts(self, start: Floats) -> Bools:
        """Whether the person is at a level."""
        return self._codes().accepts(start)

    def holds(self, moves: Moves) -> Bools:
        """Whether the acted level can be reached."""
        return self._codes().holds(moves)

    def possible(self, box: Box) -> Bools:
        """Whether a level in the box can be reached."""
        return self._codes().possible(box)

    def standing(self, scope: ActionScope) -> Form | None:  # noqa: ARG002
        """One binary per level."""
        return self._codes().standing()

    def form(self, scope: ActionScope) -> Form:
        """One binary for each level that can be reached."""
        return self._codes().form(scope.start)

    def _codes(self) -> Codes:
        count = len(self.names)
        codes = np.eye(count) if self.exhaustive else np.vstack([np.zeros((1, count)), np.eye(count)])
        return Codes(codes, monotone(len(codes), self.direction))
