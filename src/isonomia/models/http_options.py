"""What an HTTP model may be told."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from isonomia.errors import UsageError

if TYPE_CHECKING:
    from isonomia.models.http_model import HttpModel

__all__ = ["check_options"]

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # a token of RFC 9110, section 5.6.2


def check_options(model: HttpModel) -> None:
    """Refuse options that make no sense, before anything is sent.

    Raises
    ------
    UsageError
        With the option's name and what it should be.
    """
    _check_url(model.url)
    _check_headers(model.headers)
    _check_header_name("token_header", model.token_header)
    for name in ("batch_size", "parallel"):
        _check_number(name, getattr(model, name), 1, whole=True)
    _check_number("retries", model.retries, 0, whole=True)
    _check_number("backoff", model.backoff, 0)
    for name in ("timeout", "rate"):
        if name != "rate" or model.rate is not None:
            _check_number(name, getattr(model, name), 0, above=True)
    if model.prediction is None and model.score is None:
        raise UsageError("a service should give a prediction or a score: say where it is, prediction='predictions[*]'.")
    if model.token_env is not None and not (isinstance(model.token_env, str) and model.token_env.isidentifier()):
        # A token that was given in place of its variable must not be repeated.
        raise UsageError("token_env should be the name of an environment variable that holds the token, not a token.")


def _check_url(url: object) -> None:
    parts = _split(url) if isinstance(url, str) and url.isprintable() else None
    if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(f"url should be an address such as 'https://host/score', but is {url!r}.")
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            f"url should have no name or password in it, since addresses are shown and stored (host {parts.hostname}). "
            "Put the token into an environment variable, and name that: token_env='VARIABLE'."
        )


def _split(url: str) -> SplitResult | None:
    """The parts of an address; ``None`` where its host or its port is none."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # looked at only now, and refused where it is too great
    except ValueError:
        return None
    return parts


def _check_headers(headers: object) -> None:
    if not isinstance(headers, Mapping) or not all(
        isinstance(name, str) and isinstance(value, str) for name, value in headers.items()
    ):
        raise UsageError("headers should map names to texts, such as {'X-Client': 'audit'}.")
    for name, value in headers.items():
        _check_header_name("headers", name)
        if not (value.isascii() and value.isprintable()):
            # The value may be a secret, and is not repeated.
            raise UsageError(f"headers should have values of printable ASCII, but that of {name!r} has others in it.")


def _check_header_name(option: str, name: object) -> None:
    if not isinstance(name, str) or not _HEADER.fullmatch(name):
        raise UsageError(f"{option} should have the name of a header, such as 'X-Client', but has {name!r}.")


def _check_number(name: str, value: object, least: float, *, whole: bool = False, above: bool = False) -> None:
    kinds = (int,) if whole else (int, float)
    fine = isinstance(value, kinds) and not isinstance(value, bool) and math.isfinite(value)
    if not fine or value < least or (above and value == least):  # type: ignore[operator]
        kind = "a whole number" if whole else "a number"
        raise UsageError(f"{name} should be {kind} {'above' if above else 'of at least'} {least}, but is {value!r}.")
