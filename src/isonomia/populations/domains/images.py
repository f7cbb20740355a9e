"""Images as inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError
from isonomia.populations.domains.array_domain import ArrayDomain, labels_from
from isonomia.populations.domains.arrays import Pool
from isonomia.populations.domains.changes import functions_of, own_changes
from isonomia.populations.domains.image_changes import image_changes
from isonomia.populations.domains.limits import Limits, limits_of
from isonomia.populations.domains.protocol import Marked

__all__ = ["Images"]


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
    ``spread`` (a tenth of the range) and ``down`` (0) may be left out. After each of them the pixels are rounded where
    they are whole numbers, and moved to the end of the range where they lie outside. A single pixel is the feature
    ``"ROW,COLUMN"`` or ``"ROW,COLUMN,CHANNEL"``, or its number in that order.

    Parameters
    ----------
    pixels
        An array of images, each of rows x columns or of rows x columns x channels. The model is given such an array;
        an estimator that was fitted on rows of numbers is given each image as one row.
    labels
        The right answers, where they are known.
    between
        The lowest and the highest value of a pixel. Bytes go from 0 to 255 without saying; any other type must say.
    functions
        Other changes by name: Python functions of one image, and perhaps numbers, that return an image.
    name
        What to call them in messages.

    Raises
    ------
    DataError
        Where they are no images, or a pixel is missing or out of range.
    UsageError
        Where a range is needed.

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
    changes = {**image_changes(limits), **own_changes(functions or {}, partial(_finished, limits))}
    return ArrayDomain(
        Pool(stack, labels_from(labels, len(stack), "image")),
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
        raise DataError(f"expected images of one size, but {error}") from error
    if array.ndim not in (3, 4) or not array.size:
        raise DataError(
            "expected images as an array of shape (images, rows, columns) or (images, rows, columns, channels), at "
            f"least one, but its shape is {array.shape}"
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
                f"'{ends}' for the last one, or its number, 0 to {int(np.prod(self.shape)) - 1}"
            )
        return ",".join(str(place) for place in np.unravel_index(number, self.shape))

    def _number(self, feature: str) -> int | None:
        if feature[:1] == "f" and feature[1:].isdecimal():
            return int(feature[1:])
        parts = [part.strip() for part in feature.split(",")]
        if len(parts) != len(self.shape) or not all(part.isdecimal() for part in parts):
            return None
        places = tuple(int(part) for part in parts)
        if any(place >= size for place, size in zip(places, self.shape, strict=True)):
            return None
        return int(np.ravel_multi_index(places, self.shape))

    def read(self, values: NDArray[Any], feature: str) -> Marked:
        """One pixel of every image."""
        place: Any = (slice(None), *_place(feature))
        return values[place].copy(), None

    def write(self, feature: str, values: NDArray[Any], column: NDArray[Any]) -> NDArray[Any]:
        """The same images with one pixel set."""
        made = values.copy()
        place: Any = (slice(None), *_place(feature))
        made[place] = column
        return made


def _place(feature: str) -> tuple[int, ...]:
    return tuple(int(part) for part in feature.split(","))


def _finished(limits: Limits, name: str, result: Any, before: NDArray[Any]) -> NDArray[Any]:
    """What a function made of an image, as an image."""
    made = np.asarray(result)
    if made.shape != before.shape or made.dtype.kind not in "biuf" or not np.isfinite(made).all():
        raise DataError(
            f"expected {name}(...) to return an image of shape {before.shape} with finite numbers, but it returned "
            f"one of shape {made.shape} and type {made.dtype}"
        )
    return limits.settled(made.astype(np.float64))
