"""The size that a version's manifest states for each segment, and whether a file still has it.

A segment that is empty, or that was cut after a line, reads like one that never had more records. So every reader
compares the segment with the manifest.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.archive.layout import MANIFEST, SEGMENTS
from exporter.archive.manifest import Manifest
from exporter.archive.safe_files import LARGEST_DOCUMENT, HeldFolder
from exporter.errors import ArchiveDamaged
from exporter.message import message, suggested

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from exporter.archive.safe_files import InnerPath


class SegmentSize(NamedTuple):
    """The size of a segment in lines and in bytes."""

    lines: int
    bytes: int


_STATED: Final = re.compile(
    rb'\n    "([a-z_]+\.jsonl)": \{\n      "lines": ([0-9]{1,18}),\n      "bytes": ([0-9]{1,18}),'
)
"""A row of ``files`` as the program writes it. No text in a manifest matches: its line feeds and quotes are escaped."""
_ROWS: Final = {
    name: re.compile(
        rb'\n    "%s": \{\n      "lines": ([0-9]{1,18}),\n      "bytes": ([0-9]{1,18}),' % re.escape(name).encode()
    )
    for name in SEGMENTS
}
"""The row of each segment, as the program writes it."""
NOTHING: Final = SegmentSize(0, 0)


def stated_sizes(folder: HeldFolder) -> dict[str, SegmentSize]:
    """Return the sizes that the manifest in a version's folder states, by the segments' names.

    Raises:
        ArchiveDamaged: the manifest is missing or damaged.
    """
    try:
        data = folder.read_bytes(MANIFEST, LARGEST_DOCUMENT)
    except OSError as error:
        path = folder.path / MANIFEST
        raise ArchiveDamaged(
            message("{path} is missing or cannot be read. To restore it: {command}", path=path, command=_repair(path))
        ) from error
    # Ten years have thousands of manifests, and to decode one takes twenty times as long.
    rows = _STATED.findall(data)
    if len(rows) == len(SEGMENTS):
        return {name.decode(): SegmentSize(int(lines), int(size)) for name, lines, size in rows}
    manifest = Manifest.decode(data, str(folder.path / MANIFEST))
    return {name: SegmentSize(info.lines, info.bytes) for name, info in manifest.files.items()}


def stated_size(folder: HeldFolder, name: str) -> SegmentSize | None:
    """Return the size that the manifest in a version's folder states for one segment, ``None`` if it names none.

    A record is looked for in thousands of versions, each with its manifest. To look for one row takes a fraction of
    the time that all six take.

    Raises:
        ArchiveDamaged: the manifest is missing or damaged.
    """
    with suppress(OSError):
        found = _ROWS[name].findall(folder.read_bytes(MANIFEST, LARGEST_DOCUMENT))
        if len(found) == 1:
            return SegmentSize(int(found[0][0]), int(found[0][1]))
    return stated_sizes(folder).get(name)


def require_size(path: InnerPath, found: SegmentSize, stated: SegmentSize | None) -> None:
    """Refuse a segment that does not have the size that its manifest states.

    Raises:
        ArchiveDamaged: it has another size, or the manifest does not name it.
    """
    if found == stated:
        return
    if stated is None:
        raise damaged_segment(path, message("its manifest does not name it"))
    if found.bytes == stated.bytes:
        raise damaged_segment(
            path, message("it has {n:,} lines, and its manifest says {stated:,}", n=found.lines, stated=stated.lines)
        )
    raise damaged_segment(
        path, message("it has {n:,} bytes, and its manifest says {stated:,}", n=found.bytes, stated=stated.bytes)
    )


def damaged_segment(path: InnerPath, detail: str) -> ArchiveDamaged:
    """Return the error for a damaged segment, with the command that may restore it."""
    return ArchiveDamaged(
        message(
            "{path} is damaged: {detail}. To restore it: {command}", path=path, detail=detail, command=_repair(path)
        )
    )


def wrong_sizes(folder: HeldFolder) -> Iterator[tuple[str, ArchiveDamaged]]:
    """Yield a version's files that are missing or have the wrong size, without reading them."""
    try:
        stated = stated_sizes(folder)
    except ArchiveDamaged as error:
        yield MANIFEST, error
        return
    for name, size in stated.items():
        path = folder.path / name
        try:
            found = folder.lstat(name).st_size
        except OSError:
            yield name, damaged_segment(path, message("it is missing"))
            continue
        if found != size.bytes:
            try:
                require_size(path, size._replace(bytes=found), size)
            except ArchiveDamaged as error:
                yield name, error


def _repair(path: Path) -> str:
    """Return the command that restores a version's file, ``versions/000001/NAME``."""
    return suggested("verify", path.parent.parent.parent, "--repair")
