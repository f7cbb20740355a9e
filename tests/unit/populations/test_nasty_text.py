"""Text files that are nearly right: all rows are read with their values, or the file is refused with the line."""

from __future__ import annotations

import csv
import gzip
import io
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isonomia as iso
from isonomia.errors import DataError
from isonomia.populations import lines, read_table
from isonomia.populations.files import long_files
from raising import raises

CASES = Path(os.environ.get("ISONOMIA_DATA", "")).parent / "cases" / "csv"
REFUSED = {  # with the line that the message must name
    "02_unclosed_quote": 3,
    "14_dup_header": 1,
    "15_ragged_short": 3,
    "16_ragged_long": 3,
    "17_ragged_late": 30_002,
    "23_latin1": 2,
    "27_no_header": 1,
    "35_nul_byte": 2,
    "36_one_column": 3,
    "37_title_rows": 3,
    "45_unclosed_at_end": 4,
}
SEMICOLONS = {"06_semicolons", "07_decimal_comma"}
BROKEN = {"03_unclosed_two", "25_newline_in_quotes"}
MISSING = {"", "NA", "NaN", "null"}


@pytest.mark.skipif(not CASES.is_dir(), reason="the conformance cases are not here")
def test_every_conformance_case_is_read_whole_or_refused_with_its_line():
    files = sorted(CASES.glob("*.csv"))
    assert len(files) > 40
    for file in files:
        if file.stem in REFUSED:
            line = REFUSED[file.stem]
            with raises(DataError, line=line):
                read_table(file)
            continue
        table = read_table(file)
        assert bool(table.remarks) == (file.stem in BROKEN | SEMICOLONS), file
        with file.open(encoding="utf-8-sig", newline="") as text:
            sign = ";" if file.stem in SEMICOLONS else ","
            names, *rows = [row for row in csv.reader(text, delimiter=sign) if row]
        assert list(table.names) == names
        assert table.rows == len(rows), file
        for name, cells in zip(names, zip(*rows, strict=True), strict=True):
            for cell, value in zip(cells, table.column(name).tolist(), strict=True):
                assert _says(cell, value), (file, name, cell, value)


def _says(cell: str, value: object) -> bool:
    """Whether a value is what a cell says: the same text, the same number, or missing."""
    match value:
        case None:
            return cell == ""
        case bool():
            return cell.lower() == str(value).lower()
        case int():
            return int(cell) == value
        case float():
            return cell in MISSING if value != value else float(cell.replace(",", ".")) == value
        case _:
            return cell == value


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('a,b\n1,"x\n2,y\n', 2),
        ('a,b\n1,x\n2,"y', 3),
        ('a,"b\n1,x\n', 1),
        ('a,b\r\n1,"x"\r\n2,"y\r\n3,z\r\n', 3),
        ('a,b\n1,"5" pipe\n2,y\n', 2),
        ('a,b\n1,"x\ny"z\n', 2),
        ('a,b\n1,""x\n', 2),
        ('a,b\n1,"x""\n2,y\n', 2),
        ("3,4\n5,6\n", 1),
        ("v\n1\n\n2\n", 3),
        ('v\n1\n"x\n\ny"\n\r\n2\n', 6),
        ("a,b\n1,x\0\n", 2),
    ],
)
def test_what_readers_disagree_on_is_refused_with_the_line(tmp_path, text, line):
    path = tmp_path / "people.csv"
    path.write_bytes(text.encode())
    with raises(DataError, "people.csv", line=line):
        read_table(path)
    with gzip.open(tmp_path / "people.csv.gz", "wb") as file:
        file.write(text.encode())
    with raises(DataError, "people.csv.gz", line=line):
        read_table(tmp_path / "people.csv.gz")
    with raises(DataError, "people.csv", line=line):
        long_files(str(tmp_path / "*.csv"))


@pytest.mark.parametrize(
    "text", ["0,1\n5,6\n", 'v\n1\n""\n2\n\n\n', 'a,b\n1,x "y" z\n', 'a, b\n1, "x"\n', '"a"\n"1"\n']
)
def test_what_all_readers_agree_on_is_read(tmp_path, text):
    path = tmp_path / "people.csv"
    path.write_text(text)
    table = read_table(path)
    names, *rows = [row for row in csv.reader(io.StringIO(text)) if row]
    assert (list(table.names), table.rows, table.remarks) == (names, len(rows), ())


