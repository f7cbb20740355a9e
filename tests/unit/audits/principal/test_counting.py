"""Counting people by subgroup, attribute value, prediction and outcome."""

from __future__ import annotations

from typing import Any

import numpy as np

from isonomia.audits.principal.question import PrincipalQuestion, ask_about, sorted_into, subgroups_in
from isonomia.audits.principal.sampling import check_table, count
from isonomia.errors import DataError, SpecError
from isonomia.populations import Sample
from isonomia.populations.table import Table
from isonomia.spec.principal import PrincipalFairness
from raising import raises

ROWS: dict[str, list[Any]] = {
    "sex": ["F", "M", "F", "M", "M"],
    "passed": ["no", "yes", "yes", "no", "yes"],
    "prediction": ["no", "yes", "no", "yes", "yes"],
    "school": ["B", "A", "B", "B", "A"],
    "year": [1, 1, 2, 1, 2],
}


def question(given: tuple[str, ...] = (), **changed: list[Any]) -> tuple[PrincipalQuestion, Table]:
    sample = Sample(ROWS | changed)
    return ask_about(PrincipalFairness(attribute="sex", outcome="passed", given=given), sample, None), sample.table


def test_counts_agree_with_counting_by_hand() -> None:
    asked, table = question(("school", "year"))
    counts = count(asked, table, None)
    assert list(counts) == [("A", 1), ("A", 2), ("B", 1), ("B", 2)]
    # Cells are prediction * 2 + outcome, with "no" as 0.
    assert counts["B", 1].tolist() == [[1, 0, 0, 0], [0, 0, 1, 0]]
    assert counts["A", 2].tolist() == [[0, 0, 0, 0], [0, 0, 0, 1]]
    assert sum(seen.sum() for seen in counts.values()) == 5


def test_without_columns_to_condition_on_everybody_is_one_subgroup() -> None:
    asked, table = question()
    assert count(asked, table, None)[()].tolist() == [[1, 1, 0, 0], [0, 0, 1, 2]]


def test_a_missing_value_is_refused_wherever_it_is() -> None:
    asked, _ = question(("school",))
    for name in ("sex", "passed", "prediction", "school"):
        broken = Table.of(ROWS | {name: [*ROWS[name][:3], None, ROWS[name][4]]})
        with raises(DataError, name, 1, 5, 3):
            count(asked, broken, None)


def test_a_prediction_column_with_nan_is_refused() -> None:
    numbers = {"passed": [0, 1, 1, 0, 1], "prediction": [0.0, 1.0, np.nan, 1.0, 1.0]}
    asked, table = question((), **numbers)
    with raises(DataError, 1, 5, 2, "prediction"):
        check_table(asked, table)


def test_subgroups_come_in_the_order_of_their_values_with_the_rows_of_each() -> None:
    rng = np.random.default_rng(1)
    columns = {"a": rng.choice(["x", "y", "z"], 60), "b": rng.integers(-2, 2, 60), "c": rng.choice([0.5, 2.5], 60)}
    keys, places = sorted_into(Table.of(columns), ("b", "a", "c"))
    rows = list(zip(columns["b"].tolist(), columns["a"].tolist(), columns["c"].tolist(), strict=True))
    assert keys == sorted(set(rows))
    assert [keys[place] for place in places] == rows


def test_columns_with_more_possible_combinations_than_numbers_are_counted_by_those_that_occur() -> None:
    kinds = np.arange(40) % 8
    names = tuple(f"g{k}" for k in range(25))  # 8 ** 25 combinations
    keys, places = sorted_into(Table.of({name: (kinds + k) % 8 for k, name in enumerate(names)}), names)
    assert len(keys) == 8
    assert places.tolist() == kinds.tolist()


def test_too_many_subgroups_are_refused() -> None:
    table = Table.of({"income": np.linspace(0.0, 1.0, 201)})
    with raises(SpecError, 200, "income", 201):
        subgroups_in(table, ("income",))
