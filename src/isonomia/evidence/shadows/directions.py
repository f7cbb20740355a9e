"""In which direction an effect goes: bets against "at most this" and against "at least this".

A refuted definition says that something is unfair, not to whose favour. The direction is a claim of its own, refuted
and proved like any other: ``tau > value`` is proved by refuting the mixtures with ``tau <= value``. Where one effect
makes the definition, that takes about as many draws as refuting the definition did, since the nearest mixture of either
sort has ``tau = value``. The bets speak much earlier than the interval of a region, which covers all effects at once
and pays for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError
from isonomia.evidence.shadows.definitions import Side, side_shadow
from isonomia.evidence.shadows.shadow import Shadow
from isonomia.evidence.shadows.wealth import State, begin, step
from isonomia.evidence.strata.assumptions import Constraint
from isonomia.evidence.strata.effects import Effect
from isonomia.evidence.strata.worlds import Shape

__all__ = ["Directions", "directions"]

Floats = NDArray[np.float64]
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
