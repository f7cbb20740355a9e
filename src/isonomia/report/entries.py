"""What a report is about: verdicts, each with what the audit says of its property."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from isonomia.records.verdict import Verdict
from isonomia.report.counts import UNFINISHED
from isonomia.report.notebook import audit_as_html

__all__ = ["UNFINISHED", "Audit", "Entry", "Failure", "audit_exit_code", "exit_code"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One property of an audit.

    Attributes
    ----------
    name
        What it is called.
    verdict
        What came of it.
    why
        Why it must hold, where the audit says so.
    line
        Its line in the audit file, from 1; ``None`` where there is no file.
    explanation
        What is claimed, in plain English, where whoever stated the property said so.
    history
        How the interval of the first compared quantity closed in: samples, lowest, estimate and highest value, in the
        order of the samples; empty where it was not kept.
    """

    name: str
    verdict: Verdict
    why: str | None = None
    line: int | None = None
    explanation: str | None = None
    history: tuple[tuple[int, float, float | None, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """A property that could not be checked, so that nothing is known of it.

    Attributes
    ----------
    name
        What it is called.
    kind
        The kind of error, such as ``ModelError``; ``UNFINISHED`` where there was none, but no end either.
    message
        What it says: what was expected, what came, and what to do.
    why, line
        As of an :class:`Entry`.
    """

    name: str
    kind: str
    message: str
    why: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Audit:
    """A whole audit: its title, its properties in order, the run's name, when it was, and the file that states it.

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
        return audit_as_html(self)


def exit_code(verdicts: Sequence[Verdict], failures: int = 0) -> int:
    """The exit code that says the worst.

    2 when one of the properties could not be checked, 1 when none is so but one is violated, 3 when none is that either
    but one is undecided, and 0 when every property holds. An error comes first: as long as there is one, nobody knows
    all that is wrong.
    """
    answers = {verdict.answer for verdict in verdicts}
    return 2 if failures else 1 if "violated" in answers else 3 if "undecided" in answers else 0


def audit_exit_code(audit: Audit) -> int:
    """The exit code of a whole audit; a property that was not come to is as good as undecided."""
    failed = [failure for failure in audit.failures if failure.kind != UNFINISHED]
    code = exit_code([entry.verdict for entry in audit.entries], len(failed))
    return 3 if code == 0 and audit.failures else code
