"""``isonomia check`` with a specification, as a person would run it."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from warm_start import run_command

RISING = """import people;
input x1;
var x2 := setFeat(x1, "priors", x1.priors + randInt(1, 3));
output d1;
output d2;
{
    d1 = people.predict(x1)
    d2 = people.predict(x2)
}
ensures d1 <= d2;
"""
MODELS = """
def good(table):
    return (table["priors"] >= 3).astype(int)

def bad(table):
    return ((table["priors"] >= 3) & (table["priors"] != 6)).astype(int)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = "\n".join(f"{20 + 10 * i},{i}" for i in range(6))
    (tmp_path / "people.csv").write_text(f"age,priors\n{rows}\n", encoding="utf-8")
    (tmp_path / "rising.nom").write_text(RISING, encoding="utf-8")
    loop = RISING.replace("    d1 = people.predict(x1)", "    for _ in range(1):\n        d1 = people.predict(x1)")
    (tmp_path / "loop.nom").write_text(loop, encoding="utf-8")
    (tmp_path / "wrong.nom").write_text(RISING.replace("x1.priors", "x1.prior"), encoding="utf-8")
    (tmp_path / "models.py").write_text(MODELS, encoding="utf-8")
    return tmp_path


def run(folder: Path, *arguments: str, data: str | None = "people.csv") -> subprocess.CompletedProcess[str]:
    return run_command(folder, "check", *arguments, "--seed", "1", *(() if data is None else ("--data", data)))


def test_a_specification_that_holds_exits_with_0_and_one_that_is_violated_with_1(folder: Path) -> None:
    good = run(folder, "rising.nom", "--model", "models:good", "--census")
    assert good.returncode == 0, good.stdout + good.stderr
    assert "HOLDS" in good.stdout
    assert "every case was tried" in good.stdout
    bad = run(folder, "rising.nom", "--model", "models:bad", "--census")
    assert bad.returncode == 1, bad.stdout + bad.stderr
    assert re.search(r"priors +5 +6 ", bad.stdout)
    assert "d1 = 1, d2 = 0" in bad.stdout


def test_a_sample_without_a_violation_is_undecided(folder: Path) -> None:
    done = run(folder, "rising.nom", "--model", "models:good", "-q")
    assert done.returncode == 3, done.stdout + done.stderr


def test_code_needs_permission(folder: Path) -> None:
    refused = run(folder, "loop.nom", "--model", "models:good", "--census")
    assert refused.returncode == 2
    assert "--allow-code" in refused.stderr
    allowed = run(folder, "loop.nom", "--model", "models:good", "--census", "--allow-code")
    assert allowed.returncode == 0, allowed.stdout + allowed.stderr


def test_counterexamples_are_kept_and_tried_first(folder: Path) -> None:
    arguments = ("rising.nom", "--census", "--keep", "kept.sqlite", "--json", "verdicts.json")
    assert run(folder, *arguments, "--model", "models:bad").returncode == 1
    kept = _kept(folder)
    assert run(folder, *arguments, "--model", "models:bad").returncode == 1
    (verdict,) = json.loads((folder / "verdicts.json").read_text("utf-8"))["verdicts"]
    assert verdict["samples"] == len(kept)
    assert run(folder, *arguments, "--model", "models:good").returncode == 0
    assert _kept(folder) == kept


def _kept(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "kept.sqlite")) as connection:
        return [text for (text,) in connection.execute("SELECT counterexample FROM known ORDER BY place")]


def test_a_file_that_keep_did_not_write_is_left_alone(folder: Path) -> None:
    (folder / "kept.json").write_text('{"rising": []}', encoding="utf-8")
    done = run(folder, "rising.nom", "--census", "--model", "models:bad", "--keep", "kept.json")
    assert done.returncode == 2
    assert "--keep takes a new file" in done.stderr
    assert (folder / "kept.json").read_text("utf-8") == '{"rising": []}'


