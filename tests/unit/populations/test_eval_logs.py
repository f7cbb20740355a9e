"""Logs of inspect_ai, promptfoo and lm-evaluation-harness as tables, in the form in which these tools write them."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import isonomia as iso
from isonomia.errors import DataError
from isonomia.populations import Table, read_table


def sample(number: int, value: Any = "C", epoch: int = 1, **other: Any) -> dict[str, Any]:
    scores = {} if value is None else {"match": {"value": value, "answer": "4", "explanation": "4", "history": []}}
    about = {"input": f"2 + 2, {number}?", "target": "4", "metadata": {"topic": "sums", "score": 7, "tags": ["easy"]}}
    return {"id": f"q{number}", "epoch": epoch, **about, "scores": scores, "total_time": 0.5} | other


def inspect_log(samples: list[dict[str, Any]], **other: Any) -> dict[str, Any]:
    epochs = max((each["epoch"] for each in samples), default=1)
    names = list(dict.fromkeys(each["id"] for each in samples))
    dataset = {"samples": len(names), "sample_ids": names, "shuffled": False}
    spec = {"task": "sums", "model": "mockllm/model", "dataset": dataset, "config": {"epochs": epochs}}
    return {"version": 2, "status": "success", "eval": spec, "results": {}, "samples": samples} | other


def in_eval(content: dict[str, Any], zstandard: bool = False, cut: bool = False) -> bytes:
    """An ``.eval`` file, which is a zip; newer ones are compressed by zstandard, which ``zipfile`` cannot write."""
    samples = content["samples"]
    header = {name: value for name, value in content.items() if name != "samples"}
    halves = {f"_journal/summaries/{n}.json": half for n, half in ((10, samples[1:]), (9, samples[:1]))}
    members = {"_journal/start.json": {name: header[name] for name in ("version", "eval")}} | halves
    members |= {} if cut else {"summaries.json": samples, "header.json": header}
    stream = io.BytesIO()
    if not zstandard:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, value in members.items():
                archive.writestr(name, json.dumps(value))
        return stream.getvalue()
    directory = b""
    for name, value in members.items():
        plain, title = json.dumps(value).encode(), name.encode()
        packed = pa.compress(plain, "zstd", asbytes=True)
        sizes = (93, 0, 33, zlib.crc32(plain), len(packed), len(plain), len(title))
        offset = stream.tell()
        stream.write(b"PK\3\4" + struct.pack("<HHHHHIIIHH", 63, 0, *sizes, 5) + title + b"extra" + packed)
        directory += b"PK\1\2" + struct.pack("<HHHHHHIIIHHHHHII", 63, 63, 0, *sizes, 0, 0, 0, 0, 0, offset) + title
    place = stream.tell()
    stream.write(directory)
    stream.write(b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(directory), place, 0))
    return stream.getvalue()


def column(table: Table, name: str) -> list[Any]:
    return list(table.column(name).tolist())


def written(folder: Path, name: str, content: Any) -> str:
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        lines = name.endswith(".jsonl")
        path.write_text("\n".join(map(json.dumps, content)) if lines else json.dumps(content), encoding="utf-8")
    return str(path)


THREE = [sample(0), sample(1, "I"), sample(2)]


# --------------------------------------------------------------------------------------------------------- inspect_ai


@pytest.mark.parametrize("name", ["a.eval", "zstandard.eval", "cut.eval", "a.json"])
def test_a_log_of_inspect_is_a_table_however_it_is_written(tmp_path: Path, name: str) -> None:
    log = inspect_log(THREE)
    log["eval"]["dataset"]["sample_ids"] += ["q3"] * (name == "cut.eval")
    content = log if name == "a.json" else in_eval(log, name == "zstandard.eval", name == "cut.eval")
    table = read_table(written(tmp_path, name, content))
    assert column(table, "item") == ["q0", "q1", "q2"]
    assert column(table, "correct") == [1, 0, 1]
    assert column(table, "score") == column(table, "match") == [1.0, 0.0, 1.0]
    assert column(table, "answer") == ["4"] * 3
    assert column(table, "topic") == ["sums"] * 3
    assert column(table, "score_") == [7] * 3  # of the metadata
    assert "tags" not in table.names
    assert any("tags" in remark for remark in table.remarks)
    assert any("biased" in remark for remark in table.remarks) == (name == "cut.eval")


def test_the_log_of_a_task_that_was_stopped_early_says_so(tmp_path: Path) -> None:
    log = inspect_log(THREE, results={"early_stopping": {"manager": "isonomia", "early_stops": [], "metadata": {}}})
    assert any("not covered" in each for each in read_table(written(tmp_path, "a.eval", in_eval(log))).remarks)


@pytest.mark.parametrize("name", ["a.eval", "a.json"])
def test_rows_are_in_the_order_of_the_dataset_and_not_in_that_of_the_answers(tmp_path: Path, name: str) -> None:
    """Else, wrong answers that take longer come last, and a look at the first rows is misled."""
    log = inspect_log([sample(n, "CI"[n < 5], epoch) for epoch in (1, 2) for n in range(12)])
    log["samples"].sort(key=lambda each: (each["scores"]["match"]["value"] != "C", each["id"]))
    log["eval"]["dataset"]["sample_ids"] = [f"q{n}" for n in range(12)]
    table = read_table(written(tmp_path, name, in_eval(log) if name == "a.eval" else log))
    assert column(table, "item") == [f"q{n}" for n in range(12) for _ in range(2)]
    assert column(table, "repeat") == [1, 2] * 12
    assert column(table, "correct") == [0] * 10 + [1] * 14


def test_the_first_score_is_the_first_of_the_task_although_some_answers_lack_it(tmp_path: Path) -> None:
    both = {"match": {"value": "I", "answer": "4"}, "own": {"value": 1, "answer": "five"}}
    log = inspect_log([sample(0), sample(1, scores=both)])
    log["eval"]["scorers"] = [{"name": "own"}, {"name": "match"}]
    table = read_table(written(tmp_path, "a.json", log))
    assert column(table, "correct") == [0, 1]
    assert column(table, "answer") == ["4", "five"]
    assert column(table, "match") == [1.0, 0.0]


def test_scores_in_words_are_text_and_a_word_among_numbers_is_no_score(tmp_path: Path) -> None:
    words = read_table(written(tmp_path, "a.json", inspect_log([sample(0, "good"), sample(1, "bad")])))
    assert column(words, "match") == ["good", "bad"]
    assert "score" not in words.names
    mixed = read_table(written(tmp_path, "b.json", inspect_log([sample(0, 7), sample(1, "unreadable")])))
    assert column(mixed, "match")[0] == 7.0
    assert np.isnan(column(mixed, "match")[1])


@pytest.mark.parametrize("limit", ["message", {"type": "message", "limit": 4.0, "reason": "too many"}])
def test_an_answer_that_a_limit_ended_is_told_apart(tmp_path: Path, limit: Any) -> None:
    table = read_table(written(tmp_path, "a.json", inspect_log([sample(0), sample(1, "I", limit=limit)])))
    assert column(table, "limit") == ["", "message"]
    assert any("1 of 2 answers were ended by a limit" in remark for remark in table.remarks)


def test_a_task_that_failed_with_all_answers_is_not_called_biased(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, "a.json", inspect_log(THREE, status="error", invalidated=True)))
    assert any("has all 3 answers" in remark for remark in table.remarks)
    assert any("invalid" in remark for remark in table.remarks)
    assert not any("biased" in remark for remark in table.remarks)


def test_a_field_that_the_summary_left_out_is_missing(tmp_path: Path) -> None:
    about = {"topic": "Key removed from summary (> 1k)"}
    table = read_table(written(tmp_path, "a.json", inspect_log([sample(0), sample(1, metadata=about)])))
    assert column(table, "topic") == ["sums", None]


def test_a_small_file_that_unpacks_to_a_large_one_is_refused(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({"version": 2, "eval": {}}))
        archive.writestr("summaries.json", "[" + " " * 20_000_000 + "]")
    with pytest.raises(DataError, match="unpacks to more"):
        read_table(written(tmp_path, "a.eval", stream.getvalue()))


def test_a_score_or_a_field_never_takes_the_place_of_another_column(tmp_path: Path) -> None:
    scores = {"item": {"value": "C"}, "error": {"value": 1}, "match": {"value": "I"}}
    about = {"match": "yes", "seconds": 3, "half": "\ud800"}
    log = inspect_log([sample(0, scores=scores), sample(1, None, metadata=about)])
    log["eval"]["scorers"] = [{"name": "match"}, {"name": "item"}, {"name": "error"}]
    table = read_table(written(tmp_path, "a.json", log))
    assert column(table, "item") == ["q0", "q1"]
    assert column(table, "item_")[0] == column(table, "error_")[0] == 1.0
    assert np.isnan(column(table, "match")[1])
    assert column(table, "match_") == [None, "yes"]
    assert column(table, "half") == [None, "?"]
    assert iso.check("P[correct] >= 0.1", population=iso.Sample(table), seed=1).samples == 2


@pytest.mark.parametrize("broken", [{"scores": [1]}, {"id": [1]}, {"epoch": "x"}, {"metadata": [1]}])
def test_a_damaged_answer_among_others_is_refused(tmp_path: Path, broken: dict[str, Any]) -> None:
    log = inspect_log(THREE) | {"samples": [*THREE, sample(3) | broken]}
    with pytest.raises(DataError, match="damaged"):
        iso.Sample(written(tmp_path, "a.json", log))


def test_epochs_are_one_draw_together(tmp_path: Path) -> None:
    log = inspect_log([sample(n, "CI"[n % 2], epoch) for epoch in (1, 2, 3) for n in range(40)])
    people = iso.Sample(written(tmp_path, "a.eval", in_eval(log)))
    verdict = iso.check("P[correct] >= 0.5", population=people, stop="all", seed=1)
    assert (verdict.counted, verdict.samples) == ("clusters", 40)


@pytest.mark.parametrize(
    ("value", "score"),
    [("C", 1.0), ("I", 0.0), ("N", 0.0), (True, 1.0), (0, 0.0), ("yes", 1.0), ("1.0", 1.0), (None, None)],
)
def test_scores_become_numbers(tmp_path: Path, value: Any, score: float | None) -> None:
    table = read_table(written(tmp_path, "a.json", inspect_log([sample(0), sample(1, value)])))
    given = column(table, "score")[1]
    assert (None if given != given else given) == score
    assert "correct" in table.names
    assert any("no score" in remark for remark in table.remarks) == (score is None)


def test_partial_scores_and_scores_in_parts_have_no_column_of_right_and_wrong(tmp_path: Path) -> None:
    partial = read_table(written(tmp_path, "a.json", inspect_log([sample(0), sample(1, "P")])))
    assert "correct" not in partial.names
    assert column(partial, "score") == [1.0, 0.5]
    parts = read_table(written(tmp_path, "b.json", inspect_log([sample(0, {"style": 0.2, "facts": 0.9})])))
    assert column(parts, "match.facts") == [0.9]


def test_a_failed_answer_counts_as_wrong_and_is_said(tmp_path: Path) -> None:
    failed = sample(1, None, error={"message": "timeout", "traceback": ""})
    people = iso.Sample(written(tmp_path, "a.json", inspect_log([sample(0), failed])))
    assert column(people.table, "error") == ["", "timeout"]
    verdict = iso.check("P[correct] >= 0.9", population=people, stop="all", seed=1)
    assert verdict.leaves[0].estimate == 0.5
    assert any("1 of 2 answers have no score" in remark for remark in verdict.remarks)


def damaged(content: bytes) -> bytes:
    """One bit of the summaries is another."""
    place = content.index(b"summaries.json") + 60
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.eval", b"no zip"),
        ("a.eval", in_eval(inspect_log(THREE))[:-30]),
        ("a.eval", damaged(in_eval(inspect_log(THREE), zstandard=True))),
        ("a.json", inspect_log([])),
        ("a.json", inspect_log([{"id": 1, "epoch": 1, "scores": {"match": {}}}])),
        ("a.json", {"results": {"results": [{"vars": {}}], "stats": {}}}),
        ("a.json", {"results": {"results": [], "stats": {}}}),
        ("a.jsonl", [{"doc": {}, "filtered_resps": 3}]),
    ],
)
def test_a_damaged_log_is_refused(tmp_path: Path, name: str, content: Any) -> None:
    with pytest.raises(DataError):
        iso.Sample(written(tmp_path, name, content))


@pytest.mark.parametrize("content", [[{"eval": 1, "results": 2}, {"eval": 3, "results": 4}], {"results": [1, 2, 3]}])
def test_other_json_is_read_as_before(tmp_path: Path, content: Any) -> None:
    assert "results" in read_table(written(tmp_path, "a.json", content)).names


# ---------------------------------------------------------------------------------------------------------- promptfoo


def result(city: str, passed: bool, provider: str = "openai:a", **other: Any) -> dict[str, Any]:
    return {
        "promptIdx": 0,
        "testIdx": 0,
        "testCase": {"vars": {"city": city}, "assert": [{"type": "contains", "value": "x"}]},
        "vars": {"city": city},
        "provider": {"id": provider, "label": ""},
        "prompt": {"raw": "Where is {{city}}?", "label": "plain"},
        "response": {"output": {"country": "x"}, "tokenUsage": {"total": 9}},
        "success": passed,
        "score": 1.0 if passed else 0.25,
        "namedScores": {"politeness": 0.5},
        "failureReason": int(not passed),
        "cost": 0.001,
        **other,
    }


def test_results_of_promptfoo_are_a_table(tmp_path: Path) -> None:
    rows = [result("Rome", True), result("Oslo", False), result("Bonn", False, failureReason=2, error="429")]
    content = {"evalId": "eval-1", "results": {"version": 3, "results": rows, "stats": {"successes": 1}}, "config": {}}
    table = read_table(written(tmp_path, "a.json", content))
    assert column(table, "city") == ["Rome", "Oslo", "Bonn"]
    assert [None if value != value else value for value in column(table, "correct")] == [1, 0, 0]
    assert column(table, "score")[:2] == [1.0, 0.25]
    assert column(table, "politeness") == [0.5] * 3
    assert column(table, "provider") == ["openai:a"] * 3
    assert column(table, "error") == ["", "", "429"]
    assert table.together is None


def test_results_of_promptfoo_are_in_the_order_of_the_tests_also_as_json_lines(tmp_path: Path) -> None:
    rows = [result("Oslo", False, testIdx=1), result("Rome", True, testIdx=0)]
    whole = {"results": {"version": 3, "results": rows, "stats": {}}}
    for name, content in (("a.json", whole), ("a.jsonl", rows)):
        assert column(read_table(written(tmp_path, name, content)), "city") == ["Rome", "Oslo"]


def test_a_test_of_promptfoo_without_an_assertion_has_no_score(tmp_path: Path) -> None:
    """Promptfoo calls it a success, whatever the answer is."""
    none = {"pass": True, "score": 1, "reason": "No assertions"}
    about = {"vars": {"city": "Oslo"}, "metadata": {"lang": "no"}}
    rows = [result("Rome", True), result("Oslo", True, testIdx=1, gradingResult=none, testCase=about)]
    table = read_table(written(tmp_path, "a.jsonl", rows))
    assert column(table, "correct") == [1, 0]
    assert column(table, "lang") == [None, "no"]
    assert any("nothing is asserted of 1 of 2" in remark for remark in table.remarks)
    assert "correct" not in read_table(written(tmp_path, "b.jsonl", rows[1:])).names


def test_providers_of_one_file_are_compared_test_by_test(tmp_path: Path) -> None:
    rows = [result(f"city {n}", n % 10 > 2 * (name == "b"), name) for n in range(200) for name in ("a", "b")]
    path = written(tmp_path, "a.json", {"results": {"results": rows, "stats": {}}})
    claim = "P[correct | provider == 'b'] - P[correct | provider == 'a'] >= -0.1"
    verdict = iso.check(claim, population=iso.Sample(path), stop="all", seed=1)
    assert (verdict.counted, verdict.samples, verdict.answer) == ("clusters", 200, "violated")


# ------------------------------------------------------------------------------------------------ lm-evaluation-harness


def line(number: int, right: bool, kind: str = "none", **other: Any) -> dict[str, Any]:
    return {
        "doc_id": number,
        "doc": {"question": f"{number}?", "subject": "law", "choices": ["a", "b"]},
        "target": "A",
        "arguments": {"gen_args_0": {"arg_0": "..."}},
        "resps": [["A"]],
        "filtered_resps": ["A" if right else "B"],
        "filter": kind,
        "metrics": ["exact_match"],
        "doc_hash": f"hash {number}",
        "exact_match": float(right),
        **other,
    }


def test_samples_of_the_harness_are_a_table(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, "samples_law.jsonl", [line(0, True), line(1, False)]))
    assert column(table, "item") == [0, 1]
    assert column(table, "correct") == [1, 0]
    assert column(table, "exact_match") == [1.0, 0.0]
    assert column(table, "subject") == ["law", "law"]
    assert column(table, "answer") == ["A", "B"]


def test_filters_of_the_harness_are_columns_and_not_rows(tmp_path: Path) -> None:
    lines = [line(n, kind == "strict-match" or n == 1, kind) for kind in ("strict-match", "flexible") for n in range(2)]
    table = read_table(written(tmp_path, "samples_law.jsonl", lines))
    assert table.rows == 2
    assert column(table, "exact_match_strict_match") == column(table, "score") == [1.0, 1.0]
    assert column(table, "exact_match_flexible") == [0.0, 1.0]
    assert any("2 filters" in remark for remark in table.remarks)
    assert not [name for name in table.names if name.endswith("_")]  # the question's fields, once


def test_a_metric_of_the_harness_that_is_no_number_is_said_to_be_left_out(tmp_path: Path) -> None:
    lines = [line(n, True, metrics=["exact_match", "bleu"], bleu=["a", "b"]) for n in range(2)]
    table = read_table(written(tmp_path, "samples_law.jsonl", lines))
    assert "bleu" not in table.names
    assert [remark for remark in table.remarks if "bleu" in remark] == [
        "left out, since they are neither numbers nor text: bleu and choices"
    ]


def test_averages_of_the_harness_are_refused(tmp_path: Path) -> None:
    averages = {"results": {"law": {"acc,none": 0.5}}, "versions": {"law": 1}, "n-shot": {"law": 0}, "configs": {}}
    with pytest.raises(DataError, match="samples_"):
        iso.Sample(written(tmp_path, "results.json", averages))


def test_older_samples_without_a_list_of_metrics_are_read(tmp_path: Path) -> None:
    old = [{k: v for k, v in line(n, True).items() if k not in ("metrics", "filter")} for n in range(2)]
    assert column(read_table(written(tmp_path, "a.jsonl", old)), "exact_match") == [1.0, 1.0]
