"""Initial states of a game as inputs, and games played from them with the model as the policy.

A game is a Gymnasium environment or anything with the methods of :class:`Game`. Many games are played in lockstep: the
policy is asked once per step, about all games that are not over. Gymnasium is imported when first needed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, UsageError
from isonomia.populations.domains.protocol import Ask, Function, as_function
from isonomia.populations.domains.tables import TableDomain, TableRecords
from isonomia.populations.table import Table, batch_table, column_from

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

State: TypeAlias = Mapping[str, Any]
"""A state: its numbers by name."""


class Game(Protocol):
    """One kind of environment. States are named numbers, which determine the start of a game completely.

    If its ``continuous`` is true, actions are several numbers: the policy gives an array with a row for each game, and
    ``step`` gets that row as a tuple.
    """

    @property
    def steps(self) -> int:
        """How many steps a game has at most; a game that is not over by then is truncated."""

    @property
    def changes(self) -> Mapping[str, StateChange]:
        """How states can be changed, by the names that a specification uses: ``relax``, ``unrelax``."""

    def states(self, seeds: Sequence[int]) -> Mapping[str, NDArray[Any]]:
        """The states that these seeds stand for, in columns."""

    def make(self) -> Any:
        """A new environment, which is used for one game after the other."""

    def begin(self, environment: Any, state: State, rng: np.random.Generator) -> Any:
        """Put an environment into a state and return the first observation; later randomness comes from ``rng``."""

    def step(self, environment: Any, prediction: Any) -> tuple[Any, float, bool, bool]:
        """Take the predicted action; returns observation, reward, and whether the game terminated or was truncated."""

    def won(self, environment: Any, ending: Ending) -> bool:
        """Whether a game that is over was won."""


@dataclass(frozen=True, slots=True)
class StateChange:
    """A way to change a state, such as making a game easier.

    Attributes
    ----------
    call
        Takes a state, ``arguments`` further arguments, and a generator if it is random. It returns the features that
        change, or ``None`` if the state cannot be changed that way; such a case is rejected and counted.
    arguments
        How many further arguments a specification writes.
    random
        Whether it is random.
    """

    call: Callable[..., Mapping[str, Any] | None]
    arguments: int = 0
    random: bool = False


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


def Games(  # noqa: N802  (a kind of domain, named like the others)
    game: Game,
    states: object = None,
    *,
    seeds: Sequence[int] | int | None = None,
    workers: int = 1,
    functions: Mapping[str, Any] | None = None,
) -> TableDomain:
    """Initial states of a game as the inputs of a k-safety property; the model is the policy.

    The features of a state are its numbers, by name. ``play(s, seed)`` plays a game from a state and gives 1 if it is
    won and 0 if it is lost; all its randomness comes from the seed, so that two games with the same seed differ only in
    their states. ``reward(s, seed)`` plays the same game and gives the sum of its rewards, its return, and
    ``last_reward(s, seed)`` the last of them. Games are played together, step by step, and the policy is asked once per
    step. ``predict(s)`` is the policy's first action. Each way to change a state is a function, too.

    Parameters
    ----------
    game
        How an environment is put into a state, stepped, and judged.
    states
        The states: any table that a census takes, with a column for each number.
    seeds
        Instead of states: the game's initial states for these seeds, or for the seeds from 0 up to a number.
    workers
        The number of processes that step environments. It changes only the time taken.
    functions
        Further functions that a specification may call: Python functions of one state, or a ``Function`` for whole
        batches.

    Raises
    ------
    UsageError
        If neither states nor seeds are given, or both.
    DataError
        If the states lack a number that the game needs.
    """
    if (states is None) == (seeds is None):
        raise UsageError("expected either the states of the games or seeds that stand for them: states=..., seeds=...")
    if seeds is not None:
        states = game.states(list(range(seeds)) if isinstance(seeds, int) else [int(seed) for seed in seeds])
    table = Table.of(states)
    lacking = [name for name in game.states([0]) if name not in table.names]
    if lacking:
        raise DataError(
            f"expected states with {', '.join(game.states([0]))}, but these have no {lacking[0]!r}", name=lacking[0]
        )
    plain = TableDomain(table)
    offered = {
        name: Function(partial(_change, plain, name, change), 1 + change.arguments, "record", random=change.random)
        for name, change in game.changes.items()
    }
    pool = EnvironmentPool(game, workers)
    for name in RESULTS:
        offered[name] = Function(partial(_play, plain, pool, name), 2, "number", asks=True)
    view = partial(_first_observations, game)
    brought = {name: as_function(value) for name, value in (functions or {}).items()}
    continuous = bool(getattr(game, "continuous", False))
    functions = {**offered, **brought}
    return replace(plain, functions=functions, name="the games", view=view, what="state", continuous=continuous)


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment by its name in Gymnasium. A state is a seed: the environment is reset with it.

    Later randomness comes from the seed of ``play``. If a state should be more than a seed, for example one that can be
    made easier, write your own class with the same methods.

    Attributes
    ----------
    name
        For example ``"CartPole-v1"``.
    win
        The least sum of rewards that counts as won.
    steps
        How many steps a game has at most.
    actions
        The action for each prediction, counted from 0; by default the prediction itself.
    options
        Further options of the environment.
    changes
        How seeds can be changed; usually not at all.
    continuous
        Whether an action is several numbers, as in BipedalWalker; then the policy gives a row of them for each game.
    """

    name: str
    win: float
    steps: int = 1000
    actions: Sequence[Any] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    changes: Mapping[str, StateChange] = field(default_factory=dict)
    continuous: bool = False

    def states(self, seeds: Sequence[int]) -> Mapping[str, NDArray[Any]]:
        """The seeds themselves."""
        return {"seed": np.array(list(seeds), dtype=np.int64)}

    def make(self) -> Any:
        """The environment."""
        return make_environment(self.name, "gymnasium", self.options)

    def begin(self, environment: Any, state: State, rng: np.random.Generator) -> Any:
        """Reset with the seed that is the state, then continue with the generator."""
        observation, _ = environment.reset(seed=int(state["seed"]))
        environment.np_random = rng
        return observation

    def step(self, environment: Any, prediction: Any) -> tuple[Any, float, bool, bool]:
        """Take the action that the prediction stands for."""
        if self.continuous:
            action: Any = np.asarray(prediction, dtype=np.float32)
        else:
            action = prediction if self.actions is None else self.actions[int(prediction)]
        observation, reward, terminated, truncated, _ = environment.step(action)
        return observation, float(reward), bool(terminated), bool(truncated)

    def won(self, environment: Any, ending: Ending) -> bool:  # noqa: ARG002
        """Whether the rewards add up to enough."""
        return ending.total >= self.win


