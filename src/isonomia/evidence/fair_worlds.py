"""Fairness about worlds: its definitions as identified sets, and the e-processes that decide them.

A definition says that some effects ``tau'`` (see :mod:`isonomia.evidence.strata.worlds`) are zero, or at most a margin
in size. They depend on the mixture of worlds, of which draws identify only a set. So there are three kinds of tables:

1. no fair mixture produces the table: the definition is *violated*;
2. only fair mixtures produce it: the definition *holds*;
3. both kinds produce it: no number of draws can tell.

*Violated* is proved by refuting the identified set of the fair mixtures. *Holds* is proved by refuting that of the
unfair ones, a union of polytopes, two for each effect (``tau' >= margin`` and ``tau' <= -margin``), each at the full
``delta``. The mixture is either fair or not, so only one answer can be wrong. Without a margin the unfair mixtures come
arbitrarily near to any table, and the answer is *violated* or *undecided*, never *holds*.

A refuted definition says that something is unfair, not in whose favour. The direction is a separate claim:
``tau > value`` is proved by refuting the mixtures with ``tau <= value``. Where the definition has a single effect, that
takes about as many draws as refuting the definition did, since the nearest mixture of either kind has ``tau = value``.
The bets decide much earlier than the interval of a region, which covers all effects at once and pays for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError
from isonomia.evidence.bets import Wealth
from isonomia.evidence.confidence_sequences import check_delta
from isonomia.evidence.identified.bets import CellRegion, Functional, Refuted, begin, functional_intervals, step
from isonomia.evidence.identified.identified_set import IdentifiedSet
from isonomia.evidence.strata.worlds import (
    SMALL,
    Definition,
    LinearAssumption,
    MergedCells,
    PrincipalEffect,
    TableShape,
    assumption_rows,
    definition_effects,
    effect_row,
    effect_rows,
    observation,
    stratum_row,
)

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Side: TypeAlias = Literal[">=", "<="]


@dataclass(frozen=True, slots=True)
class FairWorldsState:
    """The wealths against the fair mixtures, against each piece of the unfair ones, and against the assumptions.

    Each wealth has one row per subgroup.
    """

    fair: Wealth
    unfair: tuple[Wealth, ...]
    assumed: Wealth | None


@dataclass(frozen=True, slots=True, eq=False)
class FairWorlds:
    """The bets that decide a definition, in any number of subgroups at once.

    Guarantee: let the assumptions be true, let attribute and world be independent within a subgroup (Assumption 1 of
    the paper), and let the draws of a subgroup be independent given their attribute values. Then for each subgroup the
    probability that its decision is *ever* the wrong one of ``True`` and ``False`` is at most ``delta``. Over several
    subgroups see :mod:`isonomia.evidence.multiple`.

    Attributes
    ----------
    delta
        The risk, for each subgroup.
    fair
        The identified set of the fair mixtures.
    unfair
        The identified sets of the unfair mixtures, piece by piece; ``None`` where there is no margin, so that nothing
        can prove fairness. Pieces that the assumptions rule out are left out; if none remains, the assumptions imply
        fairness.
    assumed
        The identified set of all mixtures that satisfy the assumptions; ``None`` where there are no assumptions.
    """

    delta: float
    fair: IdentifiedSet
    unfair: tuple[IdentifiedSet, ...] | None
    assumed: IdentifiedSet | None

    @property
    def need(self) -> float:
        """The log wealth that refutes."""
        return float(np.log(1.0 / self.delta))

    def begin(self, subgroups: int = 1) -> FairWorldsState:
        """A wealth of 1 everywhere."""
        unfair = tuple(begin(piece, subgroups) for piece in self.unfair or ())
        assumed = None if self.assumed is None else begin(self.assumed, subgroups)
        return FairWorldsState(begin(self.fair, subgroups), unfair, assumed)

    def step(self, state: FairWorldsState, counts: Floats) -> FairWorldsState:
        """Take in one batch: ``counts[g, a, c]`` draws of subgroup ``g`` with attribute value ``a`` in cell ``c``."""
        pairs = zip(self.unfair or (), state.unfair, strict=True)
        # A piece that is refuted everywhere stays so, and needs no more bets.
        unfair = tuple(old if (old.peak >= self.need).all() else step(piece, old, counts) for piece, old in pairs)
        assumed = state.assumed
        if self.assumed is not None and assumed is not None:
            assumed = step(self.assumed, assumed, counts)
        return FairWorldsState(step(self.fair, state.fair, counts), unfair, assumed)

    def violated(self, state: FairWorldsState) -> Booleans:
        """In which subgroups every mixture that could have produced the draws is unfair, at risk ``delta`` each."""
        return np.asarray(state.fair.peak >= self.need)

    def holds(self, state: FairWorldsState) -> Booleans:
        """In which subgroups every mixture that could have produced the draws is fair, at risk ``delta`` each."""
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
        """For each subgroup, how close the nearer decision is, from 0 to 1."""
        holds = np.zeros(len(state.fair.peak))
        if self.unfair is not None:
            holds = np.min([piece.peak for piece in state.unfair], axis=0, initial=self.need)
        return np.clip(np.maximum(state.fair.peak, holds) / self.need, 0.0, 1.0)

    def decisions(self, state: FairWorldsState) -> tuple[bool | None, ...]:
        """``True`` for holds, ``False`` for violated, ``None`` for undecided, or where the assumptions are refuted."""
        rows = zip(self.holds(state), self.violated(state), self.contradicted(state), strict=True)
        return tuple(None if no or good == bad else bool(good) for good, bad, no in rows)


def fair_worlds(
    shape: TableShape,
    definition: Definition,
    delta: float,
    *,
    margin: float = 0.0,
    normalised: bool = False,
    assumptions: Sequence[LinearAssumption] = (),
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
        Whether the margin applies to ``tau`` (within the stratum) or to ``tau'`` (in the whole population).
    assumptions
        Assumptions from :func:`~isonomia.evidence.strata.worlds.assume`. Rejected where they contradict each
        other, or leave no fair mixture to test.
    """
    check_delta(delta)
    if not 0.0 <= margin < 1.0:
        raise UsageError(f"expected margin from 0 to below 1, but got margin={margin!r}: no effect exceeds 1")
    effects = definition_effects(shape, definition)
    assumed = assumed_set(shape, assumptions)
    if assumed.is_empty():
        raise UsageError("the assumptions contradict each other: drop one", name="assumptions")
    fair = fair_set(shape, effects, margin, normalised=normalised, assumptions=assumptions)
    if fair.is_empty():
        message = f"expected assumptions that leave definition {definition} open, but no fair world satisfies them"
        raise UsageError(f"{message}: the definition is violated by assumption")
    unfair = None
    if margin > 0:
        unfair = unfair_sets(shape, effects, margin, normalised=normalised, assumptions=assumptions)
    return FairWorlds(delta, fair, unfair, assumed if assumptions else None)


