"""``isonomia init`` and then ``isonomia run``, on models and tables of many shapes: the draft runs as it is.

Runs are calls of the command's own ``main`` in this process, which spares the start of an interpreter.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isonomia.audits.audit_file.reader import read_audit_file
from isonomia.cli import main

MODELS = """
import numpy as np

def lends(people):
    savings, job = np.asarray(people["savings"], dtype=float), np.asarray(people["job"])
    return np.where(np.nan_to_num(savings) + 3 * (job == "cook") >= 5, "granted", "refused")

def price(people):
    return 100.0 - 5.0 * np.asarray(people["savings"], dtype=float)

def probability(people):
    savings = np.asarray(people["savings"], dtype=float)
    return 1.0 / (1.0 + np.exp(4.0 - savings))

def scores_only(people):
    good = probability(people)
    return np.column_stack([1.0 - good, good])

def truth(people):
    return np.asarray(people["savings"]) > 4

def always(people):
    return np.zeros(len(people["savings"]), dtype=int)

def coin(people):
    return np.random.default_rng().integers(0, 2, len(people["savings"]))
"""


@dataclass(frozen=True, slots=True)
class Done:
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


Command = Callable[..., Done]


@pytest.fixture
def isonomia(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command in this process, in a folder of its own with the models."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "a_lender.py").write_text(MODELS)
    sys.modules.pop("a_lender", None)

    def run(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["isonomia", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        printed = capsys.readouterr()
        return Done(int(left.value.code or 0), printed.out, printed.err)

    return run


def people(rows: int = 240) -> dict[str, list[Any]]:
    """A table with a bit of everything."""
    rng = np.random.default_rng(3)
    savings = rng.integers(0, 10, rows)
    return {
        "id": list(range(rows)),
        "sex": rng.choice(["F", "M"], rows).tolist(),
        "age": rng.integers(18, 80, rows).tolist(),
        "savings": savings.tolist(),
        "job": rng.choice(["cook", "clerk", "baker"], rows).tolist(),
        "owner": (rng.random(rows) < 0.5).tolist(),
        "repaid": (savings + rng.normal(0, 2, rows) > 4).astype(int).tolist(),
    }


def write(columns: dict[str, list[Any]], path: str) -> str:
    import pandas as pd

    frame = pd.DataFrame(columns)
    if path.endswith(".parquet"):
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    return path


def asked(folder: Path) -> dict[str, dict[str, Any]]:
    """The active properties of the draft, by name."""
    return {entry.get("name"): dict(entry.content) for entry in read_audit_file(folder / "audit.toml").properties()}


def ran(isonomia: Command, *arguments: str) -> dict[str, str]:
    """Run the draft; what came of each property."""
    done = isonomia("run", "audit.toml", "-q", "--json", "verdicts.json", *arguments)
    assert done.returncode in (0, 1, 3), done.stderr
    found = json.loads(Path("verdicts.json").read_text("utf-8"))["verdicts"]
    return {verdict["name"]: verdict["answer"] for verdict in found}


# ------------------------------------------------------------------------------------------------------------- models


def fitted(kind: str) -> Any:
    """A pipeline on the features sex, savings, job."""
    import pandas as pd
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    frame = pd.DataFrame(people())
    encode = make_column_transformer((OneHotEncoder(), ["sex", "job"]), remainder="passthrough")
    last = LogisticRegression() if kind == "classes" else LinearRegression()
    return make_pipeline(encode, last).fit(frame[["sex", "savings", "job"]], frame["repaid"])


def test_a_pickled_classifier_is_drafted_with_all_four_audits_and_runs(isonomia: Command, tmp_path: Path) -> None:
    import joblib

    joblib.dump(fitted("classes"), "model.joblib")
    done = isonomia("init", "model.joblib", write(people(), "people.csv"), "--trust-pickle", "--outcome", "repaid",
                    "--census")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "isonomia run audit.toml --trust-pickle" in done.stdout
    found = asked(tmp_path)
    kinds = {
        key for entry in found.values() for key in entry if key in ("check", "safety", "responsiveness", "principal")
    }
    assert kinds == {"check", "safety", "responsiveness", "principal"}
    assert found["sex changes nothing"]["with"] == {"feature": "sex"}
    assert set(ran(isonomia, "--trust-pickle")) == set(found)


def test_a_pickle_is_not_opened_without_trust(isonomia: Command, tmp_path: Path) -> None:
    import joblib

    joblib.dump(fitted("classes"), "model.joblib")
    done = isonomia("init", "model.joblib", write(people(), "people.csv"))
    assert done.returncode == 2
    assert "trust" in done.stderr
    assert not (tmp_path / "audit.toml").exists()


def test_a_regression_is_asked_who_is_above_the_middle(isonomia: Command, tmp_path: Path) -> None:
    import skops.io as sio

    sio.dump(fitted("numbers"), "model.skops")
    done = isonomia("init", "model.skops", write(people(), "people.parquet"), "--census")
    assert done.returncode == 0, done.stderr
    assert any("prediction >= " in entry.get("check", "") for entry in asked(tmp_path).values())
    assert ran(isonomia)


def test_an_onnx_file_is_drafted_and_runs(isonomia: Command, tmp_path: Path) -> None:
    import pandas as pd
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType
    from sklearn.linear_model import LogisticRegression

    frame = pd.DataFrame(people())
    model = LogisticRegression().fit(frame[["savings", "age"]].to_numpy(dtype=np.float32), frame["repaid"])
    made = to_onnx(model, initial_types=[("x", FloatTensorType([None, 2]))], options={"zipmap": False})
    Path("model.onnx").write_bytes(made.SerializeToString())
    done = isonomia("init", "model.onnx", write(people(), "people.csv"), "--features", "savings, age", "--census")
    assert done.returncode == 0, done.stderr
    assert tomllib.loads((tmp_path / "audit.toml").read_text("utf-8"))["model"]["features"] == ["savings", "age"]
    assert ran(isonomia)


def test_features_are_found_where_the_model_does_not_name_them(isonomia: Command, tmp_path: Path) -> None:
    import joblib
    from sklearn.tree import DecisionTreeClassifier

    columns = {name: values for name, values in people().items() if name in ("id", "savings", "age", "repaid")}
    rows = np.column_stack([columns["age"], columns["savings"]])
    joblib.dump(DecisionTreeClassifier(max_depth=2).fit(rows, columns["repaid"]), "tree.joblib")
    done = isonomia("init", "tree.joblib", write(columns, "people.csv"), "--trust-pickle", "--census")
    assert done.returncode == 0, done.stderr
    assert tomllib.loads((tmp_path / "audit.toml").read_text("utf-8"))["model"]["features"] == ["age", "savings"]
    assert ran(isonomia, "--trust-pickle")


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("lends", "prediction == 'granted'"),
        ("price", "prediction >= 75"),
        ("probability", "prediction >= 0.5"),
        ("scores_only", "score >= 0.5"),
        ("truth", "prediction == true"),
        ("always", "prediction == 0"),
    ],
)
def test_a_function_is_asked_what_it_answers(name: str, event: str, isonomia: Command, tmp_path: Path) -> None:
    done = isonomia("init", f"a_lender:{name}", write(people(), "people.csv"))
    assert done.returncode == 0, done.stderr
    assert f"favourable: {event} (" in done.stdout
    assert set(ran(isonomia)) == set(asked(tmp_path))


def test_a_model_that_tosses_coins_is_drafted_as_one(isonomia: Command, tmp_path: Path) -> None:
    done = isonomia("init", "a_lender:coin", write(people(), "people.csv"))
    assert done.returncode == 0, done.stderr
    draft = tomllib.loads((tmp_path / "audit.toml").read_text("utf-8"))
    assert draft["model"]["random"] is True
    assert ran(isonomia)


# -------------------------------------------------------------------------------------------------------------- tables


def test_missing_values_keep_a_draft_from_nothing(isonomia: Command, tmp_path: Path) -> None:
    columns = people()
    columns["sex"][::7] = [None] * len(columns["sex"][::7])
    columns["savings"] = [None if k % 11 == 0 else value for k, value in enumerate(columns["savings"])]
    columns["age"][5] = None
    done = isonomia("init", "a_lender:lends", write(columns, "people.csv"))
    assert done.returncode == 0, done.stderr
    assert "missing in" in (tmp_path / "audit.toml").read_text("utf-8")
    assert ran(isonomia)


def test_a_table_with_predictions_needs_no_model(isonomia: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    columns = people() | {"prediction": rng.integers(0, 2, 240).tolist(), "score": rng.random(240).tolist()}
    done = isonomia("init", write(columns, "scored.csv"), "--census")
    assert done.returncode == 0, done.stderr
    assert "model" not in tomllib.loads((tmp_path / "audit.toml").read_text("utf-8"))
    found = ran(isonomia)
    assert any(name.startswith("impact ratio, sex") for name in found)
    assert "calibration by sex" in found or "equal opportunity by sex" in found


def test_a_table_with_decisions_is_audited_for_them(isonomia: Command, tmp_path: Path) -> None:
    columns = people()
    columns["Entscheidung"] = ["genehmigt" if value > 4 else "abgelehnt" for value in columns.pop("savings")]
    done = isonomia("init", write(columns, "akten.csv"), "--census")
    assert done.returncode == 0, done.stderr
    assert "favourable: Entscheidung == 'genehmigt'" in done.stdout
    assert tomllib.loads((tmp_path / "audit.toml").read_text("utf-8"))["population"] == {"census": "akten.csv"}
    assert "undecided" not in ran(isonomia).values()


def test_names_and_values_with_anything_in_them_are_written_and_run(isonomia: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    odd = ["<b>F</b>", 'M "x"\n']
    columns = {
        'sex of `it\'s`\t"q"': rng.choice(odd, 200).tolist(),
        "Größe (cm) <script>": rng.integers(150, 200, 200).tolist(),
        "прогноз = {}": rng.integers(0, 3, 200).tolist(),
        "prediction": rng.integers(0, 2, 200).tolist(),
        "# a comment": rng.choice(["a", "b"], 200).tolist(),
    }
    done = isonomia("init", write(columns, "odd table.csv"), "--outcome", "прогноз = {}", "--protected", "# a comment",
                    "--protected", "sex of `it's`\t\"q\"")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert any("<b>F</b>" in entry.get("check", "") for entry in asked(tmp_path).values())
    assert ran(isonomia)


def test_a_table_without_protected_attributes_is_still_asked_something(isonomia: Command) -> None:
    columns = {name: values for name, values in people().items() if name in ("savings", "job")}
    done = isonomia("init", "a_lender:lends", write(columns, "people.csv"))
    assert done.returncode == 0, done.stderr
    assert "protected: no column looks like one" in done.stdout
    assert ran(isonomia)


def test_a_tiny_table_is_drafted_and_runs(isonomia: Command) -> None:
    columns = {name: values[:3] for name, values in people().items()}
    assert isonomia("init", "a_lender:lends", write(columns, "people.csv")).returncode == 0
    assert ran(isonomia)


# --------------------------------------------------------------------------------------------------------------- files


def test_paths_are_relative_to_the_audit_file(isonomia: Command, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "audits").mkdir()
    write(people(), "data/people.csv")
    assert isonomia("init", "a_lender:lends", "data/people.csv", "-o", "audits/first.toml").returncode == 0
    content = tomllib.loads((tmp_path / "audits" / "first.toml").read_text("utf-8"))
    assert content["population"]["sample"] == "../data/people.csv"
    assert (tmp_path / "audits" / "changes.toml").exists()
    assert isonomia("run", "audits/first.toml", "-q").returncode in (0, 1, 3)


def test_no_file_is_written_over_unless_told_so(isonomia: Command, tmp_path: Path) -> None:
    (tmp_path / "audit.toml").write_text("# edited\n")
    data = write(people(), "people.csv")
    refused = isonomia("init", "a_lender:lends", data)
    assert refused.returncode == 2
    assert "--force" in refused.stderr
    assert (tmp_path / "audit.toml").read_text() == "# edited\n"
    assert isonomia("init", "a_lender:lends", data, "--force").returncode == 0
    assert "# edited" not in (tmp_path / "audit.toml").read_text()


def test_what_people_can_change_is_used_where_it_is_already_there(isonomia: Command, tmp_path: Path) -> None:
    data = write(people(), "people.csv")
    mine = '[features.savings]\nkind = "integer"\nlow = 0\nhigh = 9\n'
    (tmp_path / "changes.toml").write_text(mine)
    assert isonomia("init", "a_lender:lends", data).returncode == 0
    assert (tmp_path / "changes.toml").read_text() == mine
    assert "a way to the favourable answer" in ran(isonomia)


def test_a_draft_can_be_printed_and_then_writes_nothing(isonomia: Command, tmp_path: Path) -> None:
    done = isonomia("init", "a_lender:lends", write(people(), "people.csv"), "-o", "-")
    assert tomllib.loads(done.stdout)["model"]["load"] == "a_lender:lends"
    assert not list(tmp_path.glob("*.toml"))
    (tmp_path / "audit.toml").write_text(done.stdout, "utf-8")
    assert "a way to the favourable answer" not in ran(isonomia, "--allow-code")  # it knows of no file that was written


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("people.csv",), "expected a model, or a table with a column of predictions or decisions"),
        (("a_lender:lends", "nowhere.csv"), "nowhere.csv does not exist"),
        (("a_lender:lent", "people.csv"), "Did you mean 'lends'"),
        (("a_lender:lends", "people.csv", "--outcome", "repaidd"), "Did you mean 'repaid'"),
        (("a_lender:lends", "people.csv", "--protected", "sexx"), "Did you mean 'sex'"),
        (("a_lender:lends", "people.csv", "--favourable", "grantet"), "Did you mean 'granted'"),
        (("a_lender:price", "people.csv", "--favourable", "cheap"), "the number where it is favourable"),
        (("a_lender:lends", "people.csv", "--decision", "repaid"), "either a model or --decision"),
        (("a_lender:lends", "people.csv", "--leave-out", "age"), "--leave-out requires --interventions"),
        (("a_lender:lends", "people.csv", "--interventions"), "expected only a table"),
        (("a", "b", "c"), "a model and a table"),
        (("people.csv", "--decision", "repaid", "--features", "age"), "these options require a model: --features"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(arguments: tuple[str, ...], message: str, isonomia: Command) -> None:
    write(people(), "people.csv")
    done = isonomia("init", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("model", [None, "http://127.0.0.1:9/score"])
def test_a_draft_imports_nothing_that_lies_beside_the_table(tmp_path: Path, model: str | None) -> None:
    write(people() | {"decision": [0, 1] * 120}, str(tmp_path / "people.csv"))
    for library in ("numpy", "pandas", "polars", "pyarrow", "httpx", "onnxruntime", "people", "audit"):
        (tmp_path / f"{library}.py").write_text("import pathlib\npathlib.Path('ran').touch()\nraise SystemExit(7)\n")
    # A new process: in this one the libraries are imported already. -P, as the installed command has it.
    start = [sys.executable, "-P", "-c", "from isonomia.cli import main; main()"]
    words = ["init", *([] if model is None else ["--model-option", "retries=0", model]), "people.csv"]
    done = subprocess.run([*start, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == (0 if model is None else 2), done.stdout + done.stderr
    assert not (tmp_path / "ran").exists()
