"""What a report is about: the verdicts of an audit, each with what the audit says of its property.

Also the exit code, how many properties have which answer, and the audit as a notebook shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from isonomia.errors import RecordError
from isonomia.records.display.html import COLOURS, as_html, badge, gauge_picture, safe
from isonomia.records.display.view import telling, view_of
from isonomia.records.store import resume_command
from isonomia.records.verdict import Verdict
from isonomia.wording import plural

if TYPE_CHECKING:
    from isonomia.records.store import CheckRecord, RunRecord, Store
    from isonomia.records.violations import ViolationSet

UNFINISHED = "Unfinished"
"""The kind of a failure that is not an error: the run was cut off, or still continues."""

ORDER = ("violated", "undecided", "holds")
"""The answers, those that need attention first."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One property of an audit.

    Attributes
    ----------
    name
        What it is called.
    verdict
        The result.
    why
        Why it must hold, where the audit says so.
    line
        Its line in the audit file, from 1; ``None`` where there is no file.
    explanation
        What is claimed, in plain English, where the audit says so.
    history
        How the interval of the first compared quantity narrowed: samples, lowest value, estimate and highest value, by
        number of samples; empty where it was not kept.
    """

    name: str
    verdict: Verdict
    why: str | None = None
    line: int | None = None
    explanation: str | None = None
    history: tuple[tuple[int, float, float | None, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """A property that could not be checked, so that nothing is known about it.

    Attributes
    ----------
    name
        What it is called.
    kind
        The kind of error, such as ``ModelError``; ``UNFINISHED`` where the check did not end, without an error.
    message
        What it says: what was expected, what was given, and what to do.
    why, line
        As for an :class:`Entry`.
    """

    name: str
    kind: str
    message: str
    why: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class AuditReport:
    """A whole audit: its title, its properties in order, the run's name and time, and the file that states it.

    ``failures`` are the properties that could not be checked; all others are ``entries``. ``records`` is the folder in
    which the run is kept.
    """

    title: str
    entries: tuple[Entry, ...]
    run: str | None = None
    when: str | None = None
    file: str | None = None
    failures: tuple[Failure, ...] = ()
    records: str | None = None

    def _repr_html_(self) -> str:
        return _as_html(self)


# ------------------------------------------------------------------------------------------------------ a recorded run


def audit_of(store: Store, name: str, known: Mapping[int, Verdict] | None = None) -> AuditReport:
    """What is kept of a run, as a report needs it.

    Properties that could not be checked are its failures; so are those that have not been checked to the end. ``known``
    has verdicts by the numbers of their checks: they are not read again, and the store has none of interrupted checks.
    """
    run = store.run(name)
    entries: list[Entry] = []
    failures: list[Failure] = []
    for check in store.checks(run.id, known):
        verdict, why, line = check.verdict, check.definition.get("why"), check.options.get("line")
        if verdict is not None:
            entries.append(Entry(check.name, verdict, why, line, check.options.get("explanation")))
        else:
            failures.append(Failure(check.name, *_problem(store, run, check), why, line))
    file, folder = run.request.get("file"), str(store.folder)
    return AuditReport(run.title, tuple(entries), run.id, run.begun, file, tuple(failures), folder)


def all_violations(
    store: Store, name: str, known: Mapping[int, Verdict] | None = None
) -> list[tuple[str, ViolationSet]]:
    """Every violation of a run, by the names of the properties that can have some.

    ``known`` has verdicts by the numbers of their checks, which are at hand with what was found.
    """
    by_name = []
    for check in store.checks(store.run(name).id):
        verdict = (known or {}).get(check.number, check.verdict)
        if verdict is None or verdict.counted not in {"cases", "points"}:
            continue
        violations = verdict.kept if verdict.kept is not None else store.violations(check.run, check.number)
        by_name.append((check.name, verdict.violations() if violations is None else violations))
    return by_name


def _problem(store: Store, run: RunRecord, check: CheckRecord) -> tuple[str, str]:
    """Why a check has no verdict: the kind, and the message."""
    if check.error is not None:
        return check.error["kind"], check.error["message"]
    command = resume_command(run.request, store.folder)
    return UNFINISHED, f"it was not checked completely: {command} continues it"


def with_histories(store: Store, audit: AuditReport) -> AuditReport:
    """The same with how each interval narrowed, computed from what was kept; none where the run is not complete."""
    from isonomia.audits.replay import interval_histories
    from isonomia.records.evidence import evidence_of

    try:
        histories = interval_histories(evidence_of(store, audit.run or "latest"))
    except RecordError:
        return audit
    entries = tuple(replace(entry, history=histories.get(entry.name, ())) for entry in audit.entries)
    return replace(audit, entries=entries)


def exit_code(verdicts: Sequence[Verdict], failures: int = 0) -> int:
    """The exit code of the worst result.

    2 if a property could not be checked, else 1 if one is violated, else 3 if one is undecided, and 0 if every property
    holds. An error comes first: with one, the result is incomplete.
    """
    answers = {verdict.answer for verdict in verdicts}
    return 2 if failures else 1 if "violated" in answers else 3 if "undecided" in answers else 0


def audit_exit_code(audit: AuditReport) -> int:
    """The exit code of a whole audit; a property that was not reached counts as undecided."""
    failed = [failure for failure in audit.failures if failure.kind != UNFINISHED]
    code = exit_code([entry.verdict for entry in audit.entries], len(failed))
    return 3 if code == 0 and audit.failures else code


# ----------------------------------------------------------------------------------------------------- in one sentence

_ONE = {"violated": "is violated", "undecided": "is undecided", "holds": "holds"}
_MANY = {"violated": "are violated", "undecided": "are undecided", "holds": "hold"}
FAILED, _OPEN = "could not be checked", "not checked to the end"


def missing_answer(failure: Failure) -> str:
    """What is said of a property that has no answer."""
    return _OPEN if failure.kind == UNFINISHED else FAILED


def summary_sentence(verdicts: Iterable[Verdict], failures: Sequence[Failure] = ()) -> str:
    """The results of the properties, such as "4 properties: 1 is violated, 1 is undecided, 2 hold."."""
    answers: list[str] = [verdict.answer for verdict in verdicts]
    without = [missing_answer(failure) for failure in failures]
    parts = [f"{without.count(words):,} {words}" for words in (FAILED, _OPEN) if words in without]
    parts += [
        f"{answers.count(answer):,} {(_ONE if answers.count(answer) == 1 else _MANY)[answer]}"
        for answer in ORDER
        if answer in answers
    ]
    number = len(answers) + len(failures)
    if not parts:
        return "No property was checked."
    return f"{plural(number, 'property', 'properties')}: {', '.join(parts)}."


# ------------------------------------------------------------------------------------------------------- for a notebook

MAX_SHOWN = 50
"""How many verdicts, and how many failures, are shown; the others are counted."""


def _as_html(audit: AuditReport) -> str:
    """The audit for a notebook, on a light or dark background; every text from outside is escaped and cut."""
    lines = "".join(map(_failed, audit.failures[:MAX_SHOWN])) + "".join(map(_opening, audit.entries[:MAX_SHOWN]))
    more = sum(max(len(items) - MAX_SHOWN, 0) for items in (audit.failures, audit.entries))
    rest = f"<p>and {more:,} more properties; the HTML report shows them all</p>" if more > 0 else ""
    summary = summary_sentence((entry.verdict for entry in audit.entries), audit.failures)
    return (
        "<div style='max-width:64em;line-height:1.45'>"
        f"<p style='margin:.2em 0'><strong>{safe(audit.title, 200)}</strong></p>"
        f"<p style='margin:.2em 0'>{summary}</p>{lines}{rest}</div>"
    )


def _opening(entry: Entry) -> str:
    verdict = entry.verdict
    item = telling(verdict)
    picture = "" if item is None else f"{gauge_picture(item, COLOURS[verdict.answer])} "
    view = view_of(verdict)
    explanation = entry.explanation if view.explanation_first else None
    return (
        f"{_LINE}{badge(verdict.answer)} <strong>{safe(entry.name, 120)}</strong> "
        f"<span>{picture}{safe(view.finding(verdict, False), 200)}</span></summary>"
        f"<div style='margin:.3em 0 .8em 1.1em'>{as_html(verdict, explanation, entry.why)}</div></details>"
    )


def _failed(failure: Failure) -> str:
    """A property about which nothing is known, and why."""
    return (
        f"{_LINE}{badge('no answer')} <strong>{safe(failure.name, 120)}</strong> "
        f"<span>{missing_answer(failure)}</span></summary>"
        f"<pre style='margin:.3em 0 .8em 1.1em;white-space:pre-wrap;background:none;color:inherit'>"
        f"{safe(failure.message, 2_000)}</pre></details>"
    )


_LINE = "<details style='margin:.3em 0'><summary style='cursor:pointer'>"
