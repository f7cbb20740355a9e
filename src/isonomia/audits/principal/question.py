"""Principal fairness made concrete for a population and a model: values as numbers, and the subgroups that occur."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.verdicts import values_in
from isonomia.errors import DataError, SpecError, UsageError, nearest, no_names
from isonomia.evidence.strata.worlds import LinearAssumption, PrincipalEffect, TableShape, assume, definition_effects
from isonomia.models.protocol import Model
from isonomia.populations.protocol import Population, Wanted
from isonomia.populations.table import Table, distinct, plain_value
from isonomia.records.journal import Journal, NullJournal
from isonomia.spec.columns import missing, plain
from isonomia.spec.principal import PrincipalFairness
from isonomia.spec.text import to_text
from isonomia.spec.tree import Row, Value, columns_of


@dataclass(frozen=True, slots=True)
class Coding:
    """The values of a column, in order; a value's number is its position."""

    name: str  # what the column is called, for messages
    values: tuple[Value, ...]  # the values

    def codes(self, column: NDArray[Any]) -> NDArray[np.intp]:
        """Turn values into their numbers."""
        values = plain(column, self.name)
        refuse_missing(self.name, values)
        different, places = np.unique(values, return_inverse=True)
        numbers = {value: number for number, value in enumerate(self.values)}
        for value in different:
            if plain_value(value) not in numbers:
                listed = ", ".join(map(repr, self.values))
                raise DataError(f"expected {self.name} to be one of {listed}, but got {plain_value(value)!r}")
        return np.asarray([numbers[plain_value(value)] for value in different], dtype=np.intp)[places]


def refuse_missing(name: str, column: NDArray[Any]) -> None:
    """Refuse a column in which a value is missing."""
    gone = missing(plain(column, name))
    if gone.any():
        raise DataError(
            f"expected a value of {name} in every row, but it is missing in {int(gone.sum())} of {len(gone)} rows, "
            f"first in row {int(np.flatnonzero(gone)[0])}: drop these rows, or fill them in"
        )


def coding_of(
    name: str, columns: Iterable[NDArray[Any]], order: Sequence[Value] | None = None, *, least: int = 2
) -> Coding:
    """List the values that occur, ascending, or in the order given.

    Parameters
    ----------
    name
        What the column is called.
    columns
        One or more columns that share their values.
    order
        All values in another order.
    least
        How many values there must be.
    """
    occurring = distinct([plain(column, name) for column in columns], name)
    values = occurring if order is None else tuple(order)
    strange = [value for value in occurring if value not in values]
    if strange:
        raise DataError(f"expected every value of {name} in the order {list(values)!r}, but {strange[0]!r} occurs too")
    if len(values) < least:
        raise DataError(
            f"expected at least {least} values of {name}, but there are {list(values)!r}: nothing can be compared"
        )
    return Coding(name, values)


@dataclass(frozen=True, slots=True, eq=False)
class PrincipalQuestion:
    """The property with its values numbered from 0, and what counting a batch needs.

    Attributes
    ----------
    prop
        The property.
    attribute, prediction, outcome
        The values of each, in the order of their numbers.
    asks_model
        Whether predictions are the model's, or a column.
    constraints
        The property's assumptions, as rows over worlds.
    """

    prop: PrincipalFairness
    attribute: Coding
    prediction: Coding
    outcome: Coding
    asks_model: bool
    constraints: tuple[LinearAssumption, ...]

    @property
    def shape(self) -> TableShape:
        """How many values attribute, prediction and outcome have."""
        return TableShape(len(self.attribute.values), len(self.prediction.values), len(self.outcome.values))

    @property
    def effects(self) -> tuple[PrincipalEffect, ...]:
        """What must be zero, or within the margin."""
        return definition_effects(self.shape, self.prop.definition)

    @property
    def given(self) -> tuple[str, ...]:
        """The columns whose combinations are the subgroups."""
        return tuple(self.prop.given)

    @property
    def wanted(self) -> Wanted:
        """What the population must give; a model may read any column."""
        return Wanted(None if self.asks_model else (*self.prop.roles, *self.given))


def ask_about(
    prop: PrincipalFairness,
    population: Population,
    model: Model | None,
    journal: Journal = NullJournal(),  # noqa: B008  (it has no state)
) -> PrincipalQuestion:
    """Make a property concrete. All values are fixed here, before anything is drawn."""
    need_columns(prop, population, model)
    _need_streams(prop, population.streams)
    values = partial(values_in, population, journal=journal)
    attribute = _coding(prop, prop.attribute, values)
    outcome = _coding(prop, prop.outcome, values)
    prediction = _prediction(prop, values, model, outcome)
    shape = TableShape(len(attribute.values), len(prediction.values), len(outcome.values))
    constraints = tuple(
        row for words in prop.assumptions for row in assume(shape, words, labels_for(words, prediction, outcome))
    )
    return PrincipalQuestion(prop, attribute, prediction, outcome, model is not None, constraints)


