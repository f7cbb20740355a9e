"""What people can reach in one block: a range, a list of points, proposals of which some are accepted, or polytopes.

Each part covers some of the people. :class:`Memory` stores lists for other people, other models and other runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import NumericalError
from isonomia.interventions.blocks import (
    MOST_MOVES,
    Boxes,
    Enumerated,
    FeatureBlock,
    MixedIntegerProgram,
    enumerate_moves,
    program_of,
    tightened,
)
from isonomia.interventions.constraints.base import Floats
from isonomia.interventions.polytopes import MoveSlices, accepted_share, draw_by_proposals, slices_of
from isonomia.interventions.rows import RowMoves, row_moves

_TIGHT = 1e-3
"""The share of accepted proposals below which a block is cut into polytopes instead; it changes the cost only."""
_PILOTS = (64, 4096)
"""Proposals that estimate that share: a few for everyone, more for those whose share seems low."""
_TOGETHER = 5_000_000
"""Moves that are listed for all people together; beyond it, people with more than their part are sampled instead."""
_MAX_ROUNDS = 1000
"""How often draws from polytopes are repeated before almost all of them count as forbidden."""


@dataclass(frozen=True, slots=True, eq=False)
class RangePart:
    """One feature by itself: every value, or every whole value, of a range.

    ``rows`` says which people, as in every part. ``low`` and ``high`` have one entry for each.
    """

    rows: NDArray[np.intp]
    column: int
    low: Floats
    high: Floats
    whole: bool

    def counts(self) -> Floats:
        """How many values each person can reach; infinite where a real feature can move."""
        if self.whole:
            return self.high - self.low + 1.0
        return np.where(self.high > self.low, np.inf, 1.0)

    def ends(self, person: NDArray[np.intp], number: NDArray[np.intp]) -> Floats:
        """The value with this number, for people given by their index among ``rows``."""
        return (self.low[person] + number)[:, None]

    def weights(self, person: NDArray[np.intp], number: NDArray[np.intp]) -> Floats:  # noqa: ARG002
        """The probability of the value with this number."""
        return 1.0 / self.counts()[person]

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Uniform values, of shape ``(people, n, 1)``."""
        share = rng.random((len(self.rows), n))
        width = (self.high - self.low)[:, None]
        step = np.floor(share * (width + 1.0)) if self.whole else share * width
        return np.asarray((self.low[:, None] + step)[..., None])


@dataclass(frozen=True, slots=True, eq=False)
class ListedPoints:
    """Every point, in one table for all people; people with the same start in the block share their rows.

    ``table`` has the ended value of each of the block's columns, then the change of each pushed feature. A person has
    ``size`` rows, beginning at ``first``. ``probability`` has that of each row, ``None`` where a person's are equal.
    """

    rows: NDArray[np.intp]
    block: FeatureBlock
    table: Floats
    first: NDArray[np.intp]
    size: NDArray[np.intp]
    probability: Floats | None = None

    def counts(self) -> Floats:
        """How many points each person can reach."""
        return self.size.astype(np.float64)

    def ends(self, person: NDArray[np.intp], number: NDArray[np.intp]) -> Floats:
        """The point with this number, for people given by their index among ``rows``."""
        return np.asarray(self.table[self.first[person] + number])

    def weights(self, person: NDArray[np.intp], number: NDArray[np.intp]) -> Floats:
        """The probability of the point with this number."""
        if self.probability is None:
            return 1.0 / self.size[person]
        return np.asarray(self.probability[self.first[person] + number])

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Points by their probability, with no rejection."""
        share, first = rng.random((len(self.rows), n)), self.first[:, None]
        if self.probability is None:
            return np.asarray(self.table[first + (share * self.size[:, None]).astype(np.intp)])
        ends = np.concatenate([[0.0], np.cumsum(self.probability)])
        last = first + self.size[:, None]
        number = np.searchsorted(ends, ends[first] + share * (ends[last] - ends[first]), side="right") - 1
        return np.asarray(self.table[np.clip(number, first, last - 1)])


@dataclass(frozen=True, slots=True, eq=False)
class RejectionPart:
    """Points drawn by proposals of actions, which are kept where the constraints allow them; effects come after."""

    rows: NDArray[np.intp]
    block: FeatureBlock
    boxes: Boxes

    def counts(self) -> Floats:
        """Infinite: the points are not counted."""
        return np.full(len(self.rows), np.inf)

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Points of uniform actions."""
        acted = draw_by_proposals(self.block, self.boxes, n, rng)
        return _followed(self.block, self.boxes, acted, rng)


