"""A run of every kind of property, and its evidence."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from isonomia.audits.audit_file.planner import plan_audit
from isonomia.audits.audit_file.reader import read_audit_file
from isonomia.audits.audit_file.runner import begin_run, run_checks
from isonomia.audits.protocol import Permissions
from isonomia.engine.parameters import NullObserver
from isonomia.records.evidence import EvidenceFile, evidence_of
from isonomia.records.store import Store

sys.path.insert(0, str(Path(__file__).parents[3] / "contracts"))  # the cases of the contract

MODULE = """
import numpy as np

def model(table):
    points, priors = np.asarray(table["points"]), np.asarray(table["priors"])
    return ((points > 0.4) & (priors < 4)).astype(int)

def changed(table):
    return 1 - model(table)
"""
AUDIT = """
title = "Hiring"
seed = 7
delta = 0.2

[model]
load = "{module}:model"

[population]
sample = "people.csv"

[populations.all]
census = "people.csv"

[interventions]
changes = "changes.toml"

[[property]]
name = "a rate"
check = "P[prediction == 1 | sex == 'F'] >= 0.1"

[[property]]
name = "a census"
population = "all"
fairness = "demographic_parity"
with = {{attribute = "sex", minority = "F", majority = "M", ratio = 0.5}}

[[property]]
name = "strata"
principal = true
population = "all"
with = {{attribute = "sex", outcome = "passed", within = 0.5}}

[[property]]
name = "a relation"
nomos = "priors.nom"
population = "all"

[[property]]
name = "shares"
responsiveness = "share"
population = "all"
with = {{interventions = "changes", target = 1, at_least = 0.9, who = "prediction == 0 and points > 0.96"}}
"""
NOMOS = """
input x1;
var v1 := getFeat(x1, "priors");
var x2 := setFeat(x1, "priors", v1 + 1);
requires v1 <= 4;
output d1;
output d2;
{
    d1 = predict(x1)
    d2 = predict(x2)
}
ensures d1 <= d2;
"""
CHANGES = """
[features.points]
kind = "real"
low = 0.0
high = 1.0

[features.priors]
kind = "integer"
low = 0
high = 5
direction = "down"
"""


@dataclass(frozen=True)
class Run:
    """A run: its folder, the module with its model, its store, and its evidence."""

    folder: Path
    module: str
    store: Store
    evidence: EvidenceFile


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder, module = tmp_path_factory.mktemp("evidence"), "hiring_for_evidence"
    rng, n = np.random.default_rng(5), 300
    rows = zip(
        rng.choice(["F", "M"], n), rng.random(n).round(4), rng.integers(0, 6, n), rng.integers(0, 2, n), strict=True
    )
    lines = ["sex,points,priors,passed", *(",".join(map(str, row)) for row in rows)]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    (folder / f"{module}.py").write_text(MODULE)
    (folder / "priors.nom").write_text(NOMOS)
    (folder / "changes.toml").write_text(CHANGES)
    (folder / "audit.toml").write_text(AUDIT.format(module=module))
    sys.path.insert(0, str(folder))
    try:
        file, store = read_audit_file(folder / "audit.toml"), Store(folder / ".isonomia")
        planned = plan_audit(file, 7, Permissions())
        run_checks(store, begin_run(store, file, planned, 7), planned, lambda _: NullObserver(), lambda *_: None)
        yield Run(folder, module, store, evidence_of(store))
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop(module, None)
