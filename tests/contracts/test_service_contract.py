"""The suite that every model must pass, over real services and real programs; and audits through their failures."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from threading import BoundedSemaphore

import numpy as np
import pandas as pd
import pytest
from contract_cases import LOGISTIC, Case, classified
from contract_people import FEATURES, FRAME, NUMBERS
from loopback_service import GARBLED, Service
from test_model_contract import (  # noqa: F401  (the suite itself)
    table,
    test_a_batch_gets_the_answers_of_its_rows,
    test_a_missing_column_is_an_error_that_names_it,
    test_a_model_answers_as_its_own_library_does,
    test_a_model_answers_once_for_every_row,
    test_a_model_gives_scores_or_says_that_it_has_none,
    test_a_model_says_what_it_is_in_one_line,
    test_a_model_survives_pickling_and_keeps_its_fingerprint_and_answers,
    test_asking_for_one_thing_gives_the_same_as_asking_for_both,
    test_asking_leaves_the_table_alone,
    test_predictions_and_classes_are_values_that_a_property_can_name,
    test_the_kind_of_table_does_not_change_the_answer,
    test_the_order_of_columns_does_not_change_the_answer,
    test_threads_that_ask_at_once_get_the_answers_of_one,
)

import isonomia as iso
from isonomia.errors import ModelError
from isonomia.models import adapt
from isonomia.models.cache import Cached
from isonomia.models.executable import ExecutableModel
from isonomia.models.http import HttpModel
from isonomia.models.session import ModelSession, open_session

WEIGHTS = {"age": float(LOGISTIC.coef_[0, 0]), "debt": float(LOGISTIC.coef_[0, 1])}
OFFSET = float(LOGISTIC.intercept_[0])

SCORING = f"""
from math import exp

def probability(row):
    age, debt = float(row["age"]), float(row["debt"])
    return 1 / (1 + exp(-({OFFSET!r} + {WEIGHTS["age"]!r} * age + {WEIGHTS["debt"]!r} * debt)))
"""
CSV_LINES = """
import csv, sys
for row in csv.DictReader(sys.stdin):
    print("good" if probability(row) > 0.5 else "bad", flush=True)
"""
CSV_TABLE = """
import csv, sys
print("prediction,score[bad],score[good]", flush=True)
for row in csv.DictReader(sys.stdin):
    p = probability(row)
    print(f'{"good" if p > 0.5 else "bad"},{1 - p!r},{p!r}', flush=True)
"""
JSON_LINES = """
import json, sys
for line in sys.stdin:
    p = probability(json.loads(line))
    print(json.dumps({"prediction": "good" if p > 0.5 else "bad", "score": {"good": p, "bad": 1 - p}}), flush=True)
