"""Uniform draws from a polytope, and its volume.

A polytope that comes here is cut out by several rows that none of them alone comes near to (see ``rows.py``). Up to six
dimensions it is cut into simplices: the volume is exact up to rounding, and draws are independent and exactly uniform.
Beyond that, draws are by hit-and-run, independent random walks whose law tends to the uniform one, with no proved bound
on how near it is, and the volume is an estimate, made only where slices must be compared; a sampler says which it is.

Sources: R. L. Smith, "Efficient Monte Carlo procedures for generating points uniformly distributed over bounded
regions", Operations Research 32 (1984); L. Lovász and S. Vempala, "Hit-and-run from a corner", SIAM J. Computing 35
(2006), by which a walk in a rounded body of ``d`` dimensions mixes in the order of ``d**3`` steps at worst; volumes by
a telescoping product over growing bodies, after M. Dyer, A. Frieze and R. Kannan, J. ACM 38 (1991).

Uniform draws from the moves of a block.

Usually, points of each person's box are proposed, and those that the constraints allow are kept. Where almost none are
allowed, the moves are cut into *slices*, one polytope of real values for each choice of the whole values.

The uniform law on such a set counts whole values and measures real ones. The weight of a slice is the volume of its
real part. Where slices differ in dimension, those of the highest dimension have all the weight, as they do for any
sampler that proposes points of the whole box; real features are measured in units of their own range.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import NumericalError
from isonomia.interventions.blocks import (
    Boxes,
    FeatureBlock,
    MixedIntegerProgram,
    components,
    linear_constraints,
    program_of,
    scope_of,
)
from isonomia.interventions.constraints.base import Floats

_EXACT_DIMENSIONS = 6
"""The highest dimension in which a polytope is cut into simplices; beyond it there are too many corners."""
_FLAT = 1e-9
"""A polytope narrower than this, in units of its box, counts as flat, and is measured in fewer dimensions."""
_WALKS = 4000
"""Walks that estimate a ratio of volumes: see ``volume`` for the accuracy."""
_SCOUTS = 20
"""Walks for each dimension that estimate a shape: it changes how fast later walks mix, not the law they tend to."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearSystem:
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

    @property
    def log_volume(self) -> float:
        """The logarithm of the whole volume."""
        return float(np.log(self.volumes.sum()))

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Independent uniform points."""
        which = rng.choice(len(self.volumes), size=n, p=self.volumes / self.volumes.sum())
        weights = rng.dirichlet(np.ones(self.corners.shape[1]), size=n)
        return np.asarray(np.einsum("nk,nkd->nd", weights, self.corners[which]))


@dataclass(frozen=True, slots=True, eq=False)
class PolytopeWalk:
    """A full-dimensional polytope of many dimensions, made round by a linear map."""

    matrix: Floats
    bound: Floats
    centre: Floats
    spread: Floats

    @property
    def log_volume(self) -> float:
        """An estimate of the logarithm of the volume."""
        rows, rng = self.bound - self.matrix @ self.centre, np.random.default_rng(0)
        return volume(self.matrix @ self.spread, rows, rng) + float(np.linalg.slogdet(self.spread)[1])

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Points of ``n`` independent walks."""
        steps = hit_and_run(self.matrix @ self.spread, self.bound - self.matrix @ self.centre, n, rng)
        return np.asarray(self.centre + steps @ self.spread.T)


Inside: TypeAlias = Simplices | PolytopeWalk


