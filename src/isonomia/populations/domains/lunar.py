"""Gymnasium's LunarLander: its surface and its first push are the state, and the surface can be lowered or raised.

Lowering the surface gives the lander more time and more room, raising it gives less. The helipad stays where it is;
with ``flight=True``, states are landers in flight, and the helipad moves with a new random surface. The idea of
making a game easier by relaxing its initial state: Eniser, Gros, Wuestholz, Hoffmann, Christakis, "Metamorphic
Relations via Relaxations" (ISSTA 2022).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import hypot
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError
from isonomia.populations.domains.games import Ending, State, StateChange, make_environment

CORNERS = 12
"""The number of corners of the surface for which the game draws heights."""

PAD = slice(3, 8)
"""The corners at the height of the helipad."""

FREE = (0, 1, 2, 8, 9, 10, 11)
"""The corners that keep their heights; the others are at the height of the helipad."""

WIDE, HIGH = 600 / 30.0, 400 / 30.0
"""The view, which is 600 pixels wide and 400 high, at 30 pixels per unit."""

TOP = HIGH / 2
"""The greatest height of a corner: half of the view."""

LEG_DOWN = 18 / 30.0
FRAMES = 50
"""Frames per second."""

PUSH = 1000.0
"""The greatest force of the first push, in either direction."""

CRASH = -100
"""What the last step earns in a game that is lost."""

HEIGHTS = tuple(f"height_{corner}" for corner in FREE)
PUSHES = ("push_x", "push_y")
FLIGHT = (
    *("x", "y", "vx", "vy", "angle", "angular_velocity"),
    *("left_contact", "right_contact", "left_angle", "right_angle", "left_angular_velocity", "right_angular_velocity"),
    *("left_vx", "left_vy", "right_vx", "right_vy", "left_x", "left_y", "right_x", "right_y"),
    *(f"height_{corner}" for corner in range(CORNERS)),
)
"""The state of a lander in flight, in Box2D's units."""