"""
scope: dict = {}
exec(SCORING, scope)


def scored(request):
    rows = request["instances"]
    found = [scope["probability"](row) for row in rows]
    return {"predictions": [{"label": "good" if p > 0.5 else "bad", "p": [1 - p, p]} for p in found]}


def by_column(request):
    rows = pd.DataFrame(request["columns"]).to_dict("records")
    return {"outputs": {"label": ["good" if scope["probability"](row) > 0.5 else "bad" for row in rows]}}


DESCRIBED = {
    "prediction": "predictions[*].label",
    "score": "predictions[*].p",
    "classes": ["bad", "good"],
    "score_range": (0, 1),
    "features": FEATURES,
    "backoff": 0.01,
    "timeout": 0.5,
}
PATIENT = {**DESCRIBED, "timeout": 1.0}  # so that a busy machine does not make good answers late


@pytest.fixture(scope="module", autouse=True)
def no_proxy():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "*")
        yield


@pytest.fixture(scope="module")
def services():
    with Service(scored).running() as rows, Service(by_column).running() as columns:
        yield rows, columns


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("programs")
    for name, code in {"lines": CSV_LINES, "table": CSV_TABLE, "objects": JSON_LINES}.items():
        (found / f"{name}.py").write_text(SCORING + code)
    return found


def http(services, **options):
    return HttpModel(services[0].url, **{**DESCRIBED, **options})


def program(folder, name, **options):
    return ExecutableModel([sys.executable, f"{name}.py"], folder=folder, features=FEATURES, **options)


EXPECTED = classified(LOGISTIC, NUMBERS)
ONE_BY_ONE = {"request": '{"instances": [$row]}', "prediction": "predictions[0].label", "score": "predictions[0].p"}
BY_COLUMN = {"request": {"columns": "$columns"}, "prediction": "outputs.label", "features": FEATURES}
JSON = {"format": "jsonl", "answers": "jsonl", "classes": ["bad", "good"]}

# Each made of the running services and the folder of programs, and whether it gives scores.
MODELS = {
    "http in parts": (lambda s, _: http(s, batch_size=25, parallel=3), True),
    "http row by row": (lambda s, _: http(s, **ONE_BY_ONE), True),
    "http by column": (lambda s, _: HttpModel(s[1].url, **BY_COLUMN), False),
    "program with lines": (lambda _, f: program(f, "lines"), False),
    "program with a table": (lambda _, f: program(f, "table", answers="csv", score_range=(0, 1)), True),
    "program with json": (lambda _, f: program(f, "objects", **JSON), True),
    "kept program with lines": (lambda _, f: program(f, "lines", keep_alive=True), False),
    "kept program with a table": (lambda _, f: program(f, "table", answers="csv", keep_alive=True), True),
    "cached estimator": (lambda _, f: Cached(LOGISTIC, f / "estimator.sqlite"), True),
    "cached http": (lambda s, f: Cached(http(s), f / "http.sqlite", key="1"), True),
    "watched estimator": (lambda *_: open_session(adapt(LOGISTIC)), True),
    "guarded estimator": (lambda *_: ModelSession(adapt(LOGISTIC), gate=BoundedSemaphore()), True),
}


@pytest.fixture(scope="module", params=MODELS)
def case(request, services, folder):
    make, scores = MODELS[request.param]
    model = make(services, folder)
    yield model, Case(lambda _: model, scores, EXPECTED)
    if hasattr(model, "close"):
        model.close()


# Audits through failures ---------------------------------------------------------------------------------------------

CLAIM = "P[prediction == 'good' | sex == 'F'] / P[prediction == 'good' | sex == 'M'] >= 0.6"
PEOPLE = pd.concat([FRAME.assign(debt=FRAME.debt + shift) for shift in np.linspace(-1, 1, 25)], ignore_index=True)

FAULTS = (
    "500",
    None,
    "close",
    "slow",
    "html",
    None,
    "429 Retry-After:0",
    "truncated",
    None,
    "hang",
    None,
    "short",
    "503",
    None,
)


def failing(number, *, garbled_once=False):
    """The fault of a request. One that hangs costs the whole time-out, so two do; the others go on to the end."""
    found, before = FAULTS[number % len(FAULTS)], number // len(FAULTS)
    if found == "hang" and before >= 2:
        return "close"
    return None if garbled_once and before and found in GARBLED else found


def told(verdict):
    # Which rows are asked about again depends on which requests fail first.
    return replace(verdict, seconds=0.0, model={}, queries=None, repeated=None).to_dict()


def test_the_same_verdict_comes_through_scikit_learn_http_and_programs(services, folder):
    models = [
        LOGISTIC,
        http(services),
        http(services, batch_size=40, parallel=3),
        program(folder, "lines", keep_alive=True),
        program(folder, "objects", **JSON),
    ]
    found = [told(iso.check(CLAIM, model, iso.Sample(PEOPLE), seed=4, growth=1.2)) for model in models]
    for model in models[1:]:
        model.close()
    assert found[0]["answer"] != "undecided"
    assert all(other == found[0] for other in found[1:])


class Noting:
    """Notes how many were asked about ahead, and were not needed."""

    unused = 0

    def begin(self, text): ...

    def advance(self, progress):
        self.unused = max(self.unused, progress.unused)

    def end(self): ...


@pytest.mark.parametrize(("workers", "garbled_once", "ahead"), [(1, False, 0.0), (3, True, 0.25), (3, False, 0.25)])
def test_an_audit_through_failures_gives_the_same_verdict_and_count(workers, garbled_once, ahead):
    people = iso.Sample(PEOPLE)
    expected = iso.check(CLAIM, LOGISTIC, people, seed=4, growth=1.2)
    # Three garbled answers to one request are an error, and which requests meet them is a matter of time.
    faults = partial(failing, garbled_once=garbled_once)
    with Service(scored, fault=faults, most_garbled=2).running() as service:
        model = HttpModel(service.url, **{**PATIENT, "batch_size": 100, "parallel": 2, "retries": 12})
        noting = Noting()
        verdict = iso.check(CLAIM, model, people, seed=4, growth=1.2, workers=workers, observer=noting)
        model.close()
    assert {fault for _, _, fault in service.requests} == set(FAULTS)
    assert told(verdict) == told(expected)
    rows = sum(len(request["instances"]) for request in service.served)
    # Everybody once, and at most eight and a tenth of them again to see whether the model changes its mind. Workers are
    # asked ahead, and what was not needed is counted: two blocks of an eighth at the most.
    assert noting.unused <= ahead * verdict.samples
    assert verdict.samples <= rows <= 1.1 * (verdict.samples + noting.unused) + 8


def test_a_census_through_failures_counts_everybody_once():
    census = iso.Census(PEOPLE)
    # Garbled answers come once each, since a request is given up after a few of them.
    with Service(scored, fault=partial(failing, garbled_once=True)).running() as service:
        model = HttpModel(service.url, **{**PATIENT, "batch_size": 150, "parallel": 4, "retries": 12})
        verdict = iso.check(CLAIM, model, census, random_model=True)
        model.close()
    assert verdict.leaves == iso.check(CLAIM, LOGISTIC, census).leaves, "nobody is lost or counted twice"
    answered = [tuple(row.values()) for request in service.served for row in request["instances"]]
    # On a busy machine an answer may come too late and be asked for again: it is served twice, and counted once.
    assert set(answered) == set(PEOPLE[FEATURES].itertuples(index=False, name=None))


@pytest.mark.parametrize("keep_alive", [False, True])
def test_an_audit_of_a_program_that_crashes_half_way_ends_with_its_exit_code_and_can_be_repeated(folder, keep_alive):
    code = SCORING + CSV_LINES.replace("for row", "import os\nfor n, row").replace("csv.D", "enumerate(csv.D").replace(
        "n):", "n)):"
    )
    code += "    if n == 5 and not os.path.exists('mended'): sys.exit('no more memory')\n"
    (folder / "crashing.py").write_text(code)
    (folder / "mended").unlink(missing_ok=True)
    model = program(folder, "crashing", keep_alive=keep_alive)
    with pytest.raises(ModelError, match=r"(?s)crashing\.py ended with exit code 1 after .* answers.*no more memory"):
        iso.check(CLAIM, model, iso.Sample(PEOPLE), seed=4, growth=1.2)
    (folder / "mended").touch()
    verdict = iso.check(CLAIM, model, iso.Sample(PEOPLE), seed=4, growth=1.2)
    model.close()
    assert told(verdict) == told(iso.check(CLAIM, LOGISTIC, iso.Sample(PEOPLE), seed=4, growth=1.2))
