"""The feed of the server: the public entries that were written on this day, or on the days before, in earlier years."""

from __future__ import annotations

import contextlib
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.archive.archive import Archive, read_consistently
from exporter.export.feeds import entry_head, feed_frame
from exporter.export.post_html import escaped
from exporter.html.links import AddressPattern, absolute
from exporter.library.views import served_options
from exporter.library.visibility import visibility_of
from exporter.model.kinds import Kind
from exporter.model.publication import PostStatus
from exporter.model.records import PostKind
from exporter.service.registry import service_of
from exporter.site.catalogue import beginning_of, one_line, safe_name
from exporter.translation import translator

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from exporter.archive.state import State
    from exporter.export.posts import Visibility
    from exporter.model.records import Post
    from exporter.service.interface import Records
    from exporter.settings import Settings

DAY_FEED: Final = "/on-this-day.atom"
"""The feed's path below the server's address."""
_DAYS: Final = 7
"""Days in the feed, so that a program that asks once a week misses none."""
_MAX_ENTRIES: Final = 200


class _Anniversary(NamedTuple):
    """A public entry: the midnight of its day this year, when it was written, its id, and the entry."""

    due: datetime
    written: datetime
    id: str
    entry: Post


def day_feed(path: Path, settings: Settings, now: datetime, site: str) -> bytes | None:
    """Return the feed in Atom 1.0, or ``None`` if the owner must still declare which entries are public.

    Args:
        path: the archive's folder.
        settings: how to read the records, and which entries are public.
        now: the current time.
        site: the address of the site, for the pages of entries whose own address is unknown.
    """

    def work(archive: Archive) -> bytes | None:
        service, options = service_of(settings, archive.info.service), served_options(settings, archive)
        blog_id = archive.info.blog_id
        today = now.astimezone(service.timezone).replace(hour=0, minute=0, second=0, microsecond=0)
        with contextlib.closing(archive.state(archive.resolve())) as state:
            visibility = visibility_of(archive, state, service, settings)
            if visibility is None:
                return None
            found = list(_anniversaries(state, service, visibility, today))
        found.sort(key=lambda each: (each.due, each.written, each.id), reverse=True)
        patterns = [AddressPattern(text, "entry_url") for text in options.entry_addresses]

        def address(each: _Anniversary) -> str:
            own = absolute(each.entry.permalink, f"https://{blog_id}/") if each.entry.permalink else None
            known = [own, *(pattern.fill(each.entry.raw) for pattern in patterns)]
            return next(filter(None, known), f"{site}/entry/{safe_name(each.id)}.html")

        t = translator(options.language)
        title = t("{blog}: on this day", blog=options.title or blog_id)
        frame = feed_frame(blog_id, f"tag:{blog_id},1970-01-01:on-this-day", title, today)
        lines = []
        for each in found[:_MAX_ENTRIES]:
            name = one_line(each.entry.title) or t("(untitled)")
            identity = f"tag:{blog_id},{each.due:%Y-%m-%d}:entry-{each.id}"
            lines += ["<entry>", *entry_head(identity, f"{each.written.year}: {name}", address(each))]
            lines += [
                f"<published>{each.due.isoformat()}</published>",
                f"<updated>{each.due.isoformat()}</updated>",
                f"<summary>{escaped(beginning_of(each.entry.body))}</summary>",
                "</entry>",
            ]
        return frame.head + "".join(f"{line}\n" for line in lines).encode() + frame.tail

    return read_consistently(path, work)


def _anniversaries(state: State, service: Records, visibility: Visibility, today: datetime) -> Iterator[_Anniversary]:
    """Yield the public entries of the last days in earlier years; those of 29 February are due a day early."""
    due = {}
    for recent in (today - timedelta(days=before) for before in range(_DAYS)):
        due[recent.month, recent.day] = recent
        if (recent.month, recent.day) == (2, 28) and (recent + timedelta(days=1)).month == 3:
            due[2, 29] = recent
    for entry_id, raw in state.scan(Kind.ENTRIES):
        written = service.post(raw).date
        day = None if written is None else due.get((written.month, written.day))
        if written is None or day is None or written.year >= day.year:
            continue
        entry = service.post(raw, state.load(Kind.ENTRY_LIST, entry_id))
        if entry.kind is not PostKind.PAGE and visibility.entry(entry).status is PostStatus.PUBLISH:
            yield _Anniversary(day, written, entry_id, entry)
