"""How many properties hold, are violated, are undecided and could not be checked, in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from isonomia.records.verdict import Verdict

if TYPE_CHECKING:
    from isonomia.report.entries import Failure

__all__ = ["ORDER", "UNFINISHED", "counted"]

UNFINISHED = "Unfinished"
"""The kind of a failure that is none: the run was cut off, or still goes on."""

ORDER = ("violated", "undecided", "holds")
"""The answers, what needs attention first."""

_ONE = {"violated": "is violated", "undecided": "is undecided", "holds": "holds"}
_MANY = {"violated": "are violated", "undecided": "are undecided", "holds": "hold"}


def counted(verdicts: Iterable[Verdict], failures: Sequence[Failure] = ()) -> str:
    """What came of the properties, such as "4 properties: 1 is violated, 1 is undecided, 2 hold."."""
    answers: list[str] = [verdict.answer for verdict in verdicts]
    unfinished = sum(failure.kind == UNFINISHED for failure in failures)
    without = ((len(failures) - unfinished, "could not be checked"), (unfinished, "not checked to the end"))
    told = [f"{count:,} {words}" for count, words in without if count]
    told += [
        f"{answers.count(answer):,} {(_ONE if answers.count(answer) == 1 else _MANY)[answer]}"
        for answer in ORDER
        if answer in answers
    ]
    number = len(answers) + len(failures)
    if not told:
        return "No property was checked."
    return f"{number:,} {'property' if number == 1 else 'properties'}: {', '.join(told)}."
