"""A blog moved into a real WordPress by a command that is killed fifty times."""

from __future__ import annotations

import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from exporter.export.post_html import as_html
from exporter.move.home import mark, marks_in
from tests.importers.blogs import blog
from tests.importers.conftest import ROOT, Tool
from tests.importers.test_wordpress import SCRIPT as IMPORTER
from tests.importers.test_wordpress import installed
from tests.importers.test_wordpress_shows import MORE, page, scripts, seen
from tests.importers.wordpress_site import Site, running_site
from tests.support.declared import sample_in

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["installed", "page"]

MOST_LINES = 4
"""Maximum of new lines in the map before a kill, so that fifty runs do not move the whole blog."""
OLD_HOSTS = re.compile(r"https?://(?:pictures\.example\.jp|shiodamari\.blog\.example\.jp)/[^\s\"'<>]*")
ENTRY = re.compile(r"/entry/([0-9]+) [0-9a-f]{16}\"")
LOST = "https://pictures.example.jp/album/2016/kieta.jpg"
"""The one picture that is missing from the archive as well."""
PATIENCE = 120.0


@pytest.fixture
def site(tool: Tool, installed: Path, tmp_path: Path) -> Iterator[Site]:
    """An empty WordPress that answers."""
    with running_site(tool, installed, tmp_path / "site") as running:
        yield running


class Mover:
    """The command, on the sample blog."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.map = folder / "map.jsonl"
        self._command = [
            sys.executable, "-m", "exporter", "move", "wordpress", str(sample_in(folder)), "--to", site.url,
            "--map", str(self.map), "--new-home-user", "owner", "--public-open-flg", "1", "--visible-delete-flg", "f",
            "--old-url", "https://{blog_id}/Entry/{entry_id}/", "--allow-private-network", "--json",
        ]  # fmt: skip
        self._environ = {**os.environ, "BLOG_EXPORTER_NEW_HOME_TOKEN": site.password, "XDG_CONFIG_HOME": str(folder)}

    def start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._command, cwd=ROOT, env=self._environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def run(self) -> dict[str, Any]:
        """Run the command to its end; fail if it fails."""
        process = self.start()
        said, errors = process.communicate(timeout=600)
        assert process.returncode == 0, errors.decode()
        document: dict[str, Any] = json.loads(said)
        return document

    def lines(self) -> int:
        return self.map.read_bytes().count(b"\n") if self.map.exists() else 0

    def live_and_die(self, chance: random.Random) -> None:
        """Start the command, and kill it at a random moment."""
        until = self.lines() + chance.randint(0, MOST_LINES)
        deadline = time.monotonic() + PATIENCE
        process = self.start()
        while self.lines() < until:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.1))
        process.kill()
        process.communicate()
        assert process.returncode == -9


def rows(site: Site, query: str) -> list[tuple[Any, ...]]:
    """Query the database of WordPress itself."""
    with closing(sqlite3.connect(site.folder / "wp-content" / "database" / ".ht.sqlite", timeout=30)) as database:
        return database.execute(query).fetchall()


def check(site: Site) -> None:
    """Check that all public records exist exactly once, and that stored files no longer load from the old host."""
    with blog("demo", site.folder) as source:
        wanted = source.count()
        titles = Counter(post.title for post in source.posts())
    posts = rows(
        site, "SELECT post_title, post_content FROM wp_posts WHERE post_type = 'post' AND post_status = 'publish'"
    )
    others = rows(site, "SELECT post_status FROM wp_posts WHERE post_type = 'post' AND post_status != 'publish'")
    comments = rows(site, "SELECT comment_author_email FROM wp_comments WHERE comment_approved = '1'")
    files = rows(site, "SELECT post_name FROM wp_posts WHERE post_type = 'attachment'")
    categories = rows(
        site, "SELECT name FROM wp_terms JOIN wp_term_taxonomy USING (term_id) WHERE taxonomy = 'category'"
    )
    assert Counter(unescape(title) for title, _ in posts) == titles  # WordPress stores them as HTML
    assert others == []
    assert (len(comments), len(set(comments))) == (wanted.comments, wanted.comments)
    assert rows(site, "SELECT count(*) FROM wp_comments") == [(wanted.comments,)]
    assert (len(files), len(set(files))) == (wanted.pictures, wanted.pictures)
    assert len(set(categories) - {("Uncategorized",)}) == wanted.categories
    left = {address for _, content in posts for address in OLD_HOSTS.findall(content)}
    assert {each for each in left if "pictures." in each or "/File/" in each} <= {LOST}


def test_the_demo_arrives_and_shows_the_same_texts(tool: Tool, site: Site, tmp_path: Path, page: Page) -> None:
    mover = Mover(site, tmp_path)
    document = mover.run()
    assert document["whole"] is True
    assert document["compare"]["counts"]["identical"] == 55
    check(site)
    shown = json.loads(tool("php", IMPORTER, "render", site.folder))
    contents = rows(site, "SELECT post_content FROM wp_posts WHERE post_type = 'post' ORDER BY ID")
    order = [ENTRY.findall(content)[-1] for (content,) in contents]
    with blog("demo", tmp_path / "archive") as source:
        posts = {post.id: post.record for post in source.posts()}
    assert sorted(order) == sorted(posts)
    for entry_id, held in zip(order, shown, strict=True):
        record = posts[entry_id]
        body, *more = MORE.split(held)
        assert seen(page, body, lines=True) == seen(page, as_html(record.body), lines=True), entry_id
        assert seen(page, "".join(more), lines=True) == seen(page, as_html(record.more), lines=True), entry_id


@pytest.mark.parametrize("kills", [6, pytest.param(50, marks=pytest.mark.slow)])
def test_after_many_kills_nothing_is_duplicated_or_lost(site: Site, tmp_path: Path, kills: int) -> None:
    mover, chance = Mover(site, tmp_path), random.Random(os.environ.get("SEED", "house"))
    for _ in range(kills):
        mover.live_and_die(chance)
    things = mover.run()["sides"][0]["things"]
    assert things["posts"]["made"] > 0, "the kills left nothing for the last run"
    check(site)
    done = mover.lines()
    before = (
        rows(site, "SELECT * FROM wp_posts ORDER BY ID"),
        rows(site, "SELECT * FROM wp_comments ORDER BY comment_ID"),
    )
    document = mover.run()
    assert document["whole"] is True
    assert all(fates["made"] == fates["changed"] == 0 for fates in document["sides"][0]["things"].values())
    assert mover.lines() == done
    after = (
        rows(site, "SELECT * FROM wp_posts ORDER BY ID"),
        rows(site, "SELECT * FROM wp_comments ORDER BY comment_ID"),
    )
    assert after == before


def test_the_editor_keeps_the_mark_of_a_post(tool: Tool, installed: Path, page: Page) -> None:
    for script in scripts(tool, installed):
        page.add_script_tag(path=script)
    page.evaluate("wp.blockLibrary.registerCoreBlocks()")
    marked = (
        f"<!-- wp:html -->\n<b>い</b>\n<!-- /wp:html -->\n\n{mark('umi.blog.example.jp/entry/42', '0123456789abcdef')}"
    )
    saved = page.evaluate("body => wp.blocks.serialize(wp.blocks.parse(body))", marked)
    assert marks_in(saved) == marks_in(marked)
    valid = page.evaluate("body => wp.blocks.parse(body).map(block => block.isValid)", marked)
    assert valid == [True, True]
