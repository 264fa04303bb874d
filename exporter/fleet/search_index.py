"""A fleet's search index: the folded texts of all its blogs, a file for each of the 256 folders.

There is one index for all blogs, since opening the index of each of 100,000 archives would take minutes. A file holds a
section for each blog: a line with the blog, the fingerprint of its archive and the section's length, then the first
lines of :mod:`exporter.search.index_file`. The index may be deleted at any time, and is not trusted:
:mod:`exporter.fleet.search` shows only records that the archive itself confirms.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, cast

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.archive import Archive, read_consistently
from exporter.archive.fleet_folder import FoundArchive, archives_in, mark_of, open_archive
from exporter.archive.safe_files import InnerPath, NotPlain, inner
from exporter.errors import BlogExporterError
from exporter.fleet.work import FATAL, trouble_of
from exporter.model.kinds import Kind
from exporter.search.index import INDEX_EDITION, VersionDocuments
from exporter.search.index_file import FIELDS, record_lines
from exporter.service.interface import Records
from exporter.service.registry import service_of
from exporter.settings import Settings

SECTION: Final = b"@\t"
"""The beginning of a section's line; no line of a record begins with it."""
_FOLDERS: Final = (".fleet", "search")
_EDITION: Final = 1
_MAX_HEAD_BYTES: Final = 4_000
_BLOCK_BYTES: Final = 1 << 20
_IN_MEMORY_BYTES: Final = 8 << 20


class IndexTask(NamedTuple):
    """The task of a worker: update the index of one shard."""

    root: Path
    shard: str
    settings: Settings


@dataclass(slots=True)
class IndexOutcome:
    """The result for a shard: counts of its blogs, of those read and unchanged, and the archives that failed."""

    shard: str
    blogs: int = 0
    read: int = 0
    kept: int = 0
    trouble: list[tuple[str, str]] = field(default_factory=list)


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


def index_shard(task: IndexTask) -> IndexOutcome:
    """Update the index of a shard; a blog whose archive cannot be read keeps its old section.

    Raises:
        BlogExporterError, NoSpace: it cannot be written.
    """
    outcome = IndexOutcome(task.shard)
    path = index_path(task.root, task.shard)
    with atomic.translated(path), contextlib.ExitStack() as opened:
        old: BinaryIO | None = None
        known: dict[str, Section] = {}
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, NotPlain):
            old = opened.enter_context(path.open("rb"))
            known = {section.blog_id: section for section in sections(old, head_of(task.settings))}
        found = []
        for each in archives_in(task.root, task.shard):
            if each.trouble is None:
                found.append(each)
            else:
                outcome.trouble.append((f"{task.shard}/{each.blog_id}", each.trouble))
        marks = {each.blog_id: _mark(each) for each in found}
        outcome.blogs = len(found)
        if old is not None and marks == {section.blog_id: section.mark for section in known.values()}:
            outcome.kept = len(found)
            return outcome
        atomic.make_folder(path.parent)
        atomic.write_lines(path, _content(task, found, marks, known, old, outcome))
    return outcome


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
        if len(parts) != 4 or not line.startswith(SECTION) or not parts[3].isdigit():
            return
        at += len(line)
        with contextlib.suppress(lossless_json.NotJson, UnicodeDecodeError):
            section = Section(str(lossless_json.loads(parts[1])), parts[2].decode(), at, int(parts[3]))
            if section.offset + section.length <= end:
                yield section
        at += int(parts[3])


def blog_in(line: bytes) -> str:
    """Return the blog that the line of a section names; empty if it names none."""
    try:
        return str(lossless_json.loads(line.split(b"\t")[1]))
    except (IndexError, lossless_json.NotJson):
        return ""


def _mark(found: FoundArchive) -> str:
    try:
        return mark_of(found.path)
    except (BlogExporterError, OSError):
        return "unreadable"


def _content(
    task: IndexTask,
    found: list[FoundArchive],
    marks: dict[str, str],
    known: dict[str, Section],
    old: BinaryIO | None,
    outcome: IndexOutcome,
) -> Iterator[bytes]:
    """Yield the new index; sections of unchanged blogs are copied from the old one."""
    yield head_of(task.settings)
    services: dict[str | None, Records] = {}
    for each in found:
        mark, before = marks[each.blog_id], known.get(each.blog_id)
        if before is None or before.mark != mark:
            try:
                lines = _lines_of(each, services, task.settings)
            except FATAL:
                raise
            except Exception as error:  # noqa: BLE001 - whatever an archive has in it, the others have their turn
                outcome.trouble.append((f"{task.shard}/{each.blog_id}", trouble_of(error)))
                mark = "unreadable"
            else:
                outcome.read += 1
                with lines:
                    length = lines.tell()
                    yield _section(each.blog_id, mark, length)
                    yield from _copied(lines, Section(each.blog_id, mark, 0, length))
                continue
        else:
            outcome.kept += 1
        if before is not None and old is not None:
            yield _section(each.blog_id, mark, before.length)
            yield from _copied(old, before)


def _section(blog_id: str, mark: str, length: int) -> bytes:
    return b"%b%b\t%b\t%d\n" % (SECTION, lossless_json.text(blog_id), mark.encode(), length)


def _copied(file: BinaryIO, section: Section) -> Iterator[bytes]:
    file.seek(section.offset)
    left = section.length
    while left and (block := file.read(min(left, _BLOCK_BYTES))):
        yield block
        left -= len(block)


def _lines_of(found: FoundArchive, services: dict[str | None, Records], settings: Settings) -> BinaryIO:
    """Return a file with an archive's lines, positioned at the end; a small one stays in memory."""
    made = cast("BinaryIO", tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES))  # noqa: SIM115  closed by its reader

    def read(archive: Archive) -> None:
        made.seek(0)
        made.truncate()
        if archive.newest() is None:
            return
        name = archive.info.service
        if name not in services:
            services[name] = service_of(settings, name)
        with contextlib.closing(VersionDocuments(archive, services[name], archive.resolve())) as documents:
            made.writelines(_lines(documents))

    try:
        open_archive(found)
        read_consistently(found.path, read)
    except BaseException:
        made.close()
        raise
    return made


def _lines(documents: VersionDocuments) -> Iterator[bytes]:
    for kind in FIELDS:
        ids = documents.state.ids(kind)
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
