"""The program's own WXR export is read back as a source, and has the entries of the archive that it was made from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from exporter.export.posts import ExportPost
from exporter.html.text import collapse, plain_text
from exporter.model.kinds import Kind
from exporter.model.records import Audience, Category, CommentStatus
from exporter.service.wxr.source import WxrFile
from tests.importers.blogs import blog
from tests.source.wxr_backups import saved, state_of

WORDS = re.compile(r"\s+")


def words(html: str) -> str:
    """Return the visible text without white space."""
    return WORDS.sub("", plain_text(html)).encode("utf-8", "replace").decode().replace("\ufffd", "?")


@pytest.mark.parametrize("style", ["html", "blocks"])
async def test_an_exported_blog_is_read_back(tmp_path: Path, style: str) -> None:
    with blog("demo", tmp_path) as made:
        made.export("wxr", tmp_path / "out", wordpress_body=style)
        (path,) = (tmp_path / "out").glob("*.xml")
        backed_up = await saved(path, tmp_path / "archive")
        assert (backed_up.outcome.exit_code, backed_up.outcome.problems) == (0, [])
        found, service = state_of(tmp_path / "archive"), WxrFile()
        posts = made.posts()
        assert len(found[Kind.ENTRIES]) == len(posts) > 5
        comments = [service.comment(raw) for raw in found[Kind.COMMENTS].values()]
        assert len(comments) == sum(len(post.comments) for post in posts) > 0
        for post in posts:
            _compare(post, service, found[Kind.ENTRIES][post.id])
            of_post = [each for each in comments if each.post_id == post.id]
            assert [(each.id, collapse(each.name), words(each.text)) for each in of_post] == [
                (each.comment.id, collapse(each.comment.name), words(each.comment.title) + words(each.comment.text))
                for each in post.comments
            ]
            assert all(each.status is CommentStatus.SHOWN for each in of_post)


def _compare(post: ExportPost, service: WxrFile, raw: dict[str, object]) -> None:
    """Compare an entry. WXR has no titles of comments, which become first lines, and no surrogates."""
    again = service.post(raw)
    assert again.title == collapse(post.title)
    assert again.date is not None
    assert post.record.date is not None
    assert abs((again.date - post.record.date).total_seconds()) < 60
    assert [each.name for each in again.categories] == [
        each.name for each in filter(None, [Category(post.category)] if post.category else [])
    ]
    assert words(again.body) == words(post.record.body)
    assert words(again.more) == words(post.record.more)
    assert collapse(again.more_title) == collapse(post.record.more_title)
    assert again.audience is Audience.PUBLIC
    assert again.comments_open is bool(post.record.comments_open)
