"""Pairs of people: a second, independent person in a leaf's event, in its condition, or in one leaf of several.

One draw is a pair, and it may inform two leaves that speak of different persons of it. Whether the person is a woman
and whether the other one is a woman are not disjoint, so such leaves are bet on together. The simulation follows the
slice that holds the truth, as in ``test_slices``, with the cells counted by the audit's own reader. Acceptance as in
:mod:`simulation`.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.stats import chisquare
from simulation import (
    REPETITIONS,
    Floats,
    assert_calibrated,
    batches,
    error_rate,
    most_errors,
    true_slice_peaks,
    yes_no_process,
)

import isonomia as iso
from isonomia.audits.rates.counting import BatchReader
from isonomia.evidence.bet_evidence import BetEvidence, bets_for
from isonomia.evidence.bets import begin, step
from isonomia.evidence.slices import SlicedEProcess
from isonomia.populations.finite import WithReplacement
from isonomia.populations.protocol import Wanted, people
from isonomia.populations.table import Table
from isonomia.spec.evaluate import Batch
from isonomia.spec.operators import other, pair_function
from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import Leaf, Other, leaves_of

# Who there is: (f, y) and its probability. Women have the event rarely.
WHO = {(True, True): 0.15, (True, False): 0.35, (False, True): 0.3, (False, False): 0.2}

CLAIMS = {
    "each leaf about one person of the pair": "P[y | f] - P[other.y | not other.f]",
    "one event, conditions on either person": "P[y and not other.y | f] - P[y and not other.y | other.f]",
    "an event of both, given one and given both": "P[y and other.y | f] - P[other.y | f and other.f]",
}


@cache
def every_pair() -> tuple[Batch, Floats]:
    """All sixteen kinds of pairs as a batch, and how probable each is."""
    kinds = list(product(WHO, WHO))
    first, second = (
        Batch(len(kinds), {"f": np.asarray([k[i][0] for k in kinds]), "y": np.asarray([k[i][1] for k in kinds])})
        for i in (0, 1)
    )
    batch = Batch(len(kinds), first.columns, versions={Other(): second})
    return batch, np.asarray([WHO[one] * WHO[two] for one, two in kinds])


def true_rate(leaf: Leaf) -> float:
    """The leaf's value over all pairs, by summing their probabilities."""
    batch, probabilities = every_pair()
    reader = BatchReader(batch, str)
    inside, event = reader.members(leaf.given), reader._values(leaf)
    inside = np.ones(batch.rows, dtype=bool) if inside is None else inside
    return float(probabilities @ (inside & event) / (probabilities @ inside))


@cache
def evidence_on_the_boundary(name: str) -> BetEvidence:
    one, two = leaves_of(parse_formula(f"{CLAIMS[name]} >= 0"))
    formula = parse_formula(f"{CLAIMS[name]} >= {true_rate(one) - true_rate(two)!r}")
    evidence = bets_for(formula, dict.fromkeys(leaves_of(formula), (0.0, 1.0)), (None,), 1e-9)
    assert evidence is not None
    return evidence


def cells_of_pairs(evidence: BetEvidence) -> Floats:
    """For each kind of pair the cell that it is counted in: shape ``(pairs, cells)``."""
    batch, _ = every_pair()
    (channel,) = evidence.channels
    rows = [BatchReader(_one_pair(batch, row), str).tally(channel, None) for row in range(batch.rows)]
    return np.asarray(rows)


def _one_pair(batch: Batch, row: int) -> Batch:
    first, second = (
        {name: column[[row]] for name, column in part.columns.items()} for part in (batch, batch.versions[Other()])
    )
    return Batch(1, first, versions={Other(): Batch(1, second)})


@cache
def true_slice_peak(name: str, side: str) -> Floats:
    evidence = evidence_on_the_boundary(name)
    (test,) = getattr(evidence, side)
    process, where, probabilities = test.process, cells_of_pairs(evidence), every_pair()[1]
    assert isinstance(process, SlicedEProcess), "groups that overlap, so slices"
    truth = float(probabilities @ where @ process.value / (probabilities @ where @ process.present))
    return true_slice_peaks(
        process,
        truth,
        lambda rng, size, rows: rng.multinomial(size, probabilities, size=rows) @ where,
        batches(900, single=5, first=8, growth=0.4),
        np.random.default_rng(911),
        REPETITIONS,
    )


