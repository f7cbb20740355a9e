"""Where in an answer something is: ``predictions[*].label``."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, TypeAlias

from isonomia.errors import ModelError, UsageError, nearest

__all__ = ["AnswerPath", "brief"]

_STEP = re.compile(
    r"""
    \.? (?P<name> [A-Za-z_][\w-]* )
    | \[ (?P<every> \* ) \]
    | \[ (?P<index> -?\d+ ) \]
    | \[ (?P<quote> ['"] ) (?P<key> .*? ) (?P=quote) \]
    """,
    re.VERBOSE,
)

Step: TypeAlias = str | int | None
"""A key of an object, a place in a list, or every item of a list."""


@dataclass(frozen=True, slots=True)
class AnswerPath:
    """A path into a JSON value.

    Attributes
    ----------
    text
        How it is written. ``.name`` and ``['any name']`` go to a key of an object, ``[0]`` to an item of a list, and
        ``[*]`` to every item; ``$`` alone, or nothing, is the answer itself.
    steps
        Its steps.
    """

    text: str
    steps: tuple[Step, ...]

    @classmethod
    def of(cls, text: str) -> AnswerPath:
        """Read a path.

        Raises
        ------
        UsageError
            Where it is not one.
        """
        if not isinstance(text, str):
            raise UsageError(f"a path into the answer should be text, such as 'predictions[*].label', but is {text!r}.")
        rest, steps = text.strip().removeprefix("$"), []
        while rest:
            found = _STEP.match(rest)
            if found is None:
                raise UsageError(
                    f"{text!r} is no path into an answer: at {rest!r} there should be .name, ['any name'], [0] or [*], "
                    "as in predictions[*].label."
                )
            steps.append(_step(found))
            rest = rest[found.end() :]
        return cls(text, tuple(steps))

    def find(self, answer: Any) -> Any:
        """What is there; a list with an entry for each item where the path says ``[*]``.

        Raises
        ------
        ModelError
            Where the answer has nothing there.
        """
        return self._from(answer, 0, "the answer")

    def _from(self, value: Any, number: int, where: str) -> Any:
        if number == len(self.steps):
            return value
        step = self.steps[number]
        if step is None and isinstance(value, list):
            return [self._from(item, number + 1, f"{where}[{place}]") for place, item in enumerate(value)]
        if isinstance(step, str) and isinstance(value, dict) and step in value:
            return self._from(value[step], number + 1, f"{where}.{step}")
        if isinstance(step, int) and isinstance(value, list) and -len(value) <= step < len(value):
            return self._from(value[step], number + 1, f"{where}[{step}]")
        raise ModelError(f"expected {self.text!r} in the answer, but {where} {_lacks(step, value)}")


def _step(found: re.Match[str]) -> Step:
    if found["every"]:
        return None
    if found["index"]:
        return int(found["index"])
    return found["name"] if found["name"] is not None else found["key"]


def _lacks(step: Step, value: Any) -> str:
    if isinstance(step, str) and isinstance(value, dict):
        return f"has no {step!r} among {', '.join(map(repr, list(value)[:12])) or 'no keys'}.{nearest(step, value)}"
    if isinstance(step, int) and isinstance(value, list):
        return f"has {len(value)} items, and so none at [{step}]."
    wanted = "an object" if isinstance(step, str) else "a list"
    return f"is not {wanted}: {brief(value)}"


def brief(value: Any, most: int = 120) -> str:
    """The beginning of a value, as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, default=repr)
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 3]}..."
