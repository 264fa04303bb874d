"""Read a post's page: the text, the date, the categories, and how sure the reading is. Pure.

The ways are tried in this order; the first one that finds a text is used, and the record names it:

1. ``rule:NAME``: the selectors of a known service (:mod:`exporter.service.public_site.page_rules`).
2. ``h-entry``: microformats (h-entry, and its older form hAtom).
3. ``schema.org``: microdata, or JSON-LD with an element that themes mark as the text.
4. ``article``: the page's only ``article`` element, if it has a title and a date.
5. ``extracted``: the element with the most text, by trafilatura; the extra ``pages``.
6. ``guessed``: the ``article`` or ``main`` element, else the whole page without its navigation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import tzinfo
from enum import StrEnum
from typing import Final

from exporter.html.embedded import rewrite_addresses
from exporter.html.links import absolute
from exporter.html.selection import PageElement
from exporter.html.text import plain_text
from exporter.service.public_site.dates import read_page_date, stated_date
from exporter.service.public_site.facts import StatedFacts
from exporter.service.public_site.main_text import date_near, main_text, title_heading
from exporter.service.public_site.page_rules import PageRules, PageSelectors

_MAX_PARTS: Final = 200
"""Elements with a text of one post."""
_MAX_COUNTS: Final = 50
_CLIMBED: Final = 6
"""The most elements between a post's text and the element around the whole post."""
_H_ENTRY: Final = PageSelectors(
    post=(".h-entry",),
    title=(".p-name",),
    body=(".e-content",),
    date=(".dt-published",),
    category=(".p-category",),
    author=(".p-author .p-name", ".p-author"),
)
_H_ATOM: Final = PageSelectors(
    post=(".hentry",),
    title=(".entry-title",),
    body=(".entry-content",),
    date=(".published", "time[datetime]", ".entry-date"),
    category=("a[rel~=category]", ".cat-links a"),
    tags=("a[rel=tag]", ".tags-links a"),
    author=(".author .fn", ".vcard .fn"),
    drop=(".sharedaddy", ".jp-relatedposts", ".wp-block-post-navigation-link"),
    password=("form.post-password-form",),
)
_TYPES: Final = ("BlogPosting", "Article", "NewsArticle")
_MICRODATA: Final = PageSelectors(
    post=tuple(f"[itemtype$='schema.org/{each}']" for each in _TYPES),
    title=("[itemprop=headline]", "[itemprop=name]"),
    body=("[itemprop=articleBody]", "[itemprop='articleBody description']"),
    date=("[itemprop=datePublished]",),
    category=("[itemprop=articleSection]",),
    author=("[itemprop=author] [itemprop=name]", "[itemprop=author]"),
)
_MARKED: Final = PageSelectors(
    post=("article", "main"),
    title=("h1", ".entry-title", ".post-title"),
    body=(
        "[itemprop=articleBody]", ".e-content", ".entry-content", ".post-content", ".post-body", ".article-body",
        ".article-content", ".article__content", ".entry-body", ".post__content",
    ),
    date=("time[datetime]", ".entry-date", ".post-date"),
    category=("a[rel~=category]", ".p-category"),
    tags=("a[rel=tag]",),
)  # fmt: skip
"""Names that themes use; with JSON-LD they are sure."""
_ARTICLE: Final = PageSelectors(
    post=("article",),
    title=("h1", "h2"),
    body=("article",),
    date=("time[datetime]",),
    category=_MARKED.category,
    tags=_MARKED.tags,
    drop=("h1", "nav", "header", "footer", "aside", "form", "script", "style", "time"),
)
_GUESSED: Final = PageSelectors(
    title=("h1", "h2"),
    body=("article", "main", "#content", ".content", "body"),
    date=("time[datetime]", ".date"),
    drop=("nav", "header", "footer", "aside", "form", "script", "style"),
)
UNSURE: Final = frozenset({"extracted", "guessed", "heading", "window"})
"""The sources of a page's facts that are less certain than a feed."""
_SHOWN: Final = "img, picture, video, audio, iframe, object, embed, svg, canvas"
_COUNT: Final = re.compile(
    r"(?:コメント|comments?|CM)[^0-9]{0,6}([0-9]{1,6})|[(（]\s*([0-9]{1,6})\s*[)）]\s*\Z", re.IGNORECASE
)


