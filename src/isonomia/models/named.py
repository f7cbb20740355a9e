"""Several models that answer about the same rows, as one model: ``new.prediction`` and ``old.prediction``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.models.chat import ChatModel
from isonomia.models.checked import array_from, ask
from isonomia.models.http import HttpModel, ask_at_once
from isonomia.models.meter import current_meter
from isonomia.models.protocol import Answer, Model, ModelFacts, SeveralModels, model_facts, unwrap
from isonomia.populations.fingerprint import fingerprint_of
from isonomia.populations.table import Table
from isonomia.spec.columns import host
from isonomia.spec.evaluate import Batch, evaluate
from isonomia.spec.tree import Output, Value


@dataclass(frozen=True, slots=True, eq=False)
class NamedModels(SeveralModels):
    """Models by name. For each row, its prediction is a tuple of what they say, one entry for each of ``outputs``.

    So a row and all its answers stay together wherever answers are cut, joined, compared or stored.

    Attributes
    ----------
    models
        A session for each model.
    outputs
        What a property names of them.
    """

    models: Mapping[str, Model]
    outputs: tuple[Output, ...]

    @property
    def name(self) -> str:
        """Every name with that of its model."""
        return ", ".join(f"{name}: {model.name}" for name, model in self.models.items())

    @property
    def score_range(self) -> tuple[float, float] | None:
        """The least and the greatest score that any of them can give; ``None`` if unknown of one."""
        ends = [model.score_range for model in self.models.values()]
        known = [each for each in ends if each is not None]
        return (min(low for low, _ in known), max(high for _, high in known)) if len(known) == len(ends) else None

    @property
    def classes(self) -> tuple[Value, ...]:
        """Not known: each model has classes of its own."""
        return ()

    @property
    def reads(self) -> tuple[str, ...] | None:
        """The columns that any of them reads; ``None`` if one takes whatever there is."""
        known: dict[str, None] = {}
        for model in self.models.values():
            if model.reads is None:
                return None
            known |= dict.fromkeys(model.reads)
        return tuple(known)

    @property
    def facts(self) -> ModelFacts:
        """How they answer together: about the same rows, so as often as the one with the most repeats."""
        each = [model_facts(model) for model in self.models.values()]
        return ModelFacts(
            any(facts.at_random for facts in each),
            max(facts.repeats for facts in each),
            tuple(dict.fromkeys(label for facts in each for label in facts.without_label)),
            costs=tuple(unit for unit in each[0].costs if all(unit in facts.costs for facts in each)),
            least_batch=max(facts.least_batch for facts in each),
        )

    def fingerprint(self) -> str:
        """Tells the models and their names from others."""
        return fingerprint_of(
            *(part for name in sorted(self.models) for part in (name, self.models[name].fingerprint()))
        )

    def answer(self, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:
        """Ask every model about every row: services at the same time, others one after the other."""
        del want_score, want_prediction
        columns: list[list[Any]] = []
        ask_each = [partial(self._answer, name, table) for name in self.models]
        services = all(isinstance(unwrap(model), ChatModel | HttpModel) for model in self.models.values())
        if services and len(ask_each) > 1 and current_meter().covers(len(ask_each) * table.rows):
            given_by = ask_at_once(ask_each)
        else:  # also where a budget may end within these rows: the first model then has its answers
            given_by = [ask_one() for ask_one in ask_each]
        answers = dict(zip(self.models, given_by, strict=True))
        for output in self.outputs:
            given = answers[str(output.model)]
            batch = Batch(table.rows, {}, given.prediction, given.score, given.classes)
            plain = Output(output.name, output.label, place=output.place)
            columns.append(host(evaluate(plain, batch)).tolist())
        rows = np.empty(table.rows, dtype=object)
        rows[:] = list(zip(*columns, strict=True))
        return Answer(prediction=rows)

    def _answer(self, name: str, table: Table) -> Answer:
        wanted = {output.name for output in self.outputs if output.model == name}
        return ask(self.models[name], table, "score" in wanted, "prediction" in wanted)

    def split(self, answer: Answer) -> dict[Output, NDArray[Any]]:
        """What each output is for each row."""
        assert answer.prediction is not None, "the models were asked"
        columns = zip(*answer.prediction.tolist(), strict=True)
        return {output: array_from(list(values)) for output, values in zip(self.outputs, columns, strict=True)}
