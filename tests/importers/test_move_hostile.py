"""A hundred hostile entries moved into a real WordPress: everything arrives once, and nothing private."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections import Counter
from html import unescape
from pathlib import Path
from typing import Any

from exporter.html.text import collapse
from exporter.model.kinds import Kind
from tests.archive.builder import Built
from tests.export.hostile import ENTRIES, SECRET, comment_word, entry_word, hostile_blog
from tests.export.memory import BLOG
from tests.importers.blogs import Blog
from tests.importers.conftest import ROOT, Tool
from tests.importers.test_move import rows
from tests.importers.test_wordpress import installed
from tests.importers.wordpress_site import Site, running_site

__all__ = ["installed"]

POSTS = """SELECT p.post_content, t.name FROM wp_posts p JOIN wp_term_relationships r ON r.object_id = p.ID
    JOIN wp_term_taxonomy x USING (term_taxonomy_id) JOIN wp_terms t USING (term_id)
    WHERE p.post_type = 'post' AND p.post_status = 'publish' AND x.taxonomy = 'category' ORDER BY p.ID"""
COMMENTS = "SELECT comment_content FROM wp_comments WHERE comment_approved = '1'"
FILES = "SELECT post_name FROM wp_posts WHERE post_type = 'attachment'"
TABLES = ("wp_posts", "wp_comments", "wp_terms", "wp_term_relationships")


def moved(site: Site, archive: Path, folder: Path) -> dict[str, Any]:
    """Move the archive by the command, which compares afterwards; fail unless it ends with 0."""
    command = [
        sys.executable, "-m", "exporter", "move", "wordpress", str(archive), "--to", site.url, "--map",
        str(folder / "map.jsonl"), "--new-home-user", "owner", "--public-open-flg", "1", "--visible-delete-flg", "f",
        "--old-url", "https://{blog_id}/Entry/{entry_id}/", "--allow-private-network", "--json",
    ]  # fmt: skip
    environ = {**os.environ, "BLOG_EXPORTER_NEW_HOME_TOKEN": site.password, "XDG_CONFIG_HOME": str(folder)}
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr.decode()
    document: dict[str, Any] = json.loads(done.stdout)
    assert document["whole"] is True
    return document


def test_a_hundred_hostile_entries_arrive_once(tool: Tool, installed: Path, tmp_path: Path) -> None:
    blog = copy.deepcopy(hostile_blog())
    built = Built(tmp_path / "archive", blog_id=BLOG)
    for url in [raw["url"] for _, raw in blog.scan(Kind.ASSETS) if raw["sha256"] is None]:
        blog.picture(url, entry_id=url.rpartition("/")[2])
    built.commit({kind: {name: json.dumps(raw).encode() for name, raw in blog.scan(kind)} for kind in Kind})
    blog.write_pictures(built.root)
    with running_site(tool, installed, tmp_path / "site") as site:
        compared = moved(site, built.root, tmp_path)["compare"]
        assert compared["counts"]["identical"] == ENTRIES
        assert compared["counts"]["extra"] == 0
        posts = rows(site, POSTS)
        categories = {post.id: post.category for post in Blog("hostile", blog, built.root).posts()}
        for number in range(1, ENTRIES + 1):
            (category,) = [name for content, name in posts if entry_word(number) in content]
            assert collapse(unescape(category)) == categories[str(number)]
        assert len(posts) == ENTRIES
        comments = Counter(word for (text,) in rows(site, COMMENTS) for word in text.split() if word.startswith("zqc"))
        assert all(comments[comment_word(number)] == 1 for number in range(3, 3 * ENTRIES + 3))
        assert len(rows(site, COMMENTS)) == 3 * ENTRIES
        assert len(rows(site, FILES)) == ENTRIES // 4
        held = [rows(site, f"SELECT * FROM {table}") for table in TABLES]
        assert SECRET not in repr(held)
        again = moved(site, built.root, tmp_path)["sides"][0]["things"]
        assert all(fates["made"] == fates["changed"] == 0 for fates in again.values())
        assert [rows(site, f"SELECT * FROM {table}") for table in TABLES] == held
