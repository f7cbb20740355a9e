"""How sharp answers are, beside what they were, the best methods known and what anyone could reach.

    python -m benchmarks.sharper [--tables 40] [--boundary 2000] [--only NAME ...] [--json FILE]

One table. *Before* is an earlier version; *best known* is a method of others on the same numbers; *limit* is what no
method can pass. Each measurement yields its lines, so a new one is a function here. ``--boundary`` is how many runs
with the truth on the boundary are made for evidence of its own: the share that errs must be at most the risk.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from math import log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr
from scipy.stats import t

import isonomia as iso
from benchmarks import safety_models
from benchmarks.limit import PAIRS, Optimum, Pair, by_bets, mean_draws
from benchmarks.principal import DELTAS, TABLE_4, stopping_times
from benchmarks.safety_peers import by_hypothesis, where_costly
from isonomia.audits.measure.limits import MEDIAN, IntervalMethod
from isonomia.audits.measure.ordered import HeldScores
from isonomia.engine.loop import Schedule
from isonomia.evidence.bets import EProcess, begin, step
from isonomia.evidence.binomial import lower_limit, planned_lower_limit
from isonomia.evidence.confidence_sequences import mean_ends
from isonomia.evidence.deadline import DeadlineDraws, DeadlineTest, batch_sizes
from isonomia.evidence.fair_worlds import fair_set
from isonomia.evidence.identified.bets import certified_distance
from isonomia.evidence.inversion import Inversion, inversion_for
from isonomia.evidence.looks import LookPlan
from isonomia.evidence.median_shares import share_above_limit
from isonomia.evidence.one_look import RateFraction, lower_end
from isonomia.evidence.planning import limit
from isonomia.evidence.protocol import Grid, Tallies, grid_for
from isonomia.evidence.strata.worlds import TableShape, definition_effects
from isonomia.spec.parser import parse_formula
from isonomia.spec.tree import Comparison, leaves_of

Floats = NDArray[np.float64]

PEOPLE, DELTA = 2_000, 0.05


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the table; ``before``, ``best`` and ``limit`` are empty where there is nothing to compare with."""

    what: str
    new: str
    before: str = ""
    best: str = ""
    limit: str = ""
    aim: str = ""


def against_everyone(
    share: float, rates: tuple[float, float], rng: np.random.Generator
) -> tuple[Inversion, list[Tallies]]:
    """A table of which a share is in the group, in the batches of a check; rates of the group and of the others."""
    formula = parse_formula("P[y | a] - P[y] >= 0")
    assert isinstance(formula, Comparison)
    inverted = inversion_for(formula.first, dict.fromkeys(leaves_of(formula), (0.0, 1.0)), (None,))
    assert inverted is not None
    (channel,), total, history = inverted.channels, 0, []
    while total < PEOPLE:
        n = min(Schedule().size(total, 0.5), PEOPLE - total)
        total += n
        inside = rng.random(n) < share
        yes = rng.random(n) < np.where(inside, *rates)
        shown = [yes if leaf.given is None else yes & inside for leaf in channel.leaves]
        history.append({channel: channel.grid.tally([inside, *shown])})
    return inverted, history


def group_against_everyone(tables: int, boundary: int) -> Iterator[Line]:
    """The interval of P[y | a] - P[y] at any look, over the asymptotic one for a single look."""
    said = {0.5: ("5.7", "1.9"), 0.1: ("5.7", "2.2")}
    for share, (before, aim) in said.items():
        rates = 0.4, 0.5
        truth = (1 - share) * (rates[0] - rates[1])
        spread = sum(rate * (1 - rate) / part for rate, part in zip(rates, (share, 1 - share), strict=True))
        error, widths = (1 - share) * sqrt(spread / PEOPLE), []
        for seed in range(tables):
            inverted, history = against_everyone(share, rates, np.random.default_rng(seed))
            low, high = inverted.interval(history, DELTA, (truth, error), (-1.0, 1.0))
            widths.append((high - low) / (2 * 1.96 * error))
        what = f"interval of a group of {share:.0%} against everyone, any look: width over the asymptotic one"
        yield Line(what, f"{np.mean(widths):.2f}", before, "", "1", f"at most {aim}")
    for share, rates in ((0.5, (0.4, 0.5)), (0.03, (0.3, 0.02)), (0.3, (0.97, 0.99))):
        truth, errors = (1 - share) * (rates[0] - rates[1]), np.zeros(2)
        for seed in range(boundary):
            inverted, history = against_everyone(share, rates, np.random.default_rng(seed))
            paths = inverted.paths(history)
            errors += [paths(np.asarray([truth]), above)[-1, 0] >= log(1 / DELTA) for above in (False, True)]
        what = (
            f"its ends miss the truth at any of its looks: a group of {share:.0%}, rates {rates[0]:g} and {rates[1]:g}"
        )
        if boundary:
            found = " and ".join(f"{100 * count / boundary:.1f}" for count in errors)
            yield Line(what, f"{found} in a hundred of {boundary:,}", aim=f"at most {100 * DELTA:g}")


