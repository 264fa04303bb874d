"""The WACZ file: its posts, what it leaves out, its bytes, and what it refuses."""

from __future__ import annotations

import gzip
import json
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)
from warcio.archiveiterator import ArchiveIterator

from exporter.archive.archive import Archive
from exporter.archive.captures import captures
from exporter.errors import ArchiveDamaged, NoSuchRecord, UsageError
from exporter.model.kinds import Kind
from exporter.model.publication import Declared
from tests.site.building import demo_archive
from tests.support.captured import captured
from tests.support.captured_demo import CapturedDemo, demo_as_it_is_now

FIRST = datetime(2026, 11, 26, 13, 45, tzinfo=UTC)
SECOND = datetime(2026, 12, 26, 13, 45, tzinfo=UTC)
UNCAPTURED = 90
PRIVATE = 54
REMOVED = 66


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CapturedDemo]:
    """The demo with two captures; one of them has the page of an entry that is private now."""
    root = tmp_path_factory.mktemp("captured") / "demo"
    demo_archive(root)
    blog = demo_as_it_is_now()
    with blog.serving_in_thread() as origin:
        private = blog.posts[3]
        blog.posts[REMOVED] = replace(private, number=REMOVED, body="<p>消した記事</p>")
        blog.posts[PRIVATE] = replace(private, number=PRIVATE, body="<p>ひみつの鍵</p>")
        blog.aliases = {f"/?p={PRIVATE}": f"/Entry/{PRIVATE}/", "/Entry/5/": "/"}
        more = (f"/Entry/{PRIVATE}/", *blog.aliases)
        captured(root, origin, more, leave={f"/Entry/{UNCAPTURED}/"}, now=FIRST, most_bytes=200_000)
        blog.aliases.clear()
        del (
            blog.posts[PRIVATE],
            blog.posts[REMOVED],
            blog.posts[84],
        )  # the second is of an impossible day, which exports take for private
        blog.edit(4, title="夕方の海")
        captured(root, origin, leave={f"/Entry/{UNCAPTURED}/"}, now=SECOND)
        yield CapturedDemo(root, blog, origin)


@pytest.fixture
def copied(made: CapturedDemo, tmp_path: Path) -> CapturedDemo:
    """A copy that a test may change."""
    shutil.copytree(made.root, tmp_path / "demo")
    return CapturedDemo(tmp_path / "demo", made.blog, made.origin)


def pages(path: Path, name: str = "pages") -> list[dict[str, Any]]:
    with zipfile.ZipFile(path) as packed:
        return [json.loads(line) for line in packed.read(f"pages/{name}.jsonl").splitlines()]


def index(path: Path) -> list[tuple[str, str, dict[str, str]]]:
    with zipfile.ZipFile(path) as packed:
        lines = gzip.decompress(packed.read("indexes/index.cdx.gz")).decode().splitlines()
    return [(key, stamp, json.loads(fields)) for key, stamp, fields in (line.split(" ", 2) for line in lines)]


def record_at(path: Path, line: dict[str, str]) -> Any:
    with zipfile.ZipFile(path) as packed, packed.open(f"archive/{line['filename']}") as file:
        data = file.read()[int(line["offset"]) :][: int(line["length"])]
    return next(iter(ArchiveIterator(BytesIO(data))))


def key_file(path: Path, key: Any, encryption: KeySerializationEncryption | None = None) -> Path:
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption or NoEncryption()))
    return path


def test_the_list_of_pages_is_the_list_of_posts(made: CapturedDemo, tmp_path: Path) -> None:
    exported = made.export(tmp_path / "demo.wacz")
    header, *posts = pages(tmp_path / "demo.wacz")
    assert header == {"format": "json-pages-1.0", "id": "pages", "title": "Posts"}
    assert len(posts) == exported.document["out"]["entries"] == exported.document["captures"]["posts"] == 54
    by_url = {post["url"]: post for post in posts}
    first = by_url[f"{made.origin}/Entry/3/"]
    assert (first["title"], first["date"]) == ("はじめまして", "2016-03-19T22:15:00+09:00")
    assert first["ts"] == "2026-12-26T13:45:00Z"
    dates = [post["date"] for post in posts if post["date"]]
    assert dates == sorted(dates, reverse=True)
    # The titles are those of the archive, not of the captured pages.
    assert by_url[f"{made.origin}/Entry/4/"]["title"] == "朝の海"
    _, *others = pages(tmp_path / "demo.wacz", "extraPages")
    assert {f"{made.origin}/", f"{made.origin}/Page/2/"} <= {each["url"] for each in others}
    older = [each for each in others if each["url"] == f"{made.origin}/Entry/4/"]
    assert [each["ts"] for each in older] == ["2026-11-26T13:45:00Z"]


