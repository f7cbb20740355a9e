"""Verdicts recomputed from an evidence file; and what somebody changed in it, with and without sealing again."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from isonomia.audits.check import run_check
from isonomia.audits.replay import RecomputedProperty, compared, rebuilt, recomputed, stand_in
from isonomia.engine.parameters import NullObserver
from isonomia.errors import RecordError, SpecError
from isonomia.records.evidence import (
    CheckEvidence,
    evidence_of,
    evidence_text,
    parse_evidence,
    seal_problem,
)
from isonomia.records.journal import ReadOnlyJournal
from isonomia.records.strict_json import evidence_schema
from raising import raises

if TYPE_CHECKING:
    from tests.unit.audits.replaying.conftest import Run

Place = tuple[str | int, ...]


def _content(run: Run) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(evidence_text(run.evidence))
    return content


def _replayed(content: dict[str, Any]) -> list[RecomputedProperty]:
    evidence = parse_evidence(content, "the file")
    return list(recomputed(evidence, rebuilt(evidence)))


def _leaves(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*place, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _leaves(item, (*place, number))
    else:
        yield place, value


def _with(content: dict[str, Any], place: Place, value: Any) -> dict[str, Any]:
    """The content with another leaf; what is not on the way to it is shared."""
    if not place:
        return value  # type: ignore[no-any-return]
    changed: Any = copy.copy(content)
    changed[place[0]] = _with(content[place[0]], place[1:], value)  # type: ignore[index]
    return changed  # type: ignore[no-any-return]


def _other(value: Any) -> Any:
    """A value that differs a little."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case float():
            return value * (1 + 1e-6) if value else 1e-6
        case str():
            return f"{value[:-1]}{'y' if value.endswith('x') else 'x'}"
        case _:
            return 0


def test_an_evidence_file_is_of_the_shape_that_its_schema_describes(run: Run) -> None:
    jsonschema.validate(_content(run), evidence_schema())


def test_no_row_and_no_answer_of_the_model_leaves_the_house(run: Run) -> None:
    keys = {key for check in run.evidence.checks for key in check.entries}
    assert not any(key.startswith("answer") for key in keys)
    stored = run.store.journal(run.evidence.run["id"], 3)
    assert not any(key.startswith("answer ") for key in stored.entries), "a run that is over needs them no more"
    stored.keep("answer 99", lambda: {"prediction": [1]})
    stored.close()
    (kept,) = (check for check in evidence_of(run.store).checks if check.name == run.evidence.checks[3].name)
    assert "answer 99" not in kept.entries
    text = evidence_text(run.evidence)
    shown = json.dumps([check.verdict["counterexamples"] for check in run.evidence.checks if check.verdict])
    points = [line.split(",")[1] for line in (run.folder / "people.csv").read_text().splitlines()[1:]]
    hidden = [value for value in points if len(value) == 6 and value not in shown]
    assert len(hidden) > 100
    assert not [value for value in hidden if f" {value}," in text or f" {value}]" in text]


def test_every_leaf_of_the_file_that_is_changed_a_little_is_noticed(run: Run) -> None:
    content = _content(run)
    assert seal_problem(content) is None
    leaves = list(_leaves(content))
    assert len(leaves) > 500
    unnoticed = []
    for place, value in leaves:
        changed = _with(content, place, _other(value))
        if place[0] != "seal" or place[1] == "value":
            if seal_problem(changed) is None:
                unnoticed.append(place)
        else:  # the name of another method
            with pytest.raises(RecordError):
                parse_evidence(changed, "the file")
    assert not unnoticed


def test_every_part_that_is_left_out_is_noticed(run: Run) -> None:
    content = _content(run)
    for number, check in enumerate(content["checks"]):
        for key in check["entries"]:
            changed = copy.deepcopy(content)
            del changed["checks"][number]["entries"][key]
            assert seal_problem(changed) is not None


@pytest.mark.parametrize("number", range(5))
def test_a_verdict_that_was_changed_and_sealed_anew_is_found_out_by_the_arithmetic(run: Run, number: int) -> None:
    check = run.evidence.checks[number]
    planned = stand_in(rebuilt(run.evidence).stated[number], check)
    verdict = run_check(planned.check.with_journal(ReadOnlyJournal(check.entries)), NullObserver())
    places = list(_leaves(check.verdict))
    assert len(places) > 25
    unnoticed = [
        place
        for place, value in places
        if place[0] != "seconds"
        and not any(compared(run.evidence, _claiming(check, place, _other(value)), planned, verdict))
    ]
    assert not unnoticed


def _claiming(check: CheckEvidence, place: Place, value: Any) -> CheckEvidence:
    return replace(check, verdict=_with(dict(check.verdict or {}), place, value))


COUNTS = [
    ("a rate", ("batch 0", "counts", 0, 0)),
    ("a rate", ("batch 1", "counts", 0, 1)),
    ("a rate", ("batch 1", "people")),
    ("a census", ("everybody", "asked")),
    ("a census", ("everybody", "totals", 0, 0)),
    ("strata", ("everybody", "counts", 0, 1, 0, 0)),
    ("strata", ("everybody", "people")),
]


