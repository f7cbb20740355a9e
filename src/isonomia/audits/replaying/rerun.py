"""A record, with the model at hand: its counterexamples put to the model again, or the whole run done again.

A verdict *violated* about single cases rests on them alone, so that a model in which they occur again violates the
property, whatever else the record says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from isonomia.audits.audit_file.planner import PlannedCheck, StatedProperty, plan_audit
from isonomia.audits.audit_file.reader import recorded_audit_file
from isonomia.audits.check import new_check, run_check
from isonomia.audits.protocol import Permissions
from isonomia.audits.registry import audit_for
from isonomia.audits.replaying.permissions import refuse_unsafe
from isonomia.audits.replaying.recompute import compared
from isonomia.audits.verdicts import CACHE, recorded_population
from isonomia.engine.observer import Observer
from isonomia.errors import IsonomiaError
from isonomia.models.protocol import Model
from isonomia.records.compare import ValueDifference
from isonomia.records.evidence import CheckEvidence, EvidenceFile
from isonomia.records.verdict import Verdict

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
    differences: tuple[ValueDifference, ...] = ()
    failure: str | None = None

    @property
    def same(self) -> bool:
        """Whether everything came out as it did."""
        return not (self.others or self.differences or self.failure)


def run_anew(
    evidence: EvidenceFile,
    folder: Path,
    permissions: Permissions,
    models: Mapping[str, Model],
    observe: Callable[[PlannedCheck], Observer],
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
    """
    audit = evidence.audit
    file = recorded_audit_file(folder / audit["name"], audit["text"], audit["files"])
    refuse_unsafe(file, permissions, models)
    for planned, check in zip(
        plan_audit(file, evidence.run["seed"], permissions, given=models), evidence.checks, strict=True
    ):
        yield _anew(evidence, check, _with_known(planned, check), observe)


def _anew(
    evidence: EvidenceFile, check: CheckEvidence, planned: PlannedCheck, observe: Callable[[PlannedCheck], Observer]
) -> Anew:
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


def _with_known(planned: PlannedCheck, check: CheckEvidence) -> PlannedCheck:
    """With the known counterexamples that the recorded check tried first."""
    known_first = audit_for(planned.check.prop).known_first
    if known_first is None:
        return planned
    return replace(planned, check=known_first.as_recorded(planned.check, check.entries))


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


def asked_again(each: StatedProperty, check: CheckEvidence, model: Model, permissions: Permissions) -> AskedAgain:
    """Ask a model about every counterexample of a check."""
    recorded = check.entries.get("model", {}).get("fingerprint")
    told = AskedAgain(check.name, None if recorded is None else recorded == model.fingerprint())
    known: Sequence[Mapping[str, Any]] = () if check.verdict is None else check.verdict["counterexamples"]
    if not known:
        return told
    told = replace(told, counterexamples=len(known))
    try:
        prepared = new_check(each.prop, model, recorded_population(check.entries), **each.options)
        result = audit_for(each.prop).recheck(prepared, known, check.entries, permissions)
    except (IsonomiaError, TypeError, ValueError, LookupError, AttributeError) as error:
        return replace(told, problem=f"they cannot be asked about: {error}")
    return replace(told, asked=result.asked, again=result.again, problem=result.problem)
