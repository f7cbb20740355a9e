"""Two runs side by side."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from isonomia.errors import RecordError
from isonomia.records import strict_json
from isonomia.records.compare import PropertyChange, RunVerdicts, changes, run_in_file, run_in_store
from isonomia.records.evidence import evidence_of, evidence_text
from isonomia.records.store import Store
from isonomia.records.verdict import Verdict
from raising import raises


def _verdict(answer: Any = "holds", **others: Any) -> Verdict:
    basis: dict[str, Any] = {"leaves": (), "expressions": (), "assumptions": (), "remarks": (), "seconds": 0.1}
    told = {"text": "P[a] >= 0.5", "delta": 0.05, "risk": 0.05, "method": "bets", "samples": 10, "stopped": "decided"}
    return Verdict(**{**basis, **told, "seed": 3, "name": "one", "version": "0.1.0", "answer": answer, **others})


ORDER = ["holds", "undecided", "violated", None]


@pytest.mark.parametrize(("before", "after"), list(product(ORDER, ORDER)))
def test_an_answer_is_worse_that_comes_later_in_the_order(before: Any, after: Any) -> None:
    made = [None if answer is None else _verdict(answer) for answer in (before, after)]
    assert PropertyChange("one", *made, ()).worse == (ORDER.index(after) > ORDER.index(before))


CHANGES = {
    "model": {"model": {"fingerprint": "b"}},
    "population": {"population": {"fingerprint": "b"}},
    "property": {"text": "P[a] >= 0.6"},
    "delta": {"delta": 0.01},
    "seed": {"seed": 4, "seed_chosen": True},
    "version": {"version": "0.2.0"},
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_else_changed_is_named(what: str) -> None:
    first = RunVerdicts("a", {"one": _verdict()})
    second = RunVerdicts("b", {"one": replace(_verdict(), **CHANGES[what])})
    assert [each.others for each in changes(first, second)] == [(what,)]


def test_properties_that_are_gone_or_new_are_shown_and_gone_is_worse() -> None:
    first, second = (
        RunVerdicts("a", {"one": _verdict(), "gone": _verdict()}),
        RunVerdicts("b", {"new": _verdict(), "one": _verdict()}),
    )
    found = {each.name: (each.answers, each.worse) for each in changes(first, second)}
    assert found == {
        "one": (("holds", "holds"), False),
        "gone": (("holds", "not checked"), True),
        "new": (("not checked", "holds"), False),
    }


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / ".isonomia")
    request = {"file": "audit.toml", "text": "", "seed": 1, "files": {}}
    run = store.begin("An audit", request, [("one", {}, {}), ("broken", {}, {})])
    store.conclude(run, 0, _verdict())
    store.fail(run, 1, "ModelError", "it broke")
    return store


def test_a_run_and_its_evidence_file_are_alike(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "evidence.json"
    for key in (None, b"a key of the house"):
        file.write_text(evidence_text(evidence_of(store), key))
        side = run_in_file(file, key)
        assert side.verdicts == run_in_store(store, "latest").verdicts == {"one": _verdict(), "broken": None}
        assert side.versions == store.run().versions


def test_a_file_that_was_changed_after_it_was_sealed_is_not_compared(store: Store, tmp_path: Path) -> None:
    file, key = tmp_path / "evidence.json", b"a key of the house"
    text = evidence_text(evidence_of(store))
    file.write_text(text.replace('"it broke"', '"it is fine"'))
    with pytest.raises(RecordError, match="the seal is broken"):
        run_in_file(file)
    file.write_text(text)
    assert run_in_file(file, key).verdicts == run_in_file(file).verdicts, (
        "a key is for the side that was sealed with it"
    )
    file.write_text(evidence_text(evidence_of(store), key))
    with raises(RecordError, "--key", name="key"):
        run_in_file(file)


@pytest.mark.parametrize("wrapped", [False, True])
def test_verdicts_as_other_commands_write_them_can_be_compared(tmp_path: Path, wrapped: bool) -> None:
    file = tmp_path / "verdicts.json"
    listed = [_verdict().to_dict(), {**_verdict(name=None).to_dict()}]
    failed = [{"name": "broken", "kind": "ModelError", "message": "it broke"}]
    file.write_text(json.dumps({"verdicts": listed, "failures": failed} if wrapped else listed))
    found = run_in_file(file).verdicts
    assert list(found) == ["one", "P[a] >= 0.5", *(["broken"] if wrapped else [])]
    assert found.get("broken") is None


@pytest.mark.parametrize("content", ["{}", "3", '{"verdicts": 3}', "[3]", "[{}]", "nonsense"])
def test_what_holds_no_verdicts_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(content)
    with raises(RecordError, "x.json"):
        run_in_file(file)


HOSTILE = {
    "a property twice": lambda each: [each, each],
    "a failure that is none": lambda each: {"verdicts": [each], "failures": [3]},
    "a failure without a name": lambda each: {"verdicts": [each], "failures": [{"kind": "ModelError"}]},
    "a failure of what has a verdict": lambda each: {"verdicts": [each], "failures": [{"name": "one"}]},
    "a number that is none": lambda each: [{**each, "samples": "ten"}],
    "a number that no float holds": lambda each: [{**each, "delta": 10**400}],
    "an object in place of a text": lambda each: [{**each, "text": {}}],
    "a model that is none": lambda each: [{**each, "model": [1]}],
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_nobody_could_have_written_is_refused_in_words(tmp_path: Path, what: str) -> None:
    file = tmp_path / "verdicts.json"
    file.write_text(json.dumps(HOSTILE[what](_verdict().to_dict())))
    with raises(RecordError, "verdicts.json"):
        run_in_file(file)


def test_no_property_of_an_evidence_file_hides_another(store: Store, tmp_path: Path) -> None:
    evidence, file = evidence_of(store), tmp_path / "evidence.json"
    file.write_text(evidence_text(replace(evidence, checks=(*evidence.checks, evidence.checks[0]))))
    with raises(RecordError, "evidence.json", "one"):
        run_in_file(file)


def test_deep_and_long_files_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "verdicts.json"
    file.write_text("[" * 100_000 + "]" * 100_000)
    with raises(RecordError, "verdicts.json", cause=RecursionError):
        run_in_file(file)
    monkeypatch.setattr(strict_json, "MAX_BYTES", 100)
    with raises(RecordError, 100, "verdicts.json"):
        run_in_file(file)
