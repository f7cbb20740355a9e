"""Are sampled shares right, and do tests err as seldom as they say? The validation study of the responsiveness paper.

    python -m benchmarks.validation [--repetitions 200] [--json benchmarks/results/validation.json]
                                    [--chart docs/images/validation.svg]

German credit in 36 features, with the paper's intervention model (its Table 3). Every reachable point of all 1,000
people is looked at first, so that each share is known. Then uniform draws are made by the library, over and over, and
what 10 to 500 of them say is held against the truth (the paper's Fig. 2):

* error: the mean of ``|estimate - share|``;
* specificity: how often a person with ``share >= 0.1`` is *not* claimed to be unresponsive;
* recall: how often one with ``share < 0.1`` is;
* precision: how many of the claims are right.

A claim is the paper's: the upper Clopper-Pearson limit at alpha lies below 0.1, for each person alone. Beside each
figure stands what the binomial distribution says it should be, given the true shares. The last table has tests that
look after every round and stop by themselves: for each person alone, by draws only; and for all 1,000 together, where
the audit looks at all of a person's points once it has drawn as many. The data are found through ISONOMIA_DATA.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

import isonomia as iso
from benchmarks.reach import GERMAN, german_interventions
from benchmarks.validation_truth import SHARE, Listing, Truth, prepared
from isonomia.evidence.binomial import least_draws, least_sequential_draws, power_below
from isonomia.evidence.confidence_sequences import log_wealth_above, log_wealth_below, tail_below
from isonomia.populations import Table, read_table

ALPHA, GAP = 0.05, 0.05
DRAWS = (10, 20, 28, 30, 50, 100, 200, 500)
"""The paper's range; 28 is the last number of draws with which nothing can be claimed."""
CHANCE = 1e-6
"""How seldom noise alone may take specificity below the bound that is printed."""
_ROUNDS = (8, 1.25, 4_000)
"""Sequential tests: the first round, what later ones make of the total, and where they give up."""


@dataclass(frozen=True, slots=True)
class Row:
    """How well one number of draws did, over all people and repetitions."""

    model: str
    draws: int
    error: float
    specificity: float
    expected_specificity: float
    bound: float
    worst: float
    worst_bound: float
    recall: float
    expected_recall: float
    precision: float | None
    power: float


def counted(listing: Listing, truths: list[Truth], repetitions: int) -> dict[tuple[str, int], NDArray[np.int64]]:
    """How many draws reach the target, by model and number of draws: one row a repetition, one column a person."""
    found: dict[tuple[str, int], list[NDArray[np.int64]]] = {}
    for seed in range(repetitions):
        places = listing.drawn(DRAWS[-1], np.random.default_rng(seed))
        for truth in truths:
            total = np.cumsum(truth.reaching[places], axis=1)
            for draws in DRAWS:
                found.setdefault((truth.name, draws), []).append(total[:, draws - 1])
    return {key: np.asarray(rows) for key, rows in found.items()}


def measured(truth: Truth, successes: NDArray[np.int64], draws: int) -> Row:
    """The figures of one number of draws."""
    claimed = tail_below(successes, draws, SHARE) <= ALPHA
    responsive, fixed = claimed[:, truth.responsive], claimed[:, ~truth.responsive]
    # The most successes with which the test still claims; the chance of a claim is then a binomial probability.
    most = int((tail_below(np.arange(draws + 1), draws, SHARE) <= ALPHA).sum()) - 1
    chance = binom.cdf(most, draws, truth.share)
    repetitions, people = responsive.shape
    return Row(
        truth.name,
        draws,
        error=float(np.abs(successes / draws - truth.share).mean()),
        specificity=float(1.0 - responsive.mean()),
        expected_specificity=float(1.0 - chance[truth.responsive].mean()),
        bound=float(1.0 - binom.isf(CHANCE, responsive.size, ALPHA) / responsive.size),
        worst=float(1.0 - responsive.mean(axis=0).max()),
        worst_bound=float(1.0 - binom.isf(CHANCE / people, repetitions, ALPHA) / repetitions),
        recall=float(fixed.mean()),
        expected_recall=float(chance[~truth.responsive].mean()),
        precision=float(fixed.sum() / claimed.sum()) if claimed.any() else None,
        power=power_below(draws, ALPHA, SHARE, SHARE - GAP),
    )


