"""Sources of a watch: every row once, in order, whatever is written beside; bad rows are named."""

from __future__ import annotations

import io
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from isonomia.errors import DataError, UsageError
from isonomia.watch.databases import SqliteTable
from isonomia.watch.source import FolderSource, StandardInput
from isonomia.watch.stream import DECISIONS, OUTCOMES
from raising import raises


def _taken(source) -> list:
    return list(source.new(Event()))


def _rest(source: StandardInput) -> list:
    parts: list = []
    while not source.ended:
        parts += _taken(source)
    return parts


def test_files_are_read_once_each_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv", ".c.csv", "_d.csv", "notes.txt"):
        (tmp_path / name).write_text("x\n1\n2\n")
    (tmp_path / "empty.csv").touch()
    source = FolderSource(tmp_path, "days")
    parts = _taken(source)
    assert [(part.label, part.rows) for part in parts] == [("a.csv", 2), ("b.csv", 2)]
    assert _taken(source) == []
    (tmp_path / "empty.csv").write_text("x\n5\n")
    (tmp_path / "header.csv").write_text("x\n")
    assert [(part.label, part.rows) for part in _taken(source)] == [("empty.csv", 1), ("header.csv", 0)]
    later = FolderSource(tmp_path, "days")
    later.resume([part.position for part in parts])
    assert [part.label for part in _taken(later)] == ["empty.csv", "header.csv"]


def test_a_file_that_grew_after_it_was_read_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "today.csv"
    file.write_text("x\n1\n")
    source = FolderSource(tmp_path, "days")
    assert len(_taken(source)) == 1
    file.write_text("x\n1\n2\n")
    with raises(DataError, name="today.csv"):
        _taken(source)


def test_a_file_that_was_rewritten_with_the_same_size_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "today.csv"
    file.write_text("x\n1\n")
    (part,) = _taken(FolderSource(tmp_path, "days"))
    times = file.stat()

    def resumed() -> FolderSource:
        source = FolderSource(tmp_path, "days")
        source.resume([{**part.position, "digest": part.digest}])
        return source

    file.touch()
    assert _taken(resumed()) == []  # the same content
    file.write_text("x\n2\n")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    with raises(DataError, name="today.csv"):
        _taken(resumed())
    other = tmp_path / ".other"
    other.write_text("x\n3\n")
    other.rename(file)
    with raises(DataError, name="today.csv"):
        _taken(resumed())


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_types_of_lines_do_not_depend_on_how_they_arrive(form: str) -> None:
    cells = ["7", "8.5", "", "NA", "9"], ["true", "false", "", "True", "true"], ["x", "7", "", "NA", "007"]
    rows = list(zip(*cells, strict=True))
    text = [b"n,t,s\n", *(",".join(row).encode() + b"\n" for row in rows)]
    if form == "jsonl":
        values = [(7, True, "x"), (8.5, False, "7"), (None, None, None), (None, True, "NA"), (9, True, "007")]
        text = [json.dumps(dict(zip("nts", row, strict=True))).encode() + b"\n" for row in values]
    found = []
    for slow in (False, True):
        read, write = os.pipe()
        with os.fdopen(read, "rb") as stream:
            source, parts = StandardInput(form, stream=stream), []
            for line in text:
                os.write(write, line)
                if slow and line != b"n,t,s\n":
                    parts += _taken(source)
            os.close(write)
            parts += _rest(source)
        table = {name: [value for part in parts for value in part.table.column(name).tolist()] for name in "nts"}
        found.append((repr(table), parts[-1].position))
    assert found[0] == found[1]
    assert "[7.0, 8.5, nan, nan, 9.0]" in found[0][0]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_value_of_another_kind_is_an_error_however_it_arrives(form: str) -> None:
    for pause in (False, True):
        read, write = os.pipe()
        rows = [b"n\n7\n", b"x\n"] if form == "csv" else [b'{"n": 7}\n', b'{"n": "x"}\n']
        with os.fdopen(read, "rb") as stream:
            source = StandardInput(form, stream=stream)
            os.write(write, rows[0])
            if pause:
                assert len(_taken(source)) == 1
            os.write(write, rows[1])
            os.close(write)
            with raises(DataError, 2, "n", "x"):
                _rest(source)


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("x\n1\n")
    folder = tmp_path / "days"
    folder.mkdir()
    (folder / "a.csv").symlink_to(tmp_path / "secret.csv")
    with raises(DataError, "a.csv", "secret.csv"):
        _taken(FolderSource(folder, "days", inside=folder))
    assert _taken(FolderSource(folder, "days"))[0].rows == 1


def test_lines_are_counted_and_told_apart_from_outcomes() -> None:
    text = b'{"id": 1, "x": 2}\n{"id": 2, "x": 3}\n\n{"id": 1, "y": 1}\n{"id": 3, "x": null}\n'
    source = StandardInput("jsonl", late=("id", "y"), stream=io.BytesIO(text))
    parts: list = []
    while not source.ended:
        parts += _taken(source)
    assert [(part.brings, part.rows, part.position["line"]) for part in parts] == [
        (DECISIONS, 2, 3),
        (OUTCOMES, 1, 4),
        (DECISIONS, 1, 5),
    ]
    assert parts[0].table.column("x").tolist() == [2, 3]


