"""A language model on this machine, with the troubles of a hosted one: it is slow, busy, and sometimes breaks off.

It speaks OpenAI's chat API. Whether it is right depends on the question and on the prompt alone, so that every run of
the example is the same; asked to think first, it is right more often.
"""

from __future__ import annotations

import json
import random
import re
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, ClassVar
from zlib import crc32

LATENCY = 0.2


class Chat(BaseHTTPRequestHandler):
    """Answers whether a sum is even or odd, as JSON."""

    protocol_version = "HTTP/1.1"
    asked: ClassVar[set[str]] = set()
    lock = Lock()

    def do_POST(self) -> None:
        """Answer a chat completion."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = request["messages"][-1]["content"]
        luck = crc32(prompt.encode()) % 1000
        with self.lock:
            first = prompt not in self.asked
            self.asked.add(prompt)
        time.sleep(LATENCY)
        if first and luck % 20 == 0:
            self.reply(429, '{"error": {"message": "too many requests"}}', {"Retry-After": "0.2"})
        elif first and luck % 25 == 1:
            self.reply(200, '{"choices": [{"mess')
        else:
            self.reply(200, json.dumps(completion(prompt, luck)))

    def reply(self, status: int, text: str, headers: dict[str, str] | None = None) -> None:
        """Send a reply."""
        body = text.encode()
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Keep quiet."""


def completion(prompt: str, luck: int) -> dict[str, Any]:
    """What the model says."""
    a, b = map(int, re.findall(r"\d+", prompt))
    right = luck >= (60 if "Think" in prompt else 160)
    text = json.dumps({"answer": "even" if ((a + b) % 2 == 0) == right else "odd"})
    message = {"role": "assistant", "content": text[:12] if luck % 40 == 3 else text}
    usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": 6}
    return {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}


def start() -> str:
    """Start the server, and give its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Chat)
    Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1"


def questions(count: int = 1_000) -> dict[str, list[Any]]:
    """Sums, and whether they are even."""
    draw = random.Random(1)
    pairs = [(draw.randrange(1000), draw.randrange(1000)) for _ in range(count)]
    label = ["even" if (a + b) % 2 == 0 else "odd" for a, b in pairs]
    return {"a": [a for a, _ in pairs], "b": [b for _, b in pairs], "label": label}