NUMBERS: dict[str, tuple[Callable[[np.random.Generator, int], Floats], float]] = {
    "beta(2, 3)": (lambda rng, n: rng.beta(2, 3, n), 0.4),
    "a tenth 1, the rest below 0.1": (lambda rng, n: np.where(rng.random(n) < 0.1, 1.0, 0.1 * rng.random(n)), 0.145),
    "2% 1, the rest 0": (lambda rng, n: (rng.random(n) < 0.02).astype(float), 0.02),
    "97% 1, the rest 0": (lambda rng, n: (rng.random(n) < 0.97).astype(float), 0.97),
    "four values": (lambda rng, n: 0.25 * rng.integers(0, 4, n), 0.375),
}
"""Numbers from 0 to 1, and their means."""

EACH = 0.025
"""The risk of each limit, so that intervals are beside 95% intervals."""


def deadline_test(
    draws: Floats, groups: NDArray[np.bool_] | None, members: Sequence[Sequence[float]] | None, at: float, risk: float
) -> DeadlineTest:
    """Of one mean, or of a difference: of two groups, or, with cells of counted draws, of groups that overlap."""
    sizes = np.cumsum(list(batch_sizes(len(draws))))[:-1]
    difference = RateFraction(0.0, (1.0, -1.0))
    if members is not None:
        counts = [np.bincount(part.astype(int), minlength=4) for part in np.split(draws, sizes)]
        inside = np.asarray(members)
        shown = DeadlineDraws(np.asarray(counts, dtype=float), inside, inside * [[0.0], [1.0], [0.0], [1.0]], False)
        return DeadlineTest(shown, difference, risk, risk, at)
    grid = grid_for([(0.0, 1.0)])
    assert grid is not None
    nodes = np.asarray(grid.nodes[0])
    parts = [np.ones(len(draws), dtype=bool)] if groups is None else [groups, ~groups]
    batches = [
        np.asarray([grid.tally([x[m]]) for x, m in zip(np.split(draws, sizes), np.split(part, sizes), strict=True)])
        for part in parts
    ]
    shown = DeadlineDraws.separate(batches, [nodes] * len(parts))
    return DeadlineTest(shown, difference if len(parts) > 1 else RateFraction(0.0, (1.0,)), risk, risk, at)


def missed(what: str, tests: Iterator[tuple[DeadlineTest, float, float]], boundary: int) -> Iterator[Line]:
    """How often the truth is refuted, and how often an interval that is 20% narrower misses it, which has to show."""
    if not boundary:
        return
    errors = narrower = 0
    for (test, truth, estimate), _ in zip(tests, range(boundary), strict=False):
        errors += test.rejects(truth)
        narrower += estimate - 0.8 * (estimate - test.limit()) > truth
    said = (
        f"{100 * errors / boundary:.1f} in a hundred of {boundary:,}; {100 * narrower / boundary:.1f} if 20% narrower"
    )
    yield Line(f"one look misses the truth: {what}", said, aim=f"at most {100 * DELTA:g}, and more if narrower")


