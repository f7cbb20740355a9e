"""The findings about each subgroup, in numbers and in words.

A subgroup's table, taken for the truth, gives sharp bounds and says whether fair worlds produce it. For a census it is
the truth, and this is the exact answer. For a sample it is the paper's plug-in verdict, which has no guarantee: the
sample's table may violate a definition that the population's satisfies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.principal.question import Key, PrincipalQuestion
from isonomia.evidence.fair_worlds import effect_interval, effect_intervals
from isonomia.evidence.identified.bets import CellRegion, Refuted
from isonomia.evidence.strata.bounds import (
    TOLERANCE,
    Bounds,
    Contradiction,
    EmptyStratum,
    FairWorld,
    InfeasibilityProof,
    effect_bounds,
    fair_world,
    normalised_bounds,
)
from isonomia.evidence.strata.worlds import LinearAssumption, Observed, PrincipalEffect, effect_row, stratum_row
from isonomia.records.verdict import ANSWERS, Expression

Floats = NDArray[np.float64]

SHOWN = 4
"""How many effects the name of the largest one lists."""


@dataclass(frozen=True, slots=True, eq=False)
class SharpBounds:
    """The sharp bounds of one effect.

    Attributes
    ----------
    effect
        The effect.
    unnormalised, normalised
        The ends of ``tau'`` and of ``tau``; the latter ``None`` where the stratum must be empty.
    """

    effect: PrincipalEffect
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
    reaches: tuple[SharpBounds, ...]
    proof: InfeasibilityProof | None

    @property
    def contradicts(self) -> bool:
        """Whether no world that satisfies the assumptions produces the table."""
        return not self.reaches


def answer_of(question: PrincipalQuestion, observed: Observed) -> TableAnswer:
    """Answer for a table, or for all the tables between two.

    Guarantee: ``False`` has a proof that was checked independently of the solver; ``True`` means that the checked
    bounds of every effect lie within the margin, up to ``1e-9``.
    """
    reaches = []
    for effect in question.effects:
        reach = _reach(question, observed, effect)
        if isinstance(reach, InfeasibilityProof):
            return TableAnswer(None, (), reach)
        reaches.append(reach)
    fair = _fair(question, observed)
    if isinstance(fair, Contradiction):
        return TableAnswer(False, tuple(reaches), fair.proof)
    return TableAnswer(True if _all_within(question, reaches) else None, tuple(reaches), None)


def _reach(
    question: PrincipalQuestion, observed: Observed, effect: PrincipalEffect
) -> SharpBounds | InfeasibilityProof:
    bounds = effect_bounds(observed, effect, assumptions=question.constraints)
    if isinstance(bounds, Contradiction):
        return bounds.proof
    inside = normalised_bounds(observed, effect, assumptions=question.constraints)
    match inside:
        case Contradiction(proof=proof):
            return proof
        case EmptyStratum():
            return SharpBounds(effect, _ends(bounds), None)
        case Bounds():
            return SharpBounds(effect, _ends(bounds), _ends(inside))


def _ends(bounds: Bounds) -> tuple[float, float]:
    # Adding 0 turns -0.0, which puzzles readers, into 0.0.
    return bounds.lower + 0.0, bounds.upper + 0.0


def _fair(question: PrincipalQuestion, observed: Observed) -> FairWorld | Bounds | Contradiction:
    """Look for a world that is fair up to the margin."""
    prop = question.prop
    if prop.within == 0.0:
        return fair_world(observed, prop.definition, assumptions=question.constraints)
    limits = tuple(_limit(question, effect, sign) for effect in question.effects for sign in (1.0, -1.0))
    return effect_bounds(observed, question.effects[0], assumptions=(*question.constraints, *limits))


def _limit(question: PrincipalQuestion, effect: PrincipalEffect, sign: float) -> LinearAssumption:
    """``sign * tau' <= margin``, or ``sign * tau <= margin`` multiplied by the stratum's probability."""
    row = sign * effect_row(question.shape, effect)
    if question.prop.normalised:
        return LinearAssumption(row - question.prop.within * stratum_row(question.shape, effect.stratum), 0.0)
    return LinearAssumption(row, question.prop.within)


def _all_within(question: PrincipalQuestion, reaches: list[SharpBounds]) -> bool:
    ends = [reach.normalised if question.prop.normalised else reach.unnormalised for reach in reaches]
    return all(pair is None or max(map(abs, pair)) <= question.prop.within + TOLERANCE for pair in ends)


def subgroup(question: PrincipalQuestion, key: Key) -> str:
    """A subgroup by its values: ``school='GP', sex='F'``; ``all rows`` without conditions."""
    return ", ".join(f"{name}={value!r}" for name, value in zip(question.given, key, strict=True)) or "all rows"


def effect_name(question: PrincipalQuestion, effect: PrincipalEffect, *, normalised: bool) -> str:
    """The paper's symbol, with the values it needs where a variable has more than two.

    ``tau_1`` is about people with outcome number 1 whatever the attribute, ``tau`` about all strata of Definition 2,
    ``total`` about all people, ``odds_1`` about people whose outcome under the first attribute value has number 1.
    """
    first = min(effect.stratum.patterns)
    names = {1: f"tau_{first[0]}", 2: "tau", 3: "total", 4: f"odds_{first[0]}"}
    shape, parts = question.shape, []
    if shape.predictions > 2:
        parts.append(f"{question.prediction.values[effect.prediction]!r}")
    if shape.attributes > 2:
        values = question.attribute.values
        parts.append(f"{values[effect.attribute]!r} - {values[effect.reference]!r}")
    return names[question.prop.definition] + ("" if normalised else "'") + (f"({', '.join(parts)})" if parts else "")


def stratum_words(question: PrincipalQuestion, effect: PrincipalEffect) -> str:
    """Whom the effect is about."""
    attribute, outcome = question.attribute, question.outcome
    value = outcome.values[min(effect.stratum.patterns)[0]]
    match question.prop.definition:
        case 1:
            return f"people with {outcome.name}={value!r} whatever their {attribute.name}"
        case 2:
            return f"people with the same {outcome.name} whatever their {attribute.name}"
        case 3:
            return "all people"
        case 4:
            return f"people with {outcome.name}={value!r} if they had {attribute.name}={attribute.values[0]!r}"


def effect_words(question: PrincipalQuestion, effect: PrincipalEffect) -> str:
    """Which difference the effect is."""
    event = f"{question.prediction.name}={question.prediction.values[effect.prediction]!r}"
    name, values = question.attribute.name, question.attribute.values
    return (
        f"how much more frequent {event} is with {name}={values[effect.attribute]!r} than with "
        f"{name}={values[effect.reference]!r}, among {stratum_words(question, effect)}"
    )


def direction(question: PrincipalQuestion, effect: PrincipalEffect, ends: tuple[float, float]) -> str:
    """Which way an effect goes, from its interval."""
    low, high = ends
    name, values = question.attribute.name, question.attribute.values
    event = f"{question.prediction.name}={question.prediction.values[effect.prediction]!r}"
    if low <= TOLERANCE and high >= -TOLERANCE:
        return f"may go either way among {stratum_words(question, effect)}"
    more, less = (effect.attribute, effect.reference) if low > 0 else (effect.reference, effect.attribute)
    return (
        f"{event} is more frequent with {name}={values[more]!r} than with {name}={values[less]!r}, among "
        f"{stratum_words(question, effect)}"
    )


def coded(question: PrincipalQuestion) -> str:
    """Which value has which number."""
    parts = []
    for coding in (question.attribute, question.prediction, question.outcome):
        numbers = ", ".join(f"{number} is {value!r}" for number, value in enumerate(coding.values))
        parts.append(f"{coding.name}: {numbers}")
    return "; ".join(parts)


Ends = tuple[float, float]


@dataclass(frozen=True, slots=True)
class SubgroupWealth:
    """How far the bets of a subgroup have come, as logarithms of wealth.

    Attributes
    ----------
    now, peak
        Against "fair here": at the end, and at its highest.
    for_fairness
        The least peak over all directions of unfairness; ``None`` without a margin.
    """

    now: float
    peak: float
    for_fairness: float | None


@dataclass(frozen=True, slots=True, eq=False)
class SubgroupFinding:
    """The findings about a subgroup.

    Attributes
    ----------
    key
        The subgroup.
    counts
        Shape ``(attributes, cells)``.
    holds
        The answer for the subgroup by itself.
    table
        What its table says if it is taken for the truth; ``None`` where no row has one of the attribute values.
    intervals, inside
        For each effect, the interval of ``tau'`` and of ``tau``: confidence bounds, or sharp bounds for a census;
        ``None`` where the assumptions are refuted.
    bet
        The bets; ``None`` for a census.
    probabilities
        The ends of each cell's probability, shape ``(attributes, cells, 2)``, where the table of a program was proved:
        then no row is counted. Else ``None``.
    """

    key: Key
    counts: Floats
    holds: bool | None
    table: TableAnswer | None
    intervals: tuple[Ends | None, ...]
    inside: tuple[Ends | None, ...]
    bet: SubgroupWealth | None
    probabilities: Floats | None = None

    @property
    def silent(self) -> tuple[int, ...]:
        """The attribute values that no row has."""
        return tuple(np.flatnonzero(self.counts.sum(axis=1) == 0).tolist())

    def expressions(self, question: PrincipalQuestion) -> list[Expression]:
        """Each effect compared with the margin, with its interval; partially identified, so without an estimate."""
        prop = question.prop
        ends = self.inside if prop.normalised else self.intervals
        return [
            _expression(question, effect, self.key, pair or (-1.0, 1.0))
            for effect, pair in zip(question.effects, ends, strict=True)
        ]

    def sizes(self, question: PrincipalQuestion) -> list[tuple[str, float, float]]:
        """The size of each effect: its name, and the ends of its interval."""
        prop, where = question.prop, f" | {subgroup(question, self.key)}" if question.given else ""
        ends = self.inside if prop.normalised else self.intervals
        names = [
            f"abs({effect_name(question, effect, normalised=prop.normalised)}{where})" for effect in question.effects
        ]
        known = [pair or (-1.0, 1.0) for pair in ends]
        return [(name, max(0.0, low, -high), max(-low, high)) for name, (low, high) in zip(names, known, strict=True)]

    def size(self, question: PrincipalQuestion) -> Ends:
        """The interval of the largest effect's size, on the side of the margin that the subgroup's answer implies."""
        sizes = self.sizes(question)
        low, high = max(low for _, low, _ in sizes), max(high for _, _, high in sizes)
        item = Expression("", "<=", question.prop.within, None, low, high).agreeing(self.holds)
        return max(item.low, 0.0), item.high

    def plain(self, question: PrincipalQuestion) -> dict[str, Any]:
        """Everything as values that JSON can hold."""
        plug_in = None if self.table is None else self.table.holds
        proof = None if self.table is None or self.table.proof is None else self.table.proof.violation
        known = self.probabilities
        return {
            "subgroup": subgroup(question, self.key),
            "where": dict(zip(question.given, self.key, strict=True)),
            "people": int(self.counts.sum()),
            "counts": self.counts.reshape(question.shape.table).astype(int).tolist(),
            **({} if known is None else {"probabilities": known.reshape(*question.shape.table, 2).tolist()}),
            "answer": ANSWERS[self.holds],
            "plug_in": ANSWERS[plug_in],
            "certificate": proof,
            "bet": None if self.bet is None else asdict(self.bet),
            "size": _listed(self.size(question)),
            "effects": [self._effect(question, number) for number in range(len(question.effects))],
        }

    def _effect(self, question: PrincipalQuestion, number: int) -> dict[str, Any]:
        effect = question.effects[number]
        entry: dict[str, Any] = {
            "name": effect_name(question, effect, normalised=False),
            "words": effect_words(question, effect),
            "interval": _listed(self.intervals[number]),
            "interval_within_stratum": _listed(self.inside[number]),
        }
        reach = self.table.reaches[number] if self.table is not None and self.table.reaches else None
        entry["plug_in"] = None if reach is None else _listed(reach.unnormalised)
        entry["plug_in_within_stratum"] = None if reach is None else _listed(reach.normalised)
        known = self.intervals[number]
        entry["direction"] = None if known is None else direction(question, effect, known)
        return entry


def from_table(
    question: PrincipalQuestion, key: Key, observed: Observed, counts: Floats, probabilities: Floats | None = None
) -> SubgroupFinding:
    """The finding from a subgroup's true table: that of a census, or the enclosed one of a program."""
    table = answer_of(question, observed)
    unknown = (None,) * len(question.effects)
    return SubgroupFinding(
        key,
        counts,
        table.holds,
        table,
        tuple(reach.unnormalised for reach in table.reaches) or unknown,
        tuple(reach.normalised for reach in table.reaches) or unknown,
        None,
        probabilities,
    )


