from __future__ import annotations

from pathlib import Path

import joblib
import pytest
from sklearn.dummy import DummyClassifier

from isonomia.cli.options import open_model, parse_model_options
from isonomia.errors import UsageError


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
    with pytest.raises(UsageError, match="expected --model-option as NAME=VALUE"):
        parse_model_options([item])


def test_options_of_a_model_without_a_model_are_refused():
    assert open_model(None, None) is None
    for given in ({"trust_pickle": True}, {"trust": ["a.B"]}, {"options": ["output=logits"]}, {"random_model": True}):
        with pytest.raises(
            UsageError, match="expected --model with --trust-pickle, --trust, --model-option and --rand"
        ):
            open_model(None, None, **given)
    with pytest.raises(UsageError, match="expected --model with --features"):
        open_model(None, "age")
    with pytest.raises(UsageError, match="expected --model with --cache"):
        open_model(None, None, cache=Path("answers.sqlite"))
    with pytest.raises(UsageError, match="expected --cache with --cache-key"):
        open_model(None, None, cache_key="1")


def test_what_was_found_is_told_on_one_line_of_standard_error(tmp_path, capsys):
    joblib.dump(DummyClassifier().fit([[0], [1]], [0, 1]), tmp_path / "m.joblib")
    with pytest.raises(UsageError, match="runs whatever code"):
        open_model(str(tmp_path / "m.joblib"), None)
    open_model(str(tmp_path / "m.joblib"), "age", trust_pickle=True)
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "model: estimator DummyClassifier from pickle m.joblib; takes age; gives 0, 1\n"
    open_model(str(tmp_path / "m.joblib"), "age", trust_pickle=True, quiet=True)
    assert capsys.readouterr().err == ""
