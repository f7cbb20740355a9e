"""Many games in lockstep.

Stepping many environments of one game: what a worker does between two questions to the policy.

Playing many games in lockstep: the policy is asked once a step, about all games that are not over.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError
from isonomia.populations.domains.protocol import Ask
from isonomia.populations.table import Table, batch_table

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

__all__ = ["Bench", "Benches", "Ended", "Ending", "State", "first_observations", "observed", "played", "stacked"]


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


TOGETHER = 1024
"""How many games are played side by side."""

WORTH_SHARING = 16
"""Games for each process below which talking to processes costs more than it saves."""


@dataclass(slots=True)
class Benches:
    """Environments in this process, or shared out over several others; opened when they are first needed.

    Attributes
    ----------
    game
        What is played; it has to be one that can be pickled where there are several workers.
    workers
        How many processes.
    """

    game: Any
    workers: int = 1
    _here: Bench | None = None
    _away: list[ProcessPoolExecutor] = field(default_factory=list)
    _shared: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.workers, bool) or not isinstance(self.workers, int) or self.workers < 1:
            raise UsageError(f"expected workers, a number of processes from 1 on, but workers={self.workers!r} came")

    def begin(self, states: Sequence[State], seeds: Sequence[int]) -> tuple[NDArray[Any], Ended]:
        """Begin games, as :meth:`Bench.begin` does."""
        self._shared = self.workers > 1 and len(states) >= WORTH_SHARING * self.workers
        if not self._shared:
            self._here = self._here or Bench(self.game)
            return self._here.begin(states, seeds)
        self._open_away()
        places = range(self.workers)
        return self._joined(
            [
                worker.submit(_begin, states[place :: self.workers], seeds[place :: self.workers])
                for place, worker in zip(places, self._away, strict=True)
            ],
            [list(range(place, len(states), self.workers)) for place in places],
        )

    def _open_away(self) -> None:
        """One process for each worker, so that a game is always stepped where it began."""
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        while len(self._away) < self.workers:
            # Spawned and not forked, since threads may be running.
            self._away.append(ProcessPoolExecutor(1, get_context("spawn"), _open, (self.game,)))

    def step(self, numbers: Sequence[int], predictions: Sequence[Any]) -> tuple[NDArray[Any], Ended]:
        """Take one step in some games, as :meth:`Bench.step` does."""
        if not self._shared and self._here is not None:
            return self._here.step(numbers, predictions)
        shares = [[i for i, number in enumerate(numbers) if number % self.workers == w] for w in range(self.workers)]
        futures = [
            worker.submit(_step, [numbers[i] // self.workers for i in share], [predictions[i] for i in share])
            for worker, share in zip(self._away, shares, strict=True)
        ]
        return self._joined(futures, [[numbers[i] for i in share] for share in shares])

    def _joined(self, futures: list[Future[Any]], shares: list[list[int]]) -> tuple[NDArray[Any], Ended]:
        """What the workers found, in the order of the games."""
        parts, numbers = [], []
        ended: Ended = {}
        for worker, (future, share) in enumerate(zip(futures, shares, strict=True)):
            observations, over = future.result()
            ended |= {local * self.workers + worker: how for local, how in over.items()}
            if len(observations):
                parts.append(observations)
                numbers += [number for number in share if number not in ended]
        return (np.concatenate(parts)[np.argsort(numbers)] if parts else stacked([])), ended


def played(
    benches: Benches, states: Sequence[State], seeds: Sequence[int], ask: Ask
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Play a game from each state; gives 1 for a win and 0 for a loss, and why there is neither."""
    results: list[bool | str] = []
    for start in range(0, len(states), TOGETHER):
        stop = start + TOGETHER
        results += _lockstep(benches, states[start:stop], seeds[start:stop], ask)
    wins = np.array([int(result is True) for result in results])
    why = [result if isinstance(result, str) else None for result in results]
    return wins, np.fromiter(why, dtype=object, count=len(why)) if any(why) else None


def _lockstep(benches: Benches, states: Sequence[State], seeds: Sequence[int], ask: Ask) -> list[bool | str]:
    observations, over = benches.begin(states, seeds)
    ended = dict(over)
    playing = [number for number in range(len(states)) if number not in ended]
    while playing:
        predictions, why = ask(observed(observations))
        if why is not None:
            ended |= {number: reason for number, reason in zip(playing, why, strict=True) if reason is not None}
        going = [place for place, number in enumerate(playing) if number not in ended]
        answers = predictions.tolist()
        observations, over = benches.step([playing[place] for place in going], [answers[place] for place in going])
        ended |= over
        playing = [number for number in playing if number not in ended]
    return [ended[number] for number in range(len(states))]


def observed(rows: NDArray[Any]) -> Table:
    """What the policy is given: an array with a row for each game, whatever an observation is made of."""
    return Table.of(rows) if rows.ndim == 2 else batch_table(rows, "observation")


def first_observations(game: Any, rows: Table) -> Table:
    """What the policy is given of initial states."""
    environment, columns = game.make(), [rows.column(name).tolist() for name in rows.names]
    states = [dict(zip(rows.names, row, strict=True)) for row in zip(*columns, strict=True)]
    return observed(stacked([np.copy(game.begin(environment, state, np.random.default_rng(0))) for state in states]))


_BENCH: list[Bench] = []
"""The environments of a worker process."""


def _open(game: Any) -> None:
    _BENCH[:] = [Bench(game)]
    Thread(target=_leave_with_the_parent, daemon=True).start()


def _leave_with_the_parent() -> None:
    """A process whose parent was killed would wait for games for ever."""
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _begin(states: Sequence[State], seeds: Sequence[int]) -> tuple[NDArray[Any], Ended]:
    return _BENCH[0].begin(states, seeds)


def _step(numbers: Sequence[int], predictions: Sequence[Any]) -> tuple[NDArray[Any], Ended]:
    return _BENCH[0].step(numbers, predictions)
