"""What an answer means; how much a page shows.

What an answer means, in words for a reader who is no statistician.

How much of a record a page shows, so that it opens at once whatever the record holds.
"""

from __future__ import annotations

from dataclasses import dataclass

from isonomia.errors import IsonomiaError
from isonomia.records.display.words import PRINCIPAL, RESPONSIVENESS, SAFETY, chance
from isonomia.records.verdict import Verdict
from isonomia.spec import parse

__all__ = ["KINDS", "METHODS", "Limits", "certainty", "explained", "kind_of", "limits_for", "meaning", "odds"]


KINDS = {"": "rates", **{kind: kind for kind in (SAFETY, RESPONSIVENESS, PRINCIPAL)}}
"""What the audits are called, by what the details of a verdict say."""

METHODS = {
    "bets": (
        "Bets. Before each batch of data a bet is placed against the opposite of the claim, and another against the "
        "claim itself. Whoever bets against the truth cannot expect to win, so a large gain is evidence. One may look "
        "after every batch and stop at any time: the risk stays what was chosen."
    ),
    "region": (
        "A confidence region. The values that the data do not refute are kept, at all times together; the answer is "
        "given when no value among them contradicts it."
    ),
    "verifair": "The rule of Bastani, Zhang and Solar-Lezama (VeriFair, 2019), kept for comparison.",
    "exact": "Exact. Everything that the claim speaks of was looked at and counted, so nothing is left to chance.",
    "tests": (
        "Tests. Cases are drawn at random and put to the model. A case that breaks a claim about every case is proof "
        "by itself; enough cases without any prove that breaking it is rare."
    ),
    "binomial": "Exact binomial tests, with a number of draws that was fixed beforehand.",
}
"""What each method does."""

_LONGEST = 5_000
"""Characters of a formula that is explained; nobody reads the explanation of a longer one."""

_NOTHING = "Nothing is proved, and this is not a pass:"
_RATES = {
    "holds": "The claim is proved for the population that was audited.",
    "violated": "The claim is refuted: it is not true of the population that was audited.",
    "undecided": f"{_NOTHING} the data allow the claim to be true, and they allow it to be false.",
}
_SAFETY = {
    "holds": "The model keeps the claim: cases that break it are at most as rare as was asked for.",
    "violated": "The model breaks the claim: cases in which it does what it must not do are more than were allowed.",
    "undecided": f"{_NOTHING} what was tried does not show that breaking the claim is as rare as was asked for.",
}
_RESPONSIVENESS = {
    "holds": "The claim is true of everybody whom it speaks of.",
    "violated": "The claim is not true of everybody: there are people for whom it fails.",
    "undecided": f"{_NOTHING} of some people it is not known on which side of the limit they are.",
}
_PRINCIPAL = {
    "holds": "In every subgroup the difference in treatment is inside the margin.",
    "violated": "In at least one subgroup, people who should be treated alike are treated differently.",
    "undecided": f"{_NOTHING} the data allow equal treatment, and they allow unequal treatment.",
}
_MEANINGS = {"": _RATES, SAFETY: _SAFETY, RESPONSIVENESS: _RESPONSIVENESS, PRINCIPAL: _PRINCIPAL}


def kind_of(verdict: Verdict) -> str:
    """Which audit gave the verdict, as its details say it; empty for a property about rates."""
    said = verdict.details.get("audit")
    return said if isinstance(said, str) and said in KINDS else ""


def meaning(verdict: Verdict) -> str:
    """What the answer says about the model."""
    return _MEANINGS[kind_of(verdict)][verdict.answer]


def certainty(verdict: Verdict) -> str:
    """How sure the answer is."""
    if verdict.answer == "undecided":
        return f"It ended because of this: {verdict.stopped}. See below for what is known so far."
    if verdict.exact:
        return "Everything was looked at, so the answer does not depend on chance."
    if verdict.risk == 0:
        return "A counterexample is proof by itself, so the answer does not depend on chance."
    return f"The chance that this answer is wrong is at most {odds(verdict.risk)}, however often one looked on the way."


def odds(risk: float) -> str:
    """A probability as people say it: ``one in 1,000,000``; where that is not round, as a number that is not less."""
    if not 0 < risk < 1:
        return f"{risk:g}"
    one_in = 1 / risk
    if abs(one_in - round(one_in)) < 1e-6 * one_in:
        return f"one in {one_in:,.0f}"
    return chance(risk)


def explained(verdict: Verdict, explanation: str | None) -> str | None:
    """What is claimed, in plain English; of a formula over rates, as its own text says it."""
    if explanation is not None or kind_of(verdict) or len(verdict.text) > _LONGEST:
        return explanation
    try:
        return parse(verdict.text).explain()
    except (IsonomiaError, RecursionError):
        return None  # the text is from another version, or not from this program: it is shown as it is


_ALL_CASES = 1_500_000
"""Characters of counterexamples on a page, over all its properties."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a page shows of one property; what is left out is said in words.

    Attributes
    ----------
    cases
        Counterexamples.
    case_characters
        Characters of all its counterexamples together.
    features
        Features of a counterexample, those that differ first.
    value
        Characters of a value.
    rows
        Rows of a chart and of its table.
    points
        Points of the chart of how an interval closed in.
    notes
        Remarks, and assumptions.
    text
        Characters of the property's text.
    """

    cases: int = 10
    case_characters: int = 200_000
    features: int = 60
    value: int = 300
    rows: int = 60
    points: int = 400
    notes: int = 40
    text: int = 6_000


def limits_for(properties: int) -> Limits:
    """The limits of a page about so many properties: the more there are, the less of each."""
    share = _ALL_CASES // max(properties, 1)
    if properties <= 50:
        return Limits(case_characters=min(share, 200_000))
    if properties <= 300:
        return Limits(cases=5, case_characters=share, features=30, rows=30, points=120, notes=20, text=3_000)
    return Limits(cases=3, case_characters=share, features=12, value=120, rows=12, points=25, notes=10, text=1_200)
