"""Run by the peers' Python: lists every reachable point with reachml, and says how long it took.

    PEERS_PYTHON benchmarks/peers/reachml_sets.py JOB RESULT

JOB is JSON: ``features`` and ``constraints`` as ``benchmarks.reach_peers`` writes them, ``people`` as rows, and the
``solver``. The sets are made as reachml's documentation does it, by a database of reachable sets over all people,
which works out people with the same changeable values once. RESULT says the seconds of wall and of processor time,
and for each person how many points were given, how many of them are distinct, and a digest of the distinct ones.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import reachml
from reachml.constraints import DirectionalLinkage, OneHotEncoding, ThermometerEncoding

TYPES = {"binary": bool, "integer": int}
WAYS = {"up": 1, "down": -1, "both": 0}


def action_set(job: dict[str, Any], people: pd.DataFrame) -> reachml.ActionSet:
    """What people can change, in reachml's terms."""
    actions = reachml.ActionSet(people)
    for given in job["features"]:
        element = actions[given["name"]]
        element.variable_type = TYPES[given["kind"]]
        element.lb, element.ub = given["low"], given["high"]
        element.actionable = given["actionable"]
        element.step_direction = WAYS[given["direction"]]
        if given["rise"] is not None:
            element.step_ub = given["rise"]
    for given in job["constraints"]:
        actions.constraints.add(constraint(given))
    return actions


def constraint(given: dict[str, Any]) -> Any:
    match given["kind"]:
        case "linkage":
            return DirectionalLinkage(names=[given["source"], *given["targets"]])
        case "thermometer":
            return ThermometerEncoding(names=given["names"], step_direction=WAYS[given["direction"]])
        case "one hot":
            return OneHotEncoding(names=given["names"])
        case other:
            raise SystemExit(f"no constraint is called {other!r}")


def listed(actions: reachml.ActionSet, people: pd.DataFrame, solver: str) -> tuple[list[Any], float, float]:
    """All points of everybody, and the seconds that took, on the clock and of the processor."""
    with tempfile.TemporaryDirectory() as folder:
        wall, processor = time.perf_counter(), time.process_time()
        database = reachml.ReachableSetDatabase(actions, path=os.path.join(folder, "sets.h5"))
        database.generate(people, overwrite=True, solver=solver)
        sets = [database[row].X for row in people.to_numpy()]
        return sets, time.perf_counter() - wall, time.process_time() - processor


def digest(points: Any) -> str:
    """The same for the same set of whole-numbered points, whatever their order."""
    distinct = np.unique(np.rint(points).astype(np.int64), axis=0)
    return hashlib.sha256(np.ascontiguousarray(distinct).tobytes()).hexdigest()


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    people = pd.DataFrame(job["people"], columns=[one["name"] for one in job["features"]])
    actions = action_set(job, people)
    sets, wall, processor = listed(actions, people, job["solver"])
    result = {
        "seconds": wall,
        "processor_seconds": processor,
        "given": [len(points) for points in sets],
        "distinct": [len(np.unique(np.rint(points), axis=0)) for points in sets],
        "digests": [digest(points) for points in sets],
    }
    Path(sys.argv[2]).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
