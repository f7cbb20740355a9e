"""What a page draws with: a Vega specification for each kind of chart, Vega as one bundle, the page's own script.

The specifications are made with Altair; the page draws each as often as it needs it. Colours are the page's own
(``var(--name)``), so that a chart suits light, dark and print without being redrawn. Labels are above their bars
and not next to them, so that a chart fits a phone as well as a page.

Making the bundle takes seconds and always gives the same result, so it is cached for the next report. Data cannot end
a script element.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from isonomia.report.files import replacing


def cached_script(name: str, make: Callable[[], str]) -> str:
    """A script by name: from the user's cache folder if it is intact and the user's own, otherwise made and cached.

    A folder that cannot be written costs time and nothing else.
    """
    file = _folder() / f"{name}.js"
    with suppress(OSError, UnicodeDecodeError):
        seal, _, script = _own_text(file).partition("\n")
        if seal == _seal(script):
            return script
    script = make()
    with suppress(OSError):
        _keep(file, f"{_seal(script)}\n{script}")
    return script


def _folder() -> Path:
    """The cache folder of this system."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "isonomia"


def _own_text(file: Path) -> str:
    """The text of a file that only this user can have written: it will run in the browsers of a report's readers."""
    with file.open("rb") as stream:
        facts = os.fstat(stream.fileno())
        if sys.platform != "win32" and (facts.st_uid != os.getuid() or facts.st_mode & 0o022):
            raise PermissionError(f"{file} may have been written by another user")
        return stream.read().decode("utf-8")


def _keep(file: Path, text: str) -> None:
    """Write a file atomically, so that a concurrent reader finds all of it or none."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with replacing(file) as part:
        part.chmod(0o600)  # whatever the umask is
        part.write_bytes(text.encode("utf-8"))


def _seal(script: str) -> str:
    return f"// sha256 {hashlib.sha256(script.encode('utf-8')).hexdigest()}"


_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "'": "\\u0027"})


@cache
def bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script, from the package that holds them: nothing is fetched."""
    from importlib.metadata import version

    def make() -> str:
        import vl_convert

        return str(vl_convert.javascript_bundle())  # type: ignore[call-arg]

    return _sealed(cached_script(f"vega-{version('vl-convert-python')}", make))


@cache
def own_script() -> str:
    """The page's own script."""
    return _sealed(_template("page.js"))


@cache
def style() -> str:
    """The page's style sheet."""
    return _template("style.css") + table_style()


@cache
def table_style() -> str:
    """How tables stay whole on a phone, for pages and documents alike."""
    return _template("tables.css")


