"""Batches that are no tables, behind the face of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from isonomia.errors import DataError, ModelError
from isonomia.executors import pool_for
from isonomia.models import adapt, ask
from isonomia.models.session import open_session
from isonomia.populations.table import batch_table
from raising import raises

STACK = np.arange(5 * 3 * 2).reshape(5, 3, 2)
WAVES = [np.arange(n, dtype=np.float64) for n in (2, 4, 3)]


def test_the_batch_itself_is_what_the_model_is_given() -> None:
    table = batch_table(STACK, "image")
    assert table.native is STACK
    assert (table.kind, table.names, table.rows) == ("batch", ("image",), 5)
    assert batch_table(["a", "b"], "text").native == ["a", "b"]


def test_cutting_gives_copies() -> None:
    for table, first in ((batch_table(STACK), STACK[1]), (batch_table(WAVES), WAVES[1])):
        for cut in (table.take(np.array([1, 0])), table.slice(1, 3)):
            assert np.array_equal(cut.native[0], first)
            cut.native[0][...] = 99
            assert not np.array_equal(cut.native[0], first)
    states = batch_table([{"height": [1, 2]}])
    states.copy().native[0]["height"].append(3)
    assert states.native == [{"height": [1, 2]}]


def test_a_row_is_described_in_a_few_words() -> None:
    assert batch_table(STACK, "image").row(1) == {"image": "3 x 2 of int64, from 6 to 11"}
    assert batch_table(["good", "bad"], "text").row(1) == {"text": "bad"}
    assert batch_table([{"a": 1}], "state").row(0) == {"state": "{'a': 1}"}


def test_something_that_is_no_batch_is_refused() -> None:
    for wrong in ("text", np.array(3), {"a": [1]}):
        with pytest.raises(DataError, match="expected a batch of images as an array or a list"):
            batch_table(wrong, "image")  # type: ignore[arg-type]


def test_a_callable_may_write_into_its_batch() -> None:
    def greedy(images: Any) -> Any:
        answer = images.sum(axis=(1, 2)) % 2
        images[:] = 0
        return answer

    table = batch_table(STACK.copy())
    ask(adapt(greedy), table, False, True)
    assert np.array_equal(table.native, STACK)


def test_threads_answer_the_same_for_arrays_and_for_lists() -> None:
    def sizes(batch: Any) -> Any:
        return np.array([float(np.sum(record)) for record in batch])

    for table in (batch_table(STACK), batch_table(WAVES)):
        pools = (pool_for(None, workers) for workers in (1, 3))
        one, three = (open_session(adapt(sizes), pool=pool, watched=False) for pool in pools)
        assert np.array_equal(one(table, False, True).prediction, three(table, False, True).prediction)


def test_an_estimator_fitted_on_rows_of_numbers_gets_each_array_as_one_row() -> None:
    model = LogisticRegression().fit(STACK.reshape(5, -1), [0, 0, 0, 1, 1])
    found = ask(adapt(model), batch_table(STACK, "image"), False, True).prediction
    assert np.array_equal(found, model.predict(STACK.reshape(5, -1)))
    waves = [np.arange(6) + n for n in range(5)]  # a list of equally long sounds will do too
    assert len(ask(adapt(model), batch_table(list(waves), "sound"), False, True).prediction) == 5
    with raises(ModelError, 6, 2, 4, "sound"):
        ask(adapt(model), batch_table(WAVES, "sound"), False, True)
    with raises(ModelError, name="features"):
        ask(adapt(model, features=["x"]), batch_table(STACK, "image"), False, True)


def test_an_estimator_that_does_not_say_how_many_numbers_gets_the_batch_as_it_is() -> None:
    def flat(images: Any) -> Any:
        assert images.ndim == 3
        return images.reshape(len(images), -1)

    pipeline = make_pipeline(FunctionTransformer(flat), LogisticRegression()).fit(STACK, [0, 0, 0, 1, 1])
    assert len(ask(adapt(pipeline), batch_table(STACK), False, True).prediction) == 5


def test_a_refused_answer_shows_the_record_briefly() -> None:
    images = np.zeros((3, 28, 28))
    with raises(ModelError, 3, "28 x 28 of float64, from 0 to 0", "image"):
        ask(adapt(lambda batch: np.full(len(batch), np.nan)), batch_table(images, "image"), False, True)

    def broken(batch: Any) -> Any:
        raise RuntimeError(f"no {len(batch)}")

    with raises(ModelError, "image", 3, cause=RuntimeError):
        ask(adapt(broken), batch_table(images, "image"), False, True)
