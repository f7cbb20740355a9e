"""Images as inputs, and what can be done to them: blur, noise, rotate, shift, brightness, contrast.

Images come as a stack: one image per entry, then rows of pixels, columns of pixels and perhaps channels. After every
change, pixels are converted back to their range and type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError
from isonomia.populations.domains.arrays import ArrayDomain, InputPool, Limits, labels_from, limits_of
from isonomia.populations.domains.changes import Change, Parameter, each_distinct, functions_of, own_changes
from isonomia.populations.domains.protocol import Marked

SPREAD = 0.1
"""The default standard deviation of noise, as a share of the range of the pixels."""

WIDEST = 100.0
"""The widest blur, in pixels; beyond that the kernel would be larger than any reasonable image."""


def Images(  # noqa: N802  (it reads like the populations, which are classes)
    pixels: Any,
    labels: Any = None,
    *,
    between: tuple[float, float] | None = None,
    functions: Mapping[str, Any] | None = None,
    name: str = "the images",
) -> ArrayDomain:
    """Images of one size.

    A specification may call ``blur(x, sigma)``, ``noise(x, spread)`` (also ``wNoise``), ``rotate(x, degrees)``,
    ``shift(x, right, down)``, ``brightness(x, by)``, ``contrast(x, factor)`` and ``label(x)``; ``sigma`` (1 pixel),
    ``spread`` (a tenth of the range) and ``down`` (0) may be left out. After each of them the pixels are rounded if
    their type is whole numbers, and clipped to their range. A single pixel is the feature
    ``"ROW,COLUMN"`` or ``"ROW,COLUMN,CHANNEL"``, or its number in that order.

    Parameters
    ----------
    pixels
        An array of images, each of rows x columns or of rows x columns x channels. The model is given such an array;
        an estimator that was fitted on rows of numbers is given each image as one row.
    labels
        The right answers, if they are known.
    between
        The lowest and the highest value of a pixel. The default for bytes is 0 to 255; other types need it.
    functions
        Other changes by name: Python functions of one image, and perhaps numbers, that return an image.
    name
        What to call them in messages.

    Raises
    ------
    DataError
        If they are not images, or a pixel is missing or out of range.
    UsageError
        If a range is needed.

    Examples
    --------
    >>> import numpy as np
    >>> from isonomia import check, safety
    >>> images = Images(np.arange(32, dtype=np.uint8).reshape(2, 4, 4))
    >>> brighter = safety.property(
    ...     "input x1; var x2 := brightness(x1, 10); output d1; output d2;"
    ...     "{ d1 = predict(x1); d2 = predict(x2) } ensures d1 <= d2;"
    ... )
    >>> check(brighter, lambda pixels: (pixels.mean(axis=(1, 2)) > 12).astype(int), images, seed=1).answer
    'holds'
    """
    array = _stack(pixels)
    limits = limits_of(array.dtype, between, "pixels", usual="u1")
    limits.check(array, "pixels")
    stack = array.view()
    stack.flags.writeable = False
    changes = {**_changes(limits), **own_changes(functions or {}, partial(_finished, limits))}
    return ArrayDomain(
        InputPool(stack, labels_from(labels, len(stack), "image")),
        limits,
        Pixels(stack.shape[1:]),
        functions_of(changes, "image"),
        what="image",
        part="pixels",
        name=name,
        shape=stack.shape[1:],
    )


def _stack(pixels: Any) -> NDArray[Any]:
    try:
        array = np.asarray(pixels)
    except ValueError as error:  # images of several sizes in a list
        raise DataError(f"expected images of one size, but {error}", name="images") from error
    if array.ndim not in (3, 4) or not array.size:
        raise DataError(
            "expected images as an array of shape (images, rows, columns) or (images, rows, columns, channels), at "
            f"least one, but its shape is {array.shape}",
            name="images",
        )
    return array


@dataclass(frozen=True, slots=True)
class Pixels:
    """Single pixels as features: by row, column and channel, or numbered in that order."""

    shape: tuple[int, ...]

    def feature(self, feature: str | int) -> str:
        """``"3,5"``, 89 and ``f89`` are the same pixel where rows have 28."""
        number = feature if isinstance(feature, int) else self._number(feature)
        if number is None or not 0 <= number < int(np.prod(self.shape)):
            ends = ",".join(str(size - 1) for size in self.shape)
            raise DataError(
                f"there is no pixel {feature!r}: expected its row and column (and channel), counted from 0, such as "
                f"'{ends}' for the last one, or its number, 0 to {int(np.prod(self.shape)) - 1}",
                name=str(feature),
            )
        return ",".join(str(index) for index in np.unravel_index(number, self.shape))

    def _number(self, feature: str) -> int | None:
        if feature[:1] == "f" and feature[1:].isdecimal():
            return int(feature[1:])
        parts = [part.strip() for part in feature.split(",")]
        if len(parts) != len(self.shape) or not all(part.isdecimal() for part in parts):
            return None
        index = tuple(int(part) for part in parts)
        if any(each >= size for each, size in zip(index, self.shape, strict=True)):
            return None
        return int(np.ravel_multi_index(index, self.shape))

    def read(self, values: NDArray[Any], feature: str) -> Marked:
        """One pixel of every image."""
        index: Any = (slice(None), *_pixel_index(feature))
        return values[index].copy(), None

    def write(self, feature: str, values: NDArray[Any], column: NDArray[Any]) -> NDArray[Any]:
        """The same images with one pixel set."""
        changed = values.copy()
        index: Any = (slice(None), *_pixel_index(feature))
        changed[index] = column
        return changed


def _pixel_index(feature: str) -> tuple[int, ...]:
    return tuple(int(part) for part in feature.split(","))


def _finished(limits: Limits, name: str, result: Any, before: NDArray[Any]) -> NDArray[Any]:
    """The image that a function returned."""
    image = np.asarray(result)
    if image.shape != before.shape or image.dtype.kind not in "biuf" or not np.isfinite(image).all():
        raise DataError(
            f"expected {name}(...) to return an image of shape {before.shape} with finite numbers, but it returned "
            f"one of shape {image.shape} and type {image.dtype}"
        )
    return limits.clip(image.astype(np.float64))


def _changes(limits: Limits) -> Mapping[str, Change]:
    """The changes for images whose pixels have these limits. Amounts are in pixels, or in the unit of the values."""
    noise = Change(partial(_noise, limits), (Parameter("spread", SPREAD * limits.width, least=0.0),), random=True)
    return {
        "blur": Change(partial(each_distinct, partial(_blur, limits)), (Parameter("sigma", 1.0, 0.0, WIDEST),)),
        "noise": noise,
        "wNoise": noise,
        "rotate": Change(partial(each_distinct, partial(_rotate, limits)), (Parameter("degrees"),)),
        "shift": Change(partial(each_distinct, partial(_shift, limits)), (Parameter("right"), Parameter("down", 0.0))),
        "brightness": Change(partial(_brightness, limits), (Parameter("by"),)),
        "contrast": Change(partial(_contrast, limits), (Parameter("factor", least=0.0),)),
    }


def _blur(limits: Limits, images: NDArray[Any], sigma: float) -> NDArray[Any]:
    """Convolve each image with a Gaussian of this standard deviation, cut off at four; edges are mirrored."""
    from scipy.ndimage import gaussian_filter

    # No width along the stack and the channels: nothing may leak from one image or channel into another.
    widths = (0.0, sigma, sigma, *(0.0,) * (images.ndim - 3))
    return limits.clip(gaussian_filter(images.astype(np.float64), widths, mode="reflect", truncate=4.0))


def _noise(limits: Limits, images: NDArray[Any], spread: NDArray[np.float64], seeds: NDArray[np.int64]) -> NDArray[Any]:
    """Add independent Gaussian noise to every pixel; each image's noise comes from its seed."""
    noise = np.stack([np.random.default_rng(seed).standard_normal(images.shape[1:]) for seed in seeds.tolist()])
    return limits.clip(images + noise * _each(images, spread))


