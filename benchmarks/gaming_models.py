"""Pools of models that tell bots from humans: logistic ones on a grid of two penalties, forests and boosted trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.gaming_rules import LOGARITHMIC

__all__ = ["FAMILIES", "PROCEDURES", "Classifier", "elastic_net", "matrix", "pool"]

Floats = NDArray[np.float64]

FAMILIES = ("logistic", "forest", "boosted")
PROCEDURES = ("Manual", "Convex", "Exact")
"""Families of models, and procedures that pick one."""
_ROUNDS = 300
PENALTIES = (np.geomspace(3e-4, 0.2, 18), np.concatenate([[0.0], np.geomspace(1e-3, 100.0, 14)]))
"""Of absolute values, and of squares."""


@dataclass(frozen=True, slots=True, eq=False)
class Classifier:
    """A model of ``is_human`` with the columns that it takes, as a function of a table.

    Attributes
    ----------
    name
        Its family and settings.
    columns
        The features, in order.
    rule
        Gives a score for each row of a matrix; human where it is positive.
    """

    name: str
    columns: tuple[str, ...]
    rule: Any

    def score(self, people: Any) -> Floats:
        """The scores of accounts."""
        return np.asarray(self.rule(matrix(people, self.columns)))

    def __call__(self, people: Any) -> NDArray[np.int64]:
        """1 for human, 0 for bot."""
        return (self.score(people) > 0.0).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Weighted:
    """A linear score of standardised features."""

    weights: Floats
    shift: float

    def __call__(self, rows: Floats) -> Floats:
        return np.asarray(rows @ self.weights + self.shift)


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """The score of a fitted estimator: how far the probability lies above a half."""

    estimator: Any

    def __call__(self, rows: Floats) -> Floats:
        return np.asarray(self.estimator.predict_proba(rows)[:, 1] - 0.5)


def matrix(people: Any, columns: Sequence[str]) -> Floats:
    """The features of accounts as a matrix, those with long tails as logarithms."""
    parts = [np.asarray(people[name], dtype=np.float64) for name in columns]
    return np.column_stack(
        [np.log1p(part) if name in LOGARITHMIC else part for name, part in zip(columns, parts, strict=True)]
    )


def pool(
    family: str, people: Mapping[str, Floats], columns: Sequence[str], train: NDArray[np.intp]
) -> list[Classifier]:
    """Every model of one family, fitted on some of the accounts with some of the features."""
    rows, labels = matrix(people, columns)[train], people["is_human"][train]
    make = {"logistic": _logistic, "forest": _forests, "boosted": _boosted}[family]
    return [Classifier(name, tuple(columns), rule) for name, rule in make(rows, labels)]


def elastic_net(rows: Floats, labels: Floats, absolute: Floats, square: Floats) -> tuple[Floats, Floats]:
    """Logistic regressions for many pairs of penalties at once, by accelerated proximal gradient steps.

    Minimises ``mean(log loss) + absolute * |w|_1 + square / 2 * |w|^2``, without penalty on the intercept; see Beck and
    Teboulle (2009). One column a model.
    """
    signs = 2.0 * labels - 1.0
    design = np.column_stack([rows, np.ones(len(rows))])
    steps = 1.0 / (0.25 * np.linalg.eigvalsh(design.T @ design / len(rows))[-1] + square)
    penalised = np.ones((design.shape[1], 1))
    penalised[-1] = 0.0
    weights = ahead = np.zeros((design.shape[1], len(absolute)))
    for number in range(_ROUNDS):
        pull = -signs[:, None] / (1.0 + np.exp(signs[:, None] * (design @ ahead)))
        moved = ahead - steps * (design.T @ pull / len(rows) + square * penalised * ahead)
        before, weights = weights, np.sign(moved) * np.maximum(np.abs(moved) - steps * absolute * penalised, 0.0)
        ahead = weights + number / (number + 3.0) * (weights - before)
    return weights[:-1], weights[-1]


def _logistic(rows: Floats, labels: Floats) -> Iterator[tuple[str, Weighted]]:
    middle, spread = rows.mean(axis=0), rows.std(axis=0)
    spread[spread == 0.0] = 1.0
    absolute, square = (part.reshape(-1) for part in np.meshgrid(*PENALTIES, indexing="ij"))
    weights, _ = elastic_net((rows - middle) / spread, labels, absolute, square)
    for j, (first, second) in enumerate(zip(absolute, square, strict=True)):
        own = weights[:, j] / spread
        # Penalties shrink scores, not what they rank: each model calls as many accounts bots as there are.
        cut = float(np.quantile(rows @ own, 1.0 - labels.mean()))
        yield f"l1 {first:.2g}, l2 {second:.2g}", Weighted(own, -cut)


def _forests(rows: Floats, labels: Floats) -> Iterator[tuple[str, Fitted]]:
    from sklearn.ensemble import RandomForestClassifier

    for depth in (1, 2, 3, 6):
        for leaf in (5, 40, 120):
            forest = RandomForestClassifier(25, max_depth=depth, min_samples_leaf=leaf, random_state=0)
            yield f"depth {depth}, leaves of {leaf}", Fitted(forest.fit(rows, labels))


def _boosted(rows: Floats, labels: Floats) -> Iterator[tuple[str, Fitted]]:
    from sklearn.ensemble import HistGradientBoostingClassifier

    for depth in (1, 2, 3):
        for rounds in (3, 8, 20, 50):
            trees = HistGradientBoostingClassifier(max_depth=depth, max_iter=rounds, random_state=0)
            yield f"depth {depth}, {rounds} rounds", Fitted(trees.fit(rows, labels))
