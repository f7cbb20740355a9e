from __future__ import annotations

import stat
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import isonomia as iso
from isonomia.errors import ModelError, UntrustedTypesError, UsageError
from isonomia.models import adapt, ask, describe, load_model
from isonomia.models.loader import Kind, kind_of
from isonomia.populations import Table
from raising import raises

RNG = np.random.default_rng(0)
X = pd.DataFrame({"age": RNG.normal(size=60), "debt": RNG.normal(size=60)})
MODEL = LogisticRegression().fit(X, X["age"] > 0)


def test_a_stored_estimator_has_the_fingerprint_of_the_live_one(tmp_path):
    joblib.dump(MODEL, tmp_path / "model.joblib")
    stored = load_model(tmp_path / "model.joblib", trust_pickle=True)
    assert stored.fingerprint() == adapt(MODEL).fingerprint()
    assert (
        describe(stored) == "estimator LogisticRegression from pickle model.joblib; takes age, debt; gives False, True"
    )


def test_check_takes_a_path_as_the_model(tmp_path):
    skops = pytest.importorskip("skops.io")
    skops.dump(MODEL, tmp_path / "model.skops")
    prop = "P[prediction == true | age > 0] >= 0.5"
    by_path = iso.check(prop, str(tmp_path / "model.skops"), iso.Census(X), seed=1)
    live = iso.check(prop, MODEL, iso.Census(X), seed=1)
    assert by_path.answer == live.answer == "holds"


def test_opening_a_skops_file_imports_no_other_array_library(tmp_path):
    skops = pytest.importorskip("skops.io")
    skops.dump(MODEL, tmp_path / "model.skops")
    program = (
        "import sys; from isonomia.models import load_model; load_model(sys.argv[1]); "
        "print({name for name in sys.modules if name.split('.')[0] in {'cupy', 'dask', 'torch'}}, "
        "[name for name, module in sys.modules.items() if module is None and 'array_api_compat' in name])"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "model.skops")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "set() []\n"


def test_a_skops_file_with_unknown_types_is_refused_with_their_list(tmp_path):
    skops = pytest.importorskip("skops.io")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    path = tmp_path / "model.skops"
    skops.dump(make_pipeline(FunctionTransformer(_unchanged), LogisticRegression()).fit(X, X["age"] > 0), path)
    unknown = skops.get_untrusted_types(file=path)
    assert unknown
    with raises(UntrustedTypesError, types=tuple(unknown)):
        load_model(path)
    with raises(UsageError, name="trusted"):
        load_model(path, trusted=unknown[0])


def _unchanged(given):
    return given


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.json", b'{"learner": {}}', Kind.XGBOOST),
        ("a.bin", b'{ "version": [3, 0, 0], "learner": {}}', Kind.XGBOOST),
        ("a.ubj", b"{L\0\0\0\0\0\0\0\x07learner{", Kind.XGBOOST),
        ("a.lgb", b"tree\r\nversion=v4\r\n", Kind.LIGHTGBM),
        ("a.json", b'{"people": []}', None),
        ("a.txt", b"", None),
        ("a.zip", b"PK\x03\x04 damaged", None),
        ("service.toml", b"[model]", Kind.SERVICE),
        ("a.model", b"\x08\x08", None),
        ("a.model", b"\x08\x08:\x00", Kind.ONNX),
        ("a.model", b"\x08\x01\x12\x00", None),  # TensorFlow's begin like this
        ("a.onnx", b":\x00\x08\x08", Kind.ONNX),
        ("a.sh", b"#!/bin/sh\n", None),
    ],
)
def test_a_file_is_known_by_what_is_in_it(tmp_path, name, content, kind):
    path = tmp_path / name
    path.write_bytes(content)
    assert kind_of(path) is kind


