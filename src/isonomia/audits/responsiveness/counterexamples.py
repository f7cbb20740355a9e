"""Counterexamples: for people who break the claim, the nearest points with the target prediction in reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.protocol import Recheck
from isonomia.audits.responsiveness.counting import Counted
from isonomia.audits.responsiveness.points import Reaching, changes_of
from isonomia.engine.seeds import batch_rng
from isonomia.interventions import Feature, Points, ReachableSets
from isonomia.interventions.features import encoded
from isonomia.models.checked import ask
from isonomia.models.protocol import Answer, Model
from isonomia.populations.columns import plain_value
from isonomia.populations.recorded import table_of_rows

__all__ = ["FURTHER_DRAWS", "counterexamples", "recheck"]

Places = NDArray[np.intp]

_PEOPLE, _POINTS = 100, 3
"""For how many people points are kept, and how many for each."""
FURTHER_DRAWS = 500
"""Draws for each person whose points are not listed, among which the nearest are looked for."""
_NEAREST_BATCH = 2**31
"""The number of the batch whose seed these draws have, far above those of the audit."""


def counterexamples(
    sets: ReachableSets, reaching: Reaching, who: Places, few: NDArray[np.bool_], counted: Counted, seed: int
) -> list[dict[str, Any]]:
    """The nearest points with the target prediction, for the first of some people.

    Parameters
    ----------
    sets, reaching
        What people can reach, and the target.
    who
        The people who break the claim, the clearest first.
    few
        Whose points are all looked at; of others, the nearest of some fresh draws are given.
    counted
        What was counted of everybody before: fresh draws that reach nothing add to those that did not either.
    seed
        The seed of these draws.

    Returns
    -------
    list
        A counterexample for each point, the nearest of a person first; one without a point for a person of whom no
        point with the target prediction is known.
    """
    shown = who[:_PEOPLE]
    found: dict[int, list[dict[str, Any]]] = {}
    listed, drawn = shown[few[shown]], shown[~few[shown]]
    if len(listed):
        found |= _of_people(sets.points(listed), reaching, every=True)
    if len(drawn):
        rng = batch_rng(seed, _NEAREST_BATCH, 0)
        found |= _of_people(sets.sample(FURTHER_DRAWS, rng, drawn.tolist()), reaching, every=False)
        found |= {person: _with_earlier(found[person], person, counted) for person in drawn.tolist()}
    return [item for person in shown.tolist() for item in found[person]]


def _with_earlier(items: list[dict[str, Any]], person: int, counted: Counted) -> list[dict[str, Any]]:
    """Where no draw ever reached the target, all of them are told, not only those of the search for points."""
    if items[0]["reaching"] or counted.successes[person] or counted.exact[person]:
        return items
    return [{**item, "looked_at": item["looked_at"] + int(counted.n[person])} for item in items]


def _of_people(points: Points, reaching: Reaching, every: bool) -> dict[int, list[dict[str, Any]]]:
    """The nearest points of each owner; the points of an owner lie together."""
    hits, answer = reaching.answers(points)
    away = _distances(points)
    owners, first, count = np.unique(points.owner, return_index=True, return_counts=True)
    return {
        owner: _of_person(points, reaching, np.arange(start, start + size), hits, away, answer, every)
        for owner, start, size in zip(owners.tolist(), first.tolist(), count.tolist(), strict=True)
    }


def _of_person(
    points: Points,
    reaching: Reaching,
    mine: Places,
    hits: NDArray[np.bool_],
    away: NDArray[np.float64],
    answer: Answer,
    every: bool,
) -> list[dict[str, Any]]:
    row = int(reaching.rows[points.owner[mine[0]]])
    places = mine[hits[mine]]
    base = {"person": row, "looked_at": len(mine), "every": every, "reaching": len(places)}
    if not len(places):
        return [{**base, "distance": None, "changed": {}, "point": None}]
    places = places[np.argsort(away[places], kind="stable")]
    _, first = np.unique(points.values[places], axis=0, return_index=True)
    return [
        {
            **base,
            "distance": float(away[place]),
            "changed": {name: list(pair) for name, pair in changes_of(points, reaching.people, place).items()},
            **_answer(answer, place),
            "point": _one(points, place).columns().row(0),
        }
        for place in places[np.sort(first)][:_POINTS].tolist()
    ]


def _one(points: Points, place: int) -> Points:
    at = np.asarray([place])
    return Points(points.features, points.people, points.owner[at], points.values[at])


def _answer(answer: Answer, place: int) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if answer.prediction is not None:
        told["prediction"] = plain_value(answer.prediction[place])
    if answer.score is not None:
        told["score"] = answer.score[place].tolist()
    return told


def _distances(points: Points) -> NDArray[np.float64]:
    """How far each point is from its person: changes as parts of the feature's range, added up; 1 for a category."""
    start = np.column_stack(_start(points.features, points))
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


def _start(features: Sequence[Feature], points: Points) -> list[NDArray[np.float64]]:
    owners, place = np.unique(points.owner, return_inverse=True)
    people = encoded(features, points.people.take(owners))
    return list(people[place.reshape(-1)].T)


def recheck(model: Model, counterexamples: Sequence[Mapping[str, Any]]) -> Recheck:
    """Ask a model about the points of a record that decided it: it must answer as it did."""
    points = [item for item in counterexamples if item.get("point") is not None]
    silent = len(counterexamples) - len(points)
    problem = f"{silent} say that a person reaches nothing, which no single answer shows: use --full"
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
