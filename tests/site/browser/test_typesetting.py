"""Japanese typesetting in browsers: columns from right to left, upright numbers, bold phrases, and readings above words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from exporter.model.kinds import Kind
from tests.archive.builder import record
from tests.site.browser.tabs import Tab, until
from tests.site.building import build, of_records

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

SENTENCE = (
    "春の磯は思いのほか静かで、人の声よりも波の音のほうが近い。岩のくぼみに残った海水のなかに、小さな生きものがいた。"
)
NUMBERS = "2016年3月12日、10匹と8枚、10,000歩、29.5度、A10番、iPhone 12を、全 12 回、午後3:30、1/2、(15)、だけ!? まさか!! 本当! えっ!!!"
BODY = (
    f"<p>{SENTENCE * 3}</p><p>{NUMBERS}<sup><a href='#n'>*1</a></sup>H<sub>2</sub>O、<b>10</b>,000、"
    "<code>x = 12</code></p><h3>磯で見つけたもの 12選</h3>"
    f"<p><img src='data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAAC' width='640' height='900' alt='磯'></p>"
    "<pre>a = 10\nb = 20</pre><table><tr><td>12</td><td>とても長い値</td></tr></table><blockquote><p>1日に2回満ちる。</p></blockquote>"
    f"<iframe src='https://www.youtube.com/embed/12'></iframe><ol><li>{SENTENCE}</li></ol>"
    f"{f'<p>{SENTENCE * 4}</p>' * 12}<p id='n'>[1] 注。</p>"
)
RUBY = "磯の<ruby>潮<rt>しお</rt></ruby>は<ruby>灯台<rt>とうだい</rt></ruby>まで満ちて、"
DOTS = "<em style='text-emphasis: filled sesame'>もういない</em>のだと、<sup>1</sup>思った<sub>2</sub>。"

VERTICAL = "document.documentElement.dataset.way = 'vertical'"
HORIZONTAL = "document.documentElement.dataset.way = 'horizontal'"
LEAF = "document.querySelector('.leaf')"
UPRIGHT = f"[...{LEAF}.querySelectorAll('.upright')]"


@pytest.fixture(scope="session")
def entry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a long entry, which has a continued part; the second entry is short and has plain, bold and marked text."""
    dated = {"year": "2016", "mon": "03", "hour": "08", "min": "00", "sec": "00"}
    compared = (
        f"<p>{SENTENCE * 4}</p><p>{SENTENCE}<strong>{SENTENCE}</strong>{SENTENCE[:8]}<b>{SENTENCE[8:]}</b>{SENTENCE}</p>"
        f"<p>{SENTENCE * 4}</p><p>{RUBY}{SENTENCE}{DOTS}{SENTENCE}{RUBY}{SENTENCE}</p>"
    )
    entries = {
        "1": record(entry_id="1", title="春の磯", entry_text=BODY, ps_text=f"<p>{SENTENCE}</p>", day="12", **dated),
        "2": record(entry_id="2", title="くらべる", entry_text=compared, day="13", **dated),
        "3": record(entry_id="3", title="短い", entry_text="<p>海。</p>", day="14", **dated),
    }
    built = of_records(tmp_path_factory.mktemp("typeset") / "archive", {Kind.ENTRIES: entries})
    build(built)
    return built.layout.latest / "site" / "entry" / "1.html"


def opened(tab: Tab | Page, path: Path) -> None:
    tab.goto(path.as_uri())
    until(tab, "document.querySelector('.title .tool')")


