"""Isonomia demo.

``isonomia demo``: a complete audit of a hiring model, made up on the spot, and its report.

The demonstration's world: applicants that a program makes up, and a hiring model trained on their past.

Past hiring favoured experience, and women have less of it on paper because of years outside employment; it also
favoured men a little for no reason at all. A model that never sees the sex of an applicant learns the first openly and
the second through the back door.

What the demonstration asks about its hiring model: one question or more of each of the four audits.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text

from isonomia.audits.check import AnyProperty, check
from isonomia.cli.options import FLAG, Open
from isonomia.cli.outputs import conclude
from isonomia.engine.observer import Observer, Tracing
from isonomia.errors import UsageError
from isonomia.interventions import Feature, Interventions
from isonomia.populations import Census, Generator, Sample
from isonomia.report.entries import Entry
from isonomia.spec import parse, responsiveness, safety
from isonomia.spec.principal import PrincipalFairness

if TYPE_CHECKING:
    from isonomia.records.verdict import Verdict
    from isonomia.report.entries import Entry

__all__ = ["DELTA", "FEATURES", "Question", "answers", "applicants", "demo", "questions", "train"]


PAGE = Path("isonomia-demo.html")


def demo(
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="The same seed, the same answers.")] = 1,
    report: Annotated[Path, typer.Option(metavar="FILE", help="Write the HTML report to this file.")] = PAGE,
    no_report: Annotated[bool, typer.Option("--no-report", metavar=FLAG, help="Write no report.")] = False,
    show_it: Open = False,
) -> None:
    """Audit a hiring model over a population that is made up on the spot, and write the report.

    It trains a small model on unfair past decisions and asks seven questions of it: about rates, about two runs of the
    model, about what people can do, and about what would have been.

    Example: isonomia demo
    """
    from isonomia.engine.seeds import root
    from isonomia.report import LiveProgress, show

    root(seed)  # refuses what is no seed before anything is printed
    console = Console(highlight=False)
    console.print(Rule("Isonomia: an audit of a hiring model", style="cyan"))
    console.print(
        Text(
            "A model was trained on 4,000 past decisions. It sees experience, test score and distance, never sex. What "
            f"must hold is checked on applicants drawn from a simulation, at a risk of {DELTA:g}; where a question is "
            f"about a small sample or about people one by one, there are {FEW} of them.\n"
        )
    )
    entries = []
    for entry in answers(seed, LiveProgress(Console(stderr=True))):
        if entry.verdict.details.get("audit"):
            _show_briefly(entry, console)
        else:
            show(entry.verdict, console, entry.explanation)
        entries.append(entry)
    console.print()
    code = conclude([entry.verdict for entry in entries], console, None)
    console.print(Text(f"\nexit code {code}: {_meaning(code)}.", style="dim"))
    if not no_report:
        _offer(console, entries, report, show_it)
    console.print(Text("Next, with a model and a table of your own: isonomia init MODEL DATA", style="dim"))
    raise typer.Exit(code)


def _show_briefly(entry: Entry, console: Console) -> None:
    """An audit of single people in a few lines; the report has the rest."""
    from isonomia.report.status import COLOURS, title_of

    told = Text.assemble((f"{entry.explanation}\n", "italic"), _finding(entry.verdict))
    title, colour = title_of(entry.verdict.answer, entry.name, console), COLOURS[entry.verdict.answer]
    console.print(Panel(told, title=title, title_align="left", border_style=colour, padding=(0, 1)))


def _finding(verdict: Verdict) -> str:
    """The first thing to know, from the record."""
    from isonomia.records.display.words import RESPONSIVENESS, SAFETY, change, cost

    details = verdict.details
    match details["audit"], verdict.counterexamples:
        case _ if verdict.answer != "violated":
            return f"{verdict.answer.capitalize()} after {cost(verdict)}."
        case kind, (first, *_) if kind == SAFETY:
            moved = ", ".join(f"{name} {change(*pair)}" for name, pair in first["differs"]["x2"].items())
            answers = " and then ".join(map(str, first["outputs"].values()))
            return f"Not so. For example {moved}: the answer is {answers}."
        case kind, _ if kind == RESPONSIVENESS:
            counts = details["counts"]
            return (
                f"Not so: {counts['fixed']} of {counts['people']} people have less than that, {counts['responsive']} "
                f"have it, and {counts['undecided']} are undecided."
            )
        case _:
            return f"Not so: {verdict.remarks[0]}." if verdict.remarks else "Not so."


def _meaning(code: int) -> str:
    return {
        0: "every property holds",
        1: "a property is violated, which is what stops a pipeline",
        3: "no property is violated, but one is undecided",
    }[code]


def _offer(console: Console, entries: list[Entry], target: Path, show_it: bool) -> None:
    """Write the report, say where it is, and open it if that is wanted; the demonstration succeeds without it."""
    from isonomia.report.entries import Audit
    from isonomia.report.page import write_page

    try:
        write_page(Audit("A hiring model", tuple(entries)), target)
    except UsageError as error:
        console.print(Text(f"no report was written: {error}", style="dim"), soft_wrap=True)
        return
    console.print(
        Text.assemble("the report: ", (str(target), "bold"), ", one page that needs nothing else"), soft_wrap=True
    )
    if show_it or _wanted():
        typer.launch(target.resolve().as_uri())


def _wanted() -> bool:
    """Whether somebody who sits at a terminal says yes."""
    if os.environ.get("CI") or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    try:
        return input("open it in a browser? [y/N] ").strip().lower() in {"y", "yes"}
    except EOFError:
        return False


FEATURES = ("experience", "test_score", "distance")

Columns = dict[str, NDArray[Any]]


def applicants(n: int, rng: np.random.Generator) -> Columns:
    """Draw applicants: sex, region, years of experience, test score, distance from the office, and who is qualified."""
    woman = rng.random(n) < 0.45
    region = np.where(rng.random(n) < 0.92, "town", "island")
    experience = np.maximum(rng.normal(np.where(woman, 6.8, 8.6), 3.0), 0.0)
    ability = rng.normal(0.0, 1.0, n)
    test_score = 60.0 + 10.0 * ability + rng.normal(0.0, 4.0, n)
    distance = rng.exponential(np.where(region == "island", 60.0, 15.0))
    qualified = 0.9 * ability + 0.25 * (experience - 8.0) + rng.normal(0.0, 0.7, n) > 0.0
    return {
        "sex": np.where(woman, "F", "M"),
        "region": region,
        "experience": experience,
        "test_score": test_score,
        "distance": distance,
        "qualified": qualified,
    }


def train(rng: np.random.Generator, n: int = 4000) -> Any:
    """Train a small scikit-learn model on past decisions."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    past = applicants(n, rng)
    merit = 0.09 * (past["test_score"] - 60.0) + 0.16 * (past["experience"] - 8.0) - 0.01 * past["distance"]
    hired = merit + 0.3 * (past["sex"] == "M") + rng.logistic(0.0, 0.4, n) > 0.1
    model = make_pipeline(StandardScaler(), LogisticRegression())
    return model.fit(np.column_stack([past[name] for name in FEATURES]), hired.astype(int))


