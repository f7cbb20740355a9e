"""Responsiveness as a property: what can be said, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isonomia as iso
from isonomia.interventions import Feature, Interventions
from isonomia.spec.responsiveness import classes_named, condition_of
from isonomia.spec.tree import outputs_of
from raising import raises

RULES = Interventions((Feature("a", "binary"), Feature("b", "binary")))


def test_a_property_reads_as_a_sentence() -> None:
    claim = iso.Responsiveness(RULES, [1, 2], at_least=0.1, who="prediction == 0", only="a")
    assert str(claim) == (
        "share of reachable points with prediction in {1, 2} >= 0.1, for all rows with prediction == 0, changing only a"
    )
    assert claim.explain().startswith("Everyone with prediction == 0 reaches")
    assert iso.responsiveness.gaming(RULES, 1).explain().startswith("No one reaches prediction == 1")


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (1, "prediction == 1"),
        ("good", "prediction == 'good'"),
        ({"b", "a"}, "prediction in {'a', 'b'}"),
        ((0, 2.5), "prediction >= 0 and prediction <= 2.5"),
        ((None, 3), "prediction <= 3"),
        ("prediction < own", "prediction < own"),
        ("score > own_score + 0.1", "score > own_score + 0.1"),
    ],
)
def test_targets_are_conditions(target: Any, text: str) -> None:
    assert f"with {text} >= 0.5" in str(iso.Responsiveness(RULES, target, at_least=0.5))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"target": 1}, "exactly one of at_least and at_most"),
        ({"target": 1, "at_least": 0.1, "at_most": 0.2}, "exactly one"),
        ({"target": 1, "at_least": 1.0}, "strictly between 0 and 1"),
        ({"target": (1, 2, 3), "at_least": 0.1}, "interval"),
        ({"target": (2, 1), "at_least": 0.1}, "low <= high"),
        ({"target": [], "at_least": 0.1}, "at least one class"),
        ({"target": object(), "at_least": 0.1}, "expected target"),
        ({"target": 1, "at_least": 0.1, "only": "c"}, "no feature 'c'"),
        ({"target": 1, "at_least": 0.1, "control": "familly"}, "Did you mean 'family'"),
        ({"target": 1, "at_least": 0.1, "draws": 0}, "draws=0"),
        ({"target": 1, "at_least": 0.1, "draws": 50, "control": "discovery"}, "leave draws out"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], complaint: str) -> None:
    with pytest.raises(iso.UsageError, match=complaint):
        iso.Responsiveness(RULES, **arguments)


def test_interventions_must_be_interventions() -> None:
    with raises(iso.UsageError, name="interventions"):
        iso.Responsiveness({}, 1, at_least=0.1)  # type: ignore[arg-type]


def test_named_tests_say_what_they_claim() -> None:
    named = iso.responsiveness
    assert str(named.preclusion(RULES, 1)).endswith(
        "prediction == 1 > 0 (>= 0.01 where points are drawn), for all rows"
    )
    assert str(named.preclusion(RULES, 1, below=0.02)).endswith("prediction == 1 >= 0.02, for all rows")
    assert named.preclusion(RULES, 1).explain() == (
        "Everyone reaches prediction == 1 at one or more of the points that they can reach. Where points are drawn "
        "and no draw reaches it, a share below 0.01 counts as none."
    )
    with raises(iso.UsageError, "one_is_enough=True", "at_most", "one_is_enough"):
        iso.Responsiveness(RULES, 1, at_most=0.1, one_is_enough=True)
    assert "prediction == own >= 0.95" in str(named.stability(RULES))
    assert "abs(prediction - own) <= 2 >= 0.95" in str(named.stability(RULES, within=2))
    assert "prediction <= budget >= 0.95" in str(named.affordability(RULES, "budget"))
    assert "prediction >= own >= 0.99" in str(named.monotonicity(RULES))
    assert list(named.by_feature(RULES, 1)) == ["a", "b"]
    with raises(iso.UsageError, "direction", "up", "down", "sideways"):
        named.monotonicity(RULES, "sideways")  # type: ignore[arg-type]


def test_one_person_may_be_meant_by_row() -> None:
    claim = iso.Responsiveness(RULES, 1, at_least=0.5, rows=3)
    assert claim.rows == (3,)
    assert str(claim).endswith("for the person in row 3")
    assert repr(claim) == f"Responsiveness({str(claim)!r})"


def test_rows_are_kept_once_each_and_a_long_list_is_cut_short() -> None:
    claim = iso.Responsiveness(RULES, 1, at_least=0.5, rows=np.array([4, 1, 4, 2, 3, 5, 6]))
    assert claim.rows == (4, 1, 2, 3, 5, 6)
    assert str(claim).endswith("for the 6 people in rows 4, 1, 2, 3, 5, ...")


@pytest.mark.parametrize("rows", [[], [-1], [0.5], ["a"], [True], [None]])
def test_rows_that_are_no_positions_are_refused(rows: Any) -> None:
    with raises(iso.UsageError, 0, name="rows"):
        iso.Responsiveness(RULES, 1, at_least=0.5, rows=rows)


def test_a_property_gives_its_parts() -> None:
    claim = iso.Responsiveness(RULES, "score > 0.5", at_least=0.5, who="prediction == 0", only="a").named("mine")
    assert claim.name == "mine"
    assert claim.condition == condition_of("score > 0.5")
    assert claim.members == condition_of("prediction == 0")
    assert [output.name for output in outputs_of(claim.condition)] == ["score"]
    assert claim.actions == RULES.only("a")
    assert iso.Responsiveness(RULES, 1, at_least=0.5).actions is RULES


@pytest.mark.parametrize(
    ("condition", "equal", "unequal"),
    [
        ("prediction == 'good'", ("good",), ()),
        ("1 == prediction and not (prediction != 2)", (1,), (2,)),
        ("3 != prediction", (), (3,)),
        ("prediction in {'a', 'b'} or prediction == 'c'", ("c", "a", "b"), ()),
        ("prediction == 1 or prediction == 1", (1,), ()),
        # A number on a scale, an own answer, a column and a score are no classes that could be misspelled.
        ("prediction > 3 or prediction == own or job == 'clerk' or score == 1 or job in {'cook'}", (), ()),
    ],
)
def test_the_classes_that_a_condition_names_are_found_on_either_side(
    condition: str, equal: tuple[object, ...], unequal: tuple[object, ...]
) -> None:
    row = condition_of(condition)
    assert set(classes_named(row, "==")) == set(equal)
    assert classes_named(row, "!=") == unequal
    assert len(classes_named(row, "==")) == len(equal)


def test_an_interval_may_have_no_upper_end() -> None:
    assert "with prediction >= 3 >= 0.5" in str(iso.Responsiveness(RULES, (3, None), at_least=0.5))


def test_a_memory_must_remember_and_a_condition_speaks_of_one_point() -> None:
    with raises(iso.UsageError, name="memory"):
        iso.Responsiveness(RULES, 1, at_least=0.5, memory={})
    with raises(iso.SpecError, "prediction > other.prediction"):
        iso.Responsiveness(RULES, "prediction > other.prediction", at_least=0.5)
    with raises(iso.UsageError, -1, "within=-1"):
        iso.responsiveness.stability(RULES, within=-1)
