"""One batch of people as columns, with what the model said about them, and with other versions of the same people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, SpecError
from isonomia.spec.columns import plain
from isonomia.spec.text import to_text
from isonomia.spec.tree import Column, Other, Output, PairCall, Value, Version

__all__ = ["Batch", "as_version"]


@dataclass(frozen=True, slots=True)
class Batch:
    """What a row expression is evaluated on.

    Attributes
    ----------
    rows
        How many people the batch has.
    columns
        The table's columns that the property names, each of length ``rows``.
    prediction
        The model's prediction for each person; ``None`` without a model, and then ``prediction`` means a column of
        that name.
    score
        The model's score for each person, of shape ``(rows,)``, or ``(rows, classes)``; ``None`` where there is none.
    classes
        The class that each column of a two-dimensional ``score`` belongs to.
    versions
        Other versions of the same people, in the same order: for ``other`` the second person of each pair, for
        ``do(...)`` the same person under the changes. Each has as many rows.
    """

    rows: int
    columns: Mapping[str, NDArray[Any]]
    prediction: NDArray[Any] | None = None
    score: NDArray[np.float64] | None = None
    classes: tuple[Value, ...] = field(default=())
    versions: Mapping[Version, Batch] = field(default_factory=dict)
    _plain: dict[str, NDArray[Any]] = field(default_factory=dict, repr=False, compare=False)

    def column(self, name: str) -> NDArray[Any]:
        """One of ``columns`` as :func:`~isonomia.spec.columns.plain` gives it, looked through once.

        Raises
        ------
        DataError
            Where it holds what no expression can use.
        """
        if name not in self._plain:
            self._plain[name] = plain(self.columns[name], name)
        return self._plain[name]


def as_version(node: Column | Output | PairCall, version: Version | None, batch: Batch) -> Batch:
    """The people of a batch in the version that a part of an expression speaks of; ``None`` is as they are.

    Raises
    ------
    SpecError
        Where the batch has no such version; the error names the part.
    DataError
        Where the version is about another number of people.
    """
    if version is None:
        return batch
    if version not in batch.versions:
        raise SpecError(_absent(node, version), node.place)
    found = batch.versions[version]
    if found.rows != batch.rows:
        raise DataError(
            f"expected `{to_text(version)}` to be about the {batch.rows:,} people of the batch, but it is about "
            f"{found.rows:,}"
        )
    return found


def _absent(node: Column | Output | PairCall, version: Version) -> str:
    if isinstance(version, Other):
        return f"`{to_text(node)}` speaks of a second person, but people are not drawn in pairs here"
    return (
        f"`{to_text(node)}` speaks of the same person had things been otherwise, but `{to_text(version)}` cannot be "
        "told here: that needs a causal model of the population"
    )