@dataclass(frozen=True, slots=True, eq=False)
class PolytopePoints:
    """Points of polytopes, for people whose moves satisfy the same linear rows; effects come after the actions."""

    rows: NDArray[np.intp]
    block: FeatureBlock
    boxes: Boxes
    slices: MoveSlices | RowMoves

    def counts(self) -> Floats:
        """Infinite: the points are not counted."""
        return np.full(len(self.rows), np.inf)

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Points of uniform actions; one that another constraint forbids is drawn again."""
        acted = np.empty((len(self.rows) * n, len(self.block.columns)))
        wanted = np.arange(len(acted))
        for _ in range(_MAX_ROUNDS):
            proposed = self.slices.draw(len(wanted), rng)
            allowed = self.boxes.at(wanted // n).allowed(self.block, proposed)
            acted[wanted[allowed]] = proposed[allowed]
            wanted = wanted[~allowed]
            if not len(wanted):
                return _followed(self.block, self.boxes, acted.reshape(len(self.rows), n, -1), rng)
        names = ", ".join(feature.name for feature in self.block.features)
        raise NumericalError(f"almost no point of the linear constraints on {names} satisfies the others: loosen them")


Part: TypeAlias = RangePart | ListedPoints | RejectionPart | PolytopePoints


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """The moves of every start seen so far, by block; a block is identified by its features and constraints.

    :meth:`Interventions.reach` adds to it. It does not see what a predicate's function closes over: use a fresh memory
    where that changes.

    Attributes
    ----------
    known
        The moves of each start, by the block's fingerprint; empty at first.
    enumerate
        Lists the moves of new starts.
    """

    known: dict[str, dict[bytes, Floats]] = field(default_factory=dict)
    enumerate: Callable[[FeatureBlock, Floats, int], Enumerated] = field(default=enumerate_moves, repr=False)

    def moves(self, block: FeatureBlock, starts: Floats, most: int) -> Enumerated:
        """The moves of each of some distinct starts; those of new starts are enumerated, and kept."""
        stored = self.known.setdefault(block.fingerprint(), {})
        keys = [row.tobytes() for row in np.ascontiguousarray(starts)]
        new = np.asarray([j for j, key in enumerate(keys) if key not in stored], dtype=np.intp)
        if len(new):
            moves = self.enumerate(block, starts[new], most)
            for j, acted in zip(new, np.split(moves.acted, np.cumsum(moves.counts)[:-1]), strict=True):
                stored[keys[j]] = acted
        parts = [stored[key] for key in keys]
        empty = np.zeros((0, len(block.columns)))
        return Enumerated(np.concatenate([empty, *parts]), np.asarray([len(part) for part in parts], dtype=np.intp))

    def to_bytes(self) -> bytes:
        """Everything that is known, to be stored."""
        arrays: dict[str, NDArray[np.float64]] = {}
        for name, moves in self.known.items():
            for number, (key, acted) in enumerate(moves.items()):
                arrays[f"{name}/{number}"] = np.vstack([np.frombuffer(key), acted])
        with BytesIO() as stream:
            np.savez_compressed(stream, allow_pickle=False, **arrays)
            return stream.getvalue()

    @classmethod
    def from_bytes(cls, stored: bytes) -> Memory:
        """Read what :meth:`to_bytes` wrote."""
        known: dict[str, dict[bytes, Floats]] = {}
        with np.load(BytesIO(stored), allow_pickle=False) as arrays:
            for name in arrays.files:
                rows = arrays[name]
                known.setdefault(name.split("/")[0], {})[rows[0].tobytes()] = rows[1:]
        return cls(known)


def solve(
    block: FeatureBlock, start: Floats, memory: Memory | None = None, most_moves: int = MOST_MOVES
) -> tuple[Part, ...]:
    """What people can reach in a block, in parts that each cover some of them.

    ``start`` has the block's columns, one row per person. What ``memory`` has is not enumerated again, and new moves
    are added to it. The points of a person with more than ``most_moves`` moves are drawn, not listed.
    """
    if block.alone:
        least, most = block.ranges(start)
        rows = np.arange(len(start))
        return (RangePart(rows, block.columns[0], least[:, 0], most[:, 0], block.features[0].whole),)
    keys, key = _distinct(start)
    counts = np.zeros(len(keys), dtype=np.intp)
    parts: list[Part] = []
    if block.discrete:
        small = ~_surely_large(block, keys, most_moves)
        find = enumerate_moves if memory is None else memory.moves
        moves = find(block, keys[small], most_moves)
        table, probability, counts[small] = _with_probabilities(block, keys[small], moves)
        rows = np.flatnonzero(counts[key] > 0)
        first = (np.cumsum(counts) - counts)[key[rows]]
        parts.append(ListedPoints(rows, block, table, first, counts[key[rows]], probability))
    if not counts.all():
        parts += _to_draw_from(block, keys, np.flatnonzero(counts == 0), key)
    return tuple(part for part in parts if len(part.rows))


def _with_probabilities(
    block: FeatureBlock, keys: Floats, moves: Enumerated
) -> tuple[Floats, Floats | None, NDArray[np.intp]]:
    """The points that moves lead to, the probability of each where they may differ, and how many each start has.

    An action is as likely as any other; its effects of at least or at most some size share its probability equally.
    """
    owner = np.repeat(np.arange(len(keys)), moves.counts)
    table = _ends(block, keys[owner], moves.acted)
    if not block.weighted:
        return table, None, moves.counts
    own = [j for j in range(len(block.columns)) if j not in block.followed]
    _, first, action = np.unique(np.column_stack([owner, moves.acted[:, own]]), True, True, axis=0)
    actions = np.bincount(owner[first], minlength=len(keys))
    action = action.reshape(-1)
    share = 1.0 / (np.bincount(action)[action] * actions[owner])
    _, first, point = np.unique(np.column_stack([owner, np.round(table, 9)]), True, True, axis=0)
    rank = np.argsort(first)
    first = first[rank]
    probability = np.asarray(np.bincount(point.reshape(-1), share)[rank], dtype=np.float64)
    return table[first], probability, np.bincount(owner[first], minlength=len(keys))


def _surely_large(block: FeatureBlock, keys: Floats, most_moves: int) -> NDArray[np.bool_]:
    """Who has, by an estimate, so many moves that listing them would fail or take more than their part."""
    boxes = Boxes.of(block, keys)
    sizes = np.prod(boxes.high - boxes.low + 1.0, axis=1)
    together = _TOGETHER // 10 if block.weighted else _TOGETHER  # rows are sorted to weigh them
    some = np.flatnonzero(sizes > (2.0 * most_moves if sizes.sum() <= together else 1_000.0))
    share = accepted_share(block, boxes.at(some), _PILOTS[0], np.random.default_rng(0))
    moves = np.zeros(len(keys))
    moves[some] = share * sizes[some]
    fair = together / len(keys) if moves.sum() > together else np.inf
    return np.asarray(moves > min(2.0 * most_moves, fair))


def _distinct(start: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """The different rows, and which of them each row is."""
    order = np.lexsort(start.T[::-1])
    new = np.ones(len(start), dtype=bool)
    new[1:] = (start[order][1:] != start[order][:-1]).any(-1)
    key = np.empty(len(start), dtype=np.intp)
    key[order] = np.cumsum(new) - 1
    return start[order][new], key


def _to_draw_from(block: FeatureBlock, keys: Floats, which: NDArray[np.intp], key: NDArray[np.intp]) -> Iterator[Part]:
    """The parts of the people whose points are not listed; ``which`` are their starts among the distinct ones."""
    block = block.acting()
    boxes = Boxes.of(block, keys[which])
    tight = _are_tight(block, boxes)
    known: dict[bytes, RowMoves | None] = {}
    alike: dict[bytes, list[int]] = {}
    for index in np.flatnonzero(tight):
        box = boxes.at(np.asarray([index]))
        program = program_of(block, box.start[0], (box.low[0], box.high[0]))
        rules = program.identity()
        if rules not in known:
            known[rules] = _row_part(block, box, program)
        if known[rules] is None:
            yield _tight_part(block, box, np.flatnonzero(key == which[index]))
        else:
            alike.setdefault(rules, []).append(int(index))
    for rules, members in alike.items():
        slices = known[rules]
        assert slices is not None
        place = np.full(len(keys), -1)
        place[which[members]] = members
        rows = np.flatnonzero(place[key] >= 0)
        yield PolytopePoints(rows, block, boxes.at(place[key[rows]]), slices)
    easy = np.full(len(keys), -1)
    easy[which[~tight]] = np.flatnonzero(~tight)
    rows = np.flatnonzero(easy[key] >= 0)
    yield RejectionPart(rows, block, boxes.at(easy[key[rows]]))


def _row_part(block: FeatureBlock, box: Boxes, program: MixedIntegerProgram) -> RowMoves | None:
    """The draws of one row of the linear constraints, where enough of them satisfy all the others."""
    made = row_moves(program, len(block.columns))
    if made is None:
        return None
    try:
        tried = made.draw(_PILOTS[1], np.random.default_rng(0))
    except NumericalError:
        return None
    allowed = box.at(np.zeros(len(tried), dtype=np.intp)).allowed(block, tried)
    return made if allowed.mean() >= _TIGHT else None


def _are_tight(block: FeatureBlock, boxes: Boxes) -> NDArray[np.bool_]:
    """Whose proposals are rarely accepted. The seed is fixed: the way of sampling does not change the distribution."""
    rng = np.random.default_rng(0)
    doubtful = np.arange(len(boxes.start))
    for tries in _PILOTS:
        doubtful = doubtful[accepted_share(block, boxes.at(doubtful), tries, rng) < _TIGHT]
    tight = np.zeros(len(boxes.start), dtype=bool)
    tight[doubtful] = True
    return tight


def _tight_part(block: FeatureBlock, box: Boxes, rows: NDArray[np.intp]) -> Part:
    """One start whose box is nearly empty: narrowed by the solver, and if that is not enough, cut into polytopes."""
    ends = tightened(block, box.start[0])
    if ends is None:
        return _list_part(block, box, box.start, rows)
    if block.discrete:  # staying put is one of the points, even where the rows forbid it
        ends = np.minimum(ends[0], box.start[0]), np.maximum(ends[1], box.start[0])
    box = Boxes(box.start, box.least, box.most, ends[0][None], ends[1][None])
    if not _are_tight(block, box)[0]:
        return RejectionPart(rows, block, box.at(np.zeros(len(rows), dtype=np.intp)))
    slices = slices_of(block, box.start[0], *ends)
    if slices.slices[0].dimension or block.given:
        return PolytopePoints(rows, block, box.at(np.zeros(len(rows), dtype=np.intp)), slices)
    rng = np.random.default_rng(0)  # each slice is a single point, so every draw is the same
    points = [slices.only(one).draw(1, rng) for one in slices.slices]
    return _list_part(block, box, np.concatenate(points), rows)


def _list_part(block: FeatureBlock, box: Boxes, acted: Floats, rows: NDArray[np.intp]) -> ListedPoints:
    """Those of some points that are allowed, and the start, as a list."""
    allowed = box.at(np.zeros(len(acted), dtype=np.intp)).allowed(block, acted)
    points = np.concatenate([box.start, acted[allowed]])
    _, first = np.unique(np.round(points, 9), axis=0, return_index=True)
    moves = Enumerated(points[np.sort(first)], np.asarray([len(first)]))
    table, probability, _ = _with_probabilities(block, box.start, moves)
    start = np.zeros(len(rows), dtype=np.intp)
    return ListedPoints(rows, block, table, start, np.full(len(rows), len(table)), probability)


def _followed(block: FeatureBlock, boxes: Boxes, acted: Floats, rng: np.random.Generator) -> Floats:
    """Where actions lead, with effects of at least or at most some size drawn uniformly among those that go with each.

    ``acted`` has the shape ``(people, n, columns)``.
    """
    owner = np.repeat(np.arange(len(boxes.start)), acted.shape[1])
    here, flat = boxes.at(owner), acted.reshape(len(owner), -1).copy()
    for linkage, at in block.given:
        low, high = block.effects(linkage, at, block.moves(here.start, flat, here.least, here.most))
        share = rng.random(low.shape)
        whole = [block.features[j].whole for j in at[1:]]
        flat[:, list(at[1:])] = low + np.where(whole, np.floor(share * (high - low + 1.0)), share * (high - low))
    return _ends(block, here.start, flat).reshape(*acted.shape[:2], -1)


def _ends(block: FeatureBlock, start: Floats, acted: Floats) -> Floats:
    """Where actions lead: the ended value of each of the block's columns, then the change of each pushed feature."""
    if not block.push.any() and not block.onto.size:
        return acted
    return np.concatenate([block.ended(start, acted), (acted - start) @ block.onto], axis=-1)


