"""Verdicts: frozen, honest about three answers, stored and brought back."""

from __future__ import annotations

import dataclasses
import json

import pytest

from isonomia.errors import DataError, UsageError
from isonomia.records import Expression, LeafRecord, Verdict
from isonomia.records.display.text import failure_text
from raising import raises


def _verdict(**changes: object) -> Verdict:
    known = Verdict(
        text="P[a] >= 0.5",
        answer="holds",
        delta=0.01,
        risk=0.01,
        method="bets",
        samples=1234,
        leaves=(LeafRecord("P[a]", 1234, 0.6, 0.55, 0.65),),
        expressions=(Expression("P[a]", ">=", 0.5, 0.6, 0.55, float("inf")),),
        stopped="decided",
        assumptions=("rows are independent",),
        remarks=("<script>alert(1)</script>",),
        seed=7,
        seconds=0.1,
        population={"kind": "sample", "size": 2000, "fingerprint": "ab"},
    )
    return dataclasses.replace(known, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(("answer", "holds"), [("holds", True), ("violated", False), ("undecided", None)])
def test_holds_has_three_values(answer: str, holds: bool | None) -> None:
    assert _verdict(answer=answer).holds is holds


def test_a_verdict_is_neither_true_nor_false() -> None:
    with raises(UsageError, "verdict.holds"):
        bool(_verdict())


def test_a_verdict_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        _verdict().answer = "violated"  # type: ignore[misc]


def test_a_verdict_survives_a_walk_through_json() -> None:
    verdict = _verdict()
    assert Verdict.from_dict(json.loads(json.dumps(verdict.to_dict(), allow_nan=False))) == verdict


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "format"),
        ([], "format"),
        ({"format": 1}, "this one has format 1: it was written by another version"),
        ({"format": 2}, "should have"),
        ({"format": 99}, "99"),
        ({**_verdict().to_dict(), "answer": "maybe"}, "maybe"),
        ({**_verdict().to_dict(), "leaves": [{"text": "P[a]"}]}, r"leaves\[0\] should have 'n'"),
        ({**_verdict().to_dict(), "leaves": [3]}, r"leaves\[0\] should be of type object, but is 3"),
        ({**_verdict().to_dict(), "samples": "many"}, "samples should be of type integer, but is 'many'"),
        ({**_verdict().to_dict(), "delta": None}, "delta should be of type number"),
        ({**_verdict().to_dict(), "remarks": "none"}, "remarks should be of type array"),
        ({**_verdict().to_dict(), "answer": "m" * 500}, r"but is 'm{56}\.\.\."),
    ],
)
def test_something_else_is_not_taken_for_a_stored_verdict(data: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Verdict.from_dict(data)


def test_the_text_says_answer_guarantee_and_what_it_rests_on() -> None:
    text = str(_verdict())
    for part in ("P[a] >= 0.5", "holds after 1,234 samples", "at most 0.01", "rows are independent", "0.55"):
        assert part in text


def test_an_undecided_verdict_claims_nothing() -> None:
    assert "Nothing is claimed" in str(_verdict(answer="undecided", risk=0.0))


def test_an_exact_verdict_says_so() -> None:
    verdict = _verdict(method="exact", risk=0.0)
    assert verdict.exact
    assert "no risk" in str(verdict)


def test_a_notebook_shows_text_from_outside_as_text() -> None:
    html = _verdict()._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_intervals_are_found_by_their_text_and_a_rate_has_its_own() -> None:
    assert _verdict().interval == (0.55, float("inf"))
    assert _verdict().intervals == {"P[a]": (0.55, 0.65)}


def test_the_level_of_the_intervals_is_stated_once_wherever_they_are_shown() -> None:
    one = "Each limit of an interval is wrong with probability at most 0.01"
    told = f"{one}, both limits with at most 0.02, at every look."
    for answer in ("holds", "violated", "undecided"):
        verdict = _verdict(answer=answer)
        assert str(verdict).count(told) == verdict._repr_html_().count(told) == 1
        assert " ".join(failure_text(verdict).split()).count(told) == 1
    assert "limit of an interval" not in str(_verdict(method="exact", risk=0.0))
    at_once = str(_verdict(looks="once", delta=0.6))
    assert "at most 0.6, for one look" in at_once


@pytest.mark.parametrize(
    ("relation", "low", "high", "settled"),
    [
        (">=", 0.5, 0.7, True),
        (">", 0.5, 0.5, False),
        (">=", 0.4, 0.6, None),
        (">=", 0.1, 0.4, False),
        ("<=", 0.5, 0.5, True),
        ("<", 0.5, 0.5, False),
        ("<", 0.1, 0.4, True),
        ("<=", 0.6, 0.7, False),
    ],
)
def test_an_interval_settles_its_comparison_when_it_clears_the_threshold(
    relation: str, low: float, high: float, settled: bool | None
) -> None:
    assert Expression("P[a]", relation, 0.5, 0.5, low, high).settled is settled
