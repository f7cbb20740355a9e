"""A claim for every group: who the groups are, what is said of each, and that no picture contradicts its answer."""

from __future__ import annotations

import html
import json
from xml.etree import ElementTree

import numpy as np
import pytest

import isonomia as iso
from isonomia.audits.rates.groups import groups_of
from isonomia.errors import UsageError
from isonomia.evidence.bet_evidence import bets_for
from isonomia.evidence.planning import best_shares
from isonomia.records.display.view import answer_line, compared_finding
from isonomia.records.verdict import Expression, Verdict
from isonomia.report.entries import AuditReport, Entry
from isonomia.report.junit import junit
from isonomia.report.markdown import as_markdown
from isonomia.report.page.page import page
from isonomia.report.sarif import sarif
from isonomia.spec.tree import leaves_of
from raising import raises

PARITY = "for g in race except 'A': P[hired | race == g] >= 0.8 * P[hired | race == 'A']"


def people(n=8_000, rates=(0.5, 0.2, 0.52, 0.41), seed=3):
    rng = np.random.default_rng(seed)
    race = rng.integers(0, len(rates), size=n)
    hired = rng.random(n) < np.asarray(rates)[race]
    return {"race": np.asarray(list("ABCD"))[race], "sex": rng.choice(["F", "M"], n), "hired": hired}


@pytest.fixture(scope="module")
def verdict():
    # Large batches: more evidence than the verdict needs, so that the violated group can be named.
    return iso.check(PARITY, population=iso.Sample(people()), delta=0.05, seed=1, growth=3.0)


# ------------------------------------------------------------------------------------------------------------- claims


def labels(text, values=("A", "B")):
    return [claim.group for claim in groups_of(iso.parse(text).formula, lambda _: values)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for g in race: P[hired | race == g] >= 0.3", ["race == 'A'", "race == 'B'"]),
        ("for g in {'A', 'B'}: P[hired | race == g] >= 0.3", ["race == 'A'", "race == 'B'"]),
        ("for g in {1, 2}: P[class == g] >= 0.3", ["class == 1", "class == 2"]),
        ("for g in {1, 2}: P[class >= g] >= 0.3", ["g == 1", "g == 2"]),
        (
            "for g in race: for h in race except g: P[hired | race == g] >= 0.8 * P[hired | race == h]",
            ["race == 'A' against race == 'B'", "race == 'B' against race == 'A'"],
        ),
        (
            "for s in sex: for g in race: P[hired | sex == s and race == g] >= 0.3",
            [f"sex == '{s}', race == '{g}'" for s in "AB" for g in "AB"],
        ),
        ("P[hired | race == 'A'] >= 0.3 and P[hired | race == 'B'] >= 0.3", ["race == 'A'", "race == 'B'"]),
        (
            "P[y | sex == 'F' and age > 18] / P[y | sex == 'M' and age > 18] >= 0.8 and "
            "P[y | sex == 'X' and age > 18] / P[y | sex == 'M' and age > 18] >= 0.8",
            ["sex == 'F'", "sex == 'X'"],
        ),
        ("P[hired | race == 'A'] >= 0.3 and P[hired | race == 'A'] <= 0.6", []),
        ("P[hired] >= 0.3", []),
        ("for g in race: P[hired | race == g] >= 0.3 or P[hired] >= 0.5", []),
        ("not (for g in race: P[hired | race == g] >= 0.3)", []),
    ],
)
def test_groups_are_called_by_the_values_that_they_are_about(text, expected):
    assert labels(text) == expected


@pytest.mark.parametrize(
    "body",
    [
        "P[hired | race == g] / P[hired | race == 'A'] >= 0.8",
        "P[hired | race == g] >= 0.8 * P[hired | race == 'A']",
        "abs(P[hired | race == g] - P[hired | race == 'A']) <= 0.1",
    ],
)
def test_no_group_is_compared_with_itself(body):
    assert labels(f"for g in race: {body}") == ["race == 'B'"]
    verdict = iso.check(f"for g in race: {body}", population=iso.Sample(people(500)), seed=1)
    assert [item.group for item in verdict.groups] == [f"race == '{g}'" for g in "BCD"]
    assert len(verdict.expressions) == 3


