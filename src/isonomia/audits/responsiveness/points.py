"""Which points have the target prediction. The model is queried about each different point once.

Pruning: reachable points are moved back towards the person's own values, as far as they keep the target.

What people can reach, listed and drawn by the workers of an executor.

Each worker has the rules, the people and the model once. It lists the moves of some starts, or draws and looks at the
points of a portion of people, and sends back counts. Both come out as they would in one process: the order of moves
does not depend on who else is in the batch, and every portion has randomness of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.engine.parameters import batch_rng
from isonomia.errors import IsonomiaError, ModelError, UnreliableModelError, UsageError
from isonomia.executors import Pool, TaskContext
from isonomia.interventions import Points, ReachableSets
from isonomia.interventions.blocks import Boxes, Enumerated, FeatureBlock, enumerate_moves
from isonomia.interventions.features import decoded
from isonomia.models.meter import metering
from isonomia.models.parallel import borders
from isonomia.models.protocol import Answer
from isonomia.models.session import ModelSession
from isonomia.models.steady import MAX_AGAIN, SteadinessReport
from isonomia.populations.table import Table, plain_value
from isonomia.spec.evaluate import Batch, truth
from isonomia.spec.responsiveness import OWN, OWN_SCORE
from isonomia.spec.tree import Row, columns_of, outputs_of

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

_ODD, _PRIME = np.uint64(0x9E3779B97F4A7C15), np.uint64(0x100000001B3)
"""Mix the bits of a hash: an odd number near 2**64 over the golden ratio, and the prime of FNV-1a."""
_ALIKE = 0.9
"""Where more than this share of many rows are different, looking for duplicates is no longer worth it."""
_ENOUGH = 10_000
"""How many points it takes to tell."""


@dataclass(slots=True, eq=False)
class TargetTest:
    """A target, the model, and the people as they are.

    Attributes
    ----------
    target, session
        The condition on a point, and the model.
    people, rows
        The people, and their row numbers in the population, for messages.
    own
        The model's answer for each of them as they are, as columns by the names that a target uses.
    profile
        A number for each person, the same for people who agree in everything that is not a feature.
    distinct
        How many rows the model was queried about.
    alike
        Whether it is worth looking for duplicate points.
    """

    target: Row
    session: ModelSession
    people: Table
    rows: NDArray[np.intp]
    own: dict[str, NDArray[Any]]
    profile: NDArray[np.intp]
    distinct: int = 0
    alike: bool = True

    def __call__(self, points: Points) -> NDArray[np.bool_]:
        """Whether each point has the target prediction."""
        answer, different, kind = self._different_answers(points)
        if self.own:  # the same point may be a success for one person and not for another
            return self._true_of(points, _spread(answer, kind))
        return np.asarray(self._true_of(different, answer)[kind])

    def answers(self, points: Points) -> tuple[NDArray[np.bool_], Answer]:
        """Whether each point has the target prediction, and the answers themselves."""
        answer, _, kind = self._different_answers(points)
        everything = _spread(answer, kind)
        return self._true_of(points, everything), everything

    def _different_answers(self, points: Points) -> tuple[Answer, Points, NDArray[np.intp]]:
        """The answers to the different points, these points, and which of them each point is."""
        different, kind = points, np.arange(len(points))
        if self.alike:
            first, kind = _distinct_rows(points.values, self.profile[points.owner])
            different = points.take(first)
            self.alike = len(points) < _ENOUGH or len(first) < _ALIKE * len(points)
        self.distinct += len(different)
        try:
            return self._ask(different), different, kind
        except UnreliableModelError:
            raise
        except ModelError as error:
            raise self._shown(different, error) from error

    def _ask(self, points: Points) -> Answer:
        outputs = {output.name for output in outputs_of(self.target)}
        return self.session(points.table(), "score" in outputs, "prediction" in outputs)

    def _true_of(self, points: Points, answer: Answer) -> NDArray[np.bool_]:
        names = columns_of(self.target)
        table = points.columns([name for name in names if name not in self.own] or list(points.people.names[:1]))
        columns: dict[str, Any] = {
            name: self.own[name][points.owner] if name in self.own else table.column(name) for name in names
        }
        batch = Batch(len(points), columns, answer.prediction, answer.score, answer.classes)
        return np.broadcast_to(truth(self.target, batch), (len(points),))

    def _shown(self, points: Points, error: ModelError) -> ModelError:
        """Halve the batch until one point is left that the model fails on, and show it."""
        bad = points
        while len(bad) > 1:
            middle = len(bad) // 2
            halves = [bad.take(np.arange(middle)), bad.take(np.arange(middle, len(bad)))]
            failing = next((half for half in halves if self._fails(half) is not None), None)
            if failing is None:
                return error  # it fails only on many rows together
            bad = failing
        again = self._fails(bad) or error
        row, changed = int(self.rows[bad.owner[0]]), changes_of(bad, self.people, 0)
        changes = ", ".join(f"{name}: {before!r} -> {after!r}" for name, (before, after) in changed.items())
        where = changes or "where they are"
        return ModelError(
            f"the model fails on a point that the person in row {row} can reach ({where}): {again} "
            f"The point: {bad.columns().row(0)!r}. If there can be no such point, add a constraint that forbids it."
        )

    def _fails(self, points: Points) -> IsonomiaError | None:
        try:
            self._ask(points)
        except UnreliableModelError:
            raise
        except ModelError as error:
            return error
        return None


def own_answers(target: Row, session: ModelSession, people: Table) -> dict[str, NDArray[Any]]:
    """The model's answers for people as they are, where a target uses them."""
    names = columns_of(target)
    own: dict[str, NDArray[Any]] = {}
    if OWN in names or OWN_SCORE in names:
        answer = session(people, OWN_SCORE in names, OWN in names)
        if OWN in names and answer.prediction is not None:
            own[OWN] = answer.prediction
        if OWN_SCORE in names and answer.score is not None:
            own[OWN_SCORE] = _one_score(answer.score, session)
    return own


