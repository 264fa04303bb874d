"""Titles and names that look like markup are written as the same texts for what reads them."""

from __future__ import annotations

import io
import json
import re
import zipfile
from html import unescape

import pytest
from selectolax.lexbor import LexborHTMLParser

from exporter.export.importer_rules import is_term_cut, markup_escaped, term_name
from exporter.export.targets import TARGETS
from exporter.html.wordpress import field_html
from exporter.model.publication import Declared
from tests.export.memory import export
from tests.export.odd_texts import TEXTS, odd_blog
from tests.support.wide import AS_OF, WIDE, WideBlog


@pytest.mark.parametrize(
    "text", [*TEXTS.values(), "&#65; &copy; &notit;", "12'5\"", "%E3%81", "a\\'b", "-- - ---", "<"]
)
def test_a_name_for_wordpress_is_the_same_text_as_html(text: str) -> None:
    html = field_html(text)
    assert unescape(html) == text
    assert not re.search(r"[<>\"'\\]|--|\.\.\.|&amp;#|%[0-9a-fA-F]{2}|\[/?[a-z]", html)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ('Q&A <3 a < b & c; &b; "q" it\'s', 'Q&A <3 a < b & c; &b; "q" it\'s'),
        ("<br></p><!-- x --><?php", "&lt;br>&lt;/p>&lt;!-- x -->&lt;?php"),
        (
            "&lt;br&gt; &amp &#39 &#x27; &copy &notit;",
            "&amp;lt;br&amp;gt; &amp;amp &amp;#39 &amp;#x27; &amp;copy &amp;notit;",
        ),
    ],
)
def test_only_markup_is_escaped_where_a_name_may_be_read_as_text(text: str, html: str) -> None:
    assert markup_escaped(text) == html
    assert unescape(html) == text
    assert LexborHTMLParser(html, is_fragment=True).text() == text


@pytest.mark.parametrize("name", ["&" * 150, "あ" * 250, "-" * 1_000_000, "<b>" * 60, "a" * 199 + "&&"])
def test_the_name_of_a_term_fits_into_its_column_as_html(name: str) -> None:
    made = term_name(name)
    assert 195 <= len(made) <= 200
    assert name.startswith(unescape(made))
    assert is_term_cut(name)
    assert not is_term_cut(name[:30])


def test_a_pelican_site_gets_each_tag_whole() -> None:
    blog = odd_blog()
    for body in ("markdown", "html"):
        made = export("pelican", blog, declared=Declared(), service=WIDE, as_of=AS_OF, body=body)
        lines = [
            re.findall(r'(?m)^Tags: (.*)$|name="tags" content="(.*)"', data.decode()) for data in made.files.values()
        ]
        tags = {(one or unescape(other)) for found in lines for one, other in found}
        assert {unescape(each) for each in tags} == set(TEXTS.values())
        assert not any(mark in tag for tag in tags for mark in "<,;")


def test_no_tag_of_ghost_ends_a_script() -> None:
    made = export("ghost", odd_blog(), declared=Declared(), service=WIDE, as_of=AS_OF)
    with zipfile.ZipFile(
        io.BytesIO(next(data for name, data in made.files.items() if name.endswith(".zip")))
    ) as packed:
        names = [each["name"] for each in json.loads(packed.read("ghost.json"))["db"][0]["data"]["tags"]]
    assert "＜/title>＜script>y()＜/script>" in names
    assert "HTMLの<br>と<canvas>入門" in names


def test_movable_type_writes_markup_in_titles_as_text_and_says_so() -> None:
    odd = {"declared": Declared(), "service": WIDE, "as_of": AS_OF}
    made = export("movabletype", odd_blog(), **odd)
    text = made.only().decode()
    assert "\nTITLE: HTMLの&lt;br>と&lt;canvas>入門\n" in text
    assert "\nTITLE: Q&A < B > C \"D\" 'E' it's 5'\n" in text
    assert "\nTITLE: &amp;lt;br&amp;gt;と&amp;amp;と&amp;#39;\n" in text
    (row,) = [row for row in made.document["preflight"] if "like a tag" in row["limit"]]
    assert row["entries"] == ["canvas", "end", "escaped", "script"]
    aimed = export("movabletype", odd_blog(), target=TARGETS["wordpress"], **odd)
    assert "\nTITLE: HTMLの&lt;br&gt;と&lt;canvas&gt;入門\n" in aimed.only().decode()
    assert not [row for row in aimed.document["preflight"] if "like a tag" in row["limit"]]


@pytest.mark.parametrize(
    ("title", "written"),
    [
        ('" onclick="y()', "＂ onclick=&quot;y()"), ("a</TITLE >", "a＜/TITLE &gt;"), ('"海" 1 < 2', "＂海＂ 1 &lt; 2"),
        ('"海"', "&quot;海&quot;"), ("<title>", "&lt;title&gt;"),
    ],
)  # fmt: skip
def test_a_title_of_pelican_ends_no_attribute_and_no_title(title: str, written: str) -> None:
    blog = WideBlog()
    blog.post("1", title=title)
    made = export("pelican", blog, declared=Declared(), service=WIDE, as_of=AS_OF)
    assert f"Title: {written}\n" in made.everything().decode()
