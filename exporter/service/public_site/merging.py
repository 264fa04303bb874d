"""Merge the facts about a post that its page and a feed state, field by field: the more certain one wins. Pure.

``taken_from`` in the record names the source of each field, and ``other`` has the value of the page or the feed that
lost. A feed shows only the newest posts, so a record keeps its facts until the page states something else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import tzinfo
from typing import Any, Final

from exporter.html.text import collapse, plain_text
from exporter.service.public_site.article import UNSURE, Confidence, with_addresses
from exporter.service.public_site.dates import stated_date
from exporter.service.public_site.feeds import FeedItem

FEED: Final = "feed"
TAKEN_FROM: Final = "taken_from"
OTHER: Final = "other"
_BODY: Final = "body"
_DATE: Final = "date"
_CUT: Final = re.compile(
    r"(?:…|\.\.\.|続きを読む|続きはこちら|続きを見る|もっと読む|read more|continue reading)[\s\W]*\Z", re.IGNORECASE
)
"""The end of a text of which a feed has only the beginning."""
_MIDNIGHT: Final = "T00:00:00"


def feed_facts(item: FeedItem, address: str, timezone: tzinfo) -> dict[str, Any]:
    """Return the facts in a feed's item by names of fields, without missing ones."""
    facts: dict[str, Any] = {
        "title": collapse(plain_text(item.title)),
        _DATE: stated_date(item.published, timezone),
        "updated": stated_date(item.updated, timezone),
        "author": item.author,
        "categories": list(item.categories),
        _BODY: with_addresses(item.content, address),
    }
    return {name: value for name, value in facts.items() if value}


def merge(record: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record that was read on a page, merged with the facts in a feed."""
    found, sources, other = dict(record), dict(record[TAKEN_FROM]), dict(record.get(OTHER, {}))
    for name, value in facts.items():
        shown = record[name]
        if name == _BODY and _letters(value) == _letters(shown):
            continue
        if value == shown:
            continue
        if _wins(name, value, record):
            found[name], sources[name] = value, FEED
            if name == _BODY:
                # The kept page has the other text; its side bars would change the record every day.
                found["more"], found["how"] = "", FEED
                found["confidence"] = str(Confidence.MEDIUM)
            elif shown:
                other[name] = shown
        else:
            other[name] = value
    return {**found, TAKEN_FROM: sources, **({OTHER: other} if other else {})}


def with_earlier(record: Mapping[str, Any], earlier: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with the facts that a feed stated at an earlier reading, if the page is still the same."""
    before, others = earlier.get(TAKEN_FROM), earlier.get(OTHER, {})
    if not isinstance(before, dict) or not isinstance(others, dict):
        return dict(record)
    now, other = dict(record[TAKEN_FROM]), dict(record.get(OTHER, {}))
    found = dict(record)
    for name in (each for each in _FIELDS if now.get(each) != FEED and each not in other):
        if before.get(name) != FEED:
            if name in others and record[name] == earlier.get(name):
                other[name] = others[name]
            continue
        value, shown = earlier.get(name), record[name]
        if name == _BODY:
            same = isinstance(value, str) and _letters(value) in _letters(shown) and record["how"] in UNSURE
        else:
            same = shown == others.get(name, [] if name == "categories" else "")
        if same:
            found[name], now[name] = value, FEED
            if name == _BODY:
                found["more"], found["how"], found["confidence"] = "", FEED, str(Confidence.MEDIUM)
            elif name in others:
                other[name] = others[name]
    return {**found, TAKEN_FROM: now, **({OTHER: other} if other else {})}


_FIELDS: Final = ("title", _DATE, "updated", "author", "categories", _BODY)


def _wins(name: str, value: Any, record: Mapping[str, Any]) -> bool:
    """Return whether a feed's fact is more certain than that of the page."""
    shown, source = record[name], record[TAKEN_FROM].get(name, "")
    if not shown:
        return name != _BODY or record["status"] == "public"
    if name == _BODY:
        if _CUT.search(plain_text(value)):
            return False
        # A text that was chosen by its place may lack a part that the feed has.
        lacks = record["confidence"] == Confidence.MEDIUM and _letters(shown) in _letters(value)
        return source in UNSURE or lacks
    if name == _DATE and shown[:10] == value[:10] and _MIDNIGHT in shown:
        return True
    return source in UNSURE


def _letters(html: str) -> str:
    return "".join(plain_text(html).split())
