"""The store of pictures and files, named by the SHA-256 of their content, and the table that ``files`` prints.

A file grows as ``.work/assets/NAME.part``. Once it is complete and fsynced, one rename moves it to ``assets/``. So no
file with a name there is torn. The folders are fsynced together before the version that needs them is written.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from enum import StrEnum
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple, cast

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.checks import ChecksumCache, Finding, FindingCode, descriptor_sha256
from exporter.archive.safe_files import HeldFolder, NotPlain, inner
from exporter.frozen import frozen
from exporter.message import message, system_reason
from exporter.model.asset import Asset, AssetState, asset_path, is_sha256
from exporter.model.kinds import sort_key
from exporter.model.records import Upload

if TYPE_CHECKING:
    from exporter.archive.layout import Layout
    from exporter.archive.safe_files import InnerPath

_NAME = re.compile(r"([0-9a-f]{64})(?:\.[a-z0-9]{1,8})?")
_PIECE_BYTES = 1 << 20
_RESUMABLE_BYTES: Final = 1 << 20
_NOTE_INTERVAL_BYTES: Final = 4 << 20
_READER_THREADS: Final = 2
_FILES_PER_BATCH: Final = 64
_BATCHES_AT_A_TIME: Final = 4
_SHARD_DIGITS: Final = 2
"""The digits of a hash that name the folder of its file."""


class StoredFile(NamedTuple):
    """A file of the store: its path relative to the archive with forward slashes, and its size in bytes."""

    path: str
    size: int


class PartialFile:
    """A file on its way into the store. It may begin with the content that an earlier run left.

    A note has a hash, and only content that matches it is resumed: after a power cut a file may have holes. The note
    is renewed every 4 MiB and when the file is closed.

    Attributes:
        size: the number of bytes in it.
        validator: the ``ETag`` or ``Last-Modified`` of these bytes; ``None`` if they cannot be resumed.
    """

    def __init__(self, path: Path) -> None:
        self.path = inner(path)
        self._note = self.path.with_name(f"{self.path.stem}.json")
        self._noted = False
        self._noted_size = 0
        self._open = True
        self.validator, length, digest = self._read_note()
        with atomic.translated(path):
            if self.validator is None:
                self.path.remove()
            handle = self.path.descriptor(os.O_RDWR | os.O_CREAT, atomic.FILE_MODE)
            self.file: BinaryIO = cast("BinaryIO", os.fdopen(handle, "r+b"))
        self._hash = hashlib.sha256()
        self.size = 0
        if self.validator is not None:
            self._resume(length, digest)

    @property
    def sha256(self) -> str:
        """The SHA-256 of its content in hexadecimal."""
        return self._hash.hexdigest()

    def _resume(self, length: int, digest: str) -> None:
        """Read the content that an earlier run left, as far as its note goes; discard it if the hash differs."""
        while self.size < length and (piece := self.file.read(min(_PIECE_BYTES, length - self.size))):
            self._hash.update(piece)
            self.size += len(piece)
        if (self.size, self.sha256) != (length, digest):
            self._hash = hashlib.sha256()
            self.size, self.validator = 0, None
            self._drop_note()
        with atomic.translated(self.path):
            self.file.seek(self.size)
            self.file.truncate()
        self._noted_size = self.size

    def restart(self, validator: str | None, length: int | None) -> None:
        """Discard the content; a large file with a validator will be resumed if this run is cut short.

        Raises:
            NoSpace: see :func:`exporter.archive.atomic.translate`, as for ``write``.
        """
        with atomic.translated(self.path):
            if self.size:
                self.file.seek(0)
                self.file.truncate(0)
            self._drop_note()
            if validator is not None and length is not None and length >= _RESUMABLE_BYTES:
                self._noted = True
        self._hash = hashlib.sha256()
        self.size = self._noted_size = 0
        self.validator = validator

    def write(self, data: bytes) -> None:
        """Append bytes."""
        with atomic.translated(self.path):
            self.file.write(data)
        self._hash.update(data)
        self.size += len(data)
        if self._noted and self.size - self._noted_size >= _NOTE_INTERVAL_BYTES:
            with atomic.translated(self.path):
                self._write_note()

    def move(self, target: Path) -> None:
        """Make the content durable and rename the file."""
        with atomic.translated(self.path):
            self.file.flush()
            os.fsync(self.file.fileno())
            self._close()
            atomic.make_folder(target.parent)
            self.path.replace(target)
            self._drop_note()

    def close(self) -> None:
        """Close it and keep it for a later run if that is worthwhile; does nothing after a move or a close."""
        if self._open:
            with contextlib.suppress(OSError):
                if self._noted:
                    self._write_note()
            with contextlib.suppress(OSError):
                self._close()
            if not self._noted:
                self.path.unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove it."""
        self._drop_note()
        self.close()

    def _close(self) -> None:
        self._open = False
        self.file.close()

    def _drop_note(self) -> None:
        if self._noted:
            self._note.unlink(missing_ok=True)
            self._noted = False

    def _write_note(self) -> None:
        """Note the length and hash of the content."""
        self.file.flush()
        note = {"validator": self.validator, "bytes": self.size, "sha256": self.sha256}
        atomic.write_file(self._note, lossless_json.dumps(note) + b"\n")
        self._noted_size = self.size

    def _read_note(self) -> tuple[str | None, int, str]:
        """Return validator, length and hash from the note; without a valid note there is no validator."""
        try:
            note = lossless_json.loads(self._note.read_bytes())
        except FileNotFoundError:
            return None, 0, ""
        except (OSError, lossless_json.NotJson):
            note = None
        self._noted = True
        found = note if isinstance(note, dict) else {}
        validator, length, digest = found.get("validator"), found.get("bytes"), found.get("sha256")
        if not isinstance(validator, str) or type(length) is not int or not isinstance(digest, str):
            return None, 0, ""
        return validator, length, digest


