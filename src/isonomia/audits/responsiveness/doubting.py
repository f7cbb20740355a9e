"""Whether the model can give a target at all: one that is misspelt must not pass for an answer."""

from __future__ import annotations

from typing import Any

from isonomia.audits.responsiveness.bench import Bench
from isonomia.audits.responsiveness.counting import Counted
from isonomia.audits.responsiveness.members import table_of
from isonomia.audits.responsiveness.request import Request
from isonomia.engine.journal import Entry, once
from isonomia.errors import ModelError, UnreliableModelError, nearest
from isonomia.populations.columns import plain_value
from isonomia.spec.responsiveness import classes_named
from isonomia.spec.tree import Value

__all__ = ["doubt_about"]

_AT_ONCE = 10_000
"""People about whom the model is asked together."""
_SHOWN = 8
"""How many of the model's own answers are told."""


def doubt_about(request: Request, bench: Bench, counted: Counted) -> str:
    """Say why it cannot be told whether the model ever predicts the class that a target names; empty where it can.

    There is doubt where the model does not say its classes, and neither a point that was looked at nor anybody in the
    table has the class: then a claim about it may speak of nothing. Where everybody's prediction is 0 or 1, both are
    classes. A target that names no class, such as ``prediction < own``, cannot be misspelt.
    """
    reached = counted.successes.sum()
    if not counted.n.any() or 0 < reached < counted.n.sum():
        return ""
    named = classes_named(request.prop.condition, "==" if not reached else "!=")
    if not named:
        return ""
    seen = once(request.journal, "classes", lambda: _seen(request, bench, named))
    return "" if seen["known"] else _words(named, seen["predictions"])


def _seen(request: Request, bench: Bench, named: tuple[Value, ...]) -> Entry:
    """Whether one of some classes is one of the model's, and the predictions that were looked at to find out."""
    if request.model.classes:
        return {"known": True, "predictions": []}  # a class that is none of them was refused before
    table, asker, seen = table_of(request), bench.asker(), set[Any]()
    for first in range(0, table.rows, _AT_ONCE):
        some = table.slice(first, first + _AT_ONCE)
        try:
            given = asker(some, False, True).prediction
        except UnreliableModelError:
            raise
        except ModelError:
            continue  # about people whom the property is not about the model need not answer
        seen |= {plain_value(value) for value in (() if given is None else given)}
        if seen & set(named):
            return {"known": True, "predictions": []}
    yes_or_no = bool(seen) and (seen | set(named)) <= {0, 1}
    return {"known": yes_or_no, "predictions": [] if yes_or_no else sorted(seen, key=repr)[:_SHOWN]}


def _words(named: tuple[Value, ...], predictions: list[Value]) -> str:
    hint = nearest(str(named[0]), map(str, predictions))
    gives = ", ".join(map(repr, predictions)) or "nothing"
    return (
        f"no point and nobody as they are is predicted {' or '.join(map(repr, named))}, and the model does not say its "
        f"classes: is it misspelt? These people get {gives}.{hint} If it is right, let the model have `classes_`"
    )
