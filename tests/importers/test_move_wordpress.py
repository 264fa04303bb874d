"""A real WordPress backed up, moved into a second one and compared: 300 posts with pages, threads and every status."""

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
from contextlib import closing, contextmanager
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.importers.conftest import ROOT, Tool
from tests.importers.test_move import rows
from tests.importers.test_wordpress import installed
from tests.importers.test_wordpress_source import Blog, back_up
from tests.importers.wordpress_site import SCRIPT, Site, running_site
from tests.support.pictures import png

__all__ = ["installed"]

KILLS = 5
MOST_LINES = 25
"""Maximum of new lines in the map before a kill, so that ten runs do not move the whole blog."""
FEW_POSTS = 50
PAGES = 12
"""Two for each post, one for each comment, tag, category and picture, and the lists."""
PATIENCE = 120.0
TABLES = ("wp_posts", "wp_comments", "wp_terms", "wp_term_taxonomy", "wp_term_relationships")
STATUSES = "SELECT post_type, post_status, count(*) FROM wp_posts WHERE post_type IN ('post', 'page') AND post_status NOT IN ('trash', 'auto-draft') GROUP BY 1, 2"
THREADS = """SELECT p.post_title, c.comment_content, coalesce(a.comment_content, ''), c.comment_approved, c.comment_author,
    c.comment_author_url, c.comment_date_gmt FROM wp_comments c JOIN wp_posts p ON p.ID = c.comment_post_ID
    LEFT JOIN wp_comments a ON a.comment_ID = c.comment_parent
    WHERE p.post_type != 'attachment' AND c.comment_approved != 'post-trashed'"""
TERMS = """SELECT p.post_title, x.taxonomy, t.name, coalesce(u.name, '') FROM wp_posts p
    JOIN wp_term_relationships r ON r.object_id = p.ID JOIN wp_term_taxonomy x USING (term_taxonomy_id)
    JOIN wp_terms t USING (term_id) LEFT JOIN wp_terms u ON u.term_id = x.parent
    WHERE p.post_type = 'post' AND p.post_status = 'publish' AND p.post_password = ''"""
MARKUP = re.compile(r"<[^<>]*>")


class Mover:
    """The command, on an archive of a WordPress."""

    def __init__(self, archive: Path, source: Site, site: Site, folder: Path) -> None:
        self.map = folder / "map.jsonl"
        self._command = [
            sys.executable, "-m", "exporter", "move", "wordpress", str(archive), "--to", site.url, "--map", str(self.map),
            "--new-home-user", "owner", "--only", "all", "--hidden-comments", "--allow-private-network", "--json",
            "--old-url", f"{source.url}/?p={{id}}",
        ]  # fmt: skip
        self._environ = {**os.environ, "BLOG_EXPORTER_NEW_HOME_TOKEN": site.password, "XDG_CONFIG_HOME": str(folder)}

    def start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._command, cwd=ROOT, env=self._environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def run(self) -> tuple[int, dict[str, Any], str]:
        """Run the command to its end; return its exit code, its object and its other output."""
        process = self.start()
        said, errors = process.communicate(timeout=900)
        return process.returncode, json.loads(said.splitlines()[0]), errors.decode()

    def lines(self) -> int:
        return self.map.read_bytes().count(b"\n") if self.map.exists() else 0

    def live_and_die(self, until: int, chance: random.Random) -> None:
        """Start the command, and kill it a moment after the map has this number of lines."""
        deadline = time.monotonic() + PATIENCE
        process = self.start()
        while self.lines() < until:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.2))
        process.kill()
        process.communicate()
        assert process.returncode == -9


@contextmanager
def opened(tool: Tool, installed: Path, folder: Path, count: int) -> Iterator[Blog]:
    """Run and fill a WordPress whose host is not that of the new home."""
    pictures = folder / "pictures"
    pictures.mkdir(parents=True)
    for number in range(6):
        (pictures / f"umi-{number}.png").write_bytes(png(number, 20 + number, 10))
    with running_site(tool, installed, folder / "site") as site:
        running = Blog(tool, replace(site, url=site.url.replace("127.0.0.1", "localhost")))
        for option in ("home", "siteurl"):
            running.php("set", option, running.site.url)
        running.php("fill", count, pictures)
        link(running.site)
        yield running


