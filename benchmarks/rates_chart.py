"""The picture of intervals under peeking, and of what that costs at a fixed number of people."""

from __future__ import annotations

from typing import Any

__all__ = ["chart"]

NAMES = {
    "ours": "Isonomia, valid at all times",
    "bootstrap": "bootstrap, for one look",
    "once": "Isonomia, for one look",
}
COLOURS = ["#3f51b5", "#e07b39", "#7e9bd6"]


def chart(found: dict[str, Any]) -> Any:
    """Left: false alarms by the number of looks. Right: widths by the number of people."""
    import altair as alt

    colour = alt.Color("kind:N", title=None, sort=list(NAMES.values()), scale=alt.Scale(range=COLOURS))
    missed = [
        {"look": row["look"], "share": row[key], "kind": name}
        for row in found["peeking"]
        for key, name in NAMES.items()
        if key in row
    ]
    lines = alt.Chart(alt.Data(values=missed)).mark_line().encode(
        x=alt.X("look:Q", title="looks so far, one after every 100 people", scale=alt.Scale(type="log")),
        y=alt.Y("share:Q", title="audits with a false alarm", axis=alt.Axis(format="%")),
        color=colour,
    )  # fmt: skip
    promise = alt.Chart(alt.Data(values=[{"at": found["delta"]}]))
    rule = promise.mark_rule(strokeDash=[4, 4], color="#999999").encode(y=alt.Y("at:Q"))
    left = (rule + lines).properties(width=330, height=240, title="looking again and again, at a risk of 5%")
    return alt.hconcat(left, _widths(found["fixed"], colour)).configure_view(stroke=None).configure(background="white")


def _widths(fixed: list[dict[str, Any]], colour: Any) -> Any:
    import altair as alt

    widths = [
        {"people": row["people"], "width": row[f"{key}_width"], "kind": name}
        for row in fixed
        if row["rate"] == 0.3
        for key, name in NAMES.items()
    ]
    points = alt.Axis(values=sorted({row["people"] for row in fixed}), format=",d")
    return (
        alt.Chart(alt.Data(values=widths))
        .mark_line(point=True)
        .encode(
            x=alt.X("people:Q", title="people, half of them in the group", scale=alt.Scale(type="log"), axis=points),
            y=alt.Y("width:Q", title="mean width of the interval", scale=alt.Scale(type="log")),
            color=colour,
        )
        .properties(width=250, height=240, title="what it costs: wider intervals (rate 0.3)")
    )
