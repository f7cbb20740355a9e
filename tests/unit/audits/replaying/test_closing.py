"""How the intervals of a run narrowed, from its evidence alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from isonomia.audits import replay as closing
from isonomia.audits.replay import interval_histories
from isonomia.records.evidence import CheckEvidence


def test_a_sampled_property_has_a_history_that_ends_with_its_verdict(run: Any) -> None:
    found = interval_histories(run.evidence)
    assert set(found) == {"a rate"}, "the answers to the others are exact"
    points = found["a rate"]
    verdict = run.evidence.verdicts["a rate"]
    last = verdict.expressions[0]
    assert points[-1] == (verdict.samples, last.low, last.estimate, last.high)
    assert [n for n, *_ in points] == sorted(n for n, *_ in points)
    widths = [high - low for _, low, _, high in points]
    assert widths[-1] < widths[0]


def test_no_more_properties_are_traced_than_can_be_waited_for(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing, "MOST", 0)
    assert interval_histories(run.evidence) == {}


def test_what_cannot_be_computed_again_has_no_history(run: Any) -> None:
    def without(check: CheckEvidence) -> CheckEvidence:
        return replace(check, entries={key: entry for key, entry in check.entries.items() if key != "batch 0"})

    def other(check: CheckEvidence) -> CheckEvidence:
        assert check.verdict is not None
        return replace(check, verdict={**check.verdict, "samples": check.verdict["samples"] + 1})

    for change in (without, other):
        changed = replace(run.evidence, checks=tuple(map(change, run.evidence.checks)))
        assert interval_histories(changed) == {}
    unreadable = replace(run.evidence, audit={**run.evidence.audit, "text": "no toml"})
    assert interval_histories(unreadable) == {}
