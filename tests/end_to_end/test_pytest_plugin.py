"""The pytest plugin as people use it: a real pytest, in a folder of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

SCORING = """
import os
from pathlib import Path

import numpy as np

ODD = int(os.environ.get("ODD", "3"))

def model(table):
    points, priors = np.asarray(table["points"]), np.asarray(table["priors"])
    with Path("asked.txt").open("a") as file:
        file.write(f"{len(points)}\\n")
    return ((points > 0.4) & (priors != ODD)).astype(int)
"""
TESTS = """
import isonomia as iso
import pytest

from scoring import model

PEOPLE = iso.Census("people.csv")
SOME = iso.Sample("people.csv")
RATE = "P[prediction == 1 | sex == 'F']"

def test_passes():
    assert iso.assert_holds(f"{RATE} >= 0.2", model, PEOPLE).exact

def test_priors_never_help():
    prop = iso.safety.monotone("priors", up=(1, 2), at_most=5, output="not higher", name="priors never help")
    iso.assert_holds(prop, model, PEOPLE)

@pytest.mark.isonomia(seed=3, budget=20, delta=0.01)
class TestMarked:
    def test_undecided(self):
        iso.assert_holds(f"{RATE} >= 0.5", model, SOME)

    @pytest.mark.isonomia(undecided="skip", budget=10)
    def test_skipped(self):
        iso.assert_holds(f"{RATE} >= 0.5", model, SOME)

    def test_accepted(self):
        assert iso.assert_holds(f"{RATE} >= 0.5", model, SOME, undecided="pass", seed=4).samples == 20

def test_two_verdicts():
    iso.assert_holds(f"{RATE} >= 0.1", model, PEOPLE)
    with pytest.raises(iso.PropertyFailure, match="violated"):
        iso.assert_holds(f"{RATE} >= 0.9", model, PEOPLE)

@pytest.mark.isonomia(delt=0.1)
def test_mistaken_marker():
    raise AssertionError("the test must not begin")

def test_without_any_property():
    pass
"""
AUDIT = """
seed = 11

[model]
load = "scoring:model"

[population]
census = "people.csv"

[[property]]
name = "women"
check = "P[prediction == 1 | sex == 'F'] >= 0.2"

[[property]]
name = "too many"
check = "P[prediction == 1] >= 0.9"

[[property]]
check = "P[prediction == 1] >= 0.1"

[[property]]
name = "needs permission"
nomos = '''
input x1;
output d1;
{
    d1 = max([predict(x1)])
}
ensures d1 >= 0;
'''
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _project(tmp_path_factory.mktemp("project"))


def _project(folder: Path) -> Path:
    (folder / "scoring.py").write_text(SCORING)
    (folder / "test_hiring.py").write_text(TESTS)
    (folder / "audit.toml").write_text(AUDIT)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\nfilterwarnings = error\n")
    rng = np.random.default_rng(5)
    rows = zip(rng.choice(["F", "M"], 400), rng.random(400).round(4), rng.integers(0, 6, 400), strict=True)
    lines = ["sex,points,priors", *(",".join(map(str, row)) for row in rows)]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    return folder


def _pytest(
    folder: Path, *arguments: str, allow: str = "--isonomia-allow-code", **variables: str
) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"COLUMNS": "100", "NO_COLOR": "1", **variables}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", allow, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, check=False)


def _asked(folder: Path) -> int:
    """How many rows the model was asked about since the last time."""
    path = folder / "asked.txt"
    rows = sum(map(int, path.read_text().split())) if path.exists() else 0
    path.unlink(missing_ok=True)
    return rows


@pytest.fixture(scope="module")
def everything(project: Path) -> str:
    """What pytest prints about the tests and the audit file; the JUnit file lies in the folder."""
    done = _pytest(project, "-ra", "-v", "test_hiring.py", "audit.toml", "--junit-xml=junit.xml")
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def test_pytest_finds_the_plugin_by_itself() -> None:
    (found,) = [each for each in entry_points(group="pytest11") if each.name == "isonomia"]
    assert found.value == "isonomia.pytest_plugin"


def test_a_suite_that_does_not_use_it_loads_nothing_for_it(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "import json, pathlib, sys\n"
        "def pytest_unconfigure(config):\n"
        "    assert config.pluginmanager.hasplugin('isonomia')\n"
        "    pathlib.Path('modules.json').write_text(json.dumps(sorted(sys.modules)))\n"
    )
    (tmp_path / "test_it.py").write_text("def test_it():\n    pass\n")
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (tmp_path / "audit.toml").write_text("this is no audit file")
    done = _pytest(tmp_path, "-p", "no:xdist", "-W", "error")
    assert done.returncode == 0, done.stdout + done.stderr
    modules = json.loads((tmp_path / "modules.json").read_text())
    heavy = ("numpy", "scipy", "lark", "narwhals", "rich", "typer", "sklearn", "pandas", "sqlite3")
    assert not set(heavy) & {name.partition(".")[0] for name in modules}
    ours = {name for name in modules if name.startswith("isonomia")}
    assert ours <= {
        *(
            "isonomia",
            "isonomia.version",
            "isonomia.errors",
            "isonomia.wording",
            "isonomia.audits",
            "isonomia.audits.context",
        ),
        *(f"isonomia.pytest_plugin{part}" for part in ("", ".settings", ".summary", ".audit_files")),
    }
    assert "properties" not in done.stdout
    assert {path.name for path in tmp_path.iterdir()} - {"__pycache__"} == {
        *("conftest.py", "test_it.py", "pyproject.toml", "audit.toml", "modules.json")
    }


