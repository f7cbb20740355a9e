from __future__ import annotations

from pathlib import Path

import joblib
import pytest
from sklearn.dummy import DummyClassifier

from isonomia.cli.options import ModelReading, parse_model_options
from isonomia.errors import UsageError
from raising import raises


def test_options_are_numbers_truth_values_lists_tables_or_text():
    told = [
        "output=logits",
        "classes=no,yes",
        "batch_size=64",
        "timeout=2.5",
        "keep_alive=true",
        'inputs={x = ["a", "b"]}',
        "labels=0,1",
        "url=http://here?a=b",
    ]
    assert parse_model_options(told) == {
        "output": "logits",
        "classes": ["no", "yes"],
        "batch_size": 64,
        "timeout": 2.5,
        "keep_alive": True,
        "inputs": {"x": ["a", "b"]},
        "labels": [0, 1],
        "url": "http://here?a=b",
    }


@pytest.mark.parametrize("item", ["logits", "=3", "a b=3", "output="])
def test_an_option_of_another_form_is_refused(item):
    with raises(UsageError, "--model-option", "NAME=VALUE", "logits"):
        parse_model_options([item])


def test_options_of_a_model_without_a_model_are_refused():
    assert ModelReading().open(None) is None
    for given in (
        {"trust_pickle": True},
        {"trust": ["a.B"]},
        {"model_options": ["output=logits"]},
        {"random_model": True},
    ):
        with raises(UsageError, "--model", "--trust-pickle", "--trust", "--model-option"):
            ModelReading(**given).open(None)
    with raises(UsageError, "--model", "--features"):
        ModelReading("age").open(None)
    with raises(UsageError, "--model", "--cache"):
        ModelReading(cache=Path("answers.sqlite")).open(None)
    with raises(UsageError, "--cache", "--cache-key"):
        ModelReading(cache_key="1").open(None)


def test_what_was_found_is_told_on_one_line_of_standard_error(tmp_path, capsys):
    joblib.dump(DummyClassifier().fit([[0], [1]], [0, 1]), tmp_path / "m.joblib")
    with raises(UsageError, "m.joblib", "trust_pickle=True"):
        ModelReading().open(str(tmp_path / "m.joblib"))
    ModelReading("age", trust_pickle=True).open(str(tmp_path / "m.joblib"))
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "model: estimator DummyClassifier from pickle m.joblib; takes age; gives 0, 1\n"
    ModelReading("age", trust_pickle=True).open(str(tmp_path / "m.joblib"), quiet=True)
    assert capsys.readouterr().err == ""
