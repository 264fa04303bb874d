"""Checking the second copies of a fleet where they are, as ``fleet verify`` checks the archives of a folder."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from exporter.archive.verify import ignore_progress
from exporter.copies.checks import CopyCheck
from exporter.copies.store import WithinStore, archives_of
from exporter.errors import UsageError
from exporter.fleet.archive_jobs import Done, checked
from exporter.fleet.work import ArchiveResult, result_of
from exporter.message import message

if TYPE_CHECKING:
    from exporter.copies.store import Store


def copies_of_a_fleet(store: Store) -> list[str]:
    """Return the folders of the archives in the copy of a fleet, in order.

    Raises:
        NoArchive: there is none.
        UsageError: it is the copy of one archive.
    """
    names = archives_of(store)
    if names == ["."]:
        raise UsageError(message("{place} is the copy of one archive: run verify {place}.", place=store.place))
    return names


def verify_copies(store: Store, names: list[str]) -> Iterator[ArchiveResult]:
    """Yield what comes of each copy; whatever is wrong with one keeps no other from its turn."""
    for name in names:
        within = WithinStore(store, name)
        yield result_of(name.partition("/")[2], within.place, partial(_verify, within))


def _verify(store: WithinStore) -> Done | None:
    with CopyCheck(store) as check:
        return checked(check.archive, check.findings(ignore_progress)) if check.archive.versions() else None
