"""The records of an archive that may be published. Everything in doubt stays out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from exporter.export.visibility import Visibility
from exporter.model.asset import Asset, openable
from exporter.model.kinds import Kind
from exporter.model.publication import Declared, PostStatus
from exporter.service.interface import Records

if TYPE_CHECKING:
    from exporter.export.interface import RecordSource
    from exporter.export.visibility import Newest


class PublicRecords:
    """The public part of a state, as the :class:`~exporter.export.interface.RecordSource` of a site.

    Entries are those :class:`~exporter.export.visibility.Visibility` calls published, comments those of them that are
    visible, pictures those that published entries use, and files those such pictures were uploaded as.

    Attributes:
        left_out: how many records of each kind stay out.
    """

    def __init__(
        self,
        records: RecordSource,
        declared: Declared,
        as_of: datetime | None,
        service: Records,
        newest: Newest | None = None,
    ) -> None:
        self._records = records
        self._service = service
        self._visibility = Visibility(declared, as_of, service, newest)
        self.blog_id = records.blog_id
        entries = dict.fromkeys(self._entries())
        self._assets = dict(self._used_by(entries))
        files = {file_id for asset in self._assets.values() for file_id in asset.ids("file")}
        self._ids: dict[Kind, dict[str, None]] = {
            Kind.ENTRIES: entries,
            Kind.ENTRY_LIST: dict.fromkeys(each for each in records.ids(Kind.ENTRY_LIST) if each in entries),
            Kind.COMMENTS: dict.fromkeys(self._comments(entries)),
            Kind.FILES: dict.fromkeys(each for each in records.ids(Kind.FILES) if each in files),
            Kind.USER: {},
            Kind.ASSETS: dict.fromkeys(self._assets),
        }
        self.left_out = {kind: len(records.ids(kind)) - len(self._ids[kind]) for kind in Kind}

    def ids(self, kind: Kind) -> Sequence[str]:
        """Return the ids of the public records of a kind, in their order."""
        return list(self._ids[kind])

    def identity(self, kind: Kind, record_id: str) -> bytes | None:
        """Return what changes with the record; ``None`` when it is not public."""
        return self._records.identity(kind, record_id) if record_id in self._ids[kind] else None

    def load(self, kind: Kind, record_id: str) -> dict[str, Any] | None:
        """Return a record's raw object; ``None`` when it is not public."""
        if record_id not in self._ids[kind]:
            return None
        return self._assets[record_id].data() if kind is Kind.ASSETS else self._records.load(kind, record_id)

    def scan(self, kind: Kind) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the public records of a kind, in the order of their ids."""
        for record_id in self._ids[kind]:
            raw = self.load(kind, record_id)
            if raw is not None:
                yield record_id, raw

    def _entries(self) -> Iterator[str]:
        for entry_id, raw in self._records.scan(Kind.ENTRIES):
            post = self._service.post(raw, self._records.load(Kind.ENTRY_LIST, entry_id))
            if self._visibility.entry(replace(post, id=entry_id)).status is PostStatus.PUBLISH:
                yield entry_id

    def _comments(self, entries: Collection[str]) -> Iterator[str]:
        for comment_id, raw in self._records.scan(Kind.COMMENTS):
            if self._service.post_id(raw) not in entries:
                continue
            if self._visibility.why_hidden(comment_id, self._service.comment(raw)) is None:
                yield comment_id

    def _used_by(self, entries: Collection[str]) -> Iterator[tuple[str, Asset]]:
        """Yield the assets that published entries use, without the entries that are not published.

        A file in which a browser would run a script is left out: on a host, it would run as the site's own.
        """
        for url, raw in self._records.scan(Kind.ASSETS):
            asset = Asset.from_raw(raw)
            users = [each for each in asset.ids("entry") if each in entries]
            if users and (asset.path is None or openable(asset.path)):
                refs = [{"entry": each} for each in users] + [{"file": each} for each in asset.ids("file")]
                yield url, Asset.from_raw({**asset.data(), "refs": refs})
