"""One feature: what is refused, and how far a person's own action goes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isonomia.errors import UsageError
from isonomia.interventions import Feature
from isonomia.interventions.features import own_ranges
from raising import raises


@pytest.mark.parametrize(
    ("arguments", "name", "shown"),
    [
        ({"kind": "number"}, "kind", ["binary", "number"]),
        ({"kind": "real", "low": 2, "high": 1}, "low", [2, 1]),
        ({"kind": "real", "low": float("nan")}, "low", ["nan"]),
        ({"kind": "real", "rise": -1}, "rise", [0, -1]),
        ({"kind": "real", "direction": "left"}, "direction", [("both", "up", "down"), "left"]),
        ({"kind": "real", "actionable": "yes"}, "actionable", ["yes"]),
        ({"kind": "real", "values": ("a",)}, "values", ["real"]),
        ({"kind": "categorical"}, "values", ["[]"]),
        ({"kind": "categorical", "values": ("a", "a")}, "values", [("a", "a")]),
        ({"kind": "categorical", "values": ("a", "b"), "low": 0}, None, ["low", "high", "shares"]),
    ],
)
def test_a_feature_whose_parts_do_not_fit_is_refused_with_the_value(
    arguments: dict[str, Any], name: str | None, shown: list[Any]
) -> None:
    with raises(UsageError, "f", *shown, name=name):
        Feature("f", **arguments)


def test_a_name_must_be_text() -> None:
    with raises(UsageError, 3, name="name"):
        Feature(3, "real")  # type: ignore[arg-type]


def ranges(feature: Feature, *start: float) -> list[tuple[float, float]]:
    low, high = own_ranges([feature], np.asarray(start, dtype=np.float64)[:, None])
    return list(zip(low[:, 0].tolist(), high[:, 0].tolist(), strict=True))


def test_bounds_steps_and_shares_all_limit_an_action_and_the_nearest_counts() -> None:
    feature = Feature("f", "real", 0, 100, rise=5, fall=50, rise_share=0.1, fall_share=0.1)
    assert ranges(feature, 20, 80, 99) == [(18, 22), (72, 85), (pytest.approx(89.1), 100)]


def test_a_share_of_a_negative_value_is_of_its_size() -> None:
    assert ranges(Feature("f", "real", -100, 0, rise_share=0.5, fall_share=0.1), -10.0) == [(-11, -5)]


def test_whole_features_move_in_whole_steps() -> None:
    assert ranges(Feature("f", "integer", 0.5, 9.5, fall_share=0.5, rise_share=0.3), 3, 5) == [(2, 3), (3, 6)]


@pytest.mark.parametrize(("direction", "expected"), [("up", (3, 9)), ("down", (0, 3)), ("both", (0, 9))])
def test_a_direction_closes_the_other_one(direction: Any, expected: tuple[float, float]) -> None:
    assert ranges(Feature("f", "integer", 0, 9, direction=direction), 3) == [expected]


def test_what_is_not_actionable_stays_even_out_of_bounds() -> None:
    assert ranges(Feature("f", "integer", 0, 9, actionable=False), 12) == [(12, 12)]


@pytest.mark.parametrize(
    ("arguments", "way"),
    [
        ({}, "rise"),
        ({"high": 1}, "fall"),
        ({"high": 1, "fall": 2}, None),
        ({"rise_share": 0.1, "low": 0}, None),
        ({"direction": "down"}, "fall"),
        ({"direction": "up", "high": 3}, None),
    ],
)
def test_a_missing_limit_is_told(arguments: dict[str, Any], way: str | None) -> None:
    assert Feature("f", "real", **arguments).unbounded() == way


@pytest.mark.parametrize(
    ("direction", "limit"), [("up", "fall"), ("up", "fall_share"), ("down", "rise"), ("down", "rise_share")]
)
def test_a_limit_of_the_way_that_a_direction_excludes_is_a_contradiction(direction, limit):
    with raises(UsageError, 3, direction, name=limit):
        Feature("x", "real", 0, 10, direction=direction, **{limit: 3})
    Feature("x", "real", 0, 10, direction=direction, **{limit: 0})
