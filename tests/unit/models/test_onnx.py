from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from isonomia.errors import ModelError, UsageError
from isonomia.models import adapt, ask, load_model
from isonomia.models.onnx import open_onnx
from isonomia.populations import Table
from isonomia.populations.table import batch_table
from raising import raises

pytest.importorskip("onnxruntime")
onnx = pytest.importorskip("onnx")
skl2onnx = pytest.importorskip("skl2onnx")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
WORDS = np.array(["hi", "lo", "mid"], dtype=object)[RNG.integers(0, 3, 80)]
TABLE = Table.of({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})


def made(model, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return skl2onnx.to_onnx(model, X[:1].astype(np.float32), options={id(model): options} if options else None)


def content(model, **options):
    return made(model, **options).SerializeToString()


def identity(kind, shape, outputs=("y",)):
    """A graph that gives back what it is given, under each of some names."""
    from onnx import TensorProto, helper

    kinds = {"float": TensorProto.FLOAT, "int": TensorProto.INT64, "text": TensorProto.STRING}
    given = helper.make_tensor_value_info("x", kinds[kind], shape)
    nodes = [helper.make_node("Identity", ["x"], [name]) for name in outputs]
    graph = helper.make_graph(
        nodes, "echo", [given], [helper.make_tensor_value_info(name, kinds[kind], shape) for name in outputs]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()


@pytest.mark.parametrize("labels", [WORDS, np.searchsorted(["hi", "lo", "mid"], WORDS.astype(str)) + 1])
@pytest.mark.parametrize("model", [LogisticRegression(), GaussianNB(), DecisionTreeClassifier(max_depth=2)])
def test_the_classes_are_found_in_the_file(model, labels):
    fitted = model.fit(X, labels)
    found = open_onnx(content(fitted, zipmap=False))
    assert found.classes == tuple(fitted.classes_.tolist())
    np.testing.assert_allclose(ask(found, TABLE, True, False).score, fitted.predict_proba(X), atol=1e-4)


def test_scores_without_known_classes_ask_for_their_names():
    neighbours = KNeighborsClassifier(3).fit(X, WORDS)
    given = content(neighbours, zipmap=False)
    assert ask(open_onnx(given), TABLE, False, True).prediction.tolist() == neighbours.predict(X).tolist()
    with raises(ModelError, 3, "classes=[...]"):
        ask(open_onnx(given), TABLE, True, False)
    named = open_onnx(given, classes=["hi", "lo", "mid"])
    np.testing.assert_allclose(ask(named, TABLE, True, False).score, neighbours.predict_proba(X), atol=1e-5)


def test_raw_scores_are_read_as_such_where_the_user_says_so():
    svm = LinearSVC().fit(X, WORDS)
    found = open_onnx(content(svm), output="values")
    assert found.score_range is None
    scores = ask(found, TABLE, True, True)
    assert scores.prediction.tolist() == svm.predict(X).tolist()
    np.testing.assert_allclose(scores.score, svm.decision_function(X), atol=1e-4)


def test_a_class_that_is_not_among_the_named_ones_is_refused():
    found = open_onnx(content(LogisticRegression().fit(X, WORDS), zipmap=False), classes=["x", "y", "z"])
    with raises(ModelError, ("x", "y", "z")):
        ask(found, TABLE, True, True)


def test_columns_as_outputs_need_a_name():
    given = content(LogisticRegression().fit(X, WORDS), zipmap="columns")
    with raises(UsageError, "output_label", "prediction='...'"):
        open_onnx(given)
    with raises(UsageError, "slow", "output_label", meant="slo"):
        open_onnx(given, score="slow")
    found = open_onnx(given, prediction="output_label", score="slo")
    assert ask(found, TABLE, True, True).score.shape == (80,)


def test_one_input_for_each_column_is_filled_by_name():
    from onnx import TensorProto, helper

    given = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [None, 1]) for n in ("b", "a")]
    graph = helper.make_graph(
        [helper.make_node("Sub", ["b", "a"], ["y"])],
        "difference",
        given,
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 1])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()
    np.testing.assert_allclose(ask(open_onnx(model), TABLE, False, True).prediction, X[:, 1] - X[:, 0], atol=1e-6)
    turned = open_onnx(model, features=["c", "b"])
    np.testing.assert_allclose(ask(turned, TABLE, False, True).prediction, X[:, 2] - X[:, 1], atol=1e-6)
    with raises(ModelError, name="b"):
        ask(open_onnx(model), TABLE.select(["a", "c"]), False, True)


