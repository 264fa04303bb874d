"""Read a site's page, in HTML or Markdown, as a post: titles, date, categories, text, pictures and links. Pure.

HTML does not say for certain which part of a page is the post. The reader takes the element that themes and metadata
(schema.org, h-entry, Open Graph) mark as the body, else the only ``article``, else ``main``, else the whole page. So a
comparison can tell if a text is on the page, but not if the page has more.

Markdown with front matter, as site generators and exports write it, is not converted to HTML. Its text is compared by
letters, digits and symbols, which markup neither adds nor hides (:func:`~exporter.compare.texts.only_words`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from html import unescape
from typing import Any, Final

import yaml

from exporter.compare.archived import slug_of
from exporter.compare.marks import marks_in_words, read_shown
from exporter.compare.posts import Marked, NewPost, ShownAs, When
from exporter.compare.texts import body_letters, lettered, letters, only_words, seen_text
from exporter.html.links import absolute
from exporter.html.markup import from_markdown
from exporter.html.text import text_in
from exporter.html.tree import Element, TooComplex, parse
from exporter.message import message

_BODY_MARKS: Final = (
    "articlebody", "e-content", "entry-content", "post-content", "post-body", "post__content", "article-content",
    "article-body", "article__content", "article-entry",
)  # fmt: skip
"""Classes, and a property of schema.org, of the element with a post's body, the surest first."""
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
_FENCED: Final = re.compile(r"\A\ufeff?(---|\+\+\+)[ \t]*\r?\n(.*?)^\1[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_LINES: Final = re.compile(r"\A\ufeff?(?:[A-Za-z_]+: .*(?:\r?\n|\Z))+")
_FRONT_MATTER_BYTES: Final = 64 * 1024
_PLACE: Final = r"\(\s*(?:<([^<>\n]*)>|((?:[^\s()\\]|\\.|\([^\s()]*\))*))(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*\)"
_IMAGE: Final = re.compile(rf"(?<!\\)!\[((?:[^\[\]\\]|\\.)*)\]{_PLACE}")
_LINK: Final = re.compile(rf"(?<!\\)\[((?:[^\[\]\\]|\\.)*)\]{_PLACE}")
_ADDRESS: Final = re.compile(r"<(https?://[^\s<>]+)>")
_HTML_ADDRESS: Final = re.compile(
    r"<(img|a|video|t[dh]|table)\b[^<>]*?\s(?:src|href|poster|background)=\"([^\"]*)\"", re.IGNORECASE
)
_NUMBER: Final = re.compile(r"^[ \t>]*[0-9]{1,9}[.)](?=[ \t])", re.MULTILINE)
"""A list item's number, which is not text of the post."""
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_SIGNS: Final = re.compile(
    r"\{(?:attach|filename|static)\}|\{% (?:end)?raw %\}|\{\{ \"([^\"\n]*)\"(?: \| relative_url)? \}\}"
)
"""What exports for Pelican and Jekyll write around addresses and texts."""
_ALIASES: Final = ("aliases", "redirect_from", "old_paths")
_DATES: Final = ("date", "pubdate", "published", "published_at", "created")


@dataclass(slots=True)
class _Found:
    """The elements and texts found in a page's tree."""

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
        address: its absolute address.

    Raises:
        TooComplex: it is too large or too complex.
    """
    page = parse(html)
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
        marked=read_shown(region, base),
    )


def read_date(text: str) -> When | None:
    """Parse a date on a page or in front matter: a day, or a time with or without an offset."""
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
    """Note an element that may contain the post, or that marks the page as a post."""
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
    """Note an element with a title, a date or a category."""
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
    """Yield possible titles: those of metadata, headings, and the window title and its parts."""
    said = [*found.metas.get("og:title", ()), *found.titles]
    parts = [part for title in said for part in _SPLIT.split(title)]
    yield from dict.fromkeys(filter(None, [*said, *parts]))


def _date(found: _Found) -> When | None:
    said = [*(each for name in _DATE_METAS for each in found.metas.get(name, ())), *found.dates]
    return next(filter(None, map(read_date, said)), None)


def _letters(element: Element) -> str:
    return letters(text_in(element))


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


class NoPost(ValueError):
    """The file has no readable front matter."""


class _Loader(yaml.SafeLoader):
    """Reads YAML and refuses aliases, with which a small text can become a huge value."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise NoPost(message("its front matter has aliases"))
        return super().compose_node(parent, index)


def read_markdown(text: str, path: str, address: str) -> NewPost:
    """Return a Markdown file as a post.

    Args:
        text: the file.
        path: its path in its folder.
        address: the path as an absolute address, the base of relative ones.

    Raises:
        NoPost: it has no front matter.
    """
    head, body = front_matter(text)
    facts = {str(name).lower(): value for name, value in head.items()}
    body = _SIGNS.sub(lambda found: found[1] or "", body)
    body = _ESCAPE.sub(lambda found: "&lt;" if found[1] == "<" else found[0], body)
    marked = _marks(body, address)
    shown = [found[2] or found[3] or "" for found in _IMAGE.finditer(body)]
    body = _IMAGE.sub(lambda found: found[1], body)
    linked = [found[2] or found[3] or "" for found in _LINK.finditer(body)]
    body = _LINK.sub(lambda found: found[1], body)
    linked += _ADDRESS.findall(body)
    for found in _HTML_ADDRESS.finditer(body):
        (linked if found[1].lower() == "a" else shown).append(found[2])
    words = only_words(_markdown_letters(body))
    tags = _texts(facts.get("tags"))
    names = [*_texts(facts.get("categories")), *_texts(facts.get("category")), *tags]
    more = facts.get("params")
    authors = [*_texts(facts.get("author")), *(_texts(more.get("author")) if isinstance(more, Mapping) else [])]
    excerpts = [*_texts(facts.get("summary")), *_texts(facts.get("excerpt"))]
    aliases = (absolute(each, address) for name in _ALIASES for each in _texts(facts.get(name)))
    return NewPost(
        key=path,
        titles=tuple(_texts(facts.get("title"))),
        slug=slug_of(next(iter([*_texts(facts.get("slug")), *_texts(facts.get("permalink"))]), path)),
        when=next(filter(None, (_when(facts.get(name)) for name in _DATES)), None),
        status=_status(facts),
        names=tuple(names),
        letters=words,
        whole=False,
        pictures=tuple(filter(None, (absolute(each, address) for each in shown))),
        links=tuple(filter(None, (absolute(each, address) for each in linked))),
        comments=None,
        page=words,
        addresses=(address,),
        tags=tuple(tags) if "tags" in facts else None,
        author=next(iter(authors), None),
        is_page=True if "page" in {facts.get("type"), facts.get("layout")} else None,
        excerpt=only_words(body_letters(excerpts[0])) if excerpts else None,
        aliases=tuple(filter(None, aliases)),
        marked=marked,
    )


def _marks(body: str, address: str) -> Marked | None:
    """Return the marks and links in Markdown, read as CommonMark with tables and struck text."""
    try:
        return marks_in_words(read_shown(parse(from_markdown(body, tables=True)), address))
    except TooComplex:
        return None


def front_matter(text: str) -> tuple[Mapping[Any, Any], str]:
    """Return a file's front matter, in YAML, TOML or as lines of metadata, and the rest.

    Raises:
        NoPost: it has no readable front matter.
    """
    found = _FENCED.match(text)
    if found is None:
        lines = _LINES.match(text[:_FRONT_MATTER_BYTES])
        if lines is None:
            raise NoPost(message("it has no front matter"))
        return dict(_line_of_metadata(line) for line in lines[0].splitlines()), text[lines.end() :]
    if len(found[2]) > _FRONT_MATTER_BYTES:
        raise NoPost(message("its front matter is too long"))
    try:
        head = tomllib.loads(found[2]) if found[1] == "+++" else yaml.load(found[2], _Loader)  # noqa: S506
    except (yaml.YAMLError, tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        raise NoPost(message("its front matter cannot be read: {error}", error=error)) from None
    if not isinstance(head, Mapping):
        raise NoPost(message("its front matter has no fields"))
    return head, text[found.end() :]


def _line_of_metadata(line: str) -> tuple[str, str | list[str]]:
    """Return the name and value of a line. Pelican takes values for HTML, and parts tags at commas."""
    name, value = line.split(": ", 1)
    if name.lower() == "tags":
        return name, [unescape(each.strip()) for each in value.split(",")]
    return name, unescape(value)


def _markdown_letters(body: str) -> str:
    """Return the letters of Markdown as a reader sees it, with its markup."""
    plain = _ADDRESS.sub(lambda found: found[1], _NUMBER.sub("", body))
    return letters(_ESCAPE.sub(lambda found: found[1], body_letters(plain)))


def _status(facts: Mapping[str, Any]) -> ShownAs:
    if facts.get("draft") in {True, "true"} or facts.get("status") == "draft" or facts.get("published") is False:
        return ShownAs.DRAFT
    return ShownAs.PRIVATE if facts.get("status") == "hidden" else ShownAs.PUBLISH


def _texts(value: Any) -> list[str]:
    """Return the texts of a field with one or several."""
    if isinstance(value, list):
        return [str(each) for each in value if isinstance(each, str | int | float)]
    return [str(value)] if isinstance(value, str | int | float) and not isinstance(value, bool) else []


def _when(value: Any) -> When | None:
    if isinstance(value, datetime):
        return When(value.replace(tzinfo=None), None if value.tzinfo is None else value)
    if isinstance(value, date):
        return When(value)
    return read_date(value) if isinstance(value, str) else None
