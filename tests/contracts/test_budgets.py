"""Budgets are kept: rows sent to the model are counted, stated, and limited in every step of every audit."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.budgets import PEOPLE, QUERIES, lines, repair_lines, whole_lines
from loopback_service import Service

import isonomia as iso
from isonomia.audits.audit_file.drafting import DraftFiles, DraftRequest, draft_audit
from isonomia.cli import main
from isonomia.errors import BudgetTooSmallError, ChangingModelError, UsageError
from isonomia.models.adapt import adapt
from isonomia.models.meter import BudgetSpentError, QueryMeter, metering, send
from isonomia.populations.table import Table
from isonomia.records.journal import ReadOnlyJournal


class Counted:
    """A model that counts the rows that reach it."""

    def __init__(self, every: int = 7919) -> None:
        self.rows, self.every = 0, every

    def __call__(self, table: Any) -> Any:
        self.rows += len(table["amount"])
        return (np.asarray(table["amount"]) % self.every > 4000).astype(int)


AMOUNTS = {"amount": np.random.default_rng(0).integers(200, 18_000, 700)}
NEVER_LOWER = iso.safety.monotone("amount", up=(1, 9000), output="not lower")


@pytest.mark.parametrize("budget", [60, 2_000, "60 queries", "2000 queries", "45s"])
def test_every_audit_keeps_its_budget_and_states_what_it_sent(budget: Any) -> None:
    result = list(lines((budget,)))
    assert [line for line in result if not line.kept] == []
    assert {"holds", "violated", "undecided"} >= {line.answer for line in result}


def test_what_needs_every_row_is_refused_before_the_first_or_is_complete() -> None:
    result = list(whole_lines(QUERIES))
    assert [line for line in result if not line.kept] == []
    tables = [line for line in result if line.audit.startswith(("measure", "groups"))]
    assert {(line.answer, line.asked) for line in tables} == {("refused", 0), ("complete", PEOPLE)}
    watches = {line.budget: (line.answer, line.asked) for line in result if line.audit.startswith("watch")}
    assert watches["60 queries"] == ("refused", 0)
    assert watches["2000 queries"] == ("refused", 2_000)  # the updates that it covers are judged
    assert watches["4000 queries"] == ("complete", PEOPLE)


def test_a_repair_sets_the_rows_of_its_certificate_aside_and_keeps_its_budget() -> None:
    result = list(repair_lines(("500 queries", "3000 queries", "6000 queries")))
    assert [line for line in result if not line.kept] == []
    answers = {(line.budget, line.answer) for line in result}
    assert ("500 queries", "refused") in answers
    assert all(line.asked == 0 for line in result if line.answer == "refused")
    assert {line.answer for line in result if line.budget == "6000 queries"} <= {"holds", "violated", "undecided"}


def test_a_cache_answers_beyond_the_budget_of_a_table(tmp_path: Path) -> None:
    people = {"sex": np.arange(700) % 2, "amount": AMOUNTS["amount"]}
    model = iso.Cached(Counted(), tmp_path / "answers.sqlite", key="1")
    first = iso.measure(people, model, by="sex")
    again = iso.measure(people, model, by="sex", budget="100 queries")
    assert again.queries is not None
    assert first.queries is not None
    assert again.queries <= 16 < first.queries <= 700
    assert again.rows == first.rows
    with pytest.raises(BudgetTooSmallError) as refused:
        iso.measure(people, Counted(), by="sex", budget=600)
    assert (refused.value.needed, refused.value.allowed) == (700, 600)


def test_a_watch_that_continues_goes_on_with_its_count() -> None:
    def new() -> iso.Watch:
        return iso.Watch("P[prediction == 1] >= 0.1", alpha=0.05, model=Counted(), budget="1000 queries")

    first = new()
    first.update(AMOUNTS)
    second = new().restore(first.state)
    with pytest.raises(BudgetTooSmallError) as refused:
        second.update(AMOUNTS)
    assert (second.queries, second.samples, refused.value.needed) == (700, 700, 1_400)
    with pytest.raises(UsageError):
        iso.Watch("P[prediction == 1] >= 0.1", alpha=0.05, model=Counted(), budget="30s")


def test_rows_that_workers_read_from_files_are_counted(tmp_path: Path) -> None:
    lines = [f"{'FM'[k % 2]},{k % 9}" for k in range(900)]
    for part in range(2):
        (tmp_path / f"{part}.csv").write_text("sex,amount\n" + "\n".join(lines) + "\n")
    table = iso.measure(tmp_path, Counted(), by="sex", workers=2, budget="1800 queries")
    assert table.queries == 1_800
    with pytest.raises(BudgetTooSmallError):
        iso.measure(tmp_path, Counted(), by="sex", workers=2, budget="1799 queries")


def test_shrinking_takes_a_stated_share_of_a_budget_of_samples() -> None:
    model = Counted()
    verdict = iso.check(NEVER_LOWER, model, iso.Sample(AMOUNTS), seed=1, budget=200)
    assert verdict.answer == "violated"
    assert verdict.counterexamples
    assert verdict.queries == model.rows <= 1.25 * 2 * 200


def test_shrinking_is_logarithmic_without_a_budget_and_can_be_turned_off() -> None:
    sent = {}
    for shrink in (True, False):
        prop = iso.safety.monotone("amount", up=(1, 9000), output="not lower", shrink=shrink)
        verdict = iso.check(prop, Counted(), iso.Sample(AMOUNTS), seed=1)
        sent[shrink] = verdict.queries or 0, verdict.counterexamples[0]["distance"]
    assert 0 < sent[True][0] - sent[False][0] <= 5 * 2 * 4 * 30  # violations, rows, rounds, halvings and directions
    assert sent[True][1] < sent[False][1]


def test_shrinking_finds_the_smallest_step_that_violates() -> None:
    prop = iso.safety.monotone("amount", up=(1, 9000), output="not lower")
    verdict = iso.check(
        prop, lambda t: (np.asarray(t["amount"]) < 10_000).astype(int), {"amount": [5_000] * 50}, seed=1
    )
    assert {item["differs"]["x2"]["amount"][1] for item in verdict.counterexamples[:5]} == {10_000}


@pytest.mark.parametrize("budget", ["40 queries", "150 queries", "0.000001s"])
def test_a_check_that_a_budget_ended_is_replayed_from_its_journal(budget: str) -> None:
    from isonomia.audits.check import new_check, run_check
    from isonomia.engine.parameters import NullObserver

    class Notebook(dict[str, Any]):
        def recall(self, key: str) -> Any:
            return self.get(key)

        def keep(self, key: str, make: Any) -> None:
            self[key] = make()

    for prop in (NEVER_LOWER, "P[prediction == 1] >= 0.5"):
        check, kept = new_check(prop, Counted(), iso.Sample(AMOUNTS), seed=1, budget=budget), Notebook()
        verdict = run_check(check.with_journal(kept), NullObserver())
        again = run_check(check.with_journal(ReadOnlyJournal(kept)), NullObserver())
        assert (replace(again, seconds=verdict.seconds), again.queries) == (verdict, verdict.queries)


def test_a_model_that_answers_at_random_is_found_within_a_small_query_budget() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ChangingModelError):
        iso.check(
            "P[prediction == 1] >= 0.5", lambda t: rng.random(len(t["amount"])) < 0.5, AMOUNTS, budget="60 queries"
        )


def test_answers_from_a_cache_are_not_queries(tmp_path: Path) -> None:
    counts = []
    for _ in range(2):
        model = iso.Cached(Counted(), tmp_path / "answers.sqlite", key="1")
        counts.append(iso.check("P[prediction == 1] >= 0.5", model, AMOUNTS, seed=1).queries)
    assert counts[1] is not None
    assert counts[0] is not None
    assert counts[1] <= 16 < counts[0]  # a few stored answers are compared with the model's


def test_rows_of_workers_are_counted() -> None:
    verdict = iso.check("P[prediction == 1] >= 0.3", Counted(), AMOUNTS, seed=1, workers=2, budget="200 queries")
    assert verdict.queries is not None
    assert verdict.samples <= verdict.queries <= 200


def test_a_budget_that_is_too_small_for_anything_is_undecided() -> None:
    changes = iso.interventions.Interventions((iso.interventions.Feature("amount", "integer", 0, 18_000),))
    own = iso.Responsiveness(changes, "prediction > own", at_least=0.5)
    for prop in (NEVER_LOWER, own, "P[prediction == 1] >= 0.5", iso.PrincipalFairness(attribute="g", outcome="y")):
        table = {**AMOUNTS, "g": np.arange(700) % 2, "y": np.arange(700) // 2 % 2}
        verdict = iso.check(prop, Counted(), iso.Census(table), seed=1, budget="1 query")
        assert (verdict.answer, verdict.queries is not None and verdict.queries <= 1) == ("undecided", True)


def test_a_meter_refuses_before_anything_is_sent_and_charges_its_parent() -> None:
    model, table = Counted(), Table.of(AMOUNTS)
    with metering(QueryMeter(1000)) as outer:
        with metering(QueryMeter(800)):
            send(adapt(model), table, want_score=False, want_prediction=True)
            with pytest.raises(BudgetSpentError) as spent:
                send(adapt(model), table, want_score=False, want_prediction=True)
        assert (outer.rows, model.rows, spent.value.reason) == (700, 700, "queries")


def test_a_draft_sends_few_rows_to_a_service_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def score(request: Any) -> Any:
        return {"predictions": [int(row["savings"] >= 4) for row in request["instances"]]}

    rng = np.random.default_rng(0)
    lines = [f"{'FM'[i % 2]},{rng.integers(0, 9)},{rng.integers(0, 2)}" for i in range(900)]
    (tmp_path / "people.csv").write_text("sex,savings,repaid\n" + "\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    service = Service(score)
    sent = {}
    with service.running():
        for options in ((), ("--queries", "400")):
            service.requests.clear()
            monkeypatch.setattr(sys, "argv", ["isonomia", "init", service.url, "people.csv", "--force", *options])
            with pytest.raises(SystemExit) as left:
                main()
            printed = capsys.readouterr()
            assert not left.value.code, printed.err
            sent[options] = sum(len(request["instances"]) for _, request, _ in service.requests)
            assert f"{sent[options]:,} rows sent to the model." in printed.out.replace("\n", " ")
    assert sent[()] <= 200 < sent["--queries", "400"] <= 400


def test_a_draft_stays_below_its_limit_for_any_model() -> None:
    model = Counted()
    people = {"amount": AMOUNTS["amount"], "sex": np.where(np.arange(700) % 2, "F", "M")}
    draft = draft_audit(
        Table.of(people), lambda _: adapt(model), DraftFiles("m:l", "p.csv"), DraftRequest(), queries=150
    )
    assert draft.queries == model.rows <= 150
