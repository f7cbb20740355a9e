"""Repairs of a table's subgroups, and the audit of what they repaired."""

from __future__ import annotations

import numpy as np
from simulated_worlds import FAIR, UNFAIR, drawing

import isonomia as iso
from isonomia.audits.principal.repair import remedies


def test_a_repaired_table_is_no_longer_refuted() -> None:
    people = drawing({"A": FAIR, "B": UNFAIR})(4000, np.random.default_rng(0))
    prop = iso.PrincipalFairness(attribute="sex", outcome="passed", given=["school"], definition=2)
    found = remedies(prop, None, iso.Sample(people))
    assert list(found) == ["school='A'", "school='B'"]
    fixed, unfair = found["school='A'"], found["school='B'"]
    assert fixed is not None
    assert unfair is not None
    assert fixed.total < 0.02
    assert unfair.total > 0.1
    chosen = people["school"] == "B"
    sex = (people["sex"] == "M").astype(int)
    after = unfair.apply(people["prediction"][chosen], sex[chosen], np.random.default_rng(1))
    before = iso.check(prop, population=iso.Sample({k: v[chosen] for k, v in people.items()}), seed=0)
    repaired = {k: v[chosen] for k, v in people.items()} | {"prediction": after}
    assert before.answer == "violated"
    assert iso.check(prop, population=iso.Sample(repaired), seed=0).answer == "undecided"


def test_a_subgroup_without_anybody_to_compare_has_no_repair() -> None:
    people = drawing({"A": UNFAIR, "B": UNFAIR})(200, np.random.default_rng(0))
    people["sex"][people["school"] == "B"] = "F"
    prop = iso.PrincipalFairness(attribute="sex", outcome="passed", given=["school"])
    assert remedies(prop, None, iso.Sample(people))["school='B'"] is None


def test_what_an_audit_with_an_assumption_finds_in_a_sample_is_repaired_under_it() -> None:
    def steady(n: int, seed: int) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(seed)
        sex, passed = rng.choice(["F", "M"], n), rng.integers(0, 2, n)
        favoured = rng.random(n) < np.where(sex == "M", 0.65, 0.35)
        return {"sex": sex, "passed": passed, "prediction": favoured.astype(int)}

    learned, fresh = steady(20_000, seed=1), steady(4000, seed=2)
    prop = iso.PrincipalFairness(attribute="sex", outcome="passed", assumptions=["outcome never changes"])
    (found,) = remedies(prop, None, iso.Sample(learned)).values()
    assert found is not None
    after = found.apply(fresh["prediction"], (fresh["sex"] == "M").astype(int), np.random.default_rng(3))
    assert iso.check(prop, population=iso.Sample(fresh), seed=0).answer == "violated"
    assert iso.check(prop, population=iso.Sample(fresh | {"prediction": after}), seed=0).answer == "undecided"


def test_outcomes_that_refute_an_assumption_leave_no_repair() -> None:
    people = drawing(UNFAIR)(2000, np.random.default_rng(0))
    people["passed"] = (people["sex"] == "M").astype(int)
    prop = iso.PrincipalFairness(attribute="sex", outcome="passed", assumptions=["outcome never changes"])
    assert list(remedies(prop, None, iso.Sample(people)).values()) == [None]
