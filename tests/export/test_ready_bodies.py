"""Lazily loaded pictures, buttons, drawings and players for plug-ins arrive in every target as something that a reader sees."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exporter.export.formats import FORMATS
from exporter.export.interface import Preset
from exporter.html.embedded import embedded
from exporter.html.links import absolute
from exporter.html.local_links import AssetMap
from exporter.html.page_body import BodyWriter
from exporter.html.ready import ready
from exporter.model.kinds import Kind
from tests.export.memory import BLOG, Memory, export
from tests.move.home import running_home
from tests.move.moving import move

BASE = f"https://{BLOG}/"
GIF = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
SVG = "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20viewBox='0%200%206%204'%3E%3C/svg%3E"
PICTURES = {
    "a3 Lazy Load": '<img class="lazy lazy-hidden" src="//umi.blog.example.jp/wp-content/plugins/a3-lazy-load/assets/images/lazy_placeholder.gif" data-lazy-type="image" data-src="{p}" alt="海"><noscript><img src="{p}" alt="海"></noscript>',
    "BJ Lazy Load": f'<img class="lazy-hidden" data-lazy-type="image" data-lazy-src="{{p}}" src="{GIF}" alt="海"><noscript><img src="{{p}}" alt="海"></noscript>',
    "WP Rocket": f'<img width="6" height="4" src="{SVG}" alt="海" data-lazy-srcset="{{p}} 6w, {{p}}?w=3 3w" data-lazy-src="{{p}}"><noscript><img width="6" height="4" src="{{p}}" alt="海"></noscript>',
    "Jetpack": f'<img src="{{p}}" alt="海" data-lazy-src="{{p}}?is-pending-load=1" srcset="{GIF}" class="jetpack-lazy-image"><noscript><img data-lazy-fallback="1" src="{{p}}" alt="海"></noscript>',
    "lazysizes": '<img class="lazyload" data-sizes="auto" data-srcset="https://small.example.jp/s.png 300w, {p} 900w" alt="海">',
    "lazysizes with a picture": f'<picture><source data-srcset="{{p}} 2x" srcset="{GIF}" type="image/webp"><img class="lazyload" src="{GIF}" data-src="{{p}}" alt="海"></picture>',
    "Hatena": '<span itemtype="http://schema.org/Photograph"><img class="hatena-fotolife lazy" data-src="{p}" src="https://cdn.example.jp/transparent.png" alt="海"></span>',
    "Ameba": '<img data-src="{p}" class="PhotoSwipeImage" alt="海" width="420">',
    "FC2": '<a href="{p}"><img class="lazy" src="https://static.example.jp/image/spacer.gif" data-original="{p}" alt="海"></a>',
    "livedoor": '<img src="https://parts.example.jp/img/1x1.gif" data-original="{p}" class="pict" alt="海">',
    "note": f'<figure><img class="is-slide lazy" src="{GIF}" data-src="{{p}}" alt="海"><figcaption>浜</figcaption></figure>',
    "AMP": '<amp-img src="{p}" width="6" height="4" layout="responsive" alt="海"><noscript><img src="{p}" alt="海"></noscript></amp-img>',
    "SANGO": f'<img src="{GIF}" data-src="{{p}}" class="lazyload" alt="海"><noscript><img src="{{p}}" alt="海"></noscript>',
    "Cocoon": '<img src="https://umi.blog.example.jp/wp-content/themes/cocoon-master/images/loading.gif" class="lozad lozad-img" data-echo="{p}" alt="海"><noscript><img src="{p}" alt="海"></noscript>',
    "SWELL": f'<img decoding="async" src="{GIF}" data-src="{{p}}" data-aspectratio="6/4" class="lazyload" alt="海"><noscript><img decoding="async" src="{{p}}" alt="海"></noscript>',
    "srcset alone": '<img srcset="{p} 2x, https://small.example.jp/s.png 1x" alt="海">',
    "picture alone": '<picture><source srcset="{p}" type="image/webp"><img alt="海"></picture>',
    "a button": '<form action="/send"><input type="image" src="{p}" alt="海" name="b"></form>',
    "a drawing": '<svg viewBox="0 0 6 4"><title>海</title><image xlink:href="{p}" width="6" height="4"/></svg>',
    "noscript alone": '<div class="photo"><noscript><img src="{p}" alt="海"></noscript></div>',
    "a placeholder and noscript": f'<IMG SRC="{GIF}" ALT="海">\n<NOSCRIPT><IMG SRC="{{p}}" ALT="海"></NOSCRIPT>',
}  # fmt: skip
FLASH = 'type="application/x-shockwave-flash"'
PLAYERS = {
    "YouTube": (
        f'<object width="425" height="344"><param name="movie" value="http://www.youtube.com/v/{{v}}&hl=ja"></param><embed src="http://www.youtube.com/v/{{v}}&hl=ja" {FLASH} width="425" height="344"></embed></object>',
        "https://www.youtube.com/watch?v={v}",
    ),
    "YouTube in XHTML": (
        f'<object {FLASH} data="//jp.youtube.com/v/{{v}}" title="波"><param name="movie" value="//jp.youtube.com/v/{{v}}" /></object>',
        "https://www.youtube.com/watch?v={v}",
    ),
    "Niconico": (f'<embed src="http://ext.nicovideo.jp/thumb_watch/sm{{n}}?w=490" {FLASH}>', "https://www.nicovideo.jp/watch/sm{n}"),
    "Vimeo": (
        '<object><param name="movie" value="http://vimeo.com/moogaloop.swf?clip_id={n}&amp;server=vimeo.com" /></object>',
        "https://vimeo.com/{n}",
    ),
    "Dailymotion": (f'<embed src="http://www.dailymotion.com/swf/{{v}}" {FLASH}>', "https://www.dailymotion.com/video/{v}"),
    "FC2 Video": (f'<embed src="http://video.fc2.com/flv2.swf?i={{v}}&amp;d=1" {FLASH}>', "https://video.fc2.com/content/{v}"),
    "a sound in flashvars": (
        f'<object {FLASH} data="/player.swf"><param name="FlashVars" value="mp3=https%3A//s.example.jp/{{v}}.mp3&amp;loop=1" /></object>',
        "https://s.example.jp/{v}.mp3",
    ),
    "a sound in the query": ('<embed src="/dewplayer.swf?mp3=https://s.example.jp/{v}.mp3">', "https://s.example.jp/{v}.mp3"),
    "Windows Media": (
        '<object classid="clsid:6BF52A52-394A-11D3-B153-00C04F79FAA6"><param name="URL" value="https://s.example.jp/{v}.wmv"><embed type="application/x-mplayer2" src="https://s.example.jp/{v}.wmv"></object>',
        "https://s.example.jp/{v}.wmv",
    ),
    "QuickTime": (
        '<object classid="clsid:02BF25D5-8C17-4B23-BC80-D3488ABDDC6B"><param name="src" value="https://s.example.jp/{v}.mov"></object>',
        "https://s.example.jp/{v}.mov",
    ),
    "a script with Flash": (
        f'<script>AC_FL_RunContent();</script><noscript><object><param name="movie" value="https://s.example.jp/{{v}}.swf"><embed src="https://s.example.jp/{{v}}.swf" {FLASH}></object></noscript>',
        "https://s.example.jp/{v}.swf",
    ),
    "Java": ('<applet archive="https://s.example.jp/{v}.jar" code="Sea.class" width="9">海</applet>', "https://s.example.jp/{v}.jar"),
}  # fmt: skip
BLANK = re.compile(
    r"<img [^>]*\bsrc=[\"'](?:data:|[^\"']*(?:placeholder|transparent|spacer|1x1|loading))|!\[[^\]]*\]\(data:"
)
DEAD = re.compile(r"<(?:object|embed|applet|amp-img|noscript)\b|data-(?:src|original|lazy|echo)", re.IGNORECASE)
ADDRESS = "https://pictures.example.jp/zqp{n}pqz.png"


def bodies() -> Iterator[tuple[int, str, str]]:
    """Yield the number, the name and the body of each entry."""
    for number, (name, written) in enumerate(PICTURES.items(), 1):
        yield number, name, f"<p>前</p><p>{written.replace('{p}', ADDRESS.format(n=number))}</p><p>後</p>"
    for number, (name, (written, _)) in enumerate(PLAYERS.items(), 101):
        yield number, name, f"<p>前</p><p>{filled(written, number)}</p><p>後</p>"


def filled(text: str, number: int) -> str:
    return text.replace("{v}", f"zqv{number}vqz").replace("{n}", f"9{number}")


def plain(written: str, paths: dict[str, str]) -> str:
    """Return an export as plain HTML or Markdown, with the old addresses in place of stored pictures."""
    for path, address in paths.items():
        written = written.replace(f"data:image/png;base64,{path}", address)
    written = re.sub(r"{% endraw %}{{ \"([^\"]*)\" \| relative_url }}{% raw %}", r"\1", written)
    written = re.sub(r"\\+([\"/_])", r"\1", written).replace("&#47;", "/")
    return html.unescape(html.unescape(written))


def missing(text: str) -> list[str]:
    """Return the names of the pictures and players that a text of HTML or Markdown does not show."""
    lost = [
        name
        for number, name in enumerate(PICTURES, 1)
        if not re.search(
            rf"<img [^>]*\bsrc=\"[^\"]*zqp{number}pqz|!\[[^\]]*\]\(<?[^)]*zqp{number}pqz|!\[\[[^\]]*zqp{number}pqz",
            text,
        )
    ]
    for number, (name, (_, address)) in enumerate(PLAYERS.items(), 101):
        link = re.escape(filled(address, number))
        if not re.search(rf"href=\"{link}|\]\(<?{link}|<{link}>", text):
            lost.append(name)
    return lost


WRITTEN: list[tuple[str, dict[str, Any]]] = [
    *((form, {}) for form in FORMATS if form not in {"csv", "redirects", "bagit", "sqlite", "parquet"}),
    *((form, {"body": "html"}) for form, facts in FORMATS.items() if facts.bodies),
    *(("wxr", {"wordpress_body": style}) for style in ("blocks", "plain")),
    *(("markdown", {"preset": preset}) for preset in Preset),
]


@pytest.fixture(scope="module")
def lazy_blog() -> tuple[Memory, dict[str, str]]:
    """Return a blog with an entry for each habit, and the address of each stored picture by its path."""
    made = Memory()
    paths = {}
    for number, name, body in bodies():
        made.entry(str(number), title=name, entry_text=body)
        if number < 100:
            address = ADDRESS.format(n=number)
            paths[made.picture(address, entry_id=str(number))] = address
    return made, paths


def seen(text: str) -> None:
    """Check that a text shows each picture and player, and no trace of how the site of the blog loaded them."""
    assert missing(text) == []
    assert BLANK.findall(text) == []
    assert DEAD.findall(text) == []


@pytest.mark.parametrize(("form", "options"), WRITTEN)
def test_every_format_shows_them(lazy_blog: tuple[Memory, dict[str, str]], form: str, options: dict[str, Any]) -> None:
    blog, paths = lazy_blog
    made = export(form, blog, media_folder=FORMATS[form].media, **options)
    seen(plain(made.everything().decode("utf-8", "replace"), paths))


async def test_a_move_shows_them(lazy_blog: tuple[Memory, dict[str, str]], tmp_path: Path) -> None:
    blog, _ = lazy_blog
    async with running_home() as home:
        outcome = await move(home, blog, tmp_path)
        assert outcome.whole
        for number, name in enumerate(PICTURES, 1):
            (content,) = [each["content"] for each in home.rest_posts.values() if each["title"] == name]
            (source,) = re.findall(r'<img [^>]*\bsrc="([^"]*)"', content.replace("&#47;", "/"))
            assert source in [each["source_url"] for each in home.media.values()], (number, name)
        text = plain("".join(each["content"] for each in home.rest_posts.values()), {})
    assert missing(text)[len(PICTURES) :] == []
    assert BLANK.findall(text) == DEAD.findall(text) == []


def test_the_site_shows_them(lazy_blog: tuple[Memory, dict[str, str]]) -> None:
    blog, paths = lazy_blog
    assets = AssetMap((raw for _, raw in blog.scan(Kind.ASSETS)), BASE)
    text = "".join(BodyWriter(assets.local_path, BASE).html(body, "") for _, _, body in bodies())
    for path, address in paths.items():
        text = text.replace(path, address)
    seen(plain(text, {}))


def test_the_backup_fetches_all_that_is_shown(subtests: pytest.Subtests) -> None:
    for _, name, body in bodies():
        with subtests.test(name=name):
            fetched = {absolute(each.text, BASE) for each in embedded(body)}
            assert {absolute(each.text, BASE) for each in embedded(ready(body))} <= fetched
            assert any("zqp" in (each or "") for each in fetched) == (name in PICTURES)
