"""The engine: schedules, budgets, seeds, and the loop that runs batches."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate, islice
from math import inf

import pytest

from isonomia.engine.lookahead import Lookahead
from isonomia.engine.loop import Outcome, Plan, Schedule, Steps, run, run_steps
from isonomia.engine.parameters import Budget, NullObserver, Progress, batch_rng, fold_rng, root
from isonomia.errors import UsageError
from isonomia.records.journal import MissingEntryError


@dataclass
class Counting:
    """Work that adds up batch sizes and is decided at a total; remembers the order in which it measured."""

    stop_at: float = inf
    streams: int = 1
    interrupt_at: float = inf
    measured: list[int] = field(default_factory=list)

    def begin(self) -> int:
        return 0

    def measure(self, plan: Plan) -> tuple[int, int]:
        if plan.start >= self.interrupt_at:
            raise KeyboardInterrupt
        self.measured.append(plan.index)
        draws = batch_rng(7, plan.index, 0).integers(0, 1000)
        return plan.n, int(draws)

    def absorb(self, state: int, reading: tuple[int, int]) -> int:
        return state * 31 + reading[1]

    def shares(self, state: int) -> tuple[float, ...]:  # noqa: ARG002
        return (1 / self.streams,) * self.streams

    def asked(self, reading: tuple[int, int]) -> int:
        return reading[0]

    def decided(self, state: int) -> bool:
        return state > self.stop_at

    def share(self, state: int) -> float:  # noqa: ARG002
        return 0.5

    def progress_text(self, state: int) -> str:
        return str(state)

    def compared(self, state: int) -> None:  # noqa: ARG002
        return None


def _run(work: Counting, budget: Budget | None = None, **options: float) -> Outcome[int]:
    return run(work, Schedule(), budget or Budget(), NullObserver(), **options)  # type: ignore[arg-type]


def test_batches_grow_with_the_total_and_stop_growing_at_the_most() -> None:
    sizes = list(islice(Schedule(first=8, growth=1.1, most=100).sizes(), 80))
    totals = list(accumulate(sizes))
    assert sizes[0] == 8
    assert max(sizes) == 100
    assert all(
        size == min(max(8, int(0.1 * total)), 100) or size <= 100
        for size, total in zip(sizes[1:], totals, strict=False)
    )
    assert sizes == sorted(sizes)


def test_the_budget_of_people_is_spent_exactly() -> None:
    outcome = _run(Counting(), Budget(samples=1003))
    assert (outcome.samples, outcome.reason) == (1003, "budget")


def test_a_finite_population_is_exhausted_exactly() -> None:
    outcome = _run(Counting(), available=517)
    assert (outcome.samples, outcome.reason) == (517, "exhausted")


def test_a_decision_ends_the_run() -> None:
    assert _run(Counting(stop_at=10**9)).reason == "decided"


def test_the_budget_of_time_ends_the_run() -> None:
    ticks = iter(range(1000))
    outcome = run(Counting(), Schedule(), Budget(seconds=5), NullObserver(), clock=lambda: float(next(ticks)))
    assert outcome.reason == "time"


def test_an_interruption_keeps_what_is_known() -> None:
    outcome = _run(Counting(interrupt_at=100))
    assert outcome.reason == "interrupted"
    assert 90 <= outcome.samples <= 110


def powers(state: int) -> Steps[int, int]:
    """Steps that depend on what was absorbed before them, until that is large."""
    while state < 100:
        state = yield state + 1
    return "large enough"


def test_a_plan_of_steps_sees_what_was_absorbed_and_says_why_it_ends() -> None:
    steps: list[int] = []

    def measure(step: int) -> tuple[int, int]:
        steps.append(step)
        return 2, step

    outcome = run_steps(Counting(), 0, powers(0), measure, NullObserver(), elapsed=lambda: 7.0)
    assert steps == [1, 2, 34]  # absorbing multiplies by 31 and adds the step: 1, 33, 1057
    assert outcome == Outcome(state=1057, samples=6, reason="large enough", seconds=7.0)


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, MissingEntryError])
def test_a_step_that_is_interrupted_is_not_absorbed(interruption: type[BaseException]) -> None:
    def measure(step: int) -> tuple[int, int]:
        if step > 1:
            raise interruption
        return 1, step

    outcome = run_steps(Counting(), 0, powers(0), measure, NullObserver(), elapsed=lambda: 0.0)
    assert (outcome.state, outcome.samples, outcome.reason) == (1, 1, "interrupted")
    if interruption is MissingEntryError:
        with pytest.raises(MissingEntryError):
            run_steps(
                Counting(),
                0,
                powers(0),
                measure,
                NullObserver(),
                elapsed=lambda: 0.0,
                interruptions=(KeyboardInterrupt,),
            )


def test_a_plan_without_steps_ends_at_once() -> None:
    outcome = run_steps(Counting(), 500, powers(500), lambda step: (1, step), NullObserver(), elapsed=lambda: 0.0)
    assert (outcome.state, outcome.samples, outcome.reason) == (500, 0, "large enough")


def test_a_batch_takes_a_third_of_what_seems_to_be_missing() -> None:
    schedule = Schedule(first=8, growth=1.01, early=1.5)
    assert schedule.size(1000, 0.8) == pytest.approx(1000 * 0.25 / 3, abs=1)
    assert schedule.size(1000, 0.999) == 10
    assert schedule.size(1000, 0.01) == 500
    assert schedule.size(1000, 0.0) == 500
    assert schedule.size(0, 0.0) == 8


def test_a_constant_growth_is_kept_however_far_the_decision_is() -> None:
    schedule = Schedule(first=8, growth=1.02, early=1.02)
    assert {schedule.size(10_000, share) for share in (0.0, 0.1, 0.5, 0.9, 1.0)} == {200}


def test_batches_are_measured_in_order() -> None:
    work = Counting(streams=2)
    _run(work, Budget(samples=500))
    assert work.measured == list(range(len(work.measured)))


def test_a_watcher_learns_how_far_it_is() -> None:
    assert Progress(100, inf, 0.25, 1.0, lambda: "").samples_left == 300
    assert Progress(100, inf, 0.0, 1.0, lambda: "").samples_left == inf


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, Budget()),
        (1000, Budget(samples=1000)),
        ("1e6", Budget(samples=1e6)),
        ("30s", Budget(seconds=30)),
        ("5min", Budget(seconds=300)),
        ("1e6, 5min", Budget(1e6, 300)),
        (Budget(5, 6), Budget(5, 6)),
    ],
)
def test_budgets_are_read_as_people_write_them(value: object, expected: Budget) -> None:
    assert Budget.of(value) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("value", ["soon", "0", "-5", "5 parsecs", 0, -1, True, "1e", "nan"])
def test_a_budget_that_makes_no_sense_is_refused(value: object) -> None:
    with pytest.raises(UsageError, match="expected budget"):
        Budget.of(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True, None])
def test_a_seed_that_makes_no_sense_is_refused(seed: object) -> None:
    with pytest.raises(UsageError, match="seed="):
        root(seed)  # type: ignore[arg-type]


def test_every_use_of_randomness_has_its_own_child() -> None:
    rngs = [batch_rng(1, 0, 0), batch_rng(1, 1, 0), batch_rng(1, 0, 1), fold_rng(1, 0, 0, 2)]
    assert len({rng.integers(2**60) for rng in rngs}) == len(rngs)
    assert batch_rng(3, 4, 5).integers(2**60) == batch_rng(3, 4, 5).integers(2**60)


def test_a_batch_that_fails_ahead_is_measured_alone_and_what_was_begun_is_counted() -> None:
    class Failing:
        def together(self, plans: object) -> Failing:  # noqa: ARG002
            return self

        def reading(self, number: int) -> int:  # noqa: ARG002
            raise UsageError("no usable answer")

        def drop(self) -> None: ...

    ahead = Lookahead(Failing(), alone=lambda plan: -plan, samples=lambda plan: plan)
    ahead.expect(10, 0, lambda _: iter([3, 2]))
    assert ahead.measure(10) == -10
    # The batch itself, the two behind it in its block, and the two of the next block.
    assert ahead.not_needed == 10 + 5 + 5
