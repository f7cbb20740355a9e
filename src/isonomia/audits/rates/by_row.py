"""What each row said of each leaf: kept with the batches of a recorded run, and two runs joined row by row.

A recorded run of a sample keeps, next to the counts of a batch, the value of every leaf for every row: whether it is in
the leaf's group, and whether the event happened, or the number. That is neither the row nor the model's answer, and
takes about a third of a byte for a row and a rate. It stays in the store: no evidence file has it.

Two runs with one seed on one table use its rows in one order. So the rows that both used are the first ones, up to
where the run that stopped earlier did, and each of them is a draw of a pair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.protocol import Check
from isonomia.audits.rates.counting import BatchReader
from isonomia.audits.rates.question import RatesQuestion
from isonomia.errors import RecordError
from isonomia.evidence.normal_form import compared
from isonomia.models.session import packed_array, unpacked_array
from isonomia.populations.finite import Sample
from isonomia.records.journal import BY_ROW, Entry, NullJournal
from isonomia.spec import tree
from isonomia.spec.analysis import disjoint
from isonomia.spec.columns import host
from isonomia.spec.property import Property
from isonomia.spec.text import to_text

Floats: TypeAlias = NDArray[np.float64]
_Node = TypeVar("_Node", bound=Any)

MOST_ROWS = 2**17
"""Of how many rows of a run this is kept; of later ones only counts are."""

MOST_LEAVES = 64
"""For how many leaves this is kept; a claim about more groups keeps counts only."""


def keeps_rows(check: Check[Property], question: RatesQuestion) -> bool:
    """Whether a check keeps what each row said: if it is recorded, and asks a model about the rows of a sample."""
    recorded = not isinstance(check.journal, NullJournal) and check.model is not None
    plain = isinstance(check.population, Sample) and set(question.asked) == {None}
    return recorded and plain and len(question.leaves) <= MOST_LEAVES


def leaf_values(reader: BatchReader, question: RatesQuestion) -> Floats:
    """The value of each leaf for each row of a batch: 0 or 1 for a rate, NaN outside of its group."""
    rows = reader.batch.rows
    values = np.full((len(question.leaves), rows), np.nan)
    for own, leaf in zip(values, question.leaves, strict=True):
        members = reader.members(leaf.given)
        chosen = np.ones(rows, dtype=bool) if members is None else np.asarray(host(members))
        own[chosen] = reader.numbers(leaf, chosen, question.ranges[leaf])
    return values


def rows_entry(values: Sequence[Floats], question: RatesQuestion, sizes: NDArray[Any] | None = None) -> Entry:
    """The values of a batch as its entry has them; ``sizes`` are those of its clusters, where rows belong together."""
    whole = np.concatenate(values, axis=1)
    if all(isinstance(leaf, tree.Rate) for leaf in question.leaves):
        whole = np.where(np.isnan(whole), 0, whole + 1).astype(np.uint8)
    clusters = {} if sizes is None else {"clusters": packed_array(sizes.astype(np.int64))}
    return {BY_ROW: {"values": packed_array(whole), **clusters}}


@dataclass(frozen=True, slots=True)
class RunRows:
    """The rows of a recorded check in the order of its draws: the values of its leaves, and the draw of each row."""

    values: Floats
    draws: NDArray[np.intp]

    @property
    def count(self) -> int:
        """How many draws there are."""
        return int(self.draws[-1]) + 1 if len(self.draws) else 0

    def first(self, draws: int) -> RunRows:
        """The first so many draws."""
        rows = int(np.searchsorted(self.draws, draws))
        return RunRows(self.values[:, :rows], self.draws[:rows])


def recorded_rows(entries: Mapping[str, Entry], leaves: int) -> RunRows:
    """The rows that the batches of a journal kept, up to the first batch that has counts only."""
    values: list[Floats] = [np.empty((leaves, 0))]
    sizes: list[NDArray[Any]] = [np.empty(0, dtype=np.int64)]
    while (entry := entries.get(f"batch {len(values) - 1}", {}).get(BY_ROW)) is not None:
        own = unpacked_array(entry["values"])
        each = unpacked_array(entry["clusters"]) if "clusters" in entry else np.ones(own.shape[-1], dtype=np.int64)
        if own.ndim != 2 or len(own) != leaves or each.sum() != own.shape[1]:
            raise RecordError(
                f"expected the values of {leaves} leaves for each row, but batch {len(values) - 1} differs"
            )
        values.append(np.where(own == 0, np.nan, own - 1.0) if own.dtype == np.uint8 else own)
        sizes.append(each)
    together = np.concatenate(sizes)
    return RunRows(np.concatenate(values, axis=1), np.repeat(np.arange(len(together)), together))


@dataclass(frozen=True)
class JoinedRuns:
    """Two runs of one check on the same draws, as a table with a column for each side, and what is claimed of it.

    Attributes
    ----------
    question
        The check's property, leaf by leaf.
    new, old
        The rows of both.
    """

    question: RatesQuestion
    new: RunRows
    old: RunRows

    def table(self) -> dict[str, NDArray[Any]]:
        """For every event or number, its value for both sides; and who is in which group."""
        columns: dict[str, NDArray[Any]] = {"draw": self.new.draws}
        for side, rows in (("new", self.new), ("old", self.old)):
            for leaf, values in zip(self.question.leaves, rows.values, strict=True):
                inside, name = ~np.isnan(values), _value_column(leaf, side)
                columns[name] = np.where(inside, values, columns.get(name, self.question.ranges[leaf][0]))
                if leaf.given is None:
                    continue
                if self._apart and not tree.outputs_of(leaf.given):
                    groups = columns.setdefault("group", np.full(len(inside), "", dtype=object))
                    groups[inside] = to_text(leaf.given)
                else:
                    columns[_group_column(leaf.given, side)] = inside.astype(int)
        return columns

    def same_groups(self) -> bool:
        """Whether both runs have the same rows in each group that does not depend on the model."""
        fixed = [leaf.given is None or not tree.outputs_of(leaf.given) for leaf in self.question.leaves]
        return bool((np.isnan(self.new.values) == np.isnan(self.old.values))[fixed].all())

    def changed(self) -> tuple[int, int] | None:
        """On how many rows the new run is worse and better, where a single rate or mean is compared."""
        items = list(compared(self.question.formula))
        leaf = items[0][0]
        if (
            len(items) != 1
            or not isinstance(leaf, tree.Rate | tree.Mean)
            or (leaf.given and tree.outputs_of(leaf.given))
        ):
            return None
        index, rising = self.question.leaves.index(leaf), items[0][1] in (">", ">=")
        up, down = (int(np.sum(sign * (self.new.values - self.old.values)[index] > 0)) for sign in (1, -1))
        return (down, up) if rising else (up, down)

    def claim(self, margin: float) -> Property:
        """That no compared quantity moved away from what is claimed of it by more than ``margin``."""
        if not _is_conjunction(self.question.formula):
            raise RecordError("it is not one comparison, nor several that must all hold")
        directions: dict[tree.Quantity, set[bool]] = {}
        for quantity, relation, _ in compared(self.question.formula):
            directions.setdefault(quantity, set()).add(relation in (">", ">="))
        parts = []
        for quantity, rising in directions.items():
            if len(rising) > 1:
                raise RecordError(f"{to_text(quantity)} has limits on both sides, so neither direction is worse")
            new, old = (self._of_side(quantity, side) for side in ("new", "old"))
            if new != old:
                limit: tuple[tree.Relation, float] = (">=", -margin) if True in rising else ("<=", margin)
                difference = tree.Arithmetic("-", new, old)
                parts.append(tree.Comparison(difference, ((limit[0], tree.Constant(limit[1])),)))
        if not parts:
            raise RecordError("what it compares does not depend on the model")
        return Property(parts[0] if len(parts) == 1 else tree.Junction("and", tuple(parts)))

    @property
    def _apart(self) -> bool:
        """Whether the groups that do not depend on the model exclude each other, so that one column tells them."""
        groups = {leaf.given for leaf in self.question.leaves if leaf.given and not tree.outputs_of(leaf.given)}
        return all(disjoint(one, other) for one, other in combinations(groups, 2))

    def _of_side(self, node: _Node, side: str) -> _Node:
        """A quantity of the property as one about the columns of a side."""
        if not isinstance(node, tree.Rate | tree.Mean):
            changed: _Node = tree.rebuilt(node, lambda each: self._of_side(each, side))
            return changed
        column = tree.Column(_value_column(node, side))
        given = None if node.given is None else self._in_group(node.given, side)
        if isinstance(node, tree.Mean):
            low, high = self.question.ranges[node]
            return replace(node, term=column, given=given, low=low, high=high)
        return replace(node, event=tree.Compare("==", column, tree.Literal(1)), given=given)

    def _in_group(self, given: tree.Row, side: str) -> tree.Row:
        if self._apart and not tree.outputs_of(given):
            return tree.Compare("==", tree.Column("group"), tree.Literal(to_text(given)))
        return tree.Compare("==", tree.Column(_group_column(given, side)), tree.Literal(1))


def _value_column(leaf: tree.Leaf, side: str) -> str:
    what = leaf.event if isinstance(leaf, tree.Rate) else leaf.term
    return f"{side if tree.outputs_of(what) else 'both'}: {to_text(what)}"


def _group_column(given: tree.Row, side: str) -> str:
    return f"{side if tree.outputs_of(given) else 'both'}, in: {to_text(given)}"


def _is_conjunction(formula: tree.Formula) -> bool:
    match formula:
        case tree.Comparison():
            return True
        case tree.Junction("and", operands):
            return all(map(_is_conjunction, operands))
        case _:
            return False
