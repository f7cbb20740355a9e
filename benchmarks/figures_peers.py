"""Lines of the common table from the benchmarks that run a peer beside us."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.figure import Figure, amount, duration
from benchmarks.published import measured_beforehand

__all__ = ["rates", "reachable_sets", "relations"]


def reachable_sets(found: dict[str, Any]) -> Iterator[Figure]:
    """Every reachable point, beside reachml."""
    for row in found["rows"]:
        what = f"every reachable point of {row['people']} people, {row['data']} ({amount(row['points'])} points)"
        aim = measured_beforehand("reachml 0.2.0a1 with CPLEX, german") if row["data"] == "german" else ""
        beforehand = f"reachml, 100 people, measured beforehand: {aim}" if aim else ""
        for peer in row["peers"]:
            wrong = f", WRONG for {peer['wrong_sets']} people" if peer["wrong_sets"] else ""
            said = f"reachml with {peer['solver']} {duration(peer['seconds'])}{wrong}"
            yield Figure(what, duration(row["seconds"]), said, peer["times_faster"], beforehand)
        if not row["peers"]:
            yield Figure(what, duration(row["seconds"]), aim=beforehand)


def rates(found: dict[str, Any]) -> Iterator[Figure]:
    """Intervals, ratios and verdicts of group rates, beside Fairlearn, AIF360, vfairness and fairaudit."""
    last, risk = found["peeking"][-1], found["delta"]
    yield Figure(
        f"false alarms of an interval looked at {last['look']} times",
        f"{last['ours']:.1%}",
        f"Fairlearn's bootstrap {last['bootstrap']:.0%}",
        last["bootstrap"] / max(last["ours"], 1e-9) if last["ours"] else None,
        f"at most {risk:.0%}",
    )
    for rate, people in ((0.3, 2_000), (0.05, 100)):
        row = next(row for row in found["fixed"] if (row["rate"], row["people"]) == (rate, people))
        for kind, when in (("once", "looked at once"), ("ours", "that may be looked at at any time")):
            yield Figure(
                f"width of an interval {when}, rate {rate}, {people:,} people",
                f"{row[f'{kind}_width']:.3f}, holds {row[f'{kind}_coverage']:.1%}",
                f"Fairlearn's bootstrap {row['bootstrap_width']:.3f}, holds {row['bootstrap_coverage']:.1%}",
                row["bootstrap_width"] / row[f"{kind}_width"],
                f"holds at least {1 - risk:.0%}",
            )
    timed = found["intervals"]
    what = f"an interval from {timed['people']:,} rows, processor time"
    if "fairlearn_seconds" in timed:
        said = f"Fairlearn, 1,000 resamples {duration(timed['fairlearn_seconds'])}"
        yield Figure(what, duration(timed["seconds"]), said, timed["times_faster"])
    else:
        yield Figure(what, duration(timed["seconds"]))
    exact = found["ratios"]
    what = f"a ratio of rates of {exact['people']:,} rows, exact, processor time"
    for tool, peer in exact["peers"].items():
        name = {"fairlearn": "Fairlearn", "aif360": "AIF360"}[tool]
        same = "" if abs(peer["ratio"] - exact["ratio"]) < 1e-9 else f", ANOTHER RATIO: {peer['ratio']}"
        said = f"{name} {duration(peer['seconds'])}{same}"
        yield Figure(what, duration(exact["seconds"]), said, peer["seconds"] / exact["seconds"])
    yield from _verdicts(found["verdicts"], risk)


def _verdicts(found: dict[str, Any], risk: float) -> Iterator[Figure]:
    """Verdicts on two groups; fairaudit and vfairness's own runs are left out where they are absent."""
    looks, people = found["looks"], f"{found['people']:,} people"
    held, wrong, flags, told, timed = (found[part] for part in ("coverage", "streams", "flags", "sequential", "timed"))
    yield Figure(
        f"interval of a ratio of equal rates holds 1, looked at once, {people}",
        f"{held['ours']} of {held['tables']}",
        f"vfairness {held['vfairness']} of {held['tables']}",
        aim=f"at least {1 - risk:.0%}",
    )
    yield Figure(
        f"first answer in {looks} looks is wrong, claim and ratio 0.8",
        f"{wrong['ours']} of {wrong['streams']}",
        f"vfairness {wrong['vfairness']} of {wrong['streams']}",
        aim=f"at most {risk:.0%}",
    )
    theirs = f"vfairness's sequential test {told['vfairness']} of {told['streams']}" if "vfairness" in told else ""
    what = f"equal rates are told apart within {looks} looks"
    yield Figure(what, f"{told['ours']} of {told['streams']}", theirs, aim=f"at most {risk:.0%}")
    for name, who, aim in (("equal", "equal rates", f"at most {risk:.0%}"), ("apart", "rates 0.24 and 0.3", "")):
        row, tables = flags[name], flags["tables"]
        theirs = f"fairaudit {row['one_sided']} of {tables}" if "one_sided" in row else ""
        if theirs:
            theirs += f", two-sided {row['two_sided']} of {tables}"
        yield Figure(f"a group is flagged, {who}, one look, {people}", f"{row['ours']} of {tables}", theirs, aim=aim)
    what = f"one verdict on a ratio of {found['people']:,} rows, processor time"
    theirs = f"vfairness {duration(timed['vfairness_seconds'])}" if "vfairness_seconds" in timed else ""
    yield Figure(what, duration(timed["seconds"]), theirs, timed.get("times_faster"))


def relations(found: dict[str, Any]) -> Iterator[Figure]:
    """Relations between runs, beside Hypothesis and Giskard."""
    names = {"hypothesis": "Hypothesis", "giskard": "Giskard"}
    ours = found["seconds"]["ours"]
    for tool, seconds in found["seconds"].items():
        if tool != "ours":
            said = f"{names[tool]} {duration(seconds)}"
            yield Figure("5,000 tests of a relation, plain model, processor time", duration(ours), said, seconds / ours)
    for row in found["rows"]:
        if "hypothesis" in row:
            place = "inside the ranges" if row["defect"] == "inside" else "at an edge case of the ranges"
            mine, theirs = row["ours"], row["hypothesis"]
            found_both = mine["found"] == theirs["found"] == row["seeds"]
            yield Figure(
                f"finding a defect {place}, 1 case in {1 / row['share']:,.0f}",
                _search(mine, row["seeds"]),
                f"Hypothesis: {_search(theirs, row['seeds'])}",
                theirs["seconds"] / mine["seconds"] if found_both else None,
            )
            few = row["costly"]
            yield Figure(
                f"the same where queries are costly, cases until a defect {place} is found",
                f"{few['cases']:,.0f}",
                f"Hypothesis {theirs['cases']:,.0f}",
                theirs["cases"] / few["cases"],
            )


def _search(run: dict[str, Any], seeds: int) -> str:
    return f"{run['found']} of {seeds} seeds, {run['cases']:,.0f} cases, {duration(run['seconds'])}"
