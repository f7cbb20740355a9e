"""How the intervals of a run closed in, computed once more from the statistics that it kept."""

from __future__ import annotations

from isonomia.audits.audit_file.planned import Stated
from isonomia.audits.check import carry_out
from isonomia.audits.replaying.rebuilding import rebuilt, stand_in
from isonomia.engine.journal import NothingMoreError, ReadOnly
from isonomia.engine.tracing import Point, Tracing
from isonomia.errors import IsonomiaError
from isonomia.records.evidence import CheckEvidence, Evidence
from isonomia.records.verdict import Verdict

__all__ = ["MOST", "closings"]

MOST = 100
"""How many properties are traced: an interval may take a tenth of a second, and a history has dozens."""


def closings(evidence: Evidence) -> dict[str, tuple[Point, ...]]:
    """For each property that was sampled how its first interval closed in, by the property's name.

    Those are left out whose answer is exact, and those beyond the first hundred. So is one that this version computes
    otherwise than the one that wrote the record: a picture is no place to say so, ``isonomia replay`` is.
    """
    try:
        stated = rebuilt(evidence).stated
    except IsonomiaError:
        return {}
    pairs = [(each, check) for each, check in zip(stated, evidence.checks, strict=True) if _sampled(check)]
    found = {check.name: _closing(each, check) for each, check in pairs[:MOST]}
    return {name: points for name, points in found.items() if points}


def _sampled(check: CheckEvidence) -> bool:
    verdict = check.verdict
    return verdict is not None and verdict["method"] != "exact" and bool(verdict["expressions"])


def _closing(each: Stated, check: CheckEvidence) -> tuple[Point, ...]:
    trace = Tracing()
    assert check.verdict is not None
    try:
        verdict = carry_out(stand_in(each, check).arranged.with_journal(ReadOnly(check.entries)), trace)
    except (IsonomiaError, NothingMoreError):
        return ()
    recorded = Verdict.from_dict(check.verdict)
    if (verdict.answer, verdict.samples) != (recorded.answer, recorded.samples) or not trace.points:
        return ()
    last = recorded.expressions[0]
    return (*trace.points, (recorded.samples, last.low, last.estimate, last.high))
