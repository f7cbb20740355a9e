"""A record, with the model at hand: its counterexamples checked again, or the whole run repeated.

A verdict *violated* about single cases rests on them alone, so a model for which they occur again violates the
property, whatever else the record says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from isonomia.audits.audit_file.permissions import check_allowed
from isonomia.audits.audit_file.planner import PlannedCheck, StatedProperty, default_seed, plan_audit
from isonomia.audits.audit_file.reader import DEFAULT, AuditFile, FileTable, recorded_audit_file
from isonomia.audits.check import new_check, run_check
from isonomia.audits.protocol import Permissions
from isonomia.audits.registry import audit_for
from isonomia.audits.replaying.recompute import compared
from isonomia.audits.verdicts import CACHE, recorded_population
from isonomia.engine.observer import Observer
from isonomia.errors import IsonomiaError, UsageError
from isonomia.models.loader import Kind, kind_of, load_model
from isonomia.models.protocol import Model
from isonomia.populations import Sample
from isonomia.records.compare import ValueDifference
from isonomia.records.evidence import CheckEvidence, EvidenceFile
from isonomia.records.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Rerun:
    """One property, checked again.

    Attributes
    ----------
    name
        The property's name.
    verdict
        The new verdict; ``None`` where it could not be checked.
    others
        Which of ``model`` and ``population`` have a different fingerprint from the record's.
    differences
        Where the verdict differs from that of the record, fingerprints aside.
    failure
        Why it could not be checked, where it could at the time; or that it could be, where it could not.
    devices
        The kinds of device on which people were drawn, then and now, if they differ: then they are different people,
        and numbers that differ mean nothing.
    random
        Whether the model may answer at random, and the numbers differ: then these are different answers, and again
        only the answers to the property are compared.
    """

    name: str
    verdict: Verdict | None
    others: tuple[str, ...] = ()
    differences: tuple[ValueDifference, ...] = ()
    failure: str | None = None
    devices: tuple[str, str] | None = None
    random: bool = False

    @property
    def sound(self) -> bool:
        """Whether everything came out as before, as far as people and answers are the same draws."""
        return not (self.others or self.differences or self.failure)

    @property
    def same(self) -> bool:
        """Whether everything came out as before."""
        return self.sound and self.devices is None and not self.random


def rerun(
    evidence: EvidenceFile,
    folder: Path,
    permissions: Permissions,
    models: Mapping[str, Model],
    observe: Callable[[PlannedCheck], Observer],
) -> Iterator[Rerun]:
    """Check every property again, with the seed of the record.

    Parameters
    ----------
    evidence
        The record: its texts are used, not those on disk.
    folder
        Where the data and the models that it names are.
    permissions
        What is allowed of what needs permission.
    models
        Models to use in place of those that it names, by their names in the audit file.
    observe
        Gives the observer of a check.
    """
    audit = evidence.audit
    file = recorded_audit_file(folder / audit["name"], audit["text"], audit["files"])
    check_allowed(file, permissions, _ADVICE, given=models)
    stated = {
        check.definition.get("population", DEFAULT): check.entries.get("population", {}) for check in evidence.checks
    }

    def looked_at(name: str, sample: Sample) -> Sample:
        entry = stated.get(name, {})
        return sample.continuing(entry["looks"], entry.get("note", "")) if "looks" in entry else sample

    by_hand, recorded = evidence.run.get("seed_chosen"), evidence.run["seed"]
    again = plan_audit(file, recorded, permissions, given=models, looked_at=looked_at, seed_chosen=bool(by_hand))
    derived = by_hand is False and not models and not any(entry.get("looks") for entry in stated.values())
    expected = default_seed(again) if derived else recorded
    for planned, check in zip(again, evidence.checks, strict=True):
        found = _rerun_one(evidence, check, _with_known(planned, check), observe)
        if expected != recorded and not found.others:
            other = ValueDifference("seed, which was not chosen by hand", recorded, expected)
            found = replace(found, differences=(*found.differences, other))
        yield found


_ADVICE = "allow it with {flags}; or name the model yourself with --model, and the folder of the data with --folder"


def _rerun_one(
    evidence: EvidenceFile, check: CheckEvidence, planned: PlannedCheck, observe: Callable[[PlannedCheck], Observer]
) -> Rerun:
    try:
        verdict = run_check(planned.check, observe(planned))
    except IsonomiaError as error:
        return Rerun(check.name, None, failure=None if check.verdict is None else str(error))
    if check.verdict is None:
        return Rerun(check.name, verdict, failure="it could not be checked then, and can be now")
    # A run that was resumed, or that had a cache or an executor, sent other rows.
    found = [
        each
        for each in compared(evidence, _without_cache(check), planned, verdict)
        if each.path not in {"queries", "repeated"}
    ]
    others = tuple(what for what in ("model", "population") if any(_fingerprint(what) == each.path for each in found))
    rest = tuple(each for each in found if each.path not in map(_fingerprint, others))
    then, now = (people.get("device", NUMPY) for people in (check.verdict["population"], verdict.population))
    random = planned.check.random_model and planned.check.model is not None and bool(rest)
    if then == now and not random:
        return Rerun(check.name, verdict, others, rest)
    known = tuple(each for each in rest if _known_before(each.path))
    contradicted = {check.verdict["answer"], verdict.answer} == {"holds", "violated"}
    answers = (ValueDifference("answer", check.verdict["answer"], verdict.answer),) if contradicted else ()
    return Rerun(
        check.name, verdict, others, (*known, *answers), devices=None if then == now else (then, now), random=random
    )


NUMPY = "NumPy"
"""What draws where no device is named."""

_KNOWN_BEFORE = ("definition", "options", "text", "name", "delta", "seed", "method", "looks", "model")
"""What a verdict states that does not depend on who was drawn."""


def _known_before(path: str) -> bool:
    return path.startswith(_KNOWN_BEFORE) or path in {"population.kind", "population.size"}


def _fingerprint(what: str) -> str:
    return f"{what}.fingerprint"


def _with_known(planned: PlannedCheck, check: CheckEvidence) -> PlannedCheck:
    """The check with the known counterexamples that the recorded check tried first."""
    known_first = audit_for(planned.check.prop).known_first
    if known_first is None:
        return planned
    return replace(planned, check=known_first.as_recorded(planned.check, check.entries))


def _without_cache(check: CheckEvidence) -> CheckEvidence:
    """The check without the remark of a cache: there is none here."""
    told, verdict = check.entries.get(CACHE, {}).get("remark"), check.verdict
    if told is None or verdict is None:
        return check
    return replace(check, verdict={**verdict, "remarks": [each for each in verdict["remarks"] if each != told]})


@dataclass(frozen=True, slots=True)
class CounterexampleRecheck:
    """The result of checking the counterexamples of one property again.

    Attributes
    ----------
    name
        The property's name.
    same
        Whether the model has the recorded fingerprint; ``None`` where none is recorded.
    counterexamples, asked, again
        How many the record has, how many of them could be checked again, and how many of these still occur.
    problem
        Why some or all could not be checked, in words.
    random
        Whether the model may answer at random, so that a counterexample need not occur again.
    """

    name: str
    same: bool | None
    counterexamples: int = 0
    asked: int = 0
    again: int = 0
    problem: str | None = None
    random: bool = False


def recheck(
    each: StatedProperty, check: CheckEvidence, model: Model, permissions: Permissions
) -> CounterexampleRecheck:
    """Check every counterexample of a check again with a model."""
    recorded = check.entries.get("model", {}).get("fingerprint")
    same, random = None if recorded is None else recorded == model.fingerprint(), bool(each.options.get("random_model"))
    told = CounterexampleRecheck(check.name, same, random=random)
    known: Sequence[Mapping[str, Any]] = () if check.verdict is None else check.verdict["counterexamples"]
    if not known:
        return told
    told = replace(told, counterexamples=len(known))
    try:
        prepared = new_check(each.prop, model, recorded_population(check.entries), **each.options)
        result = audit_for(each.prop).recheck(prepared, known, check.entries, permissions)
    except (IsonomiaError, TypeError, ValueError, LookupError, AttributeError) as error:
        return replace(told, problem=f"they cannot be checked: {error}")
    return replace(told, asked=result.asked, again=result.again, problem=result.problem)


# ----------------------------------------------------------------------------------------- models that a person names


_PERMISSIONS = ("trust_pickle", "trusted")
"""Options of a model that give permissions, which a record must not give."""

_RUN = frozenset({Kind.PROGRAM, Kind.SERVICE})
"""Kinds of models that run a program, or send the rows somewhere."""


def opened_models(
    file: AuditFile, sources: Mapping[str, str], permissions: Permissions, trusted: list[str] | None = None
) -> dict[str, Model]:
    """Open the models that the user names in place of those of the record, read as the audit file says.

    Parameters
    ----------
    file
        The audit file of the record.
    sources
        What to open, by the model's name in the file.
    permissions, trusted
        Whether pickles may be opened, and which types of a skops file may be made.
    """
    entries, found = file.entries("model", "models"), {}
    for name, source in sources.items():
        if name not in entries:
            raise UsageError(f"expected --model for a model of the audit, but it has none called {name!r}")
        options = _model_options(entries[name], source, permissions)
        if trusted:
            options["trusted"] = trusted
        features = entries[name].get("features")
        found[name] = load_model(source, features=features, **options, trust_pickle=permissions.trust_pickle)
    return found


def _model_options(entry: FileTable, source: str, permissions: Permissions) -> dict[str, Any]:
    """The record's options for reading a model. It must not decide how something is run or called."""
    path = Path(source)
    if not permissions.allow_code and (not path.exists() or kind_of(path) in _RUN):
        return {}
    return {key: value for key, value in entry.get("options", {}).items() if key not in _PERMISSIONS}
