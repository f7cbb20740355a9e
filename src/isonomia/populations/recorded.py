"""A population, or rows, of which only the record is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from isonomia.errors import DataError, UsageError
from isonomia.populations.protocol import BatchSizes, Clusters, Labels, PopulationFacts, Wanted
from isonomia.populations.table import Table, column_from
from isonomia.spec.parser import parse_condition
from isonomia.spec.tree import Row, Value

_TABLES = ("sample", "census")
_SIZES: dict[str, set[type]] = {
    "first": {int},
    "growth": {int, float},
    "early": {int, float},
    "most": {int},
    "draws_only": {bool},
}
_MAX_SIZE = 2**53
"""Larger numbers of people cannot be counted in double precision."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordedPopulation:
    """What a finished check kept of a population: enough to repeat its reasoning, but not to draw from it."""

    kind: str
    size: int | None
    streams: tuple[Row | None, ...]  # none for a domain of a k-safety property
    names: tuple[str, ...]
    assumptions: tuple[str, ...]
    remarks: tuple[str, ...]
    stored_fingerprint: str | None  # None for a domain that has none
    known: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)  # of the columns whose values were read
    name: str | None = None  # what a domain is called; None for people
    drawn_on: str | None = None  # the kind of device that draws were made on; None for NumPy
    batch_sizes: BatchSizes | None = None  # how large its batches should be, if it said so
    looks: tuple[int, ...] = ()  # the numbers of rows at earlier looks
    row_order: str = "random"  # of a sample
    clusters: Clusters | None = None  # which rows belonged together
    labels: Labels | None = None  # how its labels were drawn

    @classmethod
    def of(cls, entry: Mapping[str, Any], known: Mapping[str, tuple[Value, ...]]) -> RecordedPopulation:
        """The population whose entry is in a journal, with the values of the columns whose values were read."""
        fault = _fault(entry, known)
        if fault is not None:
            raise DataError(f"expected a population's description in the record, but {fault}")
        return cls(
            kind=entry["kind"],
            size=entry["size"],
            streams=tuple(None if text is None else parse_condition(text) for text in entry.get("streams", ())),
            names=tuple(entry.get("names", ())),
            assumptions=tuple(entry.get("assumptions", ())),
            remarks=tuple(entry.get("remarks", ())),
            stored_fingerprint=entry.get("fingerprint"),
            known=known,
            name=entry.get("name"),
            drawn_on=entry.get("device"),
            batch_sizes=BatchSizes(**entry["batches"]) if "batches" in entry else None,
            looks=tuple(entry.get("looks", ())),
            row_order=entry.get("order", "random"),
            clusters=Clusters(**entry["clusters"]) if "clusters" in entry else None,
            labels=Labels(**entry["labels"]) if "labels" in entry else None,
        )

    def values(self, column: str) -> tuple[Value, ...]:
        """The values that occurred in a column."""
        if column not in self.known:
            raise DataError(f"expected the values of {column!r} in the record, but they are missing")
        return self.known[column]

    @property
    def facts(self) -> PopulationFacts:
        """What the population stated, as far as its reasoning needs it."""
        return PopulationFacts(
            remarks=self.remarks, batch_sizes=self.batch_sizes, clusters=self.clusters, labels=self.labels
        )

    @property
    def finite(self) -> bool:
        """Whether its rows come to an end."""
        return self.size is not None

    def open(self, seed: np.random.SeedSequence, wanted: Wanted | None = None) -> RecordedPopulation:  # noqa: ARG002
        """Return itself; drawing from it raises."""
        return self

    def batch(self, start: int, n: int, rng: np.random.Generator, stream: int = 0) -> Table:
        """Refuse: a record cannot be drawn from."""
        del start, n, rng, stream
        raise UsageError("only the record of this population is here: it cannot be drawn from")

    def fingerprint(self) -> str:
        """The fingerprint that the population had; empty where it had none."""
        return self.stored_fingerprint or ""


def _fault(entry: Mapping[str, Any], known: Mapping[str, tuple[Value, ...]]) -> str | None:
    """What is wrong with the entry of a population, in words; ``None`` if nothing is."""
    kind, size = entry["kind"], entry["size"]
    if not isinstance(kind, str):
        return f"its kind is {kind!r:.60}"
    if size is None and kind in _TABLES:
        return f"a {kind} has no number of rows"
    if size is not None and not (type(size) is int and 0 <= size <= _MAX_SIZE):
        return f"its size is {size!r:.60}"
    for key in ("names", "assumptions", "remarks"):
        texts = entry.get(key, [])
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            return f"its {key} are not texts"
    if len(set(entry.get("names", ()))) < len(entry.get("names", ())):
        return "a column occurs twice"
    for column, values in known.items():
        if len({(type(value), value) for value in values}) < len(values):
            return f"a value of {column!r:.60} occurs twice"
    if not isinstance(entry.get("device"), str | None):
        return f"its device is {entry['device']!r:.60}"
    looks = entry.get("looks", [])
    if not isinstance(looks, list) or not all(type(rows) is int and 0 < rows <= _MAX_SIZE for rows in looks):
        return f"its earlier looks are {looks!r:.60}"
    if "batches" in entry and not _are_sizes(entry["batches"]):
        return f"the sizes of its batches are {entry['batches']!r:.60}"
    if "clusters" in entry and not _are_clusters(entry["clusters"], size):
        return f"what it says of its clusters is {entry['clusters']!r:.60}"
    if "labels" in entry and not _are_labels(entry["labels"], entry.get("names", ())):
        return f"what it says of its labels is {entry['labels']!r:.60}"
    return None if isinstance(entry.get("fingerprint"), str | None) else "its fingerprint is not text"


def _are_clusters(clusters: Any, size: int | None) -> bool:
    if not isinstance(clusters, dict) or clusters.keys() != {each.name for each in fields(Clusters)}:
        return False
    texts = isinstance(clusters["column"], str) and clusters["weigh"] in ("rows", "clusters")
    numbers = all(type(clusters[key]) is int and 1 <= clusters[key] <= _MAX_SIZE for key in ("count", "largest"))
    return texts and type(clusters["declared"]) is bool and numbers and size is not None and clusters["count"] <= size


def _are_labels(labels: Any, names: Sequence[str]) -> bool:
    if not isinstance(labels, dict) or labels.keys() != {each.name for each in fields(Labels)}:
        return False
    chance, columns = labels["probability"], [labels["column"], labels["judge"]]
    columns += [chance] if isinstance(chance, str) else []
    return set(map(repr, columns)) <= set(map(repr, names)) and (
        isinstance(chance, str) or (type(chance) is float and 0.0 < chance <= 1.0)
    )


def _are_sizes(batches: Any) -> bool:
    if not isinstance(batches, dict) or batches.keys() != _SIZES.keys():
        return False
    known = all(type(size) in _SIZES[key] for key, size in batches.items())
    return known and all(1 <= size <= _MAX_SIZE for size in batches.values() if type(size) is not bool)


def table_of_rows(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Rows that a record shows, as a table; a value that a row lacks is missing."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return Table.of({name: column_from([row.get(name) for row in rows], name) for name in names})
