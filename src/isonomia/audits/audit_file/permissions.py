"""What an audit file or a watch file may do only with permission: run code, call services, leave its own folder.

An audit file may come from a stranger, and so may the evidence of a run, which contains one. It can name a Python
module, a program, a service that is sent the rows and a token, or a file anywhere on the disk. All of that is found in
the text alone, before anything is opened, imported or sent, and is refused unless the person who runs it allows it. The
command, the pytest plugin and replays all go through :func:`check_allowed`.

A permission can be remembered. It is kept under a digest of the file, of the code that it names and of every file below
its folder, so that any change there requires a new permission.
"""

from __future__ import annotations

import ast
import json
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from glob import glob, has_magic
from hashlib import sha256
from importlib.machinery import PathFinder, all_suffixes
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeAlias
from typing import Literal as OneOf
from urllib.parse import urlsplit

from isonomia.audits.audit_file.reader import DEFAULT, AuditFile, FileTable
from isonomia.audits.audit_file.reader import Kind as KeyKind
from isonomia.audits.protocol import Permissions
from isonomia.audits.registry import file_keys
from isonomia.errors import IsonomiaError, NotAllowedError, UsageError
from isonomia.executors.words import is_remote
from isonomia.models.loader import Kind, kind_of, names_object
from isonomia.records.store import FOLDER
from isonomia.toml import TomlText, toml_value
from isonomia.wording import on_one_line, shortened

Permission: TypeAlias = OneOf["code", "outside", "pickle"]


@dataclass(frozen=True, slots=True)
class RequiredPermission:
    """Something that an audit file does, which needs permission.

    Attributes
    ----------
    permission
        ``"code"``: to run code, start a program or call a service. ``"outside"``: to read or write outside its folder.
        ``"pickle"``: to make the types of a model file, which can run code.
    line, source
        The line of the file, from 1, and what is written there.
    what
        What it would do, in words.
    """

    permission: Permission
    line: int
    source: str
    what: str

    def __str__(self) -> str:
        return on_one_line(f"line {self.line}: {shortened(self.source, 120)} {self.what}")


def check_allowed(
    file: AuditFile,
    permissions: Permissions,
    advice: str,
    *,
    given: Collection[str] = (),
    writes: Collection[str] = (),
    elsewhere: bool = False,
    quiet: bool = False,
) -> None:
    """Refuse an audit file that needs permissions which were not granted.

    Parameters
    ----------
    file
        The audit file. Nothing of what it names has been opened yet.
    permissions
        What is allowed. Allowing code allows reading anywhere, since code can do that.
    advice
        How to allow it, for the message; ``{flags}`` stands for the options.
    given
        The models given by the user, by their names in the file: the file's own are not opened.
    writes
        Which of the keys ``records``, ``cache``, ``store`` and ``page`` are followed: the user has overridden the
        others.
    elsewhere
        Whether the user said where the model runs, so that the key ``executor`` is not followed.
    quiet
        Whether alerts are not reported, so that the table ``[alert]`` of a watch file is not followed.

    Raises
    ------
    NotAllowedError
        With a line for each of these needs.
    """
    needs = needs_of(file, given, writes=writes, elsewhere=elsewhere, quiet=quiet)
    allowed = {"code": permissions.allow_code, "pickle": permissions.trust_pickle}
    allowed["outside"] = permissions.allow_outside or permissions.allow_code
    lacking = [need for need in needs if not allowed[need.permission]]
    if not lacking:
        return
    # Allowing code allows reading anywhere as well, so the other flag is not suggested next to it.
    names_of = {"code": "allow_code", "outside": "allow_outside", "pickle": "trust_pickle"}
    wanted = {names_of[need.permission] for need in lacking}
    names = tuple(sorted(wanted - {"allow_outside"} if "allow_code" in wanted else wanted))
    flags = " ".join(f"--{name.replace('_', '-')}" for name in names)
    lines = tuple(map(str, lacking))
    listed = "\n".join(f"  {line}" for line in lines)
    raise NotAllowedError(
        f"{file.path} needs permissions that you have not granted:\n{listed}\nIf you trust its author, "
        f"{advice.replace('{flags}', flags)}",
        lines,
        names,
    )


# ---------------------------------------------------------------------------------------------------- what a file needs


