from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from isonomia.errors import ModelError
from isonomia.models import adapt, ask, describe, load_model
from isonomia.populations import Table
from raising import raises

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "sex": RNG.choice(["F", "M", "X"], 200).astype(object),
        "monthly debt": RNG.normal(size=200),
        "age": RNG.integers(18, 80, 200),
    }
)
TABLE = Table.of(FRAME)
NUMBERS = FRAME[["monthly debt", "age"]]
SCORE = (FRAME["sex"] == "M").astype(float) + FRAME["monthly debt"] + RNG.normal(size=200) / 2
YES = (SCORE > 0).astype(int).to_numpy()
THREE = np.digitize(SCORE, [-0.5, 1.0])


def estimator(library, kind, **options):
    module = pytest.importorskip(library)
    if library == "xgboost":
        return getattr(module, f"XGB{kind}")(n_estimators=6, n_jobs=1, **options)
    return getattr(module, f"LGBM{kind}")(n_estimators=6, n_jobs=1, verbose=-1, **options)


def stored(model, folder):
    path = folder / "model.json"  # for LightGBM too: its content decides
    (model.booster_ if hasattr(model, "booster_") else model).save_model(path)
    return path


@pytest.fixture(params=["xgboost", "lightgbm"])
def library(request):
    pytest.importorskip(request.param)
    return request.param


@pytest.mark.parametrize(("kind", "labels"), [("Classifier", YES), ("Classifier", THREE), ("Regressor", SCORE)])
def test_a_file_gives_the_answers_and_the_fingerprint_of_the_live_model(library, kind, labels, tmp_path):
    model = estimator(library, kind).fit(NUMBERS, labels)
    live, from_file = adapt(model), load_model(stored(model, tmp_path))
    assert from_file.fingerprint() == live.fingerprint()
    expected = model.predict_proba(NUMBERS) if kind == "Classifier" else model.predict(NUMBERS)
    for found in (live, from_file):
        answer = ask(found, TABLE, True, True)
        np.testing.assert_allclose(answer.score, expected, atol=1e-6)
        np.testing.assert_allclose(answer.prediction, model.predict(NUMBERS), atol=1e-6)


def test_another_model_has_another_fingerprint(library):
    one, other = (adapt(estimator(library, "Classifier").fit(NUMBERS, labels)) for labels in (YES, 1 - YES))
    assert one.fingerprint() != other.fingerprint()


def test_early_stopping_is_honoured_as_the_estimator_does(library, tmp_path):
    options = {"early_stopping_rounds": 1} if library == "xgboost" else {"early_stopping_round": 1}
    model = estimator(library, "Classifier", **options)
    # Judged by the wrong answers, every round makes it worse, so the first is the best.
    wrong = (
        {"eval_set": [(NUMBERS, 1 - YES)], "verbose": False}
        if library == "xgboost"
        else {"eval_X": NUMBERS, "eval_y": 1 - YES}
    )
    model.fit(NUMBERS, YES, **wrong)
    expected = model.predict_proba(NUMBERS)
    for found in (adapt(model), load_model(stored(model, tmp_path))):
        np.testing.assert_allclose(ask(found, TABLE, True, False).score, expected, atol=1e-6)


@pytest.mark.parametrize("make", [lambda frame: frame, dict, lambda frame: frame.to_dict("records")])
def test_categories_are_given_as_they_were_fitted_whatever_holds_them(library, make):
    fitted = FRAME.assign(sex=pd.Categorical(FRAME["sex"], categories=["X", "M", "F"]))
    options = {"enable_categorical": True} if library == "xgboost" else {}
    model = estimator(library, "Classifier", **options).fit(fitted, YES)
    answer = ask(adapt(model), Table.of(make(FRAME)), True, False)
    np.testing.assert_allclose(answer.score, model.predict_proba(fitted), atol=1e-6)


def test_a_missing_category_is_answered_as_the_library_answers(library):
    fitted = FRAME.assign(sex=pd.Categorical(FRAME["sex"]))
    options = {"enable_categorical": True} if library == "xgboost" else {}
    model = estimator(library, "Classifier", **options).fit(fitted, YES)
    holes = FRAME.assign(sex=pd.Categorical([None] * 100 + ["M"] * 100, categories=["F", "M", "X"]))
    answer = ask(adapt(model), Table.of(holes), True, False)
    np.testing.assert_allclose(answer.score, model.predict_proba(holes), atol=1e-6)


