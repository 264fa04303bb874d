"""The comments on a post's page: by the rules of its service, microformats, schema.org, or WordPress' markup. Pure."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import tzinfo
from html import escape
from itertools import islice
from typing import Any, Final

from exporter.html.links import absolute
from exporter.html.selection import PageElement
from exporter.html.text import plain_text
from exporter.service.public_site.dates import read_page_date
from exporter.service.public_site.facts import StatedFacts
from exporter.service.public_site.page_rules import PageRules, PageSelectors

MAX_COMMENTS: Final = 20_000
_ID_CHARACTERS: Final = 80
_MAX_DEPTH: Final = 100
_ID: Final = re.compile(r"[A-Za-z][A-Za-z_-]*-?([0-9]{1,20})")
_NUMBERS: Final = re.compile("[0-9]+")
_RANDOM: Final = re.compile("(?<![0-9a-z])(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{8,}(?![0-9a-z])", re.IGNORECASE)
"""A hash, or a part of a UUID."""
_LEAST_DIGITS: Final = 5
"""The digits from which on a number is one of a database: no post has 10,000 comments on its page."""
_HASH_CHARACTERS: Final = 12
_PERMALINKS: Final = ("a.u-url[href]", "a[itemprop=url][href]", "a[rel~=bookmark][href]", ".comment-date a[href*='#']")
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

    The id has the post's id and the comment's own number. Many templates only count the comments, so the number changes
    when an earlier comment is removed. Then the id has a hash of name, date and text.
    """
    lasting = (
        "wordpress" in facts.generator.lower()
        or root.first("[src*='/wp-content/'], [href*='/wp-content/']") is not None
    )
    forms = (*((rules.page,) if rules is not None and rules.page.comment else ()), *_FORMS)
    for form in forms:
        for selector in form.comment:
            found = root.select(selector)[:MAX_COMMENTS]
            if found:
                read = ((each, _comment(each, form, address, timezone)) for each in found)
                return list(_with_ids(post_id, read, lasting=lasting))
    stated = ((None, _of_json(each, timezone)) for each in facts.comments)
    return list(_with_ids(post_id, stated, lasting=lasting))


def _with_ids(
    post_id: str, comments: Iterable[tuple[PageElement | None, dict[str, Any]]], *, lasting: bool
) -> Iterator[dict[str, Any]]:
    """Yield the comments that have a text with their ids; equal ones get a number.

    Args:
        post_id: the id of their post.
        comments: each with its element, if it has one.
        lasting: whether all numbers are those of a database.
    """
    turns: Counter[str] = Counter()
    ids: dict[PageElement, str] = {}
    for element, raw in comments:
        if not raw["text"] and not raw["name"]:
            continue
        local = _own_number(raw.pop("anchor"), post_id, lasting=lasting) or _content_hash(raw)
        turns[local] += 1
        number = turns[local]
        record_id = f"{post_id}#{local}" if number == 1 else f"{post_id}#{local}-{number}"
        around = islice(element.ancestors(), _MAX_DEPTH) if element is not None and ids else ()
        parent = next((ids[each] for each in around if each in ids), "")
        if element is not None:
            ids[element] = record_id
        yield {
            "id": record_id, "post_id": post_id, **raw, **({"parent": parent} if parent else {}), "status": "shown",
        }  # fmt: skip


def _own_number(anchor: str, post_id: str, *, lasting: bool) -> str:
    """Return the number or the random name in a comment's anchor; empty if it may only count the comments."""
    numbers = _NUMBERS.findall(anchor)
    if not lasting and not _RANDOM.search(anchor):
        of_post = _NUMBERS.findall(post_id)[-1:] or [""]
        last = numbers[-1].removeprefix(of_post[0]) if numbers else ""
        if len(last.lstrip("0")) < _LEAST_DIGITS:
            return ""
    found = _ID.fullmatch(anchor)
    return found[1] if found is not None else anchor[:_ID_CHARACTERS]


def _content_hash(raw: dict[str, Any]) -> str:
    text = " ".join(plain_text(raw["text"]).split()) or raw["text"]
    own = "\0".join((raw["name"], raw["date"], text)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(own).hexdigest()[:_HASH_CHARACTERS]


def _comment(element: PageElement, form: PageSelectors, address: str, timezone: tzinfo) -> dict[str, Any]:
    name, title = _first(element, form.comment_name), _first(element, form.comment_title)
    text, date = _first(element, form.comment_text), _first(element, form.comment_date)
    link = None if name is None else name if name.tag == "a" else name.first("a[href]")
    return {
        "anchor": _anchor(element),
        "name": name.text() if name is not None else "",
        "title": title.text() if title is not None else "",
        "date": _date(date, timezone),
        "text": (text.inner_html if text is not None else element.inner_html_without(form.comment)).strip(),
        "url": (absolute(link.attribute("href"), address) or "") if link is not None else "",
        **({"by_owner": True} if "bypostauthor" in element.attribute("class").split() else {}),
    }


def _first(element: PageElement, selectors: tuple[str, ...]) -> PageElement | None:
    return element.first(*selectors) if selectors else None


def _anchor(element: PageElement) -> str:
    """Return a comment's anchor, or the fragment in its address."""
    place = element.attribute("id")
    if not place:
        named = element.first("a[name]")
        place = named.attribute("name") if named is not None else ""
    if not place:
        link = element.first(*_PERMALINKS)
        place = link.attribute("href").rpartition("#")[2] if link is not None else ""
    return place


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
        "anchor": place.rpartition("#")[2] if isinstance(place, str) and "#" in place else "",
        "name": name if isinstance(name, str) else "",
        "title": "",
        "date": "" if when is None else when.isoformat(),
        "text": escape(text, quote=False) if isinstance(text, str) else "",
        "url": "",
    }
