"""Is a population fair by a definition about worlds? What samples can decide, and how.

A definition says that some effects ``tau'`` (see :mod:`isonomia.evidence.strata.effects`) are zero, or at most a margin
in size. They depend on the mixture of worlds, of which draws show only the shadow. So there are three kinds of tables:

1. no fair mixture produces the table: the definition is *violated*;
2. only fair mixtures produce it: the definition *holds*;
3. both kinds produce it: no amount of draws can tell.

*Violated* is proved by refuting the shadow of the fair mixtures. *Holds* is proved by refuting the shadow of the unfair
ones, a union of polytopes, two an effect (``tau' >= margin`` and ``tau' <= -margin``), each at the full ``delta``. The
mixture is either fair or not, so only one answer can be wrong. With no margin the unfair mixtures come as near to any
table as one likes, and nothing but *violated* or *undecided* is ever possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError
from isonomia.evidence.identified.bets import State, begin, step
from isonomia.evidence.identified.definitions import assumed_shadow, fair_shadow, unfair_shadows
from isonomia.evidence.identified.identified_set import Shadow
from isonomia.evidence.strata.assumptions import Constraint
from isonomia.evidence.strata.effects import Definition, definition_effects
from isonomia.evidence.strata.worlds import Shape

__all__ = ["FairWorlds", "FairWorldsState", "fair_worlds"]

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class FairWorldsState:
    """The wealths against the fair mixtures, against each piece of the unfair ones, and against the assumptions.

    Every state has a row a subgroup.
    """

    fair: State
    unfair: tuple[State, ...]
    assumed: State | None


@dataclass(frozen=True, slots=True, eq=False)
class FairWorlds:
    """The bets that decide a definition, in any number of subgroups at once.

    Guarantee: let the assumptions be true, let attribute and world be independent within a subgroup (Assumption 1 of
    the paper), and let the draws of a subgroup be independent given their attribute values. Then for each subgroup the
    probability that its decision is *ever* the wrong one of ``True`` and ``False`` is at most ``delta``. Over several
    subgroups see :mod:`isonomia.evidence.identified.definitions`.

    Attributes
    ----------
    delta
        The risk, for each subgroup.
    fair
        What fair mixtures produce.
    unfair
        What unfair ones produce, piece by piece; ``None`` where there is no margin and so nothing proves fairness.
        A piece that the assumptions rule out is not there; without any piece the assumptions imply fairness.
    assumed
        What all mixtures produce that satisfy the assumptions; ``None`` where there are none.
    """

    delta: float
    fair: Shadow
    unfair: tuple[Shadow, ...] | None
    assumed: Shadow | None

    @property
    def need(self) -> float:
        """The log-wealth that refutes."""
        return float(np.log(1.0 / self.delta))

    def begin(self, subgroups: int = 1) -> FairWorldsState:
        """A wealth of 1 everywhere."""
        unfair = tuple(begin(piece, subgroups) for piece in self.unfair or ())
        assumed = None if self.assumed is None else begin(self.assumed, subgroups)
        return FairWorldsState(begin(self.fair, subgroups), unfair, assumed)

    def step(self, state: FairWorldsState, counts: Floats) -> FairWorldsState:
        """Take in one batch: ``counts[g, a, c]`` draws of subgroup ``g`` with attribute value ``a`` in cell ``c``."""
        pairs = zip(self.unfair or (), state.unfair, strict=True)
        return FairWorldsState(
            step(self.fair, state.fair, counts),
            # A piece that is refuted everywhere stays so, and needs no more bets.
            tuple(old if (old.peak >= self.need).all() else step(piece, old, counts) for piece, old in pairs),
            state.assumed
            if self.assumed is None or state.assumed is None
            else step(self.assumed, state.assumed, counts),
        )

    def violated(self, state: FairWorldsState) -> Booleans:
        """In which subgroups every mixture that can be behind the draws is unfair, at risk ``delta`` each."""
        return np.asarray(state.fair.peak >= self.need)

    def holds(self, state: FairWorldsState) -> Booleans:
        """In which subgroups every mixture that can be behind the draws is fair, at risk ``delta`` each."""
        if self.unfair is None:
            return np.zeros(len(state.fair.peak), dtype=bool)
        refuted = [piece.peak >= self.need for piece in state.unfair]
        return np.asarray(np.all([np.ones(len(state.fair.peak), dtype=bool), *refuted], axis=0))

    def contradicted(self, state: FairWorldsState) -> Booleans:
        """In which subgroups the assumptions themselves are refuted, so that no answer means anything."""
        if state.assumed is None:
            return np.zeros(len(state.fair.peak), dtype=bool)
        return np.asarray(state.assumed.peak >= self.need)

    def progress(self, state: FairWorldsState) -> Floats:
        """For each subgroup, how far the nearer decision has come, from 0 to 1."""
        holds = np.zeros(len(state.fair.peak))
        if self.unfair is not None:
            holds = np.min([piece.peak for piece in state.unfair], axis=0, initial=self.need)
        return np.clip(np.maximum(state.fair.peak, holds) / self.need, 0.0, 1.0)

    def decisions(self, state: FairWorldsState) -> tuple[bool | None, ...]:
        """``True`` for holds, ``False`` for violated, ``None`` for undecided, or where the assumptions are refuted."""
        rows = zip(self.holds(state), self.violated(state), self.contradicted(state), strict=True)
        return tuple(None if no or good == bad else bool(good) for good, bad, no in rows)


def fair_worlds(
    shape: Shape,
    definition: Definition,
    delta: float,
    *,
    margin: float = 0.0,
    normalised: bool = False,
    assumptions: Sequence[Constraint] = (),
) -> FairWorlds:
    """Prepare the bets on a definition.

    Parameters
    ----------
    shape
        How many values attribute, prediction and outcome have.
    definition
        Which of the four definitions.
    delta
        The risk that a subgroup's decision is ever wrong.
    margin
        How large an effect still counts as fair, from 0 to below 1.
    normalised
        Whether the margin is one of ``tau`` (within the stratum) or of ``tau'`` (in the whole population).
    assumptions
        What is taken for granted, from :func:`~isonomia.evidence.strata.assumptions.assume`.

    Raises
    ------
    UsageError
        Where ``delta`` or ``margin`` is out of range, the assumptions contradict each other, or they leave no fair
        mixture, so that there is nothing to test.
    """
    if not 0.0 < delta < 1.0:
        raise UsageError(f"expected delta between 0 and 1, but delta={delta!r} came")
    if not 0.0 <= margin < 1.0:
        raise UsageError(f"expected margin from 0 to below 1, but margin={margin!r} came: no effect exceeds 1")
    effects = definition_effects(shape, definition)
    assumed = assumed_shadow(shape, assumptions)
    if assumed.is_empty():
        raise UsageError("expected assumptions that some world satisfies, but they contradict each other: drop one")
    fair = fair_shadow(shape, effects, margin, normalised=normalised, assumptions=assumptions)
    if fair.is_empty():
        raise UsageError(
            f"expected assumptions that leave definition {definition} open, but no fair world satisfies them: "
            "the definition is violated by assumption, and no draw can add to that"
        )
    unfair = None
    if margin > 0:
        unfair = unfair_shadows(shape, effects, margin, normalised=normalised, assumptions=assumptions)
    return FairWorlds(delta, fair, unfair, assumed if assumptions else None)
