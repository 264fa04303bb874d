"""The map file survives crashes, belongs to one blog and one WordPress, and is written by one process."""

from __future__ import annotations

import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from exporter.errors import ArchiveLocked, UsageError
from exporter.move.map_file import MapFile, Mapped

NOW = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)


def opened(path: Path, blog: str = "umi.example", home: str = "new.example", *, keep: bool = True) -> MapFile:
    return MapFile(path, blog, home, NOW, keep=keep)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "map.jsonl"


def test_made_and_pending_records_are_read_back(path: Path) -> None:
    with opened(path) as made:
        made.sending("posts", "1", NOW)
        made.made("posts", "1", Mapped(7, "https://new.example/a/", "abc"))
        made.made("posts", "1", Mapped(7, "https://new.example/a/", "abc"))
        made.sending("posts", "2", NOW)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(path.read_text().splitlines()) == 4
    with opened(path) as again:
        assert again.of("posts", "1") == Mapped(7, "https://new.example/a/", "abc")
        assert again.of("comments", "1") is None
        assert again.sending_since("posts", "1") is None
        assert again.sending_since("posts", "2") == NOW
        again.made("posts", "2", Mapped(8))
        assert again.sending_since("posts", "2") is None
    with opened(path) as again:
        assert again.of("posts", "2") == Mapped(8)
        assert again.sending_since("posts", "2") is None


@pytest.mark.parametrize("cut", range(1, 35))
def test_a_torn_last_line_is_ignored(path: Path, cut: int) -> None:
    with opened(path) as made:
        made.made("posts", "1", Mapped(7))
        made.made("posts", "2", Mapped(8))
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    with opened(path, keep=False) as tried:
        assert (tried.of("posts", "1"), tried.of("posts", "2")) == (Mapped(7), None)
    assert path.read_bytes() == whole[:-cut], "a dry run writes nothing"
    with opened(path) as again:
        again.made("posts", "2", Mapped(9))
    with opened(path) as again:
        assert (again.of("posts", "1"), again.of("posts", "2")) == (Mapped(7), Mapped(9))


def test_it_belongs_to_one_blog_and_one_home(path: Path) -> None:
    with opened(path):
        pass
    for blog, home in (("other.example", "new.example"), ("umi.example", "other.example")):
        with pytest.raises(UsageError, match=r"is the map of umi\.example moving to new\.example"):
            opened(path, blog, home)
    path.write_text(path.read_text().replace('"version":1', '"version":2'))
    with pytest.raises(UsageError, match="newer version"):
        opened(path)


@pytest.mark.parametrize("content", [b"{}\n", b"[]\n", b"text\n", b'{"format":"other"}\n', b"\xff\n"])
def test_another_file_is_refused_and_kept(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(UsageError, match="not the map of a move"):
        opened(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "1",
        '{"kind":1}',
        '{"kind":"posts","key":"1","sending":"soon"}',
        '{"kind":"posts","key":"1","sending":"0001-01-01T00:00:00+23:59"}',
        "{",
    ],
)
def test_an_odd_line_is_refused(path: Path, line: str) -> None:
    with opened(path):
        pass
    with path.open("a") as file:
        file.write(line + "\n")
    with pytest.raises(UsageError, match=r"map\.jsonl is damaged in line 2\. Move the file away"):
        opened(path)


def test_a_path_that_is_not_a_file_is_refused(path: Path) -> None:
    path.mkdir()
    with pytest.raises(UsageError, match="is not a file"):
        opened(path)


def test_only_one_process_writes_it(path: Path) -> None:
    with opened(path):
        with pytest.raises(ArchiveLocked, match="written by another move"):
            opened(path)
        with opened(path, keep=False):
            pass
    with opened(path):
        pass


def test_a_dry_run_makes_no_file(path: Path) -> None:
    with opened(path, keep=False) as tried:
        tried.sending("posts", "1", NOW)
        tried.made("posts", "1", Mapped(7))
    assert list(path.parent.iterdir()) == []
