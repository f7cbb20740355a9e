"""Executors: the same verdict wherever a check runs, and what more workers are worth.

    python -m benchmarks.executors [--only equality kills efficiency computed files slow]
        [--engines threads processes dask ray]
        [--workers 1 2 5] [--processes 1 2 4 8 16] [--samples 6400000] [--rows 10000000] [--json FILE]

- **equality**: forty-seven checks over the four audits (``benchmarks.executor_checks``) with each engine and number of
  workers, compared bit for bit with the check that has no executor.
- **kills**: a worker is killed (SIGKILL) in the middle of a check, ten times for each engine that has processes.
- **efficiency**: a model that computes for 10 ms a thousand rows. Overhead is what one process takes longer than no
  executor; the share of linear is the time of one process, divided by the number of processes and by their time.
- **computed**: what the caller and the workers compute, in seconds of processors, of a k-safety check whose function
  takes 1 ms a case, and of people who can reach two million points, under a rule that takes 1 us a point.
- **files**: an exact check of a folder of Parquet files, whose row groups the workers read for themselves.
- **slow**: a model of one second a call, by eight threads, for 20 s: about how many people it was asked.

What an engine needs that is not installed is said, and skipped. Pools are warm: starting processes is not measured.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import isonomia as iso
from benchmarks.executor_checks import CHECKS, FUNCTIONS, PEOPLE, SPEC, climbs, lends, plain, run
from isonomia.executors import TaskContext, close_pools, pool_for
from isonomia.interventions import Feature, Interventions, Linear, Predicate
from isonomia.models.protocol import Answer
from isonomia.populations.domains import Function

PARTS = ("equality", "kills", "efficiency", "computed", "files", "slow")
NEEDED = {"dask": "distributed", "ray": "ray", "loky": "loky"}
RATIO = "P[prediction == 1 | woman == 1] / P[prediction == 1 | woman == 0] >= 0.8"
KILLS = 10

Row = dict[str, Any]


# ------------------------------------------------------------------------------------------------------------- equality


def equality(engines: Sequence[str], workers: Sequence[int]) -> Iterator[Row]:
    """Every check with every engine and number of workers."""
    alone = {name: run(name, None) for name in CHECKS}
    for engine in engines:
        for count in workers:
            began, other = time.perf_counter(), []
            for name, expected in alone.items():
                if run(name, f"{engine}:{count}") != expected:
                    other.append(name)
            close_pools()
            seconds = time.perf_counter() - began
            yield {"engine": engine, "workers": count, "checks": len(alone), "differ": other, "seconds": seconds}


# ---------------------------------------------------------------------------------------------------------------- kills


@dataclass(slots=True)
class Deadly:
    """A model whose worker is killed once, at a call of its own that is not the first."""

    mark: Path
    after: int
    main: int = field(default_factory=os.getpid)
    name: str = "deadly"
    score_range: None = None
    classes: tuple[Any, ...] = ()
    _calls: int = 0

    def answer(self, table: Any, *, want_score: bool, want_prediction: bool) -> Answer:
        """Answer, unless it is time to die."""
        del want_score, want_prediction
        self._calls += 1
        if os.getpid() != self.main and self._calls >= self.after and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return Answer(lends(table.native))

    def fingerprint(self) -> str:
        """The same wherever it is."""
        return "d" * 64


DYING = ("rates: ratio 0.9 of a generator", "rates: ratio 0.9 of a sample", "principal: definition 3, drawn")


def kills(engines: Sequence[str], workers: int = 2) -> Iterator[Row]:
    """Ten kills for each engine, in the middle of checks of different kinds."""
    for engine in engines:
        if engine == "threads":
            continue  # a thread cannot be killed
        began, killed, differ = time.perf_counter(), 0, []
        for number in range(KILLS):
            name = DYING[number % len(DYING)]
            with tempfile.TemporaryDirectory() as folder:
                deadly = Deadly(Path(folder) / "mark", 2 + number)
                found = run(name, f"{engine}:{workers}", model=deadly)
                killed += deadly.mark.exists()
                if found != run(name, None, model=Deadly(Path(folder) / "mark", 2)):
                    differ.append(name)
        close_pools()
        yield {
            "engine": engine,
            "workers": workers,
            "killed": killed,
            "differ": differ,
            "seconds": time.perf_counter() - began,
        }


# ----------------------------------------------------------------------------------------------------------- efficiency


def costly(table: Any) -> Any:
    """Compute for ten microseconds a row, by the processor's own clock."""
    income = np.asarray(table["income"])
    until = time.thread_time() + 1e-5 * len(income)
    while time.thread_time() < until:
        pass
    return (income > 0.3).astype(int)


