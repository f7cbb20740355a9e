"""What every way of deciding a claim has in common: :class:`Evidence`, and the channels that its counts come from.

A channel says which draws inform which leaves together, and the cells in which they are counted.

*Cells.* A yes/no leaf has the cells 0 and 1. A number in ``[low, high]`` has a grid of nodes, and a draw between two
nodes counts for both, in proportion to how near it is. That preserves the mean exactly, and can only lower a wealth: a
factor is affine in the number, its logarithm is concave, and a concave function lies above its chord. So a histogram of
constant size is enough for bets that are chosen later, at no cost in validity and next to none in power. Several
leaves of one group have the product of their cells, since within a draw they are not independent.

*Channels.* Bets on several leaves at once need draws whose mean, for each leaf they inform, is the value of that leaf.
That holds for disjoint groups, for separate streams, and for several events of one group. It fails for groups that
overlap without being the same: a Black woman's rate is neither that of women nor that of Black people. For such groups
there are two ways. A *crossed* channel records which of the groups each draw belongs to, and the bets go slice by slice
(:mod:`isonomia.evidence.slices`). Where that is not possible, every draw is assigned to a random *fold* before it is
seen, and counts only for the groups of its fold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Generic, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import SpecError
from isonomia.spec.analysis import Conditions, conjuncts
from isonomia.spec.tree import Leaf, Mean, Row

Floats = NDArray[np.float64]

MAX_CELLS = 1024
"""How many cells a channel may have: every bet goes through all of them. A polytope that needs more is decided by a
confidence region instead, so it changes power and cost only."""

NODES = 129
"""How many nodes a number has that is alone in its channel: so many that rounding to them costs next to no power.
Rounding preserves the mean and can only lower a wealth, so it changes power and cost only."""

PRIOR = 1.85
"""How many draws the estimate begins with: more make checks of rates near 0 and 1 longer, fewer make the other checks
longer. Validity needs only that it is positive; it changes how many draws a verdict takes."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The cells of a channel: for each leaf its nodes, from its lowest to its highest possible value."""

    nodes: tuple[tuple[float, ...], ...]

    @property
    def size(self) -> int:
        """How many cells there are."""
        return prod(len(axis) for axis in self.nodes)

    def values(self) -> Floats:
        """The leaves' values in each cell: shape ``(cells, leaves)``."""
        mesh = np.meshgrid(*[np.asarray(axis) for axis in self.nodes], indexing="ij")
        return np.stack([axis.ravel() for axis in mesh], axis=-1)

    def prior(self) -> Floats:
        """The weight of each cell before anything is seen.

        ``PRIOR`` draws are spread over the corners, where every leaf is at an end of its range: then every possible
        mean is possible under the estimate, and no stake can make a factor negative.
        """
        corner = np.ones(1)
        for axis in self.nodes:
            ends = np.zeros(len(axis))
            ends[0] = ends[-1] = 1.0
            corner = np.multiply.outer(corner, ends).ravel()
        return np.asarray(PRIOR * corner / corner.sum())

    def tally(self, columns: Sequence[NDArray[np.bool_] | Floats], times: Floats | None = None) -> Floats:
        """Count draws: one column per leaf, all of one length, and how often each draw came, if not once.

        Numbers must lie within their range.
        """
        if self.size == 2 and columns[0].dtype == np.bool_ and times is None:
            yes = float(np.count_nonzero(columns[0]))
            return np.asarray([len(columns[0]) - yes, yes])
        index = np.zeros(len(columns[0]), dtype=np.intp)
        parts = [(index, np.ones(len(index)) if times is None else times)]
        for axis, column in zip(self.nodes, columns, strict=True):
            parts = _spread(parts, axis, column)
        total = np.zeros(self.size)
        for where, weight in parts:
            total += np.bincount(where, weights=weight, minlength=self.size)
        return total


def grid_for(kinds: Sequence[tuple[float, float] | None]) -> Grid | None:
    """Make the grid of a channel: ``None`` stands for a yes/no leaf, a pair for a number's range.

    Returns ``None`` where ``MAX_CELLS`` cells are too few for the leaves; a number needs at least three nodes.
    """
    numbers = sum(kind is not None for kind in kinds)
    room = MAX_CELLS // 2 ** (len(kinds) - numbers)
    nodes = NODES if numbers == 1 else int(room ** (1.0 / max(numbers, 1)))
    nodes = min(nodes, room)
    if room < 1 or (numbers and nodes < 3):
        return None
    return Grid(tuple((0.0, 1.0) if kind is None else tuple(np.linspace(*kind, nodes).tolist()) for kind in kinds))


