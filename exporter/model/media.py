"""Media types of what blogs embed and hold, and the endings their files get. Pure."""

from __future__ import annotations

from typing import Final

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
"""The ending, without its dot, of each type that :func:`exporter.crawl.assets.sniff.sniff` can tell."""

UNKNOWN_TYPE: Final = "application/octet-stream"

PICTURE_ENDINGS: Final = frozenset(
    {"apng", "avif", "bmp", "gif", "heic", "heif", "ico", "jfif", "jp2"}
    | {"jpe", "jpeg", "jpg", "jxl", "png", "svg", "tif", "tiff", "webp"}
)
"""Endings of addresses that a link to a picture has."""


def extension_of(content_type: str) -> str:
    """Return the ending for a media type; ``bin`` for one that is not known."""
    return EXTENSIONS.get(content_type, "bin")
