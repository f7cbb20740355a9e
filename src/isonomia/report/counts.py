"""How many properties hold, are violated, are undecided and could not be checked, in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from isonomia.records.verdict import Verdict

if TYPE_CHECKING:
    from isonomia.report.entries import Failure

__all__ = ["ORDER", "UNFINISHED", "counted", "lacking"]

UNFINISHED = "Unfinished"
"""The kind of a failure that is none: the run was cut off, or still goes on."""

ORDER = ("violated", "undecided", "holds")
"""The answers, what needs attention first."""

_ONE = {"violated": "is violated", "undecided": "is undecided", "holds": "holds"}
_MANY = {"violated": "are violated", "undecided": "are undecided", "holds": "hold"}


_FAILED, _OPEN = "could not be checked", "not checked to the end"


def lacking(failure: Failure) -> str:
    """What is said of a property in the place of an answer."""
    return _OPEN if failure.kind == UNFINISHED else _FAILED


def counted(verdicts: Iterable[Verdict], failures: Sequence[Failure] = ()) -> str:
    """What came of the properties, such as "4 properties: 1 is violated, 1 is undecided, 2 hold."."""
    answers: list[str] = [verdict.answer for verdict in verdicts]
    without = [lacking(failure) for failure in failures]
    told = [f"{without.count(words):,} {words}" for words in (_FAILED, _OPEN) if words in without]
    told += [
        f"{answers.count(answer):,} {(_ONE if answers.count(answer) == 1 else _MANY)[answer]}"
        for answer in ORDER
        if answer in answers
    ]
    number = len(answers) + len(failures)
    if not told:
        return "No property was checked."
    return f"{number:,} {'property' if number == 1 else 'properties'}: {', '.join(told)}."
