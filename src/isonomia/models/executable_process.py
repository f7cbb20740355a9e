"""Running a program: never through a shell, never without a time limit, and never leaving its children behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isonomia.errors import UnreliableModelError

__all__ = ["Finished", "Program", "ended_with", "kill", "resolved", "start", "tail"]

_TAIL = 600
_GRACE = 5.0


@dataclass(frozen=True, slots=True)
class Program:
    """A command, as a list of its parts, and where it runs.

    Attributes
    ----------
    command
        The program and its arguments, handed over as they are.
    folder
        The folder to run it in; ``None`` for the current one.
    timeout
        Seconds that one batch may take.
    """

    command: tuple[str, ...]
    folder: Path | None
    timeout: float

    def run(self, given: bytes) -> Finished:
        """Run it once: hand over everything, and wait until it is done.

        What it writes is read while it is still being written to, so that no pipe can fill up and block both.
        """
        process = start(self)
        try:
            out, errors = process.communicate(given, timeout=self.timeout)
        except subprocess.TimeoutExpired:
            kill(process)
            _, errors = _rest(process)
            return Finished(None, b"", errors)
        except BaseException:
            kill(process)
            _rest(process)
            raise
        return Finished(process.returncode, out, errors)


@dataclass(frozen=True, slots=True)
class Finished:
    """What a run came to: its exit code (``None`` when it was killed for being late), and what it wrote."""

    code: int | None
    out: bytes
    errors: bytes


def start(program: Program) -> subprocess.Popen[bytes]:
    """Start a program in a process group of its own.

    Raises
    ------
    UnreliableModelError
        When it cannot be started.
    """
    try:
        return subprocess.Popen(
            resolved(program.command, program.folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=program.folder,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise UnreliableModelError(
            f"the program {program.command[0]!r} could not be started in {program.folder or Path.cwd()}: {error}."
        ) from error


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a program at once, together with everything that it started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        process.kill()


def ended_with(code: int | None) -> str:
    """An exit code in words; a negative one is a signal's number."""
    if code is None:
        return "did not end"
    if code >= 0:
        return f"ended with exit code {code}"
    with contextlib.suppress(ValueError):
        return f"was ended by {signal.Signals(-code).name} (exit code {code})"
    return f"was ended by signal {-code}"


def tail(errors: bytes) -> str:
    """The end of what a program wrote to standard error, as the end of a message."""
    text = errors.decode("utf-8", "replace").strip()
    if not text:
        return "It wrote nothing to standard error."
    return f"The end of its standard error:\n{text if len(text) <= _TAIL else '...' + text[-_TAIL:]}"


def resolved(command: Sequence[str], folder: Path | None) -> list[str]:
    """The command with a relative path to the program made absolute, from the folder; a bare name stays one."""
    first = command[0]
    if folder is not None and os.sep in first and not os.path.isabs(first):
        first = str((folder / first).resolve())
    return [first, *command[1:]]


def _rest(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Collect what is left after a kill; a child that left the group could keep the pipes open."""
    try:
        found: tuple[Any, Any] = process.communicate(timeout=_GRACE)
        return found
    except (subprocess.TimeoutExpired, ValueError):
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        process.wait()
        return b"", b""
