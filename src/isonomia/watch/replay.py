"""Replaying a watch: from the statistics of its evidence, or with everything that it has read.

An evidence file is not trusted: nothing that it names is run, opened or looked up on disk, unless the user requests and
allows it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from time import perf_counter
from typing import Any

from isonomia.audits.audit_file.permissions import check_allowed
from isonomia.audits.audit_file.reader import DEFAULT, AuditFile
from isonomia.audits.protocol import Permissions
from isonomia.audits.replay import ROUNDING, RecomputedProperty, RerunProperty, attempt, plain_verdict
from isonomia.audits.verdicts import recorded_model
from isonomia.errors import IsonomiaError, RecordError, UsageError
from isonomia.models.protocol import Model
from isonomia.records.compare import ValueDifference, differences
from isonomia.records.evidence import EvidenceFile
from isonomia.records.verdict import Verdict
from isonomia.watch.answers import Alert, WatchStatistics, WatchTerms
from isonomia.watch.evidence import contradictions, options_of, statistics_in, watch_part
from isonomia.watch.file import described, outcomes_of, recorded_watch_file, source_of, watch_of
from isonomia.watch.monitor import judged
from isonomia.watch.source import StreamSource
from isonomia.watch.store import ReadSpan, WatchStore
from isonomia.watch.stream import ACKNOWLEDGED, LEFT_OUT, OUTCOMES
from isonomia.watch.watch import Watch
from isonomia.wording import visible

# ------------------------------------------------------------------------------------------------ from statistics alone


EACH = ("sides", "now", "alerts")
"""The parts of the evidence that belong to single properties; the rest is shared by all of them."""


@dataclass(frozen=True, slots=True)
class _Again:
    """The results of replaying a watch: its verdicts, and everything else in the form of the evidence."""

    verdicts: tuple[Verdict, ...]
    part: Mapping[str, Any]

    @classmethod
    def of(cls, terms: WatchTerms, known: WatchStatistics) -> _Again:
        return cls(terms.verdicts(known), watch_part(terms, known))


@dataclass(frozen=True)
class RebuiltWatch:
    """The watch that the watch file in the evidence describes, with its statistics."""

    evidence: EvidenceFile
    file: AuditFile
    terms: WatchTerms

    @property
    def watch(self) -> Mapping[str, Any]:
        """The part of the evidence that only a watch has."""
        assert self.evidence.watch is not None
        return self.evidence.watch

    @cached_property
    def known(self) -> WatchStatistics:
        """The statistics; raises ``RecordError`` if they do not belong to this watch."""
        return statistics_in(self.watch, self.terms)

    @property
    def lost(self) -> str | None:
        """Why nothing can be read again, in words; ``None`` if it can, as long as the source exists."""
        source = self.file.content.get("source")
        if source is None:
            return "the samples of this watch came from Python"
        if "lines" in source and not source.get("again", False):
            return "this watch read standard input, which is not stored"
        return None

    @cached_property
    def again(self) -> _Again:
        """What follows from the statistics."""
        return _Again.of(self.terms, self.known)

    @property
    def alerts(self) -> tuple[Alert, ...]:
        """The alerts that follow from the statistics."""
        return tuple(self.terms.alert(index, crossing) for index, crossing in self.known.crossings)

    @property
    def open_alerts(self) -> tuple[Alert, ...]:
        """Those that were not acknowledged."""
        known = self.known
        return tuple(each for each in self.alerts if known.epoch(each.sample) == len(known.acknowledged))

    @cached_property
    def contradictions(self) -> tuple[object, ...]:
        """Where the record contradicts itself; statistics that cannot be read are reported by every property."""
        run, title = self.evidence.run, self.file.content.get("title") or self.file.path.stem
        recorded = {"title": run["title"], "seed": run["seed"], "source": self.watch["source"]}
        stated = {"title": title, "seed": self.terms.seed, "source": described(self.file, Permissions())}
        problems: list[object] = list(differences(recorded, stated))
        try:
            problems += contradictions(self.watch, self.terms, self.known)
        except Exception:  # a stranger may have written anything; reported property by property
            return tuple(problems)
        return tuple(problems)


def rebuilt_watch(evidence: EvidenceFile) -> RebuiltWatch:
    """Read the watch file in the evidence of a watch. The text decides; what the record repeats must agree with it."""
    audit = evidence.audit
    try:
        file = recorded_watch_file(audit["name"], audit["text"])
        model = recorded_model(evidence.checks[0].entries) if evidence.checks else None
        if model is None and "model" in file.content:
            raise RecordError("the watch file names a model, but its description is missing")
        terms = watch_of(file, Permissions(), model).terms
        described(file, Permissions())
    except (IsonomiaError, RecursionError, LookupError, TypeError, ValueError) as error:
        raise RecordError(
            f"expected a watch file in the record, but it cannot be read: {visible(str(error))}"
        ) from error
    names = [prop.name or str(prop) for prop in terms.properties]
    if names != [check.name for check in evidence.checks] or any(check.verdict is None for check in evidence.checks):
        raise RecordError(f"expected results for {', '.join(names):.200}, the properties of the watch file, in order")
    return RebuiltWatch(evidence, file, terms)


def recomputed_watch(watch: RebuiltWatch) -> Iterator[RecomputedProperty]:
    """Compute every verdict, alert and interval again from the statistics alone."""
    for number, check in enumerate(watch.evidence.checks):
        began = perf_counter()
        result = attempt(check, partial(_recompute, watch, number))
        yield RecomputedProperty(*result, perf_counter() - began)


def _recompute(watch: RebuiltWatch, number: int) -> tuple[tuple[ValueDifference, ...], str | None]:
    check, table = watch.evidence.checks[number], watch.file.properties()[number]
    result = [
        *differences(check.definition, dict(table.content), "definition"),
        *differences(check.options, options_of(watch.terms)[number], "options", ROUNDING),
        *differences(check.entries, watch.evidence.checks[0].entries, "entries"),
        *_differences(watch, number, watch.again),
    ]
    return tuple(result), None


def _differences(watch: RebuiltWatch, number: int, again: _Again) -> Iterator[ValueDifference]:
    """Where the record of one property differs from the replayed results."""
    check = watch.evidence.checks[number]
    assert check.verdict is not None
    yield from differences(check.verdict["version"], watch.evidence.run["versions"].get("isonomia"), "version")
    verdict = again.verdicts[number]
    yield from differences(plain_verdict(check.verdict), plain_verdict(verdict.to_dict()), "", ROUNDING)
    for name in EACH:
        before, after = watch.watch[name], again.part[name]
        if len(before) != len(after):
            yield ValueDifference(f"{name}, how many", len(before), len(after))
        for index, (old, new) in enumerate(zip(before, after, strict=False)):
            if _property(watch.terms, name, index, new) == number:
                recorded = {key: value for key, value in old.items() if key in new}
                yield from differences(recorded, new, f"{name}[{index}]", ROUNDING)


def _property(terms: WatchTerms, name: str, index: int, item: Mapping[str, Any]) -> int:
    """The number of the property that an item of the evidence belongs to."""
    if name == "now":
        return terms.claims[index].number
    side = item["side"] if name == "alerts" else index
    return terms.claims[terms.sides[side][0]].number


# --------------------------------------------------------------------------------------- with everything that was read


@dataclass(frozen=True, slots=True)
class RereadResult:
    """The results of reading everything again: how many rows, where source and counts differ, and each property."""

    rows: int
    differences: tuple[object, ...]
    properties: tuple[RerunProperty, ...]


def reread(watch: RebuiltWatch, folder: Path, permissions: Permissions, models: Mapping[str, Model]) -> RereadResult:
    """Read everything again that the evidence says was read, and compare the results, number by number.

    Parameters
    ----------
    watch
        The evidence; its texts are used, not those on disk.
    folder
        The folder of the data and the model that it names.
    permissions
        What is permitted. No alerts are delivered.
    models
        The model to use instead of the one that it names.

    Raises
    ------
    UsageError
        If nothing can be read again: standard input that the sender does not repeat, and samples from Python.
    """
    evidence = watch.evidence
    file = recorded_watch_file(folder / evidence.audit["name"], evidence.audit["text"])
    if watch.lost is not None:
        raise UsageError(
            f"expected a source to read again, but {watch.lost}: --full cannot do more than replay does without it. "
            "A folder, SQLite and PostgreSQL can be read again, and standard input with again = true, where the sender "
            "begins with the first line each time"
        )
    check_allowed(file, permissions, _ADVICE, given=models, quiet=True)
    fresh = watch_of(file, permissions, models.get(DEFAULT))
    log = [
        ReadSpan(number, entry["brings"], entry["position"], entry["rows"], entry["digest"])
        for number, entry in enumerate(watch.watch["log"])
    ]
    try:
        problems, rows = _read_again(fresh, log, source_of(file, permissions), outcomes_of(file, permissions))
    except (LookupError, TypeError, ValueError) as error:
        raise RecordError(f"expected positions in the source that can be read again, but: {error!r}") from error
    again = _Again.of(fresh.terms, fresh.statistics)
    shared = {name: value for name, value in again.part.items() if name not in EACH}
    counted = differences({name: watch.watch[name] for name in shared}, shared, "", ROUNDING)
    then = evidence.checks[0].entries.get("model", {}).get("fingerprint")
    others = ("model",) if fresh.model_record.get("fingerprint") != then else ()
    properties = tuple(
        RerunProperty(check.name, verdict, others, tuple(_differences(watch, number, again)))
        for number, (check, verdict) in enumerate(zip(evidence.checks, again.verdicts, strict=True))
    )
    return RereadResult(rows, (*problems, *counted), properties)


_ADVICE = "allow it with {flags}; or name the model yourself with --model, and the folder of the data with --folder"


def replayed(
    fresh: Watch, store: WatchStore, source: StreamSource, outcomes: StreamSource | None = None
) -> tuple[list[str], int]:
    """Read everything again that a store says was read, with a fresh watch, and compare.

    Returns the differences, none if state and alerts are the same bit for bit, and how many rows were read.
    """
    expected = store.state()
    if expected is None:
        raise RecordError(f"expected a watch that has counted something at {store.path}, but it has counted nothing")
    problems, rows = _read_again(fresh, store.log(), source, outcomes)
    return [*problems, *_compared(fresh, expected)], rows


def _read_again(
    fresh: Watch, log: Sequence[ReadSpan], source: StreamSource, outcomes: StreamSource | None
) -> tuple[list[str], int]:
    """Let a watch judge everything again; returns where the source differs, and how many rows there were."""
    problems, rows = [], 0
    before: dict[str | None, Mapping[str, Any]] = {}
    for entry in log:
        if entry.brings == LEFT_OUT:
            fresh.leave_out()
            continue
        if entry.brings == ACKNOWLEDGED or entry.position is None:
            fresh.acknowledge()
            continue
        reader = outcomes if outcomes is not None and entry.brings == OUTCOMES else source
        count = 0
        for part in reader.again(before.get(reader.brings), entry.position, entry.rows):
            if entry.digest is not None and part.digest != entry.digest:
                problems.append(f"{part.label} is not the file that was read: its SHA-256 is {part.digest}")
            judged(fresh, part, leave_out=outcomes is None)
            count += part.rows
        before[reader.brings] = entry.position
        rows += count
        if count != entry.rows:
            where = " ".join(
                f"{name} {value}" for name, value in entry.position.items() if name in {"file", "key", "line"}
            )
            problems.append(f"{entry.brings} up to {where}: {entry.rows:,} rows were counted, {count:,} are there")
    return problems, rows


def _compared(fresh: Watch, expected: bytes) -> list[str]:
    """What differs between a watch and a state: first the alerts, then any bit."""
    stored, again = json.loads(expected), json.loads(fresh.state)
    for each in (stored, again):
        each.pop("queries", None)  # a cache answers the second time
    differences = []
    if stored["alerts"] != again["alerts"]:
        differences.append(f"the store has {len(stored['alerts'])} alerts, a second reading gave {again['alerts']}")
    if stored["samples"] != again["samples"]:
        differences.append(f"the store has judged {stored['samples']:,} samples, reading again {again['samples']:,}")
    if stored != again and not differences:
        parts = [name for name in stored if stored[name] != again.get(name)]
        differences.append(f"the state differs in {', '.join(parts)}")
    return differences
