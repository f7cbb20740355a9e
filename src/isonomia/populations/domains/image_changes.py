"""What can be done to images: blur, noise, rotate, shift, brightness, contrast.

Images come as a stack: one a row, then rows of pixels, columns of pixels and perhaps channels. What is computed is
brought back into the range and the type of the pixels after every change.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.populations.domains.changes import Change, Parameter, each_distinct
from isonomia.populations.domains.limits import Limits

__all__ = ["SPREAD", "image_changes"]

SPREAD = 0.1
"""The standard deviation of noise, as a share of the range of the pixels, where none is given."""

WIDEST = 100.0
"""The widest blur, in pixels; beyond that the kernel would be larger than any image it is meant for."""


def image_changes(limits: Limits) -> Mapping[str, Change]:
    """The changes of images whose pixels have these limits. Amounts are in pixels, or in the unit of the pixels."""
    noise = Change(partial(_noise, limits), (Parameter("spread", SPREAD * limits.width, least=0.0),), random=True)
    return {
        "blur": Change(partial(_blur, limits), (Parameter("sigma", 1.0, least=0.0, most=WIDEST),)),
        "noise": noise,
        "wNoise": noise,
        "rotate": Change(partial(_rotate, limits), (Parameter("degrees"),)),
        "shift": Change(partial(_shift, limits), (Parameter("right"), Parameter("down", 0.0))),
        "brightness": Change(partial(_brightness, limits), (Parameter("by"),)),
        "contrast": Change(partial(_contrast, limits), (Parameter("factor", least=0.0),)),
    }


def _blur(limits: Limits, images: NDArray[Any], sigma: NDArray[np.float64]) -> NDArray[Any]:
    """Convolve each image with a Gaussian of this standard deviation, cut off at four; edges are mirrored."""
    return each_distinct(partial(_blurred, limits), images, sigma)


def _blurred(limits: Limits, images: NDArray[Any], sigma: float) -> NDArray[Any]:
    from scipy.ndimage import gaussian_filter

    # No width along the stack and the channels: nothing may leak from one image, or one colour, into another.
    widths = (0.0, sigma, sigma, *(0.0,) * (images.ndim - 3))
    return limits.settled(gaussian_filter(images.astype(np.float64), widths, mode="reflect", truncate=4.0))


def _noise(limits: Limits, images: NDArray[Any], spread: NDArray[np.float64], seeds: NDArray[np.int64]) -> NDArray[Any]:
    """Add independent Gaussian noise to every pixel; each image's noise is that of its seed."""
    noise = np.stack([np.random.default_rng(seed).standard_normal(images.shape[1:]) for seed in seeds.tolist()])
    return limits.settled(images + noise * _each(images, spread))


def _rotate(limits: Limits, images: NDArray[Any], degrees: NDArray[np.float64]) -> NDArray[Any]:
    """Turn each image counter-clockwise about its middle; what comes in from outside has the lowest value."""
    return each_distinct(partial(_rotated, limits), images, degrees)


def _rotated(limits: Limits, images: NDArray[Any], degrees: float) -> NDArray[Any]:
    angle = np.deg2rad(degrees)
    # From a place in the new image to one in the old; rows are counted downwards.
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    middle = (np.array(images.shape[1:3]) - 1) / 2
    return _placed(limits, images, turn, middle - turn @ middle)


def _shift(limits: Limits, images: NDArray[Any], right: NDArray[np.float64], down: NDArray[np.float64]) -> NDArray[Any]:
    """Move each image; what comes in from outside has the lowest value."""
    return each_distinct(partial(_shifted, limits), images, right, down)


def _shifted(limits: Limits, images: NDArray[Any], right: float, down: float) -> NDArray[Any]:
    return _placed(limits, images, np.eye(2), np.array([-down, -right]))


def _placed(
    limits: Limits, images: NDArray[Any], turn: NDArray[np.float64], start: NDArray[np.float64]
) -> NDArray[Any]:
    """Each new pixel from its place in the old image, between the four pixels nearest to it (bilinear)."""
    from scipy.ndimage import affine_transform

    matrix = np.eye(images.ndim)
    matrix[1:3, 1:3] = turn
    offset = np.zeros(images.ndim)
    offset[1:3] = start
    return limits.settled(
        affine_transform(
            images.astype(np.float64), matrix, offset, order=1, mode="grid-constant", cval=limits.low, prefilter=False
        )
    )


def _brightness(limits: Limits, images: NDArray[Any], by: NDArray[np.float64]) -> NDArray[Any]:
    """Add the same to every pixel of an image."""
    return limits.settled(images + _each(images, by))


def _contrast(limits: Limits, images: NDArray[Any], factor: NDArray[np.float64]) -> NDArray[Any]:
    """Multiply how far each pixel is from the mean of its image: below 1 flattens, above 1 sharpens."""
    pixels = images.astype(np.float64)
    mean = np.array([image.mean() for image in pixels])
    return limits.settled(_each(images, mean) + (pixels - _each(images, mean)) * _each(images, factor))


def _each(images: NDArray[Any], column: NDArray[np.float64]) -> NDArray[np.float64]:
    """A column as something to compute with whole images."""
    return column.reshape(-1, *(1,) * (images.ndim - 1))
