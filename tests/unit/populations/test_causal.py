import pickle

import numpy as np
import pytest
from scipy import stats

import isonomia as iso
from isonomia.errors import DataError, SpecError, UsageError
from isonomia.spec.evaluate import Batch, truth
from isonomia.spec.operators import as_if, do
from isonomia.spec.parser import parse_condition
from raising import raises

WORLD = iso.Causal(
    {
        "pay": "gaussian(2 * school + 5 * luck, 4)",
        "school": "gaussian(12, 4) if sex == 'M' else gaussian(10, 9)",
        "sex": iso.Categories({"F": 0.4, "M": 0.6}),
        "luck": lambda noise: noise,
        "rich": "pay > 30",
    }
)


# ---------------------------------------------------------------------------- making one


def test_equations_come_in_an_order_in_which_each_reads_earlier_ones():
    order = WORLD.names
    assert sorted(order) == ["luck", "pay", "rich", "school", "sex"]
    assert all(order.index(parent) < order.index(name) for name, found in WORLD.parents.items() for parent in found)
    assert WORLD.parents["pay"] == ("luck", "school")
    assert WORLD.parents["sex"] == ()


@pytest.mark.parametrize(
    ("equations", "name", "shown"),
    [
        ({}, "equations", ["{}"]),
        ([("x", "1")], "equations", ["x", "1"]),
        ({"x": "y + 1", "y": "x + 1"}, "equations", ["->"]),
        ({"x": lambda x: x}, "equations", ["->"]),
        ({"x": lambda scool: scool, "school": "gaussian(0, 1)"}, "scool", ["x", "school"]),
        ({"x": 3}, "x", [3]),
        ({"x": np.add}, "x", []),
        ({"x": lambda *parents: parents}, "x", ["*parents"]),
        ({"x": lambda **parents: parents}, "x", ["**parents"]),
        ({"2x": "1"}, "2x", ["years_of_work"]),
        ({1: "1"}, "1", [1, "years_of_work"]),
        ({"noise": "gaussian(0, 1)"}, "noise", []),
        ({"x": iso.Additive(lambda noise: noise)}, "noise", ["x"]),
        (
            {
                "value": "gaussian(0, 1)",
                "x": iso.Equation(lambda value, noise: value + noise, inverse=lambda value: value),
            },
            "value",
            ["x"],
        ),
    ],
)
def test_equations_that_make_no_model_are_refused(equations, name, shown):
    with raises(UsageError, *shown, name=name):
        iso.Causal(equations)


def test_a_text_that_reads_an_unknown_variable_is_refused_with_its_place():
    with raises(SpecError, "x", name="scool", at="scool", meant="school"):
        iso.Causal({"x": "scool + 1", "school": "1"})


@pytest.mark.parametrize(
    ("make", "name", "shown"),
    [
        (lambda: iso.Categories({}), "Categories", ["{}"]),
        (lambda: iso.Categories({"a": 0.5}), "Categories", [1, "a", 0.5]),
        (lambda: iso.Categories({"a": -0.5, "b": 1.5}), "Categories", [-0.5, 1.5]),
        (lambda: iso.Normal(0, 0), "Normal", ["deviation=0"]),
        (lambda: iso.Normal(0, -1), "Normal", ["deviation=-1"]),
        (lambda: iso.Normal(np.inf, 1), "Normal", ["mean=inf"]),
        (lambda: iso.Uniform(1, 1), "Uniform", ["low=1", "high=1"]),
        (lambda: iso.Causal({"x": "1"}, values={"y": [1]}), "y", []),
        (lambda: iso.Causal({"x": "1"}, values={"x": "ab"}), "values", ["x", "ab"]),
    ],
)
def test_impossible_noise_and_values_are_refused(make, name, shown):
    with raises(UsageError, *shown, name=name):
        make()


