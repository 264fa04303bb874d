"""Which page an address leads to, however sites write it. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote, urlsplit

_INDEX: Final = re.compile(r"(?:^|/)index\.(?:html?|md)$|\.(?:html?|md)$")


def place_of_page(address: str) -> str:
    """Return the path and query of an absolute address, in the same form for all spellings.

    The host is not included: a site may be built for another host.
    """
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    path = unicodedata.normalize("NFC", unquote(parts.path)).strip("/")
    return _INDEX.sub("", path).strip("/") + (f"?{parts.query}" if parts.query else "")


def leads_to(place: str, targets: Iterable[str]) -> bool:
    """Return whether a place leads to a page; the site's base path may come first."""
    return any(place == target or (target and place.endswith(f"/{target}")) for target in targets)
