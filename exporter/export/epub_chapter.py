"""The chapters of a book from templates with every value escaped, and the links in them. Pure."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Collection, Iterator
from datetime import date
from functools import cache
from hashlib import sha256
from html import escape, unescape
from typing import Any, Final
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from exporter.export.csv_table import rough_text
from exporter.export.epub_xhtml import Addresses, note_xhtml, upright_numbers, xhtml
from exporter.export.interface import Content, Copy, ExportOptions
from exporter.export.media import Media, new_address
from exporter.export.names import plain_id
from exporter.export.post_html import Cleaned, as_html, only_text, post_facts, visible_xml
from exporter.export.posts import ExportPost, Posts, ThreadedPostComment
from exporter.html.anchors import Numbering, mark_places, place_of, take_footnotes, wanted_places
from exporter.html.embedded import parse_body
from exporter.html.links import absolute, commenter_link
from exporter.html.page_sanitizer import ID_PREFIX
from exporter.html.text import collapse
from exporter.html.tree import TooComplex, TooLarge
from exporter.model.asset import extension_of
from exporter.model.labels import marks_of
from exporter.translation import translated, translator

FOLDER: Final = "media"
EVERYWHERE: Final = frozenset({"image/gif", "image/jpeg", "image/png"})
"""Media types that every reading system shows (EPUB 3.2, section 3.3)."""
FOREIGN: Final = frozenset(
    f"image/{name}" for name in ("avif", "bmp", "heic", "jp2", "jxl", "tiff", "vnd.microsoft.icon", "webp")
)
"""Media types that only some show; these need a replacement for the others. SVG is excluded: it may run scripts."""

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
    """Return an address as a strict reader of URIs (RFC 3986) accepts it, or ``None`` if it cannot be followed.

    Args:
        text: the value of an attribute.
        base: the blog's address, the base for relative addresses.
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
    """Resolve the addresses of one book and record the pictures that it needs.

    Attributes:
        pictures: maps the file names of pictures requested until now to their media types.
        inline: the addresses that were inline pictures, until the caller clears it.
        dropped: how many links led nowhere so far.
        places: the ids that links lead to in the text of the chapter.
        asked: those among them that links of other entries lead to.
    """

    def __init__(self, posts: Posts, media: Media, holds: Callable[[str], bool]) -> None:
        self.pictures: dict[str, str] = {}
        self.inline: dict[str, None] = {}
        self.dropped = 0
        self.places: frozenset[str] = frozenset()
        self.asked: frozenset[str] = frozenset()
        self._posts = posts
        self._media = media
        self._holds = holds
        self._base = f"https://{posts.blog_id}/"
        self._waiting: list[Content | Copy] = []

    def members(self) -> Iterator[Content | Copy]:
        """Yield the pictures requested since the last call."""
        yield from self._waiting
        self._waiting.clear()

    def enter(self, post: ExportPost) -> None:
        """Begin the chapter of a post."""
        self.places = self._media.places(post)
        self.asked = self._media.asked(post.id)

    def picture(self, address: str) -> str | None:
        """Return the path of a picture in the book; ``None`` if the book does not have it."""
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

    def featured(self, post: ExportPost) -> dict[str, str] | None:
        """Return a featured picture's path and text; ``None`` if the post's text also shows it."""
        found = self._media.featured(post)
        if found is None or found.name in {each.name for each in self._media.shown(post)}:
            return None
        path = self.picture(post.record.featured)
        alt = found.info.alt or found.info.title or "" if found.info is not None else ""
        return None if path is None else {"path": path, "alt": collapse(alt)}

    def link(self, address: str) -> str | None:
        """Return the new address of a link; ``None`` if it leads nowhere."""
        place = place_of(address.strip()[1:]) if address.strip().startswith("#") else None
        if place in self.places:
            return f"#{ID_PREFIX}{quote(place)}"
        entry_id = self._media.own_post(address)
        if entry_id is not None and self._holds(entry_id):
            place = self._media.place_in(entry_id, address)
            return chapter_name(entry_id) + (f"#{ID_PREFIX}{quote(place)}" if place is not None else "")
        if entry_id is not None:
            new, fragment = self.home(entry_id), "".join(address.partition("#")[1:])
            address = address if new is None else f"{new}{fragment}"
        found = self._media.find(address)
        made = web_address(address if found is None else self._media.new_address(found), self._base)
        self.dropped += made is None
        return made

    def home(self, entry_id: str) -> str | None:
        """Return an entry's place in this export, a chapter or a web address; ``None`` if it is unknown."""
        if self._holds(entry_id):
            return chapter_name(entry_id)
        new = new_address(self._posts, entry_id)
        return None if new is None or new[0] == "/" else new

    def _inline(self, address: str) -> str | None:
        """Add a picture that is inline in the text as a data URL."""
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


_MAX_LEVEL: Final = 4
"""Deeper answers are indented no further."""

_NUMBER: Final = re.compile(r"[0-9]+")
_PLACE: Final = re.compile(rf'<a id="{ID_PREFIX}([^"]*)"')
_LINK: Final = re.compile(rf'<a href="(#{ID_PREFIX}[^"]*)">')
_NOTE: Final = "<aside "
_FOOTNOTES: Final = Numbering()
_DIGITS: Final = "〇一二三四五六七八九"


