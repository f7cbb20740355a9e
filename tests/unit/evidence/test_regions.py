"""Regions: numbers as well as rates, formulas that are not linear, several classes, and a search that runs out."""

from __future__ import annotations

import numpy as np
import pytest

from isonomia.evidence import confidence_sequences, hypotheses
from isonomia.evidence import region as boxes
from isonomia.evidence import region as module
from isonomia.evidence.bet_evidence import bets_for
from isonomia.evidence.confidence_sequences import log_evidence, mean_interval
from isonomia.evidence.hypotheses import HalfSpace, Polytope
from isonomia.evidence.protocol import LeafTally, independent_classes
from isonomia.evidence.region import Region, SearchEffort, decide, enclose_over, outside_polytope, region_for
from isonomia.spec.analysis import disjoint
from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import Column, Comparison, Leaf, Mean, Quantity, Rate, leaves_of

A, B, C = (Rate(Column("x"), Column(name)) for name in "abc")
NUMBER = Mean(Column("y"), Column("a"))
RATES: dict[Leaf, LeafTally] = {A: LeafTally((0.0, 1.0), (40.0, 60.0)), B: LeafTally((0.0, 1.0), (300.0, 100.0))}
NODES = tuple(np.linspace(0.0, 4.0, 9).tolist())
NUMBERS = LeafTally(NODES, (1.0, 5.0, 9.0, 20.0, 30.0, 20.0, 9.0, 5.0, 1.0))
TOGETHER = Region(RATES, ((A, B),), 0.05)
APART = Region(RATES, ((A,), (B,)), 0.05)


def quantity(text: str) -> Quantity:
    formula = parse_formula(f"{text} > 0")
    assert isinstance(formula, Comparison)
    return formula.first


def test_a_tally_knows_its_draws_and_its_mean() -> None:
    assert (RATES[A].n, RATES[A].mean) == (100.0, 0.6)
    assert LeafTally((2.0, 6.0), (0.0, 0.0)).mean == 4.0
    assert NUMBERS.mean == pytest.approx(2.0)


def test_a_threshold_is_the_risk_split_over_the_classes() -> None:
    assert TOGETHER.threshold == pytest.approx(np.log(20))
    assert APART.threshold == pytest.approx(np.log(40))
    assert TOGETHER.ranges == {A: (0.0, 1.0), B: (0.0, 1.0)}
    assert TOGETHER.centre == {A: 0.6, B: 0.25}


def test_the_interval_of_one_rate_is_its_own() -> None:
    expected = mean_interval(np.asarray([0.0, 1.0]), np.asarray([40.0, 60.0]), 0.05)
    assert TOGETHER.quantity_interval(A) == expected


def test_it_does_not_matter_in_which_unit_a_number_is_measured() -> None:
    product, found = quantity("P[x | a] * E[y | a]"), []
    for unit in (1.0, 1e40):
        region = Region({A: RATES[A], NUMBER: LeafTally((0.0, unit), (300.0, 100.0))}, ((A,), (NUMBER,)), 0.05)
        low, high = (end / unit for end in enclose_over(product, region))
        near, far = (
            Polytope((HalfSpace(((A, -1.0), (NUMBER, -1.0 / unit)), -bound),)) for bound in (high + 0.6, high + 0.85)
        )
        claim = parse_formula(f"P[x | a] * E[y | a] <= {1.01 * high * unit!r}")
        answers = decide(claim, region), outside_polytope(near, region), outside_polytope(far, region)
        found.append((low, high, *answers))
    assert found[1] == pytest.approx(found[0], rel=1e-6)
    assert found[0][2:] == (True, False, True)


def test_the_box_of_a_leaf_is_wider_than_its_interval() -> None:
    for leaf in (A, B):
        low, high = TOGETHER.interval(leaf)
        assert TOGETHER.box[leaf][0] < low < high < TOGETHER.box[leaf][1]


