"""Pictures and files that only a capture of the public pages has: they complete the archive's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin

from exporter.crawl.assets.addresses import Wanted
from exporter.crawl.assets.file_check import Expected, NotTheFile, check_file
from exporter.errors import ArchiveDamaged, BadBody, BodyTooLarge
from exporter.frozen import frozen
from exporter.model.asset import Asset, AssetState
from exporter.warc.http_message import decoded
from exporter.warc.lookup import CapturedRecord, CaptureLookup, Replay

if TYPE_CHECKING:
    from exporter.archive.assets import AssetStore
    from exporter.archive.layout import Layout
    from exporter.service.interface import Records

ABSENT: Final = frozenset({AssetState.PENDING, AssetState.LOST})
"""The states of files that a capture may complete: no setting leaves them out."""
_OK: Final = 200
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS: Final = 5


@frozen
class CapturedFiles:
    """The files in the captures of an archive.

    Attributes:
        lookup: finds addresses in the captures.
        store: receives the files.
        max_bytes: the largest file that is stored.
    """

    lookup: CaptureLookup
    store: AssetStore
    max_bytes: int

    @classmethod
    def of(cls, layout: Layout, store: AssetStore, max_bytes: int) -> CapturedFiles | None:
        """Return the files of an archive's captures; ``None`` without captures."""
        try:
            lookup = CaptureLookup(layout)
        except ArchiveDamaged:
            return None
        return cls(lookup, store, max_bytes) if lookup else None

    def fetch(self, url: str, expected: Expected) -> Asset | None:
        """Store a file from the newest capture that has a whole and undoubted one, and return its record.

        The record has no ``refs``. Damage of a capture counts as the lack of a file: ``verify`` reports it.

        Raises:
            NoSpace: the disk is full.
        """
        target = url
        for _ in range(_MOST_REDIRECTS):
            try:
                found = self._newest(target)
                if found is None:
                    return None
                if found.line.status in _REDIRECTS:
                    with self.lookup.replay(found) as replay:
                        target = urljoin(target, replay.head.get("location"))
                    continue
                return self._stored(url, found, expected)
            except (ArchiveDamaged, OSError, ValueError):
                return None
        return None

    def _newest(self, url: str) -> CapturedRecord | None:
        """Return the newest answer with a file or a redirect; ``http`` and ``https`` count as the same address."""
        plain = _without_scheme(url)
        useful = {_OK, *_REDIRECTS}
        found = [each for each in self.lookup.all(url) if _without_scheme(each.line.url) == plain]
        return next((each for each in reversed(found) if each.line.status in useful), None)

    def _stored(self, url: str, found: CapturedRecord, expected: Expected) -> Asset | None:
        part = self.store.part(url)
        try:
            part.restart(None, None)
            with self.lookup.replay(found) as replay:
                if not _write(replay, part.write, self.max_bytes):
                    return None
            facts = check_file(part.file, part.size, expected)
            if facts.doubt is not None:
                return None
            asset = Asset(
                url,
                status=_OK,
                content_type=facts.content_type,
                bytes=part.size,
                sha256=part.sha256,
                width=facts.size.width if facts.size else None,
                height=facts.size.height if facts.size else None,
                source=f"capture:{found.capture.folder.name}",
            )
            self.store.keep(part, facts.content_type)
        except (NotTheFile, BadBody, BodyTooLarge):
            return None
        finally:
            part.close()
        return asset


def _write(replay: Replay, write: Callable[[bytes], None], limit: int) -> bool:
    """Write the content of an answer; return whether it was whole and within the limit."""
    encoding = replay.head.get("content-encoding")
    if encoding.strip().lower() not in {"", "identity"}:
        write(decoded(replay.payload, encoding, limit))
    else:
        for piece in replay.payload:
            if replay.payload.size > limit:
                return False
            write(piece)
    return replay.payload.whole and not replay.truncated


def _without_scheme(url: str) -> str:
    return url.partition("#")[0].removeprefix("https:").removeprefix("http:")


def expected_of(asset: Asset, upload_of: Callable[[str], Mapping[str, Any] | None], service: Records) -> Expected:
    """Return the stated properties of the file of an asset.

    Args:
        asset: its record.
        upload_of: returns the raw record of an uploaded file by its id.
        service: reads the records.
    """
    wanted = Wanted(asset.url, set(asset.ids("entry")), set(asset.ids("file")))
    for file_id in wanted.files:
        wanted.state(service.upload(upload_of(file_id) or {}))
    return wanted.expected
