"""The pages of a book, from templates: every value is escaped, and what was HTML was written anew as XHTML. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from datetime import datetime
from functools import cache
from html import escape, unescape
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from exporter.export.entry_page import UNTITLED
from exporter.export.epub.links import BookLinks, CommentLinks, web_address
from exporter.export.epub.xhtml import Addresses, note_xhtml, upright_numbers, xhtml
from exporter.export.interface import ExportOptions
from exporter.export.post_html import as_html, only_text
from exporter.export.posts import ExportPost, PostComment
from exporter.export.xml import Cleaned, visible_xml
from exporter.html.anchors import Numbering, mark_places, take_footnotes, wanted_places
from exporter.html.links import commenter_link
from exporter.html.page_sanitizer import ID_PREFIX
from exporter.html.text import collapse
from exporter.html.tree import TooComplex, TooLarge, parse


class Words(NamedTuple):
    """What a book says in its own words."""

    contents: str
    cover: str
    comments: str
    untitled: str
    nameless: str
    date: str
    year: str
    month: str
    accessibility: str


_JAPANESE: Final = Words(
    contents="目次",
    cover="表紙",
    comments="コメント ({})",
    untitled=UNTITLED,
    nameless="(名前なし)",
    date="{0.year}年{0.month}月{0.day}日",
    year="{}年",
    month="{1}月",
    accessibility="画像の説明は元のブログのまま。",
)
_ENGLISH: Final = Words(
    contents="Contents",
    cover="Cover",
    comments="Comments ({})",
    untitled="(untitled)",
    nameless="(nameless)",
    date="{0.year:04}-{0.month:02}-{0.day:02}",
    year="{}",
    month="{0:04}-{1:02}",
    accessibility="Pictures have the descriptions that the blog gave them.",
)


_PIECES: Final = 2_000
_NUMBER: Final = re.compile(r"[0-9]+")
_PLACE: Final = re.compile(rf'<a id="{ID_PREFIX}([^"]*)"')
_LINK: Final = re.compile(rf'<a href="(#{ID_PREFIX}[^"]*)">')
_NOTE: Final = "<aside "
_FOOTNOTES: Final = Numbering()
_DIGITS: Final = "〇一二三四五六七八九"


def words_of(language: str) -> Words:
    """Return the words of a language: Japanese, or English for any other."""
    return _JAPANESE if language.lower().partition("-")[0] == "ja" else _ENGLISH


class BookPages:
    """Makes the pages of books that share their options.

    Attributes:
        words: the book's own words.
    """

    def __init__(self, options: ExportOptions) -> None:
        self.words = words_of(options.language)
        self._vertical = options.vertical
        self._common = {"language": options.language, "vertical": options.vertical}

    def page(self, template: str, **values: Any) -> Cleaned:
        """Return a page, and how many characters in it no XML file can hold."""
        return visible_xml(_environment().get_template(template).render({"title": "", **self._common, **values}))

    def stream(self, template: str, **values: Any) -> Iterator[bytes]:
        """Yield a page that grows with the book piece by piece, in UTF-8."""
        made = _environment().get_template(template).stream({"title": "", **self._common, **values})
        made.enable_buffering(_PIECES)
        return (visible_xml(piece).text.encode() for piece in made)

    def year(self, year: int) -> Cleaned:
        """Return the page before the chapters of a year."""
        return self.page("year.xhtml", year=year, year_label=self._spelt(self.words.year.format(year)))

    def chapter(self, post: ExportPost, links: BookLinks) -> Cleaned:
        """Return the page of a post."""
        entry = post.record
        facts = " · ".join(filter(None, [self._date(entry.date), post.category]))
        comment_links = CommentLinks(links)
        links.enter(post)
        body = self._text(entry.body, links, links.places, Numbering(asked_for=links.asked | wanted_places(entry.more)))
        # A place that is there twice is the first one, as browsers have it.
        left = links.places.difference(map(unescape, _PLACE.findall(body))) if links.places else links.places
        more_notes = Numbering(body.count(_NOTE) + 1, asked_for=links.asked | wanted_places(entry.body))
        made = self.page(
            "chapter.xhtml",
            name=post.title or self.words.untitled,
            heading=self._line(post.title or self.words.untitled),
            facts=self._line(facts),
            body=body,
            lead=self._line(collapse(entry.more_title)),
            more=self._text(entry.more, links, left, more_notes),
            comments_label=self._line(self.words.comments.format(len(post.comments))),
            comments=[self._comment(found, comment_links) for found in post.comments],
        )
        return made._replace(text=_without_dead(made.text)) if links.places else made

    def _comment(self, found: PostComment, links: CommentLinks) -> dict[str, Any]:
        comment = found.comment
        return {
            "name": collapse(comment.name) or self.words.nameless,
            "url": web_address(commenter_link(comment.url) or "", ""),
            "date": self._line(self._date(comment.date)),
            "title": collapse(comment.title),
            "text": self._text(comment.text, links),
        }

    def _date(self, date: datetime | None) -> str:
        return "" if date is None else self._spelt(self.words.date.format(date))

    def _spelt(self, date: str) -> str:
        """Return a Japanese date as vertical lines have it, in the numerals of the script."""
        return _NUMBER.sub(_numeral, date) if self._vertical and self.words is _JAPANESE else date

    def _line(self, text: str) -> Markup:
        return Markup(upright_numbers(text) if self._vertical else escape(text, quote=False))  # noqa: S704  escaped

    def _text(
        self, html: str, around: Addresses, places: Collection[str] = (), footnotes: Numbering = _FOOTNOTES
    ) -> Markup:
        """Return a body as XHTML; one that is too complex to be parsed shows its source, a large one its text.

        The ids of ``places`` are marked, and those of footnotes become what reading systems know as these.
        """
        try:
            tree = parse(as_html(html), bare=frozenset()) if places else parse(as_html(html))
            notes = take_footnotes(tree, footnotes) if places else []
            mark_places(tree, places)
            made = xhtml(tree, around, upright=self._vertical)
            made += "".join(f"\n{note_xhtml(note, around, upright=self._vertical)}" for note in notes)
        except TooLarge:
            made = only_text(html, "ja" if self.words is _JAPANESE else "en")
        except TooComplex:
            made = f"<pre>{escape(html, quote=False)}</pre>"
        return Markup(made)  # noqa: S704  written anew


def _without_dead(page: str) -> str:
    """Return a page without the links to places that are not in it, which readers of books refuse."""
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
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("exporter.export", "templates/epub"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
