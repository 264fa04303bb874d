"""The files that a process opens and changes, from Python's audit hook, with all names resolved.

A name that is relative to a folder's descriptor means nothing alone, so :func:`os.open` is also wrapped: the descriptor
that it returns leads to the opened file.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

_CHANGES = {
    "os.remove": (0, 1),
    "os.rmdir": (0, 1),
    "os.mkdir": (0, 2),
    "os.chmod": (0, 2),
    "os.utime": (0, 3),
    "os.symlink": (1, 2),
}
"""For each event, the positions of the name and of the folder's descriptor among its arguments."""
_PAIRS = ("os.rename", "os.link")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class Trace:
    """Records the accesses of this process until it ends, because a hook cannot be removed.

    Attributes:
        read: real paths of files and folders opened for reading.
        changed: real paths opened for writing, made, renamed or removed.
    """

    def __init__(self) -> None:
        self.read: set[str] = set()
        self.changed: set[str] = set()
        self._inside = False
        self._open = os.open
        os.open = self._opened
        sys.addaudithook(self._hook)

    def save(self, path: str) -> None:
        """Write the record to a file."""
        self._inside = True
        Path(path).write_text(json.dumps({"read": sorted(self.read), "changed": sorted(self.changed)}), "utf-8")

    def _opened(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        before, self._inside = self._inside, True
        try:
            handle = self._open(path, flags, mode, dir_fd=dir_fd)
            if not before:
                self._note(_opened_at(handle), writing=bool(flags & _WRITING))
            return handle
        finally:
            self._inside = before

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._inside:
            return
        self._inside = True
        try:
            if event == "open":
                path, mode, flags = arguments
                if not isinstance(path, int):
                    writing = bool((flags or 0) & _WRITING) or any(sign in (mode or "") for sign in "wax+")
                    self._note(os.path.realpath(os.fsdecode(path)), writing=writing)
            elif event == "sqlite3.connect":
                name = os.fsdecode(arguments[0])
                readable = "mode=ro" in name
                if name != ":memory:":
                    name = name.removeprefix("file://").partition("?")[0]
                    self._note(os.path.realpath(name), writing=not readable)
            elif event in ("os.listdir", "os.scandir"):
                self._note(_place(arguments[0], -1), writing=False)
            elif event in _CHANGES:
                name, folder = (arguments[at] for at in _CHANGES[event])
                self._note(_place(name, folder), writing=True)
            elif event in _PAIRS:
                for name, folder in ((arguments[0], arguments[2]), (arguments[1], arguments[3])):
                    self._note(_place(name, folder), writing=True)
        finally:
            self._inside = False

    def _note(self, path: str, *, writing: bool) -> None:
        (self.changed if writing else self.read).add(path)


def _opened_at(handle: int) -> str:
    """Return the real path behind a descriptor."""
    return str(Path(f"/proc/self/fd/{handle}").readlink())


def _place(name: Any, folder: int) -> str:
    """Return the path of a folder's entry: the folder is resolved, the entry is not."""
    if isinstance(name, int):
        return _opened_at(name)
    text = os.fsdecode("." if name is None else name)
    if folder >= 0 and not text.startswith("/"):
        text = f"{_opened_at(folder)}/{text}"
    head, tail = os.path.split(text.rstrip("/"))
    return f"{os.path.realpath(head)}/{tail}"
