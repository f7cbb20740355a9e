"""Other trouble than death: two runs at once in one store, a disk that is full, a folder that cannot be written."""

from __future__ import annotations

import os
import resource
from pathlib import Path

from benchmarks.crash_audit import entries_in, is_sound, run_to_the_end, start, verdicts_in

__all__ = ["troubles"]

MOST_BYTES = 150_000
"""How large a file may become on the full disk."""


def troubles(folder: Path) -> dict[str, bool]:
    """Try each kind of trouble in a folder with a finished run ``whole``; whether each went as it should."""
    return {
        "two runs at once end alike": _two_at_once(folder),
        "a full disk is said, and gone on from": _full(folder),
        "a folder that cannot be written is said": _read_only(folder),
    }


def _two_at_once(folder: Path) -> bool:
    both = [start(folder, "both", ["--json", f"both{k}.json"]) for k in range(2)]
    for process in both:
        process.communicate()
    whole = verdicts_in(folder / "whole.json")
    return is_sound(folder, "both") and all(verdicts_in(folder / f"both{k}.json") == whole for k in range(2))


def _full(folder: Path) -> bool:
    """Writing fails as soon as a file is too large, as on a full disk; later there is room again."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))

    code, told = run_to_the_end(folder, "full", preexec_fn=limit)
    said = code == 2 and "error: expected to write" in told and "Traceback" not in told and "--resume" in told
    kept = entries_in(folder, "full")
    run_to_the_end(folder, "full", "--resume", "--json", "full.json")
    same = verdicts_in(folder / "full.json") == verdicts_in(folder / "whole.json")
    return said and 0 < kept < entries_in(folder, "full") and same and is_sound(folder, "full")


def _read_only(folder: Path) -> bool:
    place = Path("/proc/isonomia")  # where even root cannot write
    if os.geteuid() != 0:
        place = folder / "closed"
        place.mkdir(mode=0o555)
    code, told = run_to_the_end(folder, str(place))
    return code == 2 and "expected" in told and "--records FOLDER" in told and "Traceback" not in told
