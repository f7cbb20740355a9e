"""Every family of published specifications runs to a verdict, on small domains of our own, with the counts of a loop.

The transpiler and the walker with continuous actions have files of their own beside this one.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from walking import Walk, onward

import isonomia as iso

RNG = np.random.default_rng(11)


def check(text: str, model: Any, **domains: Any) -> iso.Verdict:
    return iso.check(iso.safety.property(text, domains=domains, allow_code=True), model, seed=1, budget=200_000)


def violating(verdict: iso.Verdict) -> int:
    count: int = verdict.details["violations"]["cases"]
    assert len(verdict.violations()) == verdict.details["violations"]["distinct"]
    return count


# ------------------------------------------------------------------------------------------------------------- tables

PEOPLE = np.column_stack(
    [RNG.integers(0, 15, 30), RNG.integers(0, 4, 30), np.eye(4, dtype=int)[RNG.integers(0, 4, 30)]]
)
COMPAS = """import compas;
input x1;
var v1 := getFeat(x1, 0);
var v2 := v1 + randInt(1, 10);
var x2 := setFeat(x1, 0, v2);
requires v2 <= 20;
output d1;
output d2;
{
d1 = compas.predict(x1)
d2 = compas.predict(x2)
}
// 0-low, 1-medium, 2-high risk
ensures d1 <= d2;
"""
GERMAN = """import german_credit;
input x1;
var v1 := getFeat(x1, -1);
var v2 := v1 + 1;
var v3 := randInt(v2, 3);
var x2 := setFeat(x1, -1, v3);
output d1;
output d2;
{
d1 = german_credit.predict(x1)
d2 = german_credit.predict(x2)
}
ensures d2 <= d1;
/* -1 is the group of the last four columns */
"""


def risk(rows: Any) -> NDArray[Any]:
    return (np.asarray(rows)[:, 0] * 5 + np.asarray(rows)[:, 1]) % 3


def refusal(rows: Any) -> NDArray[Any]:
    rows = np.asarray(rows)
    return ((rows[:, 2:].argmax(axis=1) * 7 + rows[:, 1]) % 3 == 0).astype(int)


def test_numbers_of_columns_as_for_compas() -> None:
    verdict = check(COMPAS, risk, compas=PEOPLE)
    expected = 0
    for row, by in product(PEOPLE, range(1, 11)):
        if row[0] + by <= 20:
            expected += risk(row[None])[0] > risk(np.array([[row[0] + by, *row[1:]]]))[0]
    assert violating(verdict) == expected > 0


def get_feature(row: Any, number: int) -> Any:
    return next(place for place in range(4) if row[2 + place] == 1) if number < 0 else row[number]


def set_feature(row: Any, number: int, value: Any) -> Any:
    changed = row.copy()
    if number >= 0:
        changed[number] = value
        return changed
    for place in range(4):
        changed[2 + place] = int(place == value)
    return changed


def test_features_of_ones_own_with_negative_numbers_as_for_german_credit() -> None:
    entry = {"inputs": PEOPLE, "functions": {"getFeat": get_feature, "setFeat": set_feature}}
    verdict = check(GERMAN, refusal, german_credit=entry)
    expected = 0
    for row in PEOPLE:
        place = int(row[2:].argmax())
        for new in range(place + 1, 4):
            changed = np.array([*row[:2], *np.eye(4, dtype=int)[new]])
            expected += refusal(changed[None])[0] > refusal(row[None])[0]
    assert violating(verdict) == expected > 0


# -------------------------------------------------------------------------------------------------- images, sound, text

CHANGED = """import {name};
input x1;
var x2 := {change}(x1);
var v1 := label(x1);
output d1;
output d2;
{{
d1 = {name}.predict(x1)
d2 = {name}.predict(x2)
}}
ensures d2==v1 ==> d1==v1;
"""
LABELS = RNG.integers(0, 2, 40)


def test_blurred_images_as_for_mnist() -> None:
    pictures = (RNG.random((40, 6, 6)) * 255 * RNG.uniform(0.6, 1.0, (40, 1, 1))).astype(np.uint8)

    def bright(images: Any) -> NDArray[Any]:
        return (np.asarray(images, dtype=float).std(axis=(1, 2)) > 60).astype(int)

    domain = iso.Images(pictures, LABELS)
    blurred = domain.table(domain.functions["blur"].call(domain.inputs(np.arange(40)))).native
    before, after = bright(pictures), bright(blurred)
    verdict = check(CHANGED.format(name="mnist", change="blur"), bright, mnist=domain)
    assert violating(verdict) == int(((after == LABELS) & (before != LABELS)).sum()) > 0


def test_white_noise_as_for_spoken_commands() -> None:
    waves = np.sin(np.linspace(0, 40, 400))[None] * RNG.uniform(0.1, 0.9, (40, 1))

    def crossings(sounds: Any) -> NDArray[Any]:
        return np.array([np.count_nonzero(np.diff(np.sign(sound))) % 2 for sound in sounds])

    domain = iso.Sounds(list(waves), 400, LABELS)
    verdict = check(CHANGED.format(name="speech_command", change="wNoise"), crossings, speech_command=domain)
    assert verdict.answer == "violated"
    for item in verdict.violations():
        assert item["outputs"]["d2"] == item["variables"]["v1"] != item["outputs"]["d1"]


REVIEWS = {"good": ["clean", "near the sea", "", "kind people"], "bad": ["loud", "", "dirty", "dear and small"]}
DELETED = """import hotel_review;
input x1;
var x2 := setFeat(x1, 0, "");
output d1;
output d2;
{
d1 = hotel_review.predict(x1)
d2 = hotel_review.predict(x2)
}
ensures d1 <= d2;
"""
ADDED = """import hotel_review;
input x1;
input x2;
var v1 := getFeat(x1, 1);
var v2 := getFeat(x2, 1);
var v3 := strConcat(v1, v2);
var x3 := setFeat(x1, 1, v3);
output d1;
output d3;
{
d1 = hotel_review.predict(x1)
d3 = hotel_review.predict(x3)
}
ensures d1 <= d3;
"""


def gloom(texts: Any) -> NDArray[Any]:
    return np.array([len(text) % 4 for text in texts])


def test_sections_that_are_deleted_and_added_as_for_hotel_reviews() -> None:
    def judged(good: str, bad: str) -> int:
        return len(" ".join(part for part in (good, bad) if part)) % 4

    pairs = list(zip(REVIEWS["good"], REVIEWS["bad"], strict=True))
    deleted = check(DELETED, gloom, hotel_review=iso.Texts(REVIEWS))
    assert violating(deleted) == sum(judged(good, bad) > judged("", bad) for good, bad in pairs) > 0
    added = check(ADDED, gloom, hotel_review=iso.Texts(REVIEWS))
    expected = sum(judged(*one) > judged(one[0], one[1] + other[1]) for one, other in product(pairs, pairs))
    assert violating(added) == expected > 0


# --------------------------------------------------------------------------------------------------------------- games

GAMES = """import {name};
input s1;
var s2 := {change}(s1);
output o1;
output o2;
{{
o1, o2 = 0, 0
for _ in range(10):
    rs = {name}.randInt(0, 2**32-1)
    o1 += {name}.play(s1, rs)
    o2 += {name}.play(s2, rs)
}}
// 0-lose, 1-win
ensures {claim};
"""


@pytest.mark.parametrize(("change", "claim"), [("relax", "o1 <= o2"), ("unrelax", "o2 <= o1")])
def test_paired_games_as_for_the_lander(change: str, claim: str) -> None:
    domain = iso.Games(Walk(), seeds=7)
    prop = iso.safety.property(
        GAMES.format(name="lunar", change=change, claim=claim), domains={"lunar": domain}, allow_code=True, eps=0.05
    )
    assert iso.check(prop, onward, seed=1).answer == "holds"  # a nearer goal is reached whenever a farther one is

    def lazy_when_near(observed: NDArray[Any]) -> NDArray[Any]:
        return np.where(observed[:, 1] <= 2, 0, onward(observed))

    lazy = iso.check(prop, lazy_when_near, seed=1)
    assert lazy.answer == "violated"
    for item in lazy.violations():
        wins = item["outputs"]
        assert wins["o1"] > wins["o2"] if change == "relax" else wins["o2"] > wins["o1"]
