"""A verdict for a notebook: a small piece of HTML without any script."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from isonomia.records.drawing import gauge_picture
from isonomia.records.visible import cut, visible
from isonomia.records.words import SIGNS, answer_line, compared, guarantee, interval, number

if TYPE_CHECKING:
    from isonomia.records.verdict import Expression, LeafRecord, Verdict

__all__ = ["COLOURS", "as_html", "badge", "safe"]

COLOURS = {"holds": "#1a7f37", "violated": "#c4232d", "undecided": "#8a5d00"}
"""The colour of each answer: white letters on it can be read, and it can be seen on light and on dark ground."""

MOST_ROWS = 12
"""Quantities that are shown; the verdict has all."""

_CELL = "text-align:left;vertical-align:middle;padding:.2em .8em .2em 0;background:none;white-space:normal"
_QUIET = "opacity:.75;font-size:.92em"


def as_html(verdict: Verdict) -> str:
    """The verdict for a notebook, on light and on dark ground; every text from outside is escaped and cut."""
    name = f"<strong>{safe(verdict.name, 120)}</strong> " if verdict.name else ""
    return (
        "<div style='border-left:4px solid "
        f"{COLOURS[verdict.answer]};padding:.2em 0 .2em .9em;max-width:60em;line-height:1.45'>"
        f"<p style='margin:.2em 0'>{badge(verdict.answer)} {name}<code>{safe(verdict.text, 600)}</code></p>"
        f"<p style='margin:.2em 0'>{safe(_sentence(answer_line(verdict)), 400)} {safe(guarantee(verdict), 400)}</p>"
        f"{_table(verdict)}{_notes(verdict)}</div>"
    )


def badge(answer: str) -> str:
    """An answer as a coloured word with its sign."""
    style = f"background:{COLOURS[answer]};color:#fff;border-radius:.3em;padding:.1em .5em;font-weight:600"
    return f"<span style='{style}'>{SIGNS[answer]} {answer}</span>"


def safe(text: str, most: int) -> str:
    """Text from outside as HTML shows it: cut, escaped, and with nothing invisible in it."""
    return escape(visible(cut(text, most)))


def _table(verdict: Verdict) -> str:
    rows = [_compared_row(item, verdict.answer) for item in verdict.expressions[:MOST_ROWS]]
    rows += [_leaf_row(item) for item in verdict.leaves[:MOST_ROWS]]
    if not rows:
        return ""
    more = len(verdict.expressions) + len(verdict.leaves) - len(rows)
    rest = f"<p style='margin:.2em 0;{_QUIET}'>and {more:,} more, which the verdict has</p>" if more else ""
    heads = "".join(f"<th style='{_CELL}'>{text}</th>" for text in ("quantity", "", "estimate", "interval", "draws"))
    style = "margin:.4em 0;color:inherit;font-size:inherit"
    return f"<table style='{style}'><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>{rest}"


def _compared_row(item: Expression, answer: str) -> str:
    picture = gauge_picture(item, COLOURS[answer])
    return _row(f"<code>{safe(compared(item), 200)}</code>", picture, number(item.estimate), _unbroken(item), "")


def _leaf_row(item: LeafRecord) -> str:
    return _row(f"<code>{safe(item.text, 200)}</code>", "", number(item.estimate), _unbroken(item), f"{item.n:,}")


def _unbroken(item: Expression | LeafRecord) -> str:
    return f"<span style='white-space:nowrap'>{interval(item)}</span>"


def _row(*cells: str) -> str:
    return "<tr>" + "".join(f"<td style='{_CELL}'>{cell}</td>" for cell in cells) + "</tr>"


def _notes(verdict: Verdict) -> str:
    told = [f"assumes that {item}" for item in verdict.assumptions] + list(verdict.remarks)
    if not told:
        return ""
    items = "".join(f"<li>{safe(item, 400)}</li>" for item in told[:MOST_ROWS])
    return (
        f"<details style='{_QUIET}'><summary>what it rests on</summary><ul style='margin:.2em 0'>{items}</ul></details>"
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
