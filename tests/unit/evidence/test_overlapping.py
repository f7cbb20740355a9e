"""Overlapping groups: channels, crossed channels, folds, and the process that is played slice by slice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from isonomia.engine.loop import Plan
from isonomia.errors import SpecError
from isonomia.evidence.bet_evidence import BetEvidence, PolytopeTest, bets_for
from isonomia.evidence.bets import EProcess, begin
from isonomia.evidence.planning import best_shares
from isonomia.evidence.protocol import Channel, channels_for, crossed_channel, leaf_channel, stream_of
from isonomia.evidence.slices import (
    FIRST_SLICES,
    MAX_SLICES,
    SPLIT_WIDTH,
    SlicedEProcess,
    SlicedWealth,
    begin_slices,
    bet_on_slices,
    step_slices,
)
from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import Column, Leaf, Rate, leaves_of

A, B = Rate(Column("x"), Column("a")), Rate(Column("y"), Column("b"))


def bets(claim: str, delta: float = 0.01, **options: object) -> BetEvidence:
    formula = parse_formula(claim)
    found = bets_for(formula, dict.fromkeys(leaves_of(formula), (0.0, 1.0)), (None,), delta, **options)  # type: ignore[arg-type]
    assert found is not None
    return found


def sliced(claim: str, delta: float = 0.01) -> tuple[PolytopeTest, SlicedEProcess]:
    (test,) = bets(claim, delta).against
    assert isinstance(test.process, SlicedEProcess)
    return test, test.process


def cells(test: PolytopeTest) -> list[tuple[int, ...]]:
    (channel,) = test.channels
    return cells_of(channel)


def cells_of(channel: Channel) -> list[tuple[int, ...]]:
    """Each cell of a crossed channel as (in a, in b, x, y)."""
    names = [given.name for given in channel.crossing] + [leaf.event.name for leaf in channel.leaves]  # type: ignore[union-attr]
    places = [names.index(name) for name in "abxy"]
    return [tuple(int(row[k]) for k in places) for row in channel.grid.values()]


# ---------------------------------------------------------------------------- channels


def test_a_leaf_is_read_from_the_first_stream_whose_condition_is_part_of_its_own() -> None:
    formula = parse_formula("P[x | a and b] > P[x | c]")
    both, other = leaves_of(formula)
    assert stream_of(both, [Column("c"), Column("b"), None]) == 1
    assert stream_of(other, [Column("a"), Column("b"), None]) == 2
    assert stream_of(other, [Column("a")]) is None
    with pytest.raises(SpecError, match="no stream of the population can give this leaf's group"):
        leaf_channel(other, [Column("a")], {})


def test_groups_of_different_streams_overlap_in_no_draw_and_are_not_crossed() -> None:
    ranges: dict[Leaf, tuple[float, float]] = dict.fromkeys((A, B), (0.0, 1.0))
    streams = (Column("a"), Column("b"))
    channels = channels_for((A, B), streams, ranges)
    assert channels is not None
    assert [(channel.stream, channel.fold) for channel in channels] == [(0, None), (1, None)]
    assert crossed_channel((A, B), streams, ranges) is None
    crossed = crossed_channel((A, B), (None,), ranges)
    assert crossed is not None
    assert (crossed.given, crossed.crossing, crossed.leaves) == (None, (Column("a"), Column("b")), (A, B))
    assert crossed.grid.size == 16


def test_a_crossing_that_needs_too_many_cells_is_left_to_folds() -> None:
    leaves = tuple(Rate(Column("x"), Column(f"g{k}")) for k in range(6))
    assert crossed_channel(leaves, (None,), dict.fromkeys(leaves, (0.0, 1.0))) is None
    chain = " and ".join(f"P[x | g{k}] >= 0.5 * P[x | g{k + 1}]" for k in range(5))
    found = bets(f"not ({chain})")
    assert all(isinstance(test.process, EProcess) for test in found.against)


def test_equal_channels_are_one_key() -> None:
    one, other = (leaf_channel(A, (None,), {}) for _ in range(2))
    assert one is not other
    assert {one: 1}[other] == 1
    assert one != leaf_channel(B, (None,), {})


# ---------------------------------------------------------------------------- tests


def test_a_state_belongs_to_its_e_process_and_slices_have_no_fixed_payoffs() -> None:
    test, process = sliced("P[x | a] >= 0.8 * P[y | b]")
    state = test.begin()
    assert isinstance(state, SlicedWealth)
    assert process.needed == pytest.approx(np.log(100))
    with pytest.raises(TypeError, match="no fixed payoffs"):
        _ = test.unsliced
    plain = bets("P[x | a] >= 0.5").against[0]
    assert plain.unsliced is plain.process
    with pytest.raises(TypeError, match="belongs to the e-process"):
        plain.step(state, {})


def test_overlapping_groups_are_neither_sliced_nor_split_into_folds_without_replacement() -> None:
    formula = parse_formula("P[x | a] >= 0.8 * P[y | b]")
    ranges: dict[Leaf, tuple[float, float]] = dict.fromkeys((A, B), (0.0, 1.0))
    assert bets_for(formula, ranges, (None,), 0.01, dict.fromkeys((A, B), 100.0)) is None
    apart = parse_formula("P[x | a] >= 0.8 * P[x | not a]")
    leaves = leaves_of(apart)
    found = bets_for(
        apart, dict.fromkeys(leaves, (0.0, 1.0)), (None,), 0.01, dict(zip(leaves, (100.0, 50.0), strict=True))
    )
    assert found is not None
    test = found.against[0]
    sizes = test.unsliced.sizes.tolist()
    assert {channel.leaves[0]: size for channel, size in zip(test.channels, sizes, strict=True)} == dict(
        zip(leaves, (100, 50), strict=True)
    )
    assert found.remarks == ("rows were drawn without replacement, and the bets are about the remaining rows",)


def test_remarks_say_how_overlaps_were_kept_apart() -> None:
    claim = "P[x | a] >= 0.8 * P[y | b]"
    assert ["one bet on all of them together, made for each" in remark for remark in bets(claim).remarks] == [True]
    assert ["one of 2 random folds" in remark for remark in bets(claim, slices=False).remarks] == [True]
    (remark,) = bets("P[x | a] >= 0.8 * P[y | a]").remarks
    assert remark.startswith("several leaves share a group")
    assert bets("P[x | a] >= 0.8").remarks == ()
    assert bets("P[x | a] >= 0.8").method == "bets"


def test_the_leaf_that_most_sides_name_is_sliced() -> None:
    (test,) = bets("P[x | a] >= 0.5 * P[y | b] or P[x | a] >= 0.4 * P[x | c]").against
    assert isinstance(test.process, SlicedEProcess)
    (channel,) = test.channels
    values = channel.grid.values()
    inside = values[:, channel.crossing.index(Column("a"))]
    shown = values[:, len(channel.crossing) + channel.leaves.index(A)]
    assert np.array_equal(test.process.present, inside)
    assert np.array_equal(test.process.value, inside * shown)


def test_three_groups_in_one_side_cannot_be_sliced() -> None:
    assert all(isinstance(test.process, EProcess) for test in bets("P[x | a] + P[x | b] >= P[x | c]").against)


def test_a_side_about_the_sliced_leaf_alone_stays_as_it_is() -> None:
    (test,) = bets("P[x | a] >= 0.5 * P[y | b] or P[x | a] >= 0.25").against
    process = test.process
    assert isinstance(process, SlicedEProcess)
    alone = int(np.flatnonzero(process.slopes == 0)[0])
    assert process.bounds[alone] == pytest.approx(0.25)
    inside = np.asarray([cell[0] for cell in cells(test)])
    assert np.array_equal(process.members[alone], inside)
    assert np.array_equal(process.others[alone], inside * np.asarray([cell[2] for cell in cells(test)]))


# ---------------------------------------------------------------------------- slices


def test_slices_start_equal_and_cover_the_range() -> None:
    _, process = sliced("P[x | a] >= 0.8 * P[y | b]")
    state = begin_slices(process)
    assert state.ends[:, 0].tolist() == [k / FIRST_SLICES for k in range(FIRST_SLICES)]
    assert np.array_equal(state.ends[:-1, 1], state.ends[1:, 0])
    assert state.ends[-1, 1] == 1.0
    assert not state.log_wealth.any()
    assert not state.peak.any()


def test_the_e_process_against_a_ratio_reads_both_groups_off_each_cell() -> None:
    test, process = sliced("P[x | a] >= 0.8 * P[y | b]")
    a, b, x, y = np.asarray(cells(test), dtype=float).T
    # What is bet against is x <= 0.8 y; one of the two rates is sliced and the other stays.
    if np.array_equal(process.present, a):
        largest, kept, members = max(1.0, 0.8), -0.8 * b * y, b
        assert np.array_equal(process.value, a * x)
        assert process.slopes.tolist() == [1.0 / largest]
    else:
        largest, kept, members = 1.0, a * x, a
        assert np.array_equal(process.value, b * y)
        assert process.slopes.tolist() == [-0.8]
    assert process.others[0] == pytest.approx(kept / largest)
    assert np.array_equal(process.members[0], members)
    assert process.bounds.tolist() == [0.0]
    assert process.span == (0.0, 1.0)


def in_one_slice(process: SlicedEProcess, ends: tuple[float, float], copies: int) -> SlicedWealth:
    """Nothing seen, in so many copies of one slice."""
    state = begin_slices(process)
    state = state.rows(np.zeros(copies, dtype=np.intp), state.tally)
    return replace(state, ends=np.tile(ends, (copies, 1)))


def test_within_a_slice_a_bettor_has_no_less_than_at_the_poorer_end() -> None:
    _, process = sliced("P[x | a] >= 0.8 * P[y | b]")
    rng, state = np.random.default_rng(4), in_one_slice(process, (0.2, 0.3), 1)
    finer = [in_one_slice(process, (at, at), 1) for at in np.linspace(0.2, 0.3, 21)]
    tally, wealths = np.zeros((1, len(process.prior))), np.zeros(len(finer))
    for _ in range(60):
        counts = rng.multinomial(8, rng.dirichlet(np.full(len(process.prior), 0.5)))[None].astype(float)
        stakes, gains = bet_on_slices(process, state, tally, counts)
        state = replace(state, bettors=state.bettors + gains, stakes=stakes)
        # The same stakes at every value within: the bettor who follows the estimate is the last.
        shown = process.others - process.members * process.bounds[:, None]
        for k, at in enumerate(finer):
            value = float(at.ends[0, 0])
            pays = stakes[0, 0] @ np.stack(
                [shown[0] + value * process.members[0] * process.slopes[0], process.present * value - process.value]
            )
            wealths[k] += np.log(1.0 + pays) @ counts[0] if tally.any() else 0.0
        tally = tally + counts
        assert wealths.min() >= state.bettors[0, :, -1].min() - 1e-9
        assert wealths[10] >= state.bettors[0, :, -1].mean() - 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_one_draw_is_a_fair_bet_against_the_slice_that_holds_the_truth(seed: int) -> None:
    rng = np.random.default_rng(seed)
    test, process = sliced("P[x | a] >= 0.8 * P[y | b]")
    order = cells(test)
    checked = 0
    while checked < 40:
        truth = rng.dirichlet(np.full(len(order), 0.3))
        rate = [sum(p * c[g] * c[2 + g] for p, c in zip(truth, order, strict=True)) for g in (0, 1)]
        size = [sum(p * c[g] for p, c in zip(truth, order, strict=True)) for g in (0, 1)]
        if min(size) == 0 or rate[0] / size[0] > 0.8 * rate[1] / size[1]:
            continue  # not in the polytope that is bet against
        own = float(truth @ process.value / (truth @ process.present))
        low, high = max(0.0, own - rng.uniform(0, 0.1)), min(1.0, own + rng.uniform(0, 0.1))
        tally = rng.multinomial(rng.integers(1, 60), rng.dirichlet(np.ones(len(order)))).astype(float)
        draws = np.eye(len(order))
        for ends in ((low, high), (own, own)):
            state = in_one_slice(process, ends, len(order))
            for _ in range(3):  # the stakes of the bettor who follows the estimate come from earlier rounds
                stakes, gains = bet_on_slices(process, state, np.broadcast_to(tally, draws.shape), draws)
                state = replace(state, stakes=stakes)
                assert (truth @ np.exp(gains.min(axis=1)) <= 1.0 + 1e-9).all()
        checked += 1


def test_the_first_batch_is_not_bet_on_and_slices_narrow_with_the_draws_that_inform_them() -> None:
    test, process = sliced("P[x | a] >= 0.8 * P[y | b]", 1e-9)
    order = cells(test)
    counts = np.zeros(len(order))
    counts[order.index((1, 1, 1, 0))] = 60.0
    counts[order.index((1, 1, 0, 1))] = 40.0
    counts[order.index((0, 0, 0, 0))] = 900.0
    once = step_slices(process, begin_slices(process), counts)
    assert not once.log_wealth.any()
    assert np.array_equal(once.tally, counts)
    widths = np.diff(once.ends)
    assert widths.max() <= SPLIT_WIDTH / np.sqrt(100.0)
    assert widths.min() > 0.5 * SPLIT_WIDTH / np.sqrt(100.0)
    assert len(widths) <= MAX_SLICES
    assert widths.sum() == pytest.approx(1.0)


def test_slices_are_no_longer_split_where_there_are_as_many_as_may_be() -> None:
    test, process = sliced("P[x | a] >= 0.8 * P[y | b]", 1e-300)
    counts = np.zeros(len(process.prior))
    counts[cells(test).index((1, 1, 1, 1))] = 1e8
    state = step_slices(process, begin_slices(process), counts)
    assert len(state.ends) == MAX_SLICES
    assert np.unique(np.diff(state.ends)).tolist() == [1 / MAX_SLICES]


@pytest.mark.parametrize(("yes", "expected"), [((70, 30), True), ((20, 80), False), ((44, 56), None)])
def test_a_claim_about_overlapping_groups_is_decided_rightly(yes: tuple[int, int], expected: bool | None) -> None:
    evidence = bets("P[x | a] >= 0.8 * P[y | b]", 1e-3)
    rates = [(1 - n / 100, n / 100) for n in yes]
    tallies = {
        channel: np.asarray([a * b * 100 * rates[0][x] * rates[1][y] for a, b, x, y in cells_of(channel)])
        for channel in evidence.channels
    }
    state = evidence.begin()
    for _ in range(8):
        state = evidence.step(state, tallies)
    assert evidence.decision(state) is expected
    assert evidence.progress(state) == (1.0 if expected is not None else pytest.approx(evidence.progress(state)))
    assert 0.0 <= evidence.progress(state) <= 1.0


def test_once_every_slice_is_refuted_the_peak_is_without_end() -> None:
    _, process = sliced("P[x | a] >= 0.8 * P[y | b]")
    state = begin_slices(process)
    nothing = state.rows(np.zeros(FIRST_SLICES, dtype=bool), state.tally)
    assert nothing.peak.tolist() == [np.inf]
    some = state.rows(np.asarray([1, 3]), state.tally + 1.0)
    assert some.ends[:, 0].tolist() == [1 / FIRST_SLICES, 3 / FIRST_SLICES]
    assert some.tally.tolist() == [1.0] * len(process.prior)


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("P[x | s == 'F'] + P[y | s == 'F'] >= P[x | s == 'M']", True),
        ("P[x | s == 'F'] + P[y | s == 'F'] >= 1", True),
        ("P[x | s == 'F'] >= P[x | s == 'M']", False),
        ("P[x | a] >= 0.8 * P[y | b]", False),
    ],
)
def test_it_is_said_where_some_group_has_several_leaves(claim: str, said: bool) -> None:
    assert any("several leaves share a group" in remark for remark in bets(claim).remarks) is said


@pytest.mark.parametrize(("alone", "leaf"), [("P[x | a]", A), ("P[y | b]", B)])
def test_of_two_leaves_that_could_be_sliced_it_is_the_one_that_more_sides_name(alone: str, leaf: Rate) -> None:
    (test,) = bets(f"P[x | a] >= 0.8 * P[y | b] and {alone} <= 0.5").in_favour
    assert isinstance(test.process, SlicedEProcess)
    shown = [row["ab".index(leaf.given.name)] for row in cells(test)]  # type: ignore[union-attr]
    assert test.process.present.tolist() == shown


# ---------------------------------------------------------------------------- allocation


def test_shares_stay_even_where_groups_are_sliced_or_nothing_is_to_be_won() -> None:
    assert best_shares(bets("P[x | a] >= 0.8 * P[y | b]"), {A: 0.9, B: 0.1}, 2).tolist() == [0.5, 0.5]
    tie = bets("P[x | a] >= 0.5")
    assert best_shares(tie, {A: 0.5}, 3).tolist() == [1 / 3] * 3
    certain = bets("P[x | a] >= -1")
    assert best_shares(certain, {A: 0.5}, 2).tolist() == [0.5, 0.5]


def test_one_stream_gets_everything() -> None:
    assert Plan(0, 3, 7, (1.0,)).by_stream() == [7]
    assert Plan(0, 0, 10, (0.25, 0.75)).by_stream() == [2, 8]
    assert Plan(1, 10, 10, (0.25, 0.75)).by_stream() == [3, 7]


def test_an_e_process_starts_with_a_wealth_of_one_for_each_repetition() -> None:
    state = begin(EProcess.of([[np.asarray([0.0, 1.0])]], [0.5], [np.ones(2)]), 3)
    assert state.log_wealth.tolist() == state.peak.tolist() == [0.0] * 3
    assert state.tally.shape == (3, 1, 2)
    assert not state.tally.any()


def test_a_channel_remembers_everything_that_tells_it_apart() -> None:
    one = leaf_channel(A, (None,), {})
    other = Channel(one.given, one.stream, one.fold, one.leaves, one.grid, (Column("a"),))
    assert one != other
    assert hash(one) != hash(other)


def test_a_stream_that_tells_nothing_keeps_a_fiftieth_of_an_even_share() -> None:
    formula = parse_formula("P[x | s == 'F'] >= 0.2")
    (leaf,) = leaves_of(formula)
    found = bets_for(formula, {leaf: (0.0, 1.0)}, (leaf.given, Column("m")), 1e-3)
    assert found is not None
    shares = best_shares(found, {leaf: 0.5}, 2)
    assert shares.sum() == pytest.approx(1.0)
    assert 0.95 * 0.5 / 50 <= shares[1] <= 1.2 * 0.5 / 50


def test_slices_of_a_number_are_as_fine_as_its_range_and_its_draws_ask() -> None:
    formula = parse_formula("E[x | a] >= 0.8 * E[y | b]")
    leaves = leaves_of(formula)
    found = bets_for(formula, dict.fromkeys(leaves, (2.0, 6.0)), (None,), 1e-9)
    assert found is not None
    (test,) = found.against
    process = test.process
    assert isinstance(process, SlicedEProcess)
    assert process.span == (2.0, 6.0)
    state = step_slices(process, begin_slices(process), np.where(process.present > 0, 1.0, 0.0))
    informed = float(process.present.sum())
    assert state.ends.min() == 2.0
    assert state.ends.max() == 6.0
    widest = SPLIT_WIDTH * 4.0 / np.sqrt(informed)
    assert 0.5 * widest < np.diff(state.ends).max() <= widest
