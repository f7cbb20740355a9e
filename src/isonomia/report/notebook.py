"""A whole audit for a notebook: a line a property, each of which opens; no script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isonomia.records.drawing import gauge_picture
from isonomia.records.findings import SAFETY, known, telling
from isonomia.records.notebook import COLOURS, as_html, badge, safe
from isonomia.report.counts import counted, lacking

if TYPE_CHECKING:
    from isonomia.report.entries import Audit, Entry, Failure

__all__ = ["audit_as_html"]

MOST_OPEN = 50
"""Properties that are shown in full; of more, each has its line only."""


def audit_as_html(audit: Audit) -> str:
    """The audit for a notebook, on light and on dark ground; every text from outside is escaped and cut."""
    lines = "".join(map(_failed, audit.failures[:MOST_OPEN])) + "".join(map(_opening, audit.entries[:MOST_OPEN]))
    more = sum(max(len(items) - MOST_OPEN, 0) for items in (audit.failures, audit.entries))
    rest = f"<p>and {more:,} more properties; the HTML report shows them all</p>" if more > 0 else ""
    title, told = safe(audit.title, 200), counted((entry.verdict for entry in audit.entries), audit.failures)
    return (
        f"<div style='max-width:64em;line-height:1.45'><p style='margin:.2em 0'><strong>{title}</strong></p>"
        f"<p style='margin:.2em 0'>{told}</p>{lines}{rest}</div>"
    )


def _opening(entry: Entry) -> str:
    verdict = entry.verdict
    item = telling(verdict)
    picture = "" if item is None else f"{gauge_picture(item, COLOURS[verdict.answer])} "
    told = entry.explanation if verdict.details.get("audit") == SAFETY else None
    return (
        f"{_LINE}{badge(verdict.answer)} <strong>{safe(entry.name, 120)}</strong> "
        f"<span>{picture}{safe(known(verdict), 200)}</span></summary>"
        f"<div style='margin:.3em 0 .8em 1.1em'>{as_html(verdict, told, entry.why)}</div></details>"
    )


def _failed(failure: Failure) -> str:
    """A property of which nothing is known, and why."""
    return (
        f"{_LINE}{badge('no answer')} <strong>{safe(failure.name, 120)}</strong> "
        f"<span>{lacking(failure)}</span></summary>"
        f"<pre style='margin:.3em 0 .8em 1.1em;white-space:pre-wrap;background:none;color:inherit'>"
        f"{safe(failure.message, 2_000)}</pre></details>"
    )


_LINE = "<details style='margin:.3em 0'><summary style='cursor:pointer'>"
