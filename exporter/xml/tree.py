"""XML of strangers as a tree of plain elements that know their place in the text. Pure.

Depth and number of elements are limited. Elements that repeat can be taken one by one, so that a long document needs
little memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Final

from exporter.message import message
from exporter.xml.namespaces import canonical, usual
from exporter.xml.reader import ANY, End, Markup, Start, Vocabulary, XmlFault, XmlReader

ELEMENT_BYTES: Final = 1200
"""Memory that one element with its attributes takes, measured without its text."""
MEMORY_BYTES: Final = 96 * 1024 * 1024
_MAX_PREFIXES: Final = 1000
_VOID: Final = frozenset("area base br col embed hr img input link meta param source track wbr".split())  # noqa: SIM905
_WORDS: Final = re.compile(r"[\s=]+")
_NAME: Final = re.compile(r"<[^\s/>]+")
_NONE: Final[Mapping[str, str]] = {}


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
        namespaces: the namespaces that its ancestors declare, by prefix; ``""`` is the default.
        begin: the offset of its start tag.
        inner: the offset behind its start tag.
        closing: the offset of its end tag.
        end: the offset behind its end tag.
        parts: its texts and elements in order.
    """

    name: str
    attributes: Mapping[str, str]
    namespaces: Mapping[str, str]
    begin: int
    inner: int
    closing: int = 0
    end: int = 0
    parts: list[str | XmlElement] = field(default_factory=list)

    def __iter__(self) -> Iterator[XmlElement]:
        return (part for part in self.parts if isinstance(part, XmlElement))

    @property
    def local(self) -> str:
        """Its name in lower case without the namespace."""
        return self.name.rpartition("}")[2].lower()

    @property
    def namespace(self) -> str:
        """Its namespace; empty without one."""
        return self.name[1:].rpartition("}")[0]

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

    def html(self) -> str:
        """Return its content as HTML; the names lose their namespaces."""
        found: list[str] = []
        self._write(found)
        return "".join(found)

    def _write(self, found: list[str]) -> None:
        for part in self.parts:  # depth is limited
            if isinstance(part, str):
                found.append(escape(part, quote=False))
                continue
            stated = (f' {name}="{escape(value)}"' for name, value in part.attributes.items() if name[0] != "{")
            found.append(f"<{part.local}{''.join(stated)}>")
            part._write(found)
            if part.local not in _VOID:
                found.append(f"</{part.local}>")


class _Scope:
    """The namespaces that are declared at a place, and the names that they make."""

    def __init__(self, declared: Mapping[str, str]) -> None:
        self.declared = declared
        self._names: dict[str, str] = {}

    def inside(self, attributes: Mapping[str, str]) -> _Scope:
        """Return the scope of an element with these attributes."""
        own = {
            name.removeprefix("xmlns").removeprefix(":"): uri
            for name, uri in attributes.items()
            if name == "xmlns" or name.startswith("xmlns:")
        }
        if not own:
            return self
        if len(self.declared) + len(own) > _MAX_PREFIXES:
            raise TooLargeXml(message("it has too many namespaces"))
        return _Scope({**self.declared, **own})

    def name(self, written: str, *, attribute: bool = False) -> str:
        """Return the full name of an element or attribute."""
        prefix, _, local = written.rpartition(":")
        if attribute and not prefix:
            return local
        found = self._names.get(written)
        if found is None:
            uri = canonical(self.declared.get(prefix, "")) or usual(prefix) or (prefix and f"{prefix}:")
            found = self._names[written] = f"{{{uri}}}{local}" if uri else local
        return found


