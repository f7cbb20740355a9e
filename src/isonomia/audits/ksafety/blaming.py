"""Which line of a specification an exception in its block comes from."""

from __future__ import annotations

from isonomia.errors import Place
from isonomia.spec.nomos.tree import Block

__all__ = ["BLOCK_FILE", "blamed"]

BLOCK_FILE = "<block>"
"""What a block is called where Python asks for the name of a file."""


def blamed(error: BaseException | None, block: Block) -> Place | None:
    """The line of the block that was running when an exception was raised; ``None`` where it was none of them.

    What the block calls may have raised deeper down; the line is the one that called.
    """
    trace, number = (None if error is None else error.__traceback__), None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == BLOCK_FILE:
            number = trace.tb_lineno
        trace = trace.tb_next
    return None if number is None else block.line(number)
