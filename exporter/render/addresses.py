"""One spelling for every address that means the same, and patterns that addresses are made by. Pure.

Collecting pictures and showing them both go through :func:`absolute`, so that what was collected is found again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from exporter.errors import UsageError
from exporter.model.media import PICTURE_ENDINGS

_IGNORED = re.compile(r"[\t\n\r]")
_OUTER = "".join(map(chr, range(0x21)))
_PORTS = {"http": 80, "https": 443}
_PATH_SAFE = "%/:@!$&'()*+,;=~-._"
_QUERY_SAFE = _PATH_SAFE + "?[]|"
_WEB = re.compile(r"(https?):[/\\]*", re.IGNORECASE)
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.\-]*:")
_FIELD = re.compile(r"\{([^{}]*)\}")


def absolute(text: str, base: str) -> str | None:
    """Return an address from an entry as an absolute one in ASCII, read as browsers read it; ``None`` when it is none.

    Spaces around it and line ends inside go, backslashes are slashes, the host is lower case and in its ASCII form, a
    default port and the fragment are dropped, and what cannot stand in an address is percent-encoded as UTF-8.
    Only http and https have addresses here.

    Args:
        text: the value of an attribute.
        base: the address of the blog, which relative addresses start from.
    """
    text = _IGNORED.sub("", text.strip(_OUTER))
    web = _WEB.match(text)
    if web is not None:
        text = f"{web[1]}://{text[web.end() :]}"
    elif not text or _SCHEME.match(text):
        return None
    path, mark, query = text.partition("?")
    try:
        parts = urlsplit(urljoin(base, path.replace("\\", "/") + mark + query))
        place = _place(parts.scheme, parts.netloc)
    except ValueError:
        return None
    if place is None:
        return None
    path = quote(parts.path or "/", safe=_PATH_SAFE, errors="replace")
    return urlunsplit((parts.scheme, place, path, quote(parts.query, safe=_QUERY_SAFE, errors="replace"), ""))


def _place(scheme: str, netloc: str) -> str | None:
    user, at, place = netloc.rpartition("@")
    host = urlsplit(f"//{place}").hostname
    port = urlsplit(f"//{place}").port
    if scheme not in _PORTS or not host:
        return None
    name = f"[{host}]" if ":" in host else _ascii(host)
    shown = "" if port is None or port == _PORTS[scheme] else f":{port}"
    return f"{quote(user, safe='%:', errors='replace')}{at}{quote(name, safe='[]:-._~%')}{shown}"


def _ascii(host: str) -> str:
    return host if host.isascii() else host.encode("idna").decode("ascii")


def meaning(address: str) -> str:
    """Return what two addresses of one place share: the address without its scheme and without a final slash."""
    return address.partition("://")[2].rstrip("/")


def is_picture(address: str) -> bool:
    """Tell whether an absolute address ends the way those of pictures do."""
    name = urlsplit(address).path.rpartition("/")[2]
    return name.rpartition(".")[2].lower() in PICTURE_ENDINGS if "." in name else False


class AddressPattern:
    """An address with fields of a record in braces, such as ``https://files.example/{user_id}/{mtime}``.

    Raises:
        UsageError: it is no such thing.
    """

    def __init__(self, text: str, what: str) -> None:
        self.text = text.strip()
        self._what = what
        self.fields = tuple(_FIELD.findall(self.text))
        sample = absolute(_FIELD.sub("x", self.text), "")
        if sample is None or not self.fields or not all(self.fields) or set("{}") & set(_FIELD.sub("", self.text)):
            raise UsageError(f"{what} must be an address with fields in braces, such as https://HOST/{{name}}.")
        rest = _FIELD.split(_WEB.sub("", self.text))
        shape = "".join("[^/?#]+" if at % 2 else re.escape(part) for at, part in enumerate(rest))
        self._shape = re.compile(shape.rstrip("/"))

    def fill(self, record: Mapping[str, Any]) -> str | None:
        """Return a record's address; ``None`` when it lacks one of the fields or has it empty."""
        values = [record.get(name) for name in self.fields]
        if any(value is None or isinstance(value, bool | dict | list) or str(value) == "" for value in values):
            return None
        filled = iter(quote(str(value), safe="", errors="replace") for value in values)
        return absolute(_FIELD.sub(lambda _: next(filled), self.text), "")

    def check(self, names: Iterable[str]) -> None:
        """Compare the fields with those that records have.

        Raises:
            UsageError: a field is none of them.
        """
        known = list(names)
        for name in self.fields:
            if name not in known:
                near = get_close_matches(name, known, 1)
                hint = f" (did you mean {near[0]}?)" if near else f": it may be {', '.join(known)}"
                raise UsageError(f"{self._what}: {{{name}}} is no field of the record{hint}.")

    def fits(self, address: str) -> bool:
        """Tell whether an absolute address could have been made by this pattern, for whatever record."""
        return self._shape.fullmatch(meaning(address)) is not None