def test_several_matrices_need_to_be_told_apart():
    from onnx import TensorProto, helper

    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])]
    given += [helper.make_tensor_value_info("z", TensorProto.FLOAT, [None, 1])]
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "z"], ["y"])],
        "sum",
        given,
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 2])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()
    with raises(UsageError, 2, 1, "x"):
        ask(open_onnx(model), TABLE, False, True)
    found = open_onnx(model, inputs={"x": ["a", "b"], "z": ["c"]})
    np.testing.assert_allclose(ask(found, TABLE, True, False).score, X[:, :2] + X[:, 2:], atol=1e-6)
    with raises(UsageError, name="inputs"):
        open_onnx(model, inputs={"x": ["a", "b"], "z": ["c"]}, features=["a"])
    with raises(UsageError, name="w"):
        open_onnx(model, inputs={"w": ["a"]})


def test_types_are_checked_and_named():
    words = Table.of({"a": ["F", "M"]})
    assert ask(open_onnx(identity("text", [None, 1])), words, False, True).prediction.tolist() == ["F", "M"]
    with raises(ModelError, "a", "F"):
        ask(open_onnx(identity("float", [None, 1])), words, False, True)
    with raises(ModelError, "a", 0, 1.5, 1):
        ask(open_onnx(identity("int", [None])), Table.of({"a": [1.5]}), False, True)
    with raises(ModelError, name="a"):
        ask(open_onnx(identity("text", [None])), Table.of({"a": [1]}), False, True)


def test_a_batch_of_arrays_goes_into_the_one_input():
    images = RNG.random((5, 2, 2))
    found = open_onnx(identity("float", [None, 4]))
    answer = ask(found, batch_table(images, "image"), True, False)
    np.testing.assert_allclose(answer.score, images.reshape(5, 4), atol=1e-6)
    with raises(ModelError, 3, 5, 2):
        ask(open_onnx(identity("float", [None, 3])), batch_table(images, "image"), True, False)


def test_the_numbers_of_one_output_are_read_as_told():
    plain = open_onnx(identity("float", [None, 3]), output="logits", classes=["p", "q", "r"])
    answer = ask(plain, TABLE, True, True)
    np.testing.assert_allclose(answer.score.sum(axis=1), 1.0)
    assert answer.prediction.tolist() == [["p", "q", "r"][best] for best in X.argmax(axis=1)]


def test_a_file_has_the_fingerprint_of_the_same_model_live_and_another_has_another(tmp_path):
    given = content(LinearRegression().fit(X, X[:, 0]))
    (tmp_path / "m.onnx").write_bytes(given)
    (tmp_path / "renamed.model").write_bytes(given)
    live = open_onnx(given)
    assert load_model(tmp_path / "m.onnx").fingerprint() == load_model(tmp_path / "renamed.model").fingerprint()
    assert load_model(tmp_path / "m.onnx").fingerprint() == live.fingerprint()
    assert open_onnx(content(LinearRegression().fit(X, X[:, 1]))).fingerprint() != live.fingerprint()


