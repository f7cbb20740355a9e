"""What somebody meets in the first hour: options that do not exist, values without quotes, text as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import isonomia as iso
from isonomia.errors import ModelError, SpecError, UsageError
from isonomia.interventions import Condition, IfChanged, IfThen
from raising import raises

RNG = np.random.default_rng(0)
PEOPLE = {
    "sex": RNG.choice(["F", "M"], 600),
    "income": RNG.choice([">50K", "<=50K"], 600),
    "age": RNG.integers(18, 80, 600),
}


def over_40(table: Any) -> Any:
    return (np.asarray(table["age"]) > 40).astype(int)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: iso.safety.monotone("bmi", up=(1, 5), tolerance=500), "no option 'tolerance'.*ensures d1 <= d2"),
        (lambda: iso.safety.implies_after("blur", epss=0.1), "no option 'epss'.*Did you mean 'eps'"),
        (lambda: iso.fairness.four_fifths("sex", privileged="M"), "takes no option 'privileged'.*'majority'"),
        (
            lambda: iso.fairness.demographic_parity("sex", unprivileged="F", ratio=0.8),
            "no option 'unprivileged'. Here it is called 'minority'",
        ),
        (lambda: iso.fairness.equal_opportunity("sex", ratio=0.8), "missing a required .*'outcome'; it takes"),
        (lambda: iso.safety.monotone("bmi", up=[1, 2, 3]), r"got up=\[1, 2, 3\]"),
        (lambda: iso.safety.monotone("bmi", up=(1, 2), at_least=""), "at_least=''"),
        (lambda: IfChanged("a >= 1", "b == 2"), 'write Condition\\("a", ">=", 1\\)'),  # type: ignore[arg-type]
        (lambda: IfThen(Condition("a", ">=", 1), 3), "expected then of the if-then constraint"),  # type: ignore[arg-type]
    ],
)
def test_an_option_that_does_not_exist_is_refused_in_words(make: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make()


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ("P[income == '>50K'] >= 80", "a rate is at most 1, but it is compared with 80: 80%, or 0.8?"),
        ("for g in sex: 12.5 <= P[income == '>50K' | sex == g]", "compared with 12.5: 12.5%, or 0.125"),
        ("E[income] >= 3", "has no mean.*P\\[income == "),
        ("P[age > 30 | sex == Female] >= 0.1", "no column 'Female'.*quotation marks: 'Female'"),
    ],
)
def test_a_slip_in_a_formula_is_told_with_what_was_meant(claim: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        iso.check(claim, None, iso.Sample(PEOPLE))


def test_blanks_around_a_value_and_numbers_as_names_are_told() -> None:
    blanks = {"sex": [" Male", " Female"] * 20, "hired": [1, 0] * 20}
    with raises(SpecError, "sex", " Female", "Male", at="'Male'", meant=" Male"):
        iso.check("P[hired == 1 | sex == 'Male'] >= 0.5", None, iso.Sample(blanks))
    with raises(SpecError, "39", "13", "Private", name="hired", at="hired"):
        iso.check("P[hired == 1] >= 0.5", None, iso.Sample({"39": [1, 0], "13": [2, 3], "Private": [0, 0]}))


def test_a_text_outcome_asks_for_its_positive_value_before_the_model_is_asked() -> None:
    def never(_: Any) -> Any:
        raise AssertionError("the model was asked")

    claim = iso.fairness.equal_opportunity("sex", outcome="income", ratio=0.8)
    with pytest.raises(SpecError, match=r"`income` is text .* say which of its values is meant: positive='"):
        iso.check(claim, never, iso.Sample(PEOPLE))


def test_a_percentage_for_delta_is_told_as_a_number() -> None:
    with raises(UsageError, 0, "delta=5", 5, 0.05):
        iso.check("P[age > 30] >= 0.1", None, iso.Sample(PEOPLE), delta=5)


def test_an_event_that_happens_to_one_group_is_not_said_to_be_misspelled() -> None:
    men = {**PEOPLE, "hired": np.where(PEOPLE["sex"] == "F", 0, PEOPLE["age"] > 30).astype(int)}
    claim = "for g in {'F', 'M'}: P[hired == %d | sex == g] >= 0.1"
    assert iso.check(claim % 1, None, iso.Sample(men), seed=0).remarks == ()
    assert "spelled" in iso.check(claim % 2, None, iso.Sample(men), seed=0).remarks[0]


def test_a_pipeline_of_texts_is_given_the_column_that_is_named() -> None:
    texts = ["a good day", "a bad day"] * 20
    pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, [1, 0] * 20)
    people = iso.Census({"text": texts, "sex": ["F", "M"] * 20})
    with raises(ModelError, "text", "sex"):
        iso.check("P[prediction == 1 | sex == 'F'] >= 0.9", pipeline, people)
    assert iso.check("P[prediction == 1 | sex == 'F'] >= 0.9", pipeline, people, features=["text"]).holds is True


def test_a_plain_function_can_be_brought_along_with_texts() -> None:
    asked = "output d1;\noutput d2;\n{\nd1 = predict(x1)\nd2 = predict(x2)\n}\nensures d1 == d2;\n"
    spec = f"input x1;\nvar x2 := loud(x1);\n{asked}"
    texts = iso.Texts(["good", "bad"], functions={"loud": lambda text: text + "!"})
    verdict = iso.check(iso.safety.property(spec), lambda texts: [text.endswith("!") for text in texts], texts)
    assert verdict.answer == "violated"


# ------------------------------------------------------------------------------------------------ what a model is given


class Seen:
    """A model that remembers which columns it was given."""

    def __init__(self) -> None:
        self.columns: set[tuple[str, ...]] = set()

    def __call__(self, table: Any) -> Any:
        self.columns.add(tuple(table))
        return np.asarray(table["income"]) if "income" in table else np.where(over_40(table), ">50K", "<=50K")


OPPORTUNITY = iso.fairness.equal_opportunity("sex", outcome="income", positive=">50K", favourable=">50K", ratio=0.8)


@pytest.mark.parametrize(
    "claim",
    [
        OPPORTUNITY,
        OPPORTUNITY & iso.fairness.demographic_parity("sex", favourable=">50K", ratio=0.8),
        ~OPPORTUNITY,
        iso.parse("P[prediction == income | sex == 'F'] >= 0.9"),
        iso.PrincipalFairness(attribute="sex", outcome="income"),
    ],
)
def test_a_model_without_named_features_is_not_given_the_outcome(claim: Any) -> None:
    echo = Seen()
    verdict = iso.check(claim, echo, iso.Census(PEOPLE))
    assert echo.columns == {("sex", "age")}
    assert "Seen is given 2 of 3 columns: sex, age, and not income, the outcome" in " ".join(verdict.remarks)


def test_an_outcome_that_is_named_as_a_feature_is_given() -> None:
    echo = Seen()
    verdict = iso.check(OPPORTUNITY, echo, iso.Census(PEOPLE), features=["sex", "income"])
    assert echo.columns == {("sex", "income")}
    assert verdict.holds is True


def test_a_model_that_needs_the_outcome_is_told_how_to_get_it() -> None:
    with raises(ModelError, "income", cause=KeyError):
        iso.check(OPPORTUNITY, lambda table: table["income"], iso.Census(PEOPLE))
    with pytest.raises(ModelError, match="the only column is the outcome, 'y'"):
        iso.check("P[prediction == y] >= 0.1", lambda table: table["y"], iso.Census({"y": [1, 0]}))


def test_a_cache_does_not_bring_the_outcome_back(tmp_path: Any) -> None:
    echo = Seen()
    iso.check(OPPORTUNITY, iso.Cached(echo, tmp_path, key="1"), iso.Census(PEOPLE))
    assert echo.columns == {("sex", "age")}
