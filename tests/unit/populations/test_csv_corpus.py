"""A corpus of odd separated files: each is read right, or refused with the line, whether held or read as it goes."""

from __future__ import annotations

import csv
import gzip

import numpy as np
import pyarrow.csv as arrow_csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isonomia as iso
from effort import effort
from isonomia.errors import DataError
from isonomia.populations import lines, read_table
from isonomia.populations.files import long_files
from raising import raises

NAN = float("nan")
UTF_16 = "a;ö\n1;x\n2;y\n".encode("utf-16")

READ = {  # what is in the file, its columns, and words of its remarks
    "plain": (b"a,b\n1,x\n2,y\n", {"a": [1, 2], "b": ["x", "y"]}, ""),
    "mark at the front": (b"\xef\xbb\xbfa,b\n1,x\n", {"a": [1], "b": ["x"]}, ""),
    "mark and quoted name": (b'\xef\xbb\xbf"a","b"\n1,x\n', {"a": [1], "b": ["x"]}, ""),
    "marks in cells": (b"a,b\n\xef\xbb\xbf1,2\n3,4\n", {"a": ["\ufeff1", "3"], "b": [2, 4]}, ""),
    "UTF-16": (UTF_16, {"a": [1, 2], "ö": ["x", "y"]}, "semicolons"),
    "UTF-16, big end first": (b"\xfe\xff" + "a,b\n1,x\n".encode("utf-16-be"), {"a": [1], "b": ["x"]}, ""),
    "CRLF": (b"a,b\r\n1,x\r\n2,y\r\n", {"a": [1, 2], "b": ["x", "y"]}, ""),
    "CR": (b"a,b\r1,x\r2,y\r", {"a": [1, 2], "b": ["x", "y"]}, ""),
    "mixed line ends": (b"a,b\n1,w\r\n2,x\r3,y\n4,z", {"a": [1, 2, 3, 4], "b": list("wxyz")}, ""),
    "no line end": (b"a,b\n1,x", {"a": [1], "b": ["x"]}, ""),
    "blank lines": (b"a,b\n\n1,x\n\r\n\n2,y\n\n", {"a": [1, 2], "b": ["x", "y"]}, ""),
    "a sign of comments": (b"a,b\n#1,x\n2,y\n", {"a": ["#1", "2"], "b": ["x", "y"]}, ""),
    "a name with a sign of comments": (b"#a,b\n1,x\n", {"#a": [1], "b": ["x"]}, ""),
    "codes": (b"a,b\n12345,1\n01234,2\n", {"a": ["12345", "01234"], "b": [1, 2]}, ""),
    "a fraction late": (
        b"a,b\n" + b"2,1\n" * 30_000 + b"2.5,1\n",
        {"a": [2.0] * 30_000 + [2.5], "b": [1] * 30_001},
        "",
    ),
    "a word late": (b"a,b\n" + b"2,1\n" * 30_000 + b"x,1\n", {"a": ["2"] * 30_000 + ["x"], "b": [1] * 30_001}, ""),
    "semicolons": (b"a;b\n1;x\n2;y\n", {"a": [1, 2], "b": ["x", "y"]}, "semicolons"),
    "a sign stated for Excel": (
        b"\xef\xbb\xbfsep=;\r\na;b\r\n1,5;x\r\n2;y\r\n",
        {"a": [1.5, 2], "b": ["x", "y"]},
        "first line",
    ),
    "a sign stated where others fit": (b"sep=|\na,b|c,d\np,q|r,s\n", {"a,b": ["p,q"], "c,d": ["r,s"]}, "bars"),
    "a sign in quotes": (b'"SEP=,"\na,b\n1,x\n', {"a": [1], "b": ["x"]}, ""),
    "tabs": (b"a\tb\n1\tx, y\n2\ty\n", {"a": [1, 2], "b": ["x, y", "y"]}, "tabs"),
    "bars": (b"a|b\n1|x\n", {"a": [1], "b": ["x"]}, "bars"),
    "semicolons, decimal commas": (b"a;b\n1,5;x\n2;y\n-,25;z\n", {"a": [1.5, 2, -0.25], "b": list("xyz")}, "decimal"),
    "a decimal comma and words": (b"a;b\n1,5;1\nNA;2\n;3\n", {"a": [1.5, NAN, NAN], "b": [1, 2, 3]}, "decimal"),
    "thousands": (b"a;b\n1,000;1\n2,500;2\n", {"a": ["1,000", "2,500"], "b": [1, 2]}, "semicolons"),
    "commas and points": (b"a;b\n1,55;1\n2.5;2\n", {"a": ["1,55", "2.5"], "b": [1, 2]}, "semicolons"),
    "commas in quoted names": (b'"a,x";b\n1,5;2\n2,5;3\n', {"a,x": [1.5, 2.5], "b": [2, 3]}, "semicolons"),
    "commas in a name": (b"a,x;b;c\n1;2;u\n2;3;v\n", {"a,x": [1, 2], "b": [2, 3], "c": ["u", "v"]}, "semicolons"),
    "semicolons in cells": (b"a,b\n1,x;y\n2,z\n", {"a": [1, 2], "b": ["x;y", "z"]}, ""),
    "semicolons in quotes": (b'a;b\n1;"x;y"\n2;"p\nq"\n', {"a": [1, 2], "b": ["x;y", "p\nq"]}, "line break"),
    "quotes inside": (b'a,b\n1,5" pipe\n2,x "y" z\n', {"a": [1, 2], "b": ['5" pipe', 'x "y" z']}, ""),
    "quotes doubled": (b'a,b\n1,"x ""y"""\n2,""""\n3,""\n', {"a": [1, 2, 3], "b": ['x "y"', '"', None]}, ""),
    "blank before a quote": (b'a,b\n1, "x"\n2,y\n', {"a": [1, 2], "b": [' "x"', "y"]}, ""),
    "backslash": (b'a,b\n1,"x\\"\n2,y\n', {"a": [1, 2], "b": ["x\\", "y"]}, ""),
    "line breaks": (b'a,b\n1,"x\ny"\n2,"p\r\n\r\nq"\n', {"a": [1, 2], "b": ["x\ny", "p\r\n\r\nq"]}, "2 cells"),
    "broken apart": (b'a,b\n"x\r","\ny"\n1,2\n', {"a": ["x\r", "1"], "b": ["\ny", "2"]}, "2 cells"),
    "a name with a line break": (b'"a\nx",b\n1,y\n', {"a\nx": [1], "b": ["y"]}, ""),
    "other line ends": (
        "a,b\n1,x\u2028y\n2,p\x85q\x0bz\n".encode(),
        {"a": [1, 2], "b": ["x\u2028y", "p\x85q\x0bz"]},
        "",
    ),
    "huge numbers": (
        b"a,b\n9007199254740993,1\n18446744073709551615,2\n",
        {"a": [2**53 + 1, 2**64 - 1], "b": [1, 2]},
        "",
    ),
    "more digits than any type": (b"a,b\n1" + b"0" * 30 + b",1\n", {"a": [1e30], "b": [1]}, ""),
    "only commas": (b"a,b\n,\n1,\n", {"a": [NAN, 1], "b": [NAN, NAN]}, ""),
    "one column": (b'a\n1\n""\n3\n\n', {"a": [1, NAN, 3]}, ""),
    "one column of text": (b"a\nx; y\nz\n", {"a": ["x; y", "z"]}, ""),
    "control sign": (b"a,b\n1,\x1a\n2,y\n", {"a": [1, 2], "b": ["\x1a", "y"]}, ""),
}

