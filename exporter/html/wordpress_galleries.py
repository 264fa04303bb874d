"""Galleries and playlists of WordPress: shortcodes that name files by their numbers, as HTML with these files. Pure.

The rules are those of ``gallery_shortcode`` and ``wp_playlist_shortcode`` in WordPress 6. Pictures have their full
size, and a link only if the gallery asks for one to the file, because pages of attachments end with the blog.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final, NamedTuple

from exporter.html.links import is_picture
from exporter.html.players import is_played
from exporter.html.wordpress_blocks import harmless
from exporter.model.records import Lack, Unshown

NAMES: Final = ("gallery", "playlist")
_SHORTCODE: Final = re.compile(r"(?<!\[)\[(gallery|playlist)((?:\s[^\[\]]*+)?+)\]")
_ATTRIBUTE: Final = re.compile(r"""([a-z0-9_-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'\]]+))""", re.IGNORECASE)
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,18}")
MAX_FILES: Final = 1_000
"""For one gallery, and for all files that the galleries in a body name."""
MAX_SHOWN_FILES: Final = 20_000
"""For all galleries in a body, which may repeat files."""


class Attachment(NamedTuple):
    """An uploaded file as a gallery shows it.

    Attributes:
        id: its number.
        url: its address.
        alt: the text that replaces a picture.
        caption: HTML.
        title: text.
        order: its place in the order that its owner gave the files of a post.
        date: when it was uploaded, as text that sorts.
        parent: the number of the post that it was uploaded to.
    """

    id: str
    url: str
    alt: str = ""
    caption: str = ""
    title: str = ""
    order: int = 0
    date: str = ""
    parent: str = ""


_KEYS: Final[Mapping[str, Callable[[Attachment], Any]]] = {
    "title": lambda each: each.title,
    "post_title": lambda each: each.title,
    "date": lambda each: each.date,
    "post_date": lambda each: each.date,
    "id": lambda each: int(each.id),
}
"""The orders that an author of a gallery chooses; ``rand`` shows another one on each view."""


def attributes_of(written: str) -> dict[str, str]:
    """Return the attributes of a shortcode."""
    found = (
        (each[1].lower(), next((value for value in each.groups()[1:] if value), ""))
        for each in _ATTRIBUTE.finditer(written)
    )
    return dict(found)


class NamedFiles(NamedTuple):
    """The files that the galleries of a body name.

    Attributes:
        ids: files by their numbers.
        parents: numbers of posts, for all files that were uploaded to them; empty for the post of the body itself.
    """

    ids: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()


def named_files(source: str) -> NamedFiles:
    """Return the files that the galleries and playlists in a body name, each once."""
    ids: dict[str, None] = {}
    parents: dict[str, None] = {}
    for found in _SHORTCODE.finditer(source) if "[" in source else ():
        attributes = attributes_of(found[2])
        wanted = _listed(attributes.get("ids") or attributes.get("include", ""))
        if wanted:
            ids |= dict.fromkeys(wanted)
        else:
            parents[_of(attributes)] = None
        if len(ids) + len(parents) > MAX_FILES:
            break
    return NamedFiles(tuple(ids), tuple(parents))


class Galleries:
    """Writes the galleries and playlists of one body.

    Args:
        files: the files by their numbers.
        post_id: the number of the post that shows them.
        unshown: receives an item if files are missing.
    """

    def __init__(self, files: Mapping[str, Attachment], post_id: str, unshown: list[Unshown]) -> None:
        self._files = files
        self._post_id = post_id
        self._unshown = unshown
        self._left = MAX_SHOWN_FILES

    def html(self, name: str, written: str) -> str | None:
        """Return a shortcode as HTML, by its name and attributes; ``None`` if none of its files is known."""
        attributes = attributes_of(written)
        wanted = _listed(attributes.get("ids") or attributes.get("include", ""))
        self._left -= len(wanted or self._files)
        found = self._found(attributes, wanted) if self._left >= 0 else []
        found = [each for each in found if _fits(name, each.url)]
        if len(found) < len(wanted) or not found:
            self._unshown.append(Unshown(Lack.PICTURES if name == "gallery" else Lack.RECORDINGS))
        if not found:
            return None
        found = _ordered(found, attributes, as_listed=bool(attributes.get("ids")))
        return _pictures(found, attributes) if name == "gallery" else _recordings(found)

    def _found(self, attributes: Mapping[str, str], wanted: Sequence[str]) -> list[Attachment]:
        if wanted:
            return [self._files[each] for each in wanted if each in self._files]
        parent = _of(attributes) or self._post_id
        left_out = set(_listed(attributes.get("exclude", "")))
        return [each for each in self._files.values() if each.parent == parent and each.id not in left_out]


def _fits(name: str, url: str) -> bool:
    """Return whether a gallery or playlist shows a file, by the ending of its address."""
    try:
        return is_picture(url) if name == "gallery" else is_played(url)
    except ValueError:
        return False


def _listed(text: str) -> list[str]:
    found = (each.strip() for each in text.split(",", MAX_FILES))
    return list(dict.fromkeys(each for each in found if _NUMBER.fullmatch(each)))


def _of(attributes: Mapping[str, str]) -> str:
    found = attributes.get("id", "").strip()
    return found if _NUMBER.fullmatch(found) else ""


def _ordered(found: Sequence[Attachment], attributes: Mapping[str, str], *, as_listed: bool) -> list[Attachment]:
    by = attributes.get("orderby", "post__in" if as_listed else "").lower().split()
    if by[:1] in (["post__in"], ["rand"], ["none"]):
        return list(found)
    key = _KEYS.get(by[0]) if by else None
    ordered = sorted(found, key=key or (lambda each: (each.order, int(each.id))))
    return ordered[::-1] if attributes.get("order", "").upper() == "DESC" else ordered


def _pictures(found: Sequence[Attachment], attributes: Mapping[str, str]) -> str:
    columns = attributes.get("columns", "").strip()
    columns = columns if re.fullmatch(r"[1-9]", columns) else "3"
    figures = "".join(_figures(found, linked=attributes.get("link") == "file"))
    return f'\n<div class="gallery gallery-columns-{columns}">{figures}</div>\n'


def _figures(found: Sequence[Attachment], *, linked: bool) -> Iterator[str]:
    for each in found:
        address = escape(each.url)
        picture = f'<img src="{address}" alt="{escape(each.alt)}">'
        shown = f'<a href="{address}">{picture}</a>' if linked else picture
        text = harmless(each.caption.strip())
        caption = f"<figcaption>{text}</figcaption>" if text else ""
        yield f'<figure class="gallery-item">{shown}{caption}</figure>'


def _recordings(found: Sequence[Attachment]) -> str:
    items = "".join(
        f'<li><a href="{escape(each.url)}">{escape(each.title or each.url, quote=False)}</a></li>' for each in found
    )
    return f'\n<ul class="wp-playlist">{items}</ul>\n'
