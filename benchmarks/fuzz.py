"""Feeds every language that Isonomia reads with inputs that are nearly right, and looks for what must not happen.

Run: python -m benchmarks.fuzz [--seconds 3600] [--inputs 1000000] [--processes 16] [--only NAME ...] [--seed 1]
    [--keep FOLDER]

Seven languages: properties, CSV files, ``.fr`` programs, ``.nom`` specifications, interventions, audit files and
evidence; the answers of services; and streams of decisions and outcomes for a watch, which must not depend on how they
are cut. What is accepted is used: properties are checked, programs drawn from,
audits planned and run, evidence recomputed. Inputs come from grammars, from a small corpus, and from mutations of these
and of every input that was told something new; with ``--guided``, atheris (``pip install atheris``) chooses texts by
the lines that they reach.
Each language has processes of its own, each with other seeds, that may take 1 GB of memory; the summary is of all.

Must not happen: an error that is no ``IsonomiaError``, more than 2 seconds of computing to read an input, more than a
minute to use it, more than 1 GB. Exit code 1 where anything did; ``--keep`` writes the inputs down.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks import fuzz_inputs as inputs

__all__ = ["LANGUAGES", "Found", "fuzz"]

MOST_SECONDS, MOST_TO_USE, MOST_BYTES = 2.0, 60.0, 2**30


@dataclass(slots=True)
class Found:
    """What came of fuzzing one language; ``megabytes`` is how much the peak of memory grew.

    ``outcomes`` are the different messages, without what inputs put into them.
    """

    language: str
    inputs: int = 0
    accepted: int = 0
    outcomes: list[str] = field(default_factory=list)
    slowest: float = 0.0
    slowest_use: float = 0.0
    megabytes: float = 0.0
    crashes: list[dict[str, str]] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether nothing happened that must not."""
        return not self.crashes and self.slowest <= MOST_SECONDS and self.megabytes <= MOST_BYTES / 1e6

    def add(self, other: Found) -> None:
        """Add what came of other inputs; the same crash counts once."""
        self.inputs += other.inputs
        self.accepted += other.accepted
        self.outcomes = sorted({*self.outcomes, *other.outcomes})
        self.slowest, self.slowest_use = max(self.slowest, other.slowest), max(self.slowest_use, other.slowest_use)
        self.megabytes = max(self.megabytes, other.megabytes)
        seen = {(crash["error"].partition(":")[0], crash["where"]) for crash in self.crashes}
        self.crashes += [each for each in other.crashes if (each["error"].partition(":")[0], each["where"]) not in seen]


class TooLongError(BaseException):
    """An input takes too long; no handler for errors may take it for one."""


Make = Callable[[random.Random], Any]
Use = Callable[[], object]
Read = Callable[[Any, Path], Use]
"""Reads an input in a folder, and gives what uses it."""


def _texts(language: str, grammar: inputs.Grammar, start: str, mutations: float = 0.4) -> Make:
    def make(draw: random.Random) -> str:
        text = draw.choice(inputs.CORPUS[language]) if draw.random() < 0.05 else inputs.written(grammar, start, draw)
        return inputs.mutated(text, draw) if draw.random() < mutations else text

    return make


def _property(text: str, folder: Path) -> Use:  # noqa: ARG001
    import isonomia as iso

    prop = iso.parse(text)
    assert str(iso.parse(str(prop))) == str(prop), "what is written is read as the same"
    prop.explain()
    people = (
        iso.Census(inputs.PEOPLE),
        iso.Sample(inputs.PEOPLE),
        iso.Census(inputs.PEOPLE, exact=False),
        iso.Sample(inputs.PEOPLE),
    )[len(text) % 4]
    looks = "once" if len(text) % 8 == 1 else "any"
    return lambda: iso.check(prop, population=people, seed=1, budget=300, looks=looks).to_dict()


def _csv(text: str, folder: Path) -> Use:
    """What is accepted has the rows and the texts that Python's own reader finds."""
    from isonomia.populations import read_table

    content = text.encode("utf-8", "replace")
    (folder / "table.csv").write_bytes(content)
    table = read_table(folder / "table.csv")
    lines = io.StringIO(content.decode("utf-8-sig"), newline="")
    rows = [row for row in csv.reader(lines, strict=True) if row][1:]
    assert table.rows == len(rows), "no row is lost or merged"

    def use() -> None:
        for index, name in enumerate(table.names):
            for row, value in zip(rows, table.column(name).tolist(), strict=True):
                same = not row[index] if value is None else row[index] == value or not isinstance(value, str)
                assert same, f"{row[index]!r} was read as {value!r}"

    return use