def test_what_a_number_spends_is_bounded_from_below_and_nearly_reached() -> None:
    region = Region({NUMBER: NUMBERS}, ((NUMBER,),), 0.05)
    values = np.linspace(*region.box[NUMBER], 57)
    spent = region.spent(NUMBER, values)
    tally = np.broadcast_to(np.asarray(NUMBERS.weights), (len(values), len(NODES)))
    price = region.allowance[NUMBER,] - region.threshold - module.MARGIN
    true = log_evidence(np.asarray(NODES), tally, values) + price
    assert (spent <= true + 1e-9).all()
    assert (spent >= true - 0.05).all()
    assert spent[[0, -1]] == pytest.approx([region.allowance[NUMBER,]] * 2, abs=0.05)
    assert region.spent(NUMBER, np.asarray([NUMBERS.mean])) == pytest.approx([0.0], abs=1e-9)


def test_a_product_is_enclosed_by_branch_and_bound() -> None:
    product = quantity("P[x | a] * P[x | b]")
    low, high = TOGETHER.quantity_interval(product)
    assert (low, high) == enclose_over(product, TOGETHER)
    grid = [np.linspace(*TOGETHER.box[leaf], 200) for leaf in (A, B)]
    a, b = (axis.ravel() for axis in np.meshgrid(*grid))
    inside = TOGETHER.spent(A, a) + TOGETHER.spent(B, b) <= TOGETHER.allowance[A, B]
    values = (a * b)[inside]
    assert low <= values.min()
    assert high >= values.max()
    assert (low, high) == pytest.approx((values.min(), values.max()), abs=2e-3)


def test_a_claim_that_is_not_linear_is_decided_by_branch_and_bound() -> None:
    formula = parse_formula("P[x | a] * P[x | b] >= 0.05")
    leaves = leaves_of(formula)
    ranges = dict.fromkeys(leaves, (0.0, 1.0))
    assert bets_for(formula, ranges, (None,), 0.05) is None
    evidence = region_for(formula, leaves, ranges, (None,), 0.05)
    assert evidence.method == "region"
    assert [remark.split(",")[0] for remark in evidence.remarks] == [
        "some leaves are informed by the same draws",
        "the formula is not linear in the unknown rates",
    ]
    state = evidence.begin()
    assert evidence.decision(state) is None
    tallies = {channel: np.asarray(RATES[channel.leaves[0]].weights) for channel in evidence.channels}
    assert evidence.decision(evidence.step(state, tallies)) is True
    assert region_for(parse_formula("P[x | a] >= 0.5"), (A,), {A: (0.0, 1.0)}, (None,), 0.05).remarks == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("P[x | a] * P[x | b] >= 0.05", True),
        ("P[x | a] * P[x | b] >= 0.14", None),
        ("P[x | a] * P[x | b] >= 0.30", False),
        ("P[x | a] ** 2 + P[x | b] ** 2 <= 0.8", True),
    ],
)
@pytest.mark.parametrize("region", [TOGETHER, APART], ids=["together", "apart"])
def test_a_formula_over_a_region_is_decided_where_every_point_agrees(
    text: str, expected: bool | None, region: Region
) -> None:
    assert decide(parse_formula(text), region) is expected


def test_a_search_that_runs_out_of_boxes_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    formula = parse_formula("P[x | a] * P[x | b] >= 0.085")
    assert decide(formula, TOGETHER) is True
    mixed = Region({**RATES, C: LeafTally((0.0, 1.0), (50.0, 50.0))}, ((A, B), (C,)), 0.05)
    near = Polytope((HalfSpace(((A, 1.0), (B, 1.0), (C, 1.0)), 0.9),))
    assert sum(low for low, _ in mixed.box.values()) < 0.9
    assert outside_polytope(near, mixed)
    monkeypatch.setattr(boxes, "MAX_BOXES", 0)
    assert decide(formula, TOGETHER) is None
    assert not outside_polytope(near, mixed)
    low, high = enclose_over(quantity("P[x | a] * P[x | b]"), TOGETHER)
    assert low < 0.15 < high
    monkeypatch.setattr(boxes, "MAX_BOXES", 20_000)
    monkeypatch.setattr(boxes, "MAX_ROUNDS", 1)
    assert decide(formula, TOGETHER) is None
    assert not outside_polytope(near, mixed)
    assert enclose_over(quantity("P[x | a] * P[x | b]"), TOGETHER)[0] <= low


