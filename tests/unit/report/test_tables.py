"""Tables as files."""

from __future__ import annotations

from pathlib import Path

import pytest

from isonomia.errors import UsageError
from isonomia.populations.files import read_table
from isonomia.report.files import need_table, write_table

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
    with pytest.raises(UsageError, match=r"ends in .csv or .parquet for --points, but got .*points.xls"):
        need_table(tmp_path / "points.xls", "--points")
    with pytest.raises(UsageError, match="can be written for --points"):
        need_table(tmp_path / "nowhere" / "points.csv", "--points")
    (tmp_path / "kept.csv").write_text("a\n1\n")
    need_table(tmp_path / "kept.csv", "--points")
    assert (tmp_path / "kept.csv").read_text() == "a\n1\n"
