"""How many small mistakes in the evidence room its tests notice.

    python -m benchmarks.mutation [--sample 300] [--seed 1] [--workers 1] [--after FILE]
                                  [--json benchmarks/results/mutation.json]

A mutant is a copy of the program with one small change (:mod:`benchmarks.mutants`). The fast tests run once with branch
coverage, which tells for every line the tests that reach it and how long each takes. Then a sample is drawn, evenly
over all mutants of the room, and for each mutant the tests that reach its line run, the quickest first, until one
fails. A mutant that makes a test fail, or hang, is killed; one that none notices survives. The tests run on a copy of
the tree in a temporary folder, so that work on the tree meanwhile does no harm, and nothing is left behind.
"""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks.mutants import Mutant, mutants_of

ROOM = "isonomia.evidence"

TESTS = (
    "tests/unit/evidence",
    "tests/properties/test_evidence_agreement.py",
    "tests/properties/test_evidence_bets.py",
    "tests/properties/test_evidence_formulas.py",
    "tests/properties/test_identified_properties.py",
    "tests/oracle/test_exact_intervals_oracle.py",
    "tests/oracle/test_mixture_oracle.py",
    "tests/oracle/test_planning_oracle.py",
    "tests/oracle/test_principal_bounds_oracle.py",
    "tests/oracle/test_principal_repair_oracle.py",
    "tests/oracle/test_region_ends_oracle.py",
    "tests/oracle/test_repair_under_assumptions_oracle.py",
    "tests/oracle/test_identified_oracle.py",
    "tests/oracle/test_stakes_oracle.py",
    "tests/oracle/test_verifair_oracle.py",
)
"""The fast tests about the room; the slow ones, of error rates, are left out."""

MOST_SECONDS = 60.0
"""Of the tests that reach a mutant, the quickest that together take no longer than this."""

SLOWER = 5.0
"""A mutant that takes this many times as long as its tests do, and some seconds for the start, hangs."""

START = 20.0

ALIVE = {"survived", "unreached"}

NOT_IMPORTED = 99


@dataclass(frozen=True, slots=True)
class Baseline:
    """What the tests do on the program as it is: which of them reach each line of a module, and their seconds."""

    reached: Mapping[str, Mapping[int, frozenset[str]]]
    seconds: Mapping[str, float]

    def tests_for(self, mutant: Mutant) -> list[str]:
        """The tests that reach the lines of a mutant, the quickest first, within ``MOST_SECONDS``."""
        lines = self.reached.get(mutant.module, {})
        found = {test for line in range(mutant.line, mutant.end + 1) for test in lines.get(line, ())}
        chosen, total = [], 0.0
        for test in sorted(found, key=lambda test: (self.seconds.get(test, 0.0), test)):
            total += self.seconds.get(test, 0.0)
            if total > MOST_SECONDS and chosen:
                break
            chosen.append(test)
        return chosen


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a mutant: ``killed``, ``hung``, ``survived``, or ``unreached`` where no test comes to its line."""

    mutant: Mutant
    fate: str
    seconds: float


class Timing:
    """A plugin of pytest that notes how long each test takes, and runs the quickest first where that is known."""

    def __init__(self, known: Mapping[str, float]) -> None:
        self.known = known
        self.seconds: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up the set-up, the call and the tear-down."""
        self.seconds[report.nodeid] += report.duration

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Order the tests by what they took before."""
        items.sort(key=lambda item: self.known.get(item.nodeid, 0.0))


class Changed(importlib.abc.MetaPathFinder, importlib.machinery.SourceFileLoader):
    """Import one module from a changed source, whatever its file says."""

    def __init__(self, mutant: Mutant, path: Path) -> None:
        super().__init__(mutant.module, str(path))
        self.mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Claim the one module."""
        del path, target
        if fullname != self.mutant.module:
            return None
        locations = [str(Path(self.path).parent)] if self.path.endswith("__init__.py") else None
        return importlib.util.spec_from_file_location(
            fullname, self.path, loader=self, submodule_search_locations=locations
        )

    def get_code(self, fullname: str) -> object:
        """Compile the changed source; nothing is cached."""
        del fullname
        return compile(self.mutant.source, self.path, "exec")


