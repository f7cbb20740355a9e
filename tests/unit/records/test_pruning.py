"""Old runs are deleted on request: by age, by number, and nothing else goes with them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from isonomia.cli.app import app
from isonomia.records.store import KnownCounterexamples, Store

Prune = Callable[..., Result]


@pytest.fixture
def names(tmp_path: Path) -> list[str]:
    """Ten runs, the latest first, begun 0, 10, 20, ... days ago, each with a large entry; the last one was cut off."""
    store, found = Store(tmp_path), []
    for days in range(90, -1, -10):
        run = store.begin("Hiring", {"seed": 1}, [("women", {}, {})])
        journal = store.journal(run, 0)
        journal.keep("batch 0", lambda: {"text": "x" * 8000})
        journal.close()
        if days != 90:
            store.end(run)
        begun = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")
        with closing(sqlite3.connect(store.path)) as connection, connection:
            connection.execute("UPDATE runs SET begun = ? WHERE id = ?", (begun, run))
        found.insert(0, run)
    KnownCounterexamples(tmp_path).add("key", [{"age": 3}])
    return found


def _prune(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["runs", "--records", str(folder), *arguments], env={"COLUMNS": "160"})


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        (["--keep-latest", "3"], 3),
        (["--older-than", "35d"], 4),
        (["--older-than", "5w"], 4),
        (["--older-than", "35d", "--keep-latest", "6"], 6),
        (["--older-than", "35d", "--keep-latest", "2"], 4),
        (["--keep-latest", "0"], 0),
        (["--older-than", "1000d"], 10),
    ],
)
def test_runs_go_that_are_too_old_and_none_of_the_latest(
    names: list[str], tmp_path: Path, arguments: list[str], kept: int
) -> None:
    told = _prune(tmp_path, "--prune", "--dry-run", *arguments)
    assert told.exit_code == 0, told.output
    assert [run for run in names if run in told.output] == names[kept:], "what would be deleted is said"
    assert len(Store(tmp_path).runs()) == 10, "and nothing is"
    done = _prune(tmp_path, "--prune", *arguments)
    assert done.exit_code == 0, done.output
    assert [run.id for run in Store(tmp_path).runs()] == names[:kept]
    assert KnownCounterexamples(tmp_path).of("key") == ({"age": 3},)
    with closing(sqlite3.connect(Store(tmp_path).path)) as connection:
        left = {run for (run,) in connection.execute("SELECT run FROM entries UNION SELECT run FROM checks")}
    assert left == set(names[:kept])


def test_the_room_is_given_back_to_the_disk(names: list[str], tmp_path: Path) -> None:
    before = sum(file.stat().st_size for file in tmp_path.iterdir())
    done = _prune(tmp_path, "--prune", "--keep-latest", "1")
    after = sum(file.stat().st_size for file in tmp_path.iterdir())
    assert "deleted: 9" in done.output
    assert before - after > 60_000
    assert [run.id for run in Store(tmp_path).runs()] == names[:1]


def test_a_run_that_may_be_going_on_is_kept(tmp_path: Path) -> None:
    going_on = Store(tmp_path).begin("Hiring", {}, [])
    assert _prune(tmp_path, "--prune", "--keep-latest", "0").output.strip() == "nothing to delete"
    assert Store(tmp_path).run().id == going_on


def test_runs_are_in_order_after_some_were_deleted(names: list[str], tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.prune([names[0], names[4]])
    later = store.begin("Hiring", {}, [])
    assert [run.id for run in store.runs()] == [later, *names[1:4], *names[5:]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--prune"], "requires --older-than AGE or --keep-latest NUMBER"),
        (["--keep-latest", "3"], "require --prune"),
        (["--dry-run"], "require --prune"),
        (["--prune", "--keep-latest", "-1"], "as 0 or more"),
        (["--prune", "--older-than", "90"], "such as 12h, 90d or 2w, but got '90'"),
        (["--prune", "--older-than", "9999999d"], "such as 12h, 90d or 2w"),
    ],
)
def test_a_wrong_call_is_refused_before_anything_is_deleted(
    names: list[str], tmp_path: Path, arguments: list[str], message: str
) -> None:
    assert message in str(_prune(tmp_path, *arguments).exception)
    assert len(Store(tmp_path).runs()) == len(names)
