"""A model behind HTTP: a service that takes rows as JSON and answers with JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextvars import Context, ContextVar
from dataclasses import dataclass, field
from threading import Event
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlsplit

from isonomia.errors import ModelError, UsageError
from isonomia.models.checked import check_number, checked_features, checked_score_range, option_error
from isonomia.models.client import HttpSender, RateLimit, Token, shown_address
from isonomia.models.meter import QueryMeter, current_meter, metering
from isonomia.models.payloads import (
    AnswerPath,
    PlainAnswer,
    PlainRows,
    RequestTemplate,
    answer_of,
    check_classes,
    labels,
    likely_path,
    plain_rows,
    scores,
)
from isonomia.models.protocol import Answer
from isonomia.populations.fingerprint import fingerprint_of
from isonomia.populations.table import Table
from isonomia.spec.tree import Value
from isonomia.wording import ended

P = TypeVar("P")
R = TypeVar("R")

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # a token of RFC 9110, section 5.6.2


@dataclass(frozen=True, slots=True, eq=False)
class HttpModel:
    """A service that takes rows as JSON and answers with JSON.

    A batch is sent in parts, each repeated until it is answered; the answers are joined in order, so no row is lost or
    counted twice. The token is read from the environment for each request, and never kept, shown or stored.

    Attributes
    ----------
    url
        Where rows are sent, by POST.
    request
        What is sent, as JSON with a mark for the rows: ``$rows``, ``$matrix``, ``$columns``; ``$row`` or ``$vector``
        for one row per request. Or, without a mark, JSON for one row whose texts name columns in braces, ``"Is {name}
        suited?"``; ``{{`` is a brace.
    prediction, score
        Where they are in the answer: ``"predictions[*].label"``; ``None`` if the service does not give it.
    classes
        The labels, in the order of the scores if there is one for each class.
    score_range
        The least and the greatest score; ``(0, 1)`` with a score for each class claims probabilities.
    features
        The columns to send; ``None`` for all, or for those that the texts of ``request`` name.
    headers
        Further headers.
    token_env, token_header
        The environment variable with the token, and the header that it goes into.
    batch_size, parallel
        How many rows a request has, and how many requests are in progress at once.
    timeout, retries, backoff, rate
        Seconds an attempt may take; further attempts; the first wait between them; the most requests per second.
    version
        Which model the service runs, in your words; part of the fingerprint.
    """

    url: str
    request: str | Mapping[str, Any] = '{"instances": $rows}'
    prediction: str | None = "predictions"
    score: str | None = None
    classes: tuple[Value, ...] = ()
    score_range: tuple[float, float] | None = None
    features: Sequence[str] | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    token_env: str | None = None
    token_header: str = "Authorization"
    batch_size: int = 1000
    parallel: int = 1
    timeout: float = 30.0
    retries: int = 5
    backoff: float = 0.5
    rate: float | None = None
    version: str = ""
    _template: RequestTemplate = field(init=False, repr=False)
    _sender: HttpSender = field(init=False, repr=False)

    def __post_init__(self) -> None:
        sender = checked_sender(self, self.url)
        check_number("batch_size", self.batch_size, 1, whole=True)
        if self.prediction is None and self.score is None:
            raise UsageError(
                "a service should give a prediction or a score: say where it is, prediction='predictions[*]'."
            )
        template = RequestTemplate.of(self.request)
        if template.columns and self.features is not None:
            raise option_error("features", "left out, since the texts of request name their columns", self.features)
        derived: dict[str, Any] = {
            "classes": check_classes(self.classes),
            "features": checked_features(template.columns or self.features),
            "score_range": checked_score_range(self.score_range),
            "_template": template,
            "_sender": sender,
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)
        for path in (self.prediction, self.score):
            if path is not None:
                AnswerPath.of(path)

    @property
    def name(self) -> str:
        """The address, without what may be secret in it."""
        return shown_address(self.url)

    @property
    def reads(self) -> tuple[str, ...] | None:
        """The columns that it is given; ``None`` for all."""
        return None if self.features is None else tuple(self.features)

    def answer(self, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:
        """Send every row of a batch, and join the answers in order."""
        rows = plain_rows(table, self.features, self.name)
        size = 1 if self._template.single else self.batch_size
        parts = [rows.slice(start, start + size) for start in range(0, rows.rows, size)]
        answers = self._ask_all(parts, want_score, want_prediction)
        plain = PlainAnswer(_joined([part.predictions for part in answers]), _joined([part.scores for part in answers]))
        return answer_of(plain, self.classes, want_score=want_score, want_prediction=want_prediction)

    def fingerprint(self) -> str:
        """Tell this service from others by its description; change ``version`` when the model behind it changes."""
        texts = (self.url, repr(self.request), repr(self.prediction), repr(self.score), repr(self.classes))
        return fingerprint_of("http", *texts, repr(self.features), repr(sorted(self.headers.items())), self.version)

    def describe(self) -> str:
        """Say in one line what it is."""
        given = [f"{what} at {path}" for what, path in (("prediction", self.prediction), ("score", self.score)) if path]
        about = f", version {self.version}" if self.version else ""
        return f"a service at {self.name}{about}: {', '.join(given)} of its answer"

    def __repr__(self) -> str:
        return f"<{self.describe()}>"

    def close(self) -> None:
        """Close the connections; they are opened again when needed."""
        self._sender.close()

    def _ask_all(self, parts: list[PlainRows], want_score: bool, want_prediction: bool) -> list[PlainAnswer]:
        def ask_one(part: PlainRows, stop: Event) -> PlainAnswer:
            def read(reply: Any) -> PlainAnswer:
                return self._read(reply, part.rows, want_score, want_prediction)

            return self._sender.post(self._template.body(part), read, self.name, stop)

        return in_parallel(ask_one, parts, self.parallel)

    def _read(self, reply: Any, rows: int, want_score: bool, want_prediction: bool) -> PlainAnswer:
        try:
            return self._found(reply, rows, want_score, want_prediction)
        except ModelError as error:
            path = None if self.prediction is None else likely_path(reply, 0 if self._template.single else rows)
            if path is None or path == self.prediction:
                raise
            raise ModelError(
                f"{ended(str(error))} Say where the predictions are in it: prediction={path!r}; at the command line, "
                f"--model-option 'prediction={path}'."
            ) from error

    def _found(self, reply: Any, rows: int, want_score: bool, want_prediction: bool) -> PlainAnswer:
        predictions = scored = None
        # Without separate scores, a model's predictions are its scores, if they are floating-point numbers.
        if self.prediction is not None and (want_prediction or self.score is None):
            predictions = labels(self._at(self.prediction, reply), rows, self.classes, repr(self.prediction))
        if want_score and self.score:
            scored = scores(self._at(self.score, reply), rows, self.classes, repr(self.score))
        return PlainAnswer(predictions, scored)

    def _at(self, path: str, reply: Any) -> Any:
        value = AnswerPath.of(path).find(reply)
        return [value] if self._template.single else value


_POLL = 0.1
"""Seconds between two looks at whether another model, asked at the same time, has failed. Changes cost only."""

_GIVEN_UP: ContextVar[Event | None] = ContextVar("given_up", default=None)
"""What says that models which are asked at the same time should give up."""


def ask_at_once(asked: Sequence[Callable[[], R]]) -> list[R]:
    """Ask several services at the same time, and give the answers in their order.

    All of them are waited for; after a failure or an interruption, the others give up. Each has an equal part of what
    is left of a budget, and what they sent is counted in their order.
    """
    meter = current_meter()
    own = [QueryMeter(costs={unit: left / len(asked) for unit, left in meter.unspent.items()}) for _ in asked]

    def alone(part: tuple[Callable[[], R], QueryMeter], stop: Event) -> R:
        _GIVEN_UP.set(stop)
        with metering(part[1]):
            return part[0]()

    try:
        # Contexts of threads are empty, so that no thread counts on the meter of another.
        return in_parallel(
            lambda part, stop: Context().run(alone, part, stop), list(zip(asked, own, strict=True)), len(own)
        )
    finally:
        for each in own:
            meter.join(each)


def in_parallel(ask_one: Callable[[P, Event], R], parts: Sequence[P], parallel: int) -> list[R]:
    """Ask about every part, ``parallel`` at once, and give the answers in the order of the parts.

    All of them are waited for, so an answer is never used because it came early. After a failure or an interruption the
    event is set, and the rest is given up.
    """
    others, stop = _GIVEN_UP.get(), Event()
    if parallel == 1 or len(parts) == 1:
        return [ask_one(part, others or stop) for part in parts]
    pool = ThreadPoolExecutor(max_workers=min(parallel, len(parts)))
    try:
        waiting = [pool.submit(ask_one, part, stop) for part in parts]
        while True:
            done, left = wait(waiting, None if others is None else _POLL, FIRST_EXCEPTION)
            if others is not None and others.is_set():
                raise KeyboardInterrupt
            if others is None or not left or any(each.exception() for each in done):
                break
        failed = [future for future in waiting if future in done and future.exception() is not None]
        return [future.result() for future in failed or waiting]
    finally:
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)


def _joined(parts: list[list[Any] | None]) -> list[Any] | None:
    present = [part for part in parts if part is not None]
    return [value for part in present for value in part] if present else None


def checked_sender(model: Any, url: str, **settings: Any) -> HttpSender:
    """What sends the requests of a model that has the options of a service; refuses those that make no sense."""
    _check_url(url)
    _check_headers(model.headers)
    _check_header_name("token_header", model.token_header)
    check_number("parallel", model.parallel, 1, whole=True)
    check_number("retries", model.retries, 0, whole=True)
    check_number("backoff", model.backoff, 0)
    check_number("timeout", model.timeout, 0, above=True)
    if model.rate is not None:
        check_number("rate", model.rate, 0, above=True)
    _check_variable(model.token_env)
    token = None if model.token_env is None else Token(model.token_env, model.token_header)
    pace = RateLimit(model.rate, model.backoff)
    return HttpSender(url, dict(model.headers), token, model.timeout, model.retries, pace, **settings)


def sender_to(url: str, token_env: str | None, token_header: str, timeout: float, retries: int) -> HttpSender:
    """A sender for something other than rows, with the same care for the token."""
    _check_url(url)
    _check_header_name("token_header", token_header)
    check_number("timeout", timeout, 0, above=True)
    _check_variable(token_env)
    token = None if token_env is None else Token(token_env, token_header)
    return HttpSender(url, {}, token, timeout, retries, RateLimit(None, 0.5))


def _check_variable(token_env: object) -> None:
    if token_env is not None and not (isinstance(token_env, str) and token_env.isidentifier()):
        # The user may have passed the token itself, which must not be repeated.
        raise UsageError(
            "token_env should be the name of an environment variable that holds the token, not a token.",
            name="token_env",
        )


def _check_url(url: object) -> None:
    parts = _split(url) if isinstance(url, str) and url.isprintable() else None
    if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname:
        raise option_error("url", "an address such as 'https://host/score'", url)
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            f"url should have no name or password in it, since addresses are shown and stored (host {parts.hostname}). "
            "Put the token into an environment variable, and name that: token_env='VARIABLE'.",
            name="url",
        )


def _split(url: str) -> SplitResult | None:
    """The parts of an address; ``None`` if its host or its port is invalid."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # parsed only on access; raises if it is out of range
    except ValueError:
        return None
    return parts


def _check_headers(headers: object) -> None:
    if not isinstance(headers, Mapping) or not all(
        isinstance(name, str) and isinstance(value, str) for name, value in headers.items()
    ):
        raise UsageError("headers should map names to texts, such as {'X-Client': 'audit'}.", name="headers")
    for name, value in headers.items():
        _check_header_name("headers", name)
        if not (value.isascii() and value.isprintable()):
            # The value may be a secret, and is not repeated.
            raise UsageError(
                f"headers should have values of printable ASCII, but that of {name!r} has others in it.", name="headers"
            )


def _check_header_name(option: str, name: object) -> None:
    if not isinstance(name, str) or not _HEADER.fullmatch(name):
        raise UsageError(
            f"{option} should have the name of a header, such as 'X-Client', but has {name!r}.", name=option
        )
