"""Let these tests import the people beside them, the cases of the contract, specifications, and a game."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
UNIT = HERE.parents[1]
FOLDERS = (HERE, UNIT.parent / "contracts", UNIT / "spec" / "nomos", UNIT / "populations" / "domains")
sys.path[:0] = map(str, FOLDERS)
