"""The definitions of fairness as shadows: what fair worlds produce, and what unfair ones do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.evidence.shadows.region import CellRegion, Refuted, reach
from isonomia.evidence.shadows.shadow import Shadow
from isonomia.evidence.strata.assumptions import Constraint
from isonomia.evidence.strata.effects import Effect, effect_row, effect_rows, stratum_row
from isonomia.evidence.strata.worlds import Shape, observation

__all__ = ["Side", "assumed_shadow", "effect_interval", "fair_shadow", "side_shadow", "unfair_shadows"]

Floats = NDArray[np.float64]

Side: TypeAlias = Literal[">=", "<="]


def assumed_shadow(shape: Shape, assumptions: Sequence[Constraint] = (), *, zero: Sequence[Effect] = ()) -> Shadow:
    """What the mixtures produce that satisfy the assumptions and have the effects ``zero`` equal to 0."""
    zeros = (effect_rows(shape, zero), np.zeros(len(zero)))
    return Shadow.of(observation(shape), zeros, _rows(shape, assumptions))


def fair_shadow(
    shape: Shape,
    effects: Sequence[Effect],
    margin: float = 0.0,
    *,
    normalised: bool = False,
    assumptions: Sequence[Constraint] = (),
) -> Shadow:
    """What the mixtures produce in which every effect is at most ``margin`` in size.

    A mixture with nobody in a stratum is fair in that stratum.
    """
    if margin == 0.0:
        return assumed_shadow(shape, assumptions, zero=effects)
    over = [_over(shape, effect, margin, sign, normalised) for effect in effects for sign in (1.0, -1.0)]
    given, bounds = _rows(shape, assumptions)
    return Shadow.of(observation(shape), None, (np.vstack([given, *over]), np.append(bounds, np.zeros(len(over)))))


def unfair_shadows(
    shape: Shape,
    effects: Sequence[Effect],
    margin: float,
    *,
    normalised: bool = False,
    assumptions: Sequence[Constraint] = (),
) -> tuple[Shadow, ...]:
    """What the mixtures produce in which some effect is at least ``margin`` in size: one piece an effect and sign.

    Pieces are closed, so mixtures with an effect of exactly ``margin`` count for both sides. Of a normalised effect the
    closure includes mixtures with nobody in the stratum: where the stratum may be empty, fairness cannot be proved.
    """
    sides: tuple[tuple[Side, float], ...] = ((">=", margin), ("<=", -margin))
    pieces = [
        side_shadow(shape, effect, value, side, normalised=normalised, assumptions=assumptions)
        for effect in effects
        for side, value in sides
    ]
    return tuple(piece for piece in pieces if not piece.is_empty())


def side_shadow(
    shape: Shape,
    effect: Effect,
    value: float,
    side: Side,
    *,
    normalised: bool = False,
    assumptions: Sequence[Constraint] = (),
) -> Shadow:
    """What the mixtures produce in which an effect is at least, or at most, a value."""
    sign = -1.0 if side == ">=" else 1.0
    given, bounds = _rows(shape, assumptions)
    row = _over(shape, effect, sign * value, sign, normalised)
    return Shadow.of(observation(shape), None, (np.vstack([given, row]), np.append(bounds, 0.0)))


def effect_interval(
    region: CellRegion,
    shape: Shape,
    effect: Effect,
    *,
    normalised: bool = False,
    zero: Sequence[Effect] = (),
    assumptions: Sequence[Constraint] = (),
) -> tuple[float, float] | Refuted:
    """Enclose an effect: its sharp bounds, widened by what a finite sample leaves open.

    Guarantee: let the assumptions be true and the effects ``zero`` be zero. With probability at least ``1 - delta`` of
    the region, the interval holds the true effect at all times, for all effects of the same region together. As the
    sample grows it shrinks to the sharp bounds for the true table, which need not be a point.

    Parameters
    ----------
    region
        What the draws so far do not refute; its channels are the attribute values and its cells those of ``shape``.
    shape
        How many values attribute, prediction and outcome have.
    effect
        What to enclose.
    normalised
        Whether to enclose ``tau``, the effect within its stratum, or ``tau'``, its share of the whole population.
    zero
        Effects that are fixed at zero, for joint statements.
    assumptions
        What is taken for granted.
    """
    over = stratum_row(shape, effect.stratum) if normalised else None
    return reach(region, assumed_shadow(shape, assumptions, zero=zero), effect_row(shape, effect), over)


def _over(shape: Shape, effect: Effect, value: float, sign: float, normalised: bool) -> Floats:
    """The row over worlds that is positive for mixtures with ``sign * effect > value`` and negative for ``<``."""
    stratum = stratum_row(shape, effect.stratum) if normalised else np.ones(shape.worlds)
    return np.asarray(sign * effect_row(shape, effect) - value * stratum)


def _rows(shape: Shape, assumptions: Sequence[Constraint]) -> tuple[Floats, Floats]:
    matrix = np.asarray([each.row for each in assumptions]).reshape(len(assumptions), shape.worlds)
    return matrix, np.asarray([each.bound for each in assumptions], dtype=float)
