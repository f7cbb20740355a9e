"""What an audit file may hold: every key, what it takes, and what it is for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from isonomia.audits.registry import file_keys

__all__ = ["MODEL", "POPULATION", "TOP", "Key", "Kind", "property_keys", "sections"]

Kind: TypeAlias = str
"""One of ``text``, ``number``, ``whole``, ``truth``, ``texts``, ``table``, ``tables``, ``value``, ``budget``."""

WORDS: Mapping[Kind, str] = {
    "text": "text in quotes",
    "number": "a number",
    "whole": "a whole number",
    "truth": "true or false",
    "texts": "a list of texts",
    "table": "a table",
    "tables": "tables of its own",
    "value": "a value",
    "budget": "a number of people or text such as '1e6, 5min'",
}


@dataclass(frozen=True, slots=True)
class Key:
    """One key: what it takes, and what it is for."""

    kind: Kind
    purpose: str

    @property
    def words(self) -> str:
        """What it takes, in words."""
        return WORDS[self.kind]

    def takes(self, value: Any) -> bool:
        """Whether a value is of its kind."""
        match self.kind:
            case "text":
                return isinstance(value, str)
            case "number":
                return isinstance(value, int | float) and not isinstance(value, bool)
            case "whole":
                return isinstance(value, int) and not isinstance(value, bool)
            case "truth":
                return isinstance(value, bool)
            case "texts":
                return isinstance(value, list) and all(isinstance(item, str) for item in value)
            case "table" | "tables":
                return isinstance(value, dict)
            case "budget":
                return isinstance(value, str | int | float) and not isinstance(value, bool)
            case _:
                return True


TOP: Mapping[str, Key] = {
    "title": Key("text", "what is audited, for the report"),
    "delta": Key("number", "the risk of any wrong answer in the whole audit, divided over its properties"),
    "seed": Key("whole", "makes the audit repeatable"),
    "budget": Key("budget", "the most that each property may cost"),
    "workers": Key("whole", "how many threads ask the model side by side"),
    "jobs": Key("whole", "how many properties are checked side by side"),
    "records": Key("text", "the folder for records"),
    "cache": Key("text", "a file that keeps the model's answers from run to run"),
    "model": Key("table", "the model"),
    "models": Key("tables", "more models, by name"),
    "population": Key("table", "whom it is about"),
    "populations": Key("tables", "more populations, by name"),
    "interventions": Key("tables", "what people can change: files, by name"),
    "property": Key("tables", "what must hold"),
}

MODEL: Mapping[str, Key] = {
    "load": Key("text", "a file, a folder, a URL, or module:object"),
    "features": Key("texts", "the columns that it is given, in order"),
    "options": Key("table", "what its kind of model takes besides"),
    "cache_key": Key("text", "which version of the model it is, for the cache"),
    "random": Key("truth", "whether it may answer the same row differently"),
}

POPULATION: Mapping[str, Key] = {
    "sample": Key("text", "a table whose rows are independent draws"),
    "census": Key("text", "a table whose rows are everybody"),
    "generator": Key("text", "module:function that draws a batch"),
    "program": Key("text", "a program that draws people"),
    "domain": Key("text", "module:object with inputs of its own, for k-safety"),
    "exact": Key("truth", "for a census: whether everybody is asked"),
    "shuffle": Key("truth", "for a sample: whether rows are taken in random order"),
    "values": Key("table", "the values that columns can have"),
}

_PROPERTY: Mapping[str, Key] = {
    "with": Key("table", "what the property takes"),
    "model": Key("text", "which of the models"),
    "population": Key("text", "which of the populations"),
    "delta": Key("number", "its own risk; it does not count towards that of the whole audit"),
    "budget": Key("budget", "its own budget"),
    "method": Key("text", "how it is decided: auto, bets, region or verifair"),
    "ranges": Key("table", "the lowest and highest value of columns: {income = [0, 1e6]}"),
    "why": Key("text", "why it must hold, for the report"),
}


def property_keys() -> dict[str, Key]:
    """The keys of a property: those that say what kind it is, of which it has exactly one, and all others."""
    kinds = {name: Key(key.takes, key.purpose) for name, key in file_keys().items()}
    return {"name": Key("text", "what to call it"), **kinds, **_PROPERTY}


def sections() -> dict[str, Mapping[str, Key]]:
    """The keys of the tables that a file has several of."""
    return {"model": MODEL, "population": POPULATION, "property": property_keys()}
