"""Rows of a table as inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isonomia.errors import DataError
from isonomia.populations.domains.tables import TableDomain, table_domain
from isonomia.populations.table import Table, replaced
from raising import raises

COLUMNS = {
    "age": [20, 30, 40],
    "h_0": [1, 0, 0],
    "h_1": [0, 1, 0],
    "h_2": [0, 0, 0],
    "level": ["low", "high", "none"],
    "f1": [0.5, 1.5, 2.5],
    "y": [0, 1, 1],
}


def domain(data: Any = COLUMNS) -> TableDomain:
    return table_domain(Table.of(data), {"h": ["h_0", "h_1", "h_2"]}, {"level": ["low", "mid", "high"]}, "y", {})


ALL = np.arange(3, dtype=np.intp)


def test_features_are_found_by_name_and_by_number() -> None:
    made = domain()
    assert made.feature(0) == made.feature("f0") == made.feature("age") == "age"
    assert made.feature("f1") == "f1"  # a name goes before a number
    assert made.feature(1) == "h_0"
    assert made.feature("h") == "h"
    for wrong in (6, -1, "y", "hh", "f9"):
        with raises(DataError, "f1", "h_0"):
            made.feature(wrong)


def test_a_one_hot_group_is_read_and_set_by_position() -> None:
    made = domain()
    positions, bad = made.get(made.inputs(ALL), "h")
    assert positions.tolist()[:2] == [0, 1]
    assert bad is not None
    assert bad.tolist() == [False, False, True]
    changed, bad = made.set(made.inputs(ALL), "h", np.array([2.0, 3.0, 0.5]))
    assert bad is not None
    assert bad.tolist() == [False, True, True]
    assert [made.show(changed, 0)[name] for name in ("h_0", "h_1", "h_2")] == [0, 0, 1]
    assert made.show(made.inputs(ALL), 0)["h_0"] == 1  # the old record is as it was


def test_levels_are_read_and_set_by_number() -> None:
    made = domain()
    numbers, bad = made.get(made.inputs(ALL), "level")
    assert numbers.tolist()[:2] == [0, 2]
    assert bad is not None
    assert bad.tolist() == [False, False, True]
    changed, _ = made.set(made.inputs(ALL), "level", np.array([1, 1, 1]))
    assert made.column(changed, "level").tolist() == ["mid"] * 3


def test_distance_counts_a_group_once_and_measures_in_ranges() -> None:
    made = domain()
    first = made.inputs(ALL)
    second, _ = made.set(first, "age", np.array([20, 40, 40]))
    second, _ = made.set(second, "h", np.array([2, 1, 0]))
    count, far = made.distance(first, second)
    assert count.tolist() == [1, 1, 1]
    assert far[:2].tolist() == [1.0, 0.5]
    assert made.equal(first, first).all()


def test_records_are_shown_and_restored() -> None:
    made = domain()
    changed, _ = made.set(made.inputs(ALL), "age", np.array([1, 2, 3]))
    back = made.restore([made.show(changed, index) for index in range(3)])
    assert made.equal(back, changed).all()
    with pytest.raises(DataError):
        made.restore([{"age": 3}])


def test_batches_are_joined() -> None:
    made = domain()
    changed, _ = made.set(made.inputs(ALL), "age", np.array([1, 2, 3]))
    joined = made.concatenate([changed, made.inputs(ALL)])
    assert made.column(joined, "age").tolist() == [1, 2, 3, 20, 30, 40]


def test_a_name_that_the_table_lacks_is_refused() -> None:
    table = Table.of(COLUMNS)
    for arguments in (
        ({"h": ["h_0", "h_9"]}, {}, None),
        ({"age": ["h_0"]}, {}, None),
        ({}, {"levels": ["a"]}, None),
        ({}, {}, "yy"),
    ):
        with pytest.raises(DataError):
            table_domain(table, *arguments, {})  # type: ignore[arg-type]


def natives() -> list[Any]:
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    rows = [dict(zip(COLUMNS, values, strict=True)) for values in zip(*COLUMNS.values(), strict=True)]
    return [COLUMNS, rows, pandas.DataFrame(COLUMNS), polars.DataFrame(COLUMNS), pyarrow.table(COLUMNS)]


@pytest.mark.parametrize("number", range(5))
def test_the_model_gets_the_kind_of_table_that_the_owner_has(number: int) -> None:
    data = natives()[number]
    made = domain(data)
    changed, _ = made.set(made.inputs(ALL[::-1].copy()), "age", np.array([1.0, 2.0, 3.0]))
    given = made.table(changed)
    assert type(given.native) is type(Table.of(data).native)
    assert "y" not in given.names
    assert given.column("age").tolist() == [1, 2, 3]
    assert given.column("age").dtype.kind == "i"
    assert given.column("level").tolist() == ["none", "high", "low"]


def test_an_array_takes_other_numbers_in() -> None:
    table = Table.of(np.array([[1, 2], [3, 4]]))
    assert replaced(table, {"x1": np.array([0.5, 1.5])}).native.tolist() == [[1.0, 0.5], [3.0, 1.5]]
    assert replaced(table, {"x1": np.array([5.0, 6.0])}).native.dtype.kind == "i"
    assert replaced(table, {}) is table


def test_ordered_categories_of_a_frame_are_levels_by_themselves() -> None:
    polars = pytest.importorskip("polars")
    kind = polars.Enum(["low", "mid", "high"])
    made = table_domain(Table.of(polars.DataFrame({"level": ["mid"]}, schema={"level": kind})), {}, {}, None, {})
    assert made.kind("level") == "number"
    changed, _ = made.set(made.inputs(ALL[:1]), "level", np.array([2]))
    assert made.table(changed).native["level"].to_list() == ["high"]
    assert made.table(changed).native["level"].dtype == kind


@pytest.mark.parametrize("form", ["columns", "rows", "pandas", "polars"])
@pytest.mark.parametrize("value", [301.0, 301, -200.0, 1e19, 1e300])
def test_a_value_beyond_the_type_of_its_column_reaches_the_model_as_it_is(form: str, value: float) -> None:
    small = np.array([1, 2], dtype=np.int8)
    made: dict[str, Any] = {"columns": lambda: {"a": small}, "rows": lambda: [{"a": 1}, {"a": 2}]}
    if form in {"pandas", "polars"}:
        made[form] = lambda: pytest.importorskip(form).DataFrame({"a": small})
    changed = replaced(Table.of(made[form]()), {"a": np.array([value, value])})
    assert changed.column("a").tolist() == [value, value]
