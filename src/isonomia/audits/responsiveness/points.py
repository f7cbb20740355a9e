"""Which points have the target prediction. The model is queried about each different point once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.answers import Asker
from isonomia.errors import IsonomiaError, ModelError, UnreliableModelError
from isonomia.interventions import Points
from isonomia.interventions.features import decoded
from isonomia.models.protocol import Answer
from isonomia.populations.columns import plain_value
from isonomia.populations.table import Table
from isonomia.spec.evaluate import Batch, truth
from isonomia.spec.responsiveness import OWN, OWN_SCORE
from isonomia.spec.tree import Row
from isonomia.spec.walk import columns_of, outputs_of

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

_ODD, _PRIME = np.uint64(0x9E3779B97F4A7C15), np.uint64(0x100000001B3)
"""Mix the bits of a hash: an odd number near 2**64 over the golden ratio, and the prime of FNV-1a."""
_ALIKE = 0.9
"""Where more than this share of many rows are different, looking for duplicates is no longer worth it."""
_ENOUGH = 10_000
"""How many points it takes to tell."""


@dataclass(slots=True, eq=False)
class TargetTest:
    """A target, the model, and the people as they are.

    Attributes
    ----------
    target, asker
        The condition on a point, and the model.
    people, rows
        The people, and their row numbers in the population, for messages.
    own
        The model's answer for each of them as they are, as columns by the names that a target uses.
    profile
        A number for each person, the same for people who agree in everything that is not a feature.
    distinct
        How many rows the model was queried about.
    alike
        Whether it is worth looking for duplicate points.
    """

    target: Row
    asker: Asker
    people: Table
    rows: NDArray[np.intp]
    own: dict[str, NDArray[Any]]
    profile: NDArray[np.intp]
    distinct: int = 0
    alike: bool = True

    def __call__(self, points: Points) -> NDArray[np.bool_]:
        """Whether each point has the target prediction."""
        answer, different, kind = self._asked(points)
        if self.own:  # the same point may be a success for one person and not for another
            return self._true_of(points, _spread(answer, kind))
        return np.asarray(self._true_of(different, answer)[kind])

    def answers(self, points: Points) -> tuple[NDArray[np.bool_], Answer]:
        """Whether each point has the target prediction, and the answers themselves."""
        answer, _, kind = self._asked(points)
        everything = _spread(answer, kind)
        return self._true_of(points, everything), everything

    def _asked(self, points: Points) -> tuple[Answer, Points, NDArray[np.intp]]:
        """The answers to the different points, these points, and which of them each point is."""
        different, kind = points, np.arange(len(points))
        if self.alike:
            first, kind = _distinct_rows(points.values, self.profile[points.owner])
            different = points.take(first)
            self.alike = len(points) < _ENOUGH or len(first) < _ALIKE * len(points)
        self.distinct += len(different)
        try:
            return self._ask(different), different, kind
        except UnreliableModelError:
            raise
        except ModelError as error:
            raise self._shown(different, error) from error

    def _ask(self, points: Points) -> Answer:
        outputs = {output.name for output in outputs_of(self.target)}
        return self.asker(points.table(), "score" in outputs, "prediction" in outputs)

    def _true_of(self, points: Points, answer: Answer) -> NDArray[np.bool_]:
        names = columns_of(self.target)
        table = points.columns([name for name in names if name not in self.own] or list(points.people.names[:1]))
        columns: dict[str, Any] = {
            name: self.own[name][points.owner] if name in self.own else table.column(name) for name in names
        }
        batch = Batch(len(points), columns, answer.prediction, answer.score, answer.classes)
        return np.broadcast_to(truth(self.target, batch), (len(points),))

    def _shown(self, points: Points, error: ModelError) -> ModelError:
        """Halve the batch until one point is left that the model fails on, and show it."""
        bad = points
        while len(bad) > 1:
            middle = len(bad) // 2
            halves = [bad.take(np.arange(middle)), bad.take(np.arange(middle, len(bad)))]
            failing = next((half for half in halves if self._fails(half) is not None), None)
            if failing is None:
                return error  # it fails only on many rows together
            bad = failing
        again = self._fails(bad) or error
        row, changed = int(self.rows[bad.owner[0]]), changes_of(bad, self.people, 0)
        changes = ", ".join(f"{name}: {before!r} -> {after!r}" for name, (before, after) in changed.items())
        where = changes or "where they are"
        return ModelError(
            f"the model fails on a point that the person in row {row} can reach ({where}): {again} "
            f"The point: {bad.columns().row(0)!r}. If there can be no such point, add a constraint that forbids it."
        )

    def _fails(self, points: Points) -> IsonomiaError | None:
        try:
            self._ask(points)
        except UnreliableModelError:
            raise
        except ModelError as error:
            return error
        return None


def own_answers(target: Row, asker: Asker, people: Table) -> dict[str, NDArray[Any]]:
    """The model's answers for people as they are, where a target uses them."""
    names = columns_of(target)
    own: dict[str, NDArray[Any]] = {}
    if OWN in names or OWN_SCORE in names:
        answer = asker(people, OWN_SCORE in names, OWN in names)
        if OWN in names and answer.prediction is not None:
            own[OWN] = answer.prediction
        if OWN_SCORE in names and answer.score is not None:
            own[OWN_SCORE] = _one_score(answer.score, asker)
    return own


