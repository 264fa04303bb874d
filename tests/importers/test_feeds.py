"""Readers of feeds and of WXR find every post."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest

from exporter.text import visible
from tests.importers.blogs import BLOGS, bare, blog, shown
from tests.importers.conftest import Tool
from tests.importers.ledger import Count, Ledger

both_blogs = pytest.mark.parametrize("name", BLOGS)
READ = """
import feedparser, json, sys
feed = feedparser.parse(sys.argv[1])
print(json.dumps({"bozo": bool(feed.bozo), "entries": [
    {"id": entry.get("id"), "title": entry.get("title", ""), "published": entry.get("published", ""),
     "content": "".join(part.value for part in entry.get("content", [])),
     "kind": entry.get("wp_post_type", ""), "approved": entry.get("wp_comment_approved"),
     "tags": [tag.term for tag in entry.get("tags", [])]} for entry in feed.entries]}))
"""
FEEDS = """
import {parseJsonFeed} from "feedsmith";
import {readFileSync} from "node:fs";
console.log(JSON.stringify(parseJsonFeed(readFileSync(process.argv[2], "utf8"))));
"""
NO_COMMENTS = "feed readers ignore them"
NOT_FETCHED = "not downloaded, the bodies keep their addresses"


@both_blogs
@pytest.mark.parametrize(("form", "file"), [("atom", "feed-public.atom"), ("wxr", "wordpress-public.xml")])
def test_feedparser(tool: Tool, ledger: Ledger, tmp_path: Path, name: str, form: str, file: str) -> None:
    with blog(name, tmp_path / "archive") as moved:
        report = moved.export(form, tmp_path / "out")
        found = json.loads(tool("python", "-W", "ignore", "-c", READ, tmp_path / "out" / file))
        posts = moved.posts()
        entries = [entry for entry in found["entries"] if entry["kind"] in {"", "post"}]
        if form == "atom":
            posts.sort(key=lambda post: post.when, reverse=True)
            assert [entry["published"] for entry in entries] == [post.when.isoformat() for post in posts]
        assert not found["bozo"]
        assert len({entry["id"] for entry in entries}) == len(entries)
        # WXR holds titles and names as HTML, Atom as text.
        read = unescape if form == "wxr" else str
        titles = {bare(read(entry["title"])) for entry in entries}
        assert [post.title for post in posts if bare(post.title) not in titles and "<" not in post.title] == []
        tags = {read(tag) for entry in entries for tag in entry["tags"]}
        assert tags == {post.category for post in posts}
        count = Count(posts=len(entries), categories=len(tags))
        ledger.enter(form, "feedparser", name, moved.count(), count, report, tool.seconds,
                     comments=NO_COMMENTS, pictures=NOT_FETCHED)  # fmt: skip


@both_blogs
def test_feedsmith(tool: Tool, ledger: Ledger, tmp_path: Path, name: str) -> None:
    with blog(name, tmp_path / "archive") as moved:
        report = moved.export("jsonfeed", tmp_path / "out")
        (tmp_path / "read.mjs").write_text(FEEDS)
        (tmp_path / "node_modules").symlink_to(tool.modules)
        feed = json.loads(tool("node", tmp_path / "read.mjs", tmp_path / "out" / "feed-public.json"))
        posts = sorted(moved.posts(), key=lambda post: post.when)[::-1]
        assert [item["date_published"] for item in feed["items"]] == [post.when.isoformat() for post in posts]
        assert [item.get("title", "") for item in feed["items"]] == [visible(post.title)[0].strip() for post in posts]
        assert all(item["content_html"].strip() and re.match("https?://|tag:", item["id"]) for item in feed["items"])
        tags = {tag for item in feed["items"] for tag in item.get("tags", [])}
        count = Count(posts=len({item["id"] for item in feed["items"]}), categories=len(tags))
        ledger.enter("jsonfeed", "feedsmith", name, moved.count(), count, report, tool.seconds,
                     comments=NO_COMMENTS, pictures=NOT_FETCHED)  # fmt: skip


@both_blogs
def test_pelican_import(tool: Tool, ledger: Ledger, tmp_path: Path, name: str) -> None:
    with blog(name, tmp_path / "archive") as moved:
        report = moved.export("wxr", tmp_path / "out")
        (tmp_path / "content").mkdir()
        tool("pelican-import", "--wpfile", tmp_path / "out" / "wordpress-public.xml", "-o", tmp_path / "content",
             "-m", "markdown", cwd=tmp_path)  # fmt: skip
        texts = [path.read_text(encoding="utf-8") for path in (tmp_path / "content").rglob("*.md")]
        titles = {bare(found[1]) for text in texts if (found := re.match(r"[Tt]itle: (.*)", text))}
        wanted = [post.title for post in moved.posts() if post.title]
        assert [title for title in wanted if bare(title) not in titles and "<" not in title] == []
        categories = {found[1] for text in texts if (found := re.search(r"^[Cc]ategory: (.*)$", text, re.MULTILINE))}
        count = Count(posts=len(texts), categories=len(categories))
        ledger.enter("wxr", "pelican-import", name, moved.count(), count, report, tool.seconds,
                     comments="not imported", pictures=NOT_FETCHED)  # fmt: skip


@both_blogs
def test_nikola(tool: Tool, ledger: Ledger, tmp_path: Path, name: str) -> None:
    with blog(name, tmp_path / "archive") as moved:
        report = moved.export("wxr", tmp_path / "out")
        tool("nikola", "import_wordpress", "--no-downloads", "--export-comments", "-o", "site",
             tmp_path / "out" / "wordpress-public.xml", cwd=tmp_path)  # fmt: skip
        posts = tmp_path / "site" / "posts"
        metas = [path.read_text(encoding="utf-8") for path in posts.rglob("*.meta")]
        categories = {found[1] for text in metas if (found := re.search(r"^\.\. tags: (.+)$", text, re.MULTILINE))}
        comments = [path.read_text(encoding="utf-8") for path in posts.rglob("*.wpcomment")]
        assert moved.comments_in(shown("\n".join(comments))) == len(comments)
        wanted = {post.category for post in moved.posts()}
        assert categories <= wanted
        assert {category.lower() for category in categories} == {category.lower() for category in wanted}
        count = Count(posts=len(metas), comments=len(comments), categories=len(categories))
        why = {"categories": "it merges names that differ only in case"} if len(categories) < len(wanted) else {}
        ledger.enter("wxr", "nikola import_wordpress", name, moved.count(), count, report, tool.seconds,
                     pictures="not downloaded, the test sets --no-downloads", **why)  # fmt: skip
