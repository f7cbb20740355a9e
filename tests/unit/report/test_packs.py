"""Documents for rules: the tables of the rules' own examples, facts that nobody invents, one page a person."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from markdown_it import MarkdownIt
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

import isonomia as iso
from isonomia.audits.responsiveness.adverse_action import refused_applicants
from isonomia.audits.responsiveness.points import pruned
from isonomia.cli.app import app
from isonomia.errors import UsageError
from isonomia.interventions import Feature, Interventions, Points
from isonomia.interventions.constraints import OneHot
from isonomia.populations import Table
from isonomia.report.entries import AuditReport, Entry, Failure
from isonomia.report.packs import PACKS, fill, pack_named
from isonomia.report.packs.audit_tables import SealedAudit, kind_of
from isonomia.report.packs.eeoc import fisher, standard_deviations
from raising import raises

SELECTED = {
    ("Male", "Hispanic or Latino"): (205, 90, "43.9%", "0.841"),
    ("Male", "White"): (412, 215, "52.2%", "1.000"),
    ("Male", "Black or African American"): (226, 95, "42.0%", "0.806"),
    ("Male", "Native Hawaiian or Pacific Islander"): (87, 37, "42.5%", "0.815"),
    ("Male", "Asian"): (321, 167, "52.0%", "0.997"),
    ("Male", "Native American or Alaska Native"): (24, 11, "45.8%", "0.878"),
    ("Male", "Two or More Races"): (115, 52, "45.2%", "0.866"),
    ("Female", "Hispanic or Latino"): (190, 82, "43.2%", "0.827"),
    ("Female", "White"): (385, 197, "51.2%", "0.981"),
    ("Female", "Black or African American"): (164, 75, "45.7%", "0.876"),
    ("Female", "Native Hawaiian or Pacific Islander"): (32, 15, "46.9%", "0.898"),
    ("Female", "Asian"): (295, 135, "45.8%", "0.877"),
    ("Female", "Native American or Alaska Native"): (17, 7, "41.2%", "0.789"),
    ("Female", "Two or More Races"): (98, 44, "44.9%", "0.860"),
}
"""Applicants, selected, selection rate and impact ratio: the intersectional table of the example of selections in
6 RCNY 5-301, as the notice of adoption of the rule (New York City DCWP, 2023) prints it."""

SELECTED_BY_RACE = {
    "Hispanic or Latino": (408, 204, "50%", "0.97"),
    "White": (797, 412, "52%", "1.00"),
    "Black or African American": (390, 170, "44%", "0.84"),
    "Native Hawaiian or Pacific Islander": (119, 52, "44%", "0.85"),
    "Asian": (616, 302, "49%", "0.95"),
    "Native American or Alaska Native": (41, 18, "44%", "0.85"),
    "Two or More Races": (213, 96, "45%", "0.87"),
}
"""The same by race. The rule's row of Hispanic or Latino is not the sum of its two intersectional ones (395, 172)."""

SCORED = {
    ("Male", "Hispanic or Latino"): (16, 12, "75.0%", "1.00"),
    ("Male", "White"): (20, 7, "35.0%", "0.47"),
    ("Male", "Black or African American"): (20, 10, "50.0%", "0.67"),
    ("Male", "Native Hawaiian or Pacific Islander"): (4, 3, "75.0%", "1.00"),
    ("Male", "Asian"): (12, 7, "58.3%", "0.78"),
    ("Male", "Native American or Alaska Native"): (8, 5, "62.5%", "0.83"),
    ("Male", "Two or More Races"): (12, 6, "50.0%", "0.67"),
    ("Female", "Hispanic or Latino"): (12, 6, "50.0%", "0.67"),
    ("Female", "White"): (20, 8, "40.0%", "0.53"),
    ("Female", "Black or African American"): (12, 6, "50.0%", "0.67"),
    ("Female", "Native Hawaiian or Pacific Islander"): (4, 2, "50.0%", "0.67"),
    ("Female", "Asian"): (12, 3, "25.0%", "0.33"),
    ("Female", "Native American or Alaska Native"): (8, 5, "62.5%", "0.83"),
    ("Female", "Two or More Races"): (8, 4, "50.0%", "0.67"),
}
"""Applicants, those with a score above the median, scoring rate and impact ratio: the intersectional table of the
example of scores in 6 RCNY 5-301. The rule has no numbers above the median; these are the only ones with its rates."""


def people_of(counts: dict[tuple[str, str], tuple[int, int, str, str]], unknown: int) -> pd.DataFrame:
    """One row a person; ``yes`` of the first ones of each category, and some people of unknown race at the end."""
    rows = [(sex, race, int(number < yes)) for (sex, race), (n, yes, *_) in counts.items() for number in range(n)]
    rows += [("Male", "?", number % 2) for number in range(unknown)]
    return pd.DataFrame(rows, columns=["sex", "race", "yes"])