@pytest.mark.parametrize("folder", [".", "weights"])
def test_weights_in_files_of_their_own_count_in_the_fingerprint(tmp_path, folder):
    model = made(make_pipeline(LinearRegression()).fit(X, X[:, 0]))
    path = tmp_path / "large.onnx"
    weight = onnx.helper.make_tensor("w", onnx.TensorProto.FLOAT, [1], np.ones(1, "<f4").tobytes(), raw=True)
    model.graph.initializer.append(weight)
    (tmp_path / folder).mkdir(exist_ok=True)
    weights = (Path(folder) / "large.weights").as_posix()
    onnx.save(model, path, save_as_external_data=True, location=weights, size_threshold=0)
    before = load_model(path).fingerprint()
    (tmp_path / "large.onnx.json").write_text("beside it, and no part of it")
    assert load_model(path).fingerprint() == before
    (tmp_path / weights).write_bytes(np.full(1, 2, "<f4").tobytes())
    assert load_model(path).fingerprint() != before


def external(name, **entries):
    """A tensor of one number in a file of its own, its entries in the order given here."""
    tensor = onnx.TensorProto(name=name, data_type=onnx.TensorProto.FLOAT, dims=[1], data_location=1)
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    return tensor


def turned_around(model):
    """The bytes of a model with the two fields of each entry for external data, key and value, in the other order."""
    given = model.SerializeToString()
    for key, value in (("length", "4"), ("location", "w.bin")):
        parts = [bytes([tag, len(text)]) + text.encode() for tag, text in ((0x0A, key), (0x12, value))]
        assert b"".join(parts) in given
        given = given.replace(b"".join(parts), b"".join(reversed(parts)))
    assert onnx.load_model_from_string(given) == model
    return given


def with_weights_in(place):
    """A model that adds a weight from ``w.bin`` to its input, the weight being a tensor of the given place."""
    helper = onnx.helper
    value = lambda name: helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [None, 1])  # noqa: E731
    weight = external("w", length="4", location="w.bin")
    add, functions, initializers = helper.make_node("Add", ["x", "w"], ["y"]), [], []
    domains = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    if place == "graph":
        nodes, initializers = [add], [weight]
    elif place == "attribute":
        nodes = [helper.make_node("Constant", [], ["w"], value=weight), add]
    elif place == "sub-graph":
        then = helper.make_graph([add], "then", [], [value("y")], [weight])
        other = helper.make_graph([helper.make_node("Identity", ["x"], ["z"])], "else", [], [value("z")])
        nodes = [helper.make_node("If", ["always"], ["out"], then_branch=then, else_branch=other)]
        nodes += [helper.make_node("Identity", ["out"], ["y"])]
        initializers = [helper.make_tensor("always", onnx.TensorProto.BOOL, [], [True])]
    else:
        constant = helper.make_node("Constant", [], ["w"], value=weight)
        functions = [helper.make_function("own", "AddWeight", ["x"], ["y"], [constant, add], domains[:1])]
        nodes = [helper.make_node("AddWeight", ["x"], ["y"], domain="own")]
    graph = helper.make_graph(nodes, "graph", [value("x")], [value("y")], initializers)
    return helper.make_model(graph, opset_imports=domains, functions=functions, ir_version=9)


@pytest.mark.parametrize("write", [onnx.ModelProto.SerializeToString, turned_around])
@pytest.mark.parametrize("place", ["graph", "attribute", "sub-graph", "function"])
def test_weights_count_wherever_the_model_names_their_file_and_however_it_is_written(tmp_path, place, write):
    (tmp_path / "m.onnx").write_bytes(write(with_weights_in(place)))
    fingerprints = set()
    for weight in (1.0, 5.0):
        (tmp_path / "w.bin").write_bytes(np.array([weight], "<f4").tobytes())
        model = load_model(tmp_path / "m.onnx", features=["a"])
        np.testing.assert_allclose(ask(model, TABLE, False, True).prediction, X[:, 0] + weight, atol=1e-6)
        fingerprints.add(model.fingerprint())
    assert len(fingerprints) == 2


