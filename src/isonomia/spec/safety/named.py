"""Named properties of two runs: each writes its specification."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from math import ceil, floor
from typing import Any

from isonomia.errors import UsageError, nearest
from isonomia.spec.safety.safety import Safety, property  # noqa: A004  (the word of the glossary)
from isonomia.spec.text import quote
from isonomia.wording import listed

_OUTPUTS = {"not lower": "d1 <= d2", "not higher": "d2 <= d1", "same": "d1 == d2"}
_NEVER = {"not lower": "never lowers", "not higher": "never raises", "same": "never changes"}
_DOES = {"not lower": "lowers", "not higher": "raises", "same": "changes"}
_ANSWERS = {"predict": "prediction", "score": "score"}
_BLOCK = ["output d1;", "output d2;", "{", "    d1 = {ask}(x1)", "    d2 = {ask}(x2)", "}"]


def monotone(
    feature: str | int,
    *,
    up: float | tuple[float, float] | None = None,
    down: float | tuple[float, float] | None = None,
    at_most: float | None = None,
    at_least: float | None = None,
    output: str = "not lower",
    ask: str = "predict",
    noise: float | None = None,
    **options: Any,
) -> Safety:
    """When one feature rises (or falls), the output is never lower (or never higher, or the same).

    Parameters
    ----------
    feature
        Its name or its number.
    up, down
        By how much: a number, or ``(least, most)`` for every whole number from one to the other. Give one of the two;
        the feature rises by 1 where neither is given.
    at_most, at_least
        Cases in which the feature would leave these limits are not tried.
    output
        ``"not lower"``, ``"not higher"`` or ``"same"``, of the changed input compared with the original.
    ask
        ``"predict"`` or ``"score"``.
    noise
        For a model that answers at random: by how much the output may be otherwise more often than it is between two
        answers about the same record, such as 0.02.
    options
        As for :func:`property`.

    Examples
    --------
    >>> print(monotone("savings", up=(1, 3), at_most=12).explain())
    Raising savings by 1 to 3, while it stays at most 12, never lowers the prediction.
    """
    if up is not None and down is not None:
        raise UsageError("expected up or down, but got both: state two properties")
    sign, step = ("-", down) if down is not None else ("+", 1 if up is None else up)
    way, doing, role = ("rises", "Raising", "up") if sign == "+" else ("falls", "Lowering", "down")
    lines = [
        "input x1;",
        f"var v1 := getFeat(x1, {_feature(feature)});",
        f"var v2 := v1 {sign} {_amount(role, step)};",
        f"var x2 := setFeat(x1, {_feature(feature)}, v2);",
    ]
    if at_most is not None:
        lines.append(f"requires v2 <= {_number('at_most', at_most)};")
    if at_least is not None:
        lines.append(f"requires v2 >= {_number('at_least', at_least)};")
    by = f"{step[0]!r} to {step[1]!r}" if isinstance(step, tuple | list) else repr(step)
    change = f"{doing} {_called(feature)} by {by}{_limited(at_most, at_least)}"
    return _property(lines, output, ask, f"{output} when {feature} {way}", change, noise, options)


def robust(
    features: str | int | Sequence[str | int],
    by: float | Mapping[str, float],
    *,
    whole: bool = False,
    output: str = "same",
    ask: str = "predict",
    noise: float | None = None,
    **options: Any,
) -> Safety:
    """Small changes of some features leave the output as it is.

    Parameters
    ----------
    features
        Which ones, by name or number.
    by
        How far each may move either way; one number for all, or one per feature.
    whole
        Whether features move by whole numbers only; then there are finitely many cases.
    output, ask, noise, options
        As for :func:`monotone`.

    Examples
    --------
    >>> print(robust(["income", "age"], {"income": 100, "age": 1}, whole=True).explain())
    Moving income by up to 100 and age by up to 1 either way, in whole steps, never changes the prediction.
    """
    chosen = [features] if isinstance(features, str | int) else list(features)
    if not chosen:
        raise UsageError("expected at least one feature that may move")
    lines = ["input x1;"]
    record = "x1"
    for number, feature in enumerate(chosen, start=1):
        reach = by[str(feature)] if isinstance(by, Mapping) else by
        if not isinstance(reach, int | float) or not reach > 0:
            raise UsageError(f"expected by, how far a feature may move, above 0, but got {reach!r}")
        moved = "x2" if number == len(chosen) else f"m{number}"
        drawn = f"{'randInt' if whole else 'randReal'}({_number('by', -reach)}, {_number('by', reach)})"
        value = f"getFeat(x1, {_feature(feature)}) + {drawn}"
        lines.append(f"var {moved} := setFeat({record}, {_feature(feature)}, {value});")
        record = moved
    change = f"Moving {_reaches(chosen, by)} either way{', in whole steps,' if whole else ''}"
    return _property(lines, output, ask, f"robust to {', '.join(map(str, chosen))}", change, noise, options)


def invariant_to(
    feature: str | int, *, output: str = "same", ask: str = "predict", noise: float | None = None, **options: Any
) -> Safety:
    """Setting a feature to any other value that occurs leaves the output as it is.

    Parameters
    ----------
    feature
        By name, or by number from 0.
    output, ask, noise, options
        As for :func:`monotone`.

    Examples
    --------
    >>> print(invariant_to("sex").explain())
    Setting sex to any other value that occurs never changes the prediction.
    """
    change = f"Setting {_called(feature)} to any other value that occurs"
    return _property(_another(feature), output, ask, f"invariant to {feature}", change, noise, options)


def flips(
    feature: str | int, *, eps: float = 0.02, tolerance: float = 0.0, ask: str = "predict", **options: Any
) -> Safety:
    """Setting a feature to any other value that occurs changes the answer hardly more often than asking again does.

    It is for models that answer at random, such as language models: their answers change without any cause, so that
    :func:`invariant_to` says nothing about them. Each case asks the model four times, twice about the record and twice
    about the changed one. The claim is that ``P[answers about the two differ] - P[answers about one of them differ]``
    is at most ``eps``, the second probability being the mean over the two. For every single case that difference is 0
    if the change leaves the probabilities of all answers as they are, and positive otherwise.

    Parameters
    ----------
    feature
        By name, or by number from 0.
    eps
        How much more often answers may change, as a difference of probabilities.
    tolerance
        Numbers that differ by at most this much count as the same answer.
    ask, options
        As for :func:`monotone`.

    Examples
    --------
    >>> flips("name", eps=0.02).explain().partition("occurs ")[2]
    'changes the prediction at most 2 percentage points more often than asking again.'
    """
    change = f"Setting {_called(feature)} to any other value that occurs"
    if tolerance:
        same = f"abs(d1 - d2) <= {_number('tolerance', tolerance)}"
        return _property(_another(feature), "same", ask, f"flips by {feature}", change, eps, options, same)
    return _property(_another(feature), "same", ask, f"flips by {feature}", change, eps, options)


def _another(feature: str | int) -> list[str]:
    """Another value of a feature that occurs."""
    return [
        "input x1;",
        f"var v1 := randFeat(x1, {_feature(feature)});",
        f"var x2 := setFeat(x1, {_feature(feature)}, v1);",
        f"requires v1 != getFeat(x1, {_feature(feature)});",
    ]


def implies_after(transform: str | Callable[..., Any], *, ask: str = "predict", **options: Any) -> Safety:
    """Where the answer is right after a transformation that makes it harder, it is also right before it.

    Parameters
    ----------
    transform
        A function of the domain by name, such as ``"blur"``, or a Python function of one record.
    ask, options
        As for :func:`monotone`; a table needs ``label``.
    """
    _refuse_unknown(options)
    name = transform if isinstance(transform, str) else "transform"
    functions = dict(options.pop("functions", None) or {})
    if callable(transform):
        functions[name] = transform
    lines = ["input x1;", f"var x2 := {name}(x1);", "var v1 := label(x1);", *_block(ask)]
    lines.append("ensures d2 == v1 ==> d1 == v1;")
    options.setdefault("name", f"right after {name} implies right before")
    answer = _ANSWERS[ask]
    claim = f"Where the {answer} is right after {name}, the {answer} of the original input is right too."
    return replace(property("\n".join(lines) + "\n", functions=functions, **options), claim=claim)


def _property(
    lines: list[str],
    output: str,
    ask: str,
    name: str,
    change: str,
    noise: float | None,
    options: dict[str, Any],
    condition: str = "",
) -> Safety:
    if output not in _OUTPUTS:
        raise UsageError(f"expected output as one of {', '.join(map(repr, _OUTPUTS))}, but got {output!r}")
    if noise is not None and (isinstance(noise, bool) or not isinstance(noise, int | float) or not 0.0 <= noise < 1.0):
        raise UsageError(f"expected noise, a margin, at least 0 and below 1, but got {noise!r}")
    _refuse_unknown(options)
    options.setdefault("name", name)
    margin = "" if noise is None else f" up to noise + {float(noise)!r}"
    text = "\n".join([*lines, *_block(ask), f"ensures {condition or _OUTPUTS[output]}{margin};"]) + "\n"
    does = f"{_NEVER[output]} the {_ANSWERS[ask]}"
    if noise is not None:
        points = f"{noise * 100:g} percentage points"
        does = f"{_DOES[output]} the {_ANSWERS[ask]} at most {points} more often than asking again"
    return replace(property(text, **options), claim=f"{change} {does}.")


def _refuse_unknown(options: Mapping[str, Any]) -> None:
    known = [name for name in signature(property).parameters if name != "source"]
    for name in options:
        if name not in known:
            hint = nearest(name, known)
            if name in {"tolerance", "margin", "slack"}:
                hint = (
                    " What may differ a little is written in a specification: safety.property(text) with "
                    "`ensures d1 <= d2 + 500;` at the end."
                )
            raise UsageError(f"there is no option {name!r} of such properties.{hint} There are {', '.join(known)}")


def _called(feature: str | int) -> str:
    return feature if isinstance(feature, str) else f"feature {feature}"


def _limited(at_most: float | None, at_least: float | None) -> str:
    """The limits of a feature, in words."""
    ends = [f"at most {at_most!r}"] * (at_most is not None) + [f"at least {at_least!r}"] * (at_least is not None)
    return f", while it stays {listed(ends)}," if ends else ""


def _reaches(features: Sequence[str | int], by: float | Mapping[str, float]) -> str:
    """How far each feature moves, in words."""
    if isinstance(by, Mapping):
        return listed([f"{_called(feature)} by up to {by[str(feature)]!r}" for feature in features])
    return f"{listed(map(_called, features))} by up to {by!r}"


def _block(ask: str) -> list[str]:
    if ask not in {"predict", "score"}:
        raise UsageError(f"expected ask as 'predict' or 'score', but got {ask!r}")
    return [line.replace("{ask}", ask) for line in _BLOCK]


def _feature(feature: str | int) -> str:
    if isinstance(feature, bool) or not isinstance(feature, str | int):
        raise UsageError(f"expected a feature by name or number, but got {feature!r}")
    return quote(feature, '"') if isinstance(feature, str) else str(feature)


def _amount(role: str, step: float | tuple[float, float]) -> str:
    if isinstance(step, tuple | list):
        if len(step) != 2:
            raise UsageError(f"expected {role} as a number or a pair (least, most), but got {role}={step!r}")
        least, most = step
        drawn = f"randInt({_number(role, least)}, {_number(role, most)})"
        if ceil(least) > floor(most):
            message = f"expected (least, most) with a whole number between them, but got {step!r}: give a single number"
            raise UsageError(f"{message} to move by that, or scale the feature", name="step")
        return drawn
    return _number(role, step)


def _number(role: str, value: float) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) == float("inf"):
        raise UsageError(f"expected {role} as a finite number, but got {role}={value!r}")
    return repr(value)