def example_of_local_law_144(frame: pd.DataFrame, **outcome: str) -> Any:
    by = ["sex", "race", ("sex", "race")]
    return iso.measure(frame, by=by, unknown=["?"], small=0.0, **outcome)


def selected(groups: dict[str, tuple[int, int]], **others: Any) -> dict[str, list[Any]]:
    names = [name for name, (n, _) in groups.items() for _ in range(n)]
    hired = [int(number < yes) for n, yes in groups.values() for number in range(n)]
    return {"race": names, "hired": hired, **{name: [value] * len(names) for name, value in others.items()}}


def rows_of(text: str, heading: str) -> dict[str, list[str]]:
    """The rows of the table below a heading of a document in Markdown, by their first cell."""
    part = text.replace("\\", "").split(f"## {heading}\n")[1].split("\n## ")[0]
    cells = [
        [cell.strip() for cell in line[1:].rstrip().removesuffix("|").split("|")]
        for line in part.splitlines()
        if line.startswith("|")
    ]
    return {row[0]: row[1:] for row in cells[2:]}


def test_the_example_of_selections_of_local_law_144_to_the_last_digit() -> None:
    table = example_of_local_law_144(people_of(SELECTED, 250), decision="yes")

    def printed(by: Any, places: int, digits: int) -> dict[str, tuple[int, int, str, str]]:
        """The rows as the rule prints them: it has other places in each of its tables."""
        return {
            row.name: (
                row.n,
                row.counts["selected"],
                f"{100 * row['selection_rate'].value:.{places}f}%",
                f"{row['impact_ratio'].value:.{digits}f}",
            )
            for row in table[by]
            if not row.unknown
        }

    # People of unknown race have a known sex here, and are in the table of sex; in the rule's example they are in none.
    known = example_of_local_law_144(people_of(SELECTED, 0), decision="yes")
    assert {
        row.name: (row.n, row.counts["selected"], f"{100 * row['selection_rate'].value:.0f}%")
        for row in known[("sex",)]
    } == {"Male": (1390, 667, "48%"), "Female": (1181, 555, "47%")}
    assert {row.name: f"{row['impact_ratio'].value:.3f}" for row in known[("sex",)]} == {
        "Male": "1.000",
        "Female": "0.979",
    }
    assert printed(("sex", "race"), 1, 3) == {f"{sex}, {race}": told for (sex, race), told in SELECTED.items()}
    by_race = printed(("race",), 0, 2)
    assert by_race.pop("Hispanic or Latino")[:2] == (395, 172)
    assert by_race == {race: told for race, told in SELECTED_BY_RACE.items() if race != "Hispanic or Latino"}
    assert "race: 250 people" in fill("nyc-ll144", table).to_markdown()


def test_the_example_of_selections_by_race_alone_to_the_last_digit() -> None:
    people = selected({race: (n, yes) for race, (n, yes, *_) in SELECTED_BY_RACE.items()}, sex="Male")
    table = example_of_local_law_144(pd.DataFrame(people), decision="hired")
    assert {
        row.name: (
            row.n,
            row.counts["selected"],
            f"{100 * row['selection_rate'].value:.0f}%",
            f"{row['impact_ratio'].value:.2f}",
        )
        for row in table[("race",)]
    } == SELECTED_BY_RACE


def test_the_example_of_scores_of_local_law_144_to_the_last_digit() -> None:
    frame = people_of(SCORED, 0)
    frame["score"] = np.where(frame["yes"] == 1, 0.9, 0.1)
    text = fill("nyc-ll144", example_of_local_law_144(frame, score="score")).to_markdown()
    assert rows_of(text, "Sex") == {"Male": ["92", "54.3%", "1.00"], "Female": ["76", "44.7%", "0.82"]}
    assert rows_of(text, "Race and ethnicity") == {
        # The rule prints 64.2% for 18 of 28, which is 64.29%: it cuts where it rounds elsewhere.
        "Hispanic or Latino": ["28", "64.3%", "1.00"],
        "White": ["40", "37.5%", "0.58"],
        "Black or African American": ["32", "50.0%", "0.78"],
        "Native Hawaiian or Pacific Islander": ["8", "62.5%", "0.97"],
        "Asian": ["24", "41.7%", "0.65"],
        "Native American or Alaska Native": ["16", "62.5%", "0.97"],
        "Two or More Races": ["20", "50.0%", "0.78"],
    }
    assert rows_of(text, "Sex, race and ethnicity together") == {
        f"{sex}, {race}": [str(n), rate, ratio] for (sex, race), (n, _, rate, ratio) in SCORED.items()
    }


