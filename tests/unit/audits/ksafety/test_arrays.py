"""k-safety of images and sounds, from the call to what is shown on the terminal."""

from __future__ import annotations

import io
import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from figure_one import BLUR
from known_people import not_repeated
from numpy.typing import NDArray
from rich.console import Console
from scipy.ndimage import gaussian_filter
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB

import isonomia as iso
from isonomia.populations.domains import Images, Sounds
from isonomia.records.verdict import Verdict
from isonomia.report.terminal import show

SAME = """input x1;
var x2 := {change};
output d1;
output d2;
{{
    d1 = predict(x1)
    d2 = predict(x2)
}}
ensures d1 == d2;
"""


@cache
def digits() -> tuple[NDArray[np.uint8], NDArray[Any], GaussianNB]:
    """Handwritten digits of 8 x 8 pixels, and a classifier that gets some of them wrong."""
    found = load_digits()
    images = found.images.astype(np.uint8)
    model = GaussianNB().fit(images[:900].reshape(900, -1), found.target[:900])
    return images[900:], found.target[900:], model


def grey(levels: list[int]) -> NDArray[np.uint8]:
    return np.stack([np.full((4, 4), level, dtype=np.uint8) for level in levels])


def bright(images: NDArray[Any]) -> NDArray[Any]:
    return (images.mean(axis=(1, 2)) > 100).astype(int)


def test_the_second_specification_of_the_papers_figure_runs_as_printed_and_exactly() -> None:
    images, labels, model = digits()
    verdict = iso.check(iso.safety.property(BLUR), model, Images(images, labels, between=(0, 16)), seed=1)
    before = model.predict(images.reshape(len(images), -1))
    blurred = np.stack([np.rint(gaussian_filter(image.astype(float), 1.0)) for image in images])
    after = model.predict(blurred.reshape(len(images), -1))
    wrong = np.flatnonzero((after == labels) & (before != labels))
    assert len(wrong)
    assert (verdict.answer, verdict.method, verdict.risk, verdict.details["k"]) == ("violated", "exact", 0.0, 2)
    assert verdict.details["cases"]["tested"] == len(images)
    assert verdict.details["violations"]["cases"] == len(wrong)
    assert {item["rows"]["x1"] for item in verdict.counterexamples} <= set(wrong.tolist())
    assert verdict.population["what"] == "image"
    assert len(verdict.population["fingerprint"]) == 64


def test_random_choices_are_enumerated_where_they_are_whole_numbers() -> None:
    prop = iso.safety.property(SAME.format(change="brightness(x1, randInt(0, 10))"))
    verdict = iso.check(prop, bright, Images(grey([50, 95, 200])), seed=1)
    assert (verdict.method, verdict.details["cases"]["tested"]) == ("exact", 33)
    assert verdict.details["violations"]["cases"] == 5  # 95 and more than 5: 6 to 10
    assert verdict.counterexamples[0]["choices"] == [6]
    assert verdict.counterexamples[0]["distance"] == pytest.approx(16 * 6 / 255)


def test_a_real_number_shrinks_to_the_least_that_violates() -> None:
    prop = iso.safety.property(SAME.format(change="brightness(x1, randReal(0, 100))"))
    verdict = iso.check(prop, bright, Images(grey([40]) / 255 * 255, between=(0, 255)), seed=1)
    found = verdict.counterexamples[0]
    assert verdict.answer == "violated"
    assert 60 < found["choices"][0] < 60.01
    assert found["differs"]["x2"]["pixels"][1].startswith("16 of 16 differ, by 60 at most")


def test_seeds_of_noise_are_choices_that_can_be_repeated() -> None:
    images = Images(grey([99, 101, 100]))
    prop = iso.safety.property(SAME.format(change="noise(x1, 30)"))
    verdict = iso.check(prop, bright, images, seed=3)
    assert verdict.answer == "violated"
    kept = json.loads(json.dumps(verdict.counterexamples))
    again = iso.check(iso.safety.property(SAME.format(change="noise(x1, 30)"), known=kept), bright, images, seed=9)
    assert again.stopped == f"{len(kept)} of {len(kept)} known counterexamples still violate it"
    assert [item["outputs"] for item in again.counterexamples] == [item["outputs"] for item in kept]
    # Without the images that violate, the stored ones are tried all the same; a damaged one is passed over.
    elsewhere = Images(grey([7]))
    kept[0]["inputs"]["x1"]["pixels"] = "AAAA"
    later = iso.check(iso.safety.property(SAME.format(change="noise(x1, 30)"), known=kept), bright, elsewhere, seed=9)
    assert later.stopped.startswith(f"{len(kept) - 1} of {len(kept)} known")


def test_the_number_of_workers_and_of_images_at_a_time_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    images, labels, model = digits()
    prop = iso.safety.property(BLUR.replace("blur(x1)", "noise(x1, 4)"), enumerate=False, stop_early=False)

    def counted(**options: Any) -> Any:
        domain = Images(images, labels, between=(0, 16))
        return iso.check(prop, model, domain, budget=1500, seed=2, **options).details

    whole = counted()
    assert counted(workers=3) == whole
    monkeypatch.setattr("isonomia.populations.domains.arrays.MEMORY", 50 * 8 * 64)
    assert counted() == whole