def needs_of(
    file: AuditFile,
    given: Collection[str] = (),
    *,
    writes: Collection[str] = (),
    elsewhere: bool = False,
    quiet: bool = False,
) -> list[RequiredPermission]:
    """Everything that a file does and that needs permission, in the order of its lines; as for :func:`check_allowed`.

    Only texts inside the file's folder are read for this.
    """
    needs: list[RequiredPermission] = []
    for table, keys in file.tables():
        if (table.path and table.path[0] in {"model", "models"} and _name_of(table) in given) or (
            quiet and table.path == ("alert",)
        ):
            continue
        for key in table.content:
            if not (elsewhere and keys[key].kind == "executor"):
                needs += NEEDS[keys[key].kind](table, key)
    for table, key, name in file.named_texts() if file.reads_disk else ():
        needs += _path_needs(table, key, name)
    for key in writes:
        path = file.content.get(key, FOLDER if key in {"records", "store"} else None)
        needs += _path_needs(FileTable(file, (), {key: path}), key, path, "writes")
    return sorted(dict.fromkeys(needs), key=lambda need: need.line)


def _name_of(table: FileTable) -> str:
    return DEFAULT if len(table.path) == 1 else str(table.path[-1])


def _executor_needs(table: FileTable, key: str) -> Iterator[RequiredPermission]:
    if is_remote(table.get(key)):
        yield _need("code", table, key, f"sends the model and the rows to {_host(table.get(key))}")


def _code_need(words: Callable[[FileTable, str], str]) -> Callable[[FileTable, str], Iterator[RequiredPermission]]:
    """The needs of a key that always requires permission to run code; ``words`` say for what."""
    return lambda table, key: iter((_need("code", table, key, words(table, key)),))


def _webhook_words(table: FileTable, key: str) -> str:
    return (
        f"sends alerts to {_host(table.get(key)) if key == 'webhook' else 'the address in that environment variable'}"
    )


def _command_words(table: FileTable, key: str) -> str:
    return f"runs {shortened(' '.join(map(str, table.get(key))), 200)} when there is an alert"


def _need(permission: Permission, entry: FileTable, key: str, what: str, value: Any = None) -> RequiredPermission:
    position = entry.file.toml.place(*entry.path, key)
    shown = entry.get(key) if value is None else value
    try:
        source = f"{key} = {toml_value(shown)}"
    except UsageError:  # a date, say
        source = f"{key} = {shown!r}"
    return RequiredPermission(permission, 1 if position is None else position.line, source, what)


def _path_needs(entry: FileTable, key: str, path: Any, verb: str = "reads") -> Iterator[RequiredPermission]:
    if isinstance(path, str) and not is_inside(entry.folder, path):
        yield _need("outside", entry, key, f"{verb} outside of its folder: {_absolute(entry.folder / path)}")


def is_inside(folder: Path, source: str) -> bool:
    """Whether a path, with everything that a pattern or a folder matches, lies in a folder; links are followed.

    A path whose beginning is already outside is not searched: below ``/`` or ``..`` lies the whole disk.
    """
    home, path, pattern = folder.resolve(), folder / source, has_magic(source)
    if pattern and (".." in Path(source).parts or source.count("**") > 1):
        return False  # it could lead anywhere, or many times through every folder
    try:
        start = Path(*takewhile(lambda part: not has_magic(part), path.parts)) if pattern else path
        if not all(each.resolve().is_relative_to(home) for each in (start, path)):
            return False
        matches = [Path(each) for each in glob(str(path), recursive=True)] if pattern else []
        below = [each for start in [path, *matches] if start.is_dir() for each in start.rglob("*") if each.is_symlink()]
        return all(each.resolve().is_relative_to(home) for each in [*matches, *below])
    except (OSError, RuntimeError, ValueError):  # circular links, or an impossible file name
        return False


def _absolute(path: Path) -> str:
    try:
        return str(path.resolve())
    except (OSError, RuntimeError, ValueError):
        return str(path)


def _module_words(source: object) -> str:
    return f"the Python module {str(source).partition(':')[0]}"


def _model_needs(entry: FileTable, key: str) -> Iterator[RequiredPermission]:
    source, options = str(entry.get(key)), entry.get("options", {})
    for option in ("trust_pickle", "trusted"):
        if option in options:
            yield _option_need("pickle", entry, option, "gives itself the permission to make types that can run code")
    if source.lower().startswith(("http://", "https://")):
        yield _need("code", entry, "load", f"sends the rows to {_host(source)}")
        if options.get("token_env") is not None:
            yield _option_need("code", entry, "token_env", _token_words(options, source))
        return
    here = _found(entry.folder, source)
    if not _exists(here) and ":" in source:
        yield _need("code", entry, "load", f"runs code: {_module_words(source)}")
    elif not is_inside(entry.folder, str(here.absolute())):
        yield _need("outside", entry, "load", f"reads outside of its folder: {_absolute(here)}")
    elif _exists(here):
        yield from _file_needs(entry, here)


