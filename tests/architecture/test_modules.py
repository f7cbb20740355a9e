"""One person can find a way through the modules: no cycles, no crumbs, no giants, one meaning a name."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import isonomia

SOURCE = Path(isonomia.__file__).parent
SMALL, LARGE = 120, 600

ALONE: set[str] = set()
"""Small modules with one importer next door that stand alone all the same, each with its reason."""

TWICE: set[str] = set()
"""Public class names that two rooms have, each for a reason of its own."""

MODULES = {
    ".".join(("isonomia", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(SOURCE.rglob("*.py"))
}


def _imports() -> dict[str, set[str]]:
    """The modules of the package that each module imports, at the top or inside a function."""
    edges: dict[str, set[str]] = defaultdict(set)
    for name, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "isonomia":
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    edges[name].add(inner if inner in MODULES else str(node.module))
        edges[name].discard(name)
    return edges


def _lines(name: str) -> int:
    return len(MODULES[name].read_text("utf-8").splitlines())


def test_no_small_module_is_a_private_part_of_its_neighbour() -> None:
    users: dict[str, set[str]] = defaultdict(set)
    for name, targets in _imports().items():
        for target in targets:
            users[target].add(name)
    crumbs = {
        name
        for name, path in MODULES.items()
        if path.name != "__init__.py"
        and _lines(name) < SMALL
        and {user.rpartition(".")[0] for user in users[name]} == {name.rpartition(".")[0]}
        and len(users[name]) == 1
    }
    assert crumbs == ALONE


def test_no_module_is_too_long_to_be_read_at_once() -> None:
    assert not [name for name in MODULES if _lines(name) > LARGE]


def test_no_modules_import_each_other_in_a_circle() -> None:
    imports, done = _imports(), set[str]()

    def circle(name: str, path: tuple[str, ...]) -> tuple[str, ...]:
        if name in path:
            return (*path[path.index(name) :], name)
        if name in done:
            return ()
        found = next((way for other in sorted(imports[name]) if (way := circle(other, (*path, name)))), ())
        done.add(name)
        return found

    assert not [way for name in MODULES if (way := circle(name, ()))]


def test_a_class_name_has_one_meaning() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for name, path in MODULES.items():
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(name)
    assert {name for name, modules in places.items() if len(modules) > 1} == TWICE
