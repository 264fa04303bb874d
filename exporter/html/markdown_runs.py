"""A paragraph on its way to Markdown, as flat runs: pieces of text, each with the marks it is under.

Flat runs make crossing, nested and touching tags harmless: the writer opens and closes marks where neighbours differ.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

SPACES = " \t\n\r\f"
"""What HTML calls white space; an ideographic or no-break space is text."""

_SPACES = re.compile(f"[{SPACES}]+")


class RunKind(Enum):
    """The kinds of run: text, a space or line end between texts, a line break, a code span, finished Markdown."""

    TEXT = 1
    SPACE = 2
    BREAK = 3
    CODE = 4
    RAW = 5


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """Something a run is under: one object for each element, so that two elements side by side stay two.

    Attributes:
        kind: ``strong``, ``em``, ``del``, ``link``; other tags are ``tag``.
        tag: the HTML tag that says the same.
        target: for a link, what is in its parentheses.
    """

    kind: str
    tag: str
    target: str = ""


Marks = tuple[Mark, ...]
Run = tuple[RunKind, str, Marks]


class Runs:
    """Collects the runs of one block, collapsing white space as browsers do, or with line ends kept as breaks."""

    __slots__ = ("_keep_lines", "_spaced", "runs")

    def __init__(self, *, keep_lines: bool = False) -> None:
        self._keep_lines = keep_lines
        self.runs: list[Run] = []
        self._spaced = True

    def text(self, text: str, marks: Marks) -> None:
        """Add a text node. White space with a line end in it stays a line end."""
        if self._keep_lines and "\n" in text:
            first, *lines = text.split("\n")
            self._words(first, marks)
            for line in lines:
                self.line_break()
                self._words(line, marks)
        else:
            self._words(text, marks)

    def _words(self, text: str, marks: Marks) -> None:
        words = text.strip(SPACES)
        if not words:
            self._space(text)
            return
        start = text.index(words[0])
        self._space(text[:start])
        self.runs.append((RunKind.TEXT, collapsed(words), marks))
        self._spaced = False
        if text[-1] in SPACES:
            self._space(text[len(text.rstrip(SPACES)) :])

    def line_break(self) -> None:
        """Add a ``<br>``."""
        self._trim()
        self.runs.append((RunKind.BREAK, "", ()))
        self._spaced = True

    def add(self, piece: RunKind, value: str, marks: Marks) -> None:
        """Add a code span (its text) or finished Markdown."""
        self.runs.append((piece, value, marks))
        self._spaced = False

    def take(self) -> list[Run]:
        """Return the runs so far and start anew."""
        self._trim()
        taken, self.runs, self._spaced = self.runs, [], True
        return taken

    def _space(self, spaces: str) -> None:
        if spaces and not self._spaced:
            self.runs.append((RunKind.SPACE, "\n" if "\n" in spaces else " ", ()))
            self._spaced = True

    def _trim(self) -> None:
        if self.runs and self.runs[-1][0] is RunKind.SPACE:
            self.runs.pop()


def collapsed(text: str) -> str:
    """Return text with each white space in it as one space, or as one line end where it holds one."""
    if "  " in text or "\n" in text or "\t" in text or "\r" in text or "\f" in text:
        return _SPACES.sub(_one_space, text)
    return text


def _one_space(found: re.Match[str]) -> str:
    return "\n" if "\n" in found[0] else " "


def trimmed(runs: list[Run]) -> list[Run]:
    """Return runs without the breaks at their ends."""
    start, end = 0, len(runs)
    while start < end and runs[start][0] is RunKind.BREAK:
        start += 1
    while end > start and runs[end - 1][0] is RunKind.BREAK:
        end -= 1
    return runs[start:end]


def paragraphs(runs: list[Run]) -> list[list[Run] | int]:
    """Split runs where two or more breaks follow each other, which readers saw as blank lines.

    Returns paragraphs, and between them the number of breaks (at least one) that a paragraph's end does not say. The
    one break at the very end of a block is not visible, so it is dropped.
    """
    found: list[list[Run] | int] = []
    current: list[Run] = []
    breaks = 0
    for run in runs:
        if run[0] is RunKind.BREAK:
            breaks += 1
            continue
        if breaks == 1 and current:
            current.append((RunKind.BREAK, "", ()))
        elif breaks:
            found += [current, breaks - 2] if current else [breaks]
            current = []
        breaks = 0
        current.append(run)
    found += [current, breaks - 1]
    return [part for part in found if part and part != -1]
