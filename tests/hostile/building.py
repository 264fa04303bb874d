"""Archives as a stranger could have made them: a whole one of a small blog, changed afterwards and sealed again."""

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
    """Make a blog of six entries, each with a picture that the service itself serves."""
    blog = generated_blog(6, 6, 2)
    for number, (key, record) in enumerate(blog.entries.items()):
        address = f"{base_url}/pictures/{number}.png"
        blog.pictures[address] = PNG + str(number).encode()
        old = fields(record)
        blog.entries[key] = {**old, "open_flg": "1", "entry_text": f'<p>海<img src="{address}"></p>{old["entry_text"]}'}
    return blog


def edited(blog: Blog) -> None:
    """Edit an entry, so that there is a second version to make."""
    key = next(iter(blog.entries))
    blog.entries[key] = {**fields(blog.entries[key]), "title": "改題"}


@dataclass(frozen=True)
class Outside:
    """The reader's own folder beside the archive, which nothing may read or change.

    Attributes:
        folder: it holds a file under each ending that a picture may have, a key and a folder of documents.
    """

    folder: Path

    @classmethod
    def made(cls, folder: Path) -> Outside:
        """Fill the folder."""
        (folder / "deep").mkdir(parents=True)
        for name in (*(f"passwords.{ending}" for ending in ENDINGS), "passwords", "key", "deep/entries.jsonl"):
            (folder / name).write_bytes(SECRET + b" " + name.encode() + b"\n")
        return cls(folder)

    def state(self) -> dict[str, bytes]:
        """Return what is in it."""
        return {
            path.relative_to(self.folder).as_posix(): path.read_bytes() if path.is_file() else b""
            for path in self.folder.rglob("*")
        }


def assets_of(root: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines about assets with their versions."""
    layout = Layout(root)
    for version in Archive.open(root).versions():
        for line in layout.segment(version, Kind.ASSETS).read_bytes().splitlines(keepends=True):
            yield version, line


def stored(root: Path) -> Path:
    """Return the first stored picture."""
    return min(path for path in (root / "assets").rglob("*") if path.is_file())


def forge_assets(root: Path, change: Callable[[dict[str, Any]], dict[str, Any]], *, latest: bool) -> None:
    """Change the record of every asset, with every hash made right again.

    Args:
        root: the archive.
        change: makes the new record.
        latest: also make ``latest/`` and what vouches for it anew; otherwise the versions are folded.
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
    """Make the manifests and sums of all versions agree with what stands in them."""
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
    """Remove what is there, so that something else can be."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)


def link(path: Path, target: Path | str) -> None:
    """Put a link in the place of a file or folder."""
    clear(path)
    path.symlink_to(target)


def fifo(path: Path) -> None:
    """Put a FIFO there, which nobody writes to."""
    clear(path)
    os.mkfifo(path)


def folder(path: Path) -> None:
    """Put a folder there."""
    clear(path)
    path.mkdir()


def sock(path: Path) -> None:
    """Put a socket there that nobody listens to."""
    clear(path)
    with socket.socket(socket.AF_UNIX) as made:
        # The name of a socket has a hundred bytes at most.
        here = os.open(path.parent, os.O_RDONLY)
        try:
            made.bind(f"/proc/self/fd/{here}/{path.name}")
        finally:
            os.close(here)


def endless(path: Path) -> None:
    """Put a file of a terabyte there, all of it holes."""
    clear(path)
    with path.open("wb") as file:
        file.truncate(1 << 40)


def is_plain(path: Path) -> bool:
    """Tell whether a file is one to be read."""
    return stat.S_ISREG(path.lstat().st_mode)
