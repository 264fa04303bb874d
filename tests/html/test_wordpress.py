"""Bodies in WordPress blocks: no text is lost, and no text can end its block."""

from __future__ import annotations

import json
import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from exporter.html.wordpress import block, blocks, kept, more_block
from tests.html.blog_bodies import PIECES, bodies

MARKS = ("<!--", "-->", "<!--!>", "<a ", "</", "<iframe", "</iframe>", "more", "wp:html")
LETTERS = st.lists(st.sampled_from([*PIECES, *MARKS, *"<>\"'!?-=&;[]/ ax\n　"]), max_size=30)
COMMAND = re.compile(r"<!--\s*(?:more|nextpage|noteaser|/?wp:)", re.IGNORECASE)


def text_of(html: str) -> str:
    """Return all text that a page shows of a body."""
    body = LexborHTMLParser(f"<body>{html}").body
    assert body is not None
    body.strip_tags(["iframe", "noembed", "noframes", "script", "style"])
    return body.text()


@given(LETTERS.map("".join))
@example("一<!--moreover-->二<!--more続き-->三")
@example("""<!<img alt="a>b'">一<?php <b title=">二">三</ <i title='>四'>五</>""")
@example('一<iframe src="x">"<b>')
@example("一<script ")
@example("一<script><!--<script ")
@example('一<a href="https://a.example/>')
@example("一<!--!>")
@example('<img　alt="a>b">一<img alt=　"a>b">二')
def test_a_body_has_the_same_text_and_no_wordpress_commands(html: str) -> None:
    made = kept(html).text
    assert COMMAND.search(made) is None
    assert kept(made).commands == 0
    assert text_of(made) == text_of(html)
    assert text_of(f"{made}<p>その後").endswith("その後")


def test_blocks_have_the_text_of_the_body(subtests: pytest.Subtests) -> None:
    for html in bodies(5, 100):
        with subtests.test(html=html):
            made = "".join(blocks(html))
            letters = "".join(text_of(html).split())
            assert "".join(text_of(made).split()) == letters
            opened = re.findall(r"<!-- wp:([a-z-]+)", made)
            closed = re.findall(r"<!-- /wp:([a-z-]+)", made)
            assert sorted(opened) == sorted(closed)
            assert opened or not letters


@pytest.mark.parametrize(
    ("html", "written"),
    [
        ("一<br>二<br><br>三", ["<p>一<br>二</p>", "<p>三</p>"]),
        ("<div>一</div><div>二</div>", ["<p>一<br>二</p>"]),
        ("一<br><img src=a.png alt=絵><br>二", ["<p>一</p>", '<figure class="wp-block-image"><img src="a.png" alt="絵"/></figure>', "<p>二</p>"]),
        ("<h2>題</h2>", ['<h2 class="wp-block-heading">題</h2>']),
        ("<pre><code>x</code></pre>", ['<pre class="wp-block-code"><code>x</code></pre>']),
        ("<hr>", ['<hr class="wp-block-separator has-alpha-channel-opacity"/>']),
        ('<p align="right">右</p>', ['<p align="right">右</p>']),
        ("<!-- x -->", []),
    ],
)  # fmt: skip
def test_elements_become_blocks(html: str, written: list[str]) -> None:
    assert [each.split("-->\n", 1)[1].rsplit("\n<!--", 1)[0] for each in blocks(html)] == written


def test_the_attributes_of_a_block_cannot_end_its_comment() -> None:
    made = block("x", "", {"a": '--> <b> & " \\'})
    said = made.split("-->")[0]
    assert json.loads(said.removeprefix("<!-- wp:x ")) == {"a": '--> <b> & " \\'}
    assert made.count("-->") == 2
    assert more_block("続き").splitlines()[1] == "<!--more 続き-->"


@pytest.mark.thorough
@pytest.mark.parametrize("hostile", ['<a "', "<a b=", "<!--", "<script ", "<", "[", "&", "-", "http://", "\n", "<a\n"])
def test_a_hostile_body_takes_time_in_proportion(hostile: str) -> None:
    # With a search from every position, a body a hundred times as long would take ten thousand times as long.
    begun = time.process_time()
    kept(hostile * 200_000)
    assert time.process_time() - begun < 20
