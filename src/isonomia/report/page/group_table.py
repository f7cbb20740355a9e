"""The page of a table by group: the measures, and charts of them by group, as one HTML file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from isonomia.records.display.view import stretch
from isonomia.records.group_table import FRACTIONS, MEASURES, Estimate, GroupRow, GroupTable
from isonomia.report.group_table import cell, facts, interval_words, name_of, sections_of, words_of
from isonomia.report.page.charts import ChartDrawing, clipped
from isonomia.report.page.labels import short
from isonomia.report.page.page import rendered
from isonomia.report.page.vega import SERIES
from isonomia.wording import capitalised, listed

FOUR_FIFTHS = 0.8
"""The line of the rule of thumb, on charts of impact ratios."""

RULE = (
    "The dashed line is at 0.8, the four-fifths rule of thumb of 29 CFR 1607.4 D for selection in employment in the "
    "United States. It is drawn for orientation: other rules have no such line."
)

MAX_ROWS = 60
"""Groups on one chart; the table has them all."""


def page_of(table: GroupTable) -> str:
    """The page, as the text of one HTML file that opens offline and runs no script but its own."""
    return rendered(
        "group_table.html",
        title=_title(table),
        facts=tuple(facts(table)),
        sentences=tuple(sentences(table)),
        guarantee=interval_words(table),
        notes=tuple(capitalised(remark) for remark in table.remarks),
        small=f"{table.small:.1%}".replace(".0%", "%"),
        words=tuple((words_of(name), MEASURES[name]) for name in table.measures),
        sections=[_section(table, by, number) for number, by in enumerate(table.by, start=1)],
        assumptions=tuple(capitalised(item) for item in table.assumptions),
        model=f"{table.model['name']}, {table.model['fingerprint']}" if table.model else "",
    )


def _title(table: GroupTable) -> str:
    what = table.decision or table.score or "decisions"
    return short(f"{capitalised(what)} by {listed(' × '.join(by) for by in table.by)}", 200)


def sentences(table: GroupTable) -> Iterator[str]:
    """The lowest ratio of each attribute or combination, as a sentence; small groups are named, too."""
    name = next((name for name in FRACTIONS if name in table.measures), None)
    if name is None:
        yield f"{table.size:,} rows, measured by {listed(' × '.join(by) for by in table.by)}."
        return
    for by in table.by:
        known = [(row, row.estimates[name]) for row in table[by] if name in row.estimates]
        ratios = sorted(
            ((float(one.value), row) for row, one in known if one.value is not None), key=lambda pair: pair[0]
        )
        if not ratios:
            continue
        reference = next((row.name for row in table[by] if name in row.reference_for), "the highest")
        lowest = ratios[0][1]
        small = f", a small group of {lowest.n:,}" if lowest.small else ""
        whom = f"of {short(lowest.name, 80)}{small} relative to {short(reference, 80)}"
        larger = next((row for _, row in ratios if not row.small), None) if small else None
        also = f"; of larger groups, {cell(larger[name])}, of {short(larger.name, 80)}" if larger is not None else ""
        yield f"By {' and '.join(by)}, the lowest {words_of(name)} is {cell(lowest[name])}, {whom}{also}."


# ----------------------------------------------------------------------------------------------------------- a grouping


@dataclass(frozen=True, slots=True)
class PageRow:
    """A group in a table of the page: each cell is a number and its interval."""

    name: str
    flags: str
    cells: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class GroupTableOnPage:
    """Measures side by side, a row for each group."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[PageRow, ...]

    @property
    def wide(self) -> bool:
        """Whether its columns do not fit side by side on a phone: an interval takes more room than a count."""
        intervals = any(interval for row in self.rows for _, interval in row.cells)
        return len(self.headings) > (3 if intervals else 4)


@dataclass(frozen=True, slots=True)
class GroupingSection:
    """What the page says of one attribute or combination."""

    anchor: str
    kind: str
    title: str
    lead: ChartDrawing | None
    table: GroupTableOnPage
    more_tables: tuple[GroupTableOnPage, ...]
    more_drawings: tuple[ChartDrawing, ...]


def _section(table: GroupTable, by: tuple[str, ...], number: int) -> GroupingSection:
    rows = (*table[by], table.everybody)
    first, *others = [_table(section.title, section.measures, rows) for section in sections_of(table)]
    drawings = list(_drawings(table, table[by]))
    lead = next((each for each in drawings if each.kind == "ratios"), drawings[0] if drawings else None)
    return GroupingSection(
        f"by-{number}",
        "Intersection" if len(by) > 1 else "Attribute",
        short(", ".join(by), 200),
        lead,
        first,
        (_people(rows), *others),
        tuple(each for each in drawings if each is not lead),
    )


def _people(rows: Sequence[GroupRow]) -> GroupTableOnPage:
    counts = list(rows[-1].counts)
    missing = [name for name in rows[-1].missing if any(row.missing.get(name) for row in rows)]
    headings = ("group", "n", "share", *map(words_of, counts), *(f"no {name}" for name in missing))
    return GroupTableOnPage(
        "People",
        headings,
        tuple(
            PageRow(
                short(row.name, 120),
                ", ".join(flag for flag in row.flags if flag != "unknown"),
                (
                    (f"{row.n:,}", ""),
                    (f"{row.share:.1%}", ""),
                    *((f"{row.counts[name]:,}", "") for name in counts),
                    *((f"{row.missing.get(name, 0):,}", "") for name in missing),
                ),
            )
            for row in rows
        ),
    )


