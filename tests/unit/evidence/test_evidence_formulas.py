"""Small direct claims about hypotheses, channels, regions and the three ways of deciding."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from isonomia.errors import SpecError
from isonomia.evidence.bet_evidence import bets_for
from isonomia.evidence.hypotheses import denominators_of, hypothesis_of
from isonomia.evidence.protocol import LeafTally, channels_for, independent_classes
from isonomia.evidence.region import Region, decide, region_for
from isonomia.evidence.verifair import verifair_for
from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import Column, Mean, Rate, nodes
from raising import raises

A, B, C = (Rate(Column("x"), Column(name)) for name in "abc")
UNIT = dict.fromkeys((A, B, C), (0.0, 1.0))


def leaves_of(formula):
    return tuple(dict.fromkeys(node for node in nodes(formula) if isinstance(node, Rate | Mean)))


def pieces(text, positive):
    return hypothesis_of(parse_formula(text), UNIT, positive=positive)


def sides(hypothesis):
    return sorted(len(polytope.half_spaces) for polytope in hypothesis.polytopes)


# ---------------------------------------------------------------------------- hypotheses


@pytest.mark.parametrize(
    ("text", "true", "false"),
    [
        ("P[x | a] / P[x | b] >= 0.8", [1], [1]),
        ("abs(P[x | a] - P[x | b]) <= 0.1", [2], [1, 1]),
        ("max(P[x | a], P[x | b]) - min(P[x | a], P[x | b]) <= 0.1", [2], [1, 1]),
        ("0.2 <= P[x | a] <= 0.4", [2], [1, 1]),
        ("P[x | a] >= 0.5 and P[x | b] >= 0.5", [2], [1, 1]),
        ("not (P[x | a] >= 0.5 and P[x | b] >= 0.5)", [1, 1], [2]),
        ("P[x | a] >= 0.5 ==> P[x | b] >= 0.5", [1, 1], [2]),
        ("P[x | a] / (P[x | a] - P[x | b]) >= 2", [2, 2], [2, 2]),
        ("P[x | a] >= 0.5 and P[x | a] >= 0.5", [1], [1]),
        ("P[x | a] >= 0.5 or (P[x | a] >= 0.5 and P[x | b] >= 0.5)", [1], [1]),
        ("P[x | a] >= 0.5 and P[x | b] >= 0.5 or P[x | b] >= 0.5 and P[x | a] >= 0.5", [2], [1, 1]),
        ("P[x | a] <= 1", [0], [1]),
        ("P[x | a] >= -0.5", [0], []),
    ],
)
def test_a_formula_becomes_a_union_of_polytopes(text, true, false):
    hypotheses = [pieces(text, positive) for positive in (True, False)]
    if text.startswith(("abs", "max")):
        # Where neither side is above the other both cases say the same of one boundary.
        assert all(len(polytope.half_spaces) <= 2 for h in hypotheses for polytope in h.polytopes)
    assert [sides(h) for h in hypotheses] == [true, false]


def test_a_product_of_unknown_rates_is_left_to_the_region():
    assert pieces("P[x | a] * P[x | b] >= 0.1", True) is None


def test_two_denominators_of_unknown_sign_are_left_to_the_region():
    one, two = "(P[x | a] - P[x | b])", "(P[x | a] - P[x | c])"
    assert pieces(f"1 / {one} + 1 / {two} >= 3", True) is None
    assert pieces(f"1 / {one} >= 3 and 1 / {two} >= 3", True) is not None


def test_a_denominator_repeated_on_both_sides_is_cleared_as_often_as_it_stands():
    assert pieces("P[x | a] / P[x | b] < P[x | a] / P[x | b] / P[x | b]", True) is None
    assert sides(pieces("P[x | a] / P[x | b] < 2 * P[x | c] / P[x | b]", True)) == [1]


def test_a_tie_does_not_vanish_by_rounding():
    # 0.7 + 0.1 is a little less than 0.8 in floating point; a rate of 1 still makes the claim true.
    hypothesis = pieces("0.7 * P[x | a] + 0.1 * P[x | a] >= 0.8", True)
    assert len(hypothesis.polytopes) == 1


def test_denominators_that_can_be_zero_are_listed():
    formula = parse_formula("P[x | a] / P[x | b] >= 0.8 and P[x | a] / (P[x | a] - P[x | b]) >= 1")
    assert denominators_of(formula, UNIT) == ({(B,): 1.0},)


def test_a_division_by_a_constant_zero_is_refused():
    with raises(SpecError, 0, at="P[x | a] / (P[x | b] - P[x | b])"):
        pieces("P[x | a] / (P[x | b] - P[x | b]) >= 1", True)


# ---------------------------------------------------------------------------- channels


def leaves(text):
    return leaves_of(parse_formula(text))


@pytest.mark.parametrize(
    ("text", "streams", "expected"),
    [
        ("P[x | s == 'F'] >= P[x | s == 'M']", [None], [None, None]),
        ("P[x | s == 'F'] >= P[x | r == 'B']", [None], [0, 1]),
        ("P[x | s == 'F'] >= P[x]", [None], [0, 1]),
        ("P[x | s == 'F'] >= P[y | s == 'F']", [None], [None]),
    ],
)
def test_only_groups_that_may_overlap_get_folds(text, streams, expected):
    found = leaves(text)
    channels = channels_for(found, streams, dict.fromkeys(found, (0.0, 1.0)))
    assert [channel.fold and channel.fold.index for channel in channels] == expected


def test_evidence_is_added_over_disjoint_groups_only():
    assert len(independent_classes(leaves("P[x | s == 'F'] >= P[x | s == 'M']"), [None])) == 1
    assert len(independent_classes(leaves("P[x | s == 'F'] >= P[y | s == 'F']"), [None])) == 2
    assert len(independent_classes(leaves("P[x | s == 'F'] >= P[x]"), [None])) == 2


def test_too_many_leaves_of_one_group_are_left_to_the_region():
    text = " + ".join(f"P[x{k} == 1 | s == 'F']" for k in range(11)) + " <= 3"
    found = leaves(text)
    assert bets_for(parse_formula(text), dict.fromkeys(found, (0.0, 1.0)), [None], 0.05) is None


# ---------------------------------------------------------------------------- regions


def region(tallies, *classes, delta=0.05):
    made = {leaf: LeafTally((0.0, 1.0), (float(no), float(yes))) for leaf, (no, yes) in tallies.items()}
    return Region(made, classes or (tuple(made),), delta)


def test_a_rate_never_seen_may_still_be_zero():
    # Nothing was seen of it: the region holds 0, and claims about it are decided accordingly.
    seen = region({A: (100, 0)})
    assert decide(parse_formula("P[x | a] * P[x | a] > 0.5"), seen) is False
    assert decide(parse_formula("P[x | a] * P[x | a] < 0.5"), seen) is True
    assert decide(parse_formula("P[x | a] * P[x | a] > 0"), seen) is None


def test_a_group_without_draws_decides_nothing():
    seen = region({A: (500, 500), B: (0, 0)})
    assert seen.interval(B) == (0.0, 1.0)
    assert decide(parse_formula("P[x | a] * P[x | b] >= 0.1"), seen) is None
    assert not any(seen.refutes(p) for p in pieces("P[x | a] >= 0.8 * P[x | b]", False).polytopes)


def test_the_whole_space_is_never_refuted():
    seen = region({A: (10_000, 0)})
    (everything,) = pieces("P[x | a] <= 1", True).polytopes
    assert not seen.refutes(everything)


def test_a_quantity_interval_holds_the_estimate_and_shrinks():
    ratio = parse_formula("P[x | a] / P[x | b] >= 0.8").first
    widths = []
    for n in (100, 10_000):
        low, high = region({A: (0.6 * n, 0.4 * n), B: (0.5 * n, 0.5 * n)}).quantity_interval(ratio)
        assert low < 0.8 < high
        widths.append(high - low)
    assert widths[1] < 0.2 * widths[0]


def test_splitting_the_risk_widens_what_is_kept():
    ratio = parse_formula("P[x | a] / P[x | b] >= 0.8").first
    tallies = {A: (600, 400), B: (500, 500)}
    together, apart = region(tallies), region(tallies, (A,), (B,))
    one, other = together.quantity_interval(ratio), apart.quantity_interval(ratio)
    assert other[0] <= one[0] + 1e-3
    assert other[1] >= one[1] - 1e-3


def test_a_tiny_risk_with_several_leaves_stays_finite():
    others = {Rate(Column("x"), Column(f"g{k}")): (5e8, 5e8) for k in range(6)}
    seen = region({A: (4e8, 6e8), B: (5e8, 5e8), **others}, delta=1e-300)
    assert decide(parse_formula("P[x | a] * P[x | b] >= 0.1"), seen) is True


# ---------------------------------------------------------------------------- the three ways


def run(evidence, tallies, rounds=40):
    state = evidence.begin()
    for _ in range(rounds):
        batch = {channel: np.asarray(tallies[channel.leaves[0]], dtype=float) for channel in evidence.channels}
        state = evidence.step(state, batch)
    return evidence, state


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("P[x | a == 1] / P[x | a == 2] >= 0.8", True),
        ("P[x | a == 1] / P[x | a == 2] <= 0.8", False),
        ("not P[x | a == 1] < P[x | a == 2]", True),
        ("P[x | a == 2] >= 0.9 ==> P[x | a == 1] <= 0.1", True),
        # The divisor is 0.3 at least, but what the larger one is taken of can be negative, as it is here.
        ("P[x | a == 1] / max(P[x | a == 2] - 0.9, 0.3) >= 0.8", True),
    ],
)
def test_every_way_of_deciding_gives_the_same_answer(text, expected):
    formula = parse_formula(text)
    found = leaves_of(formula)
    ranges = dict.fromkeys(found, (0.0, 1.0))
    tallies = {leaf: (30, 70) if "1" in repr(leaf.given) else (60, 40) for leaf in found}
    ways = [
        bets_for(formula, ranges, [None], 1e-3),
        region_for(formula, found, ranges, [None], 1e-3),
        verifair_for(formula, found, ranges, [None], 1e-3),
    ]
    for way in ways:
        evidence, state = run(way, tallies)
        assert way.decision(way.begin()) is None
        assert way.decision(state) is expected, way.method
        assert evidence.progress(state) == 1.0


def test_a_claim_that_cannot_fail_needs_no_draws():
    formula = parse_formula("P[x] >= -0.5")
    evidence = bets_for(formula, dict.fromkeys(leaves_of(formula), (0.0, 1.0)), [None], 1e-3)
    assert evidence.decision(evidence.begin()) is True


def test_a_claim_at_the_edge_of_the_box_waits_for_draws():
    formula = parse_formula("P[x] >= 1")
    evidence = bets_for(formula, dict.fromkeys(leaves_of(formula), (0.0, 1.0)), [None], 1e-3)
    (leaf,) = leaves_of(formula)
    assert evidence.decision(evidence.begin()) is None
    assert evidence.decision(run(evidence, {leaf: (0, 1000)})[1]) is None
    assert evidence.decision(run(evidence, {leaf: (1, 1000)})[1]) is False


def test_a_channel_that_comes_from_another_process_is_found_among_those_of_this_one():
    # Texts have other hashes there, and a channel keeps its own.
    (channel,) = channels_for((A,), (None,), UNIT)
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    code = "import pickle, sys; from isonomia.evidence.protocol import channels_for; "
    code += "c, a, u = pickle.load(sys.stdin.buffer); sys.exit(0 if c in set(channels_for((a,), (None,), u)) else 1)"
    sent = pickle.dumps((channel, A, UNIT))
    assert pickle.loads(sent)[0] == channel
    assert subprocess.run([sys.executable, "-c", code], input=sent, env=environment, check=False).returncode == 0
