"""Where records are kept, unless another folder is named."""

__all__ = ["FOLDER", "STORE"]

FOLDER = ".isonomia"
"""The folder of records: beside the audit file, or in the current folder."""

STORE = "runs.sqlite"
"""The file in it that holds every run, and the known counterexamples."""
