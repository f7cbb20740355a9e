"""A task of inspect_ai that stops as soon as its property is decided, and a whole one where inspect_ai is installed."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import isonomia as iso
from isonomia.errors import SpecError, UsageError


def score(value: Any) -> Any:
    return {"match": SimpleNamespace(score=SimpleNamespace(value=value, answer="4"))}


def begun(prop: str, questions: int, *, shuffled: bool = True) -> iso.StopEarly:
    stop = iso.StopEarly(prop, delta=0.01)
    samples = [SimpleNamespace(id=f"q{n}", target="4", metadata={"half": n % 2}) for n in range(questions)]
    spec: Any = SimpleNamespace(dataset=SimpleNamespace(shuffled=shuffled))
    asyncio.run(stop.start_task(spec, samples, 1))
    return stop


def answer(stop: iso.StopEarly, number: int, value: Any, epoch: int = 1) -> None:
    asyncio.run(stop.complete_sample(f"q{number}", epoch, score(value)))


def test_an_answer_waits_until_all_before_it_are_there() -> None:
    stop = begun("P[correct] >= 0.5", 100)
    for number in range(1, 100):
        answer(stop, number, "C")
    assert stop.verdict is None
    answer(stop, 0, "I")
    assert stop.verdict is not None
    assert stop.verdict.answer == "holds"
    assert stop.verdict.leaves[0].estimate < 1.0


def test_the_order_in_which_answers_come_changes_no_verdict() -> None:
    right = np.random.default_rng(1).random(120) < 0.9
    found = []
    for order in (np.arange(120), np.arange(120)[::-1], np.random.default_rng(2).permutation(120)):
        stop = begun("P[correct] >= 0.7", 120)
        for number in order.tolist():
            answer(stop, number, "C" if right[number] else "I")
        assert stop.verdict is not None
        found.append((stop.verdict.answer, stop.verdict.samples, stop.verdict.leaves[0].estimate))
    assert found[0] == found[1] == found[2]
    assert found[0][0] == "holds"


def test_only_the_first_answer_to_each_question_is_used() -> None:
    stop = begun("P[correct] >= 0.5", 20)
    for number in range(20):
        answer(stop, number, "C", epoch=2)
    assert stop.verdict is None


def test_an_answer_that_never_comes_is_wrong_at_the_end() -> None:
    stop = begun("P[correct] >= 0.9", 4, shuffled=False)
    for number in range(1, 4):
        answer(stop, number, "C")
    summary = asyncio.run(stop.complete_task())
    assert (summary["samples"], summary["estimate"], summary["answer"]) == (4, 0.75, "undecided")
    assert any("not shuffled" in assumption for assumption in summary["assumptions"])


def test_a_task_without_answers_is_undecided() -> None:
    assert asyncio.run(begun("P[correct] >= 0.9", 4).complete_task())["answer"] == "undecided"


def test_a_property_may_speak_of_scorers_and_metadata() -> None:
    stop = begun("P[match == 1 | half == 0] - P[match == 1 | half == 1] >= 0.2", 300)
    for number in range(300):
        answer(stop, number, "C" if number % 2 == 0 or number % 3 == 0 else "I")
    assert stop.verdict is not None
    assert stop.verdict.answer == "holds"


@pytest.mark.parametrize(("given", "kind"), [({"prop": "P[correct"}, SpecError), ({"delta": 2.0}, UsageError)])
def test_a_mistake_is_told_before_the_task_begins(given: dict[str, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        iso.StopEarly(given.get("prop", "P[correct] >= 0.8"), delta=given.get("delta", 0.05))


TASK = """
import json, random, re
import isonomia as iso
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match
from inspect_ai.solver import generate

draw = random.Random(1)
right = [draw.random() < 0.9 for _ in range(2_000)]

def said(messages, *_):
    number = int(re.search("[0-9]+", messages[-1].text)[0])
    output = ModelOutput.from_content("mockllm/model", "4" if right[number] else "5")
    output.usage = ModelUsage(input_tokens=3, output_tokens=1, total_tokens=4)  # or they would be counted by tiktoken
    return output

dataset = MemoryDataset([Sample(id=f"q{n}", input=f"{n}: 2 + 2?", target="4") for n in range(2_000)])
dataset.shuffle(seed=3)
stop = iso.StopEarly("P[correct] >= 0.8", delta=0.01)
task = Task(dataset=dataset, solver=generate(), scorer=match(), early_stopping=stop)
log = eval(task, model=get_model("mockllm/model", custom_outputs=said), log_dir=".", display="none", max_samples=10)[0]
print(json.dumps([log.status, log.results.completed_samples, log.location, log.results.early_stopping.metadata]))
"""


def test_inspect_ai_stops_a_task_and_its_log_has_the_verdict(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai", reason="inspect_ai is not installed: pip install inspect_ai")
    # A process of its own, since inspect_ai leaves streams open, and warnings are errors here.
    done = subprocess.run([sys.executable, "-c", TASK], cwd=tmp_path, capture_output=True, text=True, check=True)
    status, completed, place, summary = json.loads(done.stdout.splitlines()[-1])
    assert (status, summary["answer"], summary["samples"]) == ("success", "holds", 230)
    assert 230 <= completed < 260
    table = iso.Sample(str(tmp_path / Path(place).name))
    assert table.size == completed
    assert any("stopped early" in remark for remark in table.facts.remarks)
