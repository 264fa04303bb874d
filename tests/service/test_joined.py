"""Records that several services gave: the most hidden statement counts, and an unknown service makes a record private."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from exporter.model.publication import Declared, PostStatus
from exporter.model.records import Audience
from exporter.service.registry import service_of
from exporter.settings import Settings

READS = service_of(Settings(), "movable-type")
FILE = {"id": "1", "TITLE": "海", "STATUS": "Publish", "DATE": "01/02/2020 10:00:00", "BODY": "<p>波</p>"}
PAGE = {"id": "7", "title": "海", "status": "public", "date": "2020-01-02T10:00:00+09:00", "url": "https://a.example/7"}
COMMENT = {"id": "2", "post_id": "1", "type": "COMMENT", "AUTHOR": "mika", "text": "はい"}
OPEN = Declared(frozenset({"Publish"}))


def joined(**sources: Any) -> dict[str, Any]:
    return {"id": "1", "sources": {name.replace("_", "-"): record for name, record in sources.items()}}


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
