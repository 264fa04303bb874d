"""Each home shows the same as the blog: text, links, pictures, comments and days, read by one browser."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.importers.blogs import Blog, blog
from tests.importers.conftest import Tool
from tests.importers.homes import Seen, epub, generated, ghost, single_page, wordpress
from tests.importers.pages import reader, shown_of
from tests.importers.sites import GENERATORS
from tests.importers.test_wordpress import installed

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["installed"]

Home = Callable[[Tool, Blog, Path], Seen]
Known = Mapping[str, tuple[str, Collection[str]]]

HOMES: dict[tuple[str, str], Home] = {
    **{
        (f"{form}, {body}", name.partition("'")[0]): generated(GENERATORS[name], body)
        for form, name in (
            ("hugo", "Hugo 0.168"),
            ("jekyll", "Jekyll"),
            ("pelican", "Pelican"),
            ("markdown", "Eleventy"),
            ("markdown, eleventy", "Eleventy's starter"),
            ("markdown, astro", "Astro's starter"),
        )
        for body in ("markdown", "html")
    },
    ("ghost", "Ghost 5.130"): ghost,
    ("epub", "Chromium"): epub,
    ("html", "Chromium"): single_page,
}
WORDPRESS = [("wxr", "html"), ("wxr", "blocks"), ("movabletype", "html")]
ALONE = "a line of text replaces players and lost pictures"
LINKED = "Markdown has no players, links replace them"
KNOWN: dict[tuple[str, str], Known] = {
    **{(form, "demo"): {"text": (LINKED, {"41"})} for form, _ in HOMES if form.endswith(" markdown")},
    ("epub", "demo"): {"text": (f"{ALONE}; folded parts are open", {"41", "45", "67", "80", "87"})},
    ("html", "demo"): {"text": (ALONE, {"41", "67", "80", "87"})},
}
"""The known differences in each home, with the reason and the posts."""


def both_blogs(
    homes: Iterable[tuple[str, str]], linked: Container[tuple[str, str]], names: str
) -> pytest.MarkDecorator:
    """Show the demo in each home, and its links to itself in some; the long form has them in all."""
    often = [*(("demo", *home) for home in homes), *(("linked", *home) for home in homes if home in linked)]
    rarely = [("linked", *home) for home in homes if home not in linked]
    return pytest.mark.parametrize(
        f"name, {names}", [*often, *(pytest.param(*row, marks=pytest.mark.slow) for row in rarely)]
    )


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with reader() as opened:
        yield opened


def check(
    tool: Tool, page: Page, folder: Path, name: str, home: Home, form: str, consumer: str
) -> None:  # fmt: skip
    """Move a blog and read it in its new home."""
    with blog(name, folder / "archive") as moved, home(tool, moved, folder) as (places, report):
        given, missed = shown_of(page, moved, places)
        check_missed(missed, KNOWN.get((form, name), {}), f"{form} in {consumer}, {name}")
        assert report["links"]["dead"] == 0
        if name == "linked":
            assert (given.in_page_links, given.own_links) == (8 * 50, 2 * 50)
            assert report["links"] == {"rewritten": 2 * 50, "old_host": 0, "dead": 0}


@both_blogs(HOMES, [home for home in HOMES if home[0] != "ghost"], "form, consumer")
def test_a_home_shows_the_same_as_the_blog(
    tool: Tool,
    monkeypatch: pytest.MonkeyPatch,
    page: Page,
    tmp_path: Path,
    name: str,
    form: str,
    consumer: str,
) -> None:
    monkeypatch.setenv("ASTRO_TELEMETRY_DISABLED", "1")
    check(tool, page, tmp_path, name, HOMES[form, consumer], form, consumer)


@both_blogs(WORDPRESS, WORDPRESS[:1], "form, style")
def test_wordpress_shows_the_same_as_the_blog(
    tool: Tool, installed: Path, page: Page, tmp_path: Path, name: str, form: str, style: str
) -> None:
    label = f"wxr, {style}" if form == "wxr" else form
    check(tool, page, tmp_path, name, wordpress(form, style, installed), label, "WordPress 6.5")


def check_missed(missed: Collection[str], known: Known, label: str) -> None:
    """Fail if the incomplete posts, each as ``ID: thing``, are not exactly the known ones."""
    expected = [f"{post_id}: {kind}" for kind, (_, ids) in known.items() for post_id in ids]
    assert sorted(missed) == sorted(expected), f"{label}: no reason is given"


def test_a_loss_needs_a_reason_for_each_post() -> None:
    known: Known = {"text": ("it shows less", ["7"])}
    check_missed(["7: text"], known, "wxr")
    for missed, reasons in ((["7: text"], {}), ([], known)):
        with pytest.raises(AssertionError, match="wxr: no reason is given"):
            check_missed(missed, reasons, "wxr")
