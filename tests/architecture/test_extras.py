"""Packages that only some models need are imported when such a model is met, and not before."""

from __future__ import annotations

import subprocess
import sys

EXTRAS = {
    "array_api_compat",
    "duckdb",
    "httpx",
    "ibis",
    "joblib",
    "lightgbm",
    "mlflow",
    "onnx",
    "onnxruntime",
    "pyspark",
    "skops",
    "torch",
    "xgboost",
    "yaml",
}


def modules_after(program: str) -> set[str]:
    told = "; import sys; print(' '.join({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", program + told], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_no_extra_is_imported_with_the_package_or_with_its_models() -> None:
    assert not EXTRAS & modules_after("import isonomia")
    assert not EXTRAS & modules_after("import isonomia.models; isonomia.models.load_model; isonomia.models.adapt(len)")


def test_pyarrow_is_imported_only_when_a_file_is_read() -> None:
    program = "import isonomia as iso; assert iso.check('P[x > 1] >= 0.4', None, iso.Census({'x': [1, 2]})).holds"
    assert "pyarrow" not in modules_after(program)


def test_opening_one_kind_of_model_imports_no_other(tmp_path) -> None:
    path = tmp_path / "model.pkl"
    path.write_bytes(b"\x80\x04N.")
    program = (
        "from isonomia.models import load_model\n"
        f"try: load_model({str(path)!r})\n"
        "except Exception as error: assert 'pickle' in str(error)\n"
        "pass"
    )
    assert not EXTRAS & modules_after(program)
