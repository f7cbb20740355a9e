"""Look closer at two people who were refused: ``python story.py``, after ``python make.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from make import this_month
from model import CARD, decide, total

import isonomia as iso

CHANGES = iso.Interventions.from_toml(
    (Path(__file__).parent / "changes.toml").read_text(encoding="utf-8"), "changes.toml"
)
ASKED = CHANGES.names


def main() -> None:
    """Say who is shut out, and what one of them and one of the others can do."""
    people = this_month()
    claim = iso.responsiveness.preclusion(CHANGES, "granted", who="prediction == 'refused'", most_listed=50_000)
    results = iso.check(claim, decide, iso.Census(people), seed=1).details["people"]
    row, share = np.array(results["row"]), np.array(results["share"])
    out = row[share == 0]
    print(f"{len(row)} people were refused. For {len(out)} of them nothing that they can do helps;")
    print(f"{people['past_default'][out].sum()} of the {len(out)} have a past default.")
    look(people, int(out[0]))
    clean = row[(share > 0.1) & (people["past_default"][row] == 0)]
    look(people, int(clean[np.argmin(total(people)[clean])]))


def look(people: dict[str, Any], row: int) -> None:
    """Print a person's form, and the points within reach that change the least of it."""
    own = {name: column[row : row + 1] for name, column in people.items()}
    points = CHANGES.reach(own).points().table()
    reached = {name: np.asarray(points.column(name)) for name in people}
    best, granted = total(reached).max(), np.flatnonzero(decide(reached) == "granted")
    print(f"\nrow {row}:", ", ".join(f"{name} {own[name][0]}" for name in people))
    score, needed = total(own)[0], CARD["cut_off"]
    print(f"  score {score:.1f}, cut-off {needed}; the best of {points.rows:,} points in reach: {best:.1f}")
    ways: dict[tuple[str, ...], int] = {}
    for k in granted[np.argsort(-reached["amount"][granted], kind="stable")]:  # who asks for less, does so last
        ways.setdefault(tuple(name for name in ASKED if reached[name][k] != own[name][0]), k)
    for names, k in sorted(ways.items(), key=lambda way: len(way[0]))[:3]:
        print("  granted with", ", ".join(f"{name} {own[name][0]} -> {reached[name][k]:g}" for name in names))


if __name__ == "__main__":
    main()
