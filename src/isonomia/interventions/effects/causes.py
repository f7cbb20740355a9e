"""What follows from an action by a causal model: abduction, action, prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from isonomia.interventions.effects.protocol import Columns
from isonomia.interventions.features import Feature

if TYPE_CHECKING:
    from isonomia.populations.causal import Causal

__all__ = ["Causes"]


@dataclass(frozen=True, slots=True, eq=False)
class Causes:
    """Everything that a causal model makes of an action.

    The noise behind each person is found out from what they are like. The variables that their action changed are then
    set to what it made of them, whatever causes them; the others take the values that follow, with the same noise. A
    variable that the person acted on thus stays where they put it, and one that they did not responds to its causes.

    Attributes
    ----------
    model
        Whose every variable must be a feature, and whose every equation can be undone.
    """

    kind: ClassVar[str] = "causes"

    model: Causal

    @property
    def names(self) -> tuple[str, ...]:
        """The model's variables."""
        return self.model.names

    @property
    def reads(self) -> tuple[str, ...]:
        """The model's variables."""
        return self.model.names

    def words(self) -> str:
        """The effect as a sentence."""
        return f"{', '.join(self.names)} respond as the causal model says"

    def respond(
        self,
        features: Sequence[Feature],  # noqa: ARG002
        before: Columns,
        after: Columns,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> dict[str, NDArray[Any]]:
        """What follows, in groups of people who acted on the same variables."""
        acted = np.column_stack([np.asarray(before[name] != after[name], dtype=bool) for name in self.names])
        ended = {name: np.array(after[name]) for name in self.names}
        patterns, group = np.unique(acted, axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            rows = np.flatnonzero(group.reshape(-1) == number)
            chosen = [name for name, done in zip(self.names, pattern, strict=True) if done]
            if chosen:
                people = {name: before[name][rows] for name in self.names}
                followed = self.model.counterfactual(people, **{name: after[name][rows] for name in chosen})
                for name in self.names:
                    if name not in chosen:
                        ended[name] = _assigned(ended[name], rows, followed.column(name))
        return ended


def _assigned(column: NDArray[Any], rows: NDArray[np.intp], values: NDArray[Any]) -> NDArray[Any]:
    if column.dtype.kind in "biu" and values.dtype.kind == "f":
        column = column.astype(np.float64)
    column[rows] = values
    return column
