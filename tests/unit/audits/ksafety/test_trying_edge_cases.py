"""Edge cases: cases at the ends of ranges, tried before any is drawn. They refute, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from known_people import PEOPLE, RISING, at_least_three, not_repeated, spared_at_six
from numpy.typing import NDArray
from repeatable_checks import Repeatable

import isonomia as iso
from isonomia.audits.ksafety.edge_cases import MAX_EDGE_CASES, max_edge_cases
from isonomia.audits.ksafety.evaluate import RandomChoices
from isonomia.audits.ksafety.evidence import rate_evidence
from isonomia.engine.parameters import Budget
from isonomia.errors import SpecError, UsageError
from isonomia.populations.ranges import Ranges
from isonomia.records import Verdict
from isonomia.records.display.text import failure_text
from isonomia.records.display.view import view_of
from raising import raises

Columns = dict[str, NDArray[Any]]

WIDE = {"age": (18, 90), "priors": (0, 30), "felonies": (0, 9)}
ALONE = "input x1;\noutput d1;\n{ d1 = predict(x1) }\nensures d1 == 0;\n"
MOVED = """input x1;
var x2 := setFeat(x1, "priors", x1.priors + randReal(-1, 1));
output d1;
{ d1 = predict(x2) }
ensures d1 == 0;
"""


def check(text: str, model: Any, population: Any, seed: int = 1, budget: Any = None, **options: Any) -> Verdict:
    return iso.check(iso.safety.property(text, **options), model, population, seed=seed, budget=budget)


def finding(verdict: Verdict) -> str:
    return view_of(verdict).finding(verdict, False)


def ranges(**features: Any) -> iso.Generator:
    return iso.Generator(Ranges(features or WIDE))


def nobody(table: Columns) -> NDArray[Any]:
    return np.zeros(len(table["priors"]), dtype=int)


def least(table: Columns) -> NDArray[Any]:
    """1 for the youngest without priors and felonies: one person in 22,630."""
    return ((table["age"] == 18) & (table["priors"] == 0) & (table["felonies"] == 0)).astype(int)


class Listening:
    """A model that remembers every row that it was asked about."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def __call__(self, table: Columns) -> NDArray[Any]:
        columns = [np.asarray(table[name]).tolist() for name in table]
        self.asked += list(zip(*columns, strict=True))
        return np.zeros(len(columns[0]), dtype=int)


def test_a_defect_at_an_edge_case_of_declared_ranges_is_found_with_every_seed() -> None:
    verdicts = [check(ALONE, least, ranges(), seed) for seed in range(20)]
    assert {verdict.answer for verdict in verdicts} == {"violated"}
    assert {verdict.risk for verdict in verdicts} == {0.0}
    assert all(found["inputs"]["x1"]["age"] == 18 for verdict in verdicts for found in verdict.counterexamples)
    without = [check(ALONE, least, ranges(), seed, edge_cases=False).answer for seed in range(20)]
    assert without.count("violated") < 10


def test_the_verdict_says_that_edge_cases_found_it_and_what_the_draws_show() -> None:
    verdict = check(ALONE, least, ranges())
    assert verdict.details["edge_cases"] == {"tried": 8, "violating": 1, "failed": 0}
    assert verdict.remarks[0].startswith("8 edge cases (at the ends of ranges) tried before the draws: 1 violates it")
    assert verdict.remarks[0].endswith("which is proof. They do not enter any share")
    assert "2,995 random cases showed no violation: less than 0.001 of the cases violate it" in verdict.remarks[1]
    assert finding(verdict) == "1 of 8 edge cases violates it, none of 2,995 random cases"
    assert "1 of 8 edge cases, which lie at the ends of ranges, violates it" in failure_text(verdict)
    assert verdict.expressions[0].threshold == 0
    assert verdict.samples == 8 + 2_995


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("model", [nobody, least])
def test_what_is_drawn_and_every_share_are_the_same_with_and_without_edge_cases(model: Any, seed: int) -> None:
    tried, bare = (check(ALONE, model, ranges(), seed, edge_cases=wanted) for wanted in (True, False))
    assert tried.leaves == bare.leaves
    assert tried.details["violations"] == bare.details["violations"]
    assert tried.details["cases"]["tested"] == bare.details["cases"]["tested"]
    assert tried.samples == bare.samples + tried.details["edge_cases"]["tried"]
    if model is nobody:
        assert (tried.answer, tried.risk, tried.expressions) == (bare.answer, bare.risk, bare.expressions)


