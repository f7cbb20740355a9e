"""What an answer means, in words for a reader who is no statistician."""

from __future__ import annotations

from isonomia.errors import IsonomiaError
from isonomia.records.findings import PRINCIPAL, RESPONSIVENESS, SAFETY
from isonomia.records.verdict import Verdict
from isonomia.records.words import chance
from isonomia.spec import parse

__all__ = ["KINDS", "METHODS", "certainty", "explained", "kind_of", "meaning", "odds"]

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
