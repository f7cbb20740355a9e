import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import isonomia as iso
from isonomia.errors import DataError, SpecError, UsageError
from isonomia.populations.protocol import Wanted
from isonomia.spec.tree import Do, Literal, Setting
from raising import raises

LINEAR = iso.Causal({"a": "gaussian(0, 1)", "b": "gaussian(2 * a, 4)", "c": "3 * b - a"})
PEOPLE = {"a": [0.5, -1.0, 2.0], "b": [1.0, 0.0, 7.0], "c": [2.5, 1.0, 19.0]}


def table(model, n=200, seed=0):
    drawn = model.draw(n, seed=seed)
    return {name: drawn.column(name) for name in model.names}


# ---------------------------------------------------------------------------- counterfactuals


def test_a_linear_counterfactual_is_the_closed_form():
    found = LINEAR.counterfactual(PEOPLE, a=1.0)
    a, b = np.asarray(PEOPLE["a"]), np.asarray(PEOPLE["b"])
    expected = b + 2 * (1.0 - a)
    np.testing.assert_allclose(found.column("b"), expected, atol=1e-12)
    np.testing.assert_allclose(found.column("c"), 3 * expected - 1.0, atol=1e-12)


def test_what_a_change_does_not_reach_keeps_every_bit():
    rng = np.random.default_rng(0)
    model = iso.Causal(
        {
            "sex": iso.Categories({"F": 0.5, "M": 0.5}),
            "age": "gaussian(38.58, 187)",
            "hours": "step([(0, 40, 0.7), (40, 100, 0.3)])",
            "pay": "gaussian(3 * age, 7) if sex == 'M' else gaussian(2 * age, 11)",
            "tax": iso.Additive(lambda pay: 0.3 * pay, iso.Uniform(-5, 5)),
        }
    )
    sex = np.asarray(["F", "M"], dtype=object)[rng.integers(0, 2, 500)]
    age = rng.integers(17, 90, 500)
    pay = np.round(rng.normal(100, 10, 500), 1)
    people = {"sex": sex, "age": age, "hours": rng.integers(0, 100, 500), "pay": pay, "tax": np.round(0.3 * pay, 2)}
    found = model.counterfactual(people, sex="M")
    assert np.array_equal(found.column("age"), age)
    assert np.array_equal(found.column("hours"), people["hours"])
    men = sex == "M"
    for name in ("pay", "tax"):
        assert np.array_equal(found.column(name)[men], people[name][men])
        assert not np.any(found.column(name)[~men] == people[name][~men])


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("gaussian(a, 4)", lambda y, a, b: y + (b - a)),
        ("a + gaussian(0, 1)", lambda y, a, b: y + (b - a)),
        ("gaussian(0, 1) - a", lambda y, a, b: y - (b - a)),
        ("a - gaussian(0, 1)", lambda y, a, b: y + (b - a)),
        ("a * gaussian(1, 1)", lambda y, a, b: y / a * b),
        ("gaussian(5, 1) / a", lambda y, a, b: y * a / b),
        ("a / gaussian(5, 1)", lambda y, a, b: y / a * b),
        ("-gaussian(a, 1)", lambda y, a, b: y - (b - a)),
        ("-(2 * (gaussian(a, 1) + a))", lambda y, a, b: y - 4 * (b - a)),
        ("step([(0, 1, 0.5), (3, 5, 0.5)]) + a", lambda y, a, b: y + (b - a)),
        ("gaussian(0, a * a)", lambda y, a, b: y / abs(a) * abs(b)),
        ("gaussian(0, 1) if a > 3 else gaussian(10, 4)", lambda y, a, _: np.where(a > 3, 10 + 2 * y, y)),
        (
            "gaussian(0, 1) if a > 3 else (gaussian(1, 4) if a > 2 else a + gaussian(5, 9))",
            lambda y, a, b: b + 5 + 3 * np.where(a > 3, y, np.where(a > 2, (y - 1) / 2, (y - a - 5) / 3)),
        ),
    ],
)
def test_a_draw_is_peeled_out_of_arithmetic_and_choices(text, change):
    model = iso.Causal({"a": "step([(1, 4, 1)])", "y": text})
    people = table(model)
    found = model.counterfactual(people, a=1.5)
    np.testing.assert_allclose(found.column("y"), change(people["y"], people["a"], 1.5), atol=1e-9)
    assert model.cannot_be_undone == {}


