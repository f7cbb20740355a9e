"""What a reader should know: what the answer rests on, why it stopped, and what could not be found out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isonomia.audits.rates.census import Counted
from isonomia.audits.rates.question import Question
from isonomia.audits.rates.request import Request
from isonomia.audits.rates.sampling import Progressed, Sampling
from isonomia.audits.stating import why_stopped
from isonomia.engine.loop import Outcome
from isonomia.errors import DataError
from isonomia.records.verdict import Expression, LeafRecord
from isonomia.spec.text import to_text
from isonomia.spec.tree import Leaf

__all__ = [
    "EVERYBODY",
    "ahead_of_intervals",
    "assumptions",
    "remarks_on_draws",
    "remarks_on_everybody",
    "why_counting_stopped",
    "zero_denominator",
]

EVERYBODY = "everybody was asked"


def assumptions(request: Request) -> tuple[str, ...]:
    """What the guarantee rests on, in words."""
    words = list(request.population.assumptions)
    if request.model is not None:
        words.append("the model gives the same answer for the same person")
    return tuple(words)


def why_counting_stopped(counted: Counted) -> str:
    """Why counting everybody ended, in words."""
    if counted.interrupted:
        return why_stopped("interrupted")
    return EVERYBODY if counted.answer is not None else "a group is empty"


def remarks_on_everybody(question: Question, counted: Counted) -> tuple[str, ...]:
    """What a reader should know of a census; nothing where it was interrupted."""
    if counted.interrupted:
        return ()
    return (*_nobody(counted.empty, counted.asked, question), *_never(counted.leaves))


def remarks_on_draws(
    request: Request, work: Sampling[Any], outcome: Outcome[Progressed[Any]], leaves: Sequence[LeafRecord]
) -> tuple[str, ...]:
    """What a reader should know of people who were drawn."""
    tallies = work.leaf_tallies(outcome.state)
    empty = tuple(leaf for leaf in work.question.leaves if tallies[leaf].n == 0)
    return (
        *getattr(request.population, "remarks", ()),
        *work.evidence.remarks,
        *_nobody(empty, outcome.samples, work.question),
        *_never(leaves),
        *_never_seen(work, outcome),
    )


def ahead_of_intervals(answer: bool | None, method: str, expressions: Sequence[Expression]) -> tuple[str, ...]:
    """Why a claim is decided whose interval still covers its threshold, where that is so."""
    if answer is None or method != "bets" or not any(item.low < item.threshold < item.high for item in expressions):
        return ()
    return (
        "the bets settle this one claim sooner than the intervals, which speak of every threshold at once, leave it",
    )


def zero_denominator(named: str, samples: int) -> DataError:
    """A ratio that has no value, since everybody was drawn and its denominator is zero."""
    return DataError(
        f"expected a denominator that is not zero, but {named} was 0 in all {samples:,} draws: the ratio has no value. "
        "Compare a difference instead, or multiply out: a >= 0.8 * b."
    )


def _nobody(empty: Sequence[Leaf], asked: int, question: Question) -> tuple[str, ...]:
    conditions = dict.fromkeys("everybody" if leaf.given is None else to_text(leaf.given) for leaf in empty)
    return tuple(
        f"nobody with {condition} appeared among {asked:,} {question.counted}, so nothing is known about them"
        for condition in conditions
    )


def _never(leaves: Sequence[LeafRecord]) -> tuple[str, ...]:
    """An event that never happens is more often misspelled than impossible."""
    silent = [leaf for leaf in leaves if leaf.n and leaf.estimate == 0 and leaf.text.startswith("P[")]
    return tuple(
        f"{leaf.text} was 0: nobody among {leaf.n:,} had the event; is its value spelled as the model gives it?"
        for leaf in silent
    )


def _never_seen(work: Sampling[Any], outcome: Outcome[Progressed[Any]]) -> tuple[str, ...]:
    if not work.zero_denominators(outcome.state):
        return ()
    return (f"{work.named_denominator(outcome.state)} was 0 in every draw so far, so the ratio may have no value",)
