"""The counterexamples of a record, put to the model once more.

A verdict *violated* about single cases rests on them alone, so that a model in which they occur again violates the
property, whatever else the record says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from isonomia.audits.audit_file.building import Permissions
from isonomia.audits.audit_file.planned import Stated
from isonomia.audits.check import arrange
from isonomia.audits.ksafety.bench import Bench
from isonomia.audits.ksafety.described import subject_from
from isonomia.audits.ksafety.program import lower
from isonomia.audits.ksafety.remembering import still_violating
from isonomia.audits.ksafety.request import Request as SafetyRequest
from isonomia.errors import IsonomiaError
from isonomia.models.checked import ask
from isonomia.models.protocol import Answer, Model
from isonomia.populations.census import Census
from isonomia.populations.columns import column_from, plain_value
from isonomia.populations.table import Table
from isonomia.records.evidence import CheckEvidence
from isonomia.spec.responsiveness import Responsiveness
from isonomia.spec.safety import Safety

__all__ = ["AskedAgain", "asked_again"]


@dataclass(frozen=True, slots=True)
class AskedAgain:
    """What came of the counterexamples of one property.

    Attributes
    ----------
    name
        The property's name.
    same
        Whether the model has the fingerprint that the record has; ``None`` where the record has none.
    counterexamples, asked, again
        How many the record has, how many of them could be asked about, and how many of these occur again.
    problem
        Why some or all could not be asked about, in words.
    """

    name: str
    same: bool | None
    counterexamples: int = 0
    asked: int = 0
    again: int = 0
    problem: str | None = None


def asked_again(each: Stated, check: CheckEvidence, model: Model, permissions: Permissions) -> AskedAgain:
    """Ask a model about every counterexample of a check."""
    recorded = check.entries.get("model", {}).get("fingerprint")
    told = AskedAgain(check.name, None if recorded is None else recorded == model.fingerprint())
    known: Sequence[Mapping[str, Any]] = () if check.verdict is None else check.verdict["counterexamples"]
    if not known:
        return told
    try:
        match each.prop:
            case Safety() as prop:
                return replace(told, counterexamples=len(known), **_cases(prop, each, check, known, model, permissions))
            case Responsiveness():
                return replace(told, counterexamples=len(known), **_points(known, model))
            case _:
                return told
    except (IsonomiaError, TypeError, ValueError, LookupError, AttributeError) as error:
        return replace(told, counterexamples=len(known), problem=f"they cannot be asked about: {error}")


def _cases(
    prop: Safety,
    each: Stated,
    check: CheckEvidence,
    known: Sequence[Mapping[str, Any]],
    model: Model,
    permissions: Permissions,
) -> dict[str, Any]:
    """Compute k-safety counterexamples anew, from their inputs and choices."""
    if check.entries["population"]["kind"] == "domain":
        return {"problem": "their inputs are of a domain that the record does not hold: use --full"}
    rows = [row for item in known for row in item["inputs"].values()]
    allowed = replace(prop, allow_code=permissions.allow_code)
    request = arrange(allowed, model, Census(_table(rows)), each.options).request
    assert isinstance(request, SafetyRequest)
    bench = Bench(request)
    try:
        subject = subject_from(bench.describe())
        program = lower(prop.spec, subject.random, subject.asking)
        runner = bench.runner(program, subject.random)
        return {"asked": len(known), "again": len(still_violating(runner, bench.domain, known))}
    finally:
        bench.close()


def _points(known: Sequence[Mapping[str, Any]], model: Model) -> dict[str, Any]:
    """Ask about points that people can reach: the model must answer as it did."""
    told = [item for item in known if item.get("point") is not None]
    silent = len(known) - len(told)
    problem = f"{silent} say that a person reaches nothing, which no single answer shows: use --full"
    if not told:
        return {"problem": problem}
    scored, decided = any("score" in item for item in told), any("prediction" in item for item in told)
    answer = ask(model, _table([item["point"] for item in told]), scored, decided)
    again = sum(_answers_alike(item, answer, place) for place, item in enumerate(told))
    return {"asked": len(told), "again": again, "problem": problem if silent else None}


def _answers_alike(item: Mapping[str, Any], answer: Answer, place: int) -> bool:
    decided, scored = answer.prediction, answer.score
    if "prediction" in item and (decided is None or plain_value(decided[place]) != item["prediction"]):
        return False
    if "score" not in item:
        return True
    return scored is not None and bool(np.allclose(scored[place], item["score"], rtol=1e-6, atol=1e-9))


def _table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Rows that were shown, as columns."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return Table.of({name: column_from([row.get(name) for row in rows], name) for name in names})
