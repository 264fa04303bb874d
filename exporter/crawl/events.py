"""The events of a backup run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.frozen import frozen

if TYPE_CHECKING:
    from exporter.model.kinds import Kind


@frozen
class AssetsPlanned:
    """``count`` files will be read; ``held`` are in the archive, ``waiting`` are lost and not tried now."""

    count: int
    held: int
    waiting: int


@frozen
class AssetRead:
    """A file was read, or found unchanged; ``size`` in bytes."""

    url: str
    size: int


@frozen
class AssetFailed:
    """A file could not be read."""

    url: str
    reason: str


AssetEvent = AssetsPlanned | AssetRead | AssetFailed


@frozen
class Started:
    """The run begins; ``version`` is the newest version, ``None`` in a first run."""

    blog_id: str
    version: int | None


@frozen
class OptionsProven:
    """The run's options fit the archive: it was begun with the service's first answer, or the blog has been saved."""


@frozen
class ClockDiffers:
    """This machine's clock is more than a day away from the service's, or behind the previous run.

    Attributes:
        now: the time of this machine's clock, in the format of the archive.
        service: the service's time, if its clock differs.
        run_before: when the previous run began, if that is later.
    """

    now: str
    service: str | None = None
    run_before: str | None = None


@frozen
class Resumed:
    """The checkpoint of an interrupted run with ``records`` records is resumed."""

    started_at: str
    records: int


@frozen
class SetAside:
    """A checkpoint could not be used and was moved out of the way."""

    reason: str


@frozen
class SourceNotes:
    """Parts of an export file fit no rule and are kept with their records; ``more`` further ones are not named."""

    notes: tuple[str, ...]
    more: int = 0


@frozen
class RecordsJoined:
    """The records of a second service were joined with those of the archive.

    Attributes:
        service: the second service.
        matched: entries that both have.
        new: entries that only the service has.
        only_archived: entries that only the archive has.
        withdrawn: those among them that the service had until this run, and that another one still has.
        conflicts: sentences about entries with different texts; ``more_conflicts`` further ones are not named.
    """

    service: str
    matched: int
    new: int
    only_archived: int
    withdrawn: int = 0
    conflicts: tuple[str, ...] = ()
    more_conflicts: int = 0


@frozen
class PageRead:
    """A page of a list was read; ``pages`` is the number of pages if known."""

    kind: Kind
    sweep: int
    page: int
    pages: int | None


@frozen
class EntriesPlanned:
    """``count`` entries will be read."""

    count: int


@frozen
class EntryRead:
    """An entry was read."""

    entry_id: str


@frozen
class RecordFailed:
    """A record or a whole list (``record_id`` is ``None``) could not be read."""

    kind: Kind
    record_id: str | None
    reason: str


@frozen
class SweepDone:
    """All lists were swept; ``agreed`` if they were the same as in the sweep before."""

    sweep: int
    agreed: bool


Event = (
    Started
    | OptionsProven
    | ClockDiffers
    | Resumed
    | SetAside
    | SourceNotes
    | RecordsJoined
    | PageRead
    | EntriesPlanned
    | EntryRead
    | RecordFailed
    | SweepDone
    | AssetEvent
)
