"""Content that scripts of other services would show becomes a link."""

from __future__ import annotations

import pytest

from exporter.export.post_html import safe_body
from exporter.html.embedded import scripts_in
from exporter.html.markdown import to_markdown
from exporter.html.players import EmbedKind, embeds, page_of
from exporter.html.tree import Element, parse

GIST = "https://gist.github.com/kamome/0a1b2c"
SEEN = [
    (f'<script src="{GIST}.js"></script>', GIST),
    ('<SCRIPT type="text/javascript" src="//gist.github.com/0a1b.js?file=x.py"></SCRIPT>', "https://gist.github.com/0a1b"),
    ('<script src="https://ext.nicovideo.jp/thumb_watch/sm9"></script>', "https://www.nicovideo.jp/watch/sm9"),
    ('<script src="https://asciinema.org/a/14.js" id="asciicast-14"></script>', "https://asciinema.org/a/14"),
    ('<blockquote class="twitter-tweet"><a href="https://twitter.com/x/status/20"></a></blockquote><script src="//platform.twitter.com/widgets.js"></script>', "https://twitter.com/x/status/20"),
    ('<blockquote class="bluesky-embed" data-bluesky-uri="at://did:plc:abc/app.bsky.feed.post/3k"></blockquote><script src="https://embed.bsky.app/static/embed.js"></script>', "https://bsky.app/profile/did:plc:abc/post/3k"),
]  # fmt: skip


@pytest.mark.parametrize(("html", "page"), SEEN)
def test_a_script_becomes_a_link_to_its_content(html: str, page: str) -> None:
    shown = safe_body(f"<p>前</p>{html}<p>後</p>")
    assert f'<a href="{page}">{page}</a>' in shown
    assert "script" not in shown
    assert page in to_markdown(f"<p>前</p>{html}<p>後</p>").text
    assert scripts_in(html) == 1


@pytest.mark.parametrize(
    "source",
    [
        "https://gist.github.com.evil.example/a/0a.js",
        "https://evil.example/?https://gist.github.com/a/0a.js",
        "javascript:alert(1)//gist.github.com/a/0a.js",
        'https://gist.github.com/a/0a.js#" onclick=x',
        "",
    ],
)
def test_other_scripts_are_dropped(source: str) -> None:
    assert page_of(source) is None
    assert safe_body(f"<script src='{source}'>alert(1)</script>") == ""


def test_a_quotation_with_a_text_keeps_it() -> None:
    html = '<blockquote data-bluesky-uri="at://a/app.bsky.feed.post/b"><p>文</p><a href="https://a.example/">日</a></blockquote><script></script>'
    assert "bsky.app" not in safe_body(html)
    assert ">日</a>" in safe_body(html)


PAGE = "https://a.example/b?c=1"
QUOTED = "https%3A%2F%2Fa.example%2Fb%3Fc%3D1"
FRAMES = [
    (f"https://hatenablog-parts.com/embed?url={QUOTED}", PAGE, EmbedKind.PAGE),
    (f"//hatenablog.com/embed/?wide=1&url={QUOTED}#x", PAGE, EmbedKind.PAGE),
    (f"https://cdn.embedly.com/widgets/media.html?src=x&url={QUOTED}", PAGE, EmbedKind.PAGE),
    ("https://cdn.embedly.com/widgets/media.html?url=https%3A%2F%2Fwww.youtube.com%2Fembed%2Fab-_1", "https://www.youtube.com/watch?v=ab-_1", EmbedKind.VIDEO),
    (f"https://www.facebook.com/plugins/post.php?href={QUOTED}", PAGE, EmbedKind.PAGE),
    ("https://embed.example/embed?url=javascript:alert(1)", "https://embed.example/embed?url=javascript:alert(1)", EmbedKind.PAGE),
    ("https://embed.example/embed?url=/a", "https://embed.example/embed?url=/a", EmbedKind.PAGE),
    ("https://a.example/page?url=https://b.example/", "https://a.example/page?url=https://b.example/", EmbedKind.PAGE),
    ("https://[broken/embed?url=https://b.example/", "https://[broken/embed?url=https://b.example/", EmbedKind.PAGE),
    ("https://www.youtube-nocookie.com/embed/a1?start=3", "https://www.youtube.com/watch?v=a1", EmbedKind.VIDEO),
    ("https://www.youtube.com/embed/videoseries?list=x", "https://www.youtube.com/embed/videoseries?list=x", EmbedKind.VIDEO),
    ("https://embed.nicovideo.jp/watch/sm9", "https://www.nicovideo.jp/watch/sm9", EmbedKind.VIDEO),
    ("HTTPS://player.vimeo.com/video/76979871", "https://vimeo.com/76979871", EmbedKind.VIDEO),
    ("https://w.soundcloud.com/player/?url=https%3A//api.soundcloud.com/tracks/1", "https://w.soundcloud.com/player/?url=https%3A//api.soundcloud.com/tracks/1", EmbedKind.SOUND),
    ("https://youtube.com.evil.example/embed/a1", "https://youtube.com.evil.example/embed/a1", EmbedKind.PAGE),
]  # fmt: skip


