"""A page of a site as a post: its titles, date, categories, text, pictures and links, wherever they stand. Pure.

Nothing says for certain where on a page the post is. What is looked at is the element that themes and the formats of
metadata (schema.org, h-entry, Open Graph) mark as the post's body, else the only ``article``, else ``main``, else all
of the page; whether a text is in there can be told, but not whether there is more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Final

from exporter.compare.archived import slug_of
from exporter.compare.posts import NewPost, ShownAs, When
from exporter.compare.texts import lettered, letters, seen_text
from exporter.html.links import absolute
from exporter.html.text import plain_text
from exporter.html.tree import Element, parse

_BODY_MARKS: Final = (
    "articlebody", "e-content", "entry-content", "post-content", "post-body", "post__content", "article-content",
    "article-body", "article__content", "article-entry",
)  # fmt: skip
"""Classes, and a property of schema.org, of the element that holds a post's body; the surest first."""
_TITLE_MARKS: Final = ("headline", "p-name", "entry-title", "post-title", "post__title", "article-title")
_DATE_MARKS: Final = frozenset({"datepublished", "dt-published", "published"})
_DATE_METAS: Final = ("article:published_time", "datepublished", "date", "dc.date", "dcterms.created")
_NAME_METAS: Final = ("article:section", "article:tag", "category", "tags")
_TYPED: Final = re.compile(r"schema\.org/(?:BlogPosting|Article|NewsArticle)", re.IGNORECASE)
_SPLIT: Final = re.compile(r"\s+[|\-–—·»«:/]\s+|\s*[｜：]\s*")
_PUBLISHED: Final = re.compile(r'"datePublished"\s*:\s*"([^"\\]{4,40})"')
_LISTED: Final = re.compile(r"/(?:categor(?:y|ies)|tags?|topics?)/[^/?#]+", re.IGNORECASE)
_PLAYERS: Final = frozenset({"iframe", "video", "audio", "object", "embed"})
_SOURCES: Final = ("data-src", "data-lazy-src", "data-original", "src")
_SHOWN: Final = {
    "img": _SOURCES, "input": ("src",), "video": ("poster",), "table": ("background",), "td": ("background",),
    "th": ("background",),
}  # fmt: skip


@dataclass(slots=True)
class _Found:
    """What of a page was found on the way through its tree."""

    metas: dict[str, list[str]] = field(default_factory=dict)
    titles: list[str] = field(default_factory=list)
    dates: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    lists: list[Element] = field(default_factory=list)
    marked: dict[str, Element] = field(default_factory=dict)
    articles: list[Element] = field(default_factory=list)
    main: Element | None = None
    base: str = ""
    typed: bool = False


def read_page(html: str, address: str) -> NewPost:
    """Return a page as a post.

    Args:
        html: the page.
        address: where it is, absolute.

    Raises:
        TooComplex: it is too large or too complex to be read.
    """
    page = parse(html, bare=frozenset())
    found = _look(page)
    region = next((found.marked[mark] for mark in _BODY_MARKS if mark in found.marked), None)
    if region is None:
        region = found.articles[0] if len(found.articles) == 1 else found.main or page
    when = _date(found)
    inside = set(map(id, region.walk())) if found.lists and region is not page else set()
    listed = (_words(each) for each in found.lists if id(each) not in inside)
    names = tuple(
        dict.fromkeys([*found.names, *listed, *(each for name in _NAME_METAS for each in found.metas.get(name, ()))])
    )
    base = absolute(found.base, address) or address
    typed = found.typed or "article" in found.metas.get("og:type", ())
    shown = lettered(seen_text(region))
    return NewPost(
        key=address,
        titles=tuple(_titles(found)),
        slug=next(iter(found.metas.get("slug", ())), "") or slug_of(address),
        when=when,
        status=ShownAs.DRAFT if "draft" in found.metas.get("status", ()) else ShownAs.PUBLISH,
        names=names or None,
        letters=shown.letters,
        whole=False,
        pictures=tuple(_pictures(region, base)),
        links=tuple(_links(region, base)),
        comments=None,
        page=_letters(page),
        players=sum(isinstance(each, Element) and each.tag in _PLAYERS for each in region.walk()),
        starts=shown.starts,
        addresses=(address,),
        article=typed or (when is not None and len(found.articles) == 1),
    )


