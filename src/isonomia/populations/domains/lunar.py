"""Gymnasium's LunarLander: its surface and its first push are the state, and the surface can be lowered or raised.

Lowering the surface gives the lander more time and more room, raising it gives less. The helipad stays where it is.
The idea of making a game easier by relaxing its initial state: Eniser, Gros, Wuestholz, Hoffmann, Christakis,
"Metamorphic Relations via Relaxations" (ISSTA 2022).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError
from isonomia.populations.domains.games import Ending, State, StateChange, make_environment

CORNERS = 12
"""The number of corners of the surface for which the game draws heights."""

FREE = (0, 1, 2, 8, 9, 10, 11)
"""The corners that keep their heights; the others are at the height of the helipad."""

TOP = 400 / 30.0 / 2
"""The greatest height of a corner: half of the view, which is 400 pixels high, at 30 pixels per unit."""

PUSH = 1000.0
"""The greatest force of the first push, in either direction."""

HEIGHTS = tuple(f"height_{corner}" for corner in FREE)
PUSHES = ("push_x", "push_y")


@dataclass(frozen=True, slots=True)
class LunarLander:
    """LunarLander-v3 with four actions. A game is won if the lander stands at its end; it never does after a crash.

    ``relax(s)`` lowers the free corners of the surface by a random share of their heights, ``unrelax(s)`` raises them
    by a random share of the room above them; ``lowered(s, by)`` and ``raised(s, by)`` move all of them by ``by``, as
    far as they can go. A state whose surface cannot be moved that way is rejected. Everything else stays as it is.

    Attributes
    ----------
    options
        Further options of the environment, such as ``{"gravity": -8.0}``.
    steps
        How many steps a game has at most.
    rest
        Whether only a lander that has come to rest has won, at which the environment ends the game. Some policies never
        switch the engines off: unless ``rest`` is set, a lander with a leg on the ground after the last step has won,
        too.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    steps: int = 1000
    rest: bool = False

    @property
    def changes(self) -> Mapping[str, StateChange]:
        """Lower and raise the surface."""
        return {
            "relax": StateChange(_relaxed, random=True),
            "unrelax": StateChange(_unrelaxed, random=True),
            "lowered": StateChange(_lowered, arguments=1),
            "raised": StateChange(_raised, arguments=1),
        }

    def states(self, seeds: Sequence[int]) -> Mapping[str, NDArray[Any]]:
        """The initial state of an environment that is reset with each seed."""
        rows = [initial_state(np.random.default_rng(seed)) for seed in seeds]
        return {name: np.array([row[name] for row in rows]) for name in (*HEIGHTS, *PUSHES)}

    def make(self) -> Any:
        """The environment; the caller enforces the limit of steps."""
        if self.options.get("continuous"):
            raise UsageError(
                "expected LunarLander with its four actions, but options says continuous=True: leave it out",
                name="continuous",
            )
        environment = make_environment("LunarLander-v3", "gymnasium[box2d]", self.options)
        # The environment checks its action at every step, which would take a fifth of its time.
        environment.action_space = _FourActions()
        return environment

    def begin(self, environment: Any, state: State, rng: np.random.Generator) -> Any:
        """Reset with this surface and this push; the engines' randomness comes from the generator."""
        heights = np.zeros(CORNERS)  # the game itself levels the corners at the helipad
        heights[list(FREE)] = [state[name] for name in HEIGHTS]
        environment.np_random = _ScriptedGenerator([heights, *(float(state[name]) for name in PUSHES)], rng)
        observation, _ = environment.reset()
        environment.np_random = rng
        return observation

    def step(self, environment: Any, prediction: Any) -> tuple[Any, float, bool, bool]:
        """One of the four actions."""
        observation, reward, terminated, truncated, _ = environment.step(int(prediction))
        return observation, float(reward), bool(terminated), bool(truncated)

    def won(self, environment: Any, ending: Ending) -> bool:
        """Whether the lander stands."""
        if ending.terminated:
            return not environment.game_over and not environment.lander.awake
        return not self.rest and any(leg.ground_contact for leg in environment.legs)


def initial_state(rng: np.random.Generator) -> dict[str, float]:
    """The state that the game itself draws, by the same draws in the same order."""
    heights = rng.uniform(0, TOP, size=CORNERS)
    pushes = [rng.uniform(-PUSH, PUSH) for _ in PUSHES]
    values = [*heights[list(FREE)].tolist(), *pushes]
    return dict(zip((*HEIGHTS, *PUSHES), values, strict=True))


def _relaxed(state: State, rng: np.random.Generator) -> dict[str, float] | None:
    heights = _heights(state)
    return _moved(state, heights - np.maximum(heights, 0.0) * (1.0 - rng.random()))


def _unrelaxed(state: State, rng: np.random.Generator) -> dict[str, float] | None:
    heights = _heights(state)
    return _moved(state, heights + np.maximum(TOP - heights, 0.0) * (1.0 - rng.random()))


def _lowered(state: State, by: float) -> dict[str, float] | None:
    heights = _heights(state)
    return _moved(state, np.minimum(heights, np.maximum(heights - by, 0.0))) if by > 0 else None


def _raised(state: State, by: float) -> dict[str, float] | None:
    heights = _heights(state)
    return _moved(state, np.maximum(heights, np.minimum(heights + by, TOP))) if by > 0 else None


def _moved(state: State, heights: NDArray[np.float64]) -> dict[str, float] | None:
    """The new heights; ``None`` if they are the old ones."""
    return None if np.array_equal(_heights(state), heights) else dict(zip(HEIGHTS, heights.tolist(), strict=True))


def _heights(state: State) -> NDArray[np.float64]:
    return np.array([state[name] for name in HEIGHTS], dtype=np.float64)


@dataclass(slots=True)
class _ScriptedGenerator:
    """Replaces the generator while the game sets itself up: its first draws are given, further ones are random."""

    draws: list[Any]
    rng: np.random.Generator

    def uniform(self, low: float, high: float, size: Any = None) -> Any:
        """The next draw that was given."""
        return self.draws.pop(0) if self.draws else self.rng.uniform(low, high, size)

    def integers(self, *arguments: Any, **named: Any) -> Any:
        """Where the wind begins is random."""
        return self.rng.integers(*arguments, **named)


@dataclass(frozen=True, slots=True)
class _FourActions:
    """The part of an action space that the environment uses."""

    def contains(self, action: int) -> bool:
        """Whether it is one of the four."""
        return 0 <= action < 4
