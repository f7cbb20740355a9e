"""The command ``isonomia``: one file a command.

Exit codes: 0 every property holds, 1 one is violated, 2 usage, property, data or model error, 3 none is violated but
one is undecided.
"""

from isonomia.cli.app import main

__all__ = ["main"]
