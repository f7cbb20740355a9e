"""The pages of a folder, served on loopback as ``isonomia open`` does."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

TOKEN = "a-token-for-the-tests"


@pytest.fixture
def serve() -> Iterator[Callable[[Path], str]]:
    """Serve a folder; gives the address."""
    uvicorn = pytest.importorskip("uvicorn", reason="uvicorn is not installed")
    pytest.importorskip("starlette", reason="starlette is not installed")
    from isonomia.app.server import application

    running = []

    def served(folder: Path) -> str:
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(application(folder, TOKEN, port), log_level="error", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        running.append((server, thread, listener))
        while not server.started:
            time.sleep(0.01)
        return f"http://127.0.0.1:{port}"

    yield served
    for server, thread, listener in running:
        server.should_exit = True
        thread.join()
        listener.close()
