"""The design of a sample: which rows belong together, and how labels were drawn, or are to be drawn next."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from numbers import Integral
from secrets import randbits
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, UsageError
from isonomia.populations.protocol import Clusters, Labels
from isonomia.populations.streaming import Rows
from isonomia.populations.table import Table, check_known
from isonomia.spec.columns import kind_of, missing, plain

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Clustering:
    """Which rows belong together: the number of each row's cluster, counted by first appearance, and its facts."""

    codes: NDArray[np.intp]
    facts: Clusters


LARGEST_CLUSTER = 2**53
"""The maximum number of rows of a cluster that can be declared: larger numbers are not exact in double precision."""


def clustering_of(rows: Rows, cluster: str | None, weigh: str, max_cluster: int | None) -> Clustering | None:
    """The clusters of a table; ``None`` where each row stands alone."""
    if weigh not in ("rows", "clusters"):
        raise UsageError(f"expected weigh='rows' or weigh='clusters', but got weigh={weigh!r}")
    if cluster is None:
        if weigh != "rows" or max_cluster is not None:
            raise UsageError("weigh and max_cluster are about clusters: name their column, cluster='customer'")
        return None
    if not isinstance(cluster, str):
        raise UsageError(f"expected cluster as the name of a column, but got {cluster!r}")
    check_known([cluster], rows.names)
    assert isinstance(rows, Table), "rows of clusters are held in memory"
    column = rows.column(cluster)
    empty = missing(column)
    if empty.any():
        raise DataError(
            f"expected a value of {cluster!r}, the cluster, in every row, but it is missing in row "
            f"{int(np.argmax(empty))}: fill it in, or leave such rows out"
        )
    _, first, codes, counts = np.unique(
        np.asarray(plain(column, cluster)), return_index=True, return_inverse=True, return_counts=True
    )
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    biggest = int(counts.max(initial=1))
    declared: Any = max_cluster
    whole = isinstance(declared, Integral) and not isinstance(declared, bool)
    if declared is not None and not (whole and biggest <= declared <= LARGEST_CLUSTER):
        raise UsageError(
            f"expected max_cluster as a whole number of at least {biggest:,}, the rows of the largest {cluster!r} in "
            f"the table, but got {max_cluster!r}"
        )
    largest = biggest if max_cluster is None else int(max_cluster)
    facts = Clusters(cluster, len(first), largest, weigh, max_cluster is not None)
    return Clustering(rank[codes].astype(np.intp), facts)


CONTRADICTED = 1e-6
"""A table is refused where its labels would come about with a smaller probability, if drawn as stated."""

MOST_ANSWERS = 32
"""The maximum number of different answers of a judge that are distinguished."""

LEAST_SHARE = 0.2
"""The least probability relative to that of a uniform draw, where a judge's uncertainty decides: it bounds how many
labels a judge costs that is sure and wrong. Changes power only."""


def check_design(table: Table, labels: Labels, cluster: str | None = None) -> None:
    """Refuse labels that did not come about as stated, and columns that cannot be what they should be."""
    if not isinstance(labels, Labels):
        raise UsageError(
            f"expected labels as Labels('human', judge='judge', probability=0.2), but got {labels!r:.60}", name="labels"
        )
    if cluster is not None:
        raise UsageError(
            "rows that belong together need a label in every row: leave out cluster or labels",
            name="labels",
        )
    check_known(labels.columns, table.names)
    answers, chances = plain(table.column(labels.judge), labels.judge), chances_of(table, labels)
    if missing(answers).any():
        raise DataError(
            f"expected an answer of the judge, {labels.judge!r}, in every row, but it is missing in row "
            f"{int(np.argmax(missing(answers)))}: query the judge, or give failed answers a separate value"
        )
    labeled = ~missing(plain(table.column(labels.column), labels.column))
    if not labeled.any():
        raise DataError(f"expected a label in some rows, but {labels.column!r} is missing in all {table.rows:,}")
    parts = [("", np.ones(table.rows, dtype=bool))]
    values = list(dict.fromkeys(answers.tolist()))
    if len(values) <= MOST_ANSWERS:
        parts += [(f" with {labels.judge} == {value!r}", np.asarray(answers == value)) for value in values]
    for where, rows in parts:
        seen, expected = int(labeled[rows].sum()), float(chances[rows].sum())
        if _chance(seen - expected, chances[rows]) * len(parts) < CONTRADICTED:
            raise DataError(
                f"expected labels in about {expected:,.0f} of the {int(rows.sum()):,} rows{where}, by the stated "
                f"probability, but {seen:,} have one: so labels were not drawn with this "
                "probability, and they prove nothing about the table. Draw rows "
                "by iso.evals.label_next, and record the probabilities that it gives"
            )


