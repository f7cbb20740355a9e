from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np
import pytest

from isonomia.errors import DataError, ModelError
from isonomia.models import Answer, adapt, ask
from isonomia.populations import Table
from raising import raises

TABLE = Table.of({"age": [20, 40, 60], "sex": ["F", None, "M"]})


@dataclass
class Stating:
    """A model that answers what it was told to."""

    stated: Answer
    score_range: tuple[float, float] | None = None
    name: str = "stating"
    asked: list = field(default_factory=list)

    def answer(self, table, *, want_score, want_prediction):
        self.asked.append((table.rows, want_score, want_prediction))
        return self.stated

    def fingerprint(self):
        return "0" * 64


def scored(score, classes=(), score_range=None):
    return ask(Stating(Answer(score=np.array(score), classes=classes), score_range), TABLE, True, False)


def predicted(returned):
    return ask(adapt(lambda _: returned), TABLE, False, True)


def test_a_good_answer_comes_through_with_only_what_was_wanted():
    model = Stating(Answer(np.array(["a", "b", "a"]), np.array([0.1, 0.2, 0.3])))
    assert ask(model, TABLE, False, True).score is None
    assert ask(model, TABLE, True, False).prediction is None
    both = ask(model, TABLE, True, True)
    assert both.prediction.tolist() == ["a", "b", "a"]
    assert both.score.tolist() == [0.1, 0.2, 0.3]
    assert len(model.asked) == 3


def test_one_column_is_flattened():
    assert predicted([[1], [0], [1]]).prediction.tolist() == [1, 0, 1]


def test_a_model_that_raises_is_named_with_its_error():
    def broken(_):
        raise KeyError("income")

    with raises(ModelError, "age", "sex", "income", 3, cause=KeyError) as e:
        ask(adapt(broken), TABLE, False, True)
    assert isinstance(e.value.__cause__, KeyError)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ([1, 0], "should give 3 predictions, one for each row, but gave 2"),
        (np.zeros((3, 4), dtype=int), r"one prediction for each of 3 rows, but gave an array of shape \(3, 4\)"),
        (np.zeros((3, 4)), "gives no prediction, only scores"),
        (1, "but gave a single 1"),
        (None, "but gave a single None"),
        ("yes", "but gave a single 'yes'"),
        ([1, None, 0], r"row 1 of the batch got nan \(1 of 3 rows .*The row: age=40, sex=None"),
        (["a", None, "b"], "row 1 of the batch got None"),
        ([0.5, np.inf, np.nan], r"row 1 of the batch got inf \(2 of 3 rows"),
        ([(1, 2), (1, 2), (1, 2)], r"shape \(3, 2\)"),
        ([{}, {}, {}], r"row 0 of the batch got \{\}"),
        (np.array(["2024-01-01"] * 3, dtype="datetime64[us]"), "row 0 of the batch got"),
    ],
)
def test_a_bad_prediction_is_refused_with_what_came(returned, message):
    with pytest.raises(ModelError, match=message):
        predicted(returned)


@pytest.mark.parametrize(
    ("score", "classes", "score_range", "message"),
    [
        ([0.1, 0.2], (), None, "should give 3 scores, one for each row, but gave 2"),
        ([0.1, np.nan, 0.2], (), None, "scores that are a finite number, but row 1 of the batch got nan"),
        ([0.1, 0.2, 1.5], (), (0, 1), "between 0 and 1, but row 2 of the batch got 1.5 .*age=60"),
        ([[0.5, 0.5], [0.5, 0.5], [-0.5, 1.5]], (), (0, 1), r"row 2 of the batch got \[-0.5, 1.5\]"),
        ([[0.1] * 3] * 3, (), None, r"scores in 3 columns, but names 0 classes: \(\)"),
        ([[0.1] * 3] * 3, ("a", "b"), None, "scores in 3 columns, but names 2 classes"),
        (["a", "b", "c"], (), None, "a score for each row, .* type object"),
    ],
)
def test_a_bad_score_is_refused_with_what_came(score, classes, score_range, message):
    with pytest.raises(ModelError, match=message):
        scored(score, classes, score_range)


def test_two_columns_without_classes_are_zero_and_one():
    assert scored([[0.5, 0.5]] * 3).classes == (0, 1)
    assert scored([[0.5, 0.5]] * 3, ("n", "y")).classes == ("n", "y")
    assert scored([0.5, 0.5, 0.5], ("n", "y")).classes == ()


def test_rounding_out_of_the_range_is_moved_back():
    assert scored([1 + 1e-9, -1e-9, 0.5], score_range=(0.0, 1.0)).score.tolist() == [1.0, 0.0, 0.5]


def test_probabilities_that_do_not_sum_to_one_are_refused_with_the_row():
    rows = [[0.5, 0.5], [0.5, 0.48], [0.2, 0.8]]
    message = r"a sum of 1, not of 0\.98 .*row 1 of the batch got \[0\.5, 0\.48\] \(1 of 3 rows .*age=40"
    with pytest.raises(ModelError, match=message):
        scored(rows, score_range=(0.0, 1.0))
    assert scored(rows).score.tolist() == rows  # scores that claim nothing
    assert scored([[0.333, 0.333, 0.333]] * 3, ("a", "b", "c"), (0.0, 1.0)).score.shape == (3, 3)  # rounded


def test_no_score_where_one_is_wanted_is_refused():
    with raises(ModelError, name="score"):
        ask(adapt(lambda _: [1, 0, 1]), TABLE, True, False)


def test_an_empty_batch_is_refused():
    with pytest.raises(DataError, match="has no rows"):
        ask(adapt(lambda _: []), TABLE.slice(3, 3), False, True)


def test_a_warning_of_the_model_stays_a_warning():
    def warning(_):
        warnings.warn("careful", UserWarning, stacklevel=1)
        return [1, 0, 1]

    with pytest.warns(UserWarning, match="careful"):
        assert ask(adapt(warning), TABLE, False, True).prediction.tolist() == [1, 0, 1]
