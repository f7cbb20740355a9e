"""Hints for a first draft: what the name of a column gives away, and dummies that encode one feature together.

A person reads and corrects the draft. Guesses err on the side of leaving a feature alone: to audit with a change that
nobody can make is worse than to audit without one that somebody could.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from isonomia.interventions.constraints import Constraint, OneHot, Reachability, Thermometer

__all__ = [
    "encodings_of",
    "hint_of",
    "is_identifier",
    "likely_outcome",
    "limits_from_above",
    "twins_of",
    "words_of",
]


@dataclass(frozen=True, slots=True)
class Hint:
    """What a name suggests: whether people can change it by an action, whether it can only rise, and why, in words."""

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


Columns = Mapping[str, NDArray[np.float64]]

_COMPARED = re.compile(r"(.+?)(_is_|_geq_|_ge_|_gt_|_leq_|_le_|_lt_|_bt_|_exists|>=|<=|==|=|≥|≤)")
_BELOW = re.compile(r"_leq_|_le_|_lt_|<=|≤")
_ABOVE = re.compile(r"_geq_|_ge_|_gt_|_exists|>=|≥")
_VAGUE = frozenset({"has", "is", "no", "num", "n", "count", "flag"})
"""First words that dummies of different features share."""
_ENOUGH = 10.0
"""A dummy that chance alone would have turned on so often together with others, and never was, excludes them."""
_TWINS = 20
"""Up to how many values two columns are looked at for always going together."""
_OFTEN = 5


def encodings_of(dummies: Columns) -> Iterator[tuple[Constraint, str]]:
    """One-hot and thermometer encodings, each with what speaks for it."""
    taken: set[str] = set()
    for members in (*_by_comparison(dummies), *_by_last_word(dummies)):
        for encoding, why in _of_family([name for name in members if name not in taken], dummies):
            taken.update(encoding.names)
            yield encoding, why
    rest = {name: column for name, column in dummies.items() if name not in taken}
    for members in _by_first_words(list(rest), rest, 1):
        yield _one_hot(members, dummies), "No two of them are ever on together, and by chance some would be."


def limits_from_above(name: str) -> bool:
    """Whether a dummy, by its name, is on up to a limit: ``duration_leq_6``."""
    return bool(_BELOW.search(name))


def twins_of(columns: Mapping[str, Sequence[object]]) -> Iterator[tuple[Reachability, str]]:
    """Columns of which each value of one always comes with the same value of the other."""
    alike: dict[tuple[int, ...], list[str]] = {}
    for name, values in columns.items():
        numbers: dict[object, int] = {}
        codes = tuple(numbers.setdefault(value, len(numbers)) for value in values)
        counts = np.bincount(codes, minlength=1)
        if 2 <= len(numbers) <= _TWINS and np.sort(counts)[-2] >= _OFTEN:
            alike.setdefault(codes, []).append(name)
    for names in alike.values():
        if len(names) > 1:
            pairs = tuple(dict.fromkeys(zip(*(columns[name] for name in names), strict=True)))
            every = tuple((1,) * len(pairs) for _ in pairs)
            yield Reachability(tuple(names), _sorted(pairs), every), "Each value of one always comes with the same one."


def _sorted(pairs: tuple[tuple[object, ...], ...]) -> tuple[tuple[object, ...], ...]:
    """In the order of a column of numbers where there is one, else of the first."""
    numeric = next((j for j in range(len(pairs[0])) if not isinstance(pairs[0][j], str)), 0)
    return tuple(sorted(pairs, key=lambda pair: pair[numeric]))  # type: ignore[arg-type,return-value]


def _by_comparison(dummies: Columns) -> Iterator[list[str]]:
    """Families by the part of the name before a comparison: ``job_is_clerk``, ``savings >= 100``."""
    families: dict[str, list[str]] = {}
    for name in dummies:
        comparison = _COMPARED.match(name)
        if comparison:
            families.setdefault(comparison[1].strip(), []).append(name)
    yield from families.values()


def _by_last_word(dummies: Columns) -> Iterator[list[str]]:
    """Families by the part of the name before its last underscore: ``job_A171``."""
    families: dict[str, list[str]] = {}
    for name in dummies:
        stem = name.rpartition("_")[0]
        if stem and stem.lower() not in _VAGUE and not _COMPARED.match(name):
            families.setdefault(stem, []).append(name)
    yield from families.values()


def _by_first_words(names: list[str], dummies: Columns, depth: int) -> Iterator[list[str]]:
    """The largest sets with the same first words of which no two are ever on together, beyond chance."""
    families: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        if len(words_of(name)) > depth:
            families.setdefault(words_of(name)[:depth], []).append(name)
    for stem, members in families.items():
        if len(members) < 2:
            continue
        if stem[-1] not in _VAGUE and _beyond_chance(members, dummies):
            yield members
        else:
            yield from _by_first_words(members, dummies, depth + 1)


def _beyond_chance(members: Sequence[str], dummies: Columns) -> bool:
    columns = np.column_stack([dummies[name] for name in members])
    if not np.isfinite(columns).all() or (columns.sum(1) > 1).any():
        return False
    rates = columns.mean(0)
    return bool((len(columns) * rates * (rates.sum() - rates) >= _ENOUGH).all())


def _of_family(members: Sequence[str], dummies: Columns) -> Iterator[tuple[Constraint, str]]:
    """One-hot where no two are ever on together; thermometers where each implies the one before it."""
    if len(members) < 2:
        return
    columns = np.column_stack([dummies[name] for name in members])
    if not np.isfinite(columns).all() or not 0.0 < columns.mean() < 1.0:
        return
    if (columns.sum(1) <= 1.0).all():
        yield _one_hot(members, dummies), "Their names begin alike, and no two of them are ever on together."
        return
    below, above = ([name for name in members if side.search(name)] for side in (_BELOW, _ABOVE))
    whole = _ladder(members, dummies)
    ladders = [whole] if whole else [_ladder(below, dummies), _ladder(above, dummies)]
    for rungs in filter(None, ladders):
        yield Thermometer(tuple(rungs)), "Their names begin alike, and each is on only where the one before it is."
    if below and above and len(ladders) > 1:
        widest = [max(side, key=lambda name: float(dummies[name].mean())) for side in (below, above)]
        if not (dummies[widest[0]] * dummies[widest[1]]).any():
            yield _one_hot(widest, dummies), "One is a limit from above and one from below; they are never on together."


def _ladder(members: Sequence[str], dummies: Columns) -> list[str]:
    """The dummies from the one that is on most often, if each implies the one before it; else nothing."""
    ordered = sorted(members, key=lambda name: -float(dummies[name].mean()))
    climbs = all((dummies[low] >= dummies[high]).all() for low, high in pairwise(ordered))
    return ordered if climbs and len(ordered) > 1 else []


def _one_hot(members: Sequence[str], dummies: Columns) -> OneHot:
    total = np.sum([dummies[name] for name in members], axis=0)
    return OneHot(tuple(members), 1, "==" if (total == 1.0).all() else "<=")
