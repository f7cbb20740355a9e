"""Noise that is kept, so that a person can be run again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from isonomia.spec.programs.tree import Site

__all__ = ["Kept"]

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
