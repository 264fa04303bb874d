from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from exporter import lossless_json
from exporter.archive.captures import captures
from exporter.archive.fleet_folder import archive_place
from exporter.archive.layout import Layout
from exporter.archive.safe_files import inner
from exporter.fleet import warc_export
from exporter.warc.cdxj import CaptureIndex
from exporter.warc.reading import read_record
from tests.cli.conftest import Program
from tests.fleet.building import build_blog, entry
from tests.fleet.captured import PageServer, bare_archive
from tests.support.captures import captured


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Two blogs with captures, one of them with two; the third has entries alone."""
    root = tmp_path / "fleet"
    server = PageServer({f"/{number}.html": f"<p>page {number}</p>" for number in range(4)})
    build_blog(root, "entries.example.jp", [entry(1, period_flg="f")])
    first, second = bare_archive(root, "a.example.jp"), bare_archive(root, "b_c.example.jp")
    with server.running():
        captured(first, server, ["/0.html", "/1.html"], moment=datetime(2026, 1, 1, tzinfo=UTC))
        captured(first, server, ["/2.html"], moment=datetime(2026, 2, 1, tzinfo=UTC))
        captured(second, server, ["/0.html", "/3.html"], moment=datetime(2026, 1, 15, tzinfo=UTC))
    return root


def sums_of(folder: Path) -> dict[str, str]:
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    return {line[66:]: line[:64] for line in lines}


def check(folder: Path, segments: int, records: int) -> None:
    """Check the sums, the order of the index, and each record that it names."""
    assert {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in sums_of(folder)} == sums_of(
        folder
    )
    names = {path.name for path in folder.iterdir()} - {"SHA256SUMS"}
    assert names == set(sums_of(folder))
    assert sum(name.endswith(".warc.gz") for name in names) == segments
    index = (folder / "index.cdxj").read_bytes().splitlines(keepends=True)
    assert index == sorted(index)
    assert len(index) == records
    for line in CaptureIndex(inner(folder / "index.cdxj")):
        with read_record(inner(folder / line.filename), line.offset) as record:
            assert record.url == line.url


@pytest.mark.parametrize(
    ("workers", "copy"),
    [
        ("1", ("--copy",)),
        ("2", ()),
        pytest.param("1", (), marks=pytest.mark.thorough),
        pytest.param("2", ("--copy",), marks=pytest.mark.thorough),
    ],
)
@pytest.mark.sample(1)
def test_all_captures_in_one_folder(
    program: Program, fleet: Path, tmp_path: Path, workers: str, copy: tuple[str, ...]
) -> None:
    out = tmp_path / "out"
    done = program("fleet", "export", "warc", fleet, out, "--workers", workers, *copy, "--json")
    assert done.code == 0, done
    document = done.json
    assert (document["archives"], document["made"], document["format"]) == (3, 2, "warc")
    assert (document["sums"]["segments"], document["sums"]["records"]) == (3, 5)
    check(out, 3, 5)
    report = json.loads((out / "fleet-warc.json").read_text())
    assert (report["archives"], report["segments"], report["records"]) == (2, 3, 5)
    links = {path.stat().st_nlink for path in out.glob("*.warc.gz")}
    assert links == ({1} if copy else {2})
    before = {path.name: path.stat().st_mtime_ns for path in out.glob("*.warc.gz")}
    again = program("fleet", "export", "warc", fleet, out, "--workers", workers, *copy, "--json").json
    assert (again["made"], again["up_to_date"]) == (0, 3)
    assert before == {path.name: path.stat().st_mtime_ns for path in out.glob("*.warc.gz")}
    check(out, 3, 5)


@pytest.mark.importers
def test_sha256sum_checks_the_folder(program: Program, fleet: Path, tmp_path: Path) -> None:
    assert program("fleet", "export", "warc", fleet, tmp_path / "out", "--workers", "1").code == 0
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=tmp_path / "out", check=True)


def test_only_public_pages_unless_the_api_is_asked_for(program: Program, fleet: Path, tmp_path: Path) -> None:
    capture = archive_place(fleet, "a.example.jp") / "captures" / "000002"
    document = lossless_json.loads((capture / "capture.json").read_bytes())
    (capture / "capture.json").write_bytes(lossless_json.dumps({**document, "kind": "api"}))
    done = program("fleet", "export", "warc", fleet, tmp_path / "out", "--workers", "1", "--json")
    assert done.json["sums"]["segments"] == 2
    check(tmp_path / "out", 2, 4)
    done = program("fleet", "export", "warc", fleet, tmp_path / "with", "--with-api", "--workers", "1", "--json")
    assert done.json["sums"]["segments"] == 3
    check(tmp_path / "with", 3, 5)
    (capture / "capture.json").write_bytes(lossless_json.dumps({**document, "kind": "something new"}))
    done = program("fleet", "export", "warc", fleet, tmp_path / "new", "--with-api", "--workers", "1", "--json")
    assert done.json["sums"]["segments"] == 2


def test_pages_of_entries_that_are_hidden_now_are_left_out(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, out = tmp_path / "fleet", tmp_path / "out"
    hidden = entry(2, open_flg="2", period_flg="f")
    built = build_blog(root, "h.example.jp", [entry(1, period_flg="f"), hidden])
    server = PageServer({f"/{number}.html": f"<p>the text of {number}</p>" * 50 for number in range(4)})
    server.pages["/again.html"] = server.pages["/2.html"]
    monkeypatch.setenv("BLOG_EXPORTER_ENTRY_URL", f"{server.origin}/{{entry_id}}.html")
    with server.running():
        captured(built.root, server, ["/0.html", "/1.html", "/2.html", "/3.html", "/again.html"])
    command = ["fleet", "export", "warc", root, out, "--workers", "1", "--json"]
    undeclared = program(*command)
    assert (undeclared.code, "Nothing says yet which entries are public" in undeclared.out) == (3, True), undeclared
    assert not list(out.glob("*.warc.gz"))
    done = program(*command, "--public-open-flg", "1")
    assert done.code == 0, done
    assert (done.json["sums"]["records"], done.json["sums"]["withheld_records"]) == (3, 2)
    check(out, 1, 3)
    (segment,) = out.glob("*.warc.gz")
    with segment.open("rb") as file:
        found = [(each.rec_type, each.rec_headers["WARC-Target-URI"]) for each in ArchiveIterator(file)]
    pages = [f"{server.origin}/{number}.html" for number in (0, 1, 3)]
    assert found == [("warcinfo", None), *((kind, page) for page in pages for kind in ("response", "request"))]
    assert b"text of 2" not in gzip.decompress(segment.read_bytes())
    assert program(*command, "--public-open-flg", "1").json["made"] == 0
    original = next((built.root / "captures" / "000001").glob("*.warc.gz"))
    assert b"text of 2" in gzip.decompress(original.read_bytes())


@pytest.mark.parametrize("copy", [(), ("--copy",)])
@pytest.mark.sample(1)
def test_a_damaged_capture_is_left_out_and_named(
    program: Program, fleet: Path, tmp_path: Path, copy: tuple[str, ...]
) -> None:
    (segment,) = (archive_place(fleet, "b_c.example.jp") / "captures" / "000001").glob("*.warc.gz")
    data = bytearray(segment.read_bytes())
    data[100] ^= 1
    segment.write_bytes(data)
    done = program("fleet", "export", "warc", fleet, tmp_path / "out", "--workers", "1", *copy)
    assert done.code == 13, done
    assert f"{segment} is not as its capture was sealed" in done.out
    check(tmp_path / "out", 2, 3)


def test_links_and_foreign_names_in_captures_are_refused(program: Program, fleet: Path, tmp_path: Path) -> None:
    capture = archive_place(fleet, "b_c.example.jp") / "captures" / "000001"
    (segment,) = capture.glob("*.warc.gz")
    shutil.move(segment, tmp_path / "secret")
    segment.symlink_to(tmp_path / "secret")
    done = program("fleet", "export", "warc", fleet, tmp_path / "out", "--workers", "1")
    assert (done.code, "links inside an archive are not followed" in done.out) == (13, True), done
    check(tmp_path / "out", 2, 3)


@pytest.mark.thorough
def test_an_interrupted_export_is_finished(
    program: Program, fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(warc_export, "file_sha256", killed)  # of the finished index, since workers check the files
        assert program("fleet", "export", "warc", fleet, out, "--workers", "2").code == 130
    assert not (out / "SHA256SUMS").exists()
    torn = next(out.glob("*.warc.gz"))
    torn.unlink()
    torn.write_bytes(b"torn")
    assert program("fleet", "export", "warc", fleet, out, "--workers", "1").code == 0
    check(out, 3, 5)


def test_nothing_is_written_into_other_folders_or_dry(program: Program, fleet: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine").touch()
    for target in (other, other / "mine", fleet / "aa", archive_place(fleet, "a.example.jp") / "out"):
        assert program("fleet", "export", "warc", fleet, target).code == 2, target
    assert [path.name for path in other.iterdir()] == ["mine"]
    done = program("fleet", "export", "warc", fleet, tmp_path / "dry", "--dry-run", "--json", "--workers", "1")
    assert (done.code, done.json["sums"]["records"]) == (0, 5), done
    assert not (tmp_path / "dry").exists()
    done = program("fleet", "export", "warc", fleet, tmp_path / "out", "--vertical", "--workers", "1")
    assert (done.code, "--vertical has no effect on warc" in done.err) == (0, True), done
    assert "--copy is for warc" in program("fleet", "export", "jsonl", fleet, tmp_path / "x", "--copy").err


def test_names_that_could_occur_twice_get_a_hash(program: Program, tmp_path: Path) -> None:
    root = tmp_path / "fleet"
    server = PageServer({"/0.html": "<p>page</p>"})
    with server.running():
        for number in range(3):
            captured(bare_archive(root, f"{number}.example.jp"), server, ["/0.html"])
    done = program("fleet", "export", "warc", root, tmp_path / "out", "--workers", "1")
    assert done.code == 0, done
    check(tmp_path / "out", 3, 3)
    place = archive_place(root, "0.example.jp") / "captures" / "000001"
    names = ["0.example.jp-20261126000000-00000.warc.gz", "0-example.jp-20261126000000-00000.warc.gz"]
    for name in names:
        (segment,) = place.glob("*.warc.gz")
        segment.rename(place / name)
        found = warc_export._named_apart("0.example.jp", captures(Layout(archive_place(root, "0.example.jp")))[0])
        assert (found[name] == name) is (name == names[0])
