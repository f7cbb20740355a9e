"""``isonomia watch`` as a person runs it: folders, lines, databases; alerts delivered; killed, and every row once."""

from __future__ import annotations

import csv
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest
from benchmarks.postgres import found_programs, postgres_server
from warm_start import CODE, run_command

from isonomia.errors import DataError
from isonomia.watch.databases import PostgresTable
from isonomia.watch.store import WatchStore
from isonomia.watch.stream import DECISIONS, OUTCOMES

WATCH = """
title = "Hiring"
alpha = 0.01
window = 2000

[source]
{source}

[[property]]
name = "four fifths"
check = "P[hired == 'yes' | sex == 'F'] >= 0.8 * P[hired == 'yes' | sex == 'M']"
"""


def _rows(count: int, women: float, seed: int = 1) -> list[tuple[str, str]]:
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], count)
    hired = rng.random(count) < np.where(sex == "F", women, 0.4)
    return list(zip(sex.tolist(), np.where(hired, "yes", "no").tolist(), strict=True))


def _write_day(folder: Path, day: int, rows: list[tuple[str, str]]) -> None:
    part = folder / f".{day}.csv"
    with part.open("w", newline="") as file:
        csv.writer(file).writerows([("sex", "hired"), *rows])
    part.rename(folder / f"day-{day:02}.csv")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four days that are fair."""
    (tmp_path / "decisions").mkdir()
    (tmp_path / "watch.toml").write_text(WATCH.format(source='folder = "decisions"'))
    for day in range(1, 5):
        _write_day(tmp_path / "decisions", day, _rows(500, 0.4, day))
    return tmp_path


def _judged(folder: Path, source: str = "folder decisions") -> tuple[int, bytes]:
    """How many samples the store has, and its state."""
    store = WatchStore(folder / ".isonomia" / "watch.sqlite", source)
    state = store.state()
    store.close()
    assert state is not None
    return json.loads(state)["samples"], state


def test_days_are_counted_once_and_an_alert_stays_until_it_is_acknowledged(folder: Path) -> None:
    first = run_command(folder, "watch", "watch.toml")
    assert (first.returncode, first.stdout) == (0, "")
    assert "2,000 new rows; 2,000 samples judged; no alert open" in first.stderr
    for day in range(5, 9):
        _write_day(folder / "decisions", day, _rows(500, 0.1, day))
    second = run_command(folder, "watch", "watch.toml")
    assert second.returncode == 1
    alert = json.loads(second.stdout)
    assert alert["property"] == "four fifths"
    assert alert["in"].startswith("day-0")
    assert alert["began_in"] in {"day-04.csv", "day-05.csv"}
    third = run_command(folder, "watch", "watch.toml", "--page", "watch.html")
    assert (third.returncode, third.stdout) == (1, "")  # delivered before, and still open
    assert "four fifths stopped holding" in (folder / "watch.html").read_text()
    acknowledged = run_command(folder, "watch", "watch.toml", "--acknowledge")
    assert acknowledged.returncode == 0
    assert "of the risk of 0.01 there is 0.005 left" in acknowledged.stderr
    assert run_command(folder, "watch", "watch.toml").returncode == 0
    again = run_command(folder, "watch", "watch.toml", "--replay")
    assert again.returncode == 0
    assert "4,000 rows read again: state and alerts are the same, bit for bit" in again.stderr


def test_a_store_goes_on_elsewhere(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert run_command(folder, "watch", "watch.toml").returncode == 0
    other = tmp_path_factory.mktemp("other") / "machine"
    shutil.copytree(folder, other)
    _write_day(other / "decisions", 5, _rows(500, 0.4, 5))
    moved = run_command(other, "watch", "watch.toml")
    assert "500 new rows; 2,500 samples judged" in moved.stderr


def test_replay_notices_a_file_that_was_changed(folder: Path) -> None:
    run_command(folder, "watch", "watch.toml")
    file = folder / "decisions" / "day-02.csv"
    file.write_text(file.read_text().replace("yes", "no ", 1).replace("no \n", "no\n", 1))
    told = run_command(folder, "watch", "watch.toml", "--replay")
    assert told.returncode == 2
    assert "day-02.csv is not the file that was read" in told.stderr


def test_a_store_of_another_watch_is_refused(folder: Path) -> None:
    run_command(folder, "watch", "watch.toml")
    text = (folder / "watch.toml").read_text()
    (folder / "watch.toml").write_text(text.replace("alpha = 0.01", "alpha = 0.02"))
    told = run_command(folder, "watch", "watch.toml")
    assert told.returncode == 2
    assert "another" in told.stderr


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("alpha = 0.01", "alhpa = 0.01", "Did you mean 'alpha'?"),
        ("alpha = 0.01", "", "either alpha"),
        ('folder = "decisions"', 'folder = "/etc"', "--allow-outside"),
        ('folder = "decisions"', 'postgres_env = "URL"\ntable = "t"\nkey = "k"', "--allow-code"),
        ('folder = "decisions"', 'sqlite = "a.sqlite"\ntable = "t"', "expected key"),
        ("[source]", '[alert]\ncommand = ["sh", "-c", "true"]\n[source]', "runs sh -c true when there is an alert"),
        ("[source]", '[alert]\nwebhook = "https://a.org/x"\ntoken_env = "T"\n[source]', "sends alerts to a.org"),
        ("window = 2000", 'window = 2000\npage = "../watch.html"', "writes outside of its folder"),
        ("0.8 * P[hired", "0.8 * P[hierd", "hierd"),
    ],
)
def test_what_a_file_may_not_say_or_do_is_refused_before_anything_is_read(
    folder: Path, old: str, new: str, told: str
) -> None:
    text = (folder / "watch.toml").read_text()
    assert old in text
    (folder / "watch.toml").write_text(text.replace(old, new))
    result = run_command(folder, "watch", "watch.toml")
    assert result.returncode == 2
    assert told in result.stderr
    assert "Traceback" not in result.stderr


def test_an_alert_is_delivered_to_a_command_and_a_webhook_until_they_have_it(folder: Path) -> None:
    came: list[tuple[str | None, dict]] = []
    status = [500]

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            came.append((self.headers["Authorization"], json.loads(body)))
            self.send_response(status[0])
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Hook)
    Thread(target=server.serve_forever, daemon=True).start()
    keep = "import sys; open('told.json', 'a').write(sys.stdin.read() + chr(10))"
    alert = (
        f'[alert]\ncommand = [{json.dumps(sys.executable)}, "-c", {json.dumps(keep)}]\n'
        f'webhook = "http://127.0.0.1:{server.server_port}/hook/s3cret-path"\ntoken_env = "HOOK_TOKEN"\n[source]'
    )
    text = (folder / "watch.toml").read_text()
    (folder / "watch.toml").write_text(text.replace("[source]", alert))
    for day in range(5, 9):
        _write_day(folder / "decisions", day, _rows(500, 0.1, day))
    environment = os.environ | {"HOOK_TOKEN": "the-token-of-the-hook"}
    first = run_command(folder, "watch", "watch.toml", "--allow-code", environment=environment)
    assert first.returncode == 1
    assert "was not delivered by webhook, and will be" in first.stderr
    for secret in ("the-token-of-the-hook", "s3cret-path"):
        assert secret not in first.stdout + first.stderr
    status[0] = 200
    came.clear()
    second = run_command(folder, "watch", "watch.toml", "--allow-code", environment=environment)
    run_command(folder, "watch", "watch.toml", "--allow-code", environment=environment)
    server.shutdown()
    server.server_close()
    ((token, body),) = came
    assert token == "Bearer the-token-of-the-hook"
    assert "not delivered" not in second.stderr
    told = [json.loads(line) for line in (folder / "told.json").read_text().splitlines()]
    assert told == [body] == [json.loads(first.stdout)]


def _lines(folder: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", CODE, *(options or ("watch", "watch.toml"))]
    return subprocess.run(command, cwd=folder, input=text, capture_output=True, text=True, timeout=60, check=False)


def test_lines_of_standard_input_with_late_outcomes(tmp_path: Path) -> None:
    (tmp_path / "watch.toml").write_text(
        'alpha = 0.01\npage = "watch.html"\n[source]\nlines = "jsonl"\nagain = true\n[outcomes]\ncolumn = "repaid"\n'
        'id = "loan"\n[[property]]\ncheck = "P[repaid == 1 | prediction == 1] >= 0.7"\n'
    )
    rng = np.random.default_rng(2)
    decisions = [json.dumps({"loan": k, "prediction": 1}) for k in range(600)]
    outcomes = [json.dumps({"loan": k, "repaid": int(rng.random() < 0.5)}) for k in range(500)]
    first = _lines(tmp_path, "\n".join([*decisions, *outcomes[:20]]) + "\n")
    assert first.returncode == 0, first.stderr
    assert "620 new rows; 20 samples judged, 580 pending, 0 left out; no alert open" in first.stderr
    everything = "\n".join([*decisions, *outcomes]) + "\n"
    second = _lines(tmp_path, everything, "watch", "watch.toml", "--evidence", "watch.json")
    assert "480 new rows; 500 samples judged, 100 pending" in second.stderr
    assert second.returncode == 1
    assert 0.4 < json.loads(second.stdout)["estimate"] < 0.6
    full = _lines(tmp_path, everything, "replay", "watch.json", "--full")
    assert full.returncode == 1, full.stderr
    assert "1,100 rows read again" in full.stdout
    page = (tmp_path / "watch.html").read_text()
    assert "100 samples wait for their outcomes" in page
    bad = _lines(tmp_path, "\n".join([*decisions, *outcomes, "{"]) + "\n")
    assert bad.returncode == 2
    assert "line 1,101 of standard input" in bad.stderr


def test_late_outcomes_of_a_folder_are_judged_in_the_order_of_decisions(tmp_path: Path) -> None:
    (tmp_path / "watch.toml").write_text(
        'run_length = 1e6\n[source]\nfolder = "decisions"\n[outcomes]\ncolumn = "repaid"\nid = "loan"\n'
        'folder = "outcomes"\n[[property]]\ncheck = "P[repaid == 1 | prediction == 1] >= 0.3"\n'
    )
    (tmp_path / "decisions").mkdir()
    (tmp_path / "outcomes").mkdir()
    lines = [f"{k},1" for k in range(400)]
    (tmp_path / "decisions" / "1.csv").write_text("\n".join(["loan,prediction", *lines]) + "\n")
    (tmp_path / "outcomes" / "1.csv").write_text("\n".join(["loan,repaid", *(f"{k},1" for k in range(50, 400))]) + "\n")
    first = run_command(tmp_path, "watch", "watch.toml")
    assert "0 samples judged, 400 pending" in first.stderr
    (tmp_path / "outcomes" / "2.csv").write_text("\n".join(["loan,repaid", *(f"{k},0" for k in range(50))]) + "\n")
    second = run_command(tmp_path, "watch", "watch.toml")
    assert "50 new rows; 400 samples judged" in second.stderr
    assert "the same, bit for bit" in run_command(tmp_path, "watch", "watch.toml", "--replay").stderr


def test_evidence_is_written_replayed_read_again_and_found_out_when_it_was_changed(folder: Path) -> None:
    for day in range(5, 9):
        _write_day(folder / "decisions", day, _rows(500, 0.1, day))
    watched = run_command(folder, "watch", "watch.toml", "--evidence", "watch.json")
    assert watched.returncode == 1
    assert "1 alert open; evidence: watch.json" in watched.stderr
    alert = json.loads(watched.stdout)
    replayed = run_command(folder, "replay", "watch.json")
    assert replayed.returncode == 1, replayed.stdout
    assert "4,000 samples judged, from folder decisions" in replayed.stdout
    assert f"open: ALERT after {alert['sample']:,} samples" in replayed.stdout
    assert "The replay succeeded: the evidence is in order, and says 1 alert open." in replayed.stdout
    assert "The exit code, 1, is that of the watch, not of the replay." in replayed.stdout
    full = run_command(folder, "replay", "watch.json", "--full")
    assert full.returncode == 1
    assert "4,000 rows read again" in full.stdout
    assert "the same in every number" in full.stdout
    changed = (folder / "watch.json").read_text().replace(f'"sample": {alert["sample"]}', '"sample": 2001')
    (folder / "changed.json").write_text(changed)
    found = run_command(folder, "replay", "changed.json", "--full")
    assert found.returncode == 2
    assert "the seal is broken" in found.stdout
    assert f"four fifths: alerts[0].sample: 2001 in the record, {alert['sample']} now" in found.stdout
    assert "nothing was read again" in found.stdout
    run_command(folder, "watch", "watch.toml", "--acknowledge", "--evidence", "after.json")
    after = run_command(folder, "replay", "after.json")
    assert after.returncode == 0
    assert "acknowledged: ALERT after" in after.stdout
    assert "says no alert is open." in after.stdout
    assert "no answer got worse" in run_command(folder, "compare", "watch.json", "after.json").stdout
    _write_day(folder / "decisions", 3, _rows(500, 0.4, 99))
    other = run_command(folder, "replay", "after.json", "--full")
    assert other.returncode == 2
    assert "day-03.csv is not the file that was read" in other.stdout


def test_evidence_that_was_being_written_when_it_was_killed_stays_as_it_was(folder: Path) -> None:
    run_command(folder, "watch", "watch.toml", "--evidence", "watch.json")
    before = (folder / "watch.json").read_text()
    _write_day(folder / "decisions", 5, _rows(500, 0.4, 5))
    killed = (
        "import os, isonomia.report.files as files\n"
        "files.os.replace = lambda *_: os.kill(os.getpid(), 9)  # all is written, but not yet in its place\n"
        f"{CODE}"
    )
    command = [sys.executable, "-c", killed, "watch", "watch.toml", "--evidence", "watch.json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert (folder / "watch.json").read_text() == before
    assert run_command(folder, "replay", "watch.json", "--full").returncode == 0
    again = run_command(folder, "watch", "watch.toml", "--evidence", "watch.json")
    assert "0 new rows; 2,500 samples judged" in again.stderr
    assert "2,500 rows read again" in run_command(folder, "replay", "watch.json", "--full").stdout


def test_options_of_evidence_that_do_not_go_together_are_refused(folder: Path) -> None:
    for given, told in (
        (("--evidence", "e.json", "--replay"), "--evidence cannot be used with --replay"),
        (("--key", "key"), "--key requires --evidence"),
        (("--evidence", "nowhere/e.json"), "can be written for the evidence"),
    ):
        done = run_command(folder, "watch", "watch.toml", *given)
        assert (done.returncode, told in done.stderr) == (2, True), done.stderr
    run_command(folder, "watch", "watch.toml", "--evidence", "watch.json")
    asked = run_command(folder, "replay", "watch.json", "--model", "model.pkl")
    assert asked.returncode == 2
    assert "--full" in asked.stderr


def _insert(database: sqlite3.Connection, rows: list[tuple[str, str]]) -> None:
    database.executemany("INSERT INTO decisions (sex, hired) VALUES (?, ?)", rows)
    database.commit()


def test_a_table_of_sqlite_is_followed_until_it_rings(tmp_path: Path) -> None:
    source = 'sqlite = "hiring.sqlite"\ntable = "decisions"\nkey = "id"\ntime = "made"'
    (tmp_path / "watch.toml").write_text(WATCH.format(source=source))
    with closing(sqlite3.connect(tmp_path / "hiring.sqlite")) as database:
        database.execute(
            "CREATE TABLE decisions (id INTEGER PRIMARY KEY AUTOINCREMENT, sex TEXT, hired TEXT, made TEXT DEFAULT "
            "'2026-05-01T10:00')"
        )
        _insert(database, _rows(3_000, 0.4))
        process = _follow(tmp_path, "--until-alert", "--page", "watch.html")
        for part in range(20):
            _insert(database, _rows(200, 0.1, part))
            time.sleep(0.02)
        out, told = process.communicate(timeout=60)
    assert process.returncode == 1, told
    assert json.loads(out)["sample"] > 3_000
    assert "2026-05-01" in (tmp_path / "watch.html").read_text()
    run_command(tmp_path, "watch", "watch.toml", "--evidence", "watch.json")
    full = run_command(tmp_path, "replay", "watch.json", "--full")
    assert full.returncode == 1, full.stdout
    assert "7,000 rows read again" in full.stdout
    with closing(sqlite3.connect(tmp_path / "hiring.sqlite")) as database:
        database.execute("DELETE FROM decisions WHERE id = 5")
        database.commit()
    gone = run_command(tmp_path, "replay", "watch.json", "--full")
    assert gone.returncode == 2
    assert "7,000 rows were counted, 6,999 are there" in gone.stdout


def test_a_backlog_has_a_history_by_day_and_alerts_that_name_their_sample(tmp_path: Path) -> None:
    source = 'sqlite = "hiring.sqlite"\ntable = "decisions"\nkey = "id"\ntime = "made"'
    (tmp_path / "watch.toml").write_text(WATCH.format(source=source))
    rows = [
        (sex, hired, f"2026-03-{day:02} 10:00:00")
        for day in range(1, 32)
        for sex, hired in _rows(100, 0.4 if day < 20 else 0.1, day)
    ]
    with closing(sqlite3.connect(tmp_path / "hiring.sqlite")) as database:
        database.execute("CREATE TABLE decisions (id INTEGER PRIMARY KEY, sex TEXT, hired TEXT, made TEXT)")
        database.executemany("INSERT INTO decisions (sex, hired, made) VALUES (?, ?, ?)", rows)
        database.commit()
    done = run_command(tmp_path, "watch", "watch.toml")
    alert = json.loads(done.stdout)
    number = alert["sample"]
    assert alert["in"] == f"{rows[number - 1][2][:10]}, id {number:,}"
    assert alert["began_in"].startswith("2026-03-")
    store = WatchStore(tmp_path / ".isonomia" / "watch.sqlite", "sqlite hiring.sqlite, table decisions, key id")
    points = store.points()
    assert [point.label[:10] for point in points] == [f"2026-03-{day:02}" for day in range(1, 32)]
    store.close()


def test_an_alert_that_began_in_the_part_where_it_came_names_the_sample_it_began_with(tmp_path: Path) -> None:
    source = 'sqlite = "hiring.sqlite"\ntable = "decisions"\nkey = "id"\ntime = "made"'
    (tmp_path / "watch.toml").write_text(WATCH.format(source=source))
    rows = [
        (sex, hired, "2026-03-01") for day in range(1, 9) for sex, hired in _rows(200, 0.4 if day < 5 else 0.0, day)
    ]
    with closing(sqlite3.connect(tmp_path / "hiring.sqlite")) as database:
        database.execute("CREATE TABLE decisions (id INTEGER PRIMARY KEY, sex TEXT, hired TEXT, made TEXT)")
        database.executemany("INSERT INTO decisions (sex, hired, made) VALUES (?, ?, ?)", rows)
        database.commit()
    alert = json.loads(run_command(tmp_path, "watch", "watch.toml").stdout)
    assert alert["onset"]["estimate"] + 1 < alert["sample"]
    assert alert["began_in"] == f"2026-03-01, id {alert['onset']['estimate'] + 1:,}"


def test_outcomes_that_never_come_are_left_out_and_replayed(tmp_path: Path) -> None:
    (tmp_path / "watch.toml").write_text(
        'run_length = 1e6\n[source]\nfolder = "decisions"\n[outcomes]\ncolumn = "repaid"\nid = "loan"\npatience = 150\n'
        'folder = "outcomes"\n[[property]]\ncheck = "P[repaid == 1 | prediction == 1] >= 0.3"\n'
    )
    for name in ("decisions", "outcomes"):
        (tmp_path / name).mkdir()
    lines = [f"{k},1" for k in range(400)]
    (tmp_path / "decisions" / "1.csv").write_text("\n".join(["loan,prediction", *lines]) + "\n")
    outcomes = [f"{k},1" for k in range(0, 400, 2)]
    (tmp_path / "outcomes" / "1.csv").write_text("\n".join(["loan,repaid", *outcomes, "x,1"]) + "\n")
    first = run_command(tmp_path, "watch", "watch.toml", "--evidence", "watch.json")
    assert "126 samples judged, 149 pending, 125 left out, 1 outcome without a decision" in first.stderr
    assert "1.csv: 1 outcome without a decision so far: x" in first.stderr
    assert "the same, bit for bit" in run_command(tmp_path, "watch", "watch.toml", "--replay").stderr
    full = run_command(tmp_path, "replay", "watch.json", "--full")
    assert full.returncode == 0, full.stdout + full.stderr


def _follow(folder: Path, *options: str, environment: dict[str, str] | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CODE, "watch", "watch.toml", "--follow", "--every", "0.02", *options]
    return subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def test_it_ends_in_good_order_when_it_is_asked_to(folder: Path) -> None:
    process = _follow(folder)
    until = time.monotonic() + 60
    while not (folder / ".isonomia" / "watch.sqlite").exists() and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 0, told
    assert "samples judged; no alert open" in told


def test_whatever_is_killed_every_decision_counts_once(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    alone = tmp_path_factory.mktemp("alone") / "left"
    for day in range(5, 25):
        _write_day(folder / "decisions", day, _rows(300, 0.15, day))
    shutil.copytree(folder, alone)
    expected = run_command(alone, "watch", "watch.toml")
    chance = random.Random(1)
    out = ""
    for _ in range(3):
        process = _follow(folder)
        time.sleep(chance.uniform(0.9, 2.0))
        process.kill()
        out += process.communicate(timeout=60)[0]
    last = run_command(folder, "watch", "watch.toml")
    assert _judged(folder) == _judged(alone)
    numbers = {json.loads(line)["sample"] for line in (out + last.stdout).splitlines() if line.endswith("}")}
    assert numbers == {json.loads(line)["sample"] for line in expected.stdout.splitlines()} != set()


@pytest.fixture(scope="module")
def postgres():
    """What connects to a PostgreSQL of our own."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    if found_programs() is None:
        pytest.skip("PostgreSQL, initdb and pg_ctl, is not installed")
    with postgres_server() as address:
        yield address


