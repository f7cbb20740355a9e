"""Adverse action under Regulation B (12 CFR 1002.9): reasons, and what refused applicants can do.

For each refused applicant: the principal reasons, which of them they can act on, and the nearest changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from isonomia.errors import UsageError
from isonomia.populations.profile import protected_attribute
from isonomia.records.refusals import RefusalList, RefusedApplicant
from isonomia.report.packs.protocol import Pack, PackTable, RequiredFact
from isonomia.wording import value_text

_BASES: Mapping[str, str] = {
    "sex": "",
    "race": "",
    "religion": "",
    "nationality": " (the rule names national origin)",
    "marital status": "",
    "age": " (1002.6 (b) (2) says when a scoring system may use it)",
}
"""The attributes that 12 CFR 1002.2 (z) lists, each with what must be added about it."""
_NO_BASIS = ", which 12 CFR 1002.2 (z) does not list by name"


FACTS = (
    RequiredFact("creditor", "the name and address of the creditor", "1002.9 (a) (2)"),
    RequiredFact(
        "agency",
        "the name and address of the federal agency that administers compliance",
        "1002.9 (a) (2), (b) (1)",
    ),
    RequiredFact(
        "action_date", "the dates of the completed application and of the action", "1002.9 (a) (1)", date="may"
    ),
    RequiredFact("product", "the credit that was applied for", "Appendix C, form C-1"),
    RequiredFact("bureau", "the consumer reporting agency whose report was used, if any", "15 USC 1681m (a)", False),
)


def notices(subject: Any, facts: Mapping[str, str]) -> dict[str, Any]:  # noqa: ARG001
    """A table of all refused applicants, and a page for each."""
    if not isinstance(subject, RefusalList):
        raise UsageError("expected refused applicants, as refused_applicants lists them")
    stuck = [each for each in subject.refusals if not each.options and each.every]
    unsure = [each for each in subject.refusals if not each.options and not each.every]
    rows = tuple(
        (
            str(each.id),
            ", ".join(subject.label(reason.feature) for reason in each.reasons) or "none found",
            _short(each, subject),
        )
        for each in subject.refusals
    )
    return {
        "applicants": f"{subject.applicants:,}",
        "refused": f"{len(subject.refusals):,}",
        "target": subject.target,
        "stuck": f"{len(stuck):,}",
        "drawn": f"{drawn:,}" if (drawn := sum(not each.every for each in subject.refusals)) else "",
        "unsure": f"{len(unsure):,}" if unsure else "",
        "model": str(subject.model.get("name", "")),
        "mark": str(subject.model.get("fingerprint", ""))[:12],
        "weighed": "the model's score" if subject.scored else "the share of approvals",
        "refusals": PackTable((subject.id_column or "Row", "Principal reasons", "Nearest change"), rows),
        "prohibited": _prohibited(subject),
        "pages": [_page(each, subject) for each in subject.refusals],
    }


def _prohibited(subject: RefusalList) -> tuple[str, ...]:
    """Reasons that, by their names, are prohibited bases or other protected attributes."""
    counts = Counter(reason.feature for each in subject.refusals for reason in each.reasons)
    kinds = {feature: protected_attribute(feature) for feature in counts}
    return tuple(
        f"{subject.label(feature)} is among the reasons of {count:,} refused applicants, and by its name it is about "
        f"{kind}{_BASES.get(kind, _NO_BASIS)}: the model uses it, whatever the notice says."
        for feature, count in counts.items()
        if (kind := kinds[feature]) is not None
    )


def _short(each: RefusedApplicant, listed: RefusalList) -> str:
    if not each.options:
        return each.outcome
    return ", ".join(_change(listed.label(name), pair) for name, pair in each.options[0].items())


def _change(name: str, pair: tuple[Any, Any]) -> str:
    return f"{name}: {value_text(pair[0], 60)} → {value_text(pair[1], 60)}"


def _page(each: RefusedApplicant, listed: RefusalList) -> dict[str, Any]:
    reasons = tuple(
        (listed.label(reason.feature), value_text(reason.value, 60), "yes" if reason.actionable else "no")
        for reason in each.reasons
    )
    changes = tuple(
        (f"{number}", listed.label(name), value_text(before, 60), value_text(after, 60))
        for number, option in enumerate(each.options, start=1)
        for name, (before, after) in option.items()
    )
    return {
        "title": f"Applicant {each.id}",
        "reasons": PackTable(("Principal reason", "Your value", "Can you act on it?"), reasons),
        "changes": PackTable(("Option", "What changes", "From", "To"), changes),
        "outcome": each.outcome if not each.options else "",
        "drawn": "" if each.every else f"{each.looked_at:,}",
    }


PACK = Pack("reg-b", "refusals", FACTS, notices)
