"""What the program says: answers on standard output, everything else on standard error, nothing of it raw."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import click

from exporter import codec
from exporter.errors import BlogExporterError
from exporter.printable import printable, printable_json, printable_lines

PROGRAM = "blog-exporter"


@dataclass(frozen=True, slots=True)
class Output:
    """How one command talks: ``verbosity`` is -1 (quiet), 0, 1 or 2."""

    as_json: bool = False
    verbosity: int = 0

    def say(self, text: str = "", *, level: int = 0) -> None:
        """Tell people something on standard error."""
        if self.verbosity >= level:
            click.echo(printable_lines(text), err=True)

    def warn(self, text: str) -> None:
        """Tell people of something unwise, also when quiet."""
        click.echo(f"{PROGRAM}: warning: {printable_lines(text)}", err=True)

    def answer(self, text: str, *, colour: bool = False) -> None:
        """Give people the answer of a query on standard output; nothing under ``--json``."""
        if not self.as_json:
            click.echo(printable_lines(text, colours=colour), color=colour)

    def document(self, value: dict[str, Any]) -> None:
        """Give programs the answer: one JSON object on a line of standard output; nothing without ``--json``."""
        if self.as_json:
            self.raw(_harmless(codec.dumps(value)) + b"\n", json=True)

    def lines(self, name: str, documents: bytes) -> None:
        """Give programs lines of JSON as one document: an object with an array of that name; needs ``--json``, too."""
        if self.as_json:
            array = b",".join(documents.splitlines())
            self.raw(b"{%b:[%b]}\n" % (codec.text(name), _harmless(array)), json=True)

    def raw(self, data: bytes, *, json: bool = False) -> None:
        """Write a text in UTF-8 to standard output: into a file or a pipe as it is, on a terminal made harmless.

        Args:
            data: the text.
            json: whether it is JSON, which then stays valid and equal.
        """
        if sys.stdout.isatty():
            text = data.decode("utf-8", "replace").removeprefix("\ufeff")
            data = (printable_json(text) if json else printable_lines(text)).encode("utf-8")
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def _harmless(text: bytes) -> bytes:
    """Escape in a JSON text what a terminal would act on."""
    if text.isascii() and b"\x7f" not in text:
        return text
    return printable_json(text.decode("utf-8")).encode("utf-8")


def report(error: BlogExporterError, *, as_json: bool) -> None:
    """Report what ended the program: one line on standard error, and an object when JSON was asked for."""
    message = printable(str(error), 2000)
    click.echo(f"{PROGRAM}: error: {message}", err=True)
    if as_json:
        document = {"error": {"type": type(error).__name__, "message": message, "exit_code": error.exit_code}}
        Output(as_json=True).document(document)


def counted(number: int, noun: str) -> str:
    """Write a number with its noun: ``1 entry``, ``2 entries``."""
    if number == 1:
        return f"{number:,} {noun}"
    return f"{number:,} {noun[:-1]}ies" if noun.endswith("y") else f"{number:,} {noun}s"


def size_text(count: float) -> str:
    """Write a number of bytes as people do: ``3.4 MB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def time_text(seconds: float) -> str:
    """Write a span of time as people do: ``1 h 03 min``."""
    whole = int(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
