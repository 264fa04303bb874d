"""The homes that show posts: each imports an export of a blog, and says where to find every post."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from exporter.html.links import AddressPattern
from tests.export.mt_readers import moment, read_carelessly
from tests.importers.blogs import Blog
from tests.importers.conftest import Tool, serving
from tests.importers.ghost import running
from tests.importers.pages import Place, named_pages
from tests.importers.sites import Generator
from tests.importers.wordpress_site import running_site

OLD: Final = (AddressPattern("https://{blog_id}/Entry/{entry_id}/", "x"),)
SCRIPT: Final = Path(__file__).parent / "wordpress.php"
LISTS: Final = re.compile(r"index[0-9]*|archives|authors|categories|tags")
"""The pages of Pelican that are not posts."""

Seen = AbstractContextManager[tuple[dict[str, Place], dict[str, Any]]]
"""The place of each post, by its id, and the export's report, for as long as the home runs."""

PUBLISHED: Final = "https://example.org"
"""The address of the sites in the generators' settings."""


def generated(generator: Generator, body: str) -> Callable[[Tool, Blog, Path], Seen]:
    """A home of pages that a generator builds."""

    @contextmanager
    def home(tool: Tool, moved: Blog, folder: Path) -> Iterator[tuple[dict[str, Place], dict[str, Any]]]:
        report = moved.export(generator.form, folder / "site", body=body, old_urls=OLD, preset=generator.preset)
        built = generator.build(tool, folder / "site")
        files = [each for each in built.glob(generator.pages) if each.parent != built or not LISTS.fullmatch(each.stem)]
        with serving(built) as address:
            for each in files:
                each.write_bytes(each.read_bytes().replace(PUBLISHED.encode(), address.rstrip("/").encode()))
            yield named_pages(moved, built, files, address), report

    return home


def wordpress(form: str, style: str, installed: Path) -> Callable[[Tool, Blog, Path], Seen]:
    """A WordPress with its own theme, after an import."""

    @contextmanager
    def home(tool: Tool, moved: Blog, folder: Path) -> Iterator[tuple[dict[str, Place], dict[str, Any]]]:
        moved.export(form, folder / "pictures", media_folder=True)
        with running_site(tool, installed, folder / "wp") as site, serving(folder / "pictures" / "media") as address:
            report = moved.export(
                form, folder / "out", wordpress_body=style, media_base_url=address, old_urls=OLD,
                new_url=AddressPattern(f"{site.url}/{{post_name}}/", "x"),
            )  # fmt: skip
            if form == "wxr":
                tool("php", SCRIPT, "read", site.folder, folder / "out" / "wordpress-public.xml")
            else:
                _insert(tool, site.folder, folder / "out" / "movabletype-public.txt")
            addresses = json.loads(tool("php", SCRIPT, "addresses", site.folder))
            posts = moved.posts()
            yield {post.id: Place(url, ".entry-content") for post, url in zip(posts, addresses, strict=True)}, report

    return home


@contextmanager
def ghost(tool: Tool, moved: Blog, folder: Path) -> Iterator[tuple[dict[str, Place], dict[str, Any]]]:
    """A Ghost with its own theme, after an import of the ZIP."""
    report = moved.export("ghost", folder / "out", old_urls=OLD)
    file = folder / "out" / "ghost-public.zip"
    with zipfile.ZipFile(file) as packed:
        sent = json.loads(packed.read("ghost.json"))["db"][0]["data"]["posts"]
    with running(folder / "ghost", tool.path("node")) as started:
        started.tell_zone("Asia/Tokyo")
        started.take(file)
        yield (
            {str(each["id"]): Place(f"{started.address}/{quote(each['slug'])}/", ".gh-content") for each in sent},
            report,
        )


@contextmanager
def epub(tool: Tool, moved: Blog, folder: Path) -> Iterator[tuple[dict[str, Place], dict[str, Any]]]:
    """A book whose chapters a browser opens as e-readers do."""
    report = moved.export("epub", folder / "out", old_urls=OLD)
    with zipfile.ZipFile(folder / "out" / "book-public.epub") as packed:
        packed.extractall(folder / "book")
    with serving(folder / "book" / "EPUB") as address:
        yield {post.id: Place(f"{address}entry-{post.id}.xhtml", ".text") for post in moved.posts()}, report


@contextmanager
def single_page(tool: Tool, moved: Blog, folder: Path) -> Iterator[tuple[dict[str, Place], dict[str, Any]]]:
    """The single page with all posts."""
    report = moved.export("html", folder / "out", old_urls=OLD)
    with serving(folder / "out") as address:
        url = f"{address}book-public.html"
        yield {post.id: Place(url, f"#e{post.id} > div", f"e{post.id}") for post in moved.posts()}, report


def _insert(tool: Tool, site: Path, file: Path) -> None:
    rows = [
        [
            entry.fields["TITLE"], entry.body.strip(), entry.extended.strip(),
            {
                "date": str(moment(entry.fields["DATE"])),
                "name": entry.fields["BASENAME"],
                "comments": [{**asdict(each), "date": str(moment(each.date))} for each in entry.comments],
            },
        ]
        for entry in read_carelessly(file.read_bytes())
    ]  # fmt: skip
    _write(site.parent / "posts.json", json.dumps(rows))
    tool("php", SCRIPT, "insert", site, site.parent / "posts.json")


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