@pytest.mark.parametrize(
    ("equation", "name", "cause", "shown"),
    [
        (lambda noise: noise[:-1], "x", None, [7, "(6,)"]),
        (lambda noise: noise[:, None], None, None, ["equation", 2, (7, 1)]),
        (lambda: 1 / 0, "x", ZeroDivisionError, ["equation"]),
        (lambda: None, "x", None, ["None"]),
        (iso.Additive(lambda: "text"), "x", None, ["text"]),
        (iso.Additive(lambda: 0.0, iso.Custom(lambda n, rng: rng.random(n + 1))), "x", None, ["noise", 7, "(8,)"]),
        (iso.Additive(lambda: 0.0, iso.Custom(lambda n: n)), "x", TypeError, ["noise"]),
    ],
)
def test_a_function_that_gives_no_column_is_a_data_error(equation, name, cause, shown):
    with raises(DataError, *shown, name=name, cause=cause or type(None)):
        iso.Causal({"x": equation}).draw(7)


def test_a_function_cannot_change_what_others_read():
    def spoil(a):
        a[0] = 99.0
        return a

    with raises(DataError, "b", cause=ValueError):
        iso.Causal({"a": "gaussian(0, 1)", "b": spoil}).draw(7)


@pytest.mark.parametrize(
    ("equations", "message"),
    [
        ({"a": iso.Categories({"x": 1.0}), "b": "a + 1"}, "expected a number for arithmetic, but a variable holds 'x'"),
        ({"a": iso.Categories({"x": 1.0}), "b": "gaussian(a, 1)"}, "expected a number for arithmetic"),
        ({"a": iso.Categories({"x": 1.0}), "b": "a < 1"}, "expected two numbers to compare"),
        ({"a": iso.Categories({2: 1.0}), "b": "1 if a else 0"}, "expected true or false as a condition, but 'a' holds"),
        ({"a": lambda noise: noise * 0, "b": "1 / a"}, "expected a divisor other than 0"),
        (
            {"a": lambda noise: noise * 0 - 1, "b": "gaussian(0, a)"},
            "expected a variance of at least 0, but it is -1",
        ),
    ],
)
def test_a_text_that_cannot_use_what_a_function_gives_is_a_data_error(equations, message):
    with pytest.raises(DataError, match=message):
        iso.Causal(equations).draw(7)


def test_truth_values_of_functions_add_up_like_numbers():
    world = iso.Causal({"a": lambda noise: noise > -99, "b": lambda noise: noise > -99, "c": "a + b", "d": "-a * b"})
    assert set(world.draw(5).column("c")) == {2.0}
    assert set(world.draw(5).column("d")) == {-1.0}


def test_an_arm_of_a_choice_is_evaluated_for_those_who_take_it_only():
    world = iso.Causal({"d": "1 if gaussian(0, 1) > 0 else 0", "r": "6 / d if d != 0 else gaussian(0, d - d)"})
    drawn = world.draw(100)
    assert np.array_equal(drawn.column("r"), 6 * drawn.column("d"))


# ---------------------------------------------------------------------------- drawing


def test_draws_follow_the_equations():
    drawn = WORLD.draw(20_000, seed=3)
    women = drawn.column("sex") == "F"
    assert stats.binomtest(int(women.sum()), 20_000, 0.4).pvalue > 1e-6
    assert stats.kstest(drawn.column("school")[women], stats.norm(10, 3).cdf).pvalue > 1e-6
    assert stats.kstest(drawn.column("school")[~women], stats.norm(12, 2).cdf).pvalue > 1e-6
    rest = drawn.column("pay") - 2 * drawn.column("school") - 5 * drawn.column("luck")
    assert stats.kstest(rest, stats.norm(0, 2).cdf).pvalue > 1e-6
    assert np.array_equal(drawn.column("rich"), drawn.column("pay") > 30)


@pytest.mark.parametrize(
    ("noise", "distribution"),
    [
        (iso.Normal(3, 2), stats.norm(3, 2)),
        (iso.Uniform(-1, 4), stats.uniform(-1, 5)),
        (iso.Custom(lambda n, rng: rng.exponential(2, n)), stats.expon(scale=2)),
    ],
)
def test_noise_is_of_the_kind_that_was_asked_for(noise, distribution):
    for equation in (iso.Additive(lambda: 0, noise), iso.Equation(lambda noise: noise, noise)):
        assert stats.kstest(iso.Causal({"x": equation}).draw(20_000).column("x"), distribution.cdf).pvalue > 1e-6


