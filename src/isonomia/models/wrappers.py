"""Wrappers: the layers between a check and the model that it asks.

Each layer answers like the model inside it and has its fingerprint. From the inside out:

1. the adapter, as :func:`isonomia.models.adapt` or :func:`isonomia.models.load_model` made it;
2. :class:`Steady` asks about a few rows twice, and stops the check when an answer changes. It is inside a cache, since
   stored answers never change;
3. :class:`Cached` answers from disk what is stored there;
4. :class:`Guarded` lets in as many threads at once as the user allowed;
5. :class:`Spread` lets the workers of an executor answer, each for a part of the rows
   (:mod:`isonomia.models.parallel`): around 1 and 4 without a cache, directly around the adapter with one;
6. :class:`Steady` again, around a guarded model: a check watches the model that it is given (:func:`watch`), unless it
   may answer at random. :func:`watch` looks inside a cache, but not inside a guard.

So a single check asks ``Cached(Steady(adapter))``, and without a cache ``Steady(adapter)``. The checks of an audit
file, which may run side by side, ask ``Steady(Guarded(Cached(Steady(adapter))))``, and without a cache
``Steady(Guarded(adapter))``. :func:`unwrap` goes back to the adapter.

The next layers are not models, and are in :mod:`isonomia.audits.answers`: an ``Asker`` checks every answer
(:func:`isonomia.models.ask`) and keeps it in the journal, with ``RememberedAnswers`` for checks that make the same
pass; checks that draw the same people share ``SharedDraws`` of them and their answers.
"""

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

from isonomia.errors import ChangingModelError, ModelError, UsageError
from isonomia.executors import Pool
from isonomia.models.adapt import adapt
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
from isonomia.models.checked import ask, first_change
from isonomia.models.decoder import VectorAnswers
from isonomia.models.estimators import CallableModel, EstimatorModel
from isonomia.models.executable import ExecutableModel
from isonomia.models.http import HttpModel
from isonomia.models.meter import send
from isonomia.models.parallel import Guarded, Spread
from isonomia.models.protocol import Answer, AroundModel, Model, RecordedModel, describe
from isonomia.models.steady import Steady
from isonomia.populations.fingerprint import fingerprint_of
from isonomia.populations.table import Table
from isonomia.spec.tree import Value
from isonomia.wording import first_few, listed, plural


def watch(model: Model) -> Model:
    """Watch whether a model changes its answers; inside a cache, if there is one."""
    if isinstance(model, Steady):
        return model
    if isinstance(model, Cached):
        return model.around(watch(model.model))
    return Steady(model)


def unwatched(model: Model) -> Model:
    """A model that may answer at random: not watched, and with a cache that gives each stored answer once a check."""
    if isinstance(model, Cached):
        return model.at_random()
    return replace(model, model=unwatched(model.model)) if isinstance(model, Guarded) else model


def bypass_cache(model: Model | None) -> None:
    """Let a check that resumes ask a model that may answer at random: which stored answers it has used is not known."""
    for layer in [] if model is None else _layers(model):
        if isinstance(layer, Cached) and layer.turns is not None:
            layer.turns.resumed = True


def watch_on(model: Model | None) -> Steady | None:
    """The watch on a model, inside whatever is around it; ``None`` where it is not watched."""
    return next((layer for layer in ([] if model is None else _layers(model)) if isinstance(layer, Steady)), None)


def has_cache(model: Model) -> bool:
    """Whether answers about rows may be stored already."""
    return any(isinstance(layer, Cached) for layer in _layers(model))


def unwrap(model: Model) -> Model:
    """The model itself, without the wrappers of this module; the user's own wrappers stay."""
    while isinstance(model, _Wrapper):
        model = model.model
    return model


def without_outcome(model: Model, columns: Sequence[str]) -> Model:
    """A model that is not given the outcome columns, unless the user or the model itself names the columns it takes.

    A model that is given what it should predict can repeat it, and every error rate would be 0.
    """
    if not columns or not _takes_whatever_comes(model):
        return model
    if isinstance(model, Cached):
        return model.around(without_outcome(model.model, columns))
    return WithoutOutcome(model, tuple(columns))


