from __future__ import annotations

import gc
import io
import json
import logging
import pickle
import socket
import sys
import threading
import time

import numpy as np
import pytest
from loopback_service import Service
from rich.console import Console
from rich.traceback import Traceback

import isonomia as iso
from isonomia.errors import ModelError, UnreliableModelError, UsageError
from isonomia.models import ask
from isonomia.models.http import HttpModel
from isonomia.populations import Table
from raising import raises

TOKEN = "s3cr3t-t0k3n-0123456789"
TABLE = Table.of({"x": np.arange(50) / 50.0, "sex": ["F", "M"] * 25})
QUICK = {"backoff": 0.01, "timeout": 0.4}
PATIENT = {"backoff": 0.01, "timeout": 20.0}  # where nothing hangs, so that a busy machine does not matter


def labelled(request):
    return {"predictions": ["yes" if row["x"] > 0.5 else "no" for row in request["instances"]]}


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture
def service():
    with Service(labelled).running() as running:
        yield running


@pytest.fixture
def logged():
    """Everything that any library logs."""
    stream, root = io.StringIO(), logging.getLogger()
    handler, level = logging.StreamHandler(stream), root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield stream
    root.setLevel(level)
    root.removeHandler(handler)


def predicted(model, table=TABLE):
    found = ask(model, table, False, True).prediction.tolist()
    model.close()
    return found


EXPECTED = ["yes" if x > 0.5 else "no" for x in TABLE.column("x")]


def test_rows_are_sent_in_parts_and_answers_joined_in_order(service):
    model = HttpModel(service.url, batch_size=7, parallel=4)
    assert predicted(model) == EXPECTED
    sent = [row["x"] for _, request, _ in service.requests for row in request["instances"]]
    assert len(service.requests) == 8
    assert sorted(sent) == TABLE.column("x").tolist()


def test_one_row_a_request(service):
    service.score = lambda request: {"label": "yes" if request["x"] > 0.5 else "no"}
    assert predicted(HttpModel(service.url, request="$row", prediction="label", parallel=5)) == EXPECTED
    assert len(service.requests) == 50


FAULTS = ["500", "503", "429", "close", "truncated", "html", "empty", "nan", "short", "other", "hang", "dripping"]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_failure_is_survived_and_no_row_is_lost_or_counted_twice(service, fault):
    service.fault = lambda number: fault if number % 3 == 0 else None
    model = HttpModel(service.url, batch_size=20, **QUICK)
    assert predicted(model) == EXPECTED
    proper = [row["x"] for _, request, came in service.requests if came is None for row in request["instances"]]
    assert sorted(proper) == TABLE.column("x").tolist()
    assert any(came == fault for _, _, came in service.requests)


@pytest.mark.parametrize(
    ("fault", "kind", "message", "attempts"),
    [
        (
            "503",
            UnreliableModelError,
            "in 3 attempts; the last time, it answered with status 503: the service is not well",
            3,
        ),
        ("500", ModelError, "in 3 attempts; the last time, it answered with status 500", 3),
        ("close", UnreliableModelError, "the connection failed", 3),
        ("hang", UnreliableModelError, r"it gave no complete answer within 0\.4 s", 3),
        ("html", ModelError, "expected JSON, .* The answer begins: <html>the proxy is sorry", 3),
        ("nan", ModelError, "NaN is not a number in JSON", 3),
        ("short", ModelError, "expected 50 predictions at 'predictions', one for each row, but got 49", 3),
        (
            "other",
            ModelError,
            "expected 'predictions' in the answer, but the answer has no 'predictions' among 'error'",
            3,
        ),
        ("422", ModelError, "answered with status 422: the service is not well", 1),
        ("401", ModelError, r"status 401: .*name a token: token_env='VARIABLE'", 1),
        ("413", ModelError, r"status 413: .*batch_size=", 1),
        (
            "307 Location:http://elsewhere.example/score?key=1",
            ModelError,
            "redirect to http://elsewhere.example/score,",
            1,
        ),
        ("429 Retry-After:86400", UnreliableModelError, "asks to wait 86,400 seconds", 1),
    ],
)
def test_a_failure_that_lasts_is_told(service, fault, kind, message, attempts):
    service.fault = lambda _: fault
    with pytest.raises(kind, match=message) as found:
        predicted(HttpModel(service.url, retries=2, **QUICK))
    assert type(found.value) is kind
    assert len(service.requests) == attempts