def changes_of(points: Points, people: Table, index: int) -> dict[str, tuple[Any, Any]]:
    """The features in which a point differs from its person, each with both values."""
    changes: dict[str, tuple[Any, Any]] = {}
    for j, feature in enumerate(points.features):
        before = plain_value(people.column(feature.name)[points.owner[index]])
        if feature.kind != "categorical" and before == points.values[index, j]:
            continue  # a number is its own code: most features of a point are unchanged, and decoding takes time
        after = plain_value(decoded(feature, points.values[index : index + 1, j])[0])
        if before != after:
            changes[feature.name] = (before, after)
    return changes


def _one_score(score: NDArray[np.float64], session: ModelSession) -> NDArray[np.float64]:
    if score.ndim == 1:
        return score
    if score.shape[1] == 2:
        return np.asarray(score[:, 1])
    raise ModelError(f"{session.name} has {score.shape[1]} classes, so that own_score does not say which")


def _spread(answer: Answer, kind: NDArray[np.intp]) -> Answer:
    return Answer(
        None if answer.prediction is None else answer.prediction[kind],
        None if answer.score is None else answer.score[kind],
        answer.classes,
    )


def numbered(people: Table, names: Sequence[str]) -> tuple[tuple[tuple[Any, ...], ...], Indices]:
    """The different values of some columns in the order in which they occur, and which of them each person has."""
    columns = [[plain_value(value) for value in people.column(name)] for name in names]
    number_of: dict[tuple[Any, ...], int] = {}
    numbers = [number_of.setdefault(row, len(number_of)) for row in zip(*columns, strict=True)]
    return tuple(number_of), np.asarray(numbers, dtype=np.intp)


def _distinct_rows(values: Floats, code: Indices) -> tuple[Indices, Indices]:
    """The first of each distinct row, and which of these each row equals; ``code`` is one more number of each row.

    Rows are sorted by a 64-bit hash and then compared with the first of their kind; in the unlikely case that two
    different rows have the same hash, all rows count as different, which costs only time.
    """
    mixed = code.astype(np.uint64) * _ODD
    for column in (values + 0.0).T:  # adding 0.0 turns -0.0 into 0.0
        bits = np.ascontiguousarray(column).view(np.uint64)
        bits = (bits ^ (bits >> np.uint64(32))) * _ODD
        mixed = (mixed ^ bits ^ (bits >> np.uint64(29))) * _PRIME
    _, first, kind = np.unique(mixed, return_index=True, return_inverse=True)
    kind = kind.reshape(-1)
    same = (code == code[first][kind]) & (values == values[first][kind]).all(axis=1)
    if same.all():
        return first, kind
    everything = np.arange(len(code))
    return everything, everything


_VALUES = 16
"""How many values of a single feature are tried, evenly over what the person can reach."""
_HALVINGS = 12
"""How often the distance to a person's own value is halved."""


def joined(parts: Sequence[Points]) -> Points:
    """Points of the same people together."""
    owner, values = np.concatenate([part.owner for part in parts]), np.concatenate([part.values for part in parts])
    return Points(parts[0].features, parts[0].people, owner, values)


