"""A property made concrete for a population and a model: what to read, about whom, and what to refuse beforehand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any, Protocol
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.rates.groups import GroupClaim, conjunction, groups_of
from isonomia.audits.verdicts import values_in
from isonomia.engine.journal import Blank, Journal
from isonomia.errors import SpecError, UsageError, nearest
from isonomia.models.protocol import Model
from isonomia.models.wrappers import unwrap
from isonomia.populations.causal import Abducted
from isonomia.populations.finite import Census, Sample
from isonomia.populations.frames import distinct
from isonomia.populations.protocol import Population, Wanted, clusters_of
from isonomia.populations.table import Table
from isonomia.spec.analysis import range_of
from isonomia.spec.columns import example, kind_of, plain
from isonomia.spec.evaluate import Batch, truth
from isonomia.spec.expand import expand
from isonomia.spec.property import Property
from isonomia.spec.text import number_text, to_text, value_text
from isonomia.spec.tree import (
    Column,
    Compare,
    Comparison,
    Constant,
    Do,
    Formula,
    Leaf,
    Literal,
    Mean,
    Member,
    Missing,
    Node,
    Other,
    Output,
    Rate,
    Row,
    RowJunction,
    Value,
    Variable,
    Version,
    check_names,
    columns_of,
    leaves_of,
    nodes,
    outputs_of,
    versions_of,
)


class Ordered(Protocol):
    """A table or a population that knows which order was declared for a column of categories."""

    def order(self, name: str, /) -> tuple[str, ...]:
        """The categories in their order; empty where none is declared."""


def need_people(population: object) -> None:
    """Refuse a domain of inputs where a population of people is needed."""
    if not hasattr(population, "streams"):
        raise UsageError("expected people, but this population has inputs for k-safety properties (nomos, safety)")


def refuse_classes(prop: Property, model: Model) -> None:
    """Refuse a prediction that the model never makes: it is more often misspelled than meant."""
    for node in nodes(prop.formula):
        refuse_class(node, model)


def refuse_class(node: Node, model: Model) -> None:
    """Refuse a comparison of the prediction with a value that is not among the classes that the model states."""
    for item in predicted_values(node) if model.classes else ():
        if isinstance(item, Literal) and item.value not in model.classes:
            known = ", ".join(repr(label) for label in model.classes[:8])
            hint = nearest(str(item.value), [str(label) for label in model.classes])
            message = f"expected a class that {model.name} predicts, {known}, but got {item.value!r}.{hint}"
            raise SpecError(message, item.place, name=str(item.value))


def predicted_values(node: Node) -> tuple[Literal | Variable, ...]:
    """The values that a prediction is compared with."""
    match node:
        case Compare("==" | "!=", Output(name="prediction"), Literal() as value):
            return (value,)
        case Compare("==" | "!=", Literal() as value, Output(name="prediction")):
            return (value,)
        case Member(Output(name="prediction"), values):
            return values
        case _:
            return ()


def refuse_never_given(values: Sequence[Literal | Variable], seen: Sequence[Value], name: str) -> None:
    """Refuse values of which none can be a prediction, going by predictions that were seen.

    A model may have a class that it never predicts in a sample, so a value is refused only where it is of another sort
    than what the model gives: 0 or 1 where nothing is 0 or 1, as for labels 2 and 3 and for probabilities; a whole
    number where everything is a fraction; a text that is nearly one that it gives. A single answer that never changes
    tells nothing, unless it is a fraction; and where every answer is 0 or 1, both are possible.
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
            f"gave to nobody.{hint} Compare what it gives, as in prediction >= 0.5, or let the model have `classes_`",
            items[0].place,
            name=str(wanted[0]),
        )


def refuse_orders(prop: Property, people: Ordered) -> None:
    """Refuse to order categories that have a declared order: text is compared by its letters."""
    for node in nodes(prop.formula):
        if not isinstance(node, Compare) or node.relation in {"==", "!="}:
            continue
        for side in (node.left, node.right):
            order = people.order(side.name) if isinstance(side, Column) else ()
            if order and isinstance(side, Column):
                raise SpecError(
                    f"{side.name!r} is a category with an order of its own ({', '.join(order[:8])}), and "
                    f"{node.relation} compares text by its letters: list the values that you mean, "
                    f"{side.name} in {{...}}",
                    node.place or side.place,
                )