def sequential(listing: Listing, truth: Truth, repetitions: int) -> dict[str, Any]:
    """Tests of each person alone that look after every round: how often they claim what, and after how many draws."""
    n, decided = (np.zeros((repetitions, len(truth.share))) for _ in range(2))
    for seed in range(repetitions):
        rng, total = np.random.default_rng((1, seed)), np.zeros(len(truth.share))
        for size in _rounds():
            left = np.flatnonzero(decided[seed] == 0)
            if not len(left):
                break
            total[left] += truth.reaching[listing.drawn(size, rng, left.tolist())].sum(axis=1)
            n[seed, left] += size
            counts = total[left], n[seed, left], SHARE
            above, below = (wealth(*counts) >= np.log(1 / ALPHA) for wealth in (log_wealth_above, log_wealth_below))
            decided[seed, left] = np.where(below, -1, np.where(above, 1, 0))
    return {
        "model": truth.name,
        "who": "each alone",
        "specificity": float((decided[:, truth.responsive] >= 0).mean()),
        "recall": float((decided[:, ~truth.responsive] < 0).mean()),
        "undecided": float((decided == 0).mean()),
        "mean_draws": float(n.mean()),
        "median_draws": float(np.median(n)),
        "of_the_fixed": float(n[:, ~truth.responsive].mean()),
    }


def together(people: Table, truth: Truth, repetitions: int) -> dict[str, Any]:
    """The audit of everybody: names by Holm's procedure, draws only for those who are not named yet."""
    claim = iso.Responsiveness(german_interventions(people), 1, at_least=SHARE, most_listed=0)
    answers, n = [], []
    for seed in range(repetitions):
        verdict = iso.check(claim, truth.model, iso.Census(people), delta=ALPHA, seed=seed, features=truth.features)
        answers.append(verdict.details["people"]["answer"])
        n.append(verdict.details["people"]["n"])
    found, draws = np.asarray(answers), np.asarray(n)
    return {
        "model": truth.name,
        "who": "all together",
        "specificity": float((found[:, truth.responsive] != "fixed").mean()),
        "recall": float((found[:, ~truth.responsive] == "fixed").mean()),
        "undecided": float((found == "undecided").mean()),
        "mean_draws": float(draws.mean()),
        "median_draws": float(np.median(draws)),
        "of_the_fixed": float(draws[:, ~truth.responsive].mean()),
    }


def _rounds() -> Iterator[int]:
    total = 0
    first, growth, most = _ROUNDS
    while total < most:
        size = min(max(first, round(total * (growth - 1.0))), most - total)
        total += size
        yield size