class TestColumns:
    @pytest.mark.parametrize(("width", "height"), [(375, 667), (812, 375), (768, 1024), (1280, 720)])
    def test_columns_and_pictures_fit_the_window(self, page: Page, entry: Path, width: int, height: int) -> None:
        page.set_viewport_size({"width": width, "height": height})
        opened(page, entry)
        page.evaluate(VERTICAL)
        until(page, f"{LEAF}.tabIndex === 0")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        box = page.evaluate(f"{LEAF}.getBoundingClientRect().toJSON()")
        assert 0 <= box["left"] < box["right"] <= width
        assert box["bottom"] <= height
        assert box["height"] >= height * 0.6
        # Also the continued part, pictures, code and tables.
        low, far = page.evaluate(
            f"""(() => {{
              const range = document.createRange();
              const inside = [...{LEAF}.querySelectorAll(".body p, .title p, h1, h3, img, pre, table, .player, li")];
              const boxes = inside.flatMap((each) => (range.selectNodeContents(each), [...range.getClientRects(), each.getBoundingClientRect()]));
              const images = [...{LEAF}.querySelectorAll("img")].map((each) => each.getBoundingClientRect().width);
              return [Math.max(...boxes.map((each) => each.bottom)), Math.max(...images)];
            }})()"""
        )
        assert low <= height
        assert far <= width
        assert page.evaluate(f"{LEAF}.scrollHeight <= {LEAF}.clientHeight")
        assert page.evaluate(
            f"[...{LEAF}.querySelectorAll('pre, table, .player')].every((each) => getComputedStyle(each).writingMode === 'horizontal-tb')"
        )

    def test_the_title_is_the_first_column(self, tab: Tab, entry: Path) -> None:
        opened(tab, entry)
        tab.evaluate(VERTICAL)
        until(tab, f"{LEAF}.tabIndex === 0")
        title, text = (
            tab.evaluate(f"{LEAF}.querySelector('{name}').getBoundingClientRect().toJSON()")
            for name in ("h1", ".body p")
        )
        assert tab.evaluate("innerWidth") > title["right"] > title["left"] >= text["right"]

    def test_keys_go_along_the_columns(self, tab: Tab, entry: Path) -> None:
        place = f"{LEAF}.scrollLeft"
        opened(tab, entry)
        tab.evaluate(VERTICAL)
        until(tab, f"{LEAF}.tabIndex === 0")
        tab.press("ArrowLeft")
        until(tab, f"{place} < 0")
        tab.press("ArrowRight")
        until(tab, f"{place} === 0")
        for onward, back in (("PageDown", "PageUp"), (" ", "PageUp"), ("End", "Home")):
            tab.press(onward)
            until(tab, f"-{place} > {LEAF}.clientWidth * 0.8")
            assert tab.evaluate("scrollY") == 0
            until(tab, self.rests())
            tab.press(back)
            until(tab, f"{place} === 0")
        tab.press("End")
        until(tab, f"-{place} >= {LEAF}.scrollWidth - {LEAF}.clientWidth - 1")
        until(tab, self.rests())
        # At the end the key moves the page, as it does everywhere.
        tab.press("PageDown")
        until(tab, "scrollY > 0")

    @staticmethod
    def rests() -> str:
        """Return the condition that nothing has moved since the condition was last asked for."""
        return f"(window.before === {LEAF}.scrollLeft || (window.before = {LEAF}.scrollLeft, false))"

    def test_the_wheel_goes_along_the_columns(self, page: Page, entry: Path) -> None:
        opened(page, entry)
        page.evaluate(VERTICAL)
        page.mouse.move(500, 400)
        page.mouse.wheel(0, 300)
        until(page, f"{LEAF}.scrollLeft === -300")
        assert page.evaluate("scrollY") == 0
        page.mouse.wheel(0, -900)
        until(page, f"{LEAF}.scrollLeft === 0")
        page.evaluate(HORIZONTAL)
        page.mouse.wheel(0, 300)
        until(page, "scrollY > 0")

    def test_the_hint_goes_after_use(self, tab: Tab, entry: Path) -> None:
        hint = "document.querySelector('.onward')"
        opened(tab, entry)
        assert not tab.evaluate(f"Boolean({hint})")
        tab.evaluate(VERTICAL)
        until(tab, hint)
        assert tab.evaluate(f"{hint}.getAttribute('aria-hidden')") == "true"
        assert tab.evaluate(f"getComputedStyle({hint}, '::before').content.includes('←')")
        tab.press("ArrowLeft")
        until(tab, f"!{hint}")
        tab.press("Home")
        until(tab, f"{LEAF}.scrollLeft === 0")
        assert not tab.evaluate(f"Boolean({hint})")
        opened(tab, entry.parent / "3.html")
        tab.evaluate(VERTICAL)
        until(tab, f"{LEAF}.clientHeight > 100")
        assert not tab.evaluate(f"Boolean({hint})")

    def test_a_found_word_comes_into_sight(self, page: Page, entry: Path) -> None:
        page.goto(f"{entry.as_uri()}?q=%E6%B3%A8%E3%80%82")  # the last paragraph
        until(page, "document.querySelector('.found')")
        page.evaluate(VERTICAL)
        page.click(".found button >> nth=1")
        until(page, f"{LEAF}.scrollLeft < -300")


