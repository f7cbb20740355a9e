"""What the checks of all audits share: recording the population and the model in the journal, making the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from isonomia.audits.protocol import AuditProperty, Check
from isonomia.errors import DataError, RecordError
from isonomia.models.protocol import ModelFacts, RecordedModel, model_facts
from isonomia.models.session import ModelSession
from isonomia.populations.causal import Abducted
from isonomia.populations.finite import Sample
from isonomia.populations.protocol import Population, facts_of, fingerprint_if_any, is_population
from isonomia.populations.recorded import RecordedPopulation
from isonomia.records.journal import Entry, Journal, NullJournal, once
from isonomia.records.verdict import ANSWERS, Verdict
from isonomia.records.violations import KeepsViolations
from isonomia.spec.text import to_text, value_text
from isonomia.spec.tree import Value
from isonomia.version import __version__
from isonomia.wording import first_few, listed

VALUES = "values of "
"""The prefix of the journal keys of values; the name of the column follows."""

INTERRUPTED = "interrupted"
"""Why a check stopped that was ended with Ctrl-C; it can be resumed."""

MAX_LISTED = 20
"""How many values of a column an assumption lists."""

CACHE = "cache"
"""The journal key of the remark of a cache of answers."""


def introduce(population: Population | Any, model: ModelSession | None, journal: Journal) -> None:
    """Keep how population and model describe themselves; where that was kept before, make sure that they are the same.

    A check does not continue with other people, or with another model, than it began with.
    """
    if isinstance(journal, NullJournal):  # a fingerprint reads all rows: not for a journal that keeps nothing
        return
    if model is not None and model.cache is not None and journal.recall("model") is not None:
        model.cache.resume()
    for what, entry in (("population", _population(population)), ("model", about_model(model, population))):
        before = once(journal, what, lambda entry=entry: entry)  # type: ignore[misc]
        if before.get("device") != entry.get("device"):
            raise DataError(
                f"expected draws by {before.get('device', 'NumPy')}, with which this run began, but here they would be "
                f"by {entry.get('device', 'NumPy')}: continue there, or begin a new run",
                name="device",
            )
        if before.get("fingerprint") != entry.get("fingerprint"):
            raise DataError(
                f"expected the {what} that this run began with, but it has changed since: its fingerprint was "
                f"{str(before.get('fingerprint'))[:12]} and is {str(entry.get('fingerprint'))[:12]}. Begin a new run"
            )


def values_in(population: Population, column: str, journal: Journal) -> tuple[Value, ...]:
    """The values that occur in a column."""
    entry = once(journal, f"{VALUES}{column}", lambda: {"values": list(population.values(column))})
    return tuple(entry["values"])


def recorded_population(entries: Mapping[str, Entry]) -> RecordedPopulation:
    """The population of a finished check, as its journal describes it."""
    if "population" not in entries:
        raise RecordError("expected the description of the population in the journal, but it is missing")
    known = {
        key.removeprefix(VALUES): tuple(entry["values"]) for key, entry in entries.items() if key.startswith(VALUES)
    }
    return RecordedPopulation.of(entries["population"], known)


def recorded_model(entries: Mapping[str, Entry]) -> RecordedModel | None:
    """The model of a finished check, as its journal describes it; ``None`` without a model."""
    return RecordedModel.of(entries.get("model", {}), entries.get(CACHE, {}).get("remark"))


def _population(population: Any) -> Entry:
    if isinstance(population, RecordedPopulation):
        return {"fingerprint": population.stored_fingerprint, **drawn_on(population)}
    if not is_population(population):  # a domain of a k-safety property
        fingerprint = fingerprint_if_any(population)
        known = {} if fingerprint is None else {"fingerprint": fingerprint}
        return {"kind": "domain", "name": population.name, "size": population.size, **known}
    facts = facts_of(population)
    return {
        "kind": population.kind,
        "size": population.size,
        "streams": [None if condition is None else to_text(condition) for condition in population.streams],
        "names": list(population.names),
        "assumptions": list(population.assumptions),
        "remarks": list(facts.remarks),
        "fingerprint": population.fingerprint(),
        **drawn_on(population),
        **({} if facts.batch_sizes is None else {"batches": asdict(facts.batch_sizes)}),
        **_growth(population),
        **({} if facts.clusters is None else {"clusters": asdict(facts.clusters)}),
        **({} if facts.labels is None else {"labels": asdict(facts.labels)}),
    }


def earlier_looks(population: Any) -> tuple[tuple[int, ...], str]:
    """How many rows the table had at the earlier looks on record, and the order of rows; for others, none."""
    rows = population.people if isinstance(population, Abducted) else population
    return (rows.looks or (), rows.row_order) if isinstance(rows, Sample | RecordedPopulation) else ((), "random")


def _growth(population: Any) -> Entry:
    """What a replay needs to take the rows in the same order and batches; nothing for what is not a sample."""
    rows = population.people if isinstance(population, Abducted) else population
    if not isinstance(rows, Sample):
        return {}
    looks = {} if rows.looks is None else {"looks": list(rows.looks), "note": rows.note}
    return {"order": rows.row_order, **looks}


def _given(model: ModelSession | None, population: Any) -> tuple[str, ...]:
    """Which columns a model is given, in words, where there is something to say."""
    given = "" if model is None else model.given_in_words(population.names if is_population(population) else ())
    return (given,) if given else ()


def about_model(model: ModelSession | None, population: Any) -> Entry:
    """The model's description of itself; empty without a model."""
    if model is None:
        return {}
    given, facts = _given(model, population), model_facts(model)
    return {
        **({"given": given[0]} if given else {}),
        "name": model.name,
        "score_range": None if model.score_range is None else list(model.score_range),
        "classes": list(model.classes),
        "fingerprint": model.fingerprint(),
        **({} if facts == ModelFacts() else {"facts": facts.entry}),
    }


