"""What a k-safety check keeps in its journal, besides the batches: as plain values, exact."""

from __future__ import annotations

from collections import Counter

from isonomia.audits.ksafety.cases import Counts
from isonomia.audits.ksafety.seen import Findings
from isonomia.audits.ksafety.tallies import Totals
from isonomia.engine.journal import Entry
from isonomia.records.rationals import rational

__all__ = ["findings_of", "packed_findings", "packed_totals", "totals_of"]


def packed_totals(totals: Totals) -> Entry:
    """Counts and weights of every case; fractions as text."""
    return {
        "tested": totals.tested,
        "violating": totals.violating,
        "by_ensures": list(totals.by_ensures),
        "failed": totals.failed,
        "vacuous": totals.vacuous,
        "reasons": [list(pair) for pair in totals.reasons.items()],
        "weight": str(totals.weight),
        "bad_weight": list(map(str, totals.bad_weight)),
        "failed_weight": list(map(str, totals.failed_weight)),
    }


def totals_of(entry: Entry, turned_away: Counts) -> Totals:
    """The totals that were packed; who was turned away is kept apart from them."""
    totals = Totals(len(entry["by_ensures"]), entry["tested"], turned_away, entry["violating"])
    totals.by_ensures = list(entry["by_ensures"])
    totals.failed, totals.vacuous = entry["failed"], entry["vacuous"]
    totals.reasons = Counter(dict(entry["reasons"]))
    totals.weight = rational(entry["weight"])
    totals.bad_weight = list(map(rational, entry["bad_weight"]))
    totals.failed_weight = list(map(rational, entry["failed_weight"]))
    return totals


def packed_findings(findings: Findings) -> Entry:
    """Counterexamples and numbers of distinct violations."""
    return {
        "counterexamples": list(findings.counterexamples),
        "gone": findings.gone,
        "distinct": findings.distinct,
        "exact": findings.exact,
        "inputs": findings.inputs,
        "tested": findings.tested,
    }


def findings_of(entry: Entry) -> Findings:
    """The findings that were packed."""
    return Findings(**{**entry, "counterexamples": tuple(entry["counterexamples"])})
