"""What every pack has: the rule, the facts that it asks for, and how it fills a document from its subject.

A document from a template: Jinja2 fills it in Markdown, and Markdown becomes one HTML page.

Templates are ordinary Markdown, one paragraph per line. ``*(...)*`` at the end of a line cites the paragraph of the
rule that the line answers, and ``*...*`` above a table cites that of the table; ``---`` above a heading begins a page.
A required fact that was not stated is a gap. An optional one is empty, and so is a table without rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from itertools import zip_longest
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

from isonomia.report.markdown import escaped, one_line
from isonomia.report.page.vega import table_style
from isonomia.version import __version__

if TYPE_CHECKING:
    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict


@dataclass(frozen=True, slots=True)
class RequiredFact:
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
    facts: tuple[RequiredFact, ...]
    content: Callable[[Any, Mapping[str, str]], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Document:
    """A filled document.

    Attributes
    ----------
    pack, blocks
        The name of the pack, and the headings, paragraphs and lists in Markdown with the tables between them.
    missing
        The required facts that were not stated.
    """

    pack: str
    blocks: tuple[str | PackTable, ...]
    missing: tuple[RequiredFact, ...]

    def to_markdown(self) -> str:
        """The document in Markdown."""
        blocks = (_markdown_table(block) if isinstance(block, PackTable) else block for block in self.blocks)
        return "\n\n".join([*blocks, f"Made with Isonomia {__version__}.\n"])

    def to_html(self) -> str:
        """The document as one self-contained HTML page that can be printed."""
        import jinja2
        from markupsafe import Markup

        parts = list(_html_blocks(self.blocks))
        title = next((Markup(part).striptags() for part in parts if part.startswith("<h1>")), self.pack)
        template = jinja2.Environment(autoescape=True, keep_trailing_newline=True).from_string(_file("document.html"))
        return template.render(title=title, style=table_style(), body="".join(parts), version=__version__)


def render(pack: Pack, content: Mapping[str, Any], facts: Mapping[str, str]) -> Document:
    """Fill the template of a pack with its content and with the facts that were stated."""
    import jinja2

    missing: dict[str, RequiredFact] = {}
    tables: list[PackTable] = []

    def shown(value: Any) -> str:
        match value:
            case RequiredFact():
                missing[value.name] = value
                return f"**[to be stated: {value.what}]**"
            case PackTable():
                tables.append(value)
                return _TABLE
            case _:
                return escaped(str(value))

    templates = jinja2.Environment(
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined, finalize=shown, autoescape=False
    )
    template = templates.from_string(_file(pack.name.replace("-", "_"), "template.md"))
    not_stated = {fact.name: fact if fact.needed else "" for fact in pack.facts}
    text = template.render({**not_stated, **content, **facts})
    in_order = iter(tables)
    blocks = (next(in_order) if block == _TABLE else block for block in re.split(r"\n{2,}", text.strip("\n")))
    return Document(pack.name, tuple(blocks), tuple(missing.values()))


_TABLE = "\0"
"""Where a table is in the text of a template; no value contains this character, since values are escaped."""


def _file(*path: str) -> str:
    return files("isonomia.report.packs").joinpath(*path).read_text("utf-8")


def _markdown_table(table: PackTable) -> str:
    rule = "|".join("---:" if index in table.numbers else "---" for index in range(len(table.headings)))
    head, *rows = (f"| {' | '.join(map(escaped, row))} |" for row in (table.headings, *table.rows))
    return "\n".join([head, f"|{rule}|", *rows])


# ---------------------------------------------------------------------------------------------------------------- HTML

_NARROW, _SHORT, _WORD = 5, 40, 30
"""The maximum number of columns, the longest text and the longest word that fit side by side on a phone."""


def _html_blocks(blocks: Sequence[str | PackTable]) -> Iterator[str]:
    """Each block as HTML. A document may have a page for every applicant: a block that occurs again is parsed once."""
    from markdown_it import MarkdownIt

    # Only what templates use is enabled: a link, an image or HTML in a value stays text, escaped or not.
    reader = MarkdownIt("zero").enable(["heading", "list", "emphasis", "escape"])
    reader.add_render_rule("em_open", _cited)
    reader.add_render_rule("strong_open", _strong_or_gap)
    to_html = cache(reader.render)
    caption, heading = "", "<h2>"
    for block, following in zip_longest(blocks, blocks[1:]):
        match block:
            case PackTable():
                yield _html_table(block, caption)
                caption = ""
            case "---":
                heading = '<h2 class="page">'
            case str() if isinstance(following, PackTable) and re.fullmatch(r"\*[^*]+\*", block):
                caption = escape(block.strip("*"))
            case _:
                yield to_html(block).replace("<h2>", heading)
                heading = "<h2>"


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


def _html_table(table: PackTable, caption: str) -> str:
    """A table with scopes, labels and columns of numbers; stacked on a phone where it is wide."""
    starts = [f'td data-label="{escape(heading)}"' for heading in table.headings]
    starts[0] = 'th scope="row"'
    head = "".join(
        f'<th scope="col"{_NUMBER if column in table.numbers else ""}>{escape(heading)}</th>'
        for column, heading in enumerate(table.headings)
    )
    body, wide = [], len(table.headings) > _NARROW
    for row in table.rows:
        cells = []
        for column, (start, value) in enumerate(zip(starts, row, strict=True)):
            text = one_line(value)
            long = ' class="long"' if len(text) > _WORD and max(map(len, text.split())) > _WORD else ""
            wide = wide or (column > 0 and len(text) > _SHORT)
            cells.append(f"<{start}{_NUMBER if column in table.numbers else long}>{escape(text)}</{start[:2]}>")
        body.append(f"<tr>{''.join(cells)}</tr>\n")
    kind = ' class="stacked"' if wide else ""
    title = f'<caption class="cited">{caption}</caption>' if caption else ""
    return (
        f'<div class="table" tabindex="0" role="group" aria-label="{caption or "table"}"><table{kind}>{title}\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>{''.join(body)}</tbody></table></div>\n"
    )


_NUMBER = ' class="number"'
