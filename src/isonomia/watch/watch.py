"""A model in production, judged as people arrive.

Three questions, each in constant memory. *Has it held so far?* Bets that started with the first person. *Has it stopped
holding?* E-detectors, which start a bet with every person (:mod:`isonomia.evidence.detectors`). *Does it hold now?*
Intervals for the last so many people.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from math import log
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import zeta

from isonomia.audits.answers import Asker
from isonomia.audits.check import checked_delta, checked_ranges, outcomes_of
from isonomia.audits.rates.check import never_happened
from isonomia.audits.rates.counting import Reader
from isonomia.audits.rates.intervals import over_box
from isonomia.errors import DataError, IsonomiaError, RecordError, UsageError
from isonomia.evidence.confidence_sequences import drifting_interval
from isonomia.evidence.detectors import DetectorState, Loan, Onset
from isonomia.models.adapt import adapt
from isonomia.models.protocol import Model
from isonomia.models.wrappers import without_outcome
from isonomia.populations.table import Table
from isonomia.records.verdict import Expression, GroupRecord, LeafRecord, Verdict
from isonomia.spec.evaluate import Batch
from isonomia.spec.property import Property, parse
from isonomia.spec.text import to_text
from isonomia.spec.tree import Leaf, Value
from isonomia.spec.walk import check_names, columns_of, outputs_of
from isonomia.version import __version__
from isonomia.watch.answers import Alarm, Standing
from isonomia.watch.claims import WatchedClaim, WatchedSide, watched_claims
from isonomia.watch.stream import StreamTally, Sums, Waiting, from_plain, to_plain

__all__ = ["Watch"]

Floats = NDArray[np.float64]

STATE_FORMAT = 2
"""The version of the stored state."""


SPENDING = 1.1
"""The window that starts as the k-th has a part of the risk in proportion to k to minus this."""


class Watch:
    """Judges a stream of decisions as they come.

    Parameters
    ----------
    properties
        What must hold: a property about rates or means, as text or made in Python, or several of them.
    alpha
        The probability that there is ever a false alarm is at most this, over all properties and groups.
    run_length
        In place of ``alpha``: the mean number of samples to a false alarm is at least this, over all properties and
        groups. It sees changes sooner in a stream that has been long under way, and gives false alarms now and then.
    delta
        The risk of the verdicts so far, over all properties, and of the intervals for the last samples.
    model
        Asked for ``prediction`` and ``score`` of every sample; ``None`` where the tables have them.
    window
        The last how many samples *now* is about.
    values
        The values of columns that a property speaks of with ``for g in column``.
    ranges
        The lowest and highest possible value of columns whose means are watched.
    features
        The columns that the model is given, where it cannot say so itself.
    outcome, id
        The column of an outcome that becomes known later, and the column that tells samples apart. Then a sample waits
        until :meth:`label` brings its outcome, and samples are judged in the order in which they came.
    patience
        After how many later samples one whose outcome has not come is left out; without it, it is waited for.
    seed
        Decides which samples count for which of several groups that overlap.

    Notes
    -----
    Guarantee: while every property holds for the law of every sample, given those before, there is ever an alarm with
    probability at most ``alpha``, or the mean number of samples to the first alarm is at least ``run_length``. The law
    may change from sample to sample; for properties that compare groups it must not change within a block, the few
    samples in which each of the groups comes up at least twice. After an alarm was acknowledged the watch goes on with
    half of the risk that was left.

    With late outcomes nothing is lost by outcomes that come sooner for some than for others, since the order of judging
    is that of coming. What ``patience`` leaves out must be left out whatever the outcome would have been; ``bounds``
    says what the outcomes that are not there could change.

    Examples
    --------
    >>> import numpy as np
    >>> import isonomia as iso
    >>> rng = np.random.default_rng(1)
    >>> watch = iso.Watch("P[hired] >= 0.3", alpha=0.01)
    >>> before = watch.update({"hired": rng.random(5_000) < 0.4})
    >>> (alarm,) = watch.update({"hired": rng.random(5_000) < 0.2})
    >>> 5_000 < alarm.sample < 5_500
    True
    >>> alarm.onset.low <= 5_000 <= alarm.onset.high
    True
    """

    _WINDOW: ClassVar[int] = 1_000

    def __init__(
        self,
        properties: Property | str | Sequence[Property | str],
        *,
        alpha: float | None = None,
        run_length: float | None = None,
        delta: float = 0.05,
        model: Any = None,
        window: int | None = None,
        values: Mapping[str, Sequence[Value]] | None = None,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        features: Sequence[str] | None = None,
        outcome: str | None = None,
        id: str | None = None,  # noqa: A002  (the word for it)
        patience: int | None = None,
        seed: int = 0,
    ) -> None:
        several = isinstance(properties, Sequence) and not isinstance(properties, str)
        listed: list[Any] = list(properties) if several else [properties]  # type: ignore[arg-type]
        self.properties = tuple(_checked_property(each) for each in listed)
        if not self.properties:
            raise UsageError("expected at least one property to watch, but got none")
        self.alpha, self.run_length = _checked_risk(alpha, run_length)
        self.delta = checked_delta(delta)
        self.window = _checked_window(self._WINDOW if window is None else window)
        self.seed = seed
        held = dict.fromkeys(name for prop in self.properties for name in outcomes_of(prop))
        if outcome is not None:
            held[outcome] = None
        self._model: Model | None = None if model is None else without_outcome(adapt(model, features), tuple(held))
        score = None if self._model is None else self._model.score_range
        self._claims = watched_claims(
            self.properties, values or {}, checked_ranges(ranges or {}), score, Loan(self.run_length is not None)
        )
        self._sides = tuple((number, side) for number, claim in enumerate(self._claims) for side in claim.sides)
        self._leaves = tuple(dict.fromkeys(leaf for claim in self._claims for leaf in claim.leaves))
        self._ranges = {leaf: span for claim in self._claims for leaf, span in claim.ranges.items()}
        self._names: tuple[str, ...] | None = None
        self._late = None if outcome is None and id is None else Waiting(outcome, id, patience)
        self._tickets = np.random.default_rng([seed, len(self._sides)])
        self._states = [side.detector.begin() for _, side in self._sides]
        self._sums = Sums.empty(len(self._leaves), self.window)
        self._epoch = 0
        self.samples = 0
        self.alarms: tuple[Alarm, ...] = ()
        self._open: tuple[Alarm, ...] = ()

    # -------------------------------------------------------------------------------------------------------- updates

    def update(self, table: Any) -> tuple[Alarm, ...]:
        """Judge the next samples of the stream, in their order; the alarms that they raise.

        ``table`` is any table that :class:`Sample` takes, or a mapping from column to value for one sample. What comes
        of it does not depend on how a stream is cut into tables.
        """
        if isinstance(table, Mapping) and table and not any(_is_column(value) for value in table.values()):
            table = {name: [value] for name, value in table.items()}
        people = Table.of(table)
        if self._late is None:
            return self._judge(people)
        ids = self._late.add(people, self._wanted(people, first=self._names is None))
        try:
            return self._judge_those_ready()
        except IsonomiaError:
            self._late.take_back(ids)
            raise

    def label(self, ids: Any, outcomes: Any) -> tuple[Alarm, ...]:
        """Outcomes that have become known, by the ids of their samples; the alarms that they raise."""
        if self._late is None:
            raise UsageError("expected a watch with late outcomes: Watch(..., outcome='column', id='column')")
        self._late.label(ids, outcomes)
        return self._judge_those_ready()

    @property
    def pending(self) -> int:
        """How many samples have come and are not judged yet, because an outcome has not come."""
        return 0 if self._late is None else len(self._late)

    @property
    def missing(self) -> int:
        """How many samples were left out because their outcomes did not come in time."""
        return 0 if self._late is None else self._late.missing

    @property
    def late_columns(self) -> tuple[str, str]:
        """The columns of the outcome that comes late, and of what tells samples apart."""
        if self._late is None:
            raise UsageError("expected a watch with late outcomes: Watch(..., outcome='column', id='column')")
        return self._late.outcome, self._late.id

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """What each rate and mean so far could be at the least and at the most if all outcomes were there."""
        absent = self.pending + self.missing
        found = {}
        for k, leaf in enumerate(self._leaves):
            low, high = self._ranges[leaf]
            count, total = self._sums.everything.counts[k] + absent, self._sums.everything.totals[k]
            ends = (total / count, (total + absent) / count) if count else (0.0, 1.0)
            found[to_text(leaf)] = low + (high - low) * float(ends[0]), low + (high - low) * float(ends[1])
        return found

    def _judge_those_ready(self) -> tuple[Alarm, ...]:
        if self._late is None:
            raise AssertionError("only a watch with late outcomes has samples that wait")
        columns, done = self._late.ready()
        alarms = self._judge(Table.of(columns)) if columns else ()
        self._late.settle(done)
        return alarms

    def _judge(self, people: Table) -> tuple[Alarm, ...]:
        reader = Reader(self._batch(people), lambda row: f"row {row + 1} of this update ({people.shown(row)})")
        seen = [self._values(leaf, reader) for leaf in self._leaves]  # refuses what is amiss before anything is changed
        tickets = self._tickets.random(people.rows) if any(side.tickets > 1 for _, side in self._sides) else np.zeros(0)
        self._sums.add(self.samples, [inside for inside, _ in seen], [values for _, values in seen], people.rows)
        crossings = []
        enough = self._enough()
        for index, (number, side) in enumerate(self._sides):
            labels, payoffs = side.payoffs(reader, tickets)
            self._states[index], crossed = side.detector.observe(self._states[index], labels, payoffs, enough)
            if crossed:
                crossings.append((side, self._claims[number], *crossed))
        self.samples += people.rows
        raised: list[Alarm] = []
        for side, claim, state, sample in sorted(crossings, key=lambda crossing: crossing[3]):
            if not self._is_open(claim):
                raised.append(self._alarm(side, claim, state, sample))
                self._open = (*self._open, raised[-1])
        self.alarms = (*self.alarms, *raised)
        return tuple(raised)

    @property
    def alarm(self) -> Alarm | None:
        """The first alarm that was not acknowledged."""
        return min(self._open, key=lambda alarm: alarm.sample, default=None)

    def acknowledge(self) -> None:
        """Take note of the alarms that there are, and watch on as from now, with half of the risk that is left."""
        self._open = ()
        self._epoch += 1
        for index, (_, side) in enumerate(self._sides):
            fresh = side.detector.begin()
            old = self._states[index]
            self._states[index] = replace(old, owed=fresh.owed)

    @property
    def risk_words(self) -> str:
        """What is left of the risk after the alarms that were acknowledged, in words."""
        if self.alpha is None:
            return f"the mean number of samples to the next false alarm is {self.run_length:,.0f} or more, as before"
        left = self.alpha * 0.5**self._epoch
        return f"of the risk of {self.alpha:g} there is {left:g} left for all alarms from now on"

    def _enough(self) -> float:
        """The log wealth at which an e-detector gives an alarm."""
        count = len(self._sides)
        if self.run_length is not None:
            return log(self.run_length * count)
        if self.alpha is None:
            raise AssertionError("a watch has alpha or run_length")
        return log(count / self.alpha) + (self._epoch + 1) * log(2.0)

    def _is_open(self, claim: WatchedClaim) -> bool:
        return any((alarm.text, alarm.group) == (claim.text, claim.group) for alarm in self._open)

    def _wanted(self, people: Table, *, first: bool) -> tuple[str, ...]:
        """The columns that the properties name; all of them where there is a model to ask. Missing ones are refused."""
        late = () if self._late is None else (self._late.outcome,)
        if first:
            for prop in self.properties:
                check_names(prop.formula, (*people.names, *late), self._model is not None)
            self._names = people.names
        formulas = [prop.formula for prop in self.properties]
        wanted = dict.fromkeys(name for formula in formulas for name in columns_of(formula))
        if self._model is None:
            wanted |= dict.fromkeys(sorted(self._outputs()))
        missing = [name for name in wanted if name not in (*people.names, *late)]
        if missing:
            raise DataError(f"expected the column {missing[0]!r}, as in the updates before, but this one has none")
        return tuple(wanted) if self._model is None else people.names

    def _outputs(self) -> set[str]:
        return {output.name for prop in self.properties for output in outputs_of(prop.formula, None)}

    def _batch(self, people: Table) -> Batch:
        outputs = self._outputs()
        columns = {name: people.column(name) for name in self._wanted(people, first=self._names is None)}
        if self._model is None or not outputs:
            return Batch(people.rows, columns)
        answer = Asker(self._model)(people, "score" in outputs, "prediction" in outputs)
        return Batch(people.rows, columns, answer.prediction, answer.score, answer.classes)

    def _alarm(self, side: WatchedSide, claim: WatchedClaim, state: DetectorState, sample: int) -> Alarm:
        onset = side.detector.onset(state, self.delta if self.alpha is None else self.alpha, sample)
        return Alarm(
            self._named(claim),
            claim.group,
            claim.text,
            sample,
            replace(onset, means=()),
            self._since(side, claim, onset),
            claim.relation,
            claim.threshold,
        )

    def _since(self, side: WatchedSide, claim: WatchedClaim, onset: Onset) -> float | None:
        """What was compared, since the onset; ``None`` where a group had no samples since, or several rates."""
        found = {}
        for channel, factors, mean in zip(side.channels, side.factors, onset.means, strict=True):
            if len(factors) > 1 or mean is None:
                return None
            found[channel.leaves[0]] = (mean / factors[0] + 0.0,) * 2  # and not -0
        if set(found) != set(claim.leaves):
            return None
        value, _ = over_box(claim.quantity, found)
        return value if np.isfinite(value) else None

    def _named(self, claim: WatchedClaim) -> str:
        prop = self.properties[claim.number]
        return prop.name or str(prop)

    # -------------------------------------------------------------------------------------------------------- windows

    def _values(self, leaf: Leaf, reader: Reader) -> tuple[NDArray[np.bool_], Floats]:
        """Who is in a leaf's group, and its value for each, between 0 and 1; 0 for others."""
        chosen = reader.members(leaf.given)
        inside = np.ones(reader.batch.rows, dtype=bool) if chosen is None else chosen
        low, high = self._ranges[leaf]
        values = np.zeros(len(inside))
        values[inside] = (reader.numbers(leaf, inside, (low, high)) - low) / (high - low)
        return inside, values

    @property
    def now(self) -> tuple[Standing, ...]:
        """Whether each comparison holds for the last samples: at least ``window`` of them, where there were so many.

        Guarantee: with probability at least ``1 - delta`` every interval that is ever shown contains the mean, over
        the samples that it is about, of what the rate was at each of them.
        """
        tally = self._sums.recent
        risk = float(self.delta * (tally.number + 1) ** -SPENDING / zeta(SPENDING))
        leaves = {leaf: self._leaf(k, leaf, tally, risk / len(self._leaves)) for k, leaf in enumerate(self._leaves)}
        found = []
        for claim in self._claims:
            expression = self._expression(claim, leaves)
            answer = {True: "holds", False: "violated", None: "undecided"}[expression.settled]
            records = tuple(leaves[leaf] for leaf in claim.leaves)
            found.append(
                Standing(
                    self._named(claim),
                    claim.group,
                    answer,
                    expression,
                    records,
                    self.samples - tally.start,
                    tally.start,
                )
            )
        return tuple(found)

    def _leaf(self, index: int, leaf: Leaf, tally: StreamTally, risk: float) -> LeafRecord:
        count, total = float(tally.counts[index]), float(tally.totals[index])
        low, high = self._ranges[leaf]
        ends = drifting_interval(min(total, count), count, risk)
        estimate = None if not count else low + (high - low) * total / count
        return LeafRecord(
            to_text(leaf), int(count), estimate, low + (high - low) * ends[0], low + (high - low) * ends[1]
        )

    def _expression(self, claim: WatchedClaim, leaves: Mapping[Leaf, LeafRecord]) -> Expression:
        box = {leaf: (leaves[leaf].low, leaves[leaf].high) for leaf in claim.leaves}
        points = {leaf: leaves[leaf].estimate for leaf in claim.leaves}
        low, high = (0.0 if abs(end) < 1e-300 else end for end in over_box(claim.quantity, box))
        estimate = None
        if all(point is not None for point in points.values()):
            value, _ = over_box(claim.quantity, {leaf: (point, point) for leaf, point in points.items()})  # type: ignore[misc]
            estimate = value if np.isfinite(value) else None
        return Expression(to_text(claim.quantity), claim.relation, claim.threshold, estimate, low, high)

    # ------------------------------------------------------------------------------------------------------- verdicts

    @property
    def verdict(self) -> Verdict:
        """Whether the property has held so far: the verdict of the only one, or of the first of several."""
        return self.verdicts[0]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Whether each property has held so far."""
        return tuple(self._verdict(number) for number in range(len(self.properties)))

    def _verdict(self, number: int) -> Verdict:
        prop = self.properties[number]
        claims = [(k, claim) for k, claim in enumerate(self._claims) if claim.number == number]
        answers = [self._answer(k) for k, _ in claims]
        answer = False if False in answers else True if all(each is True for each in answers) else None
        leaves = {
            leaf: self._leaf(k, leaf, self._sums.everything, self.delta / len(self._leaves))
            for k, leaf in enumerate(self._leaves)
        }
        expressions = [
            self._expression(claim, leaves).agreeing(each) for (_, claim), each in zip(claims, answers, strict=True)
        ]
        known = tuple(leaves[leaf] for leaf in dict.fromkeys(leaf for _, claim in claims for leaf in claim.leaves))
        groups = tuple(
            GroupRecord(
                claim.group,
                _WORDS[each],
                item.text,
                item.relation,
                item.threshold,
                item.estimate,
                item.low,
                item.high,
                min(leaves[leaf].n for leaf in claim.leaves),
            )
            for (_, claim), each, item in zip(claims, answers, expressions, strict=True)
            if claim.group
        )
        return Verdict(
            text=str(prop),
            answer=_WORDS[answer],
            delta=self.delta,
            risk=self.delta if answer is not None else 0.0,
            method="bets",
            samples=self.samples,
            leaves=known,
            expressions=tuple(expressions),
            stopped=f"after the {self.samples:,} samples that have come so far",
            assumptions=self._assumptions(),
            remarks=(_MEANING[answer], *_unseen(known)),
            seed=self.seed,
            seconds=0.0,
            population={"kind": "stream", "rows": self.samples},
            name=prop.name,
            version=__version__,
            groups=groups,
        )

    def _answer(self, claim: int) -> bool | None:
        """Has a comparison held so far? Violated where a half-space is refuted, holds where every opposite is."""
        mine = [index for index, (number, _) in enumerate(self._sides) if number == claim]
        violated = log(len(self._sides) / self.delta)
        holds = log(len(self.properties) / self.delta)
        if any(self._states[index].peaks[0] >= violated for index in mine):
            return False
        if all(self._states[index].peaks[1] >= holds for index in mine):
            return True
        return None

    def _assumptions(self) -> tuple[str, ...]:
        assumed = ["which samples come, and in what order, does not depend on the decisions about later ones"]
        if any(len(side.channels) > 1 for _, side in self._sides):
            assumed.append(
                "the rates do not change within a block, the few samples in which every compared group comes up twice"
            )
        return tuple(assumed)

    # ---------------------------------------------------------------------------------------------------------- state

    @property
    def state(self) -> bytes:
        """Everything that was learnt, to go on elsewhere: ``Watch(...same arguments...).restore(state)``."""
        content = {
            "format": STATE_FORMAT,
            "watches": self._identity(),
            "samples": self.samples,
            "epoch": self._epoch,
            "tickets": self._tickets.bit_generator.state,
            "states": [to_plain(state) for state in self._states],
            "everything": to_plain(self._sums.everything),
            "parts": [to_plain(each) for each in self._sums.parts],
            "waiting": None if self._late is None else self._late.state(),
            "alarms": [asdict(alarm) for alarm in self.alarms],
            "open": [self.alarms.index(alarm) for alarm in self._open],
        }
        return json.dumps(content, separators=(",", ":")).encode()

    def restore(self, state: bytes) -> Watch:
        """Go on from a state; the watch itself is returned.

        Raises
        ------
        RecordError
            When it is no state, or one of a watch over something else.
        """
        try:
            content = json.loads(state)
            if content["format"] != STATE_FORMAT:
                raise RecordError(f"expected a state of format {STATE_FORMAT}, but it has format {content['format']!r}")
            if content["watches"] != self._identity():
                raise RecordError(
                    "expected the state of a watch over the same properties, groups and risks, but it is of another: "
                    f"{content['watches']!r}"
                )
            self.samples = int(content["samples"])
            self._epoch = int(content["epoch"])
            self._tickets.bit_generator.state = content["tickets"]
            self._states = [from_plain(DetectorState, each) for each in content["states"]]
            parts = [from_plain(StreamTally, each) for each in content["parts"]]
            self._sums = Sums(self.window, from_plain(StreamTally, content["everything"]), parts)
            if self._late is not None:
                self._late.restore(content["waiting"])
            self.alarms = tuple(
                Alarm(**{**each, "onset": Onset(**{**each["onset"], "means": ()})}) for each in content["alarms"]
            )
            self._open = tuple(self.alarms[index] for index in content["open"])
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise RecordError(f"expected the state of a watch, but it cannot be read: {error}") from error
        return self

    def _identity(self) -> dict[str, Any]:
        return {
            "claims": [claim.text for claim in self._claims],
            "ranges": [list(self._ranges[leaf]) for leaf in self._leaves],
            "alpha": self.alpha,
            "run_length": self.run_length,
            "delta": self.delta,
            "window": self.window,
            "seed": self.seed,
            "late": None if self._late is None else [self._late.outcome, self._late.id, self._late.patience],
        }


_WORDS: dict[bool | None, Any] = {True: "holds", False: "violated", None: "undecided"}

_MEANING = {
    True: "holds: the samples refute that it was violated the whole time; if the rates never changed, it holds",
    False: "violated: at some time it did not hold; whether it holds now is said for the last samples",
    None: "undecided: the samples refute neither that it held the whole time nor that it never did",
}


def _unseen(leaves: Sequence[LeafRecord]) -> tuple[str, ...]:
    """Groups that nobody was in, and events that nobody had: more often misspelled than impossible."""
    nobody = [
        f"no sample so far informs {leaf.text}, so nothing is said of it: is it spelled as the stream has it?"
        for leaf in leaves
        if not leaf.n
    ]
    return (*nobody, *never_happened(leaves))


def _checked_property(value: Property | str) -> Property:
    if isinstance(value, Property):
        return value
    if isinstance(value, str):
        return parse(value)
    raise UsageError(f"expected a property about rates to watch, but got {value!r} of type {type(value).__name__}")


def _checked_risk(alpha: float | None, run_length: float | None) -> tuple[float | None, float | None]:
    if (alpha is None) == (run_length is None):
        raise UsageError(
            "expected either alpha, the risk that there is ever a false alarm, or run_length, the mean number of "
            "samples between false alarms: alpha=0.01, or run_length=100_000"
        )
    if alpha is not None and not (isinstance(alpha, int | float) and 0.0 < alpha < 1.0):
        raise UsageError(f"expected alpha strictly between 0 and 1, but got alpha={alpha!r}")
    if run_length is not None and not (isinstance(run_length, int | float) and run_length >= 1.0):
        raise UsageError(f"expected run_length of at least 1, but got run_length={run_length!r}")
    return alpha, run_length


def _checked_window(value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"expected window as a number of samples, but got window={value!r}")
    return value


def _is_column(value: Any) -> bool:
    return not isinstance(value, str | bytes) and hasattr(value, "__len__")
