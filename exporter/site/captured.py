"""The captured pages that a site links to, with their times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlencode

from exporter.archive.captures import Capture, CaptureInfo, captures
from exporter.errors import ArchiveDamaged
from exporter.warc.cdxj import TIMESTAMP, surt

if TYPE_CHECKING:
    from exporter.archive.layout import Layout
    from exporter.model.records import Raw

    AddressOf = Callable[[str, Raw], str | None]

CAPTURE_PAGE: Final = "capture.html"
"""The page of captures in a site. The server answers it with the captured page that its query names."""
PAGES_KIND: Final = "pages"
_SHOWN_STATUS: Final = b'"status":"200"'
_PAGE_TYPES: Final = (b'"mime":"text/html"', b'"mime":"application/xhtml+xml"', b'"mime":"warc/revisit"')
_MAX_LINE_BYTES: Final = 128 * 1024


class CapturedPage(NamedTuple):
    """A page's address, and the times of its captures as 14 digits in UTC, the newest first."""

    address: str
    stamps: tuple[str, ...]


class CapturedPages:
    """The captured pages of an archive.

    Args:
        layout: the archive; ``None`` for a site without captures.
        address_of: builds the address of an entry from its id and record if the service does not state it.
    """

    def __init__(self, layout: Layout | None = None, address_of: AddressOf = lambda *_: None) -> None:
        self._address_of = address_of
        found = [] if layout is None else captures(layout)
        infos = ((each, _info(each)) for each in found)
        self.rows: Sequence[tuple[int, CaptureInfo | None]] = [
            (each.number, info) for each, info in infos if info is None or info.kind == PAGES_KIND
        ]
        """Number and statement of each capture with pages, the oldest first; ``None`` replaces a damaged statement."""
        numbers = {number for number, info in self.rows if info is not None}
        self._captures = [each for each in found if each.number in numbers]

    @property
    def identity(self) -> str:
        """What changes with the captures; empty without any."""
        return " ".join(f"{number}{'' if info is None else '+'}" for number, info in self.rows)

    def find(self, entry_id: str, addresses: Sequence[str], load: Callable[[], Raw | None]) -> CapturedPage | None:
        """Return the captures of an entry's page.

        Args:
            entry_id: the entry.
            addresses: its possible addresses.
            load: reads its record, which is only needed without a stated address.
        """
        if not self._captures:
            return None
        built = None if addresses else self._address_of(entry_id, load() or {})
        for address in addresses or filter(None, [built]):
            stamps = self._stamps.get(surt(address).encode("utf-8", "replace"))
            if stamps:
                return CapturedPage(address, tuple(sorted(stamps, reverse=True)))
        return None

    @cached_property
    def _stamps(self) -> Mapping[bytes, set[str]]:
        found: defaultdict[bytes, set[str]] = defaultdict(set)
        for capture in self._captures:
            try:
                with capture.index.open("rb") as file:
                    while line := file.readline(_MAX_LINE_BYTES):
                        if _SHOWN_STATUS in line and any(kind in line for kind in _PAGE_TYPES):
                            key, _, rest = line.partition(b" ")
                            stamp = rest[:14].decode("ascii", "replace")
                            if moment_of(stamp) is not None:
                                found[key].add(stamp)
            except OSError:
                continue
        return found


def _info(capture: Capture) -> CaptureInfo | None:
    try:
        return capture.info()
    except ArchiveDamaged:
        return None


def moment_of(stamp: str) -> datetime | None:
    """Return the time that 14 digits state; ``None`` if they are invalid."""
    if len(stamp) != 14 or not (stamp.isascii() and stamp.isdigit()):
        return None
    try:
        return datetime.strptime(stamp, TIMESTAMP).replace(tzinfo=UTC)
    except ValueError:
        return None


def capture_link(address: str, stamp: str, entry_id: str = "") -> str:
    """Return the link, from the site's folder, to a captured page; ``entry_id`` is that of its entry."""
    values = {"url": address, "at": stamp} | ({"entry": entry_id} if entry_id else {})
    return f"{CAPTURE_PAGE}?{urlencode(values, errors='replace')}"