def test_a_service_that_is_not_there_is_told():
    with raises(UnreliableModelError, 9, 2):
        predicted(HttpModel("http://127.0.0.1:9/score?key=secret", retries=1, **QUICK))


def test_answers_that_cannot_be_read_are_not_asked_for_forever(service):
    service.fault = lambda _: "other"
    with raises(ModelError, 3, "predictions", "error"):
        predicted(HttpModel(service.url, retries=50, **PATIENT))


def test_once_a_request_is_refused_the_others_are_given_up(service):
    service.fault = lambda number: "422" if number == 3 else "503"
    with raises(ModelError, 422, "422"):
        predicted(HttpModel(service.url, batch_size=10, parallel=5, backoff=20, timeout=60))
    assert len(service.requests) in {4, 5}  # the fifth may be given up before it is sent, and none is sent again


def test_what_the_service_asks_to_wait_is_waited(service):
    service.fault = lambda number: "429 Retry-After:1" if number == 0 else None
    assert predicted(HttpModel(service.url, **PATIENT)) == EXPECTED
    assert 0.99 <= service.times[1] - service.times[0] < 5


def test_no_more_requests_a_second_than_allowed_come(service):
    began = time.monotonic()
    assert predicted(HttpModel(service.url, batch_size=5, parallel=8, rate=20)) == EXPECTED
    assert len(service.times) == 10
    assert time.monotonic() - began >= 9 / 20


def test_scores_of_every_class_can_be_named_in_a_property(service):
    service.score = lambda request: {
        "out": [
            {"label": "b", "p": {"c": 0.1, "a": row["x"] * 0.9, "b": 0.9 - row["x"] * 0.9}} for row in request["data"]
        ]
    }
    model = HttpModel(
        service.url,
        request={"data": "$rows"},
        prediction="out[*].label",
        score="out[*].p",
        classes=["a", "b", "c"],
        score_range=(0, 1),
    )
    people = iso.Census({"x": TABLE.column("x")})
    assert iso.check("E[score['a']] <= 0.45 and E[score['c']] >= 0.1", model, people).answer == "holds"
    assert iso.check(iso.E(iso.score["a"]) > 0.45, model, people).answer == "violated"
    assert iso.check("P[prediction == 'b'] >= 1", model, people).answer == "holds"
    with raises(iso.SpecError, "a", "b", "c", name="d", at="'d'"):
        iso.check("P[prediction == 'd'] >= 1", model, people)


def test_probabilities_that_do_not_sum_to_one_are_refused_with_the_row(service):
    service.score = lambda request: {"predictions": [[0.5, 0.6] for _ in request["instances"]]}
    model = HttpModel(service.url, prediction=None, score="predictions", classes=[0, 1], score_range=(0, 1))
    with raises(ModelError, 1, 1.1, 0, 0.5, 0.6):
        ask(model, TABLE, True, False)
    model.close()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"predictions": ["maybe"] * 50}, r"one of the classes \['no', 'yes'\] .* row 0 got 'maybe'"),
        ({"predictions": [{"label": 1}] * 50}, r"a label or a number at 'predictions', but row 0 got \{\"label\": 1\}"),
        ({"predictions": "yes"}, "expected a list of 50 predictions at 'predictions', but got yes"),
        ([1, 2], "the answer is not an object"),
    ],
)
def test_what_is_no_prediction_is_refused_with_what_came(service, answer, message):
    service.score = lambda _: answer
    with pytest.raises(ModelError, match=message):
        predicted(HttpModel(service.url, classes=["no", "yes"], retries=0, **PATIENT))