def chart(rows: list[Row]) -> Any:
    """The paper's Fig. 2: error, then specificity and recall with the power at 0.05, then precision."""
    import altair as alt

    data = alt.Data(values=[asdict(row) for row in rows])
    x = alt.X(
        "draws:Q",
        title="draws a person",
        scale=alt.Scale(type="log"),
        axis=alt.Axis(values=[10, 20, 30, 50, 100, 200, 500]),
    )
    colour = alt.Color(
        "model:N", title=None, scale=alt.Scale(range=["#3f51b5", "#e07b39"]), sort=["logistic", "boosted"]
    )
    least = alt.Chart(alt.Data(values=[{"at": least_draws(ALPHA, SHARE)}])).mark_rule(color="#c62828")
    rule = least.encode(x="at:Q")

    def line(column: str, title: str, least: float = 0.0, **style: Any) -> Any:
        scale = alt.Scale(zero=True) if column == "error" else alt.Scale(domain=[least, 1.0])
        y = alt.Y(f"{column}:Q", title=title, scale=scale, axis=alt.Axis(format="%"))
        return alt.Chart(data).mark_line(point=True, **style).encode(x=x, y=y, color=colour)

    power = alt.Chart(data).mark_line(strokeDash=[2, 3], color="#777777").encode(x=x, y=alt.Y("power:Q", title=None))
    level = alt.Chart(alt.Data(values=[{"at": 1 - ALPHA}])).mark_rule(color="#777777").encode(y="at:Q")
    both = line("specificity", "specificity (full) and recall (dashed)") + line("recall", "", strokeDash=[6, 4])
    panels = (
        line("error", "mean error of the share").properties(title="estimate"),
        (both + power + level + rule).properties(title="test; dotted: power at 0.05"),
        (line("precision", "right among the claims", 0.9) + level + rule).properties(title="precision of the claims"),
    )
    sized = (panel.properties(width=270, height=230) for panel in panels)
    return alt.hconcat(*sized).configure_view(stroke=None).configure(background="white")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/validation.json"))
    parser.add_argument("--chart", type=Path, default=Path("docs/images/validation.svg"))
    arguments = parser.parse_args()
    if not GERMAN.exists():
        print(f"{GERMAN} is not here; set ISONOMIA_DATA")
        return
    people = read_table(str(GERMAN))
    listing, truths = prepared(people)
    for truth in truths:
        print(f"{truth.name}: AUC {truth.auc['train']:.3f} train, {truth.auc['test']:.3f} test; {_kinds(truth)}")
    counts = counted(listing, truths, arguments.repetitions)
    rows = [measured(truth, counts[truth.name, draws], draws) for truth in truths for draws in DRAWS]
    _print(rows)
    few = max(1, arguments.repetitions // 10)
    tests = [row for truth in truths for row in (sequential(listing, truth, few), together(people, truth, few))]
    _print_tests(tests)
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    settings = {"share": SHARE, "alpha": ALPHA, "repetitions": arguments.repetitions, "people": people.rows}
    content = {**settings, "rows": [asdict(row) for row in rows], "sequential": tests}
    arguments.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    chart(rows).save(str(arguments.chart))


def _kinds(truth: Truth) -> str:
    near = int((truth.responsive & (truth.share < 2 * SHARE)).sum())
    none = int((truth.share == 0).sum())
    return (
        f"{int((~truth.responsive).sum())} people below {SHARE:g}, {none} of them at 0; {near} from it to {2 * SHARE:g}"
    )


def _print(rows: list[Row]) -> None:
    print("\nspecificity and recall, each with what is expected; the worst person; bounds that noise keeps")
    heads = ("draws", "error", "specif.", "expected", "bound", "worst", "bound", "recall", "expected", "precision")
    print(f"\n{'model':<9}" + "".join(f"{head:>10}" for head in heads))
    for row in rows:
        cells = [row.error, row.specificity, row.expected_specificity, row.bound, row.worst, row.worst_bound]
        cells += [row.recall, row.expected_recall]
        last = "no claim" if row.precision is None else f"{row.precision:.4f}"
        print(f"{row.model:<9}{row.draws:>10}" + "".join(f"{cell:>10.4f}" for cell in cells) + f"{last:>10}")


def _print_tests(tests: list[dict[str, Any]]) -> None:
    least, anytime = least_draws(ALPHA, SHARE), least_sequential_draws(ALPHA, SHARE)
    print(f"\ntests that stop by themselves; {anytime} draws are the least for a claim, {least} with a fixed number")
    heads = ("specificity", "recall", "undecided", "mean draws", "median", "if below")
    print(f"{'model':<9}{'who':<14}" + "".join(f"{head:>12}" for head in heads))
    for row in tests:
        cells = f"{row['specificity']:>12.4f}{row['recall']:>12.4f}{row['undecided']:>12.4f}"
        cells += f"{row['mean_draws']:>12.1f}{row['median_draws']:>12.0f}{row['of_the_fixed']:>12.1f}"
        print(f"{row['model']:<9}{row['who']:<14}{cells}")


if __name__ == "__main__":
    main()