def test_drawn_people_and_the_same_people_abducted_have_the_same_counterfactuals():
    model = iso.Causal(
        {
            "sex": iso.Categories({"F": 0.4, "M": 0.6}),
            "school": "gaussian(12, 4) if sex == 'M' else step([(0, 10, 0.5), (10, 20, 0.5)])",
            "job": iso.Equation(
                lambda school, noise: school + np.exp(noise),
                iso.Normal(1, 0.5),
                inverse=lambda value, school: np.log(value - school),
            ),
            "pay": iso.Additive(lambda school, job: school * job, iso.Uniform(-1, 1)),
        }
    )
    version = Do((Setting("sex", Literal("M")),))
    found = model.open(np.random.SeedSequence(0), Wanted(None, {version: None})).people(
        0, 500, np.random.default_rng(1)
    )
    again = model.counterfactual(found[None], sex="M")
    for name in ("school", "job", "pay"):
        np.testing.assert_allclose(again.column(name), found[version].column(name), rtol=1e-6, atol=1e-6)


def test_values_on_the_edge_of_a_cell_can_have_come_from_it():
    model = iso.Causal({"a": "gaussian(0, 1)", "x": "0.1 * step([(0, 3, 0.5), (3, 7, 0.5)]) + a"})
    a = np.asarray([0.1, 0.2, 0.7, 1.1])
    people = {"a": a, "x": np.asarray([0.0, 0.3, 0.7, 0.3]) + a}
    np.testing.assert_allclose(model.counterfactual(people, a=0.0).column("x"), [0.0, 0.3, 0.7, 0.3], atol=1e-12)


def test_a_variable_that_is_set_to_what_it_is_changes_nothing():
    people = table(LINEAR)
    same = LINEAR.counterfactual(people)
    for name in LINEAR.names:
        assert np.array_equal(same.column(name), people[name])


@pytest.mark.parametrize(
    ("equations", "name", "reason"),
    [
        ({"x": lambda noise: noise}, "x", "has noise and no inverse"),
        ({"x": "gaussian(0, 1) + gaussian(0, 1)"}, "x", "cannot be isolated"),
        ({"x": "gaussian(gaussian(0, 1), 1)"}, "x", "cannot be isolated"),
        ({"x": "gaussian(0, 1) * gaussian(0, 1)"}, "x", "cannot be isolated"),
        ({"x": "gaussian(0, 1) > 0"}, "x", "cannot be isolated"),
        ({"x": "1 if gaussian(0, 1) > 0 else 0"}, "x", "cannot be isolated"),
    ],
)
def test_an_equation_that_cannot_be_undone_is_named_with_the_reason(equations, name, reason):
    model = iso.Causal({**equations, "y": "gaussian(0, 1)"})
    assert list(model.cannot_be_undone) == [name]
    assert reason in model.cannot_be_undone[name]
    with pytest.raises(SpecError, match=rf"equation of '{name}' cannot be inverted: .*{reason}"):
        model.counterfactual(table(model, 3), y=1.0)