def as_data(value: Any) -> str:
    """A value as JSON in a ``script`` element or in single quotes: no text in it ends either, or begins an element."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).translate(_ESCAPES)


def policy(*scripts: str) -> str:
    """What the browser may do for the page: run these scripts and no other, and connect to nothing."""
    sums = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in scripts)
    return (
        f"default-src 'none'; script-src {sums}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def _sealed(script: str) -> str:
    """A script that cannot end its element early; line ends are as browsers hash them."""
    return script.replace("\r\n", "\n").replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _template(name: str) -> str:
    return (files("isonomia.report.page") / "templates" / name).read_text("utf-8")


# --------------------------------------------------------------------------------------------------------------- charts

LINE = 48
"""The height of a line of a chart, in pixels; the page gives a chart as many lines as it needs."""

_PLAIN = "abs(datum.value) < 1e-9 ? '0' : format(datum.value, '.3~g')"
"""A number at an axis: a sum of rounded steps may miss zero by a hair, or give minus zero."""

AXIS, ACROSS = "@axis", "@across"
"""Marks in the place of the titles of axes, which each drawing sets."""

_ANSWERS = ("holds", "violated", "undecided")
_KINDS = {"meet it": "responsive", "violate it": "fixed", "undecided": "undecided"}
"""The answers to a claim about people, each with the name of its color."""


@cache
def chart_specs() -> dict[str, dict[str, Any]]:
    """The specification of each kind of chart, for data by the name of ``data``."""
    import altair as alt

    makers = {
        "history": _history,
        "intervals": _intervals,
        "rates": _rates,
        "shares": _shares,
        "kinds": _kinds,
        "bounds": _bounds,
        "ratios": _ratios,
        "reliability": _reliability,
        "timeline": _timeline,
        "counts": _counts,
    }
    return {kind: _finished(alt, make(alt)) for kind, make in makers.items()}


def _finished(alt: Any, chart: Any) -> dict[str, Any]:
    size = alt.AutoSizeParams(type="fit-x", contains="padding")
    chart = chart.properties(data=alt.NamedData(name="data"), width="container", padding=2, autosize=size)
    spec = chart.to_dict(validate=True)
    plain = {key: value for key, value in spec.items() if key not in {"$schema", "config"}}
    return plain | {"config": _config()}


def _config() -> dict[str, Any]:
    ink, quiet, line = "var(--ink)", "var(--quiet)", "var(--line)"
    return {
        "background": None,
        "aria": False,  # the page has the words; a label on every mark would drown them
        "font": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif",
        "view": {"stroke": None},
        "axis": {
            "labelColor": quiet,
            "titleColor": quiet,
            "gridColor": line,
            "domainColor": line,
            "tickColor": line,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
        },
        "legend": {"labelColor": ink, "titleColor": quiet, "labelFontSize": 12, "symbolType": "square"},
        "text": {"color": ink, "fontSize": 12.5},
    }


def _numbers(alt: Any, **given: float) -> list[Any]:
    """Parameters that the page sets for each drawing."""
    return [alt.param(name=name, value=value) for name, value in given.items()]


def _line(alt: Any, name: str) -> Any:
    scale = alt.Scale(domainMin=alt.expr("least"), domainMax=alt.expr("most"), nice=False, zero=False)
    return alt.X(f"{name}:Q", scale=scale, axis=alt.Axis(title=AXIS, tickCount=5, format=".3~g", grid=False))


def _across(alt: Any) -> Any:
    return alt.Y("place:O", axis=None, scale=alt.Scale(paddingInner=0, paddingOuter=0))


def _answer_scale(alt: Any) -> Any:
    return alt.Scale(domain=list(_ANSWERS), range=[f"var(--{name})" for name in _ANSWERS])


def _answer_colour(alt: Any) -> Any:
    return alt.Color("answer:N", scale=_answer_scale(alt), legend=None)


def _kind_colour(alt: Any) -> Any:
    scale = alt.Scale(domain=list(_KINDS), range=[f"var(--{name})" for name in _KINDS.values()])
    return alt.Color("kind:N", scale=scale, legend=alt.Legend(orient="top", title=None))


def _label(alt: Any, base: Any, room: int = 0) -> Any:
    mark = {"align": "left", "baseline": "middle", "dy": -13, "limit": alt.expr(f"width - {room}")}
    return base.mark_text(**mark).encode(y=_across(alt), x=alt.value(0), text="label:N", tooltip="label:N")


def _size(alt: Any, base: Any, name: str) -> Any:
    mark = base.mark_text(align="right", baseline="middle", dy=-13, color="var(--quiet)")
    return mark.encode(y=_across(alt), x=alt.value("width"), text=f"{name}:N")


def _tips(alt: Any, **named: str) -> list[Any]:
    return [alt.Tooltip(f"{name}:N", title=title) for name, title in named.items()]


def _intervals(alt: Any) -> Any:
    base = alt.Chart()
    tips = _tips(alt, label="quantity", must="claim", shown="finding")
    zone = base.mark_bar(color="var(--zone)", height=14, dy=0, yOffset=7, clip=True)
    zone = zone.encode(y=_across(alt), x=_line(alt, "fine_low"), x2="fine_high:Q")
    bar = base.mark_rule(strokeWidth=7, strokeCap="round", yOffset=7, clip=True)
    bar = bar.encode(y=_across(alt), x=_line(alt, "low"), x2="high:Q", color=_answer_colour(alt), tooltip=tips)
    dot = base.mark_point(filled=True, size=85, color="var(--paper)", opacity=1, strokeWidth=2.5, yOffset=7)
    dot = dot.encode(y=_across(alt), x=_line(alt, "estimate"), stroke=_stroke(alt), tooltip=tips)
    tick = base.mark_tick(color="var(--ink)", thickness=2.5, height=24, yOffset=7)
    tick = tick.encode(y=_across(alt), x=_line(alt, "threshold"))
    return _layered(alt, zone, bar, tick, dot, _label(alt, base, 110), _size(alt, base, "must"))


def _rates(alt: Any) -> Any:
    base = alt.Chart()
    tips = _tips(alt, label="rate", shown="finding", size="based on")
    bar = base.mark_rule(strokeWidth=6, strokeCap="round", color="var(--accent)", opacity=0.45, yOffset=7)
    bar = bar.encode(y=_across(alt), x=_line(alt, "low"), x2="high:Q", tooltip=tips)
    dot = base.mark_point(filled=True, size=70, color="var(--accent)", opacity=1, yOffset=7)
    dot = dot.encode(y=_across(alt), x=_line(alt, "estimate"), tooltip=tips)
    return _layered(alt, bar, dot, _label(alt, base, 90), _size(alt, base, "size"))


def _ratios(alt: Any) -> Any:
    """Rates with a line to compare them with by eye."""
    base = alt.Chart()
    line = base.mark_rule(color="var(--ink)", strokeWidth=1.5, strokeDash=[5, 3])
    return (
        alt.layer(line.encode(x=_line(alt, "min(threshold)")), *_rates(alt).layer)
        .add_params(*_numbers(alt, least=0.0, most=1.0))
        .properties(height=LINE)
    )


SERIES = ("c1", "c2", "c3", "c4", "c5", "c6")
"""The colors of lines that must be distinguished, by the page's names; each also has its own shape."""


