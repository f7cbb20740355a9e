"""The picture of draws over the limit."""

from __future__ import annotations

from typing import Any

__all__ = ["chart"]

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
