"""Nothing is said about nobody: what a verdict may rest on where a group was never seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isonomia as iso
from raising import raises


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
    assert any("met sex == 'Z', so nothing is known" in remark for remark in verdict.remarks)


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


PEOPLE = draw(300, np.random.default_rng(0))
TABLES = [iso.Sample, iso.Census, lambda data: iso.Census(data, exact=False)]

MISSPELT = [
    "P[y] / P[y | sex == 'Man'] >= 0.1",
    "P[y | q] >= 0.8 * P[y | sex == 'Man']",
    "for g in {'M', 'Man'}: P[y | sex == g] >= 0.1",
    "0.1 / P[y | sex == 'Man'] >= 0.05",
    "P[y] >= 0.1 or P[y | q and sex == 'Man'] >= 0.1",
    "P[y | sex in {'F', 'Man'}] >= 0.1",
    "P[y | sex != 'Man'] >= 0.1",
    "P[y == other.y | other.sex == 'Man'] >= 0.1",
]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("text", MISSPELT)
def test_a_value_that_nobody_in_a_table_has_is_an_error_that_names_the_nearest(text: str, table: Any) -> None:
    with raises(iso.SpecError, "sex", "M", "F", "Man") as caught:
        iso.check(text, population=table(PEOPLE), seed=1)
    assert caught.value.place is not None


@pytest.mark.parametrize("table", TABLES)
def test_a_number_that_nobody_has_is_an_error_unless_others_of_its_set_occur(table: Any) -> None:
    people = table({"age": [18, 19, 20, 40] * 30, "y": [True, False] * 60})
    for text in ("P[y | age == 21] >= 0.1", "P[y | age in {21, 22}] >= 0.1"):
        with raises(iso.SpecError, "age", 20, 19, 18, 40, at="21"):
            iso.check(text, population=people, seed=1)
    assert iso.check("P[y | age in {17, 18}] >= 0.1 or P[y] >= 0.1", population=people, seed=1).answer == "holds"


@pytest.mark.parametrize("table", TABLES)
def test_a_declared_value_that_nobody_has_leaves_it_undecided_and_says_why(table: Any) -> None:
    pandas = pytest.importorskip("pandas")
    text = "P[y] >= 0.1 * P[y | sex == 'Z']"
    frame = pandas.DataFrame(PEOPLE).assign(sex=pandas.Categorical(PEOPLE["sex"], categories=["F", "M", "Z"]))
    named = iso.Sample if table is iso.Sample else iso.Census
    options = {} if table in {iso.Sample, iso.Census} else {"exact": False}
    for people in (table(frame), named(PEOPLE, values={"sex": ["F", "M", "Z"]}, **options)):
        verdict = iso.check(text, population=people, seed=1)
        assert verdict.answer == "undecided"
        assert any("met sex == 'Z', so nothing is known" in remark for remark in verdict.remarks)


def test_a_for_runs_over_declared_values_also_where_nobody_has_one() -> None:
    people = iso.Sample(PEOPLE, values={"sex": ["F", "M", "Z"]})
    verdict = iso.check("for g in sex: P[y | sex == g] >= 0.1", population=people, seed=1)
    assert verdict.answer == "undecided"
    with raises(iso.DataError, "F", "M"):
        iso.check("for g in sex: P[y | sex == g] >= 0.1", population=iso.Sample(PEOPLE, values={"sex": ["F"]}))
    with raises(iso.DataError, "y", name="sexx", meant="sex"):
        iso.Sample(PEOPLE, values={"sexx": ["F"]})
    assert people.fingerprint() != iso.Sample(PEOPLE).fingerprint()


def test_where_all_values_are_declared_another_one_is_an_error_for_draws_too() -> None:
    world = iso.Causal({"sex": iso.Categories({"F": 0.5, "M": 0.5}), "y": "sex == 'F'"})
    for people in (iso.Generator(draw, values={"sex": ["F", "M"]}), world):
        with raises(iso.SpecError, "sex", "M", "F", "Man", at="'Man'"):
            iso.check("P[y] >= 0.1 * P[y | sex == 'Man']", population=people, seed=1)


def test_a_long_table_is_looked_through_once_nobody_was_found(tmp_path: Any) -> None:
    for part in range(2):
        rows = "\n".join(f"{'FM'[k % 2]},{k % 3 == 0:d}" for k in range(50))
        (tmp_path / f"part{part}.csv").write_text(f"sex,y\n{rows}\n")
    for people in (iso.Census(str(tmp_path / "*.csv")), iso.Sample(str(tmp_path / "*.csv"), order="file")):
        with raises(iso.SpecError, "sex", "M", "F", "Man", at="'Man'"):
            iso.check("P[y == 1] >= 0.1 * P[y == 1 | sex == 'Man']", population=people, seed=1)


def test_a_verdict_states_which_values_a_for_speaks_of() -> None:
    text, stated = "for g in sex: P[y | sex == g] >= 0.1", "sex has no values other than 'F', 'M'"
    assert stated in iso.check(text, population=iso.Sample(PEOPLE), seed=1).assumptions
    assert stated in iso.check(text, population=iso.Generator(draw), seed=1).assumptions
    assert stated not in iso.check(text, population=iso.Census(PEOPLE), seed=1).assumptions
    assert stated not in iso.check("P[y | sex == 'F'] >= 0.1", population=iso.Sample(PEOPLE), seed=1).assumptions
    named = iso.fairness.four_fifths("sex", decision="y", given=iso.col("q") == 1)
    assert stated in iso.check(named, population=iso.Sample(PEOPLE), seed=1).assumptions


def test_a_rare_group_that_no_pilot_draw_shows_is_never_passed_over_in_silence() -> None:
    def rare(n: int, rng: np.random.Generator) -> dict[str, Any]:
        group = np.where(rng.random(n) < 5e-5, "rare", np.where(rng.random(n) < 0.5, "a", "b"))
        return {"group": group, "y": (group != "rare") & (rng.random(n) < 0.9)}

    people, text = iso.Generator(rare), "for g in group: P[y | group == g] >= 0.6"
    assert "rare" not in people.values("group")
    verdict = iso.check(text, population=people, seed=1, delta=1e-6)
    assert "group has no values other than 'a', 'b'" in verdict.assumptions

    def late(n: int, rng: np.random.Generator) -> dict[str, Any]:
        drawn = rare(n, rng)
        return drawn if n >= 10_000 else {**drawn, "group": np.where(np.arange(n) == 0, "late", drawn["group"])}

    with raises(iso.DataError, "a", "b", "late", "group"):
        iso.check(text, population=iso.Generator(late, names=["group", "y"]), seed=1, delta=1e-6)
    declared = iso.Generator(rare, values={"group": ["a", "b", "rare"]})
    assert iso.check(text, population=declared, seed=1, delta=1e-6, budget=3000).answer == "undecided"


def test_principal_fairness_states_which_subgroups_it_speaks_of() -> None:
    fair = iso.PrincipalFairness(attribute="sex", outcome="y", prediction="q", given=["town"], within=0.5)
    people = {**PEOPLE, "town": np.where(PEOPLE["x"] < 0.5, "A", "B")}
    stated = "every person belongs to one of these combinations of town: town='A', town='B'"
    assert stated in iso.check(fair, population=iso.Sample(people), seed=1).assumptions
    assert stated not in iso.check(fair, population=iso.Census(people), seed=1).assumptions


def scores(table: Any) -> Any:
    return 0.1 + 0.8 * np.asarray(table["x"])


def never(table: Any) -> Any:
    return np.zeros(len(table["x"]), dtype=int)


def labels(low: Any, high: Any) -> Any:
    return lambda table: np.where(np.asarray(table["x"]) < 0.5, low, high)


@pytest.mark.parametrize("table", [*TABLES, lambda _: iso.Generator(draw)])
@pytest.mark.parametrize(
    ("model", "value"),
    [(scores, "1"), (labels(2, 3), "1"), (labels("no", "yes"), "1"), (labels("no", "yes"), "'Yes'")],
)
def test_a_prediction_that_the_model_never_gives_is_an_error_with_those_that_it_gives(
    model: Any, value: str, table: Any
) -> None:
    for text in (f"P[prediction == {value}] <= 0.5", f"P[y | prediction == {value}] >= 0.01 or P[y] >= 0.01"):
        with pytest.raises(iso.SpecError, match=r"such as (0\.\d|2, 3|'no'|'yes')"):
            iso.check(text, model, table(PEOPLE), seed=1)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    ("model", "value"), [(never, "1"), (labels(0, 1), "1"), (labels("no", "no"), "'yes'"), (labels("a", "b"), "'c'")]
)
def test_a_class_that_a_model_happens_to_give_to_nobody_is_no_error(model: Any, value: str, table: Any) -> None:
    verdict = iso.check(f"P[prediction == {value}] <= 0.9", model, table(PEOPLE), seed=1)
    assert verdict.answer == "holds"


def test_stored_predictions_are_looked_at_too() -> None:
    stored = {**PEOPLE, "prediction": scores(PEOPLE)}
    for people in (iso.Census(stored), iso.Sample(stored)):
        with raises(iso.SpecError, 0.5, name="1", at="1"):
            iso.check("P[prediction == 1] <= 0.5", population=people, seed=1)


@pytest.mark.parametrize("kind", [iso.Census, iso.Sample])
def test_an_event_that_never_happens_is_mentioned_whatever_its_value_contains(kind):
    people = kind({"g": ["x | y", "x | z"] * 50})
    verdict = iso.check("P[g == 'x | w'] + P[g == 'x | y'] <= 0.9", population=people, seed=1)
    assert any("P[g == 'x | w'] was 0" in remark for remark in verdict.remarks)
