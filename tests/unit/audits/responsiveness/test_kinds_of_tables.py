"""A model is given reachable points in the kind of table that the people came in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isonomia as iso
from isonomia.interventions import Feature, Interventions

RULES = Interventions((Feature("a", "integer", 0, 4), Feature("b", "integer", 0, 4, actionable=False)))
COLUMNS = {"a": np.array([1, 2, 3]), "b": np.array([1, 2, 0])}
SHARES = [0.4, 0.6, 0.2]
"""Of the points with ``a + b > 3``, where ``a`` is free."""


def shares(model: Any, people: Any, rules: Interventions = RULES, **options: Any) -> Any:
    verdict = iso.check(iso.Responsiveness(rules, 1, at_least=0.1, **options), model, iso.Census(people), seed=0)
    return verdict.details["people"]["share"]


def test_a_model_of_frames_is_given_frames() -> None:
    pandas = pytest.importorskip("pandas")

    def model(frame: Any) -> Any:
        return (frame[["a", "b"]].sum(axis=1) > 3).astype(int).to_numpy()

    assert shares(model, pandas.DataFrame(COLUMNS)) == SHARES
    assert shares(model, pandas.DataFrame(COLUMNS), who="prediction == 0") == [0.4, 0.2]


def test_a_model_of_polars_frames_is_given_them() -> None:
    polars = pytest.importorskip("polars")
    model = lambda frame: frame.select((polars.col("a") + polars.col("b") > 3).cast(int)).to_series()  # noqa: E731
    assert shares(model, polars.DataFrame(COLUMNS)) == SHARES


def test_a_model_of_arrays_is_given_an_array() -> None:
    rules = Interventions((Feature("x0", "integer", 0, 4), Feature("x1", "integer", 0, 4, actionable=False)))
    people = np.column_stack(list(COLUMNS.values()))
    assert shares(lambda rows: (rows.sum(axis=1) > 3).astype(int), people, rules) == SHARES


def test_a_model_of_rows_is_given_rows() -> None:
    people = [{"a": int(a), "b": int(b)} for a, b in zip(COLUMNS["a"], COLUMNS["b"], strict=True)]
    assert shares(lambda rows: [int(row["a"] + row["b"] > 3) for row in rows], people) == SHARES


def test_categories_of_a_frame_stay_categories() -> None:
    pandas = pytest.importorskip("pandas")
    rules = Interventions((Feature("home", "categorical", values=("rented", "owned")),))

    def model(frame: Any) -> Any:
        assert frame["home"].dtype == "category"
        return (frame["home"] == "owned").astype(int).to_numpy()

    assert shares(model, pandas.DataFrame({"home": pandas.Categorical(["rented", "owned"])}), rules) == [0.5, 0.5]
