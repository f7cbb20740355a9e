"""Tables as files."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import isonomia as iso
from isonomia.errors import UsageError
from isonomia.populations.files import read_table
from isonomia.report.files import need_table, write_table, write_violations
from raising import raises

COLUMNS = {"person": [3, 4], "distance": [0.5, None], "to job, now": ["a\n'b'", 'c,"d"'], "mixed": ["a", 1]}


@pytest.mark.parametrize("name", ["points.csv", "points.parquet"])
def test_what_is_written_is_read_back(tmp_path: Path, name: str) -> None:
    write_table(COLUMNS, tmp_path / name)
    table = read_table(tmp_path / name)
    assert table.names == tuple(COLUMNS)
    assert table.column("person").tolist() == [3, 4]
    assert table.column("to job, now").tolist() == COLUMNS["to job, now"]
    assert str(table.column("distance")[1]) == "nan"
    assert table.column("mixed").tolist() == ["a", "1"]


@pytest.mark.parametrize("name", ["points.csv", "points.parquet"])
def test_a_table_without_rows_keeps_its_columns(tmp_path: Path, name: str) -> None:
    write_table({"person": [], "distance": []}, tmp_path / name)
    assert (tmp_path / name).stat().st_size > 0


def test_a_bad_place_is_known_before_any_work_is_done(tmp_path: Path) -> None:
    with raises(UsageError, "--points", "points.xls"):
        need_table(tmp_path / "points.xls", "--points")
    with raises(UsageError, "--points", "points.csv", cause=FileNotFoundError):
        need_table(tmp_path / "nowhere" / "points.csv", "--points")
    (tmp_path / "kept.csv").write_text("a\n1\n")
    need_table(tmp_path / "kept.csv", "--points")
    assert (tmp_path / "kept.csv").read_text() == "a\n1\n"


def _cells(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def _named(path: Path) -> list[dict[str, str]]:
    head, *rows = _cells(path)
    return [dict(zip(head, row, strict=True)) for row in rows]


FORMULAS = ["=1+1", "@SUM(A1)", "+1+1", "-1+1", "\t=1", "\r=1", "-cmd|' /C calc'!A0"]
HARMLESS = ["a=1", "", "-5", "+5", "-1.5e3", "x", "1-2"]


def test_texts_that_a_spreadsheet_would_compute_are_written_with_an_apostrophe(tmp_path: Path) -> None:
    columns = {"=name": [*FORMULAS, *HARMLESS, -1.5, -2, None]}
    write_table(columns, tmp_path / "people.csv")
    write_table(columns, tmp_path / "people.raw.csv")
    written, raw = (
        [row[0] if row else "" for row in _cells(tmp_path / name)] for name in ("people.csv", "people.raw.csv")
    )
    assert written == ["'=name", *(f"'{text}" for text in FORMULAS), *HARMLESS, "-1.5", "-2", ""]
    assert raw == ["=name", *FORMULAS, *HARMLESS, "-1.5", "-2", ""]


def test_violations_that_a_spreadsheet_would_compute_are_written_with_an_apostrophe(tmp_path: Path) -> None:
    people = iso.Census({"name": ["=1+1", "@SUM", "-5", "x"], "age": [-1, -2, -3, -4]})
    verdict = iso.check(iso.safety.invariant_to("name"), lambda table: list(table["name"]), people, seed=1)
    for name, mark in (("all.csv", "'"), ("all.raw.csv", "")):
        write_violations(verdict.violations(), tmp_path / name)
        cells = {cell for row in _cells(tmp_path / name) for cell in row}
        assert {f"{mark}=1+1", "-5", "x"} <= cells
        assert bool(mark) != ("=1+1" in cells)


def test_a_table_by_group_keeps_values_and_numbers_as_they_are(tmp_path: Path) -> None:
    for number, column in enumerate(([0.1234567890123, 0.2] * 10, ["a\u200bb", " x "] * 10, [1.0, 2.0] * 10)):
        table = iso.measure({"g": column, "y": [0, 1, 1, 1] * 5}, by=["g"], decision="y")
        table.to_csv(tmp_path / f"{number}.csv")
        rows = _named(tmp_path / f"{number}.csv")
        names = [str(value) if number < 2 else str(int(value)) for value in dict.fromkeys(column)]
        assert {row["group"] for row in rows[1:]} == set(names)
        for row, exact in zip(rows, table.columns()["share"], strict=True):
            assert float(row["share"]) == exact
