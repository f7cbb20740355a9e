"""Games, Gymnasium environments.

Initial states of a game as inputs, and playing the game from them with the model as the policy.

Any environment of Gymnasium as a game whose states are seeds; Gymnasium is imported when it is first needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, UsageError
from isonomia.populations.columns import column_from
from isonomia.populations.domains.playing import Benches, Ending, State, first_observations, played
from isonomia.populations.domains.protocol import Ask, Function
from isonomia.populations.domains.tables import TableDomain, TableRecords
from isonomia.populations.table import Table

__all__ = ["Environment", "Game", "Games", "StateChange", "made"]


Changed: TypeAlias = Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class StateChange:
    """A way to change a state, such as making a game easier.

    Attributes
    ----------
    call
        Takes a state, further arguments as many as ``arguments`` says, and where it is random a generator. It gives the
        features that change, or ``None`` where the state cannot be changed so; such a case is turned away and counted.
    arguments
        How many further arguments a specification writes.
    random
        Whether it draws.
    """

    call: Callable[..., Changed]
    arguments: int = 0
    random: bool = False


class Game(Protocol):
    """One kind of environment. States are named numbers; everything that a game begins with is in its state."""

    @property
    def steps(self) -> int:
        """How many steps a game has at most; one that is not over by then ends there."""
        ...

    @property
    def changes(self) -> Mapping[str, StateChange]:
        """How states can be changed, by the names that a specification calls: ``relax``, ``unrelax``."""
        ...

    def states(self, seeds: Sequence[int]) -> Mapping[str, NDArray[Any]]:
        """The states that these seeds stand for, in columns."""
        ...

    def make(self) -> Any:
        """An environment, used for one game after the other."""
        ...

    def begin(self, environment: Any, state: State, rng: np.random.Generator) -> Any:
        """Put an environment into a state and give the first observation; what is random later comes from ``rng``."""
        ...

    def step(self, environment: Any, prediction: Any) -> tuple[Any, float, bool, bool]:
        """Do what the policy predicts: the next observation, the reward, and whether it terminated or was truncated."""
        ...

    def won(self, environment: Any, ending: Ending) -> bool:
        """Whether a game that is over was won."""
        ...


@dataclass(frozen=True, slots=True)
class _Shared:
    """What the functions of one domain share."""

    game: Game
    benches: Benches
    names: tuple[str, ...]
    domain: TableDomain = field(repr=False)

    def states(self, records: TableRecords) -> list[State]:
        columns = [self.domain.column(records, name).tolist() for name in self.names]
        return [dict(zip(self.names, row, strict=True)) for row in zip(*columns, strict=True)]


def Games(  # noqa: N802  (a kind of domain, named like the others)
    game: Game,
    states: object = None,
    *,
    seeds: Sequence[int] | int | None = None,
    workers: int = 1,
    functions: Mapping[str, Function] | None = None,
) -> TableDomain:
    """Initial states of a game as the inputs of a k-safety property, the model being the policy.

    The features of a state are its numbers, by name. ``play(s, seed)`` plays a game from a state and gives 1 if it is
    won and 0 if it is lost; whatever is random in it comes from the seed, so that two games with the same seed differ
    by their states only. All games that wait are played step by step together, and the policy is asked once a step.
    ``predict(s)`` is what the policy does first. Each way to change a state is a function too.

    Parameters
    ----------
    game
        How an environment is put into a state, stepped, and judged.
    states
        The states: any table that a census takes, with a column for each number.
    seeds
        Instead of states: those that a game begins with at these seeds, or at the seeds from 0 up to a number.
    workers
        Processes that step environments. It changes nothing but the time.
    functions
        What a specification may call besides.

    Raises
    ------
    UsageError
        Where neither states nor seeds came, or both.
    DataError
        Where the states lack a number that the game begins with.
    """
    if (states is None) == (seeds is None):
        raise UsageError("expected either the states of the games or seeds that stand for them: states=..., seeds=...")
    if seeds is not None:
        states = game.states(list(range(seeds)) if isinstance(seeds, int) else [int(seed) for seed in seeds])
    table = Table.of(states)
    lacking = [name for name in game.states([0]) if name not in table.names]
    if lacking:
        raise DataError(f"expected states with {', '.join(game.states([0]))}, but these have no {lacking[0]!r}")
    plain = TableDomain(table)
    shared = _Shared(game, Benches(game, workers), table.names, plain)
    offered = {name: _changing(shared, name, change) for name, change in game.changes.items()}
    offered["play"] = Function(partial(_play, shared), 2, "number", asks=True)
    view = partial(first_observations, game)
    return replace(plain, functions={**offered, **(functions or {})}, name="the games", view=view, what="state")


def _changing(shared: _Shared, name: str, change: StateChange) -> Function:
    return Function(partial(_change, shared, name, change), 1 + change.arguments, "record", random=change.random)


def _change(shared: _Shared, name: str, change: StateChange, records: TableRecords, *columns: NDArray[Any]) -> Any:
    """Change every state; one that cannot be changed stays as it is and is marked."""
    if not isinstance(records, TableRecords):
        raise DataError(f"{name}(...) takes a state first, such as an input")
    rows = zip(*(column.tolist() for column in columns), strict=True) if columns else [()] * len(records)
    made: list[Mapping[str, Any]] = []
    none = np.zeros(len(records), dtype=bool)
    for number, (state, row) in enumerate(zip(shared.states(records), rows, strict=True)):
        arguments = (*row[:-1], np.random.default_rng(row[-1])) if change.random else row
        found = change.call(state, *arguments)
        none[number] = found is None
        made.append(state if found is None else {**state, **found})
    return TableRecords(records.rows, {**records.changed, **_columns(shared, name, made)}), none


def _columns(shared: _Shared, name: str, states: list[Mapping[str, Any]]) -> dict[str, NDArray[Any]]:
    new = set().union(*states) - set(shared.names)
    if new:
        raise DataError(f"{name}(...) set {sorted(new)[0]!r}, but a state has {', '.join(shared.names)}")
    return {key: column_from([state[key] for state in states], f"{name}(...)") for key in shared.names}


def _play(shared: _Shared, records: Any, seeds: NDArray[Any], ask: Ask) -> tuple[NDArray[Any], NDArray[Any] | None]:
    if not isinstance(records, TableRecords):
        raise DataError("play(state, seed) takes a state first and a whole number then")
    if seeds.dtype.kind not in "iu" or (seeds < 0).any():
        raise DataError(f"play(...) takes a seed from 0 on, a whole number, but {seeds.tolist()[0]!r} came")
    return played(shared.benches, shared.states(records), [int(seed) for seed in seeds.tolist()], ask)


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
