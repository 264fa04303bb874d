"""A table of the pictures and files of an archive: which it holds, which it lacks and why, and who uses them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from exporter.message import message
from exporter.model.asset import Asset, AssetState
from exporter.model.kinds import sort_key
from exporter.model.records import Upload

if TYPE_CHECKING:
    from exporter.archive.assets import StoredFile


class FileState(StrEnum):
    """Whether the archive holds a file."""

    STORED = "stored"
    """Yes."""
    PENDING = "pending"
    """It could not be read for now, and is tried at every run."""
    LOST = "lost"
    """It is gone for good."""
    LEFT_OUT = "left_out"
    """A setting leaves it out."""
    REFUSED = "refused"
    """Its host or port is private, and no setting allows that."""
    DOUBTFUL = "doubtful"
    """It is stored, and contradicts what is known of it."""
    MISSING = "missing"
    """It was stored, and is not there any more."""
    UNREAD = "unread"
    """An upload that was never asked for: its address is not known, or a setting leaves uploads out."""
    NAMELESS = "nameless"
    """A stored file that no record of this state names; earlier versions may."""


_PRESENT = frozenset({FileState.STORED, FileState.DOUBTFUL, FileState.NAMELESS})


@dataclass(frozen=True, slots=True)
class FileRow:
    """One file.

    Attributes:
        held: whether the archive holds it.
        url: its address; ``None`` for an upload whose address is not known.
        path: where it is, relative to the archive.
        bytes: its size; for an upload that is not stored, what the file list says.
        content_type: the media type found in the content.
        width: of a picture, in pixels.
        height: the same.
        name: what its uploader called it.
        title: the title its uploader gave it.
        files: ids of the file records that mean it.
        entries: ids of the entries that use it.
        orphan: whether no entry uses it.
        status: the HTTP status of the last answer.
        reason: why it is not there, or what is odd about it.
    """

    held: FileState
    url: str | None = None
    path: str | None = None
    bytes: int | None = None
    content_type: str | None = None
    width: int | None = None
    height: int | None = None
    name: str | None = None
    title: str | None = None
    files: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    orphan: bool = False
    status: int | None = None
    reason: str | None = None

    @property
    def absent(self) -> bool:
        """Whether the archive lacks it."""
        return self.held not in _PRESENT

    def document(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return asdict(self)


def inventory(
    assets: Iterable[Mapping[str, Any]],
    uploads: Mapping[str, Upload],
    stored: Mapping[str, StoredFile],
) -> Iterator[FileRow]:
    """Yield a row for each address, each upload without one, and each stored file that nothing names.

    Args:
        assets: the raw records of the kind ``assets``.
        uploads: each upload by its id.
        stored: the files of the store by their SHA-256.
    """
    named: set[str] = set()
    listed: set[str] = set()
    for raw in assets:
        asset = Asset.from_raw(raw)
        row = _row(asset, uploads, stored)
        listed.update(row.files)
        named.update([asset.sha256] if asset.sha256 else [])
        yield row
    for file_id in sorted(uploads.keys() - listed, key=sort_key):
        info = uploads[file_id]
        yield FileRow(
            FileState.UNREAD,
            bytes=info.bytes,
            width=info.width,
            height=info.height,
            name=info.name,
            title=info.title,
            files=(file_id,),
            orphan=True,
            reason="its address is not known, or not asked for: see --file-url and --assets",
        )
    for digest in sorted(stored.keys() - named):
        yield FileRow(FileState.NAMELESS, path=stored[digest].path, bytes=stored[digest].size, orphan=True)


def _row(asset: Asset, uploads: Mapping[str, Upload], stored: Mapping[str, StoredFile]) -> FileRow:
    files, entries = tuple(asset.ids("file")), tuple(asset.ids("entry"))
    info = next((uploads[file_id] for file_id in files if file_id in uploads), None)
    found = stored.get(asset.sha256) if asset.sha256 is not None else None
    held = FileState.MISSING if asset.sha256 is not None else FileState(str(asset.state))
    if found:
        held = FileState.DOUBTFUL if asset.state is AssetState.DOUBTFUL else FileState.STORED
    size = asset.bytes if asset.bytes is not None or info is None else info.bytes
    return FileRow(
        held,
        url=asset.url,
        path=found.path if found else None,
        bytes=size,
        content_type=asset.content_type,
        width=asset.width,
        height=asset.height,
        name=info.name if info else None,
        title=info.title if info else None,
        files=files,
        entries=entries,
        orphan=not entries,
        status=asset.status,
        reason=message("the stored file is gone: run backup") if held is FileState.MISSING else asset.reason,
    )