def test_the_same_image_is_asked_about_once() -> None:
    asked = []

    def counting(images: NDArray[Any]) -> NDArray[Any]:
        asked.append(len(images))
        return bright(images)

    prop = iso.safety.property(SAME.format(change="blur(x1)"), enumerate=False, stop_early=False)
    iso.check(prop, not_repeated(counting), Images(grey([10, 200, 30])), budget=500, seed=1)
    assert max(asked) == 3  # of 500 cases
    assert asked.count(3) == 2


@pytest.mark.parametrize("at_a_time", [2, 1000])
def test_images_on_which_the_model_raises_are_counted(monkeypatch: pytest.MonkeyPatch, at_a_time: int) -> None:
    monkeypatch.setattr("isonomia.populations.domains.arrays.MEMORY", at_a_time * 8 * 16)

    def delicate(images: NDArray[Any]) -> NDArray[Any]:
        if (images.max(axis=(1, 2)) > 250).any():
            raise ValueError("too bright")
        return bright(images)

    prop = iso.safety.property(SAME.format(change="brightness(x1, 1)"))
    verdict = iso.check(prop, delicate, Images(grey([*range(0, 90, 5), 250])), seed=1)
    assert verdict.answer == "undecided"
    assert verdict.details["cases"]["failed"] == 1
    assert list(verdict.details["failures"]) == ["the model raised ValueError: too bright"]


def test_amounts_that_make_no_sense_turn_cases_away() -> None:
    prop = iso.safety.property(SAME.format(change="blur(x1, randInt(-2, 1))"))
    verdict = iso.check(prop, bright, Images(grey([50, 95])), seed=1)
    assert (verdict.answer, verdict.details["cases"]["tested"]) == ("holds", 4)
    assert verdict.details["cases"]["without_choice"] == 4


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("blur(x1, 1, 2)", "`blur` takes 1 to 2 arguments, but got 3"),
        ("rotate(x1)", "`rotate` takes 2 arguments, but got 1"),
        ("blurr(x1)", "Did you mean 'blur'?"),
        ('setFeat(x1, "9,9", 0)', "there is no pixel '9,9'"),
    ],
)
def test_a_specification_that_does_not_fit_images_is_refused(change: str, words: str) -> None:
    prop = iso.safety.property(SAME.format(change=change))
    domain = Images(grey([1]))
    with pytest.raises(iso.SpecError, match=words.replace("?", r"\?")):
        iso.check(prop, bright, domain, seed=1)


def test_code_blocks_see_images_too() -> None:
    text = SAME.format(change="blur(x1)").replace(
        "    d2 = predict(x2)", "    d2 = max([predict(y) for y in (x2, rotate(x1, 90), brightness(x1, 10))])"
    )
    verdict = iso.check(iso.safety.property(text, allow_code=True), bright, Images(grey([50, 95, 200])), seed=1)
    assert {item["rows"]["x1"] for item in verdict.counterexamples} == {1}


def terminal(verdict: Verdict) -> str:
    out = io.StringIO()
    show(verdict, Console(width=120, file=out))
    return out.getvalue()


def test_the_terminal_tells_what_differs_in_words() -> None:
    prop = iso.safety.property(SAME.format(change="brightness(x1, randInt(0, 10))"))
    text = terminal(iso.check(prop, bright, Images(grey([50, 95, 200])), seed=1))
    assert "x1 is image 1 (4 x 4); the smallest change of it that violates" in text
    assert "16 of 16 differ, by 6 at most" in text
    assert "chosen at random: 6" in text


def test_white_noise_on_sounds_of_different_lengths() -> None:
    waves = [np.sin(np.arange(n) / 3) * level for n, level in ((400, 0.02), (250, 0.5), (600, 0.011))]

    def loud(sounds: list[NDArray[Any]]) -> NDArray[Any]:
        return np.array([int(np.mean(sound**2) > 1e-4) for sound in sounds])

    domain = Sounds(waves, 8000, [1, 1, 1])
    text = BLUR.replace("blur(x1)", "wNoise(x1, 3)")
    verdict = iso.check(iso.safety.property(text), loud, domain, seed=1)
    assert verdict.answer == "violated"  # the faint one is loud enough only with noise
    assert {item["rows"]["x1"] for item in verdict.counterexamples} == {2}
    assert "x1 is sound 2 (600)" in terminal(verdict)
    assert "600 of 600 differ" in terminal(verdict)
    kept = json.loads(json.dumps(verdict.counterexamples))
    assert iso.check(iso.safety.property(text, known=kept), loud, domain, seed=2).stopped.startswith(f"{len(kept)} of")
    louder = iso.check(iso.safety.property(SAME.format(change="gain(x1, randInt(0, 3))")), loud, domain, seed=1)
    assert [(item["rows"]["x1"], item["choices"]) for item in louder.counterexamples] == [(2, [3])]
    assert louder.method == "exact"
