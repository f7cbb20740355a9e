"""The HTML report: what it says, what it may do, and what it makes of texts that mean harm."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from page_audits import NASTY, REVIEW, closing, every_kind, principal, rates, responsiveness, safety, undecided

import isonomia as iso
from isonomia.errors import UsageError
from isonomia.records.display.view import SIGNS
from isonomia.report.entries import AuditReport, Entry, Failure
from isonomia.report.page import page, write_page
from isonomia.report.page.charts import TOGETHER, drawings_of
from isonomia.report.page.counterexamples import limits_for
from isonomia.report.page.labels import group_labels, told_apart
from isonomia.report.page.vega import chart_specs
from raising import raises

OURS = {
    "html",
    "caption",
    "head",
    "meta",
    "link",
    "title",
    "style",
    "body",
    "header",
    "main",
    "section",
    "article",
    "footer",
    "script",
}
OURS |= {
    "h1",
    "h2",
    "h3",
    "p",
    "a",
    "span",
    "bdi",
    "strong",
    "mark",
    "code",
    "pre",
    "div",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
}
OURS |= {"table", "caption", "thead", "tbody", "tr", "th", "td", "figure", "figcaption", "details", "summary"}
OURS |= {"button", "label", "input", "svg", "circle", "path", "line"}


class Reading(HTMLParser):
    """Reads a page as a browser does: elements, texts, and the scripts apart."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.texts: list[str] = []
        self._inside: str | None = None

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag):
        self._inside = None if tag in {"script", "style"} else self._inside

    def handle_data(self, data):
        if self._inside == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        elif self._inside != "style":
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())


def _read(html: str) -> Reading:
    reading = Reading()
    reading.feed(html)
    return reading


@pytest.fixture(scope="module")
def html() -> str:
    return page(every_kind())


@pytest.fixture(scope="module")
def reading(html: str) -> Reading:
    return _read(html)


def test_every_property_has_its_answer_and_those_that_are_violated_come_first(reading: Reading) -> None:
    answers = [attributes["data-answer"] for tag, attributes in reading.tags if tag == "article"]
    assert answers == ["violated"] * 4 + ["undecided", "holds"]
    assert "6 properties: 4 are violated, 1 is undecided, 1 holds." in reading.text


def test_the_page_says_in_words_what_each_kind_of_answer_means(reading: Reading) -> None:
    assert "The claim is refuted: it is not true of the population that was audited." in reading.text
    assert "is at most one in 1,000, no matter how often you look" in reading.text
    assert "Nothing is proved, and this is not a pass" in reading.text
    assert "Another prior never lowers the risk class." in reading.text
    assert "people with hired true" in reading.text  # explained from the formula, where nobody else explained it


def test_assumptions_remarks_seed_and_fingerprints_are_on_the_page(reading: Reading) -> None:
    for entry in every_kind().entries:
        for item in (*entry.verdict.assumptions, *entry.verdict.remarks, entry.verdict.population["fingerprint"]):
            assert " ".join(item.split()) in reading.text
    assert "isonomia run 'audits/spring audit.toml'" in reading.text
    assert "isonomia show 20261115-1200-ab12" in reading.text


def test_texts_from_outside_are_shown_and_make_no_element(reading: Reading) -> None:
    assert {tag for tag, _ in reading.tags} <= OURS
    assert not [name for _, attributes in reading.tags for name in attributes if name.startswith("on")]
    assert f"Spring audit {NASTY}" in reading.text
    assert REVIEW in reading.text
    assert sum(NASTY in text for text in reading.texts) > 5


def test_the_browser_may_run_the_two_scripts_of_the_page_and_no_other(reading: Reading) -> None:
    (rules,) = [item["content"] for _, item in reading.tags if item.get("http-equiv") == "Content-Security-Policy"]
    run = [text for attributes, text in reading.scripts if attributes.get("type") != "application/json"]
    sums = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in run]
    assert len(run) == 2
    assert re.findall(r"'sha256-([^']+)'", rules or "") == sums
    assert "default-src 'none'" in (rules or "")
    assert "unsafe-eval" not in (rules or "")


def test_the_page_points_at_nothing_outside_itself(reading: Reading) -> None:
    places = [attributes[name] for _, attributes in reading.tags for name in ("src", "href") if name in attributes]
    assert places
    assert all(
        place is not None and (place.startswith("#property-") or place in {"#summary", "#methods", "#repeat", "data:,"})
        for place in places
    )


