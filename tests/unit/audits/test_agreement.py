"""Over random claims of many kinds, decided and not, no picture contradicts its verdict."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.agreement import contradicted, groups, principal, rates, responsiveness, safety


@pytest.mark.parametrize("seed", range(4))
def test_no_interval_says_something_else_than_its_verdict(seed: int) -> None:
    rng = np.random.default_rng(seed)
    checked = [rates(rng) for _ in range(12)]
    assert {verdict.answer for _, verdict in checked} >= {"holds", "violated"}
    assert [(kind, verdict.text) for kind, verdict in checked if contradicted(verdict)] == []


def test_no_effect_says_something_else_than_its_verdict() -> None:
    rng = np.random.default_rng(7)
    checked = [principal(rng) for _ in range(4)]
    assert [(kind, verdict.text) for kind, verdict in checked if contradicted(verdict)] == []


@pytest.mark.parametrize(("checked", "number"), [(groups, 10), (safety, 10), (responsiveness, 12)])
def test_no_group_case_or_person_has_a_picture_that_says_something_else(checked: Any, number: int) -> None:
    rng = np.random.default_rng(3)
    found = [checked(rng) for _ in range(number)]
    assert {verdict.answer for _, verdict in found} >= {"holds", "violated"}
    assert [(kind, verdict.text) for kind, verdict in found if contradicted(verdict)] == []
