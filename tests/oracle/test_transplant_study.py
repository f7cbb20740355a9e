"""The Transplant Benefit Score and its study: published figures, a score by hand, and the shape of the answer."""

from __future__ import annotations

import csv
from itertools import pairwise
from math import exp, log

import numpy as np
import pytest
from benchmarks.transplant_score import ALCOHOL, CANCER, DEFAULT_PATIENT, TERMS, Score, read_score

from benchmarks import transplant

pytestmark = pytest.mark.skipif(not transplant.FOLDER.exists(), reason="the liver data are not here; set ISONOMIA_DATA")


@pytest.fixture(scope="module")
def score() -> Score:
    return read_score(transplant.FOLDER)


def patient(**changed: float) -> dict[str, np.ndarray]:
    return {name: np.asarray([float(changed.get(name, value))]) for name, value in DEFAULT_PATIENT.items()}


def test_the_default_patient_has_the_days_that_the_public_calculator_shows(score: Score) -> None:
    assert float(score.need(patient())[0]) == pytest.approx(1387, abs=1)
    assert float(score.utility(patient())[0]) == pytest.approx(1596, abs=1)


def test_the_need_of_a_patient_without_cancer_is_what_comes_out_by_hand(score: Score) -> None:
    values = {
        "RAGE - MEAN(RAGE)": 41.0,
        "RAGE SQUARED - MEAN(RAGE SQUARED)": 41.0**2,
        "RGENDER": 1.0,
        "LN(RCREATININE) - MEAN(LN(RCREATININE))": log(90.0),
        "LN(RBILIRUBIN) - MEAN(LN(RBILIRUBIN))": log(55.0),
        "LN(RINR) - MEAN(LN(RINR))": log(1.4),
        "RSODIUM - MEAN(RSODIUM)": 131.0,
        "LN(RBILIRUBIN)*RSODIUM - MEAN(LN(RBILIRUBIN)*RSODIUM)": log(55.0) * 131.0,
        "RINPATIENT": 1.0,
        "RREGISTRATION YEAR=2010": 1.0,
        "RDISEASE GROUP=6": 1.0,
        "RDISEASE GROUP=6*LN(RBILIRUBIN)": log(55.0),
    }
    with (transplant.FOLDER / "betas.csv").open(encoding="utf-8") as file:
        hazard = exp(
            sum(
                float(row["m1_noncancer_beta"]) * (values.get(row["parameter"], 0.0) - float(row["m1_noncancer_mean"]))
                for row in csv.DictReader(file)
            )
        )
    with (transplant.FOLDER / "surv_noncancer.csv").open(encoding="utf-8") as file:
        days = sum(float(row["m1_surv"]) ** hazard for row in csv.DictReader(file))
    person = patient(
        age=41, woman=1, creatinine=90, bilirubin=55, inr=1.4, sodium=131, inpatient=1, registration=5, disease=6
    )
    assert float(score.need(person)[0]) == pytest.approx(days, rel=1e-12)


def test_scores_go_the_way_of_their_coefficients_and_are_days_of_five_years(score: Score) -> None:
    sizes = [patient(disease=CANCER, tumour_size=size) for size in (1, 2, 5, 10)]
    for part in (score.need, score.utility):
        days = [float(part(one)[0]) for one in sizes]
        assert all(first > second for first, second in pairwise(days))  # a larger tumour, fewer days
        assert all(0 < value <= 1826 for value in days)
    healthy = [float(score.need(patient(tumour_size=size))[0]) for size in (0, 5)]
    assert healthy[0] == healthy[1]  # without cancer there is no term for it
    second = patient(second_disease=CANCER)
    assert float(score.need(second)[0]) == float(score.need(patient(disease=CANCER, second_disease=ALCOHOL))[0])
    assert len(TERMS) == 76


def test_the_liver_parameters_of_the_cohort_have_the_papers_correlations_and_bounds() -> None:
    people = transplant.cohort(4_000)
    hidden = np.column_stack([people[name] for name in transplant.HIDDEN])
    inside = np.ones(len(hidden), dtype=bool)
    for name, (low, high) in zip(transplant.LIVER, ((15, 200), (125, 145), (0.9, 2.4), (45, 200)), strict=True):
        assert people[name].min() >= low
        assert people[name].max() <= high
        inside &= (people[name] > low) & (people[name] < high)
    # Bounds cut the noise off, so the correlations of those inside are a little smaller than those that were drawn.
    assert np.abs(np.corrcoef(hidden[inside].T) - np.asarray(transplant.CORRELATION)).max() < 0.12
    assert people["age"].min() == 30
    assert people["age"].max() == 80


def test_getting_cancer_lowers_the_score_of_the_young_and_the_old_but_seldom_of_those_between(score: Score) -> None:
    people = transplant.cohort(150)
    found = {}
    for size in transplant.SIZES:
        for row in transplant.audited(score, people, size, "exactly", draws=20):
            found[row["model"], size, row["ages"]] = row["violated"]
    for size in transplant.SIZES:
        assert found["benefit", size, "30-39"] > 0.9
        assert found["benefit", size, "70-80"] > 0.98
        assert found["benefit", size, "50-59"] < 0.4
        assert found["need", size, "50-59"] < 0.4
    # For large tumours need hardly ever moves the wrong way at this age, and utility mostly does.
    assert found["need", "large", "50-59"] < 0.15
    assert found["utility", "large", "50-59"] > 0.6


def test_cancer_of_at_most_a_size_leaves_no_draw_without_it() -> None:
    people = transplant.cohort(20)
    points = transplant.cancer(2.0, "at most").reach(people).sample(50, np.random.default_rng(0)).table()
    assert set(np.asarray(points.column("disease"), dtype=int).tolist()) == {CANCER}
    sizes = np.asarray(points.column("tumour_size"), dtype=float)
    assert ((sizes > 0) & (sizes <= 2)).all()
    assert set(np.asarray(points.column("tumours"), dtype=int).tolist()) == {1, 2, 3}
    assert np.abs(sizes.mean() - 1.0) < 5 * (1 / 3) ** 0.5 / 1_000**0.5
