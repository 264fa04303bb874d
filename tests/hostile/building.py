"""Build a small blog's archive, forge its contents, and recompute its hashes as an attacker could."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporter import lossless_json
from exporter.archive.archive import Archive
from exporter.archive.documents import write_manifest
from exporter.archive.latest import write_latest
from exporter.archive.layout import Layout, segment_name, version_numbers
from exporter.archive.lines import put_line, split
from exporter.demo.content import Blog, fields
from exporter.model.kinds import Kind
from tests.support.generated import generated_blog

SECRET = b"CANARY-5d0c1f3a the reader's own words"
PNG = b"\x89PNG\r\n\x1a\n"
ENDINGS = ("bin", "jpg", "png", "txt")


def small_blog(base_url: str) -> Blog:
    """Return a blog of six entries, each with a picture that the service itself serves."""
    blog = generated_blog(6, 6, 2)
    for number, (key, record) in enumerate(blog.entries.items()):
        address = f"{base_url}/pictures/{number}.png"
        blog.pictures[address] = PNG + str(number).encode()
        old = fields(record)
        blog.entries[key] = {**old, "open_flg": "1", "entry_text": f'<p>海<img src="{address}"></p>{old["entry_text"]}'}
    return blog


def edited(blog: Blog) -> None:
    """Edit an entry, so that the next backup makes a second version."""
    key = next(iter(blog.entries))
    blog.entries[key] = {**fields(blog.entries[key]), "title": "改題"}


@dataclass(frozen=True)
class Outside:
    """The reader's own folder next to the archive, which no command may read or change.

    Attributes:
        folder: contains a file with each ending that a picture may have, a key and a folder of documents.
    """

    folder: Path

    @classmethod
    def made(cls, folder: Path) -> Outside:
        """Create the folder's files."""
        (folder / "deep").mkdir(parents=True)
        for name in (*(f"passwords.{ending}" for ending in ENDINGS), "passwords", "key", "deep/entries.jsonl"):
            (folder / name).write_bytes(SECRET + b" " + name.encode() + b"\n")
        return cls(folder)

    def state(self) -> dict[str, bytes]:
        """Return the folder's contents by relative path."""
        return {
            path.relative_to(self.folder).as_posix(): path.read_bytes() if path.is_file() else b""
            for path in self.folder.rglob("*")
        }


def assets_of(root: Path) -> Iterator[tuple[int, bytes]]:
    """Yield each asset line with its version."""
    layout = Layout(root)
    for version in Archive.open(root).versions():
        for line in layout.segment(version, Kind.ASSETS).read_bytes().splitlines(keepends=True):
            yield version, line


def stored(root: Path) -> Path:
    """Return the path of the first stored picture."""
    return min(path for path in (root / "assets").rglob("*") if path.is_file())


def forge_assets(root: Path, change: Callable[[dict[str, Any]], dict[str, Any]], *, latest: bool) -> None:
    """Change the record of every asset and recompute all hashes.

    Args:
        root: the archive.
        change: makes the new record from the old one.
        latest: also write ``latest/`` and its hashes again; otherwise readers must fold the versions.
    """
    layout = Layout(root)
    lines: dict[int, list[bytes]] = {}
    for version, line in assets_of(root):
        old = split(line)
        made = put_line(old.record_id, lossless_json.freeze(change(dict(lossless_json.loads(old.data)))))
        lines.setdefault(version, []).append(made)
    for version, made_lines in lines.items():
        layout.segment(version, Kind.ASSETS).write_bytes(b"".join(made_lines))
    seal(root)
    layout.latest_record.unlink(missing_ok=True)
    if latest:
        write_latest(layout, Archive.open(root).fold(max(lines)), [])


def seal(root: Path) -> None:
    """Recompute the manifests and checksums of all versions from the files."""
    layout = Layout(root)
    parent = None
    info = hashlib.sha256(layout.info.read_bytes()).hexdigest()
    for version in version_numbers(layout):
        document = dict(lossless_json.loads(layout.manifest(version).read_bytes()))
        for kind in Kind:
            data = layout.segment(version, kind).read_bytes()
            document["files"][segment_name(kind)] = {
                "lines": data.count(b"\n"),
                "bytes": len(data),
                "sha256": hashlib.sha256(data).hexdigest(),
            }
        document["parent"] = parent
        parent = {"version": version, "sha256": write_manifest(layout.version(version), document, info)}


def clear(path: Path) -> None:
    """Remove the file or folder, and create its parent folder."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)


def link(path: Path, target: Path | str) -> None:
    """Replace a file or folder by a symbolic link."""
    clear(path)
    path.symlink_to(target)


def fifo(path: Path) -> None:
    """Replace the path by a FIFO that has no writer."""
    clear(path)
    os.mkfifo(path)


def folder(path: Path) -> None:
    """Replace the path by an empty folder."""
    clear(path)
    path.mkdir()


def sock(path: Path) -> None:
    """Replace the path by a socket that has no listener."""
    clear(path)
    with socket.socket(socket.AF_UNIX) as made:
        # The path of a socket is limited to about a hundred bytes.
        here = os.open(path.parent, os.O_RDONLY)
        try:
            made.bind(f"/proc/self/fd/{here}/{path.name}")
        finally:
            os.close(here)


def endless(path: Path) -> None:
    """Replace the path by a sparse file of one terabyte."""
    clear(path)
    with path.open("wb") as file:
        file.truncate(1 << 40)


def is_plain(path: Path) -> bool:
    """Return whether the path is a regular file."""
    return stat.S_ISREG(path.lstat().st_mode)