class Confidence(StrEnum):
    """How sure it is that a record has the whole text of its post and nothing else."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(slots=True)
class PageArticle:
    """A post as its page shows it.

    Attributes:
        how: the way that found the text.
        body: HTML with absolute addresses, and so is ``more``.
        date: ISO 8601 with an offset; empty if the page states none.
        categories: names, with their names in addresses.
        password: whether the page asks for a password in place of the text.
        comments_stated: the number of comments that the page states.
        sources: what each field was read from: a way, ``metadata``, ``heading`` or ``window``, the window's title.
    """

    def name_source(self, source: str) -> None:
        """Name the source of the fields that were read since the last call."""
        for name in ("title", "date", "updated", "author", "categories", "tags", "body"):
            if getattr(self, name):
                self.sources.setdefault(name, source)

    how: str
    confidence: Confidence
    title: str = ""
    body: str = ""
    more: str = ""
    date: str = ""
    updated: str = ""
    author: str = ""
    categories: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    excerpt: str = ""
    featured: str = ""
    is_page: bool = False
    password: bool = False
    comments_stated: int | None = None
    sources: dict[str, str] = field(default_factory=dict)


Extract = Callable[[str], str]
"""Returns the main text of a page as HTML; empty if there is none."""


@dataclass(frozen=True, slots=True)
class ArticleReader:
    """Reads the posts of one blog.

    Attributes:
        rules: of the blog's service; ``None`` if it is unknown.
        timezone: of dates without an offset.
        extract: finds the main text of any other page; ``None`` if no library for it is installed.
    """

    rules: PageRules | None
    timezone: tzinfo
    extract: Extract | None

    def read(self, root: PageElement, facts: StatedFacts, source: str, address: str) -> PageArticle | None:
        """Return the post on a page, or ``None`` if the page shows none.

        Args:
            root: the page.
            facts: the metadata of the page.
            source: its text.
            address: its address, for relative addresses in it.
        """
        heading = title_heading(root, facts.title)
        found = self._by_selectors(root, facts)
        if found is None and self._asks_password(root):
            found = PageArticle("password", Confidence.HIGH, facts.title, password=True)
        found = found or self._unmarked(root, heading, source) or self._empty(root)
        if found is None:
            return None
        self._complete(found, root, facts, address, heading)
        base = root.first("base[href]")
        origin = (absolute(base.attribute("href"), address) if base is not None else None) or address
        found.body, found.more = (with_addresses(html, origin) for html in (found.body, found.more))
        if found.featured:
            found.featured = absolute(found.featured, origin) or ""
        return found

    def _unmarked(self, root: PageElement, heading: PageElement | None, source: str) -> PageArticle | None:
        """Return the post on a page in no known form."""
        main = main_text(heading, self._has_date) if heading is not None else None
        body = self.extract(source) if self.extract is not None else ""
        if body:
            return PageArticle("extracted", Confidence.LOW, body=body if main is None else main.html)
        if main is not None:
            return PageArticle("guessed", Confidence.LOW, body=main.html)
        return self._part(root, _GUESSED, "guessed", Confidence.LOW)

    def _empty(self, root: PageElement) -> PageArticle | None:
        """Return the post whose text is an empty element, on a page without any other text."""
        rules = self.rules
        names = (*(rules.page.body if rules is not None else ()), *_MARKED.body)
        return PageArticle("guessed", Confidence.LOW) if root.first(*names) is not None else None

    def _has_date(self, text: str) -> bool:
        return read_page_date(text, self.timezone) is not None

    def _by_selectors(self, root: PageElement, facts: StatedFacts) -> PageArticle | None:
        rules = self.rules
        if rules is not None:
            found = self._part(root, rules.page, f"rule:{rules.name}", Confidence.HIGH)
            if found is not None:
                return found
        high, medium = Confidence.HIGH, Confidence.MEDIUM
        return (
            self._part(root, _H_ENTRY, "h-entry", high, single=True)
            or self._part(root, _H_ATOM, "h-entry", high, single=True)
            or self._part(root, _MICRODATA, "schema.org", high, single=True)
            or (self._part(root, _MARKED, "schema.org", medium, single=True) if facts.posting else None)
            or self._article(root)
        )

    def _article(self, root: PageElement) -> PageArticle | None:
        """Return the post in the page's only ``article`` (HTML Standard, section 4.3.2), if it has a title and date."""
        if len(root.select("article")) != 1:
            return None
        for selectors in (_MARKED, _ARTICLE):
            found = self._part(root, selectors, "article", Confidence.MEDIUM, single=True)
            if found is not None and found.title and found.date and plain_text(found.body):
                return found
        return None

    def _part(
        self,
        root: PageElement,
        selectors: PageSelectors,
        how: str,
        confidence: Confidence,
        *,
        single: bool = False,
    ) -> PageArticle | None:
        """Return the post that selectors find; with ``single`` only if the page shows one post."""
        bodies = _bodies(root, selectors.post, selectors.body) or _bodies(root, selectors.post, selectors.more)
        if not bodies or (single and len(bodies) > 1):
            return None
        around = _around(root, bodies[0], selectors)
        title = around.first(*selectors.title) if selectors.title else None
        date, updated = (
            self._date(around, selectors.date),
            around.first(".dt-updated", ".updated", "[itemprop=dateModified]"),
        )
        author = around.first(*selectors.author) if selectors.author else None
        found = PageArticle(
            how,
            confidence,
            title.text() if title is not None else "",
            date=date,
            updated=self._when(updated) if updated is not None else "",
            author=author.text() if author is not None else "",
            categories=_names(around, selectors.category),
            tags=_names(around, selectors.tags),
        )
        more = around.first(*selectors.more) if selectors.more else None
        if more is not None and more not in bodies:
            found.more = more.inner_html_without(selectors.drop).strip()
        found.body = "\n".join(body.inner_html_without(selectors.drop).strip() for body in bodies)
        if found.more and more is not None and any(each in bodies for each in more.ancestors()):
            found.more = ""
        if how == "guessed" and not plain_text(found.body):
            return None
        return found

    def _date(self, around: PageElement, selectors: Iterable[str]) -> str:
        for selector in selectors:
            for element in around.select(selector)[:5]:
                if when := self._when(element):
                    return when
        return ""

    def _when(self, element: PageElement) -> str:
        values = (*(element.attribute(name) for name in ("datetime", "content", "title")), element.text())
        found = (read_page_date(each, self.timezone) for each in values if each)
        return next((each.isoformat() for each in found if each is not None), "")

    def _complete(
        self, found: PageArticle, root: PageElement, facts: StatedFacts, address: str, heading: PageElement | None
    ) -> None:
        """Add the facts of metadata that the selectors did not find."""
        found.name_source(found.how)
        if not found.title and heading is not None:
            found.title = heading.text()
            found.name_source("heading")
        if not found.title:
            found.title = _heading(root, facts.title)
            found.name_source("window")
        found.date = found.date or self._date(root, ("article time[datetime]", "main time[datetime]"))
        # A template may show only the day; metadata has the time.
        stated = stated_date(facts.published, self.timezone)
        if not found.date or (found.date[11:19] == "00:00:00" and stated[:10] == found.date[:10]):
            found.date = stated or found.date
            found.sources.pop("date", None)
        if not found.date and heading is not None:
            found.date = stated_date(date_near(heading, self._has_date), self.timezone)
            found.name_source("heading")
        found.updated = found.updated or stated_date(facts.updated, self.timezone)
        found.author = found.author or facts.author
        found.categories = found.categories or facts.names
        found.tags = found.tags or facts.tags
        found.name_source("metadata")
        found.excerpt = found.excerpt or facts.excerpt
        found.featured = found.featured or facts.featured
        found.comments_stated = self._comment_count(root, facts, address)
        body = root.first("body")
        classes = body.attribute("class").lower().split() if body is not None else []
        found.is_page = "page" in classes and "single" not in classes
        if found.confidence is not Confidence.LOW and not found.date and not found.password:
            found.confidence = Confidence.MEDIUM

    def _comment_count(self, root: PageElement, facts: StatedFacts, address: str) -> int | None:
        """Return the number of comments that the page states for this post, not for others in its side bar."""
        if facts.comment_count is not None:
            return facts.comment_count
        for selector in self.rules.page.comment_count if self.rules is not None else ():
            for element in root.select(selector)[:_MAX_COUNTS]:
                place = element.attribute("href").partition("#")[0]
                counted = _COUNT.search(element.text())
                if counted is not None and (not place or absolute(place, address) == address):
                    return int(counted[1] or counted[2])
        return None

    def _asks_password(self, root: PageElement) -> bool:
        selectors = (*(self.rules.page.password if self.rules is not None else ()), *_H_ATOM.password)
        return root.first(*selectors) is not None