@pytest.mark.parametrize(
    "body",
    [
        "P[hired | race == g] / P[hired | race == 'A'] >= 1.1",
        "P[hired | race == g] > 1 * P[hired | race == 'A']",
        "P[hired | race == g] - P[hired | race == 'A'] >= 0.1",
    ],
)
def test_a_group_that_is_compared_with_itself_and_fails_stays(body):
    assert labels(f"for g in race: {body}") == ["race == 'A'", "race == 'B'"]


def test_intersections_that_are_named_one_by_one_are_groups():
    prop = iso.fairness.demographic_parity(
        ["sex", "race"],
        favourable=True,
        decision="hired",
        ratio=0.8,
        groups=[("F", "B"), ("M", "B")],
        majority=("M", "A"),
    )
    verdict = iso.check(prop, population=iso.Census(people(2_000)))
    assert [item.group for item in verdict.groups] == ["sex == 'F', race == 'B'", "sex == 'M', race == 'B'"]


def test_every_intersection_is_compared_with_the_majority_but_not_the_majority_itself():
    prop = iso.fairness.demographic_parity(
        ["sex", "race"], favourable=True, decision="hired", ratio=0.8, majority=("M", "A")
    )
    verdict = iso.check(prop, population=iso.Census(people(2_000)))
    assert len(verdict.groups) == 7
    assert "sex == 'M', race == 'A'" not in {item.group for item in verdict.groups}


def test_two_measures_of_a_group_are_one_group_and_the_worse_is_shown():
    table = {"race": list("AAAABBBB"), "label": [1, 0] * 4, "prediction": [1, 0, 1, 0, 1, 1, 0, 0]}
    prop = iso.fairness.equalized_odds("race", favourable=1, outcome="label", difference=0.2, majority="A")
    verdict = iso.check(prop, population=iso.Census(table))
    (only,) = verdict.groups
    assert (only.group, only.answer) == ("race == 'B'", "violated")
    assert only.estimate == pytest.approx(0.5)


# ------------------------------------------------------------------------------------------------------------ answers


def test_each_group_has_an_answer_and_the_worst_is_named(verdict):
    answers = {item.group: item.answer for item in verdict.groups}
    assert verdict.answer == "violated"
    assert answers["race == 'B'"] == "violated"
    assert verdict.worst.group == "race == 'B'"
    assert "the worst of 3 comparisons is race == 'B'" in answer_line(verdict)
    worst = verdict.worst
    assert compared_finding(verdict).startswith(
        f"race == 'B': {worst.estimate:.4g} in [{worst.low:.4g}, {worst.high:.4g}"
    )


def test_every_report_names_the_worst_group(verdict):
    audit = AuditReport("t", (Entry("parity", verdict),))
    words = "the worst of 3 comparisons is race == 'B'"
    for written in (str(verdict), ElementTree.fromstring(junit(audit))[0][0][0].get("message"), sarif(audit)):
        assert words in written
    assert words in html.unescape(page(audit))
    assert "race == 'B': " in as_markdown(audit).replace("\\", "")


def test_ratios_are_shown_as_ratios(verdict):
    worst = verdict.worst
    assert worst.text == "P[hired | race == 'B'] / P[hired | race == 'A']"
    assert (worst.relation, worst.threshold) == (">=", 0.8)
    assert worst.estimate == pytest.approx(0.4, abs=0.1)
    assert verdict.expressions[0].text == worst.text


@pytest.mark.parametrize("control", ["family", "discovery"])
@pytest.mark.parametrize("method", ["auto", "region"])
@pytest.mark.parametrize("n", [60, 400, 3_000])
@pytest.mark.parametrize("rates", [(0.5, 0.2, 0.52, 0.41), (0.5, 0.5, 0.5, 0.5)])
def test_no_picture_contradicts_its_answer(control, method, n, rates):
    overlapping = "for g in race: P[hired | race == g] >= 0.8 * P[hired]"
    for prop in (PARITY, overlapping) if (n, control, rates[1]) == (60, "family", 0.2) else (PARITY,):
        verdict = iso.check(prop, population=iso.Sample(people(n, rates)), seed=2, method=method, control=control)
        assert verdict.groups
        for item in verdict.groups:
            assert item.expression.settled is {"holds": True, "violated": False, "undecided": None}[item.answer]
            assert item.low <= item.high
        assert verdict.headline.settled is verdict.holds
        low, high = verdict.interval
        assert low <= high
        if verdict.answer == "holds":
            assert {item.answer for item in verdict.groups} == {"holds"}
        if any(item.answer == "violated" for item in verdict.groups):
            assert verdict.answer == "violated"