def test_a_sender_that_repeats_itself_is_heard_once() -> None:
    source = StandardInput("csv", repeats=True, stream=io.BytesIO(b"x,name\n1,a\n2,b\n3,\n"))
    source.resume([{"line": 1}])
    (part,) = _taken(source)
    assert part.table.column("x").tolist() == [2, 3]
    assert part.table.column("name").tolist() == ["b", None]
    assert part.position is not None
    assert {**part.position, "chain": ""} == {"line": 3, "kinds": {"x": "number", "name": "text"}, "chain": ""}
    with pytest.raises(UsageError, match="again = true"):
        list(StandardInput("jsonl").again(None, {"line": 3}, 3))


@pytest.mark.parametrize(
    ("form", "text"), [("csv", b"F,true\nM,false\nF,true\n"), ("csv", b"sex,hired\nF,true\n"), ("jsonl", b"{}\n")]
)
def test_lines_that_do_not_go_on_with_those_that_were_counted_are_refused(form: str, text: bytes) -> None:
    source = StandardInput(form, repeats=True, stream=io.BytesIO(text))
    source.resume([{"line": 2, "kinds": {"sex": "text", "hired": "truth value"}}])
    with pytest.raises(DataError):
        list(source.new(Event()))


@pytest.mark.parametrize(
    ("form", "text"), [("jsonl", b"1\n"), ("jsonl", b'{"x": NaN}\n'), ("csv", b"x,y\n1\n"), ("csv", b'x,y\n1,"a\n')]
)
def test_a_line_that_is_no_row_is_named(form: str, text: bytes) -> None:
    with pytest.raises(DataError, match=r"line [12] of standard input"):
        _taken(StandardInput(form, stream=io.BytesIO(text)))


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_lines_that_were_counted_must_be_the_same_when_they_are_repeated(form: str) -> None:
    head, first, second, third = (
        (b"x,y\n", b"1,2\n", b"3,4\n", b"5,6")
        if form == "csv"
        else (b"", b'{"x": 1, "y": 2}\n', b'{"x": 3, "y": 4}\n', b'{"x": 5, "y": 6}')
    )

    def after(*lines: bytes) -> StandardInput:
        source = StandardInput(form, repeats=True, stream=io.BytesIO(b"".join(lines)))
        source.resume(positions)
        return source

    positions: list[Any] = []
    positions = [part.position for part in _taken(after(head, first, second))]
    (part,) = _taken(after(head, first, second, third))
    assert part.rows == 1
    positions.append(part.position)
    assert sum(part.rows for part in _taken(after(head, first, second, third + b"\n", first))) == 1
    for changed in ((head, second, first, third), (head, first, second, first), (b"\n" + head, first, second, third)):
        with pytest.raises(DataError):
            _taken(after(*changed, first))
    if form == "csv":
        with pytest.raises(DataError):
            _taken(after(b"y,x\n", first, second, third))


def test_what_a_small_sqlite_file_can_grow_to_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with closing(sqlite3.connect(path)) as database:
        long = "GENERATED ALWAYS AS (hex(zeroblob(2000000)))"
        database.executescript(f"CREATE TABLE t (k INTEGER PRIMARY KEY, x TEXT {long}); INSERT INTO t VALUES (1);")
        with raises(DataError, "t", "a.sqlite"):
            _taken(SqliteTable(path, "a", "t", "k"))
        short = "GENERATED ALWAYS AS (hex(k))"
        database.executescript(f"CREATE TABLE u (k INTEGER PRIMARY KEY, x TEXT {short}); INSERT INTO u VALUES (1);")
        assert [part.rows for part in _taken(SqliteTable(path, "a", "u", "k"))] == [1]
        database.executescript("CREATE TABLE v (k INTEGER PRIMARY KEY);")
        database.executemany("INSERT INTO v VALUES (?)", [(k,) for k in range(20)])
        database.execute(f"ALTER TABLE v ADD COLUMN x TEXT DEFAULT '{'a' * 2**24}'")
        database.commit()
        source = SqliteTable(path, "a", "v", "k")
        assert len(source.rows(None, None)[1]) == 5
        assert sum(part.rows for part in _taken(source)) == 20


