"""Violations: kept by the choices that made them, the smallest changes first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.cases import Cases
from isonomia.populations.domains import Domain

__all__ = ["Find", "Finds"]

KEPT = 256
"""How many violations are kept for showing."""


@dataclass(frozen=True, slots=True, eq=False)
class Find:
    """One case that violates: where its inputs are, and how much its records differ."""

    domain: Domain
    case: Cases
    cost: tuple[float, float]


@dataclass(slots=True)
class Finds:
    """All violations so far.

    Two are the same when their inputs and their random choices are. The smallest changes are kept, no more than one
    for each input: fewest features first, nearest values then.
    """

    distinct: set[tuple[Any, ...]] = field(default_factory=set)
    inputs: set[tuple[Any, ...]] = field(default_factory=set)
    best: dict[tuple[Any, ...], Find] = field(default_factory=dict)

    def add(self, domain: Domain, cases: Cases, costs: NDArray[np.float64], batch: int | None) -> None:
        """Take in violating cases; ``batch`` tells inputs of one batch from those of another, where they are fresh."""
        if not len(cases):
            return
        prefix = () if batch is None else (batch,)
        keys = [(*prefix, *row) for row in cases.keys().tolist()]
        width = len(prefix) + len(cases.inputs)
        self.distinct.update(keys)
        order = np.lexsort((costs[1], costs[0]))
        for index in order.tolist():
            origin = keys[index][:width]
            known = self.best.get(origin)
            cost = (float(costs[0, index]), float(costs[1, index]))
            if known is None or cost < known.cost:
                one = cases.take(np.array([index], dtype=np.intp))
                self.best[origin] = Find(domain, one, cost)
            self.inputs.add(origin)
        if len(self.best) > 2 * KEPT:
            self.best = dict(self._ranked()[:KEPT])

    def ranked(self, most: int) -> list[Find]:
        """The smallest changes."""
        return [find for _, find in self._ranked()[:most]]

    def _ranked(self) -> list[tuple[tuple[Any, ...], Find]]:
        return sorted(self.best.items(), key=lambda item: (item[1].cost, item[0]))
