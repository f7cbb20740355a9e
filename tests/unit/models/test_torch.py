from __future__ import annotations

import warnings
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from isonomia.errors import ModelError, UsageError
from isonomia.models import adapt, ask, load_model
from isonomia.models.torch import _file_operator, torch_model
from isonomia.populations import Table
from isonomia.populations.table import batch_table
from raising import raises

torch = pytest.importorskip("torch")

X = np.random.default_rng(0).normal(size=(40, 2))
TABLE = Table.of({"a": X[:, 0], "b": X[:, 1]})


def line(weights, bias=0.0, **options):
    layer = torch.nn.Linear(2, len(weights), **options)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(weights))
        layer.bias.fill_(bias)
    return layer


def scores(module, **options):
    return ask(torch_model(module, **options), TABLE, True, False).score


def test_a_module_is_asked_in_evaluation_mode_and_left_as_it_was():
    net = torch.nn.Sequential(line([[1.0, 1.0]]), torch.nn.Dropout(0.9)).train()
    net[0].eval()
    np.testing.assert_allclose(scores(net), X.sum(axis=1), atol=1e-6)
    assert [part.training for part in net.modules()] == [True, False, True]


def test_the_mode_is_restored_although_threads_overlap_and_one_fails():
    class Slow(torch.nn.Module):
        def forward(self, rows):
            assert not self.training
            torch.linalg.svd(torch.ones(120, 120))
            if len(rows) == 7:
                raise ValueError("seven")
            return rows.sum(dim=1)

    net = Slow().train()
    model = adapt(net)

    def asked(stop):
        try:
            return len(ask(model, TABLE.slice(0, stop), False, True).prediction)
        except ModelError as error:
            return str(error)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(asked, [5, 7, 9, 11] * 5))
    assert [came for came in found if isinstance(came, int)] == [5, 9, 11] * 5
    assert all("seven" in came for came in found if isinstance(came, str))
    assert net.training


def test_no_gradients_are_kept():
    seen = []
    net = line([[1.0, 0.0]])
    net.register_forward_hook(lambda _, __, out: seen.append(out.requires_grad))
    scores(net)
    assert seen == [False]


@pytest.mark.parametrize("size", [1, 7, 40, 1000])
def test_the_batch_size_does_not_change_the_answer(size):
    sizes = []
    net = line([[1.0, -1.0]])
    net.register_forward_pre_hook(lambda _, given: sizes.append(len(given[0])))
    np.testing.assert_allclose(scores(net, batch_size=size), X[:, 0] - X[:, 1], atol=1e-6)
    assert max(sizes) == min(size, 40)
    assert sum(sizes) == 40


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_numbers_are_given_in_the_type_of_the_weights(dtype):
    found = scores(line([[1.0, 0.0]]).to(dtype))
    np.testing.assert_allclose(found, X[:, 0], rtol=0.01, atol=0.01)
    if dtype is torch.float64:
        np.testing.assert_array_equal(found, X[:, 0])


def test_a_batch_of_arrays_is_given_as_it_is():
    class Mean(torch.nn.Module):
        def forward(self, images):
            assert images.ndim == 3
            return images.mean(dim=(1, 2))

    images = np.random.default_rng(1).random((6, 4, 4))
    answer = ask(adapt(Mean()), batch_table(images, "image"), True, False)
    np.testing.assert_allclose(answer.score, images.mean(axis=(1, 2)), atol=1e-6)


@pytest.mark.parametrize(
    ("returned", "shown"),
    [
        (lambda rows: {"logits": rows}, ["dict"]),
        (lambda rows: (rows, rows), ["tuple"]),
        (lambda rows: rows.sum(), [40, "()"]),
        (lambda rows: rows[:3], [40, (3, 2)]),
    ],
)
def test_what_is_not_one_tensor_for_the_batch_is_refused(returned, shown):
    class Odd(torch.nn.Module):
        def forward(self, rows):
            return returned(rows)

    with raises(ModelError, "Odd", *shown):
        ask(adapt(Odd()), TABLE, True, False)


def test_a_module_with_its_own_predict_is_taken_at_its_word():
    class Own(torch.nn.Module):
        def predict(self, batch):
            return ["yes"] * len(batch)

    assert ask(adapt(Own()), TABLE, False, True).prediction.tolist() == ["yes"] * 40


def test_weights_count_in_the_fingerprint_and_so_does_what_is_done_with_them():
    one, same, other = line([[1.0, 0.0]]), line([[1.0, 0.0]]), line([[1.0, 0.1]])
    assert adapt(one).fingerprint() == adapt(same).fingerprint() != adapt(other).fingerprint()
    bent = [adapt(torch.nn.Sequential(one, end)).fingerprint() for end in (torch.nn.ReLU(), torch.nn.Tanh())]
    assert bent[0] != bent[1]
    assert torch_model(one, output="logits").fingerprint() != adapt(one).fingerprint()