def find(
    question: PrincipalQuestion,
    keys: Sequence[Key],
    counts: Floats,
    holds: Sequence[bool | None],
    bets: Sequence[SubgroupWealth],
    delta: float,
) -> list[SubgroupFinding]:
    """Compute for each subgroup of a sample the bounds of its table and the confidence bounds of its effects.

    Guarantee: the intervals of one subgroup, all together and at all times, miss their true effects with probability
    at most ``delta``.
    """
    effects = [(effect, normalised) for normalised in (False, True) for effect in question.effects]
    regions = [CellRegion(cells, delta) for cells in counts]
    enclosed = effect_intervals(regions, question.shape, effects, assumptions=question.constraints)
    findings = []
    for key, cells, answer, bet, found in zip(keys, counts, holds, bets, enclosed, strict=True):
        every_value = bool((cells.sum(axis=1) > 0).all())
        table = answer_of(question, Observed.from_counts(cells.reshape(question.shape.table))) if every_value else None
        ends = tuple(None if isinstance(each, Refuted) else each for each in found)
        half = len(question.effects)
        findings.append(SubgroupFinding(key, cells, answer, table, ends[:half], ends[half:], bet))
    return findings


def first_effect(question: PrincipalQuestion, key: Key, counts: Floats, delta: float) -> Expression | None:
    """The first effect in one subgroup, as far as it is known; ``None`` where the assumptions are refuted."""
    effect, region = question.effects[0], CellRegion(counts, delta)
    normalised, assumed = question.prop.normalised, question.constraints
    ends = effect_interval(region, question.shape, effect, normalised=normalised, assumptions=assumed)
    return None if isinstance(ends, Refuted) else _expression(question, effect, key, ends)