def one_mean(tables: int, boundary: int) -> Iterator[Line]:
    """The lower limit of a mean at one look, over that of the t interval; before: stakes that do not see the end."""
    for n, aim in ((100, ""), (400, "at most 1.08"), (1_600, "")):
        for name, (draw, _) in list(NUMBERS.items())[:2]:
            rng, widths = np.random.default_rng(n), []
            for _ in range(tables):
                draws = draw(rng, n)
                error = float(t.isf(EACH, n - 1)) * draws.std(ddof=1) / sqrt(n)
                test = deadline_test(draws, None, None, 0.5, EACH)
                nodes = np.linspace(0.0, 1.0, test.draws.counts.shape[1])
                grid = grid_for([(0.0, 1.0)])
                assert grid is not None
                old = np.asarray([grid.tally([part]) for part in np.array_split(draws, min(n, 128))])
                ends = test.limit(), mean_ends(nodes, old, EACH)[0]
                widths.append([(draws.mean() - end) / error for end in ends])
            new, before = np.mean(widths, axis=0)
            what = f"one mean of {n:,} numbers ({name}), one look: over the t interval"
            yield Line(what, f"{new:.2f}", f"{before:.2f}", "1 (t, not guaranteed)", "", aim)
    for name, (draw, truth) in NUMBERS.items():
        for sign in (1.0, -1.0):
            rng = np.random.default_rng(7)

            def tests(
                rng: np.random.Generator = rng, sign: float = sign, truth: float = truth, draw: Any = draw
            ) -> Iterator[tuple[DeadlineTest, float, float]]:
                while True:
                    draws = draw(rng, 120) if sign > 0 else 1.0 - draw(rng, 120)
                    at = truth if sign > 0 else 1.0 - truth
                    yield deadline_test(draws, None, None, at, DELTA), at, float(draws.mean())

            yield from missed(f"{'lower' if sign > 0 else 'upper'} limit of 120 numbers, {name}", tests(), boundary)


def two_means(tables: int, boundary: int) -> Iterator[Line]:
    """The lower limit of a difference of means at one look, over that of Welch's interval."""
    draw, skewed = NUMBERS["beta(2, 3)"][0], NUMBERS["a tenth 1, the rest below 0.1"][0]

    def drawn(rng: np.random.Generator, sizes: tuple[int, int], other: Any) -> tuple[Floats, NDArray[np.bool_]]:
        first = rng.permutation(np.arange(sum(sizes)) < sizes[0])
        draws = np.empty(sum(sizes))
        draws[first], draws[~first] = draw(rng, sizes[0]), other(rng, sizes[1])
        return draws, first

    for sizes, before, aim in (((100, 100), "", ""), ((400, 400), "1.72", "at most 1.12"), ((1_600, 1_600), "", "")):
        for name, other in (("beta(2, 3)", draw), ("beta(2, 3) and skewed", skewed)):
            rng, widths = np.random.default_rng(sizes[0]), []
            for _ in range(tables):
                draws, first = drawn(rng, sizes, other)
                parts = draws[first], draws[~first]
                squares = [part.var(ddof=1) / len(part) for part in parts]
                freedom = sum(squares) ** 2 / sum(v**2 / (len(p) - 1) for v, p in zip(squares, parts, strict=True))
                away = parts[0].mean() - parts[1].mean() - deadline_test(draws, first, None, 0.0, EACH).limit()
                widths.append(away / (float(t.isf(EACH, freedom)) * sqrt(sum(squares))))
            what = f"difference of two means, {sizes[0]:,} numbers each ({name}), one look: over Welch's interval"
            yield Line(what, f"{np.mean(widths):.2f}", before if other is draw else "", "1 (not guaranteed)", "", aim)
    for sizes, other, truth in (((100, 100), draw, 0.0), ((40, 160), skewed, 0.4 - 0.145)):
        rng = np.random.default_rng(8)

        def tests(
            rng: np.random.Generator = rng, sizes: Any = sizes, other: Any = other, truth: float = truth
        ) -> Iterator[tuple[DeadlineTest, float, float]]:
            while True:
                draws, first = drawn(rng, sizes, other)
                test = deadline_test(draws, first, None, truth, DELTA)
                yield test, truth, float(draws[first].mean() - draws[~first].mean())

        yield from missed(f"difference of means of {sizes[0]} and {sizes[1]} numbers", tests(), boundary)


