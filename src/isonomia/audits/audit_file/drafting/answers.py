"""What a model answers about some rows, and which of the answers is the favourable one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import ModelError, UsageError, nearest
from isonomia.models.checked import ask
from isonomia.models.protocol import Answer, Model
from isonomia.populations.profile import (
    BAD_VALUES,
    BENEFITS,
    CHARGES,
    GOOD_VALUES,
    HARMS,
    ColumnProfile,
    has_word,
    plain_text,
    words_in,
)
from isonomia.populations.table import Table, plain_value
from isonomia.spec.text import name_text, number_text, value_text
from isonomia.spec.tree import Value

_ROWS = 400
"""About how many people a model is queried about for a draft."""
_MAX_CLASSES = 20
"""More different whole numbers than this are not classes."""
_MAX_DECISIONS = 50


@dataclass(frozen=True, slots=True, eq=False)
class ModelAnswers:
    """What was learned by querying a model about some people.

    Attributes
    ----------
    model
        The model, with the features that it was found to take.
    features
        The columns that it has to be given by name, where it does not state them itself and the whole table is wrong.
    reads
        The columns that it reads; ``None`` where it takes whatever there is.
    rows, answer
        The people it was queried about, and its answers.
    classes
        What it can predict, where these are classes; empty for numbers.
    scores
        One score for each row, that of the second of two classes; ``None`` where it gives none or several.
    probability
        Whether the model states that scores lie between 0 and 1.
    random
        Whether it answered the same rows differently.
    speed
        Rows per second.
    """

    model: Model
    features: tuple[str, ...] | None
    reads: tuple[str, ...] | None
    rows: Table
    answer: Answer
    classes: tuple[Value, ...]
    scores: NDArray[np.float64] | None
    probability: bool
    random: bool
    speed: float

    @property
    def predictions(self) -> NDArray[Any] | None:
        """What it predicted; ``None`` where it gives scores only."""
        return self.answer.prediction


@dataclass(frozen=True, slots=True)
class FavourableDecision:
    """The favourable answer.

    Attributes
    ----------
    event, opposite
        The condition that a person gets it, and that they do not, as in a formula.
    value
        The answer itself; ``None`` where it is a range.
    values
        Every answer; empty for numbers.
    why
        The reason for the guess.
    spelled
        How a formula names the answer: ``prediction``, or a column.
    score
        How a formula names a score between 0 and 1; empty if the model has no score.
    """

    event: str
    opposite: str
    value: Any
    values: tuple[Any, ...]
    why: str
    spelled: str
    score: str


# Asking the model ----------------------------------------------------------------------------------------------------


def some_rows(table: Table, limit: float = inf) -> Table:
    """Rows from all over a table and, for every column with a missing value, a row in which it is missing.

    They are at most ``limit``; then the rows with missing values are left out.
    """
    chosen = set(np.linspace(0, table.rows - 1, int(min(_ROWS, table.rows, limit))).astype(int).tolist())
    for name in table.names[:_ROWS] if limit == inf else ():
        column = table.column(name)
        if column.dtype.kind in "fO":
            gap = next((row for row, value in enumerate(column) if plain_value(value) is None), None)
            chosen |= set() if gap is None else {gap}
    return table.take(np.asarray(sorted(chosen), dtype=np.intp))


def ask_model(
    opened: Callable[[Sequence[str] | None], Model],
    rows: Table,
    columns: Mapping[str, ColumnProfile],
    outcome: str | None,
    features: tuple[str, ...] | None = None,
) -> ModelAnswers:
    """Query a model about some rows; where it does not state which columns it takes, try what is plausible.

    The column that looks like the outcome is rarely given to a model. Where nothing works, the error is the one that
    the model raises for the whole table.
    """
    model = opened(features)
    try:
        return _answers_of(model, features, rows)
    except ModelError as error:
        if model.reads is not None:
            raise
        for plausible in _plausible_features(columns, outcome):
            try:
                return _answers_of(opened(plausible), tuple(plausible), rows)
            except ModelError:
                continue
        raise error


def _plausible_features(columns: Mapping[str, ColumnProfile], outcome: str | None) -> list[list[str]]:
    """Lists of columns that a model may have been fitted on, the longest first."""
    inputs = [name for name, column in columns.items() if name != outcome and column.kind not in ("nothing", "other")]
    of_groups = [name for name in inputs if not columns[name].identifier]
    numbers = [name for name in of_groups if columns[name].kind in ("whole", "number", "truth")]
    return [features for features in (inputs, of_groups, numbers) if features]


def _answers_of(model: Model, features: tuple[str, ...] | None, rows: Table) -> ModelAnswers:
    began = monotonic()
    answer = _answer(model, rows)
    speed = rows.rows / max(monotonic() - began, 1e-4)
    again = _answer(model, rows.slice(0, min(20, -(-rows.rows // 5))))
    scores = _one_score(answer)
    return ModelAnswers(
        model=model,
        features=features,
        reads=features if features is not None else model.reads,
        rows=rows,
        answer=answer,
        classes=_classes(model, answer.prediction),
        scores=scores,
        probability=scores is not None and model.score_range == (0.0, 1.0),
        random=not _alike(answer, again),
        speed=speed,
    )


def _answer(model: Model, rows: Table) -> Answer:
    """Everything that it answers: predictions, scores, or both."""
    try:
        prediction = ask(model, rows, want_score=False, want_prediction=True).prediction
    except ModelError:
        return ask(model, rows, want_score=True, want_prediction=False)  # a model that gives only scores is fine
    try:
        scored = ask(model, rows, want_score=True, want_prediction=False)
    except ModelError:
        return Answer(prediction)
    return Answer(prediction, scored.score, scored.classes)


def _one_score(answer: Answer) -> NDArray[np.float64] | None:
    if answer.score is None or answer.score.ndim == 1:
        return answer.score
    return answer.score[:, 1] if answer.score.shape[1] == 2 else None


def _classes(model: Model, predictions: NDArray[Any] | None) -> tuple[Value, ...]:
    if model.classes:
        return model.classes
    if predictions is None:
        return ()
    values = _in_order({plain_value(value) for value in predictions})
    if predictions.dtype.kind == "f":
        coded = all(value == round(value) and 0 <= value < 10 for value in values)  # classes begin at 0 or 1
        return tuple(values) if coded else ()
    return tuple(values) if len(values) <= _MAX_CLASSES else ()


def _alike(first: Answer, again: Answer) -> bool:
    pairs = ((first.prediction, again.prediction), (first.score, again.score))
    return all(a is None or b is None or _equal(a[: len(b)], b) for a, b in pairs)


def _equal(first: NDArray[Any], again: NDArray[Any]) -> bool:
    """Whether answers are the same up to rounding, which may depend on the size of the batch."""
    if first.dtype.kind == "f":
        return bool(np.allclose(first, again, rtol=1e-5, atol=1e-8))
    return bool(np.all(first == again))


# The favourable answer -----------------------------------------------------------------------------------------------


def decision_of_model(answers: ModelAnswers, wanted: str | None, names: Sequence[str]) -> FavourableDecision:
    """The favourable answer of a model: the ``wanted`` one, or what the answers and the outcome's name suggest."""
    score = "score" if answers.probability else ""
    if answers.predictions is None:
        if answers.scores is None:
            raise UsageError(
                "the model gives a score for each of several classes and no prediction: wrap it in a function that "
                "gives one answer for each row"
            )
        return _at_least(answers.scores, "score", wanted, score)
    if not answers.classes:
        predicted = answers.predictions.astype(np.float64)
        return _at_least(predicted, "prediction", wanted, "", smaller=_is_charge(names))
    return _among(answers.classes, "prediction", wanted, names, score)