def _fr(text: str, folder: Path) -> Use:  # noqa: ARG001
    import numpy as np

    import isonomia as iso

    program = iso.Program.of(text)
    source = program.open(np.random.SeedSequence(0))
    return lambda: source.batch(0, 50, np.random.default_rng(0), 0)


def _nomos(text: str, folder: Path) -> Use:  # noqa: ARG001
    import numpy as np

    import isonomia as iso
    from isonomia.spec.nomos import parse_nomos

    parse_nomos(text)
    prop = iso.safety.property(text)
    prop.explain()
    people = iso.Census({name: inputs.PEOPLE[name] for name in ("sex", "age", "income", "priors")})
    model = lambda table: (np.asarray(table["age"]) > 40).astype(int)  # noqa: E731
    return lambda: iso.check(prop, model, people, seed=1, budget=200).to_dict()


def _interventions(text: str, folder: Path) -> Use:  # noqa: ARG001
    from isonomia.interventions import Interventions

    changes = Interventions.from_toml(text, "changes.toml")
    again = Interventions.from_toml(changes.to_toml(), "again.toml")
    assert again.to_toml() == changes.to_toml(), "what is written is read as the same"
    return lambda: changes


def _audit(text: str, folder: Path) -> Use:
    from isonomia.audits.audit_file.planner import plan_audit
    from isonomia.audits.audit_file.reader import read_audit_file
    from isonomia.audits.check import run_check
    from isonomia.audits.protocol import Permissions
    from isonomia.engine.parameters import NullObserver

    (folder / "audit.toml").write_text(text, encoding="utf-8", errors="replace")
    planned = plan_audit(read_audit_file(folder / "audit.toml"), 1, Permissions())

    def use() -> None:
        for each in planned[:3]:
            run_check(each.check, NullObserver()).to_dict()

    return use


def _evidence(text: str, folder: Path) -> Use:
    from isonomia.audits.replay import rebuilt, recomputed
    from isonomia.records.evidence import read_evidence
    from isonomia.watch.replay import rebuilt_watch, recomputed_watch

    (folder / "evidence.json").write_text(text, encoding="utf-8", errors="replace")
    evidence = read_evidence(folder / "evidence.json")
    if evidence.watch is not None:
        watch = rebuilt_watch(evidence)
        return lambda: (list(recomputed_watch(watch)), watch.contradictions)
    audit = rebuilt(evidence)
    return lambda: list(recomputed(evidence, audit, seconds=5.0))


def _service(made: tuple[dict[str, Any], str], folder: Path) -> Use:  # noqa: ARG001
    import httpx

    from isonomia.models.checked import ask
    from isonomia.models.http import HttpModel
    from isonomia.populations import Table

    described, answer = made
    model = HttpModel("http://localhost/score", retries=0, features=["age"], **described)
    content = answer.encode("utf-8", "replace")
    model._sender._clients[os.getpid()] = httpx.Client(
        transport=httpx.MockTransport(lambda _: httpx.Response(200, content=iter([content])))
    )
    wanted = described.get("prediction") is not None
    ask(
        model,
        Table.of({"age": list(range(ROWS))}),
        want_score=not wanted or "score" in described,
        want_prediction=wanted,
    )
    return lambda: None


ROWS = 6


