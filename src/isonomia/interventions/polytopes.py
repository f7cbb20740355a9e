"""Uniform draws from a polytope, and its volume.

Up to six dimensions a polytope is cut into simplices: the volume is exact up to rounding, and draws are independent
and exactly uniform. Beyond, draws are by hit-and-run and the volume is an estimate; a shape says which it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial
from typing import TypeAlias

import numpy as np

from isonomia.errors import NumericalError
from isonomia.interventions.constraints.moves import Floats
from isonomia.interventions.hit_and_run import hit_and_run, rounded, volume

__all__ = ["Polytope", "Shape", "shape_of"]

EXACT_DIMENSIONS = 6
"""Up to which dimension a polytope is cut into simplices."""
_FLAT = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Polytope:
    """The points with ``matrix @ y <= bound`` and ``equal @ y == level``."""

    matrix: Floats
    bound: Floats
    equal: Floats
    level: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Simplices:
    """A full-dimensional polytope as simplices that share no inner points, with their volumes."""

    corners: Floats
    volumes: Floats

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Independent uniform points."""
        which = rng.choice(len(self.volumes), size=n, p=self.volumes / self.volumes.sum())
        weights = rng.dirichlet(np.ones(self.corners.shape[1]), size=n)
        return np.asarray(np.einsum("nk,nkd->nd", weights, self.corners[which]))


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """A full-dimensional polytope of many dimensions, made round by a linear map."""

    matrix: Floats
    bound: Floats
    centre: Floats
    spread: Floats

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Points of ``n`` independent walks."""
        steps = hit_and_run(self.matrix @ self.spread, self.bound - self.matrix @ self.centre, n, rng)
        return np.asarray(self.centre + steps @ self.spread.T)


Inside: TypeAlias = Simplices | Walk


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """A polytope in the affine space that it fills: ``y = origin + basis @ z``, with orthonormal columns.

    Attributes
    ----------
    dimension
        That of the affine space.
    log_volume
        Within it; 0 for a single point.
    exact
        Whether draws are exactly uniform and the volume exact, up to rounding.
    """

    origin: Floats
    basis: Floats
    inside: Inside | None
    log_volume: float
    exact: bool

    @property
    def dimension(self) -> int:
        """The dimension of the affine space that the polytope fills."""
        return int(self.basis.shape[1])

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Uniform points."""
        if self.inside is None:
            return np.repeat(self.origin[None], n, axis=0)
        return np.asarray(self.origin + self.inside.draw(n, rng) @ self.basis.T)


def shape_of(polytope: Polytope) -> Shape | None:
    """A bounded polytope ready for drawing; ``None`` where it is empty."""
    from scipy.linalg import null_space

    start = _feasible(polytope)
    if start is None:
        return None
    basis = null_space(polytope.equal) if len(polytope.equal) else np.eye(len(start))
    if basis.shape[1] == 0:
        return Shape(start, basis, None, 0.0, True)
    matrix, bound = polytope.matrix @ basis, polytope.bound - polytope.matrix @ start
    length = np.linalg.norm(matrix, axis=1)
    real = length > _FLAT
    matrix, bound = matrix[real] / length[real, None], bound[real] / length[real]
    centre, radius = _centre(matrix, bound)
    if radius <= _FLAT:
        return shape_of(_flattened(polytope, matrix, bound, real, centre))
    inside, log_volume = _inside(matrix, bound, centre)
    return Shape(start, basis, inside, log_volume, isinstance(inside, Simplices))


def _feasible(polytope: Polytope) -> Floats | None:
    width = polytope.matrix.shape[1]
    found = _solved(np.zeros(width), polytope.matrix, polytope.bound, polytope.equal, polytope.level)
    return None if found is None else found[:width]


def _centre(matrix: Floats, bound: Floats) -> tuple[Floats, float]:
    """The centre and radius of the largest ball inside; the rows have length 1."""
    width = matrix.shape[1]
    cost = np.zeros(width + 1)
    cost[-1] = -1.0
    rows = np.column_stack([matrix, np.ones(len(matrix))])
    # The radius is capped, so that the program has an end whatever rounding does to the rows.
    found = _solved(cost, np.vstack([rows, -cost]), np.append(bound, 1e9), np.zeros((0, width + 1)), np.zeros(0))
    return (np.zeros(width), 0.0) if found is None else (found[:-1], float(found[-1]))


def _flattened(polytope: Polytope, matrix: Floats, bound: Floats, real: Floats, centre: Floats) -> Polytope:
    """The same polytope with the inequalities that nothing can satisfy strictly as equations."""
    tight = np.zeros(len(polytope.bound), dtype=bool)
    places = np.flatnonzero(real)
    for place, row, edge in zip(places, matrix, bound, strict=True):
        found = _solved(row, matrix, bound, np.zeros((0, len(centre))), np.zeros(0))
        tight[place] = found is None or edge - row @ found <= 10 * _FLAT
    if not tight.any():
        raise NumericalError("a part of a reachable set is too thin to tell whether it is flat; widen its constraints")
    return Polytope(
        polytope.matrix[~tight],
        polytope.bound[~tight],
        np.vstack([polytope.equal, polytope.matrix[tight]]),
        np.concatenate([polytope.level, polytope.bound[tight]]),
    )


def _inside(matrix: Floats, bound: Floats, centre: Floats) -> tuple[Inside, float]:
    if matrix.shape[1] == 1:
        ends = bound / matrix[:, 0]
        low, high = ends[matrix[:, 0] < 0].max(), ends[matrix[:, 0] > 0].min()
        return Simplices(np.asarray([[[low], [high]]]), np.asarray([high - low])), float(np.log(high - low))
    if matrix.shape[1] <= EXACT_DIMENSIONS:
        simplices = _cut(matrix, bound, centre)
        return simplices, float(np.log(simplices.volumes.sum()))
    rng = np.random.default_rng(0)
    spread = rounded(matrix, bound - matrix @ centre, rng)
    log_volume = volume(matrix @ spread, bound - matrix @ centre, rng) + float(np.linalg.slogdet(spread)[1])
    return Walk(matrix, bound, centre, spread), log_volume


def _cut(matrix: Floats, bound: Floats, centre: Floats) -> Simplices:
    """Simplices between the corners of a polytope; their volumes must add up to that of the hull."""
    from scipy.spatial import ConvexHull, Delaunay, HalfspaceIntersection

    corners = HalfspaceIntersection(np.column_stack([matrix, -bound]), centre).intersections
    corners = np.unique(np.round(corners[np.isfinite(corners).all(-1)], 12), axis=0)
    simplices = corners[Delaunay(corners).simplices]
    volumes = np.abs(np.linalg.det(simplices[:, 1:] - simplices[:, :1])) / factorial(matrix.shape[1])
    whole = float(ConvexHull(corners).volume)
    if abs(volumes.sum() - whole) > 1e-6 * whole:
        raise NumericalError(f"the parts of a polytope have volume {volumes.sum():g}, but it has {whole:g} as a whole")
    return Simplices(simplices, volumes)


def _solved(cost: Floats, matrix: Floats, bound: Floats, equal: Floats, level: Floats) -> Floats | None:
    from scipy.optimize import linprog

    found = linprog(
        cost,
        A_ub=matrix if len(matrix) else None,
        b_ub=bound if len(bound) else None,
        A_eq=equal if len(equal) else None,
        b_eq=level if len(level) else None,
        bounds=(None, None),
        method="highs",
    )
    if found.status == 2:
        return None
    if found.status != 0:
        raise NumericalError(f"a linear program about a reachable set was not solved: {found.message}")
    return np.asarray(found.x, dtype=np.float64)
