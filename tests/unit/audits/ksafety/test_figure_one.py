"""The four specifications of the k-safety paper's first figure run as printed, here on tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from figure_one import BLUR, FELONIES, LANDER, REVIEWS
from numpy.typing import NDArray

import isonomia as iso


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
