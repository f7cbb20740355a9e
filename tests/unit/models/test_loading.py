from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from isonomia.errors import ModelError, UsageError
from isonomia.models import load

MODULE = """
def approve(batch):
    return [1] * len(batch)

def make():
    return approve

class Scorer:
    def predict(self, batch):
        return [1] * len(batch)

scorer = Scorer()
number = 3
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "credit_audit_models.py").write_text(MODULE)
    (tmp_path / "broken_audit_model.py").write_text("1 / 0")
    (tmp_path / "importing_audit_model.py").write_text("import no_such_package_anywhere")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("credit_audit_models", None)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("path", ["approve", "scorer", "scorer.predict"])
def test_a_model_is_found_in_the_current_folder(path):
    assert load(f"credit_audit_models:{path}").name in {"approve", "Scorer", "Scorer.predict"}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("credit_audit_models", "expected module:object, such as 'credit:model', but this is"),
        ("credit_audit_models:", "expected module:object"),
        ("credit_audit_model:approve", r"no module 'credit_audit_model' .*Did you mean 'credit_audit_models'\?"),
        ("credit_audit_models.sub:approve", "no module"),
        ("credit_audit_models:aprove", r"'credit_audit_models' has no 'aprove'. Did you mean 'approve'\?"),
        ("credit_audit_models:scorer.predct", r"'Scorer' has no 'predct'. Did you mean 'predict'\?"),
        ("credit_audit_models:number", "credit_audit_models:number: .*but is 3"),
        ("credit_audit_models:make", r"model=make\(\)"),
        ("credit_audit_models:Scorer", "is a class"),
    ],
)
def test_a_wrong_name_is_refused_with_what_to_do(spec, message):
    with pytest.raises(UsageError, match=message):
        load(spec)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("module", ["broken_audit_model", "importing_audit_model"])
def test_a_module_that_raises_is_named_with_its_error(module):
    with pytest.raises(ModelError, match=f"'{module}' raised .*Error while it was imported"):
        load(f"{module}:model")


def test_a_module_that_is_edited_within_the_second_answers_as_it_is_now(tmp_path):
    program = "import isonomia.models.loader as m; print(m.load_object('scoring:LIMIT'))"
    fresh = time.time() + 60  # fresh on a slow machine, too
    for limit in (5, 8):
        (tmp_path / "scoring.py").write_text(f"LIMIT = {limit}\n")
        os.utime(tmp_path / "scoring.py", (fresh, fresh))
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True,
            env={name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
        )  # fmt: skip
        assert done.stdout.strip() == str(limit)
