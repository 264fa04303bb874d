"""A blog at a public address, as a real server on loopback: posts, feed, sitemap, list pages, pictures, limits.

The markup has the public shape of two Japanese services. Everything around the posts changes with every answer, as
counters and advertisements do.
"""

from __future__ import annotations

import gzip
import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from html import escape
from zlib import crc32

from aiohttp import web
from aiohttp.test_utils import TestServer

from exporter.setting_types import zone
from tests.support.pictures import png

JST = zone("JST")


@dataclass
class BlogPost:
    """A post and its comments, each a name and a text."""

    number: int
    title: str
    text: str
    date: datetime
    category: str = "日記"
    comments: list[tuple[str, str]] = field(default_factory=list)
    edited: datetime | None = None


@dataclass
class PublicBlog:
    """The blog.

    Attributes:
        form: ``fc2`` (RDF 1.0, EUC-JP) or ``livedoor`` (Atom, UTF-8).
        posts: by number.
        sitemap: whether there is a sitemap.
        refused_every: every such request is answered with 429 or 503; 0 for none.
        dead_every: every such picture is missing.
        robots: the text of robots.txt; ``None`` for 404.
        overrides: the status and text of answers, by path; a text with 302 is where it leads.
        asked: the paths of all requests, with their queries.
        authorised: those of the requests with credentials.
    """

    form: str
    posts: dict[int, BlogPost]
    sitemap: bool = True
    refused_every: int = 0
    dead_every: int = 20
    robots: str | None = None
    overrides: dict[str, tuple[int, str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    authorised: list[str] = field(default_factory=list)
    origin: str = ""

    def __post_init__(self) -> None:
        self._turn = itertools.count(1)
        self._pauses = 0

    @property
    def encoding(self) -> str:
        return "euc_jp" if self.form == "fc2" else "utf-8"

    def address(self, number: int) -> str:
        return f"{self.origin}/" + (f"blog-entry-{number}.html" if self.form == "fc2" else f"archives/{number}.html")

    def newest(self) -> list[BlogPost]:
        return sorted(self.posts.values(), key=lambda post: post.date, reverse=True)

    async def handle(self, request: web.Request) -> web.Response:
        path = request.path_qs
        self.asked.append(path)
        if "Authorization" in request.headers:
            self.authorised.append(path)
        turn = next(self._turn)
        if self.refused_every and turn % self.refused_every == 0:
            self._pauses += 1
            return web.Response(status=(429, 503)[self._pauses % 2], headers={"Retry-After": "0"})
        if path in self.overrides:
            status, text = self.overrides[path]
            if status == 302:
                raise web.HTTPFound(text)
            return web.Response(status=status, text=text, content_type="text/html")
        found = self.answer(path)
        if found is None:
            return web.Response(
                status=404, text="<html><body>ページがありません</body></html>", content_type="text/html"
            )
        body, kind = found
        return web.Response(body=body, headers={"Content-Type": kind})

    def answer(self, path: str) -> tuple[bytes, str] | None:
        charset = {"euc_jp": "EUC-JP"}.get(self.encoding, "UTF-8")
        page = f"text/html; charset={charset}"
        if path == "/robots.txt":
            return None if self.robots is None else (self.robots.encode(), "text/plain")
        if path in {"/sitemaps.xml", "/sitemap.xml.gz"} and self.sitemap:
            body = self.sitemap_xml().encode()
            return (gzip.compress(body), "application/gzip") if path.endswith("gz") else (body, "text/xml")
        if path == "/sitemap.xml" and self.sitemap and self.form != "fc2":
            index = f"<sitemapindex><sitemap><loc>{self.origin}/sitemap.xml.gz</loc></sitemap></sitemapindex>"
            return index.encode(), "text/xml"
        if path == ("/?xml" if self.form == "fc2" else "/atom.xml"):
            return self.feed().encode(self.encoding, "xmlcharrefreplace"), "application/xml"
        if path.startswith("/wp-content/uploads/"):
            name, thumbnail, _ = path.rpartition("/")[2].partition("-300x200")
            number = int(name.partition(".")[0])
            exists = bool(thumbnail) or number % 2 == 0
            return (png(number, 3 if thumbnail else 30), "image/png") if exists else None
        if path.startswith("/img/"):
            number = int(path.rpartition("/")[2].partition(".")[0])
            return None if self.dead_every and number % self.dead_every == 0 else (png(number), "image/png")
        named = self.number(path)
        if named is not None:
            post = self.posts.get(named)
            return None if post is None else (self.page(post).encode(self.encoding, "xmlcharrefreplace"), page)
        listed = self.list_page(path)
        return None if listed is None else (listed.encode(self.encoding, "xmlcharrefreplace"), page)

    def number(self, path: str) -> int | None:
        begin, end = ("/blog-entry-", ".html") if self.form == "fc2" else ("/archives/", ".html")
        digits = path.removeprefix(begin).removesuffix(end)
        return int(digits) if path.startswith(begin) and digits.isdecimal() else None

    def list_page(self, path: str) -> str | None:
        parts = path.removeprefix("/page-").removesuffix(".html") if self.form == "fc2" else path.removeprefix("/?p=")
        number = 0 if path == "/" else int(parts) if parts.isdecimal() else -1
        shown = self.newest()[10 * number : 10 * number + 10] if number >= 0 else []
        if not shown:
            return None
        following = f"/page-{number + 1}.html" if self.form == "fc2" else f"/?p={number + 1}"
        titles = "".join(f'<h2><a href="{self.address(post.number)}">{escape(post.title)}</a></h2>' for post in shown)
        more = f'<a rel="next" href="{following}">次のページ</a>' if len(shown) == 10 else ""
        return self.framed("ブログ", titles + more)

    def framed(self, title: str, content: str, head: str = "") -> str:
        """Return a page with side bars that change with every answer."""
        counter = len(self.asked)
        feed = "/?xml" if self.form == "fc2" else "/atom.xml"
        kind = "application/rss+xml" if self.form == "fc2" else "application/atom+xml"
        return (
            f'<!DOCTYPE html><html lang="ja"><head><title>{escape(title)}</title>{head}'
            f'<link rel="alternate" type="{kind}" href="{self.origin}{feed}"></head><body>'
            f'<div id="side">アクセス {counter} 人目 <a href="https://ad.example/{counter}">広告</a>'
            f'<a href="javascript:alert(1)">x</a></div><div id="main">{content}</div></body></html>'
        )

    def page(self, post: BlogPost) -> str:
        body = f'{post.text}<img src="/img/{post.number}.png" alt="写真">'
        if self.form == "fc2":
            comments = "".join(
                f'<div class="comment" id="comment{post.number}{at}"><h3 class="comment_title">Re</h3>'
                f'<span class="comment_author">{escape(name)}</span><span class="comment_date">2020/01/02 03:{minute(text)}</span>'
                f'<div class="comment_text"><p>{escape(text)}</p></div></div>'
                for at, (name, text) in enumerate(post.comments)
            )
            rdf = (
                f'<!--<rdf:RDF><rdf:Description rdf:about="{self.address(post.number)}" dc:title="{escape(post.title)}" '
                f'dc:identifier="{self.address(post.number)}" dc:subject="{escape(post.category)}" '
                f'dc:date="{post.date.isoformat()}" /></rdf:RDF>-->'
            )
            content = (
                f'<div class="ently_outline"><h2 class="ently_title">{escape(post.title)}</h2>'
                f'<div class="ently_date">{post.date:%Y/%m/%d}</div><div class="ently_text">{body}</div>'
                f'<a href="/blog-category-1.html">{escape(post.category)}</a></div>{rdf}'
                f'<div class="comment_list">{comments}</div>'
            )
            return self.framed(f"{post.title} - ブログ", content)
        comments = "".join(
            f'<li class="comment-set" id="comment-{post.number}{at}"><div class="comment-author">{escape(name)}</div>'
            f'<div class="comment-date">2020年01月02日 03:{minute(text)}</div><div class="comment-body">{escape(text)}</div></li>'
            for at, (name, text) in enumerate(post.comments)
        )
        content = (
            f'<article class="article"><h1 class="article-title">{escape(post.title)}</h1>'
            f'<p class="article-date"><time datetime="{post.date.isoformat()}">{post.date:%Y年%m月%d日}</time></p>'
            f'<div class="article-body"><div class="article-body-inner">{body}</div></div>'
            f'<div class="article-category"><a href="/archives/cat_1.html">{escape(post.category)}</a></div>'
            f"</article><ol>{comments}</ol>"
        )
        head = f'<link rel="canonical" href="{self.address(post.number)}">'
        return self.framed(f"{post.title} : ブログ", content, head)

    def feed(self) -> str:
        newest = self.newest()[:10]
        if self.form == "fc2":
            items = "".join(
                f'<item rdf:about="{self.address(post.number)}"><title>{escape(post.title)}</title>'
                f"<link>{self.address(post.number)}</link><dc:date>{post.date.isoformat()}</dc:date></item>"
                for post in newest
            )
            return (
                '<?xml version="1.0" encoding="EUC-JP"?><rdf:RDF xmlns="http://purl.org/rss/1.0/" '
                'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dc="http://purl.org/dc/elements/1.1/">'
                f'<channel rdf:about="{self.origin}/"><title>ブログ</title></channel>{items}</rdf:RDF>'
            )
        entries = "".join(
            f'<entry><title>{escape(post.title)}</title><link rel="alternate" href="{self.address(post.number)}"/>'
            f"<published>{post.date.isoformat()}</published><summary>要約</summary></entry>"
            for post in newest
        )
        return f'<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>ブログ</title>{entries}</feed>'

    def sitemap_xml(self) -> str:
        urls = "".join(
            f"<url><loc>{self.address(post.number)}</loc><lastmod>{(post.edited or post.date).isoformat()}</lastmod></url>"
            for post in sorted(self.posts.values(), key=lambda post: post.number)[:-1]
        )
        return (
            '<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
            f"<url><loc>{self.origin}/</loc></url>{urls}</urlset>"
        )


def minute(text: str) -> str:
    """Return the minute at which a comment was written."""
    return f"{crc32(text.encode()) % 60:02d}"


def posts(count: int, first: int = 1001) -> dict[int, BlogPost]:
    """Return posts with texts of their own and comments on every fifth."""

    def made() -> Iterator[BlogPost]:
        for number in range(first, first + count):
            comments = [("花子", f"感想 {number}"), ("太郎", "ありがとう")] if number % 5 == 0 else []
            yield BlogPost(
                number,
                f"第{number}話 & 「題」",
                f"<p>{number}日目の本文です。表①と㈱の話。</p><script>ad({number})</script>",
                datetime(2015, 1, 1, 12, 0, tzinfo=JST) + timedelta(days=number - first),
                ("日記", "旅行")[number % 2],
                comments,
            )

    return {post.number: post for post in made()}


@asynccontextmanager
async def serving(blog: PublicBlog) -> AsyncIterator[str]:
    """Serve a blog; yield its origin."""
    app = web.Application()
    app.router.add_get("/{path:.*}", blog.handle)
    server = TestServer(app, host="127.0.0.1")
    await server.start_server()
    blog.origin = str(server.make_url("/")).rstrip("/")
    try:
        yield blog.origin
    finally:
        await server.close()
