"""Outcome, decision, favourable answer.

Which column holds the outcome, which one a decision that was already made, and which answer people want.

What counts as the favourable answer, and how a formula speaks of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isonomia.audits.audit_file.drafting.columns import Column, has_word, plain, vocabulary, words_in
from isonomia.audits.audit_file.drafting.model_answers import Asked
from isonomia.errors import UsageError, nearest
from isonomia.spec.text import name_text, number_text, value_text
from isonomia.spec.tree import Value

__all__ = [
    "Decision",
    "decision_of_column",
    "decision_of_model",
    "favourable_of",
    "is_sure_outcome",
    "likely_decision",
    "likely_outcome",
    "likely_score",
    "value_named",
]


_SURE = vocabulary(
    "target label outcome groundtruth ytrue ergebnis zielvariable resultado objetivo resultat esito etiqueta etichetta "
    "结果 標籤 标签 결과 результат"
)
_OUTCOMES = vocabulary(
    "y class klasse classe clase response good bad default defaults defaulted risk recid recidivism income fraud "
    "fraudulent churn churned approved approval accepted granted hired admitted passed survived readmitted decision "
    "result event repaid paid reoffended qualified graduated ausfall zuruckgezahlt pagado remboursé bestanden"
)
_PREDICTIONS = vocabulary("prediction predictions predicted predict pred yhat vorhersage prediccion previsao prevision")
_DECISIONS = vocabulary(
    "decision decisions decided approved approval accepted granted hired admitted rejected denied selected "
    "shortlisted invited promoted entscheidung entscheid decisione decisao contratado embauche eingestellt genehmigt "
    "决定 決定"
)
_HARMS = vocabulary(
    "bad default defaults defaulted risk risky recid recidivism reoffended reoffend fraud fraudulent churn churned "
    "late delinquent delinquency readmitted rejected denied refused arrest arrested jailed guilty failure failed "
    "dropout died death bankrupt bankruptcy charged violation toxic spam bot ausfall abgelehnt impago morosidad defaut"
)
_BENEFITS = vocabulary(
    "good approved approval accepted granted hired admitted passed survived repaid paid qualified graduated selected "
    "shortlisted invited promoted eligible income success"
)
_SCORES = vocabulary("score scores probability proba prob propensity punktzahl puntaje wahrscheinlichkeit")
_GOOD = vocabulary(
    "yes y true good approve approved accept accepted grant granted hire hired admit admitted pass passed positive "
    "repaid paid low lowrisk low_risk ok success successful graduate graduated select selected qualified eligible "
    "invited invite offer offered promoted ja gut genehmigt angenommen bestanden si oui bon accepte sim bom bueno "
    "aprobado aprovado ano tak да 是 有 通过 合格 はい 예"
)
_BAD = vocabulary(
    "no n false bad reject rejected deny denied refuse refused decline declined fail failed negative default defaulted "
    "high highrisk high_risk fraud fraudulent churn churned dropout recidivist nein schlecht abgelehnt non mauvais "
    "refuse nao ruim malo rechazado rejeitado ne nie нет 否 无 不合格 いいえ 아니오 bot spam toxic"
)
_ENOUGH = 3.0
"""A column whose name and place say as much as this is taken for the outcome."""


def likely_outcome(columns: Mapping[str, Column], reads: Sequence[str] | None, classes: Sequence[Value]) -> str | None:
    """The column that looks like what is predicted; ``None`` where none does.

    Its name, its place at the end, and values that are the model's own classes speak for it; that the model reads it
    speaks against it.
    """
    last = list(columns)[-1:]
    points = {
        name: _points(column, name in last, classes)
        for name, column in columns.items()
        if name not in (reads or ()) and not column.identifier and column.varieties > 1 and not is_answer(name)
    }
    best = max(points, key=lambda name: points[name], default=None)
    return best if best is not None and points[best] >= _ENOUGH else None


def _points(column: Column, last: bool, classes: Sequence[Value]) -> float:
    known = 3.0 if is_sure_outcome(column.name) else 2.0 if has_word(column.name, _OUTCOMES) else 0.0
    match = 2.0 if len(classes) > 1 and column.counts and set(column.counts) <= set(classes) else 0.0
    return known + match + (1.0 if last else 0.0)


def is_sure_outcome(name: str) -> bool:
    """Whether a name as a whole is a usual one for outcomes."""
    return "".join(words_in(name)) in _SURE


def is_answer(name: str) -> bool:
    """Whether a column's name is that of a model's answer."""
    return has_word(name, _PREDICTIONS) or has_word(name, _SCORES)


def likely_decision(columns: Mapping[str, Column]) -> str | None:
    """The column with predictions or decisions that were already made; ``None`` where none looks like it."""
    if "prediction" in columns:
        return "prediction"
    usable = [name for name, column in columns.items() if column.varieties > 1 and not column.identifier]
    for words in (_PREDICTIONS, _DECISIONS):
        found = [name for name in usable if has_word(name, words) and not has_word(name, _SCORES)]
        if found:
            return found[0]
    return None


def likely_score(columns: Mapping[str, Column]) -> str | None:
    """The column with scores between 0 and 1 that were already given."""
    scores = [
        name
        for name, column in columns.items()
        if column.numeric and column.low >= 0.0 and column.high <= 1.0 and not column.few and has_word(name, _SCORES)
    ]
    return scores[0] if scores else None


def favourable_of(values: Sequence[Any], names: Sequence[str]) -> tuple[Any, str]:
    """The answer that people want, of those that there are, and what speaks for it.

    Parameters
    ----------
    values
        The classes, at least one.
    names
        What the outcome and the decision are called: a name such as ``default`` makes 1 the answer that harms.
    """
    spelled = {value: plain(str(value).strip()).replace(" ", "_") for value in values if isinstance(value, str)}
    good = [value for value in values if spelled.get(value) in _GOOD or str(value).lstrip().startswith(">")]
    bad = [value for value in values if spelled.get(value) in _BAD or str(value).lstrip().startswith("<")]
    if len(good) == 1:
        return good[0], "by its name the better one"
    others = [value for value in values if value not in bad]
    if bad and len(others) == 1:
        return others[0], "the other one is by its name the worse"
    ordered = sorted(values, key=lambda value: (isinstance(value, str), value))
    telling = next((name for name in names if _tone(name)), None)
    if len(values) == 2 and telling is not None and not spelled:
        if _tone(telling) < 0:
            return ordered[0], f"{telling} is by its name something that harms, so that the smaller one is better"
        return ordered[-1], f"{telling} is by its name something good, so that the larger one is better"
    return ordered[-1], "the larger one; nothing else tells, so look at it first of all"


def _tone(name: str) -> int:
    """1 for what is good by its name, -1 for what harms, 0 for neither; of several words the last one says it."""
    tones = [1 if word in _BENEFITS else -1 for word in words_in(name) if word in _BENEFITS | _HARMS]
    return tones[-1] if tones else 0


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