def test_rows_of_postgres_that_commit_out_of_order_are_all_counted(postgres: str, tmp_path: Path) -> None:
    import psycopg

    source = 'postgres_env = "DATABASE"\ntable = "public.decisions"\nkey = "id"'
    (tmp_path / "watch.toml").write_text(WATCH.format(source=source))
    environment = os.environ | {"DATABASE": postgres}
    insert = "INSERT INTO decisions (sex, hired, pay) VALUES (%s, %s, 1.5)"
    with psycopg.connect(postgres, autocommit=True) as one, psycopg.connect(postgres) as slow:
        one.execute(
            "CREATE TABLE decisions (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, sex text, hired text, "
            "pay numeric, made timestamptz DEFAULT now())"
        )
        one.cursor().executemany(insert, _rows(500, 0.4))
        slow.cursor().executemany(insert, _rows(100, 0.4, 2))  # keys 501 to 600, not to be seen yet
        one.cursor().executemany(insert, _rows(500, 0.4, 3))
        process = _follow(tmp_path, "--allow-code", environment=environment)
        time.sleep(2.5)
        slow.commit()
        one.cursor().executemany(insert, _rows(900, 0.4, 4))
        time.sleep(1.0)
        process.kill()
        process.communicate(timeout=60)
    last = run_command(tmp_path, "watch", "watch.toml", "--allow-code", environment=environment)
    assert last.returncode == 0, last.stderr
    assert "2,000 samples judged" in last.stderr
    again = run_command(tmp_path, "watch", "watch.toml", "--allow-code", "--replay", environment=environment)
    assert "2,000 rows read again: state and alerts are the same, bit for bit" in again.stderr
    run_command(tmp_path, "watch", "watch.toml", "--allow-code", "--evidence", "watch.json", environment=environment)
    full = run_command(tmp_path, "replay", "watch.json", "--full", "--allow-code", environment=environment)
    assert full.returncode == 0, full.stderr
    assert "2,000 rows read again" in full.stdout


