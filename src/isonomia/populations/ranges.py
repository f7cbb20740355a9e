"""People of whom nothing is known but the ranges of their features: every combination is possible, equally likely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError
from isonomia.populations.columns import column_from
from isonomia.populations.covering import combined
from isonomia.populations.fingerprint import fingerprint_of
from isonomia.spec.tree import Value

__all__ = ["Ranges"]

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