def _chance(away: float, chances: Floats) -> float:
    """A bound on the probability that the number of labels is as far from its mean as this: Bernstein's inequality."""
    spread = float((chances * (1.0 - chances)).sum())
    return 2.0 * exp(-(away**2) / (2.0 * (spread + abs(away) / 3.0))) if abs(away) > 1e-6 else 1.0


def chances_of(table: Table, labels: Labels) -> Floats:
    """The probability of a label in each row."""
    if isinstance(labels.probability, float):
        return np.full(table.rows, labels.probability)
    column = plain(table.column(labels.probability), labels.probability)
    if kind_of(column) not in ("number", "truth"):
        raise DataError(f"expected probabilities in {labels.probability!r}, but it is {kind_of(column)}")
    chances = np.asarray(column, dtype=float)
    wrong = ~((chances > 0.0) & (chances <= 1.0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"expected {labels.probability!r}, the probability of a label, above 0 and at most 1, but it is "
            f"{chances[row]:g} in row {row}: rows that cannot get a label cannot be estimated"
        )
    return chances


@dataclass(frozen=True, slots=True)
class NextLabels:
    """The rows to label next.

    Attributes
    ----------
    rows
        Their numbers in the table, counted from 0.
    probability
        For every row of the table, the probability with which it has a label after this round: record it as a column,
        and name it in ``Labels(..., probability="that column")``.
    seed
        Draws the same rows again.
    """

    rows: NDArray[np.intp]
    probability: Floats
    seed: int


def label_next(
    table: object,
    n: int | None = None,
    *,
    probability: float | None = None,
    score: str | None = None,
    labels: Labels | None = None,
    seed: int | None = None,
) -> NextLabels:
    """Draw the rows to label next, each by itself, and say with which probability.

    Parameters
    ----------
    table
        Any table that :meth:`Table.of` takes.
    n
        How many rows to label, on average; the number itself is random.
    probability
        In place of ``n``, the probability of each row.
    score
        A column with the judge's probability of one of two answers, from 0 to 1. Rows about which the judge is less
        certain are then chosen more often, in proportion to the standard deviation that it implies. Without it, every
        row has the same probability.
    labels
        How earlier labels of the same table were drawn. Rows that have one are not chosen again, and the probabilities
        are those of both rounds together. Decide about a second round without looking at the labels of the first.
    seed
        The seed of the draw; by default a new one.

    Returns
    -------
    NextLabels
        The rows, and the probability of every row.

    Raises
    ------
    UsageError, DataError
        Where ``n`` and ``probability`` do not fit the table, or a column is not what it should be.

    Examples
    --------
    >>> drawn = label_next({"answer": ["a", "b", "c", "d"]}, probability=0.5, seed=3)
    >>> drawn.probability.tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    rows = Table.of(table)
    earlier, open_rows = np.zeros(rows.rows), np.ones(rows.rows, dtype=bool)
    if labels is not None:
        check_design(rows, labels)
        earlier, open_rows = chances_of(rows, labels), missing(plain(rows.column(labels.column), labels.column))
    # The expected number of rows without a label does not depend on which rows got one.
    left = 1.0 - earlier
    if (n is None) == (probability is None):
        raise UsageError("expected n, how many rows to label, or probability, but not both", name="n")
    share: Any = probability if n is None else n / max(float(left.sum()), 1e-300)
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0.0 < share <= 1.0 + 1e-9:
        given = f"n={n!r}" if probability is None else f"probability={probability!r}"
        raise UsageError(
            f"expected a probability above 0 and at most 1, or at most {left.sum():,.0f} rows, as many as have no "
            f"label, but got {given}",
            name="n",
        )
    now = np.full(rows.rows, min(float(share), 1.0)) if score is None else _uncertain(rows, score, float(share), left)
    entropy = randbits(64) if seed is None else seed
    chosen = np.random.default_rng(entropy).random(rows.rows) < now
    return NextLabels(np.flatnonzero(chosen & open_rows), earlier + left * now, entropy)


def _uncertain(table: Table, score: str, share: float, left: Floats) -> Floats:
    """Probabilities in proportion to the judge's standard deviation, within bounds, that are ``share`` on average."""
    check_known([score], table.names)
    column = plain(table.column(score), score)
    scores = np.asarray(column, dtype=float) if kind_of(column) in ("number", "truth") else np.full(table.rows, np.nan)
    if not ((scores >= 0.0) & (scores <= 1.0)).all():
        raise DataError(f"expected {score!r} as the judge's probability, a number from 0 to 1 in every row")
    spread = np.sqrt(scores * (1.0 - scores))
    low, high = 0.0, 1.0 / max(float(spread.max()), 1e-6)
    for _ in range(60):
        middle = 0.5 * (low + high)
        chances = np.clip(middle * spread, LEAST_SHARE * share, 1.0)
        low, high = (middle, high) if float(chances @ left) < share * float(left.sum()) else (low, middle)
    return np.clip(high * spread, LEAST_SHARE * share, 1.0)