def test_local_law_144_has_no_threshold_and_counts_the_unknown() -> None:
    people = selected({"A": (60, 30), "B": (40, 10), "?": (7, 3), "C": (1, 1)}, sex="F")
    facts = {"exclusion": "one person"}
    table = iso.measure(people, by=["sex", "race", ("sex", "race")], decision="hired", unknown=["?"], small=0.02)
    text = fill("nyc-ll144", table, facts).to_markdown()
    assert not re.search(r"0\.8\b|80%|four.fifths|4/5", text)
    assert "race: 7 people" in text
    rows = rows_of(text, "Race and ethnicity")
    assert rows["A"] == ["60", "30", "50.0%", "1.00"]
    assert rows["B"] == ["40", "10", "25.0%", "0.50"]
    assert rows["C (below 2%)"] == ["1", "1", "100.0%", "left out"]
    assert "Justification of the independent auditor: one person" in text


def test_the_example_of_the_questions_and_answers_on_four_fifths() -> None:
    groups = {"White": (100, 60), "American Indian": (100, 45), "Hispanic": (100, 48), "Black": (100, 51)}
    table = iso.measure(selected(groups), by="race", decision="hired")
    document = fill("eeoc", table)
    rows = {
        name.removeprefix("race: "): cells for name, cells in rows_of(document.to_markdown(), "Selection rates").items()
    }
    assert {name: cells[3] for name, cells in rows.items()} == {
        "White": "highest",
        "American Indian": "75%",
        "Hispanic": "80%",
        "Black": "85%",
    }
    assert {name: cells[4] for name, cells in rows.items()} == {
        "White": "",
        "American Indian": "below",
        "Hispanic": "not below",
        "Black": "not below",
    }
    told = "By race: selected at less than four fifths of the rate of White, the highest: American Indian."
    assert told in document.to_markdown()
    assert float(rows["American Indian"][5]) == pytest.approx(fisher(45, 100, 60, 100), rel=1e-2)
    # (0.60 - 0.45) / sqrt(0.525 * 0.475 * 0.02), by hand.
    assert standard_deviations(45, 100, 60, 100) == pytest.approx(2.1240, abs=1e-4)
    assert standard_deviations(0, 10, 0, 10) is None


def test_the_share_below_which_groups_are_set_aside_is_the_one_that_was_measured_with() -> None:
    people = {"sex": ["F"] * 40 + ["M"] * 60, "hired": [1] * 20 + [0] * 20 + [1] * 30 + [0] * 30}
    text = fill("eeoc", iso.measure(people, by="sex", decision="hired", small=0.45)).to_markdown()
    assert "F (below 45%)" in text.replace("\\", "")
    assert "Groups below 45% of the rows are shown" in text
    assert "no group of at least 45% is selected" in text


def test_groups_of_sex_and_race_together_are_beyond_what_the_guidelines_ask() -> None:
    text = fill("eeoc", groups()).to_markdown()
    assert "By sex, race together, beyond what the guidelines require: selected at less than four fifths of" in text
    assert "the rate of F, A, the highest: F, B." in text
    assert "By race: selected at less than four fifths of the rate of A, the highest: B." in text


@pytest.mark.parametrize("column", ["age", "marital_status", "religion"])
def test_four_fifths_is_refused_for_other_attributes_than_race_and_sex(column: str) -> None:
    people = {column: ["a", "b"] * 50, "hired": [1, 0, 0, 1] * 25}
    with raises(UsageError, "1607.4", column):
        fill("eeoc", iso.measure(people, by=column, decision="hired"))


@pytest.mark.parametrize("name", PACKS)
def test_every_pack_cites_a_paragraph_in_every_line_and_is_no_legal_advice(name: str) -> None:
    document = fill(name, SUBJECTS[name]())
    text = document.to_markdown()
    assert "This is not legal advice" in text
    assert {fact.name for fact in document.missing} == {fact.name for fact in pack_named(name).facts if fact.needed}
    blocks = [line for line in text.splitlines() if line.startswith("- ")] + re.findall(r"(.*)\n\n\|.*\n\|-", text)
    uncited = [block for block in blocks if not re.search(r"\*\(.+\)\*$|^\*[^*]+\*$", block)]
    assert len(uncited) <= 4 < len(blocks), uncited
    page = document.to_html()
    assert page.count("<mark>") >= len(document.missing)
    assert "<script" not in page
    full = fill(
        name, SUBJECTS[name](), {fact.name: f"<b>{fact.name}</b> | *x* 2026-03-01" for fact in pack_named(name).facts}
    )
    assert not full.missing
    assert "to be stated" not in full.to_markdown() + full.to_html()
    assert "<b>" not in full.to_html()
    with raises(UsageError, "colour"):
        fill(name, SUBJECTS[name](), {"colour": "red"})