def _found(folder: Path, source: str) -> Path:
    """The file that is opened: in the folder of the audit file, else in the current folder."""
    own = folder / source
    return Path(source) if not _exists(own) and _exists(Path(source)) else own


def _option_need(permission: Permission, entry: FileTable, key: str, what: str) -> RequiredPermission:
    return _need(permission, FileTable(entry.file, (*entry.path, "options"), entry.get("options", {})), key, what)


def _token_words(options: Mapping[str, Any], url: str) -> str:
    header = options.get("token_header", "Authorization")
    return f"sends the environment variable of that name to {_host(url)}, in the header {header}"


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _file_needs(entry: FileTable, path: Path) -> Iterator[RequiredPermission]:
    """What a model in the folder of the file needs: one that is a program, or describes a program or a service."""
    kind = _kind(path)
    if kind is Kind.PROGRAM:
        yield _need("code", entry, "load", f"runs the program {_absolute(path)}")
    if kind in {Kind.PICKLE, Kind.TORCH_PICKLE, Kind.EXPORTED}:
        yield _need("pickle", entry, "load", f"opens {kind.value}, which can run any code")
    if kind is not Kind.SERVICE:
        return
    described = _service(path)
    if isinstance(described.get("url"), str):
        yield _need("code", entry, "load", f"sends the rows to {_host(described['url'])}")
        if described.get("token_env") is not None:
            need = _need("code", entry, "load", _token_words(described, described["url"]))
            yield replace(need, source=f"{need.source}, where token_env = {described['token_env']!r},")
    else:
        command = described.get("command")
        words = " ".join(map(str, command)) if isinstance(command, list) else "a program or a service"
        yield _need("code", entry, "load", f"runs {shortened(words, 200)}")


def _kind(path: Path) -> Kind | None:
    try:
        return kind_of(path)
    except OSError:
        return None  # opening it later reports why


def _service(path: Path) -> Mapping[str, Any]:
    """The description of a service or a program, as far as it can be read."""
    try:
        table = TomlText.parse(path.read_text("utf-8"), str(path)).content.get("model")
    except (OSError, UnicodeDecodeError, IsonomiaError):
        return {}
    return table if isinstance(table, Mapping) else {}


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc.rpartition("@")[2] or url
    except ValueError:
        return url


def _domain_needs(entry: FileTable, key: str) -> Iterator[RequiredPermission]:
    """What a property's own inputs need."""
    domains = entry.get(key, {}).get("domains")
    for name, domain in domains.items() if isinstance(domains, Mapping) else ():
        words = domain if isinstance(domain, Mapping) else {"inputs": domain}
        for source in (words.get("domain"), words.get("inputs")):
            if isinstance(source, str):
                path = _found(entry.folder, source)
                if not is_inside(entry.folder, str(path.absolute())):
                    need = _need("outside", entry, key, f"reads outside of its folder: {_absolute(path)}")
                    yield replace(need, source=f"domains.{name} = {toml_value(source)}")


def _block_needs(entry: FileTable, key: str) -> Iterator[RequiredPermission]:
    """A specification whose block is run as Python."""
    kind, text = file_keys()[key], entry.get(key)
    if kind.is_file(text):
        if entry.file.reads_disk and not is_inside(entry.folder, text):
            return
        try:
            text = entry.read(text)
        except IsonomiaError:
            return  # reading it later reports why
    reason = kind.code_in(text)
    if reason is not None:
        yield _need("code", entry, key, f"runs code: its block is more than plain calls and arithmetic ({reason})")


def _nothing(entry: FileTable, key: str) -> Iterator[RequiredPermission]:
    del entry, key
    return iter(())


NEEDS: Mapping[KeyKind, Callable[[FileTable, str], Iterator[RequiredPermission]]] = {
    **dict.fromkeys(("text", "number", "whole", "truth", "texts", "table", "tables", "budget", "looks"), _nothing),
    "claim": _block_needs,
    "options": _domain_needs,
    "model": _model_needs,
    "module": _code_need(lambda table, key: f"runs code: {_module_words(table.get(key))}"),
    "data": lambda table, key: _path_needs(table, key, table.get(key)),
    "rows": lambda table, key: NEEDS["module" if names_object(table.get(key)) else "data"](table, key),
    "named text": _nothing,  # all named texts are gone through together
    "written": _nothing,  # what is written depends on the command
    "executor": _executor_needs,
    "database": _code_need(lambda *_: "connects to a database, and reads a table of it"),
    "command": _code_need(_command_words),
    "webhook": _code_need(_webhook_words),
    "token": _code_need(lambda table, _: _token_words(table.content, str(table.get("webhook", "the webhook")))),
}
"""What each kind of key needs. A key of a kind that is not here cannot be read."""


