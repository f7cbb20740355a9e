"""Calibration by group: the formula, its arguments, and plain counting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isonomia as iso
from isonomia.errors import DataError, IsonomiaError, UsageError
from isonomia.spec import fairness, parse
from raising import raises


@pytest.mark.parametrize("bins", [1, 2, 5, [0.2, 0.5, 0.9]])
@pytest.mark.parametrize("options", [{}, {"groups": ["F"]}, {"given": "age > 18"}, {"score": "risk"}])
def test_it_is_written_as_a_formula_that_is_read_again(bins: object, options: dict[str, object]) -> None:
    prop = fairness.calibration("sex", outcome="repaid", tolerance=0.1, bins=bins, **options)
    assert parse(str(prop)).formula == prop.formula
    assert prop.name == "calibration by sex"
    assert prop.explain()


def test_bins_hold_their_lower_edge_and_the_last_one_both() -> None:
    text = str(fairness.calibration(["sex", "race"], outcome="y", tolerance=0.1, bins=2, groups=[("F", "B")]))
    assert text == (
        "abs(E[(y == 1) - score from -1 to 1 | sex == 'F' and race == 'B' and score >= 0 and score < 0.5]) <= 0.1 and "
        "abs(E[(y == 1) - score from -1 to 1 | sex == 'F' and race == 'B' and score >= 0.5 and score <= 1]) <= 0.1"
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"tolerance": 0}, "tolerance must be a number above 0 and at most 1"),
        ({"bins": 0}, "bins must be a number from 1 to 100"),
        ({"bins": [0.5, 0.2]}, "edges, ascending"),
        ({"bins": "five"}, "edges, ascending"),
        ({"bins": [0, 2]}, "every edge of bins must be a number from 0 to 1"),
        ({"groups": []}, "groups must hold at least one group"),
        ({"score": 3}, "score must be the name of a column"),
    ],
)
def test_bad_arguments_are_told(options: dict[str, object], expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        fairness.calibration("sex", **{"outcome": "y", "tolerance": 0.1, **options})


def test_a_census_is_judged_as_by_plain_counting() -> None:
    rng, answers = np.random.default_rng(4), set()
    for _ in range(60):
        n, tolerance = 80, float(rng.choice([0.15, 0.3, 0.5]))
        sex, score, repaid = rng.choice(["F", "M"], n), rng.random(n).round(2), rng.integers(0, 2, n)
        rates = [
            abs(np.mean(repaid[chosen] - score[chosen]))
            for group in ("F", "M")
            for chosen in ((sex == group) & (score < 0.5), (sex == group) & (score >= 0.5))
        ]
        people = iso.Census({"sex": sex, "score": score, "repaid": repaid})
        verdict = iso.check(
            fairness.calibration("sex", outcome="repaid", tolerance=tolerance, bins=2), population=people
        )
        assert verdict.holds == (max(rates) <= tolerance)
        answers.add(verdict.answer)
    assert answers == {"holds", "violated"}


def test_a_calibrated_score_passes_and_one_that_is_too_high_for_a_group_does_not() -> None:
    rng = np.random.default_rng(1)
    score, sex = rng.random(8000), rng.choice(["F", "M"], 8000)
    for power, answer in ((1.0, "holds"), (3.0, "violated")):
        repaid = (rng.random(8000) < np.where(sex == "F", score**power, score)).astype(int)
        people = iso.Sample({"sex": sex, "score": score, "repaid": repaid})
        prop = fairness.calibration("sex", outcome="repaid", tolerance=0.15, bins=2)
        assert iso.check(prop, population=people, looks="once", seed=1).answer == answer


def _scored(*extra: float | None) -> dict[str, object]:
    """Well-calibrated scores of 2,000 people, and further people with these scores whose outcome is positive."""
    rng = np.random.default_rng(4)
    score = np.append(rng.random(2000), np.asarray(extra, dtype=float))
    sex = np.append(rng.choice(["F", "M"], 2000), np.full(len(extra), "F"))
    repaid = np.append(rng.random(2000) < score[:2000], np.full(len(extra), True)).astype(int)
    return {"sex": sex, "risk": score, "repaid": repaid, "known": score == score}


@pytest.mark.parametrize("population", [iso.Sample, iso.Census, lambda rows: iso.Census(rows, exact=False)])
@pytest.mark.parametrize("bins", [1, 2])
@pytest.mark.parametrize("bad", [1.7, -0.3, None])
def test_a_score_outside_of_its_range_or_missing_is_refused(population: Any, bins: int, bad: float | None) -> None:
    prop = fairness.calibration("sex", outcome="repaid", tolerance=0.2, bins=bins, score="risk")
    assert iso.check(prop, population=population(_scored()), seed=1).answer == "holds"
    shown = (2000,) if bad is None else (2000, bad)
    with raises(DataError, "risk", *shown):
        iso.check(prop, population=population(_scored(bad)), seed=1)
    joined = prop & fairness.calibration("sex", outcome="repaid", tolerance=0.3, bins=1, score="risk")
    with raises(DataError, "risk", *shown):
        iso.check(joined, population=population(_scored(bad)), seed=1)


def test_people_without_a_score_are_left_out_where_the_property_says_so() -> None:
    prop = fairness.calibration("sex", outcome="repaid", tolerance=0.2, bins=2, score="risk", given="known")
    assert iso.check(prop, population=iso.Sample(_scored(None)), seed=1).answer == "holds"


def test_the_scores_of_a_model_are_refused_outside_of_their_range_too() -> None:
    class Model:
        score_range = (0.0, 2.0)

        def __call__(self, rows: Any) -> Any:
            return np.asarray(rows["risk"])

    prop = fairness.calibration("sex", outcome="repaid", tolerance=0.2, bins=2)
    with pytest.raises(IsonomiaError, match="score"):
        iso.check(prop, Model(), iso.Generator(lambda n, rng: _drawn(n, rng)), seed=1, budget=2000)


def _drawn(n: int, rng: np.random.Generator) -> dict[str, object]:
    return {"sex": rng.choice(["F", "M"], n), "risk": np.full(n, 1.5), "repaid": np.ones(n, dtype=int)}
