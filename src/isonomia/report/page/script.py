"""The scripts of the page: Vega as one bundle, the page's own, and data that cannot end a script element.

Making the bundle takes seconds and always gives the same result, so it is cached for the next report.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from isonomia.report.files import replacing


def cached_script(name: str, make: Callable[[], str]) -> str:
    """A script by name: from the user's cache folder if it is intact and the user's own, otherwise made and cached.

    A folder that cannot be written costs time and nothing else.
    """
    file = _folder() / f"{name}.js"
    with suppress(OSError, UnicodeDecodeError):
        seal, _, script = _own_text(file).partition("\n")
        if seal == _seal(script):
            return script
    script = make()
    with suppress(OSError):
        _keep(file, f"{_seal(script)}\n{script}")
    return script


def _folder() -> Path:
    """The cache folder of this system."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "isonomia"


def _own_text(file: Path) -> str:
    """The text of a file that only this user can have written: it will run in the browsers of a report's readers."""
    with file.open("rb") as stream:
        facts = os.fstat(stream.fileno())
        if hasattr(os, "getuid") and (facts.st_uid != os.getuid() or facts.st_mode & 0o022):
            raise PermissionError(f"{file} may have been written by somebody else")
        return stream.read().decode("utf-8")


def _keep(file: Path, text: str) -> None:
    """Write a file atomically, so that a concurrent reader finds all of it or none."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with replacing(file) as part:
        part.chmod(0o600)  # whatever the umask is
        part.write_bytes(text.encode("utf-8"))


def _seal(script: str) -> str:
    return f"// sha256 {hashlib.sha256(script.encode('utf-8')).hexdigest()}"


_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "'": "\\u0027"})


@cache
def bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script, from the package that holds them: nothing is fetched."""
    from importlib.metadata import version

    def make() -> str:
        import vl_convert

        return str(vl_convert.javascript_bundle())  # type: ignore[call-arg]

    return _sealed(cached_script(f"vega-{version('vl-convert-python')}", make))


@cache
def own_script() -> str:
    """The page's own script."""
    return _sealed(_template("page.js"))


@cache
def style() -> str:
    """The page's style sheet."""
    return _template("style.css") + table_style()


@cache
def table_style() -> str:
    """How tables stay whole on a phone, for pages and documents alike."""
    return _template("tables.css")


def as_data(value: Any) -> str:
    """A value as JSON in a ``script`` element or in single quotes: no text in it ends either, or begins an element."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).translate(_ESCAPES)


def policy(*scripts: str) -> str:
    """What the browser may do for the page: run these scripts and no other, and connect to nothing."""
    sums = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in scripts)
    return (
        f"default-src 'none'; script-src {sums}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def _sealed(script: str) -> str:
    """A script that cannot end its element early; line ends are as browsers hash them."""
    return script.replace("\r\n", "\n").replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _template(name: str) -> str:
    return (files("isonomia.report.page") / "templates" / name).read_text("utf-8")
