"""Intervals of what was counted: exact for rates, by bets for means, and for ratios to a reference group.

Every interval misses the truth with probability at most ``delta``, each by itself. Given who belongs to which group,
people are independent draws, so that a rate of a group is a binomial share with a known number of draws, whatever the
group's size came to be.

*The group with the highest rate* is unknown, only the one with the highest rate among these rows. The ratio to the
truly highest is the least of the ratios to all groups. So it is above a value if all of them are: each lower limit may
have the full risk, since one fixed group decides, and groups that at a risk of ``gamma`` cannot be the highest are left
out. It is below a value if one of them is: each upper limit has a part of the risk, and the least of them counts. So a
ratio is never bounded as if the reference had been chosen beforehand.

*The median of all scores* is unknown either. At a small risk it lies between two of the scores that were seen, and a
group's share above it is bet on for every value between the two (:mod:`isonomia.evidence.median_shares`). Without bets,
the count above the true median is binomial, and lies between the counts above the two.

Intervals of a table whose rows belong together: each cluster is one draw, and one bet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isnan, log, nan, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from isonomia.audits.measure.counts import BinnedNumbers, GroupCounts
from isonomia.evidence.binomial import lower_limit, upper_limit
from isonomia.evidence.cluster_claims import rate_limits, ratio_limits
from isonomia.evidence.clusters import ClusterBatch
from isonomia.evidence.confidence_sequences import anytime_interval, mean_ends, mean_interval
from isonomia.evidence.looks import LookPlan, planned_report
from isonomia.evidence.median_shares import SINGLY, share_above_limit
from isonomia.evidence.one_look import RateFraction, lower_end, proves_above, upper_end
from isonomia.populations.design import Clustering
from isonomia.records.group_table import Estimate

Floats = NDArray[np.float64]
Ends = tuple[float, float]
RatioEnds = tuple[float | None, float | None, float | None]
"""A ratio and its interval; ``None`` without one."""

NUISANCE = 1.0 / 50.0
"""``gamma / delta``, as in :mod:`isonomia.evidence.one_look`: the share of the risk for telling which group may be the
highest. Any share is valid."""

MEDIAN = 1.0 / 20.0
"""The share of the risk for where the median may lie. Any share is valid; limits move by little with the median."""

MOST, MARGIN = 200_000, 150
"""Up to how many people shares above the median are bet on, and how many scores beyond the range of the median are
counted. With more people there are the limits of counts alone, which take less time."""

PARTS = np.diff(np.linspace(0.0, 1.0, 17) ** 2)
"""The sizes of the parts that a group is divided into at random, the first ones small: the stakes of a mean's interval
come from earlier parts. More parts cost time and gain little."""

TINY = 1e-300
"""Stands for the width of a bin without one, so that nothing is divided by 0."""

MANY = 40
"""With more groups than this, ratios are bounded by the ends of two intervals: exact limits would take minutes. The
choice depends on the number of groups, not on the counts, so either is valid."""

RATIO = RateFraction(0.0, (1.0, 0.0), 0.0, (0.0, 1.0))
"""The first rate divided by the second."""


@dataclass(frozen=True, slots=True)
class IntervalMethod:
    """How intervals are made.

    Attributes
    ----------
    delta
        The risk of one interval.
    looks
        ``"once"``, a number of planned looks, which share the risk, or ``"any"``.
    exact
        Whether the rows are the whole population, so that nothing is uncertain.
    """

    delta: float
    looks: str | int
    exact: bool

    @property
    def risk(self) -> float:
        """The risk of one interval at one look."""
        report = planned_report(self.looks)
        if report is not None:
            return self.delta * LookPlan(report[0]).share(len(report[1]) + 1)
        return self.delta / self.looks if isinstance(self.looks, int) else self.delta

    def _upper(self, yes: Floats, n: Floats, risk: float) -> Floats:
        """Upper limits of rates, each wrong with at most this probability; with ``"any"``, of an interval at it."""
        if self.looks == "any":
            return anytime_interval(yes, n, risk)[1]
        return upper_limit(yes, n, risk)

    def _lower(self, yes: Floats, n: Floats, risk: float) -> Floats:
        if self.looks == "any":
            return anytime_interval(yes, n, risk)[0]
        return lower_limit(yes, n, risk)

    def rates(self, yes: Floats, n: Floats) -> tuple[Floats, Floats]:
        """The intervals of rates; the whole range for an empty group."""
        yes, n = np.asarray(yes, dtype=float), np.asarray(n, dtype=float)
        if self.exact:
            share = yes / np.maximum(n, 1.0)
            return share, share
        if self.looks == "any":
            return anytime_interval(yes, n, self.risk)
        return lower_limit(yes, n, self.risk / 2.0), upper_limit(yes, n, self.risk / 2.0)

    def mean(self, numbers: BinnedNumbers, ends: Ends | None) -> Ends | None:
        """The interval of a mean of numbers between these ends; ``None`` if unknown."""
        value = float(numbers.total / numbers.n)
        if self.exact:
            return value, value
        if ends is None:
            return None
        edges, bins, n = np.clip(numbers.edges, *ends), numbers.bins, numbers.n
        nodes, widths = np.concatenate([[ends[0]], edges, [ends[1]]]), np.diff(edges)
        if self.looks == "any":
            above = np.clip((numbers.sums - bins * edges[:-1]) / np.maximum(widths, TINY), 0.0, bins)
            return mean_interval(nodes, np.pad(bins - above, (1, 2)) + np.pad(above, (2, 1)), self.risk)
        # Counts are put in a random order (docs/theory/one-look.md); what a bin leaves open has an interval of its own.
        parts = np.random.default_rng(0).multinomial(bins, PARTS).T.astype(float)
        risk, open_risk = self.risk / 2.0 * (1.0 - NUISANCE), self.risk / 2.0 * NUISANCE
        slack = float(widths.max()) * sqrt(log(1.0 / open_risk) / (2.0 * n))
        inside, over = value - float(bins @ edges[:-1]) / n, float(bins @ edges[1:]) / n - value
        low = mean_ends(nodes, np.pad(parts, ((0, 0), (1, 2))), risk)[0] + max(inside - slack, 0.0)
        high = mean_ends(nodes, np.pad(parts, ((0, 0), (2, 1))), risk)[1] - max(over - slack, 0.0)
        # The limits come from parts in turn, and may exclude the mean of all by chance: so it is included.
        return min(low, value), max(high, value)

    # ---------------------------------------------------------------------------------------------- ratios

    def ratios(self, yes: Floats, n: Floats, eligible: Sequence[int], reference: int | None) -> list[RatioEnds]:
        """Each group's rate divided by that of the reference group, or of the highest among the eligible groups.

        Parameters
        ----------
        yes, n
            Counts, by group.
        eligible
            The groups that may be the highest.
        reference
            The reference group; ``None`` for the highest.
        """
        rates = np.where(n > 0, yes / np.maximum(n, 1), np.nan)
        able = [reference] if reference is not None else [group for group in eligible if n[group] > 0]
        base = max((float(rates[group]) for group in able), default=np.nan)
        if not self.exact and len(n) > MANY:
            risk = self.risk / 4.0
            part = self._lower(yes, n, risk / max(len(able), 1))
            return _ratios_of_ends(rates, self._lower(yes, n, risk), self._upper(yes, n, risk), part, able)
        highest = self._may_be_highest(yes, n, able)
        results: list[RatioEnds] = []
        for group in range(len(n)):
            if n[group] == 0 or not base > 0:
                results.append((None, None, None))
                continue
            value = float(rates[group]) / base
            if self.exact or able == [group]:
                results.append((value, value, value))
            else:
                results.append((value, self._least(yes, n, group, highest, len(able)), self._most(yes, n, group, able)))
        return results

    def _may_be_highest(self, yes: Floats, n: Floats, able: Sequence[int]) -> list[int]:
        """The groups whose rate may be the highest: all others are refuted, at a risk of gamma in all."""
        if self.exact or len(able) < 2:
            return list(able)
        chosen, gamma = np.asarray(able), NUISANCE * self.risk / 2.0
        # The limit of the highest errs with half of gamma; those of the others with their parts of the other half.
        upper = self._upper(yes[chosen], n[chosen], gamma / 2.0)
        lower = self._lower(yes[chosen], n[chosen], gamma / (2.0 * len(able)))
        return [group for group, top in zip(able, upper.tolist(), strict=True) if top >= lower.max()]

    def _least(self, yes: Floats, n: Floats, group: int, highest: Sequence[int], able: int) -> float:
        """The lower limit of a group's ratio to the highest: the least of those to all groups that may be highest."""
        risk = self.risk / 2.0 * (1.0 if able == 1 else 1.0 - NUISANCE)
        low = 1.0 if group in highest else inf
        # Only the most informative limit is searched; that the others say no more is proved, many times faster.
        for other in sorted(highest, key=lambda other: -yes[other] / n[other]):
            if other == group:
                continue
            counts, draws = (yes[group], yes[other]), (n[group], n[other])
            if self.looks == "any":
                low = min(low, self._anytime(counts, draws, risk)[0])
            elif low in (inf, 1.0) or not proves_above(RATIO, counts, draws, risk, low):
                low = min(low, max(lower_end(RATIO, counts, draws, risk), 0.0))
        return low

    def _most(self, yes: Floats, n: Floats, group: int, able: Sequence[int]) -> float:
        """The upper limit of a group's ratio to the highest: the least of those to all groups, which share the risk.

        Whichever of them is taken, the limit is valid, since all of them hold together; so only the most promising one,
        by an approximation, is searched. A group that can itself be the highest is not above it.
        """
        others = [other for other in able if other != group and yes[other] > 0]
        largest_ratio, risk = 1.0 if group in able else inf, self.risk / 2.0 / max(len(able) - (group in able), 1)
        if not others:
            return largest_ratio
        z = -float(ndtri(risk))

        def guess(other: int) -> float:
            first, second = ((yes[each] + 0.5) / (n[each] + 1.0) for each in (group, other))
            spread = sum((1.0 - rate) / (rate * n[each]) for rate, each in ((first, group), (second, other)))
            return float(np.log(first / second) + z * np.sqrt(max(spread, 0.0)))

        best = min(others, key=guess)
        if guess(best) > 0.5 and largest_ratio == 1.0:
            return largest_ratio
        counts, draws = (yes[group], yes[best]), (n[group], n[best])
        if self.looks == "any":
            return min(largest_ratio, self._anytime(counts, draws, risk)[1])
        return min(largest_ratio, upper_end(RATIO, counts, draws, risk))

    def _anytime(self, yes: tuple[float, float], n: tuple[float, float], risk: float) -> Ends:
        """Limits of a ratio at any time, each at this risk: from the ends of two intervals with half of it each."""
        low, high = anytime_interval(np.asarray(yes), np.asarray(n), risk / 2.0)
        return _divided(float(low[0]), float(high[1])), _divided(float(high[0]), float(low[1]))

    # ------------------------------------------------------------------------------------- shares above the median

    def lowest_median_rank(self, n: int) -> int:
        """The scores of this rank from either end enclose the median of the population; 0 for none. Ranks count from 1.

        They do at a risk of ``MEDIAN`` of the whole.
        """
        gamma, low, high = self.risk * MEDIAN, 0, n // 2 + 1
        # The least rank whose share may be a half: all scores of a lower rank lie below the median.
        while low < high:
            middle = (low + high) // 2
            enough = float(self._upper(np.asarray(float(middle)), np.asarray(float(n)), gamma / 2.0)) >= 0.5
            low, high = (low, middle) if enough else (middle + 1, high)
        return low

    def ranks_about_median(self, n: int) -> list[int]:
        """Ascending ranks of the scores that cut the range of the median; none where there is nothing to enclose."""
        low = 0 if self.exact else self.lowest_median_rank(n)
        if low == 0:
            return []
        if self.looks == "any" or n > MOST:
            return [low, n + 1 - low]
        margin = MARGIN if n > SINGLY else 0
        return list(range(max(low - margin, 1), min(n + 1 - low + margin, n) + 1))

    def scoring(self, above: Floats, n: Floats, risk: float | None = None) -> tuple[Floats, Floats]:
        """The intervals of shares above the median.

        Parameters
        ----------
        above
            By group, how many scores lie above the median of these rows, and above each cut of its range.
        n
            How many scores each group has.
        risk
            The probability with which an interval may miss; ``None`` for that of one interval.
        """
        share = above[:, 0] / np.maximum(n, 1.0)
        if self.exact:
            return share, share
        if above.shape[1] == 1:
            return np.zeros(len(n)), np.ones(len(n))
        low, high = self._scoring_of_counts(above, n, risk)
        if self._scoring_bets(n):
            for group in np.flatnonzero(n).tolist():
                low[group] = self._scoring_end(above, n, group, risk)
                high[group] = 1.0 - self._scoring_end(above, n, group, risk, reverse=True)
        return low, high

    def _scoring_bets(self, n: Floats) -> bool:
        return self.looks != "any" and float(n.sum()) <= MOST and len(n) <= MANY

    def _scoring_risk(self, risk: float | None, sides: float) -> float:
        """The risk of one limit, without that of the median's range."""
        return (self.risk if risk is None else risk) * (1.0 - MEDIAN) / sides

    def _median_range(self, above: Floats, n: Floats) -> slice:
        """The bins between the cuts in which the median may lie: with at least half of all at most at its upper end."""
        total, everybody = above[:, 1:].sum(axis=0), int(n.sum())
        rank = self.lowest_median_rank(everybody)
        return slice(int(np.sum(total > everybody - rank)), int(np.sum(total >= rank)) + 1)

    def _scoring_of_counts(self, above: Floats, n: Floats, risk: float | None) -> tuple[Floats, Floats]:
        """Intervals from the counts above both ends of the range of the median."""
        each, inside = self._scoring_risk(risk, 1.0 if self.looks == "any" else 2.0), self._median_range(above, n)
        return self._lower(above[:, inside.stop], n, each), self._upper(above[:, inside.start], n, each)

    def _scoring_end(self, above: Floats, n: Floats, group: int, risk: float | None, *, reverse: bool = False) -> float:
        """The lower limit of a group's share above the median, or at or below it, by bets; at most the share."""
        bins = -np.diff(np.column_stack([n, above[:, 1:], np.zeros(len(n))]), axis=1)
        own, estimate, risk = bins[group], float(above[group, 0] / n[group]), self._scoring_risk(risk, 2.0)
        inside = self._median_range(above, n)
        limit = share_above_limit(own, bins.sum(axis=0) - own, inside, risk, reverse=reverse)
        return min(limit, 1.0 - estimate if reverse else estimate)

    def scoring_ratios(
        self, above: Floats, n: Floats, eligible: Sequence[int], reference: int | None
    ) -> list[RatioEnds]:
        """Ratios of shares above the median: from the ends of two intervals with half the risk each."""
        rates = np.where(n > 0, above[:, 0] / np.maximum(n, 1), np.nan)
        able = [reference] if reference is not None else [group for group in eligible if n[group] > 0]
        low, high = self.scoring(above, n, self.risk / 2.0)
        if self.exact or above.shape[1] == 1:
            return _ratios_of_ends(rates, low, high, low, able)
        few = self.risk / 2.0 / max(len(able), 1)
        part, _ = self._scoring_of_counts(above, n, few)
        if self._scoring_bets(n) and able:
            # All limits hold together, so only the one that promises most has to be sharp.
            best = max(able, key=lambda group: part[group])
            part[best] = max(part[best], self._scoring_end(above, n, best, few))
        return _ratios_of_ends(rates, low, high, part, able)


