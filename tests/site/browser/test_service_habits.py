"""Keyword links, emoji, and the table of contents of a service, as browsers show them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from exporter import lossless_json
from exporter.model.kinds import Kind
from tests.archive.builder import record
from tests.site.browser.test_audit import audit
from tests.site.building import build, of_records, stored
from tests.support.pictures import png

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

WORDS: Final = (
    "アクセス|トークン|と",
    "ハイパー|テキスト|リンク",
    "Hyper|Text|ual",
    "「|京都|」の",
    "おも|しろ|い",
    "3|DCG|を",
)
HEART: Final = "https://stat100.ameba.jp/blog/ucs/img/char/char3/084.png"
LOST: Final = "https://stat100.ameba.jp/blog/ucs/img/char/char3/004.png"


def linked(words: str) -> str:
    before, word, after = words.split("|")
    return f'{before}<a class="keyword" href="https://d.hatena.ne.jp/keyword/x">{word}</a>{after}'


TEXT: Final = "".join(f"<p>{each.replace('|', '')}</p><p>{linked(each)}</p>" for each in WORDS)
CONTENTS: Final = "<h3>目次</h3><ul class='table-of-contents'>{}</ul>".format(
    "".join(f"<li><a href='#part{at}'>第{at}章</a></li>" for at in range(1, 5))
)
PARTS: Final = "".join(f"<h3 id='part{at}'>第{at}章</h3><p>{'海へ行った。' * 40}</p>" for at in range(1, 5))
AD: Final = "<p>スポンサーリンク</p><p><ins class='adsbygoogle' style='display:block;height:280px'></ins></p>"
LINE: Final = (
    f"<p id='line'>楽しい<img src='{HEART}' alt='ラブラブ'>日と<img src='{LOST}' alt='ウインク'></p><p>楽しい日</p>"
)


@pytest.fixture(scope="session")
def entry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of an entry with all of these."""
    root = tmp_path_factory.mktemp("habits") / "archive"
    dated = {"year": "2016", "mon": "01", "day": "02", "hour": "08", "min": "00", "sec": "00"}
    text = f"{CONTENTS}{LINE}{AD}{TEXT}{PARTS}"
    built = of_records(root, {Kind.ENTRIES: {"1": record(entry_id="1", title="習慣", entry_text=text, **dated)}})
    heart = stored(root, HEART, png(1, 96, 96), refs=[{"entry": "1"}])
    built.commit({Kind.ASSETS: {HEART: lossless_json.dumps(heart.data())}})
    build(built)
    return built.layout.latest / "site" / "entry" / "1.html"


def test_a_keyword_link_never_splits_a_word(page: Page, entry: Path) -> None:
    """In a column of any width, its line has the same length and breaks as without the link."""
    page.goto(entry.as_uri())
    sizes = page.evaluate(
        """() => [...document.querySelectorAll(".body p:has(.keyword)")].map((linked) =>
          [linked.previousElementSibling, linked].map((each) => {
            each.style.cssText = "display: inline-block; margin: 0; width: max-content";
            const found = [each.getBoundingClientRect().width];
            for (let width = 16; width < 200; width += 5) {
              each.style.width = `${width}px`;
              found.push(each.getBoundingClientRect().height);
            }
            return found;
          }))"""
    )
    assert len(sizes) == len(WORDS)
    # A line is the sum of its parts, each rounded to 1/64 of a pixel.
    assert all(plain == pytest.approx(linked, abs=0.1) for plain, linked in sizes)
    assert all(len(set(plain)) > 3 for plain, _ in sizes)


def test_a_keyword_link_looks_like_text_and_is_a_link(page: Page, entry: Path) -> None:
    page.goto(entry.as_uri())
    style = "(each) => [each.parentElement, each].map((one) => getComputedStyle(one).color)"
    around, own = page.locator(".keyword").first.evaluate(style)
    assert around == own
    page.locator(".keyword").first.focus()
    assert page.evaluate("document.activeElement.href") == "https://d.hatena.ne.jp/keyword/x"


def test_an_emoji_has_the_size_of_a_letter(page: Page, entry: Path) -> None:
    page.goto(entry.as_uri())
    width, height = page.locator("img.emoji").evaluate("(each) => [each.width, each.height]")
    letter = page.locator("#line, .body p:has(img.emoji)").evaluate(
        "(each) => parseFloat(getComputedStyle(each).fontSize)"
    )
    assert width == height
    assert letter <= height <= letter * 1.3
    heights = page.evaluate("[...document.querySelectorAll('.body p')].slice(0, 2).map((each) => each.clientHeight)")
    assert heights[0] == heights[1]
    assert page.locator(".entry a:has(img), .used").count() == 0
    assert page.locator("span.emoji").inner_text() == "[ウインク]"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_passes_the_audit(chromium: Browser, entry: Path, scheme: str) -> None:
    context = chromium.new_context(
        color_scheme="dark" if scheme == "dark" else "light", viewport={"width": 375, "height": 800}
    )
    page = context.new_page()
    page.goto(entry.as_uri())
    assert audit(page) == []
    assert page.get_by_text("目次", exact=True).count() == 1
    assert page.locator(".body").get_by_text("スポンサーリンク").count() == 0
    context.close()
