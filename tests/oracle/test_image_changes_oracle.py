"""Changes of images against the plainest computation, one image and one pixel at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from isonomia.populations.domains import ArrayDomain, Images

RNG = np.random.default_rng(11)
COLOURED = RNG.random((5, 6, 7, 3))
GREY = RNG.integers(0, 256, (5, 6, 7), dtype=np.uint8)


def changed(domain: ArrayDomain, name: str, *amounts: Any) -> NDArray[Any]:
    columns = [np.broadcast_to(np.asarray(amount, dtype=float), domain.size).copy() for amount in amounts]
    native: NDArray[Any] = domain.table(
        domain.functions[name].call(domain.inputs(np.arange(domain.size)), *columns)
    ).native
    return native


def mirrored(place: int, size: int) -> int:
    """Beyond the edge the image is seen in a mirror that stands on it: d c b a | a b c d | d c b a."""
    place %= 2 * size
    return place if place < size else 2 * size - 1 - place


def blurred_by_hand(image: NDArray[Any], sigma: float) -> NDArray[np.float64]:
    radius = int(4 * sigma + 0.5)
    steps = range(-radius, radius + 1)
    weights = np.array([np.exp(-(step**2) / (2 * sigma**2)) for step in steps])
    weights /= weights.sum()
    made = np.zeros(image.shape)
    for row, column in np.ndindex(*image.shape):
        for down, by in zip(steps, weights, strict=True):
            for right, share in zip(steps, weights, strict=True):
                source = image[mirrored(row + down, image.shape[0]), mirrored(column + right, image.shape[1])]
                made[row, column] += by * share * source
    return made


@pytest.mark.parametrize("sigma", [0.4, 1.0])
def test_blur_is_a_gaussian_convolution_of_each_image_and_channel(sigma: float) -> None:
    found = changed(Images(COLOURED, between=(0, 1)), "blur", sigma)
    for index, channel in ((0, 0), (3, 2)):
        assert np.allclose(found[index, :, :, channel], blurred_by_hand(COLOURED[index, :, :, channel], sigma))


def test_blur_is_scipys_one_image_at_a_time_whatever_sigma_each_has() -> None:
    sigmas = np.array([0.5, 1.0, 0.5, 2.0, 1.0])
    found = changed(Images(GREY), "blur", sigmas)
    expected = [gaussian_filter(image.astype(float), sigma) for image, sigma in zip(GREY, sigmas, strict=True)]
    assert np.array_equal(found, np.rint(expected))


def test_nothing_leaks_from_one_image_into_the_next() -> None:
    stack = np.zeros((3, 5, 5), dtype=np.uint8)
    stack[1] = 255
    for name, amounts in (("blur", (3.0,)), ("rotate", (30.0,)), ("shift", (0.5, 0.5)), ("contrast", (3.0,))):
        found = changed(Images(stack), name, *amounts)
        assert not found[0].any()
        assert not found[2].any()


def placed_by_hand(image: NDArray[Any], source: Any) -> NDArray[np.float64]:
    """Each pixel from its place in the old image, bilinear, 0 outside."""
    made = np.zeros(image.shape)
    for row, column in np.ndindex(*image.shape):
        down, right = source(row, column)
        for r in (int(np.floor(down)), int(np.floor(down)) + 1):
            for c in (int(np.floor(right)), int(np.floor(right)) + 1):
                weight = (1 - abs(down - r)) * (1 - abs(right - c))
                if 0 <= r < image.shape[0] and 0 <= c < image.shape[1] and weight > 0:
                    made[row, column] += weight * image[r, c]
    return made


@pytest.mark.parametrize("degrees", [10.0, -77.0, 200.0])
def test_rotation_is_bilinear_about_the_middle(degrees: float) -> None:
    image = COLOURED[:1, :, :, 0]
    angle = np.deg2rad(degrees)

    def source(row: int, column: int) -> tuple[float, float]:
        right, up = column - 3.0, 2.5 - row
        back = (right * np.cos(angle) + up * np.sin(angle), -right * np.sin(angle) + up * np.cos(angle))
        return 2.5 - back[1], back[0] + 3.0

    found = changed(Images(image, between=(0, 1)), "rotate", degrees)
    assert np.allclose(found[0], placed_by_hand(image[0], source))


def test_shift_by_parts_of_a_pixel_is_bilinear() -> None:
    image = COLOURED[:1, :, :, 0]
    found = changed(Images(image, between=(0, 1)), "shift", 1.25, -0.5)
    assert np.allclose(found[0], placed_by_hand(image[0], lambda row, column: (row + 0.5, column - 1.25)))


def test_colours_are_changed_alike_in_every_channel() -> None:
    domain = Images(COLOURED, between=(0, 1))
    for name, amounts in (("rotate", (20.0,)), ("blur", (1.0,)), ("shift", (1.0, 1.0)), ("brightness", (0.1,))):
        whole = changed(domain, name, *amounts)
        for channel in range(3):
            alone = changed(Images(COLOURED[..., channel], between=(0, 1)), name, *amounts)
            assert np.allclose(whole[..., channel], alone, atol=1e-12)
