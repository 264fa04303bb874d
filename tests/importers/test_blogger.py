"""Blogger's file is valid by a schema from its description and the RFCs, and its readers find everything.

Blogger itself cannot be run here; pelican-import reads the files that Blogger's own backups were.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from exporter.export.interface import Side
from exporter.model.publication import Declared
from tests.importers.blogs import BLOGS, bare, blog, shown
from tests.importers.conftest import ROOT, Tool
from tests.importers.ledger import Count, Ledger

both_blogs = pytest.mark.parametrize("name", BLOGS)
SCHEMA = ROOT / "tests" / "importers" / "blogger.rnc"
DRAFTS = {"side": Side.DRAFTS, "declared": Declared(all_as_draft=True)}
READ = """
import feedparser, json, sys
feed = feedparser.parse(sys.argv[1])
print(json.dumps({"bozo": bool(feed.bozo), "entries": [
    {"id": entry.id, "title": entry.title, "published": entry.published, "author": entry.author,
     "content": entry.content[0].value, "reply": entry.get("thr_in-reply-to", {}).get("ref", ""),
     "tags": {tag.scheme: tag.term for tag in entry.tags}} for entry in feed.entries]}))
"""
KIND = "http://schemas.google.com/g/2005#kind"
LABEL = "http://www.blogger.com/atom/ns#"
DRAFT = re.compile("^[Ss]tatus: draft$", re.MULTILINE)
WIDE = str.maketrans("＆＜＞＠！", "&<>@!")


@both_blogs
@pytest.mark.parametrize("options", [{}, DRAFTS, {"side": Side.REST}, {"max_bytes": 20_000}, {"media_folder": True}])
def test_the_schema_allows_it(tool: Tool, tmp_path: Path, name: str, options: dict[str, object]) -> None:
    with blog(name, tmp_path / "archive") as moved:
        moved.export("blogger-atom", tmp_path / "out", **options)
    files = sorted((tmp_path / "out").glob("*.xml"))
    assert files
    tool("jing", "-c", SCHEMA, *files)


@pytest.mark.parametrize(
    ("found", "instead"),
    [
        (r"<published>[^<]*", "<published>2024-03-05 12:34:56"), (r"<updated>.*?</updated>", ""), (r"<id>[^<]*", "<id>1"),
        (r"kind#post", "kind#settings"), (r"<name>[^<]*", "<name>"), (r"<content type=.html.", '<content type="xhtml"'),
        (r'ref="[^"]*"', ""), ("LIVE", "DRAFT"), (r'(ns#" term=")[^"]*', r"\1a@b"),
    ],
)  # fmt: skip
def test_the_schema_refuses_invalid_files(tool: Tool, tmp_path: Path, found: str, instead: str) -> None:
    with blog("demo", tmp_path / "archive") as moved:
        moved.export("blogger-atom", tmp_path / "out")
    good = (tmp_path / "out" / "blogger-public.xml").read_text(encoding="utf-8")
    (tmp_path / "bad.xml").write_text(re.sub(found, instead, good), encoding="utf-8")
    with pytest.raises(AssertionError, match="jing failed"):
        tool("jing", "-c", SCHEMA, tmp_path / "bad.xml")


@both_blogs
def test_feedparser_finds_posts_and_comments(tool: Tool, ledger: Ledger, tmp_path: Path, name: str) -> None:
    with blog(name, tmp_path / "archive") as moved:
        report = moved.export("blogger-atom", tmp_path / "out")
        found = json.loads(tool("python", "-W", "ignore", "-c", READ, tmp_path / "out" / "blogger-public.xml"))
        assert not found["bozo"]
        of_kind: dict[str, list[dict[str, str]]] = {"post": [], "comment": []}
        for entry in found["entries"]:
            of_kind[entry["tags"][KIND].rpartition("#")[2]].append(entry)
        posts, comments = moved.posts(), of_kind["comment"]
        assert [bare(entry["title"]) for entry in of_kind["post"]] == [
            bare(post.title.replace("\ud83d", "")) for post in posts
        ]
        ids = [entry["id"] for entry in of_kind["post"]]
        assert len(set(ids)) == len(ids)
        wanted = Counter({ids[place]: len(post.comments) for place, post in enumerate(posts)})
        assert Counter(entry["reply"] for entry in comments) == wanted
        moments = [entry["published"] for entry in comments]
        assert moments == [each.when.isoformat(timespec="milliseconds") for post in posts for each in post.comments]
        assert moved.comments_in(shown("\n".join(entry["content"] for entry in comments))) == len(comments)
        tags = {entry["tags"].get(LABEL, "").translate(WIDE) for entry in of_kind["post"]}  # type: ignore[attr-defined]  # an object of JSON
        assert tags == {post.category for post in posts}
        count = Count(len(ids), len(comments), len(tags))
        ledger.enter("blogger-atom", "feedparser", name, moved.count(), count, report, tool.seconds)


@both_blogs
def test_pelican_reads_it_as_one_of_bloggers_backups(tool: Tool, ledger: Ledger, tmp_path: Path, name: str) -> None:
    with blog(name, tmp_path / "archive") as moved:
        report = moved.export("blogger-atom", tmp_path / "out")
        posts, comments = imported(tool, tmp_path / "out" / "blogger-public.xml")
        titles = {bare(found[1]) for text in posts if (found := re.match(r"[Tt]itle: (.*)", text))}
        wanted = [post.title for post in moved.posts() if post.title]
        assert [title for title in wanted if bare(title) not in titles and "<" not in title] == []
        assert not any(DRAFT.search(text) for text in [*posts, *comments])
        tags = {
            found[1].translate(WIDE) for text in posts if (found := re.search("^[Tt]ags: (.+)$", text, re.MULTILINE))
        }
        count = Count(len(posts), len(comments), len(tags))
        ledger.enter("blogger-atom", "pelican-import", name, moved.count(), count, report, tool.seconds)


@both_blogs
def test_pelican_holds_every_draft_back(tool: Tool, tmp_path: Path, name: str) -> None:
    with blog(name, tmp_path / "archive") as moved:
        report = moved.export("blogger-atom", tmp_path / "out", **DRAFTS)
    posts, _ = imported(tool, tmp_path / "out" / "blogger-drafts.xml")
    assert len(posts) == report["out"]["entries"] > 30
    assert all(DRAFT.search(text) for text in posts)


def imported(tool: Tool, file: Path) -> tuple[list[str], list[str]]:
    """Return the posts and the comments that pelican-import makes from a file."""
    content = file.parent.parent / "content"
    content.mkdir()
    tool("pelican-import", "--blogger", "--wp-custpost", file, "-o", content, "-m", "markdown", cwd=file.parent.parent)
    posts, comments = (
        [path.read_text(encoding="utf-8") for path in folder.glob("*.md")] for folder in (content, content / "comment")
    )
    return posts, comments