def test_weights_lie_beside_the_path_that_is_opened_also_where_that_is_a_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "m.onnx").write_bytes(with_weights_in("graph").SerializeToString())
    (tmp_path / "m.onnx").symlink_to(tmp_path / "elsewhere" / "m.onnx")
    fingerprints = set()
    for weight in (1.0, 5.0):
        (tmp_path / "w.bin").write_bytes(np.array([weight], "<f4").tobytes())
        fingerprints.add(load_model(tmp_path / "m.onnx").fingerprint())
    assert len(fingerprints) == 2


def test_a_copy_in_another_process_has_the_same_weights_or_is_refused(tmp_path):
    (tmp_path / "m.onnx").write_bytes(with_weights_in("graph").SerializeToString())
    (tmp_path / "w.bin").write_bytes(np.array([1.0], "<f4").tobytes())
    model = load_model(tmp_path / "m.onnx")
    sent = pickle.dumps(model)
    assert pickle.loads(sent).fingerprint() == model.fingerprint()
    (tmp_path / "w.bin").write_bytes(np.array([5.0], "<f4").tobytes())
    with pytest.raises(ModelError, match="is not the one that was opened before"):
        pickle.loads(sent)


def test_weights_of_a_model_without_a_folder_are_not_looked_for_in_the_current_one(tmp_path, monkeypatch):
    (tmp_path / "w.bin").write_bytes(np.array([1.0], "<f4").tobytes())
    monkeypatch.chdir(tmp_path)
    with raises(ModelError, name="w.bin"):
        adapt(with_weights_in("graph"))


@pytest.mark.parametrize(
    "location", ["/etc/hostname", "../outside.bin", "{folder}/inside/w.bin", "link", "up/outside.bin"]
)
def test_weights_outside_the_folder_of_a_file_are_not_read(tmp_path, location):
    (tmp_path / "outside.bin").write_bytes(bytes(4))
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "w.bin").write_bytes(bytes(4))
    (tmp_path / "inside" / "link").symlink_to("../outside.bin")
    (tmp_path / "inside" / "up").symlink_to("..")
    model = made(make_pipeline(LinearRegression()).fit(X, X[:, 0]))
    model.graph.initializer.append(external("w", location=location.format(folder=tmp_path), length="4"))
    (tmp_path / "inside" / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(ModelError, match="outside its folder, so it was not opened"):
        load_model(tmp_path / "inside" / "m.onnx")


@pytest.mark.parametrize("location", ["*/_ORT_MEM_ADDR_/*", "missing.bin", "", ".", "folder"])
def test_weights_are_files_and_no_address_in_memory(tmp_path, location):
    (tmp_path / "folder").mkdir()
    model = with_weights_in("graph")
    (entry,) = (each for each in model.graph.initializer[0].external_data if each.key == "location")
    entry.value = location
    model.graph.initializer[0].external_data.add(key="offset", value=str(2**40))
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(ModelError, match="but that file does not exist"):
        load_model(tmp_path / "m.onnx")


@pytest.mark.parametrize("place", ["initializer", "constant"])
def test_weights_of_sparse_tensors_are_looked_at_as_well(tmp_path, place):
    (tmp_path / "outside.bin").write_bytes(bytes(4))
    (tmp_path / "inside").mkdir()
    model = with_weights_in("graph")
    del model.graph.initializer[:]
    indices = onnx.helper.make_tensor("", onnx.TensorProto.INT64, [1], [0])
    sparse = onnx.helper.make_sparse_tensor(external("w", location="../outside.bin", length="4"), indices, [1])
    if place == "initializer":
        model.graph.sparse_initializer.append(sparse)
    else:
        model.graph.node.insert(0, onnx.helper.make_node("Constant", [], ["w"], sparse_value=sparse))
    (tmp_path / "inside" / "m.onnx").write_bytes(model.SerializeToString())
    with raises(ModelError, "m.onnx", "../outside.bin"):
        load_model(tmp_path / "inside" / "m.onnx")


def test_a_number_of_rows_that_no_batch_has_is_refused_and_nothing_is_filled_up_to_it():
    with raises(ModelError, 2147483648, 65536):
        open_onnx(identity("float", [2**31, 3]))
    assert open_onnx(identity("float", [65_536, 3])).inputs[0].shape == (65_536, 3)


@pytest.mark.parametrize("dims", [[3, 2**31], [3, 2**62], [2**62, 2**62, 4], [3, -1]])
@pytest.mark.parametrize("given", ["nothing", "bytes", "numbers"])
def test_a_tensor_that_declares_more_than_it_holds_is_refused(dims, given):
    tensor = onnx.TensorProto(name="w", data_type=onnx.TensorProto.FLOAT, dims=dims)
    if given == "bytes":
        tensor.raw_data = bytes(12)
    elif given == "numbers":
        tensor.float_data.extend([1.0, 2.0, 3.0])
    shapes = [onnx.helper.make_tensor_value_info(name, 1, [None, n]) for name, n in (("X", 3), ("Y", None))]
    graph = onnx.helper.make_graph([onnx.helper.make_node("MatMul", ["X", "w"], ["Y"])], "g", *([s] for s in shapes))
    graph.initializer.append(tensor)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)
    with pytest.raises(ModelError):
        open_onnx(model.SerializeToString())