_RANDOM = (
    "the model may answer at random, as you said: its answers are independent of each other, and rates are over that "
    "randomness too; a change of the model during the check cannot be detected"
)
_FINITE = "for a finite population, the verdict is about the answers that the model happened to give this time"

_ANEW = "the model answered the rows of earlier looks again, at random: the risk covers this look only"

_ANY_TIME = (
    "looks={looks!r} has no method for this kind of property: it was decided by a method for any number of looks"
)

_REASONS = {
    "decided": "decided",
    "budget": "the budget of samples is spent",
    "queries": "the budget of queries is spent",
    "tokens": "the budget of tokens is spent",
    "USD": "the budget of money is spent",
    "time": "the budget of time is spent",
    "exhausted": "the sample ran out",
    "interrupted": INTERRUPTED,
}


def why_stopped(reason: str, counted: str = "people") -> str:
    """Why the loop of the engine ended, in words."""
    return "the budget of clusters is spent" if (reason, counted) == ("budget", "clusters") else _REASONS[reason]


def spent_in_words(spent: Mapping[str, float]) -> tuple[str, ...]:
    """What answers of a language model cost, and how many of them had no label."""

    def times(what: str) -> str:
        of = f"{what} of "
        own = [f"{count:,.0f} of {key.removeprefix(of)}" for key, count in spent.items() if key.startswith(of)]
        return f"{spent.get(what, 0):,.0f}{f' ({listed(own)})' if own and spent.get(what) else ''}"

    labels = f"of {times('answers')} answers, {times('unreadable')} were unreadable and {times('refused')} refused"
    cut = f"; {times('cut_off')} were cut off at max_tokens" if spent.get("cut_off") else ""
    money = f", for {spent['USD']:.4g} USD" if "USD" in spent else ""
    least = (
        f"; {times('without_usage')} answers reported none, and are counted at an upper bound"
        if spent.get("without_usage")
        else ""
    )
    tokens = f"{times('input_tokens')} tokens were sent and {times('output_tokens')} answered{money}{least}"
    late = (
        f"{times('timed_out')} requests got no answer in time and were sent again: where slow answers differ "
        "from quick ones, allow a longer timeout"
    )
    messages = ((f"{labels}{cut}", "answers"), (tokens, "input_tokens"), (late, "timed_out"))
    return tuple(text for text, what in messages if spent.get(what))


