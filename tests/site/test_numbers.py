"""The form of counts on the site's pages: commas between thousands, and a space at which no line breaks."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pytest

from exporter.model.kinds import Kind
from exporter.service.registry import DEFAULT_SERVICE
from exporter.site import SiteOptions
from exporter.site.fleet_page import BlogCard, FleetPages, IndexRow
from exporter.site.history import ArchiveHistory
from exporter.site.view import SiteView
from exporter.translation import translator
from tests.archive.builder import Built, record
from tests.site.building import of_records

COUNT = 1_050
PAGES = (
    "index", "years", "year/2016", "categories", "comments", "statistics", "about", "history", "history/version-1",
    "history/version-2", "entry/1",
)  # fmt: skip


def large_blog(root: Path) -> Built:
    """Build a blog with 1,050 entries and comments; the second version changes all entries."""
    dated = {"year": "2016", "mon": "03", "hour": "08", "min": "00", "sec": "00"}
    numbers = [str(number) for number in range(1, COUNT + 1)]
    built = of_records(
        root,
        {
            Kind.ENTRIES: {
                each: record(
                    entry_id=each, title="題", entry_text="<p>海。</p>", day=f"{1 + int(each) % 2:02}", **dated
                )
                for each in numbers
            },
            Kind.ENTRY_LIST: {each: record(entry_id=each, category="分類") for each in numbers},
            Kind.COMMENTS: {
                each: record(cm_id=each, entry_id="1", comment="潮。", **dated, day="03") for each in numbers
            },
        },
    )
    changed = record(title="題二", entry_text="<p>海。</p>", day="01", **dated)
    built.commit(
        {Kind.ENTRIES: {each: changed.replace(b"{", f'{{"entry_id":"{each}",'.encode(), 1) for each in numbers}}
    )
    return built


@pytest.fixture(scope="module", params=["ja", pytest.param("en", marks=pytest.mark.thorough)])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The pages with counts, by their paths; no other page is made."""
    reader = large_blog(tmp_path_factory.mktemp("numbers") / "blog").reader
    view = SiteView(DEFAULT_SERVICE, ArchiveHistory(reader, DEFAULT_SERVICE), SiteOptions(language=request.param))
    with contextlib.closing(reader.state()) as state:
        return {
            file.path: file.render().decode()
            for file in view.files(state)
            if file.path.removesuffix(".html") in PAGES or file.path.startswith("category/")
        }


def words(text: str) -> str:
    """Return what a page shows, and the labels that screen readers read aloud."""
    main = text.partition("<main")[2].partition("</main>")[0]
    return " | ".join([re.sub("<[^>]*>", "|", main), *re.findall('aria-label="([^"]*)"', main)])


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.sample(4)
def test_counts_on_each_kind_of_page(site: dict[str, str], page: str) -> None:
    text = words(site[f"{page}.html"])
    assert "1,050" in text or "1,049" in text or "750" in text
    assert "1050" not in text
    assert not any(f"{number} 件" in text for number in ("1,050", "1,049"))


def test_the_page_of_a_category(site: dict[str, str]) -> None:
    assert "1,050" in words(next(text for path, text in site.items() if path.startswith("category/")))


@pytest.mark.parametrize("language", ["ja", "en"])
def test_pages_of_a_fleet(language: str) -> None:
    card = BlogCard("sea.example", "sea", "潮", COUNT, "2016-01-02", "2017-01-02", "saved", site=True)
    page = FleetPages(language).home([IndexRow("う", 1, 4_982)], 4_982, 12_345, [card]).decode()
    assert all(number in page for number in ("4,982", "12,345", "1,050"))
    assert not any(number in page for number in ("4982", "12345", "1050"))


def test_integers_are_counts_and_texts_are_names() -> None:
    japanese, english = translator("ja"), translator("en")
    assert japanese("Entries: {n}", n=4_982) == "記事 4,982\u00a0件"
    assert english("{n} pictures", n=12) == "12\u00a0pictures"
    assert japanese("Version {n}", n="1234") == "バージョン 1234"
    assert english("(This text is {n:,} long {m})", n=1_234, m=True) == "(This text is 1,234 long True)"
