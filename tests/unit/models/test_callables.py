from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import isonomia as iso
from isonomia.errors import DataError, ModelError, UnreliableModelError
from isonomia.models import adapt, ask, checked
from isonomia.models.adapt import CallableModel
from isonomia.populations import Table
from raising import raises

FRAME = pd.DataFrame({"age": [20, 40], "debt": [1.0, 2.0]})


def approve(batch):
    return batch["age"] > 30


def test_the_callable_gets_the_kind_of_table_that_the_user_has():
    seen = []

    def look(batch):
        seen.append(type(batch))
        return [1, 0]

    CallableModel(look).answer(Table.of(FRAME), want_score=False, want_prediction=True)
    assert seen == [pd.DataFrame]


def test_floats_are_prediction_and_score_and_others_are_prediction_only():
    table = Table.of(FRAME)
    both = CallableModel(lambda batch: batch["debt"] / 2).answer(table, want_score=True, want_prediction=True)
    assert both.prediction.tolist() == both.score.tolist() == [0.5, 1.0]
    truth = CallableModel(approve).answer(table, want_score=True, want_prediction=True)
    assert truth.prediction.tolist() == [False, True]
    assert truth.score is None


def test_a_column_for_each_class_is_a_score_only():
    model = CallableModel(lambda batch: np.full((len(batch), 2), 0.5))
    answer = model.answer(Table.of(FRAME), want_score=True, want_prediction=True)
    assert answer.prediction is None
    assert answer.score.shape == (2, 2)


def test_features_choose_the_columns():
    model = CallableModel(lambda batch: batch.sum(axis=1), features=("debt",))
    assert model.answer(Table.of(FRAME), want_score=False, want_prediction=True).prediction.tolist() == [1, 2]
    with raises(DataError, name="dept"):
        CallableModel(approve, ("dept",)).answer(Table.of(FRAME), want_score=False, want_prediction=True)


def test_a_callable_that_writes_into_its_batch_leaves_the_table_alone():
    def spoil(batch):
        batch["age"] *= 0
        return batch["age"]

    for data in (FRAME, {"age": np.array([20, 40])}):
        table = Table.of(data)
        CallableModel(spoil).answer(table, want_score=False, want_prediction=True)
        assert table.column("age").tolist() == [20, 40]


def test_a_callable_is_known_by_name_and_source():
    assert CallableModel(approve).name == "approve"
    assert CallableModel(approve).fingerprint() == CallableModel(approve).fingerprint()
    assert CallableModel(approve).fingerprint() != CallableModel(approve, ("age",)).fingerprint()
    assert CallableModel(approve).score_range is None


class _Breaking:
    """Answers, but for some calls in which its connection breaks."""

    def __init__(self, broken: set[int], error: Exception) -> None:
        self.calls, self.broken, self.error = 0, broken, error

    def __call__(self, table):
        self.calls += 1
        if self.calls in self.broken:
            try:
                raise self.error
            except Exception as error:
                raise RuntimeError("the library says") from error
        return np.asarray(table["x"]) > 0.5


@pytest.mark.parametrize("error", [ConnectionResetError(104, "reset by peer"), TimeoutError("timed out")])
def test_a_model_in_python_that_loses_a_connection_is_asked_again(error, monkeypatch):
    monkeypatch.setattr(checked, "WAITS", (0.0, 0.0, 0.0))
    table = {"x": np.linspace(0, 1, 2_000)}
    models = _Breaking({3, 5, 6, 7}, error), _Breaking(set(), error)
    verdicts = [
        iso.check("P[prediction == 1] >= 0.4", model, iso.Sample(table), seed=1, delta=1e-6) for model in models
    ]
    assert replace(verdicts[0], seconds=0.0) == replace(verdicts[1], seconds=0.0)
    assert models[0].calls == models[1].calls + 4
    with raises(UnreliableModelError, 4, cause=RuntimeError):
        ask(adapt(_Breaking({1, 2, 3, 4}, error)), Table.of(table), False, True)


def test_other_errors_of_a_model_are_reported_at_once(monkeypatch):
    monkeypatch.setattr(checked, "WAITS", (0.0, 0.0, 0.0))
    model = _Breaking({1}, FileNotFoundError("weights"))
    with raises(ModelError, "x", cause=RuntimeError):
        ask(adapt(model), Table.of({"x": [0.1]}), False, True)
    assert model.calls == 1
