"""A real HTTP server on loopback that scores people, and that fails on purpose."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import inf
from threading import Lock, Thread
from typing import Any

HANGING = 3.0
GARBLED = frozenset({"html", "truncated", "short"})
"""Faults that give an answer which cannot be read."""


@dataclass
class Service:
    """A scoring service.

    Attributes
    ----------
    score
        The answer to a request, both as JSON values.
    fault
        What goes wrong with the so-many-th request; ``None`` for nothing.
    raw
        The bytes of the answer, in place of ``score``.
    headers
        What stands in the head of a proper answer besides.
    requests
        What came: the headers, the request, and what went wrong with it.
    error_body
        What an error status answers; by default it repeats the token, as some services do.
    most_garbled
        How often an answer about the same row may be garbled.
    """

    score: Callable[[Any], Any]
    fault: Callable[[int], str | None] = lambda _: None
    raw: Callable[[Any], bytes] | None = None
    headers: dict[str, str] = field(default_factory=dict)
    requests: list[tuple[dict[str, str], Any, str | None]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    url: str = ""
    lock: Any = field(default_factory=Lock)
    error_body: bytes | None = None
    most_garbled: float = inf
    garbled: Counter[str] = field(default_factory=Counter)

    def next_fault(self, request: Any) -> str | None:
        """What goes wrong with a request that has just come."""
        fault = self.fault(len(self.requests))
        if fault in GARBLED and self.most_garbled < inf:
            rows = [json.dumps(row) for row in request["instances"]]
            if max(self.garbled[row] for row in rows) >= self.most_garbled:
                return None
            self.garbled.update(rows)
        return fault

    @property
    def served(self) -> list[Any]:
        """The requests that got a proper answer."""
        return [request for _, request, fault in self.requests if fault in {None, "slow", "dripping"}]

    @contextmanager
    def running(self) -> Iterator[Service]:
        """Serve while the block lasts."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        server.daemon_threads = True
        thread = Thread(target=lambda: server.serve_forever(poll_interval=0.01), daemon=True)
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_port}/score"
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def _handler(service: Service) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # or every answer waits 40 ms for an acknowledgement

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with service.lock:
                fault = service.next_fault(request)
                service.requests.append((dict(self.headers), request, fault))
                service.times.append(time.monotonic())
            try:
                self._respond(request, fault)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # who asked has given up

        def _respond(self, request: Any, fault: str | None) -> None:
            if fault is not None and fault[0].isdigit():
                status, _, headers = fault.partition(" ")
                told = dict(part.split(":", 1) for part in headers.split(";") if part)
                body = b"the service is not well: " + self.headers.get("authorization", "").encode()
                self._send(int(status), body if service.error_body is None else service.error_body, told)
                return
            answer = json.dumps(service.score(request)).encode() if service.raw is None else service.raw(request)
            match fault:
                case "close":
                    self.close_connection = True
                case "hang":
                    time.sleep(HANGING)
                    self.close_connection = True
                case "truncated":
                    self._send(200, answer[: len(answer) // 2], {}, length=len(answer))
                    self.close_connection = True
                case "html":
                    self._send(200, b"<html>the proxy is sorry</html>")
                case "empty":
                    self._send(200, b"")
                case "nan":
                    self._send(200, b'{"predictions": [NaN]}')
                case "short":
                    short = service.score(request)
                    self._send(200, json.dumps({"predictions": short["predictions"][:-1]}).encode())
                case "other":
                    self._send(200, b'{"error": "out of memory"}')
                case "dripping":
                    self._send(200, answer, {}, pause=HANGING / len(answer))
                case "slow":
                    time.sleep(0.05)
                    self._send(200, answer)
                case _:
                    self._send(200, answer, service.headers)

        def _send(
            self, status: int, body: bytes, headers: dict[str, str] | None = None, length: int = -1, pause: float = 0.0
        ) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(length if length >= 0 else len(body)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            if not pause:
                self.wfile.write(body)
                return
            for byte in body:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                time.sleep(pause)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler
