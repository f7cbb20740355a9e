"""Statistics that no people can have are refused, whatever verdict somebody writes beside them."""

from __future__ import annotations

import base64
import copy
import json
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from isonomia.audits.audit_file.planner import plan_audit
from isonomia.audits.audit_file.reader import read_audit_file
from isonomia.audits.audit_file.runner import begin_run, run_checks
from isonomia.audits.protocol import Permissions
from isonomia.audits.replay import rebuilt, recomputed
from isonomia.engine.parameters import NullObserver
from isonomia.records.evidence import evidence_of, evidence_text, parse_evidence
from isonomia.records.store import Store

MODULE = "hiring_for_impossible_records"
CODE = """
import numpy as np

def model(table):
    return ((np.asarray(table["points"]) > 0.4) & (np.asarray(table["priors"]) < 4)).astype(int)

def draw(n, rng):
    return {"points": rng.random(n), "priors": rng.integers(0, 6, n)}
"""
PARITY = "P[prediction == 1 | sex == 'F'] / P[prediction == 1 | sex == 'M'] >= 0.5"
AUDIT = f"""
title = "Hiring"
seed = 7
delta = 0.2

[model]
load = "{MODULE}:model"

[population]
sample = "people.csv"

[populations.all]
census = "people.csv"

[populations.drawn]
census = "people.csv"
exact = false

[populations.endless]
generator = "{MODULE}:draw"

[interventions]
changes = "changes.toml"

[[property]]
name = "bets"
check = "{PARITY}"

[[property]]
name = "overlap"
check = "P[prediction == 1 | sex == 'F'] >= 0.5 * P[prediction == 1 | band == 'low']"

[[property]]
name = "without"
population = "drawn"
check = "{PARITY}"

[[property]]
name = "census"
population = "all"
check = "{PARITY}"

[[property]]
name = "strata"
principal = true
with = {{attribute = "sex", outcome = "passed", within = 0.8, given = ["band"]}}

[[property]]
name = "exact strata"
principal = true
population = "all"
with = {{attribute = "sex", outcome = "passed", within = 0.5, given = ["band"]}}

[[property]]
name = "relation"
safety = "monotone"
population = "all"
with = {{feature = "priors", up = [1, 2], at_most = 5, output = "not lower"}}

[[property]]
name = "sampled relation"
safety = "monotone"
with = {{feature = "priors", up = [1, 2], at_most = 5, output = "not lower"}}

[[property]]
name = "drawn relation"
safety = "monotone"
population = "endless"
with = {{feature = "priors", up = [1, 2], at_most = 5, output = "not higher", eps = 0.05}}

[[property]]
name = "shares"
responsiveness = "share"
population = "all"
with = {{interventions = "changes", target = 1, at_least = 0.9, who = "prediction == 0 and points > 0.9"}}
"""
CHANGES = '[features.points]\nkind = "real"\nlow = 0.0\nhigh = 1.0\n'


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    folder, rng, n = tmp_path_factory.mktemp("impossible"), np.random.default_rng(5), 600
    columns = (
        rng.choice(["F", "M"], n),
        rng.choice(["low", "high"], n),
        rng.random(n).round(4),
        rng.integers(0, 6, n),
        rng.integers(0, 2, n),
    )
    lines = ["sex,band,points,priors,passed", *(",".join(map(str, row)) for row in zip(*columns, strict=True))]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    (folder / f"{MODULE}.py").write_text(CODE)
    (folder / "changes.toml").write_text(CHANGES)
    (folder / "audit.toml").write_text(AUDIT)
    sys.path.insert(0, str(folder))
    try:
        file, store = read_audit_file(folder / "audit.toml"), Store(folder / ".isonomia")
        planned = plan_audit(file, 7, Permissions())
        run_checks(store, begin_run(store, file, planned, 7), planned, lambda _: NullObserver(), lambda *_: None)
        yield json.loads(evidence_text(evidence_of(store)))
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop(MODULE, None)


def _found(content: dict[str, Any], name: str, seconds: float = 60.0) -> Any:
    evidence = parse_evidence(content, "the file")
    (found,) = [each for each in recomputed(evidence, rebuilt(evidence), seconds) if each.name == name]
    return found


def _entries(content: dict[str, Any], name: str) -> dict[str, Any]:
    (check,) = [check for check in content["checks"] if check["name"] == name]
    found: dict[str, Any] = check["entries"]
    return found


