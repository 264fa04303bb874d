"""Captures are a part of the archive: verify names every kind of damage, and nothing disappears unnoticed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from exporter.archive.captures import (
    CaptureInfo,
    append_capture_run,
    capture_runs,
    captures,
    is_capture_file,
    next_capture,
    seal_capture,
)
from exporter.archive.checks import Finding, FindingCode
from exporter.archive.layout import Layout
from exporter.archive.manifest import read_sums, write_sums
from exporter.archive.prune import KeptVersion, PrunePlan
from exporter.archive.reader import known_damage
from exporter.errors import ArchiveDamaged
from exporter.warc.cdxj import CaptureIndex, IndexLine
from exporter.warc.checks import record_checks
from tests.archive.builder import Built
from tests.archive.capturing import NAME, forge, reseal
from tests.archive.sums import sums_agree
from tests.support.captures import captured
from tests.support.styled_blog import styled_blog

FIRST, SECOND, THIRD = (f"captures/00000{number}" for number in (1, 2, 3))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an archive with two versions and three captures; the second has a revisit of a record of its own."""
    root = tmp_path_factory.mktemp("captures") / "archive"
    built = Built(root)
    built.commit({})
    blog = styled_blog(2)
    page = f"/Entry/{min(blog.posts)}/"
    with blog.serving_in_thread():
        captured(root, blog, ["/", page, "/css/style.css"], moment=datetime(2026, 11, 26, 1, 2, 3, tzinfo=UTC))
        captured(root, blog, ["/css/style.css", "/css/style.css?again", "/missing"])
        captured(root, blog, [page])
    built.run(version=1, completeness={"complete": True})
    return root


@pytest.fixture
def archive(whole: Path, tmp_path: Path) -> Built:
    shutil.copytree(whole, tmp_path / "archive")
    return Built.reopen(tmp_path / "archive")


def verified(archive: Built, *, quick: bool = False) -> list[Finding]:
    """Return the findings of a check with all records, but for those of ``latest/``."""
    found = archive.reader.verify(quick=quick, records=record_checks(archive.layout))
    return [each for each in found if each.path != "latest"]


def forge_index(archive: Built, number: int, data: bytes) -> None:
    forge(archive.layout, number, {"index.cdxj": data})


