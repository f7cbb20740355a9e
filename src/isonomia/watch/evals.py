"""An eval that ends as soon as it is decided: for ``Task(early_stopping=...)`` of inspect_ai.

Questions are answered at once, and the answers come back in any order. They are used in the order of the dataset: where
wrong answers take longer, a verdict about those that came first would be wrong far more often than stated. So an answer
waits until all before it are there. What is judged is a table to which rows are appended, in the order of the file, and
its risk covers every look at it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from isonomia.audits.check import check
from isonomia.errors import UsageError
from isonomia.populations import Sample
from isonomia.populations.eval_logs import columns_of
from isonomia.records.verdict import Verdict
from isonomia.spec import Property, parse

_NAME = "isonomia"
_GROWTH = 0.05
"""How much longer the table is at each look, relative to the last one. These sizes are fixed in advance, so that the
order in which answers come changes no verdict; a larger number finds a decision up to this much later."""

_UNKNOWN = ("item", "repeat", "error")
"""Columns whose values are no groups, or not known before the answers."""
_MOST_VALUES = 200
"""The most values of a column that makes groups. It decides only what a message says of a group without answers."""


@dataclass(slots=True, eq=False)
class StopEarly:
    """Ends a task of inspect_ai as soon as a property of its answers is decided.

    Parameters
    ----------
    prop
        What must hold, such as ``"P[correct] >= 0.8"``. The columns are those of a log: ``correct``, ``score``, one for
        each scorer and for each field of the metadata.
    delta
        The risk of a wrong answer, however often the answers are looked at.

    Attributes
    ----------
    verdict
        The latest verdict; ``None`` before the first answer. The log has it too, in ``results.early_stopping``.

    Notes
    -----
    Questions should be in random order: ``dataset.shuffle(seed=1)``. With several epochs, the first answer to each
    question is used. An answer that fails with an error is not reported, and those behind it are used at the end only,
    where it counts as wrong; with ``score_on_error=True`` it is scored at once.

    Examples
    --------
    >>> str(StopEarly("P[correct] >= 0.8", delta=0.01).prop)
    'P[correct] >= 0.8'
    """

    prop: Property
    delta: float
    verdict: Verdict | None
    _order: list[str | int]
    _answers: dict[str | int, dict[str, Any]]
    _planned: dict[str | int, dict[str, Any]]
    _values: dict[str, list[Any]]
    _shuffled: bool
    _next: int

    def __init__(self, prop: Property | str, *, delta: float = 0.05) -> None:
        self.prop = parse(prop) if isinstance(prop, str) else prop
        if not 0.0 < delta < 1.0:
            raise UsageError(f"expected delta between 0 and 1, but got {delta!r}", name="delta")
        self.delta = delta
        self._begin([], shuffled=False)

    def _begin(self, samples: Sequence[Any], *, shuffled: bool) -> None:
        self.verdict, self._answers, self._next, self._shuffled = None, {}, 1, shuffled
        self._order = [sample.id for sample in samples]
        self._planned = {
            each.id: {"id": each.id, "epoch": 1, "target": each.target, "metadata": each.metadata} for each in samples
        }
        # A group may have no answer yet, and a value in no answer at all is otherwise a mistake.
        about = self._columns(list(self._planned.values())) if samples else {}
        self._values = {name: list(dict.fromkeys(values)) for name, values in about.items() if name not in _UNKNOWN}

    async def start_task(self, task: Any, samples: list[Any], epochs: int) -> str:
        """Learn the questions, and their order."""
        del epochs
        self._begin(samples, shuffled=bool(task.dataset.shuffled))
        return _NAME

    async def schedule_sample(self, id: str | int, epoch: int) -> Any:  # noqa: A002  (a name of inspect_ai)
        """Skip a question once the property is decided."""
        if self.verdict is None or self.verdict.answer == "undecided":
            return None
        from inspect_ai.util import EarlyStop

        return EarlyStop(id=id, epoch=epoch, reason=f"{self.prop!s}: {self.verdict.answer}")

    async def complete_sample(self, id: str | int, epoch: int, scores: dict[str, Any]) -> None:  # noqa: A002
        """Keep an answer, and look at those whose predecessors are all there."""
        if epoch != 1:
            return
        given = {name: {"value": each.score.value, "answer": each.score.answer} for name, each in scores.items()}
        self._answers[id] = self._planned[id] | {"scores": given}
        ready = next((n for n, each in enumerate(self._order) if each not in self._answers), len(self._order))
        while ready >= self._next and (self.verdict is None or self.verdict.answer == "undecided"):
            self._look([self._answers[each] for each in self._order[: self._next]])
            self._next += 1 + int(_GROWTH * self._next)

    async def complete_task(self) -> dict[str, Any]:
        """Look at all answers, and give the verdict for the log."""
        if self._answers and (self.verdict is None or self.verdict.answer == "undecided"):
            self._look([self._answers.get(each, self._planned[each]) for each in self._order])
        if self.verdict is None:
            return {"property": str(self.prop), "answer": "undecided", "samples": 0}
        order = [] if self._shuffled else ["the dataset was not shuffled: its questions are used in random order"]
        first = self.verdict.headline
        assert first is not None, "the verdict of a formula"
        return {
            "property": str(self.prop),
            "answer": self.verdict.answer,
            "delta": self.delta,
            "samples": self.verdict.samples,
            "estimate": first.estimate,
            "interval": [first.low, first.high],
            "assumptions": [*order, *self.verdict.assumptions],
            "remarks": list(self.verdict.remarks),
        }

    def _look(self, samples: list[dict[str, Any]]) -> None:
        if not any(each.get("scores") for each in samples):
            return
        columns = self._columns(samples)
        values = {name: known for name, known in self._values.items() if name in columns and len(known) <= _MOST_VALUES}
        # The seed is the same at every look, so that draws are assigned to overlapping groups in the same way.
        self.verdict = check(
            self.prop, population=Sample(columns, order="file", values=values), delta=self.delta, seed=1
        )

    @staticmethod
    def _columns(samples: list[dict[str, Any]]) -> dict[str, list[Any]]:
        columns, _, _ = columns_of({"version": 2, "eval": {}, "status": "success", "samples": samples})
        return columns
