"""Images as inputs of a k-safety property."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from isonomia.errors import DataError, UsageError
from isonomia.populations.domains import ArrayDomain, Images
from raising import raises

RNG = np.random.default_rng(3)
PIXELS = RNG.integers(0, 256, (6, 5, 4), dtype=np.uint8)
LABELS = ["a", "b", "a", "b", "a", "b"]
ALL = np.arange(6, dtype=np.intp)


def seen(domain: ArrayDomain, records: Any) -> NDArray[Any]:
    found: NDArray[Any] = domain.table(records).native
    return found


def changed(domain: ArrayDomain, name: str, *amounts: Any, rows: NDArray[np.intp] = ALL) -> NDArray[Any]:
    columns = [np.broadcast_to(np.asarray(amount), len(rows)).copy() for amount in amounts]
    made = domain.functions[name].call(domain.inputs(rows), *columns)
    assert not isinstance(made, tuple)
    return seen(domain, made)


def test_the_model_is_given_the_images_as_they_came() -> None:
    domain = Images(PIXELS, LABELS)
    assert np.array_equal(seen(domain, domain.inputs(ALL[::-1])), PIXELS[::-1])
    assert (domain.size, domain.what, domain.shape) == (6, "image", (5, 4))
    assert domain.label(domain.inputs(np.array([1, 2]))).tolist() == ["b", "a"]
    unlabelled = Images(PIXELS)
    with raises(DataError, "image", name="labels"):
        unlabelled.label(unlabelled.inputs(ALL))


@pytest.mark.parametrize(
    ("pixels", "labels", "options", "kind", "name", "shown"),
    [
        (PIXELS[0], None, {}, DataError, "images", [(5, 4)]),
        (PIXELS[:0], None, {}, DataError, "images", [(0, 5, 4)]),
        ([PIXELS[0], PIXELS[0, 1:]], None, {}, DataError, "images", ["inhomogeneous"]),
        (PIXELS, LABELS[:2], {}, DataError, "labels", [6, 2]),
        (PIXELS.astype(object), None, {}, DataError, "pixels", ["object"]),
        (PIXELS / 255, None, {}, UsageError, "between", ["float64"]),
        (PIXELS / 100, None, {"between": (0, 1)}, DataError, "pixels", [0, 1, 2.55]),
        (np.where(PIXELS > 250, np.nan, PIXELS), None, {"between": (0, 255)}, DataError, "pixels", [255, "nan"]),
        (PIXELS, None, {"between": (0, 300)}, UsageError, "between", ["uint8", 300]),
        (PIXELS / 255, None, {"between": (1, 0)}, UsageError, "between", [(1, 0)]),
        (PIXELS, None, {"functions": {"dim": 3}}, UsageError, "dim", ["int"]),
        (PIXELS, None, {"functions": {"dim": lambda: 3}}, UsageError, "dim", ["array", "numbers"]),
        (PIXELS, None, {"functions": {"dim": lambda image, mode="full": image[mode]}}, UsageError, "dim", ["full"]),
    ],
)
def test_what_is_no_batch_of_images_is_refused(
    pixels: Any, labels: Any, options: dict[str, Any], kind: type[Exception], name: str, shown: list[Any]
) -> None:
    with raises(kind, *shown, name=name):
        Images(pixels, labels, **options)


def test_a_pixel_is_a_feature_by_place_and_by_number() -> None:
    domain = Images(PIXELS)
    assert domain.feature("2,3") == domain.feature(11) == domain.feature("f11") == domain.feature(" 2, 3 ") == "2,3"
    records = domain.inputs(ALL)
    read = domain.get(records, "2,3")[0]
    assert np.array_equal(read, PIXELS[:, 2, 3])
    assert np.array_equal(read - 255, PIXELS[:, 2, 3].astype(int) - 255)  # bytes would wrap around
    made, bad = domain.set(records, "2,3", np.array([0.0, 7.0, 256.0, -1.0, 3.5, 255.0]))
    assert bad is not None
    assert bad.tolist() == [False, False, True, True, True, False]
    expected = PIXELS.copy()
    expected[[0, 1, 5], 2, 3] = [0, 7, 255]
    assert np.array_equal(seen(domain, made)[~bad], expected[~bad])
    assert domain.values("0,0") == tuple(sorted(set(PIXELS[:, 0, 0].tolist())))
    coloured = Images(RNG.random((2, 3, 3, 3)), between=(0, 1))
    assert coloured.feature(26) == "2,2,2"
    for wrong in ("5,0", "0,4", "1", "1,1,1", -1, 20, "age", "f20"):
        with raises(DataError, "4,3", 19, name=str(wrong)):
            domain.feature(wrong)


def test_brightness_contrast_and_shift_do_what_they_say() -> None:
    domain = Images(PIXELS)
    assert np.array_equal(changed(domain, "brightness", 20.0), np.clip(PIXELS.astype(int) + 20, 0, 255))
    flat = np.broadcast_to(np.rint(PIXELS.mean(axis=(1, 2), keepdims=True)), PIXELS.shape)
    assert np.array_equal(changed(domain, "contrast", 0.0), flat)
    assert np.array_equal(changed(domain, "contrast", 1.0), PIXELS)
    moved = changed(domain, "shift", 1.0, 2.0)
    assert np.array_equal(moved[:, 2:, 1:], PIXELS[:, :-2, :-1])
    assert not moved[:, :2].any()
    assert not moved[:, :, :1].any()
    half = changed(Images(PIXELS / 255.0, between=(0, 1)), "shift", -0.5)
    assert np.allclose(half[:, :, 0], (PIXELS[:, :, 0] / 255.0 + PIXELS[:, :, 1] / 255.0) / 2)


def test_a_quarter_turn_is_exact_and_counter_clockwise() -> None:
    squares = RNG.integers(0, 256, (3, 7, 7), dtype=np.uint8)
    turned = changed(Images(squares), "rotate", 90.0, rows=np.arange(3))
    assert np.array_equal(turned, np.rot90(squares, axes=(1, 2)))


def test_noise_is_that_of_the_seed_and_has_the_stated_spread() -> None:
    grey = Images(np.full((2, 100, 100), 0.5), between=(0, 1))
    rows = np.array([0, 1])
    noisy = changed(grey, "noise", 0.1, np.array([5, 5]), rows=rows)
    assert np.array_equal(noisy[0], noisy[1])
    assert abs(float(noisy[0].std()) - 0.1) < 0.01  # five standard errors are 0.0035
    other = changed(grey, "noise", 0.1, np.array([5, 6]), rows=rows)
    assert np.array_equal(other[0], noisy[0])
    assert not np.array_equal(other[1], noisy[1])
    assert grey.functions["wNoise"].takes == (1, 2)
    assert grey.functions["wNoise"].random


def test_what_cannot_be_done_is_marked_and_the_rest_goes_on() -> None:
    domain = Images(PIXELS)
    made, none = domain.functions["blur"].call(domain.inputs(ALL), np.array([1.0, -1.0, np.nan, 0.0, np.inf, 2.0]))
    assert none.tolist() == [False, True, True, False, True, False]
    assert np.array_equal(seen(domain, made)[3], PIXELS[3])
    with raises(DataError, name="blur"):
        domain.functions["blur"].call(np.zeros(6))
    with raises(DataError, name="sigma"):
        domain.functions["blur"].call(domain.inputs(ALL), domain.inputs(ALL))


def test_own_functions_take_one_image_and_numbers() -> None:
    def darker(image: NDArray[Any], share: float = 0.5) -> NDArray[Any]:
        image[0, 0] = 7  # its own copy
        scaled: NDArray[Any] = image * share
        return scaled

    domain = Images(
        PIXELS, functions={"darker": darker, "wrong": lambda image: image[0], "broken": lambda image: image.missing}
    )
    assert domain.functions["darker"].takes == (1, 2)
    assert np.array_equal(changed(domain, "darker")[:, 1:], np.rint(PIXELS[:, 1:] * 0.5))
    assert np.array_equal(changed(domain, "darker", 3.0)[:, 1:], np.minimum(PIXELS[:, 1:] * 3.0, 255))
    assert np.array_equal(seen(domain, domain.inputs(ALL)), PIXELS)
    with raises(DataError, 5, 4, "wrong"):
        changed(domain, "wrong")
    with raises(DataError, "broken", cause=AttributeError):
        changed(domain, "broken")


def test_records_are_the_same_where_the_same_was_done_to_the_same_image() -> None:
    domain = Images(PIXELS)
    rows = np.array([1, 2, 1, 1], dtype=np.intp)
    assert domain.unique(domain.inputs(rows)).tolist() == [1, 2, 1, 1]  # type: ignore[union-attr]
    blurred = domain.functions["blur"].call(domain.inputs(rows), np.array([1.0, 1.0, 1.0, 2.0]))
    same = domain.unique(blurred).tolist()  # type: ignore[union-attr]
    assert same[0] == same[2]
    assert len(set(same)) == 3


def test_distance_counts_pixels_and_measures_in_ranges() -> None:
    domain = Images(PIXELS)
    left = domain.inputs(np.array([0, 0], dtype=np.intp))
    right, _ = domain.set(left, "1,1", np.array([PIXELS[0, 1, 1], (int(PIXELS[0, 1, 1]) + 128) % 256]))
    count, far = domain.distance(left, right)
    assert count.tolist() == [0, 1]
    assert far[1] == pytest.approx(abs(int(PIXELS[0, 1, 1]) - (int(PIXELS[0, 1, 1]) + 128) % 256) / 255)
    assert domain.equal(left, right).tolist() == [True, False]
    assert domain.difference(left, right, 0) == {}
    told = domain.difference(left, right, 1)
    assert told["pixels"][0] == "as in image 0"
    assert told["pixels"][1].startswith("1 of 20 differ, by 128")


def test_batches_with_different_histories_are_joined() -> None:
    domain = Images(PIXELS, LABELS)
    plain, blurred = domain.inputs(ALL[:2]), domain.functions["blur"].call(domain.inputs(ALL[2:]))
    both = domain.concatenate([plain, blurred])
    assert np.array_equal(seen(domain, both), np.concatenate([seen(domain, plain), seen(domain, blurred)]))
    assert domain.label(both).tolist() == LABELS
    assert domain.show(both, 3)["image"] == 3
    stored = domain.restore([domain.show(plain, 0)])
    assert np.array_equal(seen(domain, domain.concatenate([stored, blurred]))[0], PIXELS[0])
    alike = domain.concatenate([domain.functions["blur"].call(domain.inputs(ALL[:2])), blurred])
    assert len(alike.steps) == 1  # nothing had to be computed
    assert np.array_equal(seen(domain, alike), changed(domain, "blur"))


def test_a_shown_image_is_small_and_comes_back() -> None:
    domain = Images(np.zeros((2, 28, 28), dtype=np.uint8), [0, 1])
    shown = domain.show(domain.inputs(np.array([1])), 0)
    assert shown.keys() == {"image", "shape", "type", "pixels", "label"}
    assert (shown["image"], shown["shape"], shown["type"], shown["label"]) == (1, [28, 28], "uint8", 1)
    assert len(json.dumps(shown)) < 150
    again = domain.restore([json.loads(json.dumps(shown))])
    assert domain.show(again, 0) == shown
    assert domain.label(again).tolist() == [1]


@pytest.mark.parametrize(
    "change",
    [
        {"pixels": "eJw="},
        {"pixels": "***"},
        {"pixels": 3},
        {"pixels": "é"},
        {"shape": [4, 5]},
        {"shape": [20]},
        {"shape": "5,4"},
        {"shape": [5, True]},
        {"type": "float64"},
        {"image": "1"},
        {"image": None},
        {"more": 1},
    ],
)
def test_a_stored_image_that_does_not_fit_is_refused(change: dict[str, Any]) -> None:
    domain = Images(PIXELS, LABELS)
    shown = domain.show(domain.inputs(ALL), 1)
    with pytest.raises(DataError, match="expected"):
        domain.restore([{**shown, **change}])
    for key in shown:
        with raises(DataError, tuple(sorted(shown)), name="image"):
            domain.restore([{name: value for name, value in shown.items() if name != key}])


def test_a_stored_image_out_of_range_is_refused() -> None:
    wide, narrow = Images(PIXELS / 255.0, between=(0, 2)), Images(PIXELS / 255.0, between=(0, 1))
    bright = wide.functions["brightness"].call(wide.inputs(ALL), np.full(6, 1.0))
    with raises(DataError, 0, 1, 1.97255):
        narrow.restore([wide.show(bright, 0)])


def test_large_images_are_computed_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isonomia.populations.domains.arrays.MEMORY", 2 * 8 * 20)
    domain = Images(PIXELS)
    assert domain.together == 2
    assert np.array_equal(changed(domain, "blur"), changed(Images(PIXELS), "blur"))
    assert np.array_equal(seen(domain, domain.inputs(ALL[:0])), PIXELS[:0])


def test_the_fingerprint_tells_other_images_and_labels_apart() -> None:
    other = PIXELS.copy()
    other[5, 4, 3] ^= 1
    found = {Images(*given).fingerprint() for given in ((PIXELS,), (PIXELS, LABELS), (other,), (PIXELS[:5],))}
    assert len(found) == 4
    assert Images(PIXELS.copy(), list(LABELS)).fingerprint() == Images(PIXELS, LABELS).fingerprint()
