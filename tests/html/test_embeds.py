"""What scripts of other services would show becomes a link."""

from __future__ import annotations

import pytest

from exporter.export.post_html import safe_body
from exporter.html.embeds import page_of, scripts_in
from exporter.html.markdown import to_markdown

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
def test_there_is_a_link_to_what_a_script_would_show(html: str, page: str) -> None:
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
def test_any_other_script_is_nothing(source: str) -> None:
    assert page_of(source) is None
    assert safe_body(f"<script src='{source}'>alert(1)</script>") == ""


def test_a_quotation_with_a_text_keeps_it() -> None:
    html = '<blockquote data-bluesky-uri="at://a/app.bsky.feed.post/b"><p>文</p><a href="https://a.example/">日</a></blockquote><script></script>'
    assert "bsky.app" not in safe_body(html)
    assert ">日</a>" in safe_body(html)
