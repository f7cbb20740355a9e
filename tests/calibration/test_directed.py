"""Draws directed at a rare group, and draws with weights, keep the risk: they are exact draws of the group.

The truth is known by integration and lies on the boundary. All draws are made in one go and cut into repetitions, which
is the same as drawing each repetition by itself since they are independent. Acceptance as in :mod:`simulation`.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi2_contingency, norm
from simulation import Floats, assert_calibrated, batches, error_rate, most_errors, yes_no_process

import isonomia as iso
from isonomia.evidence.bets import EProcess, begin, step
from isonomia.populations.generator import Weighted
from isonomia.populations.protocol import Wanted, people
from isonomia.spec.parser import parse_condition
from isonomia.spec.tree import Do, Literal, Setting

REPETITIONS, PEOPLE = 8_000, 300
WOMEN, HIGH = parse_condition("sex < 1"), parse_condition("y > 4")
PROGRAM = iso.Program.of(
    """
def popModel():
    sex = step([(0, 1, 0.45), (1, 2, 0.55)])
    if sex < 1:
        y = gaussian(0, 1)
    else:
        y = gaussian(0, 9)
    z = gaussian(y, 1)
    sensitiveAttribute(sex < 1)
def F():
    fairnessTarget(z > 1)
"""
)
DIRECTED = PROGRAM.focused([WOMEN, HIGH])


def above(value: float) -> float:
    """The probability of ``z > value`` given ``y > 4``, by integrating over y in both branches."""
    ways = [(0.45, norm(0, 1)), (0.55, norm(0, 3))]
    both = sum(quad(lambda y, p=p, d=d: p * d.pdf(y) * norm.sf(value - y), 4, 40, epsabs=1e-12)[0] for p, d in ways)
    return float(both / sum(p * d.sf(4) for p, d in ways))


TRUE_WOMEN, TRUE_HIGH = float(norm(0, np.sqrt(2)).sf(0.5)), above(5.0)


@cache
def events(name: str) -> Floats:
    """Whether each of many directed people has the event: shape ``(repetitions, people)``."""
    condition, bound = (WOMEN, 0.5) if name == "women" else (HIGH, 5.0)
    stream = DIRECTED.streams.index(condition)
    source = DIRECTED.open(np.random.SeedSequence(0), Wanted(("sex", "y", "z")))
    drawn = source.batch(0, REPETITIONS * PEOPLE, np.random.default_rng([921, stream]), stream)
    return np.asarray(drawn.column("z") > bound).reshape(REPETITIONS, PEOPLE)


def peak_of(process: EProcess, channels: list[Floats]) -> Floats:
    state = begin(process, len(channels[0]))
    for start, stop in pairwise(np.cumsum([0, *batches(PEOPLE, single=20)]).tolist()):
        yes = np.stack([hit[:, start:stop].sum(axis=1) for hit in channels], axis=1).astype(float)
        state = step(process, state, np.stack([stop - start - yes, yes], axis=-1))
    return state.peak


def test_the_groups_are_drawn_directly_one_of_them_by_weights():
    assert {direction.exact for direction in DIRECTED.directions if direction is not None} == {True, False}
    assert None not in DIRECTED.directions


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("name", "rate"), [("women", TRUE_WOMEN), ("high", TRUE_HIGH)])
def test_bets_on_a_directed_group_keep_the_risk(name, rate, sign):
    assert_calibrated(peak_of(yes_no_process([[sign]], [sign * rate]), [events(name)]))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_bets_on_two_directed_groups_keep_the_risk(sign):
    process = yes_no_process([[sign, -sign]], [sign * (TRUE_WOMEN - TRUE_HIGH)])
    assert_calibrated(peak_of(process, [events("women"), events("high")]))


def test_directed_draws_whose_weights_are_ignored_exceed_the_risk():
    direction = DIRECTED.directions[DIRECTED.streams.index(HIGH)]
    assert direction is not None
    drawn = PROGRAM.world.draw(2_000 * PEOPLE, np.random.default_rng(922), ("sex", "y", "z"), {}, direction.directed)
    hits = np.asarray(drawn.columns["z"] > 5.0).reshape(2_000, PEOPLE)
    peaks = [peak_of(yes_no_process([[sign]], [sign * TRUE_HIGH]), [hits]) for sign in (1.0, -1.0)]
    assert max(int(np.sum(peak >= np.log(20.0))) for peak in peaks) > most_errors(2_000, 0.05)


def test_directed_people_would_have_been_like_those_who_were_waited_for():
    version = Do((Setting("sex", Literal(1.5)),))
    wanted = Wanted(("sex", "y", "z"), {version: ("y", "z")})
    table = []
    for population, rows, seed in ((DIRECTED, 20_000, 1), (PROGRAM, 300_000, 2)):
        source = population.open(np.random.SeedSequence(0), wanted)
        stream = population.streams.index(HIGH) if population is DIRECTED else 0
        drawn = people(source, wanted, 0, rows, np.random.default_rng([923, seed]), stream)
        kept = drawn[None].column("y") > 4
        columns = [
            drawn[None].column("sex"),
            drawn[None].column("z"),
            drawn[version].column("y"),
            drawn[version].column("z"),
        ]
        bounds = [1.0, 5.0, 4.5, 5.0]
        bits = [np.asarray(column[kept] > bound) for column, bound in zip(columns, bounds, strict=True)]
        assert all(np.isfinite(column[kept]).all() for column in columns)
        table.append(np.bincount(sum(bit * 2**k for k, bit in enumerate(bits)), minlength=16))
    counts = np.asarray(table)
    assert chi2_contingency(counts[:, counts.sum(axis=0) > 10]).pvalue > 1e-6


@pytest.mark.parametrize("direction", [">", "<"])
def test_a_check_of_directed_groups_errs_no_more_often_than_promised(direction):
    claim = f"P[z > 0.5 | sex < 1] - P[z > 5 | y > 4] {direction} {TRUE_WOMEN - TRUE_HIGH!r}"
    asked = {"population": PROGRAM, "delta": 0.02, "budget": 300, "method": "bets"}
    verdicts = [iso.check(claim, **asked, seed=seed) for seed in range(12)]
    assert sum(verdict.answer == "holds" for verdict in verdicts) <= most_errors(12, 0.02)
    assert any("drawn directly" in line for line in verdicts[0].remarks)


# ---------------------------------------------------------------------------- weights of one's own


def proposals(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Ten values alike, of which the k-th should come in proportion to k squared."""
    value = rng.integers(1, 11, size=n)
    return {"value": value, "w": value.astype(float) ** 2}


