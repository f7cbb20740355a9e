"""What the summary of a bias audit has: rates and impact ratios by sex, race/ethnicity and where they meet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar
from typing import Literal as OneOf

from isonomia.errors import UsageError
from isonomia.records.group_table import GroupRow, GroupTable
from isonomia.report.packs.protocol import Fact, PackContent, PackTable

__all__ = ["PACK", "NycLocalLaw144"]


@dataclass(frozen=True, slots=True)
class NycLocalLaw144:
    """The pack: a table by sex, by race/ethnicity, and by both together, in this order."""

    name: ClassVar[str] = "nyc-ll144"
    subject: ClassVar[OneOf["groups", "refusals", "audit"]] = "groups"
    facts: ClassVar[tuple[Fact, ...]] = (
        Fact("tool", "the name and version of the tool", "5-303"),
        Fact("employer", "the employer or employment agency that uses it", "5-303 (a)"),
        Fact("auditor", "the independent auditor, and why they are independent", "5-300"),
        Fact("audit_date", "the date of the most recent bias audit", "5-301 (a), 5-303 (a) (1)"),
        Fact("distribution_date", "the date when the employer or agency began to use the tool", "5-300, 5-303 (a) (2)"),
        Fact("data_source", "where the data come from, and why they were used", "5-303 (a) (1)"),
        Fact("data_kind", "historical data or test data; of test data, why and how they were made", "5-302"),
        Fact("position", "the group into which the tool classifies people, or the position", "5-301 (b) (4)", False),
        Fact("exclusion", "the auditor's justification for leaving categories below 2% out", "5-301 (d)", False),
    )

    def content(self, subject: Any, facts: Mapping[str, str]) -> PackContent:
        """Three tables; a scoring rate where scores were measured, a selection rate otherwise."""
        if not isinstance(subject, GroupTable) or len(subject.by) != 3 or len(subject.by[2]) != 2:
            raise UsageError(
                "expected a table of iso.measure by sex, by race/ethnicity, and by both together: "
                "by=['sex', 'race', ('sex', 'race')]"
            )
        scored = "scoring_rate" in subject.measures
        if not scored and "selection_rate" not in subject.measures:
            raise UsageError("expected decisions that are favourable or not, or scores: neither was measured")
        rate, ratio = ("scoring_rate", "scoring_ratio") if scored else ("selection_rate", "impact_ratio")
        excluded = bool(facts.get("exclusion"))
        tables = {
            part: _table(subject, by, rate, ratio, excluded)
            for part, by in zip(("sex", "race", "both"), subject.by, strict=True)
        }
        small = [row for by in subject.by for row in subject[by] if row.small and not row.unknown]
        unknown = [f"{' and '.join(by)}: {count:,} people" for by, count in subject.unknown.items()]
        values = {
            "rate": "scoring rate" if scored else "selection rate",
            "rule": "5-301 (c)" if scored else "5-301 (b)",
            "size": f"{subject.size:,}",
            "median": "" if subject.median is None or not scored else f"{subject.median:g}",
            "favourable": "" if scored else f"{subject.decision} = {subject.favourable}",
            "excluded": "yes" if excluded and small else "",
            "small": "" if excluded or not small else "yes",
        }
        return PackContent(values, tables, {"unknown": tuple(unknown)})


def _table(subject: GroupTable, by: tuple[str, ...], rate: str, ratio: str, excluded: bool) -> PackTable:
    selected = () if rate == "scoring_rate" else ("Selected",)
    headings = (
        "Category",
        "Applicants",
        *selected,
        "Scoring rate" if not selected else "Selection rate",
        "Impact ratio",
    )
    rows = [_row(row, rate, ratio, bool(selected), excluded) for row in subject[by] if not row.unknown]
    return PackTable(headings, tuple(rows), frozenset(range(1, len(headings))))


def _row(row: GroupRow, rate: str, ratio: str, selected: bool, excluded: bool) -> tuple[str, ...]:
    value, compared = row[rate].value, row.estimates[ratio].value if ratio in row.estimates else None
    left_out = excluded and row.small
    return (
        f"{row.name} (below 2%)" if row.small else row.name,
        f"{row.n:,}",
        *([f"{row.counts['selected']:,}"] if selected else []),
        "none" if value is None else f"{100 * value:.1f}%",
        "left out" if left_out else "none" if compared is None else f"{compared:.2f}",
    )


PACK = NycLocalLaw144()
