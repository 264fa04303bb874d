"""A blog's pictures and files: their records, media types, and paths in the archive. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, TypeGuard

from exporter.frozen import frozen
from exporter.message import message, restored_from, stored_as

EXTENSIONS: Final[dict[str, str]] = {
    "application/gzip": "gz",
    "application/msword": "doc",
    "application/pdf": "pdf",
    "application/rtf": "rtf",
    "application/vnd.adobe.flash.movie": "swf",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.rar": "rar",
    "application/x-7z-compressed": "7z",
    "application/x-lzh-compressed": "lzh",
    "application/x-ole-storage": "ole",
    "application/xml": "xml",
    "application/zip": "zip",
    "audio/aac": "aac",
    "audio/flac": "flac",
    "audio/midi": "mid",
    "audio/mp4": "m4a",
    "audio/mpeg": "mp3",
    "audio/ogg": "ogg",
    "audio/x-ms-wma": "wma",
    "audio/wav": "wav",
    "image/avif": "avif",
    "image/bmp": "bmp",
    "image/gif": "gif",
    "image/heic": "heic",
    "image/jp2": "jp2",
    "image/jpeg": "jpg",
    "image/jxl": "jxl",
    "image/png": "png",
    "image/svg+xml": "svg",
    "image/tiff": "tif",
    "image/vnd.adobe.photoshop": "psd",
    "image/vnd.microsoft.icon": "ico",
    "image/webp": "webp",
    "text/html": "html",
    "text/plain": "txt",
    "video/3gpp": "3gp",
    "video/mp4": "mp4",
    "video/mpeg": "mpg",
    "video/quicktime": "mov",
    "video/webm": "webm",
    "video/x-flv": "flv",
    "video/x-ms-asf": "wmv",
    "video/x-msvideo": "avi",
}
"""The extension, without its dot, of each type that :func:`exporter.crawl.assets.file_check.sniff` detects."""

_OPENABLE: Final = frozenset(
    {"aac", "avif", "bmp", "flac", "gif", "heic", "ico", "jp2", "jpg", "jxl", "m4a", "mid", "mov", "mp3", "mp4"}
    | {"mpg", "ogg", "pdf", "png", "tif", "wav", "webm", "webp", "3gp"}
    | {"7z", "doc", "docx", "gz", "lzh", "pptx", "rar", "xlsx", "zip"}
)
_GONE: Final = frozenset({404, 410})
_FROM_CAPTURE: Final = re.compile("capture:([0-9]{6,10})")
_SHA256: Final = re.compile("[0-9a-f]{64}")


def extension_of(content_type: str) -> str:
    """Return the extension for a media type; ``bin`` if the type is unknown."""
    return EXTENSIONS.get(content_type, "bin")


def openable(path: str) -> bool:
    """Return whether a page may link to a stored file. Never to one in which a browser would run scripts."""
    return path.rpartition(".")[2] in _OPENABLE


class AssetState(StrEnum):
    """Whether the archive holds an asset's file and, if not, what that means for a backup."""

    SAVED = "saved"
    """The archive has its file."""
    PENDING = "pending"
    """It could not be read yet. Every run tries again, and the backup is incomplete until then."""
    LOST = "lost"
    """It is gone for good: its server answered 404 or 410, or the address is invalid."""
    LEFT_OUT = "left_out"
    """A setting excludes it."""
    REFUSED = "refused"
    """The address guard refused its host or port without a setting. The backup is incomplete."""
    DOUBTFUL = "doubtful"
    """Its stored file contradicts its record. Every run reads it again until the owner accepts it."""


def is_sha256(value: object) -> TypeGuard[str]:
    """Return whether a value is a SHA-256 in the form of records and names: 64 lower-case hexadecimal digits."""
    return isinstance(value, str) and _SHA256.fullmatch(value) is not None


def asset_path(sha256: str, content_type: str) -> str:
    """Return the path, relative to the archive, for a file with this content. No other code makes such paths.

    Raises:
        ValueError: ``sha256`` is no SHA-256.
    """
    if not is_sha256(sha256):
        raise ValueError(message("{sha256!r} is not a SHA-256 in hexadecimal", sha256=sha256))
    return f"assets/{sha256[:2]}/{sha256}.{extension_of(content_type)}"


