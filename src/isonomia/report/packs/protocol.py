"""What every pack has: the rule, the facts that it asks for, and how it fills a document from its subject.

A document from a template: Jinja2 fills it in Markdown, and Markdown becomes one HTML page.

Templates are ordinary Markdown, one paragraph per line. ``*(...)*`` at the end of a line cites the paragraph of the
rule that the line answers, and ``*...*`` above a table cites that of the table; ``---`` above a heading begins a page.
A required fact that was not stated is a gap. An optional one is empty, and so is a table without rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from itertools import count, takewhile
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

from isonomia.report.markdown import escaped
from isonomia.report.page.script import table_style
from isonomia.version import __version__

if TYPE_CHECKING:
    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that only the user knows.

    Attributes
    ----------
    name, what
        Its name, and what it is, in words.
    paragraph
        The paragraph that asks for it.
    needed
        Whether the document is incomplete without it; otherwise it appears only where it is stated.
    date
        Whether it must be a date, or may contain dates, which are then checked.
    """

    name: str
    what: str
    paragraph: str
    needed: bool = True
    date: OneOf["no", "may", "must"] = "no"


@dataclass(frozen=True, slots=True)
class PackTable:
    """A table of a document: headings, rows of text, and which columns are numbers; false where it has no rows."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.rows)


@dataclass(frozen=True, slots=True)
class Pack:
    """A rule, and how its document is filled.

    Attributes
    ----------
    name
        The name on the command line, and of its folder, with underscores there.
    subject
        What it is about: a table by group, refused applicants, or the verdicts of an audit.
    facts
        The facts that it asks for.
    content
        Makes what the template is filled with, by name, from the subject and the facts that were stated: texts, tables,
        lists of sentences, and pages, which have such content of their own.
    """

    name: str
    subject: OneOf["groups", "refusals", "audit"]
    facts: tuple[Fact, ...]
    content: Callable[[Any, Mapping[str, str]], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Document:
    """A filled document.

    Attributes
    ----------
    pack, body
        The name of the pack, and the document in Markdown, without the last line, which names the version.
    missing
        The required facts that were not stated.
    """

    pack: str
    body: str
    missing: tuple[Fact, ...]

    def to_markdown(self) -> str:
        """The document in Markdown."""
        return f"{self.body}\n\nMade with Isonomia {__version__}.\n"

    def to_html(self) -> str:
        """The document as one self-contained HTML page that can be printed."""
        import jinja2
        from markdown_it import MarkdownIt

        # Only what templates use is enabled: a link, an image or HTML in a value stays text, escaped or not.
        reader = MarkdownIt("zero").enable(["heading", "list", "hr", "table", "emphasis", "escape"])
        for name, rule in _RULES.items():
            reader.add_render_rule(name, rule)
        tokens = reader.parse(self.body)
        body = reader.renderer.render(tokens, reader.options, {})
        title = next((_text(tokens[at + 1]) for at, token in enumerate(tokens) if token.tag == "h1"), self.pack)
        template = jinja2.Environment(autoescape=True, keep_trailing_newline=True).from_string(_file("document.html"))
        return template.render(title=title, style=table_style(), body=body, version=__version__)


def render(pack: Pack, content: Mapping[str, Any], facts: Mapping[str, str]) -> Document:
    """Fill the template of a pack with its content and with the facts that were stated."""
    import jinja2

    missing: dict[str, Fact] = {}

    def shown(value: Any) -> str:
        if isinstance(value, Fact):
            missing[value.name] = value
            return f"**[to be stated: {value.what}]**"
        return _table(value) if isinstance(value, PackTable) else escaped(str(value))

    templates = jinja2.Environment(
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined, finalize=shown, autoescape=False
    )
    template = templates.from_string(_file(pack.name.replace("-", "_"), "template.md"))
    not_stated = {fact.name: fact if fact.needed else "" for fact in pack.facts}
    text = template.render({**not_stated, **content, **facts})
    return Document(pack.name, re.sub(r"\n{3,}", "\n\n", text).strip(), tuple(missing.values()))


def _file(*path: str) -> str:
    return files("isonomia.report.packs").joinpath(*path).read_text("utf-8")


def _table(table: PackTable) -> str:
    rule = "|".join("---:" if index in table.numbers else "---" for index in range(len(table.headings)))
    head, *rows = (f"| {' | '.join(map(escaped, row))} |" for row in (table.headings, *table.rows))
    return "\n".join([head, f"|{rule}|", *rows])


# ---------------------------------------------------------------------------------------------------------------- HTML

_NARROW, _SHORT, _WORD = 5, 40, 30
"""The most columns, the longest text and the longest word that fit side by side on a phone."""


def _cited(self: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: EnvType) -> str:
    """``*(...)*`` cites a paragraph of the rule."""
    opening, text, closing = tokens[at : at + 3]
    opening.tag = closing.tag = "span"
    opening.attrSet("class", "cited")
    text.content = re.sub(r"^\((.*)\)$", r"\1", text.content)
    return self.renderToken(tokens, at, options, env)


def _strong_or_gap(self: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: EnvType) -> str:
    """``**[...]**`` is a gap; no value looks like one, since values are escaped."""
    opening, text, closing = tokens[at : at + 3]
    if text.content.startswith("["):
        opening.tag = closing.tag = "mark"
        text.content = text.content.removeprefix("[").removesuffix("]")
    return self.renderToken(tokens, at, options, env)


def _page_break(self: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: EnvType) -> str:  # noqa: ARG001
    """``---`` lets the heading below it begin a page."""
    tokens[at + 1].attrSet("class", "page")
    return ""


def _paragraph(self: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: EnvType) -> str:
    """A citation that stands alone above a table is its caption."""
    parts = tokens[at + 1].children or []
    if [part.type for part in parts] == ["em_open", "text", "em_close"] and tokens[at + 3].type == "table_open":
        tokens[at + 3].meta["caption"] = parts[1].content
        tokens[at + 1].children = []
        tokens[at].hidden = tokens[at + 2].hidden = True
    return self.renderToken(tokens, at, options, env)


def _table_open(self: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: EnvType) -> str:  # noqa: ARG001
    """A table with scopes, labels and columns of numbers; stacked on a phone where it is wide."""
    caption = escape(tokens[at].meta.get("caption", ""))
    headings: list[str] = []
    wide, column = False, 0
    for position in takewhile(lambda k: tokens[k].type != "table_close", count(at)):
        token = tokens[position]
        if token.type == "tr_open":
            column = 0
        if token.type not in ("th_open", "td_open"):
            continue
        text = _text(tokens[position + 1])
        number, long = "style" in token.attrs, any(len(word) > _WORD for word in text.split())
        if token.type == "th_open":
            headings.append(text)
            token.attrs = {"scope": "col"}
        elif column == 0:
            token.tag = tokens[position + 2].tag = "th"
            token.attrs = {"scope": "row"}
        else:
            token.attrs = {"data-label": headings[column]}
            wide = wide or len(text) > _SHORT
        if number or (long and token.type == "td_open"):
            token.attrs["class"] = "number" if number else "long"
        column += 1
    kind = ' class="stacked"' if wide or len(headings) > _NARROW else ""
    title = f'<caption class="cited">{caption}</caption>' if caption else ""
    return f'<div class="table" tabindex="0" role="group" aria-label="{caption or "table"}"><table{kind}>{title}\n'


def _table_close(self: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: EnvType) -> str:  # noqa: ARG001
    return "</table></div>\n"


_RULES = {
    "em_open": _cited,
    "strong_open": _strong_or_gap,
    "hr": _page_break,
    "paragraph_open": _paragraph,
    "table_open": _table_open,
    "table_close": _table_close,
}


def _text(inline: Token) -> str:
    """The text of a heading or a cell, as readers see it."""
    return "".join(part.content for part in inline.children or ())
