"""Calibration within groups: a score of 0.3 means 30 in a hundred, in every group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from operator import and_
from typing import Any

import numpy as np

from isonomia.errors import UsageError, with_known_options
from isonomia.spec.fairness.comparison import (
    Group,
    GroupLike,
    both,
    condition_of,
    for_each_group,
    number_within,
    states_outcome,
    term_of,
)
from isonomia.spec.operators import E
from isonomia.spec.operators import score as model_score
from isonomia.spec.property import Property, Term
from isonomia.spec.text import shown
from isonomia.spec.tree import Mean, Value


@states_outcome
@with_known_options
def calibration(
    attribute: str | Sequence[str],
    *,
    outcome: str | Term,
    tolerance: float,
    bins: int | Sequence[float] = 5,
    positive: Value = 1,
    groups: Iterable[GroupLike] | None = None,
    score: str | Term = model_score,
    given: str | Term | None = None,
) -> Property:
    """In every group, people with similar scores have a positive outcome about as often as their scores say.

    Scores are cut into bins. In each group and each bin the share of positive outcomes and the mean score differ by at
    most ``tolerance``: ``abs(E[(outcome == positive) - score | group and bin]) <= tolerance``. So where it holds, the
    scores of a group are, bin by bin, on average neither too high nor too low by more than that. Also called
    sufficiency, or calibration by group.

    It does **not** imply that each single score is right: within a bin, scores that are too high and scores that are
    too low cancel. It does not imply equalized odds: where groups differ in how many outcomes are positive, the two
    cannot both hold exactly (Kleinberg, Mullainathan and Raghavan 2017). It says nothing about what is decided.

    The other parameters are those that these properties share; ``isonomia.fairness`` describes them. Groups are not
    compared with each other: each is compared with its own outcomes.

    Parameters
    ----------
    outcome, positive
        The column with the actual outcome, and the value whose probability the score is. People whose outcome is
        missing count as not positive; leave them out with ``given``.
    tolerance
        How far the share of positive outcomes may be from the mean score, above 0 and at most 1.
    bins
        The number of bins of equal width from 0 to 1, or their edges, such as ``[0, 0.1, 0.3, 1]``; a bin includes its
        lower edge, and the last one both. A bin in which a group has no one leaves the verdict undecided, so choose
        bins in which every group has people. With 1 there is one bin for everyone: calibration in the large.
    score
        The score, between 0 and 1: the model's, or a column. A check refuses scores outside, and missing ones, with the
        row: no bin would count them. Leave such people out with ``given``.

    References
    ----------
    Kleinberg, Mullainathan and Raghavan (2017), "Inherent trade-offs in the fair determination of risk scores"; Pleiss,
    Raghavan, Wu, Kleinberg and Weinberger (2017), "On fairness and calibration"; Barocas, Hardt and Narayanan (2023),
    "Fairness and machine learning", chapter 3.

    Examples
    --------
    >>> print(calibration("sex", outcome="repaid", tolerance=0.1, bins=1))
    for g in sex: abs(E[(repaid == 1) - score from -1 to 1 | sex == g]) <= 0.1
    >>> print(calibration("sex", outcome="repaid", tolerance=0.1, bins=[0, 0.5, 1]))
    for g in sex: abs(E[(repaid == 1) - score from -1 to 1 | sex == g and score >= 0 and score < 0.5]) <= 0.1 and
    abs(E[(repaid == 1) - score from -1 to 1 | sex == g and score >= 0.5 and score <= 1]) <= 0.1
    """
    max_gap = number_within("tolerance", tolerance, 0, 1, above=True)
    edges = _edges(bins)
    term, happened = term_of("score", score), term_of("outcome", outcome) == positive
    condition = condition_of("given", given)

    def claim(group: Group) -> Property:
        return reduce(and_, (gap(group, bin_) for bin_ in _bins(term, edges)))

    def gap(group: Group, bin_: Term | None) -> Property:
        inside: Any = both(both(group.condition, bin_), condition)
        made: Property = abs(E(happened - term, given=inside, low=-1, high=1)) <= max_gap
        return made

    made = for_each_group("calibration", attribute, groups, claim)
    return replace(made, within=(Mean(term.node, None if condition is None else condition.node, 0.0, 1.0),))


def _edges(bins: Any) -> tuple[float, ...]:
    """The edges of the bins; empty for a single bin."""
    if isinstance(bins, int | np.integer) and not isinstance(bins, bool):
        if not 1 <= bins <= 100:
            raise UsageError(f"bins must be a number from 1 to 100, or a list of edges, but it is {shown(bins)}")
        # As people write them: 0.6, and not 0.6000000000000001.
        return () if bins == 1 else tuple(_short(round(edge / bins, 12)) for edge in range(int(bins) + 1))
    listed = list(bins) if isinstance(bins, Iterable) and not isinstance(bins, str) else []
    edges = tuple(_short(number_within("every edge of bins", edge, 0, 1)) for edge in listed)
    if len(edges) < 2 or any(one >= other for one, other in pairwise(edges)):
        raise UsageError(f"bins must be a number or edges, ascending, such as [0, 0.5, 1], but it is {shown(bins)}")
    return edges


def _short(edge: float) -> float:
    """An end of the range as people write it: 0, and not 0.0."""
    return int(edge) if edge in (0, 1) else edge


def _bins(score: Term, edges: Sequence[float]) -> list[Term | None]:
    """Whether a score lies in each of the bins; ``None`` for one that holds everyone."""
    if not edges:
        return [None]
    pairs = list(pairwise(edges))
    within = [(score >= low) & (score < high) for low, high in pairs[:-1]]
    low, high = pairs[-1]
    return [*within, (score >= low) & (score <= high)]
