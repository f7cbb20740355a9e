"""Evidence files: written, read, and refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from isonomia.errors import RecordError
from isonomia.records import strict_json as module
from isonomia.records.evidence import evidence_of, evidence_text, read_evidence
from isonomia.records.store import Store
from isonomia.records.strict_json import evidence_schema
from isonomia.records.verdict import Expression, LeafRecord, Verdict
from raising import raises

KEY = b"a key of the house"
REQUEST = {"file": "/home/somebody/audit.toml", "text": "x = 1", "seed": 3, "files": {"a.nom": "é <b>"}}


def _verdict(**others: Any) -> Verdict:
    leaf = LeafRecord("P[a]", 10, 0.1, 0.0, 1.0)
    side = Expression("P[a]", ">=", 0.5, None, -float("inf"), float("inf"))
    basis: dict[str, Any] = {
        "text": "P[a] >= 0.5",
        "answer": "holds",
        "delta": 0.05,
        "risk": 0.05,
        "method": "bets",
        "samples": 10,
        "leaves": (leaf,),
        "expressions": (side,),
        "stopped": "decided",
        "assumptions": (),
        "remarks": ("<script>",),
        "seed": 3,
        "seconds": 0.1,
        "version": "0.1.0",
    }
    return Verdict(**{**basis, **others})


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / ".isonomia")
    run = store.begin("An audit", REQUEST, [("one", {"check": "x"}, {"delta": 0.05}), ("two", {}, {})])
    for number in (0, 1):
        journal = store.journal(run, number)
        journal.keep("population", lambda: {"kind": "sample"})
        journal.keep("answer 0", lambda: {"prediction": "secret"})
        journal.keep("batch 0", lambda: {"counts": [0.1, 2]})
        journal.keep("answer 0 of something", lambda: {"prediction": "secret"})
        journal.close()
    store.conclude(run, 0, _verdict())
    return store


def _complete(store: Store) -> Store:
    store.conclude(store.run().id, 1, _verdict(answer="violated"))
    store.end(store.run().id)
    return store


def test_a_file_gives_back_what_was_written(store: Store, tmp_path: Path) -> None:
    evidence = evidence_of(_complete(store))
    file = tmp_path / "evidence.json"
    file.write_text(evidence_text(evidence), encoding="utf-8")
    assert read_evidence(file) == evidence
    assert evidence.verdicts == {"one": _verdict(), "two": _verdict(answer="violated")}
    jsonschema.validate(json.loads(file.read_text("utf-8")), evidence_schema())


def test_half_a_character_does_not_keep_a_run_from_being_exported(store: Store, tmp_path: Path) -> None:
    whole = evidence_of(_complete(store))
    odd = replace(whole, run={**whole.run, "title": "\ud800 é"})
    file = tmp_path / "evidence.json"
    file.write_text(evidence_text(odd), encoding="utf-8")
    assert read_evidence(file) == odd


def test_neither_answers_nor_folders_are_exported(store: Store) -> None:
    text = evidence_text(evidence_of(_complete(store)))
    assert "secret" not in text
    assert "somebody" not in text
    assert '"name": "audit.toml"' in text


def test_indentation_and_the_order_of_keys_do_not_break_the_seal(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "evidence.json"
    content = json.loads(evidence_text(evidence_of(_complete(store))))
    file.write_text(json.dumps(content, indent=4, sort_keys=True))
    assert read_evidence(file).seal_problem is None


def test_a_property_that_could_not_be_checked_is_exported_as_such(store: Store, tmp_path: Path) -> None:
    store.fail(store.run().id, 1, "ModelError", "it broke")
    file = tmp_path / "evidence.json"
    file.write_text(evidence_text(evidence_of(store)))
    evidence = read_evidence(file)
    assert evidence.checks[1].verdict is None
    assert evidence.checks[1].error == {"kind": "ModelError", "message": "it broke"}
    jsonschema.validate(json.loads(file.read_text()), evidence_schema())


def test_a_run_that_is_not_complete_goes_on_with_its_own_records(store: Store) -> None:
    with raises(RecordError, "--resume", "--records", str(store.folder), name="two"):
        evidence_of(store)


def test_a_run_that_is_not_complete_is_not_exported(store: Store) -> None:
    with raises(RecordError, name="two"):
        evidence_of(store)


def test_a_run_without_the_texts_that_its_file_names_is_not_exported(tmp_path: Path) -> None:
    store = Store(tmp_path / "old")
    store.begin("Old", {key: value for key, value in REQUEST.items() if key != "files"}, [])
    with pytest.raises(RecordError, match="run it again"):
        evidence_of(store)


def test_a_key_is_needed_where_a_file_was_sealed_with_one(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "evidence.json"
    file.write_text(evidence_text(evidence_of(_complete(store)), KEY))
    assert read_evidence(file, KEY).seal_problem is None
    assert "key is another one" in str(read_evidence(file, KEY + b"!").seal_problem)
    with raises(RecordError, name="key"):
        read_evidence(file)


def _changed(store: Store, change: Any) -> bytes:
    content = json.loads(evidence_text(evidence_of(_complete(store))))
    change(content)
    return json.dumps(content).encode()


REFUSED = [
    (lambda content: content.update(format="something"), "is not one"),
    (lambda content: content.update(version=1), "has version 1: replay it with the version of Isonomia that wrote it"),
    (lambda content: content.update(more=1), "more is not known"),
    (lambda content: content["run"].pop("seed"), "run should have 'seed'"),
    (lambda content: content["run"].update(seed=3.0), "run.seed should be of type integer, but is 3.0"),
    (lambda content: content["checks"][0].update(entries=[]), r"checks[0].entries should be of type object"),
    (lambda content: content["checks"][0]["verdict"].update(answer="maybe"), "checks[0].verdict.answer should be one"),
    (lambda content: content["checks"][1]["entries"].update({"answer 0": {}}), "raw answers of the model for 'two'"),
    (lambda content: content["audit"].update(name="../audit.toml"), "without any folder, but has '../audit.toml'"),
    (lambda content: content["audit"].update(name=""), "without any folder, but has ''"),
    (lambda content: content["seal"].update(method="none"), "seal.method should be one of"),
]


@pytest.mark.parametrize(("change", "told"), REFUSED, ids=[told for _, told in REFUSED])
def test_what_is_no_evidence_is_refused_with_the_place(store: Store, tmp_path: Path, change: Any, told: str) -> None:
    file = tmp_path / "evidence.json"
    file.write_bytes(_changed(store, change))
    with pytest.raises(RecordError) as caught:
        read_evidence(file)
    assert told in str(caught.value)


@pytest.mark.parametrize("content", [b"[]", b"1", b'"isonomia evidence"', b"null"])
def test_any_other_json_is_no_evidence(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "evidence.json"
    file.write_bytes(content)
    with pytest.raises(RecordError, match="expected an evidence file"):
        read_evidence(file)


def test_a_file_that_is_too_long_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 4)
    file = tmp_path / "evidence.json"
    file.write_bytes(b"12345")
    with raises(RecordError, 4, "evidence.json"):
        read_evidence(file)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "absent.json", Path("/dev/zero")):
        with pytest.raises(RecordError, match="expected"):
            read_evidence(place)