@pytest.mark.parametrize(
    ("text", "options", "budget"),
    [
        (ALONE.replace("== 0;\n", "== 0 in 99% of cases;\n"), {}, 3_000),
        (ALONE, {"stop_early": False}, 500),
        (ALONE, {"edge_cases": False}, None),
        (ALONE, {}, 9),
    ],
    ids=["a claim about a share", "violations are counted", "not wanted", "a budget too small to spare a tenth"],
)
def test_no_edge_cases_are_tried_where_they_prove_nothing_or_are_not_wanted(
    text: str, options: Any, budget: Any
) -> None:
    tried = check(text, least, ranges(), budget=budget, **options)
    assert "edge_cases" not in tried.details
    bare = check(text, least, ranges(), budget=budget, **{**options, "edge_cases": False})
    assert replace(tried, seconds=0.0) == replace(bare, seconds=0.0)


def test_no_edge_cases_are_tried_where_every_case_is() -> None:
    verdict = check(RISING, at_least_three, iso.Census(PEOPLE))
    assert verdict.exact
    assert "edge_cases" not in verdict.details


def test_an_edge_case_that_breaks_only_a_claim_about_a_share_refutes_nothing() -> None:
    text = ALONE.replace("ensures d1 == 0;", "ensures d1 == 0 in 50% of cases;\nensures d1 <= 1;")
    verdict = check(text, least, ranges())
    assert verdict.answer == "holds"
    assert verdict.details["edge_cases"] == {"tried": 8, "violating": 0, "failed": 0}


def test_a_proof_is_not_made_smaller_into_something_that_proves_nothing() -> None:
    text = """input x1;
var v := randInt(1, 1000000);
var x2 := setFeat(x1, "priors", x1.priors + v);
output d1;
output d2;
{ d1 = predict(x1); d2 = predict(x2) }
ensures d2 <= d1 in 1% of cases;
ensures d2 < 9;
"""

    def rising(table: Columns) -> NDArray[Any]:
        return np.where(table["priors"] >= 1_000_000, 9, (table["priors"] > 0).astype(int) * 5)

    verdict = check(text, rising, ranges(priors=(0, 0)))
    assert (verdict.answer, verdict.risk) == ("violated", 0.0)
    assert verdict.details["edge_cases"]["violating"] == 1
    assert any(found["outputs"]["d2"] == 9 for found in verdict.counterexamples)


@pytest.mark.parametrize("kind", [iso.Census, iso.Sample])
def test_inputs_at_edge_cases_are_rows_of_the_table_and_nobody_else(kind: Any) -> None:
    rng, listening = np.random.default_rng(3), Listening()
    line = rng.permutation(200)
    check(ALONE, listening, kind({"priors": line, "age": 199 - line}), enumerate=False, budget=60)
    assert len(listening.asked) > 6
    assert {(0, 199), (199, 0)} <= set(listening.asked)
    assert all(age == 199 - priors for priors, age in listening.asked)


def test_inputs_at_edge_cases_of_a_generator_are_people_whom_it_draws() -> None:
    def line(n: int, rng: np.random.Generator) -> Columns:
        priors = rng.integers(0, 200, n)
        return {"priors": priors, "age": 199 - priors}

    listening = Listening()
    verdict = check(ALONE, listening, iso.Generator(line))
    assert verdict.details["edge_cases"]["tried"] >= 2
    assert {(0, 199), (199, 0)} <= set(listening.asked)
    assert all(age == 199 - priors for priors, age in listening.asked)


def test_edge_cases_meet_the_preconditions() -> None:
    text = ALONE.replace("output d1;", "requires x1.priors >= 3 && x1.age < 30;\noutput d1;")
    listening = Listening()
    rows = {"age": np.arange(18, 90), "priors": np.arange(72) % 10}
    verdict = check(text, listening, iso.Census(rows), enumerate=False, eps=0.05)
    assert verdict.details["edge_cases"]["tried"] > 0
    assert all(priors >= 3 and age < 30 for age, priors in listening.asked)


