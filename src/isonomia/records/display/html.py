"""A verdict for a notebook: a small piece of HTML without scripts, with a gauge as a small SVG picture."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import isfinite

from isonomia.records.display.text import counterexample_lines, finding_lines, note_lines
from isonomia.records.display.view import SIGNS, answer_line, guarantee, scale_of, telling, view_of
from isonomia.records.verdict import Expression, Verdict
from isonomia.wording import capitalised, excerpt, visible

_HEIGHT = 18
_MARGIN = 5


def gauge_picture(item: Expression, colour: str, width: int = 140) -> str:
    """Draw an expression's interval against its threshold, on the scale of :func:`scale_of`.

    The picture has no text and is hidden from screen readers: what it shows must also be there in words. Every number
    in it is made here, so that nothing from outside gets into the markup.
    """
    left, right = scale_of(item)

    def position(value: float) -> float:
        part = (min(max(value, left), right) - left) / (right - left)
        return round(_MARGIN + part * (width - 2 * _MARGIN), 1)

    middle, low, high, edge = _HEIGHT / 2, position(item.low), position(item.high), position(item.threshold)
    parts = [
        f'<line x1="0" x2="{width}" y1="{middle}" y2="{middle}" stroke="currentColor" stroke-opacity=".25"/>',
        f'<line x1="{min(low, high - 1)}" x2="{high}" y1="{middle}" y2="{middle}" stroke="{colour}" stroke-width="5" '
        'stroke-linecap="round"/>',
        f'<line x1="{edge}" x2="{edge}" y1="1" y2="{_HEIGHT - 1}" stroke="currentColor" stroke-width="2"/>',
    ]
    if item.estimate is not None and isfinite(item.estimate):
        parts.append(
            f'<circle cx="{position(item.estimate)}" cy="{middle}" r="3.5" fill="{colour}" stroke="#fff" '
            'stroke-width="1.5"/>'
        )
    size = f'width="{width}" height="{_HEIGHT}" viewBox="0 0 {width} {_HEIGHT}" style="vertical-align:middle"'
    return f'<svg class="gauge" {size} aria-hidden="true" focusable="false">{"".join(parts)}</svg>'


COLOURS = {"holds": "#1a7f37", "violated": "#c4232d", "undecided": "#8a5d00", "no answer": "#7b2d8b"}
"""The colour of each answer: white text on it is legible, and it is visible on light and dark backgrounds."""

MAX_ROWS = 12
"""The maximum number of quantities that are shown; the verdict has all."""

_QUIET = "opacity:.75;font-size:.92em"


def as_html(verdict: Verdict, explanation: str | None = None, why: str | None = None) -> str:
    """The verdict for a notebook, for light and dark backgrounds; every text from outside is escaped and cut.

    An explanation in plain English comes before the text of the property, and why it must hold after it.
    """
    name = f"<strong>{safe(verdict.name, 120)}</strong> " if verdict.name else ""
    answer, view, item = f"{capitalised(answer_line(verdict))}.", view_of(verdict), telling(verdict)
    counted = f"<p style='margin:.2em 0'>Found: {safe(view.finding(verdict, False), 200)}.</p>" if view.counts else ""
    reason = f"<p style='margin:.2em 0;font-style:italic'>{safe(why, 400)}</p>" if why else ""
    picture = "" if item is None else gauge_picture(item, COLOURS[verdict.answer])
    findings, notes = (_lines(lines) for lines in (finding_lines(verdict, MAX_ROWS), note_lines(verdict)[:MAX_ROWS]))
    return (
        "<div style='border-left:4px solid "
        f"{COLOURS[verdict.answer]};padding:.2em 0 .2em .9em;margin:.5em 0;max-width:60em;line-height:1.45'>"
        f"<div style='margin:.2em 0'>{badge(verdict.answer)} {name}{_claim(verdict, explanation)}</div>{reason}"
        f"<p style='margin:.2em 0'>{safe(answer, 400)} {safe(guarantee(verdict), 400)} {picture}</p>"
        f"{counted}{findings}{_counterexample(verdict)}{_folded('assumptions and notes', notes)}</div>"
    )


def _claim(verdict: Verdict, explanation: str | None) -> str:
    """What is claimed: first in words, if there are any; a program is folded away."""
    words = "" if explanation is None else f"<span>{safe(explanation, 600)}</span> "
    lines = verdict.text.strip("\n").split("\n")
    code = _folded("the program", _lines(lines)) if len(lines) > 1 else f"<code>{safe(lines[0], 600)}</code>"
    return f"{words}{code}"


def _counterexample(verdict: Verdict) -> str:
    """The first counterexample, folded away."""
    if not verdict.counterexamples:
        return ""
    count = len(verdict.counterexamples)
    title = "the counterexample" if count == 1 else f"the first of {count:,} counterexamples"
    first = view_of(verdict).counterexample(verdict, verdict.counterexamples[0])
    return _folded(title, _lines(counterexample_lines(first, 100)))


def _folded(title: str, inside: str) -> str:
    if not inside:
        return ""
    return f"<details style='{_QUIET}'><summary style='cursor:pointer'>{title}</summary>{inside}</details>"


def _lines(lines: Sequence[str]) -> str:
    """Lines as they are, each cut to 400 characters and all of them to 6,000; empty for no lines."""
    text = safe("\n".join(excerpt(line, 400) for line in lines), 6_000)
    style = "margin:.3em 0;white-space:pre-wrap;background:none;color:inherit"
    return f"<pre style='{style}'>{text}</pre>" if lines else ""


def badge(answer: str) -> str:
    """An answer as a coloured word with its sign."""
    style = f"background:{COLOURS[answer]};color:#fff;border-radius:.3em;padding:.1em .5em;font-weight:600"
    return f"<span style='{style}'>{SIGNS.get(answer, '!')} {answer}</span>"


def safe(text: str, limit: int) -> str:
    """Text from outside for HTML: cut, escaped, and without invisible characters."""
    return escape(visible(excerpt(text, limit)))
