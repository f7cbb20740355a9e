"""A run repeated: from its numbers alone, or with the model.

The verdicts of a record, computed again from the statistics that it kept, and compared with what it says.

Guarantee: a verdict in which nothing differs follows from the statistics in the file by the arithmetic of this version
of Isonomia. What is not implied: that the statistics really come from the model and the people that the record names.
Only checking these again shows that.

A record, with the model at hand: its counterexamples checked again, or the whole run repeated.

A verdict *violated* about single cases rests on them alone, so a model for which they occur again violates the
property, whatever else the record says.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import fsum
from pathlib import Path
from time import perf_counter
from typing import Any

from isonomia.audits.audit_file.permissions import check_allowed
from isonomia.audits.audit_file.planner import (
    PlannedCheck,
    StatedProperty,
    default_seed,
    model_key,
    plan_audit,
    planned_for,
    stated_in,
)
from isonomia.audits.audit_file.reader import DEFAULT, AuditFile, FileTable, recorded_audit_file
from isonomia.audits.check import new_check, run_check
from isonomia.audits.given_models import named_outputs
from isonomia.audits.protocol import Check, Permissions
from isonomia.audits.registry import audit_for
from isonomia.audits.verdicts import CACHE, recorded_model, recorded_population
from isonomia.engine.parameters import HistoryObserver, NullObserver, Observer, Point
from isonomia.errors import IsonomiaError, RecordError, UsageError
from isonomia.models.loader import Kind, kind_of, load_model
from isonomia.models.protocol import Model
from isonomia.populations import Sample
from isonomia.records.compare import ValueDifference, differences
from isonomia.records.evidence import CheckEvidence, EvidenceFile
from isonomia.records.journal import Entry, MissingEntryError, ReadOnlyJournal
from isonomia.records.verdict import Verdict
from isonomia.wording import visible

TIME_LIMIT = 120.0
"""Seconds that computing one property of a record may take by default: most take some milliseconds."""

ROUNDING = 1e-9
"""The relative difference that numbers may have: processors and libraries round the last digits differently."""

TIME = "time "
"""The prefix of keys about a time budget; one that was not spent decides nothing."""

_SUM = 1e-6
"""The relative difference that a sum may have from its total: parts of draws are rounded."""

_NOT_COMPARED = ("seconds", "version")
"""What a recomputation does not reproduce: how long it took, and the version, which is checked separately."""


@dataclass(frozen=True, slots=True)
class RecomputedProperty:
    """One property, computed again."""

    name: str  # the property's name
    verdict: Verdict | None  # the recorded verdict; `None` where it could not be checked at the time
    differences: tuple[ValueDifference, ...] = ()  # where what was computed differs from what was recorded
    failure: str | None = None  # why nothing could be computed, in words
    seconds: float = 0.0  # how long it took

    @property
    def sound(self) -> bool:
        """Whether the recorded verdict follows from what the record has."""
        return not self.differences and self.failure is None


def recomputed(
    evidence: EvidenceFile, audit: RebuiltAudit, seconds: float = TIME_LIMIT
) -> Iterator[RecomputedProperty]:
    """Compute every verdict again from the statistics alone; one that takes too long is ended at its next step."""
    for each, check in zip(audit.stated, evidence.checks, strict=True):
        began = perf_counter()
        compute = partial(_recompute, evidence, each, check, began + seconds)
        try:
            result = attempt(check, compute)
        except TimeoutError:
            message = (
                f"computing it took more than {seconds:g} seconds, which records rarely need. If you trust whoever "
                "made it, allow more with --seconds"
            )
            result = check.name, None, (), message
        yield RecomputedProperty(*result, perf_counter() - began)


def compared(
    evidence: EvidenceFile, check: CheckEvidence, planned: PlannedCheck, verdict: Verdict
) -> Iterator[ValueDifference]:
    """Where a verdict, and how it was reached, differ from what is recorded for a check."""
    assert check.verdict is not None
    options = {"delta": planned.check.delta, "line": planned.line, "explanation": planned.check.prop.explain()}
    recorded = {key: check.options.get(key) for key in options}
    yield from differences(check.definition, planned.definition, "definition")
    yield from differences(recorded, options, "options", ROUNDING)
    yield from differences(check.verdict["version"], evidence.run["versions"].get("isonomia"), "version")
    before = {"looks": "any", "queries": None, "repeated": None, "spent": {}, **plain_verdict(check.verdict)}
    yield from differences(before, plain_verdict(verdict.to_dict()), "", ROUNDING)


def _recompute(
    evidence: EvidenceFile, each: StatedProperty, check: CheckEvidence, until: float
) -> tuple[tuple[ValueDifference, ...], str | None]:
    assert check.verdict is not None
    planned, journal = stand_in(each, check), _ReadInTime(check.entries, until)
    refuse_impossible(planned.check, check.entries)
    verdict = run_check(planned.check.with_journal(journal), NullObserver())
    unused = [key for key in check.entries if key not in journal.read and key != CACHE and not key.startswith(TIME)]
    if unused:
        return (), f"its statistics are impossible for such a check, {unused[0]!r:.60}: it would have ended earlier"
    if verdict.stopped == "interrupted" != check.verdict["stopped"]:
        return (), f"its statistics end after {verdict.samples:,} {verdict.counted}, before the answer"
    return tuple(compared(evidence, check, planned, verdict)), None


@dataclass(frozen=True, slots=True)
class _ReadInTime:
    """A read-only journal that notes which of its keys were read, and raises when the time is up."""

    entries: Mapping[str, Entry]
    until: float
    read: set[str] = field(default_factory=set)

    def recall(self, key: str) -> Entry:
        """What was kept under a key, which is noted."""
        if perf_counter() > self.until:
            raise TimeoutError
        self.read.add(key)
        return ReadOnlyJournal(self.entries).recall(key)

    def keep(self, key: str, make: Callable[[], Entry]) -> None:
        """Refuse."""
        ReadOnlyJournal(self.entries).keep(key, make)


def refuse_impossible(check: Check[Any], entries: Mapping[str, Entry]) -> None:
    """Refuse counts that are negative, are not whole numbers, or do not add up: the arithmetic takes them as they are.

    A more careful change of the counts, and of the seal, is found only by checking the model again.
    """
    for counts in audit_for(check.prop).counts(check, entries):
        parts, total = counts.parts, counts.total
        wrong = any(isinstance(part, bool) or not part >= 0 or (counts.whole and part != int(part)) for part in parts)
        if not wrong and total is not None:
            came, close = fsum(parts), _SUM * max(1.0, abs(total))
            wrong = came > total + close or (counts.exactly and came < total - close)
        if wrong:
            limit = "" if total is None else f", of {total!r:.40}"
            raise RecordError(f"its statistics contradict each other: {counts.where} counts {list(parts)!r:.60}{limit}")
    sent = [entry["queries"] for key, entry in entries.items() if key.startswith("batch ") and "queries" in entry]
    sent = [0, *sent, entries.get("queries", {"rows": 0})["rows"]]
    if any(isinstance(n, bool) or not isinstance(n, int) for n in sent) or sent != sorted(sent):
        raise RecordError(f"its statistics contradict each other: rows sent to the model so far are {sent!r:.80}")


def attempt(
    check: CheckEvidence, compute: Callable[[], tuple[tuple[ValueDifference, ...], str | None]]
) -> tuple[str, Verdict | None, tuple[ValueDifference, ...], str | None]:
    """Compute, whatever the file holds: a stranger's file may break any of the code that reads it."""
    verdict = None
    try:
        if check.verdict is None:
            return check.name, None, (), None
        verdict = Verdict.from_dict(check.verdict)
        return check.name, verdict, *compute()
    except TimeoutError:
        raise
    except MissingEntryError as error:
        failure = f"its statistics lack {str(error)!r}"
    except IsonomiaError as error:
        failure = str(error)
    except Exception as error:
        failure = f"its statistics cannot be read: {type(error).__name__}: {error}"
    return check.name, verdict, (), failure


