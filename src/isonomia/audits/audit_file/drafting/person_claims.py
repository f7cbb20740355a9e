"""Properties about single people that make sense for what was seen: k-safety, responsiveness, principal fairness."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from isonomia.audits.audit_file.drafting.columns import Column
from isonomia.audits.audit_file.drafting.groups import LEAST, Attribute
from isonomia.audits.audit_file.drafting.naming import has_word, vocabulary
from isonomia.audits.audit_file.drafting.seen import Seen
from isonomia.audits.audit_file.drafting.suggestions import Suggestion, named

__all__ = ["CHANGES", "person_claims", "preclusion_claim"]

CHANGES = "changes"
"""What a draft calls the interventions that it comes with."""
_HELPS = vocabulary(
    "experience education educational schooling degree qualification qualifications skill skills grade grades gpa "
    "income salary wage savings saving assets tenure employment erfahrung einkommen gehalt experiencia ingresos "
    "revenu salaire esperienza reddito"
)
_HURTS = vocabulary(
    "debt debts priors prior convictions arrests delinquencies delinquency late defaults overdue absences failures "
    "bankruptcies charges felonies misdemeanors schulden deudas dettes"
)
_SUGGESTED = 6


def person_claims(seen: Seen) -> Iterator[Suggestion]:
    """Every property about single people that needs no interventions."""
    if seen.asked is not None:
        for attribute in seen.attributes:
            yield from _invariant(seen, attribute)
        suggested = [claim for column in seen.columns.values() for claim in _monotone(seen, column)]
        yield from suggested[:_SUGGESTED]
    yield from _principal(seen)


def _invariant(seen: Seen, attribute: Attribute) -> Iterator[Suggestion]:
    if not seen.reads(attribute.column):
        return
    ask: dict[str, Any] = {} if seen.asked is not None and seen.asked.predictions is not None else {"ask": "score"}
    doubt = ""
    if not attribute.values:
        doubt = f"{attribute.kind} may be a legitimate reason; make it active where it must not be"
    if seen.table.rows < LEAST:
        doubt = f"there are only {seen.table.rows:,} rows"
    named_by_itself = seen.asked is not None and seen.asked.reads is not None
    note = "The model reads it." if named_by_itself else "The model is given it, and may read it."
    yield named(
        f"{attribute.column} changes nothing",
        "safety",
        "invariant_to",
        f"{note} Everybody is asked about again with another {attribute.column}, and nothing else changed.",
        doubt,
        feature=attribute.column,
        **ask,
    )


def _monotone(seen: Seen, column: Column) -> Iterator[Suggestion]:
    """Whether more of something helps is for a person to say; the draft only writes it down."""
    helps, hurts = has_word(column.name, _HELPS), has_word(column.name, _HURTS)
    ordered = _ordered(seen)
    if not column.numeric or helps == hurts or not seen.reads(column.name) or not ordered or column.low == column.high:
        return
    width = column.high - column.low
    up: Any = [1, max(1, min(5, int(width / 4)))] if column.kind == "whole" else float(f"{width / 10:.2g}")
    better = "not lower" if helps == (ordered["better"] > 0) else "not higher"
    told = "never hurts" if helps else "never helps"
    yield named(
        f"more {column.name} {told}",
        "safety",
        "monotone",
        "",
        "whether more of it should help is yours to say; its name suggests it",
        feature=column.name,
        up=up,
        at_most=column.high,
        output=better,
        **ordered["ask"],
    )


def _ordered(seen: Seen) -> dict[str, Any]:
    """How answers can be compared: by a score, or by predictions that are numbers; empty where they cannot be."""
    decision = seen.decision
    if decision.score and decision.rising:
        return {"better": decision.rising, "ask": {"ask": "score"}}
    if seen.asked is None or seen.asked.predictions is None:
        return {"better": 1, "ask": {"ask": "score"}} if seen.asked is not None else {}
    if not decision.values:
        return {"better": 1, "ask": {}}
    if len(decision.values) == 2 and not isinstance(decision.value, str):
        return {"better": 1 if decision.value == max(decision.values) else -1, "ask": {}}
    return {}


def preclusion_claim(seen: Seen, free: int) -> Suggestion:
    """That nobody who is refused is without a way to the favourable answer.

    Parameters
    ----------
    seen
        What was seen.
    free
        How many features people can change, by the draft.
    """
    value = seen.decision.value
    target = seen.decision.event if value is None else [value] if isinstance(value, str) else value
    note = (
        f"Everybody who does not get the favourable answer should have a way to it: {CHANGES}.toml says what people "
        f"can change, {free} features by the draft. Read it before you believe a verdict."
    )
    doubt = "" if free else f"by {CHANGES}.toml there is nothing that people can change"
    return named(
        "a way to the favourable answer",
        "responsiveness",
        "preclusion",
        note,
        doubt,
        interventions=CHANGES,
        target=target,
        who=seen.decision.opposite,
    )


def _principal(seen: Seen) -> Iterator[Suggestion]:
    outcome, decision = seen.outcome, seen.decision
    binary = [attribute for attribute in seen.attributes if attribute.values == 2]
    if outcome is None or not binary or outcome.column.varieties != 2 or len(decision.values) != 2:
        return
    attribute = binary[0]
    column: dict[str, Any] = {} if seen.decided in (None, "prediction") else {"prediction": seen.decided}
    evident = outcome.sure and attribute.kind == "sex"
    yield named(
        f"principal fairness by {attribute.column}",
        "principal",
        True,
        f"People whose {outcome.column.name} does not depend on {attribute.column} are not answered differently "
        f"because of it. It takes {attribute.column} to be as good as random: add given = [...], the columns that hold "
        "what makes it otherwise.",
        ""
        if evident
        else f"{attribute.column} is hardly as good as random, or {outcome.column.name} hardly the outcome",
        attribute=attribute.column,
        outcome=outcome.column.name,
        within=0.1,
        **column,
    )
