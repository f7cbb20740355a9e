"""Ten seconds of fuzzing: nothing crashes, nothing takes long, and enough gets behind the parsers."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from benchmarks.fuzz import LANGUAGES, SHARES, Found, fuzz
from benchmarks.fuzz_inputs import AUDIT, PROPERTY, mutated, mutated_tree, written

from benchmarks import fuzz as harness
from isonomia.errors import UsageError

INPUTS = {
    "property": 300, "csv": 900, "fr": 800, "nomos": 300, "interventions": 800, "audit": 40, "evidence": 150,
    "service": 600, "stream": 25,
}  # fmt: skip
"""About a second and a half each."""


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_input_does_what_none_may(language: str) -> None:
    found = fuzz(language, 1, most=INPUTS[language], use=0.3)
    assert found.inputs == INPUTS[language]
    assert found.sound, found
    least = {"audit": 0.3, "service": 0.3, "evidence": 0.35}.get(language, 0.15)
    assert found.accepted / found.inputs >= least, found
    assert len(found.outcomes) > 3


def test_a_crash_is_noticed_with_its_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(text: str, _: object) -> object:
        return int(text[:0])

    monkeypatch.setitem(LANGUAGES, "property", (LANGUAGES["property"][0], read))
    found = fuzz("property", 1, most=5)
    assert not found.sound
    (crash,) = found.crashes
    assert crash["error"].startswith("ValueError")
    assert crash["input"]


def test_only_computing_counts_as_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "MOST_TO_USE", 0.2)
    monkeypatch.setattr(harness, "MOST_SECONDS", 0.1)

    def waits(_: object, __: object) -> object:
        time.sleep(0.5)
        return lambda: None

    def computes(_: object, __: object) -> object:
        while True:
            pass

    def is_slow_to_refuse(_: object, __: object) -> object:
        until = time.process_time() + 0.12
        while time.process_time() < until:
            pass
        raise UsageError("no")

    for read, error in ((waits, None), (computes, "TooLongError"), (is_slow_to_refuse, "0.1 s to read it")):
        monkeypatch.setitem(LANGUAGES, "property", (LANGUAGES["property"][0], read))
        found = fuzz("property", 1, most=1)
        assert [crash["error"].partition(":")[0] for crash in found.crashes] == ([error] if error else [])


def test_inputs_are_the_same_for_the_same_seed_and_grammars_end() -> None:
    for grammar, start in ((PROPERTY, "property"), (AUDIT, "audit")):
        first, again = (
            [mutated(written(grammar, start, draw), draw) for _ in range(50)]
            for draw in (random.Random(3), random.Random(3))
        )
        assert first == again
        assert max(map(len, first)) <= 20_000


def test_a_mutation_leaves_the_tree_it_came_from_alone() -> None:
    tree = {"a": [1, {"b": None}], "c": "text"}
    draw = random.Random(1)
    changed = [mutated_tree(tree, draw) for _ in range(100)]
    assert tree == {"a": [1, {"b": None}], "c": "text"}
    assert sum(each != tree for each in changed) > 80


def test_processes_have_seeds_of_their_own_and_one_summary(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.fuzz", "--inputs", "301", "--processes", "2", "--only", "fr"]
    done = subprocess.run(
        [*command, "--json", str(tmp_path / "found.json")],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    (found,) = json.loads((tmp_path / "found.json").read_text())
    halves = [fuzz("fr", seed, most=most, use=0.3) for seed, most in ((1, 150), (1_000_004, 151))]
    assert halves[0].outcomes != halves[1].outcomes
    assert found["inputs"] == 301
    assert found["accepted"] == halves[0].accepted + halves[1].accepted
    assert set(found["outcomes"]) == {*halves[0].outcomes, *halves[1].outcomes}
    assert done.stdout.splitlines()[-1] == "301 inputs, 0 crashes"


def test_a_process_that_dies_is_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["fuzz", "--inputs", "10", "--only", "fr", "--processes", "1"])
    monkeypatch.setattr(harness, "_in_a_process", _dies)
    with pytest.raises(SystemExit) as ended:
        harness.main()
    assert ended.value.code == 1


def _dies(*_: object) -> None:
    raise SystemExit(7)


def test_the_same_crash_of_two_processes_counts_once() -> None:
    crash = {"error": "ValueError: 1", "where": "a.py:1", "input": "x"}
    whole, other = Found("fr", 3, crashes=[crash]), Found("fr", 4, crashes=[{**crash, "error": "ValueError: 2"}])
    whole.add(other)
    assert whole.inputs == 7
    assert whole.crashes == [crash]


FEATURES = {
    ("property", "constants"): r"\((?:not \()*[-0-9.e]+ [<>]=? [-0-9.e]+",
    ("property", "and"): r"\] .* and .*\] [<>]",
    ("property", "or"): r"\] .* or not \(",
    ("property", "implied"): r"\] .*==>.*\]",
    ("csv", "quotes"): r'"[^"]+"',
    ("csv", "a quote in a cell"): r'"[^",\n]*""[^",\n]+"',
    ("csv", "a line break in a cell"): r'[,\n]"[^",\n]+\n[^"\n]*"',
    ("stream", "an early outcome"): r'"id": "?(\d+)"?, "y".*\n(?:.*\n)*.*"id": "?\1"?, "sex"',
    ("stream", "a late outcome"): r'"id": "?(\d+)"?, "sex".*\n.*"sex".*\n(?:.*\n)*.*"id": "?\1"?, "y"',
}


def test_inputs_that_are_accepted_have_what_went_wrong_before(tmp_path: Path) -> None:
    draw, accepted = random.Random(2), {}
    for language, most in (("property", 300), ("csv", 600), ("stream", 20)):
        make, read, found = LANGUAGES[language][0](), LANGUAGES[language][1], Found(language)
        texts = [make(draw) for _ in range(most)]
        accepted[language] = [
            text for text in texts if harness.tried(found, read, text, tmp_path, use=False)[0] == "accepted"
        ]
    counts = {each: sum(bool(re.search(FEATURES[each], text)) for text in accepted[each[0]]) for each in FEATURES}
    assert min(counts.values()) >= 3, counts
    assert sum(SHARES.values()) == pytest.approx(1)