@pytest.mark.parametrize(("name", "place"), COUNTS, ids=[f"{name} {place}" for name, place in COUNTS])
def test_a_count_that_was_changed_and_sealed_anew_is_found_out(run: Run, name: str, place: Place) -> None:
    content = _content(run)
    number = [check["name"] for check in content["checks"]].index(name)
    value: Any = content["checks"][number]["entries"]
    for step in place:
        value = value[step]
    changed = _with(content, ("checks", number, "entries", *place), _other(value))
    found = _replayed(changed)
    assert [each.name for each in found if not each.sound] == [name]


CONTRADICTIONS = [
    (("audit", "text"), ("'F'] >= 0.1", "'F'] >= 0.11"), "a rate"),
    (("audit", "text"), ("delta = 0.2", "delta = 0.1"), "a census"),
    (("audit", "text"), ("ratio = 0.5", "ratio = 0.6"), "a census"),
    (("audit", "text"), ("at_least = 0.9", "at_least = 0.8"), "shares"),
    (("audit", "files", "priors.nom"), ("d1 <= d2", "d1 >= d2"), "a relation"),
    (("audit", "files", "changes.toml"), ("high = 5", "high = 6"), "shares"),
    (("audit", "files", "changes.toml"), ('"down"', '"up"'), "shares"),
    (("run", "seed"), (7, 8), "strata"),
]


@pytest.mark.parametrize(("place", "swap", "name"), CONTRADICTIONS, ids=[str(swap) for _, swap, _ in CONTRADICTIONS])
def test_an_audit_that_was_changed_and_sealed_anew_is_found_out(
    run: Run, place: Place, swap: tuple[Any, Any], name: str
) -> None:
    content: Any = _content(run)
    before = content
    for step in place:
        before = before[step]
    after = before.replace(*swap) if isinstance(before, str) else swap[1]
    assert after != before
    assert name in [each.name for each in _replayed(_with(content, place, after)) if not each.sound]


def test_a_title_or_a_property_that_is_not_in_the_audit_is_found_out(run: Run) -> None:
    content = _content(run)
    title = parse_evidence(_with(content, ("run", "title"), "Another"), "the file")
    assert [each.path for each in rebuilt(title).contradictions] == ["run.title"]
    with raises(RecordError, "another", "a rate"):
        rebuilt(parse_evidence(_with(content, ("checks", 0, "name"), "another"), "the file"))
    with raises(RecordError, 5, 4):
        rebuilt(parse_evidence({**content, "checks": content["checks"][:-1]}, "the file"))


def test_an_audit_that_cannot_be_read_is_an_error(run: Run) -> None:
    content = _content(run)
    for text in ("[[property]]\n", "no toml", "", "x = " + "[" * 5000):
        with raises(RecordError, cause=SpecError):
            rebuilt(parse_evidence(_with(content, ("audit", "text"), text), "the file"))
    with raises(RecordError, "priors.nom"):
        rebuilt(parse_evidence(_with(content, ("audit", "files"), {"changes.toml": CHANGES}), "the file"))


CHANGES = '[features.points]\nkind = "real"\nlow = 0.0\nhigh = 1.0\n'
STRANGE: list[Any] = [None, -1, 1e308, "x", [], {}, [[]], {"values": None}, 10**30]


@pytest.mark.parametrize("strange", STRANGE, ids=repr)
def test_whatever_a_stranger_writes_into_the_statistics_is_a_failure_and_no_crash(run: Run, strange: Any) -> None:
    content = _content(run)
    for number, check in enumerate(content["checks"]):
        entries = {
            key: (dict.fromkeys(entry, strange) if key not in {"model"} else entry)
            for key, entry in check["entries"].items()
        }
        content["checks"][number] = {**check, "entries": entries}
    assert not any(each.sound for each in _replayed(content))


def test_nothing_that_a_record_names_is_imported_or_read(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "trap_of_a_stranger.py").write_text("raise SystemExit('imported')")
    (tmp_path / "trap.nom").write_text("raise")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    content = _content(run)
    text, specification = content["audit"]["text"], content["audit"]["files"]["priors.nom"]
    code = specification.replace("d1 = predict(x1)", "import trap_of_a_stranger\n    d1 = predict(x1)")
    content["audit"]["text"] = text.replace(f"{run.module}:model", "trap_of_a_stranger:model")
    content["audit"]["files"]["priors.nom"] = f"import trap_of_a_stranger;{code}"
    assert [each.name for each in _replayed(content) if not each.sound] == ["a relation"]
    content["audit"]["files"]["priors.nom"] = str(tmp_path / "trap.nom")
    with raises(RecordError, "/", "import", "trap.nom", "priors.nom") as caught:
        _replayed(content)
    assert "raise" not in str(caught.value)
