"""A property made concrete for a population and a model: which columns and rows to read, and what to refuse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal as OneOf
from typing import Protocol

from isonomia.audits.people import refuse_absent_values, refuse_class
from isonomia.audits.protocol import Check
from isonomia.audits.rates.groups import GroupClaim, conjunction, groups_of
from isonomia.audits.verdicts import values_in
from isonomia.errors import SpecError, UsageError, nearest
from isonomia.models.protocol import Model, asks_each, model_names, named_models
from isonomia.populations.causal import Abducted
from isonomia.populations.finite import Census, Sample
from isonomia.populations.protocol import Population, Wanted, facts_of
from isonomia.populations.table import Table
from isonomia.records.journal import Journal, NullJournal
from isonomia.spec.analysis import range_of
from isonomia.spec.columns import example, kind_of, plain
from isonomia.spec.evaluate import Batch, truth
from isonomia.spec.property import Property, expand
from isonomia.spec.text import number_text, to_text, value_text
from isonomia.spec.tree import (
    Column,
    Compare,
    Comparison,
    Constant,
    Formula,
    Leaf,
    Literal,
    Mean,
    Member,
    Missing,
    Other,
    Output,
    Rate,
    Row,
    RowJunction,
    Value,
    Variable,
    Version,
    check_names,
    children,
    columns_of,
    leaves_of,
    nodes,
    outputs_of,
    versions_of,
)


class OrderedCategories(Protocol):
    """A table or a population that knows which order was declared for a column of categories."""

    def order(self, name: str, /) -> tuple[str, ...]:
        """The categories in their order; empty where none is declared."""


def refuse_classes(prop: Property, model: Model) -> None:
    """Refuse a prediction that the model never makes: it is more often misspelled than meant."""
    several = named_models(model)
    for node in nodes(prop.formula):
        if several is None:
            refuse_class(node, model)
            continue
        for name in {part.model for part in children(node) if isinstance(part, Output)}:
            refuse_class(node, several.models[str(name)])


def check_predicted_values(values: Sequence[Literal | Variable], seen: Sequence[Value], name: str) -> None:
    """Refuse values of which none can be a prediction, going by predictions that were seen.

    A model may have a class that it never predicts in a sample, so a value is refused only where it is of another sort
    than what the model gives: 0 or 1 where nothing is 0 or 1, as for labels 2 and 3 and for probabilities; a whole
    number where everything is a fraction; a text that is nearly one that it gives. A single answer that never changes
    is no evidence, unless it is a fraction; and where every answer is 0 or 1, both are possible.
    """
    items = [item for item in values if isinstance(item, Literal)]
    wanted = [item.value for item in items]
    if not items or not seen or any(value in seen for value in wanted):
        return
    texts = [value for value in seen if isinstance(value, str)]
    fractions = [value for value in seen if isinstance(value, float) and value != int(value)]
    hint = next((found for value in wanted if (found := nearest(str(value), texts))), "")
    yes_no = set(wanted) <= {0, 1} and not {0, 1} & set(seen) and (len(seen) > 1 or bool(fractions))
    whole = len(fractions) == len(seen) and all(not isinstance(value, str) and value == int(value) for value in wanted)
    if (yes_no and not texts) or whole or (hint and texts):
        listed = ", ".join(map(value_text, seen[:8])) + (", ..." if len(seen) > 8 else "")
        raise SpecError(
            f"expected a prediction that {name} gives, such as {listed}, but got {value_text(wanted[0])}, which it "
            f"never gave.{hint} Use one of its values, as in prediction >= 0.5, or give the model `classes_`",
            items[0].place,
            name=str(wanted[0]),
        )


def refuse_orders(prop: Property, people: OrderedCategories) -> None:
    """Refuse to order categories that have a declared order: text is compared by its letters."""
    for node in nodes(prop.formula):
        if not isinstance(node, Compare) or node.relation in {"==", "!="}:
            continue
        for side in (node.left, node.right):
            order = people.order(side.name) if isinstance(side, Column) else ()
            if order and isinstance(side, Column):
                raise SpecError(
                    f"{side.name!r} is a category with a declared order ({', '.join(order[:8])}), and "
                    f"{node.relation} compares text by its letters: list the values that you mean, "
                    f"{side.name} in {{...}}",
                    node.place or side.place,
                )


def refuse_kinds(prop: Property, people: Population) -> None:
    """Refuse what cannot be computed from the columns of a table in memory or in files, before the model is queried.

    Text is compared with text and has no mean; and a rate that is compared with a number above 1 was meant in percent.
    """
    for comparison in (node for node in nodes(prop.formula) if isinstance(node, Comparison)):
        sides = (comparison.first, *(side for _, side in comparison.rest))
        for rate, limit in (*pairwise(sides), *pairwise(reversed(sides))):
            if isinstance(rate, Rate) and isinstance(limit, Constant) and 1 < limit.value <= 100:
                percent = f"{number_text(limit.value)}%, or {number_text(limit.value / 100)}"
                message = f"a rate is at most 1, but it is compared with {number_text(limit.value)}: {percent}?"
                raise SpecError(message, limit.place or rate.place)
    people = people.people if isinstance(people, Abducted) else people
    if not isinstance(people, Sample | Census) or not (isinstance(people.rows, Table) or people.rows.in_files):
        return
    head = people.rows.slice(0, _HEAD) if isinstance(people.rows, Table) else next(people.rows.batches(size=_HEAD))
    for node in nodes(prop.formula):
        match node:
            case Compare(_, Column(version=None), Literal()) | Compare(_, Literal(), Column(version=None)):
                try:
                    _evaluated(node, head)
                except SpecError:  # the first rows may all be missing, and say nothing of the kind
                    _evaluated(node, people.rows if isinstance(people.rows, Table) else head)
            case Mean(term=Column(version=None) as column):
                values = plain(head.column(column.name), column.name)
                if kind_of(values) == "text":
                    share = f"P[{to_text(column)} == {example(values)}]"
                    raise SpecError(
                        f"`{column.name}` is text (for example {example(values)}), which has no mean: the share of a "
                        f"value is a rate, {share}",
                        column.place,
                        name=column.name,
                    )
            case _:
                pass


def _evaluated(node: Row, table: Table) -> None:
    truth(node, Batch(table.rows, {name: plain(table.column(name), name) for name in columns_of(node)}))


_HEAD = 100
"""Rows from which the kind of a column is inferred."""


MOST_GROUPS = 200
"""How many values a ``for`` may run over; a column with more is hardly a grouping."""


@dataclass(frozen=True, slots=True)
class VersionColumns:
    """What is read of one version of the people.

    Attributes
    ----------
    columns
        The table's columns that are named.
    prediction, score
        What the model is queried for.
    """

    columns: tuple[str, ...]
    prediction: bool
    score: bool

    @property
    def model(self) -> bool:
        """Whether the model is queried at all."""
        return self.prediction or self.score


@dataclass(frozen=True, slots=True)
class RatesQuestion:
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
    values
        For each column that a ``for`` runs over, the values that it speaks of.
    claims
        What is claimed of each group, where the formula claims something for every group.
    within
        Numbers that must lie in their range in every row of their group: see :class:`Property`.
    in_clusters
        Whether rows belong together, so that one sample is a cluster of them.
    """

    formula: Formula
    leaves: tuple[Leaf, ...]
    ranges: Mapping[Leaf, tuple[float, float]]
    asked: Mapping[Version | None, VersionColumns]
    values: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    claims: tuple[GroupClaim, ...] = ()
    within: tuple[Mean, ...] = ()
    in_clusters: bool = False

    @property
    def covered(self) -> tuple[tuple[str, Row], ...]:
        """For each column that a ``for`` runs over, the condition that its value is missing or one of those known."""
        return tuple((name, _known(Column(name), values)) for name, values in self.values.items())

    @property
    def wanted(self) -> Wanted:
        """What the population must give; a model may read any column.

        A second person is drawn as the first is, so both have every column that is read of either.
        """
        needed = {version: None if each.model else each.columns for version, each in self.asked.items()}
        if Other() in needed:
            own, other = needed[None], needed[Other()]
            needed[None] = None if own is None or other is None else tuple(dict.fromkeys((*own, *other)))
        return Wanted(needed[None], {version: names for version, names in needed.items() if version is not None})

    @property
    def counted(self) -> OneOf["people", "pairs", "clusters"]:
        """What one sample is, which is what a budget counts: a second person makes a pair."""
        if self.in_clusters:
            return "clusters"
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
    journal: Journal = NullJournal(),  # noqa: B008  (it has no state)
) -> RatesQuestion:
    """Make a property concrete; what is read of the population is kept in the journal."""
    check_names(prop.formula, population.names, model is not None, model_names(model))
    _refuse_unknown(declared, population.names)
    if model is not None:
        refuse_classes(prop, model)
    people = population.people if isinstance(population, Abducted) else population
    refuse_kinds(prop, people)
    if isinstance(people, Sample | Census):
        refuse_orders(prop, people)
    values = _Values(population, journal)
    claims = () if isinstance(prop.formula, Comparison) else groups_of(prop.formula, values)
    formula = conjunction(claims) if claims else expand(prop.formula, values)
    leaves = leaves_of(formula)
    # A model may be costly, so misspelled values are looked for first, even in a long table that is read in parts.
    read = people.row_order == "random" if isinstance(people, Sample) else model is not None
    refuse_absent_values(dict.fromkeys(leaf.given for leaf in leaves), population, read=read)
    score = model.score_range if model is not None else declared.get("score")
    ranges = {leaf: found for leaf in leaves if (found := _range(leaf, declared, score)) is not None}
    versions: tuple[Version | None, ...] = (None, *versions_of(formula))
    return RatesQuestion(
        formula,
        leaves,
        ranges,
        {version: _asked(prop.formula, formula, version, model) for version in versions},
        values.known,
        claims,
        prop.within,
        facts_of(population).clusters is not None,
    )


