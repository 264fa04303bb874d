"""The output of all commands, and its words for amounts. A full disk or a closed pipe ends no backup.

Standard output and standard error get our own lowest layer. All text, progress bars, help and tracebacks go through it,
so that Python's flush at the end of the process cannot fail.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import select
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final, TextIO

import click

from exporter.cli import events
from exporter.frozen import frozen
from exporter.message import PROGRAM, Message, as_message, message, message_n, said
from exporter.text import printable, printable_json, printable_lines
from exporter.translation import translated

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from exporter.errors import BlogExporterError


class OnLoss(Enum):
    """The reaction of a command if its answer cannot be written."""

    STOP = auto()
    """End: the command does nothing but answer."""
    FAIL = auto()
    """Finish the work, then fail if nothing else failed."""
    WARN = auto()
    """Only warn: the exit code is about the work alone."""


class ReaderClosed(Exception):
    """The reader of the answer closed the pipe."""


class SafeStream(io.RawIOBase):
    """The lowest layer of a stream: after a failed write it drops all data.

    Attributes:
        file: the destination.
        on_loss: the reaction to the first failure; only ``STOP`` raises it, once.
        trouble: that failure, ``None`` before one.
    """

    def __init__(self, file: io.FileIO, on_loss: OnLoss) -> None:
        super().__init__()
        self.file = file
        self.on_loss = on_loss
        self.trouble: OSError | None = None

    def writable(self) -> bool:
        """Return ``True``."""
        return True

    def isatty(self) -> bool:
        """Return whether it is a terminal."""
        return self.file.isatty()

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self.file.fileno()

    def write(self, data: ReadableBuffer, /) -> int:
        """Write or drop bytes, and return their number.

        Raises:
            ReaderClosed, BlogExporterError: the first failure, if it ends the command.
        """
        while self.trouble is None:
            try:
                written = self.file.write(data)
            except OSError as error:
                self.trouble = error
                if self.on_loss is OnLoss.STOP:
                    raise self.report() or ReaderClosed from error
                break
            if written is not None:
                return written
            # Another process made the shared pipe or terminal non-blocking.
            select.select([], [self.file], [])
        return memoryview(data).nbytes

    def report(self) -> BlogExporterError | None:
        """Return the error of a failed write; ``None`` if the reader closed the pipe."""
        if self.trouble is None or self.trouble.errno == errno.EPIPE:
            return None
        from exporter.archive.atomic import translate

        return translate(self.trouble, "standard output")


@contextlib.contextmanager
def safe_streams() -> Iterator[SafeStream]:
    """Put safe streams under both outputs, and yield that of standard output.

    A stream that was closed before the program started discards its data. A stream that is not a file stays unchanged.
    """
    before = sys.stdout, sys.stderr
    with io.FileIO(os.devnull, "w") as nowhere:
        stdout, stderr = SafeStream(nowhere, OnLoss.STOP), SafeStream(nowhere, OnLoss.WARN)
        sys.stdout, sys.stderr = _over(stdout, sys.stdout), _over(stderr, sys.stderr)
        try:
            yield stdout
        finally:
            stdout.on_loss = OnLoss.WARN
            for stream, old in zip((sys.stdout, sys.stderr), before, strict=True):
                if stream is not old:
                    stream.flush()
            sys.stdout, sys.stderr = before


def open_closed_streams() -> None:
    """Open ``/dev/null`` for closed standard streams, so that no file of the archive gets their descriptors."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))


def _over(safe: SafeStream, stream: TextIO | None) -> TextIO:
    """Return a text stream over the safe one, otherwise like the given one."""
    encoding, at_once = "utf-8", False
    if isinstance(stream, io.TextIOWrapper):
        file = getattr(stream.buffer, "raw", stream.buffer)
        if not isinstance(file, io.FileIO):
            return stream
        safe.file, encoding, at_once = file, stream.encoding, stream.line_buffering
    elif stream is not None:
        return stream
    # A terminal that cannot show Japanese must not end a backup.
    return io.TextIOWrapper(io.BufferedWriter(safe), encoding, "backslashreplace", line_buffering=at_once)


