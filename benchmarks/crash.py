"""Kills an audit again and again, at random moments, and looks whether anything is lost.

Run: python -m benchmarks.crash [--kills 60] [--troubles 10] [--seed 1] [--json FILE]

Every life of the process ends by SIGKILL in one of three ways, in turn: some time after its start; at the moment when
the write-ahead log of the store changes; or inside a transaction, after a random number of SQLite's instructions. After
each death the store is checked, and no entry may be missing. In the end the verdicts and counts must be those of a run
that was left alone; where more kills are wanted, the same audit begins again in another store. Then come other faults
(``crash_trouble.py``): power that fails, full disks, files that cannot be written, a clock that is set back. One table
says how often each was made. Exit code 1 where anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.crash_audit import MAIN, entries_in, is_sound, kept_in, run_to_the_end, start, verdicts_in, write_audit
from benchmarks.crash_trouble import troubles

WAYS = ("time", "log", "statement")
DYING = f"from benchmarks.crash import die_inside; die_inside({{steps}}); {MAIN}"
PATIENCE = 120.0
MOST_NEW = 15
"""Entries that one life may add at most, where the time decides."""


@dataclass(frozen=True, slots=True)
class Death:
    """How one life ended: in which way, after how many seconds, with how many entries before it and after it.

    ``lost`` counts what was kept before it and is not there any more, or not the same.
    """

    way: str
    seconds: float
    before: int
    after: int
    lost: int
    sound: bool
    ended: bool

    @property
    def landed(self) -> str:
        """Where the kill landed."""
        if self.ended:
            return "after the end"
        return "while working" if self.after > self.before else "before anything new"


def die_inside(steps: int) -> None:
    """Let this process die inside a transaction, after so many instructions of SQLite's machine inside of some."""
    from isonomia.records.sqlite import Database

    connect, left = Database.connect, [steps]

    def connected(self: Database) -> Any:
        connection = connect(self)

        def count() -> int:
            left[0] -= connection.in_transaction
            if left[0] <= 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return 0

        connection.set_progress_handler(count, 1)
        return connection

    Database.connect = connected  # type: ignore[method-assign]


def one_life(folder: Path, store: str, way: str, ready: float, draw: random.Random) -> Death:
    """Start or resume the audit, and end it."""
    before, kept = entries_in(folder, store), kept_in(folder, store)
    more = ["--resume"] if before else []
    program = DYING.format(steps=draw.randint(20, 400)) if way == "statement" else MAIN
    began = time.monotonic()
    process = start(folder, store, [*more, "--json", f"{store}.json"], program)
    if way == "time":
        _wait_some_time(folder, store, before, draw.uniform(0.6 * ready, 1.4 * ready), process)
    elif way == "log":
        _wait_for_the_log(folder / store / "runs.sqlite-wal", draw.randint(1, 40), process)
    else:
        _wait_for_death(process)
    ended = process.poll() not in (None, -signal.SIGKILL)
    process.kill()
    _, problems = process.communicate()
    if ended and not (folder / f"{store}.json").exists():
        raise SystemExit(f"the audit failed: {problems}")
    after, lost = entries_in(folder, store), len(kept - kept_in(folder, store))
    return Death(way, time.monotonic() - began, before, after, lost, is_sound(folder, store), ended)


def _wait_some_time(folder: Path, store: str, before: int, seconds: float, process: Any) -> None:
    """Wait so long, or less where much was done meanwhile: there must be something left to kill."""
    deadline = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < deadline and entries_in(folder, store) < before + MOST_NEW:
        time.sleep(0.02)


def _wait_for_the_log(path: Path, changes: int, process: Any) -> None:
    """Wait until the log has changed so often, looking as often as possible."""
    seen, deadline = _state(path), time.monotonic() + PATIENCE
    while changes and process.poll() is None and time.monotonic() < deadline:
        now = _state(path)
        changes -= now != seen
        seen = now


def _state(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0, 0
    return found.st_size, found.st_mtime_ns


def _wait_for_death(process: Any) -> None:
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)


