"""The cache of a model's answers: :class:`AnswerCache` looks rows up on disk, and :class:`Cached` asks for one."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import ChangingModelError, UsageError
from isonomia.models.adapt import CallableModel, EstimatorModel, adapt
from isonomia.models.answer_store import (
    AnswerStore,
    StoredValue,
    UndigestibleError,
    decoded_predictions,
    decoded_scores,
    encoded_predictions,
    encoded_scores,
    row_digests,
    signature,
)
from isonomia.models.chat import ChatModel
from isonomia.models.checked import ask, first_change
from isonomia.models.executable import ExecutableModel
from isonomia.models.http import HttpModel
from isonomia.models.protocol import Answer, AroundModel, Model, describe, unwrap
from isonomia.populations.fingerprint import fingerprint_of
from isonomia.populations.table import Table
from isonomia.spec.tree import Value
from isonomia.wording import plural

_FILE = "predictions.sqlite"  # if a folder is given
_FORMAT = "1"
_SPOT = 8


@dataclass(slots=True, eq=False)
class CacheCounts:
    """How many rows were answered from the cache, and how many by the model."""

    hits: int = 0
    asked: int = 0
    spot_checked: int = 0  # rows whose stored answers were compared with the model's


@dataclass(slots=True, eq=False)
class OccurrenceCounts:
    """How often a check queried each row; and whether it was resumed, so that the number is unknown."""

    asked: Counter[bytes] = field(default_factory=Counter)
    resumed: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class AnswerCache:
    """A model's answers in a file, and how one check uses them.

    Predictions and scores are stored bit by bit, by the model's fingerprint and the row; the answers with and without a
    cache are the same. Only checked answers are stored. Several processes may share the file, and it may be deleted at
    any time.

    For a model that may answer at random, the n-th time that a check asks about a row, it gets the n-th answer that is
    stored for it. So within a check no answer is used twice, and answers stay independent draws. A check that resumes
    does not know which answers it has used before: it queries the model itself.

    Attributes
    ----------
    store
        The file.
    under
        What the model's answers are stored under.
    key
        Which version of the model it is, in the user's words; ``None`` for its fingerprint.
    spot
        Whether a few stored answers are compared with the model's without a key, too.
    mentioned
        Whether verdicts say what the cache saved.
    turns
        For a model that may answer at random, how often the check queried each row; else ``None``.
    counts
        How often the cache was used, by all checks together.
    """

    store: AnswerStore
    under: str
    key: str | None = None
    spot: bool = False
    mentioned: bool = True
    turns: OccurrenceCounts | None = field(default=None, repr=False)
    counts: CacheCounts = field(default_factory=CacheCounts, repr=False)
    _earlier: int = field(default=0, repr=False)

    @classmethod
    def of(
        cls,
        model: Model,
        path: str | PathLike[str],
        key: str | None = None,
        *,
        spot: bool = False,
        mentioned: bool = True,
    ) -> AnswerCache:
        """The cache of a model, in a file or in a folder."""
        location = Path(fspath(path))
        store = AnswerStore(location / _FILE if location.is_dir() else location)
        return cls(store, _storage_key(model, key), key, spot, mentioned)

    def for_check(self, model: Model, *, at_random: bool = False) -> AnswerCache:
        """The same cache for a check that begins; the model's fingerprint is taken again."""
        self.counts.spot_checked = 0
        turns, under = OccurrenceCounts() if at_random else None, _storage_key(model, self.key)
        return replace(self, under=under, turns=turns, _earlier=self.counts.hits)

    def resume(self) -> None:
        """Let a check that resumes query a model that may answer at random: it may have used any stored answer."""
        if self.turns is not None:
            self.turns.resumed = True

    @property
    def remark(self) -> str:
        """How much the cache saved, in words, since the check began."""
        hits = self.counts.hits - self._earlier
        remark = f"{plural(hits, 'answer')} came from the cache {self.store.path}"
        return f"{remark}; {self.store.trouble}" if self.store.trouble else remark

    def answer(self, model: Model, table: Table, want_score: bool, want_prediction: bool) -> Answer:
        """Answer from the cache where possible, and query the model once for each other row."""
        wanted = [what for what, want in (("prediction", want_prediction), ("score", want_score)) if want]
        try:
            digests = row_digests(table)
        except UndigestibleError:  # such a row cannot be looked up
            return self._ask(model, table, wanted)
        if self.turns is not None:
            if self.turns.resumed:
                return self._ask(model, table, wanted)
            digests = [_nth(digest, self.turns.asked) for digest in digests]
        spaces = self._spaces(table)
        first: dict[bytes, int] = {}
        for row, digest in enumerate(digests):
            first.setdefault(digest, row)
        stored = {what: self.store.get(spaces[what], list(first)) for what in wanted}
        complete = set.intersection(*(set(part) for part in stored.values())) if stored else set()
        missing = [digest for digest in first if digest not in complete]
        self.counts.hits += len(digests) - len(missing)
        self._spot_check(model, table, first, stored)
        if missing:
            rows = np.array([first[digest] for digest in missing], dtype=np.intp)
            for what, part in self._ask_about(model, table, rows, wanted).items():
                fresh = dict(zip(missing, part, strict=True))
                self.store.put(spaces[what], fresh)
                stored[what] |= fresh
        return _assembled(digests, stored) or self._ask(model, table, wanted)

    def _ask(self, model: Model, table: Table, wanted: Sequence[str]) -> Answer:
        self.counts.asked += table.rows
        return ask(model, table, "score" in wanted, "prediction" in wanted)

    def _ask_about(
        self, model: Model, table: Table, rows: NDArray[np.intp], wanted: Sequence[str]
    ) -> dict[str, list[StoredValue]]:
        answer = self._ask(model, table if len(rows) == table.rows else table.take(rows), wanted)
        encoded: dict[str, list[StoredValue]] = {}
        if answer.prediction is not None:
            encoded["prediction"] = encoded_predictions(answer.prediction)
        if answer.score is not None:
            encoded["score"] = encoded_scores(answer)
        return encoded

    def _spaces(self, table: Table) -> dict[str, str]:
        shared = (_FORMAT, self.under, *signature(table))
        return {what: fingerprint_of(what, *shared) for what in ("prediction", "score")}

    def _spot_check(
        self, model: Model, table: Table, first: dict[bytes, int], stored: dict[str, dict[bytes, StoredValue]]
    ) -> None:
        """Check the promise that a key makes: a few stored answers must still be the model's."""
        left = _SPOT - self.counts.spot_checked  # batches may have only one row each
        if (self.key is None and not self.spot) or left <= 0 or self.turns is not None:
            return
        complete = [digest for digest in first if all(digest in part for part in stored.values())][:left]
        if not complete:
            return
        self.counts.spot_checked += len(complete)
        before = _assembled(complete, stored)
        if before is None:
            return
        rows = table.take(np.array([first[digest] for digest in complete], dtype=np.intp))
        change = first_change(before, ask(model, rows, "score" in stored, "prediction" in stored))
        if change is not None:
            under, advice = f" under key={self.key!r}", "Give today's model its own key."
            if self.key is None:
                under, advice = "", "Delete the file: its answers are not the model's."
            raise ChangingModelError(
                f"{model.name} has changed: {change.before} is stored in {self.store.path}{under}, but now it "
                f"gives {change.after} for the same row, {rows.row(change.row)!r}. {advice}"
            )


