"""A verdict in words, as plain text and as a small piece of HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isonomia.records.verdict import Expression, LeafRecord, Verdict

__all__ = ["answer_line", "as_html", "as_text", "guarantee", "number", "rows"]

SIGNS = {"holds": "✔", "violated": "✘", "undecided": "?"}
COUNTED = {"k-safety": ("case", "cases"), "responsiveness": ("point", "points")}
"""What the samples of an audit are, where they are not people."""
COLOURS = {"holds": "#1a7f37", "violated": "#cf222e", "undecided": "#9a6700"}


def number(value: float | None) -> str:
    """A number as people write it: four significant digits, a dash for nothing."""
    if value is None:
        return "-"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def answer_line(verdict: Verdict) -> str:
    """The answer and what it cost, in one line."""
    one, many = COUNTED.get(verdict.details.get("audit", ""), ("person", "people"))
    return f"{verdict.answer} after {verdict.samples:,} {one if verdict.samples == 1 else many} ({verdict.stopped})"


def guarantee(verdict: Verdict) -> str:
    """What the answer is worth, in one sentence."""
    if verdict.answer == "undecided" and verdict.method == "exact":
        return "Nothing is claimed: what is known of everybody allows either answer."
    if verdict.answer == "undecided":
        return (
            f"Nothing is claimed. Each interval holds its value, at all times together, except with probability "
            f"{verdict.delta:g}."
        )
    if verdict.risk == 0:
        return "Exact: there is no risk of error."
    return f"This answer is wrong with probability at most {verdict.risk:g}, however often one looked."


def rows(verdict: Verdict) -> list[tuple[str, str, str, str]]:
    """What is known: a row for each compared quantity and each leaf, as text, estimate, interval and draws."""
    found = [(_compared(item), number(item.estimate), _interval(item), "") for item in verdict.expressions]
    return found + [(item.text, number(item.estimate), _interval(item), f"{item.n:,}") for item in verdict.leaves]


def as_text(verdict: Verdict) -> str:
    """The verdict as plain text, in characters that every terminal has."""
    title = f"{verdict.answer.upper()}: {verdict.name + ': ' if verdict.name else ''}{verdict.text}"
    lines = [title, f"  {answer_line(verdict)}", f"  {guarantee(verdict)}"]
    table = rows(verdict)
    widths = [max((len(row[k]) for row in table), default=0) for k in range(4)]
    for text, estimate, interval, n in table:
        draws = f"   n = {n}" if n else ""
        lines.append(f"    {text:<{widths[0]}}   {estimate:>{widths[1]}}   {interval:<{widths[2]}}{draws}".rstrip())
    lines += [f"  assumes that {item}" for item in verdict.assumptions]
    lines += [f"  note: {item}" for item in verdict.remarks]
    return "\n".join(lines)


def as_html(verdict: Verdict) -> str:
    """The verdict for a notebook; every text from outside is escaped."""
    cells = "".join(
        f"<tr><td style='text-align:left'><code>{escape(text)}</code></td><td>{escape(estimate)}</td>"
        f"<td>{escape(interval)}</td><td>{escape(n)}</td></tr>"
        for text, estimate, interval, n in rows(verdict)
    )
    notes = "".join(f"<li>{escape(item)}</li>" for item in (*verdict.assumptions, *verdict.remarks))
    return (
        f"<div><p><strong style='color:{COLOURS[verdict.answer]}'>{SIGNS[verdict.answer]} {verdict.answer}</strong> "
        f"{escape(verdict.name or '')} <code>{escape(verdict.text)}</code></p>"
        f"<p>{escape(answer_line(verdict))}. {escape(guarantee(verdict))}</p>"
        f"<table><thead><tr><th>quantity</th><th>estimate</th><th>interval</th><th>draws</th></tr></thead>"
        f"<tbody>{cells}</tbody></table><ul>{notes}</ul></div>"
    )


def _compared(item: Expression) -> str:
    return f"{item.text} {item.relation} {number(item.threshold)}"


def _interval(item: Expression | LeafRecord) -> str:
    return f"[{number(item.low)}, {number(item.high)}]"