def test_weights_alone_are_refused_with_what_to_do(tmp_path):
    torch.save(line([[1.0, 0.0]]).state_dict(), tmp_path / "weights.pt")
    with raises(UsageError, "weights.pt", "state_dict"):
        load_model(tmp_path / "weights.pt", trust_pickle=True)


def test_a_module_in_the_format_before_archives_needs_trust_and_is_opened_with_it(tmp_path):
    module = line([[1.0, 0.0], [0.5, 2.0]])
    torch.save(module, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    torch.save(module.state_dict(), tmp_path / "weights.pt", _use_new_zipfile_serialization=False)
    with raises(UsageError, "old.pt", "trust_pickle=True"):
        load_model(tmp_path / "old.pt")
    opened = load_model(tmp_path / "old.pt", trust_pickle=True)
    np.testing.assert_array_equal(ask(opened, TABLE, True, False).score, scores(module))
    with raises(ModelError, "OrderedDict"):
        load_model(tmp_path / "weights.pt", trust_pickle=True)


def test_a_file_that_has_changed_is_not_opened_again(tmp_path):
    import pickle

    path = tmp_path / "net.pt"
    for weights in ([[1.0, 0.0]], [[2.0, 0.0]]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            torch.jit.trace(line(weights), torch.zeros(1, 2)).save(path)
        if weights == [[1.0, 0.0]]:
            kept = pickle.dumps(load_model(path))
    with pytest.raises(ModelError, match="its content has changed"):
        pickle.loads(kept)


def test_a_program_exported_with_several_inputs_is_refused():
    class Two(torch.nn.Module):
        def forward(self, one, other):
            return one + other

    program = torch.export.export(Two(), (torch.zeros(2, 1), torch.zeros(2, 1)))
    with raises(ModelError, 2, ("one", "other")):
        adapt(program)


@pytest.mark.parametrize(("device", "message"), [("toaster", "should be 'cpu' or 'cuda'"), ("cuda", "no CUDA device")])
def test_a_device_that_is_not_there_is_refused(tmp_path, device, message):
    if device == "cuda" and torch.cuda.is_available():
        pytest.skip("there is a CUDA device here")
    torch.save(line([[1.0, 0.0]]), tmp_path / "net.pt")
    with pytest.raises(UsageError, match=message):
        load_model(tmp_path / "net.pt", trust_pickle=True, device=device)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")
def test_a_module_on_cuda_answers_as_on_the_processor():
    net = line([[1.0, -1.0], [0.5, 2.0]])
    here = scores(net, output="logits")
    there = torch_model(net.to("cuda"), output="logits", batch_size=16)
    assert "cuda" in there.describe()
    np.testing.assert_allclose(ask(there, TABLE, True, False).score, here, atol=1e-5)


def scripted(module, folder):
    path = folder / "m.pt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.script(module).save(path)
    return path


class Saving(torch.nn.Module):
    """Writes what it is asked about into a file."""

    def __init__(self, target: str) -> None:
        super().__init__()
        self.target = target

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        torch.ops.aten.save(x, self.target)
        return x.sum(1)


class Reading(torch.nn.Module):
    """Makes a file, and reads it."""

    def __init__(self, target: str) -> None:
        super().__init__()
        self.target = target

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sum(1) + torch.from_file(self.target, True, 1)


@pytest.mark.parametrize(("kind", "call"), [(Saving, "save"), (Reading, "from_file")])
def test_a_torchscript_file_that_reads_or_writes_files_is_not_opened_without_the_flag(tmp_path, kind, call):
    evil = tmp_path / "evil"
    path = scripted(kind(str(evil)), tmp_path)
    with raises(UsageError, call, name="trust_pickle"):
        load_model(path)
    ask(load_model(path, trust_pickle=True), TABLE, True, False)
    assert evil.exists()  # as it would have done without the flag


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("torch.save(x, y)", "save"),
        ("f = ops.aten.save", "save"),
        ("y = (torch. # here\n  save)(x)", "save"),
        ("getattr(torch, 's\\x61ve')(x)", "save"),
        ("torch.from_file('a')", "from_file"),
        ('raise Exception("cannot save it")', None),
        ("saved = self.saved", None),
        ("x = '", "what is not TorchScript"),
    ],
)
def test_operators_on_files_are_found_however_they_are_written(source, found):
    assert _file_operator(source) == found


def test_a_torchscript_file_with_two_parts_of_one_name_is_not_opened(tmp_path):
    path = scripted(torch.nn.Linear(2, 1), tmp_path)
    assert load_model(path, features=["a", "b"])
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr(archive.namelist()[0], b"")
    with pytest.raises(ModelError, match="two parts of the same name"):
        load_model(path)
