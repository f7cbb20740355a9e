"""How a model answers in an audit: watched for changing its answers, or allowed to answer at random."""

from __future__ import annotations

from dataclasses import replace

from isonomia.audits.journaled import CACHE
from isonomia.engine.journal import Journal, once
from isonomia.models.cache import Cached
from isonomia.models.protocol import Model
from isonomia.models.recorded import RecordedModel
from isonomia.models.steady import Steady, steady
from isonomia.records.verdict import Verdict

__all__ = ["SAME", "stated", "watched"]

SAME = frozenset(
    {
        "the model gives the same answer for the same person",
        "the model answers the same row alike every time",
        "the model answers the same whenever it is asked about the same input",
    }
)
"""How the audits say that a model answers alike, which is not assumed of one that may answer at random."""

_RANDOM = (
    "the model may answer at random, as you said: its answers are independent of each other, and rates are over that "
    "randomness too"
)
_FINITE = "of a finite population, the verdict speaks of the answers that the model happened to give this time"


def watched(model: Model, random_model: bool) -> Model:
    """Watch a model for changing its answers, unless it may do so."""
    if not random_model:
        return steady(model)
    return model.around(model.model) if isinstance(model, Cached) else model


def stated(verdict: Verdict, model: Model | None, random_model: bool, journal: Journal) -> Verdict:
    """Say in a verdict what was allowed to the model, and what a cache saved, which is kept in the journal."""
    remarks, assumptions = verdict.remarks, verdict.assumptions
    if model is not None and random_model:
        kept = tuple(sentence for sentence in assumptions if sentence not in SAME)
        finite = verdict.method == "exact" or verdict.population.get("kind") == "census"
        assumptions = (*kept, _RANDOM, *((_FINITE,) if finite else ()))
    if isinstance(model, Cached) and verdict.stopped != "interrupted":
        remarks = (*remarks, once(journal, CACHE, lambda: {"remark": model.remark})["remark"])
    elif isinstance(model, Cached):
        remarks = (*remarks, model.remark)
    recorded = model.model if isinstance(model, Steady) else model
    if isinstance(recorded, RecordedModel) and recorded.remark is not None:
        remarks = (*remarks, recorded.remark)
    return replace(verdict, remarks=remarks, assumptions=assumptions)