def test_rows_of_sqlite_come_once_each(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute('CREATE TABLE "the rows" ("the key" INTEGER PRIMARY KEY, x)')
        database.executemany('INSERT INTO "the rows" VALUES (?, ?)', [(k, k) for k in range(1, 25_001)])
        database.commit()
        source = SqliteTable(path, "a.sqlite", "the rows", "the key")
        parts = _taken(source)
        assert [part.rows for part in parts] == [1_000] * 25
        assert _taken(source) == []
        database.execute('INSERT INTO "the rows" VALUES (30000, 1)')
        database.commit()
    (last,) = _taken(source)
    assert last.position == {"key": 30_000, "kinds": {"the key": "number", "x": "number"}}
    again = list(SqliteTable(path, "a", "the rows", "the key").again({"key": 10}, {"key": 20_011}, 0))
    assert [part.rows for part in again] == [*[1_000] * 20, 1]


def test_keys_that_start_again_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript("CREATE TABLE t (k INTEGER PRIMARY KEY, x); INSERT INTO t VALUES (7, 1), (8, 1);")
        source = SqliteTable(path, "a", "t", "k")
        assert [part.rows for part in _taken(source)] == [2]
        database.executescript("DELETE FROM t WHERE k < 8;")  # old rows may be removed
        assert _taken(source) == []
        database.executescript("DELETE FROM t;")  # also all of them
        assert _taken(source) == []
        database.executescript("INSERT INTO t VALUES (1, 0);")
        with pytest.raises(DataError):
            _taken(source)
        database.executescript("DELETE FROM t; INSERT INTO t VALUES (9, 0);")
        assert [part.rows for part in _taken(source)] == [1]


def test_a_key_that_is_no_whole_number_or_comes_twice_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript("CREATE TABLE t (k, x); INSERT INTO t VALUES ('a', 1);")
        with raises(DataError, "k", "t", "a"):
            _taken(SqliteTable(path, "a", "t", "k"))
        database.executescript("DELETE FROM t; INSERT INTO t VALUES (1, 1), (1, 2);")
        with pytest.raises(DataError, match="occurs twice"):
            _taken(SqliteTable(path, "a", "t", "k"))
        database.executescript("CREATE VIEW v AS SELECT * FROM t")
        with raises(DataError, "a.sqlite", "v"):
            _taken(SqliteTable(path, "a", "v", "k"))
    with raises(DataError, "u", "a.sqlite"):
        _taken(SqliteTable(path, "a", "u", "k"))


def test_a_key_that_comes_again_where_rows_are_read_in_two_steps_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript("CREATE TABLE t (k INTEGER, x); INSERT INTO t VALUES (1, 1), (2, 1), (2, 0), (3, 1);")
        monkeypatch.setattr("isonomia.watch.databases.AT_ONCE", 2)
        with pytest.raises(DataError):
            _taken(SqliteTable(path, "a", "t", "k"))
        database.executescript("DELETE FROM t WHERE k > 1 AND x = 0;")
        source = SqliteTable(path, "a", "t", "k")
        assert sum(part.rows for part in _taken(source)) == 3
        database.executescript("INSERT INTO t VALUES (3, 0), (4, 0);")  # the last key that was read, once more
        with pytest.raises(DataError):
            _taken(source)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("jsonl", b'{"x": "\\ud800"}\n'),
        ("jsonl", b'{"x": 1, "x": 2}\n'),
        ("jsonl", b'{"x": 1' + b"0" * 400 + b"}\n"),
        ("csv", b"x,y\n1," + b"a" * 200_000 + b"\n"),
        ("csv", b"x,x\n1,2\n"),
    ],
)
def test_a_line_that_no_table_can_hold_is_an_error(form: str, text: bytes) -> None:
    with pytest.raises(DataError, match=r"line 1|first line"):
        _taken(StandardInput(form, stream=io.BytesIO(text)))


def test_rows_without_a_time_are_an_error_and_days_may_come_in_any_order() -> None:
    rows = [{"x": 1, "t": f"2026-05-{day:02}T10:00"} for day in (3, 1, 2, 9, 1)]
    text = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    (first, second) = _taken_at_once(StandardInput("jsonl", stream=io.BytesIO(text), time="t"))
    assert (first.rows, first.label, second.rows, second.label) == (3, "2026-05-02, line 3", 2, "2026-05-01, line 5")
    for wrong in (b'{"x": 1, "t": 1714557600}\n', b'{"x": 1, "t": null}\n'):
        with pytest.raises(DataError, match="expected times such as"):
            _taken(StandardInput("jsonl", stream=io.BytesIO(wrong), time="t"))


def _taken_at_once(source: StandardInput) -> list:
    """The parts of all lines, as they are if the lines arrive together."""
    assert source.stream is not None
    return list(source._parts(source.stream.readlines()))


def test_a_file_that_cannot_be_read_is_an_error_and_one_that_is_moved_away_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n")
    source = FolderSource(tmp_path, "days")
    opened = Path.open

    def refuse(path: Path, *args, **options):
        if path.name == "a.csv":
            raise PermissionError(13, "Permission denied")
        return opened(path, *args, **options)

    monkeypatch.setattr(Path, "open", refuse)
    with raises(DataError, "a.csv", cause=PermissionError):
        _taken(source)
    monkeypatch.setattr(Path, "open", lambda path, *_: path.unlink() or opened(path))
    assert _taken(source) == []


def test_whole_numbers_and_others_of_a_table_may_be_mixed(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as database:
        database.executescript(
            f"CREATE TABLE t (k INTEGER PRIMARY KEY, x); INSERT INTO t VALUES (1, {2**60}), (2, 1.5);"
        )
    (part,) = _taken(SqliteTable(tmp_path / "a.sqlite", "a", "t", "k"))
    assert part.table.column("x").tolist() == [2.0**60, 1.5]
