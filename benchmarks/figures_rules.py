"""Lines of the common table about how few people are asked: VeriFair's rule, its programs, and the limit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.figure import Figure, amount, duration
from benchmarks.published import measured_beforehand

__all__ = ["cost", "exact", "limit", "overlap", "principal", "programs", "sketches"]


def limit(found: dict[str, Any]) -> Iterator[Figure]:
    """Draws over the information-theoretic limit."""
    for delta in sorted({row["delta"] for row in found["rows"]}):
        mean = {
            method: float(np.exp(np.mean([np.log(row["over_limit"]) for row in rows])))
            for method in ("bets", "mixture region", "verifair")
            if (rows := [row for row in found["rows"] if (row["delta"], row["method"]) == (delta, method)])
        }
        yield Figure(
            f"draws relative to the theoretical minimum, 43 pairs of rates, risk {delta:g}",
            f"{mean['bets']:.2f}",
            f"VeriFair's rule {mean['verifair']:.1f}",
            mean["verifair"] / mean["bets"],
            "1 is the information-theoretic limit",
        )


def betting(found: dict[str, Any]) -> Iterator[Figure]:
    """People asked until a difference is seen, beside other bets."""
    theirs, ours = (sum(row[key] for row in found["rows"]) for key in ("theirs", "ours"))
    yield Figure(
        f"people until parity is refuted, six settings, risk {found['delta']:g}",
        f"{ours:,.0f}",
        f"bets of Chugg et al. {theirs:,.0f}",
        theirs / ours,
        "both keep the risk at every look",
    )


def programs(found: dict[str, Any]) -> Iterator[Figure]:
    """The 39 programs of the FairSquare benchmark."""
    total, risk = found["summary"], found["delta"]
    right = f"{total['right']:.0f} of {total['verdicts']:.0f} right"
    said = measured_beforehand("VeriFair, 39 FairSquare instances")
    yield Figure(
        f"people drawn, 39 FairSquare programs, risk {risk:g}",
        f"{amount(total['draws'])}, {right}",
        f"VeriFair {amount(total['draws'] * total['times_fewer_draws'])}",
        total["times_fewer_draws"],
        f"limit {amount(total['draws'] / total['over_limit'])}",
    )
    yield Figure(
        "... their processor time",
        duration(total["seconds"]),
        f"VeriFair {duration(total['seconds'] * total['times_less_time'])}" + (", measured beforehand" if said else ""),
        total["times_less_time"],
        "944 s in the VeriFair paper",
    )


def exact(found: dict[str, Any]) -> Iterator[Figure]:
    """The same programs, proved."""
    total = found["total"]
    trees = sum(row["sppl_seconds"] is not None for row in found["rows"])
    yield Figure(
        "39 FairSquare programs and 3 causal ones proved, no risk",
        f"{total['right']} right, {duration(total['seconds'])} of processor time for the 39",
        "FairSquare 5,585 s, four of them timed out, as published",
        5585 / total["seconds"],
        f"enclosures of at most {total['width']:.0e}; bets at risk 1e-10 take {duration(total['bets_seconds'])}",
    )
    if trees:
        yield Figure(
            f"... the {trees} with decision trees",
            duration(total["trees"]),
            f"SPPL {duration(total['trees_sppl'])}, as exact",
            total["trees_sppl"] / total["trees"],
            "SPPL refuses the 24 others",
        )


def cost(found: dict[str, Any]) -> Iterator[Figure]:
    """A program with a known ratio: people as the threshold nears it and as the risk shrinks."""
    people = {(p["panel"], p["threshold"], p["delta"], p["method"]): p["people"] for p in found["points"]}
    keys = sorted({key[:3] for key in people})
    ours, theirs = (
        np.asarray([people[(*key, name)] / people[(*key, "limit")] for key in keys])
        for name in ("projection bets", "the paper's rule")
    )
    yield Figure(
        f"draws over the limit, one program, {len(keys)} thresholds and risks, geometric mean",
        f"{np.exp(np.log(ours).mean()):.2f}",
        f"VeriFair's rule {np.exp(np.log(theirs).mean()):.1f}",
        float(np.exp((np.log(theirs) - np.log(ours)).mean())),
    )


def overlap(found: list[dict[str, Any]]) -> Iterator[Figure]:
    """Groups that share people."""
    ratio = float(np.exp(np.mean([np.log(row["regions"] / row["slices"]) for row in found])))
    yield Figure("draws where groups overlap, against split confidence regions", "1", f"regions {ratio:.2f}", ratio)


def principal(found: dict[str, Any]) -> Iterator[Figure]:
    """Principal unfairness of the paper's Table 4."""
    for row in found["rows"]:
        if row["method"] == "bets" and row["delta"] in (0.05, 1e-6):
            what = f"people until principal unfairness is proved, risk {row['delta']:g}"
            yield Figure(what, amount(row["mean"]), aim=f"limit {amount(row['limit'])}")


def sketches(found: dict[str, Any]) -> Iterator[Figure]:
    """A deep generative population."""
    seconds = {(row["tolerance"], row["delta"], row["method"]): row for row in found["checks"]}
    both = [
        (row["people"], theirs["people"])
        for (tolerance, delta, method), row in seconds.items()
        if method == "projection bets"
        and (theirs := seconds.get((tolerance, delta, "the paper's rule")))
        and row["answer"] == theirs["answer"] != "undecided"
    ]
    if both:
        ratio = float(np.exp(np.mean([np.log(theirs / ours) for ours, theirs in both])))
        what = f"sketches drawn, {len(both)} checks of a recogniser that both decide"
        yield Figure(what, "1", f"VeriFair's rule {ratio:.1f}", ratio)