def numbers(n: int, rng: np.random.Generator) -> dict[str, Any]:
    """People of two columns of numbers."""
    return {"woman": rng.integers(0, 2, n), "income": rng.random(n)}


def efficiency(processes: Sequence[int], samples: int) -> Iterator[Row]:
    """One long check with more and more processes; first with no executor."""

    def timed(executor: str | None, budget: int) -> tuple[float, Any]:
        began = time.perf_counter()
        options: dict[str, Any] = {"stop": "all", "budget": budget, "features": ["income"], "seed": 1}
        found = iso.check(RATIO, costly, iso.Generator(numbers), executor=executor, **options)
        return time.perf_counter() - began, found

    timed(None, 2000)
    alone, expected = timed(None, samples)
    yield {"processes": 0, "samples": samples, "seconds": alone, "same": True}
    for count in processes:
        warm(f"processes:{count}", count)
        timed(f"processes:{count}", 2000 * count)
        seconds, found = timed(f"processes:{count}", samples)
        close_pools()
        same = plain(found) == plain(expected)
        yield {"processes": count, "samples": samples, "seconds": seconds, "same": same}


def warm(executor: str | None, count: int) -> None:
    """Let every process begin and import what it needs."""
    pool = pool_for(executor)
    if pool is not None:
        list(pool.begin(_imported, TaskContext(None, "nothing"), range(4 * count), [1] * (4 * count)).results())


def _imported(_: None, number: int) -> int:
    import isonomia.audits.check
    import isonomia.audits.pieces
    import isonomia.audits.rates.census

    if find_spec("pyarrow") is not None:
        import isonomia.populations.datasets  # noqa: F401
    time.sleep(0.1)  # so that the others get their share
    return number


def shares(rows: Sequence[Row]) -> None:
    """Add the overhead of one process, and each number's share of linear."""
    alone = next(row["seconds"] for row in rows if row["processes"] == 0)
    one = next((row["seconds"] for row in rows if row["processes"] == 1), alone)
    for row in rows:
        if row["processes"]:
            row["share_of_linear"] = one / (row["processes"] * row["seconds"])
            row["overhead"] = row["processes"] * row["seconds"] / alone - 1.0


# ------------------------------------------------------------------------------------------------------------- computed


def busy(row: Any) -> int:
    """A function of one case that computes for a millisecond."""
    until = time.thread_time() + 1e-3
    while time.thread_time() < until:
        pass
    return int(row["age"])


def slow_rule(before: Any, after: Any) -> Any:
    """A rule of a user that computes for a microsecond a point."""
    until = time.thread_time() + 1e-6 * len(after["step0"])
    while time.thread_time() < until:
        pass
    return (after["step0"] * after["step1"] <= 20) | (before["step0"] == after["step0"])


def computed(processes: Sequence[int]) -> Iterator[Row]:
    """Who computes how long: this process, and its workers."""
    spec = iso.safety.property(
        SPEC.format(before="var extra := busy(x1);", more=" && extra >= 18").replace("predict(", "age("),
        functions={**FUNCTIONS, "busy": Function(busy, 1, "number", single=True)},
        enumerate=False,
    )
    names = tuple(f"step{number}" for number in range(6))
    rules = (
        Linear(names, (1.0,) * 6, "<=", 17.0),
        Predicate(test=slow_rule, names=names),
    )
    coupled = Interventions(tuple(Feature(name, "integer", 0, 5) for name in names), rules)
    rng = np.random.default_rng(0)
    people = {name: rng.integers(0, 3, 60) for name in names}
    work: dict[str, tuple[Any, ...]] = {
        "cases": (spec, None, iso.Census(PEOPLE)),
        "people": (iso.Responsiveness(coupled, 1, at_least=0.05, most_listed=10**6), climbs, iso.Census(people)),
    }
    for name, arguments in work.items():
        expected: Any = None
        for count in (0, *processes):
            executor = f"processes:{count}" if count else None
            warm(executor, count)
            began, own, theirs = time.perf_counter(), time.process_time(), _of_workers(executor)
            found = iso.check(*arguments, seed=1, executor=executor)
            row = {"what": name, "processes": count, "samples": found.samples}
            row |= {"seconds": time.perf_counter() - began, "caller": time.process_time() - own}
            row["workers"] = [after - before for before, after in zip(theirs, _of_workers(executor), strict=True)]
            close_pools()
            expected = expected or plain(found)
            yield {**row, "same": plain(found) == expected}