def _reliability(alt: Any) -> Any:
    base = alt.Chart()
    # Only the points have a legend, on a scale of their own, so that one legend has both colors and shapes.
    legend = alt.Legend(orient="top", title=None, columns=alt.expr("width < 400 ? 1 : 3"), labelLimit=220)
    colours = alt.Scale(range=[f"var(--{name})" for name in SERIES])
    shapes = alt.Scale(range=["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"])
    colour = alt.Color("label:N", sort=None, scale=colours, legend=legend)
    plain = alt.Color("label:N", sort=None, scale=colours, legend=None)
    shape = alt.Shape("label:N", sort=None, scale=shapes, legend=legend)
    across = alt.X("score:Q", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(title="mean score of the bin", tickCount=5))

    def up(name: str) -> Any:
        axis = alt.Axis(title="share with a positive outcome", tickCount=5)
        return alt.Y(f"{name}:Q", scale=alt.Scale(domain=[0, 1]), axis=axis)

    tips = _tips(alt, label="group", bin="scores", shown="share", size="people")
    even = alt.Chart(alt.Data(values=[{"x": 0, "y": 0}, {"x": 1, "y": 1}])).mark_line(
        color="var(--quiet)", strokeWidth=1.5, strokeDash=[5, 3]
    )
    layered = alt.layer(
        even.encode(x=alt.X("x:Q"), y=alt.Y("y:Q")),
        base.mark_rule(strokeWidth=2, opacity=0.5).encode(x=across, y=up("low"), y2="high:Q", color=plain),
        base.mark_line(strokeWidth=1.5).encode(x=across, y=up("outcome"), color=plain),
        base.mark_point(filled=True, size=75, opacity=1).encode(
            x=across, y=up("outcome"), color=colour, shape=shape, tooltip=tips
        ),
    )
    return layered.resolve_scale(color="independent", shape="independent").properties(height=300)


def _bounds(alt: Any) -> Any:
    base = alt.Chart()
    tips = _tips(alt, label="subgroup", shown="not refuted", sample="in the sample", answer="answer")
    wide = base.mark_rule(strokeWidth=2.5, yOffset=7)
    wide = wide.encode(y=_across(alt), x=_line(alt, "low"), x2="high:Q", color=_answer_colour(alt), tooltip=tips)
    thick = base.mark_rule(strokeWidth=8, strokeCap="round", yOffset=7)
    thick = thick.encode(
        y=_across(alt),
        x=_line(alt, "sample_low"),
        x2="sample_high:Q",
        color=_answer_colour(alt),
        tooltip=tips,
    )
    ticks = [
        base.mark_tick(color="var(--ink)", thickness=2, height=24, yOffset=7).encode(
            y=_across(alt), x=_line(alt, f"limit_{end}")
        )
        for end in ("low", "high")
    ]
    return _layered(alt, wide, thick, *ticks, _label(alt, base, 110), _size(alt, base, "size"))


def _kinds(alt: Any) -> Any:
    base = alt.Chart()
    bar = base.mark_bar(height=14, yOffset=7, stroke="var(--paper)", strokeWidth=1).encode(
        y=_across(alt),
        x=alt.X(
            "from:Q",
            axis=alt.Axis(title="share of people", format="%", tickCount=5, grid=False),
            scale=alt.Scale(domain=[0, 1]),
        ),
        x2="to:Q",
        color=_kind_colour(alt),
        tooltip=[*_tips(alt, label="who", kind="is"), alt.Tooltip("count:Q", title="people", format=",")],
    )
    once = base.transform_filter("datum.kind == 'meet it'")
    return alt.layer(bar, _label(alt, once, 110), _size(alt, once, "size")).properties(height=LINE)


def _shares(alt: Any) -> Any:
    bars = (
        alt.Chart()
        .mark_bar(stroke="var(--paper)", strokeWidth=1)
        .encode(
            x=alt.X(
                "from:Q",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(title="share of reachable points", format="%", tickCount=5),
            ),
            x2="to:Q",
            y=alt.Y("bottom:Q", axis=alt.Axis(title="people", tickMinStep=1, format=",d")),
            y2="top:Q",
            color=_kind_colour(alt),
            tooltip=[*_tips(alt, shown="share", kind="are"), alt.Tooltip("count:Q", title="people", format=",")],
        )
    )
    limit = alt.Chart().mark_rule(color="var(--ink)", strokeWidth=2, strokeDash=[5, 3])
    limit = limit.encode(x="min(threshold):Q")
    return alt.layer(bars, limit).properties(height=190)


