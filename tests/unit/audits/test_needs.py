from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from isonomia.audits.people import narrowed
from isonomia.models import Answer, adapt
from isonomia.models.cache import Cached
from isonomia.models.session import open_session
from isonomia.populations.protocol import Wanted

KNOWN = ("id", "age", "income", "sex")


def estimator(names):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.random((20, len(names))), columns=list(names))
    return LogisticRegression().fit(table, table[names[0]] > 0.5)


@pytest.mark.parametrize(
    ("model", "read"),
    [
        (adapt(len), None),
        (adapt(len, ["age"]), ("age",)),
        (adapt(estimator(["income", "age"])), ("income", "age")),
        (adapt(estimator(["x", "y"]), ["age", "id"]), ("age", "id")),
    ],
)
def test_a_model_says_what_it_reads(model, read):
    assert model.reads == read


def test_what_is_put_around_a_model_reads_what_the_model_reads(tmp_path):
    model = adapt(estimator(["income", "age"]))
    for around in (open_session(model), Cached(model, tmp_path), open_session(Cached(model, tmp_path))):
        assert around.reads == ("income", "age")


def test_a_model_that_somebody_else_wrapped_may_read_more_than_what_is_inside_of_it():
    class WithLimits:
        """Says no to those without an identity, whatever the model inside says."""

        name, score_range, classes = "with limits", None, ()

        def __init__(self):
            self.model = adapt(estimator(["income", "age"]))

        def answer(self, table, *, want_score, want_prediction):
            inner = self.model.answer(table, want_score=want_score, want_prediction=want_prediction)
            return Answer(inner.prediction & (table.column("id") > 0))

        def fingerprint(self):
            return self.model.fingerprint()

    assert open_session(adapt(WithLimits())).reads is None


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_a_booster_says_what_it_reads(library):
    module = pytest.importorskip(library)
    table = pd.DataFrame(np.random.default_rng(0).random((50, 2)), columns=["income", "age"])
    kind = module.XGBClassifier if library == "xgboost" else module.LGBMClassifier
    model = kind(n_estimators=1, n_jobs=1).fit(table, (table["age"] > 0.5).astype(int))
    unnamed = kind(n_estimators=1, n_jobs=1).fit(table.to_numpy(), (table["age"] > 0.5).astype(int))
    assert adapt(model).reads == ("income", "age")
    assert adapt(unnamed).reads is None
    assert adapt(unnamed, ["age", "id"]).reads == ("age", "id")


def test_an_onnx_model_says_what_it_reads():
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from isonomia.models.onnx import open_onnx

    def model(*widths):
        taken = [onnx.helper.make_tensor_value_info(f"in{i}", 1, [None, width]) for i, width in enumerate(widths)]
        given = [onnx.helper.make_tensor_value_info("out", 1, [None, None])]
        node = onnx.helper.make_node("Concat", [entry.name for entry in taken], ["out"], axis=1)
        graph = onnx.helper.make_graph([node], "g", taken, given)
        made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
        return made.SerializeToString()

    assert open_onnx(model(2)).reads is None
    assert open_onnx(model(2), features=["age", "id"]).reads == ("age", "id")
    assert open_onnx(model(1, 1)).reads == ("in0", "in1")
    assert open_onnx(model(2, 1), inputs={"in0": ["id", "age"], "in1": ["age"]}).reads == ("id", "age")


def test_what_neither_property_nor_model_reads_is_left_out():
    model = adapt(len, ["income", "age"])
    assert narrowed(Wanted(), ("sex",), model, KNOWN).columns == ("age", "income", "sex")


def test_where_the_model_does_not_say_everything_is_read():
    assert narrowed(Wanted(), ("sex",), adapt(len), KNOWN).columns is None
    assert narrowed(Wanted(), ("sex",), None, KNOWN).columns is None


def test_a_model_that_lacks_a_column_is_given_everything_so_that_it_can_say_so():
    assert narrowed(Wanted(), ("sex",), adapt(len, ["debt"]), KNOWN).columns is None


def test_what_the_question_narrowed_itself_stays_so():
    assert narrowed(Wanted(("sex",)), ("sex",), adapt(len, ["age"]), KNOWN).columns == ("sex",)
