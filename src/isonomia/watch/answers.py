"""The answers of a watch, and what they are computed from: alerts, verdicts so far, and the status of the last samples.

Every answer is a function of the terms of the watch, which are known beforehand, and of a few statistics of constant
size. So a running watch and its evidence, which both have these, give the same answers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite, log

from scipy.special import zeta

from isonomia.audits.rates.check import never_happened
from isonomia.audits.rates.intervals import over_box
from isonomia.evidence.confidence_sequences import drifting_interval
from isonomia.evidence.detectors import LONGEST_BLOCK, Crossing, Onset
from isonomia.records.verdict import ANSWERS, Expression, GroupRecord, LeafRecord, Verdict
from isonomia.spec.property import Property
from isonomia.spec.text import to_text
from isonomia.spec.tree import Leaf
from isonomia.version import __version__
from isonomia.watch.stream import StreamTally, WatchedClaim, WatchedSide
from isonomia.wording import plural

SPENDING = 1.1
"""The k-th window gets a part of the risk proportional to ``k ** -SPENDING``."""


@dataclass(frozen=True, slots=True)
class Alert:
    """A property has stopped holding.

    Attributes
    ----------
    property
        Its name, or its text if it has none.
    group
        The group, if the property makes a claim for every group.
    text
        The comparison that no longer holds.
    sample
        The number of samples of the stream at the alert.
    onset
        The number of samples at which it probably began, with the earliest and the latest that the samples allow, and
        the risk of the earliest.
    estimate
        The compared quantity over the samples since the estimated onset; ``None`` if a group had none since.
    relation, threshold
        What it must be.
    """

    property: str
    group: str | None
    text: str
    sample: int
    onset: Onset
    estimate: float | None
    relation: str
    threshold: float

    def __str__(self) -> str:
        who = f" for {self.group}" if self.group else ""
        value = "" if self.estimate is None else f"; estimate since then: {self.estimate:.4g}"
        return (
            f"ALERT after {plural(self.sample, 'sample')}: {self.text} has stopped holding{who}; estimated onset: "
            f"after {plural(self.onset.estimate, 'sample')}{earliest_onset(self.onset.low, self.onset.risk)}{value}"
        )


def earliest_onset(low: int, risk: float | None) -> str:
    """The bound on the earliest onset in words, with its risk; empty where no risk is on record."""
    if risk is None:
        return ""
    return f", not before {low:,} if it has failed ever since (wrong with probability at most {risk:g})"


@dataclass(frozen=True, slots=True)
class WatchStatus:
    """Whether a comparison holds for the last samples.

    ``answer`` is the side of the threshold on which the interval lies, ``samples`` the number of samples of the stream
    that it covers, and ``leaves`` has the estimate of each rate.
    """

    property: str
    group: str | None
    answer: str
    expression: Expression
    leaves: tuple[LeafRecord, ...]
    samples: int
    first: int


# ---------------------------------------------------------------------------------------------------------- statistics


@dataclass(frozen=True, slots=True)
class SideStatistics:
    """The statistics of one half-space, as logarithms of wealth.

    ``against`` and ``opposite`` are the highest wealth so far of the bets that started with the first sample, against
    the claim and against its opposite; ``height`` is the present value of the e-detector.
    """

    against: float
    opposite: float
    height: float


@dataclass(frozen=True, slots=True)
class WatchStatistics:
    """What all answers are computed from.

    Attributes
    ----------
    samples, pending, missing
        How many samples were judged, wait for an outcome, and were left out for lack of one.
    acknowledged
        After how many samples alerts were acknowledged, each time.
    everything, recent
        The sums of each rate and mean: of the whole stream, and of the last window.
    sides
        The wealth of the bets on each half-space.
    crossings
        For each alert, the number of its half-space, and the state of its e-detector.
    """

    samples: int
    pending: int
    missing: int
    acknowledged: tuple[int, ...]
    everything: StreamTally
    recent: StreamTally
    sides: tuple[SideStatistics, ...]
    crossings: tuple[tuple[int, Crossing], ...]

    def epoch(self, sample: int) -> int:
        """How often alerts had been acknowledged when a sample was judged."""
        return bisect_left(self.acknowledged, sample)


# ------------------------------------------------------------------------------------------------------------- answers


@dataclass(frozen=True)
class WatchTerms:
    """What is watched, and at which risks; its methods compute the answers from statistics.

    Attributes
    ----------
    properties, claims
        What must hold, and the comparisons into which it was split.
    alpha, run_length, delta, window, seed
        As for :class:`Watch`.
    """

    properties: tuple[Property, ...]
    claims: tuple[WatchedClaim, ...]
    alpha: float | None
    run_length: float | None
    delta: float
    window: int
    seed: int

    @cached_property
    def sides(self) -> tuple[tuple[int, WatchedSide], ...]:
        """The half-spaces, each with the number of its comparison."""
        return tuple((number, side) for number, claim in enumerate(self.claims) for side in claim.sides)

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """The rates and means in all comparisons, each once."""
        return tuple(dict.fromkeys(leaf for claim in self.claims for leaf in claim.leaves))

    @cached_property
    def ranges(self) -> Mapping[Leaf, tuple[float, float]]:
        """The lowest and highest value of each of them."""
        return {leaf: span for claim in self.claims for leaf, span in claim.ranges.items()}

    def name(self, claim: WatchedClaim) -> str:
        """What the property of a comparison is called."""
        prop = self.properties[claim.number]
        return prop.name or str(prop)

    # --------------------------------------------------------------------------------------------------------- alerts

    def enough(self, epoch: int) -> float:
        """The log wealth at which an e-detector gives an alert, after ``epoch`` acknowledgements."""
        count = len(self.sides)
        if self.run_length is not None:
            return log(self.run_length * count)
        if self.alpha is None:
            raise AssertionError("a watch has alpha or run_length")
        return log(count / self.alpha) + (epoch + 1) * log(2.0)

    @property
    def onset_risk(self) -> float:
        """The risk of the bound on the earliest onset of a failure."""
        return self.delta if self.alpha is None else self.alpha

    def alert(self, index: int, crossing: Crossing) -> Alert:
        """The alert that a half-space gave."""
        number, side = self.sides[index]
        claim, onset = self.claims[number], crossing.onset(self.onset_risk)
        return Alert(
            self.name(claim),
            claim.group,
            claim.text,
            crossing.draws,
            replace(onset, means=()),
            _since(side, claim, onset),
            claim.relation,
            claim.threshold,
        )

    # -------------------------------------------------------------------------------------------------------- windows

    def now(self, known: WatchStatistics) -> tuple[WatchStatus, ...]:
        """Whether each comparison holds for the last samples, as :attr:`Watch.now` says."""
        tally = known.recent
        risk = float(self.delta * (tally.number + 1) ** -SPENDING / zeta(SPENDING))
        leaves = self._leaves(tally, risk)
        statuses = []
        for claim in self.claims:
            expression = self._expression(claim, leaves)
            records = tuple(leaves[leaf] for leaf in claim.leaves)
            samples = known.samples - tally.start
            statuses.append(
                WatchStatus(
                    self.name(claim),
                    claim.group,
                    ANSWERS[expression.settled],
                    expression,
                    records,
                    samples,
                    tally.start,
                )
            )
        return tuple(statuses)

    def _leaves(self, tally: StreamTally, risk: float) -> dict[Leaf, LeafRecord]:
        """The estimate of each rate and mean; the risk is divided evenly."""
        share = risk / len(self.leaves)
        return {leaf: self._leaf(k, leaf, tally, share) for k, leaf in enumerate(self.leaves)}

    def _leaf(self, index: int, leaf: Leaf, tally: StreamTally, risk: float) -> LeafRecord:
        count, total = float(tally.counts[index]), float(tally.totals[index])
        low, high = self.ranges[leaf]
        ends = drifting_interval(min(total, count), count, risk)
        estimate = None if not count else low + (high - low) * total / count
        return LeafRecord(
            to_text(leaf), int(count), estimate, low + (high - low) * ends[0], low + (high - low) * ends[1]
        )

    def _expression(self, claim: WatchedClaim, leaves: Mapping[Leaf, LeafRecord]) -> Expression:
        box = {leaf: (leaves[leaf].low, leaves[leaf].high) for leaf in claim.leaves}
        points = {leaf: leaves[leaf].estimate for leaf in claim.leaves}
        low, high = (0.0 if abs(end) < 1e-300 else end for end in over_box(claim.quantity, box))
        estimate = None
        if all(point is not None for point in points.values()):
            value, _ = over_box(claim.quantity, {leaf: (point, point) for leaf, point in points.items()})  # type: ignore[misc]
            estimate = value if isfinite(value) else None
        return Expression(to_text(claim.quantity), claim.relation, claim.threshold, estimate, low, high)

    # ------------------------------------------------------------------------------------------------------- verdicts

    def verdicts(self, known: WatchStatistics) -> tuple[Verdict, ...]:
        """Whether each property has held so far.

        Guarantee: with probability at least ``1 - delta``, at every look, every property, group and comparison that is
        called *violated* failed at some time, and every one that is called *holds* held at some time. A property or
        comparison with several half-spaces is never called *holds*: at every moment another of them may have failed,
        and if that changed from sample to sample, no test could tell it from a stream in which none did.
        """
        leaves = self._leaves(known.everything, self.delta)
        return tuple(self._verdict(number, known, leaves) for number in range(len(self.properties)))

    def _verdict(self, number: int, known: WatchStatistics, leaves: Mapping[Leaf, LeafRecord]) -> Verdict:
        prop = self.properties[number]
        claims = [(k, claim) for k, claim in enumerate(self.claims) if claim.number == number]
        answers = [self._answer(k, known) for k, _ in claims]
        answer = False if False in answers else answers[0] if len(answers) == 1 else None
        mine = [side for (k, _), side in zip(self.sides, known.sides, strict=True) if self.claims[k].number == number]
        meaning = _MEANING[answer]
        if answer is None and len(mine) > 1 and all(side.opposite >= self._decided for side in mine):
            meaning = _EACH_HELD
        expressions = [
            self._expression(claim, leaves).agreeing(each) for (_, claim), each in zip(claims, answers, strict=True)
        ]
        named = tuple(dict.fromkeys(leaf for _, claim in claims for leaf in claim.leaves))
        informed = tuple(leaves[leaf] for leaf in named)
        groups = tuple(
            GroupRecord(
                claim.group,
                ANSWERS[each],
                item.text,
                item.relation,
                item.threshold,
                item.estimate,
                item.low,
                item.high,
                min(leaves[leaf].n for leaf in claim.leaves),
            )
            for (_, claim), each, item in zip(claims, answers, expressions, strict=True)
            if claim.group
        )
        return Verdict(
            text=str(prop),
            answer=ANSWERS[answer],
            delta=self.delta,
            risk=self.delta if answer is not None else 0.0,
            method="bets",
            samples=known.samples,
            leaves=informed,
            expressions=tuple(expressions),
            stopped=f"after the {known.samples:,} samples that have come so far",
            assumptions=self._assumptions(known.missing),
            remarks=(meaning, *_unseen(named, informed)),
            seed=self.seed,
            seconds=0.0,
            population={"kind": "stream", "rows": known.samples},
            name=prop.name,
            version=__version__,
            groups=groups,
        )

    def _answer(self, claim: int, known: WatchStatistics) -> bool | None:
        """Has a comparison held so far? Violated if a half-space is refuted, holds if the only opposite is."""
        mine = [known.sides[index] for index, (number, _) in enumerate(self.sides) if number == claim]
        if any(side.against >= self._decided for side in mine):
            return False
        return True if len(mine) == 1 and mine[0].opposite >= self._decided else None

    @property
    def _decided(self) -> float:
        """The log wealth that refutes a half-space or its opposite; all of them share the risk."""
        return log(len(self.sides) / self.delta)

    def _assumptions(self, missing: int) -> tuple[str, ...]:
        assumed = [
            "which samples come, and in what order, may depend on the decisions about earlier ones and their outcomes, "
            "but not on those of the same sample or later ones"
        ]
        if any(len(side.channels) > 1 for _, side in self.sides):
            assumed.append(
                "at most one of the compared rates, given everything before, changes within a block: usually the few "
                f"samples in which each compared group occurs once or twice, never more than {LONGEST_BLOCK:,} samples"
            )
        if missing:
            assumed.append(f"the {missing:,} samples without an outcome would have been left out whatever the outcome")
        return tuple(assumed)


_MEANING = {
    True: "holds: it held for at least part of the period; if the rates never changed, it holds",
    False: "violated: it failed for at least part of the period; see the last samples for whether it holds now",
    None: "undecided: it may have held the whole time, and it may have failed the whole time",
}

_EACH_HELD = (
    "undecided: each part of it held for at least part of the period, but perhaps never all parts at the same time; "
    "the result for the last samples says whether it holds now"
)


def _since(side: WatchedSide, claim: WatchedClaim, onset: Onset) -> float | None:
    """The compared quantity since the onset; ``None`` if a group had no samples since, or has several rates."""
    means = {}
    for channel, factors, mean in zip(side.channels, side.factors, onset.means, strict=True):
        if len(factors) > 1 or mean is None:
            return None
        means[channel.leaves[0]] = (mean / factors[0] + 0.0,) * 2  # + 0.0 avoids -0.0
    if set(means) != set(claim.leaves):
        return None
    low, high = over_box(claim.quantity, means)  # rounded outward: around 0, both ends are tiny and not 0
    value = low + (high - low) / 2 + 0.0
    return value if isfinite(value) else None


def _unseen(leaves: Sequence[Leaf], records: Sequence[LeafRecord]) -> tuple[str, ...]:
    """Remarks on groups without members and events that never happened: more often misspelled than impossible."""
    unseen = [
        f"no sample so far informs {record.text}, so there is no result for it: is it spelled as in the stream?"
        for record in records
        if not record.n
    ]
    return (*unseen, *never_happened(leaves, records))