def test_a_property_passes_and_fails_like_any_test(everything: str) -> None:
    told = dict(re.findall(r"^(\S+?::.+?) (PASSED|FAILED|SKIPPED|ERROR)", everything, re.MULTILINE))
    assert told == {
        "test_hiring.py::test_passes": "PASSED",
        "test_hiring.py::test_priors_never_help": "FAILED",
        "test_hiring.py::TestMarked::test_undecided": "FAILED",
        "test_hiring.py::TestMarked::test_skipped": "SKIPPED",
        "test_hiring.py::TestMarked::test_accepted": "PASSED",
        "test_hiring.py::test_two_verdicts": "PASSED",
        "test_hiring.py::test_mistaken_marker": "ERROR",
        "test_hiring.py::test_without_any_property": "PASSED",
        "audit.toml::women": "PASSED",
        "audit.toml::too many": "FAILED",
        "audit.toml::property 3": "PASSED",
        "audit.toml::needs permission": "PASSED",
    }


def test_the_log_shows_the_counterexample_and_how_to_repeat_it(everything: str) -> None:
    start = everything.index("isonomia.PropertyFailure: violated: priors never help")
    part = everything[start : everything.index("\n____", start)]
    assert re.search(r"x1 \(row \d+\)  x2 \(changed\)\nE +priors  3 +\d", part)
    assert re.search(r"the model said: d1 = 0, d2 = 1\nE +not true: d2 <= d1", part)
    assert re.search(r"pytest test_hiring.py::test_priors_never_help --isonomia-seed \d+", part)
    assert max(map(len, part.splitlines())) <= 100
    assert "asserting.py" not in everything  # the traceback ends in the test


def test_the_marker_gives_defaults_and_explicit_arguments_win(everything: str) -> None:
    assert "Undecided after 20 samples (the budget of samples is spent)" in everything
    assert "seed=3, delta=0.01" in everything
    assert "a property is undecided after 10 samples" in everything  # the nearest marker wins


def test_a_mistaken_marker_is_an_error_before_the_test_begins(everything: str) -> None:
    assert "takes delta, budget, seed, looks, undecided, but got 'delt'. Did you mean 'delta'?" in everything
    assert "must not begin" not in everything.partition("short test summary")[0].partition("mistaken_marker ___")[2]


def test_a_property_of_an_audit_file_fails_with_the_same_message(everything: str) -> None:
    part = everything[everything.index("_ too many _") :]
    assert "violated: too many\nViolated after 400 samples" in part
    assert "pytest 'audit.toml::too many' --isonomia-seed 11" in part
    assert "FAILED audit.toml::too many - isonomia.PropertyFailure: violated: too many" in everything


def test_an_audit_file_cannot_give_itself_permission(tmp_path: Path) -> None:
    folder = _project(tmp_path)
    (folder / "scoring.py").write_text("import pathlib\npathlib.Path('ran').touch()\n")
    done = _pytest(folder, "-p", "no:xdist", "audit.toml", allow="--isonomia-no-records")
    told = " ".join(done.stdout.split())
    assert "4 errors" in told
    assert 'line 5: load = "scoring:model" runs code: the Python module scoring' in told
    assert re.search(r"line \d+: nomos = .* runs code: its block is more than plain calls", told)
    assert "isonomia_allow_code = true" in told
    assert not (folder / "ran").exists()


def test_an_audit_file_without_permission_imports_nothing_that_lies_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    text = "[population]\ncensus = 'people.csv'\n[[property]]\ncheck = \"P[points > 0.1 | sex == 'F'] >= 0.1\"\n"
    (_project(folder) / "audit.toml").write_text(text)
    for library in ("numpy", "pandas", "polars", "pyarrow", "scipy", "people", "audit"):
        (folder / f"{library}.py").write_text("import pathlib\npathlib.Path('ran').touch()\nraise SystemExit(7)\n")
    done = _pytest(tmp_path, "-p", "no:xdist", "theirs/audit.toml", allow="--isonomia-no-records")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    assert not (tmp_path / "ran").exists()


def test_the_summary_has_a_line_for_each_property(everything: str) -> None:
    summary = everything[everything.index("= properties =") : everything.index("= short test summary")]
    lines = [re.split(r"  +", line) for line in summary.splitlines()[1:-1]]
    assert ["violated", "too many", "400 people", "exact"] in lines
    assert ["undecided", "P[prediction == 1 | sex == 'F'] >= 0.5", "20 people", "nothing claimed"] in lines
    assert len(lines) == 11, lines


