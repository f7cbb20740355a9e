"""Overlapping groups: channels, crossed channels, tickets, and the game that is played slice by slice."""

from __future__ import annotations

import numpy as np
import pytest

from isonomia.errors import SpecError
from isonomia.evidence.bet_evidence import BetEvidence, Table, bets_for, open_table, plain_game, play_round
from isonomia.evidence.bets import Game, begin
from isonomia.evidence.channels import Channel, channels_for, crossed_channel, leaf_channel, stream_of
from isonomia.evidence.planning import best_shares, split
from isonomia.evidence.slices import FINE, FIRST, MOST, SliceGame, SliceState, begin_slices, play, step_slices
from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import Column, Leaf, Rate
from isonomia.spec.walk import leaves_of

A, B = Rate(Column("x"), Column("a")), Rate(Column("y"), Column("b"))


def bets(claim: str, delta: float = 0.01, **options: object) -> BetEvidence:
    formula = parse_formula(claim)
    found = bets_for(formula, dict.fromkeys(leaves_of(formula), (0.0, 1.0)), (None,), delta, **options)  # type: ignore[arg-type]
    assert found is not None
    return found


def sliced(claim: str, delta: float = 0.01) -> tuple[Table, SliceGame]:
    (table,) = bets(claim, delta).against
    assert isinstance(table.game, SliceGame)
    return table, table.game


def cells(table: Table) -> list[tuple[int, ...]]:
    (channel,) = table.channels
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
    assert [(channel.stream, channel.ticket) for channel in channels] == [(0, None), (1, None)]
    assert crossed_channel((A, B), streams, ranges) is None
    crossed = crossed_channel((A, B), (None,), ranges)
    assert crossed is not None
    assert (crossed.given, crossed.crossing, crossed.leaves) == (None, (Column("a"), Column("b")), (A, B))
    assert crossed.grid.size == 16


def test_a_crossing_that_needs_too_many_cells_is_left_to_tickets() -> None:
    leaves = tuple(Rate(Column("x"), Column(f"g{k}")) for k in range(6))
    assert crossed_channel(leaves, (None,), dict.fromkeys(leaves, (0.0, 1.0))) is None
    chain = " and ".join(f"P[x | g{k}] >= 0.5 * P[x | g{k + 1}]" for k in range(5))
    found = bets(f"not ({chain})")
    assert all(isinstance(table.game, Game) for table in found.against)


def test_equal_channels_are_one_key() -> None:
    one, other = (leaf_channel(A, (None,), {}) for _ in range(2))
    assert one is not other
    assert {one: 1}[other] == 1
    assert one != leaf_channel(B, (None,), {})


# ---------------------------------------------------------------------------- tables


def test_a_game_belongs_to_its_state_and_slices_have_no_fixed_payoffs() -> None:
    table, game = sliced("P[x | a] >= 0.8 * P[y | b]")
    state = open_table(table)
    assert isinstance(state, SliceState)
    assert game.needed == pytest.approx(np.log(100))
    with pytest.raises(TypeError, match="no fixed payoffs"):
        plain_game(table)
    plain = bets("P[x | a] >= 0.5").against[0]
    assert plain_game(plain) is plain.game
    with pytest.raises(TypeError, match="belongs to the game"):
        play_round(plain, state, {})


def test_overlapping_groups_are_neither_sliced_nor_ticketed_without_replacement() -> None:
    formula = parse_formula("P[x | a] >= 0.8 * P[y | b]")
    ranges: dict[Leaf, tuple[float, float]] = dict.fromkeys((A, B), (0.0, 1.0))
    assert bets_for(formula, ranges, (None,), 0.01, dict.fromkeys((A, B), 100.0)) is None
    apart = parse_formula("P[x | a] >= 0.8 * P[x | not a]")
    leaves = leaves_of(apart)
    found = bets_for(
        apart, dict.fromkeys(leaves, (0.0, 1.0)), (None,), 0.01, dict(zip(leaves, (100.0, 50.0), strict=True))
    )
    assert found is not None
    table = found.against[0]
    sizes = plain_game(table).sizes.tolist()
    assert {channel.leaves[0]: size for channel, size in zip(table.channels, sizes, strict=True)} == dict(
        zip(leaves, (100, 50), strict=True)
    )
    assert found.remarks == ("rows were drawn without replacement and the bets say what is left",)


def test_remarks_say_how_overlaps_were_kept_apart() -> None:
    claim = "P[x | a] >= 0.8 * P[y | b]"
    assert ["one bet on all of them together, made for each" in remark for remark in bets(claim).remarks] == [True]
    assert ["one of 2 random tickets" in remark for remark in bets(claim, slices=False).remarks] == [True]
    (remark,) = bets("P[x | a] >= 0.8 * P[y | a]").remarks
    assert remark.startswith("several leaves share a group")
    assert bets("P[x | a] >= 0.8").remarks == ()
    assert bets("P[x | a] >= 0.8").method == "bets"


