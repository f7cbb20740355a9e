"""A bearer token that is read from the environment when it is needed, and is shown nowhere."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from html import escape
from logging import LogRecord, getLogger
from typing import Any
from urllib.parse import quote

from isonomia.errors import ModelError

__all__ = ["Token"]

_SHOWN = "[token]"
_SHORTEST = 6
"""Shorter tokens are not looked for in answers, where they could be anything."""

_LOGGERS = ("httpx", *(f"httpcore.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")))
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")


@dataclass(frozen=True, slots=True)
class Token:
    """Where a token is found, and which header it goes into. The token itself is never held.

    Attributes
    ----------
    variable
        The environment variable.
    header
        The header; ``Authorization`` gets ``Bearer`` in front.
    """

    variable: str
    header: str = "Authorization"

    def check(self) -> None:
        """Make sure that there is a token which can be sent.

        Raises
        ------
        ModelError
            Where there is none; the message names the variable and never its value.
        """
        value = os.environ.get(self.variable, "").strip()
        if not value:
            raise ModelError(
                f"the environment variable {self.variable} should hold the token of the service, but it is "
                f"{'empty' if self.variable in os.environ else 'not set'}."
            )
        if not value.isascii() or not value.isprintable():
            raise ModelError(
                f"the token in the environment variable {self.variable} has characters that a header cannot hold. "
                "Was it pasted with a line break?"
            )

    def headers(self) -> dict[str, str]:
        """The header with the token. Call it only where no error can carry the frame away."""
        value = os.environ.get(self.variable, "").strip()
        return {self.header: f"Bearer {value}" if self.header.lower() == "authorization" else value}

    def hide(self, text: str) -> str:
        """Take the token out of a text: some services repeat it in their complaints.

        It is found as it is, as addresses and web pages write it, and behind the escapes of JSON.
        """
        value = os.environ.get(self.variable, "").strip()
        if len(value) < _SHORTEST:
            return text
        for form in (value, quote(value, safe=""), escape(value)):
            text = text.replace(form, _SHOWN)
        if "\\" not in text or value not in _ESCAPED.sub(_plain, text):
            return text
        try:
            return json.dumps(_without(value, json.loads(text)))
        except (ValueError, RecursionError):
            return f"an answer with the {_SHOWN} in it"

    def filter(self, record: LogRecord) -> bool:
        """Take the token out of a line of a log, as a filter of :mod:`logging`; the line stays."""
        record.msg, record.args = self.hide(record.getMessage()), None
        return True

    def keep_out_of_logs(self) -> None:
        """Take the token out of what the libraries that send it log: the headers of an answer may repeat it."""
        for name in _LOGGERS:
            getLogger(name).addFilter(self)  # once: a logger does not take an equal one again


def _plain(escaped: re.Match[str]) -> str:
    return chr(int(escaped[1], 16)) if escaped[1] else str(escaped[2])


def _without(value: str, tree: Any) -> Any:
    match tree:
        case str():
            return tree.replace(value, _SHOWN)
        case list():
            return [_without(value, part) for part in tree]
        case dict():
            return {key.replace(value, _SHOWN): _without(value, part) for key, part in tree.items()}
        case _:
            return tree
