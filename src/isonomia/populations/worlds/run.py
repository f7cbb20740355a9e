"""One run of equations for many people at once: their variables, their noise, and how noise becomes draws.

A :class:`WorldRun` has the randomness, a :class:`PathFrame` the variables of those on one path through it. Noise
is stored if people will be run again under an intervention. Draws can be restricted to intervals, at the quantiles of
the truncated distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from isonomia.errors import DataError
from isonomia.spec.fairsquare.tree import Site

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

REDRAWN = 100
"""How often a draw that rounding put outside its interval is repeated."""


@dataclass(slots=True)
class WorldRun:
    """The randomness of one run.

    Noise goes to ``stored``, or comes from there; ``None`` if no one is run again. The variables in ``directed`` are
    drawn only within their intervals, and ``weights`` is each person's probability that undirected draws would have
    fallen into them.
    """

    rows: int
    rng: np.random.Generator
    stored: StoredNoise | None = None
    directed: Mapping[str, DisjointIntervals] = field(default_factory=dict)
    weights: Floats | None = None

    def gaussian(self, site: Site, mean: Any, deviation: Any, frame: PathFrame) -> Floats:
        """A normal draw for each person in the frame."""
        if site[0] in self.directed:
            return self._directed_gaussian(site, mean, deviation, frame)
        if self.stored is None:
            draws = self.rng.standard_normal(frame.rows)
        else:
            draws = self._observable(site, frame.of_all(self.stored.normal(site)), frame).copy()
        draws *= deviation
        draws += mean
        return draws

    def step(self, site: Site, table: StepTable, frame: PathFrame) -> Floats:
        """A draw with a density that is constant on cells, for each person in the frame."""
        if site[0] in self.directed:
            return self._directed_step(site, table, frame)
        return table.quantile(self._shares(site, frame))

    def share(self, site: Site, frame: PathFrame) -> Floats:
        """Noise between 0 and 1 for each person in the frame; if directed, the noise itself lies in the intervals."""
        if site[0] in self.directed:
            return self._directed_step(site, UNIFORM, frame)
        return self._shares(site, frame)

    def _shares(self, site: Site, frame: PathFrame) -> Floats:
        if self.stored is None:
            return self.rng.random(frame.rows)
        return self._observable(site, frame.of_all(self.stored.share(site)), frame)

    def _observable(self, site: Site, noise: Floats, frame: PathFrame) -> Floats:
        """Refuse noise that the values of abducted people do not determine: their counterfactuals are unknown."""
        if self.stored is not None and self.stored.observed is not None and not np.all(np.isfinite(noise)):
            first = int(np.argmin(np.isfinite(noise)))
            row = first if frame.origin is None else int(frame.origin[first])
            raise DataError(
                f"what {site[0]!r} would have been for the person of row {row} depends on noise that the "
                "row does not identify; choose people whose equation draws it, or draw people from the model",
                name=site[0],
                row=row,
            )
        return noise

    def _directed_gaussian(self, site: Site, mean: Any, deviation: Any, frame: PathFrame) -> Floats:
        wanted = self.directed[site[0]]
        ends = (np.asarray(wanted.pieces) - mean) / deviation
        masses = normal_mass(ends[:, 0], ends[:, 1])
        self._weigh(frame, masses.sum())
        possible = bool(masses.sum() > 0)

        def draw(n: int) -> tuple[Floats, Floats]:
            # People who cannot meet the condition have weight 0, and get a possible draw so that later lines work.
            noise = _normals_within(self.rng, ends, masses, n) if possible else self.rng.standard_normal(n)
            return noise, np.asarray(noise * deviation + mean)

        noise, draws = _drawn_within(wanted, frame.rows, draw) if possible else draw(frame.rows)
        if self.stored is not None:
            self.stored.store(site, noise, ndtr(noise), frame.origin)
        return draws

    def _directed_step(self, site: Site, table: StepTable, frame: PathFrame) -> Floats:
        wanted = self.directed[site[0]]
        inside, mass = table.within(wanted)
        self._weigh(frame, mass)

        def draw(n: int) -> tuple[Floats, Floats]:
            shares = table.share((inside or table).quantile(self.rng.random(n)))
            # The share is stored, so the value must be the one that the share gives.
            return shares, table.quantile(shares)

        shares, draws = draw(frame.rows) if inside is None else _drawn_within(wanted, frame.rows, draw)
        if self.stored is not None:
            self.stored.store(site, ndtri(shares), shares, frame.origin)
        return draws

    def _weigh(self, frame: PathFrame, mass: Any) -> None:
        if self.weights is None:
            self.weights = np.ones(self.rows)
        if frame.origin is None:
            self.weights *= mass
        else:
            self.weights[frame.origin] *= mass


@dataclass(slots=True)
class PathFrame:
    """The variables of the people who took one path through the program.

    ``values`` has what was set or read here, each a column or one value for all. ``chosen`` has their indices among the
    parent's people, and ``origin`` among all people; ``None`` if they are all people.
    """

    rows: int
    run: WorldRun
    values: dict[str, Any]
    parent: PathFrame | None = None
    chosen: Indices | None = None
    origin: Indices | None = None

    def read(self, name: str) -> Any:
        """The value of a variable, for the people of this frame."""
        value = self.values.get(name)
        if value is None:
            if self.parent is None:
                raise AssertionError(f"{name} is read before it is set, which checking a program rules out")
            value = self.parent.read(name)
            if isinstance(value, np.ndarray) and value.ndim:
                value = value[self.chosen]
            self.values[name] = value
        return value

    def branch(self, chosen: Indices) -> PathFrame:
        """The frame of some of the people."""
        origin = chosen if self.origin is None else self.origin[chosen]
        return PathFrame(len(chosen), self.run, {}, self, chosen, origin)

    def of_all(self, column: Floats) -> Floats:
        """The part of a column of all people that belongs to the people of this frame."""
        return column if self.origin is None else column[self.origin]


@dataclass(slots=True)
class StoredNoise:
    """The noise of every person at every site, so that the same person can be run again under an intervention.

    Noise is a share between 0 and 1, or the standard normal number with that share below it, whichever was drawn; the
    other follows from it. Noise is drawn when a run first needs it. For abducted people, ``observed`` has the value of
    each variable in their table and the value its equation gives for their noise; the two differ by rounding. It is
    ``None`` for people who are drawn.
    """

    rows: int
    rng: np.random.Generator
    normals: dict[Site, Floats] = field(default_factory=dict)
    shares: dict[Site, Floats] = field(default_factory=dict)
    others: dict[Site, NDArray[Any]] = field(default_factory=dict)
    observed: dict[str, tuple[NDArray[Any], NDArray[Any]]] | None = None

    def normal(self, site: Site) -> Floats:
        """Standard normal noise, one number per person."""
        if site not in self.normals:
            share = self.shares.get(site)
            self.normals[site] = self._fresh(self.rng.standard_normal) if share is None else ndtri(share)
        return self.normals[site]

    def share(self, site: Site) -> Floats:
        """Uniform noise, one number per person."""
        if site not in self.shares:
            normal = self.normals.get(site)
            self.shares[site] = self._fresh(self.rng.random) if normal is None else ndtr(normal)
        return self.shares[site]

    def other(self, site: Site, draw: Callable[[int, np.random.Generator], NDArray[Any]]) -> NDArray[Any]:
        """Noise of another kind, one value per person."""
        if site not in self.others:
            self.others[site] = draw(self.rows, self.rng)
        return self.others[site]

    def store(self, site: Site, normals: Floats, shares: Floats, origin: Indices | None) -> None:
        """Store the noise of some people at a site; ``origin=None`` for all.

        Both forms are stored, because the draw of a site may have the other form on another path.
        """
        who = slice(None) if origin is None else origin
        for columns, noise in ((self.normals, normals), (self.shares, shares)):
            columns.setdefault(site, np.full(self.rows, np.nan))[who] = noise

    def corrected(self, name: str, value: Any) -> Any:
        """The result of an equation, replaced by the table's value where it equals the result for the actual person.

        So abducted people whose parents do not change keep the exact value of the table.
        """
        if self.observed is None or name not in self.observed:
            return value
        given, computed = self.observed[name]
        same = np.broadcast_to(value == computed, given.shape)
        # A column that stays as it is keeps its type too: whole numbers stay whole.
        return given if same.all() else np.where(same, given, value)

    def _fresh(self, draw: Callable[[int], Floats]) -> Floats:
        """New noise; NaN for abducted people, whose noise is known only from their values."""
        return draw(self.rows) if self.observed is None else np.full(self.rows, np.nan)


def _drawn_within(
    wanted: DisjointIntervals, rows: int, draw: Callable[[int], tuple[Floats, Floats]]
) -> tuple[Floats, Floats]:
    """Draw noise and values within some intervals; a value that rounding puts on an end is drawn again."""
    noise, values = draw(rows)
    for _ in range(REDRAWN):
        outside = np.flatnonzero(~wanted.inside(values))
        if not len(outside):
            break
        noise[outside], values[outside] = draw(len(outside))
    return noise, values


def _normals_within(rng: np.random.Generator, ends: Floats, masses: Floats, n: int) -> Floats:
    """Standard normal numbers within pieces: first the piece, in proportion to its mass, then a number within it."""
    reached = np.cumsum(masses) / masses.sum()
    piece = np.minimum(np.searchsorted(reached, rng.random(n), side="right"), len(masses) - 1)
    return normal_between(rng.random(n), ends[piece, 0], ends[piece, 1])


@dataclass(frozen=True, slots=True)
class DisjointIntervals:
    """Disjoint intervals, ascending, each of positive length. Their end points do not matter: no draw hits them."""

    pieces: tuple[tuple[float, float], ...]

    def __and__(self, other: DisjointIntervals) -> DisjointIntervals:
        """What lies in both."""
        shared = ((max(a, c), min(b, d)) for a, b in self.pieces for c, d in other.pieces)
        return DisjointIntervals(tuple(sorted(piece for piece in shared if piece[0] < piece[1])))

    def inside(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which numbers lie in one of them, ends excluded."""
        inside = np.zeros(len(values), dtype=bool)
        for low, high in self.pieces:
            inside |= (values > low) & (values < high)
        return inside

    def complement(self) -> DisjointIntervals:
        """What lies in none of them."""
        edges = [-inf, *(edge for piece in self.pieces for edge in piece), inf]
        return DisjointIntervals(tuple((a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b))

    def __or__(self, other: DisjointIntervals) -> DisjointIntervals:
        """What lies in either."""
        return (self.complement() & other.complement()).complement()


EVERYTHING = DisjointIntervals(((-inf, inf),))


@dataclass(frozen=True)
class StepTable:
    """A density that is constant on each cell ``(low, high, probability)``; cells ascend and do not overlap."""

    cells: tuple[tuple[float, float, float], ...]

    @cached_property
    def _drawn(self) -> Floats:
        """The cells that can occur, one per row."""
        return np.asarray([cell for cell in self.cells if cell[2] > 0], dtype=float)

    @cached_property
    def sums(self) -> Floats:
        """The probability below each edge, from 0 to exactly 1."""
        sums = np.concatenate([[0.0], np.cumsum(self._drawn[:, 2])])
        return np.asarray(sums / sums[-1])

    @cached_property
    def _edges(self) -> Floats | None:
        """The edges, if every cell begins where the last one ends; ``None`` if there are gaps."""
        lows, highs = self._drawn[:, 0], self._drawn[:, 1]
        return np.append(lows, highs[-1]) if np.array_equal(lows[1:], highs[:-1]) else None

    def quantile(self, u: Floats) -> Floats:
        """The value below which a share ``u`` of the draws lies."""
        if self._edges is not None:
            return np.asarray(np.interp(u, self.sums, self._edges))
        cell = np.clip(np.searchsorted(self.sums, u, side="right") - 1, 0, len(self._drawn) - 1)
        low, high, _ = self._drawn[cell].T
        below, width = self.sums[cell], np.diff(self.sums)[cell]
        return np.asarray(low + np.clip((u - below) / width, 0.0, 1.0) * (high - low))

    def share(self, value: Floats) -> Floats:
        """The probability of a draw below a value: the inverse of ``quantile`` wherever a draw can fall."""
        lows, highs = self._drawn[:, 0], self._drawn[:, 1]
        points, sums = (
            np.column_stack([lows, highs]).ravel(),
            np.column_stack([self.sums[:-1], self.sums[1:]]).ravel(),
        )
        return np.asarray(np.interp(value, points, sums))

    def possible(self, value: Floats) -> NDArray[np.bool_]:
        """Whether a draw can be this value, up to the rounding of the arithmetic that led to it."""
        slack = 1e-12 * np.maximum(1.0, np.abs(value))
        low, high = self._drawn[:, 0], self._drawn[:, 1]
        inside = ((value + slack)[:, None] >= low) & ((value - slack)[:, None] <= high)
        return np.asarray(inside.any(axis=1))

    def within(self, wanted: DisjointIntervals) -> tuple[StepTable | None, float]:
        """The draw given that it falls into some intervals, and how probable that is."""
        parts = [
            (max(low, a), min(high, b), p * (min(high, b) - max(low, a)) / (high - low))
            for low, high, p in self.cells
            for a, b in wanted.pieces
            if min(high, b) > max(low, a) and p > 0
        ]
        mass = sum(p for _, _, p in parts)
        total = sum(p for _, _, p in self.cells)
        return (StepTable(tuple((a, b, p / mass) for a, b, p in parts)), mass / total) if mass > 0 else (None, 0.0)


UNIFORM = StepTable(((0.0, 1.0, 1.0),))


def normal_mass(low: Floats, high: Floats) -> Floats:
    """The probability that a standard normal draw lies between two numbers, accurate in both tails."""
    flip = low > 0
    return np.asarray(np.where(flip, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low)))


def normal_between(u: Floats, low: Floats, high: Floats) -> Floats:
    """The ``u`` quantile of a standard normal draw given that it lies between two numbers, accurate in both tails."""
    flip = low > 0
    a, b = np.where(flip, -high, low), np.where(flip, -low, high)
    share = np.where(flip, 1.0 - u, u)
    below, above = ndtr(a), ndtr(b)
    return np.asarray(np.clip(np.where(flip, -1.0, 1.0) * ndtri(below + share * (above - below)), low, high))
