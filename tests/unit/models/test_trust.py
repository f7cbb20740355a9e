"""A pickle runs code, so none is opened, in whatever disguise, unless the user says so."""

from __future__ import annotations

import json
import os
import pickle
import sys
import zipfile
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from isonomia.errors import ModelError, UsageError
from isonomia.models import ask, load_model
from isonomia.populations import Table
from raising import raises

RNG = np.random.default_rng(0)
X = pd.DataFrame({"age": RNG.normal(size=60), "debt": RNG.normal(size=60)})
MODEL = LogisticRegression().fit(X, X["age"] > 0)


class Malicious:
    """What a stranger's pickle may be: making it writes a file."""

    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return os.mkdir, (str(self.target),)


@pytest.fixture
def evil(tmp_path):
    """Where the file of a malicious pickle shows that it was run."""
    return tmp_path / "evil"


def disguises(evil: Path) -> dict[str, bytes]:
    return {
        "model.pkl": pickle.dumps(Malicious(evil)),
        "old.pkl": pickle.dumps(Malicious(evil), protocol=0),
        "model.joblib": pickle.dumps(Malicious(evil), protocol=5),
        "model.onnx": pickle.dumps(Malicious(evil)),
        "model.json": pickle.dumps(Malicious(evil)),
        "model.txt": pickle.dumps(Malicious(evil)),
        "model.skops": pickle.dumps(Malicious(evil)),
        "model": pickle.dumps(Malicious(evil)),
        "no-ending-old": pickle.dumps(Malicious(evil), protocol=0),
    }


@pytest.mark.parametrize("name", disguises(Path("x")))
def test_a_malicious_pickle_is_not_run_without_the_flag(name, tmp_path, evil):
    path = tmp_path / name
    path.write_bytes(disguises(evil)[name])
    with pytest.raises(UsageError, match=r"runs whatever code|not a supported model"):
        load_model(path)
    assert not evil.exists()


def test_the_malicious_pickle_would_have_run_with_the_flag(tmp_path, evil):
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(Malicious(evil)))
    with raises(UsageError, "NoneType", cause=UsageError):
        load_model(path, trust_pickle=True)
    assert evil.exists()


def test_a_malicious_compressed_pickle_is_not_run_without_the_flag(tmp_path, evil):
    joblib.dump(Malicious(evil), tmp_path / "model.joblib.gz")
    with raises(UsageError, "model.joblib.gz", "--trust-pickle"):
        load_model(tmp_path / "model.joblib.gz")
    assert not evil.exists()


def test_a_malicious_pytorch_file_is_not_run_without_the_flag(tmp_path, evil):
    torch = pytest.importorskip("torch")
    torch.save(Malicious(evil), tmp_path / "net.pt")
    with raises(UsageError, "net.pt", name="trust_pickle"):
        load_model(tmp_path / "net.pt")
    assert not evil.exists()


def test_a_malicious_exported_program_is_not_run_without_the_flag(tmp_path, evil):
    with zipfile.ZipFile(tmp_path / "net.pt2", "w") as archive:
        archive.writestr("net/archive_format", "pt2")
        archive.writestr("net/data/sample_inputs/model.pt", pickle.dumps(Malicious(evil)))
    with raises(UsageError, "net.pt2", name="trust_pickle"):
        load_model(tmp_path / "net.pt2")
    assert not evil.exists()


def test_an_mlflow_folder_with_a_pickle_needs_the_flag_just_the_same(tmp_path, evil):
    pytest.importorskip("yaml")
    (tmp_path / "MLmodel").write_text("flavors: {sklearn: {pickled_model: model.pkl}}")
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(Malicious(evil)))
    with raises(UsageError, "model.pkl", name="trust_pickle"):
        load_model(tmp_path)
    assert not evil.exists()


def test_an_mlflow_folder_with_a_loader_of_its_own_needs_the_flag(tmp_path):
    pytest.importorskip("yaml")
    (tmp_path / "MLmodel").write_text("flavors: {python_function: {loader_module: stranger}}")
    with raises(UsageError, "python_function", name="trust_pickle"):
        load_model(tmp_path)


@pytest.mark.parametrize("location", ["../outside.onnx", "{folder}/outside.onnx", "link.onnx", "up/outside.onnx"])
def test_an_mlflow_folder_may_not_name_a_file_outside_itself(tmp_path, location):
    pytest.importorskip("yaml")
    (tmp_path / "outside.onnx").write_bytes(b"")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link.onnx").symlink_to("../outside.onnx")
    (folder / "up").symlink_to("..")
    (folder / "MLmodel").write_text(f"flavors: {{onnx: {{data: {location.format(folder=tmp_path)}}}}}")
    with pytest.raises(ModelError, match="lies outside the folder"):
        load_model(folder)


