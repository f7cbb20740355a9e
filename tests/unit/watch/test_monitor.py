"""A watch at work: one process at a time, a history of bounded size, days, and what replays compare."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Event

import numpy as np
import pytest

import isonomia as iso
from isonomia.errors import DataError, ModelError, RecordError
from isonomia.watch import store as store_module
from isonomia.watch.monitor import Monitor
from isonomia.watch.replay import replayed
from isonomia.watch.source import FolderSource
from isonomia.watch.store import WatchStore
from raising import raises


class Deaf:
    """Somebody who cannot be told before the second time."""

    name = "deaf"

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.tried = 0

    def deliver(self, message: bytes) -> None:
        self.tried += 1
        if self.tried == 1:
            raise ModelError("not now")
        self.heard.append(message)


def _watch() -> iso.Watch:
    return iso.Watch("P[x > 0.5] >= 0.4", alpha=0.01, window=200)


def _day(folder: Path, name: str, low: float, rows: int = 200, seed: int = 1) -> None:
    folder.mkdir(exist_ok=True)
    numbers = np.random.default_rng(seed).uniform(low, 1.0, rows)
    (folder / f"{name}.csv").write_text("\n".join(["x", *map(str, numbers)]) + "\n")


def _monitor(tmp_path: Path, *channels: object, **options: object) -> Monitor:
    source = FolderSource(tmp_path / "days", "days")
    monitor = Monitor(_watch(), WatchStore(tmp_path / "watch.sqlite", source.describe()), source, channels, **options)
    monitor.resume()
    return monitor


def test_two_at_work_on_one_store_do_not_count_twice(tmp_path: Path) -> None:
    _day(tmp_path / "days", "1", 0.2)
    one, other = _monitor(tmp_path), _monitor(tmp_path)
    assert one.catch_up(Event()) == 200
    with pytest.raises(RecordError, match="another process"):
        other.catch_up(Event())
    assert _monitor(tmp_path).watch.samples == 200


def test_a_store_with_a_trigger_is_not_opened(tmp_path: Path) -> None:
    _day(tmp_path / "days", "1", 0.2)
    monitor = _monitor(tmp_path)
    monitor.store.close()
    with closing(sqlite3.connect(tmp_path / "watch.sqlite")) as database:
        database.execute("CREATE TRIGGER quiet AFTER INSERT ON alerts BEGIN DELETE FROM alerts; END")
    with raises(RecordError, "watch.sqlite", "quiet", "--store"):
        _monitor(tmp_path)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE watch SET state = 'x'",
        "UPDATE watch SET state = replace(CAST(state AS TEXT), '\"samples\":200', '\"samples\":1e400')",
        "UPDATE watch SET state = replace(hex(zeroblob(50000)), '0', '[')",
        "UPDATE log SET position = '{}'",
        "UPDATE log SET position = '[1]'",
        "UPDATE log SET position = '{'",
        "UPDATE watch SET state = CAST(replace(CAST(state AS TEXT), '\"samples\":200', '\"samples\":-5') AS BLOB)",
        "DELETE FROM log",
    ],
)
def test_a_damaged_store_is_an_error_that_says_so(tmp_path: Path, damage: str) -> None:
    _day(tmp_path / "days", "1", 0.2)
    monitor = _monitor(tmp_path)
    monitor.catch_up(Event())
    monitor.store.close()
    with closing(sqlite3.connect(tmp_path / "watch.sqlite")) as database:
        database.execute(damage)
        database.commit()
    with pytest.raises(RecordError):
        _monitor(tmp_path)


def test_an_alert_is_offered_until_it_is_taken(tmp_path: Path) -> None:
    _day(tmp_path / "days", "1", 0.2)
    _day(tmp_path / "days", "2", -3.0)
    channel, warnings = Deaf(), []
    monitor = _monitor(tmp_path, channel, title="it", warn=warnings.append)
    monitor.catch_up(Event())
    assert monitor.watch.alert is not None
    assert (channel.heard, len(warnings)) == ([], 1)
    again = _monitor(tmp_path, channel, title="it")
    assert again.deliver()
    assert again.deliver()
    (message,) = map(json.loads, channel.heard)
    assert (message["title"], message["in"]) == ("it", "2.csv")
    assert set(message["onset"]) == {"estimate", "low", "high"}
    assert again.acknowledge() == 1
    assert again.acknowledge() == 0


def test_the_history_stays_small_and_reaches_back_to_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "MAX_POINTS", 20)
    for day in range(70):
        _day(tmp_path / "days", f"{day:03}", 0.2, 5, day)
    monitor = _monitor(tmp_path)
    monitor.catch_up(Event())
    points = monitor.store.points()
    assert len(points) <= 20
    assert (points[0].label, points[-1].label) == ("000.csv", "069.csv")
    assert [point.samples for point in points] == sorted(point.samples for point in points)
    assert len(monitor.store.days(1_000)) == 70


def test_days_are_those_of_the_column_that_says_when(tmp_path: Path) -> None:
    (tmp_path / "days").mkdir()
    rows = ["0.7,2026-05-01T10:00", "0.7,2026-05-02T10:00", "0.7,2026-05-02T11:00"]
    (tmp_path / "days" / "a.csv").write_text("\n".join(["x,made", *rows]) + "\n")
    monitor = _monitor(tmp_path, time="made")
    monitor.catch_up(Event())
    assert monitor.store.days(9) == [("2026-05-01", 1, 0), ("2026-05-02", 2, 0)]
    wrong = _monitor(tmp_path, time="when")
    _day(tmp_path / "days", "b", 0.2)
    with raises(DataError, "when", "b.csv"):
        wrong.catch_up(Event())


def test_a_part_that_cannot_be_judged_is_named_and_not_counted(tmp_path: Path) -> None:
    _day(tmp_path / "days", "1", 0.2)
    (tmp_path / "days" / "2.csv").write_text("y\n1\n")
    with raises(DataError, 2, "x", "2.csv"):
        _monitor(tmp_path).catch_up(Event())
    assert _monitor(tmp_path).watch.samples == 200


def test_a_file_whose_types_do_not_fit_a_property_is_named(tmp_path: Path) -> None:
    _day(tmp_path / "days", "1", 0.2)
    (tmp_path / "days" / "2.csv").write_text("x\na\n")
    with raises(DataError, 2, "x", "2.csv"):
        _monitor(tmp_path).catch_up(Event())


def test_a_store_that_cannot_be_written_says_what_helps(tmp_path: Path) -> None:
    (tmp_path / "watch.sqlite").write_bytes(b"no database" * 100)
    (tmp_path / "days").mkdir()
    with raises(RecordError, "--store", cause=sqlite3.DatabaseError):
        _monitor(tmp_path)


def test_a_replay_finds_what_is_missing(tmp_path: Path) -> None:
    for day in range(3):
        _day(tmp_path / "days", str(day), 0.2, seed=day)
    monitor = _monitor(tmp_path)
    monitor.catch_up(Event())
    assert replayed(_watch(), monitor.store, FolderSource(tmp_path / "days", "days")) == ([], 600)
    _day(tmp_path / "days", "1", 0.2, seed=9)
    differences, _ = replayed(_watch(), monitor.store, FolderSource(tmp_path / "days", "days"))
    assert any("1.csv is not the file that was read" in each for each in differences)
    assert any("the state differs" in each for each in differences)
