"""A reported counterexample is the smallest change that violates: checked by brute force."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import isonomia as iso

ROWS = {"a": np.array([0, 3, 9]), "b": np.array([2, 7, 1]), "c": np.array([5, 5, 0])}
REACH = 2


def planted(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """Jumps where the sum is far from what it is in the rows: needs a change of at least five steps in two features."""
    total = table["a"] + 2 * table["b"] - table["c"]
    return (
        np.abs(total - np.array([-1, 12, 11])[np.argmin(np.abs(total[:, None] - [-1, 12, 11]), axis=1)]) >= 5
    ).astype(int)


def smallest() -> dict[int, tuple[float, float]]:
    """For each row, the fewest features and the least distance of a change that violates."""
    scale = {name: np.ptp(values) for name, values in ROWS.items()}
    found: dict[int, tuple[float, float]] = {}
    for row in range(3):
        before = {name: values[row : row + 1] for name, values in ROWS.items()}
        for steps in product(range(-REACH, REACH + 1), repeat=3):
            after = {name: before[name] + step for name, step in zip(ROWS, steps, strict=True)}
            if planted(before)[0] != planted(after)[0]:
                count = sum(step != 0 for step in steps)
                far = sum(abs(step) / scale[name] for name, step in zip(ROWS, steps, strict=True))
                found[row] = min(found.get(row, (99, 99)), (count, round(far, 9)))
    return found


def test_the_planted_violation_needs_more_than_one_feature() -> None:
    assert smallest()
    assert all(count >= 2 for count, _ in smallest().values())


@pytest.mark.parametrize("enumerate", [True, False])
def test_the_reported_counterexample_is_minimal(enumerate: bool) -> None:  # noqa: A002
    prop = iso.safety.robust(["a", "b", "c"], REACH, whole=True, enumerate=enumerate, stop_early=False)
    verdict = iso.check(prop, planted, iso.Census(ROWS), seed=1, budget=None if enumerate else 20_000)
    expected = smallest()
    assert verdict.answer == "violated"
    assert {item["rows"]["x1"] for item in verdict.counterexamples} == set(expected)
    for item in verdict.counterexamples:
        assert item["minimal"]
        cost = (item["features_changed"], item["distance"])
        assert cost == (expected[item["rows"]["x1"]][0], pytest.approx(expected[item["rows"]["x1"]][1]))


def test_choices_without_end_are_shrunk_towards_the_edge() -> None:
    def steep(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
        return (table["a"] >= 10).astype(int)

    prop = iso.safety.property(
        'input x1; var x2 := setFeat(x1, "a", x1.a + randReal(0, 1000)); output d1; output d2;'
        "{ d1 = predict(x1); d2 = predict(x2) } ensures d1 == d2;"
    )
    verdict = iso.check(prop, steep, iso.Census({"a": np.array([3.0, 4.0])}), seed=1)
    first = verdict.counterexamples[0]
    assert not first["minimal"]
    assert first["rows"] == {"x1": 1}
    assert first["differs"]["x2"]["a"][1] == pytest.approx(10.0, abs=1e-3)
    assert first["differs"]["x2"]["a"][1] >= 10.0
