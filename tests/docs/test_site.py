"""The pages build strictly, no link of them is dead, and they work without a network."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from built_site import Site, read_site


def dead_links(site: Site) -> list[str]:
    """Every link inside of the site that leads nowhere, or to a place that its page does not have."""
    found = []
    for page, links in site.links.items():
        for link in links:
            path, fragment = urldefrag(unquote(link))
            target = (page.parent / path).resolve() if path else page
            if ":" in path.partition("/")[0] or path.startswith(
                "/"
            ):  # an address elsewhere; 404.html, which has no place
                continue
            if not target.exists() or (fragment and fragment not in site.identifiers.get(target, {fragment})):
                found.append(f"{page.name}: {link}")
    return sorted(found)


def test_no_link_is_dead(site: Site) -> None:
    assert not dead_links(site)


def test_no_page_loads_anything_from_elsewhere(site: Site) -> None:
    loaded = re.compile(
        r"""<(?:script|img|iframe)[^>]*\ssrc="(?:https?:)?//|<link[^>]*stylesheet[^>]*href="(?:https?:)?//"""
    )
    assert not [page.name for page in site.links if loaded.search(page.read_text("utf-8"))]


def test_no_backslash_of_a_table_is_shown(site: Site) -> None:
    # Of a bar in code, some readers of Markdown want it escaped, and others show the escape: write &#124; in <code>.
    shown = re.compile(r"<t[dh][^>]*>(?:(?!</t[dh]>).)*?\\\|", re.DOTALL)
    assert not [page.name for page in site.links if shown.search(page.read_text("utf-8"))]


def test_code_in_tables_is_not_broken_inside_words() -> None:
    root = Path(__file__).parents[2]
    linked = re.search(r"^extra_css:\n((?:  - .*\n)+)", (root / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert linked is not None
    styles = "".join((root / "docs" / name).read_text(encoding="utf-8") for name in re.findall(r"- (\S+)", linked[1]))
    rule = re.search(r"table[^{]* code \{([^}]*)\}", styles)
    assert rule is not None
    assert "word-break: normal" in rule[1]
    assert "overflow-wrap: normal" in rule[1]


def test_a_dead_link_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "one.html").write_text('<h1 id="top"></h1><a href="two.html#there"></a><a href="#top"></a>', "utf-8")
    (tmp_path / "two.html").write_text('<a href="three.html"></a><img src="no.svg"><a href="one.html#no"></a>', "utf-8")
    assert dead_links(read_site(tmp_path)) == [
        "one.html: two.html#there",
        "two.html: no.svg",
        "two.html: one.html#no",
        "two.html: three.html",
    ]


SOUGHT = (
    "adverse impact",
    "disparate impact",
    "impact ratio",
    "intersectional",
    "confusion matrix",
    "confidence interval",
    "recourse",
    "adverse action",
    "Local Law 144",
    "model risk",
    "monitoring",
    "Coming from Fairlearn",
    "AIF360",
    "Aequitas",
    "gate an LLM",
    "evals",
    "LLM judge",
    "pass@k",
    "win rate",
    "regression test",
    "inspect_ai",
    "promptfoo",
    "lm-evaluation-harness",
)


@pytest.mark.parametrize("words", SOUGHT)
def test_a_page_has_the_words_that_people_search_for(words: str) -> None:
    pages = [
        path.read_text("utf-8").lower() for path in sorted(Path(__file__).parents[2].joinpath("docs").rglob("*.md"))
    ]
    assert any(words.lower() in page or words.lower().replace(" ", "-") in page for page in pages)


GOALS = {
    "a table by group": "how-to/measure.html",
    "a gate in CI": "how-to/pipeline.html",
    "an LLM": "how-to/language-models.html",
    "evals": "how-to/eval-logs.html",
    "monitoring": "how-to/watch.html",
    "recourse": "how-to/responsiveness.html",
    "Local Law 144": "how-to/documents.html",
    "a sample size": "how-to/plan.html",
    "a service": "how-to/services.html",
    "a user of Fairlearn": "how-to/coming-from-fairlearn.html",
    "an extension": "how-to/extend.html",
    "installing": "install.html",
    "every name": "reference/index.html",
}


def linked_from(page: Path) -> set[Path]:
    """The pages that the text of a page links to; links of the menus, which every page has, do not count."""
    text = page.read_text("utf-8").partition("<article")[2].partition("</article>")[0]
    links = re.findall(r'<a [^>]*href="([^"#:]+)', text)
    return {(page.parent / unquote(link)).resolve() for link in links}


@pytest.mark.parametrize("goal", GOALS)
def test_a_goal_is_reached_in_two_clicks_from_the_start_page(site: Site, goal: str) -> None:
    (start,) = (page for page in site.links if page.name == "index.html" and (page.parent / "how-to").is_dir())
    once = linked_from(start)
    twice = {target for page in once if page in site.links for target in linked_from(page)}
    assert (start.parent / GOALS[goal]).resolve() in once | twice


def test_titles_in_the_menu_are_the_headings_of_their_pages() -> None:
    root = Path(__file__).parents[2]
    menu = (root / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[2]
    titles = re.findall(r"^ *- (?:'(.+)'|([^'\n]+?)): (\S+\.md)$", menu, re.MULTILINE)
    assert titles
    for quoted, plain, page in titles:
        heading = re.findall(r"^# (.*?)(?: \{.*)?$", (root / "docs" / page).read_text("utf-8"), re.MULTILINE)[0]
        assert heading == (quoted or plain), page


@pytest.mark.parametrize("words", ["monitor", "LLM", "recourse", "adverse impact", "model card", "Local Law 144"])
def test_a_heading_has_the_words_by_which_people_search(words: str) -> None:
    pages = (path.read_text("utf-8") for path in Path(__file__).parents[2].joinpath("docs").rglob("*.md"))
    assert any(
        words.lower() in heading.lower() for page in pages for heading in re.findall(r"^#+ .*$", page, re.MULTILINE)
    )
