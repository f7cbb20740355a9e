"""Numbers and sentences of a verdict; findings; safe text.

A verdict in words, as plain text; and how numbers are rounded for people, here and nowhere else.

Four digits of what is computed (:func:`number`), six of what was given (:func:`brief`), three of a risk, upwards
(:func:`chance`). The record has every digit.

What was found, in a few words: how many break the claim, or the interval and what it must be.

Text from outside, made safe to look at: nothing invisible in it, and not longer than a reader can take.

The stretch of a line on which an interval, its estimate and its threshold are drawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, isfinite, log10
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isonomia.records.verdict import Expression, LeafRecord, Verdict

__all__ = [
    "PRINCIPAL",
    "RESPONSIVENESS",
    "SAFETY",
    "SIGNS",
    "Side",
    "alongside",
    "answer_line",
    "as_text",
    "brief",
    "chance",
    "change",
    "compared",
    "cost",
    "cut",
    "cut_short",
    "guarantee",
    "interval",
    "known",
    "must_be",
    "number",
    "on_one_line",
    "people_in_words",
    "remarks_of",
    "risk",
    "rows",
    "scale_of",
    "sides",
    "stretch",
    "telling",
    "visible",
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


SAFETY, RESPONSIVENESS, PRINCIPAL = "k-safety", "responsiveness", "principal fairness"
"""How the details of a verdict say which audit they are of; of rates they say nothing."""


@dataclass(frozen=True, slots=True)
class Side:
    """One kind of people in a responsiveness audit.

    Attributes
    ----------
    kind
        How the record counts them: ``responsive``, ``fixed`` or ``undecided``.
    words
        What to call them, given what is claimed.
    answer
        The answer for these people, and so their colour.
    """

    kind: str
    words: str
    answer: str


_OPEN = Side("undecided", "undecided", "undecided")
_AT_LEAST = (Side("responsive", "responsive", "holds"), Side("fixed", "fixed", "violated"), _OPEN)
_AT_MOST = (Side("fixed", "keep it", "holds"), Side("responsive", "break it", "violated"), _OPEN)


def sides(details: Mapping[str, Any]) -> tuple[Side, Side, Side]:
    """The kinds of people of a responsiveness verdict: those of whom the claim is true, is false, is not known.

    Where everybody must reach a share, the responsive keep the claim. Where nobody may, they break it.
    """
    return _AT_MOST if details.get("relation") == "<=" else _AT_LEAST


def known(verdict: Verdict, *, compact: bool = False) -> str:
    """What is known, in a few words on one line; why the check stopped where there is nothing else to say.

    Parameters
    ----------
    verdict
        What was found.
    compact
        Whether a sign has to do where there are words for what a quantity must be.
    """
    match verdict.details.get("audit"):
        case kind if kind == SAFETY and "violations" in verdict.details:
            return _cases(verdict, compact)
        case kind if kind == RESPONSIVENESS and not verdict.expressions and verdict.details["counts"]["people"]:
            return _people(verdict.details)
        case kind if kind == PRINCIPAL and verdict.details.get("subgroups"):
            return _subgroups(verdict, compact)
        case _:
            item = telling(verdict)
            return verdict.stopped if item is None else _compared(item, compact)


def telling(verdict: Verdict) -> Expression | None:
    """The compared quantity that tells most of the answer: one that settles it, where there is one, else the first."""
    if not verdict.expressions:
        return None
    wanted = {"violated": False, "undecided": None, "holds": True}[verdict.answer]
    found = (item for item in verdict.expressions if item.settled is wanted)
    return next(found, verdict.expressions[0])


def must_be(item: Expression) -> str:
    """What is claimed of a quantity: ``must be >= 0.8``, or ``must be 0``."""
    sign = "" if item.relation == "==" else f"{item.relation} "
    return f"must be {sign}{number(item.threshold)}"


def people_in_words(counts: Mapping[str, int], details: Mapping[str, Any]) -> str:
    """How many people there are of each kind: ``of 274 people: 248 responsive, 26 fixed, 0 undecided``."""
    told = ", ".join(f"{counts[side.kind]:,} {side.words}" for side in sides(details))
    return f"of {counts['people']:,} people: {told}"


def _compared(item: Expression, compact: bool) -> str:
    estimate = "" if item.estimate is None else f"{number(item.estimate)} "
    claim = f" {item.relation} {number(item.threshold)}" if compact else f", {must_be(item)}"
    return f"{estimate}in {interval(item)}{claim}"


def _cases(verdict: Verdict, compact: bool) -> str:
    tested, bad = verdict.details["cases"]["tested"], verdict.details["violations"]["cases"]
    corners = verdict.details.get("corners", {"violating": 0})
    if corners["violating"] and not bad and verdict.answer == "violated":
        drawn = f", none of {tested:,} random cases" if tested else ""
        return f"{_broken(corners['violating'], corners['tried'], 'corners')}{drawn}"
    if not tested and verdict.answer == "violated":
        return verdict.stopped  # known counterexamples settled it
    told = _broken(bad, tested, "cases")
    item = telling(verdict)
    if item is None or (item.threshold == 0 and bad):
        return told  # a single one is too many: how often it happens does not matter
    share = _compared(replace(item, estimate=None), compact)
    return told if item.low == item.high else f"{told}; share {share}"


def _broken(bad: int, of: int, what: str) -> str:
    return f"{bad:,} of {of:,} {what} {'breaks' if bad == 1 else 'break'} it"


def _people(details: Mapping[str, Any]) -> str:
    counts = details["counts"]
    bad = next(side.kind for side in sides(details) if side.answer == "violated")
    one, many = ("has no way", "have no way") if _no_way(details) else ("breaks it", "break it")
    told = f"{counts[bad]:,} of {counts['people']:,} {one if counts[bad] == 1 else many}"
    return f"{told}, {counts['undecided']:,} undecided" if counts["undecided"] else told


def _no_way(details: Mapping[str, Any]) -> bool:
    """Whether nothing at all that those can do who break the claim reaches the target."""
    people = details.get("people") or {"answer": (), "share": (), "exact": ()}
    if details.get("relation") == "<=" or not {"answer", "share", "exact"} <= people.keys():
        return False
    fixed = [
        share == 0 and exact
        for answer, share, exact in zip(people["answer"], people["share"], people["exact"], strict=False)
        if answer == "fixed"
    ]
    return bool(fixed) and all(fixed)


def _subgroups(verdict: Verdict, compact: bool) -> str:
    """The interval of the first subgroup that is unequal, and how many are."""
    groups = verdict.details["subgroups"]
    bad = [place for place, item in enumerate(groups) if item["answer"] == "violated"]
    item = telling(verdict)
    if bad and len(verdict.expressions) == sum(len(group["effects"]) for group in groups):
        item = verdict.expressions[sum(len(group["effects"]) for group in groups[: bad[0]])]
    told = [f"{len(bad):,} of {len(groups):,} subgroups unequal"] if bad and len(groups) > 1 else []
    return "; ".join([*told, *([_compared(item, compact)] if item is not None else [])]) or verdict.stopped


# Controls, lone surrogates, what has no width, and what turns the direction of the text around it. The two joiners
# U+200C and U+200D stay: Persian, Hindi and emoji are written with them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\ufff9-\ufffb]"
)
_PICTURES = 0x2400
"""Where the pictures of the control characters begin."""


def visible(text: str) -> str:
    """The text with every control character replaced by something that is seen; tabs and line ends stay.

    A character that turns the direction of writing would let a name change how the words around it read, so it is
    named by its number. Letters of scripts that run from right to left stay as they are.
    """
    return _UNSEEN.sub(_seen, text.replace("\r\n", "\n"))


def on_one_line(text: str) -> str:
    """The text without line ends, tabs and whatever cannot be seen."""
    return visible(" ".join(text.split()))


def cut(text: str, most: int) -> str:
    """The text, or its beginning and a word on how much there is."""
    if len(text) <= most:
        return text
    return f"{text[:most].rstrip()} … (cut: {len(text):,} characters in all)"


def cut_short(text: str, most: int) -> str:
    """The text, or its beginning and three dots: never longer than ``most``."""
    return text if len(text) <= most else f"{text[: max(most - 3, 0)]}..."


def _seen(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(_PICTURES + code)
    if code == 0x7F:
        return "\N{SYMBOL FOR DELETE}"
    return "\N{REPLACEMENT CHARACTER}" if 0xD800 <= code <= 0xDFFF else f"[U+{code:04X}]"


def scale_of(item: Expression) -> tuple[float, float]:
    """The ends of a line that shows an expression: a quarter beyond what must be seen on either side."""
    return stretch((item.low, item.high, item.threshold, item.estimate), 0.25)


def stretch(values: Iterable[float | None], beyond: float) -> tuple[float, float]:
    """The ends of a line that shows all the finite values, and a part of their spread beyond on either side."""
    seen = [value for value in values if value is not None and isfinite(value)] or [0.0]
    least, most = min(seen), max(seen)
    reach = beyond * (most - least) or beyond * abs(most) or 1.0
    return least - reach, most + reach
