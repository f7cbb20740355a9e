"""The question: values fixed before anything is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from simulated_worlds import FAIR, drawing

import isonomia as iso
from isonomia.audits.principal.question import ask_about
from isonomia.errors import DataError, SpecError, UsageError
from isonomia.models.adapt import adapt
from raising import raises

ROWS: dict[str, list[Any]] = {"sex": ["F", "M"], "passed": [0, 1], "prediction": [0, 1], "school": ["A", "B"]}
MODEL = adapt(lambda batch: np.zeros(len(batch["sex"]), dtype=int))


def ask(model: Any = None, rows: dict[str, list[Any]] | None = None, **changed: Any) -> Any:
    prop = iso.PrincipalFairness(**({"attribute": "sex", "outcome": "passed"} | changed))
    return ask_about(prop, iso.Sample(rows or ROWS), model)


def test_values_are_numbered_ascending_or_as_declared() -> None:
    assert ask().attribute.values == ("F", "M")
    assert ask(values={"sex": ["M", "F"]}).attribute.values == ("M", "F")


def test_predictions_have_the_outcomes_values_where_they_have_no_others() -> None:
    assert ask(rows=ROWS | {"prediction": [1, 1]}).prediction.values == (0, 1)
    assert ask(model=MODEL, values={"passed": [1, 0]}).prediction.values == (1, 0)
    assert ask(rows=ROWS | {"prediction": ["high", "low"]}).prediction.values == ("high", "low")


def test_an_attribute_with_one_value_is_refused() -> None:
    with raises(DataError, 2, "sex", "['F']"):
        ask(rows=ROWS | {"sex": ["F", "F"]})


def test_an_unknown_column_is_refused_with_the_nearest() -> None:
    with raises(SpecError, name="sx", meant="sex"):
        ask(attribute="sx")
    with raises(SpecError, "sex", "prediction", name="decision"):
        ask(prediction="decision")


def test_predictions_from_two_sides_are_refused() -> None:
    with raises(UsageError, "school", name="decision"):
        ask(model=MODEL, prediction="school")


def test_an_assumption_speaks_of_the_values_as_they_are_called() -> None:
    words = {"passed": ["no", "yes"], "prediction": ["no", "yes"]}
    by_name = ask(rows=ROWS | words, assumptions=["P[Y0 == 'yes'] >= 0.5"])
    by_number = ask(rows=ROWS | words, assumptions=["P[Y0 == 1] >= 0.5"])
    assert by_name.constraints[0].row.tolist() == by_number.constraints[0].row.tolist()


def test_streams_may_be_by_attribute_and_given_only() -> None:
    prop = iso.PrincipalFairness(attribute="sex", outcome="passed")
    ask_about(prop, iso.Generator({"sex == 'F'": drawing(FAIR, 0.0), "sex == 'M'": drawing(FAIR, 1.0)}), None)
    with raises(SpecError, "sex", "passed"):
        ask_about(prop, iso.Generator({"passed == 1": drawing(FAIR), "passed == 0": drawing(FAIR)}), None)
