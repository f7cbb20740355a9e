"""Draws by torch on a device, here the CPU: the same code as on a GPU."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import isonomia as iso
from isonomia.errors import DataError, ModelError, SpecError, UsageError
from isonomia.populations.fingerprint import callable_name
from isonomia.populations.protocol import Wanted
from isonomia.spec.tree import AsIf, Do, Literal, Setting
from raising import raises

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("array_api_compat", reason="array-api-compat is not installed")

TEXT = """
def popModel():
    sex = step([(0, 1, 0.25), (2, 3, 0.35), (3, 5, 0.4)])
    luck = gaussian(0, 1)
    if sex < 1:
        school = gaussian(10, 4)
    elif sex < 3:
        school = gaussian(12, 9)
        luck = luck + 1
    else:
        school = luck * 2 + 11
    pay = gaussian(school * 2 + sex, 1) - school / 4
    sensitiveAttribute(sex < 1)
    qualified(school > 8 and not pay < 10)
def F():
    t = pay > 19 or luck > 2
    fairnessTarget(t)
"""
RATIO = "P[target | minority and qualified] / P[target | not minority and qualified] >= 0.5"


def drawn(text: str, n: int = 40_000, **options: Any) -> Any:
    program = iso.Program.of(text, device="cpu", **options)
    return program.open(np.random.SeedSequence(0)).batch(0, n, np.random.default_rng(8))


def draw(n: int, generator: Any) -> dict[str, Any]:
    x = torch.randn(n, generator=generator)
    return {"x": x, "woman": torch.rand(n, generator=generator) < 0.5, "city": np.full(n, "Lund")}


# ---------------------------------------------------------------------------- programs


@pytest.mark.parametrize("precision", ["single", "double"])
def test_a_program_draws_the_same_law_as_with_numpy(precision: str) -> None:
    n = 40_000
    here = iso.Program.of(TEXT).open(np.random.SeedSequence(0)).batch(0, n, np.random.default_rng(8))
    there = drawn(TEXT, n, precision=precision)
    assert there.names == here.names
    for name in here.names:
        one, two = (np.asarray(table.column(name), dtype=float) for table in (here, there))
        error = sqrt((one.var() + two.var()) / n)
        assert abs(one.mean() - two.mean()) < 5.5 * error, name  # 1e-7 for each of eight
        assert abs(np.quantile(one, 0.9) - np.quantile(two, 0.9)) < 0.25, name
    assert there.array("pay").dtype == (torch.float32 if precision == "single" else torch.float64)
    assert there.array("target").dtype == torch.bool


def test_the_share_below_a_threshold_is_that_of_the_normal_law() -> None:
    n = 400_000
    table = drawn("def popModel():\n    x = gaussian(3, 4)\ndef F():\n    t = x > 5.5\n", n)
    share, truth = float(table.array("t").float().mean()), norm.sf(1.25)
    assert abs(share - truth) < 5.5 * sqrt(truth * (1 - truth) / n)


def test_the_same_seed_gives_the_same_verdict_and_another_seed_another() -> None:
    population = iso.Program.of(TEXT, device="cpu")
    once, again, other = (
        iso.check(RATIO, population=population, budget=60_000, stop="all", seed=seed).to_dict() for seed in (1, 1, 2)
    )
    assert {**once, "seconds": 0} == {**again, "seconds": 0}
    assert once["leaves"] != other["leaves"]


def test_every_batch_has_a_generator_of_its_own() -> None:
    source = iso.Program.of(TEXT, device="cpu").open(np.random.SeedSequence(0))
    first, second = (source.batch(0, 50, np.random.default_rng(i)).column("pay") for i in (1, 2))
    assert not np.intersect1d(first, second).size


def test_a_verdict_states_the_kind_of_device_and_numpy_is_not_one() -> None:
    there = iso.check(RATIO, population=iso.Program.of(TEXT, device="cpu"), seed=1, delta=0.1, budget=50_000)
    here = iso.check(RATIO, population=iso.Program.of(TEXT), seed=1, delta=0.1, budget=50_000)
    assert there.population["device"] == "torch on cpu"
    assert any(remark.startswith("draws made by torch on cpu") for remark in there.remarks)
    assert any("single precision" in assumption for assumption in there.assumptions)
    assert "device" not in here.population
    assert there.population["fingerprint"] == here.population["fingerprint"]
    assert there.answer == here.answer


def test_auto_takes_the_cpu_where_there_is_no_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert iso.Program.of(TEXT, device="auto").device == iso.Program.of(TEXT, device="cpu").device


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("y = 1 / (x - x)", "divisor other than 0"),
        ("z = 0\n    y = x / z", "divisor other than 0"),
        ("y = gaussian(0, x)", "variance of at least 0"),
        ("y = x * 1e30 * 1e30", "a number overflowed"),
    ],
)
def test_what_must_not_happen_is_refused_with_its_line(line: str, message: str) -> None:
    text = f"def popModel():\n    x = gaussian(0, 1)\n    {line}\ndef F():\n    t = y > 0\n"
    with pytest.raises((DataError, SpecError), match=message):
        drawn(text, 1000)


def test_what_must_not_happen_counts_only_on_the_way_that_is_taken() -> None:
    text = """
