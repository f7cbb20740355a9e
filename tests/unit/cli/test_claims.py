"""Which options of ``isonomia responsiveness`` make which claim."""

from __future__ import annotations

from typing import Any

import pytest

from isonomia.cli.responsiveness import claimed, parse_target
from isonomia.errors import UsageError
from isonomia.interventions import Feature, Interventions
from isonomia.spec.responsiveness import Responsiveness
from raising import raises

CHANGES = Interventions((Feature("savings", "integer", 0, 9),))


def claim(said: dict[str, Any], **options: Any) -> Responsiveness:
    return claimed(said.get("test", ""), CHANGES, {**said, "test": None}, **options)


@pytest.mark.parametrize(
    ("texts", "target"),
    [
        (["1"], 1),
        (["1.5"], 1.5),
        (["yes"], "yes"),
        (["'1'"], "1"),
        (['"a b"'], "a b"),
        (["<=50K"], "<=50K"),
        (["12:30 train"], "12:30 train"),
        (["0:10"], (0, 10)),
        ([":10"], (None, 10)),
        (["-1.5:"], (-1.5, None)),
        ([":"], ":"),
        (["nan"], "nan"),
        (["good", "fair", "1"], ["good", "fair", 1]),
        (["prediction < own"], "prediction < own"),
        (["score > 0.5"], "score > 0.5"),
    ],
)
def test_a_target_is_read_as_it_was_meant(texts: list[str], target: Any) -> None:
    found = parse_target(texts)
    assert found == target
    assert type(found) is type(target)


@pytest.mark.parametrize("second", ["prediction < own", "0:10"])
def test_several_targets_are_classes(second: str) -> None:
    with raises(UsageError, "--target", second):
        parse_target(["yes", second])


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"target": ("1",), "at_least": 0.1}, "prediction == 1 >= 0.1"),
        ({"target": ("1",), "at_most": 0.1}, "prediction == 1 <= 0.1"),
        ({"test": "preclusion", "target": ("1",)}, "prediction == 1 > 0 (>= 0.01 where points are drawn)"),
        ({"test": "preclusion", "target": ("1",), "at_least": 0.02}, "prediction == 1 >= 0.02"),
        ({"test": "gaming", "target": ("1",), "at_most": 0.2}, "prediction == 1 <= 0.2"),
        ({"test": "stability", "within": 2.0}, "abs(prediction - own) <= 2 >= 0.95"),
        ({"test": "affordability", "limit": "500"}, "prediction <= 500 >= 0.95"),
        ({"test": "affordability", "limit": "budget", "at_least": 0.5}, "prediction <= budget >= 0.5"),
        ({"test": "monotonicity", "direction": "down"}, "prediction <= own >= 0.99"),
    ],
)
def test_a_claim_is_the_property_of_its_options(said: dict[str, Any], text: str) -> None:
    prop = claim(said, who="savings > 3", rows=[2])
    assert f"share of reachable points with {text}," in str(prop)
    assert "the person in row 2 with savings > 3" in str(prop)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"test": "gameing", "target": ("1",)}, "Did you mean 'gaming'"),
        ({"test": "gaming"}, "--test gaming requires --target"),
        ({"test": "gaming", "target": ("1",), "at_least": 0.1}, "--at-least does not apply to --test gaming"),
        ({"test": "monotonicity", "limit": "3"}, "--limit does not apply to --test monotonicity"),
        (
            {"target": ("1",), "at_least": 0.1, "direction": "up"},
            "--direction does not apply to a claim without --test",
        ),
        ({"test": "monotonicity", "direction": "left"}, "expected direction as 'up' or 'down'"),
    ],
)
def test_options_that_do_not_go_together_are_refused(said: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        claim(said)
