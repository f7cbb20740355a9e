"""The store: nothing that was kept is lost, nothing is believed that does not fit."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import isonomia as iso
from isonomia.errors import RecordError
from isonomia.records.store import Store
from raising import raises

DEFINITION = {"audit": "rates", "text": "P[hired] >= 0.5"}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / ".isonomia")


def _begun(store: Store, checks: int = 1) -> str:
    return store.begin("hiring", {"file": "audit.toml"}, [(f"check {k}", DEFINITION, {}) for k in range(checks)])


def test_a_run_comes_back_with_its_checks_and_verdicts(store: Store) -> None:
    name = _begun(store, 2)
    verdict = iso.check("P[hired] >= 0.5", population=iso.Census({"hired": [1, 1, 0]}))
    store.conclude(name, 1, verdict)
    store.end(name)
    again = Store(store.folder)
    (run,) = again.runs()
    assert (run.id, run.title, run.request) == (name, "hiring", {"file": "audit.toml"})
    assert run.ended is not None
    assert run.versions["isonomia"] == iso.__version__
    first, second = again.checks(name)
    assert (first.name, first.definition, first.verdict) == ("check 0", DEFINITION, None)
    assert second.verdict == verdict


def test_a_journal_gives_back_every_number_as_it_was(store: Store) -> None:
    name = _begun(store)
    journal = store.journal(name, 0)
    numbers = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -0.0, 2**60 + 1, None, True, "ü<script>"]
    journal.keep("batch 0", lambda: {"numbers": numbers})
    journal.keep("batch 1", lambda: {"numbers": []})
    journal.close()
    again = store.journal(name, 0)
    assert list(again.entries) == ["batch 0", "batch 1"]
    found = again.recall("batch 0")
    assert found is not None
    assert [repr(value) for value in found["numbers"]] == [repr(value) for value in numbers]
    assert again.recall("batch 2") is None
    again.close()


def test_runs_are_found_by_the_beginning_of_their_name(store: Store) -> None:
    with pytest.raises(RecordError, match="it has no runs yet"):
        store.run()
    first, second = _begun(store), _begun(store)
    assert store.run().id == second
    assert store.run(first).id == first
    with raises(RecordError, "2026", 2):
        store.run(first[:4])
    with raises(RecordError, meant=first):
        store.run(first[:-1] + "x")


def test_two_who_write_the_same_run_are_told_apart(store: Store) -> None:
    name = _begun(store)
    one, other = store.journal(name, 0), store.journal(name, 0)
    one.keep("batch 0", dict)
    with raises(RecordError, 0, cause=sqlite3.IntegrityError):
        other.keep("batch 0", dict)
    one.close()
    other.close()


def test_many_processes_write_at_once_and_nothing_is_lost(store: Store) -> None:
    names = [_begun(store) for _ in range(4)]
    code = (
        "import sys; from isonomia.records.store import Store\n"
        "journal = Store(sys.argv[1]).journal(sys.argv[2], 0)\n"
        "for k in range(100): journal.keep(f'batch {k}', lambda: {'k': k})\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(store.folder), name]) for name in names]
    assert [writer.wait(timeout=120) for writer in writers] == [0] * 4
    for name in names:
        journal = store.journal(name, 0)
        assert [entry["k"] for entry in journal.entries.values()] == list(range(100))
        journal.close()
    with sqlite3.connect(store.path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_a_full_disk_says_so_and_loses_nothing(store: Store) -> None:
    name = _begun(store)
    journal = store.journal(name, 0)
    journal.keep("batch 0", lambda: {"k": 0})
    with journal.database.reading("count pages") as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 1}")  # SQLite answers as on a full disk

    def fill() -> None:
        for k in range(1, 50):
            journal.keep(f"batch {k}", lambda: {"text": "x" * 5000})

    with raises(RecordError, 2, cause=sqlite3.OperationalError):
        fill()
    kept = dict(journal.entries)
    journal.close()
    again = store.journal(name, 0)
    assert again.entries == kept
    again.close()


def test_a_folder_that_cannot_be_made_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with raises(RecordError, "--records", ".isonomia", cause=NotADirectoryError):
        Store(tmp_path / "file" / ".isonomia")


def test_something_else_in_the_place_of_the_store_is_left_alone(tmp_path: Path) -> None:
    place = tmp_path / ".isonomia"
    place.mkdir()
    (place / "runs.sqlite").write_bytes(b"a diary, not a database " * 100)
    with raises(RecordError, str(place / "runs.sqlite"), cause=sqlite3.DatabaseError):
        Store(place)
    assert (place / "runs.sqlite").read_bytes().startswith(b"a diary")


def test_records_of_another_format_are_refused(store: Store) -> None:
    with sqlite3.connect(store.path) as connection:
        connection.execute("UPDATE format SET version = 99")
    connection.close()
    with raises(RecordError, 99):
        Store(store.folder)


def test_a_check_that_failed_says_why_until_it_has_a_verdict(store: Store) -> None:
    name = _begun(store, 2)
    journal = store.journal(name, 0)
    journal.keep("batch 0", dict)
    journal.close()
    store.fail(name, 0, "ModelError", "it raised ü")
    failed, untouched = store.checks(name)
    assert failed.error == {"kind": "ModelError", "message": "it raised ü"}
    assert (failed.verdict, untouched.error) == (None, None)
    assert _kept(store, name) == ["batch 0"], "it can go on from there"
    store.conclude(name, 0, iso.check("P[hired] >= 0.5", population=iso.Census({"hired": [1, 1, 0]})))
    assert store.checks(name)[0].error is None


def test_what_must_not_be_gone_on_from_is_forgotten(store: Store) -> None:
    name = _begun(store)
    journal = store.journal(name, 0)
    journal.keep("batch 0", dict)
    journal.close()
    store.fail(name, 0, "ChangingModelError", "it changed its answers", forget=True)
    assert _kept(store, name) == []


def _kept(store: Store, name: str) -> list[str]:
    journal = store.journal(name, 0)
    journal.close()
    return list(journal.entries)


def test_a_store_of_another_version_is_refused_with_what_to_do(store: Store) -> None:
    with sqlite3.connect(store.path) as connection:
        connection.execute("UPDATE format SET version = 1")
    connection.close()
    with raises(RecordError, 1, "--records"):
        Store(store.folder)


DAMAGES = {
    "a run": ("UPDATE runs SET request = '{'", lambda store: store.runs()),
    "a deep run": (f"UPDATE runs SET request = '{'[' * 100_000}'", lambda store: store.runs()),
    "a name that is a path": ("UPDATE runs SET id = '../../' || id", lambda store: store.runs()),
    "a title": ("UPDATE runs SET title = X'ff'", lambda store: store.runs()),
    "a time": ("UPDATE runs SET begun = X'ff'", lambda store: store.runs()),
    "a verdict": ("UPDATE checks SET verdict = '{\"format\": 3}'", lambda store: store.checks(store.run().id)),
    "an entry": ("UPDATE entries SET entry = 'x'", lambda store: store.journal(store.run().id, 0)),
    "a list": ("UPDATE entries SET entry = '[1]'", lambda store: store.journal(store.run().id, 0)),
    "a model": (
        "UPDATE entries SET entry = '[1]', key = 'model'",
        lambda store: store.introductions(store.run().id),
    ),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_what_is_damaged_is_said_to_be(store: Store, what: str) -> None:
    damage, read = DAMAGES[what]
    journal = store.journal(store.begin("title", {}, [("one", {}, {})]), 0)
    journal.keep("batch 0", lambda: {"n": 1})
    journal.close()
    with sqlite3.connect(store.path) as connection:
        connection.execute(damage)
    with raises(RecordError, "runs.sqlite", "damaged"):
        read(store)


def test_a_complaint_of_sqlite_about_a_long_text_is_cut(store: Store) -> None:
    store.begin("title", {"text": "x" * 10**6}, [])
    with sqlite3.connect(store.path) as connection:
        connection.execute("UPDATE runs SET request = CAST(X'ff' || CAST(request AS BLOB) AS TEXT)")
    with pytest.raises(RecordError) as caught:
        store.runs()
    assert len(str(caught.value)) < 1000


READ_ONLY = """
set -e
mount --bind "$1" "$2"
mount -o remount,ro,bind "$2"
"$3" -c 'if True:
    import sys
    from pathlib import Path
    from isonomia.errors import RecordError
    from isonomia.records.store import Store
    store = Store(sys.argv[1], reading=True)
    (run,) = store.runs()
    print(run.title, [check.error for check in store.checks(run.id)], store.journal(run.id, 0).entries)
    try:
        Store(sys.argv[1])
    except RecordError as error:
        print("cannot be written" in str(error))
