"""Audits in MLflow, in a real tracking store on disk."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import isonomia as iso
from isonomia.cli.app import app
from isonomia.records.evidence import read_evidence
from raising import raises

mlflow = pytest.importorskip("mlflow")
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")

PEOPLE = {"sex": ["F", "M"] * 200, "hired": [1, 0, 0, 1, 1] * 80}
AUDIT = """seed = 1
[population]
census = "people.csv"
[[property]]
name = "women / men: hired"
check = "P[hired == 1 | sex == 'F'] / P[hired == 1 | sex == 'M'] >= 0.8"
[[property]]
name = "most are hired"
check = "P[hired == 1] >= 0.9"
"""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client of a store in a folder."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "runs").as_uri())
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    yield mlflow.tracking.MlflowClient()
    mlflow.set_tracking_uri(None)


def test_a_verdict_is_logged_to_the_active_run(store: Any) -> None:
    verdict = iso.check("P[hired == 1] >= 0.5", population=iso.Census(PEOPLE))
    verdict = replace(verdict, name="enough")
    with mlflow.start_run() as run:
        assert iso.log_to_mlflow(verdict) == run.info.run_id
    data = store.get_run(run.info.run_id).data
    assert data.metrics["isonomia/enough/estimate"] == 0.6
    assert data.metrics["isonomia/enough/holds"] == 1.0
    assert data.metrics["isonomia/enough/samples"] == 400
    assert data.tags["isonomia.answer"] == data.tags["isonomia.enough"] == "holds"
    assert data.tags["isonomia.population"] == verdict.population["fingerprint"]


def test_a_run_of_an_audit_file_is_logged_with_its_report_and_evidence(store: Any, tmp_path: Path) -> None:
    rows = zip(PEOPLE["sex"], PEOPLE["hired"], strict=True)
    Path("people.csv").write_text("sex,hired\n" + "".join(f"{sex},{hired}\n" for sex, hired in rows))
    Path("audit.toml").write_text(AUDIT)
    done = CliRunner().invoke(app, ["run", "audit.toml", "--mlflow", "hiring", "-q"])
    assert done.exit_code == 1, done.output
    experiment = store.get_experiment_by_name("hiring")
    (run,) = store.search_runs([experiment.experiment_id])
    assert f"logged to the MLflow run {run.info.run_id}" in done.output
    assert run.data.tags["isonomia.answer"] == "violated"
    assert run.data.tags["isonomia.women _ men_ hired"] == "holds"
    assert run.data.metrics["isonomia/most are hired/holds"] == 0.0
    assert run.data.metrics["isonomia/most are hired/high"] == 0.6
    names = {item.path for item in store.list_artifacts(run.info.run_id, "isonomia")}
    assert names == {f"isonomia/{name}" for name in ("report.html", "verdicts.json", "evidence.json")}
    folder = Path(store.download_artifacts(run.info.run_id, "isonomia", str(tmp_path)))
    assert read_evidence(folder / "evidence.json").seal_problem is None
    assert len(json.loads((folder / "verdicts.json").read_text())["verdicts"]) == 2
    assert "<title>" in (folder / "report.html").read_text()


def test_names_stay_apart_and_nonsense_is_refused(store: Any) -> None:
    verdict = iso.check("P[hired == 1] >= 0.7", population=iso.Census(PEOPLE))
    run = iso.log_to_mlflow([replace(verdict, name="a/b"), replace(verdict, name="a|b")], experiment="two")
    tags = store.get_run(run).data.tags
    assert {tags["isonomia.a_b"], tags["isonomia.a_b 2"]} == {"violated"}
    with raises(iso.UsageError, name="given"):
        iso.log_to_mlflow([])