HOSTILE = (
    "**bold** and *(29 CFR 1607)*",
    "[x](javascript:alert(1)) ![y](http://a.example/b.png) <http://a.example>",
    "a | b \\| c \\",
    "<script>alert(1)</script></title></style>",
    "`code` ``` ~~~",
    "{{ 7 * 7 }} {% raw %} {# x #} {name} [[sex]] ?unknown",
    "one\n\ntwo\r\n---\n\n# three\n| a |\n|---|\n| b |",
    "# heading",
    "- item",
    "+ item",
    "1. first",
    "2) second",
    "> quote",
    "=== ---",
    "**[to be stated: nothing]**",
    "&lt;b&gt; &#60; &amp;",
    "@@body@@ @@title@@ [a]: http://a.example",
    "\\",
    "\t    indented\u2028text\u202e",
)


def _hostile_subject(name: str) -> tuple[Any, Sequence[str]]:
    """A subject full of hostile values, and those that its document shows as they are."""
    if name in {"nyc-ll144", "eeoc"}:
        people = selected({value: (40, 20 + number % 3) for number, value in enumerate(HOSTILE)}, sex="# F | **")
        return iso.measure(people, by=["sex", "race", ("sex", "race")], decision="hired"), HOSTILE[:-1]
    if name == "reg-b":
        refused = refused_applicants(PEOPLE[: len(HOSTILE)].assign(id=HOSTILE), lends, ACTIONS, 1, id="id")
        return refused, [str(each.id) for each in refused.refusals]
    sealed = audit()
    entries = tuple(replace(entry, name=value) for entry, value in zip(sealed.audit.entries, HOSTILE, strict=False))
    failures = tuple(Failure(value, "DataError", value) for value in HOSTILE)
    return SealedAudit(replace(sealed.audit, title=HOSTILE[6], entries=entries, failures=failures), HOSTILE[3]), HOSTILE


