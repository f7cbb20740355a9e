"""Kills ``isonomia watch --follow`` again and again, and looks whether every decision was counted once.

Run: python -m benchmarks.watch_kills [--kills 200] [--source folder|postgres|both] [--seed 1] [--json FILE]

While files are added to a folder, or rows to a table of PostgreSQL by writers side by side whose transactions do not
commit in the order of their keys, the process is killed by SIGKILL and started again: some time after its start, after
some transactions of the store, or in the middle of one, while its journal is there. In the end the
state must be bit for bit that of a watch that was left alone over the same rows, and the alerts the same; every one of
them must have been printed. Exit code 1 where anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.crash_audit import MAIN, Forked, import_everything
from benchmarks.postgres import postgres_server

WATCH = """
run_length = 20000
window = 2000
page = "watch.html"
[source]
{source}
[[property]]
name = "four fifths"
check = "P[hired == 'yes' | sex == 'F'] >= 0.8 * P[hired == 'yes' | sex == 'M']"
[[property]]
name = "enough"
check = "P[hired == 'yes'] >= 0.2"
"""


@dataclass(frozen=True, slots=True)
class KillResult:
    """What came of the kills of one source."""

    source: str
    kills: int
    counted_before: int
    rows: int
    judged: int
    same_state: bool
    alerts: int
    printed: int
    wrong_lines: int
    seconds: float

    @property
    def sound(self) -> bool:
        """Whether nothing was lost, and nothing counted twice."""
        return self.rows == self.judged and self.same_state and self.alerts == self.printed and not self.wrong_lines


def main() -> None:
    """Kill, compare, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--source", choices=("folder", "postgres", "both"), default="both")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    sources = ("folder", "postgres") if given.source == "both" else (given.source,)
    results = [killed(source, given.kills // len(sources), given.seed) for source in sources]
    print("| source | kills | followed by more counts | rows | judged | state bit for bit | alerts, printed |")
    print("|---|---|---|---|---|---|---|")
    for each in results:
        same = "yes" if each.same_state else "NO"
        print(
            f"| {each.source} | {each.kills} | {each.counted_before} | {each.rows:,} | {each.judged:,} | {same} | "
            f"{each.alerts}, {each.printed} |"
        )
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(each) for each in results], indent=1))
    sys.exit(0 if all(each.sound for each in results) else 1)


def killed(source: str, kills: int, seed: int) -> KillResult:
    """Kill the watch over one source so many times."""
    import_everything()  # before anybody writes
    chance, started = random.Random(seed), time.monotonic()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        context = get_context("spawn")  # writers in processes of their own: one with threads could not be forked
        counter, stop = context.Value("q", 0), context.Event()
        if source == "folder":
            (folder / "decisions").mkdir()
            (folder / "watch.toml").write_text(WATCH.format(source='folder = "decisions"'))
            writers = [context.Process(target=write_files, args=(folder / "decisions", counter, stop, seed))]
        else:
            os.environ["DATABASE"] = address = stack.enter_context(postgres_server())
            place = 'postgres_env = "DATABASE"\ntable = "decisions"\nkey = "id"'
            (folder / "watch.toml").write_text(WATCH.format(source=place))
            make_table(address)
            writers = [context.Process(target=write_rows, args=(address, counter, stop, seed + k)) for k in range(4)]
        for writer in writers:
            writer.start()
        output, useful, before = "", 0, 0
        try:
            for _ in range(kills):
                process = _watch(folder, "--follow", "--every", "0.01")
                _live(process, folder / ".isonomia" / "watch.sqlite", chance)
                process.kill()
                out, told = process.communicate()
                if process.returncode != -9:
                    raise RuntimeError(f"expected a process that runs until it is killed, but it ended: {told}")
                output += out
                now = _judged(folder)
                useful, before = useful + (now > before), now
        finally:
            stop.set()
            for writer in writers:
                writer.join()
        last = _watch(folder)
        output += last.communicate()[0]
        return _compared(source, folder, output, kills, useful, counter.value, time.monotonic() - started)