def main() -> None:
    """Draw the sample, run it, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--only", default="", help="modules whose name contains this")
    parser.add_argument("--after", type=Path, help="an earlier run's JSON: what it killed is not run again")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/mutation.json"))
    options = parser.parse_args()
    target, started = options.json.resolve(), time.perf_counter()
    options.after = options.after and options.after.resolve()
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        copy_tree(Path.cwd(), Path(folder))
        os.chdir(folder)
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # a plugin could import the room before the mutant is there
        sys.path.insert(0, str(Path(folder, "src")))
        everything = [mutant for mutant in all_mutants() if options.only in mutant.module]
        sample = chosen(everything, options.sample, options.seed)
        outcomes = dead_before(sample, options.after)
        known = {outcome.mutant.key for outcome in outcomes}
        baseline = measure(Path(folder))
        preload()
        check_unchanged(everything[0], baseline)
        outcomes += run_all([mutant for mutant in sample if mutant.key not in known], baseline, options.workers)
        os.chdir(target.parent)
    report(outcomes, len(everything), time.perf_counter() - started, target, options.seed)


def chosen(everything: Sequence[Mutant], size: int, seed: int) -> list[Mutant]:
    """A sample, evenly over all mutants; most of it stays the same when a part of the room is written again."""
    return sorted(everything, key=lambda mutant: sha256(f"{seed} {mutant.key}".encode()).digest())[:size]


def dead_before(sample: Sequence[Mutant], earlier: Path | None) -> list[Outcome]:
    """The mutants that an earlier run saw killed; tests that were added since can only kill more."""
    if earlier is None:
        return []
    rows = json.loads(earlier.read_text(encoding="utf-8"))["outcomes"]
    dead = {row["key"]: row for row in rows if row["fate"] not in ALIVE}
    return [Outcome(m, dead[m.key]["fate"], dead[m.key]["seconds"]) for m in sample if m.key in dead]


def copy_tree(root: Path, folder: Path) -> None:
    """Copy what the tests need; settings of plugins, which are not loaded, stay behind."""
    for name in ("src", "tests", "benchmarks"):
        shutil.copytree(root / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "results"))
    (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\nfilterwarnings = error\n", encoding="utf-8")


def all_mutants() -> list[Mutant]:
    """Every mutant of the room, in the order of its files."""
    files = sorted(Path("src", *ROOM.split(".")).rglob("*.py"))
    names = [path.parent if path.name == "__init__.py" else path.with_suffix("") for path in files]
    return [
        mutant
        for path, name in zip(files, names, strict=True)
        for mutant in mutants_of(".".join(name.parts[1:]), path.read_text(encoding="utf-8"))
    ]


def measure(folder: Path) -> Baseline:
    """Run the tests once, as they are; a failure ends everything."""
    notes = folder / "baseline.json"
    child = os.fork()
    if child == 0:
        timing = Timing({})
        wanted = ["-p", "pytest_cov.plugin", f"--cov={ROOM}", "--cov-branch", "--cov-context=test", "--cov-report="]
        code = pytest.main([*ALONE, *wanted, *TESTS], plugins=[timing])
        notes.write_text(json.dumps(timing.seconds), encoding="utf-8")
        os._exit(int(code))
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise SystemExit("expected every test to pass on the program as it is, but one failed: see above")
    return Baseline(reached_lines(folder / ".coverage"), json.loads(notes.read_text(encoding="utf-8")))


ALONE = ["-q", "-p", "no:cacheprovider", "--import-mode=importlib"]
"""Every run of pytest: one process, nothing written."""


def reached_lines(path: Path) -> dict[str, dict[int, frozenset[str]]]:
    """For each module and line, the tests that reach it; lines run on import count for every test of the module."""
    from coverage import CoverageData

    data = CoverageData(str(path))
    data.read()
    found: dict[str, dict[int, frozenset[str]]] = {}
    for file in data.measured_files():
        parts = Path(file).with_suffix("").parts
        module = ".".join(parts[len(parts) - parts[::-1].index("isonomia") - 1 :]).removesuffix(".__init__")
        by_line = data.contexts_by_lineno(file)
        named = {line: frozenset(context.split("|")[0] for context in by_line[line] if context) for line in by_line}
        anything = frozenset(test for tests in named.values() for test in tests)
        found[module] = {line: tests or anything for line, tests in named.items()}
    return found


def run_all(sample: Sequence[Mutant], baseline: Baseline, workers: int) -> list[Outcome]:
    """Run every mutant in a process of its own, some at a time."""
    running: dict[int, tuple[Mutant, float, float]] = {}
    outcomes: list[Outcome] = []
    waiting = list(reversed(sample))
    while waiting or running:
        while waiting and len(running) < workers:
            mutant = waiting.pop()
            tests = baseline.tests_for(mutant)
            if not tests:
                outcomes.append(Outcome(mutant, "unreached", 0.0))
                continue
            allowed = START + SLOWER * sum(baseline.seconds.get(test, 0.0) for test in tests)
            running[start(mutant, tests, baseline.seconds)] = (mutant, time.perf_counter(), allowed)
        time.sleep(0.02)
        for process in list(running):
            fate = look(process, *running[process][1:])
            if fate:
                mutant, since, _ = running.pop(process)
                outcomes.append(Outcome(mutant, fate, time.perf_counter() - since))
                show(outcomes[-1], len(outcomes), len(sample))
    return outcomes


def preload() -> None:
    """Import what no mutant changes, once for all."""
    for name in ("numpy", "scipy.optimize", "scipy.special", "scipy.stats", "hypothesis", "isonomia.spec.parser"):
        importlib.import_module(name)
    stale = [name for name in sys.modules if name.startswith(ROOM)]
    if stale:
        raise SystemExit(f"expected nothing of {ROOM} to be imported yet, but {stale[0]} was")


def check_unchanged(mutant: Mutant, baseline: Baseline) -> None:
    """See that the program as it is survives when it is run just as a mutant is."""
    same = replace(mutant, source=source_file(mutant).read_text(encoding="utf-8"))
    if os.waitpid(start(same, list(baseline.seconds), baseline.seconds), 0)[1]:
        raise SystemExit("expected every test to pass on an unchanged program in a process of its own, but one failed")


def source_file(mutant: Mutant) -> Path:
    """Where a mutant's module is read from."""
    path = Path("src", *mutant.module.split(".")).resolve()
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def start(mutant: Mutant, tests: Sequence[str], seconds: Mapping[str, float]) -> int:
    """Fork; the child imports the mutant and runs the tests until one fails."""
    process = os.fork()
    if process:
        return process
    os.setsid()
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    sys.meta_path.insert(0, Changed(mutant, source_file(mutant)))
    code = 1
    try:
        code = int(pytest.main([*ALONE, "-x", *tests], plugins=[Timing(seconds)]))
        if code == 0 and not isinstance(sys.modules[mutant.module].__loader__, Changed):
            code = NOT_IMPORTED
    finally:
        os._exit(code)


