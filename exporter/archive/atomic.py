"""Files and folders that appear whole or not at all, and survive a power cut once they have appeared.

A file is written under a temporary name in the same folder, fsynced and renamed; then the folder is fsynced. A folder
is filled under ``.work/`` and every file fsynced; then it is renamed, or exchanges its name with the folder that it
replaces. Modes are 0600 and 0700, because archives hold private entries. Links are never followed: see
:mod:`exporter.archive.safe_files`.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import sys
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Self, cast

from exporter.archive.safe_files import FileTooLarge, NotPlain, inner
from exporter.errors import ArchiveDamaged, BlogExporterError, NoSpace, UsageError
from exporter.message import message, system_reason

if TYPE_CHECKING:
    from collections.abc import Iterable

    from exporter.archive.safe_files import InnerPath

FOLDER_MODE = 0o700
FILE_MODE = 0o600
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_REFUSED = {
    errno.ENOENT,
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOTDIR,
    errno.EEXIST,
    errno.EISDIR,
    errno.ENAMETOOLONG,
}
_MAX_SINGLE_SYNCS: Final = 64
"""Up to this number, files and folders are fsynced one by one; beyond it one call for the file system is cheaper."""
_EXCHANGE: Final = 2
_NO_SUCH_CALL = {errno.ENOSYS, errno.EINVAL, errno.EPERM, errno.EOPNOTSUPP}

_INSTEAD = message("which no archive holds; remove it, or restore what belongs there from another copy of the archive")
_INSTEAD_OF_A_LINK = message(
    "and links inside an archive are not followed; put what belongs there in its place "
    "(for another disk, move the whole archive or mount the disk there)"
)


def translate(error: OSError, path: Path | str) -> BlogExporterError:
    """Translate an operating system error into one of this program that names the path."""
    reason = system_reason(error)
    place = error.filename or path
    if isinstance(error, NotPlain):
        instead = _INSTEAD_OF_A_LINK if error.kind == "a link" else _INSTEAD
        return ArchiveDamaged("{place} is {kind}, {instead}.", place=place, kind=error.kind, instead=instead)
    if isinstance(error, FileTooLarge):
        return ArchiveDamaged(
            "{place} is damaged: {reason}; restore it from another copy of the archive.", place=place, reason=reason
        )
    if error.errno in _FULL:
        return NoSpace(
            "No space left while writing {place} ({reason}); free some and run again, nothing is lost.",
            place=place,
            reason=reason,
        )
    if error.errno in _REFUSED:
        return UsageError(
            "Cannot access {place}: {reason}. Check its permissions, or choose another folder.",
            place=place,
            reason=reason,
        )
    return BlogExporterError("Cannot write {place}: {reason}.", place=place, reason=reason)


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Translate the operating system errors inside the block."""
    try:
        yield
    except OSError as error:
        raise translate(error, path) from error


def make_folder(path: Path) -> None:
    """Create a folder and all missing parents with mode 0700; existing folders keep their mode."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(mode=FOLDER_MODE, exist_ok=True)


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable, if the system can do that."""
    with inner(path).held() as handle:
        if handle is not None:
            os.fsync(handle)


class NewFolder:
    """A folder to fill under ``.work/``. Its content reaches the disk before anything refers to it.

    Use it in ``with``. A folder of this name that a dead run left is removed first.
    """

    def __init__(self, path: Path) -> None:
        self.path = inner(path)
        remove_folder(self.path)
        make_folder(self.path)
        self._folders = {self.path}
        self._files = _WrittenFiles(self.path)
        # Opened before anything is written: a descriptor reports only failures after it was opened.
        self._opened = contextlib.ExitStack()
        self._handle = self._opened.enter_context(self.path.held()) if _syncfs() is not None else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()
        self._handle = None

    def make_folder(self, path: InnerPath) -> None:
        """Make a folder in it, with all missing parents."""
        if path not in self._folders:
            self.make_folder(path.parent)
            path.mkdir(mode=FOLDER_MODE)
            self._folders.add(path)

    def note(self, path: InnerPath) -> None:
        """Remember a file that may not be durable yet."""
        self._files.add(path)

    def sync(self) -> None:
        """Make the noted files and the names of all files survive a power cut.

        Raises:
            OSError: the system cannot promise that.
        """
        sync_all(self.path, self._files, self._folders, self._handle)


