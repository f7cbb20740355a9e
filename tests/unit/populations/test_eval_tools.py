"""Logs that inspect_ai, lm-evaluation-harness and promptfoo write themselves; skipped where they are not installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from isonomia.populations import Table, read_table

INSPECT = """
import sys
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, match, mean, scorer
from inspect_ai.solver import generate, solver

def said(messages, *_):
    output = ModelOutput.from_content("mockllm/model", "4" if int(messages[0].text.split()[0]) % 3 else "5")
    output.usage = ModelUsage(input_tokens=3, output_tokens=1, total_tokens=4)  # or they would be counted by tiktoken
    return output

@solver
def failing():
    async def solve(state, generate):
        if state.metadata["n"] % 6 == 2:
            raise RuntimeError("down")
        return await generate(await generate(state) if state.metadata["n"] % 4 == 1 else state)
    return solve

@scorer(metrics={"short": [mean()], "kind": [mean()]})
def style():
    async def score(state, target):
        return Score(value={"short": 1, "kind": 0.25})
    return score

@scorer(metrics=[accuracy()])
def sometimes():
    async def score(state, target):
        return Score(value="C") if state.metadata["n"] % 2 else None
    return score

names = [Sample(id=f"q{n}", input=f"{n} ?", target="4", metadata={"n": n, "long": "x " * 2000}) for n in range(12)]
task = Task(dataset=MemoryDataset(names), solver=failing(), scorer=[sometimes(), match(), style()], epochs=2,
            message_limit=2, fail_on_error=False)
for kind in ("eval", "json"):
    model = get_model("mockllm/model", custom_outputs=said)
    log = eval(task, model=model, log_dir=".", log_format=kind, display="none", max_samples=5)[0]
    print(log.status, log.location)
"""

HARNESS = """task: own
dataset_path: json
dataset_kwargs: {data_files: {test: DATA}}
test_split: test
output_type: generate_until
doc_to_text: "{{q}}"
doc_to_target: "{{a}}"
repeats: 2
generation_kwargs: {until: ["x"]}
filter_list:
  - {name: strict, filter: [{function: regex, regex_pattern: "([0-9]+)"}, {function: take_first}]}
  - {name: first, filter: [{function: take_first}]}
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
  - {metric: bleu}
"""

PROVIDER = """module.exports = class {
  constructor(options) { this.name = options.config.name; }
  id() { return this.name; }
  async callApi(prompt, context) {
    const n = Number(context.vars.n);
    if (this.name === "b" && n === 2) return { error: "server is down" };
    return { output: (n % 3 ? "yes " : "no ") + n, cost: 0.001, tokenUsage: { total: 3, prompt: 2, completion: 1 } };
  }
};
"""


def run(folder: Path, *command: str, env: Mapping[str, str] | None = None, codes: tuple[int, ...] = (0,)) -> str:
    """What a tool prints; in a process of its own, since these tools leave streams open."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, **(env or {})})
    assert done.returncode in codes, done.stderr
    return done.stdout


def known(table: Table, name: str) -> list[Any]:
    return [None if value != value else value for value in table.column(name).tolist()]


