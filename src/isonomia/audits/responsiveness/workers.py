"""What people can reach, listed and drawn by the workers of an executor.

Each worker has the rules, the people and the model once. It lists the moves of some starts, or draws and looks at the
points of a portion of people, and sends back counts. Both come out as they would in one process: the order of moves
does not depend on who else is in the batch, and every portion has randomness of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.answers import Asker
from isonomia.audits.responsiveness.points import TargetTest
from isonomia.engine.seeds import batch_rng
from isonomia.errors import IsonomiaError, UnreliableModelError, UsageError
from isonomia.executors import Pool, Shared
from isonomia.interventions import ReachableSets
from isonomia.interventions.blocks import Boxes, FeatureBlock
from isonomia.interventions.enumeration import Enumerated, enumerate_moves
from isonomia.models.meter import metering
from isonomia.models.parallel import borders
from isonomia.models.protocol import Model
from isonomia.models.steady import MAX_AGAIN, Handed, Steady
from isonomia.models.wrappers import watch_on

Indices: TypeAlias = NDArray[np.intp]
Floats: TypeAlias = NDArray[np.float64]

FEW_MOVES = 10_000.0
"""Fewer moves than this are listed here in less time than it takes to ask a worker."""


def enumerate_by_workers(pool: Pool, block: FeatureBlock, starts: Floats, most: int) -> Enumerated:
    """The moves of each start, as :func:`enumerate_moves` lists them.

    Whose moves are too many may depend on the order in which features are decided, and that on who else is in the
    batch. So workers get starts only where that cannot happen: where nobody's box has more than ``most`` points.
    """
    boxes = Boxes.of(block, starts)
    sizes = np.prod(boxes.high - boxes.low + 1.0, axis=1)
    if len(starts) < 2 or sizes.max(initial=0.0) > most or sizes.sum() < FEW_MOVES:
        return enumerate_moves(block, starts, most)
    edges = list(pairwise(borders(len(starts))))
    try:
        tasks = pool.begin(
            _list_moves,
            Shared((block, most), "the interventions"),
            [starts[first:last] for first, last in edges],
            [int(sizes[first:last].sum()) for first, last in edges],
        )
        parts: list[Enumerated] = list(tasks.results())
    except UsageError as error:
        pool.stay_here("what people can reach is listed", error)
        return enumerate_moves(block, starts, most)
    except UnreliableModelError:
        raise
    except IsonomiaError:
        return enumerate_moves(block, starts, most)  # unless it is a problem of the worker, it happens again here
    return Enumerated(np.concatenate([part.acted for part in parts]), np.concatenate([part.counts for part in parts]))


def _list_moves(told: tuple[FeatureBlock, int], starts: Floats) -> Enumerated:
    """What a worker does with some starts."""
    block, most = told
    return enumerate_moves(block, starts, most)


@dataclass(frozen=True, slots=True, eq=False)
class DrawnPortion:
    """The counts of a portion's points, where duplicates are looked for.

    Attributes
    ----------
    successes
        How many points of each person have the target prediction.
    distinct, alike
        How many different points there were, and whether looking for duplicates is worth it in the next portion.
    queries
        How many rows were sent to the model, and how many of them were second questions.
    handed
        What the watch on the model gets; ``None`` where it is not watched.
    """

    successes: Floats
    distinct: int
    alike: bool
    queries: tuple[int, int]
    handed: Handed | None


@dataclass(frozen=True, slots=True, eq=False)
class _ToldPoints:
    """What is sent to every worker once; the target comes without its asker."""

    sets: ReachableSets
    target: TargetTest
    model: Model
    watched: bool
    seed: int


@dataclass(slots=True, eq=False)
class PointWorkers:
    """Lets workers draw points and look at them.

    Attributes
    ----------
    pool, shared
        The workers, and what is sent to them once.
    """

    pool: Pool
    shared: Shared

    @classmethod
    def of(
        cls, pool: Pool | None, asker: Asker, sets: ReachableSets, target: TargetTest, seed: int
    ) -> PointWorkers | None:
        """Workers; ``None`` where there are none, where they share this process, and where there is a cache."""
        spread = asker.workers
        if pool is None or pool.executing.here or spread is None:
            return None
        if (watched := watch_on(asker.model)) is not None:
            watched.settle()  # the workers' own watches know nothing of an earlier run
        nobody: Any = None
        told = _ToldPoints(sets, replace(target, asker=nobody), spread.model, asker.model is not spread, seed)
        return cls(pool, Shared(told, spread.model.name))

    def drawn(self, portions: Sequence[tuple[Indices, int]], size: int, number: int) -> Iterator[DrawnPortion] | None:
        """``size`` draws for each person of some parts of a numbered round; ``None`` where workers cannot do it."""
        hands_over = -(-MAX_AGAIN // len(portions)) if self.shared.value.watched else 0
        items = [(who, size, number, part, hands_over) for who, part in portions]
        try:
            return self.pool.begin(
                _draw_portion, self.shared, items, [len(who) * size for who, _ in portions]
            ).results()
        except UsageError as error:
            self.pool.stay_here("points are drawn", error)
            return None


def _draw_portion(told: _ToldPoints, item: tuple[Indices, int, int, int, int]) -> DrawnPortion:
    """What a worker does with one portion."""
    who, size, number, part, hands_over = item
    watched = Steady(told.model, hands_over=hands_over) if hands_over else None
    asker = Asker(watched or told.model)
    target = replace(told.target, asker=asker, distinct=0, alike=told.watched)  # one at random may change its mind
    points = told.sets.sample(size, batch_rng(told.seed, number, part), who.tolist())
    with metering(None) as meter:
        hits = target(points)
    successes = hits.reshape(len(who), size).sum(axis=1).astype(np.float64)
    handed = None if watched is None else watched.handed()
    return DrawnPortion(successes, target.distinct, target.alike, meter.sent, handed)
