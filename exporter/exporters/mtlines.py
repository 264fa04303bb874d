"""The lines of a body as Movable Type's import format can hold them: none is taken for a key, none is too long. Pure.

Old readers trim every line, drop empty ones, and read 8,191 bytes at a time; they look for keys in bodies too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from exporter.exporters.xmltext import cleaned

LINE_BYTES: Final = 7_000
MOST_BYTES: Final = 8_190
_TRIMMED: Final = " \t\n\r\0\x0b\u3000\xa0\ufeff"
_RISKY = re.compile(r"-{5}|[A-Z][A-Z ]{0,40}:")
_ODD_ENDS = re.compile("[\x85\u2028\u2029]")
_SPAN = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|\Z))|<(script|style)(?=[\s/>]).*?(?:</\1\s*>|\Z)|</?[a-zA-Z][^<>]*>",
    re.DOTALL | re.IGNORECASE,
)
_PRE = re.compile(r"(<pre\b[^<>]*>)(.*?)(</pre\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_BLOCK_END = re.compile(
    r"<br\b|</?(?:p|div|table|t[rdh]|tbody|thead|ul|ol|li|dl|d[td]|h[1-6]|hr|blockquote|pre|center)\b", re.IGNORECASE
)
_REFERENCE = re.compile(r"&[#0-9A-Za-z]{1,32};?$")
_HIDDEN_BREAK: Final = "<!--\n-->"


class Defused(NamedTuple):
    """A body's text; how many characters were removed, lines defused and broken, and how many are too long still."""

    text: str
    removed: int
    defused: int
    broken: int
    long: int


def defused(html: str) -> Defused:
    """Return HTML that shows the same and that no importer cuts, trims or takes for its own."""
    clean = cleaned(html)
    text = _ODD_ENDS.sub("\n", clean.text)
    text = _PRE.sub(lambda found: f"{found[1]}{_kept_lines(found[2])}{found[3]}", text)
    lines: list[str] = []
    guarded = broken = 0
    for line in text.split("\n"):
        parts = list(_short(line)) if _size(line) > LINE_BYTES else [line]
        broken += len(parts) - 1
        for part in "".join(parts).split("\n") if len(parts) > 1 else parts:
            safe = _guarded(part)
            guarded += safe != part
            lines.append(safe)
    too_long = sum(_size(line) > MOST_BYTES for line in lines)
    return Defused("\n".join(lines).rstrip("\n"), clean.characters, guarded, broken, too_long)


def _guarded(line: str) -> str:
    start = len(line) - len(line.lstrip(_TRIMMED))
    if not _RISKY.match(line, start):
        return line
    return f"{line[:start]}&#{ord(line[start])};{line[start + 1 :]}"


def _kept_lines(inside: str) -> str:
    """Return preformatted text whose blank lines and leading spaces no reader drops."""
    lines = inside.split("\n")
    kept = [lines[0]]
    for line in lines[1:]:
        if not line.strip(_TRIMMED) and len(kept) < len(lines) - 1:
            kept[-1] += "&#10;"
            continue
        head = line[:1]
        kept.append(f"&#{ord(head)};{line[1:]}" if head and head in _TRIMMED else line)
    return "\n".join(kept)


def _size(line: str) -> int:
    return len(line.encode())


def _short(line: str) -> Iterator[str]:
    """Cut a line at tags: where a block ends, since nothing shows there, else inside a comment made for it."""
    part = ""
    size = 0
    for piece in _pieces(line):
        length = _size(piece)
        if part and size + length > LINE_BYTES:
            yield part + ("\n" if _ends_block(part) else _HIDDEN_BREAK)
            part, size = "", 0
        part += piece
        size += length
    yield part


def _ends_block(part: str) -> bool:
    start = part.rfind("<")
    return part.endswith(">") and _BLOCK_END.match(part, start) is not None


def _pieces(line: str) -> Iterator[str]:
    """Yield tags whole and texts in pieces of at most 1,000 characters that end between character references."""
    at = 0
    for span in _SPAN.finditer(line):
        yield from _cut(line[at : span.start()])
        yield span[0]
        at = span.end()
    yield from _cut(line[at:])


def _cut(text: str) -> Iterator[str]:
    at = 0
    while len(text) - at > 1_000:
        end = at + 1_000
        reference = _REFERENCE.search(text, end - 40, end)
        end = end if reference is None else reference.start()
        yield text[at:end]
        at = end
    if at < len(text):
        yield text[at:]
