"""How much memory there is to spare, so that a table that is too large is refused before it fills the machine."""

from __future__ import annotations

from pathlib import Path

from isonomia.errors import DataError

__all__ = ["free_memory", "refuse_more_than"]

_COPIES = 2.0  # as read, and as the kind of table that is asked for
_UNLIMITED = float("inf")


def free_memory() -> float:
    """How many bytes could still be used; infinite on a system that does not tell."""
    return min(_free_on_the_machine(), _free_in_the_group())


def _free_on_the_machine() -> float:
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        found = next(line for line in lines if line.startswith("MemAvailable:"))
        return 1024.0 * float(found.split()[1])
    except (OSError, StopIteration, ValueError):
        return _UNLIMITED


def _free_in_the_group() -> float:
    """What a container leaves, where it has a limit."""
    try:
        most, used = (Path(f"/sys/fs/cgroup/memory.{name}").read_text("ascii").strip() for name in ("max", "current"))
        return float(most) - float(used)
    except (OSError, ValueError):  # no such file, or the word "max"
        return _UNLIMITED


def refuse_more_than(free: float, rows: int, size: float) -> None:
    """Refuse a table that would not fit.

    Raises
    ------
    DataError
        With what can be done without holding it.
    """
    if _COPIES * size > free:
        raise DataError(
            f"expected a table that fits into memory, since its rows are needed in random order or again and again, "
            f"but {rows:,} rows take about {size / 1e9:,.1f} GB, twice while they are read, and {free / 1e9:,.1f} GB "
            "are free. Read batch by batch are an exact Census and Sample(..., shuffle=False), for properties about "
            "rates and for principal fairness; for everything else hand over a random part of the rows."
        )
