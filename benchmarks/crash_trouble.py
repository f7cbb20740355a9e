"""Other trouble than death: power that fails, full disks, a clock set back, two runs at once, no permission.

Power that fails is simulated: of what SQLite had not yet forced onto the disk, which is the end of its write-ahead log,
a random part is dropped, and the index of the log, which lives in memory, is gone. What a disk does to a sector that it
was writing is not simulated. A full disk refuses every write that would make a file larger than so many bytes (as
``RLIMIT_FSIZE``), and one after the other every step of writing a file (as an error of the system).
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
from dataclasses import dataclass
from pathlib import Path

from benchmarks.crash_audit import MAIN, ROOT, entries_in, is_sound, run_to_the_end, start, verdicts_in

__all__ = ["Trouble", "troubles"]

FAILING = """
import errno, os
from pathlib import Path
left = [{step}]
def failing(call):
    def tried(*arguments, **options):
        left[0] -= 1
        if left[0] == 0 and {kill}:
            os.kill(os.getpid(), 9)
        if left[0] == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return call(*arguments, **options)
    return tried
import isonomia.report.files
Path.touch, Path.write_text = failing(Path.touch), failing(Path.write_text)
os.replace, os.fsync = failing(os.replace), failing(os.fsync)
"""
"""Lets one step of writing files fail, as on a full disk, or kills: making, filling, forcing it out, renaming."""

BACK = """
import datetime
import isonomia.records.store as store
store._now = lambda: datetime.datetime(2001, 1, 1, tzinfo=datetime.UTC)
"""
"""A clock that was set back by decades."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """One kind of trouble: how often it was made, and how often all went as it should."""

    name: str
    times: int
    good: int


def troubles(folder: Path, times: int, seed: int = 1) -> list[Trouble]:
    """Make each kind of trouble in a folder with a finished run ``whole``."""
    draw = random.Random(seed)
    return [
        _counted("two concurrent runs give the same result", [_two_at_once(folder)]),
        _counted("power failure: store intact, same verdicts", [_power(folder, draw, k) for k in range(times)]),
        _counted("a full disk is said, and gone on from", [_full(folder, draw, k) for k in range(times)]),
        _counted("a failed write keeps the old file", _every_step(folder, kill=False)),
        _counted("killed while writing a file: the old or the new file remains", _every_step(folder, kill=True)),
        _counted("a clock set back has no effect", [_clock(folder)]),
        _counted("a folder that cannot be written is said", [_read_only(folder)]),
        _counted("a store that cannot be written can be read", [_closed(folder)]),
    ]


def _counted(name: str, went: list[bool]) -> Trouble:
    return Trouble(name, len(went), sum(went))


def _same(folder: Path, name: str) -> bool:
    return verdicts_in(folder / name) == verdicts_in(folder / "whole.json")


def _two_at_once(folder: Path) -> bool:
    both = [start(folder, "both", ["--json", f"both{k}.json"]) for k in range(2)]
    for process in both:
        process.communicate()
    return is_sound(folder, "both") and all(_same(folder, f"both{k}.json") for k in range(2))


def _power(folder: Path, draw: random.Random, number: int) -> bool:
    """Let the power fail in the middle of a run."""
    records = f"power{number}"
    process, wanted = start(folder, records), draw.randint(3, 60)
    while process.poll() is None and entries_in(folder, records) < wanted:
        pass
    process.kill()
    process.communicate()
    log = folder / records / "runs.sqlite-wal"
    if log.exists():
        size = draw.randint(0, log.stat().st_size)
        with log.open("r+b") as file:
            file.truncate(size)
    log.with_name("runs.sqlite-shm").unlink(missing_ok=True)
    sound, more = is_sound(folder, records), ["--resume"] if entries_in(folder, records) else []
    run_to_the_end(folder, records, *more, "--json", f"{records}.json")
    return sound and is_sound(folder, records) and _same(folder, f"{records}.json")


def _full(folder: Path, draw: random.Random, number: int) -> bool:
    """Writing fails as soon as a file is too large, as on a full disk; later there is room again."""
    records, most = f"full{number}", draw.randint(60_000, 250_000)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    code, told = run_to_the_end(folder, records, preexec_fn=limit)
    said = code == 2 and "error: expected to" in told and "Traceback" not in told
    more = ["--resume"] if entries_in(folder, records) else []
    run_to_the_end(folder, records, *more, "--json", f"{records}.json")
    return said and _same(folder, f"{records}.json") and is_sound(folder, records)


def _every_step(folder: Path, *, kill: bool) -> list[bool]:
    """Fail at the first, the second, ... step of writing the files of a run that has ended, until none fails."""
    went: list[bool] = []
    for step in range(1, 40):
        for name in ("old.json", "old.xml"):
            (folder / name).write_text("the old file")
        arguments = ("--resume", "--json", "old.json", "--junit", "old.xml")
        program = FAILING.format(step=step, kill=kill) + MAIN
        code, told = run_to_the_end(folder, "whole", *arguments, program=program)
        if code == 1:
            return went  # every step was tried
        texts = [(folder / name).read_text() for name in ("old.json", "old.xml")]
        whole = texts[0] == "the old file" or bool(json.loads(texts[0]))
        whole &= texts[1] == "the old file" or texts[1].rstrip().endswith("</testsuites>")
        stumps = list(folder.glob(".isonomia-*"))
        for stump in stumps:
            stump.unlink()
        said = code == 2 and "expected a file that can be written" in told and "Traceback" not in told and not stumps
        went.append(whole and (code == -9 if kill else said))
    return went


def _clock(folder: Path) -> bool:
    """A run begins today, is killed, and goes on in 2001; another is begun there, and is the latest."""
    process = start(folder, "clock")
    while process.poll() is None and entries_in(folder, "clock") < 10:
        pass
    process.kill()
    process.communicate()
    run_to_the_end(folder, "clock", "--resume", "--json", "clock.json", program=BACK + MAIN)
    code, told = run_to_the_end(folder, "clock", "--json", "again.json", program=BACK + MAIN)
    return _same(folder, "clock.json") and _same(folder, "again.json") and "run 2001" in told and code != 2


def _read_only(folder: Path) -> bool:
    place = Path("/proc/isonomia")  # where even root cannot write
    if os.geteuid() != 0:
        place = folder / "closed"
        place.mkdir(mode=0o555)
    code, told = run_to_the_end(folder, str(place))
    return code == 2 and "expected" in told and "--records FOLDER" in told and "Traceback" not in told


def _closed(folder: Path) -> bool:
    """A store on which every write fails is shown all the same, and a new run in it is refused."""
    shutil.copytree(folder / "whole", folder / "stuck")
    refusing = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
    code, told = run_to_the_end(folder, "stuck", program=refusing + MAIN)
    shown = "import sys\nsys.argv = ['-c', 'show', '--records', 'stuck']\n"
    seen, _ = run_to_the_end(folder, "stuck", program=refusing + shown + MAIN)
    return code == 2 and "Traceback" not in told and seen == 1 and ROOT.is_dir()
