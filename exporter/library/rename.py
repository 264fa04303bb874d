"""Continue an archive after its blog was renamed: compare the blog at the new address, then record its new ID.

Every version seals ``archive.json``, so the archive keeps its first ID. Requests use the newest ID in ``names.jsonl``.
Records and links with any of its names belong to the blog.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from exporter.archive.archive import Archive
from exporter.archive.layout import Layout
from exporter.archive.lock import ArchiveLock
from exporter.archive.names import BlogName, add_name, newest_id
from exporter.archive.settings_file import remember
from exporter.clock import SystemClock, timestamp
from exporter.errors import UsageError
from exporter.frozen import frozen
from exporter.library.backup import open_service
from exporter.message import suggested
from exporter.model.kinds import Kind
from exporter.service.declarations import BLOG_V1, DECLARATIONS
from exporter.settings import Settings
from exporter.text import printable

_MIN_SHARE: Final = 0.5
"""The share of known entries whose titles must agree; ids alone may agree by chance."""


@frozen
class Renamed:
    """The comparison of a blog at its new address with the archive.

    Attributes:
        blog_id: the new ID.
        listed: the entries on the first page of its list.
        known: those of them whose id the archive has.
        same: those of them that also have the same title.
    """

    blog_id: str
    listed: int
    known: int
    same: int


async def rename(
    root: Path,
    blog_id: str,
    settings: Settings,
    address: str | None = None,
    *,
    given: Mapping[str, Any] = MappingProxyType({}),
    warn: Callable[[str], None] = lambda _: None,
) -> Renamed:
    """Record a blog's new ID in its archive, if the blog there has the archive's entries.

    One page of the entry list is read. The archive's versions stay untouched.

    Args:
        root: the archive.
        blog_id: the new ID.
        settings: those of a backup of the archive.
        address: the new address, if it is more than the host that is the ID.
        given: those of them that the archive must also remember.
        warn: called with a sentence if the token would travel unencrypted.

    Raises:
        UsageError: the archive is read by its address or from export files, or the blog there is another one.
        NoArchive: the archive has no version.
        ArchiveLocked: another run has the archive.
        ServiceError: the service does not answer, or has no such blog.
    """
    archive = Archive.open(root)
    old = archive.info.blog_id
    name = archive.info.service or BLOG_V1.name
    if settings.base_url is None and name in DECLARATIONS and DECLARATIONS[name].reads_files:
        raise UsageError(
            "The blog in {archive} comes from export files. Export it again after the renaming, and the archive "
            "continues: {command}",
            archive=root,
            command=suggested("backup", "FILE", "--archive", root),
        )
    if name != BLOG_V1.name:
        raise UsageError(
            "The blog in {archive} is read by its address. Back it up from the new one, and the archive continues: "
            "{command}",
            archive=root,
            command=suggested("backup", root, "--base-url", address or f"https://{blog_id}"),
        )
    archive.resolve()
    async with open_service(old, settings, renamed_to=blog_id, warn=warn) as opened:
        service = opened.service
        pages = service.pages(Kind.ENTRY_LIST, old, ())
        call = pages.call(pages.wanted(0)[0])
        page = await opened.client.fetch(call.request, call.parse)
    known = same = 0
    with closing(archive.state()) as state:
        titles = {record_id: service.post(None, raw).title for record_id, raw in state.scan(Kind.ENTRY_LIST)}
    for item in page.items:
        key = service.key(Kind.ENTRY_LIST, item)
        if key in titles:
            known += 1
            same += service.post(None, item).title == titles[key]
    if not same or same < _MIN_SHARE * known:
        raise UsageError(
            "{new} is not the blog in {archive}: of {listed:,} entries on its first page, {same:,} are in the archive "
            "with the same title. Nothing was changed.",
            new=printable(blog_id, 120),
            archive=root,
            listed=len(page.items),
            same=same,
        )
    layout = Layout(root)
    if (newest_id(layout) or old) != blog_id:
        now = SystemClock().now()
        with ArchiveLock(layout.lock) as lock:
            lock.acquire(now, settings.wait_lock.total_seconds())
            add_name(layout, BlogName(timestamp(now), blog_id))
    remember(root, given)
    return Renamed(blog_id, len(page.items), known, same)