@pytest.mark.parametrize("flavour", ["sklearn: {pickled_model: ", "onnx: {data: "])
@pytest.mark.parametrize("name", ["model.toml", "model", "model.onnx"])
def test_an_mlflow_folder_may_not_name_a_program_or_its_description_as_its_model(tmp_path, evil, flavour, name):
    pytest.importorskip("yaml")
    described = f'[model]\ncommand = ["mkdir", "{evil}"]\n'
    (tmp_path / name).write_text(described if name.endswith(".toml") else f"#!/bin/sh\nmkdir '{evil}'\n")
    (tmp_path / name).chmod(0o755)
    (tmp_path / "MLmodel").write_text(f"flavors: {{{flavour}{name}}}}}")
    with pytest.raises(ModelError, match="so it was not opened"):
        ask(load_model(tmp_path), Table.of(X), False, True)
    assert not evil.exists()


@pytest.mark.parametrize("name", ["model.onnx", "model.skops", "model.json", "model.pt", "model.PKL"])
def test_a_program_with_the_name_of_a_file_of_data_is_not_run(tmp_path, evil, name):
    (tmp_path / name).write_text(f"#!/bin/sh\nmkdir '{evil}'\n")
    (tmp_path / name).chmod(0o755)
    with pytest.raises(UsageError, match="not a supported model"):
        ask(load_model(tmp_path / name), Table.of(X), False, True)
    assert not evil.exists()


def test_an_mlflow_folder_without_a_flavour_that_is_understood_is_told(tmp_path):
    pytest.importorskip("yaml")
    (tmp_path / "MLmodel").write_text("flavors: {spark: {model_data: sparkml}}")
    with raises(ModelError, "spark", "onnx"):
        load_model(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"), [("flavors: 3", "should be YAML with flavors"), ("[", "should be YAML with flavors")]
)
def test_a_damaged_mlmodel_is_named(tmp_path, text, message):
    pytest.importorskip("yaml")
    (tmp_path / "MLmodel").write_text(text)
    with pytest.raises(ModelError, match=message):
        load_model(tmp_path)


def test_trust_must_be_true_and_nothing_like_it(tmp_path):
    joblib.dump(MODEL, tmp_path / "model.joblib")
    with raises(UsageError, "model.joblib", "no", name="trust_pickle"):
        load_model(tmp_path / "model.joblib", trust_pickle="no")


def _skops_of(content: str, path: Path) -> Path:
    """A skops file that holds a text, which its own check of types lets pass."""
    node = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": json.dumps(content)}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", json.dumps(node | {"is_json": True, "__id__": 1, "protocol": 2}))
    return path


@pytest.fixture
def stranger(tmp_path, evil, monkeypatch):
    """Names of a module and of a program that leave a trace where they run, and an address nothing listens at."""
    (tmp_path / "stranger_module.py").write_text(f"import os\nos.mkdir({str(evil)!r})\nmodel = len\n")
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\nmkdir '{evil}'\n")
    program.chmod(0o755)
    (tmp_path / "service.toml").write_text(f'[model]\ncommand = ["mkdir", "{evil}"]\n')
    monkeypatch.chdir(tmp_path)
    return {
        "module": "stranger_module:model",
        "program": "./program",
        "description": "service.toml",
        "address": "http://localhost:9/score",
    }


@pytest.mark.parametrize("what", ["module", "program", "description", "address"])
def test_a_text_in_a_model_file_is_not_opened_as_a_model(tmp_path, evil, stranger, what):
    text = stranger[what]
    pytest.importorskip("skops")
    folder = tmp_path / "mlflow"
    folder.mkdir()
    (folder / "MLmodel").write_text("flavors: {sklearn: {pickled_model: model.skops}}")
    _skops_of(text, folder / "model.skops")
    for path in (_skops_of(text, tmp_path / "model.skops"), folder):
        with raises(UsageError, "str", cause=UsageError):
            ask(load_model(path), Table.of(X), False, True)
    for content in (text, Path(text)):
        joblib.dump(content, tmp_path / "model.joblib")
        with raises(UsageError, type(content).__name__, str(content), cause=UsageError):
            ask(load_model(tmp_path / "model.joblib", trust_pickle=True), Table.of(X), False, True)
    (tmp_path / "holder.py").write_text(f"model = {text!r}\n")
    with pytest.raises(UsageError):
        ask(load_model("holder:model"), Table.of(X), False, True)
    sys.modules.pop("holder", None)
    assert not evil.exists()


def test_a_bare_function_in_a_skops_file_is_refused(tmp_path):
    skops = pytest.importorskip("skops.io")
    skops.dump(np.sqrt, tmp_path / "model.skops")
    with raises(UsageError, "ufunc", cause=UsageError):
        load_model(tmp_path / "model.skops")
