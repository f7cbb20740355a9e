"""Trying a suggestion on a few people: what cannot be checked is commented out, with the reason.

A draft must run as it is. Whether a property can be checked on some data depends on much, such as what a model does
with missing values, so that the surest way to know is to try. What comes of the trial is not looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from isonomia.audits.audit_file.building import Permissions, property_of
from isonomia.audits.audit_file.drafting.suggestions import Suggestion
from isonomia.audits.audit_file.reading import recorded_audit_file
from isonomia.audits.check import Arranged, Options, arrange, carry_out
from isonomia.audits.rates.prepare import prepare
from isonomia.audits.rates.question import ask_about
from isonomia.audits.rates.request import Request
from isonomia.engine.observer import Silent
from isonomia.errors import IsonomiaError
from isonomia.models.protocol import Model
from isonomia.populations import Census, Sample
from isonomia.populations.table import Table

__all__ = ["tried"]

_BUDGET = 60
_DELTA = 0.001


def tried(
    suggestion: Suggestion,
    model: Model | None,
    rows: Table,
    interventions: Mapping[str, Any],
    *,
    random_model: bool,
) -> Suggestion:
    """The suggestion as it is where it can be checked, and otherwise commented out with what went wrong."""
    if not suggestion.active:
        return suggestion
    try:
        text = "\n".join(suggestion.lines())
        entry = recorded_audit_file("draft", text, {}).properties()[0]
        prop = property_of(entry, interventions, Permissions())
        options = Options(delta=_DELTA, budget=_BUDGET, seed=0, random_model=random_model)
        _carry_out(arrange(prop, model, Sample(rows), options))
    except IsonomiaError as error:
        return suggestion.doubted(f"it cannot be checked here: {_brief(str(error))}")
    return suggestion


def _carry_out(arranged: Arranged) -> None:
    """Check it; of rates, everything is prepared for draws, and then everybody is counted, which takes less time."""
    request = arranged.request
    if isinstance(request, Request):
        prepare(request, ask_about(request.prop, request.population, request.model, request.ranges))
        assert isinstance(request.population, Sample)
        arranged = replace(arranged, request=replace(request, population=Census(request.population.rows)))
    carry_out(arranged, Silent())


def _brief(message: str) -> str:
    line = " ".join(message.split("\n  ")[0].split())
    return line if len(line) <= 300 else f"{line[:297]}..."
