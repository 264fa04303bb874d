"""The names of entries in addresses, spelled as a target takes them, and each once. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from hashlib import blake2b
from typing import Final
from urllib.parse import quote

NAME_BYTES: Final = 200
"""The column of WordPress for names in addresses (``wp_posts.post_name``, ``wp_terms.slug``)."""

Spelling = Callable[[str], str]
"""Returns a name as a target takes it, unchanged in meaning; empty where it would make another one of it."""

_PLAIN: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
_TAKEN_BY_WORDPRESS: Final = frozenset({"atom", "embed", "feed", "rdf", "rss", "rss2"})
"""Names that mean its feeds; a post of that name gets another one (``wp_unique_post_slug``)."""

_CHANGED_BY_WORDPRESS: Final = re.compile(
    r"[^a-z0-9_\-\x80-\U0010ffff]|[\x80-\xbf\xd7\u02ca\u0300-\u036f\u2000-\u206f\u2122\ufff0-\uffff]|--|^-|-$"
)
"""Around all that it drops or writes as a hyphen (``sanitize_title_with_dashes``)."""


def plain_name(name: str) -> str:
    """Return a name of ASCII letters, digits, hyphens and underscores, which every target takes."""
    wanted = name.lower()
    return wanted if _PLAIN.fullmatch(wanted) else ""


def wordpress_name(name: str) -> str:
    """Return a name in any script, percent-encoded as WordPress writes and reads it."""
    wanted = unicodedata.normalize("NFC", name.lower())
    if _CHANGED_BY_WORDPRESS.search(wanted) or wanted in _TAKEN_BY_WORDPRESS:
        return ""
    if any(unicodedata.category(char)[0] in "CZ" for char in wanted):
        return ""
    written = quote(wanted, safe="").lower()
    return written if len(written) <= NAME_BYTES else ""


class UniqueNames:
    """Names for addresses: an entry's own where the target takes it and it is not taken, else ``entry-ID``."""

    def __init__(self, spelling: Spelling = plain_name) -> None:
        self._spelling = spelling
        self._taken: set[str] = set()

    def fit(self, name: str, entry_id: str) -> str:
        """Return the name to write."""
        wanted = self._spelling(name)
        if not wanted or wanted in self._taken:
            wanted = f"entry-{plain_id(entry_id)}"
        while wanted in self._taken:
            wanted += "-2"
        self._taken.add(wanted)
        return wanted


def plain_id(entry_id: str) -> str:
    """Return an id in ASCII letters and digits, as it is where it is that already."""
    if re.fullmatch(r"[a-z0-9]{1,40}", entry_id):
        return entry_id
    return f"x{blake2b(entry_id.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"
