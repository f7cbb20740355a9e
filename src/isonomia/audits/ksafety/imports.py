"""What the imports of a specification offer: inputs, right answers and functions.

An import names a Python module, or an entry given by the user: in Python by ``domains={...}``, or in an audit file.
Importing a module runs its code, which needs permission.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from importlib import import_module, invalidate_caches
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from os import PathLike
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonomia.audits.ksafety.functions import BUILT_IN
from isonomia.audits.protocol import Check
from isonomia.errors import DataError, IsonomiaError, Place, SpecError, UsageError, nearest
from isonomia.populations.domains import Function, TableDomain
from isonomia.populations.domains.items import Items
from isonomia.populations.domains.protocol import as_function, is_domain
from isonomia.populations.domains.tables import table_domain
from isonomia.populations.domains.texts import Texts
from isonomia.populations.finite import Census
from isonomia.populations.protocol import is_population
from isonomia.populations.table import Table, column_from
from isonomia.spec.nomos import CodeBlock, Spec, read_block
from isonomia.spec.nomos.tree import MODEL_CALLS, FunctionCall, Var, calls_in
from isonomia.spec.safety import Safety

WORDS = ("domain", "inputs", "labels", "groups", "orders", "functions")
"""The keys that an entry may have."""

REPLACEABLE = frozenset({"getFeat", "setFeat", "label"})
"""Functions of the language that an import may replace, for rows of a table and for objects without features."""


@dataclass(frozen=True, slots=True, eq=False)
class ImportedDomain:
    """What an import offers.

    Attributes
    ----------
    label
        What messages call it.
    inputs
        A domain, a population, a table, an array or a list, as it was given; ``None`` if it offers no inputs.
    labels
        The right answers, one per input, or the column that has them.
    groups, orders
        What the columns of a table mean, as for a property.
    functions
        Functions of one case, or a ``Function``.
    folder
        Where files that it names are looked for.
    """

    label: str
    inputs: Any = None
    labels: Any = None
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    orders: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    functions: Mapping[str, Any] = field(default_factory=dict)
    folder: str | None = None


def with_inputs(check: Check[Safety]) -> Check[Safety]:
    """The check with the inputs of the first import that offers some."""
    prop = check.prop
    if not prop.spec.imports:
        raise UsageError("expected a population, or a specification that imports a domain: try Census(table)")
    imported = _imported_domains(prop, needed=True)
    first = next((item for item in imported if item.inputs is not None), None)
    if first is None:
        raise _no_inputs(prop.spec, imported, prop.allow_code)
    population, prop = _population_of(first, prop)
    return replace(check, prop=prop, population=population)


def imported_functions(
    prop: Safety, own: Mapping[str, Function], population: Any, *, has_model: bool
) -> dict[str, Function]:
    """The functions of a property's imports that it calls; ``own`` are its own functions, which take precedence.

    Without a model, an import may offer ``predict`` and ``score`` too: then it is the system under test.
    """
    taken = {*BUILT_IN, *own, *(population.functions if is_domain(population) else ())}
    replaceable = REPLACEABLE if isinstance(population, Items) or not is_domain(population) else frozenset()
    replaceable |= frozenset() if has_model else MODEL_CALLS
    taken -= replaceable - set(own)
    wanted = {name: calls for name, calls in _called(prop).items() if name not in taken}
    if not wanted:
        return {}
    functions: dict[str, Function] = {}
    imported = _imported_domains(prop, needed=any(calls for name, calls in wanted.items() if name not in BUILT_IN))
    given = set(prop.spec.imports) <= set(prop.domains)
    for name, calls in wanted.items():
        offered = next((item.functions[name] for item in imported if name in item.functions), None)
        if offered is not None:
            functions[name] = as_function(offered, max((len(call.arguments) for call in calls), default=None))
        elif calls and name not in BUILT_IN and not prop.allow_code and not given:
            raise SpecError(
                f"`{name}` is not a function of the language; the module {prop.spec.imports[0]!r} may offer it, but "
                "importing a module runs its code: give the function by functions={...}, or allow code "
                "(allow_code=True, --allow-code) if you trust it",
                calls[0].place or prop.spec.block.place,
            )
    return functions


def ignored_functions(prop: Safety, functions: Mapping[str, Function]) -> list[str]:
    """Functions of the imports that share a name with one of the language, which is called instead."""
    called = [name for name in _called(prop) if name in BUILT_IN and name not in functions]
    if not called:
        return []
    imported = _imported_domains(prop, needed=False)
    return sorted({name for name in called for item in imported if name in item.functions})


def _called(prop: Safety) -> dict[str, list[FunctionCall]]:
    """Every function that is called, and where; names that code mentions may be functions too."""
    spec, block = prop.spec, read_block(prop.spec.block)
    steps = [*spec.before, *spec.after, *spec.ensures, *(() if isinstance(block, CodeBlock) else block.steps)]
    called: dict[str, list[FunctionCall]] = {}
    for step in steps:
        for call in calls_in(step.value if isinstance(step, Var) else step.condition):
            called.setdefault(call.function, []).append(call)
    if isinstance(block, CodeBlock):
        for name in sorted(block.reads - block.names - {*spec.imports, *dir(builtins)}):
            called.setdefault(name, [])
    return called


def _imported_domains(prop: Safety, *, needed: bool) -> list[ImportedDomain]:
    """What the imports of a property offer, in order; ``needed`` where a module that does not exist is an error."""
    imported = (imported_domain(prop, name, needed=needed) for name in prop.spec.imports)
    return [domain for domain in imported if domain is not None]


def imported_domain(prop: Safety, name: str, *, needed: bool = True) -> ImportedDomain | None:
    """What an imported name stands for; ``None`` where only a module that may not be run could tell.

    An entry takes precedence over a module of the same name. It is a domain, a population, a table, an array, a list,
    or a mapping with some of ``WORDS``. A module is searched in the property's folder first, and imported only where
    code is allowed.
    """
    if name in prop.domains:
        return _entered(name, prop.domains[name], prop.folder)
    if not prop.allow_code:
        return None
    module = _module_named(name, prop.folder, _place_of(prop.spec, name), needed)
    return None if module is None else _imported(module, name)


def _place_of(spec: Spec, name: str) -> Place | None:
    """Where the specification names an import."""
    return next((place for declared, place in spec.places if declared == name), None)


def _entered(name: str, entry: Any, folder: str | None) -> ImportedDomain:
    label = f"the entry {name!r}"
    if isinstance(entry, ModuleType):
        return _imported(entry, name)
    if not isinstance(entry, Mapping) or not {"domain", "inputs", "functions"} & set(entry):
        return ImportedDomain(label, entry, folder=folder)
    unknown = [str(word) for word in entry if word not in WORDS]
    if unknown:
        raise UsageError(f"expected {label} to say some of {', '.join(WORDS)}, but it has {', '.join(unknown)}")
    return _offer(label, entry, dict(entry.get("functions") or {}), folder)


def _imported(module: ModuleType, name: str) -> ImportedDomain:
    contents = vars(module)
    public: Sequence[str] = contents.get("__all__", [word for word in contents if not word.startswith("_")])
    functions = {word: contents[word] for word in public if word not in WORDS and _is_function(contents.get(word))}
    file = contents.get("__file__")
    label = f"the module {name!r}" + (f" ({file})" if file else "")
    # `groups`, `orders` and `functions` are common names: in a module they count only where they are mappings.
    stated = {
        word: contents[word]
        for word in WORDS
        if word in contents and (word in WORDS[:3] or isinstance(contents[word], Mapping))
    }
    folder = str(file.rpartition("/")[0]) if file else None
    return _offer(label, stated, {**functions, **stated.get("functions", {})}, folder)


def _is_function(value: Any) -> bool:
    return isinstance(value, Function) or (callable(value) and not isinstance(value, type))


def _offer(label: str, entry: Mapping[str, Any], functions: Mapping[str, Any], folder: str | None) -> ImportedDomain:
    inputs = entry.get("inputs") if entry.get("domain") is None else entry["domain"]
    groups, orders = (entry.get(word) or {} for word in ("groups", "orders"))
    return ImportedDomain(label, inputs, entry.get("labels"), groups, orders, functions, folder)


def _module_named(name: str, folder: str | None, place: Place | None, needed: bool) -> ModuleType | None:
    """Import a module: from the folder of the specification, else from the current folder, else an installed one.

    Two specifications in different folders may each have a module of the same name; each gets its own.
    ``None`` where there is no such module, and that is not an error.
    """
    folders = list(dict.fromkeys(([] if folder is None else [Path(folder).resolve()]) + [Path.cwd()]))
    file = next((file for here in folders for file in _files(here, name) if file.is_file()), None)
    with _searched(folders):
        try:
            if file is not None:
                return _run(name, file)
            if find_spec(name) is None:
                if needed:
                    raise _missing(name, folders, place)
                return None
            return import_module(name)
        except SpecError:
            raise
        except (Exception, SystemExit) as error:
            raise _raised(name, file, error, place) from error


def _files(folder: Path, name: str) -> Iterator[Path]:
    yield folder / f"{name}.py"
    yield folder / name / "__init__.py"


@contextmanager
def _searched(folders: Sequence[Path]) -> Iterator[None]:
    """Inside the block, modules are also searched in these folders, for imports within imports."""
    before = list(sys.path)
    sys.path[:0] = [str(folder) for folder in folders]
    invalidate_caches()
    try:
        yield
    finally:
        sys.path[:] = before


def _run(name: str, file: Path) -> ModuleType:
    alias = f"{name}_{sha256(str(file).encode()).hexdigest()[:12]}"
    for loaded in (name, alias):
        module = sys.modules.get(loaded)
        if module is not None and getattr(module, "__file__", None) == str(file):
            return module
    spec = spec_from_file_location(name if name not in sys.modules else alias, file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        raise
    return module


def _missing(name: str, folders: Sequence[Path], place: Place | None) -> SpecError:
    modules = [file.stem for folder in folders for file in folder.glob("*.py")]
    where = " or ".join(map(str, folders))
    return SpecError(
        f"there is no module {name!r} in {where}, nor among the installed packages.{nearest(name, modules)}", place
    )


def _raised(name: str, file: Path | None, error: BaseException, place: Place | None) -> SpecError:
    lines = [frame for frame in extract_tb(error.__traceback__) if file is not None and frame.filename == str(file)]
    if isinstance(error, SyntaxError) and file is not None and error.filename == str(file):
        where = f" ({file}, line {error.lineno})"
    else:
        where = f" ({file}, line {lines[-1].lineno})" if lines else ""
    message = error.msg if isinstance(error, SyntaxError) else error
    return SpecError(
        f"the module {name!r}{where} raised an error while it was imported: {type(error).__name__}: {message}", place
    )


def _no_inputs(spec: Spec, imported: Sequence[ImportedDomain], allow_code: bool) -> SpecError:
    """The error that there is nothing to check a property on, since no import offers inputs."""
    name = spec.imports[0]
    if not allow_code and not imported:
        return SpecError(
            f"no inputs were given. The module {name!r} may offer inputs, but importing a module runs "
            "its code: allow it with allow_code=True or --allow-code if you trust it, or give a population, as in "
            "check(property, model, table) or --data people.csv",
            _place_of(spec, name),
        )
    label = " and ".join(item.label for item in imported) or f"the module {name!r}"
    return SpecError(
        f"no inputs were given, and {label} offers no inputs: let it set `inputs` to a table, an "
        "array or a list, or `domain` to a domain, or give a population, as in check(property, model, table) or --data "
        "FILE",
        _place_of(spec, name),
    )


def _population_of(imported: ImportedDomain, prop: Safety) -> tuple[Any, Safety]:
    """The inputs of an import, and the property with what the import says about them.

    A bare table, array or list is taken as all the inputs that there are. What the property says about groups, orders
    and the label takes precedence over what the import says.
    """
    labels, inputs = imported.labels, imported.inputs
    groups = {**{name: tuple(columns) for name, columns in imported.groups.items()}, **prop.groups}
    orders = {**{name: tuple(levels) for name, levels in imported.orders.items()}, **prop.orders}
    label = labels if prop.label is None and isinstance(labels, str) else prop.label
    stated = replace(prop, groups=groups, orders=orders, label=label)
    if is_domain(inputs) or is_population(inputs):
        if labels is not None and (is_domain(inputs) or not isinstance(labels, str)):
            raise UsageError(f"{imported.label} has labels, but a {type(inputs).__name__} brings its own")
        return inputs, stated
    try:
        return _made(imported, stated)
    except SpecError:
        raise
    except IsonomiaError as error:
        raise DataError(f"the inputs of {imported.label}: {error}") from error


def _made(imported: ImportedDomain, prop: Safety) -> tuple[Any, Safety]:
    inputs, labels = imported.inputs, imported.labels
    labels = list(labels) if isinstance(labels, tuple) else labels
    apart = None if labels is None or isinstance(labels, str) else column_from(labels, "labels")
    if isinstance(inputs, str | PathLike):
        return _of_table(Census(_path_of(inputs, imported.folder)).table, apart, prop)
    if isinstance(inputs, list | tuple) and inputs and all(isinstance(text, str) for text in inputs):
        return Texts(list(inputs), apart), prop
    if _is_table(inputs):
        return _of_table(Table.of(inputs), apart, prop)
    if isinstance(inputs, list | tuple) or (isinstance(inputs, np.ndarray) and inputs.ndim):
        return Items(inputs if isinstance(inputs, np.ndarray) else list(inputs), apart, name=imported.label), prop
    raise DataError(
        f"expected a domain, a population, a table, an array or a list, but got {inputs!r} of type "
        f"{type(inputs).__name__}"
    )


def _is_table(inputs: Any) -> bool:
    if isinstance(inputs, np.ndarray):
        return bool(inputs.ndim == 2)
    if isinstance(inputs, list | tuple):
        return bool(inputs) and all(isinstance(row, Mapping) for row in inputs)
    return isinstance(inputs, Mapping | Table) or any(hasattr(inputs, name) for name in ("__dataframe__", "collect"))


def _path_of(path: str | PathLike[str], folder: str | None) -> Path:
    """The path of a file: in the folder of the import, if it exists there."""
    near = None if folder is None else Path(folder) / path
    return near if near is not None and near.exists() else Path(path)


def _of_table(table: Table, labels: NDArray[Any] | None, prop: Safety) -> tuple[Any, Safety]:
    if labels is None:
        return Census(table), prop
    if len(labels) != table.rows:
        raise DataError(f"expected a label for each of {table.rows:,} inputs, but got {len(labels):,}")
    name = "label"
    while name in table.names:
        name += "_"
    if table.kind == "array":
        return _labelled_array(table, name, labels, prop), replace(prop, groups={}, orders={}, label=None)
    return Census(_with_column(table, name, labels)), replace(prop, label=name)


def _labelled_array(table: Table, name: str, labels: NDArray[Any], prop: Safety) -> TableDomain:
    """A table of columns, so that labels may differ in type from the features; the model is still given an array."""
    columns = {feature: table.native[:, index] for index, feature in enumerate(table.names)}
    domain = table_domain(Table.of({**columns, name: labels}), prop.groups, prop.orders, name, {})
    return replace(domain, view=_as_array(table.names))


def _as_array(names: Sequence[str]) -> Any:
    def view(rows: Table) -> Table:
        return Table.of(np.stack([np.asarray(rows.native[name]) for name in names], axis=1), names=list(names))

    return view


def _with_column(table: Table, name: str, values: NDArray[Any]) -> Table:
    if table.kind == "columns":
        return Table.of({**table.native, name: values})
    if table.kind == "rows":
        return Table.of([{**row, name: value} for row, value in zip(table.native, values.tolist(), strict=True)])
    import narwhals as nw

    frame: Any = nw.from_native(table.native, eager_only=True)
    series = nw.new_series(name, values.tolist(), backend=frame.implementation)
    return Table.of(frame.with_columns(series).to_native())
