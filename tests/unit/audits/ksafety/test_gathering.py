"""Functions of a domain that ask the model: gathered in blocks that are code, on columns in plain ones."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from figure_one import LANDER
from numpy.typing import NDArray
from walking import Walk, onward

import isonomia as iso
from isonomia.errors import DataError, SpecError
from isonomia.populations.domains import Function, Games, TableDomain
from isonomia.populations.table import Table
from isonomia.records import Verdict
from raising import raises

PLAIN = """input s1;
var s2 := nearer(s1, 1);
requires s1.goal > 1;
output o1;
output o2;
{
    o1 = play(s1, 3)
    o2 = play(s2, 3)
}
ensures o1 <= o2;
"""


def games(*goals: int, **options: Any) -> TableDomain:
    return Games(Walk(**options), {"goal": list(goals)})


def check(text: str, domain: TableDomain, policy: Any = onward, **options: Any) -> Verdict:
    asked = {name: options.pop(name) for name in ("budget",) if name in options}
    return iso.check(iso.safety.property(text, allow_code=True, **options), policy, domain, seed=1, **asked)


def test_the_figure_runs_as_printed_and_holds_where_a_nearer_goal_is_never_worse() -> None:
    verdict = check(LANDER, games(2, 4, 6), eps=0.05)
    assert (verdict.answer, verdict.details["cases"]["without_choice"]) == ("holds", 0)
    assert verdict.details["violations"]["cases"] == 0


def shy(observations: NDArray[Any]) -> NDArray[Any]:
    """Loses courage where the goal is near."""
    return np.where(observations[:, 1] < 4, -1, 1)


def test_a_policy_that_fails_easier_games_is_found_out_and_its_counterexample_replayed() -> None:
    domain = games(5, 6)
    verdict = check(LANDER, domain, shy)
    assert verdict.answer == "violated"
    first = verdict.counterexamples[0]
    assert first["outputs"]["o1"] > first["outputs"]["o2"]
    assert first["differs"]["s2"]["goal"][1] < 4
    again = check(LANDER, domain, shy, known=verdict.counterexamples)
    assert "still violate" in again.stopped
    assert again.counterexamples[0]["outputs"] == first["outputs"]


def test_a_violation_ends_the_check_after_few_games() -> None:
    assert check(LANDER, games(5, 6), shy).samples <= 32


def test_states_that_cannot_be_easier_are_turned_away_and_counted() -> None:
    verdict = check(LANDER, games(1, 1, 1, 5), enumerate=False, stop_early=False, budget=40)
    tested = verdict.details["cases"]
    assert tested["tested"] == 40
    assert tested["without_choice"] > 40  # three of four draws
    assert tested["inputs"] == 1


def test_all_cases_play_together() -> None:
    calls: list[int] = []

    def counted(observations: NDArray[Any]) -> NDArray[Any]:
        calls.append(len(observations))
        return onward(observations)

    verdict = check(LANDER, games(4, 5, 6, 7), counted, enumerate=False, stop_early=False, budget=64)
    assert verdict.samples == 64
    assert max(calls) == 64
    # Twenty games one after the other, however many cases there are, and a few questions to try the model out.
    assert len(calls) <= 20 * Walk().steps + 8


def test_a_plain_block_plays_on_columns_without_permission() -> None:
    prop = iso.safety.property(PLAIN)
    calls: list[int] = []

    def counted(observations: NDArray[Any]) -> NDArray[Any]:
        calls.append(len(observations))
        return onward(observations)

    verdict = iso.check(prop, counted, games(1, 3, 4, 5, 6), seed=1)
    assert (verdict.answer, verdict.risk, verdict.details["k"]) == ("holds", 0.0, 2)
    assert verdict.details["cases"]["tested"] == 4
    assert len(calls) <= 2 * Walk().steps + 8


def test_code_and_a_plain_block_say_the_same() -> None:
    code = PLAIN.replace("o1 = play(s1, 3)\n    o2 = play(s2, 3)", "o1, o2 = [play(s, 3) for s in (s1, s2)]")
    plain, coded = (check(text, games(2, 3, 4, 5, 6), shy, enumerate=True) for text in (PLAIN, code))
    assert plain.details["violations"] == coded.details["violations"]
    assert plain.counterexamples == coded.counterexamples
    assert plain.details["violations"]["cases"] > 0


@pytest.mark.parametrize(
    "text",
    [
        PLAIN.replace("requires s1.goal > 1;", "var v := play(s1, 1);"),
        PLAIN.replace("ensures o1 <= o2;", "ensures play(s1, 1) <= o2;"),
    ],
)
def test_games_are_played_in_the_block_only(text: str) -> None:
    with raises(SpecError, "play", at="play(s1, 1)") as caught:
        check(text, games(3))
    assert caught.value.place is not None


def test_a_policy_that_raises_somewhere_makes_cases_fail_with_the_reason() -> None:
    def timid(observations: NDArray[Any]) -> NDArray[Any]:
        if (observations[:, 1] == 5).any():
            raise ValueError("five is too far")
        return onward(observations)

    for text in (PLAIN, PLAIN.replace("o1 = play(s1, 3)", "o1 = sum([play(s1, 3)])")):
        verdict = check(text, games(3, 5, 7, 9), timid, enumerate=True)
        assert verdict.details["cases"]["failed"] == 1
        assert verdict.answer == "undecided"
        assert "five is too far" in str(verdict.details["failures"])


def test_a_game_that_raises_makes_its_case_fail() -> None:
    verdict = check(PLAIN, games(2, 6, trap=2), enumerate=True)
    assert "the game raised RuntimeError: there is a hole in the ground" in verdict.details["failures"]


def test_the_policy_can_be_asked_about_a_state_itself() -> None:
    text = "input s1; output o; { o = predict(s1) } ensures o == 1;"
    assert check(text, games(2, 3)).answer == "holds"


def test_an_error_while_games_are_played_leaves_no_thread_behind() -> None:
    before = threading.active_count()
    code = PLAIN.replace("o1 = play(s1, 3)", "o1 = sum([play(s1, -3)])")
    with raises(DataError, 0, -3):
        check(code, games(2, 3, 4))
    for _ in range(100):
        if threading.active_count() <= before:
            break
        time.sleep(0.05)
    assert threading.active_count() <= before


def test_a_function_that_asks_and_draws_is_repeatable_in_code() -> None:
    def luck(records: Any, seeds: NDArray[Any], ask: Any) -> Any:
        answers, why = ask(Table.of(np.stack([domain.get(records, "goal")[0], seeds % 2], axis=1)))
        return answers, why

    domain = replace(games(2, 3, 4), functions={"luck": Function(luck, 1, "number", random=True, asks=True)})
    text = "input s1; output o; {\n  o = sum([luck(s1) for _ in range(4)])\n} ensures o >= 2;"
    prop = iso.safety.property(text, allow_code=True, enumerate=False, stop_early=False)
    found = [iso.check(prop, lambda x: x[:, 1].astype(int), domain, budget=60, seed=5) for _ in range(2)]
    assert found[0].details["violations"] == found[1].details["violations"]
    assert found[0].answer == "violated"
    assert found[0].counterexamples[0]["outputs"]["o"] < 2