def given_in_words(model: Model | None, names: Sequence[str]) -> str:
    """Which columns a model is given: for services and programs, and where a column is held back; else empty."""
    if model is None or not _takes_whatever_comes(model):
        return ""
    layers = _layers(model)
    columns = next((layer.columns for layer in layers if isinstance(layer, WithoutOutcome)), ())
    held = [name for name in columns if name in names]
    if not held and not isinstance(layers[-1], HttpModel | ExecutableModel):
        return ""
    given = [name for name in names if name not in held]
    back = f", and not {listed(held)}, the outcome" if held else ""
    return (
        f"{model.name} is given {len(given)} of {len(names)} columns: {first_few(given)}{back}. Name the columns that "
        "it takes if it should be given others: features=[...], or --features COLUMN,... at the command line"
    )


def _takes_whatever_comes(model: Model) -> bool:
    inner = unwrap(model)
    ours = type(inner).__module__.startswith("isonomia.models.") and not isinstance(inner, RecordedModel)
    return ours and getattr(inner, "reads", None) is None and getattr(inner, "features", None) is None


def spread(model: Model, pool: Pool | None) -> Model:
    """A model that the workers of a pool run; inside a cache, if there is one."""
    layers = _layers(model)
    if pool is None or any(isinstance(layer, Spread) for layer in layers):
        return model
    if not isinstance(model, Steady) and not has_cache(model):
        own: Any = unwrap(model)
        reads = next((found for name in ("reads", "features") if (found := getattr(own, name, None)) is not None), None)
        return Spread(model, pool, None if reads is None else tuple(reads))
    assert isinstance(model, _Wrapper), "there is a cache or a watch in it"
    inner = spread(model.model, pool)
    return model.around(inner) if isinstance(model, Cached) else replace(model, model=inner)


def _layers(model: Model) -> list[Model]:
    layers = [model]
    while isinstance(layers[-1], _Wrapper):
        layers.append(layers[-1].model)
    return layers


