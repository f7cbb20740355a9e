"""The rooms may import only downwards, and importing the package is quick and pulls in nothing heavy."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import isonomia

SOURCE = Path(isonomia.__file__).parent
LEVELS = (
    ("__main__",),
    ("cli", "pytest_plugin"),
    ("app",),
    ("report",),
    ("watch",),
    ("audits",),
    ("engine",),
    ("models", "interventions"),
    ("populations",),
    ("evidence", "records", "executors"),
    ("spec",),
    ("toml",),
    ("errors",),
    ("version", "wording"),
)
DEPTH = {room: depth for depth, rooms in enumerate(LEVELS) for room in rooms}
HEAVY = (
    *(
        "duckdb",
        "gymnasium",
        "httpx",
        "joblib",
        "lark",
        "lightgbm",
        "mlflow",
        "narwhals",
        "numpy",
        "onnxruntime",
        "pandas",
        "psycopg",
    ),
    *("polars", "pyarrow", "rich", "scipy", "sklearn", "skops", "torch", "typer", "xgboost"),
)


def _imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "isonomia":
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("isonomia.")}
    return found


def test_every_room_has_its_place_in_the_order() -> None:
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    assert rooms <= set(DEPTH)


def test_imports_point_one_way() -> None:
    wrong = []
    for path in sorted(SOURCE.rglob("*.py")):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if room != "__init__":
            wrong += [
                f"{path.relative_to(SOURCE)} imports {other}"
                for other in _imported(path)
                if other != room and DEPTH[other] <= DEPTH[room]
            ]
    assert not wrong


def test_importing_the_package_is_quick_and_light() -> None:
    program = (
        "import sys, time; began = time.process_time(); import isonomia; print(time.process_time() - began); "
        "print(' '.join(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    seconds = []
    # Processor time, and the best of five: other work on the machine is not the package's fault.
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        spent, modules = done.stdout.splitlines()
        seconds.append(float(spent))
    assert not set(HEAVY) & set(modules.split())
    assert min(seconds) < 0.3
