"""``isonomia open``: a page in the browser, for people who do not program."""

from __future__ import annotations

import secrets
import socket
import webbrowser
from pathlib import Path
from urllib.parse import quote

from isonomia.cli.outputs import new_console
from isonomia.errors import UsageError


def open(data: Path | None = None, port: int = 0, no_browser: bool = False) -> None:  # noqa: A001
    """Open a page in the browser: choose columns, see the table by group, check a requirement, download the report.

    Only this machine can reach the page, and only with the token in its address. No data leave the machine; audit files
    and records are written to the folder of the table. Ctrl-C ends it.

    Example: isonomia open applicants.csv
    """
    from isonomia.models.files import needed

    uvicorn = needed("uvicorn", "app", "isonomia open")
    from isonomia.app.server import application

    if data is not None and not data.exists():
        raise UsageError(f"expected a table or a folder, but {data} does not exist", name="data")
    file = data if data is not None and data.is_file() else None
    folder = (Path() if data is None else data if file is None else data.parent).resolve()
    listener = socket.socket()
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()  # whoever opens the address at once waits for the pages
    except OSError as error:
        message = f"port {port} of this machine cannot be used: {error.strerror}. Name another, or none"
        raise UsageError(message, name="port") from None
    port, token = listener.getsockname()[1], secrets.token_urlsafe(16)
    where = "" if file is None else f"choose?data={quote(file.name)}"
    address = f"http://127.0.0.1:{port}/{where}{'&' if where else '?'}token={token}"
    console = new_console()
    console.print(f"open in your browser: {address}", soft_wrap=True)
    console.print("Ctrl-C ends it", style="dim")
    if not no_browser:
        webbrowser.open(address)
    server = uvicorn.Server(uvicorn.Config(application(folder, token, port), log_level="warning", access_log=False))
    server.run(sockets=[listener])
