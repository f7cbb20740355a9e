"""First drafts of interventions: what names and values give away, and the reasons that are written down."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import numpy as np
import pytest

from isonomia.errors import UsageError
from isonomia.interventions import Draft, Feature, Interventions, OneHot, Reachability, Thermometer
from isonomia.interventions.draft import hint_of, likely_outcome
from raising import raises

DATA = Path(os.environ.get("ISONOMIA_DATA", Path(__file__).parents[4] / "shared" / "data"))
RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "name",
    ["sex", "is_male", "Race", "native-country", "ForeignWorker", "ethnicity_Asian", "Geschlecht", "性别", "birth"],
)
def test_protected_attributes_are_nobodys_to_change(name: str) -> None:
    hint = hint_of(name)
    assert hint is not None
    assert not hint.actionable
    assert "protected" in hint.why


@pytest.mark.parametrize("name", ["married", "pregnant", "children", "Familienstand", "estado_civil"])
def test_a_persons_family_is_no_lever(name: str) -> None:
    hint = hint_of(name)
    assert hint is not None
    assert not hint.actionable
    assert "family" in hint.why


def test_a_thing_grows_older_by_itself() -> None:
    hint = hint_of("vehicle_age")
    assert hint is not None
    assert (hint.actionable, hint.rises) == (True, True)


@pytest.mark.parametrize("name", ["age", "Age", "age_cat", "âge"])
def test_age_is_not_acted_on_and_would_only_rise(name: str) -> None:
    hint = hint_of(name)
    assert hint is not None
    assert not hint.actionable
    assert hint.rises


@pytest.mark.parametrize("name", ["average_balance", "package", "savings", "sexual_wellness_spend_eur", "mortgage"])
def test_a_word_within_another_gives_nothing_away(name: str) -> None:
    assert hint_of(name) is None


@pytest.mark.parametrize(
    ("names", "outcome"),
    [
        (("good_customer", "age", "savings"), "good_customer"),
        (("age", "savings", "two_year_recid"), "two_year_recid"),
        (("age", "target", "savings"), "target"),
        (("age", "income", "savings"), None),
        (("class", "age", "default"), "default"),
        (("id", "good_customer", "savings"), "good_customer"),
        (("x", "y", "z"), None),
        (("a", "ground_truth", "b"), "ground_truth"),
    ],
)
def test_the_outcome_is_guessed_from_its_name_and_its_place(names: tuple[str, ...], outcome: str | None) -> None:
    assert likely_outcome(names) == outcome


def people(rows: int = 200) -> dict[str, object]:
    job = RNG.integers(0, 3, rows)
    amount = RNG.integers(0, 4, rows)
    grade = RNG.integers(1, 5, rows)
    return {
        "id": np.arange(rows),
        "age": RNG.integers(18, 90, rows),
        "utilisation": RNG.random(rows) * 0.7 + 0.1,
        "term": RNG.choice([12, 24, 36, 60], rows),
        "rooms": RNG.integers(1, 5, rows),
        **{f"job_A17{j + 1}": (job == j).astype(int) for j in range(3)},
        **{f"amount_geq_{j + 1}k": amount > j for j in range(3)},
        "LoanForCar": (job == 0).astype(int) * 0 + (amount == 0),
        "LoanForHome": (amount == 1).astype(int),
        "school": np.asarray(["none", "basic", "high", "higher"], dtype=object)[grade - 1],
        "education_level": grade,
        "years_employed": RNG.integers(0, 30, rows),
        "late_payments": RNG.integers(0, 4, rows),
        "town": np.asarray([f"town {j}" for j in range(rows)], dtype=object),
        "since": np.asarray(["2020-01-02"] * rows, dtype=object),
        "savings": np.where(np.arange(rows) == 3, np.nan, 5.0),
        "approved": RNG.integers(0, 2, rows),
    }


def test_a_draft_says_what_a_person_who_knows_the_trade_would_say() -> None:
    draft = Draft.of(people())
    features = {feature.name: feature for feature in draft.features}
    assert not features["age"].actionable
    assert (features["utilisation"].kind, features["utilisation"].low, features["utilisation"].high) == ("real", 0, 1)
    assert (features["term"].kind, features["term"].values) == ("categorical", (12, 24, 36, 60))
    assert (features["rooms"].kind, features["rooms"].low, features["rooms"].high) == ("integer", 1, 4)
    assert features["years_employed"].direction == "up"
    assert not features["late_payments"].actionable
    assert features["school"].values == ("none", "basic", "high", "higher")
    assert {name for name in ("id", "town", "since", "savings", "approved") if name in draft.left_out} == set(
        draft.left_out
    )
    assert set(draft.constraints) == {
        OneHot(("job_A171", "job_A172", "job_A173")),
        Thermometer(("amount_geq_1k", "amount_geq_2k", "amount_geq_3k")),
        OneHot(("LoanForCar", "LoanForHome"), 1, "<="),
        Reachability(
            ("school", "education_level"),
            (("none", 1), ("basic", 2), ("high", 3), ("higher", 4)),
            ((1, 1, 1, 1),) * 4,
        ),
    }
    assert len(draft.rules) == len(draft.constraints)
    assert set(draft.why) == set(features)


def test_dummies_that_are_never_on_together_by_chance_alone_are_left_apart() -> None:
    rare = np.zeros(100, dtype=int)
    first, second = rare.copy(), rare.copy()
    first[:5], second[5:10] = 1, 1
    draft = Draft.of({"LoanForCar": first, "LoanForHome": second, "rooms": np.arange(100) % 7})
    assert draft.constraints == ()


def test_a_dummy_that_has_no_fellow_is_left_alone() -> None:
    draft = Draft.of({"job_cook": [0, 1, 1, 0], "home_owner": [1, 0, 1, 0], "rooms": [1, 2, 3, 4]})
    assert draft.constraints == ()
    assert {feature.name: feature.kind for feature in draft.features}["job_cook"] == "binary"


def test_limits_from_both_sides_are_two_ladders_that_exclude_each_other() -> None:
    months = RNG.integers(1, 60, 300)
    draft = Draft.of(
        {
            "term_leq_6": months <= 6,
            "term_leq_12": months <= 12,
            "term_geq_24": months >= 24,
            "term_geq_36": months >= 36,
        }
    )
    assert set(draft.constraints) == {
        Thermometer(("term_leq_12", "term_leq_6")),
        Thermometer(("term_geq_24", "term_geq_36")),
        OneHot(("term_leq_12", "term_geq_24"), 1, "<="),
    }


def test_where_one_dummy_is_protected_none_of_its_encoding_can_be_changed() -> None:
    kind = RNG.integers(0, 3, 200)
    draft = Draft.of({"status_a": kind == 0, "status_b": kind == 1, "status_married": kind == 2, "rooms": kind + 5})
    assert [feature.name for feature in draft.features if feature.actionable] == ["rooms"]
    assert "encoded together with status_married" in draft.why["status_a"]


def test_dummies_of_which_one_is_on_have_no_direction_of_their_own() -> None:
    kind = RNG.integers(0, 3, 200)
    draft = Draft.of({f"education_{name}": kind == j for j, name in enumerate("abc")})
    assert {feature.direction for feature in draft.features} == {"both"}
    assert "ordinal" in draft.why["education_a"]


def test_texts_that_only_rise_are_to_be_put_in_order_and_numbers_are_not() -> None:
    draft = Draft.of({"education": ["basic", "high", "basic", "none"], "years_employed": [1, 2, 3, 5]})
    texts, numbers = draft.features
    assert (texts.kind, texts.direction, texts.actionable) == ("categorical", "both", True)
    assert draft.why["education"].endswith(
        "What a person has learned stays, so it only rises. Put the categories in order, and set direction to up."
    )
    assert (numbers.direction, "order" in draft.why["years_employed"]) == ("up", False)


def test_texts_that_go_with_numbers_take_their_order() -> None:
    grades = [1, 2, 3] * 10
    names = np.asarray(["none", "basic", "high"], dtype=object)[np.asarray(grades) - 1]
    draft = Draft.of({"education": names, "education_num": grades})
    assert draft.features[0].values == ("none", "basic", "high")
    assert draft.why["education"].endswith(
        "so it only rises. The categories are ordered by a column that rises with them."
    )


def test_of_texts_that_are_all_the_same_nothing_is_to_be_put_in_order() -> None:
    draft = Draft.of({"education": ["basic", "basic", "basic"], "rooms": [1, 2, 3]})
    assert not draft.features[0].actionable
    assert "order" not in draft.why["education"]


def test_the_file_of_a_draft_reads_back_and_gives_its_reasons() -> None:
    draft = Draft.of(people())
    text = draft.to_toml("people.csv")
    assert Interventions.from_toml(text) == draft.interventions
    assert max(map(len, text.splitlines())) <= 120
    for told in ("people.csv (200 rows)", "# - approved looks like the outcome", "# - id tells people apart"):
        assert told in text
    assert "# - savings is missing in 1 rows" in text
    assert "No one changes their age by an action" in text


def test_names_and_values_of_any_kind_survive_the_file() -> None:
    odd = {
        'a "b" \\ c': [1, 2, 3, 4],
        "x\ny": [0, 1, 0, 1],
        "é.[z]": np.asarray(["\x7f", "#", "'", "\t"], dtype=object),
    }
    draft = Draft.of(odd)
    text = draft.to_toml('odd\n[features.evil]\nkind = "binary".csv')
    assert set(tomllib.loads(text)["features"]) == set(odd)
    assert Interventions.from_toml(text) == draft.interventions


def test_a_list_that_is_too_long_for_one_line_has_a_line_for_each_item_and_reads_back() -> None:
    towns = tuple(f"the town with the number {j}" for j in range(12))
    rules = Interventions((Feature("town", "categorical", values=towns), Feature("rooms", "integer", 1, 9)))
    text = rules.to_toml()
    assert [line for line in text.splitlines() if "town with" in line] == [f'    "{town}",' for town in towns]
    assert max(map(len, text.splitlines())) <= 120
    assert Interventions.from_toml(text) == rules


def test_what_looks_like_an_outcome_is_nobodys_to_change_wherever_it_stands() -> None:
    rooms, flag = np.arange(40) % 5, np.arange(40) % 2
    names = np.asarray([f"A{j:03d}" for j in range(40)], dtype=object)
    draft = Draft.of({"applicant": names, "good_customer": flag, "rooms": rooms, "spare": 1 - flag})
    assert draft.left_out["good_customer"] == "looks like the outcome, which is predicted"
    middle = Draft.of({"rooms": rooms, "good_customer": flag, "income": rooms * 7 + flag, "spare": rooms + flag})
    assert [feature.name for feature in middle.features if feature.actionable] == ["rooms", "spare"]
    assert "could be that of an outcome" in middle.why["good_customer"]
    assert "No column looks like the outcome" in middle.to_toml()
    known = Draft.of({"rooms": rooms, "income": rooms * 7 + flag, "repaid": flag})
    assert [feature.name for feature in known.features if feature.actionable] == ["rooms", "income"]
    assert "No column looks like the outcome" not in known.to_toml()


def test_an_outcome_that_is_given_is_left_out_and_no_other_is_guessed() -> None:
    table = {"rooms": [1, 2, 3], "flag": [0, 1, 1], "default": [1, 0, 0]}
    assert set(Draft.of(table, outcome="flag").left_out) == {"flag"}
    assert set(Draft.of(table).left_out) == {"default"}
    with raises(UsageError, meant="flag"):
        Draft.of(table, outcome="flags")


@pytest.mark.skipif(not (DATA / "german" / "german_36.csv").is_file(), reason="the German credit data are not here")
def test_the_draft_of_the_german_data_leaves_alone_what_the_paper_calls_immutable_for_good() -> None:
    table = _read(DATA / "german" / "german_36.csv")
    draft = Draft.of(table)
    fixed = {feature.name for feature in draft.features if not feature.actionable}
    assert fixed >= {"Age", "Male", "Single", "ForeignWorker", "LiablePersons", "HistoryOfDelinquency"}
    rises = {feature.name for feature in draft.features if feature.actionable and feature.direction == "up"}
    assert rises == {"YearsAtResidence", "YearsEmployed_geq_1"}
    assert Thermometer(("CheckingAcct_exists", "CheckingAcct_geq_0")) in draft.constraints
    assert Thermometer(("SavingsAcct_exists", "SavingsAcct_geq_100")) in draft.constraints
    assert draft.interventions.refusals(table) == ()


def _read(path: Path) -> object:
    from isonomia.populations.files import read_table

    return read_table(path)
