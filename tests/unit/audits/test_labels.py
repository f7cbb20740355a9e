"""Checks of tables in which few rows have a label, and a judge answered for all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import isonomia as iso
from isonomia.errors import DataError, SpecError, UsageError
from isonomia.populations.protocol import facts_of

LABELS = iso.Labels("human", judge="judge", probability=0.2)


def answers(
    rows: int = 4000, seed: int = 4, accuracy: float = 0.9, chance: float = 0.2, words: bool = False
) -> dict[str, Any]:
    """Graded answers; of every fifth row, on average, a person says whether it is right."""
    rng = np.random.default_rng(seed)
    right = rng.random(rows) < 0.8
    judge = np.where(rng.random(rows) < accuracy, right, ~right)
    labeled = rng.random(rows) < chance
    human: Any = np.where(labeled, right, np.nan)
    if words:
        human = np.where(labeled, np.where(right, "yes", "no"), None)
    return {
        "human": human,
        "judge": np.where(judge, "yes", "no") if words else judge.astype(int),
        "score": np.clip(0.7 * judge + 0.3 * rng.random(rows), 0.0, 1.0),
        "new_answer": np.where(rng.random(rows) < 0.9, right, ~right).astype(int),
        "old_answer": np.where(rng.random(rows) < 0.8, right, ~right).astype(int),
        "topic": rng.choice(["law", "tax"], rows),
        "chance": np.full(rows, chance),
    }


CLAIMS = [
    "P[human == 1] >= 0.75",
    "P[human == 1 | topic == 'law'] / P[human == 1 | topic == 'tax'] >= 0.8",
    "abs(P[human == 1 | topic == 'law'] - P[human == 1 | topic == 'tax']) <= 0.2",
    "for g in topic: P[human == 1 | topic == g] >= 0.7",
    "E[human from 0 to 1] - P[judge == 1] <= 0.15",
    "P[new_answer == human] - P[old_answer == human] >= -0.05",
    "P[human == 1] >= 0.7 and P[human == 1 | topic == 'law'] >= 0.65",
    "P[human == 1] <= 0.7 or P[judge == human] >= 0.8",
]


@pytest.mark.parametrize("claim", CLAIMS)
def test_what_is_true_of_labels_is_shown_with_an_interval_on_its_side(claim: str) -> None:
    verdict = iso.check(claim, population=iso.Sample(answers(), labels=LABELS), seed=1)
    assert verdict.answer == "holds"
    assert verdict.samples < 4000
    if " or " not in claim:
        assert all(item.settled is True for item in verdict.expressions)
    assert any("got its label 'human' by chance, with probability 0.2" in text for text in verdict.assumptions)


def test_what_is_false_of_labels_is_violated_whatever_the_judge_says() -> None:
    table = answers()
    table["judge"] = np.ones(4000, dtype=int)  # a judge that likes everything
    people = iso.Sample(table, labels=LABELS)
    verdict = iso.check("P[human == 1] >= 0.9", population=people, seed=1, stop="all")
    assert verdict.answer == "violated"
    (judge,) = verdict.details["judge"]
    assert judge["bias"] == pytest.approx(0.2, abs=0.05)
    assert judge["worth"] == pytest.approx(1.0, abs=0.05)


def test_labels_in_words_scores_and_probabilities_by_row() -> None:
    table = iso.Sample(answers(words=True), labels=iso.Labels("human", judge="judge", probability="chance"))
    assert iso.check("P[human == 'yes'] >= 0.75", population=table, seed=1).answer == "holds"
    scored = iso.Sample(answers(), labels=iso.Labels("human", judge="score", probability=0.2))
    verdict = iso.check("P[human == 1] >= 0.75", population=scored, seed=1)
    assert verdict.answer == "holds"
    assert verdict.details["judge"][0]["worth"] > 1.5


def test_a_good_judge_makes_the_interval_narrower_and_its_quality_is_reported() -> None:
    found = []
    for accuracy in (0.5, 0.97):
        people = iso.Sample(answers(accuracy=accuracy), labels=LABELS)
        verdict = iso.check("P[human == 1] >= 0.79", population=people, seed=1, stop="all")
        low, high = verdict.interval
        assert low < 0.8 < high
        (judge,) = verdict.details["judge"]
        assert judge["agreement"] == pytest.approx(accuracy, abs=0.05)
        assert f"{judge['agreement']:.1%}" in str(verdict)
        assert iso.Verdict.from_dict(verdict.to_dict()) == verdict
        found.append((high - low, judge["worth"]))
    assert found[1][0] < 0.7 * found[0][0]
    assert found[0][1] < 1.2 < 3.0 < found[1][1]


def test_two_models_are_compared_by_few_labels_and_the_named_property_needs_no_others() -> None:
    people, models = iso.Sample(answers(), labels=LABELS), {"new": "new_answer", "old": "old_answer"}
    verdict = iso.check(iso.evals.not_worse("human", margin=0.05), models, people, seed=1)
    assert verdict.answer == "holds"
    assert len(verdict.details["judge"]) == 2


def test_a_check_without_a_judge_or_label_is_as_ever() -> None:
    claim = "P[old_answer == 1] >= 0.5"
    with_labels = iso.check(claim, population=iso.Sample(answers(), labels=LABELS), seed=1)
    without = iso.check(claim, population=iso.Sample(answers()), seed=1)
    assert with_labels.interval == without.interval
    assert "judge" not in with_labels.details


@pytest.mark.parametrize(
    ("claim", "error"),
    [
        ("P[judge == 1 | human == 1] >= 0.5", SpecError),
        ("P[human == 1 | topic == 'law'] - P[human == 1] >= -0.1", SpecError),
        ("P[human == 1 | topic == 'law'] * P[human == 1 | topic == 'tax'] >= 0.1", SpecError),
    ],
)
def test_claims_without_a_valid_construction_are_refused(claim: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        iso.check(claim, population=iso.Sample(answers(), labels=LABELS), seed=1)


def test_labels_without_a_design_or_against_it_are_refused() -> None:
    table = answers()
    with pytest.raises(UsageError):
        iso.Labels("human", judge="judge")
    for chance in (0.0, 1.5, True, None):
        with pytest.raises(UsageError):
            iso.Labels("human", judge="judge", probability=chance)
    with pytest.raises(DataError):  # a fifth of the rows, and a tenth is stated
        iso.Sample(table, labels=iso.Labels("human", judge="judge", probability=0.1))
    picked = {**table, "human": np.where(table["judge"] == 1, table["human"], np.nan)}  # where the judge says yes
    share = float(np.mean(~np.isnan(picked["human"])))
    with pytest.raises(DataError):
        iso.Sample(picked, labels=iso.Labels("human", judge="judge", probability=share))
    with pytest.raises(DataError):
        iso.Sample({**table, "judge": table["human"]}, labels=LABELS)  # the judge's answers are missing too
    with pytest.raises(DataError):
        iso.Sample({**table, "chance": np.zeros(4000)}, labels=iso.Labels("human", judge="judge", probability="chance"))
    with pytest.raises(DataError):
        iso.Sample(table, labels=iso.Labels("nobody", judge="judge", probability=0.2))
    with pytest.raises(UsageError):
        iso.Sample(table, cluster="topic", labels=LABELS)
    with pytest.raises(UsageError):
        iso.measure(iso.Sample(table, labels=LABELS), decision="judge", by="topic")


def test_a_column_that_is_mostly_missing_is_refused_as_a_label_without_a_design() -> None:
    with pytest.raises(DataError) as caught:
        iso.check("P[human == 1] >= 0.5", population=iso.Sample(answers()), seed=1)
    assert "labels=" in str(caught.value)
    among = "P[human == 1 and human is not missing] >= 0.5"
    assert iso.check(among, population=iso.Sample(answers()), seed=1).answer == "violated"


def test_a_column_of_files_that_is_mostly_missing_is_refused_too(tmp_path: Path) -> None:
    pd.DataFrame(answers()).to_csv(tmp_path / "answers.csv", index=False)
    with pytest.raises(DataError):
        iso.check("P[human == 1] >= 0.5", population=iso.Sample(tmp_path, order="file"), seed=1)
    iso.check("P[human == 1 and human is not missing] >= 0.5", population=iso.Sample(tmp_path, order="file"), seed=1)


def test_the_next_rows_to_label_come_with_probabilities_that_the_check_takes() -> None:
    rng = np.random.default_rng(1)
    score = rng.random(5000)
    right = rng.random(5000) < score
    table = {"score": score, "judge": (score > 0.5).astype(int)}
    for options in ({}, {"score": "score"}):
        drawn = iso.evals.label_next(table, n=1000, seed=2, **options)
        assert abs(len(drawn.rows) - 1000) < 150
        assert drawn.probability.sum() == pytest.approx(1000, rel=1e-6)
        human = np.full(5000, np.nan)
        human[drawn.rows] = right[drawn.rows]
        design = iso.Labels("human", judge="score", probability="chance")
        people = iso.Sample({**table, "human": human, "chance": drawn.probability}, labels=design)
        assert iso.check("P[human == 1] >= 0.42", population=people, seed=1).answer == "holds"
    assert drawn.probability[np.abs(score - 0.5) < 0.1].min() > 1.5 * drawn.probability[score < 0.01].max()
    again = iso.evals.label_next({**table, "human": human, "chance": drawn.probability}, n=500, labels=design, seed=3)
    assert not set(again.rows) & set(drawn.rows)
    assert again.probability.sum() == pytest.approx(1500, rel=0.05)


@pytest.mark.parametrize(
    "options", [{}, {"n": 5, "probability": 0.5}, {"n": 50}, {"probability": 0.0}, {"n": 2, "score": "nobody"}]
)
def test_requests_for_labels_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises((UsageError, DataError)):
        iso.evals.label_next({"x": list(range(10))}, **options)


def test_a_sample_states_how_its_labels_were_drawn() -> None:
    sample = iso.Sample(answers(), labels=LABELS)
    assert facts_of(sample).labels == LABELS
    assert sample.fingerprint() != iso.Sample(answers()).fingerprint()


@pytest.mark.parametrize("claim", [CLAIMS[1], CLAIMS[6]])
def test_one_look_takes_all_rows_and_is_narrower_than_any_look(claim: str) -> None:
    people = iso.Sample(answers(), labels=LABELS)
    once = iso.check(claim, population=people, looks="once", seed=1)
    ever = iso.check(claim, population=people, stop="all", seed=1)
    assert (once.answer, once.samples) == ("holds", 4000)
    assert all(item.settled is True for item in once.expressions)
    assert not any("looks=" in remark for remark in once.remarks)
    widths = [[leaf.high - leaf.low for leaf in verdict.leaves] for verdict in (once, ever)]
    assert all(np.asarray(widths[0]) < np.asarray(widths[1]))


def test_one_look_with_varying_probabilities_few_rows_of_a_group_and_a_budget() -> None:
    rng = np.random.default_rng(3)
    table = answers()
    table["chance"] = np.where(table["judge"] == 1, 0.05, 0.9)
    right = np.where(rng.random(4000) < 0.9, table["judge"], 1 - table["judge"])
    table["human"] = np.where(rng.random(4000) < table["chance"], right, np.nan)
    table["topic"] = np.where(rng.random(4000) < 0.1, "tax", "law")
    people = iso.Sample(table, labels=iso.Labels("human", judge="judge", probability="chance"))
    verdict = iso.check("P[human == 1 | topic == 'tax'] >= 0.3", population=people, looks="once", seed=1)
    assert verdict.answer == "holds"
    part = iso.check("P[human == 1] >= 0.5", population=people, looks="once", budget=1500, seed=1)
    assert (part.answer, part.samples) == ("holds", 1500)
