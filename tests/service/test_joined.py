"""Records that several services gave: the most hidden statement counts, and an unknown service makes a record private."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from exporter.model.publication import Cause, Declared, Hidden, PostStatus
from exporter.model.records import Audience, CommentStatus, Lack, Unshown
from exporter.service.registry import service_of
from exporter.settings import Settings

READS = service_of(Settings(), "movable-type")
FILE = {"id": "1", "TITLE": "海", "STATUS": "Publish", "DATE": "01/02/2020 10:00:00", "BODY": "<p>波</p>"}
PAGE = {"id": "7", "title": "海", "status": "public", "date": "2020-01-02T10:00:00+09:00", "url": "https://a.example/7"}
COMMENT = {"id": "2", "post_id": "1", "type": "COMMENT", "AUTHOR": "mika", "text": "はい"}
OPEN = Declared(frozenset({"Publish"}))


def joined(newest: str = "movable-type", gone: tuple[str, ...] = (), **sources: Any) -> dict[str, Any]:
    raw = {"id": "1", "newest": newest, "sources": {name.replace("_", "-"): each for name, each in sources.items()}}
    return {**raw, "gone": {name: {"absent_in_sweeps": [1, 2]} for name in gone}} if gone else raw


def status(raw: dict[str, Any]) -> PostStatus:
    return READS.publication(READS.post(raw), OPEN, datetime(2030, 1, 1, tzinfo=UTC)).status


def test_a_joined_entry_has_the_text_of_the_file_and_the_address_of_the_page() -> None:
    post = READS.post(joined(movable_type=FILE, public_site=PAGE))
    assert (post.id, post.body, post.permalink) == ("1", "<p>波</p>", "https://a.example/7")
    assert post.sources == ("movable-type", "public-site")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (FILE, PostStatus.PUBLISH),
        (joined(movable_type=FILE, public_site=PAGE), PostStatus.PUBLISH),
        (joined(movable_type={**FILE, "STATUS": "Draft"}, public_site=PAGE), PostStatus.DRAFT),
        (joined(movable_type=FILE, public_site={**PAGE, "status": "password"}), PostStatus.PRIVATE),
        (joined(movable_type=FILE, public_site=PAGE, later_service={"hidden": True}), PostStatus.PRIVATE),
        (joined(later_service={}), PostStatus.PRIVATE),
    ],
)
def test_the_most_hidden_statement_counts(raw: dict[str, Any], expected: PostStatus) -> None:
    assert status(raw) is expected


DRAFT = {**FILE, "STATUS": "Draft", "BODY": "<p>まだ秘密</p>"}
UNSAID = {name: value for name, value in FILE.items() if name != "STATUS"}


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (joined("public-site", movable_type=DRAFT, public_site=PAGE), PostStatus.PUBLISH),
        (joined("movable-type", movable_type=DRAFT, public_site=PAGE), PostStatus.DRAFT),
        (joined("public-site", movable_type=UNSAID, public_site=PAGE), PostStatus.PUBLISH),
        (joined("movable-type", movable_type=UNSAID, public_site=PAGE), PostStatus.PUBLISH),
        (joined("public-site", ("public-site",), movable_type=FILE), PostStatus.PRIVATE),
        (joined("movable-type", ("public-site",), movable_type=FILE), PostStatus.PRIVATE),
        (joined("movable-type", ("movable-type",), public_site=PAGE), PostStatus.PRIVATE),
        (joined("public-site", ("movable-type",), public_site=PAGE), PostStatus.PUBLISH),
        (joined("movable-type", ("later-service",), movable_type=FILE), PostStatus.PRIVATE),
        (joined("wordpress", ("public-site",), movable_type=FILE, wordpress={"status": "publish"}), PostStatus.DRAFT),
    ],
)
def test_the_newest_statement_of_an_address_counts_more_than_a_file(raw: dict[str, Any], expected: PostStatus) -> None:
    assert status(raw) is expected


def test_a_public_entry_shows_no_text_of_a_draft() -> None:
    post = READS.post(joined("public-site", movable_type=DRAFT, public_site={**PAGE, "body": "<p>波</p>"}))
    assert (post.audience, post.title, post.others) == (Audience.PUBLIC, "海", ())
    assert "秘密" not in f"{post.body}{post.more}{post.excerpt}"


def test_what_a_text_does_not_show_is_named_only_if_that_text_counts() -> None:
    reads = service_of(Settings(), "wordpress")
    file = {"wp:post_id": "1", "wp:status": "publish", "content:encoded": '文<!-- wp:block {"ref":7} /-->'}
    for body, unshown in (("", (Unshown(Lack.PATTERN, "7"),)), ("<p>文と型</p>", ())):
        address = {"id": 1, "status": "publish", "content": {"rendered": body}}
        assert reads.post(joined("wordpress", wxr=file, wordpress=address)).unshown == unshown


def test_what_an_address_took_back_is_private() -> None:
    raw = joined("public-site", ("public-site",), movable_type=FILE)
    post = READS.post(raw)
    assert (post.id, post.body, post.audience) == ("1", "<p>波</p>", Audience.PRIVATE)
    assert READS.publication(post, OPEN).cause == Cause(Hidden.WITHDRAWN, "public-site")
    comment = READS.comment({**joined("public-site", ("public-site",), movable_type=COMMENT), "post_id": "1"})
    assert (comment.text, comment.status) == ("はい", CommentStatus.HIDDEN)
    assert not READS.is_visible(comment, Declared())
    assert READS.why_hidden(comment) == Cause(Hidden.WITHDRAWN, "public-site")


def test_the_audience_is_the_most_hidden_one() -> None:
    page = {**PAGE, "status": "password"}
    assert READS.post(joined(movable_type=FILE, public_site=page)).audience is Audience.PASSWORD


def test_a_comment_of_an_unknown_service_is_not_shown() -> None:
    shown, unknown = joined(movable_type=COMMENT), joined(movable_type=COMMENT, later_service={})
    assert READS.is_visible(READS.comment({**shown, "post_id": "1"}), Declared())
    assert not READS.is_visible(READS.comment({**unknown, "post_id": "1"}), Declared())


def test_flags_are_those_of_the_main_service() -> None:
    assert READS.flags(joined(movable_type=FILE, public_site=PAGE))["STATUS"] == "Publish"
    assert READS.flags(joined(public_site=PAGE)) == {}
