"""One run, and the noise that is kept.

Noise that is kept, so that a person can be run again.

One run of a program for many people at once: where its variables and its noise are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from isonomia.errors import DataError
from isonomia.populations.worlds.distributions import Intervals, StepTable, normal_between, normal_mass
from isonomia.spec.fairsquare.tree import Site

__all__ = ["UNIFORM", "Frame", "Kept", "Run"]


Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(slots=True)
class Kept:
    """The noise of every person at every site, kept so that the same person can be run again in other circumstances.

    Noise is a share between 0 and 1, or the standard normal number with that share below it, whichever was drawn; the
    other follows from it. Noise that no run has asked for yet is drawn when one does.

    Attributes
    ----------
    rows, rng
        How many people, and where fresh noise comes from.
    normals, shares, others
        The noise at each site: standard normal, uniform, or of a kind of its own.
    known
        For abducted people, what each variable is in their table and what its equation makes of their noise; the two
        differ by rounding. ``None`` for people who are drawn.
    """

    rows: int
    rng: np.random.Generator
    normals: dict[Site, Floats] = field(default_factory=dict)
    shares: dict[Site, Floats] = field(default_factory=dict)
    others: dict[Site, NDArray[Any]] = field(default_factory=dict)
    known: dict[str, tuple[NDArray[Any], NDArray[Any]]] | None = None

    def normal(self, site: Site) -> Floats:
        """Standard normal noise, one number a person."""
        if site not in self.normals:
            known = self.shares.get(site)
            self.normals[site] = self._fresh(self.rng.standard_normal) if known is None else ndtri(known)
        return self.normals[site]

    def share(self, site: Site) -> Floats:
        """Uniform noise, one number a person."""
        if site not in self.shares:
            known = self.normals.get(site)
            self.shares[site] = self._fresh(self.rng.random) if known is None else ndtr(known)
        return self.shares[site]

    def other(self, site: Site, draw: Callable[[int, np.random.Generator], NDArray[Any]]) -> NDArray[Any]:
        """Noise of a kind of its own, one value a person."""
        if site not in self.others:
            self.others[site] = draw(self.rows, self.rng)
        return self.others[site]

    def keep(self, site: Site, normals: Floats, shares: Floats, origin: Indices | None) -> None:
        """Keep the noise of some people at a site; ``None`` for everybody.

        Both forms are kept, because the draw that a site stands for may be of the other form on another way.
        """
        who = slice(None) if origin is None else origin
        for columns, noise in ((self.normals, normals), (self.shares, shares)):
            columns.setdefault(site, np.full(self.rows, np.nan))[who] = noise

    def settled(self, name: str, value: Any) -> Any:
        """What an equation gives, put right where it gives what it gave for the person as they are.

        So abducted people whose parents do not change keep the very value that the table has.
        """
        if self.known is None or name not in self.known:
            return value
        given, computed = self.known[name]
        same = np.broadcast_to(value == computed, given.shape)
        # A column that stays as it is keeps its type too: whole numbers stay whole.
        return given if same.all() else np.where(same, given, value)

    def _fresh(self, draw: Callable[[int], Floats]) -> Floats:
        """New noise; of abducted people nothing is known that their values do not tell."""
        return draw(self.rows) if self.known is None else np.full(self.rows, np.nan)


UNIFORM = StepTable(((0.0, 1.0, 1.0),))
REDRAWN = 100
"""How often a draw that rounding has put outside its interval is made again."""


@dataclass(slots=True)
class Run:
    """The randomness of one run.

    Attributes
    ----------
    rows
        How many people are run.
    rng
        Where fresh noise comes from.
    kept
        Noise to be kept, or kept from an earlier run; ``None`` where nobody will ask for it again.
    directed
        Variables whose draws are made within some intervals only.
    weights
        The probability that undirected draws would have fallen into those intervals, for each person.
    """

    rows: int
    rng: np.random.Generator
    kept: Kept | None = None
    directed: Mapping[str, Intervals] = field(default_factory=dict)
    weights: Floats | None = None

    def gaussian(self, site: Site, mean: Any, deviation: Any, frame: Frame) -> Floats:
        """A normal draw for everybody in the frame."""
        if site[0] in self.directed:
            return self._directed_gaussian(site, mean, deviation, frame)
        if self.kept is None:
            draws = self.rng.standard_normal(frame.rows)
        else:
            draws = self._told(site, frame.of_everybody(self.kept.normal(site)), frame).copy()
        draws *= deviation
        draws += mean
        return draws

    def step(self, site: Site, table: StepTable, frame: Frame) -> Floats:
        """A draw with a density that is constant on cells, for everybody in the frame."""
        if site[0] in self.directed:
            return self._directed_step(site, table, frame)
        return table.quantile(self._shares(site, frame))

    def share(self, site: Site, frame: Frame) -> Floats:
        """Noise between 0 and 1 for everybody in the frame, itself within the intervals where it is directed."""
        if site[0] in self.directed:
            return self._directed_step(site, UNIFORM, frame)
        return self._shares(site, frame)

    def _shares(self, site: Site, frame: Frame) -> Floats:
        if self.kept is None:
            return self.rng.random(frame.rows)
        return self._told(site, frame.of_everybody(self.kept.share(site)), frame)

    def _told(self, site: Site, noise: Floats, frame: Frame) -> Floats:
        """Noise that abducted people's values tell; where they do not, what would have been is not known."""
        if self.kept is not None and self.kept.known is not None and not np.all(np.isfinite(noise)):
            first = int(np.argmin(np.isfinite(noise)))
            row = first if frame.origin is None else int(frame.origin[first])
            raise DataError(
                f"what {site[0]!r} would have been for the person of row {row} hangs on noise that their values tell "
                "nothing about; ask about people whose equation draws it, or about people drawn from the model"
            )
        return noise

    def _directed_gaussian(self, site: Site, mean: Any, deviation: Any, frame: Frame) -> Floats:
        wanted = self.directed[site[0]]
        ends = (np.asarray(wanted.pieces) - mean) / deviation
        masses = normal_mass(ends[:, 0], ends[:, 1])
        self._weigh(frame, masses.sum())
        possible = bool(masses.sum() > 0)

        def draw(n: int) -> tuple[Floats, Floats]:
            # Who cannot meet the condition is of no weight, and gets a draw that can occur, lest later lines fail.
            noise = _normals_within(self.rng, ends, masses, n) if possible else self.rng.standard_normal(n)
            return noise, np.asarray(noise * deviation + mean)

        noise, draws = _drawn_within(wanted, frame.rows, draw) if possible else draw(frame.rows)
        if self.kept is not None:
            self.kept.keep(site, noise, ndtr(noise), frame.origin)
        return draws

    def _directed_step(self, site: Site, table: StepTable, frame: Frame) -> Floats:
        wanted = self.directed[site[0]]
        inside, mass = table.within(wanted)
        self._weigh(frame, mass)

        def draw(n: int) -> tuple[Floats, Floats]:
            shares = table.share((inside or table).quantile(self.rng.random(n)))
            # The share is what is kept, so the value must be the one that the share gives.
            return shares, table.quantile(shares)

        shares, draws = draw(frame.rows) if inside is None else _drawn_within(wanted, frame.rows, draw)
        if self.kept is not None:
            self.kept.keep(site, ndtri(shares), shares, frame.origin)
        return draws

    def _weigh(self, frame: Frame, mass: Any) -> None:
        if self.weights is None:
            self.weights = np.ones(self.rows)
        if frame.origin is None:
            self.weights *= mass
        else:
            self.weights[frame.origin] *= mass


@dataclass(slots=True)
class Frame:
    """The variables of the people who took one way through the program.

    Attributes
    ----------
    rows
        How many they are.
    run
        The run that they are part of.
    values
        The variables that were set or read here, each a column or one number for all.
    parent, chosen
        The frame that they come from, and who of it they are; ``None`` for everybody.
    origin
        Who of everybody they are; ``None`` for everybody.
    """

    rows: int
    run: Run
    values: dict[str, Any]
    parent: Frame | None = None
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

    def branch(self, chosen: Indices) -> Frame:
        """The frame of some of the people."""
        origin = chosen if self.origin is None else self.origin[chosen]
        return Frame(len(chosen), self.run, {}, self, chosen, origin)

    def of_everybody(self, column: Floats) -> Floats:
        """The part of a column of everybody that belongs to the people of this frame."""
        return column if self.origin is None else column[self.origin]


def _drawn_within(wanted: Intervals, rows: int, draw: Callable[[int], tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Draw noise and values within some intervals; rounding may put a value onto an end, and then it is drawn again."""
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
