"""A tight block of whole and real features as polytopes: one for each way of choosing what is whole.

The uniform law on such a set counts whole values and measures real ones. A piece weighs as much as the volume of its
real part. Where the pieces differ in dimension, those of the highest weigh everything, as they do for any sampler that
proposes points of the whole box; real features are measured in units of their own range.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import NumericalError
from isonomia.interventions.blocks import Block, components
from isonomia.interventions.constraints import Predicate
from isonomia.interventions.constraints.moves import Floats
from isonomia.interventions.polytopes import Polytope, Shape, shape_of
from isonomia.interventions.program import Program, program_of

__all__ = ["Piece", "Pieces", "pieces_of"]

_MOST_PIECES = 100_000
_SLACK = 1e-9
_TOO_MANY = (
    f"a block of whole and real features falls into more than {_MOST_PIECES:,} pieces; give the whole features fewer "
    "values, or narrower steps"
)


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """The moves with the same whole values: ``acted`` has them, and each shape gives the real columns named with it."""

    acted: Floats
    shapes: tuple[tuple[tuple[int, ...], Shape], ...]

    @property
    def dimension(self) -> int:
        """Of the real part."""
        return sum(shape.dimension for _, shape in self.shapes)

    @property
    def log_volume(self) -> float:
        """Of the real part."""
        return sum(shape.log_volume for _, shape in self.shapes)


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """The pieces of one person's moves, with their shares of the uniform law.

    ``exact`` says that the shares and the draws are exact, up to rounding.
    """

    pieces: tuple[Piece, ...]
    shares: Floats
    low: Floats
    width: Floats
    exact: bool

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Uniform moves, as acted values."""
        which = rng.choice(len(self.pieces), size=n, p=self.shares)
        acted = np.empty((n, len(self.low)))
        for number in np.unique(which):
            rows = np.flatnonzero(which == number)
            piece = self.pieces[number]
            acted[rows] = piece.acted
            for columns, shape in piece.shapes:
                at = list(columns)
                acted[np.ix_(rows, at)] = self.low[at] + self.width[at] * shape.draw(len(rows), rng)
        return acted


def pieces_of(block: Block, start: Floats, low: Floats, high: Floats) -> Pieces:
    """Cut one person's moves in a block into polytopes.

    Parameters
    ----------
    block
        Some of whose features may be real.
    start
        Where the person is.
    low, high
        A box of acted values that holds every move.

    Raises
    ------
    NumericalError
        Where there are too many pieces.
    """
    program = program_of(block, start, (low, high))
    width = np.where(high > low, high - low, 1.0)
    found = [_piece(program, leaf, len(start), low, width) for leaf in _leaves(program)]
    pieces = [piece for piece in found if piece is not None and not _spurious(block, start, piece, low, width)]
    if not pieces:
        pieces = [Piece(start, ())]
    highest = max(piece.dimension for piece in pieces)
    kept = tuple(piece for piece in pieces if piece.dimension == highest)
    logs = np.asarray([piece.log_volume for piece in kept])
    shares = np.exp(logs - logs.max())
    exact = all(shape.exact for piece in kept for _, shape in piece.shapes)
    return Pieces(kept, shares / shares.sum(), low, width, exact)


def _spurious(block: Block, start: Floats, piece: Piece, low: Floats, width: Floats) -> bool:
    """Whether a piece lies on a boundary that rows cannot leave out, as those of a strict inequality.

    A piece is allowed or forbidden as a whole, but for its own boundary, by the constraints that have linear rows.
    """
    acted = Pieces((piece,), np.ones(1), low, width, True).draw(16, np.random.default_rng(0))
    here = np.repeat(start[None], len(acted), axis=0)
    moves = block.moves(here, acted, *block.ranges(here))
    allowed = np.ones(len(acted), dtype=bool)
    for constraint, places in block.constraints:
        if not isinstance(constraint, Predicate):
            allowed &= constraint.holds(moves.only(places))
    return not np.median(allowed | (acted == start).all(1))


def _leaves(program: Program) -> NDArray[np.float64]:
    """Every choice of the whole variables from which the rows can still be satisfied; the rest is left as it was."""
    low, high = program.least[None], program.most[None]
    up, down = np.maximum(program.matrix, 0.0).T, np.minimum(program.matrix, 0.0).T
    slack = _SLACK * (1.0 + np.abs(program.matrix).sum(1))
    for column in np.flatnonzero(program.whole & (program.most > program.least)):
        times = high[:, column] - low[:, column] + 1.0
        if times.sum() > 20 * _MOST_PIECES:
            raise NumericalError(_TOO_MANY)
        row = np.repeat(np.arange(len(times)), times.astype(np.intp))
        low, high = low[row], high[row]
        low[:, column] += np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times.astype(np.intp))
        high[:, column] = low[:, column]
        keep = (low @ up + high @ down <= program.high + slack) & (high @ up + low @ down >= program.low - slack)
        low, high = low[keep.all(1)], high[keep.all(1)]
        if len(low) > _MOST_PIECES:
            raise NumericalError(_TOO_MANY)
    return low


def _piece(program: Program, leaf: Floats, count: int, least: Floats, width: Floats) -> Piece | None:
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
    shapes = []
    for group in components(len(real), [np.flatnonzero(row).tolist() for row in rows]):
        mine = (rows[:, group] != 0).any(1)
        shape = shape_of(_polytope(rows[mine][:, group], low[mine], high[mine]))
        if shape is None:
            return None
        shapes.append((tuple(int(real[j]) for j in group), shape))
    return Piece(base[:count], tuple(shapes))


def _polytope(rows: Floats, low: Floats, high: Floats) -> Polytope:
    """Rows with two ends as inequalities and equations, inside the unit box."""
    size = rows.shape[1]
    same = low == high
    above, below = ~same & np.isfinite(high), ~same & np.isfinite(low)
    matrix = np.vstack([np.eye(size), -np.eye(size), rows[above], -rows[below]])
    bound = np.concatenate([np.ones(size), np.zeros(size), high[above], -low[below]])
    return Polytope(matrix, bound, rows[same], high[same])
