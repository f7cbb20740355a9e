"""Let these tests import the people beside them, the specifications of the language's tests, and a game."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "spec" / "nomos"), str(HERE.parents[1] / "populations" / "domains")]
