"""New York City Local Law 144: the summary of a bias audit (6 RCNY 5-300 to 5-304).

The summary of a bias audit: rates and impact ratios by sex, by race/ethnicity and by both together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isonomia.errors import UsageError
from isonomia.records.group_table import GroupRow, GroupTable
from isonomia.report.packs.protocol import Pack, PackTable, RequiredFact

FACTS = (
    RequiredFact("tool", "the name and version of the tool", "5-303"),
    RequiredFact("employer", "the employer or employment agency that uses it", "5-303 (a)"),
    RequiredFact("auditor", "the independent auditor, and why they are independent", "5-300"),
    RequiredFact("audit_date", "the date of the most recent bias audit", "5-301 (a), 5-303 (a) (1)", date="must"),
    RequiredFact(
        "distribution_date",
        "the date when the employer or agency began to use the tool",
        "5-300, 5-303 (a) (2)",
        date="must",
    ),
    RequiredFact("data_source", "where the data come from, and why they were used", "5-303 (a) (1)"),
    RequiredFact("data_kind", "historical data or test data; for test data, why and how they were made", "5-302"),
    RequiredFact(
        "position", "the group into which the tool classifies people, or the position", "5-301 (b) (4)", False
    ),
    RequiredFact("exclusion", "the auditor's justification for leaving categories below 2% out", "5-301 (d)", False),
)


def bias_audit(subject: Any, facts: Mapping[str, str]) -> dict[str, Any]:
    """Three tables; a scoring rate where scores were measured, a selection rate otherwise."""
    if not isinstance(subject, GroupTable) or len(subject.by) != 3 or len(subject.by[2]) != 2:
        raise UsageError(
            "expected a table of iso.measure by sex, by race/ethnicity, and by both together: "
            "by=['sex', 'race', ('sex', 'race')]"
        )
    scored = "scoring_rate" in subject.measures
    if not scored and "selection_rate" not in subject.measures:
        raise UsageError("expected decisions that are favourable or not, or scores: neither was measured")
    rate = "scoring_rate" if scored else "selection_rate"
    excluded = bool(facts.get("exclusion"))
    tables = {
        part: _table(subject[by], rate, excluded) for part, by in zip(("sex", "race", "both"), subject.by, strict=True)
    }
    small = [row for by in subject.by for row in subject[by] if _is_small(row)]
    unknown = [f"{' and '.join(by)}: {count:,} people" for by, count in subject.unknown.items()]
    without = subject.everybody.n - subject.everybody[rate].n
    return {
        **tables,
        "rate": "scoring rate" if scored else "selection rate",
        "size": f"{subject.size:,}",
        "without": f"{without:,}" if without else "",
        "lacking": "score" if scored else "decision",
        "median": "" if subject.median is None or not scored else f"{subject.median:g}",
        "favourable": "" if scored else f"{subject.decision} = {subject.favourable}",
        "excluded": "yes" if excluded and small else "",
        "small": "" if excluded or not small else "yes",
        "idle": "yes" if excluded and not small else "",
        "unknown": unknown,
    }


SMALL = 0.02
"""Categories below this share of the data may be left out of the impact ratios: 6 RCNY 5-301 (d)."""


def _is_small(row: GroupRow) -> bool:
    return not row.unknown and row.share < SMALL


def _table(rows: Sequence[GroupRow], rate: str, excluded: bool) -> PackTable:
    """Rates, and impact ratios to the highest rate of the categories that are not left out.

    A category is left out only where the auditor says why; its size and its rate are still shown.
    """
    known = [row for row in rows if not row.unknown]
    compared = [row[rate].value for row in known if not (excluded and _is_small(row))]
    highest = max((value for value in compared if value is not None), default=0.0)
    selected = ("Selected",) if rate == "selection_rate" else ()
    headings = ("Category", "Applicants", *selected, rate.replace("_", " ").capitalize(), "Impact ratio")
    cells = tuple(_row(row, rate, highest, excluded and _is_small(row)) for row in known)
    return PackTable(headings, cells, frozenset(range(1, len(headings))))


def _row(row: GroupRow, rate: str, highest: float, left_out: bool) -> tuple[str, ...]:
    value = row[rate].value
    ratio = "none" if value is None or not highest else f"{value / highest:.2f}"
    return (
        f"{row.name} (below 2%)" if _is_small(row) else row.name,
        f"{row[rate].n:,}",
        *([f"{row.counts['selected']:,}"] if rate == "selection_rate" else []),
        "none" if value is None else f"{100 * value:.1f}%",
        "left out" if left_out else ratio,
    )


PACK = Pack("nyc-ll144", "groups", FACTS, bias_audit)