def test_an_unclosed_quotation_mark_does_not_shorten_a_census(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("y,c\n" + "1,ok\n" * 100 + '1,"5 inch\n' + "0,ok\n" * 900)
    with raises(DataError, "people.csv", 102, 5):
        iso.check("P[y == 1] >= 0.9", population=iso.Census(path))


@pytest.mark.parametrize("kind", [iso.Census, iso.Sample])
@pytest.mark.parametrize("place", ["people.csv", ""])
def test_a_verdict_mentions_line_breaks_in_cells_once(tmp_path, kind, place):
    (tmp_path / "people.csv").write_text('y,c\n1,"a\n\nb"\n0,"c\nd"\n' + "1,x\n" * 30)
    for prop in ("P[y == 1] >= 0.1", "P[y == 1] / P[y == 0] >= 2"):
        remarks = iso.check(prop, population=kind(tmp_path / place), seed=1).remarks
        assert sum("2 cells of people.csv with a line break" in remark for remark in remarks) == 1
        assert any("the first in line 2" in remark for remark in remarks)


def test_a_table_by_group_mentions_line_breaks_in_cells(tmp_path):
    (tmp_path / "people.csv").write_text('y,c\n1,"a\nb"\n' + "0,x\n1,x\n" * 30)
    table = iso.measure(tmp_path / "people.csv", by=["c"], decision="y")
    assert any("a line break" in remark for remark in table.remarks)


CELLS = st.text(st.sampled_from('a"b,;\n\r 0.5-\té'), max_size=6)


@given(
    rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=30),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    ending=st.sampled_from(["\n", "\r\n"]),
    block=st.sampled_from([64, 100, 2**23]),
)
@settings(max_examples=150, deadline=None)
def test_what_python_writes_is_read_as_it_was_in_blocks_of_any_size(tmp_path_factory, rows, quoting, ending, block):
    path = tmp_path_factory.mktemp("csv") / "people.csv"
    if any("\r" in cell for row in rows for cell in row):
        quoting = csv.QUOTE_ALL  # otherwise Python leaves a carriage return bare, which ends a row
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=quoting, lineterminator=ending)
        writer.writerows([("x", "y"), *(("k" + left, "k" + right) for left, right in rows)])
    before = lines.BLOCK
    lines.BLOCK = block
    try:
        tables = read_table(path), long_files(str(path.parent)).table()
    finally:
        lines.BLOCK = before
    for table in tables:
        assert table.column("x").tolist() == ["k" + left for left, _ in rows]
        assert table.column("y").tolist() == ["k" + right for _, right in rows]
        assert bool(table.remarks) == any("\n" in cell or "\r" in cell for row in rows for cell in row)


@given(text=st.text(st.sampled_from('ab1,"\n\r '), max_size=40))
@settings(max_examples=400, deadline=None)
def test_any_text_is_read_as_python_reads_it_or_refused(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("csv") / "people.csv"
    path.write_bytes(b"x,y\n" + text.encode())
    try:
        table = read_table(path)
    except DataError:
        return
    rows = [row for row in csv.reader(io.StringIO("x,y\n" + text, newline=""), strict=True) if row][1:]
    assert table.rows == len(rows)
    for name, cells in zip("xy", zip(*rows, strict=True), strict=True):
        assert all(map(_like, cells, table.column(name).tolist()))


def _like(cell: str, value: object) -> bool:
    return _says(cell.strip() if isinstance(value, int | float) else cell, value)


@pytest.mark.parametrize("late", ["2.5", "x", "01", "true", "18446744073709551615", "-1e3", "NA", ""])
@pytest.mark.parametrize("first", ["7", "12345678901234567", "", "false"])
def test_types_do_not_depend_on_blocks_files_or_compression(tmp_path, late, first, monkeypatch):
    content = "id,v\n" + f"1,{first}\n" * 400
    monkeypatch.setattr(lines, "BLOCK", 256)
    ways = {}
    for way in ("one", "many", "gz"):
        folder = tmp_path / way
        folder.mkdir()
        if way == "one":
            (folder / "a.csv").write_text(content + f"1,{late}\n")
        elif way == "many":
            (folder / "a.csv").write_text(content)
            (folder / "b.csv").write_text(f"id,v\n1,{late}\n")
        else:
            (folder / "a.csv.gz").write_bytes(gzip.compress((content + f"1,{late}\n").encode()))
        ways[way] = long_files(str(folder)).table()
    ways["held"] = read_table(tmp_path / "one" / "a.csv")
    columns = [table.column("v") for table in ways.values()]
    assert len({str(column.dtype) for column in columns}) == 1
    assert len({repr(column.tolist()) for column in columns}) == 1
    assert iso.Sample(tmp_path / "one").fingerprint() == iso.Sample(tmp_path / "one" / "a.csv").fingerprint()
