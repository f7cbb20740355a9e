"""A document from a template: as Markdown and as one HTML page.

A template has a line for each block: ``# `` and ``## `` for headings, ``- `` for items, ``[[name]]`` for a table or a
list of sentences, anything else for a paragraph. ``{name}`` is a fact or a computed text. ``?name `` before a line
leaves it out where the text of that name is empty, ``?!name `` where it is not. ``[§ ...]`` at the end of a line is the
paragraph of the rule that the line answers. What follows ``=== `` is the template of the further pages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

from isonomia.errors import UsageError
from isonomia.report.markdown import escaped
from isonomia.report.packs.protocol import Fact, Pack, PackContent, PackTable
from isonomia.report.page.script import table_style
from isonomia.version import __version__

__all__ = ["Document", "read_template"]

_CITED = re.compile(r"\s*\[§ ([^\]]+)\]$")
_NAME = re.compile(r"\{([a-z_]+)\}")
_BLOCK = re.compile(r"\[\[([a-z_]+)\]\]")
_IF = re.compile(r"\?(!?)([a-z_]+) ")
_BOLD = re.compile(r"\*\*(.+?)\*\*")


@dataclass(frozen=True, slots=True)
class Gap:
    """A fact that nobody stated."""

    fact: Fact


@dataclass(frozen=True, slots=True)
class DocumentBlock:
    """One block of a document.

    Attributes
    ----------
    kind
        ``title``, ``heading``, ``item``, ``paragraph``, ``table`` or ``page`` (where a new page begins).
    parts
        Its text: what the template says, values (each alone in a tuple, since they are escaped), and gaps.
    cited
        The paragraph of the rule that it answers.
    table
        The table.
    """

    kind: str
    parts: tuple[str | Gap | tuple[str], ...] = ()
    cited: str = ""
    table: PackTable | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A filled document.

    Attributes
    ----------
    pack, blocks
        The name of the pack, and the blocks of the document in order.
    missing
        The facts that it asks for and nobody stated.
    """

    pack: str
    blocks: tuple[DocumentBlock, ...]
    missing: tuple[Fact, ...]

    def to_markdown(self) -> str:
        """The document in Markdown."""
        lines: list[str] = []
        for block in self.blocks:
            lines += _markdown(block, bool(lines) and lines[-1].startswith("- "))
        return "\n".join(lines).strip() + f"\n\nMade with Isonomia {__version__}.\n"

    def to_html(self) -> str:
        """The document as one self-contained HTML page that can be printed."""
        title = next((_plain(block.parts) for block in self.blocks if block.kind == "title"), self.pack)
        template = files("isonomia.report.packs").joinpath("document.html").read_text("utf-8")
        body = "\n".join(_html(self.blocks))
        filled = template.replace("@@title@@", escape(title)).replace("@@version@@", escape(__version__))
        return filled.replace("@@tables@@", table_style()).replace("@@body@@", body)


def read_template(pack: Pack, content: PackContent, facts: Mapping[str, str]) -> Document:
    """Fill the template of a pack."""
    folder = pack.name.replace("-", "_")
    text = files("isonomia.report.packs").joinpath(folder, "template.md").read_text("utf-8")
    first, _, further = text.partition("\n=== ")
    by_name = {fact.name: fact for fact in pack.facts}
    gaps: dict[str, Fact] = {}
    blocks = list(_blocks(first, content, facts, by_name, gaps))
    template = further.partition("\n")[2]
    for title, page in content.pages:
        blocks.append(DocumentBlock("page", ((title,),)))
        blocks += _blocks(template, page, facts, by_name, gaps)
    return Document(pack.name, tuple(blocks), tuple(gaps.values()))


def _blocks(
    text: str, content: PackContent, facts: Mapping[str, str], by_name: Mapping[str, Fact], gaps: dict[str, Fact]
) -> Iterator[DocumentBlock]:
    for line in _lines(text):
        rest = line
        while condition := _IF.match(rest):
            stated = bool(facts.get(condition[2]) or content.values.get(condition[2]) or _has(content, condition[2]))
            rest = rest[condition.end() :] if stated != (condition[1] == "!") else ""
        if not rest:
            continue
        cited = _CITED.search(rest)
        words = rest[: cited.start()] if cited else rest
        told = cited[1] if cited else ""
        block = _BLOCK.fullmatch(words)
        if block:
            yield from _tables(block[1], content, told)
            continue
        kind = next((name for sign, name in _SIGNS.items() if words.startswith(sign)), "paragraph")
        words = words.removeprefix(next((sign for sign, name in _SIGNS.items() if name == kind), ""))
        yield DocumentBlock(kind, tuple(_parts(words, content.values, facts, by_name, gaps)), told)


_SIGNS = {"# ": "title", "## ": "heading", "- ": "item"}


def _lines(text: str) -> Iterator[str]:
    """Paragraphs and items, each on one line."""
    for part in re.split(r"\n\s*\n", text.strip()):
        lines: list[str] = []
        for line in part.split("\n"):
            begins = line.startswith(("- ", "# ", "## ", "?", "[["))
            if begins or not lines:
                lines.append(line.strip())
            else:
                lines[-1] += f" {line.strip()}"
        yield from lines


def _has(content: PackContent, name: str) -> bool:
    table = content.tables.get(name)
    return bool(content.lists.get(name)) or (table is not None and bool(table.rows))


