"""Dummies of thresholds: ones, then zeros."""

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
class Thermometer:
    """The features are dummies of rising thresholds, so that ones come before zeros.

    With direction ``"up"`` dummies only turn on, with ``"down"`` only off. A person whose values are not such a code is
    refused or, with ``keep_invalid``, stays where they are.

    Attributes
    ----------
    names
        The dummies, from the lowest threshold to the highest.
    direction
        ``"both"``, ``"up"`` or ``"down"``.
    keep_invalid
        Whether a person without such a code stays put instead of being refused.
    """

    kind: ClassVar[str] = "thermometer"
    takes_categories: ClassVar[bool] = False

    names: tuple[str, ...]
    direction: Way = "both"
    keep_invalid: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", names_of(self.kind, self.names))
        check_one_of(self.kind, "direction", self.direction, ("both", "up", "down"))
        check_truth(self.kind, "keep_invalid", self.keep_invalid)

    def words(self) -> str:
        """The constraint as a sentence."""
        way = {"both": "", "up": ", and only turn on", "down": ", and only turn off"}[self.direction]
        return f"{', '.join(self.names)} are ones followed by zeros{way}"

    def coded(self, levels: Levels) -> Thermometer:  # noqa: ARG002
        """The constraint itself: it has no categories."""
        return self

    def accepts(self, start: Floats) -> Bools:
        """Whether the person is at a code, or need not be."""
        return self._codes().accepts(start)

    def holds(self, moves: Moves) -> Bools:
        """Whether the acted code can be reached."""
        return self._codes().holds(moves)

    def possible(self, box: Box) -> Bools:
        """Whether a code in the box can be reached."""
        return self._codes().possible(box)

    def standing(self, scope: ActionScope) -> Form | None:  # noqa: ARG002
        """One binary per code."""
        return self._codes().standing()

    def form(self, scope: ActionScope) -> Form:
        """One binary for each code that can be reached."""
        return self._codes().form(scope.start)

    def _codes(self) -> Codes:
        count = len(self.names)
        codes = np.tri(count + 1, count, -1)
        return Codes(codes, monotone(count + 1, self.direction), self.keep_invalid)
