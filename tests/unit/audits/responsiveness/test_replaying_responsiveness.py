"""Checks of responsiveness that are cut off, go on, and are repeated without data and model."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cut_journals import Repeatable, asks_nothing_at_the_end, resumes_everywhere

import isonomia as iso
from isonomia.audits.check import run_check
from isonomia.audits.responsiveness import sampling
from isonomia.audits.responsiveness.setup import packed, unpacked
from isonomia.engine.journal import NothingMoreError
from isonomia.engine.observer import Silent
from isonomia.errors import DataError, IsonomiaError
from isonomia.interventions import Feature, Interventions, Noise

STEPS = Interventions((Feature("income", "integer", 0, 9), Feature("age", "integer", 0, 99, actionable=False)))
WIDE = Interventions((Feature("income", "integer", 0, 9_999), Feature("age", "integer", 0, 99, actionable=False)))
REAL = Interventions((Feature("income", "real", 0.0, 9.0), Feature("age", "integer", 0, 99, actionable=False)))
SHAKEN = Interventions((Feature("income", "real", 0, 9, actionable=False),), (), (Noise(("income",), (1.0,)),))
PEOPLE = {
    "income": [0, 5, 9, 3, 3, 7, 8],
    "age": [20, 40, 60, 25, 35, 50, 22],
    "city": ["A", "B", None, "A", "B", "C", "A"],
}


def old_only(table: Any) -> Any:
    return ((np.asarray(table["income"]) >= 8) & (np.asarray(table["age"]) >= 30)).astype(int)


def rich(table: Any) -> Any:
    return (np.asarray(table["income"]) >= 8).astype(int)


def words(table: Any) -> Any:
    return np.where(rich(table) == 1, "yes", "no")


def dips(table: Any) -> Any:
    """Falls where it should rise."""
    return np.where(np.asarray(table["income"]) == 5, 0.0, np.asarray(table["income"], dtype=float))


def check(prop: Any, model: Any = old_only, population: Any = None, **options: Any) -> Repeatable:
    return Repeatable(prop, model, iso.Census(PEOPLE) if population is None else population, options)


def drawn(actions: Any = STEPS, **options: Any) -> Any:
    return iso.Responsiveness(actions, **{"target": 1, "most_listed": 0, **options})


named = iso.responsiveness

CHECKS: dict[str, Callable[[], Repeatable]] = {
    "listed, holds": lambda: check(iso.Responsiveness(STEPS, 1, at_least=0.2), rich),
    "listed, violated, by groups": lambda: check(iso.Responsiveness(STEPS, 1, at_least=0.1, by=("city", "age"))),
    "listed, at most": lambda: check(iso.Responsiveness(STEPS, 1, at_most=0.1, by="city")),
    "listed, a sample": lambda: check(iso.Responsiveness(STEPS, 1, at_least=0.1), population=iso.Sample(PEOPLE)),
    "listed, the budget is spent": lambda: check(iso.Responsiveness(STEPS, 1, at_least=0.1), budget=25),
    "listed, the time is up": lambda: check(iso.Responsiveness(STEPS, 1, at_least=0.1), budget="0.000001s"),
    "listed, the budget is spent on some": lambda: check(iso.Responsiveness(STEPS, 1, at_least=0.1), budget=45),
    "listed, time enough": lambda: check(iso.Responsiveness(STEPS, 1, at_least=0.1), budget="1000s"),
    "drawn": lambda: check(drawn(WIDE, at_least=0.1)),
    "drawn, discovery": lambda: check(drawn(WIDE, at_least=0.1, control="discovery", by="city")),
    "drawn, at most": lambda: check(drawn(WIDE, at_most=0.1)),
    "drawn, then listed": lambda: check(drawn(at_least=0.15)),
    "drawn, the budget is spent": lambda: check(drawn(WIDE, at_least=0.1), budget=200),
    "drawn, the budget is spent within a round": lambda: check(drawn(WIDE, at_least=0.1), budget=90),
    "drawn, time enough": lambda: check(drawn(WIDE, at_least=0.1), budget="1000s"),
    "drawn, then listed, the budget is spent on some": lambda: check(drawn(at_least=0.15), budget=130),
    "drawn, the time is up": lambda: check(drawn(WIDE, at_least=0.1), budget="0.000001s"),
    "drawn, draws too few": lambda: check(drawn(REAL, at_least=0.11, most_draws=100), rich),
    "infinite reach": lambda: check(iso.Responsiveness(REAL, 1, at_least=0.05)),
    "some listed, others drawn": lambda: check(iso.Responsiveness(STEPS, 1, at_least=0.1, most_listed=9)),
    "by chance": lambda: check(named.stability(SHAKEN), rich, iso.Census({"income": [8.0, 1.0, 5.0]})),
    "fixed binomial": lambda: check(iso.Responsiveness(REAL, 1, at_least=0.1, draws=60)),
    "fixed binomial, the budget is spent on some": lambda: check(
        iso.Responsiveness(REAL, 1, at_least=0.1, draws=60), budget=150
    ),
    "misspelt, at most": lambda: check(iso.Responsiveness(STEPS, "yess", at_most=0.1), words),
    "misspelt, drawn": lambda: check(drawn(REAL, at_least=0.1, target="yess"), words),
    "never predicted": lambda: check(drawn(REAL, at_least=0.1, who="age < 30")),
    "who": lambda: check(iso.Responsiveness(STEPS, 1, at_least=0.1, who="prediction == 0 and age < 45")),
    "rows": lambda: check(iso.Responsiveness(STEPS, 1, at_least=0.1, rows=[4, 0])),
    "one row": lambda: check(iso.Responsiveness(STEPS, 1, at_least=0.1, rows=1)),
    "who and rows": lambda: check(
        iso.Responsiveness(STEPS, 1, at_least=0.1, rows=[0, 1, 3, 4], who="prediction == 0", by="city")
    ),
    "nobody": lambda: check(iso.Responsiveness(STEPS, 1, at_least=0.1, who="prediction == 7")),
    "preclusion": lambda: check(named.preclusion(STEPS, 1, who="prediction == 0")),
    "gaming": lambda: check(named.gaming(STEPS, 1, who="prediction == 0")),
    "monotonicity": lambda: check(named.monotonicity(STEPS), dips),
    "affordability": lambda: check(named.affordability(STEPS, "age", at_least=0.3), dips),
    "several workers": lambda: check(iso.Responsiveness(WIDE, 1, at_least=0.1, most_listed=0), workers=3),
}


@pytest.fixture(params=CHECKS)
def made(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Repeatable:
    monkeypatch.setattr(sampling, "_CHUNK", 40)  # so that few points come in several portions
    return CHECKS[request.param]()


def test_a_check_goes_on_from_any_entry_to_the_same_end(made: Repeatable) -> None:
    resumes_everywhere(made)


def test_a_check_whose_journal_is_complete_asks_nothing(made: Repeatable) -> None:
    asks_nothing_at_the_end(made)


def test_a_check_is_repeated_from_its_numbers_alone(made: Repeatable) -> None:
    verdict, entries = made.run()
    assert made.replayed(entries) == verdict


def test_a_check_with_a_journal_answers_as_one_without(made: Repeatable) -> None:
    verdict, _ = made.run()
    assert replace(run_check(made.check(), Silent()), seconds=0.0) == verdict


def test_answers_are_kept_for_people_as_they_are_and_not_for_their_points() -> None:
    _, entries = CHECKS["monotonicity"]().run()
    assert [key for key in entries if key.startswith("answer")] == ["answer 0 of people as they are"]
    _, entries = CHECKS["who"]().run()
    assert [key for key in entries if key.startswith("answer")] == ["answer 0 of members"]
    _, entries = CHECKS["drawn"]().run()
    assert not [key for key in entries if key.startswith("answer")]


def test_the_model_is_asked_again_only_about_the_portion_in_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "_CHUNK", 20)
    made = CHECKS["listed, violated, by groups"]()
    _, entries = made.run()
    listings = [key for key in entries if key.startswith("listing")]
    assert len(listings) > 2
    for number, key in enumerate(listings):
        kept = list(entries)[: list(entries).index(key)]
        made.calls = 0
        made.run({name: entries[name] for name in kept})
        assert made.calls == len(listings) - number + 1  # and once for the nearest points


# How much those can reach who are drawn from decides at most when they are all looked at after all.
NO_MATTER = {"drawn": {"reach"}, "fixed binomial": {"reach"}, "listed, violated, by groups": set(), "who": set()}


@pytest.mark.parametrize("name", NO_MATTER)
def test_a_count_that_is_changed_changes_the_verdict_or_is_refused(name: str) -> None:
    made = CHECKS[name]()
    verdict, entries = made.run()
    tried = 0
    for key in entries.keys() - NO_MATTER[name] - {"population", "model"}:
        for field, value in entries[key].items():
            for changed in _changed(value) if not key.startswith("answer") else ():
                tried += 1
                other = copy.deepcopy(entries)
                other[key][field] = changed
                with suppress(IsonomiaError, NothingMoreError):
                    assert made.replayed(other) != verdict, (key, field)
    assert tried > 10


def _changed(value: Any) -> list[Any]:
    """Every count of an array a little larger, one at a time; and a number of its own."""
    if isinstance(value, dict) and "bytes" in value:
        numbers = unpacked(value)
        return [packed(np.where(np.arange(len(numbers)) == k, numbers + 1, numbers)) for k in range(len(numbers))]
    return [value + 1] if isinstance(value, int) and not isinstance(value, bool) else []


def test_a_journal_that_lacks_a_step_cannot_be_repeated() -> None:
    for name in ("listed, violated, by groups", "drawn"):
        made = CHECKS[name]()
        _, entries = made.run()
        for key in entries:
            if key not in {"population", "model"}:
                with pytest.raises(NothingMoreError):
                    made.replayed({other: entry for other, entry in entries.items() if other != key})


def test_the_end_of_an_interrupted_check_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "_CHUNK", 20)
    made = CHECKS["listed, violated, by groups"]()
    whole, _ = made.run()
    calls = 0

    def pressed(table: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            made.model = old_only
            raise KeyboardInterrupt
        return old_only(table)

    made.model = pressed
    cut, entries = made.run()
    assert cut.stopped == "interrupted"
    assert "nearest" not in entries
    assert made.run(entries)[0] == whole


def test_thirty_thousand_people_make_a_small_journal() -> None:
    rng = np.random.default_rng(1)
    n = 30_000
    people = {"income": rng.integers(0, 10, n), "age": rng.integers(0, 99, n), "city": rng.choice(list("ABC"), n)}
    made = check(iso.Responsiveness(STEPS, 1, at_least=0.1, by="city"), population=iso.Census(people))
    verdict, entries = made.run()
    assert verdict.details["counts"]["people"] == n
    assert len(json.dumps(entries)) < 300_000
    assert made.replayed(entries) == verdict


NUMBERS = [
    np.array([], dtype=np.intp),
    np.array([0, 255]),
    np.array([0, 256, 65_536]),
    np.array([2**40]),
    np.array([1.0, 7.0]),
    np.array([0.5, 2.0]),
    np.array([np.inf, 1.0]),
    np.array([1e300]),
]


@pytest.mark.parametrize("numbers", NUMBERS)
def test_packed_numbers_come_back_as_they_were(numbers: Any) -> None:
    entry = json.loads(json.dumps(packed(numbers)))
    assert unpacked(entry, len(numbers)).tolist() == numbers.tolist()


GOOD = packed(np.arange(10))
BAD = [
    {**GOOD, "count": 9},
    {**GOOD, "count": 11},
    {**GOOD, "count": -1},
    {**GOOD, "count": "many"},
    {**GOOD, "type": "O"},
    {**GOOD, "type": "f8"},
    {**GOOD, "bytes": "x" + GOOD["bytes"]},
    {**GOOD, "bytes": "AAAA"},
    {**GOOD, "bytes": 3},
    {},
    [],
    packed(np.arange(5)),
    {"count": 10, "type": "u1", "bytes": packed(np.zeros(1_000_000, dtype=np.intp))["bytes"]},
]


@pytest.mark.parametrize("entry", BAD)
def test_what_is_no_packed_array_is_refused_in_words(entry: Any) -> None:
    with pytest.raises(DataError, match="expected numbers"):
        unpacked(entry, 10)
