"""What is known of each subgroup, as plain values for the record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.principal.question import Question
from isonomia.audits.principal.subgroups import Key
from isonomia.audits.principal.tables import TableAnswer, answer_of
from isonomia.audits.principal.wording import direction, effect_name, effect_words, subgroup
from isonomia.audits.stating import ANSWERS
from isonomia.evidence.shadows.definitions import effect_interval
from isonomia.evidence.shadows.region import CellRegion, Refuted
from isonomia.evidence.strata.effects import Effect
from isonomia.records.verdict import Expression

__all__ = ["Bet", "Finding", "find", "first_effect"]

Floats = NDArray[np.float64]
Ends = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Bet:
    """How far the bets of a subgroup have come, as logarithms of wealth.

    Attributes
    ----------
    now, peak
        Against "fair here": at the end, and at most.
    for_fairness
        The least peak over all directions of unfairness; ``None`` without a margin.
    """

    now: float
    peak: float
    for_fairness: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Finding:
    """What is known of a subgroup.

    Attributes
    ----------
    key
        The subgroup.
    counts
        Shape ``(attributes, cells)``.
    holds
        The answer for the subgroup by itself.
    table
        What its table says if it is taken for the truth; ``None`` where an attribute value has nobody.
    intervals, inside
        For each effect, the interval of ``tau'`` and of ``tau``: confidence bounds, or sharp bounds for a census;
        ``None`` where the assumptions are refuted.
    bet
        The bets; ``None`` for a census.
    """

    key: Key
    counts: Floats
    holds: bool | None
    table: TableAnswer | None
    intervals: tuple[Ends | None, ...]
    inside: tuple[Ends | None, ...]
    bet: Bet | None

    @property
    def silent(self) -> tuple[int, ...]:
        """The attribute values that nobody has."""
        return tuple(np.flatnonzero(self.counts.sum(axis=1) == 0).tolist())

    def expressions(self, question: Question) -> list[Expression]:
        """Each effect against the margin, with its interval; partly identified, so without an estimate."""
        prop = question.prop
        ends = self.inside if prop.normalised else self.intervals
        return [
            _expression(question, effect, self.key, pair or (-1.0, 1.0))
            for effect, pair in zip(question.effects, ends, strict=True)
        ]

    def plain(self, question: Question) -> dict[str, Any]:
        """Everything as values that JSON can hold."""
        plug_in = None if self.table is None else self.table.holds
        proof = None if self.table is None or self.table.proof is None else self.table.proof.violation
        return {
            "subgroup": subgroup(question, self.key),
            "where": dict(zip(question.given, self.key, strict=True)),
            "people": int(self.counts.sum()),
            "counts": self.counts.reshape(question.shape.table).astype(int).tolist(),
            "answer": ANSWERS[self.holds],
            "plug_in": ANSWERS[plug_in],
            "certificate": proof,
            "bet": None if self.bet is None else asdict(self.bet),
            "effects": [self._effect(question, number) for number in range(len(question.effects))],
        }

    def _effect(self, question: Question, number: int) -> dict[str, Any]:
        effect = question.effects[number]
        found: dict[str, Any] = {
            "name": effect_name(question, effect, normalised=False),
            "words": effect_words(question, effect),
            "interval": _listed(self.intervals[number]),
            "interval_within_stratum": _listed(self.inside[number]),
        }
        reach = self.table.reaches[number] if self.table is not None and self.table.reaches else None
        found["plug_in"] = None if reach is None else _listed(reach.unnormalised)
        found["plug_in_within_stratum"] = None if reach is None else _listed(reach.normalised)
        found["direction"] = None if reach is None else direction(question, effect, reach.unnormalised)
        return found


def find(
    question: Question,
    keys: Sequence[Key],
    counts: Floats,
    holds: Sequence[bool | None],
    bets: Sequence[Bet],
    delta: float,
) -> list[Finding]:
    """Compute for each subgroup of a sample the bounds of its table and the confidence bounds of its effects.

    Guarantee: the intervals of one subgroup, all together and at all times, miss their true effects with probability
    at most ``delta``.
    """
    findings = []
    for key, seen, answer, bet in zip(keys, counts, holds, bets, strict=True):
        everybody = bool((seen.sum(axis=1) > 0).all())
        table = answer_of(question, seen) if everybody else None
        intervals, inside = (_confidence(question, seen, delta, normalised) for normalised in (False, True))
        findings.append(Finding(key, seen, answer, table, intervals, inside, bet))
    return findings


def first_effect(question: Question, key: Key, counts: Floats, delta: float) -> Expression | None:
    """What is known of the first effect in one subgroup; ``None`` where the assumptions are refuted."""
    effect, region = question.effects[0], CellRegion(counts, delta)
    normalised, assumed = question.prop.normalised, question.constraints
    ends = effect_interval(region, question.shape, effect, normalised=normalised, assumptions=assumed)
    return None if isinstance(ends, Refuted) else _expression(question, effect, key, ends)


def _confidence(question: Question, counts: Floats, delta: float, normalised: bool) -> tuple[Ends | None, ...]:
    region = CellRegion(counts, delta)
    found = []
    for effect in question.effects:
        ends = effect_interval(region, question.shape, effect, normalised=normalised, assumptions=question.constraints)
        found.append(None if isinstance(ends, Refuted) else ends)
    return tuple(found)


def _expression(question: Question, effect: Effect, key: Key, ends: Ends) -> Expression:
    prop = question.prop
    where = f" | {subgroup(question, key)}" if question.given else ""
    name = effect_name(question, effect, normalised=prop.normalised)
    if prop.within == 0.0:
        return Expression(f"{name}{where}", "==", 0.0, None, *ends)
    low = max(0.0, ends[0], -ends[1])
    return Expression(f"abs({name}{where})", "<=", prop.within, None, low, max(map(abs, ends)))


def _listed(ends: Ends | None) -> list[float] | None:
    return None if ends is None else [float(end) for end in ends]