def make_environment(name: str, package: str, options: Mapping[str, Any]) -> Any:
    """A Gymnasium environment without its wrappers."""
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


def _states(names: Sequence[str], column: Callable[[str], NDArray[Any]]) -> list[State]:
    """The states whose numbers are in columns."""
    columns = [column(name).tolist() for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _change(domain: TableDomain, name: str, change: StateChange, records: TableRecords, *columns: NDArray[Any]) -> Any:
    """Change every state; one that cannot be changed stays as it is and is marked."""
    if not isinstance(records, TableRecords):
        raise DataError(f"{name}(...) takes a state first, such as an input", name=name)
    rows = zip(*(column.tolist() for column in columns), strict=True) if columns else [()] * len(records)
    states: list[Mapping[str, Any]] = []
    none = np.zeros(len(records), dtype=bool)
    before = _states(domain.whole.names, partial(domain.column, records))
    for number, (state, row) in enumerate(zip(before, rows, strict=True)):
        arguments = (*row[:-1], np.random.default_rng(row[-1])) if change.random else row
        features = change.call(state, *arguments)
        none[number] = features is None
        states.append(state if features is None else {**state, **features})
    return TableRecords(records.rows, {**records.changed, **_columns(domain.whole.names, name, states)}), none


def _columns(names: Sequence[str], name: str, states: list[Mapping[str, Any]]) -> dict[str, NDArray[Any]]:
    new = set().union(*states) - set(names)
    if new:
        raise DataError(f"{name}(...) set {sorted(new)[0]!r}, but a state has {', '.join(names)}")
    return {key: column_from([state[key] for state in states], f"{name}(...)") for key in names}


def _play(
    domain: TableDomain, pool: EnvironmentPool, name: str, records: Any, seeds: NDArray[Any], ask: Ask
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    if not isinstance(records, TableRecords):
        raise DataError(f"{name}(state, seed) takes a state first and a whole number then", name=name)
    if seeds.dtype.kind not in "iu" or (seeds < 0).any():
        raise DataError(f"{name}(...) takes a whole number of at least 0 as seed, but got {seeds.tolist()[0]!r}")
    states = _states(domain.whole.names, partial(domain.column, records))
    return _play_all(pool, name, states, [int(seed) for seed in seeds.tolist()], ask)


def _play_all(
    pool: EnvironmentPool, name: str, states: Sequence[State], seeds: Sequence[int], ask: Ask
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Play a game from each state; returns what is asked of each, and why there is nothing."""
    ended: list[Outcome | str] = []
    for start in range(0, len(states), TOGETHER):
        stop = start + TOGETHER
        ended += _lockstep(pool, states[start:stop], seeds[start:stop], ask)
    place = RESULTS.index(name)
    results = np.array([0 if isinstance(end, str) else end[place] for end in ended])
    why = [end if isinstance(end, str) else None for end in ended]
    return results, np.fromiter(why, dtype=object, count=len(why)) if any(why) else None


def _lockstep(pool: EnvironmentPool, states: Sequence[State], seeds: Sequence[int], ask: Ask) -> list[Outcome | str]:
    observations, over = pool.begin(states, seeds)
    ended = dict(over)
    playing = [number for number in range(len(states)) if number not in ended]
    while playing:
        predictions, why = ask(_observed(observations))
        if why is not None:
            ended |= {number: reason for number, reason in zip(playing, why, strict=True) if reason is not None}
        going = [index for index, number in enumerate(playing) if number not in ended]
        answers = predictions.tolist()
        observations, over = pool.step([playing[index] for index in going], [answers[index] for index in going])
        ended |= over
        playing = [number for number in playing if number not in ended]
    return [ended[number] for number in range(len(states))]


def _observed(rows: NDArray[Any]) -> Table:
    """What the policy is given: an array with a row for each game, whatever an observation is made of."""
    return Table.of(rows) if rows.ndim == 2 else batch_table(rows, "observation")


def _first_observations(game: Any, rows: Table) -> Table:
    """What the policy is given for initial states."""
    environment, states = game.make(), _states(rows.names, rows.column)
    return _observed(np.array([np.copy(game.begin(environment, state, np.random.default_rng(0))) for state in states]))


RESULTS = ("play", "reward", "last_reward")
"""What a specification may ask of a game."""

Outcome: TypeAlias = tuple[int, float, float]
"""What they are: 1 if it was won and 0 if not, the sum of its rewards, and the last."""

Ended: TypeAlias = dict[int, Outcome | str]
"""Games that are over: the outcome of each, or in words why it is unknown."""

TOGETHER = 1024
"""The maximum number of games that are played side by side."""

WORTH_SHARING = 16
"""With fewer games per process than this, communication costs more than it saves."""


@dataclass(slots=True)
class EnvironmentPool:
    """Environments in this process, or spread over several others; opened when first needed.

    With several workers, the game must be picklable.
    """

    game: Any
    workers: int = 1
    _local: VectorEnvironment | None = None
    _processes: list[ProcessPoolExecutor] = field(default_factory=list)
    _spread: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.workers, bool) or not isinstance(self.workers, int) or self.workers < 1:
            raise UsageError(f"expected workers, a number of processes from 1 on, but got workers={self.workers!r}")

    def begin(self, states: Sequence[State], seeds: Sequence[int]) -> tuple[NDArray[Any], Ended]:
        """Begin games, as :meth:`VectorEnvironment.begin` does."""
        self._spread = self.workers > 1 and len(states) >= WORTH_SHARING * self.workers
        if not self._spread:
            self._local = self._local or VectorEnvironment(self.game)
            return self._local.begin(states, seeds)
        self._open_workers()
        futures = [
            worker.submit(_begin, states[first :: self.workers], seeds[first :: self.workers])
            for first, worker in enumerate(self._processes)
        ]
        return self._gathered(futures, [list(range(w, len(states), self.workers)) for w in range(self.workers)])

    def _open_workers(self) -> None:
        """Open one process for each worker, so that a game is always stepped where it began."""
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        while len(self._processes) < self.workers:
            # Spawned, not forked, since threads may be running.
            self._processes.append(ProcessPoolExecutor(1, get_context("spawn"), _open, (self.game,)))

    def step(self, numbers: Sequence[int], predictions: Sequence[Any]) -> tuple[NDArray[Any], Ended]:
        """Take one step in some games, as :meth:`VectorEnvironment.step` does."""
        if not self._spread and self._local is not None:
            return self._local.step(numbers, predictions)
        shares = [[i for i, number in enumerate(numbers) if number % self.workers == w] for w in range(self.workers)]
        futures = [
            worker.submit(_step, [numbers[i] // self.workers for i in share], [predictions[i] for i in share])
            for worker, share in zip(self._processes, shares, strict=True)
        ]
        return self._gathered(futures, [[numbers[i] for i in share] for share in shares])

    def _gathered(self, futures: list[Future[Any]], shares: list[list[int]]) -> tuple[NDArray[Any], Ended]:
        """The workers' results, in the order of the games."""
        parts, numbers = [], []
        ended: Ended = {}
        for worker, (future, share) in enumerate(zip(futures, shares, strict=True)):
            observations, over = future.result()
            ended |= {local * self.workers + worker: how for local, how in over.items()}
            if len(observations):
                parts.append(observations)
                numbers += [number for number in share if number not in ended]
        return (np.concatenate(parts)[np.argsort(numbers)] if parts else np.array([])), ended


@dataclass(slots=True)
class VectorEnvironment:
    """Environments side by side, each used for one game after the other.

    Games share nothing, so it does not matter in which environment a game is played.
    """

    game: Any
    environments: list[Any] = field(default_factory=list)
    totals: list[float] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)

    def begin(self, states: Sequence[State], seeds: Sequence[int]) -> tuple[NDArray[Any], Ended]:
        """Begin a game from each state; returns the first observations, and the games that could not begin."""
        while len(self.environments) < len(states):
            self.environments.append(self.game.make())
        self.totals, self.steps = [0.0] * len(states), [0] * len(states)
        observations: list[Any] = []
        ended: Ended = {}
        for number, (state, seed) in enumerate(zip(states, seeds, strict=True)):
            rng = np.random.default_rng(seed)
            try:
                observations.append(self.game.begin(self.environments[number], state, rng))
            except Exception as error:  # whatever an environment raises is reported
                ended[number] = _reason(error)
        return np.array(observations), ended

    def step(self, numbers: Sequence[int], predictions: Sequence[Any]) -> tuple[NDArray[Any], Ended]:
        """Take one step in some games; returns the observations of those that go on, in order, and those that ended."""
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
                ended[number] = int(bool(self.game.won(environment, ending))), float(ending.total), float(reward)
            except Exception as error:
                ended[number] = _reason(error)
        return np.array(observations), ended


def _reason(error: Exception) -> str:
    """Why a game was neither won nor lost."""
    return f"the game raised {type(error).__name__}: {error}"


_OPENED: list[VectorEnvironment] = []
"""The environments of a worker process."""


def _open(game: Any) -> None:
    _OPENED[:] = [VectorEnvironment(game)]
    Thread(target=_leave_with_the_parent, daemon=True).start()


def _leave_with_the_parent() -> None:
    """Exit when the parent is killed, instead of waiting for games forever."""
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _begin(states: Sequence[State], seeds: Sequence[int]) -> tuple[NDArray[Any], Ended]:
    return _OPENED[0].begin(states, seeds)


def _step(numbers: Sequence[int], predictions: Sequence[Any]) -> tuple[NDArray[Any], Ended]:
    return _OPENED[0].step(numbers, predictions)
