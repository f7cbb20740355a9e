"""The identified set of a hypothesis: the cell probabilities that some admitted mixture of worlds produces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Integers = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class IdentifiedSet:
    """The polytope ``{(M_a x)_a : x >= 0, sum of x = 1, E x = e, G x <= g}``.

    Attributes
    ----------
    observation
        ``M``: 1 where a world falls into a cell of a channel, else 0; shape ``(channels, cells, worlds)``.
    equal, equal_to
        ``E`` and ``e``: shapes ``(equations, worlds)`` and ``(equations,)``.
    below, at_most
        ``G`` and ``g``: shapes ``(inequalities, worlds)`` and ``(inequalities,)``.
    kept_worlds
        The indices of the worlds that are left, among those it was made of.
    """

    observation: Floats
    equal: Floats
    equal_to: Floats
    below: Floats
    at_most: Floats
    kept_worlds: Integers

    @classmethod
    def of(
        cls,
        observation: Floats,
        equal: tuple[Floats, Floats] | None = None,
        below: tuple[Floats, Floats] | None = None,
    ) -> IdentifiedSet:
        """Make the set; each pair is a matrix with one column per world, and its right-hand side.

        Worlds that the constraints rule out are left out, and so are equations that follow from others: the set is the
        same, and its mixtures have an interior.
        """
        shows = np.asarray(observation, dtype=float)
        if shows.ndim != 3 or not bool(np.isin(shows, (0.0, 1.0)).all()) or not bool((shows.sum(axis=1) == 1.0).all()):
            raise UsageError(
                "expected a table of zeros and ones in which every world shows one cell of every channel, "
                f"but got a table of shape {shows.shape} in which that is not so"
            )
        worlds = shows.shape[-1]
        (e, e_right), (g, g_right) = _rows("equal", equal, worlds), _rows("below", below, worlds)
        possible = _possible(e, e_right, g, g_right)
        e, g = e[:, possible], g[:, possible]
        kept_e, kept_g = _independent(e, e_right), g.any(axis=1) | (g_right < 0)
        return cls(
            shows[:, :, possible], e[kept_e], e_right[kept_e], g[kept_g], g_right[kept_g], np.flatnonzero(possible)
        )

    @property
    def channels(self) -> int:
        """How many channels there are."""
        return int(self.observation.shape[0])

    @property
    def cells(self) -> int:
        """How many cells a channel has."""
        return int(self.observation.shape[1])

    @property
    def worlds(self) -> int:
        """How many worlds there are."""
        return int(self.observation.shape[2])

    @property
    def possible_cells(self) -> Booleans:
        """Which cells some world shows: shape ``(channels, cells)``."""
        return np.asarray(self.observation.any(axis=-1))

    def is_empty(self) -> bool:
        """Whether no mixture is admitted, to the accuracy of a linear program.

        HiGHS calls a program infeasible only where constraints are missed by more than its tolerance (1e-7). So a set
        that is empty by less may count as non-empty, which costs draws; a set with a point in it is not dropped.
        """
        from scipy.optimize import linprog

        if not self.worlds:
            return True
        result = linprog(
            np.zeros(self.worlds),
            A_ub=self.below if len(self.below) else None,
            b_ub=self.at_most if len(self.below) else None,
            A_eq=np.vstack([np.ones((1, self.worlds)), self.equal]),
            b_eq=np.concatenate([[1.0], self.equal_to]),
        )
        return bool(result.status == 2)


def _rows(name: str, given: tuple[Floats, Floats] | None, worlds: int) -> tuple[Floats, Floats]:
    if given is None:
        return np.zeros((0, worlds)), np.zeros(0)
    matrix, right = np.asarray(given[0], dtype=float), np.asarray(given[1], dtype=float)
    if matrix.ndim != 2 or matrix.shape[1] != worlds or right.shape != (len(matrix),):
        raise UsageError(
            f"expected {name} as a matrix with {worlds} columns and one right-hand side a row, "
            f"but got shapes {matrix.shape} and {right.shape}"
        )
    return matrix, right


def _possible(e: Floats, e_right: Floats, g: Floats, g_right: Floats) -> Booleans:
    """Which worlds may have positive probability: not those that a one-sided constraint forces to 0."""
    possible = np.ones(e.shape[1], dtype=bool)
    zero = np.vstack([e[e_right == 0], -e[e_right == 0], g[g_right == 0]])
    while True:
        one_sided = (zero[:, possible] >= 0).all(axis=1)
        ruled_out = (zero[one_sided] > 0).any(axis=0) & possible
        if not ruled_out.any():
            return possible
        possible &= ~ruled_out


def _independent(matrix: Floats, right: Floats) -> Booleans:
    """Keep equations that do not follow from the ones before them and from ``sum of x = 1``.

    NumPy's rank counts an equation as dependent where rounding cannot tell. Dropping it can only enlarge the set, which
    can cost power but never validity.
    """
    kept = np.zeros(len(matrix), dtype=bool)
    stack = np.append(np.ones(matrix.shape[1]), 1.0)[None, :]
    for j, row in enumerate(matrix):
        larger = np.vstack([stack, np.append(row, right[j])])
        if np.linalg.matrix_rank(larger) > len(stack):
            kept[j], stack = True, larger
    return kept