def everyone_at_once(tables: int, boundary: int) -> Iterator[Line]:
    """The lower limit of P[y | a] - P[y] at one look, over the asymptotic one."""
    members = ((0.0, 1.0), (0.0, 1.0), (1.0, 1.0), (1.0, 1.0))

    def drawn(rng: np.random.Generator, n: int, share: float, rates: tuple[float, float]) -> tuple[Floats, Floats]:
        inside = rng.random(n) < share
        return inside.astype(float), (rng.random(n) < np.where(inside, *rates)).astype(float)

    for share, aim in ((0.5, "at most 1.2"), (0.1, "at most 1.45")):
        rng, widths = np.random.default_rng(3), []
        for _ in range(tables):
            inside, yes = drawn(rng, PEOPLE, share, (0.4, 0.5))
            rate, every = yes[inside > 0].mean(), yes.mean()
            error = float((inside * (yes - rate) / inside.mean() - yes + every).std()) / sqrt(PEOPLE)
            limit = deadline_test(2 * inside + yes, None, members, 0.0, EACH).limit()
            widths.append((rate - every - limit) / (1.96 * error))
        what = f"a group of {share:.0%} against everyone, one look: width over the asymptotic one"
        yield Line(what, f"{np.mean(widths):.2f}", "any look: 5.7", "1 (not guaranteed)", "1", aim)
    for share, rates in ((0.5, (0.3, 0.3)), (0.1, (0.9, 0.1)), (0.05, (0.05, 0.02)), (0.8, (0.5, 0.1))):
        rng, truth = np.random.default_rng(9), (1 - share) * (rates[0] - rates[1])

        def tests(
            rng: np.random.Generator = rng, share: float = share, rates: Any = rates, truth: float = truth
        ) -> Iterator[tuple[DeadlineTest, float, float]]:
            while True:
                inside, yes = drawn(rng, 200, share, rates)
                if inside.any():
                    test = deadline_test(2 * inside + yes, None, members, truth, DELTA)
                    yield test, truth, float(yes[inside > 0].mean() - yes.mean())

        what = f"a group of {share:.0%} of 200 against everyone, rates {rates[0]:g} and {rates[1]:g}"
        yield from missed(what, tests(), boundary)


def planned_looks(_tables: int, _boundary: int) -> Iterator[Line]:
    """The last of five planned looks over a single look: exact widths of tables with these very rates."""
    n, plan, sizes = 20_000, LookPlan(5), [4_000, 8_000, 12_000, 16_000, 20_000]
    risks = [DELTA * plan.spent(number) for number in range(1, 6)]
    last = 0.4 - planned_lower_limit(8_000, sizes, risks, 5)
    single = 0.4 - float(lower_limit(8_000, n, DELTA))
    what = "last of five planned looks over a single look"
    yield Line(f"{what}, one rate", f"{last / single:.3f}", "1.43, then 1.02", "1", "1", "at most 1.03")
    ratio = RateFraction(0.0, (1.0, 0.0), 0.0, (0.0, 1.0))
    for name, fraction in (("ratio", ratio), ("difference", RateFraction(0.0, (1.0, -1.0)))):
        value = 0.8 if fraction is ratio else -0.06
        widths = [
            value - lower_end(fraction, (2_400, 3_000), (n / 2, n / 2), DELTA * part) for part in (plan.share(5), 1)
        ]
        said = f"{widths[0] / widths[1]:.3f}"
        yield Line(f"{what}, {name} of two rates", said, "1.43, then 1.05", "1", "1", "at most 1.03")


def planted_pair(tables: int, boundary: int) -> Iterator[Line]:
    """How often a search of 276 subgroups names the one that is worse off; with --boundary, the share of wrong names.

    Eight attributes of three values, 6,000 people; the planted pair has a rate of 0.325, everybody else a half.
    """
    found = sum(PLANTED in _named(0.325, seed) for seed in range(5 * tables))
    what = "groups.search names a planted pair (6,000 people, 276 subgroups, fdr 0.1)"
    yield Line(what, f"{100 * found / (5 * tables):.0f}%", "25%", "", "", "at least 45%")
    if boundary:
        # At 0.8 times the rate of the others, the pair is on the boundary: naming it is wrong.
        wrong = sum(bool(_named(0.4, seed)) for seed in range(boundary))
        yield Line(
            "it names a subgroup, where one is on the boundary", f"{100 * wrong / boundary:.1f}%", aim="at most 10%"
        )


