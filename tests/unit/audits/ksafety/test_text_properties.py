"""k-safety properties of texts: the paper's figure as printed, random functions, shrinking and replay."""

from __future__ import annotations

from typing import Any

import numpy as np
from figure_one import REVIEWS
from numpy.typing import NDArray

import isonomia as iso
from isonomia.populations.domains import Texts

HOTELS = Texts(
    {"positive": [" quiet ", "No Positive", " clean "], "negative": ["No Negative", " loud ", " dirty, loud "]},
    missing=("No Positive", "No Negative"),
)


def complains(texts: list[str]) -> NDArray[Any]:
    """Negative (1) from two complaints on, but three are taken for irony."""
    counts = [sum(text.count(word) for word in ("loud", "dirty")) for text in texts]
    return np.array([int(count == 2 or count > 3) for count in counts])


def mentions_noise(texts: list[str]) -> list[int]:
    return [int("loud" in text) for text in texts]


def test_the_figure_runs_as_printed_on_texts() -> None:
    verdict = iso.check(iso.safety.property(REVIEWS), complains, HOTELS, seed=1)
    assert (verdict.answer, verdict.details["cases"]["tested"]) == ("violated", 9)
    assert verdict.details["violations"]["cases"] == 1
    (found,) = verdict.counterexamples
    assert found["differs"]["x3"] == {"negative": [" dirty, loud ", " dirty, loud  loud "]}
    assert found["outputs"] == {"d1": 1, "d3": 0}
    fair = iso.check(
        iso.safety.property(REVIEWS), lambda texts: [int("loud" in text) for text in texts], HOTELS, seed=1
    )
    assert fair.answer == "holds"


def test_a_counterexample_is_tried_again_where_the_text_is_gone() -> None:
    prop = iso.safety.property(REVIEWS)
    known = iso.check(prop, complains, HOTELS, seed=1).counterexamples
    others = Texts({"positive": ["fine"], "negative": ["nothing"]})
    again = iso.check(iso.safety.property(REVIEWS, known=known), complains, others, seed=1)
    assert again.answer == "violated"
    assert again.counterexamples[0]["inputs"] == known[0]["inputs"]


def test_texts_without_a_possible_typo_are_turned_away() -> None:
    text = """input x1; var x2 := typo(x1); output d1; output d2;
    { d1 = predict(x1)
      d2 = predict(x2) }
    ensures d1 == d2;"""
    texts = Texts(["loud", "aaa", "1 2 3"])
    prop = iso.safety.property(text, enumerate=False, stop_early=False)
    verdict = iso.check(prop, mentions_noise, texts, budget=50, seed=1)
    assert verdict.answer == "violated"
    assert verdict.details["cases"]["inputs"] == 1
    assert verdict.details["cases"]["without_choice"] > 50
    assert verdict.details["violations"]["cases"] == 50


def test_a_missing_section_is_null_and_can_be_required() -> None:
    text = """input x1; requires getFeat(x1, "negative") != null; var x2 := delete(x1, "negative");
    output d1; output d2;
    { d1 = predict(x1)
      d2 = predict(x2) }
    ensures d2 <= d1;"""
    verdict = iso.check(iso.safety.property(text), complains, HOTELS, seed=1)
    assert (verdict.answer, verdict.details["cases"]["tested"]) == ("holds", 2)
    assert verdict.details["cases"]["rejected"] == 1
