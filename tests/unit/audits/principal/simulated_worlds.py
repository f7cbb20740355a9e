"""People from a known distribution over worlds, so that the truth about an audit is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.strata.worlds import TableShape, worlds

WORLDS = worlds(TableShape())
Draw = Callable[[int, np.random.Generator], dict[str, Any]]


def mixture(**shares: float) -> NDArray[np.float64]:
    """A distribution over worlds: ``mixture(w0111=0.5, w0000=0.5)``, digits in the order s0 s1 y0 y1."""
    weights = np.zeros(16)
    for name, share in shares.items():
        weights[int(name[1:], 2)] = share
    assert abs(weights.sum() - 1.0) < 1e-12
    return weights


def drawing(weights: Mapping[str, NDArray[np.float64]] | NDArray[np.float64], share: float = 0.5) -> Draw:
    """Draw people: attribute A at random, then what their world shows under it; one distribution a school."""
    by_school = weights if isinstance(weights, Mapping) else {"GP": weights}
    schools = list(by_school)

    def draw(n: int, rng: np.random.Generator) -> dict[str, Any]:
        place = rng.integers(0, len(schools), size=n)
        sex = (rng.random(n) < share).astype(int)
        steps = np.cumsum([by_school[school] for school in schools], axis=1)[place]
        world = WORLDS[np.minimum((rng.random(n)[:, None] >= steps).sum(axis=1), 15)]
        rows = np.arange(n)
        return {
            "school": np.asarray(schools, dtype=object)[place],
            "sex": np.asarray(["F", "M"], dtype=object)[sex],
            "prediction": world[rows, 0, sex],
            "passed": world[rows, 1, sex],
        }

    return draw


UNFAIR = mixture(w0100=0.6, w0000=0.2, w1111=0.2)
"""Of those who never pass, three quarters get a better prediction as a man: tau_0' = 0.6, and the table shows it."""

FAIR = mixture(w0000=0.55, w1111=0.35, w0001=0.05, w1101=0.05)
"""The prediction never depends on the attribute; the outcome sometimes does."""