def _tables(name: str, content: PackContent, cited: str) -> Iterator[DocumentBlock]:
    if name in content.lists:
        yield from (DocumentBlock("item", ((sentence,),), cited) for sentence in content.lists[name])
    elif name in content.tables:
        yield DocumentBlock("table", (), cited, content.tables[name])
    else:
        raise UsageError(f"the template asks for a table {name!r} that there is not")


def _parts(
    words: str, values: Mapping[str, str], facts: Mapping[str, str], by_name: Mapping[str, Fact], gaps: dict[str, Fact]
) -> Iterator[str | Gap | tuple[str]]:
    at = 0
    for found in _NAME.finditer(words):
        yield words[at : found.start()]
        at = found.end()
        name = found[1]
        if name in facts:
            yield (facts[name],)
        elif name in by_name:
            gaps[name] = by_name[name]
            yield Gap(by_name[name])
        else:
            yield (values[name],)
    yield words[at:]


# ----------------------------------------------------------------------------------------------------------- rendering


def _markdown(block: DocumentBlock, after_item: bool) -> list[str]:
    text = "".join(_each(block.parts, lambda words: words, escaped, lambda gap: f"**[to be stated: {gap.fact.what}]**"))
    cited = f" *({block.cited})*" if block.cited else ""
    match block.kind:
        case "title":
            return ["", f"# {text}", ""]
        case "heading":
            return ["", f"## {text}", ""]
        case "item":
            return [f"- {text}{cited}"] if after_item else ["", f"- {text}{cited}"]
        case "page":
            return ["", "---", "", f"## {text}", ""]
        case "table":
            assert block.table is not None
            return ["", *([f"*{block.cited}*", ""] if block.cited else []), *_markdown_table(block.table), ""]
        case _:
            return ["", f"{text}{cited}"]


def _markdown_table(table: PackTable) -> list[str]:
    rule = "|".join("---:" if index in table.numbers else "---" for index in range(len(table.headings)))
    rows = [" | ".join(map(escaped, row)) for row in table.rows]
    return [f"| {' | '.join(map(escaped, table.headings))} |", f"|{rule}|", *(f"| {row} |" for row in rows)]


def _html(blocks: Sequence[DocumentBlock]) -> Iterator[str]:
    """The body; consecutive items are one list, and every page begins with a heading."""
    in_list = False
    for block in blocks:
        if in_list and block.kind != "item":
            yield "</ul>"
            in_list = False
        text = "".join(_each(block.parts, _marked_up, escape, _gap_in_html))
        cited = f' <span class="cited">{escape(block.cited)}</span>' if block.cited else ""
        match block.kind:
            case "title":
                yield f"<h1>{text}</h1>"
            case "heading":
                yield f"<h2>{text}</h2>"
            case "item":
                if not in_list:
                    yield "<ul>"
                    in_list = True
                yield f"<li>{text}{cited}</li>"
            case "page":
                yield f'<h2 class="page">{text}</h2>'
            case "table":
                assert block.table is not None
                yield _html_table(block.table, block.cited)
            case _:
                yield f"<p>{text}{cited}</p>"
    if in_list:
        yield "</ul>"


_NARROW, _SHORT, _WORD = 5, 40, 30
"""The most columns, the longest text and the longest word that fit side by side on a phone."""


def _html_table(table: PackTable, cited: str) -> str:
    head = "".join(
        f'<th scope="col"{_right(table, index)}>{escape(text)}</th>' for index, text in enumerate(table.headings)
    )
    rows = "".join(f"<tr>{''.join(_html_cells(table, row))}</tr>" for row in table.rows)
    caption = f'<caption class="cited">{escape(cited)}</caption>' if cited else ""
    wide = len(table.headings) > _NARROW or any(len(cell) > _SHORT for row in table.rows for cell in row[1:])
    kind = ' class="stacked"' if wide else ""
    return (
        f'<div class="table" tabindex="0" role="group" aria-label="{escape(cited or "table")}"><table{kind}>{caption}'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _html_cells(table: PackTable, row: Sequence[str]) -> Iterator[str]:
    for index, (heading, cell) in enumerate(zip(table.headings, row, strict=True)):
        broken = ' class="long"' if any(len(word) > _WORD for word in cell.split()) else ""
        if not index:
            yield f'<th scope="row"{broken}>{escape(cell)}</th>'
        else:
            yield f'<td{_right(table, index) or broken} data-label="{escape(heading)}">{escape(cell)}</td>'


def _right(table: PackTable, index: int) -> str:
    return ' class="number"' if index in table.numbers else ""


def _gap_in_html(gap: Gap) -> str:
    return f"<mark>to be stated: {escape(gap.fact.what)}</mark>"


def _marked_up(words: str) -> str:
    return _BOLD.sub(r"<strong>\1</strong>", escape(words, quote=False))


def _each(
    parts: Sequence[str | Gap | tuple[str]],
    of_words: Callable[[str], str],
    of_value: Callable[[str], str],
    of_gap: Callable[[Gap], str],
) -> Iterator[str]:
    for part in parts:
        if isinstance(part, Gap):
            yield of_gap(part)
        elif isinstance(part, tuple):
            yield of_value(part[0])
        else:
            yield of_words(part)


def _plain(parts: Sequence[str | Gap | tuple[str]]) -> str:
    return "".join(_each(parts, lambda words: words, str, lambda gap: gap.fact.what))