def test_the_interval_of_the_verdict_is_that_of_the_worst_value():
    verdict = iso.check("for g in race: P[hired | race == g] >= 0.3", population=iso.Sample(people()), seed=1)
    lows, highs = [item.low for item in verdict.groups], [item.high for item in verdict.groups]
    assert verdict.interval == (min(lows), min(min(highs), 0.3 if verdict.holds is False else 1.0))
    verdict = iso.check("for g in race: P[hired | race == g] <= 0.7", population=iso.Sample(people()), seed=1)
    assert verdict.interval == (max(item.low for item in verdict.groups), max(item.high for item in verdict.groups))


def test_a_violation_that_nobody_can_be_named_for_says_so(verdict):
    from dataclasses import replace

    open_ones = tuple(replace(item, answer="undecided", low=0.0, high=2.0) for item in verdict.groups)
    unnamed = replace(verdict, groups=open_ones)
    assert "the worst of 3 comparisons is race == 'B', and no single group is decided yet" in answer_line(unnamed)
    assert unnamed.headline.settled is False
    # The interval is of the worst value of all groups, and no estimate of one group stands beside it.
    assert compared_finding(unnamed) == "the worst of 3 comparisons: in [0, 0.8), must be >= 0.8"


def test_a_census_answers_each_group_exactly():
    table = {"race": list("AABB"), "hired": [1, 1, 1, 0]}
    verdict = iso.check("for g in race: P[hired | race == g] >= 0.8", population=iso.Census(table))
    assert [(item.answer, item.low, item.high, item.n) for item in verdict.groups] == [
        ("holds", 1.0, 1.0, 2),
        ("violated", 0.5, 0.5, 2),
    ]
    assert verdict.interval == (0.5, 0.5)


def test_the_same_seed_gives_the_same_groups_and_json_brings_them_back(verdict):
    again = iso.check(PARITY, population=iso.Sample(people()), delta=0.05, seed=1, growth=3.0)
    assert again.groups == verdict.groups
    assert Verdict.from_dict(json.loads(json.dumps(verdict.to_dict()))) == verdict


def test_rows_that_come_once_only_are_counted_down_in_each_group():
    census = iso.Census(people(6_000), exact=False)
    verdict = iso.check(PARITY, population=census, delta=0.05, seed=1, growth=3.0)
    assert {item.group: item.answer for item in verdict.groups}["race == 'B'"] == "violated"


def test_control_is_checked():
    with raises(UsageError, "familly", meant="family"):
        iso.check(PARITY, population=iso.Sample(people(50)), control="familly")


@pytest.mark.parametrize("relation", [">=", ">", "<=", "<"])
@pytest.mark.parametrize("answer", [True, False, None])
@pytest.mark.parametrize("ends", [(0.1, 0.2), (0.4, 0.6), (0.7, 0.9), (0.5, 0.5)])
def test_an_interval_is_made_to_agree_with_an_answer(relation, answer, ends):
    item = Expression("x", relation, 0.5, 0.45, *ends).agreeing(answer)
    assert item.settled is answer
    assert item.low <= item.high


def test_draws_go_to_the_groups_that_are_not_decided_yet():
    formula = iso.parse("P[y | g == 1] >= 0.3 and P[y | g == 2] >= 0.3 and P[y | g == 3] >= 0.3").formula
    leaves = leaves_of(formula)
    evidence = bets_for(formula, dict.fromkeys(leaves, (0.0, 1.0)), [leaf.given for leaf in leaves], 0.05)
    state = evidence.begin()
    for _ in range(40):  # the first two are clear, and the third is nearer to the threshold
        rates = (0.9, 0.8, 0.4)
        counts = {c: np.asarray([10 * (1 - rates[c.stream]), 10 * rates[c.stream]]) for c in evidence.channels}
        state = evidence.step(state, counts)
        if len(evidence.unsettled(state).against) == 1:
            break
    means = dict(zip(leaves, (0.9, 0.8, 0.4), strict=True))
    assert best_shares(evidence.unsettled(state), means, 3)[2] > 0.9
    assert best_shares(evidence, means, 3)[2] < 0.95