def test_verdicts_reach_the_junit_file_of_pytest(everything: str, project: Path) -> None:
    assert everything
    cases = {case.get("name"): case for case in ElementTree.parse(project / "junit.xml").iter("testcase")}
    told = {
        name: [json.loads(each.get("value", "")) for each in case.iter("property") if each.get("name") == "isonomia"]
        for name, case in cases.items()
    }
    assert [each["answer"] for each in told["test_two_verdicts"]] == ["holds", "violated"]
    assert (told["too many"][0]["answer"], told["too many"][0]["seed"]) == ("violated", 11)
    assert told["test_without_any_property"] == []


def test_a_known_counterexample_is_tried_first_until_the_model_is_mended(tmp_path: Path) -> None:
    folder, only = _project(tmp_path), "test_hiring.py::test_priors_never_help"
    assert _pytest(folder, only).returncode == 1
    first = _asked(folder)
    again = _pytest(folder, only)
    assert again.returncode == 1
    assert re.search(r"known counterexamples? still violates? it", again.stdout)
    assert _asked(folder) < first / 10
    assert (folder / ".isonomia").is_dir()
    assert _pytest(folder, only, ODD="5").returncode == 0  # mended: nobody has more than 5
    _asked(folder)
    worse = _pytest(folder, only, "--isonomia-budget", "1e6")
    assert (worse.returncode, "still" in worse.stdout, _asked(folder)) == (1, False, first)


def test_no_records_means_none(tmp_path: Path) -> None:
    folder, only = _project(tmp_path), "test_hiring.py::test_priors_never_help"
    assert _pytest(folder, "-p", "no:xdist", "--isonomia-no-records", only).returncode == 1
    assert not (folder / ".isonomia").exists()


def test_workers_of_xdist_tell_everything_and_write_at_once(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    folder = _project(tmp_path)
    copies = "\n".join(
        f"def test_copy_{k}(): test_priors_never_help()" for k in range(4)
    )  # several processes find, keep and try the same counterexamples
    (folder / "test_hiring.py").write_text(TESTS + copies)
    arguments = ("-n", "2", "-k", "copy or women or too or permission", "test_hiring.py", "audit.toml")
    options = ("--isonomia-records", "kept", "--isonomia-seed", "77", "--junit-xml=junit.xml")
    done = _pytest(folder, *arguments, *options)
    assert "5 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    assert len(re.findall(r"^violated +priors never help", done.stdout, re.MULTILINE)) == 4
    assert re.search(r"holds +needs permission", done.stdout)
    assert "left aside" not in done.stdout
    told = list(ElementTree.parse(folder / "junit.xml").iter("property"))
    assert {json.loads(each.get("value", ""))["seed"] for each in told} == {77}  # also those of the audit file
    assert (folder / "kept" / "runs.sqlite").exists()
    assert not (folder / ".isonomia").exists()


def _collected(folder: Path, *arguments: str) -> list[str]:
    done = _pytest(folder, "-p", "no:xdist", "--collect-only", "-q", *arguments)
    return re.findall(r"^\S+::.+$", done.stdout, re.MULTILINE)


def test_the_marker_selects_tests_and_properties_of_audit_files(project: Path) -> None:
    found = _collected(project, "-m", "isonomia", "test_hiring.py", "audit.toml")
    assert [each.rpartition("::")[2] for each in found] == [
        *("test_undecided", "test_skipped", "test_accepted", "test_mistaken_marker"),
        *("women", "too many", "property 3", "needs permission"),
    ]


@pytest.mark.parametrize(
    ("wanted", "files"),
    [
        ("false", set()),
        ("true", {"audit.toml", "deep/second.audit.toml"}),
        ("deep/*.toml", {"deep/second.audit.toml", "deep/other.toml"}),
    ],
)
def test_the_configuration_says_which_audit_files_are_tests(tmp_path: Path, wanted: str, files: set[str]) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("audit.toml", "deep/second.audit.toml", "deep/other.toml"):
        (tmp_path / name).write_text(AUDIT)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\nisonomia_audits = {wanted}\n")
    assert {each.partition("::")[0] for each in _collected(tmp_path)} == files


def test_a_file_that_cannot_be_read_is_an_error_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "audit.toml").write_text('[[property]]\nname = "x"\nchek = "P[a] > 0"\n')
    done = _pytest(tmp_path, "-p", "no:xdist", "audit.toml")
    assert done.returncode == 2
    assert "line 3" in done.stdout
    assert "Traceback" not in done.stdout


def test_a_seed_that_is_none_is_refused_before_anything_runs(project: Path) -> None:
    done = _pytest(project, "--isonomia-seed", "x", "test_hiring.py")
    assert done.returncode == 4
    assert "expected --isonomia-seed as a whole number" in done.stderr


def test_two_folders_with_models_of_one_name_are_not_mixed_up(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        _project(tmp_path / name)
    done = _pytest(tmp_path, "-p", "no:xdist", "-k", "women", "one/audit.toml", "two/audit.toml")
    assert "1 passed" in done.stdout
    assert "1 error" in done.stdout
    assert "another module 'scoring' was imported before" in " ".join(done.stdout.split())
    assert "raise UsageError" not in done.stdout, "the lines of Python that noticed it are of no use here"
