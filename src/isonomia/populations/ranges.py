"""Ranges: nothing known but the ranges.

Combinations of levels: all of them where they are few, otherwise some in which every pair occurs early.

People of whom nothing is known but the ranges of their features: every combination is possible, equally likely.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError
from isonomia.populations.columns import column_from
from isonomia.populations.fingerprint import fingerprint_of
from isonomia.spec.tree import Value

__all__ = ["Ranges", "combined"]


Combinations = NDArray[np.intp]

Pairs = NDArray[np.bool_]

PATIENCE = 4
"""How many proposals there are for each combination that is wanted; one that is known already is no gain."""

PROPOSED = 16
"""Combinations from which the one with most new pairs is taken."""


def combined(levels: Sequence[int], most: int, rng: np.random.Generator) -> Combinations:
    """Combinations of factors with so many levels each, a row each, none of them twice.

    All combinations, where there are at most ``most``. Otherwise ``most`` of them at most: that of all first levels,
    that of all second ones, and then greedily those in which most pairs of levels are new, as in D. M. Cohen,
    S. R. Dalal, M. L. Fredman and G. C. Patton, "The AETG system", IEEE Transactions on Software Engineering 23 (1997).
    """
    if prod(levels) <= most:
        return np.stack([part.ravel() for part in np.indices(levels)], axis=1).astype(np.intp)
    sizes = np.asarray(levels)
    offsets = np.cumsum(sizes) - sizes
    factor = np.repeat(np.arange(len(sizes)), sizes)
    new = factor[:, None] != factor[None, :]
    rows: dict[bytes, Combinations] = {}
    for row in (np.zeros(len(sizes), dtype=np.intp), np.minimum(1, sizes - 1)):
        _take(row, offsets, new, rows)
    for _ in range(PATIENCE * most):
        if len(rows) >= most:
            break
        _take(_proposed(sizes, offsets, new, rng), offsets, new, rows)
    return np.stack(list(rows.values()))[:most]


def _proposed(sizes: Combinations, offsets: Combinations, new: Pairs, rng: np.random.Generator) -> Combinations:
    """The one with most new pairs among some at random; any, where none is new."""
    proposed = rng.integers(0, sizes, size=(PROPOSED if new.any() else 1, len(sizes)))
    where = proposed + offsets
    gains = new[where[:, :, None], where[:, None, :]].sum(axis=(1, 2))
    return np.asarray(proposed[gains.argmax()])


def _take(row: Combinations, offsets: Combinations, new: Pairs, rows: dict[bytes, Combinations]) -> None:
    where = row + offsets
    new[np.ix_(where, where)] = False
    rows.setdefault(row.tobytes(), row)


Feature: TypeAlias = tuple[float, float] | list[Value]
"""The ends of a range, or the values that there are."""


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Ranges:
    """Draws people uniformly from declared ranges; a ``draw`` for :class:`Generator`.

    Because the ranges are declared, every combination of values in them is a person whom the property is about, also
    those at the ends, which random draws hardly ever meet. A k-safety check tries some of these before it draws.

    Parameters
    ----------
    features
        By name: ``(18, 90)`` for every whole number between, ends included; ``(0.0, 1.0)`` for real numbers, where one
        end is a float; ``["F", "M"]`` for these values.

    Raises
    ------
    UsageError
        Where something is no range and no list of values.

    Examples
    --------
    >>> import numpy as np
    >>> people = Ranges({"age": (18, 90), "sex": ["F", "M"]})
    >>> sorted(people(3, np.random.default_rng(0)))
    ['age', 'sex']
    """

    features: dict[str, Feature]

    def __init__(self, features: Mapping[str, Sequence[Any]]) -> None:
        if not isinstance(features, Mapping) or not features:
            raise UsageError(f"expected ranges as {{'age': (18, 90), 'sex': ['F', 'M']}}, but {features!r} came")
        object.__setattr__(self, "features", {name: _feature(name, said) for name, said in features.items()})

    def __call__(self, n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """So many people, every feature independent of the others and uniform."""
        return {name: _drawn(said, n, rng) for name, said in self.features.items()}

    def corners(self, most: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """At most so many people whose features are all at an end, at zero, or one of the values that are listed.

        All of these, where they are few enough. Otherwise every pair of such values occurs as early as possible.
        """
        ends = {name: _ends(said) for name, said in self.features.items()}
        chosen = combined([len(values) for values in ends.values()], most, rng)
        return {name: values[chosen[:, place]] for place, (name, values) in enumerate(ends.items())}

    def fingerprint(self) -> str:
        """Tell these ranges from others, as 64 hexadecimal digits."""
        return fingerprint_of("ranges", *(repr(item) for item in self.features.items()))


def _feature(name: str, said: Any) -> Feature:
    if isinstance(said, list) and said:
        return list(said)
    if isinstance(said, tuple) and len(said) == 2 and all(_is_number(end) for end in said):
        low, high = said
        if low <= high:
            return low, high
    raise UsageError(
        f"expected the range of {name!r} as (LOWEST, HIGHEST), two finite numbers in order, or a list of values, but "
        f"{said!r} came"
    )


def _is_number(end: Any) -> bool:
    whole = isinstance(end, int | np.integer) and not isinstance(end, bool) and abs(int(end)) < 2**62
    return whole or (isinstance(end, float | np.floating) and bool(np.isfinite(end)))


def _is_whole(*ends: Any) -> bool:
    return not any(isinstance(end, float | np.floating) for end in ends)


def _drawn(said: Feature, n: int, rng: np.random.Generator) -> NDArray[Any]:
    if isinstance(said, list):
        return column_from(said, "values")[rng.integers(0, len(said), n)]
    low, high = said
    return rng.integers(int(low), int(high), n, endpoint=True) if _is_whole(low, high) else rng.uniform(low, high, n)


def _ends(said: Feature) -> NDArray[Any]:
    """Both ends, and zero where it lies between; every value of a list."""
    if isinstance(said, list):
        return column_from(said, "values")
    low, high = said
    found = [low, high] if low < high else [low]
    if low < 0 < high:
        found.append(0)
    return np.array(found, dtype=np.int64 if _is_whole(low, high) else np.float64)
