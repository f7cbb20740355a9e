"""What a first draft makes of odd columns."""

from __future__ import annotations

import numpy as np
import pytest

from isonomia.interventions import Draft, Thermometer
from isonomia.interventions.draft import guess, hint_of
from isonomia.interventions.features import encodings_of
from isonomia.populations.table import Table


def test_no_feature_is_made_of_a_mixture() -> None:
    draft = Draft.of({"x": np.asarray(["a", 3], dtype=object), "z": [1, 2]})
    assert draft.left_out == {"x": "holds neither numbers nor truth values nor texts"}


def test_a_column_of_one_value_is_said_to_be_always_that() -> None:
    assert Draft.of({"x": [2.5, 2.5]}).why == {"x": "Always 2.5."}


def test_texts_that_all_differ_tell_people_apart() -> None:
    draft = Draft.of({"x": [f"person {j}" for j in range(21)], "z": [f"town {j % 20}" for j in range(21)]})
    assert draft.left_out == {"x": "tells people apart"}


def test_many_texts_are_names_rather_than_choices() -> None:
    draft = Draft.of({"x": [f"street {j % 60}" for j in range(100)], "z": [j % 5 for j in range(100)]})
    assert draft.left_out == {"x": "has 60 different texts, so it is a name rather than a choice"}


def test_truth_values_in_boxes_make_a_binary_feature() -> None:
    draft = Draft.of({"x": np.asarray([True, False, True], dtype=object), "z": [1, 2, 3]})
    (feature,) = [feature for feature in draft.features if feature.name == "x"]
    assert feature.kind == "binary"


def test_a_dummy_for_at_most_so_many_years_turns_off_as_time_passes() -> None:
    (rising,) = Draft.of({"years_employed_lt_5": [0, 1]}).features
    assert rising.direction == "down"


@pytest.mark.parametrize(("name", "why"), [("fnlwgt", "weight of a survey"), ("predicted_score", "answer")])
def test_what_is_no_doing_of_peoples_own_is_not_acted_on(name: str, why: str) -> None:
    hint = hint_of(name)
    assert hint is not None
    assert not hint.actionable
    assert why in hint.why


def test_dummies_that_are_all_off_or_have_gaps_are_no_encoding() -> None:
    assert list(encodings_of({"job_a": np.zeros(9), "job_b": np.zeros(9)})) == []
    assert list(encodings_of({"job_a": np.asarray([1, np.nan]), "job_b": np.asarray([0.0, 1.0])})) == []


def test_limits_from_both_sides_that_overlap_are_two_ladders_and_no_choice() -> None:
    income = np.arange(10)
    dummies = {
        **{f"income_leq_{limit}": (income <= limit).astype(float) for limit in (3, 6)},
        **{f"income_geq_{limit}": (income >= limit).astype(float) for limit in (5, 8)},
    }
    rules = [rule for rule, _ in encodings_of(dummies)]
    assert [type(rule) for rule in rules] == [Thermometer, Thermometer]


def test_reasons_that_are_given_are_all_there_are() -> None:
    draft = guess(Draft, Table.of({"a": [1, 2], "secret": [3, 4], "outcome": [0, 1]}), {"secret": "is a secret"})
    assert draft.left_out == {"secret": "is a secret"}
    assert [feature.name for feature in draft.features] == ["a", "outcome"]