def test_the_first_screen_says_which_model_which_data_what_came_of_it_and_what_to_do() -> None:
    people = {"sex": ["F", "M"] * 200, "hired": [0, 1, 0, 1, 1, 1] * 66 + [0] * 4}
    claims = {
        "as often": "P[hired == 1 | sex == 'F'] / P[hired == 1 | sex == 'M'] >= 0.8",
        "some": "P[hired == 1] >= 0.1",
    }
    verdicts = {name: iso.check(text, population=iso.Census(people)) for name, text in claims.items()}
    text = page(AuditReport("Hiring", tuple(Entry(name, verdict) for name, verdict in verdicts.items())))
    head = text.partition('<ol class="verdicts">')[0]
    mark = verdicts["some"].population["fingerprint"][:12]
    assert f"census of 400 rows, fingerprint {mark}" in head
    assert "2 properties: 1 is violated, 1 holds. Violated: as often." in head
    assert "What to do next" in head
    assert re.search(r'<li>[^<]*<a href="#property-1"><bdi>as often', head.partition("What to do next")[2])
    exact = "Every case of the claim was counted"
    assert text.count(exact) == 1  # the method is explained once, and not in every section
    assert text.count('<a href="#methods">') == 2


def test_charts_have_the_names_of_groups() -> None:
    labels = group_labels(["P[hired == 1 | sex == 'F'] / P[hired == 1 | sex == 'M']"])
    assert labels == ["sex: F / M"]  # a column is named once
    pairs = group_labels(["P[a | sex == 'F' and age < 25] / P[a | sex == 'M' and age < 25]", "P[a | x == 1] / P[a]"])
    assert pairs == ["sex, age: F, under 25 / M, under 25", "x 1 / all rows"]
    assert group_labels(["P[a | sex == 'F' and race == 'B']", "P[a | age >= 40]", "P[a]"]) == [
        "sex F, race B",
        "age 40 or more",
        "all rows",
    ]
    ages = ["P[a | age < 25]", "P[a | age >= 25 and age < 40 and sex == 'F']", "P[a | age != 30]"]
    assert group_labels(ages) == ["age under 25", "age 25 to under 40, sex F", "(age != 30)"]
    assert group_labels(["P[a | x == 1]", "P[b | x == 1]"]) == ["P[a | x == 1]", "P[b | x == 1]"]
    assert group_labels(["share of the person in row 3"]) == ["share of the person in row 3"]


def test_every_link_within_the_page_has_an_end(reading: Reading) -> None:
    ends = {attributes["id"] for _, attributes in reading.tags if "id" in attributes}
    links = {attributes["href"] for tag, attributes in reading.tags if tag == "a"}
    assert {str(link)[1:] for link in links} <= ends
    labelled = {attributes["aria-labelledby"] for _, attributes in reading.tags if "aria-labelledby" in attributes}
    assert labelled <= ends


def _fields(spec: object) -> set[str]:
    if isinstance(spec, dict):
        own = {spec["field"]} if isinstance(spec.get("field"), str) else set()
        return own.union(*(_fields(value) for value in spec.values()), set())
    return set().union(*(_fields(value) for value in spec)) if isinstance(spec, list) else set()


def test_every_chart_has_the_data_that_its_specification_asks_for(html: str) -> None:
    found = re.findall(r"""<figure class="chart" data-kind="(\w+)">.*?data-drawing='(.*?)'>""", html, re.DOTALL)
    assert {kind for kind, _ in found} == {"history", "intervals", "rates", "kinds", "shares", "bounds"}
    for kind, data in found:
        columns = json.loads(data)["columns"]
        assert _fields(chart_specs()[kind]) <= set(columns)
        assert len({len(column) for column in columns.values()}) == 1


def test_every_chart_has_words_and_a_table(reading: Reading) -> None:
    canvases = [attributes for _, attributes in reading.tags if "canvas" in (attributes.get("class") or "")]
    figures = [tag for tag, _ in reading.tags if tag == "figure"]
    assert len(canvases) == len(figures) == len([1 for _, item in reading.tags if item.get("class") == "numbers"])
    assert all(item["role"] == "img" and len(item["aria-label"] or "") > 30 for item in canvases)


