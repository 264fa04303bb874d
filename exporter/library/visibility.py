"""Who may see the entries of an archive."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from exporter.archive.archive import Archive
from exporter.export.posts import Visibility
from exporter.service.interface import Records
from exporter.settings import Settings

if TYPE_CHECKING:
    from exporter.archive.state import State


def read_at(reader: Archive, version: int) -> datetime:
    """Return when the blog was read for a version."""
    moment = datetime.fromisoformat(reader.manifest(version).finished_at)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def visibility_of(archive: Archive, state: State, service: Records, settings: Settings) -> Visibility | None:
    """Return what decides which entries are public; ``None`` if the owner must still declare that.

    It is also ``None`` for an earlier state, because its entries may have been hidden since.
    """
    declared = service.declared(settings)
    if service.is_undeclared(declared) or state.version != archive.newest():
        return None
    return Visibility(declared, read_at(archive, state.version), service)
