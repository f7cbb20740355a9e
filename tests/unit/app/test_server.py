"""The page of ``isonomia open``: who may see it, what it reads and writes, and what it says of wrong choices."""

from __future__ import annotations

import re
import time
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

import isonomia as iso
from isonomia.app.choices import MARK, TableChoice, audit_text, file_for, suggestion_for
from isonomia.errors import UsageError

httpx = pytest.importorskip("httpx", reason="httpx is not installed")

COOKIE, TOKEN = "isonomia", "a-token-for-the-tests"
PEOPLE = "sex,town,hired,repaid\n" + "F,<b>north</b>,yes,1\nF,south,no,0\nM,<b>north</b>,yes,1\nM,south,yes,0\n" * 60


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    (tmp_path / "notes.txt").write_text("not a table", encoding="utf-8")
    (tmp_path.parent / "elsewhere.csv").write_text(PEOPLE, encoding="utf-8")
    return tmp_path


@pytest.fixture
def browser(folder: Path, serve: Callable[[Path], str]) -> Iterator[Any]:
    with httpx.Client(base_url=serve(folder), follow_redirects=True, timeout=120) as client:
        assert client.get("/", params={"token": TOKEN}).status_code == 200
        yield client


CHOICE = TableChoice("people.csv", "hired", "yes", ("sex", "town"), "repaid", 1)


def sent(**changes: Any) -> dict[str, Any]:
    """The form that the page sends for :data:`CHOICE`."""
    fields = {"data": "people.csv", "decision": "hired", "favourable": '["hired", "yes"]', "by": ["sex", "town"]}
    fields |= {"rows": "census", "requirement": ["ratio"], "limit-ratio": "0.8", "delta": "0.05"}
    return fields | changes


def test_columns_are_suggested_by_their_names_and_values(folder: Path) -> None:
    found = suggestion_for(folder / "people.csv")
    assert (found.decision, found.favourable, found.by) == ("hired", "yes", ("sex",))
    assert set(found.columns) == {"sex", "town", "hired", "repaid"}


def test_a_choice_is_the_same_after_its_address_is_read() -> None:
    assert TableChoice.of(parse_qs(CHOICE.query)) == CHOICE


def test_a_check_writes_an_audit_file_that_gives_the_same_verdicts_again(browser: Any, folder: Path) -> None:
    answer = browser.post("/check", data=sent(), follow_redirects=False)
    assert answer.status_code == 303
    for _ in range(2_400):  # at most two minutes, however slow the machine is
        state = browser.get(f"{answer.headers['location']}/state").json()
        if state["next"] or state["failed"]:
            break
        time.sleep(0.05)
    assert not state["failed"]
    shown = browser.get(state["next"]).text
    assert shown.count('class="badge violated"') == 1  # by town; by sex the ratio is 0.5 / 1
    audit = tomllib.loads((folder / "audit-people.toml").read_text("utf-8"))
    assert audit["population"] == {"census": "people.csv"}
    assert [each["name"] for each in audit["property"]] == ["ratio by sex", "ratio by town"]
    verdicts = [
        iso.check(each["check"], population=iso.Census(folder / "people.csv")).answer for each in audit["property"]
    ]
    assert [verdicts.count(each) for each in ("holds", "violated")] == [
        shown.count(f'class="badge {each}"') for each in ("holds", "violated")
    ]
    assert browser.get(f"{state['next']}/audit.toml").text.startswith(MARK)
    assert browser.get(f"{state['next']}/evidence.json").json()["format"]
    assert "<html" in browser.get(f"{state['next']}/report.html").text
    assert "hired in people.csv" in browser.get("/").text
    assert sorted(path.name for path in folder.iterdir()) == [
        ".isonomia",
        "audit-people.toml",
        "notes.txt",
        "people.csv",
    ]


def test_an_audit_file_that_a_person_wrote_is_left_alone(folder: Path) -> None:
    (folder / "audit-people.toml").write_text("title = 'mine'\n", encoding="utf-8")
    assert file_for(folder, "people.csv").name == "audit-people-2.toml"
    (folder / "audit-people-2.toml").write_text(f"{MARK}\n", encoding="utf-8")
    assert file_for(folder, "people.csv").name == "audit-people-2.toml"


def test_without_the_token_nothing_is_shown(browser: Any) -> None:
    for cookies in ({}, {COOKIE: "another"}, {COOKIE: ""}):
        with httpx.Client(base_url=browser.base_url, cookies=cookies) as stranger:
            for path in ("/", "/choose?data=people.csv", "/app.js", "/run/x", "/?token=another"):
                assert stranger.get(path).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [{"host": "evil.example"}, {"host": "127.0.0.1.evil.example"}, {"origin": "https://evil.example"}],
)
def test_requests_by_another_name_or_from_another_page_are_refused(browser: Any, headers: dict[str, str]) -> None:
    assert browser.get("/", headers=headers).status_code == 403
    assert browser.post("/check", data=sent(), headers=headers).status_code == 403