class XmlDocument:
    """A document.

    Args:
        text: its text; the encoding that it declares is ignored.
        vocabulary: its known element names.
        namespaces: those that are declared around it, by prefix.
        memory: the bytes that its elements may take.

    Attributes:
        broken: the first fault of its tags so far.
        is_partial: whether a fault hides a part.
        cut: the element in which the text ends, if it does not end with the root.
    """

    def __init__(
        self,
        text: str,
        vocabulary: Vocabulary = ANY,
        namespaces: Mapping[str, str] = _NONE,
        memory: int = MEMORY_BYTES,
    ) -> None:
        self.text = text
        self.broken: XmlFault | None = None
        self.is_partial = False
        self.cut: XmlElement | None = None
        self._reader = XmlReader([text], vocabulary)
        self._left = memory // ELEMENT_BYTES
        self._root: XmlElement | None = None
        self._open: list[XmlElement] = []
        self._scopes = [_Scope(namespaces)]

    @property
    def root(self) -> XmlElement:
        """The root element with the children read so far.

        Raises:
            NotXml: it has no element.
        """
        if self._root is None:
            raise NotXml(message("it is no XML"))
        return self._root

    @property
    def has_doctype(self) -> bool:
        """Whether a document type was read."""
        return self._reader.has_doctype

    def read(self) -> XmlElement:
        """Read the whole document; return its root.

        Raises:
            NotXml: it has no element.
            TooLargeXml: it has too many elements.
        """
        for _ in self.each(frozenset()):
            pass
        return self.root

    def each(self, names: frozenset[str]) -> Iterator[XmlElement]:
        """Yield each element with one of these local names at its end, and remove it from the tree.

        Raises:
            TooLargeXml: it has too many elements apart from these, or one of these has.
        """
        record: XmlElement | None = None
        left = self._left
        for event in self._reader.events():
            if isinstance(event, Start):
                element = self._start(event)
                if record is None and element is not self._root and element.local in names:
                    record, left = element, self._left
            elif isinstance(event, End):
                element = self._open.pop()
                self._scopes.pop()
                element.closing, element.end = event.begin, event.end
                if event.begin == len(self.text) and self.cut is None:
                    self.cut = element
                if element is record:
                    self._open[-1].parts.pop()
                    record, self._left = None, left
                    yield element
            elif isinstance(event, XmlFault):
                self.is_partial = self.is_partial or event.lost
                if self.broken is None and (event.structure or event.lost):
                    self.broken = event
            elif not isinstance(event, Markup):
                self._open[-1].parts.append(str(event))

    def _start(self, event: Start) -> XmlElement:
        """Open an element. A document behind the first one continues its root if it has the same name."""
        self._left -= 1
        if self._left < 0:
            raise TooLargeXml(message("it has too many elements"))
        scope = self._scopes[-1].inside(event.attributes) if event.attributes else self._scopes[-1]
        attributes = {
            scope.name(name, attribute=True): value
            for name, value in event.attributes.items()
            if name != "xmlns" and not name.startswith("xmlns:")
        }
        declared = self._scopes[-1].declared
        element = XmlElement(scope.name(event.name), attributes or _NONE, declared, event.begin, event.end)
        self._scopes.append(scope)
        if self._open:
            self._open[-1].parts.append(element)
        elif self._root is None:
            self._root = element
        elif element.name == self._root.name:
            element = self._root
        else:
            self.is_partial = True
        self._open.append(element)
        return element

    def source(self, element: XmlElement) -> str:
        """Return an element's source, unchanged."""
        return self.text[element.begin : element.end]

    def standalone(self, element: XmlElement) -> str:
        """Return an element's source, with the namespaces that its ancestors declare."""
        tag = self.text[element.begin : element.inner]
        name = _NAME.match(tag)
        place = element.begin + (0 if name is None else name.end())
        own = frozenset(_WORDS.split(tag))
        around = {f"xmlns:{prefix}" if prefix else "xmlns": uri for prefix, uri in element.namespaces.items()}
        stated = "".join(f' {name}="{escape(uri)}"' for name, uri in around.items() if name not in own)
        if not stated:
            return self.source(element)
        return f"{self.text[element.begin : place]}{stated}{self.text[place : element.end]}"

    def inside(self, element: XmlElement) -> str:
        """Return the source between an element's tags, unchanged."""
        return self.text[element.inner : element.closing]