REFUSED = {  # what is in the file, and the line with the fault
    "zero byte": (b"a,b\n1,x\n2,\0\n", 3),
    "UTF-16 without a mark": ("a,b\n1,x\n".encode("utf-16-le"), 1),
    "Latin-1": ("a,b\n1,x\n2,Zürich\n".encode("latin-1"), 3),
    "Latin-1 name": ("a,ö\n1,x\n".encode("latin-1"), 1),
    "half a sign": (b"a,b\n1,\xe2\x82\n", 2),
    "short row": (b"a,b,c\n1,2,3\n4,5\n6,7,8\n", 3),
    "long row": (b"a,b\n1,2\n3,4,5\n", 3),
    "short row below a line break": (b'a,b\n1,"x\ny"\n4\n', 4),
    "long row late": (b"a,b\n" + b"1,2\n" * 3_000 + b"1,2,3\n" + b"1,2\n" * 9, 3_002),
    "separators at line ends": (b"a,b\n1,2,\n3,4,\n", 2),
    "separators at all line ends": (b"a,b,\n1,2,\n", 1),
    "name twice": (b"a,b,a\n1,2,3\n", 1),
    "no name": (b"a,,c\n1,2,3\n", 1),
    "blank name": (b"a, ,c\n1,2,3\n", 1),
    "no names": (b"1,2\n3,4\n", 1),
    "no names, decimal commas": (b"1,5;2\n3,5;4\n", 1),
    "no names, semicolons": (b"1;2\n3;4\n", 1),
    "another sign stated": (b"sep=^\na^b\n1^2\n", 1),
    "no names below a stated sign": (b"sep=;\n1;2\n3;4\n", 2),
    "too wide below a stated sign": (b"sep=;\na;b\n1;2;3\n", 3),
    "a title": (b"Report\n\na,b\n1,2\n", 1),
    "a title in two lines": (b"Report\nof us\n\na,b\n1,2\n", 3),
    "a title, semicolons": (b"Report\na;b\n1;2\n", 1),
    "commas or semicolons": (b"a,x;b\n1,5;2\n2,5;3\n", 1),
    "a title with commas": (b"Report, 2024,,\na,b,c\n1,2,3\n", 1),
    "semicolons, ragged": (b"a;b\n1;2\n3;4;5\n", 3),
    "open quote": (b'a,b\n1,x\n2,"y\n3,z\n', 3),
    "open quote at the end": (b'a,b\n1,x\n2,"y', 3),
    "open quote in the names": (b'a,"b\n1,x\n', 1),
    "open quote, doubled at the end": (b'a,b\n1,"x""\n2,y\n', 2),
    "text behind a quote": (b'a,b\n1,"5" pipe\n2,y\n', 2),
    "text behind an empty quote": (b'a,b\n1,""x\n2,y\n', 2),
    "blank behind a quote": (b'a,b\n1,"x" \n2,y\n', 2),
    "quote closed far below": (b'a,b\n1,"x\n2,y\n3,z" u\n', 2),
    "blank line in one column": (b"a\n1\n\n3\n", 3),
    "blank lines in one column, again at its end": (b"a\n" + b"1\n" * 30 + b"\n" * 60 + b"1\n" * 30 + b"\n", 32),
    "blank line first in one column": (b"a\n\n3\n", 2),
}