def crash(folder: Path, kills: int, seed: int) -> dict[str, Any]:
    """Kill audits so often in all, and compare the end of each with that of one that was left alone."""
    write_audit(folder)
    began = time.monotonic()
    code, told = run_to_the_end(folder, "whole", "--json", "whole.json")
    alone = time.monotonic() - began
    if code not in {0, 1}:
        raise SystemExit(told)
    draw, ready = random.Random(seed), alone / 3
    whole, alone_entries = verdicts_in(folder / "whole.json"), entries_in(folder, "whole")
    deaths: list[Death] = []
    identical: list[bool] = []
    while (wanted := kills - sum(not death.ended for death in deaths)) > 0:
        store = f"cut{len(identical)}"
        lives, ready = _lives(folder, store, wanted, ready, draw)
        deaths += lives
        identical.append(_same_end(folder, store, whole, alone_entries))
        shutil.rmtree(folder / store)
        print(f"{sum(not death.ended for death in deaths)} kills, {len(identical)} audits", file=sys.stderr, flush=True)
    return {
        "seconds alone": round(alone, 2),
        "deaths": [{**asdict(death), "landed": death.landed} for death in deaths],
        "kills": sum(not death.ended for death in deaths),
        "landed while working": sum(death.landed == "while working" for death in deaths),
        "inside a transaction": sum(death.way == "statement" and not death.ended for death in deaths),
        "stores unsound": sum(not death.sound for death in deaths),
        "entries lost": sum(death.lost for death in deaths),
        "entries alone": alone_entries,
        "verdicts": [(each["name"], each["answer"], each["samples"]) for each in whole],
        "audits": len(identical),
        "identical": sum(identical),
    }


def _lives(folder: Path, store: str, kills: int, ready: float, draw: random.Random) -> tuple[list[Death], float]:
    """The lives of one audit until it ends or was killed so often, and the seconds until the next one works."""
    lives: list[Death] = []
    for number in range(kills):
        lives.append(one_life(folder, store, WAYS[number % len(WAYS)], ready, draw))
        if lives[-1].way == "log" and lives[-1].landed == "while working":
            ready = lives[-1].seconds
        if lives[-1].ended:
            break
    return lives, ready


def _same_end(folder: Path, store: str, whole: list[dict[str, Any]], entries: int) -> bool:
    """Whether the audit, resumed to its end, has the verdicts and the entries of the one that was left alone."""
    code, _ = run_to_the_end(folder, store, "--resume", "--json", f"{store}.json")
    return code != 2 and verdicts_in(folder / f"{store}.json") == whole and entries_in(folder, store) == entries


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--troubles", type=int, default=10, help="failures of power, and full disks")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        found = crash(Path(place), arguments.kills, arguments.seed)
        made = troubles(Path(place), arguments.troubles, arguments.seed)
        found["troubles"] = [asdict(trouble) for trouble in made]
    _print(found)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    good = found["identical"] == found["audits"] and not found["stores unsound"] and not found["entries lost"]
    enough = found["kills"] >= arguments.kills
    sys.exit(0 if good and enough and all(trouble.times == trouble.good for trouble in made) else 1)


def _print(found: dict[str, Any]) -> None:
    """One table: every fault, how often it was made, and how often nothing was lost."""
    by_way = Counter((death["way"], death["landed"]) for death in found["deaths"] if not death["ended"])
    fine = Counter((death["way"], death["landed"]) for death in found["deaths"] if death["sound"] and not death["lost"])
    print(f"{'fault':<52}{'times':>7}{'nothing lost':>14}")
    for (way, landed), count in sorted(by_way.items()):
        print(f"{f'killed by {way}, {landed}':<52}{count:>7}{fine[way, landed]:>14}")
    for trouble in found["troubles"]:
        print(f"{trouble['name']:<52}{trouble['times']:>7}{trouble['good']:>14}")
    for key, value in found.items():
        if key not in {"deaths", "troubles"}:
            print(f"{key}: {value}")


if __name__ == "__main__":
    main()
