"""Definitions of fairness as sets; directions; many subgroups.

The definitions of fairness as shadows: what fair worlds produce, and what unfair ones do.

In which direction an effect goes: bets against "at most this" and against "at least this".

A refuted definition says that something is unfair, not to whose favour. The direction is a claim of its own, refuted
and proved like any other: ``tau > value`` is proved by refuting the mixtures with ``tau <= value``. Where one effect
makes the definition, that takes about as many draws as refuting the definition did, since the nearest mixture of either
sort has ``tau = value``. The bets speak much earlier than the interval of a region, which covers all effects at once
and pays for it.

One claim over many subgroups: fair in all of them, or where not.

Subgroups are disjoint sets of people, and each has a wealth of its own against "fair here". Four questions are asked of
the same wealths, each with a guarantee of its own; which one is meant must be said before the draws are seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from isonomia.errors import UsageError
from isonomia.evidence.identified.bets import State, begin, step
from isonomia.evidence.identified.identified_set import Shadow
from isonomia.evidence.identified.region import CellRegion, Refuted, reach
from isonomia.evidence.multiple import e_bh, holm
from isonomia.evidence.strata.assumptions import Constraint
from isonomia.evidence.strata.effects import Effect, effect_row, effect_rows, stratum_row
from isonomia.evidence.strata.worlds import Shape, observation

__all__ = [
    "Directions",
    "Overall",
    "Side",
    "assumed_shadow",
    "average_wealth",
    "directions",
    "discovered",
    "effect_interval",
    "fair_shadow",
    "joint_wealth",
    "side_shadow",
    "surely_unfair",
    "unfair_shadows",
    "watch",
]


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


Integers = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Directions:
    """For each effect the mixtures in which it is at least a value, and those in which it is at most the value.

    Guarantee: for each effect and each subgroup, "above" is ever said of an effect that is not above the value with
    probability at most ``delta``, and "below" of one that is not below it with probability at most ``delta``. Nothing
    is said about several effects or subgroups together; for that divide ``delta`` by their number.
    """

    delta: float
    at_least: tuple[Shadow, ...]
    at_most: tuple[Shadow, ...]

    def begin(self, subgroups: int = 1) -> tuple[State, ...]:
        """A wealth of 1 everywhere."""
        return tuple(begin(shadow, subgroups) for shadow in (*self.at_least, *self.at_most))

    def step(self, state: tuple[State, ...], counts: Floats) -> tuple[State, ...]:
        """Take in one batch: ``counts[g, a, c]`` draws of subgroup ``g`` with attribute value ``a`` in cell ``c``."""
        pairs = zip((*self.at_least, *self.at_most), state, strict=True)
        return tuple(step(shadow, before, counts) for shadow, before in pairs)

    def signs(self, state: tuple[State, ...]) -> Integers:
        """1 for above, -1 for below, 0 for not known: shape ``(subgroups, effects)``.

        It is 0 also where both are refuted, which can only be by chance or because an assumption is false.
        """
        refuted = np.stack([one.peak >= np.log(1.0 / self.delta) for one in state], axis=-1).astype(np.intp)
        return np.asarray(refuted[:, len(self.at_least) :] - refuted[:, : len(self.at_least)])


def directions(
    shape: Shape,
    effects: Sequence[Effect],
    delta: float,
    *,
    value: float = 0.0,
    normalised: bool = False,
    assumptions: Sequence[Constraint] = (),
) -> Directions:
    """Prepare the bets on the directions of effects.

    ``value`` is what they are compared with; the other arguments are those of
    :func:`~isonomia.evidence.fair_worlds.fair_worlds`.
    """
    if not 0.0 < delta < 1.0:
        raise UsageError(f"expected delta between 0 and 1, but delta={delta!r} came")

    def all_at(side: Side) -> tuple[Shadow, ...]:
        return tuple(
            side_shadow(shape, effect, value, side, normalised=normalised, assumptions=assumptions)
            for effect in effects
        )

    return Directions(delta, all_at(">="), all_at("<="))


Booleans = NDArray[np.bool_]


def joint_wealth(log_wealths: ArrayLike) -> float:
    """The logarithm of the product of wealths against "fair here", all after the same batch.

    Guarantee: while *every* subgroup is fair, the product is a non-negative supermartingale that starts at 1. Given the
    past and to which subgroup and channel each draw of a batch belongs, draws of different subgroups are independent,
    so the expected product of the subgroups' factors is the product of their expectations, each at most 1.

    It grows fast when many subgroups are a little unfair, and suffers from those that lost. The product of *peaks* has
    no such guarantee: the subgroups reach them at different times.
    """
    return float(np.sum(log_wealths))


def average_wealth(log_wealths: ArrayLike) -> float:
    """The logarithm of the mean of wealths against "fair here", all after the same batch.

    Guarantee: as for the product, and however the subgroups' draws depend on each other, since expectations add. It
    grows fast when one subgroup is very unfair, and costs ``log`` of the number of subgroups. That number must be fixed
    before the draws are seen: a mean over more and more of them is no supermartingale.
    """
    logs = np.asarray(log_wealths, dtype=float)
    return float(logsumexp(logs) - np.log(len(logs)))


@dataclass(frozen=True, slots=True)
class Overall:
    """The wealth against "fair in every subgroup": half of it in the product, half in the average.

    Guarantee: while every subgroup is fair, ``P(there is a batch with peak >= log(1/delta)) <= delta``, since a mean
    of supermartingales is one. Against a violation anywhere it is within ``log 2`` of the better of the two.
    """

    log_wealth: float = 0.0
    peak: float = 0.0


def watch(overall: Overall, log_wealths: ArrayLike) -> Overall:
    """Look at the subgroups' wealths after one more batch."""
    both = np.asarray([joint_wealth(log_wealths), average_wealth(log_wealths)])
    now = float(logsumexp(both) - np.log(2.0))
    return Overall(now, max(overall.peak, now))


def surely_unfair(peaks: ArrayLike, delta: float) -> Booleans:
    """Name unfair subgroups so that *any* fair one is ever named with probability at most ``delta``.

    Guarantee: by Ville's inequality ``exp(-peak)`` is a p-value that is valid at all times, and Holm's procedure keeps
    the family-wise error however the subgroups depend on each other. Naming may be repeated after every batch: to name
    a fair one at any time, the p-value of one of the ``m`` fair subgroups must reach ``delta / m``, which ever happens
    with probability at most ``delta / m`` each.
    """
    return holm(np.exp(-np.maximum(peaks, 0.0)), delta)


def discovered(log_wealths: ArrayLike, delta: float) -> Booleans:
    """Name unfair subgroups so that the expected share of fair ones among the named is at most ``delta``.

    Guarantee: at one stopping time, chosen in any way from the past; e-values there, hence the wealths *now*, not their
    peaks. However the subgroups depend on each other (Wang and Ramdas 2022).
    """
    return e_bh(np.exp(np.minimum(log_wealths, 700.0)), delta)
