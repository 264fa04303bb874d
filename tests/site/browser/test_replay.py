"""ReplayWeb.page shows the captured posts as the blog showed them, at their old addresses, and sends no request elsewhere."""

from __future__ import annotations

import shutil
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from PIL import Image, ImageChops
from playwright.sync_api import Error

from exporter.archive.layout import Layout
from exporter.warc.http_message import decoded
from exporter.warc.lookup import CaptureLookup
from tests.archive.builder import Built
from tests.site.browser.replaying import COLLECTION, Player, player
from tests.site.browser.test_serve import opened
from tests.support.captured_demo import ENTRY_PATH, CapturedDemo, capture_by_program, demo_as_it_is_now

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Frame, Page

    from tests.site.browser.trap import Trap

pytestmark = pytest.mark.browser
HIDDEN = {84}
"""The blog shows the demo's entry with an impossible day, but exports take it for private."""
UNCAPTURED = 90
WITH_EMBED = 67
"""ReplayWeb.page 2.4.6 makes an open ``<iframe>`` of an ``<embed>`` and so hides the rest of the page (wabac.js 242, 294)."""
_STATE = """async () => {
    const loaded = (picture) => picture.complete && !picture.dataset.src;
    for (const picture of document.images) {
        picture.scrollIntoView();  // a lazy picture that is passed between two frames is never seen
        for (let turn = 0; turn < 500 && !loaded(picture); turn++) await new Promise(done => setTimeout(done, 20));
    }
    await document.fonts.ready;
    scrollTo(0, 0);
    const style = (part) => getComputedStyle(document.querySelector(part));
    return {
        text: document.body.innerText,
        title: document.title,
        pictures: [...document.images].map(each => [each.naturalWidth, each.naturalHeight]),
        fonts: [...document.fonts].map(each => [each.family, each.status]),
        mark: document.querySelector(".mark").getBoundingClientRect().width,
        colours: [style("#entry").backgroundColor, style("#entry").borderLeftColor, style("#side").color],
        background: style("body").backgroundImage.replace(/.*mp_\\//, 'url("'),
    };
}"""

_VERIFIED = """async () => {
    const asked = (request) => new Promise((done, failed) => {
        request.onsuccess = () => done(request.result);
        request.onerror = failed;
    });
    const found = [];
    for (const { name } of await indexedDB.databases()) {
        const database = await asked(indexedDB.open(name));
        if (database.objectStoreNames.contains("verification")) {
            found.push(...await asked(database.transaction("verification").objectStore("verification").getAll()));
        }
        database.close();
    }
    return found;
}"""
"""Returns the player's findings when it verified the archive; its own summary counts hashes that it did not compute."""


@dataclass
class Replayed:
    """The demo's WACZ file, and how each post looked on the running blog in the same browser."""

    demo: CapturedDemo
    file: Path
    live: dict[int, Any]
    pixels: dict[int, bytes]


def _key(path: Path) -> Path:
    key = ec.generate_private_key(ec.SECP384R1())
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return path


@pytest.fixture(scope="module")
def _packed(demo: Built, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CapturedDemo]:
    root = tmp_path_factory.mktemp("replay") / "demo"
    shutil.copytree(demo.root, root)
    blog = demo_as_it_is_now(mixed=True)
    with blog.serving_in_thread() as origin:
        blog.missing.add(f"/Entry/{UNCAPTURED}/")
        outcome = capture_by_program(root, origin, ENTRY_PATH)
        assert [each["url"] for each in outcome.problems] == ["https://video.example.com/embed/kamome2018"]
        blog.missing.clear()
        yield CapturedDemo(root, blog, origin)


@pytest.fixture(scope="module")
def replayed(_packed: CapturedDemo, chromium: Browser, _witness: Trap) -> Replayed:
    folder = _packed.root.parent
    _packed.export(folder / "demo.wacz", rendered=True, key=_key(folder / "key.pem"))
    context = opened(chromium, _witness, viewport={"width": 1000, "height": 1200})
    page = context.new_page()
    live, pixels = {}, {}
    for number in sorted(set(_packed.blog.posts) - HIDDEN):
        page.goto(_packed.blog.address(number))
        live[number] = page.evaluate(_STATE)
        pixels[number] = page.locator("body").screenshot()
    context.close()
    return Replayed(_packed, folder / "demo.wacz", live, pixels)


OPENINGS = 4
"""On a busy machine the player's worker may miss the first message of its page, and then waits for ever."""


def player_frame(page: Page, part: str, tries: int = 1200) -> Frame:
    """Return the frame of the player whose address has a part."""
    for _ in range(tries):
        found = [frame for frame in page.frames if part in frame.url]
        if found:
            return found[-1]
        page.wait_for_timeout(50)
    raise AssertionError([frame.url for frame in page.frames])


def foreign(trap: Trap) -> list[str]:
    """Return the requests that left this machine, without those that Chromium makes for itself."""
    return [line for line in trap.asked if not any(host in line for host in ("google.com", "googleapis.com"))]


@pytest.fixture
def page(chromium: Browser, trap: Trap) -> Iterator[Page]:
    context = opened(chromium, trap, viewport={"width": 1000, "height": 1200})
    yield context.new_page()
    context.close()


@pytest.fixture
def playing(replayed: Replayed) -> Iterator[Player]:
    with player(replayed.file) as found:
        yield found


