"""Worlds (the joint values of the potential predictions and outcomes) and the tables that can be observed of them.

Strata, effects within them, and the four definitions of fairness as linear equations over worlds.

Assumptions about worlds that narrow the bounds: by name, or as an expression over strata.

No table can confirm an assumption; a table may contradict one, and then no bounds exist.

An expression speaks of a person's potential values as columns: ``S0``, ``S1``, ... are the predictions and ``Y0``,
``Y1``, ... the outcomes under the attribute values 0, 1, ... The language is that of properties, restricted to what is
linear: ``P[S0 > S1 and Y0 > Y1] >= P[S0 < S1 and Y0 > Y1]``, ``P[Y0 > Y1] <= 0.05``, ``P[S1 == 1 | Y0 == 1] >= 0.3``.
Conditions are allowed where all probabilities of a comparison have the same one, since it can be multiplied out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isonomia.errors import DataError, SpecError, UsageError, nearest
from isonomia.evidence.normal_form import AllOf, AnyOf, Atom, Normal, as_fraction, is_linear, normal_form
from isonomia.spec.evaluate import Batch, numbers, truth
from isonomia.spec.parser import parse_formula
from isonomia.spec.text import to_text
from isonomia.spec.tree import Leaf, Mean, Quantity, Rate, Row, check_names, leaves_of

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Array = TypeVar("Array", bound=NDArray[Any])

MAX_WORLDS = 100_000
"""How many worlds a shape may have: the linear programs have a variable for each, and take minutes with more. A larger
shape is rejected, so this changes no verdict."""

SUM_TOLERANCE = 1e-9
"""How far from 1 the sum of an attribute value's probabilities may be, as with rounded input; they are then rescaled. A
cell below it counts as empty: no bound that depends on so small a number could be computed reliably. It can change an
answer about a known table by about as much; one person is never so small a share of fewer than 1e9 people."""


@dataclass(frozen=True, slots=True)
class TableShape:
    """How many values the attribute A, the prediction S and the outcome Y have. Values are counted from 0.

    A table of this shape is an array of shape ``(attributes, predictions, outcomes)``, and a distribution over worlds
    a vector of length ``worlds``.
    """

    attributes: int = 2
    predictions: int = 2
    outcomes: int = 2

    def __post_init__(self) -> None:
        for name, count in zip(("attributes", "predictions", "outcomes"), self.table, strict=True):
            if not isinstance(count, int | np.integer) or count < 2:
                raise UsageError(f"expected at least 2 {name}, but got {count!r}: with one value nothing can differ")
        if self.worlds > MAX_WORLDS:
            # A number of 200 digits says less than where it comes from.
            size = f"{self.worlds} worlds" if self.worlds < 1e9 else f"{self.cells}^{self.attributes} worlds"
            message = f"{self.attributes} attribute values with {self.cells} cells each make {size}"
            raise UsageError(
                f"expected at most {MAX_WORLDS} worlds, but {message}: put values into bands, or merge some"
            )

    @property
    def cells(self) -> int:
        """How many values the pair (S, Y) has; the pair (s, y) has number ``s * outcomes + y``."""
        return self.predictions * self.outcomes

    @property
    def worlds(self) -> int:
        """How many worlds there are."""
        return int(self.cells**self.attributes)

    @property
    def table(self) -> tuple[int, int, int]:
        """The shape of an observed table."""
        return (self.attributes, self.predictions, self.outcomes)


@lru_cache(maxsize=8)
def worlds(shape: TableShape) -> Integers:
    """List the worlds: entry ``[w, 0, a]`` is ``S(a)`` and ``[w, 1, a]`` is ``Y(a)`` in world ``w``.

    Worlds are in the order of the digits ``s_0 s_1 ... y_0 y_1 ...``, the last changing fastest. With two values each
    that is the paper's ``w_{s0 s1 y0 y1}`` read as a binary number.
    """
    digits = (shape.predictions,) * shape.attributes + (shape.outcomes,) * shape.attributes
    every = np.indices(digits).reshape(2, shape.attributes, shape.worlds).transpose(2, 0, 1)
    return _fixed(np.ascontiguousarray(every, dtype=np.intp))


def world_predictions(shape: TableShape, prediction: int, attribute: int) -> Floats:
    """1 in the worlds where ``S(attribute) == prediction``, else 0."""
    return np.asarray(worlds(shape)[:, 0, attribute] == prediction, dtype=np.float64)


@lru_cache(maxsize=8)
def observation(shape: TableShape) -> Floats:
    """Map worlds to observables: shape ``(attributes, cells, worlds)``.

    For a distribution ``w`` over worlds, ``observation(shape) @ w`` is ``P(S = s, Y = y | A = a)``, by consistency
    and because A is independent of the world (Assumption 1). Every world shows exactly one cell under each attribute
    value: each ``observation(shape)[a]`` has one 1 in every column.
    """
    every = worlds(shape)
    cell = every[:, 0] * shape.outcomes + every[:, 1]
    return _fixed(np.asarray(cell.T[:, None, :] == np.arange(shape.cells)[None, :, None], dtype=np.float64))


def _fixed(array: Array) -> Array:
    """Make an array read-only: it is cached and shared."""
    array.setflags(write=False)
    return array


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """``P(S = s, Y = y | A = a)``, with the shares ``P(A = a)``. Make it with :meth:`of` or :meth:`from_counts`.

    Attributes
    ----------
    probabilities
        Shape ``(attributes, predictions, outcomes)``; for each attribute value non-negative with sum 1.
    shares
        Shape ``(attributes,)``, non-negative with sum 1. No bound depends on them, only the cost of a repair.
    ends
        The numbers between which each probability lies, where only that is known: two arrays of the same shape. Bounds
        then cover all tables in between.
    """

    probabilities: Floats
    shares: Floats
    ends: tuple[Floats, Floats] | None = None

    @classmethod
    def of(cls, probabilities: ArrayLike, shares: ArrayLike | None = None) -> Observed:
        """Check probabilities; every attribute value is equally frequent where no shares are given."""
        table = checked_tables(probabilities)
        if table.ndim != 3:
            raise DataError(f"expected one table with 3 axes (attribute, prediction, outcome), but got {table.ndim}")
        even = np.full(table.shape[0], 1.0 / table.shape[0])
        parts = even if shares is None else np.asarray(shares, dtype=np.float64)
        if parts.shape != even.shape or not np.all(parts >= 0.0) or abs(parts.sum() - 1.0) > SUM_TOLERANCE:
            count = table.shape[0]
            raise DataError(f"expected shares of {count} attribute values, at least 0, with sum 1, but got {shares!r}")
        parts = parts / parts.sum()
        for array in (table, parts):
            array.setflags(write=False)
        return cls(table, parts)

    @classmethod
    def from_counts(cls, counts: ArrayLike) -> Observed:
        """Turn counts of shape ``(attributes, predictions, outcomes)`` into shares; no attribute value may be empty."""
        numbers = _numbers(counts)
        if numbers.ndim != 3 or not np.all(numbers >= 0.0):
            raise DataError(f"expected counts, at least 0, by attribute, prediction and outcome, but got {counts!r}")
        people = numbers.sum((1, 2))
        if not np.all(people > 0):
            index = int(np.argmin(people))
            raise DataError(f"attribute value {index} has no one: leave the value out, or merge subgroups")
        return cls.of(numbers / people[:, None, None], people / people.sum())

    @classmethod
    def between(cls, low: Floats, high: Floats) -> Observed:
        """A table each of whose probabilities is known to lie between two numbers.

        It needs no shares: no bound depends on them.
        """
        middle = (low + high) / 2
        table = cls.of(middle / middle.sum((1, 2), keepdims=True))
        if np.array_equal(low, high):
            return table
        return cls(np.where(low == high, low, table.probabilities), table.shares, (low, high))

    @property
    def shape(self) -> TableShape:
        """How many values the attribute, the prediction and the outcome have."""
        return TableShape(*self.probabilities.shape)


SMALL = 256
"""With up to this many worlds cells are not merged: it would cost more than it saves. Changes cost only."""


@dataclass(frozen=True, slots=True, eq=False)
class MergedCells:
    """The cells of each attribute value in classes, so that some rows over worlds depend on the classes alone.

    A distribution over worlds determines one over the merged worlds. Conversely, every distribution over these with the
    sums of a table as its cells is that of a distribution over worlds that produces the table: split each class as the
    table does, independently. So a linear program whose rows depend on the classes alone has the same value.

    Attributes
    ----------
    classes
        The class of each cell: shape ``(attributes, cells)``.
    shown
        The class of each merged world's cell under each attribute value: shape ``(attributes, merged worlds)``.
    representatives
        For each merged world the number of one of its worlds.
    """

    classes: Integers
    shown: Integers
    representatives: Integers

    @classmethod
    def of(cls, shape: TableShape, rows: Floats) -> MergedCells:
        """Merge the cells that no row tells apart: shape ``(rows, worlds)``."""
        digits = (shape.predictions,) * shape.attributes + (shape.outcomes,) * shape.attributes
        tensor = rows.reshape(-1, *digits)
        classes = np.zeros((shape.attributes, shape.cells), dtype=np.intp)
        for a in range(shape.attributes):
            cells = np.moveaxis(tensor, (1 + a, 1 + shape.attributes + a), (0, 1)).reshape(shape.cells, -1)
            known: dict[bytes, int] = {}
            # Adding 0 makes -0.0, which has other bytes, 0.0.
            classes[a] = [known.setdefault((cell + 0.0).tobytes(), len(known)) for cell in cells]
        every = worlds(shape)
        first = [np.unique(row, return_index=True)[1] for row in classes]
        cell = every[:, 0] * shape.outcomes + every[:, 1]
        chosen = np.all([np.isin(cell[:, a], first[a]) for a in range(shape.attributes)], axis=0)
        indices = np.flatnonzero(chosen)
        return cls(classes, np.stack([classes[a, cell[indices, a]] for a in range(shape.attributes)]), indices)

    @property
    def observation(self) -> Floats:
        """Map merged worlds to classes, as :func:`observation` does; some classes may be shown by no world."""
        numbers = np.arange(int(self.classes.max()) + 1)
        return np.asarray(self.shown[:, None, :] == numbers[None, :, None], dtype=np.float64)

    def sums(self, table: Floats) -> Floats:
        """The sums of a table of shape ``(attributes, cells)`` over each class."""
        summed = np.zeros((len(self.classes), int(self.classes.max()) + 1))
        for a, row in enumerate(self.classes):
            np.add.at(summed[a], row, table[a])
        return summed


def tally(shape: TableShape, attributes: ArrayLike, predictions: ArrayLike, outcomes: ArrayLike) -> NDArray[np.int64]:
    """Count people, given as numbers from 0 in each column: shape ``(attributes, predictions, outcomes)``."""
    columns = [np.asarray(column) for column in (attributes, predictions, outcomes)]
    counts = np.zeros(shape.table, dtype=np.int64)
    np.add.at(counts, tuple(columns), 1)
    return counts


def checked_tables(probabilities: ArrayLike) -> Floats:
    """Check tables of shape ``(..., attributes, predictions, outcomes)``, set tiny cells to 0, rescale to sum 1."""
    tables = _numbers(probabilities)
    if tables.ndim < 3 or min(tables.shape[-3:]) < 2:
        message = (
            f"expected shape (..., attributes, predictions, outcomes), each 2 or more, but got shape {tables.shape}"
        )
        raise DataError(f"{message}: with one attribute value there is nothing to compare")
    if not np.all(tables >= 0.0):
        index = tuple(int(i) for i in np.argwhere(tables < 0.0)[0])
        raise DataError(f"expected no negative probability, but got {tables[index]!r} at index {index}")
    sums = tables.sum((-2, -1))
    if not np.all(np.abs(sums - 1.0) <= SUM_TOLERANCE):
        index = tuple(int(i) for i in np.argwhere(np.abs(sums - 1.0) > SUM_TOLERANCE)[0])
        message = f"expected sum 1 for each attribute value, but the sum is {sums[index]!r} at index {index}"
        raise DataError(f"{message}: pass P(S = s, Y = y | A = a), or counts with Observed.from_counts")
    cleaned = np.where(tables < SUM_TOLERANCE, 0.0, tables)
    return np.asarray(cleaned / cleaned.sum((-2, -1), keepdims=True))


def _numbers(values: ArrayLike) -> Floats:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"expected a table of numbers, but got {values!r}") from error
    if not np.all(np.isfinite(numbers)):
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(numbers))[0])
        raise DataError(f"expected finite numbers, but got {numbers[index]!r} at index {index}: drop missing values")
    return numbers


Definition: TypeAlias = Literal[1, 2, 3, 4]


@dataclass(frozen=True, slots=True)
class Stratum:
    """The people whose potential outcomes ``(Y(0), Y(1), ...)`` form one of these patterns."""

    patterns: frozenset[tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class PrincipalEffect:
    """What the attribute does to a prediction within a stratum.

    Unnormalised it is ``tau' = P(S(attribute) = prediction, stratum) - P(S(reference) = prediction, stratum)``;
    normalised, ``tau``, it is divided by ``P(stratum)``.
    """

    stratum: Stratum
    attribute: int = 1
    reference: int = 0
    prediction: int = 1


def unaffected(shape: TableShape, outcome: int | None = None) -> Stratum:
    """The people whose outcome is the same under every attribute value: this outcome, or any if none is given."""
    outcomes = range(shape.outcomes) if outcome is None else (_known(outcome, shape.outcomes, "outcome"),)
    return Stratum(frozenset((y,) * shape.attributes for y in outcomes))


def everyone(shape: TableShape) -> Stratum:
    """All people."""
    return _where(shape, lambda _: True)


def outcome_under(shape: TableShape, outcome: int, attribute: int = 0) -> Stratum:
    """The people whose outcome would be this one under this attribute value."""
    _known(outcome, shape.outcomes, "outcome")
    _known(attribute, shape.attributes, "attribute")
    return _where(shape, lambda pattern: pattern[attribute] == outcome)


def stratum_row(shape: TableShape, stratum: Stratum) -> Floats:
    """1 in the worlds of the stratum, else 0: the row that gives the stratum's probability."""
    for pattern in stratum.patterns:
        if len(pattern) != shape.attributes or not all(0 <= y < shape.outcomes for y in pattern):
            ends = f"between 0 and {shape.outcomes - 1}"
            raise UsageError(f"expected patterns of {shape.attributes} outcomes {ends}, but got {pattern}")
    inside, places = np.zeros((shape.outcomes,) * shape.attributes), np.asarray(list(stratum.patterns), dtype=np.intp)
    inside[tuple(places.reshape(-1, shape.attributes).T)] = 1.0
    return np.asarray(inside[tuple(worlds(shape)[:, 1].T)])


