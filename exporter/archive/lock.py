"""One writer for an archive: an operating system lock, so that a dead process never blocks the archive.

Readers take no lock: the files that they read are written once and appear by a rename.

The library ``filelock`` follows links on the way to its file, which an archive forbids. On systems without locks it
falls back to a marker file, and another machine can only guess whether the owner still runs.
The note about the holder would still have to be written and read here.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from typing import TYPE_CHECKING, Any, Self

from exporter import lossless_json
from exporter.archive.atomic import FILE_MODE, make_folder, translated
from exporter.archive.safe_files import inner
from exporter.clock import timestamp
from exporter.errors import ArchiveLocked, UsageError
from exporter.message import message, system_reason

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path
    from types import TracebackType

if sys.platform == "win32":
    import msvcrt

    _BEYOND_CONTENT = 1 << 30

    def _acquire(handle: int, *, shared: bool = False) -> None:
        del shared  # Windows has no shared locks
        os.lseek(handle, _BEYOND_CONTENT, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        os.lseek(handle, 0, os.SEEK_SET)
else:
    import fcntl

    def _acquire(handle: int, *, shared: bool = False) -> None:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


_POLL_SECONDS = 0.2
_HELD = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK}
"""The errors of ``flock`` and ``locking`` if another process holds the lock."""
_MAX_NOTE_BYTES = 1 << 16
BACKUP = "backup"
CAPTURE = "capture"


class ArchiveLock:
    """The right to write an archive, from ``acquire`` to ``release``.

    Attributes:
        holder_was_killed: whether the last holder ended without releasing the lock; known once it is acquired.
    """

    def __init__(self, path: Path) -> None:
        self._path = inner(path)
        self.holder_was_killed = False
        self._handle: int | None = None

    def acquire(self, now: datetime, wait: float = 0.0, *, work: str = "") -> None:
        """Acquire the lock, waiting up to ``wait`` seconds, and note ``work``: ``backup``, ``capture`` or other.

        Raises:
            ArchiveLocked: another process holds it; the message names the process and since when.
            UsageError: the file system has no locks, or the file cannot be written.
        """
        deadline = time.monotonic() + wait
        while (handle := self._try()) is None:
            if time.monotonic() >= deadline:
                raise ArchiveLocked(
                    "{folder} is being written by {who}; wait for it to end, or use --wait-lock.",
                    folder=self._path.parent.parent,
                    who=_who(self.holder()),
                )
            time.sleep(min(_POLL_SECONDS, max(0.0, deadline - time.monotonic())))
        self._handle = handle
        self.holder_was_killed = os.fstat(handle).st_size > 0
        note = {"pid": os.getpid(), "host": _host(), "since": timestamp(now)}
        if work:
            note["work"] = work
        with translated(self._path):
            os.truncate(handle, 0)
            os.write(handle, lossless_json.dumps(note) + b"\n")

    def _try(self, *, shared: bool = False) -> int | None:
        """Return the open and locked file, or ``None`` if another process holds the lock.

        A first run that failed removes its folder including the lock, so the path must still lead to the locked file.
        """
        while True:
            with translated(self._path):
                make_folder(self._path.parent)
                handle = self._path.descriptor(os.O_RDWR | os.O_CREAT, FILE_MODE)
            try:
                _acquire(handle, shared=shared)
                if os.path.samestat(os.fstat(handle), self._path.lstat()):
                    return handle
            except FileNotFoundError:
                pass
            except OSError as error:
                os.close(handle)
                if error.errno not in _HELD:
                    reason = system_reason(error)
                    raise UsageError(
                        "Cannot lock {path}: {reason}. The file system may not support locks; move the archive to "
                        "a local disk.",
                        path=self._path,
                        reason=reason,
                    ) from error
                return None
            os.close(handle)

    def release(self) -> None:
        """Release the lock. The file stays, so that two processes never lock different files."""
        if self._handle is not None:
            os.truncate(self._handle, 0)
            os.close(self._handle)
            self._handle = None

    def holder(self) -> dict[str, Any]:
        """Read the note about the holder; empty if the lock is free, its holder died, or the note cannot be read."""
        try:
            value = lossless_json.loads(self._path.read_bytes(_MAX_NOTE_BYTES))
        except (OSError, lossless_json.NotJson):
            return {}
        return dict(value) if isinstance(value, dict) and not _died(value) else {}

    def is_held(self) -> bool:
        """Return whether a process holds the lock. Unlike the note, this cannot be forged by a number used again.

        It takes the lock for a moment, shared with others who look, so the holder to be must wait a little.
        """
        handle = self._try(shared=True)
        if handle is None:
            return True
        os.close(handle)
        return False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _died(holder: dict[str, Any]) -> bool:
    """Return whether the holder was a process on this machine that has ended."""
    pid = holder.get("pid")
    return type(pid) is int and not is_running(pid, holder.get("host"))


def is_running(pid: int, host: object) -> bool:
    """Return whether a process may still be running. Only processes on this machine can be checked."""
    if os.name == "nt" or host != _host():
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _host() -> str:
    import socket  # noqa: PLC0415 - a free lock does not need the name

    return socket.gethostname()


def _who(holder: dict[str, Any]) -> str:
    if not holder:
        return message("another process")
    return message(
        "process {pid} on {host} since {since}",
        pid=holder.get("pid"),
        host=holder.get("host"),
        since=holder.get("since"),
    )