def ready(page: Page, playing: Player) -> Any:
    """Open the player, and return its facts about the archive once it has read it."""
    for _ in range(OPENINGS):
        page.goto(playing.opened())
        for _ in range(300):
            with suppress(Error):  # the player replaces its frame once its worker runs
                frame = player_frame(page, "/replay/?source")
                found = frame.evaluate(f"fetch('/replay/w/api/c/{COLLECTION}?all=1').then(answer => answer.json())")
                if found.get("pages"):
                    return found
            page.wait_for_timeout(50)
    raise AssertionError([frame.url for frame in page.frames])


def replayed_frame(page: Page, playing: Player, url: str, part: str = "#entry") -> Frame:
    """Return the frame with a replayed page, once it shows a part; the player may show another page before."""
    page.goto(playing.framed(url))
    frame = player_frame(page, "mp_/")
    frame.wait_for_selector(part, timeout=30_000)
    frame.wait_for_load_state()
    return frame


def state_of(frame: Frame) -> Any:
    """Return the visible parts of a replayed page; the player may load a page once more at its beginning."""
    for _ in range(5):
        try:
            return frame.evaluate(_STATE)
        except Error:
            frame.page.wait_for_timeout(500)
            frame.wait_for_selector("#entry", timeout=30_000)
    return frame.evaluate(_STATE)


@pytest.mark.long
def test_every_post_looks_as_it_did(replayed: Replayed, playing: Player, page: Page, trap: Trap) -> None:
    blog = replayed.demo.blog
    asked = blog.server.asked.total()
    ready(page, playing)
    different = {}
    for number, live in replayed.live.items():
        if number not in {UNCAPTURED, WITH_EMBED}:
            shown = state_of(replayed_frame(page, playing, blog.address(number)))
            for name, value in live.items():
                if shown[name] != value:
                    different[number, name] = (value, shown[name])
    assert different == {}
    assert len(replayed.live) > 50
    assert blog.server.asked.total() == asked
    assert foreign(trap) == []


def test_a_page_with_a_player_of_old_times_is_whole_in_the_file(
    replayed: Replayed, playing: Player, page: Page
) -> None:
    ready(page, playing)
    address = replayed.demo.blog.address(WITH_EMBED)
    frame = replayed_frame(page, playing, address)
    before, _, _ = replayed.live[WITH_EMBED]["text"].partition("録音に")
    assert frame.locator("body").inner_text().rstrip() == before.rstrip()
    lookup = CaptureLookup(Layout(replayed.demo.root))
    found = lookup.nearest(address)
    assert found is not None
    with lookup.replay(found) as answer, urllib.request.urlopen(address) as page_now:
        recorded = decoded(answer.payload, answer.head.get("content-encoding"), 10_000_000)
        assert recorded == page_now.read()
    assert "録音に" in recorded.decode()


@pytest.mark.parametrize("number", [3, 12, 60])
def test_the_pixels_are_the_same(replayed: Replayed, playing: Player, page: Page, number: int, tmp_path: Path) -> None:
    ready(page, playing)
    frame = replayed_frame(page, playing, replayed.demo.blog.address(number))
    state_of(frame)
    (tmp_path / "live.png").write_bytes(replayed.pixels[number])
    for _ in range(40):
        (tmp_path / "replayed.png").write_bytes(frame.locator("body").screenshot())
        part = 0, 0, 800, 1100  # the screenshot of a frame ends with the window
        shown, live = (Image.open(tmp_path / name).convert("RGB").crop(part) for name in ("replayed.png", "live.png"))
        if ImageChops.difference(shown, live).getbbox() is None:
            return
        page.wait_for_timeout(250)  # backgrounds arrive last
    raise AssertionError(ImageChops.difference(shown, live).getbbox())


def test_the_player_lists_the_posts_and_trusts_the_signature(replayed: Replayed, playing: Player, page: Page) -> None:
    found = ready(page, playing)
    titles = {each["title"] for each in found["pages"]}
    assert {"はじめまして", "朝の海"} <= titles
    assert len(found["pages"]) == len(replayed.live)
    assert found["verify"]["publicKey"]
    frame = player_frame(page, "/replay/?source")
    verified = {each["id"]: each["matched"] for each in frame.evaluate(_VERIFIED)}
    assert verified["signature"] is True


def test_the_player_itself_opens_a_post(replayed: Replayed, playing: Player, page: Page) -> None:
    for _ in range(OPENINGS - 1):
        page.goto(playing.opened(replayed.demo.blog.address(3)))
        with suppress(AssertionError):
            player_frame(page, "mp_/", tries=300)
            break
    player_frame(page, "mp_/", tries=300).get_by_role("heading", name="はじめまして").wait_for(timeout=30_000)


def test_a_rendered_page_says_what_it_is(replayed: Replayed, playing: Player, page: Page) -> None:
    ready(page, playing)
    url = f"https://rendered.blog-exporter.invalid/shiodamari.blog.example.jp/{UNCAPTURED}.html"
    text = replayed_frame(page, playing, url, "article").locator("body").inner_text()
    assert "blog-exporter" in text
    assert replayed.demo.blog.posts[UNCAPTURED].title in text
    # Its old address still gives the captured answer.
    replayed_frame(page, playing, replayed.demo.blog.address(UNCAPTURED), "h1 >> text=404")