def test_a_missing_value_is_null_and_what_cannot_be_sent_is_refused(service):
    service.score = lambda request: {"predictions": [row["x"] is None for row in request["instances"]]}
    assert predicted(HttpModel(service.url), Table.of({"x": [1.0, np.nan]})) == [False, True]
    with raises(ModelError, "x", "inf", "float", 1):
        predicted(HttpModel(service.url), Table.of({"x": [1.0, np.inf]}))
    with raises(ModelError, "y", "x"):
        predicted(HttpModel(service.url, features=["y"]), Table.of({"x": [1.0]}))


# The token -----------------------------------------------------------------------------------------------------------


def test_the_token_is_sent_and_in_the_header_that_is_named(service, monkeypatch):
    monkeypatch.setenv("SCORING_TOKEN", f" {TOKEN}\n")
    predicted(HttpModel(service.url, token_env="SCORING_TOKEN"))
    assert service.requests[0][0]["Authorization"] == f"Bearer {TOKEN}"
    predicted(HttpModel(service.url, token_env="SCORING_TOKEN", token_header="X-Api-Key"))
    assert service.requests[1][0]["X-Api-Key"] == TOKEN


@pytest.mark.parametrize(
    "fault", ["401", "500", "503", "429", "close", "hang", "html", "truncated", "307 Location:/elsewhere", None]
)
def test_the_token_shows_up_nowhere(service, monkeypatch, logged, capfd, fault):
    monkeypatch.setenv("SCORING_TOKEN", TOKEN)
    service.fault = lambda _: fault
    # A service that repeats the token in its answer.
    service.score = lambda request: {"predictions": request["instances"], "you are": f"Bearer {TOKEN}"}
    model = HttpModel(service.url, token_env="SCORING_TOKEN", parallel=2, batch_size=30, retries=1, **QUICK)
    with pytest.raises(ModelError) as found:
        iso.check("P[prediction == 'yes'] >= 0.1", model, iso.Census(TABLE.native))
    below = found.tb.tb_next  # this frame itself knows the token
    out = Console(file=io.StringIO(), width=300, record=True)
    out.print(Traceback.from_exception(found.type, found.value, below, show_locals=True, locals_max_string=None))
    error, chain = found.value, []
    while error is not None:
        chain += [error, *error.args]
        error = error.__cause__ or error.__context__
    everything = [out.export_text(), logged.getvalue(), *capfd.readouterr(), repr(chain), repr(model), str(model.name)]
    everything += [model.fingerprint(), repr(pickle.dumps(model)), *map(_locals_of, chain)]
    model.close()
    assert service.requests[0][0]["Authorization"] == f"Bearer {TOKEN}"
    assert TOKEN not in "\n".join(everything)


def _locals_of(error):
    frames, trace = [], getattr(error, "__traceback__", None)
    while trace is not None:
        inside = trace.tb_frame.f_code.co_filename != __file__
        frames.append(dict(trace.tb_frame.f_locals) if inside else {})
        trace = trace.tb_next
    return repr(frames)


SLASHED = "s3cr3t/t0k3n+0123456789=="


@pytest.mark.parametrize(
    "written",
    [
        json.dumps(SLASHED),
        json.dumps(SLASHED).replace("/", r"\/"),  # as PHP writes it
        '"' + "".join(f"\\u{ord(letter):04x}" for letter in SLASHED) + '"',
    ],
)
def test_a_token_that_comes_back_as_a_prediction_is_no_prediction(service, monkeypatch, written):
    monkeypatch.setenv("SCORING_TOKEN", SLASHED)
    service.raw = lambda request: f'{{"predictions": [{", ".join([written] * len(request["instances"]))}]}}'.encode()
    model = HttpModel(service.url, token_env="SCORING_TOKEN", **PATIENT)
    assert predicted(model) == ["[token]"] * 50


