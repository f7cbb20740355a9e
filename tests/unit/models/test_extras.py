from __future__ import annotations

import io
import sys
import zipfile

import pytest

from isonomia.errors import UsageError
from isonomia.models import load_model
from isonomia.models.files import needed
from raising import raises


def archive(*names: str) -> bytes:
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w") as made:
        for name in names:
            made.writestr(name, "")
    return found.getvalue()


CASES = {
    "onnx": ("m.onnx", b"\x08\x08:\x00", "onnx"),
    "onnxruntime": ("m.onnx", b"\x08\x08:\x00", "onnx"),
    "xgboost": ("m.json", b'{"learner": {}}', "xgboost"),
    "lightgbm": ("m.txt", b"tree\nversion=v4\n", "lightgbm"),
    "skops": ("m.skops", archive("schema.json"), "skops"),
    "torch": ("m.pt", archive("m/constants.pkl", "m/code/m.py"), "torch"),
    "yaml": ("MLmodel", b"flavors: {}", "mlflow"),
}


@pytest.mark.parametrize("package", CASES)
def test_a_missing_package_is_named_with_the_command_that_installs_it(package, tmp_path, monkeypatch):
    name, content, extra = CASES[package]
    (tmp_path / name).write_bytes(content)
    for loaded in [other for other in sys.modules if other.partition(".")[0] == package]:
        monkeypatch.setitem(sys.modules, loaded, None)
    monkeypatch.setitem(sys.modules, package, None)
    with raises(UsageError, package, f"isonomia[{extra}]", cause=ModuleNotFoundError):
        load_model(tmp_path if name == "MLmodel" else tmp_path / name)


def test_what_is_installed_is_imported():
    assert needed("json", "nothing", "this test").loads("3") == 3


def test_a_package_that_lacks_something_itself_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "half_installed.py").write_text("import not_there_at_all")
    monkeypatch.syspath_prepend(tmp_path)
    with raises(ModuleNotFoundError, "not_there_at_all"):
        needed("half_installed", "half", "this test")
