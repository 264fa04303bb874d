"""The comments on a post's page: by the rules of its service, microformats, schema.org, or WordPress' markup. Pure."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from datetime import tzinfo
from html import escape
from itertools import islice
from typing import Any, Final

from exporter.html.links import absolute
from exporter.html.selection import PageElement
from exporter.service.public_site.dates import read_page_date
from exporter.service.public_site.facts import StatedFacts
from exporter.service.public_site.page_rules import PageRules, PageSelectors

MAX_COMMENTS: Final = 20_000
_ID_CHARACTERS: Final = 80
_MAX_DEPTH: Final = 100
_ID: Final = re.compile(r"[A-Za-z][A-Za-z_-]*-?([0-9]{1,20})")
_FORMS: Final = (
    PageSelectors(
        comment=(".h-entry .p-comment", ".h-entry .h-cite"),
        comment_name=(".p-author .p-name", ".p-author"),
        comment_date=(".dt-published",),
        comment_text=(".e-content", ".p-content", ".p-name"),
    ),
    PageSelectors(
        comment=("[itemprop=comment]", "[itemtype$='schema.org/Comment']", "[itemtype$='schema.org/UserComments']"),
        comment_name=("[itemprop=author] [itemprop=name]", "[itemprop=author]", "[itemprop=creator]"),
        comment_date=("[itemprop=dateCreated]", "[itemprop=datePublished]", "[itemprop=commentTime]"),
        comment_text=("[itemprop=text]", "[itemprop=commentText]"),
    ),
    PageSelectors(
        comment=("ol.comment-list li.comment", "ol.commentlist li.comment", "#comments li.comment"),
        comment_name=(".comment-author .fn", ".fn"),
        comment_date=(".comment-metadata time", "time", ".comment-meta"),
        comment_text=(".comment-content", ".comment-body > p", ".comment-body"),
    ),
)


def read_comments(
    root: PageElement, facts: StatedFacts, rules: PageRules | None, post_id: str, address: str, timezone: tzinfo
) -> list[dict[str, Any]]:
    """Return the comments on a page as records, in their order.

    The id has the post's id and the comment's anchor. Without an anchor it has a hash of name, date and text.
    """
    forms = (*((rules.page,) if rules is not None and rules.page.comment else ()), *_FORMS)
    for form in forms:
        for selector in form.comment:
            found = root.select(selector)[:MAX_COMMENTS]
            if found:
                all_of_them = frozenset(found)
                read = (_comment(each, all_of_them, form, address, timezone) for each in found)
                return list(_numbered(post_id, read))
    return list(_numbered(post_id, (_of_json(each, timezone) for each in facts.comments)))


def _numbered(post_id: str, comments: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the comments that have a text with their ids; equal ones get a number."""
    turns: Counter[str] = Counter()
    for raw in comments:
        if not raw["text"] and not raw["name"]:
            continue
        anchor = raw.pop("anchor")
        parent = raw.pop("parent")
        own = "\0".join((raw["name"], raw["date"], raw["text"])).encode("utf-8", "surrogatepass")
        local = anchor or hashlib.sha256(own).hexdigest()[:12]
        turns[local] += 1
        number = turns[local]
        record_id = f"{post_id}#{local}" if number == 1 else f"{post_id}#{local}-{number}"
        parents = {"parent": f"{post_id}#{parent}"} if parent else {}
        yield {"id": record_id, "post_id": post_id, **raw, **parents, "status": "shown"}


def _comment(
    element: PageElement, comments: frozenset[PageElement], form: PageSelectors, address: str, timezone: tzinfo
) -> dict[str, Any]:
    name, title = _first(element, form.comment_name), _first(element, form.comment_title)
    text, date = _first(element, form.comment_text), _first(element, form.comment_date)
    link = None if name is None else name if name.tag == "a" else name.first("a[href]")
    known = (_anchor(each) for each in islice(element.ancestors(), _MAX_DEPTH) if each in comments)
    return {
        "anchor": _anchor(element),
        "parent": next(filter(None, known), ""),
        "name": name.text() if name is not None else "",
        "title": title.text() if title is not None else "",
        "date": _date(date, timezone),
        "text": (text if text is not None else element).inner_html.strip(),
        "url": (absolute(link.attribute("href"), address) or "") if link is not None else "",
        **({"by_owner": True} if "bypostauthor" in element.attribute("class").split() else {}),
    }


def _first(element: PageElement, selectors: tuple[str, ...]) -> PageElement | None:
    return element.first(*selectors) if selectors else None


def _anchor(element: PageElement) -> str:
    """Return the number in a comment's anchor, or the whole anchor."""
    place = element.attribute("id")
    if not place:
        named = element.first("a[name]")
        place = named.attribute("name") if named is not None else ""
    found = _ID.fullmatch(place)
    return found[1] if found is not None else place[:_ID_CHARACTERS]


def _date(element: PageElement | None, timezone: tzinfo) -> str:
    if element is None:
        return ""
    values = (element.attribute("datetime"), element.attribute("content"), element.attribute("title"), element.text())
    found = (read_page_date(each, timezone) for each in values if each)
    return next((each.isoformat() for each in found if each is not None), "")


def _of_json(raw: dict[str, Any], timezone: tzinfo) -> dict[str, Any]:
    author = raw.get("author")
    name = author.get("name") if isinstance(author, dict) else author
    date = raw.get("dateCreated") or raw.get("datePublished")
    when = read_page_date(date, timezone) if isinstance(date, str) else None
    text, place = raw.get("text"), raw.get("@id")
    return {
        "anchor": place.rpartition("#")[2][:_ID_CHARACTERS] if isinstance(place, str) and "#" in place else "",
        "parent": "",
        "name": name if isinstance(name, str) else "",
        "title": "",
        "date": "" if when is None else when.isoformat(),
        "text": escape(text, quote=False) if isinstance(text, str) else "",
        "url": "",
    }
