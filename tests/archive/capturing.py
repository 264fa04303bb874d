"""Forge the captures of an archive, with hashes that are all right."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping

from exporter import lossless_json
from exporter.archive.captures import captures
from exporter.archive.checks import file_sha256
from exporter.archive.documents import seal
from exporter.archive.layout import Layout
from exporter.archive.manifest import write_sums

NAME = "BLOG-20261126000000-00000.warc.gz"
"""The WARC file of a capture made for tests."""


def member(headers: Mapping[str, str], block: bytes, *, version: str = "WARC/1.1", end: bytes = b"\r\n\r\n") -> bytes:
    """Return a record as a gzip member; its length is stated unless ``headers`` has one."""
    stated = {"Content-Length": str(len(block)), **headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in stated.items())
    return gzip.compress(f"{version}\r\n{head}\r\n".encode("utf-8", "surrogateescape") + block + end, 1, mtime=0)


def forge(layout: Layout, number: int, files: Mapping[str, bytes]) -> None:
    """Replace files of a capture, and make all hashes right."""
    for name, data in files.items():
        (layout.captures / f"{number:06d}" / name).write_bytes(data)
    reseal(layout)


def reseal(layout: Layout) -> None:
    """Make all hashes of the captures right, as an attacker could."""
    parent = None
    for capture in captures(layout):
        path = capture.folder / "capture.json"
        document = json.loads(path.read_bytes())
        document["parent"] = parent
        for part, warc in (("segments", True), ("files", False)):
            document[part] = [
                {
                    "name": name,
                    "bytes": path.with_name(name).stat().st_size,
                    "sha256": file_sha256(path.with_name(name)),
                }
                for name in capture.folder.names()
                if name.endswith(".warc.gz") is warc and name not in {"capture.json", "SHA256SUMS"}
            ]
        path.write_bytes(lossless_json.dumps(document, pretty=True) + b"\n")
        sums = {name: file_sha256(capture.folder / name) for name in capture.folder.names() if name != "SHA256SUMS"}
        (capture.folder / "SHA256SUMS").write_bytes(write_sums(sums))
        parent = {"capture": capture.number, "sha256": sums["capture.json"]}
    lines = layout.runs.read_bytes().splitlines(keepends=True)
    newest = json.loads(lines[-1])
    if "capture_sha256" in newest and parent is not None:
        lines[-1] = lossless_json.dumps({**newest, "capture_sha256": parent["sha256"]}) + b"\n"
        layout.runs.write_bytes(b"".join(lines))
    named = [f"captures/{each:06d}/capture.json" for each in range(1, 10)]
    seal(layout, anew={*named, "runs.jsonl", "captures/runs.jsonl"})