@frozen
class Output:
    """The printer of a command. Its methods take a message, or a literal template and the values of its fields.

    Attributes:
        as_json: print documents for programs, not the answers for people.
        verbosity: -1 (quiet), 0, 1 or 2.
        name: the first member of each document, for one blog among several.
    """

    as_json: bool = False
    verbosity: int = 0
    name: str | None = None

    @property
    def attended(self) -> bool:
        """Whether a person can be asked: at a terminal, and not with ``--json`` or ``-q``."""
        return not self.as_json and self.verbosity >= 0 and sys.stdin.isatty() and sys.stderr.isatty()

    def say(self, text: str = "", /, *, level: int = 0, **values: Any) -> None:
        """Print a line for people on standard error."""
        if self.verbosity >= level:
            tell("said", printable_lines(translated(as_message(text, values))))

    def warn(self, text: str, /, **values: Any) -> None:
        """Print a warning on standard error, even if quiet."""
        if events.wanted():
            tell("warning", printable_lines(translated(as_message(text, values))))
            return
        label = translated(message("warning: {text}", text=as_message(text, values)))
        click.echo(f"{PROGRAM}: {printable_lines(label)}", err=True)

    def notice(self, text: str, /, **values: Any) -> None:
        """Print good news on standard error, even if quiet."""
        shown = printable_lines(translated(as_message(text, values)))
        tell("notice", shown if events.wanted() else f"{PROGRAM}: {shown}")

    def answer(self, text: str, /, *, colour: bool = False, **values: Any) -> None:
        """Print the answer of a query for people on standard output; under ``--json`` only as an event, if wanted."""
        if not self.as_json:
            click.echo(printable_lines(translated(as_message(text, values)), colours=colour), color=colour)
        elif events.wanted():
            events.tell("answer", text=printable_lines(translated(as_message(text, values))))

    def done(self, text: str, /, **values: Any) -> None:
        """Print a change on standard output; nothing if quiet or with ``--json``."""
        if self.verbosity >= 0:
            self.answer(text, **values)

    def document(self, value: dict[str, Any]) -> None:
        """Print the answer for programs, a line with one JSON object; nothing without ``--json``."""
        if self.as_json:
            from exporter import lossless_json

            named = value if self.name is None else {"name": self.name, **value}
            self.raw(_harmless(lossless_json.dumps(named)) + b"\n", json=True)

    def raw(self, data: bytes, *, json: bool = False) -> None:
        """Write UTF-8 text to standard output; control characters for a terminal are escaped.

        Args:
            data: the text.
            json: whether it is JSON, which stays valid and equal.
        """
        if sys.stdout.isatty():
            text = data.decode("utf-8", "replace").removeprefix("\ufeff")
            data = (printable_json(text) if json else printable_lines(text)).encode("utf-8")
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def tell(event: str, text: str) -> None:
    """Print lines on standard error, for people or as an event."""
    if events.wanted():
        events.tell(event, text=text)
    else:
        click.echo(text, err=True)


def _harmless(text: bytes) -> bytes:
    """Escape the characters of a JSON text that control a terminal."""
    if text.isascii() and b"\x7f" not in text:
        return text
    return printable_json(text.decode("utf-8")).encode("utf-8")


def report(error: BlogExporterError, *, as_json: bool) -> None:
    """Print the error that ended the program, unless it was printed before; with ``--json`` also as an object."""
    shown = printable(translated(said(error)), 2000)
    if events.wanted():
        events.tell("error", type=type(error).__name__, text=shown, exit_code=error.exit_code)
    elif not error.reported:
        click.echo(f"{PROGRAM}: {translated(message('error: {text}', text=shown))}", err=True)
    if as_json:
        english = printable(str(error), 2000)
        document = {"error": {"type": type(error).__name__, "message": english, "exit_code": error.exit_code}}
        Output(as_json=True).document(document)


