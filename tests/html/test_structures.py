"""Lists and quotes in the Markdown for each reader, which makes the same tree of them as a browser of their HTML.

Jekyll and the other generators do this in ``tests/importers/test_pages_show.py``.
"""

from __future__ import annotations

from collections.abc import Callable

import markdown
import pytest

from exporter.html.anchors import Numbering
from exporter.html.dialects import COMMONMARK, KRAMDOWN, PYTHON_MARKDOWN, Dialect
from exporter.html.markdown import to_markdown
from tests.html.reading import render
from tests.html.structures import STRUCTURES, made_up, tree_of


def as_pelican(text: str) -> str:
    """Read Markdown with the extensions that Pelican uses unless a site names others."""
    return str(markdown.markdown(text, extensions=["codehilite", "extra", "meta"]))


READERS: dict[str, tuple[Dialect, Callable[[str], str]]] = {
    "CommonMark": (COMMONMARK, render),
    "Python-Markdown": (PYTHON_MARKDOWN, as_pelican),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_reader_makes_the_same_tree(reader: str, subtests: pytest.Subtests) -> None:
    dialect, read = READERS[reader]
    for name, html in {**STRUCTURES, **{str(seed): made_up(seed) for seed in range(200)}}.items():
        with subtests.test(name=name):
            assert tree_of(read(to_markdown(html, dialect=dialect).text)) == tree_of(html)


def test_what_a_dialect_cannot_express_stays_html_and_is_counted(subtests: pytest.Subtests) -> None:
    rows = {
        "code in items": (0, 1, 0),
        "players in items": (0, 1, 0),
        "rules in items": (0, 0, 1),
        "items with numbers": (1, 2, 2),
        "letters and a countdown": (2, 2, 2),
        "a list starting at 3": (0, 1, 1),
        "one starting at 3 in bullets": (0, 1, 1),
    }
    for name, html in STRUCTURES.items():
        with subtests.test(name=name):
            made = [to_markdown(html, dialect=each) for each in (COMMONMARK, PYTHON_MARKDOWN, KRAMDOWN)]
            assert tuple(each.kept for each in made) == rows.get(name, (0, 0, 0))
            assert all(("<div><" in each.text) == bool(each.kept) for each in made)


def test_a_footnote_in_a_list_that_stays_html_stays_a_link() -> None:
    html = (
        '<ol start=3><li>海<sup><a id="r" href="#n">1</a></sup></li></ol>'
        '<ol><li id="n">日本海 <a href="#r">戻る</a></li></ol>'
    )
    made = to_markdown(html, places={"r", "n"}, dialect=PYTHON_MARKDOWN, footnotes=Numbering()).text
    assert '<a href="#n">1</a>' in made
    assert "[戻る](#r)" in made
    assert "[^" not in made
