"""Large batches are drawn, asked about and counted in parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isonomia as iso
from isonomia.errors import DataError, UsageError
from isonomia.populations.protocol import AT_ONCE
from raising import raises

BUDGET = 4 * AT_ONCE


def test_every_person_of_a_large_batch_is_drawn_and_counted_once() -> None:
    drawn: list[np.ndarray] = []
    asked: list[int] = []

    def draw(n: int, rng: np.random.Generator) -> dict[str, Any]:
        drawn.append(rng.random(n))
        return {"x": drawn[-1], "woman": rng.random(n) < 0.5}

    def model(people: Any) -> Any:
        asked.append(len(people["x"]))
        return people["x"] < 0.3

    population = iso.Generator(draw, names=("x", "woman"))
    verdict = iso.check(
        "P[prediction | woman] - P[prediction | not woman] >= 0",
        model, population, budget=BUDGET, stop="all", seed=1, growth=4.0, random_model=True,
    )  # fmt: skip
    counted = [values for values in drawn if len(values) not in {16, 4096}]  # but for the pilots
    assert max(map(len, counted)) == AT_ONCE
    assert sum(asked) == verdict.samples == BUDGET
    assert sum(leaf.n for leaf in verdict.leaves) == BUDGET
    assert len(np.unique(np.concatenate(counted))) == sum(map(len, counted))  # no part comes twice
    whole = np.concatenate(counted) < 0.3
    found = sum(leaf.n * leaf.estimate for leaf in verdict.leaves)
    assert found == pytest.approx(whole.sum(), abs=0.5)


def test_a_message_names_the_row_within_the_batch() -> None:
    odd = AT_ONCE + 7

    def draw(n: int, rng: np.random.Generator) -> dict[str, Any]:
        values = rng.random(n)
        seen[0] += n
        if seen[0] > 3 * AT_ONCE:
            values[7] = 2.0
        return {"x": values}

    seen = [0]
    population = iso.Generator(draw, names=("x",))
    with pytest.raises(DataError, match=r"row [\d,]+ of batch") as error:
        iso.check(
            "E[x] >= 0.5",
            population=population,
            ranges={"x": (0, 1)},
            budget=8 * AT_ONCE,
            stop="all",
            seed=1,
            growth=4.0,
        )
    row = int(str(error.value).split("row ")[1].split(" ")[0].replace(",", ""))
    assert row % AT_ONCE == odd % AT_ONCE
    assert row >= AT_ONCE


def test_workers_and_people_on_a_device_do_not_go_together() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    people = iso.Generator(lambda n, generator: {"x": torch.rand(n, generator=generator)}, device="cpu")
    with raises(UsageError, name="executor"):
        iso.check("P[prediction] >= 0.1", lambda batch: batch["x"] > 0.5, people, workers=2, seed=1)
