"""What each audit says it found, in a few words, and whom it counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import isonomia as iso
from isonomia.audits.registry import Verdict
from isonomia.audits.responsiveness.view import people_in_words, people_kinds
from isonomia.records import Expression
from isonomia.records.display.view import telling, view_of


def _verdict(answer: str = "violated", expressions: tuple[Expression, ...] = (), **details: Any) -> Verdict:
    return Verdict(
        text="a claim",
        answer=answer,  # type: ignore[arg-type]
        delta=0.01,
        risk=0.01,
        method="bets",
        samples=10,
        leaves=(),
        expressions=expressions,
        stopped="the budget is spent",
        assumptions=(),
        remarks=(),
        seed=1,
        seconds=0.0,
        details=details,
    )


def _people(answer: str, relation: str, shares: list[float], **counts: int) -> Verdict:
    answers = ["fixed" if share == 0 else "responsive" for share in shares]
    people = {"answer": answers, "share": shares, "exact": [True] * len(shares)}
    counts = {"responsive": 0, "fixed": 0, "undecided": 0, "exact": 0} | counts
    return _verdict(
        answer, audit="responsiveness", relation=relation, threshold=0.1, counts=counts, groups=[], people=people
    )


def _cases(answer: str, bad: int, item: Expression) -> Verdict:
    return _verdict(answer, (item,), audit="k-safety", cases={"tested": 60_000}, violations={"cases": bad})


SHARE = Expression("share of cases that violate `d1 <= d2`", "<=", 0.0, 0.0172, 0.016, 0.018)


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (_verdict(expressions=(Expression("a", ">=", 0.8, 0.5, 0.4, 0.6),)), "0.5 in [0.4, 0.6], must be >= 0.8"),
        (_verdict(expressions=(Expression("a", "==", 0.0, None, -0.17, 0.45),)), "in [-0.17, 0.45], must be 0"),
        (_verdict("undecided"), "the budget is spent"),
        (_people("violated", ">=", [0.0, 0.5], people=274, fixed=26), "26 of 274 people have no way"),
        (_people("violated", ">=", [0.0, 0.5], people=274, fixed=1), "1 of 274 people has no way"),
        (_people("violated", "<=", [0.0, 0.5], people=274, responsive=98, fixed=176), "not met for 98 of 274 people"),
        (_people("undecided", ">=", [0.5], people=226, undecided=45), "not met for 0 of 226 people, 45 undecided"),
        (_cases("violated", 1_033, SHARE), "1,033 of 60,000 cases violate it"),
        (_cases("violated", 1, SHARE), "1 of 60,000 cases violates it"),
        (
            _cases("undecided", 0, replace(SHARE, threshold=0.001, estimate=0.0, low=0.0, high=0.0035)),
            "0 of 60,000 cases violate it; share in [0, 0.0035], must be <= 0.001",
        ),
    ],
)
def test_what_is_known_is_counted_where_there_is_something_to_count(verdict: Verdict, words: str) -> None:
    assert view_of(verdict).finding(verdict, False) == words


def test_somebody_with_a_way_that_is_too_narrow_has_a_way() -> None:
    verdict = _people("violated", ">=", [0.0, 0.5], people=2, fixed=2)
    verdict.details["people"]["answer"][:] = ["fixed", "fixed"]
    assert view_of(verdict).finding(verdict, False) == "not met for 2 of 2 people"


def test_of_several_subgroups_the_one_that_is_unequal_is_told() -> None:
    town, hill = (Expression(name, "==", 0.0, None, low, 0.5) for name, low in (("town", -0.2), ("hill", -0.1)))
    groups = [{"answer": answer, "effects": [{}]} for answer in ("undecided", "violated")]
    verdict = _verdict("violated", (town, hill), audit="principal fairness", subgroups=groups)
    assert view_of(verdict).finding(verdict, False) == "1 of 2 subgroups unequal; in [-0.1, 0.5], must be 0"


def test_where_room_is_short_a_sign_has_to_do() -> None:
    verdict = _verdict(expressions=(Expression("a", "==", 0.0, None, -0.17, 0.45),))
    assert view_of(verdict).finding(verdict, True) == "in [-0.17, 0.45] == 0"


def test_the_quantity_that_settles_the_answer_is_told_before_the_first() -> None:
    fine, broken = Expression("a", ">=", 0.8, 0.9, 0.85, 0.95), Expression("b", ">=", 0.8, 0.5, 0.4, 0.6)
    assert telling(_verdict("violated", (fine, broken))) == broken
    assert telling(_verdict("holds", (broken, fine))) == fine
    assert telling(_verdict("undecided", (fine, broken))) == fine
    assert telling(_verdict()) is None


@pytest.mark.parametrize(("relation", "good", "bad"), [(">=", "responsive", "fixed"), ("<=", "fixed", "responsive")])
def test_who_breaks_a_claim_follows_from_the_claim(relation: str, good: str, bad: str) -> None:
    kinds = people_kinds({"relation": relation})
    assert [kind.key for kind in kinds] == [good, bad, "undecided"]
    assert [kind.answer for kind in kinds] == ["holds", "violated", "undecided"]


def test_those_who_can_game_a_model_are_said_to_break_the_claim() -> None:
    counts = {"people": 274, "responsive": 98, "fixed": 176, "undecided": 0}
    assert people_in_words(counts, {"relation": "<="}) == "of 274 people: 176 meet it, 98 violate it, 0 undecided"
    assert people_in_words(counts, {"relation": ">="}) == "of 274 people: 98 responsive, 176 fixed, 0 undecided"


def test_a_remark_tells_the_risk_as_everything_else_does() -> None:
    people = {"priors": list(range(60)) * 10}
    verdict = iso.check(
        iso.safety.monotone("priors", up=(1, 2), output="not lower"),
        lambda table: np.asarray(table["priors"]),
        iso.Sample(people),
        delta=0.01 / 3,
        budget=500,
        seed=1,
    )
    assert any("at the risk 0.00334;" in remark for remark in verdict.remarks)