def popModel():
    x = gaussian(0, 1)
    z = 0
    if x > 0:
        z = 2
    y = 5
    if z > 1:
        y = x / z
        y = gaussian(0, x)
def F():
    t = y < 5
"""
    table = drawn(text, 1000)
    assert (table.column("t") == (table.column("x") > 0)).mean() > 0.97  # a deviation of 5 is far off


def test_a_person_under_an_intervention_keeps_their_noise() -> None:
    text = "def popModel():\n    x = gaussian(0, 1)\n    y = gaussian(x, 1)\ndef F():\n    t = y > 0\n"
    changed = Do((Setting("x", Literal(2.0)),))
    wanted = Wanted(("x", "y"), {changed: ("x", "y")})
    source = iso.Program.of(text, device="cpu").open(np.random.SeedSequence(0), wanted)
    tables = source.people(0, 300, np.random.default_rng(1))  # type: ignore[attr-defined]
    moved = tables[changed].column("y") - tables[None].column("y")
    assert np.allclose(moved, 2.0 - tables[None].column("x"), atol=1e-5)
    assert set(tables[changed].column("x").tolist()) == {2.0}


def test_a_mediator_as_it_would_have_been_is_left_to_numpy() -> None:
    version = Do((AsIf("luck", (Setting("sex", Literal(2.0)),)),))
    with raises(SpecError, name="luck"):
        iso.Program.of(TEXT, device="cpu").open(np.random.SeedSequence(0), Wanted((), {version: ()}))


# ---------------------------------------------------------------------------- generators


def test_a_generator_of_tensors_with_text_beside_them_is_checked() -> None:
    population = iso.Generator(draw, device="cpu")
    verdict = iso.check("P[x > 0 | woman and city == 'Lund'] >= 0.4", population=population, seed=1)
    assert verdict.answer == "holds"
    assert population.names == ("x", "woman", "city")
    assert population.values("woman") == (False, True)


def test_a_mean_of_tensors_is_counted_as_one_of_numpy() -> None:
    from isonomia.audits.rates.counting import tally
    from isonomia.evidence.protocol import grid_for

    grid = grid_for([None, (-1.0, 3.0)])
    assert grid is not None
    rng = np.random.default_rng(3)
    columns = [rng.random(5000) < 0.3, rng.uniform(-1, 3, 5000)]
    there = tally(grid, [torch.tensor(column) for column in columns])
    assert there.sum() == pytest.approx(5000, rel=1e-12)
    assert np.allclose(there, grid.tally(columns), atol=1e-6)
    verdict = iso.check(
        "E[x | woman] >= -0.2", population=iso.Generator(draw, device="cpu"), ranges={"x": (-9, 9)}, seed=1, delta=0.1
    )
    assert verdict.answer == "holds"


def test_a_number_outside_of_its_range_is_refused_with_the_person() -> None:
    with raises(DataError, -1, 1, "woman=True"):
        iso.check("E[x] >= 0", population=iso.Generator(draw, device="cpu"), ranges={"x": (-1, 1)}, seed=1)


def test_draws_that_are_not_what_was_asked_for_are_refused() -> None:
    def no_mapping(n: int, generator: Any) -> Any:
        return torch.randn(n, generator=generator)

    def too_few(n: int, generator: Any) -> Any:
        return {"x": torch.randn(n - 1, generator=generator)}

    def always_the_same(n: int, generator: Any) -> Any:  # noqa: ARG001
        return {"x": torch.randn(n, generator=torch.Generator().manual_seed(0))}

    for function, shown in ((no_mapping, ["Tensor"]), (too_few, [16, 15]), (always_the_same, [4096])):
        with raises(DataError, *shown, name=callable_name(function)):
            iso.check("P[x > 0] >= 0.4", population=iso.Generator(function, device="cpu", names=("x",)), seed=1)


def test_a_device_that_is_not_there_and_draws_that_need_numpy_are_refused() -> None:
    with raises(UsageError, "warp", "cpu", "auto"):
        iso.Generator(draw, device="warp")
    with raises(UsageError, "cuda", "cpu", "auto", "device=3"):
        iso.Generator(draw, device=3)  # type: ignore[arg-type]
    with raises(UsageError, "Weighted"):
        iso.Generator(iso.Weighted(draw, "x", 1.0), device="cpu")
    with raises(UsageError, "largest=0"):
        iso.Generator(draw, device="cpu", largest=0)
    with raises(UsageError, "quadruple"):
        iso.Program.of(TEXT, device="cpu", precision="quadruple")


def test_batches_on_a_device_are_large_and_never_larger_than_asked_for() -> None:
    sizes: list[int] = []

    def watched(n: int, generator: Any) -> Any:
        sizes.append(n)
        return draw(n, generator)

    population = iso.Generator(watched, device="cpu", largest=5000, names=("x", "woman", "city"))
    iso.check("P[x > 0] >= 0.4999999", population=population, budget=20_000, seed=1)
    assert max(sizes) == 5000
    assert sum(sizes) - 20_000 <= 2 * 16  # but for the pilots


# ---------------------------------------------------------------------------- models


def test_a_module_answers_about_tensors_with_tensors() -> None:
    class Two(torch.nn.Module):  # type: ignore[misc]
        def forward(self, rows: Any) -> Any:
            assert rows.device.type == "cpu"
            return torch.stack([-rows[:, 0], rows[:, 0]], dim=1)

    population = iso.Generator(draw, device="cpu")
    options: dict[str, Any] = {"population": population, "features": ["x"], "seed": 1}
    verdict = iso.check("P[prediction == 1 | woman] >= 0.4", Two(), **options)
    assert verdict.answer == "holds"
    same = iso.check("P[x > 0 | woman] >= 0.4", population=population, seed=1)
    assert verdict.leaves[0].estimate == same.leaves[0].estimate


def test_a_callable_may_write_into_its_batch() -> None:
    def scribbles(people: Any) -> Any:
        answer = people["x"] > 0
        people["x"].zero_()
        return answer

    population = iso.Generator(draw, device="cpu")
    verdict = iso.check("P[prediction and x > 0] >= 0.4", scribbles, population, seed=1)
    assert verdict.answer == "holds"


def test_answers_of_a_device_are_believed_only_after_checks() -> None:
    population = iso.Generator(draw, device="cpu")
    for model, shown in (
        (lambda people: people["x"] / 0, [0, "inf"]),
        (lambda people: people["x"][1:] > 0, [4096, 4095]),
        (lambda people: people["x"].reshape(-1, 1, 1), ["torch.Size"]),
    ):
        with raises(ModelError, *shown):
            iso.check("P[prediction == 1] >= 0.1", model, population, seed=1)


def test_a_model_of_numpy_is_asked_about_people_on_a_device() -> None:
    from sklearn.linear_model import LogisticRegression

    x = np.linspace(-2, 2, 50)[:, None]
    model = LogisticRegression().fit(x, x[:, 0] > 0)
    verdict = iso.check(
        "P[prediction == true] >= 0.4", model, iso.Generator(draw, device="cpu"), features=["x"], seed=1
    )
    assert verdict.answer == "holds"
