"""Processes with limits; a program that stays.

Running a program: never through a shell, never without a time limit, and never leaving its children behind.

A program that stays, and answers one line for each line it reads.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import weakref
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread
from time import monotonic
from typing import IO, Any

from isonomia.errors import ModelError, UnreliableModelError

__all__ = ["Finished", "Program", "Talk", "ended_with", "kill", "resolved", "start", "tail"]


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


_ERRORS_KEPT = 64


@dataclass(frozen=True, slots=True)
class _Running:
    """A process, the lines that it wrote (``None`` at the end), and the end of its standard error."""

    process: subprocess.Popen[bytes]
    lines: queue.Queue[bytes | None]
    errors: deque[bytes]
    listening: Thread


@dataclass(slots=True, weakref_slot=True, eq=False)
class Talk:
    """A conversation with a program. One batch at a time; after any failure the program is ended, and started anew.

    Attributes
    ----------
    program
        The program.
    greeting
        What is written to it once, when it starts: the header of a CSV file.
    answers_greeting
        Whether it writes a line of its own for that.
    header
        That line.
    """

    program: Program
    greeting: bytes = b""
    answers_greeting: bool = False
    header: bytes = b""
    _running: _Running | None = field(default=None, repr=False)
    _process: int = 0
    _lock: Any = field(default_factory=Lock, repr=False)

    def exchange(self, given: bytes, greeting: bytes, lines: int, who: str) -> list[bytes]:
        """Write lines, and read as many.

        Raises
        ------
        ModelError
            When the program ends, takes too long, or wrote more than it was asked for.
        """
        with self._lock:
            until = monotonic() + self.program.timeout
            try:
                if self._running is not None and greeting != self.greeting:
                    self._end()  # other columns than before
                running = self._started(greeting, until, who)
                self._check_silent(running, who)
                return _spoken(running, given, lines, until, who, self.program.timeout)
            except BaseException:
                self._end()
                raise

    def close(self) -> None:
        """End the program."""
        with self._lock:
            self._end()

    def _started(self, greeting: bytes, until: float, who: str) -> _Running:
        running = self._running
        if running is not None and self._process == os.getpid() and running.process.poll() is None:
            return running
        self._end()
        self.greeting = greeting
        running = _running(self.program)
        self._running, self._process = running, os.getpid()
        weakref.finalize(self, _finish, running)
        if self.answers_greeting:
            (self.header,) = _spoken(running, greeting, 1, until, who, self.program.timeout)
        else:
            _write(running, greeting)
        return running

    def _check_silent(self, running: _Running, who: str) -> None:
        if running.lines.qsize():
            extra = running.lines.get_nowait()
            if extra is None:
                return  # it has ended; reading says so
            raise ModelError(
                f"{who} should write one line for each row, but wrote one more: {extra[:80]!r}. Everything after it "
                "would be off by one."
            )

    def _end(self) -> None:
        running, self._running = self._running, None
        if running is not None and self._process == os.getpid():
            _finish(running)

    def __reduce__(self) -> tuple[Any, ...]:
        return Talk, (self.program, b"", self.answers_greeting)


def _running(program: Program) -> _Running:
    process = start(program)
    lines: queue.Queue[bytes | None] = queue.Queue()
    errors: deque[bytes] = deque(maxlen=_ERRORS_KEPT)
    listening = Thread(target=_complaints, args=(process.stderr, errors), daemon=True)
    listening.start()
    Thread(target=_listen, args=(process.stdout, lines), daemon=True).start()
    return _Running(process, lines, errors, listening)


def _listen(stream: IO[bytes], lines: queue.Queue[bytes | None]) -> None:
    with contextlib.suppress(OSError, ValueError):
        for line in stream:
            lines.put(line)
    lines.put(None)


def _complaints(stream: IO[bytes], errors: deque[bytes]) -> None:
    with contextlib.suppress(OSError, ValueError):
        for line in stream:
            errors.append(line)


def _spoken(running: _Running, given: bytes, count: int, until: float, who: str, timeout: float) -> list[bytes]:
    """Write in a thread of its own, since a program may answer before it has read everything."""
    writing = Thread(target=_write, args=(running, given), daemon=True)
    writing.start()
    found: list[bytes] = []
    while len(found) < count:
        try:
            line = running.lines.get(timeout=max(0.0, until - monotonic()))
        except queue.Empty:
            raise ModelError(
                f"{who} wrote {len(found):,} of {count:,} answers within {timeout:g} s (timeout=...), and was ended. "
                f"With keep_alive it must answer each line at once: does it flush what it writes? {_told(running)}"
            ) from None
        if line is None:
            raise _crashed(running, who, len(found), count)
        found.append(line)
    writing.join(timeout=max(0.0, until - monotonic()))
    return found


def _write(running: _Running, given: bytes) -> None:
    assert running.process.stdin is not None
    with contextlib.suppress(OSError, ValueError):  # it has ended: whoever reads from it says so
        running.process.stdin.write(given)
        running.process.stdin.flush()


def _crashed(running: _Running, who: str, came: int, expected: int) -> ModelError:
    with contextlib.suppress(subprocess.TimeoutExpired):
        running.process.wait(timeout=2.0)
    running.listening.join(timeout=2.0)
    return ModelError(
        f"{who} {ended_with(running.process.poll())} after {came:,} of {expected:,} answers. {_told(running)}"
    )


def _told(running: _Running) -> str:
    return tail(b"".join(running.errors))


def _finish(running: _Running) -> None:
    if running.process.poll() is None:
        kill(running.process)
    with contextlib.suppress(subprocess.TimeoutExpired):
        running.process.wait(timeout=5.0)
    for pipe in (running.process.stdin, running.process.stdout, running.process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError, ValueError):
                pipe.close()