def test_entries_without_a_capture_are_named(made: CapturedDemo, tmp_path: Path) -> None:
    exported = made.export(tmp_path / "demo.wacz")
    left = [row for row in exported.document["left_out"] if row["code"] == "not_captured"]
    assert [row["ids"] for row in left] == [[str(UNCAPTURED)]]


def test_every_line_of_the_index_finds_its_record(made: CapturedDemo, tmp_path: Path) -> None:
    made.export(tmp_path / "demo.wacz", rendered=True)
    found = index(tmp_path / "demo.wacz")
    assert [line[:2] for line in found] == sorted(line[:2] for line in found)
    for _, stamp, line in found:
        record = record_at(tmp_path / "demo.wacz", line)
        assert record.rec_headers.get_header("WARC-Target-URI") == line["url"]
        assert record.rec_headers.get_header("WARC-Date") == datetime.strptime(stamp, "%Y%m%d%H%M%S").replace(
            tzinfo=UTC
        ).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_page_that_is_private_now_is_left_out(made: CapturedDemo, tmp_path: Path) -> None:
    exported = made.export(tmp_path / "demo.wacz", rendered=True)
    assert exported.document["captures"]["withheld_records"] > 0
    with zipfile.ZipFile(tmp_path / "demo.wacz") as packed:
        for name in packed.namelist():
            data = packed.read(name)
            if name.startswith("archive/"):
                for record in ArchiveIterator(BytesIO(data)):
                    content = record.content_stream().read()
                    assert "ひみつの鍵".encode() not in content
                    assert record.rec_headers.get_header("WARC-Target-URI") != f"{made.origin}/Entry/{PRIVATE}/"
            else:
                assert f"/Entry/{PRIVATE}/".encode() not in data
    urls = {line["url"] for _, _, line in index(tmp_path / "demo.wacz")}
    assert f"{made.origin}/?p={PRIVATE}" not in urls, "the same page at another address"
    assert f"{made.origin}/" in urls, "an entry's address may lead to the first page, which stays"
    whole = b"".join(path.read_bytes() for path in captures(Archive.open(made.root).layout)[0].segments())
    assert any("ひみつの鍵".encode() in each.content_stream().read() for each in ArchiveIterator(BytesIO(whole)))


def test_an_entry_that_was_removed_is_left_out(made: CapturedDemo, tmp_path: Path) -> None:
    gone = Archive.open(made.root)
    removed = {each for each, _ in gone.records(Kind.ENTRIES, 1)} - {each for each, _ in gone.records(Kind.ENTRIES)}
    assert removed == {str(REMOVED)}
    for at in (None, 1):
        made.export(tmp_path / f"{at}.wacz", at=at)
        urls = {line["url"] for _, _, line in index(tmp_path / f"{at}.wacz")}
        assert f"{made.origin}/Entry/{REMOVED}/" not in urls
        assert f"{made.origin}/Entry/3/" in urls


def test_segments_are_copied_as_they_are_and_stored(made: CapturedDemo, tmp_path: Path) -> None:
    made.export(tmp_path / "demo.wacz")
    newest = captures(Archive.open(made.root).layout)[-1]
    with zipfile.ZipFile(tmp_path / "demo.wacz") as packed:
        for path in newest.segments():
            assert packed.read(f"archive/{path.name}") == path.read_bytes()
        stored = [info.compress_type for info in packed.infolist() if info.filename.endswith(".gz")]
    assert set(stored) == {zipfile.ZIP_STORED}


def test_the_same_captures_give_the_same_bytes(made: CapturedDemo, tmp_path: Path) -> None:
    key = key_file(tmp_path / "key.pem", ec.generate_private_key(ec.SECP384R1()))
    for name in ("one", "two"):
        made.export(tmp_path / f"{name}.wacz", rendered=True, key=key)
    assert (tmp_path / "one.wacz").read_bytes() == (tmp_path / "two.wacz").read_bytes()


