from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from isonomia.errors import DataError
from isonomia.models.estimators import CallableModel
from isonomia.populations import Table

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
    with pytest.raises(DataError, match="no column 'dept'"):
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
