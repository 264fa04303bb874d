"""Links from entries to their captures: which entries have one, and which files a new capture rewrites."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from exporter.library.views import present_views, refresh_latest
from exporter.model.kinds import Kind
from exporter.service.registry import DEFAULT_SERVICE
from exporter.settings import resolve
from exporter.site import SiteOptions
from exporter.site.captured import CapturedPages
from exporter.site.history import ArchiveHistory
from exporter.site.thumbnails import Thumbnails
from exporter.site.view import SiteView
from tests.archive.builder import Built, record
from tests.support.captures import captured
from tests.support.styled_blog import styled_blog

FIRST = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def files(root: Path) -> dict[str, bytes]:
    site = root / "latest" / "site"
    return {path.relative_to(site).as_posix(): path.read_bytes() for path in site.rglob("*") if path.is_file()}


def refresh(built: Built, origin: str, **options: Any) -> int:
    settings = resolve({"entry_url": f"{origin}/Entry/{{entry_id}}/", "site_title": "海", **options}, environ={})
    return refresh_latest(built.reader, present_views(settings, built.root, also=["site"])).files


def entries(*ids: str, **fields: Any) -> dict[str, bytes]:
    return {each: record(entry_id=each, title=f"題{each}", year="2020", mon="1", day="2", **fields) for each in ids}


@pytest.fixture
def built(tmp_path: Path) -> Built:
    made = Built(tmp_path / "archive")
    made.commit({Kind.ENTRIES: entries("3", "4", "5") | entries("7", is_private="t")})
    return made


def test_a_new_capture_rewrites_only_the_pages_that_gain_a_link(built: Built) -> None:
    blog = styled_blog(8)
    numbers = sorted(blog.posts)[:3]
    built.commit({Kind.ENTRIES: entries(*map(str, numbers))})
    with blog.serving_in_thread() as origin:
        refresh(built, origin)
        before = files(built.root)
        assert "capture.html" not in before
        captured(built.root, blog, [f"/Entry/{number}/" for number in numbers[:2]], moment=FIRST)
        made = refresh(built, origin)
        after = files(built.root)
        changed = {path for path, data in after.items() if before.get(path) != data}
        assert changed == {f"entry/{number}.html" for number in numbers[:2]} | {"capture.html"}
        assert made == len(changed)
        page = after[f"entry/{numbers[0]}.html"].decode()
        assert "../capture.html?url=http%3A%2F%2F127.0.0.1" in page
        assert f"at=20260102030405&amp;entry={numbers[0]}" in page
        assert "2026年1月2日" in page
        assert "2026年1月2日" in after["capture.html"].decode()
        blog.edit(numbers[0], title="新しい題")
        captured(built.root, blog, [f"/Entry/{numbers[0]}/"], moment=FIRST + timedelta(days=3))
        refresh(built, origin)
        newest = files(built.root)
        assert {path for path, data in newest.items() if after.get(path) != data} == {
            f"entry/{numbers[0]}.html", "capture.html",
        }  # fmt: skip
        assert newest[f"entry/{numbers[0]}.html"].decode().count("capture.html?url=") == 2
        assert refresh(built, origin) == 0


def test_private_entries_and_public_copies_have_no_link(built: Built) -> None:
    blog = styled_blog(3)
    number = str(min(blog.posts))
    built.commit({Kind.ENTRIES: entries(number, is_private="t")})
    with blog.serving_in_thread() as origin:
        captured(built.root, blog, [f"/Entry/{number}/"], moment=FIRST)
        refresh(built, origin)
        assert b"capture.html" not in files(built.root)[f"entry/{number}.html"]
        built.commit({Kind.ENTRIES: entries(number)})
        refresh(built, origin)
        assert b"capture.html" in files(built.root)[f"entry/{number}.html"]
        reader = built.reader
        options = SiteOptions(public=True, assets="", entry_addresses=(f"{origin}/Entry/{{entry_id}}/",))
        view = SiteView(DEFAULT_SERVICE, ArchiveHistory(reader, DEFAULT_SERVICE), options, None, Thumbnails(), CapturedPages(reader.layout))  # fmt: skip
        with_links = [file.path for file in view.files(reader.state()) if b"capture.html" in file.render()]
        assert with_links == []


def test_an_error_page_is_no_capture_of_an_entry(built: Built) -> None:
    blog = styled_blog(3)
    with blog.serving_in_thread() as origin:
        built.commit({Kind.ENTRIES: entries("999999")})
        captured(built.root, blog, ["/Entry/999999/"], moment=FIRST)
        refresh(built, origin)
        assert b"capture.html" not in files(built.root)["entry/999999.html"]


def test_damaged_captures_are_named_and_stop_nothing(built: Built) -> None:
    blog = styled_blog(3)
    number = str(min(blog.posts))
    built.commit({Kind.ENTRIES: entries(number)})
    with blog.serving_in_thread() as origin:
        for _ in range(2):
            made = captured(built.root, blog, [f"/Entry/{number}/"], moment=FIRST)
        folder = built.root / "captures" / "000002"
        (folder / "capture.json").write_bytes(b"{")
        (folder / "index.cdxj").write_bytes(b"\xff\xfe\n" * 10)
        refresh(built, origin)
        assert made.number == 2
        shown = files(built.root)
        assert shown[f"entry/{number}.html"].count(b"capture.html?url=") == 1
        rows = re.findall(r"<tr><th scope=\"row\">(\d)</th>", shown["capture.html"].decode())
        assert rows == ["2", "1"]
