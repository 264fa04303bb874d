"""Captured pages in Chromium: they look as the live blog without scripts, and nothing leaves this machine."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

import pytest

from exporter.html.replay_page import ReplayWriter
from exporter.library.views import present_views, refresh_latest
from exporter.model.kinds import Kind
from exporter.serve.listening import Place
from exporter.settings import resolve
from tests.archive.builder import Built, record
from tests.capture.running import capture
from tests.serve.serving import Served, served
from tests.site.browser.launching import chromium as launched
from tests.site.browser.test_audit import audit
from tests.site.browser.trap import Trap
from tests.support.captures import captured
from tests.support.pictures import png
from tests.support.styled_blog import StyledBlog, styled_blog
from tests.support.wire_server import Asked, Reply, WireServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Frame, Page

pytestmark = pytest.mark.browser

HTML = ("Content-Type", "text/html; charset=utf-8")
_PICTURES = """() => Promise.all([...document.images].map(async picture => {
  await picture.decode().catch(() => 0);
  return [picture.currentSrc || picture.src, picture.naturalWidth];
}))"""
_LOOK = """() => {
  const style = name => { const found = document.querySelector(name); return found ? getComputedStyle(found) : {}; };
  return {
    edge: style('.entry').borderLeftColor, paper: style('body').backgroundImage.includes('/image/paper.png'),
    wave: style('#banner').backgroundImage.includes('/image/wave.png'), font: style('.mark').fontFamily,
    edges: style('#top').borderImageSource.includes('/image/edge.png'),
    loaded: [...document.fonts].map(font => font.family + ' ' + font.status),
    width: document.querySelector('.mark').getBoundingClientRect().width,
  };
}"""


def archive_of(root: Path, blog: StyledBlog) -> Built:
    built = Built(root, blog_id="blog.example")
    records = {
        str(post.number): record(
            entry_id=str(post.number), title=post.title, year=str(post.date.year), mon=str(post.date.month),
            day=str(post.date.day),
        )
        for post in blog.posts.values()
    }  # fmt: skip
    built.commit({Kind.ENTRIES: records})
    return built


def with_site(built: Built, origin: str) -> None:
    settings = resolve({"entry_url": f"{origin}/Entry/{{entry_id}}/", "site_title": "潮だまり日記"}, environ={})
    refresh_latest(built.reader, present_views(settings, built.root, also=["site"]))


@pytest.fixture(scope="module")
def blog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[StyledBlog, Built]]:
    """The running blog, and an archive with a capture of it."""
    made = styled_blog()
    built = archive_of(tmp_path_factory.mktemp("replay") / "blog", made)
    with made.serving_in_thread() as origin:
        hosts = frozenset({"pictures.example.jp", "video.example.com"})
        # Playwright's event loop may run in this thread.
        with ThreadPoolExecutor(1) as thread:
            outcome = thread.submit(lambda: asyncio.run(capture(built.root, origin, skipped_hosts=hosts))).result()
        assert outcome.exit_code == 0, outcome.error
        with_site(built, origin)
        yield made, built


@pytest.fixture(scope="module")
def browser(blog: object) -> Iterator[tuple[Browser, Trap]]:
    """A browser whose requests to other machines go to the trap."""
    with Trap() as trap, launched(None) as chromium:
        yield chromium, trap


def window(browser: tuple[Browser, Trap], *, scripts: bool = True) -> tuple[BrowserContext, list[str]]:
    chromium, trap = browser
    trap.asked.clear()
    asked: list[str] = []
    context = chromium.new_context(
        proxy={"server": f"http://127.0.0.1:{trap.port}", "bypass": "127.0.0.1"}, locale="ja-JP",
        java_script_enabled=scripts, viewport={"width": 1000, "height": 900},
    )  # fmt: skip
    context.on("request", lambda made: asked.append(made.url))
    # The policy of a page blocks these before they reach the network.
    context.on("requestfailed", lambda made: asked.remove(made.url) if made.failure == "csp" else None)
    return context, asked


def replayed(page: Page) -> Frame:
    """Return the frame with the captured page when it is loaded."""
    page.wait_for_load_state("networkidle")
    found = page.query_selector("iframe.replay")
    assert found is not None
    frame = found.content_frame()
    assert frame is not None
    return frame


def outside(asked: list[str], running: Served) -> list[str]:
    """Return the requests that did not go to the server or its replay."""
    port = urlsplit(running.address).port
    return [
        url for url in asked
        if not url.startswith("data:") and (urlsplit(url).hostname != "127.0.0.1" or not _is_own(url, port, running))
    ]  # fmt: skip


def _is_own(url: str, port: int | None, running: Served) -> bool:
    return urlsplit(url).port == port or re.match(r"/[\w-]{20,}/[0-9]{14}/http", urlsplit(url).path) is not None


def test_posts_open_as_the_live_page_without_scripts(
    blog: tuple[StyledBlog, Built], browser: tuple[Browser, Trap]
) -> None:
    made, built = blog
    context, _ = window(browser, scripts=False)
    live = {}
    page = context.new_page()
    posts = list(made.posts)[::3]
    for number in posts:
        page.goto(made.address(number))
        live[number] = page.evaluate("document.body.innerText"), page.evaluate(_PICTURES), page.evaluate(_LOOK)
    context.close()
    before = made.server.asked.total()
    context, asked = window(browser)
    page = context.new_page()
    with served(built.root) as running:
        for number in posts:
            page.goto(f"{running.address}latest/site/entry/{number}.html")
            page.locator("footer.facts a[href*='capture.html?url=']").click()
            frame = replayed(page)
            text, pictures, look = live[number]
            assert frame.evaluate("document.body.innerText") == text, number
            shown = frame.evaluate(_PICTURES)
            assert [width for _, width in shown] == [width for _, width in pictures], number
            assert sum(width > 0 for _, width in shown) > 4
            assert frame.evaluate(_LOOK) == look, number
        assert look["loaded"] == ["Shio Box loaded"]
        assert outside(asked, running) == []
    context.close()
    assert made.server.asked.total() == before
    assert [line for line in browser[1].asked if "example" in line] == []


def test_links_and_lists_stay_in_the_frame(blog: tuple[StyledBlog, Built], browser: tuple[Browser, Trap]) -> None:
    made, built = blog
    context, asked = window(browser)
    page = context.new_page()
    with served(built.root) as running:
        page.goto(f"{running.address}latest/site/capture.html")
        page.locator("table.record a").first.click()
        frame = replayed(page)
        frame.click("a[rel=next]")
        frame.wait_for_url(re.compile(r".*/Page/2/$"))
        frame.click(".entry h2 a")
        frame.wait_for_url(re.compile(r".*/Entry/[0-9]+/$"))
        frame.click("text=つぶやく")
        frame.wait_for_selector("[data-note=missing]")
        assert page.url.startswith(running.address)
        assert outside(asked, running) == []
        assert [line for line in browser[1].asked if "example" in line] == []
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            for path in ("capture.html", f"capture.html?url={quote(made.address(max(made.posts)), safe='')}",
                         "capture.html?url=https://x.example/"):  # fmt: skip
                page.goto(f"{running.address}latest/site/{path}")
                assert audit(page) == []
    context.close()


@dataclass
class Hostile:
    """A server of hostile pages; ``secret`` is an address of the archive's own site."""

    secret: str = ""
    pages: dict[str, Reply] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.server = WireServer(self.respond)

    @property
    def origin(self) -> str:
        return self.server.origin

    def respond(self, asked: Asked) -> Reply:
        return self.pages.get(asked.path, Reply(404, b"", (HTML,)))


