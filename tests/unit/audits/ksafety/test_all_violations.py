"""Every distinct violation is kept: the set that brute force finds, as rows and frames, in files and the store."""

from __future__ import annotations

import csv
import json
import pickle
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import isonomia as iso
from isonomia.audits.check import new_check, run_check
from isonomia.engine.parameters import NullObserver
from isonomia.errors import UsageError
from isonomia.records import violations as records_module
from isonomia.records.store import Store
from isonomia.records.violations import ViolationSet
from isonomia.report.files import write_violations
from raising import raises

SPEC = """input x1;
var v1 := x1.a;
var v2 := v1 + randInt(1, 4);
requires v2 <= 9;
var x2 := x1[a := v2];
output d1; output d2;
{
d1 = predict(x1)
d2 = predict(x2)
}
ensures d1 <= d2;
"""
RNG = np.random.default_rng(5)
TABLE = {
    "a": RNG.integers(0, 8, 60),
    "b": RNG.integers(0, 5, 60),
    "town": np.array(["Athens", "Argos", "Corinth"], dtype=object)[RNG.integers(0, 3, 60)],
}


def model(table: Mapping[str, Any]) -> np.ndarray:
    return (np.asarray(table["a"]) * 7 + np.asarray(table["b"])) % 3


def brute_force() -> set[tuple[int, int]]:
    found = set()
    for row in range(60):
        a, b = int(TABLE["a"][row]), int(TABLE["b"][row])
        for step in range(1, 5):
            if a + step <= 9 and (a * 7 + b) % 3 > ((a + step) * 7 + b) % 3:
                found.add((row, step))
    return found


def cases(violations: ViolationSet) -> list[tuple[int, int]]:
    return [(item["rows"]["x1"], item["choices"][0]) for item in violations]


def check(**options: Any) -> iso.Verdict:
    return iso.check(iso.safety.property(SPEC, **options), model, iso.Census(TABLE), seed=1)


def test_all_cases_that_violate_are_kept_and_no_others() -> None:
    verdict = check()
    violations = verdict.violations()
    assert len(violations) == len(brute_force()) == verdict.details["violations"]["distinct"]
    assert sorted(cases(violations)) == sorted(brute_force())


def test_a_violation_has_its_inputs_choices_and_outputs() -> None:
    for item in check().violations():
        row, step = item["rows"]["x1"], item["choices"][0]
        a, b = int(TABLE["a"][row]), int(TABLE["b"][row])
        assert item["inputs"] == {"x1": {"a": a, "b": b, "town": TABLE["town"][row]}}
        assert item["differs"] == {"x2": {"a": [a, a + step]}}
        assert item["outputs"] == {"d1": (a * 7 + b) % 3, "d2": ((a + step) * 7 + b) % 3}
        assert item["violates"] == ["d1 <= d2"]


def test_random_cases_are_kept_once_however_often_they_are_drawn() -> None:
    prop = iso.safety.property(SPEC, enumerate=False, stop_early=False)
    verdict = iso.check(prop, model, iso.Census(TABLE), budget=5_000, seed=3)
    found = cases(verdict.violations())
    assert verdict.details["violations"]["cases"] > len(found)  # some were drawn more than once
    assert sorted(found) == sorted(brute_force())


def test_fresh_people_are_kept_with_their_values() -> None:
    people = iso.Generator(lambda n, rng: {"a": rng.integers(0, 8, n), "b": rng.integers(0, 5, n)})
    prop = iso.safety.property(SPEC, stop_early=False)
    verdict = iso.check(prop, model, people, budget=2_000, seed=3)
    violations = list(verdict.violations())
    assert len(violations) == verdict.details["violations"]["distinct"] > 100
    for item in violations:
        ((_, after),) = item["differs"]["x2"].values()
        before = item["inputs"]["x1"]
        assert item["outputs"]["d1"] == (before["a"] * 7 + before["b"]) % 3
        assert item["outputs"]["d2"] == (after * 7 + before["b"]) % 3


def test_edge_cases_that_violate_are_among_them() -> None:
    text = "input x1; var v1 := randInt(0, 1000000); output d1; { d1 = predict(x1) } ensures d1 == 0 || v1 < 1000000;"
    verdict = iso.check(iso.safety.property(text), lambda table: np.ones(len(table["a"])), iso.Census(TABLE), seed=1)
    kept = list(verdict.violations())
    assert {item["found"] for item in kept} >= {"edge_case"}
    assert {item["choices"][0] for item in kept} == {1000000}


def test_beyond_a_limit_there_are_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records_module, "MAX_DISTINCT", 7)
    violations = check().violations()
    assert (len(violations), violations.more) == (7, True)
    assert set(cases(violations)) <= brute_force()