def test_a_program_is_a_file_that_may_be_run(tmp_path):
    path = tmp_path / "score"
    path.write_bytes(b"#!/bin/sh\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    assert kind_of(path) is Kind.PROGRAM


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("model.keras", "a Keras model: export it to ONNX"),
        ("model.dat", "is not a supported model. Understood are: an ONNX file; a skops file; a pickle or joblib"),
        ("net.safetensors", "weights without a model"),
    ],
)
def test_what_is_not_understood_is_told_what_is(tmp_path, name, message):
    (tmp_path / name).write_bytes(b"something else")
    with pytest.raises(UsageError, match=message):
        load_model(tmp_path / name)


def test_a_folder_without_a_model_and_a_wrong_path_are_told_what_to_do(tmp_path):
    with pytest.raises(UsageError, match="a folder without a file MLmodel"):
        load_model(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"")
    with raises(UsageError, "modle.onnx", meant="model.onnx"):
        load_model(tmp_path / "modle.onnx")


def test_an_option_that_does_not_fit_is_refused_with_those_that_do(tmp_path):
    (tmp_path / "m.json").write_bytes(b'{"learner": {}}')
    with raises(UsageError, name="device"):
        load_model(tmp_path / "m.json", device="cuda")


def test_trust_that_is_not_needed_is_no_harm(tmp_path):
    skops = pytest.importorskip("skops.io")
    skops.dump(MODEL, tmp_path / "model.skops")
    model = load_model(tmp_path / "model.skops", trust_pickle=True)
    assert ask(model, Table.of(X), False, True).prediction.tolist() == MODEL.predict(X).tolist()


def test_a_damaged_pickle_and_a_damaged_skops_file_are_named(tmp_path):
    (tmp_path / "model.pkl").write_bytes(b"\x80\x04nonsense")
    with raises(ModelError, "model.pkl", cause=KeyError):
        load_model(tmp_path / "model.pkl", trust_pickle=True)


@pytest.mark.parametrize("member", ["net/data.pkl", "net/constants.pkl"])
def test_a_damaged_pytorch_file_is_named(tmp_path, member):
    import zipfile

    pytest.importorskip("torch")
    with zipfile.ZipFile(tmp_path / "net.pt", "w") as archive:
        archive.writestr(member, b"nonsense")
        archive.writestr("net/code/nothing.py", "")
    with pytest.raises(ModelError, match=r"net.pt looks like a .*, but could not be opened"):
        load_model(tmp_path / "net.pt", trust_pickle=True)


def test_a_program_a_description_and_an_address_are_handed_to_their_adapters(tmp_path):
    pytest.importorskip("httpx")
    program = tmp_path / "score"
    program.write_text("#!/bin/sh\nread header\nwhile read line; do echo 1; done\n")
    program.chmod(0o755)
    model = load_model(program, features=["age"], timeout=60.0)
    assert ask(model, Table.of(X), False, True).prediction.tolist() == [1] * 60
    (tmp_path / "service.toml").write_text('[model]\nurl = "http://127.0.0.1:9/score"\n')
    for found in (load_model(tmp_path / "service.toml"), load_model("http://127.0.0.1:9/score", retries=0)):
        assert type(found).__name__ == "HttpModel"
        assert found.url == "http://127.0.0.1:9/score"


def test_an_object_of_a_module_is_found_as_before():
    assert load_model("isonomia.models.loader:load_model").name == "load_model"
    with raises(UsageError, "nowhere", "nowhere:model"):
        load_model("nowhere:model")


@pytest.mark.parametrize("source", ["s3://bucket/model.onnx", "models:/credit/1", "file:///tmp/model.onnx"])
def test_an_address_that_is_not_asked_from_here_is_told_with_what_to_do(source):
    with raises(UsageError, "http://", name=source):
        load_model(source)


def test_a_name_longer_than_any_file_may_have_is_no_model():
    with raises(UsageError, "x" * 5000):
        load_model("x" * 5000)


def test_the_scheme_of_an_address_may_be_in_capitals():
    assert load_model("HTTPS://host/score").name == "https://host/score"