def read_date(text: str) -> When | None:
    """Return a date as pages and front matter write it: a day, or a moment with or without an offset."""
    text = text.strip()
    try:
        if len(text) <= len("2016-03-19"):
            return When(date.fromisoformat(text))
        found = datetime.fromisoformat(text.replace(" +", "+").replace(" Z", "Z"))
    except ValueError:
        return None
    return When(found.replace(tzinfo=None), None if found.tzinfo is None else found)


def _look(page: Element) -> _Found:
    found = _Found()
    for element in page.walk():
        if isinstance(element, Element):
            attributes = element.attributes
            marks = {*attributes.get("class", "").lower().split(), *attributes.get("itemprop", "").lower().split()}
            _note_place(found, element, marks)
            _note_words(found, element, marks)
    return found


def _note_place(found: _Found, element: Element, marks: set[str]) -> None:
    """Note an element that may hold the post, or that says that there is one."""
    for mark in marks.intersection(_BODY_MARKS):
        found.marked.setdefault(mark, element)
    found.typed = found.typed or _TYPED.search(element.attributes.get("itemtype", "")) is not None
    if element.tag == "article":
        found.articles.append(element)
    elif element.tag == "main":
        found.main = found.main or element
    elif element.tag == "base":
        found.base = found.base or element.attributes.get("href", "")


def _note_words(found: _Found, element: Element, marks: set[str]) -> None:
    """Note an element that holds a title, a date or a category."""
    attributes, tag = element.attributes, element.tag
    if tag == "meta":
        name = attributes.get("property") or attributes.get("name") or attributes.get("itemprop", "")
        found.metas.setdefault(name.lower(), []).append(attributes.get("content", ""))
    elif tag == "script" and "ld+json" in attributes.get("type", ""):
        found.dates += _PUBLISHED.findall(element.text())
    elif tag in {"title", "h1"} or marks.intersection(_TITLE_MARKS):
        found.titles.append(" ".join(element.text().split()))
    elif tag == "time" or marks.intersection(_DATE_MARKS):
        values = (attributes.get(name) for name in ("datetime", "content", "title"))
        found.dates.append(next(filter(None, values), None) or element.text())
    elif tag in {"a", "i", "span", "li"} and _names_category(element, marks):
        found.names.append(_words(element))
    elif tag == "a" and _LISTED.search(attributes.get("href", "")):
        found.lists.append(element)


def _words(element: Element) -> str:
    return " ".join(element.text().split())


def _names_category(element: Element, marks: set[str]) -> bool:
    """Return whether an element is marked as one of a post's categories or tags."""
    rel = set(element.attributes.get("rel", "").lower().split())
    return bool(rel & {"tag", "category"} or marks & {"p-category", "category", "tag", "post-category", "post-tag"})


def _titles(found: _Found) -> Iterator[str]:
    """Yield what may be the title: what is said to be, headings, and the window's title with and without its parts."""
    said = [*found.metas.get("og:title", ()), *found.titles]
    parts = [part for title in said for part in _SPLIT.split(title)]
    yield from dict.fromkeys(filter(None, [*said, *parts]))


def _date(found: _Found) -> When | None:
    said = [*(each for name in _DATE_METAS for each in found.metas.get(name, ())), *found.dates]
    return next(filter(None, map(read_date, said)), None)


def _letters(element: Element) -> str:
    return letters(plain_text("<", lambda _: element))


def _pictures(region: Element, base: str) -> Iterator[str]:
    for element in region.walk():
        if isinstance(element, Element) and element.tag in _SHOWN:
            attributes = element.attributes
            address = absolute(
                next((attributes[name] for name in _SHOWN[element.tag] if attributes.get(name)), ""), base
            )
            if address is not None:
                yield address


def _links(region: Element, base: str) -> Iterator[str]:
    for element in region.walk():
        if isinstance(element, Element) and element.tag in {"a", "area"} and element.attributes.get("href"):
            address = absolute(element.attributes["href"], base)
            if address is not None:
                yield address