class AssetStore:
    """The folder ``assets/`` of an archive; only the process that holds the archive's lock writes it."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._parts = layout.work / "assets"
        self._files = dict(stored_files(layout.assets))
        self._unsynced: set[Path] = set()
        self._lock = threading.Lock()

    def find(self, sha256: str) -> StoredFile | None:
        """Return the file with this content, or ``None``."""
        return self._files.get(sha256)

    def files(self) -> dict[str, StoredFile]:
        """Return all files by their SHA-256."""
        return dict(self._files)

    def forget_damaged(self) -> list[str]:
        """Read new and changed files; return the paths of damaged ones, which are then forgotten."""
        cache = ChecksumCache(self._layout, quick=True)
        damaged = [digest for batch in self._batches() for digest, _ in self._faults(batch, {}, cache)]
        paths = sorted(self._files.pop(digest).path for digest in damaged)
        # A run that was killed may have renamed files without waiting for the disk.
        with atomic.translated(self._layout.assets):
            cache.make_durable()
        cache.save()
        return paths

    def part(self, address: str) -> PartialFile:
        """Return the file for a download from ``address``."""
        with atomic.translated(self._parts):
            atomic.make_folder(self._parts)
        name = hashlib.sha256(address.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return PartialFile(self._parts / f"{name}.part")

    def keep(self, part: PartialFile, content_type: str) -> StoredFile:
        """Move a complete file into the store. Call :meth:`sync` afterwards. Any thread may call this.

        Raises:
            NoSpace: the disk is full; no incomplete file is left.
        """
        digest = part.sha256
        stored = StoredFile(asset_path(digest, content_type), part.size)
        target = self._layout.root / stored.path
        if self._files.get(digest) == stored and target.is_file():
            part.discard()
            return stored
        part.move(target)
        with self._lock:
            self._unsynced.add(target.parent)
            self._files[digest] = stored
        return stored

    def sync(self) -> None:
        """Make the names of all kept files survive a power cut; a version may name them afterwards."""
        with self._lock:
            folders, self._unsynced = self._unsynced, set()
        with atomic.translated(self._layout.assets):
            for folder in sorted(folders):
                atomic.sync_folder(folder)
            if folders:
                atomic.sync_folder(self._layout.assets)
                atomic.sync_folder(self._layout.root)

    def sweep(self, addresses: Iterable[str] = ()) -> int:
        """Remove the partial files of earlier runs except for these addresses; return their number."""
        keep = {hashlib.sha256(each.encode("utf-8", "surrogatepass")).hexdigest()[:32] for each in addresses}
        removed = 0
        with contextlib.suppress(FileNotFoundError):
            for path in self._parts.iterdir():
                if path.name.split(".")[0].lstrip(".") not in keep:
                    path.remove()
                    removed += 1
        return removed

    def verify(
        self, records: Iterable[tuple[str, dict[str, Any]]], *, cache: ChecksumCache | None = None
    ) -> Iterator[Finding]:
        """Compare the files with their names and with the asset records.

        Args:
            records: url and record of every asset in any version.
            cache: the files that need not be read again.
        """
        sizes: dict[str, object] = {}
        for url, record in records:
            digest = record.get("sha256")
            if digest is None or (is_sha256(digest) and digest in sizes):
                continue
            if not is_sha256(digest):
                detail = message("the record of {url} does not say which file it is", url=url)
                yield Finding(FindingCode.ASSET_MISSING, "assets", detail)
                continue
            sizes[digest] = record.get("bytes")
            if digest not in self._files:
                path = asset_path(digest, str(record.get("content_type")))
                yield Finding(FindingCode.ASSET_MISSING, path, message("it is the content of {url}", url=url))
        if not self._files:
            return
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - slow to import

        # In two threads, as hashing releases the interpreter; in batches, so that an interrupt takes effect.
        with ThreadPoolExecutor(_READER_THREADS) as pool:
            batches = self._batches()
            while some := list(islice(batches, _BATCHES_AT_A_TIME)):
                for faults in pool.map(lambda batch: list(self._faults(batch, sizes, cache)), some):
                    for digest, fault in faults:
                        yield Finding(FindingCode.ASSET_DAMAGED, self._files[digest].path, fault)

    def _batches(self) -> Iterator[list[tuple[str, StoredFile]]]:
        """Yield all files in the order of their hashes, in lists of files that are in one folder."""
        for _, files in groupby(sorted(self._files.items()), key=lambda file: file[0][:_SHARD_DIGITS]):
            while batch := list(islice(files, _FILES_PER_BATCH)):
                yield batch

    def _faults(
        self, batch: list[tuple[str, StoredFile]], sizes: Mapping[str, object], cache: ChecksumCache | None
    ) -> Iterator[tuple[str, str]]:
        """Yield the SHA-256 of each damaged file of one folder, and what is wrong with the file.

        Args:
            batch: the files by their SHA-256.
            sizes: the size in the record of each.
            cache: the files that need not be read again.
        """
        with HeldFolder(self._layout.assets / batch[0][0][:_SHARD_DIGITS]) as folder:
            for digest, stored in batch:
                fault = _fault(folder, digest, stored, sizes.get(digest), cache)
                if fault is not None:
                    yield digest, fault


def _fault(
    folder: HeldFolder, digest: str, stored: StoredFile, size: object, cache: ChecksumCache | None
) -> str | None:
    """Return what is wrong with a file in an open folder."""
    if isinstance(size, int) and size != stored.size:
        return message("it has {size:,} bytes, not {expected:,}", size=stored.size, expected=size)
    name = stored.path.rpartition("/")[2]
    try:
        if cache is not None and cache.quick and cache.is_unchanged(stored.path, folder.lstat(name)):
            return None
        handle, stat = folder.opened(name)
        same = descriptor_sha256(handle) == digest
        if same and cache is not None:
            cache.add(stored.path, stat)
    except OSError as error:
        return message("it cannot be read: {reason}", reason=system_reason(error))
    return None if same else message("its content is not what its name says")


def stored_files(folder: InnerPath) -> Iterator[tuple[str, StoredFile]]:
    """Yield the correctly named files by their SHA-256.

    Raises:
        ArchiveDamaged: the folder is a link.
    """
    try:
        folder.require_folder()
        shards = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except NotPlain as error:
        raise atomic.translate(error, folder) from error
    except (FileNotFoundError, NotADirectoryError):
        return
    for shard in shards:
        if len(shard.name) != 2 or not shard.is_dir(follow_symlinks=False):
            continue
        for entry in os.scandir(shard.path):
            name = _NAME.fullmatch(entry.name)
            if name is not None and name[1].startswith(shard.name) and entry.is_file(follow_symlinks=False):
                size = entry.stat(follow_symlinks=False).st_size
                yield name[1], StoredFile(f"assets/{shard.name}/{entry.name}", size)


class FileState(StrEnum):
    """Whether the archive holds a file."""

    STORED = "stored"
    """The archive holds it."""
    PENDING = "pending"
    """It could not be read and is tried again at every run."""
    LOST = "lost"
    """It is gone for good."""
    LEFT_OUT = "left_out"
    """A setting excludes it."""
    REFUSED = "refused"
    """Its host or port is private, and no setting allows that."""
    DOUBTFUL = "doubtful"
    """The archive holds it, but it contradicts its record."""
    MISSING = "missing"
    """The archive held it, but the file is missing."""
    UNREAD = "unread"
    """An upload that was never requested: its address is unknown, or a setting excludes uploads."""
    NAMELESS = "nameless"
    """A stored file that no record of this state names; earlier versions may."""


_PRESENT = frozenset({FileState.STORED, FileState.DOUBTFUL, FileState.NAMELESS})


@frozen
class FileRow:
    """One row of the table of files.

    Attributes:
        held: whether the archive holds it.
        url: its address; ``None`` for an upload with unknown address.
        path: its path relative to the archive.
        bytes: its size; for an upload that is not stored, the size in the file list.
        content_type: the media type found in the content.
        width: the width in pixels.
        height: the height in pixels.
        name: the file name that its uploader gave it.
        title: the title that its uploader gave it.
        files: ids of its file records.
        entries: ids of the entries that use it.
        orphan: whether no entry uses it.
        status: the HTTP status of the last answer.
        reason: why it is missing or doubtful.
        alt: the text that replaces the picture, if its service states one.
    """

    held: FileState
    url: str | None = None
    path: str | None = None
    bytes: int | None = None
    content_type: str | None = None
    width: int | None = None
    height: int | None = None
    name: str | None = None
    title: str | None = None
    files: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    orphan: bool = False
    status: int | None = None
    reason: str | None = None
    alt: str | None = None

    @property
    def absent(self) -> bool:
        """Whether the archive lacks it."""
        return self.held not in _PRESENT

    def document(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return asdict(self)


def inventory(
    assets: Iterable[Mapping[str, Any]],
    uploads: Mapping[str, Upload],
    stored: Mapping[str, StoredFile],
) -> Iterator[FileRow]:
    """Yield a row for each address, each upload without one, and each stored file without a record.

    Args:
        assets: the raw records of the kind ``assets``.
        uploads: each upload by its id.
        stored: the files of the store by their SHA-256.
    """
    named: set[str] = set()
    listed: set[str] = set()
    for raw in assets:
        asset = Asset.from_raw(raw)
        row = _row(asset, uploads, stored)
        listed.update(row.files)
        named.update([asset.sha256] if asset.sha256 else [])
        yield row
    for file_id in sorted(uploads.keys() - listed, key=sort_key):
        info = uploads[file_id]
        yield FileRow(
            FileState.UNREAD,
            url=info.url or None,
            bytes=info.bytes,
            width=info.width,
            height=info.height,
            name=info.name,
            title=info.title,
            alt=info.alt or None,
            files=(file_id,),
            orphan=True,
            reason=message("it is not asked for: see --assets")
            if info.url
            else message("its address is not known, or not asked for: see --file-url and --assets"),
        )
    for digest in sorted(stored.keys() - named):
        yield FileRow(FileState.NAMELESS, path=stored[digest].path, bytes=stored[digest].size, orphan=True)


def _row(asset: Asset, uploads: Mapping[str, Upload], stored: Mapping[str, StoredFile]) -> FileRow:
    files, entries = tuple(asset.ids("file")), tuple(asset.ids("entry"))
    info = next((uploads[file_id] for file_id in files if file_id in uploads), None)
    found = stored.get(asset.sha256) if asset.sha256 is not None else None
    held = FileState.MISSING if asset.sha256 is not None else FileState(str(asset.state))
    if found:
        held = FileState.DOUBTFUL if asset.state is AssetState.DOUBTFUL else FileState.STORED
    size = asset.bytes if asset.bytes is not None or info is None else info.bytes
    return FileRow(
        held,
        url=asset.url,
        path=found.path if found else None,
        bytes=size,
        content_type=asset.content_type,
        width=asset.width,
        height=asset.height,
        name=info.name if info else None,
        title=info.title if info else None,
        alt=(info.alt or None) if info else None,
        files=files,
        entries=entries,
        orphan=not entries,
        status=asset.status,
        reason=message("the stored file is gone: run backup") if held is FileState.MISSING else asset.reason,
    )
