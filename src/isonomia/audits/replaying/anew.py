"""A run of a record, done anew with the model and the data: nothing is kept, everything is compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from isonomia.audits.audit_file.building import Permissions
from isonomia.audits.audit_file.planned import Planned
from isonomia.audits.audit_file.planning import plan_audit
from isonomia.audits.audit_file.reading import recorded_audit_file
from isonomia.audits.check import carry_out
from isonomia.audits.journaled import CACHE
from isonomia.audits.ksafety.request import Request as SafetyRequest
from isonomia.audits.replaying.opening import refuse_unsafe
from isonomia.audits.replaying.recomputing import compared
from isonomia.engine.observer import Observer
from isonomia.errors import IsonomiaError
from isonomia.models.protocol import Model
from isonomia.records.differences import Difference
from isonomia.records.evidence import CheckEvidence, Evidence
from isonomia.records.verdict import Verdict

__all__ = ["Anew", "run_anew"]


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
        verdict = carry_out(planned.arranged, observe(planned))
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
    request: Any = planned.arranged.request
    if not isinstance(request, SafetyRequest):
        return planned
    known = tuple(check.entries.get("known", {}).get("known", ()))
    request = replace(request, prop=replace(request.prop, known=known))
    return replace(planned, arranged=replace(planned.arranged, request=request))


def _without_cache(check: CheckEvidence) -> CheckEvidence:
    """Without what a cache had to say: there is none here."""
    told, verdict = check.entries.get(CACHE, {}).get("remark"), check.verdict
    if told is None or verdict is None:
        return check
    return replace(check, verdict={**verdict, "remarks": [each for each in verdict["remarks"] if each != told]})
