"""The FairSquare benchmark's instances, written out as programs: their rates and verdicts are those known elsewhere."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest
from benchmarks.fairsquare_programs import cases, program_text

import isonomia as iso
from isonomia.cli.check import ratio_property

CASES = cases()
INSTANCES: list[dict[str, Any]] = CASES["instances"] if CASES else []

pytestmark = pytest.mark.skipif(CASES is None, reason="the conformance cases are not here; set ISONOMIA_DATA")


def _name(instance: dict[str, Any]) -> str:
    return f"{instance['population']}-{instance['classifier']}"


def _program(instance: dict[str, Any]) -> iso.Program:
    return iso.Program.of(program_text(CASES or {}, instance["population"], instance["classifier"]))


@pytest.mark.parametrize("instance", INSTANCES, ids=_name)
def test_a_program_has_the_rates_that_others_found(instance: dict[str, Any]) -> None:
    source = _program(instance).open(np.random.SeedSequence(0))
    table = source.batch(0, 100_000, np.random.default_rng(1))
    minority, qualified, target = (table.column(name) for name in ("minority", "qualified", "target"))
    for group, known in ((minority, instance["rate_minority"]), (~minority, instance["rate_majority"])):
        chosen = target[group & qualified]
        # Six standard errors: a false alarm once in 5e8.
        assert abs(chosen.mean() - known) < 6 * sqrt(known * (1 - known) / len(chosen)) + 1e-3


@pytest.mark.parametrize("instance", INSTANCES, ids=_name)
def test_a_verdict_is_right_at_a_tiny_risk(instance: dict[str, Any]) -> None:
    program = _program(instance)
    verdict = iso.check(ratio_property(program, 0.85), population=program, delta=1e-10, seed=3)
    assert verdict.answer == ("holds" if instance["fair"] else "violated")
    assert verdict.samples < 2.5 * instance["limit_draws_one_stream"]


@pytest.mark.parametrize("classifier", ["DT_V3_D2_N44", "SVM_V6", "NN_V3_H2"])
def test_path_specific_fairness_holds_where_the_paper_says_so(classifier: str) -> None:
    program = iso.Program.of(program_text(CASES or {}, "bnc", classifier))
    text = (
        "P[do(education_num as if sex = 1.5).target | minority and qualified] "
        "- P[target | not minority and qualified] >= -0.15"
    )
    assert iso.check(text, population=program, delta=1e-10, seed=3).answer == "holds"
