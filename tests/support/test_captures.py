"""The helper that makes captures for tests: it seals what the program itself can read."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from exporter.archive.captures import captures
from exporter.archive.layout import Layout
from exporter.warc.lookup import CaptureLookup
from tests.support.captures import captured
from tests.support.styled_blog import styled_blog


def test_a_capture_is_found_again(tmp_path: Path) -> None:
    blog = styled_blog(3)
    moment = datetime(2026, 11, 26, 1, 2, 3, tzinfo=UTC)
    with blog.serving_in_thread() as origin:
        first = captured(tmp_path, blog, ["/", f"/Entry/{min(blog.posts)}/", "/css/style.css"], moment=moment)
        second = captured(tmp_path, blog, ["/css/style.css", "/missing"])
    assert [each.number for each in captures(Layout(tmp_path))] == [first.number, second.number] == [1, 2]
    lookup = CaptureLookup(Layout(tmp_path))
    found = lookup.nearest(f"{origin}/css/style.css", moment)
    assert found is not None
    assert (found.line.timestamp, found.line.status) == ("20261126010203", 200)
    with lookup.replay(found) as replay:
        assert b"@import" in b"".join(replay.payload)
    assert first.info().counts["pages"] == 2