def test_a_new_category_is_missing_for_lightgbm_and_refused_by_name_as_xgboost_refuses_it(library):
    fitted = FRAME.assign(sex=pd.Categorical(FRAME["sex"]))
    options = {"enable_categorical": True} if library == "xgboost" else {}
    model = estimator(library, "Classifier", **options).fit(fitted, YES)
    new = FRAME.assign(sex=pd.Categorical(["new"] * 200))
    if library == "xgboost":
        with raises(ModelError, "sex", "new", 200):
            ask(adapt(model), Table.of(new), True, False)
        return
    answer = ask(adapt(model), Table.of(new), True, False)
    np.testing.assert_allclose(answer.score, model.predict_proba(new), atol=1e-6)


def test_text_where_numbers_are_expected_is_named(library):
    model = estimator(library, "Classifier").fit(NUMBERS, YES)
    with raises(ModelError, "age", "old"):
        ask(adapt(model), Table.of(FRAME.assign(age="old")), False, True)


def test_a_missing_column_is_named_with_the_nearest_one(library):
    model = estimator(library, "Classifier").fit(NUMBERS, YES)
    with raises(ModelError, "age", meant="ages"):
        ask(adapt(model), Table.of(FRAME.rename(columns={"age": "ages"})), False, True)


def test_without_names_columns_go_by_number_or_by_features(library):
    model = estimator(library, "Classifier").fit(NUMBERS.to_numpy(), YES)
    named = ask(adapt(model, ["monthly debt", "age"]), TABLE, True, False)
    np.testing.assert_allclose(named.score, model.predict_proba(NUMBERS.to_numpy()), atol=1e-6)
    with raises(ModelError, 2, 3, "monthly debt", "age"):
        ask(adapt(model), TABLE, True, False)


def test_what_was_found_is_told(library, tmp_path):
    model = estimator(library, "Classifier").fit(FRAME[["age"]], YES)
    path = tmp_path / "credit.json"
    (model.booster_ if library == "lightgbm" else model).save_model(path)
    told = describe(load_model(path, classes=["no", "yes"]))
    assert told in {
        "XGBoost model credit.json (binary:logistic): takes age; gives no, yes",
        "LightGBM model credit.json (binary): takes age; gives no, yes",
    }


@pytest.mark.parametrize("objective", ["binary:logitraw", "binary:hinge", "multi:softmax", "rank:pairwise"])
def test_each_objective_of_xgboost_is_read_as_what_it_is(objective):
    xgboost = pytest.importorskip("xgboost")
    labels = THREE if objective.startswith("multi") else YES
    parameters = {"objective": objective, "nthread": 1} | ({"num_class": 3} if objective.startswith("multi") else {})
    booster = xgboost.train(parameters, xgboost.DMatrix(NUMBERS, labels), 3)
    raw = booster.predict(xgboost.DMatrix(NUMBERS))
    answer = ask(adapt(booster), TABLE, False, True)
    expected = {"binary:logitraw": (raw > 0).astype(int), "rank:pairwise": raw.astype(float)}
    np.testing.assert_allclose(answer.prediction, expected.get(objective, raw.astype(int)), atol=1e-6)


def test_a_linear_booster_is_asked_too():
    model = estimator("xgboost", "Classifier", booster="gblinear").fit(NUMBERS, YES)
    np.testing.assert_allclose(ask(adapt(model), TABLE, True, False).score, model.predict_proba(NUMBERS), atol=1e-6)


def test_one_against_all_claims_no_probabilities():
    model = estimator("lightgbm", "Classifier", objective="multiclassova").fit(NUMBERS, THREE)
    found = adapt(model)
    assert found.score_range is None
    answer = ask(found, TABLE, True, True)
    np.testing.assert_allclose(answer.score, model.predict_proba(NUMBERS), atol=1e-9)
    assert answer.prediction.tolist() == model.predict(NUMBERS).tolist()


@pytest.mark.parametrize(("name", "content"), [("m.json", b'{"learner": {}}'), ("m.txt", b"tree\nversion=v4\n")])
def test_a_damaged_file_is_named(name, content, tmp_path):
    pytest.importorskip("xgboost" if name == "m.json" else "lightgbm")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ModelError, match=f"{name} is not a file that .* wrote, so it was not opened"):
        load_model(tmp_path / name)


def test_a_number_that_stands_for_a_missing_value_does_so_here_too(tmp_path):
    frame = NUMBERS.assign(age=np.where(RNG.random(200) < 0.4, -999.0, NUMBERS["age"]))
    model = estimator("xgboost", "Classifier", missing=-999.0).fit(frame, YES)
    live = adapt(model)
    np.testing.assert_allclose(ask(live, Table.of(frame), True, False).score, model.predict_proba(frame), atol=1e-6)
    path = stored(model, tmp_path)
    # The file does not hold it, so it has to be said.
    told = load_model(path, missing=-999.0)
    np.testing.assert_allclose(ask(told, Table.of(frame), True, False).score, model.predict_proba(frame), atol=1e-6)
    assert told.fingerprint() == live.fingerprint() != load_model(path).fingerprint()