@frozen
class Asset:
    """A record of the kind ``assets``; FORMAT.md describes its members.

    Attributes:
        url: its absolute address.
        status: the HTTP status of the last answer; ``None`` if there was none.
        content_type: the media type detected from the content.
        bytes: its size.
        sha256: of its content, in hexadecimal; ``None`` if the file was never read.
        error: why it could not be read, or its fault; ``None`` without one.
        refs: the records that need it, ``{"entry": id}`` and ``{"file": id}``; empty if none do any more.
        width: the picture's width in pixels; ``None`` if unknown.
        height: likewise.
        source: the address that it was read from, if that is on another server than ``url``; ``capture:`` and a number
            for a file that only this capture has.
        accepted: whether the owner accepted the file in spite of ``error``.
        absence: the recorded reason why there is no file; see :attr:`state`.
        original_of: the embedded thumbnail that led to this address by the rule of its host.
    """

    url: str
    status: int | None = None
    content_type: str | None = None
    bytes: int | None = None
    sha256: str | None = None
    error: str | None = None
    refs: Sequence[Mapping[str, str]] = ()
    width: int | None = None
    height: int | None = None
    source: str | None = None
    absence: AssetState | None = None
    accepted: bool = False
    original_of: str | None = None

    @classmethod
    def from_raw(cls, raw: Mapping[str, Any]) -> Asset:
        """Read a record. Members with a wrong type count as missing. Never raises."""
        refs = raw.get("refs")
        return cls(
            url=_text(raw.get("url")) or "",
            status=_number(raw.get("status")),
            content_type=_text(raw.get("content_type")),
            bytes=_number(raw.get("bytes")),
            sha256=digest if is_sha256(digest := raw.get("sha256")) else None,
            error=restored_from(raw, "error") if isinstance(raw.get("error"), str) else None,
            refs=tuple(ref for ref in refs if isinstance(ref, dict)) if isinstance(refs, list) else (),
            width=_number(raw.get("width")),
            height=_number(raw.get("height")),
            source=_text(raw.get("source")),
            absence=_absence(raw.get("state")),
            accepted=raw.get("accepted") is True,
            original_of=_text(raw.get("original_of")),
        )

    @property
    def reason(self) -> str | None:
        """Return ``error`` as a message that can be translated if ``status`` says the same, else unchanged."""
        answered = self._answered()
        return answered if self.error == answered else self.error

    def _answered(self) -> str:
        return message("it answered {status}", status=self.status)

    def data(self) -> dict[str, Any]:
        """Return the record, without optional members that have no value."""
        record: dict[str, Any] = {
            "url": self.url,
            "status": self.status,
            "content_type": self.content_type,
            "bytes": self.bytes,
            "sha256": self.sha256,
            **stored_as("error", str(self.error) if self.error == self._answered() else self.error),
            "refs": [dict(ref) for ref in self.refs],
        }
        absence = None if self.absence is None else str(self.absence)
        extra = {
            "width": self.width, "height": self.height, "source": self.source, "state": absence,
            "accepted": self.accepted or None, "original_of": self.original_of,
        }  # fmt: skip
        return record | {name: value for name, value in extra.items() if value is not None}

    @property
    def path(self) -> str | None:
        """The path of its file, relative to the archive; ``None`` if it was never read."""
        return None if self.sha256 is None else asset_path(self.sha256, self.content_type or "")

    @property
    def state(self) -> AssetState:
        """The state of the file. Records of old versions do not have it, so the HTTP status decides."""
        if self.sha256 is not None:
            return AssetState.DOUBTFUL if self.error is not None and not self.accepted else AssetState.SAVED
        if self.absence is not None:
            return self.absence
        return AssetState.LOST if self.status in _GONE else AssetState.PENDING

    def ids(self, kind: str) -> list[str]:
        """Return the ids of the records that need it, of the kind ``"entry"`` or ``"file"``, in their order."""
        return [ref[kind] for ref in self.refs if isinstance(ref.get(kind), str)]


def capture_of(asset: Asset) -> int | None:
    """Return the number of the capture that a file comes from, or ``None`` if its server answered with it."""
    found = _FROM_CAPTURE.fullmatch(asset.source or "")
    return None if found is None else int(found[1])


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _absence(value: Any) -> AssetState | None:
    absent = {str(state): state for state in AssetState if state not in {AssetState.SAVED, AssetState.DOUBTFUL}}
    return absent.get(value) if isinstance(value, str) else None


def _number(value: Any) -> int | None:
    return value if type(value) is int else None
