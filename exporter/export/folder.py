"""Write an export to disk: a folder that appears as a whole, with its report next to it."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import os
import shutil
import sqlite3
import stat
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.archive import Archive
from exporter.archive.atomic import full_disk_as_os_error
from exporter.archive.layout import Layout
from exporter.archive.reader import require_outside_archives
from exporter.errors import ArchiveDamaged, UsageError
from exporter.export.interface import (
    ArchiveCopy,
    Content,
    Copy,
    Database,
    ExportFile,
    Filled,
    Inline,
    Packed,
    Summary,
    Typeset,
    Unchanged,
    WrittenFile,
)
from exporter.message import message
from exporter.model.asset import is_sha256
from exporter.text import printable
from exporter.typeset.press import Press

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

_BLOCK_BYTES = 3 << 18
_PICTURE_AGAIN: Final = message("run backup, which reads it again, or restore it from another copy of the archive")
_REPLACED: Final = "replaced"
_CONTENT: Final = "content_sha256"
_REPLACED_CONTENT: Final = "replaced_content_sha256"


def report_path(target: Path) -> Path:
    """Return the path of an export's report."""
    return target.with_name(f"{target.name}.report.json")


def require_name(target: Path) -> None:
    """Refuse ``.`` and ``/``, beside which an export could not write its report.

    Raises:
        UsageError: the target has no name.
    """
    if not target.name:
        raise UsageError("{target} cannot be a new folder; name one.", target=target)


def check_target(target: Path, *, force: bool) -> None:
    """Refuse to write over anything but an export.

    A report next to a folder does not prove that an export made all of it. With ``force``, a folder is replaced only if
    every file matches the report byte for byte.

    Raises:
        UsageError: the target is a file, a folder that no export made, an export without ``force``, or contains a file
            that its report does not list.
    """
    require_name(target)
    require_outside_archives(target)
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not target.is_dir() or not report_path(target).is_file():
        raise UsageError("{target} is there already, and no export made it; name another folder.", target=target)
    if not force:
        raise UsageError(
            "{target} is there already; add --force to replace the export in it, or name another folder.", target=target
        )
    foreign = None if _is_sealed(target) else _foreign(target)
    if foreign is not None:
        raise UsageError(
            "{target} holds {foreign}, which is not as {report_path} says an export wrote it: "
            "move it elsewhere, or name another folder.",
            target=target,
            foreign=printable(foreign, 200),
            report_path=report_path(target),
        )


def _foreign(target: Path) -> str | None:
    """Return the first file or folder by path that differs from the report, or ``None``."""
    known: defaultdict[str, list[WrittenFile]] = defaultdict(list)
    parents: set[str] = set()
    for file in _listed(target):
        known[file.path].append(file)
        parents.update(map(str, PurePosixPath(file.path).parents))
    for folder, inner, names in os.walk(target):
        inner.sort()
        way = Path(folder).relative_to(target)
        for name in sorted([*inner, *names]):
            path, shown = Path(folder, name), (way / name).as_posix()
            fits = shown in parents if name in inner else _file(path, shown) in known[shown]
            if path.is_symlink() or not fits:
                return shown
    return None


def _is_sealed(target: Path) -> bool:
    """Return whether the folder matches the one hash in its report; a report on private entries lists no files."""
    report = _report(target)
    sealed = [report[name] for name in (_CONTENT, _REPLACED_CONTENT) if report.get(name) is not None]
    if not sealed:
        return False
    found: list[WrittenFile] = []
    for folder, inner, names in os.walk(target):
        way = Path(folder).relative_to(target)
        if any(Path(folder, name).is_symlink() or not any(Path(folder, name).iterdir()) for name in inner):
            return False
        for name in names:
            file = _file(Path(folder, name), (way / name).as_posix())
            if file is None:
                return False
            found.append(file)
    return _content_sha256(found) in sealed


def _content_sha256(files: Iterable[WrittenFile]) -> str:
    """Return one hash for the paths, sizes and contents of files."""
    rows = sorted(f"{file.sha256} {file.bytes} {file.path}\n" for file in files)
    return hashlib.sha256("".join(rows).encode("utf-8", "surrogateescape")).hexdigest()


def _file(path: Path, shown: str) -> WrittenFile | None:
    """Return a file's path, size and hash, or ``None`` for a link or a special file."""
    with atomic.translated(path):
        state = path.lstat()
        if not stat.S_ISREG(state.st_mode):
            return None
        with path.open("rb") as there:
            return WrittenFile(shown, state.st_size, hashlib.file_digest(there, "sha256").hexdigest())


def _report(target: Path) -> dict[str, Any]:
    """Return the report next to a folder; empty if it is missing or unreadable."""
    try:
        report = lossless_json.loads(report_path(target).read_bytes())
    except (OSError, lossless_json.NotJson):
        return {}
    return report if isinstance(report, dict) else {}


def _listed(target: Path) -> list[WrittenFile]:
    """Return the files that the report lists, with those of the export that it was replacing."""
    report = _report(target)
    try:
        listed = [each for name in ("files", _REPLACED) for each in report.get(name, ())]
        return [WrittenFile(str(each["path"]), int(each["bytes"]), str(each["sha256"])) for each in listed]
    except (TypeError, ValueError, KeyError):
        return []


