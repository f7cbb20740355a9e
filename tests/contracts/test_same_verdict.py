"""The same audit gives the same verdict, however the same model is stored and run."""

from __future__ import annotations

import contract_files
import joblib
import numpy as np
import pandas as pd
import pytest
from loopback_service import Service
from sklearn.linear_model import LogisticRegression

import isonomia as iso
from isonomia.models import adapt, load_model
from isonomia.models.http import HttpModel

RNG = np.random.default_rng(5)
N = 6000
PEOPLE = pd.DataFrame({"sex": RNG.choice(["F", "M"], N), "income": RNG.normal(3, 1, N), "debt": RNG.normal(1, 1, N)})
X = PEOPLE[["income", "debt"]]
PAID = np.where(PEOPLE["income"] - PEOPLE["debt"] + 0.4 * (PEOPLE["sex"] == "M") > 2, "yes", "no")
MODEL = LogisticRegression().fit(X.to_numpy(), PAID)
FEATURES = ["income", "debt"]


def in_skops(folder):
    skops = pytest.importorskip("skops.io")
    skops.dump(MODEL, folder / "m.skops")
    return load_model(folder / "m.skops", features=FEATURES)


def in_a_pickle(folder):
    joblib.dump(MODEL, folder / "m.joblib")
    return load_model(folder / "m.joblib", features=FEATURES, trust_pickle=True)


def in_onnx(folder):
    pytest.importorskip("onnxruntime")
    types = pytest.importorskip("skl2onnx.common.data_types")
    made = contract_files.as_onnx(MODEL, [("X", types.FloatTensorType([None, 2]))], {id(MODEL): {"zipmap": False}})
    (folder / "m.onnx").write_bytes(made.SerializeToString())
    return load_model(folder / "m.onnx", features=FEATURES)


@pytest.mark.parametrize("stored", [in_skops, in_a_pickle, in_onnx])
@pytest.mark.parametrize(
    "prop",
    [
        "P[prediction == 'yes' | sex == 'F'] / P[prediction == 'yes' | sex == 'M'] >= 0.8",
        "E[score['yes'] | sex == 'F'] - E[score['yes'] | sex == 'M'] <= 0.1",
    ],
)
def test_a_stored_model_gets_the_verdict_of_the_live_one(stored, prop, tmp_path):
    live, other = (
        iso.check(prop, model, iso.Sample(PEOPLE), delta=1e-3, seed=4, features=features)
        for model, features in ((MODEL, FEATURES), (stored(tmp_path), None))
    )
    assert (other.answer, other.samples) == (live.answer, live.samples)
    assert other.answer == "holds"
    np.testing.assert_allclose(other.interval, live.interval, atol=1e-5)


def folder_of_parquet(folder):
    (folder / "people").mkdir()
    for number, start in enumerate(range(0, N, 2500)):
        PEOPLE[start : start + 2500].to_parquet(folder / "people" / f"part-{number}.parquet")
    return folder / "people"


def parquet_file(folder):
    PEOPLE.to_parquet(folder / "people.parquet")
    return folder / "people.parquet"


def polars_frame(_):
    return pytest.importorskip("polars").from_pandas(PEOPLE)


def arrow_table(_):
    return pytest.importorskip("pyarrow").Table.from_pandas(PEOPLE)


def duckdb_relation(folder):
    return pytest.importorskip("duckdb").sql(f"SELECT * FROM '{parquet_file(folder)}'")


TABLES = {
    "pandas": lambda _: PEOPLE,
    "polars": polars_frame,
    "lazy polars": lambda folder: polars_frame(folder).lazy(),
    "pyarrow": arrow_table,
    "Parquet": parquet_file,
    "folder of Parquet": folder_of_parquet,
    "DuckDB": duckdb_relation,
}


@pytest.fixture(scope="module")
def service():
    def answer(request):
        return {"predictions": MODEL.predict(np.array(request["rows"])).tolist()}

    with pytest.MonkeyPatch.context() as patch, Service(answer).running() as running:
        patch.setenv("NO_PROXY", "*")
        yield running


@pytest.fixture(scope="module", params=["scikit-learn", "ONNX", "HTTP"])
def model(request, service, tmp_path_factory):
    match request.param:
        case "scikit-learn":
            yield adapt(MODEL, FEATURES)
        case "ONNX":
            yield in_onnx(tmp_path_factory.mktemp("m"))
        case _:
            found = HttpModel(service.url, request={"rows": "$matrix"}, features=FEATURES)
            yield found
            found.close()


@pytest.mark.parametrize("people", [iso.Sample, iso.Census])
@pytest.mark.parametrize("table", TABLES)
def test_every_table_with_every_model_gets_the_verdict_of_pandas_with_scikit_learn(table, model, people, tmp_path):
    prop = "P[prediction == 'yes' | sex == 'F'] / P[prediction == 'yes' | sex == 'M'] >= 0.8"
    expected = iso.check(prop, MODEL, people(PEOPLE), delta=1e-3, seed=4, features=FEATURES)
    found = iso.check(prop, model, people(TABLES[table](tmp_path)), delta=1e-3, seed=4)
    told = ("answer", "samples", "leaves", "interval", "stopped", "population")
    assert {key: getattr(found, key) for key in told} == {key: getattr(expected, key) for key in told}
    assert found.answer == "holds"