@pytest.mark.parametrize(
    ("equations", "people", "row", "shown"),
    [
        ({"x": "step([(0, 1, 0.5), (2, 3, 0.5)])"}, {"x": [0.5, 1.5]}, 1, [1.5]),
        ({"x": "step([(0, 1, 0), (2, 3, 1)])"}, {"x": [0.5]}, 0, [0.5]),
        ({"x": "gaussian(0, 1)"}, {"x": [1.0, np.nan]}, 1, ["missing"]),
        ({"x": "gaussian(0, 1)"}, {"x": ["a", "b"]}, None, ["a"]),
        ({"x": "gaussian(2, 0)"}, {"x": [2.0, 2.5]}, 1, [2.5]),
        ({"a": "gaussian(0, 1)", "x": "2 * a"}, {"a": [1.0, 2.0], "x": [2.0, 5.0]}, 1, [4.0, 5.0]),
        ({"a": "gaussian(0, 1)", "x": lambda a: a}, {"a": [1.0, 2.0], "x": [1.0, 5.0]}, 1, [2.0, 5.0]),
        ({"x": iso.Categories({"a": 0.5, "b": 0.5})}, {"x": ["a", "c"]}, 1, ["c"]),
        ({"x": iso.Categories({"a": 0.5, "b": 0.5})}, {"x": ["a", None]}, 1, ["missing"]),
        ({"x": iso.Categories({"a": 1.0, "b": 0.0})}, {"x": ["a", "b"]}, 1, ["b"]),
        ({"x": iso.Additive(lambda: 0, iso.Uniform(0, 1))}, {"x": [0.5, 1.5]}, 1, [1.5]),
        ({"x": iso.Additive(lambda: 0)}, {"x": ["a"]}, None, ["a"]),
        (
            {"x": iso.Equation(lambda noise: noise, inverse=lambda value: value + 1)},
            {"x": [1.0]},
            0,
            [2.0, 1.0],
        ),
        (
            {"x": iso.Equation(lambda noise: noise, inverse=lambda: 1)},
            {"x": [1.0]},
            None,
            ["inverse", "TypeError"],
        ),
        (
            {"a": "gaussian(0, 1)", "x": "gaussian(0, 1) if a > 0 else step([(0, 1, 1)])"},
            {"a": [1.0, 1.0, -1.0, -1.0], "x": [9.0, 9.0, 0.5, 1.5]},
            3,
            [1.5],
        ),
        (
            {"a": "gaussian(0, 1)", "x": "gaussian(0, 1) if a > 0 else 7"},
            {"a": [1.0, -1.0, -1.0], "x": [9.0, 7.0, 8.0]},
            2,
            [7.0, 8.0],
        ),
        ({"a": "gaussian(0, 1)", "x": "a * gaussian(5, 1)"}, {"a": [1.0, 0.0], "x": [5.0, 3.0]}, 1, [3.0]),
        (
            {"a": "gaussian(0, 1)", "x": "a * gaussian(5, 1)"},
            {"a": [1.0, 0.0], "x": [5.0, 0.0]},
            1,
            [0],
        ),
        ({"a": "gaussian(0, 1)", "x": "gaussian(5, a)"}, {"a": [1.0, 0.0], "x": [5.0, 5.0]}, 1, [0]),
    ],
)
def test_people_who_cannot_have_come_from_the_equations_are_named(equations, people, row, shown):
    with raises(DataError, *shown, name="x", row=row):
        iso.Causal(equations).counterfactual(people)


def test_noise_that_the_values_do_not_tell_is_asked_for_only_where_it_matters():
    model = iso.Causal({"works": "step([(0, 1, 0.5), (1, 2, 0.5)])", "z": "gaussian(0, 1)", "pay": PAY})
    people = {"works": [0.5, 1.5], "z": [1.0, 2.0], "pay": [0.0, 6.0]}
    assert model.counterfactual(people, z=0.0).column("pay").tolist() == [0.0, 6.0]
    assert model.counterfactual(people, works=0.5).column("pay").tolist() == [0.0, 0.0]
    with raises(DataError, name="pay", row=0):
        model.counterfactual(people, works=1.5)
    nobody = {"works": [0.5], "z": [1.0], "pay": [0.0]}
    with raises(DataError, name="pay", row=0):
        model.counterfactual(nobody, works=1.5)


PAY = "gaussian(5, 1) if works > 1 else 0"


# ---------------------------------------------------------------------------- one value for each person

MIXED = iso.Causal(
    {
        "sex": iso.Categories({"F": 0.5, "M": 0.5}),
        "school": "gaussian(10 + (2 if sex == 'M' else 0), 4)",
        "job": "'boss' if school > 12 else 'clerk'",
        "pay": iso.Additive(lambda school, sex: 2 * school + np.where(sex == "M", 5, 0), iso.Normal(0, 3)),
    }
)


@pytest.mark.parametrize("names", [("sex",), ("school",), ("job",), ("sex", "school"), ("school", "job", "pay")])
def test_values_for_each_person_are_the_same_as_asking_person_by_person(names):
    people, wanted = MIXED.draw(40, seed=1), MIXED.draw(40, seed=2)
    settings = {name: wanted.column(name) for name in names}
    together = MIXED.counterfactual(people, **settings)
    for row in range(40):
        alone = MIXED.counterfactual(people.slice(row, row + 1), **{n: v[row] for n, v in settings.items()})
        for name in MIXED.names:
            assert together.column(name)[row] == alone.column(name)[0], (row, name)


