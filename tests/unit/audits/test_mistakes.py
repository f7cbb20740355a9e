"""Twenty mistakes that people make in their first hour: each is refused by an error that says where and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import isonomia as iso
from isonomia.errors import DataError, ModelError, SpecError, UsageError

PEOPLE = {"sex": ["F", "M"] * 50, "hired": [1, 0, 1, 1] * 25, "score": [0.2, 0.9] * 50}


def checked(text: Any, model: Any = None, population: Any = PEOPLE, **options: Any) -> Callable[[], Any]:
    return lambda: iso.check(text, model, population, **options)


SPELLED = {
    "one equals sign": ("P[hired | sex = 'F'] >= 0.3", 14),
    "the signs of >= turned round": ("P[hired | sex == 'F'] => 0.3", 22),
    "round brackets": ("P(hired | sex == 'F') >= 0.3", 1),
    "no quotation marks": ("P[hired | sex == F] >= 0.3", 17),
    "a misspelled column": ("P[hird | sex == 'F'] >= 0.3", 2),
    "a value in small letters": ("P[hired | sex == 'f'] >= 0.3", 17),
    "no P": ("hired >= 0.3", 0),
    "no comparison": ("P[hired | sex == 'F']", 21),
    "a bracket that is not closed": ("P[hired >= 0.3", 14),
    "an unknown column in for": ("for g in sexs: P[hired | sex == g] >= 0.3", 9),
    "a text for a number": ("P[hired | hired == '1'] >= 0.3", 19),
}


@pytest.mark.parametrize("name", SPELLED)
def test_a_mistake_in_a_property_is_pointed_at(name: str) -> None:
    text, start = SPELLED[name]
    with pytest.raises(SpecError) as caught:
        checked(text)()
    assert caught.value.place is not None
    assert caught.value.place.start == start
    assert "^" in str(caught.value)


GIVEN = {
    "delta in percent": (checked("P[hired] >= 0.3", delta=5), UsageError, None),
    "a budget in words": (checked("P[hired] >= 0.3", budget="many"), UsageError, "budget"),
    "an unknown method": (checked("P[hired] >= 0.3", method="fast"), UsageError, None),
    "arguments in another order": (checked(PEOPLE, population="P[hired] >= 0.3"), UsageError, "property"),
    "a number as a model": (checked("P[prediction == 1] >= 0.3", 5), UsageError, None),
    "a model that answers once": (checked("P[prediction == 1] >= 0.3", lambda _: 1), ModelError, None),
    "a table without rows": (checked("P[hired] >= 0.3", None, {"hired": []}), DataError, None),
    "a table by no decision": (lambda: iso.measure(PEOPLE, by="sex"), UsageError, "decision"),
    "a value that no decision has": (
        lambda: iso.measure(PEOPLE, by="sex", decision="hired", favourable="yes"),
        UsageError,
        "favourable",
    ),
}


@pytest.mark.parametrize("name", GIVEN)
def test_a_wrong_argument_is_named(name: str) -> None:
    call, kind, argument = GIVEN[name]
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    assert argument is None or caught.value.name == argument
    assert len(str(caught.value)) < 500
    assert np.char.count(str(caught.value), "\n") < 3
