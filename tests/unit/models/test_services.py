from __future__ import annotations

import json
import sys
from datetime import date

import numpy as np
import pytest

from isonomia.errors import ModelError, SpecError, UsageError
from isonomia.models import ask
from isonomia.models.executable import ExecutableModel
from isonomia.models.http import HttpModel
from isonomia.models.loader import read_service
from isonomia.models.payloads import AnswerPath, RequestTemplate, labels, plain_rows, scores
from isonomia.populations import Table
from raising import raises

ROWS = plain_rows(Table.of({"a": [1, 2], "b": ["x", None], "c": [True, False], "d": [0.5, np.nan]}), None, "it")
FIRST = {"a": 1, "b": "x", "c": True, "d": 0.5}


@pytest.mark.parametrize(
    ("request_", "body", "single"),
    [
        ('{"instances": $rows}', {"instances": [FIRST, {"a": 2, "b": None, "c": False, "d": None}]}, False),
        (
            '{"instances": "$rows", "v": 1}',
            {"instances": [FIRST, {"a": 2, "b": None, "c": False, "d": None}], "v": 1},
            False,
        ),
        ({"x": [{"y": "$matrix"}]}, {"x": [{"y": [[1, "x", True, 0.5], [2, None, False, None]]}]}, False),
        ("$columns", {"a": [1, 2], "b": ["x", None], "c": [True, False], "d": [0.5, None]}, False),
        ('{"one": $row}', {"one": FIRST}, True),
        ("[$vector]", [[1, "x", True, 0.5]], True),
        ('{"cost": "in $", "x": $vector}', {"cost": "in $", "x": [1, "x", True, 0.5]}, True),
    ],
)
def test_a_template_is_filled_with_the_rows(request_, body, single):
    template = RequestTemplate.of(request_)
    assert json.loads(template.body(ROWS)) == body
    assert template.single is single


@pytest.mark.parametrize(
    ("request_", "shown", "cause"),
    [
        ("{}", ["{}", "$rows", "$matrix", "$columns"], None),
        ('{"x": $row, "y": $rows}', ["$row", "$rows"], None),
        ('{"x": $rowz}', ["$rowz", "$row", "$matrix"], None),
        ('{"x": $rows', ['{"x": $rows'], json.JSONDecodeError),
    ],
)
def test_a_template_without_sense_is_refused(request_, shown, cause):
    with raises(UsageError, *shown, name="request", cause=cause or type(None)):
        RequestTemplate.of(request_)


ANSWER = {"p": [{"label": "a", "s": [0.1, 0.9]}, {"label": "b", "s": [0.8, 0.2]}], "a.b": {"c-d": 3}}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("p[*].label", ["a", "b"]),
        ("$.p[*].label", ["a", "b"]),
        ("p[*].s[1]", [0.9, 0.2]),
        ("p[-1].s", [0.8, 0.2]),
        ("p[*]['s'][*]", [[0.1, 0.9], [0.8, 0.2]]),
        ("['a.b'].c-d", 3),
        ("", ANSWER),
        ("$", ANSWER),
    ],
)
def test_a_path_finds_what_is_there(path, found):
    assert AnswerPath.of(path).find(ANSWER) == found


@pytest.mark.parametrize(
    ("path", "shown", "meant"),
    [
        ("q[*]", ["q", ("'p'", "'a.b'")], None),
        ("p[*].lable", ["answer.p[0]", "lable", ("'label'", "'s'")], "label"),
        ("p[2]", ["answer.p", 2, "[2]"], None),
        ("p.label", ["answer.p", "object"], None),
        ("p[*].label[*]", ["answer.p[0].label", "list"], None),
    ],
)
def test_a_path_that_leads_nowhere_says_where_it_ends(path, shown, meant):
    with raises(ModelError, path, *shown, meant=meant):
        AnswerPath.of(path).find(ANSWER)


@pytest.mark.parametrize("path", ["a b", "[x]", "a[", "a..b", "[*", 3])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(UsageError, match="path into"):
        AnswerPath.of(path)


