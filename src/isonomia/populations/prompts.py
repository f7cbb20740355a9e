"""Prompts for language models: text with slots, filled with names, dialects or personas of several groups."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from isonomia.errors import DataError, UsageError, nearest
from isonomia.populations.fingerprint import fingerprint_of, table_fingerprint
from isonomia.populations.finite import Census
from isonomia.populations.generator import Generator
from isonomia.populations.table import Table
from isonomia.wording import shortened

_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


@dataclass(frozen=True, slots=True)
class TextTemplate:
    """Text in which ``{column}`` stands for a value of a row; ``{{`` and ``}}`` are braces.

    ``parts`` are texts and names of columns in turn, beginning and ending with a text.
    """

    parts: tuple[str, ...]

    @classmethod
    def of(cls, text: str, what: str) -> TextTemplate:
        """Read a template. Formats and attributes, as in ``{age:.1f}`` or ``{user.name}``, are refused."""
        if not isinstance(text, str):
            raise UsageError(f"{what} should be text, such as 'Is {{name}} suited?', but is {text!r}.", name=what)
        parts, end = [""], 0
        for match in _BRACES.finditer(text):
            parts[-1] += text[end : match.start()]
            end, name = match.end(), match[1]
            if match[0] in {"{{", "}}"}:
                parts[-1] += match[0][0]
            elif name is None or not name.strip() or name != name.strip() or set(name) & set(":!.[]"):
                raise UsageError(
                    f"{what} has {match[0]!r} at character {match.start()}: expected the name of a column in braces, "
                    "as in {name}, without a format, an attribute or an index. A brace itself is written twice, {{.",
                    name=what,
                )
            else:
                parts += [name, ""]
        parts[-1] += text[end:]
        return cls(tuple(parts))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it names."""
        return tuple(dict.fromkeys(self.parts[1::2]))

    def fill(self, row: Mapping[str, Any]) -> str:
        """The text for a row, with values as Python prints them; a missing value is an error."""
        for name in self.columns:
            if row[name] is None:
                raise DataError(
                    f"expected a value of {name!r}, which the text for the model names, but it is missing in the row "
                    f"{shortened(repr(dict(row)), 160)}. Fill it in, or leave such rows out",
                    name=name,
                )
        return "".join(str(row[part]) if index % 2 else part for index, part in enumerate(self.parts))


_MOST = 2**22
"""The maximum number of combinations; more would fill the memory."""


class Prompts(Census):
    """Every text that a template makes with texts for its slots; a census of prompts.

    A slot with groups becomes two columns: its name has the group, and ``NAME_text`` the text. A slot without groups
    becomes one, with the text. The column ``prompt`` has the whole prompt, which a :class:`~isonomia.ChatModel` is sent
    unless it has a template of its own.

    Parameters
    ----------
    template
        Text with slots, ``"Is {name} suited for {job}?"``; ``{{`` is a brace.
    slots
        By slot, the texts by group, ``{"name": {"a": ["Emily", "Anne"], "b": ["Lakisha"]}}``, or a list of texts.
    exact
        Whether every prompt is sent, for an answer without risk. By default they are sent in a random order until the
        property is decided.

    Raises
    ------
    UsageError
        When slots and template do not fit, a text is empty or comes twice in a group, or there are too many
        combinations.

    Examples
    --------
    >>> prompts = Prompts("Hire {name}?", {"name": {"a": ["Emily"], "b": ["Lakisha", "Tamika"]}})
    >>> prompts.table.column("name").tolist(), prompts.table.column("name_text").tolist()
    (['a', 'b', 'b'], ['Emily', 'Lakisha', 'Tamika'])
    """

    __slots__ = ()

    def __init__(
        self, template: str, slots: Mapping[str, Mapping[str, Sequence[str]] | Sequence[str]], *, exact: bool = False
    ) -> None:
        text = TextTemplate.of(template, "template")
        if not isinstance(slots, Mapping) or not slots:
            raise UsageError(f"expected slots as {{'name': {{'group': [text, ...]}}}}, but got {slots!r}", name="slots")
        for name in (*text.columns, *slots):
            if name not in slots or name not in text.columns:
                what, others = ("slots", slots) if name not in slots else ("the template", text.columns)
                hint = nearest(str(name), [str(other) for other in others])
                raise UsageError(f"{what} should have {name!r}, as the other has.{hint}", name="slots")
        fillings = {name: _fillings(name, given) for name, given in slots.items()}
        if prod(map(len, fillings.values())) > _MOST:
            raise UsageError(f"the slots have more than {_MOST:,} combinations: give fewer texts", name="slots")
        chosen = list(product(*fillings.values()))
        columns: dict[str, list[str]] = {}
        for number, (name, given) in enumerate(slots.items()):
            groups = isinstance(given, Mapping)
            columns |= {name: [row[number][0] for row in chosen]} if groups else {}
            columns |= {f"{name}_text" if groups else name: [row[number][1] for row in chosen]}
        width = sum(2 if isinstance(given, Mapping) else 1 for given in slots.values())
        if len(columns) < width or "prompt" in columns:
            raise UsageError("slots should not be named 'prompt', or NAME_text as another slot", name="slots")
        filled = [text.fill(dict(zip(slots, (part for _, part in row), strict=True))) for row in chosen]
        super().__init__({"prompt": filled, **columns}, exact=exact)

    def draws(self) -> Generator:
        """The same prompts, drawn with equal probability as often as needed.

        For a model that answers at random: a rate is then over that randomness too.
        """
        names = {name: self.values(name) for name in self.names if name != "prompt"}
        return Generator(_PromptDraws(self.table), values=names, names=self.names)


@dataclass(frozen=True, slots=True, eq=False)
class _PromptDraws:
    """Draws rows of a table, with replacement."""

    table: Table

    def __call__(self, n: int, rng: np.random.Generator) -> Any:
        return self.table.take(rng.integers(0, self.table.rows, size=n).astype(np.intp)).native

    def fingerprint(self) -> str:
        return fingerprint_of("prompts", table_fingerprint(self.table))


def _fillings(name: str, given: Any) -> list[tuple[str, str]]:
    """The texts of a slot, each with its group, which is empty if the texts have no groups."""
    groups: Mapping[Any, Any] = given if isinstance(given, Mapping) else {"": given}
    for group, texts in groups.items():
        listed = isinstance(texts, list | tuple) and len(texts) > 0
        if not (listed and isinstance(group, str) and all(isinstance(text, str) and text.strip() for text in texts)):
            raise UsageError(
                f"expected a list of texts for the slot {name!r}, or one for each group, but got {group!r}: {texts!r}",
                name="slots",
            )
        if len(set(texts)) < len(texts):
            raise UsageError(f"expected different texts for {group or name!r}, but one occurs twice", name="slots")
    if not groups:
        raise UsageError(f"expected groups of texts for the slot {name!r}, but got no group", name="slots")
    return [(str(group), text) for group, texts in groups.items() for text in texts]
