"""A fleet's search index: the folded texts of all its blogs, a file for each of the 256 folders.

There is one index for all blogs, since opening the index of each of 100,000 archives would take minutes. A file holds a
section for each blog: a line with the blog, the fingerprint of its archive and the section's length, then the first
lines of :mod:`exporter.search.index_file`. The index may be deleted at any time, and is not trusted:
:mod:`exporter.fleet.search` shows only records that the archive itself confirms.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, cast

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.archive import Archive
from exporter.archive.safe_files import InnerPath, NotPlain, inner
from exporter.fleet.shards import Reading, ShardCounts, ShardTask, read_changed
from exporter.model.kinds import Kind
from exporter.search.index import INDEX_EDITION, VersionDocuments
from exporter.search.index_file import FIELDS, record_lines
from exporter.service.registry import service_of
from exporter.settings import Settings

_SECTION: Final = b"@\t"
"""The beginning of a section's line; no line of a record begins with it."""
_FOLDERS: Final = (".fleet", "search")
_EDITION: Final = 1
_MAX_HEAD_BYTES: Final = 4_000
_BLOCK_BYTES: Final = 1 << 20
_IN_MEMORY_BYTES: Final = 8 << 20


class Section(NamedTuple):
    """A blog in an index: the fingerprint of its archive when it was read, and the position of its lines."""

    blog_id: str
    mark: str
    offset: int
    length: int


def index_folder(root: Path) -> InnerPath:
    """Return the folder of a fleet's search index."""
    return InnerPath.rooted(root).joinpath(*_FOLDERS)


def index_path(root: Path, shard: str) -> InnerPath:
    """Return the file of a shard."""
    return index_folder(root) / f"{shard}.txt"


def head_of(settings: Settings) -> bytes:
    """Return the first line of every file, which changes with the format of the index."""
    return f"{_EDITION}:{INDEX_EDITION}:{settings.timezone}\n".encode()


def index_shard(task: ShardTask) -> ShardCounts:
    """Update the index of a shard; a blog whose archive cannot be read keeps its old section.

    Raises:
        BlogExporterError, NoSpace: it cannot be written.
    """
    counts = ShardCounts()
    path = index_path(task.root, task.shard)
    head = head_of(task.settings)
    with atomic.translated(path), contextlib.ExitStack() as opened:
        old: BinaryIO | None = None
        known: dict[str, Section] = {}
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, NotPlain):
            old = opened.enter_context(path.open("rb"))
            known = {section.blog_id: section for section in sections(old, head)}
        marks = {section.blog_id: section.mark for section in known.values()}
        found = read_changed(task, marks, partial(_lines_of, task.settings), counts)
        unchanged = []
        for each in found:
            unchanged.append(each)
            if marks.get(each.blog_id) != each.mark:
                break
        if old is None or counts.kept < max(len(unchanged), len(known)):
            atomic.make_folder(path.parent)
            atomic.write_lines(path, chain([head], _content(chain(unchanged, found), known, old)))
    return counts


def sections(file: BinaryIO, head: bytes) -> Iterator[Section]:
    """Yield the sections of an index up to the first damage; an index of another edition has no sections."""
    if file.readline(_MAX_HEAD_BYTES) != head:
        return
    end = file.seek(0, 2)
    at = len(head)
    while at < end:
        file.seek(at)
        line = file.readline(_MAX_HEAD_BYTES)
        parts = line.rstrip(b"\n").split(b"\t")
        if len(parts) != 4 or not line.startswith(_SECTION) or not parts[3].isdigit():
            return
        at += len(line)
        with contextlib.suppress(lossless_json.NotJson, UnicodeDecodeError):
            section = Section(str(lossless_json.loads(parts[1])), parts[2].decode(), at, int(parts[3]))
            if section.offset + section.length <= end:
                yield section
        at += int(parts[3])


def _content(found: Iterable[Reading[BinaryIO]], known: Mapping[str, Section], old: BinaryIO | None) -> Iterator[bytes]:
    """Yield the sections of the new index; those of unchanged blogs are copied from the old one."""
    for each in found:
        before = known.get(each.blog_id)
        if each.made is not None:
            with each.made as lines:
                length = lines.tell()
                yield _section(each.blog_id, each.mark, length)
                yield from _copied(lines, 0, length)
        elif before is not None and old is not None:
            yield _section(each.blog_id, each.mark, before.length)
            yield from _copied(old, before.offset, before.length)


def _section(blog_id: str, mark: str, length: int) -> bytes:
    return b"%b%b\t%b\t%d\n" % (_SECTION, lossless_json.text(blog_id), mark.encode(), length)


def _copied(file: BinaryIO, offset: int, length: int) -> Iterator[bytes]:
    file.seek(offset)
    while length and (block := file.read(min(length, _BLOCK_BYTES))):
        yield block
        length -= len(block)


def _lines_of(settings: Settings, archive: Archive) -> BinaryIO:
    """Return a file with an archive's lines, positioned at the end; a small one stays in memory."""
    made = cast("BinaryIO", tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES))  # noqa: SIM115  closed by its reader
    try:
        if archive.newest() is not None:
            service = service_of(settings, archive.info.service)
            with contextlib.closing(VersionDocuments(archive, service, archive.resolve())) as documents:
                made.writelines(_lines(documents))
    except BaseException:
        made.close()
        raise
    return made


def _lines(documents: VersionDocuments) -> Iterator[bytes]:
    for kind in FIELDS:
        ids = list(documents.state.ids(kind))
        if kind is Kind.ENTRIES:
            entries = set(ids)
            ids += [each for each in documents.state.ids(Kind.ENTRY_LIST) if each not in entries]
        for record_id in ids:
            read = documents.read(kind, record_id)
            if read is not None:
                yield record_lines(kind, record_id, b"", read[1]).partition(b"\n")[0] + b"\n"


def made_at(root: Path) -> float | None:
    """Return when a fleet's index was last updated, in seconds since 1970; ``None`` without an index."""
    try:
        return inner(index_folder(root) / "made").stat().st_mtime
    except OSError:
        return None
