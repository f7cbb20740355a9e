"""What is kept of a stream: sums since certain moments, and samples that wait for their outcomes.

*Sums.* For every rate and mean, the number of samples and the sum of their values: of the whole stream, and since every
quarter of a window.

*Late outcomes.* Samples wait for them, and are judged in the order in which the samples came. That order is fixed
before any outcome is seen, so outcomes that come sooner for some than for others change only the delay. If samples were
judged as outcomes come, a stream whose good outcomes come first would look good, and then bad.

What is watched: properties split into comparisons, each with an e-detector.

A comparison that is linear after clearing denominators is a half-space, or two if it has ``abs``. Draws inform it by
group: what a person contributes is a *payoff*, and the sum of the groups' mean payoffs is at most a bound.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.rates.counting import BatchReader
from isonomia.audits.rates.groups import groups_of
from isonomia.errors import DataError, SpecError, UsageError
from isonomia.evidence.detectors import Detector, RestartWeights
from isonomia.evidence.hypotheses import HalfSpace, hypothesis_of
from isonomia.evidence.normal_form import compared
from isonomia.evidence.protocol import Channel, channels_for
from isonomia.populations.table import Table, plain_value
from isonomia.spec.analysis import range_of
from isonomia.spec.columns import EXACT
from isonomia.spec.property import Property, expand
from isonomia.spec.text import to_text
from isonomia.spec.tree import Column, Comparison, Formula, Junction, Leaf, Quantity, Rate, Value, leaves_of, links_of
from isonomia.wording import shortened

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Ranges = Mapping[Leaf, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class WatchedSide:
    """One half-space of a comparison.

    Attributes
    ----------
    channels
        The groups, each with the leaves that a person of it informs.
    factors
        For each group, the coefficient of each of its leaves.
    ranges
        The lowest and highest value of each leaf.
    detector
        The e-detector that says when the half-space was left.
    """

    channels: tuple[Channel, ...]
    factors: tuple[tuple[float, ...], ...]
    ranges: Ranges
    detector: Detector

    @property
    def folds(self) -> int:
        """How many kinds of folds there are; 1 if no two groups overlap."""
        return max((channel.fold.of for channel in self.channels if channel.fold), default=1)

    def payoffs(self, reader: BatchReader, folds: Floats) -> tuple[Integers, Floats]:
        """The group of each row of a table, -1 for none, and its payoff. ``folds`` are between 0 and 1."""
        labels = np.full(reader.batch.rows, -1, dtype=np.int64)
        payoffs = np.zeros(reader.batch.rows)
        for number, (channel, factors) in enumerate(zip(self.channels, self.factors, strict=True)):
            chosen = reader.members(channel.given)
            inside = np.ones(len(labels), dtype=bool) if chosen is None else chosen
            if channel.fold is not None:
                inside = inside & ((folds * channel.fold.of).astype(np.int64) == channel.fold.index)
            labels[inside] = number
            for leaf, factor in zip(channel.leaves, factors, strict=True):
                payoffs[inside] += factor * reader.numbers(leaf, inside, self.ranges[leaf])
        return labels, payoffs


@dataclass(frozen=True, slots=True)
class WatchedClaim:
    """One comparison of a property.

    Attributes
    ----------
    number
        The number of its property, from 0.
    group
        The group, if the property makes a claim for every group.
    text, quantity, relation, threshold
        The comparison, and what is compared with what.
    leaves, ranges
        The rates and means in it, and the lowest and highest value of each.
    sides
        Its half-spaces.
    """

    number: int
    group: str | None
    text: str
    quantity: Quantity
    relation: str
    threshold: float
    leaves: tuple[Leaf, ...]
    ranges: Ranges
    sides: tuple[WatchedSide, ...]


def watched_claims(
    properties: Sequence[Property],
    values: Mapping[str, Sequence[Value]],
    declared: Mapping[str, tuple[float, float]],
    score: tuple[float, float] | None,
    restarts: RestartWeights,
) -> tuple[WatchedClaim, ...]:
    """Split properties into comparisons; ``values`` are those of columns that a ``for`` runs over."""
    return tuple(
        claim
        for number, prop in enumerate(properties)
        for claim in _claims_of(number, prop, _listed(values), declared, score, restarts)
    )


def _claims_of(
    number: int,
    prop: Property,
    values: Callable[[Column], tuple[Value, ...]],
    declared: Mapping[str, tuple[float, float]],
    score: tuple[float, float] | None,
    restarts: RestartWeights,
) -> Iterator[WatchedClaim]:
    by_group = groups_of(prop.formula, values)
    pairs: list[tuple[str | None, Comparison]]
    if by_group:
        pairs = [(claim.group, each) for claim in by_group for each in claim.comparisons]
    else:
        pairs = [(None, each) for each in _comparisons(expand(prop.formula, values), prop)]
    for group, comparison in pairs:
        ranges = {leaf: _range(leaf, declared, score) for leaf in leaves_of(comparison)}
        (quantity, relation, threshold), *_ = compared(comparison)
        yield WatchedClaim(
            number,
            group,
            to_text(comparison),
            quantity,
            relation,
            threshold,
            tuple(ranges),
            ranges,
            tuple(_side(half_space, ranges, restarts) for half_space in _half_spaces(comparison, ranges)),
        )


def _listed(values: Mapping[str, Sequence[Value]]) -> Callable[[Column], tuple[Value, ...]]:
    def of(column: Column) -> tuple[Value, ...]:
        if column.name not in values:
            raise SpecError(
                f"expected the values of {column.name!r}, since the property says something for each of them and "
                f"new values may appear later: list them, values={{{column.name!r}: [...]}}",
                column.place,
            )
        return tuple(values[column.name])

    return of


def _comparisons(formula: Formula, prop: Property) -> Iterator[Comparison]:
    match formula:
        case Comparison():
            for left, relation, right in links_of(formula):
                yield Comparison(left, ((relation, right),))
        case Junction("and", operands):
            for operand in operands:
                yield from _comparisons(operand, prop)
        case _:
            raise SpecError(
                f"expected comparisons joined by 'and' to watch, but got {to_text(formula)}: watch its "
                "parts as separate properties"
            )


def _half_spaces(comparison: Comparison, ranges: Ranges) -> tuple[HalfSpace, ...]:
    hypothesis = hypothesis_of(comparison, ranges, positive=True)
    if hypothesis is None or len(hypothesis.polytopes) > 1:
        raise SpecError(
            "expected a comparison that is linear in rates and means to watch, such as a rate, or a difference or a "
            f"ratio of two, but {to_text(comparison)} is not"
        )
    if not hypothesis.polytopes or not hypothesis.polytopes[0].half_spaces:
        raise SpecError(f"expected a property that data can change, but arithmetic decides {to_text(comparison)}")
    return hypothesis.polytopes[0].half_spaces


def _side(half_space: HalfSpace, ranges: Ranges, restarts: RestartWeights) -> WatchedSide:
    channels = channels_for(half_space.leaves, (None,), ranges)
    if channels is None:
        raise SpecError("expected fewer rates of one group in one comparison to watch: state some of them separately")
    coefficients = dict(half_space.coefficients)
    factors = tuple(tuple(coefficients[leaf] for leaf in channel.leaves) for channel in channels)
    ends = [
        [sorted((factor * ranges[leaf][0], factor * ranges[leaf][1])) for leaf, factor in zip(c.leaves, f, strict=True)]
        for c, f in zip(channels, factors, strict=True)
    ]
    lows = tuple(sum(low for low, _ in pairs) for pairs in ends)
    highs = tuple(sum(high for _, high in pairs) for pairs in ends)
    return WatchedSide(channels, factors, ranges, Detector(lows, highs, half_space.bound, restarts))


def _range(
    leaf: Leaf, declared: Mapping[str, tuple[float, float]], score: tuple[float, float] | None
) -> tuple[float, float]:
    if isinstance(leaf, Rate):
        return 0.0, 1.0
    if leaf.low is not None and leaf.high is not None:
        return leaf.low, leaf.high
    bounds = range_of(leaf.term, declared, score)
    if bounds is None:
        raise SpecError(
            f"the range of {to_text(leaf)} is not known: write it into the property, E[... from 0 to 100 | ...], or "
            "declare it, ranges={'column': (0, 100)}",
            leaf.place,
        )
    return bounds


DECISIONS, OUTCOMES = "decisions", "outcomes"
"""What a part of a stream brings: samples, or outcomes of earlier samples."""

ACKNOWLEDGED = "acknowledged"
"""Marks in the log where alerts were acknowledged, so that a replayed watch does so at the same moment."""

LEFT_OUT = "left out"
"""Marks in the log where all outcomes had been read, and samples that had waited too long were left out."""

EARLY = 100_000
"""The maximum number of outcomes that are kept for samples that may still come; the oldest are dropped."""

PARTS = 4
"""The number of parts of a window: it is at least as long as requested, and at most one part longer."""


@dataclass(slots=True)
class StreamTally:
    """How many samples informed each leaf since a certain moment, and the sum of their values.

    ``start`` is the number of samples before that moment, ``number`` its index.
    """

    start: int
    number: int
    counts: Floats
    totals: Floats


@dataclass(slots=True)
class StreamSums:
    """The tallies of a stream: of all of it, and since every quarter of the last window."""

    window: int
    everything: StreamTally
    parts: list[StreamTally]

    @classmethod
    def empty(cls, leaves: int, window: int) -> StreamSums:
        """Sums before any sample."""
        return cls(window, _empty(0, 0, leaves), [_empty(0, 0, leaves)])

    @property
    def recent(self) -> StreamTally:
        """The tally of the last window, or of all samples if there were fewer."""
        return self.parts[0]

    def add(self, before: int, inside: Sequence[NDArray[np.bool_]], values: Sequence[Floats], rows: int) -> None:
        """Count samples: for each leaf, which samples inform it, and its value for each, 0 for the others."""
        part, done = max(self.window // PARTS, 1), 0
        while done < rows:
            upto = min(rows, done + part - (before + done) % part)
            counts = np.asarray([who[done:upto].sum() for who in inside], dtype=float)
            for tally in (self.everything, *self.parts):
                tally.counts += counts
                for k, numbers in enumerate(values):
                    tally.totals[k] = _carried_on(tally.totals[k], numbers[done:upto])
            done = upto
            now = before + done
            if now % part == 0:
                self.parts = [each for each in self.parts if now - each.start < self.window + part]
                self.parts.append(_empty(now, self.parts[-1].number + 1, len(counts)))


def window_start(samples: int, window: int) -> tuple[int, int]:
    """After how many samples the last window starts, given the number counted, and how many windows started before."""
    part = max(window // PARTS, 1)
    number = max((samples // part * part - window - part) // part + 1, 0)
    return number * part, number


def _carried_on(total: float, numbers: Floats) -> float:
    """A sum with more terms, added one by one, so that its rounding does not depend on how a stream is cut."""
    return float(np.cumsum(np.append(total, numbers))[-1])


def _empty(start: int, number: int, leaves: int) -> StreamTally:
    return StreamTally(start, number, np.zeros(leaves), np.zeros(leaves))


class PendingSamples:
    """The samples that have come but are not judged yet, in the order in which they came.

    Parameters
    ----------
    outcome, id
        The column of the outcome, and the column that identifies samples.
    patience
        After how many later samples one without an outcome is left out; ``None`` for never.
    """

    def __init__(self, outcome: str | None, id: str | None, patience: int | None) -> None:  # noqa: A002
        if outcome is None or id is None:
            raise UsageError(
                "expected both outcome and id for late outcomes: the column of the outcome, and the one that "
                "identifies samples"
            )
        if patience is not None and (isinstance(patience, bool) or not isinstance(patience, int) or patience < 1):
            raise UsageError(f"expected patience as a number of samples, but got patience={patience!r}")
        self.outcome, self.id, self.patience = outcome, id, patience
        self.missing = 0
        self._came = 0
        self._rows: dict[str, tuple[int, dict[str, Any]]] = {}
        self._early: dict[str, Any] = {}
        self._refused: set[str] = set()

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def ids(self, people: Table) -> tuple[str, ...]:
        """The ids of samples, in their normal form."""
        if self.id not in people.names:
            raise DataError(f"expected the column {self.id!r}, which identifies samples, but this update has none")
        return ids_of(people.column(self.id), self.id, "this update")

    def add(self, people: Table, names: Sequence[str], ids: Sequence[str]) -> None:
        """Let samples wait; one that already has an outcome waits only for those before it."""
        new: set[str] = set()
        twice = next((key for key in ids if key in self._rows or key in new or new.add(key)), None)  # type: ignore[func-returns-value]
        if twice is not None:
            raise DataError(f"expected every sample once, but got {self.id} {twice!r} a second time", name=twice)
        columns = {name: people.column(name) for name in names if name in people.names and name != self.outcome}
        outcomes = people.column(self.outcome) if self.outcome in people.names else None
        for k, key in enumerate(ids):
            row = {name: self._single(column[k], name, key) for name, column in columns.items()}
            own = None if outcomes is None else self._single(outcomes[k], self.outcome, key)
            value = self._early.get(key) if own is None else own
            if value is not None:
                row[self.outcome] = value
            self._rows[key] = self._came, row
            self._came += 1

    def take_back(self, ids: Sequence[str]) -> None:
        """Remove the samples that were added last."""
        for key in ids:
            del self._rows[key]
        self._came -= len(ids)

    def label(self, ids: Any, outcomes: Any) -> list[str]:
        """Record outcomes, and return their ids. The first outcome of a sample counts, whatever comes later.

        An outcome whose sample is unknown is kept for it; if the sample was judged or left out, it has no effect.
        """
        keys, values = ([ids], [outcomes]) if not is_column(ids) else (list(ids), list(outcomes))
        if len(keys) != len(values):
            raise DataError(f"expected an outcome for each id, but got {len(keys)} ids and {len(values)} outcomes")
        normal = list(map(normal_id, keys))
        plain = [(key, self._single(value, self.outcome, key)) for key, value in zip(normal, values, strict=True)]
        for number, (key, value) in enumerate(plain, start=1):
            if key is None:
                raise DataError(f"expected {self.id!r} of every outcome, but it is missing in row {number}")
            if value is None:
                raise DataError(f"expected the outcome of {self.id} {key!r}, but it is missing")
        for key, value in plain:
            row = self._rows[str(key)][1] if key in self._rows else None
            if row is not None and (self.outcome not in row or key in self._refused):
                row[self.outcome] = value
            else:  # also where the sample has an outcome: it may be judged or not, which depends on how a stream is cut
                self._early.setdefault(str(key), value)
        for key in list(islice(self._early, max(len(self._early) - EARLY, 0))):
            del self._early[key]
        return [str(key) for key, _ in plain]

    def _single(self, value: Any, name: str, key: str | None) -> Any:
        """A value that can wait, since the state can hold it: a number, text, a truth value, a time, or none."""
        plain = plain_value(value)
        if plain is None or isinstance(plain, str | bool | int | float):
            return plain
        raise DataError(f"expected one value as {name!r} of {self.id} {key!r}, but got {shortened(str(value), 80)}")

    def refuse(self, ids: Sequence[str]) -> None:
        """Let the outcomes of samples be replaced, which the samples could not be judged with."""
        self._refused = set(ids)

    def ready(self, *, leave_out: bool) -> tuple[list[str], dict[str, list[Any]], int]:
        """The samples that can be judged now, as ids and columns, and how many samples to :meth:`settle` then.

        They are those before the first that still waits for its outcome. They stay here until :meth:`settle`. Those
        that have waited too long are skipped if they may be left out.
        """
        ids, rows, done = [], [], 0
        for key, (number, row) in self._rows.items():
            late = leave_out and self.patience is not None and self._came - number > self.patience
            if self.outcome not in row and not late:
                break
            done += 1
            if self.outcome in row:
                ids.append(key)
                rows.append(row)
        names = dict.fromkeys(name for row in rows for name in row)
        return ids, {name: [row.get(name) for row in rows] for name in names}, done

    def settle(self, done: int) -> None:
        """Remove the first samples: they were judged, or left out for lack of an outcome."""
        for key in list(islice(self._rows, done)):
            _, row = self._rows.pop(key)
            self.missing += self.outcome not in row
        self._refused.clear()

    def state(self) -> dict[str, Any]:
        """Everything as plain values."""
        rows = [[key, number, row] for key, (number, row) in self._rows.items()]
        early = [[key, value] for key, value in self._early.items()]
        return {"missing": self.missing, "came": self._came, "rows": rows, "early": early}

    def restore(self, content: dict[str, Any]) -> None:
        """Continue from plain values."""
        self.missing, self._came = int(content["missing"]), int(content["came"])
        self._rows = {str(key): (int(number), dict(row)) for key, number, row in content["rows"]}
        self._early = {str(key): value for key, value in content["early"]}


def is_column(value: Any) -> bool:
    """Whether a value stands for several rows."""
    return isinstance(value, Sized) and not isinstance(value, str | bytes)


_WHOLE = re.compile(r"\+?(-?(?:0|[1-9][0-9]*))(?:\.0*)?")
_MOMENT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T](?=[0-9]{2}:)")


def normal_id(value: Any) -> str | None:
    """An id as text, the same whatever type a file or a table gives it; ``None`` if it is missing.

    7, 7.0, ``"7"`` and ``" 7 "`` are the same id; ``"007"`` is another one, since codes such as postal codes may begin
    with zeros. ``True`` is ``"true"``, ``"True"`` and ``"TRUE"``. A date is ISO 8601, and midnight is the date alone.
    """
    plain = plain_value(value)
    if isinstance(plain, float) and abs(plain) >= EXACT:
        raise DataError(f"expected ids that are exact, but got the floating-point number {plain!r}: write them as text")
    text = str(plain).strip()
    if plain is None or not text:
        return None
    if isinstance(plain, bool) or text in {"True", "TRUE", "False", "FALSE"}:
        return text.lower()
    if whole := _WHOLE.fullmatch(text):
        return "0" if whole[1] == "-0" else whole[1]
    return _MOMENT.sub(r"\1T", text, count=1).removesuffix("T00:00:00")


def ids_of(values: Iterable[Any], name: str | None, where: str) -> tuple[str, ...]:
    """Ids in their normal form; none may be missing."""
    ids = tuple(map(normal_id, values))
    if None in ids:
        raise DataError(f"{where}: expected {name!r} of every row, but it is missing in row {ids.index(None) + 1}")
    return ids  # type: ignore[return-value]


def to_plain(item: Any) -> dict[str, Any]:
    """The fields of a dataclass as JSON can hold them; arrays are exact, bit for bit."""
    return {name: _plain_value(value) for name, value in asdict(item).items()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"dtype": value.dtype.str, "shape": list(value.shape), "data": data}
    return [_plain_value(each) for each in value] if isinstance(value, tuple) else value


def from_plain(kind: Any, content: Mapping[str, Any]) -> Any:
    """The inverse of :func:`to_plain`."""
    return kind(**{name: _unplain_value(value) for name, value in content.items()})


def _unplain_value(value: Any) -> Any:
    if isinstance(value, dict):
        data = base64.b64decode(value["data"], validate=True)
        return np.frombuffer(data, dtype=np.dtype(value["dtype"])).reshape(value["shape"]).copy()
    return tuple(_unplain_value(each) for each in value) if isinstance(value, list) else value