class _Seen(HTMLParser):
    """The elements and attributes of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(sorted(name for name, _ in attrs))))

    def handle_data(self, data: str) -> None:
        self.text += data


def _as_words(text: str) -> str:
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


@pytest.mark.parametrize("name", PACKS)
def test_no_value_is_read_as_markdown_html_or_template(name: str) -> None:
    facts, (subject, shown) = pack_named(name).facts, _hostile_subject(name)
    harmless = _Seen(fill(name, subject, {fact.name: "2026-03-01" for fact in facts}).to_html())
    tags = {tag for tag, _ in harmless.elements}
    assert not tags & {"script", "a", "img", "code", "pre", "em", "ol", "blockquote", "hr", "mark"}
    # A reader of all of Markdown, with HTML, links and code, which nothing that a value became may be.
    everything = MarkdownIt("commonmark").enable("table")
    for first in range(0, len(HOSTILE), len(facts)):
        values = dict(zip((fact.name for fact in facts), (*HOSTILE[first:], *HOSTILE), strict=False))
        values |= {fact.name: f"2026-03-01 {values[fact.name]}" for fact in facts if fact.date == "must"}
        document = fill(name, subject, values)
        tokens = everything.parse(document.to_markdown())
        types = {part.type for token in tokens for part in (token, *(token.children or ()))}
        assert not [kind for kind in types if re.match("html|code|fence|link|image|blockquote|ordered|softbreak", kind)]
        assert not [token for token in tokens if token.level and re.match("heading|bullet|hr|table_", token.type)]
        page = _Seen(document.to_html())
        assert page.elements == harmless.elements
        for text in (page.text, _Seen(everything.render(document.to_markdown())).text):
            expected = [*values.values(), *shown]
            assert [value for value in expected if _as_words(value) not in _as_words(text)] == []


# --------------------------------------------------------------------------------------------------------- regulation B

RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame(
    {
        "id": [f"A{number}" for number in range(200)],
        "savings": RNG.integers(0, 10, 200),
        "debts": RNG.integers(0, 5, 200),
        "age": RNG.integers(18, 70, 200),
    }
)
ACTIONS = Interventions(
    (Feature("savings", "integer", 0, 9, direction="up", rise=3), Feature("debts", "integer", 0, 4, actionable=False))
)


def lends(table: Any) -> Any:
    return (np.asarray(table["savings"]) - np.asarray(table["debts"]) >= 4).astype(int)


def refusals() -> Any:
    return refused_applicants(PEOPLE, lends, ACTIONS, 1, id="id")


def test_every_refused_applicant_has_reasons_and_the_nearest_change_or_none() -> None:
    found = refusals()
    gap = PEOPLE["savings"] - PEOPLE["debts"]
    assert [each.row for each in found.refusals] == np.flatnonzero(gap < 4).tolist()
    for each in found.refusals:
        needed = int(4 - gap[each.row])
        here = int(PEOPLE["savings"][each.row])
        assert each.id == f"A{each.row}"
        assert each.every
        if needed <= 3 and here + needed <= 9:
            assert each.options[0] == {"savings": (here, here + needed)}
        else:
            assert each.options == ()
            assert each.outcome == "no sensible change open to this person leads to approval"
        assert {reason.feature for reason in each.reasons} <= {"savings", "debts"}
        assert all(reason.actionable == (reason.feature == "savings") for reason in each.reasons)


def test_reasons_are_weighed_by_scores_where_there_are_some() -> None:
    columns = ["savings", "debts", "age"]
    model = LogisticRegression(max_iter=1000).fit(PEOPLE[columns], lends(PEOPLE))
    found = refused_applicants(PEOPLE, model, ACTIONS, 1, id="id", leave_out=["age"])
    assert found.scored
    for each in found.refusals:
        weights = [reason.weight for reason in each.reasons]
        assert weights == sorted(weights, reverse=True)
        assert all(weight > 0 for weight in weights)
        assert "age" not in {reason.feature for reason in each.reasons}
    few = [each for each in found.refusals if PEOPLE["savings"][each.row] == 0]
    assert few
    assert all(each.reasons[0].feature == "savings" for each in few)


def test_lists_use_labels_and_advise_neither_ids_nor_what_is_not_called_sensible() -> None:
    people = PEOPLE.assign(account_id=PEOPLE["age"])
    model = {"savings": 1, "account_id": 0.1, "debts": -1}

    def decides(table: Any) -> Any:
        return (sum(weight * np.asarray(table[name]) for name, weight in model.items()) >= 7).astype(int)

    named = Feature("savings", "integer", 0, 9, direction="up", rise=3, label="money in the account")
    free = (Feature("account_id", "integer", 0, 99), Feature("debts", "integer", 0, 4, sensible=False))
    found = refused_applicants(people, decides, Interventions((named, *free)), 1, id="id")
    changed = {name for each in found.refusals for option in each.options for name in option}
    assert changed == {"savings"}
    for each in found.refusals:
        assert all(reason.actionable == (reason.feature == "savings") for reason in each.reasons)
    assert {reason.feature for each in found.refusals for reason in each.reasons} == set(model)
    assert set(found.columns()["feature"]) == {"money in the account", None}
    page = fill("reg-b", found, {"product": "a loan"}).to_markdown()
    assert "money in the account" in page
    assert "savings" not in page


def test_one_row_a_change_and_one_page_a_person() -> None:
    found = refusals()
    columns = found.columns()
    stuck = [each for each in found.refusals if not each.options]
    assert stuck
    assert columns["feature"].count(None) == len(stuck)
    assert len(columns["id"]) == len(stuck) + sum(len(option) for each in found.refusals for option in each.options)
    page = fill("reg-b", found, {"product": "a loan"}).to_html()
    assert page.count('<h2 class="page">') == len(found.refusals)
    assert page.count("<strong>no sensible change open to this person leads to approval.</strong>") == len(stuck)


def test_a_reason_that_looks_like_a_prohibited_basis_is_told() -> None:
    def by_age(table: Any) -> Any:
        return (np.asarray(table["age"]) >= 40).astype(int)

    found = refused_applicants(PEOPLE, by_age, ACTIONS, 1, id="id")
    assert "it is about age (1002.6 (b) (2) says when" in fill("reg-b", found).to_markdown().replace("\\", "")

    def by_disability(table: Any) -> Any:
        return (np.asarray(table["disability"]) == 0).astype(int)

    people = PEOPLE.assign(disability=np.arange(200) % 2)
    text = fill("reg-b", refused_applicants(people, by_disability, ACTIONS, 1, id="id")).to_markdown()
    assert "about disability, which 12 CFR 1002.2 (z) does not list by name" in text.replace("\\", "")


WIDE = pd.DataFrame(RNG.integers(0, 2, (40, 12)), columns=[f"f{j}" for j in range(12)]).assign(
    rooms=RNG.integers(0, 9, 40), debts=0, own=0, rent=1
)
OPEN = Interventions(
    (
        *(Feature(f"f{j}", "binary") for j in range(12)),
        Feature("rooms", "integer", 0, 50),
        Feature("own", "binary"),
        Feature("rent", "binary"),
    ),
    (OneHot(("own", "rent")),),
)


def lends_to(table: Any) -> Any:
    first, own, rooms = (np.asarray(table[name]) for name in ("f0", "own", "rooms"))
    return ((first + own == 2) | (rooms >= 20) & (first == 1)).astype(int)


def test_the_list_of_refused_applicants_says_what_a_blind_model_was_given() -> None:
    found = refused_applicants(WIDE.assign(repaid=0), lends_to, OPEN, 1, leave_out=["repaid"])
    assert "is given 16 of 17 columns: f0, " in found.remarks[0]
    assert "and not repaid, the outcome" in found.remarks[0]


def test_a_change_that_was_drawn_has_nothing_that_could_be_put_back() -> None:
    found = refused_applicants(WIDE, lends_to, OPEN, 1)
    assert len(found.refusals) == len(WIDE)
    for each in found.refusals:
        first, here = int(WIDE["f0"][each.row]), int(WIDE["rooms"][each.row])
        needed = {} if first else {"f0": (0, 1)}
        ways = [{**needed, "rooms": (here, 20)}, {**needed, "own": (0, 1), "rent": (1, 0)}]
        assert not each.every
        assert list(each.options) == ways


def test_nobody_is_asked_about_twice_while_changes_are_put_back() -> None:
    features = tuple(Feature(name, "binary") for name in "abc")
    people = Table.of({name: np.asarray([0, 0]) for name in "abc"})
    sets = Interventions(features).reach(people)
    asked: list[tuple[int, ...]] = []

    def target(points: Any) -> Any:
        asked.extend((owner, *point) for owner, point in zip(points.owner, points.values.tolist(), strict=True))
        return points.values[:, :2].all(axis=1)

    points = Points(features, people, np.asarray([0, 1]), np.asarray([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]))
    assert pruned(sets, points, target).values.tolist() == [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0]]
    assert len(asked) == len(set(asked)) == 7


def test_the_page_and_the_table_say_where_points_were_drawn() -> None:
    drawn = refused_applicants(WIDE, lambda table: np.zeros(len(table["f0"]), dtype=int), OPEN, 1)
    assert set(drawn.columns()["points"]) == {"drawn"}
    assert set(refusals().columns()["points"]) == {"listed"}
    text = fill("reg-b", drawn).to_markdown()
    assert "40 of them can reach more points than were listed" in text
    assert text.count("500 were drawn, and there may be others") == len(WIDE)
    assert "none found among 500 draws" in text
    assert "no sensible change open to this person" not in text
    assert "were drawn" not in fill("reg-b", refusals()).to_markdown()


def test_nothing_is_offered_that_the_model_does_not_read_or_that_is_no_reason() -> None:
    people = WIDE.assign(good=np.arange(40) % 2)
    columns = [f"f{j}" for j in range(12)]
    model = LogisticRegression().fit(people[columns], people["f0"])
    free = Interventions((*OPEN.features, Feature("good", "binary")), OPEN.constraints)
    found = refused_applicants(people, model, free, 1, leave_out=["good", "f0"])
    assert {name for each in found.refusals for option in each.options for name in option} <= set(columns[1:])
    everything = lambda table: np.asarray(table["outcome"])  # noqa: E731
    odd = Interventions((Feature("outcome", "binary"), Feature("f0", "binary")))
    told = refused_applicants(people.assign(outcome=0, f0=0), everything, odd, 1)
    assert not any(each.options for each in told.refusals)


def groups() -> Any:
    return iso.measure(
        selected({"A": (50, 30), "B": (50, 20)}, sex="F"), by=["sex", "race", ("sex", "race")], decision="hired"
    )


def audit() -> SealedAudit:
    people = iso.Census({"hired": [1, 0] * 20, "sex": ["F", "M", "M", "F"] * 10, "y": [1, 0, 0, 0] * 10})
    claims = ("P[hired == 1 | sex == 'F'] >= 0.9", "P[prediction == y] >= 0.5")
    model = lambda table: np.asarray(table["hired"])  # noqa: E731
    entries = tuple(Entry(claim, iso.check(claim, model, people)) for claim in claims)
    safe = iso.check(iso.safety.invariant_to("sex"), model, people)
    return SealedAudit(
        AuditReport("An audit", (*entries, Entry("invariant", safe)), "run-1", "2026-01-01T12:00:00"), "sha256 ab"
    )


SUBJECTS = {"nyc-ll144": groups, "eeoc": groups, "reg-b": refusals, "eu-ai-act": audit, "sr-11-7": audit}


def test_verdicts_stand_below_the_article_that_asks_for_them() -> None:
    text = fill("eu-ai-act", audit()).to_markdown().replace("\\", "")
    data, accuracy = text.split("## Article 10")[1].split("## Article 15")
    assert "P[hired == 1 | sex == 'F']" in data.split("possible biases")[1]
    assert "P[prediction == y]" in accuracy.split("Robustness")[0]
    assert "invariant" in accuracy.split("Robustness")[1]
    assert "sha256 ab" in accuracy
    guidance = fill("sr-11-7", audit()).to_markdown().replace("\\", "")
    assert "P[prediction == y]" in guidance.split("## Validation: outcomes analysis")[1].split("By groups")[0]


@pytest.mark.parametrize("said", ["2026-03-01", "March 1, 2026", "1 Mar 2026", "03/01/2026", ""])
def test_a_date_may_be_written_in_usual_ways(said: str) -> None:
    assert (said or "to be stated") in fill("nyc-ll144", groups(), {"audit_date": said}).to_markdown().replace("\\", "")


@pytest.mark.parametrize(
    ("pack", "name", "said"),
    [
        ("nyc-ll144", "audit_date", "sometime"),
        ("nyc-ll144", "audit_date", "2026-02-30"),
        ("nyc-ll144", "distribution_date", "41"),
        ("reg-b", "action_date", "received on February 30, 2026"),
    ],
)
def test_a_fact_that_is_no_date_is_refused(pack: str, name: str, said: str) -> None:
    with raises(UsageError, "2026-03-01", name, said):
        fill(pack, SUBJECTS[pack](), {name: said})
    fill("reg-b", refusals(), {"action_date": "as in the file of each applicant"})


def test_a_p_value_is_never_0() -> None:
    table = iso.measure(selected({"A": (9_000, 9_000), "B": (9_000, 10)}), by="race", decision="hired")
    assert "&lt; 1e-300" in fill("eeoc", table).to_html()


# ---------------------------------------------------------------------------------------------------------- the command


@pytest.fixture
def applicants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    groups = {"A": (500, 250), "B": (495, 200), "C": (5, 5)}
    people = pd.DataFrame(selected(groups)).assign(sex=lambda frame: np.where(frame.index % 2, "F", "M"))
    people.to_csv("people.csv", index=False)
    return tmp_path


def filed(*arguments: str) -> tuple[str, str]:
    """What the command prints, and the document."""
    command = ["file", "--data", "people.csv", "--decision", "hired", "-o", "audit.md", *arguments]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.exception or done.output
    return done.output, Path("audit.md").read_text().replace("\\", "")


@pytest.mark.usefixtures("applicants")
def test_groups_are_written_as_measure_takes_them() -> None:
    forms = (("sex", "race"), ("sex,race",), ("sex", "race", "sex,race"))
    texts = [filed("--pack", "nyc-ll144", *(f"--by={by}" for by in form))[1] for form in forms]
    assert texts[0] == texts[1] == texts[2]
    assert "F, A" in texts[0]


@pytest.mark.usefixtures("applicants")
def test_a_category_below_2_percent_is_left_out_only_where_the_auditor_says_why() -> None:
    printed, kept = filed("--pack", "nyc-ll144", "--by", "sex,race")
    assert not [line for line in printed.splitlines() if line.startswith("note:") and line.endswith(": C")]
    rows = rows_of(kept, "Race and ethnicity")
    assert rows["C (below 2%)"] == ["5", "5", "100.0%", "1.00"]
    assert rows["A"] == ["500", "250", "50.0%", "0.50"]
    assert "They are included here, and one of them may have the highest rate" in kept
    _, left_out = filed("--pack", "nyc-ll144", "--by", "sex,race", "--fact", "exclusion=five people")
    rows = rows_of(left_out, "Race and ethnicity")
    assert rows["C (below 2%)"] == ["5", "5", "100.0%", "left out"]
    assert rows["A"] == ["500", "250", "50.0%", "1.00"]
    assert "Justification of the independent auditor: five people" in left_out
    table = iso.measure("people.csv", by=["sex", "race", ("sex", "race")], decision="hired")
    assert rows_of(fill("nyc-ll144", table).to_markdown(), "Race and ethnicity")["A"][-1] == "0.50"


def test_applicants_are_those_of_whom_the_rate_is() -> None:
    people = {"sex": ["F"] * 6 + ["M"] * 4, "race": ["A"] * 10, "hired": [1, 1, 0, 0, None, None, 1, 1, 1, 0]}
    table = iso.measure(pd.DataFrame(people), by=["sex", "race", ("sex", "race")], decision="hired")
    text = fill("nyc-ll144", table).to_markdown()
    assert rows_of(text, "Sex")["F"] == ["4", "2", "50.0%", "0.67"]
    assert "People assessed: 10" in text
    assert "without a decision, and so in no number of applicants below: 2" in text


@pytest.mark.usefixtures("applicants")
def test_the_command_names_the_files_that_it_wrote_and_a_fact_that_is_empty() -> None:
    printed, _ = filed("--pack", "eeoc", "--by", "race", "--csv", "groups.csv", "--fact", "job=", "--fact", "user=us")
    assert {"written: audit.md", "written: groups.csv"} <= set(printed.splitlines())
    assert re.findall(r'^(\w+) = ""  # ', printed, re.MULTILINE) == ["job", "period", "records"]
    assert [line for line in printed.splitlines() if line.startswith("note:") and line.endswith(": C")]


def test_the_command_asks_for_facts_by_name_and_takes_them_from_a_file(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(selected({"A": (50, 30), "B": (50, 20)}, sex="F")).to_csv("people.csv", index=False)
    command = [
        "file",
        "--pack",
        "nyc-ll144",
        "--data",
        "people.csv",
        "--decision",
        "hired",
        "--by",
        "sex",
        "--by",
        "race",
    ]
    done = CliRunner().invoke(app, [*command, "-o", "audit.md", "-o", "audit.html"])
    assert done.exit_code == 0, done.output
    asked = re.findall(r'^(\w+) = ""  # ', done.output, re.MULTILINE)
    assert asked == [fact.name for fact in pack_named("nyc-ll144").facts if fact.needed]
    Path("facts.toml").write_text("".join(f'{name} = "stated {name} on 2026-03-01"\n' for name in asked))
    done = CliRunner().invoke(app, [*command, "--facts", "facts.toml", "--fact", "tool=Screener", "-o", "audit.md"])
    assert "not stated" not in done.output
    text = Path("audit.md").read_text()
    assert "bias audit: Screener" in text
    assert "stated auditor" in text.replace("\\", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pack", "nyc-l144", "-o", "a.md"], "Did you mean"),
        (["--pack", "eeoc", "-o", "a.pdf"], "to end in .html or .md"),
        (["--pack", "eeoc", "-o", "a.md"], "eeoc requires --data FILE and --by COLUMN"),
        (
            ["--pack", "reg-b", "-o", "a.md", "--data", "x.csv"],
            "reg-b requires --data, --model, --interventions and --target",
        ),
        (
            ["--pack", "nyc-ll144", "-o", "a.md", "--data", "x.csv", "--by", "sex"],
            "--by sex --by race, for the tables",
        ),
        (["--pack", "eeoc", "-o", "a.md", "--data", "x.csv", "--by", "age"], "not of 'age'"),
        (["--pack", "eeoc", "-o", "a.md", "--fact", "x"], "expected --fact as NAME=TEXT"),
        (["--pack", "eeoc", "-o", "a.md", "--fact", "jobs=clerk"], "has no fact 'jobs'. Did you mean 'job'?"),
    ],
)
def test_what_is_missing_is_told(arguments: list[str], message: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["file", *arguments])
    assert isinstance(done.exception, UsageError)
    assert message in str(done.exception)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("P[prediction == true | sex == 'F'] >= 0.8 * P[prediction == true | sex == 'M']", "bias"),
        ("P[prediction == 1 | note == 'prediction == outcome'] >= 0.5", "bias"),
        ("P[prediction == 1 | hired == 1 and sex == 'F'] >= 0.8", "bias"),
        ("P[prediction == hired] >= 0.8", "accuracy"),
        ("P[hired != prediction | sex == 'F'] <= 0.1", "accuracy"),
        ("E[abs(price - prediction) from 0 to 10] <= 2", "accuracy"),
        ("for g in sex: abs(E[score from 0 to 1 | sex == g] - P[hired == 1 | sex == g]) <= 0.1", "accuracy"),
    ],
)
def test_what_a_property_is_about_is_read_from_its_syntax(text, kind):
    rng = np.random.default_rng(0)
    columns = {"sex": ["F", "M"], "note": ["prediction == outcome", "x"], "hired": [0, 1], "price": [1.0, 2.0]}
    people = {name: rng.choice(values, 40) for name, values in columns.items()}
    people |= {"prediction": rng.choice([True, False], 40) if "true" in text else rng.integers(0, 2, 40)}
    people |= {"score": rng.random(40)}
    assert kind_of(iso.check(text, population=iso.Census(people), ranges={"price": (0, 10)}, seed=1)) == kind