def test_an_interval_without_end_is_drawn_to_the_edge_and_told_as_it_is(html: str) -> None:
    (data,) = re.findall(r"""data-kind="history">.*?data-drawing='(.*?)'>""", html, re.DOTALL)
    history = json.loads(data)
    assert history["columns"]["low"][0] == history["params"]["least"]
    assert history["columns"]["shown"][0] == "- in [-inf, inf]"
    assert "Infinity" not in data
    assert "NaN" not in data


def test_without_a_history_there_is_the_final_interval(html: str) -> None:
    plain = page(AuditReport("one", (Entry("rule", rates()),)))
    assert 'data-kind="history"' in html
    assert 'data-kind="history"' not in plain
    assert 'data-kind="intervals"' in plain


def test_the_counts_of_groups_and_subgroups_are_on_the_page(reading: Reading) -> None:
    counts = responsiveness().details["counts"]
    assert f"{counts['fixed']} of {counts['people']} people have no way" in reading.text
    for group in principal().details["subgroups"]:
        assert group["subgroup"] in reading.text
    cases = safety().details
    assert f"{cases['violations']['cases']} of {cases['cases']['tested']} cases violate it" in reading.text


def test_a_counterexample_table_of_a_hundred_megabytes_is_cut_with_a_word() -> None:
    first = safety().counterexamples[0]
    long = "x" * 500_000
    huge = {**first, "inputs": {"x1": first["inputs"]["x1"] | {f"f{k}": long for k in range(200)}}}
    audit = AuditReport("cut", (Entry("huge", replace(safety(), counterexamples=(huge,) * 5_000)),))
    html = page(audit)
    assert len(html) < 5_000_000
    text = _read(html).text
    assert re.search(r"Cut: \d+ of 5,000 counterexamples are shown here", text)
    assert re.search(r"Cut: \d+ of 203 features are shown here", text)
    assert "(cut: 500,000 characters in total)" in text


def test_a_huge_property_is_cut_with_a_word() -> None:
    some = rates()
    long = replace(
        some,
        text="P[a] >= 0.5 and " * 100_000,
        remarks=("word " * 100_000,) * 1_000,
        leaves=some.leaves * 50_000,
        expressions=some.expressions * 50_000,
        name="n" * 100_000,
    )
    html = page(AuditReport("t" * 100_000, (Entry("e" * 100_000, long, why="y" * 1_000_000),), run="r" * 10_000))
    assert len(html) < 2_000_000
    assert "Shown: 60 of 50,000; the record has them all." in html


def test_a_thousand_properties_are_all_there_and_take_little_each() -> None:
    entries = tuple(Entry(f"property {k}", safety()) for k in range(1_000))
    html = page(AuditReport("many", entries))
    assert html.count("<article") == 1_000
    assert len(html) < 15_000_000


def test_control_characters_are_seen_and_the_file_can_be_written(tmp_path) -> None:
    name = "a\x00b\x1b[31m\u202egnp.exe\ud800 \u05e9\u05dc\u05d5\u05dd\u2028"
    write_page(AuditReport(name, (Entry(name, replace(undecided(), text=name), why=name),)), tmp_path / "page.html")
    text = _read((tmp_path / "page.html").read_text("utf-8")).text
    assert "a␀b␛[31m[U+202E]gnp.exe\ufffd" in text
    assert "שלום" in text
    assert not re.search("[\x00\x1b\u202e\u2028]", text)


def test_an_audit_of_nothing_is_a_page_too() -> None:
    assert "No property was checked." in _read(page(AuditReport("empty", ()))).text


def test_a_page_that_cannot_be_written_says_where(tmp_path) -> None:
    with raises(UsageError, "page.html", "missing", cause=FileNotFoundError):
        write_page(AuditReport("empty", ()), tmp_path / "missing" / "page.html")


def test_exact_answers_and_risks_are_summed_up_for_the_whole_audit() -> None:
    exact, bets = Entry("exact", safety()), Entry("bets", rates())
    assert "Every answer is exact" in page(AuditReport("one", (exact,)))
    assert "any answer on this page is wrong is at most one in 500" in page(AuditReport("two", (exact, bets, bets)))


