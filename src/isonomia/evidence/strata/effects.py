"""Strata, effects within them, and the four definitions of fairness as linear equations over worlds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import UsageError
from isonomia.evidence.strata.worlds import TableShape, world_predictions, worlds

Floats = NDArray[np.float64]

Definition: TypeAlias = Literal[1, 2, 3, 4]

DEFINITIONS: dict[int, str] = {
    1: "principal fairness, in each stratum of equal outcomes",
    2: "principal fairness, over all whose outcome the attribute does not affect",
    3: "counterfactual fairness",
    4: "counterfactual equalized odds",
}
"""The names of the paper's definitions."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """The people whose potential outcomes ``(Y(0), Y(1), ...)`` form one of these patterns."""

    patterns: frozenset[tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class PrincipalEffect:
    """What the attribute does to a prediction within a stratum.

    Unnormalised it is ``tau' = P(S(attribute) = prediction, stratum) - P(S(reference) = prediction, stratum)``;
    normalised, ``tau``, it is divided by ``P(stratum)``.
    """

    stratum: Stratum
    attribute: int = 1
    reference: int = 0
    prediction: int = 1


def unaffected(shape: TableShape, outcome: int | None = None) -> Stratum:
    """The people whose outcome is the same under every attribute value: this outcome, or any if none is given."""
    kept = range(shape.outcomes) if outcome is None else (_known(outcome, shape.outcomes, "outcome"),)
    return Stratum(frozenset((y,) * shape.attributes for y in kept))


def everyone(shape: TableShape) -> Stratum:
    """All people."""
    return _where(shape, lambda _: True)


def outcome_under(shape: TableShape, outcome: int, attribute: int = 0) -> Stratum:
    """The people whose outcome would be this one under this attribute value."""
    _known(outcome, shape.outcomes, "outcome")
    _known(attribute, shape.attributes, "attribute")
    return _where(shape, lambda pattern: pattern[attribute] == outcome)


def stratum_row(shape: TableShape, stratum: Stratum) -> Floats:
    """1 in the worlds of the stratum, else 0: the row that gives the stratum's probability."""
    for pattern in stratum.patterns:
        if len(pattern) != shape.attributes or not all(0 <= y < shape.outcomes for y in pattern):
            raise UsageError(
                f"expected patterns of {shape.attributes} outcomes between 0 and {shape.outcomes - 1}, "
                f"but got {pattern}"
            )
    inside = {pattern: float(pattern in stratum.patterns) for pattern in _patterns(shape)}
    return np.asarray([inside[tuple(int(y) for y in outcomes)] for outcomes in worlds(shape)[:, 1]])


def effect_row(shape: TableShape, effect: PrincipalEffect) -> Floats:
    """The row over worlds whose product with their probabilities is ``tau'``."""
    _known(effect.prediction, shape.predictions, "prediction")
    for value in (effect.attribute, effect.reference):
        _known(value, shape.attributes, "attribute")
    here = world_predictions(shape, effect.prediction, effect.attribute)
    there = world_predictions(shape, effect.prediction, effect.reference)
    return np.asarray((here - there) * stratum_row(shape, effect.stratum))


def definition_effects(shape: TableShape, definition: Definition) -> tuple[PrincipalEffect, ...]:
    """The effects that are all zero exactly where a world distribution is fair by one of the paper's definitions.

    Definition 1 asks that ``S(a)`` has the same distribution for every ``a`` within each stratum of people whose
    outcome is ``y`` whatever the attribute; 2 within their union; 3 over everyone; 4 within each stratum
    ``Y(0) = y``, ``y >= 1``, which for two outcomes is the paper's single stratum ``Y(0) = 1``.

    With more than two values, each distribution is compared with that under attribute value 0, for every prediction but
    0, whose probability follows from the others.
    """
    match definition:
        case 1:
            strata = [unaffected(shape, y) for y in range(shape.outcomes)]
        case 2:
            strata = [unaffected(shape)]
        case 3:
            strata = [everyone(shape)]
        case 4:
            strata = [outcome_under(shape, y) for y in range(1, shape.outcomes)]
        case _:
            raise UsageError(f"expected definition 1, 2, 3 or 4, but got {definition!r}")
    contrasts = product(strata, range(1, shape.attributes), range(1, shape.predictions))
    return tuple(PrincipalEffect(stratum, attribute, 0, prediction) for stratum, attribute, prediction in contrasts)


def fairness_rows(shape: TableShape, definition: Definition) -> Floats:
    """The equations of a definition: ``w`` is fair where ``fairness_rows(shape, definition) @ w == 0``."""
    return effect_rows(shape, definition_effects(shape, definition))


def effect_rows(shape: TableShape, effects: Sequence[PrincipalEffect]) -> Floats:
    """One row per effect; shape ``(effects, worlds)``, even if there are no effects."""
    return np.asarray([effect_row(shape, effect) for effect in effects]).reshape(len(effects), shape.worlds)


def _patterns(shape: TableShape) -> Iterable[tuple[int, ...]]:
    return product(range(shape.outcomes), repeat=shape.attributes)


def _where(shape: TableShape, belongs: Callable[[tuple[int, ...]], bool]) -> Stratum:
    return Stratum(frozenset(pattern for pattern in _patterns(shape) if belongs(pattern)))


def _known(value: int, count: int, name: str) -> int:
    if not 0 <= value < count:
        raise UsageError(f"expected {name} between 0 and {count - 1}, but got {value!r}")
    return value
