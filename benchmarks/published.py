"""What published tools need, as it was measured beforehand: read from a table beside the data, never copied.

The table is ``bench/README.md`` beside ``ISONOMIA_DATA``: for each tool and work, the seconds that were measured on a
machine of two cores, and the published ones. Where it is absent, the common table has what the papers print.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["measured_beforehand"]

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("ISONOMIA_DATA", ROOT / ".." / "shared" / "data"))
TABLE = DATA / ".." / "bench" / "README.md"


def measured_beforehand(start: str) -> str:
    """The figure of the line whose first cell starts like this; empty where there is no such line or table."""
    if not TABLE.exists():
        return ""
    for line in TABLE.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) >= 2 and cells[0].startswith(start):
            return cells[1]
    return ""