@dataclass(frozen=True, slots=True)
class _Values:
    """The values that each ``for`` runs over, as the population gives them; each column is read once."""

    population: Population
    journal: Journal
    known: dict[str, tuple[Value, ...]] = field(default_factory=dict)

    def __call__(self, column: Column) -> tuple[Value, ...]:
        if column.name not in self.known:
            values = self.known[column.name] = values_in(self.population, column.name, self.journal)
            if len(values) > MOST_GROUPS:
                raise SpecError(
                    f"expected a column with at most {MOST_GROUPS} values to run over, but {column.name!r} has "
                    f"{len(values):,}: group them first, or list those that matter, for g in {{'a', 'b'}}",
                    column.place,
                )
        return self.known[column.name]


def _asked(written: Formula, formula: Formula, version: Version | None, model: Model | None) -> VersionColumns:
    outputs = {output.name for output in outputs_of(formula, version)}
    columns = dict.fromkeys((*columns_of(written, version), *columns_of(formula, version)))
    if model is None:
        return VersionColumns(tuple(columns | dict.fromkeys(sorted(outputs))), prediction=False, score=False)
    if any(output.model is not None for output in outputs_of(formula, version)):
        return VersionColumns(tuple(columns), prediction=True, score=False)  # both, of each model: see NamedModels
    return VersionColumns(tuple(columns), "prediction" in outputs, "score" in outputs)