def test_a_rendered_page_is_a_resource_of_its_own(made: CapturedDemo, tmp_path: Path) -> None:
    exported = made.export(tmp_path / "demo.wacz", rendered=True)
    url = f"https://rendered.blog-exporter.invalid/shiodamari.blog.example.jp/{UNCAPTURED}.html"
    page = next(each for each in pages(tmp_path / "demo.wacz")[1:] if each["url"] == url)
    assert page["rendered"] is True
    assert "blog-exporter" not in made.blog.posts[UNCAPTURED].title
    assert page["title"] != made.blog.posts[UNCAPTURED].title
    line = next(line for _, _, line in index(tmp_path / "demo.wacz") if line["url"] == url)
    assert "status" not in line
    with zipfile.ZipFile(tmp_path / "demo.wacz") as packed:
        records = list(ArchiveIterator(BytesIO(packed.read("archive/shiodamari.blog.example.jp-rendered.warc.gz"))))
        assert [record.rec_type for record in records] == ["warcinfo", "resource"]
        described = json.loads(packed.read("datapackage.json"))["description"]
    assert exported.document["captures"]["rendered"] == 1
    assert "no answers of the blog's server" in described


def test_the_warcinfo_says_that_pages_were_rendered(made: CapturedDemo, tmp_path: Path) -> None:
    made.export(tmp_path / "demo.wacz", rendered=True)
    with zipfile.ZipFile(tmp_path / "demo.wacz") as packed:
        data = packed.read("archive/shiodamari.blog.example.jp-rendered.warc.gz")
    said = next(iter(ArchiveIterator(BytesIO(data)))).content_stream().read().decode()
    assert "software: blog-exporter" in said
    assert "rendered from the records in the archive" in said
    assert "not answers of the blog's server" in said


def test_an_archive_without_captures_names_the_command(tmp_path: Path, made: CapturedDemo) -> None:
    shutil.copytree(made.root, tmp_path / "demo", ignore=shutil.ignore_patterns("captures"))
    with pytest.raises(NoSuchRecord, match="blog-exporter capture"):
        CapturedDemo(tmp_path / "demo", made.blog, made.origin).export(tmp_path / "demo.wacz")
    assert not (tmp_path / "demo.wacz").exists()


def test_nothing_is_written_until_flags_are_declared(made: CapturedDemo, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="which entries are public"):
        made.export(tmp_path / "demo.wacz", declared=Declared())
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_segment_is_refused(copied: CapturedDemo, tmp_path: Path) -> None:
    path = captures(Archive.open(copied.root).layout)[1].segments()[0]
    data = bytearray(path.read_bytes())
    data[-40] ^= 1
    path.chmod(0o600)
    path.write_bytes(data)
    with pytest.raises(ArchiveDamaged, match="differs from its SHA256SUMS"):
        copied.export(tmp_path / "demo.wacz")
    assert not (tmp_path / "demo.wacz").exists()
    assert not list(tmp_path.glob(".*.tmp"))


def test_only_an_export_is_replaced(made: CapturedDemo, tmp_path: Path) -> None:
    target = tmp_path / "demo.wacz"
    target.write_bytes(b"mine")
    with pytest.raises(UsageError, match="no export made it"):
        made.export(target, force=True)
    target.unlink()
    made.export(target)
    with pytest.raises(UsageError, match="add --force"):
        made.export(target)
    made.export(target, force=True, rendered=True)
    report = json.loads((tmp_path / "demo.wacz.report.json").read_text())
    assert [each["path"] for each in report["files"]] == ["demo.wacz"]
    target.write_bytes(target.read_bytes() + b"x")
    with pytest.raises(UsageError, match="no export made it"):
        made.export(target, force=True)


def test_the_name_must_end_in_wacz(made: CapturedDemo, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"must end in \.wacz"):
        made.export(tmp_path / "demo.zip")


def test_a_dry_run_writes_nothing_and_knows_the_size(made: CapturedDemo, tmp_path: Path) -> None:
    dry = made.export(tmp_path / "demo.wacz", dry_run=True, rendered=True)
    assert list(tmp_path.iterdir()) == []
    wet = made.export(tmp_path / "demo.wacz", rendered=True)
    assert dry.document["bytes"] == wet.document["bytes"] == (tmp_path / "demo.wacz").stat().st_size
    assert dry.document["captures"] == wet.document["captures"]


