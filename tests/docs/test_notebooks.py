"""The notebooks run from top to bottom, show what they end a cell with, and hold no output that could be stale."""

from __future__ import annotations

import ast
import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = Path(__file__).resolve().parents[2] / "docs" / "notebooks"
SHOWN = {
    "evals": ("holds", "by topic", "gate: open"),
    "gate": ("four fifths", "release", "violated"),
    "table-by-group": ("impact ratio", "confusion matrix", "violated"),
}
"""What each shows somewhere."""


def run(book: dict[str, Any]) -> str:
    """Run the cells of a notebook in one namespace, as a kernel does; returns what it prints and shows."""
    shown, names = StringIO(), {"__name__": "__main__"}
    for number, cell in enumerate(book["cells"]):
        if cell["cell_type"] == "code":
            tree = ast.parse("".join(cell["source"]), f"cell {number}")
            last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
            with redirect_stdout(shown):
                exec(compile(tree, f"cell {number}", "exec"), names)
                value = last and eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
                if value is not None:
                    print(value, value._repr_html_() if hasattr(value, "_repr_html_") else "")
    return shown.getvalue()


def read(name: str) -> dict[str, Any]:
    book: dict[str, Any] = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text("utf-8"))
    return book


@pytest.mark.parametrize("name", SHOWN)
def test_a_notebook_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = run(read(name))
    assert [words for words in SHOWN[name] if words not in shown] == []


@pytest.mark.parametrize("name", SHOWN)
def test_a_notebook_stores_no_output(name: str) -> None:
    book = read(name)
    assert (book["nbformat"], book["metadata"]["language_info"]["name"]) == (4, "python")
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])


def test_every_notebook_is_run() -> None:
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == set(SHOWN)
