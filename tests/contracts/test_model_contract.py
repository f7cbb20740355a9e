"""One suite that every model must pass, over every kind of table."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from isonomia.errors import ModelError
from isonomia.models import adapt, ask
from isonomia.populations import Table

N = 120
RNG = np.random.default_rng(7)
COLUMNS = {
    "sex": RNG.choice(["F", "M"], N).astype(object),
    "debt": RNG.normal(size=N),
    "age": RNG.integers(18, 80, N),
}
FRAME = pd.DataFrame(COLUMNS)
NUMBERS = FRAME[["age", "debt"]]
LABELS = np.where(COLUMNS["debt"] + RNG.normal(size=N) > 0, "good", "bad")
TABLES = {
    "pandas": lambda: FRAME.set_index(np.arange(N)[::-1]),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "pyarrow": lambda: pa.table(COLUMNS),
    "columns": lambda: dict(COLUMNS),
    "rows": lambda: FRAME.to_dict("records"),
}


def by_debt(batch):
    debt = [row["debt"] for row in batch] if isinstance(batch, list) else np.asarray(batch["debt"])
    return np.asarray(debt) > 0


def probability(batch):
    return 1 / (1 + np.exp(-by_debt(batch).astype(float)))


def mixed_pipeline():
    encode = make_column_transformer((OneHotEncoder(), ["sex"]), (StandardScaler(), ["age", "debt"]))
    return make_pipeline(encode, LogisticRegression())


# Each with whether it gives scores.
MODELS = {
    "callable to truth values": (lambda: adapt(by_debt), False),
    "callable to floats": (lambda: adapt(probability), True),
    "logistic": (lambda: adapt(LogisticRegression().fit(NUMBERS, LABELS)), True),
    "logistic without names": (
        lambda: adapt(LogisticRegression().fit(NUMBERS.to_numpy(), LABELS), ["age", "debt"]),
        True,
    ),
    "forest": (lambda: adapt(RandomForestClassifier(5, random_state=0).fit(NUMBERS, LABELS)), True),
    "boosting": (lambda: adapt(HistGradientBoostingClassifier(max_iter=3).fit(NUMBERS, LABELS == "good")), True),
    "regression": (lambda: adapt(LinearRegression().fit(NUMBERS, COLUMNS["debt"])), True),
    "no probabilities": (lambda: adapt(RidgeClassifier().fit(NUMBERS, LABELS)), True),
    "pipeline with text": (lambda: adapt(mixed_pipeline().fit(FRAME, LABELS)), True),
}


@pytest.fixture(scope="module", params=MODELS)
def case(request):
    make, scores = MODELS[request.param]
    return make(), scores


@pytest.fixture(params=TABLES)
def table(request):
    return Table.of(TABLES[request.param]())


def test_a_model_answers_once_for_every_row(case, table):
    model, scores = case
    answer = ask(model, table, want_score=scores, want_prediction=True)
    assert answer.prediction.shape == (N,)
    if scores:
        assert answer.score.dtype == np.float64
        assert answer.score.shape in {(N,), (N, len(answer.classes))}


def test_the_kind_of_table_does_not_change_the_answer(case, table):
    model, scores = case
    reference = ask(model, Table.of(FRAME), scores, True)
    answer = ask(model, table, scores, True)
    assert answer.classes == reference.classes
    if reference.prediction.dtype.kind == "f":
        np.testing.assert_allclose(answer.prediction, reference.prediction)
    else:
        assert answer.prediction.tolist() == reference.prediction.tolist()
    if scores:
        np.testing.assert_allclose(answer.score, reference.score)


def test_a_batch_gets_the_answers_of_its_rows(case, table):
    model, scores = case
    whole = ask(model, table, scores, True)
    indices = np.array([50, 3, 77], dtype=np.intp)
    part = ask(model, table.take(indices), scores, True)
    if scores:
        np.testing.assert_allclose(part.score, whole.score[indices])
    if whole.prediction.dtype.kind != "f":
        assert part.prediction.tolist() == whole.prediction[indices].tolist()


def test_asking_for_one_thing_gives_the_same_as_asking_for_both(case, table):
    model, scores = case
    both = ask(model, table, scores, True)
    alone = ask(model, table, False, True)
    assert alone.score is None
    assert alone.prediction.tolist() == both.prediction.tolist()
    if scores:
        score = ask(model, table, True, False)
        assert score.prediction is None
        np.testing.assert_array_equal(score.score, both.score)


def test_a_model_without_scores_says_so(case, table):
    model, scores = case
    if not scores:
        with pytest.raises(ModelError, match="gives no score"):
            ask(model, table, True, False)


def test_a_missing_column_is_an_error_that_names_it(case, table):
    model, _ = case
    with pytest.raises(Exception, match="debt"):
        ask(model, table.select(["age", "sex"]), False, True)


def test_asking_leaves_the_table_alone(case, table):
    model, scores = case
    before = {name: table.column(name).tolist() for name in table.names}
    ask(model, table, scores, True)
    again = table.copy()
    assert {name: again.column(name).tolist() for name in table.names} == before


def test_a_model_survives_pickling_and_keeps_its_fingerprint(case):
    model, _ = case
    again = pickle.loads(pickle.dumps(model))
    assert again.name == model.name
    assert again.fingerprint() == model.fingerprint()
    assert re.fullmatch("[0-9a-f]{64}", model.fingerprint())


def test_predictions_and_classes_are_values_that_a_property_can_name(case):
    model, scores = case
    answer = ask(model, Table.of(FRAME), scores, True)
    values = [*answer.prediction[:5].tolist(), *answer.classes]
    assert all(isinstance(value, str | bool | int | float) for value in values)
