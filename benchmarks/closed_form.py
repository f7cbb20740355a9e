"""Bounds in closed form for any number of tables at once, where attribute, prediction and outcome have two values.

Write ``b_a = P(S = 1, Y = y | A = a)`` and ``z_a = P(S = 0, Y = y | A = a)``, and let ``m`` be the probability of the
stratum ``Y(0) = Y(1) = y``. Within the stratum, ``P(S(1) = 1)`` may be anything from ``max(0, m - z_1)`` to
``min(m, b_1)``, and ``P(S(0) = 1)`` anything from ``max(0, m - z_0)`` to ``min(m, b_0)``, independently, because the
other strata take up what is left. So for given ``m``

    tau_y'  <=  min(m, b_1) - max(0, m - z_0)  =  min(m, b_1, z_0, b_1 + z_0 - m),

and the lower bound is minus the same with ``b_0`` and ``z_1``. Both strata hang on one unknown: if
``Y(0) = Y(1) = 1`` has probability ``x``, then ``Y(0) = Y(1) = 0`` has ``x + P(Y=0|A=0) - P(Y=1|A=1)``. Every bound is
then an extreme of a concave function of ``x`` with a few kinks, or of its ratio to a linear one, and is attained at a
kink or at an end. That gives all bounds without a solver; a test compares them with the linear programs of ``bounds``.

Two consequences for such tables. At the least possible ``x`` one of the two strata is empty, and there fairness is
easiest: Definition 1 is refuted exactly where Proposition 1's separate bounds refute it, so that fixing one effect at
zero adds nothing to the verdict. And Definition 2 is refuted exactly where Definition 1 is: where the upper bound on
``tau'`` is negative at the least ``x``, it falls from there. So both have the same repairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isonomia.errors import DataError
from isonomia.evidence.strata.bounds import NEGLIGIBLE
from isonomia.evidence.strata.worlds import checked_tables

__all__ = ["ClosedBounds", "closed_bounds", "corollary_1", "proposition_1"]

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class ClosedBounds:
    """Bounds of many tables: each array has the tables' leading axes, then lower and upper.

    Attributes
    ----------
    tau_1_unnormalised, tau_0_unnormalised, tau_unnormalised
        ``tau_1'``, ``tau_0'`` and ``tau'``.
    tau_1_given_tau_0_zero, tau_0_given_tau_1_zero
        ``tau_1'`` where ``tau_0' = 0``, and the other way round; NaN where no world produces the table so.
    tau_1, tau_0, tau
        The normalised effects, sharp; NaN where the stratum is certainly empty.
    counterfactual, equalized_odds
        The unnormalised effects of Definition 3, which the table determines, and of Definition 4.
    excess
        Without the last axis: by how much the table misses the nearest inequality that a world fair by Definition 1 or
        2 needs, negative where there is room.
    violated
        Without the last axis: whether every world that produces the table violates Definitions 1 and 2.
    """

    tau_1_unnormalised: Floats
    tau_0_unnormalised: Floats
    tau_unnormalised: Floats
    tau_1_given_tau_0_zero: Floats
    tau_0_given_tau_1_zero: Floats
    tau_1: Floats
    tau_0: Floats
    tau: Floats
    counterfactual: Floats
    equalized_odds: Floats
    excess: Floats
    violated: Booleans


@dataclass(frozen=True, slots=True, eq=False)
class _Stratum:
    """One stratum of equal outcomes; arrays over the tables.

    ``rising`` holds ``b_1, z_0`` and ``falling`` ``b_0, z_1``; ``least`` and ``most`` bound the stratum's probability;
    ``offset`` is what to add to the other unknown ``x`` to get it.
    """

    rising: tuple[Floats, Floats]
    falling: tuple[Floats, Floats]
    least: Floats
    most: Floats
    offset: Floats

    def mass(self, x: Floats) -> Floats:
        """The stratum's probability where the stratum of ``Y(0) = Y(1) = 1`` has probability ``x``."""
        return np.maximum(x + self.offset, 0.0)

    def upper(self, mass: Floats) -> Floats:
        """The greatest unnormalised effect where the stratum has this probability."""
        return _trapezoid(mass, *self.rising)

    def lower(self, mass: Floats) -> Floats:
        """The least one."""
        return np.asarray(0.0 - _trapezoid(mass, *self.falling))


