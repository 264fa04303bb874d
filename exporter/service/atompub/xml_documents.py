"""Untrusted XML as a tree of plain elements that know their place in the text. Pure.

The parser is expat. A document type is refused, so there are no entities but the five of XML, no defaults and nothing
to load. Depth and number of elements are limited.

Services copy old texts into their XML, also control characters that XML forbids. The parser reads spaces in their
place. The source of an element still has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Final
from xml.parsers import expat

from exporter.message import message

MAX_DEPTH: Final = 200
ELEMENT_BYTES: Final = 1200
"""Memory that one element with its attributes takes, measured without its text."""
MAX_TAG_BYTES: Final = 4 * 1024 * 1024
"""A tag is read whole, and its attributes take up to thirty times as much memory."""
_CHUNK_BYTES: Final = 64 * 1024
_SEPARATOR: Final = "\n"
"""Between a namespace and a name; neither may have a line end."""
_ENCODINGS: Final[Mapping[str, str]] = {
    "utf-8": "utf-8", "utf8": "utf-8", "us-ascii": "ascii", "ascii": "ascii", "utf-16": "utf-16",
    "utf-16le": "utf-16-le", "utf-16be": "utf-16-be", "iso-8859-1": "latin-1", "windows-1252": "cp1252",
    "shift_jis": "cp932", "shift-jis": "cp932", "windows-31j": "cp932", "cp932": "cp932", "euc-jp": "euc_jp",
    "iso-2022-jp": "iso2022_jp",
}  # fmt: skip
_MARKS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_DECLARED: Final = re.compile(rb"""<\?xml[^>]{1,200}?encoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']""")
_CHARSET: Final = re.compile(r"""charset\s*=\s*["']?([A-Za-z0-9._-]{1,40})""", re.IGNORECASE)
_CONTROLS: Final = bytes(code if code >= 0x20 or code in b"\t\n\r" else 0x20 for code in range(256))
_NO_CHARACTERS: Final = re.compile(rb"\xef\xbf[\xbe\xbf]")
_REFERENCE: Final = re.compile(rb"&#(?:x([0-9A-Fa-f]{1,8})|([0-9]{1,8}));")
_TAG: Final = re.compile(rb"""<[^"'>]*(?:"[^"]*"[^"'>]*|'[^']*'[^"'>]*)*>""")
_PREFIX: Final = re.compile(r"[A-Za-z_][A-Za-z0-9._-]{0,100}")


class NotXml(ValueError):
    """The text is not XML, or not XML that this program reads; its message says why."""


class TooLargeXml(NotXml):
    """The document would take too much memory."""