class TestKeys:
    def refused(self, made: CapturedDemo, key: Path, words: str) -> None:
        with pytest.raises(UsageError, match=words):
            made.export(key.parent / "demo.wacz", key=key)

    def test_another_kind_of_key(self, made: CapturedDemo, tmp_path: Path) -> None:
        self.refused(made, key_file(tmp_path / "rsa.pem", rsa.generate_private_key(65537, 2048)), "P-384")
        self.refused(made, key_file(tmp_path / "p256.pem", ec.generate_private_key(ec.SECP256R1())), "P-384")

    def test_no_key(self, made: CapturedDemo, tmp_path: Path) -> None:
        (tmp_path / "text.pem").write_text("hello")
        self.refused(made, tmp_path / "text.pem", "no private key")
        self.refused(made, tmp_path / "missing.pem", "No such file")

    def test_a_key_with_a_passphrase(self, made: CapturedDemo, tmp_path: Path) -> None:
        key = ec.generate_private_key(ec.SECP384R1())
        self.refused(made, key_file(tmp_path / "key.pem", key, BestAvailableEncryption(b"word")), "passphrase")


def test_many_captures_are_merged_with_few_files_open(
    copied: CapturedDemo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with copied.blog.server.serving_in_thread() as origin:
        for number in (7, 8, 9):
            captured(copied.root, origin, now=SECOND.replace(day=number))
    copied.export(tmp_path / "at-once.wacz")
    monkeypatch.setattr("exporter.warc.wacz.MAX_MERGED", 2)
    copied.export(tmp_path / "in-turns.wacz")
    assert (tmp_path / "at-once.wacz").read_bytes() == (tmp_path / "in-turns.wacz").read_bytes()


class TestHostileCaptures:
    """Captures from a stranger end in one clear error, and no file is left."""

    def changed(self, copied: CapturedDemo, name: str, before: str, after: str) -> None:
        path = captures(Archive.open(copied.root).layout)[1].folder / name
        text = path.read_text("utf-8")
        assert before in text
        path.chmod(0o600)
        path.write_text(text.replace(before, after, 1), "utf-8")

    def refused(self, copied: CapturedDemo, words: str) -> None:
        target = copied.root.parent / "demo.wacz"
        with pytest.raises(ArchiveDamaged, match=words):
            copied.export(target)
        assert [path.name for path in target.parent.iterdir()] == ["demo"]

    def test_an_index_that_names_no_file(self, copied: CapturedDemo) -> None:
        self.changed(copied, "index.cdxj", '"filename":"TEST-', '"filename":"../TEST-')
        self.refused(copied, "names a file that is missing")

    def test_a_record_beyond_the_end(self, copied: CapturedDemo) -> None:
        self.changed(copied, "index.cdxj", '"offset":"', '"offset":"999999')
        self.refused(copied, "no whole record")

    @pytest.mark.parametrize("line", ['{"url":"http://x/"}', '{"url":"http://x/","ts":5}', "[1]x", '["url"]'])
    def test_a_list_of_pages_with_something_else(self, copied: CapturedDemo, line: str) -> None:
        self.changed(copied, "pages.jsonl", "{", f"{line}\n{{")
        self.refused(copied, "holds a line that is no page")

    def test_a_link_in_place_of_a_segment(self, copied: CapturedDemo, tmp_path: Path) -> None:
        path = captures(Archive.open(copied.root).layout)[1].segments()[0]
        path.rename(tmp_path / "outside.warc.gz")
        Path(path).symlink_to(tmp_path / "outside.warc.gz")
        with pytest.raises(ArchiveDamaged, match="is a link"):
            copied.export(tmp_path / "demo.wacz")
        assert not (tmp_path / "demo.wacz").exists()

    def test_titles_and_times_of_pages_are_data(self, copied: CapturedDemo, tmp_path: Path) -> None:
        self.changed(copied, "pages.jsonl", '"title":"', '"title":"<script>alert(1)</script>\\u001b[31m\\ud83d ')
        copied.export(tmp_path / "demo.wacz")
        titles = [each["title"] for each in pages(tmp_path / "demo.wacz", "extraPages")]
        assert any("<script>" in title and "�" in title for title in titles)