def refuse_kinds(prop: Property, people: Population) -> None:
    """Refuse what cannot be computed from the columns of a table in memory, before the model is queried.

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
    if not isinstance(people, Sample | Census) or not isinstance(people.rows, Table):
        return
    head = people.rows.slice(0, min(_HEAD, people.rows.rows))
    for node in nodes(prop.formula):
        match node:
            case Compare(_, Column(version=None), Literal()) | Compare(_, Literal(), Column(version=None)):
                try:
                    _evaluated(node, head)
                except SpecError:
                    _evaluated(node, people.rows)  # the first rows may all be missing, and say nothing of the kind
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

SHOWN = 12
"""How many of a column's values a message lists, the nearest first."""


def refuse_absent_values(conditions: Iterable[Row | None], population: Population, *, read: bool = False) -> None:
    """Refuse a group whose value nobody has: it is more often misspelt than meant, and nothing is known about nobody.

    In a table in memory, a text that a condition compares a column with must occur in that column; so must a number
    that it must equal, or one of those that it may equal. Where all values of a column are known beforehand, from
    ``values=`` or as categories of a causal model, it must be one of them. A value that was declared, with ``values=``
    or as a category of the table's column, is not a mistake: the verdict is *undecided* where it turns on it. Where
    draws have no end, a value that was not declared may still come; where it does not, that is *undecided* too.

    A table that is read from files as needed is searched only with ``read``, after all of it was read and nobody was
    found.
    """
    people = population.people if isinstance(population, Abducted) else population
    by_name: dict[str, _KnownValues | None] = {}
    for condition in conditions:
        for node in () if condition is None else nodes(condition):
            for column, values, every in _compared_values(node):
                if column.name not in by_name:
                    by_name[column.name] = _KnownValues.of(people, column.name, read)
                known = by_name[column.name]
                absent = [item for item in values if known is not None and not known.has(item.value)]
                # Any text must be right; of several numbers one is enough, as in age in {17, 18, 19}.
                absent = absent if every or len(absent) == len(values) else []
                if absent and known is not None:
                    raise SpecError(known.message(column.name, absent[0].value), absent[0].place or column.place)


def _compared_values(node: Node) -> Iterator[tuple[Column, tuple[Literal, ...], bool]]:
    """A column of a person as they are, the values that it is compared with, and whether every one must occur."""
    match node:
        case Compare("==" | "!=", Column() as column, Literal() as value) if not isinstance(column.version, Do):
            items: tuple[Literal, ...] = (value,)
        case Compare("==" | "!=", Literal() as value, Column() as column) if not isinstance(column.version, Do):
            items = (value,)
        case Member(Column() as column, values) if not isinstance(column.version, Do):
            items = tuple(item for item in values if isinstance(item, Literal))
        case _:
            return
    text = tuple(item for item in items if isinstance(item.value, str))
    if text:
        yield column, text, True
    elif not isinstance(node, Compare) or node.relation == "==":
        yield column, items, False


@dataclass(frozen=True, slots=True)
class _KnownValues:
    """The values of a column that are known beforehand: the column itself, if in memory, and what is declared."""

    people: Population
    column: NDArray[Any] | None
    declared: tuple[Value, ...]

    @classmethod
    def of(cls, people: Population, name: str, read: bool) -> _KnownValues | None:
        """What is known of a column; ``None`` where nothing is, and where it holds times, which have many spellings."""
        declared: tuple[Value, ...] = tuple(getattr(people, "declared", {}).get(name, ()))
        if isinstance(people, Sample | Census) and isinstance(people.rows, Table):
            column = plain(people.rows.column(name), name)
            if kind_of(column) == "time":
                return None
            truths: tuple[Value, ...] = (False, True) if kind_of(column) == "truth" else ()
            return cls(people, column, (*declared, *people.rows.categories(name), *truths))
        if isinstance(people, Sample | Census):
            return cls(people, None, people.values(name)) if read else None
        if hasattr(people, "known_values"):
            declared = people.known_values(name)
        return cls(people, None, declared) if declared else None

    def has(self, value: Value) -> bool:
        """Whether a value is declared, or occurs; one of another kind than the column's is refused elsewhere."""
        if value in self.declared:
            return True
        if self.column is None:
            return False
        if isinstance(value, str) != (kind_of(self.column) == "text"):
            return True
        return bool(np.any(self.column == value))

    def message(self, name: str, value: Value) -> str:
        """The message that nobody has a value, with the nearest ones that occur, and what to do."""
        known = self.declared if self.column is None else distinct([self.column], name)
        near = _nearest_first(value, known)
        listed = ", ".join(map(value_text, near[:SHOWN])) + (", ..." if len(near) > SHOWN else "")
        hint = nearest(value, [item for item in known if isinstance(item, str)]) if isinstance(value, str) else ""
        return (
            f"expected a value that occurs in {name!r}, {listed or 'which has none'}, but got {value_text(value)}: "
            f"nobody has it, and a claim about nobody says nothing.{hint} If somebody could have it, declare it with "
            f"the population: values={{{name!r}: [...]}}"
        )