def effect_row(shape: TableShape, effect: PrincipalEffect) -> Floats:
    """The row over worlds whose product with their probabilities is ``tau'``."""
    _known(effect.prediction, shape.predictions, "prediction")
    for value in (effect.attribute, effect.reference):
        _known(value, shape.attributes, "attribute")
    here = world_predictions(shape, effect.prediction, effect.attribute)
    there = world_predictions(shape, effect.prediction, effect.reference)
    return np.asarray((here - there) * stratum_row(shape, effect.stratum))


def definition_effects(shape: TableShape, definition: Definition) -> tuple[PrincipalEffect, ...]:
    """The effects that are all zero exactly where a world distribution is fair by one of the paper's definitions.

    Definition 1 asks that ``S(a)`` has the same distribution for every ``a`` within each stratum of people whose
    outcome is ``y`` whatever the attribute; 2 within their union; 3 over everyone; 4 within each stratum
    ``Y(0) = y``, ``y >= 1``, which for two outcomes is the paper's single stratum ``Y(0) = 1``.

    With more than two values, each distribution is compared with that under attribute value 0, for every prediction but
    0, whose probability follows from the others.
    """
    match definition:
        case 1:
            strata = [unaffected(shape, y) for y in range(shape.outcomes)]
        case 2:
            strata = [unaffected(shape)]
        case 3:
            strata = [everyone(shape)]
        case 4:
            strata = [outcome_under(shape, y) for y in range(1, shape.outcomes)]
        case _:
            raise UsageError(f"expected definition 1, 2, 3 or 4, but got {definition!r}")
    contrasts = product(strata, range(1, shape.attributes), range(1, shape.predictions))
    return tuple(PrincipalEffect(stratum, attribute, 0, prediction) for stratum, attribute, prediction in contrasts)