def test_a_backlog_in_postgres_gives_the_alerts_of_daily_runs(postgres: str, tmp_path: Path) -> None:
    import psycopg
    from tests.unit.watch.test_catching_up import assert_backlog_equals_days

    opened: list[PostgresTable] = []

    class Tables:
        def __init__(self, where: Path) -> None:
            where.mkdir()
            self.schema = where.name
            database.execute(f"CREATE SCHEMA {self.schema}")
            key = "k bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id numeric(30, 2)"
            database.execute(f"CREATE TABLE {self.schema}.dec ({key}, sex text)")
            database.execute(f"CREATE TABLE {self.schema}.out ({key}, hired int)")

        def add(self, day: tuple) -> None:
            insert = f"INSERT INTO {self.schema}"
            database.cursor().executemany(f"{insert}.dec (id, sex) VALUES (%s, %s)", day[0])
            database.cursor().executemany(f"{insert}.out (id, hired) VALUES (%s, %s)", day[1])

        def sources(self) -> tuple[PostgresTable, PostgresTable]:
            names = (("dec", DECISIONS), ("out", OUTCOMES))
            one, two = (PostgresTable(postgres, None, f"{self.schema}.{name}", "k", what, "id") for name, what in names)
            opened.extend((one, two))
            return one, two

    with psycopg.connect(postgres, autocommit=True) as database:
        assert_backlog_equals_days(Tables, tmp_path)
    for source in opened:
        if source._connection is not None:
            source._connection.close()