def decision_of_column(
    column: ColumnProfile, wanted: str | None, score: str, names: Sequence[str]
) -> FavourableDecision:
    """The favourable one of the decisions that a column holds."""
    spelled = "prediction" if column.name == "prediction" else name_text(column.name)
    if column.numeric and not column.few:
        return _at_least(column.numbers, spelled, wanted, score, smaller=_is_charge((column.name, *names)))
    if not column.counts or column.varieties > _MAX_DECISIONS:
        raise UsageError(
            f"expected a column of decisions, with a few different values or numbers, but {column.name!r} holds "
            f"{column.words()}: name another with --decision"
        )
    return _among(_in_order(column.counts), spelled, wanted, (column.name, *names), score)


def favourable_of(values: Sequence[Any], names: Sequence[str]) -> tuple[Any, str]:
    """The answer that people want, among the given ones, and the reason for the guess.

    Parameters
    ----------
    values
        The classes, at least one.
    names
        What the outcome and the decision are called: a name such as ``default`` makes 1 the answer that harms.
    """
    spelled = {value: plain_text(str(value).strip()).replace(" ", "_") for value in values if isinstance(value, str)}
    good = [value for value in values if spelled.get(value) in GOOD_VALUES or str(value).lstrip().startswith(">")]
    bad = [value for value in values if spelled.get(value) in BAD_VALUES or str(value).lstrip().startswith("<")]
    if len(good) == 1:
        return good[0], "the better one, judging by its name"
    others = [value for value in values if value not in bad]
    if bad and len(others) == 1:
        return others[0], "the other one is worse, judging by its name"
    ordered = _in_order(values)
    telling = next((name for name in names if _tone(name)), None)
    if len(values) == 2 and telling is not None and not spelled:
        if _tone(telling) < 0:
            return ordered[0], f"{telling} sounds harmful by its name, so the smaller one is better"
        return ordered[-1], f"{telling} sounds good by its name, so the larger one is better"
    return ordered[-1], "the larger one; this is a guess, so check it first"