def look(process: int, since: float, allowed: float) -> str | None:
    """The fate of a process, ``None`` while it runs."""
    done, status = os.waitpid(process, os.WNOHANG)
    if done and os.waitstatus_to_exitcode(status) == NOT_IMPORTED:
        raise SystemExit("expected the tests to import a mutant, but they imported the module's file")
    if done:
        return "killed" if status else "survived"
    if time.perf_counter() - since < allowed:
        return None
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return "hung"


def show(outcome: Outcome, count: int, of: int) -> None:
    """One line a survivor, as they come."""
    mutant = outcome.mutant
    if outcome.fate in ALIVE:
        change = f"{mutant.before!r} -> {mutant.after!r}"
        print(f"[{count}/{of}] {outcome.fate}: {mutant.module}:{mutant.line} {mutant.operator}: {change}", flush=True)
    elif count % 25 == 0:
        print(f"[{count}/{of}]", flush=True)


def report(outcomes: Sequence[Outcome], mutants: int, seconds: float, target: Path, seed: int) -> None:
    """Print a table by kind of change, and write everything."""
    by_kind: dict[str, Counter[str]] = defaultdict(Counter)
    for outcome in outcomes:
        by_kind[outcome.mutant.operator][outcome.fate] += 1
        by_kind["all"][outcome.fate] += 1
    print(f"{'change':12} {'mutants':>8} {'killed':>8} {'hung':>6} {'survived':>9} {'unreached':>10} {'share':>7}")
    for kind, fates in sorted(by_kind.items(), key=lambda item: (item[0] == "all", item[0])):
        dead, of = fates["killed"] + fates["hung"], fates.total()
        row = f"{of:8} {fates['killed']:8} {fates['hung']:6} {fates['survived']:9} {fates['unreached']:10}"
        print(f"{kind:12} {row} {dead / of:7.1%}")
    print(f"{len(outcomes)} of {mutants} mutants, seed {seed}, {seconds:.0f} s")
    rows = [
        {
            "module": o.mutant.module,
            "line": o.mutant.line,
            "operator": o.mutant.operator,
            "before": o.mutant.before,
            "after": o.mutant.after,
            "fate": o.fate,
            "key": o.mutant.key,
            "seconds": round(o.seconds, 2),
        }
        for o in outcomes
    ]
    target.parent.mkdir(parents=True, exist_ok=True)
    summary = {"seed": seed, "mutants": mutants, "sample": len(outcomes), "seconds": round(seconds, 1)}
    target.write_text(json.dumps({**summary, "outcomes": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
