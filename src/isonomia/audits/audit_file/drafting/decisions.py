"""What counts as the favourable answer, and how a formula speaks of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isonomia.audits.audit_file.drafting.asking import Asked
from isonomia.audits.audit_file.drafting.columns import Column
from isonomia.audits.audit_file.drafting.outcomes import favourable_of
from isonomia.errors import UsageError, nearest
from isonomia.spec.lexemes import name_text, number_text, value_text

__all__ = ["Decision", "decision_of_column", "decision_of_model", "value_named"]


@dataclass(frozen=True, slots=True)
class Decision:
    """The favourable answer.

    Attributes
    ----------
    event, opposite
        The condition that a person gets it, and that they do not, as a formula says it.
    value
        The answer itself; ``None`` where it is a range.
    values
        Every answer; empty for numbers.
    why
        What speaks for it.
    spelled
        How a formula speaks of the answer: ``prediction``, or a column.
    score
        How a formula speaks of a score between 0 and 1; empty where there is none.
    rising
        1 where a higher score is better for people, -1 where a lower one is, 0 where it is not known.
    """

    event: str
    opposite: str
    value: Any
    values: tuple[Any, ...]
    why: str
    spelled: str
    score: str
    rising: int


def decision_of_model(asked: Asked, given: str | None, names: Sequence[str]) -> Decision:
    """The favourable answer of a model, from what it answered.

    Parameters
    ----------
    asked
        What it answered.
    given
        The favourable answer, as the user wrote it.
    names
        What the outcome and the decision are called.
    """
    score = "score" if asked.probability else ""
    if asked.predictions is None:
        return _from(_numbers(asked.scores), "score", given, score)
    if not asked.classes:
        return _from(asked.predictions.astype(np.float64), "prediction", given, "")
    return _of_classes(asked.classes, "prediction", given, names, score)


def decision_of_column(column: Column, array: Any, given: str | None, score: str, names: Sequence[str]) -> Decision:
    """The favourable one of the decisions that a column holds."""
    spelled = "prediction" if column.name == "prediction" else name_text(column.name)
    if column.numeric and not column.few:
        return _from(array.astype(np.float64), spelled, given, score)
    if not column.counts or column.varieties > 50:
        raise UsageError(
            f"expected a column of decisions, with a few different values or numbers, but {column.name!r} holds "
            f"{column.words()}: name another with --decision"
        )
    ordered = sorted(column.counts, key=lambda value: (isinstance(value, str), value))
    return _of_classes(ordered, spelled, given, (column.name, *names), score)


def value_named(text: str, values: Sequence[Any], option: str) -> Any:
    """The one of some values that a text on the command line means.

    Raises
    ------
    UsageError
        Where it is none of them.
    """
    for value in values:
        if text == str(value) or text == value_text(value) or (_is_number(value) and _number(text) == value):
            return value
    told = ", ".join(value_text(value) for value in values[:8])
    raise UsageError(f"expected {option} as one of {told}, but {text!r} came.{nearest(text, list(map(str, values)))}")


def _of_classes(values: Sequence[Any], spelled: str, given: str | None, names: Sequence[str], score: str) -> Decision:
    value, why = (
        favourable_of(values, names) if given is None else (value_named(given, values, "--favourable"), "you said so")
    )
    text = value_text(value)
    ordered = list(values)
    rising = 0 if len(ordered) != 2 or not score else 1 if value == ordered[1] else -1
    return Decision(f"{spelled} == {text}", f"{spelled} != {text}", value, tuple(values), why, spelled, score, rising)


def _from(numbers: Any, spelled: str, given: str | None, score: str) -> Decision:
    """Numbers, of which the larger ones are taken for the better."""
    present = numbers[np.isfinite(numbers)]
    limit = _limit(present) if given is None else _limit_of(given)
    why = "you said so" if given is not None else _why(present, limit)
    text = number_text(limit)
    return Decision(f"{spelled} >= {text}", f"{spelled} < {text}", None, (), why, spelled, score, 1 if score else 0)


def _limit(numbers: Any) -> float:
    """A half for probabilities, else the median in a few digits."""
    middle = float(np.median(numbers))
    if _probabilities(numbers) and (numbers >= 0.5).any() and (numbers < 0.5).any():
        return 0.5
    return float(f"{middle:.2g}")


def _why(numbers: Any, limit: float) -> str:
    if limit == 0.5 and _probabilities(numbers):
        return "it answers with numbers between 0 and 1, of which the larger half is taken for the better"
    return (
        f"it answers with numbers, {numbers.min():.4g} to {numbers.max():.4g}, and about half of them are at least "
        "this; put a limit here that matters to people, chosen without looking at them"
    )


def _probabilities(numbers: Any) -> bool:
    return bool(numbers.min() >= 0.0 and numbers.max() <= 1.0)


def _limit_of(given: str) -> float:
    found = _number(given)
    if found is None or not np.isfinite(found):
        raise UsageError(
            f"expected --favourable as the least number that is favourable, since the answers are numbers, but "
            f"{given!r} came"
        )
    return found


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _numbers(scores: Any) -> Any:
    if scores is None:
        raise UsageError(
            "the model gives a score for each of several classes and no prediction: wrap it in a function that gives "
            "one answer for each row"
        )
    return scores