@dataclass(frozen=True, slots=True)
class LunarLander:
    """LunarLander-v3 with four actions. A game is won if the lander stands at its end; it never does after a crash.

    ``relax(s)`` lowers the free corners of the surface by a random share of their heights, ``unrelax(s)`` raises them
    by a random share of the room above them; ``lowered(s, by)`` and ``raised(s, by)`` move all of them by ``by``, as
    far as they can go. A state whose surface cannot be moved that way is rejected. Everything else stays as it is.

    With ``flight=True``, ``relax(s)`` draws a helipad between a twelfth of the view's height and where it is, and
    ``unrelax(s)`` between where it is and a sixth of the view's height below the lander; both draw the free corners
    between 0 and twice the helipad, so that a corner may also move the other way.

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
    flight
        Whether a state is a lander in flight, the numbers of ``FLIGHT``. Then only a game that earns -100 is lost, by
        a crash or by leaving the view: a lander that hovers until the limit has won. These are the states, changes and
        wins of the k-safety paper (Christakis, Eniser, Hermanns, Hoffmann, Kothari, Li, Navas, Wüstholz 2023).
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    steps: int = 1000
    rest: bool = False
    flight: bool = False

    @property
    def changes(self) -> Mapping[str, StateChange]:
        """Lower and raise the surface."""
        if self.flight:
            return {
                "relax": StateChange(_lower_helipad, random=True),
                "unrelax": StateChange(_higher_helipad, random=True),
            }
        return {
            "relax": StateChange(_relaxed, random=True),
            "unrelax": StateChange(_unrelaxed, random=True),
            "lowered": StateChange(_lowered, arguments=1),
            "raised": StateChange(_raised, arguments=1),
        }

    def states(self, seeds: Sequence[int]) -> Mapping[str, NDArray[Any]]:
        """The initial state of an environment that is reset with each seed."""
        if self.flight:
            return _flights(self.make(), seeds)
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
        if self.flight:
            return _fly(environment, state, rng)
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
        if self.flight:
            return not ending.terminated or ending.last > CRASH
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


def _flights(environment: Any, seeds: Sequence[int]) -> dict[str, NDArray[Any]]:
    """What the game itself begins with, as landers in flight."""
    rows = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        heights = rng.uniform(0, TOP, size=CORNERS)
        heights[PAD] = HIGH / 4
        environment.np_random = _ScriptedGenerator([heights], rng)
        environment.reset()
        lander, legs = environment.lander, environment.legs
        bodies = [*lander.position, *lander.linearVelocity, lander.angle, lander.angularVelocity]
        bodies += [float(leg.ground_contact) for leg in legs]
        bodies += [leg.angle for leg in legs] + [leg.angularVelocity for leg in legs]
        bodies += [number for leg in legs for number in leg.linearVelocity]
        bodies += [number for leg in legs for number in leg.position]
        rows.append([*bodies, *heights])
    return dict(zip(FLIGHT, np.array(rows, dtype=float).reshape(-1, len(FLIGHT)).T, strict=True))


def _fly(environment: Any, state: State, rng: np.random.Generator) -> NDArray[np.float32]:
    """Reset with this surface and put the lander and its legs where they are, with the speed that they have."""
    heights = np.array([state[name] for name in FLIGHT[-CORNERS:]], dtype=float)
    pad = float(heights[PAD][0])
    environment.np_random = _ScriptedGenerator([heights.copy(), 0.0, 0.0], rng)
    environment.reset()
    environment.np_random = rng
    if pad != environment.helipad_y:
        _rebuild_surface(environment, heights)
    lander, legs = environment.lander, environment.legs
    for body, side in ((lander, ""), *zip(legs, ("left_", "right_"), strict=True)):
        body.position = (state[f"{side}x"], state[f"{side}y"])
        body.linearVelocity = (state[f"{side}vx"], state[f"{side}vy"])
        body.angle, body.angularVelocity = state[f"{side}angle"], state[f"{side}angular_velocity"]
        body.awake = True
    legs[0].ground_contact, legs[1].ground_contact = bool(state["left_contact"]), bool(state["right_contact"])
    x, y = 2 * state["x"] / WIDE - 1, (state["y"] - pad - LEG_DOWN) / TOP
    vx, vy = state["vx"] * WIDE / 2 / FRAMES, state["vy"] * TOP / FRAMES
    contacts = [float(leg.ground_contact) for leg in legs]
    # The first step earns the difference that it makes to this.
    environment.prev_shaping = -100 * (hypot(x, y) + hypot(vx, vy) + abs(state["angle"])) + 10 * sum(contacts)
    row = [x, y, vx, vy, state["angle"], 20 * state["angular_velocity"] / FRAMES, *contacts]
    return np.array(row, dtype=np.float32)


def _rebuild_surface(environment: Any, heights: NDArray[np.float64]) -> None:
    """The surface that the game builds of these heights, with another helipad than its own."""
    shape = type(environment.moon.fixtures[0].shape)
    environment.world.DestroyBody(environment.moon)
    environment.moon = environment.world.CreateStaticBody(shapes=shape(vertices=[(0, 0), (WIDE, 0)]))
    environment.moon.color1 = environment.moon.color2 = (0.0, 0.0, 0.0)
    corners = [
        (WIDE / (CORNERS - 2) * i, 0.33 * float(heights[i - 1] + heights[i] + heights[i + 1]))
        for i in range(CORNERS - 1)
    ]
    environment.sky_polys = []
    for left, right in pairwise(corners):
        environment.moon.CreateEdgeFixture(vertices=[left, right], density=0, friction=0.1)
        environment.sky_polys.append([left, right, (right[0], HIGH), (left[0], HIGH)])
    environment.helipad_y = float(heights[PAD][0])


def _lower_helipad(state: State, rng: np.random.Generator) -> dict[str, float] | None:
    return _with_helipad(HIGH / 12, _pad(state), rng)


def _higher_helipad(state: State, rng: np.random.Generator) -> dict[str, float] | None:
    return _with_helipad(_pad(state), state["y"] - HIGH / 6, rng)


def _pad(state: State) -> float:
    return float(state[f"height_{CORNERS // 2 - 1}"])


def _with_helipad(low: float, high: float, rng: np.random.Generator) -> dict[str, float] | None:
    """A new surface with a helipad between two heights; ``None`` where there is no room for one."""
    if high < low:
        return None
    pad = rng.uniform(low, high)
    heights = rng.uniform(0, 2 * pad, size=CORNERS)
    heights[PAD] = pad
    return dict(zip(FLIGHT[-CORNERS:], heights.tolist(), strict=True))


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
