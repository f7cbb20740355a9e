"""A PostgreSQL of one's own, in a folder of its own, that listens on a socket there and nowhere else."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def found_programs() -> Path | None:
    """The folder of ``initdb`` and ``pg_ctl``; ``None`` where they are not installed."""
    named = [Path(each).parent for each in (shutil.which("initdb"),) if each]
    folders = [*named, *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
    return next((each for each in folders if all((each / name).exists() for name in ("initdb", "pg_ctl"))), None)


@contextmanager
def postgres_server() -> Iterator[str]:
    """Start a server and give what connects to it; it is ended, and its folder removed, afterwards."""
    programs = found_programs()
    if programs is None:
        raise RuntimeError("expected initdb and pg_ctl of PostgreSQL, but they are not installed")
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # a short name: that of a socket has at most about 100 characters
    # It refuses to run as root, who becomes somebody else for it.
    who = {"user": "postgres" if _exists("postgres") else "nobody"} if os.getuid() == 0 else {}
    if who:
        shutil.chown(folder, who["user"])
    data, log = folder / "data", folder / "log"
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, **who, "cwd": folder}
    try:
        subprocess.run(
            [programs / "initdb", "-D", data, "-U", "audit", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"],
            **quiet,
        )
        options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
        subprocess.run([programs / "pg_ctl", "-D", data, "-l", log, "-w", "-o", options, "start"], **quiet)
        try:
            yield f"host={folder} user=audit dbname=postgres"
        finally:
            subprocess.run([programs / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop"], **quiet)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True