def _tone(name: str) -> int:
    """1 for a name that means something good, -1 for something harmful, 0 for neither; the last such word decides."""
    tones = [1 if word in BENEFITS else -1 for word in words_in(name) if word in BENEFITS | HARMS]
    return tones[-1] if tones else 0


def _in_order(values: Iterable[Any]) -> list[Any]:
    """Numbers first, then texts, each in order."""
    return sorted(values, key=lambda value: (isinstance(value, str), value))


def _among(
    values: Sequence[Any], spelled: str, wanted: str | None, names: Sequence[str], score: str
) -> FavourableDecision:
    value, why = favourable_of(values, names) if wanted is None else (_value_meant(wanted, values), "you said so")
    text = value_text(value)
    return FavourableDecision(f"{spelled} == {text}", f"{spelled} != {text}", value, tuple(values), why, spelled, score)


def _value_meant(text: str, values: Sequence[Any]) -> Any:
    """The one of some values that a text on the command line means."""
    for value in values:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if text in (str(value), value_text(value)) or (is_number and _number(text) == value):
            return value
    listed = ", ".join(value_text(value) for value in values[:8])
    near = nearest(text, map(str, values))
    raise UsageError(f"expected --favourable as one of {listed}, but got {text!r}.{near}")


def _is_charge(names: Sequence[str]) -> bool:
    return any(has_word(name, CHARGES) for name in names)


def _at_least(
    numbers: NDArray[np.float64], spelled: str, wanted: str | None, score: str, *, smaller: bool = False
) -> FavourableDecision:
    """The decision for numbers, of which larger ones count as better; or ``smaller`` ones, where people pay them."""
    limit, why = _limit(numbers[np.isfinite(numbers)]) if wanted is None else (_limit_meant(wanted), "you said so")
    text = number_text(limit)
    if smaller and wanted is None:
        why = f"judging by its name it is what people pay, so less is better; {why}"
    better, worse = ("<=", ">") if smaller else (">=", "<")
    return FavourableDecision(f"{spelled} {better} {text}", f"{spelled} {worse} {text}", None, (), why, spelled, score)


def _limit(numbers: NDArray[np.float64]) -> tuple[float, str]:
    """A half for probabilities, else the median in a few digits; and the reason."""
    within = numbers.min() >= 0.0 and numbers.max() <= 1.0
    middle = float(f"{np.median(numbers):.2g}")
    if within and (middle == 0.5 or ((numbers >= 0.5).any() and (numbers < 0.5).any())):
        return 0.5, "it answers with numbers between 0 and 1, the larger half of which is taken to be better"
    return middle, (
        f"it answers with numbers, {numbers.min():.4g} to {numbers.max():.4g}, and about half of them are "
        "beyond this; put a limit here that matters to people, chosen without looking at the answers"
    )


def _limit_meant(wanted: str) -> float:
    limit = _number(wanted)
    if limit is None or not np.isfinite(limit):
        raise UsageError(
            f"expected --favourable as the number where it is favourable: answers are numbers, but got {wanted!r}"
        )
    return limit


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
