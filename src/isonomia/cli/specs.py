"""Programs, specifications, claims as arguments.

Specifications on the command line: which arguments are some, and what goes with them.

Programs on the command line: which argument is one, and the property that it is checked for.

Claims about responsiveness on the command line: which options go together, and the property that they make.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isonomia.errors import UsageError, nearest

if TYPE_CHECKING:
    from isonomia.interventions import Interventions
    from isonomia.populations.program import Program
    from isonomia.spec import Property
    from isonomia.spec.responsiveness import Responsiveness
    from isonomia.spec.safety import Safety

__all__ = [
    "SUFFIX",
    "Claim",
    "parse_target",
    "ratio_property",
    "read_specification",
    "refuse_without",
    "split_arguments",
]


SUFFIX = ".nom"
"""How the name of a specification ends."""


def read_specification(
    path: str,
    *,
    allow_code: bool,
    corners: bool,
    eps: float | None,
    label: str | None,
    groups: Sequence[str],
) -> Safety:
    """The k-safety property of a ``.nom`` file; ``groups`` are one-hot columns as ``NAME=COLUMN,COLUMN,...``."""
    from isonomia.spec.safety import EPS
    from isonomia.spec.safety import property as safety_property

    return safety_property(
        Path(path),
        eps=EPS if eps is None else eps,
        allow_code=allow_code,
        corners=corners,
        label=label,
        groups=dict(_group(item) for item in groups),
    )


def refuse_without(texts: Sequence[str], **given: object) -> None:
    """Refuse options that speak of a specification where there is none."""
    came = [f"--{name}" for name, value in given.items() if value]
    if came and not any(text.endswith(SUFFIX) for text in texts):
        raise UsageError(
            f"expected a specification{SUFFIX} with {', '.join(came)}, but only formulas came: leave it out"
        )


def _group(item: str) -> tuple[str, list[str]]:
    name, _, columns = item.partition("=")
    listed = [column.strip() for column in columns.split(",") if column.strip()]
    if not name or not listed:
        raise UsageError(f"expected --group as NAME=COLUMN,COLUMN,..., but {item!r} came")
    return name, listed


def split_arguments(arguments: Sequence[str]) -> tuple[Path | None, list[str]]:
    """The program among the arguments, if there is one, and the properties."""
    programs = [Path(argument) for argument in arguments if _is_program(argument)]
    if len(programs) > 1:
        raise UsageError(f"expected one program, but {', '.join(map(str, programs))} came: check them one by one")
    return (programs[0] if programs else None), [argument for argument in arguments if not _is_program(argument)]


def _is_program(argument: str) -> bool:
    return argument.lower().endswith(".fr")


def ratio_property(program: Program, ratio: float) -> Property:
    """The property of the FairSquare benchmark: the minority's rate over the majority's, among the qualified."""
    from isonomia.spec import P, col

    for column, mark in (("minority", "sensitiveAttribute"), ("target", "fairnessTarget")):
        if column not in program.names:
            raise UsageError(
                f"expected {program.name} to have a line {mark}(...), which --ratio needs, but it has none"
            )
    minority, target = col("minority"), col("target")
    if "qualified" not in program.names:
        return P(target, given=minority) / P(target, given=~minority) >= ratio
    qualified = col("qualified")
    return P(target, given=minority & qualified) / P(target, given=~minority & qualified) >= ratio


_NEEDS = {"": ("target",), "preclusion": ("target",), "gaming": ("target",), "affordability": ("limit",)}
_TAKES = {
    "": ("at_least", "at_most"),
    "preclusion": ("at_least",),
    "gaming": ("at_most",),
    "stability": ("at_least", "within"),
    "affordability": ("at_least",),
    "monotonicity": ("at_least", "direction"),
}
_SPEAKS_OF_OUTPUT = re.compile(r"\b(prediction|score)\b")


@dataclass(frozen=True, slots=True)
class Claim:
    """What was said about the claim; ``None`` and nothing for what was not.

    Attributes
    ----------
    test
        The named test.
    target
        The prediction that is wanted, as it was typed; several are a set of classes.
    at_least, at_most, within, limit, direction
        What goes with it.
    """

    test: str | None
    target: tuple[str, ...]
    at_least: float | None
    at_most: float | None
    within: float | None
    limit: str | None
    direction: str | None

    def property(self, interventions: Interventions, **options: Any) -> Responsiveness:
        """The property that is claimed."""
        from isonomia.spec import responsiveness

        self._check()
        said = {name: value for name in _TAKES[self.test or ""] if (value := getattr(self, name)) is not None}
        match self.test:
            case "preclusion":
                below = {"below": said["at_least"]} if said else {}
                return responsiveness.preclusion(interventions, parse_target(self.target), **below, **options)
            case "gaming":
                return responsiveness.gaming(interventions, parse_target(self.target), **said, **options)
            case "stability":
                return responsiveness.stability(interventions, **said, **options)
            case "affordability":
                return responsiveness.affordability(interventions, _limit(self.limit or ""), **said, **options)
            case "monotonicity":
                return responsiveness.monotonicity(interventions, **said, **options)
            case _:
                return responsiveness.Responsiveness(interventions, parse_target(self.target), **said, **options)

    def _check(self) -> None:
        test = self.test or ""
        if test not in _TAKES:
            known = [name for name in _TAKES if name]
            raise UsageError(f"expected --test as one of {', '.join(known)}, but {test!r} came.{nearest(test, known)}")
        told = f"--test {test}" if test else "a claim without --test"
        for name in _NEEDS.get(test, ()):
            if not getattr(self, name):
                raise UsageError(f"expected {_option(name)} for {told}, {_EXAMPLES[name]}, but none came")
        allowed = {"test", *_NEEDS.get(test, ()), *_TAKES[test]}
        for part in fields(self):
            if part.name not in allowed and getattr(self, part.name) not in (None, ()):
                listed = ", ".join(map(_option, (*_NEEDS.get(test, ()), *_TAKES[test])))
                raise UsageError(f"{_option(part.name)} does not go with {told}, which takes {listed}: leave it out")
        if not test and (self.at_least is None) == (self.at_most is None):
            came = "neither" if self.at_least is None else "both"
            raise UsageError(
                "expected the share that is claimed, --at-least 0.1 or --at-most 0.05, one of the two, "
                f"but {came} came; --test names ready-made claims"
            )


_EXAMPLES = {
    "target": "the prediction that is wanted, such as --target 1 or --target 'prediction < own'",
    "limit": "the most that a prediction may be, such as --limit 500 or --limit budget for a column",
}


def parse_target(texts: Sequence[str]) -> Any:
    """Read a target: a class, several, an interval ``LOW:HIGH`` with either end perhaps left out, or a condition.

    A class that looks like a number is one; in quotation marks it is a text.
    """
    if len(texts) > 1:
        wrong = [text for text in texts if _SPEAKS_OF_OUTPUT.search(text) or _interval(text) is not None]
        if wrong:
            raise UsageError(f"expected several --target to be classes, but {wrong[0]!r} is none: join them with or")
        return [_label(text) for text in texts]
    text = texts[0]
    if _SPEAKS_OF_OUTPUT.search(text):
        return text
    interval = _interval(text)
    return _label(text) if interval is None else interval


def _interval(text: str) -> tuple[float | None, float | None] | None:
    low, colon, high = (part.strip() for part in text.partition(":"))
    if not colon or not (low or high):
        return None
    ends = [_number(end) if end else None for end in (low, high)]
    return None if any(end and found is None for end, found in zip((low, high), ends, strict=True)) else (*ends,)  # type: ignore[return-value]


def _label(text: str) -> str | bool | int | float:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    number = _number(text)
    return text if number is None else number


def _number(text: str) -> int | float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return None if not isfinite(value) else int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else value


def _limit(text: str) -> str | float:
    number = _number(text)
    return text if number is None else number


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
