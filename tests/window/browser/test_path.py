"""A person's path in a real browser: from an address, a file or a sign-in to a verified and scheduled backup."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.service.wordpress_server import WordPress, sample, served
from tests.site.browser.test_audit import audit
from tests.support.generated import generated_blog
from tests.support.oauth_server import CLIENT_ID, CLIENT_SECRET, OAuthServer, guarded
from tests.support.runs import findings
from tests.window.browser.conftest import in_front
from tests.window.browser.visitor import BEGIN, PATIENCE_MS, Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

MT_FILE = """\
TITLE: 港の朝
AUTHOR: hanako
DATE: 04/01/2006 07:30:00 AM
STATUS: Publish
-----
BODY:
<p>今朝は早く目が覚めたので、港まで歩いてみました。</p>
-----
COMMENT:
AUTHOR: taro
DATE: 04/02/2006 08:00:00 AM
いい朝ですね。
-----
--------
"""
GUARDED_ID = "generated.blog.example.jp"
MOST_CLICKS_BEFORE_AN_EXPORT = 6


@contextmanager
def wordpress() -> Iterator[WordPress]:
    """Serve a WordPress from a thread."""
    blog, started = sample(), Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]()
    del blog.posts[154]  # only someone with its password can read it

    async def run() -> None:
        ended = asyncio.Event()
        async with served(blog):
            started.set_result((asyncio.get_running_loop(), ended))
            await ended.wait()

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    loop, ended = started.result()
    try:
        yield blog
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()


@pytest.fixture
def guarded_service(tmp_path: Path) -> Iterator[OAuthServer]:
    """Serve a blog only to its owner, and let the settings know the service as Ninja Blog is known."""
    with guarded(generated_blog(6, 2, 0)) as server:
        settings = tmp_path / ".config" / "blog-exporter" / "blog-exporter.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(
            f'[profiles.hoshi]\nblog_hosts = "{GUARDED_ID}"\nbase_url = "{server.base_url}"\n'
            'oauth_authorize_url = "{base_url}/oauth"\noauth_token_url = "{base_url}/oauth/token"\n'
        )
        yield server


def is_good(page: Page) -> None:
    """Check that a page can be used by everybody: axe finds nothing, and nothing is wider than the window."""
    assert audit(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def signs_in(visitor: Visitor) -> None:
    """Sign in to the guarded service, from the page of a blog that was found there."""
    page = visitor.page
    page.get_by_label("クライアント ID").fill(CLIENT_ID)
    page.get_by_label("クライアントシークレット").fill(CLIENT_SECRET)
    visitor.click(visitor.button("サービスでサインインする"))
    link = page.get_by_role("link", name="サービスのページを開く")
    link.wait_for(timeout=PATIENCE_MS)
    is_good(page)
    with page.context.expect_page() as opens:
        visitor.click(link)
    visitor.click(opens.value.get_by_role("button", name="Allow"))
    opens.value.wait_for_url("http://127.0.0.1:*/**", timeout=PATIENCE_MS)
    opens.value.close()
    page.get_by_text("サインイン済みです").wait_for(timeout=PATIENCE_MS)


def test_from_a_pasted_address_to_a_scheduled_backup(visitor: Visitor) -> None:
    page = visitor.page
    with wordpress() as blog:
        page.goto(visitor.window.address)
        is_good(page)
        visitor.looks_at(blog.url)
        assert page.get_by_role("heading", level=1).inner_text() == "海の日記 & more"
        assert "記事 141 件" in page.locator(".counts").inner_text()
        is_good(page)
        visitor.begins()
    is_good(page)
    assert "すべて保存されています" in page.locator(".health").inner_text()
    root = visitor.window.home / "blogs" / "127.0.0.1"
    assert findings(root) == []
    assert str(root) in visitor.window.crontab
    assert visitor.clicks <= MOST_CLICKS_BEFORE_AN_EXPORT
    visitor.click(visitor.button("ブログを読む"))
    page.wait_for_url("**/site/index.html", timeout=PATIENCE_MS)
    assert not page.url.startswith(visitor.window.origin)
    assert "海の日記" in page.title()


def test_by_keyboard_alone(browser: Browser, tmp_path: Path) -> None:
    with wordpress() as blog, in_front(browser, tmp_path, 1280) as visitor:
        page = visitor.page
        page.goto(visitor.window.address)
        page.keyboard.type(blog.url)  # the field has the focus already
        page.keyboard.press("Enter")
        begin = visitor.button(BEGIN)
        begin.wait_for(timeout=PATIENCE_MS)
        for _ in range(60):
            page.keyboard.press("Tab")
            if begin.evaluate("button => button === document.activeElement"):
                break
        page.keyboard.press("Enter")
        visitor.sees_the_end()
        assert "すべて保存されています" in page.locator(".health").inner_text()
    assert findings(tmp_path / "blogs" / "127.0.0.1") == []


def test_without_scripts(browser: Browser, tmp_path: Path) -> None:
    with wordpress() as blog, in_front(browser, tmp_path, 1280, scripts=False) as visitor:
        visitor.saves_address(blog.url)
        assert "すべて保存されています" in visitor.page.locator(".health").inner_text()
    assert findings(tmp_path / "blogs" / "127.0.0.1") == []


def test_from_a_dropped_file_to_an_archive(visitor: Visitor, tmp_path: Path) -> None:
    file = tmp_path / "書き出し.txt"
    file.write_text(MT_FILE, "utf-8")
    visitor.drops(file)
    assert "記事 1 件" in visitor.page.locator(".counts").inner_text()
    is_good(visitor.page)
    visitor.begins()
    is_good(visitor.page)
    (root,) = (visitor.window.home / "blogs").iterdir()
    assert findings(root) == []
    assert visitor.page.get_by_label("このブログの新しい書き出しファイル").is_visible()
    assert visitor.clicks <= MOST_CLICKS_BEFORE_AN_EXPORT


def test_from_a_sign_in_to_a_scheduled_backup(visitor: Visitor, guarded_service: OAuthServer) -> None:
    page = visitor.page
    visitor.looks_at(f"https://{GUARDED_ID}/")
    is_good(page)
    signs_in(visitor)
    is_good(page)
    visitor.begins()
    root = visitor.window.home / "blogs" / GUARDED_ID
    assert findings(root) == []
    assert str(root) in visitor.window.crontab
    assert visitor.clicks <= MOST_CLICKS_BEFORE_AN_EXPORT
    secrets = guarded_service.issued
    said = [path.read_text("utf-8") for path in visitor.window.jobs.all()[0].folder.parent.rglob("*.json*")]
    assert secrets
    assert not [text for text in said for secret in (*secrets, CLIENT_SECRET) if secret in text]
