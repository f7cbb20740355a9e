"""Everybody of a census, batch by batch: each person once, or each ordered pair of people once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.rates.asking import Asks
from isonomia.audits.rates.counting import batch_of
from isonomia.audits.rates.needs import narrowed
from isonomia.audits.rates.question import Asked, Question
from isonomia.engine.seeds import root
from isonomia.populations.abducted import Abducted
from isonomia.populations.census import Census
from isonomia.populations.long_table import AT_ONCE as LONG_AT_ONCE
from isonomia.populations.long_table import LongTable
from isonomia.populations.people import people
from isonomia.populations.protocol import Population
from isonomia.spec.batch import Batch
from isonomia.spec.versions import Other, Version

__all__ = ["MOST_PAIRS", "batch_size", "census_of", "countable", "everybody", "in_all"]

AT_ONCE = 2**18
"""People, or pairs, in one batch."""

MOST_PAIRS = 2**26
"""Pairs that are counted; where there are more they are drawn at random."""


def census_of(population: Population) -> Census | None:
    """The census that a population is, with or without a causal model; ``None`` for every other kind."""
    people_of = population.people if isinstance(population, Abducted) else population
    return people_of if isinstance(people_of, Census) else None


def batch_size(population: Population) -> int:
    """How many people are looked at together: fewer of a table that is read as it goes, for the sake of memory."""
    census = census_of(population)
    return LONG_AT_ONCE if census is not None and isinstance(census.rows, LongTable) else AT_ONCE


def in_all(question: Question, size: int | None) -> int:
    """How many people, or ordered pairs of people, a census of this size has."""
    assert size is not None, "only a population of a known size can be counted"
    return size * size if Other() in question.asked else size


def countable(question: Question, size: int) -> bool:
    """Whether everybody, or every pair, of a census of this size can be counted in a reasonable time."""
    return Other() not in question.asked or in_all(question, size) <= MOST_PAIRS


def everybody(question: Question, asker: Asks | None, whole: Population) -> Iterator[tuple[int, Batch]]:
    """Go through a census: the number of the first person or pair, and a batch.

    The model is asked about each person once, also where everybody is paired with everybody, themselves included: a
    pair is two independent draws.
    """
    if Other() not in question.asked:
        yield from _one_by_one(question, asker, whole)
        return
    alone = _without_pairs(question)
    # So few that everybody can be paired with everybody fit into one batch.
    (_, together), size = next(_one_by_one(alone, asker, whole)), in_all(alone, whole.size)
    for start in range(0, size * size, AT_ONCE):
        pair = np.arange(start, min(start + AT_ONCE, size * size))
        first, second = _taken(together, pair // size), _taken(together, pair % size)
        others: dict[Version, Batch] = {**first.versions, Other(): second}
        yield start, replace(first, versions=others)


def _one_by_one(question: Question, asker: Asks | None, whole: Population) -> Iterator[tuple[int, Batch]]:
    model = None if asker is None else asker.model
    wanted = narrowed(question.wanted, question.asked[None].columns, model, whole.names)
    source, at_once = whole.open(root(0), wanted), batch_size(whole)
    for start in range(0, in_all(question, whole.size), at_once):
        drawn = people(source, wanted, start, at_once, np.random.default_rng(0), 0)
        yield start, batch_of(question, asker, drawn)


def _without_pairs(question: Question) -> Question:
    """The question that reads of each person what it reads of either of a pair."""
    asked = dict(question.asked)
    other, own = asked.pop(Other()), asked[None]
    columns = tuple(dict.fromkeys((*own.columns, *other.columns)))
    both: Mapping[Version | None, Asked] = {
        **asked,
        None: Asked(columns, own.prediction or other.prediction, own.score or other.score),
    }
    return replace(question, asked=both)


def _taken(batch: Batch, rows: NDArray[np.intp]) -> Batch:
    return Batch(
        len(rows),
        {name: column[rows] for name, column in batch.columns.items()},
        None if batch.prediction is None else batch.prediction[rows],
        None if batch.score is None else batch.score[rows],
        batch.classes,
        {version: _taken(other, rows) for version, other in batch.versions.items()},
    )