def _heading(root: PageElement, title: str) -> str:
    """Return the heading of a page, or its title if it has no single heading that begins the title."""
    headings = [heading.text() for heading in root.select("h1")]
    return headings[0] if len(headings) == 1 and headings[0] and title.startswith(headings[0]) else title


def _bodies(root: PageElement, posts: Iterable[str], bodies: Iterable[str]) -> list[PageElement]:
    """Return the elements with the text, of the first selector that finds one with a content; none inside another."""
    places = [place for each in posts for place in root.select(each)]
    for selector in bodies:
        inside = next((found for place in places if (found := _with_content(place.select(selector)))), None)
        found = inside or _with_content(root.select(selector))
        if found:
            parts = frozenset(found)
            return [each for each in found if parts.isdisjoint(each.ancestors())]
    return []


def _with_content(elements: list[PageElement]) -> list[PageElement]:
    """Return the elements that show something; themes leave empty ones where scripts or other views write."""
    return [
        each
        for each in elements[:_MAX_PARTS]
        if each.first(_SHOWN) is not None or _is_seen(plain_text(each.inner_html))
    ]


def _is_seen(text: str) -> bool:
    return any(each.isprintable() and not each.isspace() for each in text)


def _around(root: PageElement, body: PageElement, selectors: PageSelectors) -> PageElement:
    """Return the element around the whole post of a text."""
    places = [place for each in selectors.post for place in root.select(each)]
    around = [each for _, each in zip(range(_CLIMBED * 4), body.ancestors(), strict=False) if each.tag != "-document"]
    found = next((each for each in around if each in places), None)
    if found is not None:
        return found
    wanted = selectors.title or ("h1",)
    return next((each for each in around[:_CLIMBED] if each.first(*wanted) is not None), body)


def _names(around: PageElement, selectors: Iterable[str]) -> list[str]:
    for selector in selectors:
        found = [name for each in around.select(selector) if (name := each.text() or each.attribute("content"))]
        if found:
            return list(dict.fromkeys(found))
    return []


def with_addresses(html: str, address: str) -> str:
    """Return HTML whose relative addresses are absolute; anchors on the page stay."""

    def resolve(text: str) -> str | None:
        if text.startswith("#") or re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:", text):
            return None
        return absolute(text, address)

    return rewrite_addresses(html, resolve) if html else html
