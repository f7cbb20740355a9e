"""The HTTP client: it repeats a request until it is answered, at a limited rate, and never reveals a token.

No error of httpx leaves :meth:`HttpSender._once`: its errors carry the request, and with it the token, in their
attributes and in the frames of their traceback. They become plain values here, from which new errors are made.
"""

from __future__ import annotations

import json
import os
import re
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from html import escape
from logging import LogRecord, getLogger
from random import Random
from threading import Event, Lock, local
from time import monotonic
from typing import Any, TypeVar
from urllib.parse import quote, urljoin, urlsplit

from isonomia.errors import ModelError, UnreliableModelError, UsageError
from isonomia.models.files import needed
from isonomia.models.payloads import brief, json_value
from isonomia.wording import ended

T = TypeVar("T")

_LONGEST_HOLD = 300.0  # seconds that a service may ask for before the audit gives up
_GARBLED = 2  # further attempts after an unreadable answer: more likely a wrong description than bad luck
_START = 300
_LONGEST = 2**26  # bytes of an answer; an endless one would fill the memory before the timeout


@dataclass(frozen=True, slots=True)
class _Reply:
    """A reply, with any token removed."""

    status: int
    text: str
    hold: float | None
    location: str


@dataclass(frozen=True, slots=True)
class _Trouble:
    """Why nothing usable came back: because of the rows, an answer that is unusable or late, or too many requests."""

    reason: str
    rows: bool = False
    garbled: bool = False
    late: bool = False
    busy: bool = False


