"""What happens in a run, as it happens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporter.archive.manifest import KindCounts
    from exporter.model.kinds import Kind


@dataclass(frozen=True, slots=True)
class AssetsPlanned:
    """So many addresses are about to be read; ``held`` are in the archive, ``waiting`` are lost and not asked now."""

    count: int
    held: int
    waiting: int


@dataclass(frozen=True, slots=True)
class AssetRead:
    """A file was read, or found unchanged; ``size`` in bytes."""

    url: str
    size: int


@dataclass(frozen=True, slots=True)
class AssetFailed:
    """A file could not be read."""

    url: str
    reason: str


AssetEvent = AssetsPlanned | AssetRead | AssetFailed


@dataclass(frozen=True, slots=True)
class Started:
    """The run begins; ``version`` is the newest version there is, ``None`` for a first run."""

    blog_id: str
    version: int | None


@dataclass(frozen=True, slots=True)
class ClockDiffers:
    """This machine's clock is more than a day away from the service's, or behind the run before.

    Attributes:
        now: the time that this machine's clock shows, as the archive writes it.
        service: the time that the service states, ``None`` when it is the run before that is later.
        run_before: when that run began, ``None`` when it is the service's clock that differs.
    """

    now: str
    service: str | None = None
    run_before: str | None = None


@dataclass(frozen=True, slots=True)
class Resumed:
    """The checkpoint of an interrupted run is resumed; ``records`` were in it."""

    started_at: str
    records: int


@dataclass(frozen=True, slots=True)
class SetAside:
    """A checkpoint could not be used and was set aside."""

    reason: str


@dataclass(frozen=True, slots=True)
class PageRead:
    """A page of a list was read; ``pages`` is how many there are, as far as known."""

    kind: Kind
    sweep: int
    page: int
    pages: int | None


@dataclass(frozen=True, slots=True)
class EntriesPlanned:
    """So many entries are about to be read."""

    count: int


@dataclass(frozen=True, slots=True)
class EntryRead:
    """An entry was read."""

    entry_id: str


@dataclass(frozen=True, slots=True)
class RecordFailed:
    """A record, or a whole list (``record_id`` is ``None``), could not be read."""

    kind: Kind
    record_id: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class SweepDone:
    """All lists were swept once more; ``agreed`` compares with the sweep before."""

    sweep: int
    agreed: bool


@dataclass(frozen=True, slots=True)
class Planned:
    """What a dry run found: counts by kind, as the lists show them."""

    counts: Mapping[Kind, KindCounts]


@dataclass(frozen=True, slots=True)
class Committed:
    """The run is saved; ``version`` is the new version, ``None`` when nothing had changed."""

    version: int | None
    counts: Mapping[Kind, KindCounts]
    completeness: Mapping[str, Any]


Event = (
    Started
    | ClockDiffers
    | Resumed
    | SetAside
    | PageRead
    | EntriesPlanned
    | EntryRead
    | RecordFailed
    | SweepDone
    | AssetEvent
    | Planned
    | Committed
)
