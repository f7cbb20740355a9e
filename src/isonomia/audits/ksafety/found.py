"""Violations: counted by the choices that made them, the smallest changes kept."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.cases import Cases
from isonomia.audits.ksafety.distinct import Distinct, digests, first_of_each
from isonomia.populations.domains import Domain

__all__ = ["KEPT", "Find", "Finds"]

KEPT = 256
"""How many violations are kept for showing."""

Origin = tuple[int, ...]


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

    Attributes
    ----------
    distinct, inputs
        How many different violations there were, and of how many different inputs.
    best
        The smallest changes, by draw and inputs.
    worst
        What a change must not exceed to be among the ``KEPT`` smallest; ``None`` while fewer are known.
    """

    distinct: Distinct = field(default_factory=Distinct)
    inputs: Distinct = field(default_factory=Distinct)
    best: dict[Origin, Find] = field(default_factory=dict)
    worst: tuple[tuple[float, float], Origin] | None = None

    def add(self, domain: Domain, cases: Cases, costs: NDArray[np.float64], piece: int | None) -> None:
        """Take in violating cases; ``piece`` tells inputs of one draw from those of another, where they are fresh."""
        if not len(cases):
            return
        salt = 0 if piece is None else piece + 1
        self.distinct.add(digests((*cases.inputs, *cases.choices), salt))
        origins = digests(cases.inputs, salt)
        self.inputs.add(origins)
        for index in self._smallest(origins, cases, costs).tolist():
            origin = (salt, *(int(column[index]) for column in cases.inputs))
            cost = (float(costs[0, index]), float(costs[1, index]))
            if self.worst is not None and (cost, origin) > self.worst:
                break
            known = self.best.get(origin)
            if known is None or cost < known.cost:
                self.best[origin] = Find(domain, cases.take(np.array([index], dtype=np.intp)), cost)
        if len(self.best) > 2 * KEPT:
            kept = self._ranked()[:KEPT]
            self.best, self.worst = dict(kept), (kept[-1][1].cost, kept[-1][0])

    def ranked(self, most: int) -> list[Find]:
        """The smallest changes."""
        return [find for _, find in self._ranked()[:most]]

    def _ranked(self) -> list[tuple[Origin, Find]]:
        return sorted(self.best.items(), key=lambda item: (item[1].cost, item[0]))

    def _smallest(self, origins: NDArray[np.uint64], cases: Cases, costs: NDArray[np.float64]) -> NDArray[np.intp]:
        """The smallest change of each input, and of these the ``KEPT`` smallest: no others can be the best of all."""
        small = np.arange(len(cases))
        if self.worst is not None:
            few, near = self.worst[0]
            small = small[(costs[0] < few) | ((costs[0] == few) & (costs[1] <= near))]
        order = small[np.lexsort((costs[1, small], costs[0, small]))]
        each = order[first_of_each(origins[:, order])]
        ranks = np.lexsort((*(column[each] for column in reversed(cases.inputs)), costs[1, each], costs[0, each]))
        return np.asarray(each[ranks[:KEPT]])
