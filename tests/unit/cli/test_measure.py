"""``isonomia measure``: the table, its files, and what is said where something is missing."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from isonomia.cli.app import app
from isonomia.errors import DataError, IsonomiaError, UsageError
from raising import raises


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("measure") / "people.csv"
    lines = ["sex,race,income,score"]
    for _ in range(400):
        sex, race = rng.choice(["F", "M"]), rng.choice(["A", "B", "?"], p=[0.6, 0.35, 0.05])
        score = rng.random() * (0.8 if sex == "F" else 1.0)
        lines.append(f"{sex},{race},{'>50K' if score > 0.5 else '<=50K'},{score:.3f}")
    path.write_text("\n".join(lines) + "\n")
    return path


def measured(*arguments: str, width: int = 80) -> str:
    done = CliRunner().invoke(app, ["measure", *arguments], env={"COLUMNS": str(width), "TERM": "dumb"})
    if isinstance(done.exception, IsonomiaError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def test_every_kind_of_file_is_written_and_says_the_same(people: Path, tmp_path: Path) -> None:
    files = {name: tmp_path / f"table.{name}" for name in ("csv", "html", "markdown", "json")}
    printed = measured(
        *("--data", str(people), "--decision", "income", "--positive", ">50K", "--score", "score"),
        *("--by", "sex", "--by", "race", "--by", "sex,race", "--unknown", "?", "--reference", "M"),
        *(part for name, path in files.items() for part in (f"--{name}", str(path))),
    )
    rows = list(csv.DictReader(files["csv"].read_text().splitlines()))
    women = next(row for row in rows if row["group"] == "F")
    rate, ratio = float(women["selection_rate"]), float(women["impact_ratio"])
    stored = json.loads(files["json"].read_text())
    (same,) = [row for row in stored["rows"] if row["name"] == "F"]
    assert same["estimates"]["selection_rate"]["value"] == rate
    for text in (printed, files["markdown"].read_text(), files["html"].read_text()):
        assert f"{rate:.3f}" in text
        assert f"{ratio:.3f}" in text
        assert "unknown" in text
    assert {row["by"] for row in rows} == {"", "sex", "race", "sex,race"}
    assert "M (reference)" in printed
    assert max(map(len, printed.splitlines()[:-4])) <= 80  # paths of files are not broken
    assert printed.splitlines()[-4:] == [f"written: {path}" for path in files.values()]
    assert "Counted as favourable: income = '>50K'." in printed
    assert "- compared with: sex: M" in files["markdown"].read_text()


def test_no_digit_is_lost_on_a_narrow_terminal(people: Path) -> None:
    arguments = ("--data", str(people), "--decision", "income", "--positive", ">50K", "--by", "sex,race")
    wide, narrow = (measured(*arguments, width=width).split() for width in (160, 60))
    assert sorted(part for part in wide if part[0] == "[") == sorted(part for part in narrow if part[0] == "[")


def test_text_needs_a_value_and_the_error_names_those_that_there_are(people: Path) -> None:
    with raises(UsageError, "<=50K", ">50K", "--favourable", name="favourable"):
        measured("--data", str(people), "--decision", "income", "--by", "sex")


def test_a_risk_may_be_written_in_percent(people: Path) -> None:
    arguments = ("--data", str(people), "--score", "score", "--by", "sex", "--delta")
    assert measured(*arguments, "5%") == measured(*arguments, "0.05") != measured(*arguments, "1%")
    done = CliRunner().invoke(app, ["check", "P[score >= 0.1] >= 0.5", "--data", str(people), "--delta", "5 percent"])
    assert done.exit_code == 2
    assert "such as 0.05 or 5%" in " ".join(done.output.split())


def test_a_census_is_exact(people: Path) -> None:
    printed = measured("--data", str(people), "--score", "score", "--by", "sex", "--census")
    assert "every number is exact" in printed
    assert "[" not in printed


def test_a_file_that_cannot_be_written_is_found_before_the_work(people: Path, tmp_path: Path) -> None:
    arguments = ("--data", str(people), "--score", "score", "--by", "sex")
    with raises(UsageError, "--html", cause=FileNotFoundError):
        measured(*arguments, "--html", str(tmp_path / "no" / "page.html"))
    with raises(UsageError, ".csv", ".parquet", "--csv"):
        measured(*arguments, "--csv", str(tmp_path / "table.xls"))


ADULT = ["Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"]


def test_no_word_and_no_number_is_broken_at_80_columns(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = ["sex,race,decided,happened,score"]
    for race in rng.choice(ADULT, 600, p=[0.01, 0.03, 0.1, 0.01, 0.85]):
        yes, score = rng.integers(0, 2, 2), rng.random()
        lines.append(f"{rng.choice(['Female', 'Male'])},{race},{yes[0]},{yes[1]},{score:.3f}")
    (tmp_path / "adult.csv").write_text("\n".join(lines))
    printed = measured(
        *("--data", str(tmp_path / "adult.csv"), "--decision", "decided", "--outcome", "happened"),
        *("--score", "score", "--by", "race", "--by", "sex,race"),
    )
    tables = printed.split("Counted as")[0].splitlines()
    assert max(map(len, tables)) <= 80
    for line in tables:
        assert line.count("[") == line.count("]"), line  # a number and its interval stand on one line
        name = line.strip().split("  ")[0]
        assert not name or name[0] != "(" or line.startswith("    ("), line  # what follows a name is set in
    assert sum(line.split("  ")[1:2] == ["Asian-Pac-Islander"] for line in tables) >= 4
    assert not any(word in printed for word in ("Islande ", "Eskim "))


def test_blanks_around_values_and_a_file_without_names_are_told(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("sex, hired\n" + "F, 1\n Male, 0\n" * 20)
    with raises(DataError, name="hired", meant=" hired"):
        measured("--data", str(path), "--decision", "hired", "--by", "sex")
    printed = measured("--data", str(path), "--decision", " hired", "--by", "sex")
    assert "sex has values with blanks around them, such as ' Male'" in " ".join(printed.split())
    with raises(UsageError, name="reference", meant=" Male"):
        measured("--data", str(path), "--decision", " hired", "--by", "sex", "--reference", "Male")
    path.write_text("39, State-gov,13,1\n" * 20)
    with raises(DataError, "39", "13", name="hired"):
        measured("--data", str(path), "--decision", "hired", "--by", "sex")


def test_what_to_measure_is_asked_for_in_the_words_of_the_command_line(people: Path) -> None:
    with raises(UsageError, "--decision", name="decision"):
        measured("--data", str(people), "--by", "sex")


def test_charts_of_measures_have_0_on_their_axis(people: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    given = ("--decision", "income", "--positive", ">50K", "--outcome", "income", "--score", "score")
    measured("--data", str(people), *given, "--by", "sex", "--html", str(page))
    found = re.findall(r'"params":(\{"least".*?\})', page.read_text("utf-8"))
    ends = [(params["least"], params["most"]) for params in map(json.loads, found)]
    assert len(ends) >= 8
    assert all(least <= 0.0 < most for least, most in ends)
    assert sum(least == 0.0 for least, _ in ends) == len(ends) - 1, "only the calibration may be negative"