@pytest.mark.parametrize(
    "fault", ["200 X-Echo:TOKEN;Set-Cookie:a=TOKEN", "302 Location:http://elsewhere.example/TOKEN"]
)
def test_a_token_that_comes_back_in_a_header_is_not_logged(service, monkeypatch, logged, fault):
    monkeypatch.setenv("SCORING_TOKEN", TOKEN)
    service.fault = lambda _: fault.replace("TOKEN", TOKEN)
    with pytest.raises(ModelError):
        predicted(HttpModel(service.url, token_env="SCORING_TOKEN", retries=0, **PATIENT))
    assert "receive_response_headers" in logged.getvalue()
    assert "[token]" in logged.getvalue()
    assert TOKEN not in logged.getvalue()


def test_an_endless_answer_is_given_up_before_it_fills_the_memory(service, monkeypatch):
    monkeypatch.setattr("isonomia.models.client._LONGEST", 10_000)
    service.raw = lambda _: b" " * 100_000
    with raises(UnreliableModelError, 10000):
        predicted(HttpModel(service.url, retries=1, **PATIENT))


def test_a_compressed_answer_is_not_unpacked(service):
    import gzip
    import tracemalloc

    # Forty kilobytes that would be 32 megabytes, and in the same way four kilobytes that would be four gigabytes.
    packed = gzip.compress(gzip.compress(bytes(1 << 25)))
    service.raw, service.headers = (lambda _: packed), {"Content-Encoding": "gzip, gzip"}
    tracemalloc.start()
    with raises(UnreliableModelError, ("gzip", "gzip")):
        predicted(HttpModel(service.url, retries=1, headers={"accept-encoding": "gzip"}, **PATIENT))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1 << 24
    sent = {name.lower(): value for name, value in service.requests[0][0].items()}
    assert sent["accept-encoding"] == "identity"
    service.raw, service.headers = None, {"Content-Encoding": "identity"}
    assert predicted(HttpModel(service.url, **PATIENT)) == EXPECTED


@pytest.mark.parametrize(
    ("location", "there"),
    [
        ("https://elsewhere.example:8443/score?key=1", "https://elsewhere.example:8443/score,"),
        ("//u:p@elsewhere.example:81/x", "http://elsewhere.example:81/x,"),
        ("http://[::1]:8080/x", r"http://\[::1\]:8080/x,"),
        ("/v2/score", r"http://127\.0\.0\.1:\d+/v2/score,"),
        ("http://elsewhere.example:99999999/x", "http://elsewhere.example:99999999/x,"),
    ],
)
def test_the_advice_about_a_redirect_keeps_the_port(service, location, there):
    service.fault = lambda _: f"307 Location:{location}"
    with pytest.raises(ModelError, match=f"redirect to {there} which is not followed"):
        predicted(HttpModel(service.url, **PATIENT))


def test_an_answer_with_a_byte_order_mark_is_read_and_one_nested_too_deep_is_told(service):
    service.raw = lambda _: b"\xef\xbb\xbf" + json.dumps({"predictions": EXPECTED}).encode()
    assert predicted(HttpModel(service.url, **PATIENT)) == EXPECTED
    service.raw = lambda _: b"[" * 200_000
    with pytest.raises(ModelError, match="expected JSON, but maximum recursion depth"):
        predicted(HttpModel(service.url, retries=0, **PATIENT))


def test_an_answer_that_is_not_utf_8_is_refused_and_its_labels_are_not_made_alike(service):
    labels = [b'"refus\xe9"', b'"refus\xe8"'] * len(EXPECTED)
    service.raw = lambda _: b'{"predictions": [' + b", ".join(labels[: len(EXPECTED)]) + b"]}"
    with raises(ModelError, 2, "UTF-8"):
        predicted(HttpModel(service.url, retries=1, **PATIENT))
    service.raw = lambda _: json.dumps({"predictions": ["\ufffd"] * len(EXPECTED)}, ensure_ascii=False).encode()
    assert predicted(HttpModel(service.url, **PATIENT)) == ["\ufffd"] * len(EXPECTED)


