"""Group rates beside Fairlearn, AIF360, vfairness and fairaudit: width, coverage, peeking, verdicts, time.

    python -m benchmarks.rates_peers [--runs 1000] [--tables 60] [--streams 100] [--peers-python PYTHON] [--json FILE]

People come with a group and a yes or no, and the question is the rate of yes in a group, with risk 0.05:

* at a fixed number of people, looked at once: how wide the intervals are, and how often they hold the true rate, of
  ours that may be looked at at any time, of ours for one look (``looks="once"``), and of the bootstrap;
* after every 100 people, 100 times: how often an interval has missed the true rate at some look;
* one table of 2,000 people: processor time of Fairlearn with 1,000 resamples, and of our check of the same rows;
* one table of 100,000 people: the ratio of the rates as all three say it, and the processor time of each;
* verdicts, beside vfairness and fairaudit: ``benchmarks/rates_verdicts.py``.

The first two read the same draws for both kinds of interval and need no peer: the bootstrap is drawn by its counts,
see ``benchmarks/rates_peeking.py``. Where Fairlearn is there (``--peers-python``, ISONOMIA_PEERS_PYTHON), its own
intervals are held against that, and the program fails if they differ by more than a tenth of their width. vfairness's
are held against theirs in the same way.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import isonomia as iso
from benchmarks.peers.running import Absent, add_option, python_with, run_peer
from benchmarks.rates_chart import chart
from benchmarks.rates_peeking import DELTA, QUANTILES, Setting, bootstrap, fixed, peeking
from benchmarks.rates_verdicts import Trials, verdicts
from isonomia.evidence.binomial import clopper_pearson

SMALL, LARGE, N_BOOT = 2_000, 100_000, 1_000
TRUE_RATES = np.asarray([0.24, 0.3])
TOLERANCE = 0.1
PEERS = ("fairlearn", "aif360", "vfairness", "fairaudit")


def people(rows: int) -> dict[str, Any]:
    """Two groups, 0 and 1, with these rates."""
    rng = np.random.default_rng(rows)
    group = (rng.random(rows) < 0.5).astype(int)
    return {"group": group, "yes": (rng.random(rows) < TRUE_RATES[group]).astype(int)}


def job(table: dict[str, Any], n_boot: int, tools: list[str]) -> dict[str, Any]:
    columns = {name: column.tolist() for name, column in table.items()}
    return {**columns, "n_boot": n_boot, "quantiles": list(QUANTILES), "seed": 0, "tools": tools}


def checked(table: dict[str, Any]) -> tuple[Any, float]:
    """Our check of one group's rate, with every row and for one look as theirs, and its processor seconds."""
    rate = float(table["yes"][table["group"] == 0].mean())
    began = time.process_time()
    claim = f"P[yes == 1 | group == 0] >= {rate:.6f}"
    verdict = iso.check(claim, population=iso.Sample(table), delta=DELTA, seed=0, looks="once")
    return verdict, time.process_time() - began


def intervals(python: str | Absent, repetitions: int) -> dict[str, Any]:
    """Fairlearn's intervals for one table, the same by counts, ours, and what each took."""
    table = people(SMALL)
    mine, theirs = [], []
    checked(table)  # once to warm up
    for _ in range(repetitions):
        verdict, seconds = checked(table)
        mine.append(seconds)
        if not isinstance(python, Absent):
            theirs.append(run_peer(python, "group_rates.py", job(table, N_BOOT, ["fairlearn"]))["fairlearn"])
    zero = table["group"] == 0
    yes, size = np.asarray([float(table["yes"][zero].sum())]), np.asarray([float(zero.sum())])
    low, high = clopper_pearson(yes, size, DELTA)
    leaf = verdict.leaves[0]
    assert leaf.n == size[0]
    assert np.allclose([leaf.low, leaf.high], [low[0], high[0]], atol=1e-9)
    found = {"people": SMALL, "seconds": statistics.median(mine), "interval": [leaf.low, leaf.high]}
    if theirs:
        counted = bootstrap(yes, size, SMALL, 100_000, np.random.default_rng(0))
        low, high = theirs[0]["intervals"][0]
        seconds = statistics.median(run["boot_seconds"] for run in theirs)
        off = max(abs(low - counted[0][0]), abs(high - counted[1][0])) / (high - low)
        found |= {"fairlearn_seconds": seconds, "fairlearn_interval": [low, high], "off_by_widths": off}
        found["times_faster"] = seconds / found["seconds"]
    return found


