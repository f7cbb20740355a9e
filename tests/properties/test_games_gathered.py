"""Games that are played together end as they do one at a time, and so do blocks that play them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from isonomia.audits.ksafety.cases import CaseRunner, Cases
from isonomia.audits.ksafety.compiler import compile_spec
from isonomia.audits.ksafety.functions import RANDOM
from isonomia.models.adapt import adapt
from isonomia.models.session import open_session
from isonomia.populations.domains import Games
from isonomia.populations.table import Table
from isonomia.spec.nomos import parse_nomos

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "populations" / "domains"))
from walking import Walk

GOALS = st.lists(st.integers(1, 9), min_size=1, max_size=7)
SEEDS = st.integers(0, 2**32 - 1)
POLICIES = st.lists(st.sampled_from([-1, 0, 1, 1, 2]), min_size=5, max_size=5)
BLOCK = """input s1; var s2 := relax(s1); output o1; output o2;
{
  o1, o2 = 0, 0
  for number in range(3):
    rs = randInt(0, MAX_INT)
    o1 += play(s1, rs)
    if number != 1 or o1:
      o2 += play(s2, rs) + predict(s2)
}
ensures o1 <= o2;
"""


def policy(moves: list[int]) -> Any:
    """A walker whose next move depends on where it stands."""

    def walker(observations: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.array(moves)[(observations[:, 0] + observations[:, 1]).astype(int) % len(moves)]

    return walker


@settings(max_examples=60, deadline=None)
@given(GOALS, st.data(), POLICIES)
def test_games_played_together_end_as_they_do_alone(goals: list[int], data: Any, moves: list[int]) -> None:
    seeds = np.array(data.draw(st.lists(SEEDS, min_size=len(goals), max_size=len(goals))))
    walker = policy(moves)

    def ask(table: Table) -> Any:
        return walker(table.native), None

    domain = Games(Walk(), {"goal": goals})
    play = domain.functions["play"].call
    together = play(domain.inputs(np.arange(len(goals))), seeds, ask)[0].tolist()
    alone = [play(domain.inputs(np.array([i])), seeds[i : i + 1], ask)[0].tolist()[0] for i in range(len(goals))]
    assert together == alone


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(2, 9), min_size=1, max_size=5), st.data(), POLICIES)
def test_blocks_that_play_give_what_one_case_at_a_time_gives(goals: list[int], data: Any, moves: list[int]) -> None:
    n = len(goals)
    relaxed, drawn = (np.array(data.draw(st.lists(SEEDS, min_size=n, max_size=n))) for _ in range(2))
    domain = Games(Walk(), {"goal": goals})
    program = compile_spec(parse_nomos(BLOCK), RANDOM | {"relax", "unrelax"}, frozenset({"play"}))
    runner = CaseRunner(program, open_session(adapt(policy(moves)), watched=False), 10.0, True)
    cases = Cases((np.arange(n),), (relaxed, drawn))
    together = runner.run(domain, cases)
    for index in range(n):
        alone = runner.run(domain, cases.take(np.array([index])))
        for name in ("o1", "o2"):
            assert together.batch.values[name].data[index] == alone.batch.values[name].data[0]
        assert together.violating[index] == alone.violating[0]
