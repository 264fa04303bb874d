"""Readers of feeds and of WXR find every post."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.importers.blogs import BLOGS, bare, blog
from tests.importers.conftest import Tool

both_blogs = pytest.mark.parametrize("name", BLOGS)
READ = """
import feedparser, json, sys
feed = feedparser.parse(sys.argv[1])
print(json.dumps({"bozo": bool(feed.bozo), "entries": [
    {"id": entry.get("id"), "title": entry.get("title", ""), "published": entry.get("published", ""),
     "content": "".join(part.value for part in entry.get("content", [])),
     "tags": [tag.term for tag in entry.get("tags", [])]} for entry in feed.entries]}))
"""


@both_blogs
@pytest.mark.parametrize(("form", "file"), [("atom", "feed-public.atom"), ("wxr", "wordpress-public.xml")])
def test_feedparser(tool: Tool, tmp_path: Path, name: str, form: str, file: str) -> None:
    with blog(name, tmp_path / "archive") as moved:
        report = moved.export(form, tmp_path / "out")
        found = json.loads(tool("python", "-W", "ignore", "-c", READ, tmp_path / "out" / file))
        posts = moved.posts()
        entries = [entry for entry in found["entries"] if entry["content"] or form == "atom"]
        if form == "atom":
            posts.sort(key=lambda post: post.when, reverse=True)
            assert [entry["published"] for entry in entries] == [post.when.isoformat() for post in posts]
        assert not found["bozo"]
        assert len({entry["id"] for entry in entries}) == len(entries) >= report["out"]["entries"]
        titles = {bare(entry["title"]) for entry in entries}
        assert [post.title for post in posts if bare(post.title) not in titles and "<" not in post.title] == []
        assert {tag for entry in entries for tag in entry["tags"]} == {post.category for post in posts}


@both_blogs
def test_pelican_import(tool: Tool, tmp_path: Path, name: str) -> None:
    with blog(name, tmp_path / "archive") as moved:
        report = moved.export("wxr", tmp_path / "out")
        (tmp_path / "content").mkdir()
        tool(
            "pelican-import", "--wpfile", tmp_path / "out" / "wordpress-public.xml", "-o", tmp_path / "content",
            "-m", "markdown", "--disable-slugs", cwd=tmp_path,
        )  # fmt: skip
        texts = [path.read_text(encoding="utf-8") for path in (tmp_path / "content").rglob("*.md")]
        titles = [found[1] for text in texts if (found := re.match(r"[Tt]itle: (.*)", text))]
        wanted = [post.title for post in moved.posts() if post.title]
        assert len(texts) >= len(set(wanted))
        assert report["out"]["entries"] == len(moved.posts())
        letters = {bare(title) for title in titles}
        assert [title for title in wanted if bare(title) not in letters and "<" not in title] == []


@both_blogs
def test_nikola(tool: Tool, tmp_path: Path, name: str) -> None:
    with blog(name, tmp_path / "archive") as moved:
        report = moved.export("wxr", tmp_path / "out")
        tool(
            "nikola", "import_wordpress", "--no-downloads", "-o", "site", tmp_path / "out" / "wordpress-public.xml",
            cwd=tmp_path,
        )  # fmt: skip
        metas = [path.read_text(encoding="utf-8") for path in (tmp_path / "site" / "posts").rglob("*.meta")]
        assert len(metas) == report["out"]["entries"]
