"""``isonomia demo``: a complete audit of a hiring model, made up on the spot."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from isonomia.cli.hiring import FEATURES, applicants, train
from isonomia.cli.outcome import conclude

__all__ = ["PROPERTIES", "demo"]

PROPERTIES = {
    "qualified women and men": (
        "P[prediction == 1 | sex == 'F' and qualified] / P[prediction == 1 | sex == 'M' and qualified] >= 0.8"
    ),
    "four-fifths rule": "P[prediction == 1 | sex == 'F'] / P[prediction == 1 | sex == 'M'] >= 0.8",
    "scores by region": "abs(E[score | region == 'town'] - E[score | region == 'island']) <= 0.25",
    "islanders in a small sample": "P[prediction == 1 | region == 'island'] >= 0.25",
}

DELTA = 1e-6


def demo(seed: Annotated[int, typer.Option(help="Another seed, another world.")] = 1) -> None:
    """Audit a hiring model over a population that is made up on the spot.

    It trains a small model on unfair past decisions and asks four questions of it. Example: isonomia demo
    """
    from isonomia.audits.check import check
    from isonomia.populations import Generator, Sample
    from isonomia.report import LiveProgress, show
    from isonomia.spec import parse

    console = Console(highlight=False)
    console.print(Rule("Isonomia: an audit of a hiring model", style="cyan"))
    console.print(
        Text(
            "A model was trained on 4,000 past decisions. It sees experience, test score and distance, never sex. What "
            f"must hold is checked on applicants drawn from a simulation, at a risk of {DELTA:g}; the last question is "
            "asked of 300 people only, as if there were no more data.\n"
        )
    )
    model = train(np.random.default_rng([seed, 0]))
    everybody = Generator(applicants)
    sample = Sample(applicants(300, np.random.default_rng([seed, 1])))
    verdicts = []
    for name, text in PROPERTIES.items():
        prop = parse(text).named(name)
        population = sample if "sample" in name else everybody
        observer = LiveProgress(Console(stderr=True))
        verdict = check(prop, model, population, delta=DELTA, seed=seed, features=list(FEATURES), observer=observer)
        show(verdict, console, prop.explain())
        verdicts.append(verdict)
    console.print()
    code = conclude(verdicts, console, None)
    console.print(Text(f"\nexit code {code}: {_meaning(code)}. Next: isonomia check --help", style="dim"))
    raise typer.Exit(code)


def _meaning(code: int) -> str:
    return {
        0: "every property holds",
        1: "a property is violated, which is what stops a pipeline",
        3: "no property is violated, but one is undecided",
    }[code]
