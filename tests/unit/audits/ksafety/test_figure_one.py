"""The four specifications of the k-safety paper's first figure run as printed, here on tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import isonomia as iso

FELONIES = """input x1;
var v1 := getFeat(x1, 1);
var v2 := v1 + randInt(1, 10);
var x2 := setFeat(x1, 1, v2);
requires v2 <= 20;
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
# 0-low, 1-medium, 2-high risk
ensures d1 <= d2;
"""
BLUR = """input x1;
var x2 := blur(x1);
var v1 := label(x1);
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures d2==v1 ==> d1==v1;
"""
REVIEWS = """input x1;
input x2;
var v1 := getFeat(x1, 1);
var v2 := getFeat(x2, 1);
var v3 := strConcat(v1, v2);
var x3 := setFeat(x1, 1, v3);
output d1;
output d3;
{
  d1 = predict(x1)
  d3 = predict(x3)
}
# 0-pos, 1-neg
ensures d1 <= d3;
"""
LANDER = """input s1;
var s2 := relax(s1);
output o1;
output o2;
{
  o1, o2 = 0, 0
  for _ in range(10):
    rs = randInt(0, MAX_INT)
    o1 += play(s1, rs)
    o2 += play(s2, rs)
}
# 0-lose, 1-win
ensures o1 <= o2;
"""


def test_felonies() -> None:
    table = iso.Census({"age": [20, 30], "felonies": [0, 15]})
    verdict = iso.check(iso.safety.property(FELONIES), lambda x: np.minimum(x["felonies"] // 4, 2), table, seed=1)
    assert (verdict.answer, verdict.details["k"]) == ("holds", 2)
    assert verdict.details["cases"]["tested"] == 15


def test_blur_halves_every_number() -> None:
    def blur(row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "light": row["light"] / 2}

    prop = iso.safety.property(BLUR, functions={"blur": blur}, label="bright")
    table = iso.Census({"light": [0.9, 0.4, 0.1, 2.0], "bright": [1, 0, 0, 1]})
    assert iso.check(prop, lambda x: (x["light"] > 0.5).astype(int), table, seed=1).answer == "holds"
    blind = iso.check(prop, lambda x: (x["light"] < 0.5).astype(int), table, seed=1)
    assert blind.answer == "violated"
    assert {item["rows"]["x1"] for item in blind.counterexamples} == {0}


def test_reviews_of_every_pair_of_guests() -> None:
    reviews = iso.Census({"good": ["fine", "clean", ""], "bad": ["loud", "", "dirty and loud"]})

    def gloomy(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
        return np.array([len(bad) > len(good) for good, bad in zip(table["good"], table["bad"], strict=True)]).astype(
            int
        )

    assert iso.check(iso.safety.property(REVIEWS), gloomy, reviews, seed=1).details["cases"]["tested"] == 9
    assert iso.check(iso.safety.property(REVIEWS), gloomy, reviews, seed=1).answer == "holds"

    def odd(table: dict[str, NDArray[Any]]) -> NDArray[Any]:
        return np.array([len(bad) % 2 for bad in table["bad"]])

    assert iso.check(iso.safety.property(REVIEWS), odd, reviews, seed=1).answer == "holds"  # all lengths are even
    longer = iso.Census({"good": ["fine", ""], "bad": ["bad", "sad"]})
    found = iso.check(iso.safety.property(REVIEWS), odd, longer, seed=1)
    assert found.answer == "violated"
    assert found.counterexamples[0]["differs"]["x3"]["bad"][1] in {"badbad", "badsad", "sadbad", "sadsad"}


def test_games_with_paired_seeds_compare_twenty_runs() -> None:
    def play(state: dict[str, Any], seed: int) -> int:
        return int(np.random.default_rng(seed).normal() < state["slack"])

    functions = {"relax": lambda state: {"slack": state["slack"] + 0.5}, "play": play}
    prop = iso.safety.property(LANDER, functions=functions, allow_code=True, eps=0.05)
    states = iso.Census({"slack": [0.0, -1.0, 1.0]})
    verdict = iso.check(prop, lambda x: x["slack"], states, seed=1)
    assert verdict.answer == "holds"  # the same seed cannot lose the easier game
    harder = iso.safety.property(
        LANDER, functions={**functions, "relax": lambda state: {"slack": state["slack"] - 0.5}}, allow_code=True
    )
    assert iso.check(harder, lambda x: x["slack"], states, seed=1).answer == "violated"
