"""The site's design on other pages: a record, a change, a whole blog, a message, and the fleet's page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from exporter.archive.fleet_folder import archive_place
from exporter.fleet.index_page import make_index_page
from exporter.fleet.local_pool import LocalPool
from exporter.html.pages import message_page
from exporter.model.kinds import Kind
from exporter.service.registry import DEFAULT_SERVICE
from exporter.settings import resolve
from exporter.site import SiteOptions
from exporter.site.single import OneFilePages
from tests.archive.builder import Built
from tests.fleet.building import build_blog, entry
from tests.site.browser.test_audit import WIDTHS, audit, invalid
from tests.site.browser.test_exports import program
from tests.site.test_single import edited
from tests.support.runs import Runs, Zygote

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

PAPERS = {"light": "rgb(251, 250, 246)", "dark": "rgb(21, 25, 27)"}


@pytest.fixture(scope="module")
def pages(demo: Built, tmp_path_factory: pytest.TempPathFactory, zygote: Zygote) -> Path:
    """A folder with one page of each kind."""
    folder = tmp_path_factory.mktemp("beside")
    built = edited(folder / "edited")
    alone = OneFilePages(built.reader, DEFAULT_SERVICE, SiteOptions(title="潮だまり"))
    (folder / "changes.html").write_bytes(alone.changes(built.reader.diff(1, 2, DEFAULT_SERVICE), 1, 2))
    made = OneFilePages(demo.reader, DEFAULT_SERVICE, SiteOptions())
    for name, kind, record_id in (("entry", Kind.ENTRIES, "9"), ("comment", Kind.COMMENTS, "195")):
        found = demo.reader.record(kind, record_id)
        assert found is not None
        (folder / f"{name}.html").write_bytes(made.record(kind, record_id, found.data(), found.version, 3, gone=3))
    (folder / "message.html").write_text(message_page("見つかりません。", "", "ja", ("index.html", "ホーム")), "utf-8")
    with Runs(folder / "runs", zygote) as runs:
        program(
            runs,
            "export",
            "html",
            demo.root,
            folder / "book",
            "--public-open-flg",
            "1",
            "--visible-delete-flg",
            "f",
            "-q",
        )
    fleet = folder / "fleet"
    built = build_blog(fleet, "blog01.example.jp", [entry(1)])
    site = archive_place(fleet, built.blog_id) / "latest" / "site"
    site.mkdir(parents=True)
    (site / "index.html").write_text(message_page("題", "", "ja"), "utf-8")
    make_index_page(fleet, resolve({}, environ={}), LocalPool(1), "ja", "")
    return folder


NAMES = ("changes.html", "entry.html", "comment.html", "message.html", "book/book-public.html", "fleet/index.html")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_they_have_the_site_s_paper_and_no_fault(chromium: Browser, pages: Path, scheme: Any, width: str) -> None:
    context = chromium.new_context(color_scheme=scheme, viewport={"width": WIDTHS[width], "height": 800})
    page = context.new_page()
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    for name in NAMES:
        page.goto((pages / name).as_uri())
        for summary in page.locator("summary").all():
            summary.click()
        assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == PAPERS[scheme], name
        assert "Mincho" in page.evaluate("getComputedStyle(document.querySelector('h1')).fontFamily"), name
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        assert audit(page) == [], name
    context.close()
    assert [url for url in requested if not url.startswith(("file:", "data:"))] == []


def test_they_are_valid_html(pages: Path, tmp_path: Path) -> None:
    assert invalid(pages, tmp_path) == {}
