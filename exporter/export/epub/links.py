"""What the addresses in a book's texts become: pictures and chapters inside the book, or addresses on the web. Pure."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from hashlib import sha256
from html import escape
from typing import Final
from urllib.parse import quote

from exporter.export.interface import Content, Copy
from exporter.export.media import Media, new_address
from exporter.export.post_names import plain_id
from exporter.export.posts import ExportPost, Posts
from exporter.html.anchors import place_of
from exporter.html.links import absolute
from exporter.html.local_links import EntryAddresses
from exporter.html.page_sanitizer import ID_PREFIX
from exporter.model.asset import extension_of
from exporter.model.kinds import Kind

FOLDER: Final = "media"
EVERYWHERE: Final = frozenset({"image/gif", "image/jpeg", "image/png"})
"""What every reading system shows (EPUB 3.2, section 3.3)."""
FOREIGN: Final = frozenset(
    f"image/{name}" for name in ("avif", "bmp", "heic", "jp2", "jxl", "tiff", "vnd.microsoft.icon", "webp")
)
"""What some show; these need a replacement for the others. SVG is among neither, since it may run scripts."""

_MAGIC: Final = {b"\x89PNG\r\n\x1a\n": "image/png", b"GIF8": "image/gif", b"\xff\xd8\xff": "image/jpeg"}
_INLINE: Final = re.compile(r"data:image/(?:png|gif|jpe?g);base64,", re.IGNORECASE)
_STRAY_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_HOST: Final = rf"(?:(?:{_LABEL}\.)*[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?|[0-9]{{1,3}}(?:\.[0-9]{{1,3}}){{3}})"
_URI: Final = re.compile(rf"https?://{_HOST}(?::[0-9]{{1,5}})?/[^\s\"<>\\^`{{|}}\[\]#]*")
_MAIL: Final = re.compile(r"mailto:[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+")


def chapter_name(entry_id: str) -> str:
    """Return the file name of an entry's chapter."""
    return f"entry-{plain_id(entry_id)}.xhtml"


def web_address(text: str, base: str) -> str | None:
    """Return an address as a strict reader of URIs (RFC 3986) takes it; ``None`` where it is none to follow.

    Args:
        text: the value of an attribute.
        base: the address of the blog, which relative addresses start from.
    """
    text = text.strip()
    if _MAIL.fullmatch(text):
        return text
    url = None if text.startswith("#") else absolute(text, base)
    if url is None or not _URI.fullmatch(url := _STRAY_PERCENT.sub("%25", url.replace("[", "%5B").replace("]", "%5D"))):
        return None
    _, mark, fragment = text.partition("#")
    return f"{url}{mark}{_STRAY_PERCENT.sub('%25', quote(fragment, safe='%/:@!$&*+,;=~-._?', errors='replace'))}"


class BookLinks:
    """Resolves the addresses of one book, and remembers which pictures it needs.

    Attributes:
        pictures: the media types of the pictures asked for so far, by their file names.
        inline: the addresses that were pictures themselves, until somebody clears it.
        dropped: how many links led nowhere so far.
        places: the ids that links lead to in the text of the chapter.
        asked: those among them that links of other entries lead to.
    """

    def __init__(self, posts: Posts, media: Media, own: EntryAddresses, holds: Callable[[str], bool]) -> None:
        self.pictures: dict[str, str] = {}
        self.inline: dict[str, None] = {}
        self.dropped = 0
        self.places: frozenset[str] = frozenset()
        self.asked: frozenset[str] = frozenset()
        self._posts = posts
        self._media = media
        self._own = own
        self._holds = holds
        self._base = f"https://{posts.blog_id}/"
        self._waiting: list[Content | Copy] = []

    def members(self) -> Iterator[Content | Copy]:
        """Yield the pictures asked for since the last time."""
        yield from self._waiting
        self._waiting.clear()

    def enter(self, post: ExportPost) -> None:
        """Begin the chapter of a post."""
        self.places = self._media.places(post)
        self.asked = self._media.asked(post.id)

    def picture(self, address: str) -> str | None:
        """Return where the book holds a picture; ``None`` when it does not."""
        if _INLINE.match(address.strip()):
            return self._inline(address)
        found = self._media.find(address)
        kind = found.asset.content_type or "" if found is not None else ""
        if found is None or found.source is None or kind not in EVERYWHERE | FOREIGN:
            return None
        if found.name not in self.pictures:
            self.pictures[found.name] = kind
            self._waiting.append(Copy(f"EPUB/{FOLDER}/{found.name}", found.source))
        return f"{FOLDER}/{found.name}"

    def link(self, address: str) -> str | None:
        """Return the address a link is to have; ``None`` when it leads nowhere."""
        place = place_of(address.strip()[1:]) if address.strip().startswith("#") else None
        if place in self.places:
            return f"#{ID_PREFIX}{quote(place)}"
        entry_id = self._own.entry_of(address)
        if entry_id is not None and self._holds(entry_id):
            place = self._media.place_in(entry_id, address)
            return chapter_name(entry_id) + (f"#{ID_PREFIX}{quote(place)}" if place is not None else "")
        if entry_id is not None and entry_id in self._posts:
            new, fragment = self.home(entry_id), "".join(address.partition("#")[1:])
            address = address if new is None else f"{new}{fragment}"
        found = self._media.find(address)
        made = web_address(address if found is None else self._media.new_address(found), self._base)
        self.dropped += made is None
        return made

    def home(self, entry_id: str) -> str | None:
        """Return where an entry of the export is: in this book, or on the web; ``None`` where that is unknown."""
        if self._holds(entry_id):
            return chapter_name(entry_id)
        new = new_address(self._posts, entry_id)
        return None if new is None or new[0] == "/" else new

    def lost(self, words: str) -> str:
        """Return the words of a picture that is not there."""
        return f'<span class="lost">[{escape(words, quote=False)}]</span>' if words else ""

    def _inline(self, address: str) -> str | None:
        """Take a picture that is written into the text itself."""
        try:
            data = base64.b64decode(address.strip().partition(",")[2], validate=True)
        except (binascii.Error, ValueError):
            return None
        kind = next((kind for magic, kind in _MAGIC.items() if data.startswith(magic)), None)
        if kind is None:
            return None
        name = f"{sha256(data).hexdigest()[:16]}.{extension_of(kind)}"
        if name not in self.pictures:
            self.pictures[name] = kind
            self._waiting.append(Content(f"EPUB/{FOLDER}/{name}", [data], stored=True))
        self.inline[address] = None
        return f"{FOLDER}/{name}"


class CommentLinks:
    """Resolves the addresses in untrusted comments, which bring no pictures into the book."""

    def __init__(self, links: BookLinks) -> None:
        self.link = links.link
        self.lost = links.lost

    def picture(self, _address: str) -> None:
        """Return ``None``: there is none."""


def entry_addresses(posts: Posts) -> EntryAddresses:
    """Return where the addresses of the old blog's entries lead; nowhere when nobody said how they are made."""
    patterns = posts.options.old_urls
    entries = posts.records.scan(Kind.ENTRIES) if patterns else iter(())
    return EntryAddresses(patterns, entries, f"https://{posts.blog_id}/")
