"""Store a copy in a folder, for example on another disk.

Each object is written in ``.work/`` and then linked to its name, which fails if the name exists. On a file system
without links, a lock protects a rename. ``latest/`` and ``.work/`` are not part of a copy and are not listed. Symbolic
links are not followed, and nothing outside the folder is accessed.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from exporter.archive import atomic
from exporter.archive.layout import is_inside
from exporter.archive.lock import ArchiveLock
from exporter.archive.safe_files import FileTooLarge, InnerPath, NotPlain
from exporter.clock import SystemClock
from exporter.copies.store import PIECE_BYTES, ObjectContent, Store, StoredObject
from exporter.errors import ArchiveDamaged, BlogExporterError, NoSuchObject
from exporter.message import system_reason

_WORK: Final = ".work"
_NOT_LISTED: Final = frozenset({_WORK, "latest"})
_LOCK_SECONDS: Final = 30.0


class FolderStore(Store):
    """A store in a folder, which is created with the first object.

    Args:
        root: the folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = InnerPath.rooted(root)
        self._work = self._root / _WORK

    @property
    def place(self) -> str:
        """The folder."""
        return str(self._root)

    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield the objects whose names start with ``prefix``.

        The list includes links, special files and folders with an invalid name, which cannot be read.
        """
        with self._translated():
            yield from self._walk(prefix)

    def read(self, name: str) -> Iterator[bytes]:
        """Yield the content of an object."""
        with self._reading(name):
            handle = self._path(name).descriptor(os.O_RDONLY)
            try:
                # Most files are small, and a piece takes the memory that is asked for.
                rest = os.fstat(handle).st_size
                while piece := os.read(handle, min(PIECE_BYTES, max(0, rest) + 1)):
                    yield piece
                    rest -= len(piece)
            finally:
                os.close(handle)

    def create(self, name: str, content: ObjectContent) -> bool:
        """Store an object if the name is free."""
        with self._translated():
            target = self._path(name)
            if target.kind() is not None:
                return False
            with self._written(content) as path:
                return self._named(path, target)

    def replace(self, name: str, content: bytes, tag: str | None) -> bool:
        """Replace the object that has ``tag``."""
        with self._translated():
            target = self._path(name)
            with self._locked():
                if _tag_at(target) != tag:
                    return False
                atomic.make_folder(target.parent)
                atomic.write_file(target, content)
                return True

    def remove(self, name: str) -> None:
        """Remove an object and the folders that it leaves empty."""
        with self._translated(), contextlib.suppress(FileNotFoundError, NotADirectoryError):
            path = self._path(name)
            path.unlink()
            with contextlib.suppress(OSError):
                for folder in (path.parents[each] for each in range(name.count("/"))):
                    folder.rmdir()

    def _path(self, name: str) -> InnerPath:
        if not is_inside(name):
            raise ArchiveDamaged(
                "{place} has an object with the invalid name {name!r}: remove it.", place=self.place, name=name
            )
        return self._root.joinpath(*name.split("/"))

    def _walk(self, prefix: str) -> Iterator[StoredObject]:
        waiting = [prefix.rstrip("/")]
        while waiting:
            way = waiting.pop()
            folder = self._path(way) if way else self._root
            try:
                found = folder.entries()
            except (FileNotFoundError, NotADirectoryError):
                continue
            for name, state in found:
                if name in _NOT_LISTED or (name.startswith(".") and name.endswith(".tmp")):
                    continue
                whole = f"{way}/{name}" if way else name
                if stat.S_ISDIR(state.st_mode) and is_inside(whole):
                    waiting.append(whole)
                else:
                    yield StoredObject(whole, state.st_size, _tag(state))

    @contextlib.contextmanager
    def _written(self, content: ObjectContent) -> Iterator[InnerPath]:
        """Write content durably to a temporary file, which is removed after the block."""
        atomic.make_folder(self._work)
        path = self._work / f"incoming-{secrets.token_hex(8)}"
        try:
            with atomic.hashing(path) as file:
                for piece in content.pieces():
                    file.write(piece)
                file.close()
            yield path
        finally:
            path.unlink(missing_ok=True)

    def _named(self, path: InnerPath, target: InnerPath) -> bool:
        """Link a file to its name, unless the name exists; return whether it was linked."""
        atomic.make_folder(target.parent)
        try:
            path.add_name(target)
        except FileExistsError:
            return False
        except NotPlain:
            raise
        except OSError:
            # The file system has no links, as on most USB sticks.
            with self._locked():
                if target.kind() is not None:
                    return False
                path.rename(target)
        atomic.sync_folder(target.parent)
        return True

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        atomic.make_folder(self._work)
        with ArchiveLock(self._work / "lock") as lock:
            lock.acquire(SystemClock().now(), _LOCK_SECONDS)
            yield

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        with atomic.translated(self._root):
            yield

    @contextlib.contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        try:
            yield
        except (FileNotFoundError, NotADirectoryError) as error:
            raise NoSuchObject(self.place, name) from error
        except (NotPlain, FileTooLarge) as error:
            raise atomic.translate(error, self.place) from error
        except OSError as error:
            reason = system_reason(error)
            raise BlogExporterError(
                "Cannot read {path}: {reason}.", path=f"{self.place}/{name}", reason=reason
            ) from error


def _tag_at(path: InnerPath) -> str | None:
    """Return the tag of a file; ``None`` if the file does not exist."""
    try:
        return _tag(path.lstat())
    except (FileNotFoundError, NotADirectoryError):
        return None


def _tag(found: os.stat_result) -> str:
    """Return a value that changes with the content."""
    return f"{found.st_ino}-{found.st_mtime_ns}-{found.st_size}"
