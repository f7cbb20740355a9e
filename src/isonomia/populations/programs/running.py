"""One run of a program for many people at once: where its variables and its noise are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from isonomia.populations.programs.distributions import StepTable, normal_between, normal_mass
from isonomia.populations.programs.intervals import Intervals
from isonomia.spec.programs.tree import Site

__all__ = ["Frame", "Kept", "Run"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(slots=True)
class Kept:
    """The noise of every person at every site, kept so that the same person can be run again in other circumstances.

    Noise is a share between 0 and 1, or the standard normal number with that share below it, whichever was drawn; the
    other follows from it. Noise that no run has asked for yet is drawn when one does.
    """

    rows: int
    rng: np.random.Generator
    normals: dict[Site, Floats] = field(default_factory=dict)
    shares: dict[Site, Floats] = field(default_factory=dict)
    others: dict[Site, NDArray[Any]] = field(default_factory=dict)

    def normal(self, site: Site) -> Floats:
        """Standard normal noise, one number a person."""
        if site not in self.normals:
            known = self.shares.get(site)
            self.normals[site] = self.rng.standard_normal(self.rows) if known is None else ndtri(known)
        return self.normals[site]

    def share(self, site: Site) -> Floats:
        """Uniform noise, one number a person."""
        if site not in self.shares:
            known = self.normals.get(site)
            self.shares[site] = self.rng.random(self.rows) if known is None else ndtr(known)
        return self.shares[site]

    def other(self, site: Site, draw: Callable[[int, np.random.Generator], NDArray[Any]]) -> NDArray[Any]:
        """Noise of a kind of its own, one value a person."""
        if site not in self.others:
            self.others[site] = draw(self.rows, self.rng)
        return self.others[site]

    def take(self, rows: Indices) -> Kept:
        """The noise of some of the people."""
        normals, shares, others = (
            {site: column[rows] for site, column in columns.items()}
            for columns in (self.normals, self.shares, self.others)
        )
        return Kept(len(rows), self.rng, normals, shares, others)


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
            draws = frame.of_everybody(self.kept.normal(site)).copy()
        draws *= deviation
        draws += mean
        return draws

    def step(self, site: Site, table: StepTable, frame: Frame) -> Floats:
        """A draw with a density that is constant on cells, for everybody in the frame."""
        if site[0] in self.directed:
            return self._directed_step(site, table, frame)
        if self.kept is None:
            return table.quantile(self.rng.random(frame.rows))
        return table.quantile(frame.of_everybody(self.kept.share(site)))

    def share(self, site: Site, frame: Frame) -> Floats:
        """Noise between 0 and 1 for everybody in the frame, itself within the intervals where it is directed."""
        if site[0] not in self.directed:
            return self.rng.random(frame.rows) if self.kept is None else frame.of_everybody(self.kept.share(site))
        inside, mass = StepTable(((0.0, 1.0, 1.0),)).within(self.directed[site[0]])
        self._weigh(frame, mass)
        share = self.rng.random(frame.rows)
        share = share if inside is None else inside.quantile(share)
        if self.kept is not None:
            self.kept.shares[site] = share
        return share

    def _directed_gaussian(self, site: Site, mean: Any, deviation: Any, frame: Frame) -> Floats:
        pieces = np.asarray(self.directed[site[0]].pieces)
        lows = (pieces[:, 0, None] - mean) / deviation
        highs = (pieces[:, 1, None] - mean) / deviation
        masses = np.broadcast_to(normal_mass(lows, highs), (len(pieces), frame.rows))
        total = masses.sum(axis=0)
        self._weigh(frame, total)
        piece = _pick(self.rng, masses, total)
        rows = np.arange(frame.rows)
        low = np.broadcast_to(lows, masses.shape)[piece, rows]
        high = np.broadcast_to(highs, masses.shape)[piece, rows]
        noise = normal_between(self.rng.random(frame.rows), low, high)
        self._keep_normal(site, noise, frame)
        return np.asarray(noise * deviation + mean)

    def _directed_step(self, site: Site, table: StepTable, frame: Frame) -> Floats:
        inside, mass = table.within(self.directed[site[0]])
        self._weigh(frame, mass)
        if inside is None:
            return np.zeros(frame.rows)  # of no weight, so nobody of them is kept
        draws = inside.quantile(self.rng.random(frame.rows))
        if self.kept is not None:
            self._keep_normal(site, ndtri(table.share(draws)), frame)
        return draws

    def _weigh(self, frame: Frame, mass: Any) -> None:
        if self.weights is None:
            self.weights = np.ones(self.rows)
        if frame.origin is None:
            self.weights *= mass
        else:
            self.weights[frame.origin] *= mass

    def _keep_normal(self, site: Site, noise: Floats, frame: Frame) -> None:
        if self.kept is None:
            return
        column = self.kept.normals.setdefault(site, np.full(self.rows, np.nan))
        column[slice(None) if frame.origin is None else frame.origin] = noise


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


def _pick(rng: np.random.Generator, masses: Floats, total: Floats) -> Indices:
    """Pick a piece for each person, in proportion to its mass."""
    if len(masses) == 1:
        return np.zeros(masses.shape[1], dtype=np.intp)
    reached = np.cumsum(masses, axis=0) / np.where(total > 0, total, 1.0)
    return np.asarray((rng.random(masses.shape[1]) >= reached[:-1]).sum(axis=0), dtype=np.intp)
