"""Noise that does not depend on the action: measurements that vary from one time to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError
from isonomia.interventions.constraints.checking import check_number, check_one_of, check_truth, names_of, numbers_of
from isonomia.interventions.effects.protocol import Columns
from isonomia.interventions.features import Feature

__all__ = ["Noise"]


@dataclass(frozen=True, slots=True)
class Noise:
    """Some features vary around what the person made of them.

    Attributes
    ----------
    names
        The features, which must be numbers.
    scale
        The standard deviation of normal noise, half the width of uniform noise; one number, or one a feature.
    law
        ``"normal"`` or ``"uniform"``.
    relative
        Whether the scale is a share of the person's own value, as it was before the action.
    correlation
        The correlations of normal noise, one row a feature; independent where it is left out.
    keep_bounds
        Whether a value beyond the feature's bounds is moved to the bound.
    """

    kind: ClassVar[str] = "noise"

    names: tuple[str, ...]
    scale: float | tuple[float, ...]
    law: Literal["normal", "uniform"] = "normal"
    relative: bool = False
    correlation: tuple[tuple[float, ...], ...] = ()
    keep_bounds: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", names_of(self.kind, self.names))
        if isinstance(self.scale, int | float):
            check_number(self.kind, "scale", self.scale)
        else:
            object.__setattr__(self, "scale", numbers_of(self.kind, "scale", self.scale, len(self.names)))
        if min(np.atleast_1d(self.scale)) < 0:
            raise UsageError(f"scale of the noise is how far it reaches and at least 0, but it is {self.scale!r}")
        check_one_of(self.kind, "law", self.law, ("normal", "uniform"))
        check_truth(self.kind, "relative", self.relative)
        check_truth(self.kind, "keep_bounds", self.keep_bounds)
        rows = tuple(numbers_of(self.kind, "correlation", row, len(self.names)) for row in self.correlation)
        object.__setattr__(self, "correlation", rows)
        self._check_correlation()

    @property
    def reads(self) -> tuple[str, ...]:
        """The features themselves."""
        return self.names

    def words(self) -> str:
        """The effect as a sentence."""
        unit = " times the value" if self.relative else ""
        return f"{', '.join(self.names)} vary by {self.law} noise of scale {self.scale}{unit}"

    def respond(
        self, features: Sequence[Feature], before: Columns, after: Columns, rng: np.random.Generator
    ) -> dict[str, NDArray[Any]]:
        """Add the noise; a feature of whole numbers is rounded."""
        start = np.column_stack([before[name] for name in self.names]).astype(np.float64)
        scale = np.broadcast_to(np.asarray(self.scale, dtype=np.float64), start.shape)
        noise = self._unit(start.shape, rng) * (scale * np.abs(start) if self.relative else scale)
        values = np.column_stack([after[name] for name in self.names]) + noise
        return {feature.name: self._kept(feature, values[:, j]) for j, feature in enumerate(features)}

    def _unit(self, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float64]:
        if self.law == "uniform":
            return rng.uniform(-1.0, 1.0, shape)
        drawn = rng.standard_normal(shape)
        return drawn @ np.linalg.cholesky(np.asarray(self.correlation)).T if self.correlation else drawn

    def _kept(self, feature: Feature, values: NDArray[np.float64]) -> NDArray[np.float64]:
        if feature.whole:
            values = np.round(values)
        return np.clip(values, feature.low, feature.high) if self.keep_bounds else values

    def _check_correlation(self) -> None:
        if not self.correlation:
            return
        matrix = np.asarray(self.correlation)
        square = matrix.shape == (len(self.names), len(self.names))
        if (
            self.law != "normal"
            or not square
            or not np.allclose(matrix, matrix.T)
            or not np.allclose(np.diag(matrix), 1.0)
            or np.linalg.eigvalsh(matrix).min() <= 0
        ):
            raise UsageError(
                "correlation of noise should be a symmetric, positive definite matrix with ones on its diagonal, one "
                f"row for each of {', '.join(self.names)}, and the law normal; it is {self.correlation!r}"
            )
