"""Text as XML can hold it. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

from exporter.text import visible, without_surrogates

_LINE_END = re.compile(r"\r\n?")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_UNCLEAN = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")
"""What neither nearly all texts nor any cleaned one has."""


class Cleaned(NamedTuple):
    """A text every XML parser reads, and how many characters had to be removed or replaced."""

    text: str
    characters: int


def cleaned(text: str) -> Cleaned:
    """Remove the control characters XML 1.0 (section 2.2) cannot hold; lone surrogates become U+FFFD."""
    if _UNCLEAN.search(text) is None:
        return Cleaned(text, 0)
    without, removed = _NOT_XML.subn("", text)
    whole, replaced = without_surrogates(without)
    return Cleaned(_LINE_END.sub("\n", whole), removed + replaced)


def visible_xml(text: str) -> Cleaned:
    """Do what :func:`cleaned` does, and replace what no text file can hold."""
    shown, replaced = visible(text)
    clean = cleaned(shown)
    return Cleaned(clean.text, clean.characters + replaced)


def cdata(text: str) -> str:
    """Return a text as a CDATA section, or as two where it holds the end of one."""
    return f"<![CDATA[{cleaned(text).text.replace(']]>', ']]]]><![CDATA[>')}]]>"


def escaped(text: str) -> str:
    """Return a text as it is written between tags or in an attribute."""
    clean = cleaned(text).text
    return clean.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