def test_a_search_without_work_left_decides_nothing() -> None:
    formula = parse_formula("P[x | a] * P[x | b] >= 0.085")
    mixed = Region({**RATES, C: LeafTally((0.0, 1.0), (50.0, 50.0))}, ((A, B), (C,)), 0.05)
    near = Polytope((HalfSpace(((A, 1.0), (B, 1.0), (C, 1.0)), 0.9),))
    assert decide(formula, TOGETHER, SearchEffort(100_000)) is True
    assert decide(formula, TOGETHER, SearchEffort(10)) is None
    assert outside_polytope(near, mixed, SearchEffort(100_000))
    assert not outside_polytope(near, mixed, SearchEffort(10))


def test_a_polytope_is_refuted_across_classes_by_one_of_them_or_by_all() -> None:
    far = Polytope((HalfSpace(((A, 1.0),), 0.3), HalfSpace(((A, 1.0), (B, 1.0)), 2.0)))
    near = Polytope((HalfSpace(((A, 1.0),), 0.6), HalfSpace(((A, 1.0), (B, 1.0)), 2.0)))
    assert APART.refutes(far)
    assert not APART.refutes(near)
    assert APART.refutes(Polytope((HalfSpace(((A, 1.0), (B, -1.0)), -0.2),)))
    assert not APART.refutes(Polytope((HalfSpace(((A, 1.0), (B, -1.0)), 0.3),)))
    assert not APART.refutes(Polytope(()))
    assert TOGETHER.refutes(far)
    assert not TOGETHER.refutes(near)


def test_an_interval_across_classes_holds_the_one_that_adds_evidence() -> None:
    difference = quantity("P[x | a] - P[x | b]")
    low, high = TOGETHER.quantity_interval(difference)
    wide = APART.quantity_interval(difference)
    assert wide[0] < low < 0.35 < high < wide[1]


def test_a_search_for_an_end_that_is_cut_short_ends_where_it_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []

    def reach(step: float) -> float:
        seen.append(step)
        return step / 0.37

    full = confidence_sequences.crossing(reach, 1.0)
    assert 0.37 <= full <= 0.37 + 1e-6
    monkeypatch.setattr(confidence_sequences, "MAX_STEPS", 3)
    seen.clear()
    short = confidence_sequences.crossing(reach, 1.0)
    assert len(seen) == 3
    assert short == np.inf or (short in seen and short >= 0.37)