DELTA = 1e-6
FEW = 300

_MOVING = """
input x1;
var x2 := setFeat(x1, "distance", 15);
requires x1.region == "island";
requires x1.distance >= 60;
output d1;
output d2;
{
    d1 = predict(x1)
    d2 = predict(x2)
}
ensures d1 == d2;
"""


@dataclass(frozen=True, slots=True)
class Question:
    """One question.

    Attributes
    ----------
    prop
        What must hold, with its name.
    population
        Whom it is about.
    why
        What is asked, in a sentence.
    traced
        Whether it is noted how the interval closes in. Of means and of what would have been, that takes a second or
        more, which a demonstration has not.
    """

    prop: AnyProperty
    population: Any
    why: str
    traced: bool = False


def questions(seed: int) -> list[Question]:
    """Every question, in the order in which it is asked: those about rates first."""
    everybody = Generator(applicants)
    people = applicants(FEW, np.random.default_rng([seed, 1]))
    rates = {
        "qualified women and men": (
            "P[prediction == 1 | sex == 'F' and qualified] / P[prediction == 1 | sex == 'M' and qualified] >= 0.8"
        ),
        "four-fifths rule": "P[prediction == 1 | sex == 'F'] / P[prediction == 1 | sex == 'M'] >= 0.8",
        "scores by region": "abs(E[score | region == 'town'] - E[score | region == 'island']) <= 0.25",
        "islanders in a small sample": "P[prediction == 1 | region == 'island'] >= 0.25",
    }
    found = []
    for name, text in rates.items():
        prop = parse(text).named(name)
        whom = Sample(people) if "sample" in name else everybody
        found.append(Question(prop, whom, prop.explain(), traced=text.startswith("P[")))
    return [*found, _moving(everybody), _no_way(people), _had_it_been_otherwise(everybody)]


def _moving(everybody: Generator) -> Question:
    """k-safety: two runs of the model."""
    prop = safety.property(_MOVING, name="an islander who moves to town")
    return Question(
        prop, everybody, "Who lives 60 km away or more, and moves to 15 km from the office, is answered as before."
    )


def _no_way(people: dict[str, Any]) -> Question:
    """Responsiveness: what people can do about it."""
    changes = Interventions(
        (
            Feature("experience", "real", 0, 50, direction="up", rise=2),
            Feature("test_score", "real", 0, 120, direction="up", rise=10),
            Feature("distance", "real", actionable=False),
        )
    )
    prop = responsiveness.preclusion(changes, 1, who="prediction == 0", name="a way to be hired")
    return Question(
        prop,
        Census(people),
        "Everybody who is rejected would be hired after at least 1% of the changes that are open to them: up to two "
        "more years of experience, up to ten more points in the test.",
    )


def _had_it_been_otherwise(everybody: Generator) -> Question:
    """Principal fairness: what would have been."""
    prop = PrincipalFairness(
        attribute="sex",
        outcome="qualified",
        definition=3,
        within=0.02,
        name="had they been of the other sex",
    )
    return Question(
        prop, everybody, "The same people, had all been women or all men, are hired equally often, within 2%."
    )


def answers(seed: int, observer: Observer) -> Iterator[Entry]:
    """Ask them one after the other; each answer comes with how its interval closed in."""
    model = train(np.random.default_rng([seed, 0]))
    for question in questions(seed):
        tracing = Tracing(observer)
        verdict = check(
            question.prop,
            model,
            question.population,
            delta=DELTA,
            seed=seed,
            features=list(FEATURES),
            observer=tracing if question.traced else observer,
        )
        history = tuple(tracing.points)
        if history and verdict.expressions:
            last = verdict.expressions[0]
            history = (*history, (verdict.samples, last.low, last.estimate, last.high))
        yield Entry(str(verdict.name), verdict, explanation=question.why, history=history)
