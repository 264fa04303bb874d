"""The facts that a page states about its post in metadata: JSON-LD, Open Graph, ``meta`` and TrackBack's RDF. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape
from typing import Any, Final

from exporter.html.selection import PageElement
from exporter.lossless_json import NotJson, loads

_POSTINGS: Final = frozenset(
    {"BlogPosting", "Article", "NewsArticle", "SocialMediaPosting", "TechArticle", "LiveBlogPosting"}
)
_DATES: Final = (
    "article:published_time", "datepublished", "dc.date", "dc.date.issued", "dcterms.created", "dcterms.date",
    "dcterms.issued", "date", "pubdate", "publishdate", "publish-date", "parsely-pub-date",
)  # fmt: skip
"""Names by which ``meta`` elements state the day of a post."""
_MAX_SCRIPTS: Final = 50
_MAX_SCRIPT_CHARACTERS: Final = 500_000
_MAX_OBJECTS: Final = 2_000
_RDF: Final = re.compile(r"<rdf:Description\b([^>]{0,8000})/?>")
_RDF_VALUE: Final = re.compile(r"\b(dc|rdf|trackback):([a-z]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")


@dataclass(slots=True)
class StatedFacts:
    """The facts that a page states outside its text; an empty text for each missing fact.

    Attributes:
        posting: whether metadata calls the page a post.
        names: names of the categories that metadata states.
        comments: the comments in JSON-LD, as objects.
    """

    posting: bool = False
    title: str = ""
    site: str = ""
    published: str = ""
    updated: str = ""
    author: str = ""
    names: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    excerpt: str = ""
    featured: str = ""
    canonical: str = ""
    comment_count: int | None = None
    comments: list[dict[str, Any]] = field(default_factory=list)
    generator: str = ""


def read_facts(root: PageElement, source: str, is_this: Any) -> StatedFacts:
    """Return the facts that a page states.

    Args:
        root: the page.
        source: its text, because TrackBack's RDF is in a comment.
        is_this: returns whether an address is that of the page.
    """
    metas: dict[str, list[str]] = {}
    for each in root.select("meta[content]"):
        name = each.attribute("property") or each.attribute("name") or each.attribute("itemprop")
        metas.setdefault(name.lower(), []).append(each.attribute("content").strip())

    def first(*names: str) -> str:
        return next((value for name in names for value in metas.get(name, ()) if value), "")

    link = root.first("link[rel=canonical]")
    facts = StatedFacts(
        posting=first("og:type").lower() in {"article", "blog:article"},
        site=first("og:site_name"),
        published=first(*_DATES),
        updated=first("article:modified_time", "datemodified"),
        names=list(metas.get("article:section", ())),
        tags=list(metas.get("article:tag", ())),
        featured=first("og:image"),
        canonical=link.attribute("href").strip() if link is not None else first("og:url"),
        generator=first("generator"),
    )
    posting = next(_postings(root), None)
    if posting is not None:
        _add_posting(facts, posting)
    _add_trackback(facts, source, is_this)
    window = root.first("head title", "title")
    facts.title = facts.title or _without_site(first("og:title"), facts.site)
    facts.title = facts.title or _without_site(window.text() if window is not None else "", facts.site)
    return facts


def _without_site(title: str, site: str) -> str:
    """Return a window's title without the blog's name at its end or beginning."""
    name = re.escape(site)
    found = re.fullmatch(rf"(.+?)\s*[-|–—:：｜»«]\s*{name}|{name}\s*[-|–—:：｜»«]\s*(.+)", title) if site else None
    return title if found is None else found[1] or found[2]


def _postings(root: PageElement) -> Iterator[dict[str, Any]]:
    """Yield the objects of posts in the page's JSON-LD."""
    for script in root.select("script[type='application/ld+json']")[:_MAX_SCRIPTS]:
        text = script.script_text.strip()
        if len(text) > _MAX_SCRIPT_CHARACTERS:
            continue
        try:
            value = loads(text.encode("utf-8", "surrogatepass"))
        except NotJson:
            continue
        for found in _objects(value):
            kinds = found.get("@type")
            if _POSTINGS.intersection(kinds if isinstance(kinds, list) and _texts(kinds) else [str(kinds)]):
                yield found


def _texts(values: list[Any]) -> bool:
    return all(isinstance(each, str) for each in values)


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    todo, seen = [value], 0
    while todo and seen < _MAX_OBJECTS:
        found = todo.pop()
        seen += 1
        if isinstance(found, list):
            todo.extend(reversed(found))
        elif isinstance(found, dict):
            yield found
            todo.extend(each for name, each in found.items() if name in {"@graph", "mainEntity", "mainEntityOfPage"})


def _add_posting(facts: StatedFacts, posting: dict[str, Any]) -> None:
    facts.posting = True
    facts.title = unescape(_said(posting.get("headline")) or _said(posting.get("name")))
    facts.published = _said(posting.get("datePublished")) or facts.published
    facts.updated = _said(posting.get("dateModified")) or facts.updated
    facts.author = next(_names(posting.get("author")), "")
    facts.names = [unescape(each) for each in _names(posting.get("articleSection"))] or facts.names
    words = posting.get("keywords")
    split = words.split(",") if isinstance(words, str) else _names(words)
    facts.tags = [unescape(each.strip()) for each in split if each.strip()] or facts.tags
    count = posting.get("commentCount")
    facts.comment_count = int(str(count)) if re.fullmatch("[0-9]{1,7}", str(count)) else None
    comments = posting.get("comment")
    listed = comments if isinstance(comments, list) else [comments]
    facts.comments = [each for each in listed[:_MAX_OBJECTS] if isinstance(each, dict)]


def _add_trackback(facts: StatedFacts, source: str, is_this: Any) -> None:
    """Add the RDF by which blogs announce where a post takes TrackBacks (TrackBack specification, discovery)."""
    for found in _RDF.finditer(source):
        values = {f"{each[1]}:{each[2]}": unescape(each[3] or each[4] or "") for each in _RDF_VALUE.finditer(found[1])}
        if "dc:title" not in values or not is_this(values.get("dc:identifier") or values.get("rdf:about", "")):
            continue
        facts.posting = True
        facts.title = facts.title or values["dc:title"].strip()
        facts.published = facts.published or values.get("dc:date", "")
        facts.author = facts.author or values.get("dc:creator", "").strip()
        subject = values.get("dc:subject", "").strip()
        facts.names = facts.names or ([subject] if subject else [])
        return


def _said(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _names(value: Any) -> Iterator[str]:
    """Yield the texts in a value of schema.org: a text, an object with a name, or a list of such."""
    for each in value if isinstance(value, list) else [value]:
        name = _said(each.get("name")) if isinstance(each, dict) else _said(each)
        if name:
            yield name