# ------------------------------------------------------------------------------------------------ what was said before


def with_remembered(file: AuditFile, permissions: Permissions) -> Permissions:
    """The permissions, with those remembered for exactly this file and the code in its folder."""
    if permissions.allow_code or not os.access(_memory(), os.R_OK):  # there may be none, or in the home of another user
        return permissions
    remembered: dict[str, Any] = {}
    with suppress(UsageError):  # more files than are gone through
        remembered = _remembered().get(_digest(file), {})
    if remembered.get("allow_code") is True:
        # Compiled files are not part of the digest, since they change with every Python version, and anyone could have
        # written them: so they are read from, and kept in, a folder that only the user can write to.
        sys.pycache_prefix = str(_memory().with_name("pycache"))
    return replace(
        permissions,
        allow_code=remembered.get("allow_code") is True,
        allow_outside=permissions.allow_outside or remembered.get("allow_outside") is True,
    )


def remember(file: AuditFile, permissions: Permissions) -> Path:
    """Remember what is allowed for exactly this file; returns the path, which only its owner can read."""
    path = _memory()
    entry = {
        "file": str(file.path.resolve()),
        "allow_code": permissions.allow_code,
        "allow_outside": permissions.allow_outside,
    }
    # One entry for each file: older versions of it are of no use.
    others = {key: each for key, each in _remembered().items() if each.get("file") != entry["file"]}
    text = json.dumps({**others, _digest(file): entry}, indent=1)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        new = path.with_name(f"{path.name}.{os.getpid()}")
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        new.replace(path)
    except OSError as error:
        raise UsageError(f"expected to keep what is allowed in {path}, but: {error.strerror}") from error
    return path


