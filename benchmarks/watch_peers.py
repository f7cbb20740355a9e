"""One rate that must be at most 0.3, watched by Isonomia and by others: false alarms, and how soon a change is seen.

Peers are river's ADWIN and Page-Hinkley and MAPIE's RiskMonitoring as they come, the CUSUM of the textbooks (an
allowance of half a standard deviation, a limit of five) and the CUSUM that knows both laws, with its limit set by
simulation for the run length that Isonomia promises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.watch_streams import first_alerts
from isonomia.evidence.detectors import Detector, RestartWeights

__all__ = ["ALERT_BY", "chart", "cusum", "peers"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LIMIT, WORSE, BETTER, STILL_FINE = 0.3, 0.4, 0.2, 0.28
BEFORE, AFTER = 1_000, 9_000
RUN_LENGTH = 10_000
ALERT_BY = 5_000
"""Samples after the change that the picture shows."""


def cusum(steps: Floats) -> Floats:
    """Page's statistic after each sample, in the last axis."""
    total = np.cumsum(steps, axis=-1)
    before = np.concatenate([np.zeros((*total.shape[:-1], 1)), total[..., :-1]], axis=-1)
    return np.asarray(total - np.minimum.accumulate(before, axis=-1))


def _first(reached: NDArray[np.bool_]) -> Integers:
    return np.where(reached.any(axis=1), reached.argmax(axis=1) + 1, 0)


def _watch(run_length: bool, enough: float) -> Callable[[Floats], Integers]:
    def alerts(values: Floats) -> Integers:
        label, found = np.zeros(values.shape[1], dtype=np.int64), []
        detector = Detector((0.0,), (1.0,), LIMIT, RestartWeights(run_length))
        for start in range(0, len(values), 500):
            both = first_alerts(detector, [(label, row) for row in values[start : start + 500]], [[enough]] * 2)
            found.append(both[:, int(run_length), 0])
        return np.concatenate(found)

    return alerts


def _log_ratios(values: Floats) -> Floats:
    return np.where(values > 0, np.log(WORSE / LIMIT), np.log((1.0 - WORSE) / (1.0 - LIMIT)))


def _knowing_cusum() -> Callable[[Floats], Integers]:
    rng = np.random.default_rng(5)
    steps = _log_ratios((rng.random((200, 10 * RUN_LENGTH)) < LIMIT).astype(float))
    statistic = cusum(steps)
    low, high = 0.0, float(np.log(RUN_LENGTH)) + 2.0
    for _ in range(14):  # alerts for each sample, where a stream ends with its first alert
        middle = 0.5 * (low + high)
        at = _first(statistic >= middle)
        mean = np.where(at > 0, at, statistic.shape[1]).sum() / max(int((at > 0).sum()), 1)
        low, high = (middle, high) if mean < RUN_LENGTH else (low, middle)
    return lambda values: _first(cusum(_log_ratios(values)) >= high)


def _textbook_cusum(values: Floats) -> Integers:
    deviation = np.sqrt(LIMIT * (1.0 - LIMIT))
    return _first(cusum(values - LIMIT - 0.5 * deviation) >= 5.0 * deviation)


def _mapie(values: Floats) -> Integers:
    """When its bound passes the limit, after every sample.

    The monitor finds its bound by bisection, for every sample again at each update. Where the bound is above the limit
    is seen from one value of its own mixture, where that can be at all; the monitor itself must agree on some streams.
    """
    from mapie.exchangeability_testing import RiskMonitoring
    from mapie.exchangeability_testing.bounds import GammaExponentialMixtureBound

    def monitor() -> Any:
        return RiskMonitoring(risk="predicted_positive_fraction", test_level=0.05, threshold=LIMIT, warn=False)

    level = monitor().test_level_online / 2.0
    mixture, wanted = GammaExponentialMixtureBound(v_opt=1, c=1, alpha_opt=level), float(np.log(1.0 / level))
    found = []
    for row in values:
        times = np.arange(1, len(row) + 1)
        sums = np.cumsum(row)
        before = np.append(0.5, (sums / times)[:-1])
        excess, spread = sums - LIMIT * times, np.cumsum((row - before) ** 2)
        possible = np.flatnonzero((excess > 0.0) & (excess**2 >= 2.0 * spread * wanted))  # no mixture has more
        passed = (at for at in possible.tolist() if mixture.log_supermg(excess[at], spread[at]) > wanted)
        found.append(next(passed, -1) + 1)
    for row, at in zip(values[:3, :4_000].astype(int), found, strict=False):
        over = monitor().update(row, row).online_risk_lower_bound_sequence_history > LIMIT
        first = int(over.argmax()) + 1 if over.any() else 0
        if first != (at if at <= len(row) else 0):
            raise RuntimeError(f"the monitor's first alert is at {first}, but {at} was computed")
    return np.asarray(found)


def _river(name: str) -> Callable[[Floats], Integers]:
    def alerts(values: Floats) -> Integers:
        from river import drift

        found = []
        for row in values.tolist():
            detector, at = getattr(drift, name)(), 0
            for index, value in enumerate(row):
                detector.update(value)
                if detector.drift_detected:
                    at = index + 1
                    break
            found.append(at)
        return np.asarray(found)

    return alerts