def test_the_token_is_in_no_record(service, monkeypatch):
    monkeypatch.setenv("SCORING_TOKEN", TOKEN)
    model = HttpModel(service.url, token_env="SCORING_TOKEN")
    verdict = iso.check("P[prediction == 'yes'] >= 0.1", model, iso.Census(TABLE.native))
    model.close()
    assert verdict.answer == "holds"
    assert TOKEN not in json.dumps(verdict.to_dict()) + str(verdict)
    assert verdict.model["name"] == service.url


@pytest.mark.parametrize(("value", "message"), [(None, "is not set"), ("", "is empty"), ("a\nb", "line break")])
def test_a_token_that_cannot_be_sent_is_told_by_its_variable(service, monkeypatch, value, message):
    monkeypatch.delenv("SCORING_TOKEN", raising=False)
    if value is not None:
        monkeypatch.setenv("SCORING_TOKEN", value)
    with pytest.raises(ModelError, match=f"SCORING_TOKEN.*{message}"):
        predicted(HttpModel(service.url, token_env="SCORING_TOKEN"))
    assert not service.requests


def test_an_interruption_does_not_show_the_token(service, monkeypatch):
    monkeypatch.setenv("SCORING_TOKEN", TOKEN)
    model = HttpModel(service.url, token_env="SCORING_TOKEN")

    def interrupt(*_, **__):
        raise KeyboardInterrupt(TOKEN)

    monkeypatch.setattr("httpx.Client.stream", interrupt)
    with pytest.raises(KeyboardInterrupt) as found:
        predicted(model)
    assert found.value.__context__ is None
    assert not found.value.args
    model.close()


# What can be told ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("url", "ftp://host/x", ["https://host/score", "ftp://host/x"]),
        ("url", "http://me:pa55@host/x", ["token_env='VARIABLE'"]),
        ("url", "http://host:99999/x", ["https://host/score", "http://host:99999/x"]),
        ("url", "http://[::1/x", ["https://host/score", "http://[::1/x"]),
        ("url", "http://host/x\r\nHost: elsewhere", ["https://host/score"]),
        ("headers", {"X-A": "pa55\r\nHost: elsewhere"}, ["X-A"]),
        ("headers", {"X A": "b"}, ["X-Client", "X A"]),
        ("token_header", "X\r\nY", ["X-Client"]),
        ("timeout", float("inf"), [0, "inf"]),
        ("backoff", float("nan"), [0, "nan"]),
        ("batch_size", 0, [1, 0]),
        ("parallel", 1.5, [1, 1.5]),
        ("timeout", 0, [0]),
        ("rate", -1, [0, -1]),
        ("retries", True, [0, "True"]),
        ("classes", ["a", "a"], [("a", "a")]),
        ("score_range", (1, 0), [(1, 0)]),
        ("features", "x", ["x"]),
        ("headers", {"a": 1}, ["X-Client", "audit"]),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(name, value, shown):
    with raises(UsageError, *shown, name=name) as found:
        HttpModel(**{"url": "http://host/score", name: value})
    assert "pa55" not in str(found.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prediction": None}, "a prediction or a score"),
        ({"prediction": "a..b"}, "not a path into an answer"),
        ({"token_env": "a token!"}, "the name of an environment variable that holds the token, not a token"),
        ({"request": '{"rows": []}'}, "a mark where the rows belong"),
    ],
)
def test_options_that_make_no_sense_are_refused_in_words(options, message):
    with pytest.raises(UsageError, match=message) as found:
        HttpModel(**{"url": "http://host/score", **options})
    assert "a token!" not in str(found.value)


def test_without_httpx_the_command_that_installs_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    with raises(UsageError, "isonomia[http]", "httpx", cause=ModuleNotFoundError):
        predicted(HttpModel("http://127.0.0.1:9/score"))


def test_an_address_is_shown_without_what_may_be_secret_in_it():
    model = HttpModel("http://host:8000/score?key=pa55#x", headers={"X-Api-Key": "pa55"})
    assert model.name == "http://host:8000/score"
    assert "pa55" not in repr(model) + model.describe() + model.fingerprint() + repr(model._sender)


