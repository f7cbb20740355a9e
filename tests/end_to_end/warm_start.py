"""The command in a process of its own, without the second that importing everything takes.

A server imports what the command needs, once for each worker, and forks. What is forked is a process as any other, with
its own folder, environment, streams and exit code; only that the imports are done. A command that asks for more (a
signal, a terminal, variables that Python reads as it starts) is started the ordinary way, by ``subprocess``.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from threading import Timer

CODE = "from isonomia.cli import main; main()"

SERVER = """
import atexit, contextlib, gc, importlib, io, json, os, pkgutil, sys, tempfile, threading
import numpy, pyarrow.csv, scipy.optimize, scipy.stats, sklearn.ensemble, sklearn.linear_model, sklearn.pipeline
import isonomia, isonomia.cli
for module in pkgutil.walk_packages(isonomia.__path__, "isonomia."):
    if "pytest_plugin" not in module.name:
        importlib.import_module(module.name)
with tempfile.NamedTemporaryFile("w", suffix=".csv") as table, contextlib.redirect_stdout(io.StringIO()):
    # One small check: what is imported or built at the first use is there as well.
    table.write("x\\n1\\n2\\n")
    table.flush()
    sys.argv = ["-c", "check", "P[x > 1] >= 0.5", "--data", table.name, "--census"]
    with contextlib.suppress(SystemExit):
        isonomia.cli.main()
gc.freeze()
assert threading.active_count() == 1, "a process with threads must not be forked"
while request := sys.stdin.readline():
    child = os.fork()
    if not child:
        break
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
else:
    sys.exit()
request = json.loads(request)
os.chdir(request["folder"])
os.environ.clear()
os.environ.update(request["environment"])
for number, (name, way) in enumerate(((os.devnull, "r"), (request["out"], "w"), (request["err"], "w"))):
    with open(name, way) as file:
        os.dup2(file.fileno(), number)
encoding, _, errors = os.environ.get("PYTHONIOENCODING", "utf-8").partition(":")
sys.stdout.reconfigure(encoding=encoding, errors=errors or "strict")
sys.stderr.reconfigure(encoding=encoding)
sys.argv = ["-c", *request["arguments"]]
code = 0
try:
    isonomia.cli.main()
except SystemExit as left:
    code = left.code or 0
# The end of an interpreter, without taking every module apart: half a second of pages that the fork shares.
threading._shutdown()
atexit._run_exitfuncs()
sys.stdout.flush()
sys.stderr.flush()
os._exit(code)
"""


def run_command(
    folder: Path, *arguments: str, environment: dict[str, str] | None = None, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run ``isonomia`` with the arguments in the folder, as ``subprocess.run`` would."""
    environment = dict(os.environ) if environment is None else environment
    if not hasattr(os, "fork"):
        return subprocess.run(
            [sys.executable, "-c", CODE, *arguments],
            cwd=folder, capture_output=True, text=True, encoding="utf-8", env=environment, timeout=timeout, check=False,
        )  # fmt: skip
    server = _server()
    with tempfile.TemporaryDirectory() as streams:
        out, err = Path(streams, "out"), Path(streams, "err")
        request = {
            "folder": str(folder),
            "arguments": arguments,
            "environment": environment,
            "out": str(out),
            "err": str(err),
        }
        late = Timer(timeout, _end, [server])
        late.start()
        try:
            server.stdin.write(json.dumps(request) + "\n")
            server.stdin.flush()
            code = server.stdout.readline()
        finally:
            late.cancel()
        if not code:
            _server.cache_clear()
            raise AssertionError(f"isonomia {' '.join(arguments)} ran for more than {timeout} s, or ended its server")
        encoding = environment.get("PYTHONIOENCODING", "utf-8").partition(":")[0]
        told = [path.read_text(encoding=encoding) if path.exists() else "" for path in (out, err)]
    return subprocess.CompletedProcess(["isonomia", *arguments], int(code), *told)


@cache
def _server() -> subprocess.Popen[str]:
    """The process that forks; in a session of its own, so that it can be ended with what it started."""
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
        env={**os.environ, "PYTHONUTF8": "1"},
    )
    atexit.register(_end, server)
    return server


def _end(server: subprocess.Popen[str]) -> None:
    if server.poll() is None:
        os.killpg(server.pid, 9)
        server.wait()
