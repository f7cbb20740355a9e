"""What CI servers and code hosts are told."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree

import page_audits
import pytest

import isonomia as iso
from isonomia.records.display.view import view_of
from isonomia.records.verdict import Verdict
from isonomia.report.entries import UNFINISHED, AuditReport, Entry, Failure, exit_code
from isonomia.report.junit import junit
from isonomia.report.markdown import as_markdown, github_lines, model_card, summary
from isonomia.report.sarif import sarif

NASTY = "<script>alert(1)</script> | `code` \x00\x1b[31m ]]> & %0A::error::\nsecond line"


def _verdict(threshold: float, text: str | None = None) -> Verdict:
    people = {"hired": [1] * 60 + [0] * 40}
    verdict = iso.check(f"P[hired] >= {threshold}", population=iso.Census(people))
    return verdict if text is None else replace(verdict, text=text, remarks=(text,))


@pytest.fixture(scope="module")
def audit() -> AuditReport:
    undecided = iso.check("P[hired] >= 0.6", population=iso.Sample({"hired": [1, 0, 1]}), seed=1)
    assert undecided.answer == "undecided"
    return AuditReport(
        "Hiring & promotion",
        (
            Entry("enough", _verdict(0.5), why="the law", line=12),
            Entry("too many", _verdict(0.9), line=20),
            Entry("not known", undecided, line=25),
            Entry(NASTY, _verdict(0.95, NASTY), why=NASTY),
        ),
        run="20261115-1200-ab12",
        when="2026-11-15T12:00:00+00:00",
        file="audits/audit.toml",
    )


def test_exit_codes_say_the_worst(audit: AuditReport) -> None:
    holds, violated, undecided, _ = (entry.verdict for entry in audit.entries)
    assert exit_code([holds]) == 0
    assert exit_code([holds, undecided]) == 3
    assert exit_code([undecided, violated, holds]) == 1
    assert exit_code([]) == 0


def test_junit_counts_violations_as_failures_and_undecided_as_errors(audit: AuditReport) -> None:
    suites = ElementTree.fromstring(junit(audit).encode())
    (suite,) = suites
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "2", "1")
    assert suite.get("timestamp") == "2026-11-15T12:00:00"
    kinds = [[child.tag for child in case] for case in suite]
    assert kinds == [["system-out"], ["failure"], ["error"], ["failure"]]
    failure = suite[1][0]
    assert "violated after 100 samples" in (failure.get("message") or "")
    assert "P[hired]" in (failure.text or "")


def test_junit_survives_characters_that_xml_cannot_hold(audit: AuditReport) -> None:
    case = ElementTree.fromstring(junit(audit).encode())[0][3]
    name = case.get("name") or ""
    assert name.startswith("<script>")
    assert "\x00" not in name
    assert "\N{REPLACEMENT CHARACTER}" in name


def test_sarif_has_a_rule_and_a_result_for_every_property(audit: AuditReport) -> None:
    (run,) = json.loads(sarif(audit))["runs"]
    rules, results = run["tool"]["driver"]["rules"], run["results"]
    assert len({rule["id"] for rule in rules}) == len(rules) == len(results) == 4
    assert [(result["kind"], result["level"]) for result in results] == [
        ("pass", "none"),
        ("fail", "error"),
        ("review", "none"),
        ("fail", "error"),
    ]
    assert all(result["ruleId"] == rules[result["ruleIndex"]]["id"] for result in results)
    where = results[1]["locations"][0]["physicalLocation"]
    assert where == {"artifactLocation": {"uri": "audits/audit.toml"}, "region": {"startLine": 20}}
    assert json.loads(sarif(audit)) == json.loads(sarif(audit)), "the same audit is the same log"


def test_a_summary_has_a_line_for_every_property_and_lets_nothing_out(audit: AuditReport) -> None:
    for text in (summary(audit), as_markdown(audit), model_card(audit)):
        outside_code = re.sub("`[^`\n]*`", "", text.replace("\\`", ""))
        assert "<script>" not in outside_code
        assert not re.search("[\x00-\x09\x0b-\x1f]", text)
        assert "4 properties: 2 are violated, 1 is undecided, 1 holds." in text
    table = [line for line in summary(audit).splitlines() if line.startswith("| ")]
    assert len(table) == 1 + 4
    assert all(line.replace("\\|", "").count("|") == 5 for line in table)


def test_a_model_card_says_what_was_assumed(audit: AuditReport) -> None:
    assert "- assumes that the 100 rows are the whole population".replace("-", "-") in model_card(audit).replace(
        "\\", ""
    )
    assert "Run 20261115-1200-ab12" in model_card(audit).replace("\\", "")


def test_remarks_beside_the_file_cannot_be_forged_by_a_name(audit: AuditReport) -> None:
    lines = github_lines(audit).splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::error", "::warning", "::error"]
    assert lines[0].startswith("::error file=audits/audit.toml,line=20,title=too many::violated")
    assert "::error::" not in lines[2].split("title=")[1].split("::")[0]


def test_markdown_says_who_breaks_a_claim_and_tells_a_program_in_words() -> None:
    gaming = replace(page_audits.responsiveness(), answer="violated")
    counts = gaming.details["counts"]
    gaming = replace(gaming, details={**gaming.details, "relation": "<="})
    entries = (Entry("gaming", gaming), Entry("priors", page_audits.safety(), explanation="Another prior never helps."))
    written = as_markdown(AuditReport("a", entries))
    assert f"| not met for {counts['responsive']} of {counts['people']} people |" in written
    assert f"Found: not met for {counts['responsive']} of {counts['people']} people." in written
    assert written.index("Another prior never helps.") < written.index("`input x1;")
    assert "cases violate it" in written


@pytest.mark.parametrize("write", [junit, sarif, summary, as_markdown, model_card, github_lines])
def test_what_was_not_come_to_is_nowhere_said_to_have_failed(
    audit: AuditReport, write: Callable[[AuditReport], str]
) -> None:
    cut_off = replace(audit, failures=(Failure("later", UNFINISHED, "go on with it"),))
    assert "not checked to the end" in write(cut_off)
    assert "could not be checked" not in write(cut_off)
    broken = replace(audit, failures=(Failure("later", "ModelError", "it broke"),))
    assert "could not be checked" in write(broken)


def test_a_model_card_has_the_numbers_of_the_headline(audit: AuditReport) -> None:
    card = model_card(audit).replace("\\", "")
    for entry in audit.entries:
        assert f"{entry.verdict.answer}: {view_of(entry.verdict).finding(entry.verdict, False)}" in card
