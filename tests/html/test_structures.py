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


@pytest.mark.parametrize("reader", READERS)
def test_a_reader_shows_the_same_text(reader: str, subtests: pytest.Subtests) -> None:
    dialect, read = READERS[reader]
    for html in (
        "<p>&amp;#87654321; &amp;#x1234567;</p>", "<p>####### 海</p>", "<p>#海<br>#山</p>", "<h1>海#</h1>", "<h3>海 ###</h3>", "<h2>C#</h2>",
        "<p>1234567890. 海</p>", "<pre>a:\n\tb\n</pre>", "<ul><li>海<pre>\tb</pre></li></ul>",
        "<p><code>a``b</code></p>", '<p><abbr title="略">R</abbr><span style="font-style:italic">斜</span></p>',
    ):  # fmt: skip
        with subtests.test(html=html):
            made = to_markdown(html, dialect=dialect).text
            assert not dialect.misread(made)
            assert tree_of(read(made)) == tree_of(html)


def test_a_table_of_one_row_gets_no_other_one() -> None:
    html = "<table><tr><td>海</td><td>山</td></tr></table>"
    assert as_pelican(to_markdown(html, dialect=PYTHON_MARKDOWN).text).count("<tr>") == 1


def test_kramdown_gets_html_in_place_of_markdown_that_it_misreads(subtests: pytest.Subtests) -> None:
    for html in (
        "<a href='/b)c'>海</a>", "<a href=/x title='&quot;'>海</a>", "<kbd>*a*</kbd>", "<code>a<b>b</b></code>",
        "<table><tr><td><code>|</code></td></tr></table>",
    ):  # fmt: skip
        with subtests.test(html=html):
            assert KRAMDOWN.misread(to_markdown(html, dialect=KRAMDOWN).text)
    for html in ("<kbd>Ctrl</kbd> *a* <kbd>C</kbd>", "<a href='/b(c)'>海</a>", "<code>a``b</code>"):
        with subtests.test(html=html):
            assert not KRAMDOWN.misread(to_markdown(html, dialect=KRAMDOWN).text)


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


def test_kramdown_knows_the_escape_after_a_footnote() -> None:
    note = '<p>海<sup><a id="r" href="#n">1</a></sup>(山)</p><ol><li id="n">日本海 <a href="#r">戻る</a></li></ol>'
    made = to_markdown(note, places={"r", "n"}, dialect=KRAMDOWN, footnotes=Numbering()).text
    assert made.startswith("海[^1]\\(山)\n")
    assert not KRAMDOWN.misread(made)
    assert KRAMDOWN.misread(to_markdown("<a href='/[^1](b'>海</a>", dialect=KRAMDOWN).text)


def test_a_footnote_in_a_list_that_stays_html_stays_a_link() -> None:
    html = (
        '<ol start=3><li>海<sup><a id="r" href="#n">1</a></sup></li></ol>'
        '<ol><li id="n">日本海 <a href="#r">戻る</a></li></ol>'
    )
    made = to_markdown(html, places={"r", "n"}, dialect=PYTHON_MARKDOWN, footnotes=Numbering()).text
    assert '<a href="#n">1</a>' in made
    assert "[戻る](#r)" in made
    assert "[^" not in made
