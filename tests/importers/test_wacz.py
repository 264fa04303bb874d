"""The archivists' own programs accept the captures and the WACZ file: warcio, cdxj-indexer and py-wacz."""

from __future__ import annotations

import base64
import gzip
import json
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_public_key,
)

from exporter.archive.archive import Archive
from exporter.archive.captures import captures
from tests.importers.conftest import Tool
from tests.site.building import demo_archive
from tests.support.captured import captured
from tests.support.captured_demo import ENTRY_PATH, CapturedDemo, capture_by_program, demo_as_it_is_now

Line = tuple[str, str, dict[str, str]]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CapturedDemo]:
    root = tmp_path_factory.mktemp("wacz") / "demo"
    demo_archive(root)
    blog = demo_as_it_is_now(mixed=True)
    with blog.serving_in_thread() as origin:
        captured(root, origin, leave={"/Entry/90/"}, most_bytes=200_000)
        blog.edit(4, title="夕方の海")
        blog.missing.add("/Entry/90/")
        capture_by_program(root, origin, ENTRY_PATH)
        yield CapturedDemo(root, blog, origin)


def lines(text: str) -> list[Line]:
    found = (line.split(" ", 2) for line in text.splitlines() if not line.startswith("!meta"))
    return sorted(((key, stamp, json.loads(fields)) for key, stamp, fields in found), key=str)


def without_digest(found: list[Line]) -> list[Line]:
    return [(key, stamp, {name: fields[name] for name in fields if name != "digest"}) for key, stamp, fields in found]


def chunked(path: Path, offset: int) -> bool:
    """Return whether the answer at an offset has chunk framing."""
    with path.open("rb") as file:
        file.seek(offset)
        return b"transfer-encoding: chunked" in zlib.decompressobj(31).decompress(file.read(1 << 20)).lower()


def test_warcio_accepts_every_segment(demo: CapturedDemo, tool: Tool) -> None:
    segments = [path for capture in captures(Archive.open(demo.root).layout) for path in capture.segments()]
    assert len(segments) > 3
    for path in segments:
        said = tool("warcio", "check", "-v", path)
        assert "digest pass" in said
        assert "fail" not in said.lower()


def test_cdxj_indexer_makes_the_same_index(demo: CapturedDemo, tool: Tool) -> None:
    for capture in captures(Archive.open(demo.root).layout):
        theirs = lines(tool("cdxj-indexer", "--sort", *capture.segments()))
        ours = lines(capture.index.read_text("utf-8"))
        assert without_digest(ours) == without_digest(theirs)
        # warcio takes the digest of a chunked answer over its framing, against section 6.3.2 of WARC 1.1.
        for (_, _, mine), (_, _, other) in zip(ours, theirs, strict=True):
            same = mine["digest"] == other["digest"]
            assert same or chunked(capture.segment(mine["filename"]), int(mine["offset"]))


def test_py_wacz_validates_the_package(demo: CapturedDemo, tool: Tool, tmp_path: Path) -> None:
    demo.export(tmp_path / "demo.wacz", rendered=True)
    said = tool("wacz", "validate", "-f", tmp_path / "demo.wacz")
    assert "Validation succeeded, the passed WACZ is valid" in said


def test_py_wacz_makes_the_same_index(demo: CapturedDemo, tool: Tool, tmp_path: Path) -> None:
    demo.export(tmp_path / "demo.wacz", rendered=True)
    with zipfile.ZipFile(tmp_path / "demo.wacz") as packed:
        names = [name for name in packed.namelist() if name.startswith("archive/")]
        packed.extractall(tmp_path, names)
        ours = lines(gzip.decompress(packed.read("indexes/index.cdx.gz")).decode())
        blocks = packed.read("indexes/index.idx").decode().splitlines()
    assert json.loads(blocks[0].split(" ", 2)[2]) == {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}
    tool("wacz", "create", "-o", tmp_path / "theirs.wacz", *(tmp_path / name for name in names))
    with zipfile.ZipFile(tmp_path / "theirs.wacz") as packed:
        theirs = lines(gzip.decompress(packed.read("indexes/index.cdx.gz")).decode())
    kept = [(key, stamp, fields) for key, stamp, fields in theirs if fields["mime"] != "application/warc-fields"]
    for found in (ours, kept):
        for _, _, fields in found:
            for name in set(fields) - {"url", "mime", "status", "length", "offset", "filename", "recordDigest"}:
                del fields[name]
    assert ours == kept


def test_a_signed_package_is_valid_and_its_signature_is_true(demo: CapturedDemo, tool: Tool, tmp_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP384R1())
    (tmp_path / "key.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    demo.export(tmp_path / "demo.wacz", key=tmp_path / "key.pem")
    assert "Validation succeeded" in tool("wacz", "validate", "-f", tmp_path / "demo.wacz")
    with zipfile.ZipFile(tmp_path / "demo.wacz") as packed:
        package = json.loads(packed.read("datapackage.json"))
        signed: dict[str, Any] = json.loads(packed.read("datapackage-digest.json"))["signedData"]
    assert signed["created"] == package["created"]
    numbers = base64.b64decode(signed["signature"])
    signature = encode_dss_signature(int.from_bytes(numbers[:48], "big"), int.from_bytes(numbers[48:], "big"))
    public = load_der_public_key(base64.b64decode(signed["publicKey"]))
    assert isinstance(public, ec.EllipticCurvePublicKey)
    public.verify(signature, signed["hash"].encode(), ec.ECDSA(SHA256()))


def test_a_changed_package_is_refused(demo: CapturedDemo, tool: Tool, tmp_path: Path) -> None:
    demo.export(tmp_path / "demo.wacz")
    with zipfile.ZipFile(tmp_path / "demo.wacz") as packed:
        pages = packed.read("pages/pages.jsonl").replace("朝の海".encode(), "昼の海".encode())
        with zipfile.ZipFile(tmp_path / "changed.wacz", "w") as changed:
            for info in packed.infolist():
                changed.writestr(info, pages if info.filename == "pages/pages.jsonl" else packed.read(info))
    with pytest.raises(AssertionError, match="Hash Count Error"):
        tool("wacz", "validate", "-f", tmp_path / "changed.wacz")