def test_logs_that_inspect_ai_writes_are_the_same_table_in_both_forms(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai", reason="inspect_ai is not installed: pip install inspect_ai")
    lines = run(tmp_path, sys.executable, "-c", INSPECT).splitlines()[-2:]
    tables = [read_table(str(tmp_path / Path(line.split()[1]).name)) for line in lines]
    for table in tables:
        assert known(table, "item") == [f"q{n}" for n in range(12) for _ in range(2)]
        assert known(table, "repeat") == [1, 2] * 12
        failed = [n % 6 == 2 for n in range(12) for _ in range(2)]
        assert [bool(each) for each in known(table, "error")] == failed
        assert known(table, "correct") == [int(n % 2) for n in range(12) for _ in range(2)]
        right = [None if n % 6 == 2 else float(n % 3 > 0) for n in range(12) for _ in range(2)]
        assert known(table, "match") == right
        assert known(table, "style.kind") == [None if each else 0.25 for each in failed]
        assert {"limit" in remark for remark in table.remarks} == {True, False}
        assert [bool(each) for each in known(table, "limit")] == [n % 4 == 1 for n in range(12) for _ in range(2)]
    shared = [name for name in tables[0].names if name not in ("seconds", "long")]
    assert all(known(tables[0], name) == known(tables[1], name) for name in shared)


def test_samples_that_the_harness_writes_are_a_table(tmp_path: Path) -> None:
    pytest.importorskip("lm_eval", reason="lm-evaluation-harness is not installed: pip install lm_eval")
    data, tasks = tmp_path / "data.json", tmp_path / "tasks"
    data.write_text("\n".join(json.dumps({"q": f"{n}?", "a": "lol" if n % 2 else "1", "n": n}) for n in range(10)))
    tasks.mkdir()
    (tasks / "own.yaml").write_text(HARNESS.replace("DATA", json.dumps(str(data))))
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(tmp_path / "home")}
    options = [
        "--model",
        "dummy",
        "--tasks",
        "own",
        "--include_path",
        str(tasks),
        "--output_path",
        str(tmp_path / "out"),
    ]
    run(tmp_path, sys.executable, "-m", "lm_eval", *options, "--log_samples", env=offline)
    (log,) = (tmp_path / "out").rglob("samples_*.jsonl")
    table = read_table(str(log))
    assert known(table, "item") == known(table, "n") == list(range(10))
    assert known(table, "exact_match_first") == [float(n % 2) for n in range(10)]
    assert known(table, "correct") == known(table, "exact_match_strict") == [0.0] * 10
    assert not [name for name in table.names if name.startswith("bleu") or name.endswith("_")]


def test_results_that_promptfoo_writes_are_a_table(tmp_path: Path) -> None:
    tool = shutil.which("promptfoo")
    if tool is None:
        pytest.skip("promptfoo is not installed: npm install -g promptfoo")
    (tmp_path / "provider.js").write_text(PROVIDER)
    tests: list[dict[str, Any]] = [
        {"vars": {"n": n}, "assert": [{"type": "contains", "value": "yes", "metric": "says yes"}]} for n in range(1, 6)
    ]
    tests += [{"vars": {"n": 9}, "metadata": {"topic": "free"}}]
    providers = [{"id": "file://provider.js", "config": {"name": name}} for name in ("a", "b")]
    config = {"prompts": ["Is {{n}}?", "Well, is {{n}}?"], "providers": providers, "tests": tests}
    (tmp_path / "config.json").write_text(json.dumps(config))
    names = ("TELEMETRY", "UPDATE", "REMOTE_GENERATION", "SHARING")
    quiet = {f"PROMPTFOO_DISABLE_{name}": "1" for name in names} | {"PROMPTFOO_CONFIG_DIR": str(tmp_path / "own")}
    command = (tool, "eval", "-c", "config.json", "-o", "out.json", "-o", "out.jsonl", "--no-cache", "-j", "4")
    run(tmp_path, *command, env=quiet, codes=(0, 100))
    for name in ("out.json", "out.jsonl"):
        table = read_table(str(tmp_path / name))
        assert known(table, "n") == [n for n in (1, 2, 3, 4, 5, 9) for _ in range(4)]
        assert set(known(table, "provider")) == {"a", "b"}
        rows = list(zip(known(table, "provider"), known(table, "n"), strict=True))
        failed = [row == ("b", 2) for row in rows]
        assert [bool(each) for each in known(table, "error")] == failed
        right = [int(n % 3 > 0 and row != ("b", 2)) for row in rows for n in row[1:]]
        assert known(table, "correct") == right
        assert known(table, "topic") == ["free" if n == 9 else None for _, n in rows]
        assert any("nothing is asserted of 4 of 24" in remark for remark in table.remarks)
