"""Outcomes that come late: a backlog gives what daily runs give, and ids match whatever a file makes of them."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

import isonomia as iso
from isonomia.errors import DataError
from isonomia.watch.databases import SqliteTable
from isonomia.watch.monitor import Monitor, judged
from isonomia.watch.replay import replayed
from isonomia.watch.source import FolderSource, StandardInput, StreamSource
from isonomia.watch.store import WatchStore
from isonomia.watch.stream import OUTCOMES, normal_id
from raising import raises

DAYS, A_DAY = 12, 200
Day = tuple[list[tuple[int, str]], list[tuple[int, int]]]
Sources = tuple[StreamSource, StreamSource | None]


def _days() -> list[Day]:
    """Decisions and outcomes of each day; from the sixth day on, women are hardly hired."""
    rng, days = np.random.default_rng(3), []
    for day in range(DAYS):
        sex = rng.choice(["F", "M"], A_DAY)
        hired = rng.random(A_DAY) < np.where(sex == "F", 0.05 if day >= 5 else 0.28, 0.3)
        ids = range(day * A_DAY, (day + 1) * A_DAY)
        decisions = list(zip(ids, sex.tolist(), strict=True))
        days.append((decisions, list(zip(ids, hired.astype(int).tolist(), strict=True))))
    return days


def _watch(**options: Any) -> iso.Watch:
    check = "P[hired == 1 | sex == 'F'] >= 0.8 * P[hired == 1 | sex == 'M']"
    options = {"outcome": "hired", "id": "id", "patience": 800, **options}
    return iso.Watch(check, run_length=20_000, **options)


def _monitor(where: Path, sources: Sources, warnings: list[str] | None = None, **options: Any) -> Monitor:
    store = WatchStore(where / "watch.sqlite", sources[0].describe())
    warn = (lambda _: None) if warnings is None else warnings.append
    monitor = Monitor(_watch(**options), store, sources[0], (), sources[1], warn=warn)
    monitor.resume()
    return monitor


class _Folders:
    def __init__(self, where: Path) -> None:
        self.where, self.day = where, 0
        for name in ("dec", "out"):
            (where / name).mkdir(parents=True)

    def add(self, day: Day) -> None:
        for name, header, rows in (("dec", "id,sex", day[0]), ("out", "id,hired", day[1])):
            lines = [header, *(f"{key},{value}" for key, value in rows)]
            (self.where / name / f"{self.day:02}.csv").write_text("\n".join(lines) + "\n")
        self.day += 1

    def sources(self) -> Sources:
        return FolderSource(self.where / "dec", "dec", id="id"), FolderSource(
            self.where / "out", "out", OUTCOMES, id="id"
        )


class _Sqlite:
    def __init__(self, where: Path) -> None:
        where.mkdir()
        self.path = where / "hiring.sqlite"
        self._run(
            "CREATE TABLE dec (k INTEGER PRIMARY KEY, id, sex)", "CREATE TABLE out (k INTEGER PRIMARY KEY, id, hired)"
        )

    def _run(self, *statements: str, rows: tuple[str, list[Any]] | None = None) -> None:
        with closing(sqlite3.connect(self.path)) as database:
            for statement in statements:
                database.execute(statement)
            if rows is not None:
                database.executemany(*rows)
            database.commit()

    def add(self, day: Day) -> None:
        self._run(rows=("INSERT INTO dec (id, sex) VALUES (?, ?)", day[0]))
        self._run(rows=("INSERT INTO out (id, hired) VALUES (?, ?)", day[1]))

    def sources(self) -> Sources:
        tables = [
            SqliteTable(self.path, "h", name, "k", what, "id")
            for name, what in (("dec", "decisions"), ("out", OUTCOMES))
        ]
        return tables[0], tables[1]


class _Lines:
    """Decisions and outcomes through one pipe, whose sender begins with the first line each time."""

    def __init__(self, where: Path) -> None:
        where.mkdir()
        self.text = b""

    def add(self, day: Day) -> None:
        rows = [
            *({"id": key, "sex": sex} for key, sex in day[0]),
            *({"id": key, "hired": hired} for key, hired in day[1]),
        ]
        self.text += b"".join(json.dumps(row).encode() + b"\n" for row in rows)

    def sources(self) -> Sources:
        return StandardInput("jsonl", repeats=True, late=("id", "hired"), stream=io.BytesIO(self.text)), None


class _LinesAndFolder(_Folders):
    """Decisions through a pipe, and outcomes as files."""

    def __init__(self, where: Path) -> None:
        super().__init__(where)
        self.text = b"id,sex\n"

    def add(self, day: Day) -> None:
        super().add(day)
        self.text += b"".join(f"{key},{sex}\n".encode() for key, sex in day[0])

    def sources(self) -> Sources:
        lines = StandardInput("csv", repeats=True, late=("id", "hired"), stream=io.BytesIO(self.text))
        return lines, super().sources()[1]


def _caught_up(monitor: Monitor) -> Monitor:
    while True:
        monitor.catch_up(Event())
        if not isinstance(monitor.source, StandardInput) or monitor.source.ended:
            return monitor


def assert_backlog_equals_days(make: Callable[[Path], Any], tmp_path: Path) -> None:
    """Let one watch run daily, and another one once at the end: alerts, counts and replays agree."""
    daily, at_once = make(tmp_path / "daily"), make(tmp_path / "once")
    for day in _days():
        daily.add(day)
        at_once.add(day)
        monitor = _caught_up(_monitor(tmp_path / "daily", daily.sources()))
        monitor.store.close()
    backlog = _caught_up(_monitor(tmp_path / "once", at_once.sources()))
    assert len(backlog.watch.alerts) == 1
    assert backlog.watch.alerts == monitor.watch.alerts
    assert (backlog.watch.samples, backlog.watch.missing) == (monitor.watch.samples, 0) == (DAYS * A_DAY, 0)
    for store, sources in ((backlog.store, at_once), (_monitor(tmp_path / "daily", daily.sources()).store, daily)):
        assert replayed(_watch(), store, *sources.sources()) == ([], 2 * DAYS * A_DAY)


@pytest.mark.parametrize("make", [_Folders, _Sqlite, _Lines, _LinesAndFolder])
def test_a_backlog_gives_the_alerts_of_daily_runs(make: Callable[[Path], Any], tmp_path: Path) -> None:
    assert_backlog_equals_days(make, tmp_path)


def test_samples_are_left_out_after_all_outcomes_were_read(tmp_path: Path) -> None:
    folders = _Folders(tmp_path / "x")
    days = _days()
    for number, (decisions, outcomes) in enumerate(days):
        folders.add((decisions, outcomes if number < 2 else outcomes[:100]))
    monitor = _caught_up(_monitor(tmp_path, folders.sources(), patience=150))
    assert (monitor.watch.missing, monitor.watch.pending) == (9 * 100, 100)
    assert replayed(_watch(patience=150), monitor.store, *folders.sources()) == ([], 2_400 + 400 + 1_000)
    assert "left out" in [entry.brings for entry in monitor.store.log()]


def test_one_odd_id_does_not_matter_to_the_others(tmp_path: Path) -> None:
    folders, warnings = _Folders(tmp_path / "x"), []
    decisions = [(number, "F" if number % 2 else "M") for number in range(400)]
    folders.add((decisions, [(number, 1) for number in range(400)]))
    file = folders.where / "out" / "00.csv"
    file.write_text(file.read_text() + "x,1\n7.0,1\n 8 ,0\n")
    monitor = _caught_up(_monitor(tmp_path, folders.sources(), warnings))
    assert (monitor.watch.samples, monitor.watch.pending) == (400, 0)
    assert warnings == [
        "00.csv: 1 outcome without a decision so far: x",
        "00.csv: 1 outcome the same as before: 7",
        "00.csv: 1 outcome different from the first, which counts: 8",
    ]
    assert monitor.store.unmatched() == 1


def test_a_file_of_which_nothing_matches_is_an_error_and_a_repeated_one_is_not(tmp_path: Path) -> None:
    folders, warnings = _Folders(tmp_path / "x"), []
    folders.add(_days()[0])
    _caught_up(_monitor(tmp_path, folders.sources(), patience=1))
    text = (folders.where / "out" / "00.csv").read_text()
    (folders.where / "out" / "01.csv").write_text(text)
    monitor = _caught_up(_monitor(tmp_path, folders.sources(), warnings, patience=1))
    assert warnings == ["01.csv: 200 outcomes the same as before: 0, 1, 2 and 197 more"]
    lines = text.splitlines()
    (folders.where / "out" / "02.csv").write_text("\n".join([lines[0], *(f"a{line}" for line in lines[1:])]) + "\n")
    with raises(DataError, 200, 197, "02.csv"):
        monitor.catch_up(Event())


def test_a_sample_that_comes_again_after_it_was_judged_is_an_error(tmp_path: Path) -> None:
    folders = _Folders(tmp_path / "x")
    folders.add(_days()[0])
    monitor = _caught_up(_monitor(tmp_path, folders.sources()))
    (folders.where / "dec" / "01.csv").write_text("id,sex\n500,F\n7.0,F\n")
    with raises(DataError, "7", "01.csv"):
        monitor.catch_up(Event())


def test_an_outcome_may_come_before_its_sample() -> None:
    watch = iso.Watch("P[paid == 1] >= 0.5", alpha=0.05, outcome="paid", id="id")
    watch.label(["7", 8], [1, 0])
    again = iso.Watch("P[paid == 1] >= 0.5", alpha=0.05, outcome="paid", id="id").restore(watch.state)
    again.update({"id": [7, 8, 9]})
    assert (again.samples, again.pending) == (2, 1)
    again.label(9.0, 1)
    again.label(9, 0)  # judged before: no effect
    assert (again.samples, again.pending) == (3, 0)


def test_the_first_outcome_of_a_sample_counts() -> None:
    watch = iso.Watch("P[paid == 1] >= 0.5", alpha=0.05, outcome="paid", id="id")
    watch.update({"id": [1, 2]})
    watch.label(2, 1)
    watch.label([2, 1], [0, 1])
    assert watch.verdict.leaves[0].estimate == 1.0


@pytest.mark.parametrize(
    ("same", "text"),
    [
        ((7, 7.0, "7", " 7 ", "7.0", "+7", np.int8(7), np.float32(7), Decimal("7.00")), "7"),
        (("007",), "007"),
        ((2**53 + 1, str(2**53 + 1), Decimal(2**53 + 1)), str(2**53 + 1)),
        ((10**30 + 1, str(10**30 + 1)), str(10**30 + 1)),
        ((True, "true", "True", "TRUE", np.True_), "true"),
        (
            (date(2026, 5, 1), datetime(2026, 5, 1), "2026-05-01", "2026-05-01 00:00:00", np.datetime64("2026-05-01")),
            "2026-05-01",
        ),
        ((datetime(2026, 5, 1, 10, 30), "2026-05-01 10:30:00", "2026-05-01T10:30:00"), "2026-05-01T10:30:00"),
        ((None, float("nan"), "", "  ", np.datetime64("NaT")), None),
        (("12e4",), "12e4"),
        ((0.5, "0.5"), "0.5"),
        ((-0.0, 0, "-0"), "0"),
    ],
)
def test_ids_have_one_normal_form(same: tuple[Any, ...], text: str | None) -> None:
    assert [normal_id(value) for value in same] == [text] * len(same)


def test_an_id_that_was_rounded_is_refused() -> None:
    with raises(DataError, "1e+22"):
        normal_id(1e22)


def test_ids_of_csv_are_the_texts_of_their_cells(tmp_path: Path) -> None:
    """Ids of 25 digits, and such as 12e4, would be floating-point numbers for a column of numbers."""
    folders = _Folders(tmp_path / "x")
    ids = [10**25 + 1, 10**25 + 2, "12e4", "120000", "3"]
    folders.add(([(key, "F") for key in ids], [(key, 1) for key in ids]))  # type: ignore[misc]
    (folders.where / "out" / "01.csv").write_text("id,hired\n3.0,1\n")
    monitor = _caught_up(_monitor(tmp_path, folders.sources()))
    assert (monitor.watch.samples, monitor.watch.pending) == (5, 0)


def test_the_state_does_not_depend_on_how_a_stream_with_odd_outcomes_is_cut() -> None:
    rows = [
        {"id": 1, "sex": "F"},
        {"id": "2", "sex": "M"},
        {"id": "1", "hired": 1},
        {"id": 1.0, "hired": 0},  # contradicts the first one
        {"id": 3, "hired": 1},  # comes before its sample
        {"id": 3},  # has no sex, and comes alone if each line does
        {"id": "3", "hired": 1},
        {"id": 2, "hired": 1},
    ]
    lines = [json.dumps(row).encode() + b"\n" for row in rows]
    states = set()
    for size in (1, 2, 3, len(lines)):
        source, watch = StandardInput("jsonl", late=("id", "hired")), _watch(patience=None)
        for start in range(0, len(lines), size):
            for part in source._parts(lines[start : start + size]):
                judged(watch, part, leave_out=True)
        states.add(watch.state)
    assert len(states) == 1
    assert (watch.samples, watch.pending) == (3, 0)


def test_ids_of_a_table_may_have_several_types(tmp_path: Path) -> None:
    tables = _Sqlite(tmp_path / "x")
    tables.add(([(1, "F"), ("2", "M"), (3.0, "F")], [("1", 1), (2, 0), (3, 1), ("x", 1)]))  # type: ignore[list-item]
    monitor = _caught_up(_monitor(tmp_path, tables.sources()))
    assert (monitor.watch.samples, monitor.store.unmatched()) == (3, 1)