def _of_workers(executor: str | None) -> list[float]:
    """The processor time of each process of a pool so far; only where the system tells it."""
    pool = pool_for(executor)
    processes: Any = getattr(getattr(pool, "_executor", None), "_processes", None) or {}
    files = [Path(f"/proc/{number}/stat") for number in sorted(processes)]
    ticks = [file.read_text().rpartition(")")[2].split()[11:13] for file in files if file.exists()]
    return [sum(map(int, pair)) / os.sysconf("SC_CLK_TCK") for pair in ticks]


# ---------------------------------------------------------------------------------------------------------------- files


def written(folder: Path, rows: int) -> None:
    """A folder of Parquet files, of half a million rows each, in row groups of a quarter of a million or so."""
    import pyarrow as pa
    from pyarrow import parquet

    each = 2**19
    for number, start in enumerate(range(0, rows, each)):
        rng = np.random.default_rng(number)
        n = min(each, rows - start)
        columns = {**numbers(n, rng), "age": rng.integers(18, 80, n), "region": rng.choice(["N", "E", "S", "W"], n)}
        parquet.write_table(pa.table(columns), folder / f"{number:03}.parquet", row_group_size=2**18)


def plain_model(table: Any) -> Any:
    """A model that is hardly there."""
    return (np.asarray(table["income"]) > 0.3).astype(int)


def files(processes: Sequence[int], rows: int) -> Iterator[Row]:
    """An exact check of a folder, fingerprint of the rows included, with a model that costs next to nothing."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        written(folder, rows)
        expected: Any = None
        for count in (0, *processes):
            executor = f"processes:{count}" if count else None
            warm(executor, count)
            began = time.perf_counter()
            options: dict[str, Any] = {"seed": 1, "executor": executor, "features": ["income"]}
            found = iso.check(RATIO, plain_model, iso.Census(folder), **options)
            seconds = time.perf_counter() - began
            expected = expected or plain(found)
            close_pools()
            same = plain(found) == expected
            yield {"processes": count, "rows": rows, "seconds": seconds, "rows_a_second": rows / seconds, "same": same}


# ----------------------------------------------------------------------------------------------------------------- slow


def late(table: Any) -> Any:
    """A model of one second a call, however many rows it is asked about."""
    time.sleep(1.0)
    return (np.asarray(table["income"]) > 0.5).astype(int)


def slow(seconds: int = 20) -> Iterator[Row]:
    """About how many people a slow model is asked in a given time."""
    for executor in (None, "threads:1", "threads:8"):
        options: dict[str, Any] = {"stop": "all", "budget": f"1e6, {seconds}s", "seed": 1, "random_model": True}
        found = iso.check("P[prediction == 1] >= 0.4", late, iso.Generator(numbers), executor=executor, **options)
        close_pools()
        yield {"executor": executor or "none", "seconds": found.seconds, "people": found.samples}


# ----------------------------------------------------------------------------------------------------------------- main


def _told(part: str, row: Row) -> str:
    shown = {key: f"{value:.3g}" if isinstance(value, float) else value for key, value in row.items()}
    return f"{part}: " + ", ".join(f"{key} {value}" for key, value in shown.items())


def _available(engines: Sequence[str]) -> list[str]:
    found = []
    for engine in engines:
        package = NEEDED.get(engine)
        if package is not None and find_spec(package) is None:
            print(f"{engine} is left out: {package} is not installed", file=sys.stderr)
        else:
            found.append(engine)
    return found


def main() -> int:
    """Run the parts that are wanted; 1 where any verdict differed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--engines", nargs="+", default=["threads", "processes", "dask", "ray"])
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2, 5])
    parser.add_argument("--processes", nargs="+", type=int, default=[1, 2, 4, 8, 16])
    parser.add_argument("--samples", type=int, default=6_400_000)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    engines = _available(options.engines)
    parts: dict[str, Callable[[], Iterator[Row]]] = {
        "equality": lambda: equality(engines, options.workers),
        "kills": lambda: kills(engines),
        "efficiency": lambda: efficiency(options.processes, options.samples),
        "computed": lambda: computed(options.processes),
        "files": lambda: files(options.processes, options.rows),
        "slow": slow,
    }
    found: dict[str, list[Row]] = {}
    for part in PARTS:
        if part in options.only:
            found[part] = []
            for row in parts[part]():
                found[part].append(row)
                if part == "efficiency":
                    shares(found[part])
                print(_told(part, row), flush=True)
            if options.json is not None:
                options.json.write_text(json.dumps(found, indent=1), "utf-8")
    wrong = [row for rows in found.values() for row in rows if row.get("differ") or row.get("same") is False]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