@dataclass(frozen=True, slots=True)
class Method:
    """A monitor: where it comes from, what it promises, and its first alert in each stream (0 for none)."""

    name: str
    package: str
    promise: str
    alerts: Callable[[], Callable[[Floats], Integers]]


METHODS = (
    Method(
        "Isonomia, alpha 0.05",
        "isonomia",
        "false alarm ever: at most 5%",
        lambda: _watch(run_length=False, enough=float(np.log(20.0))),
    ),
    Method(
        "Isonomia, run length 10,000",
        "isonomia",
        "10,000 samples to a false alarm, on average",
        lambda: _watch(run_length=True, enough=float(np.log(RUN_LENGTH))),
    ),
    Method(
        "CUSUM that knows both rates",
        "numpy",
        "the same, by simulation of these two rates",
        _knowing_cusum,
    ),
    Method("MAPIE RiskMonitoring 0.05", "mapie", "false alarm ever: at most 5%", lambda: _mapie),
    Method("river ADWIN", "river", "a bound for each cut of its window", lambda: _river("ADWIN")),
    Method("river Page-Hinkley", "river", "none", lambda: _river("PageHinkley")),
    Method("textbook CUSUM", "numpy", "none for rates", lambda: _textbook_cusum),
)


def peers(streams: int, length: int) -> list[dict[str, Any]]:
    """False alarms with the rate at the limit; alerts where it rises below the limit; the delay where it passes it."""
    rows = []
    print(f"{'at most 0.3':<29}{'streams':>8}{'at 0.3':>9}{'to 0.28':>9}{'delay':>8}{'early':>8}{'missed':>8}  promise")
    for method in METHODS:
        if find_spec(method.package) is None:
            print(f"{method.name:<29} skipped: pip install {method.package}")
            continue
        alerts = method.alerts()
        rng = np.random.default_rng(13)  # the same streams for all
        on_limit, draws = (rng.random((streams, length)) < LIMIT).astype(float), rng.random((streams, BEFORE + AFTER))
        after = np.arange(BEFORE + AFTER) >= BEFORE
        false, change = alerts(on_limit), alerts((draws < np.where(after, WORSE, LIMIT)).astype(float))
        harmless = alerts((draws < np.where(after, STILL_FINE, BETTER)).astype(float))
        late = change[change > BEFORE] - BEFORE
        row = {
            "method": method.name,
            "promise": method.promise,
            "streams": streams,
            "false": float((false > 0).mean()),
            "harmless": float((harmless > 0).mean()),
            "delay": float(late.mean()) if len(late) else float("nan"),
            "early": float(((change > 0) & (change <= BEFORE)).mean()),
            "missed": float((change == 0).mean()),
            "length": length,
            "false at": np.sort(false[false > 0]).tolist(),
            "delays": np.sort(late).tolist(),
        }
        rows.append(row)
        print(
            f"{method.name:<29}{streams:>8,}{row['false']:>9.1%}{row['harmless']:>9.1%}{row['delay']:>8.0f}"
            f"{row['early']:>8.1%}{row['missed']:>8.1%}  {method.promise}",
            flush=True,
        )
    return rows


COLOURS = ["#3f51b5", "#7e9bd6", "#333333", "#8bc34a", "#e07b39", "#c2185b", "#b0a36a"]


def chart(rows: list[dict[str, Any]]) -> Any:
    """Left: streams with a false alarm so far, the rate at its limit. Right: streams with an alert since a change."""
    import altair as alt

    names = [row["method"] for row in rows]
    colour = alt.Color("method:N", title=None, sort=names, scale=alt.Scale(domain=names, range=COLOURS[: len(names)]))
    length = rows[0]["length"]
    times = np.unique(np.geomspace(30, length, 60).astype(int))
    false = [_share(row, row["false at"], at, row["streams"]) for row in rows for at in times]
    seen = [
        _share(row, row["delays"], at, max(1, round(row["streams"] * (1.0 - row["early"]))))
        for row in rows
        for at in np.unique(np.geomspace(20, ALERT_BY, 60).astype(int))
    ]
    scale, axis = alt.Scale(domain=[0, 1]), alt.Axis(format="%")
    panels = [
        alt.Chart(alt.Data(values=values))
        .mark_line()
        .encode(
            x=alt.X("samples:Q", title=title, scale=alt.Scale(type="log"), axis=alt.Axis(format=",d", tickCount=4)),
            y=alt.Y("share:Q", title="streams with an alert", axis=axis, scale=scale),
            color=colour,
        )
        .properties(width=290, height=240, title=heading)
        for values, title, heading in (
            (false, "samples", "the claim holds: every alert is false"),
            (seen, "samples since the change", "the rate has risen from 0.3 to 0.4"),
        )
    ]
    return alt.hconcat(*panels).configure_view(stroke=None).configure(background="white")


def _share(row: dict[str, Any], alerts: list[int], at: int, streams: int) -> dict[str, Any]:
    return {"method": row["method"], "samples": int(at), "share": sum(each <= at for each in alerts) / streams}
