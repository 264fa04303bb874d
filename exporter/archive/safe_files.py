"""Opening the files of an archive that may be untrusted: only regular files, and never through a link below its root.

A link, a FIFO, a device or a huge sparse file is refused before any byte of it is read (:class:`NotPlain`,
:class:`FileTooLarge`).
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Self

from exporter.message import message

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from os import PathLike, stat_result
    from pathlib import Path

MAX_DOCUMENT_BYTES: Final = 64 << 20
"""The size limit in bytes for ``archive.json`` and manifests; those of a large blog have a few thousand bytes."""
MAX_CACHE_BYTES: Final = 1 << 30
"""The size limit in bytes for files of ``.work/`` that are read as a whole; larger ones count as missing."""
_KINDS: Final[tuple[tuple[Callable[[int], bool], str], ...]] = (
    (stat.S_ISLNK, "a link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class NotPlain(OSError):
    """A link, or something else that is no regular file or folder, in a place of the archive.

    Attributes:
        kind: the kind of thing that was found, such as "a link".
    """

    def __init__(self, path: str, kind: str) -> None:
        super().__init__(errno.ELOOP, message("it is {kind}", kind=kind), path)
        self.kind = kind


class FileTooLarge(OSError):
    """A file that is larger than any file of its kind."""

    def __init__(self, path: str, limit: int) -> None:
        super().__init__(
            errno.EINVAL, message("it is larger than {limit} MiB, the limit for such a file", limit=limit >> 20), path
        )


def is_hollow(found: stat_result) -> bool:
    """Return whether a file claims far more bytes than it occupies: a terabyte of holes takes no disk space.

    A file system with compression stores the text of an archive in a twentieth of its size, never in a thousandth.
    """
    if found.st_size <= MAX_CACHE_BYTES:
        return False
    blocks: int = getattr(found, "st_blocks", found.st_size)
    return blocks * 512 < found.st_size // 1000


def kind_of(mode: int) -> str:
    """Return the kind of file for a mode of ``stat``, such as "a link"; ``""`` for a regular file."""
    return next((words for test, words in _KINDS if test(mode)), "")


if sys.platform == "win32":
    from pathlib import WindowsPath as _Native
else:
    from pathlib import PosixPath as _Native


_CHAINED: Final = os.open in os.supports_dir_fd
_CLOSED_ON_EXEC: Final = getattr(os, "O_CLOEXEC", 0)
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)
_FOLDER: Final = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | _CLOSED_ON_EXEC
_LISTED: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _CLOSED_ON_EXEC | _NO_LINK
_FILE: Final = _NO_LINK | _CLOSED_ON_EXEC | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_MODES: Final = {
    "r": os.O_RDONLY,
    "r+": os.O_RDWR,
    "w": os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
    "x": os.O_WRONLY | os.O_CREAT | os.O_EXCL,
    "a": os.O_WRONLY | os.O_CREAT | os.O_APPEND,
}
_NOT_OPENED: Final = frozenset({errno.ELOOP, errno.ENXIO, errno.EISDIR, errno.EOPNOTSUPP, errno.ENOTDIR})


class InnerPath(_Native):
    """A path whose last components are below a root and are opened without following a link.

    Paths derived with ``/``, ``joinpath``, ``parent`` and ``with_name`` keep the root. Queries (``exists``, ``stat``)
    follow links as with any path; opening, listing, creating, renaming and removing do not.

    Raises:
        NotPlain: from all of these, if a component is a link, or the file is no regular one.
    """

    _base = ""
    _outer = -1

    @classmethod
    def rooted(cls, root: Path) -> Self:
        """Return the root for paths that must stay below it."""
        made = cls(root)
        made._base, made._outer = str(root), len(made.parts)
        return made

    def _derived(self, made: Self) -> Self:
        made._base, made._outer = self._base, self._outer
        return made

    def __truediv__(self, key: str | PathLike[str]) -> Self:
        return self._derived(super().__truediv__(key))

    def joinpath(self, *other: str | PathLike[str]) -> Self:
        """Join as any path does."""
        return self._derived(super().joinpath(*other))

    def with_name(self, name: str) -> Self:
        """Return the path in the same folder with this name."""
        return self._derived(super().with_name(name))

    @property
    def parent(self) -> Self:
        """The folder that contains it."""
        return self._derived(super().parent)

    def descriptor(self, flags: int, mode: int = 0o600) -> int:
        """Open the regular file and return its descriptor."""
        name, folder = self._at(opened=True)
        try:
            handle = os.open(name, flags | _FILE, mode, dir_fd=folder)
        except OSError as error:
            raise self._explained(error, name, folder) from None
        finally:
            _close(folder)
        found = os.fstat(handle)
        if _is_plain(found):
            return handle
        os.close(handle)
        raise _not_plain(found, str(self))

    def open(
        self,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> Any:
        """Open the regular file as :func:`open` does."""
        flags = _MODES[mode.replace("b", "").replace("t", "")]
        return os.fdopen(self.descriptor(flags, 0o666), mode, buffering, encoding, errors, newline)

    def read_bytes(self, limit: int = MAX_CACHE_BYTES) -> bytes:
        """Read the whole file.

        Raises:
            FileTooLarge: it has more bytes than ``limit``.
        """
        with self.open("rb", 0) as file:
            if os.fstat(file.fileno()).st_size > limit:
                raise FileTooLarge(str(self), limit)
            data: bytes = file.read()
            return data

    def hold(self) -> int | None:
        """Open the folder and return its descriptor; ``None`` if the system cannot open folders."""
        name, folder = self._at(opened=True)
        if not _CHAINED:
            return None
        try:
            return os.open(name, _LISTED if folder is not None else _LISTED & ~_NO_LINK, dir_fd=folder)
        except OSError as error:
            raise self._explained(error, name, folder) from None
        finally:
            _close(folder)

    @contextmanager
    def held(self) -> Generator[int | None, None, None]:
        """Keep the folder open inside the block and yield its descriptor; ``None`` if the system opens no folders."""
        handle = self.hold()
        try:
            yield handle
        finally:
            _close(handle)

    def names(self) -> list[str]:
        """Return the sorted names in the folder."""
        with self.held() as folder:
            return sorted(os.listdir(self if folder is None else folder))  # noqa: PTH208  a descriptor is no path

    def iterdir(self) -> Generator[Self, None, None]:
        """Yield the paths in the folder, sorted by name."""
        return (self / name for name in self.names())

    def kind(self) -> str | None:
        """Return the kind of file, such as "a link"; ``""`` for a regular file and ``None`` for a missing one."""
        try:
            name, folder = self._at()
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            return kind_of(os.lstat(name, dir_fd=folder).st_mode)
        except FileNotFoundError:
            return None
        finally:
            _close(folder)

    def require_folder(self) -> None:
        """Refuse anything but a folder, a regular file or a missing path."""
        kind = self.kind()
        if kind and kind != "a folder":
            raise NotPlain(str(self), kind)

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Make the folder."""
        if parents and self.parent.kind() is None:
            self.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._within(lambda name, folder: os.mkdir(name, mode, dir_fd=folder))
        except FileExistsError:
            if not exist_ok or self.kind() != "a folder":
                raise

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove the file, or the link itself."""
        try:
            self._within(lambda name, folder: os.unlink(name, dir_fd=folder))
        except FileNotFoundError:
            if not missing_ok:
                raise

    def remove(self) -> None:
        """Remove a file, a link or a folder with its content; a missing path is fine."""
        kind = self.kind()
        if kind == "a folder":
            self._within(lambda name, folder: shutil.rmtree(name, dir_fd=folder))
        elif kind is not None:
            self.unlink(missing_ok=True)

    def rename(self, target: str | PathLike[str]) -> Self:
        """Rename it."""
        return self._moved(target, os.rename)

    def replace(self, target: str | PathLike[str]) -> Self:
        """Rename it, replacing any file of that name."""
        return self._moved(target, os.replace)

    def add_name(self, target: InnerPath) -> None:
        """Give the regular file a second name."""
        if self.kind():
            raise NotPlain(str(self), self.kind() or "")
        self._moved(target, lambda *names, **folders: os.link(*names, **folders, follow_symlinks=False))

    def _moved(self, target: str | PathLike[str], call: Callable[..., None]) -> Self:
        goal = inner(target if isinstance(target, _Native) else _Native(target))
        name, folder = self._at()
        try:
            new_name, new_folder = goal._at()
            try:
                call(name, new_name, src_dir_fd=folder, dst_dir_fd=new_folder)
            except OSError as error:
                error.filename, error.filename2 = str(self), str(goal)
                raise
            finally:
                _close(new_folder)
        finally:
            _close(folder)
        return self.joinpath(goal)

    def _within(self, call: Callable[[str, int | None], None]) -> None:
        name, folder = self._at()
        try:
            call(name, folder)
        except OSError as error:
            raise self._explained(error, name, folder) from None
        finally:
            _close(folder)

    def _at(self, *, opened: bool = False) -> tuple[str, int | None]:
        """Return the last component, and a descriptor of the folder that contains it.

        For the root, and on systems without ``openat``, return the whole path without a folder.
        """
        parts = self.parts
        outer = self._outer if self._outer >= 0 else len(parts) - 1
        below = parts[outer:]
        if ".." in below:
            raise NotPlain(str(self), message("a way out"))
        if not below or not _CHAINED:
            self._refuse_links(0 if opened else 1)
            return str(self), None
        try:
            handle = os.open(self._base or _Native(*parts[:outer]), _FOLDER)
        except OSError as error:
            error.filename = str(self)
            raise
        for number, name in enumerate(below[:-1], outer + 1):
            above = handle
            try:
                handle = os.open(name, _FOLDER | _NO_LINK, dir_fd=above)
            except OSError as error:
                raise self._explained(error, name, above, parts[:number]) from None
            finally:
                os.close(above)
        return below[-1], handle

    def _refuse_links(self, first: int) -> None:
        """Refuse links below the root by looking before opening; ``first`` is 0 to include the path itself, else 1."""
        for path in (self, *self.parents)[first : len(self.parts) - self._outer if self._outer >= 0 else 1]:
            if _Native(path).is_symlink():
                raise NotPlain(str(path), message("a link"))

    def _explained(self, error: OSError, name: str, folder: int | None, blamed: tuple[str, ...] = ()) -> OSError:
        """Return the error with the whole path, as :class:`NotPlain` if the cause is no file or folder."""
        error.filename = str(self)
        if error.errno in _NOT_OPENED:
            try:
                kind = kind_of(os.lstat(name, dir_fd=folder).st_mode)
            except OSError:
                return error
            if kind and (kind != "a folder" or error.errno == errno.EISDIR):
                return NotPlain(str(_Native(*blamed) if blamed else self), kind)
        return error


class HeldFolder:
    """A folder that stays open inside ``with``, so that its files are opened by name, which is faster than by path.

    Raises:
        OSError: from all methods: the folder cannot be opened, or a file is missing or no regular one
            (:class:`NotPlain`).
    """

    def __init__(self, path: InnerPath) -> None:
        self.path = path
        self._handle: int | None = None
        self._fault: OSError | None = None

    def __enter__(self) -> Self:
        try:
            self._handle = self.path.hold()
        except OSError as error:
            self._fault = error
        return self

    def __exit__(self, *_: object) -> None:
        _close(self._handle)

    def names(self) -> list[str]:
        """Return the sorted names in the folder."""
        return sorted(os.listdir(self.path if self._held() is None else self._held()))  # noqa: PTH208  no path

    def lstat(self, name: str) -> stat_result:
        """Return the state of a file or of the link itself."""
        held = self._held()
        return (self.path / name).lstat() if held is None else os.stat(name, dir_fd=held, follow_symlinks=False)

    def is_empty(self, name: str) -> bool:
        """Return whether a file is a regular one without any bytes."""
        try:
            found = self.lstat(name)
        except OSError:
            return False
        return found.st_size == 0 and stat.S_ISREG(found.st_mode)

    def add_name(self, name: str, other: HeldFolder) -> None:
        """Give a regular file the same name in another folder."""
        held, into = self._held(), other._held()
        if held is None or into is None:
            (self.path / name).add_name(other.path / name)
            return
        os.link(name, name, src_dir_fd=held, dst_dir_fd=into, follow_symlinks=False)

    def descriptor(self, name: str) -> int:
        """Open a file for reading and return its descriptor."""
        return self.opened(name)[0]

    def opened(self, name: str) -> tuple[int, stat_result]:
        """Open a file for reading; return its descriptor and its state."""
        held = self._held()
        if held is None:
            handle = (self.path / name).descriptor(os.O_RDONLY)
            return handle, os.fstat(handle)
        handle = os.open(name, os.O_RDONLY | _FILE, dir_fd=held)
        found = os.fstat(handle)
        if not _is_plain(found):
            os.close(handle)
            raise _not_plain(found, f"{self.path}/{name}")
        return handle, found

    def read_bytes(self, name: str, limit: int) -> bytes:
        """Read the whole file.

        Raises:
            FileTooLarge: it has more bytes than ``limit``.
        """
        handle, found = self.opened(name)
        size = found.st_size
        try:
            if size > limit:
                raise FileTooLarge(f"{self.path}/{name}", limit)
            data = os.read(handle, size)
            while len(data) < size and (piece := os.read(handle, size - len(data))):
                data += piece
            return data
        finally:
            os.close(handle)

    def _held(self) -> int | None:
        """Return the descriptor of the folder; ``None`` if the system cannot open folders."""
        if self._fault is not None:
            raise self._fault
        return self._handle


def _is_plain(found: stat_result) -> bool:
    return stat.S_ISREG(found.st_mode) and not is_hollow(found)


def _not_plain(found: stat_result, path: str) -> OSError:
    """Return the error for a file that is no regular one, or is nearly all holes."""
    kind = kind_of(found.st_mode)
    return NotPlain(path, kind) if kind else FileTooLarge(path, MAX_CACHE_BYTES)


def inner(path: Path) -> InnerPath:
    """Return the path as one whose last component is never followed; a path inside an archive is returned unchanged."""
    if isinstance(path, InnerPath):
        return path
    return InnerPath.rooted(path.parent) / path.name if path.name else InnerPath.rooted(path)


def _close(handle: int | None) -> None:
    if handle is not None:
        os.close(handle)


_FIRST_BLOCK_BYTES = 1 << 14


def newest_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file without their line feeds, the newest first; an incomplete last line is skipped.

    Raises:
        OSError: the file cannot be read.
        FileTooLarge: a line has more bytes than the line of any run.
    """
    with inner(path).open("rb") as file:
        position = file.seek(0, os.SEEK_END)
        block, head, torn = _FIRST_BLOCK_BYTES, b"", True
        while position:
            if len(head) > MAX_DOCUMENT_BYTES:
                raise FileTooLarge(str(path), MAX_DOCUMENT_BYTES)
            start = max(0, position - block)
            file.seek(start)
            head, *lines = (file.read(position - start) + head).split(b"\n")
            if torn and lines:
                lines.pop()
                torn = False
            yield from reversed(lines)
            # Growing blocks keep the cost of a very long line to its length.
            position, block = start, block * 2
        if not torn:
            yield head
