"""The picture of draws over the limit."""

from __future__ import annotations

from math import exp, log
from typing import Any

__all__ = ["chart", "curve"]

NAMES = {"bets": "Isonomia", "mixture region": "a confidence region", "verifair": "VeriFair's rule"}
COLOURS = ["#3f51b5", "#8bc34a", "#e07b39"]


def chart(rows: list[dict[str, Any]]) -> Any:
    """Every pair of rates as a tick, for each risk and method; 1 is the least that any method can do with."""
    import altair as alt

    points = [{"risk": f"{row['delta']:g}", "over": row["over_limit"], "method": NAMES[row["method"]]} for row in rows]
    order = [f"{delta:g}" for delta in sorted({row["delta"] for row in rows})]
    ticks = alt.Chart(alt.Data(values=points)).mark_tick(thickness=1.5, size=14, opacity=0.7)
    axis = alt.Axis(values=[1, 2, 5, 10, 20, 50, 100, 200], format="d")
    title = "people drawn, as a multiple of the least possible (each tick is a pair of rates)"
    return (
        ticks.encode(
            x=alt.X("over:Q", title=title, scale=alt.Scale(type="log", domain=[1, 300]), axis=axis),
            y=alt.Y("method:N", title=None, sort=list(NAMES.values())),
            color=alt.Color("method:N", legend=None, sort=list(NAMES.values()), scale=alt.Scale(range=COLOURS)),
            row=alt.Row(
                "risk:N", title="risk of error", sort=order, header=alt.Header(labelAngle=0, labelAlign="left")
            ),
        )
        .properties(width=560, height=60)
        .configure_view(stroke=None)
        .configure(background="white")
    )


def curve(rows: list[dict[str, Any]]) -> Any:
    """Draws over the limit by risk: the geometric mean over all pairs of rates, and between which values they lie."""
    import altair as alt

    points = []
    for delta, method in sorted({(row["delta"], row["method"]) for row in rows}):
        over = [row["over_limit"] for row in rows if (row["delta"], row["method"]) == (delta, method)]
        mean = exp(sum(map(log, over)) / len(over))
        points.append({"risk": delta, "method": NAMES[method], "mean": mean, "least": min(over), "most": max(over)})
    x = alt.X("risk:Q", title="risk of error", scale=alt.Scale(type="log"), axis=alt.Axis(format=".0e", tickCount=6))
    colour = alt.Color("method:N", title=None, sort=list(NAMES.values()), scale=alt.Scale(range=COLOURS))
    scale, axis = alt.Scale(type="log", domain=[1, 300]), alt.Axis(values=[1, 2, 5, 10, 20, 50, 100, 200], format="d")
    title = "people drawn, as a multiple of the least possible"
    base = alt.Chart(alt.Data(values=points)).encode(x=x, color=colour)
    band = base.mark_area(opacity=0.15).encode(y=alt.Y("least:Q", title=title, scale=scale, axis=axis), y2="most:Q")
    line = base.mark_line(point=True).encode(y=alt.Y("mean:Q", title=title, scale=scale, axis=axis))
    return (band + line).properties(width=560, height=260).configure_view(stroke=None).configure(background="white")