PLANTED = "a0 == 0, a1 == 0"


def _named(rate: float, seed: int) -> set[str]:
    rng, n = np.random.default_rng(seed), 6_000
    people = {f"a{k}": rng.integers(0, 3, n) for k in range(8)}
    rates = np.where((people["a0"] == 0) & (people["a1"] == 0), rate, 0.5)
    sample, claim = iso.Sample({**people, "y": rng.random(n) < rates}), "P[y | group] / P[y | not group] >= 0.8"
    return {item.group for item in iso.groups.search(sample, list(people), claim, depth=2)}


def scoring_rate(tables: int, boundary: int) -> Iterator[Line]:
    """The interval of a group's share above the median in ``measure``, over the asymptotic one."""

    def drawn(rng: np.random.Generator, n: int, share: float, moved: float, spread: float) -> tuple[Any, Floats]:
        own = rng.random(n) < share
        return own, rng.normal(size=n) * np.where(own, spread, 1.0) + moved * own

    def counted(made: IntervalMethod, own: Any, scores: Floats) -> tuple[Floats, Floats]:
        about = HeldScores([], [scores]).at(made.ranks_about_median(len(scores)))
        cuts = [float(np.median(scores)), *sorted({float(np.nextafter(about[0], -np.inf)), *about})]
        above = [[float((scores[who] > cut).sum()) for cut in cuts] for who in (own, ~own)]
        return np.asarray(above), np.asarray([own.sum(), (~own).sum()], dtype=float)

    made = IntervalMethod(DELTA, "once", exact=False)
    before = {0.5: ("2.9 to 3.5", "at most 1.4"), 0.1: ("1.4 to 2.1", "")}
    for share, (old, aim) in before.items():
        for name, moved, spread in (("", -0.5, 1.0), (", half as spread", 0.0, 0.5), (", twice as spread", 0.0, 2.0)):
            rng, widths = np.random.default_rng(4), []
            for _ in range(tables):
                own, scores = drawn(rng, 1_000, share, moved, spread)
                (low, *_), (high, *_) = made.scoring(*counted(made, own, scores))
                middle = float(np.median(scores))
                density = [np.exp(-0.5 * ((middle - at) / wide) ** 2) / wide for at, wide in ((moved, spread), (0, 1))]
                k, yes = share * density[0] / (share * density[0] + (1 - share) * density[1]), scores > middle
                influence = (own * (yes - yes[own].mean()) - k * (yes - 0.5)) / own.mean()
                widths.append((high - low) / (3.92 * float(influence.std()) / sqrt(1_000)))
            what = f"scoring rate of a group of {share:.0%} of 1,000{name}: width over the asymptotic one"
            yield Line(what, f"{np.mean(widths):.2f}", old, "1 (not guaranteed)", "", "" if name else aim)
    for name, share, moved, spread in (
        ("even", 0.5, 0.0, 1.0), ("rare", 0.05, 0.5, 1.0), ("about the median", 0.2, 0.0, 0.02),
        ("high", 0.3, 2.0, 1.0), ("tied", 0.3, -0.2, 1.0),
    ):  # fmt: skip
        rng, missed, narrower = np.random.default_rng(6), 0, 0
        own, scores = drawn(np.random.default_rng(1), 2_000_000, share, moved, spread)
        tied = (lambda x: np.round(x)) if name == "tied" else (lambda x: x)
        truth = float((tied(scores) > np.median(tied(scores)))[own].mean())
        for _ in range(boundary):
            own, scores = drawn(rng, 60, share, moved, spread)
            above, n = counted(made, own, tied(scores))
            bins = -np.diff(np.column_stack([n, above[:, 1:], np.zeros(2)]), axis=1)
            inside, risk, rate = slice(1, bins.shape[1] - 1), DELTA * (1 - MEDIAN) / 2, above[0, 0] / max(n[0], 1.0)
            low, rest = (share_above_limit(*bins, inside, risk, reverse=turned) for turned in (False, True))
            missed += not low <= truth <= 1.0 - rest
            narrower += not rate - 0.8 * (rate - low) <= truth <= rate + 0.8 * (1.0 - rest - rate)
        if boundary:
            found = f"{100 * missed / boundary:.1f} in a hundred of {boundary:,}"
            found = f"{found}; {100 * narrower / boundary:.1f} if 20% narrower"
            yield Line(f"the scoring rate of a group among 60 is missed: {name}", found, aim=f"at most {100 * DELTA:g}")