def fairness_rows(shape: TableShape, definition: Definition) -> Floats:
    """The equations of a definition: ``w`` is fair where ``fairness_rows(shape, definition) @ w == 0``."""
    return effect_rows(shape, definition_effects(shape, definition))


def effect_rows(shape: TableShape, effects: Sequence[PrincipalEffect]) -> Floats:
    """One row per effect; shape ``(effects, worlds)``, even if there are no effects."""
    return np.asarray([effect_row(shape, effect) for effect in effects]).reshape(len(effects), shape.worlds)


def _patterns(shape: TableShape) -> Iterable[tuple[int, ...]]:
    return product(range(shape.outcomes), repeat=shape.attributes)


def _where(shape: TableShape, belongs: Callable[[tuple[int, ...]], bool]) -> Stratum:
    return Stratum(frozenset(pattern for pattern in _patterns(shape) if belongs(pattern)))


def _known(value: int, count: int, name: str) -> int:
    if not 0 <= value < count:
        raise UsageError(f"expected {name} between 0 and {count - 1}, but got {value!r}")
    return value


Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class LinearAssumption:
    """An assumption as an inequality: ``row @ w <= bound`` for the probabilities ``w`` of the worlds."""

    row: Floats
    bound: float


def assume(
    shape: TableShape, words: str, labels: tuple[Sequence[Any], Sequence[Any]] | None = None
) -> tuple[LinearAssumption, ...]:
    """Make the inequalities of an assumption.

    Parameters
    ----------
    shape
        How many values attribute, prediction and outcome have.
    words
        A name in ``ASSUMPTIONS``, or an expression over ``S0``, ``S1``, ..., ``Y0``, ``Y1``, ...
    labels
        The values of the predictions and of the outcomes in an expression; by default, numbers from 0. Order
        comparisons such as ``S0 > S1`` need labels that are numbers.
    """
    if words in _NAMED:
        return tuple(LinearAssumption(row, 0.0) for row in _NAMED[words][1](worlds(shape)))
    columns = _columns(shape, labels)
    try:
        formula = parse_formula(words)
        check_names(formula, list(columns), has_model=False)
        form = normal_form(formula, {leaf: _range(leaf) for leaf in leaves_of(formula)})
    except SpecError as error:
        known = ", ".join(map(repr, ASSUMPTIONS))
        raise SpecError(
            f"{error}\nAn assumption is an expression over strata, or one of {known}.{nearest(words, ASSUMPTIONS)}"
        ) from error
    except TypeError as error:
        raise SpecError("an assumption has no `for`: write it out for each value") from error
    batch = Batch(shape.worlds, columns)
    return tuple(_linear(atom.quantity, batch) for atom in _atoms(form))


