"""Checks of responsiveness that are cut off, go on, and are repeated without data and model."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from responsiveness_cases import CHECKS, STEPS, check, old_only

import isonomia as iso
from isonomia.audits.responsiveness import sampling
from isonomia.audits.responsiveness.setup import packed, unpacked
from isonomia.errors import DataError
from isonomia.records.journal import MissingEntryError


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
        # And once for the nearest points, and for portions with 32 points, to see whether the model is the same.
        again = min(number, 2)
        assert len(listings) - number + 1 <= made.calls <= len(listings) - number + 1 + again


def test_a_journal_that_lacks_a_step_cannot_be_repeated() -> None:
    for name in ("listed, violated, by groups", "drawn"):
        made = CHECKS[name]()
        _, entries = made.run()
        for key in entries:
            if key not in {"population", "model", "queries"}:  # old records have no count of queries
                with pytest.raises(MissingEntryError):
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