def write_export(
    files: Iterable[ExportFile],
    archive: Path,
    target: Path,
    describe: Callable[[list[WrittenFile]], dict[str, Any]] | None = None,
) -> list[WrittenFile]:
    """Write all files into a folder next to ``target``, then the report from ``describe``, then rename the folder.

    The report comes first, because a folder without a report would be taken for a stranger's folder, which no export
    replaces. For the same reason the report also lists the files about to be replaced until the rename.

    Raises:
        UsageError: nothing can be written there.
        NoSpace: the disk is full.
        ArchiveDamaged: a picture is missing, or its content differs from its hash.
    """
    new = target.with_name(f".{target.name}.tmp")
    with atomic.translated(target):
        atomic.make_folder(target.parent)
        atomic.remove_folder(new)
        atomic.make_folder(new)
        try:
            written = list(_each_written(files, archive, new))
            document = describe(written) if describe is not None else None
            if document is not None and written and not document.get("files"):
                document = {**document, _CONTENT: _content_sha256(written)}
            replaced = _replaced(target)
            if document is not None:
                write_report(target, {**document, **replaced})
            atomic.swap_folder(new, target, target.with_name(f".{target.name}.old"))
            if document is not None and replaced:
                write_report(target, document)
        finally:
            atomic.remove_folder(new)
    return written


def _replaced(target: Path) -> dict[str, Any]:
    """Return the facts in a report about the export that is about to be replaced."""
    if not target.exists():
        return {}
    listed = [file._asdict() for file in dict.fromkeys(_listed(target))]
    content = _report(target).get(_CONTENT)
    return {**({_REPLACED: listed} if listed else {}), **({_REPLACED_CONTENT: content} if content else {})}


def check_target_file(target: Path, *, force: bool) -> None:
    """Refuse to write over any file but an export.

    Raises:
        UsageError: the target is a folder, a file that no export made or that changed since, or, without ``force``, an
            export.
    """
    require_outside_archives(target)
    if not os.path.lexists(target):
        return
    found = _file(target, target.name) if target.is_file() else None
    if found is None or found not in _listed(target):
        raise UsageError("{target} is there already, and no export made it; name another file.", target=target)
    if not force:
        raise UsageError(
            "{target} is there already; add --force to replace the export in it, or name another file.", target=target
        )


def write_file_export(
    fill: Callable[[BinaryIO], None], target: Path, describe: Callable[[WrittenFile], dict[str, Any]]
) -> WrittenFile:
    """Write an export that is one file: under a temporary name, then the report from ``describe``, then rename it.

    As for folders, the report also lists the replaced file until the rename.

    Raises:
        UsageError: nothing can be written there.
        NoSpace: the disk is full.
    """
    new = target.with_name(f".{target.name}.tmp")
    with atomic.translated(target):
        atomic.make_folder(target.parent)
        try:
            with atomic.open_private(new) as out:
                fill(out)
                out.flush()
                os.fsync(out.fileno())
            written = _file(new, target.name)
            if written is None:
                raise UsageError("{target} is no regular file; name another file.", target=new)
            document = describe(written)
            replaced = _replaced(target)
            write_report(target, {**document, **replaced})
            new.replace(target)
            atomic.sync_folder(target.parent)
            if replaced:
                write_report(target, document)
        finally:
            new.unlink(missing_ok=True)
    return written


def measure_file(name: str, fill: Callable[[BinaryIO], None]) -> WrittenFile:
    """Make an export that is one file without keeping any of it; its hash is unknown."""
    counted = _CountingFile()
    fill(counted)
    return WrittenFile(name, counted.size, "")


class _CountingFile(io.BytesIO):
    """A file that keeps only its size."""

    def __init__(self) -> None:
        super().__init__()
        self.size = 0
        self._at = 0

    def write(self, data: Buffer) -> int:
        length = memoryview(data).nbytes
        self._at += length
        self.size = max(self.size, self._at)
        return length

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + (0, self._at, self.size)[whence]
        return self._at

    def tell(self) -> int:
        return self._at


def content_chunks(file: Content, archive: Path) -> Iterator[bytes]:
    """Yield the content of a file, with the files of the archive that it contains in base64.

    Raises:
        ArchiveDamaged: such a file is missing, or its content differs from its hash.
    """
    return _chunks(file, archive)


def measure_export(files: Iterable[ExportFile], archive: Path) -> list[WrittenFile]:
    """Make all files in a private temporary folder, one at a time, and keep none."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for file in _each_written(files, archive, Path(folder)):
            found.append(file)
            Path(folder).joinpath(*file.path.split("/")).unlink()
    return found


def write_report(target: Path, document: dict[str, Any]) -> Path:
    """Write an export's report next to it and return its path."""
    path = report_path(target)
    with atomic.translated(path):
        atomic.write_file(path, lossless_json.dumps(document) + b"\n")
    return path


