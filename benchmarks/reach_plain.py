"""Reachable sets by a plain loop over every combination of actions: slow, and short enough to be seen to be right.

It reads the words that a peer's program reads, so it shares no code with Isonomia's own listing. The benchmarks hold
both tools against it.
"""

from __future__ import annotations

import hashlib
from itertools import product
from typing import Any

import numpy as np

__all__ = ["digest", "plain_points"]

Job = dict[str, Any]
Point = tuple[int, ...]


def plain_points(job: Job, person: list[int]) -> set[Point]:
    """Every point that a person can reach, their own included."""
    names = [feature["name"] for feature in job["features"]]
    found = {tuple(person)}
    before = dict(zip(names, person, strict=True))
    links = [constraint for constraint in job["constraints"] if constraint["kind"] == "linkage"]
    for action in product(*(_actions(feature, value) for feature, value in zip(job["features"], person, strict=True))):
        own = dict(zip(names, action, strict=True))
        after = {name: before[name] + own[name] for name in names}
        if all(_kept(constraint, before, after) for constraint in job["constraints"]):
            for link in links:
                for target in link["targets"]:
                    after[target] += own[link["source"]]
            found.add(tuple(after.values()))
    return found


def _actions(feature: dict[str, Any], value: int) -> range:
    """The person's own changes of one feature."""
    if not feature["actionable"]:
        return range(1)
    room = int(feature["high"]) - value
    up = room if feature["rise"] is None else min(int(feature["rise"]), room)
    down = int(feature["low"]) - value
    return range(0 if feature["direction"] == "up" else down, (0 if feature["direction"] == "down" else up) + 1)


def _kept(constraint: dict[str, Any], before: dict[str, int], after: dict[str, int]) -> bool:
    """Whether a rule about codes is kept; a linkage forbids nothing."""
    match constraint:
        case {"kind": "linkage"}:
            return True
        case {"kind": "one hot", "names": names}:
            return sum(after[name] for name in names) == 1
        case {"kind": "thermometer", "names": names, "direction": "up"}:
            code = [after[name] for name in names]
            return code == sorted(code, reverse=True) and all(after[name] >= before[name] for name in names)
    raise AssertionError(f"no plain rule for {constraint!r}")


def digest(points: Any) -> str:
    """The same for the same set of whole-numbered points, whatever their order."""
    distinct = np.unique(np.rint(np.asarray(list(points))).astype(np.int64), axis=0)
    return hashlib.sha256(np.ascontiguousarray(distinct).tobytes()).hexdigest()