def both_ways(folder, content, ending=".csv"):
    """The table held, and read as it goes, in blocks of every size."""
    path = folder / f"people{ending}"
    path.write_bytes(content)
    yield lambda: read_table(path)
    yield lambda: long_files(str(folder / "*.csv*")).table()


@pytest.fixture(params=[2**22, 60])
def block(request, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK", request.param)
    return request.param


@pytest.mark.parametrize("name", READ)
def test_odd_files_are_read_right(tmp_path, block, name):
    content, columns, remark = READ[name]
    if block < 2**22 and len(content) > 2**16:
        pytest.skip("long enough for several blocks of the usual size")
    for read in both_ways(tmp_path, content):
        table = read()
        assert list(table.names) == list(columns)
        for name, values in columns.items():
            np.testing.assert_array_equal(table.column(name), np.array(values, dtype=table.column(name).dtype))
            assert (table.column(name).dtype.kind == "O") == any(isinstance(value, str) for value in values)
        assert bool(remark) == bool(table.remarks)
        assert remark in " ".join(table.remarks)


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.usefixtures("block")
def test_wrong_files_are_refused_with_the_line(tmp_path, name):
    content, line = REFUSED[name]
    for read in both_ways(tmp_path, content):
        with raises(DataError, line=line):
            read()
    for read in both_ways(tmp_path, gzip.compress(content), ".csv.gz"):
        with raises(DataError, line=line):
            read()


def test_a_cell_of_five_megabytes_is_read(tmp_path):
    cell = "x,\n" * 1_700_000
    (tmp_path / "people.csv").write_text(f'a,b\n1,x\n2,"{cell}"\n3,y\n')
    table = read_table(tmp_path / "people.csv")
    assert table.column("a").tolist() == [1, 2, 3]
    assert table.column("b").tolist() == ["x", cell, "y"]


def test_a_quote_that_is_left_open_among_half_a_million_rows_is_refused_with_its_line(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(b"a,b\n" + b"1,x\n" * 250_000 + b'2,"open\n' + b"3,y\n" * 250_000)
    with effort() as spent:
        with raises(DataError, line=250_002):
            read_table(path)
        with raises(DataError, line=250_002):
            iso.Census(str(tmp_path / "*.csv"))
    assert spent.seconds < 10


def test_a_line_without_end_is_refused_before_it_is_all_in_memory(tmp_path):
    for text in (b"x" * 2**25, b"a,b\n1," + b"x" * 2**25, b'a,b\n1,"' + b"x" * 2**25):
        (tmp_path / "people.csv").write_bytes(text)
        with raises(DataError, "people.csv", line=1 + text.count(b"\n")):
            read_table(tmp_path / "people.csv")


def test_a_reader_that_loses_rows_is_found_out(tmp_path, monkeypatch):
    whole = arrow_csv.read_csv
    monkeypatch.setattr(arrow_csv, "read_csv", lambda *given: whole(*given)[:-1])
    (tmp_path / "people.csv").write_text('a,b\n\n1,"x\ny"\n2,y\n3,z\n')
    with raises(DataError, "people.csv", 3, 2, line=2):
        read_table(tmp_path / "people.csv")


def test_a_folder_with_two_separators_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    (tmp_path / "b.csv").write_text("a;b\n1;2\n")
    with raises(DataError, "commas", "semicolons", name="b.csv"):
        iso.Census(tmp_path)


def test_columns_of_a_folder_are_matched_by_name(tmp_path):
    (tmp_path / "a.csv").write_text("a;b;c\n1,5;2;x\n")
    (tmp_path / "b.csv").write_text("c;a;b\ny;2,5;3\n")
    census = iso.Census(tmp_path)
    assert census.table.column("a").tolist() == [1.5, 2.5]
    assert census.table.column("c").tolist() == ["x", "y"]
    verdict = iso.check("P[a > 2 | c == 'y'] >= 0.9", population=census)
    assert verdict.holds
    assert [remark.split()[:3] for remark in verdict.remarks[:3]] == [
        ["a.csv", "has", "semicolons"],
        ["b.csv", "has", "semicolons"],
        ["read", "as", "numbers"],
    ]


@given(
    rows=st.lists(
        st.tuples(*[st.text(st.sampled_from("ab'\"#,;|\n\r 0.5-\té"), max_size=5)] * 2), min_size=1, max_size=20
    ),
    sign=st.sampled_from(",;\t|"),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    ending=st.sampled_from(["\n", "\r\n", "\r"]),
    block=st.sampled_from([50, 2**22]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
@settings(max_examples=150, deadline=None)
def test_tables_in_every_dialect_are_read_as_they_were(tmp_path_factory, rows, sign, quoting, ending, block, encoding):
    path = tmp_path_factory.mktemp("csv") / "people.csv"
    if any("\r" in cell for row in rows for cell in row):
        quoting = csv.QUOTE_ALL  # otherwise Python leaves a carriage return bare, which ends a row
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.writer(file, delimiter=sign, quoting=quoting, lineterminator=ending)
        writer.writerows([("x y", "z"), *(("k" + left, "k" + right) for left, right in rows)])
    before, lines.BLOCK = lines.BLOCK, block
    try:
        tables = read_table(path), long_files(str(path.parent)).table()
    finally:
        lines.BLOCK = before
    for table in tables:
        assert table.column("x y").tolist() == ["k" + left for left, _ in rows]
        assert table.column("z").tolist() == ["k" + right for _, right in rows]
        assert any("between its cells" in remark for remark in table.remarks) == (sign != ",")


def test_reading_starts_in_the_middle_of_files_as_if_all_were_read(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK", 100)
    for number in range(2):
        rows = "".join(f'{number}{i:03},"x\n{i}"\n\n' if i % 7 == 0 else f"{number}{i:03},y\n" for i in range(90))
        (tmp_path / f"{number}.csv").write_text("a,b\n" + rows)
    (tmp_path / "2.csv").write_text("a,b\n1,z\n")
    table = long_files(str(tmp_path))
    assert len(table.pieces(1)) > 10
    whole = table.table().column("a").tolist()
    for start, stop in table.pieces(1):
        part = next(table.batches(["a"], size=stop - start, start=start))
        assert part.column("a").tolist() == whole[start:stop]
    assert next(table.batches(["a"], size=5, start=33)).column("a").tolist() == whole[33:38]
    assert not list(table.batches(["a"], start=table.rows))