def _table(title: str, names: Sequence[str], rows: Sequence[GroupRow]) -> GroupTableOnPage:
    return GroupTableOnPage(
        title,
        ("group", *map(words_of, names)),
        tuple(
            PageRow(
                short(row.name, 120),
                "reference" if set(row.reference_for) & set(names) else "small" if row.small else "",
                tuple(_parts(row.estimates.get(name)) for name in names),
            )
            for row in rows
        ),
    )


def _parts(estimate: Estimate | None) -> tuple[str, str]:
    value, _, rest = cell(estimate).partition(" ")
    return value, rest


# --------------------------------------------------------------------------------------------------------------- charts

CHARTED = (
    "selection_rate",
    "impact_ratio",
    "true_positive_rate",
    "false_positive_rate",
    "positive_predictive_value",
    "accuracy",
    "scoring_rate",
    "scoring_ratio",
    "calibration",
    "mean_decision",
    "mean_error",
    "mean_absolute_error",
)
"""The measures that have a chart; a false negative rate, for one, is 1 minus the true positive rate."""


def _drawings(table: GroupTable, rows: Sequence[GroupRow]) -> Iterator[ChartDrawing]:
    for name in CHARTED:
        if name in table.measures:
            drawing = _chart(name, rows)
            if drawing is not None:
                yield drawing
    drawing = _reliability(rows)
    if drawing is not None:
        yield drawing


def _chart(name: str, rows: Sequence[GroupRow]) -> ChartDrawing | None:
    known = [(row, row.estimates[name]) for row in rows if name in row.estimates]
    drawn = [(row, estimate) for row, estimate in known if estimate.value is not None]
    if not drawn:
        return None
    shown, ratio = drawn[:MAX_ROWS], name in FRACTIONS
    ends = _ends([estimate for _, estimate in shown], ratio)
    values = [_bar(index, row, estimate, ends, name) for index, (row, estimate) in enumerate(shown)]
    more = "" if len(shown) == len(drawn) else f" Shown: {len(shown):,} of {len(drawn):,} groups."
    title = capitalised(words_of(name))
    return ChartDrawing(
        "ratios" if ratio else "rates",
        title,
        "; ".join(f"{short(row.name, 80)}: {cell(estimate)}" for row, estimate in shown[:12]),
        tuple(values),
        ("group", title.lower(), "of people"),
        tuple((short(row.name, 120), cell(estimate), f"{estimate.n:,}") for row, estimate in known[:MAX_ROWS]),
        {"least": ends[0], "most": ends[1]},
        f"{capitalised(MEASURES[name])}.{f' {RULE}' if ratio else ''}{more}",
        axis=words_of(name),
    )


def _ends(estimates: Sequence[Estimate], ratio: bool) -> tuple[float, float]:
    """The ends of the axis: 0 and all values; for ratios also 1, but no interval beyond 1.5 times the largest ratio."""
    values = [value for one in estimates for value in (one.value, one.low, one.high)]
    finite = [value for value in values if value is not None and isfinite(value)]
    if ratio:
        largest = max(one.value or 0.0 for one in estimates)
        return 0.0, max(1.05, min(max(finite), 1.5 * largest) * 1.02)
    least, largest = stretch([0.0, *finite], 0.04)
    return (0.0 if min(finite) >= 0.0 else least), largest


def _bar(index: int, row: GroupRow, estimate: Estimate, ends: tuple[float, float], name: str) -> dict[str, Any]:
    value = float(estimate.value or 0.0)
    low, high = (value if end is None else clipped(end, ends) for end in (estimate.low, estimate.high))
    return {
        "place": index,
        "label": short(name_of(row, [name]), 160),
        "size": f"n = {estimate.n:,}",
        "estimate": clipped(value, ends),
        "low": low,
        "high": high,
        "shown": cell(estimate),
    } | ({"threshold": FOUR_FIFTHS} if name in FRACTIONS else {})


def _reliability(rows: Sequence[GroupRow]) -> ChartDrawing | None:
    """Outcomes against scores, one line for each of the largest groups."""
    able = [row for row in rows if row.reliability and not row.unknown]
    largest = sorted(able, key=lambda row: -row.n)[: len(SERIES)]
    chosen = [row for row in able if row in largest]
    points = [
        {
            "label": short(row.name, 60),
            "bin": f"{part.start:.1f} to {part.end:.1f}",
            "score": part.mean_score,
            "outcome": part.outcome.value,
            "low": part.outcome.low,
            "high": part.outcome.high,
            "shown": cell(part.outcome),
            "size": f"{part.outcome.n:,}",
        }
        for row in chosen
        for part in row.reliability
        if part.mean_score is not None
    ]
    if not points:
        return None
    more = "" if len(chosen) == len(able) else f" Shown are the {len(chosen)} largest of {len(able):,} groups."
    return ChartDrawing(
        "reliability",
        "Reliability of the scores",
        "; ".join(f"{point['label']}, scores {point['bin']}: {point['shown']}" for point in points[:12]),
        tuple(points),
        ("group", "scores", "mean score", "share with a positive outcome", "people"),
        tuple(
            (str(point["label"]), str(point["bin"]), f"{point['score']:.3f}", str(point["shown"]), str(point["size"]))
            for point in points
        ),
        key="Of the people with scores in one bin, the share whose outcome is positive, with its interval. Calibrated "
        f"scores lie on the dashed line; above it a group's scores are too low, below it too high.{more}",
    )
