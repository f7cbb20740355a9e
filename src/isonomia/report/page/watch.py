"""The page of a watch: one state and a timeline by day for each property, dated alerts, counts, and what is pending."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
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
"""The maximum number of charts of one property, those with an alert first; the table has every group."""

MAX_DAYS = 90
"""Days in the chart of counts."""

MIN_DAYS = 3
"""Days from which timelines are drawn by day; below, they are drawn by update."""

KEY = (
    "Line: estimate for the last samples. Band: its interval. Dashed: threshold. Red: from the estimated onset to an "
    "alert."
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
    timeline = WatchTimeline.of(points)
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
        sections=list(_sections(watch, now, timeline, alerts, why)),
        axis=timeline.axis,
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
        yield "since", day_in(points[0].label, points[0].written)
        yield "last", short(points[-1].label, 80)
    if watch.pending or watch.missing:
        yield "outcomes", f"{watch.pending:,} pending, {watch.missing:,} left out"


def conclusion(watch: Watch, alerts: Sequence[KeptAlert]) -> str:
    """What a reader of the page wants to know first, in one sentence."""
    waiting = [alert for alert in alerts if alert.acknowledged is None]
    if waiting:
        names = dict.fromkeys(f"{_whom(alert.content)} stopped holding on {_day(alert)}" for alert in waiting)
        return f"{plural(len(waiting), 'alert')}: {short(listed(names), 400)}."
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
    since = "" if content["estimate"] is None else f"{number(content['estimate'])} since the onset"
    return {
        "what": short(_whom(content), 200),
        "day": _day(alert),
        "where": f"sample {content['sample']:,}, {short(alert.label, 80)}; recorded {_moment(alert.raised)}",
        "onset": "" if alert.began is None else day_in(alert.began, alert.raised),
        "onset_where": f"after {onset['estimate']:,} samples{earliest_onset(onset['low'], onset.get('risk'))}",
        "value": f"{since}, must be {content['relation']} {number(content['threshold'])}".removeprefix(", "),
        "state": f"acknowledged {_moment(alert.acknowledged)}" if alert.acknowledged else "open",
        "delivered": ", ".join(sorted(alert.delivered)) or "not delivered yet",
    }


def day_in(label: str, written: str) -> str:
    """The date in the name of a part of the source, such as ``hired-2026-05-01.csv``; else the day of writing."""
    found = re.findall(r"\d{4}-\d{2}-\d{2}", label.rpartition(", in ")[2])
    return str(found[-1]) if found else written[:10]


def _day(alert: KeptAlert) -> str:
    return day_in(alert.label, alert.raised)


# ----------------------------------------------------------------------------------------------------------- properties


@dataclass(frozen=True, slots=True)
class WatchSection:
    """What the page says of one property."""

    anchor: str
    name: str
    text: str
    why: str
    state: str  # violated, undecided or holds
    badge: str  # the state in words
    days: tuple[tuple[str, str, str], ...]
    so_far: str
    rows: tuple[tuple[str, str, str, str, str], ...]
    drawings: tuple[ChartDrawing, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class WatchTimeline:
    """The points that timelines show, with their names: the last one of each day, or all if there are few days."""

    points: tuple[HistoryPoint, ...]
    names: tuple[str, ...]
    axis: str

    @classmethod
    def of(cls, points: Sequence[HistoryPoint]) -> WatchTimeline:
        """The timeline of a history."""
        days = {day_in(point.label, point.written): point for point in points}
        if len(days) < MIN_DAYS:
            return cls(tuple(points), tuple(f"{point.samples:,}" for point in points), "samples")
        latest = sorted(days.items(), key=lambda item: item[1].samples)
        return cls(tuple(point for _, point in latest), tuple(day for day, _ in latest), "day")

    def at(self, sample: int) -> int:
        """The index of the point that has a sample first."""
        found = bisect_left(self.points, sample, key=lambda point: point.samples)
        return min(found, len(self.points) - 1)

    def states(self, indices: Sequence[int], alerts: Sequence[KeptAlert]) -> Iterator[tuple[str, str, str]]:
        """The state of some comparisons at each of the last points: its colour, its day, and the state in words."""
        spans = [
            (self.at(alert.content["onset"]["estimate"] + 1), self.at(alert.content["sample"]), alert.acknowledged)
            for alert in alerts
        ]
        for place, (point, name) in enumerate(zip(self.points, self.names, strict=True)):
            raised = any(place == end for _, end, _ in spans)
            if raised or any(begin <= place and (not done or place < end) for begin, end, done in spans):
                yield "violated", name, "alert raised" if raised else "alert open or its estimated onset passed"
            else:
                answer = _worst([point.claims[index][3] for index in indices if index < len(point.claims)])
                yield answer, name, answer


def _sections(
    watch: Watch,
    now: Sequence[WatchStatus],
    timeline: WatchTimeline,
    alerts: Sequence[KeptAlert],
    why: Mapping[str, str],
) -> Iterator[WatchSection]:
    names = [prop.name or str(prop) for prop in watch.properties]
    for count, (name, verdict) in enumerate(zip(names, watch.verdicts, strict=True), start=1):
        mine = [(index, standing) for index, standing in enumerate(now) if standing.property == name]
        raised = [alert for alert in alerts if alert.content["property"] == name]
        ringing = {
            (alert.content["group"], alert.content["text"]): alert for alert in raised if alert.acknowledged is None
        }
        groups = {group for group, _ in ringing}
        ordered = sorted(mine, key=lambda pair: pair[1].group not in groups)
        timelines = [_timeline(index, standing, timeline, raised) for index, standing in ordered[:MAX_CHARTS]]
        drawings = [drawing for drawing in timelines if drawing is not None]
        if drawings:
            drawings[0] = replace(drawings[0], key=KEY)
        first = min((_day(alert) for alert in ringing.values()), default="")
        state = "violated" if ringing else _worst([standing.answer for _, standing in mine])
        yield WatchSection(
            f"property-{count}",
            short(name, 200),
            str(watch.properties[count - 1]),
            short(why.get(name, ""), 600),
            state,
            f"alert since {first}" if ringing else f"{state} now",
            tuple(timeline.states([index for index, _ in mine], raised))[-MAX_DAYS:],
            _meaning(verdict),
            tuple(_standing_row(standing, groups) for _, standing in ordered),
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


def _standing_row(standing: WatchStatus, alerted: Collection[str | None]) -> tuple[str, str, str, str, str]:
    item = standing.expression
    people = min((leaf.n for leaf in standing.leaves), default=standing.samples)
    return (
        short(standing.group or item.text, 160),
        f"alert; {standing.answer} now" if standing.group in alerted else f"{standing.answer} now",
        f"{number(item.estimate)} {interval(item)}",
        must_be(item).removeprefix("must be "),
        f"{people:,} of {standing.samples:,}",
    )


def _timeline(
    index: int, standing: WatchStatus, timeline: WatchTimeline, alerts: Sequence[KeptAlert]
) -> ChartDrawing | None:
    item = standing.expression
    drawn = [
        (place, point, value, low, high)
        for place, point in enumerate(timeline.points)
        if index < len(point.claims)
        for value, low, high, _ in [point.claims[index]]
        if value is not None
    ]
    if not drawn:
        return None
    ends = _ends([(value, low, high) for _, _, value, low, high in drawn], item)
    rows = [
        {
            "alert": False,
            "at": place,
            "until": place,
            "estimate": clipped(value, ends),
            "low": clipped(low, ends),
            "high": clipped(high, ends),
            "threshold": item.threshold,
            "label": timeline.names[place],
            "shown": _known(value, low, high),
        }
        for place, _, value, low, high in drawn
    ]
    mine = [
        alert
        for alert in alerts
        if alert.content["group"] == standing.group and alert.content["threshold"] == item.threshold
    ]
    for alert in mine[-MAX_ALERTS:]:
        rows.append(
            rows[0]
            | {
                "alert": True,
                "at": timeline.at(alert.content["onset"]["estimate"] + 1),
                "until": timeline.at(alert.content["sample"]),
                "label": _day(alert),
                "shown": f"alert {alert.number}",
            }
        )
    whom = f"{standing.group}: " if standing.group else ""
    _, last, value, low, high = drawn[-1]
    return ChartDrawing(
        "timeline",
        short(f"{whom}{item.text}, {must_be(item)}", 200),
        f"Last {_known(value, low, high)} after {last.samples:,} samples; {plural(len(mine), 'alert')}.",
        tuple(rows),
        (timeline.axis, "in", "samples", "estimate", "interval"),
        tuple(
            (
                timeline.names[place],
                short(point.label, 80),
                f"{point.samples:,}",
                number(value),
                f"[{number(low)}, {number(high)}]",
            )
            for place, point, value, low, high in drawn[-MAX_DAYS:]
        ),
        {"least": ends[0], "most": ends[1], "names": list(timeline.names)},
        axis="estimate",
        across=timeline.axis,
    )


def _ends(drawn: Sequence[tuple[float, float, float]], item: Expression) -> tuple[float, float]:
    """The ends of the axis: all estimates and the threshold, and later interval ends at most one such span beyond."""
    centre = [item.threshold, *(value for value, _, _ in drawn)]
    low, high = min(centre), max(centre)
    room = max(high - low, 0.05 * abs(item.threshold), 1e-6)
    ends = [end for _, *pair in drawn[len(drawn) // 4 :] for end in pair if isfinite(end)]
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
