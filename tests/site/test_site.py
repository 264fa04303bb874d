"""The site as files: complete, self-contained, the same every time, and protected by its policy."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from exporter.archive.archive import Archive
from exporter.archive.latest import LatestView, write_latest
from exporter.service.registry import DEFAULT_SERVICE
from exporter.site import SiteOptions
from exporter.site.history import ArchiveHistory
from exporter.site.view import SiteView

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self' data:; "
    "media-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'"
)
OPTIONS = {
    "ja": SiteOptions(title="しおだまり", entry_addresses=("https://{blog_id}/Entry/{entry_id}/",)),
    "en": SiteOptions(language="en"),
    "public": SiteOptions(public=True, assets=""),
}


@pytest.fixture(scope="module")
def japanese(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site in Japanese, which must not be changed."""
    archive = tmp_path_factory.mktemp("japanese") / "archive"
    shutil.copytree(made, archive)
    return written(archive, OPTIONS["ja"])


def written(archive: Path, options: SiteOptions) -> Path:
    reader = Archive.open(archive)
    view = SiteView(DEFAULT_SERVICE, ArchiveHistory(reader, DEFAULT_SERVICE), options)
    write_latest(reader.layout, reader.state(), [LatestView(view.name, view.edition, view.files)])
    return archive / "latest" / "site"


class Page(HTMLParser):
    """A page's references, and all parts of it that could run."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.tags: list[str] = []
        self.policies: list[str] = []
        self.inline: list[str] = []
        self.handlers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        self.targets += [found[name] for name in ("src", "href") if name in found]
        self.handlers += [name for name in found if name.startswith("on")]
        if tag == "script" and "src" not in found:
            self.inline.append(found.get("type", ""))
        if found.get("http-equiv") == "Content-Security-Policy":
            self.policies.append(found["content"])


def pages(site: Path) -> Iterator[tuple[Path, Page]]:
    for path in sorted(site.rglob("*.html")):
        page = Page()
        page.feed(path.read_text(encoding="utf-8"))
        yield path, page


@pytest.mark.parametrize(
    "options",
    [OPTIONS["ja"], OPTIONS["public"], pytest.param(OPTIONS["en"], marks=pytest.mark.thorough)],
    ids=["ja", "public", "en"],
)
def test_every_page_is_self_contained_and_has_the_policy(archive: Path, options: SiteOptions) -> None:
    site = written(archive, options)
    count = 0
    for path, page in pages(site):
        count += 1
        assert page.policies == [POLICY], path
        assert page.handlers == [], path
        assert all(kind == "application/json" for kind in page.inline), path
        assert not {"iframe", "form", "object", "embed", "base"}.intersection(page.tags) - {"form"}, path
        for target in page.targets:
            parts = urlsplit(target)
            assert not target.startswith(("//", "\\\\")), (path, target)
            if parts.scheme in {"", "file"} and parts.path and not options.public:
                assert (path.parent / unquote(parts.path)).exists(), (path, target)
    assert count > 100


def test_only_links_lead_to_other_hosts(japanese: Path) -> None:
    for path in japanese.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        for tag in re.findall(r"<(?:img|script|link|source|video|audio)\b[^>]*>", text):
            assert not re.search(r"(?:src|href|srcset)=[\"']?(?:https?:)?//", tag), (path, tag)


def test_the_same_archive_gives_the_same_site(archive: Path) -> None:
    site = written(archive, OPTIONS["ja"])
    before = {path: (path.read_bytes(), path.stat().st_ino) for path in site.rglob("*") if path.is_file()}
    again = written(archive, OPTIONS["ja"])
    after = {path: (path.read_bytes(), path.stat().st_ino) for path in again.rglob("*") if path.is_file()}
    assert after == before


def test_entries_show_their_pictures_comments_and_past(japanese: Path) -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in japanese.rglob("*.html"))
    assert "../../../assets/" in text
    assert "<ins" in text
    assert "<del" in text
    assert "カンパーニュ、または丸い幸せ" in text
    assert "非公開" in text
    index = (japanese / "index.html").read_text(encoding="utf-8")
    assert "しおだまり" in index
