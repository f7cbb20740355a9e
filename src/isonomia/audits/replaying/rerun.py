"""With the model: counterexamples, or everything.

A run of a record, done anew with the model and the data: nothing is kept, everything is compared.

The counterexamples of a record, put to the model once more.

A verdict *violated* about single cases rests on them alone, so that a model in which they occur again violates the
property, whatever else the record says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from isonomia.audits.audit_file.builder import Permissions
from isonomia.audits.audit_file.planner import Planned, Stated, plan_audit
from isonomia.audits.audit_file.reader import recorded_audit_file
from isonomia.audits.check import new_check, run_check
from isonomia.audits.ksafety.check import still_violating
from isonomia.audits.ksafety.inputs import subject_from
from isonomia.audits.ksafety.program import lower
from isonomia.audits.ksafety.setup import Bench
from isonomia.audits.replaying.permissions import refuse_unsafe
from isonomia.audits.replaying.recompute import compared
from isonomia.audits.verdicts import CACHE
from isonomia.engine.observer import Observer
from isonomia.errors import IsonomiaError
from isonomia.models.checked import ask
from isonomia.models.protocol import Answer, Model
from isonomia.populations.columns import column_from, plain_value
from isonomia.populations.finite import Census
from isonomia.populations.table import Table
from isonomia.records.compare import Difference
from isonomia.records.evidence import CheckEvidence, Evidence
from isonomia.records.verdict import Verdict
from isonomia.spec.responsiveness import Responsiveness
from isonomia.spec.safety import Safety

__all__ = ["Anew", "AskedAgain", "asked_again", "run_anew"]


@dataclass(frozen=True, slots=True)
class Anew:
    """One property, checked anew.

    Attributes
    ----------
    name
        The property's name.
    verdict
        What came of it now; ``None`` where it could not be checked.
    others
        Which of ``model`` and ``population`` have another fingerprint than the record.
    differences
        Where the verdict differs from that of the record, fingerprints aside.
    failure
        Why it could not be checked, where it could at the time; or could be, where it could not.
    """

    name: str
    verdict: Verdict | None
    others: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()
    failure: str | None = None

    @property
    def same(self) -> bool:
        """Whether everything came out as it did."""
        return not (self.others or self.differences or self.failure)


def run_anew(
    evidence: Evidence,
    folder: Path,
    permissions: Permissions,
    models: Mapping[str, Model],
    observe: Callable[[Planned], Observer],
) -> Iterator[Anew]:
    """Check every property anew, with the seed of the record.

    Parameters
    ----------
    evidence
        The record: its texts are used, not those on disk.
    folder
        Where the data and the models are that it names.
    permissions
        What may be done that needs permission.
    models
        Models to use in place of those that it names, by their names in the audit file.
    observe
        Who watches a check.

    Raises
    ------
    RecordError
        Where something would be run, sent or read that nobody allowed.
    SpecError
        Where data or a model cannot be opened.
    """
    audit = evidence.audit
    file = recorded_audit_file(folder / audit["name"], audit["text"], audit["files"])
    refuse_unsafe(file, permissions, models)
    for planned, check in zip(
        plan_audit(file, evidence.run["seed"], permissions, given=models), evidence.checks, strict=True
    ):
        yield _anew(evidence, check, _with_known(planned, check), observe)


def _anew(evidence: Evidence, check: CheckEvidence, planned: Planned, observe: Callable[[Planned], Observer]) -> Anew:
    try:
        verdict = run_check(planned.check, observe(planned))
    except IsonomiaError as error:
        return Anew(check.name, None, failure=None if check.verdict is None else str(error))
    if check.verdict is None:
        return Anew(check.name, verdict, failure="it could not be checked then, and can be now")
    found = list(compared(evidence, _without_cache(check), planned, verdict))
    others = tuple(what for what in ("model", "population") if any(_fingerprint(what) == each.path for each in found))
    rest = tuple(each for each in found if each.path not in map(_fingerprint, others))
    return Anew(check.name, verdict, others, rest)


def _fingerprint(what: str) -> str:
    return f"{what}.fingerprint"


def _with_known(planned: Planned, check: CheckEvidence) -> Planned:
    """With the known counterexamples that the recorded check tried first."""
    prop = planned.check.prop
    if not isinstance(prop, Safety):
        return planned
    known = tuple(check.entries.get("known", {}).get("known", ()))
    return replace(planned, check=replace(planned.check, prop=replace(prop, known=known)))


def _without_cache(check: CheckEvidence) -> CheckEvidence:
    """Without what a cache had to say: there is none here."""
    told, verdict = check.entries.get(CACHE, {}).get("remark"), check.verdict
    if told is None or verdict is None:
        return check
    return replace(check, verdict={**verdict, "remarks": [each for each in verdict["remarks"] if each != told]})


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
    bench = Bench(new_check(allowed, model, Census(_table(rows)), **each.options))
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