@dataclass(frozen=True, slots=True, eq=False)
class WithoutOutcome(AroundModel):
    """A model that is not given some columns.

    Attributes
    ----------
    model
        The model.
    columns
        The columns that it is not given.
    """

    model: Model
    columns: tuple[str, ...]

    def answer(self, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:
        """Ask about the rows without the columns.

        Raises
        ------
        ModelError
            If no column is left, or the model fails for lack of one of them.
        """
        left = [name for name in table.names if name not in self.columns]
        held = listed([repr(name) for name in table.names if name in self.columns])
        if not left:
            raise ModelError(f"there is nothing to ask {self.name} about: the only column is the outcome, {held}")
        try:
            given = table if len(left) == len(table.names) else table.select(left)
            return send(self.model, given, want_score=want_score, want_prediction=want_prediction)
        except Exception as error:
            if len(left) < len(table.names) and any(name in str(error) for name in self.columns):
                raise ModelError(
                    f"{self.name} fails without {held}, which it is not given since the property uses it as the "
                    f"outcome ({type(error).__name__}: {error}). If it should be given it, name what it takes: "
                    "features=[...], --features NAME,... or features in an audit file"
                ) from error
            raise


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
class Turns:
    """How often a check asked about each row; and whether it resumes, so that this is not known."""

    asked: Counter[bytes] = field(default_factory=Counter)
    resumed: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Cached(AroundModel):
    """A model with its answers on disk.

    Predictions and scores are stored bit by bit, by the model's fingerprint and the row; the answers with and without a
    cache are the same. Only checked answers are stored. The fingerprint is taken when the object is made and when a
    check begins. Several processes may share the file, and it may be deleted at any time.

    For a model that may answer at random, the n-th time that a check asks about a row, it gets the n-th answer that is
    stored for it. So within a check no answer is used twice, and answers stay independent draws. A check that resumes
    does not know which answers it has used before: it asks the model itself.

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
        Whether to do that without a key, too: for a file that somebody else may have written.
    turns
        For a model that may answer at random, how often each row was asked about by the check; else ``None``.
    counts, store
        How often the cache was used, and the open file; made here, not to be passed.
    """

    model: Any
    path: str | PathLike[str]
    key: str | None = None
    spot: bool = False
    turns: Turns | None = field(default=None, repr=False)
    counts: CacheCounts = field(default_factory=CacheCounts, repr=False)
    store: AnswerStore = field(default=None, repr=False)  # type: ignore[assignment]  # set below
    _under: str = field(default="", repr=False)
    _earlier: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        path = Path(fspath(self.path))
        object.__setattr__(self, "model", adapt(self.model))
        object.__setattr__(self, "store", self.store or AnswerStore(path / _FILE if path.is_dir() else path))
        object.__setattr__(self, "_under", _storage_key(self.model, self.key))

    @property
    def name(self) -> str:
        """The model's name."""
        return str(self.model.name)

    @property
    def score_range(self) -> tuple[float, float] | None:
        """The model's range."""
        score_range: tuple[float, float] | None = self.model.score_range
        return score_range

    @property
    def classes(self) -> tuple[Value, ...]:
        """The model's classes."""
        return tuple(self.model.classes)

    @property
    def remark(self) -> str:
        """How much the cache saved, in words, since this object was made."""
        hits = self.counts.hits - self._earlier
        remark = f"{plural(hits, 'answer')} came from the cache {self.store.path}"
        return f"{remark}; {self.store.trouble}" if self.store.trouble else remark

    def fingerprint(self) -> str:
        """The model's fingerprint."""
        return str(self.model.fingerprint())

    def describe(self) -> str:
        """Say in one line what it is."""
        return f"{describe(self.model)}; its answers are kept in {self.store.path}"

    def around(self, model: Model) -> Cached:
        """The same cache around another form of the model; its fingerprint is taken again."""
        self.counts.spot_checked = 0
        return replace(self, model=model, _earlier=self.counts.hits)

    def at_random(self) -> Cached:
        """The same cache for one check of a model that may answer at random."""
        return replace(self.around(self.model), turns=Turns())

    def answer(self, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:
        """Answer from the cache where possible, and ask the model about each other row once."""
        wanted = [what for what, asked in (("prediction", want_prediction), ("score", want_score)) if asked]
        try:
            digests = row_digests(table)
        except UndigestibleError:  # such a row cannot be looked up
            return self._ask(table, wanted)
        if self.turns is not None:
            if self.turns.resumed:
                return self._ask(table, wanted)
            digests = [_nth(digest, self.turns.asked) for digest in digests]
        spaces = self._spaces(table)
        first: dict[bytes, int] = {}
        for row, digest in enumerate(digests):
            first.setdefault(digest, row)
        stored = {what: self.store.get(spaces[what], list(first)) for what in wanted}
        complete = set.intersection(*(set(part) for part in stored.values())) if stored else set()
        missing = [digest for digest in first if digest not in complete]
        self.counts.hits += len(digests) - len(missing)
        self._spot_check(table, first, stored)
        if missing:
            rows = np.array([first[digest] for digest in missing], dtype=np.intp)
            for what, part in self._ask_about(table, rows, wanted).items():
                fresh = dict(zip(missing, part, strict=True))
                self.store.put(spaces[what], fresh)
                stored[what] |= fresh
        return _assembled(digests, stored) or self._ask(table, wanted)

    def _ask(self, table: Table, wanted: Sequence[str]) -> Answer:
        self.counts.asked += table.rows
        return ask(self.model, table, "score" in wanted, "prediction" in wanted)

    def _ask_about(self, table: Table, rows: NDArray[np.intp], wanted: Sequence[str]) -> dict[str, list[StoredValue]]:
        answer = self._ask(table if len(rows) == table.rows else table.take(rows), wanted)
        encoded: dict[str, list[StoredValue]] = {}
        if answer.prediction is not None:
            encoded["prediction"] = encoded_predictions(answer.prediction)
        if answer.score is not None:
            encoded["score"] = encoded_scores(answer)
        return encoded

    def _spaces(self, table: Table) -> dict[str, str]:
        shared = (_FORMAT, self._under, *signature(table))
        return {what: fingerprint_of(what, *shared) for what in ("prediction", "score")}

    def _spot_check(self, table: Table, first: dict[bytes, int], stored: dict[str, dict[bytes, StoredValue]]) -> None:
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
        change = first_change(before, ask(self.model, rows, "score" in stored, "prediction" in stored))
        if change is not None:
            under, advice = f" under key={self.key!r}", "Give the model of today a key of its own."
            if self.key is None:
                under, advice = "", "Delete the file: its answers are not the model's."
            raise ChangingModelError(
                f"{self.name} is not what it was: {change.before} is stored in {self.store.path}{under}, but now it "
                f"gives {change.after} for the same row, {rows.row(change.row)!r}. {advice}"
            )


def _nth(digest: bytes, asked: Counter[bytes]) -> bytes:
    """The digest of a row for the n-th time that it is asked about."""
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
            "the model this is, and say something else when it changes: key='credit 2024-05'."
        )
    return fingerprint_of("fingerprint", model.fingerprint())


def _doubt(model: Model) -> str | None:
    """Why another model could have the same fingerprint; ``None`` if none can."""
    inner = unwrap(model)
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


_Wrapper = Cached | Guarded | Spread | Steady | VectorAnswers | WithoutOutcome
