"""Adverse impact under the Uniform Guidelines on Employee Selection Procedures (29 CFR 1607.4).

Selection rates against four fifths of the highest, with the customary fixed-sample tests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

from isonomia.errors import UsageError
from isonomia.populations.profile import protected_attribute
from isonomia.records.group_table import GroupRow, GroupTable
from isonomia.report.packs.protocol import Pack, PackTable, RequiredFact

_SMALLEST = 1e-300
"""Near the smallest positive float of full precision."""
_HEADINGS = ("Group", "Applicants", "Selected", "Rate", "Impact ratio", "4/5", "Fisher's p", "Standard deviations")


FACTS = (
    RequiredFact("user", "the employer, labor organization or agency whose selections these are", "1607.1 B, 1607.16"),
    RequiredFact("job", "the job, and the selection procedure", "1607.4 C, 1607.15 A"),
    RequiredFact("period", "the period and the applicants that are counted", "1607.4 A, 1607.15 A"),
    RequiredFact("records", "where the records of impact are kept", "1607.4 A, 1607.15"),
)


def adverse_impact(subject: Any, facts: Mapping[str, str]) -> dict[str, Any]:  # noqa: ARG001
    """One table for each attribute, and what the rule of thumb says of it."""
    if not isinstance(subject, GroupTable) or "selection_rate" not in subject.measures:
        raise UsageError("expected a table of iso.measure with selection rates: decision=..., by=['sex', 'race']")
    refuse_attributes([name for by in subject.by for name in by])
    rows: list[tuple[str, ...]] = []
    findings: list[str] = []
    share = f"{100 * subject.small:g}%"
    for by in subject.by:
        known = [row for row in subject[by] if not row.unknown and row["selection_rate"].value is not None]
        highest = max((row for row in known if not row.small), key=_rate, default=None)
        if highest is None:
            continue
        rows += [_row(by, row, highest, share) for row in known]
        findings += _findings(by, known, highest, share)
    if not rows:
        raise UsageError(f"no group of at least {share} of the rows has selections")
    unknown = [f"{' and '.join(by)}: {count:,} people" for by, count in subject.unknown.items() if count]
    return {
        "size": f"{subject.size:,}",
        "selected": f"{subject.decision} = {subject.favourable}",
        "small": share,
        "groups": PackTable(_HEADINGS, tuple(rows), frozenset(range(1, len(_HEADINGS)))),
        "findings": findings,
        "unknown": unknown,
    }


def refuse_attributes(names: Sequence[str]) -> None:
    """Refuse columns whose names are about something else: the rule covers race, sex and ethnic group."""
    others = [name for name in names if protected_attribute(name) not in {"sex", "race", None}]
    if others:
        raise UsageError(
            f"29 CFR 1607.4 D speaks of race, sex and ethnic group, and not of {others[0]!r}: leave it out of by"
        )


def fisher(selected: int, n: int, highest: int, of: int) -> float:
    """The two-sided p-value of Fisher's exact test of the selections of two groups."""
    from scipy.stats import fisher_exact

    return float(fisher_exact([[selected, n - selected], [highest, of - highest]]).pvalue)


def standard_deviations(selected: int, n: int, highest: int, of: int) -> float | None:
    """By how many standard deviations two rates differ, with the pooled rate; ``None`` if all or none are selected."""
    pooled = (selected + highest) / (n + of)
    spread = sqrt(pooled * (1.0 - pooled) * (1.0 / n + 1.0 / of))
    return None if spread == 0.0 else (highest / of - selected / n) / spread


def _rate(row: GroupRow) -> float:
    value = row["selection_rate"].value
    return -1.0 if value is None else value


def _counts(row: GroupRow) -> tuple[int, int]:
    return row.counts["selected"], row["selection_rate"].n


def _row(by: tuple[str, ...], row: GroupRow, highest: GroupRow, share: str) -> tuple[str, ...]:
    selected, n = _counts(row)
    name = f"{', '.join(by)}: {row.name}{f' (below {share})' if row.small else ''}"
    head = (name, f"{n:,}", f"{selected:,}", f"{100 * _rate(row):.1f}%")
    if row is highest:
        return (*head, "highest", "", "", "")
    # Compared as fractions of whole numbers: 48 of 80 against 60 of 80 is four fifths, and not less.
    top, of = _counts(highest)
    ratio = "none" if not top else f"{100 * selected * of / (n * top):.0f}%"
    below = "none" if not top else "below" if 10 * selected * of < 8 * n * top else "not below"
    apart = standard_deviations(selected, n, top, of)
    return (*head, ratio, below, _p_value(fisher(selected, n, top, of)), "none" if apart is None else f"{apart:.2f}")


def _p_value(value: float) -> str:
    """A p-value as text; never 0, since below what floats can hold it is given as an upper bound."""
    return f"{value:.3g}" if value > _SMALLEST else f"< {_SMALLEST:g}"


def _findings(by: tuple[str, ...], rows: list[GroupRow], highest: GroupRow, share: str) -> list[str]:
    top, of = _counts(highest)
    below = []
    for row in rows:
        selected, n = _counts(row)
        if row is not highest and not row.small and 10 * selected * of < 8 * n * top:
            below.append(row.name)
    against = f"the rate of {highest.name}, the highest"
    # The guidelines are about race, sex and ethnic group, each by itself.
    named = f"By {', '.join(by)}" + (" together, beyond what the guidelines require" if len(by) > 1 else "")
    if not below:
        return [f"{named}: no group of at least {share} is selected at less than four fifths of {against}."]
    return [f"{named}: selected at less than four fifths of {against}: {'; '.join(below)}."]


PACK = Pack("eeoc", "groups", FACTS, adverse_impact)