def product(tables: int, _boundary: int) -> Iterator[Line]:
    """The interval of a product of two rates at any look, over the asymptotic one."""
    rates, widths = np.asarray([0.6, 0.5]), []
    error = sqrt(sum(float(rates[1 - k] ** 2 * rates[k] * (1 - rates[k])) for k in (0, 1)) / (PEOPLE / 2))
    for seed in range(tables):
        rng = np.random.default_rng(seed)
        group = rng.integers(0, 2, PEOPLE)
        people = iso.Sample({"g": group, "y": rng.random(PEOPLE) < rates[group]})
        verdict = iso.check("P[y | g == 0] * P[y | g == 1] >= 0.3", population=people, delta=DELTA)
        low, high = (verdict.headline.low, verdict.headline.high)
        widths.append((high - low) / (2 * 1.96 * error))
    what = "a product of two rates, any look: width over the asymptotic one"
    yield Line(what, f"{np.mean(widths):.2f}", "3.1", "1 (not guaranteed)", "", "at most 2.2")


def principal(tables: int, _boundary: int) -> Iterator[Line]:
    """People until principal unfairness is proved, for Table 4, over the least that is possible for a known table."""
    shape = TableShape()
    fair = fair_set(shape, definition_effects(shape, 2))
    nats = float(certified_distance(fair, TABLE_4[None], np.full((1, 2), 0.5))[0])
    stops = stopping_times(fair, 5 * tables, seed=0)["bets"]
    for delta, aim in ((0.05, "at most 1.6"), (1e-6, "at most 1.15")):
        ratio = float(stops[DELTAS.index(delta)].mean()) / limit(delta, nats)
        said = {0.05: "1.9", 1e-6: "1.24"}[delta]
        yield Line(
            f"principal fairness, Table 4, risk {delta:g}: people over the limit", f"{ratio:.2f}", said, "", "1", aim
        )


def planted_defect(tables: int, _boundary: int) -> Iterator[Line]:
    """Cases of a k-safety property until a planted defect is found, where queries cost something."""
    for defect, aim in (("inside", 349), ("edge_case", 2)):
        found = {
            name: float(np.median([tool(safety_models.MODELS[defect], seed)[1] for seed in range(tables)]))
            for name, tool in (("ours", where_costly), ("Hypothesis", by_hypothesis))
            if name == "ours" or find_spec("hypothesis") is not None
        }
        theirs = f"{found['Hypothesis']:,.0f} (Hypothesis)" if "Hypothesis" in found else ""
        rare = 1 / safety_models.share(safety_models.MODELS[defect])
        what = f"cases until a defect is found, 1 in {rare:,.0f}, costly queries"
        yield Line(what, f"{found['ours']:,.0f}", "3,025", theirs, "", f"at most {aim}")


def over_the_limit(tables: int, boundary: int) -> Iterator[Line]:
    """Mean samples over the least that any test takes which knows the truth, for the 43 pairs of ``benchmarks.limit``.

    The limit is what any test could reach that does not know it, on average over a 50-fold range of distances.
    """
    for delta, before, best, aim in (
        (0.05, "1.70", "1.65", "1.63, no pair above 1.9"),
        (1e-3, "1.30", "1.26", "1.26, no pair above 1.4"),
        (1e-10, "1.13", "1.11", "1.12, no pair above 1.2"),
    ):
        pairs = [Pair.of(*rates) for rates in PAIRS]
        found = [
            mean_draws(by_bets, pair, delta, 5 * tables, number)[0] / pair.limit(delta)
            for number, pair in enumerate(pairs)
        ]
        average, _ = Optimum.of(delta).averages()
        what = f"samples over the limit of a known truth, 43 pairs, risk {delta:g}: mean, worst"
        said = f"{np.exp(np.mean(np.log(found))):.2f}, {max(found):.2f}"
        yield Line(what, said, before, best, f"{average:.2f}", f"at most {aim}")
    for threshold, truth, before, best, aim in (
        (0.8, 0.9, "107", "86", "at most 95"),
        (0.95, 0.99, "193", "173", "at most 150"),
        (0.5, 0.55, "984", "", "no more than before"),
    ):
        samples = [_answers_until_decided(threshold, truth, seed) for seed in range(5 * tables)]
        what = f"answers until a rate of {truth:g} is said to be at least {threshold:g}"
        least = limit(DELTA, float(rel_entr([truth, 1 - truth], [threshold, 1 - threshold]).sum()))
        yield Line(what, f"{np.mean(samples):.0f}", before, best, f"{least:.0f}, truth known", aim)
    if boundary:
        yield from _on_the_boundary(boundary)