@pytest.mark.parametrize(
    ("name", "objective"), [("xgboost", "reg:logistic"), ("lightgbm", "cross_entropy"), ("lightgbm", "binary")]
)
def test_a_classifier_with_another_objective_predicts_its_classes_all_the_same(name, objective):
    model = estimator(name, "Classifier", objective=objective).fit(NUMBERS, YES)
    answer = ask(adapt(model), TABLE, True, True)
    assert answer.prediction.tolist() == model.predict(NUMBERS).tolist()
    np.testing.assert_allclose(answer.score, model.predict_proba(NUMBERS), atol=1e-6)


def test_several_numbers_a_row_that_are_no_classes_are_refused_with_what_to_do():
    model = estimator("xgboost", "Regressor").fit(NUMBERS, NUMBERS)
    with raises(ModelError, 2, "output='probabilities'"):
        ask(adapt(model), TABLE, True, True)


def test_a_file_of_xgboost_that_is_nested_too_deep_is_an_error_and_not_the_end_of_python(tmp_path):
    pytest.importorskip("xgboost")
    path = tmp_path / "m.json"
    path.write_bytes(b'{"learner":' + b"[" * 100_000)
    with raises(ModelError, "RecursionError", cause=RecursionError):
        load_model(path)


def _at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


MODEL = ("learner", "gradient_booster", "model")
TREE = (*MODEL, "trees", 0)


@pytest.mark.parametrize(
    ("path", "key", "value"),
    [
        (("learner", "learner_model_param"), "num_class", "2147483647"),
        (("learner", "learner_model_param"), "num_target", "2147483647"),
        (("learner", "learner_model_param"), "num_feature", "2147483647"),
        ((*TREE, "tree_param"), "num_nodes", "2147483647"),
        ((*TREE, "tree_param"), "size_leaf_vector", "2147483647"),
        ((*TREE, "left_children"), 0, 0),
        ((*TREE, "left_children"), 0, 10_000),
        ((*TREE, "right_children"), 0, 1),
        ((*TREE, "split_indices"), 0, 10_000),
        ((*TREE, "parents"), 1, 1),
        (TREE, "split_conditions", []),
        (TREE, "loss_changes", []),
        (TREE, "sum_hessian", []),
        (TREE, "categories_nodes", [0]),
        (TREE, "id", 1),
        ((*MODEL, "cats"), "sorted_idx", [0, 99]),
        ((*MODEL, "tree_info"), 0, 7),
        ((*MODEL, "iteration_indptr"), -1, 99),
        ((*MODEL, "gbtree_model_param"), "num_trees", "2147483647"),
    ],
)
def test_sizes_and_indices_that_do_not_fit_never_reach_xgboost(tmp_path, monkeypatch, path, key, value):
    model = estimator("xgboost", "Classifier", max_depth=2).fit(NUMBERS, YES)
    model.save_model(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    _at(content, path)[key] = value
    (tmp_path / "m.json").write_text(json.dumps(content))
    monkeypatch.setattr("xgboost.Booster.load_model", lambda *_: pytest.fail("it was opened"))
    with pytest.raises(ModelError, match="so it was not opened"):
        load_model(tmp_path / "m.json")


def test_a_binary_file_of_xgboost_is_checked_in_the_same_way(tmp_path, monkeypatch):
    model = estimator("xgboost", "Classifier", max_depth=2).fit(NUMBERS, YES)
    model.save_model(tmp_path / "m.ubj")
    content = (tmp_path / "m.ubj").read_bytes()
    name = b"num_classSL" + bytes(7) + b"\x01"
    at = content.index(name)
    monkeypatch.setattr("xgboost.Booster.load_model", lambda *_: pytest.fail("it was opened"))
    large = content[:at] + name[:-1] + b"\x0a2147483647" + content[at + len(name) + 1 :]
    bombs = (
        large,
        content[:-1],
        content[: len(content) // 2],
        b"{L" + bytes(7) + b"\x07learner" + b"[" * 100_000,
        b"{L" + bytes(7) + b"\x07learner[$d#L\x7f" + b"\xff" * 7,
    )
    for bomb in bombs:
        (tmp_path / "m.ubj").write_bytes(bomb)
        with pytest.raises(ModelError, match="so it was not opened"):
            load_model(tmp_path / "m.ubj")


@pytest.mark.parametrize("offset", [2**31 - 1, -1, 0])
def test_categories_that_lie_outside_of_their_text_never_reach_xgboost(tmp_path, offset):
    pytest.importorskip("xgboost", minversion="3.1")
    frame = FRAME.assign(sex=FRAME["sex"].astype("category"))
    model = estimator("xgboost", "Classifier", enable_categorical=True).fit(frame, YES)
    model.save_model(tmp_path / "m.json")
    load_model(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    texts = next(each for each in _at(content, MODEL)["cats"]["enc"] if "offsets" in each)
    texts["offsets"][-1] = offset
    (tmp_path / "m.json").write_text(json.dumps(content))
    with pytest.raises(ModelError, match="categories"):
        load_model(tmp_path / "m.json")


def test_a_key_that_occurs_twice_is_refused(tmp_path):
    pytest.importorskip("xgboost")
    (tmp_path / "m.json").write_text('{"learner": {}, "learner": {}}')
    with pytest.raises(ModelError, match="twice"):
        load_model(tmp_path / "m.json")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"^left_child=\S+", "left_child=0"),
        (r"^left_child=\S+", "left_child=9999"),
        (r"^right_child=\S+", "right_child=-9999"),
        (r"^num_leaves=.*", "num_leaves=2147483647"),
        (r"^num_leaves=.*", "num_leaves=0"),
        (r"^split_feature=\S+", "split_feature=9999"),
        (r"^threshold=.*", "threshold="),
        (r"^num_cat=.*", "num_cat=1"),
        (r"^num_class=.*", "num_class=2147483647"),
        (r"^num_tree_per_iteration=.*", "num_tree_per_iteration=0"),
        (r"^max_feature_idx=.*", "max_feature_idx=2147483647"),
        (r"^num_leaves=", "num_leaves=2\nnum_leaves="),
        (r"(?s)^Tree=1\n.*", ""),
        (r"(?s)^Tree=1\n.*(?=^end of trees)", ""),
        (r"(?s)^tree_sizes=.*", "tree_sizes=5"),
        (r"(?s)^\[boosting: .*", "[boos"),
        (r"^\[boosting: .*", "end of trees"),
    ],
)
def test_sizes_and_indices_that_do_not_fit_never_reach_lightgbm(tmp_path, monkeypatch, pattern, text):
    model = estimator("lightgbm", "Classifier", num_leaves=4).fit(NUMBERS, YES)
    path = tmp_path / "m.txt"
    model.booster_.save_model(path)
    path.write_text(re.sub(pattern, text, path.read_text(), count=1, flags=re.MULTILINE))
    monkeypatch.setattr("lightgbm.Booster.__init__", lambda *_, **__: pytest.fail("it was opened"))
    with pytest.raises(ModelError, match="so it was not opened"):
        load_model(path)


