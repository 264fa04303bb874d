"""File names for entries: readable, safe on Linux, macOS and Windows, and never the same for two ids. Pure."""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime
from hashlib import sha256
from typing import Final

NAME_BYTES: Final = 200
"""Well under the 255 bytes of common file systems, so that temporary names fit too."""

_SUFFIX: Final = ".md"
_PLAIN_ID = re.compile(r"[0-9]{1,20}")
_KEPT_CATEGORIES = frozenset("LMN")


def page_path(date: datetime | None, title: str, entry_id: str) -> str:
    """Return an entry's path in the Markdown view: ``YYYY/MM/YYYY-MM-DD-slug-id.md``, or ``undated/slug-id.md``."""
    name = file_name(date, title, entry_id)
    return f"undated/{name}" if date is None else f"{date.year:04d}/{date.month:02d}/{name}"


def file_name(date: datetime | None, title: str, entry_id: str) -> str:
    """Return an entry's file name, at most 200 bytes in UTF-8.

    Its last part tells the id apart from every other, also when case is folded, so names never collide.
    """
    last = safe_id(entry_id)
    day = "" if date is None else date.date().isoformat()
    room = NAME_BYTES - len(_SUFFIX) - len(last) - len(day) - 2
    return "-".join(part for part in (day, slug(title, room), last) if part) + _SUFFIX


def safe_id(record_id: str) -> str:
    """Return an id of plain digits as it is, and any other as ``x`` and 16 digits of its SHA-256."""
    if _PLAIN_ID.fullmatch(record_id):
        return record_id
    return "x" + sha256(record_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def slug(title: str, room: int) -> str:
    """Return the letters and digits of a title, in their own script and in NFC, joined by hyphens.

    Args:
        title: any text.
        room: the most bytes of UTF-8; the cut never parts a character from its combining marks.
    """
    words: list[str] = []
    size = 0
    gap = False
    for cluster in _clusters(unicodedata.normalize("NFC", title[: 4 * NAME_BYTES])):
        if unicodedata.category(cluster[0])[0] not in _KEPT_CATEGORIES:
            gap = bool(words)
            continue
        piece = f"-{cluster}" if gap else cluster
        size += len(piece.encode("utf-8"))
        if size > room:
            break
        words.append(piece)
        gap = False
    return "".join(words)


def _clusters(text: str) -> list[str]:
    """Split text into characters with the combining marks behind them."""
    found: list[str] = []
    for char in text:
        if found and unicodedata.category(char)[0] == "M":
            found[-1] += char
        else:
            found.append(char)
    return found
