from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, softmax

from isonomia.errors import ModelError, UsageError
from isonomia.models.checked import check_number, checked_classes, checked_output
from isonomia.models.decoder import OutputDecoder
from raising import raises

MANY = np.array([[2.0, -1.0, 0.0], [-800.0, 5.0, 900.0]])
ONE = np.array([-800.0, -0.3, 0.0, 0.4, 800.0])


def read(raw, output=None, classes=()):
    return OutputDecoder(output, classes).answer(np.asarray(raw), "net", want_score=True, want_prediction=True)


def test_logits_become_probabilities():
    np.testing.assert_allclose(read(MANY, "logits").score, softmax(MANY, axis=1))
    np.testing.assert_allclose(read(ONE, "logits").score[:, 1], expit(ONE))
    assert read(ONE[:, None], "logits", ("no", "yes")).prediction.tolist() == ["no", "no", "no", "yes", "yes"]
    assert OutputDecoder("logits").score_range == (0.0, 1.0)


def test_one_probability_is_that_of_the_second_class():
    answer = read([0.2, 0.5, 0.9], "probabilities", ("no", "yes"))
    np.testing.assert_allclose(answer.score, [[0.8, 0.2], [0.5, 0.5], [0.1, 0.9]])
    assert answer.prediction.tolist() == ["no", "no", "yes"]
    assert answer.classes == ("no", "yes")


def test_unless_said_one_number_is_a_value_and_several_are_scores():
    assert read(ONE).prediction.tolist() == read(ONE).score.tolist() == ONE.tolist()
    answer = read(MANY)
    assert answer.score.tolist() == MANY.tolist()
    assert answer.prediction.tolist() == [0, 2]
    assert OutputDecoder().score_range is None


def test_whole_numbers_are_labels_and_name_classes():
    assert read(np.array([1, 0])).prediction.tolist() == [1, 0]
    assert read(np.array([1, 0])).score is None
    assert read(np.array([1.0, 0.0]), "labels", ("no", "yes")).prediction.tolist() == ["yes", "no"]
    assert read(np.array(["a", "b"], object)).prediction.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("raw", "output", "classes", "shown"),
    [
        (MANY, "values", (), [3, "values"]),
        (MANY, "labels", (), [3, "labels"]),
        (MANY, "logits", ("a", "b"), [3, 2, ("a", "b")]),
        (np.zeros((2, 3, 4)), None, (), [(2, 3, 4)]),
        (np.array([0.5]), "labels", (), ["labels", repr(np.float64(0.5))]),
        (np.array([0, 2]), "labels", ("a", "b"), ["label", 2, ("a", "b")]),
    ],
)
def test_numbers_that_do_not_fit_what_was_said_are_refused(raw, output, classes, shown):
    with raises(ModelError, "net", *shown):
        read(raw, output, classes)


def test_only_what_is_wanted_is_given():
    answer = OutputDecoder("logits").answer(MANY, "net", want_score=False, want_prediction=True)
    assert answer.score is None
    assert answer.classes == ()
    assert OutputDecoder("logits").answer(MANY, "net", want_score=True, want_prediction=False).prediction is None


def test_wrong_options_are_refused():
    with raises(UsageError, "logit", name="output", meant="logits"):
        checked_output("logit")
    for classes in ("no", ["a", "a"], ["a"], [None, 1]):
        with raises(UsageError, tuple(classes) if isinstance(classes, list) else classes, name="classes"):
            checked_classes(classes)
    assert checked_classes(np.array(["a", "b"])) == ("a", "b")
    for size in (0, 2.5, True):
        with raises(UsageError, size, name="batch_size"):
            check_number("batch_size", size, 1, whole=True)
