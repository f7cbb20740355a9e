"""Searching a table for subgroups that violate a property: all conjunctions of attribute values, without a hold-out.

The table is looked at once, so every subgroup has an exact p-value. Subgroups may overlap in any way, so a procedure
that allows for any dependence names those that violate. Membership of subgroups is taken
as given: sizes may be looked at, and a subgroup that is too small, or a longer description of the same people, is left
out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.arguments import checked_population, checked_property, outcomes_of, refuse_unclear_outcome
from isonomia.audits.rates.census import census_batches
from isonomia.audits.rates.question import RatesQuestion, VersionColumns, refuse_classes
from isonomia.engine.parameters import Budget
from isonomia.errors import SpecError, UsageError, nearest
from isonomia.evidence.binomial import half_space_p_values, lower_limit, upper_limit
from isonomia.evidence.exact import BoxIntervals, enclose
from isonomia.evidence.hypotheses import HalfSpace, Hypothesis, hypothesis_of
from isonomia.evidence.multiple import discovered, discovery_levels
from isonomia.evidence.normal_form import compared
from isonomia.models.adapt import adapt
from isonomia.models.session import ModelSession, open_session
from isonomia.populations.cells import cell_batch
from isonomia.populations.finite import Census, Sample
from isonomia.populations.protocol import refuse_clusters
from isonomia.records.display.view import sent_to_model
from isonomia.records.verdict import Expression
from isonomia.spec.analysis import conjuncts
from isonomia.spec.evaluate import truth
from isonomia.spec.property import Property
from isonomia.spec.text import name_text, to_text, value_text
from isonomia.spec.tree import (
    Column,
    Leaf,
    Rate,
    Row,
    RowJunction,
    RowNot,
    columns_of,
    leaves_of,
    outputs_of,
    versions_of,
)
from isonomia.wording import number

__all__ = ["FoundSubgroup", "Search", "search"]

Floats = NDArray[np.float64]

GROUP = "group"
"""The word that stands for the subgroup in a property: a condition that is true of its members."""

MOST_SUBGROUPS = 1_000_000
"""How many subgroups are searched at most; more would take minutes and gigabytes."""


@dataclass(frozen=True, slots=True)
class FoundSubgroup:
    """A subgroup that violates the property.

    Attributes
    ----------
    group
        The group, such as ``sex == 'Female', education == 'HS-grad'``.
    n
        How many people it has in the table, among those that the property speaks of.
    estimate
        The compared quantity.
    low, high
        The limits of its interval, on the side of the threshold on which the subgroup was named. Of all lower limits of
        a search the expected share of wrong ones is at most ``fdr``, and so it is of the upper ones; both together miss
        in an expected share of at most ``2 * fdr``.
    p_value
        The evidence: how probable a table at least as extreme would be if the property held for the subgroup; 0 for a
        census.
    """

    group: str
    n: int
    estimate: float | None
    low: float
    high: float
    p_value: float


@dataclass(frozen=True, slots=True)
class Search:
    """What a search found, the strongest evidence first. It can be iterated and indexed like a list.

    Attributes
    ----------
    property
        What must hold for every subgroup.
    found
        The subgroups that violate it. The expected share of wrong ones among them is at most ``fdr``.
    fdr
        The false-discovery rate.
    searched, people
        How many subgroups were looked at, and in how many people.
    queries
        How many rows were sent to the model; ``None`` without a model.
    """

    property: str
    found: tuple[FoundSubgroup, ...]
    fdr: float
    searched: int
    people: int
    queries: int | None = None

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[FoundSubgroup]:
        return iter(self.found)

    def __getitem__(self, index: int) -> FoundSubgroup:
        return self.found[index]

    def rows(self) -> list[dict[str, Any]]:
        """One mapping for each subgroup, as data-frame libraries take them."""
        return [asdict(item) for item in self.found]

    def __str__(self) -> str:
        return _as_text(self)


_SHOWN = 20
"""How many subgroups the text shows; the search has all."""


def _as_text(result: Search) -> str:
    coverage = f"; false-coverage rate of the intervals at most {number(min(2.0 * result.fdr, 1.0))}"
    risk = f" (false-discovery rate {number(result.fdr)}{coverage if result.found else ''})"
    risk = "" if all(item.p_value == 0 for item in result) else risk
    sent = "" if result.queries is None else f"; {sent_to_model(result.queries)}"
    lines = [
        result.property,
        f"  {len(result):,} of {result.searched:,} subgroups of {result.people:,} people violate it{risk}{sent}",
    ]
    table = [("subgroup", "people", "estimate", "interval", "p-value")]
    table += [
        (
            item.group,
            f"{item.n:,}",
            number(item.estimate),
            f"[{number(item.low)}, {number(item.high)}]",
            f"{item.p_value:.1e}" if item.p_value else "exact",
        )
        for item in result.found[:_SHOWN]
    ]
    widths = [max(len(row[k]) for row in table) for k in range(5)]
    if result.found:
        for name, *others in table:
            cells = "  ".join(f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True))
            lines.append(f"    {name:<{widths[0]}}  {cells}")
    more = len(result) - _SHOWN
    return "\n".join([*lines, *([f"    and {more:,} more"] if more > 0 else [])])


def search(
    population: Any,
    attributes: Sequence[str],
    property: Property | str,  # noqa: A002  (the word of the glossary)
    *,
    depth: int = 3,
    fdr: float = 0.1,
    model: Any = None,
    features: Sequence[str] | None = None,
    at_least: int = 30,
    budget: Budget | float | str | None = None,
) -> Search:
    """Find the subgroups of a table that violate a property.

    Parameters
    ----------
    population
        A :class:`Sample`, a :class:`Census`, or a table, which counts as a sample.
    attributes
        The columns whose values, alone and combined, define subgroups.
    property
        What must hold for each subgroup, where ``group`` is a condition that is true of its members:
        ``"P[hired | group] >= 0.3"``, ``"P[hired | group] / P[hired | not group] >= 0.8"``. It compares a rate of the
        subgroup with a number, or with the same rate of the people outside it.
    depth
        How many attributes a subgroup may name at most.
    fdr
        The expected share of subgroups that do not violate the property among those that are said to.
    model, features
        As for :func:`isonomia.check`.
    at_least
        The fewest people a subgroup must have, and must leave outside where it is compared with the others.
    budget
        The maximum number of rows sent to the model, ``"5000 queries"``, or of rows in all, or the longest time, as for
        :func:`isonomia.check`. Every row is needed: a table with more rows is refused before the first is sent.

    Returns
    -------
    Search
        The subgroups, the strongest evidence first. Guarantee: if the rows are independent draws, and their number was
        fixed in advance, the expected share of wrong ones is at most ``fdr``, however the subgroups overlap. Not
        implied: that a subgroup that is not named has the property. A census is counted, and nothing can be wrong.

    Examples
    --------
    >>> import isonomia as iso
    >>> people = {"sex": ["F", "M"] * 500, "age": ["old", "old", "young", "young"] * 250, "hired": [1, 1, 0, 1] * 250}
    >>> found = iso.groups.search(iso.Sample(people), ["sex", "age"], "P[hired | group] >= 0.5", depth=2)
    >>> [item.group for item in found]
    ["sex == 'F', age == 'young'"]
    """
    people = _finite(population)
    names = _checked(people, attributes, depth, fdr, at_least)
    prop = checked_property(property)
    claim = _Claim.of(prop)
    session: ModelSession | None = None
    if model is not None:
        adapted, outcomes = adapt(model, features), outcomes_of(prop)
        refuse_unclear_outcome(adapted, [prop], (*outcomes, *names, GROUP))
        session = open_session(adapted, withheld=outcomes, watched=False)
    with Budget.of(budget).for_all(session, people.rows.rows, "a search of groups") as meter:
        table = _read(people, claim, names, session)
    parts = [
        part for size in range(1, depth + 1) for chosen in combinations(names, size) for part in table.parts(chosen)
    ]
    subgroups = _distinct(parts, at_least, claim.outside)
    if not subgroups:
        raise UsageError(
            f"expected subgroups of at least {at_least:,} people, but all are smaller: name other attributes, or lower "
            "at_least"
        )
    named = _named(subgroups, claim, fdr, table.people, exact=isinstance(people, Census))
    return replace(named, queries=None if session is None else meter.rows)


# ---------------------------------------------------------------------------------------------------------- arguments


def _finite(population: Any) -> Sample | Census:
    people = checked_population(population)
    if not isinstance(people, Sample | Census):
        raise UsageError(f"expected a Sample or a Census to search, but got a {people.kind}")
    refuse_clusters(people, "a search of groups")
    return people


def _checked(
    people: Sample | Census, attributes: Sequence[str], depth: int, fdr: float, at_least: int
) -> tuple[str, ...]:
    names = (attributes,) if isinstance(attributes, str) else tuple(attributes)
    for name in names:
        if name not in people.names:
            raise UsageError(
                f"expected attributes among the columns, but {name!r} is not a column.{nearest(name, people.names)}"
            )
    if not names or len(set(names)) < len(names):
        raise UsageError(f"expected one attribute or several different ones, but got {attributes!r}")
    if isinstance(depth, bool) or not isinstance(depth, int) or depth < 1:
        raise UsageError(f"expected depth as a whole number of at least 1, but got depth={depth!r}")
    if not 0.0 < fdr < 1.0:
        raise UsageError(f"expected fdr, a share of wrong names, strictly between 0 and 1, but got fdr={fdr!r}")
    if isinstance(at_least, bool) or not isinstance(at_least, int) or at_least < 1:
        raise UsageError(f"expected at_least as a whole number of at least 1, but got at_least={at_least!r}")
    return names


@dataclass(frozen=True, slots=True)
class _Claim:
    """A property about a subgroup, taken apart.

    Attributes
    ----------
    text
        The property.
    inside, outside
        The rate of the subgroup, and that of the others; ``None`` where they are not spoken of.
    event, given
        What is counted in both, and among whom.
    hypothesis
        The rates for which the property holds.
    item
        The compared quantity with its relation and threshold.
    """

    text: str
    inside: Leaf
    outside: Leaf | None
    event: Row
    given: Row | None
    hypothesis: Hypothesis
    item: tuple[Any, str, float]

    @classmethod
    def of(cls, prop: Any) -> _Claim:
        items = list(compared(prop.formula)) if isinstance(prop, Property) else []
        leaves = leaves_of(prop.formula) if isinstance(prop, Property) else ()
        sides: dict[bool, list[tuple[Leaf, Row | None]]] = {True: [], False: []}
        for leaf in leaves:
            side, given = _side_of(leaf)
            sides[side].append((leaf, given))
        rates = [leaf for leaf in leaves if isinstance(leaf, Rate) and not versions_of(leaf)]
        alike = {(leaf.event, given) for side in sides.values() for leaf, given in side if isinstance(leaf, Rate)}
        if len(items) != 1 or len(rates) < len(leaves) or len(alike) != 1 or len(sides[True]) != 1 or len(leaves) > 2:
            raise SpecError(
                "expected one comparison of a rate of `group` with a number or with the same rate of `not group`, such "
                f"as P[hired | group] / P[hired | not group] >= 0.8, but got {prop}"
            )
        hypothesis = hypothesis_of(prop.formula, dict.fromkeys(leaves, (0.0, 1.0)), positive=True)
        if hypothesis is None:
            raise SpecError(f"expected a comparison that is linear in the rates, but got {prop}")
        ((event, given),) = alike
        outside = sides[False][0][0] if sides[False] else None
        return cls(str(prop), sides[True][0][0], outside, event, given, hypothesis, items[0])


def _side_of(leaf: Leaf) -> tuple[bool, Row | None]:
    """Whether a rate is that of the subgroup, and what else its condition says."""
    parts, member = conjuncts(leaf.given), Column(GROUP)
    sides = [True for part in parts if part == member] + [False for part in parts if part == RowNot(member)]
    others = tuple(part for part in parts if part not in {member, RowNot(member)})
    if len(sides) != 1 or any(GROUP in columns_of(part) for part in others):
        raise SpecError(
            f"expected a rate of `group` or of `not group`, but got {to_text(leaf)}: write P[... | group], and add "
            "conditions with `and`",
            leaf.place,
        )
    given = None if not others else others[0] if len(others) == 1 else RowJunction("and", others)
    return sides[0], given


# ----------------------------------------------------------------------------------------------------------- counting


@dataclass(frozen=True, slots=True)
class _Part:
    """The subgroups that some attributes define: their values, and how many people and events each has."""

    names: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    codes: NDArray[np.intp]
    n: NDArray[np.intp]
    events: NDArray[np.intp]
    largest: NDArray[np.intp]
    whole: tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Coded:
    """The people whom the property speaks of: each attribute as whole numbers, and who had the event.

    A missing value has the number -1: it belongs to no subgroup of its attribute. ``times`` says how many people each
    entry is.
    """

    codes: Mapping[str, NDArray[np.intp]]
    labels: Mapping[str, tuple[str, ...]]
    event: NDArray[np.bool_]
    times: NDArray[np.int64]
    sizes: dict[tuple[str, ...], NDArray[np.intp]] = field(default_factory=dict)

    @property
    def people(self) -> int:
        return int(self.times.sum())

    def parts(self, names: tuple[str, ...]) -> Iterator[_Part]:
        """Count the subgroups of some attributes."""
        shape = tuple(len(self.labels[name]) for name in names)
        if np.prod(shape, dtype=float) > MOST_SUBGROUPS:
            raise UsageError(
                f"expected attributes with fewer values: {', '.join(names)} make more than {MOST_SUBGROUPS:,} subgroups"
            )
        columns = [self.codes[name] for name in names]
        known = np.logical_and.reduce([column >= 0 for column in columns])
        flat = np.ravel_multi_index(tuple(column[known] for column in columns), shape)
        times, event = self.times[known], self.event[known]
        n = np.bincount(flat, times, minlength=int(np.prod(shape))).astype(np.intp)
        events = np.bincount(flat[event], times[event], minlength=len(n)).astype(np.intp)
        self.sizes[names] = n.reshape(shape)
        yield _Part(
            names,
            tuple(self.labels[name] for name in names),
            np.arange(len(n)),
            n,
            events,
            self._larger(names, shape),
            (self.people, int(self.times[self.event].sum())),
        )

    def _larger(self, names: tuple[str, ...], shape: tuple[int, ...]) -> NDArray[np.intp]:
        """For each subgroup, the smallest size among those that name one attribute fewer; all rows at depth 1."""
        least = np.full(shape, self.people if len(names) == 1 else np.iinfo(np.intp).max)
        for axis in range(len(names) if len(names) > 1 else 0):
            fewer = self.sizes[names[:axis] + names[axis + 1 :]]
            least = np.minimum(least, np.expand_dims(fewer, axis))
        return least.ravel()


def _read(people: Sample | Census, claim: _Claim, names: tuple[str, ...], model: ModelSession | None) -> _Coded:
    """Read the table once: which rows are in the population, which have the event, and the attributes of all."""
    spoken = [row for row in (claim.event, claim.given) if row is not None]
    outputs = {output.name for row in spoken for output in outputs_of(row)}
    columns = tuple(dict.fromkeys((*names, *(name for row in spoken for name in columns_of(row)))))
    if model is None:
        columns = tuple(dict.fromkeys((*columns, *sorted(outputs))))
    elif model.classes:
        refuse_classes(Property(_formula_of(claim)), model)
    _refuse_unknown(columns, people)
    needed = VersionColumns(
        columns, model is not None and "prediction" in outputs, model is not None and "score" in outputs
    )
    question = RatesQuestion(_formula_of(claim), (claim.inside,), {}, {None: needed})
    values: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
    events: list[NDArray[np.bool_]] = []
    times: list[NDArray[np.int64]] = []
    cells = cell_batch(people.rows, spoken, by=names) if model is None else None
    rows = ((batch, None) for _, batch in census_batches(question, model, Census(people.rows)))
    try:
        for batch, n in rows if cells is None else [(cells.batch, cells.n)]:
            chosen = np.ones(batch.rows, dtype=bool) if claim.given is None else truth(claim.given, batch)
            events.append(truth(claim.event, batch)[chosen])
            times.append(np.ones(len(events[-1]), dtype=np.int64) if n is None else n[chosen])
            for name in names:
                values[name].append(batch.columns[name][chosen])
    finally:
        if model is not None:
            model.close()
    codes, labels = {}, {}
    for name in names:
        codes[name], labels[name] = _coded(np.concatenate(values[name]))
    return _Coded(codes, labels, np.concatenate(events), np.concatenate(times))


def _formula_of(claim: _Claim) -> Any:
    from isonomia.spec.tree import Comparison, Constant

    return Comparison(Rate(claim.event, claim.given), ((">=", Constant(0.0)),))


def _refuse_unknown(columns: Sequence[str], people: Sample | Census) -> None:
    for name in columns:
        if name not in people.names:
            raise SpecError(f"there is no column {name!r}.{nearest(name, people.names)}", name=name)


def _coded(column: NDArray[Any]) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    """A column as whole numbers and what they stand for; -1 where the value is missing."""
    missing = np.asarray([value is None or value != value for value in column.tolist()], dtype=bool)
    different, inverse = np.unique(column[~missing], return_inverse=True)
    codes = np.full(len(column), -1, dtype=np.intp)
    codes[~missing] = inverse.reshape(-1)
    return codes, tuple(value_text(value) for value in different.tolist())


# ------------------------------------------------------------------------------------------------------------- naming


@dataclass(frozen=True, slots=True)
class _Counted:
    """One subgroup: what it is called, and how many people and events are inside and outside of it."""

    part: _Part
    code: int
    n: tuple[int, int]
    events: tuple[int, int]

    @property
    def group(self) -> str:
        shape = tuple(len(labels) for labels in self.part.labels)
        values = np.unravel_index(self.code, shape)
        pairs = zip(self.part.names, self.part.labels, values, strict=True)
        return ", ".join(f"{name_text(name)} == {labels[int(value)]}" for name, labels, value in pairs)


def _distinct(parts: Sequence[_Part], at_least: int, outside: Leaf | None) -> list[_Counted]:
    """The subgroups that are large enough, and are not the same people as one with fewer attributes."""
    subgroups = []
    for part in parts:
        n, events = part.whole
        large = (part.n >= at_least) & (part.n < part.largest)
        if outside is not None:
            large &= n - part.n >= at_least
        for code in np.flatnonzero(large):
            inside, happened = int(part.n[code]), int(part.events[code])
            subgroups.append(_Counted(part, int(code), (inside, n - inside), (happened, events - happened)))
    return subgroups


def _named(kept: Sequence[_Counted], claim: _Claim, fdr: float, people: int, *, exact: bool) -> Search:
    n, events = np.asarray([item.n for item in kept]), np.asarray([item.events for item in kept])
    if exact:
        p_values = np.asarray([0.0 if violated else 1.0 for violated in _violated(n, events, claim)])
        named = p_values == 0.0
    else:
        # A probability may be too small for a double; 0 would mean that there is no risk at all.
        levels = discovery_levels(fdr, len(kept))
        p_values = np.maximum(_p_values(n, events, claim, (levels[0], levels[-1])), 1e-300)
        named = discovered(p_values, fdr)
    order = [int(index) for index in np.lexsort((-n[:, 0], p_values)) if named[index]]
    # The risk at which the last one was named, for the intervals.
    risk = float(discovery_levels(fdr, len(kept))[max(len(order), 1) - 1])
    violating = tuple(_subgroup(kept[k], claim, float(p_values[k]), None if exact else risk) for k in order)
    return Search(claim.text, violating, fdr, len(kept), people)


def _p_values(n: Floats, events: Floats, claim: _Claim, between: tuple[float, float]) -> Floats:
    """P-values against the property: the largest over its polytopes, each by Bonferroni over its half-spaces."""
    pieces = []
    for polytope in claim.hypothesis.polytopes:
        sides = [_against(half_space, n, events, claim, between) for half_space in polytope.half_spaces]
        pieces.append(np.minimum(len(sides) * np.min(sides, axis=0), 1.0) if sides else np.ones(len(n)))
    return np.max(pieces, axis=0) if pieces else np.zeros(len(n))


def _against(half_space: HalfSpace, n: Floats, events: Floats, claim: _Claim, between: tuple[float, float]) -> Floats:
    terms = dict(half_space.coefficients)
    factors = (terms.get(claim.inside, 0.0), 0.0 if claim.outside is None else terms.get(claim.outside, 0.0))
    return half_space_p_values(events, n, factors, half_space.bound, between=between)


def _violated(n: Floats, events: Floats, claim: _Claim) -> list[bool]:
    rates = events / np.maximum(n, 1)
    points = [
        {claim.inside: inside} | ({} if claim.outside is None else {claim.outside: outside})
        for inside, outside in rates.tolist()
    ]
    return [not claim.hypothesis.contains(point) for point in points]


def _subgroup(item: _Counted, claim: _Claim, p_value: float, risk: float | None) -> FoundSubgroup:
    quantity, relation, threshold = claim.item
    leaves = [leaf for leaf in (claim.inside, claim.outside) if leaf is not None]
    point = {leaf: (x / max(m, 1),) * 2 for leaf, x, m in zip(leaves, item.events, item.n, strict=False)}
    low, high = _range_of(quantity, point)
    estimate = 0.5 * (low + high) if np.isfinite(low) and np.isfinite(high) else None
    if risk is not None:
        each = min(risk / (2 * len(leaves)), 0.5)
        box = {
            leaf: (float(lower_limit(x, m, each)), float(upper_limit(x, m, each)))
            for leaf, x, m in zip(leaves, item.events, item.n, strict=False)
        }
        low, high = _range_of(quantity, box)
    shown = Expression("", relation, threshold, estimate, low, high).agreeing(False)
    return FoundSubgroup(item.group, item.n[0], estimate, shown.low, shown.high, p_value)


def _range_of(quantity: Any, box: Mapping[Leaf, tuple[float, float]]) -> tuple[float, float]:
    value = enclose(
        quantity, {leaf: BoxIntervals(np.asarray([low]), np.asarray([high])) for leaf, (low, high) in box.items()}
    )
    return float(value.low[0]), float(value.high[0])
