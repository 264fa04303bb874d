"""A calendar of the days on which public entries were written, for programs that remind their user (RFC 5545)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final, NamedTuple

from exporter.export.interface import ViewFile
from exporter.model.kinds import Kind
from exporter.model.publication import PostStatus
from exporter.site.pages.site import Site
from exporter.site.post_list import PostSummary

CALENDAR: Final = "on-this-day.ics"
"""The calendar's path in the site."""
_LISTED_ENTRIES: Final = 40
"""Entries named in the description of a day; an imported blog can have thousands on one day."""
_SUMMARY_TITLES: Final = 3
_FIRST_YEAR: Final = 1904
"""A leap year: programs compute every repetition since the first, and some stop before this century."""
_LINE_BYTES: Final = 75
_ESCAPED: Final = re.compile(r"[\\;,\n]")


class _Written(NamedTuple):
    """A public entry: when it was written, its title, and its address or its page."""

    date: datetime
    title: str
    link: str


def reminder_files(site: Site) -> Iterator[ViewFile]:
    """Yield the calendar if an entry is public, and note this for the page about the site."""
    if site.visibility is None and not site.options.public:
        return
    days = site.catalogue.dated.grouped(
        lambda post: () if post.date is None or post.gone_in is not None else (f"{post.date:%m%d}",)
    )
    events = [event for day, posts in sorted(days.items()) for event in _event(site, day, posts)]
    if not events:
        return
    site.has_calendar = True
    name = site.t("{blog}: on this day", blog=site.options.title or site.catalogue.records.blog_id)
    lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//blog-exporter//on this day//EN",
        "CALSCALE:GREGORIAN",
        "METHOD:PUBLISH",
        f"X-WR-CALNAME:{_escaped(name)}",
        *events,
        "END:VCALENDAR",
    ]
    data = b"".join(map(_folded, lines))
    yield ViewFile(CALENDAR, sha256(data).digest(), lambda: data)


def _event(site: Site, day: str, posts: Sequence[PostSummary]) -> list[str]:
    """Return a day's yearly event (``MMDD``) as lines, or none without a public entry."""
    first = newest = None
    listed: list[_Written] = []
    total = 0
    for post in posts:  # the newest first
        found = _written(site, post)
        if found is not None:
            total += 1
            newest, first = newest or found.date, found.date
            if len(listed) < _LISTED_ENTRIES:
                listed.append(found)
    if first is None or newest is None:
        return []
    shown = [f"{each.title} ({each.date.year})" for each in listed[:_SUMMARY_TITLES]]
    more = site.t("and {n} more", n=total - len(shown)) if total > len(shown) else ""
    texts = [f"{each.date.year} {each.title}\n{each.link}" for each in listed]
    rest = site.t("and {n} more", n=total - len(listed)) if total > len(listed) else ""
    # In other years than leap years, the last day of February is the 28th.
    rule = "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=-1" if day == "0229" else "FREQ=YEARLY"
    first_year = max(first.year, _FIRST_YEAR)
    identity = sha256(site.catalogue.records.blog_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return [
        "BEGIN:VEVENT",
        f"UID:{day}-{identity}@on-this-day.blog-exporter",
        f"DTSTAMP:{_moment(newest)}",
        f"DTSTART;VALUE=DATE:{first_year}{day}",
        f"RRULE:{rule}",
        f"SUMMARY:{_escaped(' / '.join(filter(None, [*shown, more])))}",
        f"DESCRIPTION:{_escaped(chr(10).join(filter(None, [*texts, rest])))}",
        "TRANSP:TRANSPARENT",
        "END:VEVENT",
    ]


def _written(site: Site, post: PostSummary) -> _Written | None:
    """Return an entry if everybody may read it on the web, else ``None``."""
    raw = None if post.private or post.access else site.catalogue.records.load(Kind.ENTRIES, post.id)
    if post.date is None or raw is None:
        return None
    entry = site.catalogue.service.post(raw, site.catalogue.records.load(Kind.ENTRY_LIST, post.id))
    if site.visibility is not None and site.visibility.entry(entry).status is not PostStatus.PUBLISH:
        return None
    return _Written(post.date, post.title or site.t("(untitled)"), site.catalogue.original_address(entry) or post.page)


def _moment(date: datetime) -> str:
    """Return a time in UTC; a date at the end of the calendar keeps its own time."""
    try:
        return f"{date.astimezone(UTC):%Y%m%dT%H%M%SZ}".rjust(16, "0")
    except OverflowError:
        return f"{date:%Y%m%dT%H%M%SZ}".rjust(16, "0")


def _escaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: "\\n" if found[0] == "\n" else f"\\{found[0]}", text)


def _folded(line: str) -> bytes:
    """Return a content line in lines of at most 75 bytes, none of which ends inside of a character."""
    data = line.encode()
    parts: list[bytes] = []
    start, room = 0, _LINE_BYTES
    while len(data) - start > room:
        end = start + room
        while data[end] & 0xC0 == 0x80:  # a byte that continues a character
            end -= 1
        parts.append(data[start:end])
        start, room = end, _LINE_BYTES - 1
    return b"\r\n ".join([*parts, data[start:]]) + b"\r\n"
