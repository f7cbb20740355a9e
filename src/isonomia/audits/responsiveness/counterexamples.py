"""Counterexamples: for people who break the claim, the nearest reachable points with the target prediction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.protocol import Recheck
from isonomia.audits.responsiveness.points import TargetTest, changes_of, joined, pruned, single_changes
from isonomia.audits.responsiveness.setup import ResponsivenessSetup
from isonomia.audits.responsiveness.shares import PointsByPerson
from isonomia.engine.parameters import batch_rng
from isonomia.interventions import Points
from isonomia.interventions.features import encoded
from isonomia.models.checked import ask
from isonomia.models.meter import BudgetSpentError, current_meter
from isonomia.models.protocol import Answer, Model
from isonomia.populations.recorded import table_of_rows
from isonomia.populations.table import plain_value
from isonomia.records.violations import Columns

Indices = NDArray[np.intp]

_PEOPLE, _POINTS = 100, 3
"""For how many people points are kept, and how many points for each."""
FURTHER_DRAWS = 500
"""Draws for each person whose points are not listed; the nearest points are searched among them."""
_TO_PRUNE = 6
"""How many points of a person, those with the fewest changes, are moved back towards their own values."""
_OTHERS = 6
"""How many further points of a person, with any number of changes, are kept for the sake of variety."""
_NEAREST_BATCH = 2**31
"""The batch number whose seed these draws use, far above those of the audit."""


def counterexamples(
    setup: ResponsivenessSetup, who: Indices, counts: PointsByPerson
) -> tuple[list[dict[str, Any]], list[int]]:
    """The nearest points with the target prediction, for the first people who break the claim, the clearest first.

    There are as many people as the budget covers; the last one may have fewer draws.

    Where a person's points are not all looked at, the nearest of some fresh draws are given. For each person, the
    nearest point comes first; a person without a known point with the target has an entry without a point. Where one
    point is enough, people for whom a draw, or a change of one feature, finds a point do not break the claim: they are
    returned apart, and others take their place.
    """
    sets, target, few, one_is_enough = setup.sets, setup.target, setup.few, setup.check.prop.one_is_enough
    rng, cleared = batch_rng(setup.check.seed, _NEAREST_BATCH, 0), list[int]()
    by_shown_person: dict[int, list[dict[str, Any]]] = {}
    for start in range(0, len(who), _PEOPLE):
        shown, draws = _covered(who[start : start + _PEOPLE], setup.reach.counts, few)
        listed, drawn = shown[few[shown]], shown[~few[shown]]
        try:
            by_person = _of_people(sets.points(listed), target, every=True) if len(listed) else {}
            reaching = set[int]()
            if len(drawn):
                points = sets.sample(draws, rng, drawn.tolist())
                by_person |= _of_people(points, target, every=False)
                if one_is_enough:
                    reaching |= {person for person in drawn.tolist() if by_person[person][0]["point"] is not None}
                if one_is_enough and not sets.by_chance:
                    single = single_changes(sets, points, drawn)
                    if len(single) <= current_meter().left:
                        reaching |= set(single.owner[target(single)].tolist())
                by_person |= {person: _with_earlier(by_person[person], person, counts) for person in drawn.tolist()}
        except BudgetSpentError:
            break  # the time is up
        cleared += sorted(reaching)
        by_shown_person |= {person: by_person[person] for person in shown.tolist() if person not in reaching}
        if len(by_shown_person) >= _PEOPLE or len(shown) < len(who[start : start + _PEOPLE]):
            break
    return [item for person in [*by_shown_person][:_PEOPLE] for item in by_shown_person[person]], cleared


def _covered(who: Indices, sizes: NDArray[np.float64], few: NDArray[np.bool_]) -> tuple[Indices, int]:
    """The first people whose points the budget covers, and how many draws each of them has."""
    left = current_meter().left
    if len(who) and not few[who[0]] and 1 <= left < FURTHER_DRAWS:
        return who[:1], int(left)
    return who[np.cumsum(np.where(few[who], sizes[who], FURTHER_DRAWS)) <= left], FURTHER_DRAWS


AT_ONCE = 100_000
"""How many points are looked at together."""


def nearest_points(setup: ResponsivenessSetup, who: Indices) -> dict[int, list[dict[str, Any]]]:
    """The nearest points with the target, for any number of people: those with the fewest changes, then the nearest.

    What is found is moved back towards the person's own values, feature by feature, as long as the point stays in reach
    and has the target. Where points are drawn, changes of one feature and of one block are also tried; ``looked_at``
    counts the draws alone. Of points that change the same numbers in the same direction, and the same categories to the
    same values, only the nearest is kept.
    """
    sets, target, few = setup.sets, setup.target, setup.few
    looked_at = np.where(few, setup.reach.counts, FURTHER_DRAWS)
    parts = []
    for points, drawn in _in_parts(setup, who, 2):
        if len(drawn) and not sets.by_chance:
            points = joined([points, single_changes(sets, points, drawn)])
        parts.append(_fewest(points, target))
    by_person: dict[int, list[dict[str, Any]]] = {}
    best = joined(parts)
    if len(best):
        if not sets.by_chance:  # the effects of an action cannot be taken back
            best = pruned(sets, best, target)
        best = best.take(_first_of_each(best, _POINTS))
    away = _distances(best)
    bases = {
        person: {"person": int(target.rows[person]), "looked_at": int(looked_at[person]), "every": bool(few[person])}
        for person in who.tolist()
    }
    for index, owner in enumerate(best.owner.tolist()):
        changed = {name: list(pair) for name, pair in changes_of(best, target.people, index).items()}
        item = {"distance": float(away[index]), "changed": changed, "point": best.values[index].tolist()}
        by_person.setdefault(owner, []).append({**bases[owner], **item})
    nothing: dict[str, Any] = {"distance": None, "changed": {}, "point": None}
    return {person: by_person.get(person, [{**base, **nothing}]) for person, base in bases.items()}


def _in_parts(setup: ResponsivenessSetup, who: Indices, stream: int) -> Iterator[tuple[Points, Indices]]:
    """The points of people, in parts that fit in memory, and for whom they are drawn: no person if all are listed."""
    sets, few, rng = setup.sets, setup.few, batch_rng(setup.check.seed, _NEAREST_BATCH, stream)
    listed, drawn = who[few[who]], who[~few[who]]
    ends = np.cumsum(setup.reach.counts[listed])
    for part in np.split(listed, np.flatnonzero(np.diff(ends // AT_ONCE)) + 1) if len(listed) else ():
        yield sets.points(part), part[:0]
    each = max(1, AT_ONCE // FURTHER_DRAWS)
    for start in range(0, len(drawn), each):
        some = drawn[start : start + each]
        yield sets.sample(FURTHER_DRAWS, rng, some.tolist()), some


def _fewest(points: Points, target: TargetTest) -> Points:
    """The points with the target that change least, some of each owner, and a few others for variety."""
    hits = points.take(np.flatnonzero(target(points)))
    order = np.argsort(hits.owner, kind="stable")
    owner = hits.owner[order]
    others = order[np.arange(len(owner)) - np.searchsorted(owner, owner) < _OTHERS]
    return hits.take(np.union1d(_first_of_each(hits, _TO_PRUNE), others))


def _first_of_each(points: Points, max_n: int) -> Indices:
    """At most ``max_n`` points of each owner: the fewest changes first, then the nearest; one for each direction."""
    if not len(points):
        return np.zeros(0, dtype=np.intp)
    own = _own(points)
    measured = np.asarray([feature.kind in ("integer", "real") for feature in points.features])
    ways = np.where(measured, np.sign(points.values - own), points.values)
    number = (points.values != own).sum(axis=1)
    order = np.lexsort((_distances(points).round(9), number, points.owner))
    mark = ways @ np.random.default_rng(0).random(ways.shape[1])  # one number per direction: rows are slow to compare
    _, first = np.unique((points.owner + 1j * mark)[order], return_index=True)
    order = order[np.sort(first)]
    owner = points.owner[order]
    rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
    return np.asarray(order[rank < max_n])


def deciding_points(setup: ResponsivenessSetup, who: Indices) -> Iterator[Columns]:
    """The points that decide about people, as columns.

    A claim that at most a share of the points has the target is broken by those that have it; a claim of at least a
    share, by all that were looked at. For people whose points are not listed, some fresh draws are looked at.
    """
    for points, drawn in _in_parts(setup, who, 1):
        if len(drawn):
            rows = np.column_stack([points.owner, points.values])
            points = points.take(np.sort(np.unique(rows, axis=0, return_index=True)[1]))
        yield from _as_columns(points, setup.target, setup.check.prop.at_least is not None)


def _as_columns(points: Points, target: TargetTest, all_of_them: bool) -> Iterator[Columns]:
    hits, answer = target.answers(points)
    chosen = np.arange(len(points)) if all_of_them else np.flatnonzero(hits)
    if not len(chosen):
        return
    some = points.take(chosen)
    names = [feature.name for feature in points.features]
    values = some.columns(names)
    columns: dict[tuple[str, ...], NDArray[Any]] = {
        ("person",): target.rows[some.owner],
        ("target",): hits[chosen],
        ("distance",): _distances(some),
    }
    if answer.prediction is not None:
        columns["prediction",] = answer.prediction[chosen]
    if answer.score is not None and answer.score.ndim == 1:
        columns["score",] = answer.score[chosen]
    for name in names:
        columns["from", name] = target.people.column(name)[some.owner]
        columns["to", name] = values.column(name)
    yield columns


def _with_earlier(items: list[dict[str, Any]], person: int, counts: PointsByPerson) -> list[dict[str, Any]]:
    """Where no draw ever reached the target, report all draws, not only those of the search for points."""
    if items[0]["reaching"] or counts.successes[person] or counts.exact[person]:
        return items
    return [{**item, "looked_at": item["looked_at"] + int(counts.n[person])} for item in items]


def _of_people(points: Points, target: TargetTest, every: bool) -> dict[int, list[dict[str, Any]]]:
    """The nearest points of each owner; the points of an owner lie together."""
    hits, answer = target.answers(points)
    away = _distances(points)
    owners, first, count = np.unique(points.owner, return_index=True, return_counts=True)
    return {
        owner: _of_person(points, target, np.arange(start, start + size), hits, away, answer, every)
        for owner, start, size in zip(owners.tolist(), first.tolist(), count.tolist(), strict=True)
    }


def _of_person(
    points: Points,
    target: TargetTest,
    mine: Indices,
    hits: NDArray[np.bool_],
    away: NDArray[np.float64],
    answer: Answer,
    every: bool,
) -> list[dict[str, Any]]:
    """The nearest points of one person with the target prediction, each once."""
    row = int(target.rows[points.owner[mine[0]]])
    reaching = mine[hits[mine]]
    base = {"person": row, "looked_at": len(mine), "every": every, "reaching": len(reaching)}
    if not len(reaching):
        now = {
            feature.name: plain_value(target.people.column(feature.name)[points.owner[mine[0]]])
            for feature in points.features
        }
        return [{**base, "distance": None, "changed": {}, "point": None, "now": now}]
    doubtful = [j for j, feature in enumerate(points.features) if not feature.sensible]
    own = _own(points.take(reaching))
    odd = (points.values[reaching][:, doubtful] != own[:, doubtful]).any(axis=1)
    nearest = reaching[np.lexsort((away[reaching], odd))]
    sensible = dict(zip(reaching.tolist(), (~odd).tolist(), strict=True))
    _, first = np.unique(points.values[nearest], axis=0, return_index=True)
    return [
        {
            **base,
            "distance": float(away[index]),
            "changed": {name: list(pair) for name, pair in changes_of(points, target.people, index).items()},
            **_answer(answer, index),
            **({} if sensible[index] else {"sensible": False}),
            "point": points.take(np.asarray([index])).columns().row(0),
        }
        for index in nearest[np.sort(first)][:_POINTS].tolist()
    ]


def _answer(answer: Answer, index: int) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if answer.prediction is not None:
        values["prediction"] = plain_value(answer.prediction[index])
    if answer.score is not None:
        values["score"] = answer.score[index].tolist()
    return values


def _distances(points: Points) -> NDArray[np.float64]:
    """How far each point is from its person: the sum of changes as shares of each feature's range; 1 for a category."""
    start = _own(points)
    away = np.zeros(len(points))
    for j, feature in enumerate(points.features):
        change = np.abs(points.values[:, j] - start[:, j])
        if feature.kind == "categorical":
            away += change > 0
        elif feature.low is not None and feature.high is not None and feature.high > feature.low:
            away += change / (feature.high - feature.low)
        else:
            away += change / np.maximum(np.abs(start[:, j]), 1.0)
    return away


