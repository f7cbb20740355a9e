"""Let the contract tests import what is beside them, and the people and specifications of other tests."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
UNIT = HERE.parent / "unit"
sys.path[:0] = [str(HERE), str(UNIT / "audits" / "ksafety"), str(UNIT / "spec" / "nomos")]
