"""Any environment of Gymnasium as a game whose states are seeds; Gymnasium is imported when it is first needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError
from isonomia.populations.domains.games import StateChange
from isonomia.populations.domains.turns import Ending, State

__all__ = ["Environment", "made"]


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment by its name in Gymnasium. A state is a seed: the environment is reset with it.

    What is random after that comes from the seed of ``play``. Where a state should be more than a seed, such as one
    that can be made easier, write a class of your own with the same methods.

    Attributes
    ----------
    name
        Such as ``"CartPole-v1"``.
    win
        The least sum of rewards that counts as won.
    steps
        How many steps a game has at most.
    actions
        What each prediction stands for, counted from 0; the prediction itself where nothing is given.
    options
        What else the environment is made with.
    changes
        How seeds can be changed; usually not at all.
    """

    name: str
    win: float
    steps: int = 1000
    actions: Sequence[Any] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    changes: Mapping[str, StateChange] = field(default_factory=dict)

    def states(self, seeds: Sequence[int]) -> Mapping[str, NDArray[Any]]:
        """The seeds themselves."""
        return {"seed": np.array(list(seeds), dtype=np.int64)}

    def make(self) -> Any:
        """The environment."""
        return made(self.name, "gymnasium", self.options)

    def begin(self, environment: Any, state: State, rng: np.random.Generator) -> Any:
        """Reset with the seed that is the state, then go on with the generator."""
        observation, _ = environment.reset(seed=int(state["seed"]))
        environment.np_random = rng
        return observation

    def step(self, environment: Any, prediction: Any) -> tuple[Any, float, bool, bool]:
        """Do what the prediction stands for."""
        action = prediction if self.actions is None else self.actions[int(prediction)]
        observation, reward, terminated, truncated, _ = environment.step(action)
        return observation, float(reward), bool(terminated), bool(truncated)

    def won(self, environment: Any, ending: Ending) -> bool:  # noqa: ARG002
        """Whether the rewards add up to enough."""
        return ending.total >= self.win


def made(name: str, package: str, options: Mapping[str, Any]) -> Any:
    """An environment without its wrappers.

    Raises
    ------
    UsageError
        Where Gymnasium, or what the environment needs besides, is not installed, or there is no such environment.
    """
    install = f"Install it: pip install 'isonomia[games]', or pip install '{package}'"
    try:
        import gymnasium
    except ImportError as error:
        raise UsageError(f"games need Gymnasium, which is not installed ({error}). {install}") from error
    try:
        return gymnasium.make(name, **options).unwrapped
    except gymnasium.error.DependencyNotInstalled as error:
        raise UsageError(f"{name} needs a package that is not installed ({error}). {install}") from error
    except (gymnasium.error.Error, TypeError) as error:
        raise UsageError(f"expected an environment of Gymnasium, but {name!r} cannot be made: {error}") from error