def _ratios_of_ends(rates: Floats, low: Floats, high: Floats, part: Floats, able: Sequence[int]) -> list[RatioEnds]:
    """Ratios to the highest rate of some groups, from the ends of two intervals with half the risk each.

    Quick, and a third wider than exact limits. The highest rate is at most the greatest upper limit, since it has one
    itself, which errs with its own risk. It is at least every lower limit; the greatest of these is right if all are,
    so in ``part`` each has a part of the risk.
    """
    base = max((float(rates[group]) for group in able), default=np.nan)
    results: list[RatioEnds] = []
    for group, rate in enumerate(rates.tolist()):
        if rate != rate or not base > 0:
            results.append((None, None, None))
        elif able == [group]:
            results.append((1.0, 1.0, 1.0))
        else:
            least = _divided(float(low[group]), float(high[able].max()))
            largest = _divided(float(high[group]), float(part[able].max()))
            results.append((rate / base, least, min(largest, 1.0) if group in able else largest))
    return results


def _divided(top: float, bottom: float) -> float:
    return top / bottom if bottom > 0 else inf


Shares = Callable[[NDArray[np.int64]], Mapping[str, tuple[Floats, Floats]]]

BATCHES = 64
"""How many batches the clusters are bet on in. Changes width and cost only."""