class _WrittenFiles(Collection[str]):
    """The files of a folder that may not be durable yet. Of many only the number is kept: all in the folder count.

    Raises:
        OSError: when they are read: a folder cannot be listed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._first: list[str] = []
        self._number = 0

    def __len__(self) -> int:
        return self._number

    def __contains__(self, path: object) -> bool:
        return any(each == path for each in self)

    def __iter__(self) -> Iterator[str]:
        if self._number <= _MAX_SINGLE_SYNCS:
            yield from self._first
        else:
            for folder, _, names in os.walk(self._folder, onerror=_raised):
                yield from (f"{folder}{os.sep}{name}" for name in names)

    def add(self, path: Path) -> None:
        self._number += 1
        if self._number <= _MAX_SINGLE_SYNCS:
            self._first.append(str(path))


def _raised(error: OSError) -> None:
    raise error


def sync_all(
    place: Path, files: Collection[Path | str], folders: Collection[Path | str] = (), handle: int | None = None
) -> None:
    """Make files, and the names in folders, survive a power cut; all are on the file system of ``place``.

    A few are fsynced one by one. For many, the file system is synced once (``syncfs``, Linux). That costs a hundredth,
    but also waits for data of other programs.

    Args:
        place: a folder.
        files: the written files; text takes less time and memory than paths.
        folders: the folders with new names.
        handle: an open descriptor of ``place``, to report failures since it was opened.

    Raises:
        OSError: the system cannot promise that.
    """
    if len(files) + len(folders) > _MAX_SINGLE_SYNCS and _syncfs() is not None:
        with contextlib.ExitStack() as opened:
            found = opened.enter_context(inner(place).held()) if handle is None else handle
            if found is not None and _sync_file_system(found):
                return
    for path in files:
        sync_file(_path(path))
    for folder in sorted(map(_path, folders), reverse=True):
        sync_folder(folder)


def _path(path: Path | str) -> Path:
    return Path(path) if isinstance(path, str) else path


def sync_file(path: Path) -> None:
    """Make the content of a file survive a power cut."""
    handle = inner(path).descriptor(os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_file_system(handle: int) -> bool:
    """Make the file system of an open folder durable; return false if the system cannot.

    Raises:
        OSError: a write failed since the folder was opened.
    """
    call = _syncfs()
    return call is not None and _succeeded(call(handle), "")


def _succeeded(failed: int, path: str) -> bool:
    """Return whether a call of the C library succeeded, or false if the system does not have it.

    Raises:
        OSError: the call exists and failed.
    """
    import ctypes  # noqa: PLC0415 - programs that only read do not need it

    number = ctypes.get_errno() if failed else 0
    if number and number not in _NO_SUCH_CALL:
        raise OSError(number, os.strerror(number), path or None)
    return not failed


@cache
def _syncfs() -> Any:
    """Return ``syncfs`` of the C library (Linux), or ``None``."""
    if not sys.platform.startswith("linux"):
        return None
    import ctypes  # noqa: PLC0415 - programs that only read do not need it

    return getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)


def open_private(path: Path, mode: str = "wb", buffering: int = 1 << 20) -> BinaryIO:
    """Open a file with mode 0600, either to append or as a new file that replaces any file of this name.

    Raises:
        NotPlain: the file to append to is no regular file.
    """
    place = inner(path)
    handle = place.descriptor(os.O_WRONLY | os.O_CREAT | os.O_APPEND, FILE_MODE) if "a" in mode else _new(place)
    return cast("BinaryIO", os.fdopen(handle, mode, buffering))


def _new(place: InnerPath) -> int:
    """Return the descriptor of a new file with mode 0600 that replaces any file of this name."""
    try:
        return place.descriptor(_NEW, FILE_MODE)
    except FileExistsError:
        # Replaced instead of truncated: the name may be a link, or a second name of another file.
        place.unlink(missing_ok=True)
        return place.descriptor(_NEW, FILE_MODE)


class HashingFile:
    """A new file that counts and hashes the bytes written to it."""

    def __init__(self, path: Path) -> None:
        self._file = open_private(path)
        self._hash = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> None:
        """Append bytes."""
        self._file.write(data)
        self._hash.update(data)
        self.size += len(data)

    def close(self, *, sync: bool = True) -> str:
        """Finish the file, durable unless ``sync`` is false, and return its SHA-256 in hexadecimal."""
        self._file.flush()
        if sync:
            os.fsync(self._file.fileno())
        self._file.close()
        return self._hash.hexdigest()

    def discard(self) -> None:
        """Close the file after a failure."""
        with contextlib.suppress(OSError):
            self._file.close()


@contextlib.contextmanager
def hashing(path: Path) -> Iterator[HashingFile]:
    """Open a :class:`HashingFile` that is always closed at the end of the block."""
    made = HashingFile(path)
    try:
        yield made
    finally:
        made.discard()


def write_small(path: Path, data: bytes) -> tuple[str, os.stat_result]:
    """Write a new file in one piece, not yet durable; return its SHA-256 in hexadecimal and its state."""
    handle = _new(inner(path))
    try:
        write_all(handle, data)
        return hashlib.sha256(data).hexdigest(), os.fstat(handle)
    finally:
        os.close(handle)


def write_all(handle: int, data: bytes) -> None:
    """Write bytes to an open file."""
    written = os.write(handle, data)
    while written < len(data):
        written += os.write(handle, data[written:])


def write_file(path: Path, data: bytes) -> None:
    """Write a small file atomically: afterwards it holds either the old bytes or these."""
    write_lines(path, (data,))


def write_secret(path: Path, text: str) -> None:
    """Write a token or password to a file that only its owner can read, and make its folder if needed.

    Raises:
        BlogExporterError: the file cannot be written.
    """
    with translated(path):
        make_folder(path.parent)
        write_file(path, f"{text}\n".encode())


def write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Write a file atomically line by line, so that memory never holds all of it."""
    temporary = inner(path).with_name(f".{path.name}.tmp")
    try:
        with open_private(temporary) as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(path.parent)


