"""An export to Movable Type's format, read back as a source, gives the same blog; the differences are named here."""

from __future__ import annotations

import json
from pathlib import Path

from exporter.archive.archive import Archive
from exporter.html.embedded import embedded
from exporter.html.links import absolute
from exporter.html.text import collapse, text_of
from exporter.model.kinds import Kind
from exporter.model.records import Audience, Comment, CommentKind, Post
from exporter.service.registry import DEFAULT_SERVICE
from exporter.text import without_surrogates
from tests.cli.conftest import Program
from tests.source.reading import back_up, comments_in, posts_in
from tests.support.declared import sample_in
from tests.support.export_texts import made_entries, written

SAMPLE = Path(__file__).parent.parent.parent / "sample_output"
PUBLIC = ("--public-open-flg", "1,2", "--period-flg-public", "--visible-delete-flg", "f")


def words(*texts: str) -> str:
    """Return the words of texts in HTML; an export breaks and joins lines, and half a character becomes U+FFFD."""
    return without_surrogates("".join("".join(map(text_of, texts)).split()))[0]


def pictures(post: Post, base: str) -> list[str]:
    """Return the addresses in a text; an export makes relative ones absolute."""
    found = (absolute(text, base) for html in (post.body, post.more) for text, _ in embedded(html))
    return sorted(filter(None, found))


def said(comment: Comment) -> tuple[str, str, str]:
    """Return a comment's writer, address and words; the format has no title, so an export makes it the first line."""
    return (
        collapse(comment.name),
        comment.url if comment.url.startswith("http") else "",
        words(comment.title, comment.text),
    )


async def test_the_sample_blog(program: Program, tmp_path: Path) -> None:
    out, root = tmp_path / "out", tmp_path / "archive"
    program("export", "movabletype", sample_in(tmp_path), out, *PUBLIC, "--wordpress-body", "plain")
    report = json.loads((tmp_path / "out.report.json").read_text("utf-8"))
    saved = await back_up(out, root)
    assert (saved.outcome.exit_code, saved.notes) == (0, ())
    archive = Archive.open(SAMPLE)
    base = f"https://{archive.info.blog_id}/"
    items = dict(archive.records(Kind.ENTRY_LIST))
    before = [DEFAULT_SERVICE.post(raw, items.get(key)) for key, raw in archive.records(Kind.ENTRIES)]
    by_date = {post.date: post for post in posts_in(root).values()}
    exported = [post for post in before if post.date in by_date]
    assert len(exported) == len(by_date) == report["out"]["entries"] == 58
    for old in exported:
        new = by_date[old.date]
        assert (new.audience, new.comments_open, new.pings_open) == (Audience.PUBLIC, old.comments_open, old.pings_open)
        assert [each.name for each in new.every_category] == [each.name for each in old.every_category]
        # An entry without a title gets the first words of its text, and a title loses its line ends.
        assert new.title == collapse(old.title) or not collapse(old.title)
        assert words(new.body) == words(old.body)
        # The text of the link to the continuation is its first line.
        assert words(new.more) == words(old.more_title if old.more else "", old.more)
        assert pictures(new, base) == pictures(old, base)
    kept = {old.id for old in exported}
    comments = (DEFAULT_SERVICE.comment(raw) for _, raw in archive.records(Kind.COMMENTS))
    old_comments = [comment for comment in comments if comment.post_id in kept and comment.deleted is False]
    new_comments = list(comments_in(root).values())
    assert sorted(map(said, new_comments)) == sorted(map(said, old_comments))
    # A comment that has only a day gets a time of its own in the day, so only the days are equal.
    days = [sorted(str(each.date.date()) for each in found if each.date) for found in (new_comments, old_comments)]
    assert days[0] == days[1]


async def test_an_archive_of_this_format(program: Program, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    await back_up(written(tmp_path / "export.txt", made_entries(40, several=20, drafts=3)), first)
    program("export", "movabletype", first, tmp_path / "out", "--wordpress-body", "plain", "--only", "all")
    await back_up(tmp_path / "out", second)
    before, after = posts_in(first), posts_in(second)
    drafts = [key for key, post in before.items() if post.audience is Audience.DRAFT]
    assert len(drafts) == 3
    assert list(after) == [key for key in before if key not in drafts]
    for key, new in after.items():
        old = before[key]
        assert (new.title, new.date, new.audience) == (old.title, old.date, old.audience)
        assert (words(new.body), words(new.more)) == (words(old.body), words(old.more))
        assert (new.categories, new.tags, new.excerpt) == (old.categories, old.tags, old.excerpt)
    old_comments = [each for each in comments_in(first).values() if each.post_id in after]
    new_comments = list(comments_in(second).values())
    assert {each.kind for each in new_comments} == {CommentKind.COMMENT, CommentKind.TRACKBACK}
    assert sorted((each.kind, said(each), str(each.date)) for each in new_comments) == sorted(
        (each.kind, said(each), str(each.date)) for each in old_comments
    )