@pytest.mark.parametrize("name", CLAIMS)
def test_leaves_about_different_persons_of_a_pair_keep_the_risk(name):
    assert_calibrated(
        true_slice_peak(name, "against" if name != "each leaf about one person of the pair" else "in_favour")
    )


def test_a_wealth_twice_as_large_as_promised_would_be_noticed():
    peak = 2.0 * true_slice_peak("one event, conditions on either person", "against")
    assert np.sum(peak >= np.log(100.0)) > most_errors(REPETITIONS, 0.01)


# ---------------------------------------------------------------------------- the rows of a sample


def both_have_it(rows: np.ndarray, *, twice: bool) -> Floats:
    """Peaks of bets on ``P[y and other.y] <= 0.49`` when it is 0.49; each row used once, or in two pairs."""
    hit = rows[:, :-1] & rows[:, 1:] if twice else rows[:, 0::2] & rows[:, 1::2]
    edges = np.cumsum([0, *batches(hit.shape[1] - 50, single=20, growth=0.1)])
    process = yes_no_process([[1.0]], [0.49])
    state = begin(process, len(rows))
    for start, stop in pairwise(edges.tolist()):
        yes = hit[:, start:stop].sum(axis=1).astype(float)
        state = step(process, state, np.stack([stop - start - yes, yes], axis=-1)[:, None])
    return state.peak


def test_disjoint_pairs_keep_the_risk_and_rows_used_twice_do_not():
    rows = np.random.default_rng(912).random((REPETITIONS, 1_200), dtype=np.float32) < 0.7
    assert_calibrated(both_have_it(rows, twice=False))
    assert error_rate(both_have_it(rows, twice=True), 0.05) > 0.06
    assert error_rate(both_have_it(rows, twice=True), 0.01) > 0.0135


