"""``python -m benchmarks``: what it runs, what it tells, and that one failure does not stop the others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.catalogue import BENCHMARKS, ELSEWHERE, Benchmark
from benchmarks.figure import Figure, duration, times
from benchmarks.figures_peers import rates, reachable_sets, relations
from benchmarks.peers.running import Absent, python_with, run_peer
from benchmarks.rates_peeking import QUANTILES, bootstrap
from benchmarks.rates_verdicts import ratio_bootstrap
from benchmarks.running import run
from benchmarks.table import markdown, printed

ROOT = Path(__file__).resolve().parents[2]


def test_every_program_is_in_the_catalogue_or_is_left_out_with_a_reason() -> None:
    programs = {path.stem for path in (ROOT / "benchmarks").glob("*.py") if "__main__" in path.read_text("utf-8")}
    named = {benchmark.name for benchmark in BENCHMARKS}
    assert programs - {"__main__"} <= named | set(ELSEWHERE)
    assert named <= programs


def test_a_benchmark_that_crashes_is_told_and_has_no_figures(tmp_path: Path) -> None:
    outcome = run(Benchmark("no_such_program", lambda _: []), False, tmp_path, tmp_path, None)
    assert "no_such_program" in outcome.failed
    assert outcome.figures == ()
    assert outcome.word.startswith("FAILED")


def test_figures_that_a_program_did_not_write_are_a_failure_and_not_an_end(tmp_path: Path) -> None:
    outcome = run(Benchmark("overhead", lambda _: [], "--help"), False, tmp_path, tmp_path, None)
    assert outcome.failed == "it wrote no figures"


def test_without_data_a_benchmark_is_skipped_with_the_reason(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks", "--only", "student", "nomos", "--out", str(tmp_path)]
    given = {**os.environ, "ISONOMIA_DATA": str(tmp_path / "nothing")}
    done = subprocess.run(command, cwd=ROOT, env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "skipped in student: student is not below ISONOMIA_DATA" in done.stdout
    written = json.loads((tmp_path / "benchmarks.json").read_text("utf-8"))
    assert [run["benchmark"] for run in written["runs"]] == ["nomos", "student"]
    assert written["figures"] == []
    assert written["machine"]["cores"] >= 1
    assert "numpy" in written["machine"]["versions"]


def test_an_unknown_name_is_refused_with_those_there_are() -> None:
    command = [sys.executable, "-m", "benchmarks", "--only", "sped"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "there is no benchmark 'sped'" in done.stderr
    assert "speed" in done.stderr


def test_a_peer_that_is_absent_says_how_to_install_it() -> None:
    absent = python_with("no_such_peer", None)
    assert isinstance(absent, Absent)
    assert "pip install -r benchmarks/peers/requirements.txt" in absent.reason
    nowhere = python_with("reachml", "/nowhere/python")
    assert isinstance(nowhere, Absent)
    assert "/nowhere/python" in nowhere.reason


def test_the_first_python_that_has_a_peer_is_taken() -> None:
    assert python_with("numpy", os.pathsep.join(["/nowhere/python", sys.executable])) == sys.executable


def test_a_peer_program_that_fails_gives_the_end_of_what_it_said() -> None:
    with pytest.raises(RuntimeError, match="KeyError: 'nobody'"):
        run_peer(sys.executable, "group_rates.py", {"tools": ["nobody"]}, limit=60)


def test_a_table_has_a_line_for_each_figure_and_its_program() -> None:
    lines = [(Figure("work", "1 s", "peer 10 s", 10.0, "below 2 s"), "speed"), (Figure("more | work", "3"), "reach")]
    head, rule, first, second = printed(lines).splitlines()
    assert head.startswith("what")
    assert set(rule) == {"-"}
    assert first.split() == ["work", "1", "s", "peer", "10", "s", "10x", "below", "2", "s", "speed"]
    assert second.endswith("reach")
    assert "| more \\| work | 3 |  |  |  | reach |" in markdown(lines)


def test_numbers_are_short_and_keep_what_they_mean() -> None:
    assert [duration(t) for t in (2e-5, 0.0123, 4.56, 587.2)] == ["20 us", "12.3 ms", "4.6 s", "587 s"]
    assert [times(r) for r in (0.294, 1.5, 22.4, 1234.0, None)] == ["0.29x", "1.5x", "22x", "1,234x", ""]


def test_a_peer_that_is_better_has_a_ratio_below_one_and_a_wrong_one_is_named() -> None:
    peer = {"solver": "scip", "seconds": 0.5, "times_faster": 0.5, "wrong_sets": 3, "sets_with_doubles": 0}
    row = {"data": "made up", "people": 3, "points": 9, "seconds": 1.0, "peers": [peer]}
    (figure,) = reachable_sets({"rows": [row]})
    assert figure.ratio == 0.5
    assert "WRONG for 3 people" in figure.peer


def test_without_peers_the_lines_have_only_our_own_figures() -> None:
    fixed = [
        {"rate": rate, "people": people, "ours_width": 0.2, "ours_coverage": 1.0, "bootstrap_width": 0.1}
        | {"bootstrap_coverage": 0.94, "once_width": 0.125, "once_coverage": 0.96}
        for rate, people in ((0.3, 2_000), (0.05, 100))
    ]
    found = {"delta": 0.05, "peeking": [{"look": 9, "ours": 0.0, "bootstrap": 0.3}], "fixed": fixed}
    alone = {"intervals": {"people": 9, "seconds": 0.1}, "ratios": {"people": 9, "seconds": 0.1, "peers": {}}}
    verdicts = {
        "people": 9,
        "looks": 2,
        "coverage": {"tables": 3, "ours": 3, "vfairness": 0},
        "streams": {"streams": 3, "ours": 0, "vfairness": 1},
        "sequential": {"streams": 3, "ours": 0},
        "flags": {"tables": 3, "equal": {"ours": 0}, "apart": {"ours": 2}},
        "timed": {"seconds": 0.1},
    }
    figures = list(rates({**found, **alone, "verdicts": verdicts}))
    assert [figure.ratio for figure in figures] == [None, 0.8, 0.5, 0.8, 0.5, None, *[None] * 6]
    assert [figure.peer for figure in figures[-6:]] == ["vfairness 0 of 3", "vfairness 1 of 3", "", "", "", ""]
    assert list(relations({"seconds": {"ours": 0.1}, "rows": [{"defect": "inside", "ours": {}}]})) == []


def test_the_bootstrap_by_counts_has_the_quantiles_of_drawing_all_rows_again() -> None:
    rng = np.random.default_rng(0)
    group, yes = (rng.random(300) < 0.5).astype(int), (rng.random(300) < 0.3).astype(int)
    again = rng.integers(0, 300, size=(20_000, 300))
    drawn, hits = group[again], (group * yes)[again]
    plain = np.quantile(hits.sum(axis=1) / drawn.sum(axis=1), QUANTILES)
    counts = (np.asarray([float(total)]) for total in ((group * yes).sum(), group.sum()))
    low, high = bootstrap(*counts, 300, 20_000, rng)
    assert np.allclose([low[0], high[0]], plain, atol=0.1 * (plain[1] - plain[0]))


def test_the_bootstrap_of_a_ratio_by_counts_has_the_quantiles_of_drawing_each_group_again() -> None:
    rng = np.random.default_rng(0)
    groups = [(rng.random(size) < rate).astype(int) for size, rate in ((140, 0.3), (160, 0.35))]
    drawn = [group[rng.integers(0, len(group), size=(20_000, len(group)))].mean(axis=1) for group in groups]
    plain = np.quantile(np.minimum(*drawn) / np.maximum(*drawn), QUANTILES)
    yes, sizes = (np.asarray([float(of(group)) for group in groups]) for of in (np.sum, len))
    assert np.allclose(ratio_bootstrap(yes, sizes, 20_000, rng), plain, atol=0.1 * (plain[1] - plain[0]))
