"""The page of a watch: alerts, the state of each property after each update, counts by day, and what is pending."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from isonomia.records.display.view import interval, must_be, stretch
from isonomia.records.verdict import Expression, Verdict
from isonomia.report.page.charts import ChartDrawing, clipped
from isonomia.report.page.labels import short
from isonomia.report.page.page import odds, rendered
from isonomia.watch import Watch, WatchStatus
from isonomia.watch.answers import earliest_onset
from isonomia.watch.store import HistoryPoint, KeptAlert, WatchStore
from isonomia.wording import capitalised, chance, listed, number, plural

MAX_CHARTS = 12
"""The most charts of one property, those with an alert first; the table has every group."""

MAX_DAYS = 90
"""Days in the chart of counts."""

KEY = (
    "For the last samples, from update to update, with its interval; the dashed line is the threshold. Red: from the "
    "probable beginning to an alert."
)
"""How to read the charts of a property; shown with the first one."""

MAX_ALERTS = 50
"""Alerts in the table, the latest first."""


def watch_page(
    watch: Watch, store: WatchStore, title: str, why: Mapping[str, str], watch_file: str, updated: str
) -> str:
    """The page, as the text of one HTML file that opens offline and runs no script but its own.

    ``why`` says why properties must hold, by name; ``updated`` is the time of the update.
    """
    alerts, points, now = store.alerts(), store.points(), watch.now
    counts = _counts(store.days(MAX_DAYS))
    return rendered(
        "watch.html",
        title=short(title, 200) or "Watch",
        facts=tuple(_facts(watch, points, updated)),
        conclusion=conclusion(watch, alerts),
        promise=promise(watch),
        alerts=[_alert_row(alert) for alert in reversed(alerts[-MAX_ALERTS:])],
        left_out=max(0, len(alerts) - MAX_ALERTS),
        open=any(alert.acknowledged is None for alert in alerts),
        acknowledge=f"isonomia watch {watch_file} --acknowledge",
        sections=list(_sections(watch, now, points, alerts, why)),
        level=f"The probability that any interval ever shown here misses is at most {chance(watch.delta)}.",
        counts=counts,
        bounds=[(text, number(low), number(high)) for text, (low, high) in watch.bounds.items()],
        late=watch.pending + watch.missing > 0,
        pending=f"{watch.pending:,}",
        missing=f"{watch.missing:,}",
        assumptions=[capitalised(item) for item in watch.verdict.assumptions],
    )


def _facts(watch: Watch, points: Sequence[HistoryPoint], updated: str) -> Iterator[tuple[str, str]]:
    yield "updated", updated
    yield "samples judged", f"{watch.samples:,}"
    if points:
        yield "since", _moment(points[0].written)
        yield "last", short(points[-1].label, 80)
    if watch.pending or watch.missing:
        yield "outcomes", f"{watch.pending:,} pending, {watch.missing:,} left out"


def conclusion(watch: Watch, alerts: Sequence[KeptAlert]) -> str:
    """What a reader of the page wants to know first, in one sentence."""
    waiting = [alert for alert in alerts if alert.acknowledged is None]
    if waiting:
        names = dict.fromkeys(_whom(alert.content) for alert in waiting)
        return f"{plural(len(waiting), 'alert')}: {short(listed(names), 400)} stopped holding."
    past = (
        f" {plural(len(alerts), 'earlier alert')} {'was' if len(alerts) == 1 else 'were'} acknowledged."
        if alerts
        else ""
    )
    return f"No alert is open after {plural(watch.samples, 'sample')}.{past}"


def promise(watch: Watch) -> str:
    """The guarantee against false alarms."""
    over = "" if len(watch.now) == 1 else ", over all properties and groups"
    if watch.alpha is not None:
        return f"The chance that there is ever a false alarm is at most {odds(watch.alpha)}{over}."
    return (
        f"While everything holds, a false alarm comes after {watch.run_length:,.0f} samples or more, on average{over}."
    )


def _whom(content: Mapping[str, Any]) -> str:
    group = f" for {content['group']}" if content["group"] else ""
    return f"{content['property']}{group}"


def _alert_row(alert: KeptAlert) -> dict[str, str]:
    content, onset = alert.content, alert.content["onset"]
    since = "" if content["estimate"] is None else f"{number(content['estimate'])} since"
    return {
        "number": str(alert.number),
        "what": short(_whom(content), 200),
        "when": f"{_moment(alert.raised)}, in {short(alert.label, 80)}",
        "sample": f"{content['sample']:,}",
        "began": f"after {onset['estimate']:,} samples{earliest_onset(onset['low'], onset.get('risk'))}"
        + (f", in {short(alert.began, 80)}" if alert.began else ""),
        "value": f"{since}, must be {content['relation']} {number(content['threshold'])}".removeprefix(", "),
        "state": f"acknowledged {_moment(alert.acknowledged)}" if alert.acknowledged else "open",
        "delivered": ", ".join(sorted(alert.delivered)) or "not delivered yet",
    }


# ----------------------------------------------------------------------------------------------------------- properties


@dataclass(frozen=True, slots=True)
class WatchSection:
    """What the page says of one property."""

    anchor: str
    name: str
    text: str
    why: str
    state: str  # of the border: violated where an alert is open
    badge: str
    so_far: str
    meaning: str
    rows: tuple[tuple[str, str, str, str, str], ...]
    drawings: tuple[ChartDrawing, ...]
    left_out: int


def _sections(
    watch: Watch,
    now: Sequence[WatchStatus],
    points: Sequence[HistoryPoint],
    alerts: Sequence[KeptAlert],
    why: Mapping[str, str],
) -> Iterator[WatchSection]:
    names = [prop.name or str(prop) for prop in watch.properties]
    for count, (name, verdict) in enumerate(zip(names, watch.verdicts, strict=True), start=1):
        mine = [(index, standing) for index, standing in enumerate(now) if standing.property == name]
        ringing = {
            (alert.content["group"], alert.content["text"])
            for alert in alerts
            if alert.acknowledged is None and alert.content["property"] == name
        }
        groups = {group for group, _ in ringing}
        ordered = sorted(mine, key=lambda pair: pair[1].group not in groups)
        timelines = [_timeline(index, standing, points, alerts) for index, standing in ordered[:MAX_CHARTS]]
        drawings = [drawing for drawing in timelines if drawing is not None]
        if drawings:
            drawings[0] = replace(drawings[0], key=KEY)
        yield WatchSection(
            f"property-{count}",
            short(name, 200),
            str(watch.properties[count - 1]),
            short(why.get(name, ""), 600),
            "violated" if ringing else _worst([standing.answer for _, standing in mine]),
            "alert" if ringing else "no alert",
            verdict.answer,
            _meaning(verdict),
            tuple(_standing_row(standing) for _, standing in mine),
            tuple(drawings),
            max(0, len(mine) - MAX_CHARTS),
        )


def _worst(answers: Sequence[str]) -> str:
    return next((answer for answer in ("violated", "undecided") if answer in answers), "holds")


def _meaning(verdict: Verdict) -> str:
    """What the answer means; the remark begins with the answer itself."""
    return capitalised(verdict.remarks[0].partition(": ")[2]) if verdict.remarks else ""


def _moment(written: str) -> str:
    """A time from the store as people write it."""
    return f"{written[:10]} {written[11:16]} UTC"


def _standing_row(standing: WatchStatus) -> tuple[str, str, str, str, str]:
    item = standing.expression
    people = min((leaf.n for leaf in standing.leaves), default=standing.samples)
    return (
        short(standing.group or item.text, 160),
        standing.answer,
        f"{number(item.estimate)} {interval(item)}",
        must_be(item).removeprefix("must be "),
        f"{people:,} of {standing.samples:,}",
    )


def _timeline(
    index: int, standing: WatchStatus, points: Sequence[HistoryPoint], alerts: Sequence[KeptAlert]
) -> ChartDrawing | None:
    item = standing.expression
    known = [(point, *point.claims[index]) for point in points if index < len(point.claims)]
    drawn = [(point, value, low, high) for point, value, low, high, _ in known if value is not None]
    if not drawn:
        return None
    ends = _ends(drawn, item)
    rows = [
        {
            "alert": False,
            "at": point.samples,
            "until": point.samples,
            "estimate": clipped(value, ends),
            "low": clipped(low, ends),
            "high": clipped(high, ends),
            "threshold": item.threshold,
            "label": short(point.label, 80),
            "shown": _known(value, low, high),
        }
        for point, value, low, high in drawn
    ]
    mine = [
        alert
        for alert in alerts
        if (alert.content["property"], alert.content["group"]) == (standing.property, standing.group)
        and alert.content["threshold"] == item.threshold
    ]
    for alert in mine[-MAX_ALERTS:]:
        rows.append(
            rows[0]
            | {
                "alert": True,
                "at": alert.content["onset"]["estimate"],
                "until": alert.content["sample"],
                "label": short(alert.label, 80),
                "shown": f"alert {alert.number}, {_moment(alert.raised)}",
            }
        )
    whom = f"{standing.group}: " if standing.group else ""
    title = short(f"{whom}{item.text}, {must_be(item)}", 200)
    last = drawn[-1]
    return ChartDrawing(
        "timeline",
        title,
        f"Last {_known(*last[1:])} after {last[0].samples:,} samples; {plural(len(mine), 'alert')}.",
        tuple(rows),
        ("in", "samples", "estimate", "interval", "written"),
        tuple(
            (
                short(point.label, 80),
                f"{point.samples:,}",
                number(value),
                f"[{number(low)}, {number(high)}]",
                _moment(point.written),
            )
            for point, value, low, high in drawn[-MAX_DAYS:]
        ),
        {"least": ends[0], "most": ends[1], "first": 0.0, "last": float(max(point.samples for point in points))},
    )


def _ends(drawn: Sequence[tuple[HistoryPoint, float, float, float]], item: Expression) -> tuple[float, float]:
    """The ends of the axis: all estimates and the threshold, and later interval ends at most one such span beyond."""
    centre = [item.threshold, *(value for _, value, _, _ in drawn)]
    low, high = min(centre), max(centre)
    room = max(high - low, 0.05 * abs(item.threshold), 1e-6)
    ends = [end for _, _, *pair in drawn[len(drawn) // 4 :] for end in pair if isfinite(end)]
    near = [end for end in ends if low - room <= end <= high + room]
    return stretch([*centre, *near], 0.06)


def _known(value: float, low: float, high: float) -> str:
    return f"{number(value)} [{number(low)}, {number(high)}]"


def _counts(days: Sequence[tuple[str, int, int]]) -> ChartDrawing | None:
    if not days:
        return None
    outcomes = any(count for _, _, count in days)
    return ChartDrawing(
        "counts",
        "Samples a day",
        "; ".join(f"{short(day, 40)}: {samples:,}" for day, samples, _ in days[-12:]),
        tuple({"day": short(day, 40), "samples": samples} for day, samples, _ in days),
        ("day", "samples", *(("outcomes",) if outcomes else ())),
        tuple(
            (short(day, 80), f"{samples:,}", *((f"{count:,}",) if outcomes else ()))
            for day, samples, count in reversed(days)
        ),
        key=f"The last {MAX_DAYS}." if len(days) == MAX_DAYS else "",
    )