@dataclass(slots=True)
class KeptRows:
    """What was read of each row, which intervals need where rows belong together.

    Attributes
    ----------
    clustering
        Which rows belong together.
    decision, outcome
        What was decided and what happened, in the order of the rows, batch by batch.
    groups
        The group of each row, for each attribute or combination.
    numbers
        The numbers of each mean.
    """

    clustering: Clustering
    decision: list[NDArray[np.int8]] = field(default_factory=list)
    outcome: list[NDArray[np.int8]] = field(default_factory=list)
    groups: dict[tuple[str, ...], list[NDArray[np.intp]]] = field(default_factory=dict)
    numbers: dict[str, list[Floats]] = field(default_factory=dict)

    def history(self, rows: Sequence[Floats], sums: Sequence[Floats]) -> list[ClusterBatch]:
        """The clusters in a random order, in batches; one column for each leaf."""
        order = np.random.default_rng(0).permutation(len(rows[0]))
        both = np.stack(rows, axis=-1)[order].astype(float), np.stack(sums, axis=-1)[order].astype(float)
        return ClusterBatch.in_order(*both, min(BATCHES, len(order)))


def cluster_intervals(
    kept: KeptRows,
    counts: GroupCounts,
    limits: IntervalMethod,
    estimates: list[dict[str, Estimate]],
    shares: Shares,
    spans_known: Mapping[str, Ends | None],
    who: tuple[Sequence[int], Sequence[int], int | None],
) -> None:
    """Put intervals that are valid for clusters in place of those for independent rows.

    Each interval misses with probability at most ``limits.delta``, half of it at either limit. A ratio to the highest
    rate is bounded by the limits of all rates that may be the highest, which share the risk.

    Parameters
    ----------
    kept, counts, limits
        The rows, the groups, and the risk.
    estimates
        What was estimated of each group; changed in place.
    shares
        Numerators and denominators of every rate from cells of decisions and outcomes, in the order of the cells.
    spans_known
        Between which values the numbers of each mean lie, where that is known.
    who
        The groups that are compared, those that may be the highest, and the reference group, if one was named.
    """
    facts, codes = kept.clustering.facts, kept.clustering.codes
    largest, count = float(facts.largest), facts.count
    deadline, risk = (None if limits.looks == "any" else count), limits.risk / 2.0
    groups = np.concatenate(kept.groups[counts.by])
    cells = np.concatenate(kept.decision).astype(np.intp) * 3 + np.concatenate(kept.outcome)
    rates: dict[int, Mapping[str, tuple[Floats, Floats]]] = {}
    histories: dict[tuple[int, str], list[ClusterBatch]] = {}
    spans: dict[str, tuple[float, float]] = {}
    for index in range(len(estimates)):
        mask = groups == index
        own = np.bincount(codes[mask] * 9 + cells[mask], minlength=count * 9).reshape(count, 3, 3)
        rates[index] = shares(own)
        histories |= {(index, name): kept.history([n], [yes]) for name, (yes, n) in rates[index].items() if n.any()}
        for name, parts in kept.numbers.items():
            span, values = spans_known[name], np.concatenate(parts)
            there = mask & ~np.isnan(values)
            if span is None or not there.any():
                continue
            n = np.bincount(codes[there], minlength=count).astype(float)
            unit = np.clip((values[there] - span[0]) / (span[1] - span[0]), 0.0, 1.0)
            sums = np.minimum(np.bincount(codes[there], unit, minlength=count), n)
            spans[name], histories[index, name] = span, kept.history([n], [sums])
    ends = dict(zip(histories, rate_limits(list(histories.values()), largest, risk, deadline), strict=True))
    for index, row in enumerate(estimates):
        for name, item in row.items():
            least, greatest = spans.get(name, (0.0, 1.0))
            low, high = (least + (greatest - least) * end for end in ends.get((index, name), (nan, nan)))
            bounded = replace(item, low=None if isnan(low) else low, high=None if isnan(high) else high)
            row[name] = item if item.low is None else bounded
    able, large, reference = who
    if "impact_ratio" in (estimates[0] if estimates else {}):
        _bound_ratios(kept, rates, estimates, (able, large, reference), (largest, limits.risk / 2.0, deadline))


