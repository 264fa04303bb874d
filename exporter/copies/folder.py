"""Copies in a folder: of this machine, of a disk, of anything that is mounted.

An object is written under ``.work/`` and gets its name by a link, which fails where the name is taken; where the file
system has no links, under a lock. ``latest/`` and ``.work/``, which a folder that is also an archive has, are no part
of a copy and are not listed. No link is followed, and nothing outside of the folder is reached.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from typing import TYPE_CHECKING, Final

from exporter.archive import atomic
from exporter.archive.layout import is_inside
from exporter.archive.lock import ArchiveLock
from exporter.archive.safe_files import FileTooLarge, InnerPath, NotPlain
from exporter.clock import SystemClock
from exporter.copies.store import PIECE, ObjectContent, StoredObject
from exporter.errors import ArchiveDamaged, BlogExporterError, NoSuchObject
from exporter.message import message

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_WORK: Final = ".work"
_NOT_LISTED: Final = frozenset({_WORK, "latest"})
_PATIENCE_SECONDS: Final = 30.0


class FolderStore:
    """A :class:`~exporter.copies.store.Store` in a folder, which need not be there before something is stored.

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
        """Yield the objects whose names begin with ``prefix``.

        Links and the like are among them, and folders with a name that no copy has: they cannot be read.
        """
        with self._translated():
            yield from self._walk(prefix)

    def read(self, name: str) -> Iterator[bytes]:
        """Yield the content of an object in pieces."""
        with self._reading(name), self._path(name).open("rb", 0) as file:
            while piece := file.read(PIECE):
                yield piece

    def read_range(self, name: str, start: int, length: int) -> bytes:
        """Return a part of an object."""
        with self._reading(name), self._path(name).open("rb") as file:
            file.seek(start)
            data: bytes = file.read(length)
            return data

    def create(self, name: str, content: ObjectContent) -> bool:
        """Store an object unless there is one of this name."""
        with self._translated():
            target = self._path(name)
            if target.kind() is not None:
                return False
            with self._written(content) as path:
                return self._named(path, target)

    def replace(self, name: str, content: bytes, tag: str | None) -> bool:
        """Store an object in the place of the one that has ``tag``."""
        with self._translated():
            target = self._path(name)
            with self._locked():
                if self._tag(target) != tag:
                    return False
                atomic.make_folder(target.parent)
                atomic.write_file(target, content)
                return True

    def remove(self, name: str) -> None:
        """Remove an object, and the folders that are empty without it."""
        with self._translated(), contextlib.suppress(FileNotFoundError, NotADirectoryError):
            path = self._path(name)
            path.unlink()
            with contextlib.suppress(OSError):
                for folder in (path.parents[each] for each in range(name.count("/"))):
                    folder.rmdir()

    def _path(self, name: str) -> InnerPath:
        if not is_inside(name):
            raise ArchiveDamaged(
                message("{place} has an object of the name {name!r}, as no copy has.", place=self.place, name=name)
            )
        return self._root.joinpath(*name.split("/"))

    def _walk(self, prefix: str) -> Iterator[StoredObject]:
        waiting = [prefix.rstrip("/")]
        while waiting:
            way = waiting.pop()
            folder = self._path(way) if way else self._root
            try:
                names = folder.names()
            except (FileNotFoundError, NotADirectoryError):
                continue
            for name in names:
                if name in _NOT_LISTED or (name.startswith(".") and name.endswith(".tmp")):
                    continue
                path = folder / name
                whole = f"{way}/{name}" if way else name
                if path.kind() == "a folder" and is_inside(whole):
                    waiting.append(whole)
                    continue
                with contextlib.suppress(FileNotFoundError):
                    yield StoredObject(whole, path.lstat().st_size, self._tag(path) or "")

    @staticmethod
    def _tag(path: InnerPath) -> str | None:
        """Return what changes with the content: a replaced file is another one; ``None`` where there is none."""
        try:
            found = path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return f"{found.st_ino}-{found.st_mtime_ns}-{found.st_size}"

    @contextlib.contextmanager
    def _written(self, content: ObjectContent) -> Iterator[InnerPath]:
        """Write content to a file of its own, durably, which is gone after the block."""
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
        """Give a file its name unless that is taken."""
        atomic.make_folder(target.parent)
        try:
            path.add_name(target)
        except FileExistsError:
            return False
        except NotPlain:
            raise
        except OSError:
            # A file system without links, as on most USB sticks.
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
            lock.acquire(SystemClock().now(), _PATIENCE_SECONDS)
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
            reason = os.strerror(error.errno or 0)
            raise BlogExporterError(
                message("Cannot read {path}: {reason}.", path=f"{self.place}/{name}", reason=reason)
            ) from error