' "$2"
"""


def test_a_store_that_can_only_be_read_is_read(store: Store, tmp_path: Path) -> None:
    journal = store.journal(store.begin("title", {}, [("one", {}, {})]), 0)
    journal.keep("batch 0", lambda: {"n": 1})
    journal.close()
    (tmp_path / "mounted").mkdir()
    places = [str(store.folder), str(tmp_path / "mounted"), sys.executable]
    inside = ["unshare", "-r", "-m", "bash", "-c", READ_ONLY, "bash", *places]
    try:
        done = subprocess.run(inside, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("no unshare here, to make a folder that can only be read")
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip("nothing may be mounted here")
    assert done.stdout.splitlines() == ["title [None] {'batch 0': {'n': 1}}", "True"], done.stderr


@pytest.mark.parametrize(
    ("name", "program"),
    [
        (
            "turn",
            "CREATE TRIGGER turn AFTER UPDATE ON checks BEGIN UPDATE checks SET verdict = '{}'; END",
        ),
        (
            "endless",
            "CREATE VIEW endless AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r",
        ),
        ("slow", "CREATE INDEX slow ON checks (hex(zeroblob(number)))"),
        ("runs", "ALTER TABLE runs ADD COLUMN more TEXT GENERATED ALWAYS AS (hex(zeroblob(100000000)))"),
    ],
)
def test_a_store_that_brings_programs_of_its_own_is_not_opened(store: Store, name: str, program: str) -> None:
    _begun(store)
    with sqlite3.connect(store.path) as connection:
        connection.execute(program)
    connection.close()
    with raises(RecordError, str(store.path), name=name):
        Store(store.folder)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name here")
def test_a_pipe_in_the_place_of_the_store_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "runs.sqlite")
    with pytest.raises(RecordError):
        Store(tmp_path, reading=True)
