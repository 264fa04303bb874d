"""Untrusted addresses: sanitizing, resolving, and patterns that build them from records. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from exporter.errors import UsageError
from exporter.message import listed

_PICTURE_ENDINGS: Final = frozenset(
    {"apng", "avif", "bmp", "gif", "heic", "heif", "ico", "jfif", "jp2"}
    | {"jpe", "jpeg", "jpg", "jxl", "png", "svg", "tif", "tiff", "webp"}
)
"""File name extensions of pictures."""

LINK_SCHEMES = frozenset({"http", "https", "mailto", "ftp", "tel"})
WEB_SCHEMES = frozenset({"http", "https"})

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.\-]*):")
_IGNORED = re.compile(r"[\t\n\r]")
_LEADING = "".join(map(chr, range(0x21)))
_DATA_IMAGE = re.compile(r"data:image/(?:png|gif|jpe?g|webp|bmp|avif|x-icon)[;,]", re.IGNORECASE)
_UNSAFE = re.compile(r"[\x00-\x20\x7f-\x9f\ud800-\udfff<>\"\\^`{|}]")
_PROTOCOL_RELATIVE = re.compile(r"[/\\]{2}")


def safe_url(url: str, schemes: frozenset[str] = LINK_SCHEMES) -> str | None:
    """Return the address for a link, or ``None`` if following it could run or embed something.

    Addresses are read as in browsers (the URL Standard): leading spaces and controls are removed, and so are tabs and
    line ends inside. Relative addresses are safe. Characters that are invalid in links, HTML or Markdown are
    percent-encoded.
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
    """Return a picture's address: as :func:`safe_url`, but ``data:`` addresses with pixels are permitted."""
    stripped = _IGNORED.sub("", url.strip(_LEADING))
    if _DATA_IMAGE.match(stripped):
        return _UNSAFE.sub(_percent, stripped)
    return safe_url(stripped)


def safe_frame_url(url: str) -> str | None:
    """Return the address of an embedded page or player; it must be on the web and name a host."""
    found = safe_url(url, WEB_SCHEMES)
    if found is None or not (_SCHEME.match(found) or _PROTOCOL_RELATIVE.match(found)):
        return None
    return found


def commenter_link(url_text: str) -> str | None:
    """Return a commenter's address from ``url_text`` (API 2.5), absolute and on the web, or ``None``.

    The fragment in ``url`` is untrusted HTML and is never used.
    """
    found = safe_url(url_text, WEB_SCHEMES)
    return found if found is not None and re.match(r"https?://[^/?#]", found, re.IGNORECASE) else None


def _percent(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "replace"))


_PORTS = {"http": 80, "https": 443}
_PATH_SAFE = "%/:@!$&'()*+,;=~-._"
_QUERY_SAFE = _PATH_SAFE + "?[]|"
_ABSOLUTE = re.compile(
    r"https?://[a-z0-9.-]+/[a-zA-Z0-9%/:@!$&'()*+,=~._-]*(?:\?[a-zA-Z0-9%/:@!$&'()*+,;=~._?-]+)?", re.ASCII
)
"""Addresses that :func:`absolute` returns unchanged: most of them, in a tenth of the time."""
_WEB = re.compile(r"(https?):[/\\]*", re.IGNORECASE)
_WEB_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.\-]*:")
_FIELD = re.compile(r"\{([^{}]*)\}")
_ANY_HOST = "https://path.invalid"


def absolute(text: str, base: str) -> str | None:
    """Return an entry's address as an absolute one in ASCII, read as in browsers; ``None`` if it is not an address.

    Surrounding spaces and line ends inside are removed, and backslashes become slashes. The host is in lower case and
    in its ASCII form. A default port and the fragment are dropped, and invalid characters are percent-encoded as UTF-8.
    Only http and https are accepted.

    Args:
        text: the value of an attribute.
        base: the blog's address, used to resolve relative addresses.
    """
    if _ABSOLUTE.fullmatch(text):
        return text
    return _usual_absolute(text, base) if len(text) <= _USUAL_CHARACTERS else _made_absolute(text, base)


def _made_absolute(text: str, base: str) -> str | None:
    text = _IGNORED.sub("", text.strip(_LEADING))
    web = _WEB.match(text)
    if web is not None:
        text = f"{web[1]}://{text[web.end() :]}"
    elif not text or _WEB_SCHEME.match(text):
        return None
    path, mark, query = text.partition("?")
    try:
        parts = urlsplit(urljoin(base, path.replace("\\", "/") + mark + query))
        authority = _authority(parts.scheme, parts.netloc)
    except ValueError:
        return None
    if authority is None:
        return None
    path = quote(parts.path or "/", safe=_PATH_SAFE, errors="replace")
    return urlunsplit((parts.scheme, authority, path, quote(parts.query, safe=_QUERY_SAFE, errors="replace"), ""))