def _live(process: Forked, store: Path, chance: random.Random) -> None:
    """Let a process live until some time after its start, some writings of the store, or the middle of one."""
    way, journal = chance.choice(("time", "writings", "writings", "journal")), Path(f"{store}-journal")
    until = time.monotonic() + (chance.uniform(0.0, 3.0) if way == "time" else 60.0)
    wanted, seen, stamp = chance.randint(1, 6), 0, _stamp(store)
    while time.monotonic() < until and process.poll() is None and seen < wanted:
        time.sleep(0.001)
        if way != "time" and (now := _stamp(store)) != stamp:
            seen, stamp = seen + 1, now
    if way == "writings":
        time.sleep(chance.uniform(0.0, 0.05))
    while way == "journal" and time.monotonic() < until and not journal.exists():
        time.sleep(0.0002)


def _stamp(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0


def _compared(
    source: str,
    folder: Path,
    output: str,
    kills: int,
    useful: int,
    rows: int,
    seconds: float,
) -> KillResult:
    """Compare with a watch that nobody killed, over the same rows."""
    kept = _state(folder)
    replay = _watch(folder, "--replay")
    replay.communicate()
    alone = folder / "alone"
    alone.mkdir()
    shutil.copy(folder / "watch.toml", alone)
    if (folder / "decisions").exists():
        (alone / "decisions").symlink_to(folder / "decisions")
    left = _watch(alone)
    expected = {json.loads(line)["sample"] for line in left.communicate()[0].splitlines()}
    # A line may be cut short by a kill, and is then printed again.
    lines = [line for line in output.splitlines() if line.endswith("}") and line.startswith("{")]
    printed = {json.loads(line)["sample"] for line in lines}
    state = json.loads(kept)
    same = kept == _state(alone) and replay.returncode in {0, 1}
    return KillResult(
        source,
        kills,
        useful,
        rows,
        state["samples"],
        same,
        len(state["alerts"]),
        len(printed & expected),
        len(printed - expected),
        seconds,
    )


def _watch(folder: Path, *options: str) -> Forked:
    return Forked(folder, ["watch", "watch.toml", "--allow-code", *options], MAIN)


def _state(folder: Path) -> bytes:
    import sqlite3
    from contextlib import closing

    path = folder / ".isonomia" / "watch.sqlite"
    if not path.exists():
        return b'{"samples": 0}'
    with closing(sqlite3.connect(path, timeout=60)) as database:
        tables = database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'watch'").fetchone()
        row = database.execute("SELECT state FROM watch").fetchone() if tables[0] else None
    return b'{"samples": 0}' if row is None else bytes(row[0])


def _judged(folder: Path) -> int:
    return int(json.loads(_state(folder))["samples"])


# -------------------------------------------------------------------------------------------------------------- writers


def _some(rng: np.random.Generator, rows: int, so_far: int) -> list[tuple[str, str]]:
    """Decisions that become unfair to women after a while."""
    sex = rng.choice(["F", "M"], rows)
    women = 0.4 if so_far < 5_000 else 0.25
    hired = rng.random(rows) < np.where(sex == "F", women, 0.4)
    return list(zip(sex.tolist(), np.where(hired, "yes", "no").tolist(), strict=True))


def write_files(folder: Path, counter: Any, stop: Any, seed: int) -> None:
    """Add files of some hundred rows each."""
    rng, number = np.random.default_rng(seed), 0
    while not stop.is_set():
        rows = _some(rng, int(rng.integers(50, 500)), counter.value)
        part = folder / ".part"
        part.write_text("\n".join(["sex,hired", *(",".join(row) for row in rows)]) + "\n")
        part.rename(folder / f"{number:07}.csv")
        number += 1
        with counter.get_lock():
            counter.value += len(rows)
        stop.wait(float(rng.uniform(0.0, 0.3)))


def make_table(address: str) -> None:
    """The table that writers write to."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE decisions (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, sex text, hired text)"
        )


def write_rows(address: str, counter: Any, stop: Any, seed: int) -> None:
    """Add rows in transactions that take their time, some of which are rolled back."""
    import psycopg

    rng: Any = np.random.default_rng(seed)
    with psycopg.connect(address) as connection:
        while not stop.is_set():
            rows = _some(rng, int(rng.integers(1, 120)), counter.value)
            for start in range(0, len(rows), 40):
                connection.cursor().executemany(
                    "INSERT INTO decisions (sex, hired) VALUES (%s, %s)", rows[start : start + 40]
                )
                stop.wait(float(rng.uniform(0.0, 0.05)))
            if rng.random() < 0.1:
                connection.rollback()
            else:
                connection.commit()
                with counter.get_lock():
                    counter.value += len(rows)
            stop.wait(float(rng.uniform(0.0, 0.1)))


if __name__ == "__main__":
    main()
