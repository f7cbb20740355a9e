"""Models in files, on the command line: a real process, real files, real exit codes."""

from __future__ import annotations

import os
import pickle
import subprocess
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from warm_start import run_command

PROPERTY = "P[prediction == 1 | sex == 'F'] / P[prediction == 1 | sex == 'M'] >= 0.8"


class Malicious:
    """Unpickling it makes a folder."""

    def __reduce__(self):
        return os.mkdir, ("evil",)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("audit")
    rng = np.random.default_rng(0)
    x = rng.random(3000)
    lines = [f"{sex},{value:.6f}" for sex, value in zip(rng.choice(["F", "M"], 3000), x, strict=True)]
    (path / "people.csv").write_text("\n".join(["sex,x", *lines]) + "\n")
    model = LogisticRegression().fit(x[:, None], (x < 0.5).astype(int))
    (path / "model.pkl").write_bytes(pickle.dumps(model))
    (path / "evil.pkl").write_bytes(pickle.dumps(Malicious()))
    return path


def isonomia(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_command(folder, "check", PROPERTY, "--data", "people.csv", *arguments, "--seed", "1")


def test_a_pickle_is_opened_with_the_flag_only(folder: Path) -> None:
    refused = isonomia(folder, "--model", "model.pkl", "--features", "x")
    assert refused.returncode == 2
    assert "--trust-pickle" in refused.stderr
    opened = isonomia(folder, "--model", "model.pkl", "--features", "x", "--trust-pickle")
    assert opened.returncode == 0
    assert "model: estimator LogisticRegression from pickle model.pkl; takes x; gives 0, 1" in opened.stderr
    assert "HOLDS" in opened.stdout


def test_a_malicious_pickle_is_not_run(folder: Path) -> None:
    assert isonomia(folder, "--model", "evil.pkl").returncode == 2
    assert not (folder / "evil").exists()


def test_a_path_that_is_not_there_is_told_what_is(folder: Path) -> None:
    done = isonomia(folder, "--model", "modle.pkl")
    assert done.returncode == 2
    assert "Did you mean 'model.pkl'?" in done.stderr
