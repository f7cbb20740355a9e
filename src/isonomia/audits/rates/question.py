"""The question: a property made concrete for a population and a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal as OneOf

from isonomia.audits.journaled import values_in
from isonomia.audits.rates.refusals import refuse_classes, refuse_orders
from isonomia.engine.journal import Blank, Journal
from isonomia.errors import SpecError, UsageError, nearest
from isonomia.models.protocol import Model
from isonomia.populations.abducted import Abducted
from isonomia.populations.census import Census
from isonomia.populations.protocol import Population, Wanted
from isonomia.populations.sample import Sample
from isonomia.spec.expand import expand
from isonomia.spec.names import check_names, columns_of, leaves_of, outputs_of, versions_of
from isonomia.spec.property import Property
from isonomia.spec.ranges import range_of
from isonomia.spec.text import to_text
from isonomia.spec.tree import Column, Formula, Leaf, Literal, Member, Missing, Rate, Row, RowJunction, Value
from isonomia.spec.versions import Other, Version

__all__ = ["Asked", "Question", "ask_about", "need_ranges"]


MOST_GROUPS = 200
"""How many values a ``for`` may run over; a column with more of them is hardly a grouping."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is read of one version of the people.

    Attributes
    ----------
    columns
        The table's columns that are named.
    prediction, score
        What the model is asked for.
    """

    columns: tuple[str, ...]
    prediction: bool
    score: bool

    @property
    def model(self) -> bool:
        """Whether the model is asked at all."""
        return self.prediction or self.score


@dataclass(frozen=True, slots=True)
class Question:
    """A formula without quantifiers, and what evaluating it on a batch needs.

    Attributes
    ----------
    formula
        The claim.
    leaves
        Its distinct leaves, in order of appearance.
    ranges
        The lowest and highest possible value of each leaf; leaves without a known range are absent.
    asked
        What is read of the people as they are, under ``None``, and of every other version of them.
    covered
        For each column that a ``for`` runs over, its name and the condition that its value is missing or one of those
        known beforehand.
    """

    formula: Formula
    leaves: tuple[Leaf, ...]
    ranges: Mapping[Leaf, tuple[float, float]]
    asked: Mapping[Version | None, Asked]
    covered: tuple[tuple[str, Row], ...]

    @property
    def wanted(self) -> Wanted:
        """What the population must give; a model may read any column.

        A second person is drawn as the first is, so both have every column that is read of either.
        """
        needed = {version: None if asked.model else asked.columns for version, asked in self.asked.items()}
        if Other() in needed:
            own, other = needed[None], needed[Other()]
            needed[None] = None if own is None or other is None else tuple(dict.fromkeys((*own, *other)))
        return Wanted(needed[None], {version: names for version, names in needed.items() if version is not None})

    @property
    def counted(self) -> OneOf["people", "pairs"]:
        """What is asked about, and what a budget counts: a second person makes a pair."""
        return "pairs" if Other() in self.asked else "people"

    @property
    def groups(self) -> tuple[Row | None, ...]:
        """The conditions of the leaves, each once."""
        return tuple(dict.fromkeys(leaf.given for leaf in self.leaves))


def ask_about(
    prop: Property,
    population: Population,
    model: Model | None,
    declared: Mapping[str, tuple[float, float]],
    journal: Journal = Blank(),  # noqa: B008  (it has no state)
) -> Question:
    """Make a property concrete; what is read of the population is kept in the journal.

    Raises
    ------
    SpecError
        Where the property names something that is not there.
    UsageError
        Where the range of something is declared that is not there.
    """
    check_names(prop.formula, population.names, model is not None)
    _refuse_unknown(declared, population.names)
    if model is not None and model.classes:
        refuse_classes(prop, model)
    people = population.people if isinstance(population, Abducted) else population
    if isinstance(people, Sample | Census):
        refuse_orders(prop, people)
    values = _Values(population, journal)
    formula = expand(prop.formula, values)
    leaves = leaves_of(formula)
    score = model.score_range if model is not None else declared.get("score")
    ranges = {leaf: found for leaf in leaves if (found := _range(leaf, declared, score)) is not None}
    versions: tuple[Version | None, ...] = (None, *versions_of(formula))
    return Question(
        formula,
        leaves,
        ranges,
        {version: _asked(prop.formula, formula, version, model) for version in versions},
        tuple((name, _known(Column(name), found)) for name, found in values.known.items()),
    )


@dataclass(frozen=True, slots=True)
class _Values:
    """The values that each ``for`` runs over, as the population gives them, each column looked at once."""

    population: Population
    journal: Journal
    known: dict[str, tuple[Value, ...]] = field(default_factory=dict)

    def __call__(self, column: Column) -> tuple[Value, ...]:
        if column.name not in self.known:
            found = self.known[column.name] = values_in(self.population, column.name, self.journal)
            if len(found) > MOST_GROUPS:
                raise SpecError(
                    f"expected a column with at most {MOST_GROUPS} values to run over, but {column.name!r} has "
                    f"{len(found):,}: group them first, or list those that matter, for g in {{'a', 'b'}}",
                    column.place,
                )
        return self.known[column.name]


def _asked(written: Formula, formula: Formula, version: Version | None, model: Model | None) -> Asked:
    outputs = {output.name for output in outputs_of(formula, version)}
    columns = dict.fromkeys((*columns_of(written, version), *columns_of(formula, version)))
    if model is None:
        return Asked(tuple(columns | dict.fromkeys(sorted(outputs))), prediction=False, score=False)
    return Asked(tuple(columns), "prediction" in outputs, "score" in outputs)


def _refuse_unknown(declared: Mapping[str, tuple[float, float]], known: Sequence[str]) -> None:
    """A range of a misspelt column would be a promise that nobody checks."""
    for name in declared:
        if name not in {"prediction", "score", *known}:
            raise UsageError(f"expected ranges of columns, but there is no column {name!r}.{nearest(name, known)}")


def need_ranges(question: Question) -> None:
    """Make sure that every mean has a known range, without which no finite number of draws says anything.

    Raises
    ------
    SpecError
        With three ways of stating one.
    """
    for leaf in question.leaves:
        if leaf not in question.ranges:
            raise SpecError(
                f"the range of {to_text(leaf)} is not known, and without one a single rare person could move the mean "
                "by any amount. Write it into the property, E[... from 0 to 100 | ...], or declare the column's range "
                "with ranges={'column': (0, 100)}, --range column=0:100 on the command line.",
                leaf.place,
            )


def _range(
    leaf: Leaf, declared: Mapping[str, tuple[float, float]], score: tuple[float, float] | None
) -> tuple[float, float] | None:
    if isinstance(leaf, Rate):
        return 0.0, 1.0
    if leaf.low is not None and leaf.high is not None:
        return leaf.low, leaf.high
    return range_of(leaf.term, declared, score)


def _known(column: Column, values: tuple[Value, ...]) -> Row:
    return RowJunction("or", (Missing(column), Member(column, tuple(map(Literal, values)))))