def ratios(pythons: dict[str, str | Absent], repetitions: int) -> dict[str, Any]:
    """The ratio of the rates of a large table, exact in all tools, and what each took."""
    table = people(LARGE)
    mine: list[float] = []
    theirs: dict[str, list[dict[str, Any]]] = {}
    for _ in range(repetitions):
        began = time.process_time()
        verdict = iso.check("P[yes == 1 | group == 0] / P[yes == 1 | group == 1] >= 0.8", population=iso.Census(table))
        mine.append(time.process_time() - began)
        for tool, python in pythons.items():
            if not isinstance(python, Absent):
                theirs.setdefault(tool, []).append(run_peer(python, "group_rates.py", job(table, 0, [tool]))[tool])
    low, high = (leaf.estimate or 0.0 for leaf in verdict.leaves)
    found: dict[str, Any] = {
        "people": LARGE,
        "ratio": low / high,
        "seconds": statistics.median(mine),
        "peers": {},
    }
    for tool, runs in theirs.items():
        ratio = runs[0]["ratio"] if "ratio" in runs[0] else runs[0]["rates"][0] / runs[0]["rates"][1]
        found["peers"][tool] = {"ratio": ratio, "seconds": statistics.median(run["seconds"] for run in runs)}
    return found


def show(found: dict[str, Any]) -> None:
    """Everything as tables."""
    kinds = ("ours", "once", "bootstrap")
    print(f"{'rate':>5} {'people':>7}   {'width:':>7}{''.join(f'{kind:>11}' for kind in kinds)}   coverage, in turn")
    for row in found["fixed"]:
        widths = "".join(f"{row[f'{kind}_width']:>11.4f}" for kind in kinds)
        held = "".join(f"{row[f'{kind}_coverage']:>8.1%}" for kind in kinds)
        print(f"{row['rate']:>5} {row['people']:>7,}   {'':>7}{widths}   {held}")
    for row in found["peeking"]:
        if row["look"] in (1, 3, 10, 30, 100):
            print(f"missed at one of {row['look']:>3} looks: ours {row['ours']:.1%}, bootstrap {row['bootstrap']:.1%}")
    timed = found["intervals"]
    print(f"interval from {timed['people']:,} people: ours {1000 * timed['seconds']:.1f} ms", end="")
    if "fairlearn_seconds" in timed:
        print(
            f", Fairlearn with {N_BOOT:,} resamples {timed['fairlearn_seconds']:.2f} s: {timed['times_faster']:,.0f} "
            f"times ours; its ends are within {timed['off_by_widths']:.3f} widths of the bootstrap by counts",
            end="",
        )
    exact = found["ratios"]
    print(
        f"\nratio of {exact['people']:,} people: ours {exact['ratio']:.6f} in {1000 * exact['seconds']:.1f} ms", end=""
    )
    for tool, peer in exact["peers"].items():
        print(f", {tool} {peer['ratio']:.6f} in {1000 * peer['seconds']:.1f} ms", end="")
    print()
    _show_verdicts(found["verdicts"])
    for line in found["skipped"]:
        print(f"skipped {line}")


def _show_verdicts(found: dict[str, Any]) -> None:
    held, wrong, flags, timed = (found[part] for part in ("coverage", "streams", "flags", "timed"))
    print(f"the ratio's interval holds 1, equal rates: ours {held['ours']}, vfairness {held['vfairness']}", end="")
    print(f" of {held['tables']} tables of {found['people']:,}")
    print(f"the first answer in {found['looks']} looks is wrong, of {wrong['streams']} streams:", end="")
    print(f" ours {wrong['ours']}, vfairness {wrong['vfairness']}")
    print(f"some group flagged, of {flags['tables']} tables: {flags['equal']} (equal), {flags['apart']} (0.24 and 0.3)")
    print(f"equal rates told apart at one of {found['looks']} looks: {found['sequential']}")
    print(f"one verdict: {timed}")
    for tool, guarantee in found["guarantees"].items():
        print(f"guarantee of {tool}: {guarantee}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--resamples", type=int, default=1_000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--tables", type=int, default=60)
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/rates_peers.json"))
    parser.add_argument("--chart", type=Path, default=Path("docs/images/peeking.svg"))
    add_option(parser)
    arguments = parser.parse_args()
    pythons = {tool: python_with(tool, arguments.peers_python) for tool in PEERS}
    trials = Trials(arguments.tables, arguments.streams, arguments.repetitions)
    setting = Setting(arguments.runs, arguments.resamples)
    found: dict[str, Any] = {
        "delta": DELTA,
        "fixed": fixed(setting),
        "peeking": peeking(setting),
        "intervals": intervals(pythons["fairlearn"], arguments.repetitions),
        "ratios": ratios({tool: pythons[tool] for tool in ("fairlearn", "aif360")}, arguments.repetitions),
        "verdicts": verdicts(pythons, trials),
        "skipped": [f"{tool}: {python.reason}" for tool, python in pythons.items() if isinstance(python, Absent)],
    }
    show(found)
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    chart(found).save(str(arguments.chart))
    for tool, part in (("Fairlearn", found["intervals"]), ("vfairness", found["verdicts"]["timed"])):
        off = part.get("off_by_widths", 0.0)
        if off > TOLERANCE:
            sys.exit(f"{tool}'s intervals are not the bootstrap by counts: {off:.3f} widths")


if __name__ == "__main__":
    main()
