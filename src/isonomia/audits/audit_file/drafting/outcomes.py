"""Which column holds the outcome, which one a decision that was already made, and which answer people want."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isonomia.audits.audit_file.drafting.columns import Column
from isonomia.audits.audit_file.drafting.naming import has_word, plain, vocabulary, words_in
from isonomia.spec.tree import Value

__all__ = ["favourable_of", "is_sure_outcome", "likely_decision", "likely_outcome", "likely_score"]

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
