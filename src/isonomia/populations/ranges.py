"""People drawn from the ranges of their features alone: every combination is possible and equally likely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError
from isonomia.populations.fingerprint import fingerprint_of
from isonomia.populations.table import column_from
from isonomia.spec.tree import Value

FeatureRange: TypeAlias = tuple[float, float] | list[Value]
"""The ends of a range, or a list of values."""


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Ranges:
    """Draws people uniformly from declared ranges; a ``draw`` for :class:`Generator`.

    Because the ranges are declared, the property is about every combination of values in them, including those at the
    ends, which random draws hardly ever hit. A k-safety check tries some of these before it draws.

    Parameters
    ----------
    features
        By name: ``(18, 90)`` for the whole numbers in between, ends included; ``(0.0, 1.0)`` for real numbers, if at
        least one end is a float; ``["F", "M"]`` for these values.

    Raises
    ------
    UsageError
        If something is neither a range nor a list of values.

    Examples
    --------
    >>> import numpy as np
    >>> people = Ranges({"age": (18, 90), "sex": ["F", "M"]})
    >>> sorted(people(3, np.random.default_rng(0)))
    ['age', 'sex']
    """

    features: dict[str, FeatureRange]

    def __init__(self, features: Mapping[str, Sequence[Any]]) -> None:
        if not isinstance(features, Mapping) or not features:
            raise UsageError(
                f"expected ranges as {{'age': (18, 90), 'sex': ['F', 'M']}}, but got {features!r}", name="ranges"
            )
        object.__setattr__(self, "features", {name: _feature(name, given) for name, given in features.items()})

    def __call__(self, n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Draw ``n`` people, every feature uniform and independent of the others."""
        return {name: _drawn(given, n, rng) for name, given in self.features.items()}

    def edge_cases(self, most: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """At most ``most`` people whose features are all at an end, at zero, or a listed value.

        All such people, if there are few enough. Otherwise every pair of such values occurs as early as possible.
        """
        ends = {name: _ends(given) for name, given in self.features.items()}
        chosen = combined([len(values) for values in ends.values()], most, rng)
        return {name: values[chosen[:, index]] for index, (name, values) in enumerate(ends.items())}

    def fingerprint(self) -> str:
        """Tell these ranges from others, as 64 hexadecimal digits."""
        return fingerprint_of("ranges", *(repr(item) for item in self.features.items()))


def _feature(name: str, given: Any) -> FeatureRange:
    if isinstance(given, list) and given:
        return list(given)
    if isinstance(given, tuple) and len(given) == 2 and all(_is_number(end) for end in given):
        low, high = given
        if low <= high:
            return low, high
    raise UsageError(
        f"expected the range of {name!r} as (LOWEST, HIGHEST), two finite numbers in order, or a list of values, but "
        f"got {given!r}",
        name=name,
    )


def _is_number(end: Any) -> bool:
    whole = isinstance(end, int | np.integer) and not isinstance(end, bool) and abs(int(end)) < 2**62
    return whole or (isinstance(end, float | np.floating) and bool(np.isfinite(end)))


def _is_whole(*ends: Any) -> bool:
    return not any(isinstance(end, float | np.floating) for end in ends)


def _drawn(given: FeatureRange, n: int, rng: np.random.Generator) -> NDArray[Any]:
    if isinstance(given, list):
        return column_from(given, "values")[rng.integers(0, len(given), n)]
    low, high = given
    return rng.integers(int(low), int(high), n, endpoint=True) if _is_whole(low, high) else rng.uniform(low, high, n)


def _ends(given: FeatureRange) -> NDArray[Any]:
    """Both ends, and zero if it lies between them; every value of a list."""
    if isinstance(given, list):
        return column_from(given, "values")
    low, high = given
    ends = [low, high] if low < high else [low]
    if low < 0 < high:
        ends.append(0)
    return np.array(ends, dtype=np.int64 if _is_whole(low, high) else np.float64)


# ---------------------------------------------------------------------------- combinations of levels

_Levels = NDArray[np.intp]

_Pairs = NDArray[np.bool_]

_ROUNDS = 4
"""How many proposals are made per wanted combination, since some are duplicates."""

_CANDIDATES = 16
"""The combination with the most new pairs is chosen from this many."""


def combined(levels: Sequence[int], max_n: int, rng: np.random.Generator) -> _Levels:
    """Distinct combinations of factors with the given numbers of levels, one per row.

    All combinations, if there are at most ``max_n``. Otherwise at most ``max_n`` of them: that of all first levels,
    that of all second ones, and then greedily those in which most pairs of levels are new, as in D. M. Cohen,
    S. R. Dalal, M. L. Fredman and G. C. Patton, "The AETG system", IEEE Transactions on Software Engineering 23 (1997).
    """
    if prod(levels) <= max_n:
        return np.stack([part.ravel() for part in np.indices(levels)], axis=1).astype(np.intp)
    sizes = np.asarray(levels)
    offsets = np.cumsum(sizes) - sizes
    factor = np.repeat(np.arange(len(sizes)), sizes)
    new = factor[:, None] != factor[None, :]
    rows: dict[bytes, _Levels] = {}
    for row in (np.zeros(len(sizes), dtype=np.intp), np.minimum(1, sizes - 1)):
        _take(row, offsets, new, rows)
    for _ in range(_ROUNDS * max_n):
        if len(rows) >= max_n:
            break
        _take(_proposed(sizes, offsets, new, rng), offsets, new, rows)
    return np.stack(list(rows.values()))[:max_n]


def _proposed(sizes: _Levels, offsets: _Levels, new: _Pairs, rng: np.random.Generator) -> _Levels:
    """The one with the most new pairs among random candidates; any, if no pair is new."""
    proposed = rng.integers(0, sizes, size=(_CANDIDATES if new.any() else 1, len(sizes)))
    where = proposed + offsets
    gains = new[where[:, :, None], where[:, None, :]].sum(axis=(1, 2))
    return np.asarray(proposed[gains.argmax()])


def _take(row: _Levels, offsets: _Levels, new: _Pairs, rows: dict[bytes, _Levels]) -> None:
    where = row + offsets
    new[np.ix_(where, where)] = False
    rows.setdefault(row.tobytes(), row)
