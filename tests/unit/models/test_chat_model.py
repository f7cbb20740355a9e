"""A language model behind a chat API, asked over real HTTP: what is sent, what is read, and what goes wrong."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from dataclasses import replace
from threading import Barrier, Event
from typing import Any

import httpx
import numpy as np
import pytest
from loopback_service import HANGING, Service
from repeatable_checks import Notebook

import isonomia as iso
from isonomia.audits.check import new_check, run_check
from isonomia.audits.verdicts import recorded_model, recorded_population
from isonomia.cli import main
from isonomia.engine.parameters import NullObserver
from isonomia.errors import DataError, ModelError, SpecError, UnreliableModelError, UsageError
from isonomia.models import ask, describe
from isonomia.models.meter import BudgetSpentError, QueryMeter, metering
from isonomia.populations import Table
from isonomia.records.journal import ReadOnlyJournal
from raising import raises

YES_NO = {"yes": "yes", "no": "no"}
TABLE = Table.of({"name": [f"Person {i}" for i in range(30)], "job": ["nurse", "engineer", "cook"] * 10})


def completion(text: Any, **choice: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, **choice.pop("message", {})}
    usage = choice.pop("usage", {"prompt_tokens": 20, "completion_tokens": 5})
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop", **choice}], "usage": usage}


def asked(request: Any) -> str:
    return str(request["messages"][-1]["content"])


def about(request: Any) -> str:
    """Yes for nurses, no for all others."""
    return "Yes." if "nurse" in asked(request) else "No!"


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture
def service():
    with Service(lambda request: completion(about(request))).running() as running:
        yield running


def chat(service, **options):
    given = {
        "model": "tiny",
        "prompt": "Is {name} suited for {job}?",
        "answers": YES_NO,
        "backoff": 0.01,
        "timeout": 20.0,
    }
    return iso.ChatModel(service.url, **(given | options))


def predicted(model, table=TABLE):
    found = ask(model, table, False, True).prediction.tolist()
    model.close()
    return found


def said(service, text, **options):
    """What is read from one answer."""
    service.score = lambda _: text if isinstance(text, dict) else completion(text)
    return predicted(chat(service, **options), TABLE.slice(0, 1))[0]


EXPECTED = ["yes" if job == "nurse" else "no" for job in TABLE.column("job")]


# ------------------------------------------------------------------------------------------------------- what is sent


def test_each_row_fills_the_prompts_and_nothing_else_is_sent(service):
    table = Table.of({"name": ["Ann"], "age": [40], "paid": [1]})
    model = chat(
        service,
        system="Reply in {{json}}.",
        prompt="{name}, {age}: {{x}}?",
        temperature=0.7,
        max_tokens=9,
        parameters={"top_p": 0.5},
    )
    predicted(model, table)
    ((_, request, _),) = service.requests
    assert request == {
        "model": "tiny",
        "messages": [
            {"role": "system", "content": "Reply in {json}."},
            {"role": "user", "content": "Ann, 40: {x}?"},
        ],
        "temperature": 0.7,
        "max_tokens": 9,
        "top_p": 0.5,
    }
    assert model.reads == ("name", "age")


def test_what_is_not_given_is_not_sent(service):
    predicted(chat(service, temperature=None, max_tokens=None))
    assert set(service.requests[0][1]) == {"model", "messages"}


@pytest.mark.parametrize("url", ["/v1", "/v1/", "/v1/chat/completions", "/v1?api-version=1"])
def test_the_address_of_the_api_is_enough(url):
    model = iso.ChatModel(f"http://127.0.0.1:9{url}", model="m", prompt="{x}", answers=YES_NO)
    assert re.fullmatch(r"http://127\.0\.0\.1:9/v1/chat/completions(\?api-version=1)?", model._sender.url)


def test_answers_are_joined_in_order_and_every_row_is_sent_once(service):
    assert predicted(chat(service, parallel=7)) == EXPECTED
    assert Counter(asked(request) for _, request, _ in service.requests).most_common(1)[0][1] == 1


def test_a_column_that_the_table_lacks_is_told_before_anything_is_sent(service):
    with raises(ModelError, "nam", meant="name"):
        predicted(chat(service, prompt="Is {nam} suited?"))
    with raises(ModelError, "nam", meant="name"):
        iso.check("P[prediction == 'yes'] >= 0.5", chat(service, prompt="{nam}"), iso.Sample(TABLE.native))
    assert not service.requests


@pytest.mark.parametrize("column", [["Ann", None], [1.5, np.nan]])
def test_a_missing_value_is_an_error_and_is_not_sent(service, column):
    with raises(DataError, name="name"):
        predicted(chat(service, prompt="Is {name} suited?"), Table.of({"name": column}))
    assert not service.requests


@pytest.mark.parametrize("prompt", ["{x:.2f}", "{x!r}", "{x.y}", "{x[0]}", "{}", "{ x}", "a } b", "a { b", '{"a": 1}'])
def test_formats_attributes_and_single_braces_are_refused(prompt):
    with raises(UsageError, name="prompt"):
        iso.ChatModel("http://h/v1", model="m", prompt=prompt, answers=YES_NO)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("prompt", "Say yes or no."),
        ("prompt", 3),
        ("model", ""),
        ("answers", {}),
        ("answers", {"yes": ""}),
        ("answers", {"yes": "x*"}),
        ("answers", {"yes": "("}),
        ("answers", {"yes": 1}),
        ("answers", {1: "yes"}),
        ("answers", {"unreadable": "x"}),
        ("answers", 3),
        ("temperature", -1),
        ("temperature", float("nan")),
        ("repeats", 0),
        ("max_tokens", 0),
        ("prices", {"input": 1.0}),
        ("prices", {"input": 1.0, "outputs": 1.0}),
        ("parameters", {"messages": []}),
        ("parameters", {"stream": True}),
        ("parameters", {"x": float("inf")}),
        ("parameters", {"x": object()}),
        ("url", "h/v1"),
        ("parallel", 0),
        ("token_env", "sk-secret-token"),
    ],
)
def test_an_option_without_sense_is_refused(option, value):
    with pytest.raises(UsageError) as caught:
        iso.ChatModel(**{"url": "http://h/v1", "model": "m", "prompt": "{x}", "answers": YES_NO, option: value})
    assert str(caught.value.name).startswith(option)
    assert "sk-secret" not in str(caught.value)


def test_a_seed_and_repeats_contradict_each_other():
    with raises(UsageError, "seed", name="parameters"):
        iso.ChatModel("http://h/v1", model="m", prompt="{x}", answers=YES_NO, repeats=2, parameters={"seed": 1})


# ------------------------------------------------------------------------------------------------------- what is read


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Yes.", "yes"),
        ("YES", "yes"),
        ("I would say **no**", "no"),
        ("yesterday", "unreadable"),
        ("nobody knows", "unreadable"),
        ("yes and no", "unreadable"),
        ("No. Yes!", "unreadable"),
        ("", "unreadable"),
        ("<think>yes? no!</think> Yes", "yes"),
        ("perhaps\nyes", "yes"),
        ("yes\u0301", "yes"),
    ],
)
def test_a_label_is_read_from_whole_words_in_any_case(service, text, label):
    assert said(service, text) == label


def test_a_label_may_have_several_words_and_a_refusal_may_be_one_of_them(service):
    answers = {"suited": "(?<!not )suited", "not suited": "not suited|unfit", "refused": "sorry"}
    assert said(service, "They are suited.", answers=answers) == "suited"
    assert said(service, "They are not suited.", answers=answers) == "not suited"
    assert said(service, "Sorry, I cannot help.", answers=answers) == "refused"
    assert chat(service, answers=answers).classes == ("suited", "not suited", "refused", "unreadable")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"verdict": {"label": "yes"}}', "yes"),
        ('```json\n{"verdict": {"label": "no"}}\n```', "no"),
        ('Here it is: {"verdict": {"label": 4}} I hope.', 4),
        ('{"verdict": {"label": true}}', True),
        ('{"verdict": {"label": "yes"', "unreadable"),
        ('{"verdict": "yes"}', "unreadable"),
        ('{"verdict": {"label": null}}', "unreadable"),
        ('{"verdict": {"label": NaN}}', "unreadable"),
        ('{"verdict": {"label": "yes", "label": "no"}}', "unreadable"),
        ("yes", "unreadable"),
        ("[" * 5000, "unreadable"),
    ],
)
def test_a_field_of_json_is_read_and_broken_json_is_unreadable(service, text, value):
    assert said(service, text, answers="verdict.label") == value


def test_a_function_may_read_the_text_and_its_own_errors_are_told(service):
    assert said(service, "score 7", answers=lambda text: int(text.split()[1])) == 7
    assert said(service, "no score", answers=lambda _: None) == "unreadable"
    with pytest.raises(ModelError):
        said(service, "score x", answers=lambda text: int(text.split()[1]))
    with raises(UsageError, name="answers"):
        said(service, "score 7", answers=lambda text: [text])


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        (completion("yes", finish_reason="length"), "unreadable"),
        (completion("yes", finish_reason="content_filter"), "refused"),
        (completion(None, message={"refusal": "I cannot help with that."}), "refused"),
        (completion(None), "unreadable"),
        (completion(None, finish_reason="tool_calls"), "unreadable"),
        (completion([{"type": "thinking", "text": "no"}, {"type": "text", "text": "yes"}]), "yes"),
        (completion(7), "unreadable"),
        ({"choices": []}, "unreadable"),
        ({"choices": [None]}, "unreadable"),
        ({"choices": [{"message": "yes"}]}, "unreadable"),
        ({"error": {"code": "content_filter", "message": "filtered"}}, "refused"),
    ],
)
def test_an_answer_without_a_label_is_a_prediction_and_is_asked_for_once(service, reply, label):
    assert said(service, reply) == label
    assert len(service.requests) == 1


# ------------------------------------------------------------------------------------------------------ what goes wrong


@pytest.mark.parametrize("fault", ["500", "503", "429", "close", "truncated", "html", "empty", "nan", "other"])
def test_a_failure_is_survived_and_no_row_is_lost_or_counted_twice(service, fault):
    service.fault = lambda number: fault if number % 3 == 0 else None
    assert predicted(chat(service)) == EXPECTED
    proper = [asked(request) for _, request, came in service.requests if came is None]
    assert len(proper) == len(set(proper)) == TABLE.rows


def test_broken_replies_are_asked_for_again_as_often_as_failures(service):
    service.fault = lambda number: "truncated" if number < 4 else None
    assert predicted(chat(service, parallel=1), TABLE.slice(0, 1)) == EXPECTED[:1]


def test_what_the_service_asks_to_wait_is_waited(service):
    service.fault = lambda number: "429 Retry-After:1" if number == 0 else None
    assert predicted(chat(service, parallel=1), TABLE.slice(0, 2)) == EXPECTED[:2]
    assert service.times[1] - service.times[0] >= 0.99


def test_a_service_that_refuses_most_of_many_requests_at_once_is_not_given_up(service):
    # Three of four are refused: many a request five times in a row, while others are answered.
    service.fault = lambda number: "429" if number % 4 else None
    rows = np.arange(80) % TABLE.rows
    model = chat(service, parallel=16, retries=4, backoff=0.001)
    assert predicted(model, TABLE.take(rows)) == [EXPECTED[row] for row in rows]


@pytest.mark.parametrize(
    ("fault", "kind", "attempts"),
    [
        ("503", UnreliableModelError, 3),
        ("429", UnreliableModelError, 3),
        ("html", ModelError, 3),
        ("other", ModelError, 3),
        ("400", ModelError, 1),
        ("404", ModelError, 1),
    ],
)
def test_a_failure_that_lasts_is_an_error_and_no_prediction(service, fault, kind, attempts):
    service.fault = lambda _: fault
    with pytest.raises(kind) as caught:
        predicted(chat(service, retries=2), TABLE.slice(0, 1))
    assert type(caught.value) is kind
    assert len(service.requests) == attempts


def test_a_content_filter_that_answers_with_an_error_status_refuses():
    with Service(lambda _: None).running() as service:
        service.fault = lambda _: "400"
        body = json.dumps({"error": {"code": "content_filter", "message": "The prompt was filtered."}}).encode()
        service.error_body = body
        assert predicted(chat(service), TABLE.slice(0, 2)) == ["refused"] * 2
        service.error_body = json.dumps({"error": {"code": "bad_request"}}).encode()
        with raises(ModelError, 400):
            predicted(chat(service), TABLE.slice(0, 2))


def test_the_token_is_sent_and_never_shown(service, monkeypatch):
    monkeypatch.setenv("CHAT_TOKEN", "s3cr3t-t0k3n-0123456789")
    model = chat(service, token_env="CHAT_TOKEN")
    assert predicted(model) == EXPECTED
    assert all(head["Authorization"] == "Bearer s3cr3t-t0k3n-0123456789" for head, _, _ in service.requests)
    service.fault = lambda _: "401"
    with pytest.raises(ModelError) as caught:
        predicted(model)
    assert all("s3cr3t" not in text for text in (str(caught.value), repr(model), describe(model), model.fingerprint()))


def test_a_request_without_an_answer_in_time_is_sent_again_and_told(service):
    service.fault = lambda number: "hang" if number == 0 else None
    verdict = iso.check(
        "P[prediction == 'yes'] >= 0.2", chat(service, timeout=HANGING / 5), iso.Census(TABLE.slice(0, 6).native)
    )
    assert verdict.answer == "holds"
    assert verdict.spent["timed_out"] == 1
    assert verdict.samples == 6


# --------------------------------------------------------------------------------------------------------- the verdict


def test_answers_without_a_label_are_counted_and_shown_and_never_dropped(service):
    def mixed(request):
        number = int(re.search(r"\d+", asked(request))[0])
        if number % 5 == 0:
            return completion("perhaps")
        return completion("yes", finish_reason=["stop", "stop", "content_filter", "length", "stop"][number % 5])

    service.score = mixed
    verdict = iso.check("P[prediction == 'yes'] >= 0.4", chat(service, temperature=1.0), iso.Census(TABLE.native))
    assert verdict.answer == "holds"
    assert {what: verdict.spent[what] for what in ("answers", "unreadable", "refused", "cut_off")} == {
        "answers": 30,
        "unreadable": 12,
        "refused": 6,
        "cut_off": 6,
    }
    assert "12 were unreadable and 6 refused" in str(verdict)
    assert iso.Verdict.from_dict(verdict.to_dict()).spent == verdict.spent
    assert iso.check("P[prediction == 'refused'] >= 0.2", chat(service), iso.Census(TABLE.native)).answer == "holds"


def test_answers_without_a_label_are_counted_for_each_of_several_models(service):
    service.score = lambda request: completion("Well ..." if "please" in asked(request) else about(request))
    models = {"new": chat(service, prompt="{job}, please?"), "old": chat(service, prompt="{job}?")}
    verdict = iso.check("P[new.prediction == old.prediction] >= 0.9", models, iso.Sample(TABLE), stop="all", seed=1)
    assert (verdict.spent["answers"], verdict.spent["unreadable"]) == (60, 30)
    assert (verdict.spent["unreadable of new"], verdict.spent["unreadable of old"]) == (30, 0)
    assert any("30 (30 of new and 0 of old) were unreadable" in remark for remark in verdict.remarks)


def test_a_misspelled_label_is_refused_before_anything_is_sent(service):
    with raises(SpecError, name="ja"):
        iso.check("P[prediction == 'ja'] >= 0.5", chat(service), iso.Census(TABLE.native))
    assert not service.requests


def test_a_score_is_refused_before_anything_is_sent(service):
    with raises(ModelError, name="score"):
        iso.check("E[score] >= 0.5", chat(service), iso.Census(TABLE.native), ranges={"score": (0, 1)})
    assert not service.requests


@pytest.mark.parametrize("parallel", [1, 3, 16])
def test_the_verdict_is_the_same_for_any_concurrency_although_wrong_answers_take_longer(service, parallel):
    def slowly_wrong(request):
        wrong = int(re.search(r"\d+", asked(request))[0]) % 4 == 0
        time.sleep(0.02 if wrong else 0.0)
        return completion("no" if wrong else "yes")

    service.score = slowly_wrong
    items = iso.Sample({"name": [f"Person {i}" for i in range(400)]})
    model = chat(service, prompt="Is {name} suited?", parallel=parallel)
    verdict = iso.check("P[prediction == 'yes'] >= 0.9", model, items, delta=0.01, seed=3)
    model.close()
    assert (verdict.answer, verdict.samples) == ("violated", 56)
    # The samples are the first rows of the seed's order: none was skipped because its answer was late.
    order = items.positions(np.random.SeedSequence(3))[:56]
    numbers = {int(re.search(r"\d+", asked(request))[0]) for _, request, _ in service.requests}
    assert numbers == set(order.tolist())
    assert verdict.leaves[0].estimate == np.mean(order % 4 != 0)


# ---------------------------------------------------------------------------------------------- temperature, repeats


@pytest.mark.parametrize(
    ("options", "random"),
    [
        ({}, False),
        ({"temperature": 0.7}, True),
        ({"temperature": None}, True),
        ({"temperature": 0.7, "parameters": {"seed": 1}}, False),
        ({"repeats": 2}, True),
    ],
)
def test_a_model_with_a_temperature_answers_at_random(service, options, random):
    check = new_check("P[prediction == 'yes'] >= 0.2", chat(service, **options), iso.Sample(TABLE.native))
    assert check.random_model is random
    assert (check.model.steady is None) is random


def test_a_model_without_temperature_that_changes_its_answers_is_noticed(service):
    service.score = lambda _: completion("yes" if len(service.requests) % 2 else "no")
    with pytest.raises(iso.ChangingModelError):
        iso.check("P[prediction == 'yes'] >= 0.9", chat(service), iso.Sample(TABLE.native))


# ------------------------------------------------------------------------------------------------- two at the same time

CLAIM = "P[new.prediction == 'yes'] - P[old.prediction == 'yes'] >= -0.1"
ROWS = {"name": [f"Person {i}" for i in range(200)], "job": ["nurse", "engineer"] * 100}


def two(service, **options):
    prompts = {"new": "New: is {name} suited for {job}?", "old": "Old: is {name} suited for {job}?"}
    return {name: chat(service, prompt=prompt, **options) for name, prompt in prompts.items()}


def test_two_services_are_asked_at_the_same_time(service):
    together = Barrier(2)

    def meet(request):
        together.wait(timeout=20.0)  # breaks where the models are asked one after the other
        return completion(about(request))

    service.score = meet
    verdict = iso.check(CLAIM, two(service, parallel=1), iso.Sample(ROWS), seed=1, budget=64)
    assert verdict.spent["answers"] == 2 * verdict.samples
    assert verdict.queries == len(service.requests) == 2 * (verdict.samples + verdict.repeated)


@pytest.mark.parametrize("budget", [None, "4000 tokens", "90 queries"])
def test_asked_at_the_same_time_or_not_the_check_is_the_same(service, monkeypatch, budget):
    results = []
    for covers in (QueryMeter.covers, lambda *_: False):
        monkeypatch.setattr(QueryMeter, "covers", covers)
        check = new_check(CLAIM, two(service, max_tokens=10), iso.Sample(ROWS), seed=1, budget=budget)
        notebook = Notebook()
        verdict = run_check(replace(check, journal=notebook), NullObserver())
        kept = {key: {k: v for k, v in entry.items() if k != "seconds"} for key, entry in notebook.entries.items()}
        results.append((replace(verdict, seconds=0.0), verdict.queries, verdict.spent, kept))
        service.requests.clear()
    assert results[0] == results[1]
    tokens = results[0][2]["tokens"]
    assert tokens <= 4000 or budget != "4000 tokens"


def test_a_model_that_fails_ends_the_other_one_too(service):
    forever = Event()

    def score(request):
        if asked(request).startswith("Old"):
            return {"no": "completion"}
        forever.wait(timeout=60.0)
        return completion("yes")

    service.score = score
    models = two(service, retries=0)
    try:
        with pytest.raises(ModelError):
            iso.check(CLAIM, models, iso.Sample(ROWS), seed=1)
        assert not forever.is_set()
    finally:
        forever.set()
        for model in models.values():
            model.close()


def test_the_error_of_a_changed_answer_says_what_to_do_about_a_language_model(service):
    service.score = lambda _: completion("yes" if len(service.requests) % 2 else "no")
    with raises(iso.ChangingModelError, "random_model=True", "--random-model", "--cache"):
        iso.check(CLAIM, two(service), iso.Sample(ROWS))


def test_repeats_are_asked_for_and_are_one_draw_together(service):
    check = new_check("P[prediction == 'yes'] >= 0.2", chat(service, repeats=5), iso.Sample(TABLE.native), seed=1)
    assert check.population.size == 150
    verdict = iso.check("P[prediction == 'yes'] >= 0.01", chat(service, repeats=5), iso.Sample(TABLE.native), seed=1)
    assert verdict.counted == "clusters"
    assert verdict.spent["answers"] == 5 * verdict.samples
    counts = Counter(asked(request) for _, request, _ in service.requests)
    assert set(counts.values()) == {5}
    assert any("no 'row' of the population has more than 5 rows, as declared" in line for line in verdict.assumptions)


def test_repeats_of_one_item_are_no_more_evidence_than_the_item(service):
    """All answers about an item agree: counted as independent, twelve items with ten repeats each would decide."""
    service.score = lambda _: completion("yes")
    items = iso.Sample(TABLE.slice(0, 12).native)
    claim = "P[prediction == 'yes'] >= 0.8"
    repeated = iso.check(claim, chat(service, repeats=10), items, delta=0.01, seed=1)
    alone = iso.check(claim, chat(service), iso.Sample(TABLE.take(np.repeat(np.arange(12), 10)).native), delta=0.01)
    assert (repeated.answer, alone.answer) == ("undecided", "holds")


def test_rows_that_belong_together_stay_together_when_they_are_repeated(service):
    visits = iso.Sample({"name": ["a", "a", "b", "c"], "who": [1, 1, 2, 3]}, cluster="who")
    check = new_check("P[prediction == 'yes'] >= 0.2", chat(service, prompt="{name}", repeats=3), visits)
    facts = check.population.facts.clusters
    assert (facts.column, facts.count, facts.largest) == ("who", 3, 6)
    assert visits.size == 4


def test_a_census_is_repeated_row_by_row_and_what_has_no_rows_is_refused(service):
    census = new_check("P[prediction == 'yes'] >= 0.2", chat(service, repeats=3), iso.Census(TABLE.native)).population
    assert (census.kind, census.size) == ("census", 90)
    people = iso.Generator(lambda n, rng: {"name": rng.choice(["a", "b"], n), "job": ["nurse"] * n})
    with raises(UsageError, name="repeats"):
        iso.check("P[prediction == 'yes'] >= 0.2", chat(service, repeats=3), people)


def test_workers_are_refused_since_the_model_sends_several_requests_itself(service):
    with raises(UsageError, name="workers"):
        iso.check("P[prediction == 'yes'] >= 0.2", chat(service), iso.Sample(TABLE.native), workers=4)


# -------------------------------------------------------------------------------------------------------------- budgets

PRICES = {"input": 1e-3, "output": 1e-2}
MANY = {"name": [f"Person {i}" for i in range(2000)], "job": ["nurse", "engineer"] * 1000}


@pytest.mark.parametrize(("budget", "unit", "most"), [("3000 tokens", "tokens", 3000), ("5.5 USD", "USD", 5.5)])
@pytest.mark.parametrize("used", [(20, 5), (100, 10), (2, 0)])
def test_a_budget_of_tokens_or_money_is_used_and_never_exceeded(service, budget, unit, most, used):
    usage = {"prompt_tokens": used[0], "completion_tokens": used[1]}
    service.score = lambda request: completion(about(request), usage=usage)
    model = chat(service, prices=PRICES, max_tokens=10, temperature=1.0)
    verdict = iso.check("P[prediction == 'yes'] >= 0.499", model, iso.Sample(MANY), delta=1e-9, budget=budget, seed=1)
    model.close()
    one = {"tokens": sum(used), "USD": used[0] * 1e-3 + used[1] * 1e-2}[unit]
    sent = len(service.requests)
    assert verdict.spent[unit] == pytest.approx(sent * one)
    assert verdict.spent[unit] <= most
    if verdict.samples < 2000:
        assert verdict.stopped == f"the budget of {'tokens' if unit == 'tokens' else 'money'} is spent"
        assert sent == verdict.samples == verdict.queries  # no answer was paid for in vain
        # What is left would not cover the longest answer to one more request.
        bound = max(len(json.dumps(request)) for _, request, _ in service.requests)
        cost = {"tokens": bound + 10, "USD": bound * 1e-3 + 0.1}[unit]
        assert most - verdict.spent[unit] < 1.05 * cost


def test_a_budget_for_less_than_one_request_sends_nothing(service):
    verdict = iso.check("P[prediction == 'yes'] >= 0.5", chat(service), iso.Sample(MANY), budget="100 tokens")
    assert (verdict.answer, verdict.stopped) == ("undecided", "the budget of tokens is spent")
    assert not service.requests


def test_second_questions_leave_room_for_the_batch(service):
    model = chat(service, max_tokens=10)
    verdict = iso.check("P[prediction == 'yes'] >= 0.499", model, iso.Sample(MANY), delta=1e-9, budget="9000 tokens")
    assert verdict.spent["tokens"] <= 9000
    assert verdict.samples + (verdict.repeated or 0) == verdict.queries == len(service.requests)


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": -5, "completion_tokens": 1}, {"prompt_tokens": "9"}])
def test_answers_without_a_report_of_usage_count_with_their_bound(service, usage):
    service.score = lambda request: completion(about(request), usage=usage)
    verdict = iso.check("P[prediction == 'yes'] >= 0.2", chat(service), iso.Census(TABLE.native))
    bodies = sum(len(json.dumps(request).encode()) for _, request, _ in service.requests)
    assert verdict.spent["tokens"] == bodies + 256 * len(service.requests)
    assert verdict.spent["without_usage"] == len(service.requests)


@pytest.mark.parametrize(
    ("options", "budget"), [({}, "20 USD"), ({"max_tokens": None}, "1000 tokens"), ({"max_tokens": None}, "1 USD")]
)
def test_a_budget_that_cannot_be_kept_is_refused_before_anything_is_sent(service, options, budget):
    with raises(UsageError, name="budget"):
        iso.check("P[prediction == 'yes'] >= 0.2", chat(service, **options), iso.Sample(TABLE.native), budget=budget)
    assert not service.requests


def test_only_language_models_have_budgets_of_tokens():
    with raises(UsageError, name="budget"):
        iso.check("P[prediction] >= 0.2", lambda table: table["a"] > 0, iso.Sample({"a": [1]}), budget="9 tokens")


def test_planned_looks_need_a_number_that_is_known_beforehand(service):
    options = {"budget": "9000 tokens", "looks": "once"}
    with raises(UsageError, name="budget"):
        iso.check("P[prediction == 'yes'] >= 0.2", chat(service), iso.Sample(TABLE.native), **options)


def test_a_census_with_a_budget_is_drawn_from_in_a_random_order(service):
    """The table is sorted, so that in its own order the first rows would mislead."""
    sorted_table = {"name": [f"Person {i}" for i in range(400)], "job": ["nurse"] * 200 + ["cook"] * 200}
    verdict = iso.check(
        "P[prediction == 'yes'] >= 0.7", chat(service), iso.Census(sorted_table), budget="1e5 tokens", delta=1e-3
    )
    assert verdict.answer == "violated"
    assert verdict.samples < 400


def test_the_ledger_of_a_step_counts_for_what_it_is_a_part_of():
    outer, inner = QueryMeter(costs={"tokens": 10}), QueryMeter(costs={"tokens": 100})
    with metering(outer), metering(inner):
        assert inner.reserve([{"tokens": 4}] * 5) == 2
        inner.note({"tokens": 8})
        with pytest.raises(BudgetSpentError):
            inner.reserve([{"tokens": 4}])
    assert outer.spent == {"tokens": 8}


# --------------------------------------------------------------------------------------------- cache, resume, files


def test_a_cache_gives_each_answer_of_a_random_model_once(service, tmp_path):
    service.score = lambda _: completion("yes" if len(service.requests) % 2 else "no")
    model = iso.Cached(chat(service, temperature=1.0, version="1"), tmp_path / "answers.sqlite")
    items = iso.Sample({"name": ["Ann"] * 20, "job": ["nurse"] * 20})
    verdicts = [iso.check("P[prediction == 'yes'] >= 0.4", model, items, seed=1, stop="all") for _ in range(2)]
    assert len(service.requests) == 20
    assert verdicts[0].leaves == verdicts[1].leaves
    assert [verdict.spent["answers"] for verdict in verdicts] == [20, 20]
    assert "tokens" not in verdicts[1].spent


def test_a_hosted_model_without_a_version_is_not_cached(service, tmp_path):
    with raises(UsageError, name="key"):
        iso.Cached(chat(service), tmp_path / "answers.sqlite")


@pytest.mark.parametrize("options", [{"temperature": 1.0}, {"temperature": 1.0, "repeats": 3}, {}])
def test_a_check_that_was_cut_off_goes_on_with_what_it_had_spent(service, options):
    model = chat(service, prices=PRICES, **options)
    budget = {"delta": 1e-6, "seed": 2, "budget": "9 USD"}
    claim, items = "P[prediction == 'yes'] >= 0.49", iso.Sample(MANY)

    def run(journal, asked=model, people=items):
        verdict = run_check(new_check(claim, asked, people, **budget).with_journal(journal), NullObserver())
        return replace(verdict, seconds=0.0)

    first = Notebook()
    whole, sent = run(first), len(service.requests)
    keys = list(first.entries)
    service.requests.clear()
    resumed = run(Notebook({key: first.entries[key] for key in keys[: 2 * len(keys) // 3]}))
    assert 0 < len(service.requests) < sent
    assert whole.spent["USD"] <= resumed.spent["USD"] <= 9  # second questions are repeated
    if options:
        assert resumed == whole
        assert resumed.spent == whole.spent
    stand_ins = recorded_model(first.entries), recorded_population(first.entries)
    replayed = run(ReadOnlyJournal(first.entries), *stand_ins)
    assert replayed == whole
    assert replayed.spent == whole.spent
    model.close()


CHAT_TOML = """
[model]
url = "{url}"
model = "tiny"
prompt = "Is {{name}} suited for {{job}}?"
temperature = 0.5
repeats = 2
prices = {{ input = 1e-6, output = 2e-6 }}