def test_the_fingerprint_tells_descriptions_and_versions_apart():
    found = {
        HttpModel("http://host/a", **options).fingerprint()
        for options in ({}, {"version": "2"}, {"prediction": "p"}, {"request": "$rows"}, {"headers": {"a": "b"}})
    }
    assert len(found) == 5
    assert HttpModel("http://host/a").fingerprint() in found


def test_a_model_that_is_forgotten_closes_its_connections(service):
    model = HttpModel(service.url)
    ask(model, TABLE, False, True)
    del model
    gc.collect()  # an open socket would be a warning, and warnings are errors here


def test_a_model_is_asked_in_time_although_the_answer_drips(service):
    service.fault = lambda _: "dripping"
    with raises(UnreliableModelError, 0.3):  # in the end the whole answer would come, and be right
        predicted(HttpModel(service.url, retries=0, timeout=0.3))


def test_a_service_is_not_sent_the_outcome_and_the_verdict_says_what_it_is_sent():
    people = {"age": np.arange(20, 60), "repaid": np.arange(40) % 2, "sex": np.array(["F", "M", "M", "F"] * 10)}
    claim = iso.fairness.equal_opportunity("sex", "F", "M", outcome="repaid", ratio=0.8)
    echo = lambda request: {"predictions": [row.get("repaid", 1) for row in request["instances"]]}  # noqa: E731
    with Service(echo).running() as service:
        verdict = iso.check(claim, HttpModel(service.url), iso.Census(people))
        rows = [row for request in service.served for row in request["instances"]]
        told = iso.check("P[prediction == 1 | sex == 'F'] >= 0.1", HttpModel(service.url), iso.Census(people))
    assert {tuple(row) for row in rows} == {("age", "sex")}
    assert any("is given 2 of 3 columns: age, sex, and not repaid, the outcome" in remark for remark in verdict.remarks)
    assert any("is given 3 of 3 columns: age, repaid, sex" in remark for remark in told.remarks)


APPLICANTS = {
    "years": np.arange(40),
    "paid": np.arange(40) % 2,
    "sex": np.array(["F", "M", "M", "F"] * 10),
    "region": np.array(["north", "south"] * 20),
}
ODDS = "P[prediction == 1 | sex == 'F' and paid == {0}] >= 0.8 * P[prediction == 1 | sex == 'M' and paid == {0}]"


@pytest.mark.parametrize(
    "claim",
    [
        "P[prediction == 1 | paid == 1] >= 0.8",
        "P[prediction == 1 | paid == 1] >= P[prediction == 1 | paid == 0] + 0.2",
        "P[paid == 1 | prediction == 1] >= 0.8",
        f"{ODDS.format(1)} and {ODDS.format(0)}",
        "for s in sex: P[prediction == 1 | sex == s and 1 == paid] >= 0.8",
        "P[prediction == 1 | paid] >= 0.5",
        "P[not (prediction == 1 and paid)] >= 0.5",
        "P[prediction == 1 | paid + 0 == 1] >= 0.5",
        "P[prediction == 1 | paid is missing] >= 0.5",
        "P[prediction >= paid] >= 0.4",
        "P[score > 0.5 | paid == 1] >= P[score > 0.5 | paid == 0] + 0.2",
        "P[score > 0.5 | paid == 'yes'] >= P[score > 0.5 | paid == 'no'] + 0.2",
        "P[prediction == 1] / P[paid == 1] >= 0.9",
        "E[score] - E[paid] <= 0.1",
        "E[paid | prediction == 1] >= 0.4",
        "P[prediction == other.prediction | paid == other.paid] >= 0.3",
        "for y in paid: P[prediction == y | paid == y] >= 0.4",
        "for y in paid: P[prediction == 1 | paid == y and sex == 'F'] >= P[prediction == 1 | paid == y and sex == 'M']",
    ],
)
def test_a_service_is_sent_nothing_while_a_condition_may_name_the_outcome(service, claim):
    with pytest.raises(UsageError) as caught:
        iso.check(claim, HttpModel(service.url), iso.Census(APPLICANTS))
    assert caught.value.name == "paid"
    assert "features=[...]" in str(caught.value)
    assert not service.requests


