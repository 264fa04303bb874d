"""A fleet on disk: the places of its archives, and a fingerprint that changes with each archive.

The folders are listed and the ledger is ignored: a catalogue shows the existing archives. A folder counts only in the
place that :func:`archive_place` gives a blog of its name. Links are never followed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from exporter.archive.archive import Archive
from exporter.archive.layout import Layout, is_inside, manifest_sha256, version_numbers
from exporter.archive.reader import ids_at
from exporter.archive.safe_files import InnerPath
from exporter.archive.settings_file import FILE_NAME
from exporter.errors import ArchiveDamaged, NoArchive, UsageError
from exporter.message import message
from exporter.text import printable

FolderPath = TypeVar("FolderPath", bound=Path)
SHARDS: Final = tuple(f"{number:02x}" for number in range(256))
"""The folders of a fleet: the first two hexadecimal digits of the SHA-256 of blog IDs."""


def archive_place(root: FolderPath, blog_id: str) -> FolderPath:
    """Return the folder for a blog's archive: ``ROOT/ab/BLOG_ID``, with two hexadecimal digits of the ID's SHA-256.

    Listing a folder with a million folders is slow on every system; 256 shards hold four thousand each.
    """
    return root / _shard_of(blog_id) / blog_id


def belongs(shard: str, name: str) -> bool:
    """Return whether an untrusted name can be that of a blog's folder in one of the 256 shards."""
    plain = is_inside(name) and "/" not in name and not name.startswith(".") and printable(name) == name
    return plain and _shard_of(name) == shard


def _shard_of(blog_id: str) -> str:
    return hashlib.sha256(blog_id.encode("utf-8")).hexdigest()[:2]


class FoundArchive(NamedTuple):
    """A folder in the place of an archive.

    Attributes:
        blog_id: the blog, by the folder's name.
        path: the folder.
        trouble: why it cannot be a usable archive, or ``None``.
    """

    blog_id: str
    path: Path
    trouble: str | None = None


def require_fleet(root: Path) -> None:
    """Refuse a folder that cannot hold archives of a fleet.

    Raises:
        NoArchive: it has none of the 256 shards.
    """
    if not root.is_dir() or not shards_in(root):
        raise NoArchive("{folder} holds no archives of a fleet: give the folder that fleet run wrote.", folder=root)


def shards_in(root: Path) -> list[str]:
    """Return the existing names of shards in order, without checking that they are folders."""
    there = set(InnerPath.rooted(root).names())
    return [shard for shard in SHARDS if shard in there]


def folders_in(root: Path) -> int:
    """Return the number of folders that may hold an archive, by their names alone."""
    shards = (InnerPath.rooted(root) / shard for shard in shards_in(root))
    return sum(not name.startswith(".") for shard in shards if shard.kind() == "a folder" for name in shard.names())


def archives_in(root: Path, shard: str) -> Iterator[FoundArchive]:
    """Yield the archives in a shard sorted by name; hidden files are skipped.

    A folder without an archive, such as a first backup that failed leaves, is skipped as well.
    """
    folder = InnerPath.rooted(root) / shard
    kind = folder.kind()
    if kind is None:
        return
    if kind != "a folder":
        yield FoundArchive(shard, folder, message("it is no folder, and links are not followed"))
        return
    for name in folder.names():
        if name.startswith("."):
            continue
        place = folder / name
        if not belongs(shard, name):
            yield FoundArchive(printable(name), place, message("no blog of this name belongs there"))
        elif place.kind() != "a folder":
            yield FoundArchive(name, place, message("it is no folder, and links are not followed"))
        elif Archive.exists(place) or Layout(place).versions.kind() is not None:
            yield FoundArchive(name, Path(place))


def archive_named(root: Path, blog_id: str) -> FoundArchive | None:
    """Return the archive of a blog with an untrusted ID; ``None`` if it has none."""
    for shard in shards_in(root):
        if belongs(shard, blog_id) and (InnerPath.rooted(root) / shard / blog_id).kind() == "a folder":
            return FoundArchive(blog_id, root / shard / blog_id)
    return None


def archives_by_later_id(root: Path) -> dict[str, Path]:
    """Return the archives of renamed blogs by each of their later IDs, unless two of them have the same."""
    found: dict[str, Path] = {}
    doubtful = set()
    for shard in shards_in(root):
        for each in archives_in(root, shard):
            if each.trouble is None and Layout(each.path).names.kind() == "":
                for blog_id in ids_at(each.path)[1:]:
                    if found.setdefault(blog_id, each.path) != each.path:
                        doubtful.add(blog_id)
    return {blog_id: path for blog_id, path in found.items() if blog_id not in doubtful}


def open_archive(found: FoundArchive) -> Archive:
    """Open an archive of a fleet.

    Raises:
        NoArchive, NewerFormat, ArchiveDamaged: it cannot be read, or is another blog's.
    """
    if found.trouble is not None:
        raise NoArchive(found.trouble)
    archive = Archive.open(found.path)
    if archive.info.blog_id != found.blog_id:
        other = printable(archive.info.blog_id, 100)
        raise ArchiveDamaged(
            "{path} holds the archive of another blog, {other}: move it away.", path=found.path, other=other
        )
    return archive


def mark_of(path: Path) -> str:
    """Return a fingerprint that changes whenever a run or a prune changed an archive; no file is parsed.

    It covers the newest manifest, the versions, and size and time of ``archive.json``, ``runs.jsonl``,
    ``names.jsonl`` and ``settings.toml``.

    Raises:
        ArchiveDamaged: ``versions/`` is a link.
        OSError: a file is no regular one.
    """
    layout = Layout(path)
    numbers = version_numbers(layout)
    parts = [f"{len(numbers)} {numbers[0]} {manifest_sha256(layout, numbers[-1])}" if numbers else "0"]
    for file in (layout.info, layout.runs, layout.names, layout.root / FILE_NAME):
        try:
            found = file.lstat()
            parts.append(f"{found.st_size} {found.st_mtime_ns}")
        except FileNotFoundError:
            parts.append("")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def require_outside(root: Path, target: Path) -> None:
    """Refuse to write among the archives.

    Raises:
        UsageError: the path is the fleet's folder itself, or in one of its 256 shards.
    """
    new, old = target.resolve(), root.resolve()
    inside = new.relative_to(old).parts[:1] if new.is_relative_to(old) else None
    if inside == () or (inside and inside[0] in SHARDS) or old.is_relative_to(new):
        raise UsageError("{target} is among the archives of {folder}: name another place.", target=target, folder=root)
