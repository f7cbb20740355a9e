"""A model behind an HTTP endpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from threading import Event
from typing import Any
from urllib.parse import urlsplit

from isonomia.models.arguments import checked_features, checked_score_range
from isonomia.models.http_options import check_options
from isonomia.models.http_pace import Pace
from isonomia.models.http_sending import Sender
from isonomia.models.http_token import Token
from isonomia.models.protocol import Answer
from isonomia.models.services_path import AnswerPath
from isonomia.models.services_reading import Said, answer_of, check_classes, labels, scores
from isonomia.models.services_rows import PlainRows, plain_rows
from isonomia.models.services_template import Template
from isonomia.populations.fingerprint import fingerprint_of
from isonomia.populations.table import Table
from isonomia.spec.tree import Value

__all__ = ["HttpModel"]


@dataclass(frozen=True, slots=True, eq=False)
class HttpModel:
    """A service that takes rows as JSON and answers with JSON.

    A batch is sent in parts, each until it is answered; the answers are joined in order, so that no row is lost or
    counted twice. The token is read from the environment for each request and is kept, shown and stored nowhere.

    Attributes
    ----------
    url
        Where rows are sent, by POST.
    request
        What is sent, as JSON with a mark for the rows: ``$rows``, ``$matrix``, ``$columns``; ``$row`` or ``$vector``
        for one row a request.
    prediction, score
        Where they are in the answer: ``"predictions[*].label"``; ``None`` for what the service does not give.
    classes
        The labels, in the order of the scores where there is one for each class.
    score_range
        The least and the greatest score; ``(0, 1)`` with a score for each class claims probabilities.
    features
        The columns to send; ``None`` for all.
    headers
        Further headers.
    token_env, token_header
        The environment variable with the token, and the header that it goes into.
    batch_size, parallel
        How many rows a request has, and how many requests are under way at once.
    timeout, retries, backoff, rate
        Seconds an attempt may take; further attempts; the first wait between them; the most requests a second.
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
    _template: Template = field(init=False, repr=False)
    _sender: Sender = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_options(self)
        token = None if self.token_env is None else Token(self.token_env, self.token_header)
        pace = Pace(self.rate, self.backoff)
        made: dict[str, Any] = {
            "classes": check_classes(self.classes),
            "features": checked_features(self.features),
            "score_range": checked_score_range(self.score_range),
            "_template": Template.of(self.request),
            "_sender": Sender(self.url, dict(self.headers), token, self.timeout, self.retries, pace),
        }
        for name, value in made.items():
            object.__setattr__(self, name, value)
        for path in (self.prediction, self.score):
            if path is not None:
                AnswerPath.of(path)

    @property
    def name(self) -> str:
        """The address, without what may be secret in it."""
        parts = urlsplit(self.url)
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"

    def answer(self, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:
        """Send every row of a batch, and join the answers in order."""
        rows = plain_rows(table, self.features, self.name)
        size = 1 if self._template.single else self.batch_size
        parts = [rows.slice(start, start + size) for start in range(0, rows.rows, size)]
        found = self._all(parts, want_score, want_prediction)
        said = Said(_joined([part.predictions for part in found]), _joined([part.scores for part in found]))
        return answer_of(said, self.classes, want_score=want_score, want_prediction=want_prediction)

    def fingerprint(self) -> str:
        """Tell this service from others by its description; who changes the model behind it must change ``version``."""
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
        """Close the connections; they are opened again when they are needed."""
        self._sender.close()

    def _all(self, parts: list[PlainRows], want_score: bool, want_prediction: bool) -> list[Said]:
        stop = Event()

        def one(part: PlainRows) -> Said:
            def read(found: Any) -> Said:
                return self._read(found, part.rows, want_score, want_prediction)

            return self._sender.post(self._template.body(part), read, self.name, stop)

        if self.parallel == 1 or len(parts) == 1:
            return [one(part) for part in parts]
        pool = ThreadPoolExecutor(max_workers=min(self.parallel, len(parts)))
        try:
            waiting = [pool.submit(one, part) for part in parts]
            done, _ = wait(waiting, return_when=FIRST_EXCEPTION)
            failed = [future for future in waiting if future in done and future.exception() is not None]
            return [future.result() for future in failed or waiting]
        finally:
            stop.set()  # after a failure, or an interruption, nobody waits for the rest
            pool.shutdown(wait=False, cancel_futures=True)

    def _read(self, found: Any, rows: int, want_score: bool, want_prediction: bool) -> Said:
        # Without scores of its own, a model's predictions are its scores, where they are floating-point numbers.
        look_for_labels = self.prediction is not None and (want_prediction or self.score is None)
        return Said(
            labels(self._at(self.prediction, found), rows, self.classes, repr(self.prediction))
            if look_for_labels
            else None,
            scores(self._at(self.score, found), rows, self.classes, repr(self.score))
            if want_score and self.score
            else None,
        )

    def _at(self, path: str | None, found: Any) -> Any:
        value = AnswerPath.of(path or "").find(found)
        return [value] if self._template.single else value


def _joined(parts: list[list[Any] | None]) -> list[Any] | None:
    found = [part for part in parts if part is not None]
    return [value for part in found for value in part] if found else None
