"""An e-book's chapter as a part of a page to print: unique ids, notes, readings, cards. Pure.

The input is XHTML that :mod:`exporter.export.epub_xhtml` wrote, in which every ``<`` and ``>`` of a text or an
attribute is escaped. So patterns find its tags.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import unescape
from typing import Final

from exporter.export.epub_chapter import FOLDER, BookLinks, web_address
from exporter.export.interface import Content, Copy
from exporter.export.media import Media
from exporter.export.posts import Posts

_MAX_TAGS: Final = 20_000
_MAX_NESTED_TABLES: Final = 3
"""The layout of tables takes twice as long for each table around them."""
_MAX_SPAN: Final = 100
_PICTURE_PAGES: Final = 0.4
_CHARACTERS_PER_PAGE: Final = 760
_ENTRY_PAGES: Final = 0.2
"""The room for an entry's title and the space around it."""

_TAG: Final = re.compile(r"<[^>]*>")
_ID: Final = re.compile(r' id="([^"]*)"')
_HREF: Final = re.compile(r' href="([^"]*)"')
_IN_BOOK: Final = re.compile(r"entry-([a-z0-9]{1,40})\.xhtml(?:#([^ ]*))?(?: (.*))?")
_SPAN: Final = re.compile(r' (?:col|row)span="([0-9]+)"')
_RUBY: Final = re.compile(r"<ruby>(.*?)</ruby>", re.DOTALL)
_PAIR: Final = re.compile(r"(.*?)<rt>(.*?)</rt>", re.DOTALL)
_NOTE: Final = re.compile(r'\n?<aside epub:type="footnote" role="doc-footnote" id="([^"]*)">(.*?)</aside>', re.DOTALL)
_CALL: Final = re.compile(
    r'<sup><a epub:type="noteref" role="doc-noteref" id="[^"]*" href="#([^"]*)">.*?</a></sup>', re.DOTALL
)
_IN_LINE: Final = re.compile(r"</?(?:a|abbr|b|br|cite|code|del|em|i|ins|p|q|s|small|span|strong|sub|sup|u)[ />]")
_CARD: Final = re.compile(r'(<div class="player"><a href="([^"]*)">)(.*?)</a></div>', re.DOTALL)
_KEPT: Final = frozenset({"<p>", "</p>", "<br />"})
_FRAME: Final = re.compile(r"</?(?:article|header|section|h1)\b")


class PrintLinks(BookLinks):
    """Resolve addresses as :class:`BookLinks` does; a link to another entry also has its address on the web.

    Another volume may contain that entry, and only a whole volume shows which entries it has.
    """

    def __init__(self, posts: Posts, media: Media, holds: Callable[[str], bool]) -> None:
        super().__init__(posts, media, holds)
        self._blog = f"https://{posts.blog_id}/"

    def link(self, address: str) -> str | None:
        """Return the new address of a link, or two that a space separates; ``None`` if it leads nowhere."""
        made = super().link(address)
        if made is None or not made.startswith("entry-"):
            return made
        return f"{made} {web_address(address, self._blog) or ''}"

    def prints(self) -> Iterator[Content | Copy]:
        """Yield the pictures requested since the last call, in one folder."""
        for member in self.members():
            name = member.path.rpartition("/")[2]
            if isinstance(member, Copy):
                yield Copy(f"{FOLDER}/{name}", member.source)
            else:
                yield Content(f"{FOLDER}/{name}", member.chunks)


def is_simple(chapter: str) -> bool:
    """Return whether a chapter's layout is quick enough: few tags, no deep tables, no wide cells."""
    depth = deepest = tags = 0
    for found in _TAG.finditer(chapter):
        tags += 1
        depth += found[0].startswith("<table") - found[0].startswith("</table")
        deepest = max(deepest, depth)
    wide = any(int(found[1]) > _MAX_SPAN for found in _SPAN.finditer(chapter))
    return tags <= _MAX_TAGS and deepest <= _MAX_NESTED_TABLES and not wide


def only_paragraphs(chapter: str) -> str:
    """Return a chapter with all of its text, and no other markup than its title and paragraphs."""

    def kept(found: re.Match[str]) -> str:
        tag = found[0]
        if tag in _KEPT or _FRAME.match(tag):
            return tag
        return "<br />" if tag in {"</tr>", "</li>", "</div>"} else " " if tag in {"</td>", "</th>"} else ""

    return _TAG.sub(kept, chapter)


def weight(chapter: str) -> float:
    """Return about how many pages a chapter takes."""
    return len(_TAG.sub("", chapter)) / _CHARACTERS_PER_PAGE + chapter.count("<img ") * _PICTURE_PAGES + _ENTRY_PAGES


def printed(chapter: str, place: str, *, notes_at_foot: bool) -> str:
    """Return a chapter as a part of the page with all entries.

    Args:
        chapter: its XHTML.
        place: the entry's id in addresses; the ids of the chapter are made unique with it.
        notes_at_foot: whether notes are at the foot of the page, and not at the end of the entry.
    """
    text = _RUBY.sub(_ruby, _CARD.sub(_card, chapter))
    if notes_at_foot:
        text = _with_notes_at_foot(text)

    def in_tag(found: re.Match[str]) -> str:
        tag = _HREF.sub(lambda href: f' href="{_address(href[1], place)}"', found[0])
        return tag if tag.startswith("<article") else _ID.sub(rf' id="e{place}-\1"', tag)

    return _TAG.sub(in_tag, text)


def _address(address: str, place: str) -> str:
    """Return an address with the ids of the page with all entries; see :class:`PrintLinks` for the two parts."""
    if address.startswith("#"):
        return f"#e{place}-{address[1:]}"
    found = _IN_BOOK.fullmatch(address)
    if found is None:
        return address
    target = f"#e{found[1]}" + (f"-{found[2]}" if found[2] else "")
    return f"{target} {found[3] or ''}"


def _ruby(found: re.Match[str]) -> str:
    """Write each reading above its text; WeasyPrint does not know ruby."""
    return _PAIR.sub(
        lambda pair: f'<span class="ruby"><span class="rt">{pair[2]}</span>{pair[1]}</span>' if pair[2] else pair[1],
        found[1],
    )


def _card(found: re.Match[str]) -> str:
    """Write a player's address below its title, since paper cannot be clicked."""
    address = "" if unescape(found[3]) == unescape(found[2]) else f'<br /><span class="address">{found[2]}</span>'
    return f"{found[1]}{found[3]}</a>{address}</div>"


def _with_notes_at_foot(text: str) -> str:
    """Move each note to its first reference; one with more than lines of text stays at the end of the entry."""
    notes: dict[str, str] = {}

    def take(found: re.Match[str]) -> str:
        tags = _TAG.findall(found[2])
        if not all(map(_IN_LINE.match, tags)):
            return found[0]
        notes[found[1]] = found[2].replace("<p>", "").replace("</p>", "<br />").removesuffix("<br />")
        return ""

    rest = _NOTE.sub(take, text)

    def place(found: re.Match[str]) -> str:
        note = notes.pop(found[1], None)
        return found[0] if note is None else f'{found[0]}<span class="note" id="{found[1]}">{note}</span>'

    made = _CALL.sub(place, rest)
    # A reference that is not shown as one, such as in code, leaves its note at the end.
    return text if notes else made
