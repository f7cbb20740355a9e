"""What a report is about: verdicts, each with what the audit says of its property."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from isonomia.records.verdict import Verdict
from isonomia.report.notebook import audit_as_html

__all__ = ["Audit", "Entry", "exit_code"]


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
class Audit:
    """A whole audit: its title, its properties in order, the run's name, when it was, and the file that states it."""

    title: str
    entries: tuple[Entry, ...]
    run: str | None = None
    when: str | None = None
    file: str | None = None

    def _repr_html_(self) -> str:
        return audit_as_html(self)


def exit_code(verdicts: Sequence[Verdict]) -> int:
    """0 when every property holds, 1 when one is violated, 3 when none is but one is undecided."""
    answers = {verdict.answer for verdict in verdicts}
    return 1 if "violated" in answers else 3 if "undecided" in answers else 0
