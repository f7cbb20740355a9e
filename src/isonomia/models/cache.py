"""A model whose answers are kept on disk, so that it is asked about each different row once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import ChangingModelError
from isonomia.models.adapt import adapt
from isonomia.models.cache_keys import storage_key
from isonomia.models.cache_rows import UndigestibleError, row_digests, signature
from isonomia.models.cache_store import Store
from isonomia.models.cache_values import Stored, prediction_of, score_of, stored_predictions, stored_scores
from isonomia.models.checked import ask
from isonomia.models.describing import describe
from isonomia.models.protocol import Answer, Model
from isonomia.models.steady_change import first_change
from isonomia.populations.fingerprint import fingerprint_of
from isonomia.populations.table import Table
from isonomia.spec.tree import Value

__all__ = ["Cached", "Counts"]

FILE = "predictions.sqlite"
"""What the file is called where a folder is given."""

_FORMAT = "1"
_SPOT = 8


@dataclass(slots=True, eq=False)
class Counts:
    """How many rows were answered from the cache, and how many by the model."""

    hits: int = 0
    asked: int = 0
    spot_checked: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Cached:
    """A model with its answers on disk.

    Stored are predictions and scores, bit by bit, by the model's fingerprint and the row; the answers with and without
    a cache are the same. Only answers that were checked are stored. The fingerprint is taken when the object is made
    and when a check begins. The file may be shared by processes, and may be deleted at any time.

    Attributes
    ----------
    model
        The model, or anything that :func:`isonomia.models.adapt` makes one of.
    path
        The file, or a folder to keep it in.
    key
        Which version of the model it is, in your words, in place of its fingerprint. Needed where that cannot tell: for
        functions, and for services and programs without a ``version``. Since it is a promise, up to 8 stored answers
        are asked for again, once a check.
    counts, store
        How often the cache was of use, and the open file; made here, and not to be given.
    """

    model: Any
    path: str | PathLike[str]
    key: str | None = None
    counts: Counts = field(default_factory=Counts, repr=False)
    store: Store = field(default=None, repr=False)  # type: ignore[assignment]  # set below
    _under: str = field(default="", repr=False)
    _earlier: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        place = Path(fspath(self.path))
        object.__setattr__(self, "model", adapt(self.model))
        object.__setattr__(self, "store", self.store or Store(place / FILE if place.is_dir() else place))
        object.__setattr__(self, "_under", storage_key(self.model, self.key))

    @property
    def name(self) -> str:
        """The model's name."""
        return str(self.model.name)

    @property
    def score_range(self) -> tuple[float, float] | None:
        """The model's range."""
        found: tuple[float, float] | None = self.model.score_range
        return found

    @property
    def classes(self) -> tuple[Value, ...]:
        """The model's classes."""
        return tuple(self.model.classes)

    @property
    def remark(self) -> str:
        """How much the cache saved, in words, since this object was made."""
        hits = self.counts.hits - self._earlier
        told = f"{hits:,} answers came from the cache {self.store.path}"
        return f"{told}; {self.store.trouble}" if self.store.trouble else told

    def fingerprint(self) -> str:
        """The model's fingerprint."""
        return str(self.model.fingerprint())

    def describe(self) -> str:
        """Say in one line what it is."""
        return f"{describe(self.model)}; its answers are kept in {self.store.path}"

    def around(self, model: Model) -> Cached:
        """The same cache around another form of the model; its fingerprint is taken afresh."""
        self.counts.spot_checked = False
        return replace(self, model=model, _earlier=self.counts.hits)

    def answer(self, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:
        """Answer from the cache what it has, and ask the model about each other row once."""
        try:
            digests = row_digests(table)
        except UndigestibleError:  # such a row cannot be found again
            self.counts.asked += table.rows
            return ask(self.model, table, want_score, want_prediction)
        spaces = self._spaces(table)
        first: dict[bytes, int] = {}
        for place, digest in enumerate(digests):
            first.setdefault(digest, place)
        wanted = [what for what, asked in (("prediction", want_prediction), ("score", want_score)) if asked]
        found = {what: self.store.get(spaces[what], list(first)) for what in wanted}
        known = set.intersection(*(set(part) for part in found.values())) if found else set()
        missing = [digest for digest in first if digest not in known]
        self.counts.hits += len(digests) - len(missing)
        self._spot_check(table, first, found)
        if missing:
            fresh = self._asked(table, np.array([first[digest] for digest in missing], dtype=np.intp), wanted)
            for what, part in fresh.items():
                stored = dict(zip(missing, part, strict=True))
                self.store.put(spaces[what], stored)
                found[what] |= stored
        return _assembled(digests, found) or self._whole(table, wanted)

    def _asked(self, table: Table, rows: NDArray[np.intp], wanted: Sequence[str]) -> dict[str, list[Stored]]:
        part = table if len(rows) == table.rows else table.take(rows)
        self.counts.asked += len(rows)
        answer = ask(self.model, part, "score" in wanted, "prediction" in wanted)
        stored: dict[str, list[Stored]] = {}
        if answer.prediction is not None:
            stored["prediction"] = stored_predictions(answer.prediction)
        if answer.score is not None:
            stored["score"] = stored_scores(answer)
        return stored

    def _whole(self, table: Table, wanted: Sequence[str]) -> Answer:
        """Ask about everything where stored answers do not fit together."""
        self.counts.asked += table.rows
        return ask(self.model, table, "score" in wanted, "prediction" in wanted)

    def _spaces(self, table: Table) -> dict[str, str]:
        shared = (_FORMAT, self._under, *signature(table))
        return {what: fingerprint_of(what, *shared) for what in ("prediction", "score")}

    def _spot_check(self, table: Table, first: dict[bytes, int], found: dict[str, dict[bytes, Stored]]) -> None:
        """Hold the owner of a key to his word: a few stored answers must still be the model's."""
        if self.key is None or self.counts.spot_checked:
            return
        known = [digest for digest in first if all(digest in part for part in found.values())][:_SPOT]
        if not known:
            return
        self.counts.spot_checked = True
        before = _assembled(known, found)
        rows = table.take(np.array([first[digest] for digest in known], dtype=np.intp))
        changed = (
            first_change(before, ask(self.model, rows, "score" in found, "prediction" in found)) if before else None
        )
        if changed is not None:
            row, stored, now = changed
            raise ChangingModelError(
                f"{self.name} is not what it was: {stored} is stored in {self.store.path} under key={self.key!r}, but "
                f"now it gives {now} for the same row, {rows.row(row)!r}. Give the model of today a key of its own."
            )


def _assembled(digests: Sequence[bytes], found: dict[str, dict[bytes, Stored]]) -> Answer | None:
    """The answers of all rows, in order; ``None`` where they do not fit together."""
    prediction, score = None, None
    classes: tuple[Value, ...] = ()
    if "prediction" in found:
        prediction = prediction_of([found["prediction"][digest] for digest in digests])
    if "score" in found:
        scored = score_of([found["score"][digest] for digest in digests])
        if scored is None:
            return None
        score, classes = scored
    return Answer(prediction, score, classes)