def _own(points: Points) -> NDArray[np.float64]:
    """The own values of each point's person."""
    owners, owner = np.unique(points.owner, return_inverse=True)
    return np.asarray(encoded(points.features, points.people.take(owners))[owner.reshape(-1)])


def recheck(model: Model, counterexamples: Sequence[Mapping[str, Any]]) -> Recheck:
    """Query a model about the points that decided a record: it must answer as it did."""
    points = [item for item in counterexamples if item.get("point") is not None]
    silent = len(counterexamples) - len(points)
    problem = f"{silent} say that a person reaches nothing, which no single answer can show: use --full"
    if not points:
        return Recheck(problem=problem)
    scored, decided = any("score" in item for item in points), any("prediction" in item for item in points)
    answer = ask(model, table_of_rows([item["point"] for item in points]), scored, decided)
    again = sum(_answers_alike(item, answer, index) for index, item in enumerate(points))
    return Recheck(len(points), again, problem if silent else None)


def _answers_alike(item: Mapping[str, Any], answer: Answer, index: int) -> bool:
    decided, scored = answer.prediction, answer.score
    if "prediction" in item and (decided is None or plain_value(decided[index]) != item["prediction"]):
        return False
    if "score" not in item:
        return True
    return scored is not None and bool(np.allclose(scored[index], item["score"], rtol=1e-6, atol=1e-9))
