"""A verdict in words, as plain text; and how numbers are rounded for people, here and nowhere else.

Four digits of what is computed (:func:`number`), six of what was given (:func:`brief`), three of a risk, upwards
(:func:`chance`). The record has every digit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isonomia.records.verdict import Expression, LeafRecord, Verdict

__all__ = [
    "SIGNS",
    "alongside",
    "answer_line",
    "as_text",
    "brief",
    "chance",
    "change",
    "compared",
    "cost",
    "guarantee",
    "interval",
    "number",
    "remarks_of",
    "risk",
    "rows",
]

SIGNS = {"holds": "✔", "violated": "✘", "undecided": "?"}
ONE = {"people": "person", "pairs": "pair", "cases": "case", "points": "point"}
"""What a verdict's samples are, and what one of them is called."""


def number(value: float | None) -> str:
    """A number as people write it: four significant digits, a dash for nothing."""
    if value is None:
        return "-"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def chance(value: float) -> str:
    """A probability of error, short and never too small: three digits, rounded up."""
    if not 0 < value < 1:
        return f"{value:g}"
    unit = 10.0 ** (floor(log10(value)) - 2)
    return f"{ceil(value / unit - 1e-9) * unit:.3g}" if unit > 0 else f"{value:g}"


def risk(verdict: Verdict) -> str:
    """The risk of the answer, in one word for a table."""
    return "-" if verdict.answer == "undecided" else "0 (exact)" if verdict.risk == 0 else chance(verdict.risk)


def brief(value: Any) -> str:
    """A value of a record as people read it: six digits of a number, anything else as Python writes it."""
    if not isinstance(value, float):
        return repr(value)
    return f"{value:.6g}" if not 1e6 <= abs(value) < 1e15 else f"{value:.0f}"


def alongside(values: Sequence[Any]) -> list[str]:
    """Values that are compared, each as :func:`brief` has it; exact where two that differ would look the same."""
    short, exact = [brief(value) for value in values], [repr(value) for value in values]
    return short if len(set(short)) == len(set(exact)) else exact


def change(before: Any, after: Any) -> str:
    """A value and what became of it."""
    return " -> ".join(alongside((before, after)))


def answer_line(verdict: Verdict) -> str:
    """The answer and what it cost, in one line."""
    return f"{verdict.answer} after {cost(verdict)} ({verdict.stopped})"


def cost(verdict: Verdict) -> str:
    """How many people, pairs, cases or points it took."""
    return f"{verdict.samples:,} {ONE[verdict.counted] if verdict.samples == 1 else verdict.counted}"


def guarantee(verdict: Verdict) -> str:
    """What the answer is worth, in one sentence."""
    if verdict.answer == "undecided" and verdict.method == "exact":
        return "Nothing is claimed: what is known of everybody allows either answer."
    if verdict.answer == "undecided":
        return (
            f"Nothing is claimed. Each interval holds its value, at all times together, except with probability "
            f"{chance(verdict.delta)}."
        )
    if verdict.risk == 0:
        return "Exact: there is no risk of error."
    return f"This answer is wrong with probability at most {chance(verdict.risk)}, however often one looked."


def remarks_of(verdict: Verdict) -> list[str]:
    """The remarks with the risk as it is written everywhere else: the record may have it with more digits."""
    stored, told = f"{verdict.delta:g}", chance(verdict.delta)
    if stored == told:
        return list(verdict.remarks)
    exactly = re.compile(rf"(?<![\d.]){re.escape(stored)}(?!\.?\d)")
    return [exactly.sub(told, remark) for remark in verdict.remarks]


def rows(verdict: Verdict) -> list[tuple[str, str, str, str]]:
    """What is known: a row for each compared quantity and each leaf, as text, estimate, interval and draws."""
    found = [(compared(item), number(item.estimate), interval(item), "") for item in verdict.expressions]
    return found + [(item.text, number(item.estimate), interval(item), f"{item.n:,}") for item in verdict.leaves]


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
    lines += [f"  note: {item}" for item in remarks_of(verdict)]
    return "\n".join(lines)


def compared(item: Expression) -> str:
    """What is compared with what, such as ``P[hired] >= 0.5``."""
    return f"{item.text} {item.relation} {number(item.threshold)}"


def interval(item: Expression | LeafRecord) -> str:
    """The two ends of what the draws do not refute."""
    return f"[{number(item.low)}, {number(item.high)}]"
