"""Known counterexamples: the latest first, limited, safe with several processes, and never in the way."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from isonomia.records.store import MAX_CHARACTERS, MAX_KEPT, KnownCounterexamples, Store, key_of

KEY = key_of("k-safety", "input x1;\n")
WRITER = """
import sys
from isonomia.records.store import KnownCounterexamples
folder, key, name = sys.argv[1:]
known = KnownCounterexamples(folder)
for turn in range(20):
    known.add(key, [{"inputs": {"x1": {"writer": name, "turn": turn}}, "choices": []}])
    known.drop(key, [{"inputs": {"x1": {"writer": name, "turn": turn - 2}}, "choices": []}])
assert known.trouble is None, known.trouble
"""


def case(number: int) -> dict[str, object]:
    return {"inputs": {"x1": {"age": number, "share": 1 / 3, "name": "ü\x1b"}}, "choices": [number, 0.1], "rows": {}}


@pytest.fixture
def known(tmp_path: Path) -> KnownCounterexamples:
    return KnownCounterexamples(tmp_path / ".isonomia")


def test_counterexamples_come_back_as_they_were_the_latest_first(known: KnownCounterexamples) -> None:
    known.add(KEY, [case(1), case(2)])
    known.add(KEY, [case(3)])
    assert KnownCounterexamples(known.folder).of(KEY) == (case(3), case(1), case(2))
    assert known.trouble is None


def test_another_property_or_another_kind_has_others(known: KnownCounterexamples) -> None:
    known.add(KEY, [case(1)])
    assert known.of(key_of("k-safety", "input x2;\n")) == ()
    assert known.of(key_of("other", "input x1;\n")) == ()


def test_one_that_is_found_again_is_kept_once_and_becomes_the_latest(known: KnownCounterexamples) -> None:
    known.add(KEY, [case(1), case(2)])
    known.add(KEY, [case(2)])
    assert known.of(KEY) == (case(2), case(1))


def test_the_oldest_give_way_to_new_ones(known: KnownCounterexamples) -> None:
    other = key_of("k-safety", "another")
    known.add(other, [case(0)])
    for number in range(MAX_KEPT + 5):
        known.add(KEY, [case(number)])
    assert known.of(KEY) == tuple(case(number) for number in reversed(range(5, MAX_KEPT + 5)))
    assert known.of(other) == (case(0),)


def test_only_those_that_are_named_are_forgotten(known: KnownCounterexamples) -> None:
    known.add(KEY, [case(1), case(2), case(3)])
    known.drop(KEY, [case(1), case(3), case(9)])
    assert known.of(KEY) == (case(2),)


def test_nothing_is_written_where_there_is_nothing_to_keep(known: KnownCounterexamples) -> None:
    assert known.of(KEY) == ()
    known.add(KEY, [])
    known.drop(KEY, [case(1)])
    assert not known.folder.exists()


def test_a_counterexample_that_is_too_long_is_left_out_with_a_word(known: KnownCounterexamples) -> None:
    known.add(KEY, [{"inputs": "x" * MAX_CHARACTERS, "choices": []}, case(1)])
    assert known.of(KEY) == (case(1),)
    assert known.trouble is not None
    assert "characters" in known.trouble


def test_the_store_of_runs_and_the_known_ones_share_a_file_whichever_comes_first(tmp_path: Path) -> None:
    known = KnownCounterexamples(tmp_path / "first")
    known.add(KEY, [case(1)])
    assert Store(tmp_path / "first").runs() == []
    assert known.of(KEY) == (case(1),)
    store = Store(tmp_path / "second")
    known = KnownCounterexamples(tmp_path / "second")
    known.add(KEY, [case(1)])
    run = store.begin("title", {}, [])
    assert [record.id for record in store.runs()] == [run]
    assert known.of(KEY) == (case(1),)
    assert known.path == store.path


def test_a_store_that_is_no_database_is_a_trouble_and_no_error(known: KnownCounterexamples) -> None:
    known.folder.mkdir()
    known.path.write_text("these are no records, but something of at least a hundred characters" * 4)
    assert known.of(KEY) == ()
    known.add(KEY, [case(1)])
    known.drop(KEY, [case(1)])
    assert known.trouble is not None
    assert "not a database" in known.trouble
    assert known.path.read_text().startswith("these are no records")


def test_a_folder_that_cannot_be_made_is_a_trouble_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    known = KnownCounterexamples(tmp_path / "file" / ".isonomia")
    assert known.of(KEY) == ()
    known.add(KEY, [case(1)])
    assert known.trouble is not None
    assert str(tmp_path / "file") in known.trouble


def test_a_row_that_somebody_spoiled_is_a_trouble_and_no_error(known: KnownCounterexamples) -> None:
    known.add(KEY, [case(1)])
    with sqlite3.connect(known.path) as connection:
        connection.execute("UPDATE known SET counterexample = '{\"inputs\":'")
    connection.close()
    assert known.of(KEY) == ()
    assert known.trouble is not None


def test_what_json_cannot_hold_is_a_trouble_and_no_error(known: KnownCounterexamples) -> None:
    known.add(KEY, [{"inputs": {"x1": float("nan")}, "choices": []}])
    known.add(KEY, [{"inputs": {"x1": object()}, "choices": []}])
    assert known.of(KEY) == ()
    assert known.trouble is not None


def test_several_processes_write_at_once_and_nothing_of_theirs_is_lost(known: KnownCounterexamples) -> None:
    names = ["a", "b", "c", "d"]
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(known.folder), KEY, name], stderr=subprocess.PIPE, text=True
        )
        for name in names
    ]
    for writer in writers:
        _, told = writer.communicate(timeout=60)
        assert writer.returncode == 0, told
    found = [item["inputs"]["x1"] for item in known.of(KEY)]
    assert {(item["writer"], item["turn"]) for item in found} == {(name, turn) for name in names for turn in (18, 19)}
    with sqlite3.connect(known.path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
