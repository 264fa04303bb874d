"""Ghost imports the ZIP, and its own export and pages contain every post, tag and picture."""

from __future__ import annotations

import json
import re
import time
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape, unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import requests

from tests.export.memory import BLOG
from tests.importers.blogs import BLOGS, Blog, blog, shown
from tests.importers.conftest import Tool
from tests.importers.ghost import Ghost, running
from tests.importers.ledger import Count, Ledger
from tests.importers.test_links import ENTRIES, IN_PAGE, LINKS, OLD, linked_blog

HOME = "__GHOST_URL__"
FIELDS = ("title", "slug", "status", "visibility", "published_at", "lexical")


@pytest.fixture(scope="module")
def ghost(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ghost]:
    with running(tmp_path_factory.mktemp("ghost"), Tool().path("node")) as started:
        yield started


def sent(file: Path) -> dict[str, Any]:
    with zipfile.ZipFile(file) as packed:
        return dict(json.loads(packed.read("ghost.json"))["db"][0]["data"])


def posts_of(data: dict[str, Any], address: str) -> dict[str, dict[str, Any]]:
    """Return the fields of each post by its slug, with the same blog address as in an export."""
    tags = {tag["id"]: tag["name"] for tag in data["tags"] if not tag["name"].startswith("#Import ")}
    named: dict[Any, list[str]] = {}
    for pair in data["posts_tags"]:
        named.setdefault(pair["post_id"], []).extend(filter(None, [tags.get(pair["tag_id"])]))
    found = {}
    for post in data["posts"]:
        kept = {name: post[name] for name in FIELDS}
        kept["published_at"] = datetime.fromisoformat(post["published_at"]).replace(tzinfo=UTC)
        cards = json.loads(post["lexical"].replace(address, HOME))["root"]["children"]
        # Ghost makes links to its own root absolute.
        kept["lexical"] = [(card["type"], card["html"].replace('href="/', f'href="{HOME}/')) for card in cards]
        found[post["slug"]] = {**kept, "tags": named.get(post["id"], [])}
    return found


@pytest.mark.parametrize("name", BLOGS)
def test_ghosts_own_export_equals_the_import(
    tool: Tool, ledger: Ledger, ghost: Ghost, tmp_path: Path, name: str
) -> None:
    with blog(name, tmp_path / "archive") as moved:
        report = moved.export("ghost", tmp_path / "out")
        file = tmp_path / "out" / "ghost-public.zip"
        ghost.empty()
        begun = time.perf_counter()
        held = posts_of(ghost.take(file), ghost.address)
        seconds = time.perf_counter() - begun
        wanted = posts_of(sent(file), ghost.address)
        assert held == wanted
        bodies = "".join(html for post in held.values() for _, html in post["lexical"])
        kept = [path for name in ("images", "media", "files") for path in (ghost.content / name).rglob("*")]
        pictures = {path.name for path in kept if path.is_file()}
        count = Count(
            posts=len(held),
            comments=moved.comments_in(shown(bodies)),
            categories=len({tag for post in held.values() for tag in post["tags"]}),
            pictures=len({file for file in moved.pictures() & pictures if file in bodies}),
        )
        assert (tmp_path / "out" / "comments-public.jsonl").read_bytes().count(b"\n") == moved.count().comments
        ledger.enter("ghost", "Ghost 5.130", name, moved.count(), count, report, seconds)


def test_links_lead_to_posts_and_places(ghost: Ghost, tmp_path: Path) -> None:
    moved = Blog("linked", linked_blog(), tmp_path)
    report = moved.export("ghost", tmp_path / "out", old_urls=OLD)
    assert report["links"] == {"rewritten": LINKS * ENTRIES, "old_host": 0, "dead": 0}
    ghost.empty()
    data = ghost.take(tmp_path / "out" / "ghost-public.zip")
    titles = {f"{ghost.address}/{post['slug']}/": post["title"] for post in data["posts"]}
    pages = {address: requests.get(address, timeout=60) for address in titles}
    assert {page.status_code for page in pages.values()} == {200}
    for address, page in pages.items():
        assert escape(titles[address], quote=False) in page.text
        links = [unescape(href) for href in re.findall(r'href="([^"]*)"', content(page.text))]
        own = [link for link in links if link.startswith((ghost.address, "/"))]
        assert len(own) == LINKS
        assert BLOG not in "".join(links)
        in_page = [f"{address}{link}" for link in links if link.startswith("#")]
        assert len(in_page) == IN_PAGE
        for link in [*own, *in_page]:
            target, _, place = unquote(link).partition("#")
            assert target in pages
            assert not place or re.search(rf'\b(?:id|name)="{re.escape(place)}"', content(pages[target].text))


def content(page: str) -> str:
    """Return the body of a post on its page."""
    return page.partition("gh-content")[2].partition("</section>")[0]


def test_visitors_see_posts_with_their_pictures(ghost: Ghost, tmp_path: Path) -> None:
    with blog("demo", tmp_path / "archive") as moved:
        moved.export("ghost", tmp_path / "out")
        ghost.empty()
        held = posts_of(ghost.take(tmp_path / "out" / "ghost-public.zip"), ghost.address)
        slug, post = next((slug, post) for slug, post in held.items() if HOME in post["lexical"][0][1])
        page = ghost.page(slug)
        assert post["title"] in page
        body, _, comments = post["lexical"][0][1].replace(HOME, ghost.address).partition("\n<hr>\n<h2>コメント")
        assert body.strip() in page
        # Ghost adds its own parameter to external links.
        assert comments
        assert shown(comments) in shown(page)
