"""What one subgroup's table says if it is taken for the truth: sharp bounds, and whether fair worlds produce it.

For a census it is the truth, and this is the exact answer. For a sample it is the paper's plug-in verdict, which has no
guarantee: the sample's table may violate a definition that the population's satisfies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.principal.question import Question
from isonomia.evidence.strata.assumptions import Constraint
from isonomia.evidence.strata.bounds import (
    Bounds,
    Contradiction,
    FairWorld,
    NobodyThere,
    effect_bounds,
    fair_world,
    normalised_bounds,
)
from isonomia.evidence.strata.certificates import TOLERANCE, Farkas
from isonomia.evidence.strata.effects import Effect, effect_row, stratum_row
from isonomia.evidence.strata.observed import Observed

__all__ = ["Reach", "TableAnswer", "answer_of"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """The sharp bounds of one effect.

    Attributes
    ----------
    effect
        Of what.
    unnormalised, normalised
        The ends of ``tau'`` and of ``tau``; the latter ``None`` where nobody can be in the stratum.
    """

    effect: Effect
    unnormalised: tuple[float, float]
    normalised: tuple[float, float] | None


@dataclass(frozen=True, slots=True, eq=False)
class TableAnswer:
    """What a table says.

    Attributes
    ----------
    holds
        ``True`` where only fair worlds produce the table, ``False`` where none does, ``None`` where both kinds do, or
        where it contradicts the assumptions.
    reaches
        The bounds of each effect; empty where the table contradicts the assumptions.
    proof
        Why no fair world produces the table, or none that satisfies the assumptions; ``None`` where one does.
    """

    holds: bool | None
    reaches: tuple[Reach, ...]
    proof: Farkas | None

    @property
    def contradicts(self) -> bool:
        """Whether no world that satisfies the assumptions produces the table."""
        return not self.reaches


def answer_of(question: Question, counts: Floats) -> TableAnswer:
    """Answer for a table of counts in which every attribute value occurs.

    Guarantee: ``False`` comes with a proof that was checked apart from the solver; ``True`` means that the checked
    bounds of every effect lie within the margin, up to ``1e-9``.
    """
    observed = Observed.from_counts(counts.reshape(question.shape.table))
    reaches = []
    for effect in question.effects:
        found = _reach(question, observed, effect)
        if isinstance(found, Farkas):
            return TableAnswer(None, (), found)
        reaches.append(found)
    fair = _fair(question, observed)
    if isinstance(fair, Contradiction):
        return TableAnswer(False, tuple(reaches), fair.proof)
    return TableAnswer(True if _all_within(question, reaches) else None, tuple(reaches), None)


def _reach(question: Question, observed: Observed, effect: Effect) -> Reach | Farkas:
    bounds = effect_bounds(observed, effect, assumptions=question.constraints)
    if isinstance(bounds, Contradiction):
        return bounds.proof
    inside = normalised_bounds(observed, effect, assumptions=question.constraints)
    match inside:
        case Contradiction(proof=proof):
            return proof
        case NobodyThere():
            return Reach(effect, _ends(bounds), None)
        case Bounds():
            return Reach(effect, _ends(bounds), _ends(inside))


def _ends(bounds: Bounds) -> tuple[float, float]:
    # Adding 0 turns -0.0, of which people ask what it means, into 0.0.
    return bounds.lower + 0.0, bounds.upper + 0.0


def _fair(question: Question, observed: Observed) -> FairWorld | Bounds | Contradiction:
    """Look for a world that is fair up to the margin."""
    prop = question.prop
    if prop.within == 0.0:
        return fair_world(observed, prop.definition, assumptions=question.constraints)
    limits = tuple(_limit(question, effect, sign) for effect in question.effects for sign in (1.0, -1.0))
    return effect_bounds(observed, question.effects[0], assumptions=(*question.constraints, *limits))


def _limit(question: Question, effect: Effect, sign: float) -> Constraint:
    """``sign * tau' <= margin``, or ``sign * tau <= margin`` multiplied by the stratum's probability."""
    row, words = sign * effect_row(question.shape, effect), "within the margin"
    if question.prop.normalised:
        return Constraint(row - question.prop.within * stratum_row(question.shape, effect.stratum), 0.0, words)
    return Constraint(row, question.prop.within, words)


def _all_within(question: Question, reaches: list[Reach]) -> bool:
    ends = [reach.normalised if question.prop.normalised else reach.unnormalised for reach in reaches]
    return all(pair is None or max(map(abs, pair)) <= question.prop.within + TOLERANCE for pair in ends)
