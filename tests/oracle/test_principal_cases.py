"""Principal fairness: observed distributions whose answers were obtained by an independent linear program."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.closed_form import closed_bounds, proposition_1

from isonomia.evidence.strata.bounds import Bounds, Contradiction, effect_bounds, fair_world, normalised_bounds
from isonomia.evidence.strata.repair import Repair, repair
from isonomia.evidence.strata.worlds import Observed, PrincipalEffect, TableShape, unaffected

ROOT = Path(__file__).resolve().parents[2]
FILE = Path(os.environ.get("ISONOMIA_DATA", ROOT / ".." / "shared" / "data")) / ".." / "cases" / "principal.json"
CASES: list[dict[str, Any]] = json.loads(FILE.read_text("utf-8"))["cases"] if FILE.exists() else []

pytestmark = pytest.mark.skipif(not CASES, reason="the conformance cases are not here; set ISONOMIA_DATA")

ONE, ZERO, BOTH = (PrincipalEffect(unaffected(TableShape(), y)) for y in (1, 0, None))
CLOSED = {
    "tau1_unnormalised": "tau_1_unnormalised",
    "tau0_unnormalised": "tau_0_unnormalised",
    "tau_unnormalised": "tau_unnormalised",
    "tau1_unnormalised_given_tau0_zero": "tau_1_given_tau_0_zero",
    "tau0_unnormalised_given_tau1_zero": "tau_0_given_tau_1_zero",
    "tau1_normalised": "tau_1",
    "tau0_normalised": "tau_0",
    "tau_normalised": "tau",
}


def table(case: dict[str, Any]) -> Observed:
    p = case["p"]
    return Observed.of([[[p[f"s{s}y{y}a{a}"] for y in (0, 1)] for s in (0, 1)] for a in (0, 1)])


def ends(found: object) -> list[float] | None:
    if isinstance(found, Contradiction):
        return None
    assert isinstance(found, Bounds)
    return [found.lower, found.upper]


def agree(found: list[float] | None, expected: list[float] | None) -> bool:
    if found is None or expected is None:
        return found is expected
    return found == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_proposition_1(case: dict[str, Any]) -> None:
    one, zero = proposition_1(table(case).probabilities)
    assert one == pytest.approx(case["proposition_1"]["tau1"], abs=1e-7)
    assert zero == pytest.approx(case["proposition_1"]["tau0"], abs=1e-7)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_all_bounds_by_linear_programs(case: dict[str, Any]) -> None:
    observed = table(case)
    found = {
        "tau1_unnormalised": effect_bounds(observed, ONE),
        "tau0_unnormalised": effect_bounds(observed, ZERO),
        "tau_unnormalised": effect_bounds(observed, BOTH),
        "tau1_unnormalised_given_tau0_zero": effect_bounds(observed, ONE, zero=[ZERO]),
        "tau0_unnormalised_given_tau1_zero": effect_bounds(observed, ZERO, zero=[ONE]),
        "tau1_normalised": normalised_bounds(observed, ONE),
        "tau0_normalised": normalised_bounds(observed, ZERO),
        "tau_normalised": normalised_bounds(observed, BOTH),
    }
    assert [name for name, bounds in found.items() if not agree(ends(bounds), case[name])] == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_all_bounds_in_closed_form(case: dict[str, Any]) -> None:
    found = closed_bounds(table(case).probabilities)
    for name, field in CLOSED.items():
        bounds = getattr(found, field)
        assert agree(None if np.isnan(bounds).any() else bounds.tolist(), case[name]), name


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_both_verdicts(case: dict[str, Any]) -> None:
    observed = table(case)
    assert isinstance(fair_world(observed, 1), Contradiction) == case["definition_1_violated"]
    assert isinstance(fair_world(observed, 2), Contradiction) == case["definition_2_violated"]
    assert bool(closed_bounds(observed.probabilities).violated) == case["definition_1_violated"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_both_repair_totals(case: dict[str, Any]) -> None:
    for definition in (1, 2):
        found = repair(table(case), definition)
        assert isinstance(found, Repair)
        assert found.total == pytest.approx(case[f"repair_definition_{definition}_total"], abs=1e-7)