@pytest.mark.parametrize(("entries", "tile"), [(1, "1 holds"), (2, "2 hold")])
def test_a_tile_counts_in_good_english(entries: int, tile: str) -> None:
    text = _read(page(AuditReport("a", tuple(Entry(f"e{k}", rates(0.3)) for k in range(entries))))).text
    assert f"0 violated 0 undecided {tile} " in text


@pytest.mark.parametrize(
    ("when", "told"),
    [
        ("2026-11-15T17:55:03.123456+00:00", "15 November 2026, 17:55 UTC"),
        ("2026-03-01T07:05:00", "1 March 2026, 07:05"),
        ("2026-03-01T07:05:00+02:00", "1 March 2026, 07:05 UTC+02:00"),
        ("some day <b>", "some day <b>"),
    ],
)
def test_the_date_is_told_as_people_write_it(when: str, told: str) -> None:
    assert f"Date{told} " in _read(page(AuditReport("a", (), when=when))).text + " "


def test_properties_without_an_answer_have_a_tile_and_a_place_of_their_own() -> None:
    failures = (
        Failure("the index", "ModelError", f"expected 3 rows:\n  {NASTY}", "the law"),
        Failure("the rest", "Unfinished", "it was not checked to the end"),
    )
    audit = AuditReport("a", (Entry("e", rates(0.3)),), failures=failures)
    html = page(audit)
    text = _read(html).text
    assert "1 could not be checked 1 not checked to the end 0 violated 0 undecided 1 holds " in text
    assert "Nothing is known about 2 properties: see why ." in text.replace("why.", "why .")
    assert "! could not be checked the index expected 3 rows" in text
    assert "Why it must hold. the law" in text
    assert "… not finished the rest" in text
    assert NASTY not in html
    assert "1 could not be checked" in _read(page(replace(audit, entries=()))).text


def test_those_who_can_game_a_model_break_the_claim_on_the_charts() -> None:
    verdict = responsiveness()
    counts = verdict.details["counts"]
    turned = replace(verdict, details={**verdict.details, "relation": "<="})
    findings = ("{} of {} people have no way", "not met for {} of {} people")
    for each, bad, told in ((verdict, "fixed", findings[0]), (turned, "responsive", findings[1])):
        html = page(AuditReport("a", (Entry("e", each),)))
        (data,) = re.findall(r"""data-kind="kinds">.*?data-drawing='(.*?)'>""", html, re.DOTALL)
        columns = json.loads(data)["columns"]
        assert columns["kind"][:3] == ["meet it", "violate it", "undecided"]
        assert columns["count"][1] == counts[bad]
        assert told.format(counts[bad], counts["people"]) in _read(html).text


def _history(entry: Entry) -> dict[str, Any] | None:
    found = re.findall(r"""data-kind="history">.*?data-drawing='(.*?)'>""", page(AuditReport("a", (entry,))), re.DOTALL)
    return json.loads(found[0]) if found else None


def test_a_history_without_a_story_is_not_drawn() -> None:
    last = rates().expressions[0]
    once = ((100, last.low, last.estimate, last.high),) * 2
    never_moved = tuple((n, last.low, last.estimate, last.high) for n in (10, 100, 1_000))
    assert _history(Entry("e", rates(), history=once)) is None
    assert _history(Entry("e", rates(), history=never_moved)) is None


def test_an_early_interval_a_hundred_times_as_wide_leaves_the_last_one_readable() -> None:
    last = rates().expressions[0]
    points = [(10, 0.0, None, 120.0), (100, 0.0, 0.5, 15.0), (1_000, last.low, last.estimate, last.high)]
    drawn = _history(Entry("e", rates(), history=tuple(points)))
    assert drawn is not None
    span = drawn["params"]["most"] - drawn["params"]["least"]
    assert last.high - last.low > span / 6
    assert drawn["params"]["least"] >= 0, "a ratio has no room below zero"
    assert drawn["params"]["least"] <= last.threshold <= drawn["params"]["most"]
    # The last interval has a width on the chart: it goes on behind the last sample, which is told as it is.
    assert drawn["columns"]["at"][-1] > drawn["columns"]["at"][-2] == 1_000
    assert drawn["columns"]["n"][-1] == 1_000


def test_a_decided_claim_of_which_a_comparison_is_open_says_why_right_there() -> None:
    verdict = rates()
    wide = replace(verdict.expressions[0], low=0.1, high=0.9)
    text = _read(page(AuditReport("a", (Entry("e", replace(verdict, expressions=(wide,))),)))).text
    assert wide.settled is None
    assert TOGETHER in text


