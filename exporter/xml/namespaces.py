"""Namespaces by their meaning: writers change the scheme, the case or the last slash of their addresses. Pure."""

from __future__ import annotations

from typing import Final

ATOM: Final = "http://www.w3.org/2005/Atom"
ATOM_03: Final = "http://purl.org/atom/ns#"
CONTENT: Final = "http://purl.org/rss/1.0/modules/content/"
DUBLIN_CORE: Final = "http://purl.org/dc/elements/1.1/"
HISTORY: Final = "http://purl.org/syndication/history/1.0"
PUBLISHING: Final = "http://www.w3.org/2007/app"
TERMS: Final = "http://purl.org/dc/terms/"
XHTML: Final = "http://www.w3.org/1999/xhtml"
_USUAL: Final = {
    "app": PUBLISHING, "atom": ATOM, "content": CONTENT, "dc": DUBLIN_CORE, "dcterms": TERMS, "fh": HISTORY,
    "xhtml": XHTML,
}  # fmt: skip


def meaning(uri: str) -> str:
    """Return a namespace in lower case without scheme, ``www.`` and last slash, so that its spellings are equal."""
    plain = uri.strip().lower().rstrip("/#")
    return plain.removeprefix("https:").removeprefix("http:").removeprefix("//").removeprefix("www.")


_KNOWN: Final = {meaning(uri): uri for uri in (*_USUAL.values(), ATOM_03)}


def canonical(uri: str) -> str:
    """Return a namespace in its official spelling if it is known here, otherwise unchanged."""
    return _KNOWN.get(meaning(uri), uri)


def usual(prefix: str) -> str:
    """Return the usual namespace of a prefix that a document does not declare; empty for an unusual prefix."""
    return _USUAL.get(prefix, "")
