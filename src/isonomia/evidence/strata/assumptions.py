"""Assumptions about worlds that narrow the bounds: by name, or as an expression over strata.

No table can confirm an assumption; a table may contradict one, and then no bounds exist.

An expression speaks of a person's potential values as columns: ``S0``, ``S1``, ... are the predictions and ``Y0``,
``Y1``, ... the outcomes under the attribute values 0, 1, ... The language is that of properties, restricted to what is
linear: ``P[S0 > S1 and Y0 > Y1] >= P[S0 < S1 and Y0 > Y1]``, ``P[Y0 > Y1] <= 0.05``, ``P[S1 == 1 | Y0 == 1] >= 0.3``.
Conditions are allowed where all probabilities of a comparison have the same one, since it can be multiplied out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import SpecError, UsageError, nearest
from isonomia.evidence.normal_form import Atom, Every, Normal, Some, normal_form
from isonomia.evidence.polynomials import as_fraction, is_linear
from isonomia.evidence.strata.worlds import TableShape, worlds
from isonomia.spec.evaluate import Batch, numbers, truth
from isonomia.spec.parser import parse_formula
from isonomia.spec.text import to_text
from isonomia.spec.tree import Leaf, Mean, Quantity, Rate, Row
from isonomia.spec.walk import check_names, leaves_of

Floats = NDArray[np.float64]
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
        case Every(parts=parts):
            for part in parts:
                yield from _atoms(part)
        case Some():
            raise SpecError(
                "an assumption is one comparison or several joined by `and`: with `or` the possible worlds are not "
                "convex, and bounds over them are not a linear program. Take the union of the bounds of each case."
            )


def _linear(quantity: Quantity, batch: Batch) -> LinearAssumption:
    """``quantity >= 0``, multiplied by the probability of the common condition."""
    polynomial = as_fraction(quantity)
    if polynomial.factors or not is_linear(polynomial.numerator):
        raise SpecError(
            f"expected a sum of multiples of probabilities, but `{to_text(quantity)}` multiplies or divides them"
        )
    terms = polynomial.numerator
    conditions = {leaf.given for monomial in terms for leaf in monomial}
    if len(conditions) > 1:
        raise SpecError(
            f"the probabilities of `{to_text(quantity)}` have different conditions, so that it is not linear in the "
            "worlds: give all of them the same condition, or write P[event and condition] without one"
        )
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
        "monotonicity: nobody's outcome is lower under a later attribute value, Y(0) <= Y(1) <= ...",
        lambda every: _never(np.diff(every[:, 1]) < 0),
    ),
    "outcome never rises": (
        "monotonicity: nobody's outcome is higher under a later attribute value, Y(0) >= Y(1) >= ...",
        lambda every: _never(np.diff(every[:, 1]) > 0),
    ),
    "outcome never changes": (
        "the attribute affects nobody's outcome",
        lambda every: _never(np.diff(every[:, 1]) != 0),
    ),
    "no one is harmed": (
        "nobody's prediction is lower under another attribute value than under 0: S(a) >= S(0)",
        lambda every: _never(every[:, 0, 1:] < every[:, 0, :1]),
    ),
    "no one is favoured": (
        "nobody's prediction is higher under another attribute value than under 0: S(a) <= S(0)",
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