def test_errors_of_postgres_show_no_password(postgres: str, tmp_path: Path) -> None:
    source = 'postgres_env = "DATABASE"\ntable = "nothing"\nkey = "id"'
    (tmp_path / "watch.toml").write_text(WATCH.format(source=source))
    environment = os.environ | {"DATABASE": f"{postgres} password=hunter22"}
    told = run_command(tmp_path, "watch", "watch.toml", "--allow-code", environment=environment)
    assert told.returncode == 2
    assert '"nothing" does not exist' in told.stderr
    assert "hunter22" not in told.stderr
    environment["DATABASE"] = "host=/nowhere password=hunter22"
    told = run_command(tmp_path, "watch", "watch.toml", "--allow-code", environment=environment)
    assert told.returncode == 2
    assert "hunter22" not in told.stderr
    assert "Traceback" not in told.stderr


def test_keys_of_postgres_that_start_again_or_repeat_are_an_error(postgres: str) -> None:
    import psycopg

    def taken(source: PostgresTable) -> int:
        return sum(part.rows for part in source.new(Event()))

    with psycopg.connect(postgres, autocommit=True) as database:
        database.execute("CREATE TABLE keyed (k bigint, x int)")
        database.execute("INSERT INTO keyed SELECT n, 1 FROM generate_series(1, 50) n")
        source = PostgresTable(postgres, None, "keyed", "k")
        assert taken(source) == 50
        database.execute("DELETE FROM keyed WHERE k > 20")
        with pytest.raises(DataError):
            taken(source)
        database.execute("INSERT INTO keyed VALUES (50, 1), (50, 0), (51, 1)")
        with pytest.raises(DataError):
            taken(source)
        source._connection.close()