def edit(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert data.count(old) >= 1
    path.write_bytes(data.replace(old, new, 1))


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_an_intact_archive_has_no_finding(archive: Built) -> None:
    assert verified(archive) == []
    assert verified(archive, quick=True) == []


def test_anyone_can_check_its_sums(archive: Built) -> None:
    for folder in (archive.root, *(capture.folder for capture in captures(archive.layout))):
        assert sums_agree(folder)
    assert "captures/000003/capture.json" in read_sums(archive.layout.sums.read_bytes())


def test_an_archive_without_captures_is_as_before(tmp_path: Path) -> None:
    built = Built(tmp_path / "plain")
    built.commit({})
    assert not (tmp_path / "plain" / "captures").exists()
    assert b"capture" not in built.layout.sums.read_bytes() + built.layout.runs.read_bytes()


def unsealed(archive: Built) -> None:
    """Leave the captures out of the seal, as a program without captures does."""
    rows = read_sums(archive.layout.sums.read_bytes())
    archive.layout.sums.write_bytes(write_sums({name: row for name, row in rows.items() if "captures" not in name}))


def as_folder(path: Path) -> None:
    """Put a folder into the place of a file."""
    path.unlink()
    path.mkdir()


def without_captures(a: Built) -> None:
    """Remove all captures, and their row in the seal."""
    shutil.rmtree(a.layout.captures)
    unsealed(a)


Damage = Callable[[Built], object]

DAMAGES: list[tuple[FindingCode, str, str, Damage]] = [
    (FindingCode.CAPTURE_MISSING, SECOND, "it is missing", lambda a: shutil.rmtree(a.root / SECOND)),
    (FindingCode.CAPTURE_MISSING, THIRD, "it is missing", lambda a: shutil.rmtree(a.root / THIRD)),
    (
        FindingCode.CAPTURE_MISSING, FIRST, "it and all captures up to 000003 are missing",
        lambda a: shutil.rmtree(a.layout.captures),
    ),
    (
        FindingCode.CAPTURE_DAMAGED, f"{SECOND}/{NAME}", "SHA256SUMS names it, and it is missing",
        lambda a: (a.root / SECOND / NAME).unlink(),
    ),
    (
        FindingCode.CAPTURE_DAMAGED, f"{SECOND}/index.cdxj", "its hash is not the one in SHA256SUMS",
        lambda a: edit(a.root / SECOND / "index.cdxj", b"200", b"201"),
    ),
    (
        FindingCode.CAPTURE_DAMAGED, f"{SECOND}/pages.jsonl", "it cannot be read",
        lambda a: as_folder(a.root / SECOND / "pages.jsonl"),
    ),
    (
        FindingCode.STRANGE_FILE, f"{SECOND}/notes.txt", "no part of the format",
        lambda a: (a.root / SECOND / "notes.txt").write_bytes(b""),
    ),
    (
        FindingCode.STRANGE_FILE, "captures/4", "no part of the format",
        lambda a: (a.layout.captures / "4").mkdir(),
    ),
    (
        FindingCode.CAPTURE_DAMAGED, f"{SECOND}/SHA256SUMS", "it cannot be read",
        lambda a: (a.root / SECOND / "SHA256SUMS").unlink(),
    ),
    (
        FindingCode.CAPTURE_DAMAGED, f"{SECOND}/SHA256SUMS", "it has a row without a hash and a name",
        lambda a: append((a.root / SECOND / "SHA256SUMS"), b"x\n"),
    ),
    (
        FindingCode.CAPTURE_DAMAGED, f"{SECOND}/SHA256SUMS", "it names a file that no capture has",
        lambda a: append((a.root / SECOND / "SHA256SUMS"), b"0" * 64 + b"  ../../../etc/passwd\n"),
    ),
    (
        FindingCode.CAPTURE_DAMAGED, f"{SECOND}/index.cdxj", "SHA256SUMS does not name it",
        lambda a: edit(a.root / SECOND / "SHA256SUMS", b"index.cdxj", b"index.cdxx"),
    ),
    (
        FindingCode.CAPTURE_DAMAGED, f"{SECOND}/capture.json", "complete is missing",
        lambda a: edit(a.root / SECOND / "capture.json", b'"complete"', b'"compleat"'),
    ),
    (
        FindingCode.CAPTURE_DAMAGED, f"{SECOND}/capture.json", "it is not JSON",
        lambda a: (a.root / SECOND / "capture.json").write_bytes(b"{"),
    ),
    (
        FindingCode.CAPTURE_DAMAGED, f"{SECOND}/capture.json", "it says capture 9",
        lambda a: edit(a.root / SECOND / "capture.json", b'"capture": 2', b'"capture": 9'),
    ),
    (
        FindingCode.CAPTURE_DAMAGED, f"{SECOND}/capture.json", "its list of files differs from the files",
        lambda a: edit(a.root / SECOND / "capture.json", b"BLOG-", b"blog-"),
    ),
    (
        FindingCode.CHAIN_BROKEN, f"{THIRD}/capture.json", "it does not name the capture before it",
        lambda a: edit(a.root / SECOND / "capture.json", b"test/1", b"test/2"),
    ),
    (
        FindingCode.CAPTURE_DAMAGED, f"{THIRD}/capture.json", "it differs from the sealed one",
        lambda a: edit(a.root / THIRD / "capture.json", b"test/1", b"test/2"),
    ),
    (
        FindingCode.CAPTURE_MISSING, "runs.jsonl", "the capture that its newest line names is missing",
        without_captures,
    ),
    (FindingCode.NOT_SEALED, "SHA256SUMS", "it does not name the newest capture", unsealed),
    (
        FindingCode.SEAL_DAMAGED, "SHA256SUMS", "it does not have a row for each of",
        lambda a: append(a.layout.sums, b"0" * 64 + b"  captures/000001/capture.json\n"),
    ),
    (FindingCode.CAPTURE_DAMAGED, "captures/runs.jsonl", "it is missing", lambda a: a.layout.capture_runs.unlink()),
    (
        FindingCode.CAPTURE_DAMAGED, "captures/runs.jsonl", "line 4 is not a run: finished_at is missing",
        lambda a: append(a.layout.capture_runs, b"{}\n"),
    ),
    (
        FindingCode.CAPTURE_DAMAGED, "captures/runs.jsonl", "line 4 is not a run: it is not JSON",
        lambda a: append(a.layout.capture_runs, b"[\n"),
    ),
    (
        FindingCode.CAPTURE_DAMAGED, "captures/runs.jsonl", "it does not begin with the sealed lines",
        lambda a: edit(a.layout.capture_runs, b'"capture":1', b'"capture":2'),
    ),
    (
        FindingCode.NOT_SEALED, "captures/runs.jsonl", "its last line was cut short",
        lambda a: append(a.layout.capture_runs, b'{"finished_at":'),
    ),
    (
        FindingCode.CAPTURE_MISSING, "captures/runs.jsonl", "line 3 names a capture that is missing",
        lambda a: shutil.rmtree(a.root / THIRD),
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "path", "detail", "damage"),
    DAMAGES,
    ids=[f"{code}-{path[:40]}-{detail[:40]}" for code, path, detail, _ in DAMAGES],
)
def test_damage_is_named(archive: Built, code: FindingCode, path: str, detail: str, damage: Damage) -> None:
    damage(archive)
    for quick in (False, True):
        found = [each for each in verified(archive, quick=quick) if (each.code, each.path) == (code, path)]
        assert any(detail in each.detail for each in found), [*found, *verified(archive)]


def test_a_number_far_away_is_one_finding(archive: Built) -> None:
    shutil.copytree(archive.root / THIRD, archive.layout.captures / "4294967295")
    gaps = [each for each in verified(archive) if each.code is FindingCode.CAPTURE_MISSING]
    assert [each.path for each in gaps] == ["captures/000004"]


def test_a_later_run_does_not_forget_a_capture_that_is_missing(archive: Built) -> None:
    shutil.rmtree(archive.root / THIRD)
    archive.run()
    assert f"{THIRD}/capture.json" in read_sums(archive.layout.sums.read_bytes())
    assert next_capture(archive.layout) == 4
    assert [each.path for each in verified(archive) if each.code is FindingCode.CAPTURE_MISSING] == [
        THIRD, "captures/runs.jsonl",
    ]  # fmt: skip


def test_the_head_covers_captures(archive: Built) -> None:
    newest = json.loads(archive.layout.runs.read_bytes().splitlines()[-1])
    assert newest["capture_sha256"] == read_sums(archive.layout.sums.read_bytes())[f"{THIRD}/capture.json"]


def test_prune_and_repair_leave_captures_alone(archive: Built) -> None:
    archive.commit({})
    before = {path: path.read_bytes() for path in archive.layout.captures.rglob("*") if path.is_file()}
    archive.reader.prune(PrunePlan((KeptVersion(2, (), (1,)),)))
    list(archive.reader.repair())
    assert before == {path: path.read_bytes() for path in archive.layout.captures.rglob("*") if path.is_file()}
    assert [each for each in verified(archive) if each.damage] == []


def test_a_damaged_capture_is_remembered_until_it_is_right(archive: Built) -> None:
    index = archive.root / SECOND / "index.cdxj"
    good = index.read_bytes()
    index.write_bytes(b"")
    verified(archive)
    assert known_damage(archive.reader) == [f"{SECOND}/index.cdxj"]
    index.write_bytes(good)
    verified(archive)
    assert known_damage(archive.reader) == []


class TestRecords:
    """A capture whose hashes are all right, and whose content is not."""

    def test_a_flipped_byte_in_a_record(self, archive: Built) -> None:
        path = archive.root / SECOND / NAME
        data = bytearray(path.read_bytes())
        line = next(iter(CaptureIndex(captures(archive.layout)[1].index)))
        data[line.offset + line.length // 2] ^= 0x40
        path.write_bytes(data)
        reseal(archive.layout)
        [found] = verified(archive)
        assert (found.code, found.path) == (FindingCode.RECORD_DAMAGED, f"{SECOND}/{NAME}")
        assert "it cannot be read to its end" in found.detail
        assert verified(archive, quick=True) == []

    @pytest.mark.parametrize(
        ("change", "detail"),
        [
            (lambda line: line.replace(b"/css/style.css?again", b"/css/style.css?other"), "another address or length"),
            (lambda line: line.replace(b'"length":"', b'"length":"1'), "another address or length"),
            (lambda line: line.replace(b"sha1:", b"sha1:A"), "another digest"),
            (lambda line: line.replace(b"warc/revisit", b"text/css"), "another type"),
            (lambda line: line.replace(b'"offset":"', b'"offset":"9'), "no record of"),
            (lambda line: line.replace(b"BLOG-", b"blog-"), "which is no WARC file"),
            (lambda line: line.replace(b"BLOG-", b"../BLOG-"), "which is no WARC file"),
            (lambda line: b"", "names it 0 times"),
            (lambda line: line + line, "names it 2 times"),
            (lambda line: b"x\n", "is not an index line"),
            (lambda line: line.replace(b'"offset":"', b'"offset":"-'), "is not an index line"),
        ],
    )
    def test_a_wrong_line_of_the_index(self, archive: Built, change: Callable[[bytes], bytes], detail: str) -> None:
        index = archive.root / SECOND / "index.cdxj"
        lines = index.read_bytes().splitlines(keepends=True)
        changed = [change(line) if b"?again" in line else line for line in lines]
        forge_index(archive, 2, b"".join(changed))
        found = verified(archive)
        assert any(detail in each.detail for each in found), found
        assert {each.code for each in found} <= {FindingCode.INDEX_WRONG, FindingCode.RECORD_DAMAGED}

    def test_lines_out_of_order(self, archive: Built) -> None:
        lines = (archive.root / SECOND / "index.cdxj").read_bytes().splitlines(keepends=True)
        forge_index(archive, 2, b"".join(reversed(lines)))
        assert {each.code for each in verified(archive)} == {FindingCode.INDEX_WRONG}

    def test_a_revisit_without_its_original(self, archive: Built) -> None:
        [capture] = captures(archive.layout)[1:2]
        lines = [line for line in CaptureIndex(capture.index) if not line.url.endswith("style.css")]
        forge_index(archive, 2, b"".join(line.encode() for line in lines))
        first = archive.root / FIRST / "index.cdxj"
        kept = [line for line in first.read_bytes().splitlines(keepends=True) if b"style.css" not in line]
        forge_index(archive, 1, b"".join(kept))
        details = [each.detail for each in verified(archive)]
        assert any("the record with its payload is in no capture" in each for each in details), details


class TestDocuments:
    def test_the_next_capture_names_its_parent(self, archive: Built, tmp_path: Path) -> None:
        folder = archive.layout.work / "new"
        folder.mkdir(parents=True)
        (folder / "index.cdxj").write_bytes(b"")
        stamp = "2026-11-26T00:00:00Z"
        made = seal_capture(
            archive.layout, folder, CaptureInfo(4, "pages", "sea.example", stamp, stamp, "test", "test")
        )
        parent = made.info().parent
        assert parent is not None
        assert parent["capture"] == 3
        assert verified(archive) == []

    @pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\0b", "a\\b", "\ud800", ".hidden", "é" * 57, "x" * 113])
    def test_a_name_that_no_file_of_a_capture_has(self, archive: Built, name: str) -> None:
        assert not is_capture_file(name)
        with pytest.raises(ArchiveDamaged, match="names a file that no capture has"):
            captures(archive.layout)[0].segment(f"{name}.warc.gz" if len(name) < 3 and name != ".." else name)

    def test_lines_of_runs_that_are_none_are_skipped(self, archive: Built) -> None:
        append(archive.layout.capture_runs, b"[]\n{}\n\xff\n")
        append_capture_run(archive.layout, {"finished_at": "2026-11-26T00:00:00Z", "complete": False})
        assert [each.get("capture") for each in capture_runs(archive.layout)] == [1, 2, 3, None]

    def test_an_archive_without_captures_has_no_runs(self, tmp_path: Path) -> None:
        assert list(capture_runs(Layout(tmp_path))) == []


def test_index_lines_survive_a_round_trip() -> None:
    line = IndexLine.of(
        "http://例え.jp/あ?b=2&a=1", datetime(2026, 1, 2, tzinfo=UTC), status=200, mime="text/html", digest="sha1:X",
        filename="x.warc.gz", offset=5, length=7,
    )  # fmt: skip
    assert IndexLine.decode(line.encode()) == line
