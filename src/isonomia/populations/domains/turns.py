"""Stepping many environments of one game: what a worker does between two questions to the policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bench", "Ended", "Ending", "State", "stacked"]

State: TypeAlias = Mapping[str, Any]
"""A state: its numbers by name."""

Ended: TypeAlias = dict[int, bool | str]
"""Games that are over: whether each was won, or in words why that cannot be said."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a game ended.

    Attributes
    ----------
    total, last
        The sum of its rewards, and the last of them.
    steps
        How many steps it had.
    terminated, truncated
        Whether the game itself ended it, or a limit did.
    """

    total: float
    last: float
    steps: int
    terminated: bool
    truncated: bool


@dataclass(slots=True)
class Bench:
    """Environments side by side, each used for one game after the other.

    Nothing of one game is seen by another, so it does not matter which environment a game is played in.
    """

    game: Any
    environments: list[Any] = field(default_factory=list)
    totals: list[float] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)

    def begin(self, states: Sequence[State], seeds: Sequence[int]) -> tuple[NDArray[Any], Ended]:
        """Begin a game from each state; gives first observations, and those games that could not begin."""
        while len(self.environments) < len(states):
            self.environments.append(self.game.make())
        self.totals, self.steps = [0.0] * len(states), [0] * len(states)
        observations: list[Any] = []
        ended: Ended = {}
        for number, (state, seed) in enumerate(zip(states, seeds, strict=True)):
            rng = np.random.default_rng(seed)
            try:
                observations.append(self.game.begin(self.environments[number], state, rng))
            except Exception as error:  # whatever an environment raises is part of what is reported
                ended[number] = _told(error)
        return stacked(observations), ended

    def step(self, numbers: Sequence[int], predictions: Sequence[Any]) -> tuple[NDArray[Any], Ended]:
        """Take one step in some games; gives the observations of those that go on, in order, and those that ended."""
        observations: list[Any] = []
        ended: Ended = {}
        for number, prediction in zip(numbers, predictions, strict=True):
            environment = self.environments[number]
            try:
                observation, reward, terminated, truncated = self.game.step(environment, prediction)
                self.totals[number] += reward
                self.steps[number] += 1
                truncated = truncated or self.steps[number] >= self.game.steps
                if not (terminated or truncated):
                    observations.append(observation)
                    continue
                ending = Ending(self.totals[number], reward, self.steps[number], terminated, truncated)
                ended[number] = bool(self.game.won(environment, ending))
            except Exception as error:
                ended[number] = _told(error)
        return stacked(observations), ended


def stacked(observations: Sequence[Any]) -> NDArray[Any]:
    """Observations as one array, a row for each game."""
    return np.array(observations)


def _told(error: Exception) -> str:
    return f"the game raised {type(error).__name__}: {error}"
