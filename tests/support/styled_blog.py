"""The demo blog as an ordinary public blog on loopback, with all that a page of its time has.

It has styles with imports, a web font, background and lazy pictures, paging, months and categories, comments, a feed,
a sitemap, redirects from old addresses, and the traps of such blogs: reply links, a log-in page, an endless calendar.
``python -m tests.support.styled_blog PORT N`` serves it with N posts until it is stopped.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import lru_cache
from html import escape
from typing import Any
from zlib import crc32

from exporter.demo.content import Blog, demo_blog, fields
from exporter.setting_types import zone
from exporter.text import without_surrogates
from tests.support.box_font import box_font
from tests.support.pictures import png
from tests.support.wire_server import MIXED, PLAIN, Asked, Reply, Way, WireServer

JST = zone("JST")
TITLE = "潮だまり日記"
PAGE_POSTS = 10
FIRST_MADE_ID = 1_001
_OLD_PLACE = re.compile(
    r"(?:https?:)?//(?:files|emoji|pictures|shiodamari\.blog)\.example\.jp(?=/)|https://video\.example\.com(?=/(?:sound|toudai100))"
)
_PICTURE_SOURCE = re.compile(r'(<img\b[^>]*?)\bsrc="([^"]*)"([^>]*)>', re.IGNORECASE)
_PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
_DATE_PARTS = ("year", "mon", "day", "hour", "min", "sec")
_EARLY = datetime(2024, 6, 1, tzinfo=UTC)

_STYLE = """@import url("base.css");
@import 'print.css' print;
body { background: #f4efe4 url(/image/paper.png) repeat; }
#banner { background-image: url("../image/wave.png"); min-height: 40px; }
.entry { background: #fff; border-left: 6px solid rgb(51, 102, 153); margin: 1em 0; padding: 1em; }
.comments li { background: url('/image/bullet.png') no-repeat left center; padding-left: 1em; }
"""
_BASE = """@font-face { font-family: "Shio Box"; src: url("../font/shio.ttf?v=1") format("truetype"); }
h1 .mark { font-family: "Shio Box", monospace; }
body { font-family: sans-serif; max-width: 50em; margin: 0 auto; }
#side { color: #555; }
"""
_SCRIPT = """(function () {
  var show = function (picture) {
    if (picture.dataset.src) { picture.src = picture.dataset.src; picture.removeAttribute("data-src"); }
  };
  var seen = new IntersectionObserver(function (found) {
    found.forEach(function (each) { if (each.isIntersecting) { seen.unobserve(each.target); show(each.target); } });
  });
  document.querySelectorAll("img.lazy").forEach(function (picture) { seen.observe(picture); });
})();
"""


@dataclass(frozen=True)
class StyledPost:
    """A post as the blog shows it; ``body`` is HTML, ``comments`` are the name, the text and the id of each."""

    number: int
    title: str
    body: str
    date: datetime
    category: str
    comments: tuple[tuple[str, str, str], ...] = ()


@dataclass
class StyledBlog:
    """The blog.

    Attributes:
        posts: the public posts by number.
        pictures: pictures by path with query.
        picture_bytes: the size of each made picture.
        validators: whether answers have ``ETag`` and ``Last-Modified``, and unchanged ones are answered with 304.
        counter: whether each page shows how many requests came before, as visitor counters do.
        mixed: whether framing and coding of an answer vary with its address.
        mix: the ways in which they vary.
        ways: how the answers of single paths are sent.
        missing: paths that are answered with 404.
        aliases: paths that are answered like others.
        server: sends the answers, counts the requests and records the exchanges.
    """

    posts: dict[int, StyledPost]
    pictures: dict[str, bytes] = field(default_factory=dict)
    categories: dict[str, str] = field(default_factory=dict)
    picture_bytes: int = 0
    validators: bool = True
    counter: bool = False
    mixed: bool = False
    mix: tuple[Way, ...] = MIXED
    ways: dict[str, Way] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)
    aliases: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.server = WireServer(self.respond, self._way)
        self._newest: list[StyledPost] = []

    @property
    def origin(self) -> str:
        return self.server.origin

    @asynccontextmanager
    async def serving(self, port: int = 0) -> AsyncIterator[str]:
        """Serve the blog; yield its origin."""
        async with self.server.serving(port) as origin:
            yield origin

    @contextmanager
    def serving_in_thread(self, port: int = 0) -> Iterator[str]:
        """Serve the blog in another thread; yield its origin."""
        with self.server.serving_in_thread(port) as origin:
            yield origin

    def address(self, number: int) -> str:
        """Return the permalink of a post."""
        return f"{self.origin}/Entry/{number}/"

    def edit(self, number: int, **changes: Any) -> None:
        """Change a post."""
        self.posts[number] = replace(self.posts[number], **changes)
        self._newest = []

    def newest(self) -> list[StyledPost]:
        """Return all posts, the newest first."""
        if len(self._newest) != len(self.posts):
            self._newest = sorted(self.posts.values(), key=lambda post: (post.date, post.number), reverse=True)
        return self._newest

    def respond(self, asked: Asked) -> Reply:
        """Answer a request."""
        if asked.method not in {"GET", "HEAD"}:
            return Reply(405, b"", (("Allow", "GET, HEAD"),))
        path, _, query = self.aliases.get(asked.path, asked.path).partition("?")
        found = None if path in self.missing else self._found(path, query)
        if found is None:
            return Reply(404, self._framed("ページがありません", "<h1>404</h1>").encode(), _HTML)
        if isinstance(found, Reply):
            return found
        body, kind = found
        headers = [("Content-Type", kind)]
        if kind == _HTML[0][1]:
            headers.append(("Set-Cookie", f"visit={crc32(asked.path.encode())}; Path=/"))
        if self.validators:
            tag = f'"{hashlib.sha1(body, usedforsecurity=False).hexdigest()[:16]}"'
            headers += [("ETag", tag), ("Last-Modified", format_datetime(_EARLY, usegmt=True))]
            if tag in asked.headers.get("if-none-match", ""):
                return Reply(304, b"", (("ETag", tag),))
        return Reply(200, body, tuple(headers))

    def _way(self, asked: Asked, reply: Reply) -> Way:
        if asked.path in self.ways:
            return self.ways[asked.path]
        return self.mix[crc32(asked.path.encode()) % len(self.mix)] if self.mixed else PLAIN

    def _found(self, path: str, query: str) -> tuple[bytes, str] | Reply | None:
        whole = f"{path}?{query}" if query else path
        if whole in self.pictures:
            body = self.pictures[whole]
            return body, _kind(body)
        if path in _FILES:
            make, kind = _FILES[path]
            return make(), kind
        if path.startswith(("/image/", "/photo/")) and path.endswith(".png"):
            return _made_picture(path, self.picture_bytes), "image/png"
        if path == "/robots.txt":
            rules = f"User-agent: *\nDisallow: /admin/\nDisallow: /Calendar/\nSitemap: {self.origin}/sitemap.xml\n"
            return rules.encode(), "text/plain"
        if path == "/sitemap.xml":
            return self._sitemap().encode(), "application/xml"
        if path == "/RSS/":
            return self._feed().encode(), "application/rss+xml; charset=utf-8"
        moved = self._moved(path, query)
        if moved is not None:
            return moved
        page = self._page(path, query)
        return None if page is None else (without_surrogates(page)[0].encode(), _HTML[0][1])

    def _moved(self, path: str, query: str) -> Reply | None:
        if path == "/" and query.startswith("eid="):
            return Reply(302, b"", (("Location", f"/Entry/{query[4:]}/"),))
        if re.fullmatch(r"/Entry/[0-9]+|/Page/[0-9]+|/Category/[0-9]+|/RSS|/index\.html", path):
            to = "/" if path == "/index.html" else f"{path}/"
            return Reply(301, f'<a href="{to}">moved</a>'.encode(), (("Location", f"{self.origin}{to}"), *_HTML))
        if path == "/share":
            return Reply(302, b"", (("Location", "https://social.example/share?" + query),))
        return None

    def _page(self, path: str, query: str) -> str | None:
        parts = path.strip("/").split("/")
        newest = self.newest()
        match parts:
            case [""]:
                return self._list(TITLE, newest, 1, "/Page/{}/")
            case ["Page", number] if number.isdecimal():
                return self._list(TITLE, newest, int(number), "/Page/{}/")
            case ["Entry", number] if number.isdecimal() and int(number) in self.posts:
                return self._entry(self.posts[int(number)], query)
            case ["Category", key, *rest] if key in self.categories and len(rest) < 2:
                name = self.categories[key]
                shown = [post for post in newest if post.category == name]
                return self._list(name, shown, _number(rest), f"/Category/{key}/{{}}/")
            case ["Date", month, *rest] if re.fullmatch(r"[0-9]{6}", month) and len(rest) < 2:
                shown = [post for post in newest if f"{post.date:%Y%m}" == month]
                return self._list(f"{month[:4]}年{month[4:]}月", shown, _number(rest), f"/Date/{month}/{{}}/")
            case ["Calendar", month] if re.fullmatch(r"[0-9]{6}", month):
                return self._calendar(int(month[:4]), int(month[4:]))
            case ["admin", "login"]:
                form = '<form method="post"><input name="name"><input name="word" type="password"></form>'
                return self._framed("ログイン", form)
        return None

    def _list(self, title: str, posts: list[StyledPost], number: int, form: str) -> str | None:
        shown = posts[PAGE_POSTS * (number - 1) : PAGE_POSTS * number] if number > 0 else []
        if not shown:
            return None
        items = "".join(
            f'<div class="entry"><h2><a href="/Entry/{post.number}/">{escape(post.title)}</a></h2>'
            f'<p class="date">{post.date:%Y年%m月%d日}</p>'
            f'<a href="/Entry/{post.number}/#comments">コメント（{len(post.comments)}）</a></div>'
            for post in shown
        )
        links = []
        if number > 1:
            before = "/" if form.startswith("/Page") and number == 2 else form.format(number - 1)
            links.append(f'<a rel="prev" href="{before}">前のページ</a>')
        if len(posts) > PAGE_POSTS * number:
            links.append(f'<a rel="next" href="{form.format(number + 1)}">次のページ</a>')
        return self._framed(title, f"{items}<p class=pager>{' '.join(links)}</p>")

    def _entry(self, post: StyledPost, query: str) -> str:
        address = f"{self.origin}/Entry/{post.number}/"
        comments = "".join(
            f'<li id="comment-{key}"><b class="name">{escape(name)}</b><p class="text">{_lines(text)}</p>'
            f'<a rel="nofollow" href="?reply={key}#form">返信する</a></li>'
            for name, text, key in post.comments
        )
        category = next((key for key, name in self.categories.items() if name == post.category), "")
        content = (
            f'<article class="entry" id="entry"><h2 class="title">{escape(post.title)}</h2>'
            f'<p class="date"><time datetime="{post.date.isoformat()}">{post.date:%Y年%m月%d日 %H:%M}</time></p>'
            f'<div class="body" id="body">{self._body(post)}</div>'
            f'<p class="category"><a href="/Category/{category}/">{escape(post.category)}</a></p>'
            f'<p class="share"><a rel="nofollow" href="/share?url={address}">共有</a> '
            f'<a href="https://social.example/share?url={address}">つぶやく</a></p></article>'
            f'<section id="comments" class="comments"><h3>コメント</h3><ol>{comments}</ol></section>'
        )
        if query.startswith("reply="):
            content += (
                f'<form id="form" method="post"><textarea name="text">&gt;&gt;{escape(query[6:])}</textarea></form>'
            )
        return self._framed(f"{post.title} | {TITLE}", content, f'<link rel="canonical" href="{address}">')

    def _body(self, post: StyledPost) -> str:
        """Return a body with its pictures here; on each third post they are lazy, with a fallback without scripts."""
        body = _OLD_PLACE.sub("", post.body)
        if post.number % 3:
            return body

        def lazy(found: re.Match[str]) -> str:
            kept = f'{found[1]}src="{found[2]}"{found[3]}>'
            return f'{found[1]}class="lazy" src="{_PIXEL}" data-src="{found[2]}"{found[3]}><noscript>{kept}</noscript>'

        return _PICTURE_SOURCE.sub(lazy, body)

    def _calendar(self, year: int, month: int) -> str:
        """Return a month with links to the months around it, without end."""
        before, after = (year * 12 + month - 1 + step for step in (-1, 1))
        links = "".join(
            f'<a href="/Calendar/{each // 12:04d}{each % 12 + 1:02d}/">{word}</a>'
            for each, word in ((before, "前の月"), (after, "次の月"))
        )
        return self._framed(f"{year}年{month}月", links)

    def _framed(self, title: str, content: str, head: str = "") -> str:
        months = sorted({f"{post.date:%Y%m}" for post in self.newest()}, reverse=True)
        archive = "".join(f'<li><a href="/Date/{month}/">{month[:4]}年{month[4:]}月</a></li>' for month in months)
        kinds = "".join(
            f'<li><a href="/Category/{key}/">{escape(name)}</a></li>' for key, name in self.categories.items()
        )
        counter = f"<p>{self.server.asked.total()} 人目</p>" if self.counter else ""
        return (
            f'<!DOCTYPE html>\n<html lang="ja"><head><meta charset="utf-8"><title>{escape(title)}</title>{head}'
            '<link rel="stylesheet" href="/css/style.css"><link rel="shortcut icon" href="/favicon.ico">'
            '<link rel="apple-touch-icon" href="/image/touch.png">'
            f'<link rel="alternate" type="application/rss+xml" title="RSS" href="{self.origin}/RSS/">'
            '<style>#top { background: url("/image/top.png"); }</style></head><body>'
            '<div id="banner"><h1><a href="/">'
            f'<span class="mark">SHIO</span> {TITLE}</a></h1>'
            '<img src="/image/banner-1x.png" srcset="/image/banner-1x.png 1x, /image/banner-2x.png 2x" alt="">'
            '<picture><source media="(max-width: 400px)" srcset="/image/small.png"><img src="/image/wide.png" alt="">'
            '</picture></div><div id="top" style="border-image: url(/image/edge.png) 3">'
            f'{content}</div><div id="side"><h4>月ごと</h4><ul>{archive}</ul><h4>分類</h4><ul>{kinds}</ul>{counter}'
            '<p><a href="/Calendar/201603/">カレンダー</a> <a href="/admin/login">ログイン</a> '
            '<a href="javascript:void(0)">上へ</a> <span id="script"></span></p>'
            '<img loading="lazy" src="/image/foot.png" width="20" height="20" alt="">'
            f'<img class="lazy" src="{_PIXEL}" data-src="/image/late.png" width="20" height="20" alt="">'
            '<noscript><img src="/image/late.png" alt=""></noscript></div>'
            '<script>document.getElementById("script").textContent = "ご訪問ありがとう";'
            'document.cookie = "seen=1";</script><script src="/js/lazy.js" defer></script></body></html>'
        )

    def _feed(self) -> str:
        items = "".join(
            f"<item><title>{escape(post.title)}</title><link>{self.address(post.number)}</link>"
            f'<guid isPermaLink="true">{self.address(post.number)}</guid><pubDate>{format_datetime(post.date)}</pubDate></item>'
            for post in self.newest()[:PAGE_POSTS]
        )
        return (
            f'<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel><title>{TITLE}</title>'
            f"<link>{self.origin}/</link><description>海辺の日記</description>{items}</channel></rss>"
        )

    def _sitemap(self) -> str:
        urls = "".join(
            f"<url><loc>{self.address(post.number)}</loc><lastmod>{post.date.isoformat()}</lastmod></url>"
            for post in self.newest()
        )
        return (
            '<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
            f"<url><loc>{self.origin}/</loc></url>{urls}</urlset>"
        )


_HTML = (("Content-Type", "text/html; charset=utf-8"),)
_FILES: dict[str, tuple[Callable[[], bytes], str]] = {
    "/css/style.css": (_STYLE.encode, "text/css"),
    "/css/base.css": (_BASE.encode, "text/css"),
    "/css/print.css": (b"#side { display: none; }\n".strip, "text/css"),
    "/js/lazy.js": (_SCRIPT.encode, "application/javascript"),
    "/font/shio.ttf": (box_font, "font/ttf"),
    "/favicon.ico": (lambda: png(1, 16, 16), "image/x-icon"),
}


@lru_cache(maxsize=4_096)
def _made_picture(path: str, size: int) -> bytes:
    """Return a picture with a content of its own for each path, of this size in bytes or a little more."""
    number = crc32(path.encode())
    picture = png(number, 60, 40, 200 + number % 50)
    filler = b""
    while len(filler) < size - len(picture):
        filler += hashlib.sha512(filler[-64:] + path.encode()).digest()
    return picture + filler[: max(0, size - len(picture))]


def _kind(body: bytes) -> str:
    kinds = {b"\x89PNG": "image/png", b"GIF8": "image/gif", b"ID3": "audio/mpeg", b"\xff\xfb": "audio/mpeg"}
    return next((kind for start, kind in kinds.items() if body.startswith(start)), "application/octet-stream")


def _number(rest: list[str]) -> int:
    return 1 if not rest else int(rest[0]) if rest[0].isdecimal() else 0


def _lines(text: str) -> str:
    return "<br>".join(escape(line) for line in text.splitlines())


def is_public(record: dict[str, Any]) -> bool:
    """Return whether a reader of the demo blog can see an entry."""
    return (record["open_flg"], record["is_private"], record["period_flg"]) == ("1", "f", "f")


def styled_blog(count: int | None = None, blog: Blog | None = None, **options: Any) -> StyledBlog:
    """Return the public side of the demo blog; with ``count``, that many posts, of which the others are made."""
    blog = blog or demo_blog()
    posts = {post.number: post for post in _demo_posts(blog)}
    if count is not None:
        kept = sorted(posts)[:count]
        posts = {number: posts[number] for number in kept}
        posts |= {post.number: post for post in _made_posts(count - len(kept))}
    pictures = {re.sub(r"https?://[^/]*", "", address): body for address, body in blog.pictures.items()}
    return StyledBlog(posts, pictures, dict(blog.categories), **options)


def _demo_posts(blog: Blog) -> Iterator[StyledPost]:
    for record in map(fields, blog.entries.values()):
        if not is_public(record):
            continue
        year, month, day, hour, minute, second = (int(record[part]) for part in _DATE_PARTS)
        body = record["entry_text"] + (f"<hr>{record['ps_text']}" if record["ps_text"] else "")
        if record["text_format"] == "1":
            body = body.replace("\n", "<br>\n")
        comments = tuple(
            (each["name"], each["cm_text"], each["cm_id"])
            for each in map(fields, blog.comments)
            if each["entry_id"] == record["entry_id"] and each["delete_flg"] == "f"
        )
        first = datetime(year, month, 1, hour % 24, minute % 60, second % 60, tzinfo=JST)
        date = first + timedelta(days=day - 1)  # one entry is of a day that its month does not have
        yield StyledPost(
            int(record["entry_id"]), record["title"], body, date, blog.categories[record["category_id"]], comments
        )


def _made_posts(count: int) -> Iterator[StyledPost]:
    for number in range(FIRST_MADE_ID, FIRST_MADE_ID + count):
        text = "".join(
            f"<p>{number}日目の{part}つ目の話。海は{crc32(b'%d %d' % (number, part)) % 97}色で、風は静かでした。"
            f"{'波の音を聞きながら、ゆっくり歩きました。' * 6}</p>"
            for part in range(8)
        )
        pictures = "".join(f'<img src="/photo/{number}-{part}.png" alt="写真{part}">' for part in range(2))
        comments = (("花子", f"感想 {number}", f"{number}1"),) if number % 5 == 0 else ()
        date = datetime(2010, 1, 1, 12, 0, tzinfo=JST) + timedelta(hours=9 * (number - FIRST_MADE_ID))
        yield StyledPost(number, f"第{number}話 & 「題」", text + pictures, date, "日記", comments)


async def _run(blog: StyledBlog, port: int) -> None:
    async with blog.serving(port) as origin:
        print(json.dumps({"origin": origin, "posts": len(blog.posts)}), flush=True)  # noqa: T201
        await asyncio.Event().wait()


def main() -> None:
    """Serve the blog until the process is stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("count", type=int, nargs="?")
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--picture-bytes", type=int, default=0)
    parser.add_argument("--mixed", action="store_true")
    given = parser.parse_args()
    blog = styled_blog(given.count, picture_bytes=given.picture_bytes, mixed=given.mixed)
    blog.server.delay = given.delay
    asyncio.run(_run(blog, given.port))


if __name__ == "__main__":
    main()