_COUNTED: Final[dict[str, Callable[[int], Message]]] = {
    "entry": lambda n: message_n("{n:,} entry", "{n:,} entries", n),
    "comment": lambda n: message_n("{n:,} comment", "{n:,} comments", n),
    "file": lambda n: message_n("{n:,} file", "{n:,} files", n),
    "unused file": lambda n: message_n("{n:,} unused file", "{n:,} unused files", n),
    "picture or file": lambda n: message_n("{n:,} picture or file", "{n:,} pictures and files", n),
    "address of a picture or file": lambda n: message_n(
        "{n:,} address of a picture or file", "{n:,} addresses of pictures and files", n
    ),
    "record": lambda n: message_n("{n:,} record", "{n:,} records", n),
    "capture": lambda n: message_n("{n:,} capture", "{n:,} captures", n),
    "version": lambda n: message_n("{n:,} version", "{n:,} versions", n),
    "line": lambda n: message_n("{n:,} line", "{n:,} lines", n),
    "finding": lambda n: message_n("{n:,} finding", "{n:,} findings", n),
    "problem": lambda n: message_n("{n:,} problem", "{n:,} problems", n),
    "hit": lambda n: message_n("{n:,} hit", "{n:,} hits", n),
    "post": lambda n: message_n("{n:,} post", "{n:,} posts", n),
    "category": lambda n: message_n("{n:,} category", "{n:,} categories", n),
    "tag": lambda n: message_n("{n:,} tag", "{n:,} tags", n),
    "picture": lambda n: message_n("{n:,} picture", "{n:,} pictures", n),
    "list item": lambda n: message_n("{n:,} list item", "{n:,} list items", n),
    "user": lambda n: message_n("{n:,} user", "{n:,} users", n),
    "upload": lambda n: message_n("{n:,} upload", "{n:,} uploads", n),
    "part": lambda n: message_n("{n:,} part", "{n:,} parts", n),
    "other page": lambda n: message_n("{n:,} other page", "{n:,} other pages", n),
    "captured record": lambda n: message_n("{n:,} captured record", "{n:,} captured records", n),
    "request": lambda n: message_n("{n:,} request", "{n:,} requests", n),
    "exchange": lambda n: message_n("{n:,} exchange", "{n:,} exchanges", n),
    "retry": lambda n: message_n("{n:,} retry", "{n:,} retries", n),
}


def counted(number: int, noun: str) -> Message:
    """Return a number with its noun: ``1 entry``, ``2 entries``."""
    return _COUNTED[noun](number)


def counted_records(records: Mapping[str, int]) -> Message:
    """Return the numbers of entries and comments, in words."""
    entries, comments = (records.get(name, 0) for name in ("entries", "comments"))
    both = counted(entries, "entry"), counted(comments, "comment")
    if entries and comments:
        return message("{entries} and {comments}", entries=both[0], comments=both[1])
    return both[0] if entries else both[1]


def estimated(entries: int, comments: int, files: int) -> Message:
    """Return approximate numbers of records, in words."""
    return message(
        "about {entries}, {comments}, {files}",
        entries=counted(entries, "entry"),
        comments=counted(comments, "comment"),
        files=counted(files, "file"),
    )


def sentence(part: str) -> Message:
    """Return a clause as a sentence, in the current language."""
    said = translated(part)
    return message("{sentence}.", sentence=said[0].upper() + said[1:])


def shown(text: str, limit: int | None = None) -> str:
    """Escape control characters, as :func:`printable` does; a harmless message stays a message."""
    harmless = printable(text, limit)
    return text if harmless == text else harmless


_MINUTE: Final = timedelta(minutes=1)
_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)


_MAX_BYTES: Final = 10**24
"""More is a stranger's nonsense, and more digits than a float can have."""


def size_text(count: float) -> str:
    """Return a number of bytes for people: ``3.4 MB``."""
    count = min(count, _MAX_BYTES)
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def time_text(seconds: float) -> Message:
    """Return a span of time for people: ``1 h 03 min``."""
    whole = int(seconds)
    if whole < 60:
        return message("{seconds} s", seconds=f"{seconds:.1f}" if seconds < 10 else str(whole))
    if whole < 3600:
        return message("{minutes} min {seconds:02d} s", minutes=whole // 60, seconds=whole % 60)
    return message("{hours} h {minutes:02d} min", hours=whole // 3600, minutes=whole % 3600 // 60)


def ago_text(since: timedelta) -> Message:
    """Return an age in one unit: ``6 h ago``, ``3 days ago``."""
    if since < _MINUTE:
        return message("just now")
    if since < _HOUR:
        return message("{minutes} min ago", minutes=since // _MINUTE)
    if since < 2 * _DAY:
        return message("{hours} h ago", hours=since // _HOUR)
    return message_n("{n:,} day ago", "{n:,} days ago", since // _DAY)
