"""What the name of a column gives away: who people are, what has happened to them, what only time changes.

Guesses for a first draft, which a person reads and corrects. They err on the side of leaving a feature alone: to audit
with a change that nobody can make is worse than to audit without one that somebody could.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Hint", "hint_of", "is_identifier", "likely_outcome", "words_of"]


@dataclass(frozen=True, slots=True)
class Hint:
    """What a name suggests.

    Attributes
    ----------
    actionable
        Whether people can change it by an action of their own.
    rises
        Whether it can only rise.
    why
        The reason, as a sentence.
    """

    actionable: bool
    rises: bool
    why: str


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_PROTECTED = _listed(
    "sex gender male female man woman race racial ethnic ethnicity caste religion nationality national native country "
    "citizen citizenship foreign foreigner immigrant immigration origin birthplace born birth disability disabled "
    "handicap orientation skin indigenous hispanic black white asian"
)
_FAMILY = _listed(
    "marital martial married single divorced widowed spouse husband wife relationship children child kids dependent "
    "dependents dependants liable pregnant pregnancy maternity family famsize"
)
_PAST = _listed(
    "history historic prior priors previous past juv juvenile felony felonies misd misdemeanor misdemeanors conviction "
    "convictions convicted arrest arrests arrested offense offence offenses charge charges crime crimes jail prison "
    "custody delinquency delinquencies delinquent late delay delayed delays defaulted bankrupt bankruptcy bankruptcies "
    "recid recidivism failures was were had paid refunded"
)
_ANSWERS = _listed("score scores decile prediction predicted predictions probability propensity percentile")
_THINGS = _listed("account company firm vehicle car house home building property loan file customer machine")
_TIME = _listed("years yrs tenure seniority experience since")
_LEARNING = _listed("education educational schooling degree degrees qualification qualifications edu")
_PURPOSES = _listed("for purpose loan required")
_WEIGHTS = _listed("fnlwgt wgt")
_IDENTIFIERS = _listed("id ids uuid guid identifier index unnamed ssn email name firstname lastname surname")

_SURE_OUTCOMES = _listed("target label outcome")
_OUTCOMES = _listed(
    "y class response good bad default defaults risk recid recidivism income human bot fraud fraudulent churn churned "
    "approved approval accepted granted hired admitted passed survived readmitted decision result event repaid paid"
)


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name in lower case: ``YearsAtResidence``, ``years-at_residence`` and ``years.at`` alike."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return tuple(word.lower() for word in re.split(r"[^A-Za-z0-9]+", spaced) if word)


def hint_of(name: str) -> Hint | None:
    """What a name suggests; ``None`` where it says nothing."""
    words = set(words_of(name))
    if "age" in words and not words & _THINGS:
        return Hint(False, True, "Nobody changes their age by an action; should waiting count, let it be actionable.")
    if words & _PROTECTED:
        return Hint(False, False, "Its name is that of a protected attribute.")
    if words & _FAMILY:
        return Hint(False, False, "It is about a person's family, which is no lever to ask people to pull.")
    if words & _PAST:
        return Hint(False, True, "What has happened cannot be undone.")
    if words & _ANSWERS:
        return Hint(False, False, "Its name is that of an answer of a model, not of something that people do.")
    if words & _WEIGHTS:
        return Hint(False, False, "Its name is that of a weight of a survey.")
    if words & _TIME or "age" in words:
        return Hint(True, True, "Its name counts time, so it only rises.")
    if words & _LEARNING and not words & _PURPOSES:
        return Hint(True, True, "What was learnt stays, so it only rises.")
    return None


def is_identifier(name: str) -> bool:
    """Whether a name is that of a column which tells people apart."""
    return bool(set(words_of(name)) & _IDENTIFIERS)


def likely_outcome(names: Sequence[str]) -> str | None:
    """The column that looks like what is predicted; ``None`` where none does.

    It is one whose whole name says so, wherever it stands, or the last or first column with a word that often does.
    """
    sure = [name for name in names if len(words_of(name)) == 1 and words_of(name)[0] in _SURE_OUTCOMES]
    ends = [name for name in (*names[-1:], *names[:1]) if set(words_of(name)) & (_OUTCOMES | _SURE_OUTCOMES)]
    return next(iter([*sure, *ends]), None)