def assumed_set(
    shape: TableShape, assumptions: Sequence[LinearAssumption] = (), *, zero: Sequence[PrincipalEffect] = ()
) -> IdentifiedSet:
    """The identified set of the mixtures that satisfy the assumptions and have the effects ``zero`` equal to 0."""
    zeros = (effect_rows(shape, zero), np.zeros(len(zero)))
    return IdentifiedSet.of(observation(shape), zeros, assumption_rows(shape, assumptions))


def fair_set(
    shape: TableShape,
    effects: Sequence[PrincipalEffect],
    margin: float = 0.0,
    *,
    normalised: bool = False,
    assumptions: Sequence[LinearAssumption] = (),
) -> IdentifiedSet:
    """The identified set of the mixtures in which every effect is at most ``margin`` in size.

    A mixture with no one in a stratum is fair in that stratum.
    """
    if margin == 0.0:
        return assumed_set(shape, assumptions, zero=effects)
    over = [_over(shape, effect, margin, sign, normalised) for effect in effects for sign in (1.0, -1.0)]
    given, bounds = assumption_rows(shape, assumptions)
    below = np.vstack([given, *over]), np.append(bounds, np.zeros(len(over)))
    return IdentifiedSet.of(observation(shape), None, below)


def unfair_sets(
    shape: TableShape,
    effects: Sequence[PrincipalEffect],
    margin: float,
    *,
    normalised: bool = False,
    assumptions: Sequence[LinearAssumption] = (),
) -> tuple[IdentifiedSet, ...]:
    """The identified sets of the mixtures in which an effect is at least ``margin`` in size: one per effect and sign.

    Pieces are closed, so mixtures with an effect of exactly ``margin`` count for both sides. For a normalised effect
    the closure includes mixtures with no one in the stratum: where the stratum may be empty, fairness cannot be proved.
    """
    sides: tuple[tuple[Side, float], ...] = ((">=", margin), ("<=", -margin))
    pieces = [
        one_sided_set(shape, effect, value, side, normalised=normalised, assumptions=assumptions)
        for effect in effects
        for side, value in sides
    ]
    return tuple(piece for piece in pieces if not piece.is_empty())


