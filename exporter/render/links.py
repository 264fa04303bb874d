"""Which of strangers' addresses may become links."""

from __future__ import annotations

import re

LINK_SCHEMES = frozenset({"http", "https", "mailto", "ftp", "tel"})
WEB_SCHEMES = frozenset({"http", "https"})

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.\-]*):")
_IGNORED = re.compile(r"[\t\n\r]")
_LEADING = "".join(map(chr, range(0x21)))
_DATA_IMAGE = re.compile(r"data:image/(?:png|gif|jpe?g|webp|bmp|avif|x-icon)[;,]", re.IGNORECASE)
_UNSAFE = re.compile(r"[\x00-\x20\x7f-\x9f\ud800-\udfff<>\"\\^`{|}]")
_PROTOCOL_RELATIVE = re.compile(r"[/\\]{2}")


def safe_url(url: str, schemes: frozenset[str] = LINK_SCHEMES) -> str | None:
    """Return the address as a link may hold it, or ``None`` when following it could run or embed something.

    Addresses are read as browsers read them (the URL Standard): leading spaces and controls go, and so do tabs and line
    ends inside. Relative addresses are safe. What cannot stand in a link, in HTML or in Markdown is percent-encoded.
    """
    url = _IGNORED.sub("", url.strip(_LEADING))
    if not url:
        return None
    scheme = _SCHEME.match(url)
    if scheme is not None and scheme[1].lower() not in schemes:
        return None
    if scheme is None and ":" in re.split(r"[/?#]", url, maxsplit=1)[0]:
        return None
    return _UNSAFE.sub(_percent, url)


def safe_image_url(url: str) -> str | None:
    """Return the address of a picture: as :func:`safe_url`, and pixels written into the address itself (``data:``)."""
    stripped = _IGNORED.sub("", url.strip(_LEADING))
    if _DATA_IMAGE.match(stripped):
        return _UNSAFE.sub(_percent, stripped)
    return safe_url(stripped)


def safe_frame_url(url: str) -> str | None:
    """Return the address of an embedded page or player: the web only, with a host of its own."""
    found = safe_url(url, WEB_SCHEMES)
    if found is None or not (_SCHEME.match(found) or _PROTOCOL_RELATIVE.match(found)):
        return None
    return found


def commenter_link(url_text: str) -> str | None:
    """Return a commenter's address from ``url_text`` (API 2.5), absolute and on the web, or ``None``.

    The fragment in ``url`` is a stranger's HTML and is never used.
    """
    found = safe_url(url_text, WEB_SCHEMES)
    return found if found is not None and re.match(r"https?://[^/?#]", found, re.IGNORECASE) else None


def _percent(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "replace"))
