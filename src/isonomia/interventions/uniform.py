"""Uniform draws from the moves of a block.

Usually, points of each person's box are proposed, and those that the constraints allow are kept. Where almost none are
allowed, the moves are cut into *slices*, one polytope of real values for each choice of the whole values.

The uniform law on such a set counts whole values and measures real ones. The weight of a slice is the volume of its
real part. Where slices differ in dimension, those of the highest dimension have all the weight, as they do for any
sampler that proposes points of the whole box; real features are measured in units of their own range.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import NumericalError
from isonomia.interventions.blocks import Boxes, FeatureBlock, components
from isonomia.interventions.constraints import Predicate
from isonomia.interventions.constraints.base import Floats
from isonomia.interventions.milp import MixedIntegerProgram, program_of
from isonomia.interventions.polytopes import LinearSystem, PolytopeSampler, polytope_sampler

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
    kept = np.flatnonzero(here.allowed(block, acted))
    filled, first = np.unique(slot[kept], return_index=True)
    drawn[slots[filled]] = acted[kept[first]]


def _proposed(block: FeatureBlock, boxes: Boxes, rng: np.random.Generator) -> Floats:
    """One uniform point of each row's box; what cannot be acted on stays at its only value."""
    acted = boxes.low.copy()
    for j in block.free:
        low, high = boxes.low[:, j], boxes.high[:, j]
        share = rng.random(len(low))
        acted[:, j] = low + (np.floor(share * (high - low + 1.0)) if block.features[j].whole else share * (high - low))
    return acted


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
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
class Slices:
    """The slices of one person's moves, with their shares of the uniform law.

    ``exact`` says that the shares and the draws are exact, up to rounding.
    """

    slices: tuple[Slice, ...]
    shares: Floats
    low: Floats
    width: Floats
    exact: bool

    def only(self, one: Slice) -> Slices:
        """A single slice, in the same box."""
        return Slices((one,), np.ones(1), self.low, self.width, True)

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


def slices_of(block: FeatureBlock, start: Floats, low: Floats, high: Floats) -> Slices:
    """Cut one person's moves in a block into polytopes; every move lies in the box from ``low`` to ``high``."""
    program = program_of(block, start, (low, high))
    width = np.where(high > low, high - low, 1.0)
    slices = [_slice(program, leaf, len(start), low, width) for leaf in _leaves(program)]
    real = [one for one in slices if one is not None and not _spurious(block, start, one, low, width)]
    if not real:
        real = [Slice(start, ())]
    highest = max(one.dimension for one in real)
    largest = tuple(one for one in real if one.dimension == highest)
    logs = np.asarray([one.log_volume for one in largest])
    shares = np.exp(logs - logs.max())
    exact = all(sampler.exact for one in largest for _, sampler in one.samplers)
    return Slices(largest, shares / shares.sum(), low, width, exact)


def _spurious(block: FeatureBlock, start: Floats, one: Slice, low: Floats, width: Floats) -> bool:
    """Whether a slice lies on a boundary that rows cannot exclude, such as that of a strict inequality.

    The constraints with linear rows allow or forbid a slice as a whole, except for its own boundary; the majority of a
    few points in it says which.
    """
    acted = Slices((one,), np.ones(1), low, width, True).draw(16, np.random.default_rng(0))
    here = np.repeat(start[None], len(acted), axis=0)
    moves = block.moves(here, acted, *block.ranges(here))
    allowed = np.ones(len(acted), dtype=bool)
    for constraint, indices in block.constraints:
        if not isinstance(constraint, Predicate):
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


def _slice(program: MixedIntegerProgram, leaf: Floats, count: int, least: Floats, width: Floats) -> Slice | None:
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
    return Slice(base[:count], tuple(samplers))


def _in_unit_box(rows: Floats, low: Floats, high: Floats) -> LinearSystem:
    """Rows with two ends as inequalities and equations, inside the unit box."""
    size = rows.shape[1]
    same = low == high
    above, below = ~same & np.isfinite(high), ~same & np.isfinite(low)
    matrix = np.vstack([np.eye(size), -np.eye(size), rows[above], -rows[below]])
    bound = np.concatenate([np.ones(size), np.zeros(size), high[above], -low[below]])
    return LinearSystem(matrix, bound, rows[same], high[same])
