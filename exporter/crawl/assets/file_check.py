"""Whether a file that was read is the one that was asked for: servers send pages, and stop in the middle. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import BinaryIO

from exporter.crawl.assets.content_type import HEAD_BYTES, UNKNOWN_TYPE, sniff
from exporter.crawl.assets.image_size import Size, dimensions, is_cut_short
from exporter.errors import BadBody
from exporter.message import either, message

_PAGES = frozenset({"text/html", "text/plain", "application/xml"})
"""What servers answer in place of a file that is gone."""

_PICTURE_ENDINGS = frozenset({"bmp", "gif", "jpeg", "jpg", "png", "webp"})

_PAGE_ENDINGS = {"text/html": frozenset({"htm", "html", "xhtml"})}


class NotTheFile(Exception):
    """What came is something else than the file; the message says what."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What is known of a file before it is read.

    Attributes:
        embedded: whether an entry shows it as a picture or links to it as one.
        sizes: the ``file_size`` of every file record that has this address; empty where none does.
        endings: the ``extension`` of these records, lower case.
        dimensions: their ``width`` and ``height`` in pixels; empty if it is unknown which record is meant.
    """

    embedded: bool = True
    sizes: Collection[int] = ()
    endings: Collection[str] = ()
    dimensions: Collection[tuple[int, int]] = ()


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What a file is: its media type, its size in pixels where it is a picture, and what is odd about it."""

    content_type: str
    size: Size | None = None
    doubt: str | None = None


def check_file(file: BinaryIO, length: int, expected: Expected, *, certain: bool = True) -> FileFacts:
    """Return what a file is.

    Args:
        file: open for reading and seeking, ``length`` bytes long.
        length: its size in bytes.
        expected: what is known of it.
        certain: whether this is all the server has: the answer said where its body ends, or came twice the same.

    Raises:
        NotTheFile: it is empty, or a page where a picture or an upload of another kind was expected.
        BadBody: its end is missing and it is not certain that the server has no more; trying again may help.
    """
    if not length:
        raise NotTheFile(message("the file is empty"))
    file.seek(0)
    kind = sniff(file.read(HEAD_BYTES))
    if kind in _PAGES and not _may_be_page(kind, expected):
        raise NotTheFile(message("a page came in place of the file ({kind})", kind=kind))
    cut = is_cut_short(file, kind)
    if not certain and (cut or length < min(expected.sizes, default=0)):
        raise BadBody(message("the file was cut short"))
    doubt = _doubt(kind, size := dimensions(file, kind), expected)
    if cut:
        doubt = message("its end is missing, at the server too")
    if expected.sizes and length not in expected.sizes:
        sizes = either(map(str, sorted(expected.sizes)))
        doubt = message("it has {length} bytes, the file list says {sizes}", length=length, sizes=sizes)
    return FileFacts(kind, size, doubt)


def _doubt(kind: str, size: Size | None, expected: Expected) -> str | None:
    """Return how the type or the pixels of a file contradict the file list; a photograph may be stored turned."""
    called_picture = bool(expected.endings) and _PICTURE_ENDINGS.issuperset(expected.endings)
    if called_picture and kind != UNKNOWN_TYPE and not kind.startswith("image/"):
        return message("it is no picture but {kind}", kind=kind)
    stated = {pair for width, height in expected.dimensions for pair in ((width, height), (height, width))}
    if size is not None and stated and size not in stated:
        said = either(f"{width}x{height}" for width, height in sorted(expected.dimensions))
        measured = f"{size.width}x{size.height}"
        return message("it has {measured} pixels, the file list says {said}", measured=measured, said=said)
    return None


def _may_be_page(kind: str, expected: Expected) -> bool:
    """Return whether text is right: only for an upload, and a web page only for one that is called so."""
    if not expected.endings:
        return not expected.embedded
    fitting = _PAGE_ENDINGS.get(kind)
    if fitting is None:
        return True
    return any(ending in fitting for ending in expected.endings)