@pytest.mark.parametrize("features", [["years"], ["years", "paid"]])
def test_a_service_with_features_is_sent_these_whatever_the_condition(service, features):
    service.score = lambda request: {"predictions": [1 for _ in request["instances"]]}
    model = HttpModel(service.url, features=features)
    iso.check("P[prediction == 1 | paid == 1] >= 0.8", model, iso.Census(APPLICANTS))
    assert {tuple(row) for request in service.served for row in request["instances"]} == {tuple(features)}


@pytest.mark.parametrize(
    "claim",
    [
        "P[prediction == 1 | sex == 'F'] >= 0.1",
        "P[prediction == 1 | region == 'north'] >= 0.8 * P[prediction == 1 | region == 'south']",
        "for r in region: P[prediction == 1 | region == r] >= 0.1",
        "for r in region: P[prediction == 1 | region == r] >= 0.8 * P[prediction == 1]",
        "P[prediction == 1 | region in {'north'}] >= 0.8 * P[prediction == 1 | region == 'south']",
        "P[abs(prediction - other.prediction) <= abs(years - other.years) + (region != other.region)] >= 0.1",
    ],
)
def test_a_group_in_a_condition_is_sent_to_a_service_without_questions(service, claim):
    service.score = lambda request: {"predictions": [1 for _ in request["instances"]]}
    assert iso.check(claim, HttpModel(service.url), iso.Census(APPLICANTS)).holds
    assert set(service.served[0]["instances"][0]) == set(APPLICANTS)


def test_a_search_of_groups_sends_a_service_no_column_that_may_be_the_outcome(service):
    with pytest.raises(UsageError) as caught:
        iso.groups.search(
            iso.Sample(APPLICANTS),
            ["sex"],
            "P[prediction == 1 and paid == 1 | group] >= 0.3",
            model=HttpModel(service.url),
            at_least=5,
        )
    assert caught.value.name == "paid"
    assert not service.requests


def test_a_search_of_groups_does_not_send_the_outcome(service):
    service.score = lambda request: {"predictions": [1 for _ in request["instances"]]}
    people = iso.Sample(APPLICANTS)
    iso.groups.search(people, ["sex"], "P[prediction == paid | group] >= 0.3", model=HttpModel(service.url), at_least=5)
    assert {name for request in service.served for row in request["instances"] for name in row} == set(APPLICANTS) - {
        "paid"
    }


def test_responsiveness_sends_a_service_no_column_of_who_that_may_be_the_outcome(service):
    interventions = iso.Interventions([iso.interventions.Feature("years", "integer", 0, 50)])
    prop = iso.responsiveness.preclusion(interventions, 1, who="prediction == 0 and paid == 1 and years < 20")
    with pytest.raises(UsageError) as caught:
        iso.check(prop, HttpModel(service.url), iso.Census(APPLICANTS))
    assert caught.value.name == "paid"
    assert not service.requests


def as_label(request):
    return [{"id": 7, "label": label} for label in labelled(request)["predictions"]]


@pytest.mark.parametrize(
    ("score", "request_form", "path"),
    [
        (lambda request: {"predictions": as_label(request)}, {"instances": "$rows"}, "predictions[*].label"),
        (lambda request: {"result": {"the labels": as_label(request)}}, None, "result['the labels'][*].label"),
        (lambda request: labelled(request)["predictions"], None, "$"),
        (lambda row: {"out": {"label": "yes" if row["x"] > 0.5 else "no"}}, "$row", "out.label"),
    ],
)
def test_an_answer_of_another_form_is_told_with_the_option_that_reads_it(service, score, request_form, path):
    service.score = score
    form = {} if request_form is None else {"request": request_form}
    with pytest.raises(ModelError) as raised:
        predicted(HttpModel(service.url, **form, **QUICK))
    assert f". Say where the predictions are in it: prediction={path!r}; at the command line" in str(raised.value)
    assert f"--model-option 'prediction={path}'. The answer begins" in str(raised.value)
    assert predicted(HttpModel(service.url, prediction=path, **form, **PATIENT)) == EXPECTED