@dataclass(frozen=True, slots=True, eq=False)
class PolytopeSampler:
    """Draws from a polytope in the affine space that it fills: ``y = origin + basis @ z``, with orthonormal columns."""

    origin: Floats
    basis: Floats
    inside: Inside | None

    @property
    def exact(self) -> bool:
        """Whether draws are exactly uniform and the volume is exact, up to rounding."""
        return not isinstance(self.inside, PolytopeWalk)

    @property
    def log_volume(self) -> float:
        """The logarithm of the volume within the affine space, 0 for a single point; slow where it is estimated."""
        return 0.0 if self.inside is None else self.inside.log_volume

    @property
    def dimension(self) -> int:
        """The dimension of the affine space that the polytope fills."""
        return int(self.basis.shape[1])

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Uniform points."""
        if self.inside is None:
            return np.repeat(self.origin[None], n, axis=0)
        return np.asarray(self.origin + self.inside.draw(n, rng) @ self.basis.T)


def polytope_sampler(polytope: LinearSystem) -> PolytopeSampler | None:
    """A bounded polytope ready for drawing; ``None`` where it is empty."""
    from scipy.linalg import null_space

    cost = np.zeros(polytope.matrix.shape[1])
    start = _solved(cost, polytope.matrix, polytope.bound, polytope.equal, polytope.level)
    if start is None:
        return None
    basis = null_space(polytope.equal) if len(polytope.equal) else np.eye(len(start))
    if basis.shape[1] == 0:
        return PolytopeSampler(start, basis, None)
    matrix, bound = polytope.matrix @ basis, polytope.bound - polytope.matrix @ start
    length = np.linalg.norm(matrix, axis=1)
    real = length > _FLAT
    matrix, bound = matrix[real] / length[real, None], bound[real] / length[real]
    centre, radius = _centre(matrix, bound)
    if radius <= _FLAT:
        return polytope_sampler(_flattened(polytope, matrix, bound, real, centre))
    return PolytopeSampler(start, basis, _inside(matrix, bound, centre))


def _centre(matrix: Floats, bound: Floats) -> tuple[Floats, float]:
    """The centre and radius of the largest ball inside; the rows have length 1."""
    width = matrix.shape[1]
    cost = np.zeros(width + 1)
    cost[-1] = -1.0
    rows = np.column_stack([matrix, np.ones(len(matrix))])
    # The radius is capped, so that the program is bounded whatever rounding does to the rows.
    ball = _solved(cost, np.vstack([rows, -cost]), np.append(bound, 1e9), np.zeros((0, width + 1)), np.zeros(0))
    return (np.zeros(width), 0.0) if ball is None else (ball[:-1], float(ball[-1]))


def _flattened(polytope: LinearSystem, matrix: Floats, bound: Floats, real: Floats, centre: Floats) -> LinearSystem:
    """The same polytope, with inequalities that cannot be satisfied strictly as equations."""
    tight = np.zeros(len(polytope.bound), dtype=bool)
    for index, row, edge in zip(np.flatnonzero(real), matrix, bound, strict=True):
        point = _solved(row, matrix, bound, np.zeros((0, len(centre))), np.zeros(0))
        tight[index] = point is None or edge - row @ point <= 10 * _FLAT
    if not tight.any():
        raise NumericalError("a part of a reachable set is too thin to tell whether it is flat; widen its constraints")
    return LinearSystem(
        polytope.matrix[~tight],
        polytope.bound[~tight],
        np.vstack([polytope.equal, polytope.matrix[tight]]),
        np.concatenate([polytope.level, polytope.bound[tight]]),
    )


def _inside(matrix: Floats, bound: Floats, centre: Floats) -> Inside:
    """A full-dimensional polytope ready for drawing."""
    if matrix.shape[1] == 1:
        ends = bound / matrix[:, 0]
        low, high = ends[matrix[:, 0] < 0].max(), ends[matrix[:, 0] > 0].min()
        return Simplices(np.asarray([[[low], [high]]]), np.asarray([high - low]))
    if matrix.shape[1] <= _EXACT_DIMENSIONS:
        return _simplices(matrix, bound, centre)
    return PolytopeWalk(matrix, bound, centre, rounded(matrix, bound - matrix @ centre, np.random.default_rng(0)))


def _simplices(matrix: Floats, bound: Floats, centre: Floats) -> Simplices:
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
    """A point of least cost; ``None`` where there is no point."""
    from scipy.optimize import linprog

    result = linprog(
        cost,
        A_ub=matrix if len(matrix) else None,
        b_ub=bound if len(bound) else None,
        A_eq=equal if len(equal) else None,
        b_eq=level if len(level) else None,
        bounds=(None, None),
        method="highs",
    )
    if result.status == 2:
        return None
    if result.status != 0:
        raise NumericalError(f"a linear program about a reachable set was not solved: {result.message}")
    return np.asarray(result.x, dtype=np.float64)


def hit_and_run(matrix: Floats, bound: Floats, n: int, rng: np.random.Generator) -> Floats:
    """End points of independent walks from the origin in a bounded polytope, ``matrix @ z <= bound``."""
    width = matrix.shape[1]
    return _walked(matrix, bound, np.zeros((n, width)), 30 + 10 * width * width, np.inf, rng)


def rounded(matrix: Floats, bound: Floats, rng: np.random.Generator) -> Floats:
    """A linear map under which the polytope's inverse image is about equally wide in all directions.

    It begins with the ellipsoid of the logarithmic barrier at the origin, which is already near that shape.
    """
    width = matrix.shape[1]
    curvature = (matrix / bound[:, None] ** 2).T @ matrix
    spread = np.asarray(np.linalg.inv(np.linalg.cholesky(curvature)).T, dtype=np.float64)
    for _ in range(2):
        start = np.zeros((_SCOUTS * width, width))
        points = _walked(matrix @ spread, bound, start, 15 * width, np.inf, rng) @ spread.T
        spread = np.asarray(np.linalg.cholesky(np.cov(points.T)), dtype=np.float64)
    return spread


def volume(matrix: Floats, bound: Floats, rng: np.random.Generator) -> float:
    """The logarithm of a polytope's volume, estimated; the origin lies inside.

    The polytope is cut off by balls around the origin whose radius grows by ``2 ** (1 / d)``, from the largest ball
    inside it: each body has at most twice the volume of the one before, so that the points of one are a good start in
    the next. With 4,000 walks a ratio is known to about 1.6%, and some tens of ratios to about 8% together. What
    lies beyond a ball that holds 99.9% of the next body is left out.
    """
    from scipy.special import gammaln

    width = matrix.shape[1]
    radius = float((bound / np.linalg.norm(matrix, axis=1)).min())
    total = 0.5 * width * np.log(np.pi) - float(gammaln(0.5 * width + 1)) + width * np.log(radius)
    points = rng.standard_normal((_WALKS, width))
    points *= radius * rng.random((_WALKS, 1)) ** (1.0 / width) / np.linalg.norm(points, axis=1, keepdims=True)
    while True:
        larger = radius * 2.0 ** (1.0 / width)
        points = _walked(matrix, bound, points, 20 + 5 * width, larger, rng)
        inner = float((np.linalg.norm(points, axis=1) <= radius).mean())
        total -= np.log(inner)
        radius = larger
        if inner > 0.999:
            return float(total)


def _walked(
    matrix: Floats, bound: Floats, start: Floats, steps: int, radius: float, rng: np.random.Generator
) -> Floats:
    """The end points of walks that stay in the polytope and within a distance from the origin."""
    point = start.copy()
    left: Floats = bound - point @ matrix.T  # the slack to each face
    for _ in range(steps):
        way = rng.standard_normal(point.shape)
        way /= np.linalg.norm(way, axis=1, keepdims=True)
        speed = way @ matrix.T
        least, most = _chord(left, speed)
        if radius < np.inf:
            least, most = _within(point, way, radius, least, most)
        far = (least + (most - least) * rng.random(len(point)))[:, None]
        point += far * way
        left = np.maximum(left - far * speed, 0.0)
    return point


def _chord(left: Floats, speed: Floats) -> tuple[Floats, Floats]:
    """How far a line goes backwards and forwards before it meets a face."""
    with np.errstate(divide="ignore", invalid="ignore"):
        hits = left / speed
    return np.where(speed < 0, hits, -np.inf).max(1), np.where(speed > 0, hits, np.inf).min(1)


def _within(point: Floats, way: Floats, radius: float, least: Floats, most: Floats) -> tuple[Floats, Floats]:
    """The part of each line that lies in a ball around the origin."""
    along = (point * way).sum(1)
    half = np.sqrt(np.maximum(along**2 + radius**2 - (point**2).sum(1), 0.0))
    return np.maximum(least, -along - half), np.minimum(most, -along + half)


_ROWS = 1 << 18
"""Proposals that are held at once: tens of megabytes."""
_MAX_TRIES = 1_000_000
"""Proposals for each draw before giving up; solved and cut blocks never need so many."""
_MAX_SLICES = 100_000
"""Slices of one person's moves; more take too long to measure."""
_SLACK = 1e-9
"""The rounding allowed for rows, relative to their size; a slice that is allowed only by it is left out as spurious."""
_TOO_MANY = (
    f"a block of whole and real features falls into more than {_MAX_SLICES:,} pieces; give the whole features fewer "
    "values, or narrower steps"
)


