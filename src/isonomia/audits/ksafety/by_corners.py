"""The step before drawing: cases at the ends of ranges, which random draws hardly ever meet.

They are chosen and not drawn, so that nothing about a share may rest on them. What must always be true is refuted by a
single case, whichever way it was come by. So a corner can turn an answer into *violated*, which is a fact then, and
into nothing else: *holds* is said wrongly no more often than without them. Intervals of shares are right whenever one
stops, for whatever reason; so it does no harm that a corner may end the drawing after its first batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from time import monotonic
from typing import Any

import numpy as np

from isonomia.audits.ksafety.cases import Cases
from isonomia.audits.ksafety.cornered import Corners
from isonomia.audits.ksafety.corners import Extent, corner_cases
from isonomia.audits.ksafety.found import Finds
from isonomia.audits.ksafety.judging import Judged
from isonomia.audits.ksafety.pacing import FEW
from isonomia.audits.ksafety.rates import RateEvidence
from isonomia.audits.ksafety.running import Runner
from isonomia.audits.ksafety.seen import Findings
from isonomia.audits.ksafety.showing import shown_finds
from isonomia.audits.ksafety.shrinking import SHRUNK, shrunk
from isonomia.audits.ksafety.steps import Steps
from isonomia.audits.ksafety.tallies import piece_of
from isonomia.audits.ksafety.verdicts import is_proof
from isonomia.engine.budget import Budget
from isonomia.engine.journal import Entry, once
from isonomia.engine.seeds import corner_rng
from isonomia.errors import ModelError, UnreliableModelError
from isonomia.populations.domains import Domain

__all__ = ["budget_left", "most_corners", "try_corners", "with_corners"]

MOST = 64
"""How many corners are tried."""

POOL = 4096
"""People of an unlimited population among whom those at the ends are looked for, where it does not name them."""

KEY = "corners"
"""What the step is kept under."""


def try_corners(steps: Steps) -> Corners | None:
    """Try the corners; ``None`` where they are not wanted, or could prove nothing."""
    prop, evidence = steps.request.prop, steps.evidence
    most = most_corners(steps.request.budget, evidence, coded=steps.program.code is not None)
    if not prop.corners or not prop.stop_early or not evidence.strict or not most:
        return None
    kept = once(steps.journal, KEY, lambda: _tried(steps, most))
    return Corners(**{**kept, "counterexamples": tuple(kept["counterexamples"])})


def most_corners(budget: Budget, evidence: RateEvidence, *, coded: bool) -> int:
    """How many may be tried: a tenth of a budget at most, and never so many that too few are left to draw.

    Where the block is code, a case may take long, and no more corners are tried than cases are drawn at first.
    """
    most = FEW if coded else MOST
    if budget.samples == inf:
        return most
    spare = budget.samples - evidence.needed
    return int(min(most, budget.samples // 10, spare if spare >= 0 else inf))


def budget_left(budget: Budget, corners: Corners | None) -> Budget:
    """What the corners leave of a budget."""
    if corners is None:
        return budget
    return replace(budget, samples=budget.samples - corners.tried, seconds=max(budget.seconds - corners.seconds, 1e-9))


def with_corners(found: Findings, corners: Corners | None) -> Findings:
    """Violations with those of the corners among them, the smallest changes first."""
    if corners is None or not corners.refuting:
        return found
    both = (*corners.counterexamples, *found.counterexamples)
    return replace(found, counterexamples=tuple(sorted(both, key=_cost)))


def _cost(item: Mapping[str, Any]) -> tuple[int, float]:
    return item["features_changed"], item["distance"]


def _tried(steps: Steps, most: int) -> Entry:
    """Their answers are kept apart: the steps behind count theirs from the beginning."""
    began = monotonic()
    runner = steps.bench.runner(steps.program, steps.subject.random, KEY)
    # No more people are drawn for it than will be drawn anyway: a population may be slow too.
    extent = Extent(most, int(min(POOL, steps.request.budget.samples, steps.evidence.needed)))
    domain, cases = corner_cases(runner, steps.inputs, steps.bench.domain, extent, corner_rng(steps.request.seed))
    told: dict[str, Any] = {"tried": len(cases), "violating": 0, "failed": 0, "counterexamples": []}
    try:
        if len(cases):
            told |= _judged(steps, runner, domain, cases)
    except UnreliableModelError:
        raise
    except ModelError:
        told["failed"] = len(cases)  # a model that answers for nobody is found out when cases are drawn
    return {**told, "seconds": monotonic() - began}


def _judged(steps: Steps, runner: Runner, domain: Domain, cases: Cases) -> dict[str, Any]:
    """How many violate what must always be true, and how many failed; the smallest violations, which occur again."""
    judged, cases = runner.run(domain, cases)
    bad = np.flatnonzero(_proves(judged, steps.evidence))
    finds = Finds()
    finds.add(domain, cases.take(bad), judged.changed[:, bad], 0)
    best = finds.ranked(SHRUNK)
    # Beside a claim about a share, the smallest change that violates anything may be no proof.
    tried = [(find, False) for find in best] if steps.evidence.rated else shrunk(runner, best)
    shown = shown_finds(runner, [find for find, _ in tried], [minimal for _, minimal in tried])
    proofs: list[Mapping[str, Any]] = [item for item in shown if is_proof(steps.program, item)]
    return {"violating": len(bad), "failed": piece_of(judged).failed, "counterexamples": proofs}


def _proves(judged: Judged, evidence: RateEvidence) -> Any:
    return judged.violates[list(evidence.strict)].any(axis=0)