@pytest.mark.parametrize("rows", [2, 3, 100, 101])
def test_a_sample_uses_each_row_in_one_pair_at_most(rows):
    seen: list[tuple[float, float]] = []

    def noted(person, second):
        seen.extend(zip(person["number"].tolist(), second["number"].tolist(), strict=True))
        return np.zeros(len(person["number"]))

    sample = iso.Sample({"number": np.arange(float(rows))})
    claim = iso.P(pair_function(noted, ["number"]) > 0) >= 0.0005
    verdict = iso.check(claim, population=sample, delta=1e-9, seed=3)
    used = [number for pair in seen for number in pair]
    assert len(used) == len(set(used)) == 2 * (rows // 2)
    assert verdict.samples == rows // 2


def test_a_check_of_a_sample_in_pairs_errs_no_more_often_than_promised():
    errors, delta, runs = 0, 0.2, 150
    for seed in range(runs):
        rng = np.random.default_rng([913, seed])
        verdict = iso.check(
            "P[y and other.y] > 0.49", population=iso.Sample({"y": rng.random(300) < 0.7}), delta=delta, seed=seed
        )
        errors += verdict.answer == "holds"
    assert errors <= most_errors(runs, delta)


# ---------------------------------------------------------------------------- the pairs of a census


QUESTIONS = [
    "P[x > other.x] - P[y == 1 | g == 'a'] >= 0",
    "P[prediction == other.prediction | g == 'a'] >= 0.5",
    "P[prediction > other.x | other.g == 'b'] >= 0.5",
    "P[x >= other.x | g == 'a' and other.g == 'b'] / P[other.x == 1 | other.g == 'a'] >= 1",
    "E[abs(x - other.x) from 0 to 9 | g != other.g] >= 1",
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_census_counts_every_ordered_pair(question):
    rng = np.random.default_rng(914)
    table = {"x": rng.integers(0, 4, size=13), "y": rng.integers(0, 2, size=13), "g": rng.choice(["a", "b"], size=13)}
    first, second = np.divmod(np.arange(13 * 13), 13)
    doubled = {name: column[first] for name, column in table.items()}
    doubled |= {f"other_{name}": column[second] for name, column in table.items()}
    doubled |= {"prediction": 2 * doubled["x"] % 3, "other_prediction": 2 * doubled["other_x"] % 3}
    written = iso.check(question.replace("other.", "other_"), population=iso.Census(doubled))
    counted = iso.check(question, lambda people: 2 * np.asarray(people["x"]) % 3, iso.Census(table))
    assert counted.answer == written.answer
    assert [(leaf.n, leaf.estimate) for leaf in counted.leaves] == [(leaf.n, leaf.estimate) for leaf in written.leaves]


def test_sampled_pairs_of_a_census_are_any_two_rows_independently():
    source, wanted = WithReplacement(Table.of({"x": np.arange(4)})), Wanted(versions={Other(): None})
    drawn = people(source, wanted, 0, 160_000, np.random.default_rng(915), 0)
    first, second = drawn[None].column("x"), drawn[Other()].column("x")
    assert chisquare(np.bincount(4 * first + second, minlength=16)).pvalue > 1e-6
    neighbours = 4 * second[:-1] + first[1:]
    assert chisquare(np.bincount(neighbours, minlength=16)).pvalue > 1e-6


def test_a_census_with_too_many_pairs_to_count_is_sampled_for_as_long_as_it_takes():
    census = iso.Census({"x": np.random.default_rng(916).random(2**18 + 3)})
    verdict = iso.check("P[x > other.x] >= 0.48", population=census, delta=1e-6, seed=1)
    assert (verdict.answer, verdict.method) == ("holds", "bets")
    short = iso.check("P[x > other.x] >= 0.49999", population=census, seed=1, budget=300_000, delta=1e-9)
    assert (short.answer, short.samples) == ("undecided", 300_000)


@pytest.mark.parametrize(
    ("budget", "samples", "method"), [(150, 150, "bets"), (199, 199, "bets"), (200, 10_100, "exact")]
)
def test_everybody_is_counted_in_the_end_only_where_the_budget_allows_it(budget, samples, method):
    census = iso.Census({"x": np.arange(100.0)}, exact=False)
    verdict = iso.check("P[x > other.x] >= 0.495", population=census, delta=1e-9, seed=1, budget=budget)
    assert (verdict.samples, verdict.method, verdict.counted) == (samples, method, "pairs")
    assert verdict.stopped == ("the budget of samples is spent" if method == "bets" else "all rows were counted")


# ---------------------------------------------------------------------------- whom the second person stands for


def test_a_second_person_is_drawn_from_everybody_although_the_first_is_of_a_rare_group():
    world = iso.Causal(
        {"g": iso.Categories({"rare": 0.03, "usual": 0.97}), "y": "gaussian(3 if g == 'rare' else 0, 1)"}
    )
    claim = "P[other.y > 1.5 | g == 'rare'] <= 0.5"
    assert iso.check(claim, population=world, seed=1).answer == "holds"
    assert iso.check("P[y > 1.5 | g == 'rare'] <= 0.5", population=world, seed=1).answer == "violated"


def test_a_stream_of_one_group_has_no_second_person_from_everybody():
    streams = iso.Generator(
        {
            "g == 'a'": lambda n, rng: {"g": np.full(n, "a"), "y": rng.random(n)},
            "g == 'b'": lambda n, rng: {"g": np.full(n, "b"), "y": 1 + rng.random(n)},
        }
    )
    with pytest.raises(iso.SpecError, match="both persons"):
        iso.check("P[other.y > 1 | g == 'a'] <= 0.1", population=streams, seed=1)
    within = iso.check("P[y > other.y | g == 'a' and other.g == 'a'] >= 0.3", population=streams, seed=1)
    assert within.answer == "holds"


def test_a_column_that_only_the_second_person_needs_is_drawn():
    world = iso.Causal({"x": "gaussian(0, 1)", "y": "gaussian(0, 1)"})
    verdict = iso.check(iso.P(other("y") > 3) <= 0.2, population=world, seed=1)
    assert verdict.answer == "holds"
