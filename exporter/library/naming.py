"""The name by which a backup reads a blog now, and whether the archive knows it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from exporter.archive.archive import Archive
from exporter.archive.layout import Layout
from exporter.archive.names import BY_ADDRESS, BlogName, name_at, newest_id
from exporter.archive.reader import ids_at
from exporter.errors import ArchiveDamaged
from exporter.frozen import frozen
from exporter.service.declarations import BLOG_V1
from exporter.settings import Settings


@frozen
class PresentName:
    """The name of a blog in a backup.

    Attributes:
        blog_id: the ID by which the service is asked.
        is_known: whether the archive has it. Otherwise the entries must prove that it is the same blog.
        address: the address that the archive must record with it; ``None`` if its newest name is the same.
        service: the service.
    """

    blog_id: str
    is_known: bool = True
    address: str | None = None
    service: str = BLOG_V1.name

    def line(self, at: str) -> BlogName | None:
        """Return the line to record after the backup, if any."""
        return None if self.address is None else BlogName(at, self.blog_id, self.address, self.service)


def present_name(root: Path, settings: Settings, named: str | None = None) -> PresentName | None:
    """Return the name by which a backup with these settings reads the blog of an archive; ``None`` without an archive.

    Args:
        root: the archive, which need not exist.
        settings: those of the backup.
        named: the blog's ID at the address that the user named, if it was explored.
    """
    ids = ids_at(root)
    if not ids:
        return None
    layout, service = Layout(root), settings.service or BLOG_V1.name
    newest = newest_id(layout, service) or ids[0]
    if service not in BY_ADDRESS or settings.base_url is None:
        return PresentName(newest)
    asked = named
    if asked is None:
        host = urlsplit(settings.base_url).netloc
        if host in _hosts_read(root):
            return PresentName(newest)
        _, slash, folder = newest.partition("/")
        asked = f"{host}{slash}{folder}"
    if name_at(f"https://{asked}/") is None or _is_same(asked, newest):
        return PresentName(newest)
    return PresentName(asked, any(_is_same(asked, each) for each in ids), settings.base_url, service)


def _hosts_read(root: Path) -> Iterator[str]:
    """Yield the hosts and ports that the archive's versions were read from, the newest first."""
    archive = Archive.open(root)
    for version in reversed(archive.versions()):
        with suppress(ArchiveDamaged, ValueError):
            yield urlsplit(archive.manifest(version).base_url).netloc


def _is_same(one: str, other: str) -> bool:
    """Return whether two IDs name one blog. An ID may leave out the port."""
    (host, _, folder), (other_host, _, other_folder) = one.lower().partition("/"), other.lower().partition("/")
    if folder.strip("/") != other_folder.strip("/"):
        return False
    is_exact = ":" in host and ":" in other_host
    return host == other_host if is_exact else host.partition(":")[0] == other_host.partition(":")[0]
