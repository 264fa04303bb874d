"""Archives from strangers with captures: one clear line each, no traceback, no hang, no file outside, flat memory."""

from __future__ import annotations

import gzip
import json
import resource
import shutil
import sys
import zlib
from base64 import b32encode
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha1
from pathlib import Path
from typing import Any

import pytest

from exporter.archive.archive import Archive
from exporter.archive.captures import captures
from exporter.archive.layout import Layout
from exporter.clock import SystemClock
from exporter.crawl.assets.captured import CapturedFiles
from exporter.crawl.assets.file_check import Expected
from exporter.errors import ArchiveDamaged
from exporter.library.captured_assets import complete_assets
from exporter.settings import Settings
from exporter.warc.cdxj import CaptureIndex, surt
from exporter.warc.lookup import CaptureLookup
from tests.archive.capturing import NAME, forge, member, reseal
from tests.hostile.building import Outside, endless, fifo, folder, link, sock
from tests.hostile.commands import ONLINE, Place, arguments
from tests.hostile.conftest import Whole
from tests.hostile.test_archives import faults
from tests.support.captures import captured
from tests.support.peaks import run_measured
from tests.support.styled_blog import styled_blog

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="what is opened is read from /proc"),
]

SECONDS = 30.0
PEAK_MEGABYTES = 200
"""The peak of verify for an archive without captures is about 60 MB."""
CAPTURE = "captures/000002"
URL = "http://blog.example/page"
HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
COMMANDS = (
    ("verify",), ("verify", "--quick"), ("status",), ("sync", "{out}"), ("export", "bagit", "{out}", "--only", "all"),
    ("prune", "--keep-last", "1"), ("rebuild",), ("files",), *ONLINE,
)  # fmt: skip

EACH_OR_SOME = pytest.mark.parametrize("most", [False, pytest.param(True, marks=pytest.mark.slow)])


