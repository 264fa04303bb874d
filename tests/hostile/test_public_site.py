"""Hostile and broken feeds, sitemaps and pages: each is one line, loses no other post, and needs little memory."""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

pytestmark = pytest.mark.thorough

MAX_MEMORY_MB = 300
GOOD = '<article class="h-entry"><h1 class="p-name">よい記事</h1><time class="dt-published" datetime="2020-01-02T03:04:05+09:00">1</time><div class="e-content"><p>{n}番目の本文です。</p></div></article>'
GOOD_POSTS = ("g1", "g2", "g3")
Bodies = dict[str, bytes | str]


@dataclass
class HostileSite:
    """A site with three good posts, and answers by path; ``*`` is any other path."""

    answers: dict[str, Any] = field(default_factory=dict)
    origin: str = ""
    asked: int = 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        path = request.path_qs
        found = self.answers.get(path)
        if found is None and path.strip("/") in GOOD_POSTS:
            found = f"<html><body>{GOOD.format(n=path.strip('/'))}</body></html>"
        if found is None:
            found = self.answers.get("*")
        if callable(found):
            found = found(path)
        if found is None:
            return web.Response(status=404, text="none")
        if isinstance(found, web.StreamResponse):
            return found
        body = (
            found.replace("ORIGIN", self.origin).encode("utf-8", "surrogatepass") if isinstance(found, str) else found
        )
        kind = (
            "text/html" if body[:200].lstrip().lower().startswith((b"<html", b"<!doctype html")) else "application/xml"
        )
        return web.Response(body=body, headers={"Content-Type": kind})


@asynccontextmanager
async def serving(site: HostileSite) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_get("/{path:.*}", site.handle)
    server = TestServer(app, host="127.0.0.1")
    await server.start_server()
    site.origin = str(server.make_url("/")).rstrip("/")
    try:
        yield site.origin
    finally:
        await server.close()


def urls(*places: str) -> str:
    return "<urlset>" + "".join(f"<url><loc>{place}</loc></url>" for place in places) + "</urlset>"


GOOD_MAP = urls(*(f"ORIGIN/{each}" for each in GOOD_POSTS))
HOME = "<html><head><link rel=alternate type='application/rss+xml' href='/feed'></head><body>ブログ</body></html>"


def items(*links: str) -> str:
    return (
        "<rss version='2.0'><channel><title>b</title>"
        + "".join(f"<item><link>{each}</link></item>" for each in links)
        + "</channel></rss>"
    )


def entities(depth: int = 12) -> str:
    names = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, depth))
    return f'<!DOCTYPE r [<!ENTITY e0 "ha">{names}]>'


def page(body: str) -> str:
    return f"<html><body>{body}</body></html>"


MANY = "".join(f"<url><loc>ORIGIN/m{n}.pdf</loc></url>" for n in range(50_000))

