"""A copy of the offline site in a folder of its own, with its pictures: all of the blog, or what is public."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from exporter.archive.archive import Archive, read_consistently
from exporter.archive.state import State
from exporter.errors import UsageError
from exporter.export.folder import check_target, write_export
from exporter.export.interface import RecordSource, WrittenFile
from exporter.library.export import listed, newest_beside, read_at
from exporter.library.views import SITE, site_options
from exporter.message import message
from exporter.model.kinds import Kind
from exporter.model.publication import Declared
from exporter.service.registry import service_of
from exporter.settings import Settings
from exporter.site.history import ArchiveHistory
from exporter.site.thumbnails import Thumbnails
from exporter.site.view import PublicRecords, SiteView, copied_site


@dataclass(frozen=True, slots=True)
class SiteCopy:
    """A copy that was written: where it starts, and its report."""

    start: Path
    document: dict[str, Any]


def copy_site(
    archive: Path,
    target: Path,
    settings: Settings,
    *,
    at: int | None = None,
    public: Declared | None = None,
    force: bool = False,
    check: Callable[[State], None] = lambda _: None,
) -> SiteCopy:
    """Write the site into a folder outside of the archive.

    Args:
        archive: the archive's folder.
        target: a new folder.
        settings: the site's title, language and addresses.
        at: the version; by default the newest.
        public: what the owner declared of the flags, to write what is public alone; ``None`` for everything.
        force: replace an earlier site.
        check: called with the records before anything is written; may raise.

    Raises:
        UsageError: the folder cannot be written, or nothing declares which entries are public.
    """
    if public is not None and public.public_access is None:
        raise UsageError(message("Nothing says yet which entries are public: declare it."))
    check_target(target, force=force)

    def copied(reader: Archive) -> SiteCopy:
        version = reader.resolve(at)
        service = service_of(settings, reader.info.service)
        history = None if public is not None else ArchiveHistory(reader, service, version)
        options = replace(site_options(settings, archive), public=public is not None, assets="")
        with contextlib.closing(reader.state(version)) as state, newest_beside(reader, version) as newest:
            check(state)
            records: RecordSource = state
            left_out = dict.fromkeys(Kind, 0)
            if public is not None:
                records = chosen = PublicRecords(state, public, read_at(reader, version), service, newest)
                left_out = chosen.left_out
            counts = {str(kind): len(records.ids(kind)) for kind in Kind}

            def document(written: list[WrittenFile]) -> dict[str, Any]:
                return {
                    "format": SITE,
                    "blog_id": reader.info.blog_id,
                    "version": version,
                    "side": "all" if public is None else "public",
                    "folder": str(target.resolve()),
                    "written": counts,
                    "left_out": {str(kind): left_out[kind] for kind in Kind},
                    **listed(written, public=public is not None),
                }

            files = copied_site(SiteView(service, history, options, thumbnails=Thumbnails(reader.layout)), records)
            written = write_export(files, archive, target, document)
        return SiteCopy(target / "index.html", document(written))

    return read_consistently(archive, copied)