def _packed(numbers: list[float]) -> dict[str, Any]:
    squeezed = zlib.compress(np.asarray(numbers, dtype="<f8").tobytes())
    return {"count": len(numbers), "type": "f8", "bytes": base64.b64encode(squeezed).decode()}


def _more_of_everything(entries: dict[str, Any]) -> None:
    first = entries["batch 0"]
    first["counts"] = [[cell + 1000.0 for cell in cells] for cells in first["counts"]]


def _set(*path: str | int) -> Callable[[Any], Callable[[dict[str, Any]], None]]:
    def to(value: Any) -> Callable[[dict[str, Any]], None]:
        def change(entries: dict[str, Any]) -> None:
            place: Any = entries
            for step in path[:-1]:
                place = place[step]
            before = place[path[-1]]
            place[path[-1]] = value(before) if callable(value) else value

        return change

    return to


def _an_edge_case_that_holds(entries: dict[str, Any]) -> None:
    found = {"inputs": {}, "choices": [], "outputs": {"d1": 0, "d2": 0}, "violates": ["d2 <= d1"]}
    entries["edge_cases"] |= {"violating": 1, "counterexamples": [found]}


LIES: dict[str, tuple[str, Callable[[dict[str, Any]], None]]] = {
    "more people than a batch has": ("bets", _more_of_everything),
    "another number of people": ("bets", _set("batch 0", "people")(lambda n: n + 1)),
    "people below zero": ("bets", _set("batch 0", "counts", 0)(lambda cells: [-1.0, cells[0] + cells[1] + 1.0])),
    "parts of people": ("bets", _set("batch 0", "counts", 0)(lambda cells: [cells[0] - 0.5, cells[1] + 0.5])),
    "an exact answer from a sample": ("bets", _set("exact", "exact")(True)),
    "a group counted twice, otherwise": ("overlap", _set("batch 0", "counts", 0)(lambda cells: [cells[1], cells[0]])),
    "a group larger than the census": ("without", _set("group sizes", "sizes", 0)(601)),
    "a group of fewer than were drawn": ("without", _set("group sizes", "sizes", 0)(3)),
    "a group without end": ("without", _set("group sizes", "sizes", 0)(10**30)),
    "draws without end of rows that come once": ("without", _set("available", "people")(None)),
    "more successes than people": ("census", _set("everybody", "totals", 0, 1)("601")),
    "a success below zero": ("census", _set("everybody", "totals", 0, 1)("-5")),
    "a third of a success": ("census", _set("everybody", "totals", 0, 1)("1/3")),
    "a number with a milliard digits": ("census", _set("everybody", "totals", 0, 1)("1e999999999")),
    "fewer asked than a census has": ("census", _set("everybody", "asked")(599)),
    "a batch after the end": ("bets", lambda entries: entries.update({"batch 999": entries["batch 0"]})),
    "a subgroup twice": ("strata", _set("subgroups", "keys")(lambda keys: [keys[0], keys[0]])),
    "a subgroup that is not listed": ("strata", _set("batch 0", "counts", 0, 0)(["nowhere"])),
    "a batch of others": ("strata", _set("batch 0", "people")(lambda n: n + 1)),
    "half a person in a cell": ("strata", _set("batch 0", "counts", 0, 1, 0, 0)(lambda cell: cell + 0.5)),
    "an exact answer from a sample of strata": ("strata", _set("exact", "exact")(True)),
    "more people than the census": ("exact strata", _set("population", "size")(599)),
    "violations that weigh nothing": ("relation", _set("every case", "bad_weight")(["0"])),
    "violations that weigh less than nothing": ("relation", _set("every case", "bad_weight")(["-1"])),
    "more violations than cases": ("relation", _set("every case", "violating")(10**6)),
    "a weight above the inputs": ("relation", _set("every case", "weight")("601")),
    "cases of a sample as if they were all": ("sampled relation", _set("subject", "sample")(False)),
    "inputs of another table": ("relation", _set("subject", "population", "size")(5)),
    "a counterexample of nothing": ("relation", _set("found", "counterexamples", 0, "violates")([])),
    "a counterexample that is none": ("relation", _set("found", "counterexamples", 0, "outputs", "d1")(-1)),
    "no counterexamples of violations": ("relation", _set("found", "counterexamples")([])),
    "a known counterexample of nowhere": (
        "relation",
        lambda entries: entries.update(
            {"known again": {"violating": [entries["found"]["counterexamples"][0]], "elsewhere": []}}
        ),
    ),
    "more cases than were wanted": ("drawn relation", _set("batch 0", "pieces", 0, "tested")(lambda n: n + 1)),
    "more edge cases violate than were tried": ("drawn relation", _set("edge_cases", "violating")(10**6)),
    "more edge cases fail than were tried": ("drawn relation", _set("edge_cases", "failed")(10**6)),
    "half an edge case": ("drawn relation", _set("edge_cases", "tried")(lambda n: n + 0.5)),
    "an edge case that proves nothing": ("drawn relation", _an_edge_case_that_holds),
    "half a case": ("drawn relation", _set("batch 0", "rejected")(lambda n: n - 0.5)),
    "draws without end as if they were a list": ("drawn relation", _set("subject", "fresh")(False)),
    "a case turned away by half": ("relation", _set("listed", "rejected")(0.5)),
    "violations of no input": ("relation", _set("found", "inputs")(0)),
    "functions that draw, as if they did not": ("relation", _set("subject", "random")([])),
    "a batch in another place": ("drawn relation", _set("batch 0", "start")(5)),
    "a counterexample of a property that holds": (
        "drawn relation",
        _set("found", "counterexamples")([{"violates": ["d1 >= d2"], "outputs": {"d1": 0, "d2": 1}}]),
    ),
    "successes below zero": ("shares", lambda entries: _negative(entries)),
    "somebody who is not in the table": ("shares", _set("population", "size")(30)),
    "a milliard people in a few bytes": ("shares", _set("members", "steps", "count")(10**9)),
    "more different rows than points": ("shares", _set("round 0 part 0", "distinct")(10**9)),
    "a counterexample of somebody else": ("shares", _set("nearest", "counterexamples", 0, "person")(-7)),
}