@pytest.mark.parametrize("place", ["initializer", "constant"])
def test_a_sparse_tensor_of_very_many_zeros_is_refused(place):
    model = with_weights_in("graph")
    del model.graph.initializer[:]
    values, indices = (onnx.helper.make_tensor("w", kind, [1], [0]) for kind in (1, onnx.TensorProto.INT64))
    sparse = onnx.helper.make_sparse_tensor(values, indices, [2, 2**29])
    if place == "initializer":
        model.graph.sparse_initializer.append(sparse)
    else:
        model.graph.node.insert(0, onnx.helper.make_node("Constant", [], ["w"], sparse_value=sparse))
    with raises(ModelError, 1073741824):
        open_onnx(model.SerializeToString())


def test_one_number_for_the_whole_batch_is_refused():
    node = onnx.helper.make_node("ReduceMean", ["X"], ["Y"], keepdims=0)
    shapes = [onnx.helper.make_tensor_value_info(name, 1, shape) for name, shape in (("X", [None, 3]), ("Y", []))]
    graph = onnx.helper.make_graph([node], "mean", shapes[:1], shapes[1:])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    with raises(ModelError, "()"):
        ask(adapt(model), Table.of(X), True, False)


def test_a_session_is_refused_with_what_to_pass_instead():
    import onnxruntime

    session = onnxruntime.InferenceSession(identity("float", [None, 3]), providers=["CPUExecutionProvider"])
    with raises(UsageError, name="model"):
        adapt(session)


def test_the_number_of_threads_is_set_and_checked():
    given = identity("float", [None, 3])
    assert open_onnx(given, threads=1).session.content.get_session_options().intra_op_num_threads == 1
    with raises(UsageError, name="threads"):
        open_onnx(given, threads=-1)


def test_a_damaged_file_and_a_wrong_device_are_named(tmp_path):
    (tmp_path / "m.onnx").write_bytes(b"\x08\x08:\x00")
    with pytest.raises(ModelError, match=r"m.onnx is not an ONNX model that onnxruntime .* can run"):
        load_model(tmp_path / "m.onnx")
    (tmp_path / "m.onnx").write_bytes(b"\x08\x08nonsense")
    with pytest.raises(ModelError, match=r"m.onnx is not an ONNX model: "):
        load_model(tmp_path / "m.onnx")
    with raises(UsageError, "toaster", name="device"):
        open_onnx(content(LinearRegression().fit(X, X[:, 0])), device="toaster")
