"""One row for each file that the blog has or the archive contains."""

from __future__ import annotations

from dataclasses import replace

import pytest

from exporter.archive.assets import FileRow, FileState, StoredFile, inventory
from exporter.model.asset import Asset, AssetState, asset_path
from exporter.service.registry import DEFAULT_SERVICE

SHA, OTHER, VANISHED = "ab" * 32, "cd" * 32, "ef" * 32
FILE = {"file_id": "7", "name": "海.jpg", "title": "海", "file_size": "9", "width": "3", "height": "4", "mtime": "1"}
STORE = {sha: StoredFile(asset_path(sha, "image/gif"), 9) for sha in (SHA, OTHER)}


def rows(*assets: Asset, files: bool = True) -> list[FileRow]:
    return list(
        inventory([asset.data() for asset in assets], {"7": DEFAULT_SERVICE.upload(FILE)} if files else {}, STORE)
    )


def test_stored_files_are_listed_with_their_uses() -> None:
    stored = Asset("http://h/a.gif", 200, "image/gif", 9, SHA, None, [{"entry": "1"}, {"file": "7"}], 3, 4)
    row, left_over = rows(stored)
    assert row == FileRow(
        FileState.STORED,
        "http://h/a.gif",
        STORE[SHA].path,
        9,
        "image/gif",
        3,
        4,
        "海.jpg",
        "海",
        ("7",),
        ("1",),
        False,
        200,
    )
    assert not row.absent
    assert row.document()["held"] == "stored"
    assert left_over == FileRow(FileState.NAMELESS, path=STORE[OTHER].path, bytes=9, orphan=True)
    assert not left_over.absent


def test_lost_missing_and_unread_files_are_absent() -> None:
    lost = Asset("http://h/b.gif", 404, error="it answered 404", refs=[{"entry": "1"}])
    missing = Asset("http://h/c.gif", 200, "image/gif", 9, VANISHED, refs=[{"entry": "1"}])
    found = [row for row in rows(lost, missing) if row.absent]
    assert [(row.held, row.reason) for row in found] == [
        (FileState.LOST, "it answered 404"),
        (FileState.MISSING, "the stored file is gone: run backup"),
        (FileState.UNREAD, "its address is not known, or not asked for: see --file-url and --assets"),
    ]
    assert (found[0].path, found[1].path) == (None, None)
    assert (found[2].files, found[2].bytes, found[2].name) == (("7",), 9, "海.jpg")


@pytest.mark.parametrize(
    ("asset", "held"),
    [
        (Asset("http://h/b.gif", 404), FileState.LOST),
        (Asset("http://h/b.gif", 410), FileState.LOST),
        (Asset("http://h/b.gif", 503), FileState.PENDING),
        (Asset("http://h/b.gif", None), FileState.PENDING),
        (Asset("http://h/b.gif", 200), FileState.PENDING),
        (Asset("http://h/b.gif", None, absence=AssetState.LOST), FileState.LOST),
        (Asset("http://h/b.gif", 404, absence=AssetState.PENDING), FileState.PENDING),
        (Asset("http://h/b.gif", 200, absence=AssetState.LEFT_OUT), FileState.LEFT_OUT),
    ],
)
def test_the_reason_of_an_absent_file_is_given(asset: Asset, held: FileState) -> None:
    row = rows(replace(asset, error="why", refs=[{"entry": "1"}]))[0]
    assert (row.held, row.absent, row.reason) == (held, True, "why")


def test_a_lost_upload_has_the_size_the_list_says() -> None:
    lost = Asset("http://h/b.gif", 404, error="it answered 404", refs=[{"file": "7"}])
    row = rows(lost)[0]
    assert (row.bytes, row.orphan, row.entries) == (9, True, ())


def test_refs_to_uploads_that_are_gone_do_no_harm() -> None:
    stored = Asset("http://h/a.gif", 200, "image/gif", 9, SHA, refs=[{"file": "8"}])
    row = rows(stored, files=False)[0]
    assert (row.name, row.files, row.orphan) == (None, ("8",), True)


def test_a_doubt_is_shown() -> None:
    stored = Asset("http://h/a.gif", 200, "image/gif", 9, SHA, "it has 9 bytes, the file list says 8")
    assert rows(stored)[0].reason == stored.error
    assert rows(replace(stored, error=None))[0].reason is None
