"""A model in production, judged as people arrive.

Three questions, each answered in constant memory. *Has it held so far?* Bets that started with the first person. *Has
it stopped holding?* E-detectors, which start a bet with every person (:mod:`isonomia.evidence.detectors`). *Does it
hold now?* Intervals for the last people.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, ClassVar
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.arguments import checked_delta, checked_ranges, outcomes_of, refuse_unclear_outcome
from isonomia.audits.rates.counting import BatchReader
from isonomia.audits.verdicts import about_model
from isonomia.engine.parameters import Budget
from isonomia.errors import BudgetTooSmallError, DataError, IsonomiaError, RecordError, UsageError
from isonomia.evidence.detectors import Crossing, DetectorState, Onset, RestartWeights
from isonomia.models.adapt import adapt
from isonomia.models.meter import BudgetSpentError, QueryMeter, metering
from isonomia.models.session import ModelSession, open_session
from isonomia.populations.table import Table
from isonomia.records.evidence import evidence_text
from isonomia.records.store import versions
from isonomia.records.verdict import Verdict
from isonomia.spec.evaluate import Batch
from isonomia.spec.property import Property, parse
from isonomia.spec.text import to_text
from isonomia.spec.tree import Leaf, Value, check_names, columns_of, outputs_of
from isonomia.watch.answers import Alert, SideStatistics, WatchStatistics, WatchStatus, WatchTerms
from isonomia.watch.evidence import StreamRecord, terms_text, watch_evidence
from isonomia.watch.stream import (
    PendingSamples,
    StreamSums,
    StreamTally,
    WatchedClaim,
    from_plain,
    is_column,
    to_plain,
    watched_claims,
)

Floats = NDArray[np.float64]

STATE_FORMAT = 6
"""The version of the stored state."""


class Watch:
    """Judges a stream of decisions as they arrive.

    Parameters
    ----------
    properties
        What must hold: a property about rates or means, as text or made in Python, or several of them.
    alpha
        The probability that there is ever a false alarm is at most this, over all properties and groups.
    run_length
        Instead of ``alpha``: the mean number of samples to a false alarm is at least this, over all properties and
        groups. It detects changes sooner in a long stream, at the price of an occasional false alarm.
    delta
        The risk of the verdicts so far, over all properties, and of the intervals for the last samples.
    model
        The model for ``prediction`` and ``score`` of every sample; ``None`` if the tables have them.
    window
        The number of last samples that *now* covers.
    values
        The values of columns that a property uses in ``for g in column``.
    ranges
        The lowest and highest possible value of columns whose means are watched.
    features
        The columns that the model gets, if it does not declare them itself.
    outcome, id
        The column of an outcome that becomes known later, and the column that identifies samples. Then a sample waits
        until :meth:`label` brings its outcome, and samples are judged in order of arrival.
    patience
        The number of later samples after which a sample without an outcome is left out; by default it waits forever.
    seed
        The seed that assigns samples to overlapping groups.
    budget
        The most rows that are ever sent to the model, ``"100000 queries"``; an update that would take more is refused
        before any of its rows is sent. ``queries`` says how many were sent so far.

    Notes
    -----
    Guarantee: while every property holds for the distribution of every sample, given those before, the probability that
    there is ever an alert is at most ``alpha``, or the mean number of samples to the first alert is at least
    ``run_length``. The distribution may change from sample to sample, and the next sample may depend on earlier
    decisions and outcomes. For properties that compare groups, at most one of the compared rates may change within a
    block: usually the few samples in which each of the groups occurs once or twice, never more than 10,000. After an
    alert was acknowledged, the watch continues with half of the remaining risk.

    With late outcomes it does no harm if they come sooner for some samples than for others, since samples are judged
    in order of arrival. Whether ``patience`` leaves a sample out must not depend on its outcome; ``bounds``
    bounds the effect of the missing outcomes.

    Examples
    --------
    >>> import numpy as np
    >>> import isonomia as iso
    >>> rng = np.random.default_rng(1)
    >>> watch = iso.Watch("P[hired] >= 0.3", alpha=0.01)
    >>> before = watch.update({"hired": rng.random(5_000) < 0.4})
    >>> (alert,) = watch.update({"hired": rng.random(5_000) < 0.2})
    >>> 5_000 < alert.sample < 5_500
    True
    >>> alert.onset.low <= 5_000 <= alert.onset.high
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
        budget: Budget | str | None = None,
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
        self._given: tuple[Mapping[str, Any], Mapping[str, Any]] = dict(values or {}), dict(ranges or {})
        held = dict.fromkeys(name for prop in self.properties for name in outcomes_of(prop))
        if outcome is not None:
            held[outcome] = None
        self._model: ModelSession | None = None
        if model is not None:
            adapted = adapt(model, features)
            refuse_unclear_outcome(adapted, self.properties, tuple(held))
            self._model = open_session(adapted, withheld=tuple(held), watched=False)
        self._meter = QueryMeter(Budget.of_queries(budget, "a watch").queries)
        score = None if self._model is None else self._model.score_range
        claims = watched_claims(
            self.properties,
            values or {},
            checked_ranges(ranges or {}),
            score,
            RestartWeights(self.run_length is not None),
        )
        self.terms = WatchTerms(
            self.properties, claims, self.alpha, self.run_length, self.delta, self.window, self.seed
        )
        self._names: tuple[str, ...] | None = None
        self._late = None if outcome is None and id is None else PendingSamples(outcome, id, patience)
        self._folds = np.random.default_rng([seed, len(self.terms.sides)])
        self._states = [side.detector.begin() for _, side in self.terms.sides]
        self._sums = StreamSums.empty(len(self.terms.leaves), self.window)
        self._acknowledged: tuple[int, ...] = ()
        self._crossings: tuple[tuple[int, Crossing], ...] = ()
        self.samples = 0
        self.judged_ids: tuple[str, ...] = ()  # of the samples that the last update judged, with late outcomes
        self.alerts: tuple[Alert, ...] = ()

    # -------------------------------------------------------------------------------------------------------- updates

    def update(self, table: Any) -> tuple[Alert, ...]:
        """Judge the next samples of the stream, in their order; returns the alerts that they raise.

        ``table`` is any table that :class:`Sample` takes, or a mapping from column to value for one sample. The results
        do not depend on how a stream is cut into tables.
        """
        if isinstance(table, Mapping) and table and not any(is_column(value) for value in table.values()):
            table = {name: [value] for name, value in table.items()}
        return self.take_in(Table.of(table), leave_out=True)

    def take_in(self, people: Table, *, ids: Sequence[str] | None = None, leave_out: bool) -> tuple[Alert, ...]:
        """Judge samples as :meth:`update` does.

        ``ids`` are those of late outcomes, if the table's own may be inexact. Unless it may ``leave_out`` samples that
        have waited too long for their outcomes, they wait for :meth:`leave_out`.
        """
        if self._late is None:
            return self._judge(people)
        ids = self._late.ids(people) if ids is None else ids
        self._late.add(people, self._wanted(people, first=self._names is None), ids)
        try:
            return self._judge_those_ready(leave_out=leave_out)
        except IsonomiaError:
            self._late.take_back(ids)
            raise

    def label(self, ids: Any, outcomes: Any) -> tuple[Alert, ...]:
        """Add outcomes that have become known, by the ids of their samples; returns the alerts that they raise.

        Ids are compared as text, so that 7 and ``"7"`` are the same. The first outcome of a sample counts.
        """
        late = self._waiting
        labelled = late.label(ids, outcomes)
        try:
            return self._judge_those_ready(leave_out=False)
        except IsonomiaError:
            late.refuse(labelled)
            raise

    def leave_out(self) -> tuple[Alert, ...]:
        """Leave out the samples that have waited too long, and judge those after them; returns the alerts."""
        return self._judge_those_ready(leave_out=True)

    @property
    def pending(self) -> int:
        """The number of samples that wait for an outcome."""
        return 0 if self._late is None else len(self._late)

    @property
    def missing(self) -> int:
        """The number of samples left out because their outcomes did not come in time."""
        return 0 if self._late is None else self._late.missing

    @property
    def late_columns(self) -> tuple[str, str] | None:
        """The column of the late outcome, and the column that identifies samples; ``None`` without late outcomes."""
        return None if self._late is None else (self._late.outcome, self._late.id)

    def awaits(self, id: str) -> bool:  # noqa: A002
        """Whether a sample waits to be judged, given its id in normal form."""
        return self._late is not None and id in self._late

    @property
    def _waiting(self) -> PendingSamples:
        if self._late is None:
            raise UsageError(
                "expected a watch with late outcomes: Watch(..., outcome='column', id='column')", name="outcome"
            )
        return self._late

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """The least and the greatest value that each rate and mean so far could have with the missing outcomes."""
        absent = self.pending + self.missing
        bounds = {}
        for k, leaf in enumerate(self.terms.leaves):
            low, high = self.terms.ranges[leaf]
            count, total = self._sums.everything.counts[k] + absent, self._sums.everything.totals[k]
            ends = (total / count, (total + absent) / count) if count else (0.0, 1.0)
            bounds[to_text(leaf)] = low + (high - low) * float(ends[0]), low + (high - low) * float(ends[1])
        return bounds

    def _judge_those_ready(self, *, leave_out: bool) -> tuple[Alert, ...]:
        late = self._waiting
        ids, columns, done = late.ready(leave_out=leave_out)
        alerts = self._judge(Table.of(columns)) if columns else ()
        late.settle(done)
        self.judged_ids = tuple(ids)
        return alerts

    def _judge(self, people: Table) -> tuple[Alert, ...]:
        reader = BatchReader(self._batch(people), lambda row: f"row {row + 1} of this update ({people.shown(row)})")
        # Errors are raised here, before anything is changed.
        inside, values = zip(*(self._values(leaf, reader) for leaf in self.terms.leaves), strict=True)
        several = any(side.folds > 1 for _, side in self.terms.sides)
        folds = self._folds.random(people.rows) if several else np.zeros(0)
        self._sums.add(self.samples, inside, values, people.rows)
        crossings = []
        enough = self.terms.enough(len(self._acknowledged))
        for index, (_, side) in enumerate(self.terms.sides):
            labels, payoffs = side.payoffs(reader, folds)
            self._states[index], crossed = side.detector.observe(self._states[index], labels, payoffs, enough)
            if crossed:
                crossings.append((index, crossed))
        self.samples += people.rows
        before = len(self.alerts)
        for index, crossed in sorted(crossings, key=lambda crossing: crossing[1][1]):
            number, side = self.terms.sides[index]
            if not self._is_open(self.terms.claims[number]):
                crossing = side.detector.crossing(*crossed).thinned(self.terms.onset_risk)
                self._crossings = (*self._crossings, (index, crossing))
                self.alerts = (*self.alerts, self.terms.alert(index, crossing))
        return self.alerts[before:]

    @property
    def open_alerts(self) -> tuple[Alert, ...]:
        """The alerts that have not been acknowledged."""
        since = self._acknowledged[-1] if self._acknowledged else 0
        return tuple(alert for alert in self.alerts if alert.sample > since)

    @property
    def alert(self) -> Alert | None:
        """The first alert that has not been acknowledged."""
        return min(self.open_alerts, key=lambda alert: alert.sample, default=None)

    def acknowledge(self) -> None:
        """Acknowledge all alerts, and start the detectors again from now, with half of the remaining risk."""
        self._acknowledged = (*self._acknowledged, self.samples)
        for index, (_, side) in enumerate(self.terms.sides):
            self._states[index] = side.detector.restarted(self._states[index])

    @property
    def risk_words(self) -> str:
        """The remaining risk after the acknowledged alerts, in words."""
        if self.alpha is None:
            return f"the mean number of samples to the next false alarm is {self.run_length:,.0f} or more, as before"
        left = self.alpha * 0.5 ** len(self._acknowledged)
        return f"of the risk of {self.alpha:g} there is {left:g} left for all alerts from now on"

    def _is_open(self, claim: WatchedClaim) -> bool:
        return any((alert.text, alert.group) == (claim.text, claim.group) for alert in self.open_alerts)

    def _wanted(self, people: Table, *, first: bool) -> tuple[str, ...]:
        """The columns that the properties name; all columns if there is a model. Missing ones are refused."""
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
        try:
            with metering(self._meter):
                answer = self._model(people, "score" in outputs, "prediction" in outputs)
        except BudgetSpentError as spent:
            allowed = self._meter.queries
            raise BudgetTooSmallError(
                f"this update has {people.rows:,} rows for the model, which was sent {self.queries:,} before, but the "
                f"budget of the watch is {allowed:,.12g} queries: none of them was sent. Allow more to continue",
                self.queries + people.rows,
                allowed,
            ) from spent
        return Batch(people.rows, columns, answer.prediction, answer.score, answer.classes)

    @property
    def queries(self) -> int:
        """How many rows were sent to the model so far, in this process and in those whose state it continues."""
        return self._meter.rows

    # -------------------------------------------------------------------------------------------------------- windows

    def _values(self, leaf: Leaf, reader: BatchReader) -> tuple[NDArray[np.bool_], Floats]:
        """Who is in a leaf's group, and its value for each, scaled to between 0 and 1; 0 for the others."""
        chosen = reader.members(leaf.given)
        inside = np.ones(reader.batch.rows, dtype=bool) if chosen is None else chosen
        low, high = self.terms.ranges[leaf]
        values = np.zeros(len(inside))
        values[inside] = (reader.numbers(leaf, inside, (low, high)) - low) / (high - low)
        return inside, values

    @property
    def now(self) -> tuple[WatchStatus, ...]:
        """Whether each comparison holds for the last samples: at least ``window`` of them, if there were that many.

        Guarantee: with probability at least ``1 - delta`` every interval that is ever shown contains the mean, over
        the samples that it is about, of what the rate was at each of them.
        """
        return self.terms.now(self.statistics)

    # ------------------------------------------------------------------------------------------------------- verdicts

    @property
    def verdict(self) -> Verdict:
        """Whether the property has held so far; the first one if there are several."""
        return self.verdicts[0]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Whether each property has held so far, with a risk of ``delta`` at every look, over all of them.

        *Violated*: it failed at some time. *Holds*: it held at some time, so if rates never change, it holds. A
        property with several parts, such as two sides or every group, is never said to hold: another part
        may have failed at each moment. Its groups have their own answers.
        """
        return self.terms.verdicts(self.statistics)

    @property
    def statistics(self) -> WatchStatistics:
        """The statistics behind all answers; of constant size, except for the alerts."""
        sides = zip(self.terms.sides, self._states, strict=True)
        return WatchStatistics(
            samples=self.samples,
            pending=self.pending,
            missing=self.missing,
            acknowledged=self._acknowledged,
            everything=self._sums.everything,
            recent=self._sums.recent,
            sides=tuple(SideStatistics(*state.peaks, side.detector.height(state)) for (_, side), state in sides),
            crossings=self._crossings,
        )

    # ---------------------------------------------------------------------------------------------------------- state

    @property
    def state(self) -> bytes:
        """The state of the watch, to continue elsewhere: ``Watch(...same arguments...).restore(state)``."""
        content = {
            "format": STATE_FORMAT,
            "watches": self._identity(),
            "samples": self.samples,
            "queries": self.queries,
            "acknowledged": list(self._acknowledged),
            "folds": self._folds.bit_generator.state,
            "states": [to_plain(state) for state in self._states],
            "everything": to_plain(self._sums.everything),
            "parts": [to_plain(each) for each in self._sums.parts],
            "waiting": None if self._late is None else self._late.state(),
            "alerts": [asdict(alert) for alert in self.alerts],
            "crossings": [[index, to_plain(crossing)] for index, crossing in self._crossings],
        }
        return json.dumps(content, separators=(",", ":")).encode()

    def restore(self, state: bytes) -> Watch:
        """Continue from a state; returns the watch itself.

        Raises
        ------
        RecordError
            If it is not a state, or belongs to another watch.
        """
        try:
            content = json.loads(state)
            if content["format"] != STATE_FORMAT:
                raise RecordError(
                    f"expected a state of format {STATE_FORMAT}, but got format {content['format']!r}. Continue with "
                    "the version of Isonomia that wrote it, or begin a new watch in another store"
                )
            if content["watches"] != self._identity():
                raise RecordError(
                    "expected the state of a watch over the same properties, groups and risks, but it belongs "
                    f"to another: {content['watches']!r}"
                )
            self.samples = int(content["samples"])
            self._meter.was(int(content["queries"]))
            self._acknowledged = tuple(map(int, content["acknowledged"]))
            self._folds.bit_generator.state = content["folds"]
            self._states = [from_plain(DetectorState, each) for each in content["states"]]
            parts = [from_plain(StreamTally, each) for each in content["parts"]]
            self._sums = StreamSums(self.window, from_plain(StreamTally, content["everything"]), parts)
            if self._late is not None:
                self._late.restore(content["waiting"])
            self.alerts = tuple(
                Alert(**{**each, "onset": Onset(**{**each["onset"], "means": ()})}) for each in content["alerts"]
            )
            self._crossings = tuple((int(index), from_plain(Crossing, each)) for index, each in content["crossings"])
        except (LookupError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise RecordError(f"expected the state of a watch, but it cannot be read: {error}") from error
        return self

    def evidence(self, title: str = "A watch", key: bytes | None = None) -> str:
        """The text of a sealed evidence file of the watch in its present state, for ``isonomia replay``.

        It holds the statistics from which alerts, verdicts and intervals are computed, and no samples. ``title`` says
        what is watched; with a ``key`` of at least 16 bytes, only holders of the key can make the seal.
        """
        late = None
        if self._late is not None:
            late = {"column": self._late.outcome, "id": self._late.id, "patience": self._late.patience}
        text, tables = terms_text(self.terms, title, *self._given, late)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        run = {"id": uuid4().hex[:12], "begun": now, "ended": now, "title": title}
        evidence = watch_evidence(
            self.terms,
            self.statistics,
            StreamRecord(),
            run={**run, "versions": versions(), "seed": self.seed},
            audit={"name": "watch.toml", "text": text, "files": {}},
            definitions=tables,
            model=self.model_record,
        )
        return evidence_text(evidence, key)

    @cached_property
    def model_record(self) -> Mapping[str, Any]:
        """The model's description of itself, for records; empty without a model."""
        return about_model(self._model, None)

    def _identity(self) -> dict[str, Any]:
        return {
            "claims": [claim.text for claim in self.terms.claims],
            "ranges": [list(self.terms.ranges[leaf]) for leaf in self.terms.leaves],
            "alpha": self.alpha,
            "run_length": self.run_length,
            "delta": self.delta,
            "window": self.window,
            "seed": self.seed,
            "late": None if self._late is None else [self._late.outcome, self._late.id, self._late.patience],
        }


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
