"""An audit that nobody has heard of shows up everywhere once it has registered its view, and sensibly before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from page_audits import rates
from rich.console import Console

import isonomia as iso
from isonomia.records.display import view as views
from isonomia.records.display.text import failure_text
from isonomia.records.display.view import CounterexampleView, RecordView, TableBlock, View, register
from isonomia.report import show
from isonomia.report.entries import AuditReport, Entry
from isonomia.report.junit import junit
from isonomia.report.markdown import as_markdown
from isonomia.report.page import page


def _counterexample(verdict: iso.Verdict, item: Mapping[str, Any]) -> CounterexampleView:  # noqa: ARG001
    return CounterexampleView(
        title=f"day {item['day']} drifts",
        records=(RecordView("before", f"day {item['day'] - 1}"), RecordView("after", changes={"rate": item["rate"]})),
        outputs=(("alert", True),),
        violates=("rate stays",),
    )


VIEW = View(
    kind="drift",
    title="drift over time",
    meanings=dict.fromkeys(("holds", "violated", "undecided"), "The model drifts."),
    finding=lambda verdict, compact: "1 of 30 days drifts",  # noqa: ARG005
    counts=True,
    explanation_first=True,
    tally=lambda verdict: "1 of 30 days is off",  # noqa: ARG005
    facts=lambda verdict: (("days", "30"),),  # noqa: ARG005
    blocks=lambda verdict: (TableBlock("Day by day", ("day", "rate"), (("1", "0.3"), ("2", "0.7"))),),  # noqa: ARG005
    counterexample=_counterexample,
)


@pytest.fixture
def registered() -> Iterator[None]:
    register(VIEW)
    yield
    del views.VIEWS["drift"]


def _verdict() -> iso.Verdict:
    stored = replace(
        rates(),
        text="the rate stays",
        answer="violated",
        details={"audit": "drift"},
        leaves=(),
        expressions=(),
        counterexamples=({"day": 7, "rate": [0.3, 0.7]},),
    ).to_dict()
    return iso.Verdict.from_dict(stored)


def _terminal(verdict: iso.Verdict) -> str:
    file = StringIO()
    show(verdict, Console(file=file, width=100), explanation="Every day is like the day before.")
    return file.getvalue()


@pytest.mark.usefixtures("registered")
def test_its_view_is_all_that_the_renderers_need() -> None:
    verdict = _verdict()
    entry = Entry("steady", verdict, explanation="Every day is like the day before.")
    audit = AuditReport("spring", (entry,))
    shown = {
        "text": str(verdict),
        "failure": failure_text(verdict),
        "terminal": _terminal(verdict),
        "notebook": verdict._repr_html_(),
        "markdown": as_markdown(audit),
        "junit": junit(audit),
        "page": page(audit),
    }
    for medium in ("text", "terminal", "notebook", "markdown", "junit", "page"):
        assert "Day by day" in shown[medium], medium
    for medium in ("notebook", "markdown", "page"):
        assert "1 of 30 days drifts" in shown[medium], medium
    for medium in ("terminal", "page"):
        assert "day 7 drifts" in shown[medium], medium
    assert "1 of 30 days is off" in shown["failure"]
    assert "before (day 6)" in shown["failure"]
    assert "not true: rate stays" in shown["failure"]
    assert "rate 0.3 0.7" in " ".join(shown["terminal"].split())
    assert shown["terminal"].index("Every day") < shown["terminal"].index("the rate stays")
    assert '<p class="kind">drift over time</p>' in shown["page"]
    assert "The model drifts." in shown["page"]
    assert "<dt>days</dt><dd>30</dd>" in shown["page"]
    assert "Must be true, but is not: rate stays" in shown["page"]


def test_before_it_has_registered_one_its_verdicts_are_shown_by_what_every_verdict_has() -> None:
    verdict = _verdict()
    assert "day   7\n" in failure_text(verdict)
    assert "rate  [0.3, 0.7]" in " ".join(_terminal(verdict).split("│")) or "day 7, rate [0.3, 0.7]" in _terminal(
        verdict
    )
    assert '<p class="kind">drift</p>' in page(AuditReport("spring", (Entry("steady", verdict),)))
    assert verdict.stopped in as_markdown(AuditReport("spring", (Entry("steady", verdict),)))
