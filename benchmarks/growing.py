"""How often any look at a growing table is wrong, where the truth is on the boundary: whole checks, look after look.

    python -m benchmarks.growing [--streams 1000] [--looks 20] [--rows 20] [--runs 50] [--processes 1] [--claim CLAIM]

Four ways to check a table again each time rows were added: shuffled anew, which the default is not meant for; in file
order; with the earlier looks on record, as ``isonomia run`` does; and by that command (``--runs`` streams). The people
of a stream are drawn from its number. ``--streams 0 --runs 1000 --processes 16`` runs the command alone.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from scipy.stats import binom
from typer.testing import CliRunner

import isonomia as iso
from isonomia.audits.audit_file.runner import EarlierLooks
from isonomia.cli.app import app
from isonomia.records.store import RunRecord

DELTA = 0.1
CLAIMS = {"one rate": "P[hired] >= 0.5", "two rates": "P[hired | sex == 'F'] >= P[hired | sex == 'M']"}
AUDIT = 'delta = {delta}\n[population]\nsample = "people.csv"\n[[property]]\ncheck = "{claim}"\n'


def samples(way: str, people: dict[str, Any], ends: list[int], seed: int) -> Iterator[iso.Sample]:
    """The table at each look."""
    run: RunRecord | None = None
    for end in ends:
        table = {name: column[:end] for name, column in people.items()}
        looks = EarlierLooks(run)
        if way == "on record":
            yield looks.continued(seed, "", iso.Sample(table))
            run = RunRecord(f"run {end}", "", None, "", {"seed": seed, "tables": looks.tables}, {})
        else:
            yield iso.Sample(table, order="file" if way == "file order" else "random")


def drawn(rows: int, seed: int) -> dict[str, Any]:
    """People whose rates are equal, and a half."""
    rng = np.random.default_rng(seed)
    return {"hired": rng.random(rows) < 0.5, "sex": rng.choice(["F", "M"], rows)}


def in_python(way: str, claim: str, ends: list[int], stream: int) -> bool:
    """Whether any look of a stream says that a claim on the boundary is violated."""
    looks = samples(way, drawn(ends[-1], stream), ends, stream)
    return "violated" in (iso.check(claim, population=each, delta=DELTA, seed=stream).answer for each in looks)


def by_command(claim: str, ends: list[int], stream: int) -> bool:
    """The same by the command, one run of an audit file for each look, with the records of the runs before."""
    people = drawn(ends[-1], stream)
    lines = [f"{h},{s}\n" for h, s in zip(people["hired"].astype(int), people["sex"], strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        audit, out = Path(folder) / "audit.toml", Path(folder) / "out.json"
        audit.write_text(AUDIT.format(delta=DELTA, claim=claim))
        for end in ends:
            (Path(folder) / "people.csv").write_text("".join(["hired,sex\n", *lines[:end]]))
            command = ["run", str(audit), "--quiet", "--json", str(out), "--records", f"{folder}/records"]
            done = CliRunner().invoke(app, command, env={"CI": "1"})
            if done.exit_code not in (0, 1, 3):
                raise RuntimeError(f"stream {stream}, {end} rows: {done.output}") from done.exception
            (verdict,) = json.loads(out.read_text())["verdicts"]
            if verdict["samples"] > end or verdict["population"]["size"] != end:
                raise RuntimeError(f"stream {stream}: expected {end} rows, but got {verdict['population']}")
            if verdict["answer"] == "violated":
                return True
    return False


def told(what: str, wrong: int, streams: int, seconds: float) -> str:
    """The share of wrong streams, against the binomial distribution of a risk that is used up."""
    chance = binom.sf(wrong - 1, streams, DELTA)
    return (
        f"{what}: {wrong} of {streams} wrong at a risk of {DELTA}; with an error rate of {DELTA}, {wrong} or more have "
        f"a chance of {chance:.3g}; {seconds / streams:.2f} s a stream"
    )


def main() -> None:
    """Print the share of streams in which any look was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    for name, default in (("streams", 1_000), ("looks", 20), ("rows", 20), ("runs", 50), ("processes", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--claim", choices=[*CLAIMS], action="append")
    given = parser.parse_args()
    ends = [given.rows * look for look in range(1, given.looks + 1)]
    with ProcessPoolExecutor(given.processes) as pool:
        for what in given.claim or CLAIMS:
            ways = {
                way: (partial(in_python, way, CLAIMS[what], ends), given.streams)
                for way in ("shuffled anew", "file order", "on record")
            }
            ways["isonomia run"] = (partial(by_command, CLAIMS[what], ends), given.runs)
            for way, (stream, count) in ways.items():
                began = monotonic()
                wrong = sum(pool.map(stream, range(count)))
                if count:
                    print(told(f"{what}, {way}", wrong, count, monotonic() - began), flush=True)


if __name__ == "__main__":
    main()
