"""Nothing is said about nobody: what a verdict may rest on where a group was never seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isonomia as iso


def draw(n: int, rng: np.random.Generator) -> dict[str, Any]:
    return {
        "sex": rng.choice(["F", "M"], n),
        "y": rng.random(n) < 0.5,
        "q": rng.random(n) < 0.5,
        "x": rng.random(n),
    }


# Each of them is true for every rate that people of the sex Z could have: there are none.
NEVER_DRAWN = [
    "P[y] / P[y | sex == 'Z'] >= 0.1",
    "P[y | q] >= 0.1 * P[y | sex == 'Z']",
    "P[y | sex == 'F'] >= 0.1 * P[y | sex == 'Z']",
    "for g in {'M', 'Z'}: P[y | sex == g] >= 0.1 * P[y | sex == 'F']",
    "0.1 / P[y | sex == 'Z'] >= 0.05",
    "P[y | sex == 'Z'] >= -0.1",
    "P[y | sex == 'Z'] <= 1",
    "P[y | sex == 'Z'] - P[y | sex == 'Z'] >= 0",
    "(P[y | sex == 'Z'] / P[y | sex == 'Z']) ** 2 >= 0.8",
    "P[y | sex == 'F'] + 0 * P[y | sex == 'Z'] >= 0.1",
    "max(P[y | sex == 'F'], P[y | sex == 'Z']) >= 0.1",
    "P[y | sex == 'F'] >= 0.1 * P[y | sex == 'F'] * P[y | sex == 'Z']",
    "E[x from 0 to 1 | sex == 'F'] >= 0.1 * E[x from 0 to 1 | sex == 'Z']",
]


@pytest.mark.parametrize("method", ["auto", "region", "verifair"])
@pytest.mark.parametrize("text", NEVER_DRAWN)
def test_a_group_that_was_never_drawn_leaves_every_comparison_with_it_undecided(text: str, method: Any) -> None:
    verdict = iso.check(text, population=iso.Generator(draw), seed=1, budget=120, method=method, delta=0.05)
    assert verdict.answer == "undecided"
    assert any("nobody with sex == 'Z' appeared" in remark for remark in verdict.remarks)


@pytest.mark.parametrize("method", ["auto", "region"])
@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("P[y] >= 0.2 or P[y] >= 0.9 * P[y | sex == 'Z']", "holds"),
        ("P[y] >= 0.9 and P[y] >= 0.1 * P[y | sex == 'Z']", "violated"),
        ("P[y] * P[q] >= 0.01 or P[y] * P[q] >= P[y | sex == 'Z']", "holds"),
    ],
)
def test_another_part_of_the_formula_may_decide_it_alone(text: str, answer: str, method: Any) -> None:
    verdict = iso.check(text, population=iso.Generator(draw), seed=1, budget=3000, method=method, delta=0.05)
    assert verdict.answer == answer


@pytest.mark.parametrize(
    "text",
    [
        "P[y] * 0 >= 0",
        "P[y] - P[y] >= 0",
        "P[y] >= 0",
        "P[y | sex == 'F'] - P[y | sex == 'M'] <= 1",
        "P[y | sex == 'F'] / P[y | sex == 'F'] >= 0.8",
        "P[y | sex == 'F'] >= 0.8 * P[y | sex == 'F']",
        "0.1 * P[y] + 0.2 * P[y] >= 0.3 * P[y]",
        "P[y] * P[q] >= 0",
        "not P[y] > 1",
    ],
)
def test_what_arithmetic_decides_holds_as_soon_as_the_groups_were_seen(text: str) -> None:
    for population in (iso.Generator(draw), iso.Sample(draw(200, np.random.default_rng(0)))):
        verdict = iso.check(text, population=population, seed=1, delta=1e-9)
        assert verdict.answer == "holds"
        assert verdict.samples < 20


@pytest.mark.parametrize("text", ["P[y] - P[y] > 0", "P[y] > 1", "0 * P[y] > 0", "P[y | sex == 'F'] > 1 or P[y] < 0"])
def test_what_arithmetic_refutes_is_violated_as_soon_as_the_groups_were_seen(text: str) -> None:
    verdict = iso.check(text, population=iso.Generator(draw), seed=1, delta=1e-9)
    assert verdict.answer == "violated"
    assert verdict.samples < 20


def test_a_group_compared_with_itself_still_needs_a_ratio_that_has_a_value() -> None:
    def never(n: int, rng: np.random.Generator) -> dict[str, Any]:
        return {**draw(n, rng), "y": np.zeros(n, dtype=bool)}

    text = "P[y | sex == 'F'] / P[y | sex == 'F'] >= 0.8"
    verdict = iso.check(text, population=iso.Generator(never), seed=1, budget=300)
    assert verdict.answer == "undecided"
    assert any("may have no value" in remark for remark in verdict.remarks)
