"""Running a program: never through a shell, never without a time limit, and never leaving its children behind.

A :class:`Command` is run once per batch; a :class:`Conversation` keeps it running, and reads one line of output for
each line of input.
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

_TAIL = 600
_GRACE = 5.0


@dataclass(frozen=True, slots=True)
class Command:
    """A program with its arguments, passed unchanged; the folder to run it in; and seconds for one batch."""

    parts: tuple[str, ...]
    folder: Path | None
    timeout: float

    def run(self, given: bytes) -> ProcessResult:
        """Run it once: write all of its input, and wait until it is done.

        Its output is read while its input is still being written, so that no full pipe can block both.
        """
        process = _start(self)
        try:
            out, errors = process.communicate(given, timeout=self.timeout)
        except subprocess.TimeoutExpired:
            _kill(process)
            _, errors = _rest(process)
            return ProcessResult(None, b"", errors)
        except BaseException:
            _kill(process)
            _rest(process)
            raise
        return ProcessResult(process.returncode, out, errors)


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """The result of a run: its exit code (``None`` if it was killed after the timeout), and what it wrote."""

    code: int | None
    out: bytes
    errors: bytes


def _start(command: Command) -> subprocess.Popen[bytes]:
    """Start a program in a process group of its own."""
    try:
        return subprocess.Popen(
            resolved(command.parts, command.folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=command.folder,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise UnreliableModelError(
            f"the program {command.parts[0]!r} could not be started in {command.folder or Path.cwd()}: {error}."
        ) from error


def _kill(process: subprocess.Popen[bytes]) -> None:
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
    """The command, with a relative path to the program resolved against the folder; a bare name is left alone."""
    first = command[0]
    if folder is not None and os.sep in first and not os.path.isabs(first):
        first = str((folder / first).resolve())
    return [first, *command[1:]]


def _rest(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Collect what is left after a kill; a child that left the group could keep the pipes open."""
    try:
        written: tuple[bytes, bytes] = process.communicate(timeout=_GRACE)
        return written
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
    errors_reader: Thread

    def error_tail(self) -> str:
        """The end of its standard error, as the end of a message."""
        return tail(b"".join(self.errors))


@dataclass(slots=True, weakref_slot=True, eq=False)
class Conversation:
    """A program that is kept running. One batch at a time; after any failure it is ended, and started again.

    ``greeting`` is written to it once, when it starts: the header of a CSV file. If it answers that, its line is
    ``header``.
    """

    command: Command
    greeting: bytes = b""
    answers_greeting: bool = False
    header: bytes = b""
    _running: _Running | None = field(default=None, repr=False)
    _process: int = 0
    _lock: Any = field(default_factory=Lock, repr=False)

    def exchange(self, given: bytes, greeting: bytes, lines: int, who: str) -> list[bytes]:
        """Write ``given``, and read ``lines`` lines."""
        with self._lock:
            until = monotonic() + self.command.timeout
            try:
                if self._running is not None and greeting != self.greeting:
                    self._end()  # other columns than before
                running = self._started(greeting, until, who)
                self._check_silent(running, who)
                return _exchanged(running, given, lines, until, who, self.command.timeout)
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
        running = _running(self.command)
        self._running, self._process = running, os.getpid()
        weakref.finalize(self, _finish, running)
        if self.answers_greeting:
            (self.header,) = _exchanged(running, greeting, 1, until, who, self.command.timeout)
        else:
            _write(running, greeting)
        return running

    def _check_silent(self, running: _Running, who: str) -> None:
        if running.lines.qsize():
            extra = running.lines.get_nowait()
            if extra is None:
                return  # it has ended; reading says so
            raise ModelError(f"{who} should write one line for each row, but wrote one more: {extra[:80]!r}")

    def _end(self) -> None:
        running, self._running = self._running, None
        if running is not None and self._process == os.getpid():
            _finish(running)

    def __reduce__(self) -> tuple[Any, ...]:
        return Conversation, (self.command, b"", self.answers_greeting)


def _running(command: Command) -> _Running:
    process = _start(command)
    lines: queue.Queue[bytes | None] = queue.Queue()
    errors: deque[bytes] = deque(maxlen=_ERRORS_KEPT)
    errors_reader = Thread(target=_read_errors, args=(process.stderr, errors), daemon=True)
    errors_reader.start()
    Thread(target=_read_lines, args=(process.stdout, lines), daemon=True).start()
    return _Running(process, lines, errors, errors_reader)


def _read_lines(stream: IO[bytes], lines: queue.Queue[bytes | None]) -> None:
    with contextlib.suppress(OSError, ValueError):
        for line in stream:
            lines.put(line)
    lines.put(None)


def _read_errors(stream: IO[bytes], errors: deque[bytes]) -> None:
    with contextlib.suppress(OSError, ValueError):
        for line in stream:
            errors.append(line)


def _exchanged(running: _Running, given: bytes, count: int, until: float, who: str, timeout: float) -> list[bytes]:
    """Write in a separate thread, since a program may answer before it has read everything."""
    writing = Thread(target=_write, args=(running, given), daemon=True)
    writing.start()
    answers: list[bytes] = []
    while len(answers) < count:
        try:
            line = running.lines.get(timeout=max(0.0, until - monotonic()))
        except queue.Empty:
            raise ModelError(
                f"{who} wrote {len(answers):,} of {count:,} answers within {timeout:g} s (timeout=...), and was ended. "
                f"With keep_alive it must flush each line: does it? {running.error_tail()}"
            ) from None
        if line is None:
            raise _crashed(running, who, len(answers), count)
        answers.append(line)
    writing.join(timeout=max(0.0, until - monotonic()))
    return answers


def _write(running: _Running, given: bytes) -> None:
    assert running.process.stdin is not None
    with contextlib.suppress(OSError, ValueError):  # it has ended: the reader reports that
        running.process.stdin.write(given)
        running.process.stdin.flush()


def _crashed(running: _Running, who: str, answers: int, expected: int) -> ModelError:
    with contextlib.suppress(subprocess.TimeoutExpired):
        running.process.wait(timeout=2.0)
    running.errors_reader.join(timeout=2.0)
    return ModelError(
        f"{who} {ended_with(running.process.poll())} after {answers:,} of {expected:,} answers. {running.error_tail()}"
    )


def _finish(running: _Running) -> None:
    if running.process.poll() is None:
        _kill(running.process)
    with contextlib.suppress(subprocess.TimeoutExpired):
        running.process.wait(timeout=5.0)
    for pipe in (running.process.stdin, running.process.stdout, running.process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError, ValueError):
                pipe.close()
