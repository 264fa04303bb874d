"""The captures of a whole fleet in one folder: all WARC files, one sorted index, and one list of hashes.

A worker checks the WARC files of an archive against their hashes and puts them into the folder, as hard links where the
file system can. A file with a page of an entry that is not public now is copied without the page's records. The worker
also writes the archive's part of the index; the main process merges these parts. Nothing holds all names or lines in
memory.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from exporter import __version__, lossless_json
from exporter.archive import atomic
from exporter.archive.archive import Archive
from exporter.archive.captures import INDEX, Capture, captures, stated_sums
from exporter.archive.checks import file_sha256
from exporter.archive.fleet_folder import require_outside
from exporter.archive.layout import SUMS
from exporter.archive.reader import require_outside_archives
from exporter.archive.safe_files import InnerPath, inner
from exporter.errors import ArchiveDamaged, UsageError
from exporter.export.folder import require_name
from exporter.export.wacz import PAGES, find_pages
from exporter.fleet.line_sort import SortedLines
from exporter.fleet.pool import WorkerPool
from exporter.fleet.public_posts import public_posts
from exporter.fleet.work import ArchiveResult, Done, JobOptions, work_over
from exporter.warc.cdxj import CaptureIndex, IndexLine
from exporter.warc.wacz import NO_CUTS, CaptureCollection, Cuts

REPORT: Final = "fleet-warc.json"
_PARTS: Final = ".parts"
_ROWS: Final = "rows"
_FORMAT: Final = "blog-exporter-fleet-warc"
_COPY_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class WarcExportOptions:
    """How captures are exported.

    Attributes:
        job: the settings, which say which entries are public.
        target: the folder.
        api: also the exchanges of backups with an API.
        copy: never make hard links.
        dry_run: write nothing.
    """

    job: JobOptions
    target: Path
    api: bool = False
    copy: bool = False
    dry_run: bool = False


def export_captures(root: Path, options: WarcExportOptions, pool: WorkerPool) -> Generator[ArchiveResult]:
    """Export the captures of all archives; yield the result for each, and write the index and the hashes at the end.

    An interrupted export has no ``SHA256SUMS``. Running it again keeps existing files and finishes it.

    Args:
        root: the fleet's folder.
        options: the options.
        pool: checks and links the files.

    Raises:
        UsageError: the target is among the archives, or holds something else.
        NoSpace: the disk is full.
    """
    target = options.target
    require_outside(root, target)
    require_outside_archives(target)
    _require_own(target)
    results = work_over(root, export_archive, options, pool, of_captures=True)
    if options.dry_run:
        with closing(results):
            for result in results:
                result.facts.pop(_ROWS, None)
                yield result
        return
    parts = target / _PARTS
    with atomic.translated(target):
        atomic.make_folder(target)
        for name in (SUMS, INDEX):
            (target / name).unlink(missing_ok=True)
        _write_report(target, {})
        atomic.remove_folder(inner(parts))
        atomic.make_folder(parts)
        for name in (INDEX, SUMS):
            atomic.make_folder(parts / name)
    index, sums = SortedLines(parts / INDEX), SortedLines(parts / SUMS)
    counts = dict.fromkeys(("archives", "segments", "records", "bytes"), 0)
    with closing(results):
        for result in results:
            rows: list[str] = result.facts.pop(_ROWS, [])
            for row in rows:
                sums.add(row.encode())
            if rows:
                index.add_file(_part(target, result.blog_id))
                counts["archives"] += 1
                for name in ("segments", "records", "bytes"):
                    counts[name] += result.facts[name]
            yield result
    with atomic.translated(target):
        atomic.write_lines(target / INDEX, index)
        _write_report(target, counts)
        for name in (INDEX, REPORT):
            sums.add(_row(name, file_sha256(target / name)).encode())
        atomic.write_lines(target / SUMS, map(_as_sum, sums))
        atomic.remove_folder(inner(parts))


def _require_own(target: Path) -> None:
    """Refuse a folder that holds anything but an earlier export."""
    require_name(target)
    with suppress(FileNotFoundError, NotADirectoryError):
        if (target / REPORT).is_file() or not any(target.iterdir()):
            return
    if os.path.lexists(target):
        raise UsageError("{target} is there already, and no export made it; name another folder.", target=target)


def _write_report(target: Path, facts: dict[str, Any]) -> None:
    document = {"format": _FORMAT, "tool": f"blog-exporter {__version__}", **facts}
    atomic.write_file(target / REPORT, lossless_json.dumps(document, pretty=True) + b"\n")


def _row(name: str, digest: str) -> str:
    return f"{name} {digest}\n"


def _as_sum(row: bytes) -> bytes:
    name, _, digest = row.rstrip(b"\n").rpartition(b" ")
    return digest + b"  " + name + b"\n"


def _part(target: Path, blog_id: str) -> Path:
    return target / _PARTS / hashlib.sha256(blog_id.encode()).hexdigest()


def export_archive(archive: Archive, options: WarcExportOptions) -> Done:
    """Check the WARC files of an archive, put them into the target, and write its part of the index.

    Raises:
        UsageError: nothing says which entries are public.
        ArchiveDamaged: a file or an index has another hash than its capture states. Nothing of the archive is listed
            then.
    """
    chosen = [each for each in captures(archive.layout) if _is_chosen(each, options)]
    part = _part(options.target, archive.info.blog_id)
    with TemporaryDirectory() if options.dry_run else _work_folder(part) as work:
        made = _ArchiveExport(archive.info.blog_id, options, SortedLines(Path(work)))
        withheld = _withheld(archive, options.job, chosen)
        collection = CaptureCollection(chosen, withheld)
        for capture in chosen:
            with atomic.translated(capture.folder):
                made.add(capture, collection)
        if made.rows and not options.dry_run:
            with atomic.translated(part):
                part.unlink(missing_ok=True)
                with part.open("wb") as file:
                    file.writelines(made.lines)
    facts = {"captures": len(chosen), "withheld_records": len(withheld), **made.counts}
    return Done(made.is_new, {**facts, _ROWS: made.rows})


@contextmanager
def _work_folder(part: Path) -> Iterator[str]:
    work = part.with_name(f"{part.name}.work")
    with atomic.translated(work):
        atomic.remove_folder(inner(work))
        atomic.make_folder(work)
        yield str(work)
        atomic.remove_folder(inner(work))


def _withheld(archive: Archive, job: JobOptions, chosen: Sequence[Capture]) -> frozenset[IndexLine]:
    """Return the records of pages of entries that are not public now, as an export of the archive leaves them out."""
    pages = [each for each in chosen if each.info().kind == PAGES]
    if not pages or archive.newest() is None:
        return frozenset()
    with public_posts(archive, job) as found:
        return find_pages(pages, found.addresses()).withheld


class _ArchiveExport:
    """The export of one archive.

    Attributes:
        rows: the hashes of its files.
        lines: its index.
        counts: its files, records and bytes.
        is_new: whether any file is new or has changed.
    """

    def __init__(self, blog_id: str, options: WarcExportOptions, lines: SortedLines) -> None:
        self._blog_id = blog_id
        self._options = options
        self.lines = lines
        self.rows: list[str] = []
        self.counts = {"segments": 0, "records": 0, "bytes": 0}
        self.is_new = False

    def add(self, capture: Capture, collection: CaptureCollection) -> None:
        """Export a capture."""
        names, sums = _named_apart(self._blog_id, capture), stated_sums(capture)
        if file_sha256(capture.index) != sums.get(INDEX):
            raise _not_as_sealed(capture.index)
        cuts = {name: collection.cuts.get((capture.number, name), NO_CUTS) for name in names}
        for segment in capture.segments():
            self._add_segment(segment, sums.get(segment.name, ""), names[segment.name], cuts[segment.name])
        for line in CaptureIndex(capture.index):
            if line.filename not in names:
                raise ArchiveDamaged("{index} names a file that no capture has.", index=capture.index)
            if line in collection.withheld:
                continue
            self.counts["records"] += 1
            if not self._options.dry_run:
                offset = cuts[line.filename].moved(line.offset)
                self.lines.add(replace(line, filename=names[line.filename], offset=offset).encode())

    def _add_segment(self, segment: InnerPath, digest: str, name: str, cuts: Cuts) -> None:
        with segment.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
        self.counts["segments"] += 1
        self.counts["bytes"] += size - sum(end - start for start, end in cuts.ranges)
        if not self._options.dry_run:
            target = self._options.target / name
            if cuts.ranges:
                is_new, digest = _place_cut(segment, digest, target, cuts)
            else:
                is_new = _place(segment, digest, target, copy=self._options.copy)
            self.is_new |= is_new
        self.rows.append(_row(name, digest))


def _is_chosen(capture: Capture, options: WarcExportOptions) -> bool:
    kind = capture.info().kind
    return kind == PAGES or (options.api and kind == "api")


def _named_apart(blog_id: str, capture: Capture) -> dict[str, str]:
    """Return a name for each WARC file of a capture that no other file of the fleet has.

    If a name consists of the blog's whole ID, the time and a number, the file keeps it. Any other name may occur twice,
    because names hold only some characters of an ID. It gets a hash of the file's place.
    """
    own = re.compile(rf"{re.escape(blog_id)}-[0-9]{{14}}-[0-9]{{5,}}\.warc\.gz")
    found = {}
    for segment in capture.segments():
        name = segment.name
        if not own.fullmatch(name) or capture.info().kind != PAGES:
            place = hashlib.sha256(f"{blog_id}/{capture.number}/{name}".encode()).hexdigest()[:16]
            name = f"{name.removesuffix('.warc.gz')}-{place}.warc.gz"
        found[segment.name] = name
    return found


def _place(source: InnerPath, digest: str, target: Path, *, copy: bool) -> bool:
    """Make a file in the target that is the source, which is checked; return whether it was not there.

    Raises:
        ArchiveDamaged: the source does not have its hash.
        NoSpace: the disk is full.
    """
    with atomic.translated(target):
        if target.is_file() and not target.is_symlink():
            is_link = target.samefile(source)
            if is_link != copy and (is_link or _is_copy(source, target)):
                return False
        target.unlink(missing_ok=True)
        linked = False
        if not copy:
            with suppress(OSError, NotImplementedError):  # without hard links the file is copied below
                source.add_name(inner(target))
                linked = True
        found = file_sha256(target) if linked else _copied(source, target)
        if found != digest:
            target.unlink()
            raise _not_as_sealed(source)
    return True


def _not_as_sealed(path: Path) -> ArchiveDamaged:
    return ArchiveDamaged("{path} is not as its capture was sealed. Verify the archive.", path=path)


def _place_cut(source: InnerPath, digest: str, target: Path, cuts: Cuts) -> tuple[bool, str]:
    """Copy a file without some ranges; return whether the copy is new or has changed, and its SHA-256.

    Raises:
        ArchiveDamaged: the source does not have its hash.
        NoSpace: the disk is full.
    """
    temporary = target.with_name(f".{target.name}.new")
    with atomic.translated(target):
        hashed, kept = hashlib.sha256(), hashlib.sha256()
        with source.open("rb") as file, atomic.open_private(temporary) as made:
            for start, end, is_cut in _parts_of(cuts):
                left = end - start if end is not None else -1
                while left and (piece := file.read(_COPY_BYTES if left < 0 else min(left, _COPY_BYTES))):
                    left -= len(piece) if left > 0 else 0
                    hashed.update(piece)
                    if not is_cut:
                        kept.update(piece)
                        made.write(piece)
            made.flush()
            os.fsync(made.fileno())
        if hashed.hexdigest() != digest:
            temporary.unlink()
            raise _not_as_sealed(source)
        found = kept.hexdigest()
        if target.is_file() and not target.is_symlink() and file_sha256(target) == found:
            temporary.unlink()
            return False, found
        temporary.replace(target)
    return True, found


def _parts_of(cuts: Cuts) -> Iterator[tuple[int, int | None, bool]]:
    """Yield the begin and end of each part of a file, and whether it is cut; the last part ends with the file."""
    at = 0
    for start, end in cuts.ranges:
        yield at, start, False
        yield start, end, True
        at = end
    yield at, None, False


def _is_copy(source: InnerPath, target: Path) -> bool:
    """Return whether a file has the size and the time of the source; an unfinished copy has another time."""
    ours, theirs = source.stat(), target.stat()
    return (ours.st_size, ours.st_mtime_ns) == (theirs.st_size, theirs.st_mtime_ns)


def _copied(source: InnerPath, target: Path) -> str:
    """Copy a file with its time, and return the SHA-256 of the copied bytes."""
    hashed = hashlib.sha256()
    with source.open("rb") as file, atomic.open_private(target, "xb") as made:
        while piece := file.read(_COPY_BYTES):
            hashed.update(piece)
            made.write(piece)
        made.flush()
        os.fsync(made.fileno())
    state = source.stat()
    os.utime(target, ns=(state.st_atime_ns, state.st_mtime_ns))
    return hashed.hexdigest()