def labels_for(words: str, prediction: Coding, outcome: Coding) -> tuple[tuple[Value, ...], tuple[Value, ...]] | None:
    """How an expression names the values: as they are if they are numbers or it quotes text, else as 0, 1, ..."""
    values = (*prediction.values, *outcome.values)
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return (prediction.values, outcome.values) if numbers or "'" in words or '"' in words else None


def need_columns(prop: PrincipalFairness, population: Population, model: Model | None) -> None:
    """Refuse a property that names columns that do not exist. No row is read."""
    if model is not None and prop.prediction != "prediction" and prop.prediction in population.names:
        raise UsageError(
            f"expected predictions from the model or from the column {prop.prediction!r}, but got both: leave one out",
            name="decision",
        )
    needed = [prop.attribute, prop.outcome, *prop.given]
    for name in needed if model is not None else [*needed, prop.prediction]:
        if name not in population.names:
            hint = " or give a model" if name == prop.prediction else ""
            known = ", ".join(map(repr, population.names[:12]))
            raise SpecError(
                f"there is no column {name!r}; the columns are {known}: name one of them{hint}."
                f"{nearest(name, population.names)}{no_names(population.names)}",
                name=name,
            )


def _need_streams(prop: PrincipalFairness, streams: Sequence[Row | None]) -> None:
    """Refuse streams by other columns than those compared; streams by the compared groups do no harm."""
    for row in streams:
        strange = set() if row is None else set(columns_of(row)) - {prop.attribute, *prop.given}
        if row is not None and strange:
            raise SpecError(
                f"expected streams by {', '.join((prop.attribute, *prop.given))} only, but one has the condition "
                f"{to_text(row)}: within it the attribute may not be as good as random. Add {sorted(strange)[0]!r} to "
                "given, or draw from all rows"
            )


def _coding(prop: PrincipalFairness, name: str, known: Callable[[str], tuple[Value, ...]]) -> Coding:
    values = tuple(prop.values[name]) if name in prop.values else known(name)
    if len(values) < 2:
        raise DataError(
            f"expected at least 2 values of {name}, but there are {list(values)!r}: nothing can be compared. Where "
            f"more are possible, list them: values={{{name!r}: [...]}}"
        )
    return Coding(name, values)


def _prediction(
    prop: PrincipalFairness, known: Callable[[str], tuple[Value, ...]], model: Model | None, outcome: Coding
) -> Coding:
    """Predictions have the outcome's values if they have no others: a model may never predict one of them."""
    if prop.prediction in prop.values:
        return _coding(prop, prop.prediction, known)
    values = () if model is not None else known(prop.prediction)
    if set(values) <= set(outcome.values):
        return Coding(prop.prediction, outcome.values)
    return _coding(prop, prop.prediction, known)


Key: TypeAlias = tuple[Value, ...]
"""A subgroup: its value of each column of ``given``."""

MOST_SUBGROUPS = 200
"""How many subgroups there may be; columns with more combinations are hardly a grouping."""


def sorted_into(table: Table, given: Sequence[str]) -> tuple[list[Key], NDArray[np.intp]]:
    """The subgroups that occur, in the order of their values, and for each row the number of its subgroup."""
    for name in given:
        refuse_missing(name, table.column(name))
    codings = [coding_of(name, [table.column(name)], least=1) for name in given]
    codes = [coding.codes(table.column(coding.name)) for coding in codings]
    places, first = np.zeros(table.rows, dtype=np.intp), np.zeros(1, dtype=np.intp)
    for coding, code in zip(codings, codes, strict=True):
        # Renumbered after each column: the number of possible combinations may not fit into 64 bits.
        both = places * len(coding.values) + code
        _, first, places = np.unique(both, return_index=True, return_inverse=True)
    values = [[coding.values[n] for n in code[first].tolist()] for coding, code in zip(codings, codes, strict=True)]
    keys: list[Key] = list(zip(*values, strict=True)) if values else [()]
    return keys, places.astype(np.intp)


def subgroups_in(table: Table, given: tuple[str, ...]) -> tuple[Key, ...]:
    """The combinations of values that occur, in their order."""
    keys, _ = sorted_into(table, given)
    refuse_many(len(keys), given)
    return tuple(keys)


def refuse_many(number: int, given: tuple[str, ...]) -> None:
    """Refuse too many subgroups."""
    if number > MOST_SUBGROUPS:
        raise SpecError(
            f"expected at most {MOST_SUBGROUPS} subgroups, but {', '.join(map(repr, given))} have {number:,} "
            "combinations of values: leave a column out of given, or put its values into bands"
        )
