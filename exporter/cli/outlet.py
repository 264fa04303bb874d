"""Where all that is printed leaves the program, so that a full disk, a closed pipe or a lost terminal ends no backup.

Standard output and standard error get a lowest layer of our own. Text, bytes, progress bars, help and tracebacks go
through it alike, whoever prints them, and Python's own flush at the end of the process finds nothing to complain about.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import select
import sys
from collections.abc import Iterator
from enum import Enum, auto
from typing import TYPE_CHECKING, TextIO

from exporter.archive.atomic import translate
from exporter.errors import BlogExporterError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class Loss(Enum):
    """What it means to a command that its answer cannot be written."""

    ENDS = auto()
    """The answer is all there is: there is no use in going on."""
    FAILS = auto()
    """The command does its work to the end, and fails if nothing else was wrong."""
    IS_SAID = auto()
    """The command's work counts alone: the loss is worth a warning."""


class ReaderGone(Exception):
    """Whoever read the answer has seen enough."""


class Outlet(io.RawIOBase):
    """The lowest layer of a stream: what cannot be written is dropped, as is all that follows.

    Attributes:
        file: where it leads.
        loss: what a first failure means; only with ``ENDS`` is it raised, and once.
        trouble: that failure, ``None`` while all is well.
    """

    def __init__(self, file: io.FileIO, loss: Loss) -> None:
        super().__init__()
        self.file = file
        self.loss = loss
        self.trouble: OSError | None = None

    def writable(self) -> bool:
        """Tell that it can be written to."""
        return True

    def isatty(self) -> bool:
        """Tell whether it is a terminal."""
        return self.file.isatty()

    def fileno(self) -> int:
        """Return the number of the file."""
        return self.file.fileno()

    def write(self, data: ReadableBuffer, /) -> int:
        """Write some of the bytes, or drop all of them, and return how many are dealt with.

        Raises:
            ReaderGone, BlogExporterError: the first failure, where that ends the command.
        """
        while self.trouble is None:
            try:
                written = self.file.write(data)
            except OSError as error:
                self.trouble = error
                if self.loss is Loss.ENDS:
                    raise self.report() or ReaderGone from error
                break
            if written is not None:
                return written
            # Whoever shares the pipe or terminal with us set it not to block.
            select.select([], [self.file], [])
        return memoryview(data).nbytes

    def report(self) -> BlogExporterError | None:
        """Return the error to report for what could not be written; none where nobody wants to read it."""
        if self.trouble is None or self.trouble.errno == errno.EPIPE:
            return None
        return translate(self.trouble, "standard output")


@contextlib.contextmanager
def guarded() -> Iterator[Outlet]:
    """Put outlets under both streams while the block lasts, and yield that of standard output.

    A stream that was closed before the program started leads nowhere; one that is no file is left alone.
    """
    before = sys.stdout, sys.stderr
    with io.FileIO(os.devnull, "w") as nowhere:
        answers, talk = Outlet(nowhere, Loss.ENDS), Outlet(nowhere, Loss.IS_SAID)
        sys.stdout, sys.stderr = _over(answers, sys.stdout), _over(talk, sys.stderr)
        try:
            yield answers
        finally:
            answers.loss = Loss.IS_SAID
            for stream, old in zip((sys.stdout, sys.stderr), before, strict=True):
                if stream is not old:
                    stream.flush()
            sys.stdout, sys.stderr = before


def fill_closed() -> None:
    """Lead the standard streams that are closed nowhere, lest a file of the archive gets the number of one."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))


def _over(outlet: Outlet, stream: TextIO | None) -> TextIO:
    """Return a stream that goes through the outlet and otherwise is like the one given."""
    encoding, at_once = "utf-8", False
    if isinstance(stream, io.TextIOWrapper):
        file = getattr(stream.buffer, "raw", stream.buffer)
        if not isinstance(file, io.FileIO):
            return stream
        outlet.file, encoding, at_once = file, stream.encoding, stream.line_buffering
    elif stream is not None:
        return stream
    # A terminal that cannot show Japanese must not end a backup.
    return io.TextIOWrapper(io.BufferedWriter(outlet), encoding, "backslashreplace", line_buffering=at_once)
