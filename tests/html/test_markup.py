"""Lines and paragraphs, and Markdown, as HTML."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.html.markup import MAX_MARKDOWN_CHARACTERS, from_markdown, paragraphs


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("", ""),
        ("a", "<p>a</p>"),
        ("a\nb", "<p>a<br />\nb</p>"),
        ("a\r\nb\r\n\r\nc", "<p>a<br />\nb</p>\n\n<p>c</p>"),
        ("a\n \n\n\nb", "<p>a</p>\n\n<p>b</p>"),
        ("<p>a</p>\n\nb", "<p>a</p>\n\n<p>b</p>"),
        ("<DIV>a\nb</DIV>", "<DIV>a\nb</DIV>"),
        ("<h2>a</h2>\n\n<b>c</b>", "<h2>a</h2>\n\n<p><b>c</b></p>"),
        ("<pre>a\nb</pre>", "<pre>a\nb</pre>"),
        ("<picture>a", "<p><picture>a</p>"),
    ],
)
def test_lines_and_paragraphs(text: str, html: str) -> None:
    assert paragraphs(text) == html


def test_markdown_keeps_html_and_can_be_smart() -> None:
    assert from_markdown("# a\n\n<b>b</b> *c*\n") == "<h1>a</h1>\n<p><b>b</b> <em>c</em></p>"
    assert from_markdown('"a" -- b...') == "<p>&quot;a&quot; -- b...</p>"
    assert from_markdown('"a" -- b...', smart=True) == "<p>“a” – b…</p>"


def test_a_very_long_text_is_shown_in_paragraphs() -> None:
    text = "*a*\n" * MAX_MARKDOWN_CHARACTERS
    assert from_markdown(text).startswith("<p>*a*<br />\n*a*")


@given(st.text(max_size=100))
def test_no_text_raises(text: str) -> None:
    paragraphs(text)
    from_markdown(text, smart=True)
