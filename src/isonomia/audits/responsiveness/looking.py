"""Looking at points of some people: what that comes to is kept, so that it is done once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.responsiveness.bench import Bench, kept
from isonomia.audits.responsiveness.packing import packed, unpacked
from isonomia.engine.journal import Entry
from isonomia.engine.seeds import batch_rng
from isonomia.errors import DataError
from isonomia.interventions import Points

__all__ = ["Looker", "Portion"]

Places = NDArray[np.intp]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Portion:
    """What looking at some people's points came to.

    Attributes
    ----------
    n, successes
        For each of them, how many points were looked at, and how many have the target prediction.
    distinct
        About how many rows the model was asked.
    alike
        Whether it is worth looking for points that are the same, from now on.
    """

    n: Floats
    successes: Floats
    distinct: int
    alike: bool

    def pack(self) -> Entry:
        """As plain values."""
        counts = {"n": packed(self.n), "successes": packed(self.successes)}
        return {**counts, "distinct": self.distinct, "alike": self.alike}

    @classmethod
    def unpack(cls, entry: Entry, people: int) -> Portion:
        """From plain values."""
        n, successes = (unpacked(entry[key], people).astype(np.float64) for key in ("n", "successes"))
        return cls(n, successes, entry["distinct"], entry["alike"])

    def refuse_others(self, n: Floats, key: str) -> Portion:
        """Itself, where so many points of each person were looked at, as they should have been.

        Raises
        ------
        DataError
            Where it was another number, as in a record that was changed.
        """
        if (self.n == n).all() and (self.successes <= self.n).all():
            return self
        raise DataError(f"expected as many points of each person as were looked at, but {key} of the record has others")


@dataclass(slots=True)
class Looker:
    """Looks at points, and counts how many that were.

    Attributes
    ----------
    bench
        What looking needs.
    points, distinct
        How many points were looked at so far, and about how many rows the model was asked.
    """

    bench: Bench
    points: int = 0
    distinct: int = 0
    _alike: bool = True
    _listings: int = 0

    def listed(self, who: Places) -> Portion:
        """Look at all that some people can reach."""
        number, self._listings = self._listings, self._listings + 1
        key = f"listing {number}"
        return self._looked(key, who, lambda: self._list(who)).refuse_others(self.bench.reach.counts[who], key)

    def drawn(self, who: Places, size: int, number: int, part: int) -> Portion:
        """Look at so many draws for each of some people, in a part of a numbered round."""
        key = f"round {number} part {part}"
        found = self._looked(key, who, lambda: self._draw(who, size, number, part))
        return found.refuse_others(np.full(len(who), float(size)), key)

    def _looked(self, key: str, who: Places, measure: Callable[[], Portion]) -> Portion:
        people = len(who)
        found = kept(
            self.bench.request.journal, key, measure, Portion.pack, lambda entry: Portion.unpack(entry, people)
        )
        self.points += int(found.n.sum())
        self.distinct += found.distinct
        self._alike = found.alike
        return found

    def _list(self, who: Places) -> Portion:
        points = self.bench.sets.points(who)
        hits, distinct, alike = self._hits(points)
        everybody = len(self.bench.sets)
        n, successes = (np.bincount(owner, minlength=everybody)[who] for owner in (points.owner, points.owner[hits]))
        return Portion(n.astype(np.float64), successes.astype(np.float64), distinct, alike)

    def _draw(self, who: Places, size: int, number: int, part: int) -> Portion:
        rng = batch_rng(self.bench.request.seed, number, part)
        hits, distinct, alike = self._hits(self.bench.sets.sample(size, rng, who.tolist()))
        successes = hits.reshape(len(who), size).sum(axis=1)
        return Portion(np.full(len(who), float(size)), successes.astype(np.float64), distinct, alike)

    def _hits(self, points: Points) -> tuple[NDArray[np.bool_], int, bool]:
        """Which points have the target prediction, about how many rows that took, and whether some are still alike."""
        target = self.bench.target
        target.alike, before = self._alike, target.distinct
        hits = target(points)
        return hits, target.distinct - before, target.alike