@pytest.mark.parametrize("name", ["../elsewhere.csv", "/etc/passwd", "notes.txt", ".", "", "people.csv\x00"])
def test_only_tables_of_the_folder_are_read(browser: Any, name: str) -> None:
    answer = browser.get("/choose", params={"data": name})
    assert answer.status_code == 400
    assert "There is no table" in answer.text


@pytest.mark.parametrize("run", ["../../x", "latest", "x' OR 1"])
def test_only_runs_of_the_folder_are_shown(browser: Any, run: str) -> None:
    assert browser.get(f"/run/{run}").status_code in {400, 404}


@pytest.mark.parametrize(
    "changes",
    [
        {"decision": ""},
        {"by": []},
        {"by": ["hired"]},
        {"favourable": '["sex", "F"]'},
        {"favourable": "nonsense"},
        {"favourable": "[]"},
        {"requirement": []},
        {"requirement": ["opportunity"]},  # which needs outcomes
        {"limit-ratio": "much"},
        {"limit-ratio": "nan"},
        {"limit-ratio": "1e9"},
        {"delta": "0.9"},
        {"data": "absent.csv"},
    ],
)
def test_wrong_choices_are_explained_and_write_nothing(browser: Any, folder: Path, changes: dict[str, Any]) -> None:
    answer = browser.post("/check", data=sent(**changes), follow_redirects=False)
    assert answer.status_code == 400
    assert re.search(r'role="alert">[A-Z][^<]{20,}', answer.text)
    assert not (folder / "audit-people.toml").exists()


def test_names_and_values_are_text_and_no_markup(browser: Any, folder: Path) -> None:
    (folder / "<i>.csv").write_text(PEOPLE.replace("sex", "<script>sex</script>"), encoding="utf-8")
    for path in ("/", "/choose?data=%3Ci%3E.csv", "/choose?data=people.csv"):
        text = browser.get(path).text
        assert "<i>" not in text
        assert "<b>" not in text
        assert text.count("<script") == 1  # our own


def test_a_table_without_choices_is_explained(folder: Path) -> None:
    (folder / "ids.csv").write_text("id\n" + "\n".join(map(str, range(100))), encoding="utf-8")
    with pytest.raises(UsageError):
        suggestion_for(folder / "ids.csv")


def test_a_link_to_a_file_elsewhere_is_no_table(browser: Any, folder: Path) -> None:
    (folder / "link.csv").symlink_to(folder.parent / "elsewhere.csv")
    assert "link.csv" not in browser.get("/").text
    assert browser.get("/choose", params={"data": "link.csv"}).status_code == 400


def test_the_name_of_a_file_adds_no_line_to_its_audit_file() -> None:
    name, largest = 'a\n[model]\nload = "os:system"\nb.csv', {"sex": "M", "town": "south"}
    audit = tomllib.loads(audit_text(replace(CHOICE, data=name), {"ratio": 0.8}, "0.05", largest, f"audit-{name}"))
    assert set(audit) == {"title", "delta", "population", "property"}
    assert audit["population"] == {"sample": name}


def test_a_decision_is_suggested_by_its_values_where_its_name_says_nothing(folder: Path) -> None:
    (folder / "staff.csv").write_text(
        "Gender;Position;Outcome\n" + "F;Sales;Selected\nM;Sales;Rejected\nM;Desk;Withdrawn\n" * 40, encoding="utf-8"
    )
    found = suggestion_for(folder / "staff.csv")
    assert (found.decision, found.favourable, found.outcome, found.by) == ("Outcome", "Selected", "", ("Gender",))


def test_a_workbook_is_listed_with_what_to_do_about_it(browser: Any, folder: Path) -> None:
    (folder / "people.xlsx").write_bytes(b"PK")
    assert "people.xlsx</bdi> is a workbook" in browser.get("/").text
    answer = browser.get("/choose", params={"data": "people.xlsx"})
    assert answer.status_code == 400
    assert "Save As" in answer.text
    assert "CSV UTF-8" in answer.text


def test_a_column_of_decisions_must_be_chosen_before_the_page_goes_on(browser: Any) -> None:
    page = browser.get("/choose", params={"data": "people.csv"}).text
    assert re.search(r'<select id="decision"[^>]* required>', page)
