"""A k-safety property: a specification, and how it is to be tested.

A specification in plain English: what is taken, what is varied, and what must then be true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from isonomia.errors import SpecError, UsageError, nearest
from isonomia.spec.nomos import PlainBlock, Spec, expression_text, parse_nomos, read_block, spec_text
from isonomia.spec.nomos import tree as nomos
from isonomia.spec.tree import rebuilt
from isonomia.wording import listed

EPS = 0.001
"""The share of cases that a sampled *holds* leaves open, unless another one is chosen."""


@dataclass(frozen=True, slots=True)
class Safety:
    """What must be true of every case that meets the preconditions.

    A *case* is one choice of every input and of every random number. Make one with :func:`property`.

    Attributes
    ----------
    spec
        The specification.
    eps
        Where not all cases can be tried, *holds* means: for all but this share of the cases.
    groups, orders, label, functions
        What the table's columns mean, and what may be called.
    allow_code
        Whether the block may be run as Python.
    enumerate
        ``True`` demands that every case is tried, ``False`` that cases are drawn; ``None`` tries every case where they
        are few enough.
    stop_early
        Whether to stop at the first violation; ``False`` spends the budget, to count violations.
    edge_cases
        Whether cases at the ends of ranges are tried before any is drawn.
    shrink
        Whether violations are made as small as the budget allows.
    seconds
        How long the block may take for one case.
    known
        Counterexamples of earlier verdicts, which are tried first.
    name
        What to call it.
    domains
        What imports stand for, by name, instead of modules.
    folder
        The folder of the file that it was read from, where modules are looked for first.
    claim
        What is claimed, in one plain sentence, where the property was made with one.
    """

    spec: Spec
    eps: float = EPS
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    orders: Mapping[str, tuple[nomos.Scalar, ...]] = field(default_factory=dict)
    label: str | None = None
    functions: Mapping[str, Any] = field(default_factory=dict)
    allow_code: bool = False
    enumerate: bool | None = None
    stop_early: bool = True
    seconds: float = 10.0
    known: tuple[Mapping[str, Any], ...] = ()
    name: str | None = None
    domains: Mapping[str, Any] = field(default_factory=dict)
    folder: str | None = None
    claim: str | None = None
    edge_cases: bool = True
    shrink: bool = True

    def __str__(self) -> str:
        return spec_text(self.spec)

    def explain(self) -> str:
        """What is claimed, in plain words: one sentence, or what is varied and what must be true."""
        return self.claim or in_words(self.spec)


def property(  # noqa: A001  (the word of the glossary)
    source: str | PathLike[str],
    *,
    eps: float = EPS,
    groups: Mapping[str, Sequence[str]] | None = None,
    orders: Mapping[str, Sequence[nomos.Scalar]] | None = None,
    label: str | None = None,
    functions: Mapping[str, Any] | None = None,
    allow_code: bool = False,
    enumerate: bool | None = None,  # noqa: A002  (says what it does)
    stop_early: bool = True,
    seconds: float = 10.0,
    known: Sequence[Mapping[str, Any]] = (),
    name: str | None = None,
    domains: Mapping[str, Any] | None = None,
    edge_cases: bool = True,
    shrink: bool = True,
) -> Safety:
    """A k-safety property from a specification in Nomos.

    Parameters
    ----------
    source
        The text, or the path of a ``.nom`` file.
    eps
        Where not all cases can be tried, *holds* means: for all but this share of the cases, at the check's risk delta.
    groups
        One-hot columns as a single feature: ``{"history": ["history_A30", "history_A31", ...]}``. Its value is the
        position of the 1, from 0.
    orders
        Columns of named levels as numbers: ``{"risk": ["low", "medium", "high"]}``. The value is the level's number.
    label
        The column with the right answers, for ``label(x1)``; the model is not given it.
    functions
        What else the specification may call: functions of one case, or a ``Function`` for whole batches.
    allow_code
        Whether the block may be run as Python, with everything that Python can do. Plain calls and arithmetic need no
        permission: they are computed without running anything. Also whether modules may be imported, which runs them.
    enumerate
        Whether every case is tried (``True``), or cases are drawn (``False``); by default, every case is tried if there
        are few enough.
    stop_early
        Whether to stop at the first violation.
    seconds
        How long a block that is run as Python may take for one case.
    known
        Counterexamples of earlier verdicts, tried before anything else.
    name
        What to call it in reports.
    domains
        What the specification's imports stand for, by name: a domain, a population, a table, an array, a list, or a
        mapping with some of ``inputs``, ``labels``, ``groups``, ``orders`` and ``functions``. An import without an
        entry names a Python module that sets the same names; it is looked for next to the file first, then in the
        current folder.
    edge_cases
        Whether some cases at the ends of ranges are tried before any is drawn. One that violates what must always be
        true is proof. They are not random cases: no share, and no *holds*, rests on them. None are tried separately
        where every case is tried, or where violations are counted (``stop_early=False``).
    shrink
        Whether violations are made smaller, which sends further rows to the model: logarithmically many, and with a
        budget of samples at most a quarter of the rows of the samples.

    Raises
    ------
    SpecError
        Where the text is not a specification.
    UsageError
        Where the file cannot be read, or an option makes no sense.
    """
    text, file = _read(source)
    if isinstance(eps, bool) or not isinstance(eps, int | float) or not 0.0 < eps < 1.0:
        raise UsageError(f"expected eps, the share of cases left open, between 0 and 1, but got eps={eps!r}")
    if not isinstance(seconds, int | float) or not seconds > 0:
        raise UsageError(f"expected seconds, the time for one case, above 0, but got seconds={seconds!r}")
    for option, flag in (("edge_cases", edge_cases), ("shrink", shrink)):
        if not isinstance(flag, bool):
            raise UsageError(f"expected {option} as True or False, but got {option}={flag!r}")
    spec = parse_nomos(text)
    _check_domains(domains or {}, spec)
    return Safety(
        spec,
        eps=float(eps),
        groups={key: tuple(columns) for key, columns in (groups or {}).items()},
        orders={key: tuple(levels) for key, levels in (orders or {}).items()},
        label=label,
        functions=dict(functions or {}),
        allow_code=allow_code,
        enumerate=enumerate,
        stop_early=stop_early,
        seconds=float(seconds),
        known=tuple(known),
        name=name or (None if file is None else file.stem),
        domains=dict(domains or {}),
        folder=None if file is None else str(file.parent),
        edge_cases=edge_cases,
        shrink=shrink,
    )


def _check_domains(domains: Mapping[str, Any], spec: Spec) -> None:
    for name in domains:
        if name not in spec.imports:
            imported = ", ".join(spec.imports) or "nothing"
            raise UsageError(
                f"expected domains for what is imported, which is {imported}, but got {name!r}: write "
                f"`import {name};` in the specification.{nearest(name, spec.imports)}",
                name=name,
            )


def _read(source: str | PathLike[str]) -> tuple[str, Path | None]:
    """The text and, for a file, its path."""
    if isinstance(source, str) and ("\n" in source or ";" in source or not source.endswith(".nom")):
        return source, None
    path = Path(source)
    try:
        return path.read_text("utf-8"), path
    except OSError as error:
        raise UsageError(f"expected a specification to read at {path}, but: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SpecError(f"expected {path} to be text in UTF-8, but byte {error.start} is not") from error


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

    values: Mapping[str, nomos.Expression]  # the variables before the block
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
        if read is not None and isinstance(read[0], nomos.Name):
            features.setdefault(step.name, f"{read[0].name}.{read[1]}")
        elif change is not None and isinstance(change[2], nomos.Name) and change[2].name in declared:
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
            case nomos.FunctionCall(function="predict" | "score" as function, arguments=(nomos.Name(name=record),)) if (
                record in records
            ):
                answers[step.name] = (_ASKED[function], record)
            case _:
                answers.pop(step.name, None)
    return answers


def _value(node: nomos.Expression, known: _Meanings) -> str:
    """What a variable is: a record with a feature changed, the right answer, or as it is written."""
    change = _feature_set(node)
    if change is not None:
        record, feature, value = change
        return f"{_value(record, known)} with {feature} {_changed(record, feature, value, known)}"
    match node:
        case nomos.FunctionCall(function="label", domain=None, arguments=(nomos.Name(name=name),)):
            return f"the right answer for {name}"
        case nomos.FunctionCall(function="randInt" | "randReal" as drawn) if _ends_of(node) is not None:
            return f"any {'whole ' if drawn == 'randInt' else ''}number from {_amount(node, known)}"
        case _:
            return _text(node, known)


def _changed(record: nomos.Expression, feature: str, value: nomos.Expression, known: _Meanings) -> str:
    """How a feature changes: raised, lowered, moved or set, and by how much."""
    whole = _resolved(value, known)
    match whole:
        case nomos.Binary(operator="+" | "-" as sign, left=left, right=amount) if _is_own(left, record, feature, known):
            return _moved(amount, "raised" if sign == "+" else "lowered", known)
        case nomos.FunctionCall(function="randFeat", domain=None) if _feature_read(whole, "randFeat") == (
            record,
            feature,
        ):
            return "set to any value that occurs"
        case _:
            return f"set to {_amount(whole, known)}"


def _is_own(node: nomos.Expression, record: nomos.Expression, feature: str, known: _Meanings) -> bool:
    """Whether a value is the feature that the record has before it is set."""
    read = _feature_read(_resolved(node, known))
    if read is None or read[1] != feature:
        return False
    while record != read[0]:
        change = _feature_set(known.values.get(record.name, record) if isinstance(record, nomos.Name) else record)
        if change is None or change[1] == feature:
            return False
        record = change[0]
    return True


def _resolved(node: nomos.Expression, known: _Meanings) -> nomos.Expression:
    """What a name without a sentence stands for; a variable is declared before it is used, so this ends."""
    while isinstance(node, nomos.Name) and node.name in known.features:
        node = known.values[node.name]
    return node


def _moved(amount: nomos.Expression, way: str, known: _Meanings) -> str:
    ends = _ends_of(amount)
    if ends is not None and ends[0] == -ends[1]:
        return f"moved by up to {ends[1]!r} either way"
    if way == "raised" and ends is not None and ends[0] < 0:
        return f"moved by {_amount(amount, known)}"
    return f"{way} by {_amount(amount, known)}"


def _amount(node: nomos.Expression, known: _Meanings) -> str:
    ends = _ends_of(node)
    return _text(node, known) if ends is None else f"{ends[0]!r} to {ends[1]!r}"


def _ensured(item: nomos.Ensures, known: _Meanings) -> str:
    rate = "" if item.rate is None else f" in at least {item.rate * 100:g}% of cases"
    if item.noise is not None:
        rate = f", or differ at most {item.noise * 100:g} percentage points more often than when queried again"
    pair = _pair(item.condition, known)
    if pair is not None:
        (what, record), way, (_, other) = pair
        return f"Then the {what} for {record} {way} that for {other}{rate}."
    names = {name.name for name in nomos.names_in(item.condition)}
    where = [f"{name} is the {what} for {record}" for name, (what, record) in known.answers.items() if name in names]
    answers = f", where {listed(where)}" if where else ""
    return f"Then {_text(item.condition, known)} must be true{rate}{answers}."


def _pair(node: nomos.Expression, known: _Meanings) -> tuple[tuple[str, str], str, tuple[str, str]] | None:
    """Two answers that are compared, the later one first: that is the one of the changed record."""
    if not (isinstance(node, nomos.Binary) and node.operator in _WAYS):
        return None
    names = [
        part.name for part in (node.left, node.right) if isinstance(part, nomos.Name) and part.name in known.answers
    ]
    if len(names) < 2 or known.answers[names[0]][0] != known.answers[names[1]][0]:
        return None
    order = list(known.answers)
    turned = order.index(names[0]) < order.index(names[1])
    first, second = names[::-1] if turned else names
    return known.answers[first], _WAYS[_TURNED[node.operator] if turned else node.operator], known.answers[second]


def _text(node: nomos.Expression, known: _Meanings) -> str:
    """An expression as it is written, except for features, which are written ``x1.age``."""

    def dotted(part: nomos.Expression) -> nomos.Expression:
        read = _feature_read(part)
        if read is not None and isinstance(read[0], nomos.Name):
            return nomos.Name(f"{read[0].name}.{read[1]}")
        if isinstance(part, nomos.Name):
            return nomos.Name(known.features.get(part.name, part.name))
        return rebuilt(part, dotted)

    return expression_text(dotted(node))


# ---------------------------------------------------------------------------- what expressions do with records


def _ends_of(node: nomos.Expression) -> tuple[float, float] | None:
    """The ends of a number that is drawn between two constants."""
    match node:
        case nomos.FunctionCall(function="randInt" | "randReal", domain=None, arguments=(low, high)):
            ends = _constant(low), _constant(high)
            return None if ends[0] is None or ends[1] is None else (ends[0], ends[1])
        case _:
            return None


def _constant(node: nomos.Expression) -> float | None:
    """The number that is written; ``-3`` is one constant as it is read."""
    match node:
        case nomos.ScalarLiteral(value=int() | float() as number):
            return number
        case _:
            return None


def _feature_read(node: nomos.Expression, function: str = "getFeat") -> tuple[nomos.Expression, str] | None:
    """The record and the feature of ``getFeat(x1, "age")`` or ``x1.age``."""
    match node:
        case nomos.FunctionCall(
            domain=None, arguments=(record, nomos.ScalarLiteral(value=str() | int() as feature))
        ) if node.function == function:
            return record, _written(feature)
        case nomos.FeatureRead(record=record, feature=name) if function == "getFeat":
            return record, name
        case _:
            return None


def _feature_set(node: nomos.Expression) -> tuple[nomos.Expression, str, nomos.Expression] | None:
    """The record, the feature and the value of ``setFeat(x1, "age", v)`` or ``x1[age := v]``."""
    match node:
        case nomos.FunctionCall(
            function="setFeat",
            domain=None,
            arguments=(record, nomos.ScalarLiteral(value=str() | int() as feature), value),
        ):
            return record, _written(feature), value
        case nomos.Update(record=record, feature=name, value=value):
            return record, name, value
        case _:
            return None


def _written(feature: str | int) -> str:
    """A feature as it is written after a dot; feature number 3 is ``f3``."""
    return feature if isinstance(feature, str) else f"f{feature}"