def _nth(digest: bytes, asked: Counter[bytes]) -> bytes:
    """The digest of a row for its n-th query."""
    turn, asked[digest] = asked[digest], asked[digest] + 1
    return digest if turn == 0 else blake2b(digest + turn.to_bytes(8, "little"), digest_size=len(digest)).digest()


def _assembled(digests: Sequence[bytes], stored: dict[str, dict[bytes, StoredValue]]) -> Answer | None:
    """The answers for all rows, in order; ``None`` if they do not fit together."""
    prediction, score = None, None
    classes: tuple[Value, ...] = ()
    if "prediction" in stored:
        prediction = decoded_predictions([stored["prediction"][digest] for digest in digests])
    if "score" in stored:
        scored = decoded_scores([stored["score"][digest] for digest in digests])
        if scored is None:
            return None
        score, classes = scored
    return Answer(prediction, score, classes)


def _storage_key(model: Model, key: str | None) -> str:
    """What a model's answers are stored under: its name with the user's key, or else its fingerprint."""
    if key is not None and (not isinstance(key, str) or not key.strip()):
        raise UsageError(f"key should be a text that names this version of the model, but is {key!r}.", name="key")
    if key is not None:
        return fingerprint_of("key", model.name, key)
    doubt = _doubt(model)
    if doubt is not None:
        raise UsageError(
            f"answers of {model.name} cannot be stored under its fingerprint, because {doubt}. Say which version of "
            "the model this is, and say something else when it changes: key='credit 2024-05'.",
            name="key",
        )
    return fingerprint_of("fingerprint", model.fingerprint())


def _doubt(model: Model) -> str | None:
    """Why another model could have the same fingerprint; ``None`` if none can."""
    inner = unwrap(model)
    match inner:
        case CallableModel():
            return "a function may read values from outside, which its source does not show"
        case EstimatorModel() if not _can_be_pickled(inner.estimator):
            return "it cannot be pickled, so changes in what it has learned cannot be detected"
        case HttpModel(version="") | ExecutableModel(version="") | ChatModel(version=""):
            return "the model behind it may change undetected"
        case _:
            return None


def _can_be_pickled(estimator: object) -> bool:
    try:
        pickle.dumps(estimator)
    except Exception:
        return False
    return True


@dataclass(frozen=True, slots=True, eq=False)
class Cached(AroundModel):
    """A model with its answers on disk (:class:`~isonomia.models.cache.AnswerCache`).

    The answers with and without a cache are the same. The model's fingerprint is taken when the object is made and when
    a check begins. Several processes may share the file, and it may be deleted at any time.

    For a model that may answer at random, the n-th time that a check asks about a row, it gets the n-th answer that is
    stored for it. So within a check no answer is used twice, and answers stay independent draws.

    Attributes
    ----------
    model
        The model, or anything that :func:`isonomia.models.adapt` takes.
    path
        The file, or a folder to keep it in.
    key
        Which version of the model it is, in your words, in place of its fingerprint. Needed where the fingerprint
        cannot tell versions apart: for functions, and for services and programs without a ``version``. Since a key is
        only a promise, up to 8 stored answers per check are compared with the model's.
    spot
        Whether to do that without a key, too: for a file that others may have written.
    cache
        The cache; made here, not to be passed.
    """

    model: Any
    path: str | PathLike[str]
    key: str | None = None
    spot: bool = False
    cache: AnswerCache = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", adapt(self.model))
        object.__setattr__(self, "cache", AnswerCache.of(self.model, self.path, self.key, spot=self.spot))

    def describe(self) -> str:
        """Say in one line what it is."""
        return f"{describe(self.model)}; its answers are kept in {self.cache.store.path}"

    def answer(self, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:
        """Answer from the cache where possible, and query the model once for each other row."""
        return self.cache.answer(self.model, table, want_score, want_prediction)