def _stream(text: str, folder: Path) -> Use:
    """Through standard input and through files, however they are cut: the same samples, and the same state."""
    from threading import Event

    import isonomia as iso
    from isonomia.errors import IsonomiaError
    from isonomia.watch.databases import SqliteTable
    from isonomia.watch.monitor import Monitor, judged
    from isonomia.watch.source import FolderSource, StandardInput
    from isonomia.watch.store import WatchStore

    lines = text.encode("utf-8", "replace").splitlines(keepends=True)

    def watch() -> iso.Watch:
        return iso.Watch("P[y == 1 | sex == 'F'] >= 0.1", alpha=0.05, outcome="y", id="id", patience=1_000)

    def through_lines(size: int) -> bytes:
        source, fresh = StandardInput("jsonl", late=("id", "y")), watch()
        for start in range(0, len(lines), size):
            for part in source._parts(lines[start : start + size]):
                judged(fresh, part, leave_out=True)
        return fresh.state

    def interleaved(size: int, *, tables: bool) -> tuple[int, int, object]:
        """The decisions and the outcomes as two sources, files or tables, to which parts are added in turns."""
        place = folder / "stream"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        add = _into_tables if tables else _into_files
        decisions, outcomes = (
            (SqliteTable(place / "t", "t", name, "key", name, "id") for name in SOURCES)
            if tables
            else (FolderSource(place / name, name, name, id="id") for name in SOURCES)
        )
        monitor = Monitor(watch(), WatchStore(place / "s", ""), decisions, (), outcomes)
        monitor.resume()
        for number, start in enumerate(range(0, len(lines), size)):
            add(place, lines[start : start + size], number)
            if start % 3 == 0:
                with suppress(IsonomiaError):  # outcomes whose decisions are not there yet
                    monitor.catch_up(Event())
        monitor.catch_up(Event())
        monitor.store.close()
        return monitor.watch.samples, monitor.watch.pending, monitor.watch.statistics.everything.totals.tolist()

    whole = through_lines(10**6)

    def use() -> None:
        assert through_lines(1 + len(text) % 5) == whole, "cuts change nothing"
        tables = len(text) % 2 == 0
        try:
            found = [interleaved(10**6, tables=tables), interleaved(1 + len(text) % 5, tables=tables)]
        except IsonomiaError:
            return
        assert found[0] == found[1], "sources in parts change nothing"

    return use


SOURCES = ("decisions", "outcomes")
"""The names of the folders and tables, and what each brings."""


def _into_files(place: Path, lines: list[bytes], number: int) -> None:
    for name, mine in zip(SOURCES, (b'"sex"', b'"y"'), strict=True):
        (place / name).mkdir(exist_ok=True)
        (place / name / f"{number:03}.jsonl").write_bytes(b"".join(line for line in lines if mine in line))


def _into_tables(place: Path, lines: list[bytes], number: int) -> None:
    """What is no object with an id and another value is left out: no table could have it."""
    with closing(sqlite3.connect(place / "t")) as database:
        if number == 0:
            database.execute("CREATE TABLE decisions (key INTEGER PRIMARY KEY, id, sex)")
            database.execute("CREATE TABLE outcomes (key INTEGER PRIMARY KEY, id, y)")
        for line in lines:
            with suppress(ValueError, OverflowError, sqlite3.Error):
                match json.loads(line):
                    case {"id": key, "sex": sex}:
                        database.execute("INSERT INTO decisions (id, sex) VALUES (?, ?)", (key, sex))
                    case {"id": key, "y": y}:
                        database.execute("INSERT INTO outcomes (id, y) VALUES (?, ?)", (key, y))
        database.commit()


LANGUAGES: dict[str, tuple[Callable[[], Make], Read]] = {
    "property": (lambda: _texts("property", inputs.PROPERTY, "property"), _property),
    "csv": (lambda: _texts("csv", inputs.CSV, "table", 0.2), _csv),
    "fr": (lambda: _texts("fr", inputs.FR, "program"), _fr),
    "nomos": (lambda: _texts("nomos", inputs.NOMOS, "spec"), _nomos),
    "interventions": (lambda: _texts("interventions", inputs.INTERVENTIONS, "changes"), _interventions),
    "audit": (lambda: _texts("audit", inputs.AUDIT, "audit", 0.2), _audit),
    "evidence": (inputs.evidence_texts, _evidence),
    "service": (lambda: lambda draw: inputs.service(draw, ROWS), _service),
    "stream": (inputs.streams, _stream),
}


SHARES = {
    "property": 0.25, "csv": 0.2, "fr": 0.11, "nomos": 0.06, "interventions": 0.11, "audit": 0.02, "evidence": 0.05,
    "service": 0.14, "stream": 0.06,
}  # fmt: skip
"""Of the inputs: most where answers were wrong, and fewer where an input takes 5 to 10 milliseconds instead of 1."""


def fuzz(language: str, seed: int, *, most: int = 10**9, seconds: float = 1e9, use: float = 1.0) -> Found:
    """Try inputs until there were so many, or so many seconds of computing; of those accepted, a share is used."""
    make, read = LANGUAGES[language][0](), LANGUAGES[language][1]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    draw, found, seen, told_new = random.Random(seed), Found(language), set(), []
    until = process_time() + seconds
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("error")
        folder = Path(place)
        inputs.write_people(folder)
        with suppress(Exception, TooLongError), _at_most(MOST_TO_USE):
            read(make(draw), folder)  # imports take time once
        while found.inputs < most and process_time() < until:
            made = make(draw)
            if told_new and isinstance(made, str) and draw.random() < 0.25:
                made = inputs.mutated(draw.choice(told_new), draw)
            outcome, where = tried(found, read, made, folder, use=draw.random() < use)
            kind = (outcome.partition(":")[0], where) if where else outcome
            if kind not in seen:
                seen.add(kind)
                if isinstance(made, str):
                    told_new.append(made)
                if where:
                    text = made if isinstance(made, str) else json.dumps(made)
                    found.crashes.append({"error": outcome, "where": where, "input": text})
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    found.outcomes, found.megabytes = sorted(map(str, seen)), grown / 1e3
    return found