def accepted_share(block: FeatureBlock, boxes: Boxes, tries: int, rng: np.random.Generator) -> Floats:
    """The share of proposals that are allowed, for each person."""
    count = len(boxes.start)
    accepted = np.zeros(count)
    size = max(_ROWS // tries, 1)
    for first in range(0, count, size):
        owner = np.repeat(np.arange(first, min(first + size, count)), tries)
        here = boxes.at(owner)
        accepted += np.bincount(owner[here.allowed(block, _proposed(block, here, rng))], minlength=count)
    return accepted / tries


def draw_by_proposals(block: FeatureBlock, boxes: Boxes, n: int, rng: np.random.Generator) -> Floats:
    """``n`` independent uniform moves of each person, of shape ``(people, n, columns)``.

    Guarantee: given that it returns, each draw has the uniform law on the person's moves, and draws are independent. It
    gives up where a person's proposals are refused a million times in a row.
    """
    drawn = np.full((len(boxes.start) * n, boxes.start.shape[1]), np.nan)
    wanted, tries = np.arange(len(drawn)), 0
    while len(wanted):
        if tries > _MAX_TRIES:
            names = ", ".join(feature.name for feature in block.features)
            raise NumericalError(
                f"no allowed change of {names} was found for a person among {tries:,} proposals. Loosen the "
                "constraints, or write them as linear ones, which are drawn from directly."
            )
        times = max(1, min(_ROWS // len(wanted), 64))
        for first in range(0, len(wanted), _ROWS):
            _fill(block, boxes, drawn, wanted[first : first + _ROWS], n, times, rng)
        wanted = wanted[np.isnan(drawn[wanted, 0])]
        tries += times
    return drawn.reshape(len(boxes.start), n, -1)


def _fill(
    block: FeatureBlock,
    boxes: Boxes,
    drawn: Floats,
    slots: NDArray[np.intp],
    n: int,
    times: int,
    rng: np.random.Generator,
) -> None:
    """Make ``times`` proposals for each slot, and give it the first that is allowed."""
    slot = np.repeat(np.arange(len(slots)), times)
    here = boxes.at(slots[slot] // n)
    acted = _proposed(block, here, rng)
    accepted = np.flatnonzero(here.allowed(block, acted))
    filled, first = np.unique(slot[accepted], return_index=True)
    drawn[slots[filled]] = acted[accepted[first]]


def _proposed(block: FeatureBlock, boxes: Boxes, rng: np.random.Generator) -> Floats:
    """One uniform point of each row's box; what cannot be acted on stays at its only value."""
    acted = boxes.low.copy()
    for j in block.free:
        low, high = boxes.low[:, j], boxes.high[:, j]
        share = rng.random(len(low))
        acted[:, j] = low + (np.floor(share * (high - low + 1.0)) if block.features[j].whole else share * (high - low))
    return acted


@dataclass(frozen=True, slots=True, eq=False)
class MoveSlice:
    """The moves with the same whole values: ``acted`` has these, and each sampler draws the columns named with it."""

    acted: Floats
    samplers: tuple[tuple[tuple[int, ...], PolytopeSampler], ...]

    @property
    def dimension(self) -> int:
        """The dimension of the real part."""
        return sum(sampler.dimension for _, sampler in self.samplers)

    @property
    def log_volume(self) -> float:
        """The logarithm of the volume of the real part."""
        return sum(sampler.log_volume for _, sampler in self.samplers)


@dataclass(frozen=True, slots=True, eq=False)
class MoveSlices:
    """The slices of one person's moves, with their shares of the uniform law.

    ``exact`` says that the shares and the draws are exact, up to rounding.
    """

    slices: tuple[MoveSlice, ...]
    shares: Floats
    low: Floats
    width: Floats
    exact: bool

    def only(self, one: MoveSlice) -> MoveSlices:
        """A single slice, in the same box."""
        return MoveSlices((one,), np.ones(1), self.low, self.width, True)

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Uniform moves, as acted values."""
        which = rng.choice(len(self.slices), size=n, p=self.shares)
        acted = np.empty((n, len(self.low)))
        for number in np.unique(which):
            rows = np.flatnonzero(which == number)
            acted[rows] = self.slices[number].acted
            for columns, sampler in self.slices[number].samplers:
                at = list(columns)
                acted[np.ix_(rows, at)] = self.low[at] + self.width[at] * sampler.draw(len(rows), rng)
        return acted


def slices_of(block: FeatureBlock, start: Floats, low: Floats, high: Floats) -> MoveSlices:
    """Cut one person's moves in a block into polytopes; every move lies in the box from ``low`` to ``high``."""
    program = program_of(block, start, (low, high))
    width = np.where(high > low, high - low, 1.0)
    slices = [_slice(program, leaf, len(start), low, width) for leaf in _leaves(program)]
    real = [one for one in slices if one is not None and not _spurious(block, start, one, low, width)]
    if not real:
        real = [MoveSlice(start, ())]
    highest = max(one.dimension for one in real)
    largest = tuple(one for one in real if one.dimension == highest)
    logs = np.asarray([one.log_volume for one in largest] if len(largest) > 1 else [0.0])
    shares = np.exp(logs - logs.max())
    exact = all(sampler.exact for one in largest for _, sampler in one.samplers)
    return MoveSlices(largest, shares / shares.sum(), low, width, exact)


def _spurious(block: FeatureBlock, start: Floats, one: MoveSlice, low: Floats, width: Floats) -> bool:
    """Whether a slice lies on a boundary that rows cannot exclude, such as that of a strict inequality.

    The constraints with linear rows allow or forbid a slice as a whole, except for its own boundary; the majority of a
    few points in it says which.
    """
    acted = MoveSlices((one,), np.ones(1), low, width, True).draw(16, np.random.default_rng(0))
    here = np.repeat(start[None], len(acted), axis=0)
    least, most = block.ranges(here)
    moves = block.moves(here, acted, least, most)
    allowed = np.ones(len(acted), dtype=bool)
    for constraint, indices, _ in linear_constraints(block, scope_of(block, start, least[0], most[0])):
        allowed &= constraint.holds(moves.only(indices))
    return not np.median(allowed | (acted == start).all(1))


def _leaves(program: MixedIntegerProgram) -> NDArray[np.float64]:
    """Every choice of the whole variables for which the rows may still be satisfied; other variables are unchanged."""
    low, high = program.least[None], program.most[None]
    up, down = np.maximum(program.matrix, 0.0).T, np.minimum(program.matrix, 0.0).T
    slack = _SLACK * (1.0 + np.abs(program.matrix).sum(1))
    for column in np.flatnonzero(program.whole & (program.most > program.least)):
        times = high[:, column] - low[:, column] + 1.0
        if times.sum() > 20 * _MAX_SLICES:
            raise NumericalError(_TOO_MANY)
        row = np.repeat(np.arange(len(times)), times.astype(np.intp))
        low, high = low[row], high[row]
        low[:, column] += np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times.astype(np.intp))
        high[:, column] = low[:, column]
        keep = (low @ up + high @ down <= program.high + slack) & (high @ up + low @ down >= program.low - slack)
        low, high = low[keep.all(1)], high[keep.all(1)]
        if len(low) > _MAX_SLICES:
            raise NumericalError(_TOO_MANY)
    return low


def _slice(program: MixedIntegerProgram, leaf: Floats, count: int, least: Floats, width: Floats) -> MoveSlice | None:
    """The real part of a leaf, in units of each feature's range; ``None`` where it is empty."""
    real = np.flatnonzero(~program.whole[:count] & (program.most > program.least)[:count])
    base = leaf.copy()
    base[real] = least[real]
    fixed = program.matrix @ base
    rows = program.matrix[:, real] * width[real]
    low, high = program.low - fixed, program.high - fixed
    used = (rows != 0).any(1)
    slack = _SLACK * (1.0 + np.abs(fixed))
    if ((low > slack) | (high < -slack))[~used].any():
        return None
    rows, low, high = rows[used], low[used], high[used]
    samplers = []
    for group in components(len(real), [np.flatnonzero(row).tolist() for row in rows]):
        mine = (rows[:, group] != 0).any(1)
        sampler = polytope_sampler(_in_unit_box(rows[mine][:, group], low[mine], high[mine]))
        if sampler is None:
            return None
        samplers.append((tuple(int(real[j]) for j in group), sampler))
    return MoveSlice(base[:count], tuple(samplers))


def _in_unit_box(rows: Floats, low: Floats, high: Floats) -> LinearSystem:
    """Rows with two ends as inequalities and equations, inside the unit box."""
    size = rows.shape[1]
    same = low == high
    above, below = ~same & np.isfinite(high), ~same & np.isfinite(low)
    matrix = np.vstack([np.eye(size), -np.eye(size), rows[above], -rows[below]])
    bound = np.concatenate([np.ones(size), np.zeros(size), high[above], -low[below]])
    return LinearSystem(matrix, bound, rows[same], high[same])