def proposition_1(probabilities: ArrayLike) -> tuple[Floats, Floats]:
    """Bound ``tau_1`` and ``tau_0`` by the paper's Proposition 1: two arrays of shape ``(..., 2)``.

    Tables have shape ``(..., 2, 2, 2)``: ``P(S = s, Y = y | A = a)`` is at ``[..., a, s, y]``.

    Guarantee: each interval contains its effect in every world that produces the table and has somebody in the stratum.
    It is sharp where the stratum cannot be empty. Where it can, the interval is [-1, 1] by convention; with a cell of
    probability zero :func:`closed_bounds` may then know more. At most one of the two is informative.
    """
    zero, one = _strata(_binary(probabilities))
    return _at_least_mass(one), _at_least_mass(zero)


def corollary_1(probabilities: ArrayLike) -> Floats:
    """By how much each of Corollary 1's four inequalities holds: shape ``(..., 4)``.

    A positive entry proves that every world that produces the table violates Definitions 1 and 2; where none is
    positive, some world that produces it is fair by both. The first says ``tau_1 > 0``, the second ``tau_1 < 0``, the
    others the same of ``tau_0``.

    Notes
    -----
    As ``p_01 - p_10 = b_0 + z_0 + b_1 + z_1 - 1``, the first reads ``P(S=0, Y=1 | A=0) + P(S=1, Y=1 | A=1) > 1``, and
    the others likewise. One of them holds exactly where the instrumental inequality of Pearl (1995) fails, with A as
    the instrument, Y as the treatment and S as the response.
    """
    zero, one = _strata(_binary(probabilities))
    pairs = (one.rising, one.falling, zero.rising, zero.falling)
    return np.stack([first + second - 1.0 for first, second in pairs], axis=-1)


def closed_bounds(probabilities: ArrayLike) -> ClosedBounds:
    """Compute every bound of every table; tables are as in :func:`proposition_1`.

    Guarantee: each interval is the range of its effect over all distributions over worlds that produce the table and,
    where the effect is normalised, have somebody in the stratum. The ends are attained.
    """
    tables = _binary(probabilities)
    zero, one = _strata(tables)
    upper, lower, mass = _joint(zero, one)
    excess = corollary_1(tables).max(-1)
    return ClosedBounds(
        tau_1_unnormalised=_alone(one, one.most),
        tau_0_unnormalised=_alone(zero, zero.most),
        tau_unnormalised=np.stack([lower.min(-1), upper.max(-1)], axis=-1),
        tau_1_given_tau_0_zero=_given(one, zero),
        tau_0_given_tau_1_zero=_given(zero, one),
        tau_1=_normalised(one),
        tau_0=_normalised(zero),
        tau=_ratios(lower, upper, mass),
        counterfactual=np.repeat(_share_of_ones(tables, 1) - _share_of_ones(tables, 0), 2, axis=-1),
        equalized_odds=_equalized_odds(tables),
        excess=excess,
        violated=excess > NEGLIGIBLE,
    )


def _binary(probabilities: ArrayLike) -> Floats:
    tables = checked_tables(probabilities)
    if tables.shape[-3:] != (2, 2, 2):
        raise DataError(
            f"closed forms need two attribute values, predictions and outcomes, but got shape {tables.shape[-3:]}: "
            "use effect_bounds and normalised_bounds, which take any numbers"
        )
    return tables


def _strata(tables: Floats) -> tuple[_Stratum, _Stratum]:
    """The strata of outcome 0 and outcome 1."""
    outcomes = tables.sum(-2)
    offset = outcomes[..., 0, 0] - outcomes[..., 1, 1]
    return (
        _stratum(tables[..., 0], np.maximum(offset, 0.0), outcomes[..., 0].min(-1), offset),
        _stratum(tables[..., 1], np.maximum(-offset, 0.0), outcomes[..., 1].min(-1), np.zeros_like(offset)),
    )


def _stratum(cells: Floats, least: Floats, most: Floats, offset: Floats) -> _Stratum:
    """``cells`` holds ``P(S = s, Y = y | A = a)`` at ``[..., a, s]``."""
    z_0, b_0, z_1, b_1 = (cells[..., a, s] for a in (0, 1) for s in (0, 1))
    return _Stratum((b_1, z_0), (b_0, z_1), np.minimum(least, most), most, offset)


def _trapezoid(mass: Floats, b: Floats, z: Floats) -> Floats:
    """``min(m, b) - max(0, m - z)``."""
    return np.minimum(np.minimum(mass, b), np.minimum(z, b + z - mass))


