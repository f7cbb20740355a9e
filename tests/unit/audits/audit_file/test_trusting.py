"""What an audit file may not allow itself: making the types of a skops file that nobody else trusts."""

from __future__ import annotations

import json
from copy import copy
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from typer.testing import CliRunner

from isonomia.audits.audit_file.planner import plan_audit
from isonomia.audits.audit_file.reader import read_audit_file
from isonomia.audits.protocol import Permissions
from isonomia.cli.app import app
from isonomia.errors import SpecError
from raising import raises

skops = pytest.importorskip("skops.io")

AUDIT = """
[model]
load = "model.skops"
options = {{trusted = {types!r}}}

[population]
census = "people.csv"

[[property]]
check = "P[prediction == 1] >= 0.1"
"""


@pytest.fixture
def types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The types of a model in a file, and an audit that trusts them."""
    monkeypatch.chdir(tmp_path)
    ages = np.arange(20.0, 60.0)
    model = make_pipeline(FunctionTransformer(copy), LogisticRegression()).fit(ages[:, None], ages > 40)
    skops.dump(model, "model.skops")
    Path("people.csv").write_text("age,granted\n" + "".join(f"{age},{age > 40:d}\n" for age in ages))
    unknown: list[str] = skops.get_untrusted_types(file="model.skops")
    Path("audit.toml").write_text(AUDIT.format(types=unknown))
    return unknown


def test_types_that_a_file_trusts_are_made_only_where_whoever_runs_it_says_so(types: list[str]) -> None:
    assert types
    file = read_audit_file(Path("audit.toml"))
    with raises(SpecError, "audit.toml", "--trust-pickle", at="options"):
        plan_audit(file, 1, Permissions(allow_code=True))
    (planned,) = plan_audit(file, 1, Permissions(trust_pickle=True))
    assert planned.check.model is not None


def test_a_file_that_trusts_nothing_is_told_at_once_what_to_write_and_to_say(types: list[str]) -> None:
    text = Path("audit.toml").read_text()
    trusting = next(line for line in text.splitlines() if line.startswith("options"))
    Path("audit.toml").write_text(text.replace(trusting + "\n", ""))
    done = CliRunner().invoke(app, ["run", "audit.toml"])
    told = " ".join(str(done.exception).split())
    key = f"options = {{trusted = {json.dumps(types)}}}"
    assert key in told
    assert "--trust-pickle" in told
    Path("audit.toml").write_text(text.replace(trusting, f'features = ["age"]\n{key}'))
    assert CliRunner().invoke(app, ["run", "audit.toml", "--trust-pickle"]).exit_code in {0, 1, 3}


def test_a_draft_that_trusts_types_says_how_it_is_run(types: list[str]) -> None:
    trust = [part for name in types for part in ("--trust", name)]
    done = CliRunner().invoke(app, ["init", "model.skops", "people.csv", *trust, "--features", "age", "-o", "a.toml"])
    assert done.exit_code == 0, done.output
    assert done.output.rstrip().endswith("isonomia run a.toml --trust-pickle")
    assert "isonomia run FILE --trust-pickle" in Path("a.toml").read_text().replace("\n# ", " ")
    with raises(SpecError, "a.toml", "--trust-pickle", at="options"):
        plan_audit(read_audit_file(Path("a.toml")), 1, Permissions())
    assert plan_audit(read_audit_file(Path("a.toml")), 1, Permissions(trust_pickle=True))
