"""A fifth audit, in one file and one registration: does everybody of a census get one answer?

It shows all that an audit needs, and is run through the contract like the others.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from isonomia.audits.file_options import of_callable, refuse_options
from isonomia.audits.protocol import (
    Audit,
    Check,
    Entries,
    FileKey,
    Permissions,
    PropertyTable,
    Recheck,
    RecordedCounts,
    refuse_rates_options,
)
from isonomia.audits.registry import AUDITS, register
from isonomia.audits.verdicts import introduce, new_verdict, same_answers, why_stopped
from isonomia.engine.loop import Plan
from isonomia.engine.loop import run as run_loop
from isonomia.engine.parameters import Observer, batch_rng, root
from isonomia.errors import UsageError
from isonomia.models.checked import ask
from isonomia.models.session import ModelSession
from isonomia.populations.protocol import Source
from isonomia.populations.recorded import table_of_rows
from isonomia.populations.table import plain_value
from isonomia.records.display import view as views
from isonomia.records.display.view import Block, CounterexampleView, RecordView, Sentence, View
from isonomia.records.journal import Entry
from isonomia.records.verdict import Expression, Verdict

KIND = "one answer"


@dataclass(frozen=True, slots=True)
class OneAnswer:
    """Everybody is answered alike."""

    answer: int
    name: str | None = None

    def __str__(self) -> str:
        return f"everybody is answered {self.answer}"

    def explain(self) -> str:
        return f"Nobody gets another answer than {self.answer}."


@dataclass(frozen=True, slots=True)
class Batch:
    """How many people were asked, and those who were answered otherwise."""

    people: int = 0
    others: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Work:
    """What the loop measures: a few people after the other, until one is answered otherwise."""

    check: Check[OneAnswer]
    source: Source
    session: ModelSession

    def begin(self) -> Batch:
        return Batch()

    def measure(self, plan: Plan) -> Batch:
        table = self.source.batch(plan.start, plan.n, batch_rng(self.check.seed, plan.index, 0))
        answers = self.session(table, False, True).prediction
        assert answers is not None
        wrong = [index for index, answer in enumerate(answers) if answer != self.check.prop.answer]
        people = ({name: plain_value(value) for name, value in table.row(index).items()} for index in wrong)
        others = [
            {"person": person, "prediction": plain_value(answers[index])}
            for index, person in zip(wrong, people, strict=True)
        ]
        return Batch(table.rows, tuple(others))

    def absorb(self, state: Batch, reading: Batch) -> Batch:
        return Batch(state.people + reading.people, (*state.others, *reading.others))

    def asked(self, reading: Batch) -> int:
        return reading.people

    def share(self, state: Batch) -> float:
        return state.people / self.check.population.size

    def shares(self, state: Batch) -> tuple[float, ...]:  # noqa: ARG002
        return (1.0,)

    def progress_text(self, state: Batch) -> str:
        return f"{state.people} people"

    def compared(self, state: Batch) -> Expression | None:  # noqa: ARG002
        return None

    def decided(self, state: Batch) -> bool:
        return bool(state.others)

    def pack(self, reading: Batch) -> Entry:
        return {"people": reading.people, "others": list(reading.others)}

    def unpack(self, entry: Entry) -> Batch:
        return Batch(entry["people"], tuple(entry["others"]))


def _counterexample(verdict: Verdict, item: Mapping[str, Any]) -> CounterexampleView:  # noqa: ARG001
    return CounterexampleView(
        title=f"somebody is answered {item['prediction']}",
        records=(RecordView("person", values=item["person"]),),
        outputs=(("prediction", item["prediction"]),),
    )


def _finding(verdict: Verdict, compact: bool = False) -> str:  # noqa: ARG001
    return f"{verdict.details['others']} of {verdict.samples} people are answered otherwise"


def _blocks(verdict: Verdict) -> tuple[Block, ...]:
    return (Sentence(_finding(verdict)),)


@dataclass(frozen=True, slots=True)
class OneAnswerAudit:
    """Properties that everybody is answered alike."""

    kind = KIND
    property_type = OneAnswer
    view = View(KIND, "one answer for all", finding=_finding, blocks=_blocks, counterexample=_counterexample)
    known_first = None

    @property
    def file_keys(self) -> Mapping[str, FileKey]:
        return {"one_answer": FileKey("truth", "everybody is answered alike", _stated)}

    def imports(self, prop: OneAnswer) -> Sequence[str]:  # noqa: ARG002
        return ()

    def outcomes(self, prop: OneAnswer) -> tuple[str, ...]:  # noqa: ARG002
        return ()

    def unclear_outcomes(self, prop: OneAnswer) -> tuple[str, ...]:  # noqa: ARG002
        return ()

    def prepare(self, check: Check[OneAnswer]) -> Check[OneAnswer]:
        refuse_rates_options(check, "one answer for all")
        if check.population.kind != "census":
            raise UsageError(f"expected a census, but got a {check.population.kind}")
        return replace(check, model=check.required_model)

    def check_names(self, check: Check[OneAnswer]) -> None:
        classes = check.required_model.classes
        if classes and check.prop.answer not in classes:
            raise UsageError(f"the model never answers {check.prop.answer}", name=str(check.prop.answer))

    def run(self, check: Check[OneAnswer], observer: Observer) -> Verdict:
        introduce(check.population, check.model, check.journal)
        work = Work(check, check.population.open(root(check.seed)), check.required_model)
        observer.begin(str(check.prop))
        try:
            outcome = run_loop(
                work, check.schedule, check.budget, observer, available=check.population.size, journal=check.journal
            )
        finally:
            observer.end()
            work.session.close()
        others = outcome.state.others
        holds = False if others else True if outcome.reason == "exhausted" else None
        return new_verdict(
            check,
            holds,
            method="exact",
            stopped=why_stopped(outcome.reason),
            assumptions=same_answers(check, "the model answers the same person alike"),
            samples=outcome.samples,
            seconds=outcome.seconds,
            counterexamples=others,
            details={"audit": KIND, "others": len(others)},
        )

    def share(self, checks: Sequence[Check[OneAnswer]]) -> Sequence[Check[OneAnswer]]:
        return checks

    def locks(self, check: Check[OneAnswer]) -> Sequence[Hashable]:  # noqa: ARG002
        return []

    def recheck(
        self,
        check: Check[OneAnswer],
        counterexamples: Sequence[Mapping[str, Any]],
        entries: Entries,  # noqa: ARG002
        permissions: Permissions,  # noqa: ARG002
    ) -> Recheck:
        table = table_of_rows([item["person"] for item in counterexamples])
        answers = ask(check.required_model, table, False, True).prediction
        assert answers is not None
        again = sum(
            plain_value(answer) == item["prediction"] for answer, item in zip(answers, counterexamples, strict=True)
        )
        return Recheck(len(counterexamples), again)

    def counts(self, check: Check[OneAnswer], entries: Entries) -> Iterator[RecordedCounts]:  # noqa: ARG002
        for key, entry in entries.items():
            if key.startswith("batch "):
                yield RecordedCounts(key, [entry["people"]], entry["n"])
                yield RecordedCounts(key, [len(entry["others"])], entry["people"], exactly=False)


def _stated(table: PropertyTable, interventions: Mapping[str, Any], permissions: Permissions) -> OneAnswer:  # noqa: ARG001
    options = dict(table.get("with", {}))
    refuse_options(table, of_callable(OneAnswer).without("name"), options)
    return OneAnswer(**options)


TOY: Audit = OneAnswerAudit()


@contextmanager
def registered(audit: Audit) -> Iterator[None]:
    """One more audit, for a while."""
    audits, shown = list(AUDITS), dict(views.VIEWS)
    register(audit)
    try:
        yield
    finally:
        AUDITS[:] = audits
        views.VIEWS.clear()
        views.VIEWS.update(shown)