CASES: dict[str, dict[str, Any]] = {
    # feeds
    "feed: a billion laughs": {"/feed": entities() + items("&e11;")},
    "feed: a file as entity": {"/feed": "<!DOCTYPE r [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>" + items("&x;")},
    "feed: an entity from the network": {
        "/feed": "<!DOCTYPE r [<!ENTITY % x SYSTEM 'http://127.0.0.1:9/x'> %x;]>" + items("a")
    },
    "feed: nested ten thousand deep": {"/feed": "<rss><channel>" + "<a>" * 10_000 + "</channel></rss>"},
    "feed: cut in the middle": {"/feed": items("ORIGIN/g1", "ORIGIN/g2")[:-60]},
    "feed: control characters": {"/feed": items("ORIGIN/g1\x00\x08").replace("\x00", "\x01")},
    "feed: links of other kinds": {
        "/feed": items("javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "ftp://x/")
    },
    "feed: links to private hosts": {
        "/feed": items("http://169.254.169.254/latest", "http://localhost:1/", "http://[::1]/x")
    },
    "feed: a link with a password": {"/feed": items("http://user:pw@127.0.0.1/x")},
    "feed: leads in a circle": {
        "/feed": items("ORIGIN/g1").replace(
            "<channel>", "<channel><a:link xmlns:a='http://www.w3.org/2005/Atom' rel='next' href='/feed'/>"
        )
    },
    "feed: pages without end": {
        "*": lambda path: (
            items("ORIGIN/g1").replace(
                "<channel>", f"<channel><a:link xmlns:a='http://www.w3.org/2005/Atom' rel='next' href='{path}1'/>"
            )
            if "feed" in path
            else None
        )
    },
    "feed: leads to another host": {
        "/feed": items("ORIGIN/g1").replace(
            "<channel>",
            "<channel><a:link xmlns:a='http://www.w3.org/2005/Atom' rel='next' href='http://evil.example/feed'/>",
        )
    },
    "feed: is a page": {"/feed": page("404")},
    "feed: JSON of numbers": {"/feed": '{"items": [1, null, {"url": 3}, {"url": "ORIGIN/g1", "tags": "x"}]}'},
    "feed: JSON nested deep": {"/feed": '{"items":' + "[" * 100_000},
    "feed: fifty megabytes": {
        "/feed": lambda _: (
            "<rss><channel><item><link>ORIGIN/g1</link><description>"
            + "x" * 50_000_000
            + "</description></item></channel></rss>"
        )
    },
    "feed: UTF-7": {"/feed": b"+ADw-rss+AD4-"},
    "feed: lone surrogates": {"/feed": items("ORIGIN/\ud800")},
    # sitemaps
    "sitemap: a gzip bomb": {"/map": lambda _: gzip.compress(bytes(200_000_000), 1)},
    "sitemap: gzip cut short": {"/map": gzip.compress(GOOD_MAP.encode())[:-12]},
    "sitemap: no gzip": {"/map": b"\x1f\x8b\x08" + b"x" * 100},
    "sitemap: entities": {"/map": entities() + "<urlset><url><loc>&e11;</loc></url></urlset>"},
    "sitemap: an index of itself": {"/map": "<sitemapindex><sitemap><loc>ORIGIN/map</loc></sitemap></sitemapindex>"},
    "sitemap: an index without end": {
        "/map": "<sitemapindex>"
        + "".join(f"<sitemap><loc>ORIGIN/map{n}</loc></sitemap>" for n in range(3_000))
        + "</sitemapindex>"
    },
    "sitemap: fifty thousand files": {"/map": f"<urlset>{MANY}</urlset>"},
    "sitemap: other hosts": {"/map": urls(*(f"https://evil{n}.example/" for n in range(1_000)))},
    "sitemap: other schemes": {"/map": urls("javascript:alert(1)", "data:,x", "//evil.example/", "\\\\evil\\share")},
    "sitemap: one address of a megabyte": {"/map": urls("ORIGIN/" + "a" * 1_000_000)},
    "sitemap: terminal codes": {"/map": urls("http://evil\x1b[31m.example/", "ORIGIN/%1b[31m")},
    "sitemap: an HTML page": {"/map": page("not found")},
    # robots.txt
    "robots: a page": {"/robots.txt": page("x")},
    "robots: two megabytes": {"/robots.txt": "User-agent: *\n" + "Disallow: /no\n" * 150_000 + "Sitemap: ORIGIN/map\n"},
    "robots: patterns without end": {
        "/robots.txt": "User-agent: *\nDisallow: /" + "*a" * 2_000 + "$\nSitemap: ORIGIN/map\n"
    },
    "robots: nonsense": {"/robots.txt": b"\xff\xfe\x00Crawl-delay: nan\nUser-agent: *\nCrawl-delay: -1\n"},
    # pages
    "page: nested a hundred thousand deep": {"/bad": page("<div>" * 100_000)},
    "page: formatting left open": {"/bad": page("<b><i><u>" * 30_000)},
    "page: twenty megabytes of text": {"/bad": lambda _: page("<article>" + "あ" * 7_000_000)},
    "page: a gzip bomb in HTTP": {
        "/bad": lambda _: web.Response(
            body=gzip.compress(bytes(200_000_000), 1), headers={"Content-Encoding": "gzip", "Content-Type": "text/html"}
        )
    },
    "page: no text": {"/bad": b""},
    "page: binary": {"/bad": bytes(range(256)) * 100},
    "page: scripts and frames": {
        "/bad": page(
            GOOD.format(
                n="<script>alert(1)</script><iframe src=javascript:alert(1)></iframe><img src=x onerror=alert(1)>"
            )
        )
    },
    "page: a hundred thousand comments": {
        "/bad": page(
            GOOD.format(n="x")
            + "<ol class=comment-list>"
            + "<li class=comment><b class=fn>a</b><p class=comment-content>b</p></li>" * 30_000
            + "</ol>"
        )
    },
    "page: JSON-LD nested deep": {
        "/bad": page('<script type="application/ld+json">' + '{"@graph":[' * 5_000 + "</script>" + GOOD.format(n="x"))
    },
    "page: leads to another host": {
        "/bad": lambda _: web.Response(status=302, headers={"Location": "http://evil.example/"})
    },
    "page: leads to itself": {"/bad": lambda _: web.Response(status=302, headers={"Location": "/bad"})},
    "page: an unknown encoding": {
        "/bad": lambda _: web.Response(
            body=page(GOOD.format(n="x")).encode(), headers={"Content-Type": "text/html; charset=rot13"}
        )
    },
    "page: canonical of another host": {
        "/bad": page("<link rel=canonical href='https://evil.example/x'>" + GOOD.format(n="x"))
    },
    "page: an empty file name as base": {"/bad": page("<base href='javascript:x'>" + GOOD.format(n="<img src=a.png>"))},
    # list pages
    "list: a calendar without end": {
        "/map": None,
        "/": page(
            "<h2><a href=/g1>1</a></h2><h2><a href=/g2>2</a></h2><h2><a href=/g3>3</a></h2><a href=/2020/01/>x</a>"
        ),
        "*": lambda path: page(f"<a href=/{int(path.split('/')[1]) + 1}/01/>x</a>") if path[1:5].isdecimal() else None,
    },
    "list: a hundred thousand links": {
        "/map": None,
        "/": page("".join(f"<h2><a href=/g{n % 3 + 1}?utm_source={n}>x</a></h2>" for n in range(100_000))),
    },
}


@pytest.mark.parametrize("name", CASES)
async def test_a_hostile_answer_is_one_line_and_costs_little(tmp_path: Path, name: str) -> None:
    answers = CASES[name]
    site = HostileSite({"/robots.txt": "Sitemap: ORIGIN/map", "/": HOME, "/map": GOOD_MAP, "/feed": items("ORIGIN/g3")})
    if "/bad" in answers:
        site.answers["/map"] = urls(*(f"ORIGIN/{each}" for each in (*GOOD_POSTS, "bad")))
    elif "/map" in answers or "/robots.txt" in answers:
        site.answers["/feed"] = items(*(f"ORIGIN/{each}" for each in GOOD_POSTS))
    site.answers.update(answers)
    async with serving(site) as origin:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.hostile.public_child", origin, str(tmp_path / "archive"), "none",
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await asyncio.wait_for(child.communicate(), 120)
    assert child.returncode == 0, err.decode()[-2000:]
    found = json.loads(out)
    assert found["error"] == "", found
    assert {*GOOD_POSTS} <= {*found["entries"]}, found
    for line in (*found["notes"], *found["problems"]):
        assert "\n" not in line
        assert line.isprintable()
        assert len(line) < 1_000
    assert found["memory_mb"] < MAX_MEMORY_MB, found["memory_mb"]
    assert found["exit_code"] in {0, 3}
    if found["exit_code"] == 3:
        assert found["problems"]
