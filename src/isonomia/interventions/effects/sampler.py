"""Any conditional law of the user's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError
from isonomia.interventions.constraints.checking import names_of
from isonomia.interventions.effects.protocol import Columns
from isonomia.interventions.features import Feature

__all__ = ["Sampler"]


@dataclass(frozen=True, slots=True)
class Sampler:
    """The changes that come after an action are drawn by a function.

    Attributes
    ----------
    names
        The features that change.
    draw
        ``draw(before, after, rng)``: two mappings from name to column, as the people are and after their actions, and
        the randomness; it gives a mapping from each name to ``r``, one number a row, which is added to what the action
        made of the feature.
    reads
        Further features that the function looks at.
    """

    kind: ClassVar[str] = "sampler"

    names: tuple[str, ...]
    draw: Callable[[Columns, Columns, np.random.Generator], Mapping[str, Any]]
    reads: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", names_of(self.kind, self.names))
        further = names_of(self.kind, self.reads, "reads", least=0)
        object.__setattr__(self, "reads", tuple(dict.fromkeys((*self.names, *further))))
        if not callable(self.draw):
            raise UsageError(f"draw of a sampler should be a function, but it is {self.draw!r}")

    def words(self) -> str:
        """The effect as a sentence."""
        return f"{', '.join(self.names)} change as {getattr(self.draw, '__name__', 'a function')} draws"

    def respond(
        self, features: Sequence[Feature], before: Columns, after: Columns, rng: np.random.Generator
    ) -> dict[str, NDArray[Any]]:
        """Add what the function draws."""
        drawn = self.draw(before, after, rng)
        if set(drawn) != set(self.names):
            raise UsageError(
                f"{self.words()}: it should give a change for each of {', '.join(self.names)}, but gave "
                f"{', '.join(map(str, drawn)) or 'nothing'}"
            )
        return {feature.name: self._added(feature, after[feature.name], drawn[feature.name]) for feature in features}

    def _added(self, feature: Feature, value: NDArray[Any], change: Any) -> NDArray[Any]:
        found = np.asarray(change, dtype=np.float64)
        if found.shape != value.shape or not np.isfinite(found).all():
            raise UsageError(
                f"{self.words()}: the change of {feature.name!r} should be {len(value)} finite numbers, but it has "
                f"shape {found.shape} and {int((~np.isfinite(found)).sum())} entries that are not finite"
            )
        return np.asarray(value + found)
