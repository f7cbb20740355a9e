"""The sampled check where few rows have a label: a bet on every row, with a judge's answer for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.protocol import Check
from isonomia.audits.rates.counting import BatchReader, DeclaredFacts, batch_of
from isonomia.audits.rates.histories import HistoryReading, HistorySampling, HistorySamplingState
from isonomia.audits.rates.looks import no_look_remark
from isonomia.audits.rates.question import RatesQuestion
from isonomia.audits.verdicts import earlier_looks
from isonomia.engine.loop import Plan, Schedule
from isonomia.engine.parameters import batch_rng
from isonomia.errors import DataError, SpecError, UsageError
from isonomia.evidence.hypotheses import settled
from isonomia.evidence.label_claims import LabelEvidence
from isonomia.evidence.labels import LabelBatch
from isonomia.models.session import ModelSession
from isonomia.populations.design import MOST_ANSWERS, chances_of
from isonomia.populations.finite import Sample
from isonomia.populations.protocol import Labels, Population, Source, facts_of, people
from isonomia.populations.streaming import Rows
from isonomia.populations.table import Table, distinct
from isonomia.records.journal import Entry, once
from isonomia.spec.columns import kind_of, missing, plain
from isonomia.spec.evaluate import Batch, numbers, truth
from isonomia.spec.property import Property
from isonomia.spec.text import to_text
from isonomia.spec.tree import Column, Leaf, Missing, Rate, Value, columns_of, nodes, outputs_of
from isonomia.wording import plural

GROWTH = 1.04
"""Each batch makes the number of rows this many times as large. Stakes are chosen once for each, and that takes time.
Changes power and cost only."""

BINS = 16
"""How many parts the range of a judge's score, or of a number that follows from it, has. Changes power only."""

OFTEN_MISSING = 0.25
"""A column of an event that is missing in this part of the rows is taken for a label without a design."""

BATCHES = 128
"""The batches of a check with one look. Changes power and cost only."""

NODES = 17
"""How many values a label that is a number is rounded to; between two it counts for both in part, which keeps its mean.
A factor is affine in the label and its logarithm concave, so this can only lower a wealth. Changes power only."""


def reads_labels(question: RatesQuestion, population: Population) -> RatesQuestion | None:
    """The question with all columns that it needs, if its leaves read a label that few rows have; else ``None``."""
    labels = facts_of(population).labels
    _refuse_picked(question, population)
    if labels is None or not any(labels.column in columns_of(leaf) for leaf in question.leaves):
        return None
    for leaf in question.leaves:
        if leaf.given is not None and labels.column in columns_of(leaf.given):
            raise SpecError(
                f"{to_text(leaf)} has the label {labels.column!r} in its condition, and it is unknown which "
                f"rows without a label meet it: use the rate of both, P[event and {labels.column} == ...], "
                "or name the judge",
                leaf.place,
            )
    if set(question.asked) != {None}:
        raise SpecError(
            "with few labels, properties of a second person or of an intervention have no method: label all"
        )
    needed = question.asked[None]
    columns = tuple(dict.fromkeys((*needed.columns, *labels.columns)))
    # That no label is missing, as named properties demand, is what the design is there for.
    within = tuple(leaf for leaf in question.within if leaf.term != Missing(Column(labels.column)))
    return replace(question, asked={None: replace(needed, columns=columns)}, within=within)


def _refuse_picked(question: RatesQuestion, population: Population) -> None:
    """Refuse an event whose column is often missing, unless the property says what that means, or labels say why.

    A missing value meets no event, so that rows without a label would count as wrong.
    """
    facts = facts_of(population)
    rows = facts.rows if population.kind == "sample" else None
    known = rows if isinstance(rows, Table) or (rows is not None and rows.in_files) else None
    tested = {node.operand for leaf in question.leaves for node in nodes(leaf) if isinstance(node, Missing)}
    events = [leaf for leaf in question.leaves if isinstance(leaf, Rate) and known is not None]
    for leaf, node in [(each, node) for each in events for node in nodes(each.event)]:
        drawn = facts.labels is not None and isinstance(node, Column) and node.name == facts.labels.column
        if not isinstance(node, Column) or node.version is not None or node in tested or drawn or known is None:
            continue
        share = _missing_share(known, node.name) if node.name in known.names else 0.0
        if share >= OFTEN_MISSING:
            raise DataError(
                f"expected a value of {node.name!r} in nearly every row, since one without it does not count for "
                f"{to_text(leaf)}, but it is missing in {share:.0%}. Say what that means: '{node.name} is not missing' "
                "leaves such rows out where it is in the condition, and counts them as no in the event, with 'and'. If "
                "it is a label of rows that were drawn at random, give the sample "
                f"labels=Labels({node.name!r}, judge=..., probability=...)"
            )