def assumption_rows(shape: TableShape, assumptions: Sequence[LinearAssumption]) -> tuple[Floats, Floats]:
    """All inequalities at once: a matrix of shape ``(assumptions, worlds)`` and its right-hand sides."""
    matrix = np.asarray([each.row for each in assumptions]).reshape(len(assumptions), shape.worlds)
    return matrix, np.asarray([each.bound for each in assumptions], dtype=float)


def _columns(shape: TableShape, labels: tuple[Sequence[Any], Sequence[Any]] | None) -> Mapping[str, NDArray[Any]]:
    predictions, outcomes = labels or (range(shape.predictions), range(shape.outcomes))
    for name, given, count in (("predictions", predictions, shape.predictions), ("outcomes", outcomes, shape.outcomes)):
        if len(given) != count:
            raise UsageError(f"expected labels of {count} {name}, but got {list(given)!r}")
    every = worlds(shape)
    columns = {f"S{a}": np.asarray(predictions)[every[:, 0, a]] for a in range(shape.attributes)}
    return columns | {f"Y{a}": np.asarray(outcomes)[every[:, 1, a]] for a in range(shape.attributes)}


def _range(leaf: Leaf) -> tuple[float, float]:
    match leaf:
        case Rate():
            return (0.0, 1.0)
        case Mean(low=low, high=high):
            return (-np.inf if low is None else low, np.inf if high is None else high)