@pytest.mark.parametrize("region", [TOGETHER, APART], ids=["together", "apart"])
def test_where_the_worlds_of_a_value_cannot_be_written_down_it_is_not_refuted(
    region: Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    difference = quantity("P[x | a] - P[x | b]")
    assert region._relative_distance(difference, ">=", 0.9) > 1.0
    monkeypatch.setattr(hypotheses, "MAX_POLYTOPES", 0)
    assert region._relative_distance(difference, ">=", 0.9) == 0.0


def test_a_rate_and_a_number_share_a_region() -> None:
    women = Mean(Column("y"), Column("b"))
    region = Region({A: RATES[A], women: NUMBERS}, ((A, women),), 0.05)
    assert decide(parse_formula("P[x | a] * E[y | b] >= 0.5"), region) is True
    assert decide(parse_formula("P[x | a] * E[y | b] >= 2"), region) is False
    assert set(region._table) == {women}  # a rate's divergence is a formula
    low, high = region.quantity_interval(quantity("P[x | a] * E[y | b]"))
    assert low < 0.6 * 2.0 < high
    grid = np.meshgrid(np.linspace(*region.box[A], 150), np.linspace(*region.box[women], 150))
    a, y = (axis.ravel() for axis in grid)
    inside = region.spent(A, a) + region.spent(women, y) <= region.allowance[A, women]
    assert low <= (a * y)[inside].min()
    assert high >= (a * y)[inside].max()


def test_a_pulled_in_mean_has_half_an_imagined_draw_at_each_end() -> None:
    region = Region({A: RATES[A], NUMBER: NUMBERS, B: LeafTally((2.0, 6.0), (0.0, 0.0))}, ((A, NUMBER, B),), 0.05)
    assert region._pulled_in == pytest.approx({A: 60.5 / 101, NUMBER: 2.0, B: 4.0})


def test_a_polytope_of_two_sides_over_three_leaves_is_refuted_where_no_point_meets_both() -> None:
    mixed = Region({**RATES, C: LeafTally((0.0, 1.0), (50.0, 50.0))}, ((A, B), (C,)), 0.05)
    loose = HalfSpace(((A, 1.0), (B, 1.0), (C, 1.0)), 1.5)
    assert outside_polytope(Polytope((loose, HalfSpace(((A, 1.0), (C, 1.0)), 0.6))), mixed)
    assert outside_polytope(Polytope((HalfSpace(((A, 1.0), (C, 1.0)), 0.6), loose)), mixed)
    assert not outside_polytope(Polytope((loose, HalfSpace(((A, 1.0), (C, 1.0)), 1.2))), mixed)
    # Each side alone can be met, but not both: A + C <= 0.95 and A - C >= 0.25, so that 2 C <= 0.7.
    both = Polytope((HalfSpace(((A, 1.0), (C, 1.0)), 0.95), HalfSpace(((A, -1.0), (C, 1.0)), -0.25)))
    assert not any(outside_polytope(Polytope((side,)), mixed) for side in both.half_spaces)
    assert outside_polytope(both, mixed) == (mixed.box[C][0] > 0.35)


def test_a_formula_of_too_many_cases_says_so_and_not_that_it_is_not_linear() -> None:
    either = " and ".join(f"(P[x | a] >= 0.{k} or P[x | b] >= 0.{k})" for k in range(1, 10))
    formula = parse_formula(" and ".join([either, "(P[x | c] >= 0.2 or P[x | a] >= 0.25)"] * 2))
    ranges = dict.fromkeys(leaves_of(formula), (0.0, 1.0))
    (remark,) = region_for(formula, leaves_of(formula), ranges, (None,), 0.05).remarks[-1:]
    assert "cases" in remark
    assert "not linear" not in remark
    product = parse_formula("P[x | a] * P[x | b] >= 0.2")
    (remark,) = region_for(product, leaves_of(product), ranges, (None,), 0.05).remarks[-1:]
    assert "not linear" in remark


def test_a_quantity_of_constants_has_its_value_as_interval() -> None:
    low, high = Region({}, (), 0.05).quantity_interval(quantity("1 / 3"))
    assert low <= 1 / 3 <= high
    assert high - low < 1e-15


def test_many_rates_that_overlap_are_tested_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look costs as much as there are rates, not as there are pairs, and the effort suffices for all of them."""
    many = 1_500
    formula = parse_formula(" and ".join(f"P[x > {k}] >= 0.2" for k in range(many)))
    leaves = leaves_of(formula)
    evidence = region_for(formula, leaves, dict.fromkeys(leaves, (0.0, 1.0)), [None], 0.05)
    assert len(evidence.classes) == many
    calls = []
    before = Region._distance
    monkeypatch.setattr(Region, "_distance", lambda *given: calls.append(1) or before(*given))
    state = evidence.begin()
    assert evidence.step(state, {channel: np.asarray([5.0, 5.0]) for channel in evidence.channels}).answer is None
    assert len(calls) <= 1
    answer = evidence.step(state, {channel: np.asarray([500.0, 500.0]) for channel in evidence.channels}).answer
    assert answer is True
    assert len(calls) <= many + 1


def test_classes_are_the_same_whichever_way_they_are_found() -> None:
    """As by comparing every leaf with all members of every class."""
    texts = ["x", "x | a", "x | not a", "y", "y | a", "x | a and b", "y | not b", "z | not a", "x | b"]
    leaves = leaves_of(parse_formula(" and ".join(f"P[{text}] >= 0.5" for text in texts)))
    classes: list[list[Leaf]] = []
    for leaf in leaves:
        room = (group for group in classes if all(disjoint(other.given, leaf.given) for other in group))
        home = next(room, None)
        classes.append([leaf]) if home is None else home.append(leaf)
    assert independent_classes(leaves, [None]) == tuple(map(tuple, classes))
