"""Installs Isonomia with the lowest versions of its dependencies that it allows, and runs its commands with them.

Run: python -m benchmarks.floors [--extra NAME ...] [--keep FOLDER]

The versions are those in ``pyproject.toml``. Of each extra a table or a model is opened as well; ``--extra all`` takes
all but torch, whose build for CUDA has gigabytes, games, which needs a compiler, and those for development. Exit code 0
where every command gave its verdict, 1 where one did not, 75 where the package index cannot be reached.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UNREACHABLE = 75
COMMANDS = (
    (["-m", "isonomia", "check", "P[y == 1 | g == 'a'] >= 0.5", "--data", "people.csv"], 0),
    (["-m", "isonomia", "check", "P[y == 1 | g == 'a'] >= 0.99", "--data", "people.csv"], 1),
    (["-m", "isonomia", "measure", "--data", "people.csv", "--decision", "y", "--by", "g", "--csv", "groups.csv"], 0),
    (["-m", "isonomia", "run", "audit.toml", "--report", "report.html"], 0),
)
AUDIT = '[population]\nsample = "people.csv"\n[[property]]\ncheck = "P[y == 1 | g == \'a\'] >= 0.5"\n'
LEFT_OUT = {"torch", "games", "docs", "test"}


def extras() -> list[str]:
    """The extras that ``--extra all`` takes."""
    return [name for name in _project()["optional-dependencies"] if name not in LEFT_OUT]


def floors(extras: list[str]) -> list[str]:
    """The requirements of the core and of some extras, each with exactly its lowest version."""
    project = _project()
    wanted = [*project["dependencies"], *(each for name in extras for each in project["optional-dependencies"][name])]
    lowest = dict.fromkeys(re.sub(r">=(\S+)$", r"==\1", each) for each in wanted)
    return [re.sub(r"^xgboost==", "xgboost-cpu==", each) for each in lowest]  # the same without CUDA


def _project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--extra", action="append", default=[], metavar="NAME")
    parser.add_argument("--keep", type=Path, help="a folder for the environment, which is used again where it exists")
    arguments = parser.parse_args()
    wanted = extras() if "all" in arguments.extra else arguments.extra
    with tempfile.TemporaryDirectory() as place:
        folder = arguments.keep or Path(place) / "env"
        python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
        if not python.exists():
            venv.create(folder)
        # The pip that runs this installs there, and only what is imported is compiled: half of the seconds.
        pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--retries", "1"]
        done = subprocess.run([*pip, "--no-compile", *floors(wanted)], capture_output=True, text=True, check=False)
        if done.returncode:
            unreachable = re.search(r"NewConnectionError|Temporary failure|ConnectTimeout|none\)", done.stderr)
            print(done.stderr[-2000:])
            return UNREACHABLE if unreachable else 1
        return _tried(python, Path(place), wanted)


def _tried(python: Path, folder: Path, extras: list[str]) -> int:
    rows = "".join(f"{g},{int(k % 10 != 0)}\n" for k in range(400) for g in "ab")
    (folder / "people.csv").write_text(f"g,y\n{rows}")
    (folder / "audit.toml").write_text(AUDIT)
    # The source is not installed, so that building it needs nothing.
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONWARNINGS": "default"}

    def run(case: tuple[list[str], int]) -> int:
        command, expected = case
        whole = [str(python), *command]
        done = subprocess.run(whole, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        failed = int(done.returncode != expected)
        details = f"\n{done.stdout[-2000:]} {done.stderr[-4000:]}" if failed else ""
        print(f"exit {done.returncode}: python {' '.join(command)}{details}", flush=True)
        return failed

    loaders = [(["-m", "benchmarks.floor_loaders", name], 0) for name in extras]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return max(threads.map(run, (*COMMANDS, *loaders)))


if __name__ == "__main__":
    sys.exit(main())
