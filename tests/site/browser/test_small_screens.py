"""Every page of three blogs on a phone and on a tablet: widths, touch targets, and font sizes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.archive.builder import Built
from tests.site.crowded_blog import crowded_blog

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

PHONE, TABLET = 375, 768
WRONG = """() => {
  const wide = document.documentElement.clientWidth, found = [];
  const named = (each) => `${each.closest("[class]")?.className} ${each.localName} "${each.textContent.trim().slice(0, 20)}"`;
  if (document.documentElement.scrollWidth !== wide) found.push(`${document.documentElement.scrollWidth} wide`);
  for (const each of document.body.querySelectorAll("*")) {
    if (!each.checkVisibility({ visibilityProperty: true }) || each.closest(".unseen, .skip")) continue;
    const box = each.getBoundingClientRect();
    const inText = getComputedStyle(each).display === "inline" && each.closest("p, .body, .record, dd");
    if (each.matches("a[href], button, summary, select, input") && !inText && (box.width < 23.9 || box.height < 23.9)) {
      found.push(`small, ${box.width} x ${box.height}: ${named(each)}`);
    }
    const speaks = [...each.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if (!speaks || each.closest(".body")) continue;
    const drawing = each.ownerSVGElement, across = drawing?.viewBox.baseVal?.width;
    const scale = across ? drawing.getBoundingClientRect().width / across : 1;
    if (parseFloat(getComputedStyle(each).fontSize) * scale < 10.9) found.push(`tiny: ${named(each)}`);
    if (drawing && (box.left < -1 || box.right > wide + 1)) found.push(`beside the page: ${named(each)}`);
  }
  return found;
}"""
"""Finds elements that are too wide, too small to read, or targets under 24 pixels (WCAG 2.2, 2.5.8) outside of text."""


@pytest.fixture(scope="session")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return crowded_blog(tmp_path_factory.mktemp("crowded") / "blog", entries=60, comments=520)


@pytest.fixture
def small(chromium: Browser) -> Iterator[Page]:
    """A page in a browser with a touch screen."""
    context = chromium.new_context(locale="ja-JP", is_mobile=True, has_touch=True)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("blog", ["demo", "crowded", "hostile"])
def test_every_page_fits_and_is_usable_and_readable(small: Page, blog: str, request: pytest.FixtureRequest) -> None:
    built: Built = request.getfixturevalue(blog)
    folder = built.layout.latest / "site"
    pages = sorted(folder.rglob("*.html"))
    # It has hundreds of entries for the same few templates.
    step = 3 if blog == "hostile" else 1
    wrong = {}
    for path in pages[::step]:
        small.goto(path.as_uri())
        for width in (PHONE, TABLET):
            small.set_viewport_size({"width": width, "height": 812})
            found = small.evaluate(WRONG)
            if found:
                wrong[path.relative_to(folder).as_posix(), width] = found[:5]
    assert len(pages) > 100
    assert wrong == {}
