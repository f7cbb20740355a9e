"""The default seed: derived from what is checked, so that no second one is tried by accident."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import isonomia as iso
from isonomia.audits.audit_file.planner import default_seed, plan_audit
from isonomia.audits.audit_file.reader import read_audit_file
from isonomia.audits.protocol import Permissions
from isonomia.audits.replay import rerun
from isonomia.cli.app import app
from isonomia.engine.parameters import NullObserver
from isonomia.records.evidence import read_evidence

CLAIM = "P[prediction == 1] >= 0.4"


def people(seed: int = 0, n: int = 600) -> dict[str, Any]:
    return {"x": np.random.default_rng(seed).random(n)}


def model(rows: Any) -> Any:
    return (np.asarray(rows["x"]) < 0.5).astype(int)


def other(rows: Any) -> Any:
    return (np.asarray(rows["x"]) < 0.6).astype(int)


def draw(n: int, rng: np.random.Generator) -> dict[str, Any]:
    return {"x": rng.random(n)}


@pytest.mark.parametrize("population", [lambda: iso.Sample(people()), lambda: iso.Generator(draw)])
def test_the_same_check_has_the_same_seed_and_the_same_verdict(population: Any) -> None:
    first, second = (iso.check(CLAIM, model, population(), budget=500) for _ in range(2))
    assert (first.seed, first.samples, first.leaves) == (second.seed, second.samples, second.leaves)
    assert not first.seed_chosen
    assert "by hand" not in str(first)


def test_another_property_population_or_model_has_another_seed() -> None:
    seeds = {
        iso.check(CLAIM, model, iso.Sample(people()), budget=50).seed,
        iso.check("P[prediction == 1] >= 0.41", model, iso.Sample(people()), budget=50).seed,
        iso.check(CLAIM, model, iso.Sample(people(1)), budget=50).seed,
        iso.check(CLAIM, other, iso.Sample(people()), budget=50).seed,
    }
    assert len(seeds) == 4


def test_a_seed_chosen_by_hand_is_shown_as_such() -> None:
    verdict = iso.check(CLAIM, model, iso.Sample(people()), seed=7)
    assert (verdict.seed, verdict.seed_chosen) == (7, True)
    assert "the seed, 7, was chosen by hand" in str(verdict)
    assert "the seed, 7, was chosen by hand" in verdict._repr_html_()
    assert verdict.to_dict()["seed_chosen"] is True
    assert iso.Verdict.from_dict(verdict.to_dict()).seed_chosen


def test_looks_at_a_table_that_grows_keep_the_seed_of_the_first() -> None:
    claim, rows = "P[x < 0.5] >= 0.4", people()["x"]
    reports = ("1 of 3", "2 of 3 after 200", "3 of 3 after 200, 400")
    tables = [{"x": rows[: 200 * k]} for k in (1, 2, 3)]
    planned = zip(tables, reports, strict=True)
    assert len({iso.check(claim, population=iso.Sample(table), looks=looks).seed for table, looks in planned}) == 1
    assert len({iso.check(claim, population=iso.Sample(table, order="file")).seed for table in tables}) == 1
    assert len({iso.check(claim, population=iso.Sample(table)).seed for table in tables}) == 3


FILE = """
{seed}
[model]
load = "scoring:model"
[population]
sample = "people.csv"
[[property]]
name = "{name}"
check = "P[prediction == 1] >= 0.4"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "people.csv").write_text("x\n" + "\n".join(f"{x:.6f}" for x in people()["x"]) + "\n")
    (tmp_path / "scoring.py").write_text(
        "import numpy as np\ndef model(rows): return (np.asarray(rows['x'], float) < 0.5).astype(int)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def run(folder: Path, seed: str = "", name: str = "a", *options: str) -> Any:
    (folder / "audit.toml").write_text(FILE.format(seed=seed, name=name))
    done = CliRunner().invoke(app, ["run", "audit.toml", "--allow-code", "--quiet", *options])
    assert done.exit_code in {0, 3}, done.output
    written = CliRunner().invoke(app, ["export", "latest", "-o", "evidence.json"])
    assert written.exit_code == 0, written.output
    return done


def test_an_audit_file_without_a_seed_derives_it_from_properties_data_and_model(folder: Path) -> None:
    (folder / "audit.toml").write_text(FILE.format(seed="", name="a"))
    first = plan_audit(read_audit_file("audit.toml"), None, Permissions(allow_code=True))
    (folder / "audit.toml").write_text("# a comment\n" + FILE.format(seed="", name="another name"))
    second = plan_audit(read_audit_file("audit.toml"), None, Permissions(allow_code=True))
    assert first[0].check.seed == second[0].check.seed == default_seed(second)
    assert not first[0].check.seed_chosen
    with (folder / "people.csv").open("a") as file:
        file.write("0.25\n")
    third = plan_audit(read_audit_file("audit.toml"), None, Permissions(allow_code=True))
    assert third[0].check.seed != first[0].check.seed


@pytest.mark.parametrize(
    ("seed", "options", "by_hand"), [("", [], False), ("seed = 7", [], True), ("", ["--seed", "8"], True)]
)
def test_evidence_says_whether_the_seed_was_chosen(folder: Path, seed: str, options: list[str], by_hand: bool) -> None:
    run(folder, seed, "a", *options)
    evidence = read_evidence(folder / "evidence.json")
    assert evidence.run["seed_chosen"] is by_hand
    (check,) = evidence.checks
    assert check.verdict is not None
    assert check.verdict["seed_chosen"] is by_hand


def test_a_full_replay_notices_a_chosen_seed_that_is_said_to_be_derived(folder: Path) -> None:
    run(folder, "", "a", "--seed", "8")
    evidence = read_evidence(folder / "evidence.json")
    allowed = Permissions(allow_code=True)
    (honest,) = rerun(evidence, folder, allowed, {}, lambda _: NullObserver())
    assert honest.same
    run(folder, "", "b")
    (derived,) = rerun(read_evidence(folder / "evidence.json"), folder, allowed, {}, lambda _: NullObserver())
    assert derived.same
    evidence.run["seed_chosen"] = False  # type: ignore[index]
    for check in evidence.checks:
        check.verdict["seed_chosen"] = False  # type: ignore[index]
    (forged,) = rerun(evidence, folder, allowed, {}, lambda _: NullObserver())
    assert any(each.path.startswith("seed") for each in forged.differences)