def test_the_same_seed_draws_the_same_people():
    first, again, other = (WORLD.draw(9, seed=seed).column("pay") for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("condition", ["sex == 'F'", "school > 15", "rich and sex == 'M'", "school > 11 and luck > 0"])
def test_given_leaves_those_who_meet_the_condition(condition):
    among = WORLD.given(condition)
    drawn, everybody = among.draw(5_000, seed=1), WORLD.draw(60_000, seed=2)
    met = truth(parse_condition(condition), Batch(60_000, {n: everybody.column(n) for n in WORLD.names}))
    for name in ("school", "luck", "pay"):
        assert stats.ks_2samp(drawn.column(name), everybody.column(name)[met]).pvalue > 1e-6
    assert f"among people with {condition}" in among.assumptions[0]
    assert among.streams == (None,)


def test_conditions_add_up():
    drawn = WORLD.given("sex == 'F'").given("school > 12").draw(500)
    assert set(drawn.column("sex")) == {"F"}
    assert drawn.column("school").min() > 12


def test_a_condition_that_nobody_meets_is_a_clear_error():
    with raises(DataError, 1000, 0):
        iso.Causal({"x": "gaussian(0, 1)", "y": "gaussian(x, 1)"}).given("y > 1000").draw(1)


@pytest.mark.parametrize(
    ("condition", "name"),
    [
        ("prediction == 1", "condition"),
        ("do(sex = 'F').pay > 3", "condition"),
        ("other.pay > 3", "condition"),
        ("score > 0.5", "condition"),
        ("skool > 3", "skool"),
    ],
)
def test_a_condition_on_anything_but_people_as_they_are_is_refused(condition, name):
    with raises(UsageError, name=name):
        WORLD.given(condition)


def test_do_cuts_a_variable_off_its_causes():
    drawn = WORLD.do(school=10, sex="M").draw(2_000)
    assert set(drawn.column("school")) == {10.0}
    assert set(drawn.column("sex")) == {"M"}
    assert stats.kstest(drawn.column("pay"), stats.norm(20, np.sqrt(29)).cdf).pvalue > 1e-6


@pytest.mark.parametrize("value", [None, np.nan, np.inf, [1], object()])
def test_do_takes_texts_truths_and_numbers_only(value):
    with raises(UsageError, name="school"):
        WORLD.do(school=value)
    with raises(UsageError, name="school"):
        WORLD.counterfactual(WORLD.draw(3), school=value)


def test_do_on_what_is_not_there_and_after_given_is_refused():
    with raises(UsageError, name="skool", meant="school"):
        WORLD.do(skool=1)
    with raises(UsageError, name="do"):
        WORLD.given("sex == 'F'").do(school=1)
    with raises(UsageError, name="skool", meant="school"):
        WORLD.counterfactual(WORLD.draw(3), skool=1)


def test_whole_numbers_stay_whole_when_set():
    world = iso.Causal({"k": iso.Categories({0: 0.5, 1: 0.5}), "x": lambda k: np.asarray([10.0, 20.0])[k]})
    assert set(world.do(k=1).draw(5).column("x")) == {20.0}
    assert set(world.do(k=np.int64(1)).draw(5).column("x")) == {20.0}


def test_values_are_declared_or_seen():
    assert WORLD.values("sex") == ("F", "M")
    assert iso.Causal({"x": "1"}, values={"x": [2, 1]}).values("x") == (1, 2)
    with raises(DataError, "sexe", meant="sex"):
        WORLD.values("sexe")


def identity(noise):
    return noise


def half(value):
    return value / 2


def test_fingerprints_tell_noise_inverses_conditions_and_values_apart():
    made = [
        iso.Causal({"x": iso.Equation(identity)}),
        iso.Causal({"x": iso.Equation(identity, iso.Normal(0, 2))}),
        iso.Causal({"x": iso.Equation(identity, iso.Uniform())}),
        iso.Causal({"x": iso.Equation(identity, inverse=half)}),
        iso.Causal({"x": iso.Equation(identity)}, values={"x": [1]}),
        iso.Causal({"x": iso.Equation(identity)}).given("x > 0"),
        iso.Causal({"x": iso.Equation(identity)}).do(x=1),
        iso.Causal({"x": iso.Categories({1: 0.5, 2: 0.5})}),
        iso.Causal({"x": iso.Categories({1: 0.4, 2: 0.6})}),
        iso.Causal({"x": "gaussian(0, 1)"}),
        iso.Causal({"x": "gaussian(0, 2)"}),
    ]
    assert len({model.fingerprint() for model in made}) == len(made)
    assert made[0].fingerprint() == iso.Causal({"x": iso.Equation(identity)}).fingerprint()


def test_a_model_survives_pickling_after_it_was_run():
    world = iso.Causal({"x": iso.Equation(identity), "y": "gaussian(x, 1)"})
    drawn = world.draw(5)
    again = pickle.loads(pickle.dumps(world))
    assert np.array_equal(again.draw(5).column("y"), drawn.column("y"))
    assert again.fingerprint() == world.fingerprint()


# ---------------------------------------------------------------------------- what users get wrong

SEXES = iso.Causal({"sex": iso.Categories({"F": 0.5, "M": 0.5}), "pay": "gaussian(0 if sex == 'F' else 1, 1)"})


@pytest.mark.parametrize("value", ["m", "X", 1, True])
def test_a_category_is_set_to_one_of_its_values_only(value):
    with raises(UsageError, ("F", "M"), value, name="sex"):
        SEXES.do(sex=value)
    with raises(SpecError, ("F", "M"), value, name="sex"):
        SEXES.counterfactual(SEXES.draw(3), sex=value)
    for prefix in (do(sex=value), do(pay=as_if(sex=value))):
        with raises(SpecError, ("F", "M"), name="sex"):
            iso.check(iso.P(prefix("pay") > 0) >= 0.5, population=SEXES, seed=1)


def test_categories_that_are_numbers_or_truth_values_are_set_by_their_equals():
    world = iso.Causal({"a": iso.Categories({True: 0.5, False: 0.5}), "b": iso.Categories({1: 0.5, 2: 0.5})})
    assert set(world.do(a=1, b=2.0).draw(9).column("b")) == {2.0}
    with raises(UsageError, "b", 2, meant="1"):
        world.do(b="1")


@pytest.mark.parametrize("shares", [["F", "M"], "FM", None, 0.5, lambda z: {"F": z}, {"F": "half"}])
def test_categories_without_probabilities_are_refused(shares):
    with raises(UsageError, name="Categories"):
        iso.Categories(shares)


def test_a_condition_can_be_a_term_and_nothing_else():
    assert np.all(SEXES.given(iso.col("pay") > 1).draw(50).column("pay") > 1)
    for wrong in (None, 3, ["pay > 1"]):
        with raises(UsageError, "age >= 18", "age", 18):
            SEXES.given(wrong)


@pytest.mark.parametrize(("arguments", "name"), [((0,), "n"), ((1.5,), "n"), ((2, "a"), "seed"), ((2, -1), "seed")])
def test_draw_says_which_argument_is_no_whole_number(arguments, name):
    with raises(UsageError, name=name):
        SEXES.draw(*arguments)


def test_a_division_by_zero_shows_its_equation():
    world = iso.Causal({"a": lambda noise: noise * 0, "b": "a + 1", "c": "b / a"})
    with raises(DataError, 1, 0, "if"):
        world.draw(7)


def test_a_name_that_no_equation_could_read_is_refused():
    with raises(UsageError, "years of work"):
        iso.Causal({"years of work": "gaussian(0, 1)"})


def test_every_category_that_can_occur_is_a_group_however_rare():
    shares = {"rare": 1e-9, "never": 0.0, "other": 1 - 1e-9}
    world = iso.Causal({"illness": iso.Categories(shares), "x": "gaussian(9 if illness == 'other' else -9, 1)"})
    assert world.values("illness") == ("other", "rare")
    assert world.do(illness="never").values("illness") == ("never",)
    assert world.given("illness == 'other'").values("illness") == ("other",)
    assert iso.check("for g in illness: P[x > 0 | illness == g] >= 0.5", population=world, seed=1).answer == "violated"


@pytest.mark.parametrize("values", [["F"], {"sex": 3}, {"sex": "F"}, {"sex": []}])
def test_declared_values_must_be_lists_by_variable(values):
    with raises(UsageError, name="values"):
        iso.Causal({"sex": iso.Categories({"F": 1.0})}, values=values)
    with raises(UsageError, name="values"):
        iso.Generator(lambda n, rng: {"sex": rng.choice(["F"], n)}, values=values)
