"""Models with a known defect in a relation between runs, and the cases that it speaks of; NumPy alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["MODELS", "RANGES", "RISE", "Model", "draw", "raised", "share"]

RANGES = {"age": (18, 90), "priors": (0, 30), "felonies": (0, 9)}
"""The least and the greatest value of each feature."""
RISE = (1, 4)
"""By how much the priors rise, at least and at most."""
Model = Callable[[Any], Any]


def score(table: Any) -> Any:
    """A risk class that rises with priors."""
    return 0.3 * table["priors"] + 0.5 * table["felonies"] - 0.04 * table["age"] > 1.0


def inside(table: Any) -> Any:
    """The score, but a low class for 17 priors with six felonies."""
    return np.where((table["priors"] == 17) & (table["felonies"] == 6), False, score(table))


def edge_case(table: Any) -> Any:
    """The score, but a high class for the youngest without priors and without felonies."""
    least = (table["priors"] == 0) & (table["felonies"] == 0) & (table["age"] == RANGES["age"][0])
    return np.where(least, True, score(table))


MODELS: dict[str, Model] = {"none": score, "inside": inside, "edge_case": edge_case}


def draw(n: int, rng: np.random.Generator) -> dict[str, Any]:
    """So many people, uniform over the ranges."""
    return {name: rng.integers(low, high + 1, n) for name, (low, high) in RANGES.items()}


def raised(table: Any, rise: Any) -> Any:
    """The same people with so many priors more."""
    return {**table, "priors": table["priors"] + rise}


def share(model: Model) -> float:
    """The exact share of cases that violate, over all of them."""
    rows = np.stack(np.meshgrid(*(np.arange(low, high + 1) for low, high in RANGES.values()), indexing="ij"), axis=-1)
    table = dict(zip(RANGES, rows.reshape(-1, len(RANGES)).T, strict=True))
    before = model(table).astype(int)
    after = [model(raised(table, rise)).astype(int) for rise in range(RISE[0], RISE[1] + 1)]
    return float(np.mean([before > later for later in after]))