def single_changes(sets: ReachableSets, drawn: Points, who: NDArray[np.intp]) -> Points:
    """Points in which one feature is changed, or one block of coupled features as in a draw.

    A feature takes every value in the person's reach, or some evenly spaced ones.
    """
    start = sets.start[who]
    owners, values = [np.zeros(0, dtype=np.intp)], [np.zeros((0, start.shape[1]))]
    each = len(drawn) // len(who)
    for block in sets.blocks:
        boxes = Boxes.of(block, start[:, list(block.columns)])
        if not _pushes(block):
            for j in block.free:
                count = (boxes.high[:, j] - boxes.low[:, j]).max() + 1.0 if block.features[j].whole else np.inf
                for at in np.linspace(0.0, 1.0, int(min(count, _VALUES))):
                    value = boxes.low[:, j] + at * (boxes.high[:, j] - boxes.low[:, j])
                    point = start.copy()
                    point[:, block.columns[j]] = np.round(value) if block.features[j].whole else value
                    owners.append(who)
                    values.append(point)
        if not block.alone:
            columns = [*block.columns, *block.pushed]
            for number in range(min(_VALUES, each)):
                rows = np.arange(len(who)) * each + number
                point = start.copy()
                point[:, columns] = drawn.values[rows][:, columns]
                owners.append(who)
                values.append(point)
    owner, points = np.concatenate(owners), np.concatenate(values)
    moved = (points != sets.start[owner]).any(axis=1)
    for block in sets.blocks:
        moved &= _allowed(sets, block, owner, points)
    return Points(drawn.features, drawn.people, owner[moved], points[moved])


def pruned(sets: ReachableSets, points: Points, target: TargetTest) -> Points:
    """The same points with every change undone, or made smaller, that the target does not need.

    First each feature, and each block of coupled features, is set back to the person's own value, until no more can be.
    Then numbers that are still changed move back as far as bisection finds. Every point stays in reach and has the
    target.
    """
    values, start = points.values.copy(), sets.start[points.owner]
    blocks = sets.blocks
    steps = [(block, columns) for block in blocks for columns in _put_back_together(block)]
    stale = np.zeros((len(steps), len(values)), dtype=bool)  # tried without success, and not changed since
    changed = True
    while changed:
        changed = False
        for (block, columns), in_vain in zip(steps, stale, strict=True):
            trial = values.copy()
            trial[:, columns] = np.where(in_vain[:, None], values[:, columns], start[:, columns])
            better = _keep_better(sets, block, points, values, trial, target)
            in_vain[:] = True
            stale[:, better] = False
            changed |= bool(len(better))
    for block in blocks:
        for j in block.free if not _pushes(block) else ():
            if block.features[j].kind in ("integer", "real"):
                _go_back(sets, block, j, points, values, target)
    return Points(points.features, points.people, points.owner, values)


def _put_back_together(block: FeatureBlock) -> list[list[int]]:
    """The columns that are set back at once: those of the whole block, then each by itself where that is allowed."""
    whole = [*block.columns, *block.pushed]
    return [whole] if block.alone or _pushes(block) else [whole, *([block.columns[j]] for j in block.free)]


def _go_back(
    sets: ReachableSets, block: FeatureBlock, j: int, points: Points, values: Floats, target: TargetTest
) -> None:
    """Bring one number of each point nearer to the person's own."""
    column = block.columns[j]
    near = sets.start[points.owner, column].copy()
    for _ in range(_HALVINGS):
        middle = (near + values[:, column]) / 2.0
        if block.features[j].whole:  # towards the person's own value, but never that value, which was tried
            middle = np.where(middle > near, np.floor(middle), np.ceil(middle))
        trial = values.copy()
        trial[:, column] = np.where(middle == near, values[:, column], middle)
        if not (trial != values).any():
            return
        before = values[:, column].copy()
        _keep_better(sets, block, points, values, trial, target)
        near = np.where(values[:, column] == before, middle, near)


def _keep_better(
    sets: ReachableSets, block: FeatureBlock, points: Points, values: Floats, trial: Floats, target: TargetTest
) -> NDArray[np.intp]:
    """Keep the rows of a trial that differ, are in reach and have the target; returns which these are."""
    rows = np.flatnonzero((trial != values).any(axis=1))
    rows = rows[_allowed(sets, block, points.owner[rows], trial[rows])]
    if len(rows):
        rows = rows[target(Points(points.features, points.people, points.owner[rows], trial[rows]))]
    values[rows] = trial[rows]
    return rows


def _allowed(sets: ReachableSets, block: FeatureBlock, owner: NDArray[np.intp], values: Floats) -> NDArray[np.bool_]:
    """Whether each point is in reach, as far as a block is concerned.

    Where actions push other features, the whole block is as in a reachable point, or as the person is.
    """
    if block.alone or _pushes(block) or not len(owner):
        return np.ones(len(owner), dtype=bool)
    columns = list(block.columns)
    return Boxes.of(block, sets.start[owner][:, columns]).allowed(block, values[:, columns])


def _pushes(block: FeatureBlock) -> bool:
    return bool(block.push.any() or block.onto.any() or block.followed)


FEW_MOVES = 10_000.0
"""Fewer moves than this are listed here in less time than it takes to ask a worker."""


