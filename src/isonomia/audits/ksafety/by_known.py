"""The first step: counterexamples of earlier verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from isonomia.audits.ksafety.remembering import among, checked_known, gone_elsewhere, still_violating
from isonomia.audits.ksafety.seen import Findings
from isonomia.audits.ksafety.steps import Steps
from isonomia.audits.ksafety.tallies import Totals
from isonomia.audits.ksafety.verdicts import Outcome, is_proof
from isonomia.engine.journal import Entry, once

__all__ = ["by_known"]


def by_known(steps: Steps) -> Outcome | None:
    """The answer where a known counterexample violates the property still.

    Those that the check began with are tried, whatever has become known since. A census speaks of its rows alone, so
    that one which is not among them proves nothing there.
    """
    prop = steps.request.prop
    known = once(steps.journal, "known", lambda: {"known": checked_known(prop.known)})["known"]
    if not known:
        return None
    tried = once(steps.journal, "known again", lambda: _tried(steps, known))
    again = tuple(tried["violating"])
    if not again or not prop.stop_early:
        return None
    told = f"{len(again)} of {len(known)} known counterexamples violate it still"
    remarks = (told, *tried["elsewhere"])
    totals = Totals(len(steps.program.ensures))
    return Outcome(False, totals, Findings(again), False, len(again), told, steps.seconds(), remarks)


def _tried(steps: Steps, known: Sequence[Entry]) -> Entry:
    """Those that violate it still. Their answers are kept apart: the steps behind count theirs from the beginning."""
    domain = steps.bench.domain
    runner = steps.bench.runner(steps.program, steps.subject.random, "known counterexamples")
    again = [item for item in still_violating(runner, domain, known) if is_proof(steps.program, item)]
    if getattr(steps.request.population, "kind", None) == "census":
        again = [item for item in again if among(domain, item)]
    # Whom a population without end can draw, a few of its people do not tell.
    elsewhere = [] if steps.subject.fresh else list(gone_elsewhere(domain, again))
    return {"violating": again, "elsewhere": elsewhere}
