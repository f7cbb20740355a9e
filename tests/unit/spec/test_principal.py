"""Principal fairness as a property."""

from __future__ import annotations

from typing import Any

import pytest

import isonomia as iso
from isonomia.errors import UsageError
from raising import raises

COLUMNS: dict[str, Any] = {"attribute": "sex", "outcome": "passed"}


def test_it_prints_as_a_sentence() -> None:
    prop = iso.PrincipalFairness(**COLUMNS, given=["school", "year"], definition=2, within=0.05, normalised=True)
    assert str(prop) == (
        "principal fairness over all strata together: prediction by sex, outcome passed, for each school and year, "
        "within 0.05 of the stratum"
    )
    assert repr(prop).startswith("PrincipalFairness('principal fairness")


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        (1, "one stratum for each value of passed."),
        (2, "all people whose passed would be the same whatever their sex"),
        (3, "The stratum is everyone"),
        (4, "same passed under the first value of sex"),
    ],
)
def test_an_explanation_says_who_the_strata_are(definition: Any, words: str) -> None:
    assert words in iso.PrincipalFairness(**COLUMNS, definition=definition).explain()


def test_an_explanation_says_that_covering_zero_proves_nothing_and_that_no_margin_means_no_proof() -> None:
    words = iso.PrincipalFairness(**COLUMNS).explain()
    assert "covers zero proves nothing" in words
    assert "without a margin never that it is true" in words
    assert "without a margin" not in iso.PrincipalFairness(**COLUMNS, within=0.1).explain()


def test_it_is_a_value() -> None:
    one = iso.PrincipalFairness(**COLUMNS, given=["school"], values={"sex": ["F", "M"]})
    assert one == iso.PrincipalFairness(**COLUMNS, given=("school",), values={"sex": ("F", "M")}).named("by school")
    assert one != iso.PrincipalFairness(**COLUMNS, given=["school"], values={"sex": ["M", "F"]})
    with pytest.raises(AttributeError):
        one.within = 0.5  # type: ignore[misc]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"definition": 5}, "definition 1, 2, 3 or 4, but got 5"),
        ({"definition": True}, "definition 1, 2, 3 or 4, but got True"),
        ({"within": 1.0}, "from 0 to below 1, but got 1.0"),
        ({"within": -0.1}, "from 0 to below 1, but got -0.1"),
        ({"within": "small"}, "from 0 to below 1, but got 'small'"),
        ({"given": "school"}, r"given as a list of columns, such as \['school'\], but got 'school'"),
        ({"given": ["sex"]}, "to differ, but got 'sex' twice"),
        ({"given": ["a", "a"]}, "to differ, but got 'a' twice"),
        ({"outcome": 3}, "outcome as a column's name, but got 3"),
        ({"prediction": "passed"}, "to differ, but got 'passed' twice"),
        ({"assumptions": "outcome never falls"}, "assumptions as a list of sentences"),
        ({"values": {"school": ["a", "b"]}}, "values of 'sex', 'passed', 'prediction', but got those of 'school'"),
        ({"values": {"sex": ["F"]}}, r"at least two different values of 'sex' in a list, but got \['F'\]"),
        ({"values": {"sex": ["F", "F"]}}, "at least two different values of 'sex'"),
        ({"values": {"sex": "FM"}}, "at least two different values of 'sex' in a list, but got 'FM'"),
        ({"values": ["F", "M"]}, r"values as \{column: \[value, ...\]\}"),
    ],
)
def test_a_bad_argument_is_refused_with_what_came(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        iso.PrincipalFairness(**(COLUMNS | changed))


def test_a_name_that_is_no_text_is_refused() -> None:
    with raises(iso.UsageError, 3, name="name"):
        iso.PrincipalFairness(**COLUMNS).named(3)  # type: ignore[arg-type]
