"""Effects: what follows a person's own action by chance or by causes.

Effects that are certain are linkages, which are constraints (:class:`~isonomia.interventions.constraints.Linkage`):
they are part of the enumeration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError
from isonomia.interventions.constraints.base import check_number, check_one_of, check_truth, names_of, numbers_of
from isonomia.interventions.features import Feature

if TYPE_CHECKING:
    from isonomia.populations.causal import Causal


Columns: TypeAlias = Mapping[str, NDArray[Any]]


class Effect(Protocol):
    """Where a person ends up after an action: ``x' = x + a + r``, with ``r`` drawn given ``x`` and ``a``.

    Constraints apply to ``x + a`` with the effects of linkages; effects come after, and are never drawn again.
    """

    kind: ClassVar[str]
    """What the effect is called in a file."""

    @property
    def names(self) -> tuple[str, ...]:
        """The features that it may change."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The features that it reads."""

    @property
    def stays_in_bounds(self) -> bool:
        """Whether an audit refuses a value that it takes out of its feature's bounds."""

    def words(self) -> str:
        """The effect as a sentence, without its full stop."""

    def respond(
        self, features: Sequence[Feature], before: Columns, after: Columns, rng: np.random.Generator
    ) -> dict[str, NDArray[Any]]:
        """The values of the features that it may change, ``x + a + r``.

        Parameters
        ----------
        features
            Those that it may change, in the order of ``names``.
        before, after
            The features that it reads or may change, as the people are, and after their actions.
        rng
            The randomness.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Causes:
    """Everything that follows from an action in a causal model.

    Each person's noise is inferred from their values. The variables that their action changed are then set to the new
    values, whatever causes them; the others take the values that follow, with the same noise. So a variable that the
    person acted on stays where they put it, and any other responds to its causes.

    Attributes
    ----------
    model
        A causal model whose variables are all features, and whose equations can all be solved for the noise.
    clip
        Whether a value beyond its feature's bounds is moved to the bound; an audit refuses it otherwise.
    """

    kind: ClassVar[str] = "causes"
    stays_in_bounds: ClassVar[bool] = True

    model: Causal
    clip: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The model's variables."""
        return self.model.names

    @property
    def reads(self) -> tuple[str, ...]:
        """The model's variables."""
        return self.model.names

    def words(self) -> str:
        """The effect as a sentence."""
        return f"{', '.join(self.names)} respond as the causal model says"

    def respond(
        self,
        features: Sequence[Feature],
        before: Columns,
        after: Columns,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> dict[str, NDArray[Any]]:
        """What follows, in groups of people who acted on the same variables."""
        acted = np.column_stack([np.asarray(before[name] != after[name], dtype=bool) for name in self.names])
        ended = {name: np.array(after[name]) for name in self.names}
        patterns, group = np.unique(acted, axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            rows = np.flatnonzero(group.reshape(-1) == number)
            chosen = [name for name, done in zip(self.names, pattern, strict=True) if done]
            if chosen:
                people = {name: before[name][rows] for name in self.names}
                followed = self.model.counterfactual(people, **{name: after[name][rows] for name in chosen})
                for name in self.names:
                    if name not in chosen:
                        ended[name] = _assigned(ended[name], rows, followed.column(name))
        return {**ended, **_clipped(features, ended)} if self.clip else ended


def _clipped(features: Sequence[Feature], values: Columns) -> dict[str, NDArray[Any]]:
    """Values moved to the bounds of features that are numbers."""
    numbers = [feature for feature in features if feature.kind != "categorical"]
    return {feature.name: np.clip(values[feature.name], feature.low, feature.high) for feature in numbers}


def _assigned(column: NDArray[Any], rows: NDArray[np.intp], values: NDArray[Any]) -> NDArray[Any]:
    if column.dtype.kind in "biu" and values.dtype.kind == "f":
        column = column.astype(np.float64)
    column[rows] = values
    return column


@dataclass(frozen=True, slots=True)
class Noise:
    """Some features vary around their value after the action, whatever it is: a measurement differs each time.

    Attributes
    ----------
    names
        The features, which must be numbers.
    scale
        The standard deviation of normal noise, half the width of uniform noise; one number, or one per feature.
    law
        ``"normal"`` or ``"uniform"``.
    relative
        Whether the scale is a share of the person's own value, as it was before the action.
    correlation
        The correlations of normal noise, one row per feature; independent where it is left out.
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
            message = f"scale of the noise is how far it reaches and at least 0, but it is {self.scale!r}"
            raise UsageError(message, name="scale")
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

    @property
    def stays_in_bounds(self) -> bool:
        """Whether values are kept in bounds: where they are not, that was a choice."""
        return self.keep_bounds

    def words(self) -> str:
        """The effect as a sentence."""
        unit = " times the value" if self.relative else ""
        return f"{', '.join(self.names)} vary by {self.law} noise of scale {self.scale}{unit}"

    def respond(
        self, features: Sequence[Feature], before: Columns, after: Columns, rng: np.random.Generator
    ) -> dict[str, NDArray[Any]]:
        """Add the noise; a feature with whole values is rounded."""
        start = np.column_stack([before[name] for name in self.names]).astype(np.float64)
        scale = np.broadcast_to(np.asarray(self.scale, dtype=np.float64), start.shape)
        noise = self._unit(start.shape, rng) * (scale * np.abs(start) if self.relative else scale)
        values = np.column_stack([after[name] for name in self.names]) + noise
        return {feature.name: self._within_bounds(feature, values[:, j]) for j, feature in enumerate(features)}

    def _unit(self, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float64]:
        if self.law == "uniform":
            return rng.uniform(-1.0, 1.0, shape)
        drawn = rng.standard_normal(shape)
        return drawn @ np.linalg.cholesky(np.asarray(self.correlation)).T if self.correlation else drawn

    def _within_bounds(self, feature: Feature, values: NDArray[np.float64]) -> NDArray[np.float64]:
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
            message = "expected correlation of the normal law as a symmetric, positive definite matrix with diagonal 1"
            raise UsageError(
                f"{message}, a row for each of {', '.join(self.names)}, but got {self.correlation!r}",
                name="correlation",
            )


@dataclass(frozen=True, slots=True)
class Sampler:
    """A function draws the changes that follow an action.

    Attributes
    ----------
    names
        The features that change.
    draw
        ``draw(before, after, rng)``: two mappings from name to column, as the people are and after their actions, and
        the randomness; it returns a mapping from each name to ``r``, one number per row, which is added to the value
        after the action.
    reads
        Further features that the function reads.
    clip
        Whether a value beyond its feature's bounds is moved to the bound; an audit refuses it otherwise.
    """

    kind: ClassVar[str] = "sampler"
    stays_in_bounds: ClassVar[bool] = True

    names: tuple[str, ...]
    draw: Callable[[Columns, Columns, np.random.Generator], Mapping[str, Any]]
    reads: tuple[str, ...] = ()
    clip: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", names_of(self.kind, self.names))
        further = names_of(self.kind, self.reads, "reads", least=0)
        object.__setattr__(self, "reads", tuple(dict.fromkeys((*self.names, *further))))
        if not callable(self.draw):
            raise UsageError(f"draw of a sampler should be a function, but it is {self.draw!r}", name="draw")

    def words(self) -> str:
        """The effect as a sentence."""
        return f"{', '.join(self.names)} change as {getattr(self.draw, '__name__', 'a function')} draws"

    def respond(
        self, features: Sequence[Feature], before: Columns, after: Columns, rng: np.random.Generator
    ) -> dict[str, NDArray[Any]]:
        """Add what the function draws."""
        drawn = self.draw(before, after, rng)
        if set(drawn) != set(self.names):
            given = ", ".join(map(str, drawn)) or "nothing"
            raise UsageError(
                f"{self.words()}: expected a change for each of {', '.join(self.names)}, but it gave {given}"
            )
        ended = {feature.name: self._added(feature, after[feature.name], drawn[feature.name]) for feature in features}
        return _clipped(features, ended) if self.clip else ended

    def _added(self, feature: Feature, value: NDArray[Any], change: Any) -> NDArray[Any]:
        numbers = np.asarray(change, dtype=np.float64)
        if numbers.shape != value.shape or not np.isfinite(numbers).all():
            given = f"shape {numbers.shape} with {int((~np.isfinite(numbers)).sum())} entries that are not finite"
            message = f"{self.words()}: expected {len(value)} finite numbers as the change of {feature.name!r}"
            raise UsageError(f"{message}, but it gave {given}")
        return np.asarray(value + numbers)


EFFECTS: Final[dict[str, type[Effect]]] = {Noise.kind: Noise, Sampler.kind: Sampler, Causes.kind: Causes}
"""Every kind of effect, by name."""