def test_choices_at_the_ends_of_their_ranges_are_tried() -> None:
    def at_an_end(table: Columns) -> NDArray[Any]:
        return (table["priors"] % 1 == 0).astype(int)  # of all real moves only -1, 0 and 1 do that

    people = iso.Census({"priors": np.arange(50.0)})
    assert check(MOVED, at_an_end, people).answer == "violated"
    assert check(MOVED, at_an_end, people, edge_cases=False).answer == "holds"


@pytest.mark.parametrize("budget", [1, 9, 10, 50, 2_994, 2_995, 3_000, 5_000])
def test_edge_cases_count_in_the_budget_and_never_cost_an_answer(budget: int) -> None:
    verdict = check(MOVED, nobody, iso.Census({"priors": np.arange(100.0)}), budget=budget)
    assert verdict.samples <= budget
    assert verdict.answer == ("holds" if budget >= 2_995 else "undecided")


def test_the_number_of_edge_cases_is_limited_in_three_ways() -> None:
    evidence = rate_evidence([None], 0.001, 0.05)
    found = [max_edge_cases(Budget(samples=n), evidence, costly=False) for n in (9, 100, 2_994, 2_995, 3_000, 9_000)]
    assert found == [0, 10, MAX_EDGE_CASES, 0, 5, MAX_EDGE_CASES]
    assert max_edge_cases(Budget(), evidence, costly=False) == MAX_EDGE_CASES
    assert max_edge_cases(Budget(), evidence, costly=True) < MAX_EDGE_CASES


def test_edge_cases_take_their_part_of_the_time() -> None:
    began = check(MOVED, nobody, iso.Census({"priors": np.arange(100.0)}), budget="1000s")
    assert began.answer == "holds"
    cut = check(MOVED, nobody, iso.Census({"priors": np.arange(100.0)}), budget="0.000001s", eps=1e-6)
    assert (cut.answer, cut.stopped) == ("undecided", "the budget of time is spent")


def test_a_model_that_raises_at_an_edge_case_does_not_hold_and_is_not_taken_for_one_that_violates() -> None:
    def fragile(table: Columns) -> NDArray[Any]:
        if (np.asarray(table["age"]) == 18).any():
            raise ValueError("too young")
        return nobody(table)

    def mostly(n: int, rng: np.random.Generator) -> Columns:
        return {"age": rng.integers(19, 90, n), "priors": rng.integers(0, 9, n)}

    class Young:
        """Draws nobody of 18, and says that it could."""

        def __call__(self, n: int, rng: np.random.Generator) -> Columns:
            return mostly(n, rng)

        def edge_cases(self, most: int, rng: np.random.Generator) -> Columns:
            del most, rng
            return {"age": np.full(12, 18), "priors": np.arange(12)}

    verdict = check(ALONE, fragile, iso.Generator(Young()))
    assert verdict.answer == "undecided"
    assert verdict.details["edge_cases"] == {"tried": 12, "violating": 0, "failed": 12}
    assert "12 edge cases failed" in verdict.remarks
    assert any("too young" in remark for remark in verdict.remarks)


def test_a_function_that_raises_at_every_edge_case_fails_there_and_nowhere_else() -> None:
    def older(row: dict[str, Any]) -> dict[str, Any]:
        if row["age"] in (18.0, 90.0):
            raise ValueError("nobody is as old as that")
        return {**row, "age": row["age"] + 1}

    text = "input x1;\nvar x2 := older(x1);\noutput d1;\n{ d1 = predict(x2) }\nensures d1 == 0;\n"
    people = iso.Generator(Ranges({"age": (18.0, 90.0), "priors": (0, 9)}))
    verdict = check(text, nobody, people, functions={"older": older}, eps=0.1)
    assert verdict.answer == "undecided"  # what cannot be computed somewhere cannot be said to hold
    assert verdict.details["cases"]["failed"] == 0
    tried = verdict.details["edge_cases"]["tried"]
    assert verdict.details["edge_cases"]["failed"] == tried > 0
    reason = "older(...) raised ValueError: nobody is as old as that (line 2)"
    assert verdict.details["failures"] == {reason: tried}


