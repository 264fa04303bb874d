"""Counts how often the command parses and writes one record's JSON, in a separate process.

``python -m tests.support.passes REPORT MARK ARGUMENT…`` runs the command with the arguments and writes REPORT as JSON.
It contains the exit code, and the calls of this package that led to each parse and each write of a text with MARK. A
parse is a call of one of the two parsers. A write is a file that was opened for writing and contains the text at the
end, under any name. Pages for people, which are not JSON, do not contain the mark.
"""

from __future__ import annotations

import builtins
import io
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

import orjson

import exporter.library.backup  # noqa: F401 - what it imports asks what the real os.open can do
from exporter import lossless_json
from exporter.cli.main import main

_WRITING = os.O_WRONLY | os.O_RDWR


class Passes:
    """Watches both parsers and every file opened for writing, from now on until this process ends.

    Attributes:
        parses: the calls that led to each parse of a marked text; the outermost first.
    """

    def __init__(self, mark: str) -> None:
        self.parses: list[list[str]] = []
        self._mark = mark.encode()
        self._written: list[tuple[int, list[str]]] = []
        self._loads, self._parse, self._open, self._io_open = orjson.loads, lossless_json.parse, os.open, io.open
        orjson.loads = self._counted_loads
        lossless_json.parse = self._counted_parse
        os.open = self._watched_open
        builtins.open = io.open = self._watched_io_open

    def writes(self) -> list[list[str]]:
        """Return, for each file that contains a marked text, the calls that led to its opening."""
        found = []
        for handle, calls in self._written:
            with self._io_open(f"/proc/self/fd/{handle}", "rb") as file:
                if self._mark in file.read():
                    found.append([*calls, str(Path(f"/proc/self/fd/{handle}").readlink())])
        return found

    def _counted_loads(self, body: Any) -> Any:
        if self._mark in bytes(body if not isinstance(body, str) else body.encode("utf-8", "surrogatepass")):
            self.parses.append(_calls())
        return self._loads(body)

    def _counted_parse(self, text: str) -> Any:
        if self._mark in text.encode("utf-8", "surrogatepass"):
            self.parses.append(_calls())
        return self._parse(text)

    def _watched_open(self, path: Any, flags: int, *args: Any, **options: Any) -> int:
        handle = self._open(path, flags, *args, **options)
        self._watch(handle, writing=bool(flags & _WRITING))
        return handle

    def _watched_io_open(self, file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
        opened = self._io_open(file, mode, *args, **options)
        # A file object made from a descriptor belongs to a file that was recorded before.
        self._watch(opened.fileno(), writing=not isinstance(file, int) and any(sign in mode for sign in "wax+"))
        return opened

    def _watch(self, handle: int, *, writing: bool) -> None:
        if writing:
            # A duplicated descriptor still leads to the file after it was renamed or removed.
            self._written.append((os.dup(handle), _calls()))


def _calls() -> list[str]:
    inside = [frame for frame in traceback.extract_stack() if "/exporter/" in frame.filename]
    return [f"{frame.filename.rpartition('/exporter/')[2]}:{frame.lineno} {frame.name}" for frame in inside]


if __name__ == "__main__":
    report, marked, *arguments = sys.argv[1:]
    passes = Passes(marked)
    code = main(arguments)
    found = {"code": code, "parses": passes.parses, "writes": passes.writes()}
    Path(report).write_text(json.dumps(found), encoding="utf-8")
