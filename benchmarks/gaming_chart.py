"""The picture of the gaming study."""

from __future__ import annotations

from typing import Any

from benchmarks.gaming_models import FAMILIES, PROCEDURES

__all__ = ["chart"]


def chart(rows: list[dict[str, Any]], curve: list[dict[str, Any]]) -> Any:
    """Every model as the relaxation sees it and truly; those that were picked; their AUC by threshold (Fig. 5)."""
    import altair as alt

    families = alt.Color("family:N", title=None, sort=list(FAMILIES), scale=alt.Scale(scheme="tableau10"))
    percent = alt.Axis(format="%")
    cloud = [
        {"family": row["family"], "seen": seen, "true": true}
        for row in rows
        if row["procedure"] == "Convex"
        for seen, true in zip(row["pool"]["convex"], row["pool"]["exact"], strict=True)
    ]
    dots = (
        alt.Chart(alt.Data(values=cloud))
        .mark_point(opacity=0.7)
        .encode(
            x=alt.X("seen:Q", title="gameable, by the relaxation", axis=percent, scale=alt.Scale(domain=[0, 1])),
            y=alt.Y("true:Q", title="gameable, truly", axis=percent, scale=alt.Scale(domain=[0, 1])),
            color=families,
        )
    )
    ends = alt.Data(values=[{"seen": 0, "true": 0}, {"seen": 1, "true": 1}])
    line = alt.Chart(ends).mark_line(strokeDash=[4, 4], color="#999999").encode(x="seen:Q", y="true:Q")
    left = (line + dots).properties(width=230, height=230, title="every model with all features")
    both = alt.hconcat(left, _bars(rows), _curve(curve)).resolve_scale(color="independent")
    return both.configure_view(stroke=None).configure(background="white")


def _bars(rows: list[dict[str, Any]]) -> Any:
    import altair as alt

    names = {"perceived": "as the procedure sees it", "true": "truly"}
    bars = [
        {"procedure": row["procedure"], "seen": label, "part": row[key]["test"]}
        for row in rows
        if row["family"] == "logistic"
        for key, label in names.items()
    ]
    order = list(names.values())
    chosen = alt.Chart(alt.Data(values=bars)).mark_bar()
    return chosen.encode(
        x=alt.X("procedure:N", title=None, sort=list(PROCEDURES), axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("seen:N", sort=order),
        y=alt.Y("part:Q", title="gameable bot predictions", axis=alt.Axis(format="%")),
        color=alt.Color("seen:N", title=None, sort=order, scale=alt.Scale(range=["#9fa8da", "#3f51b5"])),
    ).properties(width=190, height=230, title="the picked logistic models")


def _curve(curve: list[dict[str, Any]]) -> Any:
    import altair as alt

    points = [item for item in curve if item["family"] == "logistic" and item["auc"] is not None]
    lines = alt.Chart(alt.Data(values=points)).mark_line(point=True)
    return lines.encode(
        x=alt.X("share:O", title="share that counts as gameable", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("auc:Q", title="test AUC", scale=alt.Scale(zero=False)),
        color=alt.Color("procedure:N", title=None, sort=list(PROCEDURES)),
    ).properties(width=190, height=230, title="their AUC by threshold")
