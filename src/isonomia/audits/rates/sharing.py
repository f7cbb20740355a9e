"""Many checks of one population and one model: people are drawn once, and the model is asked about each of them once.

A pool is an endless row of people, numbered from 0, in blocks. Every check that draws from it sees the same people in
the same order, each check as many as it needs. The guarantee of each verdict is untouched: to every single check the
draws are as good as its own. What is true of all verdicts together follows by adding their risks, which needs no
independence.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.rates.asking import Asker, Memory
from isonomia.engine.seeds import batch_rng, root
from isonomia.models.protocol import Answer, Model
from isonomia.populations.joining import joined
from isonomia.populations.protocol import Population, Source
from isonomia.populations.table import Table
from isonomia.spec.tree import Value

__all__ = ["Pool", "Shared", "Sharing"]

FIRST, LARGEST = 64, 2**13
"""The size of the first block; each later one is as large as all before it together, up to the largest."""

KEPT = 128
"""Blocks of people that are kept; others are drawn again when somebody needs them, and come out the same."""


@dataclass(slots=True)
class _Answered:
    """What the model said about the first people of a block."""

    rows: int = 0
    prediction: list[NDArray[Any]] = field(default_factory=list)
    score: list[NDArray[np.float64]] = field(default_factory=list)
    classes: tuple[Value, ...] = ()


@dataclass(slots=True)
class Pool:
    """People and answers that several checks share.

    Attributes
    ----------
    source
        Where people are drawn, one stream of them as they are.
    asker
        Who is asked about them; ``None`` where no check asks a model.
    seed
        The seed of the draws.
    want_prediction, want_score
        What the checks want of the model, all of them together, so that it is asked once.
    """

    source: Source
    asker: Asker | None
    seed: int
    want_prediction: bool = True
    want_score: bool = False
    _blocks: OrderedDict[int, Table] = field(default_factory=OrderedDict, repr=False)
    _answers: dict[int, _Answered] = field(default_factory=dict, repr=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def people(self, start: int, n: int) -> Table:
        """The people numbered from ``start`` up to ``start + n``, or what is left of them."""
        with self._lock:
            parts = [self._block(number).slice(first, last) for number, first, last in _parts(start, n)]
            found = [part for part in parts if part.rows]
            return joined(found) if found else parts[0]

    def answer(self, start: int, n: int) -> Answer:
        """What the model says about them; it is asked about those of whom nobody asked before."""
        with self._lock:
            parts = [self._answered(number, first, last) for number, first, last in _parts(start, n)]
        found = [part for part in parts if part is not None]
        return Answer(
            np.concatenate([part.prediction for part in found if part.prediction is not None])
            if self.want_prediction
            else None,
            np.concatenate([part.score for part in found if part.score is not None]) if self.want_score else None,
            found[0].classes,
        )

    def _block(self, number: int) -> Table:
        found = self._blocks.get(number)
        if found is None:
            start, stop = _edges(number)
            rng = batch_rng(self.seed, number, 0)
            found = self._blocks[number] = self.source.batch(start, stop - start, rng)
            while len(self._blocks) > KEPT:
                self._blocks.popitem(last=False)
        self._blocks.move_to_end(number)
        return found

    def _answered(self, number: int, first: int, last: int) -> Answer | None:
        known, block = self._answers.setdefault(number, _Answered()), self._block(number)
        last = min(last, block.rows)
        if last > known.rows:
            assert self.asker is not None
            new = self.asker(block.slice(known.rows, last), self.want_score, self.want_prediction)
            known.rows, known.classes = last, new.classes
            if new.prediction is not None:
                known.prediction[:] = [np.concatenate([*known.prediction, new.prediction])]
            if new.score is not None:
                known.score[:] = [np.concatenate([*known.score, new.score])]
        if last <= first:
            return None
        return Answer(
            known.prediction[0][first:last] if known.prediction else None,
            known.score[0][first:last] if known.score else None,
            known.classes,
        )


@dataclass(slots=True)
class Shared:
    """One check's way to a pool: it draws like a source, and asks like an asker.

    It is used by one check at a time. What it is asked about must be what it drew last; anything else goes to the model
    itself.
    """

    pool: Pool
    _drawn: tuple[Table, int] | None = field(default=None, repr=False)

    @property
    def finite(self) -> bool:
        """Whether the people come to an end."""
        return self.pool.source.finite

    @property
    def model(self) -> Model:
        """Who is asked in the end."""
        assert self.pool.asker is not None
        return self.pool.asker.model

    def batch(self, start: int, n: int, rng: np.random.Generator, stream: int = 0) -> Table:  # noqa: ARG002
        """The next people; their randomness is the pool's own."""
        table = self.pool.people(start, n)
        self._drawn = table, start
        return table

    def __call__(self, table: Table, want_score: bool, want_prediction: bool) -> Answer:
        """What the model says about the people drawn last."""
        if self._drawn is None or self._drawn[0] is not table:
            assert self.pool.asker is not None
            return self.pool.asker(table, want_score, want_prediction)
        answer = self.pool.answer(self._drawn[1], table.rows)
        return Answer(
            answer.prediction if want_prediction else None,
            answer.score if want_score else None,
            answer.classes if want_score else (),
        )

    def close(self) -> None:
        """Nothing: the pool may serve others."""


@dataclass(slots=True)
class Sharing:
    """What the checks of one population and one model have in common, opened when the first of them needs it.

    Attributes
    ----------
    population, model, seed, workers
        As every one of the checks has them.
    want_prediction, want_score
        What they want of the model, all of them together.
    """

    population: Population
    model: Model | None
    seed: int
    workers: int
    want_prediction: bool
    want_score: bool
    memory: Memory = field(init=False, repr=False)
    _pool: Pool | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self.memory = Memory(self.want_prediction, self.want_score)

    def shared(self) -> Shared:
        """A way to the pool for one check."""
        if self._pool is None:
            asker = None if self.model is None else Asker(self.model, self.workers)
            source = self.population.open(root(self.seed))
            self._pool = Pool(source, asker, self.seed, self.want_prediction, self.want_score)
        return Shared(self._pool)


def _edges(number: int) -> tuple[int, int]:
    """The first person of a block, and the one after its last."""
    doubling = int(np.log2(LARGEST // FIRST))
    if number == 0:
        return 0, FIRST
    if number <= doubling:
        return FIRST * 2 ** (number - 1), FIRST * 2**number
    start = LARGEST * (number - doubling)
    return start, start + LARGEST


def _parts(start: int, n: int) -> list[tuple[int, int, int]]:
    """Which blocks some people are in, and where in each."""
    number = 0
    if start >= LARGEST:
        number = start // LARGEST + int(np.log2(LARGEST // FIRST))
    elif start >= FIRST:
        number = int(np.log2(start // FIRST)) + 1
    parts, left = [], n
    while left > 0:
        first, stop = _edges(number)
        last = min(start + left, stop)
        parts.append((number, start - first, last - first))
        left -= last - start
        start, number = last, number + 1
    return parts