def append_line(path: Path, line: bytes) -> None:
    """Append one line durably, after removing an incomplete last line of a dead run."""
    cut_torn_tail(path)
    with open_private(path, "ab") as file:
        file.write(line)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(path.parent)


def cut_torn_tail(path: Path) -> None:
    """Remove an incomplete last line, one without its line feed."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return
    with inner(path).open("rb+") as file:
        end = size
        while end > 0:
            start = max(0, end - 65536)
            file.seek(start)
            found = file.read(end - start).rfind(b"\n")
            if found >= 0:
                end = start + found + 1
                break
            end = start
        if end != size:
            file.truncate(end)


def move_folder(source: Path, target: Path) -> None:
    """Rename a complete folder; the target must not exist."""
    sync_folder(source)
    source.rename(target)
    sync_folder(target.parent)


def remove_folder(path: Path) -> None:
    """Remove a folder with its content, or a link alone; a missing folder is fine."""
    with contextlib.suppress(FileNotFoundError):
        inner(path).remove()


def swap_folder(new: Path, target: Path, aside: Path) -> None:
    """Replace ``target`` by ``new``, in one step if the system can do that, and remove the old folder.

    Otherwise the old folder is renamed to ``aside`` first and ``target`` is missing for an instant. So use it only for
    derived files.
    """
    remove_folder(aside)
    if target.is_dir() and exchange(new, target):
        sync_folder(target.parent)
        remove_folder(new)
        return
    with contextlib.suppress(FileNotFoundError):
        target.rename(aside)
    move_folder(new, target)
    remove_folder(aside)


def exchange(one: Path, other: Path) -> bool:
    """Exchange the names of two folders in one step; return false if the system or the file system cannot.

    Raises:
        OSError: it can, and failed.
    """
    if os.name != "posix":
        return False
    import ctypes  # noqa: PLC0415 - programs that only read do not need it

    library = ctypes.CDLL(None, use_errno=True)
    name = {"linux": "renameat2", "darwin": "renameatx_np"}.get(sys.platform, "")
    if not hasattr(library, name):
        return False
    with inner(one.parent).held() as first, inner(other.parent).held() as second:
        names = os.fsencode(one.name), os.fsencode(other.name)
        return _succeeded(getattr(library, name)(first, names[0], second, names[1], _EXCHANGE), str(other))


def is_full_disk(error: Exception) -> bool:
    """Return whether an SQLite error means that the disk is full."""
    import sqlite3  # noqa: PLC0415 - most commands need no database

    full = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_SHMSIZE}
    return getattr(error, "sqlite_errorcode", 0) in full


@contextlib.contextmanager
def full_disk_as_os_error(path: Path) -> Iterator[None]:
    """Raise the ``OSError`` of a full disk if SQLite reports that it found no room.

    Raises:
        OSError: with ``ENOSPC``.
    """
    import sqlite3  # noqa: PLC0415 - most commands need no database

    try:
        yield
    except sqlite3.Error as error:
        if is_full_disk(error):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from error
        raise