OUT = "http://out.example"
BODIES = (
    f"<script>fetch('{OUT}/1'); location = '{OUT}/2'; top.location = '{OUT}/3'; document.title = 'ran'</script>",
    f"<meta http-equiv=refresh content='0;url={OUT}/4'>",
    f"<base href='{OUT}/'><img src=5.png><link rel=stylesheet href=5.css><a id=go href=6>go</a>",
    f"<iframe src='{OUT}/7'></iframe><iframe srcdoc=\"<script>parent.document.title='ran'</script><img src='{OUT}/8'>\"></iframe>",
    f"<iframe src='javascript:parent.location=\"{OUT}/9\"'></iframe><iframe src='data:text/html,<img src={OUT}/10>'></iframe>",
    (f"<style>@import '{OUT}/11.css'; body {{ background: url({OUT}/12); list-style: u\\72l({OUT}/13) }}</style>"
    f"<p style='background:image-set(\"{OUT}/14\" 1x); cursor: url({OUT}/15), auto'>"),
    f"<style>@font-face {{ font-family: x; src: url({OUT}/16) }} p {{ font-family: x }} </style><p>text",
    (f"<svg><script href='{OUT}/17'></script><image href='{OUT}/18'/><use href='{OUT}/19#a'/>"
    f"<a id=go href='{OUT}/20'><text y=20>go</text></a><animate attributeName=href values='{OUT}/21'/></svg>"),
    f"<a id=go href='{OUT}/22' target=_top ping='{OUT}/23'>go</a>",
    f"<a id=go href='{OUT}/24' target=_blank rel=opener>go</a>",
    f"<form id=form action='{OUT}/25' target=_top><button id=go>go</button></form>",
    f"<button id=go form=f formaction='{OUT}/26'>go</button><form id=f></form>",
    f"<a id=go href=\"javascript:document.title='ran';location='{OUT}/27'\">go</a>",
    f"<img src=x onerror=\"document.title='ran'\"><body onload=\"document.title='ran'\"><video poster='{OUT}/28' src='{OUT}/29'>",
    f"<object data='{OUT}/30'></object><embed src='{OUT}/31'><applet code='{OUT}/32'></applet><object data='/frame.html'></object>",
    (f"<link rel=dns-prefetch href='{OUT}'><link rel=preconnect href='{OUT}'><link rel=prefetch href='{OUT}/33'>"
    f"<link rel=manifest href='{OUT}/34'><link rel=icon href='{OUT}/35'><link rel=preload as=image href='{OUT}/36'>"),
    f"<script type=speculationrules>{{\"prefetch\":[{{\"urls\":[\"{OUT}/37\"]}}]}}</script>",
    "<iframe src='SECRET'></iframe><img src='SECRET'><link rel=stylesheet href='SECRET'><object data='SECRET'></object>",
    "<script>document.title = 'ran'; fetch('SECRET').then(a => a.text()).then(a => document.title = a)</script>",
    f"<frameset cols='50%,50%'><frame src='{OUT}/38'><frame src='/frame.html'></frameset>",
    f"<math><mtext><a id=go xlink:href='{OUT}/39'>go</a></mtext></math><table background='{OUT}/40'><tr><td>x</table>",
    f"<title><a href='</title><img src={OUT}/41>'></title><textarea><img src='{OUT}/42'></textarea>",
    f"<template shadowrootmode=open><img src='{OUT}/43'></template><p><img srcset='{OUT}/44 1x, {OUT}/45 2x'>",
    f"<svg><style><![CDATA[</style><img src='{OUT}/46'>]]></style></svg><img src='//out.example/47'>",
    "<a id=go href='\x01http:\t//out.example/48'>go</a><img src='\\\\out.example\\49'>",
    f"<meta http-equiv=Content-Security-Policy content=\"img-src *; report-uri {OUT}/50\"><img src='{OUT}/51'>",
    f"<meta http-equiv=refresh content='0;url=javascript:document.title=\"ran\"'><noscript><img src='{OUT}/52'></noscript>",
)  # fmt: skip