def test_labels_take_the_form_of_the_declared_classes():
    assert [type(label) for label in labels([1.0, 0, True], 3, (0, 1), "here")] == [int, int, int]
    assert labels(["a", None], 2, ("a", "b"), "here") == ["a", None]
    with raises(ModelError, "c", ("a", "b"), "here"):
        labels(["a", "c"], 2, ("a", "b"), "here")


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        ([0.5], [2, 1]),
        ([0.5, "high"], [1, "high"]),
        ([0.5, True], [1, "true"]),
        ([[0.5, 0.5], [1.0]], [2, ("a", "b"), 1, "[1.0]"]),
        ([[0.5, 0.5], 1.0], [(0, 2)]),
        ([{"a": 1.0}, {"a": 1.0}], [("a", "b"), 0, "classes=[...]"]),
    ],
)
def test_what_are_no_scores_is_refused(found, shown):
    with raises(ModelError, "here", *shown):
        scores(found, 2, ("a", "b"), "here")


def test_scores_by_name_come_in_the_order_of_the_classes():
    assert scores([{"b": 0.9, "a": 0.1}], 1, ("a", "b"), "here") == [[0.1, 0.9]]
    assert scores([{"1": 0.9, "0": 0.1}], 1, (0, 1), "here") == [[0.1, 0.9]]


def test_values_become_plain():
    table = Table.of({"day": [date(2024, 5, 1), None], "big": [2**60, 3]})
    assert plain_rows(table, None, "it").by_column() == {"day": ["2024-05-01T00:00:00", None], "big": [2**60, 3]}
    with raises(ModelError, "odd", 1, 2, 0):
        plain_rows(Table.of({"odd": [(1, 2), (3, 4, 5)]}), None, "it")


# Descriptions --------------------------------------------------------------------------------------------------------


def described(folder, text):
    file = folder / "service.toml"
    file.write_text(text)
    return read_service(file)


def test_a_service_is_described_in_a_few_lines(tmp_path):
    model = described(
        tmp_path,
        """
        [model]
        url = "http://127.0.0.1:8000/score"
        request = '{"instances": $rows}'
        prediction = "predictions[*].label"
        score = "predictions[*].probabilities"
        classes = ["no", "yes"]
        score_range = [0, 1]
        headers = {X-Client = "audit"}
        token_env = "SCORING_TOKEN"
        timeout = 10
        retries = 5
        rate = 50
        """,
    )
    assert isinstance(model, HttpModel)
    assert (model.classes, model.score_range, model.timeout, model.rate) == (("no", "yes"), (0.0, 1.0), 10, 50)


def test_a_program_is_described_and_runs_beside_its_description(tmp_path):
    (tmp_path / "score.py").write_text("import sys\nfor line in list(sys.stdin)[1:]: print(line.strip() > '1')\n")
    model = described(tmp_path, f'[model]\ncommand = ["{sys.executable}", "score.py"]\nfeatures = ["a"]\n')
    assert isinstance(model, ExecutableModel)
    assert ask(model, Table.of({"a": [1, 2]}), False, True).prediction.tolist() == [False, True]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model = 3", r"expected one table, \[model\]"),
        ('[modle]\nurl = "http://a/b"', "but there is modle. Did you mean 'model'"),
        ("[model]\ntimeout = 3", "expected url, for a service, or command"),
        (
            '[model]\nurl = "http://a/b"\ntime_out = 3',
            r"line 3, column 1: .*\[model\] has no key 'time_out'.*Did you mean 'timeout'",
        ),
        ('[model]\nurl = "http://a/b"\nretries = -1', r"line 3, column 1: .*retries should be a whole number"),
        ('[model]\ncommand = "score --fast"', r"line 2, column 1: .*Write \['score', '--fast'\]"),
        ('[model]\nurl = "http://a/b"\n_sender = 3', "has no key '_sender'"),
        ("[model", "is not valid TOML"),
        ("[model]\ntimeout = 1" + "0" * 5000, "is not valid TOML"),
    ],
)
def test_a_description_that_makes_no_sense_is_refused_with_its_line(tmp_path, text, message):
    with pytest.raises(SpecError, match=message):
        described(tmp_path, text)


def test_a_description_that_is_not_there_is_told(tmp_path):
    with raises(UsageError, "none.toml", cause=FileNotFoundError):
        read_service(tmp_path / "none.toml")