def _answers_until_decided(threshold: float, truth: float, seed: int) -> int:
    right = (np.random.default_rng([1, seed]).random(40 * 529) < truth).astype(int)
    answers = iso.Sample({"correct": right}, order="file")
    return iso.check(f"P[correct] >= {threshold}", population=answers, delta=DELTA, seed=1).samples


def _on_the_boundary(runs: int) -> Iterator[Line]:
    """How often the truth is ever refuted, looking after each batch, and with a threshold a fifth lower."""
    settings: tuple[tuple[str, Sequence[float], Sequence[float], Sequence[float]], ...] = (
        ("a rate of 0.5", (1.0,), (0.5,), (1.0,)),
        ("a rate of 0.98", (1.0,), (0.98,), (1.0,)),
        ("a rate of 0.003", (-1.0,), (0.003,), (1.0,)),
        ("a ratio of 0.24 and 0.3", (1.0, -0.8), (0.24, 0.3), (0.5, 0.5)),
        ("a ratio of 0.784 and 0.98, a rare group", (1.0, -0.8), (0.784, 0.98), (0.05, 0.95)),
        ("a ratio of 0.008 and 0.01", (-1.0, 0.8), (0.008, 0.01), (0.5, 0.5)),
    )
    for what, signs, rates, shares in settings:
        prior = Grid(((0.0, 1.0),)).prior()
        bound = float(np.dot(signs, rates))
        process = EProcess.of([[np.asarray([0.0, a]) for a in signs]], [bound], [prior] * len(signs))
        state, rng, total = begin(process, runs), np.random.default_rng(11), 0
        while total < 20_000:
            size = max(2, total // 50)
            total += size
            drawn = rng.multinomial(size, shares, size=runs)
            yes = rng.binomial(drawn, rates)
            state = step(process, state, np.stack([drawn - yes, yes], axis=-1).astype(float))
        errors, lower = (100 * float(np.mean(state.peak >= part * log(1 / DELTA))) for part in (1.0, 0.8))
        said = f"{errors:.1f} in a hundred of {runs:,}; {lower:.1f} where four fifths of the log wealth are enough"
        yield Line(f"bets refute the truth at any look: {what}", said, aim=f"at most {100 * DELTA:g}")


MEASUREMENTS: dict[str, Callable[[int, int], Iterator[Line]]] = {
    "group-against-everyone": group_against_everyone,
    "one-mean": one_mean,
    "two-means": two_means,
    "everyone-at-once": everyone_at_once,
    "planned-looks": planned_looks,
    "planted-pair": planted_pair,
    "scoring-rate": scoring_rate,
    "product": product,
    "principal": principal,
    "planted-defect": planted_defect,
    "over-the-limit": over_the_limit,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=40)
    parser.add_argument("--boundary", type=int, default=2_000, metavar="RUNS")
    parser.add_argument("--only", nargs="+", choices=MEASUREMENTS, default=list(MEASUREMENTS))
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/sharper.json"))
    arguments = parser.parse_args()
    lines = []
    print("| what | before | new | best known | limit | aim |\n|---|---|---|---|---|---|")
    for name in arguments.only:
        for line in MEASUREMENTS[name](arguments.tables, arguments.boundary):
            lines.append(line)
            print(f"| {line.what} | {line.before} | {line.new} | {line.best} | {line.limit} | {line.aim} |", flush=True)
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps([asdict(line) for line in lines], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
