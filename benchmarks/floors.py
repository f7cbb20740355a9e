"""Installs Isonomia with the lowest versions of its dependencies that it allows, and runs its commands with them.

Run: python -m benchmarks.floors [--extra NAME ...] [--keep FOLDER]

The versions are those in ``pyproject.toml``. Exit code 0 where every command gave its verdict, 1 where one did not, 75
where the package index cannot be reached.
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
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UNREACHABLE = 75
COMMANDS = (
    (["check", "P[y == 1 | g == 'a'] >= 0.5", "--data", "people.csv"], 0),
    (["check", "P[y == 1 | g == 'a'] >= 0.99", "--data", "people.csv"], 1),
    (["measure", "--data", "people.csv", "--decision", "y", "--by", "g", "--csv", "groups.csv"], 0),
    (["run", "audit.toml", "--report", "report.html"], 0),
)
AUDIT = '[population]\nsample = "people.csv"\n[[property]]\ncheck = "P[y == 1 | g == \'a\'] >= 0.5"\n'


def floors(extras: list[str]) -> list[str]:
    """The requirements of the core and of some extras, each with exactly its lowest version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*project["dependencies"], *(each for name in extras for each in project["optional-dependencies"][name])]
    return [re.sub(r">=(\S+)$", r"==\1", each) for each in wanted]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--extra", action="append", default=[], metavar="NAME")
    parser.add_argument("--keep", type=Path, help="a folder for the environment, which is used again where it exists")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = arguments.keep or Path(place) / "env"
        python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
        if not python.exists():
            venv.create(folder, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--retries", "1"]
        done = subprocess.run([*pip, *floors(arguments.extra)], capture_output=True, text=True, check=False)
        if done.returncode:
            unreachable = re.search(r"NewConnectionError|Temporary failure|ConnectTimeout|none\)", done.stderr)
            print(done.stderr[-2000:])
            return UNREACHABLE if unreachable else 1
        return _tried(python, Path(place))


def _tried(python: Path, folder: Path) -> int:
    rows = "".join(f"{g},{int(k % 10 != 0)}\n" for k in range(400) for g in "ab")
    (folder / "people.csv").write_text(f"g,y\n{rows}")
    (folder / "audit.toml").write_text(AUDIT)
    # The source is not installed, so that building it needs nothing.
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "default"}
    for command, expected in COMMANDS:
        whole = [str(python), "-m", "isonomia", *command]
        done = subprocess.run(whole, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        print(f"exit {done.returncode}: isonomia {' '.join(command)}")
        if done.returncode != expected:
            print(done.stdout[-2000:], done.stderr[-4000:])
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
