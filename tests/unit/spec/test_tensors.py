"""Row expressions on tensors: the same as on columns of NumPy, whatever is asked."""

from __future__ import annotations

import sys
from array import array
from typing import Any

import numpy as np
import pytest

from isonomia.errors import DataError, SpecError, UsageError
from isonomia.spec.columns import count, first, host, is_tensor, some
from isonomia.spec.evaluate import Batch, evaluate, truth
from isonomia.spec.parser import parse_condition
from raising import raises

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("array_api_compat", reason="array-api-compat is not installed")

N = 500
_RNG = np.random.default_rng(4)
COLUMNS: dict[str, Any] = {
    "x": np.where(_RNG.random(N) < 0.1, np.nan, _RNG.normal(size=N)),
    "single": _RNG.normal(size=N).astype(np.float32),
    "half": _RNG.normal(size=N).astype(np.float16),
    "whole": _RNG.integers(-3, 4, N),
    "large": _RNG.integers(2**53 - 2, 2**53 + 2, N),
    "yes": _RNG.random(N) < 0.4,
    "zero_one": _RNG.integers(0, 2, N).astype(float),
    "city": np.array(["Lund", "Oulu"], dtype=object)[_RNG.integers(0, 2, N)],
}
CONDITIONS = (
    "x > 0.1",
    "x != 0.5",
    "x is missing",
    "x is not missing and not yes",
    "0.1 < single",
    "single <= 0.1",
    "half > 1e6",
    "whole == 2",
    "whole >= 0.5",
    "whole != 2",
    "whole in {1, 2}",
    "large == 9007199254740993",
    "yes",
    "yes == true",
    "yes == 1",
    "not zero_one",
    "yes or whole > single",
    "x < single",
    "x != zero_one",
    "x + whole * single > 1",
    "x / whole > 1",
    "-x > 0",
    "abs(x) > min(single, 0.5)",
    "max(x, whole, 0) == 0",
    "city == 'Lund' and x > 0",
    "city in {'Oulu'} or yes",
    "not (city == 'Lund')",
    "x not in {1}",
)


def batches() -> tuple[Batch, Batch]:
    there = {name: values if name == "city" else torch.tensor(values) for name, values in COLUMNS.items()}
    return Batch(N, COLUMNS), Batch(N, there)


@pytest.mark.parametrize("text", CONDITIONS)
def test_a_condition_on_tensors_is_true_of_the_same_people(text: str) -> None:
    condition = parse_condition(text)
    here, there = batches()
    found = truth(condition, there)
    assert is_tensor(found) == (text != "not (city == 'Lund')")  # which speaks of no tensor
    assert host(found).dtype == bool
    assert host(found).tolist() == truth(condition, here).tolist()


def test_arithmetic_on_tensors_is_in_double_precision() -> None:
    condition = parse_condition("single * single > 0")
    here, there = batches()
    product = evaluate(condition.left, there)  # type: ignore[attr-defined]
    assert product.dtype == torch.float64
    assert host(product).tolist() == evaluate(condition.left, here).tolist()  # type: ignore[attr-defined]


def test_a_number_that_is_no_condition_is_refused_on_tensors_too() -> None:
    _, there = batches()
    with raises(DataError, "whole", 0, 1):
        truth(parse_condition("whole"), there)


def test_text_is_not_compared_with_a_tensor() -> None:
    _, there = batches()
    with raises(SpecError, "x", "Lund", at="'Lund'"):
        truth(parse_condition("x == 'Lund'"), there)


def test_a_property_cannot_speak_of_a_tensor_of_several_dimensions() -> None:
    batch = Batch(3, {"drawing": torch.zeros(3, 4, 2)})
    with raises(DataError, "drawing", 3, 4, 2):
        truth(parse_condition("drawing > 0"), batch)


def test_a_tensor_of_complex_numbers_is_refused() -> None:
    batch = Batch(3, {"z": torch.zeros(3, dtype=torch.complex64)})
    with raises(DataError, name="z"):
        truth(parse_condition("z == 0"), batch)


@pytest.mark.parametrize("mask", [[False, False, True, False, True], [True], [False, False]])
def test_a_mask_is_counted_and_searched_alike_wherever_it_is_held(mask: list[bool]) -> None:
    for held in (np.array(mask), torch.tensor(mask)):
        assert count(held) == sum(mask)
        assert some(held) is any(mask)
        assert first(held) == (mask.index(True) if any(mask) else 0)


def test_what_neither_numpy_nor_torch_holds_is_brought_here_as_its_library_does() -> None:
    class OnDevice:
        """An array that is fetched by ``get``, as those of CuPy are."""

        def get(self) -> Any:
            return np.array([1.5, 2.5])

    for values in (OnDevice(), array("d", [1.5, 2.5])):
        assert is_tensor(values)
        assert host(values).tolist() == [1.5, 2.5]


def test_without_the_package_for_tensors_an_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    with raises(UsageError, "isonomia[torch]"):
        truth(parse_condition("x > 0"), batches()[1])
