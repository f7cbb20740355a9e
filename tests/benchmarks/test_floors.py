"""The lowest versions of dependencies that are allowed, and what a source distribution contains."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from benchmarks.floor_loaders import EXTRAS
from benchmarks.floors import UNREACHABLE, extras, floors

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
VULNERABLE = {  # the first version without what is known
    "distributed": (2026, 1),  # CVE-2026-23528: scripts in its dashboard
    "duckdb": (1, 4, 2),  # CVE-2025-64429: its encryption; CVE-2024-41672: files read although forbidden
    "h11": (0, 16),  # CVE-2025-43859: chunked bodies
    "jinja2": (3, 1, 6),  # CVE-2025-27516: out of the sandbox
    "lightgbm": (4, 6),  # CVE-2024-43598: model files
    "mkdocs-material": (9, 7, 7),  # CVE-2026-73295: scripts in searches
    "mlflow-skinny": (3, 13),  # CVE-2026-4137: folders that others can write to; CVE-2026-8147
    "onnx": (1, 21),  # CVE-2026-27489, -34446, -34447: files outside of the folder
    "playwright": (1, 56),  # CVE-2025-59288: browsers downloaded unchecked
    "psycopg": (3, 3, 5),  # CVE-2025-12818, CVE-2026-6477: the libpq that it brings
    "pyarrow": (23, 0, 1),  # CVE-2026-25087: Arrow files
    "pytest": (9, 0, 3),  # CVE-2025-71176: its temporary folders
    "ray": (2, 55),  # CVE-2026-41486: Parquet files; CVE-2026-27482, CVE-2025-62593: its dashboard
    "scikit-learn": (1, 5),  # CVE-2024-5206: words kept by vectorizers
    "skops": (0, 13),  # CVE-2025-54412, -54413, -54886: types that were not trusted
    "torch": (2, 10),  # CVE-2026-24747, CVE-2025-32434: weights that run code
}

SLOW = {"dask", "mlflow", "ray"}  # they take as long as all others; ``--extra all`` tries them, too


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


def test_of_every_extra_something_is_opened() -> None:
    assert set(extras()) == set(EXTRAS)
    assert "xgboost-cpu==3.1" in floors(["xgboost"])


def test_a_source_distribution_says_how_to_report_and_to_contribute() -> None:
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert {"SECURITY.md", "CONTRIBUTING.md"} <= set(included)
    assert all((ROOT / name).exists() for name in included)


def test_the_commands_and_every_extra_work_with_the_lowest_versions() -> None:
    wanted = [part for name in extras() if name not in SLOW for part in ("--extra", name)]
    command = [sys.executable, "-m", "benchmarks.floors", *wanted]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode == UNREACHABLE:
        pytest.skip("the package index cannot be reached")
    assert done.returncode == 0, done.stdout + done.stderr