def _negative(entries: dict[str, Any]) -> None:
    count = entries["round 0 part 0"]["successes"]["count"]
    entries["round 0 part 0"]["successes"] = _packed([-5.0] * count)


def test_nothing_is_wrong_with_a_record_that_nobody_changed(told: dict[str, Any]) -> None:
    evidence = parse_evidence(told, "the file")
    audit = rebuilt(evidence)
    assert not audit.contradictions
    assert [(each.name, each.failure, each.differences) for each in recomputed(evidence, audit) if not each.sound] == []


@pytest.mark.parametrize("lie", LIES)
def test_counts_that_cannot_be_are_noticed(told: dict[str, Any], lie: str) -> None:
    name, change = LIES[lie]
    content = copy.deepcopy(told)
    content["checks"] = [check for check in content["checks"] if check["name"] == name]
    head, *properties = AUDIT.split("[[property]]")
    (own,) = [each for each in properties if f'name = "{name}"' in each]
    alone = head.replace("delta = 0.2", "delta = 0.02")  # its share of what all ten have
    content["audit"]["text"] = f"{alone}[[property]]{own}"
    assert _found(content, name).failure is None
    change(_entries(content, name))
    assert not _found(content, name).sound


CONTRADICTIONS: dict[str, Callable[[dict[str, Any]], None]] = {
    "a census in place of a sample": lambda told: _entries(told, "bets")["population"].update(kind="census"),
    "another kind": lambda told: _entries(told, "bets")["population"].update(kind="samplex"),
    "counted at once though it was to be drawn": lambda told: _entries(told, "without").update(exact={"exact": True}),
    "another model for one property": lambda told: _entries(told, "bets")["model"].update(fingerprint="another"),
    "other people for one property": lambda told: _entries(told, "bets")["population"].update(fingerprint="others"),
}


@pytest.mark.parametrize("lie", CONTRADICTIONS)
def test_models_and_populations_are_what_the_audit_and_the_other_properties_say(told: dict[str, Any], lie: str) -> None:
    content = copy.deepcopy(told)
    CONTRADICTIONS[lie](content)
    assert rebuilt(parse_evidence(content, "the file")).contradictions


def test_a_property_that_takes_too_long_is_ended_with_a_word(told: dict[str, Any]) -> None:
    found = _found(told, "strata", seconds=1e-4)
    assert "took more than 0.0001 seconds" in found.failure


def test_a_look_at_the_clock_that_decided_nothing_may_be_there(told: dict[str, Any]) -> None:
    content = copy.deepcopy(told)
    _entries(content, "relation")["time of part 0"] = {"seconds": 0.1}
    assert _found(content, "relation").sound
