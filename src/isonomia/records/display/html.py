"""A verdict for a notebook: a small piece of HTML without scripts, with a gauge as a small SVG picture."""

from __future__ import annotations

from html import escape
from math import isfinite

from isonomia.records.display.text import counterexample_lines
from isonomia.records.display.view import (
    ANSWERS,
    ASSUMPTIONS,
    SIGNS,
    TableBlock,
    answer_line,
    compared,
    draws,
    guarantee,
    interval,
    level,
    quantities,
    scale_of,
    seed_note,
    unit,
    view_of,
)
from isonomia.records.verdict import Expression, LeafRecord, Verdict
from isonomia.wording import capitalised, excerpt, number, visible

_HEIGHT = 18
_MARGIN = 5


def gauge_picture(item: Expression, colour: str, width: int = 140) -> str:
    """Draw an expression's interval against its threshold, on the scale of :func:`scale_of`.

    The picture has no text and is hidden from screen readers: what it shows must be beside it in words. Every number in
    it is made here, so that nothing from outside gets into the markup.
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
"""The most quantities that are shown; the verdict has all."""

_CELL = "text-align:left;vertical-align:middle;padding:.2em .8em .2em 0;background:none;white-space:normal"
_TABLE = "margin:.4em 0;color:inherit;font-size:inherit"
_QUIET = "opacity:.75;font-size:.92em"


def as_html(verdict: Verdict, explanation: str | None = None, why: str | None = None) -> str:
    """The verdict for a notebook, for light and dark backgrounds; every text from outside is escaped and cut.

    An explanation in plain English comes before the text of the property, and why it must hold after it.
    """
    name = f"<strong>{safe(verdict.name, 120)}</strong> " if verdict.name else ""
    answer, view = f"{capitalised(answer_line(verdict))}.", view_of(verdict)
    finding = f"<p style='margin:.2em 0'>Found: {safe(view.finding(verdict, False), 200)}.</p>" if view.counts else ""
    reason = f"<p style='margin:.2em 0;font-style:italic'>{safe(why, 400)}</p>" if why else ""
    return (
        "<div style='border-left:4px solid "
        f"{COLOURS[verdict.answer]};padding:.2em 0 .2em .9em;margin:.5em 0;max-width:60em;line-height:1.45'>"
        f"<div style='margin:.2em 0'>{badge(verdict.answer)} {name}{_claim(verdict, explanation)}</div>{reason}"
        f"<p style='margin:.2em 0'>{safe(answer, 400)} {safe(guarantee(verdict), 400)}</p>"
        f"{finding}{_table(verdict)}{_tables(verdict)}{_counterexample(verdict)}{_notes(verdict)}</div>"
    )


def _claim(verdict: Verdict, explanation: str | None) -> str:
    """What is claimed: first in words, if there are any; a program is folded away."""
    words = "" if explanation is None else f"<span>{safe(explanation, 600)}</span> "
    text = verdict.text.strip("\n")
    if "\n" not in text:
        return f"{words}<code>{safe(text, 600)}</code>"
    return f"{words}{_folded('the program', _lines(safe(text, 3_000)))}"


def _counterexample(verdict: Verdict) -> str:
    """The first counterexample, folded away."""
    if not verdict.counterexamples:
        return ""
    count = len(verdict.counterexamples)
    title = "the counterexample" if count == 1 else f"the first of {count:,} counterexamples"
    first = view_of(verdict).counterexample(verdict, verdict.counterexamples[0])
    lines = counterexample_lines(first, 100)
    return _folded(title, _lines(safe("\n".join(lines), 3_000)))


def _folded(title: str, inside: str) -> str:
    return f"<details style='{_QUIET}'><summary style='cursor:pointer'>{title}</summary>{inside}</details>"


def _lines(text: str) -> str:
    return f"<pre style='margin:.3em 0;white-space:pre-wrap;background:none;color:inherit'>{text}</pre>"


def badge(answer: str) -> str:
    """An answer as a coloured word with its sign."""
    style = f"background:{COLOURS[answer]};color:#fff;border-radius:.3em;padding:.1em .5em;font-weight:600"
    return f"<span style='{style}'>{SIGNS.get(answer, '!')} {answer}</span>"


def safe(text: str, limit: int) -> str:
    """Text from outside for HTML: cut, escaped, and without invisible characters."""
    return escape(visible(excerpt(text, limit)))


def _table(verdict: Verdict) -> str:
    items = quantities(verdict)
    rows = [
        _compared_row(item, ANSWERS[item.settled] if verdict.groups else verdict.answer) for item in items[:MAX_ROWS]
    ]
    rows += [_leaf_row(item) for item in verdict.leaves[:MAX_ROWS]]
    if not rows:
        return ""
    more = len(items) + len(verdict.leaves) - len(rows)
    rest = f"<p style='margin:.2em 0;{_QUIET}'>and {more:,} more, which the verdict has</p>" if more else ""
    rest += f"<p style='margin:.2em 0;{_QUIET}'>{level(verdict)}</p>" if level(verdict) else ""
    heads = "".join(
        f"<th style='{_CELL}'>{text}</th>" for text in ("quantity", "", "estimate", "interval", unit(verdict))
    )
    return f"<table style='{_TABLE}'><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>{rest}"


def _tables(verdict: Verdict) -> str:
    """The audit's own tables."""
    blocks = [block for block in view_of(verdict).blocks(verdict) if isinstance(block, TableBlock)]
    return "".join(_own_table(block) for block in blocks)


def _own_table(block: TableBlock) -> str:
    heads = "".join(f"<th style='{_CELL}'>{safe(text, 200)}</th>" for text in block.headings)
    body = "".join(_row(*(safe(cell, 200) for cell in row)) for row in block.rows[:MAX_ROWS])
    title = f"<p style='margin:.2em 0'>{safe(block.title, 200)}</p>"
    return f"{title}<table style='{_TABLE}'><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def _compared_row(item: Expression, answer: str) -> str:
    picture = gauge_picture(item, COLOURS[answer])
    return _row(f"<code>{safe(compared(item), 200)}</code>", picture, number(item.estimate), _unbroken(item), "")


def _leaf_row(item: LeafRecord) -> str:
    return _row(f"<code>{safe(item.text, 200)}</code>", "", number(item.estimate), _unbroken(item), draws(item))


def _unbroken(item: Expression | LeafRecord) -> str:
    return f"<span style='white-space:nowrap'>{interval(item)}</span>"


def _row(*cells: str) -> str:
    return "<tr>" + "".join(f"<td style='{_CELL}'>{cell}</td>" for cell in cells) + "</tr>"


def _notes(verdict: Verdict) -> str:
    notes = [f"assumes that {item}" for item in verdict.assumptions] + [
        *([ASSUMPTIONS] if verdict.assumptions else []),
        *verdict.remarks,
        *filter(None, [seed_note(verdict)]),
    ]
    if not notes:
        return ""
    items = "".join(f"<li>{safe(item, 400)}</li>" for item in notes[:MAX_ROWS])
    return _folded("what it rests on", f"<ul style='margin:.2em 0'>{items}</ul>")
