"""Effects, subgroups and directions in words."""

from __future__ import annotations

from isonomia.audits.principal.question import Question
from isonomia.audits.principal.subgroups import Key
from isonomia.evidence.strata.certificates import TOLERANCE
from isonomia.evidence.strata.effects import Effect

__all__ = ["coded", "direction", "effect_name", "effect_words", "stratum_words", "subgroup"]


def subgroup(question: Question, key: Key) -> str:
    """A subgroup by its values: ``school='GP', sex='F'``; ``everybody`` where nothing is conditioned on."""
    return ", ".join(f"{name}={value!r}" for name, value in zip(question.given, key, strict=True)) or "everybody"


def effect_name(question: Question, effect: Effect, *, normalised: bool) -> str:
    """The paper's symbol, with what it needs besides where there are more than two values of something.

    ``tau_1`` is about those with outcome number 1 whatever the attribute, ``tau`` about all strata of Definition 2,
    ``total`` about everybody, ``odds_1`` about those whose outcome under the first attribute value has number 1.
    """
    first = min(effect.stratum.patterns)
    names = {1: f"tau_{first[0]}", 2: "tau", 3: "total", 4: f"odds_{first[0]}"}
    shape, parts = question.shape, []
    if shape.predictions > 2:
        parts.append(f"{question.prediction.values[effect.prediction]!r}")
    if shape.attributes > 2:
        values = question.attribute.values
        parts.append(f"{values[effect.attribute]!r} - {values[effect.reference]!r}")
    return names[question.prop.definition] + ("" if normalised else "'") + (f"({', '.join(parts)})" if parts else "")


def stratum_words(question: Question, effect: Effect) -> str:
    """Who the effect is about."""
    attribute, outcome = question.attribute, question.outcome
    value = outcome.values[min(effect.stratum.patterns)[0]]
    match question.prop.definition:
        case 1:
            return f"people with {outcome.name}={value!r} whatever their {attribute.name}"
        case 2:
            return f"people with the same {outcome.name} whatever their {attribute.name}"
        case 3:
            return "all people"
        case 4:
            return f"people with {outcome.name}={value!r} if they had {attribute.name}={attribute.values[0]!r}"


def effect_words(question: Question, effect: Effect) -> str:
    """What the effect is a difference of."""
    event = f"{question.prediction.name}={question.prediction.values[effect.prediction]!r}"
    name, values = question.attribute.name, question.attribute.values
    return (
        f"how much more frequent {event} is with {name}={values[effect.attribute]!r} than with "
        f"{name}={values[effect.reference]!r}, among {stratum_words(question, effect)}"
    )


def direction(question: Question, effect: Effect, ends: tuple[float, float]) -> str:
    """Which way an effect goes, from its interval."""
    low, high = ends
    name, values = question.attribute.name, question.attribute.values
    event = f"{question.prediction.name}={question.prediction.values[effect.prediction]!r}"
    if low <= TOLERANCE and high >= -TOLERANCE:
        return f"may go either way among {stratum_words(question, effect)}"
    more, less = (effect.attribute, effect.reference) if low > 0 else (effect.reference, effect.attribute)
    return (
        f"{event} is more frequent with {name}={values[more]!r} than with {name}={values[less]!r}, among "
        f"{stratum_words(question, effect)}"
    )


def coded(question: Question) -> str:
    """Which value has which number."""
    parts = []
    for coding in (question.attribute, question.prediction, question.outcome):
        numbers = ", ".join(f"{number} is {value!r}" for number, value in enumerate(coding.values))
        parts.append(f"{coding.name}: {numbers}")
    return "; ".join(parts)
