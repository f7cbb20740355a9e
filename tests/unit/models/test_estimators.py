from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from isonomia.errors import ModelError
from isonomia.models.adapt import EstimatorModel
from isonomia.populations import Table
from raising import raises

RNG = np.random.default_rng(0)
X = pd.DataFrame({"age": RNG.normal(size=60), "debt": RNG.normal(size=60)})
Y = np.where(X["age"] + X["debt"] > 0, "good", "bad")
TABLE = Table.of(X)


class Counting:
    """A real estimator, with a count of the calls to each of its methods."""

    def __init__(self, estimator):
        self.estimator = estimator
        self.calls = []
        self.classes_ = estimator.classes_
        self.feature_names_in_ = estimator.feature_names_in_

    def predict(self, given):
        self.calls.append("predict")
        return self.estimator.predict(given)

    def predict_proba(self, given):
        self.calls.append("predict_proba")
        return self.estimator.predict_proba(given)


def ask_for(estimator, *, score, prediction, table=TABLE):
    return EstimatorModel(estimator).answer(table, want_score=score, want_prediction=prediction)


def test_a_classifier_gives_predictions_probabilities_and_plain_classes():
    classifier = LogisticRegression().fit(X, Y)
    answer = ask_for(classifier, score=True, prediction=True)
    assert answer.prediction.tolist() == classifier.predict(X).tolist()
    np.testing.assert_array_equal(answer.score, classifier.predict_proba(X))
    assert answer.classes == ("bad", "good")
    assert all(type(label) is str for label in answer.classes)
    assert EstimatorModel(classifier).score_range == (0.0, 1.0)


def test_only_what_is_wanted_is_asked_for():
    counting = Counting(LogisticRegression().fit(X, Y))
    assert ask_for(counting, score=False, prediction=True).score is None
    assert counting.calls == ["predict"]
    counting.calls.clear()
    assert ask_for(counting, score=True, prediction=False).prediction is None
    assert counting.calls == ["predict_proba"]
    counting.calls.clear()
    ask_for(counting, score=True, prediction=True)
    assert sorted(counting.calls) == ["predict", "predict_proba"]


@pytest.mark.parametrize("wrap", [lambda forest: forest, lambda forest: make_pipeline(StandardScaler(), forest)])
def test_a_forest_is_asked_once_for_both_and_predicts_the_same(wrap, monkeypatch):
    forest = wrap(RandomForestClassifier(5, random_state=0, max_depth=2)).fit(X, Y)
    expected = forest.predict(X).tolist()

    def fail(*_):
        raise AssertionError("asked twice")

    monkeypatch.setattr(type(forest), "predict", fail)
    assert ask_for(forest, score=True, prediction=True).prediction.tolist() == expected


def test_a_classifier_without_probabilities_scores_by_its_decision_function():
    classifier = LinearSVC().fit(X, Y)
    answer = ask_for(classifier, score=True, prediction=False)
    np.testing.assert_array_equal(answer.score, classifier.decision_function(X))
    assert answer.classes == ()
    assert EstimatorModel(classifier).score_range is None


def test_the_score_of_a_regressor_is_its_prediction():
    regressor = Ridge().fit(X, X["age"])
    answer = ask_for(regressor, score=True, prediction=False)
    assert answer.prediction is None
    np.testing.assert_allclose(answer.score, regressor.predict(X))


def test_columns_are_chosen_and_ordered_as_fitted():
    classifier = LogisticRegression().fit(X, Y)
    mixed = Table.of(X.assign(sex="F")[["sex", "debt", "age"]])
    answer = ask_for(classifier, score=False, prediction=True, table=mixed)
    assert answer.prediction.tolist() == classifier.predict(X).tolist()


def test_features_choose_columns_for_one_fitted_without_names():
    regressor = LinearRegression().fit(X[["debt"]].to_numpy(), X["age"])
    answer = EstimatorModel(regressor, ("debt",)).answer(TABLE, want_score=False, want_prediction=True)
    np.testing.assert_allclose(answer.prediction, regressor.predict(X[["debt"]].to_numpy()))


def test_several_outputs_at_once_are_refused():
    several = MultiOutputClassifier(LogisticRegression()).fit(X, np.column_stack([Y, Y]))
    with raises(ModelError, "MultiOutputClassifier", 2):
        ask_for(several, score=True, prediction=False)


def test_what_an_estimator_has_learnt_counts_in_its_fingerprint():
    one = EstimatorModel(LogisticRegression().fit(X, Y))
    same = EstimatorModel(LogisticRegression().fit(X, Y))
    other = EstimatorModel(LogisticRegression().fit(X, Y[::-1]))
    assert one.fingerprint() == same.fingerprint()
    assert one.fingerprint() != other.fingerprint()
    assert one.name == "LogisticRegression"


def test_an_estimator_that_cannot_be_pickled_still_has_a_fingerprint():
    class Local:
        def predict(self, batch):
            return [0] * len(batch)

        def __repr__(self):
            return "Local()"

    assert EstimatorModel(Local()).fingerprint() == EstimatorModel(Local()).fingerprint()