def test_values_for_each_person_move_others_as_the_equations_say_by_hand():
    people = MIXED.draw(500, seed=3)
    sex = np.random.default_rng(0).choice(["F", "M"], 500)
    found = MIXED.counterfactual(people, sex=sex)
    became_man = (sex == "M") * 1.0 - (people.column("sex") == "M")
    school = people.column("school") + 2 * became_man
    np.testing.assert_allclose(found.column("school"), school, atol=1e-9)
    np.testing.assert_allclose(found.column("pay"), people.column("pay") + 9 * became_man, atol=1e-9)
    assert np.array_equal(found.column("job") == "boss", school > 12)


def test_values_for_each_person_may_be_any_kind_of_column():
    found = [
        LINEAR.counterfactual(PEOPLE, a=kind).column("c").tolist()
        for kind in ([0.0, 1.0, 2.0], (0, 1, 2), np.arange(3), range(3))
    ]
    assert found == [found[0]] * 4


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ([1.0], [3, 1]),
        ([1.0, np.nan, 2.0], ["nan", 1]),
        ([1.0, None, 2.0], [1]),
        ([[1], [1, 2], 3], ["[1]", 0]),
        (np.ones((3, 1)), [2, (3, 1)]),
        ({1, 2, 3}, [0, "()"]),
    ],
)
def test_values_that_are_not_one_for_each_person_are_refused(given, shown):
    with raises(UsageError, *shown, name="a"):
        LINEAR.counterfactual(PEOPLE, a=given)


def test_a_category_that_is_none_is_refused_with_its_row():
    with raises(SpecError, "sex", "F", "M", "X", 2):
        MIXED.counterfactual(MIXED.draw(3), sex=["F", "M", "X"])


def test_a_variable_may_be_called_people():
    world = iso.Causal({"people": "gaussian(0, 1)", "rooms": "2 * people"})
    table = {"people": [1.0, 2.0], "rooms": [2.0, 4.0]}
    assert world.counterfactual(table, people=[3.0, 4.0]).column("rooms").tolist() == [6.0, 8.0]


# ---------------------------------------------------------------------------- real people as a population


def test_real_people_come_as_a_sample_or_a_census_or_a_table():
    assert LINEAR.about(PEOPLE).kind == "sample"
    assert LINEAR.about(iso.Sample(PEOPLE)).kind == "sample"
    assert LINEAR.about(iso.Census(PEOPLE)).kind == "census"
    assert LINEAR.about(PEOPLE).size == 3
    assert len({LINEAR.about(people).fingerprint() for people in (PEOPLE, iso.Census(PEOPLE))}) == 2
    assert LINEAR.about(PEOPLE).assumptions[0].startswith("the 3 rows are independent draws")
    assert "the equations of a, b, c are those of the population" in LINEAR.about(PEOPLE).assumptions


def test_every_variable_needs_a_column():
    with raises(UsageError, name="c"):
        LINEAR.about({"a": [1.0], "b": [2.0]})
    with raises(DataError, name="c"):
        LINEAR.counterfactual({"a": [1.0], "b": [2.0]}, a=1)


def test_a_model_of_some_people_is_no_model_of_a_table():
    with raises(UsageError, 0, name="given"):
        LINEAR.given("a > 0").about(PEOPLE)


def test_a_change_of_what_the_model_knows_nothing_of_is_refused():
    population = LINEAR.about(iso.Census({**PEOPLE, "zip": [1, 2, 3]}))
    with raises(SpecError, "zip", at="zip = 1"):
        iso.check("P[do(zip = 1).zip == 1] >= 0.9", population=population)
    verdict = iso.check("P[do(a = 1).zip == zip] >= 1", population=population)
    assert verdict.answer == "holds"


def test_a_census_with_interventions_is_the_brute_force_figure():
    model = iso.Causal(
        {
            "sex": iso.Categories({"F": 0.5, "M": 0.5}),
            "school": "gaussian(12, 4) if sex == 'M' else gaussian(10, 4)",
            "pay": "gaussian(2 * school, 9)",
        }
    )
    people = table(model, 400, seed=5)
    # By hand: had a woman been a man, her school were 2 more and her pay 4 more.
    more = np.where(people["sex"] == "F", 4.0, 0.0)
    flipped = (people["pay"] > 22) != (people["pay"] + more > 22)
    women = people["sex"] == "F"
    population = model.about(iso.Census(people))
    prop = "P[(pay > 22) == (do(sex = 'M').pay > 22) | sex == 'F'] >= 0.5"
    verdict = iso.check(prop, population=population)
    assert verdict.risk == 0.0
    assert verdict.leaves[0].estimate == pytest.approx(1 - flipped[women].mean(), abs=1e-15)
    mediated = iso.check("P[do(school as if sex = 'M').pay > 22 | sex == 'F'] >= 0.5", population=population)
    assert mediated.leaves[0].estimate == pytest.approx((people["pay"] + more > 22)[women].mean(), abs=1e-15)
    same = iso.check("P[pay == do(sex = 'M').pay | sex == 'M'] >= 1", population=population)
    assert same.answer == "holds"


