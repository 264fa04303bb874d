"""The public posts of an archive in a fleet, and the addresses of all others, whose captured pages stay out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

from exporter.archive.archive import Archive
from exporter.archive.state import State
from exporter.export.interface import ExportOptions
from exporter.export.parts import FOR_READERS
from exporter.export.posts import Posts
from exporter.export.report import Report
from exporter.export.wacz import PostAddresses
from exporter.fleet.work import JobOptions
from exporter.html.links import AddressPattern
from exporter.library.export import checked_options, require_declared
from exporter.library.visibility import read_at
from exporter.library.wacz import records_outside
from exporter.model.records import Raw
from exporter.service.registry import service_of


@dataclass(frozen=True, slots=True)
class PublicPosts:
    """The newest version of an archive.

    Attributes:
        archive: the archive.
        state: its records.
        posts: the posts that are public.
    """

    archive: Archive
    state: State
    posts: Posts

    def outside(self) -> Iterator[Raw]:
        """Yield the records of entries that are not public, in all versions."""
        return records_outside(self.archive, self.posts)

    def addresses(self) -> PostAddresses:
        """Return the addresses of the public posts, and those of all other entries, removed ones too."""
        return PostAddresses(self.posts, self.outside())


@contextmanager
def public_posts(archive: Archive, job: JobOptions) -> Iterator[PublicPosts]:
    """Yield the newest version of an archive.

    Raises:
        UsageError: nothing says which entries are public.
        ArchiveDamaged: the version cannot be read.
    """
    settings = job.resolved(archive)
    service = service_of(settings, archive.info.service)
    declared = service.declared(settings, all_as_draft=False)
    require_declared(service, declared)
    known = () if settings.entry_url is None else (AddressPattern(settings.entry_url, "entry_url"),)
    version = archive.resolve()
    with closing(archive.state(version)) as state:
        options = ExportOptions(declared=declared, service=service, old_urls=known)
        checked, _ = checked_options(options, state)
        chosen = replace(checked, as_of=read_at(archive, version))
        yield PublicPosts(archive, state, Posts(state, chosen, Report(), holds=FOR_READERS))