def _missing_share(rows: Rows, name: str) -> float:
    """In which part of the rows a column is missing."""
    parts = [rows] if isinstance(rows, Table) else rows.batches([name], plain=True)
    return sum(int(missing(plain(part.column(name), name)).sum()) for part in parts) / rows.rows


def label_work(
    check: Check[Property], question: RatesQuestion, source: Source, session: ModelSession | None, available: float
) -> tuple[HistorySampling, Schedule]:
    """Prepare a check where few rows have a label; also its batches."""
    labels = facts_of(check.population).labels
    assert labels is not None, "it has labels"
    if check.method not in ("auto", "bets"):
        raise UsageError(f"method={check.method!r} needs a label in every row: use method='auto' with few labels")
    arithmetic = settled(question.formula, question.ranges)
    deadline = int(min(available, check.budget.samples)) if check.looks == "once" else None
    evidence = LabelEvidence(arithmetic.formula, question.leaves, question.ranges, check.delta, deadline)
    evidence.refuse_overlaps()
    answers = once(check.journal, "judge", lambda: {"answers": _answers(check.population, labels)})["answers"]
    draws = LabelDraws(check, question, labels, source, session, evidence, answers)
    work = HistorySampling(check, question, source, session, evidence, draws, arithmetic.vanished)
    if deadline is not None:
        return work, Schedule(most=max(deadline // BATCHES, 1), ends=(deadline,))
    looks, order = earlier_looks(check.population)
    return work, Schedule(first=16, growth=GROWTH, early=GROWTH).along(looks, whole=order == "file")


def _answers(population: Population, labels: Labels) -> list[Value] | None:
    """The answers of the judge, each a kind of its own; ``None`` for a score, whose range is divided.

    Which of them it is depends on the type of the column and on how many answers the judge has at all, and on no label.
    """
    assert isinstance(population, Sample), "only samples have labels"
    column = population.table.column(labels.judge)
    if kind_of(column) == "number" and column.dtype.kind == "f" and (column != np.floor(column)).any():
        if not ((column >= 0.0) & (column <= 1.0)).all():
            raise DataError(
                f"expected scores of the judge, {labels.judge!r}, from 0 to 1, but they go from {column.min():g} to "
                f"{column.max():g}: divide by the largest possible score, or round them to a few levels"
            )
        return None
    values = list(distinct([column], labels.judge))
    return values if len(values) <= MOST_ANSWERS else []


@dataclass(frozen=True)
class LabelDraws:
    """The rows of a batch by group, judge, probability and label.

    ``answers`` are the judge's answers that are distinguished; ``None`` for a score, and empty for too many answers:
    then a row's kind is what the leaf would be if the judge were right.
    """

    check: Check[Property]
    question: RatesQuestion
    labels: Labels
    source: Source
    session: ModelSession | None
    evidence: LabelEvidence
    answers: Sequence[Value] | None

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """How the rows were used."""
        looks = self.check.looks
        return () if looks in ("any", "once") else (no_look_remark(looks, "few rows have a label"),)

    def measure(self, plan: Plan) -> HistoryReading:
        """Draw rows, query the model about them, and tell apart what bets need to know."""
        rng = batch_rng(self.check.seed, plan.index, 0)
        drawn = people(self.source, self.question.wanted, plan.start, plan.n, rng, 0)
        table = drawn[None]
        batch = batch_of(self.question, self.session, drawn)
        reader = BatchReader(batch, lambda row: f"row {row} of batch {plan.index}: {{{table.shown(row)}}}")
        DeclaredFacts(self.question, self.check.population, ()).refuse(reader, table, 0)
        labeled = ~missing(batch.column(self.labels.column))
        judged = replace(
            batch, columns={**batch.columns, self.labels.column: batch.columns[self.labels.judge]}, _plain={}
        )
        parts, rows, sums = [], [], []
        values, guesses = np.zeros((2, table.rows, len(self.question.leaves)))
        members = [
            np.ones(table.rows, dtype=bool) if given is None else truth(given, batch) for given in self.evidence.groups
        ]
        chances = chances_of(table, self.labels)
        for k, (leaf, group) in enumerate(zip(self.question.leaves, self.evidence.group_of, strict=True)):
            low, high = self.question.ranges[leaf]
            chosen = members[group] & (labeled if self.labels.column in columns_of(leaf) else True)
            values[chosen, k] = (reader.numbers(leaf, chosen, (low, high)) - low) / (high - low)
            guesses[:, k] = (_judged(leaf, judged) - low) / (high - low)
            rows.append(int(chosen.sum()))
            both = members[group] & labeled & ~np.isnan(guesses[:, k])
            away, weight = guesses[both, k] - values[both, k], 1.0 / chances[both]
            agreed = float(weight @ (1.0 - np.abs(away)))
            sums.append((float(weight.sum()), agreed, float(weight @ away), float(len(away))))
        for group, inside in enumerate(members):
            leaves = [k for k, of in enumerate(self.evidence.group_of) if of == group]
            judge = self._kinds(table, leaves, values[inside], guesses[inside], np.flatnonzero(inside))
            keys = np.column_stack([np.full(len(judge), group), judge, labeled[inside]]).astype(np.intp)
            known_values = np.where(labeled[inside][:, None], values[inside], 0.0)
            known_values[:, [k for k in range(values.shape[1]) if k not in leaves]] = 0.0
            parts.append(self._rounded(keys, chances[inside], known_values))
        joined = replace(LabelBatch.joined(parts), drawn=float(table.rows))
        return HistoryReading(joined, table.rows, tuple(rows), tuple(sums))

    def _kinds(
        self, table: Table, leaves: Sequence[int], values: Any, guesses: Any, rows: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        """The code of each row's known values without its label: the judge's answer, and what follows from it."""
        kinds = np.zeros(len(rows), dtype=np.intp)
        for k in leaves:
            leaf = self.question.leaves[k]
            what, reads = leaf.event if isinstance(leaf, Rate) else leaf.term, self.labels.column in columns_of(leaf)
            alone = set(columns_of(what)) <= {self.labels.column, self.labels.judge} and not outputs_of(what)
            if reads and alone and self.answers != []:
                column = table.column(self.labels.judge)[rows]
                if self.answers is None:
                    own = np.minimum(np.asarray(column, dtype=float) * BINS, BINS - 1).astype(np.intp)
                else:
                    own = np.stack([np.asarray(column == answer) for answer in self.answers]).argmax(axis=0)
            else:
                source = guesses[:, k] if reads else values[:, k]
                own = np.where(np.isnan(source), BINS + 1, np.clip(source, 0.0, 1.0) * BINS).astype(np.intp)
            kinds = kinds * (BINS + MOST_ANSWERS) + own
        return kinds

    def _rounded(self, keys: NDArray[np.intp], chances: Any, values: Any) -> LabelBatch:
        """The rows, with labels that are numbers divided between the two nearest nodes."""
        times = np.ones(len(keys))
        for k, leaf in enumerate(self.question.leaves):
            if isinstance(leaf, Rate):
                continue
            position = np.clip(values[:, k], 0.0, 1.0) * (NODES - 1)
            below = np.minimum(np.floor(position), NODES - 2)
            above = position - below
            low, high = values.copy(), values.copy()
            low[:, k], high[:, k] = below / (NODES - 1), (below + 1.0) / (NODES - 1)
            keys, chances = np.concatenate([keys, keys]), np.concatenate([chances, chances])
            values, times = np.concatenate([low, high]), np.concatenate([times * (1.0 - above), times * above])
            keep = times > 0.0
            keys, chances, values, times = keys[keep], chances[keep], values[keep], times[keep]
        return LabelBatch.of(keys, chances, values, times)

    def pack(self, reading: HistoryReading) -> Entry:
        """The rows, as lists."""
        batch = reading.batch
        return {
            "people": reading.samples,
            "counts": [batch.times[batch.keys[:, 0] == group].tolist() for group in range(len(self.evidence.groups))],
            "keys": batch.keys.tolist(),
            "chances": batch.chances.tolist(),
            "values": batch.values.tolist(),
            "leaf rows": list(reading.rows),
            "judged": [list(sums) for sums in reading.judged],
        }

    def unpack(self, entry: Entry) -> HistoryReading:
        """The rows again; what no rows can be is refused."""
        leaves = len(self.question.leaves)
        keys = np.asarray(entry["keys"], dtype=np.intp).reshape(-1, 3)
        times = np.concatenate([np.zeros(0), *(np.asarray(counts, dtype=float) for counts in entry["counts"])])
        chances, values = np.asarray(entry["chances"], dtype=float), np.asarray(entry["values"], dtype=float)
        values = values.reshape(-1, leaves)
        fits = len(keys) == len(times) == len(chances) == len(values)
        sums = tuple(tuple(map(float, each)) for each in entry["judged"])
        fits = fits and len(entry["leaf rows"]) == leaves == len(sums) and all(len(each) == 4 for each in sums)
        possible = fits and (
            (np.diff(keys[:, 0]) >= 0).all()
            and ((keys[:, 0] >= 0) & (keys[:, 0] < len(self.evidence.groups))).all()
            and ((chances > 0.0) & (chances <= 1.0) & (times > 0.0)).all()
            and ((values >= 0.0) & (values <= 1.0)).all()
            and not values[keys[:, 2] == 0].any()
        )
        if not possible:
            raise DataError("expected rows with and without labels in the record, but no rows can be like these")
        batch = LabelBatch(keys, chances, values, times, float(entry["people"]))
        return HistoryReading(batch, int(entry["people"]), tuple(map(int, entry["leaf rows"])), sums)


def _judged(leaf: Leaf, batch: Batch) -> NDArray[np.float64]:
    """What a leaf would be if the judge were right; missing where the judge's answers are of another kind."""
    try:
        return np.asarray(
            truth(leaf.event, batch) if isinstance(leaf, Rate) else numbers(leaf.term, batch), dtype=float
        )
    except SpecError:
        return np.full(batch.rows, np.nan)


@dataclass(frozen=True, slots=True)
class JudgeRecord:
    """What labels showed of the judge, for one rate.

    Attributes
    ----------
    text
        The rate.
    labels
        How many labels it rests on.
    agreement
        How often it would be the same with the judge's answer in place of the label, going by rows with both.
    bias
        How much larger it would be.
    worth
        How many times as many labels the same precision would have taken without the judge.
    """

    text: str
    labels: int
    agreement: float
    bias: float
    worth: float

    @property
    def remark(self) -> str:
        """In words."""
        side = "high" if self.bias >= 0.0 else "low"
        return (
            f"{self.text}: the judge agrees with {self.agreement:.1%} of {plural(self.labels, 'label')} and would be "
            f"{abs(self.bias):.3f} too {side}; labels alone would take {self.worth:.2f} times as many"
        )


def judge_records(work: HistorySampling, state: HistorySamplingState) -> tuple[JudgeRecord, ...]:
    """The record of the judge for each rate that reads a label; empty without a judge."""
    if not isinstance(work.evidence, LabelEvidence) or not isinstance(work.draws, LabelDraws):
        return ()
    known, result = work.evidence.estimates(state.evidence.history), []
    for leaf, sums in zip(work.question.leaves, state.judged, strict=False):
        weight, agreed, away, n = sums
        if n and leaf in known and work.draws.labels.column in columns_of(leaf):
            low, high = work.question.ranges[leaf]
            bias = (high - low) * away / weight
            result.append(JudgeRecord(to_text(leaf), round(n), agreed / weight, bias, known[leaf].worth))
    return tuple(result)
