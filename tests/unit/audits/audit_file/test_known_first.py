"""Counterexamples that earlier runs found, and files that changed between a run and its resumption."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from isonomia.audits.audit_file.planner import PlannedCheck, plan_audit
from isonomia.audits.audit_file.reader import AuditFile, read_audit_file
from isonomia.audits.audit_file.runner import Outcome, begin_run, resume_run, run_checks
from isonomia.audits.protocol import Permissions
from isonomia.engine.parameters import NullObserver
from isonomia.errors import RecordError
from isonomia.records.store import Store
from isonomia.records.verdict import Verdict
from raising import raises

MODEL = """
import numpy as np

mended = False


def model(table):
    priors = np.asarray(table["priors"])
    return (priors > 3).astype(int) if mended else ((priors > 3) & (priors != 7)).astype(int)


def draw(n, rng):
    return {"priors": rng.integers(0, 40, n)}
"""
AUDIT = """
seed = 1
[model]
load = "MODULE:model"
[population]
generator = "MODULE:draw"
[[property]]
name = "more priors, no lower class"
nomos = "monotone.nom"
"""
SPECIFICATION = """
input x;
var y := setFeat(x, "priors", getFeat(x, "priors") + 1);
output d1;
output d2;
{
    d1 = predict(x)
    d2 = predict(y)
}
ensures d1 <= d2;
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"known_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text(MODEL)
    (tmp_path / "audit.toml").write_text(AUDIT.replace("MODULE", name))
    (tmp_path / "monotone.nom").write_text(SPECIFICATION)
    monkeypatch.syspath_prepend(tmp_path)
    return name


def _planned(folder: Path) -> tuple[AuditFile, list[PlannedCheck]]:
    file = read_audit_file(folder / "audit.toml")
    return file, plan_audit(file, 1, Permissions())


def _run(folder: Path, *, known_first: bool) -> Verdict:
    store, (file, planned) = Store(folder / ".isonomia"), _planned(folder)

    def run() -> list[Outcome | None]:
        started = begin_run(store, file, planned, 1)
        return run_checks(store, started, planned, lambda _: NullObserver(), lambda *_: None, known_first=known_first)

    (verdict,) = run()
    assert isinstance(verdict, Verdict)
    return verdict


def test_a_counterexample_of_an_earlier_run_is_tried_first_where_that_is_wanted(tmp_path: Path, module: str) -> None:
    first, again = _run(tmp_path, known_first=False), _run(tmp_path, known_first=False)
    assert first.answer == "violated"
    assert again.samples == first.samples, "a run with the same seed is the same run, unless something else is wanted"
    quick = _run(tmp_path, known_first=True)
    assert quick.answer == "violated"
    assert quick.samples < first.samples / 10
    assert "known" in quick.stopped
    sys.modules[module].mended = True  # type: ignore[attr-defined]
    mended = _run(tmp_path, known_first=True)
    assert mended.answer == "holds"
    sys.modules[module].mended = False  # type: ignore[attr-defined]
    assert _run(tmp_path, known_first=True).samples == first.samples, "what no longer violates is forgotten"


def test_a_run_is_not_gone_on_with_where_a_file_that_it_names_has_changed(tmp_path: Path, module: str) -> None:
    del module
    store, (file, planned) = Store(tmp_path / ".isonomia"), _planned(tmp_path)
    begin_run(store, file, planned, 1)
    resume_run(store, file, store.run(), planned)
    (tmp_path / "monotone.nom").write_text(SPECIFICATION.replace("d1 <= d2", "d1 == d2"))
    changed, others = _planned(tmp_path)
    with raises(RecordError, "monotone.nom"):
        resume_run(store, changed, store.run(), others)
    assert all(check.verdict is None for check in store.checks(store.run().id))