def _bound_ratios(
    kept: KeptRows,
    rates: Mapping[int, Mapping[str, tuple[Floats, Floats]]],
    estimates: list[dict[str, Estimate]],
    who: tuple[Sequence[int], Sequence[int], int | None],
    how: tuple[float, float, int | None],
) -> None:
    """The intervals of impact ratios."""
    able, large, reference = who
    largest, risk, deadline = how
    selected = {index: rates[index]["selection_rate"] for index in able if rates[index]["selection_rate"][1].any()}
    highest = [index for index in large if index in selected]
    box, ratios = {}, {}
    if reference is None:
        share = risk / (len(highest) + 1)
        alone = [kept.history([n], [yes]) for yes, n in selected.values()]
        box = dict(zip(selected, rate_limits(alone, largest, share, deadline), strict=True))
    elif reference in selected:
        other_yes, other = selected[reference]
        compared = {index: pair for index, pair in selected.items() if index != reference}
        pairs = [kept.history([n, other], [yes, other_yes]) for yes, n in compared.values()]
        ratios = dict(zip(compared, ratio_limits(pairs, largest, risk, deadline), strict=True))
    for index in selected:
        item = estimates[index]["impact_ratio"]
        if item.value is None or index == reference or (reference is not None and index not in ratios):
            continue
        if reference is not None:
            low, high = ratios[index]
        else:
            above, below = max(box[each][1] for each in highest), max(box[each][0] for each in highest)
            low = box[index][0] / above if above > 0.0 else 0.0
            high = box[index][1] / below if below > 0.0 else inf
            high = min(high, 1.0) if index in highest else high
        estimates[index]["impact_ratio"] = replace(item, low=low, high=high)
