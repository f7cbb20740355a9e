"""Any objects as inputs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from isonomia.errors import DataError
from isonomia.populations.domains import Items
from raising import raises

ROWS = np.arange(3, dtype=np.intp)


@pytest.mark.parametrize(
    "objects",
    [[1, 2, 3], ["a", "b", "c"], [{"k": [1, 2]}, {}, {"k": []}], np.arange(24.0).reshape(3, 2, 4), np.array([1, 5, 7])],
)
def test_objects_that_json_can_hold_come_back_as_they_were(objects: Any) -> None:
    items = Items(objects)
    records = items.inputs(ROWS)
    shown = json.loads(json.dumps([items.show(records, index) for index in range(3)]))
    again = items.restore(shown)
    assert items.equal(records, again).all()
    assert again.rows.tolist() == [0, 1, 2]


def test_an_object_that_json_cannot_hold_is_shown_in_words_and_not_restored() -> None:
    items = Items([(1, 2), object()])
    shown = [items.show(items.inputs(ROWS[:2]), index) for index in range(2)]
    assert shown[0]["words"] == "(1, 2)"
    with pytest.raises(DataError, match="in words only"):
        items.restore(shown)


def test_what_a_function_makes_is_a_record_where_it_is_like_the_inputs() -> None:
    items = Items([(1,), (2, 3)], np.array([5, 6]))
    made = items.many([(1, 0), (2, 3)])
    assert made is not None
    assert items.many([1, 2]) is None
    assert items.equal(items.inputs(ROWS[:2]), made).tolist() == [False, True]
    assert items.distance(items.inputs(ROWS[:2]), made)[0].tolist() == [1.0, 0.0]
    assert items.label(items.inputs(np.array([1, 0]))).tolist() == [6, 5]
    with raises(DataError, name="label"):
        items.label(made)
    both = items.concatenate([items.inputs(ROWS[:1]), made])
    assert [items.one(both, index) for index in range(3)] == [(1,), (1, 0), (2, 3)]
    assert items.unique(both) is None


def test_the_model_is_given_an_array_where_one_came_and_a_list_otherwise() -> None:
    array = Items(np.arange(24.0).reshape(3, 2, 4))
    assert array.table(array.inputs(np.array([2, 0]))).native.shape == (2, 2, 4)
    listed = Items(["a", "b"])
    assert listed.table(listed.inputs(np.array([1, 1]))).native == ["b", "b"]


def test_there_are_no_features_and_no_labels_unless_given() -> None:
    items = Items([1, 2], name="the numbers")
    for ask in (items.feature, items.kind, items.values):
        with raises(DataError, "numbers", name="age"):
            ask("age")
    with raises(DataError, name="labels"):
        items.label(items.inputs(ROWS[:1]))
    with raises(DataError, name="inputs"):
        Items([])
    with raises(DataError, 2, 1, name="labels"):
        Items([1, 2], np.array([1]))