[model.answers]
yes = "yes"
no = "no"
"""


def test_a_file_describes_it_and_the_command_line_takes_it(service, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chat.toml").write_text(CHAT_TOML.format(url=service.url))
    (tmp_path / "items.csv").write_text("name,job\n" + "".join(f"P{i},{['nurse', 'cook'][i % 2]}\n" for i in range(80)))
    model = iso.load_model("chat.toml")
    assert isinstance(model, iso.ChatModel)
    assert (model.repeats, model.temperature, model.answers) == (2, 0.5, YES_NO)
    claim = "P[prediction == 'yes'] >= 0.1"
    options = ["--data", "items.csv", "--model", "chat.toml", "--budget", "1 USD", "--json", "verdicts.json"]
    monkeypatch.setattr("sys.argv", ["isonomia", "check", claim, *options, "--seed", "1"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    (verdict,) = json.loads((tmp_path / "verdicts.json").read_text("utf-8"))["verdicts"]
    assert any("were unreadable" in remark for remark in verdict["remarks"])
    assert verdict["counted"] == "clusters"
    assert verdict["spent"]["answers"] == 2 * verdict["samples"]


def test_options_on_the_command_line_describe_it(service):
    model = iso.load_model(service.url, model="tiny", prompt="{name} {job}", answers={"yes": "yes"}, backoff=0.01)
    assert predicted(model) == ["yes" if label == "yes" else "unreadable" for label in EXPECTED]
    with raises(UsageError, name="answers"):
        iso.load_model(service.url, model="tiny", prompt="{name}")


@pytest.mark.parametrize("line", ['prompt = "{x"', "temperature = -1", 'promt = "x"', "answers = 3"])
def test_a_mistake_in_a_file_is_told_with_its_line(tmp_path, line):
    path = tmp_path / "chat.toml"
    path.write_text(
        f'[model]\nurl = "http://h/v1"\nmodel = "m"\nanswers = "label"\n{line}\n'.replace(
            'answers = "label"\nanswers', "answers"
        )
    )
    with pytest.raises(SpecError) as caught:
        iso.load_model(path)
    assert caught.value.place.line in {4, 5}


def test_texts_of_a_request_name_columns_of_any_service(service):
    service.score = lambda request: {"label": "yes" if "nurse" in request["input"]["text"] else "no"}
    request = '{"input": {"text": "Is {name} suited for {job}?", "n": 1, "tags": ["{{x}}", "a"]}}'
    model = iso.HttpModel(service.url, request=request, prediction="label", parallel=4)
    assert model.reads == ("name", "job")
    assert predicted(model) == EXPECTED
    sent = {request["input"]["text"] for _, request, _ in service.requests}
    assert sent == {
        f"Is {name} suited for {job}?" for name, job in zip(*map(TABLE.column, ("name", "job")), strict=True)
    }
    assert service.requests[0][1]["input"]["tags"] == ["{x}", "a"]
    with raises(UsageError, name="features"):
        iso.HttpModel(service.url, request=request, features=["name"])
    with raises(UsageError, name="request"):
        iso.HttpModel(service.url, request='{"text": "{name:>9}"}')


def test_braces_beside_a_mark_for_rows_stay_what_they_are(service):
    service.score = lambda request: {"predictions": ["yes"] * len(request["rows"])}
    predicted(iso.HttpModel(service.url, request='{"rows": $rows, "format": "{name}"}'))
    assert service.requests[0][1]["format"] == "{name}"


def test_threads_that_open_a_connection_at_once_share_one_client(service, monkeypatch):
    opened, together = [], Barrier(8)

    class Client(httpx.Client):
        def __init__(self, *args, **options):
            together.wait(20.0)  # every thread found no client and makes its own
            super().__init__(*args, **options)
            opened.append(self)

    monkeypatch.setattr(httpx, "Client", Client)
    model = chat(service, parallel=8)
    assert predicted(model, TABLE.slice(0, 8)) == EXPECTED[:8]
    assert len(opened) == 8
    assert all(client.is_closed for client in opened)