@pytest.mark.parametrize("who", ["function", "model"])
def test_a_violation_stays_as_it_is_where_nothing_around_it_can_be_computed(who: str) -> None:
    # Every fifth choice cannot be computed, and all that are tried first to make a violation smaller are such.
    def moved(row: dict[str, Any], far: int) -> dict[str, Any]:
        if who == "function" and far % 5 == 0:
            raise ValueError("no fives")
        return {**row, "age": row["age"] + far}

    def model(table: Any) -> NDArray[Any]:
        ages = np.asarray(table["age"])
        if who == "model" and bool(((ages >= 100) & (ages % 5 == 0)).any()):
            raise ValueError("no fives")
        return (ages < 100).astype(int)

    text = """input x1;
var far := randInt(100, 1000100);
var x2 := moved(x1, far);
output d1;
output d2;
{ d1 = predict(x1)
  d2 = predict(x2) }
ensures d1 <= d2;
"""
    verdict = check(text, model, iso.Census({"age": [10, 20, 30]}), budget=400, functions={"moved": moved})
    assert verdict.answer == "violated"
    assert verdict.counterexamples[0]["outputs"] == {"d1": 1, "d2": 0}
    assert verdict.details["cases"]["failed"] > 0


def test_what_a_draw_says_of_its_edge_cases_must_have_its_columns() -> None:
    class Careless:
        def __call__(self, n: int, rng: np.random.Generator) -> Columns:
            return {"age": rng.integers(19, 90, n), "priors": rng.integers(0, 9, n)}

        def edge_cases(self, most: int, rng: np.random.Generator) -> Columns:
            del most, rng
            return {"age": np.array([18])}

    with raises(iso.DataError, ("age", "priors")):
        check(ALONE, nobody, iso.Generator(Careless()))


def test_a_violation_that_does_not_occur_again_refutes_nothing() -> None:
    answers = iter([1])

    def once(table: Columns) -> NDArray[Any]:
        return np.full(len(table["priors"]), next(answers, 0))

    verdict = iso.check(iso.safety.property(ALONE), not_repeated(once), ranges(), seed=1)
    assert verdict.answer == "holds"
    assert any("but not when computed again" in remark for remark in verdict.remarks)


def test_two_inputs_are_at_edge_cases_independently() -> None:
    text = (
        "input x1;\ninput x2;\noutput d1;\noutput d2;\n{ d1 = predict(x1); d2 = predict(x2) }\nensures d1 + d2 < 2;\n"
    )

    def ends(table: Columns) -> NDArray[Any]:
        return (np.asarray(table["priors"]) % 1_000_000 == 0).astype(int)

    population = ranges(priors=(0, 1_000_000))
    verdict = check(text, ends, population)
    assert verdict.answer == "violated"
    pairs = {tuple(found["inputs"][name]["priors"] for name in ("x1", "x2")) for found in verdict.counterexamples}
    assert {(0, 1_000_000), (1_000_000, 0)} & pairs


def test_where_the_block_is_code_an_edge_case_that_violates_is_the_end() -> None:
    block = "{\n    for _ in range(1):\n        d1 = predict(x1)\n}"
    text = ALONE.replace("{ d1 = predict(x1) }", block)
    verdict = check(text, least, ranges(), allow_code=True)
    assert (verdict.answer, verdict.risk, verdict.samples) == ("violated", 0.0, 1)
    assert verdict.stopped == "an edge case violates it"
    assert finding(verdict) == "1 of 1 edge case violates it"


def test_somebody_who_presses_ctrl_c_at_an_edge_case_gets_an_undecided_verdict_and_nothing_is_kept() -> None:
    made = Repeatable(iso.safety.property(RISING, enumerate=False), at_least_three, iso.Census(PEOPLE), {})
    whole, _ = made.run()

    def pressed(_: Any) -> Any:
        made.model = at_least_three
        raise KeyboardInterrupt

    made.model = pressed
    cut, entries = made.run()
    assert (cut.answer, cut.stopped, cut.samples) == ("undecided", "interrupted", 0)
    assert not {"edge_cases", "found"} & set(entries)
    assert made.run(entries)[0] == whole


def test_a_precondition_that_no_draw_meets_is_no_error_where_an_edge_case_meets_it() -> None:
    text = MOVED.replace("output d1;", "requires x2.priors == 4;\noutput d1;")
    verdict = check(text, nobody, iso.Sample({"priors": np.arange(4.0)}), enumerate=False)
    assert (verdict.answer, verdict.details["edge_cases"]["tried"]) == ("undecided", 1)
    with raises(SpecError, 4, at="requires x2.priors == 4;"):
        check(text, nobody, iso.Sample({"priors": np.arange(4.0)}), enumerate=False, edge_cases=False)


