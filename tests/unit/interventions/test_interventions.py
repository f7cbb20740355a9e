"""Interventions as a whole: made, changed, drafted, shown, stored, and told what is wrong."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from isonomia.errors import DataError, SpecError, UsageError
from isonomia.interventions import (
    AdditiveLinkage,
    Condition,
    Feature,
    IfChanged,
    IfThen,
    Interventions,
    Linear,
    Linkage,
    MutabilitySwitch,
    Noise,
    OneHot,
    Ordinal,
    Predicate,
    Reachability,
    Sampler,
    Thermometer,
)
from isonomia.interventions.draft import read_interventions
from isonomia.interventions.features import PersonError
from raising import raises

TABLE = {
    "age": [30, 40, 50, 61],
    "income": [10.5, 20.0, 31.25, 90.0],
    "owner": [0, 1, 0, 1],
    "job": ["clerk", "boss", "clerk", "none"],
    "home_is_rent": [1, 0, 0, 1],
    "home_is_own": [0, 1, 1, 0],
    "years_geq_1": [1, 1, 1, 0],
    "years_geq_5": [1, 0, 0, 0],
    "school_low": [1, 0, 0, 0],
    "school_mid": [0, 1, 0, 0],
    "country": ["A", "A", "A", "A"],
    "good": [1, 0, 1, 1],
}


def test_a_draft_has_the_kinds_the_bounds_and_the_encodings_that_occur() -> None:
    draft = Interventions.draft(TABLE, leave_out="good")
    kinds = {feature.name: (feature.kind, feature.low, feature.high) for feature in draft.features}
    assert kinds["age"] == ("integer", 30, 61)
    assert kinds["income"] == ("real", 10.5, 90)
    assert kinds["owner"] == ("binary", 0, 1)
    assert draft["job"].values == ("boss", "clerk", "none")
    assert "good" not in draft.names
    assert not draft["country"].actionable
    assert set(draft.constraints) == {
        OneHot(("home_is_rent", "home_is_own")),
        Thermometer(("years_geq_1", "years_geq_5")),
        OneHot(("school_low", "school_mid"), 1, "<="),
    }
    draft.reach(TABLE)


def test_a_table_of_which_no_feature_can_be_made_is_refused_with_the_reason() -> None:
    with raises(DataError, "a", 1):
        Interventions.draft({"a": [1.0, float("nan"), 3.0]})
    with raises(DataError, "when", "dates"):
        Interventions.draft({"when": np.asarray(["2020-01-01"], dtype="datetime64[D]")})
    with pytest.raises(DataError, match="no value at all"):
        Interventions.draft({"a": [float("nan")]})


def test_features_are_set_by_name_by_list_and_by_pattern() -> None:
    draft = Interventions.draft(TABLE)
    changed = draft.set("income", direction="up", rise=2).set(["owner", "job"], actionable=False)
    changed = changed.set("years_geq_*", direction="up")
    assert changed["income"] == Feature("income", "real", 10.5, 90, direction="up", rise=2)
    assert not changed["owner"].actionable
    assert not changed["job"].actionable
    assert [changed[name].direction for name in ("years_geq_1", "years_geq_5")] == ["up", "up"]
    assert draft["income"].direction == "both"


def test_a_name_or_a_field_that_does_not_exist_is_refused_with_the_nearest() -> None:
    draft = Interventions.draft(TABLE)
    with raises(UsageError, "incom", meant="income"):
        draft.set("incom", low=0)
    with raises(UsageError, "actionabl", meant="actionable"):
        draft.set("income", actionabl=False)
    with raises(UsageError, "incomes", meant="income"):
        draft.constrain(Linear(("incomes",), (1,), "<=", 3))
    with raises(UsageError, "ag", meant="age"):
        draft["ag"]


def test_only_some_features_stay_free_and_their_effects_with_them() -> None:
    two = Interventions(
        (Feature("a", "binary"), Feature("b", "binary"), Feature("c", "integer", 0, 9, False)), (Linkage("a", ("c",)),)
    )
    points = two.only("a").reach({"a": [0], "b": [0], "c": [3]}).points().values
    assert sorted(map(tuple, points.tolist())) == [(0, 0, 3), (1, 0, 4)]


def test_blocks_are_joined_by_constraints_and_by_effects() -> None:
    features = tuple(Feature(name, "integer", 0, 5) for name in "abcde")
    rules = Interventions(features, (OneHot(("a", "c")), OneHot(("c", "d"))), (Noise(("b", "e"), 1.0),))
    assert rules.blocks == (("a", "c", "d"), ("b", "e"))


def everything() -> Interventions:
    bits = tuple(Feature(f"d{j}", "binary") for j in range(4))
    return Interventions(
        (
            *bits,
            Feature("n", "integer", 0, 9, direction="up", rise=2),
            Feature("m", "integer", -3, 9, actionable=False),
            Feature("income, net", "real", 0.5, 1e6, rise_share=0.1, fall_share=0.25),
            Feature("job", "categorical", values=("none", 'cl"erk', "boss"), rise=1),
        ),
        (
            OneHot(("d0", "d1"), 1, "<="),
            Ordinal(("d0", "d1"), exhaustive=False, direction="up"),
            Thermometer(("d2", "d3"), "down", keep_invalid=True),
            Reachability(("d2", "job"), ((0, "none"), (1, "boss")), ((1, 1), (0, 1))),
            MutabilitySwitch("d0", ("n",), 1, must_change=True),
            IfThen(Condition("job", "in", ("none", "boss")), Condition("n", ">=", 1)),
            IfChanged(Condition("n", ">=", 1), Condition("d3", "==", 1)),
            Linkage("n", ("m",), (0.5,), keep_bounds=True),
            AdditiveLinkage("n", ("d0", "d1"), (1, 2), ">=", 3),
            Linear(("n", "income, net"), (1, -0.5), "<=", 10),
            Predicate("n <= 3 or d0 == 1"),
        ),
        (Noise(("n", "m"), (1, 0.5), correlation=((1, 0.25), (0.25, 1))),),
    )


def test_what_is_stored_is_what_is_read() -> None:
    assert Interventions.from_toml(everything().to_toml()) == everything()
    draft = Interventions.draft(TABLE)
    assert Interventions.from_toml(draft.to_toml()) == draft


def test_a_python_function_cannot_be_stored() -> None:
    features = (Feature("a", "binary"),)
    with pytest.raises(UsageError, match="which TOML cannot"):
        Interventions(features, (Predicate(test=lambda x, y: y["a"] == 1, names=("a",)),)).to_toml()  # noqa: ARG005
    with pytest.raises(UsageError, match="which TOML cannot"):
        Interventions(features, effects=(Sampler(("a",), lambda x, y, rng: {"a": 0}),)).to_toml()  # noqa: ARG005


GOOD = '[features.age]\nkind = "integer"\nlow = 0\nhigh = 9\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[features.age\n", "my.toml is not valid TOML"),
        ('[feature.age]\nkind = "integer"\n', "has no key 'feature'. Did you mean 'features'. It may have features, "),
        ("x = 1\n", "has no key 'x'"),
        ("", "expected a table"),
        ("[features.age]\nlow = 1\n", "feature 'age' has no kind"),
        ('[features.age]\nkind = "integr"\n', "should be one of 'binary', 'integer'"),
        ('[features.age]\nkind = "integer"\nhihg = 3\n', r"has no key 'hihg'. Did you mean 'high'.*\n.*\n.*\^\^\^\^"),
        (
            GOOD + '[[constraints]]\nkind = "onehot"\n',
            "should be one of one-hot, .*Did you mean 'one-hot'",
        ),
        (GOOD + '[[constraints]]\nkind = "one-hot"\n', "a one-hot needs names"),
        (GOOD + '[[constraints]]\nkind = "one-hot"\nnames = ["age"]\nlimits = 2\n', "Did you mean 'limit'"),
        (GOOD + '[[constraints]]\nkind = "if-then"\nwhen = 3\nthen = 4\n', "when should be { name = "),
        (GOOD + '[[effects]]\nkind = "sampler"\n', "should be one of noise"),
        (
            GOOD + '[[constraints]]\nkind = "linear"\nnames = ["agee"]\ncoefficients = [1]\nsense = "<="\nbound = 3\n',
            r"line 7, column 1.*names 'agee', an unknown feature. Did you mean 'age'",
        ),
        (GOOD + "[effects]\n", r"expected \[\[effects\]\]"),
    ],
)
def test_a_file_with_a_mistake_is_refused_with_the_file_the_key_and_what_is_allowed(text: str, told: str) -> None:
    with pytest.raises(SpecError, match=told) as caught:
        Interventions.from_toml(text, "my.toml")
    assert "my.toml" in str(caught.value)


def test_the_line_of_the_second_constraint_is_shown() -> None:
    text = GOOD + '[[constraints]]\nkind = "one-hot"\nnames = ["age"]\n[[constraints]]\nkind = "one-hot"\nnames = 3\n'
    with raises(SpecError, "one-hot", 3, at="names", cause=UsageError):
        Interventions.from_toml(text, "my.toml")


def test_interventions_are_shown_as_a_table_with_numbered_rules() -> None:
    text = str(everything())
    lines = text.splitlines()
    assert lines[0].split() == ["feature", "kind", "range", "actionable", "direction", "step", "block", "rules"]
    assert "income, net  real         0.5 to 1e+06" in text
    assert "+10%, -25%" in text
    assert any(line.startswith("m ") and " no " in line for line in lines)
    assert "  1. one-hot: at most 1 of d0, d1" in lines


def test_an_unbounded_feature_asks_for_its_bounds() -> None:
    rules = Interventions((Feature("income", "real", low=0),))
    with raises(UsageError, "income", "real"):
        rules.reach({"income": [3.0]})
    rules.set("income", actionable=False).reach({"income": [3.0]})


@pytest.mark.parametrize(
    ("feature", "value", "told"),
    [
        (Feature("f", "real", 0, 1), float("nan"), "row 1 it is missing"),
        (Feature("f", "real", 0, 1), float("inf"), "row 1 it is inf"),
        (Feature("f", "integer", 0, 1), 0.5, "should be a whole number .* row 1 it is 0.5"),
        (Feature("f", "categorical", values=(0, 1)), 2, "should be one of 0, 1 .* row 1 it is 2"),
    ],
)
def test_a_value_that_is_missing_or_impossible_is_refused_with_its_place(
    feature: Feature, value: float, told: str
) -> None:
    with pytest.raises(DataError, match=told):
        Interventions((feature,)).reach({"f": [1, value]})


def test_text_in_a_number_is_refused_and_so_is_a_column_that_is_missing() -> None:
    with raises(PersonError, "f", "x", row=1):
        Interventions((Feature("f", "real", 0, 1),)).reach({"f": np.asarray([1, "x"], dtype=object)})
    with raises(DataError, name="f"):
        Interventions((Feature("f", "real", 0, 1),)).reach({"g": [1.0]})


def test_a_person_beyond_the_bounds_of_what_they_can_act_on_is_refused() -> None:
    rules = Interventions((Feature("f", "integer", 0, 5),))
    with raises(PersonError, 0, 5, 7, row=2):
        rules.reach({"f": [0, 5, 7]})
    assert [refusal.row for refusal in rules.refusals({"f": [9, 5, -1]})] == [0, 2]
    assert rules.set("f", actionable=False).refusals({"f": [9]}) == ()


def test_a_refusal_is_told_with_the_values_categories_included() -> None:
    rules = Interventions(
        (Feature("job", "categorical", values=("none", "clerk")), Feature("wage", "integer", 0, 9)),
        (IfThen(Condition("job", "==", "clerk"), Condition("wage", ">=", 1)),),
    )
    (refusal,) = rules.refusals({"job": ["none", "clerk"], "wage": [0, 0]})
    assert refusal.words().startswith("the person in row 1 breaks the if-then constraint")
    assert refusal.words().endswith(": job = 'clerk', wage = 0")


@pytest.mark.parametrize("people", [{"f": [1, 99]}, {"f": [1, None]}])
def test_an_error_about_one_person_knows_the_row_and_can_be_told_of_another(people: dict[str, Any]) -> None:
    with pytest.raises(DataError) as caught:
        Interventions((Feature("f", "integer", 0, 9),)).reach(people)
    error = pickle.loads(pickle.dumps(caught.value))  # as it comes back from another process
    assert isinstance(error, PersonError)
    assert (error.row, str(error)) == (1, str(caught.value))
    assert str(error.at(41)) == str(error).replace("in row 1 ", "in row 41 ")


def test_an_error_says_which_field_is_wrong() -> None:
    with pytest.raises(UsageError) as caught:
        Feature("f", "integer", 0, 9, rise=1, rise_share=-0.5)
    assert caught.value.name == "rise_share"


def test_constraints_that_contradict_each_other_are_named_and_no_others() -> None:
    features = tuple(Feature(name, "binary") for name in "abc")
    clash = OneHot(("a", "b")), Linear(("a", "b"), (1, 1), ">=", 2)
    rules = Interventions(features, (OneHot(("b", "c"), 1, "<="), *clash))
    assert rules.contradiction() == clash
    with pytest.raises(UsageError, match=r"contradict each other.*exactly 1 of a, b; linear: 1 \* a \+ 1 \* b >= 2"):
        rules.reach({"a": [1], "b": [0], "c": [0]})
    assert Interventions(features, clash[:1]).contradiction() == ()


@pytest.mark.parametrize(
    "clash",
    [
        (Thermometer(("a", "b")), Linear(("a", "b"), (1, -1), "<=", -1)),
        (Ordinal(("a", "b")), OneHot(("a", "b"), 2)),
        (Reachability(("a", "b"), ((0, 0),), ((1,),)), IfThen(Condition("a", "==", 0), Condition("b", "==", 1))),
        (Linear(("a", "b"), (1, 1), ">=", 3),),
        (MutabilitySwitch("a", ("b",)), Linear(("a", "b"), (1, 1), "==", 2)),
    ],
)
def test_every_kind_of_standing_constraint_takes_part_in_a_contradiction(clash: tuple[OneHot, ...]) -> None:
    features = tuple(Feature(name, "binary") for name in "abc")
    assert Interventions(features, (*clash, OneHot(("b", "c"), 2, "<="))).contradiction() == clash


def test_a_bound_far_out_contradicts_nothing_where_features_have_no_bounds() -> None:
    features = Feature("x", "real"), Feature("y", "real")
    far, near = Linear(("x", "y"), (1, 1), ">=", 1e8), Linear(("x", "y"), (1, 1), "<=", 1e7)
    assert Interventions(features, (far,)).contradiction() == ()
    assert Interventions(features, (far, near)).contradiction() == (far, near)


def test_the_fingerprint_tells_interventions_apart() -> None:
    one, other = everything(), everything().set("n", rise=3)
    assert one.fingerprint() == everything().fingerprint() != other.fingerprint()


def test_a_feature_is_described_once() -> None:
    with raises(UsageError, name="a"):
        Interventions((Feature("a", "binary"), Feature("a", "binary")))


def test_a_file_whose_features_alone_do_not_fit_is_refused_at_its_top() -> None:
    def refuse(*parts: object) -> object:
        raise UsageError(f"{len(parts)} parts do not fit")

    with raises(SpecError, "my.toml", 3, at="features.a") as caught:
        read_interventions('[features.a]\nkind = "binary"\n', "my.toml", refuse)
    assert caught.value.place is not None
    assert caught.value.place.line == 1


def test_a_feature_that_is_no_table_is_refused_at_its_name() -> None:
    with raises(SpecError, "my.toml", 3, at="a") as caught:
        Interventions.from_toml("[features]\na = 3\n", "my.toml")
    assert caught.value.place is not None
    assert caught.value.place.line == 2
