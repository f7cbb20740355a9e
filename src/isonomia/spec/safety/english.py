"""A specification in plain English: what is taken, what is varied, and what must then be true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from isonomia.spec.nomos import PlainBlock, Spec, expression_text, read_block
from isonomia.spec.nomos.tree import (
    Binary,
    Ensures,
    Expression,
    FeatureRead,
    FunctionCall,
    Name,
    ScalarLiteral,
    Update,
    names_in,
)
from isonomia.spec.walk import rebuilt
from isonomia.wording import listed

_WAYS = {
    "<=": "must not be higher than",
    ">=": "must not be lower than",
    "==": "must be the same as",
    "<": "must be lower than",
    ">": "must be higher than",
}
_TURNED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<", "==": "=="}
_ASKED = {"predict": "prediction", "score": "score"}


@dataclass(frozen=True, slots=True)
class _Meanings:
    """What the names of a specification stand for."""

    values: Mapping[str, Expression]  # the variables before the block
    features: Mapping[str, str]  # those that are a feature of a record, or what one is set to, as in `x2.age`
    answers: Mapping[str, tuple[str, str]]  # outputs: prediction or score, and of which record


def in_words(spec: Spec) -> str:
    """Say what a specification claims, in a few sentences.

    What has no wording of its own is quoted as it is written: nothing is left out, and nothing is guessed.
    """
    known = _Meanings({step.name: step.value for step in spec.variables}, _features(spec), _answers(spec))
    sentences = [f"Take any {listed(spec.inputs)}."] if spec.inputs else []
    # A feature needs no sentence of its own: it is described where it is set.
    variables = {name: value for name, value in known.values.items() if name not in known.features}
    sentences += [f"Let {name} be {_value(value, known)}." for name, value in variables.items()]
    if spec.requires:
        conditions = [_text(step.condition, known) for step in spec.requires]
        sentences.append(f"Only cases with {listed(conditions)} count.")
    sentences += [f"Let {step.name} be {_value(step.value, known)}." for step in spec.after]
    return " ".join([*sentences, *(_ensured(item, known) for item in spec.ensures)])


def _features(spec: Spec) -> dict[str, str]:
    """Variables that need no sentence of their own: a feature read from a record, and a value that sets one."""
    features: dict[str, str] = {}
    declared, used = {step.name for step in spec.variables}, set()
    for step in spec.variables:
        read, change = _feature_read(step.value), _feature_set(step.value)
        if read is not None and isinstance(read[0], Name):
            features.setdefault(step.name, f"{read[0].name}.{read[1]}")
        elif change is not None and isinstance(change[2], Name) and change[2].name in declared:
            name = change[2].name
            if name in used:
                features.pop(name, None)  # used in two places, so it keeps its name
            else:
                features[name] = f"{step.name}.{change[1]}"
            used.add(name)
    return features


def _answers(spec: Spec) -> dict[str, tuple[str, str]]:
    """Only for declared records: a name that the block sets may stand for different records at different times."""
    block, answers = read_block(spec.block), {}
    records = {*spec.inputs, *(step.name for step in spec.variables)}
    for step in block.steps if isinstance(block, PlainBlock) else ():
        match step.value:
            case FunctionCall(function="predict" | "score" as function, arguments=(Name(name=record),)) if (
                record in records
            ):
                answers[step.name] = (_ASKED[function], record)
            case _:
                answers.pop(step.name, None)
    return answers


def _value(node: Expression, known: _Meanings) -> str:
    """What a variable is: a record with a feature changed, the right answer, or as it is written."""
    change = _feature_set(node)
    if change is not None:
        record, feature, value = change
        return f"{_value(record, known)} with {feature} {_changed(record, feature, value, known)}"
    match node:
        case FunctionCall(function="label", domain=None, arguments=(Name(name=name),)):
            return f"the right answer for {name}"
        case FunctionCall(function="randInt" | "randReal" as drawn) if _ends_of(node) is not None:
            return f"any {'whole ' if drawn == 'randInt' else ''}number from {_amount(node, known)}"
        case _:
            return _text(node, known)


def _changed(record: Expression, feature: str, value: Expression, known: _Meanings) -> str:
    """How a feature changes: raised, lowered, moved or set, and by how much."""
    whole = _resolved(value, known)
    match whole:
        case Binary(operator="+" | "-" as sign, left=left, right=amount) if _is_own(left, record, feature, known):
            return _moved(amount, "raised" if sign == "+" else "lowered", known)
        case FunctionCall(function="randFeat", domain=None) if _feature_read(whole, "randFeat") == (record, feature):
            return "set to any value that occurs"
        case _:
            return f"set to {_amount(whole, known)}"


def _is_own(node: Expression, record: Expression, feature: str, known: _Meanings) -> bool:
    """Whether a value is the feature that the record has before it is set."""
    read = _feature_read(_resolved(node, known))
    if read is None or read[1] != feature:
        return False
    while record != read[0]:
        change = _feature_set(known.values.get(record.name, record) if isinstance(record, Name) else record)
        if change is None or change[1] == feature:
            return False
        record = change[0]
    return True


def _resolved(node: Expression, known: _Meanings) -> Expression:
    """What a name without a sentence stands for; a variable is declared before it is used, so this ends."""
    while isinstance(node, Name) and node.name in known.features:
        node = known.values[node.name]
    return node


def _moved(amount: Expression, way: str, known: _Meanings) -> str:
    ends = _ends_of(amount)
    if ends is not None and ends[0] == -ends[1]:
        return f"moved by up to {ends[1]!r} either way"
    if way == "raised" and ends is not None and ends[0] < 0:
        return f"moved by {_amount(amount, known)}"
    return f"{way} by {_amount(amount, known)}"


def _amount(node: Expression, known: _Meanings) -> str:
    ends = _ends_of(node)
    return _text(node, known) if ends is None else f"{ends[0]!r} to {ends[1]!r}"


def _ensured(item: Ensures, known: _Meanings) -> str:
    rate = "" if item.rate is None else f" in at least {item.rate * 100:g}% of cases"
    if item.noise is not None:
        rate = f", or differ at most {item.noise * 100:g} percentage points more often than when asked again"
    pair = _pair(item.condition, known)
    if pair is not None:
        (what, record), way, (_, other) = pair
        return f"Then the {what} for {record} {way} that for {other}{rate}."
    names = {name.name for name in names_in(item.condition)}
    where = [f"{name} is the {what} for {record}" for name, (what, record) in known.answers.items() if name in names]
    answers = f", where {listed(where)}" if where else ""
    return f"Then {_text(item.condition, known)} must be true{rate}{answers}."


def _pair(node: Expression, known: _Meanings) -> tuple[tuple[str, str], str, tuple[str, str]] | None:
    """Two answers that are compared, the later one first: that is the one of the changed record."""
    if not (isinstance(node, Binary) and node.operator in _WAYS):
        return None
    names = [part.name for part in (node.left, node.right) if isinstance(part, Name) and part.name in known.answers]
    if len(names) < 2 or known.answers[names[0]][0] != known.answers[names[1]][0]:
        return None
    order = list(known.answers)
    turned = order.index(names[0]) < order.index(names[1])
    first, second = names[::-1] if turned else names
    return known.answers[first], _WAYS[_TURNED[node.operator] if turned else node.operator], known.answers[second]


def _text(node: Expression, known: _Meanings) -> str:
    """An expression as it is written, except for features, which are written ``x1.age``."""

    def dotted(part: Expression) -> Expression:
        read = _feature_read(part)
        if read is not None and isinstance(read[0], Name):
            return Name(f"{read[0].name}.{read[1]}")
        if isinstance(part, Name):
            return Name(known.features.get(part.name, part.name))
        return rebuilt(part, dotted)

    return expression_text(dotted(node))


# ---------------------------------------------------------------------------- what expressions do with records


def _ends_of(node: Expression) -> tuple[float, float] | None:
    """The ends of a number that is drawn between two constants."""
    match node:
        case FunctionCall(function="randInt" | "randReal", domain=None, arguments=(low, high)):
            ends = _constant(low), _constant(high)
            return None if ends[0] is None or ends[1] is None else (ends[0], ends[1])
        case _:
            return None


def _constant(node: Expression) -> float | None:
    """The number that is written; ``-3`` is one constant as it is read."""
    match node:
        case ScalarLiteral(value=int() | float() as number):
            return number
        case _:
            return None


def _feature_read(node: Expression, function: str = "getFeat") -> tuple[Expression, str] | None:
    """The record and the feature of ``getFeat(x1, "age")`` or ``x1.age``."""
    match node:
        case FunctionCall(domain=None, arguments=(record, ScalarLiteral(value=str() | int() as feature))) if (
            node.function == function
        ):
            return record, _written(feature)
        case FeatureRead(record=record, feature=name) if function == "getFeat":
            return record, name
        case _:
            return None


def _feature_set(node: Expression) -> tuple[Expression, str, Expression] | None:
    """The record, the feature and the value of ``setFeat(x1, "age", v)`` or ``x1[age := v]``."""
    match node:
        case FunctionCall(
            function="setFeat", domain=None, arguments=(record, ScalarLiteral(value=str() | int() as feature), value)
        ):
            return record, _written(feature), value
        case Update(record=record, feature=name, value=value):
            return record, name, value
        case _:
            return None


def _written(feature: str | int) -> str:
    """A feature as it is written after a dot; feature number 3 is ``f3``."""
    return feature if isinstance(feature, str) else f"f{feature}"
