"""The k-safety paper's COMPAS and GermanCredit properties on its own models: every count as expected."""

from __future__ import annotations

import pytest
from benchmarks.nomos_models import FOLDER, Subject, load
from benchmarks.nomos_properties import COMPAS_CASES, GERMAN_CASES, Case, brute_force

from benchmarks import nomos

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the k-safety data are not here; set ISONOMIA_DATA")

SECONDS = {"nn": 1.0, "dt": 0.2}
"""The longest that 5,000 tests may take."""

SMALL = [case for case in GERMAN_CASES if case.feature != "amount"]


@pytest.fixture(scope="module")
def compas() -> Subject:
    return load("compas")


@pytest.fixture(scope="module")
def german() -> Subject:
    return load("german")


@pytest.mark.parametrize("model", ["dt", "nn"])
@pytest.mark.parametrize("case", COMPAS_CASES, ids=lambda case: case.name)
def test_every_count_of_compas_is_the_published_one(case: Case, model: str, compas: Subject) -> None:
    row = nomos.exhaustive(case, compas, compas.models[model])
    expected = nomos.published()[case.name, model]
    for ours, theirs in nomos.COLUMNS.items():
        assert row[ours] == int(expected[theirs])
    assert row["rate"] == pytest.approx(float(expected["exact_rate"]), abs=5e-7)
    assert row["answer"] == ("violated" if int(expected["viol_pairs"]) else "holds")


@pytest.mark.parametrize("model", ["dt", "nn"])
@pytest.mark.parametrize("case", COMPAS_CASES, ids=lambda case: case.name)
def test_random_tests_find_as_many_distinct_violations_as_expected(case: Case, model: str, compas: Subject) -> None:
    expected = float(nomos.published()[case.name, model]["expected_unique_5000"])
    # The variance of the number found is at most its expectation, since finds are not positively correlated.
    found, seconds = nomos.random_tests(case, compas, compas.models[model], seed=7)
    assert abs(found - expected) <= 3 * (expected + 0.05) ** 0.5 + 0.05
    if seconds >= SECONDS[model]:  # the first check of all loads modules, too
        seconds = nomos.random_tests(case, compas, compas.models[model], seed=7)[1]
    assert seconds < SECONDS[model]


@pytest.mark.parametrize("model", ["dt", "nn"])
@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_german_credit_equals_brute_force(case: Case, model: str, german: Subject) -> None:
    row = nomos.exhaustive(case, german, german.models[model])
    expected = brute_force(case, german, german.models[model])
    assert (row["eligible"], row["pairs"]) == (expected.eligible, expected.pairs)
    assert (row["violating"], row["violating_inputs"]) == (expected.violating, expected.violating_inputs)
    assert row["rate"] == pytest.approx(expected.rate, abs=1e-12)
