"""How large the batches of a sampled check are, and when it ends at the latest."""

from __future__ import annotations

from dataclasses import replace

from isonomia.audits.ksafety.coded import SIDE_BY_SIDE
from isonomia.audits.ksafety.rates import RateEvidence
from isonomia.audits.ksafety.request import Request
from isonomia.audits.rates.prepare import UNLIMITED
from isonomia.engine.budget import Budget
from isonomia.engine.schedule import Schedule

__all__ = ["FEW", "LARGE", "pace_of"]

LARGE = 2**16
"""The largest batch of random cases."""

FEW = 32
"""The first batch where the block is code."""


def pace_of(request: Request, evidence: RateEvidence, finite: bool, *, coded: bool) -> tuple[Schedule, Budget]:
    """How large batches are, and when to stop at the latest.

    Bets on shares need many small batches to learn from. Without them there is nothing to learn: cases come in large
    batches, exactly as many as are needed. Rows that come to an end set a limit by themselves. Where the block is code,
    a case may take long, as ten games do: batches begin small then, so that an early violation ends it early.
    """
    budget = request.budget
    if evidence.bets is not None:
        limit = budget if budget != Budget() else Budget(samples=UNLIMITED)
        return replace(request.schedule, first=64, most=LARGE), limit
    unlimited = budget.samples == float("inf")
    wanted = float(evidence.needed) if unlimited and not finite else budget.samples
    first = int(min(LARGE, wanted, evidence.needed if request.prop.stop_early else wanted))
    most = SIDE_BY_SIDE if coded else LARGE
    if coded and request.prop.stop_early:
        first = min(first, FEW)
    return Schedule(first=max(min(first, most), 1), growth=2.0, early=2.0, most=most), replace(budget, samples=wanted)