def test_a_wrong_label_is_no_question_of_where_it_is(service):
    with pytest.raises(ModelError) as raised:
        predicted(HttpModel(service.url, classes=["no", "maybe"], **QUICK))
    assert "Say where" not in str(raised.value)


@pytest.mark.parametrize("what", ["headers", "body", "nothing"])
def test_one_deadline_covers_a_whole_exchange_however_slowly_bytes_come(what):
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = threading.Event()

        def drip():
            connection, _ = server.accept()
            with connection:
                connection.recv(65_536)
                head = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\nX-Long: "
                connection.sendall(head + b"\r\n\r\n" if what == "body" else head)
                while what != "nothing" and not done.wait(0.05):
                    try:
                        connection.sendall(b"a")
                    except OSError:
                        return
                done.wait(30)

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        model = HttpModel(f"http://127.0.0.1:{server.getsockname()[1]}/", timeout=0.5, retries=0)
        with raises(UnreliableModelError, 0.5, "127.0.0.1"):
            ask(model, TABLE, False, True)
        done.set()
        model.close()
        thread.join(30)


def test_a_connection_that_is_used_again_has_a_new_deadline(service):
    model = HttpModel(service.url, batch_size=10, timeout=60.0)
    assert predicted(model) == EXPECTED
    assert predicted(model) == EXPECTED


def test_equal_keys_in_an_answer_are_an_error():
    with Service(labelled, raw=lambda _: b'{"predictions": ["yes"], "predictions": ["no"]}').running() as service:
        model = HttpModel(service.url, **PATIENT)
        with raises(ModelError, "predictions", "yes", "no"):
            ask(model, Table.of({"x": [1.0]}), False, True)
        model.close()


def _watched(model, rows):
    watch = iso.Watch("P[prediction == repaid] >= 0.1", alpha=0.05, model=model, outcome="repaid", id="id")
    watch.update({"id": range(40), **{name: column for name, column in rows.items() if name != "repaid"}})
    watch.label(range(40), rows["repaid"])


OUTCOME_USES = {
    "accuracy": lambda model, rows: iso.check("P[prediction == repaid] >= 0.1", model, iso.Sample(rows)),
    "census": lambda model, rows: iso.check("P[prediction != repaid] >= 0.1", model, iso.Census(rows)),
    "opportunity": lambda model, rows: iso.check(
        iso.fairness.equal_opportunity("sex", outcome="repaid", positive="yes", favourable="yes", ratio=0.1),
        model,
        iso.Sample(rows),
    ),
    "for each group": lambda model, rows: iso.check(
        "for g in sex: P[prediction == repaid | sex == g] >= 0.1", model, iso.Sample(rows)
    ),
    "principal": lambda model, rows: iso.check(
        iso.PrincipalFairness(attribute="sex", outcome="repaid"), model, iso.Census(rows)
    ),
    "measure": lambda model, rows: iso.measure(rows, model, by="sex", outcome="repaid", positive="yes"),
    "watch": _watched,
}


@pytest.mark.parametrize("use", OUTCOME_USES)
def test_no_audit_sends_an_outcome_to_a_service(service, use):
    rows = {"x": np.arange(40) / 40.0, "sex": ["F", "M"] * 20, "repaid": ["yes", "yes", "no", "no"] * 10}
    model = HttpModel(service.url, **PATIENT)
    OUTCOME_USES[use](model, rows)
    model.close()
    assert service.requests
    sent = [name for _, request, _ in service.requests for row in request["instances"] for name in row]
    assert set(sent) - {"id"} == {"x", "sex"}