def indices_in(part: Part, count: int) -> NDArray[np.intp]:
    """The index in a part of each of all people; -1 for people outside of it."""
    index = np.full(count, -1, dtype=np.intp)
    index[part.rows] = np.arange(len(part.rows))
    return index


def write_ends(columns: Floats, part: Part, ends: Floats, at: Any) -> None:
    """Write the values reached in a part into its columns; the changes of pushed features are added."""
    if isinstance(part, RangePart):
        columns[part.column, at] = ends[:, 0]
        return
    for j, column in enumerate(part.block.columns):
        if part.block.features[j].actionable or part.block.push[:, j].any():
            columns[column, at] = ends[:, j]
    for j, column in enumerate(part.block.pushed, start=len(part.block.columns)):
        columns[column, at] += ends[:, j]


def part_of(part: Part, who: NDArray[np.intp], count: int) -> Part:
    """The part for some people, in this order."""
    index = indices_in(part, count)[who]
    rows = np.flatnonzero(index >= 0)
    at = index[rows]
    match part:
        case RangePart():
            return RangePart(rows, part.column, part.low[at], part.high[at], part.whole)
        case ListedPoints():
            return ListedPoints(rows, part.block, part.table, part.first[at], part.size[at], part.probability)
        case RejectionPart():
            return RejectionPart(rows, part.block, part.boxes.at(at))
        case PolytopePoints():
            return PolytopePoints(rows, part.block, part.boxes.at(at), part.slices)