@dataclass(slots=True, weakref_slot=True, eq=False)
class HttpSender:
    """Sends bodies to one address.

    Repeating a request does a scoring service no harm, so it is repeated after a lost connection, a timeout, 429, 5xx,
    and, fewer times (``garbled``), after an unreadable answer. Other statuses are errors at once, unless ``is_refusal``
    says that their text is an answer to the content of the request. ``timeout`` limits an attempt as a whole, from
    connecting to the last byte of the answer; ``retries`` are further attempts. ``late`` counts attempts that took
    longer.
    """

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    token: Token | None
    timeout: float
    retries: int
    pace: RateLimit
    garbled: int = _GARBLED
    is_refusal: Callable[[str], bool] | None = None
    late: int = 0
    _clients: dict[int, Any] = field(default_factory=dict, repr=False)  # of each process: a fork cannot share one

    def post(self, body: bytes, read: Callable[[Any], T], who: str, stop: Event) -> T:
        """Send a body and read the answer, which is JSON; stop trying once ``stop`` is set.

        Raises
        ------
        UnreliableModelError
            When the service cannot be reached or refuses to serve, whatever the rows.
        """
        return self._sent(body, lambda text: read(json_value(text)), who, stop)

    def tell(self, body: bytes, who: str, stop: Event) -> None:
        """Send a body to a service whose answer does not matter, as long as its status says that the body arrived."""
        self._sent(body, lambda text: None, who, stop)  # noqa: ARG005

    def _sent(self, body: bytes, read: Callable[[str], T], who: str, stop: Event) -> T:
        if self.token is not None:
            self.token.check()
        garbled = failures = 0
        answered = self.pace.answered
        while True:
            planned = self.pace.wait_for_turn(stop)
            if stop.is_set():
                raise ModelError(f"{who} was not called again, since another request failed.")
            outcome = self._outcome(self._once(body), read, who)
            if not isinstance(outcome, _Trouble):
                self.pace.speed_up()
                return outcome[0]
            if outcome.busy:
                self.pace.slow_down(planned)
                # With many requests at once, most are too many at first: only a service that answers none is given up.
                before, answered = answered, self.pace.answered
                failures = 0 if answered > before else failures
            failures, garbled = failures + 1, garbled + outcome.garbled
            self.late += outcome.late
            if failures > self.retries or garbled > self.garbled:
                kind = ModelError if outcome.rows else UnreliableModelError
                times = f"{failures} attempts" if failures > 1 else "one attempt"
                raise kind(f"{who} gave no usable answer in {times}; the last time, {outcome.reason}")
            self.pace.back_off(failures, stop)

    def _outcome(self, reply: _Reply | _Trouble, read: Callable[[str], T], who: str) -> tuple[T] | _Trouble:
        if isinstance(reply, _Trouble):
            return reply
        if reply.hold is not None and reply.status in {429, 503}:
            if reply.hold > _LONGEST_HOLD:
                raise UnreliableModelError(f"{who} answered {reply.status} and asks to wait {reply.hold:,.0f} seconds.")
            self.pace.hold(reply.hold)
        if reply.status == 429 or reply.status >= 500:
            return _Trouble(
                f"it answered with status {reply.status}: {brief(reply.text, _START) or 'no text'}",
                rows=reply.status == 500,
                busy=reply.status == 429,
            )
        refused = 400 <= reply.status < 500 and self.is_refusal is not None and self.is_refusal(reply.text)
        if not 200 <= reply.status < 300 and not refused:
            raise ModelError(f"{who} answered with status {reply.status}{_advice(reply, self.url, self.token)}")
        try:
            return (read(reply.text),)
        except ModelError as error:
            begins = brief(reply.text, _START) or "empty"
            reason = f"its answer cannot be used: {ended(str(error))} The answer begins: {begins}"
            return _Trouble(reason, rows=True, garbled=True)

    def _once(self, body: bytes) -> _Reply | _Trouble:
        try:
            return self._exchange(body)
        except KeyboardInterrupt:
            pass  # raised again below, without the frames that hold the token
        except UsageError:
            raise
        except Exception as error:
            return _Trouble(brief(self._hidden(_why(error, self.timeout)), _START), late=_is_late(error))
        raise KeyboardInterrupt

    def _exchange(self, body: bytes) -> _Reply | _Trouble:
        client, until = self._connected(), monotonic() + self.timeout
        own = {name: value for name, value in self.headers.items() if name.lower() != "accept-encoding"}
        headers = {"Content-Type": "application/json", "Accept": "application/json", **own}
        headers |= {} if self.token is None else self.token.headers()
        # Not compressed: a few kilobytes, compressed twice, unpack to gigabytes before anything can count them.
        headers["Accept-Encoding"] = "identity"
        _deadline.until = until
        with client.stream("POST", self.url, content=body, headers=headers) as response:
            encoding = response.headers.get("content-encoding", "").strip()
            if encoding.lower() not in {"", "identity"}:
                reason = f"its answer is compressed ({encoding}), although a plain one was requested"
                return _Trouble(brief(reason, _START), garbled=True)
            content = bytearray()
            for part in response.iter_raw():
                content += part
                if monotonic() > until:
                    return _Trouble(_late(self.timeout), late=True)
                if len(content) > _LONGEST:
                    return _Trouble(f"its answer has more than {_LONGEST:,} bytes (batch_size=...)", garbled=True)
            text, success = content.decode("utf-8-sig", "replace"), 200 <= response.status_code < 300
            if success and "\ufffd" in text and not _is_text(content):
                # Every invalid byte would become the same character, and two different labels could become equal.
                return _Trouble("its answer is not text in UTF-8, as JSON should be", rows=True, garbled=True)
            where = response.headers.get("location", "")
            hold = _retry_after(response.headers.get("retry-after"))
            return _Reply(response.status_code, self._hidden(text), hold, self._hidden(where))

    def _hidden(self, text: str) -> str:
        return text if self.token is None else self.token.hide(text)

    def _connected(self) -> Any:
        process = os.getpid()
        if (client := self._clients.get(process)) is None:
            # Several threads may get here at once: the first to store its client wins, and the others close theirs.
            opened = self._opened()
            client = self._clients.setdefault(process, opened)
            if client is opened:
                weakref.finalize(self, client.close)
            else:
                opened.close()
        return client

    def _opened(self) -> Any:
        httpx = needed("httpx", "http", "a model behind HTTP")
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
        # A redirect could carry the token to another host.
        client = httpx.Client(timeout=self.timeout, limits=limits, follow_redirects=False)
        for transport in (client._transport, *client._mounts.values()):
            if transport is not None:  # of addresses that need no proxy
                transport._pool._network_backend = _Limited(transport._pool._network_backend)
        if self.token is not None:
            self.token.keep_out_of_logs()
        return client

    def close(self) -> None:
        """Close the connections; they are opened again when needed."""
        client = self._clients.pop(os.getpid(), None)
        if client is not None:
            client.close()

    def __reduce__(self) -> tuple[Any, ...]:
        pace = (self.pace.rate, self.pace.first_wait)
        settings = (self.garbled, self.is_refusal)
        return _made, (self.url, dict(self.headers), self.token, self.timeout, self.retries, pace, settings)