@pytest.fixture(scope="module")
def shot(whole: Whole, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an intact archive with two captures."""
    root = tmp_path_factory.mktemp("shot") / "archive"
    shutil.copytree(whole.root, root)
    blog = styled_blog(1)
    with blog.serving_in_thread():
        captured(root, blog, ["/", "/css/style.css", "/css/style.css?again"])
        captured(root, blog, ["/css/style.css?again", "/css/style.css?third", "/"])
    return root


@pytest.fixture
def archive(shot: Path, tmp_path: Path) -> Path:
    shutil.copytree(shot, tmp_path / "archive")
    return tmp_path / "archive"


def tried(
    whole: Whole, root: Path, outside: Outside, around: Path, commands: Sequence[tuple[str, ...]] = COMMANDS
) -> tuple[list[str], dict[str, int]]:
    """Run the commands; return their faults and their exit codes."""
    before = outside.state()
    wrong: list[str] = []
    codes: dict[str, int] = {}
    place = Place(root, around / "out", whole.picture, (), whole.key)
    place.out.mkdir()
    environ = {"TMPDIR": str(place.out), "XDG_CONFIG_HOME": str(place.out / "config")}
    for number, command in enumerate(commands):
        given = whole.online(command, root) or arguments(command, place, number)
        trace = around / "trace.json"
        trace.unlink(missing_ok=True)
        done = whole.runs.start(*given, trace=trace, environ=environ).wait()
        codes[" ".join(command)] = done.code
        wrong += [f"{' '.join(command)}: {each}" for each in faults(done, trace, outside, around)]
        said = [] if command in ONLINE else done.err.splitlines()
        if len(said) > 8 or any(len(each) > 1000 for each in said):
            wrong.append(f"{' '.join(command)}: says too much: {done.err[:500]}")
    if outside.state() != before:
        wrong.append(f"changed {outside.folder}")
    return wrong, codes


PLACES = (
    "captures/runs.jsonl", f"{CAPTURE}/capture.json", f"{CAPTURE}/SHA256SUMS", f"{CAPTURE}/index.cdxj",
    f"{CAPTURE}/pages.jsonl", f"{CAPTURE}/{NAME}",
)  # fmt: skip
Attack = Callable[[Path, Outside], object]


def at(name: str, put: Callable[[Path], object]) -> Attack:
    return lambda root, outside: put(root / name)


def linked(name: str, target: str) -> Attack:
    return lambda root, outside: link(root / name, outside.folder / target)


def replaced(path: Path) -> None:
    """Put a file into the place of a folder."""
    shutil.rmtree(path)
    path.write_bytes(b"x")


FILES: dict[str, Attack] = {
    **{f"link {name}": linked(name, "key") for name in PLACES},
    **{f"zero {name}": at(name, lambda path: link(path, Path("/dev/zero"))) for name in PLACES[:3]},
    **{f"fifo {name}": at(name, fifo) for name in PLACES},
    **{f"folder {name}": at(name, folder) for name in PLACES},
    **{f"socket {name}": at(name, sock) for name in PLACES[:2]},
    **{f"endless {name}": at(name, endless) for name in PLACES},
    "link captures": linked("captures", ""),
    "link capture": linked(CAPTURE, "deep"),
    "file captures": at("captures", replaced),
    "file capture": at(CAPTURE, replaced),
    "fifo in a capture": at(f"{CAPTURE}/more.warc.gz", fifo),
    "link in a capture": linked(f"{CAPTURE}/more.warc.gz", "key"),
    "far number": at("captures/4294967295", folder),
    "too far number": at("captures/99999999999999999999", folder),
}


def some(turn: int) -> list[tuple[str, ...]]:
    """Return the first command and three of the others; ten turns in a row have each of these three times."""
    others = COMMANDS[1:]
    return [COMMANDS[0], *(others[(turn * 3 + number) % len(others)] for number in range(3))]


@EACH_OR_SOME
@pytest.mark.parametrize("name", FILES)
def test_strange_files_in_captures(whole: Whole, archive: Path, tmp_path: Path, name: str, most: bool) -> None:
    outside = Outside.made(tmp_path / "docs")
    FILES[name](archive, outside)
    commands = COMMANDS if most else some(list(FILES).index(name))
    wrong, codes = tried(whole, archive, outside, tmp_path, commands)
    assert wrong == []
    assert codes["verify"] == 13


def digest(data: bytes) -> str:
    return f"sha1:{b32encode(sha1(data, usedforsecurity=False).digest()).decode()}"


def answer(block: bytes, **headers: str) -> bytes:
    """Return the record of an answer; names of headers have ``_`` for ``-``."""
    given = {"WARC-Type": "response", "WARC-Target-URI": URL, "WARC-Date": "2026-11-26T00:00:00Z"}
    return member(given | {name.replace("_", "-"): value for name, value in headers.items()}, block)


def line(record: bytes, payload: bytes = b"", **more: Any) -> bytes:
    """Return the line of an index for a record at the beginning of the file."""
    fields = {
        "url": URL, "mime": "text/html", "status": "200", "digest": digest(payload), "length": str(len(record)),
        "offset": "0", "filename": NAME, **more,
    }  # fmt: skip
    return f"{surt(URL)} 20261126000000 ".encode() + json.dumps(fields).encode() + b"\n"


def one(record: bytes, *lines: bytes) -> dict[str, bytes]:
    """Return the files of a capture with one record."""
    return {NAME: record, "index.cdxj": b"".join(lines) or line(record)}


GOOD = answer(HTTP + b"\r\n" + b"<p>x</p>", WARC_Payload_Digest=digest(b"<p>x</p>"))
CHUNKED = HTTP + b"Transfer-Encoding: chunked\r\n\r\n"
REVISIT = answer(
    HTTP + b"\r\n", WARC_Type="revisit", WARC_Refers_To_Target_URI=URL, WARC_Refers_To_Date="2026-11-26T00:00:00Z",
    WARC_Payload_Digest=digest(b""),
)  # fmt: skip
HUGE_NUMBER = "1" * 5000
CONTENTS: dict[str, dict[str, bytes]] = {
    "zeros": {NAME: bytes(100_000)},
    "empty": {NAME: b""},
    "text": {NAME: b"x" * 100_000},
    "gzip of nothing": {NAME: gzip.compress(b"")},
    "an endless number of nothings": {NAME: gzip.compress(b"") * 50_000},
    "plain WARC": {NAME: gzip.decompress(GOOD)},
    "WARC 0.9": one(member({}, b"x", version="WARC/0.9 1 response http://a/ 20261126000000 a text/html")),
    "ARC": one(gzip.compress(b"filedesc://a.arc 0.0.0.0 20261126000000 text/plain 9\n1 0 X\n\n")),
    "cut in the middle": one(GOOD[: len(GOOD) // 2]),
    "cut before the checksum": one(GOOD[:-8]),
    "a wrong checksum": one(GOOD[:-8] + b"12345678"),
    "a longer record": one(member({"Content-Length": "1"}, b"xyz")),
    "a shorter record": one(member({"Content-Length": "9"}, b"xyz")),
    "2^60 bytes": one(member({"Content-Length": str(1 << 60)}, b"xyz")),
    "2^60 bytes of a payload": one(answer(HTTP + b"Content-Length: 1152921504606846976\r\n\r\nxyz")),
    "a length of 5000 digits": one(member({"Content-Length": HUGE_NUMBER}, b"xyz")),
    "a negative length": one(member({"Content-Length": "-1"}, b"xyz")),
    "a length of Arabic digits": one(member({"Content-Length": "٣"}, b"xyz")),
    "no length": one(gzip.compress(b"WARC/1.1\r\nWARC-Type: response\r\n\r\nxyz\r\n\r\n")),
    "no end of the head": one(gzip.compress(b"WARC/1.1\r\n" + b"a: b\r\n" * 200_000)),
    "no head of the answer": one(answer(b"xyz")),
    "an answer of another protocol": one(answer(b"HTTP/2 200\r\n\r\nxyz")),
    "chunks of absurd sizes": one(answer(CHUNKED + b"fffffffffffffff\r\nxyz\r\n0\r\n\r\n")),
    "chunks of more absurd sizes": one(answer(CHUNKED + b"f" * 5000 + b"\r\nxyz\r\n0\r\n\r\n")),
    "chunks of negative sizes": one(answer(CHUNKED + b"-1\r\nxyz\r\n0\r\n\r\n")),
    "chunks without an end": one(answer(CHUNKED + b"1\r\nx\r\n" * 100_000)),
    "a revisit of itself": one(REVISIT, line(REVISIT, mime="warc/revisit")),
    "a revisit that says it is none": one(REVISIT, line(REVISIT, mime="text/html")),
    "an offset beyond the end": one(GOOD, line(GOOD, offset="999999999")),
    "an offset of 2^63": one(GOOD, line(GOOD, offset=str(1 << 63))),
    "an offset of 5000 digits": one(GOOD, line(GOOD, offset=HUGE_NUMBER)),
    "an offset inside": one(GOOD, line(GOOD, offset="3")),
    "an offset that is a list": one(GOOD, line(GOOD, offset=[0])),
    "another length": one(GOOD, line(GOOD, length="1")),
    "another address": one(GOOD, line(GOOD, url="http://blog.example/other")),
    "a status of a million": one(GOOD, line(GOOD, status="1000000")),
    "a status that is null": one(GOOD, line(GOOD, status=None)),
    "an address that is a number": one(GOOD, line(GOOD, url=5)),
    "an address with half a character": one(GOOD, line(GOOD, url="http://\ud800/")),
    "a file above": one(GOOD, line(GOOD, filename="../000001/" + NAME)),
    "an absolute file": one(GOOD, line(GOOD, filename="/etc/passwd")),
    "a file with NUL": one(GOOD, line(GOOD, filename="a\0.warc.gz")),
    "a file with half a character": one(GOOD, line(GOOD, filename="\ud800.warc.gz")),
    "a file that is a list": one(GOOD, line(GOOD, filename=[NAME])),
    "the time 99999999999999": one(GOOD, line(GOOD).replace(b"20261126000000", b"99999999999999")),
    "the time 00000000000000": one(GOOD, line(GOOD).replace(b"20261126000000", b"00000000000000")),
    "no time": one(GOOD, line(GOOD).replace(b" 20261126000000", b"")),
    "no object": one(GOOD, b"key 20261126000000 []\n"),
    "deep nesting": one(GOOD, b"key 20261126000000 " + b"[" * 50_000 + b"]" * 50_000 + b"\n"),
    "zeros as an index": one(GOOD, bytes(1_000_000)),
    "no text as an index": one(GOOD, b"\xff\xfe" * 1000 + b"\n"),
    "lines of 200,000 bytes": one(GOOD, line(GOOD), b"x" * 200_000 + b"\n", line(GOOD)),
    "unsorted lines": one(GOOD, b"z 20261126000000 {}\n", line(GOOD)),
    "one record a thousand times": one(GOOD, line(GOOD) * 1000),
    "a hundred thousand wrong lines": one(GOOD, b"x\n" * 100_000),
}  # fmt: skip


def all_read(root: Path) -> Iterator[str]:
    """Read everything that the captures say, as the server of old pages does; yield what fails in no clear way."""
    layout = Layout(root)
    addresses = {URL, "http://blog.example/other", "http://\ud800/"}
    for capture in captures(layout):
        try:
            addresses |= {each.url for each in CaptureIndex(capture.index)}
        except (ArchiveDamaged, OSError):
            continue
    lookup = CaptureLookup(layout)
    files = CapturedFiles.of(layout, Archive.open(root).assets(), 1_000_000)
    assert files is not None
    for url in sorted(addresses):
        try:
            found = lookup.nearest(url, SystemClock().now())
            if found is not None:
                with lookup.replay(found) as replay:
                    assert sum(map(len, replay.payload)) < 10_000_000
        except ArchiveDamaged as error:
            if "\n" in str(error) or len(str(error)) > 1000:
                yield str(error)
        files.fetch(url, Expected())


BROKEN_ANSWERS = {"chunks of more absurd sizes", "chunks of negative sizes"}


@EACH_OR_SOME
@pytest.mark.parametrize("name", CONTENTS)
def test_strange_content(whole: Whole, archive: Path, tmp_path: Path, name: str, most: bool) -> None:
    forge(Layout(archive), 2, CONTENTS[name])
    assert list(all_read(archive)) == []
    outside = Outside.made(tmp_path / "docs")
    commands = COMMANDS if most else some(list(CONTENTS).index(name))
    wrong, codes = tried(whole, archive, outside, tmp_path, commands)
    assert wrong == []
    # A server sent a broken answer, and its record is whole. The archive itself is incomplete, not damaged.
    assert codes["verify"] == (3 if name in BROKEN_ANSWERS else 13)


def test_a_circle_of_revisits_ends(archive: Path) -> None:
    """Two captures refer to each other, and the index calls both records whole answers."""
    layout = Layout(archive)
    for number in (1, 2):
        forge(layout, number, one(REVISIT, line(REVISIT, mime="text/html")))
    assert list(all_read(archive)) == []


Change = Callable[[dict[str, Any]], object]


def stating(**members: Any) -> Change:
    return lambda document: document.update(members)


def naming(name: str, size: int) -> Change:
    return lambda document: document["files"].append({"name": name, "bytes": size, "sha256": "0" * 64})


DOCUMENTS: dict[str, Change] = {
    **{
        f"{member} is {value!r:.20}": stating(**{member: value})
        for member in ("capture", "parent", "kind", "started_at", "scope", "counts", "problems", "segments", "files")
        for value in (None, True, [], {}, "x", -1, 10**30, [None], ["x"], {"x": None})
    },
    "a far parent": stating(parent={"capture": 2**40, "sha256": "0" * 64}),
    "a file above": naming("../x", 1),
    "a file of 2^63 bytes": naming("x", 2**63 - 1),
    "a million problems": stating(problems=[{"url": "x", "reason": "y"}] * 1_000_000),
    "a quarter of a million problems": stating(problems=[{"url": "x", "reason": "y"}] * 250_000),
    "commands for the terminal": stating(kind="\x1b[2J\x07", operator="\x1b]0;x\x07"),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_strange_documents(whole: Whole, archive: Path, tmp_path: Path, name: str) -> None:
    path = archive / CAPTURE / "capture.json"
    document = json.loads(path.read_bytes())
    before = json.dumps(document)
    DOCUMENTS[name](document)
    path.write_text(json.dumps(document), "utf-8")
    outside = Outside.made(tmp_path / "docs")
    wrong, codes = tried(whole, archive, outside, tmp_path, [("verify",), ("status",), ("sync", "{out}")])
    assert wrong == []
    assert codes["verify"] == 13 or json.dumps(document) == before


SUMS = ("../../../docs/key", "/etc/passwd", "a/b", "..", ".", "x\\y", "x" * 200)


def test_names_in_sums_lead_nowhere(whole: Whole, archive: Path, tmp_path: Path) -> None:
    path = archive / CAPTURE / "SHA256SUMS"
    path.write_bytes(path.read_bytes() + b"".join(b"0" * 64 + f"  {name}\n".encode() for name in SUMS))
    outside = Outside.made(tmp_path / "docs")
    wrong, codes = tried(whole, archive, outside, tmp_path)
    assert (wrong, codes["verify"]) == ([], 13)


def bomb(gigabytes: int, head: bytes = b"") -> bytes:
    """Return a gzip member with a wrong checksum: some bytes, then a number of zeros."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    start = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    piece = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    end = packer.flush(zlib.Z_FINISH)
    return b"\x1f\x8b\x08" + bytes(7) + start + piece * (gigabytes << 10) + end + bytes(8)


def _large_lines(path: Path) -> None:
    with path.open("wb") as file:
        for _ in range(1024):
            file.write(b"x" * (1 << 20))
        file.write(b"\n")


BIG: dict[str, Callable[[Path], object]] = {
    "10 GB in a record": lambda path: path.joinpath(NAME).write_bytes(
        bomb(10, b"WARC/1.1\r\nContent-Length: 5\r\n\r\nhello\r\n\r\n")
    ),
    "10 GB that a record states": lambda path: path.joinpath(NAME).write_bytes(
        bomb(10, b"WARC/1.1\r\nContent-Length: 10737418240\r\n\r\n")
    ),
    "10 GB in a head": lambda path: path.joinpath(NAME).write_bytes(bomb(10, b"WARC/1.1\r\n")),
    "a head of 100 MB": lambda path: path.joinpath(NAME).write_bytes(
        gzip.compress(b"WARC/1.1\r\n" + b"name: value\r\n" * 8_000_000 + b"\r\n", 1)
    ),
    "a hundred times a gigabyte": lambda path: path.joinpath(NAME).write_bytes(
        bomb(1, b"WARC/1.1\r\nContent-Length: 1073741820\r\n\r\n")[:-8] * 100
    ),
    "a line of 1 GB": lambda path: _large_lines(path / "index.cdxj"),
    "a list of pages of 1 GB": lambda path: _large_lines(path / "pages.jsonl"),
}


def _seconds_of_children() -> float:
    """Return the CPU time of the processes that this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize("name", BIG)
def test_memory_and_time_stay_flat(archive: Path, tmp_path: Path, name: str) -> None:
    BIG[name](archive / CAPTURE)
    reseal(Layout(archive))
    begun = _seconds_of_children()
    done = run_measured(tmp_path, ("verify", archive))
    took = _seconds_of_children() - begun
    assert "Traceback" not in done.printed
    assert (done.code, name) == (3 if "pages" in name else 13, name), done.printed[-500:]
    assert done.megabytes < PEAK_MEGABYTES
    assert took < SECONDS
    assert list(all_read(archive)) == []


def test_nothing_is_completed_from_strange_captures(archive: Path) -> None:
    for files in CONTENTS.values():
        forge(Layout(archive), 2, files)
        found = Archive.open(archive)
        assert complete_assets(found, Settings(), SystemClock()).addresses == ()
