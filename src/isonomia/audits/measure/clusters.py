"""Intervals of a table whose rows belong together: each cluster is one draw, and one bet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isnan, nan

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.measure.counts import GroupCounts
from isonomia.audits.measure.limits import GroupLimits
from isonomia.evidence.cluster_claims import rate_limits, ratio_limits
from isonomia.evidence.clusters import ClusterBatch
from isonomia.populations.finite import Clustering
from isonomia.records.group_table import Estimate

Floats = NDArray[np.float64]
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
    limits: GroupLimits,
    estimates: list[dict[str, Estimate]],
    shares: Shares,
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
    for place in range(len(estimates)):
        mask = groups == place
        own = np.bincount(codes[mask] * 9 + cells[mask], minlength=count * 9).reshape(count, 3, 3)
        rates[place] = shares(own)
        histories |= {(place, name): kept.history([n], [yes]) for name, (yes, n) in rates[place].items() if n.any()}
        for name, parts in kept.numbers.items():
            span, values = counts.means[name].ends, np.concatenate(parts)
            there = mask & ~np.isnan(values)
            if span is None or not there.any():
                continue
            n = np.bincount(codes[there], minlength=count).astype(float)
            unit = np.clip((values[there] - span[0]) / (span[1] - span[0]), 0.0, 1.0)
            sums = np.minimum(np.bincount(codes[there], unit, minlength=count), n)
            spans[name], histories[place, name] = span, kept.history([n], [sums])
    ends = dict(zip(histories, rate_limits(list(histories.values()), largest, risk, deadline), strict=True))
    for place, row in enumerate(estimates):
        for name, item in row.items():
            least, most = spans.get(name, (0.0, 1.0))
            low, high = (least + (most - least) * end for end in ends.get((place, name), (nan, nan)))
            found = replace(item, low=None if isnan(low) else low, high=None if isnan(high) else high)
            row[name] = item if item.low is None else found
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
    selected = {place: rates[place]["selection_rate"] for place in able if rates[place]["selection_rate"][1].any()}
    highest = [place for place in large if place in selected]
    box, ratios = {}, {}
    if reference is None:
        share = risk / (len(highest) + 1)
        alone = [kept.history([n], [yes]) for yes, n in selected.values()]
        box = dict(zip(selected, rate_limits(alone, largest, share, deadline), strict=True))
    elif reference in selected:
        other_yes, other = selected[reference]
        compared = {place: pair for place, pair in selected.items() if place != reference}
        pairs = [kept.history([n, other], [yes, other_yes]) for yes, n in compared.values()]
        ratios = dict(zip(compared, ratio_limits(pairs, largest, risk, deadline), strict=True))
    for place in selected:
        item = estimates[place]["impact_ratio"]
        if item.value is None or place == reference or (reference is not None and place not in ratios):
            continue
        if reference is not None:
            low, high = ratios[place]
        else:
            above, below = max(box[each][1] for each in highest), max(box[each][0] for each in highest)
            low = box[place][0] / above if above > 0.0 else 0.0
            high = box[place][1] / below if below > 0.0 else inf
            high = min(high, 1.0) if place in highest else high
        estimates[place]["impact_ratio"] = replace(item, low=low, high=high)