class _Deadline(local):
    """When the exchange of this thread must be over."""

    until = 0.0


_deadline = _Deadline()

_AT_ONCE = 2**14  # bytes; a peer that takes them slowly is noticed after each


class _Limited:
    """The network as httpcore sees it, with one deadline for an exchange.

    httpx limits the wait for each single read. An answer of one byte a second would be read for ever, its headers
    before anything else could look at a clock.
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def connect_tcp(self, *args: Any, timeout: float | None = None, **others: Any) -> _Limited:
        return _Limited(self._inner.connect_tcp(*args, timeout=_left(timeout, "Connect"), **others))

    def start_tls(self, *args: Any, timeout: float | None = None, **others: Any) -> _Limited:
        return _Limited(self._inner.start_tls(*args, timeout=_left(timeout, "Connect"), **others))

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        content: bytes = self._inner.read(max_bytes, _left(timeout, "Read"))
        return content

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _AT_ONCE):
            self._inner.write(buffer[start : start + _AT_ONCE], _left(timeout, "Write"))


def _left(timeout: float | None, what: str) -> float | None:
    """The time that is left for one step of an exchange."""
    left = _deadline.until - monotonic()
    if left <= 0:
        raise getattr(needed("httpcore", "http", "a model behind HTTP"), f"{what}Timeout")("the time is over")
    return left if timeout is None else min(timeout, left)


def _is_text(content: bytearray) -> bool:
    try:
        content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    return True


def _made(
    url: str,
    headers: dict[str, str],
    token: Token | None,
    timeout: float,
    retries: int,
    pace: tuple[Any, float],
    settings: tuple[Any, ...],
) -> HttpSender:
    return HttpSender(url, headers, token, timeout, retries, RateLimit(*pace), *settings)


def _late(timeout: float) -> str:
    return f"it gave no complete answer within {timeout:g} s (timeout=...)"


def _is_late(error: Exception) -> bool:
    return isinstance(error, needed("httpx", "http", "a model behind HTTP").TimeoutException)


def _why(error: Exception, timeout: float) -> str:
    """What went wrong, in words; the type's name is included, since the text may be empty."""
    if _is_late(error):
        return _late(timeout)
    return f"the connection failed ({type(error).__name__}: {str(error) or 'no more is known'})"


def _advice(reply: _Reply, url: str, token: Token | None) -> str:
    text = f": {brief(reply.text, _START)}" if reply.text.strip() else "."
    match reply.status:
        case 401 | 403:
            how = f"the token in {token.variable} was not accepted" if token else "name a token: token_env='VARIABLE'"
            return f"{text} ({how})"
        case 413:
            return f"{text} (send fewer rows at a time: batch_size=...)"
        case 301 | 302 | 303 | 307 | 308:
            there = _joined_address(url, reply.location)
            return f", a redirect to {there}, which is not followed. Give that address if you trust it."
        case _:
            return text


def _joined_address(url: str, location: str) -> str:
    """Where a redirect leads, as :func:`shown_address` shows it; unchanged if it is not an address."""
    try:
        return shown_address(urljoin(url, location))
    except ValueError:
        return brief(location, _START)


