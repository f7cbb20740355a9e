"""A small part of the benchmarks, as ratios to plain work in the same process: ten times slower fails, noise does not.

Each bound is four to five times from what was measured on two busy cores, as the least processor time of some rounds
in turn. The figures themselves are what ``python -m benchmarks`` prints.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.limit import Pair, by_bets, mean_draws
from benchmarks.rates_peeking import DELTA
from benchmarks.reach_peers import applicants, described, ours
from benchmarks.reach_plain import digest, plain_points
from benchmarks.safety_models import MODELS, RISE, draw, raised
from benchmarks.safety_peers import SPECIFICATION

import isonomia as iso
from isonomia.evidence.confidence_sequences import anytime_interval, mean_interval


def plain_over_ours(mine: Callable[[], Any], plain: Callable[[], Any], rounds: int = 3) -> float:
    """How many times longer the plain work takes, by the least processor time of each over rounds in turn."""
    taken: tuple[list[float], list[float]] = ([], [])
    mine()  # once to warm up
    for _ in range(rounds):
        for work, seconds in zip((mine, plain), taken, strict=True):
            began = time.process_time()
            work()
            seconds.append(time.process_time() - began)
    return min(taken[1]) / max(min(taken[0]), 1e-6)


def test_listing_reachable_points_beats_a_plain_loop_many_times_with_the_same_points() -> None:
    rules, people = applicants(60)
    job = described(rules, people)
    sets, _ = ours(rules, people)
    assert [digest(points) for points in sets] == [digest(plain_points(job, person)) for person in job["people"]]

    def plain() -> None:
        for person in job["people"]:
            plain_points(job, person)

    assert plain_over_ours(lambda: ours(rules, people), plain, rounds=2) > 20


def test_relations_are_tested_in_batches_and_not_row_by_row() -> None:
    model, tests = MODELS["none"], 5_000
    prop = iso.safety.property(SPECIFICATION, stop_early=False)

    def mine() -> None:
        verdict = iso.check(prop, lambda table: model(table).astype(int), iso.Generator(draw), budget=tests, seed=0)
        assert verdict.samples == tests

    def plain() -> None:
        rng = np.random.default_rng(0)
        people, rises = draw(tests, rng), rng.integers(RISE[0], RISE[1] + 1, tests)
        for number in range(tests):
            person = {name: column[number : number + 1] for name, column in people.items()}
            assert model(person) <= model(raised(person, rises[number]))

    assert plain_over_ours(mine, plain) > 2.5


def test_bets_draw_little_more_than_the_least_possible() -> None:
    over = []
    for number, rates in enumerate(((0.21, 0.3), (0.3, 0.3), (0.63, 0.7))):
        pair = Pair.of(*rates)
        mean, _ = mean_draws(by_bets, pair, 1e-3, repetitions=100, seed=number)
        over.append(mean / pair.limit(1e-3))
    assert 1.0 < float(np.exp(np.mean(np.log(over)))) < 1.6


def test_drawing_people_costs_a_few_times_what_their_random_numbers_cost() -> None:
    draws = 4_000_000

    def people(n: int, rng: np.random.Generator) -> dict[str, Any]:
        return {"group": rng.random(n), "x": rng.random(n)}

    def mine() -> None:
        claim = "P[prediction | group < 0.5] / P[prediction | group >= 0.5] >= 0.99999"
        given = {"delta": 1e-10, "budget": draws, "seed": 1}
        assert iso.check(claim, lambda batch: batch["x"] < 0.3, iso.Generator(people), **given).samples == draws

    def plain() -> None:
        rng = np.random.default_rng(0)
        for _ in range(draws // 2**18):
            rng.random(2**18), rng.random(2**18)

    assert plain_over_ours(mine, plain) > 1 / 20


def test_an_exact_check_of_a_table_costs_a_few_times_what_counting_costs() -> None:
    rng = np.random.default_rng(0)
    rows = 300_000
    table = {"sex": np.where(rng.random(rows) < 0.5, "F", "M").astype(object), "x": rng.random(rows)}
    claim = "P[prediction == 1 | sex == 'F'] / P[prediction == 1 | sex == 'M'] >= 0.8"

    def mine() -> None:
        assert iso.check(claim, lambda batch: (batch["x"] < 0.3).astype(int), iso.Census(table)).answer == "holds"

    def plain() -> None:
        hired = (table["x"] < 0.3).astype(int) == 1
        for sex in ("F", "M"):
            group = table["sex"] == sex
            np.count_nonzero(group), np.count_nonzero(group & hired)

    assert plain_over_ours(mine, plain) > 1 / 60


def test_many_intervals_are_found_together_and_not_one_by_one() -> None:
    rng = np.random.default_rng(0)
    size = np.full(300, 500.0)
    yes = rng.binomial(500, rng.random(300)).astype(float)
    one_by_one: list[tuple[float, float]] = []

    def plain() -> None:
        tallies = np.stack([size - yes, yes], axis=-1)
        one_by_one[:] = [mean_interval(np.asarray([0.0, 1.0]), tally, DELTA) for tally in tallies]

    assert plain_over_ours(lambda: anytime_interval(yes, size, DELTA), plain) > 13
    assert np.allclose(np.stack(anytime_interval(yes, size, DELTA), axis=-1), one_by_one, atol=1e-9)