def test_an_edge_case_among_drawn_violations_does_not_hide_how_frequent_they_are() -> None:
    verdict = check(RISING, spared_at_six, iso.Census(PEOPLE), enumerate=False)
    bare = check(RISING, spared_at_six, iso.Census(PEOPLE), enumerate=False, edge_cases=False)
    assert verdict.leaves == bare.leaves
    assert verdict.counterexamples[0]["differs"] == {"x2": {"priors": [5, 6]}}
    assert finding(verdict) == finding(bare)


def test_a_known_edge_case_is_tried_first_and_is_not_said_to_come_from_other_data() -> None:
    found = check(ALONE, least, ranges()).counterexamples
    again = check(ALONE, least, ranges(), known=found)
    assert (again.answer, again.samples) == ("violated", 1)
    assert finding(again) == again.stopped == "1 of 1 known counterexample still violates it"
    assert again.remarks[:1] == (again.stopped,)
    assert not any("other data" in remark for remark in again.remarks)


def test_where_nothing_has_ends_there_are_no_edge_cases() -> None:
    images = iso.Images(np.zeros((3, 4, 4), dtype=np.uint8))
    text = "input x1;\nvar x2 := CHANGE;\noutput d1;\n{ d1 = predict(x2) }\nensures d1 == 0;\n"

    def dark(values: NDArray[Any]) -> NDArray[Any]:
        return (values.mean(axis=(1, 2)) > 300).astype(int)

    blind = check(text.replace("CHANGE", "wNoise(x1)"), dark, images, eps=0.05)
    assert (blind.answer, "edge_cases" in blind.details) == ("holds", False)
    brighter = check(text.replace("CHANGE", "brightness(x1, randReal(0, 10))"), dark, images, eps=0.05)
    assert (brighter.answer, brighter.details["edge_cases"]["tried"] > 0) == ("holds", True)


def test_edge_cases_are_wanted_or_not() -> None:
    with raises(UsageError, "edge_cases='yes'"):
        iso.safety.property(ALONE, edge_cases="yes")  # type: ignore[arg-type]


def test_choices_are_at_each_end_for_a_fourth_of_the_cases_and_inside_their_ranges() -> None:
    supply = RandomChoices(np.random.default_rng(0), at_ends=True)
    low, high = np.full(400, -2.5), np.full(400, 7.5)
    whole, empty = supply.choose("whole", low, high)
    real, _ = supply.choose("real", low, high)
    above, none = supply.choose("whole", np.full(400, 3.0), np.repeat([9.0, 2.0], 200))
    seeds, _ = supply.choose("seed", low, high)
    assert not empty.any()
    assert [np.count_nonzero(whole == end) >= 100 for end in (-2, 7, 0)] == [True] * 3
    assert [np.count_nonzero(real == end) >= 100 for end in (-2.5, 7.5, 0.0)] == [True] * 3
    assert len(np.unique(real)) == 103
    assert set(above[~none].tolist()) >= {3, 9}
    assert (none == np.repeat([False, True], 200)).all()
    assert np.corrcoef(whole == -2, real == -2.5)[0, 1] < 0.3
    assert len(np.unique(seeds)) > 390
    assert len(supply.choices) == 4
    assert supply.bounded


def test_seeds_alone_have_no_ends() -> None:
    supply = RandomChoices(np.random.default_rng(0), at_ends=True)
    supply.choose("seed", np.zeros(4), np.zeros(4))
    assert not supply.bounded


def test_where_queries_are_limited_edge_cases_come_one_by_one_and_batches_start_small() -> None:
    """Violations at a corner and 1 in 310 inside the ranges: cases that are asked about until one is found."""
    rare = lambda table: ((table["priors"] == 17) & (table["felonies"] >= 0)).astype(int)  # noqa: E731
    for model, most in ((least, 2), (rare, 400)):
        quick = check(ALONE, model, ranges(), budget=3025, shrink=False)
        costly = check(ALONE, model, ranges(), budget="10000 queries", shrink=False)
        assert quick.answer == costly.answer == "violated"
        assert costly.samples <= most < quick.samples
