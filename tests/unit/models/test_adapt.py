from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier

from isonomia.errors import UsageError
from isonomia.models import adapt
from isonomia.models.adapt import CallableModel, EstimatorModel
from isonomia.models.http import HttpModel
from raising import raises


def approve(batch):
    return batch


def make_model():
    return approve


def two(batch, other):
    return batch, other


def test_estimators_callables_and_models_are_taken():
    assert isinstance(adapt(DummyClassifier()), EstimatorModel)
    assert isinstance(adapt(approve), CallableModel)
    assert isinstance(adapt(len), CallableModel)
    model = CallableModel(approve)
    assert adapt(model) is model


def test_features_are_handed_on():
    assert adapt(approve, ["a", "b"]).features == ("a", "b")
    assert adapt(DummyClassifier(), ["a"]).features == ("a",)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (3, r"method predict, or be callable on a batch of rows, but is 3 \(int\)"),
        (None, r"but is None \(NoneType\)"),
        (DummyClassifier, r"is a class. Make an object of it: model=DummyClassifier\(...\)"),
        (make_model, r"make_model\(\) is not: .*If it makes the model, call it yourself: model=make_model\(\)"),
        (two, r"two\(batch, other\) is not: missing a required argument: 'other'"),
    ],
)
def test_what_is_no_model_is_refused_with_what_to_do(model, message):
    with pytest.raises(UsageError, match=message):
        adapt(model)


@pytest.mark.parametrize("features", ["age", [], [1], 3, {"age": 1}, pd.Index([]), np.array([1, 2])])
def test_features_must_be_names(features):
    with raises(UsageError, name="features"):
        adapt(approve, features)


@pytest.mark.parametrize("given", [pd.DataFrame({"age": [1], "debt": [2]}).columns, np.array(["age", "debt"])])
@pytest.mark.parametrize(
    "make", [lambda names: adapt(approve, names), lambda names: HttpModel("http://host/score", features=names)]
)
def test_the_columns_of_a_frame_are_features_like_a_list(make, given):
    model = make(given)
    assert model.features == ("age", "debt")
    assert model.fingerprint() == make(["age", "debt"]).fingerprint()


def test_features_cannot_be_given_to_what_already_is_a_model():
    with raises(UsageError, "a", name="features"):
        adapt(CallableModel(approve), ["a"])
