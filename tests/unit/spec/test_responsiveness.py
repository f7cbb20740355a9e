"""Responsiveness as a property: what can be said, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

import isonomia as iso
from isonomia.interventions import Feature, Interventions

RULES = Interventions((Feature("a", "binary"), Feature("b", "binary")))


def test_a_property_reads_as_a_sentence() -> None:
    claim = iso.Responsiveness(RULES, [1, 2], at_least=0.1, who="prediction == 0", only="a")
    assert str(claim) == (
        "share of reachable points with prediction in {1, 2} >= 0.1, for everybody with prediction == 0, "
        "changing only a"
    )
    assert claim.explain().startswith("Everybody with prediction == 0 reaches")
    assert iso.responsiveness.gaming(RULES, 1).explain().startswith("Nobody reaches prediction == 1")


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
        ({"target": 1, "at_least": 0.1, "draws": 50, "control": "discovery"}, "Leave draws out"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], complaint: str) -> None:
    with pytest.raises(iso.UsageError, match=complaint):
        iso.Responsiveness(RULES, **arguments)


def test_interventions_must_be_interventions() -> None:
    with pytest.raises(iso.UsageError, match="a dict came"):
        iso.Responsiveness({}, 1, at_least=0.1)  # type: ignore[arg-type]


def test_named_tests_say_what_they_claim() -> None:
    named = iso.responsiveness
    assert str(named.preclusion(RULES, 1)).endswith("prediction == 1 >= 0.01, for everybody")
    assert "prediction == own >= 0.95" in str(named.stability(RULES))
    assert "abs(prediction - own) <= 2 >= 0.95" in str(named.stability(RULES, within=2))
    assert "prediction <= budget >= 0.1" in str(named.affordability(RULES, "budget"))
    assert "prediction >= own >= 0.99" in str(named.monotonicity(RULES))
    assert list(named.by_feature(RULES, 1)) == ["a", "b"]
    with pytest.raises(iso.UsageError, match="direction"):
        named.monotonicity(RULES, "sideways")  # type: ignore[arg-type]
