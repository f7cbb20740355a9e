"""Effects of chance and of causes that come after a person's own action."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.interventions.features import Feature

__all__ = ["Columns", "Effect"]

Columns: TypeAlias = Mapping[str, NDArray[Any]]


class Effect(Protocol):
    """What becomes of a person after an action: ``x' = x + a + r``, with ``r`` drawn given ``x`` and ``a``.

    Constraints bind ``x + a`` with the effects of linkages; effects come after, and are never drawn again.
    """

    kind: ClassVar[str]
    """What the effect is called in a file."""

    @property
    def names(self) -> tuple[str, ...]:
        """The features that it may change."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The features that it looks at."""

    def words(self) -> str:
        """The effect as a sentence, without its full stop."""

    def respond(
        self, features: Sequence[Feature], before: Columns, after: Columns, rng: np.random.Generator
    ) -> dict[str, NDArray[Any]]:
        """The values of the features that it may change, ``x + a + r``.

        Parameters
        ----------
        features
            Those that it may change, in the order of ``names``.
        before, after
            The features that it looks at or may change, as the people are, and after their actions.
        rng
            The randomness.
        """
