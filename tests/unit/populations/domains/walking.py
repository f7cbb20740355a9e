"""A tiny game for tests: walk to a goal against a wind before time runs out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.populations.domains import Ending, StateChange


@dataclass
class Field:
    """Where a walker is, and the wind."""

    position: int = 0
    goal: int = 0
    rng: np.random.Generator | None = None

    def observed(self) -> NDArray[np.float64]:
        return np.array([self.position, self.goal], dtype=np.float64)


@dataclass(frozen=True)
class Walk:
    """A state is a goal; the walker begins at 0, and is lost at -3."""

    steps: int = 12
    trap: int = 1000

    @property
    def changes(self) -> Mapping[str, StateChange]:
        return {
            "relax": StateChange(self.nearer, random=True),
            "unrelax": StateChange(lambda state, rng: {"goal": state["goal"] + int(rng.integers(1, 4))}, random=True),
            "nearer": StateChange(lambda state, by: {"goal": state["goal"] - by}, arguments=1),
        }

    def nearer(self, state: Mapping[str, Any], rng: np.random.Generator) -> Mapping[str, Any] | None:
        """One step nearer or more, but not behind the start."""
        return {"goal": int(rng.integers(1, state["goal"]))} if state["goal"] > 1 else None

    def states(self, seeds: Sequence[int]) -> Mapping[str, NDArray[Any]]:
        return {"goal": np.array([seed % 7 + 1 for seed in seeds])}

    def make(self) -> Field:
        return Field()

    def begin(self, environment: Field, state: Mapping[str, Any], rng: np.random.Generator) -> NDArray[np.float64]:
        if state["goal"] < 0:
            raise ValueError("the goal lies behind the start")
        environment.position, environment.goal, environment.rng = 0, state["goal"], rng
        return environment.observed()

    def step(self, environment: Field, prediction: Any) -> tuple[NDArray[np.float64], float, bool, bool]:
        assert environment.rng is not None
        environment.position += int(prediction) + int(environment.rng.integers(-1, 2))
        if environment.position == self.trap:
            raise RuntimeError("there is a hole in the ground")
        over = environment.position >= environment.goal or environment.position <= -3
        return environment.observed(), float(environment.position), over, False

    def won(self, environment: Field, ending: Ending) -> bool:
        return ending.terminated and environment.position >= environment.goal


def onward(observations: NDArray[np.float64]) -> NDArray[np.int64]:
    """Walk on, but wait at every third place."""
    return (observations[:, 0] % 3 != 2).astype(np.int64)