_USUAL_CHARACTERS: Final = 500
"""Addresses of at most this length are cached, because each is looked up as a file, as an entry and as a link."""
_usual_absolute = lru_cache(maxsize=1_024)(_made_absolute)


def _authority(scheme: str, netloc: str) -> str | None:
    user, at, place = netloc.rpartition("@")
    host = urlsplit(f"//{place}").hostname
    port = urlsplit(f"//{place}").port
    if scheme not in _PORTS or not host:
        return None
    name = f"[{host}]" if ":" in host else host if host.isascii() else host.encode("idna").decode("ascii")
    shown = "" if port is None or port == _PORTS[scheme] else f":{port}"
    return f"{quote(user, safe='%:', errors='replace')}{at}{quote(name, safe='[]:-._~%')}{shown}"


_PLAIN_HOST = re.compile(r"https?://([a-z0-9.-]+)/", re.ASCII)
"""The beginning of most addresses, whose host needs no parser."""


def host_of(address: str) -> str:
    """Return the host of an absolute address in lower case; empty if there is no host."""
    plain = _PLAIN_HOST.match(address)
    if plain is not None:
        return plain[1].rstrip(".")
    try:
        return (urlsplit(address).hostname or "").rstrip(".").lower()
    except ValueError:
        return ""


def meaning(address: str) -> str:
    """Return a key that equivalent addresses share: the address without its scheme and final slash."""
    return address.partition("://")[2].rstrip("/")


def is_picture(address: str) -> bool:
    """Return whether an absolute address has the extension of a picture."""
    name = urlsplit(address).path.rpartition("/")[2]
    return name.rpartition(".")[2].lower() in _PICTURE_ENDINGS if "." in name else False


class AddressPattern:
    """An address with a record's fields in braces, such as ``https://files.example/{user_id}/{mtime}``.

    Args:
        text: the address.
        what: its name in error messages.
        path: whether a path, such as ``/archives/{name}/``, is also permitted and then filled as a path.

    Raises:
        UsageError: the text is not such a pattern.
    """

    def __init__(self, text: str, what: str, *, path: bool = False) -> None:
        self.text = text.strip()
        self._what = what
        self._host = _ANY_HOST if path and re.match(r"/(?!/)", self.text) else ""
        self.fields = tuple(_FIELD.findall(self.text))
        sample = absolute(self._host + _FIELD.sub("x", self.text), "")
        if sample is None or not self.fields or not all(self.fields) or set("{}") & set(_FIELD.sub("", self.text)):
            if path:
                raise UsageError(
                    "{what} must be an address with fields in braces, such as https://HOST/{{name}}, "
                    "or a path: /archives/{{name}}/.",
                    what=what,
                )
            raise UsageError(
                "{what} must be an address with fields in braces, such as https://HOST/{{name}}.", what=what
            )
        rest = _FIELD.split(_WEB.sub("", self.text))
        shape = "".join("[^/?#]+" if at % 2 else re.escape(part) for at, part in enumerate(rest))
        self._shape = re.compile(shape.rstrip("/"))

    def fill(self, record: Mapping[str, Any], *, encoded: str = "") -> str | None:
        """Return a record's address, or ``None`` if one of the fields is missing or empty.

        Args:
            record: the values of the fields.
            encoded: the field whose value is already percent-encoded.
        """
        values = [record.get(name) for name in self.fields]
        if any(value is None or isinstance(value, bool | dict | list) or str(value) == "" for value in values):
            return None
        safe = ("%" if name == encoded else "" for name in self.fields)
        filled = iter(
            [quote(str(value), safe=kept, errors="replace") for value, kept in zip(values, safe, strict=True)]
        )
        made = absolute(self._host + _FIELD.sub(lambda _: next(filled), self.text), "")
        return None if made is None else made.removeprefix(self._host)

    def check(self, names: Iterable[str]) -> None:
        """Check that records have the pattern's fields.

        Raises:
            UsageError: records do not have a field.
        """
        known = list(names)
        for name in self.fields:
            if name not in known:
                raise UsageError(
                    "{what}: {field} is not a field of the record: it may be {known}.",
                    what=self._what,
                    field=f"{{{name}}}",
                    known=listed(get_close_matches(name, known, 1) or known),
                )

    def fits(self, address: str) -> bool:
        """Return whether this pattern could have built an absolute address from some record."""
        return self._shape.fullmatch(meaning(address)) is not None
