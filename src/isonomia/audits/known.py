"""Known counterexamples of a property: which are tried first, and what is remembered of a verdict.

Only some audits have self-contained counterexamples (:class:`~isonomia.audits.protocol.KnownFirst`). For k-safety, the
inputs and choices suffice to compute a violation again. A statement about rates has no counterexamples. One of
responsiveness is a row of one table and the points around it; looking at some people first would either spend a risk of
its own, or give a verdict about people other than those in question.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from isonomia.audits.protocol import Check, KnownFirst
from isonomia.audits.registry import audit_for
from isonomia.records.store import Known, key_of
from isonomia.records.verdict import Verdict


def with_known(check: Check[Any], known: Known) -> Check[Any]:
    """The same check, which tries the known counterexamples of its property before anything else.

    Guarantee: the risk stays what it was. A known counterexample that still violates the property is proof by itself;
    where none does, the check goes on as if they had not been tried.
    """
    known_first = _known_first(check)
    return check if known_first is None else known_first.with_known(check, known.of(_key(check)))


def remember(known: Known, check: Check[Any], verdict: Verdict, *, forget: bool = True) -> Verdict:
    """Keep the counterexamples of a violated property and, with ``forget``, drop those that no longer violate it.

    The verdict comes back with a remark where the known counterexamples could not be read or written.
    """
    known_first = _known_first(check)
    if known_first is not None and verdict.answer == "violated":
        known.add(_key(check), known_first.proofs(check, verdict))
    elif known_first is not None and verdict.answer == "holds" and forget:
        known.drop(_key(check), known_first.outdated(check))
    if known.trouble is None:
        return verdict
    return replace(verdict, remarks=(*verdict.remarks, f"known counterexamples were left aside: {known.trouble}"))


def _known_first(check: Check[Any]) -> KnownFirst | None:
    """How the audit tries known counterexamples; ``None`` where they would prove nothing."""
    known_first = audit_for(check.prop).known_first
    return known_first if known_first is not None and known_first.applies(check) else None


def _key(check: Check[Any]) -> str:
    return key_of(audit_for(check.prop).kind, str(check.prop))