def _atoms(form: Normal) -> Iterable[Atom]:
    match form:
        case Atom():
            yield form
        case AllOf(parts=parts):
            for part in parts:
                yield from _atoms(part)
        case AnyOf():
            message = "an assumption is one comparison or several joined by `and`: with `or` it is not convex"
            raise SpecError(f"{message}: take the union of the bounds of each case")


def _linear(quantity: Quantity, batch: Batch) -> LinearAssumption:
    """``quantity >= 0``, multiplied by the probability of the common condition."""
    polynomial = as_fraction(quantity)
    if polynomial.factors or not is_linear(polynomial.numerator):
        raise SpecError(f"expected a sum of multiples of probabilities, but got `{to_text(quantity)}`")
    terms = polynomial.numerator
    conditions = {leaf.given for monomial in terms for leaf in monomial}
    if len(conditions) > 1:
        message = f"the probabilities of `{to_text(quantity)}` have different conditions"
        raise SpecError(f"{message}: give all of them the same condition, or write P[event and condition]")
    given = _condition(next(iter(conditions), None), batch)
    row = sum((weight * (_term(key[0], batch) if key else 1.0) * given for key, weight in terms.items()), 0.0 * given)
    return LinearAssumption(-row, 0.0)


def _condition(given: Row | None, batch: Batch) -> Floats:
    return np.ones(batch.rows) if given is None else truth(given, batch).astype(np.float64)


