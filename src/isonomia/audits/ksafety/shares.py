"""The share of cases that violate: an interval from counts, and the comparison with what is allowed."""

from __future__ import annotations

import numpy as np

from isonomia.audits.ksafety.tallies import Totals
from isonomia.evidence.mixture import mean_interval
from isonomia.records.verdict import Expression
from isonomia.spec.nomos.text import expression_text
from isonomia.spec.nomos.tree import Ensures

__all__ = ["Share", "always", "compared_share", "complete_share", "drawn_share"]

Share = tuple[float | None, float, float]
"""Estimate, lowest and highest."""


def always(item: Ensures) -> bool:
    """Whether an ``ensures`` must be true of every case."""
    return item.rate is None or item.rate >= 1.0


def complete_share(totals: Totals, number: int) -> Share:
    """The share of all cases that violate one ``ensures``, where every case was tried."""
    certain, possible = totals.bad_weight[number], totals.bad_weight[number] + totals.failed_weight[number]
    share = float(certain / totals.weight)
    return share, share, float(possible / totals.weight)


def drawn_share(totals: Totals, number: int, delta: float) -> Share:
    """The share that violate one ``ensures``, from random cases: it is missed with probability at most ``delta``."""
    if not totals.tested or totals.weight:  # nothing, or a part of all cases in order: no random sample
        return None, 0.0, 1.0
    bad, failed, n = totals.by_ensures[number], totals.failed, totals.tested
    ends = np.array([0.0, 1.0])
    low = mean_interval(ends, np.array([n - bad, bad], dtype=float), delta)[0]
    most = min(bad + failed, n)
    high = mean_interval(ends, np.array([n - most, most], dtype=float), delta)[1]
    return bad / n, low, high


def compared_share(item: Ensures, share: Share, eps: float | None, held: bool = False) -> Expression:
    """A share and what it must not exceed.

    Parameters
    ----------
    item
        What is ensured.
    share
        The share that violates it.
    eps
        What is left open of an ``ensures`` that must always be true, where no case violates it; ``None`` where nothing
        is left open.
    held
        Whether the answer is *holds*.
    """
    estimate, low, high = share
    allowed = 0.0 if item.rate is None else round(1.0 - item.rate, 12)
    if always(item) and eps is not None:
        allowed = eps
        if held:
            # The test of the first violation is sharper than an interval that is made for any number of them.
            high = min(high, allowed)
    return Expression(f"share that violates {expression_text(item.condition)}", "<=", allowed, estimate, low, high)
