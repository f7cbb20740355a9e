"""A verdict in a notebook."""

from __future__ import annotations

from dataclasses import replace

import pytest

import isonomia as iso
from isonomia.records.display.html import as_html, gauge_picture
from isonomia.records.display.view import scale_of
from isonomia.records.verdict import Expression
from isonomia.wording import excerpt, visible


def _verdict() -> iso.Verdict:
    return iso.check("P[hired] >= 0.5", population=iso.Census({"hired": [1, 1, 0]}))


def test_a_verdict_has_its_answer_its_interval_and_a_picture() -> None:
    html = _verdict()._repr_html_()
    assert "✔ holds" in html
    assert "[0.6667, 0.6667]" in html
    assert html.count("<svg") == 1


def test_texts_from_outside_are_escaped_and_cut() -> None:
    nasty = "<script>alert(1)</script>\x1b" + "x" * 10_000
    html = replace(_verdict(), text=nasty, name=nasty, remarks=(nasty,) * 500, stopped=nasty)._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;␛" in html
    assert len(html) < 30_000


def test_many_quantities_are_cut_with_a_word() -> None:
    verdict = _verdict()
    html = replace(verdict, leaves=verdict.leaves * 100)._repr_html_()
    assert "and 89 more; the verdict has them" in html


@pytest.mark.parametrize("ends", [(0.4, 0.6), (-float("inf"), float("inf")), (0.5, 0.5)])
def test_a_gauge_draws_any_interval_within_its_picture(ends) -> None:
    picture = gauge_picture(Expression("x", ">=", 0.5, None, *ends), "red", width=100)
    assert "nan" not in picture
    assert "inf" not in picture
    places = [float(part.split('"')[1]) for part in picture.split() if part.startswith(("x1=", "x2="))]
    assert all(0 <= place <= 100 for place in places)


def test_a_scale_reaches_beyond_all_that_is_shown() -> None:
    left, right = scale_of(Expression("x", ">=", 0.8, 0.5, 0.4, float("inf")))
    assert left < 0.4 < 0.8 < right


def test_what_cannot_be_seen_is_made_visible_and_scripts_stay_readable() -> None:
    assert visible("a\x00\x7f\x85\u202e\ud83d\ufeff") == "a␀␡[U+0085][U+202E]\ufffd[U+FEFF]"
    assert visible("سلام می‌شود\n\tx") == "سلام می‌شود\n\tx"
    assert excerpt("abcdef", 3) == "abc … (cut: 6 characters in total)"
    assert excerpt("abc", 3) == "abc"


def test_a_program_is_folded_away_below_its_sentence_and_the_first_counterexample_is_there() -> None:
    rising = iso.safety.monotone("priors", up=1)
    people = iso.Census({"priors": [0, 1, 2]})
    verdict = iso.check(rising, lambda table: [int(value == 1) for value in table["priors"]], people, seed=1)
    html = as_html(verdict, rising.explain(), "the <b>law")
    assert html.index("Raising priors by 1 never lowers the prediction.") < html.index("<pre") < html.index("input x1;")
    assert "the &lt;b&gt;law" in html
    assert "Found: 1 of 3 cases violates it." in html
    assert "the counterexample</summary>" in html
    assert "priors" in html[html.index("the counterexample") :]
