"""Runs a peer's program with the Python that has the peer, and says how to get it where none has."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["VARIABLE", "Absent", "add_option", "peer_versions", "python_with", "run_peer"]

FOLDER = Path(__file__).resolve().parent
VARIABLE = "ISONOMIA_PEERS_PYTHON"
"""The environment variable that names the Python of the peers."""


@dataclass(frozen=True, slots=True)
class Absent:
    """A peer that cannot be run here, and why."""

    reason: str


def add_option(parser: argparse.ArgumentParser) -> None:
    """Let a program take ``--peers-python``."""
    parser.add_argument(
        "--peers-python",
        default=os.environ.get(VARIABLE),
        help=f"the Python that has the peers, several with {os.pathsep!r} between (default: {VARIABLE}, or this one)",
    )


def python_with(module: str, given: str | None) -> str | Absent:
    """The first Python that can import a peer's module: among those that were given, or else this one."""
    pythons = given.split(os.pathsep) if given else [sys.executable]
    reasons = []
    for python in pythons:
        reason = _trouble(python, module)
        if reason is None:
            return python
        reasons.append(f"{python}: {reason}")
    where = "giskard" if module == "giskard" else "peers"
    lines = "requirements-giskard.txt" if module == "giskard" else "requirements.txt"
    return Absent(
        f"{module} is not to be had ({'; '.join(reasons)}). To install it: python3.11 -m venv {where} && "
        f"{where}/bin/pip install -r benchmarks/peers/{lines}, then add {where}/bin/python to {VARIABLE}"
    )


def _trouble(python: str, module: str) -> str | None:
    """Why a Python cannot import a module; ``None`` where it can."""
    try:
        tried = subprocess.run([python, "-c", f"import {module}"], capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error.strerror)
    said = tried.stderr.strip().splitlines() or ["no reason given"]
    return None if tried.returncode == 0 else said[-1]


def run_peer(python: str, program: str, job: dict[str, Any], limit: float | None = None) -> dict[str, Any]:
    """What a program of this folder writes for a job.

    Raises
    ------
    RuntimeError
        Where the program fails; with the end of what it said.
    subprocess.TimeoutExpired
        Where it takes longer than the limit, in seconds.
    """
    with tempfile.TemporaryDirectory() as folder:
        given, written = Path(folder) / "job.json", Path(folder) / "result.json"
        given.write_text(json.dumps(job), encoding="utf-8")
        command = [python, str(FOLDER / program), str(given), str(written)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
        if done.returncode or not written.exists():
            raise RuntimeError(f"{program} failed with {done.returncode}: ...{done.stderr[-800:]}")
        found: dict[str, Any] = json.loads(written.read_text("utf-8"))
        return found


_VERSIONS = """
import importlib.metadata as m, json, platform, sys
found = {"python": platform.python_version()}
for name in sys.argv[1:]:
    try:
        found[name] = m.version(name)
    except m.PackageNotFoundError:
        pass
print(json.dumps(found))
"""


def peer_versions(pythons: str | None, names: tuple[str, ...]) -> dict[str, str]:
    """Which of some packages the peers' Pythons have, with their versions; a Python that cannot be run has none."""
    found: dict[str, str] = {}
    for python in (pythons or sys.executable).split(os.pathsep):
        try:
            said = subprocess.run([python, "-c", _VERSIONS, *names], capture_output=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        found = {**json.loads(said.stdout), **found}
    return found