FORMS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "columns": dict,
    "rows": lambda columns: pl.DataFrame(columns).to_dicts(),
}


@pytest.mark.parametrize("kind", FORMS)
def test_a_model_gets_every_version_in_the_form_of_the_table(kind):
    model = iso.Causal(
        {"sex": iso.Categories({"F": 0.5, "M": 0.5}), "pay": "gaussian(5, 1) if sex == 'M' else gaussian(2, 1)"}
    )
    people = {"sex": ["F", "M", "F"], "pay": [2.5, 5.5, 3.0], "age": [30, 40, 50], "note": ["a", None, "b"]}
    version = Do((Setting("sex", Literal("M")),))
    population = model.about(iso.Sample(FORMS[kind](people), order="file"))
    wanted = Wanted(None, {version: None})
    found = population.open(np.random.SeedSequence(0), wanted).people(0, 3, np.random.default_rng(0))
    assert {type(table.native) for table in found.values()} == {type(found[None].native)}
    assert [found[None].row(i) for i in range(3)] == [{n: people[n][i] for n in people} for i in range(3)]
    changed = [{n: people[n][i] for n in people} | {"sex": "M"} for i in range(3)]
    changed[0]["pay"], changed[2]["pay"] = 5.5, 6.0
    assert [found[version].row(i) for i in range(3)] == changed


def test_an_array_stays_an_array():
    model = iso.Causal({"x0": "gaussian(0, 1)", "x1": "gaussian(2 * x0, 4)"})
    version = Do((Setting("x0", Literal(1.0)),))
    population = model.about(iso.Sample(np.asarray([[0.0, 3.0], [1.0, 4.0]]), order="file"))
    opened = population.open(np.random.SeedSequence(0), Wanted(None, {version: None}))
    found = opened.people(0, 2, np.random.default_rng(0))
    assert found[version].native.tolist() == [[1.0, 5.0], [1.0, 4.0]]
    assert found[version].names == ("x0", "x1")


def test_a_category_stays_a_category():
    model = iso.Causal({"sex": iso.Categories({"F": 0.5, "M": 0.5}), "pay": "gaussian(5, 1)"})
    frame = pd.DataFrame({"sex": pd.Categorical(["F", "M"]), "pay": [5, 6]})
    version = Do((Setting("sex", Literal("M")),))
    population = model.about(iso.Sample(frame, order="file"))
    opened = population.open(np.random.SeedSequence(0), Wanted(None, {version: None}))
    found = opened.people(0, 2, np.random.default_rng(0))[version].native
    assert found["sex"].tolist() == ["M", "M"]
    assert isinstance(found["sex"].dtype, pd.CategoricalDtype)
    assert found["pay"].dtype == frame["pay"].dtype


def test_a_census_drawn_at_random_gives_the_answer_of_the_exact_one():
    people = table(LINEAR, 3_000)
    share = np.mean(people["b"] + 2 * (1.0 - people["a"]) > 1)
    population = LINEAR.about(iso.Census(people, exact=False))
    assert iso.check(f"P[do(a = 1).b > 1] >= {share - 0.1}", population=population, seed=1).answer == "holds"
    assert iso.check(f"P[do(a = 1).b > 1] >= {share + 0.1}", population=population, seed=1).answer == "violated"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(np.nan, ["missing"]), (np.inf, ["inf"])],
)
def test_a_row_of_a_sample_is_numbered_as_in_its_own_table(value, shown):
    world = iso.Causal({"x": "gaussian(0, 1)", "y": "gaussian(x, 1)"})
    columns = {name: world.draw(200).column(name).copy() for name in world.names}
    columns["x"][170] = value
    with raises(DataError, *shown, name="x", row=170):
        iso.check("P[do(x = 0).y > 0] >= 0.5", population=world.about(iso.Sample(columns)), seed=1, delta=1e-9)
