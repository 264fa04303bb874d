"""The HTML of bodies as WordPress stores them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.html.wordpress_content import Surroundings, content, html
from exporter.html.wordpress_galleries import Attachment
from exporter.model.records import Lack, Unshown


def test_a_body_shows_as_in_wordpress(subtests: pytest.Subtests) -> None:
    rows: list[tuple[str, str]] = [
        ("", ""),
        ("一\n二", "<p>一<br>\n二</p>"),
        ("一\r\n\r\n二", "<p>一</p>\n<p>二</p>"),
        ("一<br />\n二", "<p>一<br />\n二</p>"),
        ("　一\n\n　二", "<p>　一</p>\n<p>　二</p>"),
        ("<p>　一</p> <p>　二</p>", "<p>\n　一\n</p>\n<p>\n　二\n</p>"),
        ("<pre>a\n\n b</pre>\n後", "<pre>a\n\n b</pre>\n<p>後</p>"),
        ("<ul>\n<li>a</li>\n</ul>", "<ul>\n<li>\na\n</li>\n</ul>"),
        ('<img\nsrc="a">\n後', '<p><img\nsrc="a"><br>\n後</p>'),
        ("前<h2>題</h2>後", "<p>前</p>\n<h2>\n題\n</h2>\n<p>後</p>"),
        ("<script>a;\n\nb;</script>", "<script>a;\n\nb;</script>"),
        ("<!-- wp:paragraph -->\n<p>a\nb</p>\n<!-- /wp:paragraph -->", "<p>a\nb</p>"),
        ("一\n\nhttps://youtu.be/x\n\n二", '<p>一</p>\n<p><a href="https://youtu.be/x">https://youtu.be/x</a></p>\n<p>二</p>'),
        ("[embed]https://a.example/?a=1&b=2[/embed]", '<p><a href="https://a.example/?a=1&amp;b=2">https://a.example/?a=1&amp;b=2</a></p>'),
        ('[audio mp3="https://a.example/a.mp3"][/audio]', '<p><a href="https://a.example/a.mp3">https://a.example/a.mp3</a></p>'),
        ("[gallery ids=\"1\"]", '<p>[gallery ids="1"]</p>'),
        ("[[caption]]", "<p>[[caption]]</p>"),
        ('[code language="c"]a < b\n\nc[/code]', "<pre><code>a &lt; b\n\nc</code></pre>"),
        ("a\x00b", "<p>a\ufffdb</p>"),
    ]  # fmt: skip
    for source, shown in rows:
        with subtests.test(source=source, shown=shown):
            assert html(source) == shown


@pytest.mark.parametrize(
    "source",
    [
        '[caption id="a" width="3"]<a href="x"><img src="a.jpg"></a> 海の<em>夕方</em>[/caption]',
        '[caption id="a" caption="海の<em>夕方</em>"]<a href="x"><img src="a.jpg"></a>[/caption]',
    ],
)
def test_a_caption_is_a_figure(source: str) -> None:
    found = html(source).replace("\n", "")
    assert '<figure><p><a href="x"><img src="a.jpg"></a></p>' in found or '<a href="x"><img src="a.jpg"></a>' in found
    assert "<figcaption>海の<em>夕方</em></figcaption>" in found


def test_a_doubled_shortcode_is_shown_and_not_run() -> None:
    shown = content('[[gallery ids="1"]] [[other a="1"]] [注: 文] [1] <code>[x a="1"]</code> [box]太字[/box]')
    assert shown.body == '<p>[gallery ids="1"] [[other a="1"]] [注: 文] [1] <code>[x a="1"]</code> [box]太字[/box]</p>'
    assert shown.unshown == (Unshown(Lack.SHORTCODE, "box"),)


def test_the_mark_divides_a_body() -> None:
    assert content("一\n<!--more つづきを読む-->\n二")[:3] == ("<p>一</p>", "<p>二</p>", "つづきを読む")
    blocks = "<!-- wp:paragraph -->\n<p>a</p>\n<!-- /wp:paragraph -->\n\n<!-- wp:more -->\n<!--more-->\n<!-- /wp:more -->\n\n<!-- wp:paragraph -->\n<p>b</p>\n<!-- /wp:paragraph -->"
    assert content(blocks)[:3] == ("<p>a</p>", "<p>b</p>", "")


@given(st.text(alphabet=st.sampled_from("ab\n<>/ph[]c-!\"'= \x00")))
def test_any_text_gives_html_with_its_words(source: str) -> None:
    assert html(source).count("a") == html(source.replace("b", "")).count("a")


@pytest.mark.parametrize(
    "piece",
    [
        "<p",
        "[caption]",
        "[gallery]",
        *(
            pytest.param(each, marks=pytest.mark.thorough)
            for each in [
                "<",
                "<!--",
                '<a href="',
                "\n",
                "<div>",
                "[code]",
                "]]>",
                "http://a ",
                "<!-- wp:",
                "<!--more",
                "[[gallery",
                '<!-- wp:block {"ref":1} /-->',
                "<!-- wp:footnotes /-->",
                "[x a=1]",
                ' id="a-link"',
                "<pre>",
                "[/x]",
            ]
        ),
    ],
)
def test_time_is_linear(piece: str) -> None:
    files = {str(number): Attachment(str(number), "https://a.example/a.jpg", parent="1") for number in range(1, 1_000)}
    content(piece * 200_000, Surroundings("1", {"1": "<p>a</p>"}, files, '[{"id":"a","content":"b"}]'))