def plain_verdict(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON gives it back, without what is not compared."""
    plain: dict[str, Any] = json.loads(json.dumps(verdict))
    return {key: value for key, value in plain.items() if key not in _NOT_COMPARED}


MOST = 100
"""How many properties are traced: an interval may take a tenth of a second, and a history has dozens."""


def interval_histories(evidence: EvidenceFile) -> dict[str, tuple[Point, ...]]:
    """For each property that was sampled, how its first interval narrowed, by the property's name.

    Properties with an exact answer are left out, and those beyond the first hundred. So is one that this version
    computes differently from the one that wrote the record: ``isonomia replay`` reports that, not a chart.
    """
    try:
        stated = rebuilt(evidence).stated
    except IsonomiaError:
        return {}
    pairs = [(each, check) for each, check in zip(stated, evidence.checks, strict=True) if _sampled(check)]
    traces = {check.name: _closing(each, check) for each, check in pairs[:MOST]}
    return {name: points for name, points in traces.items() if points}


def _sampled(check: CheckEvidence) -> bool:
    verdict = check.verdict
    return verdict is not None and verdict["method"] != "exact" and bool(verdict["expressions"])


def _closing(each: StatedProperty, check: CheckEvidence) -> tuple[Point, ...]:
    trace = HistoryObserver()
    assert check.verdict is not None
    try:
        verdict = run_check(stand_in(each, check).check.with_journal(ReadOnlyJournal(check.entries)), trace)
    except (IsonomiaError, MissingEntryError):
        return ()
    recorded = Verdict.from_dict(check.verdict)
    if (verdict.answer, verdict.samples) != (recorded.answer, recorded.samples) or not trace.points:
        return ()
    last = recorded.headline
    assert last is not None, "a check that is sampled compares something"
    return (*trace.points, (recorded.samples, last.low, last.estimate, last.high))


_KINDS = ("sample", "census", "generator", "program")
"""The keys of the audit file that make a population of the kind of the same name."""


def said_otherwise(
    file: AuditFile, stated: Sequence[StatedProperty], checks: Sequence[CheckEvidence]
) -> Iterator[ValueDifference]:
    """Where what checks say about their models and populations contradicts the audit file, or each other.

    The text states the kind of a population, and whether all rows of a census are counted. Properties about the same
    model or population of the file must have the same fingerprint of it.
    """
    populations, seen = file.entries("population", "populations"), dict[tuple[str, str], object]()
    for each, check in zip(stated, checks, strict=True):
        people = _people(each, populations)
        entry = populations.get(people) if people is not None else None
        if entry is not None and "population" in check.entries:
            yield from _other_kind(each.name, entry, check)
        outputs = ", ".join(
            [model_key(each.entry), *sorted({str(output.model) for output in named_outputs(each.prop)})]
        )
        for what, name in (("population", people), ("model", outputs)):
            fingerprint = check.entries.get(what, {}).get("fingerprint")
            if name is None or fingerprint is None:
                continue
            before = seen.setdefault((what, name), fingerprint)
            if before != fingerprint:
                yield ValueDifference(f"{each.name}: fingerprint of the {what} {name}", fingerprint, before)


def _people(each: StatedProperty, populations: dict[str, FileTable]) -> str | None:
    """Which population of the file a property is about; ``None`` where its specification imports one."""
    name = each.entry.get("population")
    imported = audit_for(each.prop).imports(each.prop) if name is None else ()
    return None if any(item in populations for item in imported) else name or DEFAULT


def _other_kind(name: str, entry: FileTable, check: CheckEvidence) -> Iterator[ValueDifference]:
    kind = next((key for key in _KINDS if key in entry.content), None)
    recorded = check.entries["population"].get("kind")
    if kind is not None and recorded != kind:
        yield ValueDifference(f"{name}: kind of the population", recorded, kind)
    if entry.get("exact") is False and check.entries.get("exact", {}).get("exact"):
        yield ValueDifference(f"{name}: whether all rows were counted at once", True, False)


@dataclass(frozen=True, slots=True)
class RebuiltAudit:
    """The audit in an evidence file: the file, its properties, and where the rest of the record contradicts it."""

    file: AuditFile
    stated: tuple[StatedProperty, ...]
    contradictions: tuple[ValueDifference, ...]


def rebuilt(evidence: EvidenceFile) -> RebuiltAudit:
    """Read the audit in an evidence file. The text decides; what is stated twice must agree."""
    audit = evidence.audit
    try:
        file = recorded_audit_file(audit["name"], audit["text"], audit["files"])
        stated = tuple(stated_in(file, evidence.run["seed"], Permissions(), evidence.run.get("seed_chosen", False)))
    except (IsonomiaError, RecursionError) as error:
        raise RecordError(
            f"expected an audit file in the record, but it cannot be read: {visible(str(error))}"
        ) from error
    names, checked = [each.name for each in stated], [each.name for each in evidence.checks]
    if names != checked:
        raise RecordError(
            f"expected a check of each of the {len(names)} properties of the audit file, in their order, but "
            f"{_first_other(names, checked)}"
        )
    return RebuiltAudit(
        file, stated, (*_contradictions(file, evidence), *said_otherwise(file, stated, evidence.checks))
    )


def stand_in(each: StatedProperty, check: CheckEvidence) -> PlannedCheck:
    """A property with the recorded model and population, which can be neither queried nor drawn from."""
    return planned_for(each, recorded_model(check.entries), recorded_population(check.entries))


def _contradictions(file: AuditFile, evidence: EvidenceFile) -> Iterator[ValueDifference]:
    title = file.content.get("title") or file.path.stem
    yield from differences(evidence.run["title"], title, "run.title")


def _first_other(names: list[str], checked: list[str]) -> str:
    for name, other in zip(names, checked, strict=False):
        if name != other:
            return f"{other!r} was checked in place of {name!r}"
    return f"{len(checked)} were checked"


@dataclass(frozen=True, slots=True)
class RerunProperty:
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
) -> Iterator[RerunProperty]:
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
        result = _rerun_one(evidence, check, _with_known(planned, check), observe)
        if expected != recorded and not result.others:
            other = ValueDifference("seed, which was not chosen by hand", recorded, expected)
            result = replace(result, differences=(*result.differences, other))
        yield result


_ADVICE = "allow it with {flags}; or name the model yourself with --model, and the folder of the data with --folder"


def _rerun_one(
    evidence: EvidenceFile, check: CheckEvidence, planned: PlannedCheck, observe: Callable[[PlannedCheck], Observer]
) -> RerunProperty:
    try:
        verdict = run_check(planned.check, observe(planned))
    except IsonomiaError as error:
        return RerunProperty(check.name, None, failure=None if check.verdict is None else str(error))
    if check.verdict is None:
        return RerunProperty(check.name, verdict, failure="it could not be checked then, and can be now")
    # A run that was resumed, or that had a cache or an executor, sent other rows.
    changed = [
        each
        for each in compared(evidence, _without_cache(check), planned, verdict)
        if each.path.partition(".")[0] not in {"queries", "repeated", "spent"}
    ]
    others = tuple(what for what in ("model", "population") if any(_fingerprint(what) == each.path for each in changed))
    rest = tuple(each for each in changed if each.path not in map(_fingerprint, others))
    then, now = (people.get("device", NUMPY) for people in (check.verdict["population"], verdict.population))
    random = planned.check.random_model and planned.check.model is not None and bool(rest)
    if then == now and not random:
        return RerunProperty(check.name, verdict, others, rest)
    known = tuple(each for each in rest if _known_before(each.path))
    contradicted = {check.verdict["answer"], verdict.answer} == {"holds", "violated"}
    answers = (ValueDifference("answer", check.verdict["answer"], verdict.answer),) if contradicted else ()
    return RerunProperty(
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
    """The check without the remark of a cache: a replay has no cache."""
    remark, verdict = check.entries.get(CACHE, {}).get("remark"), check.verdict
    if remark is None or verdict is None:
        return check
    return replace(check, verdict={**verdict, "remarks": [each for each in verdict["remarks"] if each != remark]})


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
    outcome = CounterexampleRecheck(check.name, same, random=random)
    known: Sequence[Mapping[str, Any]] = () if check.verdict is None else check.verdict["counterexamples"]
    if not known:
        return outcome
    outcome = replace(outcome, counterexamples=len(known))
    try:
        prepared = new_check(each.prop, model, recorded_population(check.entries), **each.options)
        result = audit_for(each.prop).recheck(prepared, known, check.entries, permissions)
    except (IsonomiaError, TypeError, ValueError, LookupError, AttributeError) as error:
        return replace(outcome, problem=f"they cannot be checked: {error}")
    return replace(outcome, asked=result.asked, again=result.again, problem=result.problem)


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
    entries, opened = file.entries("model", "models"), {}
    for name, source in sources.items():
        if name not in entries:
            raise UsageError(f"expected --model for a model of the audit, but it has none called {name!r}")
        options = _model_options(entries[name], source, permissions)
        if trusted:
            options["trusted"] = trusted
        features = entries[name].get("features")
        opened[name] = load_model(source, features=features, **options, trust_pickle=permissions.trust_pickle)
    return opened


def _model_options(entry: FileTable, source: str, permissions: Permissions) -> dict[str, Any]:
    """The record's options for reading a model. It must not decide how something is run or called."""
    path = Path(source)
    if not permissions.allow_code and (not path.exists() or kind_of(path) in _RUN):
        return {}
    return {key: value for key, value in entry.get("options", {}).items() if key not in _PERMISSIONS}
