"""How often any look at a growing table is wrong, where the truth is on the boundary: whole checks, look after look.

    python -m benchmarks.growing [--streams 1000] [--looks 20] [--rows 20] [--runs 50]

Four ways to check a table again each time rows were added: shuffled anew, which the default is not meant for; in file
order; with the earlier looks on record, as ``isonomia run`` does; and, for fewer streams (``--runs``), by that command.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
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


def by_command(claim: str, people: dict[str, Any], ends: list[int]) -> bool:
    """Whether any run of an audit file says that a claim on the boundary is violated."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "audit.toml").write_text(AUDIT.format(delta=DELTA, claim=claim.replace('"', "'")))
        for end in ends:
            rows = zip(people["hired"][:end].astype(int), people["sex"][:end], strict=True)
            (Path(folder) / "people.csv").write_text("hired,sex\n" + "".join(f"{h},{s}\n" for h, s in rows))
            out = Path(folder) / "out.json"
            CliRunner().invoke(app, ["run", f"{folder}/audit.toml", "--quiet", "--json", str(out)], env={"CI": "1"})
            (verdict,) = json.loads(out.read_text())["verdicts"]
            if verdict["answer"] == "violated":
                return True
    return False


def main() -> None:
    """Print the share of streams in which any look was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    for name, default in (("streams", 1_000), ("looks", 20), ("rows", 20), ("runs", 50)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    ends = [given.rows * look for look in range(1, given.looks + 1)]
    for what, claim in CLAIMS.items():
        for way in ("shuffled anew", "file order", "on record"):
            wrong = 0
            for stream in range(given.streams):
                looks = samples(way, drawn(ends[-1], stream), ends, stream)
                answers = (iso.check(claim, population=each, delta=DELTA, seed=stream).answer for each in looks)
                wrong += "violated" in answers
            print(f"{what}, {way}: {wrong} of {given.streams} wrong at a risk of {DELTA}", flush=True)
        wrong = sum(by_command(claim, drawn(ends[-1], stream), ends) for stream in range(given.runs))
        print(f"{what}, isonomia run: {wrong} of {given.runs} wrong at a risk of {DELTA}", flush=True)


if __name__ == "__main__":
    main()