FRAME = "<iframe src='https://out.example/80'></iframe><link rel=preconnect href='https://out.example:444'>"
DISGUISED = (
    f"<svg><style><p>{FRAME}", f"<math><style><p>{FRAME}</style>", f"<svg><plaintext><p>{FRAME}", f"<svg><xmp><p>{FRAME}</xmp>",
    f"<select><title></select>{FRAME}</title>", f"<template><col><xmp></template>{FRAME}</xmp>",
    f"<template><col><noembed></template>{FRAME}</noembed>", f"<svg><![CDATA[><textarea>]]><p>{FRAME}</textarea>",
    f"<svg><p><title><!--</title>{FRAME}--></title>", f"<svg><desc><title><a title=\"</title>{FRAME}\">",
    f"</a x=\"><p title='\">{FRAME.replace(chr(39), '')}'>", f"<p x=a\vy=\"'>{FRAME}\">", f"<noscript><p>{FRAME}</noscript>",
    f"<noscript><style></noscript>{FRAME}</style>", f"<svg><<!-- -->iframe src=x><p>{FRAME}",
)  # fmt: skip
"""Frames that a tokenizer takes for text, and a browser does not. A policy does not stop a browser that connects ahead."""


@pytest.mark.parametrize("changed", [True, False], ids=["changed", "as captured"])
def test_hostile_pages_request_nothing_outside_and_read_nothing(
    tmp_path: Path,
    blog: tuple[StyledBlog, Built],
    browser: tuple[Browser, Trap],
    monkeypatch: pytest.MonkeyPatch,
    changed: bool,
) -> None:
    """The policies alone hold, even for a page whose addresses were not changed."""
    if not changed:
        monkeypatch.setattr(ReplayWriter, "page", lambda _, html: html)
        monkeypatch.setattr(ReplayWriter, "sheet", lambda _, text: text)
    built = archive_of(tmp_path / "hostile", blog[0])
    with_site(built, "http://127.0.0.1:1")
    hostile = Hostile()
    with hostile.server.serving_in_thread():
        # The captured pages even know the address of the archive's site, secret included.
        with served(built.root) as running:
            port = urlsplit(running.address).port or 0
        secret = f"http://127.0.0.1:{port}/secret/latest/site/index.html"
        headers = (HTML, ("Refresh", f"0;url={OUT}/60"), ("Link", f"<{OUT}/61>; rel=stylesheet"), ("Set-Cookie", "a=b"))
        for number, body in enumerate([*BODIES, *(DISGUISED if changed else ())]):
            hostile.pages[f"/{number}"] = Reply(200, body.replace("SECRET", secret).encode(), headers)
        hostile.pages["/frame.html"] = Reply(200, b"<script>parent.document.title='ran'</script>inner", headers)
        hostile.pages["/svg"] = Reply(200, f"<svg xmlns='http://www.w3.org/2000/svg' xmlns:x='http://www.w3.org/1999/xlink'><script>location='{OUT}/70'</script><a x:href='{OUT}/71'><text id='go' y='20'>go</text></a><image x:href='{OUT}/72' width='9' height='9'/></svg>".encode(), (("Content-Type", "image/svg+xml"),))  # fmt: skip
        hostile.pages["/xml"] = Reply(200, f"<?xml version='1.0'?><?xml-stylesheet href='{OUT}/73' type='text/xsl'?><html xmlns='http://www.w3.org/1999/xhtml'><script>location='{OUT}/74'</script><img src='{OUT}/75'/></html>".encode(), (("Content-Type", "application/xml"),))  # fmt: skip
        hostile.pages["/none"] = Reply(200, f"<html><img src='{OUT}/76'><script>location='{OUT}/77'</script>".encode())
        hostile.pages["/picture"] = Reply(200, png(1), (("Content-Type", "text/html"),))
        captured(built.root, hostile, hostile.pages)
        asked_before = hostile.server.asked.total()
        context, asked = window(browser)
        page = context.new_page()
        page.set_default_timeout(20_000)
        opened: list[str] = []
        said: list[str] = []
        context.on("page", lambda other: opened.append(other.url))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        with served(built.root, Place("127.0.0.1", port, "secret")) as running:
            for path in hostile.pages:
                page.goto(f"{running.address}latest/site/capture.html?url={quote(hostile.origin + path, safe='')}")
                frame = replayed(page)
                go = frame.query_selector("#go")
                if go is not None:
                    go.click(timeout=5000)
                    page.wait_for_timeout(300)
                assert page.url.startswith(running.address), path
                assert page.title() != "ran", path
                # A frame that a policy blocked has no content to ask for.
                for each in page.frames[1:] if changed else ():
                    assert each.evaluate("self.origin") == "null", path
                    assert "潮だまり日記" not in each.evaluate("document.documentElement?.textContent ?? ''"), path
                    assert each.evaluate("document.title") != "ran", path
            assert context.cookies() == []
            # Chromium also reports requests that a policy stopped; those that left it are the trap's.
            assert not changed or outside(asked, running) == []
        context.close()
    assert (opened, said) == ([], [])
    assert [line for line in browser[1].asked if "example" in line] == []
    assert hostile.server.asked.total() == asked_before