def guided(language: str, seed: int, most: int, seconds: float, use: float, ended: Callable[[Found], None]) -> None:
    """Let atheris (libFuzzer) choose inputs by the lines of Isonomia that they reach; ``ended`` must end the process.

    It starts from the corpus and from what the grammar writes, and mutates as ``fuzz`` does or by bytes.
    """
    import atheris

    with atheris.instrument_imports(include=["isonomia"], enable_loader_override=False):
        import isonomia.audits.replay
        import isonomia.cli
    assert isonomia.cli
    make, read = LANGUAGES[language][0](), LANGUAGES[language][1]
    draw, found, seen = random.Random(seed), Found(language), set()
    before, until = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, process_time() + seconds
    folder = Path(tempfile.mkdtemp())
    inputs.write_people(folder)
    (folder / "corpus").mkdir()
    for number in range(200):
        (folder / "corpus" / str(number)).write_text(make(draw), encoding="utf-8", errors="replace")
    warnings.simplefilter("error")

    def one(data: bytes) -> None:
        made = data.decode("utf-8", "replace")
        outcome, where = tried(found, read, made, folder, use=draw.random() < use)
        kind = (outcome.partition(":")[0], where) if where else outcome
        if where and kind not in seen:
            found.crashes.append({"error": outcome, "where": where, "input": made})
        seen.add(kind)
        if found.inputs >= most or process_time() > until:
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            found.outcomes, found.megabytes = sorted(map(str, seen)), grown / 1e3
            shutil.rmtree(folder)
            ended(found)

    def mutate(data: bytes, size: int, number: int) -> bytes:
        chance = random.Random(number)
        if chance.random() < 0.5:
            return bytes(atheris.Mutate(data, size))
        return inputs.mutated(data.decode("utf-8", "replace"), chance).encode("utf-8", "replace")[:size]

    flags = ["-rss_limit_mb=0", "-timeout=0", "-max_len=20000", f"-seed={seed}", "-verbosity=0"]
    atheris.Setup(["fuzz", *flags, str(folder / "corpus")], one, custom_mutator=mutate)
    atheris.Fuzz()


def tried(found: Found, read: Read, made: Any, folder: Path, *, use: bool) -> tuple[str, str]:
    """Read one input, perhaps use it, and count it; what came of it, and where it failed if it did what none may."""
    from isonomia.errors import IsonomiaError

    found.inputs += 1
    began, read_in, where = process_time(), None, ""
    try:
        with _at_most(MOST_TO_USE):
            uses = read(made, folder)
            read_in, outcome = process_time() - began, "accepted"
            found.accepted += 1
            if use:
                uses()
                outcome = "used"
    except IsonomiaError as error:
        outcome = f"{type(error).__name__}: {_shape(str(error))}"
    except (Exception, TooLongError) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        outcome, where = f"{type(error).__name__}: {error}"[:300], f"{Path(last.filename).name}:{last.lineno}"
    spent = process_time() - began
    read_in = spent if read_in is None else read_in
    if read_in > MOST_SECONDS and not where:
        outcome, where = f"{read_in:.1f} s to read it", "too slow"
    found.slowest, found.slowest_use = max(found.slowest, read_in), max(found.slowest_use, spent - read_in)
    return outcome, where


def _shape(message: str) -> str:
    """A message without what the input put into it."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`|[0-9]+|\n.*", "", message, flags=re.DOTALL)[:80]


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Stop what takes more seconds of computing, or stands still; a busy machine makes nothing late."""

    def late(*_: object) -> None:
        raise TooLongError(f"more than {seconds:g} s")

    timers = ((signal.SIGPROF, signal.ITIMER_PROF, seconds), (signal.SIGALRM, signal.ITIMER_REAL, 20.0 * seconds))
    before = [signal.signal(number, late) for number, _, _ in timers]
    for _, timer, limit in timers:
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


