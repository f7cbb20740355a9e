"""What a chart calls its quantities: labels of groups, on which a column is named once, and units with their ranges."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import inf

from isonomia.errors import IsonomiaError
from isonomia.spec.property import parse
from isonomia.spec.text import to_text
from isonomia.spec.tree import (
    Arithmetic,
    Column,
    Compare,
    Comparison,
    Extreme,
    Literal,
    Rate,
    Row,
    RowJunction,
    Value,
    leaves_of,
)
from isonomia.wording import excerpt, visible


def short(text: str, limit: int) -> str:
    """A text on one line, cut, for charts and tables."""
    return visible(excerpt(" ".join(text.split()) if len(text) <= 4 * limit else text, limit))


def printed(words: str) -> str:
    """Our own words with typographic signs for comparisons."""
    return words.replace(">=", "≥").replace("<=", "≤")


def group_labels(texts: Sequence[str]) -> list[str]:
    """The labels of rates, means and comparisons of them on a chart: the names of their groups.

    That is enough where all of them are about the same event; otherwise, and where a text cannot be read as a quantity,
    a label is the text itself.
    """
    try:
        formulas = [parse(f"{text} >= 0").formula for text in texts]
    except IsonomiaError:
        return list(texts)
    leaves = [leaf for formula in formulas for leaf in leaves_of(formula)]
    events = {to_text(leaf.event if isinstance(leaf, Rate) else leaf.term) for leaf in leaves}
    if len(events) != 1 or all(leaf.given is None for leaf in leaves):
        return list(texts)
    labels = []
    for text, formula in zip(texts, formulas, strict=True):
        groups = {leaf: _group_parts(leaf.given) for leaf in leaves_of(formula)}
        columns = {None if parts is None else tuple(name for name, _ in parts) for parts in groups.values()}
        shared = columns.pop() if len(groups) > 1 and len(columns) == 1 else None  # then they are named once
        for leaf, parts in sorted(groups.items(), key=lambda pair: -len(to_text(pair[0]))):
            words = group_name(leaf.given) if shared is None else ", ".join(value for _, value in parts or ())
            text = text.replace(to_text(leaf), words)
        labels.append(f"{', '.join(shared)}: {text}" if shared else text)
    return told_apart(labels)


_LABEL = 80
"""About how many characters of a label there is room for."""


def told_apart(labels: Sequence[str]) -> list[str]:
    """Labels that fit: where one is too long, all are cut where they agree and not where they differ."""
    if len(labels) < 2 or max(map(len, labels)) <= _LABEL:
        return list(labels)
    first = _agreement(labels).rfind(" ") + 1
    last = _agreement([label[first:][::-1] for label in labels])[::-1]
    end = len(last) - last.find(" ") if " " in last else 0
    return [f"{'…' if first else ''}{label[first : len(label) - end]}{'…' if end else ''}" for label in labels]


def _agreement(texts: Sequence[str]) -> str:
    """The beginning that all texts share."""
    length = next((place for place, signs in enumerate(zip(*texts, strict=False)) if len(set(signs)) > 1), None)
    return min(texts, key=len)[:length]


_RANGES = {
    ("==",): "{}",
    ("<",): "under {}",
    ("<=",): "up to {}",
    (">",): "over {}",
    (">=",): "{} or more",
    (">=", "<"): "{} to under {}",
    (">=", "<="): "{} to {}",
    (">", "<="): "over {} to {}",
}
"""How the values of one column are worded, by the comparisons with it in this order."""


def group_name(condition: Row | None) -> str:
    """The people of a condition by name: ``sex F, age 40 to under 60``; the condition itself where it has none."""
    if condition is None:
        return "all rows"
    parts = _group_parts(condition)
    return f"({to_text(condition)})" if parts is None else ", ".join(f"{name} {words}" for name, words in parts)


def _group_parts(condition: Row | None) -> list[tuple[str, str]] | None:
    """Each column of a condition with its values in words; ``None`` where it is not about single columns."""
    parts = condition.operands if isinstance(condition, RowJunction) and condition.connective == "and" else (condition,)
    compared: dict[str, list[tuple[str, Value]]] = {}
    for part in parts:
        match part:
            case Compare(relation, Column(name=name, version=None), Literal(value)):
                compared.setdefault(name, []).append((relation, value))
            case _:
                return None
    words = {name: _RANGES.get(tuple(relation for relation, _ in pairs)) for name, pairs in compared.items()}
    if None in words.values():
        return None
    return [(name, str(words[name]).format(*(value for _, value in pairs))) for name, pairs in compared.items()]


RATE, DIFFERENCE, RATIO = "rate", "rate or difference of rates", "ratio"
_RANGES_OF: Mapping[str, tuple[float, float]] = {RATE: (0.0, 1.0), DIFFERENCE: (-1.0, 1.0), RATIO: (0.0, inf)}
"""The values that a quantity of each unit can have; an axis shows no others."""


def unit_of(text: str) -> str:
    """The unit of a quantity, by its syntax; empty for any other, such as a mean, and for what is no formula."""
    try:
        formula = parse(f"{text} >= 0").formula
    except IsonomiaError:
        return ""
    match formula:
        case Comparison(first=Rate()):
            return RATE
        case Comparison(first=Arithmetic("-", Rate(), Rate()) | Extreme("abs", (Arithmetic("-", Rate(), Rate()),))):
            return DIFFERENCE
        case Comparison(first=Arithmetic("/", Rate(), Rate())):
            return RATIO
        case _:
            return ""


def possible(ends: tuple[float, float], units: Collection[str]) -> tuple[float, float]:
    """The ends of an axis without what no value of these units can be."""
    ranges = [_RANGES_OF.get(unit, (-inf, inf)) for unit in units]
    return max(ends[0], min(low for low, _ in ranges)), min(ends[1], max(high for _, high in ranges))