class TestUprightNumbers:
    def test_short_numbers_are_upright_and_others_untouched(self, tab: Tab, entry: Path) -> None:
        opened(tab, entry)
        tab.evaluate(VERTICAL)
        until(tab, f"{UPRIGHT}.length")
        inside = "[...document.querySelectorAll('.body > p:nth-of-type(2) .upright')].map((each) => each.textContent)"
        assert tab.evaluate(inside) == ["3", "12", "10", "8", "12", "15", "!?", "!!", "!", "*1"]
        assert tab.evaluate(f"{LEAF}.querySelector('.body :is(h2, h3) .upright').textContent") == "12"
        assert tab.evaluate(f"{LEAF}.querySelectorAll(':is(pre, code, table, .player) .upright').length") == 0
        assert tab.evaluate(f"{LEAF}.querySelector('h1').textContent") == "春の磯"

    def test_they_fill_one_square(self, page: Page, entry: Path) -> None:
        opened(page, entry)
        page.evaluate(VERTICAL)
        until(page, f"{UPRIGHT}.length")
        boxes = page.evaluate(
            "[...document.querySelectorAll('.body > p:nth-of-type(2) > .upright')].map((each) => (({ width, height }) => [width, height])(each.getBoundingClientRect()))"
        )
        size = page.evaluate("parseFloat(getComputedStyle(document.querySelector('.body p:nth-of-type(2)')).fontSize)")
        assert len(boxes) == 9
        for width, height in boxes:
            assert height == pytest.approx(size, rel=0.05)
            assert width <= size * 1.6

    def test_horizontal_text_is_restored(self, tab: Tab, entry: Path) -> None:
        whole = "document.querySelector('main').innerHTML"
        words = f"{LEAF}.textContent"
        nodes = (
            "(() => { const all = document.createNodeIterator(document.querySelector('.leaf'), NodeFilter.SHOW_TEXT);"
            " let number = 0; while (all.nextNode()) number += 1; return number; })()"
        )
        opened(tab, entry)
        until(tab, "document.querySelector('.code')")
        before, text, number = tab.evaluate(whole), tab.evaluate(words), tab.evaluate(nodes)
        tab.evaluate(VERTICAL)
        until(tab, f"{UPRIGHT}.length")
        assert tab.evaluate(words) == text
        assert tab.evaluate(whole) != before
        tab.evaluate(HORIZONTAL)
        until(tab, f"!{UPRIGHT}.length")
        assert tab.evaluate(whole) == before
        assert tab.evaluate(nodes) == number


LINES = """(number) => {
  const paragraph = document.querySelectorAll(".body > p")[number], range = document.createRange(), walker = document.createTreeWalker(paragraph, NodeFilter.SHOW_TEXT);
  const starts = [];
  let text = "", last = -Infinity;
  while (walker.nextNode()) {
    const node = walker.currentNode;
    for (let at = 0; at < node.length; at += 1) {
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      const { left, top } = range.getBoundingClientRect();
      if (left < last - 20) starts.push(text.length);
      last = left;
      text += node.data[at];
    }
  }
  return starts;
}"""
"""Returns after how many characters each line but the first begins."""


class TestLines:
    @pytest.mark.parametrize("width", [375, 768, 1280])
    def test_bold_phrases_leave_no_hole(self, page: Page, entry: Path, width: int) -> None:
        page.set_viewport_size({"width": width, "height": 800})
        opened(page, entry.parent / "2.html")
        plain, bold = (page.evaluate(LINES, number) for number in (0, 1))
        assert len(plain) >= 5
        assert bold == plain

    def test_titles_break_between_phrases(self, page: Page, entry: Path) -> None:
        broken = "(name) => getComputedStyle(document.querySelector(name)).wordBreak"
        opened(page, entry.parent / "2.html")
        assert page.evaluate(broken, "h1") == "auto-phrase"
        assert page.evaluate(broken, ".body strong") == "normal"
        page.goto((entry.parent.parent / "index.html").as_uri())
        assert page.evaluate(broken, ".cards strong") == "auto-phrase"

    def test_readings_and_dots_keep_the_lines_equally_high(self, page: Page, entry: Path) -> None:
        opened(page, entry.parent / "2.html")
        line = page.evaluate("parseFloat(getComputedStyle(document.querySelector('.body')).lineHeight)")
        for number in (2, 3):
            lines = (
                page.evaluate(f"document.querySelectorAll('.body > p')[{number}].getBoundingClientRect().height") / line
            )
            assert lines == pytest.approx(round(lines), abs=0.05)
            assert lines > 3

    def test_a_bracket_begins_a_line_without_a_gap(self, page: Page, entry: Path) -> None:
        opened(page, entry.parent / "2.html")
        assert page.evaluate("getComputedStyle(document.querySelector('.body p')).textSpacingTrim") == "trim-start"
        assert page.evaluate("getComputedStyle(document.querySelector('.body p')).lineBreak") == "strict"
