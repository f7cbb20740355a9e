"""How many properties hold, are violated and are undecided, in one sentence."""

from __future__ import annotations

from collections.abc import Iterable

from isonomia.records.verdict import Verdict

__all__ = ["ORDER", "counted"]

ORDER = ("violated", "undecided", "holds")
"""The answers, what needs attention first."""

_ONE = {"violated": "is violated", "undecided": "is undecided", "holds": "holds"}
_MANY = {"violated": "are violated", "undecided": "are undecided", "holds": "hold"}


def counted(verdicts: Iterable[Verdict]) -> str:
    """What came of the properties, such as "4 properties: 1 is violated, 1 is undecided, 2 hold."."""
    answers: list[str] = [verdict.answer for verdict in verdicts]
    told = [
        f"{answers.count(answer):,} {(_ONE if answers.count(answer) == 1 else _MANY)[answer]}"
        for answer in ORDER
        if answer in answers
    ]
    if not told:
        return "No property was checked."
    return f"{len(answers):,} {'property' if len(answers) == 1 else 'properties'}: {', '.join(told)}."
