"""What is kept of a stream: sums since certain moments, and samples that wait for their outcomes.

*Sums.* For every rate and mean, the number of samples and the sum of their values: of the whole stream, and since every
quarter of a window.

*Late outcomes.* Samples wait for them, and are judged in the order in which the samples came. That order is fixed
before any outcome is seen, so outcomes that come sooner for some than for others change only the delay. If samples were
judged as outcomes come, a stream whose good outcomes come first would look good, and then bad.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.errors import DataError, UsageError
from isonomia.populations.columns import plain_value
from isonomia.populations.table import Table
from isonomia.spec.columns import EXACT
from isonomia.wording import shortened

Floats = NDArray[np.float64]

DECISIONS, OUTCOMES = "decisions", "outcomes"
"""What a part of a stream brings: samples, or outcomes of earlier samples."""

ACKNOWLEDGED = "acknowledged"
"""Marks in the log where alarms were acknowledged, so that a replayed watch does so at the same moment."""

LEFT_OUT = "left out"
"""Marks in the log where all outcomes had been read, and samples that had waited too long were left out."""

EARLY = 100_000
"""The most outcomes that are kept for samples that may still come; the oldest are dropped."""

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
class Sums:
    """The tallies of a stream: of all of it, and since every quarter of the last window."""

    window: int
    everything: StreamTally
    parts: list[StreamTally]

    @classmethod
    def empty(cls, leaves: int, window: int) -> Sums:
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


class Waiting:
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
                "expected both outcome and id for outcomes that come late: the column of the outcome, and the one that "
                "tells samples apart"
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

    def ids(self, people: Table) -> list[str]:
        """The ids of samples, in their normal form."""
        if self.id not in people.names:
            raise DataError(f"expected the column {self.id!r}, which identifies samples, but this update has none")
        ids = [normal_id(value) for value in people.column(self.id)]
        if None in ids:
            raise DataError(f"expected {self.id!r} of every sample, but it is missing in row {ids.index(None) + 1}")
        return ids  # type: ignore[return-value]

    def add(self, people: Table, names: Sequence[str], ids: Sequence[str]) -> None:
        """Let samples wait; one that already has an outcome waits only for those before it."""
        seen: set[str] = set()
        twice = next((key for key in ids if key in self._rows or key in seen or seen.add(key)), None)  # type: ignore[func-returns-value]
        if twice is not None:
            raise DataError(f"expected every sample once, but got {self.id} {twice!r} a second time")
        kept = [name for name in names if name in people.names and name != self.outcome]
        columns = {name: people.column(name) for name in kept}
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
        keys, values = ([ids], [outcomes]) if _is_one(ids) else (list(ids), list(outcomes))
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
        ids, found, done = [], [], 0
        for key, (number, row) in self._rows.items():
            late = leave_out and self.patience is not None and self._came - number > self.patience
            if self.outcome not in row and not late:
                break
            done += 1
            if self.outcome in row:
                ids.append(key)
                found.append(row)
        names = dict.fromkeys(name for row in found for name in row)
        return ids, {name: [row.get(name) for row in found] for name in names}, done

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


def _is_one(value: Any) -> bool:
    return isinstance(value, str | bytes) or not hasattr(value, "__len__")


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


def to_plain(item: Any) -> dict[str, Any]:
    """The fields of a dataclass as JSON can hold them; arrays are exact, bit for bit."""
    return {each.name: _plain_value(getattr(item, each.name)) for each in fields(item)}


def _plain_value(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"dtype": value.dtype.str, "shape": list(value.shape), "data": data}
    return [_plain_value(each) for each in value] if isinstance(value, tuple) else value


def from_plain(kind: Any, content: Mapping[str, Any]) -> Any:
    """The inverse of :func:`to_plain`."""
    return kind(**{each.name: _unplain_value(content[each.name]) for each in fields(kind)})


def _unplain_value(value: Any) -> Any:
    if isinstance(value, dict):
        data = base64.b64decode(value["data"], validate=True)
        return np.frombuffer(data, dtype=np.dtype(value["dtype"])).reshape(value["shape"]).copy()
    return tuple(_unplain_value(each) for each in value) if isinstance(value, list) else value