def link(source: Site) -> None:
    """Let every tenth public post link to two others, by its address and by its number.

    Links to private posts would stay as they are: the address of such a post tells its title.
    """
    with closing(sqlite3.connect(source.folder / "wp-content" / "database" / ".ht.sqlite", timeout=30)) as database:
        query = "SELECT ID, post_name FROM wp_posts WHERE post_type = 'post' AND post_status = 'publish' AND post_password = '' ORDER BY ID"
        found = database.execute(query).fetchall()
        for at in range(0, len(found) - 7, 10):
            (number, _), (_, name), (other, _) = found[at], found[at + 3], found[at + 7]
            links = f'<p><a href="{source.url}/{name}/">x</a> <a href="{source.url}/?p={other}">y</a></p>'
            database.execute("UPDATE wp_posts SET post_content = ? || post_content WHERE ID = ?", (links, number))
        database.commit()


def shown(row: tuple[Any, ...]) -> tuple[str, ...]:
    """Return a row as a reader sees it: a backup holds what the blog shows."""
    return tuple(unescape(MARKUP.sub("", each)).strip() for each in row)


def same_blog(source: Site, home: Site) -> None:
    """Check that both databases have the same posts, terms and threads."""
    before, after = ({tuple(each[:2]): each[2] for each in rows(site, STATUSES)} for site in (source, home))
    before["post", "draft"] += before.pop(("post", "pending"))
    locked = rows(source, "SELECT count(*) FROM wp_posts WHERE post_password != ''")[0][0]
    before["post", "publish"] -= locked
    before["post", "private"] += locked
    assert after == before
    # With --hidden-comments, those in the trash wait for approval.
    threads = [(*row[:3], "0" if row[3] == "trash" else row[3], *row[4:]) for row in rows(source, THREADS)]
    assert Counter(map(shown, threads)) == Counter(map(shown, rows(home, THREADS)))
    assert Counter(map(shown, rows(source, TERMS))) == Counter(map(shown, rows(home, TERMS)))


@pytest.mark.parametrize(("count", "most_requests"), [(110, 1000), pytest.param(300, 2500, marks=pytest.mark.slow)])
async def test_a_wordpress_moves_into_another_without_a_difference(
    tool: Tool, installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, most_requests: int
) -> None:
    """Move a blog whose lists have more than one page, with a hundred posts each."""
    archive = tmp_path / "archive"
    with opened(tool, installed, tmp_path / "old", count) as blog:
        outcome, _ = await back_up(blog, archive, monkeypatch, "owner")
        assert outcome.exit_code == 0, outcome.problems
        with running_site(tool, installed, tmp_path / "home") as home:
            tool("php", SCRIPT, "author", home.folder, "美香")
            mover = Mover(archive, blog.site, home, tmp_path)
            code, document, errors = mover.run()
            assert code == 0, errors
            assert document["compare"]["counts"]["identical"] == count + PAGES
            assert document["compare"]["changes"] == {}
            assert {each["what"] for each in document["compare"]["unchecked"]} == {"comments", "tags"}
            same_blog(blog.site, home)
            assert requests(home) < most_requests


@pytest.mark.long
async def test_after_some_kills_nothing_is_duplicated_or_lost(
    tool: Tool, installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive, chance = tmp_path / "archive", random.Random(os.environ.get("SEED", "house"))
    with opened(tool, installed, tmp_path / "old", FEW_POSTS) as blog:
        outcome, _ = await back_up(blog, archive, monkeypatch, "owner")
        assert outcome.exit_code == 0, outcome.problems
        with running_site(tool, installed, tmp_path / "home") as home:
            tool("php", SCRIPT, "author", home.folder, "美香")
            mover = Mover(archive, blog.site, home, tmp_path)
            for _ in range(KILLS):
                mover.live_and_die(mover.lines() + chance.randint(1, MOST_LINES), chance)
            code, document, errors = mover.run()
            assert code == 0, errors
            assert document["sides"][0]["things"]["posts"]["made"] > 0, "the kills left nothing for the last run"
            assert document["compare"]["changes"] == {}
            same_blog(blog.site, home)
            before = [rows(home, f"SELECT * FROM {table}") for table in TABLES]
            code, document, errors = mover.run()
            assert code == 0, errors
            things = [each for side in document["sides"] for each in side["things"].values()]
            assert all(each["made"] == each["changed"] == 0 for each in things)
            assert [rows(home, f"SELECT * FROM {table}") for table in TABLES] == before


def requests(site: Site) -> int:
    """Return the number of requests that a WordPress got."""
    return (site.folder / "server.log").read_bytes().count(b" Accepted")
