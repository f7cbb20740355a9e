"""Let these tests import the people beside them, and the specifications of the language's tests."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "spec" / "nomos")]