def _term(leaf: Leaf, batch: Batch) -> Floats:
    match leaf:
        case Rate(event=event):
            return truth(event, batch).astype(np.float64)
        case Mean(term=term):
            return numbers(term, batch)


def _never(excluded: Booleans) -> list[Floats]:
    """Worlds that are excluded at any of the attribute values have probability zero."""
    return [np.asarray(excluded.any(axis=-1), dtype=np.float64)]


def _protected(every: NDArray[np.intp], sign: int) -> list[Floats]:
    """Among those whose outcome is better on one side, that side's prediction is, on balance, no worse."""
    rows = []
    for a in range(1, every.shape[2]):
        lead = np.sign(every[:, :, 0] - every[:, :, a]) * sign
        rows.append(-np.where(lead[:, 1] > 0, lead[:, 0], 0).astype(np.float64))
    return rows


_NAMED: dict[str, tuple[str, Callable[[NDArray[np.intp]], list[Floats]]]] = {
    "outcome never falls": (
        "monotonicity: no one's outcome is lower under a later attribute value, Y(0) <= Y(1) <= ...",
        lambda every: _never(np.diff(every[:, 1]) < 0),
    ),
    "outcome never rises": (
        "monotonicity: no one's outcome is higher under a later attribute value, Y(0) >= Y(1) >= ...",
        lambda every: _never(np.diff(every[:, 1]) > 0),
    ),
    "outcome never changes": (
        "the attribute affects no one's outcome",
        lambda every: _never(np.diff(every[:, 1]) != 0),
    ),
    "no one is harmed": (
        "no one's prediction is lower under another attribute value than under 0: S(a) >= S(0)",
        lambda every: _never(every[:, 0, 1:] < every[:, 0, :1]),
    ),
    "no one is favoured": (
        "no one's prediction is higher under another attribute value than under 0: S(a) <= S(0)",
        lambda every: _never(every[:, 0, 1:] > every[:, 0, :1]),
    ),
    "protect the reference": (
        "of the people whose outcome is higher under 0 than under a, at least as many have the higher prediction under "
        "0 as under a; for two values each w_1010 >= w_0110 in the order s0 s1 y0 y1",
        lambda every: _protected(every, 1),
    ),
    "protect the others": (
        "of the people whose outcome is higher under a than under 0, at least as many have the higher prediction under "
        "a as under 0",
        lambda every: _protected(every, -1),
    ),
}

ASSUMPTIONS: dict[str, str] = {name: words for name, (words, _) in _NAMED.items()}
"""The named assumptions, each with its meaning. Values are ordered by their numbers."""