def _spread(
    parts: list[tuple[NDArray[np.intp], Floats]], axis: tuple[float, ...], column: NDArray[np.bool_] | Floats
) -> list[tuple[NDArray[np.intp], Floats]]:
    if column.dtype == np.bool_:
        return [(where * len(axis) + column.astype(np.intp), weight) for where, weight in parts]
    position = (column - axis[0]) * ((len(axis) - 1) / (axis[-1] - axis[0]))
    below = np.clip(np.floor(position), 0, len(axis) - 2)
    above = np.clip(position - below, 0.0, 1.0)
    node = below.astype(np.intp)
    return [
        item
        for where, weight in parts
        for item in ((where * len(axis) + node, weight * (1.0 - above)), (where * len(axis) + node + 1, weight * above))
    ]


@dataclass(frozen=True, slots=True)
class Fold:
    """One of ``of`` equally likely folds."""

    index: int
    of: int


@dataclass(frozen=True, slots=True)
class Channel:
    """The draws of one stream that meet a condition and fall in a fold, and the leaves that they inform together.

    A condition of ``None`` stands for everyone, a fold of ``None`` for all draws. ``crossing`` lists the conditions
    of the groups that a channel crosses: each draw records first which of them it meets, and then the leaves; a leaf of
    a group that the draw does not belong to counts as its lowest value.
    """

    given: Row | None
    stream: int
    fold: Fold | None
    leaves: tuple[Leaf, ...]
    grid: Grid
    crossing: tuple[Row, ...] = ()
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Tallies are looked up by channel in every batch, and a channel holds whole expressions.
        parts = self.given, self.stream, self.fold, self.leaves, self.grid, self.crossing
        object.__setattr__(self, "_hash", hash(parts))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[Channel], tuple[object, ...]]:
        # Another process may hash strings differently, so the hash is not pickled.
        return Channel, (self.given, self.stream, self.fold, self.leaves, self.grid, self.crossing)


def stream_of(leaf: Leaf, streams: Sequence[Row | None]) -> int | None:
    """The stream that a leaf is read from: the first whose condition is part of the leaf's; ``None`` if none is."""
    wanted = set(conjuncts(leaf.given))
    for index, condition in enumerate(streams):
        if set(conjuncts(condition)) <= wanted:
            return index
    return None


def leaf_channel(leaf: Leaf, streams: Sequence[Row | None], ranges: Mapping[Leaf, tuple[float, float]]) -> Channel:
    """The channel of one leaf alone, with every draw of its group."""
    grid = grid_for([_kind(leaf, ranges)])
    if grid is None:
        raise AssertionError("one leaf always has a grid")
    return Channel(leaf.given, _stream(leaf, streams), None, (leaf,), grid)


def channels_for(
    leaves: Sequence[Leaf], streams: Sequence[Row | None], ranges: Mapping[Leaf, tuple[float, float]]
) -> tuple[Channel, ...] | None:
    """The channels through which one polytope over these leaves is bet against.

    Returns ``None`` where one group has more leaves than its cells can hold.
    """
    groups: dict[tuple[int, Row | None], list[Leaf]] = {}
    for leaf in leaves:
        groups.setdefault((_stream(leaf, streams), leaf.given), []).append(leaf)
    colours = _coloured(list(groups))
    folds = max(colours.values(), default=0) + 1
    channels = []
    for (stream, given), members in groups.items():
        grid = grid_for([_kind(leaf, ranges) for leaf in members])
        if grid is None:
            return None
        fold = Fold(colours[stream, given], folds) if folds > 1 else None
        channels.append(Channel(given, stream, fold, tuple(members), grid))
    return tuple(channels)