def _alone(stratum: _Stratum, most: Floats) -> Floats:
    """Bounds of the unnormalised effect where the stratum has at most this mass: a trapezoid's top, or an end."""
    peak = np.clip(np.minimum(*stratum.rising), stratum.least, most)
    trough = np.clip(np.minimum(*stratum.falling), stratum.least, most)
    return np.stack([stratum.lower(trough), stratum.upper(peak)], axis=-1)


def _given(stratum: _Stratum, other: _Stratum) -> Floats:
    """The same where the effect in the other stratum is zero, which limits that one's probability and so this one's."""
    fair = np.minimum(other.most, np.minimum(sum(other.rising), sum(other.falling)))
    most = np.minimum(stratum.most, fair - other.offset + stratum.offset)
    possible = most >= stratum.least - NEGLIGIBLE
    bounds = _alone(stratum, np.maximum(most, stratum.least))
    return np.where(possible[..., None], bounds, np.nan)


def _joint(zero: _Stratum, one: _Stratum) -> tuple[Floats, Floats, Floats]:
    """Upper and lower bound of ``tau'`` and the probability of the union at every kink of either: a new last axis."""
    kinks = [one.least, one.most]
    for stratum in (zero, one):
        kinks += [edge - stratum.offset for edge in (*stratum.rising, *stratum.falling)]
    x = np.clip(np.stack(kinks, axis=0), one.least, one.most)
    first, second = zero.mass(x), one.mass(x)
    columns = (zero.upper(first) + one.upper(second), zero.lower(first) + one.lower(second), first + second)
    upper, lower, mass = (np.moveaxis(column, 0, -1) for column in columns)
    return upper, lower, mass


def _ratios(lower: Floats, upper: Floats, mass: Floats) -> Floats:
    """The extreme ratios over the kinks at which somebody is in the union.

    Where the union may be empty, numerator and denominator rise from zero in proportion up to the next kink, so that
    the kink at zero may be left out; and near zero a ratio would be noise.
    """
    there = mass > NEGLIGIBLE
    safe = np.where(there, mass, 1.0)
    least = np.where(there, lower / safe, np.inf).min(-1)
    most = np.where(there, upper / safe, -np.inf).max(-1)
    empty = mass.max(-1) <= NEGLIGIBLE
    return np.where(empty[..., None], np.nan, np.stack([least, most], axis=-1))


def _normalised(stratum: _Stratum) -> Floats:
    """Sharp bounds of the normalised effect.

    The upper bound over ``m`` is ``min(1, b/m, z/m, (b + z)/m - 1)``, which never rises with ``m``; so it is attained
    at the least mass, or near 0, where it is constant.
    """
    sharp = np.where((stratum.least > NEGLIGIBLE)[..., None], _at_least_mass(stratum), _at_no_mass(stratum))
    return np.where((stratum.most <= NEGLIGIBLE)[..., None], np.nan, sharp)


def _at_least_mass(stratum: _Stratum) -> Floats:
    mass = np.where(stratum.least > NEGLIGIBLE, stratum.least, 1.0)
    ends = np.stack([stratum.lower(mass) / mass, stratum.upper(mass) / mass], axis=-1)
    return np.where((stratum.least > NEGLIGIBLE)[..., None], ends, np.asarray([-1.0, 1.0]))


def _at_no_mass(stratum: _Stratum) -> Floats:
    upper = sum((np.asarray(part > 0.0, dtype=np.float64) for part in stratum.rising), -1.0)
    lower = sum((np.asarray(part > 0.0, dtype=np.float64) for part in stratum.falling), -1.0)
    return np.stack(np.broadcast_arrays(-lower, upper), axis=-1)


def _share_of_ones(tables: Floats, attribute: int) -> Floats:
    """``P(S = 1 | A = attribute)``, with a last axis of length 1."""
    return np.asarray(tables[..., attribute, 1, :].sum(-1, keepdims=True))


def _equalized_odds(tables: Floats) -> Floats:
    """``P(S(1) = 1, Y(0) = 1) - P(S(0) = 1, Y(0) = 1)``: the first is only limited by its margins (Fréchet)."""
    ones, outcome = _share_of_ones(tables, 1), tables[..., 0, :, 1].sum(-1, keepdims=True)
    known = tables[..., 0, 1, 1:]
    return np.concatenate([np.maximum(0.0, ones + outcome - 1.0) - known, np.minimum(ones, outcome) - known], axis=-1)
