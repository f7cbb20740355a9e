"""The studies of the responsiveness paper in small: what must come out whatever the seed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from benchmarks.reach import GERMAN
from benchmarks.transplant_score import read_score
from benchmarks.validation_truth import Listing, Truth, prepared

from benchmarks import ablations, recidivism, transplant, transplant_figures, validation
from isonomia.interventions import Interventions
from isonomia.populations import read_table


@pytest.fixture(scope="module")
def german() -> tuple[Listing, list[Truth]]:
    if not GERMAN.exists():
        pytest.skip("the German credit data are not here; set ISONOMIA_DATA")
    return prepared(read_table(str(GERMAN)))


def test_sampled_tests_of_german_credit_err_as_the_binomial_distribution_says(
    german: tuple[Listing, list[Truth]],
) -> None:
    repetitions = 6
    listing, truths = german
    counts = validation.counted(listing, truths, repetitions)
    for truth in truths:
        rows = [validation.measured(truth, counts[truth.name, draws], draws) for draws in validation.DRAWS]
        people = int(truth.responsive.sum()), int((~truth.responsive).sum())
        assert min(people) > 0
        for row in rows:
            assert row.specificity >= row.bound
            assert row.worst >= row.worst_bound
            # Claims are independent with known chances, so that their variance is at most p (1 - p): 5 deviations.
            for seen, expected, size in (
                (row.specificity, row.expected_specificity, people[0] * repetitions),
                (row.recall, row.expected_recall, people[1] * repetitions),
            ):
                assert abs(seen - expected) <= 5.5 * (expected * (1 - expected) / size) ** 0.5 + 10 / size
        assert all(row.precision is None for row in rows if row.draws < 29)
        assert all(first.error > second.error for first, second in pairwise(rows))
        assert rows[-1].recall > 0.8


def test_a_test_that_stops_by_itself_decides_most_people_of_german_credit_with_a_few_draws(
    german: tuple[Listing, list[Truth]],
) -> None:
    listing, truths = german
    row = validation.sequential(listing, truths[1], 1)
    assert row["specificity"] > 0.99
    assert row["mean_draws"] < 60
    assert row["median_draws"] == 8


@pytest.mark.skipif(not recidivism.COMPAS.exists(), reason="the COMPAS data are not here; set ISONOMIA_DATA")
def test_the_young_are_predicted_to_be_arrested_whatever_their_record() -> None:
    people = recidivism.people_of(read_table(str(recidivism.COMPAS)))
    model, auc = recidivism.fitted(people)
    assert auc["test"] > 0.7
    names = recidivism.features_of(people)
    for kind, rules in recidivism.clearings(people).items():
        verdict = recidivism.audited(people, model, rules)
        part = {tuple(item["group"].values()): item["fixed"] / item["people"] for item in verdict.details["groups"]}
        for race in ("white", "not white"):
            assert part["18-20", race] > 0.5 > part["21-29", race] > part["30 and over", race]
        assert all(part[age, "not white"] >= part[age, "white"] for age in ("18-20", "21-29", "30 and over"))
        assert _in_range(people, rules, names)
        if kind == "clear":  # a person stays as they are or has no record: at most two points, by hand
            found = verdict.details["people"]
            cleared = np.column_stack([people[name][found["row"]] for name in names])
            own = cleared.copy()
            cleared[:, [names.index(name) for name in recidivism.RECORD]] = 0
            cleared[:, names.index("priors_0")] = 1
            same = (own == cleared).all(axis=1)
            share = np.where(same, 0.0, (model.predict(cleared) == 0) / 2)
            assert found["share"] == pytest.approx(share)


def _in_range(people: recidivism.Columns, rules: Interventions, names: list[str]) -> bool:
    values = rules.reach({name: people[name][:500] for name in names}).points().values
    return bool(values.min() == 0.0 and values.max() == 1.0)


@pytest.mark.skipif(not recidivism.COMPAS.exists(), reason="the COMPAS data are not here; set ISONOMIA_DATA")
def test_the_papers_twenty_draws_show_nobody_to_be_fixed() -> None:
    people = recidivism.people_of(read_table(str(recidivism.COMPAS)))
    model, _ = recidivism.fitted(people)
    rules = recidivism.clearings(people)["in part"]
    verdict = recidivism.audited(people, model, rules)
    rows = {row["draws"]: row for row in recidivism.by_draws(people, model, rules, verdict)}
    assert rows[20]["alone"] == rows[20]["family"] == rows[20]["discovery"] == 0
    assert rows[29]["alone"] > 400
    assert rows[29]["family"] == 0
    assert rows[200]["family"] > 400
    assert rows[200]["family_wrong"] == 0


@pytest.mark.skipif(not recidivism.COMPAS.exists(), reason="the COMPAS data are not here; set ISONOMIA_DATA")
def test_without_age_no_prediction_of_arrest_is_fixed() -> None:
    people = recidivism.people_of(read_table(str(recidivism.COMPAS)))
    rows = {dropped: ablations.ablated(people, dropped)[0] for dropped in ("nothing", "age", "the constraints")}
    model, _ = recidivism.fitted(people)
    whole = recidivism.audited(people, model, recidivism.clearings(people)["in part"])
    assert rows["nothing"]["fixed"] == whole.details["counts"]["fixed"] > 400
    assert rows["age"]["fixed"] == 0
    assert rows["the constraints"]["fixed"] > rows["nothing"]["fixed"]
    assert rows["age"]["auc"]["test"] < rows["nothing"]["auc"]["test"]


@pytest.mark.skipif(not transplant.FOLDER.exists(), reason="the liver data are not here; set ISONOMIA_DATA")
def test_only_in_the_fifties_does_a_small_tumour_lower_the_days_without_a_transplant() -> None:
    people = transplant.cohort(400)
    for pair in transplant_figures.pairs(people):
        assert abs(pair["correlation"] - pair["noise"]) < 0.2  # clipping weakens it a little
    rows = transplant_figures.averages(read_score(transplant.FOLDER), people, 30)
    mean = {(row["state"], row["ages"]): row["mean"] for row in rows if row["model"] == "need"}
    falls = [ages for ages in ("30-39", "50-59", "70-80") if mean["small", ages] < mean["no cancer", ages]]
    assert falls == ["50-59"]