def _refuse_unknown(declared: Mapping[str, tuple[float, float]], known: Sequence[str]) -> None:
    """Refuse a range of an unknown column: such a promise would never be checked."""
    for name in declared:
        if name not in {"prediction", "score", *known}:
            raise UsageError(f"expected ranges of columns, but there is no column {name!r}.{nearest(name, known)}")


def need_ranges(question: RatesQuestion) -> None:
    """Make sure that every mean has a known range, without which no finite number of draws says anything."""
    for leaf in question.leaves:
        if leaf not in question.ranges:
            raise SpecError(
                f"the range of {to_text(leaf)} is not known, and without one a single rare person could move the mean "
                "by any amount. Write it into the property, E[... from 0 to 100 | ...], or declare the column's range "
                "with ranges={'column': (0, 100)}, --range column=0:100 on the command line.",
                leaf.place,
            )
        low, high = question.ranges[leaf]
        if max(abs(low), abs(high)) > LARGEST or 0 < high - low < 1 / LARGEST:
            raise SpecError(
                f"expected the range of {to_text(leaf)} within {-LARGEST:g} and {LARGEST:g}, and {1 / LARGEST:g} wide "
                f"or more, but it goes from {low:g} to {high:g}: its squares are too large for floats. Measure "
                "in other units.",
                leaf.place,
            )


LARGEST = 1e100
"""The largest absolute value in a range; bets square the ends, and multiply some."""


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


MOST_PAIRS = 2**26
"""The maximum number of pairs that are all counted; where there are more, pairs are drawn at random."""


def in_all(question: RatesQuestion, size: int | None) -> int:
    """How many people, or ordered pairs of people, a census of this size has."""
    assert size is not None, "only a population of a known size can be counted"
    return size * size if Other() in question.asked else size


def countable(question: RatesQuestion, size: int) -> bool:
    """Whether every row, or every pair, of a census of this size can be counted in a reasonable time."""
    return Other() not in question.asked or in_all(question, size) <= MOST_PAIRS


def rows_each(check: Check[Property], question: RatesQuestion) -> int:
    """How many rows one sample sends to the model: one for each version of a person that it needs."""
    if check.model is None:
        return 0
    return asks_each(check.model) * sum(each.model for each in question.asked.values())