def test_the_leaf_that_most_sides_name_is_sliced() -> None:
    (table,) = bets("P[x | a] >= 0.5 * P[y | b] or P[x | a] >= 0.4 * P[x | c]").against
    assert isinstance(table.game, SliceGame)
    (channel,) = table.channels
    values = channel.grid.values()
    inside = values[:, channel.crossing.index(Column("a"))]
    shown = values[:, len(channel.crossing) + channel.leaves.index(A)]
    assert np.array_equal(table.game.present, inside)
    assert np.array_equal(table.game.value, inside * shown)


def test_three_groups_in_one_side_cannot_be_sliced() -> None:
    assert all(isinstance(table.game, Game) for table in bets("P[x | a] + P[x | b] >= P[x | c]").against)


def test_a_side_about_the_sliced_leaf_alone_stays_as_it_is() -> None:
    (table,) = bets("P[x | a] >= 0.5 * P[y | b] or P[x | a] >= 0.25").against
    game = table.game
    assert isinstance(game, SliceGame)
    alone = int(np.flatnonzero(game.slopes == 0)[0])
    assert game.bounds[alone] == pytest.approx(0.25)
    inside = np.asarray([cell[0] for cell in cells(table)])
    assert np.array_equal(game.members[alone], inside)
    assert np.array_equal(game.others[alone], inside * np.asarray([cell[2] for cell in cells(table)]))


# ---------------------------------------------------------------------------- slices


def test_slices_start_equal_and_cover_the_range() -> None:
    _, game = sliced("P[x | a] >= 0.8 * P[y | b]")
    state = begin_slices(game)
    assert state.low.tolist() == [k / FIRST for k in range(FIRST)]
    assert np.array_equal(state.high[:-1], state.low[1:])
    assert state.high[-1] == 1.0
    assert not state.log_wealth.any()
    assert not state.peak.any()


def test_what_a_draw_pays_is_what_its_cell_contributes() -> None:
    _, game = sliced("P[x | a] >= 0.8 * P[y | b]")
    low, high = 0.25, 0.375
    (side, at_least, at_most) = game.payoffs(np.asarray([low]), np.asarray([high]))[0, :, 0, :]
    (slope,), (bound,) = game.slopes.tolist(), game.bounds.tolist()
    for place in range(len(game.prior)):
        assert at_least[place] == pytest.approx(game.present[place] * low - game.value[place])
        assert at_most[place] == pytest.approx(game.value[place] - game.present[place] * high)
        end = min(slope * low, slope * high)
        assert side[place] == pytest.approx(game.others[0, place] - game.members[0, place] * (bound - end))


def test_the_game_against_a_ratio_reads_both_groups_off_each_cell() -> None:
    table, game = sliced("P[x | a] >= 0.8 * P[y | b]")
    a, b, x, y = np.asarray(cells(table), dtype=float).T
    # What is bet against is x <= 0.8 y; one of the two rates is sliced and the other stays.
    if np.array_equal(game.present, a):
        largest, kept, members = max(1.0, 0.8), -0.8 * b * y, b
        assert np.array_equal(game.value, a * x)
        assert game.slopes.tolist() == [1.0 / largest]
    else:
        largest, kept, members = 1.0, a * x, a
        assert np.array_equal(game.value, b * y)
        assert game.slopes.tolist() == [-0.8]
    assert game.others[0] == pytest.approx(kept / largest)
    assert np.array_equal(game.members[0], members)
    assert game.bounds.tolist() == [0.0]
    assert game.span == (0.0, 1.0)


