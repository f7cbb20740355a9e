"""Two evals of the same questions, joined question by question."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isonomia as iso
from isonomia.errors import DataError, UsageError

OLD = {"item": ["a", "b", "c", "d"], "correct": [1, 0, 1, 1], "topic": ["x", "y", "x", "y"], "seconds": [1, 2, 3, 4]}
NEW = {"item": ["d", "b", "a", "e"], "correct": [0, 1, 1, 1], "topic": ["y", "y", "x", "x"], "seconds": [9, 9, 9, 9]}


def columns(sample: iso.Sample, *names: str) -> list[list[Any]]:
    return [sample.table.column(name).tolist() for name in names]


def test_questions_are_joined_by_their_name_and_not_by_their_place() -> None:
    joined = iso.paired(new=NEW, old=OLD)
    assert columns(joined, "item", "new", "old") == [["a", "b", "d"], [1, 1, 0], [1, 0, 1]]
    assert joined.names == ("item", "new", "old", "topic")  # what is the same in both
    assert any("1 that only the old one has and 1 that only the new one has" in each for each in joined.facts.remarks)


def test_answers_to_one_question_are_joined_by_their_number_and_are_one_draw() -> None:
    old = {"item": [1, 1, 2, 2], "repeat": [1, 2, 1, 2], "correct": [1, 0, 1, 1]}
    new = {"item": [2, 2, 1, 1], "repeat": [2, 1, 2, 1], "correct": [0, 1, 0, 1]}
    joined = iso.paired(new=new, old=old)
    assert columns(joined, "new", "old") == [[1, 0, 1, 0], [1, 0, 1, 1]]
    assert joined.facts.clusters is not None
    assert joined.facts.clusters.count == 2


def test_a_missing_result_is_wrong_and_said() -> None:
    joined = iso.paired(new={**NEW, "correct": [None, 1, 1, 1]}, old=OLD)
    assert columns(joined, "new") == [[1, 1, 0]]
    assert any("counted as wrong: 'd'" in each for each in joined.facts.remarks)


def test_scores_are_joined_where_there_is_no_right_and_wrong() -> None:
    old, new = ({"item": [1, 2], "score": values} for values in ([0.5, 0.25], [1.0, 0.0]))
    assert columns(iso.paired(new=new, old=old), "new", "old") == [[1.0, 0.0], [0.5, 0.25]]
    assert columns(iso.paired(new=NEW, old=OLD, value="seconds"), "old") == [[1, 2, 4]]


@pytest.mark.parametrize(
    ("new", "kind"),
    [
        ({"id": ["a"], "correct": [1]}, UsageError),
        ({"item": ["a", "a"], "correct": [1, 1]}, DataError),
        ({"item": ["z"], "correct": [1]}, DataError),
        ({"item": [None, "a"], "correct": [1, 1]}, DataError),
        ({"item": ["a", "b"], "correct": [1, 1], "target": ["7", "8"]}, DataError),
    ],
)
def test_what_cannot_be_joined_is_refused(new: dict[str, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        iso.paired(new=new, old={**OLD, "target": ["6", "8", "8", "8"]})


def test_pairs_decide_what_two_separate_rates_leave_open() -> None:
    rng = np.random.default_rng(1)
    hard = rng.random(600) < 0.4
    old, new = np.where(hard, 0, 1), np.where(hard & (rng.random(600) < 0.95), 0, 1)
    tables = [{"item": np.arange(600), "correct": each} for each in (old, new)]
    joined = iso.paired(new=tables[1], old=tables[0])
    paired = iso.check(iso.evals.better(), {"new": "new", "old": "old"}, joined, looks="once", seed=1)
    both = {"model": ["new", "old"] * 600, "correct": np.stack([new, old], axis=1).ravel()}
    claim = "P[correct | model == 'new'] - P[correct | model == 'old'] > 0"
    separate = iso.check(claim, population=iso.Sample(both), looks="once", seed=1)
    assert (paired.answer, separate.answer) == ("holds", "undecided")
