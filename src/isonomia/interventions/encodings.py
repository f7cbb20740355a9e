"""Dummies that together encode one feature, and columns that always go together, found by their names and values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.interventions.constraints import Constraint, OneHot, Reachability, Thermometer
from isonomia.populations.vocabulary import words_in

Dummies: TypeAlias = Mapping[str, NDArray[np.float64]]

_COMPARED = re.compile(r"(.+?)(_is_|_geq_|_ge_|_gt_|_leq_|_le_|_lt_|_bt_|_exists|>=|<=|==|=|≥|≤)")
_BELOW = re.compile(r"_leq_|_le_|_lt_|<=|≤")
_ABOVE = re.compile(r"_geq_|_ge_|_gt_|_exists|>=|≥")
_VAGUE = frozenset({"has", "is", "no", "num", "n", "count", "flag"})
"""First words that dummies of different features share."""
_ENOUGH = 10.0
"""A dummy that is never on together with others, though by chance this is expected so often, excludes them."""
_TWINS = 20
"""The most values of columns that are compared for always going together."""
_OFTEN = 5


def encodings_of(dummies: Dummies) -> Iterator[tuple[Constraint, str]]:
    """One-hot and thermometer encodings, each with the reason for it."""
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
    """Columns that go together: each value of one always comes with the same value of the other."""
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
    """Sorted by a column of numbers where there is one, else by the first."""
    numeric = next((j for j in range(len(pairs[0])) if not isinstance(pairs[0][j], str)), 0)
    return tuple(sorted(pairs, key=lambda pair: pair[numeric]))  # type: ignore[arg-type,return-value]


def _by_comparison(dummies: Dummies) -> Iterator[list[str]]:
    """Families by the part of the name before a comparison: ``job_is_clerk``, ``savings >= 100``."""
    families: dict[str, list[str]] = {}
    for name in dummies:
        comparison = _COMPARED.match(name)
        if comparison:
            families.setdefault(comparison[1].strip(), []).append(name)
    yield from families.values()


def _by_last_word(dummies: Dummies) -> Iterator[list[str]]:
    """Families by the part of the name before its last underscore: ``job_A171``."""
    families: dict[str, list[str]] = {}
    for name in dummies:
        stem = name.rpartition("_")[0]
        if stem and stem.lower() not in _VAGUE and not _COMPARED.match(name):
            families.setdefault(stem, []).append(name)
    yield from families.values()


def _by_first_words(names: list[str], dummies: Dummies, depth: int) -> Iterator[list[str]]:
    """The largest sets with the same first words in which no two are ever on together, beyond chance."""
    families: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        if len(words_in(name)) > depth:
            families.setdefault(words_in(name)[:depth], []).append(name)
    for stem, members in families.items():
        if len(members) < 2:
            continue
        if stem[-1] not in _VAGUE and _beyond_chance(members, dummies):
            yield members
        else:
            yield from _by_first_words(members, dummies, depth + 1)


def _beyond_chance(members: Sequence[str], dummies: Dummies) -> bool:
    columns = np.column_stack([dummies[name] for name in members])
    if not np.isfinite(columns).all() or (columns.sum(1) > 1).any():
        return False
    rates = columns.mean(0)
    return bool((len(columns) * rates * (rates.sum() - rates) >= _ENOUGH).all())


def _of_family(members: Sequence[str], dummies: Dummies) -> Iterator[tuple[Constraint, str]]:
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


def _ladder(members: Sequence[str], dummies: Dummies) -> list[str]:
    """The dummies from the one that is on most often, if each implies the one before it; else nothing."""
    ordered = sorted(members, key=lambda name: -float(dummies[name].mean()))
    climbs = all((dummies[low] >= dummies[high]).all() for low, high in pairwise(ordered))
    return ordered if climbs and len(ordered) > 1 else []


def _one_hot(members: Sequence[str], dummies: Dummies) -> OneHot:
    total = np.sum([dummies[name] for name in members], axis=0)
    return OneHot(tuple(members), 1, "==" if (total == 1.0).all() else "<=")