def _in_a_process(
    language: str, seed: int, most: int, seconds: float, use: float, by_coverage: bool, results: Connection
) -> None:
    limit = 4 * MOST_BYTES  # of addresses: libraries reserve more than they use
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    if not by_coverage:
        results.send(fuzz(language, seed, most=most, seconds=seconds, use=use))
        return

    def ended(found: Found) -> None:
        results.send(found)
        results.close()
        os._exit(0)

    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # where it tells of every module and input
    guided(language, seed, most, seconds, use, ended)


def _in_processes(arguments: argparse.Namespace) -> list[Found]:
    """Fuzz every language in a few processes, so many at a time; a process that dies is a crash of its language."""
    count, only = arguments.processes, arguments.only
    # Threads of libraries reserve addresses, of which each process has few.
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MALLOC_ARENA_MAX"), "1"))
    context, everything = get_context("spawn"), {language: Found(language) for language in only}
    whole = sum(SHARES[language] for language in only)
    waiting = [(language, shard) for language in only for shard in range(count)]
    running: list[tuple[Any, Any, str, int]] = []
    while waiting or running:
        while waiting and len(running) < count:
            language, shard = waiting.pop(0)
            most = round(arguments.inputs * SHARES[language] / whole)
            mine = most * (shard + 1) // count - most * shard // count
            limits = mine, arguments.seconds / len(only) / count, arguments.use, arguments.guided
            receive, send = context.Pipe(duplex=False)
            seed = arguments.seed + SEEDS * shard
            process = context.Process(target=_in_a_process, args=(language, seed, *limits, send))
            process.start()
            send.close()
            running.append((process, receive, language, seed))
        ready = wait([receive for _, receive, _, _ in running])
        for each in [each for each in running if each[1] in ready]:
            process, receive, language, seed = each
            running.remove(each)
            try:
                everything[language].add(receive.recv())
            except EOFError:
                process.join()
                error = f"the process with seed {seed} ended with exit code {process.exitcode}"
                everything[language].add(Found(language, crashes=[{"error": error, "where": "", "input": ""}]))
            process.join()
            print(f"{language}, seed {seed}: {everything[language].inputs:,} inputs", file=sys.stderr, flush=True)
    return list(everything.values())


SEEDS = 1_000_003
"""How far apart the seeds of processes are: those of runs with a few other seeds are different."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--seconds", type=float, help="of computing, for all languages together; 60, or as --inputs need"
    )
    parser.add_argument("--inputs", type=int, help="for all languages together")
    parser.add_argument("--only", nargs="*", choices=sorted(LANGUAGES), default=list(LANGUAGES))
    parser.add_argument("--processes", type=int, default=1, help="at a time; each has a part of the inputs")
    parser.add_argument("--use", type=float, default=0.3, help="the share of accepted inputs that is used")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--keep", type=Path, help="a folder for inputs that crashed")
    parser.add_argument("--guided", action="store_true", help="choose inputs by coverage, where atheris is installed")
    arguments = parser.parse_args()
    if arguments.seconds is None:
        arguments.seconds = 60.0 if arguments.inputs is None else 1e9
    arguments.inputs = arguments.inputs or 10**9
    if arguments.guided and find_spec("atheris") is None:
        sys.exit("--guided is skipped: pip install atheris")
    if arguments.guided:
        arguments.only = [language for language in arguments.only if language != "service"]  # has no text of its own
    everything = _in_processes(arguments)
    print(f"{'language':<14}{'inputs':>9}{'accepted':>10}{'outcomes':>10}{'read':>9}{'used':>9}{'MB':>7}{'crashes':>9}")
    for found in everything:
        share = f"{found.accepted / max(found.inputs, 1):.0%}"
        print(
            f"{found.language:<14}{found.inputs:>9,}{share:>10}{len(found.outcomes):>10}{found.slowest:>7.2f} s"
            f"{found.slowest_use:>7.2f} s{found.megabytes:>7.0f}{len(found.crashes):>9}"
        )
        for number, crash in enumerate(found.crashes):
            print(f"    {crash['error']} ({crash['where']}): {crash['input'][:200]!r}")
            if arguments.keep:
                arguments.keep.mkdir(parents=True, exist_ok=True)
                (arguments.keep / f"{found.language}-{number}.txt").write_text(
                    crash["input"], encoding="utf-8", errors="replace"
                )
    print(
        f"{sum(found.inputs for found in everything):,} inputs, {sum(len(each.crashes) for each in everything)} crashes"
    )
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(found) for found in everything], indent=1) + "\n")
    sys.exit(0 if all(found.sound for found in everything) else 1)


if __name__ == "__main__":
    main()