def enumerate_by_workers(pool: Pool, block: FeatureBlock, starts: Floats, max_n: int) -> Enumerated:
    """The moves of each start, as :func:`enumerate_moves` lists them.

    Whose moves are too many may depend on the order in which features are decided, and that on who else is in the
    batch. So workers get starts only where that cannot happen: where no box has more than ``max_n`` points.
    """
    boxes = Boxes.of(block, starts)
    sizes = np.prod(boxes.high - boxes.low + 1.0, axis=1)
    if len(starts) < 2 or sizes.max(initial=0.0) > max_n or sizes.sum() < FEW_MOVES:
        return enumerate_moves(block, starts, max_n)
    edges = list(pairwise(borders(len(starts))))
    try:
        tasks = pool.begin(
            _list_moves,
            TaskContext((block, max_n), "the interventions"),
            [starts[first:last] for first, last in edges],
            [int(sizes[first:last].sum()) for first, last in edges],
        )
        parts: list[Enumerated] = list(tasks.results())
    except UsageError as error:
        pool.stay_here("what people can reach is listed", error)
        return enumerate_moves(block, starts, max_n)
    except UnreliableModelError:
        raise
    except IsonomiaError:
        return enumerate_moves(block, starts, max_n)  # unless it is a problem of the worker, it happens again here
    return Enumerated(np.concatenate([part.acted for part in parts]), np.concatenate([part.counts for part in parts]))


def _list_moves(shared: tuple[FeatureBlock, int], starts: Floats) -> Enumerated:
    """What a worker does with some starts."""
    block, max_n = shared
    return enumerate_moves(block, starts, max_n)


@dataclass(frozen=True, slots=True, eq=False)
class PointCounts:
    """The counts of some people's points.

    Attributes
    ----------
    n, successes
        For each of them, how many points were looked at, and how many have the target prediction.
    share
        The probability of the target, where all points were looked at and may differ in probability; else ``None``.
    distinct
        How many rows the model was queried about.
    alike
        Whether it is still worth looking for duplicate points.
    """

    n: Floats
    successes: Floats
    distinct: int
    alike: bool
    share: Floats | None = None


def count_draws(target: TargetTest, points: Points, people: int) -> PointCounts:
    """The counts of drawn points, equally many for each of some people, one after the other."""
    before = target.distinct
    successes = target(points).reshape(people, -1).sum(axis=1).astype(np.float64)
    each = np.full(people, float(len(points) // people))
    return PointCounts(each, successes, target.distinct - before, target.alike)


@dataclass(frozen=True, slots=True, eq=False)
class DrawnPortion:
    """A worker's counts of a portion's points, where duplicates are looked for.

    Attributes
    ----------
    counts
        The counts.
    queries
        How many rows were sent to the model, and how many of them were second questions.
    handed
        What the watch on the model gets; ``None`` where it is not watched.
    """

    counts: PointCounts
    queries: tuple[int, int]
    handed: SteadinessReport | None


@dataclass(frozen=True, slots=True, eq=False)
class PointContext:
    """What is sent to every worker once; the target comes without its session."""

    sets: ReachableSets
    target: TargetTest
    model: ModelSession
    watched: bool
    seed: int


def shared_context(session: ModelSession, sets: ReachableSets, target: TargetTest, seed: int) -> TaskContext | None:
    """What workers need to draw points and look at them; ``None`` where there is a cache, which one process keeps."""
    if session.direct_workers is None:
        return None
    session.settle()  # the workers' own watches know nothing of an earlier run
    no_session: Any = None
    watched = session.steady is not None
    context = PointContext(sets, replace(target, session=no_session), session.apart(), watched, seed)
    return TaskContext(context, session.name)


def begin_draws(
    pool: Pool, shared: TaskContext, portions: Sequence[tuple[Indices, int]], size: int, number: int
) -> Iterator[DrawnPortion] | None:
    """``size`` draws for each person of some parts of a numbered round; ``None`` where workers cannot do it."""
    hands_over = -(-MAX_AGAIN // len(portions)) if shared.value.watched else 0
    items = [(who, size, number, part, hands_over) for who, part in portions]
    try:
        return pool.begin(_draw_portion, shared, items, [len(who) * size for who, _ in portions]).results()
    except UsageError as error:
        pool.stay_here("points are drawn", error)
        return None


def _draw_portion(context: PointContext, item: tuple[Indices, int, int, int, int]) -> DrawnPortion:
    """What a worker does with one portion."""
    who, size, number, part, hands_over = item
    model = context.model.apart(hands_over)
    # A model that answers at random may change its mind about an equal point.
    target = replace(context.target, session=model, distinct=0, alike=context.watched)
    points = context.sets.sample(size, batch_rng(context.seed, number, part), who.tolist())
    with metering(None) as meter:
        counts = count_draws(target, points, len(who))
    return DrawnPortion(counts, meter.sent, None if model.steady is None else model.steady.handed())