def _rotate(limits: Limits, images: NDArray[Any], degrees: float) -> NDArray[Any]:
    """Rotate each image counter-clockwise about its middle; pixels from outside have the lowest value."""
    angle = np.deg2rad(degrees)
    # From a position in the new image to one in the old; rows are counted downwards.
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    middle = (np.array(images.shape[1:3]) - 1) / 2
    return _transformed(limits, images, turn, middle - turn @ middle)


def _shift(limits: Limits, images: NDArray[Any], right: float, down: float) -> NDArray[Any]:
    """Move each image; pixels from outside have the lowest value."""
    return _transformed(limits, images, np.eye(2), np.array([-down, -right]))


def _transformed(
    limits: Limits, images: NDArray[Any], turn: NDArray[np.float64], start: NDArray[np.float64]
) -> NDArray[Any]:
    """Interpolate each new pixel bilinearly from its position in the old image."""
    from scipy.ndimage import affine_transform

    matrix = np.eye(images.ndim)
    matrix[1:3, 1:3] = turn
    offset = np.zeros(images.ndim)
    offset[1:3] = start
    return limits.clip(
        affine_transform(
            images.astype(np.float64), matrix, offset, order=1, mode="grid-constant", cval=limits.low, prefilter=False
        )
    )


def _brightness(limits: Limits, images: NDArray[Any], by: NDArray[np.float64]) -> NDArray[Any]:
    """Add the same to every pixel of an image."""
    return limits.clip(images + _each(images, by))


def _contrast(limits: Limits, images: NDArray[Any], factor: NDArray[np.float64]) -> NDArray[Any]:
    """Scale each pixel's distance from the mean of its image: a factor below 1 flattens, above 1 sharpens."""
    pixels = images.astype(np.float64)
    mean = np.array([image.mean() for image in pixels])
    return limits.clip(_each(images, mean) + (pixels - _each(images, mean)) * _each(images, factor))


def _each(images: NDArray[Any], column: NDArray[np.float64]) -> NDArray[np.float64]:
    """A column, reshaped to broadcast over whole images."""
    return column.reshape(-1, *(1,) * (images.ndim - 1))