def changes_of(points: Points, people: Table, index: int) -> dict[str, tuple[Any, Any]]:
    """The features in which a point differs from its person, each with both values."""
    changes: dict[str, tuple[Any, Any]] = {}
    for j, feature in enumerate(points.features):
        before = plain_value(people.column(feature.name)[points.owner[index]])
        if feature.kind != "categorical" and before == points.values[index, j]:
            continue  # a number is its own code: most features of a point are unchanged, and decoding takes time
        after = plain_value(decoded(feature, points.values[index : index + 1, j])[0])
        if before != after:
            changes[feature.name] = (before, after)
    return changes


def _one_score(score: NDArray[np.float64], asker: Asker) -> NDArray[np.float64]:
    if score.ndim == 1:
        return score
    if score.shape[1] == 2:
        return np.asarray(score[:, 1])
    raise ModelError(f"{asker.model.name} has {score.shape[1]} classes, so that own_score does not say which")


def _spread(answer: Answer, kind: NDArray[np.intp]) -> Answer:
    return Answer(
        None if answer.prediction is None else answer.prediction[kind],
        None if answer.score is None else answer.score[kind],
        answer.classes,
    )


def profiles(people: Table, apart_from: tuple[str, ...]) -> Indices:
    """A number for each person, the same for people who agree in every column but some."""
    names = [name for name in people.names if name not in apart_from]
    if not names:
        return np.zeros(people.rows, dtype=np.intp)
    number_of: dict[tuple[object, ...], int] = {}
    columns = [[plain_value(value) for value in people.column(name)] for name in names]
    return np.asarray([number_of.setdefault(row, len(number_of)) for row in zip(*columns, strict=True)], dtype=np.intp)


def _distinct_rows(values: Floats, code: Indices) -> tuple[Indices, Indices]:
    """The first of each distinct row, and which of these each row equals; ``code`` is one more number of each row.

    Rows are sorted by a 64-bit hash and then compared with the first of their kind; in the unlikely case that two
    different rows have the same hash, all rows count as different, which costs only time.
    """
    mixed = code.astype(np.uint64) * _ODD
    for column in (values + 0.0).T:  # adding 0.0 turns -0.0 into 0.0
        bits = np.ascontiguousarray(column).view(np.uint64)
        bits = (bits ^ (bits >> np.uint64(32))) * _ODD
        mixed = (mixed ^ bits ^ (bits >> np.uint64(29))) * _PRIME
    _, first, kind = np.unique(mixed, return_index=True, return_inverse=True)
    kind = kind.reshape(-1)
    same = (code == code[first][kind]) & (values == values[first][kind]).all(axis=1)
    if same.all():
        return first, kind
    everything = np.arange(len(code))
    return everything, everything