@pytest.mark.parametrize("in_memory", [1, 2**23])
def test_chunks_come_back_from_a_file_as_they_were(monkeypatch: pytest.MonkeyPatch, in_memory: int) -> None:
    monkeypatch.setattr(records_module, "CHUNK", 8)
    monkeypatch.setattr(records_module, "IN_MEMORY", in_memory)
    violations = check().violations()
    assert violations._file is not None
    assert violations._file._rolled == (in_memory == 1)
    assert sorted(cases(violations)) == sorted(brute_force())
    assert list(violations) == list(violations)
    assert list(pickle.loads(pickle.dumps(violations))) == list(violations)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_frame_has_a_row_for_each(library: str) -> None:
    frame = check().violations().to_frame(library)
    names = list(frame.column_names if library == "pyarrow" else frame.columns)
    assert names[:6] == ["row of x1", "x1.a", "x1.b", "x1.town", "choice 1", "x2.a"]
    rows, choices = (
        frame[name].to_pylist() if library == "pyarrow" else list(frame[name]) for name in ("row of x1", "choice 1")
    )
    pairs = zip(rows, choices, strict=True)
    assert set(pairs) == brute_force()


def test_an_unknown_library_is_refused() -> None:
    with raises(UsageError, "excel", name="library"):
        check().violations().to_frame("excel")


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_files_hold_the_same_violations(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"violations.{ending}"
    write_violations(check().violations(), path)
    match ending:
        case "csv":
            rows: list[Any] = list(csv.DictReader(path.read_text("utf-8").splitlines()))
        case "jsonl":
            rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        case _:
            rows = pq.read_table(path).to_pylist()
    assert {(int(row["row of x1"]), int(row["choice 1"])) for row in rows} == brute_force()
    assert {row["x1.town"] for row in rows} <= {"Athens", "Argos", "Corinth"}


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with raises(UsageError, "violations.xlsx"):
        write_violations(check().violations(), tmp_path / "violations.xlsx")


def test_nothing_found_is_an_empty_file(tmp_path: Path) -> None:
    for ending in ("csv", "parquet", "jsonl"):
        write_violations(ViolationSet(), tmp_path / f"none.{ending}")
    assert (tmp_path / "none.csv").read_text() == (tmp_path / "none.jsonl").read_text() == ""


def test_a_verdict_from_json_has_its_counterexamples() -> None:
    verdict = check()
    again = iso.Verdict.from_dict(json.loads(json.dumps(verdict.to_dict())))
    assert list(again.violations()) == [dict(item) for item in verdict.counterexamples]


def test_a_store_keeps_all_of_them(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = store.begin("test", {}, [("monotone", {}, {})])
    journal = store.journal(run, 0)
    found = check()
    journal.keep_violations(found.violations())
    journal.close()
    kept = store.violations(run, 0)
    assert kept is not None
    assert list(kept) == list(found.violations())
    store.prune([run])
    assert store.violations(run, 0) is None


def test_a_check_that_goes_on_from_its_journal_has_them_all(tmp_path: Path) -> None:
    prop = iso.safety.property(SPEC, enumerate=False, stop_early=False)
    store = Store(tmp_path)
    run = store.begin("test", {}, [("monotone", {}, {})])
    verdicts = []
    for _ in range(2):
        journal = store.journal(run, 0)
        begun = new_check(prop, model, iso.Census(TABLE), budget=800, seed=3).with_journal(journal)
        verdicts.append(run_check(begun, NullObserver()))
        journal.close()
    first, again = verdicts
    assert list(again.violations()) == list(first.violations())
    assert len(again.violations()) == first.details["violations"]["distinct"] > len(first.counterexamples)
    assert again.details["kinds"] == first.details["kinds"]


def test_kinds_add_up_and_say_what_differs() -> None:
    verdict = check()
    kinds = verdict.details["kinds"]
    expected = Counter((item["outputs"]["d1"], item["outputs"]["d2"]) for item in verdict.violations())
    assert {(kind["outputs"]["d1"], kind["outputs"]["d2"]): kind["count"] for kind in kinds} == expected
    assert all(kind["differs"] == ["a"] for kind in kinds)
    assert [kind["count"] for kind in kinds] == sorted((kind["count"] for kind in kinds), reverse=True)
    for kind in kinds:
        assert kind["example"]["outputs"] == kind["outputs"]
    text = str(verdict)
    assert f"{len(brute_force())} violations of {len(kinds)} kinds" in text
    assert "differs" in verdict._repr_html_()


def test_many_outputs_are_told_by_their_order() -> None:
    def scores(table: Mapping[str, Any]) -> np.ndarray:
        return -np.asarray(table["a"]) * 100 - np.asarray(table["b"])

    verdict = iso.check(iso.safety.property(SPEC), scores, iso.Census(TABLE))
    (kind,) = verdict.details["kinds"]
    assert kind["order"] == ["d1 > d2"]
    assert kind["count"] == len(verdict.violations())