def frame(source: str, title: str = "") -> Element:
    return Element("iframe", {"src": source, "title": title}, [])


def test_a_frame_becomes_a_link_to_its_content(subtests: pytest.Subtests) -> None:
    for source, address, kind in FRAMES:
        with subtests.test(source=source, address=address, kind=kind):
            (embed,) = embeds(frame(source, " 題\n名 "))
            assert embed == (address, "題 名", kind)


def test_a_query_of_megabytes_is_not_parsed() -> None:
    source = f"https://e.example/embed?{'a&' * 100_000}url={QUOTED}"
    assert next(embeds(frame(source))).address == source


@pytest.mark.parametrize(
    ("html", "kind"),
    [
        ('<video src="/a"></video>', EmbedKind.VIDEO),
        ('<embed src="/a.FLV?x">', EmbedKind.VIDEO),
        ('<audio><source src="/a"></audio>', EmbedKind.SOUND),
        ('<object data="/a.mid"></object>', EmbedKind.SOUND),
        ('<embed src="/a.swf">', EmbedKind.PAGE),
    ],
)
def test_players_are_recognized_by_tag_or_name(html: str, kind: EmbedKind) -> None:
    player = parse(html).children[0]
    assert isinstance(player, Element)
    assert next(embeds(player)).kind is kind


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<p>前<iframe src="https://a.example/1" title="[題]*"></iframe>後</p>', "前\n\n[\\[題\\]\\*](https://a.example/1)\n\n後"),
        (f'<iframe src="https://hatenablog-parts.com/embed?url={QUOTED}"></iframe>', f"[{PAGE}]({PAGE})"),
        ('<a href="https://b.example/"><iframe src="https://a.example/1"></iframe></a>', "[https://a.example/1](https://a.example/1)"),
        ('<details><summary>x</summary><iframe src="//a.example/1" title="題"></iframe></details>',
         '<details><summary>x</summary>\n<div><a href="//a.example/1">題</a></div>\n</details>'),
        ("<iframe src=javascript:x></iframe>a", "a"),
        ("<iframe src=/own></iframe>a", "a"),
    ],
)  # fmt: skip
def test_markdown_has_a_link_in_place_of_a_frame(html: str, expected: str) -> None:
    assert to_markdown(html).text == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('<video src="a.mp4"></video>', '<video src="a.mp4"></video>'),
        ('<audio><source src="a.mp3"></audio>', '<audio><source src="a.mp3"></audio>'),
        ('<object data="a.mp4"></object>', '<object data="a.mp4"></object>'),
        ('<embed src="a.ogg">', '<embed src="a.ogg">'),
        ('<object data="a.html"></object><embed src="a.svg">', "<object></object>"),
        ('<embed src="/a"><object data="javascript:x.mp4"></object>', "<object></object>"),
        ('<video src="javascript:x"></video>', "<video></video>"),
    ],
)
def test_a_player_may_load_a_stored_file_but_no_stored_page(source: str, expected: str) -> None:
    assert safe_body(source) == expected


def test_the_link_of_a_frame_is_rewritten_like_others() -> None:
    def change(body: Element) -> None:
        for node in body.walk():
            if isinstance(node, Element) and node.tag == "a":
                node.attributes["href"] = "7.md"

    assert to_markdown('<iframe src="https://a.example/1" title="題"></iframe>', change).text == "[題](7.md)"
