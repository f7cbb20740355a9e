"""A property as a test: the verdict where it holds, a failure that shows why where it does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from os import PathLike
from pathlib import Path
from typing import Any
from typing import Literal as OneOf

from isonomia.audits.arguments import checked_observer
from isonomia.audits.check import new_check, run_check
from isonomia.audits.context import UNDECIDED, current_test
from isonomia.audits.protocol import AuditProperty, Check
from isonomia.audits.registry import remember, with_known
from isonomia.engine.parameters import Budget, Observer
from isonomia.errors import UsageError, nearest
from isonomia.populations.protocol import Population
from isonomia.records.display.text import failure_text
from isonomia.records.display.view import answer_line
from isonomia.records.store import KnownCounterexamples
from isonomia.records.verdict import Verdict

DELTA = 0.05
"""The risk, where neither the call nor the test says one."""


class PropertyFailure(AssertionError):  # noqa: N818  (a failing test, not an error of the call)
    """A property that was asserted is violated, or not known to hold.

    Attributes
    ----------
    verdict
        The verdict, with all findings and counterexamples.
    """

    # Where people import it from, and what logs show.
    __module__ = "isonomia"

    def __init__(self, message: str, verdict: Verdict) -> None:
        super().__init__(message)
        self.verdict = verdict

    def __reduce__(self) -> tuple[type[PropertyFailure], tuple[str, Verdict]]:
        return PropertyFailure, (str(self), self.verdict)


def assert_holds(
    property: AuditProperty | str,  # noqa: A002  (the word of the glossary)
    model: Any = None,
    population: Population | Any = None,
    *,
    delta: float | None = None,
    budget: Budget | str | float | None = None,
    seed: int | None = None,
    method: str = "auto",
    ranges: Mapping[str, tuple[float, float]] | None = None,
    control: str = "family",
    features: Sequence[str] | None = None,
    growth: float = 1.01,
    workers: int = 1,
    executor: Executor | str | None = None,
    random_model: bool = False,
    looks: str | int | None = None,
    stop: str = "decided",
    width: float | None = None,
    observer: Observer | None = None,
    undecided: OneOf["fail", "pass", "skip"] | None = None,
    records: str | PathLike[str] | OneOf[False] | None = None,
) -> Verdict:
    """Fail unless a property holds of a model and a population.

    Parameters
    ----------
    property, model, population, method, ranges, control, features, growth
        As for :func:`isonomia.check`.
    workers, executor, random_model, stop, width, observer
        As for :func:`isonomia.check`.
    delta, budget, seed, looks
        As for :func:`isonomia.check`. Those not given come from the test's ``isonomia`` marker, then from pytest's
        command line or configuration; else they are 0.05, no limit, a seed derived from property, data and model, and
        ``"any"``.
    undecided
        The effect of an undecided property on the test: ``"fail"``, the default; ``"pass"``, which accepts an open
        result; ``"skip"``, which skips the test, only inside pytest.
    records
        The folder in which counterexamples of k-safety properties are kept, so that they are tried first the next
        time. Inside pytest it is ``.isonomia`` unless another is configured; elsewhere nothing is stored unless a
        folder is given. ``False`` stores nothing.

    Returns
    -------
    Verdict
        *holds*, with the guarantee of :func:`isonomia.check`; or *undecided* where that passes.

    Raises
    ------
    PropertyFailure
        An ``AssertionError`` whose message shows the smallest counterexample; it carries the ``verdict``. If the
        assumptions that the verdict lists are true, a property that holds fails as violated with probability at most
        ``delta``, and one that does not hold passes with probability at most ``delta``.
    IsonomiaError
        If an argument is invalid, or the model fails.

    Examples
    --------
    >>> from isonomia import Census
    >>> def test_both_sexes_are_hired_alike():
    ...     staff = Census({"sex": ["F", "F", "M", "M"], "hired": [1, 0, 1, 0]})
    ...     assert_holds("P[hired | sex == 'F'] / P[hired | sex == 'M'] >= 0.8", population=staff)
    """
    __tracebackhide__ = True
    settings = current_test().settings
    otherwise = checked_undecided(settings.get("undecided", "fail") if undecided is None else undecided)
    folder = current_test().records if records is None else None if records is False else Path(records)
    check = new_check(
        property,
        model,
        population,
        delta=next(value for value in (delta, settings.get("delta"), DELTA) if value is not None),
        budget=settings.get("budget") if budget is None else budget,
        seed=settings.get("seed") if seed is None else seed,
        method=method,
        ranges=ranges,
        control=control,
        features=features,
        growth=growth,
        workers=workers,
        executor=executor,
        random_model=random_model,
        looks=settings.get("looks", "any") if looks is None else looks,
        stop=stop,
        width=width,
    )
    return assert_verdict(check, checked_observer(observer), otherwise, folder)


def assert_verdict(check: Check[Any], observer: Observer, undecided: str, folder: Path | None) -> Verdict:
    """Carry out a check, known counterexamples first, and fail unless it comes to *holds*.

    Raises
    ------
    PropertyFailure
        As for :func:`assert_holds`.
    KeyboardInterrupt
        If the user pressed Ctrl-C: the results so far do not decide the test.
    """
    __tracebackhide__ = True
    known = None if folder is None else KnownCounterexamples(folder)
    if known is not None:
        check = with_known(check, known)
    verdict = run_check(check, observer)
    if verdict.stopped == "interrupted":
        raise KeyboardInterrupt
    if known is not None:
        verdict = remember(known, check, verdict)
    now = current_test()
    now.tell(verdict, None if known is None else known.trouble)
    if verdict.answer == "holds" or (verdict.answer == "undecided" and undecided == "pass"):
        return verdict
    if verdict.answer == "undecided" and undecided == "skip" and now.skip is not None:
        now.skip(f"{verdict.name or 'a property'} is {answer_line(verdict)}")
    repeat = None if now.repeat is None else now.repeat(verdict.seed)
    raise PropertyFailure(failure_text(verdict, repeat), verdict)


def checked_undecided(value: str) -> str:
    """What becomes of an undecided property, if that is possible here.

    Raises
    ------
    UsageError
        Where it is none of the three, or ``"skip"`` where tests cannot be skipped.
    """
    if value not in UNDECIDED:
        expected = ", ".join(map(repr, UNDECIDED))
        raise UsageError(f"expected undecided as one of {expected}, but got {value!r}.{nearest(str(value), UNDECIDED)}")
    if value == "skip" and current_test().skip is None:
        raise UsageError(
            "undecided='skip' was requested, but only a test that pytest runs can be skipped: use 'fail' or 'pass'",
            name="undecided",
        )
    return value