def test_the_commands_name_the_records_where_they_would_not_be_found() -> None:
    audit = replace(every_kind(), records="credit/.isonomia", file="credit/audit.toml")
    text = _read(page(audit)).text
    assert "isonomia show 20261115-1200-ab12 --records credit/.isonomia" in text
    assert "isonomia export 20261115-1200-ab12 -o evidence.json --records credit/.isonomia" in text
    assert "isonomia run credit/audit.toml " in text
    assert "isonomia run credit/audit.toml --records" not in text


def test_long_labels_are_cut_where_they_agree_and_not_where_they_differ() -> None:
    long = [f"the share of applicants from {'a region with a very long name ' * 3}{end} who are hired" for end in "AB"]
    assert told_apart(long) == ["…A…", "…B…"]
    assert told_apart(["short", "labels"]) == ["short", "labels"]


def test_no_axis_shows_a_rate_that_cannot_be_and_every_axis_has_a_title() -> None:
    people = {"sex": ["F", "M"] * 20, "hired": [1, 1] * 20}
    verdict = iso.check("P[hired | sex == 'F'] >= 0.9", population=iso.Sample(people), seed=1)
    drawings = drawings_of(Entry("certain", verdict, history=closing(verdict)), limits_for(1))
    assert {drawing.kind for drawing in drawings} == {"history", "intervals", "rates"}
    for drawing in drawings:
        assert drawing.axis == "rate"
        assert drawing.kind == "history" or 0.0 <= drawing.params["least"] <= drawing.params["most"] <= 1.0
    assert drawings[0].across.startswith("people")


def test_the_threshold_is_the_edge_of_a_bar() -> None:
    verdict = responsiveness()
    near = replace(verdict, details=verdict.details | {"threshold": 0.52})
    for shown, threshold in ((verdict, 0.3), (near, 0.52)):
        drawings = drawings_of(Entry("some", shown), limits_for(1))
        rows = next(drawing.rows for drawing in drawings if drawing.kind == "shares")
        assert all(row["to"] <= threshold or row["from"] >= threshold for row in rows)
    assert {row["shown"] for row in rows} >= {"50% to 52%"}


def test_the_summary_shows_every_comparable_property_and_every_violation_has_a_next_step() -> None:
    verdicts = {"ratio": rates(), "other ratio": rates(0.3), "small": undecided(), "cases": safety()}
    verdicts |= {f"more {number}": rates() for number in range(20)}
    text = page(AuditReport("Many", tuple(Entry(name, verdict) for name, verdict in verdicts.items())))
    head = text.partition('<ol class="verdicts">')[0]
    assert "Ratios against their thresholds" in head
    assert "Rates and differences against their thresholds" in head
    ratios = head.partition("Ratios against their thresholds")[2].partition("</figure>")[0]
    assert all(f">{SIGNS[verdicts[name].answer]} {name}<" in ratios or name in ratios for name in ("ratio", "more 19"))
    steps = head.partition("What to do next")[2].partition("</ol>")[0]
    assert steps.count("<li>") == 3  # with cases, with groups, undecided
    assert steps.count("<a href") == 1 + 12 + 1
    assert "and 9 more, below" in steps
    assert "An undecided property makes no claim, so it cannot be wrong." in head


def test_many_comparisons_print_the_worst_five_and_how_many_are_left_out() -> None:
    rng = np.random.default_rng(3)
    town = rng.integers(0, 30, 3_000)
    people = {"town": town, "hired": rng.random(3_000) < 0.3 + 0.01 * town}
    verdict = iso.check("for t in town: P[hired | town == t] >= 0.4", population=iso.Census(people))
    assert len(verdict.groups) == 30
    printed = str(verdict)
    assert printed.count("P[hired | town == ") == 1 + 2 * 5  # the claim; then each as a comparison and as a rate
    assert "and 25 more comparisons; verdict.groups has them" in printed
    assert f"the worst of 30 comparisons is {verdict.worst.group}" in printed
    two = iso.Sample({"town": ["A", "B"], "hired": [0, 1]})
    few = iso.check("for t in town: P[hired | town == t] >= 0.4", population=two)
    assert "(n = 1)" in str(few)
