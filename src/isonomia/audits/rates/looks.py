"""When a check of rates looks: after batches that grow, or at planned numbers of people; and what a look finds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain, pairwise
from math import ceil, inf, isfinite

import numpy as np

from isonomia.audits.protocol import Check
from isonomia.audits.rates.question import RatesQuestion
from isonomia.engine.loop import Schedule
from isonomia.errors import UsageError
from isonomia.evidence.bet_evidence import bets_for
from isonomia.evidence.deadline import batch_sizes
from isonomia.evidence.exact import BoxIntervals, enclose
from isonomia.evidence.looks import LookEvidence, LookFindings, LookPlan, NoLookError, looks_for, planned_report
from isonomia.evidence.normal_form import compared
from isonomia.evidence.planning import people_for
from isonomia.evidence.protocol import LeafTally
from isonomia.records.verdict import Expression, LeafRecord
from isonomia.spec.property import Property
from isonomia.spec.text import to_text
from isonomia.spec.tree import Formula, Leaf, Other, Quantity

POWER = 0.8
"""How likely it should be that one look decides, where a table is planned."""


MOST_TIMES = 100
"""A next table more than this many times as large is not suggested: the rates lie on the boundary."""

MOST_QUANTITIES = 8
"""With more compared quantities than this, no next table is suggested: simulating it takes seconds."""


def looks_of(check: Check[Property], question: RatesQuestion, people: float) -> tuple[LookEvidence, Schedule]:
    """The evidence of planned looks, and the batches that end at each of them.

    Parameters
    ----------
    check, question
        What to decide, and how often to look.
    people
        How many people there will be: as many as the table has, or as the budget says.

    Raises
    ------
    NoLookError
        Where the property has no method for planned looks.
    UsageError
        Where the number of people is not fixed in advance.
    """
    evidence = looks_for(question.formula, question.ranges, check.population.streams, check.delta, (1,))
    if not isfinite(people):
        raise UsageError(
            f"expected a number of people that is fixed beforehand for looks={check.looks!r}, but this population has "
            "no end: say how many, budget=10_000 (--budget 10000)"
        )
    total, report = max(int(people), 1), planned_report(check.looks)
    if report is not None:
        count, earlier = report
        each = 2 if Other() in question.asked else 1
        ends, plan = (*(rows // each for rows in earlier), total), LookPlan(count, len(earlier))
        if ends != tuple(sorted({*ends})):
            raise UsageError(
                f"expected more rows than at the earlier reports, looks={check.looks!r}, but there are {total:,}"
            )
    elif check.population.kind == "sample" and check.looks != "once":
        # One of so many reports, but not which: each has an equal part of the risk.
        ends, plan = (total,), LookPlan(int(check.looks), equal=True)
    else:
        count = 1 if check.looks == "once" else min(int(check.looks), total)
        ends, plan = tuple(ceil(total * (k + 1) / count) for k in range(count)), LookPlan(count)
    # Bets need batches, with stakes that depend on those before.
    parts = [batch_sizes(end - begin) if evidence.bets else (end - begin,) for begin, end in pairwise((0, *ends))]
    schedule = Schedule(most=check.schedule.most, ends=tuple(accumulate(chain.from_iterable(parts))))
    after, reached, batches = [], 0, 0
    while reached < total:
        reached, batches = reached + schedule.size(reached, 0.0), batches + 1
        after += [batches] if reached in ends else []
    return looks_for(question.formula, question.ranges, check.population.streams, check.delta, after, plan), schedule


def no_look_remark(looks: str | int, reason: str) -> str:
    """Why a method for any number of looks was used, although fewer looks were requested."""
    return (
        f"looks={looks!r} has no method for this property, since {reason}: it was decided by a method for any "
        "number of looks, which takes more samples"
    )


def next_table(
    check: Check[Property], question: RatesQuestion, tallies: Mapping[Leaf, LeafTally], samples: int
) -> tuple[str, ...]:
    """For a table that left a property undecided: how large the next one should be, if it is looked at once.

    It is a plan for other people. A second look at these, after the first one, would break the guarantee of both.
    """
    if check.looks != "any" or check.population.kind != "sample" or any(not tally.n for tally in tallies.values()):
        return ()
    # A rate of 0 or 1 is not a useful guess: half a draw at either end of the range keeps it away from there.
    middles = {leaf: 0.5 * (tally.nodes[0] + tally.nodes[-1]) for leaf, tally in tallies.items()}
    means = {leaf: (tally.n * tally.mean + middles[leaf]) / (tally.n + 1.0) for leaf, tally in tallies.items()}
    shares = {leaf: tally.n / samples for leaf, tally in tallies.items()}
    if len(list(compared(question.formula))) > MOST_QUANTITIES:
        return ()
    max_people = MOST_TIMES * samples
    people = people_at_once(question.formula, question.ranges, check.delta, means, shares, max_people, _rounded)
    if not people <= max_people:
        return ()
    return (
        f"if the rates are as estimated here, another table of about {people:,.0f} {question.counted}, with "
        f"one look (looks='once'), decides it with probability {POWER:.0%}",
    )


def people_at_once(
    formula: Formula,
    ranges: Mapping[Leaf, tuple[float, float]],
    delta: float,
    means: Mapping[Leaf, float],
    shares: Mapping[Leaf, float],
    most: float = inf,
    rounded: Callable[[int], int] = int,
) -> float:
    """How many people of one stream one look takes if the guesses are right; NaN where there is no method."""
    named = tuple(ranges.items()), tuple(means.items()), tuple(shares.items())
    return _people_at_once(formula, delta, *named, most, rounded)


@lru_cache(256)
def _people_at_once(
    formula: Formula,
    delta: float,
    ranges: tuple[tuple[Leaf, tuple[float, float]], ...],
    means: tuple[tuple[Leaf, float], ...],
    shares: tuple[tuple[Leaf, float], ...],
    most: float,
    rounded: Callable[[int], int],
) -> float:
    """The search takes up to seconds, and the same check that is resumed or repeated plans the same."""
    try:
        looks = looks_for(formula, dict(ranges), (None,), delta, (1,))
    except NoLookError:
        return float("nan")
    evidence = bets_for(formula, dict(ranges), (None,), delta, slices=False)
    if evidence is None or looks.together:  # how the leaves depend on each other is not among the guesses
        return float("nan")
    return people_for(evidence, looks, dict(means), dict(shares), POWER, most=most, rounded=rounded)


def _rounded(people: int) -> int:
    """Rounded up to two significant figures: the rates are guesses."""
    unit = int(10 ** max(len(str(people)) - 2, 0))
    return -(-people // unit) * unit


@dataclass(frozen=True, slots=True)
class LookKnowledge:
    """The intervals at a look; between looks, nothing is known.

    Attributes
    ----------
    tallies
        The counts of each leaf.
    ranges
        The lowest and highest possible value of each leaf, which is all that is known between looks.
    findings
        What the look found; ``None`` between looks.
    order
        The compared quantities in the order of the findings.
    """

    tallies: Mapping[Leaf, LeafTally]
    ranges: Mapping[Leaf, tuple[float, float]]
    findings: LookFindings | None
    order: tuple[tuple[Quantity, str, float], ...]

    def leaf(self, leaf: Leaf) -> LeafRecord:
        """The record of one leaf."""
        tally = self.tallies[leaf]
        low, high = self.ranges[leaf] if self.findings is None else self.findings.leaves[leaf]
        n = round(tally.n)
        return LeafRecord(to_text(leaf), n, tally.mean if n else None, low, high)

    def expression(self, quantity: Quantity, relation: str, threshold: float) -> Expression:
        """The record of one compared quantity."""
        if self.findings is None:
            low, high = _over(quantity, self.ranges)
        else:
            low, high = self.findings.compared[self.order.index((quantity, relation, threshold))]
        return Expression(to_text(quantity), relation, threshold, self._estimate(quantity), low, high)

    def _estimate(self, quantity: Quantity) -> float | None:
        if any(not tally.n for tally in self.tallies.values()):
            return None
        low, high = _over(quantity, {leaf: (tally.mean, tally.mean) for leaf, tally in self.tallies.items()})
        return 0.5 * (low + high) if isfinite(low) and isfinite(high) else None


def _over(quantity: Quantity, box: Mapping[Leaf, tuple[float, float]]) -> tuple[float, float]:
    value = enclose(
        quantity, {leaf: BoxIntervals(np.asarray([low]), np.asarray([high])) for leaf, (low, high) in box.items()}
    )
    low, high = float(value.low[0]), float(value.high[0])
    return (low if low == low else -inf), (high if high == high else inf)