def test_a_mistake_is_said_with_its_place(folder: Path) -> None:
    done = run(folder, "wrong.nom", "--model", "models:good")
    assert done.returncode == 2
    for word in ("line 3", "'priors'", "^^^"):
        assert word in done.stderr
    assert "Traceback" not in done.stderr
    assert run(folder, "rising.nom").returncode == 2
    assert run(folder, "nowhere.nom", "--model", "models:good").returncode == 2
    assert run(folder, "rising.nom", "--model", "models:good", "--group", "x").returncode == 2


def test_an_import_offers_the_inputs_where_code_is_allowed(folder: Path) -> None:
    specs = folder / "specs"
    specs.mkdir()
    (folder / "rising.nom").rename(specs / "rising.nom")
    (specs / "people.py").write_text("inputs = {'age': [20, 30], 'priors': [4, 5]}\n", encoding="utf-8")
    arguments = ("specs/rising.nom", "--model", "models:bad")
    refused = run(folder, *arguments, data=None)
    assert refused.returncode == 2
    for word in ("runs its code", "--allow-code", "--data", "line 1, column 8"):
        assert word in refused.stderr
    allowed = run(folder, *arguments, "--allow-code", data=None)
    assert allowed.returncode == 1, allowed.stdout + allowed.stderr
    assert re.search(r"priors +5 +6 ", allowed.stdout)
    given = run(folder, *arguments, "--allow-code", "--census")
    assert "6 rows are the whole population" in given.stdout
    assert run(folder, "specs/rising.nom", "P[prediction == 1] >= 0.5", data=None).returncode == 2


SHOP = """
inputs = [1, 2, 3, 4, 5, 6]

def half(item):
    return None if item % 2 else item // 2

def parcel(item):
    return {"weight": item % 4}
"""
PACKED = """import shop;
input x1;
var x2 := half(x1);
requires x2 != null;
output d1;
output d2;
{
    d1 = shop.parcel(x1)
    d2 = shop.parcel(x2)
}
ensures d1 == d2;
"""


def test_every_violation_is_written_to_a_file(folder: Path) -> None:
    done = run(folder, "rising.nom", "--model", "models:bad", "--census", "--violations", "all.csv")
    assert "all.csv: 3 violations" in done.stdout, done.stdout + done.stderr
    head, *lines = (folder / "all.csv").read_text(encoding="utf-8").splitlines()
    assert head.split(",")[:5] == ['"row of x1"', '"x1.age"', '"x1.priors"', '"choice 1"', '"x2.priors"']
    assert sorted(line.split(",")[4] for line in lines) == ["6", "6", "6"]
    refused = run(folder, "rising.nom", "--model", "models:bad", "--census", "--violations", "all.xlsx")
    assert (refused.returncode, "all.xlsx" in refused.stderr) == (2, True)


def test_a_run_without_a_model_keeps_its_violations_in_the_store(folder: Path) -> None:
    (folder / "shop.py").write_text(SHOP, encoding="utf-8")
    (folder / "packed.nom").write_text(PACKED, encoding="utf-8")
    (folder / "audit.toml").write_text(
        'seed = 1\n[[property]]\nname = "packed"\nnomos = "packed.nom"\n', encoding="utf-8"
    )
    alone = run(folder, "packed.nom", "--allow-code", data=None)
    assert alone.returncode == 1, alone.stdout + alone.stderr
    assert "d1 = {'weight': 2}, d2 = {'weight': 1}" in alone.stdout
    done = run_command(folder, "run", "audit.toml", "--allow-code", "--violations", "found.jsonl")
    assert "found.jsonl: 3 violations" in done.stdout, done.stdout + done.stderr
    lines = [json.loads(line) for line in (folder / "found.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["d1"] for line in lines] == [{"weight": 2}, {"weight": 0}, {"weight": 2}]
    again = run_command(folder, "report", "latest", "-o", "r.html", "--violations", "again.jsonl")
    assert "again.jsonl: 3 violations" in again.stdout, again.stdout + again.stderr
    assert (folder / "again.jsonl").read_text() == (folder / "found.jsonl").read_text()
    assert run_command(folder, "export", "latest", "-o", "e.json").returncode == 0
    replayed = run_command(folder, "replay", "e.json")
    assert "the same" in replayed.stdout, replayed.stdout + replayed.stderr
