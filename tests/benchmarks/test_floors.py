"""The lowest versions of dependencies that are allowed, and what a source distribution contains."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from benchmarks.floors import UNREACHABLE, floors

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
VULNERABLE = {  # the first version without the vulnerability
    "h11": (0, 16),
    "jinja2": (3, 1, 6),
    "lightgbm": (4, 6),
    "mlflow-skinny": (3, 11),
    "ray": (2, 52),
    "scikit-learn": (1, 5),
    "skops": (0, 13),
    "torch": (2, 8),
}


def test_lowest_versions_exclude_known_vulnerabilities() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    named = {}
    for each in (*PROJECT["project"]["dependencies"], *(part for name in extras for part in extras[name])):
        name, version = re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", each).groups()
        named.setdefault(name, []).append(tuple(map(int, version.split("."))))
    assert set(VULNERABLE) <= set(named)
    assert not [name for name, least in VULNERABLE.items() if min(named[name]) < least]


def test_a_requirement_becomes_its_lowest_version() -> None:
    assert "jinja2==3.1.6" in floors([])
    assert all("==" in each for each in floors(["http", "skops"]))


def test_a_source_distribution_says_how_to_report_and_to_contribute() -> None:
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert {"SECURITY.md", "CONTRIBUTING.md"} <= set(included)
    assert all((ROOT / name).exists() for name in included)


def test_the_commands_work_with_the_lowest_versions() -> None:
    done = subprocess.run([sys.executable, "-m", "benchmarks.floors"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode == UNREACHABLE:
        pytest.skip("the package index cannot be reached")
    assert done.returncode == 0, done.stdout + done.stderr