def shown_address(url: str) -> str:
    """An address with its port, without what may be secret in it: user name, password and query."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = f":{parts.port}" if parts.port is not None else ""
    return f"{parts.scheme}://{host}{port}{parts.path}"


def _retry_after(value: str | None) -> float | None:
    """The seconds that a ``Retry-After`` header asks for, written as a number or as a date; ``None`` without one."""
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


_LONGEST_STEP = 30.0
_SLOWER, _FASTER = 1.5, 0.96
"""How the gap between requests changes: a service that limits their rate then refuses about one in ten."""


@dataclass(slots=True, eq=False)
class RateLimit:
    """A rate limit and the waits between attempts, shared by all threads that ask one service.

    At most ``rate`` requests are sent per second, counting each attempt. The wait is roughly ``first_wait`` seconds
    after the first failure, and twice as long after each further one, up to 30. Where the service answers 429, requests
    are sent further apart, and closer again with each answer.
    """

    rate: float | None
    first_wait: float
    answered: int = 0
    _gap: float = 0.0  # the least seconds between two requests
    _slowed_at: float = 0.0
    _free_at: float = 0.0
    _lock: Any = field(default_factory=Lock, repr=False)
    _random: Random = field(default_factory=Random, repr=False)

    def wait_for_turn(self, stop: Event) -> float:
        """Wait until a request may be sent, and take that turn; or until ``stop`` is set. Says when the wait began."""
        with self._lock:
            now = monotonic()
            turn = max(now, self._free_at)
            self._free_at = turn + max(1.0 / self.rate if self.rate else 0.0, self._gap)
        if turn > now:
            stop.wait(turn - now)
        return now

    def slow_down(self, planned: float) -> None:
        """Send requests further apart, since one that was planned then was too many."""
        with self._lock:
            if planned >= self._slowed_at:  # others that were planned before the gap widened say no more than the first
                self._gap = min(4.0 * self.first_wait, max(_SLOWER * self._gap, self.first_wait / 8.0))
                self._slowed_at = monotonic()

    def speed_up(self) -> None:
        """Send requests closer together, since one was answered."""
        with self._lock:
            self.answered += 1
            self._gap *= _FASTER

    def hold(self, seconds: float) -> None:
        """Send nothing for some time, as the service requested."""
        with self._lock:
            self._free_at = max(self._free_at, monotonic() + seconds)

    def back_off(self, failures: int, stop: Event) -> None:
        """Wait after a failure; for a random part of the wait, so that many clients do not come back together."""
        longest = min(_LONGEST_STEP, self.first_wait * 2.0 ** (failures - 1))
        stop.wait(longest * self._random.uniform(0.5, 1.0))


_SHOWN = "[token]"
_SHORTEST = 6  # shorter tokens are not searched for in answers, where they could match anything

_LOGGERS = ("httpx", *(f"httpcore.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")))
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")


@dataclass(frozen=True, slots=True)
class Token:
    """The environment variable that holds a token, and the header it goes into. The token itself is never stored.

    It is read when needed; in the header ``Authorization``, ``Bearer`` is put in front.
    """

    variable: str
    header: str = "Authorization"

    def check(self) -> None:
        """Make sure that there is a token that can be sent; the error names the variable and never its value."""
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
        """The header with the token. Call it only where no error can carry its frame outside."""
        value = os.environ.get(self.variable, "").strip()
        return {self.header: f"Bearer {value}" if self.header.lower() == "authorization" else value}

    def hide(self, text: str) -> str:
        """Remove the token from a text: some services repeat it in their error messages.

        It is found as it is, as URLs and HTML escape it, and behind the escapes of JSON.
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
        """Remove the token from a log record, as a filter of :mod:`logging`; the record stays."""
        record.msg, record.args = self.hide(record.getMessage()), None
        return True

    def keep_out_of_logs(self) -> None:
        """Remove the token from what the libraries that send it log: the headers of an answer may repeat it."""
        for name in _LOGGERS:
            getLogger(name).addFilter(self)  # added once: a logger ignores an equal filter


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