def _each_written(files: Iterable[ExportFile], archive: Path, folder: Path) -> Iterator[WrittenFile]:
    """Write the files one after another, and yield each once it is complete."""
    done: list[WrittenFile] = []
    for file in files:
        parts = _copies(file, archive) if isinstance(file, ArchiveCopy) else [file]
        for part in parts:
            plain = Content(part.path, part.chunks(done)) if isinstance(part, Summary) else part
            done.append(_write(plain, archive, folder))
            yield done[-1]


def _copies(archive_copy: ArchiveCopy, archive: Path) -> Iterator[Copy]:
    """Yield a copy of every file that belongs to the archive's format, ordered by path.

    Raises:
        ArchiveDamaged: a file differs from the stored hash; its copy would get a correct hash in the export.
    """
    for found in Archive.open(archive).verify(remember=False):
        if found.damage:
            raise ArchiveDamaged(
                "{archive} is damaged: {path}: {detail}; {mend}.",
                archive=archive,
                path=found.path,
                detail=found.detail,
                mend=found.mend,
            )
    layout = Layout(archive)
    single = [
        layout.format_document, layout.readme, layout.sums, layout.info, layout.index, layout.runs, layout.readme_ja,
    ]  # fmt: skip
    yield from (Copy(f"{archive_copy.folder}/{path.name}", path.name) for path in single if path.is_file())
    for top in (layout.assets, layout.captures, layout.latest, layout.versions):
        top.require_folder()
        for folder, inner, names in os.walk(top):
            inner.sort()
            way = Path(folder).relative_to(archive).as_posix()
            yield from (Copy(f"{archive_copy.folder}/{way}/{name}", f"{way}/{name}") for name in sorted(names))


def _write(
    file: Content | Copy | Packed | Database | Filled | Typeset | Unchanged, archive: Path, folder: Path
) -> WrittenFile:
    path = folder.joinpath(*file.path.split("/"))
    atomic.make_folder(path.parent)
    match file:
        case Unchanged():
            try:
                path.hardlink_to(file.source)
            except OSError:  # not every file system has links
                shutil.copyfile(file.source, path)
            return file.file
        case Filled():
            with atomic.open_private(path) as out:
                file.fill(out)
        case Packed():
            _pack(file, archive, path)
        case Typeset():
            _typeset(file, archive, path)
        case Database():
            with full_disk_as_os_error(path), contextlib.closing(sqlite3.connect(path)) as connection:
                file.build(connection)
        case Content(chunks=[bytes(data)]):
            return WrittenFile(file.path, len(data), atomic.write_small(path, data)[0])
        case _:
            with atomic.hashing(path) as hashed:
                for chunk in _chunks(file, archive):
                    hashed.write(chunk)
                size = hashed.size
                return WrittenFile(file.path, size, hashed.close(sync=False))
    with path.open("rb") as made:
        digest = hashlib.file_digest(made, "sha256").hexdigest()
    return WrittenFile(file.path, path.stat().st_size, digest)


def _pack(file: Packed, archive: Path, path: Path) -> None:
    """Write a ZIP whose bytes depend only on its members; pictures are stored uncompressed."""
    with atomic.open_private(path) as out, zipfile.ZipFile(out, "w") as packed:
        for member in file.members:
            info = zipfile.ZipInfo(member.path)
            stored = isinstance(member, Copy) or member.stored
            info.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
            with packed.open(info, "w", force_zip64=file.large) as into:
                for chunk in _chunks(member, archive):
                    into.write(chunk)


def _typeset(file: Typeset, archive: Path, path: Path) -> None:
    """Set a PDF from its pages and pictures, which are files until it is done."""
    with Press() as press, tempfile.TemporaryDirectory(dir=path.parent) as folder:
        press.check()
        made = Path(folder)
        (made / "media").mkdir()
        for member in file.members:
            with atomic.open_private(made / member.path) as into:
                into.writelines(_chunks(member, archive))
        missing = press.set(made, path, file.identifier, vertical=file.vertical)
    for article, characters in missing.items():
        file.missing(article, characters)


def _chunks(file: Content | Copy, archive: Path) -> Iterator[bytes]:
    if isinstance(file, Copy):
        yield from stored_blocks(Layout(archive).root / file.source)
        return
    for chunk in file.chunks:
        if isinstance(chunk, Inline):
            for block in stored_blocks(Layout(archive).root / chunk.source):
                yield base64.b64encode(block)
        else:
            yield chunk


def stored_blocks(path: Path) -> Iterator[bytes]:
    """Yield a file from the archive in blocks that base64 can join; a stored picture is checked against its hash.

    Raises:
        ArchiveDamaged: it is missing, or its content differs from its name's hash.
    """
    if not path.is_file():
        raise ArchiveDamaged("{path} is missing; {picture_again}.", path=path, picture_again=_PICTURE_AGAIN)
    found = hashlib.sha256()
    with path.open("rb") as source:
        while block := source.read(_BLOCK_BYTES):
            found.update(block)
            yield block
    if is_sha256(path.stem) and found.hexdigest() != path.stem:
        raise ArchiveDamaged(
            "{path} is damaged, its content is not what its name says; {picture_again}.",
            path=path,
            picture_again=_PICTURE_AGAIN,
        )
