"""A whole audit for a notebook: a line a property, each of which opens; no script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isonomia.records.drawing import gauge_picture
from isonomia.records.notebook import COLOURS, as_html, badge, safe
from isonomia.records.words import answer_line, interval
from isonomia.report.counts import counted

if TYPE_CHECKING:
    from isonomia.report.entries import Audit, Entry

__all__ = ["audit_as_html"]

MOST_OPEN = 50
"""Properties that are shown in full; of more, each has its line only."""


def audit_as_html(audit: Audit) -> str:
    """The audit for a notebook, on light and on dark ground; every text from outside is escaped and cut."""
    lines = "".join(_opening(entry) for entry in audit.entries[:MOST_OPEN])
    more = len(audit.entries) - MOST_OPEN
    rest = f"<p>and {more:,} more properties; the HTML report shows them all</p>" if more > 0 else ""
    title, told = safe(audit.title, 200), counted((entry.verdict for entry in audit.entries), audit.failures)
    return (
        f"<div style='max-width:64em;line-height:1.45'><p style='margin:.2em 0'><strong>{title}</strong></p>"
        f"<p style='margin:.2em 0'>{told}</p>{lines}{rest}</div>"
    )


def _opening(entry: Entry) -> str:
    verdict = entry.verdict
    first = verdict.expressions[0] if verdict.expressions else None
    known = safe(answer_line(verdict), 200)
    if first is not None:
        known = f"{gauge_picture(first, COLOURS[verdict.answer])} {interval(first)}"
    return (
        "<details style='margin:.3em 0'><summary style='cursor:pointer'>"
        f"{badge(verdict.answer)} <strong>{safe(entry.name, 120)}</strong> <span>{known}</span></summary>"
        f"<div style='margin:.3em 0 .8em 1.1em'>{as_html(verdict)}</div></details>"
    )
