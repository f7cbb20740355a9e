"""Models in files of ONNX, skops and MLflow, each made by the library that people make them with."""

from __future__ import annotations

import warnings
from functools import cache

from contract_cases import LINE, LOGISTIC, PIPELINE, UNNAMED, Case, classified
from contract_people import CODED, FEATURES, FRAME, LABELS, NUMBERS

from isonomia.models import adapt, load_model

ONNX = ("onnxruntime", "skl2onnx")
SINGLE = 1e-5
# MLflow keeps an estimator of LightGBM in a skops file.
LIGHTGBM_TYPES = ["collections.OrderedDict", "lightgbm.basic.Booster", "lightgbm.sklearn.LGBMClassifier"]


def as_onnx(model, types, options=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from skl2onnx import convert_sklearn

        return convert_sklearn(model, initial_types=types, options=options)


def onnx_file(model, rows=None, **options):
    def make(folder):
        from skl2onnx.common.data_types import FloatTensorType

        made = as_onnx(model, [("X", FloatTensorType([rows, 2]))], {id(model): options} if options else None)
        (folder / "model.onnx").write_bytes(made.SerializeToString())
        return load_model(folder / "model.onnx", features=FEATURES)

    return make


def onnx_of_columns(folder):
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType

    one = {"sex": StringTensorType, "debt": FloatTensorType, "age": FloatTensorType}
    made = as_onnx(PIPELINE, [(name, kind([None, 1])) for name, kind in one.items()], {id(PIPELINE): {"zipmap": False}})
    (folder / "columns.onnx").write_bytes(made.SerializeToString())
    return load_model(folder / "columns.onnx")


def onnx_live(_):
    from skl2onnx.common.data_types import FloatTensorType

    return adapt(as_onnx(UNNAMED, [("X", FloatTensorType([None, 2]))], {id(UNNAMED): {"zipmap": False}}), FEATURES)


def skops_file(folder):
    import skops.io

    skops.io.dump(PIPELINE, folder / "pipeline.skops")
    return load_model(folder / "pipeline.skops")


def mlflow_folder(library, model, frame=None, **load):
    def make(folder):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from importlib import import_module

            from mlflow.models import infer_signature

            saved = model() if callable(model) else model
            signature = None if frame is None else infer_signature(frame, LABELS)
            module = import_module(f"mlflow.{library}")
            module.save_model(saved, folder / library, signature=signature, pip_requirements=["numpy"])
        return load_model(folder / library, **load)

    return make


def onnx_to_save():
    from skl2onnx.common.data_types import FloatTensorType

    return as_onnx(UNNAMED, [("X", FloatTensorType([None, 2]))], {id(UNNAMED): {"zipmap": False}})


def xgboost_to_save():
    import xgboost

    return xgboost.XGBClassifier(n_estimators=3, n_jobs=1).fit(NUMBERS, CODED)


@cache
def lightgbm_to_save():
    import lightgbm

    return lightgbm.LGBMClassifier(n_estimators=3, n_jobs=1, verbose=-1).fit(NUMBERS, CODED)


def of_lightgbm():
    model = lightgbm_to_save()
    return model.predict(NUMBERS), model.predict_proba(NUMBERS)


@cache
def of_xgboost():
    model = xgboost_to_save()
    return model.predict(NUMBERS), model.predict_proba(NUMBERS)


def labels_only():
    return PIPELINE.predict(FRAME), None


UNNAMED_ANSWERS = classified(UNNAMED, NUMBERS.to_numpy())
CASES = {
    "ONNX, a matrix": Case(onnx_file(UNNAMED, zipmap=False), True, UNNAMED_ANSWERS, SINGLE, ONNX),
    "ONNX, a matrix, with ZipMap": Case(onnx_file(UNNAMED), True, UNNAMED_ANSWERS, SINGLE, ONNX),
    "ONNX, one row at a time": Case(onnx_file(UNNAMED, 1, zipmap=False), True, UNNAMED_ANSWERS, SINGLE, ONNX),
    "ONNX, seven rows at a time": Case(onnx_file(UNNAMED, 7, zipmap=False), True, UNNAMED_ANSWERS, SINGLE, ONNX),
    "ONNX, a tensor for each column": Case(onnx_of_columns, True, classified(PIPELINE, FRAME), SINGLE, ONNX),
    "ONNX, regression": Case(onnx_file(LINE), True, lambda: (LINE.predict(NUMBERS), LINE.predict(NUMBERS)), 1e-4, ONNX),
    "ONNX, live": Case(onnx_live, True, UNNAMED_ANSWERS, SINGLE, ONNX),
    "skops": Case(skops_file, True, classified(PIPELINE, FRAME), needs=("skops",)),
    "MLflow, scikit-learn": Case(
        mlflow_folder("sklearn", LOGISTIC, trust_pickle=True),
        True,
        classified(LOGISTIC, NUMBERS),
        needs=("mlflow", "skops"),
    ),
    "MLflow, ONNX": Case(
        mlflow_folder("onnx", onnx_to_save, features=FEATURES), True, UNNAMED_ANSWERS, SINGLE, ("mlflow", *ONNX)
    ),
    "MLflow, XGBoost": Case(
        mlflow_folder("xgboost", xgboost_to_save), True, of_xgboost, 1e-7, needs=("mlflow", "xgboost")
    ),
    "MLflow, LightGBM": Case(
        mlflow_folder("lightgbm", lightgbm_to_save, trusted=LIGHTGBM_TYPES),
        True,
        of_lightgbm,
        1e-7,
        needs=("mlflow", "lightgbm", "skops"),
    ),
    "MLflow, a Python function": Case(
        mlflow_folder("sklearn", PIPELINE, FRAME, trust_pickle=True, flavour="python_function"),
        False,
        labels_only,
        needs=("mlflow", "pandas"),
    ),
}