@dataclass(slots=True)
class XmlElement:
    """An element.

    Attributes:
        name: ``{namespace}name``, or the bare name without a namespace.
        attributes: by such names.
        begin: its first byte in the document's UTF-8.
        end: the byte after its last.
        parts: its texts and elements in order.
        namespaces: the namespaces that its ancestors declare, by prefix; ``""`` is the default.
    """

    name: str
    attributes: Mapping[str, str]
    begin: int
    end: int = 0
    parts: list[str | XmlElement] = field(default_factory=list)
    namespaces: Mapping[str, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[XmlElement]:
        return (part for part in self.parts if isinstance(part, XmlElement))

    def all(self, name: str) -> Iterator[XmlElement]:
        """Yield the child elements of this name."""
        return (child for child in self if child.name == name)

    def first(self, *path: str) -> XmlElement | None:
        """Return the first element below these names, one inside the other."""
        found: XmlElement | None = self
        for name in path:
            found = None if found is None else next(found.all(name), None)
        return found

    @property
    def text(self) -> str:
        """Its text and that of all elements in it."""
        found: list[str] = []
        waiting: list[str | XmlElement] = [self]
        while waiting:
            part = waiting.pop()
            if isinstance(part, str):
                found.append(part)
            else:
                waiting += reversed(part.parts)
        return "".join(found)

    def text_of(self, *path: str) -> str:
        """Return the text in the first element below these names, without outer spaces; empty without one."""
        found = self.first(*path)
        return "" if found is None else found.text.strip()


@dataclass(frozen=True, slots=True)
class Document:
    """A document: its root element and its UTF-8."""

    root: XmlElement
    data: bytes

    def source(self, element: XmlElement) -> str:
        """Return an element's source, unchanged."""
        return self.data[element.begin : element.end].decode("utf-8")

    def inside(self, element: XmlElement) -> str:
        """Return the source between an element's tags, unchanged."""
        source = self.data[element.begin : element.end]
        opening = _TAG.match(source)
        if opening is None or opening.end() == len(source):
            return ""
        return source[opening.end() : source.rindex(b"</")].decode("utf-8")


def decoded(data: bytes, content_type: str = "") -> str:
    """Decode a document by its byte order mark, its media type or its declaration (RFC 7303, section 3).

    Raises:
        NotXml: the encoding is unknown, or the bytes do not fit it.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _decoded(data[len(mark) :], encoding)
    charset, declared = _CHARSET.search(content_type), _DECLARED.match(data.lstrip()[:300])
    name = charset[1] if charset is not None else declared[1].decode("ascii") if declared is not None else "utf-8"
    if name.lower() not in _ENCODINGS:
        raise NotXml(message("its encoding {name} is not known", name=name))
    return _decoded(data, _ENCODINGS[name.lower()])


def _decoded(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise NotXml(message("byte {at:,} is not {encoding}", at=error.start, encoding=encoding)) from None


def parsed(text: str, memory: int = 96 * 1024 * 1024) -> Document:
    """Parse a document.

    Args:
        text: the document; the encoding that it declares is ignored.
        memory: the bytes that its elements may take.

    Raises:
        NotXml: it is not well formed, has a document type, or is too deep or too large.
    """
    try:
        data = text.lstrip().encode("utf-8")
    except UnicodeEncodeError:
        raise NotXml(message("it has half of a character")) from None
    builder = _Builder(memory // ELEMENT_BYTES, data)
    allowed = _without_forbidden(data)
    try:
        for begin in range(0, len(allowed), _CHUNK_BYTES):
            builder.parser.Parse(allowed[begin : begin + _CHUNK_BYTES], False)
            if begin - builder.parser.CurrentByteIndex > MAX_TAG_BYTES:
                raise TooLargeXml(message("it has a tag of more than {bytes:,} bytes", bytes=MAX_TAG_BYTES))
        builder.parser.Parse(b"", True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code) or str(error)
        raise NotXml(message("line {line}: {reason}", line=error.lineno, reason=reason)) from None
    if builder.root is None:
        raise NotXml(message("it is empty"))
    return Document(builder.root, data)


def _without_forbidden(data: bytes) -> bytes:
    """Return a document of the same length without the characters that XML 1.0 forbids (section 2.2)."""
    plain = _NO_CHARACTERS.sub(b"\xef\xbf\xbd", data.translate(_CONTROLS))
    return _REFERENCE.sub(lambda found: found[0] if _is_allowed(found) else b" " * len(found[0]), plain)


def _is_allowed(found: re.Match[bytes]) -> bool:
    code = int(found[1], 16) if found[1] is not None else int(found[2])
    return code in b"\t\n\r" if code < 0x20 else code < 0xD800 or 0xE000 <= code < 0xFFFE or 0x10000 <= code < 0x110000


def parsed_part(source: str, namespaces: Mapping[str, str]) -> Document:
    """Parse an element that was cut from a document, with the namespaces that its ancestors declared.

    Raises:
        NotXml: as :func:`parsed`.
    """
    known = {prefix: uri for prefix, uri in namespaces.items() if not prefix or _PREFIX.fullmatch(prefix)}
    declared = "".join(f' xmlns{prefix and ":"}{prefix}="{escape(uri)}"' for prefix, uri in known.items())
    document = parsed(f"<part{declared}>{source}</part>")
    parts = document.root.parts
    if len(parts) != 1 or isinstance(parts[0], str) or parts[0].end != len(document.data) - len("</part>"):
        raise NotXml(message("it is not one element"))
    return Document(parts[0], document.data)


class _Builder:
    """Builds the tree from the parser's events."""

    def __init__(self, most: int, data: bytes) -> None:
        self.root: XmlElement | None = None
        self._data = data
        self._left = most
        self._open: list[XmlElement] = []
        self._scopes: list[Mapping[str, str]] = [{}]
        self._declared: dict[str, str] = {}
        self.parser = parser = expat.ParserCreate("utf-8", _SEPARATOR)
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._refuse
        parser.StartNamespaceDeclHandler = self._declare
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters

    def _refuse(self, *_: object) -> None:
        raise NotXml(message("it has a document type, which may define entities and is not read"))

    def _declare(self, prefix: str | None, uri: str | None) -> None:
        self._declared[prefix or ""] = uri or ""

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._left -= 1
        if self._left < 0:
            raise TooLargeXml(message("it has too many elements"))
        if len(self._open) >= MAX_DEPTH:
            raise NotXml(message("its elements are nested deeper than {depth}", depth=MAX_DEPTH))
        scope = self._scopes[-1]
        named = {_name(key): value for key, value in attributes.items()}
        element = XmlElement(_name(name), named, self.parser.CurrentByteIndex, namespaces=scope)
        self._scopes.append({**scope, **self._declared} if self._declared else scope)
        self._declared = {}
        if self._open:
            self._open[-1].parts.append(element)
        elif self.root is None:
            self.root = element
        self._open.append(element)

    def _end(self, _: str) -> None:
        element = self._open.pop()
        self._scopes.pop()
        at = self.parser.CurrentByteIndex
        if self._data.endswith(b"/>", element.begin, at):
            opening = _TAG.match(self._data, element.begin)
            if opening is not None and opening.end() == at:  # expat is behind an empty element, before any other end
                element.end = at
                return
        element.end = self._data.index(b">", at) + 1

    def _characters(self, text: str) -> None:
        self._open[-1].parts.append(text)


def _name(name: str) -> str:
    space, separator, local = name.rpartition(_SEPARATOR)
    return f"{{{space}}}{local}" if separator else local