def _memory() -> Path:
    """Where permissions are kept: in the system's folder for the state of a user's programs."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/AppData/Local")
    else:
        base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(base) / "isonomia" / "allowed.json"


def _remembered() -> dict[str, dict[str, Any]]:
    """What was remembered, by digest; nothing where it cannot be read, or where others may have written it."""
    path = _memory()
    try:
        state = path.stat()
        if hasattr(os, "getuid") and (state.st_uid != os.getuid() or state.st_mode & 0o022):
            return {}
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    entries = content if isinstance(content, dict) else {}
    return {key: entry for key, entry in entries.items() if isinstance(entry, dict)}


def _digest(file: AuditFile) -> str:
    """Identifies a file by its folder, its text, the code that it names, and every file below its folder.

    Code can read any of them: weights, a script that is executed, a module whose name is computed. Left out are the
    tables of people that the file names, which change often, and what Isonomia, Git and Python keep there.
    """
    own = str(file.folder.resolve()).encode(), file.text.encode()
    return _digest_of(*own, *_code_parts(file), *_folder_parts(file.folder.resolve(), _left_out(file)))


_MOST_FILES, _MOST_BYTES = 10_000, 1 << 30
"""How much below a folder is gone through for a permission that is remembered: a few seconds."""


def _folder_parts(folder: Path, left_out: Collection[Path]) -> Iterator[bytes]:
    size, number = 0, 0
    for place, folders, names in os.walk(folder):
        below = sorted(name for name in folders if name not in {FOLDER, ".git", "__pycache__"})
        folders[:] = [name for name in below if Path(place) / name not in left_out]
        for path in (Path(place) / name for name in sorted(names)):
            if path in left_out or not path.is_file():
                continue
            size, number = size + path.stat().st_size, number + 1
            if number > _MOST_FILES or size > _MOST_BYTES:
                limits = f"{_MOST_FILES:,} files or {_MOST_BYTES:,} bytes"
                raise UsageError(f"--remember covers all files below {folder}, but these are more than {limits}")
            yield str(path).encode()
            yield sha256(path.read_bytes()).digest()


def _left_out(file: AuditFile) -> set[Path]:
    """The tables of people that a file names, other than by a pattern, and what Isonomia keeps of its own."""
    entries = file.entries("population", "populations").values()
    named = [entry.get(key) for entry in entries for key in ("census", "sample")]
    return {_memory().parent.resolve(), *((file.folder / name).resolve() for name in named if isinstance(name, str))}


def code_digest(file: AuditFile) -> str:
    """Identifies the version of the code that a file names, and of what that imports from the same folder.

    The fingerprint of a function covers only its own text, not what it uses from its module or others.
    """
    return _digest_of(*_code_parts(file))


def _code_parts(file: AuditFile) -> Iterator[bytes]:
    for path in sorted(set(_code_files(file))):
        yield str(path).encode()
        yield sha256(path.read_bytes()).digest()


def _digest_of(*parts: bytes) -> str:
    digest = sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


_IMPORT = re.compile(r"^\s*import\s+(\w+)", re.MULTILINE)
"""How a specification imports a module."""


def _code_files(file: AuditFile) -> Iterator[Path]:
    """The files that a permission is about: modules, programs and their descriptions, and every text."""
    modules = []
    tables = [*file.entries("model", "models").values(), *file.entries("population", "populations").values()]
    for table in tables:
        named = [str(table.get(key)) for key in ("load", "generator", "domain", "sample", "census") if table.get(key)]
        modules += [name.partition(":")[0] for name in named]
        here = _found(file.folder, str(table.get("load"))) if table.get("load") else file.folder
        if here.is_file() and _kind(here) in {Kind.PROGRAM, Kind.SERVICE}:
            yield here.resolve()
            yield from _parts_of_command(here)
    commands = [alert.get("command", ()) for alert in file.entries("alert", "alerts").values()]
    for path in (file.folder / str(part) for command in commands for part in command):
        if _exists(path) and path.is_file():
            yield path.resolve()
    for _, _, name in file.named_texts():
        path = file.folder / name
        if path.is_file():
            yield path.resolve()
            modules += _IMPORT.findall(path.read_text("utf-8", "replace"))
    yield from _modules(modules, list(dict.fromkeys((file.folder.resolve(), Path.cwd().resolve()))))


def _parts_of_command(path: Path) -> Iterator[Path]:
    """The files that the command of a description names."""
    described = _service(path) if path.suffix == ".toml" else {}
    command, within = described.get("command", ()), described.get("folder", "")
    for part in command if isinstance(command, list) else ():
        files = [path.parent / str(part), path.parent / str(within) / str(part)]
        for file in (each for each in files if _exists(each) and each.is_file()):
            yield file.resolve()
            if file.suffix == ".py":
                yield from _modules(_imports(file), [file.parent.resolve()])


_SUFFIXES = tuple(all_suffixes())


def _modules(names: Sequence[str], folders: Sequence[Path]) -> Iterator[Path]:
    """The source of modules that lie in some folders, and of what they import from there in turn.

    Modules there that have the name of an installed one are included, whoever imports them: with the permission to run
    code, the folders take precedence over what is installed.
    """
    waiting, known = [*names, *_shadows(folders)], set()
    while waiting:
        top = waiting.pop().strip().partition(".")[0]
        if top in known or not top.isidentifier():
            continue
        known.add(top)
        for folder in folders:
            package = folder / top
            files = [*folder.glob(f"{top}.*"), *(package.rglob("*") if package.is_dir() else ())]
            # Whatever Python takes for a module: a compiled one takes precedence over the source of the same name.
            for source in (each for each in files if each.name.endswith(_SUFFIXES) and each.is_file()):
                if source.parent.name != "__pycache__":
                    yield source.resolve()
                    waiting += _imports(source) if source.suffix == ".py" else ()


def _shadows(folders: Sequence[Path]) -> list[str]:
    """The names of modules in some folders that are also names of installed modules; nothing is imported."""
    paths = [path for folder in folders for path in folder.glob("*")]
    modules = [path for path in paths if path.name.endswith(_SUFFIXES) or (path / "__init__.py").is_file()]
    names = sorted({name for path in modules if (name := path.name.partition(".")[0]).isidentifier()})
    elsewhere = [entry for entry in sys.path if entry and Path(entry).resolve() not in folders]
    return [name for name in names if name in sys.stdlib_module_names or PathFinder.find_spec(name, elsewhere)]


def _imports(source: Path) -> tuple[str, ...]:
    try:
        return _imports_of(source.read_bytes())
    except OSError:
        return ()


@lru_cache(1024)
def _imports_of(code: bytes) -> tuple[str, ...]:
    """The modules that a source imports; kept, since every run of a process reads them again."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.append(node.module)
    return tuple(names)