def _history(alt: Any) -> Any:
    """How an interval narrowed, by the number of samples."""
    axis = alt.Axis(title=ACROSS, tickCount=6, format="~s", grid=False)
    across = alt.X("at:Q", scale=alt.Scale(type="log", nice=False), axis=axis)
    tips = [alt.Tooltip("n:Q", title="samples", format=","), *_tips(alt, shown="finding")]
    band, line, limit, dots = _course(alt, alt.Chart(), across, tips, "step-after")
    return alt.layer(band, line, limit, dots).add_params(*_numbers(alt, least=0.0, most=1.0)).properties(height=220)


def _timeline(alt: Any) -> Any:
    """How an estimate changed from day to day, with alerts as vertical lines."""
    base = alt.Chart()
    named = "datum.value == floor(datum.value) ? names[datum.value] || '' : ''"
    axis = alt.Axis(title=ACROSS, tickCount=6, tickMinStep=1, labelExpr=named, labelOverlap=True, grid=False)
    # The domain is given, because alerts, of which there may be none, have an extent of their own.
    span = alt.Scale(domain=[0, alt.expr("max(1, length(names) - 1)")], nice=False)
    across = alt.X("at:Q", scale=span, axis=axis)
    points, alerts = base.transform_filter("!datum.alert"), base.transform_filter("datum.alert")
    tips = _tips(alt, label="in", shown="finding")
    band, line, limit, dots = _course(alt, points, across, tips, "linear")
    # From the estimated onset to the alert, and the alert itself.
    since = alerts.mark_rect(color="var(--violated)", opacity=0.14).encode(x=across, x2="until:Q")
    bell = alerts.mark_rule(color="var(--violated)", strokeWidth=2).encode(x=alt.X("until:Q", scale=span), tooltip=tips)
    layered = alt.layer(since, band, line, limit, bell, dots)
    names = alt.param(name="names", value=[])
    return layered.add_params(*_numbers(alt, least=0.0, most=1.0), names).properties(height=220)


def _course(alt: Any, points: Any, across: Any, tips: list[Any], interpolate: str) -> tuple[Any, Any, Any, Any]:
    """An interval as a band, its estimate as a line with a dot at the pointer, and the threshold."""
    scale = alt.Scale(domainMin=alt.expr("least"), domainMax=alt.expr("most"), nice=False, zero=False)

    def up(name: str) -> Any:
        return alt.Y(f"{name}:Q", scale=scale, axis=alt.Axis(title=AXIS, labelExpr=_PLAIN, tickCount=5))

    near = alt.selection_point(name="near", fields=["at"], nearest=True, on="pointerover", empty=False)
    band = points.mark_area(color="var(--accent)", opacity=0.22, interpolate=interpolate, clip=True)
    line = points.mark_line(color="var(--accent)", strokeWidth=2, clip=True)
    limit = points.mark_rule(color="var(--ink)", strokeWidth=2, strokeDash=[5, 3])
    dots = points.mark_point(filled=True, size=60, color="var(--accent)", clip=True).encode(
        x=across, y=up("estimate"), opacity=alt.condition(near, alt.value(1), alt.value(0)), tooltip=tips
    )
    return (
        band.encode(x=across, y=up("low"), y2="high:Q"),
        line.encode(x=across, y=up("estimate")),
        limit.encode(y=up("min(threshold)")),
        dots.add_params(near),
    )


def _counts(alt: Any) -> Any:
    """How many samples there were each day."""
    axis = alt.Axis(title=None, labelOverlap=True, labelAngle=-35, labelLimit=110)
    bars = alt.Chart().mark_bar(color="var(--accent)")
    return bars.encode(
        x=alt.X("day:O", sort=None, axis=axis),
        y=alt.Y("samples:Q", axis=alt.Axis(title="samples", format="~s", tickCount=4)),
        tooltip=[*_tips(alt, day="day"), alt.Tooltip("samples:Q", title="samples", format=",")],
    ).properties(height=150)


def _stroke(alt: Any) -> Any:
    return alt.Stroke("answer:N", scale=_answer_scale(alt), legend=None)


def _layered(alt: Any, *layers: Any) -> Any:
    return alt.layer(*layers).add_params(*_numbers(alt, least=0.0, most=1.0)).properties(height=LINE)
