"""Addresses as a browser sends them: relative ones resolved, hosts and characters encoded (the URL Standard). Pure.

:func:`exporter.html.links.absolute` gives the keys of pictures in an archive and must not change. A capture needs the
address that a browser requests for the same text, byte for byte, because a replay looks it up.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

MAX_ADDRESS_CHARACTERS: Final = 4_000
"""Longer addresses are ignored: servers refuse most of them (RFC 9110, section 4.1, names 8,000 as a minimum)."""
_PORTS: Final = {"http": "80", "https": "443"}
_EDGES: Final = "".join(map(chr, range(0x21)))
_IGNORED: Final = str.maketrans("", "", "\t\n\r")
_SCHEME: Final = re.compile(r"([a-zA-Z][a-zA-Z0-9+.\-]*):")
_PLAIN: Final = re.compile(
    r"https?://[a-z0-9.-]*[a-z][a-z0-9.-]*/(?:[a-zA-Z0-9_~!$&'()*+,;=:@/-]|%(?!2[eE])|(?<![./])\.)*", re.ASCII
)
"""Addresses that need no change: most of them, in a fraction of the time."""
_PLAIN_PATH: Final = re.compile(r"/(?!/)(?:[a-zA-Z0-9_~=@/-]|(?<![./])\.){0,500}", re.ASCII)
"""Paths on the same host that need no change."""
_NOT_IN_PATHS: Final = re.compile(r"[^!$%&'()*+,\-./0-9:;=@A-Z\[\]_a-z|~]")
_NOT_IN_QUERIES: Final = re.compile(r"[^!$%&()*+,\-./0-9:;=?@A-Z\[\\\]^_`a-z{|}~]")
_NOT_IN_HOSTS: Final = re.compile(r"[\x00-\x20\x7f#%/:<>?@\[\\\]^|]")
_DOT: Final = frozenset({".", "%2e"})
_DOTS: Final = frozenset({"..", ".%2e", "%2e.", "%2e%2e"})


class WebAddress(NamedTuple):
    """The parts of an address; ``authority`` has the port unless it is the scheme's default."""

    scheme: str
    authority: str
    path: str
    query: str | None

    def __str__(self) -> str:
        query = "" if self.query is None else f"?{self.query}"
        return f"{self.scheme}://{self.authority}{self.path}{query}"


def web_address(text: str, base: WebAddress | None = None, encoding: str = "utf-8") -> WebAddress | None:
    """Return an address as a browser requests it, without the fragment; ``None`` if it is not http or https.

    Args:
        text: an attribute's value, with its character references decoded.
        base: the page's address, or that in its ``base`` element; ``None`` to accept absolute addresses only.
        encoding: the page's, in which a browser encodes queries.
    """
    if base is not None and _PLAIN_PATH.fullmatch(text):
        return WebAddress(base.scheme, base.authority, text, None)
    text = text.strip(_EDGES).translate(_IGNORED).partition("#")[0]
    if len(text) <= MAX_ADDRESS_CHARACTERS and _PLAIN.fullmatch(text):
        scheme, _, rest = text.partition("://")
        authority, _, path = rest.partition("/")
        return WebAddress(scheme, authority, f"/{path}", None)
    return None if len(text) > MAX_ADDRESS_CHARACTERS else _resolved(text, base, encoding)


def _resolved(text: str, base: WebAddress | None, encoding: str) -> WebAddress | None:
    scheme, rest = base.scheme if base is not None else "", text
    named = _SCHEME.match(text)
    if named is not None:
        scheme, rest = named[1].lower(), text[named.end() :]
        if scheme not in _PORTS:
            return None
        if base is None or scheme != base.scheme or rest[:1] in {"/", "\\"}:
            rest = "//" + rest.lstrip("/\\")
    if scheme not in _PORTS:
        return None
    place, mark, query = rest.partition("?")
    place = place.replace("\\", "/")
    asked = _encoded_query(query, encoding) if mark else None
    if place.startswith("//"):
        host, slash, path = place.lstrip("/").partition("/")
        authority = _authority(scheme, host)
        return None if authority is None else WebAddress(scheme, authority, _path(slash + path), asked)
    return None if base is None else _relative(place, base, asked)


def _relative(place: str, base: WebAddress, asked: str | None) -> WebAddress:
    if not place:
        return WebAddress(base.scheme, base.authority, base.path, base.query if asked is None else asked)
    if not place.startswith("/"):
        place = base.path[: base.path.rfind("/") + 1] + place
    return WebAddress(base.scheme, base.authority, _path(place), asked)


def parsed(address: str) -> WebAddress | None:
    """Return the parts of an absolute address; ``None`` if it is not http or https."""
    return web_address(address)


def _path(path: str) -> str:
    """Return a path without dot segments, its characters encoded as UTF-8."""
    if "." in path or "%2e" in path.lower():
        kept: list[str] = []
        segments = path[1:].split("/")
        for number, segment in enumerate(segments, 1):
            lower, last = segment.lower(), number == len(segments)
            if lower in _DOTS:
                del kept[-1:]
                kept += [""] if last else []
            elif lower in _DOT:
                kept += [""] if last else []
            else:
                kept.append(segment)
        path = "/" + "/".join(kept)
    return _NOT_IN_PATHS.sub(_percent, path) or "/"


def _percent(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "replace"))


def _encoded_query(query: str, encoding: str) -> str:
    """Return a query as a browser sends it; a character that the page's encoding lacks becomes its reference."""
    if query.isascii() or encoding.lower().replace("-", "").startswith(("utf", "iso2022")):
        return _NOT_IN_QUERIES.sub(_percent, query)
    try:
        data = query.encode(encoding, "xmlcharrefreplace")
    except (LookupError, UnicodeError):
        return _NOT_IN_QUERIES.sub(_percent, query)
    # A reference for a missing character is encoded as a whole: &#12354; becomes %26%2312354%3B.
    text = data.decode("latin-1")
    text = re.sub(r"&#([0-9]+);", r"%26%23\1%3B", text) if "&#" in text and "&#" not in query else text
    return re.sub(_NOT_IN_QUERIES, lambda found: f"%{ord(found[0]):02X}", text)


def _authority(scheme: str, text: str) -> str | None:
    """Return a host with its port in lower case ASCII; ``None`` if it is no host, or names a user."""
    if "@" in text:
        return None
    if text.startswith("["):
        host, bracket, port = text.partition("]")
        host, port = host + bracket, port.removeprefix(":") if port.startswith(":") or not port else "x"
        if not re.fullmatch(r"\[[0-9A-Fa-f:.]{2,60}\]", host):
            return None
        host = host.lower()
    else:
        host, _, port = text.partition(":")
        found = _host(host)
        if found is None:
            return None
        host = found
    if port and not (port.isascii() and port.isdigit() and int(port) < 65536):
        return None
    shown = port.lstrip("0") or ("0" if port else "")
    return host if not shown or shown == _PORTS[scheme] else f"{host}:{shown}"


def _host(text: str) -> str | None:
    if "%" in text:
        text = unquote_to_bytes(text).decode("utf-8", "replace")
    if not text.isascii():
        try:
            text = text.encode("idna").decode("ascii")
        except UnicodeError:
            return None
    text = text.lower()
    return None if not text.strip(".") or _NOT_IN_HOSTS.search(text) else text