def one_sided_set(
    shape: TableShape,
    effect: PrincipalEffect,
    value: float,
    side: Side,
    *,
    normalised: bool = False,
    assumptions: Sequence[LinearAssumption] = (),
) -> IdentifiedSet:
    """The identified set of the mixtures in which an effect is at least, or at most, a value."""
    sign = -1.0 if side == ">=" else 1.0
    given, bounds = assumption_rows(shape, assumptions)
    row = _over(shape, effect, sign * value, sign, normalised)
    return IdentifiedSet.of(observation(shape), None, (np.vstack([given, row]), np.append(bounds, 0.0)))


def effect_interval(
    region: CellRegion,
    shape: TableShape,
    effect: PrincipalEffect,
    *,
    normalised: bool = False,
    zero: Sequence[PrincipalEffect] = (),
    assumptions: Sequence[LinearAssumption] = (),
) -> tuple[float, float] | Refuted:
    """Enclose an effect: :func:`effect_intervals` for one of one region."""
    rows = [(effect, normalised)]
    return effect_intervals([region], shape, rows, zero=zero, assumptions=assumptions)[0][0]


def effect_intervals(
    regions: Sequence[CellRegion],
    shape: TableShape,
    effects: Sequence[tuple[PrincipalEffect, bool]],
    *,
    zero: Sequence[PrincipalEffect] = (),
    assumptions: Sequence[LinearAssumption] = (),
) -> list[list[tuple[float, float] | Refuted]]:
    """Enclose effects, for each region: their sharp bounds, widened by what a finite sample leaves open.

    Guarantee: let the assumptions be true and the effects ``zero`` be zero. With probability at least ``1 - delta``,
    where ``delta`` is a region's, its intervals contain the true effects at all times, all of them together. As the
    sample grows they shrink to the sharp bounds for the true table, which need not be points.

    A region's channels are the attribute values and its cells those of ``shape``. With each effect stands whether it is
    ``tau``, the effect within its stratum, instead of ``tau'``, its share of the whole population.
    """
    everyone = np.ones(shape.worlds)
    functionals = [
        Functional(effect_row(shape, effect), stratum_row(shape, effect.stratum) if normalised else everyone)
        for effect, normalised in effects
    ]
    if shape.worlds <= SMALL:
        return functional_intervals(regions, assumed_set(shape, assumptions, zero=zero), functionals)
    # Cells that an effect and the constraints treat alike count as one: the distance to a set does not change, since
    # what is nearest to the draws splits the cell as they do.
    given, bounds = assumption_rows(shape, assumptions)
    zeros, allowances = effect_rows(shape, zero), [region.allowance for region in regions]
    columns = []
    for each in functionals:
        merged = MergedCells.of(shape, np.vstack([each.row, each.over, zeros, given]))
        representatives = merged.representatives
        identified = IdentifiedSet.of(
            merged.observation, (zeros[:, representatives], np.zeros(len(zero))), (given[:, representatives], bounds)
        )
        fewer = [CellRegion(merged.sums(region.tally), region.delta) for region in regions]
        functional = Functional(each.row[representatives], each.over[representatives])
        columns.append(functional_intervals(fewer, identified, [functional], allowances))
    return [[column[number][0] for column in columns] for number in range(len(regions))]


def _over(shape: TableShape, effect: PrincipalEffect, value: float, sign: float, normalised: bool) -> Floats:
    """The row over worlds that is positive for mixtures with ``sign * effect > value`` and negative for ``<``."""
    stratum = stratum_row(shape, effect.stratum) if normalised else np.ones(shape.worlds)
    return np.asarray(sign * effect_row(shape, effect) - value * stratum)
