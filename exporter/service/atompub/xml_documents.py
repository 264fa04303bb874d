"""XML documents of AtomPub: their encoding, and the refusal of broken ones. Pure.

A record keeps its entry as sent, so a document whose tags are broken is refused: its entries could begin or end
elsewhere than meant. A loose ampersand or a control character, which services copy from old texts, is read. A document
type is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from exporter.message import message
from exporter.service import euc_jp
from exporter.xml.tree import MEMORY_BYTES, NotXml, XmlDocument

_ENCODINGS: Final[Mapping[str, str]] = {
    "utf-8": "utf-8", "utf8": "utf-8", "us-ascii": "ascii", "ascii": "ascii", "utf-16": "utf-16",
    "utf-16le": "utf-16-le", "utf-16be": "utf-16-be", "iso-8859-1": "latin-1", "windows-1252": "cp1252",
    "shift_jis": "cp932", "shift-jis": "cp932", "windows-31j": "cp932", "cp932": "cp932", "euc-jp": "euc_jp",
    "iso-2022-jp": "iso2022_jp",
}  # fmt: skip
_MARKS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_DECLARED: Final = re.compile(rb"""<\?xml[^>]{1,200}?encoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']""")
_CHARSET: Final = re.compile(r"""charset\s*=\s*["']?([A-Za-z0-9._-]{1,40})""", re.IGNORECASE)


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
        return data.decode(encoding, euc_jp.handlers(encoding)[0]).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise NotXml(message("byte {at:,} is not {encoding}", at=error.start, encoding=encoding)) from None


def parsed(text: str, memory: int = MEMORY_BYTES) -> XmlDocument:
    """Parse a document.

    Args:
        text: the document; the encoding that it declares is ignored.
        memory: the bytes that its elements may take.

    Raises:
        NotXml: its tags are broken, it has a document type, or it is too deep or too large.
    """
    return _whole(XmlDocument(text, memory=memory))


def parsed_part(source: str, namespaces: Mapping[str, str]) -> XmlDocument:
    """Parse an element that was cut from a document, with the namespaces that its ancestors declared.

    Raises:
        NotXml: as :func:`parsed`.
    """
    document = _whole(XmlDocument(source, namespaces=namespaces))
    if (document.root.begin, document.root.end) != (0, len(source)):
        raise NotXml(message("it is not one element"))
    return document


def _whole(document: XmlDocument) -> XmlDocument:
    document.read()
    if document.has_doctype:
        raise NotXml(message("it has a document type, which may define entities and is not read"))
    if document.broken is not None:
        raise NotXml(message("line {line}: {reason}", line=document.broken.line, reason=document.broken.reason))
    if document.is_partial:
        raise NotXml(message("it is not one element"))
    return document