@pytest.mark.parametrize("key", ["num_features", "leaf_const", "leaf_coeff", "leaf_features"])
def test_linear_leaves_that_do_not_fit_never_reach_lightgbm(tmp_path, monkeypatch, key):
    options = {"num_leaves": 4, "linear_tree": True}
    model = estimator("lightgbm", "Regressor", **options).fit(NUMBERS.to_numpy(float), np.asarray(SCORE, float))
    path = tmp_path / "m.txt"
    model.booster_.save_model(path)
    load_model(path)
    path.write_text(re.sub(rf"^{key}=\s*\S+", f"{key}=-1", path.read_text(), count=1, flags=re.MULTILINE))
    if key in {"leaf_const", "leaf_coeff"}:
        path.write_text(re.sub(rf"^{key}=.*", f"{key}=", path.read_text(), flags=re.MULTILINE))
    monkeypatch.setattr("lightgbm.Booster.__init__", lambda *_, **__: pytest.fail("it was opened"))
    with pytest.raises(ModelError, match="so it was not opened"):
        load_model(path)


def test_a_wrong_size_of_a_lightgbm_tree_in_bytes_does_no_harm(tmp_path):
    model = estimator("lightgbm", "Classifier", num_leaves=4).fit(NUMBERS, YES)
    path = tmp_path / "m.txt"
    model.booster_.save_model(path)
    path.write_text(re.sub(r"^tree_sizes=\d+", "tree_sizes=3", path.read_text(), count=1, flags=re.MULTILINE))
    assert ask(load_model(path), Table.of(NUMBERS), True, False).score.shape == (200, 2)


@pytest.mark.parametrize("options", [{"booster": "gblinear"}, {"booster": "dart", "rate_drop": 0.5}, {}])
@pytest.mark.parametrize("form", ["json", "ubj"])
def test_files_of_every_kind_of_booster_pass_the_check(tmp_path, options, form):
    model = estimator("xgboost", "Classifier", **options).fit(NUMBERS, THREE)
    model.save_model(tmp_path / f"m.{form}")
    answer = ask(load_model(tmp_path / f"m.{form}"), Table.of(NUMBERS), True, False)
    np.testing.assert_allclose(answer.score, model.predict_proba(NUMBERS), atol=1e-6)
