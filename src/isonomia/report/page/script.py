"""The scripts of the page: Vega as one bundle, the page's own, and data that cannot end a script."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import Any

from isonomia.report.page.kept import kept_script

__all__ = ["as_data", "bundle", "own_script", "policy", "style"]

_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


@cache
def bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script, from the package that holds them: nothing is fetched."""
    from importlib.metadata import version

    def make() -> str:
        import vl_convert

        return str(vl_convert.javascript_bundle())  # type: ignore[call-arg]

    return _sealed(kept_script(f"vega-{version('vl-convert-python')}", make))


@cache
def own_script() -> str:
    """The page's own script."""
    return _sealed(_template("page.js"))


@cache
def style() -> str:
    """The page's style sheet."""
    return _template("style.css")


def as_data(value: Any) -> str:
    """A value as JSON inside a ``script`` element: no text in it can end the element or begin another."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).translate(_ESCAPES)


def policy(*scripts: str) -> str:
    """What the browser may do for the page: run these scripts and no other, and connect to nothing."""
    sums = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in scripts)
    return (
        f"default-src 'none'; script-src {sums}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def _sealed(script: str) -> str:
    """A script that the page's markup cannot cut short; line ends as browsers count them for the checksum."""
    return script.replace("\r\n", "\n").replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _template(name: str) -> str:
    return (files("isonomia.report.page") / "templates" / name).read_text("utf-8")
