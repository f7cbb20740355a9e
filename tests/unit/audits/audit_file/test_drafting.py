"""What a draft of an audit guesses, name by name and value by value."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from isonomia.audits.audit_file.drafting import DraftFiles, DraftRequest, draft_audit
from isonomia.audits.audit_file.drafting.answers import favourable_of
from isonomia.audits.audit_file.drafting.roles import (
    attribute_kind,
    attributes_of,
    likely_decision,
    likely_outcome,
    writable_profiles,
)
from isonomia.errors import UsageError
from isonomia.models.adapt import adapt
from isonomia.populations.table import Table
from raising import raises

TABLE = DraftFiles(None, "people.csv")


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("sex", ["a", "b"], "sex"),
        ("Gender", [0, 1], "sex"),
        ("Geschlecht", ["m", "w", "d"], "sex"),
        ("género", ["x", "y"], "sex"),
        ("Sexe_du_client", [1, 2], "sex"),
        ("is_female", [0, 1], "sex"),
        ("客户性别", [1, 2], "sex"),
        ("성별", [1, 2], "sex"),
        ("пол", [1, 2], "sex"),
        ("genre", ["rock", "pop", "jazz", "folk", "soul", "rap", "punk"], None),
        ("race", ["a", "b"], "race"),
        ("ethnicity_code", [1, 2], "race"),
        ("Ethnie", [1, 2], "race"),
        ("raça", [1, 2], "race"),
        ("trace", [1, 2], None),
        ("essex", [1, 2], None),
        ("religion", ["a", "b"], "religion"),
        ("Konfession", ["a", "b"], "religion"),
        ("Schwerbehindert", [0, 1], "disability"),
        ("has_disability", [0, 1], "disability"),
        ("Staatsangehörigkeit", ["de", "fr"], "nationality"),
        ("native-country", ["us", "mx"], "nationality"),
        ("foreign_worker", [0, 1], "nationality"),
        ("国籍", ["a", "b"], "nationality"),
        ("marital_status", ["a", "b"], "marital status"),
        ("estado_civil", ["a", "b"], "marital status"),
        ("Familienstand", ["a", "b"], "marital status"),
        ("pregnant", [0, 1], "pregnancy"),
        ("sexual orientation", ["a", "b"], "sexual orientation"),
        ("age", [20, 30], "age"),
        ("Alter", [20, 30], "age"),
        ("âge", [20, 30], "age"),
        ("edad", [20, 30], "age"),
        ("年齢", [20, 30], "age"),
        ("age_group", ["18-25", "26+"], "age"),
        ("vehicle_age", [1, 2], None),
        ("account_age", [1, 2], None),
        ("average", [1, 2], None),
        ("col7", ["Male", "Female"], "sex"),
        ("col8", ["M", "F", "X"], "sex"),
        ("col9", ["男", "女"], "sex"),
        ("col10", ["White", "Black", "Other"], "race"),
        ("answer", ["t", "f"], None),
        ("size", ["m", "l", "s"], None),
        ("income", [1.0, 2.0], None),
    ],
)
def test_a_protected_attribute_is_told_by_name_or_values(name: str, values: list[Any], kind: str | None) -> None:
    found = attribute_kind(name, values)
    assert (None if found is None else found[0]) == kind


@pytest.mark.parametrize(
    ("values", "names", "favourable"),
    [
        ((0, 1), ("approved",), 1),
        ((0, 1), ("default",), 0),
        ((0, 1), ("two_year_recid",), 0),
        ((0, 1), ("is_credit_risk_good",), 1),
        ((0, 1), ("bad_loan",), 0),
        ((False, True), ("loan_granted",), True),
        ((False, True), ("is_fraud",), False),
        (("no", "yes"), ("y",), "yes"),
        (("good", "bad"), ("risk",), "good"),
        (("<=50K", ">50K"), ("income",), ">50K"),
        (("abgelehnt", "genehmigt"), (), "genehmigt"),
        (("High", "Low", "Medium"), ("risk",), "Low"),
        (("rejected", "maybe"), (), "maybe"),
        ((1, 2, 3), (), 3),
        (("a", "b"), (), "b"),
    ],
)
def test_the_favourable_answer_is_told_by_words(
    values: tuple[Any, ...], names: tuple[str, ...], favourable: Any
) -> None:
    assert favourable_of(values, names)[0] == favourable


def columns(**values: list[Any]) -> Any:
    return writable_profiles(Table.of(values))


@pytest.mark.parametrize(
    ("names", "outcome"),
    [
        (("a", "target", "b"), "target"),
        (("a", "b", "Outcome"), "Outcome"),
        (("a", "b", "repaid"), "repaid"),
        (("repaid", "b", "c"), None),
        (("a", "b", "c"), None),
        (("a", "b", "predicted_class"), None),
    ],
)
def test_the_outcome_is_told_by_name_and_place(names: tuple[str, ...], outcome: str | None) -> None:
    assert likely_outcome(columns(**{name: [0, 1, 1] for name in names}), None, ()) == outcome


def test_what_the_model_reads_is_no_outcome_and_its_classes_speak_for_one() -> None:
    table = columns(income=[1, 2, 3], x=[0, 1, 1], z=["no", "yes", "no"])
    assert likely_outcome(table, ("income", "x"), ("no", "yes")) == "z"
    assert likely_outcome(table, ("z", "x"), (7, 8)) is None


@pytest.mark.parametrize(
    ("names", "decision"),
    [
        (("hired", "prediction"), "prediction"),
        (("hired", "y_pred"), "y_pred"),
        (("a", "hired"), "hired"),
        (("a", "Entscheidung"), "Entscheidung"),
        (("a", "prediction_score"), None),
        (("a", "b"), None),
    ],
)
def test_a_column_of_decisions_is_told_by_name(names: tuple[str, ...], decision: str | None) -> None:
    assert likely_decision(columns(**{name: [0, 1, 1] for name in names})) == decision


def attributes(table: dict[str, Any], wanted: tuple[str, ...] = ()) -> Any:
    return attributes_of(writable_profiles(Table.of(table)), wanted, ())


def test_the_largest_group_is_the_reference_and_rare_ones_are_set_aside() -> None:
    (race,) = attributes({"race": ["A"] * 600 + ["B"] * 390 + ["C"] * 10})
    assert race.reference.label == "A"
    assert [group.condition for group in race.groups] == ["race == 'B'"]
    assert [(group.label, reason) for group, reason in race.rare] == [
        ("C", "only 10 of 1,000 rows: too few for a rate to mean much")
    ]


def test_a_group_of_less_than_two_percent_is_set_aside() -> None:
    (race,) = attributes({"race": ["A"] * 2000 + ["B"] * 500 + ["C"] * 40})
    assert "below 2%" in race.rare[0][1]


def test_a_small_table_still_has_two_groups() -> None:
    (sex,) = attributes({"sex": ["F", "M", "M"]})
    assert (sex.reference.label, [group.label for group in sex.groups]) == ("M", ["F"])


def test_age_is_cut_into_ranges_that_everybody_belongs_to() -> None:
    ages = np.arange(18, 90).repeat(40)
    (age,) = attributes({"age": ages})
    groups = (age.reference, *age.groups)
    assert sum(group.people for group in groups) == len(ages)
    assert {group.condition for group in groups} == {
        "age < 25",
        "age >= 25 and age < 40",
        "age >= 40 and age < 60",
        "age >= 60",
    }


@pytest.mark.parametrize("ages", [[-5, 20, 30], [1900, 1980, 1975], [200, 20, 30]])
def test_numbers_that_are_no_ages_are_no_age(ages: list[int]) -> None:
    assert attributes({"age": [*ages, *range(18, 60)]}) == ()


def test_any_column_that_makes_two_groups_can_be_named() -> None:
    (wage,) = attributes({"wage": np.arange(100.0)}, ("wage",))
    assert {wage.reference.condition, wage.groups[0].condition} == {"wage < 49.5", "wage >= 49.5"}
    with raises(UsageError, "wage"):
        attributes({"wage": [1.0, 1.0]}, ("wage",))


def test_values_alone_speak_only_where_no_name_does() -> None:
    degrees = {"charge": ["F", "M"] * 50}
    assert [each.column for each in attributes(degrees)] == ["charge"]
    assert [each.column for each in attributes({"gender": ["a", "b"] * 50} | degrees)] == ["gender"]


def test_a_missing_value_belongs_to_no_group() -> None:
    (sex,) = attributes({"sex": ["F"] * 50 + ["M"] * 60 + [None] * 40})
    assert sex.reference.people + sum(group.people for group in sex.groups) == 110


# ------------------------------------------------------------------------------------------------------ whole drafts


def people(rows: int = 200) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "sex": rng.choice(["F", "M"], rows),
        "experience": rng.integers(0, 20, rows),
        "late_payments": rng.integers(0, 5, rows),
        "repaid": rng.integers(0, 2, rows),
    }


def lends(table: Any) -> Any:
    return (np.asarray(table["experience"]) > 9).astype(int)


def test_an_attribute_that_the_model_does_not_read_is_not_changed() -> None:
    opened = lambda _: adapt(lends, ["experience"])  # noqa: E731  (an opener, as the command makes one)
    draft = draft_audit(Table.of(people()), opened, DraftFiles("m:l", "p.csv"), DraftRequest(features=("experience",)))
    assert not any(claim.ask == ("safety", "invariant_to") for claim in draft.suggestions)


def test_what_cannot_be_checked_is_commented_out_with_the_reason() -> None:
    table = people() | {"id": np.arange(200)}

    def fragile(asked: Any) -> Any:
        if (table["sex"][np.asarray(asked["id"])] != np.asarray(asked["sex"])).any():
            raise ValueError("nobody is like that")
        return lends(asked)

    draft = draft_audit(Table.of(table), lambda _: adapt(fragile), DraftFiles("m:l", "p.csv"), DraftRequest())
    found = {claim.name: claim for claim in draft.suggestions}
    assert any(claim.active for name, claim in found.items() if name.startswith("impact ratio, sex"))
    assert "nobody is like that" in found["sex changes nothing"].doubt
    assert '# safety = "invariant_to"' in draft.text


def test_a_model_that_answers_at_random_is_drafted_as_one() -> None:
    rng = np.random.default_rng(0)

    def tosses(asked: Any) -> Any:
        return rng.integers(0, 2, len(asked["sex"]))

    draft = draft_audit(Table.of(people()), lambda _: adapt(tosses), DraftFiles("m:l", "p.csv"), DraftRequest())
    assert any(claim.active for claim in draft.suggestions)
    assert "random = true" in draft.text
    assert '"invariant_to"' not in draft.text


def test_scores_bring_calibration_where_there_is_an_outcome() -> None:
    table = people() | {"score": np.random.default_rng(1).random(200), "prediction": np.arange(200) % 2}
    draft = draft_audit(Table.of(table), None, TABLE, DraftRequest())
    names = [claim.name for claim in draft.suggestions if claim.active]
    assert {"calibration by sex", "equal opportunity by sex"} <= set(names)


def drafted(table: dict[str, Any], **wishes: Any) -> dict[str, Any]:
    draft = draft_audit(Table.of(table), None, TABLE, DraftRequest(**wishes))
    return {claim.name: claim for claim in draft.suggestions}


@pytest.mark.parametrize(
    ("decision", "laws"),
    [
        ("hired", {"sex": "29 CFR 1607.4 D", "marital_status": "", "age": "29 USC 623, from 40 on"}),
        ("loan_granted", {"sex": "15 USC 1691", "marital_status": "15 USC 1691", "age": "15 USC 1691"}),
        ("decision", {"sex": "", "marital_status": "", "age": ""}),
    ],
)
def test_the_law_that_is_cited_fits_attribute_and_use(decision: str, laws: dict[str, str]) -> None:
    rng = np.random.default_rng(0)
    table = {
        "sex": rng.choice(["F", "M"], 400),
        "marital_status": rng.choice(["single", "married"], 400),
        "age": rng.integers(20, 70, 400),
        decision: rng.integers(0, 2, 400),
    }
    claims = drafted(table, decision=decision)
    for column, law in laws.items():
        named = [name for name in claims if re.match(rf"(four fifths|impact ratio)(, | by ){column}(:|$)", name)]
        cited = {claims[name].why for name in named}
        assert cited
        assert all(name.startswith("four fifths") == law.startswith("29 CFR 1607") for name in named)
        assert all(why.startswith(law) and bool(why) == bool(law) for why in cited), (column, cited)


def test_charges_are_better_low() -> None:
    rng = np.random.default_rng(0)
    table = {"sex": rng.choice(["F", "M"], 400), "bmi": rng.normal(28, 4, 400), "charges": rng.gamma(2, 5_000, 400)}
    model = adapt(lambda rows: 300.0 * np.asarray(rows["bmi"]))
    draft = draft_audit(Table.of(table), lambda _: model, DraftFiles("m:p", "p.csv"), DraftRequest(outcome="charges"))
    claims = {claim.name: claim for claim in draft.suggestions}
    assert draft.basis.decision.event.startswith("prediction <= ")
    assert "what people pay" in draft.basis.decision.why
    assert all(claim.why == "" for claim in claims.values())


def test_charges_that_a_model_of_numbers_does_not_read_are_the_outcome() -> None:
    rng = np.random.default_rng(0)
    table = {"sex": rng.choice(["F", "M"], 400), "bmi": rng.normal(28, 4, 400), "charges": rng.gamma(2, 5_000, 400)}
    model = adapt(lambda rows: 300.0 * np.asarray(rows["bmi"]), ["sex", "bmi"])
    draft = draft_audit(
        Table.of(table), lambda _: model, DraftFiles("m:p", "p.csv"), DraftRequest(features=("sex", "bmi"))
    )
    assert draft.basis.outcome is not None
    assert draft.basis.outcome.column.name == "charges"
    assert draft.basis.decision.event.startswith("prediction <= ")


def test_a_title_names_the_file_and_not_where_it_is() -> None:
    opened = lambda _: adapt(lends, ["experience"])  # noqa: E731  (an opener, as the command makes one)
    for model, title in (("../../models/credit.skops", "credit.skops"), ("lender:lends", "lender:lends")):
        draft = draft_audit(
            Table.of(people()), opened, DraftFiles(model, "p.csv"), DraftRequest(features=("experience",))
        )
        assert f'title = "Audit of {title}"' in draft.text


def test_sex_and_race_are_crossed_before_others() -> None:
    rng = np.random.default_rng(0)
    table = {
        "age": rng.integers(20, 70, 2000),
        "marital_status": rng.choice(["single", "married"], 2000),
        "race": rng.choice(["Black", "White"], 2000),
        "sex": rng.choice(["F", "M"], 2000),
        "hired": rng.integers(0, 2, 2000),
    }
    assert [name for name in drafted(table) if " and " in name] == ["four fifths by race and sex"]


def test_two_attributes_are_crossed_and_forty_countries_are_one_property() -> None:
    rng = np.random.default_rng(0)
    countries = [f"country {number}" for number in range(40)]
    weights = np.array([40.0, *[6.0] * 9, *[0.3] * 30])
    table = {
        "sex": rng.choice(["F", "M"], 4000),
        "native_country": rng.choice(countries, 4000, p=weights / weights.sum()),
        "approved": rng.integers(0, 2, 4000),
    }
    claims = drafted(table)
    country = [claim for name, claim in claims.items() if "country" in name and name.startswith("impact ratio")]
    assert [claim.name for claim in country] == [
        "impact ratio by native_country",
        "impact ratio by sex and native_country",
    ]
    assert "Set aside: " in country[0].note
    listed = country[0].ask[1].partition("}")[0]
    assert listed.startswith("for g in {'country ")
    assert listed.count("'country ") == 8
    assert country[0].ask[1].endswith("native_country == 'country 0'] >= 0.8")
    assert "sex == 'F' and native_country == 'country 0'" in country[1].ask[1]