class BookPages:
    """Makes the pages of books that share their options.

    Args:
        options: the language and the direction of writing.
        templates: the folder of the templates.

    Attributes:
        t: translates a sentence for the book: into Japanese if that is its language, else into English.
    """

    def __init__(self, options: ExportOptions, templates: str = "epub") -> None:
        self._templates = templates
        self._japanese = options.language.lower().partition("-")[0] == "ja"
        self.t = translator("ja" if self._japanese else "en")
        self._vertical = options.vertical
        self._common = {"language": options.language, "vertical": options.vertical}

    def page(self, template: str, **values: Any) -> Cleaned:
        """Return a page, and the number of its characters that XML cannot hold."""
        return visible_xml(
            _environment(self._templates).get_template(template).render({"title": "", **self._common, **values})
        )

    def year(self, year: int) -> Cleaned:
        """Return the page before the chapters of a year."""
        return self.page("year.xhtml", year=year, year_label=self.spelt(self.year_name(year)))

    def chapter(self, post: ExportPost, links: BookLinks) -> Cleaned:
        """Return the page of a post."""
        entry = post.record
        facts = " · ".join(filter(None, [self.day(entry.date), *post_facts(post)]))
        addresses = Addresses(links.link, links.picture)
        links.enter(post)
        body = self._text(
            entry.body, addresses, links.places, Numbering(asked_for=links.asked | wanted_places(entry.more))
        )
        # If an id occurs twice, links lead to the first, as in browsers.
        left = links.places.difference(map(unescape, _PLACE.findall(body))) if links.places else links.places
        more_notes = Numbering(body.count(_NOTE) + 1, asked_for=links.asked | wanted_places(entry.body))
        made = self.page(
            "chapter.xhtml",
            place=plain_id(post.id),
            name=post.title or self.t("(untitled)"),
            heading=self._line(post.title or self.t("(untitled)")),
            facts=self._line(facts),
            body=body,
            lead=self._line(collapse(entry.more_title)),
            more=self._text(entry.more, addresses, left, more_notes),
            comments_label=self._line(self.t("Comments ({n})", n=len(post.comments))),
            # Untrusted comments add no pictures to the book.
            comments=[self._comment(found, Addresses(links.link)) for found in post.threads()],
            featured=links.featured(post),
            excerpt=self._line(collapse(rough_text(entry.excerpt))),
        )
        return made._replace(text=_without_dead(made.text)) if links.places else made

    def _comment(self, threaded: ThreadedPostComment, addresses: Addresses) -> dict[str, Any]:
        comment = threaded.found.comment
        answers = threaded.answers
        marks = [self.t("↩ to {name}", name=collapse(answers.name) or self.t("(nameless)"))] if answers else []
        marks += [translated(mark, "ja" if self._japanese else "en") for mark in marks_of(comment)]
        marks += [self.t("By the owner of the blog")] if comment.by_owner else []
        return {
            "level": min(threaded.level, _MAX_LEVEL),
            "marks": self._line(" · ".join(marks)),
            "name": collapse(comment.name) or self.t("(nameless)"),
            "url": web_address(commenter_link(comment.url) or "", ""),
            "date": self._line(self.day(comment.date)),
            "title": collapse(comment.title),
            "text": self._text(comment.text, addresses),
        }

    def day(self, day: date | None) -> str:
        """Return a date as the book's text has it; empty if it is unknown."""
        if day is None:
            return ""
        return self.spelt(f"{day.year}年{day.month}月{day.day}日") if self._japanese else f"{day:%Y-%m-%d}"

    def year_name(self, year: int) -> str:
        """Return the name of a year."""
        return f"{year}年" if self._japanese else str(year)

    def month_name(self, year: int, month: int) -> str:
        """Return the name of a month among those of its year."""
        return f"{month}月" if self._japanese else f"{year:04}-{month:02}"

    def spelt(self, date: str) -> str:
        """Return a Japanese date as vertical lines have it, in the numerals of the script."""
        return _NUMBER.sub(_numeral, date) if self._vertical and self._japanese else date

    def _line(self, text: str) -> Markup:
        return Markup(upright_numbers(text) if self._vertical else escape(text, quote=False))  # noqa: S704  escaped

    def _text(
        self, html: str, around: Addresses, places: Collection[str] = (), footnotes: Numbering = _FOOTNOTES
    ) -> Markup:
        """Return a body as XHTML; if it is too complex to parse, its source; if it is too large, its text.

        The ids of ``places`` are marked, and footnotes get the markup that reading systems know.
        """
        try:
            tree = parse_body(as_html(html))
            notes = take_footnotes(tree, footnotes) if places else []
            mark_places(tree, places)
            made = xhtml(tree, around, upright=self._vertical)
            made += "".join(f"\n{note_xhtml(note, around, upright=self._vertical)}" for note in notes)
        except TooLarge:
            made = only_text(html, "ja" if self._japanese else "en")
        except TooComplex:
            made = f"<pre>{escape(html, quote=False)}</pre>"
        return Markup(made)  # noqa: S704  written anew


def _without_dead(page: str) -> str:
    """Return a page without links to missing ids, which validators refuse."""
    known = {f"#{ID_PREFIX}{quote(unescape(place))}" for place in _PLACE.findall(page)}
    return _LINK.sub(lambda found: found[0] if unescape(found[1]) in known else "<a>", page)


def _numeral(found: re.Match[str]) -> str:
    """Return a year digit by digit, and a smaller number with its tens."""
    number = int(found[0])
    if number > 99:
        return "".join(_DIGITS[int(digit)] for digit in found[0])
    tens, rest = divmod(number, 10)
    return f"{_DIGITS[tens] if tens > 1 else ''}{'十' if tens else ''}{_DIGITS[rest] if rest else ''}"


@cache
def _environment(templates: str) -> Environment:
    return Environment(
        loader=PackageLoader("exporter.export", f"templates/{templates}"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
