"""The parts of the report: values side by side, odds in words, what is left out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from page_audits import NASTY, every_kind, rates, responsiveness, safety, undecided

from isonomia.report.entries import AuditReport, Entry, Failure
from isonomia.report.page.counterexamples import PageLimits, ValueCell, cases_of, cells_of, limits_for
from isonomia.report.page.page import certainty, commands, odds, section_of
from isonomia.report.page.vega import as_data
from isonomia.wording import value_text


def test_what_differs_comes_first_and_is_marked() -> None:
    case = cases_of(safety(), PageLimits())[0][0]
    assert [line.name for line in case.differs] == ["priors"]
    assert [line.name for line in case.same] == ["age", NASTY]
    before, after = case.differs[0].cells
    assert (before.before, before.differs) == ("3", False)
    assert (after.changed, after.differs) == ("4", True)
    assert dict(case.outputs) == {"d1": "3", "d2": "0"}
    assert "Must be true, but is not: d1 <= d2" in case.notes


def test_of_several_inputs_the_title_tells_what_was_changed_and_an_image_has_words_for_its_pixels() -> None:
    inputs = {"x1": {"image": 7, "pixels": "eNol", "label": 2}, "x2": {"image": 9, "pixels": "eNom", "label": 3}}
    found = {
        "inputs": inputs,
        "rows": {"x1": 7, "x2": 9},
        "choices": [4],
        "outputs": {"d1": 2, "d2": 3},
        "differs": {
            "x2": {"pixels": ["as in image 7", "as in image 9"], "label": [2, 3]},
            "x3": {"pixels": ["as in image 7", "49 of 64 differ"]},
        },
        "violates": ["d1 == d2"],
    }
    domain = {"kind": "domain", "what": "image"}
    ((case,), _) = cases_of(replace(safety(), counterexamples=(found,), population=domain), PageLimits())
    assert case.title == "image 7, image 9: pixels: 49 of 64 differ; d1 = 2, d2 = 3"
    assert case.columns == ("x1 (image 7)", "x2 (image 9)", "x3 (changed)")
    pixels = next(line for line in case.differs if line.name == "pixels")
    assert [cell.before + cell.changed for cell in pixels.cells] == [
        "as in image 7",
        "as in image 9",
        "49 of 64 differ",
    ]
    assert "Chosen at random: 4" in case.notes


def test_the_nearest_points_of_a_person_stand_beside_them() -> None:
    verdict = responsiveness()
    cases, _ = cases_of(verdict, PageLimits())
    assert len(cases) == len({item["person"] for item in verdict.counterexamples})
    assert all("none of" in case.title for case in cases)  # those who are too young cannot do anything
    reached = {"person": 4, "looked_at": 9, "every": True, "reaching": 2, "distance": 0.2}
    points = [{**reached, "changed": {"a": [1, n]}, "point": {"a": n, "b": 0}, "prediction": "yes"} for n in (3, 4)]
    ((case,), _) = cases_of(replace(verdict, counterexamples=tuple(points)), PageLimits())
    assert case.columns == ("now", "nearest 1", "nearest 2")
    assert [cell.before or cell.changed for cell in case.differs[0].cells] == ["1", "3", "4"]


def test_a_counterexample_of_an_unknown_kind_is_shown_by_its_values() -> None:
    ((case,), _) = cases_of(replace(rates(), counterexamples=({"colour": "red", "size": [1, 2]},)), PageLimits())
    assert [line.name for line in (*case.differs, *case.same)] == ["colour", "size"]


def test_as_many_counterexamples_as_there_is_room_for_and_at_least_one() -> None:
    verdict = safety()
    many = replace(verdict, counterexamples=verdict.counterexamples[:1] * 50)
    assert len(cases_of(many, PageLimits(cases=7))[0]) == 7
    assert len(cases_of(many, PageLimits(case_characters=1))[0]) == 1
    assert limits_for(1_000).case_characters * 1_000 <= limits_for(1).case_characters * 10


def test_of_long_texts_the_stretch_that_differs_is_marked() -> None:
    head, tail = "a" * 100, "z" * 100
    first, second = cells_of([f"{head}good{tail}", f"{head}bad{tail}"], 300)
    assert not first.differs
    assert second == ValueCell(f"… {'a' * 60}", "ba", f"d{'z' * 59} …", True)


@pytest.mark.parametrize(
    ("left", "right", "differs"),
    [(3, 3.0, False), (3, "3", True), (True, 1, True), (float("nan"), float("nan"), False), (None, None, False)],
)
def test_values_differ_where_a_reader_would_say_so(left, right, differs) -> None:
    assert cells_of([left, right], 50)[1].differs is differs


def test_a_value_is_short_whatever_it_is() -> None:
    assert value_text("x" * 10_000_000, 20) == f"{'x' * 20} … (cut: 10,000,000 characters in total)"
    assert len(value_text(list(range(1_000_000)), 100)) < 150
    assert value_text(10**100_000, 100) == "a whole number of 332,193 bits"
    assert (value_text(True, 9), value_text(None, 9), value_text(0.1 + 0.2, 9)) == ("yes", "missing", "0.3")


@pytest.mark.parametrize(
    ("risk", "words"), [(1e-6, "one in 1,000,000"), (0.05, "one in 20"), (0.050104, "0.0502"), (0.003, "0.003")]
)
def test_odds_are_said_as_people_say_them_and_never_too_small(risk, words) -> None:
    assert odds(risk) == words


def test_an_undecided_answer_says_why_it_ended_and_that_it_is_no_pass() -> None:
    verdict = undecided()
    assert "not a pass" in section_of(1, Entry("e", verdict), PageLimits()).meaning
    assert verdict.stopped in certainty(verdict)


def test_a_counterexample_by_itself_leaves_nothing_to_chance() -> None:
    assert "does not depend on chance" in certainty(replace(safety(), method="tests"))


def test_a_text_that_is_no_formula_is_not_explained() -> None:
    verdict = replace(rates(), text="P[[[")
    assert section_of(1, Entry("e", verdict), PageLimits()).claim is None
    assert section_of(1, Entry("e", verdict, explanation="said"), PageLimits()).claim == "said"


def test_data_cannot_end_the_script_or_the_quotes_that_hold_it() -> None:
    data = as_data({"a": "</script><!-- \u2028 & ' onload='x"})
    assert not set("<>&'\u2028") & set(data)


def test_commands_are_quoted_for_the_shell() -> None:
    audit = AuditReport("a", (), run="x; rm -rf y", file="my audit.toml")
    assert dict(commands(audit))["Show the record of this run again"] == "isonomia show 'x; rm -rf y'"
    assert commands(AuditReport("a", ())) == ()


def test_a_notebook_shows_an_audit_without_scripts_and_without_running_its_texts() -> None:
    html = every_kind()._repr_html_()
    assert "<script" not in html
    assert "<img" not in html
    assert html.count("<details") >= 6
    assert "4 are violated" in html
    assert "and 50 more properties" in AuditReport("a", (Entry("e", rates()),) * 100)._repr_html_()


def test_a_notebook_tells_of_which_properties_nothing_is_known_and_why() -> None:
    failures = (Failure("the <index>", "ModelError", "it is <down>"), Failure("the rest", "Unfinished", "cut off"))
    html = AuditReport("a", (Entry("e", rates()),), failures=failures)._repr_html_()
    assert "! no answer" in html
    assert "the &lt;index&gt;</strong> <span>could not be checked" in html
    assert "it is &lt;down&gt;" in html
    assert "the rest</strong> <span>not checked to the end" in html
