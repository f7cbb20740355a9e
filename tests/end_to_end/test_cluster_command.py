"""Rows that belong together, at the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from warm_start import run_command

AUDIT = """
seed = 1

[population]
sample = "visits.csv"
cluster = "customer"
max_cluster = 12

[[property]]
name = "rate"
check = "P[hired == 1] >= 0.3"

[[property]]
name = "ratio"
check = "P[hired == 1 | sex == 'F'] >= 0.6 * P[hired == 1 | sex == 'M']"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    rate, lines = rng.beta(1.2, 1.2, 60), []
    for customer in range(60):
        lines += [f"{customer},{rng.choice(['F', 'M'])},{int(rng.random() < rate[customer])}" for _ in range(10)]
    rng.shuffle(lines)
    (tmp_path / "visits.csv").write_text("\n".join(["customer,sex,hired", *lines]) + "\n")
    (tmp_path / "audit.toml").write_text(AUDIT)
    return tmp_path


def test_an_audit_of_clusters_is_run_and_replayed(folder: Path) -> None:
    done = run_command(folder, "run", "audit.toml", "--json", "out.json", "--quiet")
    assert done.returncode == 0, done.stderr
    assert run_command(folder, "export", "-o", "evidence.json").returncode == 0
    verdicts = json.loads((folder / "out.json").read_text())["verdicts"]
    assert [verdict["counted"] for verdict in verdicts] == ["clusters", "clusters"]
    assert all("12 rows, as declared" in " ".join(verdict["assumptions"]) for verdict in verdicts)
    for options in ((), ("--full",)):
        again = run_command(folder, "replay", "evidence.json", *options)
        assert again.returncode == 0, again.stdout + again.stderr


def test_a_check_and_a_table_of_clusters(folder: Path) -> None:
    done = run_command(folder, "check", "P[hired == 1] >= 0.3", "--data", "visits.csv", "--cluster", "customer")
    assert done.returncode == 0, done.stderr
    done = run_command(
        folder, "measure", "--data", "visits.csv", "--decision", "hired", "--by", "sex", "--cluster", "customer"
    )
    assert done.returncode == 0, done.stderr
    done = run_command(
        folder, "check", "P[hired == 1] >= 0.3", "--data", "visits.csv", "--cluster", "customer", "--census"
    )
    assert done.returncode == 2
    done = run_command(folder, "check", "P[hired == 1] >= 0.3", "--data", "visits.csv", "--weigh", "clusters")
    assert done.returncode == 2
