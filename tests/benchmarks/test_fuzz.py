"""Ten seconds of fuzzing: nothing crashes, nothing takes long, and enough gets behind the parsers."""

from __future__ import annotations

import random
import time

import pytest
from benchmarks.fuzz import LANGUAGES, fuzz
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
    assert found.outcomes > 3


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