def largest_effect(
    question: PrincipalQuestion, answer: bool | None, findings: Sequence[SubgroupFinding]
) -> tuple[Expression, ...]:
    """The size of the largest effect in any subgroup, which is what the property is about; nothing where all are empty.

    Its ends come from the intervals of the effects, and from the bets: these decide whether it is above the margin, and
    may do so for all effects together before the interval of any single one does.
    """
    sizes = [item for finding in findings for item in finding.sizes(question)]
    if not sizes:
        return ()
    names = [name for name, _, _ in sizes]
    text = names[0] if len(names) == 1 else f"max({', '.join(names if len(names) <= SHOWN else [*names[:2], '...'])})"
    low, high = (max(ends) for ends in zip(*[(low, high) for _, low, high in sizes], strict=True))
    item = Expression(text, "<=" if question.prop.within else "==", question.prop.within, None, low, high)
    return (item.agreeing(answer),)


def _expression(question: PrincipalQuestion, effect: PrincipalEffect, key: Key, ends: Ends) -> Expression:
    prop = question.prop
    where = f" | {subgroup(question, key)}" if question.given else ""
    name = effect_name(question, effect, normalised=prop.normalised)
    if prop.within == 0.0:
        return Expression(f"{name}{where}", "==", 0.0, None, *ends)
    low = max(0.0, ends[0], -ends[1])
    return Expression(f"abs({name}{where})", "<=", prop.within, None, low, max(map(abs, ends)))


def _listed(ends: Ends | None) -> list[float] | None:
    return None if ends is None else [float(end) for end in ends]
