"""Where two plain values differ."""

from __future__ import annotations

from typing import Any

import pytest

from isonomia.records.compare import ABSENT, differences

CASES: list[tuple[Any, Any, list[tuple[str, Any, Any]]]] = [
    ({"a": 1}, {"a": 1}, []),
    ({"a": 1}, {"a": 2}, [("a", 1, 2)]),
    ({"a": 1}, {"a": 1.0}, [("a", 1, 1.0)]),
    ({"a": 1}, {"a": True}, [("a", 1, True)]),
    ({"a": 0.0}, {"a": -0.0}, [("a", 0.0, -0.0)]),
    ({"a": {"b": [1, {"c": "x"}]}}, {"a": {"b": [1, {"c": "y"}]}}, [("a.b[1].c", "x", "y")]),
    ({"a": [1, 2]}, {"a": (1, 2)}, []),
    ({"a": [1, 2]}, {"a": [1]}, [("a, how many", 2, 1)]),
    ({"a": 1}, {"b": 1}, [("a", 1, ABSENT), ("b", ABSENT, 1)]),
    ({"a": None}, {"a": {}}, [("a", None, {})]),
    ({"a": {}}, {"a": []}, [("a", {}, [])]),
]


@pytest.mark.parametrize(("before", "after", "found"), CASES)
def test_every_leaf_that_differs_is_named(before: Any, after: Any, found: list[tuple[str, Any, Any]]) -> None:
    assert [repr((each.path, each.before, each.after)) for each in differences(before, after)] == list(map(repr, found))


def test_floats_may_differ_by_rounding_where_that_is_allowed() -> None:
    near = 0.1 * (1 + 1e-12)
    assert list(differences([0.1], [near]))
    assert not list(differences([0.1], [near], rounding=1e-9))
    assert list(differences([0.1], [0.1 * (1 + 1e-8)], rounding=1e-9))
    assert list(differences([1], [1.0], rounding=1e-9))
    assert list(differences(["0.1"], [str(near)], rounding=1e-9))


def test_a_difference_says_what_was_and_what_is() -> None:
    (found,) = differences({"leaves": [{"low": 0.25}]}, {"leaves": [{"low": 0.5}]})
    assert str(found) == "leaves[0].low: 0.25 in the record, 0.5 now"
