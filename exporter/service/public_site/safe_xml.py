"""Read untrusted XML of feeds and sitemaps: no entity is expanded, nothing is loaded, and broken XML is read on. Pure.

Feeds of old services often have an ampersand or a control character too many. Libxml2's recovery reads them as browsers
do, and the reader learns that it was needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from lxml import etree

from exporter.message import message

XML_BYTES: Final = 64 * 1024 * 1024
"""The largest document that is read; a sitemap may have 50 MB (sitemaps.org)."""
MAX_DEPTH: Final = 200
_HEAD_BYTES: Final = 65_536
_ENTITY: Final = re.compile(r"<!ENTITY", re.IGNORECASE)
_DECLARATION: Final = re.compile(r"\A\s*<\?xml[^>]*\?>")
_FORBIDDEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


class UnsafeXml(ValueError):
    """The document declares entities, is too large, or is no XML."""


class XmlDocument(NamedTuple):
    """A document.

    Attributes:
        root: its root element.
        mended: whether the XML was broken, so that a part may be missing.
    """

    root: etree._Element
    mended: bool


def read_xml(text: str) -> XmlDocument:
    """Return the document in a text.

    Raises:
        UnsafeXml: the text is not safe to read, or is no XML.
    """
    if len(text) > XML_BYTES:
        raise UnsafeXml(message("it has more than {most:,} characters", most=XML_BYTES))
    if _ENTITY.search(text, 0, _HEAD_BYTES) or ("<!DOCTYPE" in text and _ENTITY.search(text)):
        raise UnsafeXml(message("it declares entities, which are refused"))
    source = _DECLARATION.sub("", _FORBIDDEN.sub("\ufffd", text).lstrip("\ufeff"), count=1).strip()
    if not source.startswith("<"):
        raise UnsafeXml(message("it is no XML"))
    data = source.encode()  # lxml refuses a str with a second declaration, or a style sheet, that names an encoding
    try:
        return XmlDocument(_safe(etree.fromstring(data, _parser())), "\ufffd" in source and "\ufffd" not in text)
    except etree.XMLSyntaxError:
        pass
    try:
        root = etree.fromstring(data, _parser(recover=True))
    except etree.XMLSyntaxError:
        root = None
    if root is None:
        raise UnsafeXml(message("it is no XML"))
    return XmlDocument(_safe(root), mended=True)


def _parser(*, recover: bool = False) -> etree.XMLParser:
    return etree.XMLParser(
        encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=recover
    )


def _safe(root: etree._Element) -> etree._Element:
    if not isinstance(root.tag, str):
        raise UnsafeXml(message("it is no XML"))
    return root


def local(element: etree._Element) -> str:
    """Return an element's name in lower case without its namespace; empty for comments and instructions."""
    tag = element.tag
    return tag.rpartition("}")[2].lower() if isinstance(tag, str) else ""


def namespace(element: etree._Element) -> str:
    """Return an element's namespace; empty if it has none."""
    tag = element.tag
    return tag[1:].partition("}")[0] if isinstance(tag, str) and tag.startswith("{") else ""


def children(element: etree._Element, *names: str) -> Iterator[etree._Element]:
    """Yield the child elements with one of these names in any namespace."""
    return (child for child in element if local(child) in names)


def text_of(element: etree._Element | None) -> str:
    """Return the text in an element, with that of its children."""
    return "" if element is None else "".join(map(str, element.itertext(with_tail=False)))
