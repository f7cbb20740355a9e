"""The evidence of a watch: the statistics that its answers are computed from, the answers, and what was read.

It is an evidence file like that of a run, with an additional part. It holds sums and the wealth of bets at the moments
that matter, and no samples; its size is constant, except for the list of what was read and the alerts. *Guarantee*: if
nothing differs, alerts, verdicts and intervals follow from these statistics. It is not implied that the statistics are
those of the stream, since wealth cannot be computed without the samples: only reading them again shows that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import exp, inf, isfinite, isinf
from typing import Any

import numpy as np

from isonomia.errors import RecordError
from isonomia.evidence.detectors import Crossing
from isonomia.records.evidence import CheckEvidence, EvidenceFile
from isonomia.spec.text import to_text
from isonomia.spec.tree import Rate
from isonomia.toml import toml_key, toml_value
from isonomia.watch.answers import Alert, SideStatistics, WatchStatistics, WatchTerms
from isonomia.watch.stream import ACKNOWLEDGED, DECISIONS, LEFT_OUT, OUTCOMES, StreamTally, WatchedSide, window_start
from isonomia.wording import plural

MAX_SAMPLES = 2**53
"""The maximum number of samples of a stream: beyond this, whole numbers are not exact as floats."""

CLOSE = 1e-9
"""The relative error that rounding may cause in sums, and between the log wealth of an alert and its threshold."""


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """What else is known about a stream; nothing if its samples came from Python.

    Attributes
    ----------
    source
        What it is, in words.
    log
        What was read, in order, and where alerts were acknowledged: ``brings``, ``position``, ``rows``, ``digest``.
    alerts
        For each alert, when it was ``raised`` and ``acknowledged``, and the parts ``in`` which it came and
        ``began_in`` which it began.
    """

    source: str | None = None
    log: tuple[Mapping[str, Any], ...] = ()
    alerts: tuple[Mapping[str, Any], ...] = ()


def watch_evidence(
    terms: WatchTerms,
    known: WatchStatistics,
    stream: StreamRecord,
    *,
    run: Mapping[str, Any],
    audit: Mapping[str, Any],
    definitions: Sequence[Mapping[str, Any]],
    model: Mapping[str, Any],
) -> EvidenceFile:
    """The evidence of a watch.

    Parameters
    ----------
    terms, known, stream
        What is watched, its statistics, and what was read.
    run, audit
        As for :class:`EvidenceFile`; ``audit`` is the watch file.
    definitions
        The table of each property in the watch file.
    model
        What the model says about itself; empty without a model.
    """
    entries = {"model": model} if model else {}
    checks = tuple(
        CheckEvidence(verdict.name or verdict.text, definition, options, entries, _finite(verdict.to_dict()))
        for definition, options, verdict in zip(definitions, options_of(terms), terms.verdicts(known), strict=True)
    )
    part = watch_part(terms, known)
    nothing = {"raised": None, "acknowledged": None, "in": None, "began_in": None}
    times = stream.alerts or (nothing,) * len(part["alerts"])
    part["alerts"] = [{**alert, **when} for alert, when in zip(part["alerts"], times, strict=True)]
    watch = {"source": stream.source, **part, "log": [dict(entry) for entry in stream.log]}
    return EvidenceFile(run, audit, checks, watch=watch)


def watch_part(terms: WatchTerms, known: WatchStatistics) -> dict[str, Any]:
    """The statistics and what follows from them, in the form of the evidence."""
    return {
        "samples": known.samples,
        "pending": known.pending,
        "missing": known.missing,
        "acknowledged": list(known.acknowledged),
        "rates": _rates(terms, known),
        "sides": [_side(terms, *each) for each in zip(terms.sides, known.sides, strict=True)],
        "now": _now(terms, known),
        "alerts": [
            {**_alert(terms.alert(index, crossing)), **_plain_crossing(index, crossing)}
            for index, crossing in known.crossings
        ],
    }


def options_of(terms: WatchTerms) -> list[dict[str, Any]]:
    """How each property is watched, and what it says in plain English."""
    risks = {"alpha": terms.alpha, "run_length": terms.run_length, "delta": terms.delta}
    shared = {name: None if risk is None else float(risk) for name, risk in risks.items()} | {"window": terms.window}
    return [{**shared, "explanation": prop.explain()} for prop in terms.properties]


def _alert(alert: Alert) -> dict[str, Any]:
    content = asdict(alert)
    content["onset"] = {name: content["onset"][name] for name in ("estimate", "low", "high")}
    return content


def _side(terms: WatchTerms, watched: tuple[int, WatchedSide], side: SideStatistics) -> dict[str, Any]:
    """The statistics of a half-space, and the smallest risks at which it, and its opposite, would be refuted."""
    violated, holds = (len(terms.sides) * exp(-each) for each in (side.against, side.opposite))
    return {
        "text": terms.claims[watched[0]].text,
        "against": side.against,
        "opposite": side.opposite,
        "height": _or_none(side.height),
        "risk_violated": min(violated, 1.0),
        "risk_holds": min(holds, 1.0),
    }


def _now(terms: WatchTerms, known: WatchStatistics) -> list[dict[str, Any]]:
    statuses = []
    for each in terms.now(known):
        expression = {key: _or_none(value) for key, value in asdict(each.expression).items()}
        about = {"property": each.property, "group": each.group, "answer": each.answer}
        statuses.append({**about, **expression, "samples": each.samples, "first": each.first})
    return statuses


def _rates(terms: WatchTerms, known: WatchStatistics) -> list[dict[str, Any]]:
    return [
        {
            "text": to_text(leaf),
            "n": int(known.everything.counts[k]),
            "sum": float(known.everything.totals[k]),
            "recent_n": int(known.recent.counts[k]),
            "recent_sum": float(known.recent.totals[k]),
        }
        for k, leaf in enumerate(terms.leaves)
    ]


def _plain_crossing(index: int, crossing: Crossing) -> dict[str, Any]:
    return {
        "side": index,
        "heights": [_or_none(height) for height in crossing.heights],
        "moments": crossing.moments.tolist(),
        "against": crossing.against.tolist(),
        "opposite": crossing.opposite.tolist(),
        "since": crossing.since.tolist(),
    }


def _or_none(value: Any) -> Any:
    """A number that JSON can hold: ``None`` in place of an infinite one."""
    return None if isinstance(value, float) and isinf(value) else value


def _finite(verdict: dict[str, Any]) -> dict[str, Any]:
    """A verdict as JSON gives it back: lists in place of tuples."""
    return {key: list(value) if isinstance(value, tuple) else value for key, value in verdict.items()}


# ---------------------------------------------------------------------------------------------------------- read again


def statistics_in(watch: Mapping[str, Any], terms: WatchTerms) -> WatchStatistics:
    """The statistics in the evidence of a watch; raises ``RecordError`` if they belong to another watch."""
    texts = [to_text(leaf) for leaf in terms.leaves]
    if [each["text"] for each in watch["rates"]] != texts:
        raise RecordError(f"expected sums of {', '.join(texts):.200}, which the watch file speaks of, in this order")
    if len(watch["sides"]) != len(terms.sides):
        raise RecordError(f"expected statistics of {len(terms.sides)} half-spaces, but got {len(watch['sides'])}")
    samples = watch["samples"]
    if not 0 <= samples <= MAX_SAMPLES:
        raise RecordError(f"expected a number of samples that is possible in a stream, but got {samples}")
    start, number = window_start(samples, terms.window)
    return WatchStatistics(
        samples=samples,
        pending=watch["pending"],
        missing=watch["missing"],
        acknowledged=tuple(watch["acknowledged"]),
        everything=_tally(watch["rates"], "n", "sum", 0, 0),
        recent=_tally(watch["rates"], "recent_n", "recent_sum", start, number),
        sides=tuple(
            SideStatistics(each["against"], each["opposite"], _or_lowest(each["height"])) for each in watch["sides"]
        ),
        crossings=tuple(_crossing(each, terms) for each in watch["alerts"]),
    )


def _tally(rates: Sequence[Mapping[str, Any]], count: str, total: str, start: int, number: int) -> StreamTally:
    counts, totals = (np.asarray([each[key] for each in rates], dtype=float) for key in (count, total))
    return StreamTally(start, number, counts, totals)


def _crossing(alert: Mapping[str, Any], terms: WatchTerms) -> tuple[int, Crossing]:
    index, moments = alert["side"], np.asarray(alert["moments"], dtype=np.int64)
    against, opposite = (np.asarray(alert[key], dtype=float) for key in ("against", "opposite"))
    if not 0 <= index < len(terms.sides):
        raise RecordError(f"expected an alert of one of {plural(len(terms.sides), 'half-space')}, but got {index}")
    groups = len(terms.sides[index][1].channels)
    if not len(moments) == len(against) == len(opposite) > 0 or len(alert["since"]) != groups:
        raise RecordError(f"alert {alert['sample']}: expected an entry for each moment and group, but some are missing")
    before, after = (_or_lowest(height) for height in alert["heights"])
    since = np.asarray(alert["since"], dtype=float)
    return index, Crossing(int(moments[-1]), (before, after), moments, against, opposite, since)


def _or_lowest(value: float | None) -> float:
    return -inf if value is None else float(value)


# ------------------------------------------------------------------------------------------------------ contradictions


def contradictions(watch: Mapping[str, Any], terms: WatchTerms, known: WatchStatistics) -> Iterator[str]:
    """Why no stream can have these statistics, in words; replaying alone would accept any statistics."""
    yield from _impossible_sums(terms, known)
    yield from _impossible_alerts(watch["alerts"], terms, known)
    if watch["source"] is not None:
        yield from _other_log(watch, known)


def _impossible_sums(terms: WatchTerms, known: WatchStatistics) -> Iterator[str]:
    if min(known.pending, known.missing) < 0:
        yield f"{known.pending} samples are pending and {known.missing} were left out"
    groups: dict[Any, tuple[float, float]] = {}
    window = known.samples - known.recent.start
    for k, leaf in enumerate(terms.leaves):
        counts = float(known.everything.counts[k]), float(known.recent.counts[k])
        totals = float(known.everything.totals[k]), float(known.recent.totals[k])
        text, earlier = to_text(leaf), (counts[0] - counts[1], totals[0] - totals[1])
        whole = all(value.is_integer() for value in totals) if isinstance(leaf, Rate) else True
        parts = [*zip(counts, totals, strict=True), earlier]
        if not whole or any(not _possible(count, total) for count, total in parts):
            yield f"of {text} there are sums {totals} of {counts} samples, in all and in the last window"
        if counts[0] > known.samples or counts[1] > window or (not known.recent.start and counts[0] != counts[1]):
            yield f"{text} is informed by {counts} samples of {known.samples} and {window}"
        if leaf.given is None and counts != (known.samples, window):
            yield f"{text} is about all samples, but informed by {counts} samples of {known.samples} and {window}"
        if groups.setdefault(leaf.given, counts) != counts:
            yield f"{text} is informed by {counts} samples, another rate of the same group by {groups[leaf.given]}"


def _possible(count: float, total: float) -> bool:
    """Whether ``count`` values between 0 and 1 can have this sum."""
    close = CLOSE * max(1.0, abs(count))
    return count >= 0 and -close <= total <= count + close


def _impossible_alerts(alerts: Sequence[Mapping[str, Any]], terms: WatchTerms, known: WatchStatistics) -> Iterator[str]:
    times = known.acknowledged
    if any(later < sooner for sooner, later in pairwise((0, *times, known.samples))):
        yield f"alerts were acknowledged after {list(times)!r:.80} of {known.samples} samples"
    drawn = [crossing.draws for _, crossing in known.crossings]
    if any(later < sooner for sooner, later in pairwise((0, *drawn, known.samples))):
        yield f"alerts came after {drawn!r:.80} of {known.samples} samples"
    given = set()
    for recorded, (index, crossing) in zip(alerts, known.crossings, strict=True):
        epoch, claim = known.epoch(crossing.draws), terms.claims[terms.sides[index][0]]
        what, (before, after) = f"the alert after {crossing.draws:,} samples", crossing.heights
        enough = terms.enough(epoch)
        if not before - CLOSE * abs(enough) < enough <= after + CLOSE * abs(enough) or not isfinite(after):
            yield f"{what} needs a log wealth of {enough:.6g}, but it was {before:.6g} and then {after:.6g}"
        if crossing.moments[0] < 0 or (np.diff(crossing.moments) <= 0).any():
            yield f"the remembered moments of {what} are not in order"
        if max(abs(crossing.against[-1]), abs(crossing.opposite[-1])) > CLOSE or (crossing.opposite < -CLOSE).any():
            yield f"bets of {what} that have just started have won or lost something"
        if not _possible_since(terms, index, crossing):
            yield f"{what} has {crossing.since.tolist()!r:.80} as draws and sums since it began"
        if (epoch, claim.text, claim.group) in given:
            yield f"{what} came while one of the same kind was open"
        given.add((epoch, claim.text, claim.group))
        acknowledged, times_known = epoch < len(times), recorded["raised"] is not None
        if times_known and acknowledged != (recorded["acknowledged"] is not None):
            yield f"{what} was acknowledged: {recorded['acknowledged'] is not None}, and {acknowledged} by its number"
    for (number, _), side in zip(terms.sides, known.sides, strict=True):
        claim = terms.claims[number]
        if side.height > terms.enough(len(times)) + CLOSE and (len(times), claim.text, claim.group) not in given:
            yield f"{claim.text} has an e-detector with a log wealth of {side.height:.6g}, and no alert"
        if min(side.against, side.opposite) < -CLOSE:
            yield f"the highest wealth of {claim.text} is below the initial wealth"


def _possible_since(terms: WatchTerms, index: int, crossing: Crossing) -> bool:
    """Whether the draws since the onset can be this many, and their payoffs are within their range."""
    detector, (counts, sums) = terms.sides[index][1].detector, crossing.since.T
    room = crossing.draws - crossing.moments[crossing.best]
    close = CLOSE * np.maximum(1.0, counts)
    low, high = np.asarray(detector.lows) * counts - close, np.asarray(detector.highs) * counts + close
    whole = bool((counts == np.floor(counts)).all() and (counts >= 0).all() and counts.sum() <= room)
    return whole and bool(((low <= sums) & (sums <= high)).all())


def _other_log(watch: Mapping[str, Any], known: WatchStatistics) -> Iterator[str]:
    """Where the rows that were read do not add up to those that were judged."""
    rows, acknowledged, files = 0, [], []
    for entry in watch["log"]:
        if entry["brings"] == ACKNOWLEDGED:
            acknowledged.append(rows)
        elif entry["brings"] == DECISIONS:
            files.append((rows, rows + entry["rows"], (entry["position"] or {}).get("file")))
            rows += entry["rows"]
        nothing = (entry["position"], entry["rows"], entry["digest"]) == (None, 0, None)
        if (
            entry["rows"] < 0
            or (entry["position"] is None and not nothing)
            or nothing != (entry["brings"] in {ACKNOWLEDGED, LEFT_OUT})
        ):
            yield f"the log has {entry['rows']} rows of {entry['brings']} at {entry['position']!r:.80}"
    judged = known.samples + known.pending + known.missing
    if rows != judged:
        yield f"{plural(rows, 'decision')} were read, but {judged:,} were judged, are pending or were left out"
    late = any(entry["brings"] == OUTCOMES for entry in watch["log"]) or known.pending or known.missing
    times = list(known.acknowledged)
    if len(acknowledged) != len(times) or (not late and acknowledged != times):
        yield f"alerts were acknowledged after {acknowledged!r:.80} decisions by the log, and after {times!r:.80}"
    named = [(before, upto, name) for before, upto, name in files if name is not None]
    if not late and len(named) == len(files):
        yield from _other_files(watch["alerts"], named)


def _other_files(alerts: Sequence[Mapping[str, Any]], files: Sequence[tuple[int, int, str]]) -> Iterator[str]:
    """Where an alert is said to have come, or to have begun, in another file than its samples are in."""
    names = [name for *_, name in files]
    for alert in alerts:
        what, onset = f"the alert after {alert['sample']:,} samples", alert["onset"]["estimate"]
        came = next((k for k, (before, upto, _) in enumerate(files) if before < alert["sample"] <= upto), None)
        if came is None or alert["in"] != names[came]:
            yield f"{what} is recorded in {alert['in']}, which has other samples"
            continue
        began = next(k for k, (_, upto, _) in enumerate(files) if upto >= min(onset, alert["sample"]))
        # A long history drops some files: then the next one that is kept is named.
        if alert["began_in"] not in names[began : came + 1]:
            yield f"{what} is recorded as begun in {alert['began_in']}, which has other samples"


# ----------------------------------------------------------------------------------------------- a watch made in Python


def terms_text(
    terms: WatchTerms,
    title: str,
    values: Mapping[str, Sequence[Any]],
    ranges: Mapping[str, Sequence[float]],
    late: Mapping[str, Any] | None,
) -> tuple[str, list[dict[str, Any]]]:
    """The watch file of a watch that was made in Python, without its source; and the table of each property."""
    names = [{} if prop.name is None else {"name": prop.name} for prop in terms.properties]
    tables: list[dict[str, Any]] = [
        {**name, "check": str(prop)} for name, prop in zip(names, terms.properties, strict=True)
    ]
    top = {"title": title, "alpha": terms.alpha, "run_length": terms.run_length, "delta": terms.delta}
    top |= {"window": terms.window, "seed": terms.seed}
    parts = [_lines(top)]
    for name, table in (("values", values), ("ranges", ranges), ("outcomes", late or {})):
        if table:
            parts.append(f"[{name}]\n{_lines(table)}")
    parts += [f"[[property]]\n{_lines(table)}" for table in tables]
    return "\n".join(parts), tables


def _lines(table: Mapping[str, Any]) -> str:
    given = {key: value for key, value in table.items() if value is not None}
    return "".join(f"{toml_key(key)} = {toml_value(_listed(value))}\n" for key, value in given.items())


def _listed(value: Any) -> Any:
    """Python and NumPy values as TOML can hold them."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        return value.item() if isinstance(value, np.generic) else value
    return [_listed(each) for each in value]