@pytest.mark.parametrize("seed", range(6))
def test_one_draw_is_a_fair_bet_against_the_slice_that_holds_the_truth(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table, game = sliced("P[x | a] >= 0.8 * P[y | b]")
    order = cells(table)
    checked = 0
    while checked < 40:
        truth = rng.dirichlet(np.full(len(order), 0.3))
        rate = [sum(p * c[g] * c[2 + g] for p, c in zip(truth, order, strict=True)) for g in (0, 1)]
        size = [sum(p * c[g] for p, c in zip(truth, order, strict=True)) for g in (0, 1)]
        if min(size) == 0 or rate[0] / size[0] > 0.8 * rate[1] / size[1]:
            continue  # not in the polytope that is bet against
        own = float(truth @ game.value / (truth @ game.present))
        low, high = max(0.0, own - rng.uniform(0, 0.1)), min(1.0, own + rng.uniform(0, 0.1))
        tally = rng.multinomial(rng.integers(1, 60), rng.dirichlet(np.ones(len(order)))).astype(float)
        draws = np.eye(len(order))
        ends = np.full(len(order), low), np.full(len(order), high)
        gains = play(game, ends, np.broadcast_to(tally, draws.shape), draws)[1]
        assert truth @ np.exp(gains) <= 1.0 + 1e-9
        checked += 1


def test_the_first_batch_is_not_bet_on_and_slices_narrow_with_the_draws_that_inform_them() -> None:
    table, game = sliced("P[x | a] >= 0.8 * P[y | b]", 1e-9)
    order = cells(table)
    counts = np.zeros(len(order))
    counts[order.index((1, 1, 1, 0))] = 60.0
    counts[order.index((1, 1, 0, 1))] = 40.0
    counts[order.index((0, 0, 0, 0))] = 900.0
    once = step_slices(game, begin_slices(game), counts)
    assert not once.log_wealth.any()
    assert np.array_equal(once.tally, counts)
    assert (once.high - once.low).max() <= FINE / np.sqrt(100.0)
    assert (once.high - once.low).min() > 0.5 * FINE / np.sqrt(100.0)
    assert len(once.low) <= MOST
    assert (once.high - once.low).sum() == pytest.approx(1.0)


def test_slices_are_no_longer_split_where_there_are_as_many_as_may_be() -> None:
    table, game = sliced("P[x | a] >= 0.8 * P[y | b]", 1e-300)
    counts = np.zeros(len(game.prior))
    counts[cells(table).index((1, 1, 1, 1))] = 1e8
    state = step_slices(game, begin_slices(game), counts)
    assert len(state.low) == MOST
    assert np.unique(state.high - state.low).tolist() == [1 / MOST]


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
    _, game = sliced("P[x | a] >= 0.8 * P[y | b]")
    state = begin_slices(game)
    nothing = state.rows(np.zeros(FIRST, dtype=bool), state.tally)
    assert nothing.peak.tolist() == [np.inf]
    some = state.rows(np.asarray([1, 3]), state.tally + 1.0)
    assert some.low.tolist() == [1 / FIRST, 3 / FIRST]
    assert some.tally.tolist() == [1.0] * len(game.prior)


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
    (table,) = bets(f"P[x | a] >= 0.8 * P[y | b] and {alone} <= 0.5").in_favour
    assert isinstance(table.game, SliceGame)
    shown = [row["ab".index(leaf.given.name)] for row in cells(table)]  # type: ignore[union-attr]
    assert table.game.present.tolist() == shown


# ---------------------------------------------------------------------------- allocation


def test_shares_stay_even_where_groups_are_sliced_or_nothing_is_to_be_won() -> None:
    assert best_shares(bets("P[x | a] >= 0.8 * P[y | b]"), {A: 0.9, B: 0.1}, 2).tolist() == [0.5, 0.5]
    tie = bets("P[x | a] >= 0.5")
    assert best_shares(tie, {A: 0.5}, 3).tolist() == [1 / 3] * 3
    certain = bets("P[x | a] >= -1")
    assert best_shares(certain, {A: 0.5}, 2).tolist() == [0.5, 0.5]


def test_one_stream_gets_everything() -> None:
    assert split(7, np.asarray([1.0]), 3).tolist() == [7]
    assert split(10, np.asarray([0.25, 0.75]), 0).tolist() == [2, 8]
    assert split(10, np.asarray([0.25, 0.75]), 10).tolist() == [3, 7]


def test_a_game_starts_with_a_wealth_of_one_for_each_repetition() -> None:
    state = begin(Game.of([[np.asarray([0.0, 1.0])]], [0.5], [np.ones(2)]), 3)
    assert state.log_wealth.tolist() == state.peak.tolist() == [0.0] * 3
    assert state.tally.shape == (3, 1, 2)
    assert not state.tally.any()


def test_a_channel_remembers_everything_that_tells_it_apart() -> None:
    one = leaf_channel(A, (None,), {})
    other = Channel(one.given, one.stream, one.ticket, one.leaves, one.grid, (Column("a"),))
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
    (table,) = found.against
    game = table.game
    assert isinstance(game, SliceGame)
    assert game.span == (2.0, 6.0)
    state = step_slices(game, begin_slices(game), np.where(game.present > 0, 1.0, 0.0))
    informed = float(game.present.sum())
    assert state.low.min() == 2.0
    assert state.high.max() == 6.0
    assert 0.5 * FINE * 4.0 / np.sqrt(informed) < (state.high - state.low).max() <= FINE * 4.0 / np.sqrt(informed)