def stored_violations(journal: Journal) -> KeepsViolations | None:
    """The journal, where it also keeps violations, as that of a store does."""
    return journal if isinstance(journal, KeepsViolations) else None


def same_answers(check: Check[Any], sentence: str) -> tuple[str, ...]:
    """The assumption that the model's answers do not change, as a sentence; none where it may answer at random."""
    return () if check.model is None or check.random_model else (sentence,)


def no_other_values(column: str, values: Sequence[Value]) -> str:
    """The assumption that a column has the values that were declared or seen and no others, as a sentence."""
    few = first_few([value_text(value) for value in values], MAX_LISTED)
    return f"{column} has no values other than {few}"


def new_verdict(
    check: Check[AuditProperty],
    answer: bool | None,
    *,
    method: str,
    stopped: str,
    assumptions: tuple[str, ...],
    remarks: tuple[str, ...] = (),
    risk: float | None = None,
    population: Mapping[str, Any] | None = None,
    **content: Any,
) -> Verdict:
    """The verdict of a check, with what every verdict states.

    Parameters
    ----------
    check, answer
        The check, and whether its property holds; ``None`` if unknown.
    method, stopped, assumptions, remarks
        As the verdict has them. What follows from a model that may answer at random, and what a cache saved, is added.
    risk
        The probability that the answer is wrong: the check's, or 0 where the answer is exact or undecided.
    population
        Whom the verdict is about, where that is not the check's population.
    content
        The other fields of a :class:`Verdict`.
    """
    people = _stated(check.population) if population is None else population
    exact = method == "exact"
    finite_kind = people.get("kind") in {"sample", "census"}  # whose remarks are about their file
    if check.looks != "any" and not exact and "looks" not in content:
        remarks = (*remarks, _ANY_TIME.format(looks=check.looks))
    if check.model is not None and check.random_model:
        finite = exact or (people.get("kind") == "census" and method != "tests")  # tests draw cases, which repeat
        assumptions = (*assumptions, _RANDOM, *((_FINITE,) if finite else ()))
        if people.get("looks"):
            remarks = (*remarks, _ANEW)
    return Verdict(
        text=str(check.prop).rstrip(),
        answer=ANSWERS[answer],
        delta=check.delta,
        risk=(0.0 if exact or answer is None else check.delta) if risk is None else risk,
        method=method,
        stopped=stopped,
        assumptions=assumptions,
        remarks=(
            *remarks,
            *(remark for remark in facts_of(check.population).remarks if finite_kind and remark not in remarks),
            *_given(check.model, check.population),
            *_cache_remarks(check, interrupted=stopped == INTERRUPTED),
        ),
        seed=check.seed,
        seed_chosen=check.seed_chosen,
        population=people,
        model={} if check.model is None else {"name": check.model.name, "fingerprint": check.model.fingerprint()},
        name=check.prop.name,
        version=__version__,
        **{"samples": 0, "leaves": (), "expressions": (), "seconds": 0.0, **content},
    )


def _stated(population: Population) -> dict[str, Any]:
    stated = {"kind": population.kind, "size": population.size, "fingerprint": population.fingerprint()}
    return {**stated, **drawn_on(population), **stated_looks(population)}


def stated_looks(population: Any) -> dict[str, list[int]]:
    """The earlier looks at a table, where there were any."""
    looks, _ = earlier_looks(population)
    return {"looks": list(looks)} if looks else {}


def drawn_on(population: Population) -> dict[str, str]:
    """On which kind of device people are drawn; nothing for NumPy."""
    kind = population.drawn_on if isinstance(population, RecordedPopulation) else None
    device = facts_of(population).device
    kind = device.kind if device is not None else kind
    return {} if kind is None else {"device": kind}


def _cache_remarks(check: Check[Any], interrupted: bool) -> tuple[str, ...]:
    """What a cache saved. It is kept in the journal, unless the check continues later."""
    if check.model is None:
        return ()
    recorded, cache = check.model.model, check.model.cache
    if isinstance(recorded, RecordedModel):
        return () if recorded.remark is None else (recorded.remark,)
    if cache is None or not cache.mentioned:
        return ()
    return (cache.remark if interrupted else once(check.journal, CACHE, lambda: {"remark": cache.remark})["remark"],)