def _nearest_first(value: Value, known: Sequence[Value]) -> list[Value]:
    """Known values, the nearest first: numbers by their distance, text by similarity."""
    if isinstance(value, str):
        return sorted(known, key=lambda item: -SequenceMatcher(None, str(item).lower(), value.lower()).ratio())
    numbers = [item for item in known if not isinstance(item, str)]
    return sorted(numbers, key=lambda item: abs(float(item) - float(value)))


MOST_GROUPS = 200
"""How many values a ``for`` may run over; a column with more is hardly a grouping."""


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
    values
        For each column that a ``for`` runs over, the values that it speaks of.
    claims
        What is claimed of each group, where the formula claims something for every group.
    within
        Numbers that must lie in their range for everybody they are about: see :class:`Property`.
    in_clusters
        Whether rows belong together, so that one sample is a cluster of them.
    """

    formula: Formula
    leaves: tuple[Leaf, ...]
    ranges: Mapping[Leaf, tuple[float, float]]
    asked: Mapping[Version | None, Asked]
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
        needed = {version: None if asked.model else asked.columns for version, asked in self.asked.items()}
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
    journal: Journal = Blank(),  # noqa: B008  (it has no state)
) -> Question:
    """Make a property concrete; what is read of the population is kept in the journal."""
    check_names(prop.formula, population.names, model is not None)
    _refuse_unknown(declared, population.names)
    if model is not None and model.classes:
        refuse_classes(prop, model)
    people = population.people if isinstance(population, Abducted) else population
    refuse_kinds(prop, people)
    if isinstance(people, Sample | Census):
        refuse_orders(prop, people)
    values = _Values(population, journal)
    claims = groups_of(prop.formula, values)
    formula = conjunction(claims) if claims else expand(prop.formula, values)
    leaves = leaves_of(formula)
    refuse_absent_values(dict.fromkeys(leaf.given for leaf in leaves), population)
    score = model.score_range if model is not None else declared.get("score")
    ranges = {leaf: found for leaf in leaves if (found := _range(leaf, declared, score)) is not None}
    versions: tuple[Version | None, ...] = (None, *versions_of(formula))
    return Question(
        formula,
        leaves,
        ranges,
        {version: _asked(prop.formula, formula, version, model) for version in versions},
        values.known,
        claims,
        prop.within,
        clusters_of(population) is not None,
    )


@dataclass(frozen=True, slots=True)
class _Values:
    """The values that each ``for`` runs over, as the population gives them; each column is read once."""

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
    """Refuse a range of an unknown column: it would be a promise that nobody checks."""
    for name in declared:
        if name not in {"prediction", "score", *known}:
            raise UsageError(f"expected ranges of columns, but there is no column {name!r}.{nearest(name, known)}")


def need_ranges(question: Question) -> None:
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
                f"or more, but it goes from {low:g} to {high:g}: its squares are beyond what a computer holds. Measure "
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
"""The most pairs that are all counted; where there are more, pairs are drawn at random."""


def census_of(population: Population) -> Census | None:
    """The census that a population is, with or without a causal model; ``None`` for every other kind."""
    people_of = population.people if isinstance(population, Abducted) else population
    return people_of if isinstance(people_of, Census) else None


def in_all(question: Question, size: int | None) -> int:
    """How many people, or ordered pairs of people, a census of this size has."""
    assert size is not None, "only a population of a known size can be counted"
    return size * size if Other() in question.asked else size


def countable(question: Question, size: int) -> bool:
    """Whether everybody, or every pair, of a census of this size can be counted in a reasonable time."""
    return Other() not in question.asked or in_all(question, size) <= MOST_PAIRS


def read_by(model: Model) -> tuple[str, ...] | None:
    """The columns that a model reads; ``None`` where it does not say, and must be given all of them."""
    inner = unwrap(model)
    reads: Sequence[str] | None = getattr(inner, "reads", None)
    columns = getattr(inner, "features", None) if reads is None else reads
    return None if columns is None else tuple(columns)


def narrowed(wanted: Wanted, named: tuple[str, ...], model: Model | None, known: tuple[str, ...]) -> Wanted:
    """Leave out columns that neither the property names nor the model reads.

    Parameters
    ----------
    wanted
        What the question needs: all columns, where there is a model to query.
    named
        The columns that the property names.
    model
        The model; ``None`` without one.
    known
        The columns that exist. A model that reads others is given everything, and reports what is missing.
    """
    own = None if model is None else read_by(model)
    if wanted.columns is not None or own is None or not set(own) <= set(known):
        return wanted
    return replace(wanted, columns=tuple(name for name in known if name in {*own, *named}))
