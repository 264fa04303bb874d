"""WordPress' own export file is read as a source, and every record is what WordPress itself says."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from exporter.html.text import plain_text
from exporter.model.kinds import Kind
from exporter.model.records import Audience, CommentKind, CommentStatus, PostKind
from exporter.service.wxr.source import WxrFile
from tests.importers.conftest import Tool
from tests.importers.test_wordpress import installed  # noqa: F401 - a fixture
from tests.source.wxr_backups import saved, state_of

SCRIPT = Path(__file__).parent / "wordpress_fill.php"
AUDIENCES = {
    "publish": Audience.PUBLIC, "draft": Audience.DRAFT, "pending": Audience.DRAFT, "private": Audience.PRIVATE,
    "trash": Audience.PRIVATE, "future": Audience.SCHEDULED,
}  # fmt: skip
STATUSES = {"1": CommentStatus.SHOWN, "0": CommentStatus.PENDING, "trash": CommentStatus.HIDDEN}
KEPT = frozenset(
    {
        "b",
        "blockquote",
        "br",
        "em",
        "figcaption",
        "figure",
        "h2",
        "img",
        "li",
        "pre",
        "strong",
        "table",
        "td",
        "tr",
        "ol",
        "sup",
        "ul",
    }
)
PARAGRAPH = "¶"
INLINE = frozenset({"<b>", "<em>", "<img>", "<strong>"})


@pytest.fixture(scope="module")
def filled(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811 - the fixture
    """A WordPress with a blog of 300 posts in two languages."""
    site = tmp_path_factory.mktemp("filled") / "wordpress"
    shutil.copytree(installed, site)
    Tool()("php", SCRIPT, "fill", site)
    return site


def exported(tool: Tool, site: Path, path: Path) -> Path:
    tool("php", SCRIPT, "export", site, into=path)
    return path


def shape(source: str) -> list[str]:
    """Return the elements and text of HTML in order, with one mark between paragraphs.

    WordPress writes ``<p>`` into scripts, and leaves the first and last paragraph of a ``div`` without their tags.
    """
    root = LexborHTMLParser(f"<body>{source}").body
    assert root is not None
    found: list[str] = []
    for each in _shape(root):
        if each != PARAGRAPH or (found and found[-1] != PARAGRAPH and not found[-1].startswith("<")):
            if each.startswith("<") and found and found[-1] == PARAGRAPH and each not in INLINE:
                found.pop()
            found.append(each)
    return found


def _shape(node: Any) -> Iterator[str]:
    for child in node.iter(include_text=True):
        if child.tag == "-text":
            text = re.sub(r"\s+", " ", child.text_content or "").strip()
            if text:
                yield text
        elif child.tag == "script":
            yield PARAGRAPH
        elif child.tag in {"p", "div"}:
            yield PARAGRAPH
            yield from _shape(child)
            yield PARAGRAPH
        else:
            if child.tag in KEPT:
                yield f"<{child.tag}>"
            yield from _shape(child)
            if child.tag in KEPT:
                yield f"</{child.tag}>"


def alternatives(source: str) -> list[str]:
    """Return the words in place of the pictures, which the sizes of a picture share."""
    return re.findall(r'<img\b[^>]*\balt="([^"]*)"', source)


def anchors(source: str) -> list[str]:
    """Return the ids and links in a page that lead to each other."""
    return sorted(re.findall(r'(?:href="#|\bid=")([0-9a-f-]{36}(?:-link)?)"', source))


async def test_every_record_of_a_real_export_is_what_wordpress_says(tool: Tool, filled: Path, tmp_path: Path) -> None:
    path, root = exported(tool, filled, tmp_path / "export.xml"), tmp_path / "archive"
    made = await saved(path, root)
    assert (made.outcome.exit_code, made.outcome.problems) == (0, [])
    told, found = json.loads(tool("php", SCRIPT, "list", filled)), state_of(root)
    service = WxrFile()
    wanted = {key: row for key, row in told["posts"].items() if row["type"] not in {"attachment", "nav_menu_item"}}
    assert set(found[Kind.ENTRIES]) == set(wanted)
    assert set(found[Kind.FILES]) == {key for key, row in told["posts"].items() if row["type"] == "attachment"}
    for key, row in wanted.items():
        post = service.post(found[Kind.ENTRIES][key])
        assert plain_text(row["title"]) == post.title
        assert post.date is not None
        assert f"{post.date:%Y-%m-%d %H:%M:%S}" == row["date"], (post.raw, row)
        assert f"{post.updated:%Y-%m-%d %H:%M:%S}" == row["modified"]
        assert post.excerpt == row["excerpt"]
        assert post.author == plain_text(row["author"])
        assert post.raw["content:encoded"] == row["content"]
        assert [(each.name, each.parents) for each in post.categories] == [
            (plain_text(each["name"]), tuple(map(plain_text, each["parents"]))) for each in row["categories"]
        ]
        assert sorted(post.tags) == sorted(row["tags"])
        assert post.kind is (PostKind.POST if row["type"] == "post" else PostKind.PAGE)
        assert post.featured == row["featured"]
        assert post.facts.get("sticky", False) is row["sticky"]
        audience = AUDIENCES[row["status"]]
        if row["password"]:
            audience = Audience.PASSWORD
        if row["type"] == "wp_block" and row["status"] == "publish":
            audience = Audience.PRIVATE
        assert post.audience is audience
        if audience not in {Audience.DRAFT, Audience.SCHEDULED}:
            assert post.permalink == row["link"]
        if row["rendered"] and audience is not Audience.PASSWORD:
            whole = re.sub(r"<!--more.*?-->", "<!---->", row["content"])
            shown = service.post({**found[Kind.ENTRIES][key], "content:encoded": whole}).body
            assert shape(shown) == shape(row["rendered"]), row["content"]
            assert alternatives(shown) == alternatives(row["rendered"])
            assert anchors(shown) == anchors(row["rendered"])
            assert all(words in f"{post.body}{post.more}" for words in re.findall(r"<p>([^<]+)</p>", shown))
    for key, raw in found[Kind.FILES].items():
        upload, row = service.upload(raw), told["posts"][key]
        assert (upload.url, upload.alt, upload.width, upload.height, upload.bytes) == (
            row["url"], row["alt"], 1600, 1200, 12345,
        )  # fmt: skip
    comments = {key: row for key, row in told["comments"].items() if row["comment_approved"] != "spam"}
    assert set(found[Kind.COMMENTS]) == set(comments)
    for key, row in comments.items():
        comment = service.comment(found[Kind.COMMENTS][key])
        assert (comment.post_id, comment.name, comment.email, comment.url) == (
            row["comment_post_ID"], row["comment_author"].replace("&amp;", "&"), row["comment_author_email"],
            row["comment_author_url"].replace("&amp;", "&").replace("&#038;", "&"),
        )  # fmt: skip
        assert comment.date is not None
        assert f"{comment.date:%Y-%m-%d %H:%M:%S}" == row["comment_date"]
        assert comment.parent == row["comment_parent"].replace("0", "", 1 if row["comment_parent"] == "0" else 0)
        assert comment.status is STATUSES[row["comment_approved"]]
        assert comment.kind is CommentKind(row["comment_type"])
        assert comment.by_owner is (row["user_id"] == "1")


async def test_a_second_export_makes_no_version_and_an_edit_is_one_change(
    tool: Tool, filled: Path, tmp_path: Path
) -> None:
    site = shutil.copytree(filled, tmp_path / "wordpress")
    root = tmp_path / "archive"
    await saved(exported(tool, site, tmp_path / "one.xml"), root)
    path = exported(tool, site, tmp_path / "one.xml")
    again = await saved(path, root)
    assert all(not counts.changed for kind, counts in again.outcome.counts.items() if kind != "assets")
    tool("php", SCRIPT, "edit", site)
    third = await saved(exported(tool, site, path), root)
    counts = third.outcome.counts
    assert (counts["entries"].changed, counts["entries"].new, counts["entries"].gone) == (1, 0, 0)
    assert sum(each.changed for kind, each in counts.items() if kind not in {"assets", "entries"}) == 0