def crossed_channel(
    leaves: Sequence[Leaf], streams: Sequence[Row | None], ranges: Mapping[Leaf, tuple[float, float]]
) -> Channel | None:
    """One channel for all leaves of one stream, which also records the groups that each draw belongs to.

    Returns ``None`` where the leaves come from several streams, or need more than ``MAX_CELLS`` cells.
    """
    sources = {_stream(leaf, streams) for leaf in leaves}
    crossing = tuple(dict.fromkeys(leaf.given for leaf in leaves if leaf.given is not None))
    grid = grid_for([*(None for _ in crossing), *(_kind(leaf, ranges) for leaf in leaves)])
    if len(sources) != 1 or grid is None:
        return None
    return Channel(None, sources.pop(), None, tuple(leaves), grid, crossing)


def independent_classes(leaves: Sequence[Leaf], streams: Sequence[Row | None]) -> tuple[tuple[Leaf, ...], ...]:
    """Partition leaves into classes whose evidence may be added: within a class no draw informs two leaves."""
    classes: list[list[Leaf]] = []
    groups: list[dict[int, Conditions]] = []  # of each class, by stream
    tried: dict[tuple[int, Row | None], int] = {}  # how many classes have no room for a group: classes only grow
    for leaf in leaves:
        stream = _stream(leaf, streams)
        index = tried.get((stream, leaf.given), 0)
        while index < len(groups) and any(
            True for _ in groups[index].setdefault(stream, Conditions()).overlapping(leaf.given)
        ):
            index += 1
        if index == len(classes):
            classes.append([])
            groups.append({})
        classes[index].append(leaf)
        groups[index].setdefault(stream, Conditions()).add(leaf.given)
        tried[stream, leaf.given] = index + 1
    return tuple(tuple(members) for members in classes)


def _coloured(groups: list[tuple[int, Row | None]]) -> dict[tuple[int, Row | None], int]:
    """Give groups that may overlap different colors, greedily and in order of appearance."""
    colours: dict[tuple[int, Row | None], int] = {}
    before: dict[int, Conditions] = {}  # by stream
    for stream, given in groups:
        others = before.setdefault(stream, Conditions())
        taken = {colours[stream, other] for other in others.overlapping(given)}
        colours[stream, given] = next(colour for colour in range(len(groups)) if colour not in taken)
        others.add(given)
    return colours


def _stream(leaf: Leaf, streams: Sequence[Row | None]) -> int:
    stream = stream_of(leaf, streams)
    if stream is None:
        raise SpecError("no stream of the population can give this leaf's group", leaf.place)
    return stream


def _kind(leaf: Leaf, ranges: Mapping[Leaf, tuple[float, float]]) -> tuple[float, float] | None:
    return ranges[leaf] if isinstance(leaf, Mean) else None


Tallies: TypeAlias = Mapping[Channel, NDArray[np.float64]]
"""The counts of a batch in each channel."""


@dataclass(frozen=True, slots=True)
class LeafTally:
    """The tally of one leaf: the weight at each node of its grid."""

    nodes: tuple[float, ...]
    weights: tuple[float, ...]

    @classmethod
    def of(cls, channel: Channel, counts: NDArray[np.float64]) -> LeafTally:
        """The tally in a channel that has the leaf alone."""
        return cls(channel.grid.nodes[0], tuple(counts.tolist()))

    @property
    def n(self) -> float:
        """How many draws."""
        return float(sum(self.weights))

    @property
    def mean(self) -> float:
        """The sample mean; the middle of the range where nothing was drawn."""
        if self.n == 0:
            return 0.5 * (self.nodes[0] + self.nodes[-1])
        return float(np.dot(self.nodes, self.weights)) / self.n


S = TypeVar("S")


class Evidence(Protocol, Generic[S]):
    """A way of deciding a claim: ``begin``, then ``step`` for each batch; the ``decision`` may be read at any time.

    Every implementation must guarantee: whatever the truth, the probability that the decision is *ever* the wrong one
    of ``True`` and ``False`` is at most the ``delta`` it was made with.
    """

    @property
    def method(self) -> str:
        """The name of the method."""

    @property
    def channels(self) -> tuple[Channel, ...]:
        """The channels whose counts it needs."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader of the verdict should know about how it was reached."""

    def begin(self) -> S:
        """Nothing seen yet."""

    def step(self, state: S, tallies: Tallies) -> S:
        """Take in one batch."""

    def decision(self, state: S) -> bool | None:
        """``True`` for holds, ``False`` for violated, ``None`` for undecided so far."""

    def progress(self, state: S) -> float:
        """How close the nearer decision is, from 0 to 1."""
