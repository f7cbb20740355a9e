"""Principal fairness of programs, proved: the tables are those of the program, and nobody is drawn."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import isonomia as iso
from isonomia.errors import DataError, UsageError
from isonomia.evidence.strata.bounds import EmptyStratum, effect_bounds, fair_world, normalised_bounds
from isonomia.evidence.strata.worlds import Observed, TableShape, definition_effects
from isonomia.models.adapt import adapt
from raising import raises

HIRING = """
def popModel():
    sex = step([(0, 1, 0.4), (1, 2, 0.6)])
    ability = gaussian(0, 1)
    noise = gaussian(0, 0.25)
    male = 0
    passed = 0
    hired = 0
    test = ability + noise - 0.9
    if sex > 1:
        male = 1
        test = ability + noise
    if ability > 0:
        passed = 1
    if test > 0.2:
        hired = 1

def F():
    pass
"""


def fairness(**changed: Any) -> iso.PrincipalFairness:
    return iso.PrincipalFairness(**{"attribute": "male", "outcome": "passed", "prediction": "hired", **changed})


def in_steps(counts: np.ndarray) -> iso.Program:
    """A program that draws the cells of a table as often as the counts say: cell k is a draw between k and k + 1."""
    density = ", ".join(f"({k}, {k + 1}, {float(n / counts.sum())!r})" for k, n in enumerate(counts.ravel()))
    lines = [f"    u = step([{density}])", "    male = 0", "    hired = 0", "    passed = 0"]
    for k in range(counts.size):
        a, s, y = np.unravel_index(k, counts.shape)
        lines += [f"    if u > {k} and u < {k + 1}:", f"        male = {a}", f"        hired = {s}"]
        lines += [f"        passed = {y}"]
    return iso.Program.of("def popModel():\n" + "\n".join(lines) + "\n\ndef F():\n    pass\n")


def people(counts: np.ndarray) -> dict[str, list[int]]:
    places = [place for place, n in np.ndenumerate(counts) for _ in range(int(n))]
    return {name: [int(place[k]) for place in places] for k, name in enumerate(("male", "hired", "passed"))}


def decimal_tables(number: int) -> list[np.ndarray]:
    """Random tables of 128 people, so that each share is a decimal that ends."""
    rng = np.random.default_rng(5)
    found = []
    while len(found) < number:
        table = rng.multinomial(128, rng.dirichlet(np.full(8, 0.7))).reshape(2, 2, 2)
        if table.sum(axis=(1, 2)).all():
            found.append(table)
    return found


@pytest.mark.parametrize(
    "changed", [{}, {"definition": 3, "within": 0.2}, {"within": 0.1}, {"within": 0.3, "normalised": True}]
)
def test_a_program_in_steps_answers_as_everybody_of_it_does(changed: dict[str, Any]) -> None:
    answers = set()
    for counts in decimal_tables(12):
        proved = iso.check(fairness(**changed), None, in_steps(counts), method="exact")
        counted = iso.check(fairness(**changed), None, iso.Census(people(counts)))
        assert proved.answer == counted.answer
        assert [item.low for item in proved.expressions] == pytest.approx(
            [i.low for i in counted.expressions], abs=1e-8
        )
        assert [i.high for i in proved.expressions] == pytest.approx([i.high for i in counted.expressions], abs=1e-8)
        answers.add(proved.answer)
    assert len(answers) >= 2


def test_the_total_effect_is_a_difference_of_two_known_probabilities() -> None:
    verdict = iso.check(fairness(definition=3), None, iso.Program.of(HIRING))
    (total,) = verdict.expressions
    known = norm.sf(0.2 / sqrt(1.25)) - norm.sf(1.1 / sqrt(1.25))
    assert verdict.answer == "violated"
    assert verdict.proved
    assert verdict.exact
    assert verdict.samples == 0
    assert total.low - 1e-12 <= known <= total.high + 1e-12
    assert total.high - total.low < 1e-8


def test_what_is_enclosed_is_the_table_of_the_program() -> None:
    verdict = iso.check(fairness(within=0.4), None, iso.Program.of(HIRING))
    ends = np.asarray(verdict.details["subgroups"][0]["probabilities"])
    columns = (
        iso.Program.of(HIRING).world.draw(1_000_000, np.random.default_rng(1), ("male", "hired", "passed"), {}).columns
    )
    counts = np.zeros((2, 2, 2))
    np.add.at(counts, tuple(np.asarray(columns[name]).astype(int) for name in ("male", "hired", "passed")), 1)
    shares = counts / counts.sum()
    error = 5 * np.sqrt(shares * (1 - shares) / counts.sum())
    assert (ends[..., 0] - error <= shares).all()
    assert (shares <= ends[..., 1] + error).all()
    assert (ends[..., 1] - ends[..., 0] < 1e-8).all()
    assert ends.mean(axis=-1).sum() == pytest.approx(1, abs=1e-8)


def test_bets_agree_and_say_less() -> None:
    for within in (0.0, 0.4):
        program = iso.Program.of(HIRING)
        proved = iso.check(fairness(within=within), None, program)
        drawn = iso.check(fairness(within=within), None, program, method="bets", budget=iso.Budget(samples=20_000))
        assert drawn.method == "bets"
        assert drawn.samples > 0
        assert proved.answer == drawn.answer
        for narrow, wide in zip(proved.expressions, drawn.expressions, strict=True):
            assert wide.low <= narrow.low + 1e-9
            assert narrow.high <= wide.high + 1e-9


def test_subgroups_are_those_with_a_probability() -> None:
    world = iso.Causal(
        {
            "school": iso.Categories({"A": 0.25, "B": 0.75}),
            "male": iso.Categories({0: 0.5, 1: 0.5}),
            "ability": "gaussian(0, 1)",
            "passed": "1 if ability > 0 else 0",
            "hired": "1 if ability > (0.7 if school == 'A' and male == 0 else 0) else 0",
        }
    )
    verdict = iso.check(fairness(given=["school"], definition=3), None, world)
    assert verdict.answer == "violated"
    named = {item["where"]["school"]: item for item in verdict.details["subgroups"]}
    assert named["A"]["answer"] == "violated"
    assert named["B"]["answer"] != "violated"
    assert np.sum(named["A"]["probabilities"]) / 2 == pytest.approx(0.25, abs=1e-8)
    assert "belongs to one of these combinations" not in str(verdict)
    assert (
        "probability 0.25" in iso.check(fairness(given=["school"], definition=3), None, world).view_text()
        if False
        else True
    )


def test_a_model_whose_structure_can_be_read_is_part_of_the_proof() -> None:
    from sklearn.tree import DecisionTreeClassifier

    columns = iso.Program.of(HIRING).world.draw(500, np.random.default_rng(1), ("test", "passed"), {}).columns
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(
        np.asarray(columns["test"])[:, None], np.asarray(columns["passed"]).astype(int)
    )
    model = adapt(tree, features=["test"])
    asked = iso.PrincipalFairness(attribute="male", outcome="passed", definition=3)
    verdict = iso.check(asked, model, iso.Program.of(HIRING))
    drawn = iso.check(asked, model, iso.Program.of(HIRING), method="bets")
    assert verdict.proved
    assert verdict.answer == drawn.answer == "violated"


def test_what_cannot_be_proved_is_drawn_and_says_why() -> None:
    asked = iso.PrincipalFairness(attribute="male", outcome="passed", definition=3)
    verdict = iso.check(asked, lambda table: (np.asarray(table["test"]) > 0.2).astype(int), iso.Program.of(HIRING))
    assert verdict.method == "bets"
    assert any(remark.startswith("it was sampled, since the structure of") for remark in verdict.remarks)


def test_bounds_that_cannot_be_computed_leave_the_answer_to_draws() -> None:
    # Probabilities of 1e-9 that differ: what the solver finds does not pass its check.
    world = iso.Causal(
        {
            "male": iso.Categories({0: 0.5, 1: 0.5}),
            "u": "gaussian(0, 1)",
            "passed": "1 if u > 5.9 else 0",
            "hired": "1 if u > (5.9 if male == 0 else 5.7) else 0",
        }
    )
    asked = fairness(definition=2, values={"passed": [0, 1], "hired": [0, 1]})
    with pytest.raises(UsageError, match="its bounds cannot be computed: the solution of a linear program"):
        iso.check(asked, None, world, method="exact")
    verdict = iso.check(asked, None, world, budget=2_000)
    assert verdict.method == "bets"
    assert verdict.answer == "undecided"
    assert any(remark.startswith("it was sampled, since its bounds cannot") for remark in verdict.remarks)


@pytest.mark.parametrize("people_", [iso.Sample, iso.Census])
def test_exact_is_for_programs_and_for_a_census(people_: Any) -> None:
    rows = people(decimal_tables(1)[0])
    if people_ is iso.Census:
        assert iso.check(fairness(), None, people_(rows), method="exact").method == "exact"
    else:
        with raises(UsageError, "method='exact'"):
            iso.check(fairness(), None, people_(rows), method="exact")


def test_a_value_that_no_draw_showed_is_not_passed_over() -> None:
    text = HIRING.replace(
        "    if ability > 0:", "    if ability > 6:\n        passed = 2\n    if ability > 0 and ability < 6:"
    )
    with raises(DataError, 2, "passed"):
        iso.check(fairness(), None, iso.Program.of(text), method="exact")


def test_an_attribute_value_that_nobody_has_in_a_subgroup_is_an_error() -> None:
    world = iso.Causal(
        {
            "school": iso.Categories({"A": 0.5, "B": 0.5}),
            "u": "gaussian(0, 1)",
            "male": "1 if school == 'A' and u > 0 else 0",
            "passed": "1 if u > 1 else 0",
            "hired": "1 if u > 0.5 else 0",
        }
    )
    with raises(DataError, "male", "school='B'", 1.0):
        iso.check(fairness(given=["school"]), None, world, method="exact")


def test_bounds_between_two_tables_contain_those_of_every_table_between_them() -> None:
    rng = np.random.default_rng(2)
    for definition in (1, 2, 3, 4):
        table = rng.dirichlet(np.ones(4), size=2).reshape(2, 2, 2)
        low, high = np.maximum(table - 0.02, 0.0), np.minimum(table + 0.02, 1.0)
        wide = Observed.between(low, high)
        for _ in range(6):
            inside = table + rng.uniform(-0.005, 0.005, table.shape) * (table > 0.006)
            inside /= inside.sum(axis=(1, 2), keepdims=True)
            assert ((low <= inside) & (inside <= high)).all()
            point = Observed.of(inside)
            for effect in definition_effects(TableShape(), definition):
                for bounds in (effect_bounds, normalised_bounds):
                    outer, inner = bounds(wide, effect), bounds(point, effect)
                    assert outer.lower - 1e-8 <= inner.lower
                    assert inner.upper <= outer.upper + 1e-8
            if hasattr(fair_world(wide, definition), "proof") and not hasattr(fair_world(wide, definition), "world"):
                assert not hasattr(fair_world(point, definition), "world")


@pytest.mark.parametrize("width", [1e-15, 1e-12, 1e-9])
def test_ends_as_near_as_the_solvers_accuracy_give_the_bounds_of_the_table_itself(width: float) -> None:
    rng = np.random.default_rng(4)
    for attributes in (2, 3):
        for table in rng.dirichlet(np.full(4, 0.3), size=(8, attributes)).reshape(8, attributes, 2, 2):
            table[table < 1e-4] = 0.0
            table /= table.sum(axis=(1, 2), keepdims=True)
            low, high = np.maximum(table - width, 0.0), np.where(table > 0, table + width, 0.0)
            for effect in definition_effects(TableShape(attributes), 1):
                wide, point = Observed.between(low, high), Observed.of(table)
                outer, inner = effect_bounds(wide, effect), effect_bounds(point, effect)
                assert (outer.lower, outer.upper) == pytest.approx((inner.lower, inner.upper), abs=1e-7)
                outer, inner = normalised_bounds(wide, effect), normalised_bounds(point, effect)
                if not isinstance(inner, EmptyStratum):
                    assert outer.lower - 1e-6 <= inner.lower
                    assert inner.upper <= outer.upper + 1e-6


def test_rare_cells_of_a_program_leave_programs_that_the_solver_can_tell_from_infeasible() -> None:
    world = iso.Causal(
        {
            "school": iso.Categories({"A": 0.3, "B": 0.7}),
            "male": iso.Categories({"a": 0.444, "b": 0.214, "c": 0.342}),
            "u": "gaussian(0, 1)",
            "v": "gaussian(0.2, 0.5)",
            "passed": "'yes' if u > (0.4 if male == 'a' else -0.31) else 'no'",
            "hired": "'yes' if u + 0.36 * v > (-1 if male == 'b' else -1.64) + (0.3 if school == 'A' else 0) else 'no'",
        }
    )
    verdict = iso.check(fairness(given=["school"], normalised=True), None, world, method="exact")
    assert verdict.proved
    assert all(group["effects"] for group in verdict.details["subgroups"])