TRUE_LARGE = (81 + 100) / sum(k * k for k in range(1, 11))


@pytest.mark.parametrize("most", [100.0, 250.0])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_bets_on_weighted_draws_keep_the_risk(most, sign):
    drawn = Weighted(proposals, "w", most)(REPETITIONS * PEOPLE, np.random.default_rng(924))
    hits = (drawn["value"] >= 9).reshape(REPETITIONS, PEOPLE)
    assert_calibrated(peak_of(yes_no_process([[sign]], [sign * TRUE_LARGE]), [hits]))


def test_weighted_draws_whose_weights_are_ignored_exceed_the_risk():
    hits = (proposals(2_000 * PEOPLE, np.random.default_rng(925))["value"] >= 9).reshape(2_000, PEOPLE)
    assert error_rate(peak_of(yes_no_process([[-1.0]], [-TRUE_LARGE]), [hits]), 0.05) > 0.5


@pytest.mark.parametrize("direction", [">", "<"])
def test_a_check_of_weighted_draws_errs_no_more_often_than_promised(direction):
    population = iso.Generator(Weighted(proposals, "w", 100.0))
    claim = f"P[value >= 9] {direction} {TRUE_LARGE!r}"
    verdicts = [iso.check(claim, population=population, delta=0.02, seed=seed, budget=200) for seed in range(20)]
    assert sum(verdict.answer == "holds" for verdict in verdicts) <= most_errors(20, 0.02)
