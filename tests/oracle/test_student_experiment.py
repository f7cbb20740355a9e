"""The paper's experiment on the students' grades, with our dichotomisation: what must come out whatever the rules."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import student

pytestmark = pytest.mark.skipif(not student.FOLDER.exists(), reason="the student data are not here; set ISONOMIA_DATA")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    found = []
    for subject in student.FILES:
        table, _ = student.prepared(subject)
        for attribute, given in student.CASES:
            found += student.audited(subject, table, attribute, given)
    return found


def test_the_outcome_is_the_top_third_and_28_features_are_used() -> None:
    for subject, size in (("mathematics", 395), ("Portuguese", 649)):
        table, made = student.prepared(subject)
        assert (made["rows"], made["features"], made["cut"]) == (size, 28, 13)
        assert abs(sum(table["top"]) / size - 1 / 3) < 0.02
        assert made["accuracy"] > 0.66  # what predicting nobody would reach


def test_in_portuguese_the_bounds_for_higher_education_exclude_zero_on_the_positive_side(
    rows: list[dict[str, Any]],
) -> None:
    found = [row for row in rows if row["subject"] == "Portuguese" and row["attribute"] == "higher"]
    assert len(found) == 4
    for row in found:
        assert row["tau"][0] > 0.05
        assert row["plug_in"] == "violated"
        assert sum(row["epsilon"]) > 0.05
        assert sum(value > 0 for value in row["epsilon"]) == 1


def test_in_mathematics_the_bounds_for_sex_and_address_cover_zero_and_nothing_is_repaired(
    rows: list[dict[str, Any]],
) -> None:
    found = [row for row in rows if row["subject"] == "mathematics" and row["attribute"] != "higher"]
    assert len(found) == 3
    for row in found:
        assert row["tau"][0] < 0 < row["tau"][1]
        assert sum(row["epsilon"]) == 0
        assert row["verdict"] == "undecided"


def test_the_confidence_bounds_enclose_the_bounds_of_the_table_where_every_row_was_used(
    rows: list[dict[str, Any]],
) -> None:
    whole = [row for row in rows if row["verdict"] == "undecided"]
    assert whole
    for row in whole:
        assert row["confidence"][0] <= row["tau"][0] + 1e-6
        assert row["tau"][1] - 1e-6 <= row["confidence"][1]
