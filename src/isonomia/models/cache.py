"""Answers kept on disk.

Whether a fingerprint tells a model from every other one, so that answers may be stored under it.

A digest for each row of a table, by which a stored answer is found again.

Two rows have the same digest if and only if a model could not tell them apart: the same kind of table, the same columns
in the same order with the same types, and the same values bit by bit. The digests are BLAKE2b's of 128 bits, so that
among ``n`` different rows two share one with probability at most ``n**2 / 2**129``: below 1.5e-21 for a billion rows.

A model whose answers are kept on disk, so that it is asked about each different row once.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, time, timedelta
from decimal import Decimal
from hashlib import blake2b
from os import PathLike, fspath
from pathlib import Path
from struct import pack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import ChangingModelError, UsageError
from isonomia.models.adapt import adapt
from isonomia.models.cache_store import Store, Stored, prediction_of, score_of, stored_predictions, stored_scores
from isonomia.models.checked import ask, first_change
from isonomia.models.estimators import CallableModel, EstimatorModel
from isonomia.models.executable import ExecutableModel
from isonomia.models.http import HttpModel
from isonomia.models.protocol import Answer, Model, describe
from isonomia.populations.fingerprint import fingerprint_of
from isonomia.populations.table import Table
from isonomia.spec.tree import Value

__all__ = ["DIGEST", "Cached", "Counts", "UndigestibleError", "row_digests", "signature", "storage_key"]


def storage_key(model: Model, key: str | None) -> str:
    """What a model's answers are stored under: its name with what its owner says it is, or else its fingerprint.

    Raises
    ------
    UsageError
        Where the fingerprint could stay the same while the model changes, and no key was given.
    """
    if key is not None and (not isinstance(key, str) or not key.strip()):
        raise UsageError(f"key should be a text that names this version of the model, but is {key!r}.")
    if key is not None:
        return fingerprint_of("key", model.name, key)
    doubt = _doubt(model)
    if doubt is not None:
        raise UsageError(
            f"answers of {model.name} cannot be stored under its fingerprint, because {doubt}. Say which version of "
            "the model this is, and say something else when it changes: key='credit 2024-05'."
        )
    return fingerprint_of("fingerprint", model.fingerprint())


def _doubt(model: Model) -> str | None:
    """Why another model could have the same fingerprint; ``None`` where none can."""
    inner = getattr(model, "model", model)  # one that is being watched
    match inner:
        case CallableModel():
            return "a function may read values from outside, which its source does not show"
        case EstimatorModel() if not _can_be_pickled(inner.estimator):
            return "it cannot be pickled, so that what it has learnt is not seen"
        case HttpModel(version="") | ExecutableModel(version=""):
            return "the model behind it may be replaced without a sign of it"
        case _:
            return None


def _can_be_pickled(estimator: object) -> bool:
    try:
        pickle.dumps(estimator)
    except Exception:
        return False
    return True


DIGEST = 16
"""Bytes of a digest."""

_RAW = "biufcMm"


class UndigestibleError(Exception):
    """A value of a kind that has no reliable form as bytes."""


def signature(table: Table) -> list[str]:
    """The kind of a table, and the names and types of its columns."""
    if table.kind == "array":
        return ["array", str(table.native.dtype), *table.names]
    if table.kind == "columns":
        return ["columns", *(f"{name}:{_dtype(table.native[name])}" for name in table.names)]
    if table.kind == "rows":
        return ["rows"]
    frame = _frame(table)
    return [table.kind, *(f"{name}:{dtype}{_categories(table, name)}" for name, dtype in frame.schema.items())]


def row_digests(table: Table) -> list[bytes]:
    """A digest for each row; rows of different signatures may share one.

    Raises
    ------
    UndigestibleError
        Where a value is neither text, nor a number, nor a truth value, nor a date.
    """
    if table.kind == "rows":
        return [_joined(part for item in row.items() for part in map(_encoded, item)) for row in table.native]
    if table.kind == "array" and table.native.dtype.kind in _RAW:
        parts = [_bytes(np.ascontiguousarray(table.native))]
    else:
        parts = [_column(table, name) for name in table.names]
    matrix = np.concatenate(parts, axis=1)
    data, width = memoryview(matrix.tobytes()), matrix.shape[1]
    return [blake2b(data[i : i + width], digest_size=DIGEST).digest() for i in range(0, len(data), width)]


def _column(table: Table, name: str) -> NDArray[np.uint8]:
    if table.kind == "array":
        values: Any = table.native[:, table.names.index(name)]
    elif table.kind == "columns":
        values = table.native[name]
    else:
        values = _series(table, name)
    if isinstance(values, np.ndarray) and values.dtype.kind in _RAW:
        return _bytes(np.ascontiguousarray(values))
    known: dict[str, bytes] = {}
    digests = []
    for value in values.tolist() if isinstance(values, np.ndarray) else values:
        if type(value) is str:  # text repeats, and a truth value must not be taken for the number that equals it
            if value not in known:
                known[value] = _joined((_encoded(value),))
            digests.append(known[value])
        else:
            digests.append(_joined((_encoded(value),)))
    return np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(len(digests), DIGEST)


def _series(table: Table, name: str) -> Any:
    """A column of a data frame, as an array where that loses nothing, else as a list."""
    series = _frame(table).get_column(name)
    if (series.dtype.is_integer() or series.dtype.is_float()) and not series.is_null().any():
        values = np.asarray(series.to_numpy())
        if values.dtype.kind in "biuf":
            return values
    return series.to_list()


def _bytes(values: NDArray[Any]) -> NDArray[np.uint8]:
    return values.view(np.uint8).reshape(len(values), -1)


def _joined(parts: Iterable[bytes]) -> bytes:
    digest = blake2b(digest_size=DIGEST)
    for part in parts:
        digest.update(pack("<q", len(part)))
        digest.update(part)
    return digest.digest()


def _encoded(value: object) -> bytes:
    kind = type(value)
    if kind is str:
        return b"s" + str(value).encode("utf-8", "surrogatepass")
    if kind is float:
        return b"f" + pack("<d", value)
    if value is None or isinstance(value, bool | int | bytes | np.generic | date | time | timedelta | Decimal):
        return f"{kind.__module__}.{kind.__qualname__} {value!r}".encode("utf-8", "surrogatepass")
    if type(value).__name__ in {"NAType", "NaTType"} or isinstance(value, str | float):
        return f"{kind.__module__}.{kind.__qualname__} {value!r}".encode("utf-8", "surrogatepass")
    raise UndigestibleError(f"{value!r:.80} ({kind.__name__})")


def _dtype(values: NDArray[Any]) -> str:
    return "text" if values.dtype.kind == "U" else values.dtype.str


def _categories(table: Table, name: str) -> str:
    """The categories of a pandas column: a model may go by their order, which the values do not show."""
    if table.kind != "pandas":
        return ""
    categories = getattr(table.native[name].dtype, "categories", None)
    return "" if categories is None else f"{list(categories)!r}"


def _frame(table: Table) -> Any:
    import narwhals as nw

    return nw.from_native(table.native, eager_only=True)


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
